/**
 * @file 06_paged_attention.c
 * @brief Lesson 06: the check of a block table, and decode attention over pages in two ways.
 */
#include "contracts/paged_attention_args.h"
#include "checker/cases/paged_cases.h"
#include "protocol/wire.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checker/cases/case_table.h"

enum { V = 1 << PART_VALIDATE, A = 1 << PART_V1 | 1 << PART_V2, EVERY = A | V };

/** How large the table and the cache are. */
enum memory {
    USUAL,
    TIGHT,    /* neither the table nor the cache is larger than what is used */
    WIDE,     /* rows of the table are far longer than max_context_len asks for */
    SPARSE,   /* the cache has pages for the lengths, not for max_context_len */
    FAR_PAGES /* the cache is so large that offsets into it do not fit in 32 bits */
};

enum { NO_STATUS = -1 }; /* not a value of enum kernel_status */

/** What few cases have. */
struct special {
    enum pages pages;
    enum fault fault; /* of the table or the lengths */
    enum memory memory;
    int status;   /* what device_status holds before the call */
    double scale; /* 0: the usual one */
    int alibi;
    int captured;  /* the calls are captured into a graph */
    int validated; /* the validating kernel comes first */
    int few_sms;   /* the software device has few SMs: each block gets more keys */
    int gpu_only;
};

/** One line: the same shape and data for every part in the set. */
struct table_row {
    const char *name;
    enum case_group group;
    unsigned parts;
    int batch, heads, kv_heads, head_dim, block_size, max_context_len;
    enum lengths lengths;
    enum distribution distribution;
    struct special special;
};

