// with: SIMT_DEVICES=2
// runs: few
/*
 * Two ranks that call NCCL, in pairs: RIGHT, or with one mistake, of which most would hang on GPUs. pairs.test holds the
 * device to what is announced before each of them. `build/nccl NAME right|wrong` runs one.
 */
#include "../testing.h"

#include <nccl.h>
#include <pthread.h>
#include <string.h>

enum { RANKS = 2, COUNT = 128 };

/** A rank: its device, two streams of it, and buffers. */
struct rank {
    int rank, other;
    ncclComm_t comm, second;
    cudaStream_t stream, compute;
    cudaEvent_t event;
    float *in, *out;
    struct rank *peer;
};

static __global__ void write_kernel(float *x)
{
    x[threadIdx.x] = (float)threadIdx.x; // here: not_waited
}

static __global__ void copy_kernel(float *to, const float *from)
{
    to[threadIdx.x] = from[threadIdx.x]; // here: used_early
}

static ncclResult_t all_reduce(struct rank *r)
{
    return ncclAllReduce(r->in, r->out, COUNT, ncclFloat, ncclSum, r->comm, r->stream);
}

/* ---- ranks that call different things -------------------------------------------------------------------- */

// pair: counts is collective-mismatch
template <bool RIGHT> static void counts(struct rank *r)
{
    const size_t count = RIGHT || r->rank == 0 ? COUNT : COUNT - 1;
    ncclAllReduce(r->in, r->out, count, ncclFloat, ncclSum, r->comm, r->stream); // here: counts
}

// pair: types is collective-mismatch
template <bool RIGHT> static void types(struct rank *r)
{
    const ncclDataType_t type = RIGHT || r->rank == 0 ? ncclFloat : ncclInt;
    ncclAllReduce(r->in, r->out, COUNT, type, ncclSum, r->comm, r->stream); // here: types
}

// pair: operations is collective-mismatch
template <bool RIGHT> static void operations(struct rank *r)
{
    const ncclRedOp_t op = RIGHT || r->rank == 0 ? ncclSum : ncclMax;
    ncclAllReduce(r->in, r->out, COUNT, ncclFloat, op, r->comm, r->stream); // here: operations
}

// pair: roots is collective-mismatch
template <bool RIGHT> static void roots(struct rank *r)
{
    const int root = RIGHT ? 0 : r->rank;
    ncclBroadcast(r->in, r->out, COUNT, ncclFloat, root, r->comm, r->stream); // here: roots
}

// pair: kinds is collective-mismatch
template <bool RIGHT> static void kinds(struct rank *r)
{
    if (RIGHT || r->rank == 0)
        all_reduce(r);
    else
        ncclReduce(r->in, r->out, COUNT, ncclFloat, ncclSum, 0, r->comm, r->stream); // here: kinds
}

/** Each rank calls the two in an order of its own. */
// pair: orders is collective-mismatch
template <bool RIGHT> static void orders(struct rank *r)
{
    const int first = RIGHT || r->rank == 0;
    if (first) all_reduce(r);
    ncclBroadcast(r->in, r->out, COUNT, ncclFloat, 0, r->comm, r->stream); // here: orders
    if (!first) all_reduce(r);
}

// pair: sizes is collective-mismatch
template <bool RIGHT> static void sizes(struct rank *r)
{
    if (r->rank == 0)
        ncclSend(r->in, COUNT, ncclFloat, 1, r->comm, r->stream); // here: sizes
    else
        ncclRecv(r->out, RIGHT ? COUNT : COUNT / 2, ncclFloat, 0, r->comm, r->stream); // here: sizes
}

/* ---- calls that wait for ever ---------------------------------------------------------------------------- */

/** Each waits in its send for the other to receive. */
// pair: both_send is collective-hang
template <bool RIGHT> static void both_send(struct rank *r)
{
    if (RIGHT) ncclGroupStart();
    ncclSend(r->in, COUNT, ncclFloat, r->other, r->comm, r->stream); // here: both_send
    ncclRecv(r->out, COUNT, ncclFloat, r->other, r->comm, r->stream);
    if (RIGHT) ncclGroupEnd();
}

// pair: unmatched is collective-hang
template <bool RIGHT> static void unmatched(struct rank *r)
{
    all_reduce(r);
    if (r->rank == 0)
        ncclSend(r->in, COUNT / 2, ncclFloat, 1, r->comm, r->stream); // here: unmatched
    else if (RIGHT)
        ncclRecv(r->out, COUNT / 2, ncclFloat, 0, r->comm, r->stream);
}

