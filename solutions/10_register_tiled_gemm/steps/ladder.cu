// Every step, and the solution's kernel in every size of tile that is worth a try: checked against a plain
// product, and timed in one run, with cuBLAS as row 0.
//
// On a GPU it is the target ladder_10_register_tiled_gemm. Without one, test steps.10_register_tiled_gemm builds it with
// simtcc, -I common and -I lessons/10_register_tiled_gemm. Its arguments:
// - none: check at small sizes; exit 0 if all are right
// - EXTENT...: then time products of these extents; prints rows as docs/results/*.csv have them
// - --counted N: launch each once at extent N and nothing else; SIMT_COUNTERS gets a row each
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "1_naive.cu"
#include "2_coalesced.cu"
#include "3_shared.cu"
#include "4_column_of_sums.cu"
#include "5_square_of_sums.cu"
#include "6_vectors.cu"
#include "7_warp_tiles.cu"

#include "../register_tiled_gemm.cu"

#ifdef WARPWISE_HAVE_CUBLAS
#include <cublas_v2.h>
#endif

/* ---- what is compared ---------------------------------------------------------------------------------- */

/** The solution, in tiles of its own choosing. */
static void solution_auto(struct matrices x)
{
    struct gemm_args args = {};
    args.m = x.m, args.n = x.n, args.k = x.k;
    args.lda = x.k, args.ldb = x.n, args.ldc = x.n;
    args.alpha = 1.0f;
    args.dtype_in = args.dtype_out = DTYPE_F32;
    args.a = x.a, args.b = x.b, args.c = x.c;
    register_tiled_gemm_f32(&args, GEMM_TILE_AUTO, 0);
}

/** The solution's kernel in tiles of any size. */
template <int TILE_M, int TILE_N, int TILE_K, int WARP_M, int WARP_N, int THREAD_M, int THREAD_N,
          int MIN_BLOCKS>
static void solution_tile(struct matrices x)
{
    typedef struct tile_sizes<TILE_M, TILE_N, TILE_K, WARP_M, WARP_N, THREAD_M, THREAD_N, MIN_BLOCKS> size;
    struct gemm_args args = {};
    args.m = x.m, args.n = x.n, args.k = x.k;
    args.lda = x.k, args.ldb = x.n, args.ldc = x.n;
    args.alpha = 1.0f;
    args.a = x.a, args.b = x.b, args.c = x.c;
    launch<float, size, 0, VECTOR>(&args, 0, 0);
}

#ifdef WARPWISE_HAVE_CUBLAS
static cublasHandle_t cublas; /**< made in main() */

/** cuBLAS stores columns first: it is asked for C^T = B^T A^T. */
static void vendor(struct matrices x)
{
    const float one = 1.0f, zero = 0.0f;
    cublasSgemm(cublas, CUBLAS_OP_N, CUBLAS_OP_N, x.n, x.m, x.k, &one, x.b, x.n, x.a, x.k, &zero, x.c, x.n);
}
#endif

/** A kernel to check and to time. */
struct row {
    const char *what;             /**< "step" or "tile" */
    const char *name;             /**< what is printed */
    void (*run)(struct matrices); /**< launches it */
    int multiple;                 /**< of what k and n must be multiples */
    int largest;                  /**< extent up to which it is timed; 0: any */
};

/** Where the first steps stop: at 8192 they would take half a minute, and say nothing new. */
enum { LARGEST_SLOW = 4097 };

/** All of them, the vendor's first. */
static const struct row rows[] = {
#ifdef WARPWISE_HAVE_CUBLAS
    {"step", "0 cuBLAS", vendor, 1, 0},
#endif
    {"step", "1 naive", step_naive, 1, LARGEST_SLOW},
    {"step", "2 coalesced", step_coalesced, 1, LARGEST_SLOW},
    {"step", "3 shared", step_shared, 1, LARGEST_SLOW},
    {"step", "4 column of sums", step_column_of_sums, 1, 0},
    {"step", "5 square of sums", step_square_of_sums, 1, 0},
    {"step", "6 vectors", step_vectors, 4, 0},
    {"step", "7 warp tiles", step_warp_tiles, 4, 0},
    {"step", "8 solution", solution_auto, 1, 0},
    {"tile", "64x64x16 warp 32x32 thread 8x4", solution_tile<64, 64, 16, 32, 32, 8, 4, 4>, 4, 0},
    {"tile", "128x64x16 warp 64x32 thread 8x8", solution_tile<128, 64, 16, 64, 32, 8, 8, 3>, 4, 0},
    {"tile", "128x128x8 warp 32x64 thread 8x8", solution_tile<128, 128, 8, 32, 64, 8, 8, 2>, 4, 0},
    {"tile", "128x128x8 warp 64x64 thread 8x16", solution_tile<128, 128, 8, 64, 64, 8, 16, 2>, 4, 0},
    {"tile", "128x128x8 warp 64x64 thread 16x8", solution_tile<128, 128, 8, 64, 64, 16, 8, 2>, 4, 0},
    {"tile", "128x128x16 warp 64x64 thread 8x16", solution_tile<128, 128, 16, 64, 64, 8, 16, 2>, 4, 0},
    {"tile", "128x256x8 warp 64x64 thread 8x16", solution_tile<128, 256, 8, 64, 64, 8, 16, 1>, 4, 0},
    {"tile", "256x128x8 warp 64x64 thread 16x8", solution_tile<256, 128, 8, 64, 64, 16, 8, 1>, 4, 0},
};
/** How many there are. */
enum { ROWS = sizeof rows / sizeof rows[0] };

