/*
 * A correct solution of another shape: a warp per element of C, whose lanes share k out and add up by shuffles.
 */
#include "plain_experts.h"

enum { LANES = 32, WARPS = 4, MOST_BLOCKS = 4096 };

__global__ void product_kernel(struct grouped_gemm_args p)
{
    int lane = (int)threadIdx.x % LANES;
    size_t count = (size_t)p.rows * p.n, step = (size_t)gridDim.x * WARPS;
    for (size_t at = (size_t)blockIdx.x * WARPS + threadIdx.x / LANES; at < count; at += step) {
        int row = (int)(at / p.n), column = (int)(at % p.n);
        int expert = plain_expert(p.offsets, p.experts, row);
        if (expert < 0) continue; // the whole warp
        size_t line = (size_t)expert * (1 + p.swiglu) * p.n + column;
        float gate = 0.0f, up = 0.0f;
        for (int k = lane; k < p.k; k += LANES) {
            float a = plain_load(p.a, (size_t)row * p.k + k, p.dtype);
            gate = fmaf(a, plain_load(p.w, line * p.k + k, p.dtype), gate);
            if (p.swiglu) up = fmaf(a, plain_load(p.w, (line + p.n) * p.k + k, p.dtype), up);
        }
        for (int distance = LANES / 2; distance > 0; distance /= 2) {
            gate += __shfl_down_sync(0xffffffffu, gate, distance);
            up += __shfl_down_sync(0xffffffffu, up, distance);
        }
        if (lane == 0)
            plain_store(p.c, at, p.dtype, p.swiglu ? gate * (1.0f / (1.0f + __expf(-gate))) * up : gate);
    }
}

static enum kernel_status plain_product(const struct grouped_gemm_args &args, cudaStream_t stream)
{
    size_t blocks = ((size_t)args.rows * args.n - 1) / WARPS + 1;
    product_kernel<<<(unsigned)(blocks < MOST_BLOCKS ? blocks : (size_t)MOST_BLOCKS), WARPS * LANES, 0,
                     stream>>>(args);
    return launch_status();
}
