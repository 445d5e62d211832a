/**
 * @file rounding.h
 * @brief Arithmetic and conversions that round towards zero, up or down: the processor's own instructions, in that mode.
 */
#pragma once

#pragma GCC system_header

#include "math.h"

/** @brief From now on the processor rounds so: a bit set of the control word that has the mode, of which the rest stays. Returns the one
 *         before. */
extern "C" unsigned int simt_rounding(unsigned int mode);

/** @brief The processor rounds in this way as long as the object lives. Threads are not switched meanwhile. */
class simt_rounding_mode
{
    unsigned int old;

  public:
#if defined(__x86_64__)
    enum direction { DOWN = 0x2000, UP = 0x4000, ZERO = 0x6000 };
#elif defined(__aarch64__)
    enum direction { UP = 0x400000, DOWN = 0x800000, ZERO = 0xc00000 };
#endif
    __attribute__((always_inline)) simt_rounding_mode(direction d) : old(simt_rounding(d)) {}
    __attribute__((always_inline)) ~simt_rounding_mode() { simt_rounding(old); }
};

/** @brief A value that is taken, and a result that is computed, between the changes of the mode: the compiler knows of neither. */
template <typename T> SIMT_INLINE T simt_kept_here(T x)
{
#if defined(__x86_64__)
    __asm__ volatile("" : "+x"(x));
#else
    __asm__ volatile("" : "+w"(x));
#endif
    return x;
}
template <typename T> SIMT_INLINE T simt_kept_integer(T x)
{
    __asm__ volatile("" : "+r"(x));
    return x;
}

#define SIMT_DIRECTED(T, name, parameters, take, expression)                                                 \
    SIMT_DIRECTED_AS(T, name##_rz, ZERO, parameters, take, expression)                                       \
    SIMT_DIRECTED_AS(T, name##_ru, UP, parameters, take, expression)                                         \
    SIMT_DIRECTED_AS(T, name##_rd, DOWN, parameters, take, expression)
#define SIMT_DIRECTED_AS(T, name, direction, parameters, take, expression)                                   \
    SIMT_INLINE T name parameters                                                                            \
    {                                                                                                        \
        const simt_rounding_mode mode(simt_rounding_mode::direction);                                        \
        take return simt_kept_here((T)(expression));                                                         \
    }
#define SIMT_TAKE_1 a = simt_kept_here(a);
#define SIMT_TAKE_2 SIMT_TAKE_1 b = simt_kept_here(b);
#define SIMT_TAKE_3 SIMT_TAKE_2 c = simt_kept_here(c);

#define SIMT_DIRECTED_ARITHMETIC(T, f, fma_name, fma, root)                                                  \
    SIMT_DIRECTED(T, __##f##add, (T a, T b), SIMT_TAKE_2, a + b)                                             \
    SIMT_DIRECTED(T, __##f##sub, (T a, T b), SIMT_TAKE_2, a - b)                                             \
    SIMT_DIRECTED(T, __##f##mul, (T a, T b), SIMT_TAKE_2, a *b)                                              \
    SIMT_DIRECTED(T, __##f##div, (T a, T b), SIMT_TAKE_2, a / b)                                             \
    SIMT_DIRECTED(T, __##f##rcp, (T a), SIMT_TAKE_1, (T)1 / a)                                               \
    SIMT_DIRECTED(T, __##f##sqrt, (T a), SIMT_TAKE_1, root(a))                                               \
    SIMT_DIRECTED(T, fma_name, (T a, T b, T c), SIMT_TAKE_3, fma(a, b, c))
SIMT_DIRECTED_ARITHMETIC(float, f, __fmaf, __builtin_fmaf, __builtin_sqrtf)
SIMT_DIRECTED_ARITHMETIC(double, d, __fma, __builtin_fma, __builtin_sqrt)

/* x86-64 converts 64 bits that are not signed in halves that it adds: exactly, but for one rounding. */
#define SIMT_FROM_INTEGER(To, name, From)                                                                    \
    SIMT_DIRECTED(To, name, (From x), x = simt_kept_integer(x);, x)
SIMT_FROM_INTEGER(float, __int2float, int)
SIMT_FROM_INTEGER(float, __uint2float, unsigned int)
SIMT_FROM_INTEGER(float, __ll2float, long long)
SIMT_FROM_INTEGER(float, __ull2float, unsigned long long)
SIMT_FROM_INTEGER(double, __ll2double, long long)
SIMT_FROM_INTEGER(double, __ull2double, unsigned long long)
SIMT_DIRECTED(float, __double2float, (double a), SIMT_TAKE_1, a)

#undef SIMT_DIRECTED
#undef SIMT_DIRECTED_AS
#undef SIMT_TAKE_1
#undef SIMT_TAKE_2
#undef SIMT_TAKE_3
#undef SIMT_DIRECTED_ARITHMETIC
#undef SIMT_FROM_INTEGER

/* ---- of 64 bits to the small types ------------------------------------------------------------------------ */

/** @brief An integer as a double that rounds as the integer does, to fewer bits than a double has: what does not fit leaves a mark. */
SIMT_INLINE double simt_marked(int x) { return x; }
SIMT_INLINE double simt_marked(unsigned int x) { return x; }
SIMT_INLINE double simt_marked(unsigned long long x)
{
    return (double)(x >> 53 != 0 && (x & 0x7ff) != 0 ? (x & ~0x7ffull) | 0x800 : x);
}
SIMT_INLINE double simt_marked(long long x)
{
    return x < 0 ? -simt_marked(0 - (unsigned long long)x) : simt_marked((unsigned long long)x);
}
SIMT_INLINE double simt_marked(unsigned long x) { return simt_marked((unsigned long long)x); }
SIMT_INLINE double simt_marked(long x) { return simt_marked((long long)x); }
