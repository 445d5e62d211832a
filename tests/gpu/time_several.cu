// Times lesson 19 on 1, 2, 4, ... GPUs in one run, without the checker, and compares what they compute. tests/gpu/several.sh builds and
// runs it. Its argument is after how many seconds nothing new is begun, or `small`: tiny sizes, for the software device.
//
// Tensor parallel: a decode step through 36 layers of Qwen3-8B's width in f32, with as many heads of keys as of queries, as the contract
// has it. The bound is the time to read each GPU's weights, keys and values at the rate at which it reads 4 GiB here. Ring: 8 heads of
// 128, in the contract's order and, causal, in zigzag order. Median of 7 steps, of 3 rings; of the longest ring the second call, of one
// GPU the only one. What a step takes without its all-reduces, and a ring without its transfers or its kernels, comes from calls of the
// solution's own functions. Rings come first, in the order of what they are compared with.
#include <nccl.h>
#include <stddef.h>

static size_t sent_by_rank[8]; // bytes, as ncclSend() is told

static ncclResult_t counted_send(const void *from, size_t count, ncclDataType_t type, int peer,
                                 ncclComm_t comm, cudaStream_t stream)
{
    int rank = 0;
    if (ncclCommUserRank(comm, &rank) == ncclSuccess) sent_by_rank[rank] += count * sizeof(float);
    return ncclSend(from, count, type, peer, comm, stream);
}
#define ncclSend counted_send
#include "../../solutions/19_several_gpus/steps/zigzag.cu"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

extern "C" {
#include "../../reference/qwen3.h"
}

enum { MOST_LAYERS = 36, TIMED = 7, RINGS = 3, SAMPLED = 8, MATRICES = 4, BLOCKS = 1024, BLOCK = 256 };
enum { QKV, O, GATE_UP, DOWN, CACHE, X, OF_RING }; // seeds

static double seconds = 50.0; // then nothing new is begun
static int small, wrong;
static double began;

/* ---- host and devices ------------------------------------------------------------------------------------------- */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int is_late(const char *what)
{
    if (now() - began < seconds) return 0;
    printf("skipped, no time left: %s\n", what);
    return 1;
}

static void need(cudaError_t error)
{
    if (error == cudaSuccess) return;
    printf("time_several: %s\n", cudaGetErrorString(error));
    fflush(stdout);
    _Exit(2);
}

static void need_nccl(ncclResult_t result)
{
    if (result == ncclSuccess) return;
    printf("time_several: NCCL: %s\n", ncclGetErrorString(result));
    fflush(stdout);
    _Exit(2);
}

static void need_ok(enum kernel_status status)
{
    if (status == KERNEL_OK) return;
    printf("time_several: %s\n", kernel_status_name(status));
    fflush(stdout);
    _Exit(2);
}

static void *reserve(size_t bytes)
{
    void *memory = NULL;
    need(cudaMalloc(&memory, bytes));
    return memory;
}

static void *host_memory(size_t bytes)
{
    void *memory = malloc(bytes);
    if (memory == NULL) need(cudaErrorMemoryAllocation);
    return memory;
}

/** Says whether something holds, and remembers if it does not. */
static const char *verdict(int holds)
{
    wrong |= !holds;
    return holds ? "ok" : "WRONG";
}

/* ---- numbers that depend on their place in the whole ------------------------------------------------------------ */

__host__ __device__ static inline float number(unsigned seed, size_t place)
{
    unsigned x = (unsigned)place * 2654435761u + (unsigned)(place >> 32) * 40503u + seed * 2246822519u;
    x = (x ^ x >> 15) * 2246822519u;
    x = (x ^ x >> 13) * 3266489917u;
    return (float)((x ^ x >> 16) & 0xffffff) / 8388608.0f - 1.0f;
}

/** A shard [outer, rows, cols] of the whole, [outer, of_rows, of_cols], that begins at (row, col). */
struct shard {
    size_t outer, rows, cols, of_rows, of_cols, row, col;
};

static __global__ void fill(float *to, struct shard s, unsigned seed, float scale)
{
    const size_t count = s.outer * s.rows * s.cols, step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += step) {
        const size_t col = i % s.cols, row = i / s.cols % s.rows, outer = i / s.cols / s.rows;
        to[i] = scale * number(seed, (outer * s.of_rows + s.row + row) * s.of_cols + s.col + col);
    }
}

static void fill_shard(float *to, struct shard s, unsigned seed, float scale)
{
    fill<<<small ? 4 : BLOCKS, BLOCK>>>(to, s, seed, scale);
    need(cudaGetLastError());
}

/* ---- ranks ------------------------------------------------------------------------------------------------------ */

/** The ranks of one run, and two events of each. */
struct machine {
    struct gpu_ranks gpus;
    cudaEvent_t begin[MOST_GPUS], end[MOST_GPUS];
};

static void synchronise(const struct machine *m)
{
    for (int i = 0; i < m->gpus.count; i++) {
        need(cudaSetDevice(i));
        need(cudaDeviceSynchronize());
    }
}

