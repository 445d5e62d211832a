/**
 * @file small_float_type.h
 * @brief A 16-bit number type, its pair, and all functions on them. Included for half and for bfloat16.
 *
 * The includer defines SIMT_F and SIMT_F2 (the two types), SIMT_FORMAT (struct with narrow, widen, fma), and
 * SIMT_NAME and SIMT_NAME2 (the words in function names: half, half2). It is meant to be included twice.
 */
#pragma GCC system_header

#define SIMT_JOIN_(a, b, c) a##b##c
#define SIMT_JOIN(a, b, c) SIMT_JOIN_(a, b, c)

/* ---- the number ---------------------------------------------------------------------------------------- */

struct SIMT_JOIN(SIMT_F, _, raw) { unsigned short x; };
struct __attribute__((aligned(4))) SIMT_JOIN(SIMT_F2, _, raw) { unsigned short x, y; };

struct __attribute__((aligned(2))) SIMT_F {
    unsigned short __x;

    SIMT_F() = default;
    SIMT_F(struct SIMT_JOIN(SIMT_F, _, raw) raw) : __x(raw.x) {}
    SIMT_F(float x) : __x(SIMT_FORMAT::narrow(x)) {}
    SIMT_F(double x) : __x(SIMT_FORMAT::narrow(x, SIMT_ROUND_NEAREST)) {}
    operator struct SIMT_JOIN(SIMT_F, _, raw)() const { return SIMT_JOIN(SIMT_F, _, raw){__x}; }
    operator float() const { return SIMT_FORMAT::widen(__x); }
    operator bool() const { return (__x & 0x7fff) != 0; }

/** Rounds to nearest in, towards zero out. */
#define SIMT_CONVERTIBLE(T)                                                                                  \
    SIMT_F(T x) : __x(SIMT_FORMAT::narrow(simt_marked(x), SIMT_ROUND_NEAREST)) {}                                 \
    operator T() const { return simt_saturate<T>(trunc((double)SIMT_FORMAT::widen(__x))); }
    SIMT_CONVERTIBLE(short)
    SIMT_CONVERTIBLE(unsigned short)
    SIMT_CONVERTIBLE(int)
    SIMT_CONVERTIBLE(unsigned int)
    SIMT_CONVERTIBLE(long)
    SIMT_CONVERTIBLE(unsigned long)
    SIMT_CONVERTIBLE(long long)
    SIMT_CONVERTIBLE(unsigned long long)
#undef SIMT_CONVERTIBLE
};

struct __attribute__((aligned(4))) SIMT_F2 {
    SIMT_F x, y;

    SIMT_F2() = default;
    SIMT_F2(SIMT_F a, SIMT_F b) : x(a), y(b) {}
    SIMT_F2(struct SIMT_JOIN(SIMT_F2, _, raw) raw)
        : x(SIMT_JOIN(SIMT_F, _, raw){raw.x}), y(SIMT_JOIN(SIMT_F, _, raw){raw.y})
    {
    }
    operator struct SIMT_JOIN(SIMT_F2, _, raw)() const { return SIMT_JOIN(SIMT_F2, _, raw){x.__x, y.__x}; }
};

SIMT_INLINE SIMT_F SIMT_JOIN(__ushort_as_, SIMT_NAME, )(unsigned short bits)
{
    return SIMT_F(SIMT_JOIN(SIMT_F, _, raw){bits});
}
#define SIMT_BITS(bits) SIMT_JOIN(__ushort_as_, SIMT_NAME, )(bits)
#define SIMT_FLOAT(a) SIMT_FORMAT::widen((a).__x)
#define SIMT_ROUNDED(expression) SIMT_BITS(SIMT_FORMAT::narrow(expression))

/* ---- conversions --------------------------------------------------------------------------------------- */

SIMT_INLINE SIMT_F SIMT_JOIN(__short_as_, SIMT_NAME, )(short bits) { return SIMT_BITS((unsigned short)bits); }
SIMT_INLINE unsigned short SIMT_JOIN(__, SIMT_NAME, _as_ushort)(SIMT_F a) { return a.__x; }
SIMT_INLINE short SIMT_JOIN(__, SIMT_NAME, _as_short)(SIMT_F a) { return (short)a.__x; }