static const struct table_row TABLE[] = {
    /* clang-format off */
    /* name                     group           parts          batch  heads  kv_h  dim  page   keys lengths            data            special */
    {"one_key",                 GROUP_BASIC,    A,                1,     1,    1,  32,   16,     1, FULL,              NORMAL,         {0}},
    {"one_page",                GROUP_BASIC,    A,                1,     2,    2,  64,   16,    16, FULL,              NORMAL,         {0}},
    {"in_order",                GROUP_BASIC,    A,                2,     2,    2,  64,   16,    80, FULL,              NORMAL,         {.pages = IN_ORDER}},
    {"shuffled",                GROUP_BASIC,    A,                2,     4,    2,  64,   16,   100, FULL,              NORMAL,         {0}},
    {"head_dim_32",             GROUP_BASIC,    A,                2,     4,    2,  32,   16,    70, FULL,              NORMAL,         {0}},
    {"head_dim_128",            GROUP_BASIC,    A,                2,     4,    2, 128,   16,    70, FULL,              NORMAL,         {0}},
    {"block_size_32",           GROUP_BASIC,    A,                2,     4,    2,  64,   32,   100, FULL,              NORMAL,         {0}},
    {"mixed_lengths",           GROUP_BASIC,    A,                5,     4,    2,  64,   16,   200, MIXED,             NORMAL,         {0}},

    {"length_15",               GROUP_EDGES,    A,                1,     2,    1,  64,   16,    15, FULL,              NAN_REST,       {0}},
    {"length_17",               GROUP_EDGES,    A,                1,     2,    1,  64,   16,    17, FULL,              NAN_REST,       {0}},
    {"length_31_of_32",         GROUP_EDGES,    A,                1,     2,    1,  64,   32,    31, FULL,              NAN_REST,       {0}},
    {"length_33_of_32",         GROUP_EDGES,    A,                1,     2,    1, 128,   32,    33, FULL,              NAN_REST,       {0}},
    {"length_63",               GROUP_EDGES,    A,                1,     2,    1,  32,   16,    63, FULL,              NAN_REST,       {0}},
    {"length_65",               GROUP_EDGES,    A,                1,     2,    1, 128,   16,    65, FULL,              NAN_REST,       {.memory = TIGHT}},
    {"length_127",              GROUP_EDGES,    A,                1,     2,    1,  64,   16,   127, FULL,              NAN_REST,       {0}},
    {"length_129",              GROUP_EDGES,    A,                1,     2,    1,  64,   32,   129, FULL,              NAN_REST,       {.memory = TIGHT}},
    {"length_331",              GROUP_EDGES,    A,                1,     2,    1,  64,   16,   331, FULL,              NAN_REST,       {.memory = TIGHT}},
    {"length_4161",             GROUP_EDGES,    A,                1,     1,    1,  32,   16,  4161, FULL,              NAN_REST,       {0}},
    {"length_16641",            GROUP_EDGES,    A,                1,     2,    1,  32,   32, 16641, FULL,              NAN_REST,       {.alibi = 1}},
    /* A v1 that keeps all scores in shared memory has no room for this many. */
    {"length_66001",            GROUP_EDGES,    1 << PART_V2,     1,     1,    1,  32,   32, 66001, FULL,              NAN_REST,       {0}},
    {"around_partitions",       GROUP_EDGES,    A,                8,     1,    1,  32,   16,  1025, AROUND_PARTITIONS, NAN_REST,       {0}},
    {"few_sms",                 GROUP_EDGES,    A,                2,     4,    2,  32,   16,   400, MIXED,             NAN_REST,       {.few_sms = 1, .alibi = 1}},
    {"promised_32768",          GROUP_EDGES,    A,                3,     2,    1,  32,   32, 32768, AROUND_PAGES,      NAN_REST,       {.memory = SPARSE}},
    {"around_pages",            GROUP_EDGES,    A,                8,     2,    1,  64,   16,    70, AROUND_PAGES,      NAN_REST,       {0}},
    {"around_pages_of_32",      GROUP_EDGES,    A,                8,     4,    4,  32,   32,   140, AROUND_PAGES,      NAN_REST,       {0}},
    {"no_keys",                 GROUP_EDGES,    A,                2,     2,    2,  64,   16,    40, ALL_EMPTY,         NAN_REST,       {0}},
    {"some_without_keys",       GROUP_EDGES,    A,                4,     2,    2, 128,   16,   200, SOME_EMPTY,        NAN_REST,       {.memory = TIGHT}},
    {"shorter_than_promised",   GROUP_EDGES,    A,                3,     2,    1,  64,   16,   500, AROUND_PAGES,      NAN_REST,       {0}},
    {"shared_prefix",           GROUP_EDGES,    A,                4,     4,    2,  64,   16,   150, MIXED,             NAN_REST,       {.pages = SHARED_PREFIX}},
    {"pages_reversed",          GROUP_EDGES,    A,                2,     2,    1,  64,   16,    90, MIXED,             NAN_REST,       {.pages = REVERSED, .memory = WIDE}},
    {"page_twice",              GROUP_EDGES,    A,                2,     2,    1,  64,   16,    90, MIXED,             NAN_REST,       {.pages = FIRST_TWICE}},
    {"pages_past_32_bits",      GROUP_EDGES,    A,                2,     4,    2, 128,   16,    90, MIXED,             NAN_REST,       {.memory = FAR_PAGES}},
    {"shared_prefix_32",        GROUP_EDGES,    A,                3,     4,    2, 128,   32,   150, MIXED,             NAN_REST,       {.pages = SHARED_PREFIX}},
    {"gqa_2",                   GROUP_EDGES,    A,                2,     4,    2, 128,   16,    90, MIXED,             NAN_REST,       {0}},
    {"gqa_3",                   GROUP_EDGES,    A,                2,     6,    2,  64,   16,    90, MIXED,             NAN_REST,       {0}},
    {"gqa_4",                   GROUP_EDGES,    A,                2,     8,    2, 128,   16,    90, MIXED,             NAN_REST,       {0}},
    {"gqa_5",                   GROUP_EDGES,    A,                1,    15,    3,  64,   32,    40, FULL,              NAN_REST,       {.alibi = 1}},
    {"gqa_6",                   GROUP_EDGES,    A,                1,     6,    1,  32,   16,    40, FULL,              NAN_REST,       {0}},
    {"gqa_7",                   GROUP_EDGES,    A,                1,    14,    2, 128,   16,    75, FULL,              NAN_REST,       {0}},
    {"gqa_8",                   GROUP_EDGES,    A,                2,    16,    2,  64,   16,    90, MIXED,             NAN_REST,       {.alibi = 1}},
    {"gqa_8_dim_32",            GROUP_EDGES,    A,                2,     8,    1,  32,   32,    90, MIXED,             NAN_REST,       {0}},
    {"gqa_9",                   GROUP_EDGES,    A,                1,     9,    1, 128,   16,    40, FULL,              NAN_REST,       {0}},
    {"gqa_11",                  GROUP_EDGES,    A,                1,    22,    2,  64,   16,    75, FULL,              NAN_REST,       {.alibi = 1}},
    {"gqa_17",                  GROUP_EDGES,    A,                1,    17,    1,  32,   16,    40, FULL,              NAN_REST,       {.alibi = 1}},
    /* Falcon 7B */
    {"gqa_71",                  GROUP_EDGES,    A,                1,    71,    1,  64,   16,    20, FULL,              NAN_REST,       {0}},
    {"kv_heads_5",              GROUP_EDGES,    A,                2,    10,    5,  32,   16,    40, MIXED,             NAN_REST,       {0}},
    {"batch_67",                GROUP_EDGES,    A,               67,     1,    1,  32,   16,    33, MIXED,             NAN_REST,       {0}},
    {"alibi",                   GROUP_EDGES,    A,                3,     4,    2,  64,   16,   130, MIXED,             NORMAL,         {.alibi = 1}},
    {"alibi_128",               GROUP_EDGES,    A,                2,     8,    2, 128,   32,   130, MIXED,             NORMAL,         {.alibi = 1}},
    {"alibi_32",                GROUP_EDGES,    A,                2,     2,    2,  32,   16,   130, MIXED,             NORMAL,         {.alibi = 1}},
    /* The slope times a position would overflow; times the distance to the last token, it hides all but that. */
    {"alibi_steep",             GROUP_EDGES,    A,                2,     4,    2,  32,   16,   100, FULL,              STEEP,          {.alibi = 1}},
    {"scale_explicit",          GROUP_EDGES,    A,                2,     2,    1,  64,   16,    50, FULL,              NORMAL,         {.scale = 0.25}},
    {"scale_minus_0",           GROUP_EDGES,    A,                2,     2,    1,  64,   16,    50, FULL,              NORMAL,         {.scale = -0.0}},
    {"scale_negative",          GROUP_EDGES,    A,                2,     2,    1,  64,   16,    50, FULL,              NORMAL,         {.scale = -0.5}},
    {"captured",                GROUP_EDGES,    A,                2,     4,    2,  64,   16,   100, MIXED,             NAN_REST,       {.captured = 1, .validated = 1}},
    {"validated",               GROUP_EDGES,    A,                2,     4,    2,  64,   16,   100, MIXED,             NAN_REST,       {.validated = 1}},
    {"known_to_be_wrong",       GROUP_EDGES,    A,                2,     4,    2,  64,   16,   100, MIXED,             NORMAL,         {.fault = ENTRY_HUGE, .status = KERNEL_INVALID_BLOCK_TABLE}},
    {"known_to_be_wrong_empty", GROUP_EDGES,    A,                2,     4,    2, 128,   16,   100, ALL_EMPTY,         NORMAL,         {.fault = LENGTH_NEGATIVE, .status = KERNEL_INVALID_BLOCK_TABLE}},
    {"another_error",           GROUP_EDGES,    A,                2,     4,    2,  64,   16,   100, MIXED,             NORMAL,         {.status = KERNEL_CUDA_ERROR}},
    {"status_minus_1",          GROUP_EDGES,    A,                2,     4,    2,  32,   16,   100, MIXED,             NORMAL,         {.status = NO_STATUS}},
    {"found_to_be_wrong",       GROUP_EDGES,    A,                2,     4,    2, 128,   16,   100, MIXED,             NORMAL,         {.fault = ENTRY_NEGATIVE, .validated = 1}},
    {"found_too_long",          GROUP_EDGES,    A,                2,     4,    2,  32,   16,    90, FULL,              NORMAL,         {.fault = LENGTH_TOO_LONG, .validated = 1}},
    {"wrong_and_captured",      GROUP_EDGES,    A,                2,     4,    2,  64,   16,   100, MIXED,             NORMAL,         {.fault = ENTRY_ONE_TOO_HIGH, .captured = 1, .validated = 1}},
    {"batch_33",                GROUP_EDGES,    A,               33,     8,    2, 128,   16,   700, MIXED,             NAN_REST,       {.gpu_only = 1, .alibi = 1}},
    {"lengths_1_to_32768",      GROUP_EDGES,    A,                8,     8,    2,  64,   16, 32768, MIXED,             NAN_REST,       {.gpu_only = 1}},

    {"large_logits",            GROUP_NUMERICS, A,                2,     4,    2,  64,   16,   100, FULL,              LARGE,          {0}},
    {"equal_scores",            GROUP_NUMERICS, A,                1,     2,    2,  32,   16,  1500, FULL,              EQUAL,          {0}},
    {"rising_scores",           GROUP_NUMERICS, A,                2,     4,    2,  64,   16,   200, FULL,              RISING,         {0}},
    {"falling_scores",          GROUP_NUMERICS, A,                2,     4,    2,  64,   16,   200, FULL,              FALLING,        {0}},
    {"dominant_key",            GROUP_NUMERICS, A,                2,     4,    2,  64,   16,   200, FULL,              DOMINANT,       {0}},
    {"nan_key",                 GROUP_NUMERICS, A,                2,     4,    2,  64,   16,   100, FULL,              NAN_KEY,        {0}},
    {"nan_value",               GROUP_NUMERICS, A,                2,     4,    2,  64,   16,   100, FULL,              NAN_VALUE,      {0}},
    {"nan_value_weightless",    GROUP_NUMERICS, A,                2,     4,    2,  64,   16,   100, FULL,              NAN_WEIGHTLESS, {0}},
    /* The weights of whole partitions become 0. */
    {"nan_value_overtaken",     GROUP_NUMERICS, A,                2,     2,    1,  64,   16,   600, FULL,              NAN_OVERTAKEN,  {0}},
    {"infinite_key",            GROUP_NUMERICS, A,                2,     8,    2,  64,   16,   100, FULL,              INFINITE_KEY,   {0}},
    {"infinite_value",          GROUP_NUMERICS, A,                2,     8,    2,  64,   16,   100, FULL,              INFINITE_VALUE, {0}},
    {"large_values",            GROUP_NUMERICS, A,                2,     4,    2,  64,   16,   200, FULL,              LARGE_VALUES,   {0}},
    {"scores_below",            GROUP_NUMERICS, A,                2,     4,    2,  64,   16,   200, MIXED,             BELOW,          {0}},
    {"faint_weights",           GROUP_NUMERICS, A,                2,     2,    1,  64,   16,   200, FULL,              FAINT,          {0}},
    {"faint_parts",             GROUP_NUMERICS, A,                3,     2,    1,  64,   16,   512, FULL,              FAINT_PARTS,    {0}},
    {"lowest_scores",           GROUP_NUMERICS, A,                2,     2,    1,  64,   16,   200, MIXED,             LOWEST,         {.scale = 0x1p90}},
    {"alibi_outweighed",        GROUP_NUMERICS, A,                2,     4,    2,  64,   16,   130, MIXED,             OUTWEIGHED,     {.alibi = 1}},
    {"faint_weights_32",        GROUP_NUMERICS, A,                1,     3,    1, 128,   32,   330, FULL,              FAINT,          {0}},

    {"sound",                   GROUP_BASIC,    V,                4,     2,    1,  32,   16,   100, MIXED,             NORMAL,         {0}},
    {"sound_32",                GROUP_BASIC,    V,                4,     2,    1,  32,   32,   100, MIXED,             NORMAL,         {.pages = SHARED_PREFIX}},
    {"entry_negative",          GROUP_BASIC,    V,                4,     2,    1,  32,   16,   100, MIXED,             NORMAL,         {.fault = ENTRY_NEGATIVE}},
    {"entry_one_too_high",      GROUP_BASIC,    V,                4,     2,    1,  32,   16,   100, MIXED,             NORMAL,         {.fault = ENTRY_ONE_TOO_HIGH}},

    {"entry_huge",              GROUP_EDGES,    V,                4,     2,    1,  32,   32,   100, MIXED,             NORMAL,         {.fault = ENTRY_HUGE}},
    {"last_entry_lowest",       GROUP_EDGES,    V,                5,     2,    1,  32,   16,    97, FULL,              NORMAL,         {.fault = LAST_ENTRY_LOWEST}},
    {"entry_in_the_middle",     GROUP_EDGES,    V,                9,     2,    1,  32,   16,   150, FULL,              NORMAL,         {.fault = ENTRY_IN_THE_MIDDLE}},
    {"length_huge",             GROUP_EDGES,    V,                4,     2,    1,  32,   16,   100, MIXED,             NORMAL,         {.fault = LENGTH_HUGE}},
    /* Lengths that are wrong although all entries are right: no entry shows the fault. */
    {"length_lowest",           GROUP_EDGES,    V,                7,     2,    1,  32,   16,   100, FULL,              NORMAL,         {.fault = LENGTH_LOWEST}},
    {"length_negative",         GROUP_EDGES,    V,                4,     2,    1,  32,   16,   100, FULL,              NORMAL,         {.fault = LENGTH_NEGATIVE}},
    {"length_too_long",         GROUP_EDGES,    V,                4,     2,    1,  32,   16,   100, FULL,              NORMAL,         {.fault = LENGTH_TOO_LONG}},
    {"tight",                   GROUP_EDGES,    V,                3,     2,    1,  32,   16,    80, FULL,              NORMAL,         {.memory = TIGHT}},
    {"wide",                    GROUP_EDGES,    V,                5,     2,    1,  32,   32,    80, MIXED,             NORMAL,         {.memory = WIDE, .pages = REVERSED}},
    {"another_error_before",    GROUP_EDGES,    V,                2,     2,    1,  32,   16,    40, MIXED,             NORMAL,         {.status = KERNEL_CUDA_ERROR}},
    {"batch_1100",              GROUP_EDGES,    V,             1100,     1,    1,  32,   16,  1100, FULL,              NORMAL,         {.fault = LAST_ENTRY_LOWEST}},
    {"pages_1100",              GROUP_EDGES,    V,                1,     1,    1,  32,   16, 17600, FULL,              NORMAL,         {.fault = LAST_ENTRY_LOWEST}},
    {"no_keys",                 GROUP_EDGES,    V,                3,     2,    1,  32,   16,   100, ALL_EMPTY,         NORMAL,         {0}},
    {"around_pages",            GROUP_EDGES,    V,                8,     2,    1,  32,   16,    70, AROUND_PAGES,      NORMAL,         {0}},
    {"wrong_before_now_sound",  GROUP_EDGES,    V,                4,     2,    1,  32,   16,   100, MIXED,             NORMAL,         {.status = KERNEL_INVALID_BLOCK_TABLE}},
    {"captured",                GROUP_EDGES,    V,                4,     2,    1,  32,   16,   100, MIXED,             NORMAL,         {.fault = ENTRY_NEGATIVE, .captured = 1}},

    {"qwen3_8b_291",            GROUP_SPEED,    A,                1,    32,    8, 128,   16,   291, FULL,              NORMAL,         {0}},
    {"qwen3_8b_4096",           GROUP_SPEED,    A,                1,    32,    8, 128,   16,  4096, FULL,              CHEAP,          {.gpu_only = 1}},
    {"qwen3_8b_32768",          GROUP_SPEED,    A,                1,    32,    8, 128,   16, 32768, FULL,              CHEAP,          {.gpu_only = 1}},
    {"qwen3_8b_4096_batch_16",  GROUP_SPEED,    A,               16,    32,    8, 128,   16,  4096, FULL,              CHEAP,          {.gpu_only = 1}},
    {"qwen3_8b_4096_batch_64",  GROUP_SPEED,    A,               64,    32,    8, 128,   16,  4096, FULL,              CHEAP,          {.gpu_only = 1}},
    /* clang-format on */
};

