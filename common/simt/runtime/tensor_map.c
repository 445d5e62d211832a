/**
 * @file tensor_map.c
 * @brief Tensor maps, and how a program gets the driver's functions for them.
 *
 * Arguments that violate the driver's documentation return CUDA_ERROR_INVALID_VALUE here as well. What the
 * documentation allows and this device lacks is an `unsupported` finding.
 */
#include "../tensor_map.h"
#include "../include/cuda.h"
#include "runtime.h"

#include <string.h>

enum { LEAST_CAPABILITY = 90, ALIGNMENT = 16 };
#define MOST_SIZE (UINT64_C(1) << 32)

static CUresult refuse_map(struct simt_site site, enum record_message message)
{
    simt_finding(RECORD_UNSUPPORTED, &site, message, SIMT_SAYS(.name = {site.what}));
    return CUDA_ERROR_NOT_SUPPORTED;
}

/* ---- arguments ------------------------------------------------------------------------------------------ */

/** Size of an element in bytes; 0: a type that sm_90 does not have. */
static uint8_t bytes_of(CUtensorMapDataType type)
{
    static const uint8_t bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
    return (unsigned)type < sizeof bytes ? bytes[type] : 0;
}

static int is_float(CUtensorMapDataType type)
{
    return type >= CU_TENSOR_MAP_DATA_TYPE_FLOAT16 && type <= CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ;
}

static unsigned span_of(CUtensorMapSwizzle swizzle)
{
    return swizzle == CU_TENSOR_MAP_SWIZZLE_NONE ? 0 : 16u << swizzle;
}

/** The arguments of cuTensorMapEncodeTiled. */
struct arguments {
    CUtensorMap *map;
    CUtensorMapDataType type;
    cuuint32_t rank;
    void *address;
    const cuuint64_t *sizes, *strides;
    const cuuint32_t *box, *steps;
    CUtensorMapInterleave interleave;
    CUtensorMapSwizzle swizzle;
    CUtensorMapL2promotion promotion;
    CUtensorMapFloatOOBfill fill;
};

static int enumerations_are_valid(const struct arguments *a)
{
    if (bytes_of(a->type) == 0 || (unsigned)a->interleave > CU_TENSOR_MAP_INTERLEAVE_32B ||
        (unsigned)a->swizzle > CU_TENSOR_MAP_SWIZZLE_128B ||
        (unsigned)a->promotion > CU_TENSOR_MAP_L2_PROMOTION_L2_256B ||
        (unsigned)a->fill > CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA)
        return 0;
    if (a->fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE && !is_float(a->type)) return 0;
    return a->interleave != CU_TENSOR_MAP_INTERLEAVE_32B || a->swizzle == CU_TENSOR_MAP_SWIZZLE_32B;
}

static int axes_are_valid(const struct arguments *a)
{
    const unsigned multiple = a->interleave == CU_TENSOR_MAP_INTERLEAVE_32B ? 32 : ALIGNMENT;
    for (unsigned i = 0; i < a->rank; i++) {
        if (a->sizes[i] == 0 || a->sizes[i] > MOST_SIZE) return 0;
        if (a->box[i] == 0 || a->box[i] > MOST_BOX) return 0;
        if (a->steps[i] == 0 || a->steps[i] > MOST_STEP) return 0;
        if (i + 1 < a->rank && (a->strides[i] % multiple != 0 || a->strides[i] >= STRIDE_LIMIT)) return 0;
    }
    return (uintptr_t)a->address % multiple == 0;
}

static int arguments_are_valid(const struct arguments *a)
{
    if (a->map == NULL || (uintptr_t)a->map % TENSOR_MAP_ALIGNMENT != 0) return 0;
    if (a->rank == 0 || a->rank > TENSOR_RANK || a->sizes == NULL || a->box == NULL || a->steps == NULL)
        return 0;
    if (a->rank > 1 && a->strides == NULL) return 0;
    if (!enumerations_are_valid(a)) return 0;
    if (a->interleave != CU_TENSOR_MAP_INTERLEAVE_NONE && a->rank < 3) return 0;
    if (!axes_are_valid(a)) return 0;
    const unsigned inner = a->box[0] * bytes_of(a->type);
    if (a->interleave != CU_TENSOR_MAP_INTERLEAVE_NONE) return 1;
    return inner % ALIGNMENT == 0 && (span_of(a->swizzle) == 0 || inner <= span_of(a->swizzle));
}

