/**
 * @file warpgroup.c
 * @brief Warpgroup matrix multiply: wgmma.mma_async, its fence, its groups; what a matrix descriptor says.
 *
 * Of D, 64 x N, warp i of the four has rows 16i to 16i + 15. With g = lane / 4 and t = lane % 4, its registers are those of
 * mma.sync's C for each eight columns: row g, columns 2t and 2t + 1, then row g + 8; a fragment of A lies as mma.sync's A.
 *
 * A matrix in shared memory is stored in rows of 16 bytes. A descriptor has where the first begins, in units of 16 bytes:
 *
 *     bits 0-13 start   16-29 leading offset   32-45 stride offset   49-51 base offset   62-63 swizzle: 0 none, 1 128, 2 64, 3 32
 *
 * With W the width of the swizzle (16 bytes without one), row r of 16 bytes of a K-major matrix, half h of its 32 bytes of k:
 *
 *     start + r % 8 * W + r / 8 * stride + h * (16, or leading without a swizzle)
 *
 * and of an MN-major one, eight elements c along m or n at one k:
 *
 *     swizzled   start + c % (W / 16) * 16 + c / (W / 16) * leading + k % 8 * W + k / 8 * stride
 *     else       start + c * stride + k % 8 * 16 + k / 8 * leading
 *
 * Then bits 4 up of the address are XORed with the bits from 7 up: three of them for 128 bytes, two for 64, one for 32.
 *
 * The products of an element are summed in float in the order of k and then added, as mma.sync does here (matrix.c); those of
 * E4M3 and E5M2 as hardware adds them.
 */
#include "../machine/products.h"
#include "../machine/registers.h"
#include "../machine/tools.h"
#include "numbers.h"
#include "parse.h"
#include "program.h"

#include <math.h>
#include <stdio.h>

enum {
    LANES = 32,
    WARPS = GROUP_WARPS,
    ROWS = 64,
    WARP_ROWS = 16,
    CORE = 8,
    LINE = 16, /**< bytes that are contiguous in every layout */
    K_BYTES = 32,
    MOST_COLUMNS = 256,
    MOST_DEPTH = 32,
    MOST_SUMS = 128,
    FRACTION_8 = 13, /**< fraction bits that are kept of a sum of E4M3 or E5M2, and of its terms */
    FRACTION_F32 = 23
};

/* ---- what an instruction says ---------------------------------------------------------------------------- */

/** Bits of op->constant; operands begin with the sums. */
struct form {
    unsigned n, sums;    /**< columns; registers of D in a lane */
    bool from_registers; /**< A is */
    bool scale_negated;
    bool negative_a, negative_b, transposed_a, transposed_b;
};

enum { SUMS_SHIFT = 16, REGISTERS = 1 << 28, SCALE_NEGATED = 1 << 27 };
enum { NEGATIVE_A = 1 << 24, NEGATIVE_B = 1 << 25, TRANSPOSED_A = 1 << 26, TRANSPOSED_B = 1 << 29 };

static struct form form_of(const struct op *op)
{
    const int64_t c = op->constant;
    return (struct form){.n = (unsigned)c & 0xffff,
                         .sums = (unsigned)(c >> SUMS_SHIFT) & 0xff,
                         .from_registers = (c & REGISTERS) != 0,
                         .scale_negated = (c & SCALE_NEGATED) != 0,
                         .negative_a = (c & NEGATIVE_A) != 0,
                         .negative_b = (c & NEGATIVE_B) != 0,
                         .transposed_a = (c & TRANSPOSED_A) != 0,
                         .transposed_b = (c & TRANSPOSED_B) != 0};
}

static unsigned element_bytes(const struct op *op)
{
    return ptx_type[op->type[1]].bits / 8;
}
static unsigned depth_of(const struct op *op)
{
    return K_BYTES / element_bytes(op);
}
static bool is_integer(const struct op *op)
{
    return op->type[0] == PTX_S32;
}

/* One of the constants after the descriptors; 0 if it was left out. */
static int64_t immediate(const struct compiling *c, const struct op *op, unsigned slot)
{
    return (int64_t)(int32_t)c->program->constant[op->slot[slot] - c->slots];
}

