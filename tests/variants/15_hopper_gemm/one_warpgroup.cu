/*
 * A correct solution of another shape: wgmma without TMA, mbarriers or clusters. One warpgroup per tile of 64 x 64 copies
 * every slice to shared memory itself, whatever the layout, and writes its sums from registers.
 */
#include "plain_gemm.h"

#include "hopper.h"
#include "wgmma_tiles.h"

enum { TILE = 64, TILE_BYTES = TILE * 128, MOST_BLOCKS = 4096 };

template <typename T>
__device__ inline void copy(char *tile, const T *matrix, size_t line_step, size_t k_step, int lines,
                            int depth)
{
    for (int i = (int)threadIdx.x; i < TILE * TILE; i += WARPGROUP) {
        int line = i / TILE, k = i % TILE, there = line < lines && k < depth;
        uint16_t bits = there ? *(const uint16_t *)&matrix[line * line_step + k * k_step] : (uint16_t)0;
        *(uint16_t *)(tile + ((line * 128 + k * 2) ^ (line % 8 * 16))) = bits;
    }
}

template <typename T>
__device__ inline void write(const struct plain &p, int row, int column, const float (&sum)[32])
{
    int lane = (int)threadIdx.x % 32;
    row += (int)threadIdx.x / 32 * 16 + lane / 4, column += lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < 32; i++) {
        int y = i / 2 % 2 * 8, x = i / 4 * 8 + i % 2;
        if (y < p.args.m - row && x < p.args.n - column) plain_store<T>(p, row + y, column + x, sum[i]);
    }
}

template <typename T> __global__ void __launch_bounds__(WARPGROUP) gemm_kernel(struct plain p)
{
#if HOPPER_CODE
    __shared__ __align__(1024) char a[TILE_BYTES], b[TILE_BYTES];
    long long across = (p.args.n - 1) / TILE + 1, tiles = ((p.args.m - 1) / TILE + 1) * across;
    for (long long tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        int row = (int)(tile / across) * TILE, column = (int)(tile % across) * TILE;
        float sum[32] = {};
        for (int k = 0; k < p.k; k += TILE) {
            copy(a, (const T *)p.args.a + row * p.a_line + k * p.a_p, p.a_line, p.a_p, p.args.m - row,
                 p.k - k);
            copy(b, (const T *)p.args.b + column * p.b_line + k * p.b_p, p.b_line, p.b_p, p.args.n - column,
                 p.k - k);
            async_proxy_fence();
            __syncthreads(); // both tiles are there
            wgmma_fence();
            for (int step = 0; step < 4; step++)
                wgmma<0, 0>(sum, tile_descriptor(shared_address(a) + 32 * step, 0),
                            tile_descriptor(shared_address(b) + 32 * step, 0), T());
            wgmma_commit();
            wgmma_wait<0>();
            __syncthreads(); // and may be overwritten
        }
        write<T>(p, row, column, sum);
    }
#endif
}

template <typename T> static void plain_launch(const struct plain &p, cudaStream_t stream)
{
    long long tiles = ((long long)(p.args.m - 1) / TILE + 1) * ((p.args.n - 1) / TILE + 1);
    gemm_kernel<T>
        <<<(unsigned)(tiles < MOST_BLOCKS ? tiles : (long long)MOST_BLOCKS), WARPGROUP, 0, stream>>>(p);
}
