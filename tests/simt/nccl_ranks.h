/**
 * @file nccl_ranks.h
 * @brief For programs with several ranks: a thread for each device, and what each rank needs of NCCL.
 */
#pragma once

#include "testing.h"

#include <nccl.h>
#include <pthread.h>

enum { MOST_RANKS = 4 };

struct rank {
    int rank, ranks;
    ncclUniqueId id;
    ncclComm_t comm;
    cudaStream_t compute, transfer;
    unsigned long long bytes_sent; /**< by NCCL, where the device counts them */
    void (*work)(struct rank *rank);
    void *task;
};

static inline void require_nccl(ncclResult_t result, const char *what)
{
    if (result == ncclSuccess) return;
    fprintf(stderr, "%s: %s\n", what, ncclGetErrorString(result));
    exit(1);
}

#ifdef __SIMT__
extern "C" void simt_collective_bytes(int device, unsigned long long *sent, unsigned long long *received);
enum { BYTES_ARE_COUNTED = 1 };
#else
enum { BYTES_ARE_COUNTED = 0 };
#endif

static inline unsigned long long bytes_sent_by(int device)
{
    unsigned long long sent = 0;
#ifdef __SIMT__
    unsigned long long received;
    simt_collective_bytes(device, &sent, &received);
#else
    (void)device;
#endif
    return sent;
}

static inline void *run_rank(void *argument)
{
    struct rank *r = (struct rank *)argument;
    require(cudaSetDevice(r->rank), "cudaSetDevice");
    const unsigned long long before = bytes_sent_by(r->rank);
    require(cudaStreamCreateWithFlags(&r->compute, cudaStreamNonBlocking), "cudaStreamCreate");
    require(cudaStreamCreateWithFlags(&r->transfer, cudaStreamNonBlocking), "cudaStreamCreate");
    require_nccl(ncclCommInitRank(&r->comm, r->ranks, r->id, r->rank), "ncclCommInitRank");
    r->work(r);
    require_nccl(ncclCommDestroy(r->comm), "ncclCommDestroy");
    require(cudaStreamDestroy(r->compute), "cudaStreamDestroy");
    require(cudaStreamDestroy(r->transfer), "cudaStreamDestroy");
    r->bytes_sent = bytes_sent_by(r->rank) - before;
    return NULL;
}

/** Runs @p work on so many ranks at once. Each should have sent @p bytes, where they are counted. */
static inline void run_ranks(int ranks, void (*work)(struct rank *rank), void *task, long long bytes)
{
    struct rank rank[MOST_RANKS];
    pthread_t thread[MOST_RANKS];
    ncclUniqueId id;
    require_nccl(ncclGetUniqueId(&id), "ncclGetUniqueId");
    for (int r = 0; r < ranks; r++) {
        rank[r] = (struct rank){r, ranks, id, NULL, NULL, NULL, 0, work, task};
        pthread_create(&thread[r], NULL, run_rank, &rank[r]);
    }
    for (int r = 0; r < ranks; r++) pthread_join(thread[r], NULL);
    for (int r = 0; r < ranks; r++)
        expect_equal("bytes sent by a rank", (size_t)r, (long long)rank[r].bytes_sent,
                     BYTES_ARE_COUNTED * bytes);
}
