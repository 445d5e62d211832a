/**
 * @file nccl.h
 * @brief What stands for NCCL's header where a GPU build has found no NCCL: a kernel file that uses it compiles, its runner links, and
 *        says that there is no device for it. Every call fails.
 *
 * The software device has an NCCL of its own (simt/include/nccl.h).
 */
#ifndef WARPWISE_WITHOUT_NCCL
#define WARPWISE_WITHOUT_NCCL 1

#include <cuda_runtime_api.h>
#include <stddef.h>

typedef struct ncclComm *ncclComm_t;
typedef enum { ncclSuccess = 0, ncclSystemError = 2, ncclInvalidUsage = 5 } ncclResult_t;
typedef enum { ncclSum = 0, ncclProd = 1, ncclMax = 2, ncclMin = 3, ncclAvg = 4 } ncclRedOp_t;
typedef enum {
    ncclInt32 = 2,
    ncclInt = 2,
    ncclFloat16 = 6,
    ncclHalf = 6,
    ncclFloat32 = 7,
    ncclFloat = 7
} ncclDataType_t;

/* The parameters are NCCL's; none is used. */
#define WITHOUT_NCCL(name, ...)                                                                              \
    static inline ncclResult_t name(__VA_ARGS__)                                                             \
    {                                                                                                        \
        return ncclSystemError;                                                                              \
    }
#if defined __GNUC__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-function"
#endif
WITHOUT_NCCL(ncclCommInitAll, ncclComm_t *comms, int count, const int *devices)
WITHOUT_NCCL(ncclCommDestroy, ncclComm_t comm)
WITHOUT_NCCL(ncclCommAbort, ncclComm_t comm)
WITHOUT_NCCL(ncclCommCount, const ncclComm_t comm, int *count)
WITHOUT_NCCL(ncclCommUserRank, const ncclComm_t comm, int *rank)
WITHOUT_NCCL(ncclCommGetAsyncError, ncclComm_t comm, ncclResult_t *error)
WITHOUT_NCCL(ncclGroupStart, void)
WITHOUT_NCCL(ncclGroupEnd, void)
WITHOUT_NCCL(ncclAllReduce, const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t op,
             ncclComm_t comm, cudaStream_t stream)
WITHOUT_NCCL(ncclReduceScatter, const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t op,
             ncclComm_t comm, cudaStream_t stream)
WITHOUT_NCCL(ncclAllGather, const void *from, void *to, size_t count, ncclDataType_t type, ncclComm_t comm,
             cudaStream_t stream)
WITHOUT_NCCL(ncclBroadcast, const void *from, void *to, size_t count, ncclDataType_t type, int root,
             ncclComm_t comm, cudaStream_t stream)
WITHOUT_NCCL(ncclSend, const void *from, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
             cudaStream_t stream)
WITHOUT_NCCL(ncclRecv, void *to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
             cudaStream_t stream)
static inline const char *ncclGetErrorString(ncclResult_t result)
{
    return result == ncclSuccess ? "no error" : "NCCL was not found";
}
#if defined __GNUC__
#pragma GCC diagnostic pop
#endif
#undef WITHOUT_NCCL

#endif
