/**
 * @file 11_vectorised_decode.c
 * @brief Lesson 11: attention over a contiguous cache, by kernels that differ in how they load, where they
 *        keep scores, and whether host or device knows the position; and the choice among them.
 */
#include <math.h>
#include <stdio.h>

#include "checker/cases/case_table.h"
#include "checker/cases/decode_cases.h"
#include "contracts/decode_args.h"

/* Sets of parts: those that accept any dtype and head_dim, and each part alone. */
enum {
    H = 1 << PART_HALF2,
    V = 1 << PART_VECTOR,
    D = 1 << PART_DEVICE,
    P = 1 << PART_PREFILL,
    M = 1 << PART_MHA,
    F = 1 << PART_FLASH_2,
    X = 1 << PART_DISPATCH,
    A = H | V | D | M,
    ALL = A | F
};

enum { GIVEN = DC_POSITIONS_GIVEN | DC_STATUS_GIVEN };
#define F16 DTYPE_F16 /* short names for the enumerators: the table's columns are narrow */
#define F32 DTYPE_F32

/** What few cases have. */
struct special {
    int loads;     /* 0: the loads of the part, or 16 bytes */
    int on_device; /* 1: positions lie on the device; in part "device" they always do */
    int host_says; /* what args->position holds in that case */
    int further;   /* elements of a cache row after those of its heads */
    int room;      /* cache rows after the last visible one */
    int full;      /* 1: there are none */
    enum position_fault fault;
    int status; /* what device_status holds before the call */
    double scale;
    int captured, gpu_only;
    int few_sms; /* the software device has few SMs: each block gets more keys */
    enum decode_variant variant;
};

/** One line: the same shape and data for every part in the set. */
struct table_row {
    const char *name;
    enum case_group group;
    unsigned parts;
    enum dtype dtype;
    int batch, heads, kv_heads, head_dim, q_len, position;
    enum distribution distribution;
    struct special special;
};

