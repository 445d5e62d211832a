/**
 * @file arguments.c
 * @brief Promises about single arguments: pointers, extents, options, numbers; and which of two faults decides.
 */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "checker/cases/case_table.h"
#include "making.h"

enum { NAME = LESSON_NAME / 2 };

/* The line that describes buffer @p name in this part; NULL if there is none. */
static const struct described *pointer_line(const struct making *m, const char *name)
{
    const struct described *line = NULL;
    while ((line = described_next(m->lesson, m->part, DESCRIBED_POINTER, line)) != NULL)
        if (strcmp(line->name, name) == 0) return line;
    return NULL;
}

/* Whether lesson.def says of pointer @p line that it is @p null: REQUIRED, OPTIONAL or CHOSEN. */
static int is(const struct described *line, const char *null)
{
    return line != NULL && strcmp(line->words, null) == 0;
}

/* Calls @p make for every buffer of the part that lesson.def says is @p null. */
static void for_pointers(struct making *m, const struct lesson_case *like, const char *null,
                         void (*make)(struct making *m, int index, const struct lesson_buffer *buffer))
{
    struct lesson_buffer buffer[WIRE_BUFFERS] = {{0}};
    const int count = m->lesson->buffers(like, buffer);
    for (int b = 0; b < count; b++)
        if (is(pointer_line(m, buffer[b].name), null)) make(m, b, &buffer[b]);
}

static void make_null(struct making *m, int index, const struct lesson_buffer *buffer)
{
    char name[NAME];
    snprintf(name, sizeof name, "null_%s", buffer->name);
    struct lesson_case *item = making_refuse(m, name, KERNEL_INVALID_CONFIG);
    if (item != NULL) item->null_buffer = index;
}

void make_null_pointers(struct making *m)
{
    if (m->sound == NULL) return;
    for_pointers(m, m->sound, "REQUIRED", make_null);
    for_pointers(m, m->sound, "LAST", make_null);
    if (described_next(m->lesson, m->part, DESCRIBED_ARGS, NULL) == NULL) return;
    struct lesson_case *item = making_refuse(m, "null_args", KERNEL_INVALID_CONFIG);
    if (item != NULL) item->value[described_next(m->lesson, m->part, DESCRIBED_ARGS, NULL)->at] = 1;
}

static void make_optional(struct making *m, int index, const struct lesson_buffer *buffer)
{
    char name[NAME];
    snprintf(name, sizeof name, "without_%s", buffer->name);
    struct lesson_case *item = making_add(m, making_like(m), name);
    if (item != NULL) item->null_buffer = index;
}

void make_optional_pointers(struct making *m)
{
    for_pointers(m, making_like(m), "OPTIONAL", make_optional);
}

static void make_misaligned(struct making *m, int index, const struct lesson_buffer *buffer)
{
    char name[NAME];
    const int half = (int)lesson_align(buffer) / 2;
    if (half == 0 || buffer->role == WIRE_WORKSPACE) return;
    snprintf(name, sizeof name, "misaligned_%s", buffer->name);
    struct lesson_case *item = making_refuse(m, name, KERNEL_ALIGNMENT_ERROR);
    if (item == NULL) return;
    if (item->null_buffer == index) item->null_buffer = -1;
    item->misaligned_buffer = index;
    item->misalignment = half;
}

void make_misaligned_pointers(struct making *m)
{
    if (m->sound == NULL) return;
    for_pointers(m, m->sound, "REQUIRED", make_misaligned);
    for_pointers(m, m->sound, "LAST", make_misaligned);
    for_pointers(m, m->sound, "OPTIONAL", make_misaligned);
}

void make_small_extents(struct making *m)
{
    static const struct {
        const char *suffix;
        int below;
    } wrong[] = {{"zero", 0}, {"negative", -1}};
    for (const struct described *line = NULL;
         m->sound != NULL && (line = described_next(m->lesson, m->part, DESCRIBED_EXTENT, line)) != NULL;)
        for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
            char name[NAME];
            if (wrong[i].below >= line->first) continue;
            snprintf(name, sizeof name, "%s_%s", line->name, wrong[i].suffix);
            struct lesson_case *item = making_refuse(m, name, KERNEL_INVALID_DIMENSION);
            if (item != NULL) item->value[line->at] = wrong[i].below;
        }
}

