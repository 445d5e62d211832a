/**
 * @file cublas_v2.h
 * @brief The common calls of cuBLAS, computed on the host: so that programs that compare their kernels with it run here.
 *
 * Matrices are stored by columns. Sums are made in float (double, int for those types), by the BLAS that is installed or a
 * loop; the last bits may differ from a GPU's. Counters count nothing of it, and lessons' checks refuse it.
 */
#pragma once

#pragma GCC system_header

#define CUBLAS_API_H_ /* programs ask by this guard whether it is included */

#include "cuda_runtime_api.h"
#ifdef __cplusplus
#include "cuda_bf16.h"
#include "cuda_fp16.h"
#endif
#include "library_types.h"

#define CUBLAS_VERSION 130000
#define CUBLAS_VER_MAJOR 13
#define CUBLAS_VER_MINOR 0
#define CUBLASAPI
#define CUBLASWINAPI

typedef enum {
    CUBLAS_STATUS_SUCCESS = 0,
    CUBLAS_STATUS_NOT_INITIALIZED = 1,
    CUBLAS_STATUS_ALLOC_FAILED = 3,
    CUBLAS_STATUS_INVALID_VALUE = 7,
    CUBLAS_STATUS_ARCH_MISMATCH = 8,
    CUBLAS_STATUS_MAPPING_ERROR = 11,
    CUBLAS_STATUS_EXECUTION_FAILED = 13,
    CUBLAS_STATUS_INTERNAL_ERROR = 14,
    CUBLAS_STATUS_NOT_SUPPORTED = 15,
    CUBLAS_STATUS_LICENSE_ERROR = 16
} cublasStatus_t;
typedef cublasStatus_t cublasStatus;
typedef enum { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1, CUBLAS_OP_C = 2 } cublasOperation_t;
typedef enum { CUBLAS_FILL_MODE_LOWER = 0, CUBLAS_FILL_MODE_UPPER = 1, CUBLAS_FILL_MODE_FULL = 2 } cublasFillMode_t;
typedef enum { CUBLAS_DIAG_NON_UNIT = 0, CUBLAS_DIAG_UNIT = 1 } cublasDiagType_t;
typedef enum { CUBLAS_SIDE_LEFT = 0, CUBLAS_SIDE_RIGHT = 1 } cublasSideMode_t;
typedef enum { CUBLAS_POINTER_MODE_HOST = 0, CUBLAS_POINTER_MODE_DEVICE = 1 } cublasPointerMode_t;
typedef enum { CUBLAS_ATOMICS_NOT_ALLOWED = 0, CUBLAS_ATOMICS_ALLOWED = 1 } cublasAtomicsMode_t;
typedef enum {
    CUBLAS_DEFAULT_MATH = 0,
    CUBLAS_TENSOR_OP_MATH = 1,
    CUBLAS_PEDANTIC_MATH = 2,
    CUBLAS_TF32_TENSOR_OP_MATH = 3,
    CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION = 16
} cublasMath_t;
/* Which algorithm is asked for makes no difference here. */
typedef enum {
    CUBLAS_GEMM_DFALT = -1,
    CUBLAS_GEMM_DEFAULT = -1,
    CUBLAS_GEMM_ALGO0 = 0,
    CUBLAS_GEMM_ALGO23 = 23,
    CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99,
    CUBLAS_GEMM_DFALT_TENSOR_OP = 99,
    CUBLAS_GEMM_ALGO0_TENSOR_OP = 100,
    CUBLAS_GEMM_ALGO15_TENSOR_OP = 115
} cublasGemmAlgo_t;
typedef enum {
    CUBLAS_COMPUTE_16F = 64,
    CUBLAS_COMPUTE_16F_PEDANTIC = 65,
    CUBLAS_COMPUTE_32F = 68,
    CUBLAS_COMPUTE_32F_PEDANTIC = 69,
    CUBLAS_COMPUTE_64F = 70,
    CUBLAS_COMPUTE_64F_PEDANTIC = 71,
    CUBLAS_COMPUTE_32I = 72,
    CUBLAS_COMPUTE_32I_PEDANTIC = 73,
    CUBLAS_COMPUTE_32F_FAST_16F = 74,
    CUBLAS_COMPUTE_32F_FAST_16BF = 75,
    CUBLAS_COMPUTE_32F_FAST_TF32 = 77
} cublasComputeType_t;