static void open_machine(struct machine *m, int ranks)
{
    ncclComm_t comms[MOST_GPUS];
    int devices[MOST_GPUS], least = 0, greatest = 0;
    for (int i = 0; i < ranks; i++) devices[i] = i;
    const double from = now();
    need_nccl(ncclCommInitAll(comms, ranks, devices));
    printf("%d GPU%s: communicators in %.2f s\n", ranks, ranks > 1 ? "s" : "", now() - from);
    m->gpus.ranks = m->gpus.count = ranks;
    for (int i = 0; i < ranks; i++) {
        struct gpu_rank *r = &m->gpus.at[i];
        need(cudaSetDevice(i));
        need(cudaDeviceGetStreamPriorityRange(&least, &greatest));
        r->rank = r->device = i, r->comm = comms[i];
        need(cudaStreamCreateWithFlags(&r->stream, cudaStreamNonBlocking));
        // A transfer's few blocks would else wait until all of a kernel's have begun.
        need(cudaStreamCreateWithPriority(&r->transfer, cudaStreamNonBlocking, greatest));
        need(cudaEventCreateWithFlags(&r->arrived, cudaEventDisableTiming));
        need(cudaEventCreateWithFlags(&r->used, cudaEventDisableTiming));
        need(cudaEventCreate(&m->begin[i]));
        need(cudaEventCreate(&m->end[i]));
    }
}

static void begin_timing(struct machine *m)
{
    synchronise(m);
    for (int i = 0; i < m->gpus.count; i++) need(cudaEventRecord(m->begin[i], m->gpus.at[i].stream));
}

/** Microseconds until the last rank's stream is done. */
static double end_timing(struct machine *m)
{
    double most = 0.0;
    for (int i = 0; i < m->gpus.count; i++) need(cudaEventRecord(m->end[i], m->gpus.at[i].stream));
    synchronise(m);
    for (int i = 0; i < m->gpus.count; i++) {
        float ms = 0.0f;
        need(cudaEventElapsedTime(&ms, m->begin[i], m->end[i]));
        most = fmax(most, 1000.0 * (double)ms);
    }
    return most;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof values[0], by_size);
    return values[count / 2];
}

/* ---- how fast a GPU reads --------------------------------------------------------------------------------------- */

static __global__ void read_all(const float4 *from, size_t count, float *to)
{
    float sum = 0.0f;
    const size_t step = (size_t)gridDim.x * blockDim.x;
#pragma unroll 8
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += step) {
        const float4 x = from[i];
        sum += x.x + x.y + (x.z + x.w);
    }
    if (sum == 12345.678f) *to = sum; // so that it is not left out
}

/** Bytes per microsecond of the slowest. */
static double reading_rate(struct machine *m)
{
    const size_t bytes = small ? 1 << 16 : (size_t)4 << 30;
    double least = INFINITY;
    for (int i = 0; i < m->gpus.count; i++) {
        need(cudaSetDevice(i));
        float *memory = (float *)reserve(bytes);
        need(cudaMemset(memory, 0, bytes));
        need(cudaDeviceSynchronize()); // the ranks' streams do not wait for the default one
        double us[5];
        for (int k = 0; k < 5; k++) {
            float ms = 0.0f;
            need(cudaEventRecord(m->begin[i], m->gpus.at[i].stream));
            read_all<<<small ? 4 : 132 * 8, BLOCK, 0, m->gpus.at[i].stream>>>((const float4 *)memory,
                                                                              bytes / 16, memory);
            need(cudaEventRecord(m->end[i], m->gpus.at[i].stream));
            need(cudaEventSynchronize(m->end[i]));
            need(cudaEventElapsedTime(&ms, m->begin[i], m->end[i]));
            us[k] = 1000.0 * (double)ms;
        }
        least = fmin(least, (double)bytes / median(us, 5));
        need(cudaFree(memory));
    }
    return least;
}

/* ---- tensor parallel -------------------------------------------------------------------------------------------- */

/** Sizes, and the layers of every rank. */
struct model {
    int layers;
    struct layer_sizes sizes;
    struct layer_shards shards[MOST_LAYERS]; // x and workspace are the same in all
};

static struct layer_sizes sizes_of(int rows, int context)
{
    if (small) return {rows, 64, 8, 16, 96, context - 1, 40};
    return {rows, 4096, 32, 128, 12288, context - 1, 4096};
}

static float deviation(int inputs)
{
    return sqrtf(3.0f / (float)inputs); // of results as large as what goes in
}

static void fill_matrix(const struct layer_shard *s, const struct layer_sizes *z, int ranks, int rank,
                        int matrix, int layer)
{
    const size_t width = (size_t)z->width, own = (size_t)own_width(z, ranks), all = own * (size_t)ranks;
    const size_t units = (size_t)(z->inner / ranks), inner = (size_t)z->inner, r = (size_t)rank;
    const unsigned seed = (unsigned)(layer * 16 + matrix);
    // The two halves bring a quarter of x's size each: after 36 layers it is still a number.
    if (matrix == QKV)
        fill_shard((float *)s->qkv, {3, own, width, all, width, r * own, 0}, seed, deviation(z->width));
    if (matrix == O)
        fill_shard((float *)s->o, {1, width, own, width, all, 0, r * own}, seed, 0.25f * deviation((int)all));
    if (matrix == GATE_UP)
        fill_shard((float *)s->gate_up, {2, units, width, inner, width, r * units, 0}, seed,
                   deviation(z->width));
    if (matrix == DOWN)
        fill_shard((float *)s->down, {1, width, units, width, inner, 0, r * units}, seed,
                   0.25f * deviation(z->inner));
}

static size_t matrix_floats(const struct layer_sizes *z, int ranks, int matrix)
{
    const size_t width = (size_t)z->width, own = (size_t)own_width(z, ranks),
                 units = (size_t)(z->inner / ranks);
    const size_t floats[] = {3 * own * width, width * own, 2 * units * width, width * units};
    return floats[matrix];
}