enum { NONE = -1 };

static const struct bad_argument BAD[] = {
    /* clang-format off */
    /* name                              parts  expected                  at                           value null buffer   misaligned      by dtype */
    {"sound_arguments",                  EVERY, KERNEL_OK,                NONE,                           0, NONE,         NONE,           0, NONE},
    {"heads_not_divisible",              EVERY, KERNEL_INVALID_DIMENSION, PA_KV_HEADS,                    3, NONE,         NONE,           0, NONE},
    {"head_dim_48",                      EVERY, KERNEL_INVALID_DIMENSION, PA_HEAD_DIM,                   48, NONE,         NONE,           0, NONE},
    {"head_dim_256",                     EVERY, KERNEL_INVALID_DIMENSION, PA_HEAD_DIM,                  256, NONE,         NONE,           0, NONE},
    {"block_size_8",                     EVERY, KERNEL_INVALID_DIMENSION, PA_BLOCK_SIZE,                  8, NONE,         NONE,           0, NONE},
    {"block_size_24",                    EVERY, KERNEL_INVALID_DIMENSION, PA_BLOCK_SIZE,                 24, NONE,         NONE,           0, NONE},
    {"block_size_64",                    EVERY, KERNEL_INVALID_DIMENSION, PA_BLOCK_SIZE,                 64, NONE,         NONE,           0, NONE},
    {"max_context_len_beyond_table",     EVERY, KERNEL_INVALID_DIMENSION, PA_MAX_CONTEXT_LEN,            65, NONE,         NONE,           0, NONE},
    {"batch_overflow",                   EVERY, KERNEL_INVALID_DIMENSION, PA_BATCH,                 1 << 30, NONE,         NONE,           0, NONE},
    {"heads_overflow",                   EVERY, KERNEL_INVALID_DIMENSION, PA_HEADS,                 1 << 30, NONE,         NONE,           0, NONE},
    {"dtype_f32",                        EVERY, KERNEL_UNSUPPORTED_DTYPE, PA_DTYPE,               DTYPE_F32, NONE,         NONE,           0, NONE},
    {"dtype_bf16",                       EVERY, KERNEL_UNSUPPORTED_DTYPE, PA_DTYPE,              DTYPE_BF16, NONE,         NONE,           0, NONE},
    /* Several faults: the first one by the contract decides. */
    {"head_dim_48_and_misaligned_q",     EVERY, KERNEL_INVALID_DIMENSION, PA_HEAD_DIM,                   48, NONE,         PA_Q,           8, NONE},
    {"f32_and_misaligned_out",           EVERY, KERNEL_UNSUPPORTED_DTYPE, NONE,                           0, NONE,         PA_OUT,         8, DTYPE_F32},
    /* clang-format on */
};

