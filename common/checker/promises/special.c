/**
 * @file special.c
 * @brief The promise about NaN and infinities: they come out where they belong, and nowhere else.
 *
 * Inputs of another case, or of a random shape, in which one element, or a few, of one buffer of floats is NaN or infinite: any
 * element, whether it is seen or not. In half of the items elements of the other buffers are 0, some of them or all, also those of 8
 * bits: 0 times infinity is NaN. Where all are, sums are long, and the last element of the buffer is one: tiles of zeros come before.
 * What comes of it the oracle says.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "making.h"

enum {
    ITEMS = 60,
    MOST = 3 /* elements */,
    ZEROS = 4,          /* one in so many meets it; of so many items with zeros one has nothing else */
    MOST_FLOP = 1 << 22 /* of a case with long sums */
};

/* Of four items two have zeros, one of a case and one of a random shape. */
static int has_zeros(uint64_t turn)
{
    return turn % 4 / 2 > 0;
}

static int is_all_zeros(uint64_t turn)
{
    return has_zeros(turn) && turn / 4 % ZEROS == 0;
}

/* Whether numbers that are stored so can be NaN or infinite. */
static int has_specials(enum storage storage)
{
    return storage == STORAGE_F32 || storage == STORAGE_F16 || storage == STORAGE_BF16;
}

/* Where numbers have 16 bits a kernel may round what comes between: 0 times infinity where the oracle has a small number times it. */
static int has_infinities(const struct lesson_buffer *buffer, int buffers)
{
    for (int b = 0; b < buffers; b++)
        if (buffer[b].storage == STORAGE_F16 || buffer[b].storage == STORAGE_BF16) return 0;
    return 1;
}

/* The buffer of inputs that number @p turn is about, of those that have NaN; -1: there is none. */
static int buffer_of(const struct lesson_buffer *buffer, int buffers, uint64_t turn)
{
    int found[WIRE_BUFFERS], count = 0;
    for (int b = 0; b < buffers; b++)
        if ((buffer[b].role == WIRE_IN || buffer[b].role == WIRE_INOUT) && has_specials(buffer[b].storage))
            found[count++] = b;
    return count > 0 ? found[turn % (uint64_t)count] : -1;
}

int has_floats(const struct lesson *lesson, const struct lesson_case *cases, int count, int part)
{
    struct lesson_buffer buffer[WIRE_BUFFERS] = {{0}};
    for (int i = 0; i < count; i++)
        if (cases[i].part == part && cases[i].expected == KERNEL_OK)
            return buffer_of(buffer, lesson->buffers(&cases[i], buffer), 0) >= 0;
    return 0;
}

void make_special(struct making *m)
{
    if (!has_floats(m->lesson, m->cases, m->count, m->part)) return;
    struct lesson_case *item = making_add_sound(m, "special_values");
    if (item == NULL) return;
    item->group = GROUP_NUMERICS;
    item->flags = (item->flags | CASE_ENUMERATES) & ~(unsigned)CASE_UNIT_SCALE;
    item->property = MADE_SPECIAL;
    item->repeat = ITEMS;
}

/* Whether a case is the part's of NaN, and its numbers may be infinite, too. */
static int takes_infinities(const struct lesson *lesson, const struct lesson_case *item, int part)
{
    struct lesson_buffer buffer[WIRE_BUFFERS] = {{0}};
    return item->part == part && item->property == MADE_SPECIAL &&
           has_infinities(buffer, lesson->buffers(item, buffer));
}

int has_floats_of_32_bits(const struct lesson *lesson, const struct lesson_case *cases, int count, int part)
{
    for (int i = 0; i < count; i++)
        if (takes_infinities(lesson, &cases[i], part)) return 1;
    return 0;
}

void make_infinities(struct making *m)
{
    for (int i = 0; i < m->count; i++)
        if (takes_infinities(m->lesson, &m->cases[i], m->part)) {
            m->cases[i].shows |= UINT64_C(1) << m->row;
            m->cases[i].special = 1;
        }
}

/* Whether inputs of a case are such as most have. What else is special about them might hide what one element does, or make it depend on
 * how a kernel rounds. */
static int is_plain(const struct lesson_case *item, const struct lesson_case *like)
{
    return item->part == like->part && making_is_ordinary(item) && item->group != GROUP_SPEED &&
           item->scores == 0 && item->distribution == like->distribution;
}

/* Any such case, of those that have the least of extent @p line, if that is not NULL; NULL: there is none. */
static const struct lesson_case *any_plain(const struct lesson_case *cases, int count,
                                           const struct lesson_case *like, const struct described *line,
                                           struct rng *rng)
{
    const struct lesson_case *found = NULL;
    int alike = 0;
    for (int i = 0; i < count; i++) {
        if (!is_plain(&cases[i], like)) continue;
        const int64_t less =
            found != NULL && line != NULL ? cases[i].value[line->at] - found->value[line->at] : 0;
        if (less < 0) alike = 0;
        if (less <= 0 && rng_between(rng, 0, alike++) == 0) found = &cases[i];
    }
    return found;
}

static double flop_of(const struct lesson *lesson, const struct lesson_case *item)
{
    struct lesson_cost cost = {0};
    lesson->cost(item, &cost);
    return cost.flop;
}

