/**
 * @file 09_pipelined_gemm.c
 * @brief Lesson 09: lesson 08's product with one to four tiles under way; every number of them gives the same
 * bits.
 */
#include "checker/cases/gemm_cases.h"

#include <stdio.h>

enum { FIRST_STAGES = 1, LAST_STAGES = 4 };

/* The same product with every number of stages, so that each of them can be looked at by itself. */
static int stages_cases(const struct gemm_family *family, struct lesson_case *cases, int count, int capacity)
{
    for (int stages = FIRST_STAGES; stages <= LAST_STAGES && count < capacity; stages++) {
        char name[32];
        snprintf(name, sizeof name, "square_stages_%d", stages);
        cases[count] = gemm_case(family, name, GROUP_BASIC, ON_ANY, 64, 64, 200);
        cases[count++].value[GEMM_CHOICE] = stages;
    }
    return count;
}

/* A few large tiles, which the solution takes where they fill the device: rows that end and begin anywhere. */
static int tile_cases(const struct gemm_family *family, struct lesson_case *cases, int count, int capacity)
{
    if (count + 4 > capacity) return count;
    cases[count] = gemm_case(family, "many_tiles", GROUP_EDGES, ON_ANY, 336, 20, 72);
    cases[count].flags |= CASE_SMALL_DEVICE;
    cases[count++].value[GEMM_CHOICE] = 2;
    cases[count] = gemm_case(family, "many_tiles_odd", GROUP_EDGES, ON_ANY, 337, 19, 135);
    cases[count].flags |= CASE_SMALL_DEVICE;
    cases[count].extent[GEMM_LDB] = 275; /* wider than a tile of B: its chunks stay in the row */
    cases[count].value[GEMM_LDB] = 275;
    cases[count++].value[GEMM_CHOICE] = 3;
    cases[count] = gemm_case(family, "large_tiles_9_by_2", GROUP_EDGES, ON_ANY, 1025, 257, 8);
    cases[count].flags |= CASE_SMALL_DEVICE;
    cases[count++].value[GEMM_CHOICE] = 1;
    cases[count] = gemm_case(family, "wide_start_of_b_odd", GROUP_EDGES, ON_ANY, 40, 80, 72);
    cases[count++].start[GEMM_B] = 1;
    return count;
}

/* Whole steps of tiles that lack a row of A or a column of B, which is not in the buffer: of the first tile, and of the
 * second, where how much is left counts from its own place. */
static int almost_whole_cases(const struct gemm_family *family, struct lesson_case *cases, int count,
                              int capacity)
{
    static const struct {
        const char *name;
        int m, n, k, ldb;
    } short_of[] = {
        {"row_short_of_whole", 63, 64, 136, 64},
        {"column_short_of_whole", 64, 63, 128, 64},
        {"second_row_short_of_whole", 127, 64, 136, 64},
        {"second_column_short_of_whole", 64, 127, 128, 128},
    };
    for (size_t i = 0; i < sizeof short_of / sizeof short_of[0] && count < capacity; i++) {
        cases[count] = gemm_case(family, short_of[i].name, GROUP_EDGES, ON_ANY, short_of[i].m, short_of[i].n,
                                 short_of[i].k);
        cases[count].extent[GEMM_LDB] = short_of[i].ldb;
        cases[count].value[GEMM_LDB] = short_of[i].ldb;
        cases[count++].value[GEMM_CHOICE] = 2;
    }
    return count;
}

/* Rows that are shorter than a tile and one element further apart than it is wide: chunks of the last row but one end
 * outside of the matrix. */
static int narrow_cases(const struct gemm_family *family, struct lesson_case *cases, int count, int capacity)
{
    if (count + 2 > capacity) return count;
    cases[count] = gemm_case(family, "narrow_in_wide_rows_of_a", GROUP_EDGES, ON_ANY, 129, 8, 2);
    cases[count].start[GEMM_A] = 1;
    cases[count].extent[GEMM_LDA] = 33;
    cases[count++].value[GEMM_LDA] = 33;
    cases[count] = gemm_case(family, "narrow_in_wide_rows_of_b", GROUP_EDGES, ON_ANY, 8, 2, 65);
    cases[count].start[GEMM_B] = 1;
    cases[count].extent[GEMM_LDB] = 65;
    cases[count++].value[GEMM_LDB] = 65;
    return count;
}

/* A whole large tile and several steps of it, with every number of stages. */
static int large_cases(const struct gemm_family *family, struct lesson_case *cases, int count, int capacity)
{
    for (int stages = FIRST_STAGES; stages <= LAST_STAGES && count < capacity; stages++) {
        char name[32];
        snprintf(name, sizeof name, "large_tile_stages_%d", stages);
        cases[count] = gemm_case(family, name, GROUP_EDGES, ON_ANY, 128, 256, 64 * stages + 40);
        cases[count].flags |= CASE_SMALL_DEVICE;
        cases[count++].value[GEMM_CHOICE] = stages;
    }
    return count;
}

/* Time over the number of stages, for sums of few and of many steps. */
static int timed_cases(const struct gemm_family *family, struct lesson_case *cases, int count, int capacity)
{
    static const int depth[] = {256, 1024, 4096};
    for (size_t i = 0; i < sizeof depth / sizeof depth[0]; i++)
        for (int stages = FIRST_STAGES; stages <= LAST_STAGES && count < capacity; stages++) {
            char name[32];
            snprintf(name, sizeof name, "k_%d_stages_%d", depth[i], stages);
            cases[count] = gemm_case(family, name, GROUP_SPEED, ON_GPU, 4096, 4096, depth[i]);
            cases[count++].value[GEMM_CHOICE] = stages;
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
    count = stages_cases(&family, cases, count, capacity);
    count = tile_cases(&family, cases, count, capacity);
    count = almost_whole_cases(&family, cases, count, capacity);
    count = narrow_cases(&family, cases, count, capacity);
    count = large_cases(&family, cases, count, capacity);
    return timed_cases(&family, cases, count, capacity);
}

const struct lesson lesson_09_pipelined_gemm = {
#include "checker/cases/described.h"
    GEMM_CALLBACKS,
    .cases = cases,
};
