/**
 * @file 21_mixture_of_experts.c
 * @brief Lesson 21: routing, pairs by expert, products of rows by expert, and a whole layer of experts.
 */
#include <limits.h>
#include <math.h>
#include <stdio.h>

#include "checker/cases/case_table.h"
#include "checker/cases/experts_cases.h"

enum distribution {
    NORMAL,
    /* of logits */
    TIES,     /* three values only */
    EQUAL,    /* all the same */
    FAR,      /* hundreds apart: softmax is 0 for all but the largest */
    LARGE,    /* thousands */
    WITH_NAN, /* some logits; or some rows of a, or one expert's weights */
    INFINITE, /* some are infinite, in every way */
    /* of pairs and rows */
    ALL_FIRST, /* all to expert 0 */
    ALL_LAST,  /* all to the last one */
    SKEWED,    /* half of them to one expert, many experts have none */
    NOBODY,    /* some pairs are of no expert */
    FALLING,   /* the last expert comes first */
    /* of matrices */
    GATES_LOW,   /* gates far below 0, where exp(-gate) is infinite in float */
    GATES_HIGH,  /* gates far above 0, where exp(gate) is */
    GATES_EXACT, /* gates below 0 that are one product each, so that only silu rounds, and large numbers that it is multiplied with */
    TINY,        /* results are among the subnormal numbers of f16 */
    POSITIVE,    /* logits that are equal, and nothing below 0: the sum of a token's choices only grows */
    INFINITE_A,  /* every place along k is infinite in some row, with finite rows between */
    INFINITE_W,  /* the same of each expert's weights */
    IN_ORDER,    /* experts return powers of two, and which of them a sum in f32 loses its order decides */
    DISTRIBUTIONS
};

enum { F16 = 1, BF16 = 2 };
enum row_flags { SWIGLU = 1, KEEP = 2 /* weights are not renormalised */, GPU = 4, FEW_SMS = 8 };
enum { RANDOM = 1, REVERSED, CHOICES };

/** One case. */
struct table_row {
    const char *name;
    enum case_group group;
    int part, rows, experts, top_k, k, n, dtype;
    unsigned flags;
    enum distribution distribution;
    int spare; /* rows that no expert has */
    int repeat, property;
};

