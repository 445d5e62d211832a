/**
 * @file nccl.c
 * @brief NCCL's calls: communicators, groups, and checks of arguments.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ranks.h"

static struct clique *cliques, *left_ones; /* these stay: calls of a group that is open may name them */
static unsigned long last_number;

ncclResult_t ncclGetVersion(int *version)
{
    if (version == NULL) return ncclInvalidArgument;
    *version = NCCL_VERSION_CODE;
    return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t result)
{
    static const char *const texts[ncclNumResults] = {
        "no error",
        "unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
        "unhandled system error (run with NCCL_DEBUG=INFO for details)",
        "internal error - please report this issue to the NCCL developers",
        "invalid argument (run with NCCL_DEBUG=WARN for details)",
        "invalid usage (run with NCCL_DEBUG=WARN for details)",
        "remote process exited or there was a network error",
        "NCCL operation in progress"};
    return (unsigned)result < ncclNumResults ? texts[result] : "unknown result code";
}

const char *ncclGetLastError(ncclComm_t comm)
{
    (void)comm;
    return ""; /* findings go to stderr */
}

/* ---- groups ---------------------------------------------------------------------------------------------- */

static _Thread_local int group_depth;
static _Thread_local struct call *group_first, **group_end;
static _Thread_local ncclResult_t group_result;

static void drop_calls(struct call *calls)
{
    while (calls != NULL) {
        struct call *next = calls->next_group;
        if (calls->kind != CALL_INIT) free(calls); /* the others belong to their communicators */
        calls = next;
    }
}

/** Submits the calls of a group, or a single call outside of a group, and waits for them. */
static ncclResult_t run_calls(struct call *calls)
{
    struct caller *self = ranks_caller();
    if (self == NULL) return ncclSystemError;
    ranks_lock();
    for (struct call *call = calls; call != NULL; call = call->next_group) {
        if (call->kind != CALL_INIT) call->comm->caller = self;
        ranks_submit(call);
    }
    if (calls != NULL && calls->next_group == NULL) calls->comm->caller = self;
    const ncclResult_t result = ranks_wait(calls);
    ranks_unlock();
    drop_calls(calls);
    return result;
}

static ncclResult_t take_call(struct call *call)
{
    call->next_group = NULL;
    if (group_depth == 0) return run_calls(call);
    if (group_first == NULL) group_end = &group_first;
    *group_end = call;
    group_end = &call->next_group;
    return ncclSuccess;
}

/** Returns the error of a refused call; in a group, the end of the group returns it, too. */
static ncclResult_t refuse(ncclResult_t result)
{
    if (group_depth > 0 && group_result == ncclSuccess) group_result = result;
    return result;
}

static int leave_group(void)
{
    const int open = group_depth > 0;
    drop_calls(group_first);
    group_first = NULL;
    group_depth = 0;
    return open;
}

ncclResult_t ncclGroupStart(void)
{
    if (group_depth++ == 0) group_result = ncclSuccess;
    promises_leave_group = leave_group;
    return ncclSuccess;
}

/* ---- communicators --------------------------------------------------------------------------------------- */

static const char id_begins[] = "Warpwise";

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    if (id == NULL) return ncclInvalidArgument;
    memset(id, 0, sizeof *id);
    ranks_lock();
    snprintf(id->internal, sizeof id->internal, "%s %ld %lu", id_begins, (long)getpid(), ++last_number);
    ranks_unlock();
    return ncclSuccess;
}

/** The clique of an id, made by the first rank that arrives; NULL if the id is invalid or memory is out. */
static struct clique *clique_of(const ncclUniqueId *id, int ranks)
{
    long pid;
    unsigned long number;
    char begin[16];
    if (sscanf(id->internal, "%15s %ld %lu", begin, &pid, &number) != 3 || strcmp(begin, id_begins) != 0)
        return NULL;
    if (pid != (long)getpid()) {
        simt_finding(RECORD_UNSUPPORTED, NULL, RECORD_SAYS_OTHER_PROCESS, NULL);
        return NULL;
    }
    for (struct clique *c = cliques; c != NULL; c = c->next)
        if (c->number == number) return c;
    struct clique *c = calloc(1, sizeof *c);
    if (c == NULL) return NULL;
    c->number = number;
    c->ranks = ranks;
    c->next = cliques;
    cliques = c;
    return c;
}

static void report_communicators(void)
{
    size_t count = 0;
    struct simt_site first = {0};
    for (const struct clique *c = cliques; c != NULL; c = c->next)
        for (int r = 0; r < c->ranks && c->broken == ncclSuccess; r++) {
            if (c->rank[r] == NULL || c->rank[r]->gone) continue;
            count++;
            first = c->rank[r]->site;
        }
    report_left(count, "communicator", 0, &first);
}