/* ---- matrices ------------------------------------------------------------------------------------------ */

/** Numbers in [-1, 1) that depend on the index. */
static float number(unsigned i)
{
    i = (i ^ i >> 16) * 2246822519u;
    i = (i ^ i >> 13) * 3266489917u;
    return (float)((i ^ i >> 16) >> 8) / 8388608.0f - 1.0f;
}

/** The same numbers in device memory; ends the program if there is none. */
static float *device_copy(const float *host, size_t count)
{
    float *device = NULL;
    if (cudaMalloc((void **)&device, count * sizeof(float)) != cudaSuccess ||
        cudaMemcpy(device, host, count * sizeof(float), cudaMemcpyHostToDevice) != cudaSuccess) {
        fprintf(stderr, "no device memory: %s\n", cudaGetErrorString(cudaGetLastError()));
        exit(2);
    }
    return device;
}

/** Host memory full of numbers. */
static float *numbers(size_t count, unsigned seed)
{
    float *x = (float *)malloc(count * sizeof(float));
    for (size_t i = 0; x != NULL && i < count; i++) x[i] = number((unsigned)i + seed);
    if (x == NULL) exit(2);
    return x;
}

/** Matrices on the device, A and B also on the host. */
static struct matrices make(int m, int n, int k, float **a, float **b)
{
    float *c = numbers((size_t)m * n, 3); // a result that is never written is wrong
    *a = numbers((size_t)m * k, 1), *b = numbers((size_t)k * n, 1u << 30);
    struct matrices x = {m,
                         n,
                         k,
                         device_copy(*a, (size_t)m * k),
                         device_copy(*b, (size_t)k * n),
                         device_copy(c, (size_t)m * n)};
    free(c);
    return x;
}

/** Frees what make() made. */
static void drop(struct matrices x, float *a, float *b)
{
    cudaFree((void *)x.a), cudaFree((void *)x.b), cudaFree(x.c);
    free(a), free(b);
}

/* ---- right results ------------------------------------------------------------------------------------- */

/** Whether element (i, j) of C is off by more than the rounding of k additions allows. */
static int is_wrong(struct matrices x, const float *a, const float *b, int i, int j, float c)
{
    double right = 0.0, size = 0.0;
    for (int k = 0; k < x.k; k++) {
        double product = (double)a[(size_t)i * x.k + k] * b[(size_t)k * x.n + j];
        right += product, size += fabs(product);
    }
    return !(fabs(c - right) <= 1e-6 * size + 1e-30);
}

/** Runs every row at one size and compares all of C; returns how many are wrong. */
static int check(int m, int n, int k)
{
    float *a, *b, *c = (float *)malloc((size_t)m * n * sizeof(float));
    struct matrices x = make(m, n, k, &a, &b);
    int failures = 0;
    for (int r = 0; r < ROWS; r++) {
        cudaMemset(x.c, 0xff, (size_t)m * n * sizeof(float)); // NaN
        rows[r].run(x);
        cudaError_t error = cudaGetLastError();
        if (error == cudaSuccess)
            error = cudaMemcpy(c, x.c, (size_t)m * n * sizeof(float), cudaMemcpyDeviceToHost);
        int wrong = error == cudaSuccess ? 0 : m * n;
        for (int at = 0; error == cudaSuccess && at < m * n; at++)
            wrong += is_wrong(x, a, b, at / n, at % n, c[at]);
        if (wrong == 0) continue;
        printf("WRONG %s at %d x %d x %d: %d of %d elements (%s)\n", rows[r].name, m, n, k, wrong, m * n,
               cudaGetErrorString(error));
        failures++;
    }
    drop(x, a, b), free(c);
    return failures;
}

/* ---- times --------------------------------------------------------------------------------------------- */

/** Launches that are timed; elements that are looked at afterwards. */
enum { REPETITIONS = 11, SAMPLES = 64 };

