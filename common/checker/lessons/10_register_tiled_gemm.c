/**
 * @file 10_register_tiled_gemm.c
 * @brief Lesson 10: C = alpha op(A) op(B) + beta C on CUDA cores, in f32 and in f16 storage, credited apart.
 */
#include "checker/cases/gemm_cases.h"

enum {
#include "description/parts.h"
};

/* The values of enum gemm_tile, which C code cannot include. */
enum { TILE_AUTO = 0, TILE_LARGE = 2 };

/* A few rows and columns more than large tiles have, with operands that are stored transposed. */
static int rims(const struct gemm_family *family, struct lesson_case *cases, int count, int capacity)
{
    static const char *const NAMES[] = {"rims_tn", "rims_tt"};
    for (int trans_b = 0; trans_b < 2 && count < capacity; trans_b++) {
        struct lesson_case *item = &cases[count++];
        *item = gemm_case(family, NAMES[trans_b], GROUP_EDGES, ON_ANY, 259, 133, 20);
        gemm_store(item, 1, trans_b, 2, 3, 3 + trans_b); /* rows of A begin anywhere */
        item->value[GEMM_CHOICE] = TILE_LARGE, item->real[GEMM_BETA] = 0.5;
    }
    return count;
}

static int cases(struct lesson_case *cases, int capacity)
{
    static const struct gemm_family f32 = {.part = PART_F32,
                                           .name = "f32",
                                           .dtype_in = DTYPE_F32,
                                           .dtype_out = DTYPE_F32,
                                           .general = 1,
                                           .same_layouts = 1,
                                           .choice = GEMM_TILE,
                                           .first_choice = TILE_AUTO,
                                           .last_choice = TILE_LARGE};
    static const struct gemm_family f16 = {.part = PART_F16,
                                           .name = "f16",
                                           .dtype_in = DTYPE_F16,
                                           .dtype_out = DTYPE_F16,
                                           .general = 1,
                                           .same_layouts = 1,
                                           .choice = GEMM_TILE,
                                           .first_choice = TILE_AUTO,
                                           .last_choice = TILE_LARGE};
    int count = gemm_cases(&f32, cases, 0, capacity);
    count = rims(&f32, cases, count, capacity);
    count = gemm_cases(&f16, cases, count, capacity);
    count = rims(&f16, cases, count, capacity);
    for (int i = 0; i < count; i++) /* the timed call uses the choice that a caller gets by default */
        if (cases[i].group == GROUP_SPEED) cases[i].value[GEMM_CHOICE] = TILE_AUTO;
    return count;
}

const struct lesson lesson_10_register_tiled_gemm = {
#include "checker/cases/described.h"
    .same_bits_anywhere = 1,
    GEMM_CALLBACKS,
    .cases = cases,
};
