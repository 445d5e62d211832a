/**
 * @file 05_flash_attention_2.c
 * @brief Lesson 05: FlashAttention-2, in f32 and in f16 storage, credited apart.
 */
#include "checker/cases/attention_cases.h"

enum {
#include "description/parts.h"
};

#include "checker/cases/case_table.h"

/* Tiles of this lesson are larger than those of the shared cases: here several tiles of queries and of
 * keys. */
static const struct attention_own_case TILES[] = {
    /* clang-format off */
    /* name                   group        devices   b   heads  kv_h  q_len  kv_len  dim causal scale  data */
    {"two_tiles_65x129",      GROUP_EDGES, ON_ANY,   1,      1,    1,    65,    129,  128, 0, 0, DIST_NORMAL},
    {"two_tiles_causal_130",  GROUP_EDGES, ON_ANY,   1,      1,    1,   130,    130,   64, 1, 0, DIST_NORMAL},
    {"blind_tile_causal",     GROUP_EDGES, ON_ANY,   1,      1,    1,   200,     40,   32, 1, 0, DIST_NORMAL},
    /* clang-format on */
};

/* Time over the length of the sequences. */
static const struct attention_own_case LENGTHS[] = {
    /* clang-format off */
    /* name                   group        devices   b   heads  kv_h  q_len  kv_len  dim causal scale  data */
    {"heads_16_len_128",      GROUP_SPEED, ON_GPU,   1,     16,   16,   128,    128,   64, 0, 0, DIST_NORMAL},
    {"heads_16_len_256",      GROUP_SPEED, ON_GPU,   1,     16,   16,   256,    256,   64, 0, 0, DIST_NORMAL},
    {"heads_16_len_512",      GROUP_SPEED, ON_GPU,   1,     16,   16,   512,    512,   64, 0, 0, DIST_NORMAL},
    {"heads_16_len_1024",     GROUP_SPEED, ON_GPU,   1,     16,   16,  1024,   1024,   64, 0, 0, DIST_NORMAL},
    {"heads_16_len_8192",     GROUP_SPEED, ON_GPU,   1,     16,   16,  8192,   8192,   64, 0, 0, DIST_NORMAL},
    {"heads_16_len_16384",    GROUP_SPEED, ON_GPU,   1,     16,   16, 16384,  16384,   64, 0, 0, DIST_NORMAL},
    {"len_65536",             GROUP_SPEED, ON_GPU,   1,      1,    1, 65536,  65536,   64, 0, 0, DIST_NORMAL},
    {"len_65536_causal",      GROUP_SPEED, ON_GPU,   1,      1,    1, 65536,  65536,   64, 1, 0, DIST_NORMAL},
    /* clang-format on */
};

static int add_own(const char *part, struct lesson_case *cases, int count, int capacity)
{
    count =
        attention_own_cases(part, "square_64", TILES, sizeof TILES / sizeof TILES[0], cases, count, capacity);
    return attention_own_cases(part, "heads_16_len_4096", LENGTHS, sizeof LENGTHS / sizeof LENGTHS[0], cases,
                               count, capacity);
}

static int cases(struct lesson_case *cases, int capacity)
{
    static const struct attention_family f32 = {
        .part = {-1, -1, -1, PART_F32}, .name = "f32", .dtype = DTYPE_F32, .tiled = 1};
    static const struct attention_family f16 = {
        .part = {-1, -1, -1, PART_F16}, .name = "f16", .dtype = DTYPE_F16, .tiled = 1};
    int count = attention_cases(&f32, cases, 0, capacity);
    count = add_own("f32", cases, count, capacity);
    count = attention_cases(&f16, cases, count, capacity);
    return add_own("f16", cases, count, capacity);
}

const struct lesson lesson_05_flash_attention_2 = {
#include "checker/cases/described.h"
    ATTENTION_CALLBACKS,
    .cases = cases,
};
