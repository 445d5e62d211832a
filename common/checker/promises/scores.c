/**
 * @file scores.c
 * @brief Promises about scores: one that is finite counts, however large it is, and even if a query or a key times the factor is not.
 *
 * Only the first column of queries and keys is not 0, and all products are exact: a score is the factor times a query times a key.
 * Every key has another one, far from its neighbours', so that one key takes all the weight; every other query is negative, so
 * that all its scores are far below 0, or all above it. Values lie around 4: without a weight the result would be 0.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "making.h"

/* Elements are normal halves. Times log2(e) a score is still finite: many kernels take it so. Half a unit in the last place of one
 * of 2^38 is an exponent that no float has. */
static const struct {
    double factor, query, key; /* keys are as large as that to twice as large */
} SIZES[] = {
    /* clang-format off */
    {1.0,          0x1.4p13,  0x1p14},  /* 2^27 to 2^29 */
    {2.0,          0x1.4p13,  0x1p14},
    {0x1p10,       0x1.4p14,  0x1p14},
    {-0x1p40,      0x1.4p14,  0x1p14},
    {0x1p70,       0x1.4p14,  0x1p14},
    {0x1p98,       0x1.4p14,  0x1p14},  /* the largest there are */
    {0x1p120,      0x1.4p15,  0x1p-14}, /* the factor times a query is beyond float */
    {0x1p120,      0x1.4p-14, 0x1p14},  /* times a key */
    {0x1.cp127,    0x1.4p-14, 0x1p-14}, /* times log2(e) */
    {0x1.cp127,    0x1.4p1,   0.0},     /* all three, and scores of 0 */
    {-0x1.cp127,   0x1.4p1,   0.0},
    /* clang-format on */
};
enum { SIZE_COUNT = sizeof SIZES / sizeof SIZES[0], DISTINCT = 64 };

static const char ABOUT[] =
    "scores of 2^27 to 2^127, and scales up to the largest: the scale times an element of q or k, or times "
    "log2(e), may be infinite where a score is not; and what a score is rounded by may be beyond exp";

static int is_key(const char *name)
{
    return strcmp(name, "k") == 0 || strcmp(name, "k_cache") == 0;
}

/* Rows of scores that are given: those of softmax. */
static int is_score(const char *name)
{
    return strcmp(name, "scores") == 0 || strcmp(name, "in") == 0;
}

/* Whether the part is given scores, or queries, keys and their factor, of which it makes scores, and not the weights. */
int has_scores(const struct lesson *lesson, const struct lesson_case *cases, int count, int part)
{
    int queries = 0, keys = 0, scores = 0, weights = 0;
    (void)cases, (void)count;
    for (const struct described *line = NULL;
         (line = described_next(lesson, part, DESCRIBED_POINTER, line)) != NULL;) {
        queries |= strcmp(line->name, "q") == 0;
        keys |= is_key(line->name);
        scores |= is_score(line->name);
        weights |= strcmp(line->name, "probs") == 0;
    }
    const int makes = queries && keys && described_next(lesson, part, DESCRIBED_SCALAR, NULL) != NULL;
    return (makes || scores) && !weights;
}

/* Several tiles of keys, where no other extent follows from their number. */
void make_scores(struct making *m)
{
    enum { KEYS = 200 };
    char name[LESSON_NAME / 2];
    const struct described *keys = described_extent(m->lesson, m->part, "kv_len");
    const struct lesson_case *like = making_like(m);
    if (!has_scores(m->lesson, m->cases, m->count, m->part)) return;
    if (like == m->simplest && m->sound != NULL) like = m->sound;
    snprintf(name, sizeof name, "every_score%s",
             like == m->sound ? strchr(like->name, '/') + sizeof MAKING_SOUND : "");
    struct lesson_case *item = making_add(m, like, name);
    if (item == NULL) return;
    item->group = GROUP_NUMERICS;
    item->flags = (item->flags | CASE_ENUMERATES) & ~(unsigned)CASE_UNIT_SCALE;
    item->property = MADE_SCORES;
    item->about = ABOUT;
    item->repeat = SIZE_COUNT;
    if (keys != NULL && m->lesson->settle == NULL) item->value[keys->at] = item->extent[keys->at] = KEYS;
}

void vary_scores(const struct lesson *lesson, struct lesson_case *item, int index)
{
    const struct described *factor = described_next(lesson, item->part, DESCRIBED_SCALAR, NULL);
    item->scores = 1 + index % SIZE_COUNT;
    if (factor != NULL) item->real[factor->at] = SIZES[index % SIZE_COUNT].factor;
}

void promises_fill(const struct lesson_case *item, const struct lesson_buffer *buffers, int index,
                   float *data)
{
    const struct lesson_buffer *buffer = &buffers[index], *queries = buffers;
    const size_t elems = lesson_elems(buffer), row = buffer->extent[buffer->rank - 1],
                 head_dim = queries->extent[queries->rank - 1]; /* a row of a cache may have several heads */
    if (item->scores == 0) return;
    const double factor = SIZES[item->scores - 1].factor, query = SIZES[item->scores - 1].query,
                 key = SIZES[item->scores - 1].key;
    const int is_query = strcmp(buffer->name, "q") == 0, is_given = is_score(buffer->name);
    for (size_t i = 0; i < elems; i++) {
        const size_t line = i / row, of_row = i % row;
        const double of_query = line % 2 > 0 ? -query : query,
                     of_key = key * (1.0 + (double)((is_given ? of_row : line) % DISTINCT) / DISTINCT);
        if (is_query || is_key(buffer->name))
            data[i] = of_row % head_dim > 0 ? 0.0f : (float)(is_query ? of_query : of_key);
        if (is_given) data[i] = (float)(factor * of_query * of_key);
        if (buffer->name[0] == 'v') data[i] = 4.0f + 0.5f * data[i];
    }
}