enum { BAD_COUNT = sizeof BAD / sizeof BAD[0] };

static const char *const PART_NAME[] = {
#include "description/part_names.h"
};

/* ---- cases
 * ----------------------------------------------------------------------------------------------- */

/* Computes the numbers that follow from batch, block_size and max_context_len, and sets all arguments of
 * the kernel. */
static void settle(struct lesson_case *item)
{
    int pages = (item->extent[PA_MAX_CONTEXT_LEN] - 1) / item->extent[PA_BLOCK_SIZE] + 1;
    item->extent[PA_MAX_BLOCKS] = pages + 1;
    item->extent[PA_NUM_BLOCKS] = item->extent[PA_BATCH] * pages + SPARE_PAGES;
    for (int i = 0; i <= PA_MAX_CONTEXT_LEN; i++) item->value[i] = item->extent[i];
    item->value[PA_DTYPE] = DTYPE_F16;
}

/* Table and cache of another size than settle() gives them. */
static void resize(struct lesson_case *item, enum memory memory)
{
    enum { PAGES_AROUND = 4 /* pages per sequence that AROUND_PAGES needs at most */, FAR = (1 << 20) + 5 };
    int pages = item->extent[PA_MAX_BLOCKS] - 1, batch = item->extent[PA_BATCH];
    if (memory == TIGHT) {
        item->extent[PA_MAX_BLOCKS] = pages;
        item->extent[PA_NUM_BLOCKS] = batch * pages;
    }
    if (memory == WIDE) item->extent[PA_MAX_BLOCKS] = 3 * pages + 7;
    if (memory == SPARSE) {
        if (item->extent[EX_LENGTHS] != AROUND_PAGES)
            abort(); /* other lengths may need all the pages promised */
        item->extent[PA_NUM_BLOCKS] = batch * PAGES_AROUND + SPARE_PAGES;
    }
    item->value[PA_MAX_BLOCKS] = item->extent[PA_MAX_BLOCKS];
    item->value[PA_FIRST_PAGE] = memory == FAR_PAGES ? FAR : 0;
    item->value[PA_NUM_BLOCKS] = item->extent[PA_NUM_BLOCKS] + item->value[PA_FIRST_PAGE];
}

