/**
 * @file 19_several_gpus.c
 * @brief Lesson 19: from an item to the ranks of `several_gpus.h`: who gets which part of which buffer, and back.
 *
 * One rank works in the case's own buffers. For more, each has memory of its own on its device, made for the call (on GPUs kept for
 * the next one where time is measured).
 */
#include "protocol/ranks_items.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "several_gpus.h"
#include "runner/runner.h"
#include "runner/simt_only.h"

enum { SLICES = 6, WORKSPACE = SLICES, ALIGNED = 16 /* what all pointers are to be */ };
#undef cudaMalloc /* the software device's headers name allocations by it */

/* A graded runner of the software device has the kernel file's host code in a process of one thread, see boundary/boundary.h. */
extern uint64_t boundary_host_bytes(void) __attribute__((weak));

/* The software device is as many devices as a case may have ranks; each reads how many when the program begins. NCCL is to connect
 * everything when a communicator is made, not at the first call that is large enough for another algorithm: the runner is locked then,
 * and is refused sockets. A thread that tells a monitor about ranks is of no use here. */
__attribute__((constructor(101))) static void ask_for_devices(void)
{
    setenv("SIMT_DEVICES", "8", 1);
    setenv("NCCL_RUNTIME_CONNECT", "0", 0);
    setenv("NCCL_RAS_ENABLE", "0", 0);
}

/** What a rank has of a buffer: so many floats of each of `outer` rows, which hold `ranks` times as many. */
struct slice {
    const char *name;
    int buffer;
    size_t outer, count;
    enum { GIVEN_TO_READ, GIVEN_TO_CHANGE, RESULT } role;
};

/** What a call works with. */
struct scene {
    const struct wire_case *item;
    void *const *buffers;
    int ranks; /* as many as there are devices for */
    int ring;
    struct slice slice[SLICES];
    size_t workspace_bytes;
    struct gpu_ranks gpus;
    int rank_at[MOST_GPUS];               /* which rank is at[i] */
    int again;                            /* 1: shards are those of the call before */
    float *memory[MOST_GPUS][SLICES + 1]; /* of at[i] */
};

static struct layer_sizes layer_of(const struct wire_case *item)
{
    const int64_t *v = item->value;
    return (struct layer_sizes){(int)v[AT_ROWS],      (int)v[AT_WIDTH], (int)v[AT_LAYER_HEADS],
                                (int)v[AT_LAYER_DIM], (int)v[AT_INNER], (int)v[AT_POSITION],
                                (int)layer_room(v)};
}

static struct ring_sizes ring_of(const struct wire_case *item, int ranks)
{
    const int64_t *v = item->value;
    return (struct ring_sizes){(int)v[AT_HEADS], (int)v[AT_Q_LEN] / ranks, (int)v[AT_HEAD_DIM],
                               (int)v[AT_CAUSAL], (float)item->real[AT_SCALE]};
}

/** Whether the call is to be carried out. */
static int is_right(const struct wire_case *item)
{
    const uint32_t report = item->part == PART_RING ? (uint32_t)RING_SENT : (uint32_t)LAYER_SENT;
    int wrong = item->value[AT_MISTAKE] != RANKS_RIGHT || item->workspace_more < 0;
    for (uint32_t b = 0; b < item->buffer_count; b++)
        wrong |= b != report && (item->buffer[b].null || item->buffer[b].lead[0] % ALIGNED != 0);
    return !wrong;
}

/** As many as the item has, or as there are devices for, or as --ranks of warpwise allows a case that is right. */
static int ranks_of(const struct wire_case *item)
{
    const char *limit = getenv("SIMT_RANKS");
    const int right = is_right(item) && !(item->value[AT_MANNER] & RANKS_GONE);
    int devices = 1, ranks = (int)item->value[AT_RANKS];
    if (cudaGetDeviceCount(&devices) != cudaSuccess) devices = 1;
    if (limit != NULL && right && atoi(limit) >= 1 && atoi(limit) < devices) devices = atoi(limit);
    while (ranks > devices) ranks /= 2;
    return ranks;
}

static int is_simt(void)
{
    return simt_promise != NULL;
}

/* ---- who has what -------------------------------------------------------------------------------------- */

