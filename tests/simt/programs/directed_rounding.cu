/**
 * Arithmetic and conversions with a rounding mode, exactly: the operands are small multiples of powers of two, so that integers of 128
 * bits say on which side of the true value a result lies, and whether its neighbour lies there, too.
 */
#include "../testing.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <float.h>
#include <limits.h>
#include <stdint.h>

enum { SAMPLES = 4096, THREADS = 128, NEAREST = 0, ZERO, UP, DOWN, MODES };

typedef __int128 wide;

/* ---- what a result has to be ------------------------------------------------------------------------------ */

static int sign_of(wide x)
{
    return x > 0 ? 1 : x < 0 ? -1 : 0;
}

/** The neighbour in a direction. */
static float next_of(float x, int direction)
{
    return nextafterf(x, direction > 0 ? INFINITY : -INFINITY);
}
static double next_of(double x, int direction)
{
    return nextafter(x, direction > 0 ? INFINITY : -INFINITY);
}

/** @p off gives the sign of (true value - candidate). */
template <typename T, typename F> static bool is_rounded(T result, int mode, F off)
{
    const int here = off(result);
    if (here == 0) return true;
    const int direction = mode == UP ? 1 : mode == DOWN ? -1 : off((T)0) > 0 ? -1 : 1;
    return here == -direction && off(next_of(result, -direction)) == direction;
}

/** As a multiple of 2^-@p scale: exact, or with all that a comparison needs. */
template <typename T> static wide fixed(T x, int scale)
{
    return (wide)ldexp((double)x, scale);
}

/* ---- conversions ------------------------------------------------------------------------------------------ */

struct converted {
    float of_int[MODES], of_uint[MODES], of_ll[MODES], of_ull[MODES], of_double[MODES];
    double ll_double[MODES], ull_double[MODES];
    float half_of_ll[MODES], bfloat_of_ll[MODES], half_of_int[MODES], bfloat_of_ull[MODES],
        half_of_short[MODES];
};

#define ALL_MODES(to, f, x)                                                                                  \
    to[NEAREST] = f##_rn(x), to[ZERO] = f##_rz(x), to[UP] = f##_ru(x), to[DOWN] = f##_rd(x)
#define ALL_MODES_OF(to, widen, f, x)                                                                        \
    to[NEAREST] = widen(f##_rn(x)), to[ZERO] = widen(f##_rz(x)), to[UP] = widen(f##_ru(x)),                  \
    to[DOWN] = widen(f##_rd(x))

static __global__ void convert_kernel(const unsigned long long *in, struct converted *out)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= SAMPLES) return;
    const unsigned long long x = in[i];
    struct converted c;
    ALL_MODES(c.of_int, __int2float, (int)x);
    ALL_MODES(c.of_uint, __uint2float, (unsigned)x);
    ALL_MODES(c.of_ll, __ll2float, (long long)x);
    ALL_MODES(c.of_ull, __ull2float, x);
    ALL_MODES(c.of_double, __double2float, (double)((long long)x >> 11));
    ALL_MODES(c.ll_double, __ll2double, (long long)x);
    ALL_MODES(c.ull_double, __ull2double, x);
    ALL_MODES_OF(c.half_of_ll, __half2float, __ll2half, (long long)x);
    ALL_MODES_OF(c.bfloat_of_ll, __bfloat162float, __ll2bfloat16, (long long)x);
    ALL_MODES_OF(c.half_of_int, __half2float, __int2half, (int)x);
    ALL_MODES_OF(c.bfloat_of_ull, __bfloat162float, __ull2bfloat16, x);
    ALL_MODES_OF(c.half_of_short, __half2float, __short2half, (short)x);
    out[i] = c;
}

template <typename T> static bool is_conversion(const T *result, wide x)
{
    const auto off = [x](T candidate) { return sign_of(x - (wide)candidate); };
    for (int mode = ZERO; mode < MODES; mode++)
        if (!is_rounded(result[mode], mode, off)) return false;
    return result[NEAREST] == result[UP] || result[NEAREST] == result[DOWN];
}

/** Of a type with fewer bits, in floats: between up and down lies one step, and nearest is the nearer one. */
static bool is_small(const float *result, wide x, int bits, float most)
{
    const float up = result[UP], down = result[DOWN], nearest = result[NEAREST];
    if (result[ZERO] != (x >= 0 ? down : up)) return false;
    if (isinf(up) || isinf(down)) return fabsf(isinf(up) ? down : up) == most && (x > 0) == isinf(up);
    if (up == down) return (wide)up == x && nearest == up;
    if ((wide)up < x || (wide)down > x) return false;
    const float largest = fmaxf(fabsf(up), fabsf(down));
    int exponent;
    (void)frexpf(fabsf(up) < fabsf(down) ? up : down, &exponent);
    const wide step = (wide)up - (wide)down, above = (wide)up - x, below = x - (wide)down;
    if (step > (wide)ldexpf(1, exponent - bits) || largest > most) return false;
    return above < below ? nearest == up : below < above ? nearest == down : nearest == up || nearest == down;
}

