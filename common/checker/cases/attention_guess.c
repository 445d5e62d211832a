/**
 * @file attention_guess.c
 * @brief What would come out if a well-known mistake had been made: the diagnosis tries them in this order.
 */
#include <math.h>
#include <stdio.h>

#include "attention_cases.h"
#include "contracts/e4m3_blocks.h"
#include "attention_inputs.h"

#define LN_2 0.69314718055994531

/** A mistake, as a change to the definition. What is not named is right. */
struct mistake {
    const char *message;
    unsigned kinds; /* set of 1 << enum attention_kind that can have it */
    int in_lse; /* 1: it is looked for in lse, which is wrong where out is right; else in the other output */
    int only_causal, only_gqa;
    enum { SCALE_RIGHT, NO_SCALE, SCALE_OF_0, SCALE_TWICE, SCALE_POSITIVE } scale;
    enum storage as_other; /* q, k and v are of this type, and taken for the other one of 16 bits */
    int out_as_other;      /* so is out */
    int dims;              /* head_dim rounded down to a multiple of this, in a score */
    int dims_missing;      /* so many elements, the last ones, are missing in a score */
    int mask_shift;        /* the row sees this many keys more */
    enum { MASK_RIGHT, MASK_NONE, MASK_TOP_LEFT } mask;
    enum { HEAD_RIGHT, HEAD_MODULO, HEAD_SAME, HEAD_NO_BATCH, HEAD_BATCH_STRIDE_1 } head;
    enum {
        ALL_KEYS,
        ONE_MORE_AS_ZERO,
        TAIL_MISSING,
        TAIL_AS_ZEROS,
        LAST_TILE_ONLY,
        FIRST_TILE_ONLY,
        LAST_V_MISSING,
        FIRST_V_MISSING,
        NOT_MASKED,
        TILES_OF_FIRST_QUERY
    } keys;
    int tile_q;     /* queries of a tile, for the last two of `keys` */
    int rows_apart; /* weights are those of the row this far away, of 16 */
    int tile;       /* keys of a tile, for all of `keys` but the first two */
    enum {
        DIVIDE,
        DO_NOT_DIVIDE,
        DIVIDE_TWICE,
        DIVIDE_BY_LANE,
        KEEP_SCORES,
        POWERS_OF_2,
        POWERS_OF_E
    } normalise;
    /* Of the four lanes that have a row of a fragment, those whose maximum is taken for the row's. */
    enum { ALL_LANES, OWN_LANE, LANES_BY_ONE, LANES_BY_TWO } max_of;
    int max_from_zero; /* the running maximum begins at 0, and exp of what is far below it is 0 */
    double cut;        /* weights of scores this far below the largest are taken as 0; 0: none are */
    enum { LSE_RIGHT, LSE_WITHOUT_MAX, LSE_MAX_ONLY, LSE_IN_BASE_2, LSE_OF_MEAN } lse;
};

enum {
    S = 1 << ATTENTION_SCORES,
    M = 1 << ATTENTION_SOFTMAX,
    O = 1 << ATTENTION_OUTPUT,
    W = 1 << ATTENTION_WHOLE
};

/* Lesson 01 has no tiles: what is told is what the keys come to. */
#define TILED(before, after, kinds_of, what, size)                                                           \
    {                                                                                                        \
        .message = before #size after, .kinds = (kinds_of), .keys = (what), .tile = (size)                   \
    }
#define EVERY_TILE(before, after, kinds_of, what)                                                            \
    TILED(before, after, kinds_of, what, 8), TILED(before, after, kinds_of, what, 16),                       \
        TILED(before, after, kinds_of, what, 32), TILED(before, after, kinds_of, what, 64),                  \
        TILED(before, after, kinds_of, what, 128)

#define VALUES_MISSING(which, what, size)                                                                    \
    TILED("the values of the " which " (of ",                                                                \
          " keys) are missing in O, while l has its weights: is its product with V made, and waited for?",   \
          W, what, size)

/* A kernel that masks scores by the tile, and does not: all that the tiles of its block of queries hold counts. */
#define UNMASKED(queries, size)                                                                              \
    {                                                                                                        \
        .message = "nothing is masked in the last K/V tiles of a Q tile: keys above the diagonal of the "    \
                   "causal mask count, and keys past the end as keys of score 0",                            \
        .kinds = W, .keys = NOT_MASKED, .tile_q = (queries), .tile = (size)                                  \
    }