static void slice_layer(struct scene *s)
{
    const struct layer_sizes l = layer_of(s->item);
    const size_t n = (size_t)s->ranks, rows = (size_t)l.rows, width = (size_t)l.width;
    const size_t own = (size_t)(l.heads / s->ranks) * (size_t)l.head_dim, inner = (size_t)l.inner / n;
    const struct slice slices[SLICES] = {
        {"qkv", LAYER_QKV, 3, own * width, GIVEN_TO_READ},
        {"o", LAYER_O, width, own, GIVEN_TO_READ},
        {"gate_up", LAYER_GATE_UP, 2, inner * width, GIVEN_TO_READ},
        {"down", LAYER_DOWN, width, inner, GIVEN_TO_READ},
        {"cache", LAYER_CACHE, 2 * rows, own * (size_t)l.room, GIVEN_TO_CHANGE},
        {"x", LAYER_OUT, 1, rows * width, RESULT},
    };
    memcpy(s->slice, slices, sizeof slices);
    s->workspace_bytes = tensor_parallel_workspace_bytes(&l, s->ranks);
}

static void slice_ring(struct scene *s)
{
    const struct ring_sizes r = ring_of(s->item, s->ranks);
    const size_t heads = (size_t)r.heads, part = (size_t)r.part, elems = part * (size_t)r.head_dim;
    const struct slice slices[SLICES] = {
        {"q", ATTENTION_Q, heads, elems, GIVEN_TO_READ}, {"k", ATTENTION_K, heads, elems, GIVEN_TO_READ},
        {"v", ATTENTION_V, heads, elems, GIVEN_TO_READ}, {"out", ATTENTION_OUT, heads, elems, RESULT},
        {"lse", ATTENTION_LSE, heads, part, RESULT},
    };
    memcpy(s->slice, slices, sizeof slices);
    s->workspace_bytes = ring_attention_workspace_bytes(&r, s->ranks);
}

static void *workspace_of(const struct scene *s)
{
    return s->buffers[s->ring ? (int)ATTENTION_WORKSPACE : (int)LAYER_WORKSPACE];
}

/** What a rank is given: as much as it asks for, and no more than the contract allows it. */
static size_t most_workspace(const struct scene *s)
{
    const struct layer_sizes l = layer_of(s->item);
    const struct ring_sizes r = ring_of(s->item, s->ranks);
    const size_t floats =
        s->ring ? 4 * (size_t)r.heads * (size_t)r.part * (size_t)r.head_dim
                : (size_t)l.rows * ((size_t)l.width + 2 * (size_t)(l.heads / s->ranks * l.head_dim) +
                                    (size_t)(l.inner / s->ranks));
    const size_t most = floats * sizeof(float) + 1024;
    const size_t least = most < s->workspace_bytes ? most : s->workspace_bytes;
    const int64_t more = s->item->workspace_more;
    return least > 0 ? least + (size_t)(more > 0 ? more : 0) : 0;
}

/* ---- memory of the ranks ------------------------------------------------------------------------------- */

static float *allocate(const char *name, int rank, size_t bytes)
{
    static char names[MOST_GPUS][SLICES + 1][32];
    static int next[MOST_GPUS];
    void *memory = NULL;
    char *text = names[rank][next[rank]++ % (SLICES + 1)];
    snprintf(text, sizeof names[0][0], "%s_of_rank_%d", name, rank);
    if (simt_name_next_allocation != NULL) simt_name_next_allocation(text, __FILE__, __LINE__);
    return bytes > 0 && cudaMalloc(&memory, bytes) == cudaSuccess ? memory : NULL;
}

/** All of a buffer, in memory of the host. */
static float *whole(const struct scene *s, const struct slice *slice)
{
    const size_t bytes = slice->outer * slice->count * (size_t)s->ranks * sizeof(float);
    float *host = calloc(bytes, 1);
    if (host == NULL) abort();
    if (s->buffers[slice->buffer] != NULL)
        cudaMemcpy(host, s->buffers[slice->buffer], bytes, cudaMemcpyDeviceToHost);
    return host;
}

/** Shares a buffer out. */
static void share_out(struct scene *s, int index)
{
    enum { KEPT_INPUT = 1 };
    const struct slice *slice = &s->slice[index];
    const size_t count = slice->count, row = count * (size_t)s->ranks,
                 bytes = slice->outer * count * sizeof(float);
    float *all = whole(s, slice), *part = malloc(bytes);
    if (part == NULL) abort();
    for (int i = 0; i < s->ranks; i++) {
        for (size_t o = 0; o < slice->outer; o++)
            memcpy(part + o * count, all + o * row + (size_t)s->rank_at[i] * count, count * sizeof(float));
        cudaSetDevice(i);
        s->memory[i][index] = allocate(slice->name, s->rank_at[i], bytes);
        if (s->memory[i][index] == NULL) continue;
        cudaMemcpy(s->memory[i][index], part, bytes, cudaMemcpyHostToDevice);
        if (slice->role == GIVEN_TO_READ && simt_device_keep != NULL)
            simt_device_keep(s->memory[i][index], bytes, KEPT_INPUT);
    }
    free(part);
    free(all);
}

