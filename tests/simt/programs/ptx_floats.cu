/**
 * Inline PTX on floating point: every direction of rounding, saturation, flushing, NaN; f16 and bf16 with their pairs; cvt in
 * its forms, 8-bit floats among them; and the approximations, held to the errors that the PTX manual allows.
 */
#include "../testing.h"

#include <stdint.h>
#include <string.h>

enum { RESULTS = 128, POINTS = 4096 };

struct results {
    unsigned long long value[RESULTS];
    int count;
};

static __device__ void keep(struct results *r, unsigned long long value)
{
    r->value[r->count++] = value;
}

#define OF_TWO_FLOATS(instruction, a, b)                                                                     \
    do {                                                                                                     \
        unsigned d;                                                                                          \
        asm(instruction " %0, %1, %2;" : "=r"(d) : "f"(a), "f"(b));                                          \
        keep(r, d);                                                                                          \
    } while (0)
#define OF_TWO(instruction, d_letter, D, letter, a, b)                                                       \
    do {                                                                                                     \
        D d;                                                                                                 \
        asm(instruction " %0, %1, %2;" : "=" d_letter(d) : letter(a), letter(b));                            \
        keep(r, (unsigned long long)d);                                                                      \
    } while (0)
#define OF_THREE(instruction, letter, T, a, b, c)                                                            \
    do {                                                                                                     \
        T d;                                                                                                 \
        asm(instruction " %0, %1, %2, %3;" : "=" letter(d) : letter(a), letter(b), letter(c));               \
        keep(r, d);                                                                                          \
    } while (0)
#define OF_ONE(instruction, d_letter, D, letter, a)                                                          \
    do {                                                                                                     \
        D d;                                                                                                 \
        asm(instruction " %0, %1;" : "=" d_letter(d) : letter(a));                                           \
        keep(r, (unsigned long long)d);                                                                      \
    } while (0)

static __device__ void floats(struct results *r, float one)
{
    const float tiny = one * 0x1p-30f, subnormal = one * 0x1p-140f, zero = one - 1.0f;
    OF_TWO_FLOATS("add.rn.f32", one, tiny);
    OF_TWO_FLOATS("add.rz.f32", one, tiny);
    OF_TWO_FLOATS("add.rm.f32", one, tiny);
    OF_TWO_FLOATS("add.rp.f32", one, tiny);
    OF_TWO_FLOATS("sub.rz.f32", one, tiny);
    OF_TWO_FLOATS("mul.ftz.f32", subnormal, one);
    OF_TWO_FLOATS("mul.f32", subnormal, one);
    OF_TWO_FLOATS("add.sat.f32", one, one);
    OF_TWO_FLOATS("div.rn.f32", zero, zero);
    OF_TWO_FLOATS("div.rp.f32", one, 3.0f * one);
    OF_TWO_FLOATS("min.f32", zero / zero, one);
    OF_TWO_FLOATS("max.NaN.f32", zero / zero, one);
    OF_TWO_FLOATS("min.f32", -zero, zero);
    OF_TWO_FLOATS("copysign.f32", -zero, one); /* the sign is the first one's */
    OF_ONE("rcp.rn.f32", "r", unsigned, "f", 3.0f * one);
    OF_ONE("sqrt.rm.f32", "r", unsigned, "f", 2.0f * one);
    OF_THREE("fma.rn.f64", "d", double, (double)one, 3.0, 4.0);
    OF_TWO("mul.rz.f64", "l", unsigned long long, "d", 1.0 + 0x1p-52, 1.0 + 0x1p-52 * one);
    OF_ONE("neg.f64", "l", unsigned long long, "d", (double)one);
}

static __device__ void small_floats(struct results *r, unsigned ones)
{
    const unsigned short one = (unsigned short)ones;                          /* 0x3c00 */
    OF_TWO("add.f16", "h", unsigned short, "h", one, (unsigned short)0x1000); /* 1 + 2^-11: a tie, to even */
    OF_TWO("add.rn.f16", "h", unsigned short, "h", (unsigned short)(one + 1), (unsigned short)0x1000);
    OF_TWO("add.f16x2", "r", unsigned, "r", 0x3c007bffu, 0x40007bffu); /* 3, infinity */
    OF_TWO("mul.sat.f16x2", "r", unsigned, "r", 0x4000c000u, 0x40004000u);
    OF_THREE("fma.rn.f16x2", "r", unsigned, 0x3c013c01u, 0x3c013c01u, 0x80008000u);
    OF_THREE("fma.rn.relu.f16x2", "r", unsigned, 0xbc003c00u, 0x3c003c00u, 0x00000000u);
    OF_TWO("max.f16x2", "r", unsigned, "r", 0x7fffbc00u, 0x3c00bc01u);
    OF_THREE("fma.rn.bf16x2", "r", unsigned, 0x3f803f81u, 0x3f803f81u, 0x3f800000u);
    OF_TWO("add.bf16x2", "r", unsigned, "r", 0x3f803f80u,
           0x3b803c00u); /* 1 + 2^-8 is a tie, 1 + 2^-7 is not */
    OF_TWO("min.bf16x2", "r", unsigned, "r", 0x3f80bf80u, 0x40003f80u);
    OF_ONE("abs.f16x2", "r", unsigned, "r", 0xbc00c000u);
    OF_ONE("neg.bf16x2", "r", unsigned, "r", 0x3f80bf80u);
}

