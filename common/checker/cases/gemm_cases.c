/**
 * @file gemm_cases.c
 * @brief The tables of cases, shapes, data and wrong arguments, that every matrix product lesson runs.
 */
#include "gemm_cases.h"

#include "case_table.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gemm_inputs.h"

/* Sets of families: plain; general with f32 storage; general with f16 storage (fewer cases, since it is
 * the same code); the same with bf16; int8 to int32; int8 dequantised (fewer cases). A name with F leaves
 * out the int8 families. */
enum {
    P = 1,
    G = 2,
    H = 4,
    I = 8,
    D = 16,
    B = 32,
    HALVES = H | B,
    ALL = P | G | HALVES | I | D,
    SIZES = P | G | I,
    GENERAL = G | HALVES,
    INT8 = I | D,
    LAYOUTS = GENERAL | I,
    F_ALL = P | GENERAL,
    F_SIZES = P | G
};

enum { BAD_WEIGHT = 1, GOOD_WEIGHT = 2, FIRST_BAD_M = 33, FIRST_BAD_N = 35, FIRST_BAD_K = 37 };

enum shape_flags {
    TA = 1,
    TB = 2,
    OFFSET_A = 8, /* begins one element after a multiple of 256 bytes */
    OFFSET_B = 16,
    OFFSET_C = 32,
    LAST_CHOICE = 64,
    FIRST_CHOICE = 128,
    SMALL_DEVICE = 256,
    UNUSED = 512, /* arguments that the contract does not read get values without meaning */
    FAR_A = 1024, /* rows so far apart on the device that the last ones begin beyond 2^31 elements */
    FAR_B = 2048,
    FAR_C = 4096,
    UNUSED_LARGE = 16384, /* with UNUSED: those values are as large as can be */
    /* C begins 16 bytes after a multiple of 256; its rows begin at multiples of 32 bytes from each other */
    C_AT_16 = 8192
};

/** One line: the same shape and data for every family in the set. */
struct shape_row {
    const char *name;
    enum case_group group;
    unsigned families, devices;
    int m, n, k;
    int more_a, more_b, more_c; /* elements from the end of a row to the next */
    unsigned flags;
    double alpha, beta;
    enum gemm_distribution distribution;
};

#define ANY ON_ANY
#define PLAIN 0, 1.0, 0.0, GEMM_NORMAL /* flags, alpha, beta, data */

