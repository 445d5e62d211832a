/**
 * @file 09_pipelined_gemm.c
 * @brief Lesson 09: lesson 08's product with one to four tiles in flight; the bits must not depend on how
 *        many.
 */
#include "checker/cases/gemm_cases.h"

enum { FIRST_STAGES = 1, LAST_STAGES = 4, NOWHERE = -1 };

/** One more case, for a number of stages. */
static const struct row {
    const char *name;
    enum case_group group;
    unsigned devices;
    int m, n, k;
    int lda, ldb;  /* 0: the length of a row */
    int odd_start; /* the buffer that begins at an odd element */
    int stages;    /* 0: what a case has without a choice */
    int few_sms;
} ROWS[] = {
    /* clang-format off */
    /* name                            group        devices      m     n     k  lda  ldb odd start stages few */
    {"square_stages_1",              GROUP_BASIC, ON_ANY,     64,   64,  200,   0,   0, NOWHERE,  1, 0},
    {"square_stages_2",              GROUP_BASIC, ON_ANY,     64,   64,  200,   0,   0, NOWHERE,  2, 0},
    {"square_stages_3",              GROUP_BASIC, ON_ANY,     64,   64,  200,   0,   0, NOWHERE,  3, 0},
    {"square_stages_4",              GROUP_BASIC, ON_ANY,     64,   64,  200,   0,   0, NOWHERE,  4, 0},
    /* A few large tiles, which the solution uses when they fill the device; rows end and begin at any
     * place. A row of B of 275 elements is wider than a tile: chunks must not reach past its end. */
    {"many_tiles",                   GROUP_EDGES, ON_ANY,    336,   20,   72,   0,   0, NOWHERE,  2, 1},
    {"many_tiles_odd",               GROUP_EDGES, ON_ANY,    337,   19,  135,   0, 275, NOWHERE,  3, 1},
    {"large_tiles_9_by_2",           GROUP_EDGES, ON_ANY,   1025,  257,    8,   0,   0, NOWHERE,  1, 1},
    {"large_tiles_2_by_9",           GROUP_EDGES, ON_ANY,    129, 2049,    8,   0,   0, NOWHERE,  1, 1},
    {"wide_start_of_b_odd",          GROUP_EDGES, ON_ANY,     40,   80,   72,   0,   0, GEMM_B,   0, 0},
    /* Full k-steps of tiles that lack one row of A or one column of B, which is not in the buffer. First
     * the first tile; then the second, in which a kernel must count the remainder from the tile's own
     * start. */
    {"row_short_of_whole",           GROUP_EDGES, ON_ANY,     63,   64,  136,   0,  64, NOWHERE,  2, 0},
    {"column_short_of_whole",        GROUP_EDGES, ON_ANY,     64,   63,  128,   0,  64, NOWHERE,  2, 0},
    {"second_row_short_of_whole",    GROUP_EDGES, ON_ANY,    127,   64,  136,   0,  64, NOWHERE,  2, 0},
    {"second_column_short_of_whole", GROUP_EDGES, ON_ANY,     64,  127,  128,   0, 128, NOWHERE,  2, 0},
    /* Rows that are shorter than a tile, and whose distance is one element more than a tile's width: all
     * chunks of the last row but one end outside of the matrix. */
    {"narrow_in_wide_rows_of_a",     GROUP_EDGES, ON_ANY,    129,    8,    2,  33,   0, GEMM_A,   0, 0},
    {"narrow_in_wide_rows_of_b",     GROUP_EDGES, ON_ANY,      8,    2,   65,   0,  65, GEMM_B,   0, 0},
    /* A whole large tile with several k-steps, for every number of stages. */
    {"large_tile_stages_1",          GROUP_EDGES, ON_ANY,    128,  256,  104,   0,   0, NOWHERE,  1, 1},
    {"large_tile_stages_2",          GROUP_EDGES, ON_ANY,    128,  256,  168,   0,   0, NOWHERE,  2, 1},
    {"large_tile_stages_3",          GROUP_EDGES, ON_ANY,    128,  256,  232,   0,   0, NOWHERE,  3, 1},
    {"large_tile_stages_4",          GROUP_EDGES, ON_ANY,    128,  256,  296,   0,   0, NOWHERE,  4, 1},
    /* Time over the number of stages, for sums of a few and of many k-steps. */
    {"k_256_stages_1",               GROUP_SPEED, ON_GPU,   4096, 4096,  256,   0,   0, NOWHERE,  1, 0},
    {"k_256_stages_2",               GROUP_SPEED, ON_GPU,   4096, 4096,  256,   0,   0, NOWHERE,  2, 0},
    {"k_256_stages_3",               GROUP_SPEED, ON_GPU,   4096, 4096,  256,   0,   0, NOWHERE,  3, 0},
    {"k_256_stages_4",               GROUP_SPEED, ON_GPU,   4096, 4096,  256,   0,   0, NOWHERE,  4, 0},
    {"k_1024_stages_1",              GROUP_SPEED, ON_GPU,   4096, 4096, 1024,   0,   0, NOWHERE,  1, 0},
    {"k_1024_stages_2",              GROUP_SPEED, ON_GPU,   4096, 4096, 1024,   0,   0, NOWHERE,  2, 0},
    {"k_1024_stages_3",              GROUP_SPEED, ON_GPU,   4096, 4096, 1024,   0,   0, NOWHERE,  3, 0},
    {"k_1024_stages_4",              GROUP_SPEED, ON_GPU,   4096, 4096, 1024,   0,   0, NOWHERE,  4, 0},
    {"k_4096_stages_1",              GROUP_SPEED, ON_GPU,   4096, 4096, 4096,   0,   0, NOWHERE,  1, 0},
    {"k_4096_stages_2",              GROUP_SPEED, ON_GPU,   4096, 4096, 4096,   0,   0, NOWHERE,  2, 0},
    {"k_4096_stages_3",              GROUP_SPEED, ON_GPU,   4096, 4096, 4096,   0,   0, NOWHERE,  3, 0},
    {"k_4096_stages_4",              GROUP_SPEED, ON_GPU,   4096, 4096, 4096,   0,   0, NOWHERE,  4, 0},
    /* clang-format on */
};

