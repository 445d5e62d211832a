// Every step, and the solution: checked against a plain product, and timed in one run, with cuBLAS as row 0.
//
// On a GPU it is the target ladder_15_hopper_gemm. Without one, test steps.15_hopper_gemm builds it with simtcc and the
// include paths of the lesson. Its arguments:
// - none: check at small sizes; exit 0 if all are right
// - EXTENT...: then time products of these extents; prints rows as docs/results/*.csv have them
// - --bits: prints a number made of the bits of all results at the small sizes, for comparing schedules
// Built with -DSTEP=N it has step N alone.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifndef STEP
#define STEP 0
#endif
#if STEP == 0 || STEP == 1
#include "1_wgmma_tma.cu"
#endif
#if STEP == 0 || STEP == 2
#include "2_larger_tiles.cu"
#endif
#if STEP == 0 || STEP == 3
#include "3_producer_consumers.cu"
#endif
#if STEP == 0 || STEP == 4
#include "4_registers_moved.cu"
#endif
#if STEP == 0 || STEP == 5
#include "5_persistent.cu"
#endif
#if STEP == 0 || STEP == 6
#include "6_few_arrivals.cu"
#endif
#if STEP == 0 || STEP == 7
#include "7_multicast.cu"
#endif
#if STEP == 0 || STEP == 8
#include "8_tma_store.cu"
#endif
#if STEP == 0
#include "../hopper_gemm.cu"
#endif

#ifdef WARPWISE_HAVE_CUBLAS
#include <cublas_v2.h>
#endif

/* ---- what is compared ---------------------------------------------------------------------------------- */

#if STEP == 0
/** The solution. */
static void solution(struct matrices x)
{
    struct gemm_args args = {};
    args.m = x.m, args.n = x.n, args.k = x.k;
    args.trans_b = 1;
    args.lda = args.ldb = x.k, args.ldc = x.n;
    args.alpha = 1.0f;
    args.dtype_in = args.dtype_out = DTYPE_F16;
    args.a = x.a, args.b = x.b, args.c = x.c;
    hopper_gemm_f16(&args, 0);
}
#endif

#ifdef WARPWISE_HAVE_CUBLAS
static cublasHandle_t cublas; /**< made in main() */