static unsigned long long sample(uint64_t *state, unsigned i)
{
    static const unsigned long long corners[] = {0,
                                                 1,
                                                 ULLONG_MAX,
                                                 (unsigned long long)LLONG_MAX,
                                                 (unsigned long long)LLONG_MIN,
                                                 INT_MAX,
                                                 UINT_MAX,
                                                 0x80000000ull,
                                                 (1ull << 24) + 1,
                                                 (1ull << 53) + 1,
                                                 0x0080800000000001ull, /* just above a tie of eight bits */
                                                 0x8080000000000001ull,
                                                 0xff7f7fffffffffffull,
                                                 65504,
                                                 65519,
                                                 65520};
    if (i < sizeof corners / sizeof *corners) return corners[i];
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return *state >> (i % 61);
}

static void check_conversions(void)
{
    static unsigned long long in[SAMPLES];
    static struct converted out[SAMPLES];
    uint64_t state = 1;
    const float half_most = 65504, bfloat_most = ldexpf(255, 120);
    for (unsigned i = 0; i < SAMPLES; i++) in[i] = sample(&state, i);
    unsigned long long *given = upload(in, SAMPLES);
    struct converted *results = device_array<struct converted>(SAMPLES);
    convert_kernel<<<SAMPLES / THREADS, THREADS>>>(given, results);
    finish_launch("convert_kernel");
    download(out, results, SAMPLES);
    for (unsigned i = 0; i < SAMPLES; i++) {
        const unsigned long long x = in[i];
        const struct converted *c = &out[i];
        const bool good = is_conversion(c->of_int, (int)x) && is_conversion(c->of_uint, (unsigned)x) &&
                          is_conversion(c->of_ll, (long long)x) && is_conversion(c->of_ull, x) &&
                          is_conversion(c->of_double, (long long)x >> 11) &&
                          is_conversion(c->ll_double, (long long)x) && is_conversion(c->ull_double, x) &&
                          is_small(c->half_of_ll, (long long)x, 11, half_most) &&
                          is_small(c->bfloat_of_ll, (long long)x, 8, bfloat_most) &&
                          is_small(c->half_of_int, (int)x, 11, half_most) &&
                          is_small(c->bfloat_of_ull, x, 8, bfloat_most) &&
                          is_small(c->half_of_short, (short)x, 11, half_most);
        if (!good && g_failures++ < 5) printf("conversion of 0x%llx\n", x);
    }
    release(given);
    release(results);
}

/* ---- arithmetic ------------------------------------------------------------------------------------------- */

template <typename T> struct computed {
    T sum[MODES], difference[MODES], product[MODES], quotient[MODES], reciprocal[MODES], root[MODES],
        fused[MODES];
};
#define ALL_MODES_3(to, f, ...)                                                                              \
    to[NEAREST] = f##_rn(__VA_ARGS__), to[ZERO] = f##_rz(__VA_ARGS__), to[UP] = f##_ru(__VA_ARGS__),         \
    to[DOWN] = f##_rd(__VA_ARGS__)

static __global__ void float_kernel(const float *in, struct computed<float> *out)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    const float a = in[3 * i], b = in[3 * i + 1], c = in[3 * i + 2];
    ALL_MODES_3(out[i].sum, __fadd, a, c);
    ALL_MODES_3(out[i].difference, __fsub, a, c);
    ALL_MODES_3(out[i].product, __fmul, a, b);
    ALL_MODES_3(out[i].quotient, __fdiv, a, b);
    ALL_MODES_3(out[i].reciprocal, __frcp, b);
    ALL_MODES_3(out[i].root, __fsqrt, fabsf(a));
    ALL_MODES_3(out[i].fused, __fmaf, a, b, c);
}
static __global__ void double_kernel(const double *in, struct computed<double> *out)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    const double a = in[3 * i], b = in[3 * i + 1], c = in[3 * i + 2];
    ALL_MODES_3(out[i].sum, __dadd, a, c);
    ALL_MODES_3(out[i].difference, __dsub, a, c);
    ALL_MODES_3(out[i].product, __dmul, a, b);
    ALL_MODES_3(out[i].quotient, __ddiv, a, b);
    ALL_MODES_3(out[i].reciprocal, __drcp, b);
    ALL_MODES_3(out[i].root, __dsqrt, fabs(a));
    ALL_MODES_3(out[i].fused, __fma, a, b, c);
}

template <typename T, typename F> static bool is_right(const T *result, F off)
{
    for (int mode = ZERO; mode < MODES; mode++)
        if (!is_rounded(result[mode], mode, off)) return false;
    return result[NEAREST] == result[UP] || result[NEAREST] == result[DOWN];
}

