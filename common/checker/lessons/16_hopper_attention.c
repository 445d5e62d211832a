/**
 * @file 16_hopper_attention.c
 * @brief Lesson 16: FlashAttention-3's forward pass on Hopper, in f16, in bf16 and in E4M3, credited apart.
 */
#include "checker/cases/attention_cases.h"
#include "checker/cases/attention_e4m3.h"

enum {
#include "description/parts.h"
};

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attention.h"
#include "checker/cases/case_table.h"
#include "contracts/e4m3_blocks.h"

/* Sizes around tiles of 128 keys, and of 64 queries for head_dim 64 or 128 queries for head_dim 128, where
 * two consumer warpgroups share them. Two stages, and what the shared cases do not combine. */
static const struct attention_own_case OWN[] = {
    /* clang-format off */
    /* name                       group           devices   b   heads  kv_h  q_len  kv_len  dim causal scale  data */
    {"one_tile",                       GROUP_BASIC,     ON_ANY,   1,      1,    1,   128,    128,  64, 0,    0, DIST_NORMAL},
    {"one_tile_causal",                GROUP_BASIC,     ON_ANY,   1,      1,    1,   128,    128,  64, 1,    0, DIST_NORMAL},
    {"two_consumers",                  GROUP_BASIC,     ON_ANY,   1,      1,    1,   128,    256, 128, 0,    0, DIST_NORMAL},
    {"two_consumers_causal",           GROUP_BASIC,     ON_ANY,   1,      1,    1,   128,    128, 128, 1,    0, DIST_NORMAL},
    {"one_consumer_64x256",            GROUP_BASIC,     ON_ANY,   1,      1,    1,    64,    256, 128, 0,    0, DIST_NORMAL},
    {"rows_65",                        GROUP_EDGES,     ON_ANY,   1,      1,    1,    65,     40,  64, 0,    0, DIST_NORMAL},
    {"rows_65_two_consumers",          GROUP_EDGES,     ON_ANY,   1,      1,    1,    65,     40, 128, 0,    0, DIST_NORMAL},
    {"rows_127_keys_127",              GROUP_EDGES,     ON_ANY,   1,      1,    1,   127,    127,  64, 1,    0, DIST_NORMAL},
    {"rows_129_keys_129",              GROUP_EDGES,     ON_ANY,   1,      1,    1,   129,    129, 128, 0,    0, DIST_NORMAL},
    {"ring_once_256",                  GROUP_EDGES,     ON_ANY,   1,      1,    1,     8,    256,  64, 0,    0, DIST_NORMAL},
    {"ring_and_one_384",               GROUP_EDGES,     ON_ANY,   1,      1,    1,    70,    384, 128, 0,    0, DIST_NORMAL},
    {"ring_twice_640",                 GROUP_EDGES,     ON_ANY,   1,      1,    1,     5,    640, 128, 0, -0.2, DIST_NORMAL},
    {"refilled_640",                   GROUP_EDGES,     ON_ANY,   1,      1,    1,     5,    640,  64, 0, -0.2, DIST_NORMAL},
    {"tail_after_whole_tiles_300",     GROUP_EDGES,     ON_ANY,   1,      1,    1,    70,    300,  64, 0,    0, DIST_NORMAL},
    {"tail_300_two_consumers",         GROUP_EDGES,     ON_ANY,   1,      1,    1,    70,    300, 128, 0,    0, DIST_NORMAL},
    {"causal_320",                     GROUP_EDGES,     ON_ANY,   1,      1,    1,   130,    320,  64, 1,    0, DIST_NORMAL},
    {"causal_400_two_consumers",       GROUP_EDGES,     ON_ANY,   1,      1,    1,   130,    400, 128, 1,    0, DIST_NORMAL},
    {"tiles_of_a_block",               GROUP_EDGES,     ON_ANY,   1,      3,    1,     3,    260, 128, 0,    0, DIST_NORMAL},
    {"tiles_of_a_block_d64",           GROUP_EDGES,     ON_ANY,   1,      3,    1,     3,     40,  64, 0,    0, DIST_NORMAL},
    {"tiles_of_a_block_causal",        GROUP_EDGES,     ON_ANY,   1,      2,    1,   140,    270, 128, 1,    0, DIST_NORMAL},
    {"tiles_of_a_block_400",           GROUP_EDGES,     ON_ANY,   1,      5,    1,     3,    400, 128, 0,    0, DIST_NORMAL},
    {"one_key_less_than_tiles",        GROUP_EDGES,     ON_ANY,   1,      1,    1,     3,    513,  64, 1,    0, DIST_NORMAL},
    {"one_key_less_than_tiles_128",    GROUP_EDGES,     ON_ANY,   1,      1,    1,     3,    513, 128, 1,    0, DIST_NORMAL},
    {"last_section_short",             GROUP_EDGES,     ON_GPU,   1,     10,   10,   130,   8192, 128, 1,    0, DIST_NORMAL},
    {"block_per_tile_2100",            GROUP_EDGES,     ON_ANY,   1,      2,    1,     3,   2100, 128, 0,    0, DIST_NORMAL},
    {"blind_tile_causal",              GROUP_EDGES,     ON_ANY,   1,      1,    1,   200,     40,  64, 1,    0, DIST_NORMAL},
    {"blind_consumer_causal",          GROUP_EDGES,     ON_ANY,   1,      1,    1,   128,     64, 128, 1,    0, DIST_NORMAL},
    {"gqa_5_head_dim_64",              GROUP_EDGES,     ON_ANY,   1,     10,    2,     9,    140,  64, 1,    0, DIST_NORMAL},
    {"keys_15",                        GROUP_EDGES,     ON_ANY,   1,      1,    1,    16,     15,  64, 1,    0, DIST_NORMAL},
    {"keys_17_queries_7",              GROUP_EDGES,     ON_ANY,   1,      1,    1,     7,     17, 128, 1,    0, DIST_NORMAL},
    {"enormous_logits_256",            GROUP_NUMERICS,  ON_ANY,   1,      1,    1,     9,    256, 128, 0, -1e5, DIST_LARGE},
    {"rising_520",                     GROUP_NUMERICS,  ON_ANY,   1,      1,    1,     9,    520, 128, 0,    0, DIST_RISING},
    {"falling_520",                    GROUP_NUMERICS,  ON_ANY,   1,      1,    1,     9,    520, 128, 0,    0, DIST_FALLING},
    {"infinite_causal",                GROUP_NUMERICS,  ON_ANY,   2,      4,    2,    13,     40, 128, 1,    0, DIST_INFINITE},
    {"infinite_256",                   GROUP_NUMERICS,  ON_ANY,   1,      1,    1,    13,    256, 128, 0,    0, DIST_INFINITE},
    {"nan_behind_mask_128",            GROUP_NUMERICS,  ON_ANY,   1,      2,    1,    70,     70, 128, 1,    0, DIST_NAN_HIDDEN},
    {"nan_behind_mask_150",            GROUP_NUMERICS,  ON_ANY,   1,      1,    1,   130,    150,  64, 1,    0, DIST_NAN_HIDDEN},
    {"last_value_hidden_400",          GROUP_NUMERICS,  ON_ANY,   1,      8,    8,     2,    400,  64, 1,    0, DIST_NAN_HIDDEN},
    {"last_value_hidden_400_128",      GROUP_NUMERICS,  ON_ANY,   1,      2,    1,     2,    400, 128, 1,    0, DIST_NAN_HIDDEN},
    {"nan_v_causal",                   GROUP_NUMERICS,  ON_ANY,   1,      2,    2,    20,     24,  64, 1,    0, DIST_NAN_V},
    {"nan_v_256",                      GROUP_NUMERICS,  ON_ANY,   1,      1,    1,    20,    256, 128, 0,    0, DIST_NAN_V},
    {"prefill_8192_d64",             GROUP_SPEED,    ON_GPU,   2,     16,   16,  8192,   8192,  64, 0,    0, DIST_NORMAL},
    {"prefill_8192_d64_causal",      GROUP_SPEED,    ON_GPU,   2,     16,   16,  8192,   8192,  64, 1,    0, DIST_NORMAL},
    {"prefill_8192_d128",            GROUP_SPEED,    ON_GPU,   2,     16,   16,  8192,   8192, 128, 0,    0, DIST_NORMAL},
    {"prefill_8192_d128_causal",     GROUP_SPEED,    ON_GPU,   2,     16,   16,  8192,   8192, 128, 1,    0, DIST_NORMAL},
    {"prefill_2048_d64",             GROUP_SPEED,    ON_GPU,   8,     16,   16,  2048,   2048,  64, 0,    0, DIST_NORMAL},
    {"prefill_2048_d128_causal",     GROUP_SPEED,    ON_GPU,   8,     16,   16,  2048,   2048, 128, 1,    0, DIST_NORMAL},
    {"prefill_16384_d128",           GROUP_SPEED,    ON_GPU,   1,     16,   16, 16384,  16384, 128, 0,    0, DIST_NORMAL},
    /* clang-format on */
};

