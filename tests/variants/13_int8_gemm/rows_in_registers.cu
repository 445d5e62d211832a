/*
 * A correct solution of another shape: a thread has eight rows of one column of C in registers, so that each byte of B is
 * used eight times; no shared memory. k runs backwards, which makes no difference to whole numbers.
 */
#include "plain_int8.h"

enum { THREADS = 64, ROWS = 8, MOST_BLOCKS = 4096 };

__global__ void gemm_kernel(struct plain p)
{
    const struct int8_gemm_args &args = p.args;
    long long across = (args.n - 1) / THREADS + 1, strips = ((long long)(args.m - 1) / ROWS + 1) * across;
    for (long long strip = blockIdx.x; strip < strips; strip += gridDim.x) {
        int row = (int)(strip / across) * ROWS, rows = min(args.m - row, (int)ROWS), sum[ROWS] = {0};
        int column = (int)(strip % across) * THREADS + (int)threadIdx.x;
        if (column >= args.n) continue;
        const int8_t *a = args.a + (size_t)row * p.a_line, *b = args.b + (size_t)column * p.b_line;
        for (size_t k = (size_t)args.k; k-- > 0;) {
            int of_b = b[k * p.b_p];
            for (int i = 0; i < rows; i++) sum[i] += a[(size_t)i * p.a_line + k * p.a_p] * of_b;
        }
        for (int i = 0; i < rows; i++) plain_store(p, row + i, column, sum[i]);
    }
}

static enum kernel_status plain_launch(const struct plain &p, cudaStream_t stream)
{
    long long strips = ((long long)(p.args.m - 1) / ROWS + 1) * ((p.args.n - 1) / THREADS + 1);
    gemm_kernel<<<(unsigned)(strips < MOST_BLOCKS ? strips : (long long)MOST_BLOCKS), THREADS, 0, stream>>>(
        p);
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}