static const struct mistake MISTAKES[] = {
    {.message = "the maximum begins at 0, not at -infinity: all scores are far below 0, and every exp(score "
                "- 0) is 0",
     .kinds = M | W,
     .max_from_zero = 1},
    {.message = "as without the scale: is every score multiplied by it?", .kinds = S | W, .scale = NO_SCALE},
    {.message = "as if every score were 0: is K read from the right place? Is the scale right? The scale 0 "
                "stands for 1/sqrt(head_dim)",
     .kinds = S | W,
     .scale = SCALE_OF_0},
    {.message =
         "the last elements of q and k are missing in every score, as if head_dim were rounded down to a "
         "multiple of 32",
     .kinds = S | W,
     .dims = 32},
    {.message =
         "the last elements of q and k are missing in every score, as if head_dim were rounded down to a "
         "multiple of 16",
     .kinds = S | W,
     .dims = 16},
    {.message =
         "the last elements of q and k are missing in every score, as if head_dim were rounded down to a "
         "multiple of 8",
     .kinds = S | W,
     .dims = 8},
    {.message = "as if the scale were applied twice", .kinds = S | W, .scale = SCALE_TWICE},
    {.message = "mask off by one: a query does not see the last key it should",
     .kinds = S | O | W,
     .only_causal = 1,
     .mask_shift = -1},
    {.message = "mask off by one: a query sees one key too many",
     .kinds = S | O | W,
     .only_causal = 1,
     .mask_shift = 1},
    {.message = "as without the causal mask", .kinds = S | O | W, .only_causal = 1, .mask = MASK_NONE},
    {.message = "as if the causal mask began at the top left: query i sees keys up to i + kv_len - q_len",
     .kinds = S | O | W,
     .only_causal = 1,
     .mask = MASK_TOP_LEFT},
    {.message = "wrong K/V head: h % kv_heads in place of h / (heads / kv_heads)",
     .kinds = S | O | W,
     .only_gqa = 1,
     .head = HEAD_MODULO},
    {.message = "wrong K/V head: the query head's own number is used",
     .kinds = S | O | W,
     .only_gqa = 1,
     .head = HEAD_SAME},
    {.message = "every sequence of the batch reads the K/V heads of the first: is the batch in their offset?",
     .kinds = S | O | W,
     .head = HEAD_NO_BATCH},
    {.message =
         "K/V rows of sequence b begin at b * kv_len: the stride of a sequence is kv_heads * kv_len rows",
     .kinds = S | O | W,
     .head = HEAD_BATCH_STRIDE_1},
    {.message = "never divided by the sum of the exponentials", .kinds = M | W, .normalise = DO_NOT_DIVIDE},
    {.message = "divided twice by the sum of the exponentials", .kinds = M | W, .normalise = DIVIDE_TWICE},
    {.message = "divided by l of one lane: l is the sum over the four lanes of a row",
     .kinds = W,
     .normalise = DIVIDE_BY_LANE},
    {.message = "each lane has a maximum of its own: that of a row is the largest of its four lanes, by two "
                "shuffles",
     .kinds = W,
     .max_of = OWN_LANE},
    {.message = "the maximum is that of two lanes, the shuffle by 2 is missing: a row has four lanes",
     .kinds = W,
     .max_of = LANES_BY_ONE},
    {.message = "the maximum is that of two lanes, the shuffle by 1 is missing: a row has four lanes",
     .kinds = W,
     .max_of = LANES_BY_TWO},
    {.message = "as if scores, not probabilities, were multiplied with V",
     .kinds = W,
     .normalise = KEEP_SCORES},
    EVERY_TILE("the last keys are missing, as if kv_len were rounded down to a multiple of ",
               ": is an incomplete K/V tile handled?", O | W, TAIL_MISSING),
    {.message = "off by one: a key past the last one counts as a key of score 0",
     .kinds = W,
     .keys = ONE_MORE_AS_ZERO},
    EVERY_TILE("keys past the end count as keys of score 0, as if kv_len were rounded up to a multiple of ",
               "", W, TAIL_AS_ZEROS),
    UNMASKED(64, 64),
    UNMASKED(64, 128),
    UNMASKED(128, 128),
    EVERY_TILE("only the last K/V tile counts, the keys from the last multiple of ",
               " on: is what came before kept?", O | W, LAST_TILE_ONLY),
    EVERY_TILE("only the first ", " keys count: does every thread go on to what follows?", O | W,
               FIRST_TILE_ONLY),
    {.message = "only the first 256 keys count: does every thread go on to its next key?",
     .kinds = O | M | W,
     .keys = FIRST_TILE_ONLY,
     .tile = 256},
    {.message = "as if exp2 were taken where exp is meant: is the score multiplied by log2(e)?",
     .kinds = M | W,
     .normalise = POWERS_OF_2},
    {.message = "as if exp were taken of scores that are multiplied by log2(e) already",
     .kinds = M | W,
     .normalise = POWERS_OF_E},
    VALUES_MISSING("last K/V tile", LAST_V_MISSING, 64),
    VALUES_MISSING("last K/V tile", LAST_V_MISSING, 128),
    VALUES_MISSING("first K/V tile, the last that a loop from the end comes to", FIRST_V_MISSING, 64),
    VALUES_MISSING("first K/V tile, the last that a loop from the end comes to", FIRST_V_MISSING, 128),
    {.message = "a negative scale is taken as positive: the largest score of a row is then the smallest "
                "product of q and k",
     .kinds = S | W,
     .scale = SCALE_POSITIVE},
    {.message = "weights of rows 8 apart are exchanged: of a fragment, x[0] and x[1] are of row g, x[2] and "
                "x[3] of row g + 8",
     .kinds = W,
     .rows_apart = 8},
    {.message = "q, k and v are bf16, and are read as if they were f16",
     .kinds = W,
     .as_other = STORAGE_BF16},
    {.message = "q, k and v are f16, and are read as if they were bf16", .kinds = W, .as_other = STORAGE_F16},
    {.message = "q, k, v and out are bf16, and are treated as if they were f16",
     .kinds = W,
     .as_other = STORAGE_BF16,
     .out_as_other = 1},
    {.message = "q, k, v and out are f16, and are treated as if they were bf16",
     .kinds = W,
     .as_other = STORAGE_F16,
     .out_as_other = 1},
    {.message = "weights below exp(-20) are taken as 0", .kinds = M | W, .cut = 20.0},
    {.message = "lse is the logarithm of the sum without the maximum: lse = m + log(l)",
     .kinds = M | W,
     .in_lse = 1,
     .lse = LSE_WITHOUT_MAX},
    {.message = "lse is the maximum alone: lse = m + log(l)",
     .kinds = M | W,
     .in_lse = 1,
     .lse = LSE_MAX_ONLY},
    {.message = "lse is in base 2: multiply it by log(2)", .kinds = M | W, .in_lse = 1, .lse = LSE_IN_BASE_2},
    {.message = "lse is m + log of the weights after they were divided, which is m",
     .kinds = M | W,
     .in_lse = 1,
     .lse = LSE_OF_MEAN},
};

#define OF_FIRST_QUERY(queries, size)                                                                        \
    {                                                                                                        \
        .message = "the loop over K/V tiles ends with the keys that the first query of a Q tile sees: the "  \
                   "last one sees the most",                                                                 \
        .kinds = W, .only_causal = 1, .keys = TILES_OF_FIRST_QUERY, .tile_q = (queries), .tile = (size)      \
    }
