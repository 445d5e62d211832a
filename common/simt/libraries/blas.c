/**
 * @file blas.c
 * @brief cuBLAS on the host: vectors, matrix times vector, matrix products.
 *
 * Elements are converted to float (or double), and the product is made by the BLAS that is installed or by a loop. What is
 * read and written is checked as a whole: it must lie in device memory, and what is read must have been written.
 */
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "include/cublas_v2.h"
#include "simt/ptx/numbers.h"
#include "simt/runtime/graph.h"

struct cublasContext {
    cudaStream_t stream;
    cublasPointerMode_t pointers;
    cublasMath_t math;
};

/* ---- handles ------------------------------------------------------------------------------------------- */

cublasStatus_t cublasCreate(cublasHandle_t *handle)
{
    if (handle == NULL) return CUBLAS_STATUS_INVALID_VALUE;
    *handle = calloc(1, sizeof(**handle));
    return *handle != NULL ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

cublasStatus_t cublasDestroy(cublasHandle_t handle)
{
    if (handle == NULL) return CUBLAS_STATUS_NOT_INITIALIZED;
    free(handle);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetVersion(cublasHandle_t handle, int *version)
{
    if (handle == NULL) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (version == NULL) return CUBLAS_STATUS_INVALID_VALUE;
    *version = CUBLAS_VERSION;
    return CUBLAS_STATUS_SUCCESS;
}

#define SET_AND_GET(name, type, field)                                                                       \
    cublasStatus_t cublasSet##name(cublasHandle_t handle, type value)                                        \
    {                                                                                                        \
        if (handle == NULL) return CUBLAS_STATUS_NOT_INITIALIZED;                                            \
        handle->field = value;                                                                               \
        return CUBLAS_STATUS_SUCCESS;                                                                        \
    }                                                                                                        \
    cublasStatus_t cublasGet##name(cublasHandle_t handle, type *value)                                       \
    {                                                                                                        \
        if (handle == NULL) return CUBLAS_STATUS_NOT_INITIALIZED;                                            \
        if (value == NULL) return CUBLAS_STATUS_INVALID_VALUE;                                               \
        *value = handle->field;                                                                              \
        return CUBLAS_STATUS_SUCCESS;                                                                        \
    }
SET_AND_GET(Stream, cudaStream_t, stream)
SET_AND_GET(PointerMode, cublasPointerMode_t, pointers)
SET_AND_GET(MathMode, cublasMath_t, math)

cublasStatus_t cublasSetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t mode)
{
    (void)mode;
    return handle != NULL ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void *workspace, size_t bytes)
{
    (void)workspace;
    (void)bytes;
    return handle != NULL ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

static const struct {
    cublasStatus_t status;
    const char *name, *text;
} statuses[] = {
    {CUBLAS_STATUS_SUCCESS, "CUBLAS_STATUS_SUCCESS", "success"},
    {CUBLAS_STATUS_NOT_INITIALIZED, "CUBLAS_STATUS_NOT_INITIALIZED", "the library was not initialized"},
    {CUBLAS_STATUS_ALLOC_FAILED, "CUBLAS_STATUS_ALLOC_FAILED", "the resource allocation failed"},
    {CUBLAS_STATUS_INVALID_VALUE, "CUBLAS_STATUS_INVALID_VALUE",
     "an unsupported value or parameter was passed to the function"},
    {CUBLAS_STATUS_ARCH_MISMATCH, "CUBLAS_STATUS_ARCH_MISMATCH",
     "the device architecture does not have the feature"},
    {CUBLAS_STATUS_MAPPING_ERROR, "CUBLAS_STATUS_MAPPING_ERROR", "an access to GPU memory space failed"},
    {CUBLAS_STATUS_EXECUTION_FAILED, "CUBLAS_STATUS_EXECUTION_FAILED", "the GPU program failed to execute"},
    {CUBLAS_STATUS_INTERNAL_ERROR, "CUBLAS_STATUS_INTERNAL_ERROR", "an internal operation failed"},
    {CUBLAS_STATUS_NOT_SUPPORTED, "CUBLAS_STATUS_NOT_SUPPORTED",
     "the functionality requested is not supported"},
    {CUBLAS_STATUS_LICENSE_ERROR, "CUBLAS_STATUS_LICENSE_ERROR", "the licence was not found"},
};

const char *cublasGetStatusName(cublasStatus_t status)
{
    for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
        if (statuses[i].status == status) return statuses[i].name;
    return "CUBLAS_STATUS_UNKNOWN";
}

const char *cublasGetStatusString(cublasStatus_t status)
{
    for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
        if (statuses[i].status == status) return statuses[i].text;
    return "unknown status";
}

/* ---- what a call reads and writes ---------------------------------------------------------------------- */

/** A call that computes: its handle is good, its stream is not under capture, and the code may use libraries at all. */
static cublasStatus_t may_compute(cublasHandle_t handle, struct simt_site site)
{
    if (handle == NULL) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (runtime_host_is_kept_out()) {
        (void)runtime_refuse(site, RECORD_SAYS_NO_BLAS_IN_LESSONS);
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    if (stream_is_under_capture(handle->stream)) {
        (void)runtime_refuse(site, RECORD_SAYS_NO_BLAS_CAPTURE);
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    return runtime_lost() == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

/** Columns of @p height bytes, @p pitch bytes apart, are device memory; if @p reads, somebody wrote them. */
static int is_good(struct simt_site site, const void *start, size_t height, size_t pitch, size_t columns,
                   int reads)
{
    if (height == 0 || columns == 0) return 1;
    if (!device_range_is_valid(site, start, (columns - 1) * pitch + height, reads ? ROLE_READS : ROLE_WRITES))
        return 0;
    for (size_t c = 0; reads && c < columns; c++) {
        const char *column = (const char *)start + c * pitch;
        ptrdiff_t first = simt_device_first_uninitialized(column, height);
        if (first < 0) continue;
        simt_finding(RECORD_UNINITIALIZED_READ, &site, RECORD_SAYS_READS_UNWRITTEN,
                     SIMT_SAYS(.name = {site.what}, .memory = column + first, .bytes = 1));
        return 1;
    }
    return 1;
}

static void mark_written(void *start, size_t height, size_t pitch, size_t columns)
{
    for (size_t c = 0; c < columns; c++) simt_device_written((char *)start + c * pitch, height);
}

/* ---- elements ------------------------------------------------------------------------------------------ */

static size_t bytes_of(cudaDataType type)
{
    switch (type) {
    case CUDA_R_64F:
        return 8;
    case CUDA_R_32F:
    case CUDA_R_32I:
        return 4;
    case CUDA_R_16F:
    case CUDA_R_16BF:
        return 2;
    case CUDA_R_8I:
        return 1;
    default:
        return 0;
    }
}

static uint16_t bfloat16_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return value == value ? (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16) : 0x7fff;
}

static double load(const void *from, cudaDataType type)
{
    uint16_t bits;
    if (type == CUDA_R_64F) return *(const double *)from;
    if (type == CUDA_R_32F) return *(const float *)from;
    if (type == CUDA_R_32I) return *(const int32_t *)from;
    if (type == CUDA_R_8I) return *(const int8_t *)from;
    memcpy(&bits, from, sizeof(bits));
    return type == CUDA_R_16BF ? (double)ptx_float_of_bfloat16(bits) : (double)ptx_float_of_half(bits);
}

static void store(void *to, cudaDataType type, double value)
{
    if (type == CUDA_R_64F) {
        *(double *)to = value;
    } else if (type == CUDA_R_32F) {
        *(float *)to = (float)value;
    } else if (type == CUDA_R_32I) {
        *(int32_t *)to = (int32_t)value;
    } else if (type == CUDA_R_8I) {
        *(int8_t *)to = (int8_t)(value > 127 ? 127 : value < -128 ? -128 : value);
    } else {
        uint16_t bits = type == CUDA_R_16BF ? bfloat16_of((float)value) : ptx_half_of_float((float)value);
        memcpy(to, &bits, sizeof(bits));
    }
}

/* ---- matrix products ----------------------------------------------------------------------------------- */

/** A matrix as a call names it: @c rows and @c columns are those of the stored one. */
struct operand {
    const void *start;
    cudaDataType type;
    int rows, columns, leading;
    cublasOperation_t op;
};

struct product {
    int m, n, k;
    double alpha, beta;
    struct operand a, b, c;
    int in_double;
};

/** op(A), packed by columns, in float or double. NULL if memory is out. */
static void *packed(const struct operand *o, int in_double)
{
    const size_t element = bytes_of(o->type), rows = (size_t)o->rows, columns = (size_t)o->columns;
    void *copy = malloc((rows * columns + 1) * (in_double ? sizeof(double) : sizeof(float)));
    for (size_t c = 0; copy != NULL && c < columns; c++)
        for (size_t r = 0; r < rows; r++) {
            const double value =
                load((const char *)o->start + (c * (size_t)o->leading + r) * element, o->type);
            const size_t at = o->op == CUBLAS_OP_N ? c * rows + r : r * columns + c;
            if (in_double)
                ((double *)copy)[at] = value;
            else
                ((float *)copy)[at] = (float)value;
        }
    return copy;
}

#define MULTIPLY(T, name)                                                                                    \
    static void name(const struct product *p, const T *a, const T *b, T *c)                                  \
    {                                                                                                        \
        const size_t m = (size_t)p->m, k = (size_t)p->k;                                                     \
        for (size_t j = 0; j < (size_t)p->n; j++)                                                            \
            for (size_t i = 0; i < k; i++) {                                                                 \
                const T factor = b[j * k + i];                                                               \
                for (size_t r = 0; r < m; r++) c[j * m + r] += a[i * m + r] * factor;                        \
            }                                                                                                \
    }
MULTIPLY(float, multiply_float)
MULTIPLY(double, multiply_double)

typedef void (*sgemm_function)(const char *, const char *, const int *, const int *, const int *,
                               const float *, const float *, const int *, const float *, const int *,
                               const float *, float *, const int *);
typedef void (*dgemm_function)(const char *, const char *, const int *, const int *, const int *,
                               const double *, const double *, const int *, const double *, const int *,
                               const double *, double *, const int *);
static union {
    void *address;
    sgemm_function call;
} sgemm;
static union {
    void *address;
    dgemm_function call;
} dgemm;
static pthread_once_t looked_for_blas = PTHREAD_ONCE_INIT;

/** A BLAS that somebody installed is faster than the loop. */
static void look_for_blas(void)
{
    static const char *const names[] = {"libopenblas.so.0", "libblis.so.4", "libblas.so.3"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        void *library = dlopen(names[i], RTLD_LAZY | RTLD_LOCAL);
        if (library == NULL) continue;
        sgemm.address = dlsym(library, "sgemm_");
        dgemm.address = dlsym(library, "dgemm_");
        if (sgemm.address != NULL && dgemm.address != NULL) return;
    }
    sgemm.address = dgemm.address = NULL;
}

/** The packed product of packed matrices. */
static void multiply(const struct product *p, const void *a, const void *b, void *c)
{
    const float one = 1, zero = 0;
    const double one_double = 1, zero_double = 0;
    const int ldb = p->k > 0 ? p->k : 1;
    pthread_once(&looked_for_blas, look_for_blas);
    if (p->k == 0) return;
    if (sgemm.address == NULL && p->in_double)
        multiply_double(p, a, b, c);
    else if (sgemm.address == NULL)
        multiply_float(p, a, b, c);
    else if (p->in_double)
        dgemm.call("N", "N", &p->m, &p->n, &p->k, &one_double, a, &p->m, b, &ldb, &zero_double, c, &p->m);
    else
        sgemm.call("N", "N", &p->m, &p->n, &p->k, &one, a, &p->m, b, &ldb, &zero, c, &p->m);
}

static void put_result(const struct product *p, const void *sums)
{
    const size_t element = bytes_of(p->c.type), m = (size_t)p->m;
    for (size_t j = 0; j < (size_t)p->n; j++)
        for (size_t r = 0; r < m; r++) {
            char *to = (char *)(uintptr_t)p->c.start + (j * (size_t)p->c.leading + r) * element;
            double value =
                p->in_double ? ((const double *)sums)[j * m + r] : (double)((const float *)sums)[j * m + r];
            value *= p->alpha;
            if (p->beta != 0) value += p->beta * load(to, p->c.type);
            store(to, p->c.type, value);
        }
}

static int operand_is_good(struct simt_site site, const struct operand *o, int reads)
{
    const size_t element = bytes_of(o->type);
    return is_good(site, o->start, (size_t)o->rows * element, (size_t)o->leading * element,
                   (size_t)o->columns, reads);
}

static cublasStatus_t run_product(struct simt_site site, const struct product *p)
{
    const struct operand *a = &p->a, *b = &p->b, *c = &p->c;
    if (p->m < 0 || p->n < 0 || p->k < 0) return CUBLAS_STATUS_INVALID_VALUE;
    if (bytes_of(a->type) == 0 || bytes_of(b->type) == 0 || bytes_of(c->type) == 0)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (a->leading < a->rows || b->leading < b->rows || c->leading < c->rows || a->leading < 1 ||
        b->leading < 1)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (p->m == 0 || p->n == 0) return CUBLAS_STATUS_SUCCESS;
    if (!operand_is_good(site, a, 1) || !operand_is_good(site, b, 1) ||
        !operand_is_good(site, c, p->beta != 0)) {
        runtime_lose(simt_current_device(), cudaErrorIllegalAddress);
        return CUBLAS_STATUS_EXECUTION_FAILED;
    }
    void *pa = packed(a, p->in_double), *pb = packed(b, p->in_double);
    void *sums = calloc((size_t)p->m * (size_t)p->n, p->in_double ? sizeof(double) : sizeof(float));
    int enough = pa != NULL && pb != NULL && sums != NULL;
    if (enough) {
        multiply(p, pa, pb, sums);
        put_result(p, sums);
        mark_written((void *)(uintptr_t)c->start, (size_t)c->rows * bytes_of(c->type),
                     (size_t)c->leading * bytes_of(c->type), (size_t)c->columns);
    }
    free(pa);
    free(pb);
    free(sums);
    return enough ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

static struct operand operand_of(const void *start, cudaDataType type, cublasOperation_t op, int rows,
                                 int columns, int leading)
{
    if (op == CUBLAS_OP_N) return (struct operand){start, type, rows, columns, leading, op};
    return (struct operand){start, type, columns, rows, leading, op};
}

/** The product of a call, whose parameters have cuBLAS's names. */
#define PRODUCT(A, A_TYPE, B, B_TYPE, C, C_TYPE)                                                             \
    {                                                                                                        \
        .m = m, .n = n, .k = k, .a = operand_of(A, A_TYPE, op_a, m, k, lda),                                 \
        .b = operand_of(B, B_TYPE, op_b, k, n, ldb), .c = operand_of(C, C_TYPE, CUBLAS_OP_N, m, n, ldc)      \
    }

static cudaDataType scale_type(cublasComputeType_t compute)
{
    if (compute == CUBLAS_COMPUTE_16F || compute == CUBLAS_COMPUTE_16F_PEDANTIC) return CUDA_R_16F;
    if (compute == CUBLAS_COMPUTE_64F || compute == CUBLAS_COMPUTE_64F_PEDANTIC) return CUDA_R_64F;
    if (compute == CUBLAS_COMPUTE_32I || compute == CUBLAS_COMPUTE_32I_PEDANTIC) return CUDA_R_32I;
    return CUDA_R_32F;
}

/** All products come through here; @p site says which call it was. */
static cublasStatus_t products(struct simt_site site, cublasHandle_t handle, struct product p,
                               cudaDataType scale, const void *alpha, const void *beta, long long a_stride,
                               long long b_stride, long long c_stride, int count)
{
    cublasStatus_t status = may_compute(handle, site);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    if (alpha == NULL || beta == NULL || count < 0) return CUBLAS_STATUS_INVALID_VALUE;
    const char *a = p.a.start, *b = p.b.start, *c = p.c.start;
    p.alpha = load(alpha, scale);
    p.beta = load(beta, scale);
    p.in_double = scale == CUDA_R_64F || scale == CUDA_R_32I; /* which holds every sum of products of bytes */
    for (long long i = 0; i < count && status == CUBLAS_STATUS_SUCCESS; i++) {
        p.a.start = a + i * a_stride * (long long)bytes_of(p.a.type);
        p.b.start = b + i * b_stride * (long long)bytes_of(p.b.type);
        p.c.start = c + i * c_stride * (long long)bytes_of(p.c.type);
        status = run_product(site, &p);
    }
    return status;
}

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t op_a,
                                          cublasOperation_t op_b, int m, int n, int k, const void *alpha,
                                          const void *a, cudaDataType a_type, int lda, long long a_stride,
                                          const void *b, cudaDataType b_type, int ldb, long long b_stride,
                                          const void *beta, void *c, cudaDataType c_type, int ldc,
                                          long long c_stride, int count, cublasComputeType_t compute,
                                          cublasGemmAlgo_t algorithm)
{
    (void)algorithm;
    struct product p = PRODUCT(a, a_type, b, b_type, c, c_type);
    return products(CALLER_SITE("cublasGemmStridedBatchedEx"), handle, p, scale_type(compute), alpha, beta,
                    a_stride, b_stride, c_stride, count);
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m,
                            int n, int k, const void *alpha, const void *a, cudaDataType a_type, int lda,
                            const void *b, cudaDataType b_type, int ldb, const void *beta, void *c,
                            cudaDataType c_type, int ldc, cublasComputeType_t compute,
                            cublasGemmAlgo_t algorithm)
{
    (void)algorithm;
    struct product p = PRODUCT(a, a_type, b, b_type, c, c_type);
    return products(CALLER_SITE("cublasGemmEx"), handle, p, scale_type(compute), alpha, beta, 0, 0, 0, 1);
}

/* ---- vectors of float and double ----------------------------------------------------------------------- */

/** Element @p i of a vector; with a negative increment the vector is walked from its end. */
static size_t element_at(int n, int inc, int i)
{
    return inc >= 0 ? (size_t)i * (size_t)inc : (size_t)(n - 1 - i) * (size_t)-inc;
}

static int vector_is_good(struct simt_site site, const void *start, int n, int inc, size_t element, int reads)
{
    const size_t step = (size_t)(inc < 0 ? -inc : inc);
    return n <= 0 ||
           is_good(site, start, element, element * (step > 0 ? step : 1), step > 0 ? (size_t)n : 1, reads);
}

/** Gives a result to the host or to the device, as the handle says. */
static cublasStatus_t give(cublasHandle_t handle, struct simt_site site, void *to, const void *result,
                           size_t bytes)
{
    if (to == NULL) return CUBLAS_STATUS_INVALID_VALUE;
    if (handle->pointers == CUBLAS_POINTER_MODE_DEVICE &&
        !device_range_is_valid(site, to, bytes, ROLE_WRITES))
        return CUBLAS_STATUS_EXECUTION_FAILED;
    memcpy(to, result, bytes);
    simt_device_written(to, bytes);
    return CUBLAS_STATUS_SUCCESS;
}

#define RETURN_UNLESS_GOOD(call, condition)                                                                  \
    struct simt_site site = CALLER_SITE(call);                                                               \
    cublasStatus_t status = may_compute(handle, site);                                                       \
    if (status != CUBLAS_STATUS_SUCCESS) return status;                                                      \
    if (!(condition)) return CUBLAS_STATUS_EXECUTION_FAILED
#define X_IS_GOOD vector_is_good(site, x, n, incx, sizeof(*x), 1)
#define Y_IS_GOOD(reads) vector_is_good(site, y, n, incy, sizeof(*y), reads)
#define X(i) x[element_at(n, incx, i)]
#define Y(i) y[element_at(n, incy, i)]

#define VECTORS(letter, T, letter_of_index)                                                                  \
    cublasStatus_t cublas##letter##axpy(cublasHandle_t handle, int n, const T *alpha, const T *x, int incx,  \
                                        T *y, int incy)                                                      \
    {                                                                                                        \
        RETURN_UNLESS_GOOD("cublas" #letter "axpy", X_IS_GOOD &&Y_IS_GOOD(1));                               \
        for (int i = 0; i < n; i++) Y(i) += *alpha * X(i);                                                   \
        return CUBLAS_STATUS_SUCCESS;                                                                        \
    }                                                                                                        \
    cublasStatus_t cublas##letter##scal(cublasHandle_t handle, int n, const T *alpha, T *x, int incx)        \
    {                                                                                                        \
        RETURN_UNLESS_GOOD("cublas" #letter "scal", X_IS_GOOD);                                              \
        for (int i = 0; i < n; i++) X(i) *= *alpha;                                                          \
        return CUBLAS_STATUS_SUCCESS;                                                                        \
    }                                                                                                        \
    cublasStatus_t cublas##letter##copy(cublasHandle_t handle, int n, const T *x, int incx, T *y, int incy)  \
    {                                                                                                        \
        RETURN_UNLESS_GOOD("cublas" #letter "copy", X_IS_GOOD &&Y_IS_GOOD(0));                               \
        for (int i = 0; i < n; i++) {                                                                        \
            Y(i) = X(i);                                                                                     \
            simt_device_written(&Y(i), sizeof(T));                                                           \
        }                                                                                                    \
        return CUBLAS_STATUS_SUCCESS;                                                                        \
    }                                                                                                        \
    cublasStatus_t cublas##letter##swap(cublasHandle_t handle, int n, T *x, int incx, T *y, int incy)        \
    {                                                                                                        \
        RETURN_UNLESS_GOOD("cublas" #letter "swap", X_IS_GOOD &&Y_IS_GOOD(1));                               \
        for (int i = 0; i < n; i++) {                                                                        \
            T kept = X(i);                                                                                   \
            X(i) = Y(i);                                                                                     \
            Y(i) = kept;                                                                                     \
        }                                                                                                    \
        return CUBLAS_STATUS_SUCCESS;                                                                        \
    }                                                                                                        \
    cublasStatus_t cublas##letter##dot(cublasHandle_t handle, int n, const T *x, int incx, const T *y,       \
                                       int incy, T *result)                                                  \
    {                                                                                                        \
        RETURN_UNLESS_GOOD("cublas" #letter "dot", X_IS_GOOD &&Y_IS_GOOD(1));                                \
        double sum = 0;                                                                                      \
        for (int i = 0; i < n; i++) sum += (double)X(i) * (double)Y(i);                                      \
        T rounded = (T)sum;                                                                                  \
        return give(handle, site, result, &rounded, sizeof(rounded));                                        \
    }                                                                                                        \
    cublasStatus_t cublas##letter##nrm2(cublasHandle_t handle, int n, const T *x, int incx, T *result)       \
    {                                                                                                        \
        RETURN_UNLESS_GOOD("cublas" #letter "nrm2", X_IS_GOOD);                                              \
        double sum = 0;                                                                                      \
        for (int i = 0; i < n; i++) sum += (double)X(i) * (double)X(i);                                      \
        T rounded = (T)sqrt(sum);                                                                            \
        return give(handle, site, result, &rounded, sizeof(rounded));                                        \
    }                                                                                                        \
    cublasStatus_t cublas##letter##asum(cublasHandle_t handle, int n, const T *x, int incx, T *result)       \
    {                                                                                                        \
        RETURN_UNLESS_GOOD("cublas" #letter "asum", X_IS_GOOD);                                              \
        double sum = 0;                                                                                      \
        for (int i = 0; i < n; i++) sum += fabs((double)X(i));                                               \
        T rounded = (T)sum;                                                                                  \
        return give(handle, site, result, &rounded, sizeof(rounded));                                        \
    }                                                                                                        \
    static cublasStatus_t extreme_##letter(cublasHandle_t handle, struct simt_site site, int n, const T *x,  \
                                           int incx, int *result, int want_most)                             \
    {                                                                                                        \
        int best = n > 0 ? 1 : 0; /* indices count from 1; the first of equals */                            \
        for (int i = 1; i < n; i++) {                                                                        \
            const double one = fabs((double)X(i)), other = fabs((double)X(best - 1));                        \
            if (want_most ? one > other : one < other) best = i + 1;                                         \
        }                                                                                                    \
        return give(handle, site, result, &best, sizeof(best));                                              \
    }                                                                                                        \
    cublasStatus_t cublasI##letter_of_index##amax(cublasHandle_t handle, int n, const T *x, int incx,        \
                                                  int *result)                                               \
    {                                                                                                        \
        RETURN_UNLESS_GOOD("cublasI" #letter_of_index "amax", X_IS_GOOD);                                    \
        return extreme_##letter(handle, site, n, x, incx, result, 1);                                        \
    }                                                                                                        \
    cublasStatus_t cublasI##letter_of_index##amin(cublasHandle_t handle, int n, const T *x, int incx,        \
                                                  int *result)                                               \
    {                                                                                                        \
        RETURN_UNLESS_GOOD("cublasI" #letter_of_index "amin", X_IS_GOOD);                                    \
        return extreme_##letter(handle, site, n, x, incx, result, 0);                                        \
    }
VECTORS(S, float, s)
VECTORS(D, double, d)

/* ---- matrices of float and double ---------------------------------------------------------------------- */

#define MATRICES(letter, T, TYPE)                                                                            \
    cublasStatus_t cublas##letter##gemv(cublasHandle_t handle, cublasOperation_t op, int m, int n,           \
                                        const T *alpha, const T *a, int lda, const T *x, int incx,           \
                                        const T *beta, T *y, int incy)                                       \
    {                                                                                                        \
        struct simt_site site = CALLER_SITE("cublas" #letter "gemv");                                        \
        cublasStatus_t status = may_compute(handle, site);                                                   \
        const int out = op == CUBLAS_OP_N ? m : n, in = op == CUBLAS_OP_N ? n : m;                           \
        if (status != CUBLAS_STATUS_SUCCESS) return status;                                                  \
        if (m < 0 || n < 0 || lda < m || incx == 0 || incy == 0) return CUBLAS_STATUS_INVALID_VALUE;         \
        if (!is_good(site, a, (size_t)m * sizeof(T), (size_t)lda * sizeof(T), (size_t)n, 1) ||               \
            !vector_is_good(site, x, in, incx, sizeof(T), 1) ||                                              \
            !vector_is_good(site, y, out, incy, sizeof(T), *beta != 0))                                      \
            return CUBLAS_STATUS_EXECUTION_FAILED;                                                           \
        for (int r = 0; r < out; r++) {                                                                      \
            double sum = 0;                                                                                  \
            for (int c = 0; c < in; c++) {                                                                   \
                const size_t at = op == CUBLAS_OP_N ? (size_t)c * (size_t)lda + (size_t)r                    \
                                                    : (size_t)r * (size_t)lda + (size_t)c;                   \
                sum += (double)a[at] * (double)x[element_at(in, incx, c)];                                   \
            }                                                                                                \
            T *to = &y[element_at(out, incy, r)];                                                            \
            *to = (T)((double)*alpha * sum + (*beta != 0 ? (double)*beta * (double)*to : 0));                \
            simt_device_written(to, sizeof(T));                                                              \
        }                                                                                                    \
        return CUBLAS_STATUS_SUCCESS;                                                                        \
    }                                                                                                        \
    cublasStatus_t cublas##letter##gemmStridedBatched(                                                       \
        cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n, int k,          \
        const T *alpha, const T *a, int lda, long long a_stride, const T *b, int ldb, long long b_stride,    \
        const T *beta, T *c, int ldc, long long c_stride, int count)                                         \
    {                                                                                                        \
        struct product p = PRODUCT(a, TYPE, b, TYPE, c, TYPE);                                               \
        return products(CALLER_SITE("cublas" #letter "gemmStridedBatched"), handle, p, TYPE, alpha, beta,    \
                        a_stride, b_stride, c_stride, count);                                                \
    }                                                                                                        \
    cublasStatus_t cublas##letter##gemm(                                                                     \
        cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n, int k,          \
        const T *alpha, const T *a, int lda, const T *b, int ldb, const T *beta, T *c, int ldc)              \
    {                                                                                                        \
        struct product p = PRODUCT(a, TYPE, b, TYPE, c, TYPE);                                               \
        return products(CALLER_SITE("cublas" #letter "gemm"), handle, p, TYPE, alpha, beta, 0, 0, 0, 1);     \
    }                                                                                                        \
    cublasStatus_t cublas##letter##gemmBatched(cublasHandle_t handle, cublasOperation_t op_a,                \
                                               cublasOperation_t op_b, int m, int n, int k, const T *alpha,  \
                                               const T *const a[], int lda, const T *const b[], int ldb,     \
                                               const T *beta, T *const c[], int ldc, int count)              \
    {                                                                                                        \
        struct simt_site site = CALLER_SITE("cublas" #letter "gemmBatched");                                 \
        const size_t bytes = (size_t)(count > 0 ? count : 0) * sizeof(T *);                                  \
        cublasStatus_t status = may_compute(handle, site);                                                   \
        if (status != CUBLAS_STATUS_SUCCESS) return status;                                                  \
        if (!is_good(site, a, bytes, bytes, 1, 1) || !is_good(site, b, bytes, bytes, 1, 1) ||                \
            !is_good(site, c, bytes, bytes, 1, 1))                                                           \
            return CUBLAS_STATUS_EXECUTION_FAILED;                                                           \
        for (int i = 0; i < count && status == CUBLAS_STATUS_SUCCESS; i++) {                                 \
            struct product p = PRODUCT(a[i], TYPE, b[i], TYPE, c[i], TYPE);                                  \
            status = products(site, handle, p, TYPE, alpha, beta, 0, 0, 0, 1);                               \
        }                                                                                                    \
        return status;                                                                                       \
    }                                                                                                        \
    cublasStatus_t cublas##letter##geam(cublasHandle_t handle, cublasOperation_t op_a,                       \
                                        cublasOperation_t op_b, int m, int n, const T *alpha, const T *a,    \
                                        int lda, const T *beta, const T *b, int ldb, T *c, int ldc)          \
    {                                                                                                        \
        struct simt_site site = CALLER_SITE("cublas" #letter "geam");                                        \
        cublasStatus_t status = may_compute(handle, site);                                                   \
        if (status != CUBLAS_STATUS_SUCCESS) return status;                                                  \
        struct operand oa = operand_of(a, TYPE, op_a, m, n, lda), ob = operand_of(b, TYPE, op_b, m, n, ldb); \
        struct operand oc = operand_of(c, TYPE, CUBLAS_OP_N, m, n, ldc);                                     \
        if (m < 0 || n < 0 || ldc < m) return CUBLAS_STATUS_INVALID_VALUE;                                   \
        if ((*alpha != 0 && !operand_is_good(site, &oa, 1)) ||                                               \
            (*beta != 0 && !operand_is_good(site, &ob, 1)) || !operand_is_good(site, &oc, 0))                \
            return CUBLAS_STATUS_EXECUTION_FAILED;                                                           \
        for (size_t j = 0; j < (size_t)n; j++)                                                               \
            for (size_t i = 0; i < (size_t)m; i++) {                                                         \
                const size_t at_a = op_a == CUBLAS_OP_N ? j * (size_t)lda + i : i * (size_t)lda + j;         \
                const size_t at_b = op_b == CUBLAS_OP_N ? j * (size_t)ldb + i : i * (size_t)ldb + j;         \
                c[j * (size_t)ldc + i] =                                                                     \
                    (*alpha != 0 ? *alpha * a[at_a] : 0) + (*beta != 0 ? *beta * b[at_b] : 0);               \
            }                                                                                                \
        mark_written(c, (size_t)m * sizeof(T), (size_t)ldc * sizeof(T), (size_t)n);                          \
        return CUBLAS_STATUS_SUCCESS;                                                                        \
    }
MATRICES(S, float, CUDA_R_32F)
MATRICES(D, double, CUDA_R_64F)

/* ---- to the device and back ---------------------------------------------------------------------------- */

static cublasStatus_t move(struct copy_operation c, struct simt_site site)
{
    runtime_waits(site);
    return runtime_copy_and_wait(c, site) == cudaSuccess ? CUBLAS_STATUS_SUCCESS
                                                         : CUBLAS_STATUS_MAPPING_ERROR;
}

/** Rows of one element: that is a vector with an increment. */
static cublasStatus_t move_vector(int n, int element_bytes, const void *x, int incx, void *y, int incy,
                                  enum cudaMemcpyKind kind, struct simt_site site)
{
    if (n < 0 || element_bytes <= 0 || incx <= 0 || incy <= 0) return CUBLAS_STATUS_INVALID_VALUE;
    const size_t bytes = (size_t)element_bytes;
    return move((struct copy_operation){y, x, bytes * (size_t)incy, bytes * (size_t)incx, bytes, (size_t)n,
                                        kind, NULL},
                site);
}

static cublasStatus_t move_matrix(int rows, int columns, int element_bytes, const void *a, int lda, void *b,
                                  int ldb, enum cudaMemcpyKind kind, struct simt_site site)
{
    if (rows < 0 || columns < 0 || element_bytes <= 0 || lda < rows || ldb < rows)
        return CUBLAS_STATUS_INVALID_VALUE;
    const size_t bytes = (size_t)element_bytes;
    return move((struct copy_operation){b, a, bytes * (size_t)ldb, bytes * (size_t)lda, bytes * (size_t)rows,
                                        (size_t)columns, kind, NULL},
                site);
}

cublasStatus_t cublasSetVector(int n, int element_bytes, const void *x, int incx, void *y, int incy)
{
    return move_vector(n, element_bytes, x, incx, y, incy, cudaMemcpyHostToDevice,
                       CALLER_SITE("cublasSetVector"));
}

cublasStatus_t cublasGetVector(int n, int element_bytes, const void *x, int incx, void *y, int incy)
{
    return move_vector(n, element_bytes, x, incx, y, incy, cudaMemcpyDeviceToHost,
                       CALLER_SITE("cublasGetVector"));
}

cublasStatus_t cublasSetMatrix(int rows, int columns, int element_bytes, const void *a, int lda, void *b,
                               int ldb)
{
    return move_matrix(rows, columns, element_bytes, a, lda, b, ldb, cudaMemcpyHostToDevice,
                       CALLER_SITE("cublasSetMatrix"));
}

cublasStatus_t cublasGetMatrix(int rows, int columns, int element_bytes, const void *a, int lda, void *b,
                               int ldb)
{
    return move_matrix(rows, columns, element_bytes, a, lda, b, ldb, cudaMemcpyDeviceToHost,
                       CALLER_SITE("cublasGetMatrix"));
}
