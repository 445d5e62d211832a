/**
 * @file wrong_attention.c
 * @brief Attention with a mistake, one element of the output at a time.
 */
#include "wrong_attention.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "attention_inputs.h"

#define LN_2 0.69314718055994531

double wrong_scale(double scale, size_t head_dim)
{
    return scale != 0.0 ? scale : 1.0 / sqrt((double)head_dim);
}

/* ---- scores ------------------------------------------------------------------------------------------------- */

/* An element of q, k or v as the mistake reads it. */
static double taken(const struct mistake *mistake, float x)
{
    switch (mistake->number) {
    case READ_AS_F16:
    case TREATED_AS_F16:
        return (double)storage_as_other(STORAGE_BF16, x);
    case READ_AS_BF16:
    case TREATED_AS_BF16:
        return (double)storage_as_other(STORAGE_F16, x);
    default:
        return (double)x;
    }
}

/* Two neighbouring halves, elements d and d + 1, read as one float. */
static double pair_as_float(const float *x, size_t d)
{
    uint32_t bits = (uint32_t)storage_half_of(x[d]) | (uint32_t)storage_half_of(x[d + 1]) << 16;
    float both;
    memcpy(&both, &bits, sizeof both);
    return (double)both;
}

/* The sum over those elements of query and key that the mistake includes. */
static double dot_of(const struct wrong_row *row, const float *q, const float *k)
{
    const struct mistake *mistake = &row->mistake;
    const int pairs = mistake->number == PAIRS_AS_FLOATS;
    size_t count = row->head_dim, size = (size_t)mistake->size, step = pairs ? 2 : 1;
    double dot = 0.0;
    if (mistake->number == HALF_OF_QUERY) count /= 2;
    if (mistake->number == HEAD_DIM_ROUNDED) count -= count % size;
    if (mistake->number == ELEMENTS_MISSING) count -= size;
    if (mistake->number == FIRST_OF_LOAD) step = size;
    for (size_t d = 0; d < count && step > 0; d += step)
        dot +=
            pairs ? pair_as_float(q, d) * pair_as_float(k, d) : taken(mistake, q[d]) * taken(mistake, k[d]);
    return dot;
}

/* The score of queries that are scaled first, in base 2 or with a rounded scale, and rounded then. */
static double dot_of_rounded(const struct wrong_row *row, int key)
{
    const enum storage storage = row->mistake.size == 11 ? STORAGE_F16 : STORAGE_BF16;
    const float *k = row->k + row->place(row, key);
    const double base = row->mistake.other & 1 ? 1.0 / LN_2 : 1.0, exact = row->scale * base;
    const double scale = row->mistake.other & 2 ? (double)storage_round(storage, (float)exact) : exact;
    double dot = 0.0;
    for (size_t d = 0; d < row->head_dim; d++)
        dot += (double)storage_round(storage, (float)(scale * (double)row->q[d])) * (double)k[d];
    return dot / base;
}

/* As dot_of(), with K or V taken for a matrix of head_dim rows: then element @p d of key @p key lies here. */
static size_t transposed_place(const struct wrong_row *row, int key, size_t d)
{
    return row->place(row, 0) + d * (size_t)row->item->extent[AT_KV_LEN] + (size_t)key;
}

static double dot_transposed(const struct wrong_row *row, int key)
{
    double dot = 0.0;
    for (size_t d = 0; d < row->head_dim; d++)
        dot += (double)row->q[d] * (double)row->k[transposed_place(row, key, d)];
    return dot;
}