static const struct table_row TABLE[] = {
/* clang-format off */
#define R EXPERTS_ROUTE
#define G EXPERTS_GROUP
#define P EXPERTS_PRODUCT
#define L EXPERTS_LAYER
    /* name                        group            part rows  exp top_k k    n   dtype flags            data       spare items */
    {"route/one_of_8",             GROUP_BASIC,      R,    5,   8, 1,    0,   0,  0,    0,               NORMAL,     0, 1, 0},
    {"route/two_of_8",             GROUP_BASIC,      R,   13,   8, 2,    0,   0,  0,    0,               NORMAL,     0, 1, 0},
    {"route/eight_of_128",         GROUP_BASIC,      R,   33, 128, 8,    0,   0,  0,    0,               NORMAL,     0, 1, 0},
    {"route/kept_weights",         GROUP_BASIC,      R,   33,  64, 4,    0,   0,  0,    KEEP,            NORMAL,     0, 1, 0},
    {"route/one_token",            GROUP_EDGES,      R,    1, 128, 8,    0,   0,  0,    0,               NORMAL,     0, 1, 0},
    {"route/one_expert",           GROUP_EDGES,      R,    7,   1, 1,    0,   0,  0,    0,               NORMAL,     0, 1, 0},
    {"route/all_of_31",            GROUP_EDGES,      R,    9,  31, 31,   0,   0,  0,    0,               NORMAL,     0, 1, 0},
    {"route/all_of_32",            GROUP_EDGES,      R,    9,  32, 32,   0,   0,  0,    KEEP,            NORMAL,     0, 1, 0},
    {"route/experts_33",           GROUP_EDGES,      R,    9,  33, 32,   0,   0,  0,    0,               NORMAL,     0, 1, 0},
    {"route/experts_63",           GROUP_EDGES,      R,    9,  63, 3,    0,   0,  0,    0,               NORMAL,     0, 1, 0},
    {"route/experts_65",           GROUP_EDGES,      R,    9,  65, 3,    0,   0,  0,    0,               NORMAL,     0, 1, 0},
    {"route/experts_127",          GROUP_EDGES,      R,    9, 127, 7,    0,   0,  0,    0,               NORMAL,     0, 1, 0},
    {"route/experts_129",          GROUP_EDGES,      R,    9, 129, 7,    0,   0,  0,    0,               NORMAL,     0, 1, 0},
    {"route/experts_256",          GROUP_EDGES,      R,   21, 256, 8,    0,   0,  0,    0,               NORMAL,     0, 1, 0},
    {"route/tokens_70001",         GROUP_EDGES,      R,70001,   4, 1,    0,   0,  0,    GPU,             NORMAL,     0, 1, 0},
    {"route/ties",                 GROUP_NUMERICS,   R,   40, 128, 8,    0,   0,  0,    0,               TIES,       0, 1, 0},
    {"route/equal",                GROUP_NUMERICS,   R,    6,  96, 8,    0,   0,  0,    0,               EQUAL,      0, 1, 0},
    {"route/far_apart",            GROUP_NUMERICS,   R,   20, 128, 8,    0,   0,  0,    0,               FAR,        0, 1, 0},
    {"route/large",                GROUP_NUMERICS,   R,   20, 128, 8,    0,   0,  0,    KEEP,            LARGE,      0, 1, 0},
    {"route/nan",                  GROUP_NUMERICS,   R,   24,  40, 8,    0,   0,  0,    0,               WITH_NAN,   0, 1, 0},
    {"route/nan_kept",             GROUP_NUMERICS,   R,   24,  40, 8,    0,   0,  0,    KEEP,            WITH_NAN,   0, 1, 0},
    {"route/infinite",             GROUP_NUMERICS,   R,   24,  40, 8,    0,   0,  0,    0,               INFINITE,   0, 1, 0},
    {"route/property_random",      GROUP_PROPERTIES, R,    1,   1, 1,    0,   0,  0,    0,               NORMAL,     0, 100, RANDOM},
    {"route/sound_arguments",      GROUP_BAD_INPUT,  R,    6,  12, 3,    0,   0,  0,    0,               NORMAL,     0, 1, 0},
    {"route/speed_256",            GROUP_SPEED,      R,  256, 128, 8,    0,   0,  0,    0,               NORMAL,     0, 1, 0},
    {"route/speed_65536",          GROUP_SPEED,      R,65536, 128, 8,    0,   0,  0,    GPU,             NORMAL,     0, 1, 0},

    {"group/pairs_10",             GROUP_BASIC,      G,   10,   4, 0,    0,   0,  0,    0,               NORMAL,     0, 1, 0},
    {"group/pairs_100",            GROUP_BASIC,      G,  100,   8, 0,    0,   0,  0,    0,               NORMAL,     0, 1, 0},
    {"group/pairs_1000",           GROUP_BASIC,      G, 1000,  16, 0,    0,   0,  0,    0,               NORMAL,     0, 1, 0},
    {"group/one_pair",             GROUP_EDGES,      G,    1,   5, 0,    0,   0,  0,    0,               NORMAL,     0, 1, 0},
    {"group/one_expert",           GROUP_EDGES,      G,   70,   1, 0,    0,   0,  0,    0,               NORMAL,     0, 1, 0},
    {"group/pairs_31",             GROUP_EDGES,      G,   31,   7, 0,    0,   0,  0,    0,               NORMAL,     0, 1, 0},
    {"group/pairs_32",             GROUP_EDGES,      G,   32,   7, 0,    0,   0,  0,    0,               NORMAL,     0, 1, 0},
    {"group/pairs_33",             GROUP_EDGES,      G,   33,   7, 0,    0,   0,  0,    0,               NORMAL,     0, 1, 0},
    {"group/pairs_1023",           GROUP_EDGES,      G, 1023,   7, 0,    0,   0,  0,    0,               NORMAL,     0, 1, 0},
    {"group/pairs_1025",           GROUP_EDGES,      G, 1025,   7, 0,    0,   0,  0,    0,               NORMAL,     0, 1, 0},
    {"group/pairs_4099",           GROUP_EDGES,      G, 4099,   9, 0,    0,   0,  0,    0,               NORMAL,     0, 1, 0},
    {"group/experts_256",          GROUP_EDGES,      G,  600, 256, 0,    0,   0,  0,    0,               NORMAL,     0, 1, 0},
    {"group/all_to_first",         GROUP_EDGES,      G,  200,  12, 0,    0,   0,  0,    0,               ALL_FIRST,  0, 1, 0},
    {"group/all_to_last",          GROUP_EDGES,      G,  200,  12, 0,    0,   0,  0,    0,               ALL_LAST,   0, 1, 0},
    {"group/skewed",               GROUP_EDGES,      G, 2100,  20, 0,    0,   0,  0,    0,               SKEWED,     0, 1, 0},
    {"group/falling",              GROUP_EDGES,      G,  300,  20, 0,    0,   0,  0,    0,               FALLING,    0, 1, 0},
    {"group/nobody",               GROUP_EDGES,      G, 1100,   6, 0,    0,   0,  0,    0,               NOBODY,     0, 1, 0},
    {"group/pairs_16800001",       GROUP_EDGES,      G,16800001, 3, 0,   0,   0,  0,    GPU,             NORMAL,     0, 1, 0},
    {"group/property_random",      GROUP_PROPERTIES, G,    1,   1, 0,    0,   0,  0,    0,               NORMAL,     0, 100, RANDOM},
    {"group/sound_arguments",      GROUP_BAD_INPUT,  G,   20,   4, 0,    0,   0,  0,    0,               NORMAL,     0, 1, 0},
    {"group/speed_2048",           GROUP_SPEED,      G, 2048,  32, 0,    0,   0,  0,    0,               FALLING,    0, 1, 0},
    {"group/speed_32768",          GROUP_SPEED,      G,32768, 128, 0,    0,   0,  0,    GPU,             NORMAL,     0, 1, 0},

    {"product/few",                GROUP_BASIC,      P,    8,   2, 0,   64,  32,  F16,  0,               FALLING,    0, 1, 0},
    {"product/few_swiglu",         GROUP_BASIC,      P,    9,   3, 0,   64,  32,  F16,  SWIGLU,          NORMAL,     0, 1, 0},
    {"product/many",               GROUP_BASIC,      P,  150,   2, 0,   64, 256,  F16,  0,               NORMAL,     0, 1, 0},
    {"product/many_swiglu",        GROUP_BASIC,      P,  150,   2, 0,   64, 128,  BF16, SWIGLU,          NORMAL,     0, 1, 0},
    {"product/one_row",            GROUP_EDGES,      P,    1,   1, 0,    8,   8,  BF16, 0,               NORMAL,     0, 1, 0},
    {"product/few_one_of_each",    GROUP_EDGES,      P,   40,  40, 0,   24,  40,  F16,  0,               FALLING,    0, 1, 0},
    {"product/few_uneven",         GROUP_EDGES,      P,   60,  37, 0,  264,  24,  BF16, 0,               SKEWED,     0, 1, 0},
    {"product/few_uneven_swiglu",  GROUP_EDGES,      P,   60,  37, 0,  264,  24,  F16,  SWIGLU,          SKEWED,     0, 1, 0},
    {"product/few_n_8",            GROUP_EDGES,      P,   13,   5, 0,   40,   8,  F16,  0,               NORMAL,     0, 1, 0},
    {"product/few_n_8_swiglu",     GROUP_EDGES,      P,   13,   5, 0,   40,   8,  BF16, SWIGLU,          NORMAL,     0, 1, 0},
    {"product/few_k_520",          GROUP_EDGES,      P,   13,   5, 0,  520,  48,  F16,  0,               NORMAL,     0, 1, 0},
    {"product/few_all_in_one",     GROUP_EDGES,      P,   33,   9, 0,   72,  16,  F16,  0,               ALL_LAST,   0, 1, 0},
    {"product/few_spare",          GROUP_EDGES,      P,   21,   6, 0,   72,  16,  F16,  0,               NORMAL,     5, 1, 0},
    {"product/few_experts_256",    GROUP_EDGES,      P,  100, 256, 0,   16,   8,  F16,  0,               SKEWED,     0, 1, 0},
    {"product/many_rows_9",        GROUP_EDGES,      P,    9,   1, 0,    8,   8,  F16,  0,               NORMAL,     0, 1, 0},
    {"product/many_uneven",        GROUP_EDGES,      P,  300,   5, 0,   72, 264,  BF16, 0,               SKEWED,     0, 1, 0},
    {"product/many_uneven_swiglu", GROUP_EDGES,      P,  300,   5, 0,   72, 136,  F16,  SWIGLU,          SKEWED,     0, 1, 0},
    {"product/many_rows_64",       GROUP_EDGES,      P,   64,   1, 0,   64,  64,  F16,  0,               NORMAL,     0, 1, 0},
    {"product/many_rows_65",       GROUP_EDGES,      P,   65,   1, 0,   64,  64,  F16,  SWIGLU,          NORMAL,     0, 1, 0},
    {"product/many_rows_127",      GROUP_EDGES,      P,  127,   1, 0,   64,   8,  BF16, 0,               NORMAL,     0, 1, 0},
    {"product/many_rows_128",      GROUP_EDGES,      P,  128,   1, 0,   64,   8,  F16,  0,               NORMAL,     0, 1, 0},
    {"product/many_rows_129",      GROUP_EDGES,      P,  129,   1, 0,   64,   8,  F16,  SWIGLU,          NORMAL,     0, 1, 0},
    {"product/many_k_328",         GROUP_EDGES,      P,   40,   2, 0,  328,  16,  F16,  0,               NORMAL,     0, 1, 0},
    {"product/many_all_in_one",    GROUP_EDGES,      P,  200,   6, 0,   32,  16,  F16,  0,               ALL_LAST,   0, 1, 0},
    {"product/many_spare",         GROUP_EDGES,      P,  200,   6, 0,   32,  16,  F16,  SWIGLU,          NORMAL,    37, 1, 0},
    {"product/many_falling",       GROUP_EDGES,      P,  330,  40, 0,   16,   8,  F16,  0,               FALLING,    0, 1, 0},
    {"product/many_tiles",         GROUP_EDGES,      P,  700,   3, 0,   72, 520,  F16,  FEW_SMS,         SKEWED,     0, 1, 0},
    {"product/many_tiles_swiglu",  GROUP_EDGES,      P,  700,   3, 0,   72, 264,  BF16, FEW_SMS | SWIGLU, SKEWED,    0, 1, 0},
    {"product/rows_70001",         GROUP_EDGES,      P,70001,   3, 0,    8,   8,  F16,  GPU,             NORMAL,     0, 1, 0},
    {"product/many_nan",           GROUP_NUMERICS,   P,  200,   3, 0,   64,  40,  F16,  0,               WITH_NAN,   0, 1, 0},
    {"product/many_nan_swiglu",    GROUP_NUMERICS,   P,  200,   3, 0,   64,  40,  BF16, SWIGLU,          WITH_NAN,   0, 1, 0},
    {"product/few_nan",            GROUP_NUMERICS,   P,   24,   6, 0,   64,  40,  F16,  0,               WITH_NAN,   0, 1, 0},
    {"product/few_nan_swiglu",     GROUP_NUMERICS,   P,   24,   6, 0,   64,  40,  F16,  SWIGLU,          WITH_NAN,   0, 1, 0},
    {"product/many_infinite_a",    GROUP_NUMERICS,   P,  170,   2, 0,   40,  24,  F16,  0,               INFINITE_A, 0, 1, 0},
    {"product/many_infinite_w",    GROUP_NUMERICS,   P,  100,   2, 0,   40,  80,  BF16, 0,               INFINITE_W, 0, 1, 0},
    {"product/few_infinite_a",     GROUP_NUMERICS,   P,   80,  20, 0,   40,  24,  BF16, 0,               INFINITE_A, 0, 1, 0},
    {"product/few_infinite_w",     GROUP_NUMERICS,   P,   12,   3, 0,   40,  80,  F16,  0,               INFINITE_W, 0, 1, 0},
    {"product/few_gates_low",      GROUP_NUMERICS,   P,   16,   4, 0,   64,  40,  BF16, SWIGLU,          GATES_LOW,  0, 1, 0},
    {"product/few_gates_high",     GROUP_NUMERICS,   P,   16,   4, 0,   64,  40,  F16,  SWIGLU,          GATES_HIGH, 0, 1, 0},
    {"product/many_gates_low",     GROUP_NUMERICS,   P,   60,   4, 0,   64,  40,  BF16, SWIGLU,          GATES_LOW,  0, 1, 0},
    {"product/many_gates_high",    GROUP_NUMERICS,   P,   60,   4, 0,   64,  40,  F16,  SWIGLU,          GATES_HIGH, 0, 1, 0},
    {"product/few_gates_exact",    GROUP_NUMERICS,   P,   16,   4, 0,   64,  40,  F16,  SWIGLU,          GATES_EXACT, 0, 1, 0},
    {"product/many_gates_exact",   GROUP_NUMERICS,   P,   60,   4, 0,   64,  40,  F16,  SWIGLU,          GATES_EXACT, 0, 1, 0},
    {"product/tiny_few",           GROUP_NUMERICS,   P,   16,   4, 0,   64,  40,  F16,  0,               TINY,       0, 1, 0},
    {"product/tiny_many",          GROUP_NUMERICS,   P,   60,   4, 0,   64,  40,  F16,  0,               TINY,       0, 1, 0},
    {"product/property_random",    GROUP_PROPERTIES, P,    1,   1, 0,    8,   8,  F16,  0,               NORMAL,     0, 100, RANDOM},
    {"product/sound_arguments",    GROUP_BAD_INPUT,  P,   12,   3, 0,   32,  16,  F16,  0,               NORMAL,     0, 1, 0},
    {"product/speed_few",          GROUP_SPEED,      P,   32,   8, 0,  512,  64,  F16,  SWIGLU,          FALLING,    0, 1, 0},
    {"product/speed_many",         GROUP_SPEED,      P,  512,   2, 0,  256, 256,  F16,  0,               FALLING,    0, 1, 0},
    {"product/speed_rows_4096",    GROUP_SPEED,      P, 4096,  16, 0, 2048, 768,  BF16, GPU | SWIGLU,    NORMAL,     0, 1, 0},

    {"layer/few",                  GROUP_BASIC,      L,    4,   8, 2,   64,  32,  F16,  0,               NORMAL,     0, 1, 0},
    {"layer/many",                 GROUP_BASIC,      L,   48,   4, 2,   64,  32,  BF16, 0,               NORMAL,     0, 1, 0},
    {"layer/kept_weights",         GROUP_BASIC,      L,    9,   6, 3,   40,  24,  F16,  KEEP,            NORMAL,     0, 1, 0},
    {"layer/one_token",            GROUP_EDGES,      L,    1,   1, 1,    8,   8,  F16,  0,               NORMAL,     0, 1, 0},
    {"layer/all_experts",          GROUP_EDGES,      L,   14,   5, 5,   72,  16,  BF16, 0,               NORMAL,     0, 1, 0},
    {"layer/hidden_2056",          GROUP_EDGES,      L,    5,   4, 2, 2056,   8,  F16,  0,               NORMAL,     0, 1, 0},
    {"layer/tokens_129",           GROUP_EDGES,      L,  129,   3, 1,   24,  40,  F16,  0,               NORMAL,     0, 1, 0},
    {"layer/tokens_70001",         GROUP_EDGES,      L,70001,   4, 1,    8,   8,  F16,  GPU,             NORMAL,     0, 1, 0},
    {"layer/ties",                 GROUP_NUMERICS,   L,   20,  12, 4,   40,  24,  F16,  0,               TIES,       0, 1, 0},
    {"layer/all_to_one_choice",    GROUP_NUMERICS,   L,   50,   6, 1,   40,  24,  F16,  0,               EQUAL,      0, 1, 0},
    {"layer/nan",                  GROUP_NUMERICS,   L,   24,  12, 4,   40,  24,  BF16, 0,               WITH_NAN,   0, 1, 0},
    {"layer/weights_of_0",         GROUP_NUMERICS,   L,   24,  12, 4,   40,  24,  F16,  0,               FAR,        0, 1, 0},
    {"layer/choices_add_up",       GROUP_NUMERICS,   L,    8,  32, 32,  40,  24,  F16,  0,               POSITIVE,   0, 1, 0},
    {"layer/large",                GROUP_NUMERICS,   L,   24,  12, 4,   40,  24,  BF16, KEEP,            LARGE,      0, 1, 0},
    {"layer/property_random",      GROUP_PROPERTIES, L,    1,   1, 1,    8,   8,  F16,  0,               NORMAL,     0, 100, RANDOM},
    {"layer/property_any_order",   GROUP_PROPERTIES, L,   10,   4, 2,   40,  24,  F16,  0,               NORMAL,     0, 20, REVERSED},
    {"layer/property_choices",     GROUP_PROPERTIES, L,    9,  12, 2,   40,  24,  F16,  0,               IN_ORDER,   0, 14, CHOICES},
    {"layer/sound_arguments",      GROUP_BAD_INPUT,  L,    6,   4, 2,   32,  16,  F16,  0,               NORMAL,     0, 1, 0},
    {"layer/speed_decode",         GROUP_SPEED,      L,    2,  16, 4,  256,  64,  F16,  0,               NORMAL,     0, 1, 0},
    {"layer/speed_tokens_64",      GROUP_SPEED,      L,   64,  32, 8, 2048, 768,  BF16, GPU,             NORMAL,     0, 1, 0},
    {"layer/speed_tokens_1024",    GROUP_SPEED,      L, 1024,  32, 8, 2048, 768,  BF16, GPU,             NORMAL,     0, 1, 0},
#undef R
#undef G
#undef P
#undef L
    /* clang-format on */
};