/* E4M3: each block of 128 queries and each of 128 keys has a scale; the values of a head have one. */
static const struct attention_own_case OF_FP8[] = {
    /* clang-format off */
    /* name                       group           devices   b   heads  kv_h  q_len  kv_len  dim causal scale  data */
    {"one_key",                   GROUP_BASIC,      ON_ANY,   1,      1,    1,     3,      1, 128, 0,    0, DIST_NORMAL},
    {"few_keys_17",               GROUP_BASIC,      ON_ANY,   1,      2,    1,     5,     17, 128, 0,    0, DIST_NORMAL},
    {"one_block",                 GROUP_BASIC,      ON_ANY,   1,      1,    1,   128,    128, 128, 0,    0, DIST_NORMAL},
    {"one_block_causal",          GROUP_BASIC,      ON_ANY,   1,      1,    1,   128,    128, 128, 1,    0, DIST_NORMAL},
    {"two_blocks",                GROUP_BASIC,      ON_ANY,   1,      1,    1,   130,    256, 128, 0,    0, DIST_NORMAL},
    {"uneven_blocks",             GROUP_BASIC,      ON_ANY,   1,      2,    2,   140,    400, 128, 0, 0.02, DIST_UNEVEN},
    {"uneven_blocks_causal",      GROUP_EDGES,      ON_ANY,   1,      2,    1,   140,    270, 128, 1, -0.3, DIST_UNEVEN},
    {"rows_65",                   GROUP_EDGES,      ON_ANY,   1,      1,    1,    65,     40, 128, 0,    0, DIST_NORMAL},
    {"rows_129_keys_129",         GROUP_EDGES,      ON_ANY,   1,      1,    1,   129,    129, 128, 0,    0, DIST_NORMAL},
    {"ring_and_one_384",          GROUP_EDGES,      ON_ANY,   1,      1,    1,    70,    384, 128, 0,    0, DIST_NORMAL},
    {"ring_twice_640",            GROUP_EDGES,      ON_ANY,   1,      1,    1,     5,    640, 128, 0, -0.2, DIST_NORMAL},
    {"causal_400",                GROUP_EDGES,      ON_ANY,   1,      1,    1,   130,    400, 128, 1,    0, DIST_NORMAL},
    {"tiles_of_a_block",          GROUP_EDGES,      ON_ANY,   1,      3,    1,     3,    260, 128, 0,    0, DIST_NORMAL},
    {"block_per_tile_2100",       GROUP_EDGES,      ON_ANY,   1,      2,    1,     3,   2100, 128, 0,    0, DIST_NORMAL},
    {"blind_rows_causal",         GROUP_EDGES,      ON_ANY,   1,      1,    1,   200,     40, 128, 1,    0, DIST_NORMAL},
    {"outliers",                  GROUP_NUMERICS,   ON_ANY,   1,      1,    1,    33,    140, 128, 0, 0.02, DIST_OUTLIERS},
    {"outliers_not_rotated",      GROUP_NUMERICS,   ON_ANY,   1,      1,    1,    33,    140, 128, 0, 0.02, DIST_OUTLIERS},
    {"rising_520",                GROUP_NUMERICS,   ON_ANY,   1,      1,    1,     9,    520, 128, 0,    0, DIST_RISING},
    {"falling_520",               GROUP_NUMERICS,   ON_ANY,   1,      1,    1,     9,    520, 128, 0,    0, DIST_FALLING},
    {"infinite_saturates",        GROUP_NUMERICS,   ON_ANY,   1,      2,    2,    13,    140, 128, 0, 0.01, DIST_INFINITE},
    {"nan_behind_mask_150",       GROUP_NUMERICS,   ON_ANY,   1,      1,    1,   130,    150, 128, 1,    0, DIST_NAN_HIDDEN},
    {"uneven_queries_390",        GROUP_EDGES,      ON_ANY,   1,      1,    1,   390,     20, 128, 0,  0.2, DIST_UNEVEN},
    {"uneven_keys_4160",          GROUP_EDGES,      ON_ANY,   1,      2,    2,     3,   4160, 128, 0, 2e-3, DIST_UNEVEN},
    {"uneven_rows_of_queries",    GROUP_EDGES,      ON_ANY,   1,      8,    8,   128,     20, 128, 0, 0.02, DIST_UNEVEN_ROWS},
    {"uneven_rows_of_keys",       GROUP_EDGES,      ON_ANY,   1,      8,    8,     3,    128, 128, 0, 0.02, DIST_UNEVEN_ROWS},
    {"scale_subnormal",           GROUP_EDGES,      ON_ANY,   1,      1,    1,     3,     40, 128, 0,1e-44, DIST_NORMAL},
    {"tiles_of_a_block_400",      GROUP_EDGES,      ON_ANY,   1,      5,    1,     3,    400, 128, 0,    0, DIST_NORMAL},
    {"zeros_tail",                GROUP_NUMERICS,   ON_ANY,   1,      1,    1,     3,     40, 128, 0,    0, DIST_ZEROS},
    {"steps_300",                 GROUP_NUMERICS,   ON_ANY,   1,      2,    1,     3,    300, 128, 0, 0.68, DIST_STEPS},
    {"small_columns",             GROUP_NUMERICS,   ON_ANY,   1,      2,    2,     5,     40, 128, 0,    0, DIST_SMALL_COLUMNS},
    {"last_value_hidden_391",     GROUP_NUMERICS,   ON_ANY,   1,      2,    1,     2,    391, 128, 1,    0, DIST_NAN_HIDDEN},
    {"last_value_hidden_392",     GROUP_NUMERICS,   ON_ANY,   1,      2,    1,     2,    392, 128, 1,    0, DIST_NAN_HIDDEN},
    {"last_value_hidden_393",     GROUP_NUMERICS,   ON_ANY,   1,      2,    1,     2,    393, 128, 1,    0, DIST_NAN_HIDDEN},
    {"last_value_hidden_400",     GROUP_NUMERICS,   ON_ANY,   1,      2,    1,     2,    400, 128, 1,    0, DIST_NAN_HIDDEN},
    {"nan_v_256",                 GROUP_NUMERICS,   ON_ANY,   1,      2,    2,    20,    256, 128, 0,    0, DIST_NAN_V},
    {"bf16_beyond_half",          GROUP_NUMERICS,   ON_ANY,   1,      2,    2,     9,     40, 128, 0,    0, DIST_BEYOND_HALF},
    {"bf16_one_block_causal",     GROUP_EDGES,      ON_ANY,   1,      1,    1,   128,    128, 128, 1,    0, DIST_NORMAL},
    {"bf16_gqa_2",                GROUP_EDGES,      ON_ANY,   2,      4,    2,    20,    140, 128, 0,    0, DIST_NORMAL},
    {"prefill_8192_d128",         GROUP_SPEED,      ON_GPU,   2,     16,   16,  8192,   8192, 128, 0,    0, DIST_NORMAL},
    {"prefill_8192_d128_causal",  GROUP_SPEED,      ON_GPU,   2,     16,   16,  8192,   8192, 128, 1,    0, DIST_NORMAL},
    /* clang-format on */
};