double wrong_score(const struct wrong_row *row, int key)
{
    const struct mistake *mistake = &row->mistake;
    if (row->given != NULL) return (double)row->given[key];
    if (mistake->number == EVERY_SCORE_0) return 0.0;
    const int read = mistake->number == KEYS_OF_FIRST_TILE ? key % mistake->size : key;
    const double dot = mistake->number == K_TRANSPOSED ? dot_transposed(row, key)
                                                       : dot_of(row, row->q, row->k + row->place(row, read));
    const double bias = row->slope != 0.0 ? row->slope * (key + 1 - row->last) : 0.0;
    switch (mistake->number) {
    case NO_SCALE:
        return dot + bias;
    case SCALE_OF_0:
        return 0.0 * dot + bias;
    case SCALE_POSITIVE:
        return dot * fabs(row->scale);
    case TILES_SCALE_POSITIVE:
        return dot * (key / mistake->size < (row->last - 1) / mistake->size ? fabs(row->scale) : row->scale);
    case SCALE_DEFAULT:
        return dot / sqrt((double)row->head_dim) + bias;
    case QUERIES_ROUNDED:
        return dot_of_rounded(row, key) + bias;
    case SCALE_TWICE:
        return dot * row->scale * row->scale;
    default:
        return dot * row->scale + bias;
    }
}

double wrong_value(const struct wrong_row *row, int key)
{
    if (row->given != NULL) return (size_t)key == row->column;
    if (row->mistake.number == V_TRANSPOSED) return (double)row->v[transposed_place(row, key, row->column)];
    if (row->mistake.number == VALUES_OF_FIRST_TILE) key %= row->mistake.size;
    return taken(&row->mistake, row->v[row->place(row, key) + row->column]);
}

/* ---- weights ------------------------------------------------------------------------------------------------ */

enum { LANES = 4 /* lanes that hold a row of a fragment, two keys each */, WARP = 32, GROUPS = 8 };

/* Under the mistake, each group of keys has a maximum of its own. */
static int group_of(const struct mistake *mistake, int key)
{
    const int lane = key % (2 * LANES) / 2;
    switch (mistake->number) {
    case OWN_LANE:
        return lane;
    case LANES_BY_ONE:
        return lane / 2;
    case LANES_BY_TWO:
        return lane % 2;
    case MAX_OF_BLOCKS_WARP:
    case MAX_OF_KEYS_WARP:
        return key % mistake->size / WARP;
    default:
        return 0;
    }
}

/* 1 if the sum that an element is divided by contains the weight of @p key. */
static int is_summed(const struct wrong_row *row, int key)
{
    const struct mistake *mistake = &row->mistake;
    if (mistake->number == HALF_OF_LANES) return key % (2 * mistake->size) < mistake->size;
    if (mistake->number == DIVIDED_BY_LANE)
        return (size_t)key % (2 * LANES) / 2 == row->column % (2 * LANES) / 2;
    return mistake->number != DIVIDED_BY_WARP || key % mistake->size / WARP == (int)row->column / WARP;
}

/* @p x with so many significant bits. */
static double rounded_to(int bits, double x)
{
    int exponent;
    const double fraction = frexp(x, &exponent);
    return ldexp(rint(ldexp(fraction, bits)), exponent - bits);
}

static double weight_of(const struct mistake *mistake, double score, double max)
{
    const double below = score - max;
    switch (mistake->number) {
    case SCORES_AS_WEIGHTS:
        return score;
    case WEIGHTS_CUT:
        return below < -mistake->size ? 0.0 : exp(below);
    case WEIGHTS_ROUNDED: /* and below 2^-25 a half is 0 */
        return (double)storage_round(mistake->size == 11 ? STORAGE_F16 : STORAGE_BF16, (float)exp(below));
    case LSE_OF_ROUNDED:
        return rounded_to(mistake->size, exp(below));
    case POWERS_OF_2:
        return exp(below * LN_2);
    case POWERS_OF_E:
        return exp(below / LN_2);
    case MAX_FROM_ZERO: /* as in float, where exp far below the maximum is 0 */
        return (double)(float)exp(below);
    default:
        return exp(below);
    }
}

/* 1 if the sum O lacks the product with the weight of key @p key. */
static int value_missing(const struct wrong_row *row, int key)
{
    const int number = row->mistake.number, tile = row->mistake.size;
    if (number == FIRST_VALUES_MISSING) return key < tile;
    return number == LAST_VALUES_MISSING && key / tile == (row->last - 1) / tile;
}

