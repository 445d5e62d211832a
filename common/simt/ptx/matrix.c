/**
 * @file matrix.c
 * @brief Matrix products of a warp, mma.sync, and the instructions that move their fragments from and to
 *        shared memory: ldmatrix, stmatrix, movmatrix.
 *
 * With g = lane / 4 and t = lane % 4, one rule gives all lane maps of mma.sync. A register has e = 32 / bits elements that lie
 * side by side along k (e = 1 for f64):
 *
 *     A, register r    row g, and g + 8 where r is odd (m = 16);   k = e t + 4e (r / 2) + 0 ... e - 1     (m = 8: r for r / 2)
 *     B, register r    column g;                                   k = e t + 4e r + 0 ... e - 1
 *     C and D          row g, then g + 8;                          columns 2t and 2t + 1
 *
 * The products of an element are summed in float, in the order of k, then added to the accumulator, as runtime/matrix.c does;
 * a tensor core sums in another order and cuts where this rounds. Sums of integers and of f64 are exact and rounded as documented.
 */
#include "numbers.h"
#include "parse.h"
#include "program.h"

#include <stdio.h>

enum {
    LANES = 32,
    COLUMNS = 8,
    MOST_ROWS = 16,
    MOST_DEPTH = 32,
    CORE = 8 /**< rows of a matrix of ldmatrix, and elements per row */
};

static void demand_whole_warp(const struct op *op)
{
    const struct simt_identity *self = simt_self();
    if (self == NULL)
        simt_stop(&op->site, RECORD_UNSUPPORTED, RECORD_SAYS_HOST_CODE, SIMT_SAYS(.name = {op->site.what}));
    const unsigned threads = self->block_dim.x * self->block_dim.y * self->block_dim.z;
    if (self->warp == threads / LANES)
        simt_stop(&op->site, RECORD_UNSUPPORTED, RECORD_SAYS_PARTIAL_WARP,
                  SIMT_SAYS(.name = {op->site.what}, .number = {threads % LANES}));
}

/* ---- the shape of a product ------------------------------------------------------------------------------ */

/** What an mma's name says. */
struct shape {
    unsigned m, k;
    unsigned each;    /**< elements in a register of A or B */
    unsigned a, b, c; /**< slots where their operands begin; D's begin at 0 */
    unsigned a_count, b_count;
};

static struct shape shape_of(const struct op *op)
{
    struct shape s = {.m = (unsigned)op->constant >> 8, .k = (unsigned)op->constant & 0xff};
    const unsigned wide = op->type[1] == PTX_F64 ? 64 : 32, d_bits = ptx_type[op->type[0]].bits;
    s.each = wide / ptx_type[op->type[1]].bits;
    s.a_count = s.m / 8 * (s.k / (4 * s.each));
    s.b_count = s.k / (4 * s.each);
    s.a = s.m / 8 * (d_bits == 16 ? 1 : 2);
    s.b = s.a + s.a_count;
    s.c = s.b + s.b_count;
    return s;
}

static void check_mma(struct compiling *c, const struct row *row, struct op *op)
{
    unsigned m = 0, k = 0;
    (void)c;
    sscanf(row->name, "mma sync aligned m%un8k%u", &m, &k);
    op->constant = (int64_t)(m << 8 | k);
}

/* ---- fragments to matrices ------------------------------------------------------------------------------- */

/** The registers of the lanes that have arrived. */
struct lanes {
    const struct op *op;
    struct shape shape;
    uint64_t *reg[LANES];
};

/** Words of A by rows and of B by columns: element i of word w of row g has k = each * w + i. */
struct words {
    uint32_t a[MOST_ROWS][CORE], b[COLUMNS][CORE];
};

static void collect_words(const struct lanes *l, struct words *w)
{
    const struct shape *s = &l->shape;
    for (unsigned lane = 0; lane < LANES; lane++) {
        const unsigned g = lane / 4, t = lane % 4, down = s->m / 8;
        for (unsigned r = 0; r < s->a_count; r++)
            w->a[g + 8 * (r % down)][t + 4 * (r / down)] = (uint32_t)l->reg[lane][l->op->slot[s->a + r]];
        for (unsigned r = 0; r < s->b_count; r++)
            w->b[g][t + 4 * r] = (uint32_t)l->reg[lane][l->op->slot[s->b + r]];
    }
}

/** A by rows, B by k, so that the eight columns of a row are one vector. */
struct factors {
    float a[MOST_ROWS][MOST_DEPTH], b[MOST_DEPTH][COLUMNS];
};

