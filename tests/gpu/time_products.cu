// Times the solution of lesson 08 or 09 on a GPU, without the checker: a quick look while tiles are being chosen.
//
//   nvcc -O3 -std=c++17 -arch=native -Icommon/contracts -Icommon/decode -Ilessons/08_wmma_gemm -DSOLUTION='"../../solutions/08_wmma_gemm/wmma_gemm.cu"' \
//        -DENTRY=wmma_gemm tests/gpu/time_products.cu -o /tmp/time_products && /tmp/time_products 1 1024 2048 4096
//
// Arguments: the numbers of stages, one digit each ("1234"; lesson 08 takes no notice), then extents of square products. Each
// is launched 11 times with the L2 cache flushed before, the last 9 count, and the median is printed with its rate; then 24
// elements are held against float64. "error": the largest difference over the sum of the products' magnitudes.
#include SOLUTION

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { TIMED = 9, SAMPLES = 24, FLUSH_BYTES = 128 << 20, SEED_A = 1, SEED_B = 77777 };

/** Numbers in [-1, 1) that depend on the index. */
__host__ __device__ static float number(size_t i, unsigned seed)
{
    unsigned x = (unsigned)i + seed;
    x = (x ^ x >> 16) * 2246822519u;
    x = (x ^ x >> 13) * 3266489917u;
    return (float)((x ^ x >> 16) >> 8) / 8388608.0f - 1.0f;
}

static __global__ void fill(half *to, size_t count, unsigned seed)
{
    size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += step)
        to[i] = __float2half(number(i, seed));
}

static double rounded(size_t i, unsigned seed)
{
    return (double)__half2float(__float2half(number(i, seed)));
}

/** The largest relative error of SAMPLES elements of C. */
static double largest_error(const float *c, int n)
{
    double worst = 0.0;
    for (int s = 0; s < SAMPLES; s++) {
        size_t i = (size_t)(s % 2 ? n - 1 - s * 61 % n : s * 127 % n),
               j = (size_t)(s % 3 ? n - 1 - s * 89 % n : s);
        double right = 0.0, size = 0.0;
        float x = NAN;
        cudaMemcpy(&x, c + i * (size_t)n + j, sizeof x, cudaMemcpyDeviceToHost);
        for (int k = 0; k < n; k++) {
            double product =
                rounded(i * (size_t)n + (size_t)k, SEED_A) * rounded((size_t)k * (size_t)n + j, SEED_B);
            right += product, size += fabs(product);
        }
        double error = fabs((double)x - right) / size;
        if (!(error <= worst)) worst = error;
    }
    return worst;
}

static int by_size(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/** Prints the time of one product; 1 if it failed. */
static int time_product(const struct gemm_args *args, void *flush)
{
    float ms[TIMED];
    cudaEvent_t begin, end;
    int failed = cudaEventCreate(&begin) != cudaSuccess || cudaEventCreate(&end) != cudaSuccess;
    cudaMemset(args->c, 0xff, (size_t)args->n * (size_t)args->n * sizeof(float)); // NaN
    for (int i = -2; i < TIMED && !failed; i++) {
        cudaMemsetAsync(flush, 0, FLUSH_BYTES);
        cudaEventRecord(begin);
        failed = ENTRY(args, 0) != KERNEL_OK;
        cudaEventRecord(end);
        failed |= cudaEventSynchronize(end) != cudaSuccess;
        if (i >= 0) cudaEventElapsedTime(&ms[i], begin, end);
    }
    if (failed) {
        printf("%d, %d stages: failed (%s)\n", args->n, args->stages, cudaGetErrorString(cudaGetLastError()));
        return 1;
    }
    qsort(ms, TIMED, sizeof ms[0], by_size);
    double n = args->n, median = ms[TIMED / 2];
    printf("%d, %d stages: %.1f us, %.1f TFLOP/s, error %.1e\n", args->n, args->stages, median * 1e3,
           2.0 * n * n * n / median * 1e-9, largest_error((const float *)args->c, args->n));
    cudaEventDestroy(begin), cudaEventDestroy(end);
    return 0;
}

int main(int count, char **arguments)
{
    int failed = 0;
    void *flush;
    if (count < 3 || cudaMalloc(&flush, FLUSH_BYTES) != cudaSuccess) {
        fprintf(stderr, "usage: time_products STAGES EXTENT... (and a GPU)\n");
        return 2;
    }
    for (int a = 2; a < count; a++) {
        int n = atoi(arguments[a]);
        size_t elems = (size_t)n * (size_t)n;
        half *left, *right;
        float *c;
        if (n < 1 || cudaMalloc((void **)&left, elems * 2) != cudaSuccess ||
            cudaMalloc((void **)&right, elems * 2) != cudaSuccess ||
            cudaMalloc((void **)&c, elems * 4) != cudaSuccess) {
            fprintf(stderr, "no memory for %s\n", arguments[a]);
            return 2;
        }
        fill<<<1024, 256>>>(left, elems, SEED_A);
        fill<<<1024, 256>>>(right, elems, SEED_B);
        for (const char *stages = arguments[1]; *stages != '\0'; stages++) {
            struct gemm_args args = {};
            args.m = args.n = args.k = args.lda = args.ldb = args.ldc = n;
            args.alpha = 1.0f, args.stages = *stages - '0';
            args.dtype_in = DTYPE_F16, args.dtype_out = DTYPE_F32;
            args.a = left, args.b = right, args.c = c;
            failed |= time_product(&args, flush);
        }
        cudaFree(left), cudaFree(right), cudaFree(c);
    }
    cudaFree(flush);
    return failed;
}