static bool is_width(const struct op *op, unsigned n)
{
    if (n < 8 || n > MOST_COLUMNS || n % 8 != 0) return false;
    return !is_integer(op) || n % 16 == 0 || n == 8 || n == 24;
}

static void check_scales(struct compiling *c, struct op *op, unsigned at, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        const int64_t value = immediate(c, op, at + i);
        if (i < 2 && value != 1 && value != -1)
            ptx_refuse(c, "imm-scale-%c is 1 or -1, not %lld", i == 0 ? 'a' : 'b', (long long)value);
        if (i >= 2 && value != 0 && value != 1)
            ptx_refuse(c, "imm-trans is 0 or 1, not %lld", (long long)value);
    }
    if (count < 2) return;
    if (immediate(c, op, at) < 0) op->constant |= NEGATIVE_A;
    if (immediate(c, op, at + 1) < 0) op->constant |= NEGATIVE_B;
    if (count == 4 && immediate(c, op, at + 2) != 0) op->constant |= TRANSPOSED_A;
    if (count > 2 && immediate(c, op, at + count - 1) != 0) op->constant |= TRANSPOSED_B;
}

/* The operands are D, A, B, scale-d and constants: two scales or none, two, one or no trans. */
static void check_mma(struct compiling *c, const struct row *row, struct op *op)
{
    const struct instruction *i = c->now;
    unsigned n = 0, k = 0;
    (void)row;
    const char *shape = strstr(op->site.what, "m64n");
    if (shape == NULL || sscanf(shape, "m64n%uk%u", &n, &k) != 2 || !is_width(op, n) || k != depth_of(op)) {
        ptx_refuse(c, "this shape is none of the instruction: m64nNk%u, N a multiple of 8 up to 256%s",
                   depth_of(op), is_integer(op) ? " (of 16 from 32 on, with integers)" : "");
        return;
    }
    const unsigned sums = n / (ptx_type[op->type[0]].bits == 16 ? 4 : 2);
    const unsigned given = c->operand[i->operand[0]].parts;
    const bool from_registers = c->operand[i->operand[1]].kind == OPERAND_VECTOR;
    if (given != sums) {
        ptx_refuse(c, "arguments mismatch, as ptxas says: D is %u registers in braces, not %u", sums, given);
        return;
    }
    op->constant = n | (int64_t)sums << SUMS_SHIFT | (from_registers ? REGISTERS : 0);
    if (c->operand[i->operand[3]].negated) op->constant |= SCALE_NEGATED;
    check_scales(c, op, sums + (from_registers ? FRAGMENT : 1) + 2, i->operands - 4);
}

/* ---- descriptors ----------------------------------------------------------------------------------------- */

/** A matrix in shared memory, as described by its descriptor and the instruction. */
struct layout {
    uint64_t start, leading, stride; /**< bytes */
    unsigned width, base;            /**< width of the swizzle in bytes: 16 is none */
    bool transposed;                 /**< MN-major */
    unsigned lines;                  /**< size of 16 bytes of eight rows or columns */
};

static struct layout layout_of(uint64_t descriptor, bool transposed)
{
    static const unsigned width[] = {LINE, 128, 64, 32};
    return (struct layout){.start = (descriptor & 0x3fff) << 4 | simt_own_window(),
                           .leading = (descriptor >> 16 & 0x3fff) << 4,
                           .stride = (descriptor >> 32 & 0x3fff) << 4,
                           .base = (unsigned)(descriptor >> 49 & 7),
                           .width = width[descriptor >> 62],
                           .transposed = transposed};
}

static uint64_t swizzled(const struct layout *l, uint64_t address)
{
    return address ^ (((address >> 7) - l->base) & (l->width / LINE - 1)) << 4;
}

/* K-major: half @p half of row @p row. */
static uint64_t line_along_k(const struct layout *l, unsigned row, unsigned half)
{
    const uint64_t step = l->width == LINE ? l->leading : LINE;
    return swizzled(l, l->start + row % CORE * l->width + row / CORE * l->stride + half * step);
}

/* MN-major: elements 8 * chunk up at @p k. */
static uint64_t line_across_k(const struct layout *l, unsigned chunk, unsigned k)
{
    const unsigned across = l->width / LINE;
    if (across == 1) return l->start + chunk * l->stride + k % CORE * LINE + k / CORE * l->leading;
    return swizzled(l, l->start + chunk % across * LINE + chunk / across * l->leading + k % CORE * l->width +
                           k / CORE * l->stride);
}