static const struct table_row TABLE[] = {
    /* clang-format off */
    /* name                  group           parts  dtype batch heads kv_h  dim q_len position data            special */
    {"one_key",              GROUP_BASIC,    ALL,   F16,   1,    1,    1,   64,   1,     0, NORMAL,         {0}},
    {"keys_32",              GROUP_BASIC,    ALL,   F16,   1,    2,    2,   64,   1,    31, NORMAL,         {0}},
    {"keys_100",             GROUP_BASIC,    ALL,   F16,   2,    4,    2,  128,   1,    99, NORMAL,         {0}},
    {"keys_300",             GROUP_BASIC,    ALL,   F16,   1,    4,    2,   64,   1,   299, NORMAL,         {0}},
    {"f32_keys_100",         GROUP_BASIC,    A,     F32,   2,    4,    2,   64,   1,    99, NORMAL,         {0}},
    {"f32_keys_300",         GROUP_BASIC,    A,     F32,   1,    2,    1,  128,   1,   299, NORMAL,         {0}},

    {"keys_31",              GROUP_EDGES,    ALL,   F16,   1,    2,    1,   64,   1,    30, NAN_REST,       {0}},
    {"keys_33",              GROUP_EDGES,    ALL,   F16,   1,    2,    1,  128,   1,    32, NAN_REST,       {0}},
    {"keys_63",              GROUP_EDGES,    F | V, F16,   1,    3,    1,   64,   1,    62, NAN_REST,       {0}},
    {"keys_65",              GROUP_EDGES,    F | V, F16,   1,    3,    1,  128,   1,    64, NAN_REST,       {0}},
    {"keys_127",             GROUP_EDGES,    ALL,   F16,   1,    2,    1,   64,   1,   126, NAN_REST,       {.full = 1}},
    {"keys_129",             GROUP_EDGES,    ALL,   F16,   1,    2,    1,   64,   1,   128, NAN_REST,       {.full = 1}},
    {"keys_255",             GROUP_EDGES,    A,     F16,   1,    2,    1,   64,   1,   254, NAN_REST,       {0}},
    {"keys_257",             GROUP_EDGES,    ALL,   F16,   1,    2,    1,   64,   1,   256, NAN_REST,       {0}},
    {"keys_331",             GROUP_EDGES,    ALL,   F16,   1,    2,    1,  128,   1,   330, NAN_REST,       {.full = 1}},
    {"keys_1025",            GROUP_EDGES,    ALL,   F16,   1,    1,    1,   64,   1,  1024, NAN_REST,       {0}},
    {"keys_8192",            GROUP_EDGES,    H | V, F16,   1,    1,    1,    8,   1,  8191, NAN_REST,       {0}},
    {"keys_8193",            GROUP_EDGES,    A,     F16,   1,    1,    1,    8,   1,  8192, NAN_REST,       {0}},
    {"keys_12288",           GROUP_EDGES,    V,     F16,   1,    1,    1,    8,   1, 12287, NAN_REST,       {.full = 1}},
    {"keys_20011",           GROUP_EDGES,    V | D, F16,   1,    1,    1,   16,   1, 20010, NAN_REST,       {.full = 1}},
    {"few_sms",              GROUP_EDGES,    F,     F16,   2,    4,    1,   64,   1,  1300, NAN_REST,       {.few_sms = 1}},
    {"split_of_one_head",    GROUP_EDGES,    F,     F16,   1,    1,    1,   64,   1,   700, NAN_REST,       {.on_device = 1}},
    {"split_of_a_group",     GROUP_EDGES,    F,     F16,   1,    4,    1,  128,   1,  1300, NAN_REST,       {.full = 1}},
    {"split_and_short",      GROUP_EDGES,    F,     F16,   3,    2,    1,   64,   1,    20, NAN_REST,       {.on_device = 1, .room = 2000}},
    {"split_mixed",          GROUP_EDGES,    F,     F16,   4,    3,    1,   64,   1,  1500, NAN_REST,       {.on_device = 1}},
    /* More splits than a warp has lanes; the last of them hold the key that decides. */
    {"splits_34",            GROUP_EDGES,    F,     F16,   1,    1,    1,   64,   1,  6500, RISING,         {0}},
    {"splits_132",           GROUP_EDGES,    F,     F16,   1,    1,    1,   64,   1, 25343, RISING,         {0}},
    {"split_gqa_7",          GROUP_EDGES,    F,     F16,   1,   14,    2,   64,   1,  1500, NAN_REST,       {.on_device = 1}},
    {"split_gqa_5",          GROUP_EDGES,    F,     F16,   1,    5,    1,  128,   1,  1050, NAN_REST,       {0}},
    {"shorter_than_cache",   GROUP_EDGES,    ALL,   F16,   2,    2,    1,   64,   1,    40, NAN_REST,       {.room = 500}},
    {"gqa_3",                GROUP_EDGES,    ALL,   F16,   2,    6,    2,   64,   1,    70, NAN_REST,       {0}},
    {"gqa_5",                GROUP_EDGES,    ALL,   F16,   1,   15,    3,   64,   1,    50, NAN_REST,       {0}},
    {"gqa_6",                GROUP_EDGES,    F | M, F16,   1,    6,    1,  128,   1,    40, NAN_REST,       {0}},
    {"gqa_7",                GROUP_EDGES,    ALL,   F16,   1,   14,    2,  128,   1,    75, NAN_REST,       {0}},
    {"gqa_8",                GROUP_EDGES,    F | V, F16,   1,   16,    2,   64,   1,    90, NAN_REST,       {0}},
    {"gqa_9",                GROUP_EDGES,    F,     F16,   2,    9,    1,   64,   1,    40, NAN_REST,       {.on_device = 1}},
    /* Falcon 7B */
    {"gqa_71",               GROUP_EDGES,    F | V, F16,   1,   71,    1,   64,   1,    20, NAN_REST,       {0}},
    {"kv_heads_5",           GROUP_EDGES,    ALL,   F16,   2,   10,    5,   64,   1,    40, NAN_REST,       {0}},
    {"batch_67",             GROUP_EDGES,    V | D | F, F16, 67, 1,    1,   64,   1,    33, NAN_REST,       {0}},
    {"rows_apart",           GROUP_EDGES,    ALL,   F16,   2,    4,    2,   64,   1,    60, NAN_REST,       {.further = 40}},
    {"rows_apart_f32",       GROUP_EDGES,    A,     F32,   2,    2,    2,   32,   1,    60, NAN_REST,       {.further = 8}},
    {"head_dim_8",           GROUP_EDGES,    A,     F16,   2,    4,    2,    8,   1,    70, NAN_REST,       {0}},
    {"head_dim_24",          GROUP_EDGES,    A,     F16,   2,    4,    2,   24,   1,    70, NAN_REST,       {0}},
    {"head_dim_80",          GROUP_EDGES,    A,     F16,   2,    2,    1,   80,   1,    70, NAN_REST,       {0}},
    {"head_dim_136",         GROUP_EDGES,    A,     F16,   1,    2,    1,  136,   1,   300, NAN_REST,       {0}},
    {"head_dim_256",         GROUP_EDGES,    A,     F16,   2,    2,    1,  256,   1,    90, NAN_REST,       {0}},
    {"f32_head_dim_8",       GROUP_EDGES,    A,     F32,   2,    4,    2,    8,   1,    70, NAN_REST,       {0}},
    {"f32_head_dim_200",     GROUP_EDGES,    V | D, F32,   1,    2,    1,  200,   1,    70, NAN_REST,       {0}},
    {"f32_head_dim_256",     GROUP_EDGES,    A,     F32,   1,    2,    1,  256,   1,   270, NAN_REST,       {0}},
    {"f32_keys_8193",        GROUP_EDGES,    V | D, F32,   1,    1,    1,    8,   1,  8192, NAN_REST,       {0}},
    {"half2",                GROUP_EDGES,    D | M, F16,   2,    4,    2,  128,   1,   270, NAN_REST,       {.loads = 4}},
    {"f32_floats",           GROUP_EDGES,    D | M, F32,   2,    4,    2,   64,   1,   270, NAN_REST,       {.loads = 4}},
    {"scale_explicit",       GROUP_EDGES,    ALL,   F16,   2,    2,    1,   64,   1,    50, NORMAL,         {.scale = 0.25}},
    {"scale_negative",       GROUP_EDGES,    ALL,   F16,   2,    2,    1,   64,   1,    50, NORMAL,         {.scale = -0.5}},
    {"scale_tiny",           GROUP_EDGES,    H | D | M | F, F16, 2, 2, 1,   64,   1,    50, NORMAL,         {.scale = 1e-8}},
    {"captured",             GROUP_EDGES,    ALL,   F16,   2,    4,    2,   64,   1,   300, NAN_REST,       {.captured = 1, .on_device = 1, .host_says = 3}},
    {"captured_f32",         GROUP_EDGES,    D | M, F32,   2,    4,    2,   64,   1,   300, NAN_REST,       {.captured = 1, .on_device = 1, .host_says = 3}},

    /* What args->position holds when positions are on the device: the position at capture, or nonsense. */
    {"captured_earlier",     GROUP_BASIC,    D,     F16,   1,    2,    1,   64,   1,   700, NAN_REST,       {.host_says = 9}},
    {"captured_later",       GROUP_EDGES,    D,     F16,   1,    2,    1,   64,   1,     5, NAN_REST,       {.host_says = 600, .room = 700}},
    {"host_says_nothing",    GROUP_EDGES,    D | M | F, F16, 2,  2,    1,   64,   1,   120, NAN_REST,       {.on_device = 1, .host_says = -77}},
    {"host_says_huge",       GROUP_EDGES,    D | M | F, F16, 2,  2,    1,   64,   1,   120, NAN_REST,       {.on_device = 1, .host_says = 1 << 30}},
    {"on_device_4",          GROUP_EDGES,    M | F, F16,   4,    3,    1,   64,   1,   200, NAN_REST,       {.on_device = 1, .host_says = 1}},
    {"another_status",       GROUP_EDGES,    D,     F16,   2,    2,    1,   64,   1,    40, NORMAL,         {.status = KERNEL_CUDA_ERROR}},
    {"another_status_alone", GROUP_EDGES,    D | M | F, F16, 1,  2,    1,   64,   1,    40, NORMAL,         {.on_device = 1, .status = KERNEL_CUDA_ERROR}},
    {"position_negative",    GROUP_EDGES,    D | M | F, F16, 3,  2,    1,   64,   1,    70, NORMAL,         {.on_device = 1, .fault = POSITION_NEGATIVE}},
    {"position_one_too_far", GROUP_EDGES,    D | M | F, F16, 3,  4,    2,   64,   1,    70, NORMAL,         {.on_device = 1, .fault = POSITION_ONE_TOO_FAR}},
    {"position_huge",        GROUP_EDGES,    D | M | F, F16, 2,  2,    1,  128,   1,    70, NORMAL,         {.on_device = 1, .fault = POSITION_HUGE}},
    {"position_lowest",      GROUP_EDGES,    D | M | F, F16, 3,  2,    1,   64,   1,    70, NORMAL,         {.on_device = 1, .fault = POSITION_LOWEST}},
    {"position_wrong_split", GROUP_EDGES,    F,     F16,   2,    4,    1,   64,   1,  1300, NORMAL,         {.on_device = 1, .fault = POSITION_ONE_TOO_FAR}},
    {"position_wrong_f32",   GROUP_EDGES,    D,     F32,   2,    2,    1,   64,   1,    40, NORMAL,         {.fault = POSITION_ONE_TOO_FAR}},

    {"batch_33",             GROUP_EDGES,    ALL,   F16,  33,    8,    2,  128,   1,   700, NAN_REST,       {.gpu_only = 1}},
    {"batch_2000",           GROUP_EDGES,    ALL,   F16, 2000,   2,    1,   64,   1,    40, NAN_REST,       {.gpu_only = 1}},

    {"queries_2",            GROUP_BASIC,    P | M, F16,   1,    2,    1,   64,   2,     0, NORMAL,         {0}},
    {"queries_33",           GROUP_BASIC,    P | M, F16,   2,    4,    2,   64,  33,     0, NORMAL,         {0}},
    {"f32_queries_17",       GROUP_BASIC,    P | M, F32,   2,    4,    2,   32,  17,     0, NORMAL,         {0}},
    {"after_100",            GROUP_EDGES,    P | M, F16,   1,    4,    2,   64,   5,   100, NAN_REST,       {0}},
    {"after_1022",           GROUP_EDGES,    P | M, F16,   1,    1,    1,   16,   4,  1022, NAN_REST,       {0}},
    {"after_2047_full",      GROUP_EDGES,    P,     F16,   1,    1,    1,   16,   2,  2047, NAN_REST,       {.full = 1}},
    {"queries_half2",        GROUP_EDGES,    P | M, F16,   2,    2,    1,   64,   9,    20, NAN_REST,       {.loads = 4}},
    {"queries_f32_floats",   GROUP_EDGES,    P | M, F32,   2,    2,    1,   24,   9,    20, NAN_REST,       {.loads = 4}},
    {"queries_gqa_7",        GROUP_EDGES,    P | M, F16,   1,   14,    2,   64,   3,    40, NAN_REST,       {0}},
    {"queries_head_dim_136", GROUP_EDGES,    P | M, F16,   1,    2,    1,  136,   3,    40, NAN_REST,       {0}},
    {"queries_head_dim_256", GROUP_EDGES,    P | M, F16,   1,    2,    1,  256,   3,    40, NAN_REST,       {0}},
    {"queries_rows_apart",   GROUP_EDGES,    P | M, F16,   2,    2,    1,   40,   5,    10, NAN_REST,       {.further = 24}},
    {"queries_on_device",    GROUP_EDGES,    P | M, F16,   3,    2,    1,   64,   4,    50, NAN_REST,       {.on_device = 1, .host_says = 2}},
    {"queries_too_far",      GROUP_EDGES,    P | M, F16,   2,    2,    1,   64,   4,    50, NORMAL,         {.on_device = 1, .fault = POSITION_ONE_TOO_FAR}},
    {"queries_large",        GROUP_NUMERICS, P,     F16,   2,    2,    1,   64,   9,   100, LARGE,          {0}},
    {"queries_rising",       GROUP_NUMERICS, P,     F16,   1,    1,    1,   16,   2,  2600, RISING,         {0}},
    {"queries_nan_key",      GROUP_NUMERICS, P,     F16,   2,    2,    1,   64,   9,    40, NAN_KEY,        {0}},
    {"queries_nan_value",    GROUP_NUMERICS, P,     F16,   2,    2,    1,   64,   9,    40, NAN_WEIGHTLESS, {0}},
    {"queries_nan_overtaken", GROUP_NUMERICS, P,    F16,   2,    1,    1,   16,   2,  1400, NAN_OVERTAKEN,  {0}},
    {"queries_faint_parts",  GROUP_NUMERICS, P,     F16,   3,    1,    1,   16,   2,   510, FAINT_PARTS,    {0}},
    {"queries_lowest",       GROUP_NUMERICS, P,     F16,   1,    2,    1,   64,   9,    10, LOWEST,         {.scale = 0x1p90}},
    {"queries_below",        GROUP_NUMERICS, P,     F16,   1,    2,    1,   64,   9,    10, BELOW,          {0}},

    {"large_logits",         GROUP_NUMERICS, ALL,   F16,   2,    4,    2,   64,   1,   100, LARGE,          {0}},
    {"large_logits_f32",     GROUP_NUMERICS, A,     F32,   2,    2,    1,   64,   1,   100, LARGE,          {0}},
    {"equal_scores",         GROUP_NUMERICS, ALL,   F16,   1,    2,    2,   64,   1,  1000, EQUAL,          {0}},
    {"equal_scores_f32",     GROUP_NUMERICS, A,     F32,   1,    1,    1,   32,   1,  1000, EQUAL,          {0}},
    {"rising_scores",        GROUP_NUMERICS, ALL,   F16,   2,    4,    2,   64,   1,   600, RISING,         {0}},
    {"falling_scores",       GROUP_NUMERICS, ALL,   F16,   2,    4,    2,   64,   1,   300, FALLING,        {0}},
    {"dominant_key",         GROUP_NUMERICS, ALL,   F16,   2,    4,    2,   64,   1,   300, DOMINANT,       {0}},
    {"nan_key",              GROUP_NUMERICS, ALL,   F16,   2,    4,    2,   64,   1,   100, NAN_KEY,        {0}},
    {"nan_value",            GROUP_NUMERICS, ALL,   F16,   2,    4,    2,   64,   1,   100, NAN_VALUE,      {0}},
    {"nan_value_weightless", GROUP_NUMERICS, ALL,   F16,   2,    4,    2,   64,   1,   100, NAN_WEIGHTLESS, {0}},
    /* A later maximum makes the weight 0: a maximum among the same warp's next keys; among keys of a later
     * tile or split. */
    {"nan_value_overtaken",  GROUP_NUMERICS, F,     F16,   2,    4,    2,   64,   1,   300, NAN_OVERTAKEN,  {0}},
    {"nan_overtaken_later",  GROUP_NUMERICS, D | F, F16,   2,    1,    1,   64,   1,   700, NAN_OVERTAKEN,  {0}},
    {"infinite_key",         GROUP_NUMERICS, ALL,   F16,   2,    8,    2,   64,   1,   100, INFINITE_KEY,   {0}},
    {"infinite_value",       GROUP_NUMERICS, ALL,   F16,   2,    8,    2,   64,   1,   100, INFINITE_VALUE, {0}},
    {"large_values",         GROUP_NUMERICS, ALL,   F16,   2,    4,    2,   64,   1,   200, LARGE_VALUES,   {0}},
    {"scores_below",         GROUP_NUMERICS, ALL,   F16,   2,    4,    2,   64,   1,   300, BELOW,          {0}},
    {"scores_below_split",   GROUP_NUMERICS, F,     F16,   1,    1,    1,   64,   1,   700, BELOW,          {0}},
    {"faint_weights",        GROUP_NUMERICS, ALL,   F16,   1,    3,    1,  128,   1,   300, FAINT,          {0}},
    {"faint_weights_f32",    GROUP_NUMERICS, A,     F32,   1,    2,    1,   64,   1,   300, FAINT,          {0}},
    {"faint_parts",          GROUP_NUMERICS, ALL,   F16,   3,    1,    1,   64,   1,   700, FAINT_PARTS,    {0}},
    {"faint_parts_f32",      GROUP_NUMERICS, A,     F32,   3,    1,    1,   32,   1,   511, FAINT_PARTS,    {0}},
    {"lowest_scores",        GROUP_NUMERICS, ALL,   F16,   2,    4,    2,   64,   1,   300, LOWEST,         {.scale = 0x1p90}},
    {"lowest_scores_f32",    GROUP_NUMERICS, A,     F32,   1,    2,    1,   32,   1,   300, LOWEST,         {.scale = 0x1p90}},
    {"lowest_scores_split",  GROUP_NUMERICS, F,     F16,   1,    1,    1,   64,   1,   700, LOWEST,         {.scale = 0x1p90}},
    {"early_key_f32",        GROUP_NUMERICS, A,     F32,   1,    2,    1,   64,   1,   700, EARLY,          {0}},

    {"auto_f16",             GROUP_BASIC,    X,     F16,   2,    4,    2,   64,   1,   100, NORMAL,         {.variant = DECODE_AUTO}},
    {"auto_f32",             GROUP_BASIC,    X,     F32,   2,    4,    2,   64,   1,   100, NORMAL,         {.variant = DECODE_AUTO}},
    {"mha_f16",              GROUP_BASIC,    X,     F16,   2,    4,    2,   64,   1,   100, NORMAL,         {.variant = DECODE_MHA}},
    {"mha_f32",              GROUP_BASIC,    X,     F32,   2,    4,    2,   64,   1,   100, NORMAL,         {.variant = DECODE_MHA}},
    {"flash_1_f16",          GROUP_BASIC,    X,     F16,   2,    4,    2,   64,   1,   100, NORMAL,         {.variant = DECODE_FLASH_1}},
    {"flash_1_f32",          GROUP_BASIC,    X,     F32,   2,    4,    2,   64,   1,   100, NORMAL,         {.variant = DECODE_FLASH_1}},
    {"flash_2_f16",          GROUP_BASIC,    X,     F16,   2,    4,    2,   64,   1,   100, NORMAL,         {.variant = DECODE_FLASH_2}},
    {"auto_half2",           GROUP_EDGES,    X,     F16,   2,    4,    2,   64,   1,   100, NAN_REST,       {.variant = DECODE_AUTO, .loads = 4}},
    {"auto_head_dim_80",     GROUP_EDGES,    X,     F16,   2,    4,    2,   80,   1,   100, NAN_REST,       {.variant = DECODE_AUTO}},
    {"auto_head_dim_96",     GROUP_EDGES,    X,     F16,   1,    2,    1,   96,   1,    40, NAN_REST,       {.variant = DECODE_AUTO}},
    {"auto_head_dim_192",    GROUP_EDGES,    X,     F16,   1,    2,    1,  192,   1,    40, NAN_REST,       {.variant = DECODE_AUTO}},
    {"auto_head_dim_256",    GROUP_EDGES,    X,     F16,   1,    2,    1,  256,   1,    40, NAN_REST,       {.variant = DECODE_AUTO}},
    {"auto_head_dim_128",    GROUP_EDGES,    X,     F16,   1,    4,    1,  128,   1,  1300, NAN_REST,       {.variant = DECODE_AUTO, .on_device = 1}},
    {"auto_queries",         GROUP_EDGES,    X,     F16,   2,    4,    2,   64,   5,    10, NAN_REST,       {.variant = DECODE_AUTO}},
    {"auto_f32_on_device",   GROUP_EDGES,    X,     F32,   2,    4,    2,   64,   1,   300, NAN_REST,       {.variant = DECODE_AUTO, .on_device = 1, .host_says = 2}},
    {"flash_1_f32_device",   GROUP_EDGES,    X,     F32,   2,    4,    2,   64,   1,   300, NAN_REST,       {.variant = DECODE_FLASH_1, .on_device = 1, .host_says = 2}},
    {"flash_1_half2_device", GROUP_EDGES,    X,     F16,   2,    4,    2,   64,   1,   300, NAN_REST,       {.variant = DECODE_FLASH_1, .on_device = 1, .loads = 4}},
    {"mha_half2_device",     GROUP_EDGES,    X,     F16,   2,    4,    2,   64,   1,   100, NAN_REST,       {.variant = DECODE_MHA, .on_device = 1, .loads = 4}},
    {"mha_queries",          GROUP_EDGES,    X,     F32,   2,    4,    2,   64,   5,    10, NAN_REST,       {.variant = DECODE_MHA}},
    {"flash_2_device",       GROUP_EDGES,    X,     F16,   2,    4,    2,   64,   1,   300, NAN_REST,       {.variant = DECODE_FLASH_2, .on_device = 1, .host_says = 2}},

    /* The shapes of the published measurements come first: `profile` counts those. */
    {"qwen3_8b_291",         GROUP_SPEED,    H | V | D | F, F16, 1, 32, 8, 128,   1,   290, NORMAL,         {.room = 5}},
    {"qwen3_8b_291_half2",   GROUP_SPEED,    D,     F16,   1,   32,    8,  128,   1,   290, NORMAL,         {.room = 5, .loads = 4}},
    {"qwen3_8b_8",           GROUP_SPEED,    P,     F16,   1,   32,    8,  128,   8,     0, NORMAL,         {0}},
    {"qwen3_8b_8_half2",     GROUP_SPEED,    P,     F16,   1,   32,    8,  128,   8,     0, NORMAL,         {.loads = 4}},
    {"qwen3_8b_f32_101",     GROUP_SPEED,    M,     F32,   1,   32,    8,  128,   1,   100, NORMAL,         {.room = 3}},
    {"qwen3_8b_auto_291",    GROUP_SPEED,    X,     F16,   1,   32,    8,  128,   1,   290, NORMAL,         {.room = 5}},
    {"qwen3_8b_512",         GROUP_SPEED,    P | M, F16,   1,   32,    8,  128, 512,     0, CHEAP,          {.gpu_only = 1}},
    {"qwen3_8b_4096",        GROUP_SPEED,    ALL,   F16,   1,   32,    8,  128,   1,  4095, CHEAP,          {.gpu_only = 1, .full = 1}},
    {"qwen3_8b_32768",       GROUP_SPEED,    D | F, F16,   1,   32,    8,  128,   1, 32767, CHEAP,          {.gpu_only = 1, .full = 1}},
    {"qwen3_8b_4096_batch_16", GROUP_SPEED,  D | F, F16,  16,   32,    8,  128,   1,  4095, CHEAP,          {.gpu_only = 1, .full = 1}},
    {"qwen3_8b_4096_batch_64", GROUP_SPEED,  D | F, F16,  64,   32,    8,  128,   1,  4095, CHEAP,          {.gpu_only = 1, .full = 1}},
    /* clang-format on */
};