static void take_memory(struct scene *s)
{
    for (int index = 0; index < SLICES && s->ranks > 1; index++)
        if (s->slice[index].name != NULL) share_out(s, index);
    for (int i = 0; i < s->ranks && s->ranks > 1; i++) {
        cudaSetDevice(i);
        s->memory[i][WORKSPACE] = allocate("workspace", s->rank_at[i], most_workspace(s));
        cudaDeviceSynchronize(); /* a copy from pageable memory may be under way, and the ranks' streams wait for none */
    }
    for (int index = 0; index < SLICES && s->ranks == 1; index++)
        if (s->slice[index].name != NULL) s->memory[0][index] = s->buffers[s->slice[index].buffer];
    if (s->ranks == 1) s->memory[0][WORKSPACE] = workspace_of(s);
}

static void free_memory(struct scene *s)
{
    for (int i = 0; i < s->ranks && s->ranks > 1; i++) {
        cudaSetDevice(i);
        for (int index = 0; index <= WORKSPACE; index++) cudaFree(s->memory[i][index]);
    }
}

/** On a GPU: NaN in the workspace of new shards, whose results hold what the case's do; of shards that were used before in the results,
 *  which are to be written again. That is a part of what is timed, but takes microseconds. */
static void poison(const struct scene *s)
{
    for (int i = 0; i < s->ranks && s->ranks > 1 && !is_simt(); i++) {
        cudaSetDevice(i);
        for (int index = 0; index < SLICES && s->again; index++) {
            const struct slice *slice = &s->slice[index];
            if (slice->name == NULL || slice->role != RESULT || s->memory[i][index] == NULL) continue;
            cudaMemsetAsync(s->memory[i][index], 0xff, slice->outer * slice->count * sizeof(float),
                            s->gpus.at[i].stream);
        }
        if (!s->again && s->memory[i][WORKSPACE] != NULL)
            cudaMemsetAsync(s->memory[i][WORKSPACE], 0xff, most_workspace(s), s->gpus.at[i].stream);
    }
    cudaSetDevice(0);
}

/** Of a cache that is there already only what a step has appended: to copy all of it would take longer than the step. */
static void put_appended(const struct scene *s, const struct slice *slice, int index)
{
    const struct layer_sizes l = layer_of(s->item);
    const size_t dim = (size_t)l.head_dim, line = (size_t)l.room * dim, heads = (size_t)(l.heads / s->ranks);
    for (int i = 0; i < s->ranks; i++)
        for (size_t o = 0; o < slice->outer; o++) {
            float *to = s->buffers[slice->buffer];
            to += (o * (size_t)s->ranks + (size_t)s->rank_at[i]) * slice->count + (size_t)l.position * dim;
            const float *from = s->memory[i][index] + o * slice->count + (size_t)l.position * dim;
            cudaMemcpy2DAsync(to, line * sizeof(float), from, line * sizeof(float), dim * sizeof(float),
                              heads, cudaMemcpyDefault, s->gpus.at[i].stream);
        }
}

/** Puts the ranks' parts of what they write back together, each behind its stream's work. */
static void put_together(const struct scene *s)
{
    for (int index = 0; index < SLICES && s->ranks > 1; index++) {
        const struct slice *slice = &s->slice[index];
        if (s->again && slice->name != NULL && slice->role == GIVEN_TO_CHANGE) {
            put_appended(s, slice, index);
            continue;
        }
        const size_t bytes = slice->count * sizeof(float);
        for (int i = 0; i < s->ranks && slice->name != NULL && slice->role != GIVEN_TO_READ; i++)
            for (size_t o = 0; o < slice->outer; o++) {
                float *to = s->buffers[slice->buffer];
                to += (o * (size_t)s->ranks + (size_t)s->rank_at[i]) * slice->count;
                cudaMemcpyAsync(to, s->memory[i][index] + o * slice->count, bytes, cudaMemcpyDefault,
                                s->gpus.at[i].stream);
            }
    }
}

/* ---- ranks --------------------------------------------------------------------------------------------- */