#define STEP_MISSING(elements)                                                                               \
    {                                                                                                        \
        .message = "the last " #elements " elements of q and k are missing in every score: does the loop "   \
                   "over head_dim take its last step?",                                                      \
        .kinds = S | W, .dims_missing = (elements)                                                           \
    }
#define CUT(below)                                                                                           \
    {                                                                                                        \
        .message = "small weights, below exp(-" #below "), are taken as 0", .kinds = M | W, .cut = (below)   \
    }

/** More of them, which are tried where none of the others fits: the cases of a part do not vote on these. */
static const struct mistake MORE[] = {
    OF_FIRST_QUERY(64, 32),
    OF_FIRST_QUERY(64, 64),
    OF_FIRST_QUERY(64, 128),
    OF_FIRST_QUERY(128, 32),
    OF_FIRST_QUERY(128, 64),
    OF_FIRST_QUERY(128, 128),
    STEP_MISSING(8),
    STEP_MISSING(16),
    STEP_MISSING(32),
    CUT(8),
    CUT(10),
    CUT(14),
};

/** What may be forgotten from one tile of keys to the next, or when workers' sums are merged: each is tried with tiles of
 * several sizes, dealt out to several numbers of workers. */
static const struct forgotten {
    const char *message;
    struct guess_pieces kept;
} FORGOTTEN[] = {
    {"O is not rescaled where a later %s brings a new maximum", {.l = 1, .merged_o = 1, .merged_l = 1}},
    {"l is not rescaled where a later %s brings a new maximum", {.o = 1, .merged_o = 1, .merged_l = 1}},
    {"neither O nor l is rescaled where a later %s brings a new maximum", {.merged_o = 1, .merged_l = 1}},
    {"O, divided by l after every %s, is rescaled as if it were still the sum",
     {.o = 1, .l = 1, .divided = GUESS_TAKEN_FOR_SUM, .merged_o = 1, .merged_l = 1}},
    {"O, divided by l after every %s, is added whole: it counts l_old exp(m_old - m_new) / l_new in the new "
     "O",
     {.l = 1, .divided = GUESS_ADDED_WHOLE, .merged_o = 1, .merged_l = 1}},
    {"the sums of %d parts of the keys (tiles, warps, blocks) are added as they are: each is relative to its "
     "own maximum, and has to be "
     "rescaled to the common one first",
     {.o = 1, .l = 1}},
    {"the values' sums (O) of %d parts of the keys (tiles, warps, blocks) are added without being rescaled "
     "to "
     "the common maximum",
     {.o = 1, .l = 1, .merged_l = 1}},
    {"the sums of weights (l) of %d parts of the keys (tiles, warps, blocks) are added without being "
     "rescaled "
     "to the common maximum",
     {.o = 1, .l = 1, .merged_o = 1}},
};
/** Sums of one key each, added as they are: what scores that are all 0 come to as well. */
static const char ALIKE[] =
    "all %d keys have the same weight: is every score 0 (is K's place right? And the scale, where 0 stands "
    "for 1/sqrt(head_dim)?), or are sums of one key each added without being rescaled to the common maximum?";
static const int PIECE_KEYS[] = {1, 2, 4, 8, 16, 32, 64, 128};
static const int PIECE_WORKERS[] = {1, 2, 4, 8, 16, 32, GUESS_WORKERS};

/** The element that is looked at. */
struct place {
    size_t b, h, i, column;
};

static struct place place_of(const struct lesson_case *item, size_t at, size_t columns)
{
    size_t unit = at / columns, q_len = (size_t)item->extent[AT_Q_LEN],
           heads = (size_t)item->extent[AT_HEADS];
    return (struct place){unit / q_len / heads, unit / q_len % heads, unit % q_len, at % columns};
}

static size_t row_of(const struct lesson_case *item, const struct place *place)
{
    return (place->b * (size_t)item->extent[AT_HEADS] + place->h) * (size_t)item->extent[AT_Q_LEN] + place->i;
}

/* The keys that query @p i sees by the contract; it may be below 0. */
static int keys_seen(const struct lesson_case *item, size_t i)
{
    const int kv_len = item->extent[AT_KV_LEN];
    return item->value[AT_CAUSAL] == 1 ? (int)i + 1 + kv_len - item->extent[AT_Q_LEN] : kv_len;
}

/* The end of the last K/V tile that the Q tile of query @p i looks at: its last query sees the most, its first one the
 * fewest. */
static int end_of_tiles(const struct lesson_case *item, const struct mistake *mistake, size_t i)
{
    const size_t rows = (size_t)mistake->tile_q, after = (i / rows + 1) * rows,
                 q_len = (size_t)item->extent[AT_Q_LEN], last = (after < q_len ? after : q_len) - 1;
    const int most = keys_seen(item, mistake->keys == TILES_OF_FIRST_QUERY ? after - rows : last);
    return most > 0 ? (most + mistake->tile - 1) / mistake->tile * mistake->tile : 0;
}

/* The keys that count, by this mistake: [*first, the value returned). */
static int keys_counted(const struct lesson_case *item, const struct mistake *mistake, size_t i, int *first)
{
    int kv_len = item->extent[AT_KV_LEN], seen = kv_len, tile = mistake->tile;
    if (item->value[AT_CAUSAL] == 1 && mistake->mask != MASK_NONE &&
        item->extent[EX_KIND] != ATTENTION_SOFTMAX) {
        seen = mistake->mask == MASK_RIGHT ? keys_seen(item, i) : (int)i + 1;
        seen += mistake->mask_shift;
    }
    if (mistake->keys == NOT_MASKED) seen = end_of_tiles(item, mistake, i);
    if (mistake->keys == TILES_OF_FIRST_QUERY) {
        const int end = end_of_tiles(item, mistake, i);
        seen = seen < end ? seen : end;
    }
    seen = seen < 0 ? 0 : seen > kv_len ? kv_len : seen;
    *first = 0;
    if (mistake->keys == TAIL_MISSING && seen > kv_len / tile * tile) seen = kv_len / tile * tile;
    if (mistake->keys == FIRST_TILE_ONLY && seen > tile) seen = tile;
    if (mistake->keys == LAST_TILE_ONLY && seen > 0) *first = (seen - 1) / tile * tile;
    return seen;
}

