/**
 * @file int8_cases.c
 * @brief The tables of cases of products of bytes, beyond those of every product.
 */
#include "int8_cases.h"

#include <limits.h>
#include <stdio.h>

#include "contracts/int8_gemm_args.h"

enum { SUMS = 1, SCALED = 2, BOTH = SUMS | SCALED };

enum { NN, NT, TN, TT }; /* 2 * trans_a + trans_b */

/** One line: a shape, its layout, and its data. */
struct int8_row {
    const char *name;
    enum case_group group;
    unsigned parts, devices;
    int m, n, k, layout;
    int more_a, more_b, more_c; /* elements from the end of a row to the next */
    int few_sms;                /* 1: the device has few SMs, so that a small problem gets large tiles */
    int distribution;
};

#define ANY ON_ANY

static const struct int8_row ROWS[] = {
    /* clang-format off */
    /* name                    group           parts   devices   m    n       k  layout a  b  c  few distribution */
    {"edge_of_overflow",       GROUP_NUMERICS, SUMS,   ANY,      2,   4, 131071, NT,    1, 1, 0, 0,  INT8_EXTREMES},
    {"edge_of_overflow_nn",    GROUP_NUMERICS, SUMS,   ON_GPU,   2,   3, 131071, NN,    0, 0, 0, 0,  INT8_EXTREMES},
    {"most_negative",          GROUP_NUMERICS, SUMS,   ON_GPU,   3,   2, 131071, NT,    1, 1, 0, 0,  INT8_OPPOSITE},
    {"edge_of_overflow",       GROUP_NUMERICS, SCALED, ON_GPU,   2,   3, 131071, NT,    1, 1, 0, 0,  INT8_EXTREMES},
    {"lowest_tn",              GROUP_NUMERICS, SUMS,   ANY,     33,  40,    200, TN,    0, 0, 0, 0,  INT8_LOWEST},
    {"opposite",               GROUP_NUMERICS, BOTH,   ANY,     33,  40,    200, NN,    0, 0, 0, 0,  INT8_OPPOSITE},
    {"returning",              GROUP_NUMERICS, BOTH,   ANY,     20,  24,   4096, NT,    0, 0, 0, 0,  INT8_RETURNING},
    {"beyond_24_bits",         GROUP_NUMERICS, BOTH,   ANY,     17,  19,   3001, NT,    7, 7, 1, 0,  INT8_POSITIVE},
    {"beyond_24_bits_tn",      GROUP_NUMERICS, SUMS,   ANY,     17,  19,   3001, TN,   15,13, 1, 0,  INT8_POSITIVE},

    {"k_127",                  GROUP_EDGES,    SUMS,   ANY,     32,  32,    127, NT,    1, 1, 0, 0,  GEMM_NORMAL},
    {"k_128",                  GROUP_EDGES,    SUMS,   ANY,     32,  32,    128, NT,    0, 0, 0, 0,  GEMM_NORMAL},
    {"k_129",                  GROUP_EDGES,    SUMS,   ANY,     32,  32,    129, NT,   15,15, 0, 0,  GEMM_NORMAL},
    {"k_129_nn",               GROUP_EDGES,    SUMS,   ANY,     32,  32,    129, NN,   15, 0, 0, 0,  GEMM_NORMAL},
    {"k_145",                  GROUP_EDGES,    SUMS,   ANY,     32,  32,    145, NT,   15,15, 0, 0,  GEMM_NORMAL},
    {"k_257_tt",               GROUP_EDGES,    SUMS,   ANY,     32,  48,    257, TT,    0,15, 0, 0,  GEMM_NORMAL},
    {"k_384",                  GROUP_EDGES,    SUMS,   ANY,     32,  32,    384, NT,    0, 0, 0, 0,  GEMM_NORMAL},
    {"k_513",                  GROUP_EDGES,    BOTH,   ANY,     24,  40,    513, NT,   15,15, 0, 0,  GEMM_NORMAL},
    {"k_640_tn",               GROUP_EDGES,    SUMS,   ANY,     48,  64,    640, TN,    0, 0, 0, 0,  GEMM_NORMAL},
    {"k_900_tt",               GROUP_EDGES,    SUMS,   ANY,     37,  41,    900, TT,   11,12, 3, 0,  GEMM_NORMAL},
    {"chunk_ends_within_k",    GROUP_EDGES,    BOTH,   ANY,     70,  66,     83, NT,   13,13, 2, 0,  GEMM_NORMAL},
    {"chunk_ends_within_lines",GROUP_EDGES,    BOTH,   ANY,     83,  77,     70, TN,   13, 3, 3, 0,  GEMM_NORMAL},
    {"only_a_by_bytes",        GROUP_EDGES,    SUMS,   ANY,     48,  64,    160, NT,    1, 0, 0, 0,  GEMM_NORMAL},
    {"only_b_by_bytes",        GROUP_EDGES,    SUMS,   ANY,     48,  64,    160, NT,    0, 1, 0, 0,  GEMM_NORMAL},
    {"rows_apart_8_nt",        GROUP_EDGES,    SUMS,   ANY,     48,  64,    160, NT,    8, 8, 4, 0,  GEMM_NORMAL},


    {"rows_1100",              GROUP_EDGES,    SCALED, ANY,   1100,   1,     16, NT,    0, 0, 0, 0,  GEMM_NORMAL},
    {"columns_1100",           GROUP_EDGES,    SCALED, ANY,      1,1100,     16, NT,    0, 0, 0, 0,  GEMM_NORMAL},
    {"few_sms_nt",             GROUP_EDGES,    BOTH,   ANY,    140, 300,    300, NT,    4, 4, 0, 1,  GEMM_NORMAL},
    {"few_sms_nn",             GROUP_EDGES,    SUMS,   ANY,    129, 272,    200, NN,    8, 0, 0, 1,  GEMM_NORMAL},
    {"few_sms_tn",             GROUP_EDGES,    SUMS,   ANY,    144, 257,    600, TN,    0,15, 3, 1,  GEMM_NORMAL},
    {"few_sms_tt",             GROUP_EDGES,    SUMS,   ANY,    257, 129,    130, TT,    3, 2, 3, 1,  GEMM_NORMAL},
    {"few_sms_by_bytes",       GROUP_EDGES,    BOTH,   ANY,    131, 259,     67, NN,    1, 3, 1, 1,  GEMM_NORMAL},
    {"few_sms_positive",       GROUP_NUMERICS, SUMS,   ANY,    130, 258,   2100, NT,   12,12, 2, 1,  INT8_POSITIVE},
    /* A GPU has more SMs, so large tiles need larger problems; their edges are tested there. */
    {"gpu_large_rim_nt",       GROUP_EDGES,    BOTH,   ON_GPU,1500,2908,    328, NT,    0, 4, 0, 0,  GEMM_NORMAL},
    {"gpu_large_rim_tt",       GROUP_EDGES,    SUMS,   ON_GPU,1501,2909,    201, TT,    3, 2, 3, 0,  GEMM_NORMAL},

    {"scales_negative",        GROUP_NUMERICS, SCALED, ANY,     33,  40,     50, NT,    0, 0, 0, 0,  INT8_SCALES_NEGATIVE},
    {"scales_zero",            GROUP_NUMERICS, SCALED, ANY,     33,  40,     50, NN,    0, 0, 0, 0,  INT8_SCALES_ZERO},
    {"scales_nan",             GROUP_NUMERICS, SCALED, ANY,     33,  40,     50, NT,    0, 0, 0, 0,  INT8_SCALES_NAN},
    {"scales_infinite",        GROUP_NUMERICS, SCALED, ANY,     33,  40,     50, TN,    0, 0, 0, 0,  INT8_SCALES_INFINITE},
    {"scales_negative_odd_ldc",GROUP_NUMERICS, SCALED, ANY,     33,  40,     50, NT,    0, 0, 1, 0,  INT8_SCALES_NEGATIVE},
    {"scales_nan_odd_ldc",     GROUP_NUMERICS, SCALED, ANY,     33,  40,     50, NT,    0, 0, 1, 0,  INT8_SCALES_NAN},
    {"to_infinity_odd_ldc",    GROUP_NUMERICS, SCALED, ANY,     33,  40,     50, NT,    0, 0, 1, 0,  INT8_TO_INFINITY},
    {"bias_nan",               GROUP_NUMERICS, SCALED, ANY,     33,  41,     50, NT,    0, 0, 0, 0,  INT8_BIAS_NAN},
    {"bias_infinite",          GROUP_NUMERICS, SCALED, ANY,     33,  41,     50, NT,    0, 0, 0, 0,  INT8_BIAS_INFINITE},
    {"bias_large",             GROUP_NUMERICS, SCALED, ANY,     33,  40,     50, NT,    0, 0, 0, 0,  INT8_BIAS_LARGE},
    {"tiny_results",           GROUP_NUMERICS, SCALED, ANY,     33,  40,     50, NT,    0, 0, 0, 0,  INT8_TINY},
    {"to_infinity",            GROUP_NUMERICS, SCALED, ANY,     33,  40,     50, NT,    0, 0, 0, 0,  INT8_TO_INFINITY},
    {"to_subnormal",           GROUP_NUMERICS, SCALED, ANY,     33,  40,     50, NT,    0, 0, 0, 0,  INT8_TO_SUBNORMAL},

    {"square_256_nt",          GROUP_SPEED,    BOTH,   ANY,    256, 256,    256, NT,    0, 0, 0, 0,  GEMM_NORMAL},
    {"square_8192_nt",         GROUP_SPEED,    BOTH,   ON_GPU,8192,8192,   8192, NT,    0, 0, 0, 0,  GEMM_NORMAL},
    /* clang-format on */
};

