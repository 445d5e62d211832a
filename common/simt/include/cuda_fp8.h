/**
 * @file cuda_fp8.h
 * @brief Numbers of eight bits: E4M3 and E5M2, the exponents E8M0, their pairs and fours, and all conversions.
 *
 * Every result is rounded once, from the exact value. tests/simt/programs/fp8_conversions.cu compares them with what CUDA's
 * header gives, over all inputs of 16 bits and fewer and a sweep of the larger ones. NaN is 0x7f, as instructions of the
 * device give it; from a double that is NaN, CUDA's header gives other bits on the host.
 */
#pragma once

#pragma GCC system_header

#define __CUDA_FP8_TYPES_EXIST__

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "simt/small_float.h"

typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short int __nv_fp8x2_storage_t;
typedef unsigned int __nv_fp8x4_storage_t;

/** @brief What is too large becomes NaN or infinity, or the largest finite number. */
typedef enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE } __nv_saturation_t;
typedef enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 } __nv_fp8_interpretation_t;

/* ---- numbers ------------------------------------------------------------------------------------------- */

/** @brief Rounds to nearest, ties to even. */
static inline __nv_fp8_storage_t simt_fp8_of(double x, __nv_saturation_t saturate, __nv_fp8_interpretation_t kind)
{
    const int fraction_bits = kind == __NV_E4M3 ? 3 : 2, least = kind == __NV_E4M3 ? -6 : -14;
    const unsigned long long largest = kind == __NV_E4M3 ? 0x7e : 0x7b, beyond = kind == __NV_E4M3 ? 0x7f : 0x7c;
    const unsigned long long bits = (unsigned long long)__double_as_longlong(x);
    const unsigned int sign = (unsigned int)(bits >> 63) << 7;
    const int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
    if (x != x) return 0x7f;
    unsigned long long result = beyond;
    if (exponent <= 16) {
        int shift = 52 - fraction_bits + (exponent < least ? least - exponent : 0);
        if (shift > 62) shift = 62;
        const unsigned long long fraction = (bits & 0xfffffffffffffull) | (exponent > -1023 ? 1ull << 52 : 0);
        const unsigned long long unit = 1ull << shift, rest = fraction & (unit - 1);
        result = fraction >> shift;
        result += (unsigned long long)simt_goes_up(SIMT_ROUND_NEAREST, 0, result, rest, unit);
        if (exponent >= least) result += (unsigned long long)(exponent - least) << fraction_bits;
    }
    if (result > largest) result = saturate == __NV_SATFINITE ? largest : beyond;
    return (__nv_fp8_storage_t)(sign | (unsigned int)result);
}

/** @brief Every number of eight bits is a half. NaN loses its sign. */
SIMT_INLINE unsigned short simt_half_of_fp8(__nv_fp8_storage_t x, __nv_fp8_interpretation_t kind)
{
    const unsigned int sign = (unsigned int)(x & 0x80) << 8, magnitude = x & 0x7f;
    if (kind == __NV_E5M2) return (unsigned short)(magnitude > 0x7c ? 0x7fff : sign | magnitude << 8);
    if (magnitude == 0x7f) return 0x7fff;
    /* the bits of a half whose exponent is 2^8 too small */
    return (unsigned short)(sign | simt_half_of(simt_float_of_half((unsigned short)(magnitude << 7)) * 256.0f));
}

SIMT_INLINE __nv_fp8_storage_t __nv_cvt_double_to_fp8(const double x, const __nv_saturation_t saturate,
                                                      const __nv_fp8_interpretation_t kind)
{
    return simt_fp8_of(x, saturate, kind);
}
SIMT_INLINE __nv_fp8_storage_t __nv_cvt_float_to_fp8(const float x, const __nv_saturation_t saturate,
                                                     const __nv_fp8_interpretation_t kind)
{
    return simt_fp8_of((double)x, saturate, kind);
}
SIMT_INLINE __nv_fp8_storage_t __nv_cvt_halfraw_to_fp8(const __half_raw x, const __nv_saturation_t saturate,
                                                       const __nv_fp8_interpretation_t kind)
{
    return simt_fp8_of((double)simt_float_of_half(x.x), saturate, kind);
}
SIMT_INLINE __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_fp8(const __nv_bfloat16_raw x, const __nv_saturation_t saturate,
                                                           const __nv_fp8_interpretation_t kind)
{
    return simt_fp8_of((double)simt_float_of_bfloat16(x.x), saturate, kind);
}
SIMT_INLINE __half_raw __nv_cvt_fp8_to_halfraw(const __nv_fp8_storage_t x, const __nv_fp8_interpretation_t kind)
{
    return __half_raw{simt_half_of_fp8(x, kind)};
}

