/*
 * gemm_peers: cuBLAS at the timed cases of the matrix product lessons, row 0 of their tables.
 *
 * Timed as the lessons' kernels are: L2 emptied before every call, an event pair a call, the median counts.
 */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#include "peers.h"

enum { CALLS = 21, WARM_UP = 3 };

/* What is timed: the case of a lesson, its size, and whether A and B are stored transposed. */
static const struct peer_shape {
    const char *test_case;
    int size, transpose_a, transpose_b;
    cudaDataType_t in, out;
} shapes[] = {
    {"product/square_1024", 1024, 0, 0, CUDA_R_16F, CUDA_R_32F},
    {"product/square_2048", 2048, 0, 0, CUDA_R_16F, CUDA_R_32F},
    {"product/square_4096", 4096, 0, 0, CUDA_R_16F, CUDA_R_32F},
    {"product/square_8192", 8192, 0, 0, CUDA_R_16F, CUDA_R_32F},
    {"product/odd_4095", 4095, 0, 0, CUDA_R_16F, CUDA_R_32F},
    {"product/odd_4097", 4097, 0, 0, CUDA_R_16F, CUDA_R_32F},
    {"f32/square_1024", 1024, 0, 0, CUDA_R_32F, CUDA_R_32F},
    {"f32/square_2048", 2048, 0, 0, CUDA_R_32F, CUDA_R_32F},
    {"f32/square_4096", 4096, 0, 0, CUDA_R_32F, CUDA_R_32F},
    {"f32/square_8192", 8192, 0, 0, CUDA_R_32F, CUDA_R_32F},
    {"f32/odd_4095", 4095, 0, 0, CUDA_R_32F, CUDA_R_32F},
    {"f32/odd_4097", 4097, 0, 0, CUDA_R_32F, CUDA_R_32F},
    {"f32/square_4096_nt", 4096, 0, 1, CUDA_R_32F, CUDA_R_32F},
    {"f32/square_4096_tn", 4096, 1, 0, CUDA_R_32F, CUDA_R_32F},
    {"f32/square_4096_tt", 4096, 1, 1, CUDA_R_32F, CUDA_R_32F},
    {"f16/square_1024", 1024, 0, 0, CUDA_R_16F, CUDA_R_16F},
    {"f16/square_2048", 2048, 0, 0, CUDA_R_16F, CUDA_R_16F},
    {"f16/square_4096", 4096, 0, 0, CUDA_R_16F, CUDA_R_16F},
};

struct peer {
    const struct peer_shape *shape;
    void *a, *b, *c, *flush;
    size_t flush_bytes;
    cudaEvent_t begin[CALLS], end[CALLS];
};

static size_t bytes_of(cudaDataType_t type, size_t count)
{
    return count * (type == CUDA_R_16F ? 2 : 4);
}

/* cuBLAS stores columns first, so it is told of C^T = op(B)^T op(A)^T. */
static cublasStatus_t multiply_once(cublasHandle_t handle, const struct peer *p)
{
    const struct peer_shape *shape = p->shape;
    const float one = 1, zero = 0;
    int n = shape->size;
    cublasOperation_t of_a = shape->transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasOperation_t of_b = shape->transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    return cublasGemmEx(handle, of_b, of_a, n, n, n, &one, p->b, shape->in, n, p->a, shape->in, n, &zero,
                        p->c, shape->out, n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}

static int open_peer(struct peer *p)
{
    size_t count = (size_t)p->shape->size * p->shape->size;
    int l2_bytes = 0, failed = 0;
    cudaDeviceGetAttribute(&l2_bytes, cudaDevAttrL2CacheSize, 0);
    p->flush_bytes = 2 * (size_t)l2_bytes;
    failed = cudaMalloc(&p->a, bytes_of(p->shape->in, count)) != cudaSuccess ||
             cudaMalloc(&p->b, bytes_of(p->shape->in, count)) != cudaSuccess ||
             cudaMalloc(&p->c, bytes_of(p->shape->out, count)) != cudaSuccess ||
             (p->flush_bytes > 0 && cudaMalloc(&p->flush, p->flush_bytes) != cudaSuccess);
    for (int i = 0; i < CALLS; i++)
        failed = failed || cudaEventCreate(&p->begin[i]) != cudaSuccess ||
                 cudaEventCreate(&p->end[i]) != cudaSuccess;
    if (failed) return -1;
    fill(p->a, p->shape->in, count);
    fill(p->b, p->shape->in, count);
    return 0;
}

static void close_peer(struct peer *p)
{
    for (int i = 0; i < CALLS; i++) {
        if (p->begin[i]) cudaEventDestroy(p->begin[i]);
        if (p->end[i]) cudaEventDestroy(p->end[i]);
    }
    cudaFree(p->a);
    cudaFree(p->b);
    cudaFree(p->c);
    cudaFree(p->flush);
    cudaGetLastError(); /* a shape that did not fit is left out, and is no error of the next one */
}

static int by_size(const void *one, const void *two)
{
    float a = *(const float *)one, b = *(const float *)two;
    return a < b ? -1 : a > b;
}

/* Median time in microseconds of one product, 0 if it cannot be measured here. */
static float median_us(cublasHandle_t handle, struct peer *p)
{
    float ms[CALLS];
    for (int i = 0; i < WARM_UP; i++)
        if (multiply_once(handle, p) != CUBLAS_STATUS_SUCCESS) return 0;
    for (int i = 0; i < CALLS; i++) {
        if (p->flush) cudaMemsetAsync(p->flush, 0, p->flush_bytes);
        cudaEventRecord(p->begin[i]);
        multiply_once(handle, p);
        cudaEventRecord(p->end[i]);
    }
    if (cudaDeviceSynchronize() != cudaSuccess) return 0;
    for (int i = 0; i < CALLS; i++)
        if (cudaEventElapsedTime(&ms[i], p->begin[i], p->end[i]) != cudaSuccess) return 0;
    qsort(ms, CALLS, sizeof ms[0], by_size);
    return ms[CALLS / 2] * 1000;
}

void measure_gemm_peers(cublasHandle_t handle)
{
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        struct peer peer = {};
        peer.shape = &shapes[i];
        float us = open_peer(&peer) == 0 ? median_us(handle, &peer) : 0;
        if (us > 0) printf("cuBLAS_us@%s,%.2f\n", shapes[i].test_case, us);
        close_peer(&peer);
    }
}