static const struct shape_row SHAPES[] = {
    /* clang-format off */
    /* name                    group           families  devices         m        n     k  more a  more b  more c flags                             alpha        beta data */
    {"one",                    GROUP_BASIC,    ALL,      ANY,           1,       1,    1,      0,      0,      0, 0,                                 1.0,        0.0, GEMM_NORMAL},
    {"tiny",                   GROUP_BASIC,    ALL,      ANY,           3,       5,    7,      0,      0,      0, 0,                                 1.0,        0.0, GEMM_NORMAL},
    {"tile_16",                GROUP_BASIC,    SIZES,    ANY,          16,      16,   16,      0,      0,      0, 0,                                 1.0,        0.0, GEMM_NORMAL},
    {"square_64",              GROUP_BASIC,    ALL,      ANY,          64,      64,   64,      0,      0,      0, 0,                                 1.0,        0.0, GEMM_NORMAL},
    {"wide_32x160",            GROUP_BASIC,    SIZES,    ANY,          32,     160,   64,      0,      0,      0, 0,                                 1.0,        0.0, GEMM_NORMAL},
    {"tall_160x32",            GROUP_BASIC,    SIZES,    ANY,         160,      32,   96,      0,      0,      0, 0,                                 1.0,        0.0, GEMM_NORMAL},
    {"deep_512",               GROUP_BASIC,    ALL,      ANY,          16,      24,  512,      0,      0,      0, 0,                                 1.0,        0.0, GEMM_NORMAL},
    {"square_128",             GROUP_BASIC,    ALL,      ANY,         128,     128,  128,      0,      0,      0, 0,                                 1.0,        0.0, GEMM_NORMAL},

    {"edge_31_33_32",          GROUP_EDGES,    SIZES,    ANY,          31,      33,   32,      0,      0,      0, 0,                                 1.0,        0.0, GEMM_NORMAL},
    {"edge_32_31_33",          GROUP_EDGES,    ALL,      ANY,          32,      31,   33,      0,      0,      0, 0,                                 1.0,        0.0, GEMM_NORMAL},
    {"edge_33_32_31",          GROUP_EDGES,    SIZES,    ANY,          33,      32,   31,      0,      0,      0, 0,                                 1.0,        0.0, GEMM_NORMAL},
    {"edge_63_65_64",          GROUP_EDGES,    SIZES,    ANY,          63,      65,   64,      0,      0,      0, 0,                                 1.0,        0.0, GEMM_NORMAL},
    {"edge_64_63_65",          GROUP_EDGES,    SIZES,    ANY,          64,      63,   65,      0,      0,      0, 0,                                 1.0,        0.0, GEMM_NORMAL},
    {"edge_65_64_63",          GROUP_EDGES,    ALL,      ANY,          65,      64,   63,      0,      0,      0, 0,                                 1.0,        0.0, GEMM_NORMAL},
    {"edge_127_129_128",       GROUP_EDGES,    SIZES,    ANY,         127,     129,  128,      0,      0,      0, 0,                                 1.0,        0.0, GEMM_NORMAL},
    {"edge_128_127_129",       GROUP_EDGES,    SIZES,    ANY,         128,     127,  129,      0,      0,      0, 0,                                 1.0,        0.0, GEMM_NORMAL},
    {"edge_129_128_127",       GROUP_EDGES,    ALL,      ANY,         129,     128,  127,      0,      0,      0, 0,                                 1.0,        0.0, GEMM_NORMAL},
    {"prime_97_131_61",        GROUP_EDGES,    SIZES,    ANY,          97,     131,   61,      0,      0,      0, 0,                                 1.0,        0.0, GEMM_NORMAL},
    {"row_1x129",              GROUP_EDGES,    ALL,      ANY,           1,     129,   65,      0,      0,      0, 0,                                 1.0,        0.0, GEMM_NORMAL},
    {"column_129x1",           GROUP_EDGES,    ALL,      ANY,         129,       1,   65,      0,      0,      0, 0,                                 1.0,        0.0, GEMM_NORMAL},
    {"dot_1x1",                GROUP_EDGES,    SIZES,    ANY,           1,       1,  257,      0,      0,      0, 0,                                 1.0,        0.0, GEMM_NORMAL},
    {"k_1",                    GROUP_EDGES,    ALL,      ANY,          65,      33,    1,      0,      0,      0, 0,                                 1.0,        0.0, GEMM_NORMAL},
    {"k_8",                    GROUP_EDGES,    SIZES,    ANY,          40,      72,    8,      0,      0,      0, 0,                                 1.0,        0.0, GEMM_NORMAL},
    {"k_24",                   GROUP_EDGES,    SIZES,    ANY,          72,      40,   24,      0,      0,      0, 0,                                 1.0,        0.0, GEMM_NORMAL},
    {"rows_apart_8",           GROUP_EDGES,    ALL,      ANY,          72,      88,   40,      8,      8,      8, 0,                                 1.0,        0.0, GEMM_NORMAL},
    {"rows_apart_odd",         GROUP_EDGES,    ALL,      ANY,          64,      64,   64,      1,      3,      5, 0,                                 1.0,        0.0, GEMM_NORMAL},
    {"rows_apart_far",         GROUP_EDGES,    SIZES,    ANY,          33,      34,   35,   1000,    500,    300, 0,                                 1.0,        0.0, GEMM_NORMAL},
    {"a_odd",                  GROUP_EDGES,    SIZES,    ANY,          80,      64,   64,      1,      0,      0, 0,                                 1.0,        0.0, GEMM_NORMAL},
    {"b_odd",                  GROUP_EDGES,    SIZES,    ANY,          64,      80,   64,      0,      1,      0, 0,                                 1.0,        0.0, GEMM_NORMAL},
    {"c_odd",                  GROUP_EDGES,    SIZES,    ANY,          64,      64,   80,      0,      0,      1, 0,                                 1.0,        0.0, GEMM_NORMAL},
    {"k_tail_rows_aligned",    GROUP_EDGES,    SIZES,    ANY,          64,      64,   61,      3,      0,      0, 0,                                 1.0,        0.0, GEMM_NORMAL},
    {"n_tail_rows_aligned",    GROUP_EDGES,    SIZES,    ANY,          64,      61,   64,      0,      3,      3, 0,                                 1.0,        0.0, GEMM_NORMAL},
    {"start_of_a_odd",         GROUP_EDGES,    ALL,      ANY,          64,      64,   64,      0,      0,      0, OFFSET_A,                          1.0,        0.0, GEMM_NORMAL},
    {"start_of_b_odd",         GROUP_EDGES,    ALL,      ANY,          64,      64,   64,      0,      0,      0, OFFSET_B,                          1.0,        0.0, GEMM_NORMAL},
    {"start_of_c_odd",         GROUP_EDGES,    ALL,      ANY,          64,      64,   64,      0,      0,      0, OFFSET_C,                          1.0,        0.0, GEMM_NORMAL},
    {"tall_8500000",           GROUP_EDGES,    SIZES,    ON_GPU,  8500000,       1,    1,      0,      0,      0, 0,                                 1.0,        0.0, GEMM_NORMAL},
    {"broad_8500000",          GROUP_EDGES,    SIZES,    ON_GPU,        1, 8500000,    1,      0,      0,      0, 0,                                 1.0,        0.0, GEMM_NORMAL},

    {"transposed_nt",          GROUP_BASIC,    LAYOUTS,  ANY,          64,      48,   80,      0,      0,      0, TB,                                1.0,        0.0, GEMM_NORMAL},
    {"transposed_tn",          GROUP_BASIC,    LAYOUTS,  ANY,          48,      80,   64,      0,      0,      0, TA,                                1.0,        0.0, GEMM_NORMAL},
    {"transposed_tt",          GROUP_BASIC,    LAYOUTS,  ANY,          80,      64,   48,      0,      0,      0, TA | TB,                           1.0,        0.0, GEMM_NORMAL},
    {"nt_129_127_131",         GROUP_EDGES,    LAYOUTS,  ANY,         129,     127,  131,      0,      0,      0, TB,                                1.0,        0.0, GEMM_NORMAL},
    {"tn_127_131_129",         GROUP_EDGES,    LAYOUTS,  ANY,         127,     131,  129,      0,      0,      0, TA,                                1.0,        0.0, GEMM_NORMAL},
    {"tt_131_129_127",         GROUP_EDGES,    LAYOUTS,  ANY,         131,     129,  127,      0,      0,      0, TA | TB,                           1.0,        0.0, GEMM_NORMAL},
    {"nt_rows_apart",          GROUP_EDGES,    GENERAL,  ANY,          40,      50,   60,      3,      5,      7, TB,                               -0.5,        2.0, GEMM_NORMAL},
    {"tn_rows_apart",          GROUP_EDGES,    GENERAL,  ANY,          50,      60,   40,      4,      8,      4, TA,                               -0.5,        2.0, GEMM_NORMAL},
    {"tt_rows_apart",          GROUP_EDGES,    GENERAL,  ANY,          60,      40,   50,      1,      2,      3, TA | TB,                          -0.5,        2.0, GEMM_NORMAL},
    {"alpha",                  GROUP_BASIC,    GENERAL,  ANY,          40,      40,   40,      0,      0,      0, 0,                               -1.75,        0.0, GEMM_NORMAL},
    {"beta",                   GROUP_BASIC,    GENERAL,  ANY,          40,      40,   40,      0,      0,      0, 0,                                 1.0,        0.5, GEMM_NORMAL},
    {"beta_1",                 GROUP_BASIC,    GENERAL,  ANY,          64,      64,   64,      0,      0,      0, 0,                                 1.0,        1.0, GEMM_NORMAL},
    {"alpha_beta_tail",        GROUP_EDGES,    GENERAL,  ANY,          67,      69,   71,      0,      0,      3, 0,                                 2.5,       -1.5, GEMM_NORMAL},
    {"alpha_0",                GROUP_NUMERICS, GENERAL,  ANY,          33,      40,   20,      0,      0,      0, 0,                                 0.0,        2.0, GEMM_NAN_AB},
    {"alpha_0_beta_0",         GROUP_NUMERICS, GENERAL,  ANY,          33,      40,   20,      2,      2,      2, 0,                                 0.0,        0.0, GEMM_NAN_AB},
    {"k_0",                    GROUP_EDGES,    GENERAL,  ANY,          33,      40,    0,      2,      2,      2, 0,                                 1.5,       0.25, GEMM_NORMAL},
    {"k_0_beta_0",             GROUP_EDGES,    GENERAL,  ANY,          33,      40,    0,      0,      0,      0, TA | TB,                           1.0,        0.0, GEMM_NORMAL},
    {"nan_c_beta",             GROUP_NUMERICS, GENERAL,  ANY,          33,      40,   20,      0,      0,      0, 0,                                 1.0,        0.5, GEMM_NAN_C},

    {"large",                  GROUP_NUMERICS, F_ALL,    ANY,          33,      40,   70,      0,      0,      0, 0,                                 1.0,        0.0, GEMM_LARGE},
    {"small",                  GROUP_NUMERICS, F_ALL,    ANY,          33,      40,   70,      0,      0,      0, 0,                                 1.0,        0.0, GEMM_SMALL},
    {"unlike",                 GROUP_NUMERICS, F_SIZES,  ANY,          33,      40,   70,      0,      0,      0, 0,                                 1.0,        0.0, GEMM_UNLIKE},
    {"cancel",                 GROUP_NUMERICS, F_ALL,    ANY,          33,      40,  129,      0,      0,      0, 0,                                 1.0,        0.0, GEMM_CANCEL},
    {"positive_1000",          GROUP_NUMERICS, F_ALL,    ANY,           8,      16, 1000,      0,      0,      0, FIRST_CHOICE,                      1.0,        0.0, GEMM_POSITIVE},
    {"spread",                 GROUP_NUMERICS, F_SIZES,  ANY,          33,      40,  130,      0,      0,      0, 0,                                 1.0,        0.0, GEMM_SPREAD},
    {"nan_a",                  GROUP_NUMERICS, F_ALL,    ANY,          33,      40,   50,      0,      0,      0, 0,                                 1.0,        0.0, GEMM_NAN_A},
    {"nan_b",                  GROUP_NUMERICS, F_ALL,    ANY,          33,      40,   50,      0,      0,      0, 0,                                 1.0,        0.0, GEMM_NAN_B},
    /* Three tiles by two of the largest size of lesson 10: a kernel that steps by half a tile would not
     * reach the last rows. */
    {"tiles_516x132",          GROUP_EDGES,    G | I,    ANY,         516,     132,   20,      0,      0,      0, LAST_CHOICE,                       1.0,        0.0, GEMM_NORMAL},
    {"far_rows_of_a",          GROUP_EDGES,    ALL,      ANY,          36,       8,   24,      0,      0,      0, FAR_A,                             1.0,        0.0, GEMM_NORMAL},
    {"far_rows_of_b",          GROUP_EDGES,    ALL,      ANY,           8,      24,   36,      0,      0,      0, FAR_B,                             1.0,        0.0, GEMM_NORMAL},
    {"far_rows_of_c",          GROUP_EDGES,    ALL,      ANY,          36,      32,    8,      0,      0,      0, FAR_C,                             1.0,        0.0, GEMM_NORMAL},
    {"far_rows_of_a_odd",      GROUP_EDGES,    ALL,      ANY,          36,       8,   23,      0,      0,      0, FAR_A,                             1.0,        0.0, GEMM_NORMAL},
    {"far_rows_of_b_odd",      GROUP_EDGES,    ALL,      ANY,           8,      23,   36,      0,      0,      0, FAR_B,                             1.0,        0.0, GEMM_NORMAL},
    {"unused_arguments",       GROUP_EDGES,    F_ALL | I, ANY,          33,      34,   35,      0,      0,      0, UNUSED,                            1.0,        0.0, GEMM_NORMAL},
    {"k_0_beta_1",             GROUP_EDGES,    GENERAL,  ANY,          33,      40,    0,      0,      0,      3, TB,                                1.0,        1.0, GEMM_NORMAL},
    {"nan_c_alpha_0",          GROUP_NUMERICS, GENERAL,  ANY,          33,      40,   20,      0,      0,      1, 0,                                 0.0,       -1.0, GEMM_NAN_C},
    {"alpha_of_24_bits",       GROUP_NUMERICS, GENERAL,  ANY,          33,      40,   20,      0,      0,      0, 0,                           1.0003662,        0.0, GEMM_NORMAL},
    {"beta_of_24_bits",        GROUP_NUMERICS, G,        ANY,          33,      40,   20,      0,      0,      0, 0,                                 0.5, -1.0003662, GEMM_NORMAL},
    {"factors_small",          GROUP_NUMERICS, GENERAL,  ANY,          33,      40,   20,      0,      0,      0, 0,                                1e-5,      -1e-5, GEMM_NORMAL},
    {"sums_beyond_half",       GROUP_NUMERICS, H,        ANY,          33,      40,   70,      0,      0,      0, 0,                              0x1p-9,        1.0, GEMM_HUGE},
    {"overflow",               GROUP_NUMERICS, H,        ANY,          33,      40,   70,      0,      0,      0, 0,                                 1.0,        0.0, GEMM_HUGE},
    {"subnormal",              GROUP_NUMERICS, P | H,    ANY,          33,      40,   70,      0,      0,      0, 0,                                 1.0,        0.0, GEMM_SUBNORMAL},
    {"deep_1100",              GROUP_EDGES,    SIZES,    ANY,           2,       3, 1100,      0,      0,      0, FIRST_CHOICE,                      1.0,        0.0, GEMM_NORMAL},
    {"m_129",                  GROUP_EDGES,    SIZES,    ANY,         129,      64,   64,      0,      0,      0, FIRST_CHOICE,                      1.0,        0.0, GEMM_NORMAL},
    {"n_129",                  GROUP_EDGES,    SIZES,    ANY,          64,     129,   64,      0,      0,      0, FIRST_CHOICE,                      1.0,        0.0, GEMM_NORMAL},
    /* More rows or columns of tiles than kernels group for rasterization, a last group that is not whole, and more than one of the
     * others: of tiles of 64 and 128, and on few SMs of 256. */
    {"tiles_9_by_2",           GROUP_EDGES,    ALL,      ANY,        1089,     133,    9,      0,      0,      0, FIRST_CHOICE,                      1.0,        0.0, GEMM_NORMAL},
    {"tiles_2_by_9",           GROUP_EDGES,    ALL,      ANY,         133,    1089,    9,      0,      0,      0, FIRST_CHOICE,                      1.0,        0.0, GEMM_NORMAL},
    {"large_tiles_9_by_2",     GROUP_EDGES,    G | I,    ANY,        2113,     257,    3,      0,      0,      0, FIRST_CHOICE | SMALL_DEVICE,       1.0,        0.0, GEMM_NORMAL},
    {"large_tiles_2_by_9",     GROUP_EDGES,    G | I,    ANY,         257,    2113,    3,      0,      0,      0, FIRST_CHOICE | SMALL_DEVICE,       1.0,        0.0, GEMM_NORMAL},
    {"start_of_c_at_16_of_32", GROUP_EDGES,    P,        ANY,          64,      64,   64,      0,      0,      0, C_AT_16,                           1.0,        0.0, GEMM_NORMAL},
    /* On a GPU: more tiles than 65,535, whose results are looked at. */
    {"rows_8388737",           GROUP_EDGES,    ALL,      ON_GPU,   8388737,       1,    1,      0,      0,      0, FIRST_CHOICE,                      1.0,        0.0, GEMM_NORMAL},
    {"deep_1025",              GROUP_EDGES,    SIZES,    ANY,           2,       3, 1025,      0,      0,      0, FIRST_CHOICE,                      1.0,        0.0, GEMM_NORMAL},
    /* Two blocks that share k fill a ring of ten stages each a second time. */
    {"deep_1472",              GROUP_EDGES,    HALVES,   ANY,          24,      40, 1472,      0,      0,      0, 0,                                 1.0,        0.0, GEMM_NORMAL},
    /* Tiles whose first row begins beyond 2^31 elements: row 128 in f16, 256 in f32. */
    {"far_tiles_of_a",         GROUP_EDGES,    ALL,      ANY,         272,       8,   24,      0,      0,      0, FAR_A,                             1.0,        0.0, GEMM_NORMAL},
    {"far_tiles_of_a_odd",     GROUP_EDGES,    ALL,      ANY,         272,       8,   23,      0,      0,      0, FAR_A,                             1.0,        0.0, GEMM_NORMAL},
    {"far_tiles_of_b",         GROUP_EDGES,    ALL,      ANY,           8,      24,  272,      0,      0,      0, FAR_B,                             1.0,        0.0, GEMM_NORMAL},
    {"far_tiles_of_b_odd",     GROUP_EDGES,    ALL,      ANY,           8,      23,  272,      0,      0,      0, FAR_B,                             1.0,        0.0, GEMM_NORMAL},
    {"far_tiles_of_c",         GROUP_EDGES,    ALL,      ANY,         272,      32,    8,      0,      0,      0, FAR_C,                             1.0,        0.0, GEMM_NORMAL},
    {"unused_arguments_large", GROUP_EDGES,    F_ALL | I, ANY,          33,      34,   35,      0,      0,      0, UNUSED | UNUSED_LARGE,             1.0,        0.0, GEMM_NORMAL},
    /* The rows of the first tile, too, begin beyond 2^31 elements. */
    {"far_first_rows_of_a",    GROUP_EDGES,    ALL,      ANY,           9,       8,   24,      0,      0,      0, FAR_A,                             1.0,        0.0, GEMM_NORMAL},
    {"far_first_rows_of_b",    GROUP_EDGES,    ALL,      ANY,           8,      24,    9,      0,      0,      0, FAR_B,                             1.0,        0.0, GEMM_NORMAL},
    {"far_first_rows_of_c",    GROUP_EDGES,    ALL,      ANY,           9,      32,    8,      0,      0,      0, FAR_C,                             1.0,        0.0, GEMM_NORMAL},
    {"far_first_rows_of_a_tn", GROUP_EDGES,    LAYOUTS,  ANY,          24,       8,   36,      0,      0,      0, TA | FAR_A,                        1.0,        0.0, GEMM_NORMAL},
    {"far_first_rows_of_b_nt", GROUP_EDGES,    LAYOUTS,  ANY,           8,       9,   24,      0,      0,      0, TB | FAR_B,                        1.0,        0.0, GEMM_NORMAL},
    {"alpha_minus_0",          GROUP_NUMERICS, GENERAL,  ANY,          33,      40,   20,      0,      0,      0, 0,                                -0.0,        2.0, GEMM_NAN_AB},
    {"beta_minus_0",           GROUP_NUMERICS, GENERAL,  ANY,          33,      40,   20,      0,      0,      0, 0,                                 1.0,       -0.0, GEMM_NORMAL},
    /* Factors that are tiny but not 0: the kernel must read what they multiply, and its NaN shows in the
     * result. The other factor divided by one is infinite. */
    {"alpha_tiny_nan_a",       GROUP_NUMERICS, GENERAL,  ANY,          33,      40,   20,      0,      0,      0, 0,                           -0x1p-133,        2.0, GEMM_NAN_A},
    {"alpha_subnormal",        GROUP_NUMERICS, G | B,    ANY,          33,      40,   20,      0,      0,      0, 0,                            0x1p-133,        0.0, GEMM_VAST},
    {"beta_tiny_nan_c",        GROUP_NUMERICS, GENERAL,  ANY,          33,      40,   20,      0,      0,      0, 0,                                 1.0,   0x1p-133, GEMM_NAN_C},
    {"alpha_vast",             GROUP_NUMERICS, GENERAL,  ANY,          33,      40,   20,      0,      0,      0, 0,                           0x1.8p127,       0.25, GEMM_DISJOINT},
    /* A matrix of one row that ends within a vector and begins at a vector boundary. */
    {"one_row_of_a_tail",      GROUP_EDGES,    ALL,      ANY,           1,      24,   13,      3,      0,      0, 0,                                 1.0,        0.0, GEMM_NORMAL},
    {"one_row_of_b_tail",      GROUP_EDGES,    ALL,      ANY,          24,      13,    1,      0,      3,      3, 0,                                 1.0,        0.0, GEMM_NORMAL},

    {"square_256",             GROUP_SPEED,    SIZES,    ANY,         256,     256,  256,      0,      0,      0, 0,                                 1.0,        0.0, GEMM_NORMAL},
    {"odd_191",                GROUP_SPEED,    SIZES,    ANY,         191,     191,  191,      0,      0,      0, 0,                                 1.0,        0.0, GEMM_NORMAL},
    {"square_1024",            GROUP_SPEED,    ALL,      ON_GPU,     1024,    1024, 1024,      0,      0,      0, 0,                                 1.0,        0.0, GEMM_NORMAL},
    {"square_2048",            GROUP_SPEED,    ALL,      ON_GPU,     2048,    2048, 2048,      0,      0,      0, 0,                                 1.0,        0.0, GEMM_NORMAL},
    {"square_4096",            GROUP_SPEED,    ALL,      ON_GPU,     4096,    4096, 4096,      0,      0,      0, 0,                                 1.0,        0.0, GEMM_NORMAL},
    {"square_8192",            GROUP_SPEED,    SIZES,    ON_GPU,     8192,    8192, 8192,      0,      0,      0, 0,                                 1.0,        0.0, GEMM_NORMAL},
    {"odd_4095",               GROUP_SPEED,    SIZES,    ON_GPU,     4095,    4095, 4095,      0,      0,      0, 0,                                 1.0,        0.0, GEMM_NORMAL},
    {"odd_4097",               GROUP_SPEED,    SIZES,    ON_GPU,     4097,    4097, 4097,      0,      0,      0, 0,                                 1.0,        0.0, GEMM_NORMAL},
    {"square_4096_nt",         GROUP_SPEED,    G | INT8, ON_GPU,     4096,    4096, 4096,      0,      0,      0, TB,                                1.0,        0.0, GEMM_NORMAL},
    {"square_4096_tn",         GROUP_SPEED,    G | I,    ON_GPU,     4096,    4096, 4096,      0,      0,      0, TA,                                1.0,        0.0, GEMM_NORMAL},
    {"square_4096_tt",         GROUP_SPEED,    G | I,    ON_GPU,     4096,    4096, 4096,      0,      0,      0, TA | TB,                           1.0,        0.0, GEMM_NORMAL},
    /* clang-format on */
};