static __device__ void conversions(struct results *r, float one)
{
    const float half_way = one + 0x1p-11f, large = 70000.0f * one, nan = (one - one) / (one - one);
    OF_ONE("cvt.rn.f16.f32", "h", unsigned short, "f", half_way);
    OF_ONE("cvt.rz.f16.f32", "h", unsigned short, "f", half_way);
    OF_ONE("cvt.rp.f16.f32", "h", unsigned short, "f", half_way);
    OF_ONE("cvt.rm.f16.f32", "h", unsigned short, "f", -half_way);
    OF_ONE("cvt.rn.f16.f32", "h", unsigned short, "f", large);
    OF_ONE("cvt.rz.f16.f32", "h", unsigned short, "f", large);
    OF_ONE("cvt.rn.bf16.f32", "h", unsigned short, "f", one + 0x1p-8f);
    OF_ONE("cvt.f32.f16", "r", unsigned, "h", (unsigned short)1); /* the smallest there is */
    OF_TWO("cvt.rn.bf16x2.f32", "r", unsigned, "f", one, -2.0f * one);
    OF_TWO("cvt.rn.f16x2.f32", "r", unsigned, "f", one, large);
    OF_TWO("cvt.rn.relu.f16x2.f32", "r", unsigned, "f", -one, one);
    OF_TWO("cvt.rz.bf16x2.f32", "r", unsigned, "f", one * 1.999f, nan);
    OF_ONE("cvt.rna.tf32.f32", "r", unsigned, "f", one + 0x1p-11f);
    OF_ONE("cvt.rzi.s32.f32", "r", int, "f", -2.7f * one);
    OF_ONE("cvt.rni.s32.f32", "r", int, "f", 2.5f * one);
    OF_ONE("cvt.rmi.s32.f32", "r", int, "f", -2.1f * one);
    OF_ONE("cvt.rpi.u32.f32", "r", unsigned, "f", 2.1f * one);
    OF_ONE("cvt.rzi.s32.f32", "r", int, "f", 3e10f * one);
    OF_ONE("cvt.rzi.u32.f32", "r", unsigned, "f", -3.0f * one);
    OF_ONE("cvt.rzi.s32.f32", "r", int, "f", nan);
    OF_ONE("cvt.rni.f32.f32", "r", unsigned, "f", 3.5f * one);
    OF_ONE("cvt.sat.f32.f32", "r", unsigned, "f", -one);
    OF_ONE("cvt.rn.f32.s32", "r", unsigned, "r", 16777217);
    OF_ONE("cvt.rp.f32.s32", "r", unsigned, "r", 16777217);
    OF_ONE("cvt.rz.f32.u64", "r", unsigned, "l", 0xffffffffffffffffull);
    OF_ONE("cvt.rn.f64.s64", "l", unsigned long long, "l", -5ll);
    OF_ONE("cvt.sat.s8.s32", "r", int, "r", 200);
    OF_ONE("cvt.u8.s32", "r", unsigned, "r", -2);
    OF_ONE("cvt.s64.s32", "l", long long, "r", -2);
    OF_ONE("cvt.rm.f32.f64", "r", unsigned, "d", 1.0 + 0x1p-40 * one);
    OF_ONE("cvt.rn.f32.f64", "r", unsigned, "d", 1e300 * one);
    OF_THREE("cvt.pack.sat.s8.s32.b32", "r", int, 300, -5, 0x1234);
}

/** 8-bit floats: sm_89 and later. */
static __device__ void bytes(struct results *r, float one)
{
    OF_TWO("cvt.rn.satfinite.e4m3x2.f32", "h", unsigned short, "f", one,
           1000.0f * one); /* 448 is the largest */
    OF_TWO("cvt.rn.satfinite.e4m3x2.f32", "h", unsigned short, "f", 0x1p-9f * one,
           17.0f * one); /* tie: to 16 */
    OF_TWO("cvt.rn.satfinite.e5m2x2.f32", "h", unsigned short, "f", -1.25f * one, 1e9f * one);
    OF_ONE("cvt.rn.f16x2.e4m3x2", "r", unsigned, "h", (unsigned short)0x387e);
    OF_ONE("cvt.rn.f16x2.e5m2x2", "r", unsigned, "h", (unsigned short)0xbd7c);
    OF_ONE("cvt.rn.satfinite.e4m3x2.f16x2", "h", unsigned short, "r", 0x3c00c400u);
}

static __global__ void float_kernel(struct results *r, float one)
{
    r->count = 0;
    floats(r, one);
    small_floats(r, 0x3c00);
    conversions(r, one);
    bytes(r, one);
}

