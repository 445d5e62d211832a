/**
 * @file calls.c
 * @brief Promises about calls: their streams, what they leave behind for the next one, the device that they run on.
 */
#include <stdio.h>
#include <string.h>

#include "checker/cases/case_table.h"
#include "making.h"

/* ---- status words and streams ----------------------------------------------------------------------------- */

/* The part's first case whose values on the device are invalid; NULL if it has none. */
static const struct lesson_case *invalid_values(const struct making *m, const struct described *status)
{
    for (int i = 0; i < m->count; i++)
        if (m->cases[i].part == m->part && m->cases[i].extent[status->first] != 0 &&
            m->cases[i].expected == KERNEL_OK && m->cases[i].shows == 0)
            return &m->cases[i];
    return NULL;
}

/* Values of before the call are kept where all is valid, and are no reason to be silent where it is not. */
void make_status_words(struct making *m)
{
    static const enum kernel_status held[] = {KERNEL_CUDA_ERROR, KERNEL_INVALID_DIMENSION,
                                              KERNEL_INVALID_BLOCK_TABLE};
    const struct described *line = described_next(m->lesson, m->part, DESCRIBED_STATUS, NULL);
    for (size_t i = 0; line != NULL && i < 2 * sizeof held / sizeof held[0]; i++) {
        char name[LESSON_NAME / 2];
        const struct lesson_case *like = i % 2 == 0 ? making_like(m) : invalid_values(m, line);
        if (like == NULL) continue;
        const struct lesson_case copy = *like;
        snprintf(name, sizeof name, "status_holds_%d%s", (int)held[i / 2], i % 2 == 0 ? "" : "_and_invalid");
        struct lesson_case *item = making_add(m, &copy, name);
        if (item == NULL) continue;
        item->extent[line->at] = (int)held[i / 2];
        if (m->lesson->settle != NULL) m->lesson->settle(item);
    }
}

static struct lesson_case *add_flagged(struct making *m, const char *name, unsigned flag)
{
    struct lesson_case *item = making_add(m, making_like(m), name);
    if (item != NULL) item->flags |= flag;
    return item;
}

/* The case of part @p part that is number @p left of those that lesson.def says take every path; NULL: there are not as many. */
static const struct lesson_case *path(const struct lesson *lesson, const struct lesson_case *cases, int count,
                                      int part, int left)
{
    const struct described *paths = described_next(lesson, part, DESCRIBED_PATHS, NULL);
    for (int i = 0; paths != NULL && i < count; i++) {
        char quoted[LESSON_NAME + 2];
        snprintf(quoted, sizeof quoted, "\"%s\"", cases[i].name);
        if (cases[i].part == part && making_is_ordinary(&cases[i]) && strstr(paths->words, quoted) != NULL &&
            left-- == 0)
            return &cases[i];
    }
    return NULL;
}

/* The case itself, and then those of every path. */
void vary_path(const struct lesson *lesson, const struct lesson_case *cases, int count,
               struct lesson_case *item, int index)
{
    const struct lesson_case *other = path(lesson, cases, count, item->part, index - 1);
    const struct lesson_case made = *item;
    if (index == 0 || other == NULL) return;
    *item = *other;
    item->seed = made.seed;
    item->devices = made.devices;
    item->flags |= made.flags & (CASE_TWO_STREAMS | CASE_SMALL_DEVICE);
}

/* Makes @p item that of vary_path(). */
static void take_paths(const struct making *m, struct lesson_case *item)
{
    item->flags |= CASE_ENUMERATES;
    item->property = MADE_PATHS;
    while (path(m->lesson, m->cases, m->count, m->part, item->repeat - 1) != NULL) item->repeat++;
}

void make_two_streams(struct making *m)
{
    struct lesson_case *item = add_flagged(m, "two_streams", CASE_TWO_STREAMS);
    if (item == NULL) return;
    item->flags &= ~(unsigned)CASE_ONE_CALL;
    take_paths(m, item);
}

/* A device can be the second one of several only where there are several: on the software device. */
void make_two_devices(struct making *m)
{
    int paths = 1;
    struct lesson_case *item = making_add(m, making_like(m), "two_devices");
    if (item == NULL) return;
    while (path(m->lesson, m->cases, m->count, m->part, paths - 1) != NULL) paths++;
    item->flags |= CASE_ENUMERATES | CASE_SECOND_DEVICE;
    item->devices = ON_SIMT;
    item->property = MADE_DEVICES;
    item->repeat = 2 * paths;
    item->about =
        "the same call, on one device and then on another: what holds for a device must be asked for on each";
}