/** Calls a function for the address of each line of rows (or columns) @p first to @p last. */
static void each_line(const struct layout *l, unsigned first, unsigned last,
                      void (*line)(void *context, uintptr_t address), void *context)
{
    if (!l->transposed) {
        for (unsigned row = first; row < last; row++)
            for (unsigned half = 0; half < 2; half++)
                line(context, (uintptr_t)simt_shared_address(line_along_k(l, row, half)));
        return;
    }
    for (unsigned chunk = first / CORE; chunk < last / CORE; chunk++)
        for (unsigned k = 0; k < 2 * CORE; k++)
            line(context, (uintptr_t)simt_shared_address(line_across_k(l, chunk, k)));
}

static void each_row(const struct product *p, unsigned part, void (*line)(void *context, uintptr_t address),
                     void *context)
{
    const struct op *op = p->how;
    const struct form f = form_of(op);
    if (part < WARPS && f.from_registers) return;
    const struct layout l = part < WARPS ? layout_of(p->a, f.transposed_a) : layout_of(p->b, f.transposed_b);
    if (part < WARPS)
        each_line(&l, part * WARP_ROWS, (part + 1) * WARP_ROWS, line, context);
    else
        each_line(&l, 0, f.n, line, context);
}

/* ---- elements -------------------------------------------------------------------------------------------- */

static float float_of(unsigned type, const unsigned char *at)
{
    uint32_t word;
    uint16_t half;
    switch (type) {
    case PTX_F16:
        memcpy(&half, at, sizeof half);
        return ptx_float_of_half(half);
    case PTX_BF16:
        memcpy(&half, at, sizeof half);
        return ptx_float_of_bits((uint32_t)half << 16);
    case PTX_TF32:
        memcpy(&word, at, sizeof word);
        return ptx_float_of_bits(word & 0xffffe000u); /* the bits of a float that a tensor core reads */
    case PTX_E4M3:
        return ptx_float_of_8_bits(&ptx_e4m3, *at);
    case PTX_E5M2:
        return ptx_float_of_8_bits(&ptx_e5m2, *at);
    case PTX_S8:
        return (float)(int8_t)*at;
    default:
        return (float)*at; /* u8 */
    }
}

/** One operand converted to numbers: A by rows, B by k, so that its columns are one vector. */
struct factors {
    float a[ROWS][MOST_DEPTH];
    float b[MOST_DEPTH][MOST_COLUMNS];
};

/* Writes element (row or column, k) of an operand to `to[place * row_step + k * k_step]`. */
static void read_operand(const struct layout *l, unsigned type, unsigned count, float *to, size_t row_step,
                         size_t k_step)
{
    const unsigned bytes = ptx_type[type].bits / 8, each = LINE / bytes;
    if (!l->transposed) {
        for (unsigned row = 0; row < count; row++)
            for (unsigned half = 0; half < 2; half++) {
                const unsigned char *line = simt_shared_address(line_along_k(l, row, half));
                for (unsigned i = 0; i < each; i++)
                    to[row * row_step + (half * each + i) * k_step] = float_of(type, line + i * bytes);
            }
        return;
    }
    for (unsigned chunk = 0; chunk < count / CORE; chunk++)
        for (unsigned k = 0; k < 2 * CORE; k++) {
            const unsigned char *line = simt_shared_address(line_across_k(l, chunk, k));
            for (unsigned i = 0; i < CORE; i++)
                to[(chunk * CORE + i) * row_step + k * k_step] = float_of(type, line + i * bytes);
        }
}

/* A from registers: register r of a lane has row g, and g + 8 where r is odd; k = e t + 4e (r / 2) up, e elements. */
static void read_fragments(const struct product *p, unsigned type, float (*a)[MOST_DEPTH])
{
    const unsigned bytes = ptx_type[type].bits / 8, each = 4 / bytes;
    for (unsigned warp = 0; warp < WARPS; warp++)
        for (unsigned lane = 0; lane < LANES; lane++)
            for (unsigned r = 0; r < FRAGMENT; r++)
                for (unsigned i = 0; i < each; i++)
                    a[warp * WARP_ROWS + lane / 4 + 8 * (r % 2)][each * (lane % 4) + 4 * each * (r / 2) + i] =
                        float_of(type, (const unsigned char *)&p->fragment[warp][lane][r] + i * bytes);
}