/* Element i of a word as a number. */
static float element(unsigned type, uint32_t word, unsigned i)
{
    switch (type) {
    case PTX_TF32:
        return ptx_float_of_bits(word & 0xffffe000u); /* the bits of a float that a tensor core reads */
    case PTX_E4M3:
        return ptx_float_of_8_bits(&ptx_e4m3, word >> 8 * i & 0xff);
    default:
        return ptx_float_of_8_bits(&ptx_e5m2, word >> 8 * i & 0xff);
    }
}

static void widen(const struct words *w, const struct op *op, const struct shape *s, struct factors *f)
{
    for (unsigned i = 0; i < s->each; i++)
        for (unsigned word = 0; word < s->k / s->each; word++) {
            for (unsigned row = 0; row < s->m; row++)
                f->a[row][s->each * word + i] = element(op->type[1], w->a[row][word], i);
            for (unsigned column = 0; column < COLUMNS; column++)
                f->b[s->each * word + i][column] = element(op->type[2], w->b[column][word], i);
        }
}

/** Converts sixteen consecutive halves. */
typedef void widen_function(const uint32_t *word, float *to);

static void widen_row(const uint32_t *word, float *to)
{
    for (unsigned i = 0; i < 2 * CORE; i++) to[i] = ptx_float_of_half((uint16_t)(word[i / 2] >> i % 2 * 16));
}

#if defined(__x86_64__)
typedef short eight_halves __attribute__((vector_size(16)));
typedef float eight_floats __attribute__((vector_size(32)));
__attribute__((target("avx2,fma,f16c"))) static void widen_row_wide(const uint32_t *word, float *to)
{
    for (unsigned i = 0; i < 2; i++) {
        eight_halves half;
        memcpy(&half, word + 4 * i, sizeof half);
        const eight_floats wide = __builtin_ia32_vcvtph2ps256(half);
        memcpy(to + 8 * i, &wide, sizeof wide);
    }
}
#endif

static void widen_row_bfloat16(const uint32_t *word, float *to)
{
    for (unsigned i = 0; i < CORE; i++) {
        to[2 * i] = ptx_float_of_bits(word[i] << 16);
        to[2 * i + 1] = ptx_float_of_bits(word[i] & 0xffff0000u);
    }
}

/* 16-bit numbers lie in the words in the order of k. Whole rows are converted, of which half is not used
 * if k is 8. */
static inline __attribute__((always_inline)) void widen_halves(const struct words *w,
                                                               widen_function *widen_one, struct factors *f)
{
    float b[COLUMNS][2 * CORE];
    for (unsigned row = 0; row < MOST_ROWS; row++) widen_one(w->a[row], f->a[row]);
    for (unsigned column = 0; column < COLUMNS; column++) widen_one(w->b[column], b[column]);
    for (unsigned i = 0; i < 2 * CORE; i++)
        for (unsigned column = 0; column < COLUMNS; column++) f->b[i][column] = b[column][i];
}

/* ---- sums in float --------------------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) void multiply(const struct factors *f, float sum[][COLUMNS],
                                                           unsigned m, unsigned k)
{
    for (unsigned row = 0; row < m; row++) {
        float of_row[COLUMNS] = {0.0f};
        for (unsigned i = 0; i < k; i++)
            for (unsigned column = 0; column < COLUMNS; column++)
                of_row[column] += f->a[row][i] * f->b[i][column];
        memcpy(sum[row], of_row, sizeof of_row);
    }
}

static inline __attribute__((always_inline)) void product(const struct words *w, const struct op *op,
                                                          const struct shape *s, widen_function *widen_one,
                                                          float sum[][COLUMNS])
{
    struct factors f;
    if (op->type[1] == PTX_F16)
        widen_halves(w, widen_one, &f);
    else if (op->type[1] == PTX_BF16)
        widen_halves(w, widen_row_bfloat16, &f);
    else
        widen(w, op, s, &f);
    if (s->m == 16 && s->k == 16)
        multiply(&f, sum, 16, 16);
    else
        multiply(&f, sum, s->m, s->k);
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma,f16c"), optimize("O3"))) static void
product_wide(const struct words *w, const struct op *op, const struct shape *s, float sum[][COLUMNS])
{
    product(w, op, s, widen_row_wide, sum);
}
#endif

static void product_here(const struct words *w, const struct op *op, const struct shape *s,
                         float sum[][COLUMNS])
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c")) {
        product_wide(w, op, s, sum);
        return;
    }
#endif
    product(w, op, s, widen_row, sum);
}

/* d = sum + c for one lane. */
static void give_floats(const struct lanes *l, unsigned lane, float sum[][COLUMNS])
{
    const struct op *op = l->op;
    const struct shape *s = &l->shape;
    uint64_t *reg = l->reg[lane];
    for (unsigned r = 0; r < s->m / 8; r++) {
        const float *row = &sum[lane / 4 + 8 * r][2 * (lane % 4)];
        float c[2];
        if (op->type[3] == PTX_F16) {
            const uint32_t word = (uint32_t)reg[op->slot[s->c + r]];
            c[0] = ptx_float_of_half((uint16_t)word);
            c[1] = ptx_float_of_half((uint16_t)(word >> 16));
        } else {
            for (unsigned i = 0; i < 2; i++)
                c[i] = ptx_float_of_bits((uint32_t)reg[op->slot[s->c + 2 * r + i]]);
        }
        if (op->type[0] == PTX_F16) {
            reg[op->slot[r]] = ptx_half_of_float(row[0] + c[0]) | (uint32_t)ptx_half_of_float(row[1] + c[1])
                                                                      << 16;
            continue;
        }
        for (unsigned i = 0; i < 2; i++) {
            const float d = row[i] + c[i];
            reg[op->slot[2 * r + i]] = d == d ? ptx_bits_of_float(d) : 0x7fffffffu;
        }
    }
}

