/**
 * The calls of cuBLAS that the device computes on the host, against plain loops: all forms of a product, types of elements, vectors
 * with increments, results on the host and on the device. With the argument `wrong` it makes the mistakes that must be found.
 */
#include "../simt/testing.h"

#include <cublas_v2.h>
#include <string.h>

enum { M = 7, N = 5, K = 9, LDA = 11, LDB = 12, LDC = 8, COUNT = 3 };

static cublasHandle_t blas;

static void ok(const char *what, cublasStatus_t status)
{
    if (status == CUBLAS_STATUS_SUCCESS) return;
    g_failures++;
    fprintf(stderr, "%s: %s (%s)\n", what, cublasGetStatusName(status), cublasGetStatusString(status));
}

static void fill(float *values, int count, unsigned seed)
{
    for (int i = 0; i < count; i++)
        values[i] = (float)(int)(next_random(&seed) % 9) - 4; /* sums are exact in any order */
}

static float element(const float *matrix, int leading, cublasOperation_t op, int row, int column)
{
    return op == CUBLAS_OP_N ? matrix[column * leading + row] : matrix[row * leading + column];
}

static void check_gemm(cublasOperation_t op_a, cublasOperation_t op_b, float beta)
{
    float a[LDA * 11 * COUNT], b[LDB * 12 * COUNT], c[LDC * N * COUNT], got[LDC * N * COUNT];
    const float alpha = 2.0f;
    const int at_a = LDA * 11, at_b = LDB * 12, at_c = LDC * N;
    fill(a, at_a * COUNT, 1);
    fill(b, at_b * COUNT, 2);
    fill(c, at_c * COUNT, 3);
    float *da = upload(a, sizeof a / 4), *db = upload(b, sizeof b / 4), *dc = upload(c, sizeof c / 4);
    if (beta == 0)
        ok("cublasSgemmStridedBatched",
           cublasSgemmStridedBatched(blas, op_a, op_b, M, N, K, &alpha, da, LDA, at_a, db, LDB, at_b, &beta,
                                     dc, LDC, at_c, COUNT));
    else
        ok("cublasGemmStridedBatchedEx",
           cublasGemmStridedBatchedEx(blas, op_a, op_b, M, N, K, &alpha, da, CUDA_R_32F, LDA, at_a, db,
                                      CUDA_R_32F, LDB, at_b, &beta, dc, CUDA_R_32F, LDC, at_c, COUNT,
                                      CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    download(got, dc, sizeof c / 4);
    for (int i = 0; i < COUNT; i++)
        for (int column = 0; column < N; column++)
            for (int row = 0; row < LDC; row++) {
                float sum = 0;
                for (int k = 0; k < K; k++)
                    sum += element(a + i * at_a, LDA, op_a, row < M ? row : 0, k) *
                           element(b + i * at_b, LDB, op_b, k, column);
                const int at = i * at_c + column * LDC + row;
                expect_close("product", (size_t)at, got[at], row < M ? alpha * sum + beta * c[at] : c[at], 0);
            }
    release(da);
    release(db);
    release(dc);
}

/* The same product of numbers of other types; K is larger, so that 8-bit products do not fit into 16 bits. */
template <typename In, typename Out, typename Scale>
static void check_types(const char *what, cudaDataType in, cudaDataType out, cublasComputeType_t compute,
                        In (*make)(int))
{
    enum { SIDE = 16, DEPTH = 64 };
    In a[SIDE * DEPTH], b[DEPTH * SIDE];
    Out got[SIDE * SIDE];
    for (int i = 0; i < SIDE * DEPTH; i++) a[i] = make(i * 7 % 5 - 2), b[i] = make(i * 3 % 7 - 3);
    In *da = upload(a, SIDE * DEPTH), *db = upload(b, SIDE * DEPTH);
    Out *dc = device_array<Out>(SIDE * SIDE);
    const Scale alpha = (Scale)1, beta = (Scale)0;
    ok(what, cublasGemmEx(blas, CUBLAS_OP_N, CUBLAS_OP_N, SIDE, SIDE, DEPTH, &alpha, da, in, SIDE, db, in,
                          DEPTH, &beta, dc, out, SIDE, compute, CUBLAS_GEMM_DEFAULT));
    download(got, dc, SIDE * SIDE);
    for (int column = 0; column < SIDE; column++)
        for (int row = 0; row < SIDE; row++) {
            int sum = 0;
            for (int k = 0; k < DEPTH; k++)
                sum += ((k * SIDE + row) * 7 % 5 - 2) * ((column * DEPTH + k) * 3 % 7 - 3);
            expect_close(what, (size_t)(column * SIDE + row), (double)(float)got[column * SIDE + row], sum,
                         0);
        }
    release(da);
    release(db);
    release(dc);
}
static __half make_half(int i)
{
    return __float2half((float)i);
}
static __nv_bfloat16 make_bfloat16(int i)
{
    return __float2bfloat16((float)i);
}
static double make_double(int i)
{
    return i;
}
static signed char make_char(int i)
{
    return (signed char)i;
}

static void check_vectors(void)
{
    enum { COUNT_X = 20 };
    float x[2 * COUNT_X], y[COUNT_X], got[2 * COUNT_X], result = 0, sum = 0, absolute = 0, square = 0;
    const float alpha = 3.0f, zero = 0.0f;
    int most = 0, index = 0;
    fill(x, 2 * COUNT_X, 4);
    fill(y, COUNT_X, 5);
    x[2 * 13] = -50.0f;
    for (int i = 0; i < COUNT_X; i++) {
        sum += x[2 * i] * y[i];
        absolute += fabsf(x[2 * i]);
        square += x[2 * i] * x[2 * i];
    }
    float *dx = upload(x, 2 * COUNT_X), *dy = upload(y, COUNT_X), *dz = device_array<float>(COUNT_X),
          *dr = device_array<float>(1);
    ok("cublasSdot", cublasSdot(blas, COUNT_X, dx, 2, dy, 1, &result));
    expect_close("dot", 0, result, sum, 0);
    ok("cublasSetPointerMode", cublasSetPointerMode(blas, CUBLAS_POINTER_MODE_DEVICE));
    ok("cublasSasum", cublasSasum(blas, COUNT_X, dx, 2, dr));
    ok("cublasSetPointerMode", cublasSetPointerMode(blas, CUBLAS_POINTER_MODE_HOST));
    download(&result, dr, 1);
    expect_close("asum", 0, result, absolute, 0);
    ok("cublasSnrm2", cublasSnrm2(blas, COUNT_X, dx, 2, &result));
    expect_close("nrm2", 0, result, sqrt((double)square), 1e-6 * sqrt((double)square));
    ok("cublasIsamax", cublasIsamax(blas, COUNT_X, dx, 2, &most));
    expect_equal("amax", 0, most, 14);
    ok("cublasIsamin", cublasIsamin(blas, COUNT_X, dx, 2, &index));
    for (int i = 0; i < COUNT_X; i++)
        expect_equal("amin", (size_t)i, fabsf(x[2 * i]) < fabsf(x[2 * (index - 1)]), 0);
    ok("cublasSaxpy", cublasSaxpy(blas, COUNT_X, &alpha, dx, 2, dy, 1));
    ok("cublasScopy", cublasScopy(blas, COUNT_X, dy, 1, dz, -1));
    ok("cublasSscal", cublasSscal(blas, COUNT_X, &alpha, dz, 1));
    download(got, dz, COUNT_X);
    for (int i = 0; i < COUNT_X; i++)
        expect_close("axpy, copy and scal", (size_t)i, got[COUNT_X - 1 - i], 3 * (y[i] + 3 * x[2 * i]), 0);
    ok("cublasSgemv", cublasSgemv(blas, CUBLAS_OP_T, 4, 5, &alpha, dx, 4, dz, 1, &zero, dy, 1));
    float z[COUNT_X];
    download(z, dz, COUNT_X);
    download(got, dy, COUNT_X);
    for (int column = 0; column < 5; column++) {
        float expected = 0;
        for (int row = 0; row < 4; row++) expected += 3 * x[column * 4 + row] * z[row];
        expect_close("gemv", (size_t)column, got[column], expected, 0);
    }
    ok("cublasSgeam", cublasSgeam(blas, CUBLAS_OP_T, CUBLAS_OP_N, 4, 5, &alpha, dx, 5, &zero, dx, 4, dy, 4));
    download(got, dy, COUNT_X);
    for (int i = 0; i < 20; i++) expect_close("transposed", (size_t)i, got[i], 3 * x[i % 4 * 5 + i / 4], 0);
    ok("cublasSetVector", cublasSetVector(COUNT_X, sizeof(float), x, 2, dz, 1));
    ok("cublasGetMatrix", cublasGetMatrix(4, 5, sizeof(float), dz, 4, got, 6));
    for (int i = 0; i < 20; i++) expect_close("moved", (size_t)i, got[i / 4 * 6 + i % 4], x[2 * i], 0);
    ok("cublasSetMatrix", cublasSetMatrix(4, 5, sizeof(float), x, 6, dz, 4));
    ok("cublasGetVector", cublasGetVector(20, sizeof(float), dz, 1, got, 2));
    for (int i = 0; i < 20; i++) expect_close("moved", (size_t)i, got[2 * i], x[i / 4 * 6 + i % 4], 0);
    release(dx);
    release(dy);
    release(dz);
    release(dr);
}

/* What a handle is told it says, and what it was told of one thing does not change another. */
static void check_handle(void)
{
    cudaStream_t stream, got = NULL;
    cublasPointerMode_t pointers = CUBLAS_POINTER_MODE_DEVICE;
    cublasMath_t math = CUBLAS_PEDANTIC_MATH;
    ok("cublasGetPointerMode", cublasGetPointerMode(blas, &pointers));
    expect_equal("pointers at first", 0, pointers, CUBLAS_POINTER_MODE_HOST);
    ok("cublasGetMathMode", cublasGetMathMode(blas, &math));
    expect_equal("math at first", 0, math, CUBLAS_DEFAULT_MATH);
    require(cudaStreamCreate(&stream), "cudaStreamCreate");
    ok("cublasSetStream", cublasSetStream(blas, stream));
    ok("cublasSetMathMode", cublasSetMathMode(blas, CUBLAS_TF32_TENSOR_OP_MATH));
    ok("cublasSetPointerMode", cublasSetPointerMode(blas, CUBLAS_POINTER_MODE_DEVICE));
    ok("cublasGetStream", cublasGetStream(blas, &got));
    expect_equal("stream", 0, got == stream, 1);
    ok("cublasGetMathMode", cublasGetMathMode(blas, &math));
    expect_equal("math", 0, math, CUBLAS_TF32_TENSOR_OP_MATH);
    ok("cublasGetPointerMode", cublasGetPointerMode(blas, &pointers));
    expect_equal("pointers", 0, pointers, CUBLAS_POINTER_MODE_DEVICE);
    ok("cublasSetPointerMode", cublasSetPointerMode(blas, CUBLAS_POINTER_MODE_HOST));
    ok("cublasSetMathMode", cublasSetMathMode(blas, CUBLAS_DEFAULT_MATH));
    ok("cublasSetStream", cublasSetStream(blas, NULL));
    require(cudaStreamDestroy(stream), "cudaStreamDestroy");
}

/* uninitialized-read: 1, out-of-bounds: 1 */
static int mistakes(void)
{
    const float one = 1.0f, zero = 0.0f;
    float *a = device_array<float>(64), *c = device_array<float>(64);
    cublasHandle_t none = NULL;
    expect_equal("no handle", 0,
                 cublasSgemm(none, CUBLAS_OP_N, CUBLAS_OP_N, 8, 8, 8, &one, a, 8, a, 8, &zero, c, 8),
                 CUBLAS_STATUS_NOT_INITIALIZED);
    expect_equal("leading dimension", 0,
                 cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, 8, 8, 8, &one, a, 7, a, 8, &zero, c, 8),
                 CUBLAS_STATUS_INVALID_VALUE);
    ok("never written", cublasSscal(blas, 64, &one, a, 1));
    require(cudaMemset(a, 0, 64 * sizeof *a), "cudaMemset");
    expect_equal("too large", 0,
                 cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, 9, 8, 8, &one, a, 9, a, 8, &zero, c, 9),
                 CUBLAS_STATUS_EXECUTION_FAILED);
    (void)cudaDeviceReset();
    return finish("simt_blas wrong");
}

int main(int argc, char **argv)
{
    int version = 0;
    ok("cublasCreate", cublasCreate(&blas));
    ok("cublasGetVersion", cublasGetVersion(blas, &version));
    if (argc > 1 && strcmp(argv[1], "wrong") == 0) return mistakes();
    const cublasOperation_t ops[] = {CUBLAS_OP_N, CUBLAS_OP_T};
    for (cublasOperation_t op_a : ops)
        for (cublasOperation_t op_b : ops) {
            check_gemm(op_a, op_b, 0.0f);
            check_gemm(op_a, op_b, -1.0f);
        }
    check_types<double, double, double>("doubles", CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, make_double);
    check_types<__half, __half, __half>("halves", CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_16F, make_half);
    check_types<__half, float, float>("halves to float", CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F,
                                      make_half);
    check_types<__nv_bfloat16, __nv_bfloat16, float>("bfloat16", CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F,
                                                     make_bfloat16);
    check_types<signed char, int, int>("bytes", CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I, make_char);
    check_handle();
    check_vectors();
    ok("cublasDestroy", cublasDestroy(blas));
    return finish("simt_blas");
}