/** With the lock held. */
static ncclResult_t join(struct clique *clique, int rank, struct simt_site site, ncclComm_t *comm)
{
    const int device = simt_current_device();
    if (clique->rank[rank] != NULL) return ncclInvalidArgument;
    for (int r = 0; r < clique->ranks; r++)
        if (clique->rank[r] != NULL && clique->rank[r]->device == device) return ncclInvalidUsage;
    struct ncclComm *c = calloc(1, sizeof *c);
    if (c == NULL) return ncclSystemError;
    c->clique = clique;
    c->rank = rank;
    c->device = device;
    c->site = site;
    c->init.kind = CALL_INIT;
    c->init.comm = c;
    c->init.operation.site = site;
    clique->rank[rank] = c;
    clique->joined++;
    simt_report_leaks_with(report_communicators);
    *comm = c;
    return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank)
{
    const struct simt_site site = CALLER_SITE("ncclCommInitRank");
    if (comm == NULL || ranks < 1 || ranks > MOST_RANKS || rank < 0 || rank >= ranks)
        return refuse(ncclInvalidArgument);
    if (runtime_lost() != cudaSuccess) return refuse(ncclUnhandledCudaError);
    *comm = NULL;
    ranks_lock();
    struct clique *clique = clique_of(&id, ranks);
    const ncclResult_t result =
        clique == NULL || clique->ranks != ranks ? ncclInvalidArgument : join(clique, rank, site, comm);
    ranks_unlock();
    return result == ncclSuccess ? take_call(&(*comm)->init) : refuse(result);
}

ncclResult_t ncclCommInitAll(ncclComm_t *comms, int count, const int *devices)
{
    const struct simt_site site = CALLER_SITE("ncclCommInitAll");
    const int current = simt_current_device();
    ncclUniqueId id;
    ncclResult_t result = ncclSuccess;
    if (comms == NULL || count < 1 || count > simt_device_count()) return ncclInvalidArgument;
    for (int i = 0; i < count; i++)
        if (devices != NULL && !device_is_valid(devices[i])) return ncclInvalidArgument;
    (void)ncclGetUniqueId(&id);
    ranks_lock();
    struct clique *clique = clique_of(&id, count);
    if (clique == NULL) result = ncclSystemError;
    for (int i = 0; i < count && result == ncclSuccess; i++) {
        simt_set_current_device(devices != NULL ? devices[i] : i);
        result = join(clique, i, site, &comms[i]);
        if (result == ncclSuccess) comms[i]->init.done = 1;
    }
    simt_set_current_device(current);
    ranks_unlock();
    return result;
}

/** Nothing comes of a clique that all ranks have left. */
static void leave(ncclComm_t comm)
{
    struct clique *clique = comm->clique;
    comm->gone = 1;
    if (++clique->left == clique->ranks) {
        struct clique **link = &cliques;
        while (*link != clique) link = &(*link)->next;
        *link = clique->next;
        clique->next = left_ones;
        left_ones = clique;
    }
    ranks_changed();
}

static ncclResult_t end_comm(ncclComm_t comm)
{
    if (comm == NULL) return ncclInvalidArgument;
    ranks_lock();
    const int good = !comm->gone;
    if (good) leave(comm);
    ranks_unlock();
    return good ? ncclSuccess : ncclInvalidArgument;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
    return end_comm(comm);
}

/** What a rank does when it has lost another rank, or aborts itself: the other ranks' calls return an
 *  error, too, and that is no finding. */
ncclResult_t ncclCommAbort(ncclComm_t comm)
{
    if (comm == NULL) return ncclInvalidArgument;
    ranks_lock();
    if (!comm->gone) ranks_break(comm->clique, ncclRemoteError);
    ranks_unlock();
    return end_comm(comm);
}

int comm_is_valid(const struct ncclComm *comm)
{
    int found = 0;
    ranks_lock();
    for (const struct clique *c = cliques; c != NULL; c = c->next)
        for (int r = 0; r < c->ranks; r++) found |= c->rank[r] != NULL && c->rank[r] == comm && !comm->gone;
    ranks_unlock();
    return found;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm)
{
    return comm != NULL ? ncclSuccess : ncclInvalidArgument;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error)
{
    if (comm == NULL || error == NULL) return ncclInvalidArgument;
    ranks_lock();
    *error = comm->clique->broken;
    ranks_unlock();
    return ncclSuccess;
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int *count)
{
    if (comm == NULL || count == NULL) return ncclInvalidArgument;
    *count = comm->clique->ranks;
    return ncclSuccess;
}

ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int *device)
{
    if (comm == NULL || device == NULL) return ncclInvalidArgument;
    *device = comm->device;
    return ncclSuccess;
}

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int *rank)
{
    if (comm == NULL || rank == NULL) return ncclInvalidArgument;
    *rank = comm->rank;
    return ncclSuccess;
}

