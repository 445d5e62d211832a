/**
 * @file 14_attention_backward.c
 * @brief Lesson 14: the gradients of attention, in f32 with atomics, on tensor cores with atomics, and
 *        deterministic.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>

#include "checker/cases/backward_cases.h"
#include "checker/cases/case_table.h"
#include "contracts/attention_backward_args.h"

/* The kinds that a row of the table runs as: each is a case of its own in a part. */
enum {
    F = 1,
    H = 2,
    B = 4,
    DF = 8,
    DH = 16,
    DB = 32,
    KINDS = 6,
    HB = H | B,
    FH = F | H,
    DD = DF | DH | DB,
    EVERY = F | HB | DD
};

static const struct {
    enum backward_part part;
    enum dtype dtype;
    const char *suffix;
} KIND[KINDS] = {{PART_F32, DTYPE_F32, ""},
                 {PART_TENSOR, DTYPE_F16, "_f16"},
                 {PART_TENSOR, DTYPE_BF16, "_bf16"},
                 {PART_DETERMINISTIC, DTYPE_F32, "_f32"},
                 {PART_DETERMINISTIC, DTYPE_F16, "_f16"},
                 {PART_DETERMINISTIC, DTYPE_BF16, "_bf16"}};

static const char *const PART_NAME[] = {
#include "description/part_names.h"
};

enum { CAUSAL = 1, GPU_ONLY = 4, NO_DQ = 8, NO_DK = 16, NO_DV = 32, PERIODIC = 64 };

/** One line: the same shape and data for every kind in the set. */
struct table_row {
    const char *name;
    enum case_group group;
    int kinds;
    int batch, heads, kv_heads, q_len, kv_len, head_dim;
    int flags;
    double scale;
    enum backward_distribution distribution;
};