/** The sums of a row before the division. */
struct sums {
    double max, weights, values;
};

/* scores of the first keys are kept; those of further keys are computed twice */
enum { SCORES_KEPT = 2048 };

static struct sums sum_up(const struct wrong_row *row)
{
    const double begin = row->zeros > 0 || row->mistake.number == MAX_FROM_ZERO ? 0.0 : (double)-INFINITY;
    struct sums sums = {.max = begin};
    double of_group[GROUPS], kept[SCORES_KEPT];
    for (int g = 0; g < GROUPS; g++) of_group[g] = begin;
    for (int key = row->first; key < row->last; key++) {
        double *max = &of_group[group_of(&row->mistake, key)], score = wrong_score(row, key);
        if (key - row->first < SCORES_KEPT) kept[key - row->first] = score;
        *max = fmax(*max, score);
        sums.max = fmax(sums.max, *max);
    }
    for (int key = row->first; key < row->last; key++) {
        const int at = key - row->first;
        const double weight = weight_of(&row->mistake, at < SCORES_KEPT ? kept[at] : wrong_score(row, key),
                                        of_group[group_of(&row->mistake, key)]);
        if (is_summed(row, key)) sums.weights += weight;
        if (!value_missing(row, key)) sums.values += weight * wrong_value(row, key);
    }
    if (row->mistake.number == DIVIDED_BY_LANE && sums.weights == 0.0) sums.values = 0.0;
    /* With zeros == 0 this gives NaN where every score is below -709: such a row is not divided. */
    if (row->zeros >= 0) sums.weights += row->zeros * exp(-sums.max);
    return sums;
}

/* Tile by tile, by online softmax; a sum that the mistake forgets to rescale keeps its old scale. */
static struct sums sum_up_in_tiles(const struct wrong_row *row)
{
    struct sums sums = {.max = (double)-INFINITY};
    const int tile = row->mistake.size;
    for (int first = 0; first < row->last; first += tile) {
        const int end = first + tile < row->last ? first + tile : row->last;
        const double old = sums.max;
        for (int key = first; key < end; key++) sums.max = fmax(sums.max, wrong_score(row, key));
        const double correction = first > 0 ? exp(old - sums.max) : 0.0;
        if (row->mistake.number == TILES_KEEP_O) sums.weights *= correction;
        if (row->mistake.number == TILES_KEEP_L) sums.values *= correction;
        for (int key = first; key < end; key++) {
            const double weight = exp(wrong_score(row, key) - sums.max);
            sums.weights += weight;
            sums.values += weight * wrong_value(row, key);
        }
    }
    return sums;
}

/* Of equal parts of the keys, merged by their lse; those whose lse is lower than the highest by more than the mistake says are dropped. */
static struct sums sum_up_parts(const struct wrong_row *row)
{
    enum { MOST_PARTS = 8 };
    const int parts = row->mistake.other, each = row->item->extent[AT_KV_LEN] / parts;
    struct sums part[MOST_PARTS], all = {.max = (double)-INFINITY};
    double lse[MOST_PARTS], highest = (double)-INFINITY;
    for (int p = 0; p < parts; p++) {
        const int first = p * each, end = first + each < row->last ? first + each : row->last;
        part[p] = (struct sums){.max = (double)-INFINITY};
        for (int key = first; key < end; key++) part[p].max = fmax(part[p].max, wrong_score(row, key));
        for (int key = first; key < end; key++) {
            const double weight = exp(wrong_score(row, key) - part[p].max);
            part[p].weights += weight;
            part[p].values += weight * wrong_value(row, key);
        }
        lse[p] = part[p].max + log(part[p].weights);
        highest = fmax(highest, lse[p]);
        all.max = fmax(all.max, part[p].max);
    }
    for (int p = 0; p < parts; p++) {
        if (!(highest - lse[p] <= row->mistake.size)) continue;
        all.weights += part[p].weights * exp(part[p].max - all.max);
        all.values += part[p].values * exp(part[p].max - all.max);
    }
    return all;
}