/* How many keys of score 0 stand behind the last one of query @p i, by this mistake. */
static int filled_keys(const struct lesson_case *item, const struct mistake *mistake, size_t i)
{
    const int kv_len = item->extent[AT_KV_LEN];
    if (mistake->keys == ONE_MORE_AS_ZERO) return 1;
    if (mistake->keys == NOT_MASKED) {
        const int end = end_of_tiles(item, mistake, i);
        return end > kv_len ? end - kv_len : 0;
    }
    int over = mistake->keys == TAIL_AS_ZEROS ? kv_len % mistake->tile : 0;
    return over > 0 ? mistake->tile - over : 0;
}

static size_t first_kv_row(const struct lesson_case *item, const struct mistake *mistake,
                           const struct place *place)
{
    size_t kv_heads = (size_t)item->extent[AT_KV_HEADS], group = (size_t)item->extent[AT_HEADS] / kv_heads;
    size_t head = place->h / group, sequence = place->b * kv_heads;
    if (mistake->head == HEAD_MODULO) head = place->h % kv_heads;
    if (mistake->head == HEAD_SAME) head = place->h;
    if (mistake->head == HEAD_NO_BATCH) sequence = 0;
    if (mistake->head == HEAD_BATCH_STRIDE_1) sequence = place->b;
    return (sequence + head) % ((size_t)item->extent[AT_BATCH] * kv_heads) * (size_t)item->extent[AT_KV_LEN];
}

static double taken(const struct mistake *mistake, float x)
{
    return (double)(mistake->as_other ? storage_as_other(mistake->as_other, x) : x);
}

/* Score of key j; of a softmax part it is given. */
static double score_of(const struct lesson_case *item, const float *const *data,
                       const struct mistake *mistake, const struct place *place, int j)
{
    size_t head_dim = (size_t)item->extent[AT_HEAD_DIM], q_row = row_of(item, place);
    if (item->extent[EX_KIND] == ATTENTION_SOFTMAX)
        return (double)data[ATTENTION_MATRIX][q_row * (size_t)item->extent[AT_KV_LEN] + (size_t)j];
    const float *q = data[ATTENTION_Q] + q_row * head_dim;
    const float *k = data[ATTENTION_K] + (first_kv_row(item, mistake, place) + (size_t)j) * head_dim;
    double scale = item->real[AT_SCALE] != 0.0 ? item->real[AT_SCALE] : 1.0 / sqrt((double)head_dim),
           sum = 0.0;
    size_t counted = mistake->dims > 0 ? head_dim / (size_t)mistake->dims * (size_t)mistake->dims : head_dim;
    counted -= (size_t)mistake->dims_missing;
    for (size_t d = 0; d < counted; d++) sum += taken(mistake, q[d]) * taken(mistake, k[d]);
    if (mistake->scale == NO_SCALE) return sum;
    if (mistake->scale == SCALE_OF_0) return 0.0;
    if (mistake->scale == SCALE_POSITIVE) scale = fabs(scale);
    return sum * scale * (mistake->scale == SCALE_TWICE ? scale : 1.0);
}

/* What is multiplied by the weight of key j: an element of V, or in a softmax part 1 for the column's own key. */
static double value_of(const struct lesson_case *item, const float *const *data,
                       const struct mistake *mistake, const struct place *place, int j)
{
    if (item->extent[EX_KIND] == ATTENTION_SOFTMAX) return (size_t)j == place->column;
    size_t row = first_kv_row(item, mistake, place) + (size_t)j;
    return taken(mistake, data[ATTENTION_V][row * (size_t)item->extent[AT_HEAD_DIM] + place->column]);
}

/* exp as float has it, when what it is taken of is far below the maximum. */
static double float_exp(double below)
{
    return (double)(float)exp(below);
}

static double weight_of(const struct mistake *mistake, double score, double max)
{
    double below = score - max;
    if (mistake->normalise == KEEP_SCORES) return score;
    if (mistake->cut > 0.0 && below < -mistake->cut) return 0.0;
    if (mistake->normalise == POWERS_OF_2) below *= LN_2;
    if (mistake->normalise == POWERS_OF_E) below /= LN_2;
    return mistake->max_from_zero ? float_exp(below) : exp(below);
}

/* 1 if O has no product of the weight of key @p j, of @p seen keys. */
static int value_missing(const struct mistake *mistake, int j, int seen)
{
    if (mistake->keys == FIRST_V_MISSING) return j < mistake->tile;
    return mistake->keys == LAST_V_MISSING && j / mistake->tile == (seen - 1) / mistake->tile;
}

static double lse_of(const struct mistake *mistake, double max, double weights)
{
    switch (mistake->lse) {
    case LSE_WITHOUT_MAX:
        return log(weights);
    case LSE_IN_BASE_2:
        return (max + log(weights)) / LN_2;
    case LSE_MAX_ONLY:
    case LSE_OF_MEAN:
        return max;
    default:
        return max + log(weights);
    }
}

enum { LANES = 4 /* of a row of a fragment, with two keys each */ };

/* Which of the maxima counts for key @p j. */
static int lanes_of(const struct mistake *mistake, int j)
{
    const int lane = j % (2 * LANES) / 2;
    switch (mistake->max_of) {
    case OWN_LANE:
        return lane;
    case LANES_BY_ONE:
        return lane / 2;
    case LANES_BY_TWO:
        return lane % 2;
    default:
        return 0;
    }
}

