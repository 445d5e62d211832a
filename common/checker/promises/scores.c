/**
 * @file scores.c
 * @brief Promises about scores: one that is finite counts, however large it is, and even if a query or a key times the factor is not.
 *
 * Only the first column of queries and keys is not 0, and all products are exact: a score is the factor times a query times a key.
 * Every key has another one, far from its neighbours', so that one key takes all the weight; queries are of eight sizes, and every other
 * one is negative, so that all its scores are far below 0, or all above it. Values lie around 4: without a weight the result would be 0.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "making.h"

#define LARGE_SCORES                                                                                         \
    "scores of 2^27 to 2^127: half a unit in the last place of one is an exponent that no float has"
#define LOWEST                                                                                               \
    "scores as far below 0, or above it, as any that counts: a maximum that begins at a number is above "    \
    "them"
#define BEYOND "the scale, or log2(e), times an element of q or k is infinite here, and no score is"
#define NEAR_0 "the scale is so small that all weights are the same; 0 alone stands for the default"
#define SMALL                                                                                                \
    "the scale is at most 2^-100, but products of q and k are so large that scores are ordinary ones"
#define TINY                                                                                                 \
    "products of q and k are 2^-130 or so, and the scale makes scores of them that count: so do products "   \
    "of "                                                                                                    \
    "scales of q and k"
#define UNDERFLOWS                                                                                           \
    "the scale times an element of q, or of k, is less than any float here, and products of q and k are "    \
    "ordinary numbers"
#define PEAKS                                                                                                \
    "a few keys have a score 200 above all others, in every row other ones: does the maximum count all "     \
    "keys?"
#define FAINT "weights of 2^-122 and less, values of 2^118: weights count down to 2^-126"
#define STEP_UP                                                                                              \
    "the scores of a third of the keys are so far above all others: does a maximum that falls behind by as " \
    "much leave weights whose sum is infinite?"

/* Elements are normal halves, but for those where only types with a float's exponent have them. Times log2(e) a score is still finite:
 * many kernels take it so. */