/* A row's element, before it is converted to another storage type. */
static double divided(const struct wrong_row *row)
{
    const int number = row->mistake.number;
    const int in_tiles = number == TILES_KEEP_L || number == TILES_KEEP_O || number == TILES_KEEP_BOTH;
    const struct sums sums = number == PARTS_DROPPED ? sum_up_parts(row)
                             : in_tiles              ? sum_up_in_tiles(row)
                                                     : sum_up(row);
    if (number == UNDIVIDED || number == SCORES_AS_WEIGHTS || !(sums.weights > 0.0)) return sums.values;
    return number == DIVIDED_TWICE ? sums.values / sums.weights / sums.weights : sums.values / sums.weights;
}

double wrong_row_output(const struct wrong_row *row)
{
    const double output = divided(row);
    switch (row->mistake.number) {
    case TREATED_AS_F16:
        return (double)storage_as_other(STORAGE_F16, (float)output);
    case TREATED_AS_BF16:
        return (double)storage_as_other(STORAGE_BF16, (float)output);
    default:
        return output;
    }
}

double wrong_row_lse(const struct wrong_row *row)
{
    const struct sums sums = sum_up(row);
    switch (row->mistake.number) {
    case LSE_WITHOUT_MAX:
        return log(sums.weights);
    case LSE_IN_BASE_2:
        return (sums.max + log(sums.weights)) / LN_2;
    case LSE_MAX_ONLY:
    case LSE_OF_MEAN:
        return sums.max;
    default:
        return sums.max + log(sums.weights);
    }
}

/* ---- what is not finite ------------------------------------------------------------------------------------- */

static int are_finite(const float *x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(x[i])) return 0;
    return 1;
}

/* 1 if keys and values of [first, end) are finite. */
static int keys_finite(const struct wrong_row *row, int first, int end)
{
    for (int key = first; key < end; key++) {
        const size_t at = row->place(row, key);
        if (!are_finite(row->k + at, row->head_dim) || !are_finite(row->v + at, row->head_dim)) return 0;
    }
    return 1;
}

/** The largest of what a kernel may compute on its way to a row. */
struct extremes {
    double product; /* of q and k */
    double bias;    /* slope times the key's number, not its distance from the last */
    double log2;    /* of a score that is a float, times log2(e) */
    double top, bottom;
    double early;        /* the largest of the first scores */
    double value, query; /* the largest of the values, and of q */
};

static struct extremes extremes_of(const struct wrong_row *row)
{
    enum { EARLY = 8 };
    struct extremes e = {.top = (double)-INFINITY, .bottom = (double)INFINITY, .early = (double)-INFINITY};
    for (int key = row->first; key < row->last; key++) {
        const double score = wrong_score(row, key), bias = row->slope * (key + 1 - row->last);
        e.product = fmax(e.product, fabs((score - bias) / row->scale));
        e.bias = fmax(e.bias, fabs(row->slope * key));
        if (fabs(score) <= FLT_MAX) e.log2 = fmax(e.log2, fabs(score) / LN_2);
        if (key < row->first + EARLY) e.early = fmax(e.early, score);
        e.top = fmax(e.top, score);
        e.bottom = fmin(e.bottom, score);
        e.value = fmax(e.value, fabs(wrong_value(row, key)));
    }
    for (size_t d = 0; d < row->head_dim; d++) e.query = fmax(e.query, fabs((double)row->q[d]));
    return e;
}

/* Where a maximum may begin: every score of a row is so far below it that its weight is 0 in float, or not. */
static const double BEGINS[] = {-1e2, -1e3, -1e4, -1e5, -1e6, -1e9, -1e30};

