/*
 * A correct solution of another shape: a block per expert and 16 columns, which takes the expert's rows 16 at a time through
 * shared memory. Sums of the even and of the odd k are added at the end.
 */
// covered-by: thread_per_element
#include "plain_experts.h"

enum { TILE = 16 };

__global__ void product_kernel(struct grouped_gemm_args p)
{
    __shared__ float a[TILE][TILE + 1], w[2][TILE][TILE + 1];
    int x = (int)threadIdx.x % TILE, y = (int)threadIdx.x / TILE, expert = (int)blockIdx.y;
    int column = (int)blockIdx.x * TILE, end = p.offsets[expert + 1];
    size_t line = (size_t)expert * (1 + p.swiglu) * p.n + column;
    for (int row = p.offsets[expert]; row < end; row += TILE) {
        float even[2] = {}, odd[2] = {};
        for (int k = 0; k < p.k; k += TILE) {
            int there = k + x < p.k;
            a[y][x] =
                there && row + y < end ? plain_load(p.a, (size_t)(row + y) * p.k + k + x, p.dtype) : 0.0f;
            for (int half = 0; half <= p.swiglu; half++)
                w[half][y][x] = there && column + y < p.n
                                    ? plain_load(p.w, (line + half * p.n + y) * p.k + k + x, p.dtype)
                                    : 0.0f;
            __syncthreads();
            for (int half = 0; half <= p.swiglu; half++)
                for (int i = 0; i < TILE; i += 2) {
                    even[half] += a[y][i] * w[half][x][i];
                    odd[half] += a[y][i + 1] * w[half][x][i + 1];
                }
            __syncthreads();
        }
        float gate = even[0] + odd[0], up = even[1] + odd[1];
        if (row + y < end && column + x < p.n)
            plain_store(p.c, (size_t)(row + y) * p.n + column + x, p.dtype,
                        p.swiglu ? gate / (1.0f + expf(-gate)) * up : gate);
    }
}

static enum kernel_status plain_product(const struct grouped_gemm_args &args, cudaStream_t stream)
{
    dim3 grid((unsigned)divide_up(args.n, TILE), (unsigned)args.experts);
    product_kernel<<<grid, TILE * TILE, 0, stream>>>(args);
    return launch_status();
}