/** cuBLAS stores columns first: it is asked for C^T = B A^T, of which it sees B^T and A. */
static void vendor(struct matrices x)
{
    const float one = 1.0f, zero = 0.0f;
    cublasGemmEx(cublas, CUBLAS_OP_T, CUBLAS_OP_N, x.n, x.m, x.k, &one, x.b, CUDA_R_16F, x.k, x.a, CUDA_R_16F,
                 x.k, &zero, x.c, CUDA_R_16F, x.n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}
#endif

/** A kernel to check and to time. */
struct row {
    const char *name;             /**< what is printed */
    void (*run)(struct matrices); /**< launches it */
};

/** All of them, the vendor's first. */
static const struct row rows[] = {
#if defined(WARPWISE_HAVE_CUBLAS)
    {"0 cuBLAS", vendor},
#endif
#if STEP == 0 || STEP == 1
    {"1 wgmma and TMA", step_wgmma_tma},
#endif
#if STEP == 0 || STEP == 2
    {"2 larger tiles", step_larger_tiles},
#endif
#if STEP == 0 || STEP == 3
    {"3 producer and consumers", step_producer_consumers},
#endif
#if STEP == 0 || STEP == 4
    {"4 registers moved", step_registers_moved},
#endif
#if STEP == 0 || STEP == 5
    {"5 persistent", step_persistent},
#endif
#if STEP == 0 || STEP == 6
    {"6 few arrivals", step_few_arrivals},
#endif
#if STEP == 0 || STEP == 7
    {"7 multicast", step_multicast},
#endif
#if STEP == 0 || STEP == 8
    {"8 TMA store", step_tma_store},
#endif
#if STEP == 0
    {"9 solution", solution},
#endif
};
/** How many there are. */
enum { ROWS = sizeof rows / sizeof rows[0] };

/* ---- matrices ------------------------------------------------------------------------------------------ */

/** Halves in [-1, 1) that depend on the index. */
static half number(unsigned i)
{
    i = (i ^ i >> 16) * 2246822519u;
    i = (i ^ i >> 13) * 3266489917u;
    return __float2half((float)((i ^ i >> 16) >> 8) / 8388608.0f - 1.0f);
}

/** Host memory full of numbers. */
static half *numbers(size_t count, unsigned seed)
{
    half *x = (half *)malloc(count * sizeof(half));
    for (size_t i = 0; x != NULL && i < count; i++) x[i] = number((unsigned)i + seed);
    if (x == NULL) exit(2);
    return x;
}

/** The same numbers in device memory; ends the program if there is none. */
static half *device_copy(const half *host, size_t count)
{
    half *device = NULL;
    if (cudaMalloc((void **)&device, count * sizeof(half)) != cudaSuccess ||
        cudaMemcpy(device, host, count * sizeof(half), cudaMemcpyHostToDevice) != cudaSuccess) {
        fprintf(stderr, "no device memory: %s\n", cudaGetErrorString(cudaGetLastError()));
        exit(2);
    }
    return device;
}

/** Matrices on the device, A and B also on the host. */
static struct matrices make(int m, int n, int k, half **a, half **b)
{
    half *c = numbers((size_t)m * n, 3); // a result that is never written is wrong
    *a = numbers((size_t)m * k, 1), *b = numbers((size_t)n * k, 1u << 30);
    struct matrices x = {m,
                         n,
                         k,
                         device_copy(*a, (size_t)m * k),
                         device_copy(*b, (size_t)n * k),
                         device_copy(c, (size_t)m * n)};
    free(c);
    return x;
}

/** Frees what make() made. */
static void drop(struct matrices x, half *a, half *b)
{
    cudaFree((void *)x.a), cudaFree((void *)x.b), cudaFree(x.c);
    free(a), free(b);
}

/* ---- right results ------------------------------------------------------------------------------------- */

/**
 * Whether element (i, j) of C is off by more than a sum in f32, cut off by the tensor cores at 2^-22 of its terms, and then the
 * rounding to f16 allow.
 */
static int is_wrong(struct matrices x, const half *a, const half *b, int i, int j, half c)
{
    double right = 0.0, size = 0.0;
    for (int k = 0; k < x.k; k++) {
        double product = (double)__half2float(a[(size_t)i * x.k + k]) * __half2float(b[(size_t)j * x.k + k]);
        right += product, size += fabs(product);
    }
    return !(fabs(__half2float(c) - right) <= fabs(right) * 0x1p-11 + size * 0x1p-21 + 0x1p-25);
}

/** Runs every row at one size and compares all of C; returns how many are wrong. */
static int check(int m, int n, int k, unsigned *bits)
{
    half *a, *b, *c = (half *)malloc((size_t)m * n * sizeof(half));
    struct matrices x = make(m, n, k, &a, &b);
    int failures = 0;
    for (int r = 0; r < ROWS; r++) {
        cudaMemset(x.c, 0xff, (size_t)m * n * sizeof(half)); // NaN
        rows[r].run(x);
        cudaError_t error = cudaGetLastError();
        if (error == cudaSuccess)
            error = cudaMemcpy(c, x.c, (size_t)m * n * sizeof(half), cudaMemcpyDeviceToHost);
        int wrong = error == cudaSuccess ? 0 : m * n;
        for (int at = 0; error == cudaSuccess && at < m * n; at++) {
            unsigned short word;
            wrong += is_wrong(x, a, b, at / n, at % n, c[at]);
            memcpy(&word, &c[at], sizeof word);
            *bits = *bits * 16777619u ^ word;
        }
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
enum { REPETITIONS = 21, SAMPLES = 64 };

/** For qsort(). */
static int by_size(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/** Keeps the device busy for some 50 us: what the host does for a launch is over before the kernel that is timed may begin. */
__global__ void head_start_kernel(void)
{
    long long start = clock64();
    while (clock64() - start < 100000) continue;
}

/** Time of one launch in milliseconds; less than 0 if it failed. */
static float time_once(const struct row *row, struct matrices x, cudaEvent_t start, cudaEvent_t stop)
{
    float ms = -1.0f;
    head_start_kernel<<<1, 1>>>();
    cudaEventRecord(start);
    row->run(x);
    cudaEventRecord(stop);
    if (cudaEventSynchronize(stop) != cudaSuccess || cudaGetLastError() != cudaSuccess) return -1.0f;
    cudaEventElapsedTime(&ms, start, stop);
    return ms;
}

/**
 * Median times in microseconds, 0 of a row that failed. All rows run once, then again in another order: a chip at its power
 * limit becomes slower from launch to launch, and no row shall be the one that pays.
 */
static void median_us(struct matrices x, float us[ROWS])
{
    static float ms[ROWS][REPETITIONS];
    cudaEvent_t start, stop;
    cudaEventCreate(&start), cudaEventCreate(&stop);
    for (int i = 0; i < REPETITIONS; i++)
        for (int r = 0; r < ROWS; r++) {
            int row = (r + i * 3) % ROWS;
            ms[row][i] = time_once(&rows[row], x, start, stop);
        }
    cudaEventDestroy(start), cudaEventDestroy(stop);
    for (int r = 0; r < ROWS; r++) {
        qsort(ms[r], REPETITIONS, sizeof ms[r][0], by_size);
        us[r] = ms[r][0] > 0.0f ? ms[r][REPETITIONS / 2] * 1000.0f : 0.0f;
    }
}

/** Of SAMPLES elements of C those that are wrong: what was timed has to be right at this size, too. */
static int wrong_samples(struct matrices x, const half *a, const half *b)
{
    int wrong = 0;
    for (int s = 0; s < SAMPLES; s++) {
        int i = s % 2 ? x.m - 1 - s * 61 % x.m : s * 127 % x.m, j = s % 3 ? x.n - 1 - s * 89 % x.n : s;
        half c = __float2half(NAN);
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
    snprintf(key, sizeof key, "%s,%s,CUDA %d.%d,15,step %s,f16/square_%d_nt", day, properties.name,
             CUDART_VERSION / 1000, CUDART_VERSION % 100 / 10, row->name, extent);
    printf("%s,tflops,%.4g,TFLOP/s,ladder\n", key, 2.0 * extent * extent * extent / us * 1e-6);
    printf("%s,time,%.6g,us,ladder\n", key, us);
}

/** Times every row at one extent, a multiple of 8; returns how many are wrong there. */
static int time_all(int extent)
{
    half *a, *b;
    float us[ROWS];
    struct matrices x = make(extent, extent, extent, &a, &b);
    int failures = 0, wrong[ROWS];
    for (int r = 0; r < ROWS; r++) {                                   // these launches warm up, too
        cudaMemset(x.c, 0xff, (size_t)extent * extent * sizeof(half)); // NaN
        rows[r].run(x);
        wrong[r] = cudaDeviceSynchronize() == cudaSuccess ? wrong_samples(x, a, b) : SAMPLES;
    }
    median_us(x, us);
    for (int r = 0; r < ROWS; r++) {
        if (wrong[r] == 0 && us[r] > 0.0f) {
            print_record(&rows[r], extent, us[r]);
            continue;
        }
        failures++;
        printf("WRONG %s at %d: %d of %d samples (%s)\n", rows[r].name, extent, wrong[r], (int)SAMPLES,
               cudaGetErrorString(cudaGetLastError()));
    }
    fflush(stdout);
    drop(x, a, b);
    return failures;
}

/** Checks, then times what its arguments ask for. */
int main(int argc, char **argv)
{
#ifdef WARPWISE_HAVE_CUBLAS
    if (cublasCreate(&cublas) != CUBLAS_STATUS_SUCCESS) return 2;
#endif
    unsigned bits = 2166136261u;
    // An edge on every side, a tail of k, more slices than stages; then several tiles per block where there are few SMs.
    int failures = check(264, 264, 328, &bits) + check(72, 520, 72, &bits) + check(3, 8, 8, &bits);
    if (argc == 2 && strcmp(argv[1], "--bits") == 0) printf("bits %08x\n", bits);
    printf("%d kernels, %d wrong\n", (int)ROWS, failures);
    for (int i = 1; i < argc && failures == 0; i++)
        if (atoi(argv[i]) > 0) failures += time_all(atoi(argv[i]) / 8 * 8);
    return failures > 0;
}
