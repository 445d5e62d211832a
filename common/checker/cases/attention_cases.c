/**
 * @file attention_cases.c
 * @brief The tables of cases, shapes, data and wrong arguments, that every attention lesson runs.
 */
#include "attention_cases.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "attention_inputs.h"
#include "case_table.h"
#include "contracts/e4m3_blocks.h"

/* Sets of kinds. A tiled family's whole attention counts as another kind, one for each storage type. */
enum {
    S = 1 << ATTENTION_SCORES,
    M = 1 << ATTENTION_SOFTMAX,
    O = 1 << ATTENTION_OUTPUT,
    W = 1 << ATTENTION_WHOLE,
    T = 1 << ATTENTION_KINDS,
    H = 2 << ATTENTION_KINDS,
    C = 4 << ATTENTION_KINDS, /* on tensor cores, in f16 */
    B = 8 << ATTENTION_KINDS, /* in bf16 */
    F = 16 << ATTENTION_KINDS /* and in E4M3 */
};
enum {
    ANY_SIZE = S | M | O | W,
    PRODUCTS = S | O | W,
    CORES = C | B | F,
    TILED = T | H | CORES,
    /* rounding up makes results too large for half, or masked keys influence the scales */
    NOT_F = TILED & ~F,
    WHOLE = W | TILED,
    ALL = ANY_SIZE | TILED
};

enum { BAD_WEIGHT = 1, GOOD_WEIGHT = 2 };

enum shape_flags {
    CAUSAL = 1,
    NO_LSE = 2,
    LSE_OFFSET = 8,
    MANY_KEYS = 32,  /* so many that one block per 256 keys makes the grid too high: launched, not run */
    LONG_HEADS = 64, /* likewise with head_dim */
};

/** One line: the same shape and data for every kind in the set. */
struct shape_row {
    const char *name;
    enum case_group group;
    unsigned kinds, devices;
    int batch, heads, kv_heads, q_len, kv_len, head_dim;
    unsigned flags;
    double scale;
    enum attention_distribution distribution;
};