/* Marks what must stay unchanged although the call succeeds: out, unless attention ran. */
static void settle_outcome(struct lesson_case *item)
{
    int refused = item->extent[EX_STATUS] != KERNEL_OK || item->extent[EX_BREAK] != SOUND;
    item->untouched = item->part == PART_VALIDATE || refused ? 1u << PA_OUT : 0;
    /* a status that is bad before the call forbids to read what it may be about */
    item->unread = item->part != PART_VALIDATE && item->extent[EX_STATUS] != KERNEL_OK
                       ? 1u << PA_TABLE | 1u << PA_K | 1u << PA_V
                       : 0;
}

/* What follows from extents that were changed: more sequences need more pages. */
static void settle_again(struct lesson_case *item)
{
    const int pages = (item->extent[PA_MAX_CONTEXT_LEN] - 1) / item->extent[PA_BLOCK_SIZE] + 1;
    const int more = item->extent[PA_BATCH] * pages - item->extent[PA_NUM_BLOCKS];
    if (more > 0 && item->extent[EX_LENGTHS] != AROUND_PAGES) { /* of those a case may have fewer than all */
        item->extent[PA_NUM_BLOCKS] += more;
        item->value[PA_NUM_BLOCKS] += more;
    }
    settle_outcome(item);
}

static void good_case(struct lesson_case *item, const struct table_row *row, int part)
{
    const struct special *special = &row->special;
    *item = (struct lesson_case){.group = row->group,
                                 .part = part,
                                 .weight = 2,
                                 .devices = special->gpu_only ? ON_GPU : ON_ANY,
                                 .extent = {[PA_BATCH] = row->batch,
                                            [PA_HEADS] = row->heads,
                                            [PA_KV_HEADS] = row->kv_heads,
                                            [PA_HEAD_DIM] = row->head_dim,
                                            [PA_BLOCK_SIZE] = row->block_size,
                                            [PA_MAX_CONTEXT_LEN] = row->max_context_len,
                                            [EX_LENGTHS] = (int)row->lengths,
                                            [EX_PAGES] = (int)special->pages,
                                            [EX_BREAK] = (int)special->fault,
                                            [EX_STATUS] = special->status},
                                 .real = {special->scale},
                                 .distribution = (int)row->distribution,
                                 .null_buffer = special->alibi ? -1 : PA_SLOPES,
                                 .misaligned_buffer = -1,
                                 .repeat = 1};
    snprintf(item->name, sizeof item->name, "%s/%s", PART_NAME[part], row->name);
    settle(item);
    resize(item, special->memory);
    settle_outcome(item);
    item->value[PA_VALIDATE_FIRST] = special->validated;
    item->value[PA_CAPTURED] = special->captured;
    if (special->few_sms) item->flags |= CASE_SMALL_DEVICE;
    if (row->distribution == NORMAL || row->distribution == NAN_REST) item->flags |= CASE_UNIT_SCALE;
}