/* ---- query heads to a K/V head ---------------------------------------------------------------------------- */

static const int RATIOS[] = {1, 2, 3, 5, 7, 11, 17};
enum { KV_HEADS = 2, RATIO_COUNT = sizeof RATIOS / sizeof RATIOS[0] };

/* They are made of the case that refusals are made of, which has two K/V heads. */
void make_ratios(struct making *m)
{
    make_far_groups(m);
    if (m->sound == NULL || described_extent(m->lesson, m->part, "kv_heads") == NULL) return;
    struct lesson_case *item = making_add(m, m->sound, "ratios_of_heads");
    if (item == NULL) return;
    item->group = GROUP_PROPERTIES;
    item->flags |= CASE_ENUMERATES;
    item->property = MADE_RATIOS;
    item->repeat = RATIO_COUNT;
}

void vary_ratio(const struct lesson *lesson, struct lesson_case *item, int index)
{
    const int heads = described_extent(lesson, item->part, "heads")->at,
              kv_heads = described_extent(lesson, item->part, "kv_heads")->at;
    item->value[kv_heads] = item->extent[kv_heads] = KV_HEADS;
    item->value[heads] = item->extent[heads] = KV_HEADS * RATIOS[index % RATIO_COUNT];
}

/* ---- numbers of tiles ------------------------------------------------------------------------------------- */

/* Of 41 tiles a division by the reciprocal in float takes the first of an axis' second round for the last of its first one; so it does
 * of 82 and 164, so that one extent does for tiles of many sizes. The software device would take long for tiles of 64. */
enum { SMALL_TILES = 41 * 32, LARGE_TILES = 41 * 256 };
static const char *const TILED[] = {"q_len", "kv_len", "m", "n"};
enum { TILED_COUNT = sizeof TILED / sizeof TILED[0] };

/* Whether the part has axis @p i, and tiles of it are as small as that: those of matrix products are not. */
static int has_tiles(const struct lesson *lesson, int part, int i, int large)
{
    const int has_cache =
        described_extent(lesson, part, "max_len") != NULL; /* as long as there are queries */
    return described_extent(lesson, part, TILED[i]) != NULL && !(i == 0 && has_cache) && (i < 2 || large);
}

int has_tiled_axis(const struct lesson *lesson, const struct lesson_case *cases, int count, int part)
{
    int axes = 0;
    (void)cases, (void)count;
    for (int i = 0; i < TILED_COUNT; i++) axes += has_tiles(lesson, part, i, 1);
    return axes > 0;
}

static void set_described(struct lesson_case *item, const struct described *line, int value)
{
    if (line != NULL) item->value[line->at] = item->extent[line->at] = value;
}

/* A division is wrong from the second round on: that of another head, or of another row or column of tiles. */
static void add_tiles(struct making *m, int axis, int large)
{
    const struct lesson_case least = making_least(m, m->simplest, 1);
    const int extent = large ? LARGE_TILES : SMALL_TILES;
    const struct described *line = NULL;
    char name[NAME];
    if (!has_tiles(m->lesson, m->part, axis, large)) return;
    snprintf(name, sizeof name, "tiles_of_%s%s", TILED[axis], large ? "_large" : "");
    struct lesson_case *item = making_add(m, &least, name);
    if (item == NULL) return;
    set_described(item, described_extent(m->lesson, m->part, "heads"), 2);
    set_described(item, described_extent(m->lesson, m->part, TILED[axis]), extent);
    while (strcmp(TILED[axis], "m") != 0 && /* rows of C, as many as there are, are no longer */
           (line = described_next(m->lesson, m->part, DESCRIBED_STRIDE, line)) != NULL)
        if (item->value[line->at] < extent) set_described(item, line, extent);
    if (m->lesson->settle != NULL) m->lesson->settle(item);
    if (large) item->devices = ON_GPU;
    item->about = "a multiple of 41 tiles: a division through a reciprocal in float rounds down there";
}