static const struct bad_argument BAD[] = {
    {"sound_arguments", ALL, KERNEL_OK, BAD_VALUE(-1, 0)},
    {"k_zero", P | INT8, KERNEL_INVALID_DIMENSION, BAD_VALUE(GEMM_K, 0)},
    {"lda_short", ALL, KERNEL_INVALID_DIMENSION, BAD_VALUE(GEMM_LDA, FIRST_BAD_K - 1)},
    {"ldb_short", ALL, KERNEL_INVALID_DIMENSION, BAD_VALUE(GEMM_LDB, FIRST_BAD_N - 1)},
    {"ldc_short", ALL, KERNEL_INVALID_DIMENSION, BAD_VALUE(GEMM_LDC, FIRST_BAD_N - 1)},
    {"trans_a", P, KERNEL_INVALID_CONFIG, BAD_VALUE(GEMM_TRANS_A, 1)},
    {"trans_b", P, KERNEL_INVALID_CONFIG, BAD_VALUE(GEMM_TRANS_B, 1)},
    {"dtype_in_f32", P, KERNEL_UNSUPPORTED_DTYPE, BAD_VALUE(GEMM_DTYPE_IN, DTYPE_F32)},
    {"dtype_out_f16", P, KERNEL_UNSUPPORTED_DTYPE, BAD_VALUE(GEMM_DTYPE_OUT, DTYPE_F16)},
    {"dtype_in_other", G, KERNEL_UNSUPPORTED_DTYPE, BAD_VALUE(GEMM_DTYPE_IN, DTYPE_F16)},
    {"dtype_out_other", G, KERNEL_UNSUPPORTED_DTYPE, BAD_VALUE(GEMM_DTYPE_OUT, DTYPE_F16)},
    {"dtype_in_other", HALVES, KERNEL_UNSUPPORTED_DTYPE, BAD_VALUE(GEMM_DTYPE_IN, DTYPE_F32)},
    {"dtype_out_other", HALVES, KERNEL_UNSUPPORTED_DTYPE, BAD_VALUE(GEMM_DTYPE_OUT, DTYPE_F32)},
    {"dtype_in_f16", B, KERNEL_UNSUPPORTED_DTYPE, BAD_VALUE(GEMM_DTYPE_IN, DTYPE_F16)},
    {"dtype_out_f16", B, KERNEL_UNSUPPORTED_DTYPE, BAD_VALUE(GEMM_DTYPE_OUT, DTYPE_F16)},
    {"dtype_in_bf16", F_ALL & ~B, KERNEL_UNSUPPORTED_DTYPE, BAD_VALUE(GEMM_DTYPE_IN, DTYPE_BF16)},
    {"dtype_out_bf16", F_ALL & ~B, KERNEL_UNSUPPORTED_DTYPE, BAD_VALUE(GEMM_DTYPE_OUT, DTYPE_BF16)},
};

