// with: SIMT_DEVICES=4
/*
 * NCCL's calls on several devices: each collective in each way to call it (a thread for each device, or one thread that groups
 * its calls), sends around a ring, and types. With one device it is one rank that talks to itself. Link with -lnccl.
 */
#include "../testing.h"

#include <nccl.h>
#include <pthread.h>
#include <string.h>

enum { MOST = 4, COUNT = 1000, THREADS = 128, BLOCKS = (COUNT + THREADS - 1) / THREADS };

static int g_ranks;
static ncclUniqueId g_id;

static void require_nccl(ncclResult_t result, const char *what)
{
    if (result == ncclSuccess) return;
    fprintf(stderr, "%s: %s\n", what, ncclGetErrorString(result));
    exit(1);
}

struct rank {
    int rank;
    ncclComm_t comm;
    cudaStream_t stream;
    float *in, *out; /* [COUNT * ranks] */
};

static __global__ void fill_kernel(float *x, /* [count] */
                                   int count, int rank)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < count) x[i] = (float)(1000 * rank + i % 1000);
}

static void begin(struct rank *r)
{
    const int count = COUNT * g_ranks;
    r->in = device_array<float>((size_t)count);
    r->out = device_array<float>((size_t)count);
    require(cudaMemset(r->out, 0, (size_t)count * sizeof(float)), "cudaMemset");
    require(cudaStreamCreate(&r->stream), "cudaStreamCreate");
    fill_kernel<<<(count + THREADS - 1) / THREADS, THREADS, 0, r->stream>>>(r->in, count, r->rank);
    require(cudaGetLastError(), "fill_kernel");
    require(cudaStreamSynchronize(r->stream), "cudaStreamSynchronize");
}

static void end(struct rank *r)
{
    require(cudaStreamDestroy(r->stream), "cudaStreamDestroy");
    release(r->in);
    release(r->out);
    require_nccl(ncclCommDestroy(r->comm), "ncclCommDestroy");
}

/* ---- what the ranks call, and what comes of it ---------------------------------------------------------- */

static float given(int rank, int i)
{
    return (float)(1000 * rank + i % 1000);
}

/** Of element i over all ranks. */
static float sum_of(int i)
{
    float sum = 0;
    for (int r = 0; r < g_ranks; r++) sum += given(r, i);
    return sum;
}

static void check(const char *what, const struct rank *r, int count, float (*expected)(int rank, int i))
{
    static float host[MOST][COUNT * MOST];
    download(host[r->rank], r->out, (size_t)count);
    for (int i = 0; i < count; i++)
        expect_close(what, (size_t)i, host[r->rank][i], expected(r->rank, i), 0.0);
}

typedef ncclResult_t caller(const struct rank *r);
typedef float value(int rank, int i);

static ncclResult_t call_all_reduce(const struct rank *r)
{
    return ncclAllReduce(r->in, r->out, COUNT, ncclFloat, ncclSum, r->comm, r->stream);
}
static float value_all_reduce(int, int i)
{
    return sum_of(i);
}

static ncclResult_t call_maximum(const struct rank *r)
{
    return ncclAllReduce(r->in, r->out, COUNT, ncclFloat, ncclMax, r->comm, r->stream);
}
static float value_maximum(int, int i)
{
    return given(g_ranks - 1, i);
}

static ncclResult_t call_average(const struct rank *r)
{
    return ncclAllReduce(r->in, r->out, COUNT, ncclFloat, ncclAvg, r->comm, r->stream);
}
static float value_average(int, int i)
{
    return sum_of(i) / (float)g_ranks;
}

static ncclResult_t call_broadcast(const struct rank *r)
{
    return ncclBroadcast(r->in, r->out, COUNT, ncclFloat, g_ranks - 1, r->comm, r->stream);
}
static float value_broadcast(int, int i)
{
    return given(g_ranks - 1, i);
}

static ncclResult_t call_reduce(const struct rank *r)
{
    return ncclReduce(r->in, r->out, COUNT, ncclFloat, ncclSum, 0, r->comm, r->stream);
}
static float value_reduce(int rank, int i)
{
    return rank == 0 ? sum_of(i) : value_broadcast(rank, i); /* what the last call left */
}