/* Whether rows may have any number of columns: no tile holds those of an ordinary case. */
static int has_long_rows(const struct making *m)
{
    enum { LONG = 1000 };
    const struct described *columns = described_extent(m->lesson, m->part, "head_dim");
    for (int i = 0; i < m->count && columns != NULL; i++)
        if (m->cases[i].part == m->part && making_is_ordinary(&m->cases[i]) &&
            m->cases[i].value[columns->at] >= LONG)
            return 1;
    return 0;
}

/* More than 256 slices of 32: a count of 8 bits begins anew. Elsewhere the software device would take long, and a GPU has longer sums. */
static void add_slices(struct making *m, const char *axis)
{
    enum { SLICES = 260 * 32 };
    const struct described *line = described_extent(m->lesson, m->part, axis);
    const struct lesson_case least = making_least(m, m->simplest, 1);
    char name[NAME];
    if (!has_long_rows(m)) return;
    snprintf(name, sizeof name, "slices_of_%s", axis);
    struct lesson_case *item = making_add(m, &least, name);
    if (item == NULL) return;
    set_described(item, line, SLICES);
    item->about = "more than 256 slices of 32: are they counted in 8 bits?";
}

void make_numbers_of_tiles(struct making *m)
{
    for (int large = 0; large < 2; large++)
        for (int axis = 0; axis < TILED_COUNT; axis++) add_tiles(m, axis, large);
    add_slices(m, "head_dim");
    add_slices(m, "kv_len");
}

/* ---- grids ------------------------------------------------------------------------------------------------ */

/* 1 if the contract refuses @p many of an extent: a case that must be refused has no more; or if that many queries would need a
 * cache as long. */
static int is_limited(const struct making *m, const struct described *extent, int64_t many)
{
    enum { MOST = 65535 };
    for (int i = 0; i < m->count; i++)
        if (m->cases[i].part == m->part && m->cases[i].expected == KERNEL_INVALID_DIMENSION &&
            m->cases[i].value[extent->at] > MOST && m->cases[i].value[extent->at] <= many)
            return 1;
    return strcmp(extent->name, "q_len") == 0 && described_extent(m->lesson, m->part, "max_len") != NULL;
}

/* An extent of which there are many, and where to look at what comes out: blocks may be left out, or counts of 16 bits overflow. For most
 * the software device would take minutes. Of columns and keys so many are only launched: tiles of 256 are more than 65,535. */
enum { MANY = 70001, MANY_OF_EACH = 280001 /* of four experts */, MANY_TILES = 17000008 };
static const struct many {
    const char *extent;
    int many;
    unsigned results;
} EXTENTS[] = {{"batch", MANY, ON_GPU},   {"heads", MANY, ON_GPU}, {"q_len", MANY, ON_GPU},
               {"rows", MANY, ON_GPU},    {"tokens", MANY, 0},     {"pairs", MANY_OF_EACH, ON_ANY},
               {"kv_len", MANY_TILES, 0}, {"m", MANY_TILES, 0},    {"n", MANY_TILES, 0}};

#define MORE_BLOCKS "a grid's x counts to 2^31, its y and z to 65,535: blocks may be more than those count"

static void add_results_of_many(struct making *m, const struct described *extent, const struct many *many)
{
    char name[NAME];
    const struct lesson_case least = making_least(m, m->simplest, 3);
    const struct described *with = described_extent(m->lesson, m->part, "kv_heads");
    const int alone = with == NULL || strcmp(extent->name, "heads") != 0 || m->lesson->settle != NULL ||
                      described_next(m->lesson, m->part, DESCRIBED_STRIDE, NULL) != NULL;
    snprintf(name, sizeof name, "results_of_many_%s", extent->name);
    struct lesson_case *item = many->results != 0 ? making_add(m, &least, name) : NULL;
    if (item == NULL) return;
    set_described(item, extent, many->many);
    if (!alone) set_described(item, with, many->many); /* else other extents follow from it */
    if (m->lesson->settle != NULL) m->lesson->settle(item);
    item->devices = many->results;
    item->about =
        many->many == MANY_OF_EACH ? "more than 65,536 of each: is none counted in 16 bits?" : MORE_BLOCKS;
}