static const struct shape_row SHAPES[] = {
    /* clang-format off */
    /* name                      group           kinds             devices   b      h     kv  q_len  kv_len   dim flags                    scale data */
    {"one",                      GROUP_BASIC,    ALL,              ON_ANY,  1,     1,     1,     1,      1,    1, 0,                          0, DIST_NORMAL},
    {"tiny",                     GROUP_BASIC,    ALL,              ON_ANY,  1,     1,     1,     4,      6,    8, 0,                          0, DIST_NORMAL},
    {"square_64",                GROUP_BASIC,    ALL,              ON_ANY,  1,     2,     2,    64,     64,   64, 0,                          0, DIST_NORMAL},
    {"wide_32x128",              GROUP_BASIC,    ALL,              ON_ANY,  1,     2,     2,    32,    128,   32, 0,                          0, DIST_NORMAL},
    {"tall_128x32",              GROUP_BASIC,    ALL,              ON_ANY,  1,     1,     1,   128,     32,  128, 0,                          0, DIST_NORMAL},
    {"batch_3",                  GROUP_BASIC,    ALL,              ON_ANY,  3,     2,     2,    17,     24,   16, 0,                          0, DIST_NORMAL},
    {"causal_64",                GROUP_BASIC,    ALL,              ON_ANY,  1,     2,     2,    64,     64,   64, CAUSAL,                     0, DIST_NORMAL},
    {"gqa_4",                    GROUP_BASIC,    PRODUCTS | TILED, ON_ANY,  1,     8,     2,    16,     32,   32, 0,                          0, DIST_NORMAL},

    {"row_1x128",                GROUP_EDGES,    ALL,              ON_ANY,  1,     2,     2,     1,    128,   64, 0,                          0, DIST_NORMAL},
    {"column_128x1",             GROUP_EDGES,    ALL,              ON_ANY,  1,     2,     2,   128,      1,   32, 0,                          0, DIST_NORMAL},
    {"tail_31x33",               GROUP_EDGES,    ALL,              ON_ANY,  1,     2,     2,    31,     33,   32, 0,                          0, DIST_NORMAL},
    {"tail_33x31",               GROUP_EDGES,    ALL,              ON_ANY,  1,     2,     2,    33,     31,   64, 0,                          0, DIST_NORMAL},
    {"tail_63x65",               GROUP_EDGES,    ALL,              ON_ANY,  1,     2,     2,    63,     65,   64, 0,                          0, DIST_NORMAL},
    {"tail_65x63",               GROUP_EDGES,    ALL,              ON_ANY,  1,     2,     2,    65,     63,   32, 0,                          0, DIST_NORMAL},
    {"tail_127x129",             GROUP_EDGES,    ALL,              ON_ANY,  1,     1,     1,   127,    129,   64, 0,                          0, DIST_NORMAL},
    {"tail_129x127",             GROUP_EDGES,    ALL,              ON_ANY,  1,     1,     1,   129,    127,   32, 0,                          0, DIST_NORMAL},
    {"prime_97x131",             GROUP_EDGES,    ALL,              ON_ANY,  1,     1,     1,    97,    131,   64, 0,                          0, DIST_NORMAL},
    {"head_dim_1",               GROUP_EDGES,    PRODUCTS,         ON_ANY,  1,     2,     2,    33,     33,    1, 0,                          0, DIST_NORMAL},
    {"head_dim_31",              GROUP_EDGES,    PRODUCTS,         ON_ANY,  1,     2,     2,    33,     33,   31, 0,                          0, DIST_NORMAL},
    {"head_dim_33",              GROUP_EDGES,    PRODUCTS,         ON_ANY,  1,     2,     2,    33,     33,   33, 0,                          0, DIST_NORMAL},
    {"head_dim_100",             GROUP_EDGES,    PRODUCTS,         ON_ANY,  1,     1,     1,    20,     40,  100, CAUSAL,                     0, DIST_NORMAL},
    {"head_dim_129",             GROUP_EDGES,    PRODUCTS,         ON_ANY,  1,     1,     1,    20,     40,  129, 0,                          0, DIST_NORMAL},
    {"head_dim_256",             GROUP_EDGES,    PRODUCTS,         ON_ANY,  1,     1,     1,    20,     40,  256, 0,                          0, DIST_NORMAL},
    {"head_dim_300",             GROUP_EDGES,    PRODUCTS,         ON_ANY,  1,     1,     1,     9,     11,  300, 0,                          0, DIST_NORMAL},
    {"head_dim_1100",            GROUP_EDGES,    PRODUCTS,         ON_ANY,  1,     1,     1,     5,      3, 1100, CAUSAL,                     0, DIST_NORMAL},
    {"head_dim_128_tail",        GROUP_EDGES,    TILED,            ON_ANY,  1,     2,     2,    33,     65,  128, 0,                          0, DIST_NORMAL},
    {"head_dim_128_causal",      GROUP_EDGES,    TILED,            ON_ANY,  1,     1,     1,    65,     70,  128, CAUSAL,                     0, DIST_NORMAL},
    {"head_dim_64_gqa",          GROUP_EDGES,    TILED,            ON_ANY,  2,     4,     2,    17,     70,   64, CAUSAL,                     0, DIST_NORMAL},
    {"head_dim_65",              GROUP_EDGES,    PRODUCTS,         ON_ANY,  1,     2,     1,     5,      9,   65, 0,                          0, DIST_NORMAL},
    {"head_dim_96",              GROUP_EDGES,    PRODUCTS,         ON_ANY,  1,     2,     1,     5,      9,   96, 0,                          0, DIST_NORMAL},
    {"head_dim_160",             GROUP_EDGES,    PRODUCTS,         ON_ANY,  1,     2,     1,     5,      9,  160, CAUSAL,                     0, DIST_NORMAL},
    {"head_dim_200",             GROUP_EDGES,    PRODUCTS,         ON_ANY,  1,     2,     1,     5,      9,  200, 0,                          0, DIST_NORMAL},
    {"causal_tail",              GROUP_EDGES,    ALL,              ON_ANY,  1,     2,     2,    65,     65,   64, CAUSAL,                     0, DIST_NORMAL},
    {"causal_129",               GROUP_EDGES,    ALL,              ON_ANY,  1,     1,     1,   129,    129,   32, CAUSAL,                     0, DIST_NORMAL},
    {"causal_decode",            GROUP_EDGES,    ALL,              ON_ANY,  1,     2,     2,     1,     97,   32, CAUSAL,                     0, DIST_NORMAL},
    {"causal_more_keys",         GROUP_EDGES,    ALL,              ON_ANY,  1,     2,     2,    33,     97,   32, CAUSAL,                     0, DIST_NORMAL},
    {"causal_blind_rows",        GROUP_EDGES,    ALL,              ON_ANY,  1,     2,     2,    97,     33,   32, CAUSAL,                     0, DIST_NORMAL},
    {"gqa_8",                    GROUP_EDGES,    PRODUCTS | TILED, ON_ANY,  1,     8,     1,     9,     33,   32, 0,                          0, DIST_NORMAL},
    {"gqa_batch_causal",         GROUP_EDGES,    PRODUCTS | TILED, ON_ANY,  3,     8,     2,    17,     33,   32, CAUSAL,                     0, DIST_NORMAL},
    {"gqa_7",                    GROUP_EDGES,    PRODUCTS,         ON_ANY,  1,    28,     4,     3,      9,   16, CAUSAL,                     0, DIST_NORMAL},
    {"gqa_3",                    GROUP_EDGES,    PRODUCTS,         ON_ANY,  3,     6,     2,     5,      7,    8, 0,                          0, DIST_NORMAL},
    {"gqa_6",                    GROUP_EDGES,    PRODUCTS,         ON_ANY,  1,    12,     2,     3,      5,    8, CAUSAL,                     0, DIST_NORMAL},
    {"gqa_41",                   GROUP_EDGES,    PRODUCTS | TILED, ON_ANY,  1,    82,     2,     1,      3,    8, 0,                          0, DIST_NORMAL},
    {"three_query_tiles",        GROUP_EDGES,    S | O,            ON_ANY,  2,     3,     1,   130,     70,   20, CAUSAL,                     0, DIST_NORMAL},
    {"rows_1032",                GROUP_EDGES,    ANY_SIZE,         ON_ANY,  2,     2,     1,   258,      5,    3, 0,                          0, DIST_NORMAL},
    {"queries_258_causal",       GROUP_EDGES,    PRODUCTS,         ON_ANY,  1,     1,     1,   258,      5,    3, CAUSAL,                     0, DIST_NORMAL},
    {"queries_257_causal",       GROUP_EDGES,    PRODUCTS,         ON_ANY,  1,     1,     1,   257,      5,    3, CAUSAL,                     0, DIST_NORMAL},
    {"queries_255",              GROUP_EDGES,    PRODUCTS,         ON_ANY,  1,     1,     1,   255,      5,    3, 0,                          0, DIST_NORMAL},
    {"keys_70001",               GROUP_EDGES,    PRODUCTS | TILED, ON_GPU,  1,     1,     1,     3,  70001,    2, 0,                          0, DIST_NORMAL},
    {"keys_17000001",            GROUP_EDGES,    S,                ON_SIMT, 1,     1,     1,     1,      8,    2, MANY_KEYS,                  0, DIST_NORMAL},
    {"results_of_17000001_keys", GROUP_EDGES,    S,                ON_GPU,  1,     1,     1,     1, 17000001,   2, 0,                         0, DIST_NORMAL},
    {"head_dim_17000001",        GROUP_EDGES,    O,                ON_SIMT, 1,     1,     1,     1,      2,    8, LONG_HEADS,                 0, DIST_NORMAL},
    {"keys_66000",               GROUP_EDGES,    M,                ON_ANY,  1,     1,     1,     1,  66000,    1, 0,                          0, DIST_NORMAL},
    {"keys_300",                 GROUP_EDGES,    ANY_SIZE,         ON_ANY,  1,     3,     1,     5,    300,    8, CAUSAL,                     0, DIST_NORMAL},
    {"keys_2500",                GROUP_EDGES,    S,                ON_ANY,  1,     1,     1,     3,   2500,    5, 0,                          0, DIST_NORMAL},
    {"causal_one_key",           GROUP_EDGES,    ANY_SIZE,         ON_ANY,  1,     2,     2,     5,      1,    8, CAUSAL,                     0, DIST_NORMAL},
    {"causal_one_query",         GROUP_EDGES,    ANY_SIZE,         ON_ANY,  3,     2,     1,     1,      1,    8, CAUSAL,                     0, DIST_NORMAL},
    {"no_lse",                   GROUP_EDGES,    M | WHOLE,        ON_ANY,  1,     2,     2,    33,     40,   32, NO_LSE,                     0, DIST_NORMAL},
    {"lse_offset_4",             GROUP_EDGES,    TILED,            ON_ANY,  1,     2,     2,    20,     33,   32, LSE_OFFSET,                 0, DIST_NORMAL},
    {"scale_explicit",           GROUP_EDGES,    S | WHOLE,        ON_ANY,  1,     2,     2,    33,     40,   32, 0,                       0.25, DIST_NORMAL},
    {"scale_negative",           GROUP_EDGES,    S | WHOLE,        ON_ANY,  1,     1,     1,    16,     40,   32, 0,                       -0.5, DIST_NORMAL},
    {"scale_tiny",               GROUP_EDGES,    S | WHOLE,        ON_ANY,  1,     1,     1,     9,     40,   32, 0,                       1e-7, DIST_NORMAL},

    /* All pairs of values of: storage type, head_dim, mask, group, batch, one row or key more than a tile,
     * no lse, scale. A * tiled kernel may have a path for each. */
    {"gqa_7",                    GROUP_EDGES,    TILED,            ON_ANY,  1,    14,     2,     9,     65,  128, CAUSAL,                     0, DIST_NORMAL},
    {"gqa_7_head_dim_64",        GROUP_EDGES,    TILED,            ON_ANY,  1,    14,     2,     3,     65,   64, 0,                        0.3, DIST_NORMAL},
    {"gqa_7_no_lse",             GROUP_EDGES,    TILED,            ON_ANY,  2,    14,     2,     3,     20,   32, CAUSAL | NO_LSE,          0.2, DIST_NORMAL},
    {"gqa_3",                    GROUP_EDGES,    TILED,            ON_ANY,  2,     6,     2,    17,     64,   32, 0,                       -0.4, DIST_NORMAL},
    {"gqa_3_head_dim_128",       GROUP_EDGES,    TILED,            ON_ANY,  1,     6,     2,    65,      9,  128, 0,                          0, DIST_NORMAL},
    {"gqa_6_head_dim_64",        GROUP_EDGES,    TILED,            ON_ANY,  1,    12,     2,     7,     64,   64, CAUSAL,                     0, DIST_NORMAL},
    {"gqa_6_no_lse",             GROUP_EDGES,    TILED,            ON_ANY,  1,    12,     2,     1,     65,  128, NO_LSE,                   0.1, DIST_NORMAL},
    {"heads_and_tiles",          GROUP_EDGES,    TILED,            ON_ANY,  2,     4,     2,   129,     20,   32, 0,                          0, DIST_NORMAL},
    {"heads_and_tiles_64",       GROUP_EDGES,    TILED,            ON_ANY,  1,     3,     1,   130,    135,   64, CAUSAL,                  -0.2, DIST_NORMAL},
    {"heads_and_tiles_128",      GROUP_EDGES,    TILED,            ON_ANY,  1,     2,     2,   129,    129,  128, CAUSAL,                     0, DIST_NORMAL},
    {"queries_300",              GROUP_EDGES,    TILED,            ON_ANY,  1,     2,     1,   300,     17,   32, 0,                        0.3, DIST_NORMAL},
    {"queries_257_causal",       GROUP_EDGES,    TILED,            ON_ANY,  1,     2,     2,   257,     33,   64, CAUSAL,                     0, DIST_NORMAL},
    {"queries_255",              GROUP_EDGES,    TILED,            ON_ANY,  1,     1,     1,   255,     17,   32, 0,                          0, DIST_NORMAL},
    /* Query 256, the first of a tile, sees one key less than whole tiles. */
    {"queries_258_causal",       GROUP_EDGES,    TILED,            ON_ANY,  1,     1,     1,   258,     64,   32, CAUSAL,                     0, DIST_NORMAL},
    {"blind_rows_no_lse",        GROUP_EDGES,    TILED,            ON_ANY,  2,     2,     1,    70,     33,   64, CAUSAL | NO_LSE,            0, DIST_NORMAL},
    {"decode_head_dim_64",       GROUP_EDGES,    TILED,            ON_ANY,  2,     2,     2,     1,     65,   64, 0,                          0, DIST_NORMAL},
    {"decode_head_dim_128",      GROUP_EDGES,    TILED,            ON_ANY,  2,     4,     2,     1,     65,  128, CAUSAL,                  -0.1, DIST_NORMAL},
    {"tail_129x64",              GROUP_EDGES,    TILED,            ON_ANY,  1,     2,     2,   129,     64,   64, NO_LSE,                  -0.3, DIST_NORMAL},
    {"whole_tiles_128",          GROUP_EDGES,    TILED,            ON_ANY,  2,     2,     1,    64,     64,  128, CAUSAL,                     0, DIST_NORMAL},
    {"tail_17x129",              GROUP_EDGES,    TILED,            ON_ANY,  1,     2,     2,    17,    129,   32, CAUSAL,                   0.3, DIST_NORMAL},

    {"large_logits",             GROUP_NUMERICS, S | M | WHOLE,    ON_ANY,  1,     2,     2,    33,     65,   64, 0,                          0, DIST_LARGE},
    {"low_logits",               GROUP_NUMERICS, M | WHOLE,        ON_ANY,  1,     2,     2,    17,     65,   32, 0,                          0, DIST_LOW},
    {"dominant_key",             GROUP_NUMERICS, ALL,              ON_ANY,  1,     2,     2,    17,    130,   32, 0,                          0, DIST_DOMINANT},
    {"equal_scores",             GROUP_NUMERICS, M | O | W | NOT_F, ON_ANY,  1,     1,     1,     2,   2500,   16, 0,                          0, DIST_EQUAL},
    {"large_values",             GROUP_NUMERICS, NOT_F,            ON_ANY,  1,     2,     2,     9,    130,   32, 0,                          0, DIST_LARGE_VALUES},
    {"small_values",             GROUP_NUMERICS, TILED,            ON_ANY,  1,     2,     2,     9,    130,   32, 0,                          0, DIST_SMALL_VALUES},
    {"rising_scores",            GROUP_NUMERICS, M | W,            ON_ANY,  1,     2,     2,     9,    200,   32, 0,                          0, DIST_RISING},
    {"rising_scores",            GROUP_NUMERICS, TILED,            ON_ANY,  1,     2,     2,    64,    140,   32, 0,                          0, DIST_RISING},
    {"rising_by_powers",         GROUP_NUMERICS, TILED,            ON_ANY,  1,     1,     1,    48,    140,   32, 0,           0.6931471805599453, DIST_STAIRS},
    {"falling_scores",           GROUP_NUMERICS, M | WHOLE,        ON_ANY,  1,     2,     2,     9,    200,   32, 0,                          0, DIST_FALLING},
    {"large_negative_scale",     GROUP_NUMERICS, S | W,            ON_ANY,  1,     2,     2,     9,     65,   32, 0,                      -0.25, DIST_LARGE},
    {"low_logits_causal",        GROUP_NUMERICS, M | W,            ON_ANY,  1,     2,     1,    70,     81,   16, CAUSAL,                     0, DIST_LOW},
    {"extreme_logits",           GROUP_NUMERICS, M | W | NOT_F,    ON_ANY,  1,     2,     2,     9,     65,   32, 0,                        1.0, DIST_EXTREME},
    {"rising_2500",              GROUP_NUMERICS, M | W,            ON_ANY,  1,     1,     1,     2,   2500,    8, 0,                          0, DIST_RISING},
    {"faint_weights",            GROUP_NUMERICS, M | O | W | NOT_F, ON_ANY,  1,     2,     2,    16,    140,   32, 0,                          0, DIST_FAINT},
    {"nan_sees_one_key",         GROUP_NUMERICS, S | M | W,        ON_ANY,  1,     2,     2,    12,     10,   16, CAUSAL,                     0, DIST_NAN_Q},
    {"nan_v_of_weight_0",        GROUP_NUMERICS, O | W,            ON_ANY,  2,     4,     2,     9,     40,   32, 0,                          0, DIST_NAN_WEIGHTLESS},
    {"infinite",                 GROUP_NUMERICS, ANY_SIZE | NOT_F, ON_ANY,  2,     4,     2,    13,     40,   32, 0,                          0, DIST_INFINITE},
    {"large_negative_scale",     GROUP_NUMERICS, TILED,            ON_ANY,  1,     2,     2,    17,     65,   64, 0,                     -0.125, DIST_LARGE},
    {"low_logits_causal",        GROUP_NUMERICS, TILED,            ON_ANY,  1,     2,     1,    21,    140,   32, CAUSAL,                     0, DIST_LOW},
    {"lowest_logits",            GROUP_NUMERICS, TILED,            ON_ANY,  1,     2,     1,     9,    140,   64, CAUSAL,                 100.0, DIST_LOW},
    {"faint_weights_128",        GROUP_NUMERICS, TILED,            ON_ANY,  1,     2,     2,     9,     70,  128, 0,                          0, DIST_FAINT},
    {"nan_v_of_weight_0",        GROUP_NUMERICS, TILED,            ON_ANY,  1,     2,     2,    64,    140,   64, 0,                          0, DIST_NAN_WEIGHTLESS},
    {"small_queries",            GROUP_NUMERICS, TILED,            ON_ANY,  1,     2,     2,     9,     40,   64, 0,                        4.0, DIST_SMALL_QUERIES},
    {"large_values_128",         GROUP_NUMERICS, NOT_F,            ON_ANY,  1,     1,     1,     9,     70,  128, CAUSAL,                     0, DIST_LARGE_VALUES},
    {"minus_infinity",           GROUP_NUMERICS, W | TILED,        ON_ANY,  1,     2,     2,     9,    140,   64, 0,                          0, DIST_MINUS_INFINITE},
    {"logits_of_all_sizes",      GROUP_NUMERICS, CORES,            ON_ANY,  1,     2,     2,    20,     65,   64, 0,                        1e5, DIST_OCTAVES},
    {"faint_parts",              GROUP_NUMERICS, M | WHOLE,        ON_ANY,  1,     4,     4,     3,    512,   32, 0,                          0, DIST_FAINT_PARTS},
    {"extreme_logits_causal",    GROUP_NUMERICS, M | W | NOT_F,    ON_ANY,  1,     1,     1,    70,    140,   32, CAUSAL,                   1.0, DIST_EXTREME},
    {"minus_infinity_causal",    GROUP_NUMERICS, W | TILED,        ON_ANY,  1,     1,     1,    80,    140,   64, CAUSAL,                     0, DIST_MINUS_INFINITE},
    {"scale_largest",            GROUP_NUMERICS, S | W | T | B,    ON_ANY,  1,     2,     2,     9,     40,   32, 0,               (double)FLT_MAX, DIST_SMALL_PRODUCTS},
    {"scale_lowest",             GROUP_NUMERICS, S | W | T | B,    ON_ANY,  1,     1,     1,     9,     40,   32, CAUSAL,         -(double)FLT_MAX, DIST_SMALL_PRODUCTS},
    {"scale_largest_128",        GROUP_NUMERICS, T | B,            ON_ANY,  1,     1,     1,    64,    384,  128, 0,               (double)FLT_MAX, DIST_SMALL_PRODUCTS},
    {"nan_q",                    GROUP_NUMERICS, S | M | WHOLE,    ON_ANY,  1,     2,     2,    33,     40,   32, 0,                          0, DIST_NAN_Q},
    {"nan_k",                    GROUP_NUMERICS, S | WHOLE,        ON_ANY,  2,     4,     2,    20,     40,   32, 0,                          0, DIST_NAN_K},
    {"nan_v",                    GROUP_NUMERICS, O | WHOLE,        ON_ANY,  2,     4,     2,    20,     40,   32, 0,                          0, DIST_NAN_V},
    {"nan_behind_mask",          GROUP_NUMERICS, PRODUCTS | TILED, ON_ANY,  1,     2,     2,    43,     72,   32, CAUSAL,                     0, DIST_NAN_HIDDEN},
    {"given_behind_mask",        GROUP_NUMERICS, M | O,            ON_ANY,  1,     2,     1,     9,     40,   16, CAUSAL,                     0, DIST_BEHIND_MASK},
    {"nan_behind_mask_21",       GROUP_NUMERICS, TILED,            ON_ANY,  1,     1,     1,    19,     21,   32, CAUSAL,                     0, DIST_NAN_HIDDEN},
    /* The largest score of a row is beyond key 65536, and exp() of the difference is infinite. */
    {"rising_67200",             GROUP_NUMERICS, M,                ON_ANY,  1,     1,     1,     1,  67200,    1, 0,                          0, DIST_RISING},
    {"equal_66000",              GROUP_NUMERICS, M,                ON_ANY,  1,     1,     1,     1,  66000,    1, 0,                          0, DIST_EQUAL},
    {"rising_70001",             GROUP_NUMERICS, W | T | C,        ON_GPU,  1,     1,     1,     3,  70001,   32, 0,                          0, DIST_RISING},
    /* A single query, for which a kernel may have code of its own. */
    {"decode_large_logits",      GROUP_NUMERICS, S | M | WHOLE,    ON_ANY,  1,     2,     2,     1,     65,   64, 0,                          0, DIST_LARGE},
    {"decode_low_logits",        GROUP_NUMERICS, M | WHOLE,        ON_ANY,  1,     2,     1,     1,    140,   32, CAUSAL,                     0, DIST_LOW},
    {"decode_infinite",          GROUP_NUMERICS, ALL,              ON_ANY,  1,     4,     2,     1,     40,   32, 0,                          0, DIST_INFINITE},
    {"decode_nan_k",             GROUP_NUMERICS, S | WHOLE,        ON_ANY,  1,     4,     2,     1,     40,   64, CAUSAL,                     0, DIST_NAN_K},
    /* Scores that overflow, in the only head_dim without such a case so far. */
    {"large_logits_128",         GROUP_NUMERICS, TILED,            ON_ANY,  1,     2,     1,     3,     70,  128, CAUSAL,                     0, DIST_LARGE},

    {"qwen3_8b_prefill_8",       GROUP_SPEED,    WHOLE,            ON_ANY,  1,    32,     8,     8,      8,  128, CAUSAL,                     0, DIST_NORMAL},
    {"qwen3_8b_decode_291",      GROUP_SPEED,    W,                ON_ANY,  1,    32,     8,     1,    291,  128, CAUSAL,                     0, DIST_NORMAL},
    /* A tile with one valid query costs the software device as much as a whole one. */
    {"qwen3_8b_decode_291",      GROUP_SPEED,    NOT_F,            ON_GPU,  1,    32,     8,     1,    291,  128, CAUSAL,                     0, DIST_NORMAL},
    {"qwen3_8b_decode_4096",     GROUP_SPEED,    W | NOT_F,        ON_GPU,  1,    32,     8,     1,   4096,  128, CAUSAL,                     0, DIST_NORMAL},
    {"qwen3_8b_prefill_512",     GROUP_SPEED,    W | NOT_F,        ON_GPU,  1,    32,     8,   512,    512,  128, CAUSAL,                     0, DIST_NORMAL},
    {"qwen3_8b_prefill_2048",    GROUP_SPEED,    W | NOT_F,        ON_GPU,  1,    32,     8,  2048,   2048,  128, CAUSAL,                     0, DIST_NORMAL},
    {"heads_16_len_2048",        GROUP_SPEED,    W | NOT_F,        ON_GPU,  1,    16,    16,  2048,   2048,   64, 0,                          0, DIST_NORMAL},
    {"heads_16_len_2048_causal", GROUP_SPEED,    NOT_F,            ON_GPU,  1,    16,    16,  2048,   2048,   64, CAUSAL,                     0, DIST_NORMAL},
    {"heads_16_len_4096",        GROUP_SPEED,    NOT_F,            ON_GPU,  1,    16,    16,  4096,   4096,   64, 0,                          0, DIST_NORMAL},
    {"heads_16_len_4096_causal", GROUP_SPEED,    NOT_F,            ON_GPU,  1,    16,    16,  4096,   4096,   64, CAUSAL,                     0, DIST_NORMAL},
    /* clang-format on */
};