struct size {
    double factor, query, key; /* keys are as large as that to twice as large */
    const char *about;
    int every; /* not 0: one of so many keys is that large, with a value of 0; all others are 0. Negative: all are, and one of so many parts larger at most */
    int run; /* not 0: so many neighbours have the large scores of a class of rows; all others are 0. THIRD: as many as a third of the keys */
    double value; /* 0: around 4 */
};
enum { THIRD = 1 << 20 };
static const struct size SIZES[] = {
    /* clang-format off */
    {1.0,          0x1.4p13,  0x1p14,    LARGE_SCORES,  0, 0, 0},
    {0x1.6p1,      0x1.4p13,  0x1p14,    LARGE_SCORES,  0, 0, 0}, /* times log2(e) these are rounded by more than 16 */
    {0x1p10,       0x1.4p14,  0x1p14,    LARGE_SCORES,  0, 0, 0},
    {-0x1p40,      0x1.4p14,  0x1p14,    LARGE_SCORES,  0, 0, 0},
    {0x1p70,       0x1.4p14,  0x1p14,    LARGE_SCORES,  0, 0, 0},
    {0x1p98,       0x1.4p14,  0x1p14,    LARGE_SCORES,  0, 0, 0},
    {0x1p114,      0x1.5bcp-1, 0x1p14,   LOWEST, -64, 0, 0}, /* 2.31e38 to 2.348e38: the largest there are */
    {0x1p120,      0x1.4p15,  0x1p-14,   BEYOND, 0, 0, 0},
    {0x1p120,      0x1.4p-14, 0x1p14,    BEYOND, 0, 0, 0},
    {0x1.cp127,    0x1.4p-14, 0x1p-14,   BEYOND, 0, 0, 0},
    {0x1.cp127,    0x1.4p1,   0.0,       BEYOND, 0, 0, 0},
    {-0x1.cp127,   0x1.4p1,   0.0,       BEYOND, 0, 0, 0},
    {0x1p-40,      0x1.4p14,  0x1p14,    NEAR_0, 0, 0, 0},
    {-0x1p-100,    0x1.4p14,  0x1p14,    NEAR_0, 0, 0, 0},
    {0x1p-126,     0x1.4p14,  0x1p14,    NEAR_0, 0, 0, 0},
    {0x1p-149,     0x1.4p14,  0x1p14,    NEAR_0, 0, 0, 0},
    {0x1p-3,       40.0,      40.0,      PEAKS,  0, 7, 0},
    {0x1p-3,       40.0,      40.0,      PEAKS,  0, 1, 0},
    {1.0,          1.0,       16.0,      STEP_UP, 0, THIRD, 60000.0},
    {1.0,          1.0,       76.5,      STEP_UP, 0, THIRD, 60000.0},
    {1.0,          1.0,       86.5,      STEP_UP, 0, THIRD, 60000.0},
    {1.0,          1.0,       99.0,      STEP_UP, 0, THIRD, 60000.0},
    /* of a float's exponent */
    {0x1p-100,     0x1.4p51,  0x1p51,    SMALL,  0, 0, 0},
    {-0x1p-126,    0x1.4p64,  0x1p62,    SMALL,  0, 0, 0},
    {0x1p-129,     0x1.4p63,  0x1p63,    SMALL,  0, 0, 0},
    {1.0,          0x1.cp127, 0x1p-124,  BEYOND, 0, 0, 0},
    {0x1p100,      0x1.cp127, 0x1p-126,  BEYOND, 0, 0, 0},
    {0x1p-120,     0x1.cp127, 0x1p-14,   BEYOND, 0, 0, 0},
    {0x1.cp127,    0x1.4p-67, 0x1p-68,   TINY,   0, 0, 0},
    {-0x1.cp127,   0x1.4p-10, 0x1p-120,  TINY,   0, 0, 0},
    {0x1p-60,      0x1.4p-90, 0x1p126,   UNDERFLOWS, 0, 0, 0},
    {-0x1p-60,     0x1.4p126, 0x1p-90,   UNDERFLOWS, 0, 0, 0},
    {1.0,          0x1.4p0,   0x1.0ep6,  FAINT,  64, 0, 0x1p118},
    {1.0,          1.0,       87.1875,   FAINT,  256, 0, 0x1p118}, /* 2^-125.8 */
    {1.0,          1.0,       16.0,      STEP_UP, 0, THIRD, 0x1p108},
    /* clang-format on */
};
enum {
    SIZE_COUNT = sizeof SIZES / sizeof SIZES[0],
    HALVES = 22,
    INFINITE_VALUES = SIZE_COUNT + 1,
    ALL_BUT_FIRST, /* of these keys the scores are -infinity */
    ALL_BUT_LAST,
    ALL,
    ONE_NAN, /* the scores of all keys are -infinity, but for one in the middle, or in any place of a given row */
    FAR_BELOW, /* scores of all keys but the first few, which several warps share, are finite, and so far below that their weights are 0 */
    LATE,      /* the score of the last key is above all others, and none of those is -infinity */
    CANCELLED, /* the values of the second half of the keys nearly cancel those of the first one */
    HIDDEN_VALUES, /* every value is NaN in some columns: queries before it do not see it */
    HIDDEN_KEY,    /* the last key is NaN */
    DISTINCT = 64,
    QUERIES = 8,
    CLASSES = 32, /* of rows, each with large scores of its own */
    STEP = 13     /* so that few rows are of classes far apart */
};

static int is_key(const char *name)
{
    return strcmp(name, "k") == 0 || strcmp(name, "k_cache") == 0;
}

static int is_value(const char *name)
{
    return strcmp(name, "v") == 0 || strcmp(name, "v_cache") == 0;
}

/* Rows of scores that are given: those of softmax. */
static int is_score(const char *name)
{
    return strcmp(name, "scores") == 0 || strcmp(name, "in") == 0 || strcmp(name, "logits") == 0;
}

/* The buffers of a case of the part that must succeed; returns how many there are. */
static int buffers_of(const struct lesson *lesson, const struct lesson_case *cases, int count, int part,
                      struct lesson_buffer buffer[WIRE_BUFFERS])
{
    int first = 0;
    while (first < count && (cases[first].part != part || cases[first].expected != KERNEL_OK)) first++;
    return first < count ? lesson->buffers(&cases[first], buffer) : 0;
}