/* Of such cases that are cheap the one with the longest sums: with the most operations for an element of its outputs. */
static const struct lesson_case *longest_plain(const struct lesson *lesson, const struct lesson_case *cases,
                                               int count, const struct lesson_case *like)
{
    const struct lesson_case *found = NULL;
    double longest = 0.0;
    for (int i = 0; i < count; i++) {
        struct lesson_buffer buffer[WIRE_BUFFERS] = {{0}};
        if (!is_plain(&cases[i], like) || flop_of(lesson, &cases[i]) > MOST_FLOP) continue;
        double elems = 1.0;
        for (int b = lesson->buffers(&cases[i], buffer) - 1; b >= 0; b--)
            if (buffer[b].role == WIRE_OUT || buffer[b].role == WIRE_INOUT)
                elems += (double)lesson_elems(&buffer[b]);
        if (flop_of(lesson, &cases[i]) / elems <= longest) continue;
        longest = flop_of(lesson, &cases[i]) / elems;
        found = &cases[i];
    }
    return found;
}

/* Of two such cases the cheaper one: so all come, and the dearest seldom. */
static const struct lesson_case *cheap_plain(const struct lesson *lesson, const struct lesson_case *cases,
                                             int count, const struct lesson_case *like,
                                             const struct described *line, struct rng *rng)
{
    const struct lesson_case *one = any_plain(cases, count, like, line, rng),
                             *other = any_plain(cases, count, like, line, rng);
    return one != NULL && flop_of(lesson, other) < flop_of(lesson, one) ? other : one;
}

/* The extents of a part in turn; NULL if it has none. */
static const struct described *extent_in_turn(const struct lesson *lesson, int part, int turn)
{
    const struct described *line = NULL;
    for (int i = 0; i <= turn; i++) {
        line = described_next(lesson, part, DESCRIBED_EXTENT, line);
        if (line == NULL) line = described_next(lesson, part, DESCRIBED_EXTENT, NULL);
    }
    return line;
}

/* Leaves out what the kernel need not be given. */
static void omit(const struct lesson *lesson, struct lesson_case *item)
{
    struct lesson_buffer buffer[WIRE_BUFFERS] = {{0}};
    const int count = lesson->buffers(item, buffer);
    const struct described *line = NULL;
    while ((line = described_next(lesson, item->part, DESCRIBED_POINTER, line)) != NULL)
        for (int b = 0; b < count; b++)
            if (strcmp(line->words, "OPTIONAL") == 0 && strcmp(line->name, buffer[b].name) == 0 &&
                buffer[b].role == WIRE_OUT)
                item->null_buffer = b;
}

/* Every other item is a case, in every other of these with as little as there is of one extent. */
void vary_special(const struct lesson *lesson, const struct lesson_case *cases, int count,
                  struct lesson_case *item, int index, struct rng *rng)
{
    const struct lesson_case made = *item, *plain = NULL;
    const struct described *line = index % 4 == 0 ? extent_in_turn(lesson, made.part, index / 4) : NULL;
    if (index % 2 == 0)
        plain = is_all_zeros((uint64_t)index) ? longest_plain(lesson, cases, count, &made)
                                              : cheap_plain(lesson, cases, count, &made, line, rng);
    if (plain != NULL) {
        *item = *plain;
        if (rng_between(rng, 0, 1)) omit(lesson, item);
    } else if (making_random(lesson, cases, count, item, index, rng)) {
        item->distribution = made.distribution;
    }
    item->flags = (item->flags | CASE_ENUMERATES) & ~(unsigned)CASE_UNIT_SCALE;
    item->about = lesson->terms != NULL && has_zeros((uint64_t)index)
                      ? "one element, or a few, is NaN or infinite, and much that is multiplied with it is "
                        "0: 0 times either is NaN"
                      : "one element, or a few, is NaN or infinite: does it come out where it belongs, and "
                        "nowhere else?";
    item->special = made.special > 0 ? 1 + index : -1 - index;
    item->seed = rng_mix(made.seed, (uint64_t)index);
}

void special_fill(const struct lesson_case *item, const struct lesson_buffer *buffer, int buffers, int index,
                  float *data)
{
    static const float VALUES[] = {NAN, INFINITY, -INFINITY};
    struct rng rng = {rng_mix(item->seed, 0x5bec1a1)};
    const uint64_t turn = (uint64_t)(abs(item->special) - 1), kinds = sizeof VALUES / sizeof VALUES[0];
    const float value = item->special > 0 && has_infinities(buffer, buffers) ? VALUES[turn % kinds] : NAN;
    const size_t elems = lesson_elems(&buffer[index]);
    const int all = is_all_zeros(turn), one = buffer_of(buffer, buffers, turn / (all ? 4 * ZEROS : kinds));
    if (elems == 0 || one < 0) return;
    if (!has_specials(buffer[index].storage) && buffer[index].storage != STORAGE_S8) return;
    for (size_t i = 0; has_zeros(turn) && one != index && i < elems; i++)
        if (all || rng_next(&rng) % ZEROS == 0) data[i] = 0.0f;
    if (one != index) return;
    if (all) data[elems - 1] = value;
    for (int i = rng_between(&rng, 1, MOST); i > 0; i--) data[rng_next(&rng) % elems] = value;
}