/* clang-format off */
static const struct bad_argument BAD[] = {
    {"sound_arguments", ALL, KERNEL_OK, BAD_VALUE(-1, 0)},
    {"heads_not_divisible", ALL, KERNEL_INVALID_DIMENSION, BAD_VALUE(AT_KV_HEADS, 3)},
    {"dtype_f16", ANY_SIZE | T | B, KERNEL_UNSUPPORTED_DTYPE, BAD_VALUE(AT_DTYPE, DTYPE_F16)},
    {"dtype_f32", H | CORES, KERNEL_UNSUPPORTED_DTYPE, BAD_VALUE(AT_DTYPE, DTYPE_F32)},
    {"dtype_bf16", T | H | C, KERNEL_UNSUPPORTED_DTYPE, BAD_VALUE(AT_DTYPE, DTYPE_BF16)},
    {"batch_times_heads_overflow", WHOLE, KERNEL_INVALID_DIMENSION, BAD_VALUE(AT_BATCH, 1 << 30)},
    {"rows_overflow", ALL, KERNEL_INVALID_DIMENSION, BAD_VALUE(AT_KV_LEN, 1 << 30)},

    /* Two faults at once: the checks of attention_args_check() come first, and before the lesson's own. */
    {"dtype_f16_and_misaligned_q", S | W, KERNEL_ALIGNMENT_ERROR, -1, 0, -1, ATTENTION_Q, 2, DTYPE_F16},
    {"null_matrix_and_dtype_f16", S | M | O, KERNEL_UNSUPPORTED_DTYPE, -1, 0, ATTENTION_MATRIX, -1, 0, DTYPE_F16},
    {"dtype_bf16_and_misaligned_q", T | H | C, KERNEL_ALIGNMENT_ERROR, -1, 0, -1, ATTENTION_Q, 8, DTYPE_BF16},
    {"head_dim_16_and_misaligned_v", TILED, KERNEL_ALIGNMENT_ERROR, AT_HEAD_DIM, 16, -1, ATTENTION_V, 8, -1},
    {"head_dim_16_and_dtype_bf16", T | H | C, KERNEL_UNSUPPORTED_DTYPE, AT_HEAD_DIM, 16, -1, -1, 0, DTYPE_BF16},
    {"null_matrix_and_no_keys", S | M | O, KERNEL_INVALID_DIMENSION, AT_KV_LEN, 0, ATTENTION_MATRIX, -1, 0, -1},
};