/* Whether the part is given scores, or queries, keys and their factor, of which it makes scores, and not the weights. */
int has_scores(const struct lesson *lesson, const struct lesson_case *cases, int count, int part)
{
    struct lesson_buffer buffer[WIRE_BUFFERS] = {{0}};
    int queries = 0, keys = 0, scores = 0, weights = 0;
    for (int b = buffers_of(lesson, cases, count, part, buffer) - 1; b >= 0; b--) {
        const int is_input = buffer[b].role == WIRE_IN || buffer[b].role == WIRE_INOUT;
        queries |= strcmp(buffer[b].name, "q") == 0;
        keys |= is_key(buffer[b].name);
        scores |= is_score(buffer[b].name) && is_input;
        weights |= strcmp(buffer[b].name, "probs") == 0;
    }
    const int makes = queries && keys && described_next(lesson, part, DESCRIBED_SCALAR, NULL) != NULL;
    return (makes || scores) && !weights;
}

/* How many of the sizes queries and keys of this type can have. */
static int size_count(const struct lesson *lesson, const struct lesson_case *item)
{
    struct lesson_buffer buffer[WIRE_BUFFERS] = {{0}};
    lesson->buffers(item, buffer);
    return buffer[0].storage == STORAGE_F16 ? HALVES : SIZE_COUNT;
}

/* Whether the part weighs values: it is given some, and gives out. */
int has_values(const struct lesson *lesson, const struct lesson_case *cases, int count, int part)
{
    struct lesson_buffer buffer[WIRE_BUFFERS] = {{0}};
    int values = 0, out = 0;
    for (int b = buffers_of(lesson, cases, count, part, buffer) - 1; b >= 0; b--) {
        values |= is_value(buffer[b].name);
        out |= strcmp(buffer[b].name, "out") == 0 && buffer[b].role == WIRE_OUT;
    }
    return values && out;
}

/* So many keys, where no other extent follows from their number; the queries of all heads are one head's, as they may share a tile. */
static void set_keys(const struct making *m, struct lesson_case *item, int many)
{
    static const char *const of_rows[] = {"batch", "heads", "kv_heads"};
    const struct described *keys = described_extent(m->lesson, m->part, "kv_len"),
                           *queries = described_extent(m->lesson, m->part, "q_len");
    if (keys == NULL || m->lesson->settle != NULL) return;
    item->value[keys->at] = item->extent[keys->at] = many;
    for (size_t i = 0; queries != NULL && i < sizeof of_rows / sizeof of_rows[0]; i++) {
        const struct described *line = described_extent(m->lesson, m->part, of_rows[i]);
        if (line == NULL) continue;
        if (i < 2) item->extent[queries->at] *= item->extent[line->at];
        item->value[line->at] = item->extent[line->at] = 1;
    }
    if (queries != NULL) item->value[queries->at] = item->extent[queries->at];
}

/* Keys and values that this file fills. */
static void add_filled(struct making *m, const char *name, int scores, int many, const char *about)
{
    struct lesson_case *item = making_add_sound(m, name);
    if (item == NULL) return;
    item->group = GROUP_NUMERICS;
    item->flags &= ~(unsigned)CASE_UNIT_SCALE;
    item->scores = scores;
    item->about = about;
    set_keys(m, item, many);
}

/* Every key has one value that is infinite: whatever is read in place of one that is not there has the weight 0. */
void make_infinite_values(struct making *m)
{
    enum { KEYS = 77 };
    if (!has_values(m->lesson, m->cases, m->count, m->part)) return;
    add_filled(
        m, "infinite_values", INFINITE_VALUES, KEYS,
        "every key has an infinite value: 0 times that is NaN, so there is none for keys that are not there");
}

int has_weights(const struct lesson *lesson, const struct lesson_case *cases, int count, int part)
{
    return has_scores(lesson, cases, count, part) && has_values(lesson, cases, count, part);
}

int making_is_given_scores(const struct making *m)
{
    struct lesson_buffer buffer[WIRE_BUFFERS] = {{0}};
    int given = 0;
    for (int b = buffers_of(m->lesson, m->cases, m->count, m->part, buffer) - 1; b >= 0; b--)
        given |= is_score(buffer[b].name) && (buffer[b].role == WIRE_IN || buffer[b].role == WIRE_INOUT);
    return given;
}