enum { NONE = -1 };

enum { EVERY = ALL | P | X, NOT_F = EVERY & ~F };

static const struct bad_argument BAD[] = {
    /* clang-format off */
    /* name                       parts  expected                  at              value    null buffer   misaligned    by  dtype */
    {"sound_arguments",           EVERY, KERNEL_OK,                NONE,               0,   NONE,         NONE,         0,  NONE},
    {"positions_without_status",  EVERY, KERNEL_INVALID_CONFIG,    DC_GIVEN, DC_POSITIONS_GIVEN, NONE,    NONE,         0,  NONE},
    {"status_without_positions",  EVERY, KERNEL_INVALID_CONFIG,    DC_GIVEN, DC_STATUS_GIVEN, NONE,       NONE,         0,  NONE},
    {"loads_unknown",             NOT_F, KERNEL_INVALID_CONFIG,    DC_LOADS,           8,   NONE,         NONE,         0,  NONE},
    {"loads_zero",                NOT_F, KERNEL_INVALID_CONFIG,    DC_LOADS,           0,   NONE,         NONE,         0,  NONE},
    {"loads_negative",            NOT_F, KERNEL_INVALID_CONFIG,    DC_LOADS,          -4,   NONE,         NONE,         0,  NONE},
    {"batch_65536",               EVERY, KERNEL_INVALID_DIMENSION, DC_BATCH,       65536,   NONE,         NONE,         0,  NONE},
    {"heads_not_divisible",       EVERY, KERNEL_INVALID_DIMENSION, DC_KV_HEADS,        3,   NONE,         NONE,         0,  NONE},
    {"heads_overflow",            EVERY, KERNEL_INVALID_DIMENSION, DC_HEADS,     1 << 30,   NONE,         NONE,         0,  NONE},
    {"head_dim_12",               EVERY, KERNEL_INVALID_DIMENSION, DC_HEAD_DIM,       12,   NONE,         NONE,         0,  NONE},
    {"head_dim_264",              EVERY, KERNEL_INVALID_DIMENSION, DC_HEAD_DIM,      264,   NONE,         NONE,         0,  NONE},
    {"q_len_beyond_cache",        EVERY, KERNEL_INVALID_DIMENSION, DC_Q_LEN,        1000,   NONE,         NONE,         0,  NONE},
    {"max_len_overflow",          EVERY, KERNEL_INVALID_DIMENSION, DC_MAX_LEN,   1 << 30,   NONE,         NONE,         0,  NONE},
    {"kv_stride_short",           EVERY, KERNEL_INVALID_DIMENSION, DC_KV_STRIDE,     120,   NONE,         NONE,         0,  NONE},
    {"kv_stride_132",             EVERY, KERNEL_INVALID_DIMENSION, DC_KV_STRIDE,     132,   NONE,         NONE,         0,  NONE},
    {"position_negative_on_host", EVERY & ~D, KERNEL_INVALID_DIMENSION, DC_POSITION,  -1,   NONE,         NONE,         0,  NONE},
    {"position_beyond_cache",     EVERY & ~D, KERNEL_INVALID_DIMENSION, DC_POSITION,  56,   NONE,         NONE,         0,  NONE},
    {"dtype_bf16",                EVERY & ~X, KERNEL_UNSUPPORTED_DTYPE, DC_DTYPE, DTYPE_BF16, NONE,       NONE,         0,  NONE},
    {"misaligned_positions",      D,     KERNEL_ALIGNMENT_ERROR,   NONE,               0,   NONE,         DC_POSITIONS, 2,  NONE},
    {"misaligned_status",         D,     KERNEL_ALIGNMENT_ERROR,   NONE,               0,   NONE,         DC_STATUS,    2,  NONE},
    /* Several faults: the first one by the contract decides. */
    {"loads_8_and_misaligned_k",  NOT_F, KERNEL_INVALID_CONFIG,    DC_LOADS,           8,   NONE,         DC_K,         2,  NONE},
    {"batch_zero_and_bf16",       EVERY, KERNEL_INVALID_DIMENSION, DC_BATCH,           0,   NONE,         NONE,         0,  DTYPE_BF16},
    {"head_dim_12_and_misaligned_q", EVERY, KERNEL_INVALID_DIMENSION, DC_HEAD_DIM,    12,   NONE,         DC_Q,         2,  NONE},
    {"bf16_and_misaligned_out",   EVERY, KERNEL_UNSUPPORTED_DTYPE, NONE,               0,   NONE,         DC_OUT,       2,  DTYPE_BF16},
    {"q_len_2",                   F | X, KERNEL_INVALID_DIMENSION, DC_Q_LEN,           2,   NONE,         NONE,         0,  NONE},
    {"head_dim_32",               F | X, KERNEL_INVALID_DIMENSION, DC_HEAD_DIM,       32,   NONE,         NONE,         0,  NONE},
    {"f32",                       F | X, KERNEL_UNSUPPORTED_DTYPE, DC_DTYPE,   DTYPE_F32,   NONE,         NONE,         0,  NONE},
    {"f32_and_head_dim_32",       F | X, KERNEL_INVALID_DIMENSION, DC_HEAD_DIM,       32,   NONE,         NONE,         0,  DTYPE_F32},
    {"f32_and_misaligned_k",      F | X, KERNEL_UNSUPPORTED_DTYPE, NONE,               0,   NONE,         DC_K,         8,  DTYPE_F32},
    {"variant_4",                 X,     KERNEL_INVALID_CONFIG,    DC_VARIANT,         4,   NONE,         NONE,         0,  NONE},
    {"variant_negative",          X,     KERNEL_INVALID_CONFIG,    DC_VARIANT,        -1,   NONE,         NONE,         0,  NONE},
    {"variant_huge",              X,     KERNEL_INVALID_CONFIG,    DC_VARIANT,   1 << 20,   NONE,         NONE,         0,  NONE},
    {"flash_2_half2",             X,     KERNEL_INVALID_CONFIG,    DC_LOADS,           4,   NONE,         NONE,         0,  NONE},
    {"flash_2_half2_and_f32",     X,     KERNEL_INVALID_CONFIG,    DC_LOADS,           4,   NONE,         NONE,         0,  DTYPE_F32},
    /* clang-format on */
};