/* Extents are what buffers are made for, values what the kernel is told. */
static void settle(struct lesson_case *item)
{
    for (int at = EXPERTS_ROWS; at <= EXPERTS_RENORMALISE; at++) item->value[at] = item->extent[at];
}

static void start_case(struct lesson_case *item, const struct table_row *row)
{
    *item = (struct lesson_case){.group = row->group,
                                 .part = row->part,
                                 .weight = 1,
                                 .devices = row->flags & GPU ? ON_GPU : ON_ANY,
                                 .extent = {[EXPERTS_ROWS] = row->rows,
                                            [EXPERTS_COUNT] = row->experts,
                                            [EXPERTS_TOP_K] = row->top_k,
                                            [EXPERTS_K] = row->k,
                                            [EXPERTS_N] = row->n,
                                            [EXPERTS_DTYPE] = row->dtype,
                                            [EXPERTS_SWIGLU] = (row->flags & SWIGLU) != 0,
                                            [EXPERTS_RENORMALISE] = !(row->flags & KEEP),
                                            [EXPERTS_SPARE] = row->spare},
                                 .distribution = row->distribution,
                                 .null_buffer = -1,
                                 .misaligned_buffer = -1,
                                 .repeat = row->repeat,
                                 .property = row->property};
    settle(item);
    snprintf(item->name, sizeof item->name, "%s", row->name);
    if (row->flags & FEW_SMS) item->flags |= CASE_SMALL_DEVICE;
    if (row->distribution == NORMAL) item->flags |= CASE_UNIT_SCALE;
}