static const struct table_row TABLE[] = {
    /* clang-format off */
    /* name                  group           kinds   b   h  kv  q_len kv_len  dim flags             scale data */
    {"one",                  GROUP_BASIC,    EVERY,  1,  1,  1,     1,     1,  32, 0,                    0, NORMAL},
    {"one_key",              GROUP_BASIC,    FH,     1,  1,  1,     5,     1,  32, 0,                    0, NORMAL},
    {"one_query",            GROUP_BASIC,    FH,     1,  2,  2,     1,    40,  64, 0,                    0, NORMAL},
    {"square_32",            GROUP_BASIC,    EVERY,  1,  1,  1,    32,    32,  64, 0,                    0, NORMAL},
    {"square_64",            GROUP_BASIC,    F | HB, 1,  1,  1,    64,    64,  64, 0,                    0, NORMAL},
    {"heads_2",              GROUP_BASIC,    EVERY,  1,  2,  2,    40,    40,  32, 0,                    0, NORMAL},
    {"head_dim_32",          GROUP_BASIC,    F | HB, 1,  1,  1,    64,   128,  32, 0,                    0, NORMAL},
    {"head_dim_128",         GROUP_BASIC,    F | H,  1,  1,  1,    32,    64, 128, 0,                    0, NORMAL},
    {"two_q_tiles",          GROUP_BASIC,    FH,     1,  1,  1,   128,    64,  32, 0,                    0, NORMAL},
    {"two_kv_tiles",         GROUP_BASIC,    F|H|DF, 1,  1,  1,    64,   256,  32, 0,                    0, NORMAL},
    {"causal_64",            GROUP_BASIC,    F | HB, 1,  1,  1,    64,    64,  64, CAUSAL,               0, NORMAL},
    {"gqa_2",                GROUP_BASIC,    FH | B | DF | DH, 1, 4, 2, 32, 64, 32, 0,                   0, NORMAL},
    {"batch_3",              GROUP_BASIC,    FH,     3,  2,  2,    17,    24,  32, 0,                    0, NORMAL},

    {"tail_31x33",           GROUP_EDGES,    F | HB, 1,  1,  1,    31,    33,  32, 0,                    0, NORMAL},
    {"tail_33x31",           GROUP_EDGES,    F | B,  1,  1,  1,    33,    31,  64, 0,                    0, NORMAL},
    {"tail_63x65",           GROUP_EDGES,    FH,     1,  1,  1,    63,    65, 128, 0,                    0, NORMAL},
    {"tail_65x63",           GROUP_EDGES,    F|HB|DH, 1, 1,  1,    65,    63,  32, 0,                    0, NORMAL},
    {"tail_127x129",         GROUP_EDGES,    H | DB, 1,  1,  1,   127,   129,  32, 0,                    0, NORMAL},
    {"tail_129x127",         GROUP_EDGES,    F | H,  1,  1,  1,   129,   127,  32, CAUSAL,               0, NORMAL},
    {"prime_97x131",         GROUP_EDGES,    H,      1,  1,  1,    97,   131,  64, CAUSAL,               0, NORMAL},
    {"head_dim_128_tail",    GROUP_EDGES,    B | DH, 1,  1,  1,    66,   131, 128, CAUSAL,               0, NORMAL},
    {"causal_130",           GROUP_EDGES,    F | H,  1,  1,  1,   130,   130,  32, CAUSAL,               0, NORMAL},
    {"slices_unseen",        GROUP_EDGES,    DF|DH,  1,  1,  1,   130,   130,  32, CAUSAL,               0, NORMAL},
    {"causal_more_keys",     GROUP_EDGES,    F|B|DH, 1,  1,  1,    33,   197,  32, CAUSAL,               0, NORMAL},
    {"causal_blind_rows",    GROUP_EDGES,    F|HB|DF|DH, 1, 1, 1, 100,    33,  32, CAUSAL,               0, NORMAL},
    {"causal_blind_tile",    GROUP_EDGES,    F|H|DB, 1,  1,  1,   200,    70,  32, CAUSAL,               0, NORMAL},
    {"causal_blind_128",     GROUP_EDGES,    FH,     1,  1,  1,    70,     5, 128, CAUSAL,               0, NORMAL},
    {"causal_one_query",     GROUP_EDGES,    FH,     2,  2,  1,     1,    97,  32, CAUSAL,               0, NORMAL},
    {"causal_one_key",       GROUP_EDGES,    FH,     1,  2,  2,    70,     1,  32, CAUSAL,               0, NORMAL},
    {"gqa_3",                GROUP_EDGES,    F | H,  2,  6,  2,    17,    40,  32, CAUSAL,               0, NORMAL},
    {"gqa_7",                GROUP_EDGES,    B,      1,  7,  1,     9,    33,  32, CAUSAL,               0, NORMAL},
    {"gqa_4_tiles",          GROUP_EDGES,    F | H,  1,  4,  1,    70,    20,  32, 0,                    0, NORMAL},
    {"gqa_11",               GROUP_EDGES,    FH,     1, 22,  2,     3,     5,  32, 0,                    0, NORMAL},
    {"diagonal_126",         GROUP_EDGES,    F|HB|DH, 1, 1,  1,     3,   129,  32, CAUSAL,               0, NORMAL},
    {"slices_3",             GROUP_EDGES,    DH,     1,  2,  1,    70,   300,  32, CAUSAL,               0, NORMAL},
    {"slices_4",             GROUP_EDGES,    DF,     1,  1,  1,     8,   500,  32, 0,                    0, NORMAL},
    {"slices_of_several",    GROUP_EDGES,    DH,     1,  1,  1,     3,  4300,  32, CAUSAL,               0, NORMAL},
    {"without_dq_128",       GROUP_EDGES,    DB,     1,  1,  1,     3,   270, 128, NO_DQ,                0, NORMAL},
    {"scale_explicit",       GROUP_EDGES,    F|HB|DH, 1, 1,  1,    33,    40,  32, 0,                  0.3, NORMAL},
    {"scale_negative",       GROUP_EDGES,    F | H,  1,  1,  1,    33,    40,  32, CAUSAL,            -0.25, NORMAL},
    {"scale_tiny",           GROUP_EDGES,    F,      1,  1,  1,    17,    40,  32, 0,                 1e-7, NORMAL},
    {"dq_alone",             GROUP_EDGES,    F|B|DH, 1,  2,  1,    40,    70,  32, NO_DK | NO_DV,        0, NORMAL},
    {"dk_alone",             GROUP_EDGES,    F|H|DF, 1,  2,  1,    40,    70,  32, NO_DQ | NO_DV,        0, NORMAL},
    {"dv_alone",             GROUP_EDGES,    FH,     1,  2,  1,    40,    70,  32, NO_DQ | NO_DK,        0, NORMAL},
    {"without_dq",           GROUP_EDGES,    F|H|DF, 1,  2,  1,    70,    70,  32, CAUSAL | NO_DQ,       0, NORMAL},
    {"without_dk",           GROUP_EDGES,    F | B,  1,  2,  1,    40,    70,  32, NO_DK,                0, NORMAL},
    {"without_dv",           GROUP_EDGES,    F | H,  1,  2,  1,    40,    70,  32, NO_DV,                0, NORMAL},
    {"heads_40000",          GROUP_EDGES,    FH|DH,  1, 40000, 40000, 2,   3,  32, GPU_ONLY,             0, NORMAL},
    {"queries_70001",        GROUP_EDGES,    FH|DH,  1,  1,  1, 70001,     3,  32, GPU_ONLY,             0, NORMAL},
    {"keys_70001",           GROUP_EDGES,    FH|DH,  1,  1,  1,     3, 70001,  32, GPU_ONLY,             0, NORMAL},

    {"large_logits",         GROUP_NUMERICS, F|HB|DH, 1, 1,  1,    33,    65,  32, 0,                    0, LARGE},
    {"low_logits",           GROUP_NUMERICS, F|HB|DF|DB, 1, 1, 1,  17,    65,  32, 0,                    0, LOW},
    {"low_logits_causal",    GROUP_NUMERICS, F | HB, 1,  1,  1,    17,   141,  32, CAUSAL,               0, LOW},
    {"low_logits_128",       GROUP_NUMERICS, B,      1,  1,  1,    17,    65, 128, CAUSAL,               0, LOW},
    {"dominant_key",         GROUP_NUMERICS, F | HB, 1,  1,  1,    17,   130,  32, 0,                    0, DOMINANT},
    {"equal_scores",         GROUP_NUMERICS, F | HB, 1,  1,  1,    17,   300,  32, 0,                    0, EQUAL},
    {"faint_weights",        GROUP_NUMERICS, F | B,  1,  2,  2,    17,    70,  32, 0,                    0, FAINT},
    {"sink",                 GROUP_NUMERICS, F|HB|DF, 1, 2,  1,    33,    40,  32, CAUSAL,               0, SINK},
    {"steady_gradient",      GROUP_NUMERICS, F | HB, 1,  1,  1,  1500,     3,  32, 0,                    0, STEADY},
    {"large_gradient",       GROUP_NUMERICS, F | HB, 1,  1,  1,    33,    65,  32, 0,                    0, LARGE_GRADIENT},
    {"large_sums",           GROUP_NUMERICS, F | H | DH, 1, 1, 1,  17,     9,  32, 0,                 1e-4, LARGE_SUMS},
    {"opposed_heads",        GROUP_NUMERICS, H | DH, 1,  2,  1,   100,     2,  32, 0,                    0, OPPOSED_HEADS},
    {"small_gradient",       GROUP_NUMERICS, F | HB, 1,  1,  1,    33,    65,  32, 0,                    0, SMALL_GRADIENT},
    {"cancelled_slices",     GROUP_NUMERICS, DB,     1,  1,  1,     1,  1024,  32, 0,                    0, CANCELLED},
    {"surplus",              GROUP_NUMERICS, F|HB|DF, 1, 2,  1,    33,    40,  32, CAUSAL,               0, SURPLUS},
    /* D, and with it dK, is infinite or NaN: the sum of P * dP, or that of O * dO */
    {"lse_minus_infinite",   GROUP_NUMERICS, F | H | DF, 1, 1, 1,  17,    40,  32, NO_DK,                0, LSE_MINUS_INFINITE},
    {"hidden_high",          GROUP_NUMERICS, F | HB, 1,  1,  1,    40,    60,  32, CAUSAL,               0, HIDDEN_HIGH},
    {"scale_largest",        GROUP_NUMERICS, F | B,  1,  1,  1,    17,    40,  32, 0,     (double)FLT_MAX, SMALL_PRODUCTS},
    {"scale_largest",        GROUP_NUMERICS, H,      1,  1,  1,    17,    40,  32, 0,     (double)FLT_MAX, ZERO_PRODUCTS},
    {"nan_q",                GROUP_NUMERICS, F|HB|DF, 1,  3,  3,    20,    40,  32, 0,                    0, NAN_Q},
    {"nan_q_next_head",      GROUP_NUMERICS, F | H,  1,  3,  3,    40,    16,  32, 0,                    0, NAN_Q},
    {"nan_k",                GROUP_NUMERICS, F | B,  1,  3,  3,    20,    40,  32, 0,                    0, NAN_K},
    {"nan_v",                GROUP_NUMERICS, F | H,  1,  3,  3,    20,    40,  32, 0,                    0, NAN_V},
    {"nan_dout",             GROUP_NUMERICS, F | B,  1,  3,  3,    20,    40,  32, 0,                    0, NAN_DOUT},
    {"nan_v_of_weight_0",    GROUP_NUMERICS, F | HB, 1,  2,  2,     9,    70,  32, 0,                    0, NAN_V_WEIGHTLESS},
    {"nan_in_a_group",       GROUP_NUMERICS, F | H,  1,  6,  3,    20,    40,  32, 0,                    0, NAN_Q},

    {"heads_2_len_128",      GROUP_SPEED,    F|H|DF|DH, 1, 2, 2,  128,   128,  64, 0,                    0, NORMAL},
    {"heads_1_len_256_causal", GROUP_SPEED,  H,      1,  1,  1,   256,   256, 128, CAUSAL,               0, NORMAL},
    {"gradients_len_2048",   GROUP_SPEED,    F|H|DF|DH, 1, 16, 16, 2048, 2048, 64, GPU_ONLY | PERIODIC,  0, NORMAL},
    {"heads_16_len_8192",    GROUP_SPEED,    HB|DH,  1, 16, 16, 8192,   8192,  64, GPU_ONLY | PERIODIC,  0, NORMAL},
    {"heads_16_len_8192_causal", GROUP_SPEED, H | DH, 1, 16, 16, 8192,  8192,  64, CAUSAL | GPU_ONLY | PERIODIC, 0, NORMAL},
    {"heads_16_len_8192_128", GROUP_SPEED,   HB|DH,  1, 16, 16, 8192,   8192, 128, GPU_ONLY | PERIODIC,  0, NORMAL},
    {"heads_16_len_8192_128_causal", GROUP_SPEED, H | DH, 1, 16, 16, 8192, 8192, 128, CAUSAL | GPU_ONLY | PERIODIC, 0, NORMAL},
    {"heads_16_len_8192_128_no_dq", GROUP_SPEED, H, 1, 16, 16, 8192,    8192, 128, NO_DQ | GPU_ONLY | PERIODIC, 0, NORMAL},
    {"qwen3_8b_2048",        GROUP_SPEED,    B | DB, 1, 32,  8,  2048,  2048, 128, CAUSAL | GPU_ONLY | PERIODIC, 0, NORMAL},
    /* clang-format on */
};