typedef struct cublasContext *cublasHandle_t;

#ifdef __cplusplus
extern "C" {
#endif

cublasStatus_t cublasCreate(cublasHandle_t *handle);
cublasStatus_t cublasDestroy(cublasHandle_t handle);
cublasStatus_t cublasGetVersion(cublasHandle_t handle, int *version);
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream);
cublasStatus_t cublasGetStream(cublasHandle_t handle, cudaStream_t *stream);
cublasStatus_t cublasSetPointerMode(cublasHandle_t handle, cublasPointerMode_t mode);
cublasStatus_t cublasGetPointerMode(cublasHandle_t handle, cublasPointerMode_t *mode);
cublasStatus_t cublasSetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t mode);
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode);
cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t *mode);
cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void *workspace, size_t bytes);
const char *cublasGetStatusName(cublasStatus_t status);
const char *cublasGetStatusString(cublasStatus_t status);
#define cublasCreate_v2 cublasCreate
#define cublasDestroy_v2 cublasDestroy
#define cublasSetStream_v2 cublasSetStream

cublasStatus_t cublasSetVector(int n, int element_bytes, const void *x, int incx, void *y, int incy);
cublasStatus_t cublasGetVector(int n, int element_bytes, const void *x, int incx, void *y, int incy);
cublasStatus_t cublasSetMatrix(int rows, int columns, int element_bytes, const void *a, int lda, void *b, int ldb);
cublasStatus_t cublasGetMatrix(int rows, int columns, int element_bytes, const void *a, int lda, void *b, int ldb);

/** @brief C = alpha op(A) op(B) + beta C, with elements of the types named; alpha and beta are of the compute type. */
cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n, int k,
                            const void *alpha, const void *a, cudaDataType a_type, int lda, const void *b,
                            cudaDataType b_type, int ldb, const void *beta, void *c, cudaDataType c_type, int ldc,
                            cublasComputeType_t compute, cublasGemmAlgo_t algorithm);
cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m,
                                          int n, int k, const void *alpha, const void *a, cudaDataType a_type, int lda,
                                          long long a_stride, const void *b, cudaDataType b_type, int ldb,
                                          long long b_stride, const void *beta, void *c, cudaDataType c_type, int ldc,
                                          long long c_stride, int count, cublasComputeType_t compute,
                                          cublasGemmAlgo_t algorithm);

