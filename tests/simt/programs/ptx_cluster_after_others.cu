/**
 * Launches of clusters between launches without: what earlier blocks wrote to shared memory is no access of the block that is
 * there now, however many launches were before it, and a multicast into it is no race.
 */
#include "../hopper.h"

enum {
    LAUNCHES = 10,
    ROWS = 64,
    COLUMNS = 64,
    BOX_BYTES = ROWS * COLUMNS * 2,
    SHARED_BYTES = 2 * BOX_BYTES + 64
};

static __global__ void write_kernel(int *out)
{
    extern __shared__ __align__(1024) char shared[];
    int *words = (int *)shared;
    for (int i = (int)threadIdx.x; i < 2 * BOX_BYTES / 4; i += (int)blockDim.x) words[i] = i;
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = words[blockIdx.x + 1];
}

static __global__ void __cluster_dims__(2, 1, 1)
    load_kernel(const __grid_constant__ CUtensorMap map, int *out)
{
    extern __shared__ __align__(1024) char shared[];
    uint64_t *full = (uint64_t *)(shared + 2 * BOX_BYTES);
    const int rank = (int)cluster_rank();
    if (threadIdx.x == 0) mbarrier_init(full, 1);
    if (threadIdx.x == 0) mbarrier_init_fence();
    cluster_sync();
    if (threadIdx.x == 0) {
        mbarrier_arrive_expect(full, 2 * BOX_BYTES);
        tensor_multicast(shared + rank * BOX_BYTES, &map, 0, rank * ROWS, full, 3);
    }
    mbarrier_wait(full, 0);
    if (threadIdx.x == 0) out[blockIdx.x] = *(int *)(shared + BOX_BYTES);
    cluster_sync();
}

int main(void)
{
    int *matrix = host_array<int>((size_t)2 * ROWS * COLUMNS / 2), out[8] = {0};
    for (int i = 0; i < 2 * ROWS * COLUMNS / 2; i++) matrix[i] = i;
    int *device_matrix = upload(matrix, (size_t)2 * ROWS * COLUMNS / 2), *device_out = upload(out, 8);
    const CUtensorMap map = matrix_map(CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, device_matrix, 2 * ROWS, COLUMNS,
                                       ROWS, COLUMNS, CU_TENSOR_MAP_SWIZZLE_NONE);
    for (int i = 0; i < LAUNCHES; i++) {
        write_kernel<<<7, 384, SHARED_BYTES>>>(device_out);
        load_kernel<<<2 + 4 * (i % 2), 128, SHARED_BYTES>>>(map, device_out);
    }
    finish_launch("load_kernel");
    download(out, device_out, 8);
    for (size_t i = 0; i < 6; i++) expect_close("out", i, out[i], ROWS * COLUMNS / 2, 0.0);
    release(device_matrix);
    release(device_out);
    free(matrix);
    return finish("ptx_cluster_after_others");
}