static void settle(struct lesson_case *item, int kind)
{
    item->part = KIND[kind].part;
    item->extent[EX_STORED_AS] = (int)KIND[kind].dtype;
    for (int i = 0; i <= BW_HEAD_DIM; i++) item->value[i] = item->extent[i];
    item->value[BW_DTYPE] = item->value[BW_ENTRY] = (int)KIND[kind].dtype;
    item->value[BW_IS_DETERMINISTIC] = KIND[kind].part == PART_DETERMINISTIC;
    item->order_free = KIND[kind].part == PART_DETERMINISTIC ? 0 : 1u << BW_DQ;
    item->null_buffer = item->misaligned_buffer = -1;
    item->expected = KERNEL_OK;
    item->repeat = 1;
}

static void omit(struct lesson_case *item, int flags)
{
    static const int omits[][2] = {{NO_DQ, BW_DQ}, {NO_DK, BW_DK}, {NO_DV, BW_DV}};
    for (int i = 0; i < 3; i++)
        if (flags & omits[i][0]) item->untouched |= 1u << omits[i][1];
    item->value[BW_OMITTED] = item->untouched;
}

static void good_case(struct lesson_case *item, const struct table_row *row, int kind)
{
    enum { DISTINCT_KEYS = 13 }; /* prime, so that no two tiles hold the same keys at the same places */
    *item = (struct lesson_case){
        .group = row->group,
        .weight = 2,
        .devices = row->flags & GPU_ONLY ? ON_GPU : ON_ANY,
        .extent = {row->batch, row->heads, row->kv_heads, row->q_len, row->kv_len, row->head_dim},
        .real = {row->scale},
        .distribution = row->distribution};
    settle(item, kind);
    snprintf(item->name, sizeof item->name, "%s/%s%s", PART_NAME[KIND[kind].part], row->name,
             KIND[kind].suffix);
    item->value[BW_CAUSAL] = (row->flags & CAUSAL) != 0;
    item->extent[EX_PERIOD] = row->flags & PERIODIC ? DISTINCT_KEYS : 0;
    if (row->distribution == NORMAL && row->scale == 0.0) item->flags |= CASE_UNIT_SCALE;
    omit(item, row->flags);
}

