/**
 * @file 20_w4a16_gemm.c
 * @brief Lesson 20: 4-bit weights, shuffled and multiplied: cases, inputs, oracle and bounds.
 */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/wide.h"
#include "checker/cases/case_table.h"
#include "checker/cases/lesson.h"
#include "checker/cases/misread.h"
#include "checker/numbers/bound.h"
#include "contracts/w4a16_args.h"
#include "gemm.h"
#include "checker/numbers/freivalds.h"
#include "protocol/w4a16_items.h"
#include "w4.h"

enum {
#include "description/parts.h"
};

static const char *const PART_NAMES[] = {
#include "description/part_names.h"
};

enum distribution {
    NORMAL,
    LARGE,          /* a of magnitude 1e3 */
    SMALL,          /* a of magnitude 1e-3 */
    POSITIVE,       /* a from 0 to 1, weights above their zeros: the sum grows with every term */
    CANCEL,         /* terms come in pairs that nearly cancel */
    LOWEST,         /* q 0, zero 15 */
    HIGHEST,        /* q 15, zero 0 */
    TO_INFINITY,    /* sums beyond the largest half in some rows */
    NAN_A,          /* in some rows */
    INF_A,          /* in some rows, in some of them of both signs */
    NAN_SCALE,      /* in some columns of some groups */
    INF_SCALE,      /* the same, with POSITIVE's terms */
    NEGATIVE_SCALE, /* in every third column */
    ZERO_SCALE,     /* in every third column */
    TINY_SCALE,     /* subnormal halves, with which no product is subnormal */
    HALVES_CANCEL, /* the terms of the second half of k nearly cancel those of the first; weights need no rounding */
    DISTRIBUTIONS
};

enum {
    SHUFFLE = 1 << PART_SHUFFLE,
    VECTOR = 1 << PART_VECTOR,
    TENSOR = 1 << PART_TENSOR,
    SPLIT = 1 << PART_SPLIT
};
enum { TILES = TENSOR | SPLIT, PRODUCTS = VECTOR | TENSOR | SPLIT };
enum {
    UNIT_BYTES = 4096,
    PROPERTY_ITEMS = 100,
    CORE_PRODUCTS = 4,
    WHOLE = 0 /* a group */
};
enum { H = DTYPE_F16, B = DTYPE_BF16 };

enum { SUMMED_COLUMNS = 256 }; /* so that W is read along its rows */

/* ---- cases ---------------------------------------------------------------------------------------------- */

/** A product. */
struct product_row {
    const char *name;
    enum case_group group;
    unsigned parts, devices;
    int m, n, k, of; /* rows of W that share a scale */
    int more_a, more_c, splits, dtype, distribution;
};

#define ANY ON_ANY