/** @brief The first of a pair is in the lower byte. */
SIMT_INLINE __nv_fp8x2_storage_t simt_fp8_pair(__nv_fp8_storage_t low, __nv_fp8_storage_t high)
{
    return (__nv_fp8x2_storage_t)(low | high << 8);
}
#define SIMT_FP8_PAIR_OF(name, one, T, part)                                                                 \
    SIMT_INLINE __nv_fp8x2_storage_t name(const T x, const __nv_saturation_t saturate,                       \
                                          const __nv_fp8_interpretation_t kind)                              \
    {                                                                                                        \
        return simt_fp8_pair(one(part{x.x}, saturate, kind), one(part{x.y}, saturate, kind));                \
    }
SIMT_FP8_PAIR_OF(__nv_cvt_double2_to_fp8x2, __nv_cvt_double_to_fp8, double2, double)
SIMT_FP8_PAIR_OF(__nv_cvt_float2_to_fp8x2, __nv_cvt_float_to_fp8, float2, float)
SIMT_FP8_PAIR_OF(__nv_cvt_halfraw2_to_fp8x2, __nv_cvt_halfraw_to_fp8, __half2_raw, __half_raw)
SIMT_FP8_PAIR_OF(__nv_cvt_bfloat16raw2_to_fp8x2, __nv_cvt_bfloat16raw_to_fp8, __nv_bfloat162_raw, __nv_bfloat16_raw)
#undef SIMT_FP8_PAIR_OF
SIMT_INLINE __half2_raw __nv_cvt_fp8x2_to_halfraw2(const __nv_fp8x2_storage_t x, const __nv_fp8_interpretation_t kind)
{
    return __half2_raw{simt_half_of_fp8((__nv_fp8_storage_t)x, kind), simt_half_of_fp8((__nv_fp8_storage_t)(x >> 8), kind)};
}

/* ---- exponents: a power of two from 2^-127 to 2^127, without a sign ------------------------------------ */

/** @brief Up or down to a power of two. */
static inline __nv_fp8_storage_t simt_e8m0_of(double x, __nv_saturation_t saturate, enum cudaRoundMode rounding)
{
    const unsigned long long bits = (unsigned long long)__double_as_longlong(x) & 0x7fffffffffffffffull;
    if (x != x) return 0xff;
    int code = (int)(bits >> 52) - 1023 + 127;
    if (rounding == cudaRoundPosInf && (bits & 0xfffffffffffffull) != 0) code++;
    if (code < 0) code = 0; /* 0 and all below are 2^-127 */
    const bool is_finite = bits < 0x7ff0000000000000ull;
    if (code > 254) code = saturate == __NV_SATFINITE || (is_finite && rounding == cudaRoundZero) ? 254 : 255;
    return (__nv_fp8_storage_t)code;
}
SIMT_INLINE __nv_fp8_storage_t __nv_cvt_double_to_e8m0(const double x, const __nv_saturation_t saturate,
                                                       const enum cudaRoundMode rounding)
{
    return simt_e8m0_of(x, saturate, rounding);
}
SIMT_INLINE __nv_fp8_storage_t __nv_cvt_float_to_e8m0(const float x, const __nv_saturation_t saturate,
                                                      const enum cudaRoundMode rounding)
{
    return simt_e8m0_of((double)x, saturate, rounding);
}
SIMT_INLINE __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_e8m0(const __nv_bfloat16_raw x, const __nv_saturation_t saturate,
                                                            const enum cudaRoundMode rounding)
{
    return simt_e8m0_of((double)simt_float_of_bfloat16(x.x), saturate, rounding);
}
#define SIMT_E8M0_PAIR_OF(name, one, T, part)                                                                \
    SIMT_INLINE __nv_fp8x2_storage_t name(const T x, const __nv_saturation_t saturate,                       \
                                          const enum cudaRoundMode rounding)                                 \
    {                                                                                                        \
        return simt_fp8_pair(one(part{x.x}, saturate, rounding), one(part{x.y}, saturate, rounding));        \
    }
SIMT_E8M0_PAIR_OF(__nv_cvt_double2_to_e8m0x2, __nv_cvt_double_to_e8m0, double2, double)
SIMT_E8M0_PAIR_OF(__nv_cvt_float2_to_e8m0x2, __nv_cvt_float_to_e8m0, float2, float)
SIMT_E8M0_PAIR_OF(__nv_cvt_bfloat162raw_to_e8m0x2, __nv_cvt_bfloat16raw_to_e8m0, __nv_bfloat162_raw, __nv_bfloat16_raw)
#undef SIMT_E8M0_PAIR_OF
SIMT_INLINE __nv_bfloat16_raw __nv_cvt_e8m0_to_bf16raw(const __nv_fp8_storage_t x)
{
    return __nv_bfloat16_raw{(unsigned short)(x == 0xff ? 0x7fff : x == 0 ? 0x0040 : x << 7)};
}
SIMT_INLINE __nv_bfloat162_raw __nv_cvt_e8m0x2_to_bf162raw(const __nv_fp8x2_storage_t x)
{
    return __nv_bfloat162_raw{__nv_cvt_e8m0_to_bf16raw((__nv_fp8_storage_t)x).x,
                              __nv_cvt_e8m0_to_bf16raw((__nv_fp8_storage_t)(x >> 8)).x};
}