enum { BAD_COUNT = sizeof BAD / sizeof BAD[0] };

static const char *const PART_NAME[] = {
#include "description/part_names.h"
};

/* ---- cases -------------------------------------------------------------------------------------------------- */

/* Sets all arguments of the kernel. */
static void settle(struct lesson_case *item)
{
    for (int i = 0; i <= DC_KV_STRIDE; i++) item->value[i] = item->extent[i];
    item->value[DC_DTYPE] = item->extent[EX_STORED_AS];
    item->value[DC_GIVEN] = item->extent[EX_GIVEN];
}

/* Positions on the device say nothing when a kernel is launched. */
static void tell_keys(struct lesson_case *item, int keys)
{
    if (item->extent[EX_GIVEN] == 0) item->value[DC_POSITION] = keys - item->extent[DC_Q_LEN];
}

static int loads_of(const struct special *special, int part)
{
    if (part == PART_HALF2) return DECODE_LOADS_4_BYTES;
    if (part == PART_VECTOR || part == PART_FLASH_2 || special->loads == 0) return DECODE_LOADS_16_BYTES;
    return special->loads;
}

static void good_case(struct lesson_case *item, const struct table_row *row, int part)
{
    const struct special *special = &row->special;
    int given = part != PART_HALF2 && part != PART_VECTOR && (special->on_device || part == PART_DEVICE);
    int room = special->full ? 0 : special->room ? special->room : 3;
    *item = (struct lesson_case){.group = row->group,
                                 .part = part,
                                 .weight = 2,
                                 .devices = special->gpu_only ? ON_GPU : ON_ANY,
                                 .extent = {[DC_BATCH] = row->batch,
                                            [DC_HEADS] = row->heads,
                                            [DC_KV_HEADS] = row->kv_heads,
                                            [DC_HEAD_DIM] = row->head_dim,
                                            [DC_Q_LEN] = row->q_len,
                                            [DC_MAX_LEN] = row->position + row->q_len + room,
                                            [DC_KV_STRIDE] = row->kv_heads * row->head_dim + special->further,
                                            [EX_POSITION] = row->position,
                                            [EX_STORED_AS] = (int)row->dtype,
                                            [EX_GIVEN] = given ? GIVEN : 0,
                                            [EX_FAULT] = (int)special->fault,
                                            [EX_STATUS] = special->status},
                                 .real = {special->scale},
                                 .distribution = (int)row->distribution,
                                 .null_buffer = -1,
                                 .misaligned_buffer = -1,
                                 .untouched = part == PART_DISPATCH ? 0 : 1u << DC_CHOSEN,
                                 .repeat = 1};
    snprintf(item->name, sizeof item->name, "%s/%s", PART_NAME[part], row->name);
    settle(item);
    item->value[DC_POSITION] = given ? special->host_says : row->position;
    item->value[DC_LOADS] = loads_of(special, part);
    item->value[DC_VARIANT] = special->variant;
    item->value[DC_CAPTURED] = special->captured;
    if (special->few_sms) item->flags |= CASE_SMALL_DEVICE;
    if (row->distribution == NORMAL || row->distribution == NAN_REST) item->flags |= CASE_UNIT_SCALE;
}

