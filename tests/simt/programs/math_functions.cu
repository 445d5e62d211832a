/**
 * Mathematical functions against the host's double precision, each within the error that the CUDA C++
 * Programming Guide (appendix "Mathematical Functions") states for it, in units of the last place; and the
 * integer and conversion intrinsics, exactly.
 */
#include "../testing.h"

#include <float.h>
#include <limits.h>

enum { SAMPLES = 256, THREADS = 128 };

struct function {
    const char *name;
    double (*exact)(double);
    float low, high; /* range of the samples */
    float ulp;       /* stated bound */
};

static double reciprocal_root(double x)
{
    return 1.0 / sqrt(x);
}
static double reciprocal(double x)
{
    return 1.0 / x;
}
static double power_of_ten(double x)
{
    return pow(10.0, x);
}
static double cube_of_root(double x)
{
    return pow(x, 1.5);
}
static double quarter_turn(double x)
{
    return atan2(x, 0.75);
}
static double side(double x)
{
    return hypot(x, 2.0);
}
/* Exactly 0 at the integers. */
static double sine_of_pi(double x)
{
    const double nearest = rint(x);
    return (fmod(nearest, 2.0) == 0.0 ? 1.0 : -1.0) * sin(M_PI * (x - nearest));
}
static double remainder_of_three(double x)
{
    return fmod(x, 3.0);
}
static double third(double x)
{
    return x / 3.0;
}

/* In the order of the cases of evaluate(). */
static const struct function functions[] = {
    {"sqrtf", sqrt, 0.0f, 100.0f, 0.5f},
    {"rsqrtf", reciprocal_root, 0.01f, 100.0f, 2.0f},
    {"expf", exp, -20.0f, 20.0f, 2.0f},
    {"exp2f", exp2, -20.0f, 20.0f, 2.0f},
    {"exp10f", power_of_ten, -10.0f, 10.0f, 2.0f},
    {"expm1f", expm1, -2.0f, 2.0f, 1.0f},
    {"logf", log, 0.01f, 100.0f, 1.0f},
    {"log2f", log2, 0.01f, 100.0f, 1.0f},
    {"log10f", log10, 0.01f, 100.0f, 2.0f},
    {"log1pf", log1p, -0.5f, 10.0f, 1.0f},
    {"sinf", sin, -30.0f, 30.0f, 2.0f},
    {"cosf", cos, -30.0f, 30.0f, 2.0f},
    {"tanf", tan, -1.5f, 1.5f, 4.0f},
    {"asinf", asin, -1.0f, 1.0f, 4.0f},
    {"acosf", acos, -1.0f, 1.0f, 3.0f},
    {"atanf", atan, -10.0f, 10.0f, 2.0f},
    {"sinhf", sinh, -5.0f, 5.0f, 3.0f},
    {"coshf", cosh, -5.0f, 5.0f, 2.0f},
    {"tanhf", tanh, -5.0f, 5.0f, 2.0f},
    {"cbrtf", cbrt, -50.0f, 50.0f, 1.0f},
    {"erff", erf, -3.0f, 3.0f, 2.0f},
    {"erfcf", erfc, -3.0f, 3.0f, 6.0f},
    {"tgammaf", tgamma, 0.5f, 6.0f, 11.0f},
    {"powf", cube_of_root, 0.01f, 50.0f, 9.0f},
    {"atan2f", quarter_turn, -10.0f, 10.0f, 3.0f},
    {"hypotf", side, -10.0f, 10.0f, 3.0f},
    {"sinpif", sine_of_pi, -4.0f, 4.0f, 2.0f},
    {"fmodf", remainder_of_three, -50.0f, 50.0f, 0.0f},
    {"floorf", floor, -50.0f, 50.0f, 0.0f},
    {"rintf", rint, -50.0f, 50.0f, 0.0f},
    {"x / 3", third, -50.0f, 50.0f, 0.5f},
    {"__frcp_rn", reciprocal, 0.01f, 50.0f, 0.5f},
    {"__fdividef", third, -50.0f, 50.0f, 2.0f},
    {"__expf", exp, -5.0f, 5.0f, 8.0f},
    {"__log2f", log2, 2.5f, 100.0f, 3.0f},
};

enum { FUNCTIONS = sizeof functions / sizeof functions[0] };

static __device__ float evaluate_intrinsic(int which, float x)
{
    switch (which) {
    case 27:
        return fmodf(x, 3.0f);
    case 28:
        return floorf(x);
    case 29:
        return rintf(x);
    case 30:
        return x / 3.0f;
    case 31:
        return __frcp_rn(x);
    case 32:
        return __fdividef(x, 3.0f);
    case 33:
        return __expf(x);
    default:
        return __log2f(x);
    }
}