/* ---- what has to be refused --------------------------------------------------------------------------------- */

static const struct bad_argument BAD[] = {
    /* clang-format off */
    {"sound_arguments",       EVERY, KERNEL_OK, BAD_VALUE(-1, 0)},
    {"no_gradient_wanted",    EVERY, KERNEL_INVALID_CONFIG, BAD_VALUE(BW_OMITTED, 1 << BW_DQ | 1 << BW_DK | 1 << BW_DV)},
    {"heads_not_divisible",   EVERY, KERNEL_INVALID_DIMENSION, BAD_VALUE(BW_KV_HEADS, 3)},
    {"head_dim_16",           EVERY, KERNEL_INVALID_DIMENSION, BAD_VALUE(BW_HEAD_DIM, 16)},
    {"head_dim_48",           F|HB,  KERNEL_INVALID_DIMENSION, BAD_VALUE(BW_HEAD_DIM, 48)},
    {"head_dim_96",           F|HB,  KERNEL_INVALID_DIMENSION, BAD_VALUE(BW_HEAD_DIM, 96)},
    {"head_dim_256",          F|HB,  KERNEL_INVALID_DIMENSION, BAD_VALUE(BW_HEAD_DIM, 256)},
    {"rows_overflow",         FH,    KERNEL_INVALID_DIMENSION, BAD_VALUE(BW_KV_LEN, 1 << 30)},
    {"batch_overflow",        FH,    KERNEL_INVALID_DIMENSION, BAD_VALUE(BW_BATCH, 1 << 30)},
    {"dtype_f32",             HB|DH|DB, KERNEL_UNSUPPORTED_DTYPE, BAD_VALUE(BW_DTYPE, DTYPE_F32)},
    {"dtype_f16",             F|B|DF|DB, KERNEL_UNSUPPORTED_DTYPE, BAD_VALUE(BW_DTYPE, DTYPE_F16)},
    {"dtype_bf16",            F|H|DF|DH, KERNEL_UNSUPPORTED_DTYPE, BAD_VALUE(BW_DTYPE, DTYPE_BF16)},
    {"misaligned_dq",         EVERY, KERNEL_ALIGNMENT_ERROR, BAD_ALIGNMENT(BW_DQ, 8)},
    {"misaligned_dk",         EVERY, KERNEL_ALIGNMENT_ERROR, BAD_ALIGNMENT(BW_DK, 8)},
    {"misaligned_dv",         EVERY, KERNEL_ALIGNMENT_ERROR, BAD_ALIGNMENT(BW_DV, 4)},

    {"no_keys_and_misaligned_dv", FH, KERNEL_INVALID_DIMENSION, BW_KV_LEN, 0, -1, BW_DV, 8, -1},
    {"dtype_and_misaligned_dq", FH,  KERNEL_UNSUPPORTED_DTYPE, -1, 0, -1, BW_DQ, 8, 7},
    {"head_dim_16_and_misaligned_lse", FH, KERNEL_ALIGNMENT_ERROR, BW_HEAD_DIM, 16, -1, BW_LSE, 2, -1},
    {"head_dim_16_and_misaligned_k", FH, KERNEL_ALIGNMENT_ERROR, BW_HEAD_DIM, 16, -1, BW_K, 8, -1},
    /* The checks that come last. Only a kernel that wants a workspace needs one. */
    {"workspace_null_and_head_dim_16", FH, KERNEL_INVALID_DIMENSION, BW_HEAD_DIM, 16, BW_WORKSPACE, -1, 0, -1},
    /* clang-format on */
};
enum { BAD_COUNT = sizeof BAD / sizeof BAD[0] };