/* 1 if a bit of @p holding from LESSON_OF_ROWS on is left: one for each of these. */
static int rows_below(const struct extremes *e, unsigned *holding)
{
    const double nothing_left = 104.0;
    for (int i = 0; i < 32 - LESSON_OF_ROWS; i++)
        if (i >= (int)(sizeof BEGINS / sizeof BEGINS[0]) || !(e->top < BEGINS[i] - nothing_left))
            *holding &= ~(1u << (LESSON_OF_ROWS + i));
    return *holding >> LESSON_OF_ROWS != 0;
}

int wrong_row_not_finite(const struct wrong_row *row, int end, const char *place, unsigned *holding,
                         char *words, size_t size)
{
    const double most = row->halves ? log(65504.0) : log(FLT_MAX); /* of what exp takes */
    const double far_apart = 0x1p27;                               /* floats 16 apart */
    if (!are_finite(row->q, row->head_dim) || !keys_finite(row, row->first, row->last)) return 0;
    if (!keys_finite(row, row->last, end)) {
        snprintf(words, size,
                 "no key that this row sees is infinite or NaN, but one %s is: its score counts, or its "
                 "value, for a weight of 0 "
                 "times NaN is NaN",
                 place);
        *holding = 0;
        return 1;
    }
    enum { MOST = 2 }; /* the plainer ones come first */
    const struct extremes e = extremes_of(row);
    const int of_all = *holding == ~0u, below = rows_below(&e, holding);
    const struct {
        int holds;
        const char *words;
    } beyond[] = {{fabs(row->scale) / LN_2 > FLT_MAX, "scale * log2(e)"},
                  {fabs(row->scale) * e.query > FLT_MAX, "an element of q times the scale"},
                  {e.bias > FLT_MAX, "slope * t, where slope * (t - last) is not"},
                  {e.log2 > FLT_MAX, "a score times log2(e)"},
                  {e.product > FLT_MAX, "a product of q and k without the scale"},
                  {row->scale < 0.0 && e.top - e.bottom > most,
                   "exp(score - m), if m is the largest product of q and k times this negative scale: that "
                   "is the smallest score"},
                  {e.log2 > far_apart, "exp(score - m), if m is a rounded score and score is not (fmaf): "
                                       "floats as large as these are 16 and more apart"},
                  {e.top - e.early > most, "exp(score - m), if m is the maximum of earlier keys"},
                  {e.top - e.early + log((row->last - row->first) * e.value) > log(FLT_MAX),
                   "the sum of exp(score - m) times values, if m is the maximum of earlier keys, or not "
                   "renewed until scores have risen by more"},
                  {e.top > most, "exp(score), if no maximum is subtracted"}};
    const char *before = row->halves ? "all inputs are finite; beyond float here, or as a weight beyond f16: "
                                     : "all inputs are finite; beyond float here: ";
    size_t used = 0;
    words[0] = '\0';
    for (size_t i = 0, told = 0; i < sizeof beyond / sizeof beyond[0] && used < size; i++) {
        if (!beyond[i].holds) *holding &= ~(1u << i);
        if (!(*holding >> i & 1) || told >= MOST) continue;
        used += (size_t)snprintf(words + used, size - used, "%s%s", before, beyond[i].words);
        before = "; or ";
        told++;
    }
    if (used == 0 && below && !of_all)
        snprintf(words, size,
                 "0/0 in rows whose scores are all below %g, and in no others: the maximum begins at a "
                 "number, or that is the score of "
                 "a key that is not there, in place of -infinity",
                 BEGINS[__builtin_ctz(*holding >> LESSON_OF_ROWS)]);
    if (used > 0 && !of_all) *holding &= (1u << LESSON_OF_ROWS) - 1;
    return used > 0 || below;
}

/* ---- pieces ------------------------------------------------------------------------------------------------- */

enum { MOST_WORKERS = 128 };

/** Softmax and the sum of values in pieces of this many keys, dealt out to workers in rotation. A flag of
 *  1 means that this step is right. */