static void complete_floats(void *const operand[32], void *const result[32], unsigned mask, void *context)
{
    struct lanes l = {.op = context, .shape = shape_of(context)};
    struct words w = {{{0}}, {{0}}};
    float sum[MOST_ROWS][COLUMNS];
    (void)result, (void)mask;
    for (unsigned lane = 0; lane < LANES; lane++) l.reg[lane] = operand[lane];
    collect_words(&l, &w);
    product_here(&w, l.op, &l.shape, sum);
    for (unsigned lane = 0; lane < LANES; lane++) give_floats(&l, lane, sum);
}

/* ---- sums of integers and of doubles ---------------------------------------------------------------------- */

static int64_t byte_of(unsigned type, uint32_t word, unsigned i)
{
    const uint32_t byte = word >> 8 * i & 0xff;
    return type == PTX_S8 ? (int8_t)byte : (int64_t)byte;
}

static int64_t integer_sum(const struct op *op, const struct words *w, const struct shape *s, unsigned row,
                           unsigned column)
{
    int64_t sum = 0;
    for (unsigned word = 0; word < s->k / 4; word++)
        for (unsigned i = 0; i < 4; i++)
            sum += byte_of(op->type[1], w->a[row][word], i) * byte_of(op->type[2], w->b[column][word], i);
    return sum;
}

static void complete_integers(void *const operand[32], void *const result[32], unsigned mask, void *context)
{
    const struct op *op = context;
    struct lanes l = {.op = op, .shape = shape_of(op)};
    struct words w;
    (void)result, (void)mask;
    for (unsigned lane = 0; lane < LANES; lane++) l.reg[lane] = operand[lane];
    collect_words(&l, &w);
    for (unsigned lane = 0; lane < LANES; lane++)
        for (unsigned i = 0; i < l.shape.m / 4; i++) {
            const unsigned row = lane / 4 + 8 * (i / 2), column = 2 * (lane % 4) + i % 2;
            int64_t d =
                integer_sum(op, &w, &l.shape, row, column) + (int32_t)l.reg[lane][op->slot[l.shape.c + i]];
            if (op->modifier[0] != 0) d = d < INT32_MIN ? INT32_MIN : d > INT32_MAX ? INT32_MAX : d;
            l.reg[lane][op->slot[i]] = (uint32_t)d;
        }
}

/* m8n8k4: one product after the other, each fused with the sum. */
static void complete_doubles(void *const operand[32], void *const result[32], unsigned mask, void *context)
{
    const struct op *op = context;
    double d[LANES][2];
    (void)result, (void)mask;
    for (unsigned lane = 0; lane < LANES; lane++)
        for (unsigned i = 0; i < 2; i++) {
            const unsigned row = lane / 4, column = 2 * (lane % 4) + i;
            double sum = ptx_double_of_bits(((const uint64_t *)operand[lane])[op->slot[4 + i]]);
            for (unsigned k = 0; k < 4; k++)
                sum = fma(ptx_double_of_bits(((const uint64_t *)operand[4 * row + k])[op->slot[2]]),
                          ptx_double_of_bits(((const uint64_t *)operand[4 * column + k])[op->slot[3]]), sum);
            d[lane][i] = sum;
        }
    for (unsigned lane = 0; lane < LANES; lane++)
        for (unsigned i = 0; i < 2; i++)
            ((uint64_t *)operand[lane])[op->slot[i]] = ptx_bits_of_double(d[lane][i]);
}

