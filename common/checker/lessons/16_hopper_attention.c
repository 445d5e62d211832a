/**
 * @file 16_hopper_attention.c
 * @brief Lesson 16: FlashAttention-3's forward pass on Hopper, in f16 and in bf16, credited apart.
 */
#include "checker/cases/attention_cases.h"

enum { PART_F16, PART_BF16 };

#include <stdio.h>
#include <string.h>

#include "checker/cases/case_table.h"

/* Around tiles of 128 keys, and of 64 queries for head_dim 64, 128 for 128: there two consumers share them. Two stages, and what the
 * shared cases do not combine. */
static const struct own_case {
    const char *name;
    enum case_group group;
    unsigned devices;
    int batch, heads, kv_heads, q_len, kv_len, head_dim, causal;
    double scale;
    enum attention_distribution distribution;
} OWN[] = {
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
    {"block_per_tile_2100",            GROUP_EDGES,     ON_ANY,   1,      2,    1,     3,   2100, 128, 0,    0, DIST_NORMAL},
    {"blind_tile_causal",              GROUP_EDGES,     ON_ANY,   1,      1,    1,   200,     40,  64, 1,    0, DIST_NORMAL},
    {"blind_consumer_causal",          GROUP_EDGES,     ON_ANY,   1,      1,    1,   128,     64, 128, 1,    0, DIST_NORMAL},
    {"keys_15",                        GROUP_EDGES,     ON_ANY,   1,      1,    1,    16,     15,  64, 1,    0, DIST_NORMAL},
    {"keys_17_queries_7",              GROUP_EDGES,     ON_ANY,   1,      1,    1,     7,     17, 128, 1,    0, DIST_NORMAL},
    {"enormous_logits",                GROUP_NUMERICS,  ON_ANY,   1,      2,    2,    17,     65,  64, 0,  1e5, DIST_LARGE},
    {"enormous_logits_negative",       GROUP_NUMERICS,  ON_ANY,   1,      1,    1,     9,     70, 128, 1, -1e5, DIST_LARGE},
    {"enormous_logits_256",            GROUP_NUMERICS,  ON_ANY,   1,      1,    1,     9,    256, 128, 0, -1e5, DIST_LARGE},
    {"rising_520",                     GROUP_NUMERICS,  ON_ANY,   1,      1,    1,     9,    520, 128, 0,    0, DIST_RISING},
    {"falling_520",                    GROUP_NUMERICS,  ON_ANY,   1,      1,    1,     9,    520, 128, 0,    0, DIST_FALLING},
    {"infinite_causal",                GROUP_NUMERICS,  ON_ANY,   2,      4,    2,    13,     40, 128, 1,    0, DIST_INFINITE},
    {"infinite_256",                   GROUP_NUMERICS,  ON_ANY,   1,      1,    1,    13,    256, 128, 0,    0, DIST_INFINITE},
    {"nan_behind_mask_128",            GROUP_NUMERICS,  ON_ANY,   1,      2,    1,    70,     70, 128, 1,    0, DIST_NAN_HIDDEN},
    {"nan_behind_mask_150",            GROUP_NUMERICS,  ON_ANY,   1,      1,    1,   130,    150,  64, 1,    0, DIST_NAN_HIDDEN},
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

static int add_own(const char *part, struct lesson_case *cases, int count, int capacity)
{
    char like[LESSON_NAME];
    snprintf(like, sizeof like, "%s/square_64", part);
    const struct lesson_case *model = case_table_find(cases, count, like);
    for (size_t i = 0; i < sizeof OWN / sizeof OWN[0] && count < capacity; i++) {
        const struct own_case *own = &OWN[i];
        struct lesson_case *item = &cases[count++];
        *item = *model;
        snprintf(item->name, sizeof item->name, "%s/%s", part, own->name);
        item->group = own->group;
        item->devices = own->devices;
        item->distribution = (int)own->distribution;
        if (own->distribution != DIST_NORMAL) item->flags &= ~(unsigned)CASE_UNIT_SCALE;
        const int extent[] = {own->batch, own->heads, own->kv_heads, own->q_len, own->kv_len, own->head_dim};
        for (int e = 0; e <= AT_HEAD_DIM; e++) item->value[e] = item->extent[e] = extent[e];
        item->value[AT_CAUSAL] = own->causal;
        item->real[AT_SCALE] = own->scale;
        if (strncmp(own->name, "tiles_of_a_block", 16) == 0) item->flags |= CASE_SMALL_DEVICE;
    }
    return count;
}

/* A device that has no such instructions: nothing is launched, and of two faults the architecture comes last. */
static int add_old_device(const char *part, struct lesson_case *cases, int count, int capacity)
{
    static const struct {
        const char *like, *name;
    } rows[] = {{"square_64", "old_device"}, {"head_dim_32", "old_device_and_head_dim_32"}};
    for (int i = 0; i < 2 && count < capacity; i++) {
        char like[LESSON_NAME];
        snprintf(like, sizeof like, "%s/%s", part, rows[i].like);
        struct lesson_case *item = &cases[count];
        *item = *case_table_find(cases, count, like);
        count++;
        snprintf(item->name, sizeof item->name, "%s/%s", part, rows[i].name);
        item->group = GROUP_BAD_INPUT;
        item->weight = 1;
        item->devices = ON_SIMT;
        item->flags = CASE_OLD_DEVICE;
        if (item->expected == KERNEL_OK) item->expected = KERNEL_UNSUPPORTED_ARCHITECTURE;
    }
    return count;
}

/* The software device is slow. For bf16, whose kernel is that of f16 but for the conversions, every fourth of the cases at the edges,
 * every second of numerics and a share of the properties' items are enough; items of pairs stay pairs. */
static int fewer(struct lesson_case *cases, int first, int count, int bf16)
{
    int kept = first, edges = 0, numerics = 0;
    for (int i = first; i < count; i++) {
        int every = cases[i].flags & CASE_LAUNCH_ONLY || cases[i].distribution == DIST_OCTAVES ||
                    cases[i].distribution == DIST_MINUS_INFINITE;
        if (bf16 && !every && cases[i].group == GROUP_EDGES && edges++ % 4 != 0) continue;
        if (bf16 && !every && cases[i].group == GROUP_NUMERICS && numerics++ % 2 != 0) continue;
        cases[kept] = cases[i];
        int property = cases[kept].extent[EX_PROPERTY];
        if (cases[kept].group == GROUP_PROPERTIES &&
            (property == PROPERTY_SHAPES || property == PROPERTY_CAUSAL_PREFIX))
            cases[kept].repeat = bf16 ? 12 : 36;
        kept++;
    }
    return kept;
}

static int cases(struct lesson_case *cases, int capacity)
{
    static const struct attention_family families[] = {
        {.part = {-1, -1, -1, PART_F16}, .name = "f16", .dtype = DTYPE_F16, .tiled = ATTENTION_HOPPER_TILES},
        {.part = {-1, -1, -1, PART_BF16},
         .name = "bf16",
         .dtype = DTYPE_BF16,
         .tiled = ATTENTION_HOPPER_TILES}};
    int count = 0;
    for (int part = PART_F16; part <= PART_BF16; part++) {
        int first = count;
        count = attention_cases(&families[part], cases, count, capacity);
        count = add_own(families[part].name, cases, count, capacity);
        count = fewer(cases, first, count, part == PART_BF16);
        count = add_old_device(families[part].name, cases, count, capacity);
    }
    static const char *const long_on_simt[] = {"f16/qwen3_8b_decode_291",
                                               "bf16/qwen3_8b_decode_291",
                                               "bf16/qwen3_8b_prefill_8",
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
    for (size_t i = 0; i < sizeof long_on_simt / sizeof long_on_simt[0]; i++)
        case_table_find(cases, count, long_on_simt[i])->devices = ON_GPU;
    return count;
}

static void cost(const struct lesson_case *item, struct lesson_cost *cost)
{
    attention_cost(item, cost);
    cost->tensor_cores = 1;
}

const struct lesson lesson_16_hopper_attention = {
    .number = 16,
    .topic = "hopper_attention",
    .turns = "q k v",
    .title = "attention on Hopper: softmax under the products",
    .part_count = 2,
    .part = {{"f16", 60}, {"bf16", 40}},
    .least_architecture = 90,
    .last_architecture = 90,
    .vary = attention_vary,
    .buffers = attention_buffers,
    .fill = attention_fill,
    .units = attention_units,
    .unit_elems = attention_unit_elems,
    .expect = attention_expect,
    .intermediate = attention_intermediate,
    .holds = attention_holds,
    .guess = attention_guess,
    .trait = attention_trait,
    .cost = cost,
    .workspace_bytes = attention_workspace_bytes,
    .describe = attention_describe,
    .purpose = attention_purpose,
    .distributions = DIST_COUNT,
    .cases = cases,
};
