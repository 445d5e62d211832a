// Every step and the solution: checked against float64, and timed in one run.
//
// On a GPU it is the target ladder_16_hopper_attention. Without one, test steps.16_hopper_attention builds it with simtcc and the
// include paths of the lesson. Its arguments:
// - none: check at small sizes; exit 0 if all are right
// - LENGTH...: then time attention of these lengths, multiples of 128, 16,384 queries in all heads of a model of 2048 columns, with
//   head_dim 64 and 128; prints rows as docs/results/*.csv have them
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
#include "1_one_warpgroup.cu"
#endif
#if STEP == 0 || STEP == 2
#include "2_tma.cu"
#endif
#if STEP == 0 || STEP == 3
#include "3_producer.cu"
#endif
#if STEP == 0 || STEP == 4
#include "4_two_consumers.cu"
#endif
#if STEP == 0 || STEP == 5
#include "5_ping_pong.cu"
#endif
#if STEP == 0 || STEP == 6
#include "6_overlap.cu"
#endif
#if STEP == 0 || STEP == 7
#include "../hopper_attention.cu"
#endif
#include "steps.h"

#if STEP == 0 || STEP == 7
/** The solution. */
static void solution(struct problem x)
{
    struct attention_args args = {};
    args.batch = 1, args.heads = args.kv_heads = x.heads;
    args.q_len = args.kv_len = x.length, args.head_dim = x.head_dim;
    args.dtype = DTYPE_F16;
    args.q = x.q, args.k = x.k, args.v = x.v, args.out = x.o;
    hopper_attention_f16(&args, 0);
}
#endif

/** A kernel to check and to time. */
struct step {
    const char *name;
    void (*run)(struct problem);
};
/** All of them. */
static const struct step steps[] = {
#if STEP == 0 || STEP == 1
    {"1 one warpgroup", step_one_warpgroup},
#endif
#if STEP == 0 || STEP == 2
    {"2 TMA", step_tma},
#endif
#if STEP == 0 || STEP == 3
    {"3 producer", step_producer},
#endif
#if STEP == 0 || STEP == 4
    {"4 two consumers", step_two_consumers},
#endif
#if STEP == 0 || STEP == 5
    {"5 ping-pong", step_ping_pong},
#endif
#if STEP == 0 || STEP == 6
    {"6 overlap", step_overlap},
#endif
#if STEP == 0 || STEP == 7
    {"7 solution", solution},
#endif
};
/** How many there are; launches that are timed; rows of O that are looked at afterwards; heads times length that is timed. */
enum { STEPS = sizeof steps / sizeof steps[0], REPETITIONS = 11, SAMPLES = 8, QUERIES = 16384 };

/** A half in [-1, 1) that depends on the index. */
static half element(unsigned i)
{
    i = (i ^ i >> 16) * 2246822519u;
    i = (i ^ i >> 13) * 3266489917u;
    return __float2half((float)((i ^ i >> 16) >> 20) / 2048.0f - 1.0f);
}

/** Q, K, V, O on the host and on the device. */
struct memory {
    half *host[4], *device[4];
    size_t elems;
};

/** Fills Q, K and V; ends the program if there is no memory. */
static struct problem make(struct memory *memory, int heads, int length, int head_dim)
{
    memory->elems = (size_t)heads * length * head_dim;
    for (int i = 0; i < 4; i++) {
        memory->host[i] = (half *)malloc(memory->elems * sizeof(half));
        if (memory->host[i] == NULL) exit(2);
        for (size_t at = 0; at < memory->elems; at++) memory->host[i][at] = element((unsigned)at + 77u * i);
        if (cudaMalloc((void **)&memory->device[i], memory->elems * sizeof(half)) != cudaSuccess ||
            cudaMemcpy(memory->device[i], memory->host[i], memory->elems * sizeof(half),
                       cudaMemcpyHostToDevice) != cudaSuccess) {
            fprintf(stderr, "no device memory: %s\n", cudaGetErrorString(cudaGetLastError()));
            exit(2);
        }
    }
    struct problem x = {
        heads, length, head_dim, memory->device[0], memory->device[1], memory->device[2], memory->device[3]};
    return x;
}

/** Frees what make() made. */
static void drop(struct memory *memory)
{
    for (int i = 0; i < 4; i++) cudaFree(memory->device[i]), free(memory->host[i]);
}

/**
 * Whether row @p row of O, which is on the host, is wrong: P is rounded to half, and so is O (checker/numbers/bound.h). All
 * values are less than 1, and so is the sum of weights times values.
 */