/* One key has all the weight, so that whole tiles have none. The last one that a cache has room for may be one that nobody sees. */
void make_weightless(struct making *m)
{
    enum { KEYS = 200 };
    static const char about[] =
        "the scores of all keys but one are -infinity, and some of their values are NaN or infinite: 0 times "
        "either is NaN, in a tile, a warp or a split that has no weight at all, too";
    static const char about_all[] =
        "the scores of all keys are -infinity, so that all weights are 0, and some of their values are NaN "
        "or "
        "infinite: 0 times either is NaN, in a row whose weights have the sum 0, too";
    const int weighs = has_weights(m->lesson, m->cases, m->count, m->part);
    if (weighs || making_is_given_scores(m))
        add_filled(
            m, "weightless_and_nan", ONE_NAN, weighs ? KEYS : 3 * KEYS,
            "all scores of a row are -infinity but one, which is NaN: so is all that comes of it, though "
            "no score is larger than -infinity");
    if (!weighs) return;
    add_filled(m, "weightless_but_first", ALL_BUT_FIRST, KEYS, about);
    if (m->lesson->settle == NULL) add_filled(m, "weightless_but_last", ALL_BUT_LAST, KEYS, about);
    add_filled(m, "weightless_all", ALL, KEYS, about_all);
    add_filled(m, "weightless_far_below", FAR_BELOW, KEYS,
               "the scores of all keys but a few are far below theirs, and some of their values are NaN or "
               "infinite: a weight that underflows to 0 times either is NaN");
}

/* Queries and keys of a causal call: one, four or six keys are seen by all queries, in groups of which hidden ones are part. */
static const int HIDDEN_FROM[][2] = {{2, 2}, {9, 9}, {3, 6}, {4, 9}};
enum { HIDDEN_COUNT = 2 * sizeof HIDDEN_FROM / sizeof HIDDEN_FROM[0] };

int has_mask(const struct lesson *lesson, const struct lesson_case *cases, int count, int part)
{
    const struct described *line = described_next(lesson, part, DESCRIBED_OPTION, NULL);
    return line != NULL && strcmp(line->name, "causal") == 0 && lesson->settle == NULL &&
           described_extent(lesson, part, "q_len") != NULL && has_weights(lesson, cases, count, part);
}

/* Rows of some lengths have kernels of their own. */
void make_hidden(struct making *m)
{
    static const int lengths[] = {32, 64, 128};
    const struct described *columns = described_extent(m->lesson, m->part, "head_dim");
    if (!has_mask(m->lesson, m->cases, m->count, m->part)) return;
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        char name[LESSON_NAME / 2];
        int at = 0;
        while (at < m->count && !(m->cases[at].part == m->part && making_is_ordinary(&m->cases[at]) &&
                                  m->cases[at].value[columns->at] == lengths[i]))
            at++;
        snprintf(name, sizeof name, "hidden_in_rows_of_%d", lengths[i]);
        if (at == m->count) continue;
        add_filled(m, name, HIDDEN_VALUES, 1,
                   "values, or a key, are NaN behind the causal mask: 0 times NaN is NaN, in a group of "
                   "keys of which some are seen, too");
        struct lesson_case *item = &m->cases[m->count - 1];
        item->value[columns->at] = item->extent[columns->at] = lengths[i];
        item->value[described_next(m->lesson, m->part, DESCRIBED_OPTION, NULL)->at] = 1;
        item->flags |= CASE_ENUMERATES;
        item->property = MADE_SCORES;
        item->repeat = HIDDEN_COUNT;
    }
}

static void vary_hidden(const struct lesson *lesson, struct lesson_case *item, int index)
{
    const int *of = HIDDEN_FROM[index / 2 % (HIDDEN_COUNT / 2)];
    const int queries = described_extent(lesson, item->part, "q_len")->at,
              keys = described_extent(lesson, item->part, "kv_len")->at;
    item->value[queries] = item->extent[queries] = of[0];
    item->value[keys] = item->extent[keys] = of[1];
    item->scores = index % 2 > 0 ? HIDDEN_KEY : HIDDEN_VALUES;
}

void make_cancelled(struct making *m)
{
    enum { KEYS = 256 };
    if (!has_weights(m->lesson, m->cases, m->count, m->part)) return;
    add_filled(m, "cancelled_values", CANCELLED, KEYS,
               "all weights are the same, and the values of one half of the keys nearly cancel those of the "
               "other: a "
               "sum of some keys that is kept in 16 bits shows");
}