static const struct table_row BAD_SHAPE = {"", GROUP_BAD_INPUT, EVERY, 1, 4, 2, 5, 7, 32, 0, 0, NORMAL};

static void spoil(struct lesson_case *item, const struct bad_argument *row)
{
    item->group = GROUP_BAD_INPUT;
    item->weight = 1;
    case_table_spoil(item, row, BW_DTYPE);
    int of_workspace = row->null_buffer == BW_WORKSPACE || row->misaligned_buffer == BW_WORKSPACE;
    if (of_workspace && row->at != BW_HEAD_DIM) item->flags |= CASE_IF_WORKSPACE;
}

static int bad_cases(struct lesson_case *cases, int count, int capacity, int kind)
{
    for (int i = 0; i < BAD_COUNT && count < capacity; i++) {
        if (!(BAD[i].of >> kind & 1)) continue;
        struct lesson_case *item = &cases[count++];
        good_case(item, &BAD_SHAPE, kind);
        item->flags = 0;
        spoil(item, &BAD[i]);
        snprintf(item->name, sizeof item->name, "%s/%s%s", PART_NAME[KIND[kind].part], BAD[i].name,
                 KIND[kind].suffix);
    }
    return count;
}

/* A device without tensor core instructions: that is looked at before the workspace. */
static int old_devices(struct lesson_case *cases, int count, int capacity, int kind)
{
    static const struct bad_argument old = {"", EVERY, KERNEL_UNSUPPORTED_ARCHITECTURE, BAD_VALUE(-1, 0)};
    for (int null = 0; null < 2 && KIND[kind].dtype != DTYPE_F32 && count < capacity; null++) {
        struct lesson_case *item = &cases[count++];
        good_case(item, &BAD_SHAPE, kind);
        spoil(item, &old);
        item->flags = 0;
        item->capability = CASE_TABLE_OLD_DEVICE;
        item->devices = ON_SIMT;
        if (null) item->null_buffer = BW_WORKSPACE;
        snprintf(item->name, sizeof item->name, "%s/old_device%s%s", PART_NAME[KIND[kind].part],
                 null ? "_and_workspace_null" : "", KIND[kind].suffix);
    }
    return count;
}

/* ---- properties --------------------------------------------------------------------------------------------- */

enum property { ANY_SHAPE, SAME_BITS, ANY_PLACE, PROPERTIES };