/* The software device checks the launches and runs nothing, so that buffers may be small; the workspace is as large as the kernel asks for. */
static void add_launches_of_many(struct making *m, const struct described *extent, const struct many *many)
{
    char name[NAME];
    const struct described *with = described_extent(m->lesson, m->part, "kv_heads"), *stride = NULL;
    snprintf(name, sizeof name, "many_%s", extent->name);
    struct lesson_case *item = making_add(m, m->simplest, name);
    if (item == NULL) return;
    item->value[extent->at] = many->many;
    while (many->many == MANY_TILES &&
           (stride = described_next(m->lesson, m->part, DESCRIBED_STRIDE, stride)) != NULL)
        item->value[stride->at] = many->many;
    if (strcmp(extent->name, "heads") == 0 && with != NULL) item->value[extent->at] *= item->value[with->at];
    item->flags |= CASE_LAUNCH_ONLY;
    item->devices = ON_SIMT;
    item->about = MORE_BLOCKS;
}

/* As many as an int counts, of one key, where their workspace has room. */
static void add_most(struct making *m, const char *name)
{
    const size_t most_workspace = (size_t)64 << 30;
    const struct described *extent = described_extent(m->lesson, m->part, name);
    struct lesson_case most = making_least(m, m->simplest, 1), with_buffers;
    char full[NAME];
    if (extent == NULL || m->lesson->settle != NULL || is_limited(m, extent, MANY)) return;
    most.value[extent->at] = INT_MAX;
    with_buffers = most;
    with_buffers.extent[extent->at] = INT_MAX;
    if (making_most_workspace(m->lesson, &with_buffers) > most_workspace) return;
    snprintf(full, sizeof full, "most_%s", name);
    struct lesson_case *item = making_add(m, &most, full);
    if (item == NULL) return;
    item->flags |= CASE_LAUNCH_ONLY;
    item->devices = ON_SIMT;
    item->about = "2^31 - 1, which the contract allows: an int that is rounded up to whole blocks overflows";
}

void make_many(struct making *m)
{
    add_most(m, "batch");
    add_most(m, "rows");
    add_most(m, "count");
    for (size_t i = 0; i < sizeof EXTENTS / sizeof EXTENTS[0]; i++) {
        const struct described *line = described_extent(m->lesson, m->part, EXTENTS[i].extent);
        if (line == NULL || is_limited(m, line, EXTENTS[i].many)) continue;
        add_results_of_many(m, line, &EXTENTS[i]);
        add_launches_of_many(m, line, &EXTENTS[i]);
    }
}

/* ---- shared memory ---------------------------------------------------------------------------------------- */

/* Floats in the shared memory that a block has without asking, and in the most that it has; a row of 256 queries or sums takes ROW_FLOATS. */
enum { FLOATS_UNASKED = 48 * 256, FLOATS_AT_MOST = 227 * 256, ROW_FLOATS = 256, SHARED_LENGTHS = 16 };

/* The axis along which a block might keep a row of scores; NULL: the part has none. */
static const struct described *axis_of_rows(const struct lesson *lesson, int part)
{
    static const char *const names[] = {"kv_len", "cols", "max_context_len", "max_len"};
    const struct described *line = NULL;
    for (size_t i = 0; line == NULL && i < sizeof names / sizeof names[0]; i++)
        line = described_extent(lesson, part, names[i]);
    return line;
}

int has_rows_of_keys(const struct lesson *lesson, const struct lesson_case *cases, int count, int part)
{
    (void)cases, (void)count;
    return axis_of_rows(lesson, part) != NULL;
}