/** Communicators of so many ranks; 0 if there are none. On GPUs they take seconds to make, and are kept. */
static int make_comms(int ranks, const int *devices, ncclComm_t *comms)
{
    static ncclComm_t kept[MOST_GPUS + 1][2][MOST_GPUS];
    ncclComm_t *mine = kept[ranks][devices[0] != 0];
    if (mine[0] != NULL) {
        memcpy(comms, mine, sizeof kept[0][0]);
        return 1;
    }
    if (ncclCommInitAll(comms, ranks, devices) != ncclSuccess) return 0;
    if (!is_simt()) memcpy(mine, comms, (size_t)ranks * sizeof *comms);
    return 1;
}

/** What keeps NCCL from working here; NULL if it works. */
const char *lesson_lacks(void)
{
#ifdef WARPWISE_WITHOUT_NCCL
    return "NCCL was not found when this course was configured: install it (libnccl-dev) and configure anew";
#else
    static char why[160];
    const int device = 0;
    ncclComm_t comms[MOST_GPUS] = {NULL};
    if (is_simt() || make_comms(1, &device, comms)) return NULL;
    snprintf(why, sizeof why,
             "NCCL cannot open a communicator here: %.60s; NCCL_DEBUG=WARN in the environment tells more",
             ncclGetErrorString(ncclCommInitAll(comms, 1, &device)));
    return why;
#endif
}

/** Copies between GPUs that cannot reach each other's memory go through the host. On the software device a kernel that uses another
 *  device's memory is to be found. */
static void let_copies_reach(int ranks)
{
    for (int i = 0; i < ranks && !is_simt(); i++) {
        cudaSetDevice(i);
        for (int k = 0; k < ranks; k++) {
            int can = 0;
            if (k != i && (i == 0 || k == 0) && cudaDeviceCanAccessPeer(&can, i, k) == cudaSuccess && can)
                cudaDeviceEnablePeerAccess(k, 0);
        }
    }
    cudaGetLastError(); /* it may be so already */
}

/** Communicators and streams; the stream of device 0 is @p stream. Transfers have the higher priority: NCCL's few blocks would else
 *  wait until all of a kernel's have begun. */
static void open_ranks(struct scene *s, cudaStream_t stream)
{
    ncclComm_t comms[MOST_GPUS] = {NULL};
    int devices[MOST_GPUS], least = 0, greatest = 0;
    const int reversed = (s->item->value[AT_MANNER] & RANKS_REVERSED) != 0;
    s->gpus = (struct gpu_ranks){.ranks = s->ranks, .count = s->ranks};
    for (int r = 0; r < s->ranks; r++) devices[r] = reversed ? s->ranks - 1 - r : r;
    if (!make_comms(s->ranks, devices, comms)) return;
    let_copies_reach(s->ranks);
    cudaDeviceGetStreamPriorityRange(&least, &greatest);
    for (int r = 0; r < s->ranks; r++) {
        struct gpu_rank *at = &s->gpus.at[devices[r]];
        s->rank_at[devices[r]] = r;
        *at = (struct gpu_rank){.rank = r, .device = devices[r], .comm = comms[r], .stream = stream};
        cudaSetDevice(devices[r]);
        if (devices[r] != 0) cudaStreamCreateWithFlags(&at->stream, cudaStreamNonBlocking);
        cudaStreamCreateWithPriority(&at->transfer, cudaStreamNonBlocking, greatest);
        cudaEventCreateWithFlags(&at->arrived, cudaEventDisableTiming);
        cudaEventCreateWithFlags(&at->used, cudaEventDisableTiming);
    }
}

static void close_ranks(const struct scene *s)
{
    for (int i = 0; i < s->ranks; i++) {
        const struct gpu_rank *at = &s->gpus.at[i];
        cudaSetDevice(i);
        const int gone = (s->item->value[AT_MANNER] & RANKS_GONE) && at->rank == s->ranks - 1;
        if (is_simt() && !gone) ncclCommDestroy(at->comm);
        if (i != 0) cudaStreamDestroy(at->stream);
        cudaStreamDestroy(at->transfer);
        cudaEventDestroy(at->arrived);
        cudaEventDestroy(at->used);
    }
}

/** The rank dies: its communicator is aborted, and nobody calls for it. */
static void lose_last_rank(struct scene *s)
{
    struct gpu_ranks *gpus = &s->gpus;
    for (int i = 0; i < gpus->count; i++) {
        if (gpus->at[i].rank != s->ranks - 1) continue;
        ncclCommAbort(gpus->at[i].comm);
        memmove(&gpus->at[i], &gpus->at[i + 1], (size_t)(gpus->count - 1 - i) * sizeof gpus->at[0]);
        break;
    }
    gpus->count--;
}