static int property_cases(struct lesson_case *cases, int count, int capacity, int kind)
{
    static const struct table_row rows[PROPERTIES] = {
        /* clang-format off */
        {"property_random_shapes", GROUP_PROPERTIES, F|HB,  1, 1, 1,  1,   1, 32, 0,      0, NORMAL},
        {"property_same_bits",     GROUP_PROPERTIES, DF|DH, 1, 1, 1,  1,   1, 32, 0,      0, NORMAL},
        {"alignments",             GROUP_PROPERTIES, FH,    1, 1, 1,  5,   9, 32, CAUSAL, 0, NORMAL},
        /* clang-format on */
    };
    static const int repeat[PROPERTIES] = {24, 16, 18}, repeat_f32[PROPERTIES] = {48, 16, 18};
    for (int i = 0; i < PROPERTIES && count < capacity; i++) {
        if (!(rows[i].kinds >> kind & 1)) continue;
        struct lesson_case *item = &cases[count++];
        good_case(item, &rows[i], kind);
        item->group = GROUP_PROPERTIES;
        item->property = i;
        item->repeat = KIND[kind].dtype == DTYPE_F32 ? repeat_f32[i] : repeat[i];
    }
    return count;
}

static int cases(struct lesson_case *cases, int capacity)
{
    int count = 0;
    for (int kind = 0; kind < KINDS; kind++) {
        for (size_t i = 0; i < sizeof TABLE / sizeof TABLE[0] && count < capacity; i++)
            if (TABLE[i].kinds >> kind & 1) good_case(&cases[count++], &TABLE[i], kind);
        count = bad_cases(cases, count, capacity, kind);
        count = old_devices(cases, count, capacity, kind);
        count = property_cases(cases, count, capacity, kind);
    }
    return count;
}

static int kind_of(const struct lesson_case *item)
{
    int kind = 0;
    while ((int)KIND[kind].part != item->part || (int)KIND[kind].dtype != item->extent[EX_STORED_AS]) kind++;
    return kind;
}

/** The largest extents of an item. */
struct extents {
    int batch, kv_heads, group, rows, keys;
};

/* The software device takes long per tile, and each head has at least one: most items have few heads, and
 * one in 16 has more than one tile of queries or keys. */
static struct extents longest_extents(const struct lesson_case *item, int index)
{
    if (item->devices == ON_GPU) return (struct extents){2, 2, 4, 200, 400};
    if (index % 16 == 5) return (struct extents){1, 1, 1, 100, 200};
    if (index % 8 == 0) return (struct extents){1, 1, 5, 20, 40};
    return (struct extents){index % 4 == 1 ? 2 : 1, index % 4 == 2 ? 2 : 1, index % 4 == 3 ? 3 : 1, 20, 40};
}

/* Every fourth item is causal; the others go through all remainders of the number of keys, in bf16 from the middle on: those that f16 has
 * not met. */
static void vary_shape(struct lesson_case *item, int index, struct rng *shape)
{
    const int causal = index % 4 == 3;
    const int first = item->extent[EX_STORED_AS] == DTYPE_BF16 ? CASE_TABLE_REMAINDERS / 2 : 0;
    const struct sweep sweep = case_table_sweep(first + index - index / 4, 1);
    int large = item->devices == ON_GPU;
    struct extents longest = longest_extents(item, index);
    item->extent[BW_BATCH] = rng_between(shape, 1, longest.batch);
    item->extent[BW_KV_HEADS] = rng_between(shape, 1, longest.kv_heads);
    item->extent[BW_HEADS] = item->extent[BW_KV_HEADS] * rng_between(shape, 1, longest.group);
    item->extent[BW_Q_LEN] = rng_between(shape, 1, longest.rows);
    item->extent[BW_KV_LEN] =
        sweep.length +
        CASE_TABLE_REMAINDERS * rng_between(shape, 0, longest.keys / CASE_TABLE_REMAINDERS - 1);
    int die = rng_between(shape, 1, large ? 3 : 16);
    item->extent[BW_HEAD_DIM] = die == 1 ? 64 : die == 2 ? 128 : 32;
    settle(item, kind_of(item));
    item->value[BW_CAUSAL] = causal;
    die = rng_between(shape, 0, 9);
    if (die < 2) item->real[0] = (die == 0 ? -1.0 : 1.0) * (0.05 + 0.4 * rng_uniform(shape));
    if (die >= 7) omit(item, die == 7 ? NO_DQ : die == 8 ? NO_DK : NO_DV);
    if (die < 2) item->flags &= ~(unsigned)CASE_UNIT_SCALE;
}

static void vary(struct lesson_case *item, int index, struct rng *rng)
{
    struct lesson_buffer buffer[WIRE_BUFFERS];
    if (item->property == ANY_PLACE) {
        case_table_place(item, index, buffer, backward_buffers(item, buffer));
        return;
    }
    /* Items 2n and 2n + 1 of the property are the same problem. */
    int pairs = item->property == SAME_BITS;
    struct rng shape = {pairs ? rng_mix(item->seed, (uint64_t)(index / 2)) : rng_next(rng)};
    item->seed = rng_mix(shape.state, 7);
    vary_shape(item, pairs ? index / 2 : index, &shape);
    if (pairs && index % 2 == 1) item->flags |= CASE_SAME_BITS;
}