/* ---- the types ----------------------------------------------------------------------------------------- */

struct simt_e4m3_format {
    static __nv_fp8_storage_t narrow(double x) { return simt_fp8_of(x, __NV_SATFINITE, __NV_E4M3); }
    static float widen(__nv_fp8_storage_t x) { return simt_float_of_half(simt_half_of_fp8(x, __NV_E4M3)); }
    static bool is_true(__nv_fp8_storage_t x) { return (x & 0x7f) != 0; }
};
struct simt_e5m2_format {
    static __nv_fp8_storage_t narrow(double x) { return simt_fp8_of(x, __NV_SATFINITE, __NV_E5M2); }
    static float widen(__nv_fp8_storage_t x) { return simt_float_of_half(simt_half_of_fp8(x, __NV_E5M2)); }
    static bool is_true(__nv_fp8_storage_t x) { return (x & 0x7f) != 0; }
};
struct simt_e8m0_format {
    static __nv_fp8_storage_t narrow(double x) { return simt_e8m0_of(x, __NV_SATFINITE, cudaRoundPosInf); }
    static float widen(__nv_fp8_storage_t x) { return simt_float_of_bfloat16(__nv_cvt_e8m0_to_bf16raw(x).x); }
    static bool is_true(__nv_fp8_storage_t) { return true; }
};

/** @brief Integers of 32 bits and more go through a float, as in CUDA's header, except for exponents. */
#define SIMT_FP8_TO(T)                                                                                       \
    explicit operator T() const { return simt_saturate<T>(trunc((double)FORMAT::widen(__x))); }

#define SIMT_FP8_TYPE(name, FORMAT_OF, through)                                                              \
    struct __attribute__((aligned(1))) name {                                                                \
        typedef FORMAT_OF FORMAT;                                                                            \
        __nv_fp8_storage_t __x;                                                                              \
        name() = default;                                                                                    \
        explicit name(const __half x) : __x(FORMAT::narrow((double)__half2float(x))) {}                      \
        explicit name(const __nv_bfloat16 x) : __x(FORMAT::narrow((double)__bfloat162float(x))) {}           \
        explicit name(const float x) : __x(FORMAT::narrow((double)x)) {}                                     \
        explicit name(const double x) : __x(FORMAT::narrow(x)) {}                                            \
        explicit name(const short x) : __x(FORMAT::narrow((double)x)) {}                                     \
        explicit name(const unsigned short x) : __x(FORMAT::narrow((double)x)) {}                            \
        explicit name(const int x) : __x(FORMAT::narrow((double)(through)x)) {}                              \
        explicit name(const unsigned int x) : __x(FORMAT::narrow((double)(through)x)) {}                     \
        explicit name(const long x) : __x(simt_from_integer<FORMAT, through>(x)) {}                          \
        explicit name(const unsigned long x) : __x(simt_from_integer<FORMAT, through>(x)) {}                 \
        explicit name(const long long x) : __x(simt_from_integer<FORMAT, through>(x)) {}                     \
        explicit name(const unsigned long long x) : __x(simt_from_integer<FORMAT, through>(x)) {}            \
        explicit operator __half() const { return __float2half(FORMAT::widen(__x)); }                        \
        explicit operator float() const { return FORMAT::widen(__x); }                                       \
        explicit operator __nv_bfloat16() const { return __float2bfloat16_rz(FORMAT::widen(__x)); }          \
        explicit operator double() const { return (double)FORMAT::widen(__x); }                              \
        explicit operator bool() const { return FORMAT::is_true(__x); }                                      \
        SIMT_FP8_TO(char)                                                                                    \
        SIMT_FP8_TO(signed char)                                                                             \
        SIMT_FP8_TO(unsigned char)                                                                           \
        SIMT_FP8_TO(short)                                                                                   \
        SIMT_FP8_TO(unsigned short)                                                                          \
        SIMT_FP8_TO(int)                                                                                     \
        SIMT_FP8_TO(unsigned int)                                                                            \
        SIMT_FP8_TO(long)                                                                                    \
        SIMT_FP8_TO(unsigned long)                                                                           \
        SIMT_FP8_TO(long long)                                                                               \
        SIMT_FP8_TO(unsigned long long)                                                                      \
    };