static void make_bad(struct lesson_case *item, const struct bad_argument *row)
{
    case_table_spoil(item, row, PA_DTYPE);
    if (row->expected == KERNEL_OK) return;
    item->flags &= ~(unsigned)CASE_UNIT_SCALE;
    item->untouched = 0;
}

/* How the items of a property relate to each other; the rows below are in this order. */
enum property { ANY_SHAPE, PAGES_PERMUTED, PROPERTIES };

static int property_cases(struct lesson_case *cases, int count, int capacity, int part)
{
    static const struct table_row rows[PROPERTIES] = {
        /* clang-format off */
        {"property_random",         GROUP_PROPERTIES, A | V, 1, 1, 1, 32, 16, 1,  MIXED, NAN_REST, {0}},
        {"property_pages_permuted", GROUP_PROPERTIES, A,     1, 1, 1, 32, 16, 1,  MIXED, NAN_REST, {0}},
        /* clang-format on */
    };
    static const int repeat[PROPERTIES] = {100, 200};
    for (int i = 0; i < PROPERTIES && count < capacity; i++) {
        if (!(rows[i].parts >> part & 1)) continue;
        good_case(&cases[count], &rows[i], part);
        cases[count].property = i;
        cases[count++].repeat = repeat[i];
    }
    return count;
}