static const struct product_row PRODUCTS_OF[] = {
    /* clang-format off */
    /* name                  group           parts     devices   m     n     k    of   a   c  splits dtype distribution */
    {"smallest",             GROUP_BASIC,    PRODUCTS, ANY,      1,    8,   64,   64,  0,  0, 1, H, NORMAL},
    {"rows_1x64x128",        GROUP_BASIC,    PRODUCTS, ANY,      1,   64,  128,  128,  0,  0, 2, H, NORMAL},
    {"rows_3x64x256",        GROUP_BASIC,    VECTOR,   ANY,      3,   64,  256,  128,  0,  0, 1, H, NORMAL},
    {"rows_16x128x256",      GROUP_BASIC,    TILES,    ANY,     16,  128,  256,  128,  0,  0, 2, H, NORMAL},
    {"rows_16x128x256_bf16", GROUP_BASIC,    TILES,    ANY,     16,  128,  256,  128,  0,  0, 2, B, NORMAL},
    {"rows_2x64x256_bf16",   GROUP_BASIC,    VECTOR,   ANY,      2,   64,  256,  128,  0,  0, 1, B, NORMAL},
    {"sound_arguments",      GROUP_EDGES,    VECTOR,   ANY,      3,   72,  128,   64,  8, 16, 1, H, NORMAL},
    {"sound_arguments",      GROUP_EDGES,    TILES,    ANY,      5,   72,  128,   64,  8, 16, 2, H, NORMAL},

    {"rows_1x256x512_of_32", GROUP_EDGES,    PRODUCTS, ANY,      1,  256,  512,   32,  0,  0, 3, H, NORMAL},
    {"rows_4x136x320",       GROUP_EDGES,    PRODUCTS, ANY,      4,  136,  320,   64,  8,  8, 2, H, NORMAL},
    {"rows_2x120x192_whole", GROUP_EDGES,    PRODUCTS, ANY,      2,  120,  192, WHOLE, 0, 24, 2, H, NORMAL},
    {"rows_3x56x2304",       GROUP_EDGES,    PRODUCTS, ANY,      3,   56, 2304,  128, 40,  0, 5, B, NORMAL},
    {"rows_1x72x4160_of_64", GROUP_EDGES,    PRODUCTS, ANY,      1,   72, 4160,   64,  0,  0, 7, H, NORMAL},
    {"rows_4x64x64_of_32",   GROUP_EDGES,    PRODUCTS, ANY,      4,   64,   64,   32,  0,  0, 1, B, NORMAL},
    {"rows_7x264x192",       GROUP_EDGES,    TILES,    ANY,      7,  264,  192,   64,  0,  0, 3, H, NORMAL},
    {"rows_8x120x256_of_32", GROUP_EDGES,    TILES,    ANY,      8,  120,  256,   32,  8,  8, 2, H, NORMAL},
    {"rows_9x128x640",       GROUP_EDGES,    TILES,    ANY,      9,  128,  640,  128,  0,  0, 4, B, NORMAL},
    {"edge_15x8x320",        GROUP_EDGES,    TILES,    ANY,     15,    8,  320,   64,  0,  0, 2, H, NORMAL},
    {"edge_16x72x64",        GROUP_EDGES,    TILES,    ANY,     16,   72,   64,   64,  0,  0, 1, H, NORMAL},
    {"rows_17x136x320",      GROUP_EDGES,    TILES,    ANY,     17,  136,  320,   64,  8,  0, 2, H, NORMAL},
    {"edge_63x256x128",      GROUP_EDGES,    TILES,    ANY,     63,  256,  128,  128,  0,  8, 2, H, NORMAL},
    {"edge_64x264x192_bf16", GROUP_EDGES,    TILES,    ANY,     64,  264,  192,   32,  0,  0, 2, B, NORMAL},
    {"edge_65x64x128",       GROUP_EDGES,    TILES,    ANY,     65,   64,  128,   32,  0,  0, 1, H, NORMAL},
    {"edge_127x72x64",       GROUP_EDGES,    TILES,    ANY,    127,   72,   64,   64,  0,  0, 1, B, NORMAL},
    {"edge_129x264x192",     GROUP_EDGES,    TILES,    ANY,    129,  264,  192,   64,  8,  8, 3, H, NORMAL},
    {"deep_20x8x2112",       GROUP_EDGES,    TILES,    ANY,     20,    8, 2112,   64,  0,  0, 1, H, NORMAL},
    {"edge_128x256x448_whole",GROUP_EDGES,   TILES,    ANY,    128,  256,  448, WHOLE, 0,  0, 2, H, NORMAL},
    {"tiles_10_by_2",        GROUP_EDGES,    TENSOR,   ANY,   1033,  264,   64,   64,  0,  0, 1, H, NORMAL},
    {"more_splits_than_slices",GROUP_EDGES,  SPLIT,    ANY,     17,   72,  256,   64,  0,  0,32, H, NORMAL},
    {"splits_32",            GROUP_EDGES,    SPLIT,    ANY,      2,   72, 4096,  128,  0,  8,32, H, NORMAL},
    {"splits_1",             GROUP_EDGES,    SPLIT,    ANY,     20,  136,  192,   64,  0,  8, 1, H, NORMAL},

    {"large",                GROUP_NUMERICS, PRODUCTS, ANY,      3,   72,  256,  128,  0,  0, 2, B, LARGE},
    {"small",                GROUP_NUMERICS, PRODUCTS, ANY,      4,   72,  256,  128,  0,  0, 2, H, SMALL},
    {"positive",             GROUP_NUMERICS, PRODUCTS, ANY,      4,   72, 2048,  128,  0,  0, 3, H, POSITIVE},
    {"cancel",               GROUP_NUMERICS, PRODUCTS, ANY,      4,   72,  256,   64,  0,  0, 2, H, CANCEL},
    {"halves_cancel",        GROUP_NUMERICS, PRODUCTS, ANY,      4,   72,  256,   64,  0,  0, 2, H, HALVES_CANCEL},
    {"halves_cancel_bf16",   GROUP_NUMERICS, PRODUCTS, ANY,      3,   72,  512,   64,  0,  0, 4, B, HALVES_CANCEL},
    {"lowest",               GROUP_NUMERICS, PRODUCTS, ANY,      3,   72,  256,   64,  0,  0, 2, H, LOWEST},
    {"highest",              GROUP_NUMERICS, PRODUCTS, ANY,      3,   72,  256,   64,  0,  0, 2, B, HIGHEST},
    {"to_infinity",          GROUP_NUMERICS, PRODUCTS, ANY,      4,   72,  256,   64,  0,  0, 2, H, TO_INFINITY},
    {"nan_a",                GROUP_NUMERICS, PRODUCTS, ANY,      4,   72,  256,   64,  0,  0, 2, H, NAN_A},
    {"inf_a",                GROUP_NUMERICS, PRODUCTS, ANY,      4,   72,  256,   64,  0,  0, 2, B, INF_A},
    {"nan_scale",            GROUP_NUMERICS, PRODUCTS, ANY,      4,   72,  256,   64,  0,  0, 2, H, NAN_SCALE},
    {"inf_scale",            GROUP_NUMERICS, PRODUCTS, ANY,      4,   72,  256,   64,  0,  0, 2, H, INF_SCALE},
    {"negative_scale",       GROUP_NUMERICS, PRODUCTS, ANY,      4,   72,  256,   32,  0,  0, 2, H, NEGATIVE_SCALE},
    {"zero_scale",           GROUP_NUMERICS, PRODUCTS, ANY,      4,   72,  256,   64,  0,  0, 2, H, ZERO_SCALE},
    {"tiny_scale",           GROUP_NUMERICS, PRODUCTS, ANY,      4,   72,  256,   64,  0,  0, 2, H, TINY_SCALE},
    {"nan_a_70",             GROUP_NUMERICS, TILES,    ANY,     70,   72,  128,   64,  0,  0, 2, H, NAN_A},
    {"nan_scale_70",         GROUP_NUMERICS, TILES,    ANY,     70,   72,  128,   32,  0,  0, 2, B, NAN_SCALE},

    {"rows_1x256x512",       GROUP_SPEED,    VECTOR,   ANY,      1,  256,  512,  128,  0,  0, 1, H, NORMAL},
    {"rows_16x256x512",      GROUP_SPEED,    TILES,    ANY,     16,  256,  512,  128,  0,  0, 4, H, NORMAL},
    {"rows_128x256x256",     GROUP_SPEED,    TENSOR,   ANY,    128,  256,  256,  128,  0,  0, 1, H, NORMAL},
    {"rows_1x4096x4096",     GROUP_SPEED,    VECTOR,   ON_GPU,   1, 4096, 4096,  128,  0,  0, 1, H, NORMAL},
    {"rows_1x12288x4096",    GROUP_SPEED,    VECTOR,   ON_GPU,   1,12288, 4096,  128,  0,  0, 1, H, NORMAL},
    {"rows_16x4096x4096",    GROUP_SPEED,    TILES,    ON_GPU,  16, 4096, 4096,  128,  0,  0, 4, H, NORMAL},
    {"rows_64x4096x4096",    GROUP_SPEED,    TILES,    ON_GPU,  64, 4096, 4096,  128,  0,  0, 8, H, NORMAL},
    {"rows_4096x4096x4096",  GROUP_SPEED,    TENSOR,   ON_GPU,4096, 4096, 4096,  128,  0,  0, 1, H, NORMAL},
    /* clang-format on */
};

/** A matrix that is shuffled. */
static const struct {
    const char *name;
    enum case_group group;
    unsigned devices;
    int n, k, of, format, has_zeros;
} SHUFFLES[] = {
    /* clang-format off */
    {"smallest",            GROUP_BASIC, ANY,      8,   64,   64, W4_AWQ,  1},
    {"awq_64",              GROUP_BASIC, ANY,     64,   64,   64, W4_AWQ,  1},
    {"gptq_64",             GROUP_BASIC, ANY,     64,   64,   64, W4_GPTQ, 1},
    {"awq_128",             GROUP_BASIC, ANY,    128,  256,  128, W4_AWQ,  1},
    {"gptq_128",            GROUP_BASIC, ANY,    128,  256,  128, W4_GPTQ, 1},
    {"sound_arguments",     GROUP_EDGES, ANY,     72,  128,   64, W4_AWQ,  1},
    {"awq_no_zeros",        GROUP_EDGES, ANY,     72,  128,   32, W4_AWQ,  0},
    {"gptq_no_zeros",       GROUP_EDGES, ANY,    120,  192,   64, W4_GPTQ, 0},
    {"awq_72",              GROUP_EDGES, ANY,     72,  192,   32, W4_AWQ,  1},
    {"k_65600",             GROUP_EDGES, ANY,      8, 65600,  32, W4_GPTQ, 1},
    {"awq_whole",           GROUP_EDGES, ANY,     56,  320, WHOLE, W4_AWQ, 1},
    {"gptq_136",            GROUP_EDGES, ANY,    136,  320,   64, W4_GPTQ, 1},
    {"gptq_whole",          GROUP_EDGES, ANY,      8,  448, WHOLE, W4_GPTQ,1},
    {"awq_2056x64",         GROUP_EDGES, ANY,   2056,   64,   32, W4_AWQ,  1},
    {"awq_512x512",         GROUP_SPEED, ANY,    512,  512,  128, W4_AWQ,  1},
    {"awq_4096x4096",       GROUP_SPEED, ON_GPU,4096, 4096,  128, W4_AWQ,  1},
    /* clang-format on */
};