static CUresult refuse_arguments(const struct arguments *a, struct simt_site site)
{
    uint64_t uneven = 0;
    for (unsigned i = 0; a->strides != NULL && i + 1 < a->rank && i + 1 < TENSOR_RANK; i++)
        if (a->strides[i] % ALIGNMENT != 0) uneven = a->strides[i];
    if (uneven != 0)
        runtime_note_refusal(
            site, RECORD_SAYS_CALL_UNEVEN,
            SIMT_SAYS(.name = {"stride in bytes", site.what}, .number = {(int64_t)uneven, ALIGNMENT}));
    else if ((uintptr_t)a->address % ALIGNMENT != 0)
        runtime_note_refusal(
            site, RECORD_SAYS_CALL_UNEVEN,
            SIMT_SAYS(.name = {"address", site.what}, .number = {(int64_t)a->address, ALIGNMENT}));
    else
        runtime_note_refusal(
            site, RECORD_SAYS_CALL_REFUSED,
            SIMT_SAYS(.name = {"a size, a box or a type is beyond what it takes", site.what}));
    return CUDA_ERROR_INVALID_VALUE;
}

static void encode(const struct arguments *a)
{
    struct tensor_map m = {
        .mark = TENSOR_MAP_MARK,
        .base = (uintptr_t)a->address,
        .rank = (uint8_t)a->rank,
        .type = (uint8_t)a->type,
        .bytes = bytes_of(a->type),
        .swizzle = (uint8_t)span_of(a->swizzle),
        .nan = a->fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
        .flush = a->type == CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ,
    };
    for (unsigned i = 0; i < a->rank; i++) {
        m.last[i] = (uint32_t)(a->sizes[i] - 1);
        m.box[i] = (uint16_t)a->box[i];
        m.step[i] = (uint8_t)a->steps[i];
        if (i + 1 < a->rank) m.stride[i] = a->strides[i];
    }
    memset(a->map, 0, sizeof *a->map);
    memcpy(a->map, &m, sizeof m);
}

_Static_assert(sizeof(struct tensor_map) <= sizeof(CUtensorMap),
               "a tensor map must fit into the driver's type");

/* ---- the driver's functions ------------------------------------------------------------------------------- */

CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
                                const cuuint64_t *sizes, const cuuint64_t *strides, const cuuint32_t *box,
                                const cuuint32_t *element_strides, CUtensorMapInterleave interleave,
                                CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                CUtensorMapFloatOOBfill fill)
{
    const struct arguments a = {map,        type,    rank,      address, sizes, strides, box, element_strides,
                                interleave, swizzle, promotion, fill};
    if (device_limits()->capability < LEAST_CAPABILITY) return CUDA_ERROR_NOT_SUPPORTED;
    if (!arguments_are_valid(&a)) return refuse_arguments(&a, CALLER_SITE("cuTensorMapEncodeTiled"));
    if (interleave != CU_TENSOR_MAP_INTERLEAVE_NONE)
        return refuse_map(CALLER_SITE("cuTensorMapEncodeTiled"), RECORD_SAYS_NO_INTERLEAVE);
    if (type == CU_TENSOR_MAP_DATA_TYPE_TFLOAT32 || type == CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ)
        return refuse_map(CALLER_SITE("cuTensorMapEncodeTiled"), RECORD_SAYS_NO_TF32);
    encode(&a);
    return CUDA_SUCCESS;
}