static int cases(struct lesson_case *cases, int capacity)
{
    /* clang-format off */
    static const struct table_row shape = {"", GROUP_BAD_INPUT, A | V, 2, 4, 2, 64, 16, 48, MIXED, NORMAL, {0}};
    /* clang-format on */
    int count = 0;
    for (int part = 0; part < PARTS; part++) {
        for (size_t i = 0; i < sizeof TABLE / sizeof TABLE[0] && count < capacity; i++)
            if (TABLE[i].parts >> part & 1) good_case(&cases[count++], &TABLE[i], part);
        for (int i = 0; i < BAD_COUNT && count < capacity; i++) {
            struct lesson_case *item = &cases[count++];
            good_case(item, &shape, part);
            snprintf(item->name, sizeof item->name, "%s/%s", PART_NAME[part], BAD[i].name);
            item->weight = 1;
            make_bad(item, &BAD[i]);
        }
        count = property_cases(cases, count, capacity, part);
    }
    return count;
}

/* Items 2n and 2n + 1 of the permutation property differ only in where the pages lie. */
static void vary(struct lesson_case *item, int index, struct rng *rng)
{
    static const int head_dims[] = {32, 64, 128};
    int pairs = item->property == PAGES_PERMUTED, large = item->devices == ON_GPU;
    const struct sweep sweep = case_table_sweep(pairs ? index / 2 : index, 3);
    struct rng shape = {pairs ? rng_mix(item->seed, (uint64_t)(index / 2)) : rng_next(rng)};
    item->seed = rng_mix(shape.state, 7);
    item->extent[PA_BATCH] = rng_between(&shape, 1, large ? 9 : 2);
    item->extent[PA_KV_HEADS] = rng_between(&shape, 1, large ? 4 : 1);
    item->extent[PA_HEADS] = item->extent[PA_KV_HEADS] * rng_between(&shape, 1, large ? 17 : 6);
    item->extent[PA_HEAD_DIM] = head_dims[sweep.path];
    item->extent[PA_BLOCK_SIZE] = rng_between(&shape, 0, 1) ? 16 : 32;
    item->extent[PA_MAX_CONTEXT_LEN] =
        sweep.length + CASE_TABLE_REMAINDERS * rng_between(&shape, 0, large ? 90 : 2);
    int row = item->extent[PA_BATCH] * item->extent[PA_KV_HEADS] * item->extent[PA_HEAD_DIM];
    if (large) case_table_shorten(&item->extent[PA_MAX_CONTEXT_LEN], row, &shape);
    const int swept = !pairs && item->part != PART_VALIDATE; /* the longest sequence counts */
    item->extent[EX_LENGTHS] = !swept && rng_between(&shape, 0, 2) == 0 ? SOME_EMPTY : MIXED;
    item->extent[EX_PAGES] = rng_between(&shape, 0, 2);
    if (pairs) item->extent[EX_PAGES] = index % 2 ? SHUFFLED_AGAIN : SHUFFLED;
    if (item->part == PART_VALIDATE) {
        item->extent[PA_BATCH] = rng_between(&shape, 1, 9);
        item->extent[PA_MAX_CONTEXT_LEN] = rng_between(&shape, 1, 200);
        item->extent[EX_BREAK] = rng_between(&shape, SOUND, FAULTS - 1);
    }
    settle(item);
    settle_outcome(item);
    item->null_buffer = rng_between(&shape, 0, 2) ? PA_SLOPES : -1;
    if (rng_between(&shape, 0, 2) == 0) item->real[0] = 0.05 + rng_uniform(&shape) * 0.3;
}

/* ---- what a report says ---------------------------------------------------------------------------------- */