/** Sizes that only test the grid: the device checks launches, and runs nothing. */
static const struct {
    const char *name;
    unsigned parts;
    int m, n, k;
} GRIDS[] = {
    {"grid_of_2147483640_columns", PRODUCTS | SHUFFLE, 1, INT_MAX - 7, 64},
    {"grid_of_2147483647_rows", TILES, INT_MAX, 8, 64},
    {"grid_of_262144_squared", TILES, 1 << 18, 1 << 18, 64},
};

static const struct bad_argument BAD[] = {
    {"group_unknown", PRODUCTS | SHUFFLE, KERNEL_INVALID_CONFIG, BAD_VALUE(W4_GROUP, 48)},
    {"group_zero", PRODUCTS | SHUFFLE, KERNEL_INVALID_CONFIG, BAD_VALUE(W4_GROUP, 0)},
    {"group_256", PRODUCTS | SHUFFLE, KERNEL_INVALID_CONFIG, BAD_VALUE(W4_GROUP, 256)},
    {"group_negative", PRODUCTS | SHUFFLE, KERNEL_INVALID_CONFIG, BAD_VALUE(W4_GROUP, -64)},
    {"k_not_of_slices", PRODUCTS | SHUFFLE, KERNEL_INVALID_DIMENSION, BAD_VALUE(W4_K, 96)},
    {"n_not_of_words", PRODUCTS | SHUFFLE, KERNEL_INVALID_DIMENSION, BAD_VALUE(W4_N, 68)},
    {"five_rows", VECTOR, KERNEL_INVALID_DIMENSION, BAD_VALUE(W4_M, 5)},
    {"lda_short", PRODUCTS, KERNEL_INVALID_DIMENSION, BAD_VALUE(W4_LDA, 120)},
    {"lda_not_of_chunks", PRODUCTS, KERNEL_INVALID_DIMENSION, BAD_VALUE(W4_LDA, 132)},
    {"ldc_short", PRODUCTS, KERNEL_INVALID_DIMENSION, BAD_VALUE(W4_LDC, 64)},
    {"ldc_not_of_chunks", PRODUCTS, KERNEL_INVALID_DIMENSION, BAD_VALUE(W4_LDC, 76)},
    {"f32", PRODUCTS, KERNEL_UNSUPPORTED_DTYPE, BAD_VALUE(W4_DTYPE, DTYPE_F32)},
};

/** Sizes that are refused because something that is counted overflows. */
static const struct {
    const char *name;
    unsigned parts;
    int m, n, k;
} TOO_LARGE[] = {
    {"too_large_in_tiles", TILES, INT_MAX, INT_MAX - 7, 64},
    {"too_large_in_slices", PRODUCTS | SHUFFLE, 1, INT_MAX - 7, INT_MAX / 64 * 64},
};

static void set(struct lesson_case *item, int at, int value)
{
    item->extent[at] = value;
    item->value[at] = value;
}

static void set_shape(struct lesson_case *item, int m, int n, int k, int of)
{
    set(item, W4_M, m), set(item, W4_N, n), set(item, W4_K, k), set(item, W4_GROUP, of == WHOLE ? k : of);
}

static struct lesson_case start_case(int part, const char *name, enum case_group group, unsigned devices)
{
    struct lesson_case item = {.group = group, .part = part, .weight = 1, .devices = devices, .repeat = 1};
    item.null_buffer = item.misaligned_buffer = -1;
    snprintf(item.name, sizeof item.name, "%s/%s", PART_NAMES[part], name);
    return item;
}

static struct lesson_case product_case(int part, const struct product_row *row)
{
    struct lesson_case item = start_case(part, row->name, row->group, row->devices);
    set_shape(&item, row->m, row->n, row->k, row->of);
    set(&item, W4_LDA, row->k + row->more_a), set(&item, W4_LDC, row->n + row->more_c);
    set(&item, W4_SPLITS, row->splits), set(&item, W4_DTYPE, row->dtype);
    item.distribution = row->distribution;
    if (row->m > 1000 && row->group != GROUP_SPEED) item.flags |= CASE_ONE_CALL; /* twenty large tiles */
    return item;
}

/* What must be refused, and what only tests the grid, is made of the sound case of the part. */
static int other_cases(int part, struct lesson_case *cases, int count, int capacity)
{
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0] && count < capacity; i++) {
        if (!(BAD[i].of >> part & 1)) continue;
        struct lesson_case *item =
            case_table_copy(cases, &count, capacity, PART_NAMES[part], "sound_arguments", BAD[i].name);
        item->group = GROUP_BAD_INPUT;
        item->expected = BAD[i].expected;
        case_table_spoil(item, &BAD[i], W4_DTYPE);
    }
    for (size_t i = 0; i < sizeof GRIDS / sizeof GRIDS[0] && count < capacity; i++) {
        if (!(GRIDS[i].parts >> part & 1)) continue;
        struct lesson_case *item =
            case_table_copy(cases, &count, capacity, PART_NAMES[part], "sound_arguments", GRIDS[i].name);
        item->devices = ON_SIMT;
        item->flags |= CASE_LAUNCH_ONLY;
        item->value[W4_M] = GRIDS[i].m, item->value[W4_N] = item->value[W4_LDC] = GRIDS[i].n;
        item->value[W4_K] = item->value[W4_LDA] = GRIDS[i].k;
        set(item, W4_SPLITS, 1);
    }
    for (size_t i = 0; i < sizeof TOO_LARGE / sizeof TOO_LARGE[0] && count < capacity; i++) {
        if (!(TOO_LARGE[i].parts >> part & 1)) continue;
        struct lesson_case *item =
            case_table_copy(cases, &count, capacity, PART_NAMES[part], "sound_arguments", TOO_LARGE[i].name);
        item->group = GROUP_BAD_INPUT;
        item->expected = KERNEL_INVALID_DIMENSION;
        item->value[W4_M] = TOO_LARGE[i].m, item->value[W4_N] = item->value[W4_LDC] = TOO_LARGE[i].n;
        item->value[W4_K] = item->value[W4_LDA] = TOO_LARGE[i].k;
    }
    return count;
}

static int cases(struct lesson_case *cases, int capacity)
{
    int count = 0;
    for (size_t i = 0; i < sizeof SHUFFLES / sizeof SHUFFLES[0] && count < capacity; i++) {
        struct lesson_case *item = &cases[count++];
        *item = start_case(PART_SHUFFLE, SHUFFLES[i].name, SHUFFLES[i].group, SHUFFLES[i].devices);
        set_shape(item, 1, SHUFFLES[i].n, SHUFFLES[i].k, SHUFFLES[i].of);
        set(item, W4_FORMAT, SHUFFLES[i].format), set(item, W4_HAS_ZEROS, SHUFFLES[i].has_zeros);
    }
    for (int part = PART_SHUFFLE; part <= PART_SPLIT && count < capacity; part++) {
        for (size_t i = 0; i < sizeof PRODUCTS_OF / sizeof PRODUCTS_OF[0] && count < capacity; i++)
            if (PRODUCTS_OF[i].parts >> part & 1) cases[count++] = product_case(part, &PRODUCTS_OF[i]);
        struct lesson_case *item =
            case_table_copy(cases, &count, capacity, PART_NAMES[part], "smallest", "property_random");
        if (item == NULL) break;
        item->group = GROUP_PROPERTIES;
        item->repeat = PROPERTY_ITEMS;
        count = other_cases(part, cases, count, capacity);
    }
    return count;
}

