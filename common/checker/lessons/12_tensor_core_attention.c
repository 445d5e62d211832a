/**
 * @file 12_tensor_core_attention.c
 * @brief Lesson 12: FlashAttention-2 on tensor cores, in f16 and in bf16, credited apart.
 */
#include "checker/cases/attention_cases.h"

enum { PART_F16, PART_BF16 };

#include <stdio.h>

#include "checker/cases/case_table.h"
#include "checker/cases/guess_causes.h"

/* head_dim 256, tiles of 64 and 128, and what the shared cases do not combine. */
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
    {"head_dim_256",              GROUP_BASIC,    ON_ANY,   1,      1,    1,    16,     16, 256, 0,  0, DIST_NORMAL},
    {"head_dim_256_tail",         GROUP_EDGES,    ON_ANY,   1,      2,    1,    33,     65, 256, 0,  0, DIST_NORMAL},
    {"head_dim_256_causal",       GROUP_EDGES,    ON_ANY,   1,      1,    1,    65,     70, 256, 1,  0, DIST_NORMAL},
    {"head_dim_256_gqa_3",        GROUP_EDGES,    ON_ANY,   2,      6,    2,     3,     63, 256, 1, -0.1, DIST_NORMAL},
    {"head_dim_256_decode",       GROUP_EDGES,    ON_ANY,   1,      4,    2,     1,    129, 256, 0,  0, DIST_NORMAL},
    {"head_dim_256_tiles",        GROUP_EDGES,    ON_ANY,   1,      1,    1,   130,     17, 256, 0,  0, DIST_NORMAL},
    {"two_tiles_65x129",          GROUP_EDGES,    ON_ANY,   1,      1,    1,    65,    129, 128, 0,  0, DIST_NORMAL},
    {"two_tiles_causal_130",      GROUP_EDGES,    ON_ANY,   1,      1,    1,   130,    130,  64, 1,  0, DIST_NORMAL},
    {"blind_tile_causal",         GROUP_EDGES,    ON_ANY,   1,      1,    1,   200,     40,  64, 1,  0, DIST_NORMAL},
    {"three_tiles_192",           GROUP_EDGES,    ON_ANY,   1,      1,    1,    17,    192,  64, 0,  0, DIST_NORMAL},
    {"keys_15",                   GROUP_EDGES,    ON_ANY,   1,      1,    1,    16,     15,  64, 1,  0, DIST_NORMAL},
    {"keys_16_queries_15",        GROUP_EDGES,    ON_ANY,   1,      1,    1,    15,     16,  64, 1,  0, DIST_NORMAL},
    {"keys_17_queries_7",         GROUP_EDGES,    ON_ANY,   1,      1,    1,     7,     17, 128, 1,  0, DIST_NORMAL},
    {"keys_8_queries_9",          GROUP_EDGES,    ON_ANY,   1,      1,    1,     9,      8,  64, 0,  0, DIST_NORMAL},
    {"enormous_logits",           GROUP_NUMERICS, ON_ANY,   1,      2,    2,    17,     65,  64, 0,  1e5, DIST_LARGE},
    {"enormous_logits_negative",  GROUP_NUMERICS, ON_ANY,   1,      1,    1,     9,     70, 128, 1, -1e5, DIST_LARGE},
    {"rising_256",                GROUP_NUMERICS, ON_ANY,   1,      1,    1,     9,    200, 256, 0,  0, DIST_RISING},
    {"infinite_causal",           GROUP_NUMERICS, ON_ANY,   2,      4,    2,    13,     40, 128, 1,  0, DIST_INFINITE},
    {"nan_behind_mask_128",       GROUP_NUMERICS, ON_ANY,   1,      2,    1,    70,     70, 128, 1,  0, DIST_NAN_HIDDEN},
    {"nan_behind_mask_256",       GROUP_NUMERICS, ON_ANY,   1,      1,    1,    20,     40, 256, 1,  0, DIST_NAN_HIDDEN},
    {"last_value_hidden_400",     GROUP_NUMERICS, ON_ANY,   1,      8,    8,     2,    400,  64, 1,  0, DIST_NAN_HIDDEN},
    {"nan_v_causal",              GROUP_NUMERICS, ON_ANY,   1,      2,    2,    20,     24,  64, 1,  0, DIST_NAN_V},
    {"prefill_8192_d64",          GROUP_SPEED,    ON_GPU,   2,     16,   16,  8192,   8192,  64, 0,  0, DIST_NORMAL},
    {"prefill_8192_d64_causal",   GROUP_SPEED,    ON_GPU,   2,     16,   16,  8192,   8192,  64, 1,  0, DIST_NORMAL},
    {"prefill_8192_d128",         GROUP_SPEED,    ON_GPU,   2,     16,   16,  8192,   8192, 128, 0,  0, DIST_NORMAL},
    {"prefill_8192_d128_causal",  GROUP_SPEED,    ON_GPU,   2,     16,   16,  8192,   8192, 128, 1,  0, DIST_NORMAL},
    {"prefill_8192_d256",         GROUP_SPEED,    ON_GPU,   2,      8,    8,  8192,   8192, 256, 0,  0, DIST_NORMAL},
    {"prefill_2048_d64",          GROUP_SPEED,    ON_GPU,   8,     16,   16,  2048,   2048,  64, 0,  0, DIST_NORMAL},
    {"prefill_2048_d128_causal",  GROUP_SPEED,    ON_GPU,   8,     16,   16,  2048,   2048, 128, 1,  0, DIST_NORMAL},
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