static void make_bad(struct lesson_case *item, const struct bad_argument *row)
{
    case_table_spoil(item, row, DC_DTYPE);
    if (row->expected == KERNEL_OK) return;
    if (row->at == DC_POSITION) item->value[DC_GIVEN] = 0;
    item->flags &= ~(unsigned)CASE_UNIT_SCALE;
    item->untouched = 0;
}

/* The shape of calls with wrong arguments: room for 56 more keys in the cache, 4 heads on 2 K/V heads,
 * rows of 128 elements. */
static const struct table_row *shape_of(int part)
{
    /* clang-format off */
    static const struct table_row shape[] = {
        {"", GROUP_BAD_INPUT, ALL, F16, 2, 4, 2, 64, 1, 40, NORMAL, {.room = 15, .on_device = 1}},
        {"", GROUP_BAD_INPUT, P,   F16, 2, 4, 2, 64, 3, 40, NORMAL, {.room = 13}},
        {"", GROUP_BAD_INPUT, ALL, F16, 2, 4, 2, 64, 1, 40, NORMAL, {.room = 15}},
        {"", GROUP_BAD_INPUT, X,   F16, 2, 4, 2, 64, 1, 40, NORMAL, {.room = 15, .variant = DECODE_FLASH_2}},
    };
    /* clang-format on */
    return &shape[part == PART_DEVICE ? 0 : part == PART_PREFILL ? 1 : part == PART_DISPATCH ? 3 : 2];
}