static void vary(struct lesson_case *item, int index, struct rng *rng)
{
    static const int groups[] = {32, 64, 128, WHOLE};
    int of = groups[rng_between(rng, 0, 3)], k = (of == 128 ? 128 : 64) * rng_between(rng, 1, 3);
    int most = item->part == PART_VECTOR ? W4_VECTOR_ROWS : index % 25 == 0 ? 140 : 20;
    item->seed = rng_next(rng);
    set_shape(item, rng_between(rng, 1, most), 8 * rng_between(rng, 1, 14), k, of);
    set(item, W4_LDA, k + 8 * rng_between(rng, 0, 2)),
        set(item, W4_LDC, item->extent[W4_N] + 8 * rng_between(rng, 0, 2));
    set(item, W4_DTYPE, rng_between(rng, 0, 1) ? DTYPE_F16 : DTYPE_BF16);
    set(item, W4_SPLITS, rng_between(rng, 1, 6));
    set(item, W4_FORMAT, rng_between(rng, 0, 1)), set(item, W4_HAS_ZEROS, rng_between(rng, 0, 3) > 0);
    static const enum distribution random[] = {NORMAL, NORMAL, CANCEL, POSITIVE, NEGATIVE_SCALE};
    item->distribution = item->part == PART_SHUFFLE ? NORMAL : (int)random[rng_between(rng, 0, 4)];
}

/* ---- inputs --------------------------------------------------------------------------------------------- */

static struct ref_w4_shape shape_of(const struct lesson_case *item)
{
    const int *extent = item->extent;
    return (struct ref_w4_shape){extent[W4_N], extent[W4_K], extent[W4_GROUP], extent[W4_FORMAT] == W4_GPTQ};
}

static enum storage storage_of(const struct lesson_case *item)
{
    return item->extent[W4_DTYPE] == DTYPE_BF16 ? STORAGE_BF16 : STORAGE_F16;
}

static size_t groups_of(const struct lesson_case *item)
{
    return (size_t)(item->extent[W4_K] / item->extent[W4_GROUP]);
}

static size_t zero_bytes(const struct lesson_case *item)
{
    return groups_of(item) * (size_t)item->extent[W4_N] / 2;
}

/* What the call is told counts: a refused one may have extents of which no workspace can be made. */
static size_t workspace_bytes(const struct lesson_case *item)
{
    const int64_t *value = item->value;
    struct w4a16_args args = {.m = (int)value[W4_M], .n = (int)value[W4_N], .k = (int)value[W4_K]};
    args.group = (int)value[W4_GROUP], args.lda = (int)value[W4_LDA], args.ldc = (int)value[W4_LDC];
    if (item->part != PART_SPLIT || value[W4_NULL_ARGS] || value[W4_SPLITS] < 2 ||
        value[W4_SPLITS] > W4_MOST_SPLITS || !w4a16_group_is_known(args.group, args.k) ||
        !w4a16_extents_fit(&args))
        return 0;
    return (size_t)args.m * (size_t)args.n * (size_t)value[W4_SPLITS] * sizeof(float);
}

static struct lesson_buffer bytes_of(const char *name, enum wire_role role, size_t bytes, size_t align)
{
    struct lesson_buffer buffer = LESSON_BUFFER(name, role, STORAGE_S8, bytes);
    buffer.align = align;
    return buffer;
}

static int buffers(const struct lesson_case *item, struct lesson_buffer *buffers)
{
    const int *extent = item->extent;
    size_t n = (size_t)extent[W4_N], k = (size_t)extent[W4_K], zeros = zero_bytes(item);
    size_t shuffled = 4 * w4a16_weight_words(extent[W4_N], extent[W4_K]);
    if (item->part == PART_SHUFFLE) {
        buffers[W4_QWEIGHT] = bytes_of("qweight", WIRE_IN, n * k / 2, 4);
        buffers[W4_QZEROS] = bytes_of("qzeros", WIRE_IN, zeros, 4);
        buffers[W4_SHUFFLED] = bytes_of("weights", WIRE_OUT, shuffled, 16);
        buffers[W4_SHUFFLED_ZEROS] = bytes_of("zeros", WIRE_OUT, zeros, 4);
        return W4_SHUFFLE_BUFFERS;
    }
    enum storage storage = storage_of(item);
    buffers[W4_A] = LESSON_BUFFER("a", WIRE_IN, storage, (size_t)extent[W4_M], (size_t)extent[W4_LDA]);
    buffers[W4_A].row = k;
    buffers[W4_C] = LESSON_BUFFER("c", WIRE_OUT, storage, (size_t)extent[W4_M], (size_t)extent[W4_LDC]);
    buffers[W4_C].row = n;
    buffers[W4_WEIGHTS] = bytes_of("weights", WIRE_IN, shuffled, 16);
    buffers[W4_SCALES] = LESSON_BUFFER("scales", WIRE_IN, storage, groups_of(item), n);
    buffers[W4_A].align = buffers[W4_C].align = buffers[W4_SCALES].align = 16;
    buffers[W4_ZEROS] = bytes_of("zeros", WIRE_IN, zeros, 4);
    if (item->part != PART_SPLIT) return W4_WORKSPACE;
    buffers[W4_WORKSPACE] =
        LESSON_BUFFER("workspace", WIRE_WORKSPACE, STORAGE_F32, workspace_bytes(item) / sizeof(float));
    return W4_BUFFERS;
}

/* Element (row, p) of A. The second term of a pair that cancels is the opposite of the first, @p before, plus a little. */
static double activation(const struct lesson_case *item, int row, int p, double noise, double before)
{
    switch (item->distribution) {
    case LARGE:
        return 1e3 * noise;
    case SMALL:
        return 1e-3 * noise;
    case POSITIVE:
    case INF_SCALE:
        return fabs(noise) < 1.0 ? fabs(noise) : 0.5;
    case CANCEL:
        return p % 2 ? 0x1p-7 * noise - before : noise;
    case HALVES_CANCEL:
        return 2 * p < item->extent[W4_K] ? noise : 0x1p-7 * noise - before;
    case TO_INFINITY:
        return row % 2 ? noise : 0x1p10 * fabs(noise) + 0x1p10;
    case NAN_A:
        return row % 5 == 2 && p == item->extent[W4_K] - 1 ? (double)NAN : noise;
    case INF_A:
        if (row % 5 == 1 && p == item->extent[W4_K] / 3) return (double)INFINITY;
        return row % 10 == 1 && p == item->extent[W4_K] - 1 ? (double)-INFINITY : noise;
    default:
        return noise;
    }
}

