// with: SIMT_DEVICES=4
/*
 * Ring attention: each rank holds a part of the queries, keys and values of a sequence. In each step it attends with its queries to
 * the keys that it has, merges the result with what it has so far, and passes the keys on to the next rank, while the ones of
 * the step after arrive from the rank before. The transfers have a stream of their own. On 1, 2 and 4 devices the result is that of
 * plain attention in double, and the same bits each time. Link with -lnccl.
 */
#include "../nccl_ranks.h"

#include <string.h>

enum { HEADS = 2, LEN = 96, DIM = 16, THREADS = 32, ELEMS = HEADS * LEN * DIM };

/** What a query row knows of the keys it has seen: their maximum score, the sum of exponentials, and the weighted values. */
struct row_state {
    float maximum, sum, value[DIM];
};

static __global__ void clear_kernel(struct row_state *state, int rows)
{
    const int row = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (row >= rows) return;
    state[row].maximum = -INFINITY;
    state[row].sum = 0;
    for (int d = 0; d < DIM; d++) state[row].value[d] = 0;
}

/** Attends to one part of the keys: the merge of lesson 03, key by key. */
static __global__ void attend_kernel(struct row_state *state, /* [HEADS, part] */
                                     const float *q,          /* [HEADS, part, DIM] */
                                     const float *kv,         /* [2, HEADS, part, DIM]: keys, values */
                                     int part, int first_query, int first_key)
{
    const int row = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (row >= HEADS * part) return;
    const int head = row / part, query = first_query + row % part;
    const float *keys = kv + head * part * DIM, *values = keys + HEADS * part * DIM;
    struct row_state s = state[row];
    for (int j = 0; j < part && first_key + j <= query; j++) {
        float score = 0;
        for (int d = 0; d < DIM; d++) score += q[row * DIM + d] * keys[j * DIM + d];
        const float maximum = fmaxf(s.maximum, score * 0.25f), weight = expf(score * 0.25f - maximum),
                    rescale = expf(s.maximum - maximum);
        s.maximum = maximum;
        s.sum = s.sum * rescale + weight;
        for (int d = 0; d < DIM; d++) s.value[d] = s.value[d] * rescale + weight * values[j * DIM + d];
    }
    state[row] = s;
}

static __global__ void finish_kernel(float *out, /* [HEADS, part, DIM] */
                                     const struct row_state *state, int rows)
{
    const int row = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (row >= rows) return;
    for (int d = 0; d < DIM; d++) out[row * DIM + d] = state[row].value[d] / state[row].sum;
}

struct task {
    const float *q, *k, *v; /* [HEADS, LEN, DIM] */
    float *out;
};

/** A rank's rows of a whole array, head by head. */
static void take_part(float *part, const float *all, int rows, int rank)
{
    for (int h = 0; h < HEADS; h++)
        memcpy(part + h * rows * DIM, all + (h * LEN + rank * rows) * DIM,
               (size_t)rows * DIM * sizeof(float));
}

struct ring {
    float *q, *kv[2], *out;
    struct row_state *state;
    cudaEvent_t arrived, used; /* the keys of the next step; the keys of this one by the kernel */
};

/** Step s: kernel s reads buffer s % 2, which the transfer sends on; what it receives goes where kernel s - 1 has read. */
static void go_around(struct rank *r, struct ring *ring, int part)
{
    const int rows = HEADS * part, blocks = (rows + THREADS - 1) / THREADS, n = r->ranks;
    const size_t count = 2 * (size_t)rows * DIM;
    clear_kernel<<<blocks, THREADS, 0, r->compute>>>(ring->state, rows);
    for (int s = 0; s < n; s++) {
        const int owner = (r->rank + n - s) % n;
        if (s > 0) require(cudaStreamWaitEvent(r->compute, ring->arrived, 0), "arrived");
        if (s + 1 < n) {
            if (s > 0) require(cudaStreamWaitEvent(r->transfer, ring->used, 0), "used");
            ncclGroupStart();
            ncclSend(ring->kv[s % 2], count, ncclFloat, (r->rank + 1) % n, r->comm, r->transfer);
            ncclRecv(ring->kv[(s + 1) % 2], count, ncclFloat, (r->rank + n - 1) % n, r->comm, r->transfer);
            require_nccl(ncclGroupEnd(), "ring");
        }
        attend_kernel<<<blocks, THREADS, 0, r->compute>>>(ring->state, ring->q, ring->kv[s % 2], part,
                                                          r->rank * part, owner * part);
        require(cudaEventRecord(ring->used, r->compute), "used");
        require(cudaEventRecord(ring->arrived, r->transfer), "arrived");
    }
    finish_kernel<<<blocks, THREADS, 0, r->compute>>>(ring->out, ring->state, rows);
    require(cudaGetLastError(), "kernels");
}