/* Only the launches are checked: nothing is as long as the kernel is told. */
void make_shared_rows(struct making *m)
{
    enum { ROWS = 3 };
    const struct lesson_case *widest = making_widest(m);
    const struct lesson_case least = making_least(m, widest != NULL ? widest : m->simplest, ROWS);
    if (axis_of_rows(m->lesson, m->part) == NULL) return;
    struct lesson_case *item = making_add(m, &least, "rows_that_fill_shared_memory");
    if (item == NULL) return;
    item->flags |= CASE_LAUNCH_ONLY | CASE_ENUMERATES;
    item->devices = ON_SIMT;
    item->property = MADE_SHARED;
    item->repeat = SHARED_LENGTHS;
    item->about =
        "a row of scores nearly fills the 48 KB of shared memory that a block has without asking, or all "
        "that it can have: what else lies there must fit beside it";
}

/* Of the most that there is some is left for what every block has beside a row. */
void vary_shared(const struct lesson *lesson, struct lesson_case *item, int index)
{
    const int most = index % 2 > 0 ? FLOATS_AT_MOST - ROW_FLOATS : FLOATS_UNASKED,
              keys = most - index / 2 * ROW_FLOATS;
    const struct described *pages = described_extent(lesson, item->part, "max_blocks");
    item->value[axis_of_rows(lesson, item->part)->at] = keys;
    if (pages != NULL) item->value[pages->at] = keys;
    if (lesson->tell_keys != NULL) lesson->tell_keys(item, keys);
}

void make_unknown_options(struct making *m)
{
    enum { NO_DTYPE = 9 };
    char name[NAME];
    const struct described *line = NULL;
    while (m->sound != NULL && (line = described_next(m->lesson, m->part, DESCRIBED_OPTION, line)) != NULL)
        for (int above = 0; above < 2; above++) {
            snprintf(name, sizeof name, "%s_%s", line->name, above ? "unknown" : "negative");
            struct lesson_case *item = making_refuse(m, name, KERNEL_INVALID_CONFIG);
            if (item != NULL) item->value[line->at] = above ? line->last + 1 : line->first - 1;
        }
    while (m->sound != NULL && (line = described_next(m->lesson, m->part, DESCRIBED_DTYPE, line)) != NULL) {
        snprintf(name, sizeof name, "%s_unknown", line->name);
        struct lesson_case *item = making_refuse(m, name, KERNEL_UNSUPPORTED_DTYPE);
        if (item != NULL) item->value[line->at] = NO_DTYPE;
    }
}

void make_odd_scalars(struct making *m)
{
    static const struct {
        const char *suffix;
        double value;
    } odd[] = {{"nan", (double)NAN}, {"infinite", (double)INFINITY}, {"minus_infinite", -(double)INFINITY}};
    const struct described *line = NULL;
    while (m->sound != NULL && (line = described_next(m->lesson, m->part, DESCRIBED_SCALAR, line)) != NULL)
        for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
            char name[NAME];
            snprintf(name, sizeof name, "%s_%s", line->name, odd[i].suffix);
            struct lesson_case *item = making_refuse(m, name, KERNEL_INVALID_CONFIG);
            if (item != NULL) item->real[line->at] = odd[i].value;
        }
}

void make_finite_scalars(struct making *m)
{
    static const struct {
        const char *suffix;
        double value;
    } finite[] = {{"minus_three_eighths", -0.375}, {"small", 1e-7}, {"minute", 1e-30}};
    for (const struct described *line = NULL;
         (line = described_next(m->lesson, m->part, DESCRIBED_SCALAR, line)) != NULL;)
        for (size_t i = 0; i < sizeof finite / sizeof finite[0]; i++) {
            char name[NAME];
            snprintf(name, sizeof name, "%s_%s", line->name, finite[i].suffix);
            struct lesson_case *item = making_add_sound(m, name);
            if (item == NULL) continue;
            item->real[line->at] = finite[i].value;
            item->flags &= ~(unsigned)CASE_UNIT_SCALE;
        }
}

/* ---- where buffers begin ---------------------------------------------------------------------------------- */