/* Each call comes twice. */
void vary_device(const struct lesson *lesson, const struct lesson_case *cases, int count,
                 struct lesson_case *item, int index)
{
    vary_path(lesson, cases, count, item, index / 2);
    item->flags &= ~(unsigned)CASE_SECOND_DEVICE;
    if (index % 2 > 0) item->flags |= CASE_SECOND_DEVICE;
}

void make_captured(struct making *m)
{
    add_flagged(m, "captured", CASE_CAPTURED);
}

void make_default_stream(struct making *m)
{
    add_flagged(m, "default_stream", CASE_DEFAULT_STREAM);
}

void make_refused_launch(struct making *m)
{
    struct lesson_case *item = making_refuse(m, "launch_refused", KERNEL_CUDA_ERROR);
    if (item != NULL) case_table_refuse_launches(item);
}

/* ---- state ------------------------------------------------------------------------------------------------ */

enum { RANDOM_CALLS = 6, REFUSED_IN_TURN = 8 /* with the sound call before them */ };

#define AFTER(what) "an earlier call had " what ": is something kept from call to call?"

/* What the kernel is told of line @p line. */
static int64_t told(const struct lesson_case *item, const struct described *line)
{
    return item->value[line->at];
}

static void tell_call(struct lesson_case *item, const struct described *line, int64_t value, int is_extent)
{
    if (is_extent) item->extent[line->at] = (int)value;
    item->value[line->at] = value;
}

static int is_stride(const struct lesson *lesson, int part, const struct described *line)
{
    const struct described *stride = NULL;
    while ((stride = described_next(lesson, part, DESCRIBED_STRIDE, stride)) != NULL)
        if (stride->at == line->at) return 1;
    return 0;
}

/* Whether heads and K/V heads, where there are any, fit together. */
static int has_whole_groups(const struct lesson *lesson, const struct lesson_case *item)
{
    const struct described *heads = described_extent(lesson, item->part, "heads"),
                           *kv_heads = described_extent(lesson, item->part, "kv_heads");
    return heads == NULL || kv_heads == NULL || told(item, heads) % told(item, kv_heads) == 0;
}

/* Gives @p item another value of an extent or an option that an ordinary call has: the next smaller one, or else the next larger
 * one, unless rows might then be longer than the distance between them. 0: there is none. */
static int tell_another(const struct lesson *lesson, const struct lesson_case *cases, int count,
                        struct lesson_case *item, const struct described *line)
{
    const struct lesson_case before = *item;
    const int64_t now = told(&before, line);
    int64_t best = now;
    const int may_grow =
        line->kind == DESCRIBED_OPTION || described_next(lesson, item->part, DESCRIBED_STRIDE, NULL) == NULL;
    int is_extent = 1; /* options may be kept as extents, too */
    for (int i = 0; i < count; i++)
        if (cases[i].part == item->part && making_is_ordinary(&cases[i]))
            is_extent &= cases[i].extent[line->at] == told(&cases[i], line);
    is_extent |= line->kind == DESCRIBED_EXTENT;
    for (int i = 0; i < count; i++) {
        const int64_t value = told(&cases[i], line);
        const int is_nearer = value < now
                                  ? best >= now || value > best
                                  : value > now && may_grow && best >= now && (best == now || value < best);
        if (!is_nearer || cases[i].part != item->part || !making_is_ordinary(&cases[i])) continue;
        *item = before;
        tell_call(item, line, value, is_extent);
        if (has_whole_groups(lesson, item)) best = value;
    }
    *item = before;
    if (best == now) return 0;
    tell_call(item, line, best, is_extent);
    if (lesson->settle != NULL) lesson->settle(item);
    return 1;
}

/* Moves where buffers @p first to @p last begin. 0: there are not as many. */
static int move(const struct lesson *lesson, struct lesson_case *item, int first, int last)
{
    struct lesson_buffer buffer[WIRE_BUFFERS] = {{0}};
    const int count = lesson->buffers(item, buffer);
    for (int b = first; b <= last && b < count; b++)
        item->start[b] += (int)(WIRE_ALIGNMENT / storage_bytes(buffer[b].storage));
    return first < count;
}

/* Makes change number @p left of one argument: how far rows are apart, by as little as the contract allows, and by a multiple of a
 * vector; a factor; an extent; an option; where one buffer begins. 0: there are not as many. */