CUresult cuTensorMapEncodeIm2col(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
                                 const cuuint64_t *sizes, const cuuint64_t *strides, const int *lower_corner,
                                 const int *upper_corner, cuuint32_t channels, cuuint32_t pixels,
                                 const cuuint32_t *element_strides, CUtensorMapInterleave interleave,
                                 CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                 CUtensorMapFloatOOBfill fill)
{
    (void)map, (void)type, (void)rank, (void)address, (void)sizes, (void)strides, (void)lower_corner;
    (void)upper_corner, (void)channels, (void)pixels, (void)element_strides, (void)interleave;
    (void)swizzle, (void)promotion, (void)fill;
    return refuse_map(CALLER_SITE("cuTensorMapEncodeIm2col"), RECORD_SAYS_NO_IM2COL);
}

CUresult cuTensorMapReplaceAddress(CUtensorMap *map, void *address)
{
    struct tensor_map m;
    if (map == NULL || (uintptr_t)map % TENSOR_MAP_ALIGNMENT != 0 || (uintptr_t)address % ALIGNMENT != 0)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(&m, map, sizeof m);
    if (m.mark != TENSOR_MAP_MARK) return CUDA_ERROR_INVALID_VALUE;
    m.base = (uintptr_t)address;
    memcpy(map, &m, sizeof m);
    return CUDA_SUCCESS;
}

CUresult cuInit(unsigned int flags)
{
    return flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDriverGetVersion(int *version)
{
    return version != NULL && cudaDriverGetVersion(version) == cudaSuccess ? CUDA_SUCCESS
                                                                           : CUDA_ERROR_INVALID_VALUE;
}

static const struct {
    CUresult error;
    const char *name, *text;
} errors[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {CUDA_ERROR_DEINITIALIZED, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

static CUresult tell(CUresult error, const char **to, int text)
{
    if (to == NULL) return CUDA_ERROR_INVALID_VALUE;
    *to = NULL;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].error == error) *to = text ? errors[i].text : errors[i].name;
    return *to != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorName(CUresult error, const char **name)
{
    return tell(error, name, 0);
}

CUresult cuGetErrorString(CUresult error, const char **text)
{
    return tell(error, text, 1);
}

/* ---- entry points ------------------------------------------------------------------------------------------ */

cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned int version,
                                             unsigned long long flags,
                                             enum cudaDriverEntryPointQueryResult *status)
{
    enum { TENSOR_MAPS_SINCE = 12000 };
    static const struct {
        const char *name;
        void *function;
        unsigned since;
    } known[] = {
        {"cuTensorMapEncodeTiled", (void *)cuTensorMapEncodeTiled, TENSOR_MAPS_SINCE},
        {"cuTensorMapEncodeIm2col", (void *)cuTensorMapEncodeIm2col, TENSOR_MAPS_SINCE},
        {"cuTensorMapReplaceAddress", (void *)cuTensorMapReplaceAddress, TENSOR_MAPS_SINCE},
        {"cuInit", (void *)cuInit, 2000},
        {"cuDriverGetVersion", (void *)cuDriverGetVersion, 2020},
        {"cuGetErrorName", (void *)cuGetErrorName, 6000},
        {"cuGetErrorString", (void *)cuGetErrorString, 6000},
    };
    enum cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
    if (symbol == NULL || function == NULL || *symbol == '\0' || flags > cudaEnablePerThreadDefaultStream)
        return runtime_result(cudaErrorInvalidValue);
    *function = NULL;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(known[i].name, symbol) != 0) continue;
        result =
            version >= known[i].since ? cudaDriverEntryPointSuccess : cudaDriverEntryPointVersionNotSufficent;
        if (result == cudaDriverEntryPointSuccess) *function = known[i].function;
    }
    if (status != NULL) *status = result;
    return cudaSuccess;
}

cudaError_t cudaGetDriverEntryPoint(const char *symbol, void **function, unsigned long long flags,
                                    enum cudaDriverEntryPointQueryResult *status)
{
    return cudaGetDriverEntryPointByVersion(symbol, function, CUDART_VERSION, flags, status);
}