static int bad_cases(struct lesson_case *cases, int count, int capacity, int part)
{
    for (int i = 0; i < BAD_COUNT && count < capacity; i++) {
        if (!(BAD[i].of >> part & 1)) continue;
        struct lesson_case *item = &cases[count++];
        good_case(item, shape_of(part), part);
        snprintf(item->name, sizeof item->name, "%s/%s", PART_NAME[part], BAD[i].name);
        item->weight = 1;
        make_bad(item, &BAD[i]);
    }
    return count;
}

/** Refusals for the workspace, for variants that need one. */
struct short_row {
    const char *name;
    int part;
    enum decode_variant variant;
    enum kernel_status expected;
    int null_buffer, misalignment, shortage, may_need_none;
};

static const struct short_row SHORT[] = {
    {"mha_workspace_null", PART_DISPATCH, DECODE_MHA, KERNEL_OUT_OF_MEMORY, DC_WORKSPACE, 0, 0, 0},
    {"mha_workspace_short", PART_DISPATCH, DECODE_MHA, KERNEL_OUT_OF_MEMORY, NONE, 0, 4, 0},
    {"mha_half2_misaligned", PART_DISPATCH, DECODE_MHA, KERNEL_ALIGNMENT_ERROR, NONE, 128, 0, 0},
    {"auto_workspace_null", PART_DISPATCH, DECODE_AUTO, KERNEL_OUT_OF_MEMORY, DC_WORKSPACE, 0, 0, 1},
    {"auto_workspace_short", PART_DISPATCH, DECODE_AUTO, KERNEL_OUT_OF_MEMORY, NONE, 0, 1, 1},
};