static int change_one(const struct lesson *lesson, const struct lesson_case *cases, int count,
                      struct lesson_case *item, int left)
{
    enum { VECTORS = 16 };
    const int fixed = described_about(lesson, item->part, DESCRIBED_NOT_HELD, "scalar.finite") != NULL;
    const struct described *line = NULL;
    while ((line = described_next(lesson, item->part, DESCRIBED_STRIDE, line)) != NULL)
        for (int vectors = 0; vectors < 2; vectors++) {
            if (left-- > 0) continue;
            tell_call(item, line, told(item, line) + line->first * (vectors ? VECTORS : 1), 1);
            item->about = AFTER("the same addresses and another distance of rows");
            return 1;
        }
    while (!fixed && (line = described_next(lesson, item->part, DESCRIBED_SCALAR, line)) != NULL) {
        if (left-- > 0) continue;
        item->real[line->at] = item->real[line->at] != 0.0 ? 0.5 * item->real[line->at] : 0.3125;
        item->flags &= ~(unsigned)CASE_UNIT_SCALE;
        item->about = AFTER("the same addresses and another factor");
        return 1;
    }
    for (int option = 0; option < 2; option++)
        while ((line = described_next(lesson, item->part, option ? DESCRIBED_OPTION : DESCRIBED_EXTENT,
                                      line)) != NULL) {
            struct lesson_case other = *item;
            if (is_stride(lesson, item->part, line) || !tell_another(lesson, cases, count, &other, line))
                continue;
            if (left-- > 0) continue;
            *item = other;
            item->about = option ? AFTER("the same addresses and another option")
                                 : AFTER("the same addresses and other sizes");
            return 1;
        }
    item->about = AFTER("another address and the same sizes");
    return move(lesson, item, left, left);
}

/* Two heads that share a K/V head, after two that do not: of one head no other number of K/V heads can be told. 0: there are more
 * heads, or no K/V heads. */
static int change_groups(const struct lesson *lesson, struct lesson_case *item, int changed)
{
    const struct described *heads = described_extent(lesson, item->part, "heads"),
                           *kv_heads = described_extent(lesson, item->part, "kv_heads");
    if (heads == NULL || kv_heads == NULL || told(item, heads) != 1) return 0;
    tell_call(item, heads, 2, 1);
    tell_call(item, kv_heads, changed ? 1 : 2, 1);
    if (lesson->settle != NULL) lesson->settle(item);
    item->about = AFTER("another number of K/V heads");
    return 1;
}

/* Whether how far rows are apart does not show an extent: that of a pointer's first axis, or of none where there are no such distances. */
static int counts_rows(const struct lesson *lesson, int part, const char *extent)
{
    const size_t length = strlen(extent);
    int counts = described_next(lesson, part, DESCRIBED_STRIDE, NULL) == NULL;
    for (const struct described *line = NULL;
         (line = described_next(lesson, part, DESCRIBED_POINTER, line)) != NULL;) {
        const char *at = line->extents;
        counts |= strncmp(at, extent, length) == 0 && at[length] == ',';
        while ((at = strstr(at, ", ")) != NULL)
            if (at += 2, strncmp(at, extent, length) == 0 && strchr(",", at[length]) != NULL) return 0;
    }
    return counts;
}

/* Makes change number @p left of a call that takes another path: fewer rows, or of what else there are rows; where its first buffer
 * begins, and where all others do. 0: there are not as many. */
static int change_path(const struct lesson *lesson, const struct lesson_case *cases, int count,
                       struct lesson_case *item, int left)
{
    for (const struct described *line = NULL;
         (line = described_next(lesson, item->part, DESCRIBED_EXTENT, line)) != NULL;) {
        struct lesson_case other = *item;
        if (is_stride(lesson, item->part, line) || !counts_rows(lesson, item->part, line->name) ||
            !tell_another(lesson, cases, count, &other, line) || told(&other, line) > told(item, line) ||
            left-- > 0)
            continue;
        *item = other;
        return 1;
    }
    return left < 2 && move(lesson, item, left, left > 0 ? WIRE_BUFFERS : 0);
}

/* Of change number @p left the call before it, or @p changed: the case's own arguments one by one, then how many heads share a K/V head,
 * then those of each case that takes another path. 0: there are not as many. */