/**
 * Two faults at once, and sizes that are valid only with rows and columns exchanged. The contract says which fault is
 * reported, and which extent a row is as long as.
 */
static const struct {
    const char *name;
    unsigned families;
    enum kernel_status expected;
    /* lesson_case.value[at[i]] = value[i]; ends at the first pair of 0 and 0 after the first one */
    int at[3], value[3];
    int misaligned; /* buffer that begins one byte later, -1 for none */
} BAD_PAIRS[] = {
    /* clang-format off */
    {"choice_unknown_and_n_zero", F_ALL, KERNEL_INVALID_DIMENSION, {GEMM_N, GEMM_CHOICE}, {0, 9}, -1},
    {"choice_unknown_and_dtype_bf16", F_ALL & ~B, KERNEL_UNSUPPORTED_DTYPE, {GEMM_DTYPE_IN, GEMM_CHOICE}, {DTYPE_BF16, 9}, -1},
    {"choice_unknown_and_misaligned", F_ALL, KERNEL_ALIGNMENT_ERROR, {GEMM_CHOICE}, {9}, GEMM_B},
    {"dtype_bf16_and_misaligned", GENERAL & ~B, KERNEL_ALIGNMENT_ERROR, {GEMM_DTYPE_IN}, {DTYPE_BF16}, GEMM_B},
    {"k_too_large", INT8, KERNEL_INVALID_DIMENSION, {GEMM_K, GEMM_LDA}, {131072, 131072}, -1},
    {"k_far_too_large", INT8, KERNEL_INVALID_DIMENSION, {GEMM_K, GEMM_LDA}, {1 << 30, 1 << 30}, -1},
    {"lda_short_transposed", GENERAL | INT8, KERNEL_INVALID_DIMENSION, {GEMM_M, GEMM_TRANS_A, GEMM_LDA}, {50, 1, 49}, -1},
    {"ldb_short_transposed", GENERAL | INT8, KERNEL_INVALID_DIMENSION, {GEMM_TRANS_B, GEMM_LDB}, {1, FIRST_BAD_K - 1}, -1},
    /* clang-format on */
};