/** Extents that must be refused, each a value of a sound case. */
static const struct bad_argument BAD[] = {
    {"experts_257_too_large", 0xf, KERNEL_INVALID_DIMENSION, BAD_VALUE(EXPERTS_COUNT, 257)},
    {"top_k_above_experts", 1 << EXPERTS_ROUTE | 1 << EXPERTS_LAYER, KERNEL_INVALID_DIMENSION,
     BAD_VALUE(EXPERTS_TOP_K, 13)},
    {"tokens_2147483647", 1 << EXPERTS_ROUTE | 1 << EXPERTS_LAYER, KERNEL_INVALID_DIMENSION,
     BAD_VALUE(EXPERTS_ROWS, 2147483647)},
    {"n_20", 1 << EXPERTS_PRODUCT | 1 << EXPERTS_LAYER, KERNEL_INVALID_DIMENSION, BAD_VALUE(EXPERTS_N, 20)},
    {"k_36", 1 << EXPERTS_PRODUCT | 1 << EXPERTS_LAYER, KERNEL_INVALID_DIMENSION, BAD_VALUE(EXPERTS_K, 36)},
    {"n_2147483640_too_large", 1 << EXPERTS_PRODUCT | 1 << EXPERTS_LAYER, KERNEL_INVALID_DIMENSION,
     BAD_VALUE(EXPERTS_N, 2147483640)},
    {"dtype_f32", 1 << EXPERTS_PRODUCT | 1 << EXPERTS_LAYER, KERNEL_UNSUPPORTED_DTYPE,
     BAD_VALUE(EXPERTS_DTYPE, 0)},
};

static int cases(struct lesson_case *cases, int capacity)
{
    static const char *const parts[] = {"route", "group", "product", "layer"};
    int count = 0;
    for (size_t i = 0; i < sizeof TABLE / sizeof TABLE[0] && count < capacity; i++)
        start_case(&cases[count++], &TABLE[i]);
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++)
        for (int part = 0; part < 4; part++) {
            if (!(BAD[i].of >> part & 1)) continue;
            struct lesson_case *item =
                case_table_copy(cases, &count, capacity, parts[part], "sound_arguments", BAD[i].name);
            if (item != NULL) case_table_spoil(item, &BAD[i], EXPERTS_DTYPE);
        }
    return count;
}

/* ---- inputs ------------------------------------------------------------------------------------------------ */

static size_t workspace_elems(const struct lesson_case *item)
{
    const size_t pairs = experts_extent(item, EXPERTS_ROWS) * experts_extent(item, EXPERTS_TOP_K);
    return pairs * (experts_extent(item, EXPERTS_K) + experts_extent(item, EXPERTS_N)) + 4 * pairs + 2048;
}