#define SIMT_BLAS_TYPE(letter, T, small)                                                                  \
    cublasStatus_t cublas##letter##axpy(cublasHandle_t handle, int n, const T *alpha, const T *x, int incx,  \
                                        T *y, int incy);                                                     \
    cublasStatus_t cublas##letter##scal(cublasHandle_t handle, int n, const T *alpha, T *x, int incx);       \
    cublasStatus_t cublas##letter##copy(cublasHandle_t handle, int n, const T *x, int incx, T *y, int incy); \
    cublasStatus_t cublas##letter##swap(cublasHandle_t handle, int n, T *x, int incx, T *y, int incy);       \
    cublasStatus_t cublas##letter##dot(cublasHandle_t handle, int n, const T *x, int incx, const T *y,       \
                                       int incy, T *result);                                                 \
    cublasStatus_t cublas##letter##nrm2(cublasHandle_t handle, int n, const T *x, int incx, T *result);      \
    cublasStatus_t cublas##letter##asum(cublasHandle_t handle, int n, const T *x, int incx, T *result);      \
    cublasStatus_t cublasI##small##amax(cublasHandle_t handle, int n, const T *x, int incx, int *result); \
    cublasStatus_t cublasI##small##amin(cublasHandle_t handle, int n, const T *x, int incx, int *result); \
    cublasStatus_t cublas##letter##gemv(cublasHandle_t handle, cublasOperation_t op, int m, int n,           \
                                        const T *alpha, const T *a, int lda, const T *x, int incx,           \
                                        const T *beta, T *y, int incy);                                      \
    cublasStatus_t cublas##letter##gemm(cublasHandle_t handle, cublasOperation_t op_a,                       \
                                        cublasOperation_t op_b, int m, int n, int k, const T *alpha,         \
                                        const T *a, int lda, const T *b, int ldb, const T *beta, T *c,       \
                                        int ldc);                                                            \
    cublasStatus_t cublas##letter##gemmStridedBatched(                                                       \
        cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n, int k,          \
        const T *alpha, const T *a, int lda, long long a_stride, const T *b, int ldb, long long b_stride,    \
        const T *beta, T *c, int ldc, long long c_stride, int count);                                        \
    cublasStatus_t cublas##letter##gemmBatched(                                                              \
        cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n, int k,          \
        const T *alpha, const T *const a[], int lda, const T *const b[], int ldb, const T *beta,             \
        T *const c[], int ldc, int count);                                                                   \
    cublasStatus_t cublas##letter##geam(cublasHandle_t handle, cublasOperation_t op_a,                       \
                                        cublasOperation_t op_b, int m, int n, const T *alpha, const T *a,    \
                                        int lda, const T *beta, const T *b, int ldb, T *c, int ldc);
SIMT_BLAS_TYPE(S, float, s)
SIMT_BLAS_TYPE(D, double, d)
#undef SIMT_BLAS_TYPE

#ifdef __cplusplus
}

/** @brief alpha and beta are halves, and so is each result; sums are made in float. */
static inline cublasStatus_t cublasHgemm(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n,
                                         int k, const __half *alpha, const __half *a, int lda, const __half *b, int ldb,
                                         const __half *beta, __half *c, int ldc)
{
    return cublasGemmEx(handle, op_a, op_b, m, n, k, alpha, a, CUDA_R_16F, lda, b, CUDA_R_16F, ldb, beta, c, CUDA_R_16F,
                        ldc, CUBLAS_COMPUTE_16F, CUBLAS_GEMM_DEFAULT);
}
static inline cublasStatus_t cublasHgemmStridedBatched(cublasHandle_t handle, cublasOperation_t op_a,
                                                       cublasOperation_t op_b, int m, int n, int k, const __half *alpha,
                                                       const __half *a, int lda, long long a_stride, const __half *b,
                                                       int ldb, long long b_stride, const __half *beta, __half *c,
                                                       int ldc, long long c_stride, int count)
{
    return cublasGemmStridedBatchedEx(handle, op_a, op_b, m, n, k, alpha, a, CUDA_R_16F, lda, a_stride, b, CUDA_R_16F,
                                      ldb, b_stride, beta, c, CUDA_R_16F, ldc, c_stride, count, CUBLAS_COMPUTE_16F,
                                      CUBLAS_GEMM_DEFAULT);
}
/** @brief The form in which the compute type was named like a type of elements. */
static inline cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m,
                                          int n, int k, const void *alpha, const void *a, cudaDataType a_type, int lda,
                                          const void *b, cudaDataType b_type, int ldb, const void *beta, void *c,
                                          cudaDataType c_type, int ldc, cudaDataType compute, cublasGemmAlgo_t algorithm)
{
    cublasComputeType_t type = compute == CUDA_R_16F   ? CUBLAS_COMPUTE_16F
                               : compute == CUDA_R_64F ? CUBLAS_COMPUTE_64F
                               : compute == CUDA_R_32I ? CUBLAS_COMPUTE_32I
                                                       : CUBLAS_COMPUTE_32F;
    return cublasGemmEx(handle, op_a, op_b, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c, c_type, ldc, type,
                        algorithm);
}
#endif