/* ---- sums ------------------------------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) void multiply(const float *a, const float (*b)[MOST_COLUMNS],
                                                           float *sum, unsigned depth, unsigned columns)
{
    for (unsigned at = 0; at < columns; at += CORE) {
        float part[CORE] = {0.0f};
        for (unsigned k = 0; k < depth; k++)
            for (unsigned i = 0; i < CORE; i++) part[i] += a[k] * b[k][at + i];
        memcpy(sum + at, part, sizeof part);
    }
}

SIMT_WIDE(multiply,
          (const float *a, const float (*b)[MOST_COLUMNS], float *sum, unsigned depth, unsigned columns),
          (a, b, sum, depth, columns))

/* The power of two of a number; numbers below @p least, which are subnormal, have its exponent. This and
 * the following code has no branches, so that compilers can vectorise it. */
static inline __attribute__((always_inline)) float power_of(float x, float least)
{
    const uint32_t power = ptx_bits_of_float(x) & 0x7f800000u, lowest = ptx_bits_of_float(least);
    return ptx_float_of_bits(power - 1 < lowest - 1 ? lowest : power); /* 0 stays */
}

/* E4M3 and E5M2. A tensor core of an sm_90 brings the products of an element and what was there before to the
 * largest exponent among them, cuts off what lies below 13 bits of fraction, each towards zero, adds what is
 * left, which is exact, and cuts the sum off in the same way. The exponent of a product is the sum of its
 * factors' exponents, even if the product of the fractions is 2 or more.
 * @p least: the smallest normal number of the factors. */
static inline __attribute__((always_inline)) void add_cut_off(const float *a, const float (*b)[MOST_COLUMNS],
                                                              float *sum, unsigned depth, unsigned columns,
                                                              float least)
{
    const uint32_t kept = UINT32_MAX << (FRACTION_F32 - FRACTION_8);
    uint32_t most[MOST_COLUMNS];
    float inverse[MOST_COLUMNS], total[MOST_COLUMNS];
    for (unsigned i = 0; i < columns; i++) most[i] = ptx_bits_of_float(fabsf(sum[i]));
    for (unsigned k = 0; k < depth; k++) {
        const float of_a = power_of(a[k], least);
        for (unsigned i = 0; i < columns; i++) {
            const uint32_t size = ptx_bits_of_float(of_a * power_of(b[k][i], least));
            most[i] = size > most[i] ? size : most[i]; /* as bits, of which NaN has the largest */
        }
    }
    for (unsigned i = 0; i < columns; i++) {
        const uint32_t exponent = most[i] >> 23;
        const uint32_t usual = exponent - 28 < 255 - 28 ? UINT32_MAX : 0, one = ptx_bits_of_float(1.0f);
        const uint32_t scale = ((254 + FRACTION_8 - exponent) << 23 & usual) | (one & ~usual);
        inverse[i] = ptx_float_of_bits(scale);
        const uint32_t cut = ptx_bits_of_float(truncf(sum[i] * inverse[i])) & usual;
        total[i] = ptx_float_of_bits(cut | (ptx_bits_of_float(sum[i]) & ~usual));
    }
    for (unsigned k = 0; k < depth; k++)
        for (unsigned i = 0; i < columns; i++) total[i] += truncf(a[k] * b[k][i] * inverse[i]);
    for (unsigned i = 0; i < columns; i++) {
        const float exact = total[i] / inverse[i];
        const float cut = ptx_float_of_bits(ptx_bits_of_float(exact) & kept);
        sum[i] = exact == exact ? cut : exact;
    }
}

SIMT_WIDE(add_cut_off,
          (const float *a, const float (*b)[MOST_COLUMNS], float *sum, unsigned depth, unsigned columns,
           float least),
          (a, b, sum, depth, columns, least))

static bool is_of_8_bits(const struct op *op)
{
    return op->type[1] == PTX_E4M3 || op->type[1] == PTX_E5M2;
}

static uint32_t bits_of_sum(float d)
{
    return d == d ? ptx_bits_of_float(d) : 0x7fffffffu;
}