/* ---- what a report says ------------------------------------------------------------------------------------- */

static int trait(const struct lesson_case *item, int index, const char **message)
{
    const int *extent = item->extent;
    int q_len = extent[BW_Q_LEN], kv_len = extent[BW_KV_LEN], causal = item->value[BW_CAUSAL] == 1;
    const struct trait traits[] = {
        {causal, "only causal cases fail"},
        {extent[BW_HEADS] > extent[BW_KV_HEADS], "only groups of several query heads fail: dK and dV of a "
                                                 "K/V head are sums over all query heads that read it"},
        {q_len > 64, "only several tiles of queries fail"},
        {kv_len > 128, "only several tiles of keys fail: is dQ a sum over all of them?"},
        {causal && q_len > kv_len,
         "only rows that see nothing fail: their logsumexp is -infinity, their gradient 0"},
        {item->value[BW_OMITTED] != 0,
         "only gradients that are not all wanted fail: dq, dk and dv may each be NULL"},
        {extent[BW_HEAD_DIM] == 128, "only head_dim 128 fails"},
        {extent[EX_STORED_AS] == DTYPE_BF16, "only bf16 fails"},
        {item->real[0] != 0.0, "only an explicit scale fails: it multiplies dQ and dK, too"},
        {q_len % 64 != 0 || kv_len % 32 != 0, "only lengths that are no multiple of a tile fail"},
        {item->distribution >= NAN_Q, "only NaN fails"},
    };
    return trait_at(traits, sizeof traits / sizeof traits[0], 1, index, message);
}

/** The likely cause where the gradients in `wrong` are wrong and those in `right` are right. */
struct stage {
    unsigned wrong, right; /* 1: dq, 2: dk, 4: dv */
    const char *f32, *tensor;
};

static const char *stage(const struct lesson_case *item, unsigned compared, unsigned wrong)
{
    static const struct stage stages[] = {
        {1, 2, "dk is right, so P and dS are, unless past the last key: look at f32_add_dq and finish_kernel",
         "dk is right, so P and dS are, unless past the last key: look at add_dq and finish_kernel"},
        {2, 1,
         "dq is right, so P and dS are, unless past the last query: look at how dK is summed up by "
         "f32_multiply, and written",
         "dq is right, so P and dS are, unless past the last query: look at how dK is summed up by add_rows, "
         "and written"},
        {6, 1,
         "dq is right, so P and dS are, unless past the last query: look at how dK and dV are summed up by "
         "f32_multiply, and written",
         "dq is right, so P and dS are, unless past the last query: look at how dK and dV are summed up by "
         "add_rows, and written"},
        {4, 2, "dk is right, so P and dS are: look at how dV is summed up by f32_multiply, and written",
         "dk is right, so P and dS are: look at how dV is summed up by add_rows, and written"},
        {3, 4, "dv is right, so P is: look at D in prepare_kernel, and at dP and dS in f32_scores",
         "dv is right, so P is: look at D in prepare_kernel, at dP, and at dS in weigh"},
        {2, 4, "dv is right, so P is: look at dP and dS in f32_scores, and at how dK is summed up",
         "dv is right, so P is: look at dP, at dS in weigh, and at how dK is summed up"},
        {7, 0, "all are wrong, and P comes first: S, lse and the mask in f32_scores",
         "all are wrong, and P comes first: S of multiply_rows, lse and the mask in weigh"},
        {6, 0, "dv is wrong, too, and P comes first: S, lse and the mask in f32_scores",
         "dv is wrong, too, and P comes first: S of multiply_rows, lse and the mask in weigh"},
        {4, 0, "look at P in f32_scores, and at how dV is summed up by f32_multiply",
         "look at P, which is S of multiply_rows and then weigh, and at how dV is summed up by add_rows"}};
    unsigned right = (compared & ~wrong) >> BW_DQ & 7;
    wrong = wrong >> BW_DQ & 7;
    if (item->extent[BW_KV_LEN] == 1 && wrong & 4) right = 0; /* dS is 0 whatever P is */
    if (item->distribution == LARGE || item->distribution == DOMINANT || item->distribution == FAINT)
        return NULL; /* one key has all the weight, so dS is nearly 0 */
    if (item->distribution == LOW)
        return NULL; /* keys past the last one have P that is infinite, in dQ alone */
    for (size_t i = 0; i < sizeof stages / sizeof stages[0]; i++)
        if (wrong == stages[i].wrong && (right & stages[i].right) == stages[i].right)
            return item->extent[EX_STORED_AS] == DTYPE_F32 ? stages[i].f32 : stages[i].tensor;
    return NULL;
}

