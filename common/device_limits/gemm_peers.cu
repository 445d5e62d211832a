/*
 * gemm_peers: cuBLAS at the timed cases of the matrix product lessons, row 0 of their tables; for bytes cuBLASLt, in the
 * one layout that it takes for them.
 *
 * Timed as the lessons' kernels are: L2 emptied before every call, an event pair a call, the median counts.
 */
#include <cublasLt.h>
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
    {"f16/square_4096_nt", 4096, 0, 1, CUDA_R_16F, CUDA_R_16F},
    {"f16/square_8192", 8192, 0, 0, CUDA_R_16F, CUDA_R_16F},
    {"f16/square_8192_nt", 8192, 0, 1, CUDA_R_16F, CUDA_R_16F},
    {"s32/square_4096_nt", 4096, 0, 1, CUDA_R_8I, CUDA_R_32I},
    {"s32/square_8192_nt", 8192, 0, 1, CUDA_R_8I, CUDA_R_32I},
};

enum { LT_WORKSPACE = 32 << 20 };

/* What cuBLASLt is told of a product of bytes, and the algorithm that it proposes. */
struct lt_product {
    cublasLtMatmulDesc_t product;
    cublasLtMatrixLayout_t of_b, of_a, of_c;
    cublasLtMatmulAlgo_t algorithm;
    void *workspace;
};

struct peer {
    const struct peer_shape *shape;
    void *a, *b, *c, *flush;
    size_t flush_bytes;
    struct lt_product lt;
    cudaEvent_t begin[CALLS], end[CALLS];
};

static size_t bytes_of(cudaDataType_t type, size_t count)
{
    return count * (type == CUDA_R_8I ? 1 : type == CUDA_R_16F ? 2 : 4);
}

/* A [n, n] and B^T [n, n], both with rows along k, are what cuBLASLt calls TN: it stores columns first. */
static int open_lt(cublasHandle_t handle, struct peer *p)
{
    struct lt_product *lt = &p->lt;
    const cublasOperation_t turned = CUBLAS_OP_T;
    const size_t room = LT_WORKSPACE;
    cublasLtMatmulPreference_t preference;
    cublasLtMatmulHeuristicResult_t best;
    int n = p->shape->size, found = 0;
    if (cudaMalloc(&lt->workspace, room) != cudaSuccess ||
        cublasLtMatmulDescCreate(&lt->product, CUBLAS_COMPUTE_32I, CUDA_R_32I) != CUBLAS_STATUS_SUCCESS ||
        cublasLtMatmulPreferenceCreate(&preference) != CUBLAS_STATUS_SUCCESS)
        return -1;
    cublasLtMatmulDescSetAttribute(lt->product, CUBLASLT_MATMUL_DESC_TRANSA, &turned, sizeof turned);
    cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &room,
                                         sizeof room);
    cublasLtMatrixLayoutCreate(&lt->of_b, CUDA_R_8I, n, n, n);
    cublasLtMatrixLayoutCreate(&lt->of_a, CUDA_R_8I, n, n, n);
    cublasLtMatrixLayoutCreate(&lt->of_c, CUDA_R_32I, n, n, n);
    /* A cublasHandle_t may be used as a cublasLtHandle_t, as cuBLAS's manual says. */
    cublasStatus_t status =
        cublasLtMatmulAlgoGetHeuristic((cublasLtHandle_t)handle, lt->product, lt->of_b, lt->of_a, lt->of_c,
                                       lt->of_c, preference, 1, &best, &found);
    cublasLtMatmulPreferenceDestroy(preference);
    if (status != CUBLAS_STATUS_SUCCESS || found < 1) return -1;
    lt->algorithm = best.algo;
    return 0;
}

static void close_lt(struct lt_product *lt)
{
    if (lt->of_b) cublasLtMatrixLayoutDestroy(lt->of_b);
    if (lt->of_a) cublasLtMatrixLayoutDestroy(lt->of_a);
    if (lt->of_c) cublasLtMatrixLayoutDestroy(lt->of_c);
    if (lt->product) cublasLtMatmulDescDestroy(lt->product);
    cudaFree(lt->workspace);
}

static cublasStatus_t multiply_bytes(cublasHandle_t handle, const struct peer *p)
{
    const int one = 1, zero = 0;
    const struct lt_product *lt = &p->lt;
    return cublasLtMatmul((cublasLtHandle_t)handle, lt->product, &one, p->b, lt->of_b, p->a, lt->of_a, &zero,
                          p->c, lt->of_c, p->c, lt->of_c, &lt->algorithm, lt->workspace, LT_WORKSPACE, 0);
}

/* cuBLAS stores columns first, so it is told of C^T = op(B)^T op(A)^T. */
static cublasStatus_t multiply_once(cublasHandle_t handle, const struct peer *p)
{
    const struct peer_shape *shape = p->shape;
    const float one = 1, zero = 0;
    int n = shape->size;
    if (shape->in == CUDA_R_8I) return multiply_bytes(handle, p);
    cublasOperation_t of_a = shape->transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasOperation_t of_b = shape->transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    return cublasGemmEx(handle, of_b, of_a, n, n, n, &one, p->b, shape->in, n, p->a, shape->in, n, &zero,
                        p->c, shape->out, n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}

static int open_peer(cublasHandle_t handle, struct peer *p)
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
    /* Two bytes of a random half are as good as any for a time. */
    int bytes = p->shape->in == CUDA_R_8I;
    fill(p->a, bytes ? CUDA_R_16F : p->shape->in, bytes ? count / 2 : count);
    fill(p->b, bytes ? CUDA_R_16F : p->shape->in, bytes ? count / 2 : count);
    return bytes ? open_lt(handle, p) : 0;
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
    close_lt(&p->lt);
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
        if (!is_asked_for(shapes[i].test_case)) continue;
        peer.shape = &shapes[i];
        float us = open_peer(handle, &peer) == 0 ? median_us(handle, &peer) : 0;
        const char *library = shapes[i].in == CUDA_R_8I ? "cuBLASLt" : "cuBLAS";
        if (us > 0) printf("peer,%s,%s,%.2f\n", shapes[i].test_case, library, us);
        close_peer(&peer);
    }
}