/* So many keys that any kernel that splits them at all needs a workspace. */
static int short_cases(struct lesson_case *cases, int count, int capacity, int part)
{
    static const struct table_row split = {"",   GROUP_BAD_INPUT, F | X, F16, 1, 4, 1, 64, 1,
                                           4000, NORMAL,          {0}};
    for (size_t i = 0; i < sizeof SHORT / sizeof SHORT[0] && count < capacity; i++) {
        if (SHORT[i].part != part) continue;
        struct lesson_case *item = &cases[count++];
        good_case(item, &split, part);
        snprintf(item->name, sizeof item->name, "%s/%s", PART_NAME[part], SHORT[i].name);
        item->weight = 1;
        item->value[DC_VARIANT] = SHORT[i].variant;
        item->value[DC_WORKSPACE_SHORTAGE] = SHORT[i].shortage;
        item->null_buffer = SHORT[i].null_buffer;
        item->misaligned_buffer = SHORT[i].misalignment ? DC_WORKSPACE : -1;
        item->misalignment = SHORT[i].misalignment;
        item->expected = SHORT[i].expected;
        item->flags = SHORT[i].may_need_none ? CASE_IF_WORKSPACE : 0;
    }
    return count;
}

/* How the items of a property relate to each other; the rows below are in this order. */
enum property { ANY_SHAPE, ANY_PLACE, PROPERTIES };

static int property_cases(struct lesson_case *cases, int count, int capacity, int part)
{
    static const struct table_row rows[PROPERTIES] = {
        /* clang-format off */
        {"property_random",     GROUP_PROPERTIES, EVERY, F16, 1, 1, 1, 64, 1, 1,  NAN_REST, {0}},
        {"alignments",          GROUP_PROPERTIES, EVERY, F16, 2, 6, 2, 64, 1, 90, NAN_REST, {.on_device = 1, .host_says = 1}},
        /* clang-format on */
    };
    static const int repeat[PROPERTIES] = {100, 18};
    for (int i = 0; i < PROPERTIES && count < capacity; i++) {
        good_case(&cases[count], &rows[i], part);
        snprintf(cases[count].name, sizeof cases[count].name, "%s/%s", PART_NAME[part], rows[i].name);
        cases[count].group = GROUP_PROPERTIES;
        cases[count].property = i;
        cases[count++].repeat = repeat[i];
    }
    return count;
}

static int cases(struct lesson_case *cases, int capacity)
{
    int count = 0;
    for (int part = 0; part < DECODE_PARTS; part++) {
        for (size_t i = 0; i < sizeof TABLE / sizeof TABLE[0] && count < capacity; i++)
            if (TABLE[i].parts >> part & 1) good_case(&cases[count++], &TABLE[i], part);
        count = bad_cases(cases, count, capacity, part);
        count = short_cases(cases, count, capacity, part);
        count = property_cases(cases, count, capacity, part);
    }
    return count;
}

/* With each storage type, or head_dim where there are two, items go through all remainders of the number of keys. */
static void vary_shape(struct lesson_case *item, int index, struct rng *shape)
{
    const struct sweep sweep = case_table_sweep(index, 2);
    int large = item->devices == ON_GPU, free_dim = item->part != PART_FLASH_2;
    int q_len =
        item->part == PART_PREFILL || item->part == PART_MHA ? rng_between(shape, 1, large ? 40 : 4) : 1;
    int room = rng_between(shape, 0, 3) * 5;
    item->extent[DC_BATCH] = rng_between(shape, 1, large ? 9 : 2);
    item->extent[DC_KV_HEADS] = rng_between(shape, 1, large ? 4 : 2);
    item->extent[DC_HEADS] = item->extent[DC_KV_HEADS] * rng_between(shape, 1, large ? 17 : 5);
    item->extent[DC_HEAD_DIM] = free_dim ? 8 * rng_between(shape, 1, large ? 32 : 10) : 64 << sweep.path;
    item->extent[DC_Q_LEN] = q_len;
    item->extent[EX_POSITION] =
        sweep.length - 1 + CASE_TABLE_REMAINDERS * rng_between(shape, 0, large ? 90 : 1);
    int row = item->extent[DC_BATCH] * item->extent[DC_KV_HEADS] * item->extent[DC_HEAD_DIM];
    if (large) case_table_shorten(&item->extent[EX_POSITION], row, shape);
    item->extent[DC_MAX_LEN] = item->extent[EX_POSITION] + q_len + room;
    item->extent[DC_KV_STRIDE] =
        item->extent[DC_KV_HEADS] * item->extent[DC_HEAD_DIM] + 8 * rng_between(shape, 0, 2);
    if (free_dim && sweep.path == 1) item->extent[EX_STORED_AS] = DTYPE_F32;
    if (item->part != PART_HALF2 && item->part != PART_VECTOR && item->part != PART_DEVICE)
        item->extent[EX_GIVEN] = rng_between(shape, 0, 1) ? GIVEN : 0;
    settle(item);
    item->value[DC_POSITION] = item->extent[EX_GIVEN] ? rng_between(shape, -5, 5) : item->extent[EX_POSITION];
}

static void vary(struct lesson_case *item, int index, struct rng *rng)
{
    struct lesson_buffer buffer[WIRE_BUFFERS];
    if (item->property == ANY_PLACE) {
        case_table_place(item, index, buffer, decode_buffers(item, buffer));
        return;
    }
    struct rng shape = {rng_next(rng)};
    item->seed = rng_mix(shape.state, 7);
    vary_shape(item, index, &shape);
    int takes_both = item->part == PART_DEVICE || item->part == PART_PREFILL || item->part == PART_MHA;
    if (takes_both && rng_between(&shape, 0, 1)) item->value[DC_LOADS] = DECODE_LOADS_4_BYTES;
    if (item->part == PART_DISPATCH)
        item->value[DC_VARIANT] = rng_between(&shape, DECODE_AUTO, DECODE_FLASH_1);
    if (rng_between(&shape, 0, 2) == 0) item->real[0] = 0.05 + rng_uniform(&shape) * 0.3;
}

/* ---- what a report says ------------------------------------------------------------------------------------- */