static void meet(struct run *run, const struct op *op, simt_warp_function complete)
{
    demand_whole_warp(op);
    simt_warp_gather(&op->site, 0xffffffffu, complete, (void *)(uintptr_t)op, run->reg, NULL);
}
PTX_OP(mma_floats, meet(run, op, complete_floats))
PTX_OP(mma_integers, meet(run, op, complete_integers))
PTX_OP(mma_doubles, meet(run, op, complete_doubles))

/* ---- matrices of 8 x 8 halves: [trans] -------------------------------------------------------------------- */

/** What a lane brings: its registers, and the address of a row of 16 bytes if it gives one. */
struct rows {
    uint64_t *reg;
    uint16_t *row;
};

/* Where element i of a lane's register lies in its matrix. */
static void place_of(bool transposed, unsigned lane, unsigned i, unsigned *row, unsigned *column)
{
    const unsigned across = lane / 4, along = 2 * (lane % 4) + i;
    *row = transposed ? along : across;
    *column = transposed ? across : along;
}

static void complete_ldmatrix(void *const operand[32], void *const result[32], unsigned mask, void *context)
{
    const struct op *op = context;
    (void)result, (void)mask;
    for (unsigned lane = 0; lane < LANES; lane++)
        for (unsigned j = 0; j < op->vector; j++) {
            uint32_t word = 0;
            for (unsigned i = 0; i < 2; i++) {
                unsigned row, column;
                place_of(op->modifier[0] != 0, lane, i, &row, &column);
                word |= (uint32_t)((const struct rows *)operand[CORE * j + row])->row[column] << 16 * i;
            }
            ((struct rows *)operand[lane])->reg[op->slot[j]] = word;
        }
}

static void complete_stmatrix(void *const operand[32], void *const result[32], unsigned mask, void *context)
{
    const struct op *op = context;
    (void)result, (void)mask;
    for (unsigned lane = 0; lane < LANES; lane++)
        for (unsigned j = 0; j < op->vector; j++)
            for (unsigned i = 0; i < 2; i++) {
                unsigned row, column;
                place_of(op->modifier[0] != 0, lane, i, &row, &column);
                ((const struct rows *)operand[CORE * j + row])->row[column] =
                    (uint16_t)(((const struct rows *)operand[lane])->reg[op->slot[1 + j]] >> 16 * i);
            }
}

/* The lanes 8j to 8j + 7 give the addresses of the rows of matrix j, and access them; the addresses of
 * other lanes are ignored. */
static uint16_t *row_of(const struct run *run, const struct op *op, unsigned operand, int access)
{
    if (simt_self()->lane >= CORE * op->vector) return NULL;
    void *row =
        simt_shared_checked(ptx_word(run, op, operand) + (uint64_t)op->offset[0], 16, access, run->pc);
    if ((uintptr_t)row % 16 != 0)
        simt_refuse_access(RECORD_MISALIGNED, row, 16, access, RECORD_ADVICE_ALIGN_ROW, run->pc);
    simt_access(row, 16, access, run->pc);
    return row;
}

static void ldmatrix(struct run *run, const struct op *op)
{
    demand_whole_warp(op);
    struct rows rows = {run->reg, row_of(run, op, op->vector, SIMT_READ)};
    simt_warp_gather(&op->site, 0xffffffffu, complete_ldmatrix, (void *)(uintptr_t)op, &rows, NULL);
}
static void stmatrix(struct run *run, const struct op *op)
{
    demand_whole_warp(op);
    struct rows rows = {run->reg, row_of(run, op, 0, SIMT_WRITE)};
    simt_warp_gather(&op->site, 0xffffffffu, complete_stmatrix, (void *)(uintptr_t)op, &rows, NULL);
}

/* Transposes a matrix that is distributed over the warp. */
static void complete_movmatrix(void *const operand[32], void *const result[32], unsigned mask, void *context)
{
    const struct op *op = context;
    uint16_t matrix[CORE][CORE];
    (void)result, (void)mask;
    for (unsigned lane = 0; lane < LANES; lane++)
        for (unsigned i = 0; i < 2; i++)
            matrix[lane / 4][2 * (lane % 4) + i] =
                (uint16_t)(((const uint64_t *)operand[lane])[op->slot[1]] >> 16 * i);
    for (unsigned lane = 0; lane < LANES; lane++)
        ((uint64_t *)operand[lane])[op->slot[0]] =
            matrix[2 * (lane % 4)][lane / 4] | (uint32_t)matrix[2 * (lane % 4) + 1][lane / 4] << 16;
}
PTX_OP(movmatrix, meet(run, op, complete_movmatrix))