/* What a case's name says beyond its shape. */
static int add_own(const char *part, const struct attention_own_case *rows, size_t row_count,
                   struct lesson_case *cases, int count, int capacity)
{
    const int first = count;
    count = attention_own_cases(part, "square_64", rows, row_count, cases, count, capacity);
    for (int i = first; i < count; i++) {
        const char *name = cases[i].name + strlen(part) + 1;
        if (strncmp(name, "tiles_of_a_block", 16) == 0) cases[i].flags |= CASE_SMALL_DEVICE;
        if (strncmp(name, "bf16", 4) == 0) cases[i].value[AT_DTYPE] = cases[i].extent[EX_DTYPE] = DTYPE_BF16;
    }
    return count;
}

/* A storage type and a head_dim, both of which are refused: the type is checked first. */
static int add_two_faults(const char *part, const char *dtype, const char *name, struct lesson_case *cases,
                          int count, int capacity)
{
    struct lesson_case *item = case_table_copy(cases, &count, capacity, part, dtype, name);
    if (item != NULL) item->value[AT_HEAD_DIM] = 16;
    return count;
}

enum { PROPERTY_ROTATION = PROPERTY_ALIGNMENTS + 1 };

/* The software device is slow: so a part runs only some items of the properties. Items that form pairs stay together. */
static void run_items(struct lesson_case *cases, int first, int count, int items)
{
    for (int i = first; i < count; i++)
        if (cases[i].group == GROUP_PROPERTIES && (cases[i].extent[EX_PROPERTY] == PROPERTY_SHAPES ||
                                                   cases[i].extent[EX_PROPERTY] == PROPERTY_CAUSAL_PREFIX))
            cases[i].repeat = items;
}

