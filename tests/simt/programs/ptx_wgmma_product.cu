/**
 * A matrix product on wgmma: C = A B^T, A of M x K and B of N x K in f16, sums in f32. A block has a tile of 128 x 128, each of its
 * two warpgroups 64 rows of it. cp.async brings slices of 64 along k, two ahead of the one that is multiplied, in rows of 128 bytes
 * with the swizzle of 128 bytes; one product of each warpgroup is in flight while the next slice is waited for.
 *
 *     slice      k     k+1   k+2   k+3      (four stages)
 *     is         read  read  landing  free
 */
#include "../testing.h"

#include <cuda_fp16.h>

#include <stdint.h>

enum {
    TILE = 128,
    TILE_K = 64, /* 128 bytes: one row of the swizzle's pattern */
    GROUP_ROWS = 64,
    THREADS = 256,
    STAGES = 4,
    AHEAD = 2,
    MATRIX_BYTES = TILE * TILE_K * 2,
    STAGE_BYTES = 2 * MATRIX_BYTES,
    SHARED_BYTES = STAGES * STAGE_BYTES + 1024, /* the pattern begins at a multiple of 1024 */
    SUMS = 64
};

/* ---- the instructions */

/** Rows of 128 bytes, swizzled; eight of them are 1024 bytes. */
static __device__ __forceinline__ uint64_t describe(unsigned address)
{
    return (uint64_t)(address & 0x3ffff) >> 4 | (uint64_t)(1024 >> 4) << 32 | 1ull << 62;
}

static __device__ __forceinline__ void multiply(float (&d)[SUMS], uint64_t a, uint64_t b)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 "
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, "
                 "%19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, "
                 "%36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, "
                 "%53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}"
                 ", %64, %65, 1, 1, 1, 0, 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
                   "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
                   "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
                   "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
                   "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]),
                   "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]),
                   "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),
                   "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
                   "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]),
                   "+f"(d[63])
                 : "l"(a), "l"(b));
}

/** 16 bytes, the last of them zeros where the source has fewer. */
static __device__ __forceinline__ void copy_async(unsigned to, const void *from, int bytes)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"(to), "l"(from), "r"(bytes)
                 : "memory");
}

/* ---- the kernel */

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

static __device__ void store_tile(float *c, const float (&d)[SUMS], int m, int n)
{
    const int thread = (int)threadIdx.x, lane = thread % 32;
    const int row = (int)blockIdx.y * TILE + thread / 32 * 16 + lane / 4;
    const int column = (int)blockIdx.x * TILE + lane % 4 * 2;
    for (int i = 0; i < SUMS; i++) {
        const int r = row + i / 2 % 2 * 8, col = column + i / 4 * 8 + i % 2;
        if (r < m && col < n) c[(size_t)r * n + col] = d[i];
    }
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
        asm volatile("wgmma.fence.sync.aligned;" : : : "memory");
        for (int k = 0; k < TILE_K / 16; k++)
            multiply(d, describe(stage + own_rows + 32 * k), describe(stage + MATRIX_BYTES + 32 * k));
        asm volatile("wgmma.commit_group.sync.aligned;" : : : "memory");
        asm volatile("wgmma.wait_group.sync.aligned 1;" : : : "memory");
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" : : : "memory");
    asm volatile("cp.async.wait_all;" : : : "memory");
    store_tile(c, d, m, n);
}

/* ---- the test */

static void test(int m, int n, int depth)
{
    half *a = host_array<half>((size_t)m * depth), *b = host_array<half>((size_t)n * depth);
    float *c = host_array<float>((size_t)m * n);
    unsigned state = 4711;
    for (int i = 0; i < m * depth; i++) a[i] = __float2half(next_float(&state));
    for (int i = 0; i < n * depth; i++) b[i] = __float2half(next_float(&state));
    half *device_a = upload(a, (size_t)m * depth), *device_b = upload(b, (size_t)n * depth);
    float *device_c = device_array<float>((size_t)m * n);
    require(cudaFuncSetAttribute(product_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED_BYTES),
            "cudaFuncSetAttribute");
    product_kernel<<<dim3((n + TILE - 1) / TILE, (m + TILE - 1) / TILE), THREADS, SHARED_BYTES>>>(
        device_a, device_b, device_c, m, n, depth);
    finish_launch("product_kernel");
    download(c, device_c, (size_t)m * n);
    for (int row = 0; row < m; row++)
        for (int column = 0; column < n; column++) {
            double sum = 0, magnitude = 0;
            for (int k = 0; k < depth; k++) {
                const double x =
                    (double)__half2float(a[row * depth + k]) * __half2float(b[column * depth + k]);
                sum += x;
                magnitude += fabs(x);
            }
            /* A tensor core cuts each sum of 16 products and the accumulator at 2^-23 or so of the largest: depth / 16 times. */
            expect_close("c", (size_t)row * n + column, c[(size_t)row * n + column], sum,
                         (depth / 16 + 17) * ldexp(1.0, -22) * magnitude);
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
    test(256, 256, 256);
    test(200, 136, 328);
    test(1, 1, 8);
    return finish("ptx_wgmma_product");
}
