/**
 * @file small_float.h
 * @brief Rounding to 16-bit formats, exactly as hardware does it.
 *
 * Sums, products, quotients and square roots of 16-bit numbers are computed in float and then rounded: with
 * 24 bits that gives what one rounding would (24 >= 2 * 11 + 2). A fused multiply-add needs more: it is made
 * in double, brought to float by rounding to odd, which keeps what the last rounding has to know.
 */
#pragma once

#pragma GCC system_header

#include "language.h"
#include "math.h"
#include "rounding.h"

enum simt_rounding { SIMT_ROUND_NEAREST, SIMT_ROUND_ZERO, SIMT_ROUND_UP, SIMT_ROUND_DOWN };

/* ---- any format, any direction ------------------------------------------------------------------------- */

/** @brief 1 if a magnitude cut to an odd or even @p kept, with @p rest of @p unit cut off, goes up. */
SIMT_INLINE int simt_goes_up(enum simt_rounding rounding, int negative, unsigned long long kept,
                             unsigned long long rest, unsigned long long unit)
{
    if (rest == 0) return 0;
    if (rounding == SIMT_ROUND_NEAREST) return rest > unit / 2 || (rest == unit / 2 && (kept & 1));
    return rounding == SIMT_ROUND_UP ? !negative : rounding == SIMT_ROUND_DOWN && negative;
}

/**
 * @brief Rounds to a format of 16 bits: @p fraction_bits explicit ones, exponents up to @p top_exponent.
 * As on hardware, NaN becomes the quiet NaN where a double is rounded to nearest, and 0x7fff otherwise.
 */
static inline unsigned short simt_round_to(double value, int fraction_bits, int top_exponent,
                                           enum simt_rounding rounding)
{
    unsigned long long bits = (unsigned long long)__double_as_longlong(value);
    int negative = (int)(bits >> 63), exponent = (int)(bits >> 52 & 0x7ff) - 1023, least = 1 - top_exponent;
    unsigned long long fraction = bits & 0xfffffffffffffull;
    unsigned long long infinity = (unsigned long long)(2 * top_exponent + 1) << fraction_bits;
    unsigned short sign = (unsigned short)(negative << 15);
    unsigned long long nan = rounding == SIMT_ROUND_NEAREST ? infinity | 1ull << (fraction_bits - 1) : 0x7fff;
    if (exponent == 1024) return (unsigned short)(fraction != 0 ? nan : sign | infinity);
    if (exponent == -1023) exponent = -1022;
    else fraction |= 1ull << 52;
    int shift = 52 - fraction_bits + (exponent < least ? least - exponent : 0);
    if (shift > 62) shift = 62;
    unsigned long long kept = fraction >> shift, unit = 1ull << shift, rest = fraction & (unit - 1);
    kept += (unsigned long long)simt_goes_up(rounding, negative, kept, rest, unit);
    /* the leading bit of kept adds one to the exponent, and a carry does so too */
    unsigned long long result = kept;
    if (exponent >= least) result += (unsigned long long)(exponent - least) << fraction_bits;
    if (result >= infinity) {
        int stays = rounding == SIMT_ROUND_ZERO || (rounding == SIMT_ROUND_UP && negative) ||
                    (rounding == SIMT_ROUND_DOWN && !negative);
        result = stays ? infinity - 1 : infinity;
    }
    return (unsigned short)(sign | result);
}

/** @brief double to float, rounded to odd: inexact results have their last bit set. */
SIMT_INLINE float simt_odd_float(double x)
{
    float near = (float)x;
    if ((double)near == x || x != x) return near;
    unsigned int bits = __float_as_uint(near);
    if (!(bits & 1)) bits = fabs(x) > fabs((double)near) ? bits + 1 : bits - 1;
    return __uint_as_float(bits);
}

/** @brief a + b in double, rounded to odd. */
SIMT_INLINE double simt_odd_sum(double a, double b)
{
    double sum = a + b, b_part = sum - a, error = (a - (sum - b_part)) + (b - b_part);
    if (error == 0.0 || sum - sum != 0.0) return sum;
    long long bits = __double_as_longlong(sum);
    if (!(bits & 1)) bits += (error > 0.0) == (sum > 0.0) ? 1 : -1;
    return __longlong_as_double(bits);
}