const struct lesson_case *making_widest(const struct making *m)
{
    const struct described *columns = described_extent(m->lesson, m->part, "head_dim");
    const struct lesson_case *found = NULL;
    double most = 0.0;
    for (int i = 0; i < m->count && columns != NULL; i++) {
        const struct lesson_case *item = &m->cases[i];
        struct lesson_cost cost = {0};
        if (item->part != m->part || !making_is_ordinary(item) || item->group > GROUP_EDGES ||
            item->shows != 0 || memcmp(item->real, m->simplest->real, sizeof item->real) != 0)
            continue;
        const int64_t wider = found != NULL ? item->value[columns->at] - found->value[columns->at] : 1;
        m->lesson->cost(item, &cost);
        if (wider < 0 || (wider == 0 && cost.flop <= most)) continue;
        found = item;
        most = cost.flop;
    }
    return found;
}

/* However many keys a tile has, the maximum grows with the last one, and all columns of the sums before it must follow. */
static void add_late(struct making *m)
{
    enum { ROWS = 3, KEYS = 200 };
    const struct lesson_case *like = making_widest(m);
    const struct described *keys = described_extent(m->lesson, m->part, "kv_len");
    if (like == NULL || !has_weights(m->lesson, m->cases, m->count, m->part)) return;
    const struct lesson_case least = making_least(m, like, ROWS);
    struct lesson_case *item = making_add(m, &least, "late_in_wide_rows");
    if (item == NULL) return;
    item->group = GROUP_NUMERICS;
    item->flags &= ~(unsigned)CASE_UNIT_SCALE;
    item->distribution = m->simplest->distribution;
    item->scores = LATE;
    item->about = "the last key has the largest score: is every column of the sums before it rescaled, in "
                  "rows as wide as "
                  "they can be?";
    if (has_mask(m->lesson, m->cases, m->count, m->part))
        item->value[described_next(m->lesson, m->part, DESCRIBED_OPTION, NULL)->at] = 0;
    if (keys != NULL && m->lesson->settle == NULL)
        item->value[keys->at] = item->extent[keys->at] =
            like->extent[keys->at] > KEYS ? like->extent[keys->at] : KEYS;
}

/* Several tiles of keys. */
void make_scores(struct making *m)
{
    enum { KEYS = 200 };
    if (!has_scores(m->lesson, m->cases, m->count, m->part)) return;
    struct lesson_case *item = making_add_sound(m, "every_score");
    if (item == NULL) return;
    item->group = GROUP_NUMERICS;
    item->flags = (item->flags | CASE_ENUMERATES) & ~(unsigned)CASE_UNIT_SCALE;
    item->property = MADE_SCORES;
    item->repeat = size_count(m->lesson, item);
    set_keys(m, item, KEYS);
    add_late(m);
}

void vary_scores(const struct lesson *lesson, struct lesson_case *item, int index)
{
    const struct described *factor = described_next(lesson, item->part, DESCRIBED_SCALAR, NULL);
    const int size = index % size_count(lesson, item);
    if (item->scores == HIDDEN_VALUES) {
        vary_hidden(lesson, item, index);
        return;
    }
    item->scores = 1 + size;
    item->about = SIZES[size].about;
    if (factor != NULL) item->real[factor->at] = SIZES[size].factor;
}

static int is_large(const struct size *size, size_t key)
{
    return key % (size_t)size->every == (size_t)size->every / 2 + 2;
}

static double number_of_key(const struct size *size, size_t key)
{
    if (size->every > 0) return is_large(size, key) ? size->key : 0.0;
    return size->key * (1.0 + (double)(key % DISTINCT) / DISTINCT / (size->every < 0 ? -size->every : 1));
}

static float value_of(const struct size *size, size_t key, float random)
{
    if (size->every > 0 && is_large(size, key)) return 0.0f;
    return size->value > 0.0 ? (float)size->value : 4.0f + 0.5f * random;
}

/* Elements from the row of a token to that of the next one; *@p tokens: how many there are one after another. A cache has heads after
 * tokens, in or before the last axis. */
static size_t apart_in(const struct lesson_buffer *buffer, size_t *tokens)
{
    const int axis = strchr(buffer->name, '_') != NULL ? 1 : buffer->rank - 2;
    size_t elems = 1;
    for (int behind = axis + 1; behind < buffer->rank; behind++) elems *= buffer->extent[behind];
    *tokens = buffer->extent[axis];
    return elems;
}