static int trait(const struct lesson_case *item, int index, const char **message)
{
    const int *extent = item->extent;
    const struct trait traits[] = {
        {item->null_buffer != PA_SLOPES, "only sequences with ALiBi fail"},
        {extent[PA_HEADS] > extent[PA_KV_HEADS],
         "only groups of several query heads fail: which K/V head does a query head read?"},
        {extent[PA_KV_HEADS] > 1, "only several K/V heads fail: how far is it from one token to the next?"},
        {extent[PA_BLOCK_SIZE] == 32, "only block size 32 fails"},
        {extent[EX_PAGES] != IN_ORDER, "only pages out of order fail: is the block table used?"},
        {item->untouched != 0, "only tables known to be wrong fail: is device_status looked at before "
                               "anything is read or written?"},
        {extent[EX_LENGTHS] != FULL || extent[PA_MAX_CONTEXT_LEN] % extent[PA_BLOCK_SIZE] != 0,
         "only lengths that end inside a page fail"},
        {(int64_t)extent[PA_HEADS] > 8 * (int64_t)extent[PA_KV_HEADS],
         "only groups of more than 8 query heads fail: is every head of a group served?"},
    };
    return trait_at(traits, sizeof traits / sizeof traits[0], item->part != PART_VALIDATE, index, message);
}

/* What is wrong with the table or the lengths. */
static const char *fault_of(const struct lesson_case *item)
{
    switch (item->extent[EX_BREAK]) {
    case ENTRY_NEGATIVE:
        return "an entry of the table is -1: pages are 0 ... num_blocks - 1";
    case ENTRY_ONE_TOO_HIGH:
        return "an entry of the table is num_blocks: pages are 0 ... num_blocks - 1";
    case ENTRY_HUGE:
        return "an entry of the table is far beyond num_blocks";
    case LAST_ENTRY_LOWEST:
    case ENTRY_IN_THE_MIDDLE:
        return "a single entry of the table is wrong: is every one looked at that a length needs?";
    case LENGTH_NEGATIVE:
    case LENGTH_LOWEST:
        return "a length is negative";
    case LENGTH_TOO_LONG:
    case LENGTH_HUGE:
        return "a length is larger than max_context_len";
    default:
        return NULL;
    }
}

static const char *purpose(const struct lesson_case *item)
{
    enum { LONG = 10000 /* keys */, MANY = 1024 /* threads of a block */ };
    if (item->part == PART_VALIDATE && item->extent[PA_BATCH] > MANY)
        return "more sequences than a block has threads: is each of them looked at?";
    if (item->part == PART_VALIDATE && fault_of(item) != NULL) return fault_of(item);
    if (item->extent[EX_STATUS] > KERNEL_OK && item->extent[EX_STATUS] != KERNEL_INVALID_BLOCK_TABLE &&
        item->untouched)
        return "device_status holds another error: whatever is not KERNEL_OK forbids to read anything else, "
               "and to write";
    if (item->extent[EX_STATUS] < KERNEL_OK && item->untouched)
        return "device_status is negative: whatever is not KERNEL_OK, not only what is above it, forbids to "
               "read anything else, and to write";
    if (item->extent[EX_BREAK] != SOUND && item->part != PART_VALIDATE)
        return "the table is wrong: the launcher returns KERNEL_OK, and out keeps what it held";
    if (item->extent[EX_LENGTHS] == FULL && item->extent[PA_MAX_CONTEXT_LEN] > LONG)
        return "a long sequence: is the number of keys limited, or a position kept in a type that is too "
               "small, such as half or 16 bits?";
    if (item->extent[EX_LENGTHS] == ALL_EMPTY || item->extent[EX_LENGTHS] == SOME_EMPTY)
        return "some sequences have no keys: their out is 0, and has to be written";
    const char *of_data = decode_purpose((enum distribution)item->distribution);
    if (of_data == NULL && item->extent[EX_PAGES] == SHARED_PREFIX)
        return "sequences share the pages of a common prefix";
    return of_data;
}

/* The contract gives a limit, not the size: workspace beyond it is not provided. Without valid extents
 * there is none at all, and the other parts need none. */
static size_t workspace_bytes(const struct lesson_case *item)
{
    if (item->part != PART_V2 || item->expected == KERNEL_INVALID_DIMENSION || item->value[PA_NULL_ARGS])
        return 0;
    return SIZE_MAX;
}

static void describe(const struct lesson_case *item, char *text, size_t size)
{
    const int64_t *value = item->value;
    snprintf(text, size,
             "batch %lld, heads %lld/%lld, head_dim %lld, up to %lld keys in pages of %lld, f16%s",
             (long long)value[PA_BATCH], (long long)value[PA_HEADS], (long long)value[PA_KV_HEADS],
             (long long)value[PA_HEAD_DIM], (long long)value[PA_MAX_CONTEXT_LEN],
             (long long)value[PA_BLOCK_SIZE], item->null_buffer == PA_SLOPES ? "" : ", ALiBi");
}

const struct lesson lesson_06_paged_attention = {
#include "checker/cases/described.h"
    LESSON_CALLBACKS(paged_), .turns = "q",         .distributions = CHEAP + 1,
    .settle = settle_again,   .holds = paged_holds, .not_finite = paged_not_finite,
};