/* Integers: a product of bytes, and a sum of 32 of them, is exact in float. */
static uint32_t integer_sum(const struct op *op, float sum, uint32_t before, bool add)
{
    int64_t d = (int64_t)sum + (add ? (int32_t)before : 0);
    if (op->modifier[0] != 0) d = d < INT32_MIN ? INT32_MIN : d > INT32_MAX ? INT32_MAX : d;
    return (uint32_t)d;
}

/* Stores two neighbours of a row, in one register or two. */
static void add_pair(const struct op *op, const float *sum, bool add, uint32_t *value)
{
    if (op->type[0] == PTX_F16) {
        const float c[2] = {add ? ptx_float_of_half((uint16_t)*value) : 0.0f,
                            add ? ptx_float_of_half((uint16_t)(*value >> 16)) : 0.0f};
        *value = ptx_half_of_float(sum[0] + c[0]) | (uint32_t)ptx_half_of_float(sum[1] + c[1]) << 16;
        return;
    }
    for (unsigned i = 0; i < 2; i++)
        value[i] = is_integer(op) ? integer_sum(op, sum[i], value[i], add)
                                  : bits_of_sum(add ? sum[i] + ptx_float_of_bits(value[i]) : sum[i]);
}

/* Where the four lanes of a warp that hold row @p row of the product keep columns 2 t and 2 t + 1 of core
 * matrix @p j. */
static uint32_t *place_of_pair(const struct product *p, unsigned row, unsigned j, unsigned t)
{
    const struct op *op = p->how;
    const struct form f = form_of(op);
    const unsigned warp = row / WARP_ROWS, g = row % CORE, lower = row % WARP_ROWS / CORE;
    const unsigned each = op->type[0] == PTX_F16 ? 1 : 2;
    return p->sums[warp]->value + (size_t)(4 * g + t) * f.sums + (2 * j + lower) * each;
}

static void give_row(const struct product *p, unsigned row, const float *sum, bool add)
{
    const struct form f = form_of(p->how);
    for (unsigned t = 0; t < 4; t++)
        for (unsigned j = 0; j < f.n / CORE; j++)
            add_pair(p->how, sum + CORE * j + 2 * t, add, place_of_pair(p, row, j, t));
}

static void take_row(const struct product *p, unsigned row, float *sum)
{
    const struct op *op = p->how;
    const struct form f = form_of(op);
    const bool half = op->type[0] == PTX_F16;
    for (unsigned t = 0; t < 4; t++)
        for (unsigned j = 0; j < f.n / CORE; j++) {
            const uint32_t *value = place_of_pair(p, row, j, t);
            float *pair = sum + CORE * j + 2 * t;
            pair[0] = half ? ptx_float_of_half((uint16_t)*value) : ptx_float_of_bits(value[0]);
            pair[1] = half ? ptx_float_of_half((uint16_t)(*value >> 16)) : ptx_float_of_bits(value[1]);
        }
}

/* Computes a row of the product, and adds it to the accumulator or replaces it. */
static void multiply_row(const struct product *p, struct factors *factors, unsigned row, bool negative)
{
    const struct op *op = p->how;
    const struct form f = form_of(op);
    const unsigned depth = depth_of(op);
    const float(*b)[MOST_COLUMNS] = (const float(*)[MOST_COLUMNS])factors->b;
    float *a = factors->a[row], sum[MOST_COLUMNS] = {0.0f};
    for (unsigned k = 0; negative && k < depth; k++) a[k] = -a[k];
    if (is_of_8_bits(op)) {
        if (p->scale_d != 0) take_row(p, row, sum);
        add_cut_off_here(a, b, sum, depth, f.n, op->type[1] == PTX_E4M3 ? 0x1p-6f : 0x1p-14f);
        give_row(p, row, sum, false);
    } else {
        multiply_here(a, b, sum, depth, f.n);
        give_row(p, row, sum, p->scale_d != 0);
    }
}

static void compute(struct product *p)
{
    static _Thread_local struct factors factors;
    const struct op *op = p->how;
    const struct form f = form_of(op);
    const struct layout a = layout_of(p->a, f.transposed_a), b = layout_of(p->b, f.transposed_b);
    const bool negative = f.negative_a != f.negative_b;
    if (f.from_registers)
        read_fragments(p, op->type[1], factors.a);
    else
        read_operand(&a, op->type[1], ROWS, factors.a[0], MOST_DEPTH, 1);
    read_operand(&b, op->type[2], f.n, factors.b[0], 1, MOST_COLUMNS);
    for (unsigned row = 0; row < ROWS; row++) multiply_row(p, &factors, row, negative);
}