/** Sizes that are valid one by one, but whose product overflows. */
static const struct {
    const char *name;
    int m, n, lda;
} TOO_LARGE[] = {
    {"tiles_overflow_32", 1 << 20, 1 << 20, FIRST_BAD_K},
    {"elements_overflow_64", INT_MAX, FIRST_BAD_N, INT_MAX},
};

/** Factors that are refused. */
static const struct {
    const char *name;
    unsigned families;
    double alpha, beta;
} BAD_FACTOR[] = {
    {"alpha_not_1", P, 2.0, 0.0},
    {"alpha_0", P, 0.0, 0.0},
    {"beta_not_0", P, 1.0, 1.0},
};

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

static unsigned family_bit(const int *extent)
{
    if (extent[GEMM_EX_FLAGS] & GEMM_INT8) return extent[GEMM_EX_FLAGS] & GEMM_DEQUANTISED ? D : I;
    if (!(extent[GEMM_EX_FLAGS] & GEMM_GENERAL)) return P;
    return extent[GEMM_DTYPE_IN] == DTYPE_F32 ? G : extent[GEMM_DTYPE_IN] == DTYPE_BF16 ? B : H;
}

static void settle(struct lesson_case *item, const struct gemm_family *family, const char *name)
{
    int *extent = item->extent;
    item->part = family->part;
    extent[GEMM_DTYPE_IN] = (int)family->dtype_in;
    extent[GEMM_DTYPE_OUT] = (int)family->dtype_out;
    extent[GEMM_EX_FLAGS] =
        (family->general ? GEMM_GENERAL : 0) | (family->tensor_cores ? GEMM_TENSOR_CORES : 0) |
        (family->choice == GEMM_STAGES ? GEMM_CHOOSES_STAGES : 0) |
        (family->choice == GEMM_TILE ? GEMM_CHOOSES_TILE : 0) | (family->int8 ? GEMM_INT8 : 0) |
        (family->dequantised ? GEMM_DEQUANTISED : 0) | (family->same_layouts ? GEMM_SAME_LAYOUTS : 0);
    if (family->choice != GEMM_NO_CHOICE)
        extent[GEMM_EX_CHOICES] = family->first_choice * 256 + family->last_choice;
    for (int i = 0; i <= GEMM_DTYPE_OUT; i++) item->value[i] = extent[i];
    item->value[GEMM_CHOICE] = family->choice != GEMM_NO_CHOICE ? family->last_choice : 0;
    item->null_buffer = item->misaligned_buffer = -1;
    item->expected = KERNEL_OK;
    item->repeat = 1;
    snprintf(item->name, sizeof item->name, "%s/%s", family->name != NULL ? family->name : "product", name);
}

/* Rows as long as they must be, plus this many elements. */
static void set_leading(int *extent, int more_a, int more_b, int more_c)
{
    int a_cols = extent[GEMM_TRANS_A] ? extent[GEMM_M] : extent[GEMM_K];
    int b_cols = extent[GEMM_TRANS_B] ? extent[GEMM_K] : extent[GEMM_N];
    extent[GEMM_LDA] = (a_cols > 0 ? a_cols : 1) + more_a;
    extent[GEMM_LDB] = (b_cols > 0 ? b_cols : 1) + more_b;
    extent[GEMM_LDC] = extent[GEMM_N] + more_c;
}

/* With few rows, row 8 or 4 begins at element 2^31, and a tile of k, 16 rows or more, is as long as an unsigned can be: that is
 * 36 GB. With many, row 128 or 256 does: 9 GB. Each row touches one page of them. */
static void set_apart(struct lesson_case *item, int buffer)
{
    const int *extent = item->extent;
    int rows = buffer == GEMM_A   ? extent[extent[GEMM_TRANS_A] ? GEMM_K : GEMM_M]
               : buffer == GEMM_B ? extent[extent[GEMM_TRANS_B] ? GEMM_N : GEMM_K]
                                  : extent[GEMM_M];
    int64_t row_bytes = INT64_C(1) << (rows < 64 ? 30 : 25);
    int leading = (int)(row_bytes / (int64_t)storage_bytes(gemm_storage(item, buffer)));
    /* keeps the alignment that the rows would have */
    item->apart[buffer] = leading + item->extent[GEMM_LDA + buffer] % 8;
    item->value[GEMM_LDA + buffer] = item->apart[buffer];
}

static void shape_case(struct lesson_case *item, const struct shape_row *row,
                       const struct gemm_family *family)
{
    *item = (struct lesson_case){
        .group = row->group,
        .weight = GOOD_WEIGHT,
        .devices = row->devices,
        .extent = {row->m, row->n, row->k, (row->flags & TA) != 0, (row->flags & TB) != 0},
        .real = {row->alpha, row->beta},
        .distribution = row->distribution};
    set_leading(item->extent, row->more_a, row->more_b, row->more_c);
    settle(item, family, row->name);
    if (row->distribution == GEMM_NORMAL && row->k > 0) item->flags |= CASE_UNIT_SCALE;
    if (row->flags & SMALL_DEVICE) item->flags |= CASE_SMALL_DEVICE;
    if (row->flags & UNUSED) {
        item->flags |= CASE_MEANINGLESS;
        item->value[GEMM_UNUSED] = GEMM_UNUSED_WORKSPACE;
        if (family->choice != GEMM_STAGES) item->value[GEMM_UNUSED] |= GEMM_UNUSED_STAGES;
        if (row->flags & UNUSED_LARGE) item->value[GEMM_UNUSED] |= GEMM_UNUSED_LARGE;
    }
    for (int buffer = GEMM_A; buffer <= GEMM_C; buffer++) {
        item->start[buffer] = (row->flags & (unsigned)(OFFSET_A << buffer)) != 0;
        if (row->flags & (unsigned)(FAR_A << buffer)) set_apart(item, buffer);
    }
    if (row->flags & C_AT_16) item->start[GEMM_C] = 16 / (int)storage_bytes(gemm_storage(item, GEMM_C));
}