/* What a case's seed of the rotation follows from: its name, not its place. */
static int64_t seed_of(const struct lesson_case *item)
{
    const uint64_t hash = rng_mix_text(0, item->name);
    return hash % 4 == 3 ? 0 : (int64_t)(uint32_t)hash;
}

static int add_fp8(const struct attention_family *family, struct lesson_case *cases, int count, int capacity)
{
    const int first = count;
    count = attention_cases(family, cases, count, capacity);
    count = attention_one_of_a_kind(cases, first, count);
    run_items(cases, first, count, 24);
    count = add_own("fp8", OF_FP8, sizeof OF_FP8 / sizeof OF_FP8[0], cases, count, capacity);
    struct lesson_case *rotation =
        case_table_copy(cases, &count, capacity, "fp8", "property_random_shapes", "property_rotation_helps");
    if (rotation == NULL) return count;
    rotation->extent[EX_PROPERTY] = PROPERTY_ROTATION;
    rotation->distribution = DIST_OUTLIERS;
    rotation->repeat = 8;
    for (int i = first; i < count; i++) {
        struct lesson_case *item = &cases[i];
        item->flags &= ~(unsigned)CASE_UNIT_SCALE; /* rounding to E4M3 may cost more than the cap allows */
        item->value[AT_SEED] = seed_of(item);
    }
    case_table_find(cases, count, "fp8/outliers")->value[AT_SEED] = 7;
    case_table_find(cases, count, "fp8/outliers_not_rotated")->value[AT_SEED] = 0;
    case_table_find(cases, count, "fp8/one_block")->value[AT_SEED] = 0;
    /* not rotated, one large component of the keys would leave the others no bits */
    case_table_find(cases, count, "fp8/lowest_logits")->value[AT_SEED] = 7;
    case_table_find(cases, count, "fp8/steps_300")->value[AT_SEED] = 0;
    case_table_find(cases, count, "fp8/scale_subnormal")->value[AT_SEED] = 7;
    case_table_find(cases, count, "fp8/few_keys_17")->value[AT_SEED] = 1;
    return count;
}

