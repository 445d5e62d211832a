/**
 * @file 15_hopper_gemm.c
 * @brief Lesson 15: C = alpha op(A) op(B) + beta C on Hopper's tensor cores, in f16 and in bf16 storage, credited apart.
 *
 * gemm_cases.c has the cases of all products. The sizes of this lesson are here: around the 64 elements of k
 * of a stage and tiles of 128 x 256, 128 x 128 and 128 x 64, more k-slices than the ring has stages, more
 * tiles than blocks, layouts that TMA accepts and layouts that it does not.
 */
#include "checker/cases/case_table.h"
#include "checker/cases/gemm_cases.h"

enum {
#include "description/parts.h"
};

enum { TRANS_A = 1, TRANS_B = 2, FEW_SMS = 4, F16_ONLY = 8, A_AT_8 = 16, B_AT_8 = 32, C_AT_8 = 64 };

/** One more case: the leading dimensions are as long as the rows, rounded up to a multiple of 8, plus more_*. */
static const struct row {
    const char *name;
    enum case_group group;
    unsigned devices;
    int m, n, k, more_a, more_b, more_c;
    double alpha, beta;
    unsigned flags;
} ROWS[] = {
    /* clang-format off */
    /* name                         group        devices      m     n     k  more a, b, c  alpha beta flags */
    {"one_stage",                   GROUP_BASIC, ON_ANY,    128,   64,   64,  0,  0,  0,   1.0,  0.0, 0},
    {"whole_ring",                  GROUP_BASIC, ON_ANY,     64,   64,  512,  0,  0,  0,   1.0,  0.0, TRANS_B | F16_ONLY},
    {"ring_and_one",                GROUP_BASIC, ON_ANY,     64,   64,  576,  0,  0,  0,   1.0,  0.0, 0},
    {"ring_three_times",            GROUP_EDGES, ON_ANY,     16,   16, 1096,  0,  0,  0,   1.0,  0.0, TRANS_B | F16_ONLY},
    {"k_63",                        GROUP_EDGES, ON_ANY,     72,   72,   63,  0,  0,  0,   1.0,  0.0, TRANS_B},
    {"k_65",                        GROUP_EDGES, ON_ANY,     72,   72,   65,  0,  0,  0,   1.0,  0.0, TRANS_A},
    {"m_127_n_63",                  GROUP_EDGES, ON_ANY,    127,   63,   72,  0,  0,  0,   1.0,  0.0, 0},
    {"m_129_n_65",                  GROUP_EDGES, ON_ANY,    129,   65,   72,  0,  0,  0,   1.0,  0.0, TRANS_A | TRANS_B},
    {"rows_of_second_group_only",   GROUP_EDGES, ON_ANY,     65,   24,   40,  0,  0,  0,   1.0,  0.0, 0},
    {"between_rows",                GROUP_EDGES, ON_ANY,     70,   50,   90,  8, 16, 24,  -1.5,  0.5, 0},
    {"between_rows_tt",             GROUP_EDGES, ON_ANY,     70,   50,   90, 24,  8, 16,  -1.5,  0.5, TRANS_A | TRANS_B},
    {"a_by_hand",                   GROUP_EDGES, ON_ANY,    130,   34,   70,  1,  0,  0,   1.0,  0.0, 0},
    {"b_by_hand",                   GROUP_EDGES, ON_ANY,     34,   66,   70,  0,  1,  0,   1.0,  0.0, TRANS_B},
    {"a_by_hand_tn",                GROUP_EDGES, ON_ANY,    130,   34,   70,  4,  0,  0,   1.0,  0.0, TRANS_A},
    {"c_by_hand",                   GROUP_EDGES, ON_ANY,    130,   66,   70,  0,  0,  4,   2.0, -1.0, F16_ONLY},
    {"ring_by_hand",                GROUP_EDGES, ON_ANY,     24,   24,  520,  1,  1,  1,   1.0,  0.0, F16_ONLY},
    {"a_begins_at_8_bytes",         GROUP_EDGES, ON_ANY,     64,   64,   64,  0,  0,  0,   1.0,  0.0, A_AT_8},
    {"b_begins_at_8_bytes",         GROUP_EDGES, ON_ANY,     64,   64,   64,  0,  0,  0,   1.0,  0.0, B_AT_8},
    {"c_begins_at_8_bytes",         GROUP_EDGES, ON_ANY,     64,   64,   64,  0,  0,  0,   1.0,  0.5, C_AT_8},
    {"skinny_16",                   GROUP_EDGES, ON_ANY,     16,  136,  136,  0,  0,  0,   1.0,  0.0, TRANS_B},
    /* Two SMs: large tiles, one cluster. */
    {"large_tile_nt",               GROUP_BASIC, ON_ANY,    256,  256,   64,  0,  0,  0,   1.0,  0.0, TRANS_B | FEW_SMS},
    {"large_tile_nn",               GROUP_BASIC, ON_ANY,    256,  256,   64,  0,  0,  0,   1.0,  0.0, FEW_SMS | F16_ONLY},
    {"large_tile_tn",               GROUP_BASIC, ON_ANY,    256,  256,   64,  0,  0,  0,   1.0,  0.0, TRANS_A | FEW_SMS | F16_ONLY},
    {"large_tile_tt",               GROUP_BASIC, ON_ANY,    256,  256,   64,  0,  0,  0,   1.0,  0.0, TRANS_A | TRANS_B | FEW_SMS | F16_ONLY},
    {"large_rim_nn",                GROUP_EDGES, ON_ANY,    135,  260,   88,  0,  0,  0,   1.0,  0.0, FEW_SMS | F16_ONLY},
    {"large_rim_tt_beta",           GROUP_EDGES, ON_ANY,    132,  391,   72,  0,  0,  8,   0.5,  2.0, TRANS_A | TRANS_B | FEW_SMS | F16_ONLY},
    {"large_ring_twice",            GROUP_EDGES, ON_ANY,    129,   40,  264,  0,  0,  0,   1.0,  0.0, TRANS_B | FEW_SMS | F16_ONLY},
    {"second_block_has_no_rows",    GROUP_EDGES, ON_ANY,    128,  512,   40,  0,  0,  0,   1.0,  0.0, FEW_SMS | F16_ONLY},
    {"large_c_by_hand",             GROUP_EDGES, ON_ANY,    132,  258,   40,  0,  0,  3,   1.0,  1.0, TRANS_B | FEW_SMS | F16_ONLY},
    {"many_large_tiles",            GROUP_EDGES, ON_ANY,   1160,  201,    8,  0,  0,  0,   1.0,  0.0, TRANS_B | FEW_SMS | F16_ONLY},
    {"medium_tile_nt",              GROUP_BASIC, ON_ANY,    128,  256,   64,  0,  0,  0,   1.0,  0.0, TRANS_B | FEW_SMS},
    {"medium_tile_nn",              GROUP_EDGES, ON_ANY,    128,  256,   64,  0,  0,  0,   1.0,  0.0, FEW_SMS | F16_ONLY},
    {"medium_tile_tn",              GROUP_EDGES, ON_ANY,    128,  256,   64,  0,  0,  0,   1.0,  0.0, TRANS_A | FEW_SMS | F16_ONLY},
    {"medium_rim_tt",               GROUP_EDGES, ON_ANY,    100,  198,   72,  0,  0,  0,   0.5,  2.0, TRANS_A | TRANS_B | FEW_SMS},
    {"medium_ring_and_one",         GROUP_EDGES, ON_ANY,     24,  136,  424,  0,  0,  0,   1.0,  0.0, TRANS_B | FEW_SMS | F16_ONLY},
    {"many_small_by_hand",          GROUP_EDGES, ON_ANY,    262,  130,    9,  1,  0,  0,   1.0,  0.0, FEW_SMS | F16_ONLY},
    /* A GPU has more SMs, so large and medium tiles need larger problems; their edges are tested there.
     * Also more rows than 16 bits can count. */
    {"gpu_large_rim_nt",            GROUP_EDGES, ON_GPU,   1500, 2908,  328,  0,  0,  0,   1.0,  0.5, TRANS_B},
    {"gpu_large_rim_tn",            GROUP_EDGES, ON_GPU,   1500, 2908,  328,  0,  0,  0,   1.0,  0.0, TRANS_A | F16_ONLY},
    {"gpu_rows_beyond_16_bits",     GROUP_EDGES, ON_GPU,  70000,   40,   24,  0,  0,  0,   1.0,  0.5, TRANS_B | F16_ONLY},
    {"gpu_medium_rim_tt",           GROUP_EDGES, ON_GPU,   1500, 1412,  456,  0,  0,  0,   1.0,  0.5, TRANS_A | TRANS_B},

    {"square_256_nt",               GROUP_SPEED, ON_ANY,    256,  256,  256,  0,  0,  0,   1.0,  0.0, TRANS_B},
    {"square_8192",                 GROUP_SPEED, ON_GPU,   8192, 8192, 8192,  0,  0,  0,   1.0,  0.0, 0},
    {"square_4096_nt",              GROUP_SPEED, ON_GPU,   4096, 4096, 4096,  0,  0,  0,   1.0,  0.0, TRANS_B},
    {"square_4096_tn",              GROUP_SPEED, ON_GPU,   4096, 4096, 4096,  0,  0,  0,   1.0,  0.0, TRANS_A | F16_ONLY},
    {"square_4096_tt",              GROUP_SPEED, ON_GPU,   4096, 4096, 4096,  0,  0,  0,   1.0,  0.0, TRANS_A | TRANS_B | F16_ONLY},
    {"square_8192_nt",              GROUP_SPEED, ON_GPU,   8192, 8192, 8192,  0,  0,  0,   1.0,  0.0, TRANS_B},
    {"skinny_16_4096_nt",           GROUP_SPEED, ON_GPU,     16, 4096, 4096,  0,  0,  0,   1.0,  0.0, TRANS_B | F16_ONLY},
    {"skinny_64_4096_nt",           GROUP_SPEED, ON_GPU,     64, 4096, 4096,  0,  0,  0,   1.0,  0.0, TRANS_B | F16_ONLY},
    {"odd_4095",                    GROUP_SPEED, ON_GPU,   4095, 4095, 4095, -1, -1, -1,   1.0,  0.0, F16_ONLY},
    /* clang-format on */
};

