/**
 * y = a x + y in half and bfloat16, two elements at a time and one for an odd tail. Shown: half2 and
 * bfloat162 arithmetic, conversions on host and device, rounding once an operation.
 */
#include "../testing.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

enum { THREADS = 64, COUNT = 1001 };

static __global__ void saxpy_half_kernel(float a, const half *x, /* [n] */
                                         half *y,                /* [n] */
                                         int n)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    const half2 *x2 = reinterpret_cast<const half2 *>(x);
    half2 *y2 = reinterpret_cast<half2 *>(y);
    if (2 * i + 1 < n)
        y2[i] = __hfma2(__float2half2_rn(a), x2[i], y2[i]);
    else if (2 * i < n)
        y[2 * i] = __hfma(__float2half(a), x[2 * i], y[2 * i]);
}

static __global__ void saxpy_bfloat16_kernel(float a, const __nv_bfloat16 *x, /* [n] */
                                             __nv_bfloat16 *y,                /* [n] */
                                             int n)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800 /* no bfloat16 arithmetic there: conversions only */
    for (int k = 2 * i; k < n && k < 2 * i + 2; k++)
        y[k] = __float2bfloat16(fmaf(a, __bfloat162float(x[k]), __bfloat162float(y[k])));
#else
    const __nv_bfloat162 *x2 = reinterpret_cast<const __nv_bfloat162 *>(x);
    __nv_bfloat162 *y2 = reinterpret_cast<__nv_bfloat162 *>(y);
    if (2 * i + 1 < n)
        y2[i] = __hfma2(__float2bfloat162_rn(a), x2[i], y2[i]);
    else if (2 * i < n)
        y[2 * i] = __hfma(__float2bfloat16(a), x[2 * i], y[2 * i]);
#endif
}

/* What half arithmetic offers beyond a fused multiply-add; every result is exact. */
static __global__ void half_operators_kernel(half *out) /* [10] */
{
    const half three = __float2half(3.0f), eight = __int2half_rn(8);
    const half2 pair = __halves2half2(three, eight), swapped = __lowhigh2highlow(pair);
    out[0] = three + eight;
    out[1] = three - eight;
    out[2] = __hmul(three, eight);
    out[3] = __hdiv(three, eight);
    out[4] = __hmax(three, eight);
    out[5] = __hlt(three, eight) ? __low2half(pair) : __high2half(pair);
    out[6] = __hadd(__low2half(__hadd2(pair, swapped)), __high2half(__hmul2(pair, swapped)));
    out[7] = hsqrt(__float2half(16.0f));
    out[8] = __hneg(__habs(__hsub(three, eight)));
    out[9] = __float2half((float)__half2int_rn(eight) + __half22float2(pair).x);
}

static void run_half(void)
{
    static half x[COUNT], y[COUNT], result[COUNT];
    unsigned state = 41;
    for (int i = 0; i < COUNT; i++) {
        x[i] = __float2half(next_float(&state));
        y[i] = __float2half(next_float(&state));
    }
    half *device_x = upload(x, COUNT), *device_y = upload(y, COUNT);
    saxpy_half_kernel<<<(COUNT / 2 + THREADS) / THREADS, THREADS>>>(1.5f, device_x, device_y, COUNT);
    finish_launch("saxpy_half_kernel");
    download(result, device_y, COUNT);
    for (int i = 0; i < COUNT; i++) {
        const double exact = 1.5 * __half2float(x[i]) + __half2float(y[i]);
        expect_close("half", i, __half2float(result[i]), __half2float(__double2half(exact)), 0.0);
    }
    release(device_x);
    release(device_y);
}

static void run_bfloat16(void)
{
    static __nv_bfloat16 x[COUNT], y[COUNT], result[COUNT];
    unsigned state = 43;
    for (int i = 0; i < COUNT; i++) {
        x[i] = __float2bfloat16(next_float(&state));
        y[i] = __float2bfloat16(next_float(&state));
    }
    __nv_bfloat16 *device_x = upload(x, COUNT), *device_y = upload(y, COUNT);
    saxpy_bfloat16_kernel<<<(COUNT / 2 + THREADS) / THREADS, THREADS>>>(1.5f, device_x, device_y, COUNT);
    finish_launch("saxpy_bfloat16_kernel");
    download(result, device_y, COUNT);
    for (int i = 0; i < COUNT; i++) {
        const double exact = 1.5 * __bfloat162float(x[i]) + __bfloat162float(y[i]);
        expect_close("bfloat16", i, __bfloat162float(result[i]), __bfloat162float(__double2bfloat16(exact)),
                     0.0);
    }
    release(device_x);
    release(device_y);
}

static void run_operators(void)
{
    const float expected[10] = {11, -5, 24, 0.375f, 8, 3, 35, 4, -5, 11};
    half *out = device_array<half>(10), got[10];
    half_operators_kernel<<<1, 1>>>(out);
    finish_launch("half_operators_kernel");
    download(got, out, 10);
    for (int i = 0; i < 10; i++) expect_close("operator", i, __half2float(got[i]), expected[i], 0.0);
    release(out);
}

int main(void)
{
    run_half();
    run_bfloat16();
    run_operators();
    return finish("saxpy_half2");
}