/* Two items with the same outliers: the first is not rotated, the second is. */
static void vary(struct lesson_case *item, int index, struct rng *rng)
{
    if (item->part != PART_FP8 || item->extent[EX_PROPERTY] != PROPERTY_ROTATION) {
        attention_vary(item, index, rng);
        if (item->part == PART_FP8) item->value[AT_SEED] = index % 3 == 0 ? 0 : index;
        return;
    }
    static const int extents[] = {1, 1, 1, 64, 256, E4M3_COLUMNS};
    for (int i = 0; i <= AT_HEAD_DIM; i++) item->value[i] = item->extent[i] = extents[i];
    item->seed = rng_mix(item->seed, (uint64_t)(index / 2));
    item->value[AT_SEED] = index % 2 == 0 ? 0 : index;
}

/* The root mean square error of an output, compared with attention of the numbers before they were
 * rounded. */
static double root_mean_square(const struct lesson_case *item, const float *const *got)
{
    const int *extent = item->extent;
    struct ref_attention_shape shape = {extent[AT_BATCH],     extent[AT_HEADS],           extent[AT_KV_HEADS],
                                        extent[AT_Q_LEN],     extent[AT_KV_LEN],          extent[AT_HEAD_DIM],
                                        item->real[AT_SCALE], item->value[AT_CAUSAL] == 1};
    size_t elems = (size_t)extent[AT_Q_LEN] * E4M3_COLUMNS;
    double *out = malloc((elems + (size_t)extent[AT_KV_LEN]) * sizeof *out), squares = 0.0;
    if (out == NULL) return (double)NAN;
    struct ref_attention_result result = {.out = out};
    ref_attention(&shape, got[ATTENTION_Q], got[ATTENTION_K], got[ATTENTION_V], out + elems, &result);
    for (size_t i = 0; i < elems; i++) {
        double error = (double)got[ATTENTION_OUT][i] - out[i];
        squares += error * error;
    }
    free(out);
    return sqrt(squares / (double)elems);
}

