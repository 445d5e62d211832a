/**
 * @file math.h
 * @brief The device math functions that the C library does not have; integer and conversion intrinsics.
 *
 * The fast forms (__expf and its like) are computed as the exact ones: a lesson's error bound must hold for
 * both. Directed rounding is offered for conversions only.
 */
#pragma once

#pragma GCC system_header

#include <math.h>
#include <stdlib.h>

#include "language.h"

/* ---- min and max: every mixture of types that CUDA has ------------------------------------------------- */

#define SIMT_MIN_MAX(T, A, B)                                                                                \
    SIMT_INLINE T min(A a, B b) { return (T)a < (T)b ? (T)a : (T)b; }                                        \
    SIMT_INLINE T max(A a, B b) { return (T)a > (T)b ? (T)a : (T)b; }
#define SIMT_MIN_MAX_SIGNS(S, U)                                                                             \
    SIMT_MIN_MAX(S, S, S)                                                                                    \
    SIMT_MIN_MAX(U, U, U)                                                                                    \
    SIMT_MIN_MAX(U, S, U)                                                                                    \
    SIMT_MIN_MAX(U, U, S)
SIMT_MIN_MAX_SIGNS(int, unsigned int)
SIMT_MIN_MAX_SIGNS(long, unsigned long)
SIMT_MIN_MAX_SIGNS(long long, unsigned long long)

SIMT_INLINE float max(float a, float b) { return fmaxf(a, b); }
SIMT_INLINE float min(float a, float b) { return fminf(a, b); }
SIMT_INLINE double max(double a, double b) { return fmax(a, b); }
SIMT_INLINE double min(double a, double b) { return fmin(a, b); }
SIMT_INLINE double max(float a, double b) { return fmax((double)a, b); }
SIMT_INLINE double min(float a, double b) { return fmin((double)a, b); }
SIMT_INLINE double max(double a, float b) { return fmax(a, (double)b); }
SIMT_INLINE double min(double a, float b) { return fmin(a, (double)b); }

SIMT_INLINE unsigned int umin(unsigned int a, unsigned int b) { return a < b ? a : b; }
SIMT_INLINE unsigned int umax(unsigned int a, unsigned int b) { return a > b ? a : b; }
SIMT_INLINE long long llmin(long long a, long long b) { return a < b ? a : b; }
SIMT_INLINE long long llmax(long long a, long long b) { return a > b ? a : b; }
SIMT_INLINE unsigned long long ullmin(unsigned long long a, unsigned long long b) { return a < b ? a : b; }
SIMT_INLINE unsigned long long ullmax(unsigned long long a, unsigned long long b) { return a > b ? a : b; }

/* ---- float and double functions ------------------------------------------------------------------------ */

SIMT_INLINE float rsqrtf(float x) { return (float)(1.0 / sqrt((double)x)); }
SIMT_INLINE double rsqrt(double x) { return 1.0 / sqrt(x); }
SIMT_INLINE float rsqrt(float x) { return rsqrtf(x); }
SIMT_INLINE float rcbrtf(float x) { return 1.0f / cbrtf(x); }
SIMT_INLINE double rcbrt(double x) { return 1.0 / cbrt(x); }
SIMT_INLINE float rhypotf(float x, float y) { return 1.0f / hypotf(x, y); }
SIMT_INLINE double rhypot(double x, double y) { return 1.0 / hypot(x, y); }
SIMT_INLINE float norm3df(float a, float b, float c) { return sqrtf(a * a + b * b + c * c); }
SIMT_INLINE double norm3d(double a, double b, double c) { return sqrt(a * a + b * b + c * c); }
SIMT_INLINE float norm4df(float a, float b, float c, float d) { return sqrtf(a * a + b * b + c * c + d * d); }
SIMT_INLINE double norm4d(double a, double b, double c, double d)
{
    return sqrt(a * a + b * b + c * c + d * d);
}
SIMT_INLINE float rnorm3df(float a, float b, float c) { return 1.0f / norm3df(a, b, c); }
SIMT_INLINE float fdividef(float a, float b) { return a / b; }
SIMT_INLINE double normcdf(double x) { return 0.5 * erfc(-x * 0.70710678118654752440); }
SIMT_INLINE float normcdff(float x) { return (float)normcdf((double)x); }