static void fill_a(const struct lesson_case *item, size_t elems, struct rng *rng, float *data)
{
    size_t lda = (size_t)item->extent[W4_LDA], k = (size_t)item->extent[W4_K];
    rng_fill_normal(rng, data, elems);
    for (size_t i = 0; i < elems; i++) {
        size_t p = i % lda;
        size_t apart = item->distribution == HALVES_CANCEL ? k / 2 : 1;
        double before = p / apart % 2 ? (double)storage_round(storage_of(item), data[i - apart]) : 0.0;
        data[i] = p < k ? (float)activation(item, (int)(i / lda), (int)p, (double)data[i], before) : NAN;
    }
}

/* Scales of about 1/4, so that weights are of size 1. */
static void fill_scales(const struct lesson_case *item, size_t elems, struct rng *rng, float *data)
{
    size_t n = (size_t)item->extent[W4_N];
    for (size_t i = 0; i < elems; i++) {
        int column = (int)(i % n), group = (int)(i / n), odd = (column + group) % 7 == 3;
        data[i] = (float)(0.125 + 0.25 * rng_uniform(rng));
        if (item->distribution == NEGATIVE_SCALE && column % 3 == 1) data[i] = -data[i];
        if (item->distribution == ZERO_SCALE && column % 3 == 1) data[i] = 0.0f;
        if (item->distribution == NAN_SCALE && odd) data[i] = NAN;
        if (item->distribution == INF_SCALE && odd) data[i] = INFINITY;
        if (item->distribution == TO_INFINITY) data[i] *= 2.0f;
        if (item->distribution == TINY_SCALE) data[i] *= 0x1p-13f;
        if (item->distribution == HALVES_CANCEL) data[i] = 0.25f;
    }
}

/* Of a buffer of weights or zeros, how many elements one half of k has, before the other half of the same columns. */
static size_t half_of(const struct lesson_case *item, int of_weights)
{
    const size_t slice = W4_SLICE * W4_SLICE / 2;
    return of_weights ? (size_t)item->extent[W4_K] / W4_SLICE / 2 * slice : zero_bytes(item) / 2;
}

/* Both halves of a byte. With pairs that cancel, neighbours along k have the same weight: those are 4 numbers apart. */
static void fill_bytes(const struct lesson_case *item, int of_weights, size_t elems, struct rng *rng,
                       float *data)
{
    int above = item->distribution == POSITIVE || item->distribution == INF_SCALE ||
                item->distribution == TO_INFINITY || item->distribution == TINY_SCALE;
    const size_t half = half_of(item, of_weights);
    for (size_t i = 0; i < elems; i++) {
        int low = rng_between(rng, 0, 15), high = rng_between(rng, 0, 15);
        if (above && of_weights) low = 8 + low / 2, high = 8 + high / 2;
        if (above && !of_weights) low /= 2, high /= 2;
        if (item->distribution == TINY_SCALE && of_weights) low = 12 + low % 4, high = 12 + high % 4;
        if (item->distribution == LOWEST) low = high = of_weights ? 0 : 15;
        if (item->distribution == HIGHEST) low = high = of_weights ? 15 : 0;
        int byte = high * 16 + low;
        data[i] = (float)(byte < 128 ? byte : byte - 256);
        if (item->distribution == CANCEL && of_weights && i % 4 >= 2) data[i] = data[i - 2];
        if (item->distribution == HALVES_CANCEL && i / half % 2) data[i] = data[i - half];
    }
}

static void fill(const struct lesson_case *item, int index, size_t elems, struct rng *rng, float *data)
{
    int product = item->part != PART_SHUFFLE;
    if (product && index == W4_A)
        fill_a(item, elems, rng, data);
    else if (product && index == W4_SCALES)
        fill_scales(item, elems, rng, data);
    else
        fill_bytes(item, index == (product ? W4_WEIGHTS : W4_QWEIGHT), elems, rng, data);
}

/* ---- what is right -------------------------------------------------------------------------------------- */

/* A unit is a row of C, or UNIT_BYTES of shuffled weights and after them of zeros. */
static size_t weight_units(const struct lesson_case *item)
{
    return (4 * w4a16_weight_words(item->extent[W4_N], item->extent[W4_K]) + UNIT_BYTES - 1) / UNIT_BYTES;
}

static size_t units(const struct lesson_case *item)
{
    if (item->part != PART_SHUFFLE) return (size_t)item->extent[W4_M];
    return weight_units(item) + (zero_bytes(item) + UNIT_BYTES - 1) / UNIT_BYTES;
}

static size_t unit_elems(const struct lesson_case *item)
{
    return item->part == PART_SHUFFLE ? UNIT_BYTES : (size_t)item->extent[W4_N];
}

static void expect_shuffled(const struct lesson_case *item, const float *const *data, size_t unit,
                            struct lesson_expectation *e)
{
    struct ref_w4_shape shape = shape_of(item);
    struct lesson_span *span = &e->span[0];
    size_t weights = weight_units(item), first = (unit < weights ? unit : unit - weights) * UNIT_BYTES;
    size_t bytes = unit < weights ? 4 * w4a16_weight_words(shape.n, shape.k) : zero_bytes(item);
    e->span_count = 1;
    span->buffer = unit < weights ? W4_SHUFFLED : W4_SHUFFLED_ZEROS;
    span->first = first;
    span->count = bytes - first < UNIT_BYTES ? bytes - first : UNIT_BYTES;
    if (unit < weights)
        ref_w4_shuffle(&shape, data[W4_QWEIGHT], first, span->count, span->expected);
    else
        ref_w4_shuffle_zeros(&shape, item->extent[W4_HAS_ZEROS] ? data[W4_QZEROS] : NULL, first, span->count,
                             span->expected);
    for (size_t i = 0; i < span->count; i++)
        span->plain[i] = span->expected[i], span->bound[i] = span->floor[i] = 0.0;
}

static struct ref_gemm_shape gemm_of(const struct lesson_case *item)
{
    const int *extent = item->extent;
    return (struct ref_gemm_shape){.m = extent[W4_M],
                                   .n = extent[W4_N],
                                   .k = extent[W4_K],
                                   .lda = extent[W4_LDA],
                                   .ldb = extent[W4_N],
                                   .ldc = extent[W4_LDC],
                                   .alpha = 1.0};
}

/* W [k, n], which the caller frees. */
static float *weights_of(const struct lesson_case *item, const float *const *data)
{
    struct ref_w4_shape shape = shape_of(item);
    float *w = malloc((size_t)shape.k * (size_t)shape.n * sizeof *w);
    if (w == NULL) abort();
    ref_w4_weights(&shape, data[W4_WEIGHTS], data[W4_ZEROS], data[W4_SCALES], w);
    return w;
}

/* W, and after it each weight rounded to A's type. */
static void *prepare(const struct lesson_case *item, const float *const *data)
{
    if (item->part == PART_SHUFFLE) return NULL;
    struct ref_w4_shape shape = shape_of(item);
    size_t k = (size_t)shape.k, n = (size_t)shape.n;
    float *w = malloc(2 * k * n * sizeof *w), *stored = malloc(n * sizeof *stored);
    if (w == NULL || stored == NULL) abort();
    ref_w4_weights(&shape, data[W4_WEIGHTS], data[W4_ZEROS], data[W4_SCALES], w);
    memcpy(w + k * n, w, k * n * sizeof *w);
    for (size_t p = 0; p < k; p++) storage_put_all(storage_of(item), stored, w + (k + p) * n, n);
    free(stored);
    return w;
}