/* ---- half: 5 exponent bits, 10 fraction bits ----------------------------------------------------------- */

#if defined(__F16C__)
typedef float simt_float4_bits __attribute__((vector_size(16)));
typedef short simt_short8_bits __attribute__((vector_size(16)));

SIMT_INLINE unsigned short simt_half_of(float x)
{
    simt_short8_bits packed = (simt_short8_bits)__builtin_ia32_vcvtps2ph((simt_float4_bits){x, 0, 0, 0}, 0);
    return x == x ? (unsigned short)packed[0] : 0x7fff;
}
SIMT_INLINE float simt_float_of_half(unsigned short bits)
{
    simt_short8_bits packed = {(short)bits, 0, 0, 0, 0, 0, 0, 0};
    float x = ((simt_float4_bits)__builtin_ia32_vcvtph2ps(packed))[0];
    return x == x ? x : __uint_as_float(0x7fffffff);
}
#elif defined(__ARM_FP16_FORMAT_IEEE)
SIMT_INLINE unsigned short simt_half_of(float x)
{
    return x == x ? simt_same_bits<unsigned short>((__fp16)x) : 0x7fff;
}
SIMT_INLINE float simt_float_of_half(unsigned short bits)
{
    float x = (float)simt_same_bits<__fp16>(bits);
    return x == x ? x : __uint_as_float(0x7fffffff);
}
#else
SIMT_INLINE unsigned short simt_half_of(float x)
{
    return x == x ? simt_round_to((double)x, 10, 15, SIMT_ROUND_NEAREST) : 0x7fff;
}
SIMT_INLINE float simt_float_of_half(unsigned short bits)
{
    unsigned int sign = (unsigned int)(bits & 0x8000) << 16, magnitude = bits & 0x7fff;
    if (magnitude > 0x7c00) return __uint_as_float(0x7fffffff);
    if (magnitude == 0x7c00) return __uint_as_float(sign | 0x7f800000u);
    float scaled = __uint_as_float(magnitude << 13) * 5.192296858534828e33f; /* 2^112 moves the exponent */
    return __uint_as_float(sign | __float_as_uint(scaled));
}
#endif

struct simt_half_format {
    static unsigned short narrow(double x, enum simt_rounding rounding)
    {
        return simt_round_to(x, 10, 15, rounding);
    }
    SIMT_INLINE unsigned short narrow(float x) { return simt_half_of(x); }
    SIMT_INLINE float widen(unsigned short bits) { return simt_float_of_half(bits); }
    /** Here the sum in double is exact wherever the last rounding could tell. */
    SIMT_INLINE unsigned short fma(float a, float b, float c)
    {
        return simt_half_of(simt_odd_float((double)a * (double)b + (double)c));
    }
    SIMT_INLINE unsigned short product(float a, float b) { return simt_half_of(a * b); }
    enum { LOWEST_NAN = 0x7c01, INFINITE = 0x7c00 };
};

/* ---- bfloat16: the upper half of a float --------------------------------------------------------------- */

SIMT_INLINE unsigned short simt_bfloat16_of(float x)
{
    unsigned int bits = __float_as_uint(x);
    return x == x ? (unsigned short)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16) : 0x7fff;
}
SIMT_INLINE float simt_float_of_bfloat16(unsigned short bits)
{
    return __uint_as_float((unsigned int)bits << 16);
}

struct simt_bfloat16_format {
    static unsigned short narrow(double x, enum simt_rounding rounding)
    {
        return simt_round_to(x, 7, 127, rounding);
    }
    SIMT_INLINE unsigned short narrow(float x) { return simt_bfloat16_of(x); }
    SIMT_INLINE float widen(unsigned short bits) { return simt_float_of_bfloat16(bits); }
    SIMT_INLINE unsigned short fma(float a, float b, float c)
    {
        return simt_bfloat16_of(simt_odd_float(simt_odd_sum((double)a * (double)b, (double)c)));
    }
    /** A product may be below the range of float. */
    SIMT_INLINE unsigned short product(float a, float b)
    {
        return simt_bfloat16_of(simt_odd_float((double)a * (double)b));
    }
    enum { LOWEST_NAN = 0x7f81, INFINITE = 0x7f80 };
};
