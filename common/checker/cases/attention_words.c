/**
 * @file attention_words.c
 * @brief The report's words on attention cases: their shapes, what each one tests and costs, and what failing
 *        ones have in common.
 */
#include <stdio.h>
#include <string.h>

#include "attention_cases.h"

int attention_trait(const struct lesson_case *item, int index, const char **message)
{
    const int *extent = item->extent, kv_len = extent[AT_KV_LEN], q_len = extent[AT_Q_LEN],
              head_dim = extent[AT_HEAD_DIM];
    const struct trait traits[] = {
        {item->value[AT_CAUSAL] == 1, "only causal cases fail"},
        {extent[AT_HEADS] > extent[AT_KV_HEADS], "only cases with grouped-query attention (heads > kv_heads) "
                                                 "fail: which K/V head does a query head read?"},
        {extent[AT_BATCH] > 1, "only cases with a batch above 1 fail"},
        {kv_len > 16, "only cases with more than 16 keys fail: what happens where a loop over keys, or over "
                      "their tiles, goes on?"},
        {kv_len > 32, "only cases with more than 32 keys fail: what happens where a loop over keys, or over "
                      "their tiles, goes on? "
                      "(rescaling, barriers)"},
        {kv_len > 64, "only cases with more than 64 keys fail: what happens where a loop over keys, or over "
                      "their tiles, goes on? "
                      "(rescaling, barriers)"},
        {kv_len > 128, "only cases with more than 128 keys fail: what happens where a loop over keys, or "
                       "over their tiles, goes on? "
                       "(rescaling, barriers)"},
        {kv_len % 32 != 0,
         "only cases whose kv_len is no multiple of 32 fail: is the last K/V tile's tail handled?"},
        {q_len % 16 != 0,
         "only cases whose q_len is no multiple of 16 fail: is the last Q tile's tail handled?"},
        {head_dim % 32 != 0, "only cases whose head_dim is no multiple of 32 fail"},
        {item->real[AT_SCALE] != 0.0, "only cases with an explicit scale fail"},
        {item->distribution >= DIST_NAN_Q && item->distribution <= DIST_NAN_WEIGHTLESS,
         "only cases with a NaN in the input fail"},
        {head_dim > 64, "only cases with head_dim above 64 fail: is every tile of columns written, and where "
                        "it belongs? Do they run code of their own?"},
        {head_dim > 128, "only cases with head_dim above 128 fail: is every tile of columns written, and "
                         "where it belongs? Do they run code of their own?"},
        {q_len % 64 != 0, "only cases whose q_len is no multiple of 64 fail: are there blocks for the rows "
                          "of the last Q tile?"},
        {q_len % 128 != 0, "only cases whose q_len is no multiple of 128 fail: are there blocks for the rows "
                           "of the last Q tile?"},
    };
    return trait_at(traits, sizeof traits / sizeof traits[0], 1, index, message);
}

/* An unusual number of query heads per K/V head: more than 8, or not a power of two. */
static const char *group_purpose(const struct lesson_case *item)
{
    const int kv_heads = item->extent[AT_KV_HEADS],
              group = kv_heads > 0 ? item->extent[AT_HEADS] / kv_heads : 0;
    if (group < 3 || (group <= 8 && (group & (group - 1)) == 0)) return NULL;
    return "how many heads share a K/V head is no power of two here, or more than 8";
}

/* 1 if the lesson has kernels for a few head_dims only, and none for this one. */
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

static const char HOLDS_NAN[] = "an input holds a NaN: it must come out where it belongs and nowhere else";