#undef cudaMalloc
ncclResult_t ncclMemAlloc(void **pointer, size_t bytes)
{
    if (pointer == NULL) return ncclInvalidArgument;
    return cudaMalloc(pointer, bytes) == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}

ncclResult_t ncclMemFree(void *pointer)
{
    return cudaFree(pointer) == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}

/* ---- what a call may be given ---------------------------------------------------------------------------- */

/** 1 if [@p pointer, @p bytes) is memory of the communicator's device; else reports a finding. */
static int buffer_is_good(const struct call *call, const void *pointer, size_t bytes, enum role role)
{
    if (bytes == 0) return 1;
    if (!device_range_is_valid(call->operation.site, pointer, bytes, role)) return 0;
    const int whose = simt_device_of(pointer);
    if (whose < 0 || whose == call->comm->device || simt_host_may(pointer)) return 1;
    simt_finding(RECORD_WRONG_DEVICE, &call->operation.site, RECORD_SAYS_RANK_DEVICE,
                 SIMT_SAYS(.name = {call_name(call)},
                           .number = {role, call->comm->rank, call->comm->device, whose}, .memory = pointer,
                           .bytes = 1));
    return 0;
}

/** The stream must belong to the communicator's device; a default stream does, whichever device is
 *  current. */
static ncclResult_t check_stream(struct call *call)
{
    struct operation *o = &call->operation;
    const int built_in =
        o->stream == NULL || o->stream == cudaStreamLegacy || o->stream == cudaStreamPerThread;
    if (!stream_is_valid(o->stream)) return ncclUnhandledCudaError;
    o->device = built_in ? call->comm->device : stream_device(o->stream);
    if (stream_is_under_capture(o->stream)) {
        (void)runtime_refuse(o->site, RECORD_SAYS_NO_NCCL_CAPTURE);
        return ncclInvalidUsage;
    }
    if (o->device == call->comm->device) return ncclSuccess;
    simt_finding(
        RECORD_WRONG_DEVICE, &o->site, RECORD_SAYS_RANK_STREAM,
        SIMT_SAYS(.name = {call_name(call)}, .number = {call->comm->rank, call->comm->device, o->device}));
    return ncclInvalidUsage;
}

static ncclResult_t check_call(struct call *call)
{
    const int ranks = call->comm->clique->ranks;
    const int sums =
        call->kind == CALL_ALL_REDUCE || call->kind == CALL_REDUCE || call->kind == CALL_REDUCE_SCATTER;
    const int names_rank = call->kind != CALL_ALL_REDUCE && call->kind != CALL_ALL_GATHER &&
                           call->kind != CALL_REDUCE_SCATTER && call->kind != CALL_ALL_TO_ALL;
    if (type_bytes(call->type) == 0 || (unsigned)call->op >= ncclNumOps) return ncclInvalidArgument;
    if (names_rank && (call->peer < 0 || call->peer >= ranks)) return ncclInvalidArgument;
    if (call->count > SIZE_MAX / 8 / MOST_RANKS) return ncclInvalidArgument;
    if (sums && call->type >= ncclFloat8e4m3) {
        (void)runtime_refuse(call->operation.site, RECORD_SAYS_NO_SUM_OF_BYTES);
        return ncclInvalidArgument;
    }
    if (runtime_device_lost(call->comm->device) != cudaSuccess) return ncclUnhandledCudaError;
    const ncclResult_t result = check_stream(call);
    if (result != ncclSuccess) return result;
    return buffer_is_good(call, call->send, call_reads(call), ROLE_READS) &&
                   buffer_is_good(call, call->receive, call_writes(call), ROLE_WRITES)
               ? ncclSuccess
               : ncclInvalidArgument;
}

/** What a call of a group names may be gone by now. */
static ncclResult_t check_again(struct call *call)
{
    if (call->kind == CALL_INIT) return ncclSuccess;
    return call->comm->gone ? ncclInvalidArgument : check_call(call);
}