static int up_to_8(int length)
{
    return (length + 7) / 8 * 8 - length;
}

static int own_cases(const struct gemm_family *family, struct lesson_case *cases, int count, int capacity)
{
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0] && count < capacity; i++) {
        const struct row *row = &ROWS[i];
        if (row->flags & F16_ONLY && family->part != PART_F16) continue;
        struct lesson_case *item = &cases[count++];
        int trans_a = (row->flags & TRANS_A) != 0, trans_b = (row->flags & TRANS_B) != 0;
        *item = gemm_case(family, row->name, row->group, row->devices, row->m, row->n, row->k);
        gemm_store(item, trans_a, trans_b, up_to_8(trans_a ? row->m : row->k) + row->more_a,
                   up_to_8(trans_b ? row->k : row->n) + row->more_b, up_to_8(row->n) + row->more_c);
        item->real[GEMM_ALPHA] = row->alpha, item->real[GEMM_BETA] = row->beta;
        if (row->flags & FEW_SMS) item->flags |= CASE_SMALL_DEVICE;
        for (int buffer = GEMM_A; buffer <= GEMM_C; buffer++)
            if (row->flags & (unsigned)(A_AT_8 << buffer)) item->start[buffer] = 4;
    }
    return count;
}

/* One kernel serves both types, and the software device is slow: so properties run a share of their items,
 * and of the sizes that all products share only every @p each one runs. Properties that compare items come
 * in sets of 4 or 6. */