static int holds(const struct lesson_case *item, const float *const *got, const struct lesson_case *before,
                 const float *const *got_before, char *reason, size_t size)
{
    if (item->part != PART_FP8 || item->extent[EX_PROPERTY] != PROPERTY_ROTATION)
        return attention_holds(item, got, before, got_before, reason, size);
    if (before == NULL || item->value[AT_SEED] == 0) return 1;
    double rotated = root_mean_square(item, got), not_rotated = root_mean_square(before, got_before);
    if (rotated * 2.0 <= not_rotated) return 1;
    snprintf(reason, size,
             "with outliers in two columns the output is off by %.2g in the root mean square, and by %.2g "
             "without the rotation of Q and K: it has to be half of that at most",
             rotated, not_rotated);
    return 0;
}

static const char *mistaken(struct lesson_case *item, int index)
{
    static const char *const words[] = {
        "as if Q and K were not rotated, though the seed is not 0: is it taken as a signed number?",
        "as if rotated rows were rounded to 16 bits before they become E4M3: rotated elements, up to 128 "
        "times larger, stay floats",
        "as if the highest bit of the seed were not there: it has 32 bits, and no sign",
        "l sums weights that were rounded to E4M3, as P is for its product: sum them before",
        "the scale of V is that of its first 4096 keys: it is that of all keys of a head"};
    const int64_t seed = item->value[AT_SEED];
    const int64_t taken[] = {0, seed | E4M3_ROTATED_STORED, seed & INT32_MAX, seed | E4M3_L_OF_ROUNDED,
                             item->value[AT_KV_LEN] > 4096 ? seed | E4M3_V_OF_4096 : seed};
    if (item->part != PART_FP8 || index >= (int)(sizeof taken / sizeof taken[0])) return NULL;
    if ((seed == 0 && index < 3) || taken[index] == seed) return "";
    item->value[AT_SEED] = taken[index];
    return words[index];
}

static int cases(struct lesson_case *cases, int capacity)
{
    static const struct attention_family families[] = {
        {.part = {-1, -1, -1, PART_F16}, .name = "f16", .dtype = DTYPE_F16, .tiled = ATTENTION_HOPPER_TILES},
        {.part = {-1, -1, -1, PART_BF16},
         .name = "bf16",
         .dtype = DTYPE_BF16,
         .tiled = ATTENTION_HOPPER_TILES},
        {.part = {-1, -1, -1, PART_FP8},
         .workspace = WORKSPACE_E4M3,
         .name = "fp8",
         .dtype = DTYPE_F16,
         .tiled = ATTENTION_E4M3_TILES}};
    int count = 0;
    for (int part = PART_F16; part <= PART_BF16; part++) {
        int first = count;
        count = attention_cases(&families[part], cases, count, capacity);
        count = add_own(families[part].name, OWN, sizeof OWN / sizeof OWN[0], cases, count, capacity);
        if (part == PART_BF16) count = attention_one_of_a_kind(cases, first, count);
        run_items(cases, first, count, part == PART_BF16 ? 12 : 36);
        count = case_table_add_old_device(cases, count, capacity, families[part].name, "head_dim_32",
                                          "old_device_and_head_dim_32");
    }
    count = add_fp8(&families[PART_FP8], cases, count, capacity);
    count =
        case_table_add_old_device(cases, count, capacity, "fp8", "head_dim_32", "old_device_and_head_dim_32");
    count = add_two_faults("bf16", "dtype_f16", "dtype_f16_and_head_dim_16", cases, count, capacity);
    count = add_two_faults("fp8", "dtype_f32", "dtype_f32_and_head_dim_16", cases, count, capacity);
    static const char *const long_on_simt[] = {"bf16/qwen3_8b_prefill_8",
                                               "f16/gqa_7_no_lse",
                                               "f16/gqa_6_no_lse",
                                               "f16/gqa_6_head_dim_64",
                                               "f16/gqa_7",
                                               "f16/gqa_7_head_dim_64",
                                               "f16/heads_and_tiles",
                                               "f16/heads_and_tiles_128",
                                               "f16/queries_255",
                                               "f16/queries_300",
                                               "bf16/tiles_of_a_block_causal"};
    for (int i = 0; i < count; i++)
        for (size_t k = 0; k < sizeof long_on_simt / sizeof long_on_simt[0]; k++)
            if (strcmp(cases[i].name, long_on_simt[k]) == 0) cases[i].devices = ON_GPU;
    return count;
}

const struct lesson lesson_16_hopper_attention = {
#include "checker/cases/described.h"
    ATTENTION_CASES, .vary = vary, .holds = holds, .mistaken = mistaken, .cases = cases,
};