void make_places(struct making *m)
{
    struct lesson_buffer buffer[WIRE_BUFFERS] = {{0}};
    const struct lesson_case *like = making_like(m);
    const int places = case_table_places(buffer, m->lesson->buffers(like, buffer));
    struct lesson_case *item = places > 1 ? making_add(m, like, "alignments") : NULL;
    if (item == NULL) return;
    item->group = GROUP_PROPERTIES;
    item->flags |= CASE_ENUMERATES;
    item->property = MADE_PLACES;
    item->repeat = places;
}

/* ---- two faults ------------------------------------------------------------------------------------------- */

/* In which order contracts name causes for a refusal: the checks that all lessons share come first, and the device last. */
static int rank_of_fault(const struct lesson *lesson, const struct lesson_case *fault)
{
    static const int rank[] = {
        [KERNEL_INVALID_CONFIG] = 1,  [KERNEL_INVALID_DIMENSION] = 2, [KERNEL_UNSUPPORTED_DTYPE] = 3,
        [KERNEL_ALIGNMENT_ERROR] = 4, [KERNEL_OUT_OF_MEMORY] = 5,     [KERNEL_UNSUPPORTED_ARCHITECTURE] = 7};
    if (fault->misaligned_buffer >= 0 && fault->misaligned_buffer == making_workspace(lesson, fault))
        return 6;
    return fault->expected < (int)(sizeof rank / sizeof rank[0]) ? rank[fault->expected] : 0;
}

/* Whether a pointer that the contract looks at after all that lessons share is at fault. */
static int is_late(const struct lesson *lesson, const struct lesson_case *fault)
{
    struct lesson_buffer buffer[WIRE_BUFFERS] = {{0}};
    const int count = lesson->buffers(fault, buffer);
    const int at = fault->null_buffer >= 0 ? fault->null_buffer : fault->misaligned_buffer;
    for (const struct described *line = NULL;
         at >= 0 && at < count &&
         (line = described_next(lesson, fault->part, DESCRIBED_POINTER, line)) != NULL;)
        if (strcmp(line->name, buffer[at].name) == 0) return is(line, "LAST");
    return 0;
}

/* Whether lesson.def says that the contract looks at this in another order than most do. */
static int is_told_otherwise(const struct lesson *lesson, int part, const char *what)
{
    char promise[LESSON_NAME];
    snprintf(promise, sizeof promise, "refusal.order %s", what);
    return described_about(lesson, part, DESCRIBED_NOT_HELD, promise) != NULL;
}

/* Whether a case of the lesson's own has one extent that the contract refuses, and is sound otherwise. */
static int is_own_extent(const struct lesson *lesson, const struct lesson_case *item,
                         const struct lesson_case *sound)
{
    int changed = -1;
    for (int i = 0; i < WIRE_VALUES; i++)
        if (item->value[i] != sound->value[i]) changed = changed == -1 ? i : -2;
    if (item->expected != KERNEL_INVALID_DIMENSION || item->null_buffer != sound->null_buffer ||
        item->misaligned_buffer >= 0 || item->capability != 0)
        return 0;
    for (const struct described *line = NULL;
         (line = described_next(lesson, item->part, DESCRIBED_EXTENT, line)) != NULL;)
        if (line->at == changed) return !is_told_otherwise(lesson, item->part, line->name);
    return 0;
}

/* Of the cases that the table made of @p sound, and of the lesson's own, those with one fault. */
static int is_fault(const struct lesson *lesson, const struct lesson_case *item,
                    const struct lesson_case *sound)
{
    return item->part == sound->part && item->expected != KERNEL_OK && item->repeat == 1 &&
           !(item->flags & CASE_REFUSE_LAUNCHES) &&
           memcmp(item->extent, sound->extent, sizeof item->extent) == 0 &&
           (item->shows != 0 || is_own_extent(lesson, item, sound)) && !is_late(lesson, item);
}

