/**
 * Grids and blocks of three dimensions: every thread has its own indices, the linear order is x, then y, then
 * z, and warps are made in that order.
 */
#include "../testing.h"

struct shape {
    dim3 grid, block;
};

struct record {
    unsigned thread[3], block[3], lane, size;
};

static __global__ void record_kernel(struct record *out) /* one per thread */
{
    const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    const unsigned size = blockDim.x * blockDim.y * blockDim.z, active = __activemask();
    const unsigned first = __shfl_sync(active, thread, 0); /* linear index of lane 0 of this warp */
    struct record *mine = &out[(size_t)block * size + thread];
    mine->thread[0] = threadIdx.x;
    mine->thread[1] = threadIdx.y;
    mine->thread[2] = threadIdx.z;
    mine->block[0] = blockIdx.x;
    mine->block[1] = blockIdx.y;
    mine->block[2] = blockIdx.z;
    mine->lane = thread - first;
    mine->size = size;
}

static void check_shape(struct shape shape)
{
    const unsigned size = shape.block.x * shape.block.y * shape.block.z;
    const unsigned count = size * shape.grid.x * shape.grid.y * shape.grid.z;
    struct record *host = host_array<struct record>(count), *out = device_array<struct record>(count);
    record_kernel<<<shape.grid, shape.block>>>(out);
    finish_launch("record_kernel");
    download(host, out, count);
    for (unsigned i = 0; i < count; i++) {
        const unsigned thread = i % size, block = i / size;
        expect_equal("threadIdx.x", i, host[i].thread[0], thread % shape.block.x);
        expect_equal("threadIdx.y", i, host[i].thread[1], thread / shape.block.x % shape.block.y);
        expect_equal("threadIdx.z", i, host[i].thread[2], thread / shape.block.x / shape.block.y);
        expect_equal("blockIdx.x", i, host[i].block[0], block % shape.grid.x);
        expect_equal("blockIdx.y", i, host[i].block[1], block / shape.grid.x % shape.grid.y);
        expect_equal("blockIdx.z", i, host[i].block[2], block / shape.grid.x / shape.grid.y);
        expect_equal("lane", i, host[i].lane, thread % 32);
        expect_equal("size", i, host[i].size, size);
    }
    release(out);
    free(host);
}

int main(void)
{
    const struct shape shapes[] = {
        {dim3(1), dim3(1)},          {dim3(3, 2, 4), dim3(5, 3, 2)},
        {dim3(2, 5), dim3(8, 4, 3)}, {dim3(1, 1, 7), dim3(1, 1, 64)},
        {dim3(300), dim3(3)},        {dim3(2), dim3(32, 32, 1)},
    };
    for (struct shape shape : shapes) check_shape(shape);
    return finish("grids_3d");
}