/** The work of all streams comes after that of the given one, or the other way round. */
static void order_streams(const struct scene *s, int before)
{
    const struct gpu_rank *first = &s->gpus.at[0];
    cudaSetDevice(0);
    if (before) cudaEventRecord(first->used, first->stream);
    for (int i = 1; i < s->ranks; i++) {
        const struct gpu_rank *at = &s->gpus.at[i];
        cudaSetDevice(i);
        if (!before) cudaEventRecord(at->arrived, at->stream);
        if (before) cudaStreamWaitEvent(at->stream, first->used, 0);
        if (!before) cudaStreamWaitEvent(first->stream, at->arrived, 0);
    }
    cudaSetDevice(0);
}

/* ---- mistakes ------------------------------------------------------------------------------------------ */

static void spoil_ranks(int mistake, struct gpu_ranks *gpus)
{
    struct gpu_rank *last = &gpus->at[gpus->count - 1];
    if (mistake == RANK_NEGATIVE) last->rank = -1;
    if (mistake == NULL_COMM) last->comm = NULL;
    if (mistake == NULL_TRANSFER) last->transfer = NULL;
    if (mistake == NULL_ARRIVED) last->arrived = NULL;
    if (mistake == NULL_USED) last->used = NULL;
    if (mistake == THREE_RANKS) gpus->ranks = 3;
    if (mistake == NO_COUNT) gpus->count = 0;
    if (mistake == COUNT_ABOVE_RANKS) gpus->count = gpus->ranks + 1;
}

static void spoil_layer(int mistake, int ranks, struct layer_sizes *l)
{
    if (mistake == ROWS_ZERO || mistake == NULL_X_AND_ROWS_ZERO) l->rows = 0;
    if (mistake == ROWS_70000) l->rows = 70000;
    if (mistake == WIDTH_6) l->width = 6;
    if (mistake == WIDTH_ZERO) l->width = 0;
    if (mistake == HEADS_UNEVEN) l->heads = ranks - 1;
    if (mistake == HEADS_ZERO) l->heads = 0;
    if (mistake == DIM_132) l->head_dim = 132;
    if (mistake == DIM_6) l->head_dim = 6;
    if (mistake == INNER_UNEVEN) l->inner = 4 * ranks - 4;
    if (mistake == POSITION_NEGATIVE) l->position = -1;
    if (mistake == POSITION_FULL) l->position = l->room;
    if (mistake == X_TOO_LARGE) l->rows = 65535, l->width = 1 << 16;
}

static void spoil_ring(int mistake, struct ring_sizes *r)
{
    if (mistake == RING_HEADS_ZERO) r->heads = 0;
    if (mistake == PART_ZERO) r->part = 0;
    if (mistake == PART_TOO_LONG) r->part = 1 << 26, r->heads = 64;
    if (mistake == RING_DIM_132) r->head_dim = 132;
    if (mistake == RING_DIM_6) r->head_dim = 6;
}

/** Whether rank at[@p i] has what is wrong with the case's arguments, and whether it has if that is NULL. */
static int is_spoilt(const struct scene *s, int i, int null)
{
    const int first = !null && s->item->value[AT_MANNER] & RANKS_FIRST;
    return i == (first ? 0 : s->gpus.count - 1);
}

/** What rank at[@p i], whose memory is that of at[@p from], gets as slice @p index, or as workspace: where it is spoilt, what the case
 *  says of the buffer of that name. */
static float *given(const struct scene *s, int i, int from, int index)
{
    const char *name = index == WORKSPACE ? "workspace" : s->slice[index].name;
    float *at = s->memory[from][index];
    for (uint32_t b = 0; name != NULL && b < s->item->buffer_count; b++) {
        const struct wire_buffer *buffer = &s->item->buffer[b];
        const int result = index < WORKSPACE && (int)b == s->slice[index].buffer; /* x has two buffers */
        if (strcmp(buffer->name, name) != 0 && !result) continue;
        if (buffer->null && is_spoilt(s, i, 1)) return NULL; /* whatever the case says of the other one */
        if (is_spoilt(s, i, 0)) at = (float *)((uintptr_t)at | buffer->lead[0] % ALIGNED);
    }
    return at;
}

/** Bytes of workspace that rank at[@p i] is told of: a spoilt one of fewer than it has where the case says so. */
static size_t told_bytes(const struct scene *s, int i)
{
    const int64_t more = s->item->workspace_more;
    return most_workspace(s) + (size_t)(more < 0 && is_spoilt(s, i, 0) ? more : 0);
}