void make_several_faults(struct making *m)
{
    enum { PAIRS = 128 }; /* each pair of causes six times, or more */
    int ranks = 0;
    for (int i = 0; i < m->count; i++)
        if (m->sound != NULL && is_fault(m->lesson, &m->cases[i], m->sound))
            ranks |= 1 << rank_of_fault(m->lesson, &m->cases[i]);
    if (m->sound == NULL || (ranks & (ranks - 1)) == 0) return;
    struct lesson_case *item = making_refuse(m, "two_faults", KERNEL_INVALID_CONFIG);
    if (item == NULL) return;
    item->group = GROUP_PROPERTIES;
    item->property = MADE_FAULTS;
    item->repeat = PAIRS;
}

/* Adds to @p item what makes @p fault differ from @p sound; 0 if both differ in the same place. */
static int add_fault(struct lesson_case *item, const struct lesson_case *fault,
                     const struct lesson_case *sound)
{
    for (int i = 0; i < WIRE_VALUES; i++) {
        if (fault->value[i] == sound->value[i]) continue;
        if (item->value[i] != sound->value[i]) return 0;
        item->value[i] = fault->value[i];
    }
    for (int i = 0; i < WIRE_REALS; i++)
        if (memcmp(&fault->real[i], &sound->real[i], sizeof fault->real[i]) != 0)
            item->real[i] = fault->real[i];
    if (fault->null_buffer != sound->null_buffer) {
        if (item->null_buffer != sound->null_buffer) return 0;
        item->null_buffer = fault->null_buffer;
    }
    if (fault->misaligned_buffer >= 0) {
        if (item->misaligned_buffer >= 0) return 0;
        item->misaligned_buffer = fault->misaligned_buffer;
        item->misalignment = fault->misalignment;
    }
    if (fault->workspace_more != 0) item->workspace_more = fault->workspace_more;
    if (fault->capability != 0) item->capability = fault->capability;
    item->flags |= fault->flags;
    item->devices &= fault->devices;
    return item->null_buffer < 0 || item->null_buffer != item->misaligned_buffer;
}

enum { RANKS = 8 };

/* Number @p at of the faults of this rank, from the first again after the last; NULL: there is none. */
static const struct lesson_case *fault_of(const struct lesson *lesson, const struct lesson_case *cases,
                                          int count, const struct lesson_case *sound, int rank, int at)
{
    int faults = 0, number = -1;
    for (int i = 0; i < count; i++)
        faults += is_fault(lesson, &cases[i], sound) && rank_of_fault(lesson, &cases[i]) == rank;
    for (int i = 0; i < count && faults > 0; i++) {
        number += is_fault(lesson, &cases[i], sound) && rank_of_fault(lesson, &cases[i]) == rank;
        if (number == at % faults) return &cases[i];
    }
    return NULL;
}

/* Writes which pairs of causes the part has, the contract's first first; returns how many. An architecture comes last. */
static int pairs_of(const struct lesson *lesson, const struct lesson_case *cases, int count,
                    const struct lesson_case *sound, int pairs[RANKS * RANKS][2])
{
    enum { WORKSPACE = 5, DEVICE = 7 };
    const int is_device_last = !is_told_otherwise(lesson, sound->part, "workspace");
    int found = 0;
    for (int later = 1; later < RANKS; later++)
        for (int first = 0; first < later; first++) {
            if (later == DEVICE && first >= WORKSPACE && !is_device_last) continue;
            if (fault_of(lesson, cases, count, sound, first, 0) == NULL ||
                fault_of(lesson, cases, count, sound, later, 0) == NULL)
                continue;
            pairs[found][0] = first;
            pairs[found++][1] = later;
        }
    return found;
}

/* Both faults are wrong by themselves, each for another cause. Items go through all pairs of causes in turn, and each time take
 * the next fault that comes first, with any one of the others. */