/** Of some columns of a row: what plain arithmetic gives where weights are rounded first, as the contract allows; the sums of what
 *  that rounding may add, and of its squares; and the sum that bound.h wants. */
struct column_sums {
    float plain[SUMMED_COLUMNS];
    double rounding[SUMMED_COLUMNS], squares[SUMMED_COLUMNS], running[SUMMED_COLUMNS];
};

WIDE static void sum_columns(const float *a, const float *w, const float *rounded, size_t k, size_t n,
                             size_t columns, struct column_sums *restrict sums)
{
    *sums = (struct column_sums){0};
    for (size_t p = 0; p < k; p++)
        for (size_t j = 0; j < columns; j++) {
            const double off = (double)a[p] * ((double)rounded[p * n + j] - (double)w[p * n + j]);
            sums->plain[j] += a[p] * rounded[p * n + j];
            sums->rounding[j] += fabs(off);
            sums->squares[j] += off * off;
            sums->running[j] += (double)sums->plain[j] * (double)sums->plain[j];
        }
}

/* Element @p j of a row, which is @p at of @p sums. */
static void bound_element(const struct lesson_case *item, double magnitude, struct lesson_span *span,
                          size_t j, const struct column_sums *sums, size_t at)
{
    const enum storage storage = storage_of(item);
    const double stored = bound_stored_as(storage, span->expected[j]), rounding = sums->rounding[at];
    const int finite = isfinite(magnitude);
    span->plain[j] = (double)storage_round(storage, sums->plain[at]);
    span->rounding[j] = finite ? rounding : 0.0;
    span->bound[j] = finite ? stored + bound_sum((double)item->extent[W4_K], magnitude) + rounding : 0.0;
    span->floor[j] = finite ? stored + fmax(bound_floor(magnitude), bound_running(sums->running[at])) +
                                  fmin(rounding, BOUND_C * sqrt(sums->squares[at]))
                            : 0.0;
}

static void expect(const struct lesson_case *item, const float *const *data, size_t unit,
                   struct lesson_expectation *e)
{
    if (item->part == PART_SHUFFLE) {
        expect_shuffled(item, data, unit, e);
        return;
    }
    struct ref_gemm_shape shape = gemm_of(item);
    struct lesson_span *span = &e->span[0];
    const size_t k = (size_t)shape.k, n = (size_t)shape.n;
    const float *a = data[W4_A] + unit * (size_t)shape.lda, *w = e->shared, *rounded = w + k * n;
    struct column_sums sums;
    e->span_count = 1;
    span->buffer = W4_C;
    span->first = unit * (size_t)shape.ldc;
    span->count = n;
    ref_gemm_row(&shape, (int)unit, data[W4_A], w, NULL, span->expected, e->scratch);
    for (size_t j = 0; j < n; j++) {
        const size_t at = j % SUMMED_COLUMNS, rest = n - j,
                     columns = rest < SUMMED_COLUMNS ? rest : SUMMED_COLUMNS;
        if (at == 0) sum_columns(a, w + j, rounded + j, k, n, columns, &sums);
        /* A value too large for a half becomes infinite: rounded to nearest as IEEE 754 says. */
        if (storage_of(item) == STORAGE_F16 && fabs(span->expected[j]) >= 65520.0)
            span->expected[j] = copysign((double)INFINITY, span->expected[j]);
        bound_element(item, e->scratch[j], span, j, &sums, at);
    }
}

static int identity(const struct lesson_case *item, const float *const *data, const float *const *got,
                    const double *allowed, uint64_t seed, char *reason, size_t size)
{
    if (item->part == PART_SHUFFLE) return 1;
    const struct ref_gemm_shape shape = gemm_of(item);
    float *w = weights_of(item, data);
    if (w == NULL) snprintf(reason, size, "no memory for Freivalds' identity");
    const int holds = w != NULL && freivalds_holds(&shape, data[W4_A], w, NULL, got[W4_C], allowed[W4_C],
                                                   seed, "W", reason, size);
    free(w);
    return holds;
}

/* ---- what the report can say ---------------------------------------------------------------------------- */

/** Operands that may be read wrongly, and along what. */
enum {
    OF_A = 1,
    OF_Q = 2,
    OF_ZERO = 4,
    OF_SCALE = 8,
    OF_STORED = 16,
    OF_PLACE = 32,
    OF_W = OF_Q | OF_ZERO | OF_SCALE
};
enum { ALONG_ROWS, ALONG_COLUMNS, ALONG_K, ALONG_GROUPS, ALONG_NUMBERS };

#define MISREADS(table) table, sizeof table / sizeof table[0]

/* A number is read where a checkpoint has it, of a word of eight, and put where lanes look for it. */
static const struct misread_row MISREAD_SHUFFLES[] = {
    {OF_STORED, ALONG_NUMBERS, 3, NULL, RECORD_CAUSE_LAYOUT, "order of the eight numbers of a stored word",
     "nibbles",
     "AWQ has columns 0 to 7 in nibbles 0 4 1 5 2 6 3 7, GPTQ eight rows, or zeros, in their order", NULL},
    {OF_PLACE, ALONG_NUMBERS, 12, "iiiwwttgggbb", RECORD_CAUSE_LAYOUT, "weights are put elsewhere", "numbers",
     "w is the word of lane 4 g + t, i the number in it, b the block", NULL},
};

static const struct misread_row MISREAD_PRODUCTS[] = {
    {OF_SCALE, ALONG_COLUMNS, 7, NULL, RECORD_CAUSE_SCALE, "scales", "columns", NULL, "k"},
    {OF_ZERO, ALONG_COLUMNS, 7, NULL, RECORD_CAUSE_DEQUANTISATION, "zeros", "columns", NULL, "k"},
    {OF_ZERO | OF_SCALE, ALONG_COLUMNS, 7, NULL, RECORD_CAUSE_DEQUANTISATION, "zeros and scales", "columns",
     NULL, "k"},
    {OF_SCALE, ALONG_GROUPS, 7, NULL, RECORD_CAUSE_SCALE, "scales", "groups", NULL, NULL},
    {OF_ZERO, ALONG_GROUPS, 7, NULL, RECORD_CAUSE_DEQUANTISATION, "zeros", "groups", NULL, NULL},
    {OF_ZERO | OF_SCALE, ALONG_GROUPS, 7, NULL, RECORD_CAUSE_DEQUANTISATION, "zeros and scales", "groups",
     NULL, NULL},
    {OF_A, ALONG_ROWS, 7, NULL, RECORD_CAUSE_LAYOUT, "rows of A, or of C where it is stored", "rows", NULL,
     NULL},
    {OF_W, ALONG_COLUMNS, 7, NULL, RECORD_CAUSE_LAYOUT, "columns of W, or of C where it is stored", "columns",
     NULL, NULL},
    {OF_Q, ALONG_COLUMNS, 7, NULL, RECORD_CAUSE_LAYOUT, "weights", "columns", NULL, NULL},
    {OF_A, ALONG_K, 9, NULL, RECORD_CAUSE_LAYOUT, "A and W differ along k: of A", "k",
     "a lane has weights of 16 neighbours along k", NULL},
    {OF_W, ALONG_K, 9, NULL, RECORD_CAUSE_LAYOUT, "A and W differ along k: of W", "k", NULL, NULL},
    {OF_Q, ALONG_K, 9, NULL, RECORD_CAUSE_LAYOUT,
     "A and W differ along k: of the weights, not of their scales", "k", NULL, NULL},
};