/** Weights of all layers, room for the largest cache, x and workspace of the most rows. */
static void open_model(struct model *model, const struct machine *m, int rows, int context)
{
    const int ranks = m->gpus.ranks;
    const struct layer_sizes z = sizes_of(rows, context);
    const size_t cache = 2 * (size_t)rows * (size_t)own_width(&z, ranks) * (size_t)z.room;
    static int layers; // as many as one GPU has room for; with more GPUs the same
    size_t each = cache, free_bytes = 0, all_bytes = 0;
    for (int k = 0; k < MATRICES; k++) each += matrix_floats(&z, ranks, k);
    need(cudaMemGetInfo(&free_bytes, &all_bytes));
    if (layers == 0)
        layers =
            (int)fmin(small ? 3 : MOST_LAYERS, 0.95 * (double)free_bytes / (double)(each * sizeof(float)));
    model->layers = layers;
    printf("  %d layers, %.1f GB per GPU\n", layers, (double)(each * sizeof(float)) * layers * 1e-9);
    for (int i = 0; i < ranks; i++) {
        need(cudaSetDevice(i));
        float *x = (float *)reserve((size_t)rows * (size_t)z.width * sizeof(float));
        const size_t bytes = tensor_parallel_workspace_bytes(&z, ranks);
        void *workspace = reserve(bytes);
        for (int l = 0; l < model->layers; l++) {
            float *matrix[MATRICES];
            for (int k = 0; k < MATRICES; k++)
                matrix[k] = (float *)reserve(matrix_floats(&z, ranks, k) * sizeof(float));
            struct layer_shard *s = &model->shards[l].at[i];
            *s = {matrix[0], matrix[1], matrix[2], matrix[3], (float *)reserve(cache * sizeof(float)),
                  x,         workspace, bytes};
            for (int k = 0; k < MATRICES; k++) fill_matrix(s, &z, ranks, m->gpus.at[i].rank, k, l);
        }
    }
    synchronise(m);
}

static void close_model(struct model *model, const struct machine *m)
{
    for (int i = 0; i < m->gpus.count; i++) {
        need(cudaSetDevice(i));
        for (int l = 0; l < model->layers; l++) {
            const struct layer_shard *s = &model->shards[l].at[i];
            const float *const matrices[] = {s->qkv, s->o, s->gate_up, s->down, s->cache};
            for (const float *matrix : matrices) need(cudaFree((void *)matrix));
        }
        need(cudaFree(model->shards[0].at[i].x));
        need(cudaFree(model->shards[0].at[i].workspace));
    }
}

/** Caches for these sizes. */
static void fill_caches(struct model *model, const struct machine *m)
{
    const struct layer_sizes *z = &model->sizes;
    const size_t ranks = (size_t)m->gpus.ranks, heads = (size_t)z->heads / ranks;
    const size_t line = (size_t)z->room * (size_t)z->head_dim;
    for (size_t i = 0; i < ranks; i++) {
        need(cudaSetDevice((int)i));
        for (int l = 0; l < model->layers; l++)
            fill_shard(model->shards[l].at[i].cache,
                       {2 * (size_t)z->rows, heads, line, heads * ranks, line, i * heads, 0},
                       (unsigned)(l * 16 + CACHE), 1.0f);
    }
    synchronise(m);
}

static void reset_x(struct model *model, const struct machine *m)
{
    const size_t rows = (size_t)model->sizes.rows, width = (size_t)model->sizes.width;
    for (int i = 0; i < m->gpus.count; i++) {
        need(cudaSetDevice(i));
        fill_shard(model->shards[0].at[i].x, {1, rows, width, rows, width, 0, 0}, X, 1.0f);
    }
    synchronise(m);
}

static void step_layers(const struct model *model, const struct machine *m, int layers)
{
    for (int l = 0; l < layers; l++)
        need_ok(tensor_parallel_step(&m->gpus, &model->sizes, &model->shards[l]));
}

/** What is left of a step without the sums over ranks. */
static void step_without_sums(const struct model *model, const struct machine *m)
{
    for (int l = 0; l < model->layers; l++)
        for (int half = 0; half < 2; half++)
            for (int i = 0; i < m->gpus.count; i++)
                need_ok((half ? launch_mlp : launch_attention)(&m->gpus.at[i], m->gpus.ranks, &model->sizes,
                                                               &model->shards[l].at[i]));
}

/** x of all ranks, [ranks, rows, width], after so many layers. */
static float *x_after(struct model *model, struct machine *m, int layers)
{
    const size_t count = (size_t)model->sizes.rows * (size_t)model->sizes.width;
    float *x = (float *)host_memory(count * (size_t)m->gpus.count * sizeof(float));
    reset_x(model, m);
    step_layers(model, m, layers);
    synchronise(m);
    for (int i = 0; i < m->gpus.count; i++) {
        need(cudaSetDevice(i));
        need(cudaMemcpy(x + (size_t)i * count, model->shards[0].at[i].x, count * sizeof(float),
                        cudaMemcpyDeviceToHost));
    }
    return x;
}

/** Largest |a - b| as a share of the largest |b|. */
static double difference(const float *a, const float *b, size_t count)
{
    double most = 0.0, largest = 0.0;
    for (size_t i = 0; i < count; i++) {
        const double d = fabs((double)a[i] - (double)b[i]);
        most = !(d <= most) ? d : most; // NaN stays
        largest = fmax(largest, fabs((double)b[i]));
    }
    return most / largest;
}

