/**
 * @file 05_flash_attention_2.c
 * @brief Lesson 05: FlashAttention-2, in f32 and in f16 storage, credited apart.
 */
#include "checker/cases/attention_cases.h"

enum {
#include "description/parts.h"
};

#include <stdio.h>

#include "checker/cases/case_table.h"

/* Tiles of this lesson are larger than those of the shared cases: several tiles of queries and of keys. */
static const struct own_case {
    const char *like, *name; /* a case to copy, and the new one */
    enum case_group group;
    unsigned devices;
    int heads, kv_heads, q_len, kv_len, head_dim, causal;
} OWN[] = {
    /* clang-format off */
    /* like               name                    group        devices   heads  kv_h  q_len  kv_len  dim causal */
    {"square_64",         "two_tiles_65x129",     GROUP_EDGES, ON_ANY,      1,    1,    65,    129, 128, 0},
    {"square_64",         "two_tiles_causal_130", GROUP_EDGES, ON_ANY,      1,    1,   130,    130,  64, 1},
    {"square_64",         "blind_tile_causal",    GROUP_EDGES, ON_ANY,      1,    1,   200,     40,  32, 1},
    {"heads_16_len_4096", "heads_16_len_128",     GROUP_SPEED, ON_GPU,     16,   16,   128,    128,  64, 0},
    {"heads_16_len_4096", "heads_16_len_256",     GROUP_SPEED, ON_GPU,     16,   16,   256,    256,  64, 0},
    {"heads_16_len_4096", "heads_16_len_512",     GROUP_SPEED, ON_GPU,     16,   16,   512,    512,  64, 0},
    {"heads_16_len_4096", "heads_16_len_1024",    GROUP_SPEED, ON_GPU,     16,   16,  1024,   1024,  64, 0},
    {"heads_16_len_4096", "heads_16_len_8192",    GROUP_SPEED, ON_GPU,     16,   16,  8192,   8192,  64, 0},
    {"heads_16_len_4096", "heads_16_len_16384",   GROUP_SPEED, ON_GPU,     16,   16, 16384,  16384,  64, 0},
    {"heads_16_len_4096", "len_65536",            GROUP_SPEED, ON_GPU,      1,    1, 65536,  65536,  64, 0},
    {"heads_16_len_4096", "len_65536_causal",     GROUP_SPEED, ON_GPU,      1,    1, 65536,  65536,  64, 1},
    /* clang-format on */
};

static int add_own(const char *part, struct lesson_case *cases, int count, int capacity)
{
    for (size_t i = 0; i < sizeof OWN / sizeof OWN[0] && count < capacity; i++) {
        const struct own_case *own = &OWN[i];
        char like[LESSON_NAME];
        snprintf(like, sizeof like, "%s/%s", part, own->like);
        struct lesson_case *item = &cases[count];
        *item = *case_table_find(cases, count, like);
        count++;
        snprintf(item->name, sizeof item->name, "%s/%s", part, own->name);
        item->group = own->group;
        item->devices = own->devices;
        const int extent[] = {1, own->heads, own->kv_heads, own->q_len, own->kv_len, own->head_dim};
        for (int e = 0; e <= AT_HEAD_DIM; e++) item->value[e] = item->extent[e] = extent[e];
        item->value[AT_CAUSAL] = own->causal;
    }
    return count;
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
    count = add_own("f16", cases, count, capacity);
    /* A tile of queries of which one is there: slow on the software device, and f32 has shown it. */
    case_table_find(cases, count, "f16/qwen3_8b_decode_291")->devices = ON_GPU;
    return count;
}

const struct lesson lesson_05_flash_attention_2 = {
#include "checker/cases/described.h"
    ATTENTION_CALLBACKS,
    .cases = cases,
};