static int trait(const struct lesson_case *item, int index, const char **message)
{
    const int *extent = item->extent;
    int width = extent[DC_KV_HEADS] * extent[DC_HEAD_DIM], head_dim = extent[DC_HEAD_DIM];
    int keys = extent[EX_POSITION] + extent[DC_Q_LEN];
    const struct trait traits[] = {
        {extent[EX_GIVEN] != 0 && item->part != PART_DEVICE,
         "only positions on the device fail: the position that counts is device_positions[b], read when the "
         "kernel runs; args->position may hold anything"},
        {extent[EX_STORED_AS] == DTYPE_F32,
         "only f32 fails: does it have kernels of its own, for positions on the device too?"},
        {item->value[DC_LOADS] == DECODE_LOADS_4_BYTES && item->part != PART_HALF2, "only half2 loads fail"},
        {extent[DC_HEADS] > extent[DC_KV_HEADS],
         "only groups of several query heads fail: which K/V head does a query head read?"},
        {extent[DC_KV_HEADS] > 1, "only several K/V heads fail: how far is it from one token to the next?"},
        {extent[DC_KV_STRIDE] > width, "only rows with elements behind them fail: they lie kv_stride apart"},
        {extent[EX_FAULT] != POSITIONS_SOUND, "only positions outside of the cache fail: such a sequence "
                                              "gets no output, and *device_status says so"},
        {keys > 128, "only more keys than a block has threads fail"},
        {keys > 8192, "only more keys than fit in shared memory fail"},
        {extent[DC_Q_LEN] > 1 && item->part != PART_PREFILL,
         "only several queries fail: query i sees position + i + 1 keys"},
        {item->part == PART_FLASH_2 && extent[DC_HEADS] > 4 * extent[DC_KV_HEADS],
         "only more than four query heads per K/V head fail: a block of flash_2 serves four, so a group of "
         "more has several blocks (chunks)"},
        {head_dim > 128,
         "only head_dim above 128 fails: a thread of 128 has columns threadIdx.x and threadIdx.x + 128"},
        {head_dim % 16 != 0,
         "only a head_dim that is no multiple of 16 fails: head_dim is any multiple of 8"},
        {head_dim % 32 != 0,
         "only a head_dim that is no multiple of 32 fails: head_dim is any multiple of 8"},
        {head_dim % 64 != 0,
         "only a head_dim that is no multiple of 64 fails: head_dim is any multiple of 8"},
        {(head_dim & (head_dim - 1)) != 0, "only a head_dim that is no power of two fails"},
        {item->value[DC_CAPTURED] != 0, "only captured calls fail"},
        {extent[DC_BATCH] > 1, "only several sequences fail: blockIdx.z is the sequence, which has its own "
                               "position, query and cache"},
    };
    return trait_at(traits, sizeof traits / sizeof traits[0], 1, index, message);
}

static const char *purpose(const struct lesson_case *item)
{
    enum { MANY = 6000 /* keys, of which a split has about 200 */ };
    if (item->part == PART_DISPATCH && item->expected == KERNEL_INVALID_CONFIG &&
        item->value[DC_VARIANT] != DECODE_AUTO)
        return "a variant that is unknown, or does not serve the arguments, is refused: no other kernel runs "
               "instead";
    if (item->extent[EX_FAULT] == POSITION_HUGE)
        return "a position is near INT_MAX: position + q_len is beyond int";
    if (item->extent[EX_FAULT] != POSITIONS_SOUND)
        return "a position lies outside of the cache: its sequence gets no output, *device_status says so, "
               "and the other sequences get theirs";
    if (item->extent[EX_GIVEN] && item->value[DC_POSITION] != item->extent[EX_POSITION])
        return "args->position is not the position that counts: shared memory, loops and grids may not "
               "depend on it, as they may not in a graph that is replayed later";
    if (item->part == PART_DISPATCH && item->expected == KERNEL_OK)
        return "the variant that is asked for runs, and no other; chosen is what decode_choose_variant() "
               "says";
    if (item->distribution == NAN_REST &&
        item->extent[DC_KV_STRIDE] > item->extent[DC_KV_HEADS] * item->extent[DC_HEAD_DIM])
        return "rows of the cache lie kv_stride elements apart: what lies between them, and past the last "
               "key that is seen, holds NaN";
    if (item->part == PART_FLASH_2 && item->distribution == RISING && item->value[DC_POSITION] > MANY)
        return "scores rise to the last key, so the last split has the maximum: if a warp merges more splits "
               "than it "
               "has lanes, do later ones count for it?";
    return decode_purpose((enum distribution)item->distribution);
}

/* 1 if the arguments loads and variant have valid values. */
static int choices_known(const struct lesson_case *item)
{
    int64_t loads = item->value[DC_LOADS], variant = item->value[DC_VARIANT];
    return (loads == DECODE_LOADS_4_BYTES || loads == DECODE_LOADS_16_BYTES) && variant >= DECODE_AUTO &&
           variant <= DECODE_FLASH_2;
}

/* Whether the contract accepts the extents that the call is told. */
static int extents_accepted(const struct lesson_case *item)
{
    const int64_t *value = item->value;
    const int position = (int)value[DC_POSITION];
    const struct decode_args args = {.batch = (int)value[DC_BATCH],
                                     .heads = (int)value[DC_HEADS],
                                     .kv_heads = (int)value[DC_KV_HEADS],
                                     .head_dim = (int)value[DC_HEAD_DIM],
                                     .q_len = (int)value[DC_Q_LEN],
                                     .max_len = (int)value[DC_MAX_LEN],
                                     .kv_stride = (int)value[DC_KV_STRIDE],
                                     .position = position,
                                     .device_positions = value[DC_GIVEN] ? &position : NULL};
    return decode_extents_fit(&args);
}

/* For flash_2 the contract gives a limit, not the size. Without valid extents and choices there is no
 * workspace. */
static size_t workspace_bytes(const struct lesson_case *item)
{
    if (item->value[DC_NULL_ARGS] || !choices_known(item) || !extents_accepted(item)) return 0;
    if (item->expected != KERNEL_OK && item->expected != KERNEL_OUT_OF_MEMORY) return SIZE_MAX;
    return decode_variant_of(item) == DECODE_FLASH_2 ? SIZE_MAX : decode_contract_workspace(item);
}

static void describe(const struct lesson_case *item, char *text, size_t size)
{
    const int64_t *value = item->value;
    snprintf(text, size,
             "batch %lld, heads %lld/%lld, head_dim %lld, q_len %lld, position %d, %s, %lld-byte loads%s",
             (long long)value[DC_BATCH], (long long)value[DC_HEADS], (long long)value[DC_KV_HEADS],
             (long long)value[DC_HEAD_DIM], (long long)value[DC_Q_LEN], item->extent[EX_POSITION],
             value[DC_DTYPE] == DTYPE_F32 ? "f32" : "f16", (long long)value[DC_LOADS],
             value[DC_GIVEN] ? ", position on the device" : "");
}

const struct lesson lesson_11_vectorised_decode = {
#include "checker/cases/described.h"
    LESSON_CALLBACKS(decode_), .turns = "q",           .distributions = CHEAP + 1,
    .seen = decode_seen,       .tell_keys = tell_keys, .not_finite = decode_not_finite,
};