static ncclResult_t call_all_gather(const struct rank *r)
{
    return ncclAllGather(r->in, r->out, COUNT, ncclFloat, r->comm, r->stream);
}
static float value_all_gather(int, int i)
{
    return given(i / COUNT, i % COUNT);
}

static ncclResult_t call_reduce_scatter(const struct rank *r)
{
    return ncclReduceScatter(r->in, r->out, COUNT, ncclFloat, ncclSum, r->comm, r->stream);
}
static float value_reduce_scatter(int rank, int i)
{
    return sum_of(rank * COUNT + i);
}

/** To the next rank, from the one before. */
static ncclResult_t call_ring(const struct rank *r)
{
    ncclGroupStart();
    ncclSend(r->in, COUNT, ncclFloat, (r->rank + 1) % g_ranks, r->comm, r->stream);
    ncclRecv(r->out, COUNT, ncclFloat, (r->rank + g_ranks - 1) % g_ranks, r->comm, r->stream);
    return ncclGroupEnd();
}
static float value_ring(int rank, int i)
{
    return given((rank + g_ranks - 1) % g_ranks, i);
}

static const struct {
    const char *name;
    caller *call;
    value *expected;
    int times_ranks; /* so many elements come */
} steps[] = {{"all-reduce", call_all_reduce, value_all_reduce, 0},
             {"maximum", call_maximum, value_maximum, 0},
             {"average", call_average, value_average, 0},
             {"broadcast", call_broadcast, value_broadcast, 0},
             {"reduce", call_reduce, value_reduce, 0},
             {"all-gather", call_all_gather, value_all_gather, 1},
             {"reduce-scatter", call_reduce_scatter, value_reduce_scatter, 0},
             {"ring", call_ring, value_ring, 0}};
enum { STEPS = sizeof steps / sizeof *steps };

static void check_step(int s, const struct rank *r)
{
    require(cudaStreamSynchronize(r->stream), "cudaStreamSynchronize");
    check(steps[s].name, r, steps[s].times_ranks ? COUNT * g_ranks : COUNT, steps[s].expected);
}

/* ---- a thread for each device --------------------------------------------------------------------------- */

static void *run_rank(void *argument)
{
    struct rank *r = (struct rank *)argument;
    int count = 0, device = -1, rank = -1;
    require(cudaSetDevice(r->rank), "cudaSetDevice");
    require_nccl(ncclCommInitRank(&r->comm, g_ranks, g_id, r->rank), "ncclCommInitRank");
    require_nccl(ncclCommCount(r->comm, &count), "ncclCommCount");
    require_nccl(ncclCommCuDevice(r->comm, &device), "ncclCommCuDevice");
    require_nccl(ncclCommUserRank(r->comm, &rank), "ncclCommUserRank");
    expect_equal("ranks", (size_t)r->rank, count, g_ranks);
    expect_equal("device", (size_t)r->rank, device, r->rank);
    expect_equal("rank", (size_t)r->rank, rank, r->rank);
    begin(r);
    for (int s = 0; s < STEPS; s++) {
        require_nccl(steps[s].call(r), steps[s].name);
        check_step(s, r);
    }
    end(r);
    return NULL;
}

/* ---- one thread for all --------------------------------------------------------------------------------- */

static __global__ void fill_halves_kernel(__half *x, __nv_bfloat16 *y, int *z, int rank)
{
    const int i = (int)threadIdx.x;
    x[i] = __float2half(0.5f * (float)i + (float)rank);
    y[i] = __float2bfloat16((float)i * (float)(rank + 1));
    z[i] = i - 100 * rank;
}