struct pieces {
    int o, l; /* rescaled when a later piece brings a new maximum */
    enum { NOT_DIVIDED, TAKEN_FOR_SUM, ADDED_WHOLE } divided; /* O, after every piece */
    int merged_o, merged_l; /* rescaled to the common maximum when the workers' sums are added */
    int keys, workers;
    int last_first; /* pieces are processed from the last one down */
};

/** What a kernel may forget from one piece to the next, or when it merges workers' sums: each is tried
 *  with pieces of several sizes, dealt out to several numbers of workers. */
static const struct {
    int number;
    enum record_cause cause;
    const char *message; /* of the piece, or of the number of sums */
    struct pieces kept;
} FORGOTTEN[] = {
    /* clang-format off */
    {PIECES_KEEP_O, RECORD_CAUSE_RESCALE,
     "O is not rescaled where a later %s brings a new maximum", {.l = 1, .merged_o = 1, .merged_l = 1}},
    {PIECES_KEEP_L, RECORD_CAUSE_RESCALE,
     "l is not rescaled where a later %s brings a new maximum", {.o = 1, .merged_o = 1, .merged_l = 1}},
    {PIECES_KEEP_BOTH, RECORD_CAUSE_RESCALE,
     "neither O nor l is rescaled where a later %s brings a new maximum", {.merged_o = 1, .merged_l = 1}},
    {PIECES_TAKEN_FOR_SUM, RECORD_CAUSE_NORMALISE, "O, divided by l after every %s, is rescaled as if it were still the sum",
     {.o = 1, .l = 1, .divided = TAKEN_FOR_SUM, .merged_o = 1, .merged_l = 1}},
    {PIECES_ADDED_WHOLE, RECORD_CAUSE_NORMALISE,
     "O, divided by l after every %s, is added whole: it counts l_old exp(m_old - m_new) / l_new in the new O",
     {.l = 1, .divided = ADDED_WHOLE, .merged_o = 1, .merged_l = 1}},
    {PARTS_ADDED, RECORD_CAUSE_PARTIALS,
     "the sums of %d parts of the keys (tiles, warps, blocks) are added as they are: each is relative to its own maximum, and "
     "has to be rescaled to the common one first", {.o = 1, .l = 1}},
    {PARTS_O_ADDED, RECORD_CAUSE_PARTIALS,
     "the values' sums (O) of %d parts of the keys (tiles, warps, blocks) are added without being rescaled to the common maximum",
     {.o = 1, .l = 1, .merged_l = 1}},
    {PARTS_L_ADDED, RECORD_CAUSE_PARTIALS,
     "the sums of weights (l) of %d parts of the keys (tiles, warps, blocks) are added without being rescaled to the common "
     "maximum", {.o = 1, .l = 1, .merged_o = 1}},
    /* clang-format on */
};
/** ::PARTS_ALIKE: sums of one key each, added without rescaling. A kernel whose scores are all 0 gives the
 *  same. */
static const char ALIKE[] =
    "all %d keys have the same weight: is every score 0 (is K's place right? And the scale, where 0 stands "
    "for 1/sqrt(head_dim)?), or are sums of one key each added without being rescaled to the common maximum?";
static const int PIECE_KEYS[] = {1, 2, 4, 8, 16, 32, 64, 128};
static const int PIECE_WORKERS[] = {1, 2, 4, 8, 16, 32, MOST_WORKERS};