/* ---- the calls ----------------------------------------------------------------------------------------- */

/** A call for ranks that a host thread makes; each rank has one where ranks are apart. */
struct calling {
    pthread_t thread;
    int ring, mistake;
    struct gpu_ranks gpus;
    struct layer_sizes layer;
    struct layer_shards shards;
    struct ring_sizes sizes;
    struct ring_parts parts;
    enum kernel_status status;
};

static void *call(void *context)
{
    struct calling *c = context;
    const struct gpu_ranks *gpus = c->mistake == NULL_RANKS ? NULL : &c->gpus;
    if (c->ring)
        c->status = ring_attention(gpus, c->mistake == NULL_SIZES ? NULL : &c->sizes,
                                   c->mistake == NULL_SHARDS ? NULL : &c->parts);
    else
        c->status = tensor_parallel_step(gpus, c->mistake == NULL_SIZES ? NULL : &c->layer,
                                         c->mistake == NULL_SHARDS ? NULL : &c->shards);
    return NULL;
}

/** Host threads stand for processes, of which each calls for the rank that it has. */
static enum kernel_status call_apart(const struct calling *together)
{
    static struct calling of_rank[MOST_GPUS];
    enum kernel_status status = KERNEL_OK;
    int threads = 0;
    for (; threads < together->gpus.count; threads++) {
        struct calling *c = &of_rank[threads];
        *c = *together;
        c->gpus.count = 1;
        c->gpus.at[0] = together->gpus.at[threads];
        c->shards.at[0] = together->shards.at[threads];
        c->parts.at[0] = together->parts.at[threads];
        if (pthread_create(&c->thread, NULL, call, c) != 0) break;
    }
    if (threads < together->gpus.count) status = KERNEL_CUDA_ERROR;
    while (threads-- > 0) {
        pthread_join(of_rank[threads].thread, NULL);
        if (of_rank[threads].status != KERNEL_OK) status = of_rank[threads].status;
    }
    return status;
}

/** What rank at[@p i] is given as slices and as workspace, which holds told_bytes(). */
static void all_given(const struct scene *s, int i, float **m)
{
    int from = i;
    while (s->rank_at[from] != s->gpus.at[i].rank) from++; /* not that of a rank that has died */
    for (int index = 0; index <= WORKSPACE; index++) m[index] = given(s, i, from, index);
}

static enum kernel_status call_ranks(const struct scene *s)
{
    const int mistake = (int)s->item->value[AT_MISTAKE];
    struct calling c = {.ring = s->ring,
                        .mistake = mistake,
                        .gpus = s->gpus,
                        .layer = layer_of(s->item),
                        .sizes = ring_of(s->item, s->ranks)};
    for (int i = 0; i < s->gpus.count; i++) {
        const size_t bytes = told_bytes(s, i);
        float *m[SLICES + 1];
        all_given(s, i, m);
        if (i == s->gpus.count - 1 && mistake == NULL_X_AND_ROWS_ZERO) m[5] = NULL;
        c.shards.at[i] = (struct layer_shard){m[0], m[1], m[2], m[3], m[4], m[5], m[WORKSPACE], bytes};
        c.parts.at[i] = (struct ring_part){m[0], m[1], m[2], m[3], m[4], m[WORKSPACE], bytes};
    }
    if (s->ring)
        spoil_ring(mistake, &c.sizes);
    else
        spoil_layer(mistake, s->ranks, &c.layer);
    spoil_ranks(mistake, &c.gpus);
    if (s->item->value[AT_MANNER] & RANKS_APART && boundary_host_bytes == NULL) return call_apart(&c);
    (void)call(&c);
    return c.status;
}

/* ---- before and after ---------------------------------------------------------------------------------- */

/** What a rank has sent so far, in floats; 0 where nobody counts. */
static int64_t floats_sent_by(int device)
{
    unsigned long long sent = 0, received = 0;
    if (simt_collective_bytes != NULL) simt_collective_bytes(device, &sent, &received);
    return (int64_t)(sent / sizeof(float));
}

