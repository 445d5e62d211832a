/**
 * @file simd.h
 * @brief Intrinsics on the two halves or four bytes of a word, and those for dynamic programming (DPX).
 */
#pragma once

#pragma GCC system_header

#include "language.h"

template <typename T> SIMT_INLINE constexpr int simt_clamped(int x)
{
    constexpr int bits = 8 * (int)sizeof(T);
    constexpr int lowest = (T)-1 < (T)0 ? -(1 << (bits - 1)) : 0, highest = lowest + (1 << bits) - 1;
    return x < lowest ? lowest : x > highest ? highest : x;
}

/* Loops and no templates: what a header leaves to be instantiated, each file that includes it pays for. */
#define SIMT_EACH_PART(T, at) for (int at = 0; at < 32; at += 8 * (int)sizeof(T))
#define SIMT_PART(T, word, at) ((int)(T)((word) >> (at)))
#define SIMT_PLACED(T, value, at)                                                                            \
    (((unsigned int)(value) & ((1u << 8 * sizeof(T)) - 1)) << (at)) /* cut to the part's bits */

#define SIMT_PARTS_1(name, T, value)                                                                         \
    SIMT_INLINE unsigned int name(unsigned int x)                                                            \
    {                                                                                                        \
        unsigned int result = 0;                                                                             \
        SIMT_EACH_PART(T, at)                                                                                \
        {                                                                                                    \
            const int a = SIMT_PART(T, x, at);                                                               \
            result |= SIMT_PLACED(T, value, at);                                                             \
        }                                                                                                    \
        return result;                                                                                       \
    }
#define SIMT_PARTS_2(name, T, value)                                                                         \
    SIMT_INLINE unsigned int name(unsigned int x, unsigned int y)                                            \
    {                                                                                                        \
        unsigned int result = 0;                                                                             \
        SIMT_EACH_PART(T, at)                                                                                \
        {                                                                                                    \
            const int a = SIMT_PART(T, x, at), b = SIMT_PART(T, y, at);                                      \
            result |= SIMT_PLACED(T, value, at);                                                             \
        }                                                                                                    \
        return result;                                                                                       \
    }
#define SIMT_PARTS_3(name, T, value)                                                                         \
    SIMT_INLINE unsigned int name(unsigned int x, unsigned int y, unsigned int z)                            \
    {                                                                                                        \
        unsigned int result = 0;                                                                             \
        SIMT_EACH_PART(T, at)                                                                                \
        {                                                                                                    \
            const int a = SIMT_PART(T, x, at), b = SIMT_PART(T, y, at), c = SIMT_PART(T, z, at);             \
            result |= SIMT_PLACED(T, value, at);                                                             \
        }                                                                                                    \
        return result;                                                                                       \
    }
