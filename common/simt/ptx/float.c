/**
 * @file float.c
 * @brief Floating point: f32 and f64, f16 and bf16 with their pairs, and the approximations.
 *
 * Rounding is the documented one. The approximations are computed in double and rounded, which is within every bound that
 * the PTX manual gives, but not bit for bit what the special function unit gives.
 */
#include "numbers.h"
#include "program.h"

#include <fenv.h>

/* ---- reading and writing -------------------------------------------------------------------------------- */

static float get32(const struct run *run, const struct op *op, unsigned operand)
{
    return ptx_float_of_bits(ptx_u32(run, op, operand));
}
static double get64(const struct run *run, const struct op *op, unsigned operand)
{
    return ptx_double_of_bits(ptx_word(run, op, operand));
}
static float flushed(float x)
{
    return fpclassify(x) == FP_SUBNORMAL ? copysignf(0.0f, x) : x;
}
/* The NaN that float arithmetic returns: always this one. */
static void set32(struct run *run, const struct op *op, unsigned operand, float x)
{
    ptx_set(run, op, operand, x == x ? ptx_bits_of_float(x) : 0x7fffffffu);
}
static void set64(struct run *run, const struct op *op, unsigned operand, double x)
{
    ptx_set(run, op, operand, ptx_bits_of_double(x));
}
/* NaN saturates to 0, too. */
static float saturated(float x)
{
    return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f;
}

/* ---- f32 and f64: [rn|rz|rm|rp] [ftz] [sat] ------------------------------------------------------------- */

enum { ADD, SUB, MUL, FMA, DIV, RCP, SQRT };