static int cases(struct lesson_case *cases, int capacity)
{
    static const struct attention_family families[] = {
        {.part = {-1, -1, -1, PART_F16}, .name = "f16", .dtype = DTYPE_F16, .tiled = ATTENTION_TENSOR_TILES},
        {.part = {-1, -1, -1, PART_BF16},
         .name = "bf16",
         .dtype = DTYPE_BF16,
         .tiled = ATTENTION_TENSOR_TILES}};
    int count = 0;
    for (int part = PART_F16; part <= PART_BF16; part++) {
        count = attention_cases(&families[part], cases, count, capacity);
        count = add_own(families[part].name, cases, count, capacity);
        count = add_old_device(families[part].name, cases, count, capacity);
    }
    /* The software device is slow where a tile of 128 queries holds one, and for bf16, whose kernel is that of f16 but for
     * the conversions, fewer random shapes do. */
    case_table_find(cases, count, "f16/qwen3_8b_decode_291")->devices = ON_GPU;
    case_table_find(cases, count, "bf16/qwen3_8b_decode_291")->devices = ON_GPU;
    case_table_find(cases, count, "bf16/property_random_shapes")->repeat = 32;
    case_table_find(cases, count, "bf16/property_causal_prefix")->repeat = 64;
    return count;
}

static void cost(const struct lesson_case *item, struct lesson_cost *cost)
{
    attention_cost(item, cost);
    cost->tensor_cores = 1;
}

const struct lesson lesson_12_tensor_core_attention = {
    .number = 12,
    .topic = "tensor_core_attention",
    .turns = "q k v",
    .title = "attention on tensor cores: fragments that fit",
    .part_count = 2,
    .part = {{"f16", 60}, {"bf16", 40}},
    .least_architecture = 80,
    .vary = attention_vary,
    .buffers = attention_buffers,
    .fill = attention_fill,
    .units = attention_units,
    .unit_elems = attention_unit_elems,
    .expect = attention_expect,
    .intermediate = attention_intermediate,
    .holds = attention_holds,
    .guess = attention_guess,
    .about = attention_about,
    .trait = attention_trait,
    .cost = cost,
    .workspace_bytes = attention_workspace_bytes,
    .describe = attention_describe,
    .purpose = attention_purpose,
    .distributions = DIST_COUNT,
    .cases = cases,
};