enum { ALIGNMENTS = 60 /* of property_alignment: this many ways to lose alignment, for each storage type */ };
static const enum dtype STORED_AS[] = {DTYPE_F16, DTYPE_BF16, DTYPE_F32};
enum { DTYPES = sizeof STORED_AS / sizeof STORED_AS[0] };
enum { LENGTHS = 20 /* of sums: powers of 2, and half as many again */ };

/** A wrong argument that only products of bytes can have. */
static const struct {
    const char *name;
    unsigned parts;
    enum kernel_status expected;
    int null_buffer, misaligned_buffer, misalignment;
    int at, value; /* also sets lesson_case.value[at] = value; at < 0 for none */
} BAD[] = {
    {"misaligned_bias", SCALED, KERNEL_ALIGNMENT_ERROR, -1, INT8_BIAS, 2, -1, 0},
    {"misaligned_bias_and_dtype_unknown", SCALED, KERNEL_UNSUPPORTED_DTYPE, -1, INT8_BIAS, 2, GEMM_DTYPE_OUT,
     9},
};

static void set_output(struct lesson_case *item, enum dtype dtype, int bias)
{
    item->extent[GEMM_DTYPE_OUT] = (int)dtype;
    item->value[GEMM_DTYPE_OUT] = (int)dtype;
    item->extent[INT8_EX_BIAS] = bias;
    item->value[INT8_HAS_BIAS] = bias;
}

