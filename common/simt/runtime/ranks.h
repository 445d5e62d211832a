/**
 * @file ranks.h
 * @brief What the parts of the software NCCL share.
 *
 * nccl.c receives calls, ranks.c matches those that belong together and finds those that never will match,
 * collectives.c carries them out. A call waits in its host thread until all the ranks that it needs have
 * called: it is carried out before it returns.
 */
#pragma once

#include "../include/nccl.h"
#include "graph.h"

enum { MOST_RANKS = SIMT_MOST_DEVICES };

enum call_kind {
    CALL_ALL_REDUCE,
    CALL_BROADCAST,
    CALL_REDUCE,
    CALL_ALL_GATHER,
    CALL_REDUCE_SCATTER,
    CALL_ALL_TO_ALL,
    CALL_GATHER,
    CALL_SCATTER,
    CALL_SEND,
    CALL_RECEIVE,
    CALL_INIT
};

/** @brief A host thread that calls NCCL. */
struct caller {
    int waits, ended, stuck;
    struct call *calls; /**< that it waits for */
};

/** @brief A call of one rank. */
struct call {
    enum call_kind kind;
    const void *send;
    void *receive;
    size_t count; /**< as the call says */
    ncclDataType_t type;
    ncclRedOp_t op;
    int peer; /**< or the root; -1: not used */
    ncclComm_t comm;
    struct operation operation; /**< stream, device and place in the source */
    int done;
    ncclResult_t result;
    struct call *next;       /**< of its queue */
    struct call *next_group; /**< of its caller's group */
};

/** @brief Calls in the order in which they came. */
struct queue {
    struct call *first, **end;
};

/** @brief The ranks that know each other. */
struct clique {
    unsigned long number; /**< in the unique id */
    int ranks, joined, left;
    ncclComm_t rank[MOST_RANKS];
    ncclResult_t broken; /**< nothing more comes of it */
    struct clique *next;
};

struct ncclComm {
    struct clique *clique;
    int rank, device;
    int gone; /**< destroyed, or aborted */
    struct simt_site site;
    struct caller *caller; /**< the thread that last called for this rank; NULL: none yet */
    struct queue collectives, sends[MOST_RANKS], receives[MOST_RANKS];
    struct call init;
};

/** @brief Everything here is done with this lock held. */
void ranks_lock(void);
void ranks_unlock(void);
/** @brief The calling host thread. */
struct caller *ranks_caller(void);
/** @brief Nothing more will come from these ranks: threads that wait for them continue, with @p result. */
void ranks_break(struct clique *clique, ncclResult_t result);
/** @brief Matches @p call with those that it belongs with. */
void ranks_submit(struct call *call);
/** @brief Waits until all calls of the list (next_group) are done; returns the first result that is an
 *         error. */
ncclResult_t ranks_wait(struct call *calls);
/** @brief Wakes the waiting threads to check again. */
void ranks_changed(void);

/** @brief The name of the call. */
const char *call_name(const struct call *call);
size_t type_bytes(ncclDataType_t type);
/** @brief The number of bytes that a call reads and that it writes; 0 for none. */
size_t call_reads(const struct call *call);
size_t call_writes(const struct call *call);
/** @brief Carries out the matching calls of all ranks. */
void collective_perform(struct call *const *call, int ranks);
void transfer_perform(struct call *send, struct call *receive);