static int fewer(struct lesson_case *cases, int first, int count, int share, int each)
{
    int kept = first, sizes = 0;
    for (int i = first; i < count; i++) {
        if (cases[i].group == GROUP_EDGES && cases[i].repeat == 1 && sizes++ % each != 0) continue;
        cases[kept] = cases[i];
        int items = cases[kept].repeat / share / 12 * 12;
        if (cases[kept].group == GROUP_PROPERTIES) cases[kept].repeat = items > 12 ? items : 12;
        kept++;
    }
    return kept;
}

static int cases(struct lesson_case *cases, int capacity)
{
    static const struct gemm_family f16 = {.part = PART_F16,
                                           .name = "f16",
                                           .dtype_in = DTYPE_F16,
                                           .dtype_out = DTYPE_F16,
                                           .general = 1,
                                           .tensor_cores = 1,
                                           .same_layouts = 1};
    static const struct gemm_family bf16 = {.part = PART_BF16,
                                            .name = "bf16",
                                            .dtype_in = DTYPE_BF16,
                                            .dtype_out = DTYPE_BF16,
                                            .general = 1,
                                            .tensor_cores = 1,
                                            .same_layouts = 1};
    int count = gemm_cases(&f16, cases, 0, capacity);
    count = fewer(cases, 0, count, 3, 1);
    count = own_cases(&f16, cases, count, capacity);
    count = case_table_add_old_device(cases, count, capacity, "f16", "dtype_in_other",
                                      "old_device_and_dtype_f32");
    int first = count;
    count = gemm_cases(&bf16, cases, count, capacity);
    count = fewer(cases, first, count, 6, 3);
    count = own_cases(&bf16, cases, count, capacity);
    return case_table_add_old_device(cases, count, capacity, "bf16", "dtype_in_other",
                                     "old_device_and_dtype_f32");
}

const struct lesson lesson_15_hopper_gemm = {
#include "checker/cases/described.h"
    .same_bits_anywhere = 1,
    GEMM_CALLBACKS,
    .cases = cases,
};