/** Operands are integers: of up to as many bits as a significand has, and c times a power of two. */
template <typename T> static bool is_good(const struct computed<T> *r, const T *in)
{
    enum { OF_QUOTIENT = 60, OF_RECIPROCAL = 110, OF_ROOT = 30 }; /* bits behind the point */
    const wide a = fixed(in[0], 0), b = fixed(in[1], 0), c = fixed(in[2], 0), one = 1;
    const auto against = [](wide exact) { return [exact](T y) { return sign_of(exact - fixed(y, 0)); }; };
    const auto ratio = [b](wide top, int bits) {
        return [=](T y) { return sign_of(top * ((wide)1 << bits) - fixed(y, bits) * b) * sign_of(b); };
    };
    const wide square = (a < 0 ? -a : a) << 2 * OF_ROOT;
    const auto root = [square](T y) {
        return y < 0 ? 1 : sign_of(square - fixed(y, OF_ROOT) * fixed(y, OF_ROOT));
    };
    return is_right(r->sum, against(a + c)) && is_right(r->difference, against(a - c)) &&
           is_right(r->product, against(a * b)) && is_right(r->fused, against(a * b + c)) &&
           is_right(r->quotient, ratio(a, OF_QUOTIENT)) &&
           is_right(r->reciprocal, ratio(one, OF_RECIPROCAL)) && is_right(r->root, root);
}

/** @p bits: of a significand. */
template <typename T>
static void check_arithmetic(void (*kernel)(const T *, struct computed<T> *), int bits, const char *what)
{
    static T in[3 * SAMPLES];
    static struct computed<T> out[SAMPLES];
    uint64_t state = 7;
    for (int i = 0; i < 3 * SAMPLES; i++) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        const int64_t whole = (int64_t)(state >> (64 - bits) | 1ull << (bits - 1));
        const int64_t integer = i % 3 == 1 ? (whole >> i % bits) | 1 : whole;
        in[i] = (T)ldexp((double)(state >> 5 & 1 ? -integer : integer), i % 3 == 2 ? i % 40 : 0);
    }
    T *given = upload(in, 3 * SAMPLES);
    struct computed<T> *results = device_array<struct computed<T>>(SAMPLES);
    kernel<<<SAMPLES / THREADS, THREADS>>>(given, results);
    finish_launch(what);
    download(out, results, SAMPLES);
    for (int i = 0; i < SAMPLES; i++)
        if (!is_good(&out[i], in + 3 * i) && g_failures++ < 5)
            printf("%s of %a, %a, %a\n", what, (double)in[3 * i], (double)in[3 * i + 1],
                   (double)in[3 * i + 2]);
    release(given);
    release(results);
}

/* ---- what no integer shows -------------------------------------------------------------------------------- */

static __global__ void corner_kernel(const float *in, float *out)
{
    const float big = in[0], one = in[1], tiny = in[2], none = one - one;
    out[0] = __fadd_rz(big, big);
    out[1] = __fadd_ru(-big, -big);
    out[2] = __fadd_rd(-big, -big);
    out[3] = __fmul_ru(tiny, tiny);
    out[4] = __fmul_rd(tiny, tiny);
    out[5] = __fsub_rd(one, one);
    out[6] = __fdiv_rz(one, none);
    out[7] = __fsqrt_ru(-one);
    out[8] = __double2float_rd(1e300 * (double)one);
    out[9] = __double2float_ru(1e-300 * (double)one);
    out[10] = (float)__half2char_rz(__float2half(300 * one));
    out[11] = (float)__bfloat162uchar_rz(__float2bfloat16(-3 * one));
    out[12] = one + tiny; /* the mode is the usual one again */
}

static void check_corners(void)
{
    const float in[] = {FLT_MAX, 1, FLT_MIN}, least = nextafterf(0, 1);
    const float expected[] = {FLT_MAX, -FLT_MAX, -INFINITY, least, 0, -0.0f, INFINITY,
                              NAN,     FLT_MAX,  least,     127,   0, 1};
    enum { COUNT = sizeof expected / sizeof *expected };
    float got[COUNT];
    float *given = upload(in, 3), *results = device_array<float>(COUNT);
    corner_kernel<<<1, 1>>>(given, results);
    finish_launch("corner_kernel");
    download(got, results, COUNT);
    for (int i = 0; i < COUNT; i++) {
        const bool same = isnan(expected[i])
                              ? isnan(got[i])
                              : got[i] == expected[i] && signbit(got[i]) == signbit(expected[i]);
        if (!same && g_failures++ < 20) printf("corner %d: %a instead of %a\n", i, got[i], expected[i]);
    }
    release(given);
    release(results);
}

int main(void)
{
    check_conversions();
    check_arithmetic<float>(float_kernel, FLT_MANT_DIG, "float_kernel");
    check_arithmetic<double>(double_kernel, DBL_MANT_DIG, "double_kernel");
    check_corners();
    return finish("directed_rounding");
}