/** @brief sin(pi x) with the argument brought into one period first, which keeps multiples of 1/2 exact. */
SIMT_INLINE double sinpi(double x)
{
    double r = fmod(x, 2.0);
    if (r == 0.0 || fabs(r) == 1.0) return copysign(0.0, x);
    return fabs(r) == 0.5 ? copysign(1.0, r) : fabs(r) == 1.5 ? copysign(1.0, -r) : sin(M_PI * r);
}
SIMT_INLINE double cospi(double x)
{
    double r = fabs(fmod(x, 2.0));
    return r == 0.5 || r == 1.5 ? 0.0 : cos(M_PI * r);
}
SIMT_INLINE float sinpif(float x) { return (float)sinpi((double)x); }
SIMT_INLINE float cospif(float x) { return (float)cospi((double)x); }
SIMT_INLINE void sincospi(double x, double *s, double *c)
{
    *s = sinpi(x);
    *c = cospi(x);
}
SIMT_INLINE void sincospif(float x, float *s, float *c)
{
    *s = sinpif(x);
    *c = cospif(x);
}

/* The C library declares some of these names for its own use, with external linkage. */
#define __expf simt_fast_expf
#define __exp10f simt_fast_exp10f
#define __logf simt_fast_logf
#define __log2f simt_fast_log2f
#define __log10f simt_fast_log10f
#define __powf simt_fast_powf
#define __sinf simt_fast_sinf
#define __cosf simt_fast_cosf
#define __tanf simt_fast_tanf
#define __tanhf simt_fast_tanhf
#define __sincosf simt_fast_sincosf

SIMT_INLINE float __expf(float x) { return expf(x); }
SIMT_INLINE float __exp10f(float x) { return (float)pow(10.0, (double)x); }
SIMT_INLINE float __logf(float x) { return logf(x); }
SIMT_INLINE float __log2f(float x) { return log2f(x); }
SIMT_INLINE float __log10f(float x) { return log10f(x); }
SIMT_INLINE float __powf(float x, float y) { return powf(x, y); }
SIMT_INLINE float __sinf(float x) { return sinf(x); }
SIMT_INLINE float __cosf(float x) { return cosf(x); }
SIMT_INLINE float __tanf(float x) { return tanf(x); }
SIMT_INLINE float __tanhf(float x) { return tanhf(x); }
SIMT_INLINE void __sincosf(float x, float *s, float *c)
{
    *s = sinf(x);
    *c = cosf(x);
}
/** @brief As the fast form on hardware: a divisor above 2^126 gives 0. */
SIMT_INLINE float __fdividef(float a, float b)
{
    return fabsf(b) > 8.507059173023462e37f && fabsf(b) <= 3.4028234663852886e38f ? 0.0f * a : a / b;
}
SIMT_INLINE float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }

/** @brief Keeps a value from being contracted into a fused multiply-add. */
template <typename T> SIMT_INLINE T simt_rounded(T x)
{
#if defined(__x86_64__)
    __asm__("" : "+x"(x));
#else
    __asm__("" : "+w"(x));
#endif
    return x;
}
SIMT_INLINE float __fadd_rn(float a, float b) { return simt_rounded(simt_rounded(a) + simt_rounded(b)); }
SIMT_INLINE float __fsub_rn(float a, float b) { return simt_rounded(simt_rounded(a) - simt_rounded(b)); }
SIMT_INLINE float __fmul_rn(float a, float b) { return simt_rounded(a * b); }
SIMT_INLINE float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
SIMT_INLINE float __frcp_rn(float x) { return 1.0f / x; }
SIMT_INLINE float __fsqrt_rn(float x) { return sqrtf(x); }
SIMT_INLINE float __frsqrt_rn(float x) { return rsqrtf(x); }
SIMT_INLINE float __fdiv_rn(float a, float b) { return a / b; }
SIMT_INLINE double __dadd_rn(double a, double b) { return simt_rounded(simt_rounded(a) + simt_rounded(b)); }
SIMT_INLINE double __dsub_rn(double a, double b) { return simt_rounded(simt_rounded(a) - simt_rounded(b)); }
SIMT_INLINE double __dmul_rn(double a, double b) { return simt_rounded(a * b); }
SIMT_INLINE double __fma_rn(double a, double b, double c) { return __builtin_fma(a, b, c); }
SIMT_INLINE double __drcp_rn(double x) { return 1.0 / x; }
SIMT_INLINE double __dsqrt_rn(double x) { return sqrt(x); }
SIMT_INLINE double __ddiv_rn(double a, double b) { return a / b; }

/* ---- bits ---------------------------------------------------------------------------------------------- */