static int host_rounding(unsigned modifier)
{
    static const int modes[] = {FE_TONEAREST, FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
    return modes[modifier];
}

/* Computed here, in the current rounding mode. */
#define COMPUTE(name, T, fused, root)                                                                        \
    static __attribute__((noinline)) T name(int what, T x, T y, T z)                                         \
    {                                                                                                        \
        volatile T a = x, b = y;                                                                             \
        return what == ADD   ? a + b                                                                         \
               : what == SUB ? a - b                                                                         \
               : what == MUL ? a * b                                                                         \
               : what == FMA ? fused(a, b, z)                                                                \
               : what == DIV ? a / b                                                                         \
               : what == RCP ? (T)1 / a                                                                      \
                             : root(a);                                                                      \
    }
COMPUTE(compute32, float, fmaf, sqrtf)
COMPUTE(compute64, double, fma, sqrt)

static void arithmetic32(struct run *run, const struct op *op, int what, unsigned sources)
{
    float x[3] = {0.0f, 0.0f, 0.0f};
    const bool flush = op->modifier[1] != 0;
    for (unsigned i = 0; i < sources; i++) {
        x[i] = get32(run, op, 1 + i);
        if (flush) x[i] = flushed(x[i]);
    }
    if (op->modifier[0] > PTX_RN) fesetround(host_rounding(op->modifier[0]));
    float result = compute32(what, x[0], x[1], x[2]);
    if (op->modifier[0] > PTX_RN) fesetround(FE_TONEAREST);
    if (flush) result = flushed(result);
    set32(run, op, 0, op->modifier[2] != 0 ? saturated(result) : result);
}
static void arithmetic64(struct run *run, const struct op *op, int what, unsigned sources)
{
    double x[3] = {0.0, 0.0, 0.0};
    for (unsigned i = 0; i < sources; i++) x[i] = get64(run, op, 1 + i);
    if (op->modifier[0] > PTX_RN) fesetround(host_rounding(op->modifier[0]));
    const double result = compute64(what, x[0], x[1], x[2]);
    if (op->modifier[0] > PTX_RN) fesetround(FE_TONEAREST);
    set64(run, op, 0, result);
}

#define ARITHMETIC(name, what, sources)                                                                      \
    static void name##32(struct run * run, const struct op *op)                                              \
    {                                                                                                        \
        arithmetic32(run, op, what, sources);                                                                \
    }                                                                                                        \
    static void name##64(struct run * run, const struct op *op)                                              \
    {                                                                                                        \
        arithmetic64(run, op, what, sources);                                                                \
    }
ARITHMETIC(add, ADD, 2)
ARITHMETIC(sub, SUB, 2)
ARITHMETIC(mul, MUL, 2)
ARITHMETIC(fma, FMA, 3)
ARITHMETIC(div, DIV, 2)
ARITHMETIC(rcp, RCP, 1)
ARITHMETIC(sqrt, SQRT, 1)

/* div.approx and div.full: 2 ulp. */
static void div_approx(struct run *run, const struct op *op)
{
    float a = get32(run, op, 1), b = get32(run, op, 2);
    if (op->modifier[1] != 0) a = flushed(a), b = flushed(b);
    const float result = a / b;
    set32(run, op, 0, op->modifier[1] != 0 ? flushed(result) : result);
}

/* ---- approximations: [ftz] f32 -------------------------------------------------------------------------- */

static void approximate(struct run *run, const struct op *op, double (*function)(double))
{
    const bool flush = op->modifier[0] != 0;
    float x = get32(run, op, 1);
    if (flush) x = flushed(x);
    const float result = (float)function(x);
    set32(run, op, 0, flush ? flushed(result) : result);
}
static double one_over(double x)
{
    return 1.0 / x;
}
static double one_over_root(double x)
{
    return 1.0 / sqrt(x);
}
#define APPROXIMATION(name, function)                                                                        \
    static void name(struct run *run, const struct op *op)                                                   \
    {                                                                                                        \
        approximate(run, op, function);                                                                      \
    }
APPROXIMATION(rcp_approx, one_over)
APPROXIMATION(rsqrt_approx, one_over_root)
APPROXIMATION(sqrt_approx, sqrt)
APPROXIMATION(sin_approx, sin)
APPROXIMATION(cos_approx, cos)
APPROXIMATION(lg2_approx, log2)
APPROXIMATION(ex2_approx, exp2)
APPROXIMATION(tanh_approx, tanh)

PTX_OP(rsqrt64, set64(run, op, 0, 1.0 / sqrt(get64(run, op, 1))))

/* ---- smaller and larger --------------------------------------------------------------------------------- */

/* Of a number and a NaN the result is the number, unless the name has .NaN; -0 is below +0. */
static double extreme(double a, double b, bool want_less, bool keep_nan)
{
    if (a != a || b != b) {
        if (keep_nan || (a != a && b != b)) return NAN;
        return a != a ? b : a;
    }
    const bool less = a < b || (a == b && signbit(a) && !signbit(b));
    return less == want_less ? a : b;
}

static float extreme32(const struct run *run, const struct op *op, bool want_less, unsigned sources)
{
    enum { FLUSH, KEEP_NAN, SIGN };
    float result = get32(run, op, 1);
    unsigned sign = 0;
    for (unsigned i = 0; i < sources; i++) {
        float x = get32(run, op, 1 + i);
        if (op->modifier[FLUSH] != 0) x = flushed(x);
        if (op->modifier[SIGN] != 0) {
            sign ^= (unsigned)(signbit(x) != 0);
            x = fabsf(x);
        }
        result = i == 0 ? x : (float)extreme(result, x, want_less, op->modifier[KEEP_NAN] != 0);
    }
    return op->modifier[SIGN] != 0 && sign ? -result : result;
}
PTX_OP(min32, set32(run, op, 0, extreme32(run, op, true, 2)))
PTX_OP(max32, set32(run, op, 0, extreme32(run, op, false, 2)))
PTX_OP(min64, set64(run, op, 0, extreme(get64(run, op, 1), get64(run, op, 2), true, false)))
PTX_OP(max64, set64(run, op, 0, extreme(get64(run, op, 1), get64(run, op, 2), false, false)))

/* ---- signs ---------------------------------------------------------------------------------------------- */

static void abs32(struct run *run, const struct op *op)
{
    const float x = get32(run, op, 1);
    set32(run, op, 0, fabsf(op->modifier[0] != 0 ? flushed(x) : x));
}
static void neg32(struct run *run, const struct op *op)
{
    const float x = get32(run, op, 1);
    set32(run, op, 0, -(op->modifier[0] != 0 ? flushed(x) : x));
}
PTX_OP(abs64, ptx_set(run, op, 0, ptx_word(run, op, 1) & INT64_MAX))
PTX_OP(neg64, ptx_set(run, op, 0, ptx_word(run, op, 1) ^ (uint64_t)INT64_MIN))
static void copysign32(struct run *run, const struct op *op)
{
    ptx_set(run, op, 0, (ptx_word(run, op, 1) & 0x80000000u) | (ptx_word(run, op, 2) & 0x7fffffffu));
}
static void copysign64(struct run *run, const struct op *op)
{
    ptx_set(run, op, 0,
            (ptx_word(run, op, 1) & (uint64_t)INT64_MIN) | (ptx_word(run, op, 2) & (uint64_t)INT64_MAX));
}
static void testp(struct run *run, const struct op *op)
{
    enum { FINITE = 1, INFINITE, NUMBER, NOT_A_NUMBER, NORMAL, SUBNORMAL };
    const int kind = op->type[0] == PTX_F32 ? fpclassify(get32(run, op, 1)) : fpclassify(get64(run, op, 1));
    const bool answers[] = {[FINITE] = kind != FP_NAN && kind != FP_INFINITE,
                            [INFINITE] = kind == FP_INFINITE,
                            [NUMBER] = kind != FP_NAN,
                            [NOT_A_NUMBER] = kind == FP_NAN,
                            [NORMAL] = kind == FP_NORMAL,
                            [SUBNORMAL] = kind == FP_SUBNORMAL || kind == FP_ZERO};
    ptx_set(run, op, 0, answers[op->modifier[0]]);
}

/* ---- comparisons ---------------------------------------------------------------------------------------- */

enum { EQ = 1, NE, LT, LE, GT, GE, EQU, NEU, LTU, LEU, GTU, GEU, NUM, NAN_ };

/* Comparisons that end in u are true for NaN, the others are not. */
static bool compare(unsigned how, double a, double b)
{
    const bool unordered = a != a || b != b;
    switch (how) {
    case EQ:
    case EQU:
        return unordered ? how == EQU : a == b;
    case NE:
    case NEU:
        return unordered ? how == NEU : a != b;
    case LT:
    case LTU:
        return unordered ? how == LTU : a < b;
    case LE:
    case LEU:
        return unordered ? how == LEU : a <= b;
    case GT:
    case GTU:
        return unordered ? how == GTU : a > b;
    case GE:
    case GEU:
        return unordered ? how == GEU : a >= b;
    case NUM:
        return !unordered;
    default:
        return unordered;
    }
}

static float small_to_float(unsigned type, uint32_t bits)
{
    return type == PTX_F16 || type == PTX_F16X2 ? ptx_float_of_half((uint16_t)bits)
                                                : ptx_float_of_bfloat16((uint16_t)bits);
}

static bool compare_operands(const struct run *run, const struct op *op, unsigned type, unsigned a,
                             unsigned b, bool flush)
{
    if (type == PTX_F64) return compare(op->modifier[0], get64(run, op, a), get64(run, op, b));
    if (type != PTX_F32)
        return compare(op->modifier[0], small_to_float(type, ptx_u32(run, op, a)),
                       small_to_float(type, ptx_u32(run, op, b)));
    const float x = get32(run, op, a), y = get32(run, op, b);
    return flush ? compare(op->modifier[0], flushed(x), flushed(y)) : compare(op->modifier[0], x, y);
}

static void setp(struct run *run, const struct op *op)
{
    const bool result = compare_operands(run, op, op->type[0], 2, 3, op->modifier[1] != 0);
    ptx_set(run, op, 0, result);
    if (op->slot[1] != NO_SLOT) ptx_set(run, op, 1, !result);
}
static void setp_combined(struct run *run, const struct op *op)
{
    const bool result = compare_operands(run, op, op->type[0], 2, 3, op->modifier[2] != 0);
    ptx_set(run, op, 0, ptx_combine(run, op, result, 4));
    if (op->slot[1] != NO_SLOT) ptx_set(run, op, 1, ptx_combine(run, op, !result, 4));
}
/* For a pair: the first predicate belongs to the low half. */
static void setp_pair(struct run *run, const struct op *op)
{
    const uint32_t a = ptx_u32(run, op, 2), b = ptx_u32(run, op, 3);
    for (unsigned i = 0; i < 2; i++)
        if (op->slot[i] != NO_SLOT)
            ptx_set(run, op, i,
                    compare(op->modifier[0], small_to_float(op->type[0], a >> 16 * i),
                            small_to_float(op->type[0], b >> 16 * i)));
}
static void set(struct run *run, const struct op *op)
{
    const bool result = compare_operands(run, op, op->type[1], 1, 2, op->modifier[1] != 0);
    ptx_set(run, op, 0, !result ? 0 : op->type[0] == PTX_F32 ? 0x3f800000u : UINT64_MAX);
}

/* ---- f16 and bf16, one or a pair: [rn] [ftz] [sat] [relu] ------------------------------------------------ */

static uint16_t small_of(unsigned type, double x)
{
    const bool half = type == PTX_F16 || type == PTX_F16X2;
    return (uint16_t)ptx_narrow(half ? &ptx_half : &ptx_bfloat16, x, PTX_RN, false);
}
static uint16_t small_flushed(uint16_t bits)
{
    return (bits & 0x7c00) == 0 ? bits & 0x8000 : bits; /* only of f16 */
}

static double compute_small(int what, double a, double b, double c)
{
    switch (what) {
    case ADD:
        return ptx_odd_sum(a, b);
    case SUB:
        return ptx_odd_sum(a, -b);
    case MUL:
        return a * b; /* 22 bits at most */
    default:
        return ptx_odd_sum(a * b, c);
    }
}

enum { SMALL_RN, SMALL_FLUSH, SMALL_SAT, SMALL_RELU };

static uint16_t small_result(const struct op *op, int what, const uint16_t *source)
{
    double x[3];
    for (unsigned i = 0; i < 3; i++)
        x[i] = small_to_float(op->type[0], op->modifier[SMALL_FLUSH] ? small_flushed(source[i]) : source[i]);
    double result = compute_small(what, x[0], x[1], x[2]);
    if (op->modifier[SMALL_SAT] != 0) result = result > 0.0 ? (result < 1.0 ? result : 1.0) : 0.0;
    if (op->modifier[SMALL_RELU] != 0 && result <= 0.0) result = 0.0;
    const uint16_t bits = small_of(op->type[0], result);
    return op->modifier[SMALL_FLUSH] ? small_flushed(bits) : bits;
}

static bool is_pair(const struct op *op)
{
    return ptx_type[op->type[0]].bits == 32;
}

static void arithmetic16(struct run *run, const struct op *op, int what, unsigned sources)
{
    uint32_t result = 0;
    for (unsigned part = 0; part < (is_pair(op) ? 2 : 1); part++) {
        uint16_t source[3] = {0, 0, 0};
        for (unsigned i = 0; i < sources; i++) source[i] = (uint16_t)(ptx_u32(run, op, 1 + i) >> 16 * part);
        result |= (uint32_t)small_result(op, what, source) << 16 * part;
    }
    ptx_set(run, op, 0, result);
}
PTX_OP(add16, arithmetic16(run, op, ADD, 2))
PTX_OP(sub16, arithmetic16(run, op, SUB, 2))
PTX_OP(mul16, arithmetic16(run, op, MUL, 2))
PTX_OP(fma16, arithmetic16(run, op, FMA, 3))

static uint16_t small_extreme(const struct op *op, uint16_t a, uint16_t b, bool want_less)
{
    enum { FLUSH, KEEP_NAN, SIGN };
    const uint16_t sign = op->modifier[SIGN] != 0 ? (a ^ b) & 0x8000 : 0;
    if (op->modifier[SIGN] != 0) a &= 0x7fff, b &= 0x7fff;
    if (op->modifier[FLUSH] != 0) a = small_flushed(a), b = small_flushed(b);
    const double result = extreme(small_to_float(op->type[0], a), small_to_float(op->type[0], b), want_less,
                                  op->modifier[KEEP_NAN] != 0);
    return small_of(op->type[0], result) | sign;
}
static void extreme16(struct run *run, const struct op *op, bool want_less)
{
    uint32_t result = 0;
    for (unsigned part = 0; part < (is_pair(op) ? 2 : 1); part++)
        result |= (uint32_t)small_extreme(op, (uint16_t)(ptx_u32(run, op, 1) >> 16 * part),
                                          (uint16_t)(ptx_u32(run, op, 2) >> 16 * part), want_less)
                  << 16 * part;
    ptx_set(run, op, 0, result);
}
PTX_OP(min16, extreme16(run, op, true))
PTX_OP(max16, extreme16(run, op, false))
PTX_OP(abs16, ptx_set(run, op, 0, ptx_u32(run, op, 1) & 0x7fff7fffu))
PTX_OP(neg16, ptx_set(run, op, 0, ptx_u32(run, op, 1) ^ (is_pair(op) ? 0x80008000u : 0x8000u)))

/* ex2 and tanh of f16, bf16 and their pairs. */
static void approximate16(struct run *run, const struct op *op, double (*function)(double))
{
    uint32_t result = 0;
    for (unsigned part = 0; part < (is_pair(op) ? 2 : 1); part++) {
        const double x = small_to_float(op->type[0], ptx_u32(run, op, 1) >> 16 * part);
        result |= (uint32_t)small_of(op->type[0], function(x)) << 16 * part;
    }
    ptx_set(run, op, 0, result);
}
PTX_OP(ex2_16, approximate16(run, op, exp2))
PTX_OP(tanh_16, approximate16(run, op, tanh))

/* ---- the rows ------------------------------------------------------------------------------------------- */

#define ROUNDING "[rn|rz|rm|rp]"
#define COMPARISONS "(eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan)"

static const struct row rows[] = {
    {"add " ROUNDING " [ftz] [sat] <f32>", "=T T T", add32, 0, 10, 0, NULL},
    {"sub " ROUNDING " [ftz] [sat] <f32>", "=T T T", sub32, 0, 10, 0, NULL},
    {"mul " ROUNDING " [ftz] [sat] <f32>", "=T T T", mul32, 0, 10, 0, NULL},
    {"fma (rn|rz|rm|rp) [ftz] [sat] <f32>", "=T T T T", fma32, 0, 20, 0, NULL},
    {"mad (rn|rz|rm|rp) [ftz] [sat] <f32>", "=T T T T", fma32, 0, 10, 0, NULL},
    {"div (rn|rz|rm|rp) [ftz] <f32>", "=T T T", div32, 0, 14, 0, NULL},
    {"div (approx|full) [ftz] <f32>", "=T T T", div_approx, 0, 14, 0, NULL},
    {"rcp (rn|rz|rm|rp) [ftz] <f32>", "=T T", rcp32, 0, 14, 0, NULL},
    {"sqrt (rn|rz|rm|rp) [ftz] <f32>", "=T T", sqrt32, 0, 14, 0, NULL},
    {"add " ROUNDING " <f64>", "=T T T", add64, 0, 10, 0, NULL},
    {"sub " ROUNDING " <f64>", "=T T T", sub64, 0, 10, 0, NULL},
    {"mul " ROUNDING " <f64>", "=T T T", mul64, 0, 10, 0, NULL},
    {"fma (rn|rz|rm|rp) <f64>", "=T T T T", fma64, 0, 14, 0, NULL},
    {"mad (rn|rz|rm|rp) <f64>", "=T T T T", fma64, 0, 10, 0, NULL},
    {"div (rn|rz|rm|rp) <f64>", "=T T T", div64, 0, 14, 0, NULL},
    {"rcp (rn|rz|rm|rp) <f64>", "=T T", rcp64, 0, 14, 0, NULL},
    {"sqrt (rn|rz|rm|rp) <f64>", "=T T", sqrt64, 0, 14, 0, NULL},

    {"rcp approx [ftz] <f32>", "=T T", rcp_approx, 0, 10, 0, NULL},
    {"rsqrt approx [ftz] <f32>", "=T T", rsqrt_approx, 0, 10, 0, NULL},
    {"rsqrt approx <f64>", "=T T", rsqrt64, 0, 10, 0, NULL},
    {"sqrt approx [ftz] <f32>", "=T T", sqrt_approx, 0, 10, 0, NULL},
    {"sin approx [ftz] <f32>", "=T T", sin_approx, 0, 10, 0, NULL},
    {"cos approx [ftz] <f32>", "=T T", cos_approx, 0, 10, 0, NULL},
    {"lg2 approx [ftz] <f32>", "=T T", lg2_approx, 0, 10, 0, NULL},
    {"ex2 approx [ftz] <f32>", "=T T", ex2_approx, 0, 10, 0, NULL},
    {"ex2 approx <f16|f16x2>", "=T T", ex2_16, 75, 70, 0, NULL},
    {"ex2 approx ftz <bf16|bf16x2>", "=T T", ex2_16, 90, 78, 0, NULL},
    {"tanh approx <f32>", "=T T", tanh_approx, 75, 70, 0, NULL},
    {"tanh approx <f16|f16x2>", "=T T", tanh_16, 75, 70, 0, NULL},
    {"tanh approx <bf16|bf16x2>", "=T T", tanh_16, 90, 78, 0, NULL},

    {"min [ftz] [NaN] [xorsign.abs] <f32>", "=T T T", min32, 0, 10, 0, NULL},
    {"max [ftz] [NaN] [xorsign.abs] <f32>", "=T T T", max32, 0, 10, 0, NULL},
    {"min <f64>", "=T T T", min64, 0, 10, 0, NULL},
    {"max <f64>", "=T T T", max64, 0, 10, 0, NULL},
    {"abs [ftz] <f32>", "=T T", abs32, 0, 10, 0, NULL},
    {"neg [ftz] <f32>", "=T T", neg32, 0, 10, 0, NULL},
    {"abs <f64>", "=T T", abs64, 0, 10, 0, NULL},
    {"neg <f64>", "=T T", neg64, 0, 10, 0, NULL},
    {"copysign <f32>", "=T T T", copysign32, 0, 20, 0, NULL},
    {"copysign <f64>", "=T T T", copysign64, 0, 20, 0, NULL},
    {"testp (finite|infinite|number|notanumber|normal|subnormal) <f32|f64>", "=P T", testp, 0, 20, 0, NULL},

    {"setp " COMPARISONS " [ftz] <f32>", "=P|P T T", setp, 0, 10, 0, NULL},
    {"setp " COMPARISONS " <f64>", "=P|P T T", setp, 0, 10, 0, NULL},
    {"setp " COMPARISONS " [ftz] <f16>", "=P|P T T", setp, 53, 42, 0, NULL},
    {"setp " COMPARISONS " <bf16>", "=P|P T T", setp, 90, 78, 0, NULL},
    {"setp " COMPARISONS " [ftz] <f16x2>", "=P|P T T", setp_pair, 53, 42, 0, NULL},
    {"setp " COMPARISONS " <bf16x2>", "=P|P T T", setp_pair, 90, 78, 0, NULL},
    {"setp " COMPARISONS " (and|or|xor) [ftz] <f32|f64>", "=P|P T T P", setp_combined, 0, 10, 0, NULL},
    {"set " COMPARISONS " [ftz] <u32|s32|f32> <f32|f64>", "=T U U", set, 0, 10, 0, NULL},

    {"add [rn] [ftz] [sat] <f16|f16x2>", "=T T T", add16, 53, 42, 0, NULL},
    {"sub [rn] [ftz] [sat] <f16|f16x2>", "=T T T", sub16, 53, 42, 0, NULL},
    {"mul [rn] [ftz] [sat] <f16|f16x2>", "=T T T", mul16, 53, 42, 0, NULL},
    {"fma rn [] [ftz] [sat] [relu] <f16|f16x2>", "=T T T T", fma16, 53, 42, 0, NULL},
    {"add [rn] <bf16|bf16x2>", "=T T T", add16, 90, 78, 0, NULL},
    {"sub [rn] <bf16|bf16x2>", "=T T T", sub16, 90, 78, 0, NULL},
    {"mul [rn] <bf16|bf16x2>", "=T T T", mul16, 90, 78, 0, NULL},
    {"fma rn [] [] [] [relu] <bf16|bf16x2>", "=T T T T", fma16, 80, 70, 0, NULL},
    {"min [ftz] [NaN] [xorsign.abs] <f16|f16x2>", "=T T T", min16, 80, 70, 0, NULL},
    {"max [ftz] [NaN] [xorsign.abs] <f16|f16x2>", "=T T T", max16, 80, 70, 0, NULL},
    {"min [] [NaN] [xorsign.abs] <bf16|bf16x2>", "=T T T", min16, 80, 70, 0, NULL},
    {"max [] [NaN] [xorsign.abs] <bf16|bf16x2>", "=T T T", max16, 80, 70, 0, NULL},
    {"abs [ftz] <f16|f16x2>", "=T T", abs16, 53, 65, 0, NULL},
    {"neg [ftz] <f16|f16x2>", "=T T", neg16, 53, 60, 0, NULL},
    {"abs <bf16|bf16x2>", "=T T", abs16, 80, 70, 0, NULL},
    {"neg <bf16|bf16x2>", "=T T", neg16, 80, 70, 0, NULL},
};
PTX_GROUP(ptx_float_rows, rows);
