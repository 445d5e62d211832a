/**
 * A matrix product whose blocks share what they load: C = A B^T, A of M x K and B of N x K in f16, sums in f32. The two blocks of a
 * cluster have the same rows of A, and columns of C side by side. Each loads half of A's slice for both of them, by a multicast
 * of the tensor copy engine, and its own slice of B. A stage may be loaded anew when the consumers of both blocks have
 * multiplied it: they arrive at the mbarriers of both.
 */
#include "../hopper.h"
#include "../wgmma_product.h"

enum {
    BLOCKS = 2, /* of a cluster */
    CONSUMERS = 2,
    THREADS = 128 * (CONSUMERS + 1),
    STAGES = 3,
    HALF_BYTES = MATRIX_BYTES / BLOCKS,
    SHARED_BYTES = STAGES * STAGE_BYTES + 1024
};

/** One thread of each block. Both halves of A come to both blocks, so that each expects the whole of it. */
static __device__ void load_slices(char *stages, uint64_t *full, uint64_t *empty, const CUtensorMap *a,
                                   const CUtensorMap *b, int slices)
{
    const int rank = (int)cluster_rank();
    struct ring r = {0, 1};
    for (int s = 0; s < slices; s++, advance<STAGES>(&r)) {
        mbarrier_wait_cluster(&empty[r.stage], r.parity);
        mbarrier_arrive_expect(&full[r.stage], STAGE_BYTES);
        char *to = stages + r.stage * STAGE_BYTES;
        tensor_multicast(to + rank * HALF_BYTES, a, s * TILE_K,
                         (int)blockIdx.y * TILE + rank * (TILE / BLOCKS), &full[r.stage], (1 << BLOCKS) - 1);
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
        if (s > 0 && threadIdx.x % 128 < BLOCKS) mbarrier_arrive_at(&empty[last], threadIdx.x % 128);
        last = r.stage;
    }
    wgmma_wait<0>();
}

static __global__ void __cluster_dims__(BLOCKS, 1, 1) __launch_bounds__(THREADS)
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
            mbarrier_init(&empty[i], CONSUMERS * BLOCKS);
        }
    if (threadIdx.x == 0) mbarrier_init_fence();
    cluster_sync(); /* the mbarriers of both blocks are there */
    if (group < 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 24;" : : : "memory");
        if (threadIdx.x == 0) load_slices(shared + (base - address), full, empty, &a, &b, slices);
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 240;" : : : "memory");
        float d[SUMS];
        for (int i = 0; i < SUMS; i++) d[i] = 0.0f;
        multiply_slices(d, base, full, empty, group, slices);
        store_sums(c, d, (int)blockIdx.y * TILE + group * GROUP_ROWS, (int)blockIdx.x * TILE, m, n);
    }
    cluster_sync(); /* nobody arrives at the mbarriers of a block that has ended */
}

static void product(half *a, half *b, float *c, int m, int n, int depth)
{
    const CUtensorMap map_a = matrix_map(CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, a, m, depth, TILE / BLOCKS,
                                         TILE_K, CU_TENSOR_MAP_SWIZZLE_128B);
    const CUtensorMap map_b =
        matrix_map(CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, b, n, depth, TILE, TILE_K, CU_TENSOR_MAP_SWIZZLE_128B);
    const int columns = ((n + TILE - 1) / TILE + BLOCKS - 1) / BLOCKS * BLOCKS; /* whole clusters */
    require(cudaFuncSetAttribute(product_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED_BYTES),
            "cudaFuncSetAttribute");
    product_kernel<<<dim3(columns, (m + TILE - 1) / TILE), THREADS, SHARED_BYTES>>>(map_a, map_b, c, m, n,
                                                                                    depth);
}

int main(void)
{
    test_product(product, 256, 256, 320);
    test_product(product, 200, 136, 72);
    test_product(product, 1, 1, 8);
    return finish("ptx_cluster_multicast");
}