/** How many floats of x of rank @p rank are others than rank 0's, once all streams' work is done. An all-reduce gives all the same bits. */
static int32_t x_unlike(const struct scene *s, int rank)
{
    const size_t count = s->slice[5].count, bytes = count * sizeof(float);
    const float *out = s->buffers[LAYER_OUT];
    uint32_t *first = malloc(2 * bytes);
    int32_t unlike = 0;
    if (first == NULL) abort();
    cudaMemcpyAsync(first, out, bytes, cudaMemcpyDeviceToHost, s->gpus.at[0].stream);
    cudaMemcpyAsync(first + count, out + (size_t)rank * count, bytes, cudaMemcpyDeviceToHost,
                    s->gpus.at[0].stream);
    cudaStreamSynchronize(s->gpus.at[0].stream);
    for (size_t i = 0; i < count; i++) unlike += first[i] != first[count + i];
    free(first);
    return unlike;
}

/** Into the report: what each rank has sent in this call. Where nobody counts, or fewer ranks work, it is what it has to be. In the
 *  stream, behind whatever poisoned the report before the call: where calls are timed the host is ahead of the stream. */
static void report_sent(const struct scene *s, const int64_t *sent)
{
    static int32_t report[MOST_GPUS * SENT_COLUMNS];
    const int ranks = (int)s->item->value[AT_RANKS];
    const int64_t *v = s->item->value;
    const int columns = s->ring ? 1 : SENT_COLUMNS;
    memset(report, 0, sizeof report);
    for (int r = 0; r < ranks; r++)
        report[r * columns + SENT_FLOATS] =
            (int32_t)(s->ring ? ring_floats_sent(v, ranks) : layer_floats_sent(v, ranks));
    for (int i = 0; i < s->ranks && s->ranks == ranks && is_simt(); i++)
        report[s->rank_at[i] * columns + SENT_FLOATS] = (int32_t)sent[i];
    for (int r = 1; r < s->ranks && !s->ring && is_simt(); r++)
        report[r * columns + SENT_UNLIKE] = x_unlike(s, r);
    cudaMemcpyAsync(s->buffers[s->ring ? (int)RING_SENT : (int)LAYER_SENT], report,
                    (size_t)(ranks * columns) * sizeof *report, cudaMemcpyHostToDevice, s->gpus.at[0].stream);
    if (is_simt()) cudaStreamSynchronize(s->gpus.at[0].stream); /* the next call's numbers are others */
}

/** Each rank's x before the layer. */
static void bring_x(const struct scene *s)
{
    const size_t bytes = s->slice[5].count * sizeof(float);
    for (int i = 0; i < s->ranks; i++)
        cudaMemcpyAsync(s->memory[i][5], s->buffers[LAYER_X], bytes, cudaMemcpyDefault, s->gpus.at[i].stream);
}

/** Ranks that there are no devices for would have had the same x. */
static void repeat_x(const struct scene *s)
{
    const size_t count = s->slice[5].count;
    float *out = s->buffers[LAYER_OUT];
    for (int64_t r = s->ranks; r < s->item->value[AT_RANKS]; r++)
        cudaMemcpyAsync(out + (size_t)r * count, out, count * sizeof(float), cudaMemcpyDefault,
                        s->gpus.at[0].stream);
}

/** On GPUs a scene stays for the next call of the case, which may be timed. */
static int is_kept(const struct scene *s, const struct wire_case *item, void *const *buffers)
{
    static void *of[WIRE_BUFFERS];
    static int64_t value[WIRE_VALUES];
    const int same = s->item != NULL && memcmp(of, buffers, sizeof of) == 0 &&
                     memcmp(value, item->value, sizeof value) == 0;
    memcpy(of, buffers, sizeof of);
    memcpy(value, item->value, sizeof value);
    return same;
}

static void close_scene(struct scene *s)
{
    if (s->item == NULL) return;
    free_memory(s);
    close_ranks(s);
    cudaSetDevice(0);
    *s = (struct scene){.item = NULL};
}

/** 0 if there are no ranks. */
static int open_scene(struct scene *s, const struct wire_case *item, void *const *buffers,
                      cudaStream_t stream)
{
    static struct wire_case copy; /* what a kept scene is about */
    const int kept = item->value[AT_MANNER] & RANKS_KEPT && !is_simt() && is_kept(s, item, buffers);
    if (!kept) close_scene(s);
    copy = *item;
    s->item = &copy;
    s->buffers = buffers;
    s->again = kept;
    if (!kept) {
        s->ring = item->part == PART_RING;
        s->ranks = ranks_of(item);
        if (s->ring)
            slice_ring(s);
        else
            slice_layer(s);
        open_ranks(s, stream);
        take_memory(s);
    }
    s->gpus.at[0].stream = stream;
    return s->gpus.at[0].comm != NULL;
}

