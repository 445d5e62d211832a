/**
 * @file convert.c
 * @brief cvt in all its forms, and cvta.
 */
#include "numbers.h"
#include "parse.h"
#include "program.h"

/* ---- one number to another: [rni|rzi|rmi|rpi|rn|rz|rm|rp] [ftz] [sat] <to> <from> ------------------------- */

enum { TO_INTEGER_LAST = 4 }; /* rni rzi rmi rpi are 1 to 4, rn rz rm rp 5 to 8 */
enum { ROUNDING, FLUSH, SATURATE };

static bool is_float(unsigned type)
{
    return ptx_type[type].class == 'f';
}

static uint64_t low_bits(uint64_t word, unsigned type)
{
    const unsigned unused = 64 - ptx_type[type].bits;
    return ptx_type[type].class == 's' ? (uint64_t)((int64_t)(word << unused) >> unused)
                                       : word << unused >> unused;
}

static double to_double(uint64_t word, unsigned type, bool flush)
{
    float narrow;
    switch (type) {
    case PTX_F64:
        return ptx_double_of_bits(word);
    case PTX_F16:
        return ptx_float_of_half((uint16_t)word);
    case PTX_BF16:
        return ptx_float_of_bfloat16((uint16_t)word);
    default:
        narrow = ptx_float_of_bits((uint32_t)word);
        return flush && fpclassify(narrow) == FP_SUBNORMAL ? copysign(0.0, narrow) : narrow;
    }
}

static double rounded_to_integer(double x, unsigned modifier)
{
    enum { NEAREST = 1, ZERO, DOWN, UP };
    switch (modifier) {
    case NEAREST:
        return rint(x);
    case ZERO:
        return trunc(x);
    case DOWN:
        return floor(x);
    case UP:
        return ceil(x);
    default:
        return x;
    }
}

/* Out of range: the nearest integer of the type. NaN gives 0, or for 64 bits the top bit, as observed on
 * hardware. */
static uint64_t integer_of(double x, unsigned type)
{
    const unsigned bits = ptx_type[type].bits;
    const bool with_sign = ptx_type[type].class == 's';
    const double end = ldexp(1.0, (int)bits - with_sign), least = with_sign ? -end : 0.0;
    if (x != x) return bits == 64 ? UINT64_C(1) << 63 : 0;
    if (x >= end) return UINT64_MAX >> (64 - bits + (unsigned)with_sign);
    if (x < least) return with_sign ? UINT64_MAX << (bits - 1) : 0;
    return with_sign ? (uint64_t)(int64_t)x : (uint64_t)x;
}

/* A double to float, rounded in any direction. */
static uint32_t float_of_double(double x, enum ptx_rounding rounding)
{
    float near = (float)x;
    if (x != x) return 0x7fffffffu;
    if (rounding == PTX_RN || (double)near == x) return ptx_bits_of_float(near);
    const bool too_large = (double)near > x;
    if (rounding == PTX_RM || (rounding == PTX_RZ && x > 0.0))
        near = too_large ? nextafterf(near, -HUGE_VALF) : near;
    else
        near = too_large ? near : nextafterf(near, HUGE_VALF);
    return ptx_bits_of_float(near);
}

static uint64_t float_result(double x, unsigned type, enum ptx_rounding rounding, bool flush)
{
    if (type == PTX_F64) return ptx_bits_of_double(x);
    if (type == PTX_F16) return ptx_narrow(&ptx_half, x, rounding, false);
    if (type == PTX_BF16) return ptx_narrow(&ptx_bfloat16, x, rounding, false);
    const uint32_t bits = float_of_double(x, rounding);
    return flush && (bits & 0x7f800000u) == 0 ? bits & 0x80000000u : bits;
}

/* A 64-bit integer to a float, rounded in any direction. Goes through double only where that does not
 * round. */