/* ---- issuing ---------------------------------------------------------------------------------------------- */

static unsigned warp_of(const struct op *op)
{
    const struct simt_identity *self = simt_self();
    if (self == NULL)
        simt_stop(&op->site, RECORD_UNSUPPORTED, RECORD_SAYS_HOST_CODE, SIMT_SAYS(.name = {op->site.what}));
    const unsigned threads = self->block_dim.x * self->block_dim.y * self->block_dim.z;
    if (self->warp / WARPS >= threads / (WARPS * LANES))
        simt_stop(&op->site, RECORD_DIVERGENT_BARRIER, RECORD_SAYS_NO_WARPGROUP,
                  SIMT_SAYS(.name = {op->site.what}, .number = {threads}));
    return self->warp;
}

static void read_line(void *context, uintptr_t address)
{
    const struct run *run = context;
    simt_operand_read((const void *)address, LINE, run->pc);
}

/* The pattern of a swizzle repeats every eight of its rows, by the bits of the address. */
static void check_alignment(const struct run *run, const struct layout *l, const char *which)
{
    const unsigned mask = l->width / LINE - 1;
    if (((l->start >> 7) & mask) != (l->base & mask))
        simt_refuse_access(
            RECORD_MISALIGNED, simt_shared_address(l->start), LINE, SIMT_READ,
            *which == 'A' ? RECORD_ADVICE_ALIGN_DESCRIPTOR_A : RECORD_ADVICE_ALIGN_DESCRIPTOR_B, run->pc);
}

static void check_matrix(const struct run *run, uint64_t descriptor, bool transposed, unsigned first,
                         unsigned last, const char *which)
{
    const struct layout l = layout_of(descriptor, transposed);
    check_alignment(run, &l, which);
    simt_operand_begin(simt_shared_checked(l.start, LINE, SIMT_READ, run->pc));
    each_line(&l, first, last, read_line, (void *)(uintptr_t)run);
}

/** What the lanes of a warp bring when they meet. */
struct bringing {
    const struct op *op;
    const void *pc;
    uint64_t a, b;
    unsigned scale_d, warp;
    struct product_lane lane;
};

static void complete_issue(void *const operand[32], void *const result[32], unsigned mask, void *context)
{
    struct product_lane *lane[LANES];
    struct bringing *first = operand[0];
    (void)result, (void)mask, (void)context;
    for (unsigned i = 0; i < LANES; i++) {
        const struct bringing *b = operand[i];
        lane[i] = &((struct bringing *)operand[i])->lane;
        lane[i]->other_product = b->a != first->a || b->b != first->b || b->scale_d != first->scale_d;
        if (lane[i]->other_product) return;
    }
    const struct product product = {.site = &first->op->site,
                                    .how = first->op,
                                    .a = first->a,
                                    .b = first->b,
                                    .scale_d = first->scale_d,
                                    .count = form_of(first->op).sums,
                                    .pc = first->pc,
                                    .compute = compute,
                                    .each_row = each_row};
    simt_product_issue(&product, first->warp, lane);
}

static void stop_if_wrong(const struct op *op, const struct product_lane *lane, const void *pc)
{
    if (lane->other_product)
        simt_stop(&op->site, RECORD_DIVERGENT_BARRIER, RECORD_SAYS_PRODUCTS_DIFFER, NULL);
    if (lane->other_shape) simt_stop(&op->site, RECORD_MISSING_WAIT, RECORD_SAYS_PRODUCT_SHAPE, NULL);
    if (lane->fence_missing)
        simt_note(&op->site, pc, RECORD_MISSING_FENCE, RECORD_SAYS_PRODUCT_UNFENCED,
                  RECORD_ADVICE_PRODUCT_FENCE, NULL);
}

/* The address of a slot's register, valid for as long as the product may need it. */
static void *place_of(const struct run *run, unsigned slot)
{
    if (slot < run->words && run->place[slot] != NULL) return run->place[slot];
    return &run->reg[slot];
}