/* All bits of a part or none; 1 or 0. */
#define SIMT_PARTS_COMPARED(count, name, T, operator)                                                        \
    SIMT_PARTS_2(__vcmp##name##count, T, a operator b ? -1 : 0)                                              \
    SIMT_PARTS_2(__vset##name##count, T, a operator b ? 1 : 0)
#define SIMT_SUM_OF_DIFFERENCES(name, T)                                                                     \
    SIMT_INLINE unsigned int name(unsigned int x, unsigned int y)                                            \
    {                                                                                                        \
        unsigned int sum = 0;                                                                                \
        SIMT_EACH_PART(T, at)                                                                                \
        {                                                                                                    \
            const int a = SIMT_PART(T, x, at), b = SIMT_PART(T, y, at);                                      \
            sum += (unsigned int)(a > b ? a - b : b - a);                                                    \
        }                                                                                                    \
        return sum;                                                                                          \
    }
#define SIMT_PARTS(count, S, U)                                                                              \
    SIMT_PARTS_1(__vabs##count, S, a < 0 ? -a : a)                                                           \
    SIMT_PARTS_1(__vabsss##count, S, simt_clamped<S>(a < 0 ? -a : a))                                        \
    SIMT_PARTS_1(__vneg##count, S, -a)                                                                       \
    SIMT_PARTS_1(__vnegss##count, S, simt_clamped<S>(-a))                                                    \
    SIMT_PARTS_2(__vadd##count, U, a + b)                                                                    \
    SIMT_PARTS_2(__vaddss##count, S, simt_clamped<S>(a + b))                                                 \
    SIMT_PARTS_2(__vaddus##count, U, simt_clamped<U>(a + b))                                                 \
    SIMT_PARTS_2(__vsub##count, U, a - b)                                                                    \
    SIMT_PARTS_2(__vsubss##count, S, simt_clamped<S>(a - b))                                                 \
    SIMT_PARTS_2(__vsubus##count, U, simt_clamped<U>(a - b))                                                 \
    SIMT_PARTS_2(__vabsdiffs##count, S, a > b ? a - b : b - a)                                               \
    SIMT_PARTS_2(__vabsdiffu##count, U, a > b ? a - b : b - a)                                               \
    SIMT_PARTS_2(__vavgu##count, U, (a + b + 1) >> 1)                                                        \
    SIMT_PARTS_2(__vhaddu##count, U, (a + b) >> 1)                                                           \
    SIMT_PARTS_2(__vmaxs##count, S, a > b ? a : b)                                                           \
    SIMT_PARTS_2(__vmaxu##count, U, a > b ? a : b)                                                           \
    SIMT_PARTS_2(__vmins##count, S, a < b ? a : b)                                                           \
    SIMT_PARTS_2(__vminu##count, U, a < b ? a : b)                                                           \
    SIMT_SUM_OF_DIFFERENCES(__vsads##count, S)                                                               \
    SIMT_SUM_OF_DIFFERENCES(__vsadu##count, U)                                                               \
    SIMT_PARTS_COMPARED(count, eq, U, ==)                                                                    \
    SIMT_PARTS_COMPARED(count, ne, U, !=)                                                                    \
    SIMT_PARTS_COMPARED(count, ges, S, >=)                                                                   \
    SIMT_PARTS_COMPARED(count, geu, U, >=)                                                                   \
    SIMT_PARTS_COMPARED(count, gts, S, >)                                                                    \
    SIMT_PARTS_COMPARED(count, gtu, U, >)                                                                    \
    SIMT_PARTS_COMPARED(count, les, S, <=)                                                                   \
    SIMT_PARTS_COMPARED(count, leu, U, <=)                                                                   \
    SIMT_PARTS_COMPARED(count, lts, S, <)                                                                    \
    SIMT_PARTS_COMPARED(count, ltu, U, <)
SIMT_PARTS(2, short, unsigned short)
SIMT_PARTS(4, signed char, unsigned char)

/* ---- DPX: a sum, and the larger or smaller of it and others; relu: not below 0 --------------------------- */

template <typename T> SIMT_INLINE constexpr T simt_larger(T a, T b)
{
    return a > b ? a : b;
}
template <typename T> SIMT_INLINE constexpr T simt_smaller(T a, T b)
{
    return a < b ? a : b;
}
/** @brief The sum wraps around. */
template <typename T> SIMT_INLINE constexpr T simt_wrapped_sum(T a, T b)
{
    return (T)((unsigned int)a + (unsigned int)b);
}

#define SIMT_DPX_WORD(suffix, T)                                                                             \
    SIMT_INLINE T __viaddmax_##suffix(T a, T b, T c)                                                         \
    {                                                                                                        \
        return simt_larger(simt_wrapped_sum(a, b), c);                                                       \
    }                                                                                                        \
    SIMT_INLINE T __viaddmin_##suffix(T a, T b, T c)                                                         \
    {                                                                                                        \
        return simt_smaller(simt_wrapped_sum(a, b), c);                                                      \
    }                                                                                                        \
    SIMT_INLINE T __vimax3_##suffix(T a, T b, T c)                                                           \
    {                                                                                                        \
        return simt_larger(simt_larger(a, b), c);                                                            \
    }                                                                                                        \
    SIMT_INLINE T __vimin3_##suffix(T a, T b, T c)                                                           \
    {                                                                                                        \
        return simt_smaller(simt_smaller(a, b), c);                                                          \
    }                                                                                                        \
    SIMT_INLINE T __vibmax_##suffix(T a, T b, bool *first)                                                   \
    {                                                                                                        \
        *first = a >= b;                                                                                     \
        return *first ? a : b;                                                                               \
    }                                                                                                        \
    SIMT_INLINE T __vibmin_##suffix(T a, T b, bool *first)                                                   \
    {                                                                                                        \
        *first = a <= b;                                                                                     \
        return *first ? a : b;                                                                               \
    }
SIMT_DPX_WORD(s32, int)
SIMT_DPX_WORD(u32, unsigned int)
SIMT_INLINE int __viaddmax_s32_relu(int a, int b, int c)
{
    return simt_larger(__viaddmax_s32(a, b, c), 0);
}
SIMT_INLINE int __viaddmin_s32_relu(int a, int b, int c)
{
    return simt_larger(__viaddmin_s32(a, b, c), 0);
}
SIMT_INLINE int __vimax3_s32_relu(int a, int b, int c)
{
    return simt_larger(__vimax3_s32(a, b, c), 0);
}
SIMT_INLINE int __vimin3_s32_relu(int a, int b, int c)
{
    return simt_larger(__vimin3_s32(a, b, c), 0);
}
SIMT_INLINE int __vimax_s32_relu(int a, int b)
{
    return simt_larger(simt_larger(a, b), 0);
}
SIMT_INLINE int __vimin_s32_relu(int a, int b)
{
    return simt_larger(simt_smaller(a, b), 0);
}

#define SIMT_DPX_HALVES(suffix, T, relu)                                                                     \
    SIMT_PARTS_3(__viaddmax_##suffix, T, relu(simt_larger((int)(T)(a + b), c)))                              \
    SIMT_PARTS_3(__viaddmin_##suffix, T, relu(simt_smaller((int)(T)(a + b), c)))                             \
    SIMT_PARTS_3(__vimax3_##suffix, T, relu(simt_larger(simt_larger(a, b), c)))                              \
    SIMT_PARTS_3(__vimin3_##suffix, T, relu(simt_smaller(simt_smaller(a, b), c)))
#define SIMT_RELU(x) simt_larger(x, 0)
SIMT_DPX_HALVES(s16x2, short, )
SIMT_DPX_HALVES(u16x2, unsigned short, )
SIMT_DPX_HALVES(s16x2_relu, short, SIMT_RELU)
SIMT_PARTS_2(__vimax_s16x2_relu, short, SIMT_RELU(simt_larger(a, b)))
SIMT_PARTS_2(__vimin_s16x2_relu, short, SIMT_RELU(simt_smaller(a, b)))

#undef SIMT_EACH_PART
#undef SIMT_PART
#undef SIMT_PLACED
#undef SIMT_PARTS_1
#undef SIMT_PARTS_2
#undef SIMT_PARTS_3
#undef SIMT_PARTS_COMPARED
#undef SIMT_SUM_OF_DIFFERENCES
#undef SIMT_PARTS
#undef SIMT_DPX_WORD
#undef SIMT_DPX_HALVES
#undef SIMT_RELU