static int own_cases(const struct gemm_family *family, struct lesson_case *cases, int count, int capacity)
{
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0] && count < capacity; i++) {
        const struct row *row = &ROWS[i];
        struct lesson_case *item = &cases[count++];
        *item = gemm_case(family, row->name, row->group, row->devices, row->m, row->n, row->k);
        if (row->lda > 0) item->value[GEMM_LDA] = item->extent[GEMM_LDA] = row->lda;
        if (row->ldb > 0) item->value[GEMM_LDB] = item->extent[GEMM_LDB] = row->ldb;
        if (row->odd_start != NOWHERE) item->start[row->odd_start] = 1;
        if (row->stages > 0) item->value[GEMM_CHOICE] = row->stages;
        if (row->few_sms) item->flags |= CASE_SMALL_DEVICE;
    }
    return count;
}

static int cases(struct lesson_case *cases, int capacity)
{
    static const struct gemm_family family = {.name = "product",
                                              .dtype_in = DTYPE_F16,
                                              .dtype_out = DTYPE_F32,
                                              .choice = GEMM_STAGES,
                                              .first_choice = FIRST_STAGES,
                                              .last_choice = LAST_STAGES,
                                              .tensor_cores = 1};
    int count = gemm_cases(&family, cases, 0, capacity);
    return own_cases(&family, cases, count, capacity);
}

const struct lesson lesson_09_pipelined_gemm = {
#include "checker/cases/described.h"
    GEMM_CALLBACKS,
    .cases = cases,
};