void vary_faults(const struct lesson *lesson, const struct lesson_case *cases, int count,
                 struct lesson_case *item, int index, struct rng *rng)
{
    enum { MOST_TRIED = 1000, ANY = 1 << 16 };
    const struct lesson_case sound = *item;
    int pairs[RANKS * RANKS][2];
    const int found = pairs_of(lesson, cases, count, &sound, pairs);
    for (int tried = 0; tried < MOST_TRIED && found > 0; tried++, index++) {
        const int *rank = pairs[index % found];
        const struct lesson_case *first = fault_of(lesson, cases, count, &sound, rank[0], index / found),
                                 *second = fault_of(lesson, cases, count, &sound, rank[1],
                                                    rng_between(rng, 0, ANY));
        *item = sound;
        if (!add_fault(item, first, &sound) || !add_fault(item, second, &sound)) continue;
        if (item->devices == 0) continue;
        /* a workspace may turn out not to be needed: that only matters where it is the first fault */
        if ((first->flags & CASE_IF_WORKSPACE) && second->capability != 0) continue;
        if (!(first->flags & CASE_IF_WORKSPACE)) item->flags &= ~(unsigned)CASE_IF_WORKSPACE;
        item->expected = first->expected;
        return;
    }
    /* None of the pairs fits in one call: then one fault has to do. */
    *item = sound;
    for (int rank = 1; rank < RANKS; rank++) {
        const struct lesson_case *only = fault_of(lesson, cases, count, &sound, rank, index);
        if (only == NULL || !add_fault(item, only, &sound)) continue;
        item->expected = only->expected;
        return;
    }
}

/* ---- faults where there is nothing to do ------------------------------------------------------------------ */

enum { MOST_REFUSALS = 256, OTHER_CHIPS = 4 /* refusals that come later in the table */ };

/* With one factor 0 and the other 1 an output is what it was. */
int has_idle(const struct lesson *lesson, const struct lesson_case *cases, int count, int part)
{
    const struct described *first = described_next(lesson, part, DESCRIBED_SCALAR, NULL);
    (void)cases, (void)count;
    return first != NULL && described_next(lesson, part, DESCRIBED_SCALAR, first) != NULL &&
           described_about(lesson, part, DESCRIBED_NOT_HELD, "scalar.finite") == NULL;
}

/* Writes the part's calls that such devices must refuse, whatever becomes of a launch; returns how many. */
static int refusals_of(const struct lesson_case *cases, int count, int part, unsigned devices,
                       const struct lesson_case **refusal)
{
    int found = 0;
    for (int i = 0; i < count && found < MOST_REFUSALS; i++)
        if (cases[i].part == part && cases[i].expected != KERNEL_OK && cases[i].repeat == 1 &&
            cases[i].devices & devices && !(cases[i].flags & CASE_REFUSE_LAUNCHES))
            refusal[found++] = &cases[i];
    return found;
}

void make_idle(struct making *m)
{
    const struct lesson_case *refusal[MOST_REFUSALS];
    if (m->sound == NULL || !has_idle(m->lesson, m->cases, m->count, m->part)) return;
    struct lesson_case *item = making_refuse(m, "nothing_to_do", KERNEL_INVALID_CONFIG);
    if (item == NULL) return;
    item->group = GROUP_PROPERTIES;
    item->flags |= CASE_ENUMERATES;
    item->property = MADE_IDLE;
    item->repeat = refusals_of(m->cases, m->count, m->part, ON_ANY, refusal) + OTHER_CHIPS;
    item->about = "with such factors nothing is to be done: are arguments looked at before the call ends?";
}

/* All factors are 0 but the last, which is 1: that of what the output holds. One that is itself at fault stays. */
void vary_idle(const struct lesson *lesson, const struct lesson_case *cases, int count,
               struct lesson_case *item, int index)
{
    const struct lesson_case made = *item, *refusal[MOST_REFUSALS];
    const int refusals = refusals_of(cases, count, made.part, made.devices, refusal);
    int last = -1;
    *item = *refusal[index % refusals];
    item->devices = made.devices;
    item->about = made.about;
    for (const struct described *line = NULL;
         (line = described_next(lesson, item->part, DESCRIBED_SCALAR, line)) != NULL; last = line->at) {
        if (last >= 0 && isfinite(item->real[last])) item->real[last] = 0.0;
        if (isfinite(item->real[line->at])) item->real[line->at] = 1.0;
    }
}