static int layer_buffers(const struct lesson_case *item, struct lesson_buffer *buffers)
{
    const enum storage storage = experts_storage(item);
    const size_t tokens = experts_extent(item, EXPERTS_ROWS), experts = experts_extent(item, EXPERTS_COUNT),
                 hidden = experts_extent(item, EXPERTS_K), inner = experts_extent(item, EXPERTS_N);
    buffers[LAYER_X] = LESSON_BUFFER("x", WIRE_IN, storage, tokens, hidden);
    buffers[LAYER_LOGITS] = LESSON_BUFFER("logits", WIRE_IN, STORAGE_F32, tokens, experts);
    buffers[LAYER_GATE_UP] = LESSON_BUFFER("gate_up", WIRE_IN, storage, experts * 2 * inner, hidden);
    buffers[LAYER_DOWN] = LESSON_BUFFER("down", WIRE_IN, storage, experts * hidden, inner);
    buffers[LAYER_OUT] = LESSON_BUFFER("out", WIRE_OUT, storage, tokens, hidden);
    buffers[LAYER_WORKSPACE] = LESSON_BUFFER("workspace", WIRE_WORKSPACE, STORAGE_F32, workspace_elems(item));
    buffers[LAYER_X].align = buffers[LAYER_GATE_UP].align = buffers[LAYER_DOWN].align =
        buffers[LAYER_OUT].align = 16;
    return LAYER_BUFFERS;
}

static int buffers(const struct lesson_case *item, struct lesson_buffer *buffers)
{
    const enum storage storage = experts_storage(item);
    const size_t rows = experts_extent(item, EXPERTS_ROWS), experts = experts_extent(item, EXPERTS_COUNT),
                 n = experts_extent(item, EXPERTS_N), k = experts_extent(item, EXPERTS_K);
    if (item->part == EXPERTS_LAYER) return layer_buffers(item, buffers);
    if (item->part == EXPERTS_ROUTE) {
        const size_t top_k = experts_extent(item, EXPERTS_TOP_K);
        buffers[ROUTE_LOGITS] = LESSON_BUFFER("logits", WIRE_IN, STORAGE_F32, rows, experts);
        buffers[ROUTE_CHOSEN] = LESSON_BUFFER("chosen", WIRE_OUT, STORAGE_I32, rows, top_k);
        buffers[ROUTE_WEIGHTS] = LESSON_BUFFER("weights", WIRE_OUT, STORAGE_F32, rows, top_k);
        return ROUTE_BUFFERS;
    }
    if (item->part == EXPERTS_GROUP) {
        buffers[GROUP_CHOSEN] = LESSON_BUFFER("chosen", WIRE_IN, STORAGE_I32, rows);
        buffers[GROUP_OFFSETS] = LESSON_BUFFER("offsets", WIRE_OUT, STORAGE_I32, experts + 1);
        buffers[GROUP_ROW_OF] = LESSON_BUFFER("row_of", WIRE_OUT, STORAGE_I32, rows);
        return GROUP_BUFFERS;
    }
    buffers[PRODUCT_A] = LESSON_BUFFER("a", WIRE_IN, storage, rows, k);
    buffers[PRODUCT_W] = LESSON_BUFFER("w", WIRE_IN, storage, experts * experts_lines(item), k);
    buffers[PRODUCT_OFFSETS] = LESSON_BUFFER("offsets", WIRE_IN, STORAGE_I32, experts + 1);
    buffers[PRODUCT_C] =
        LESSON_BUFFER("c", item->extent[EXPERTS_SPARE] > 0 ? WIRE_INOUT : WIRE_OUT, storage, rows, n);
    buffers[PRODUCT_A].align = buffers[PRODUCT_W].align = buffers[PRODUCT_C].align = 16;
    return PRODUCT_BUFFERS;
}

/* Whether element @p i is infinite where one is at every place of a row in turn, in every other row. */
static int is_infinite(size_t i, size_t columns)
{
    const size_t line = i / columns;
    return line % 2 == 0 && i % columns == line / 2 % columns;
}

/* Whether an expert returns what is lost beside the others' numbers. */
static int is_faint(size_t expert)
{
    return expert % 3 == 2;
}

/* Gates are 64, where silu is, too; the first column of an expert's inner row is 64 then, the second 2^-6, the others are 0. Of these
 * down makes 2^15 or 2^-12 of either sign, or 0: no sum has a second term. */
static float in_order(const struct lesson_case *item, int index, size_t i, float random)
{
    const size_t k = experts_extent(item, EXPERTS_K), n = experts_extent(item, EXPERTS_N);
    const float sign = random < -0.4f ? -1.0f : random > 0.4f ? 1.0f : 0.0f;
    if (index == LAYER_X) return i % k == 0 ? 1.0f : i % k == 1 ? (i / k % 2 == 0 ? 1.0f : -1.0f) : 0.0f;
    if (index == LAYER_GATE_UP) {
        const size_t line = i / k % (2 * n);
        if (line < n) return i % k == 0 ? 64.0f : 0.0f;
        return i % k != 1 || line > n + 1 ? 0.0f : line == n ? 1.0f : 0x1p-12f;
    }
    return i % n != (size_t)is_faint(i / (n * k)) ? 0.0f : sign * (i % n == 0 ? 0x1p9f : 0x1p-6f);
}

static void fill_logits(const struct lesson_case *item, size_t elems, struct rng *rng, float *data)
{
    static const float values[] = {INFINITY, -INFINITY, NAN}, faint[] = {0.75f, 1.25f, 0.25f};
    const size_t experts = experts_extent(item, EXPERTS_COUNT);
    for (size_t i = 0; i < elems; i++) {
        const size_t token = i / experts, e = i % experts;
        int tie;
        switch (item->distribution) {
        case TIES: /* 0 has two signs */
            tie = rng_between(rng, -1, token % 2 == 0);
            data[i] = tie != 0 ? (float)tie : copysignf(0.0f, data[i]);
            break;
        case EQUAL:
        case POSITIVE:
            data[i] = 0.75f;
            break;
        case FAR:
            data[i] = -300.0f * (float)((e * 37 + token) % experts);
            break;
        case IN_ORDER: /* the first top_k of an order of the token's own are chosen; weights of the others are 0 */
            data[i] = (e * 5 + token * 3) % experts >= experts_extent(item, EXPERTS_TOP_K) ? -1000.0f
                      : is_faint(e)                                                        ? faint[token % 3]
                                                                                           : 0.75f;
            break;
        case LARGE: /* of every other token close to each other and far from 0 */
            data[i] = token % 2 == 0 ? 3000.0f * data[i] : (token % 4 == 1 ? 0x1p17f : -0x1p17f) + data[i];
            break;
        case WITH_NAN: /* of every third token; of every ninth nothing else is there; of others few are finite */
            if (token % 3 == 1 && (e % 5 == token % 5 || token % 9 == 4)) data[i] = NAN;
            if (token % 3 == 2 && e % 16 != token % 16) data[i] = (e + token) % 3 > 0 ? -INFINITY : NAN;
            break;
        case INFINITE: /* of some tokens all are -infinity, of some all but two */
            if (token % 4 == 1 && e % 11 == token % 11) data[i] = values[token / 4 % 3];
            if (token % 4 == 2) data[i] = -INFINITY;
            if (token % 8 == 6 && e % 16 == 5) data[i] = 1.0f;
            break;
        default:
            break;
        }
    }
}