/** For qsort(). */
static int by_size(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/** Median time of a launch in microseconds, after one to warm up; 0 if it failed. */
static float median_us(void (*run)(struct matrices), struct matrices x)
{
    float ms[REPETITIONS];
    cudaEvent_t start, stop;
    cudaEventCreate(&start), cudaEventCreate(&stop);
    run(x);
    for (int i = 0; i < REPETITIONS; i++) {
        cudaEventRecord(start);
        run(x);
        cudaEventRecord(stop);
        if (cudaEventSynchronize(stop) != cudaSuccess || cudaGetLastError() != cudaSuccess) return 0.0f;
        cudaEventElapsedTime(&ms[i], start, stop);
    }
    cudaEventDestroy(start), cudaEventDestroy(stop);
    qsort(ms, REPETITIONS, sizeof ms[0], by_size);
    return ms[REPETITIONS / 2] * 1000.0f;
}

/** Of SAMPLES elements of C those that are wrong: what was timed has to be right at this size, too. */
static int wrong_samples(struct matrices x, const float *a, const float *b)
{
    int wrong = 0;
    for (int s = 0; s < SAMPLES; s++) {
        int i = s % 2 ? x.m - 1 - s * 61 % x.m : s * 127 % x.m, j = s % 3 ? x.n - 1 - s * 89 % x.n : s;
        float c = NAN;
        cudaMemcpy(&c, x.c + (size_t)i * x.n + j, sizeof c, cudaMemcpyDeviceToHost);
        wrong += is_wrong(x, a, b, i, j, c);
    }
    return wrong;
}

/** Two rows of docs/results: the time of one kernel, and its rate. */
static void print_record(const struct row *row, int extent, float us)
{
    cudaDeviceProp properties;
    char day[16], key[512];
    time_t now = time(NULL);
    int device = 0;
    cudaGetDevice(&device);
    cudaGetDeviceProperties(&properties, device);
    strftime(day, sizeof day, "%Y-%m-%d", gmtime(&now));
    snprintf(key, sizeof key, "%s,%s,CUDA %d.%d,10,%s %s,f32/%s_%d", day, properties.name,
             CUDART_VERSION / 1000, CUDART_VERSION % 100 / 10, row->what, row->name,
             extent % 2 ? "odd" : "square", extent);
    printf("%s,tflops,%.4g,TFLOP/s,ladder\n", key, 2.0 * extent * extent * extent / us * 1e-6);
    printf("%s,time,%.6g,us,ladder\n", key, us);
}

/** Times every row that can take this extent and is not too slow for it; returns how many are wrong there. */
static int time_all(int extent)
{
    float *a, *b;
    struct matrices x = make(extent, extent, extent, &a, &b);
    int failures = 0;
    for (int r = 0; r < ROWS; r++) {
        if (extent % rows[r].multiple != 0 || (rows[r].largest > 0 && extent > rows[r].largest)) continue;
        cudaMemset(x.c, 0xff, (size_t)extent * extent * sizeof(float)); // NaN
        float us = median_us(rows[r].run, x);
        int wrong = us > 0.0f ? wrong_samples(x, a, b) : SAMPLES;
        failures += wrong > 0;
        if (wrong == 0)
            print_record(&rows[r], extent, us);
        else
            printf("WRONG %s %s at %d: %d of %d samples (%s)\n", rows[r].what, rows[r].name, extent, wrong,
                   (int)SAMPLES, cudaGetErrorString(cudaGetLastError()));
        fflush(stdout);
    }
    drop(x, a, b);
    return failures;
}

/** Launches every row once. */
static int count_all(int extent)
{
    float *a, *b;
    struct matrices x = make(extent, extent, extent, &a, &b);
    for (int r = 0; r < ROWS; r++)
        if (strcmp(rows[r].name, "cuBLAS") != 0) rows[r].run(x);
    cudaError_t error = cudaDeviceSynchronize();
    drop(x, a, b);
    return error == cudaSuccess ? 0 : 1;
}

/** Checks, then times what its arguments ask for. */
int main(int argc, char **argv)
{
#ifdef WARPWISE_HAVE_CUBLAS
    if (cublasCreate(&cublas) != CUBLAS_STATUS_SUCCESS) return 2;
#endif
    if (argc == 3 && strcmp(argv[1], "--counted") == 0) return count_all(atoi(argv[2]));
    int failures = check(132, 140, 36) + check(65, 36, 20) + check(3, 4, 4);
    printf("%d kernels, %d wrong\n", (int)ROWS, failures);
    for (int i = 1; i < argc && failures == 0; i++) failures += time_all(atoi(argv[i]));
    return failures > 0;
}
