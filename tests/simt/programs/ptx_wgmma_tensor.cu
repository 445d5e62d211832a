/**
 * A matrix product on wgmma and tensor copies: C = A B^T, A of M x K and B of N x K in f16, C in f32. One warp loads slices of 64
 * along k into a ring of stages, two warpgroups multiply them, 64 rows each, and give a stage back when its product is
 * complete. The tile goes out through shared memory by tensor copies, which leave away what is out of range.
 */
#include "../hopper.h"

#include <cuda_fp16.h>

enum {
    GROUP = 128,
    THREADS = 3 * GROUP, /* the last group loads */
    TILE_M = 128,
    TILE_N = 64,
    TILE_K = 64, /* 128 bytes: the span of the swizzle */
    STAGES = 3,
    SUMS = TILE_N / 2,
    A_HALVES = TILE_M * TILE_K,
    B_HALVES = TILE_N * TILE_K,
    BOX_N = 32 /* columns of a box of C: 128 bytes */
};

struct shared_memory {
    half a[STAGES][A_HALVES];
    half b[STAGES][B_HALVES];
    float c[TILE_N / BOX_N][TILE_M * BOX_N];
    uint64_t full[STAGES], empty[STAGES];
};

/** Rows of 128 bytes, swizzled; eight of them are 1024 bytes. */
static __device__ __forceinline__ uint64_t descriptor(const half *tile)
{
    return (uint64_t)(shared_address(tile) & 0x3ffff) >> 4 | (uint64_t)(1024 >> 4) << 32 | 1ull << 62;
}

static __device__ __forceinline__ void multiply(float (&d)[SUMS], const half *a, const half *b)
{
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, "
        "%11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, "
        "%30, %31}, %32, %33, 1, 1, 1, 0, 0;"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
          "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]),
          "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]),
          "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]),
          "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
        : "l"(descriptor(a)), "l"(descriptor(b)));
}

static __device__ void load_all(struct shared_memory *s, const CUtensorMap *a, const CUtensorMap *b,
                                int slices)
{
    for (int slice = 0; slice < slices; slice++) {
        const int stage = slice % STAGES;
        mbarrier_wait(&s->empty[stage], slice / STAGES % 2 ^ 1);
        mbarrier_arrive_expect(&s->full[stage], sizeof s->a[0] + sizeof s->b[0]);
        tensor_load(s->a[stage], a, slice * TILE_K, (int)blockIdx.y * TILE_M, &s->full[stage]);
        tensor_load(s->b[stage], b, slice * TILE_K, (int)blockIdx.x * TILE_N, &s->full[stage]);
    }
}

static __device__ void multiply_all(struct shared_memory *s, float (&d)[SUMS], int slices)
{
    const int rows = (int)threadIdx.x / GROUP * 64;
    for (int slice = 0; slice < slices; slice++) {
        const int stage = slice % STAGES;
        mbarrier_wait(&s->full[stage], slice / STAGES % 2);
        asm volatile("wgmma.fence.sync.aligned;" : : : "memory");
        for (int k = 0; k < TILE_K; k += 16) multiply(d, &s->a[stage][rows * TILE_K + k], &s->b[stage][k]);
        asm volatile("wgmma.commit_group.sync.aligned;" : : : "memory");
        asm volatile("wgmma.wait_group.sync.aligned 0;" : : : "memory");
        mbarrier_arrive(&s->empty[stage]);
    }
}

static __device__ void store_tile(struct shared_memory *s, const CUtensorMap *c, const float (&d)[SUMS])
{
    const int thread = (int)threadIdx.x, lane = thread % 32, row = thread / 32 * 16 + lane / 4;
    for (int i = 0; i < SUMS; i++) {
        const int r = row + i / 2 % 2 * 8, column = lane % 4 * 2 + i / 4 * 8 + i % 2;
        s->c[column / BOX_N][r * BOX_N + column % BOX_N] = d[i];
    }
    proxy_fence();
    asm volatile("bar.sync 1, %0;" : : "r"(2 * GROUP) : "memory");
    if (thread != 0) return;
    for (int box = 0; box < TILE_N / BOX_N; box++)
        tensor_store(c, (int)blockIdx.x * TILE_N + box * BOX_N, (int)blockIdx.y * TILE_M, s->c[box]);
    bulk_commit();
    bulk_wait_read<0>();
}

static __global__ void __launch_bounds__(THREADS)
    product_kernel(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,
                   const __grid_constant__ CUtensorMap c, int slices)
{
    extern __shared__ __align__(1024) char memory[];
    struct shared_memory *s = (struct shared_memory *)memory;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            mbarrier_init(&s->full[i], 1);
            mbarrier_init(&s->empty[i], 2 * GROUP);
        }
        mbarrier_init_fence();
    }
    __syncthreads();
    if (threadIdx.x >= 2 * GROUP) {
        if (threadIdx.x == 2 * GROUP) load_all(s, &a, &b, slices);
        return;
    }
    float d[SUMS];
    for (int i = 0; i < SUMS; i++) d[i] = 0.0f;
    multiply_all(s, d, slices);
    store_tile(s, &c, d);
}

static void test(unsigned m, unsigned n, unsigned depth)
{
    half *a = host_array<half>((size_t)m * depth), *b = host_array<half>((size_t)n * depth);
    float *c = host_array<float>((size_t)m * n);
    unsigned state = 99;
    for (unsigned i = 0; i < m * depth; i++) a[i] = __float2half(next_float(&state));
    for (unsigned i = 0; i < n * depth; i++) b[i] = __float2half(next_float(&state));
    half *device_a = upload(a, (size_t)m * depth), *device_b = upload(b, (size_t)n * depth);
    float *device_c = upload(c, (size_t)m * n);
    const CUtensorMap map_a = matrix_map(CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, device_a, m, depth, TILE_M,
                                         TILE_K, CU_TENSOR_MAP_SWIZZLE_128B),
                      map_b = matrix_map(CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, device_b, n, depth, TILE_N,
                                         TILE_K, CU_TENSOR_MAP_SWIZZLE_128B),
                      map_c = matrix_map(CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, device_c, m, n, TILE_M, BOX_N);
    require(cudaFuncSetAttribute(product_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 (int)sizeof(struct shared_memory)),
            "cudaFuncSetAttribute");
    product_kernel<<<dim3((n + TILE_N - 1) / TILE_N, (m + TILE_M - 1) / TILE_M), THREADS,
                     sizeof(struct shared_memory)>>>(map_a, map_b, map_c,
                                                     (int)((depth + TILE_K - 1) / TILE_K));
    finish_launch("product_kernel");
    download(c, device_c, (size_t)m * n);
    for (unsigned i = 0; i < m; i++)
        for (unsigned j = 0; j < n; j++) {
            double sum = 0.0, size = 0.0;
            for (unsigned k = 0; k < depth; k++) {
                const double p = (double)__half2float(a[i * depth + k]) * __half2float(b[j * depth + k]);
                sum += p;
                size += fabs(p);
            }
            /* a tensor core cuts its sums: an error of 2^-22 of the largest summand for each of them at most */
            expect_close("c", (size_t)i * n + j, c[(size_t)i * n + j], sum, ldexp(size, -21));
        }
    release(device_a);
    release(device_b);
    release(device_c);
    free(a);
    free(b);
    free(c);
}

int main(void)
{
    test(128, 64, 64);
    test(136, 72, 328);
    return finish("ptx_wgmma_tensor");
}