const char *attention_purpose(const struct lesson_case *item)
{
    static const char *const of_data[DIST_COUNT] = {
        [DIST_LARGE] = "scores of magnitude 1e4: exp overflows unless the row's maximum is subtracted first",
        [DIST_OCTAVES] = "scores of all sizes, up to 1e10: where floats are further apart than 1, a maximum "
                         "is rounded, and weights overflow or vanish unless the scores are rounded like it",
        [DIST_LOW] = "all scores are far below zero: does the maximum begin at -infinity, and is that the "
                     "score of a key that is not there?",
        [DIST_DOMINANT] = "one key, late in the row, takes nearly all the weight",
        [DIST_EQUAL] = "all scores of the long row are equal",
        [DIST_STAIRS] =
            "from tile to tile scores rise by whole powers of 2: how far may m be below a score before a "
            "weight, or a sum of them, is infinite in its type?",
        [DIST_RISING] = "scores rise along the row, so that every tile brings a new maximum: is all that was "
                        "summed rescaled?",
        [DIST_FALLING] = "the first key has the largest score",
        [DIST_NAN_HIDDEN] =
            "keys behind the mask are NaN, and so are some of their values: none of them may count",
        [DIST_NAN_Q] = HOLDS_NAN,
        [DIST_NAN_K] = HOLDS_NAN,
        [DIST_NAN_V] = HOLDS_NAN,
        [DIST_SELDOM_NAN] = HOLDS_NAN,
        [DIST_NAN_WEIGHTLESS] =
            "a value is NaN whose weight is 0: 0 times NaN is NaN, and no visible key may be left out",
        [DIST_INFINITE] =
            "some inputs are infinite: the scores, weights and sums are what arithmetic makes of them",
        [DIST_MINUS_INFINITE] =
            "scores of -infinity weigh 0: a row that has no others gives 0, one that has gives what they say",
        [DIST_EXTREME] = "all scores of a row are far beyond 1e30, or below -1e30: does the maximum begin at "
                         "-infinity, and is that the score of a key that is not there?",
        [DIST_FAINT] = "the key with nearly all the weight has values of 0: what is left comes from weights "
                       "of 1e-10 and below, which are small and not 0",
        [DIST_FAINT_PARTS] =
            "half of the keys have nearly all the weight, and values of 0: what is left comes from the "
            "others, whose weights are small and not 0",
        [DIST_SMALL_PRODUCTS] =
            "the largest scale there is, for products of q and k that are as small as that: scale times "
            "log2(e) is beyond float",
        [DIST_LARGE_VALUES] =
            "values near the largest half: a sum that is not divided yet overflows if it is kept as half",
        [DIST_SMALL_VALUES] = "values among the subnormals of half: they are not zero",
        [DIST_OUTLIERS] = "two columns of q and of k are far larger than the others",
        [DIST_UNEVEN] = "each block of 128 rows has data of another size, and so another scale",
        [DIST_UNEVEN_ROWS] =
            "16 of 128 rows are eight times as large as the others: the block's scale is theirs",
        [DIST_ZEROS] =
            "all scores are 0: so small a scale is not 0, and what the mask hides is still nothing",
        [DIST_BEYOND_HALF] = "sizes that bf16 has and half has not: nothing may go through half on its way",
        [DIST_SMALL_COLUMNS] = "some columns of v are small beside the largest value: is its scale the "
                               "smallest power of two that will do, and what E4M3 has below 2^-6 not zero?",
        [DIST_STEPS] = "the largest weight of a tile is nearly twice that of the tile before: none may be "
                       "beyond what E4M3 holds",
        [DIST_SMALL_QUERIES] = "queries or keys among the subnormals of half: they are not zero",
    };
    enum { ENOUGH_KEYS = 45400 }; /* times exp(78) is beyond float */
    if (item->expected == KERNEL_INVALID_DIMENSION && has_no_kernel(item))
        return "there is no kernel for this head_dim: the entry point has to refuse it before it launches "
               "anything";
    if (item->distribution == DIST_BEHIND_MASK)
        return item->extent[EX_KIND] == ATTENTION_SOFTMAX ? "scores behind the mask are finite here: softmax "
                                                            "takes the matrix as it is, and knows of no mask"
                                                          : "weights behind the mask are not 0 here: values "
                                                            "of hidden keys do not count all the same";
    if (item->extent[EX_KIND] == ATTENTION_SOFTMAX && item->distribution >= DIST_NAN_Q &&
        item->distribution <= DIST_NAN_WEIGHTLESS)
        return "a score is NaN: so is all of its row, also where the mask has hidden keys, of which softmax "
               "does not know";
    if (item->real[AT_SCALE] < 0.0 && item->distribution != DIST_SMALL_PRODUCTS)
        return "the scale is negative here: the largest score of a row is its smallest product of q and k";
    if (item->distribution == DIST_EQUAL && item->extent[AT_KV_LEN] > ENOUGH_KEYS)
        return "all scores are 78: exp of one is finite in float, and the sum of all is not, unless the "
               "maximum is subtracted first";
    if (of_data[item->distribution] != NULL) return of_data[item->distribution];
    if (item->flags & CASE_SMALL_DEVICE)
        return "the device has few SMs here: a grid that is no larger gives a block more than one tile";
    return group_purpose(item);
}

/* Pairs of a query and a key that it sees, of one head: row i sees the first i + 1 + kv_len - q_len keys if causal, else all. */
static double pairs_of(double q_len, double kv_len, int causal)
{
    if (!(q_len > 0 && kv_len > 0)) return 0;
    const double fewest = kv_len - q_len + 1 > 1 ? kv_len - q_len + 1 : 1; /* of rows that see any */
    return causal ? (fewest + kv_len) * (kv_len - fewest + 1) / 2 : q_len * kv_len;
}

void attention_cost(const struct lesson_case *item, struct lesson_cost *cost)
{
    const int *extent = item->extent;
    double rows = (double)extent[AT_BATCH] * extent[AT_HEADS] * extent[AT_Q_LEN];
    double kv_rows = (double)extent[AT_BATCH] * extent[AT_KV_HEADS] * extent[AT_KV_LEN];
    double head_dim = extent[AT_HEAD_DIM];
    double pairs = pairs_of(extent[AT_Q_LEN], extent[AT_KV_LEN], item->value[AT_CAUSAL] == 1) *
                   extent[AT_BATCH] * extent[AT_HEADS];
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
        cost->tensor_cores = attention_on_tensor_cores(extent[EX_TILED]);
        if (extent[EX_WORKSPACE] == WORKSPACE_E4M3)
            cost->oracle_ops *= 4.0; /* the oracle rounds all keys again for every row */
        break;
    }
}

void attention_describe(const struct lesson_case *item, char *text, size_t size)
{
    int used = snprintf(text, size, "batch %lld, heads %lld", (long long)item->value[AT_BATCH],
                        (long long)item->value[AT_HEADS]);
    if (item->value[AT_HEADS] != item->value[AT_KV_HEADS])
        used += snprintf(text + used, size - (size_t)used, "/%lld", (long long)item->value[AT_KV_HEADS]);
    snprintf(text + used, size - (size_t)used, ", q_len %lld, kv_len %lld, head_dim %lld%s, %s",
             (long long)item->value[AT_Q_LEN], (long long)item->value[AT_KV_LEN],
             (long long)item->value[AT_HEAD_DIM], item->value[AT_CAUSAL] ? ", causal" : "",
             item->value[AT_DTYPE] == DTYPE_F32    ? "f32"
             : item->value[AT_DTYPE] == DTYPE_F16  ? "f16"
             : item->value[AT_DTYPE] == DTYPE_BF16 ? "bf16"
                                                   : "other dtype");
    if (item->extent[EX_TILED] != ATTENTION_E4M3_TILES) return;
    const size_t end = strlen(text);
    snprintf(text + end, size - end, ", seed 0x%llx", (unsigned long long)item->value[AT_SEED]);
}