SIMT_INLINE float SIMT_JOIN(__, SIMT_NAME, 2float)(SIMT_F a) { return SIMT_FLOAT(a); }
SIMT_INLINE SIMT_F SIMT_JOIN(__float2, SIMT_NAME, )(float x) { return SIMT_ROUNDED(x); }
SIMT_INLINE SIMT_F SIMT_JOIN(__float2, SIMT_NAME, _rn)(float x) { return SIMT_ROUNDED(x); }
SIMT_INLINE SIMT_F SIMT_JOIN(__float2, SIMT_NAME, _rz)(float x)
{
    return SIMT_BITS(SIMT_FORMAT::narrow((double)x, SIMT_ROUND_ZERO));
}
SIMT_INLINE SIMT_F SIMT_JOIN(__float2, SIMT_NAME, _ru)(float x)
{
    return SIMT_BITS(SIMT_FORMAT::narrow((double)x, SIMT_ROUND_UP));
}
SIMT_INLINE SIMT_F SIMT_JOIN(__float2, SIMT_NAME, _rd)(float x)
{
    return SIMT_BITS(SIMT_FORMAT::narrow((double)x, SIMT_ROUND_DOWN));
}
SIMT_INLINE SIMT_F SIMT_JOIN(__double2, SIMT_NAME, )(double x)
{
    return SIMT_BITS(SIMT_FORMAT::narrow(x, SIMT_ROUND_NEAREST));
}