enum { SCORES_KEPT = 2048 }; /* of more keys than that, the others' scores are computed twice */

/* An element of the output, or lse of its row. */
static double whole_of(const struct lesson_case *item, const float *const *data,
                       const struct mistake *mistake, const struct place *place, int lse)
{
    int first, last = keys_counted(item, mistake, place->i, &first),
               filled = filled_keys(item, mistake, place->i);
    const double begin = filled > 0 || mistake->max_from_zero ? 0.0 : (double)-INFINITY;
    double of_lanes[LANES] = {begin, begin, begin, begin}, max = begin, sum = 0.0, weights = 0.0;
    double score[SCORES_KEPT];
    for (int j = first; j < last; j++) {
        double *of_these = &of_lanes[lanes_of(mistake, j)], of_j = score_of(item, data, mistake, place, j);
        if (j - first < SCORES_KEPT) score[j - first] = of_j;
        *of_these = fmax(*of_these, of_j);
        max = fmax(max, *of_these);
    }
    for (int j = first; j < last; j++) {
        double of_j = j - first < SCORES_KEPT ? score[j - first] : score_of(item, data, mistake, place, j);
        double weight = weight_of(mistake, of_j, of_lanes[lanes_of(mistake, j)]);
        if (mistake->normalise != DIVIDE_BY_LANE || (size_t)j % 8 / 2 == place->column % 8 / 2)
            weights += weight;
        if (!value_missing(mistake, j, last)) sum += weight * value_of(item, data, mistake, place, j);
    }
    if (mistake->normalise == DIVIDE_BY_LANE && weights == 0.0) return 0.0;
    weights += filled * exp(-max);
    if (lse) return lse_of(mistake, max, weights);
    if (mistake->normalise == DO_NOT_DIVIDE || mistake->normalise == KEEP_SCORES || !(weights > 0.0))
        return sum;
    return mistake->normalise == DIVIDE_TWICE ? sum / weights / weights : sum / weights;
}