static int own_shapes(const struct gemm_family *family, struct lesson_case *cases, int count, int capacity)
{
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0] && count < capacity; i++) {
        const struct int8_row *row = &ROWS[i];
        if (!(row->parts & (family->dequantised ? SCALED : SUMS))) continue;
        struct lesson_case *item = &cases[count++];
        *item = gemm_case(family, row->name, row->group, row->devices, row->m, row->n, row->k);
        gemm_store(item, row->layout / 2, row->layout % 2, row->more_a, row->more_b, row->more_c);
        item->distribution = row->distribution;
        if (row->few_sms) item->flags |= CASE_SMALL_DEVICE;
    }
    return count;
}

/* The largest and the smallest sums that k allows, for many k: a kernel may take another way for short ones. */
static int largest_sums(const struct gemm_family *family, struct lesson_case *cases, int count, int capacity)
{
    if (count >= capacity) return count;
    cases[count] = gemm_case(family, "property_largest_sums", GROUP_EDGES, ON_ANY, 2, 4, 1);
    cases[count].distribution = INT8_EXTREMES;
    cases[count].repeat = LENGTHS;
    cases[count].flags |= CASE_ENUMERATES | CASE_ONE_CALL;
    return count + 1;
}

static int own_bad_input(const struct gemm_family *family, struct lesson_case *cases, int count, int capacity)
{
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0] && count < capacity; i++) {
        if (!(BAD[i].parts & (family->dequantised ? SCALED : SUMS))) continue;
        struct lesson_case *item = &cases[count++];
        *item = gemm_case(family, BAD[i].name, GROUP_BAD_INPUT, ON_ANY, 33, 35, 37);
        item->weight = 1;
        item->expected = BAD[i].expected;
        item->null_buffer = BAD[i].null_buffer;
        item->misaligned_buffer = BAD[i].misaligned_buffer;
        item->misalignment = BAD[i].misalignment;
        if (BAD[i].at >= 0) item->value[BAD[i].at] = BAD[i].value;
        if (family->dequantised) {
            int64_t told = item->value[GEMM_DTYPE_OUT];
            set_output(item, DTYPE_F16, 1);
            item->value[GEMM_DTYPE_OUT] = told;
        }
    }
    return count;
}

/* Storage types, with and without bias, come in rotation. Data that show an effect only with some storage
 * type or bias get that one. */