static void mma(struct run *run, const struct op *op)
{
    const struct form f = form_of(op);
    const unsigned a = f.sums, b = a + (f.from_registers ? FRAGMENT : 1), registers = f.sums + FRAGMENT;
    uint32_t value[MOST_SUMS + FRAGMENT];
    void *place[MOST_SUMS + FRAGMENT];
    struct bringing mine = {.op = op,
                            .pc = run->pc,
                            .warp = warp_of(op),
                            .lane = {.value = value,
                                     .place = place,
                                     .own = {(uintptr_t)run->reg, (uintptr_t)(run->reg + run->slots)}}};
    if (run->place == NULL)
        simt_stop(&op->site, RECORD_UNSUPPORTED, RECORD_SAYS_PTX_NEEDS_WORDS,
                  SIMT_SAYS(.name = {op->site.what}));
    for (unsigned i = 0; i < registers; i++) {
        value[i] = 0;
        place[i] = NULL;
        if (i >= f.sums && !f.from_registers) continue;
        const unsigned slot = op->slot[i];
        value[i] = (uint32_t)run->reg[slot];
        if (i < f.sums || (slot < run->words && run->place[slot] != NULL)) place[i] = place_of(run, slot);
        if (i >= f.sums && place[i] != NULL) simt_product_use(place[i], run->pc);
    }
    mine.a = f.from_registers ? 0 : ptx_word(run, op, a);
    mine.b = ptx_word(run, op, b);
    mine.scale_d = (run->reg[op->slot[b + 1]] & 1) != f.scale_negated;
    if (simt_self()->lane == 0) {
        const unsigned part = mine.warp % WARPS;
        if (!f.from_registers)
            check_matrix(run, mine.a, f.transposed_a, part * WARP_ROWS, (part + 1) * WARP_ROWS, "A");
        check_matrix(run, mine.b, f.transposed_b, 0, f.n, "B");
    }
    simt_warp_gather(&op->site, 0xffffffffu, complete_issue, NULL, &mine, NULL);
    stop_if_wrong(op, &mine.lane, run->pc);
    bool local_flight = run->local_flight;
    for (unsigned i = 0; i < f.sums; i++) {
        run->flying[op->slot[i]] = true;
        local_flight |= op->slot[i] >= run->words;
    }
    run->local_flight = local_flight;
}

/* ---- fence and groups --------------------------------------------------------------------------------------- */

static void complete_nothing(void *const operand[32], void *const result[32], unsigned mask, void *context)
{
    (void)operand, (void)result, (void)mask, (void)context;
}
static void complete_commit(void *const operand[32], void *const result[32], unsigned mask, void *context)
{
    (void)result, (void)mask, (void)context;
    simt_product_commit(*(const unsigned *)operand[0]);
}

static void fence(struct run *run, const struct op *op)
{
    unsigned warp = warp_of(op);
    (void)run;
    simt_warp_gather(&op->site, 0xffffffffu, complete_nothing, NULL, &warp, NULL);
    simt_product_fence();
}
static void commit(struct run *run, const struct op *op)
{
    unsigned warp = warp_of(op);
    (void)run;
    simt_warp_gather(&op->site, 0xffffffffu, complete_commit, NULL, &warp, NULL);
}

/* Results that have arrived are visible to the rest of this statement. */
static void wait(struct run *run, const struct op *op)
{
    (void)warp_of(op);
    simt_product_wait(&op->site, ptx_u32(run, op, 0));
    if (run->place == NULL) return;
    for (unsigned slot = 0; slot < run->words; slot++) {
        if (!run->flying[slot] || simt_product_holds(place_of(run, slot))) continue;
        run->flying[slot] = false;
        if (place_of(run, slot) != &run->reg[slot])
            memcpy(&run->reg[slot], run->place[slot], sizeof(uint32_t));
    }
}

/* ---- registers ------------------------------------------------------------------------------------------------ */

static void check_registers(struct compiling *c, const struct row *row, struct op *op)
{
    const uint64_t count = c->program->constant[op->slot[0] - c->slots];
    (void)row;
    if (count < 24 || count > 256 || count % 8 != 0)
        ptx_refuse(c, "the number of registers is a multiple of 8 from 24 to 256, not %llu, as ptxas says",
                   (unsigned long long)count);
}