/* Keys of sequence @p b that every query sees, of the @p tokens that there are. */
static size_t seen(const struct lesson *lesson, const struct lesson_case *item, size_t b, size_t tokens)
{
    return lesson->seen != NULL ? (size_t)lesson->seen(item, (int)b) : tokens;
}

/* Of the keys without a weight every 13th has a NaN or an infinity, each in another column; fewer where that would be more than half
 * of the columns. */
static void fill_weightless(const struct lesson *lesson, const struct lesson_case *item,
                            const struct lesson_buffer *buffer, size_t head_dim, float *data)
{
    enum { APART = 13, FIRST = 5, DOWN = 30000, UP = 64 };
    const int late = item->scores == LATE;
    const float hidden = late ? 0.0f : item->scores == FAR_BELOW ? -DOWN : -INFINITY;
    const size_t row_elems = buffer->extent[buffer->rank - 1];
    size_t tokens;
    const size_t apart = apart_in(buffer, &tokens);
    for (size_t i = 0; i < lesson_elems(buffer); i++) {
        const size_t row = i / apart, token = row % tokens, column = i % row_elems % head_dim;
        const size_t last = seen(lesson, item, row / tokens, tokens) - 1, least = 2 * last / head_dim + 1;
        const size_t steps = least > APART ? least : APART;
        const size_t alone = late || item->scores == ALL_BUT_LAST ? last
                             : item->scores == ONE_NAN            ? (last + 1) / 2
                                                                  : 0;
        const int counts = item->scores == FAR_BELOW ? token < FIRST : item->scores != ALL && token == alone;
        if (is_key(buffer->name) && column == 0)
            data[i] = !counts ? hidden : late ? (float)UP : item->scores == ONE_NAN ? NAN : 0.5f;
        if (is_value(buffer->name) && !counts && !late && token % steps == FIRST &&
            row / steps % head_dim == column)
            data[i] = token / steps % 2 == 0 ? NAN : INFINITY;
    }
}

static void fill_cancelled(const struct lesson *lesson, const struct lesson_case *item,
                           const struct lesson_buffer *buffer, float *data)
{
    size_t tokens;
    const size_t apart = apart_in(buffer, &tokens);
    for (size_t i = 0; i < lesson_elems(buffer) && is_value(buffer->name); i++) {
        const size_t token = i / apart % tokens, half = seen(lesson, item, i / apart / tokens, tokens) / 2;
        data[i] = token < half       ? 4.0f + 0.5f * data[i]
                  : token < 2 * half ? 0.125f * data[i] - data[i - half * apart]
                                     : 0.125f * data[i];
    }
}

static void fill_hidden(const struct lesson_case *item, const struct lesson_buffer *buffer, float *data)
{
    const size_t row = buffer->extent[buffer->rank - 1], tokens = buffer->extent[buffer->rank - 2];
    for (size_t i = 0; i < lesson_elems(buffer); i++) {
        const size_t token = i / row % tokens;
        if (item->scores == HIDDEN_VALUES && is_value(buffer->name) && i % row % tokens == token)
            data[i] = NAN;
        if (item->scores == HIDDEN_KEY && is_key(buffer->name) && token == tokens - 1) data[i] = NAN;
    }
}

/* Every row has its NaN at another place. */
static void fill_one_nan(const struct lesson_buffer *buffer, float *data)
{
    const size_t row = buffer->extent[buffer->rank - 1];
    for (size_t i = 0; i < lesson_elems(buffer); i++)
        data[i] = i % row == (i / row * STEP + 1) % row ? NAN : -INFINITY;
}

/* Queries are such that a score is a key's first element times the factor, or 0. */
static void fill_rows(const struct lesson *lesson, const struct lesson_case *item,
                      const struct lesson_buffer *buffer, size_t head_dim, float *data)
{
    const int cancelled = item->scores == CANCELLED;
    const size_t row = buffer->extent[buffer->rank - 1];
    const int is_query = strcmp(buffer->name, "q") == 0;
    for (size_t i = 0; i < lesson_elems(buffer) && is_query; i++)
        data[i] = i % row % head_dim == 0 && !cancelled ? 1.0f : 0.0f;
    if (item->scores == ONE_NAN && is_score(buffer->name)) fill_one_nan(buffer, data);
    if (!is_key(buffer->name) && !is_value(buffer->name)) return;
    if (cancelled)
        fill_cancelled(lesson, item, buffer, data);
    else
        fill_weightless(lesson, item, buffer, head_dim, data);
}