/** The oracle's row 0 after the first layer, and eight standard deviations, which is what the contract allows; kept for all ranks. */
static void oracle_layer(const struct layer_sizes *z, double **out, double **bound)
{
    static double *memory;
    const size_t width = (size_t)z->width, all = (size_t)z->heads * (size_t)z->head_dim,
                 inner = (size_t)z->inner;
    const size_t line = (size_t)z->room * (size_t)z->head_dim;
    if (memory == NULL) {
        const struct shard shards[] = {
            {3, all, width, all, width, 0, 0},
            {1, width, all, width, all, 0, 0},
            {2, inner, width, inner, width, 0, 0},
            {1, width, inner, width, inner, 0, 0},
            {2 * (size_t)z->rows, (size_t)z->heads, line, (size_t)z->heads, line, 0, 0},
            {1, (size_t)z->rows, width, (size_t)z->rows, width, 0, 0}};
        const float scale[] = {deviation(z->width),
                               0.25f * deviation((int)all),
                               deviation(z->width),
                               0.25f * deviation(z->inner),
                               1.0f,
                               1.0f};
        float *host[X + 1];
        need(cudaSetDevice(0));
        for (int k = 0; k <= X; k++) {
            const size_t bytes = shards[k].outer * shards[k].rows * shards[k].cols * sizeof(float);
            float *memory_of = (float *)reserve(bytes);
            host[k] = (float *)host_memory(bytes);
            fill_shard(memory_of, shards[k], (unsigned)k, scale[k]);
            need(cudaMemcpy(host[k], memory_of, bytes, cudaMemcpyDeviceToHost));
            need(cudaFree(memory_of));
        }
        const struct ref_qwen3_sizes sizes = {1,        z->width, z->heads, z->heads, z->head_dim,
                                              z->inner, 1,        0.0,      1.0};
        struct ref_qwen3_layer weights = {};
        weights.q = host[QKV], weights.k = host[QKV] + all * width, weights.v = host[QKV] + 2 * all * width;
        weights.o = host[O], weights.gate = host[GATE_UP], weights.up = host[GATE_UP] + inner * width;
        weights.down = host[DOWN];
        const struct ref_qwen3_rounding rounding = {0x1p-24, 0x1p-24, 0x1p-24};
        const size_t keys = (size_t)z->position + 1;
        memory = (double *)host_memory((2 * width + 4 * all + ref_layer_scratch_elems(&sizes, keys)) *
                                       sizeof(double));
        const struct ref_layer_step step = {
            host[X],         host[CACHE],         host[CACHE] + (size_t)z->rows * (size_t)z->heads * line,
            (size_t)z->room, (size_t)z->position, memory,
            memory + width,  memory + 2 * width,  memory + 2 * width + 2 * all};
        ref_layer_step(&sizes, &weights, &rounding, &step, memory + 2 * width + 4 * all);
        for (size_t i = 0; i < width; i++) memory[width + i] = 8.0 * memory[width + i] + 0x1p-126;
        for (int k = 0; k <= X; k++) free(host[k]);
    }
    *out = memory, *bound = memory + width;
}

/** One layer of row 0 against the oracle: the largest share of what is allowed that a rank takes. */
static void judge_layer(struct model *model, struct machine *m)
{
    double *out, *bound, most = 0.0;
    const size_t width = (size_t)model->sizes.width, count = (size_t)model->sizes.rows * width;
    const double from = now();
    oracle_layer(&model->sizes, &out, &bound);
    const double oracle = now() - from;
    float *x = x_after(model, m, 1);
    for (int r = 0; r < m->gpus.count; r++)
        for (size_t i = 0; i < width; i++) {
            const double share = fabs((double)x[(size_t)r * count + i] - out[i]) / bound[i];
            most = !(share <= most) ? share : most;
        }
    printf("  one layer against the oracle: %.1f%% of the contract's bound used: %s (oracle %.1f s)\n",
           100.0 * most, verdict(most <= 1.0), oracle);
    free(x);
}

/** Rates of one rank's run, to divide others by; and its x. */
struct decode_result {
    double us;
    float *x;
};

static void time_decode(struct model *model, struct machine *m, int rows, int context, double rate,
                        struct decode_result *one)
{
    const int ranks = m->gpus.ranks;
    double us[TIMED], host[TIMED], bare[3];
    if (ranks > 1 && one->x == NULL) return; // nothing to compare with
    model->sizes = sizes_of(rows, context);
    const struct layer_sizes *z = &model->sizes;
    const size_t count = (size_t)rows * (size_t)z->width;
    fill_caches(model, m);
    if (rows == 1 && context == (small ? 9 : 128)) judge_layer(model, m);
    float *x = x_after(model, m, model->layers), *again = x_after(model, m, model->layers);
    const int same = memcmp(x, again, count * (size_t)ranks * sizeof(float)) == 0;
    int alike = 1;
    for (int r = 1; r < ranks; r++) alike &= memcmp(x, x + (size_t)r * count, count * sizeof(float)) == 0;
    free(again);
    for (int i = 0; i < TIMED; i++) {
        reset_x(model, m);
        begin_timing(m);
        const double from = now();
        step_layers(model, m, model->layers);
        host[i] = (now() - from) * 1e6;
        us[i] = end_timing(m);
    }
    for (int i = 0; i < 3; i++) {
        begin_timing(m);
        step_without_sums(model, m);
        bare[i] = end_timing(m);
    }
    double bytes = 2.0 * (double)rows * (double)own_width(z, ranks) * (double)context;
    for (int k = 0; k < MATRICES; k++) bytes += (double)matrix_floats(z, ranks, k);
    bytes *= sizeof(float) * (double)model->layers;
    const double step = median(us, TIMED), bound = bytes / rate;
    if (ranks == 1) one->us = step;
    printf("  decode rows %d context %4d: %9.1f us/step  %6.0f GB/s per GPU, %4.1f%% of the bound  without "
           "sums %9.1f us  "
           "host %9.1f us",
           rows, context, step, bytes / step * 1e-3, 100.0 * bound / step, median(bare, 3),
           median(host, TIMED));
    if (ranks > 1) {
        const double speed = one->us / step, unlike = difference(x, one->x, count);
        printf("  %.2fx (bar %.2f: %s)  differs from 1 GPU by %.1e of the largest: %s", speed, 0.8 * ranks,
               speed >= 0.8 * ranks ? "met" : "NOT met", unlike, verdict(unlike <= 1e-4));
    }
    printf("  reruns %s, ranks %s\n", verdict(same), verdict(alike));
    fflush(stdout);
    if (ranks == 1)
        one->x = x;
    else
        free(x);
}