static void set_registers(struct run *run, const struct op *op)
{
    unsigned warp = warp_of(op);
    simt_warp_gather(&op->site, 0xffffffffu, complete_nothing, NULL, &warp, NULL);
    simt_registers_set(&op->site, ptx_u32(run, op, 0));
}

/* ---- the rows ----------------------------------------------------------------------------------------------- */

#define W(n, k) "m64n" #n "k" #k "|"
#define SHAPES(k)                                                                                            \
    "(" W(8, k) W(16, k) W(24, k) W(32, k) W(40, k) W(48, k) W(56, k) W(64, k) W(72, k) W(80, k) W(88, k)    \
        W(96, k) W(104, k) W(112, k) W(120, k) W(128, k) W(136, k) W(144, k) W(152, k) W(160, k) W(168, k)   \
            W(176, k) W(184, k) W(192, k) W(200, k) W(208, k) W(216, k) W(224, k) W(232, k) W(240, k)        \
                W(248, k) "m64n256k" #k ")"
#define MMA "wgmma mma_async sync aligned "
#define SMALL "<e4m3|e5m2> <e4m3|e5m2>"
#define BYTES "<s8|u8> <s8|u8>"

static const struct row rows[] = {
    {MMA SHAPES(16) " <f32> <f16> <f16>", "=*f32 b64 b64 P I I I I", mma, 90, 80, SPECIFIC, check_mma},
    {MMA SHAPES(16) " <f32> <f16> <f16>", "=*f32 4*f16x2 b64 P I I I", mma, 90, 80, SPECIFIC, check_mma},
    {MMA SHAPES(16) " <f16> <f16> <f16>", "=*f16x2 b64 b64 P I I I I", mma, 90, 80, SPECIFIC, check_mma},
    {MMA SHAPES(16) " <f16> <f16> <f16>", "=*f16x2 4*f16x2 b64 P I I I", mma, 90, 80, SPECIFIC, check_mma},
    {MMA SHAPES(16) " <f32> <bf16> <bf16>", "=*f32 b64 b64 P I I I I", mma, 90, 80, SPECIFIC, check_mma},
    {MMA SHAPES(16) " <f32> <bf16> <bf16>", "=*f32 4*bf16x2 b64 P I I I", mma, 90, 80, SPECIFIC, check_mma},
    {MMA SHAPES(8) " <f32> <tf32> <tf32>", "=*f32 b64 b64 P I I", mma, 90, 80, SPECIFIC, check_mma},
    {MMA SHAPES(8) " <f32> <tf32> <tf32>", "=*f32 4*b32 b64 P I I", mma, 90, 80, SPECIFIC, check_mma},
    {MMA SHAPES(32) " <f32> " SMALL, "=*f32 b64 b64 P I I", mma, 90, 80, SPECIFIC, check_mma},
    {MMA SHAPES(32) " <f32> " SMALL, "=*f32 4*b32 b64 P I I", mma, 90, 80, SPECIFIC, check_mma},
    {MMA SHAPES(32) " <f16> " SMALL, "=*f16x2 b64 b64 P I I", mma, 90, 80, SPECIFIC, check_mma},
    {MMA SHAPES(32) " <f16> " SMALL, "=*f16x2 4*b32 b64 P I I", mma, 90, 80, SPECIFIC, check_mma},
    {MMA "[satfinite] " SHAPES(32) " <s32> " BYTES, "=*s32 b64 b64 P", mma, 90, 80, SPECIFIC, check_mma},
    {MMA "[satfinite] " SHAPES(32) " <s32> " BYTES, "=*s32 4*b32 b64 P", mma, 90, 80, SPECIFIC, check_mma},

    {"setmaxnreg (inc|dec) sync aligned u32", "I", set_registers, 90, 80, SPECIFIC, check_registers},
    {"wgmma fence sync aligned", "", fence, 90, 80, TOUCHES_MEMORY | SPECIFIC, NULL},
    {"wgmma commit_group sync aligned", "", commit, 90, 80, TOUCHES_MEMORY | SPECIFIC, NULL},
    {"wgmma wait_group sync aligned", "I", wait, 90, 80, TOUCHES_MEMORY | SPECIFIC, NULL},
};
PTX_GROUP(ptx_warpgroup_rows, rows);
