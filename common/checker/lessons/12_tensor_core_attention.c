/**
 * @file 12_tensor_core_attention.c
 * @brief Lesson 12: FlashAttention-2 on tensor cores, in f16 and in bf16, credited apart.
 */
#include "checker/cases/attention_cases.h"

enum {
#include "description/parts.h"
};

#include "checker/cases/case_table.h"

/* head_dim 256, tiles of 64 and 128, and what the shared cases do not combine. */
static const struct attention_own_case OWN[] = {
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
        const char *name = families[part].name;
        count =
            attention_own_cases(name, "square_64", OWN, sizeof OWN / sizeof OWN[0], cases, count, capacity);
        /* With two faults at once, the architecture is checked last. */
        count = case_table_add_old_device(cases, count, capacity, name, "head_dim_32",
                                          "old_device_and_head_dim_32");
    }
    return count;
}

const struct lesson lesson_12_tensor_core_attention = {
#include "checker/cases/described.h"
    ATTENTION_CALLBACKS,
    .cases = cases,
};