static uint64_t float_of_integer(uint64_t word, unsigned from, unsigned to, enum ptx_rounding rounding)
{
    const bool negative = ptx_type[from].class == 's' && (int64_t)word < 0;
    const uint64_t magnitude = negative ? 0 - word : word;
    const int kept_bits = to == PTX_F64 ? 53 : 24;
    const int length = magnitude == 0 ? 0 : 64 - __builtin_clzll(magnitude);
    double x = (double)magnitude;
    if (length > kept_bits && to != PTX_F16 && to != PTX_BF16) {
        const uint64_t unit = UINT64_C(1) << (length - kept_bits), kept = magnitude / unit;
        x = ldexp((double)(kept + ptx_goes_up(rounding, negative, kept, magnitude & (unit - 1), unit)),
                  length - kept_bits);
    } else if (length > 53) { /* to 16 bits: a sticky bit stands for the bits that are cut off */
        x = (double)((magnitude >> (length - 53)) | 1) * ldexp(1.0, length - 53);
    }
    return float_result(negative ? -x : x, to, rounding, false);
}

static int64_t clamped(uint64_t word, unsigned from, unsigned to)
{
    const unsigned bits = ptx_type[to].bits;
    const bool to_signed = ptx_type[to].class == 's', from_signed = ptx_type[from].class == 's';
    if (from_signed && (int64_t)word < 0) {
        if (!to_signed) return 0;
        const int64_t least = (int64_t)(UINT64_MAX << (bits - 1));
        return (int64_t)word < least ? least : (int64_t)word;
    }
    const uint64_t most = UINT64_MAX >> (64 - bits + (unsigned)to_signed);
    return (int64_t)(word > most ? most : word);
}

static enum ptx_rounding rounding_of(const struct op *op)
{
    const unsigned m = op->modifier[ROUNDING];
    return m > TO_INTEGER_LAST ? (enum ptx_rounding)(m - TO_INTEGER_LAST) : PTX_RN;
}

/* A number in a register wider than its type is extended, with its sign if it has one. */
static void set_extended(struct run *run, const struct op *op, uint64_t word)
{
    ptx_set(run, op, 0, is_float(op->type[0]) ? word : low_bits(word, op->type[0]));
}

static void cvt(struct run *run, const struct op *op)
{
    const unsigned to = op->type[0], from = op->type[1];
    const uint64_t word = low_bits(ptx_word(run, op, 1), from);
    const bool saturate = op->modifier[SATURATE] != 0, flush = op->modifier[FLUSH] != 0;
    if (!is_float(from) && !is_float(to)) {
        set_extended(run, op, saturate ? (uint64_t)clamped(word, from, to) : word);
        return;
    }
    if (!is_float(from)) {
        uint64_t result = float_of_integer(word, from, to, rounding_of(op));
        if (saturate) {
            const double x = to_double(result, to, false);
            result = float_result(x > 0.0 ? (x < 1.0 ? x : 1.0) : 0.0, to, PTX_RN, false);
        }
        set_extended(run, op, result);
        return;
    }
    double x = to_double(word, from, flush);
    if (op->modifier[ROUNDING] <= TO_INTEGER_LAST) x = rounded_to_integer(x, op->modifier[ROUNDING]);
    if (!is_float(to)) {
        set_extended(run, op, integer_of(x, to));
        return;
    }
    if (saturate) x = x > 0.0 ? (x < 1.0 ? x : 1.0) : 0.0;
    set_extended(run, op, float_result(x, to, rounding_of(op), flush));
}

/* The rounding modifier that ptxas demands. */
static void check_cvt(struct compiling *c, const struct row *row, struct op *op)
{
    const unsigned to = op->type[0], from = op->type[1], m = op->modifier[ROUNDING];
    const bool integer_rounding = m > 0 && m <= TO_INTEGER_LAST, float_rounding = m > TO_INTEGER_LAST;
    const bool narrows = is_float(to) && (!is_float(from) || ptx_type[to].bits < ptx_type[from].bits ||
                                          (ptx_type[to].bits == 16 && to != from));
    (void)row;
    if (narrows && !float_rounding)
        ptx_refuse(c, "a rounding modifier is required, .rn .rz .rm or .rp, as ptxas says");
    if (is_float(from) && !is_float(to) && !integer_rounding)
        ptx_refuse(c, "a rounding modifier is required, .rni .rzi .rmi or .rpi, as ptxas says");
    if (!narrows && float_rounding)
        ptx_refuse(c, "illegal rounding modifier, as ptxas says: nothing is rounded here");
    if (!is_float(from) && integer_rounding) ptx_refuse(c, "illegal rounding modifier, as ptxas says");
    if ((to == PTX_BF16 || from == PTX_BF16) && to != PTX_F32 && from != PTX_F32 &&
        simt_compute_capability() < 90)
        ptx_refuse(c, "it requires .target sm_90 or higher");
}