/* The expert of a pair, or of the next row. */
static int any_expert(const struct lesson_case *item, size_t at, struct rng *rng)
{
    const int experts = item->extent[EXPERTS_COUNT];
    /* some are an expert's where only their last 8, 16 or 31 bits are looked at */
    static const int none[] = {-1, -2000000000, 2000000000, 1 << 8, 1 << 16, -7, INT_MIN, -(1 << 16)};
    enum { NONE = sizeof none / sizeof none[0] };
    switch (item->distribution) {
    case ALL_FIRST:
        return 0;
    case ALL_LAST:
        return experts - 1;
    case SKEWED: /* every third expert has none */
        if (rng_between(rng, 0, 1)) return experts / 2 - (experts / 2 % 3 == 2);
        return rng_between(rng, 0, (experts - 1) / 3) * 3;
    case FALLING:
        return experts - 1 - (int)(at % (size_t)experts);
    case NOBODY:
        if (at % 3 == 0) return at % 15 == 0 ? experts : none[at / 3 % NONE];
        return rng_between(rng, 0, experts - 1);
    default:
        return rng_between(rng, 0, experts - 1);
    }
}

static void fill_offsets(const struct lesson_case *item, struct rng *rng, float *data)
{
    const int experts = item->extent[EXPERTS_COUNT];
    const int rows = item->extent[EXPERTS_ROWS] - item->extent[EXPERTS_SPARE];
    int of[257] = {0};
    for (int i = 0; i < rows; i++) of[any_expert(item, (size_t)i, rng) % experts]++;
    data[0] = 0.0f;
    for (int e = 0; e < experts; e++) data[e + 1] = data[e] + (float)of[e];
}

/* Whether one expert's weights are not all numbers. A layer whose logits are far apart has it among those that weigh 0. */
static int is_nan_of_expert_1(const struct lesson_case *item)
{
    return item->part == EXPERTS_PRODUCT ? item->distribution == WITH_NAN
                                         : item->part == EXPERTS_LAYER && item->distribution == FAR;
}

/* Weights [lines, columns] of which @p gates of every @p of lines are gates. */
static void fill_weights(const struct lesson_case *item, size_t elems, size_t columns, size_t of, float *data)
{
    const float scale = 1.0f / sqrtf((float)columns);
    for (size_t i = 0; i < elems; i++) {
        const size_t line = i / columns;
        const int gate = line % of < of / 2;
        data[i] *= scale;
        if (item->distribution == GATES_LOW && gate) data[i] = -fabsf(data[i]) * 40.0f;
        if (item->distribution == GATES_HIGH && gate) data[i] = fabsf(data[i]) * 40.0f;
        if (item->distribution == GATES_EXACT)
            data[i] = i % columns > 0 ? 0.0f : gate ? -fabsf(data[i]) * 160.0f : data[i] * 8000.0f;
        if (item->distribution == TINY) data[i] *= 0x1p-13f;
        if (item->distribution == POSITIVE) data[i] = fabsf(data[i]);
        if (item->distribution == INFINITE_W && is_infinite(i, columns)) data[i] = INFINITY;
        if (is_nan_of_expert_1(item) && line / of == 1 && i % 97 == 5) data[i] = NAN;
    }
}

static void fill_rows(const struct lesson_case *item, size_t elems, size_t columns, float *data)
{
    for (size_t i = 0; i < elems; i++) {
        if (item->distribution == GATES_LOW || item->distribution == GATES_HIGH ||
            item->distribution == GATES_EXACT || item->distribution == POSITIVE)
            data[i] = fabsf(data[i]);
        if (item->distribution == INFINITE_A && is_infinite(i, columns)) data[i] = INFINITY;
        if (item->distribution == WITH_NAN && item->part == EXPERTS_PRODUCT && i / columns % 7 == 3 &&
            i % columns == i / columns % columns)
            data[i] = NAN;
    }
}

/* The same tokens in another order: the second item of a pair has them from the last to the first. */
static void reverse_rows(size_t elems, size_t columns, float *data)
{
    const size_t rows = elems / columns;
    for (size_t i = 0; i < rows / 2; i++)
        for (size_t j = 0; j < columns; j++) {
            const float kept = data[i * columns + j];
            data[i * columns + j] = data[(rows - 1 - i) * columns + j];
            data[(rows - 1 - i) * columns + j] = kept;
        }
}

static void fill(const struct lesson_case *item, int index, size_t elems, struct rng *rng, float *data)
{
    const size_t k = experts_extent(item, EXPERTS_K), n = experts_extent(item, EXPERTS_N);
    if (item->part == EXPERTS_GROUP) {
        for (size_t i = 0; i < elems; i++) data[i] = (float)any_expert(item, i, rng);
        return;
    }
    if (item->part == EXPERTS_PRODUCT && index == PRODUCT_OFFSETS) {
        fill_offsets(item, rng, data);
        return;
    }
    rng_fill_normal(rng, data, elems);
    if (item->part == EXPERTS_ROUTE || (item->part == EXPERTS_LAYER && index == LAYER_LOGITS)) {
        fill_logits(item, elems, rng, data);
        if (item->value[EXPERTS_SPARE] == REVERSED)
            reverse_rows(elems, experts_extent(item, EXPERTS_COUNT), data);
        return;
    }
    if (item->distribution == IN_ORDER) {
        for (size_t i = 0; i < elems; i++) data[i] = in_order(item, index, i, data[i]);
        return;
    }
    if (index == (item->part == EXPERTS_LAYER ? LAYER_X : PRODUCT_A)) fill_rows(item, elems, k, data);
    if (item->part == EXPERTS_LAYER && index == LAYER_X && item->value[EXPERTS_SPARE] == REVERSED)
        reverse_rows(elems, k, data);
    if (item->part == EXPERTS_PRODUCT && index == PRODUCT_W)
        fill_weights(item, elems, k, experts_lines(item), data);
    if (item->part == EXPERTS_LAYER && index == LAYER_GATE_UP) fill_weights(item, elems, k, 2 * n, data);
    if (item->part == EXPERTS_LAYER && index == LAYER_DOWN) fill_weights(item, elems, n, 2 * k, data);
}

static uint64_t others_below(const struct lesson_case *item, int buffer)
{
    return item->part == EXPERTS_GROUP && buffer == GROUP_CHOSEN ? (uint64_t)item->extent[EXPERTS_COUNT] : 0;
}