static __device__ float evaluate(int which, float x)
{
    switch (which) {
    case 0:
        return sqrtf(x);
    case 1:
        return rsqrtf(x);
    case 2:
        return expf(x);
    case 3:
        return exp2f(x);
    case 4:
        return exp10f(x);
    case 5:
        return expm1f(x);
    case 6:
        return logf(x);
    case 7:
        return log2f(x);
    case 8:
        return log10f(x);
    case 9:
        return log1pf(x);
    case 10:
        return sinf(x);
    case 11:
        return cosf(x);
    case 12:
        return tanf(x);
    case 13:
        return asinf(x);
    case 14:
        return acosf(x);
    case 15:
        return atanf(x);
    case 16:
        return sinhf(x);
    case 17:
        return coshf(x);
    case 18:
        return tanhf(x);
    case 19:
        return cbrtf(x);
    case 20:
        return erff(x);
    case 21:
        return erfcf(x);
    case 22:
        return tgammaf(x);
    case 23:
        return powf(x, 1.5f);
    case 24:
        return atan2f(x, 0.75f);
    case 25:
        return hypotf(x, 2.0f);
    case 26:
        return sinpif(x);
    default:
        return evaluate_intrinsic(which, x);
    }
}

static __global__ void evaluate_kernel(int which, const float *in, /* [SAMPLES] */
                                       float *out)                 /* [SAMPLES] */
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = evaluate(which, in[i]);
}

/* Distance between neighbouring floats at x. */
static double last_place(double x)
{
    int exponent;
    frexp(x, &exponent);
    return fmax(ldexp(1.0, exponent - FLT_MANT_DIG), FLT_MIN * FLT_EPSILON);
}

static void check_function(int which)
{
    const struct function *f = &functions[which];
    float host[SAMPLES], got[SAMPLES];
    for (int i = 0; i < SAMPLES; i++) host[i] = f->low + (f->high - f->low) * (float)i / (SAMPLES - 1);
    float *in = upload(host, SAMPLES), *out = device_array<float>(SAMPLES);
    evaluate_kernel<<<SAMPLES / THREADS, THREADS>>>(which, in, out);
    finish_launch(f->name);
    download(got, out, SAMPLES);
    for (int i = 0; i < SAMPLES; i++) {
        const double exact = f->exact(host[i]);
        expect_close(f->name, i, got[i], exact, (f->ulp + 1e-6) * last_place(exact));
    }
    release(in);
    release(out);
}

enum { INTEGERS = 26 };

static __global__ void integers_kernel(long long *out, /* [INTEGERS] */
                                       int n, unsigned u, float x)
{
    const long long results[INTEGERS] = {
        __clz((int)u),
        __clzll(1ll << 40),
        __popc(u),
        __popcll(0xff00ff00ff00ffull),
        __ffs((int)u),
        __ffsll(1ll << 35),
        __brev(u),
        __byte_perm(u, 0x89abcdefu, 0x3457),
        __umulhi(u, u),
        __mulhi(n, n),
        __mul24(n, 3),
        __float_as_int(x),
        (long long)__int_as_float(0x40490fdb),
        __float2int_rn(x),
        __float2int_rz(-x),
        __float2int_ru(x),
        __float2int_rd(-x),
        (long long)__float2uint_rn(x),
        (long long)__saturatef(x),
        min(n, 7),
        max(n, -7),
        abs(n),
        __funnelshift_l(u, 1u, 8),
        (long long)__fmaf_rn(x, 2.0f, 1.0f),
        __double2int_rn(2.5),
        __usad(u, 5u, 1u),
    };
    for (int i = 0; i < INTEGERS; i++) out[i] = results[i];
}

static void check_integers(void)
{
    const long long expected[INTEGERS] = {
        3, 23, 12, 32, 5, 36, 0x0e6a2c48, 0x12efcd89, 0x014b66da, 0,     -3000, 0x40b00000, 3,
        6, -5, 6,  -6, 6, 1,  -1000,      -7,         1000,       0x112, 12,    2,          0x1234566c,
    };
    long long got[INTEGERS], *out = device_array<long long>(INTEGERS);
    integers_kernel<<<1, 1>>>(out, -1000, 0x12345670u, 5.5f);
    finish_launch("integers_kernel");
    download(got, out, INTEGERS);
    for (int i = 0; i < INTEGERS; i++) expect_equal("integer", i, got[i], expected[i]);
    release(out);
}

enum { SPECIALS = 14 };

static __global__ void specials_kernel(int *out, /* [SPECIALS], all 1 */
                                       float zero)
{
    const float infinity = 1.0f / zero, nan = infinity - infinity;
    const int results[SPECIALS] = {
        isinf(infinity) != 0,
        isnan(nan) != 0,
        fmaxf(nan, 2.0f) == 2.0f,
        fminf(2.0f, nan) == 2.0f,
        expf(-infinity) == 0.0f,
        logf(zero) == -infinity,
        isnan(sqrtf(-1.0f - zero)) != 0,
        !(nan == nan),
        fmaxf(-infinity, -1e30f) == -1e30f,
        copysignf(2.0f, -zero) == -2.0f,
        signbit(-zero) != 0,
        fabsf(-3.0f) == 3.0f,
        isfinite(zero) != 0,
        __fsqrt_rn(4.0f + zero) == 2.0f,
    };
    for (int i = 0; i < SPECIALS; i++) out[i] = results[i];
}

static void check_specials(void)
{
    int got[SPECIALS], *out = device_array<int>(SPECIALS);
    specials_kernel<<<1, 1>>>(out, 0.0f);
    finish_launch("specials_kernel");
    download(got, out, SPECIALS);
    for (int i = 0; i < SPECIALS; i++) expect_equal("special", i, got[i], 1);
    release(out);
}

int main(void)
{
    for (int which = 0; which < FUNCTIONS; which++) check_function(which);
    check_integers();
    check_specials();
    return finish("math_functions");
}