static const struct bad_argument BAD_WORKSPACE[] = {
    /* a type that other lessons have is refused after what attention_args_check() is asked for: there the workspace, unless TILED */
    {"workspace_null_and_dtype_f16", W, KERNEL_OUT_OF_MEMORY, -1, 0, ATTENTION_WORKSPACE, -1, 0, DTYPE_F16},
    {"workspace_null_and_dtype_bf16", T | H, KERNEL_UNSUPPORTED_DTYPE, -1, 0, ATTENTION_WORKSPACE, -1, 0, DTYPE_BF16},
    {"workspace_null_and_head_dim_16", TILED, KERNEL_INVALID_DIMENSION, AT_HEAD_DIM, 16, ATTENTION_WORKSPACE, -1, 0, -1},
};
/* clang-format on */

static const char *const KIND_NAME[ATTENTION_KINDS] = {"scores", "softmax", "output", "attention"};

static unsigned kind_bit(int kind, int tiled, int dtype)
{
    if (kind != ATTENTION_WHOLE || !tiled) return 1u << kind;
    if (tiled == ATTENTION_E4M3_TILES) return F;
    if (attention_on_tensor_cores(tiled)) return dtype == DTYPE_F16 ? C : B;
    return dtype == DTYPE_F16 ? H : T;
}