static void check_types(struct rank *ranks)
{
    __half *x[MOST], host_x[THREADS];
    __nv_bfloat16 *y[MOST], host_y[THREADS];
    int *z[MOST], host_z[THREADS];
    for (int r = 0; r < g_ranks; r++) {
        require(cudaSetDevice(r), "cudaSetDevice");
        x[r] = device_array<__half>(THREADS);
        y[r] = device_array<__nv_bfloat16>(THREADS);
        z[r] = device_array<int>(THREADS);
        fill_halves_kernel<<<1, THREADS, 0, ranks[r].stream>>>(x[r], y[r], z[r], r);
        require(cudaGetLastError(), "fill_halves_kernel");
    }
    ncclGroupStart();
    for (int r = 0; r < g_ranks; r++) {
        ncclAllReduce(x[r], x[r], THREADS, ncclFloat16, ncclSum, ranks[r].comm, ranks[r].stream);
        ncclAllReduce(y[r], y[r], THREADS, ncclBfloat16, ncclSum, ranks[r].comm, ranks[r].stream);
        ncclAllReduce(z[r], z[r], THREADS, ncclInt32, ncclMin, ranks[r].comm, ranks[r].stream);
    }
    require_nccl(ncclGroupEnd(), "types");
    const int n = g_ranks, ranks_sum = n * (n - 1) / 2;
    for (int r = 0; r < n; r++) {
        require(cudaSetDevice(r), "cudaSetDevice");
        require(cudaStreamSynchronize(ranks[r].stream), "cudaStreamSynchronize");
        download(host_x, x[r], THREADS);
        download(host_y, y[r], THREADS);
        download(host_z, z[r], THREADS);
        for (int i = 0; i < THREADS; i++) {
            expect_close("half", (size_t)i, __half2float(host_x[i]), 0.5 * i * n + ranks_sum, 0.0);
            expect_close("bfloat16", (size_t)i, __bfloat162float(host_y[i]), (double)i * (ranks_sum + n),
                         i * n * n / 256.0);
            expect_equal("int", (size_t)i, host_z[i], i - 100 * (n - 1));
        }
        release(x[r]);
        release(y[r]);
        release(z[r]);
    }
}

/** The communicators go from thread to thread. */
static void *call_once(void *argument)
{
    struct rank *r = (struct rank *)argument;
    require(cudaSetDevice(r->rank), "cudaSetDevice");
    require_nccl(call_all_reduce(r), "all-reduce");
    check_step(0, r);
    return NULL;
}

static void other_threads(struct rank *ranks)
{
    pthread_t thread[MOST];
    for (int round = 0; round < 5; round++) {
        for (int r = 0; r < g_ranks; r++) pthread_create(&thread[r], NULL, call_once, &ranks[r]);
        for (int r = 0; r < g_ranks; r++) pthread_join(thread[r], NULL);
    }
}

static void one_thread(void)
{
    struct rank ranks[MOST];
    ncclComm_t comms[MOST];
    require_nccl(ncclCommInitAll(comms, g_ranks, NULL), "ncclCommInitAll");
    for (int r = 0; r < g_ranks; r++) {
        require(cudaSetDevice(r), "cudaSetDevice");
        ranks[r].rank = r;
        ranks[r].comm = comms[r];
        begin(&ranks[r]);
    }
    for (int s = 0; s < STEPS; s++) {
        ncclGroupStart();
        for (int r = 0; r < g_ranks; r++) steps[s].call(&ranks[r]);
        require_nccl(ncclGroupEnd(), steps[s].name);
        for (int r = 0; r < g_ranks; r++) {
            require(cudaSetDevice(r), "cudaSetDevice");
            check_step(s, &ranks[r]);
        }
    }
    check_types(ranks);
    other_threads(ranks);
    for (int r = 0; r < g_ranks; r++) end(&ranks[r]);
}

#ifdef __SIMT__
extern "C" void simt_collective_bytes(int device, unsigned long long *sent, unsigned long long *received);

/** All-reduce of S bytes is 2 (N - 1) / N S for each rank. */
static void check_bytes(void)
{
    const long long s = COUNT * (long long)sizeof(float), n = g_ranks, types = THREADS * 8;
    unsigned long long all = 0;
    for (int r = 0; r < g_ranks; r++) {
        unsigned long long sent, received;
        simt_collective_bytes(r, &sent, &received);
        all += sent;
    }
    const long long twice = 3 * 2 * (n - 1) * s + 2 * (n - 1) * s + 2 * n * (n - 1) * s + (n > 1 ? n * s : 0);
    expect_equal("bytes sent by all ranks", 0, (long long)all,
                 2 * twice + 2 * (n - 1) * types + 5 * 2 * (n - 1) * s);
}