/* ---- two floats to a pair: (rn|rz) [relu] [satfinite]; the first source is the high half ----------------- */

static uint32_t small_of(const struct op *op, const struct ptx_format *format, double x)
{
    if (op->modifier[1] != 0 && x <= 0.0) x = 0.0;
    return ptx_narrow(format, x, (enum ptx_rounding)op->modifier[0], op->modifier[2] != 0);
}
static void cvt_pair(struct run *run, const struct op *op)
{
    const struct ptx_format *format = op->type[0] == PTX_F16X2 ? &ptx_half : &ptx_bfloat16;
    const float high = ptx_float_of_bits(ptx_u32(run, op, 1)), low = ptx_float_of_bits(ptx_u32(run, op, 2));
    ptx_set(run, op, 0, small_of(op, format, high) << 16 | small_of(op, format, low));
}
static void cvt_one(struct run *run, const struct op *op)
{
    const struct ptx_format *format = op->type[0] == PTX_F16 ? &ptx_half : &ptx_bfloat16;
    ptx_set(run, op, 0, small_of(op, format, ptx_float_of_bits(ptx_u32(run, op, 1))));
}

/* ---- tf32: a float whose low 13 bits are zeros ----------------------------------------------------------- */

static uint32_t tf32_of(uint32_t bits, enum ptx_rounding rounding)
{
    const uint32_t unit = 1u << 13, rest = bits & (unit - 1), kept = bits >> 13;
    if ((bits & 0x7f800000u) == 0x7f800000u) return (bits & 0x7fffffu) != 0 ? 0x7fffffffu : bits;
    return (kept + ptx_goes_up(rounding, bits >> 31, kept, rest, unit)) << 13;
}
static void cvt_tf32(struct run *run, const struct op *op)
{
    static const enum ptx_rounding roundings[] = {PTX_RN, PTX_RNA, PTX_RN, PTX_RZ};
    const uint32_t a = ptx_u32(run, op, 1);
    uint32_t result = tf32_of(a, roundings[op->modifier[0]]);
    if (op->modifier[1] != 0 && (a >> 31) != 0) result = 0;
    if (op->modifier[2] != 0 && (result & 0x7fffffffu) == 0x7f800000u)
        result = (result & 0x80000000u) | 0x7f7fe000u;
    ptx_set(run, op, 0, result);
}

/* ---- pairs of 8-bit floats ------------------------------------------------------------------------------- */

static uint32_t byte_of(const struct op *op, double x)
{
    const struct ptx_format *format = op->type[0] == PTX_E4M3X2 ? &ptx_e4m3 : &ptx_e5m2;
    if (op->modifier[0] != 0 && x <= 0.0) x = 0.0;
    return ptx_narrow(format, x, PTX_RN, true);
}
static void cvt_bytes(struct run *run, const struct op *op)
{
    ptx_set(run, op, 0,
            byte_of(op, ptx_float_of_bits(ptx_u32(run, op, 1))) << 8 |
                byte_of(op, ptx_float_of_bits(ptx_u32(run, op, 2))));
}
static void cvt_bytes_of_halves(struct run *run, const struct op *op)
{
    const uint32_t a = ptx_u32(run, op, 1);
    ptx_set(run, op, 0,
            byte_of(op, ptx_float_of_half((uint16_t)(a >> 16))) << 8 |
                byte_of(op, ptx_float_of_half((uint16_t)a)));
}
static void cvt_halves_of_bytes(struct run *run, const struct op *op)
{
    const struct ptx_format *format = op->type[1] == PTX_E4M3X2 ? &ptx_e4m3 : &ptx_e5m2;
    const uint32_t a = ptx_u32(run, op, 1);
    uint32_t result = 0;
    for (unsigned i = 0; i < 2; i++) {
        double x = ptx_float_of_8_bits(format, a >> 8 * i & 0xff);
        if (op->modifier[0] != 0 && x <= 0.0) x = 0.0;
        result |= ptx_narrow(&ptx_half, x, PTX_RN, false) << 16 * i;
    }
    ptx_set(run, op, 0, result);
}