/* The head_dim of a row that asks for @p head_dim: that, or the least there is. */
static int head_dim_of(enum attention_tiles tiled, int head_dim)
{
    const int least = attention_on_tensor_cores((int)tiled) ? 64 : 32;
    if (tiled == ATTENTION_E4M3_TILES) return E4M3_COLUMNS;
    return tiled == NOT_TILED || (attention_tiled_head_dim(head_dim) && head_dim > least) ? head_dim : least;
}

static void settle(struct lesson_case *item, enum attention_kind kind, const struct attention_family *family)
{
    item->part = family->part[kind];
    item->extent[EX_KIND] = (int)kind;
    item->extent[EX_WORKSPACE] = (int)family->workspace;
    item->extent[EX_DTYPE] = (int)family->dtype;
    item->extent[EX_TILED] = (int)family->tiled;
    item->extent[AT_HEAD_DIM] = head_dim_of(family->tiled, item->extent[AT_HEAD_DIM]);
    for (int i = 0; i <= AT_HEAD_DIM; i++) item->value[i] = item->extent[i];
    item->value[AT_KIND] = (int)kind;
    item->value[AT_DTYPE] = (int)family->dtype;
    item->null_buffer = item->misaligned_buffer = -1;
    item->expected = KERNEL_OK;
    item->repeat = 1;
}