void gemm_store(struct lesson_case *item, int trans_a, int trans_b, int more_a, int more_b, int more_c)
{
    item->extent[GEMM_TRANS_A] = trans_a;
    item->extent[GEMM_TRANS_B] = trans_b;
    set_leading(item->extent, more_a, more_b, more_c);
    for (int i = 0; i <= GEMM_LDC; i++) item->value[i] = item->extent[i];
}

struct lesson_case gemm_case(const struct gemm_family *family, const char *name, enum case_group group,
                             unsigned devices, int m, int n, int k)
{
    struct lesson_case item;
    const struct shape_row row = {name, group, ALL, devices, m, n, k, 0, 0, 0, PLAIN};
    shape_case(&item, &row, family);
    return item;
}

/* A bad case has the buffers of a small good one, so that a kernel that runs in spite of the fault finds
 * memory. */
static void bad_case(struct lesson_case *item, const char *name, enum kernel_status expected,
                     const struct gemm_family *family)
{
    const struct shape_row row = {
        name, GROUP_BAD_INPUT, ALL, ANY, FIRST_BAD_M, FIRST_BAD_N, FIRST_BAD_K, 0, 0, 0, PLAIN};
    shape_case(item, &row, family);
    item->weight = BAD_WEIGHT;
    item->expected = expected;
}

/** Sizes that only test the grid: the device checks launches, and runs nothing. */
static const struct {
    const char *name;
    int m, n;
} GRIDS[] = {
    {"grid_of_2147483647_rows", INT_MAX, 1},
    {"grid_of_2147483647_columns", 1, INT_MAX},
    {"grid_of_524288_squared", 1 << 19, 1 << 19},
};

static int grid_cases(const struct gemm_family *family, struct lesson_case *cases, int count, int capacity)
{
    for (size_t i = 0; i < COUNT_OF(GRIDS) && count < capacity; i++) {
        struct lesson_case *item = &cases[count++];
        *item = gemm_case(family, GRIDS[i].name, GROUP_EDGES, ON_SIMT, 16, 16, 16);
        item->flags |= CASE_LAUNCH_ONLY;
        item->value[GEMM_M] = GRIDS[i].m;
        item->value[GEMM_N] = item->value[GEMM_LDB] = item->value[GEMM_LDC] = GRIDS[i].n;
        if (GRIDS[i].n < 16) item->value[GEMM_LDB] = item->value[GEMM_LDC] = 16;
    }
    return count;
}

static int bad_pairs(const struct gemm_family *family, unsigned bit, struct lesson_case *cases, int count,
                     int capacity)
{
    for (size_t i = 0; i < COUNT_OF(BAD_PAIRS) && count < capacity; i++) {
        if (!(BAD_PAIRS[i].families & bit)) continue;
        struct lesson_case *item = &cases[count++];
        bad_case(item, BAD_PAIRS[i].name, BAD_PAIRS[i].expected, family);
        for (int j = 0; j < 3 && (j == 0 || BAD_PAIRS[i].at[j] > 0); j++)
            item->value[BAD_PAIRS[i].at[j]] = BAD_PAIRS[i].value[j];
        item->misaligned_buffer = BAD_PAIRS[i].misaligned;
        item->misalignment = 1;
    }
    return count;
}

static int bad_cases(const struct gemm_family *family, unsigned bit, struct lesson_case *cases, int count,
                     int capacity)
{
    for (size_t i = 0; i < COUNT_OF(BAD) && count < capacity; i++) {
        if (!(BAD[i].of & bit)) continue;
        bad_case(&cases[count], BAD[i].name, BAD[i].expected, family);
        case_table_spoil(&cases[count++], &BAD[i], GEMM_DTYPE_IN);
    }
    for (size_t i = 0; i < COUNT_OF(BAD_FACTOR) && count < capacity; i++) {
        if (!(BAD_FACTOR[i].families & bit)) continue;
        bad_case(&cases[count], BAD_FACTOR[i].name, KERNEL_INVALID_CONFIG, family);
        cases[count].real[GEMM_ALPHA] = BAD_FACTOR[i].alpha;
        cases[count++].real[GEMM_BETA] = BAD_FACTOR[i].beta;
    }
    for (size_t i = 0; i < COUNT_OF(TOO_LARGE) && count < capacity; i++) {
        bad_case(&cases[count], TOO_LARGE[i].name, KERNEL_INVALID_DIMENSION, family);
        int64_t *value = cases[count++].value;
        value[GEMM_M] = TOO_LARGE[i].m;
        value[GEMM_N] = value[GEMM_LDB] = value[GEMM_LDC] = TOO_LARGE[i].n;
        value[GEMM_LDA] = TOO_LARGE[i].lda;
    }
    const int outside[] = {family->first_choice - 1, family->last_choice + 1, INT_MIN};
    static const char *const names[] = {"below", "above", "far_below"};
    for (size_t i = 0; family->choice != GEMM_NO_CHOICE && i < COUNT_OF(outside) && count < capacity; i++) {
        char name[LESSON_NAME / 2];
        snprintf(name, sizeof name, "%s_%s", family->choice == GEMM_STAGES ? "stages" : "tile", names[i]);
        bad_case(&cases[count], name, KERNEL_INVALID_CONFIG, family);
        cases[count++].value[GEMM_CHOICE] = outside[i];
    }
    return count;
}

/** What a property varies. It is kept in the item, so that code need not look at names. */
enum property { NO_PROPERTY, ANY_SIZE, TRANSPOSES, SAME_BITS, ALIGNMENT, REMAINDERS, PADDING };

/**
 * A property. Items come in sets that compute the same product; if `same_bits`, the family promises that all of a set
 * have the same bits.
 */
struct property_row {
    const char *name;
    enum property property;
    int wanted, repeat, same_bits;
    unsigned flags;
};

enum { ALIGNMENTS = 60, LAYOUTS_OF_TWO = 4, SHORT_IN_TURN = 4, PADDED = 24 };

/* Elements of A and B that a thread loads at once. */
static int vector_of(const struct lesson_case *item)
{
    return 16 / (int)storage_bytes(gemm_storage(item, GEMM_A));
}

static int property_cases(const struct gemm_family *family, struct lesson_case *cases, int count,
                          int capacity)
{
    enum { ENUMERATES = CASE_ENUMERATES | CASE_ONE_CALL };
    int chooses = family->choice != GEMM_NO_CHOICE, layouts = family->same_layouts;
    const struct lesson_case any = gemm_case(family, "", GROUP_PROPERTIES, ANY, 1, 1, 1);
    const int shorts = (family->general || family->int8 ? LAYOUTS_OF_TWO : 1) * (vector_of(&any) - 1);
    const struct property_row rows[] = {
        {"property_any_size", ANY_SIZE, 1, 100, 0, 0},
        {"property_transposes", TRANSPOSES, family->general || family->int8, 100, layouts, 0},
        {"property_same_bits", SAME_BITS, chooses || layouts, layouts ? 102 : 120, 1, 0},
        {"property_alignment", ALIGNMENT, 1, ALIGNMENTS, layouts, 0},
        {"property_remainders", REMAINDERS, 1, SHORT_IN_TURN * shorts, 0, ENUMERATES},
        {"property_padding", PADDING, !family->int8, PADDED, 0, ENUMERATES},
    };
    int promised = 0;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (!rows[i].wanted || count >= capacity) continue;
        struct lesson_case *item = &cases[count++];
        *item = gemm_case(family, rows[i].name, GROUP_PROPERTIES, ANY, FIRST_BAD_M, FIRST_BAD_N, FIRST_BAD_K);
        item->repeat = rows[i].repeat;
        item->extent[GEMM_EX_FLAGS] |= (int)rows[i].property << GEMM_PROPERTY_SHIFT;
        item->flags |= rows[i].flags;
        if (rows[i].flags & CASE_ENUMERATES) item->group = GROUP_EDGES; /* items say where buffers begin */
        if (rows[i].property == PADDING) item->distribution = GEMM_INF_A;
        if (rows[i].same_bits) item->flags |= CASE_SAME_BITS;
        promised += rows[i].same_bits;
    }
    /* the family makes a promise that no property tests */
    if ((chooses || layouts) && promised == 0) abort();
    return count;
}