static int is_wrong(struct problem x, const struct memory *memory, size_t row)
{
    size_t head = row / x.length * x.length;
    double *weight = (double *)malloc((size_t)x.length * sizeof(double)), sum = 0.0;
    if (weight == NULL) exit(2);
    for (int key = 0; key < x.length; key++) {
        double s = 0.0;
        for (int d = 0; d < x.head_dim; d++)
            s += (double)__half2float(memory->host[0][row * x.head_dim + d]) *
                 (double)__half2float(memory->host[1][(head + key) * x.head_dim + d]);
        sum += weight[key] = exp(s / sqrt((double)x.head_dim));
    }
    int wrong = 0;
    for (int d = 0; d < x.head_dim; d++) {
        double o = 0.0, size = 0.0;
        for (int key = 0; key < x.length; key++) {
            double term =
                weight[key] / sum * (double)__half2float(memory->host[2][(head + key) * x.head_dim + d]);
            o += term, size += fabs(term);
        }
        double error = fabs((double)__half2float(memory->host[3][row * x.head_dim + d]) - o);
        wrong += !(error <= 0x1p-11 * (fabs(o) + size) + 1e-6 * size + 0x1p-25);
    }
    free(weight);
    return wrong > 0;
}

/** Runs a step and looks at @p rows rows of what it leaves; how many are wrong. */
static size_t run_and_check(const struct step *step, struct problem x, struct memory *memory, size_t rows)
{
    size_t all = (size_t)x.heads * x.length, wrong = 0;
    cudaMemset(x.o, 0xff, memory->elems * sizeof(half)); // NaN
    step->run(x);
    cudaError_t error = cudaGetLastError();
    if (error == cudaSuccess)
        error = cudaMemcpy(memory->host[3], x.o, memory->elems * sizeof(half), cudaMemcpyDeviceToHost);
    for (size_t i = 0; i < rows && error == cudaSuccess; i++)
        wrong += is_wrong(x, memory, i * (all - 1) / (rows - 1));
    if (error != cudaSuccess) wrong = rows;
    if (wrong > 0)
        printf("WRONG %s at head_dim %d, length %d: %zu of %zu rows (%s)\n", step->name, x.head_dim, x.length,
               wrong, rows, cudaGetErrorString(error));
    return wrong;
}

/** Runs every step at one size and compares @p rows rows; returns how many steps are wrong. */
static int check(int heads, int length, int head_dim, size_t rows, unsigned *bits)
{
    struct memory memory;
    struct problem x = make(&memory, heads, length, head_dim);
    int failures = 0;
    for (int i = 0; i < STEPS; i++) {
        failures += run_and_check(&steps[i], x, &memory, rows) > 0;
        for (size_t at = 0; at < memory.elems; at++) {
            unsigned short word;
            memcpy(&word, &memory.host[3][at], sizeof word);
            *bits = *bits * 16777619u ^ word;
        }
    }
    drop(&memory);
    return failures;
}

/** For qsort(). */
static int by_size(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/** Median time of a launch in microseconds, after one to warm up; 0 if it failed. */
static float median_us(void (*run)(struct problem), struct problem x)
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

/** Two rows of docs/results: the time of one kernel, and its rate. */
static void print_record(const struct step *step, struct problem x, float us)
{
    cudaDeviceProp properties;
    char day[16], key[512];
    time_t now = time(NULL);
    int device = 0;
    cudaGetDevice(&device);
    cudaGetDeviceProperties(&properties, device);
    strftime(day, sizeof day, "%Y-%m-%d", gmtime(&now));
    snprintf(key, sizeof key, "%s,%s,CUDA %d.%d,16,step %s,f16/heads_%d_len_%d_d%d", day, properties.name,
             CUDART_VERSION / 1000, CUDART_VERSION % 100 / 10, step->name, x.heads, x.length, x.head_dim);
    printf("%s,tflops,%.4g,TFLOP/s,ladder\n", key,
           4.0 * x.heads * x.length * (double)x.length * x.head_dim / us * 1e-6);
    printf("%s,time,%.6g,us,ladder\n", key, us);
    fflush(stdout);
}

/** Times every step at this length; returns how many are wrong there. */
static int time_all(int length, int head_dim)
{
    struct memory memory;
    struct problem x = make(&memory, QUERIES / length * (2048 / head_dim), length, head_dim);
    int failures = 0;
    for (int i = 0; i < STEPS; i++) {
        float us = median_us(steps[i].run, x);
        int wrong = run_and_check(&steps[i], x, &memory, SAMPLES) > 0 || us <= 0.0f;
        failures += wrong;
        if (!wrong) print_record(&steps[i], x, us);
    }
    drop(&memory);
    return failures;
}

/** Checks, then times what its arguments ask for. */
int main(int argc, char **argv)
{
    unsigned bits = 2166136261u;
    // More tiles of keys than stages, and more tiles of queries than one.
    int failures = check(1, 512, 64, 96, &bits) + check(2, 128, 128, 64, &bits);
    if (argc == 2 && strcmp(argv[1], "--bits") == 0) printf("bits %08x\n", bits);
    printf("%d kernels, %d wrong\n", (int)STEPS, failures);
    for (int i = 1; i < argc && failures == 0; i++) {
        int length = atoi(argv[i]);
        if (length > 0 && length <= QUERIES && length % 128 == 0)
            failures += time_all(length, 64) + time_all(length, 128);
    }
    return failures > 0;
}