static int change(const struct lesson *lesson, const struct lesson_case *cases, int count,
                  struct lesson_case *item, int left, int changed)
{
    const struct lesson_case *taken = NULL;
    struct lesson_case other = *item;
    int own = 0;
    for (; change_one(lesson, cases, count, &other, own); own++, other = *item)
        if (own == left) {
            if (changed) *item = other;
            return 1;
        }
    left -= own;
    if (change_groups(lesson, &other, changed) && left-- == 0) {
        *item = other;
        return 1;
    }
    for (int at = 0; (taken = path(lesson, cases, count, item->part, at)) != NULL; at++)
        for (int of_path = 0; other = *taken, change_path(lesson, cases, count, &other, of_path); of_path++) {
            if (left-- > 0) continue;
            if (!changed) other = *taken;
            other.flags |= CASE_SAME_ADDRESSES;
            other.seed = item->seed;
            other.devices = item->devices;
            other.about = AFTER("other arguments");
            *item = other;
            return 1;
        }
    return 0;
}

/* The part's call that is number @p left of those that must be refused, whatever becomes of a launch; NULL: there are not as many. */
static const struct lesson_case *refusal(const struct lesson_case *cases, int count, int part, int left)
{
    for (int i = 0; i < count; i++)
        if (cases[i].part == part && cases[i].expected != KERNEL_OK && cases[i].repeat == 1 &&
            cases[i].devices == ON_ANY && cases[i].capability == 0 &&
            !(cases[i].flags & CASE_REFUSE_LAUNCHES) && left-- == 0)
            return &cases[i];
    return NULL;
}

static void add_refused(struct making *m)
{
    int refusals = 0;
    while (m->sound != NULL && refusal(m->cases, m->count, m->part, refusals) != NULL) refusals++;
    struct lesson_case *item = refusals > 0 ? making_add(m, m->sound, "refused_after_sound") : NULL;
    if (item == NULL) return;
    item->group = GROUP_PROPERTIES;
    item->flags |= CASE_ENUMERATES | CASE_SAME_ADDRESSES;
    item->property = MADE_REFUSED;
    item->repeat = refusals + (refusals - 1) / (REFUSED_IN_TURN - 1) + 1;
}

void make_state(struct making *m)
{
    enum { ROWS = 7 };
    const struct lesson_case least = making_least(m, making_like_sound(m), ROWS);
    struct lesson_case *item = making_add(m, &least, "same_pointers");
    int changes = 0;
    if (item == NULL) return;
    for (struct lesson_case other = *item; change(m->lesson, m->cases, m->count, &other, changes, 1);
         other = *item)
        changes++;
    item->group = GROUP_PROPERTIES;
    item->flags |= CASE_ENUMERATES | CASE_SAME_ADDRESSES;
    item->property = MADE_STATE;
    item->repeat = 2 * changes + 2 + RANDOM_CALLS; /* at least the first one again */
    add_refused(m);
}

/* A random call, with buffers where those of the other ones are. */
static void random_call(const struct lesson *lesson, const struct lesson_case *cases, int count,
                        struct lesson_case *item, int index, struct rng *rng)
{
    if (!making_random(lesson, cases, count, item, index, rng)) return;
    item->flags |= CASE_SAME_ADDRESSES;
    item->about = AFTER("the same addresses and other arguments");
    item->misaligned_buffer = -1;
    item->misalignment = 0;
    for (int b = 0; b < LESSON_STARTS; b++) item->start[b] = 0;
}

/* Every other call is the one before again, with other contents; between them one argument differs. At last all may. */
void vary_state(const struct lesson *lesson, const struct lesson_case *cases, int count,
                struct lesson_case *item, int index, struct rng *rng)
{
    struct lesson_case last = *item; /* the change that this call makes, or the one before undoes */
    last.about = AFTER("the same arguments and other contents");
    item->seed = rng_mix(item->seed, (uint64_t)index);
    if (index >= item->repeat - RANDOM_CALLS) {
        random_call(lesson, cases, count, item, index, rng);
        return;
    }
    (void)change(lesson, cases, count, item, index / 2, index % 2);
    if (index > 0) (void)change(lesson, cases, count, &last, (index - 1) / 2, 1);
    item->about = index > 0 ? last.about : NULL;
}

/* Calls that must be refused, after a sound one with the same pointers: a few each time, so that others come first. */
void vary_refused(const struct lesson_case *cases, int count, struct lesson_case *item, int index)
{
    const struct lesson_case made = *item;
    if (index % REFUSED_IN_TURN == 0) return;
    *item = *refusal(cases, count, made.part, index - index / REFUSED_IN_TURN - 1);
    item->flags |= CASE_SAME_ADDRESSES;
    item->devices = made.devices;
    item->seed = made.seed;
    item->about = AFTER("sound arguments in the same place");
}