/** A copy from device to device counts as sent, whatever made it. */
static void check_bytes_of_a_copy(void)
{
    enum { BYTES = 4096 };
    unsigned long long before, after, received;
    char *from = NULL, *to = NULL;
    if (g_ranks < 2) return;
    require(cudaSetDevice(1), "cudaSetDevice");
    require(cudaMalloc((void **)&to, BYTES), "cudaMalloc");
    require(cudaSetDevice(0), "cudaSetDevice");
    require(cudaMalloc((void **)&from, BYTES), "cudaMalloc");
    require(cudaMemset(from, 0, BYTES), "cudaMemset");
    simt_collective_bytes(0, &before, &received);
    require(cudaMemcpyPeer(to, 1, from, 0, BYTES), "cudaMemcpyPeer");
    require(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    simt_collective_bytes(0, &after, &received);
    expect_equal("bytes that a copy has sent", 0, (long long)(after - before), BYTES);
    require(cudaFree(from), "cudaFree");
    require(cudaFree(to), "cudaFree");
}

/** When a rank has aborted, the calls of the others end with an error, and that is no finding. */
static void lose_a_rank(void)
{
    ncclComm_t comms[MOST];
    ncclResult_t error = ncclSuccess;
    float *x = NULL;
    if (g_ranks < 2) return;
    require_nccl(ncclCommInitAll(comms, g_ranks, NULL), "ncclCommInitAll");
    require(cudaSetDevice(0), "cudaSetDevice");
    require(cudaMalloc((void **)&x, sizeof *x), "cudaMalloc");
    require(cudaMemset(x, 0, sizeof *x), "cudaMemset");
    require_nccl(ncclCommAbort(comms[1]), "ncclCommAbort");
    expect_equal("all-reduce without rank 1", 0, ncclAllReduce(x, x, 1, ncclFloat, ncclSum, comms[0], NULL),
                 ncclRemoteError);
    require_nccl(ncclCommGetAsyncError(comms[0], &error), "ncclCommGetAsyncError");
    expect_equal("what rank 0 knows", 0, error, ncclRemoteError);
    for (int r = 0; r < g_ranks; r++)
        if (r != 1) require_nccl(ncclCommDestroy(comms[r]), "ncclCommDestroy");
    require(cudaFree(x), "cudaFree");
}

/** A group's calls begin when it ends: what they name may be gone by then. */
static void lose_what_a_group_names(void)
{
    for (int lost = 0; lost < 2; lost++) {
        ncclComm_t comm;
        float *x = NULL;
        require(cudaSetDevice(0), "cudaSetDevice");
        require_nccl(ncclCommInitAll(&comm, 1, NULL), "ncclCommInitAll");
        require(cudaMalloc((void **)&x, sizeof *x), "cudaMalloc");
        require(cudaMemset(x, 0, sizeof *x), "cudaMemset");
        require_nccl(ncclGroupStart(), "ncclGroupStart");
        require_nccl(ncclAllReduce(x, x, 1, ncclFloat, ncclSum, comm, NULL), "ncclAllReduce");
        if (lost) require_nccl(ncclCommDestroy(comm), "ncclCommDestroy");
        expect_equal("a group whose communicator is gone", lost, ncclGroupEnd(),
                     lost ? ncclInvalidArgument : ncclSuccess);
        if (!lost) require_nccl(ncclCommDestroy(comm), "ncclCommDestroy");
        require(cudaFree(x), "cudaFree");
    }
}
#endif

int main(void)
{
    struct rank ranks[MOST];
    pthread_t thread[MOST];
    int version = 0;
    require_nccl(ncclGetVersion(&version), "ncclGetVersion");
    expect_equal("version", 0, version >= NCCL_VERSION(2, 19, 0), 1);
    require(cudaGetDeviceCount(&g_ranks), "cudaGetDeviceCount");
    if (g_ranks > MOST) g_ranks = MOST;
    require_nccl(ncclGetUniqueId(&g_id), "ncclGetUniqueId");
    for (int r = 0; r < g_ranks; r++) {
        ranks[r].rank = r;
        pthread_create(&thread[r], NULL, run_rank, &ranks[r]);
    }
    for (int r = 0; r < g_ranks; r++) pthread_join(thread[r], NULL);
    one_thread();
#ifdef __SIMT__
    check_bytes();
    check_bytes_of_a_copy();
    lose_a_rank();
    lose_what_a_group_names();
#endif
    return finish("nccl_collectives");
}