template <typename To, typename From> SIMT_INLINE To simt_same_bits(From from)
{
    static_assert(sizeof(To) == sizeof(From), "reinterpretation keeps the size");
    To to;
    __builtin_memcpy(&to, &from, sizeof(To));
    return to;
}
SIMT_INLINE int __float_as_int(float x) { return simt_same_bits<int>(x); }
SIMT_INLINE unsigned int __float_as_uint(float x) { return simt_same_bits<unsigned int>(x); }
SIMT_INLINE float __int_as_float(int x) { return simt_same_bits<float>(x); }
SIMT_INLINE float __uint_as_float(unsigned int x) { return simt_same_bits<float>(x); }
SIMT_INLINE long long __double_as_longlong(double x) { return simt_same_bits<long long>(x); }
SIMT_INLINE double __longlong_as_double(long long x) { return simt_same_bits<double>(x); }
SIMT_INLINE int __double2hiint(double x) { return (int)(__double_as_longlong(x) >> 32); }
SIMT_INLINE int __double2loint(double x) { return (int)__double_as_longlong(x); }
SIMT_INLINE double __hiloint2double(int high, int low)
{
    return __longlong_as_double((long long)high << 32 | (long long)(unsigned int)low);
}

SIMT_INLINE int __popc(unsigned int x) { return __builtin_popcount(x); }
SIMT_INLINE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
SIMT_INLINE int __clz(int x) { return x == 0 ? 32 : __builtin_clz((unsigned int)x); }
SIMT_INLINE int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll((unsigned long long)x); }
SIMT_INLINE int __ffs(int x) { return __builtin_ffs(x); }
SIMT_INLINE int __ffsll(long long x) { return __builtin_ffsll(x); }
SIMT_INLINE unsigned int __brev(unsigned int x)
{
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(x);
}
SIMT_INLINE unsigned long long __brevll(unsigned long long x)
{
    return (unsigned long long)__brev((unsigned int)x) << 32 | __brev((unsigned int)(x >> 32));
}
/** @brief Index of the nth set bit counted from @p base, upwards for offset > 0, downwards for offset < 0. */
SIMT_INLINE unsigned int __fns(unsigned int mask, unsigned int base, int offset)
{
    if (offset == 0) return mask >> base & 1 ? base : 0xffffffffu;
    int step = offset > 0 ? 1 : -1, left = offset > 0 ? offset : -offset;
    for (int bit = (int)base; bit >= 0 && bit < 32; bit += step)
        if ((mask >> bit & 1) && --left == 0) return (unsigned int)bit;
    return 0xffffffffu;
}
SIMT_INLINE unsigned int __byte_perm(unsigned int low, unsigned int high, unsigned int selector)
{
    unsigned long long bytes = (unsigned long long)high << 32 | low;
    unsigned int result = 0;
    for (int i = 0; i < 4; i++) {
        unsigned int pick = selector >> (4 * i) & 0xf;
        unsigned int byte = (unsigned int)(bytes >> (8 * (pick & 7))) & 0xff;
        if (pick & 8) byte = byte & 0x80 ? 0xff : 0;
        result |= byte << (8 * i);
    }
    return result;
}
SIMT_INLINE unsigned int __funnelshift_l(unsigned int low, unsigned int high, unsigned int shift)
{
    return (unsigned int)((((unsigned long long)high << 32 | low) << (shift & 31)) >> 32);
}
SIMT_INLINE unsigned int __funnelshift_r(unsigned int low, unsigned int high, unsigned int shift)
{
    return (unsigned int)(((unsigned long long)high << 32 | low) >> (shift & 31));
}
SIMT_INLINE unsigned int __funnelshift_lc(unsigned int low, unsigned int high, unsigned int shift)
{
    return shift >= 32 ? low : __funnelshift_l(low, high, shift);
}
SIMT_INLINE unsigned int __funnelshift_rc(unsigned int low, unsigned int high, unsigned int shift)
{
    return shift >= 32 ? high : __funnelshift_r(low, high, shift);
}

/* ---- integer arithmetic -------------------------------------------------------------------------------- */

