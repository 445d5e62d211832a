/**
 * @file numbers.h
 * @brief Numbers in small formats: to float and back, rounded in any direction.
 */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/** @brief In the order of the modifiers of a row, `[rn|rz|rm|rp]`: to nearest even, toward zero, down, up. */
enum ptx_rounding { PTX_RN = 1, PTX_RZ, PTX_RM, PTX_RP, PTX_RNA /**< ties away from zero */ };

/** @brief A format with a sign, an exponent and a fraction. */
struct ptx_format {
    int fraction_bits, bias;
    uint32_t infinity; /**< 0: it has none */
    uint32_t largest;  /**< finite magnitude */
    uint32_t nan;
    int sign_bit;
};
static const struct ptx_format ptx_half = {10, 15, 0x7c00, 0x7bff, 0x7fff, 15};
static const struct ptx_format ptx_bfloat16 = {7, 127, 0x7f80, 0x7f7f, 0x7fff, 15};
static const struct ptx_format ptx_e4m3 = {3, 7, 0, 0x7e, 0x7f, 7};
static const struct ptx_format ptx_e5m2 = {2, 15, 0x7c, 0x7b, 0x7f, 7};

static inline float ptx_float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
static inline uint32_t ptx_bits_of_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}
static inline double ptx_double_of_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
static inline uint64_t ptx_bits_of_double(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float ptx_float_of_half(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000u) << 16, magnitude = half & 0x7fffu;
    const uint32_t normal = (magnitude << 13) + (112u << 23);
    const uint32_t tiny = ptx_bits_of_float((float)(int)magnitude * 0x1p-24f);
    const uint32_t special = normal + (112u << 23); /* infinity, or a NaN with its payload */
    return ptx_float_of_bits(sign | (magnitude < 0x0400u ? tiny : magnitude < 0x7c00u ? normal : special));
}
static inline float ptx_float_of_bfloat16(uint16_t bits)
{
    return ptx_float_of_bits((uint32_t)bits << 16);
}

/** @brief Float to half, to nearest, ties to even. */
static inline uint16_t ptx_half_of_float(float value)
{
    const uint32_t bits = ptx_bits_of_float(value), magnitude = bits & 0x7fffffffu;
    const uint16_t sign = (uint16_t)(bits >> 16 & 0x8000u);
    if (magnitude > 0x7f800000u) return 0x7fff;
    if (magnitude >= 0x477ff000u) return sign | 0x7c00u;
    if (magnitude < 0x38800000u) { /* below the normal numbers: the float addition rounds */
        const float sum = ptx_float_of_bits(magnitude) + 0.5f;
        return (uint16_t)(sign | (ptx_bits_of_float(sum) - ptx_bits_of_float(0.5f)));
    }
    return (uint16_t)(sign | ((magnitude - (112u << 23) + 0xfffu + (magnitude >> 13 & 1u)) >> 13));
}

/** @brief A number of a format with 8 bits. */
static inline float ptx_float_of_8_bits(const struct ptx_format *f, uint32_t bits)
{
    const uint32_t magnitude = bits & 0x7f;
    const int exponent = (int)(magnitude >> f->fraction_bits);
    const int fraction = (int)(magnitude & ((1u << f->fraction_bits) - 1));
    float value;
    if (f->infinity == 0 ? magnitude == f->nan : magnitude > f->infinity)
        return ptx_float_of_bits(0x7fffffffu);
    if (f->infinity != 0 && magnitude == f->infinity)
        value = HUGE_VALF;
    else if (exponent == 0)
        value = ldexpf((float)fraction, 1 - f->bias - f->fraction_bits);
    else
        value = ldexpf((float)(fraction | 1 << f->fraction_bits), exponent - f->bias - f->fraction_bits);
    return bits & 0x80 ? -value : value;
}

/** @brief Whether a magnitude cut to @p kept is rounded up; the part @p rest of @p unit was cut off. */
static inline bool ptx_goes_up(enum ptx_rounding rounding, bool negative, uint64_t kept, uint64_t rest,
                               uint64_t unit)
{
    if (rest == 0) return false;
    switch (rounding) {
    case PTX_RZ:
        return false;
    case PTX_RM:
        return negative;
    case PTX_RP:
        return !negative;
    case PTX_RNA:
        return rest >= unit / 2;
    default:
        return rest > unit / 2 || (rest == unit / 2 && (kept & 1));
    }
}

/** @brief The result for a magnitude beyond the largest number. */
static inline uint32_t ptx_overflowed(const struct ptx_format *f, enum ptx_rounding rounding, bool negative,
                                      bool to_finite)
{
    const bool stays =
        rounding == PTX_RZ || (rounding == PTX_RM && !negative) || (rounding == PTX_RP && negative);
    if (to_finite || stays) return f->largest;
    return f->infinity != 0 ? f->infinity : f->nan;
}

/** @brief @p x in a format; with @p to_finite a value that is too large becomes the largest number. */
static inline uint32_t ptx_narrow(const struct ptx_format *f, double x, enum ptx_rounding rounding,
                                  bool to_finite)
{
    const uint64_t bits = ptx_bits_of_double(x);
    const bool negative = bits >> 63;
    const uint32_t sign = (uint32_t)negative << f->sign_bit;
    const int exponent = (int)(bits >> 52 & 0x7ff) - 1023, least = 1 - f->bias;
    if (x != x) return f->nan;
    if (exponent == 1024) return sign | (to_finite ? f->largest : f->infinity != 0 ? f->infinity : f->nan);
    /* far below the smallest number: zero, or a double too small to matter */
    if (exponent == -1023) return sign;
    const uint64_t fraction = (bits & 0xfffffffffffffu) | UINT64_C(1) << 52;
    int shift = 52 - f->fraction_bits + (exponent < least ? least - exponent : 0);
    if (shift > 62) shift = 62;
    uint64_t kept = fraction >> shift;
    const uint64_t unit = UINT64_C(1) << shift;
    kept += ptx_goes_up(rounding, negative, kept, fraction & (unit - 1), unit);
    /* the leading bit of kept adds one to the exponent, and a carry does so too */
    if (exponent >= least) kept += (uint64_t)(exponent - least) << f->fraction_bits;
    if (kept > f->largest) return sign | ptx_overflowed(f, rounding, negative, to_finite);
    return sign | (uint32_t)kept;
}

/** @brief a + b, rounded to odd: an inexact sum has its last bit set, so that rounding it once more gives
 *         the right result. */
static inline double ptx_odd_sum(double a, double b)
{
    const double sum = a + b, b_part = sum - a, error = (a - (sum - b_part)) + (b - b_part);
    uint64_t bits = ptx_bits_of_double(sum);
    if (error == 0.0 || sum - sum != 0.0 || (bits & 1)) return sum;
    return ptx_double_of_bits((error > 0.0) == (sum > 0.0) ? bits + 1 : bits - 1);
}