static const char *purpose(const struct lesson_case *item)
{
    if (item->value[BW_OMITTED] != 0 && item->expected == KERNEL_OK && item->distribution == 0)
        return "a gradient that is not wanted is given as NULL, and the others are right without it";
    if (item->expected == KERNEL_UNSUPPORTED_ARCHITECTURE)
        return "the device says that it is an sm_75: the kernel's instructions are not there";
    switch (item->distribution) {
    case LARGE:
        return "scores of magnitude 1e4: P is exp(S - lse), not exp(S) / exp(lse)";
    case LOW:
        return "every score is near -300, and so is the logsumexp: what a tile holds past the last key has "
               "the score 0, and exp(0 - lse) overflows";
    case SINK:
        return "lse and out are those of a softmax with one more term in its denominator: P is exp(S - lse), "
               "whatever it sums to";
    case SURPLUS:
        return "lse is less than that of the scores: P is exp(S - lse), also where that is more than 1";
    case LSE_MINUS_INFINITE:
        return "lse is -infinity in a row that sees keys: only the mask says which rows see none, and this "
               "one's P is "
               "exp(S - lse)";
    case HIDDEN_HIGH:
        return "scores behind the mask are far above lse: their exp(S - lse) is infinite, and infinity times "
               "0 is NaN";
    case SMALL_PRODUCTS:
    case ZERO_PRODUCTS:
        return "the largest scale there is: times log2(e) it is beyond float";
    case CANCELLED:
        return "addends of dq from one half of the keys nearly cancel those from the other: a sum of some "
               "that is "
               "kept in 16 bits shows";
    case STEADY:
        return "dO is about 1 in every row: what is summed over many queries grows, and must not be rounded "
               "on the way";
    case FAINT:
        return "one key takes nearly all the weight: gradients of the others are small, and right";
    case LARGE_SUMS:
        return "the scale is small, and sums of dS K are beyond 65504 before they are multiplied by it: they "
               "are f32";
    case OPPOSED_HEADS:
        return "what one query head adds to dK and dV is beyond 65504, and what all of its group add is not: "
               "they "
               "are rounded once";
    case SMALL_GRADIENT:
        return "in f16, dS is among the subnormal numbers";
    default:
        return item->distribution >= NAN_Q
                   ? "one NaN in one head: it comes out where it belongs and nowhere else"
                   : NULL;
    }
}

/* The contract limits the workspace and does not fix its size; extents that are refused get none. */
static size_t workspace_bytes(const struct lesson_case *item)
{
    const int64_t *value = item->value;
    const void *somewhere = item;
    struct attention_args args = {.batch = (int)value[BW_BATCH],
                                  .heads = (int)value[BW_HEADS],
                                  .kv_heads = (int)value[BW_KV_HEADS],
                                  .q_len = (int)value[BW_Q_LEN],
                                  .kv_len = (int)value[BW_KV_LEN],
                                  .head_dim = (int)value[BW_HEAD_DIM],
                                  .q = somewhere,
                                  .k = somewhere,
                                  .v = somewhere,
                                  .out = (void *)(uintptr_t)somewhere};
    if (value[BW_NULL_ARGS] || attention_args_check(&args, 1, 0) != KERNEL_OK) return 0;
    return SIZE_MAX;
}

static void describe(const struct lesson_case *item, char *text, size_t size)
{
    const int64_t *value = item->value;
    static const char *const storage[] = {"f32", "f16", "bf16"};
    snprintf(text, size, "batch %lld, heads %lld/%lld, q_len %lld, kv_len %lld, head_dim %lld%s, %s%s%s%s%s",
             (long long)value[BW_BATCH], (long long)value[BW_HEADS], (long long)value[BW_KV_HEADS],
             (long long)value[BW_Q_LEN], (long long)value[BW_KV_LEN], (long long)value[BW_HEAD_DIM],
             value[BW_CAUSAL] ? ", causal" : "",
             value[BW_DTYPE] >= 0 && value[BW_DTYPE] < 3 ? storage[value[BW_DTYPE]] : "other dtype",
             value[BW_IS_DETERMINISTIC] ? ", deterministic" : "",
             value[BW_OMITTED] >> BW_DQ & 1 ? ", no dq" : "", value[BW_OMITTED] >> BW_DK & 1 ? ", no dk" : "",
             value[BW_OMITTED] >> BW_DV & 1 ? ", no dv" : "");
}

const struct lesson lesson_14_attention_backward = {
#include "checker/cases/described.h"
    LESSON_CALLBACKS(backward_),
    .distributions = BACKWARD_DISTRIBUTIONS,
    .stage = stage,
    .turns = "dout",
};