/** One rank leaves the loop early. */
// pair: one_too_few is collective-hang
template <bool RIGHT> static void one_too_few(struct rank *r)
{
    const int rounds = RIGHT || r->rank == 0 ? 3 : 2;
    for (int i = 0; i < rounds; i++)
        ncclAllReduce(r->in, r->out, COUNT, ncclFloat, ncclSum, r->comm, r->stream); // here: one_too_few
}

/** Two communicators, in an order of each rank's own. */
// pair: crossed is collective-hang
template <bool RIGHT> static void crossed(struct rank *r)
{
    const int turned = !RIGHT && r->rank == 1;
    ncclAllReduce(r->in, r->out, COUNT, ncclFloat, ncclSum, r->comm, r->stream);
    ncclAllReduce(r->in, r->out, COUNT, ncclFloat, ncclSum, r->second, r->stream);
    for (int i = 0; i < 2; i++)
        ncclAllReduce(r->in, r->out, COUNT, ncclFloat, ncclSum, // here: crossed
                      (i == 0) != turned ? r->comm : r->second, r->stream);
}

/* ---- memory and streams ---------------------------------------------------------------------------------- */

// pair: other_memory is wrong-device
template <bool RIGHT> static void other_memory(struct rank *r)
{
    float *in = RIGHT || r->rank == 0 ? r->in : r->peer->in;
    if (!RIGHT && r->rank == 0) return;
    ncclAllReduce(in, r->out, COUNT, ncclFloat, ncclSum, r->comm, r->stream); // here: other_memory
}

// pair: other_stream is wrong-device
template <bool RIGHT> static void other_stream(struct rank *r)
{
    if (!RIGHT && r->rank == 0) return;
    ncclAllReduce(r->in, r->out, COUNT, ncclFloat, ncclSum, r->comm, // here: other_stream
                  RIGHT ? r->stream : r->peer->stream);
}

// pair: too_long is out-of-bounds
template <bool RIGHT> static void too_long(struct rank *r)
{
    if (!RIGHT && r->rank == 0) return;
    ncclAllGather(r->in, r->out, RIGHT ? COUNT / 2 : COUNT, ncclFloat, r->comm, r->stream); // here: too_long
}

/** The kernel that makes the input is in another stream. */
// pair: not_waited is stream-race
template <bool RIGHT> static void not_waited(struct rank *r)
{
    if (RIGHT || r->rank == 0) {
        write_kernel<<<1, COUNT, 0, r->compute>>>(r->in);
        cudaEventRecord(r->event, r->compute);
    }
    if (RIGHT) cudaStreamWaitEvent(r->stream, r->event, 0);
    ncclAllReduce(r->in, r->out, COUNT, ncclFloat, ncclSum, r->comm, r->stream); // here: not_waited
}

/** The kernel that uses the result is in another stream. */
// pair: used_early is stream-race
template <bool RIGHT> static void used_early(struct rank *r)
{
    ncclAllReduce(r->in, r->out, COUNT, ncclFloat, ncclSum, r->comm, r->stream); // here: used_early
    cudaEventRecord(r->event, r->stream);
    if (RIGHT) cudaStreamWaitEvent(r->compute, r->event, 0);
    if (RIGHT || r->rank == 0) copy_kernel<<<1, COUNT, 0, r->compute>>>(r->in, r->out);
}

/** So is the copy of the result. */
// pair: copied_early is stream-race
template <bool RIGHT> static void copied_early(struct rank *r)
{
    float host[COUNT];
    ncclAllReduce(r->in, r->out, COUNT, ncclFloat, ncclSum, r->comm, r->stream); // here: copied_early
    if (RIGHT) cudaStreamSynchronize(r->stream);
    if (RIGHT || r->rank == 0)
        cudaMemcpyAsync(host, r->out, sizeof host, cudaMemcpyDeviceToHost, r->compute); // here: copied_early
    cudaStreamSynchronize(r->compute);
}

/** Memory is filled in one stream and sent to the other device in another. */
// pair: filled is stream-race
template <bool RIGHT> static void filled(struct rank *r)
{
    if (r->rank == 1) return;
    cudaMemsetAsync(r->in, 0, COUNT * sizeof(float), r->stream); // here: filled
    if (RIGHT) cudaStreamSynchronize(r->stream);
    cudaMemcpyPeerAsync(r->peer->out, 1, r->in, 0, COUNT * sizeof(float), r->compute); // here: filled
}

/* ---- one thread for both --------------------------------------------------------------------------------- */

/** Without a group the first call waits for the second, which comes after it. */
// pair: ungrouped is collective-hang
template <bool RIGHT> static void ungrouped(struct rank *ranks)
{
    if (RIGHT) ncclGroupStart();
    for (int i = 0; i < RANKS; i++)
        ncclAllReduce(ranks[i].in, ranks[i].out, COUNT, ncclFloat, ncclSum, ranks[i].comm, // here: ungrouped
                      ranks[i].stream);
    if (RIGHT) ncclGroupEnd();
}

