/**
 * A matrix product on wgmma and the tensor copy engine: C = A B^T, A of M x K and B of N x K in f16, sums in f32. In a block of three
 * warpgroups the first gives registers back, and one thread of it loads slices of 64 along k by TMA, with the swizzle of 128 bytes;
 * the other two multiply 64 rows each. Per stage an mbarrier says that the slice is there (`full`) and one that both groups have
 * multiplied it (`empty`); one product of each group stays in flight.
 */
#include "../hopper.h"
#include "../wgmma_product.h"

enum {
    CONSUMERS = 2,
    THREADS = 128 * (CONSUMERS + 1),
    STAGES = 4,
    SHARED_BYTES = STAGES * STAGE_BYTES + 1024
};

/** One thread. The first pass over the ring waits for nobody: the parity of the phase before the first is taken as over. */
static __device__ void load_slices(char *stages, uint64_t *full, uint64_t *empty, const CUtensorMap *a,
                                   const CUtensorMap *b, int slices)
{
    struct ring r = {0, 1};
    for (int s = 0; s < slices; s++, advance<STAGES>(&r)) {
        mbarrier_wait(&empty[r.stage], r.parity);
        mbarrier_arrive_expect(&full[r.stage], STAGE_BYTES);
        char *to = stages + r.stage * STAGE_BYTES;
        tensor_load(to, a, s * TILE_K, (int)blockIdx.y * TILE, &full[r.stage]);
        tensor_load(to + MATRIX_BYTES, b, s * TILE_K, (int)blockIdx.x * TILE, &full[r.stage]);
    }
}

/** A warpgroup. When the product of slice s has been issued, that of slice s - 1 is complete, and its stage is given back. */
static __device__ void multiply_slices(float (&d)[SUMS], unsigned stages, uint64_t *full, uint64_t *empty,
                                       int group, int slices)
{
    struct ring r = {0, 0};
    unsigned last = 0;
    for (int s = 0; s < slices; s++, advance<STAGES>(&r)) {
        const unsigned stage = stages + r.stage * STAGE_BYTES;
        mbarrier_wait(&full[r.stage], r.parity);
        multiply_slice(d, stage + group * GROUP_ROWS * 2 * TILE_K, stage + MATRIX_BYTES);
        wgmma_wait<1>();
        if (s > 0 && threadIdx.x % 128 == 0) mbarrier_arrive(&empty[last]);
        last = r.stage;
    }
    wgmma_wait<0>();
}

static __global__ void __launch_bounds__(THREADS)
    product_kernel(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b, float *c,
                   int m, int n, int depth)
{
    extern __shared__ char shared[];
    __shared__ __align__(8) uint64_t full[STAGES], empty[STAGES];
    const unsigned address = shared_address(shared), base = (address + 1023) & ~1023u;
    const int slices = (depth + TILE_K - 1) / TILE_K, group = (int)threadIdx.x / 128 - 1;
    if (threadIdx.x == 0)
        for (int i = 0; i < STAGES; i++) {
            mbarrier_init(&full[i], 1);
            mbarrier_init(&empty[i], CONSUMERS);
        }
    if (threadIdx.x == 0) mbarrier_init_fence();
    __syncthreads();
    if (group < 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 24;" : : : "memory");
        if (threadIdx.x == 0) load_slices(shared + (base - address), full, empty, &a, &b, slices);
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 240;" : : : "memory");
    float d[SUMS];
    for (int i = 0; i < SUMS; i++) d[i] = 0.0f;
    multiply_slices(d, base, full, empty, group, slices);
    store_sums(c, d, (int)blockIdx.y * TILE + group * GROUP_ROWS, (int)blockIdx.x * TILE, m, n);
}

static void product(half *a, half *b, float *c, int m, int n, int depth)
{
    const CUtensorMap map_a =
        matrix_map(CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, a, m, depth, TILE, TILE_K, CU_TENSOR_MAP_SWIZZLE_128B);
    const CUtensorMap map_b =
        matrix_map(CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, b, n, depth, TILE, TILE_K, CU_TENSOR_MAP_SWIZZLE_128B);
    require(cudaFuncSetAttribute(product_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED_BYTES),
            "cudaFuncSetAttribute");
    product_kernel<<<dim3((n + TILE - 1) / TILE, (m + TILE - 1) / TILE), THREADS, SHARED_BYTES>>>(
        map_a, map_b, c, m, n, depth);
}

int main(void)
{
    test_product(product, 256, 256, 512);
    test_product(product, 200, 136, 328);
    test_product(product, 1, 1, 8);
    return finish("ptx_wgmma_ring");
}