/* ---- properties --------------------------------------------------------------------------------------------- */

static void vary_sizes(struct lesson_case *item, int index, struct rng *rng)
{
    static const enum distribution of_logits[] = {NORMAL, NORMAL, TIES,     EQUAL,
                                                  FAR,    LARGE,  WITH_NAN, INFINITE},
                                   of_pairs[] = {NORMAL, ALL_FIRST, ALL_LAST, SKEWED, NOBODY, FALLING},
                                   of_rows[] = {NORMAL,  ALL_FIRST, ALL_LAST,  SKEWED,
                                                FALLING, GATES_LOW, GATES_HIGH},
                                   of_layers[] = {NORMAL, NORMAL, TIES, WITH_NAN, LARGE};
    const int part = item->part, few = index % 4 != 0, wide = item->devices == ON_GPU ? 8 : 1;
    int *extent = item->extent;
    extent[EXPERTS_COUNT] = rng_between(rng, 1, part == EXPERTS_ROUTE || index % 32 == 5 ? 256 : 9);
    extent[EXPERTS_ROWS] = rng_between(rng, 1, part == EXPERTS_GROUP ? (few ? 300 : 1500) : few ? 30 : 150);
    if (part == EXPERTS_LAYER) {
        extent[EXPERTS_COUNT] = rng_between(rng, 1, 6);
        extent[EXPERTS_ROWS] = rng_between(rng, 1, few ? 9 : 30);
    }
    const int most = extent[EXPERTS_COUNT] < 32 ? extent[EXPERTS_COUNT] : 32;
    extent[EXPERTS_TOP_K] = rng_between(rng, 1, part == EXPERTS_LAYER && most > 4 ? 4 : most);
    if (part >= EXPERTS_PRODUCT) {
        extent[EXPERTS_K] = 8 * rng_between(rng, 1, (part == EXPERTS_LAYER ? 6 : 12) * wide);
        extent[EXPERTS_N] = 8 * rng_between(rng, 1, (part == EXPERTS_LAYER ? 3 : 6) * wide);
        extent[EXPERTS_DTYPE] = rng_between(rng, F16, BF16);
    }
    extent[EXPERTS_SWIGLU] = part == EXPERTS_PRODUCT ? rng_between(rng, 0, 1) : 0;
    extent[EXPERTS_SPARE] =
        part == EXPERTS_PRODUCT && index % 3 == 0 ? rng_between(rng, 0, extent[EXPERTS_ROWS] - 1) : 0;
    extent[EXPERTS_RENORMALISE] = rng_between(rng, 0, 1);
    if (part == EXPERTS_ROUTE) item->distribution = of_logits[rng_between(rng, 0, 7)];
    if (part == EXPERTS_GROUP) item->distribution = of_pairs[rng_between(rng, 0, 5)];
    if (part == EXPERTS_PRODUCT) item->distribution = of_rows[rng_between(rng, 0, 6)];
    if (part == EXPERTS_LAYER) item->distribution = of_layers[rng_between(rng, 0, 4)];
    settle(item);
    item->flags &= ~(unsigned)CASE_UNIT_SCALE;
}

/* Items 2n and 2n + 1 of the property about any order have the same tokens, in opposite order. */
static void vary(struct lesson_case *item, int index, struct rng *rng)
{
    if (item->property == RANDOM) {
        item->seed = rng_next(rng);
        vary_sizes(item, index, rng);
        return;
    }
    if (item->property == CHOICES) { /* 2 to 8 of them */
        item->seed = rng_mix(item->seed, (uint64_t)index);
        item->extent[EXPERTS_TOP_K] = 2 + index % 7;
        item->extent[EXPERTS_DTYPE] = index < 7 ? F16 : BF16;
        item->extent[EXPERTS_RENORMALISE] = index % 2;
        settle(item);
        return;
    }
    item->seed = rng_mix(item->seed, (uint64_t)(index / 2));
    item->extent[EXPERTS_ROWS] = 5 + 3 * (index / 2);
    item->value[EXPERTS_SPARE] = index % 2 == 1 ? REVERSED : 0;
    settle(item);
}

static int holds(const struct lesson_case *item, const float *const *got, const struct lesson_case *before,
                 const float *const *got_before, char *reason, size_t size)
{
    const size_t rows = experts_extent(item, EXPERTS_ROWS), columns = experts_extent(item, EXPERTS_K);
    if (item->property != REVERSED || item->value[EXPERTS_SPARE] != REVERSED || before->seed != item->seed)
        return 1;
    for (size_t i = 0; i < rows * columns; i++) {
        const size_t there = (rows - 1 - i / columns) * columns + i % columns;
        if (got[LAYER_OUT][i] == got_before[LAYER_OUT][there]) continue;
        snprintf(reason, size, "token %zu has other bits where the same tokens come in opposite order",
                 i / columns);
        return 0;
    }
    return 1;
}

/* ---- what a report says ------------------------------------------------------------------------------------- */

static int trait(const struct lesson_case *item, int index, const char **message)
{
    const int *extent = item->extent, product = item->part == EXPERTS_PRODUCT;
    const int many = extent[EXPERTS_ROWS] > 4 * extent[EXPERTS_COUNT];
    const struct trait traits[] = {
        {product && many && extent[EXPERTS_SWIGLU] == 1, "only swiglu of many rows fails"},
        {product && extent[EXPERTS_SWIGLU] == 1,
         "only swiglu fails: which of a thread's sums are gate, and which up?"},
        {product && many, "only products of many rows fail: more than 4 per expert"},
        {product && !many, "only products of few rows fail: no more than 4 per expert"},
        {extent[EXPERTS_SPARE] > 0, "only rows that no expert has fail"},
        {item->distribution == TIES || item->distribution == EQUAL,
         "only equal logits fail: of two the smaller index is first"},
        {item->distribution == NOBODY, "only pairs of no expert fail"},
        {item->distribution == WITH_NAN, "only NaN fails"},
        {extent[EXPERTS_DTYPE] == BF16, "only bf16 fails"},
    };
    return trait_at(traits, sizeof traits / sizeof traits[0], 1, index, message);
}