ncclResult_t ncclGroupEnd(void)
{
    if (group_depth == 0) return ncclInvalidUsage;
    if (--group_depth > 0) return ncclSuccess;
    struct call *calls = group_first;
    group_first = NULL;
    for (struct call *call = calls; call != NULL && group_result == ncclSuccess; call = call->next_group)
        group_result = check_again(call);
    if (group_result == ncclSuccess) return run_calls(calls);
    drop_calls(calls);
    return group_result;
}

/** Checks a copy of @p given and submits it. */
static ncclResult_t take_nccl_call(struct call given)
{
    if (given.comm == NULL || given.comm->gone) return refuse(ncclInvalidArgument);
    if (given.comm->clique->broken != ncclSuccess)
        return refuse(given.comm->clique->broken); /* as NCCL says at once */
    given.operation.kind = OPERATION_COPY; /* a copy, as far as promises.c and order.c are concerned */
    given.operation.device = given.comm->device;
    const ncclResult_t result = check_call(&given);
    if (result != ncclSuccess) return refuse(result);
    struct call *call = malloc(sizeof *call);
    if (call == NULL) return refuse(ncclSystemError);
    *call = given;
    return take_call(call);
}

/* ---- the calls ------------------------------------------------------------------------------------------- */

#define AT(name, on)                                                                                         \
    {                                                                                                        \
        .site = CALLER_SITE(name), .stream = (on)                                                            \
    }

ncclResult_t ncclAllReduce(const void *send, void *receive, size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream)
{
    return take_nccl_call((struct call){CALL_ALL_REDUCE, send, receive, count, type, op, -1, comm,
                                        .operation = AT("ncclAllReduce", stream)});
}

ncclResult_t ncclReduce(const void *send, void *receive, size_t count, ncclDataType_t type, ncclRedOp_t op,
                        int root, ncclComm_t comm, cudaStream_t stream)
{
    return take_nccl_call((struct call){CALL_REDUCE, send, receive, count, type, op, root, comm,
                                        .operation = AT("ncclReduce", stream)});
}

ncclResult_t ncclBroadcast(const void *send, void *receive, size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream)
{
    return take_nccl_call((struct call){CALL_BROADCAST, send, receive, count, type, ncclSum, root, comm,
                                        .operation = AT("ncclBroadcast", stream)});
}

ncclResult_t ncclBcast(void *buffer, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                       cudaStream_t stream)
{
    return take_nccl_call((struct call){CALL_BROADCAST, buffer, buffer, count, type, ncclSum, root, comm,
                                        .operation = AT("ncclBcast", stream)});
}

ncclResult_t ncclAllGather(const void *send, void *receive, size_t send_count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream)
{
    return take_nccl_call((struct call){CALL_ALL_GATHER, send, receive, send_count, type, ncclSum, -1, comm,
                                        .operation = AT("ncclAllGather", stream)});
}

ncclResult_t ncclReduceScatter(const void *send, void *receive, size_t receive_count, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)
{
    return take_nccl_call((struct call){CALL_REDUCE_SCATTER, send, receive, receive_count, type, op, -1, comm,
                                        .operation = AT("ncclReduceScatter", stream)});
}

ncclResult_t ncclAlltoAll(const void *send, void *receive, size_t count, ncclDataType_t type, ncclComm_t comm,
                          cudaStream_t stream)
{
    return take_nccl_call((struct call){CALL_ALL_TO_ALL, send, receive, count, type, ncclSum, -1, comm,
                                        .operation = AT("ncclAlltoAll", stream)});
}

ncclResult_t ncclGather(const void *send, void *receive, size_t count, ncclDataType_t type, int root,
                        ncclComm_t comm, cudaStream_t stream)
{
    return take_nccl_call((struct call){CALL_GATHER, send, receive, count, type, ncclSum, root, comm,
                                        .operation = AT("ncclGather", stream)});
}

ncclResult_t ncclScatter(const void *send, void *receive, size_t count, ncclDataType_t type, int root,
                         ncclComm_t comm, cudaStream_t stream)
{
    return take_nccl_call((struct call){CALL_SCATTER, send, receive, count, type, ncclSum, root, comm,
                                        .operation = AT("ncclScatter", stream)});
}

ncclResult_t ncclSend(const void *send, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream)
{
    return take_nccl_call((struct call){CALL_SEND, send, NULL, count, type, ncclSum, peer, comm,
                                        .operation = AT("ncclSend", stream)});
}

ncclResult_t ncclRecv(void *receive, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream)
{
    return take_nccl_call((struct call){CALL_RECEIVE, NULL, receive, count, type, ncclSum, peer, comm,
                                        .operation = AT("ncclRecv", stream)});
}