static double in_pieces(const struct pieces *p, const double *score, const double *value, int count)
{
    double m[MOST_WORKERS], l[MOST_WORKERS] = {0}, o[MOST_WORKERS] = {0};
    double largest = (double)-INFINITY, all_l = 0.0, all_o = 0.0;
    for (int w = 0; w < p->workers; w++) m[w] = (double)-INFINITY;
    for (int i = 0, all = (count + p->keys - 1) / p->keys; i < all; i++) {
        int begin = (p->last_first ? all - 1 - i : i) * p->keys;
        int w = begin / p->keys % p->workers, end = begin + p->keys < count ? begin + p->keys : count;
        double max = m[w], weights = 0.0, sum = 0.0;
        for (int j = begin; j < end; j++) max = fmax(max, score[j]);
        for (int j = begin; j < end; j++) {
            double weight = exp(score[j] - max);
            weights += weight;
            sum += weight * value[j];
        }
        double correction = l[w] > 0.0 ? exp(m[w] - max) : 1.0;
        l[w] = l[w] * (p->l ? correction : 1.0) + weights;
        o[w] = o[w] * (p->o ? correction : 1.0) + (p->divided == ADDED_WHOLE ? sum / l[w] : sum);
        if (p->divided == TAKEN_FOR_SUM) o[w] /= l[w];
        m[w] = max;
        largest = fmax(largest, max);
    }
    for (int w = 0; w < p->workers; w++) {
        double correction = l[w] > 0.0 ? exp(m[w] - largest) : 0.0;
        all_l += l[w] * (p->merged_l ? correction : 1.0);
        all_o += o[w] * (p->merged_o ? correction : 1.0);
    }
    return p->divided || all_l == 0.0 ? all_o : all_o / all_l;
}

enum {
    SIZES = sizeof PIECE_KEYS / sizeof PIECE_KEYS[0],
    CROWDS = sizeof PIECE_WORKERS / sizeof PIECE_WORKERS[0],
    UPWARDS = sizeof FORGOTTEN / sizeof FORGOTTEN[0] * SIZES * CROWDS,
    LAST_FIRST = 3 * SIZES * CROWDS /* the first mistakes again, with tiles in the order of lesson 16 */
};

/* 1 if these pieces change the result, and no other guess gives the same. */
static int pieces_apply(const struct pieces *p, int count)
{
    const int merging = !p->merged_o || !p->merged_l;
    if (merging) return p->workers > 1 && count > p->keys;
    if (p->workers == MOST_WORKERS || ((p->divided || p->last_first) && p->workers > 1)) return 0;
    return count > p->keys * p->workers;
}

static void tell_pieces(const struct pieces *p, int count, const char *forgotten, char *message, size_t size)
{
    char piece[32] = "key";
    const int all = (count + p->keys - 1) / p->keys, parts = all < p->workers ? all : p->workers;
    if (p->keys > 1) snprintf(piece, sizeof piece, "tile of %d keys", p->keys);
    if (p->merged_o && p->merged_l)
        snprintf(message, size, forgotten, piece);
    else
        snprintf(message, size,
                 !p->merged_o && !p->merged_l && p->keys == 1 && count <= p->workers ? ALIKE : forgotten,
                 parts);
}

int wrong_row_in_pieces(const struct wrong_row *row, int index, struct lesson_guess *guess)
{
    double score[PIECES_MOST_KEYS], of_key[PIECES_MOST_KEYS];
    const int last_first = index >= UPWARDS, count = row->last;
    if (count > PIECES_MOST_KEYS || index >= UPWARDS + LAST_FIRST) return -1;
    if (last_first) index -= UPWARDS;
    const int forgotten = index / SIZES / CROWDS, crowd = index / SIZES % CROWDS;
    struct pieces pieces = FORGOTTEN[forgotten].kept;
    pieces.last_first = last_first;
    pieces.keys = PIECE_KEYS[index % SIZES];
    pieces.workers = PIECE_WORKERS[crowd];
    if (!pieces_apply(&pieces, count)) return 0;
    for (int key = 0; key < count; key++) {
        score[key] = wrong_score(row, key);
        of_key[key] = wrong_value(row, key);
    }
    tell_pieces(&pieces, count, FORGOTTEN[forgotten].message, guess->words, sizeof guess->words);
    /* What is told is the mistake; where it is none of merging, the size of the pieces as well. */
    guess->told -= last_first * UPWARDS + crowd * SIZES;
    if (!pieces.merged_o || !pieces.merged_l) guess->told -= index % SIZES;
    guess->cause = FORGOTTEN[forgotten].cause;
    guess->value = in_pieces(&pieces, score, of_key, count);
    return 1;
}