/* ---- a step as a graph ------------------------------------------------------------------------------------------ */

/** All ranks' work of a step in one graph: what the host's launches cost is gone then. NCCL may refuse. */
static void time_graph(struct model *model, struct machine *m, int rows, int context)
{
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    double us[TIMED];
    const struct gpu_rank *first = &m->gpus.at[0];
    model->sizes = sizes_of(rows, context);
    fill_caches(model, m);
    reset_x(model, m);
    need(cudaSetDevice(0));
    need(cudaStreamBeginCapture(first->stream, cudaStreamCaptureModeRelaxed));
    need(cudaEventRecord(first->used, first->stream));
    for (int i = 1; i < m->gpus.count; i++) need(cudaStreamWaitEvent(m->gpus.at[i].stream, first->used, 0));
    enum kernel_status status = KERNEL_OK;
    for (int l = 0; l < model->layers && status == KERNEL_OK; l++)
        status = tensor_parallel_step(&m->gpus, &model->sizes, &model->shards[l]);
    for (int i = 1; i < m->gpus.count; i++) {
        need(cudaSetDevice(i));
        (void)cudaEventRecord(m->gpus.at[i].arrived, m->gpus.at[i].stream);
        (void)cudaStreamWaitEvent(first->stream, m->gpus.at[i].arrived, 0);
    }
    need(cudaSetDevice(0));
    cudaError_t error = cudaStreamEndCapture(first->stream, &graph);
    if (error == cudaSuccess && status == KERNEL_OK) error = cudaGraphInstantiate(&exec, graph, 0);
    if (error != cudaSuccess || status != KERNEL_OK) {
        printf("  decode rows %d context %4d as one graph: refused (%s, %s)\n", rows, context,
               kernel_status_name(status), cudaGetErrorString(error));
        (void)cudaGetLastError();
        return;
    }
    for (int i = 0; i < TIMED; i++) {
        synchronise(m);
        need(cudaSetDevice(0));
        need(cudaEventRecord(m->begin[0], first->stream));
        need(cudaGraphLaunch(exec, first->stream));
        need(cudaEventRecord(m->end[0], first->stream));
        need(cudaEventSynchronize(m->end[0]));
        float ms = 0.0f;
        need(cudaEventElapsedTime(&ms, m->begin[0], m->end[0]));
        us[i] = 1000.0 * (double)ms;
    }
    printf("  decode rows %d context %4d as one graph: %9.1f us/step\n", rows, context, median(us, TIMED));
    fflush(stdout);
    need(cudaGraphExecDestroy(exec));
    need(cudaGraphDestroy(graph));
}

static void time_layers(struct machine *m, double rate, struct decode_result one[4], int graphs)
{
    static struct model model;
    const int rows[] = {1, 8}, contexts[] = {small ? 9 : 128, small ? 33 : 4096};
    if (is_late("decode")) return;
    open_model(&model, m, rows[1], contexts[1]);
    for (int i = 0; i < 4 && !graphs; i++)
        if (!is_late("a decode step")) time_decode(&model, m, rows[i / 2], contexts[i % 2], rate, &one[i]);
    for (int i = 0; i < 4 && graphs; i++)
        if (!is_late("a graph")) time_graph(&model, m, rows[i / 2], contexts[i % 2]);
    close_model(&model, m);
}

/* ---- the ring --------------------------------------------------------------------------------------------------- */

/** Results of one GPU, to compare others with. */
struct ring_result {
    double us;
    float *out, *lse; // [heads, tokens, head_dim], [heads, tokens]
};

/** How a sequence is shared out: a rank has one piece of it, or an early one and a late one; and what then attends to it. */
struct ring_order {
    const char *name;
    int pieces;
    enum kernel_status (*ring)(const struct gpu_ranks *, const struct ring_sizes *,
                               const struct ring_parts *);
    enum kernel_status (*attend)(const struct gpu_rank *, int ranks, const struct ring_sizes *,
                                 const struct ring_part *, int step);
};
static const struct ring_order in_order = {"", 1, ring_attention, attend},
                               in_zigzag = {", zigzag", 2, zigzag_attention, attend_in_zigzag};

/** Token at which piece @p i of a rank begins. */
static size_t piece_begins(const struct ring_order *order, const struct machine *m,
                           const struct ring_sizes *z, int at, int i)
{
    const int rank = m->gpus.at[at].rank, number = i == 0 ? rank : 2 * m->gpus.ranks - 1 - rank;
    return (size_t)number * (size_t)(z->part / order->pieces);
}

