/**
 * A matrix product on wgmma: C = A B^T, A of M x K and B of N x K in f16, sums in f32. A block has a tile of 128 x 128, each of its
 * two warpgroups 64 rows of it. cp.async brings slices of 64 along k, two ahead of the one that is multiplied, in rows of 128 bytes
 * with the swizzle of 128 bytes; one product of each warpgroup is in flight while the next slice is waited for.
 *
 *     slice      k     k+1   k+2   k+3      (four stages)
 *     is         read  read  landing  free
 */
#include "../wgmma_product.h"

enum {
    THREADS = 256,
    STAGES = 4,
    AHEAD = 2,
    SHARED_BYTES = STAGES * STAGE_BYTES + 1024 /* the pattern begins at a multiple of 1024 */
};

/** 16 bytes, the last of them zeros where the source has fewer. */
static __device__ __forceinline__ void copy_async(unsigned to, const void *from, int bytes)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"(to), "l"(from), "r"(bytes)
                 : "memory");
}

/** One slice of a matrix of rows x depth, from row `row` and column `k` on; outside of it are zeros. */
static __device__ void load_slice(unsigned to, const half *from, int row, int rows, int k, int depth)
{
    for (int i = (int)threadIdx.x; i < TILE * (TILE_K / 8); i += THREADS) {
        const int r = i / (TILE_K / 8), chunk = i % (TILE_K / 8), left = depth - (k + 8 * chunk);
        const int halves = row + r >= rows || left <= 0 ? 0 : left < 8 ? left : 8;
        const half *source = halves > 0 ? from + (size_t)(row + r) * depth + k + 8 * chunk : from;
        copy_async(to + r * 2 * TILE_K + (chunk ^ r % 8) * 16, source, 2 * halves);
    }
}

static __device__ void load_stage(unsigned stage, const half *a, const half *b, int m, int n, int k,
                                  int depth)
{
    if (k < depth) {
        load_slice(stage, a, (int)blockIdx.y * TILE, m, k, depth);
        load_slice(stage + MATRIX_BYTES, b, (int)blockIdx.x * TILE, n, k, depth);
    }
    asm volatile("cp.async.commit_group;" : : : "memory");
}

static __global__ void __launch_bounds__(THREADS)
    product_kernel(const half *a, const half *b, float *c, int m, int n, int depth)
{
    extern __shared__ char shared[];
    const unsigned base = ((unsigned)__cvta_generic_to_shared(shared) + 1023) & ~1023u;
    const int slices = (depth + TILE_K - 1) / TILE_K;
    const unsigned own_rows = threadIdx.x / 128 * GROUP_ROWS * 2 * TILE_K;
    float d[SUMS];
    for (int i = 0; i < SUMS; i++) d[i] = 0.0f;
    for (int s = 0; s < AHEAD; s++) load_stage(base + s * STAGE_BYTES, a, b, m, n, s * TILE_K, depth);
    for (int s = 0; s < slices; s++) {
        const unsigned stage = base + s % STAGES * STAGE_BYTES,
                       next = base + (s + AHEAD) % STAGES * STAGE_BYTES;
        asm volatile("cp.async.wait_group %0;"
                     :
                     : "n"(AHEAD - 1)
                     : "memory"); /* slice s has landed, for this thread */
        asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
        __syncthreads(); /* for all; and all have waited for the product of slice s - 2, whose stage is loaded now */
        load_stage(next, a, b, m, n, (s + AHEAD) * TILE_K, depth);
        multiply_slice(d, stage + own_rows, stage + MATRIX_BYTES);
        wgmma_wait<1>();
    }
    wgmma_wait<0>();
    asm volatile("cp.async.wait_all;" : : : "memory");
    store_sums(c, d, (int)blockIdx.y * TILE + (int)threadIdx.x / 128 * GROUP_ROWS, (int)blockIdx.x * TILE, m,
               n);
}

static void product(half *a, half *b, float *c, int m, int n, int depth)
{
    require(cudaFuncSetAttribute(product_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED_BYTES),
            "cudaFuncSetAttribute");
    product_kernel<<<dim3((n + TILE - 1) / TILE, (m + TILE - 1) / TILE), THREADS, SHARED_BYTES>>>(a, b, c, m,
                                                                                                  n, depth);
}

int main(void)
{
    test_product(product, 256, 256, 256);
    test_product(product, 200, 136, 328);
    test_product(product, 1, 1, 8);
    return finish("ptx_wgmma_product");
}