static void name_case(struct lesson_case *item, enum attention_kind kind,
                      const struct attention_family *family, const char *name)
{
    const char *part = kind == ATTENTION_WHOLE && family->name != NULL ? family->name : KIND_NAME[kind];
    snprintf(item->name, sizeof item->name, "%s/%s", part, name);
}

static void shape_case(struct lesson_case *item, const struct shape_row *row, enum attention_kind kind,
                       const struct attention_family *family)
{
    *item = (struct lesson_case){
        .group = row->group,
        .weight = GOOD_WEIGHT,
        .devices = row->devices,
        .extent = {row->batch, row->heads, row->kv_heads, row->q_len, row->kv_len, row->head_dim},
        .real = {row->scale},
        .distribution = row->distribution};
    settle(item, kind, family);
    name_case(item, kind, family, row->name);
    item->value[AT_CAUSAL] = (row->flags & CAUSAL) != 0;
    if (row->flags & NO_LSE) item->null_buffer = ATTENTION_LSE;
    if (row->flags & LSE_OFFSET) {
        item->misaligned_buffer = ATTENTION_LSE;
        item->misalignment = sizeof(float);
    }
    if (row->flags & (MANY_KEYS | LONG_HEADS)) {
        item->value[row->flags & MANY_KEYS ? AT_KV_LEN : AT_HEAD_DIM] = 17000001;
        item->flags |= CASE_LAUNCH_ONLY;
    }
    /* Two calls agree, and the first leaves nothing that the second one uses: basic cases and half of the random shapes show that,
     * which take every path of a kernel. */
    if (row->group != GROUP_BASIC && row->group != GROUP_SPEED) item->flags |= CASE_ONE_CALL;
    if (row->distribution == DIST_NORMAL) item->flags |= CASE_UNIT_SCALE;
    /* what an element of 16 bits cannot hold of such scores, the scale does */
    if (row->distribution == DIST_EXTREME && family->dtype == DTYPE_F16) item->real[AT_SCALE] = 0x1p100;
}

/* A bad case has the buffers of a small good one, so that a kernel that runs in spite of the fault finds
 * memory. */
static void bad_case(struct lesson_case *item, const struct bad_argument *row, enum attention_kind kind,
                     const struct attention_family *family)
{
    *item = (struct lesson_case){.group = GROUP_BAD_INPUT,
                                 .weight = BAD_WEIGHT,
                                 .devices = ON_ANY,
                                 .extent = {1, 4, 2, 5, 7, 8},
                                 .distribution = DIST_NORMAL};
    settle(item, kind, family);
    name_case(item, kind, family, row->name);
    case_table_spoil(item, row, AT_DTYPE);
}

/* A refused head_dim. Its buffers exist all the same, so that a kernel that runs in spite of the fault
 * finds memory. */
static void head_dim_case(struct lesson_case *item, const char *name, int number, int more,
                          const struct attention_family *family)
{
    static const struct bad_argument row = {"", WHOLE, KERNEL_INVALID_DIMENSION, BAD_VALUE(-1, 0)};
    char numbered[LESSON_NAME / 2];
    bad_case(item, &row, ATTENTION_WHOLE, family);
    snprintf(numbered, sizeof numbered, "%s%d", name, number);
    name_case(item, ATTENTION_WHOLE, family, numbered);
    if (family->tiled) item->extent[AT_HEAD_DIM] = number;
    item->value[AT_HEAD_DIM] = number + more;
}
/* Workspaces whose size does not fit in 32 bits, nor in 64 where they hold a score matrix. */
static int large_workspaces(const struct attention_family *family, struct lesson_case *cases, int count,
                            int capacity)
{
    static const struct bad_argument row = {"", WHOLE, KERNEL_OUT_OF_MEMORY, BAD_VALUE(-1, 0)};
    int matrix = family->workspace == WORKSPACE_MATRIX;
    for (int wide = 0; wide < (matrix ? 2 : 1) && count < capacity; wide++, count++) {
        bad_case(&cases[count], &row, ATTENTION_WHOLE, family);
        name_case(&cases[count], ATTENTION_WHOLE, family,
                  wide ? "workspace_overflow_64" : "workspace_overflow_32");
        cases[count].value[AT_HEADS] = cases[count].value[AT_KV_HEADS] = 1;
        cases[count].value[AT_Q_LEN] = cases[count].value[AT_KV_LEN] = 1 << (wide ? 30 : matrix ? 16 : 29);
    }
    return count;
}

/* A refused head_dim, and workspaces larger than any limit. */
static int odd_cases(const struct attention_family *family, struct lesson_case *cases, int count,
                     int capacity)
{
    static const int refused[][5] = {[ATTENTION_TILES] = {1, 16, 48, 96, 256},
                                     [ATTENTION_TENSOR_TILES] = {1, 32, 96, 192, 512},
                                     [ATTENTION_HOPPER_TILES] = {1, 32, 96, 192, 256},
                                     [ATTENTION_E4M3_TILES] = {1, 32, 64, 192, 256}};
    for (int i = 0; family->tiled && i < 5 && count < capacity; i++)
        head_dim_case(&cases[count++], "head_dim_", refused[family->tiled][i], 0, family);
    if (!family->tiled && family->max_head_dim > 0 && count + 1 < capacity) {
        head_dim_case(&cases[count++], "head_dim_above_", family->max_head_dim, 1, family);
        /* two faults: the one that the contract names first decides */
        struct lesson_case *both = &cases[count++];
        *both = cases[count - 2];
        name_case(both, ATTENTION_WHOLE, family, "head_dim_too_large_and_dtype_f16");
        both->value[AT_DTYPE] = DTYPE_F16;
        both->expected = KERNEL_UNSUPPORTED_DTYPE;
    }
    return family->workspace == WORKSPACE_NONE ? count : large_workspaces(family, cases, count, capacity);
}

/* Items of a property go through all remainders, and then through one key less and one more than tiles of 64 and of 128; all queries
 * see all keys. Every fourth item is causal instead, and has any number of keys. A tiled kernel has a path for each head_dim, which
 * goes through all of that; those of a further storage type, which convert what they load, take turns. Causal pairs are as many. */
enum { EDGES = 4, CAUSAL_EVERY = 4, CAUSAL_PAIRS = 32, PLACES = 18, LEAST = 100 };

static int paths_of(const struct lesson_case *item)
{
    static const int paths[] = {[NOT_TILED] = 1,
                                [ATTENTION_TILES] = 3,
                                [ATTENTION_TENSOR_TILES] = 3,
                                [ATTENTION_HOPPER_TILES] = 2,
                                [ATTENTION_E4M3_TILES] = 1};
    return paths[item->extent[EX_TILED]];
}