static void open_ring(const struct ring_order *order, const struct machine *m, const struct ring_sizes *z,
                      struct ring_parts *parts)
{
    const size_t heads = (size_t)z->heads, part = (size_t)z->part, dim = (size_t)z->head_dim;
    const size_t tokens = part * (size_t)m->gpus.ranks, bytes = heads * part * dim * sizeof(float);
    for (int i = 0; i < m->gpus.count; i++) {
        struct ring_part *p = &parts->at[i];
        need(cudaSetDevice(i));
        float *const qkv[] = {(float *)reserve(bytes), (float *)reserve(bytes), (float *)reserve(bytes)};
        for (int k = 0; k < 3 * order->pieces; k++) {
            const size_t piece = part / (size_t)order->pieces, half = (size_t)(k / 3);
            fill_shard(qkv[k % 3] + half * heads * piece * dim,
                       {heads, piece, dim, tokens, dim, piece_begins(order, m, z, i, k / 3), 0},
                       (unsigned)(1000 + k % 3), 1.7320508f);
        }
        p->q = qkv[0], p->k = qkv[1], p->v = qkv[2];
        p->out = (float *)reserve(bytes), p->lse = (float *)reserve(heads * part * sizeof(float));
        p->workspace_bytes = ring_attention_workspace_bytes(z, m->gpus.ranks);
        p->workspace = p->workspace_bytes > 0 ? reserve(p->workspace_bytes) : NULL;
    }
    synchronise(m);
}

static void close_ring(const struct machine *m, const struct ring_parts *parts)
{
    for (int i = 0; i < m->gpus.count; i++) {
        const struct ring_part *p = &parts->at[i];
        need(cudaSetDevice(i));
        const void *const memory[] = {p->q, p->k, p->v, p->out, p->lse, p->workspace};
        for (const void *at : memory) need(cudaFree((void *)at));
    }
}

/** A call, what it leaves as [heads, tokens, floats], and its microseconds. */
static double ring_results(const struct ring_order *order, struct machine *m, const struct ring_sizes *z,
                           const struct ring_parts *parts, float *out, float *lse)
{
    const size_t heads = (size_t)z->heads, part = (size_t)z->part, dim = (size_t)z->head_dim;
    const size_t ranks = (size_t)m->gpus.ranks, piece = part / (size_t)order->pieces;
    for (size_t i = 0; i < ranks; i++) {
        need(cudaSetDevice((int)i));
        need(cudaMemset(parts->at[i].out, 0xff, heads * part * dim * sizeof(float)));
        need(cudaMemset(parts->at[i].lse, 0xff, heads * part * sizeof(float)));
        if (parts->at[i].workspace_bytes > 0)
            need(cudaMemset(parts->at[i].workspace, 0xff, parts->at[i].workspace_bytes));
    }
    begin_timing(m);
    need_ok(order->ring(&m->gpus, z, parts));
    const double us = end_timing(m);
    for (size_t i = 0; i < ranks; i++) {
        need(cudaSetDevice((int)i));
        for (size_t h = 0; h < heads * (size_t)order->pieces; h++) {
            const size_t line =
                h % heads * ranks * part + piece_begins(order, m, z, (int)i, (int)(h / heads));
            need(cudaMemcpy(out + line * dim, parts->at[i].out + h * piece * dim, piece * dim * sizeof(float),
                            cudaMemcpyDeviceToHost));
            need(cudaMemcpy(lse + line, parts->at[i].lse + h * piece, piece * sizeof(float),
                            cudaMemcpyDeviceToHost));
        }
    }
    return us;
}

/** Some rows in double: the largest share of |out - ref| <= u |ref| + 8 u sqrt(n) sum |p v| + 8 u sqrt(d) scale sum |q k| sum |p v|. */
static double judge_ring(const struct ring_sizes *z, int ranks, const float *out)
{
    const size_t tokens = (size_t)z->part * (size_t)ranks, dim = (size_t)z->head_dim;
    const double u = 0x1p-24, scale = 1.0 / sqrt((double)dim);
    double most = 0.0, *p = (double *)host_memory(tokens * sizeof(double));
    for (size_t i = 0; i < SAMPLED; i++) {
        const size_t head = i % (size_t)z->heads, row = i + 1 == SAMPLED ? tokens - 1 : tokens * i / SAMPLED;
        const size_t visible = z->causal ? row + 1 : tokens, line = head * tokens;
        double largest = -INFINITY, sum = 0.0, size = 0.0;
        double q[128], ref[128] = {0}, weight[128] = {0}; // head_dim is 128 at most
        for (size_t d = 0; d < dim; d++) q[d] = (double)(1.7320508f * number(1000, (line + row) * dim + d));
        for (size_t j = 0; j < visible; j++) {
            double score = 0.0, of = 0.0;
            for (size_t d = 0; d < dim; d++) {
                const double product = q[d] * (double)(1.7320508f * number(1001, (line + j) * dim + d));
                score += product, of += fabs(product);
            }
            p[j] = score * scale, largest = fmax(largest, p[j]), size = fmax(size, of * scale);
        }
        for (size_t j = 0; j < visible; j++) p[j] = exp(p[j] - largest), sum += p[j];
        for (size_t j = 0; j < visible; j++)
            for (size_t d = 0; d < dim; d++) {
                const double v = (double)(1.7320508f * number(1002, (line + j) * dim + d));
                ref[d] += p[j] / sum * v, weight[d] += p[j] / sum * fabs(v);
            }
        for (size_t d = 0; d < dim; d++) {
            const double bound = u * fabs(ref[d]) + 8.0 * u * sqrt((double)visible) * weight[d] +
                                 8.0 * u * sqrt((double)dim) * size * weight[d];
            const double share = fabs((double)out[(line + row) * dim + d] - ref[d]) / bound;
            most = !(share <= most) ? share : most;
        }
    }
    free(p);
    return most;
}

enum { WHOLE, KERNELS, TRANSFERS };