/* The number of four bits at @p to of what is shuffled; 0 if nobody knows it. */
static int number_at(const struct lesson_case *item, const float *const *data,
                     const struct ref_w4_shape *shape, const struct misread *m, int of_zeros, size_t to,
                     int *number)
{
    const float *words = data[of_zeros ? W4_QZEROS : W4_QWEIGHT];
    int row = (int)(to / (size_t)shape->n), column = (int)(to % (size_t)shape->n);
    const size_t stored = (of_zeros ? groups_of(item) : (size_t)shape->k) * (size_t)shape->n;
    if (!of_zeros)
        ref_w4_weight_at(
            shape, misread_index(m, OF_PLACE, ALONG_NUMBERS, to, 8 * w4a16_weight_words(shape->n, shape->k)),
            &row, &column);
    *number = 0;
    if (column >= shape->n) return 1;
    if (row >= shape->k) return 0;
    size_t place =
        of_zeros ? ref_w4_stored_zero_place(shape, row, column) : ref_w4_stored_place(shape, row, column);
    *number = ref_w4_number(words, misread_index(m, OF_STORED, ALONG_NUMBERS, place, stored));
    return 1;
}

static int guess_shuffled(const struct lesson_case *item, const float *const *data, int index, int buffer,
                          size_t at, struct lesson_guess *guess)
{
    static const char *const words[] = {"as if the weights were stored in the other format",
                                        "GPTQ's zeros are taken as they are stored, 1 too small"};
    struct ref_w4_shape shape = shape_of(item);
    struct misread misread = {0};
    const int of_zeros = buffer == W4_SHUFFLED_ZEROS, more = of_zeros && shape.gptq && index != 1;
    int number[2], known = 1;
    guess->cause = RECORD_CAUSE_LAYOUT;
    if (index < 2) {
        snprintf(guess->words, sizeof guess->words, "%s", words[index]);
    } else {
        index -= 2;
        if (!misread_at(MISREADS(MISREAD_SHUFFLES), &index, &misread, guess)) return -1;
    }
    if (of_zeros && !item->extent[W4_HAS_ZEROS] && shape.gptq && misread.row == NULL && index == 1) {
        snprintf(guess->words, sizeof guess->words,
                 "GPTQ adds 1 to what qzeros holds: where it is NULL, every zero is 8, and nothing is added");
        guess->value = 0x99 - 256;
        return 1;
    }
    if (of_zeros && (!item->extent[W4_HAS_ZEROS] || misread.row == &MISREAD_SHUFFLES[1])) return 0;
    if (misread.row == NULL && index == 0) shape.gptq = !shape.gptq;
    if (misread.row == NULL && index == 1 && !of_zeros) return 0;
    for (int half = 0; half < 2 && known; half++) {
        known = number_at(item, data, &shape, &misread, of_zeros, 2 * at + (size_t)half, &number[half]);
        if (known) number[half] = (number[half] + more) % 16;
    }
    if (!known) return 2;
    guess->value = number[1] * 16 + number[0] - (number[1] < 8 ? 0 : 256);
    return 1;
}

enum { SHUFFLE_GUESSES = 1500 }; /* at most */

/** How weights become numbers. */
enum unpacking { AS_SAID, NO_ZERO, ZERO_8, PRODUCTS_ROUNDED, NO_SCALE };

/* A weight of which q * scale, zero * scale and their difference are each rounded to A's type. */
static double rounded_thrice(enum storage storage, int q, int zero, float scale)
{
    const float product = storage_round(storage, (float)q * scale),
                offset = storage_round(storage, (float)zero * scale);
    return (double)storage_round(storage, product - offset);
}

/* The terms of an element of C along k, from @p from to before @p to. */
static int sum_terms(const struct lesson_case *item, const float *const *data, const struct misread *m,
                     enum unpacking how, size_t at, size_t from, size_t to, double *sum)
{
    const struct ref_w4_shape shape = shape_of(item);
    const size_t lda = (size_t)item->extent[W4_LDA], ldc = (size_t)item->extent[W4_LDC], k = (size_t)shape.k,
                 n = (size_t)shape.n, group = (size_t)shape.group, groups = groups_of(item);
    const size_t rows = (size_t)item->extent[W4_M], row = misread_index(m, OF_A, ALONG_ROWS, at / ldc, rows);
    const size_t column = at % ldc, of_q = misread_index(m, OF_Q, ALONG_COLUMNS, column, n);
    if (row >= rows || of_q >= n) return 0;
    *sum = 0.0;
    for (size_t p = from; p < to; p++) {
        const size_t of_a = misread_index(m, OF_A, ALONG_K, p, k),
                     q_at = misread_index(m, OF_Q, ALONG_K, p, k);
        const size_t zero_k = misread_index(m, OF_ZERO, ALONG_K, p, k),
                     scale_k = misread_index(m, OF_SCALE, ALONG_K, p, k);
        if (of_a >= k || q_at >= k || zero_k >= k || scale_k >= k) return 0;
        const size_t zeros = misread_index(m, OF_ZERO, ALONG_GROUPS, zero_k / group, groups),
                     scales = misread_index(m, OF_SCALE, ALONG_GROUPS, scale_k / group, groups);
        const size_t of_zero = misread_beside(m, OF_ZERO, ALONG_COLUMNS, column, n, p),
                     of_scale = misread_beside(m, OF_SCALE, ALONG_COLUMNS, column, n, p);
        if (zeros >= groups || scales >= groups || of_zero >= n || of_scale >= n) return 0;
        int q = ref_w4_number(data[W4_WEIGHTS], ref_w4_place(&shape, (int)q_at, (int)of_q));
        int zero = ref_w4_number(data[W4_ZEROS], zeros * n + of_zero);
        if (how == NO_ZERO || how == ZERO_8) zero = how == ZERO_8 ? 8 : 0;
        const float scale = how == NO_SCALE ? 1.0f : data[W4_SCALES][scales * n + of_scale];
        *sum += (double)data[W4_A][row * lda + of_a] * (how == PRODUCTS_ROUNDED
                                                            ? rounded_thrice(storage_of(item), q, zero, scale)
                                                            : (q - zero) * (double)scale);
    }
    return 1;
}