static int sweeps_of(const struct lesson_case *item)
{
    const int further = item->extent[EX_TILED] && item->part > 0;
    return further ? 1 : paths_of(item);
}

static int at_least(int limit, int value)
{
    return value > limit ? value : limit;
}

static int property_cases(const struct attention_family *family, struct lesson_case *cases, int count,
                          int capacity)
{
    static const struct shape_row rows[] = {
        /* in the order of enum attention_property */
        {"property_random_shapes", GROUP_PROPERTIES, ALL, ON_ANY, 1, 1, 1, 1, 1, 1, 0, 0, DIST_NORMAL},
        {"property_causal_prefix", GROUP_PROPERTIES, W | NOT_F, ON_ANY, 1, 1, 1, 1, 1, 1, CAUSAL, 0,
         DIST_NORMAL},
        /* Rows that are whole tiles: only the alignment can rule out a wide access. */
        {"alignments", GROUP_PROPERTIES, ALL, ON_ANY, 1, 1, 1, 4, 64, 64, 0, 0, DIST_NORMAL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (int kind = 0; kind < ATTENTION_KINDS; kind++) {
            if (family->part[kind] < 0 || count >= capacity) continue;
            if (!(rows[i].kinds & kind_bit(kind, family->tiled, (int)family->dtype))) continue;
            shape_case(&cases[count], &rows[i], (enum attention_kind)kind, family);
            const int sweeps = sweeps_of(&cases[count]), least = sweeps < paths_of(&cases[count]) ? 0 : LEAST;
            const int repeat[] = {
                at_least(least, sweeps * (CASE_TABLE_REMAINDERS + EDGES) * CAUSAL_EVERY / (CAUSAL_EVERY - 1)),
                at_least(least, sweeps * CAUSAL_PAIRS * 2), PLACES};
            cases[count].repeat = repeat[i];
            cases[count].extent[EX_PROPERTY] = (int)i;
            count++;
        }
    return count;
}

int attention_cases(const struct attention_family *family, struct lesson_case *cases, int count, int capacity)
{
    for (int kind = 0; kind < ATTENTION_KINDS; kind++) {
        unsigned bit = kind_bit(kind, family->tiled, (int)family->dtype);
        if (family->part[kind] < 0) continue;
        for (size_t i = 0; i < sizeof SHAPES / sizeof SHAPES[0] && count < capacity; i++) {
            if (!(SHAPES[i].kinds & bit)) continue;
            if (!family->tiled && family->max_head_dim > 0 && SHAPES[i].head_dim > family->max_head_dim)
                continue;
            shape_case(&cases[count++], &SHAPES[i], (enum attention_kind)kind, family);
        }
        for (size_t i = 0; i < sizeof BAD / sizeof BAD[0] && count < capacity; i++)
            if (BAD[i].of & bit) bad_case(&cases[count++], &BAD[i], (enum attention_kind)kind, family);
    }
    unsigned whole = kind_bit(ATTENTION_WHOLE, family->tiled, (int)family->dtype);
    for (size_t i = 0; family->workspace && i < sizeof BAD_WORKSPACE / sizeof BAD_WORKSPACE[0]; i++)
        if (count < capacity && (BAD_WORKSPACE[i].of & whole))
            bad_case(&cases[count++], &BAD_WORKSPACE[i], ATTENTION_WHOLE, family);
    count = odd_cases(family, cases, count, capacity);
    return property_cases(family, cases, count, capacity);
}

/* One row, a tile of rows, several, many. */
static int size_class(int rows)
{
    return (rows > 1) + (rows > 64) + (rows > 256) + (rows > 512);
}

/* Whether two cases ask for the same: that is what the data are, or of normal data which sizes meet. */
static int same_kind(const struct lesson_case *a, const struct lesson_case *b)
{
    const int *of_a = a->extent, *of_b = b->extent;
    if (a->group != b->group || a->devices != b->devices || a->distribution != b->distribution ||
        a->value[AT_CAUSAL] != b->value[AT_CAUSAL])
        return 0;
    if (a->distribution != DIST_NORMAL)
        return of_a[AT_HEAD_DIM] == of_b[AT_HEAD_DIM] && (of_a[AT_Q_LEN] > 1) == (of_b[AT_Q_LEN] > 1) &&
               !(a->real[AT_SCALE] < b->real[AT_SCALE]) && !(a->real[AT_SCALE] > b->real[AT_SCALE]);
    return a->null_buffer == b->null_buffer && size_class(of_a[AT_Q_LEN]) == size_class(of_b[AT_Q_LEN]) &&
           size_class(of_a[AT_KV_LEN]) == size_class(of_b[AT_KV_LEN]) &&
           (of_a[AT_HEADS] > of_a[AT_KV_HEADS]) == (of_b[AT_HEADS] > of_b[AT_KV_HEADS]);
}

int attention_one_of_a_kind(struct lesson_case *cases, int first, int count)
{
    int kept = first;
    for (int i = first; i < count; i++) {
        const int edge = cases[i].group == GROUP_EDGES || cases[i].group == GROUP_NUMERICS;
        int same = first;
        while (same < kept && !same_kind(&cases[same], &cases[i])) same++;
        if (!edge || same == kept) cases[kept++] = cases[i];
    }
    return kept;
}

int attention_own_cases(const char *part, const char *like, const struct attention_own_case *rows,
                        size_t row_count, struct lesson_case *cases, int count, int capacity)
{
    for (const struct attention_own_case *own = rows; own < rows + row_count; own++) {
        struct lesson_case *item = case_table_copy(cases, &count, capacity, part, like, own->name);
        if (item == NULL) return count;
        item->group = own->group;
        item->devices = own->devices;
        item->distribution = (int)own->distribution;
        if (own->distribution != DIST_NORMAL) item->flags &= ~(unsigned)CASE_UNIT_SCALE;
        const int extent[] = {own->batch, own->heads, own->kv_heads, own->q_len, own->kv_len, own->head_dim};
        for (int e = 0; e <= AT_HEAD_DIM; e++) item->value[e] = item->extent[e] = extent[e];
        item->value[AT_CAUSAL] = own->causal;
        item->real[AT_SCALE] = own->scale;
    }
    return count;
}

int attention_cases_in_parts(struct lesson_case *cases, int capacity)
{
    static const struct attention_family family = {.part = {0, 1, 2, 3}, .workspace = WORKSPACE_MATRIX};
    return attention_cases(&family, cases, 0, capacity);
}

/* Mostly the smallest head_dim: the software device is slow. */
static int tiled_head_dim(struct rng *rng, int large, int tiled)
{
    if (tiled == ATTENTION_E4M3_TILES) return E4M3_COLUMNS;
    int die = rng_between(rng, 1, large ? 3 : 16), least = attention_on_tensor_cores(tiled) ? 64 : 32;
    return die == 1 ? 2 * least : die == 2 && tiled != ATTENTION_HOPPER_TILES ? 4 * least : least;
}

/* The number of keys of item @p index of those that are not causal, and the head_dim of a tiled kernel. */
static void sweep_keys(struct lesson_case *item, int index, int whole_tiles)
{
    static const int edges[EDGES] = {63, 65, 127, 129};
    const int tiled = item->extent[EX_TILED], least = attention_on_tensor_cores(tiled) ? 64 : 32;
    const int paths = paths_of(item), sweeps = sweeps_of(item);
    index %= sweeps * CASE_TABLE_REMAINDERS + EDGES;
    const int edge = index - sweeps * CASE_TABLE_REMAINDERS;
    struct sweep sweep = case_table_sweep(index, sweeps);
    sweep.length += CASE_TABLE_REMAINDERS * whole_tiles;
    if (edge >= 0) sweep.length = edges[edge % EDGES];
    if (edge >= 0 || sweeps < paths) sweep.path = index % paths;
    item->extent[AT_KV_LEN] = sweep.length;
    if (tiled) item->extent[AT_HEAD_DIM] = tiled == ATTENTION_E4M3_TILES ? E4M3_COLUMNS : least << sweep.path;
}

/** The largest extents of an item, and its smallest number of keys. */
struct extents {
    int rows, keys, group, batch, least_keys;
};

/* The software device takes long per row, since most kernels use a block of threads for each. Of 32 items,
 * four have more than one tile of keys, and two more than one tile of queries. */
static struct extents longest_extents(const struct lesson_case *item, int index, int pairs)
{
    int tiled = item->extent[EX_TILED];
    if (item->devices == ON_GPU) return (struct extents){300, 300, 7, 3, pairs ? 2 : 1};
    struct extents longest = {8, 24, pairs ? 1 : index % 4 == 0 ? 7 : 2, pairs ? 1 : 2, pairs ? 2 : 1};
    if (index % 16 < 2) longest.keys = 80;
    if (tiled && (index / 2) % 16 == 3) longest.rows = 140;
    if (!attention_on_tensor_cores(tiled) || !pairs || (index / 2) % 2 == 0) return longest;
    longest.rows = 28; /* two to a fragment */
    if (tiled == ATTENTION_TENSOR_TILES) longest.keys = 110;
    if (tiled == ATTENTION_HOPPER_TILES) {
        /* A tile with few keys, of which every row sees some, and one with many: in some rows m rises from the first to the
         * second. */
        longest.rows = 4;
        longest.keys = 142;
        longest.least_keys = 133;
    }
    return longest;
}

/* Some of the items have a scale of their own, of either sign; some have no lse. */
static void vary_options(struct lesson_case *item, struct rng *rng)
{
    int die = rng_between(rng, 0, 8);
    double size = 0.05 + rng_uniform(rng);
    if (die < 3) item->real[AT_SCALE] = die == 0 ? -size : size;
    if (die == 8) item->real[AT_SCALE] = -0.0; /* is 0 too */
    if (item->extent[EX_KIND] == ATTENTION_WHOLE && die % 4 == 3) item->null_buffer = ATTENTION_LSE;
}

/* A quarter of the items have data that are not normally distributed. */
static void vary_distribution(struct lesson_case *item, struct rng *rng)
{
    static const enum attention_distribution other[] = {DIST_DOMINANT, DIST_LOW, DIST_FALLING, DIST_FAINT};
    int die = rng_between(rng, 0, 15), tiled = item->extent[EX_TILED];
    if (tiled && die < 6 && item->value[AT_CAUSAL] == 1) item->distribution = DIST_SELDOM_NAN;
    if (die >= 4 || tiled) return;
    item->distribution = (int)other[die];
    item->flags &= ~(unsigned)CASE_UNIT_SCALE;
}

static int at_most(int limit, int value)
{
    return value < limit ? value : limit;
}

void attention_vary(struct lesson_case *item, int index, struct rng *rng)
{
    if (item->extent[EX_PROPERTY] == PROPERTY_ALIGNMENTS) {
        struct lesson_buffer buffer[WIRE_BUFFERS];
        case_table_place(item, index, buffer, attention_buffers(item, buffer));
        return;
    }
    int large = item->devices == ON_GPU;
    int pairs = item->extent[EX_PROPERTY] == PROPERTY_CAUSAL_PREFIX;
    if (!pairs && index / CAUSAL_EVERY % 2 == 0) item->flags &= ~(unsigned)CASE_ONE_CALL;
    struct extents longest = longest_extents(item, index, pairs);
    /* Items 2n and 2n + 1 of the causal property have the same shape, and the same inputs but for hidden keys. */
    struct rng shape = {pairs ? rng_mix(item->seed, (uint64_t)(index / 2)) : rng_next(rng)};
    item->seed = rng_mix(shape.state, 7);
    /* on the software device one item in 8 has several of each */
    int several = large ? 7 : rng_between(&shape, 0, 7);
    int group = several & 1 ? rng_between(&shape, 1, longest.group) : 1;
    item->extent[AT_BATCH] = several & 2 ? rng_between(&shape, 1, longest.batch) : 1;
    item->extent[AT_KV_HEADS] = several & 4 ? rng_between(&shape, 1, 2) : 1;
    item->extent[AT_HEADS] = item->extent[AT_KV_HEADS] * group;
    if (!large) longest.rows = longest.rows / (item->extent[AT_BATCH] * item->extent[AT_HEADS]);
    item->extent[AT_Q_LEN] = rng_between(&shape, pairs ? 2 : 1, longest.rows > 2 ? longest.rows : 2);
    item->extent[AT_KV_LEN] = rng_between(&shape, longest.least_keys, longest.keys);
    item->extent[AT_HEAD_DIM] = item->extent[EX_TILED] ? tiled_head_dim(&shape, large, item->extent[EX_TILED])
                                                       : rng_between(&shape, 1, at_most(128, longest.keys));
    const int causal = pairs || index % CAUSAL_EVERY == CAUSAL_EVERY - 1;
    if (!causal)
        sweep_keys(item, index - index / CAUSAL_EVERY,
                   rng_between(&shape, 0, longest.keys / CASE_TABLE_REMAINDERS));
    for (int i = 0; i <= AT_HEAD_DIM; i++) item->value[i] = item->extent[i];
    item->value[AT_CAUSAL] = causal;
    vary_options(item, &shape);
    /* m rises by about as much as a kernel may let it fall behind before it rescales */
    if (longest.least_keys > 2) item->real[AT_SCALE] = 0.25;
    if (!pairs) vary_distribution(item, &shape);
    if (pairs && index % 2 == 1) item->distribution = DIST_OTHER_TAIL;
}