/* Piece by piece, with something forgotten. */
static double in_pieces(const struct guess_pieces *p, const double *score, const double *value, int count)
{
    double m[GUESS_WORKERS], l[GUESS_WORKERS] = {0}, o[GUESS_WORKERS] = {0};
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
        o[w] = o[w] * (p->o ? correction : 1.0) + (p->divided == GUESS_ADDED_WHOLE ? sum / l[w] : sum);
        if (p->divided == GUESS_TAKEN_FOR_SUM) o[w] /= l[w];
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

int guess_in_pieces(int index, const double *score, const double *value, int count, double *result,
                    char *message, size_t size)
{
    enum {
        SIZES = sizeof PIECE_KEYS / sizeof PIECE_KEYS[0],
        CROWDS = sizeof PIECE_WORKERS / sizeof PIECE_WORKERS[0],
        RESCALED = 3
    };
    const int upwards = (int)(sizeof FORGOTTEN / sizeof FORGOTTEN[0]) * SIZES * CROWDS;
    const int last_first =
        index >= upwards; /* of FORGOTTEN the first ones again, as lesson 16 takes its tiles */
    if (last_first) index -= upwards;
    if (last_first && index >= RESCALED * SIZES * CROWDS) return -1;
    const struct forgotten *forgotten = &FORGOTTEN[index / SIZES / CROWDS];
    struct guess_pieces pieces = forgotten->kept;
    pieces.last_first = last_first;
    pieces.keys = PIECE_KEYS[index % SIZES];
    pieces.workers = PIECE_WORKERS[index / SIZES % CROWDS];
    int merging = !pieces.merged_o || !pieces.merged_l;
    if (merging ? pieces.workers == 1 : pieces.workers == GUESS_WORKERS) return 0;
    if ((pieces.divided || last_first) && pieces.workers > 1) return 0;
    if (count <= (merging ? pieces.keys : pieces.keys * pieces.workers)) return 0;
    if (merging) {
        const int pieces_of_all = (count + pieces.keys - 1) / pieces.keys;
        const int alike = !pieces.merged_o && !pieces.merged_l && pieces.keys == 1 && count <= pieces.workers;
        snprintf(message, size, alike ? ALIKE : forgotten->message,
                 pieces_of_all < pieces.workers ? pieces_of_all : pieces.workers);
    } else {
        char piece[32] = "key";
        if (pieces.keys > 1) snprintf(piece, sizeof piece, "tile of %d keys", pieces.keys);
        snprintf(message, size, forgotten->message, piece);
    }
    *result = in_pieces(&pieces, score, value, count);
    return 1;
}

static int pieces_guess(const struct lesson_case *item, const float *const *data, int index,
                        const struct place *place, double *value, char *message, size_t size)
{
    static const struct mistake none = {0};
    double score[GUESS_KEYS], of_key[GUESS_KEYS];
    int first, seen = keys_counted(item, &none, place->i, &first);
    if (item->extent[AT_KV_LEN] > GUESS_KEYS) return -1; /* a smaller case shows it sooner */
    for (int j = 0; j < seen; j++) {
        score[j] = score_of(item, data, &none, place, j);
        of_key[j] = value_of(item, data, &none, place, j);
    }
    return guess_in_pieces(index, score, of_key, seen, value, message, size);
}

static double output_of(const struct lesson_case *item, const float *const *data,
                        const struct mistake *mistake, const struct place *place)
{
    const float *probs = data[ATTENTION_MATRIX] + row_of(item, place) * (size_t)item->extent[AT_KV_LEN];
    int first, last = keys_counted(item, mistake, place->i, &first);
    double sum = 0.0;
    for (int j = first; j < last; j++) sum += (double)probs[j] * value_of(item, data, mistake, place, j);
    return sum;
}

static int applies(const struct lesson_case *item, const struct mistake *mistake, int buffer)
{
    int kind = item->extent[EX_KIND], kv_len = item->extent[AT_KV_LEN];
    int output = kind == ATTENTION_SCORES || kind == ATTENTION_SOFTMAX ? ATTENTION_MATRIX : ATTENTION_OUT;
    if (!(mistake->kinds >> kind & 1)) return 0;
    if (buffer != (mistake->in_lse ? ATTENTION_LSE : output)) return 0;
    if (mistake->only_causal && item->value[AT_CAUSAL] != 1) return 0;
    if (mistake->as_other && attention_storage(item) != mistake->as_other) return 0;
    if (mistake->scale == SCALE_POSITIVE && item->real[AT_SCALE] >= 0.0) return 0;
    if (mistake->only_gqa && item->extent[AT_HEADS] == item->extent[AT_KV_HEADS]) return 0;
    if (mistake->head >= HEAD_NO_BATCH && item->extent[AT_BATCH] == 1) return 0;
    int head_dim = item->extent[AT_HEAD_DIM];
    if (mistake->dims > 0 && (head_dim < mistake->dims || head_dim % mistake->dims == 0)) return 0;
    if (mistake->dims_missing > 0 && mistake->dims_missing >= head_dim) return 0;
    /* Of a small head_dim nothing may be left for another reason: then all zero is all that can be said. */
    if (mistake->scale == SCALE_OF_0 && head_dim < 32) return 0;
    if (mistake->keys == ONE_MORE_AS_ZERO) return item->value[AT_CAUSAL] != 1;
    if (mistake->keys == TAIL_AS_ZEROS)
        return filled_keys(item, mistake, 0) > 0 && item->value[AT_CAUSAL] != 1;
    if (mistake->keys == TAIL_MISSING) return kv_len > mistake->tile && kv_len % mistake->tile != 0;
    if (mistake->keys == NOT_MASKED) return item->value[AT_CAUSAL] == 1 || kv_len % mistake->tile != 0;
    if (mistake->keys == TILES_OF_FIRST_QUERY) return 1;
    return mistake->keys == ALL_KEYS || kv_len > mistake->tile;
}

/* Weights of another row, divided by the sum of this one's; both are relative to their own maximum. */
static int other_row(const struct lesson_case *item, const float *const *data, const struct mistake *mistake,
                     const struct place *place, double *value)
{
    static const struct mistake undivided = {.normalise = DO_NOT_DIVIDE};
    struct place other = *place;
    other.i ^= (size_t)mistake->rows_apart;
    if (other.i >= (size_t)item->extent[AT_Q_LEN]) return 0;
    const double own = whole_of(item, data, &undivided, place, 0);
    const double own_divided = whole_of(item, data, mistake, place, 0);
    if (own == 0.0) return 0;
    *value = whole_of(item, data, &undivided, &other, 0) * own_divided / own;
    return 1;
}

static int definition_guess(const struct lesson_case *item, const float *const *data,
                            const struct mistake *mistake, int buffer, const struct place *place,
                            double *value)
{
    if (!applies(item, mistake, buffer)) return 0;
    switch (item->extent[EX_KIND]) {
    case ATTENTION_OUTPUT:
        *value = output_of(item, data, mistake, place);
        return 1;
    case ATTENTION_SCORES: {
        int first, last = keys_counted(item, mistake, place->i, &first);
        int hidden = (int)place->column >= last;
        *value = hidden ? (double)-INFINITY : score_of(item, data, mistake, place, (int)place->column);
        return 1;
    }
    default:
        if (mistake->rows_apart > 0) return other_row(item, data, mistake, place, value);
        *value = whole_of(item, data, mistake, place, buffer == ATTENTION_LSE);
        if (mistake->out_as_other)
            *value = (double)storage_as_other(mistake->as_other == STORAGE_F16 ? STORAGE_BF16 : STORAGE_F16,
                                              (float)*value);
        return 1;
    }
}

int attention_guess(const struct lesson_case *item, const float *const *data, int index, int buffer,
                    size_t at, double *value, char *message, size_t size)
{
    enum {
        VOTED = sizeof MISTAKES / sizeof MISTAKES[0],
        KNOWN = VOTED + sizeof MORE / sizeof MORE[0],
        MOST_VOTED = 64 /* CHECK_GUESSES */
    };
    _Static_assert(VOTED == MOST_VOTED, "the cases of a part vote on no more, and on none of the others");
    int kind = item->extent[EX_KIND], matrix = buffer == ATTENTION_MATRIX;
    size_t columns = buffer == ATTENTION_LSE ? 1 : (size_t)item->extent[matrix ? AT_KV_LEN : AT_HEAD_DIM];
    struct place place = place_of(item, at, columns);
    if (index < KNOWN) {
        const struct mistake *mistake = index < VOTED ? &MISTAKES[index] : &MORE[index - VOTED];
        snprintf(message, size, "%s", mistake->message);
        return definition_guess(item, data, mistake, buffer, &place, value);
    }
    if (kind != ATTENTION_WHOLE || buffer != ATTENTION_OUT) return -1;
    return pieces_guess(item, data, index - KNOWN, &place, value, message, size);
}

int attention_trait(const struct lesson_case *item, int index, const char **message)
{
    static const char *const messages[] = {
        "only causal cases fail",
        "only cases with grouped-query attention (heads > kv_heads) fail: which K/V head does a query head "
        "read?",
        "only cases with a batch above 1 fail",
        "only cases with more than 16 keys fail: what happens from one K/V tile to the next?",
        "only cases with more than 32 keys fail: what happens from one K/V tile to the next? (rescaling, "
        "barriers)",
        "only cases with more than 64 keys fail: what happens from one K/V tile to the next? (rescaling, "
        "barriers)",
        "only cases with more than 128 keys fail: what happens from one K/V tile to the next? (rescaling, "
        "barriers)",
        "only cases whose kv_len is no multiple of 32 fail: is the last K/V tile's tail handled?",
        "only cases whose q_len is no multiple of 16 fail: is the last Q tile's tail handled?",
        "only cases whose head_dim is no multiple of 32 fail",
        "only cases with an explicit scale fail",
        "only cases with a NaN in the input fail",
        "only cases with head_dim above 64 fail: is every tile of columns written, and where it belongs? Do "
        "they "
        "run code of their own?",
        "only cases with head_dim above 128 fail: is every tile of columns written, and where it belongs? Do "
        "they run code of their own?",
        "only cases whose q_len is no multiple of 64 fail: are there blocks for the rows of the last Q tile?",
        "only cases whose q_len is no multiple of 128 fail: are there blocks for the rows of the last Q "
        "tile?",
    };
    const int *extent = item->extent;
    if (index >= (int)(sizeof messages / sizeof messages[0])) return -1;
    *message = messages[index];
    switch (index) {
    case 0:
        return item->value[AT_CAUSAL] == 1;
    case 1:
        return extent[AT_HEADS] > extent[AT_KV_HEADS];
    case 2:
        return extent[AT_BATCH] > 1;
    case 3:
        return extent[AT_KV_LEN] > 16;
    case 4:
        return extent[AT_KV_LEN] > 32;
    case 5:
        return extent[AT_KV_LEN] > 64;
    case 6:
        return extent[AT_KV_LEN] > 128;
    case 7:
        return extent[AT_KV_LEN] % 32 != 0;
    case 8:
        return extent[AT_Q_LEN] % 16 != 0;
    case 9:
        return extent[AT_HEAD_DIM] % 32 != 0;
    case 10:
        return item->real[AT_SCALE] != 0.0;
    case 11:
        return item->distribution >= DIST_NAN_Q && item->distribution <= DIST_NAN_WEIGHTLESS;
    case 12:
        return extent[AT_HEAD_DIM] > 64;
    case 13:
        return extent[AT_HEAD_DIM] > 128;
    case 14:
        return extent[AT_Q_LEN] % 64 != 0;
    default:
        return extent[AT_Q_LEN] % 128 != 0;
    }
}

/* Heads that are shared out in an unusual way: more than 8 to a group, or no power of two of them. */
static const char *group_purpose(const struct lesson_case *item)
{
    const int kv_heads = item->extent[AT_KV_HEADS],
              group = kv_heads > 0 ? item->extent[AT_HEADS] / kv_heads : 0;
    if (group < 3 || (group <= 8 && (group & (group - 1)) == 0)) return NULL;
    return "how many heads share a K/V head is no power of two here, or more than 8";
}

/* 1 if a lesson with kernels for few head_dims has none for this one. */
static int has_no_kernel(const struct lesson_case *item)
{
    const long long head_dim = item->value[AT_HEAD_DIM];
    switch (item->extent[EX_TILED]) {
    case ATTENTION_TILES:
        return !attention_tiled_head_dim(head_dim);
    case ATTENTION_TENSOR_TILES:
        return head_dim != 64 && head_dim != 128 && head_dim != 256;
    case ATTENTION_HOPPER_TILES:
        return head_dim != 64 && head_dim != 128;
    default:
        return 0;
    }
}

const char *attention_purpose(const struct lesson_case *item)
{
    if (item->expected == KERNEL_INVALID_DIMENSION && has_no_kernel(item))
        return "there is no kernel for this head_dim: the entry point has to refuse it before it launches "
               "anything";
    switch (item->distribution) {
    case DIST_LARGE:
        return "scores of magnitude 1e4: exp overflows unless the row's maximum is subtracted first";
    case DIST_OCTAVES:
        return "scores of all sizes, up to 1e10: where floats are further apart than 1, a maximum is "
               "rounded, and weights "
               "overflow or vanish unless the scores are rounded like it";
    case DIST_LOW:
        return "all scores are far below zero: does the maximum begin at -infinity?";
    case DIST_DOMINANT:
        return "one key, late in the row, takes nearly all the weight";
    case DIST_EQUAL:
        return "all scores of the long row are equal";
    case DIST_RISING:
        return "scores rise along the row, so that every tile brings a new maximum: is all that was summed "
               "rescaled?";
    case DIST_FALLING:
        return "the first key has the largest score";
    case DIST_NAN_HIDDEN:
        return "keys behind the mask are NaN, and so are some of their values: none of them may count";
    case DIST_NAN_Q:
    case DIST_NAN_K:
    case DIST_NAN_V:
    case DIST_SELDOM_NAN:
        return "an input holds a NaN: it must come out where it belongs and nowhere else";
    case DIST_NAN_WEIGHTLESS:
        return "a value is NaN whose weight is 0: 0 times NaN is NaN, and no visible key may be left out";
    case DIST_INFINITE:
        return "some inputs are infinite: the scores, weights and sums are what arithmetic makes of them";
    case DIST_MINUS_INFINITE:
        return "scores of -infinity weigh 0: a row that has no others gives 0, one that has gives what they "
               "say";
    case DIST_EXTREME:
        return "all scores of a row are far beyond 1e30, or below -1e30: does the maximum begin at "
               "-infinity?";
    case DIST_FAINT:
        return "the key with nearly all the weight has values of 0: what is left comes from weights of 1e-10 "
               "and below, "
               "which are small and not 0";
    case DIST_LARGE_VALUES:
        return "values near the largest half: a sum that is not divided yet overflows if it is kept as half";
    case DIST_SMALL_VALUES:
        return "values among the subnormals of half: they are not zero";
    case DIST_OUTLIERS:
        return "two columns of q and of k are far larger than the others";
    case DIST_UNEVEN:
        return "each block of 128 rows has data of another size, and so another scale";
    case DIST_UNEVEN_ROWS:
        return "16 of 128 rows are eight times as large as the others: the block's scale is theirs";
    case DIST_ZEROS:
        return "all scores are 0: so small a scale is not 0, and what the mask hides is still nothing";
    case DIST_BEYOND_HALF:
        return "sizes that bf16 has and half has not: nothing may go through half on its way";
    case DIST_SMALL_COLUMNS:
        return "some columns of v are small beside the largest value: is its scale the smallest power of two "
               "that will do, and what E4M3 has below 2^-6 not zero?";
    case DIST_STEPS:
        return "the largest weight of a tile is nearly twice that of the tile before: none may be beyond "
               "what E4M3 holds";
    case DIST_SMALL_QUERIES:
        return "queries or keys among the subnormals of half: they are not zero";
    case DIST_BEHIND_MASK:
        return item->extent[EX_KIND] == ATTENTION_SOFTMAX ? "scores behind the mask are finite here: softmax "
                                                            "takes the matrix as it is, and knows of no mask"
                                                          : "weights behind the mask are not 0 here: values "
                                                            "of hidden keys do not count all the same";
    default:
        if (item->real[AT_SCALE] < 0.0)
            return "the scale is negative here: the largest score of a row is its smallest product of q and "
                   "k";
        if (item->flags & CASE_SMALL_DEVICE)
            return "the device has few SMs here: a grid that is no larger gives a block more than one tile";
        return group_purpose(item);
    }
}

void attention_cost(const struct lesson_case *item, struct lesson_cost *cost)
{
    const int *extent = item->extent;
    double rows = (double)extent[AT_BATCH] * extent[AT_HEADS] * extent[AT_Q_LEN];
    double kv_rows = (double)extent[AT_BATCH] * extent[AT_KV_HEADS] * extent[AT_KV_LEN];
    double head_dim = extent[AT_HEAD_DIM], pairs = 0.0;
    for (int i = 0; i < extent[AT_Q_LEN]; i++) {
        int seen =
            item->value[AT_CAUSAL] == 1 ? i + 1 + extent[AT_KV_LEN] - extent[AT_Q_LEN] : extent[AT_KV_LEN];
        pairs += seen > 0 ? seen : 0;
    }
    pairs *= (double)extent[AT_BATCH] * extent[AT_HEADS];
    double matrix = rows * extent[AT_KV_LEN];
    double lse = item->null_buffer == ATTENTION_LSE ? 0.0 : rows;
    *cost = (struct lesson_cost){.oracle_ops = pairs * head_dim * 12.0 + matrix * 20.0};
    switch (extent[EX_KIND]) {
    case ATTENTION_SCORES:
        cost->flop = 2.0 * pairs * head_dim;
        cost->min_bytes = 4.0 * (rows * head_dim + kv_rows * head_dim + matrix);
        break;
    case ATTENTION_SOFTMAX:
        cost->flop = 5.0 * pairs;
        cost->min_bytes = 4.0 * (2.0 * matrix + lse);
        break;
    case ATTENTION_OUTPUT:
        cost->flop = 2.0 * pairs * head_dim;
        cost->min_bytes = 4.0 * (matrix + kv_rows * head_dim + rows * head_dim);
        break;
    default:
        cost->flop = 4.0 * pairs * head_dim;
        cost->min_bytes =
            (double)storage_bytes(attention_storage(item)) * 2.0 * (rows + kv_rows) * head_dim + 4.0 * lse;
        cost->extra_bytes =
            4.0 * rows *
            (double)attention_workspace_row(extent[EX_WORKSPACE], extent[AT_KV_LEN], extent[AT_HEAD_DIM]);
        break;
    }
}

/* What a row takes by the contract of a tiled lesson, also where its head_dim or storage type is refused. */
static int tiled_workspace(int64_t dtype)
{
    return dtype == DTYPE_F32 ? WORKSPACE_STATISTICS : WORKSPACE_STATISTICS_OUT;
}

static size_t e4m3_workspace_of(const int64_t *value)
{
    struct attention_args args = {.batch = (int)value[AT_BATCH],
                                  .heads = (int)value[AT_HEADS],
                                  .kv_heads = (int)value[AT_KV_HEADS],
                                  .q_len = (int)value[AT_Q_LEN],
                                  .kv_len = (int)value[AT_KV_LEN],
                                  .head_dim = (int)value[AT_HEAD_DIM],
                                  .dtype = (enum dtype)value[AT_DTYPE]};
    return value[AT_NULL_ARGS] ? 0 : e4m3_workspace(&args).bytes;
}

/* Computed from what the kernel is told, since that is what it is asked about. */
size_t attention_workspace_bytes(const struct lesson_case *item)
{
    const int64_t *value = item->value;
    int tiled = item->extent[EX_TILED], workspace = item->extent[EX_WORKSPACE];
    if (!workspace || item->extent[EX_KIND] != ATTENTION_WHOLE) return SIZE_MAX;
    if (workspace == WORKSPACE_E4M3) return e4m3_workspace_of(value);
    if (value[AT_NULL_ARGS]) return tiled ? 0 : SIZE_MAX; /* the others say nothing of NULL */
    if (tiled && (value[AT_DTYPE] < DTYPE_F32 || value[AT_DTYPE] > DTYPE_BF16)) return SIZE_MAX;
    if (tiled) workspace = tiled_workspace(value[AT_DTYPE]);
    uint64_t bytes = sizeof(float);
    const int64_t extents[] = {value[AT_BATCH], value[AT_HEADS], value[AT_Q_LEN], value[AT_KV_LEN],
                               tiled ? value[AT_HEAD_DIM] : 1};
    for (int i = 0; i < 5; i++)
        if (extents[i] < 1) return 0;
    for (int i = 0; i < 3; i++)
        if (!multiply_fits(&bytes, (uint64_t)extents[i], INT64_MAX)) return SIZE_MAX;
    size_t row = attention_workspace_row(workspace, (int)value[AT_KV_LEN], (int)value[AT_HEAD_DIM]);
    return multiply_fits(&bytes, row, INT64_MAX) ? (size_t)bytes : SIZE_MAX;
}