int gemm_cases(const struct gemm_family *family, struct lesson_case *cases, int count, int capacity)
{
    struct lesson_case any;
    bad_case(&any, "", KERNEL_OK, family);
    unsigned bit = family_bit(any.extent);
    int choices = family->last_choice - family->first_choice + 1, turn = 0;
    for (size_t i = 0; i < COUNT_OF(SHAPES) && count < capacity; i++) {
        if (!(SHAPES[i].families & bit)) continue;
        shape_case(&cases[count], &SHAPES[i], family);
        int last = SHAPES[i].group == GROUP_SPEED || SHAPES[i].flags & LAST_CHOICE;
        int first = (SHAPES[i].flags & FIRST_CHOICE) != 0;
        if (family->choice != GEMM_NO_CHOICE && !last)
            cases[count].value[GEMM_CHOICE] = family->first_choice + (first ? 0 : turn % choices);
        turn += !last;
        count++;
    }
    count = grid_cases(family, cases, count, capacity);
    count = bad_cases(family, bit, cases, count, capacity);
    count = bad_pairs(family, bit, cases, count, capacity);
    return property_cases(family, cases, count, capacity);
}

/* ---- items of properties --------------------------------------------------------------------------------- */

/* Elements from the end of a row to the next one: none, a few, or as many as keep rows at multiples of 16
 * bytes. */
static int random_gap(struct rng *rng, int columns)
{
    switch (rng_between(rng, 0, 3)) {
    case 0:
        return rng_between(rng, 1, 9);
    case 1:
        return (columns + 7) / 8 * 8 - columns;
    default:
        return 0;
    }
}

/* Rows any distance apart, buffers that begin anywhere, and any layout if @p transposes. */
static void random_layout(struct lesson_case *item, int transposes, struct rng *rng)
{
    static const int starts[] = {0, 0, 0, 1, 2, 3, 4, 8};
    int *extent = item->extent;
    if (transposes) {
        extent[GEMM_TRANS_A] = rng_between(rng, 0, 1);
        extent[GEMM_TRANS_B] = rng_between(rng, 0, 1);
    }
    int a_cols = extent[GEMM_TRANS_A] ? extent[GEMM_M] : extent[GEMM_K];
    int b_cols = extent[GEMM_TRANS_B] ? extent[GEMM_K] : extent[GEMM_N];
    int more_a = random_gap(rng, a_cols), more_b = random_gap(rng, b_cols);
    set_leading(extent, more_a, more_b, random_gap(rng, extent[GEMM_N]));
    for (int buffer = GEMM_A; buffer <= GEMM_C; buffer++)
        item->start[buffer] = starts[rng_between(rng, 0, (int)COUNT_OF(starts) - 1)];
}

static void random_factors(struct lesson_case *item, struct rng *rng)
{
    static const double factors[] = {0.0, 1.0, -1.0, 0.5, 2.25};
    if (!(item->extent[GEMM_EX_FLAGS] & GEMM_GENERAL)) return;
    item->real[GEMM_ALPHA] = factors[rng_between(rng, 0, 4)];
    item->real[GEMM_BETA] = factors[rng_between(rng, 0, 4)];
}

/** Elements between the end of a row and the next one, and between a multiple of 256 bytes and the start
 *  of a matrix. */
struct alignment {
    int more[GEMM_BUFFERS], start[GEMM_BUFFERS];
};

/* Every way to lose the alignment that a vector access needs: first one matrix at a time, by its start or
 * by its row distance; then two matrices; then a start and a row distance that cancel out in every second
 * row. */
static struct alignment alignment_of(int index)
{
    static const int by[] = {1, 2, 4, 8, 3, 5, 6, 7};
    static const struct alignment together[] = {
        {{0, 0, 0}, {4, 4, 0}}, {{0, 0, 0}, {4, 0, 4}}, {{0, 0, 0}, {0, 4, 4}}, {{0, 0, 0}, {1, 1, 0}},
        {{0, 0, 0}, {2, 0, 2}}, {{0, 0, 0}, {0, 2, 2}}, {{0, 0, 0}, {8, 8, 8}}, {{4, 4, 0}, {0, 0, 0}},
        {{4, 0, 4}, {0, 0, 0}}, {{0, 4, 4}, {0, 0, 0}}, {{1, 1, 1}, {0, 0, 0}}, {{2, 2, 2}, {0, 0, 0}},
        {{8, 8, 8}, {0, 0, 0}}, {{4, 0, 0}, {4, 0, 0}}, {{0, 4, 0}, {0, 4, 0}}, {{0, 0, 4}, {0, 0, 4}},
        {{8, 0, 0}, {0, 4, 0}}, {{0, 8, 0}, {4, 0, 0}}, {{8, 8, 8}, {4, 4, 4}}, {{2, 4, 2}, {2, 4, 6}},
        {{7, 0, 0}, {1, 0, 0}}, {{0, 7, 0}, {0, 1, 0}}, {{0, 0, 7}, {0, 0, 1}},
    };
    struct alignment alignment = {{0}, {0}};
    int starts = (int)COUNT_OF(by) * GEMM_BUFFERS,
        alone = starts + starts / 2; /* for row distances, powers of two are enough */
    if (index > alone) return together[(size_t)(index - alone - 1) % COUNT_OF(together)];
    if (index > 0) {
        int *what = index <= starts ? alignment.start : alignment.more, at = (index - 1) % starts;
        what[at % GEMM_BUFFERS] = by[at / GEMM_BUFFERS];
    }
    return alignment;
}

/* Whole tiles, and a remainder of whole vectors: only the alignment can rule out a vector access. */
static void vary_alignment(struct lesson_case *item, int index)
{
    struct alignment alignment = alignment_of(index);
    int general = item->extent[GEMM_EX_FLAGS] & GEMM_GENERAL, bytes = item->extent[GEMM_EX_FLAGS] & GEMM_INT8;
    item->extent[GEMM_M] = general ? 40 : bytes ? 48 : 64;
    item->extent[GEMM_N] = general ? 48 : 64;
    item->extent[GEMM_K] = general ? 24 : bytes ? 80 : 72;
    if (general || bytes) {
        item->extent[GEMM_TRANS_A] = index / 2 % 2;
        item->extent[GEMM_TRANS_B] = index % 2;
    }
    if (general) item->real[GEMM_BETA] = 0.5;
    set_leading(item->extent, alignment.more[GEMM_A], alignment.more[GEMM_B], alignment.more[GEMM_C]);
    memcpy(item->start, alignment.start, sizeof alignment.start);
}

