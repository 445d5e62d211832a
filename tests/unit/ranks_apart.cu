/*
 * Lesson 19's entry points called once per rank, each by a host thread of its own, as processes with a GPU each call them. The
 * results must be the bits that one call for all ranks gives; and when a rank dies, the others end with an error, soon.
 */
#include "../simt/testing.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "several_gpus.h"

enum {
    RANKS = 4,
    ROWS = 2,
    WIDTH = 32,
    HEADS = 8,
    DIM = 8,
    INNER = 48,
    POSITION = 3,
    ROOM = 5,
    PART = 7,
    MOST_SECONDS = 10
};
enum {
    OWN = HEADS / RANKS * DIM,
    UNITS = INNER / RANKS,
    CACHE = 2 * ROWS * OWN * ROOM,
    ELEMS = HEADS * PART * DIM
};

static const struct layer_sizes LAYER = {ROWS, WIDTH, HEADS, DIM, INNER, POSITION, ROOM};
static const struct ring_sizes RING = {HEADS, PART, DIM, 1, 0.0f};

/** Of all ranks, as one process has them. */
struct world {
    struct gpu_ranks ranks;
    struct layer_shards shards;
    struct ring_parts parts;
};

/** A rank on its own. */
struct thread_of_rank {
    const struct world *world;
    int rank, ring, dies;
    enum kernel_status status;
};

/** Numbers that depend on their index and on @p seed. */
static float *numbers(unsigned seed, size_t count)
{
    float *host = host_array<float>(count);
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        host[i] = (float)(int)(seed >> 8) * 0x1p-24f - 0.5f;
    }
    float *device = upload(host, count);
    free(host);
    return device;
}

static void open_world(struct world *w)
{
    ncclComm_t comms[RANKS];
    memset(w, 0, sizeof *w);
    if (ncclCommInitAll(comms, RANKS, NULL) != ncclSuccess) exit(1);
    w->ranks.ranks = w->ranks.count = RANKS;
    for (int r = 0; r < RANKS; r++) {
        struct gpu_rank *rank = &w->ranks.at[r];
        require(cudaSetDevice(r), "cudaSetDevice");
        rank->rank = rank->device = r;
        rank->comm = comms[r];
        require(cudaStreamCreateWithFlags(&rank->stream, cudaStreamNonBlocking), "cudaStreamCreate");
        require(cudaStreamCreateWithFlags(&rank->transfer, cudaStreamNonBlocking), "cudaStreamCreate");
        require(cudaEventCreateWithFlags(&rank->arrived, cudaEventDisableTiming), "cudaEventCreate");
        require(cudaEventCreateWithFlags(&rank->used, cudaEventDisableTiming), "cudaEventCreate");
        const size_t layer = tensor_parallel_workspace_bytes(&LAYER, RANKS),
                     ring = ring_attention_workspace_bytes(&RING, RANKS);
        w->shards.at[r] = (struct layer_shard){numbers(10 + r, 3 * OWN * WIDTH),
                                               numbers(20 + r, WIDTH * OWN),
                                               numbers(30 + r, 2 * UNITS * WIDTH),
                                               numbers(40 + r, WIDTH * UNITS),
                                               numbers(50 + r, CACHE),
                                               numbers(60, ROWS * WIDTH),
                                               device_array<char>(layer),
                                               layer};
        w->parts.at[r] = (struct ring_part){numbers(70 + r, ELEMS),
                                            numbers(80 + r, ELEMS),
                                            numbers(90 + r, ELEMS),
                                            numbers(1, ELEMS),
                                            numbers(2, HEADS * PART),
                                            device_array<char>(ring),
                                            ring};
        require(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    }
}

static void close_world(struct world *w, int dead)
{
    for (int r = 0; r < RANKS; r++) {
        struct gpu_rank *rank = &w->ranks.at[r];
        const struct layer_shard *s = &w->shards.at[r];
        const struct ring_part *p = &w->parts.at[r];
        const void *const all[] = {s->qkv, s->o, s->gate_up, s->down, s->cache, s->x,        s->workspace,
                                   p->q,   p->k, p->v,       p->out,  p->lse,   p->workspace};
        require(cudaSetDevice(r), "cudaSetDevice");
        require(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
        if (r != dead) (void)ncclCommDestroy(rank->comm);
        require(cudaStreamDestroy(rank->stream), "cudaStreamDestroy");
        require(cudaStreamDestroy(rank->transfer), "cudaStreamDestroy");
        require(cudaEventDestroy(rank->arrived), "cudaEventDestroy");
        require(cudaEventDestroy(rank->used), "cudaEventDestroy");
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) release((void *)all[i]);
    }
}

static enum kernel_status call(const struct world *w, int ring)
{
    return ring ? ring_attention(&w->ranks, &RING, &w->parts)
                : tensor_parallel_step(&w->ranks, &LAYER, &w->shards);
}

static void *call_for_one(void *argument)
{
    struct thread_of_rank *t = (struct thread_of_rank *)argument;
    struct world mine = *t->world;
    mine.ranks.count = 1;
    mine.ranks.at[0] = t->world->ranks.at[t->rank];
    mine.shards.at[0] = t->world->shards.at[t->rank];
    mine.parts.at[0] = t->world->parts.at[t->rank];
    if (t->dies)
        t->status = ncclCommAbort(mine.ranks.at[0].comm) == ncclSuccess ? KERNEL_CUDA_ERROR : KERNEL_OK;
    else
        t->status = call(&mine, t->ring);
    return NULL;
}

/** A thread per rank; the last may die. Each one's status should be @p expected. */
static void call_apart(const struct world *w, int ring, int dies, enum kernel_status expected)
{
    struct thread_of_rank rank[RANKS];
    pthread_t thread[RANKS];
    const time_t begin = time(NULL);
    for (int r = 0; r < RANKS; r++) {
        rank[r] = (struct thread_of_rank){w, r, ring, dies && r == RANKS - 1, KERNEL_OK};
        pthread_create(&thread[r], NULL, call_for_one, &rank[r]);
    }
    for (int r = 0; r < RANKS; r++) {
        pthread_join(thread[r], NULL);
        expect_equal("status of a rank", (size_t)r, rank[r].status, expected);
    }
    expect_equal("seconds are too many", 0, difftime(time(NULL), begin) > MOST_SECONDS, 0);
}

/** What rank @p r has in the end: x, or out. */
static void result(const struct world *w, int ring, int r, float *host)
{
    require(cudaSetDevice(r), "cudaSetDevice");
    require(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    if (ring)
        download(host, w->parts.at[r].out, ELEMS);
    else
        download(host, w->shards.at[r].x, ROWS * WIDTH);
}

static void compare(int ring)
{
    static float together[RANKS][ELEMS], apart[RANKS][ELEMS];
    struct world w;
    open_world(&w);
    expect_equal("status of all ranks together", 0, call(&w, ring), KERNEL_OK);
    for (int r = 0; r < RANKS; r++) result(&w, ring, r, together[r]);
    close_world(&w, -1);
    open_world(&w);
    call_apart(&w, ring, 0, KERNEL_OK);
    for (int r = 0; r < RANKS; r++) {
        result(&w, ring, r, apart[r]);
        expect_equal("bits of a rank", (size_t)r, memcmp(together[r], apart[r], sizeof apart[r]), 0);
    }
    close_world(&w, -1);
}

int main(void)
{
    struct world w;
    for (int ring = 0; ring < 2; ring++) {
        compare(ring);
        open_world(&w);
        call_apart(&w, ring, 1, KERNEL_CUDA_ERROR);
        close_world(&w, RANKS - 1);
    }
    return finish("ranks_apart");
}