#define SIMT_INTEGER(word, T)                                                                                \
    SIMT_INLINE SIMT_F SIMT_JOIN(__##word##2, SIMT_NAME, _rn)(T x)                                           \
    {                                                                                                        \
        return SIMT_BITS(SIMT_FORMAT::narrow(simt_marked(x), SIMT_ROUND_NEAREST));                           \
    }                                                                                                        \
    SIMT_INLINE SIMT_F SIMT_JOIN(__##word##2, SIMT_NAME, _rz)(T x)                                           \
    {                                                                                                        \
        return SIMT_BITS(SIMT_FORMAT::narrow(simt_marked(x), SIMT_ROUND_ZERO));                              \
    }                                                                                                        \
    SIMT_INLINE SIMT_F SIMT_JOIN(__##word##2, SIMT_NAME, _ru)(T x)                                           \
    {                                                                                                        \
        return SIMT_BITS(SIMT_FORMAT::narrow(simt_marked(x), SIMT_ROUND_UP));                                \
    }                                                                                                        \
    SIMT_INLINE SIMT_F SIMT_JOIN(__##word##2, SIMT_NAME, _rd)(T x)                                           \
    {                                                                                                        \
        return SIMT_BITS(SIMT_FORMAT::narrow(simt_marked(x), SIMT_ROUND_DOWN));                              \
    }                                                                                                        \
    SIMT_INLINE T SIMT_JOIN(__, SIMT_NAME, 2##word##_rn)(SIMT_F a)                                           \
    {                                                                                                        \
        return simt_saturate<T>(rint((double)SIMT_FLOAT(a)));                                                \
    }                                                                                                        \
    SIMT_INLINE T SIMT_JOIN(__, SIMT_NAME, 2##word##_rz)(SIMT_F a)                                           \
    {                                                                                                        \
        return simt_saturate<T>(trunc((double)SIMT_FLOAT(a)));                                               \
    }                                                                                                        \
    SIMT_INLINE T SIMT_JOIN(__, SIMT_NAME, 2##word##_ru)(SIMT_F a)                                           \
    {                                                                                                        \
        return simt_saturate<T>(ceil((double)SIMT_FLOAT(a)));                                                \
    }                                                                                                        \
    SIMT_INLINE T SIMT_JOIN(__, SIMT_NAME, 2##word##_rd)(SIMT_F a)                                           \
    {                                                                                                        \
        return simt_saturate<T>(floor((double)SIMT_FLOAT(a)));                                               \
    }
SIMT_INTEGER(short, short)
SIMT_INTEGER(ushort, unsigned short)
SIMT_INTEGER(int, int)
SIMT_INTEGER(uint, unsigned int)
SIMT_INTEGER(ll, long long)
SIMT_INTEGER(ull, unsigned long long)
#undef SIMT_INTEGER
SIMT_INLINE signed char SIMT_JOIN(__, SIMT_NAME, 2char_rz)(SIMT_F a)
{
    return simt_saturate<signed char>(trunc((double)SIMT_FLOAT(a)));
}
SIMT_INLINE unsigned char SIMT_JOIN(__, SIMT_NAME, 2uchar_rz)(SIMT_F a)
{
    return simt_saturate<unsigned char>(trunc((double)SIMT_FLOAT(a)));
}

/* ---- pairs --------------------------------------------------------------------------------------------- */

SIMT_INLINE SIMT_F2 SIMT_JOIN(make_, SIMT_NAME2, )(SIMT_F a, SIMT_F b) { return SIMT_F2(a, b); }
SIMT_INLINE SIMT_F2 SIMT_JOIN(__halves2, SIMT_NAME2, )(SIMT_F a, SIMT_F b) { return SIMT_F2(a, b); }
SIMT_INLINE SIMT_F2 SIMT_JOIN(SIMT_JOIN(__, SIMT_NAME, 2), SIMT_NAME2, )(SIMT_F a) { return SIMT_F2(a, a); }
SIMT_INLINE SIMT_F2 SIMT_JOIN(__float2, SIMT_NAME2, _rn)(float x)
{
    return SIMT_F2(SIMT_ROUNDED(x), SIMT_ROUNDED(x));
}
SIMT_INLINE SIMT_F2 SIMT_JOIN(__floats2, SIMT_NAME2, _rn)(float a, float b)
{
    return SIMT_F2(SIMT_ROUNDED(a), SIMT_ROUNDED(b));
}
SIMT_INLINE SIMT_F2 SIMT_JOIN(__float22, SIMT_NAME2, _rn)(float2 v)
{
    return SIMT_F2(SIMT_ROUNDED(v.x), SIMT_ROUNDED(v.y));
}
SIMT_INLINE float2 SIMT_JOIN(__, SIMT_NAME2, 2float2)(SIMT_F2 a)
{
    return float2{SIMT_FLOAT(a.x), SIMT_FLOAT(a.y)};
}
SIMT_INLINE float __low2float(SIMT_F2 a) { return SIMT_FLOAT(a.x); }
SIMT_INLINE float __high2float(SIMT_F2 a) { return SIMT_FLOAT(a.y); }
SIMT_INLINE SIMT_F SIMT_JOIN(__low2, SIMT_NAME, )(SIMT_F2 a) { return a.x; }
SIMT_INLINE SIMT_F SIMT_JOIN(__high2, SIMT_NAME, )(SIMT_F2 a) { return a.y; }
SIMT_INLINE SIMT_F2 SIMT_JOIN(__low2, SIMT_NAME2, )(SIMT_F2 a) { return SIMT_F2(a.x, a.x); }
SIMT_INLINE SIMT_F2 SIMT_JOIN(__high2, SIMT_NAME2, )(SIMT_F2 a) { return SIMT_F2(a.y, a.y); }
SIMT_INLINE SIMT_F2 SIMT_JOIN(__lows2, SIMT_NAME2, )(SIMT_F2 a, SIMT_F2 b) { return SIMT_F2(a.x, b.x); }
SIMT_INLINE SIMT_F2 SIMT_JOIN(__highs2, SIMT_NAME2, )(SIMT_F2 a, SIMT_F2 b) { return SIMT_F2(a.y, b.y); }
SIMT_INLINE SIMT_F2 __lowhigh2highlow(SIMT_F2 a) { return SIMT_F2(a.y, a.x); }

/* ---- arithmetic ---------------------------------------------------------------------------------------- */

SIMT_INLINE SIMT_F __hadd(SIMT_F a, SIMT_F b) { return SIMT_ROUNDED(SIMT_FLOAT(a) + SIMT_FLOAT(b)); }
SIMT_INLINE SIMT_F __hsub(SIMT_F a, SIMT_F b) { return SIMT_ROUNDED(SIMT_FLOAT(a) - SIMT_FLOAT(b)); }
SIMT_INLINE SIMT_F __hmul(SIMT_F a, SIMT_F b)
{
    return SIMT_BITS(SIMT_FORMAT::product(SIMT_FLOAT(a), SIMT_FLOAT(b)));
}
SIMT_INLINE SIMT_F __hdiv(SIMT_F a, SIMT_F b) { return SIMT_ROUNDED(SIMT_FLOAT(a) / SIMT_FLOAT(b)); }
SIMT_INLINE SIMT_F __hfma(SIMT_F a, SIMT_F b, SIMT_F c)
{
    return SIMT_BITS(SIMT_FORMAT::fma(SIMT_FLOAT(a), SIMT_FLOAT(b), SIMT_FLOAT(c)));
}
SIMT_INLINE SIMT_F __hneg(SIMT_F a) { return SIMT_BITS((unsigned short)(a.__x ^ 0x8000)); }
SIMT_INLINE SIMT_F __habs(SIMT_F a) { return SIMT_BITS((unsigned short)(a.__x & 0x7fff)); }
SIMT_INLINE bool __hisnan(SIMT_F a) { return (a.__x & 0x7fff) >= SIMT_FORMAT::LOWEST_NAN; }
SIMT_INLINE int __hisinf(SIMT_F a)
{
    return (a.__x & 0x7fff) != SIMT_FORMAT::INFINITE ? 0 : a.__x & 0x8000 ? -1 : 1;
}

/** The result with NaN as 0 and the rest brought into 0..1, or with what is negative as 0. */
SIMT_INLINE SIMT_F simt_saturated(SIMT_F a) { return SIMT_ROUNDED(__saturatef(SIMT_FLOAT(a))); }
SIMT_INLINE SIMT_F simt_rectified(SIMT_F a) { return SIMT_FLOAT(a) < 0.0f ? SIMT_BITS(0) : a; }

#define SIMT_FORMS(T, suffix)                                                                                \
    SIMT_INLINE T __hadd##suffix##_rn(T a, T b) { return __hadd##suffix(a, b); }                             \
    SIMT_INLINE T __hsub##suffix##_rn(T a, T b) { return __hsub##suffix(a, b); }                             \
    SIMT_INLINE T __hmul##suffix##_rn(T a, T b) { return __hmul##suffix(a, b); }                             \
    SIMT_INLINE T __hadd##suffix##_sat(T a, T b) { return simt_saturated(__hadd##suffix(a, b)); }            \
    SIMT_INLINE T __hsub##suffix##_sat(T a, T b) { return simt_saturated(__hsub##suffix(a, b)); }            \
    SIMT_INLINE T __hmul##suffix##_sat(T a, T b) { return simt_saturated(__hmul##suffix(a, b)); }            \
    SIMT_INLINE T __hfma##suffix##_sat(T a, T b, T c) { return simt_saturated(__hfma##suffix(a, b, c)); }    \
    SIMT_INLINE T __hfma##suffix##_relu(T a, T b, T c) { return simt_rectified(__hfma##suffix(a, b, c)); }
SIMT_FORMS(SIMT_F, )

/** The larger number; -0 is below +0, and NaN only where both are (or, in the _nan form, where one is). */
SIMT_INLINE SIMT_F __hmax(SIMT_F a, SIMT_F b)
{
    if (__hisnan(a)) return __hisnan(b) ? SIMT_BITS(0x7fff) : b;
    if (__hisnan(b)) return a;
    if (SIMT_FLOAT(a) == SIMT_FLOAT(b)) return a.__x & 0x8000 ? b : a;
    return SIMT_FLOAT(a) > SIMT_FLOAT(b) ? a : b;
}
SIMT_INLINE SIMT_F __hmin(SIMT_F a, SIMT_F b)
{
    if (__hisnan(a)) return __hisnan(b) ? SIMT_BITS(0x7fff) : b;
    if (__hisnan(b)) return a;
    if (SIMT_FLOAT(a) == SIMT_FLOAT(b)) return a.__x & 0x8000 ? a : b;
    return SIMT_FLOAT(a) < SIMT_FLOAT(b) ? a : b;
}
SIMT_INLINE SIMT_F __hmax_nan(SIMT_F a, SIMT_F b)
{
    return __hisnan(a) || __hisnan(b) ? SIMT_BITS(0x7fff) : __hmax(a, b);
}
SIMT_INLINE SIMT_F __hmin_nan(SIMT_F a, SIMT_F b)
{
    return __hisnan(a) || __hisnan(b) ? SIMT_BITS(0x7fff) : __hmin(a, b);
}

/** On pairs: each function element by element. */
#define SIMT_PAIR_1(name)                                                                                    \
    SIMT_INLINE SIMT_F2 name##2(SIMT_F2 a) { return SIMT_F2(name(a.x), name(a.y)); }
#define SIMT_PAIR_2_AS(pair, name)                                                                           \
    SIMT_INLINE SIMT_F2 pair(SIMT_F2 a, SIMT_F2 b) { return SIMT_F2(name(a.x, b.x), name(a.y, b.y)); }
#define SIMT_PAIR_2(name) SIMT_PAIR_2_AS(name##2, name)
SIMT_PAIR_1(__hneg)
SIMT_PAIR_1(__habs)
SIMT_PAIR_2(__hadd)
SIMT_PAIR_2(__hsub)
SIMT_PAIR_2(__hmul)
SIMT_PAIR_2_AS(__h2div, __hdiv)
SIMT_PAIR_2(__hmax)
SIMT_PAIR_2(__hmin)
SIMT_PAIR_2_AS(__hmax2_nan, __hmax_nan)
SIMT_PAIR_2_AS(__hmin2_nan, __hmin_nan)
SIMT_INLINE SIMT_F2 __hfma2(SIMT_F2 a, SIMT_F2 b, SIMT_F2 c)
{
    return SIMT_F2(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y));
}
SIMT_INLINE SIMT_F2 simt_saturated(SIMT_F2 a) { return SIMT_F2(simt_saturated(a.x), simt_saturated(a.y)); }
SIMT_INLINE SIMT_F2 simt_rectified(SIMT_F2 a) { return SIMT_F2(simt_rectified(a.x), simt_rectified(a.y)); }
SIMT_FORMS(SIMT_F2, 2)
#undef SIMT_FORMS

/* ---- comparisons --------------------------------------------------------------------------------------- */

SIMT_INLINE SIMT_F simt_truth(bool is_true, SIMT_F) { return SIMT_ROUNDED(is_true ? 1.0f : 0.0f); }

/** Ordered: false with NaN; the u form: true with NaN. Pairs: 1.0 or 0.0 each, a bool for both, or a mask. */
#define SIMT_COMPARE(word, op)                                                                               \
    SIMT_INLINE bool __h##word##u(SIMT_F a, SIMT_F b)                                                        \
    {                                                                                                        \
        return __hisnan(a) || __hisnan(b) || SIMT_FLOAT(a) op SIMT_FLOAT(b);                                 \
    }                                                                                                        \
    SIMT_INLINE bool __h##word(SIMT_F a, SIMT_F b)                                                           \
    {                                                                                                        \
        return !__hisnan(a) && !__hisnan(b) && SIMT_FLOAT(a) op SIMT_FLOAT(b);                               \
    }                                                                                                        \
    SIMT_INLINE SIMT_F2 __h##word##2(SIMT_F2 a, SIMT_F2 b)                                                   \
    {                                                                                                        \
        return SIMT_F2(simt_truth(__h##word(a.x, b.x), a.x), simt_truth(__h##word(a.y, b.y), a.y));          \
    }                                                                                                        \
    SIMT_INLINE SIMT_F2 __h##word##u2(SIMT_F2 a, SIMT_F2 b)                                                  \
    {                                                                                                        \
        return SIMT_F2(simt_truth(__h##word##u(a.x, b.x), a.x), simt_truth(__h##word##u(a.y, b.y), a.y));    \
    }                                                                                                        \
    SIMT_INLINE bool __hb##word##2(SIMT_F2 a, SIMT_F2 b)                                                     \
    {                                                                                                        \
        return __h##word(a.x, b.x) && __h##word(a.y, b.y);                                                   \
    }                                                                                                        \
    SIMT_INLINE bool __hb##word##u2(SIMT_F2 a, SIMT_F2 b)                                                    \
    {                                                                                                        \
        return __h##word##u(a.x, b.x) && __h##word##u(a.y, b.y);                                             \
    }                                                                                                        \
    SIMT_INLINE unsigned int __h##word##2_mask(SIMT_F2 a, SIMT_F2 b)                                         \
    {                                                                                                        \
        return (__h##word(a.x, b.x) ? 0xffffu : 0u) | (__h##word(a.y, b.y) ? 0xffff0000u : 0u);              \
    }
SIMT_COMPARE(eq, ==)
SIMT_COMPARE(ne, !=)
SIMT_COMPARE(lt, <)
SIMT_COMPARE(le, <=)
SIMT_COMPARE(gt, >)
SIMT_COMPARE(ge, >=)
#undef SIMT_COMPARE
SIMT_INLINE SIMT_F2 __hisnan2(SIMT_F2 a)
{
    return SIMT_F2(simt_truth(__hisnan(a.x), a.x), simt_truth(__hisnan(a.y), a.y));
}

/* ---- operators ----------------------------------------------------------------------------------------- */

#define SIMT_OPERATOR(T, op, function)                                                                       \
    SIMT_INLINE T operator op(const T &a, const T &b) { return function(a, b); }                             \
    SIMT_INLINE T &operator op##=(T &a, const T &b) { return a = function(a, b); }
SIMT_OPERATOR(SIMT_F, +, __hadd)
SIMT_OPERATOR(SIMT_F, -, __hsub)
SIMT_OPERATOR(SIMT_F, *, __hmul)
SIMT_OPERATOR(SIMT_F, /, __hdiv)
SIMT_OPERATOR(SIMT_F2, +, __hadd2)
SIMT_OPERATOR(SIMT_F2, -, __hsub2)
SIMT_OPERATOR(SIMT_F2, *, __hmul2)
SIMT_OPERATOR(SIMT_F2, /, __h2div)
#undef SIMT_OPERATOR

SIMT_INLINE SIMT_F operator+(const SIMT_F &a) { return a; }
SIMT_INLINE SIMT_F operator-(const SIMT_F &a) { return __hneg(a); }
SIMT_INLINE SIMT_F2 operator+(const SIMT_F2 &a) { return a; }
SIMT_INLINE SIMT_F2 operator-(const SIMT_F2 &a) { return __hneg2(a); }
SIMT_INLINE SIMT_F &operator++(SIMT_F &a) { return a = __hadd(a, SIMT_ROUNDED(1.0f)); }
SIMT_INLINE SIMT_F &operator--(SIMT_F &a) { return a = __hsub(a, SIMT_ROUNDED(1.0f)); }
SIMT_INLINE SIMT_F operator++(SIMT_F &a, int)
{
    SIMT_F old = a;
    ++a;
    return old;
}
SIMT_INLINE SIMT_F operator--(SIMT_F &a, int)
{
    SIMT_F old = a;
    --a;
    return old;
}

#define SIMT_OPERATOR(op, word)                                                                              \
    SIMT_INLINE bool operator op(const SIMT_F &a, const SIMT_F &b) { return __h##word(a, b); }               \
    SIMT_INLINE bool operator op(const SIMT_F2 &a, const SIMT_F2 &b) { return __hb##word##2(a, b); }
SIMT_OPERATOR(==, eq)
SIMT_OPERATOR(!=, neu)
SIMT_OPERATOR(<, lt)
SIMT_OPERATOR(<=, le)
SIMT_OPERATOR(>, gt)
SIMT_OPERATOR(>=, ge)
#undef SIMT_OPERATOR

/* ---- functions ----------------------------------------------------------------------------------------- */

#define SIMT_FUNCTION(name, expression)                                                                      \
    SIMT_INLINE SIMT_F h##name(SIMT_F a)                                                                     \
    {                                                                                                        \
        float x = SIMT_FLOAT(a);                                                                             \
        return SIMT_ROUNDED(expression);                                                                     \
    }                                                                                                        \
    SIMT_INLINE SIMT_F2 h2##name(SIMT_F2 a) { return SIMT_F2(h##name(a.x), h##name(a.y)); }
SIMT_FUNCTION(exp, expf(x))
SIMT_FUNCTION(exp2, exp2f(x))
SIMT_FUNCTION(exp10, __exp10f(x))
SIMT_FUNCTION(log, logf(x))
SIMT_FUNCTION(log2, log2f(x))
SIMT_FUNCTION(log10, log10f(x))
SIMT_FUNCTION(sin, sinf(x))
SIMT_FUNCTION(cos, cosf(x))
SIMT_FUNCTION(tanh, tanhf(x))
SIMT_FUNCTION(sqrt, sqrtf(x))
SIMT_FUNCTION(rsqrt, rsqrtf(x))
SIMT_FUNCTION(rcp, 1.0f / x)
SIMT_FUNCTION(ceil, ceilf(x))
SIMT_FUNCTION(floor, floorf(x))
SIMT_FUNCTION(trunc, truncf(x))
SIMT_FUNCTION(rint, rintf(x))
#undef SIMT_FUNCTION

/* ---- atomics ------------------------------------------------------------------------------------------- */

SIMT_ATOMIC(atomicAdd, SIMT_F, __hadd(old, value))
SIMT_ATOMIC(atomicAdd, SIMT_F2, __hadd2(old, value))

#undef SIMT_PAIR_1
#undef SIMT_PAIR_2
#undef SIMT_PAIR_2_AS
#undef SIMT_BITS
#undef SIMT_FLOAT
#undef SIMT_ROUNDED
#undef SIMT_JOIN
#undef SIMT_JOIN_