static int guess(const struct lesson_case *item, const float *const *data, int index, int buffer, size_t at,
                 struct lesson_guess *guess)
{
    static const char *const words[] = {[NO_ZERO] = "the zeros are not subtracted",
                                        [ZERO_8] = "every zero is taken as 8",
                                        [PRODUCTS_ROUNDED] =
                                            "q * scale, zero * scale and their difference are each rounded, "
                                            "and where the scale is infinite that is infinity - infinity: "
                                            "(q - zero) * scale is rounded once",
                                        [NO_SCALE] = "the weights are not scaled"};
    struct misread misread = {0};
    enum unpacking how = AS_SAID;
    if (item->part == PART_SHUFFLE) return guess_shuffled(item, data, index, buffer, at, guess);
    if (index < SHUFFLE_GUESSES) return 0; /* the parts have no number in common */
    index -= SHUFFLE_GUESSES;
    if (index < NO_SCALE) {
        how = NO_ZERO + (enum unpacking)index;
        guess->cause = how == NO_SCALE ? RECORD_CAUSE_SCALE : RECORD_CAUSE_DEQUANTISATION;
        snprintf(guess->words, sizeof guess->words, "%s", words[how]);
    } else {
        index -= NO_SCALE;
        if (!misread_at(MISREADS(MISREAD_PRODUCTS), &index, &misread, guess)) return -1;
    }
    if (at % (size_t)item->extent[W4_LDC] >= (size_t)item->extent[W4_N]) return 0; /* between two rows */
    return sum_terms(item, data, &misread, how, at, 0, (size_t)item->extent[W4_K], &guess->value) ? 1 : 2;
}

static int terms(const struct lesson_case *item, const float *const *data, int buffer, size_t at, size_t from,
                 size_t to, struct lesson_terms *terms)
{
    static const struct misread none = {0};
    if (item->part == PART_SHUFFLE || buffer != W4_C) return 0;
    *terms = (struct lesson_terms){.count = (size_t)item->extent[W4_K], .what = "k"};
    return sum_terms(item, data, &none, AS_SAID, at, from, to, &terms->sum);
}

static int trait(const struct lesson_case *item, int index, const char **message)
{
    const int *extent = item->extent;
    const struct trait traits[] = {
        {extent[W4_N] % W4_SLICE != 0,
         "only cases whose n is no multiple of 64 fail: what happens to the last strip?"},
        {item->part != PART_SHUFFLE && extent[W4_DTYPE] == DTYPE_BF16,
         "only bf16 fails: it has three bits less than f16, and another power of two"},
        {(extent[W4_GROUP] & (extent[W4_GROUP] - 1)) != 0,
         "only cases fail whose groups have a size that is no power of two: is k divided by a shift?"},
        {extent[W4_GROUP] == 32, "only groups of 32 fail: a slice of 64 has two of them"},
        {extent[W4_FORMAT] == W4_GPTQ, "only GPTQ's format fails"},
        {item->part == PART_SPLIT && extent[W4_SPLITS] > 1, "only cases with several splits fail"},
        {item->part != PART_SHUFFLE && extent[W4_LDA] != extent[W4_K],
         "only cases whose rows of A are further apart than they are long fail: is lda respected?"},
    };
    return trait_at(traits, sizeof traits / sizeof traits[0], item->expected == KERNEL_OK, index, message);
}

static const char *purpose(const struct lesson_case *item)
{
    static const char *const purposes[DISTRIBUTIONS] = {
        [LARGE] = "activations of magnitude 1000",
        [SMALL] = "activations of magnitude 0.001",
        [POSITIVE] = "terms of one sign: the sum grows with every one",
        [CANCEL] = "terms come in pairs that nearly cancel",
        [HALVES_CANCEL] =
            "what the second half of k adds nearly cancels what the first one does: is each sum kept in f32?",
        [LOWEST] = "every q is 0 and every zero 15: the smallest difference",
        [HIGHEST] = "every q is 15 and every zero 0: the largest difference",
        [TO_INFINITY] = "some results are beyond 65504, the largest half: from 65520 on they become infinite",
        [NAN_A] = "some rows of A hold a NaN: it must come out in that row and nowhere else",
        [INF_A] = "some rows of A hold infinities",
        [NAN_SCALE] = "some scales are NaN: they must come out in their columns and nowhere else",
        [INF_SCALE] = "some scales are infinite: they must come out in their columns and nowhere else",
        [NEGATIVE_SCALE] = "some scales are negative",
        [ZERO_SCALE] = "some scales are 0",
        [TINY_SCALE] = "scales are subnormal halves, and no scale times q - zero is",
    };
    if (item->flags & CASE_LAUNCH_ONLY) return "a large problem: only its launch is checked";
    if (item->part == PART_SPLIT && item->extent[W4_SPLITS] > item->extent[W4_K] / W4_SLICE)
        return "there are more parts than slices of k: those without one count as zeros";
    return purposes[item->distribution];
}

static void cost(const struct lesson_case *item, struct lesson_cost *cost)
{
    double m = item->extent[W4_M], n = item->extent[W4_N], k = item->extent[W4_K];
    double groups = (double)groups_of(item);
    *cost = (struct lesson_cost){.flop = item->part == PART_SHUFFLE ? 0.0 : 2.0 * m * n * k,
                                 .min_bytes = 0.5 * n * k + 2.5 * groups * n + 2.0 * (m * k + m * n),
                                 .oracle_ops = 12.0 * m * n * k,
                                 .tensor_cores = item->part == PART_TENSOR || item->part == PART_SPLIT};
    if (item->part == PART_SHUFFLE) cost->min_bytes = n * k + groups * n, cost->oracle_ops = 30.0 * n * k;
}

static void describe(const struct lesson_case *item, char *text, size_t size)
{
    const int64_t *value = item->value;
    size_t used = 0;
    if (item->part != PART_SHUFFLE) used += (size_t)snprintf(text, size, "m %lld, ", (long long)value[W4_M]);
    used += (size_t)snprintf(text + used, size - used, "n %lld, k %lld, groups of %lld",
                             (long long)value[W4_N], (long long)value[W4_K], (long long)value[W4_GROUP]);
    if (item->part == PART_SHUFFLE) {
        snprintf(text + used, size - used, ", %s%s", value[W4_FORMAT] == W4_GPTQ ? "GPTQ" : "AWQ",
                 value[W4_HAS_ZEROS] ? "" : ", no zeros");
        return;
    }
    if (value[W4_LDA] != value[W4_K] || value[W4_LDC] != value[W4_N])
        used += (size_t)snprintf(text + used, size - used, ", lda %lld, ldc %lld", (long long)value[W4_LDA],
                                 (long long)value[W4_LDC]);
    if (item->part == PART_SPLIT)
        used += (size_t)snprintf(text + used, size - used, ", %lld splits", (long long)value[W4_SPLITS]);
    snprintf(text + used, size - used, ", %s",
             value[W4_DTYPE] == DTYPE_F16    ? "f16"
             : value[W4_DTYPE] == DTYPE_BF16 ? "bf16"
                                             : "other dtype");
}

const struct lesson lesson_20_w4a16_gemm = {
#include "checker/cases/described.h"
    LESSON_CALLBACKS(), .distributions = DISTRIBUTIONS, .turns = "weights qweight",
    .prepare = prepare, .identity = identity,           .terms = terms,
};