static double time_ring_part(const struct ring_order *order, struct machine *m, const struct ring_sizes *z,
                             const struct ring_parts *parts, int what)
{
    double us[RINGS];
    for (int k = 0; k < RINGS; k++) {
        begin_timing(m);
        if (what == WHOLE) need_ok(order->ring(&m->gpus, z, parts));
        for (int step = 0; step < m->gpus.ranks && what == KERNELS; step++)
            for (int i = 0; i < m->gpus.count; i++)
                need_ok(order->attend(&m->gpus.at[i], m->gpus.ranks, z, &parts->at[i], step));
        for (int i = 0; i < m->gpus.count && what == TRANSFERS; i++)
            need(cudaEventRecord(m->gpus.at[i].used, m->gpus.at[i].stream));
        for (int step = 0; step + 1 < m->gpus.ranks && what == TRANSFERS; step++)
            need_ok(pass_on(&m->gpus, z, parts, step));
        for (int i = 0; i < m->gpus.count && what == TRANSFERS; i++)
            need(cudaStreamWaitEvent(m->gpus.at[i].stream, m->gpus.at[i].arrived, 0));
        us[k] = end_timing(m);
    }
    return median(us, RINGS);
}

/** What several GPUs gain over one, whose results theirs are compared with. */
static void print_gain(const struct ring_order *order, struct machine *m, const struct ring_sizes *z,
                       const struct ring_parts *parts, double us, const struct ring_result *one,
                       const struct ring_result *mine, int is_long)
{
    const int ranks = m->gpus.ranks;
    const size_t lines = (size_t)z->heads * (size_t)z->part * (size_t)ranks;
    const double bytes = 8.0 * (double)z->heads * z->part * z->head_dim * (ranks - 1);
    // Causal and in order, the last rank has 2 N - 1 of N * N halves of a part's pairs.
    const double fair = z->causal && order->pieces == 1 ? (double)(ranks * ranks) / (2 * ranks - 1) : ranks;
    const double gain = one->us / us, transfers = time_ring_part(order, m, z, parts, TRANSFERS);
    printf("  %.2fx of at most %.2f (bar %.2f: %s)  transfers alone %.1f us (%.0f GB/s each way)", gain, fair,
           0.9 * fair, gain >= 0.9 * fair ? "met" : "NOT met", transfers, bytes / transfers * 1e-3);
    if (!is_long) {
        const double kernels = time_ring_part(order, m, z, parts, KERNELS);
        printf(", kernels alone %.1f us, hidden %.0f%%", kernels,
               100.0 * fmin(1.0, fmax(0.0, 1.0 - (us - kernels) / transfers)));
    }
    const double unlike = difference(mine->out, one->out, lines * (size_t)z->head_dim),
                 of_lse = difference(mine->lse, one->lse, lines);
    printf("  differs from 1 GPU by %.1e, lse %.1e of the largest: %s", unlike, of_lse,
           verdict(unlike <= 1e-4 && of_lse <= 1e-5));
}

static void time_ring(const struct ring_order *order, struct machine *m, int tokens, int causal,
                      struct ring_result *one)
{
    const int ranks = m->gpus.ranks, is_long = tokens > (small ? 64 : 65536);
    const struct ring_sizes z = {small ? 2 : 8, tokens / ranks, small ? 16 : 128, causal, 0.0f};
    const size_t lines = (size_t)z.heads * (size_t)tokens, elems = lines * (size_t)z.head_dim;
    struct ring_parts parts = {};
    if (is_late("a ring") || (ranks > 1 && one->out == NULL)) return; // nothing to compare with
    open_ring(order, m, &z, &parts);
    struct ring_result first = {0.0, (float *)host_memory(elems * sizeof(float)),
                                (float *)host_memory(lines * sizeof(float))};
    memset(sent_by_rank, 0, sizeof sent_by_rank);
    double us = ring_results(order, m, &z, &parts, first.out, first.lse);
    const size_t to_send = 2 * elems / (size_t)ranks * (size_t)(ranks - 1) * sizeof(float);
    int sent = 1;
    for (int i = 0; i < ranks; i++) sent &= sent_by_rank[i] == to_send;
    printf("  ring %5d tokens%s%s: ", tokens, causal ? ", causal" : "        ", order->name);
    fflush(stdout);
    if (!is_long || ranks > 1) {
        float *out = (float *)host_memory(elems * sizeof(float)),
              *lse = (float *)host_memory(lines * sizeof(float));
        us = ring_results(order, m, &z, &parts, out, lse);
        printf("reruns %s  ", verdict(memcmp(out, first.out, elems * sizeof(float)) == 0 &&
                                      memcmp(lse, first.lse, lines * sizeof(float)) == 0));
        free(out), free(lse);
    }
    if (!is_long) us = time_ring_part(order, m, &z, &parts, WHOLE);
    const double flop =
        4.0 * (double)z.heads * (double)tokens * (double)tokens * z.head_dim * (causal ? 0.5 : 1.0);
    const double used = judge_ring(&z, ranks, first.out);
    printf("%9.1f us  %5.1f TFLOP/s per GPU  bound used %4.1f%%: %s  each sends %zu bytes: %s", us,
           flop / us * 1e-6 / ranks, 100.0 * used, verdict(used <= 1.0), to_send, verdict(sent));
    if (ranks == 1) {
        first.us = us, *one = first;
    } else {
        print_gain(order, m, &z, &parts, us, one, &first, is_long);
        free(first.out), free(first.lse);
    }
    printf("\n");
    fflush(stdout);
    close_ring(m, &parts);
}

/** The longest first: what is skipped then matters less. */
static void time_rings(struct machine *m, struct ring_result one[7])
{
    const int tokens[] = {small ? 32 : 4096, small ? 48 : 16384, small ? 64 : 65536, small ? 128 : 262144};
    time_ring(m->gpus.ranks > 1 ? &in_zigzag : &in_order, m, tokens[3], 1, &one[6]);
    for (int i = 5; i >= 0; i--) {
        time_ring(&in_order, m, tokens[i / 2], i % 2, &one[i]);
        if (i % 2 == 1 && m->gpus.ranks > 1) time_ring(&in_zigzag, m, tokens[i / 2], 1, &one[i]);
    }
}