static const unsigned long long expected[] = {
    /* floats */
    0x3f800000, 0x3f800000, 0x3f800000, 0x3f800001, 0x3f7fffff, 0, 0x200, 0x3f800000, 0x7fffffff, 0x3eaaaaab,
    0x3f800000, 0x7fffffff, 0x80000000, 0xbf800000, 0x3eaaaaab, 0x3fb504f3, 7, 0x3ff0000000000002,
    0xbff0000000000000,
    /* small floats */
    0x3c00, 0x3c02, 0x42007c00, 0x3c000000, 0x3c023c02, 0x00003c00, 0x3c00bc00, 0x40003f82, 0x3f803f81,
    0x3f80bf80, 0x3c004000, 0xbf803f80,
    /* conversions */
    0x3c00, 0x3c00, 0x3c01, 0xbc01, 0x7c00, 0x7bff, 0x3f80, 0x33800000, 0x3f80c000, 0x3c007c00, 0x00003c00,
    0x3fff7fff, 0x3f802000, 0xfffffffffffffffe, 2, 0xfffffffffffffffd, 3, 0x7fffffff, 0, 0, 0x40800000, 0,
    0x4b800000, 0x4b800001, 0x5f7fffff, 0xc014000000000000, 127, 254, 0xfffffffffffffffe, 0x3f800000,
    0x7f800000, 0x12347ffb,
    /* 8-bit floats */
    0x387e, 0x0158, 0xbd7b, 0x3c005f00, 0xbd007c00, 0x38c8};

/* ---- approximations */

enum function { EX2, LG2, RCP, RSQRT, SQRT, TANH, SIN, COS, FUNCTIONS };

static __global__ void approximation_kernel(const float *x, float *y)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    float *row = y + i;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(row[EX2 * POINTS]) : "f"(x[i]));
    asm("lg2.approx.f32 %0, %1;" : "=f"(row[LG2 * POINTS]) : "f"(fabsf(x[i])));
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(row[RCP * POINTS]) : "f"(x[i]));
    asm("rsqrt.approx.f32 %0, %1;" : "=f"(row[RSQRT * POINTS]) : "f"(fabsf(x[i])));
    asm("sqrt.approx.f32 %0, %1;" : "=f"(row[SQRT * POINTS]) : "f"(fabsf(x[i])));
    asm("tanh.approx.f32 %0, %1;" : "=f"(row[TANH * POINTS]) : "f"(x[i]));
    asm("sin.approx.f32 %0, %1;" : "=f"(row[SIN * POINTS]) : "f"(x[i] * 0.1f));
    asm("cos.approx.f32 %0, %1;" : "=f"(row[COS * POINTS]) : "f"(x[i] * 0.1f));
}

/** The manual's bounds: relative ones, absolute ones for sin and cos in [-pi, pi] and for lg2 near 1. */
static void check_approximations(void)
{
    static float x[POINTS], y[FUNCTIONS * POINTS];
    for (int i = 0; i < POINTS; i++) x[i] = (float)(i - POINTS / 2) / 67.0f + 0.003f;
    float *in = upload(x, POINTS), *out = device_array<float>(FUNCTIONS * POINTS);
    approximation_kernel<<<POINTS / 128, 128>>>(in, out);
    finish_launch("approximation_kernel");
    download(y, out, FUNCTIONS * POINTS);
    for (int i = 0; i < POINTS; i++) {
        const double t = x[i], a = fabs(t), u = (double)(x[i] * 0.1f);
        const double lg2 = log2(a), near_one = a >= 0.5 && a <= 2.0 ? 0x1p-22 : fabs(lg2) * 0x1p-22;
        const size_t k = (size_t)i;
        expect_close("ex2.approx", k, y[EX2 * POINTS + i], exp2(t), exp2(t) * 0x1p-22);
        expect_close("lg2.approx", k, y[LG2 * POINTS + i], lg2, near_one);
        expect_close("rcp.approx", k, y[RCP * POINTS + i], 1.0 / t, 0x1p-23 / a);
        expect_close("rsqrt.approx", k, y[RSQRT * POINTS + i], 1.0 / sqrt(a), 0x1p-22 / sqrt(a));
        expect_close("sqrt.approx", k, y[SQRT * POINTS + i], sqrt(a), sqrt(a) * 0x1p-22);
        expect_close("tanh.approx", k, y[TANH * POINTS + i], tanh(t), fabs(tanh(t)) * 0x1p-10);
        expect_close("sin.approx", k, y[SIN * POINTS + i], sin(u), 0x1p-20);
        expect_close("cos.approx", k, y[COS * POINTS + i], cos(u), 0x1p-20);
    }
    release(in);
    release(out);
}

int main(void)
{
    struct results *device = device_array<struct results>(1);
    static struct results host;
    const int count = sizeof expected / sizeof expected[0];
    require(cudaMemset(device, 0, sizeof host), "cudaMemset");
    float_kernel<<<1, 1>>>(device, 1.0f);
    finish_launch("float_kernel");
    download(&host, device, 1);
    expect_equal("count", 0, host.count, count);
    for (int i = 0; i < count; i++)
        expect_equal("value", (size_t)i, (long long)host.value[i], (long long)expected[i]);
    release(device);
    check_approximations();
    return finish("ptx_floats");
}