static void attend(struct rank *r)
{
    const struct task *task = (const struct task *)r->task;
    const int part = LEN / r->ranks, elems = HEADS * part * DIM;
    float *host = host_array<float>(3 * (size_t)elems);
    struct ring ring;
    take_part(host, task->q, part, r->rank);
    take_part(host + elems, task->k, part, r->rank);
    take_part(host + 2 * elems, task->v, part, r->rank);
    ring.q = upload(host, (size_t)elems);
    ring.kv[0] = upload(host + elems, 2 * (size_t)elems);
    ring.kv[1] = device_array<float>(2 * (size_t)elems);
    ring.out = device_array<float>((size_t)elems);
    ring.state = device_array<struct row_state>((size_t)(HEADS * part));
    require(cudaEventCreateWithFlags(&ring.arrived, cudaEventDisableTiming), "cudaEventCreate");
    require(cudaEventCreateWithFlags(&ring.used, cudaEventDisableTiming), "cudaEventCreate");
    require(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    go_around(r, &ring, part);
    require(cudaStreamSynchronize(r->compute), "cudaStreamSynchronize");
    require(cudaStreamSynchronize(r->transfer), "cudaStreamSynchronize");
    download(host, ring.out, (size_t)elems);
    for (int h = 0; h < HEADS; h++)
        memcpy(task->out + (h * LEN + r->rank * part) * DIM, host + h * part * DIM,
               (size_t)part * DIM * sizeof(float));
    require(cudaEventDestroy(ring.arrived), "cudaEventDestroy");
    require(cudaEventDestroy(ring.used), "cudaEventDestroy");
    release(ring.q);
    release(ring.kv[0]);
    release(ring.kv[1]);
    release(ring.out);
    release(ring.state);
    free(host);
}

static void reference(const struct task *task, double *out)
{
    for (int row = 0; row < HEADS * LEN; row++) {
        const int head = row / LEN, query = row % LEN;
        double weight[LEN], maximum = -INFINITY, sum = 0;
        for (int j = 0; j <= query; j++) {
            weight[j] = 0;
            for (int d = 0; d < DIM; d++)
                weight[j] += 0.25 * task->q[row * DIM + d] * task->k[(head * LEN + j) * DIM + d];
            maximum = fmax(maximum, weight[j]);
        }
        for (int j = 0; j <= query; j++) sum += weight[j] = exp(weight[j] - maximum);
        for (int d = 0; d < DIM; d++) {
            double value = 0;
            for (int j = 0; j <= query; j++) value += weight[j] * task->v[(head * LEN + j) * DIM + d];
            out[row * DIM + d] = value / sum;
        }
    }
}

int main(void)
{
    static float q[ELEMS], k[ELEMS], v[ELEMS], out[ELEMS], again[ELEMS];
    static double expected[ELEMS];
    unsigned state = 19;
    int devices;
    struct task first = {q, k, v, out}, second = {q, k, v, again};
    for (int i = 0; i < ELEMS; i++) {
        q[i] = next_float(&state);
        k[i] = next_float(&state);
        v[i] = next_float(&state);
    }
    reference(&first, expected);
    require(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
    for (int ranks = 1; ranks <= devices && ranks <= MOST_RANKS; ranks *= 2) {
        const long long bytes = 2LL * HEADS * (LEN / ranks) * DIM * (long long)sizeof(float) * (ranks - 1);
        run_ranks(ranks, attend, &first, bytes);
        run_ranks(ranks, attend, &second, bytes);
        for (int i = 0; i < ELEMS; i++) expect_close("out", (size_t)i, out[i], expected[i], 2e-6);
        expect_equal("the same bits again", (size_t)ranks, memcmp(out, again, sizeof out), 0);
    }
    return finish("nccl_ring_attention");
}