/* ---- integers packed: cvt.pack.sat.u8.s32.b32 d, a, b, c ------------------------------------------------- */

static void cvt_pack(struct run *run, const struct op *op)
{
    const unsigned to = op->type[0], bits = ptx_type[to].bits;
    const uint64_t mask = UINT64_MAX >> (64 - bits);
    const uint64_t a = (uint64_t)clamped(low_bits(ptx_word(run, op, 1), PTX_S32), PTX_S32, to) & mask;
    const uint64_t b = (uint64_t)clamped(low_bits(ptx_word(run, op, 2), PTX_S32), PTX_S32, to) & mask;
    const uint64_t rest = op->slot[3] != NO_SLOT ? ptx_word(run, op, 3) : 0;
    ptx_set(run, op, 0, rest << 2 * bits | a << bits | b);
}

/* ---- addresses ------------------------------------------------------------------------------------------- */

PTX_OP(cvta_to_shared, ptx_set(run, op, 0, simt_shared_offset((const void *)(uintptr_t)ptx_word(run, op, 1))))
PTX_OP(cvta_from_shared, ptx_set(run, op, 0, (uintptr_t)simt_shared_address(ptx_word(run, op, 1))))
PTX_OP(cvta_same, ptx_set(run, op, 0, ptx_word(run, op, 1)))

/* ---- the rows -------------------------------------------------------------------------------------------- */

#define NUMBERS "<u8|u16|u32|u64|s8|s16|s32|s64|f16|bf16|f32|f64>"

static const struct row rows[] = {
    {"cvt [rni|rzi|rmi|rpi|rn|rz|rm|rp] [ftz] [sat] " NUMBERS " " NUMBERS, "=~T ~U", cvt, 0, 10, 0,
     check_cvt},
    {"cvt (rn|rz) [relu] [satfinite] <f16x2|bf16x2> f32", "=T f32 f32", cvt_pair, 80, 70, 0, NULL},
    {"cvt (rn|rz) (relu) [satfinite] <f16|bf16> f32", "=T f32", cvt_one, 80, 70, 0, NULL},
    {"cvt (rn|rz) [relu] (satfinite) <f16|bf16> f32", "=T f32", cvt_one, 80, 81, 0, NULL},
    {"cvt (rna) [] [satfinite] tf32 f32", "=b32 f32", cvt_tf32, 80, 70, 0, NULL},
    {"cvt (|rn|rz) [relu] [satfinite] tf32 f32", "=b32 f32", cvt_tf32, 90, 78, 0, NULL},
    {"cvt rn satfinite [relu] <e4m3x2|e5m2x2> f32", "=b16 f32 f32", cvt_bytes, 89, 81, 0, NULL},
    {"cvt rn satfinite [relu] <e4m3x2|e5m2x2> f16x2", "=b16 b32", cvt_bytes_of_halves, 89, 81, 0, NULL},
    {"cvt rn [relu] <f16x2> <e4m3x2|e5m2x2>", "=b32 b16", cvt_halves_of_bytes, 89, 81, 0, NULL},
    {"cvt pack sat <u16|s16> s32", "=b32 b32 b32", cvt_pack, 72, 65, 0, NULL},
    {"cvt pack sat <u8|s8> s32 b32", "=b32 b32 b32 b32", cvt_pack, 72, 65, 0, NULL},

    {"cvta to shared <u64>", "=T T", cvta_to_shared, 0, 20, 0, NULL},
    {"cvta shared <u64>", "=T T", cvta_from_shared, 0, 20, 0, NULL},
    {"cvta to (global|local|const) <u64>", "=T T", cvta_same, 0, 20, 0, NULL},
    {"cvta (global|local|const) <u64>", "=T T", cvta_same, 0, 20, 0, NULL},
};
PTX_GROUP(ptx_convert_rows, rows);