/* ---- bits ------------------------------------------------------------------------------------------------- */

/* The same call twice, with so few outputs and so long sums that a kernel may have several blocks share one. Rows of scores that are given
 * are cheap: they are longer than any that a block's registers hold. */
void make_long_sums(struct making *m)
{
    enum { FEW = 3, LONG = 3072, LONG_ROW = 17003 };
    static const char *const axes[] = {"kv_len", "k", "cols"};
    const int given = making_is_given_scores(m), length = given ? LONG_ROW : LONG;
    const struct described *rows = given ? described_extent(m->lesson, m->part, "rows") : NULL;
    for (size_t i = 0; i < sizeof axes / sizeof axes[0] && m->lesson->settle == NULL; i++) {
        const struct described *line = described_extent(m->lesson, m->part, axes[i]), *other = NULL;
        struct lesson_case item = making_least(m, making_like(m), FEW);
        if (line == NULL) continue;
        while ((other = described_next(m->lesson, m->part, DESCRIBED_STRIDE, other)) != NULL)
            if (strcmp(other->name, "lda") == 0) tell_call(&item, other, length, 1);
        tell_call(&item, line, length, 1);
        if (rows != NULL) tell_call(&item, rows, FEW, 1);
        struct lesson_case *added = making_add(m, &item, "long_sums");
        if (added != NULL) added->flags &= ~(unsigned)CASE_ONE_CALL;
    }
}

/* ---- devices ---------------------------------------------------------------------------------------------- */

static const int CAPABILITIES[] = {75, 80, 86, 100};
enum { COUNT = sizeof CAPABILITIES / sizeof CAPABILITIES[0] };

static int serves(const struct lesson *lesson, int part, int capability)
{
    const struct described *own = described_next(lesson, part, DESCRIBED_CHIP, NULL);
    const int least = own != NULL ? own->at : lesson->least_architecture;
    return capability >= least && (lesson->last_architecture == 0 || capability <= lesson->last_architecture);
}

static void add_chips(struct making *m, int served)
{
    for (int i = 0; i < COUNT; i++) {
        char name[LESSON_NAME / 2];
        if (serves(m->lesson, m->part, CAPABILITIES[i]) != served) continue;
        snprintf(name, sizeof name, "on_sm_%d", CAPABILITIES[i]);
        struct lesson_case *item = served ? making_add(m, making_like(m), name)
                                          : making_refuse(m, name, KERNEL_UNSUPPORTED_ARCHITECTURE);
        if (item == NULL) continue;
        item->devices = ON_SIMT;
        item->capability = CAPABILITIES[i];
    }
}

/* What must have the same bits, on a chip where one choice fits in shared memory and another one does not. */
static void add_same_bits(struct making *m)
{
    enum { LESS_SHARED = 86, ITEMS = 16 };
    const int own = m->count;
    for (int i = 0; i < own && serves(m->lesson, m->part, LESS_SHARED); i++) {
        char name[LESSON_NAME / 2];
        if (m->cases[i].part != m->part || !(m->cases[i].flags & CASE_SAME_BITS)) continue;
        snprintf(name, sizeof name, "same_bits_on_sm_%d", LESS_SHARED);
        struct lesson_case *item = making_add(m, &m->cases[i], name);
        if (item == NULL) continue;
        item->group = GROUP_PROPERTIES;
        item->flags |= CASE_ENUMERATES;
        item->repeat = ITEMS;
        item->devices = ON_SIMT;
        item->capability = LESS_SHARED;
    }
}

void make_chips(struct making *m)
{
    add_chips(m, 1);
    add_same_bits(m);
}

void make_other_chips(struct making *m)
{
    add_chips(m, 0);
}

/* With many times as many tiles as SMs, where there is a batch: blocks that stay have many each. And those of every path. */
void make_few_sms(struct making *m)
{
    enum { MANY = 72 };
    const struct described *line = described_extent(m->lesson, m->part, "batch");
    const int many = line != NULL && m->lesson->settle == NULL; /* else other extents follow from this one */
    const struct lesson_case least = making_least(m, m->simplest, 3);
    struct lesson_case *item = making_add(m, many ? &least : making_like(m), "on_few_sms");
    if (item == NULL) return;
    item->flags |= CASE_SMALL_DEVICE;
    item->devices = ON_SIMT;
    take_paths(m, item);
    if (many) item->value[line->at] = item->extent[line->at] = MANY;
}