/** @brief A 64-bit integer may lie between two doubles: what is cut off still sends an exponent up. */
template <typename FORMAT, typename THROUGH, typename T> static inline __nv_fp8_storage_t simt_from_integer(T x)
{
    if (sizeof(THROUGH) == sizeof(float)) return FORMAT::narrow((double)(THROUGH)x);
    unsigned long long magnitude = x < 0 ? 0ull - (unsigned long long)x : (unsigned long long)x;
    if (magnitude >> 32 != 0) magnitude = (magnitude >> 16 << 16) | ((magnitude & 0xffff) != 0 ? 0x8000 : 0);
    return FORMAT::narrow((double)magnitude);
}
SIMT_FP8_TYPE(__nv_fp8_e4m3, simt_e4m3_format, float)
SIMT_FP8_TYPE(__nv_fp8_e5m2, simt_e5m2_format, float)
SIMT_FP8_TYPE(__nv_fp8_e8m0, simt_e8m0_format, double)
#undef SIMT_FP8_TYPE
#undef SIMT_FP8_TO

#define SIMT_FP8_PAIR(name, FORMAT_OF)                                                                       \
    struct __attribute__((aligned(2))) name {                                                                \
        typedef FORMAT_OF FORMAT;                                                                            \
        __nv_fp8x2_storage_t __x;                                                                            \
        name() = default;                                                                                    \
        explicit name(const __half2 x) : __x(of(__half2float(x.x), __half2float(x.y))) {}                    \
        explicit name(const __nv_bfloat162 x) : __x(of(__bfloat162float(x.x), __bfloat162float(x.y))) {}     \
        explicit name(const float2 x) : __x(of(x.x, x.y)) {}                                                 \
        explicit name(const double2 x) : __x(of(x.x, x.y)) {}                                                \
        explicit operator __half2() const { return __floats2half2_rn(part(0), part(1)); }                    \
        explicit operator __nv_bfloat162() const { return __floats2bfloat162_rn(part(0), part(1)); }         \
        explicit operator float2() const { return make_float2(part(0), part(1)); }                           \
                                                                                                             \
      private:                                                                                               \
        static __nv_fp8x2_storage_t of(double a, double b)                                                   \
        {                                                                                                    \
            return simt_fp8_pair(FORMAT::narrow(a), FORMAT::narrow(b));                                      \
        }                                                                                                    \
        float part(int i) const { return FORMAT::widen((__nv_fp8_storage_t)(__x >> 8 * i)); }                \
    };
SIMT_FP8_PAIR(__nv_fp8x2_e4m3, simt_e4m3_format)
SIMT_FP8_PAIR(__nv_fp8x2_e5m2, simt_e5m2_format)
SIMT_FP8_PAIR(__nv_fp8x2_e8m0, simt_e8m0_format)
#undef SIMT_FP8_PAIR

#define SIMT_FP8_FOUR(name, FORMAT_OF)                                                                       \
    struct __attribute__((aligned(4))) name {                                                                \
        typedef FORMAT_OF FORMAT;                                                                            \
        __nv_fp8x4_storage_t __x;                                                                            \
        name() = default;                                                                                    \
        explicit name(const __half2 low, const __half2 high)                                                 \
            : __x(of(__half2float(low.x), __half2float(low.y), __half2float(high.x), __half2float(high.y)))  \
        {                                                                                                    \
        }                                                                                                    \
        explicit name(const __nv_bfloat162 low, const __nv_bfloat162 high)                                   \
            : __x(of(__bfloat162float(low.x), __bfloat162float(low.y), __bfloat162float(high.x),             \
                     __bfloat162float(high.y)))                                                              \
        {                                                                                                    \
        }                                                                                                    \
        explicit name(const float4 x) : __x(of(x.x, x.y, x.z, x.w)) {}                                       \
        explicit name(const double4 x) : __x(of(x.x, x.y, x.z, x.w)) {}                                      \
        explicit operator float4() const { return make_float4(part(0), part(1), part(2), part(3)); }         \
                                                                                                             \
      private:                                                                                               \
        static __nv_fp8x4_storage_t of(double a, double b, double c, double d)                               \
        {                                                                                                    \
            return simt_fp8_pair(FORMAT::narrow(a), FORMAT::narrow(b)) |                                     \
                   (__nv_fp8x4_storage_t)simt_fp8_pair(FORMAT::narrow(c), FORMAT::narrow(d)) << 16;          \
        }                                                                                                    \
        float part(int i) const { return FORMAT::widen((__nv_fp8_storage_t)(__x >> 8 * i)); }                \
    };
SIMT_FP8_FOUR(__nv_fp8x4_e4m3, simt_e4m3_format)
SIMT_FP8_FOUR(__nv_fp8x4_e5m2, simt_e5m2_format)
SIMT_FP8_FOUR(__nv_fp8x4_e8m0, simt_e8m0_format)
#undef SIMT_FP8_FOUR