/* ---- the rows --------------------------------------------------------------------------------------------- */

#define MMA "mma sync aligned "
#define BYTES "<s8|u8> <s8|u8>"
#define SMALL "<e4m3|e5m2> <e4m3|e5m2>"
#define SPACE "(shared|shared::cta)"

static const struct row rows[] = {
    {MMA "m16n8k8 row col <f32> <f16> <f16> <f32>", "=4*f32 2*f16x2 1*f16x2 4*f32", mma_floats, 75, 65, 0,
     check_mma},
    {MMA "m16n8k16 row col <f32> <f16> <f16> <f32>", "=4*f32 4*f16x2 2*f16x2 4*f32", mma_floats, 80, 70, 0,
     check_mma},
    {MMA "m16n8k8 row col <f16> <f16> <f16> <f16>", "=2*f16x2 2*f16x2 1*f16x2 2*f16x2", mma_floats, 75, 65, 0,
     check_mma},
    {MMA "m16n8k16 row col <f16> <f16> <f16> <f16>", "=2*f16x2 4*f16x2 2*f16x2 2*f16x2", mma_floats, 80, 70,
     0, check_mma},
    {MMA "m16n8k16 row col <f32> <f16> <f16> <f16>", "=4*f32 4*f16x2 2*f16x2 2*f16x2", mma_floats, 80, 70, 0,
     check_mma},
    {MMA "m16n8k16 row col <f16> <f16> <f16> <f32>", "=2*f16x2 4*f16x2 2*f16x2 4*f32", mma_floats, 80, 70, 0,
     check_mma},
    {MMA "m16n8k8 row col <f32> <bf16> <bf16> <f32>", "=4*f32 2*bf16x2 1*bf16x2 4*f32", mma_floats, 80, 70, 0,
     check_mma},
    {MMA "m16n8k16 row col <f32> <bf16> <bf16> <f32>", "=4*f32 4*bf16x2 2*bf16x2 4*f32", mma_floats, 80, 70,
     0, check_mma},
    {MMA "m16n8k4 row col <f32> <tf32> <tf32> <f32>", "=4*f32 2*tf32 1*tf32 4*f32", mma_floats, 80, 70, 0,
     check_mma},
    {MMA "m16n8k8 row col <f32> <tf32> <tf32> <f32>", "=4*f32 4*tf32 2*tf32 4*f32", mma_floats, 80, 70, 0,
     check_mma},
    {MMA "m16n8k32 row col <f32> " SMALL " <f32>", "=4*f32 4*b32 2*b32 4*f32", mma_floats, 89, 84, 0,
     check_mma},
    {MMA "m8n8k16 row col [satfinite] <s32> " BYTES " <s32>", "=2*s32 1*b32 1*b32 2*s32", mma_integers, 75,
     65, 0, check_mma},
    {MMA "m16n8k16 row col [satfinite] <s32> " BYTES " <s32>", "=4*s32 2*b32 1*b32 4*s32", mma_integers, 80,
     70, 0, check_mma},
    {MMA "m16n8k32 row col [satfinite] <s32> " BYTES " <s32>", "=4*s32 4*b32 2*b32 4*s32", mma_integers, 80,
     70, 0, check_mma},
    {MMA "m8n8k4 row col <f64> <f64> <f64> <f64>", "=2*f64 1*f64 1*f64 2*f64", mma_doubles, 80, 70, 0,
     check_mma},

    {"ldmatrix sync aligned m8n8 {x1} [trans] " SPACE " b16", "=1*b32 a", ldmatrix, 75, 65, TOUCHES_MEMORY,
     NULL},
    {"ldmatrix sync aligned m8n8 {x2|x4} [trans] " SPACE " b16", "=b32:n a", ldmatrix, 75, 65, TOUCHES_MEMORY,
     NULL},
    {"stmatrix sync aligned m8n8 {x1} [trans] " SPACE " b16", "a 1*b32", stmatrix, 90, 78, TOUCHES_MEMORY,
     NULL},
    {"stmatrix sync aligned m8n8 {x2|x4} [trans] " SPACE " b16", "a b32:n", stmatrix, 90, 78, TOUCHES_MEMORY,
     NULL},
    {"movmatrix sync aligned m8n8 (trans) b16", "=b32 b32", movmatrix, 75, 78, 0, NULL},
};
PTX_GROUP(ptx_matrix_rows, rows);