enum kernel_status lesson_call(const struct wire_case *item, void *const *buffers, cudaStream_t stream)
{
    static struct scene scene;
    int64_t sent[MOST_GPUS];
    marshalling_may_look(1);
    const int opened = open_scene(&scene, item, buffers, stream);
    const int gone = (item->value[AT_MANNER] & RANKS_GONE) != 0, right = is_right(item);
    if (!opened) {
        marshalling_may_look(0);
        return KERNEL_CUDA_ERROR;
    }
    order_streams(&scene, 1);
    if (right) poison(&scene);
    if (!scene.ring && right) bring_x(&scene);
    for (int i = 0; i < scene.ranks; i++) sent[i] = -floats_sent_by(i);
    const struct gpu_ranks all = scene.gpus;
    if (gone) lose_last_rank(&scene);
    cudaSetDevice(0);
    marshalling_may_look(0);
    for (int i = 1; i < scene.gpus.count; i++) entry_point_is_given_also(scene.gpus.at[i].stream);
    const enum kernel_status status = call_ranks(&scene);
    entry_point_returned(status);
    marshalling_may_look(1);
    for (int i = 0; i < scene.ranks; i++) sent[i] += floats_sent_by(i);
    cudaSetDevice(0);
    scene.gpus = all;
    if (status == KERNEL_OK) {
        put_together(&scene);
        order_streams(&scene, 0);
        if (!scene.ring) repeat_x(&scene); /* of rank 0, whichever device that is on */
        if (!(item->flags & CASE_LAUNCH_ONLY)) report_sent(&scene, sent);
    }
    cudaSetDevice(0);
    if (is_simt() || status != KERNEL_OK) close_scene(&scene);
    marshalling_may_look(0);
    return status;
}

size_t lesson_workspace_bytes(const struct wire_case *item)
{
    const struct layer_sizes layer = layer_of(item);
    const struct ring_sizes ring = ring_of(item, ranks_of(item));
    return item->part == PART_RING ? ring_attention_workspace_bytes(&ring, ranks_of(item))
                                   : tensor_parallel_workspace_bytes(&layer, ranks_of(item));
}

/** Rank r sends to rank r + @p distance. */
static void warm_up_transfer(int ranks, int distance, const ncclComm_t *comms, float *const *memory)
{
    ncclGroupStart();
    for (int r = 0; r < ranks; r++) {
        ncclSend(memory[r], 1, ncclFloat, (r + distance) % ranks, comms[r], NULL);
        ncclRecv(memory[r] + 1, 1, ncclFloat, (r + ranks - distance) % ranks, comms[r], NULL);
    }
    ncclGroupEnd();
}

/** What NCCL puts off until the first call of each kind it does now: once the runner is locked it would be refused sockets. Of
 *  all-reduces a small one and a large one; sends from each rank to each other one. */
void lesson_warm_up(void)
{
    enum { LARGE_BYTES = 8 << 20 };
    int devices = 1, list[MOST_GPUS];
    if (cudaGetDeviceCount(&devices) != cudaSuccess) devices = 1;
    let_copies_reach(devices < MOST_GPUS ? devices : (int)MOST_GPUS);
    for (int ranks = 1; ranks <= devices && ranks <= MOST_GPUS; ranks *= 2)
        for (int reversed = 0; reversed < (ranks > 1 ? 2 : 1); reversed++) {
            ncclComm_t comms[MOST_GPUS] = {NULL};
            float *memory[MOST_GPUS] = {NULL};
            for (int r = 0; r < ranks; r++) list[r] = reversed ? ranks - 1 - r : r;
            if (!make_comms(ranks, list, comms)) return;
            for (int r = 0; r < ranks; r++) {
                cudaSetDevice(list[r]);
                cudaMalloc((void **)&memory[r], LARGE_BYTES);
                cudaMemset(memory[r], 0, LARGE_BYTES);
            }
            for (size_t count = 1; count <= LARGE_BYTES / sizeof(float); count *= 128) {
                ncclGroupStart();
                for (int r = 0; r < ranks; r++)
                    ncclAllReduce(memory[r], memory[r], count, ncclFloat, ncclSum, comms[r], NULL);
                ncclGroupEnd();
            }
            for (int distance = 1; distance < ranks; distance++)
                warm_up_transfer(ranks, distance, comms, memory);
            for (int r = 0; r < ranks; r++) {
                cudaSetDevice(list[r]);
                cudaDeviceSynchronize();
                cudaFree(memory[r]);
            }
        }
    cudaSetDevice(0);
}