/* ---- NCCL alone ------------------------------------------------------------------------------------------------- */

static void time_nccl(struct machine *m)
{
    const int n = m->gpus.ranks;
    const size_t sizes[] = {(size_t)4 << 12, (size_t)4 << 15, (size_t)1 << 20, (size_t)64 << 20};
    const size_t most = small ? (size_t)1 << 20 : (size_t)256 << 20;
    float *from[MOST_GPUS], *to[MOST_GPUS];
    for (int i = 0; i < n; i++) {
        need(cudaSetDevice(i));
        from[i] = (float *)reserve(most), to[i] = (float *)reserve(most);
        need(cudaMemset(from[i], 0, most));
        need(cudaMemset(to[i], 0, most));
    }
    for (size_t bytes : sizes) {
        if (bytes > most) continue;
        const int calls = small ? 2 : bytes > (1 << 22) ? 10 : 100;
        double us = 0.0, host = 0.0;
        for (int k = 0; k < 2; k++) { // the first is a warm-up
            begin_timing(m);
            const double begin = now();
            for (int c = 0; c < calls; c++) {
                need_nccl(ncclGroupStart());
                for (int i = 0; i < n; i++)
                    need_nccl(ncclAllReduce(from[i], from[i], bytes / 4, ncclFloat, ncclSum,
                                            m->gpus.at[i].comm, m->gpus.at[i].stream));
                need_nccl(ncclGroupEnd());
            }
            host = (now() - begin) * 1e6 / calls;
            us = end_timing(m) / calls;
        }
        printf("  all-reduce of %8zu bytes: %7.1f us (host %.1f us)  each sends %.1f GB/s\n", bytes, us, host,
               2.0 * (n - 1) / n * (double)bytes / us * 1e-3);
    }
    const size_t parts[] = {most / 64, most};
    for (size_t bytes : parts) {
        double us = 0.0;
        for (int k = 0; k < 2; k++) {
            begin_timing(m);
            for (int c = 0; c < 5; c++) {
                need_nccl(ncclGroupStart());
                for (int i = 0; i < n; i++) {
                    const struct gpu_rank *r = &m->gpus.at[i];
                    need_nccl(ncclSend(from[i], bytes / 4, ncclFloat, (r->rank + 1) % n, r->comm, r->stream));
                    need_nccl(
                        ncclRecv(to[i], bytes / 4, ncclFloat, (r->rank + n - 1) % n, r->comm, r->stream));
                }
                need_nccl(ncclGroupEnd());
            }
            us = end_timing(m) / 5;
        }
        printf("  send and receive of %9zu bytes: %8.1f us, %.1f GB/s each way\n", bytes, us,
               (double)bytes / us * 1e-3);
    }
    fflush(stdout);
    for (int i = 0; i < n; i++) {
        need(cudaSetDevice(i));
        need(cudaFree(from[i]));
        need(cudaFree(to[i]));
    }
}

static void say_where(int devices)
{
    int version = 0, runtime = 0;
    need_nccl(ncclGetVersion(&version));
    need(cudaRuntimeGetVersion(&runtime));
    printf("NCCL %d.%d.%d, CUDA %d.%d\n", version / 10000, version / 100 % 100, version % 100, runtime / 1000,
           runtime / 10 % 100);
    for (int i = 0; i < devices; i++) {
        struct cudaDeviceProp p;
        need(cudaGetDeviceProperties(&p, i));
        printf("device %d: %s, %d SMs, %.1f GiB; reaches", i, p.name, p.multiProcessorCount,
               (double)p.totalGlobalMem / (double)(1 << 30));
        for (int k = 0; k < devices; k++) {
            int can = 0;
            if (k != i) need(cudaDeviceCanAccessPeer(&can, i, k));
            if (can) printf(" %d", k);
        }
        printf("\n");
    }
    fflush(stdout);
}

int main(int count, char **words)
{
    static struct machine machines[4];
    static struct decode_result decoded[4];
    static struct ring_result rings[7];
    int devices = 0, opened = 0;
    began = now();
    setvbuf(stdout, NULL, _IOLBF, 1 << 16); // what was measured before a hang is not lost
    small = count > 1 && strcmp(words[1], "small") == 0;
    if (count > 1 && atof(words[1]) > 0.0) seconds = atof(words[1]);
    need(cudaGetDeviceCount(&devices));
    say_where(devices);
    for (int ranks = 1; ranks <= devices && ranks <= MOST_GPUS; ranks *= 2) {
        struct machine *m = &machines[opened++];
        open_machine(m, ranks);
        if (ranks > 1) time_nccl(m);
        time_rings(m, rings);
    }
    double rate = 0.0;
    for (int i = 0; i < opened; i++) {
        const double reads = reading_rate(&machines[i]);
        rate = rate == 0.0 ? reads : fmin(rate, reads);
        printf("%d GPU%s: reads %.0f GB/s\n", machines[i].gpus.ranks, i > 0 ? "s" : "", rate * 1e-3);
        time_layers(&machines[i], rate, decoded, 0);
    }
    for (int i = 0; i < opened && !small; i++) { // last, because it is the first that may fail
        printf("%d GPU%s, one graph per step\n", machines[i].gpus.ranks, i > 0 ? "s" : "");
        time_layers(&machines[i], rate, decoded, 1);
    }
    printf("%s after %.1f s\n", wrong ? "WRONG" : "all values right", now() - began);
    fflush(stdout);
    _Exit(wrong); // communicators end with the process
}