static void choose_output(struct lesson_case *item, int turn)
{
    int distribution = item->distribution, bias = turn / DTYPES % 2;
    enum dtype dtype = STORED_AS[turn % DTYPES];
    if (distribution == INT8_TO_INFINITY || distribution == INT8_TO_SUBNORMAL) dtype = DTYPE_F16;
    if (distribution == INT8_EXTREMES || distribution == INT8_POSITIVE || distribution == INT8_TINY)
        dtype = DTYPE_F32;
    if (distribution >= INT8_BIAS_NAN && distribution <= INT8_TO_INFINITY) bias = 1;
    if (distribution == INT8_TO_SUBNORMAL) bias = 0;
    /* set_apart() computed the row distance for this type */
    if (item->apart[GEMM_C] != 0) dtype = DTYPE_F16;
    if (item->group == GROUP_SPEED) dtype = DTYPE_F16, bias = 1;
    set_output(item, dtype, bias);
}

int int8_cases(const struct gemm_family *family, struct lesson_case *cases, int count, int capacity)
{
    int first = count;
    count = own_shapes(family, cases, count, capacity);
    count = gemm_cases(family, cases, count, capacity);
    count = largest_sums(family, cases, count, capacity);
    for (int i = first; i < count; i++) {
        cases[i].flags &= ~(unsigned)CASE_UNIT_SCALE; /* each element has a bound of its own */
        if (!family->dequantised) continue;
        if (cases[i].repeat == ALIGNMENTS) {
            cases[i].repeat = DTYPES * ALIGNMENTS;
            cases[i].flags |= CASE_ENUMERATES;
        }
        if (cases[i].expected == KERNEL_OK) choose_output(&cases[i], i - first);
    }
    return own_bad_input(family, cases, count, capacity);
}

/* Items that must agree with each other have the same storage type and bias: they come in sets of 4, of 6
 * and of 60. */
void int8_vary(struct lesson_case *item, int index, struct rng *rng)
{
    enum { SETS = 12 };
    if (item->distribution == INT8_EXTREMES) {
        item->extent[GEMM_K] = (2 + index % 2) << index / 2;
        gemm_store(item, 0, 1, 0, 0, 0);
        return;
    }
    int alignment = item->repeat == DTYPES * ALIGNMENTS || item->repeat == ALIGNMENTS;
    int group = index / (alignment ? ALIGNMENTS : SETS);
    gemm_vary(item, alignment ? index % ALIGNMENTS : index, rng);
    if (item->extent[GEMM_EX_FLAGS] & GEMM_DEQUANTISED && item->expected == KERNEL_OK)
        set_output(item, STORED_AS[group % DTYPES], group % 2);
    item->flags &= ~(unsigned)CASE_UNIT_SCALE;
}

void int8_describe(const struct lesson_case *item, char *text, size_t size)
{
    gemm_describe(item, text, size);
    size_t used = 0;
    while (used + 1 < size && text[used] != '\0') used++;
    if (item->extent[GEMM_EX_FLAGS] & GEMM_DEQUANTISED && item->value[INT8_HAS_BIAS])
        snprintf(text + used, size - used, ", bias");
}

const char *int8_purpose(const struct lesson_case *item)
{
    if (item->expected == KERNEL_UNSUPPORTED_ARCHITECTURE)
        return "the device says that it is an sm_75, which has no mma.m16n8k32: refused after all that is "
               "wrong with the arguments";
    if (item->value[GEMM_UNUSED] != 0)
        return "scales, bias and dtype_out, which have no meaning for int8_gemm_s32(), hold something: they "
               "are not to be looked at";
    if (item->value[GEMM_K] > INT8_GEMM_MOST_K) return "k is beyond 131,071: a sum might overflow";
    static const char *const purposes[] = {
        "-128 times -128 throughout: the largest sums there are",
        "-128 times 127 throughout: the smallest sums",
        "the largest and the smallest sums there are, beside each other",
        "sums grow to a large number and return: every step is exact",
        "sums beyond 2^24: a float has no room for all of their bits",
        "some scales are negative",
        "some scales are 0",
        "some scales are NaN: they must come out in their rows and columns and nowhere else",
        "some scales are infinite: they must come out in their rows and columns and nowhere else; times a "
        "scale or a sum of 0 they make NaN",
        "some elements of the bias are NaN: they must come out in their columns and nowhere else",
        "the bias is large beside the products",
        "some results are beyond 65504, the largest half: from 65520 on they become infinite, what is less "
        "is rounded to it",
        "results are subnormal halves: they are not 0",
    };
    if (item->distribution >= INT8_LOWEST) return purposes[item->distribution - INT8_LOWEST];
    if (item->flags & CASE_SMALL_DEVICE)
        return "few SMs, so that kernels with several sizes of tiles take large ones";
    return gemm_purpose(item);
}
