/**
 * Kernels of one warp that copy by bulk and tensor copies: as ptx.cu, to hold the software device against the hardware's
 * counters. ptx_bulk.expected has what the device must say.
 */
#include "../hopper.h"

enum { LANES = 32, ROWS = 32, WORDS = ROWS * LANES, BYTES = 4 * WORDS };

static __device__ __forceinline__ void begin(uint64_t *full)
{
    if (threadIdx.x == 0) {
        mbarrier_init(full, 1);
        mbarrier_init_fence();
        mbarrier_arrive_expect(full, BYTES);
    }
    __syncwarp();
}

static __global__ void bulk_load_kernel(const uint32_t *in, uint32_t *out, const __grid_constant__ CUtensorMap)
{
    __shared__ __align__(1024) uint32_t tile[WORDS];
    __shared__ __align__(8) uint64_t full;
    begin(&full);
    if (threadIdx.x == 0) bulk_load(tile, in, BYTES, &full);
    mbarrier_wait(&full, 0);
    out[threadIdx.x] = tile[threadIdx.x];
}

/** A column: 32 rows of 128 bytes are read by a word each, which the swizzle spreads over eight banks. */
static __global__ void tensor_load_kernel(const uint32_t *, uint32_t *out, const __grid_constant__ CUtensorMap map)
{
    __shared__ __align__(1024) uint32_t tile[WORDS];
    __shared__ __align__(8) uint64_t full;
    const unsigned row = threadIdx.x;
    begin(&full);
    if (threadIdx.x == 0) tensor_load(tile, &map, 0, 0, &full);
    mbarrier_wait(&full, 0);
    out[row] = tile[row * LANES + row % 8 * 4];
}

static __device__ __forceinline__ void fill_tile(uint32_t *tile)
{
    for (int i = (int)threadIdx.x; i < WORDS; i += LANES) tile[i] = (uint32_t)i;
    proxy_fence();
    __syncwarp();
}

static __global__ void bulk_store_kernel(const uint32_t *, uint32_t *out, const __grid_constant__ CUtensorMap)
{
    __shared__ __align__(1024) uint32_t tile[WORDS];
    fill_tile(tile);
    if (threadIdx.x != 0) return;
    bulk_store(out, tile, BYTES);
    bulk_commit();
    bulk_wait<0>();
}

static __global__ void tensor_store_kernel(const uint32_t *, uint32_t *, const __grid_constant__ CUtensorMap map)
{
    __shared__ __align__(1024) uint32_t tile[WORDS];
    fill_tile(tile);
    if (threadIdx.x != 0) return;
    tensor_store(&map, 0, 0, tile);
    bulk_commit();
    bulk_wait<0>();
}

int main(void)
{
    static uint32_t host[WORDS];
    for (int i = 0; i < WORDS; i++) host[i] = (uint32_t)i;
    uint32_t *in = upload(host, WORDS), *out = upload(host, WORDS);
    const CUtensorMap from = matrix_map(CU_TENSOR_MAP_DATA_TYPE_UINT32, 4, in, ROWS, LANES, ROWS, LANES,
                                        CU_TENSOR_MAP_SWIZZLE_128B),
                      to = matrix_map(CU_TENSOR_MAP_DATA_TYPE_UINT32, 4, out, ROWS, LANES, ROWS, LANES);
    bulk_load_kernel<<<1, LANES>>>(in, out, from);
    tensor_load_kernel<<<1, LANES>>>(in, out, from);
    bulk_store_kernel<<<1, LANES>>>(in, out, from);
    tensor_store_kernel<<<1, LANES>>>(in, out, to);
    finish_launch("tensor_store_kernel");
    download(host, out, WORDS);
    for (int i = 0; i < WORDS; i++) expect_equal("stored", (size_t)i, host[i], i);
    release(in);
    release(out);
    return finish("ptx_bulk");
}