/* The choice that item @p index uses: all of them in rotation; the last tile, which is large and slow,
 * less often. */
static int choice_of(const struct lesson_case *item, int index)
{
    int first = item->extent[GEMM_EX_CHOICES] / 256, last = item->extent[GEMM_EX_CHOICES] % 256;
    if (item->extent[GEMM_EX_FLAGS] & GEMM_CHOOSES_TILE)
        return index % 12 == 4 ? last : first + index % (last - first);
    return first + index % (last - first + 1);
}

static int up_to_vectors(int length, int vector)
{
    return (length + vector - 1) / vector * vector - length;
}

/* Sizes as they are given; rows that begin at vectors, or that follow each other. */
static void set_sizes(struct lesson_case *item, int m, int n, int k, int aligned)
{
    const int vector = vector_of(item);
    int *extent = item->extent;
    extent[GEMM_M] = m, extent[GEMM_N] = n, extent[GEMM_K] = k;
    const int a_cols = extent[GEMM_TRANS_A] ? m : k, b_cols = extent[GEMM_TRANS_B] ? k : n;
    set_leading(extent, aligned ? up_to_vectors(a_cols, vector) : 0,
                aligned ? up_to_vectors(b_cols, vector) : 0, aligned ? up_to_vectors(n, vector) : 0);
}

/* Every way to end within a vector, for each extent in turn while the others are whole vectors and rows begin at vectors; at last
 * for all of them, with rows that begin anywhere. In every layout. Some of the sums are beyond the largest half, wherever they are
 * stored. */
static void vary_remainder(struct lesson_case *item, int index)
{
    enum { OF_M, OF_N, OF_K, OF_ALL };
    const int vector = vector_of(item), of = index / (vector - 1) % SHORT_IN_TURN,
              layout = index / (vector - 1) / SHORT_IN_TURN, less = 1 + index % (vector - 1);
    item->extent[GEMM_TRANS_A] = layout / 2, item->extent[GEMM_TRANS_B] = layout % 2;
    set_sizes(item, 2 * vector - (of == OF_M || of == OF_ALL ? less : 0),
              3 * vector - (of == OF_N || of == OF_ALL ? less : 0),
              72 - (of == OF_K || of == OF_ALL ? less : 0), of != OF_ALL);
    if (less % 2 > 0 || gemm_storage(item, GEMM_C) != STORAGE_F16) return;
    item->distribution = GEMM_HUGE;
    item->flags &= ~(unsigned)CASE_UNIT_SCALE;
}

/* Infinities in A or in B, with rows that begin at vectors or do not; k ends within the first tile of k, or after so many tiles that
 * the stages of a ring hold what was there before. */
static void vary_padding(struct lesson_case *item, int index)
{
    static const int depths[] = {50, 104, 296};
    enum { MOST_LINES = 220, OTHERS = 40, DEPTHS = sizeof depths / sizeof depths[0] };
    const int of_a = index % 2, aligned = index / 2 % 2, k = depths[index / 4 % DEPTHS];
    const int lines = 2 * k + 12 < MOST_LINES ? 2 * k + 12 : MOST_LINES;
    if (item->extent[GEMM_EX_FLAGS] & GEMM_GENERAL) {
        item->extent[GEMM_TRANS_A] = index / 8 % 2;
        item->extent[GEMM_TRANS_B] = index / 4 % 2;
    }
    item->distribution = of_a ? GEMM_INF_A : GEMM_INF_B;
    set_sizes(item, of_a ? lines : OTHERS, of_a ? OTHERS : lines, k, aligned);
    for (int b = GEMM_A; b <= GEMM_C; b++) item->start[b] = !aligned;
}

/* Items of a set have the same matrices, from the generator of the set. Each item stores them at other
 * places. */
static void vary_product(struct lesson_case *item, enum property property, int index, int together,
                         struct rng *rng)
{
    struct rng set = {rng_mix(item->seed, (uint64_t)(index / together))};
    int number = index / together, general = item->extent[GEMM_EX_FLAGS] & GEMM_GENERAL;
    int transposes = general || item->extent[GEMM_EX_FLAGS] & GEMM_INT8;
    /* The software device is slow. */
    int most = item->devices == ON_GPU ? 300 : number % 8 == 0 ? 150 : 40;
    item->seed = rng_mix(set.state, 7);
    item->extent[GEMM_M] = rng_between(&set, 1, most);
    item->extent[GEMM_N] = rng_between(&set, 1, most);
    item->extent[GEMM_K] = rng_between(&set, 1, general ? most < 80 ? most : 80 : 2 * most);
    /* A set of few, long sums: a choice may add them in pieces that another has not. */
    if (property == SAME_BITS && number == 2) {
        item->extent[GEMM_M] = rng_between(&set, 1, 9);
        item->extent[GEMM_N] = rng_between(&set, 1, 9);
        item->extent[GEMM_K] = rng_between(&set, 4097, 4500);
        item->flags |= CASE_ONE_CALL; /* other sets show what a second call would */
    }
    /* Sums of which little remains: another order of adding shows in 16 bits, too. */
    if (property == TRANSPOSES && item->flags & CASE_SAME_BITS && number % 2 == 1)
        item->distribution = GEMM_CANCEL;
    if (property != TRANSPOSES) random_factors(item, &set);
    if (property == SAME_BITS && number % 4 == 3) item->flags |= CASE_SMALL_DEVICE;
    /* One large tile fills it: sums of several of its slices show how a kernel adds them there. */
    if (property == SAME_BITS && number % 8 == 7)
        item->extent[GEMM_K] = rng_between(&set, 2 * most, 4 * most);
    /* Where another layout may give other bits, all items of a set have the same layout. */
    int layouts = item->extent[GEMM_EX_FLAGS] & GEMM_SAME_LAYOUTS;
    if (property == TRANSPOSES || (property == SAME_BITS && layouts && index % together == 0)) {
        item->extent[GEMM_TRANS_A] = index % 4 / 2;
        item->extent[GEMM_TRANS_B] = index % 2;
        set_leading(item->extent, 0, 0, 0);
    } else {
        random_layout(item, transposes, property == SAME_BITS && !layouts ? &set : rng);
    }
}

void gemm_vary(struct lesson_case *item, int index, struct rng *rng)
{
    enum property property = (enum property)(item->extent[GEMM_EX_FLAGS] >> GEMM_PROPERTY_SHIFT);
    int choices = item->extent[GEMM_EX_CHOICES] % 256 - item->extent[GEMM_EX_CHOICES] / 256 + 1;
    int together = 1;
    if (property == ALIGNMENT) {
        together = ALIGNMENTS;
        vary_alignment(item, index);
    } else if (property == REMAINDERS) {
        vary_remainder(item, index);
    } else if (property == PADDING) {
        vary_padding(item, index);
    } else {
        if (property == TRANSPOSES) together = 4;
        if (property == SAME_BITS) together = item->extent[GEMM_EX_FLAGS] & GEMM_SAME_LAYOUTS ? 6 : choices;
        vary_product(item, property, index, together, rng);
    }
    if (index % together == 0) item->flags &= ~(unsigned)CASE_SAME_BITS;
    if (property == REMAINDERS) item->about = gemm_purpose(item);
    for (int i = 0; i <= GEMM_DTYPE_OUT; i++) item->value[i] = item->extent[i];
    if (item->extent[GEMM_EX_FLAGS] & (GEMM_CHOOSES_STAGES | GEMM_CHOOSES_TILE))
        item->value[GEMM_CHOICE] = choice_of(item, property == PADDING ? index + index / 4 : index);
}