/* The class of a key, of @p classes. A row of scores that are given has its keys in its columns; pages of a cache lie anywhere. */
static size_t class_of(const struct lesson *lesson, const struct lesson_case *item,
                       const struct lesson_buffer *buffer, size_t at, size_t classes)
{
    const size_t row = buffer->extent[buffer->rank - 1], run = (size_t)SIZES[item->scores - 1].run;
    size_t tokens = row;
    const size_t apart = is_score(buffer->name) ? 1 : apart_in(buffer, &tokens), line = at / apart;
    if (run != THIRD) return (apart == 1 ? at % row : at / row) / run % classes;
    if (lesson->seen == NULL && strchr(buffer->name, '_') != NULL) return line / tokens % classes;
    return line % tokens * classes / seen(lesson, item, line / tokens, tokens) % classes;
}

/* A query has a 1 times its size in the column of its row's class, a key in that of its own: the score is large where they are one. */
static void fill_peaks(const struct lesson *lesson, const struct lesson_case *item,
                       const struct lesson_buffer *buffer, size_t head_dim, float *data)
{
    const struct size *size = &SIZES[item->scores - 1];
    const size_t row = buffer->extent[buffer->rank - 1], most = size->run == THIRD ? 3 : CLASSES;
    const int is_query = strcmp(buffer->name, "q") == 0, is_given = is_score(buffer->name);
    const size_t classes = head_dim < most && !is_given ? head_dim : most;
    for (size_t i = 0; i < lesson_elems(buffer); i++) {
        const size_t line = i / row, column = i % row % head_dim, of_query = line * STEP % classes;
        if (is_query) data[i] = column == of_query ? (float)size->query : 0.0f;
        if (is_value(buffer->name)) data[i] = value_of(size, line, data[i]);
        if (!is_key(buffer->name) && !is_given) continue;
        const size_t of_key = class_of(lesson, item, buffer, i, classes);
        if (is_given) data[i] = of_key == of_query ? (float)(size->factor * size->query * size->key) : 0.0f;
        if (!is_given) data[i] = column == of_key ? (float)size->key : 0.0f;
    }
}

void scores_fill(const struct lesson *lesson, const struct lesson_case *item,
                 const struct lesson_buffer *buffers, int index, float *data)
{
    const struct lesson_buffer *buffer = &buffers[index], *queries = buffers;
    const size_t elems = lesson_elems(buffer), row = buffer->extent[buffer->rank - 1],
                 head_dim = queries->extent[queries->rank - 1]; /* a row of a cache may have several heads */
    if (item->scores == 0) return;
    if (item->scores == INFINITE_VALUES) {
        for (size_t i = 0; i < elems && buffer->name[0] == 'v'; i++)
            if (i % row % head_dim == i / row % head_dim) data[i] = INFINITY;
        return;
    }
    if (item->scores >= HIDDEN_VALUES) {
        fill_hidden(item, buffer, data);
        return;
    }
    if (item->scores > INFINITE_VALUES) {
        fill_rows(lesson, item, buffer, head_dim, data);
        return;
    }
    if (SIZES[item->scores - 1].run > 0) {
        fill_peaks(lesson, item, buffer, head_dim, data);
        return;
    }
    const double factor = SIZES[item->scores - 1].factor, query = SIZES[item->scores - 1].query;
    const int is_query = strcmp(buffer->name, "q") == 0, is_given = is_score(buffer->name);
    for (size_t i = 0; i < elems; i++) {
        const size_t line = i / row, of_row = i % row;
        const double size =
                         query >= 1.0 ? query * (1.0 - (double)(line / 2 % QUERIES) / (2 * QUERIES)) : query,
                     of_query = line % 2 > 0 ? -size : size,
                     of_key = number_of_key(&SIZES[item->scores - 1], is_given ? of_row : line);
        if (is_query || is_key(buffer->name))
            data[i] = of_row % head_dim > 0 ? 0.0f : (float)(is_query ? of_query : of_key);
        if (is_given) data[i] = (float)(factor * of_query * of_key);
        if (buffer->name[0] == 'v') data[i] = value_of(&SIZES[item->scores - 1], line, data[i]);
    }
}