static const char *purpose(const struct lesson_case *item)
{
    enum { COPIED_AT_ONCE = 2048 }; /* columns, by a block of 256 threads in 16 bytes each */
    if (item->part == EXPERTS_LAYER && item->extent[EXPERTS_K] > COPIED_AT_ONCE &&
        item->distribution == NORMAL)
        return "a row of x has more than the 2048 elements that 256 threads copy at once in 16 bytes each: "
               "is all of it gathered?";
    switch (item->distribution) {
    case TIES:
        return "most logits are equal to others, as 0 and -0 are: then the smaller index comes first";
    case EQUAL:
        return "all logits of a token are equal: the smaller index comes first";
    case WITH_NAN:
        return item->part == EXPERTS_ROUTE ? "a NaN is chosen as -infinity would be, and stays in the sum"
                                           : NULL;
    case POSITIVE:
        return "a token's choices only add up: is their sum kept in f32, and rounded once?";
    case IN_ORDER:
        return "a sum in f32 loses small terms beside large ones, and which, its order decides: that of the "
               "token's choices";
    case FAR:
        if (item->part == EXPERTS_LAYER)
            return "all choices but one weigh 0, and an expert's weights are NaN: 0 * NaN is NaN";
        return "logits are hundreds apart, and softmax is 0 for all but one: logits decide, not weights";
    case NOBODY:
        return "some pairs are of no expert: whatever number stands in chosen, their row_of is -1, and they "
               "take no other's row";
    case ALL_LAST:
        if (item->extent[EXPERTS_SPARE] > 0) break;
        return "all rows belong to the last expert, the others have none";
    case GATES_HIGH:
        return "gates far above 0: exp(gate) is infinite, and silu is the gate";
    case LARGE:
        return "logits far above or below 0 and close to each other: a maximum that begins at 0, or at a low "
               "number, may be above all of them; and their difference is exact, that of two products is not";
    case GATES_EXACT:
        return "gates are below 0, and exact: 1 + tanh(gate / 2) is a difference of numbers that are nearly "
               "the same";
    case GATES_LOW:
        return "gates far below 0: exp(-gate) is infinite, and gate / infinity is 0";
    default:
        if (item->part == EXPERTS_GROUP && item->extent[EXPERTS_ROWS] > 1024)
            return "a warp has more than 32 pairs: its piece is contiguous, and comes after those of the "
                   "warps before";
    }
    return item->extent[EXPERTS_SPARE] > 0 ? "the last rows are no expert's: they stay as they were" : NULL;
}

static void cost(const struct lesson_case *item, struct lesson_cost *cost)
{
    const double rows = item->extent[EXPERTS_ROWS], experts = item->extent[EXPERTS_COUNT],
                 top_k = item->extent[EXPERTS_TOP_K], k = item->extent[EXPERTS_K],
                 n = item->extent[EXPERTS_N], lines = (double)experts_lines(item);
    *cost = (struct lesson_cost){0};
    if (item->part == EXPERTS_ROUTE) {
        cost->flop = rows * experts * 3.0;
        cost->min_bytes = 4.0 * rows * (experts + 2.0 * top_k);
        cost->oracle_ops = rows * experts * (top_k * top_k + 20.0);
    } else if (item->part == EXPERTS_GROUP) {
        cost->flop = rows;
        cost->min_bytes = 8.0 * rows + 4.0 * experts;
        cost->oracle_ops = rows * experts;
    } else if (item->part == EXPERTS_PRODUCT) {
        cost->flop = 2.0 * rows * lines * k;
        cost->min_bytes = 2.0 * (rows * (k + n) + fmin(rows, experts) * lines * k);
        cost->oracle_ops = 6.0 * rows * lines * k;
        cost->tensor_cores = 1;
    } else {
        const double pairs = rows * top_k,
                     met = experts * (1.0 - pow(1.0 - top_k / experts, rows)); /* to be expected */
        cost->flop = 6.0 * pairs * n * k;
        cost->min_bytes = 2.0 * (2.0 * rows * k + met * 3.0 * n * k) + 4.0 * rows * experts;
        cost->oracle_ops = 20.0 * pairs * n * k;
        cost->tensor_cores = 1;
    }
}

/* The contract limits the workspace and does not fix its size; extents that are refused get none. */
static size_t workspace_bytes(const struct lesson_case *item)
{
    const int64_t *value = item->value;
    if (item->part != EXPERTS_LAYER || value[EXPERTS_NULL_ARGS]) return 0;
    if (value[EXPERTS_ROWS] < 1 || value[EXPERTS_COUNT] < 1 || value[EXPERTS_COUNT] > 256 ||
        value[EXPERTS_TOP_K] < 1 || value[EXPERTS_TOP_K] > value[EXPERTS_COUNT] ||
        value[EXPERTS_TOP_K] > 32 || value[EXPERTS_K] < 8 || value[EXPERTS_K] % 8 != 0 ||
        value[EXPERTS_N] < 8 || value[EXPERTS_N] % 8 != 0)
        return 0;
    const double pairs = (double)value[EXPERTS_ROWS] * (double)value[EXPERTS_TOP_K];
    const double lines =
        (double)value[EXPERTS_COUNT] * 2.0 * fmax((double)value[EXPERTS_N], (double)value[EXPERTS_K]);
    return pairs > 2147483647.0 || lines > 2147483647.0 ? 0 : SIZE_MAX;
}

static void describe(const struct lesson_case *item, char *text, size_t size)
{
    const long long rows = item->value[EXPERTS_ROWS], experts = item->value[EXPERTS_COUNT],
                    top_k = item->value[EXPERTS_TOP_K], k = item->value[EXPERTS_K],
                    n = item->value[EXPERTS_N];
    const char *dtype = item->value[EXPERTS_DTYPE] == F16    ? "f16"
                        : item->value[EXPERTS_DTYPE] == BF16 ? "bf16"
                                                             : "other dtype";
    const char *weights = item->value[EXPERTS_RENORMALISE] ? ", weights renormalised" : "";
    if (item->part == EXPERTS_ROUTE)
        snprintf(text, size, "tokens %lld, %lld of %lld experts%s", rows, top_k, experts, weights);
    else if (item->part == EXPERTS_GROUP)
        snprintf(text, size, "pairs %lld, experts %lld", rows, experts);
    else if (item->part == EXPERTS_PRODUCT)
        snprintf(text, size, "rows %lld, experts %lld, n %lld, k %lld, %s%s", rows, experts, n, k, dtype,
                 item->value[EXPERTS_SWIGLU] ? ", swiglu" : "");
    else
        snprintf(text, size, "tokens %lld, %lld of %lld experts, hidden %lld, inner %lld, %s%s", rows, top_k,
                 experts, k, n, dtype, weights);
}

const struct lesson lesson_21_mixture_of_experts = {
#include "checker/cases/described.h"
    .distributions = DISTRIBUTIONS,
    .turns = "logits a x",
    .others_below = others_below,
    .cases = cases,
    .vary = vary,
    .buffers = buffers,
    .fill = fill,
    .units = experts_units,
    .unit_elems = experts_unit_elems,
    .expect = experts_expect,
    .guess = experts_guess,
    .terms = experts_terms,
    .holds = holds,
    .trait = trait,
    .purpose = purpose,
    .cost = cost,
    .workspace_bytes = workspace_bytes,
    .describe = describe,
};