// pair: left_out is collective-hang
template <bool RIGHT> static void left_out(struct rank *ranks)
{
    ncclGroupStart();
    for (int i = 0; i < (RIGHT ? RANKS : 1); i++)
        ncclAllReduce(ranks[i].in, ranks[i].out, COUNT, ncclFloat, ncclSum, ranks[i].comm, // here: left_out
                      ranks[i].stream);
    ncclGroupEnd();
}

/* ---- running one of them --------------------------------------------------------------------------------- */

typedef void actor(struct rank *r);
#define EACH(X)                                                                                              \
    X(counts)                                                                                                \
    X(types)                                                                                                 \
    X(operations)                                                                                            \
    X(roots)                                                                                                 \
    X(kinds)                                                                                                 \
    X(orders)                                                                                                \
    X(sizes)                                                                                                 \
    X(both_send)                                                                                             \
    X(unmatched)                                                                                             \
    X(one_too_few)                                                                                           \
    X(crossed)                                                                                               \
    X(other_memory)                                                                                          \
    X(other_stream)                                                                                          \
    X(too_long)                                                                                              \
    X(not_waited)                                                                                            \
    X(used_early)                                                                                            \
    X(copied_early)                                                                                          \
    X(filled)
#define TOGETHER(X)                                                                                          \
    X(ungrouped)                                                                                             \
    X(left_out)
#define ROW(name) {#name, name<true>, name<false>},
static const struct pair {
    const char *name;
    actor *right, *wrong;
} each[] = {EACH(ROW)}, together[] = {TOGETHER(ROW)};

static actor *g_actor;

static void *act(void *argument)
{
    struct rank *r = (struct rank *)argument;
    require(cudaSetDevice(r->rank), "cudaSetDevice");
    g_actor(r);
    (void)cudaDeviceSynchronize();
    return NULL;
}

static void begin(struct rank *r, int rank, ncclComm_t *comms, ncclComm_t *second)
{
    r->rank = rank;
    r->other = 1 - rank;
    r->comm = comms[rank];
    r->second = second[rank];
    require(cudaSetDevice(rank), "cudaSetDevice");
    r->in = device_array<float>(COUNT);
    r->out = device_array<float>(COUNT);
    require(cudaMemset(r->in, 0, COUNT * sizeof(float)), "cudaMemset");
    require(cudaStreamCreateWithFlags(&r->stream, cudaStreamNonBlocking), "cudaStreamCreate");
    require(cudaStreamCreateWithFlags(&r->compute, cudaStreamNonBlocking), "cudaStreamCreate");
    require(cudaEventCreate(&r->event), "cudaEventCreate");
    require(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

static void end(struct rank *r)
{
    require(cudaSetDevice(r->rank), "cudaSetDevice");
    require(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    (void)ncclCommDestroy(r->comm);
    (void)ncclCommDestroy(r->second);
    require(cudaEventDestroy(r->event), "cudaEventDestroy");
    require(cudaStreamDestroy(r->stream), "cudaStreamDestroy");
    require(cudaStreamDestroy(r->compute), "cudaStreamDestroy");
    release(r->in);
    release(r->out);
}

int main(int arguments, char **argument)
{
    struct rank ranks[RANKS];
    ncclComm_t comms[RANKS], second[RANKS];
    pthread_t thread;
    if (arguments != 3) return 2;
    const int right = strcmp(argument[2], "right") == 0;
    if (ncclCommInitAll(comms, RANKS, NULL) != ncclSuccess ||
        ncclCommInitAll(second, RANKS, NULL) != ncclSuccess)
        return 2;
    for (int i = 0; i < RANKS; i++) {
        begin(&ranks[i], i, comms, second);
        ranks[i].peer = &ranks[1 - i];
    }
    for (size_t i = 0; i < sizeof together / sizeof *together; i++)
        if (strcmp(together[i].name, argument[1]) == 0)
            (right ? together[i].right : together[i].wrong)(ranks);
    for (size_t i = 0; i < sizeof each / sizeof *each; i++)
        if (strcmp(each[i].name, argument[1]) == 0) g_actor = right ? each[i].right : each[i].wrong;
    if (g_actor != NULL) {
        pthread_create(&thread, NULL, act, &ranks[1]);
        act(&ranks[0]);
        pthread_join(thread, NULL);
    }
    for (int i = 0; i < RANKS; i++) end(&ranks[i]);
    return 0;
}