SIMT_INLINE int __mul24(int a, int b) { return (int)((long long)(a << 8 >> 8) * (long long)(b << 8 >> 8)); }
SIMT_INLINE unsigned int __umul24(unsigned int a, unsigned int b) { return (a << 8 >> 8) * (b << 8 >> 8); }
SIMT_INLINE int __mulhi(int a, int b) { return (int)(((long long)a * b) >> 32); }
SIMT_INLINE unsigned int __umulhi(unsigned int a, unsigned int b)
{
    return (unsigned int)(((unsigned long long)a * b) >> 32);
}
SIMT_INLINE long long __mul64hi(long long a, long long b) { return (long long)(((__int128)a * b) >> 64); }
SIMT_INLINE unsigned long long __umul64hi(unsigned long long a, unsigned long long b)
{
    return (unsigned long long)(((unsigned __int128)a * b) >> 64);
}
SIMT_INLINE int __hadd(int a, int b) { return (int)(((long long)a + b) >> 1); }
SIMT_INLINE int __rhadd(int a, int b) { return (int)(((long long)a + b + 1) >> 1); }
SIMT_INLINE unsigned int __uhadd(unsigned int a, unsigned int b)
{
    return (unsigned int)(((unsigned long long)a + b) >> 1);
}
SIMT_INLINE unsigned int __urhadd(unsigned int a, unsigned int b)
{
    return (unsigned int)(((unsigned long long)a + b + 1) >> 1);
}
SIMT_INLINE unsigned int __sad(int a, int b, unsigned int c)
{
    return (a > b ? (unsigned int)a - (unsigned int)b : (unsigned int)b - (unsigned int)a) + c;
}
SIMT_INLINE unsigned int __usad(unsigned int a, unsigned int b, unsigned int c)
{
    return (a > b ? a - b : b - a) + c;
}

SIMT_INLINE int __dp4a(int a, int b, int c)
{
    for (int i = 0; i < 4; i++) c += (int)(signed char)(a >> (8 * i)) * (int)(signed char)(b >> (8 * i));
    return c;
}
SIMT_INLINE unsigned int __dp4a(unsigned int a, unsigned int b, unsigned int c)
{
    for (int i = 0; i < 4; i++) c += (a >> (8 * i) & 0xff) * (b >> (8 * i) & 0xff);
    return c;
}
SIMT_INLINE int __dp4a(char4 a, char4 b, int c) { return c + a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }
SIMT_INLINE unsigned int __dp4a(uchar4 a, uchar4 b, unsigned int c)
{
    return c + (unsigned int)(a.x * b.x) + (unsigned int)(a.y * b.y) + (unsigned int)(a.z * b.z) +
           (unsigned int)(a.w * b.w);
}

/* ---- conversions: they saturate ------------- */

/** @brief NaN becomes 0 from a float, but only the top bit set from a double or to 64 bits. */
template <typename T> SIMT_INLINE T simt_saturate(double x, bool from_double = false)
{
    const T top_bit = (T)((unsigned long long)1 << (8 * sizeof(T) - 1));
    const T lowest = (T)-1 > 0 ? 0 : top_bit, highest = (T)~lowest;
    if (x != x) return sizeof(T) == 8 || from_double ? top_bit : 0;
    if (x <= (double)lowest) return lowest;
    return x >= (double)highest ? highest : (T)x;
}
#define SIMT_TO_INTEGER(from, name, T)                                                                       \
    SIMT_INLINE T __##name##_rn(from x) { return simt_saturate<T>(rint((double)x), sizeof(x) == 8); }        \
    SIMT_INLINE T __##name##_rz(from x) { return simt_saturate<T>(trunc((double)x), sizeof(x) == 8); }       \
    SIMT_INLINE T __##name##_ru(from x) { return simt_saturate<T>(ceil((double)x), sizeof(x) == 8); }        \
    SIMT_INLINE T __##name##_rd(from x) { return simt_saturate<T>(floor((double)x), sizeof(x) == 8); }
SIMT_TO_INTEGER(float, float2int, int)
SIMT_TO_INTEGER(float, float2uint, unsigned int)
SIMT_TO_INTEGER(float, float2ll, long long)
SIMT_TO_INTEGER(float, float2ull, unsigned long long)
SIMT_TO_INTEGER(double, double2int, int)
SIMT_TO_INTEGER(double, double2uint, unsigned int)
SIMT_TO_INTEGER(double, double2ll, long long)
SIMT_TO_INTEGER(double, double2ull, unsigned long long)

SIMT_INLINE float __int2float_rn(int x) { return (float)x; }
SIMT_INLINE float __uint2float_rn(unsigned int x) { return (float)x; }
SIMT_INLINE float __ll2float_rn(long long x) { return (float)x; }
SIMT_INLINE float __ull2float_rn(unsigned long long x) { return (float)x; }
SIMT_INLINE double __int2double_rn(int x) { return (double)x; }
SIMT_INLINE double __uint2double_rn(unsigned int x) { return (double)x; }
SIMT_INLINE double __ll2double_rn(long long x) { return (double)x; }
SIMT_INLINE double __ull2double_rn(unsigned long long x) { return (double)x; }
SIMT_INLINE float __double2float_rn(double x) { return (float)x; }
