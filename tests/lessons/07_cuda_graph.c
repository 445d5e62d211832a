/**
 * @file 07_cuda_graph.c
 * @brief Lesson 07: decode steps of a batch whose sequences grow, join and leave; replayed, and launch by
 * launch.
 *
 * A case is a schedule. Sequence j joins at step j * every, with a prefix already in the cache, and stays
 * `life` steps; the rows of a step are the sequences that are there, in order. The runner takes all the
 * steps through the student's graphs, then with the same inputs and another cache through the given eager
 * step, and counts the halves of words whose bits differ.
 */
#include "lesson.h"

#include "decode_model.h"

enum value {
    V_LAYERS,
    V_HIDDEN,
    V_HEADS,
    V_KV_HEADS,
    V_HEAD_DIM,
    V_INTERMEDIATE,
    V_VOCAB,
    V_MAX_ROWS,
    V_BLOCK_SIZE,
    V_MAX_BLOCKS,
    V_NUM_BLOCKS,
    V_SCRATCH,
    V_STEPS,
    V_SEQUENCES,
    V_EVERY,
    V_LIFE,
    V_MODE,
    V_MISTAKE
};

/** What is run: graphs and eager launches with a comparison; or one of them alone, to be timed. */
enum mode { MODE_BOTH, MODE_REPLAY, MODE_EAGER };

/** What the student's functions are told wrongly. */
enum mistake {
    RIGHT,
    NULL_MODEL,
    NULL_BUFFERS,
    NULL_HANDLE,
    LEGACY_STREAM,
    MISSING_WEIGHT,
    HEAD_DIM_48,
    ROWS_NOT_A_POWER,
    SCRATCH_OUTSIDE,
    UNEVEN_HEADS,
    NULL_GRAPHS,
    NULL_BATCH,
    NULL_TOKENS,
    NULL_POSITIONS,
    NULL_TABLE,
    NULL_LOGITS,
    NO_ROWS,
    NEGATIVE_ROWS,
    TOO_MANY_ROWS,
    MISTAKES
};

enum { WEIGHTS, TOKENS, POSITIONS, TABLES, CACHE, LOGITS, DIFFERENCE, WORKSPACE, BUFFERS };

static struct decode_config config_of(const int64_t *value)
{
    return (struct decode_config){
        (int)value[V_LAYERS],     (int)value[V_HIDDEN],     (int)value[V_HEADS],
        (int)value[V_KV_HEADS],   (int)value[V_HEAD_DIM],   (int)value[V_INTERMEDIATE],
        (int)value[V_VOCAB],      (int)value[V_MAX_ROWS],   (int)value[V_BLOCK_SIZE],
        (int)value[V_MAX_BLOCKS], (int)value[V_NUM_BLOCKS], (int)value[V_SCRATCH]};
}

/** 1 if sequence @p sequence is part of the batch at @p step. */
static int is_there(const int64_t *value, int sequence, int step)
{
    int64_t join = value[V_EVERY] * sequence;
    return sequence < value[V_SEQUENCES] && step >= join && step < join + value[V_LIFE];
}

/** Sequences before @p sequence that are part of the batch at @p step: its row. */
static int row_of(const int64_t *value, int sequence, int step)
{
    int row = 0;
    for (int j = 0; j < sequence; j++) row += is_there(value, j, step);
    return row;
}

static int rows_at(const int64_t *value, int step)
{
    return row_of(value, (int)value[V_SEQUENCES], step);
}

#ifdef WARPWISE_RUNNER

#include <stdlib.h>

#include "cuda_graph.h"
#include "runner.h"

/** What one case works with. */
struct scene {
    const int64_t *value;
    struct decode_model model;
    struct decode_buffers work;
    void *const *buffers;
    cudaStream_t stream;
};

static struct decode_batch batch_at(const struct scene *scene, int step, int copy)
{
    const struct decode_config *c = &scene->model.config;
    size_t rows = (size_t)c->max_rows, at = (size_t)step * rows, steps = (size_t)scene->value[V_STEPS];
    size_t logits = ((size_t)copy * steps + (size_t)step) * rows * (size_t)c->vocab;
    return (struct decode_batch){rows_at(scene->value, step), (const int *)scene->buffers[TOKENS] + at,
                                 (const int *)scene->buffers[POSITIONS] + at,
                                 (const int *)scene->buffers[TABLES] + at * (size_t)c->max_blocks,
                                 (float *)scene->buffers[LOGITS] + logits};
}

static struct decode_buffers work_with(const struct scene *scene, int copy)
{
    struct decode_buffers work = scene->work;
    work.cache = (char *)work.cache + (size_t)copy * decode_cache_elems(&scene->model.config) * 2;
    return work;
}

/** All steps; rows of logits that a step has no sequences for become zero first. */
static enum kernel_status take_steps(const struct scene *scene, struct decode_graphs *graphs, int copy)
{
    size_t row_bytes = (size_t)scene->model.config.vocab * sizeof(float);
    struct decode_buffers work = work_with(scene, copy);
    enum kernel_status status = KERNEL_OK;
    for (int step = 0; step < (int)scene->value[V_STEPS] && status == KERNEL_OK; step++) {
        struct decode_batch batch = batch_at(scene, step, copy);
        if (scene->value[V_MODE] == MODE_BOTH || batch.rows < scene->model.config.max_rows)
            cudaMemsetAsync(batch.logits, 0, (size_t)scene->model.config.max_rows * row_bytes, scene->stream);
        status = graphs != NULL ? decode_graphs_step(graphs, &batch, scene->stream)
                                : decode_step_eager(&scene->model, &work, &batch, scene->stream);
    }
    return status;
}

/** The rows that pad a batch may write what they like to the scratch pages: those are emptied again. */
static void empty_scratch_pages(const struct scene *scene)
{
    const struct decode_config *c = &scene->model.config;
    size_t page = (size_t)c->block_size * (size_t)c->kv_heads * (size_t)c->head_dim * 2;
    for (size_t i = 0; i < 2 * (size_t)c->layers; i++) {
        size_t first = i * (size_t)c->num_blocks + (size_t)c->scratch_block;
        cudaMemsetAsync((char *)scene->buffers[CACHE] + first * page, 0, (size_t)c->max_rows * page,
                        scene->stream);
    }
}

/** Counts what differs between the two halves of @p device, in @p parts equal parts. */
static void count_differences(const void *device, size_t half_bytes, int parts, int32_t *count)
{
    char *host = malloc(2 * half_bytes);
    if (host == NULL) return;
    cudaMemcpy(host, device, 2 * half_bytes, cudaMemcpyDeviceToHost);
    for (int part = 0; part < parts; part++) {
        size_t first = half_bytes / (size_t)parts * (size_t)part, end = first + half_bytes / (size_t)parts;
        count[part] = 0;
        for (size_t at = first; at < end; at += 2)
            count[part] += memcmp(host + at, host + half_bytes + at, 2) != 0;
    }
    free(host);
}

/** [steps + 1] differing halves of words: in the logits of every step, and in the cache at the end. */
static void compare_with_eager(const struct scene *scene)
{
    const struct decode_config *c = &scene->model.config;
    int steps = (int)scene->value[V_STEPS];
    size_t logits = (size_t)steps * (size_t)c->max_rows * (size_t)c->vocab * sizeof(float);
    int32_t *count = malloc((size_t)(steps + 1) * sizeof *count);
    if (count == NULL) return;
    marshalling_may_look(1); /* the kernel file's own code may not, nor wait */
    cudaStreamSynchronize(scene->stream);
    count_differences(scene->buffers[LOGITS], logits, steps, count);
    count_differences(scene->buffers[CACHE], decode_cache_elems(c) * 2, 1, count + steps);
    cudaMemcpy(scene->buffers[DIFFERENCE], count, (size_t)(steps + 1) * sizeof *count,
               cudaMemcpyHostToDevice);
    marshalling_may_look(0);
    free(count);
}

/* ---- mistakes ------------------------------------------------------------------------------------------ */

static void spoil_model(enum mistake mistake, struct decode_model *model)
{
    if (mistake == MISSING_WEIGHT) model->layer[model->config.layers - 1].down = NULL;
    if (mistake == HEAD_DIM_48) model->config.head_dim = 48;
    if (mistake == ROWS_NOT_A_POWER) model->config.max_rows = 3;
    if (mistake == SCRATCH_OUTSIDE) model->config.scratch_block = model->config.num_blocks;
    if (mistake == UNEVEN_HEADS) model->config.kv_heads = 3;
}

static void spoil_batch(enum mistake mistake, struct decode_batch *batch, int max_rows)
{
    if (mistake == NULL_TOKENS) batch->tokens = NULL;
    if (mistake == NULL_POSITIONS) batch->positions = NULL;
    if (mistake == NULL_TABLE) batch->block_table = NULL;
    if (mistake == NULL_LOGITS) batch->logits = NULL;
    if (mistake == NO_ROWS) batch->rows = 0;
    if (mistake == NEGATIVE_ROWS) batch->rows = -2;
    if (mistake == TOO_MANY_ROWS) batch->rows = max_rows + 1;
}

/** The student's creation; what must hold when it fails is looked at here. */
static enum kernel_status create(const struct scene *scene, enum mistake mistake,
                                 struct decode_graphs **graphs)
{
    struct decode_model model = scene->model;
    enum cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    struct decode_graphs *before = (struct decode_graphs *)scene->value;
    *graphs = before;
    spoil_model(mistake, &model);
    enum kernel_status status = decode_graphs_create(
        mistake == NULL_MODEL ? NULL : &model, mistake == NULL_BUFFERS ? NULL : &scene->work,
        mistake == LEGACY_STREAM ? NULL : scene->stream, mistake == NULL_HANDLE ? NULL : graphs);
    cudaStreamIsCapturing(scene->stream, &capture);
    if (capture !=
        cudaStreamCaptureStatusNone) { /* left open: closed here, so that the next case can go on */
        cudaGraph_t open = NULL;
        cudaStreamEndCapture(scene->stream, &open);
        if (open != NULL) cudaGraphDestroy(open);
        cudaGetLastError();
        if (status != KERNEL_OK) *graphs = NULL;
        return KERNEL_CUDA_ERROR;
    }
    if (status == KERNEL_OK || status == KERNEL_NOT_STARTED || mistake == NULL_HANDLE) return status;
    return *graphs == NULL ? status : KERNEL_CUDA_ERROR;
}

static enum kernel_status step_with(const struct scene *scene, enum mistake mistake,
                                    struct decode_graphs *graphs)
{
    struct decode_batch batch = batch_at(scene, 0, 0);
    spoil_batch(mistake, &batch, scene->model.config.max_rows);
    return decode_graphs_step(mistake == NULL_GRAPHS ? NULL : graphs, mistake == NULL_BATCH ? NULL : &batch,
                              scene->stream);
}

/* ---- a case -------------------------------------------------------------------------------------------- */

static enum kernel_status run_both(const struct scene *scene)
{
    enum mistake mistake = (enum mistake)scene->value[V_MISTAKE];
    struct decode_graphs *graphs = NULL;
    enum kernel_status status = create(scene, mistake, &graphs);
    if (status != KERNEL_OK) return status;
    status = mistake >= NULL_GRAPHS ? step_with(scene, mistake, graphs) : take_steps(scene, graphs, 0);
    marshalling_may_look(1);
    cudaStreamSynchronize(scene->stream);
    marshalling_may_look(0);
    decode_graphs_destroy(graphs);
    if (status != KERNEL_OK || mistake != RIGHT) return status;
    status = take_steps(scene, NULL, 1);
    empty_scratch_pages(scene);
    compare_with_eager(scene);
    return status;
}

/** To be timed: the graphs are made once and kept until another case comes. */
static enum kernel_status replay_only(const struct scene *scene)
{
    static struct decode_graphs *kept;
    static struct decode_buffers of;
    if (kept != NULL && memcmp(&of, &scene->work, sizeof of) != 0) {
        decode_graphs_destroy(kept);
        kept = NULL;
    }
    of = scene->work;
    enum kernel_status status = kept == NULL ? create(scene, RIGHT, &kept) : KERNEL_OK;
    return status == KERNEL_OK ? take_steps(scene, kept, 0) : status;
}

enum kernel_status lesson_call(const struct wire_case *item, void *const *buffers, cudaStream_t stream)
{
    struct scene scene = {.value = item->value, .buffers = buffers, .stream = stream};
    struct decode_config config = config_of(item->value);
    decode_model_at(&config, (const decode_half *)buffers[WEIGHTS], &scene.model);
    memset(&scene.work, 0, sizeof scene.work);
    decode_buffers_at(&config, buffers[WORKSPACE], buffers[CACHE], &scene.work);
    if (item->value[V_MODE] == MODE_BOTH) return run_both(&scene);
    cudaMemsetAsync(buffers[DIFFERENCE], 0, ((size_t)item->value[V_STEPS] + 1) * sizeof(int32_t), stream);
    return item->value[V_MODE] == MODE_REPLAY ? replay_only(&scene) : take_steps(&scene, NULL, 0);
}

size_t lesson_workspace_bytes(const struct wire_case *item)
{
    struct decode_buffers work;
    struct decode_config config = config_of(item->value);
    return decode_buffers_at(&config, NULL, NULL, &work);
}

#else

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bound.h"
#include "decode_step.h"
#include "parallel.h"

/** A model: layers, hidden, heads, kv_heads, head_dim, intermediate, vocab. */
struct sizes {
    int layers, hidden, heads, kv_heads, head_dim, intermediate, vocab;
};

static const struct sizes TINY = {2, 32, 2, 1, 32, 24, 20}, SMALLEST = {1, 8, 1, 1, 32, 4, 5};
static const struct sizes WIDE = {1, 40, 6, 2, 64, 33, 67}, DEEP = {5, 16, 2, 2, 32, 16, 11};
static const struct sizes HIDDEN_256 = {8, 256, 8, 2, 32, 512, 512};
static const struct sizes HIDDEN_1024 = {8, 1024, 16, 8, 64, 1024, 1024};
static const struct sizes LAYERS_28 = {28, 256, 8, 2, 32, 512, 512};
/* Layers as those models have them; fewer tokens, and of the larger model two layers. */
static const struct sizes LIKE_0_6B = {28, 1024, 16, 8, 128, 3072, 1024};
static const struct sizes LIKE_8B = {2, 4096, 32, 8, 128, 12288, 1024};

struct table_row {
    const char *name;
    enum case_group group;
    unsigned devices;
    const struct sizes *sizes;
    int max_rows, block_size, steps, sequences, every, life;
    enum mode mode;
};

static const struct table_row TABLE[] = {
    {"step/one_sequence", GROUP_BASIC, DEVICE_ANY, &TINY, 1, 16, 6, 1, 0, 6, MODE_BOTH},
    {"step/four_sequences", GROUP_BASIC, DEVICE_ANY, &TINY, 4, 16, 4, 4, 0, 4, MODE_BOTH},
    {"step/smallest", GROUP_BASIC, DEVICE_ANY, &SMALLEST, 2, 4, 3, 2, 0, 3, MODE_BOTH},
    {"step/rows_3_of_4", GROUP_EDGES, DEVICE_ANY, &TINY, 4, 16, 3, 3, 0, 3, MODE_BOTH},
    {"step/rows_5_of_8", GROUP_EDGES, DEVICE_ANY, &TINY, 8, 16, 3, 5, 0, 3, MODE_BOTH},
    {"step/rows_9_of_16", GROUP_EDGES, DEVICE_ANY, &SMALLEST, 16, 4, 2, 9, 0, 2, MODE_BOTH},
    {"step/rows_33_of_64", GROUP_EDGES, DEVICE_GPU, &TINY, 64, 16, 8, 33, 0, 8, MODE_BOTH},
    {"step/page_edges", GROUP_EDGES, DEVICE_ANY, &TINY, 4, 2, 9, 3, 0, 9, MODE_BOTH},
    {"step/pages_of_one", GROUP_EDGES, DEVICE_ANY, &SMALLEST, 2, 1, 5, 2, 0, 5, MODE_BOTH},
    {"step/pages_of_32", GROUP_EDGES, DEVICE_ANY, &SMALLEST, 2, 32, 5, 2, 0, 5, MODE_BOTH},
    {"step/grouped_heads", GROUP_EDGES, DEVICE_ANY, &WIDE, 2, 16, 2, 2, 0, 2, MODE_BOTH},
    {"step/five_layers", GROUP_EDGES, DEVICE_ANY, &DEEP, 2, 4, 3, 2, 0, 3, MODE_BOTH},
    {"step/joins_and_leaves", GROUP_NUMERICS, DEVICE_ANY, &SMALLEST, 4, 4, 24, 9, 3, 8, MODE_BOTH},
    {"step/batch_shrinks", GROUP_NUMERICS, DEVICE_ANY, &TINY, 8, 8, 11, 8, 1, 4, MODE_BOTH},
    {"step/64_steps", GROUP_NUMERICS, DEVICE_ANY, &SMALLEST, 4, 8, 64, 8, 8, 20, MODE_BOTH},
    {"step/property_replay_is_eager", GROUP_PROPERTIES, DEVICE_ANY, &SMALLEST, 4, 4, 3, 4, 0, 3, MODE_BOTH},
    {"step/tiny", GROUP_SPEED, DEVICE_ANY, &SMALLEST, 1, 16, 2, 1, 0, 2, MODE_BOTH},
    {"step/eager_tiny", GROUP_SPEED, DEVICE_ANY, &SMALLEST, 1, 16, 2, 1, 0, 2, MODE_EAGER},
    {"step/replay_256_rows_1", GROUP_SPEED, DEVICE_GPU, &HIDDEN_256, 1, 16, 4, 1, 0, 4, MODE_REPLAY},
    {"step/eager_256_rows_1", GROUP_SPEED, DEVICE_GPU, &HIDDEN_256, 1, 16, 4, 1, 0, 4, MODE_EAGER},
    {"step/replay_1024_rows_1", GROUP_SPEED, DEVICE_GPU, &HIDDEN_1024, 1, 16, 4, 1, 0, 4, MODE_REPLAY},
    {"step/eager_1024_rows_1", GROUP_SPEED, DEVICE_GPU, &HIDDEN_1024, 1, 16, 4, 1, 0, 4, MODE_EAGER},
    {"step/replay_1024_rows_8", GROUP_SPEED, DEVICE_GPU, &HIDDEN_1024, 8, 16, 2, 8, 0, 2, MODE_REPLAY},
    {"step/eager_1024_rows_8", GROUP_SPEED, DEVICE_GPU, &HIDDEN_1024, 8, 16, 2, 8, 0, 2, MODE_EAGER},
    {"step/replay_28_layers", GROUP_SPEED, DEVICE_GPU, &LAYERS_28, 1, 16, 4, 1, 0, 4, MODE_REPLAY},
    {"step/eager_28_layers", GROUP_SPEED, DEVICE_GPU, &LAYERS_28, 1, 16, 4, 1, 0, 4, MODE_EAGER},
    {"step/replay_like_qwen3_0_6b", GROUP_SPEED, DEVICE_GPU, &LIKE_0_6B, 1, 16, 1, 1, 0, 1, MODE_REPLAY},
    {"step/eager_like_qwen3_0_6b", GROUP_SPEED, DEVICE_GPU, &LIKE_0_6B, 1, 16, 1, 1, 0, 1, MODE_EAGER},
    {"step/replay_like_qwen3_8b", GROUP_SPEED, DEVICE_GPU, &LIKE_8B, 1, 16, 1, 1, 0, 1, MODE_REPLAY},
    {"step/eager_like_qwen3_8b", GROUP_SPEED, DEVICE_GPU, &LIKE_8B, 1, 16, 1, 1, 0, 1, MODE_EAGER},
};

static const struct {
    const char *name;
    enum mistake mistake;
    enum kernel_status expected;
} BAD[] = {
    {"step/null_model", NULL_MODEL, KERNEL_INVALID_CONFIG},
    {"step/null_buffers", NULL_BUFFERS, KERNEL_INVALID_CONFIG},
    {"step/null_handle", NULL_HANDLE, KERNEL_INVALID_CONFIG},
    {"step/legacy_stream", LEGACY_STREAM, KERNEL_INVALID_CONFIG},
    {"step/weight_missing", MISSING_WEIGHT, KERNEL_INVALID_CONFIG},
    {"step/head_dim_48", HEAD_DIM_48, KERNEL_INVALID_DIMENSION},
    {"step/max_rows_3", ROWS_NOT_A_POWER, KERNEL_INVALID_DIMENSION},
    {"step/scratch_page_outside", SCRATCH_OUTSIDE, KERNEL_INVALID_DIMENSION},
    {"step/heads_2_of_3", UNEVEN_HEADS, KERNEL_INVALID_DIMENSION},
    {"step/null_graphs", NULL_GRAPHS, KERNEL_INVALID_CONFIG},
    {"step/null_batch", NULL_BATCH, KERNEL_INVALID_CONFIG},
    {"step/null_tokens", NULL_TOKENS, KERNEL_INVALID_CONFIG},
    {"step/null_positions", NULL_POSITIONS, KERNEL_INVALID_CONFIG},
    {"step/null_block_table", NULL_TABLE, KERNEL_INVALID_CONFIG},
    {"step/null_logits", NULL_LOGITS, KERNEL_INVALID_CONFIG},
    {"step/rows_0", NO_ROWS, KERNEL_INVALID_DIMENSION},
    {"step/rows_negative", NEGATIVE_ROWS, KERNEL_INVALID_DIMENSION},
    {"step/rows_above_the_largest_bucket", TOO_MANY_ROWS, KERNEL_INVALID_DIMENSION},
};

/* ---- schedules ----------------------------------------------------------------------------------------- */

static void set_sizes(struct lesson_case *item, const struct sizes *sizes, int max_rows, int block_size)
{
    int64_t *v = item->value;
    v[V_LAYERS] = sizes->layers;
    v[V_HIDDEN] = sizes->hidden;
    v[V_HEADS] = sizes->heads;
    v[V_KV_HEADS] = sizes->kv_heads;
    v[V_HEAD_DIM] = sizes->head_dim;
    v[V_INTERMEDIATE] = sizes->intermediate;
    v[V_VOCAB] = sizes->vocab;
    v[V_MAX_ROWS] = max_rows;
    v[V_BLOCK_SIZE] = block_size;
}

static void set_schedule(struct lesson_case *item, int steps, int sequences, int every, int life)
{
    int64_t *v = item->value;
    v[V_STEPS] = steps;
    v[V_SEQUENCES] = sequences;
    v[V_EVERY] = every;
    v[V_LIFE] = life;
    /* A prefix is shorter than two pages. Scratch pages lie in the middle of the others. */
    v[V_MAX_BLOCKS] = 3 + (life + v[V_BLOCK_SIZE] - 1) / v[V_BLOCK_SIZE];
    v[V_NUM_BLOCKS] = sequences * v[V_MAX_BLOCKS] + v[V_MAX_ROWS];
    v[V_SCRATCH] = sequences * v[V_MAX_BLOCKS] / 2;
}

/** Tokens in the cache when a sequence joins; some are about to fill a page, some have just done so. */
static int prefix_of(const int64_t *value, int sequence)
{
    int size = (int)value[V_BLOCK_SIZE];
    return (size - 1 + 3 * sequence) % (2 * size);
}

/** Page @p index of a sequence; pages are strewn over the cache, and sequence 0 begins in page 0. */
static int page_of(const int64_t *value, int sequence, int index)
{
    int64_t pages = value[V_NUM_BLOCKS] - value[V_MAX_ROWS],
            at = (int64_t)sequence * value[V_MAX_BLOCKS] + index, stride = 1;
    for (int64_t candidate = 2; candidate < pages; candidate++) {
        int64_t a = pages, b = candidate;
        while (b != 0) {
            int64_t rest = a % b;
            a = b;
            b = rest;
        }
        if (a == 1) stride = candidate;
        if (a == 1 && candidate * 3 > pages) break;
    }
    int64_t page = at * stride % pages;
    return (int)(page < value[V_SCRATCH] ? page : page + value[V_MAX_ROWS]);
}

static int cases(struct lesson_case *cases, int capacity)
{
    int count = 0;
    const size_t good = sizeof TABLE / sizeof TABLE[0], all = good + sizeof BAD / sizeof BAD[0];
    for (size_t i = 0; i < all && count < capacity; i++) {
        const struct table_row *row = &TABLE[i < good ? i : 1];
        struct lesson_case *item = &cases[count++];
        *item = (struct lesson_case){.group = i < good ? row->group : GROUP_BAD_INPUT,
                                     .weight = i >= good ? 1 : row->mode == MODE_EAGER ? 0 : 3,
                                     .devices = row->devices,
                                     .null_buffer = -1,
                                     .misaligned_buffer = -1,
                                     .repeat = row->group == GROUP_PROPERTIES && i < good ? 100 : 1};
        set_sizes(item, row->sizes, row->max_rows, row->block_size);
        set_schedule(item, row->steps, row->sequences, row->every, row->life);
        item->value[V_MODE] = row->mode;
        item->value[V_MISTAKE] = i < good ? RIGHT : BAD[i - good].mistake;
        item->expected = i < good ? KERNEL_OK : BAD[i - good].expected;
        if (row->mode == MODE_REPLAY && i < good)
            item->beside = count + 1; /* its line is followed by eager's */
        snprintf(item->name, sizeof item->name, "%s", i < good ? row->name : BAD[i - good].name);
    }
    return count;
}

static void vary(struct lesson_case *item, int index, struct rng *rng)
{
    static const int page_sizes[] = {1, 2, 4, 8, 16};
    struct sizes sizes = SMALLEST;
    (void)index;
    item->seed = rng_next(rng);
    sizes.layers = 1 + rng_between(rng, 0, 3) / 3; /* two now and then: launches are what takes time */
    sizes.hidden = rng_between(rng, 4, 9);
    sizes.kv_heads = rng_between(rng, 1, 2);
    sizes.heads = sizes.kv_heads * rng_between(rng, 1, 2);
    sizes.vocab = rng_between(rng, 2, 9);
    int max_rows = 1 << rng_between(rng, 0, 2), every = rng_between(rng, 0, 2);
    set_sizes(item, &sizes, max_rows, page_sizes[rng_between(rng, 0, 4)]);
    int life = every == 0 ? 4 : rng_between(rng, every, every * max_rows);
    int sequences = every == 0 ? rng_between(rng, 1, max_rows) : 4 / every + 1;
    set_schedule(item, 4, sequences, every, life);
}

/* ---- buffers ------------------------------------------------------------------------------------------- */

static int buffers(const struct lesson_case *item, struct lesson_buffer *b)
{
    struct decode_model model;
    struct decode_buffers work;
    struct decode_config c = config_of(item->value);
    size_t steps = (size_t)item->value[V_STEPS], rows = (size_t)c.max_rows;
    size_t copies = item->value[V_MODE] == MODE_BOTH ? 2 : 1;
    size_t page = (size_t)c.block_size * (size_t)c.kv_heads * (size_t)c.head_dim;
    b[WEIGHTS] =
        (struct lesson_buffer){"weights", WIRE_IN, 1, {decode_model_at(&c, NULL, &model)}, {0}, STORAGE_F16};
    b[TOKENS] = (struct lesson_buffer){"tokens", WIRE_IN, 2, {steps, rows}, {0}, STORAGE_I32};
    b[POSITIONS] = (struct lesson_buffer){"positions", WIRE_IN, 2, {steps, rows}, {0}, STORAGE_I32};
    b[TABLES] = (struct lesson_buffer){"block_table", WIRE_IN,    3, {steps, rows, (size_t)c.max_blocks},
                                       {0},           STORAGE_I32};
    b[CACHE] = (struct lesson_buffer){
        "cache", WIRE_INOUT, 4, {copies, 2 * (size_t)c.layers, (size_t)c.num_blocks, page}, {0}, STORAGE_F16};
    b[LOGITS] = (struct lesson_buffer){"logits", WIRE_OUT,   4, {copies, steps, rows, (size_t)c.vocab},
                                       {0},      STORAGE_F32};
    b[DIFFERENCE] =
        (struct lesson_buffer){"differences_from_eager", WIRE_OUT, 1, {steps + 1}, {0}, STORAGE_I32};
    b[WORKSPACE] = (struct lesson_buffer){
        "workspace", WIRE_WORKSPACE, 1, {decode_buffers_at(&c, NULL, NULL, &work) / 4}, {0}, STORAGE_F32};
    return BUFFERS;
}

/** Weights as floats on their way into the array: where a matrix lies is told by a model of nothing. */
struct weights {
    struct decode_model model; /* its pointers begin at NOWHERE */
    float *data;
    struct rng rng;
};

/* Some address but NULL, of which everything is so far away as it is from the beginning of the array. */
#define NOWHERE ((const decode_half *)(uintptr_t)DECODE_ALIGNMENT)

static float *weights_at(const struct weights *w, const decode_half *at)
{
    return w->data + ((uintptr_t)at - (uintptr_t)NOWHERE) / sizeof *at;
}

static void fill_matrix(struct weights *w, const decode_half *matrix, size_t inputs, size_t outputs)
{
    float *to = weights_at(w, matrix), scale = (float)(1.0 / sqrt((double)inputs));
    rng_fill_normal(&w->rng, to, inputs * outputs);
    for (size_t i = 0; i < inputs * outputs; i++) to[i] *= scale;
}

static void fill_gain(struct weights *w, const decode_half *gain)
{
    float *to = weights_at(w, gain);
    for (int i = 0; i < w->model.config.hidden; i++) to[i] = (float)(1.0 + 0.2 * rng_normal(&w->rng));
}

static void fill_weights(const struct decode_config *c, struct rng *rng, float *data)
{
    struct weights w = {.data = data, .rng = *rng};
    size_t hidden = (size_t)c->hidden, inner = (size_t)c->intermediate;
    decode_model_at(c, NOWHERE, &w.model);
    fill_matrix(&w, w.model.embedding, 1, (size_t)c->vocab * hidden);
    for (int i = 0; i < c->layers; i++) {
        const struct decode_layer *layer = &w.model.layer[i];
        fill_gain(&w, layer->attention_norm);
        fill_matrix(&w, layer->qkv, hidden, decode_qkv_width(c));
        fill_matrix(&w, layer->out, (size_t)c->heads * (size_t)c->head_dim, hidden);
        fill_gain(&w, layer->mlp_norm);
        fill_matrix(&w, layer->gate_up, hidden, 2 * inner);
        fill_matrix(&w, layer->down, inner, hidden);
    }
    fill_gain(&w, w.model.final_norm);
    fill_matrix(&w, w.model.to_logits, hidden, (size_t)c->vocab);
}

/** Inputs of rows that are not there would crash whoever takes them for some that are. */
static void fill_batches(const struct lesson_case *item, int index, struct rng *rng, float *data)
{
    const int64_t *v = item->value;
    size_t rows = (size_t)v[V_MAX_ROWS], blocks = (size_t)v[V_MAX_BLOCKS];
    size_t width = index == TABLES ? blocks : 1;
    for (size_t i = 0; i < (size_t)v[V_STEPS] * rows * width; i++) data[i] = -1.0f;
    for (int step = 0; step < (int)v[V_STEPS]; step++) {
        for (int j = 0, row = 0; j < (int)v[V_SEQUENCES]; j++) {
            if (!is_there(v, j, step)) continue;
            float *at = data + ((size_t)step * rows + (size_t)row++) * width;
            int position = prefix_of(v, j) + step - (int)v[V_EVERY] * j;
            if (index == TOKENS) *at = (float)rng_between(rng, 0, (int)v[V_VOCAB] - 1);
            if (index == POSITIONS) *at = (float)position;
            for (int i = 0; index == TABLES && i <= position / (int)v[V_BLOCK_SIZE]; i++)
                at[i] = (float)page_of(v, j, i);
        }
    }
}

/** Where a position of a sequence begins in [num_blocks, block_size, kv_heads, head_dim]. */
static size_t place_of(const int64_t *v, int sequence, int position)
{
    size_t page = (size_t)page_of(v, sequence, position / (int)v[V_BLOCK_SIZE]);
    return (page * (size_t)v[V_BLOCK_SIZE] + (size_t)(position % v[V_BLOCK_SIZE])) *
           (size_t)(v[V_KV_HEADS] * v[V_HEAD_DIM]);
}

/** NaN wherever nobody may read; the prefixes; zeros in the scratch pages. The copies are the same. */
static void fill_cache(const struct lesson_case *item, size_t elems, struct rng *rng, float *data)
{
    const int64_t *v = item->value;
    struct decode_config c = config_of(v);
    size_t one = decode_cache_elems(&c), slice = one / (2 * (size_t)c.layers),
           page = slice / (size_t)c.num_blocks;
    size_t width = (size_t)(c.kv_heads * c.head_dim);
    for (size_t i = 0; i < one; i++) data[i] = NAN;
    for (size_t part = 0; part < 2 * (size_t)c.layers; part++) {
        float *of_part = data + part * slice;
        for (size_t i = 0; i < (size_t)c.max_rows * page; i++)
            of_part[(size_t)c.scratch_block * page + i] = 0.0f;
        for (int j = 0; j < (int)v[V_SEQUENCES]; j++)
            for (int t = 0; t < prefix_of(v, j); t++)
                for (size_t i = 0; i < width; i++) of_part[place_of(v, j, t) + i] = (float)rng_normal(rng);
    }
    for (size_t i = one; i < elems; i++) data[i] = data[i - one];
}

static void fill(const struct lesson_case *item, int index, size_t elems, struct rng *rng, float *data)
{
    struct decode_config c = config_of(item->value);
    if (index == WEIGHTS)
        fill_weights(&c, rng, data);
    else if (index == CACHE)
        fill_cache(item, elems, rng, data);
    else
        fill_batches(item, index, rng, data);
}

/* ---- the oracle ---------------------------------------------------------------------------------------- */

static size_t units(const struct lesson_case *item)
{
    (void)item;
    return 1; /* every step depends on those before it */
}

static size_t unit_elems(const struct lesson_case *item)
{
    struct lesson_buffer b[BUFFERS];
    buffers(item, b);
    size_t cache = lesson_elems(&b[CACHE]), logits = lesson_elems(&b[LOGITS]);
    return (cache > logits ? cache : logits) + lesson_elems(&b[DIFFERENCE]);
}

static double stored_as_half(double x)
{
    return (double)storage_round(STORAGE_F16, (float)x);
}

/** A sequence as the oracle and as a plain f32 computation see it, and what they work with. */
struct followed {
    struct ref_decode_sizes sizes;
    struct ref_decode_sequence exact, plain;
    struct ref_decode_magnitudes magnitudes;
    double *logits, *plain_logits, *scratch;
};

static int follow_open(struct followed *f, const int64_t *v)
{
    f->sizes = (struct ref_decode_sizes){(int)v[V_LAYERS],   (int)v[V_HIDDEN],   (int)v[V_HEADS],
                                         (int)v[V_KV_HEADS], (int)v[V_HEAD_DIM], (int)v[V_INTERMEDIATE],
                                         (int)v[V_VOCAB]};
    size_t capacity = (size_t)(v[V_MAX_BLOCKS] * v[V_BLOCK_SIZE]), vocab = (size_t)v[V_VOCAB];
    size_t kv = (size_t)(v[V_LAYERS] * v[V_KV_HEADS] * v[V_HEAD_DIM]), history = capacity * kv;
    double *memory = calloc(4 * history + 2 * kv + 3 * vocab + ref_decode_scratch_elems(&f->sizes, capacity),
                            sizeof *memory);
    f->exact = (struct ref_decode_sequence){capacity, memory, memory + history};
    f->plain = (struct ref_decode_sequence){capacity, memory + 2 * history, memory + 3 * history};
    if (memory == NULL) return 0;
    f->magnitudes.keys = memory + 4 * history;
    f->magnitudes.values = f->magnitudes.keys + kv;
    f->magnitudes.logits = f->magnitudes.values + kv;
    f->logits = f->magnitudes.logits + vocab;
    f->plain_logits = f->logits + vocab;
    f->scratch = f->plain_logits + vocab;
    return 1;
}

/** The prefix of sequence @p j, from the pages of the cache. */
static void follow_from(struct followed *f, const int64_t *v, const float *cache, int j)
{
    struct decode_config c = config_of(v);
    size_t width = (size_t)(c.kv_heads * c.head_dim), slice = decode_cache_elems(&c) / (2 * (size_t)c.layers);
    for (size_t layer = 0; layer < (size_t)c.layers; layer++)
        for (int t = 0; t < prefix_of(v, j); t++)
            for (size_t i = 0; i < width; i++) {
                size_t to = (layer * f->exact.capacity + (size_t)t) * width + i, from = place_of(v, j, t) + i;
                f->exact.keys[to] = f->plain.keys[to] = (double)cache[2 * layer * slice + from];
                f->exact.values[to] = f->plain.values[to] = (double)cache[(2 * layer + 1) * slice + from];
            }
}

/*
 * A new key or value near the middle between two halves may be stored as either. From there on everything
 * is a little different, as if states were good to the precision of a half: hence these bounds, which are
 * those of results stored as half. What such a tie does is luck, so all of it counts as floor.
 */
static void put(struct lesson_span *span, size_t at, double expected, double plain, double bound)
{
    span->expected[at] = expected;
    span->plain[at] = plain;
    span->bound[at] = span->floor[at] = bound;
}

static void put_new_keys(const struct followed *f, const int64_t *v, int j, int position,
                         struct lesson_span *span)
{
    struct decode_config c = config_of(v);
    size_t width = (size_t)(c.kv_heads * c.head_dim), slice = decode_cache_elems(&c) / (2 * (size_t)c.layers);
    for (size_t layer = 0; layer < (size_t)c.layers; layer++)
        for (size_t i = 0; i < width; i++) {
            size_t from = (layer * f->exact.capacity + (size_t)position) * width + i;
            size_t to = 2 * layer * slice + place_of(v, j, position) + i;
            double key = f->exact.keys[from], value = f->exact.values[from];
            double of_key = fabs(key) + f->magnitudes.keys[layer * width + i];
            double of_value = fabs(value) + f->magnitudes.values[layer * width + i];
            put(span, to, key, f->plain.keys[from], bound_stored_as(STORAGE_F16, of_key));
            put(span, to + slice, value, f->plain.values[from], bound_stored_as(STORAGE_F16, of_value));
        }
}

static void follow_step(struct followed *f, const int64_t *v, const float *const *data, int j, int step,
                        struct lesson_expectation *e)
{
    const struct ref_decode_rounding exact = {stored_as_half, 0}, plain = {stored_as_half, 1};
    int row = row_of(v, j, step);
    size_t at = (size_t)step * (size_t)v[V_MAX_ROWS] + (size_t)row, vocab = (size_t)v[V_VOCAB];
    int token = (int)data[TOKENS][at], position = (int)data[POSITIONS][at];
    ref_decode_step(&f->sizes, data[WEIGHTS], &plain, token, position, &f->plain, f->plain_logits, NULL,
                    f->scratch);
    ref_decode_step(&f->sizes, data[WEIGHTS], &exact, token, position, &f->exact, f->logits, &f->magnitudes,
                    f->scratch);
    put_new_keys(f, v, j, position, &e->span[0]);
    for (size_t i = 0; i < vocab; i++)
        put(&e->span[1], at * vocab + i, f->logits[i], f->plain_logits[i],
            bound_stored(f->logits[i]) + bound_stored_as(STORAGE_F16, f->magnitudes.logits[i]));
}

/** The second half of a span is like the first. */
static void repeat_half(struct lesson_span *span)
{
    size_t half = span->count / 2;
    for (size_t i = 0; i < half; i++) put(span, half + i, span->expected[i], span->plain[i], span->bound[i]);
}

/** Sequences know nothing of each other: each can be followed by another thread. */
struct following {
    const int64_t *v;
    const float *const *data;
    struct lesson_expectation *e;
};

static void follow(void *context, size_t first, size_t last)
{
    const struct following *f = context;
    struct followed followed = {0};
    if (!follow_open(&followed, f->v)) abort();
    for (size_t j = first; j < last; j++) {
        follow_from(&followed, f->v, f->data[CACHE], (int)j);
        for (int step = 0; step < (int)f->v[V_STEPS]; step++)
            if (is_there(f->v, (int)j, step)) follow_step(&followed, f->v, f->data, (int)j, step, f->e);
    }
    free(followed.exact.keys);
}

static int cheap_to_follow(const int64_t *v)
{
    return v[V_LAYERS] * v[V_HIDDEN] * v[V_HIDDEN] * v[V_STEPS] < 1 << 20;
}

static void expect(const struct lesson_case *item, const float *const *data, size_t unit,
                   struct lesson_expectation *e)
{
    const int64_t *v = item->value;
    struct lesson_buffer b[BUFFERS];
    (void)unit;
    buffers(item, b);
    e->span_count = 3;
    for (int s = 0; s < 3; s++) {
        struct lesson_span *span = &e->span[s];
        span->buffer = CACHE + s;
        span->first = 0;
        span->count = lesson_elems(&b[CACHE + s]);
        for (size_t i = 0; i < span->count; i++) {
            double before = s == 0 ? (double)data[CACHE][i] : 0.0;
            put(span, i, before, before, 0.0);
        }
    }
    struct following following = {v, data, e};
    parallel_for((size_t)v[V_SEQUENCES], cheap_to_follow(v) ? (size_t)v[V_SEQUENCES] : 1, follow, &following);
    if (v[V_MODE] != MODE_BOTH) return;
    repeat_half(&e->span[0]);
    repeat_half(&e->span[1]);
}

/* ---- words --------------------------------------------------------------------------------------------- */

static int trait(const struct lesson_case *item, int index, const char **message)
{
    static const char *const messages[] = {
        "only batches that are no power of two fail: look at the padding, and at the choice of the bucket",
        "only cases of more than one step fail: what does a replay read anew, and what was frozen?"};
    if (index > 1) return -1;
    *message = messages[index];
    if (index == 1) return item->value[V_STEPS] > 1 && item->value[V_MISTAKE] == RIGHT;
    int padded = 0;
    for (int step = 0; step < (int)item->value[V_STEPS]; step++) {
        int rows = rows_at(item->value, step);
        padded |= (rows & (rows - 1)) != 0;
    }
    return padded && item->value[V_MISTAKE] == RIGHT;
}

static int guess(const struct lesson_case *item, const float *const *data, int index, int buffer, size_t at,
                 double *value, char *message, size_t size)
{
    (void)item, (void)data, (void)index, (void)buffer, (void)at, (void)value, (void)message, (void)size;
    return -1;
}

static const char *purpose(const struct lesson_case *item)
{
    if (item->value[V_MISTAKE] == MISSING_WEIGHT)
        return "a kernel of the last layer is refused in the middle of the capture";
    if (item->value[V_EVERY] > 0) return "sequences join and leave, so that they change rows and buckets";
    return NULL;
}

enum { KERNELS_A_LAYER = 6 }; /* decode_kernels.h says so; an embedding and the logits come on top */

static void cost(const struct lesson_case *item, struct lesson_cost *cost)
{
    struct decode_model model;
    struct decode_config c = config_of(item->value);
    double weights = (double)decode_model_at(&c, NULL, &model), rows = 0.0;
    for (int step = 0; step < (int)item->value[V_STEPS]; step++) rows += rows_at(item->value, step);
    *cost = (struct lesson_cost){.flop = 2.0 * weights * rows,
                                 .min_bytes = 2.0 * weights * (double)item->value[V_STEPS],
                                 .oracle_ops = 8.0 * weights * rows,
                                 .kernels = (double)item->value[V_STEPS] * (2 + KERNELS_A_LAYER * c.layers)};
}

static size_t workspace_bytes(const struct lesson_case *item)
{
    struct decode_buffers work;
    struct decode_config c = config_of(item->value);
    return decode_buffers_at(&c, NULL, NULL, &work);
}

static void describe(const struct lesson_case *item, char *text, size_t size)
{
    const int64_t *v = item->value;
    snprintf(
        text, size,
        "%lld steps, %d to %lld rows, %lld layers, hidden %lld, heads %lld/%lld, head_dim %lld, page %lld",
        (long long)v[V_STEPS], rows_at(v, 0), (long long)v[V_MAX_ROWS], (long long)v[V_LAYERS],
        (long long)v[V_HIDDEN], (long long)v[V_HEADS], (long long)v[V_KV_HEADS], (long long)v[V_HEAD_DIM],
        (long long)v[V_BLOCK_SIZE]);
}

const struct lesson lesson_07_cuda_graph = {
    .number = 7,
    .topic = "cuda_graph",
    .title = "a decode step as a graph",
    .part_count = 1,
    .part = {{"step", 100}},
    .cases = cases,
    .vary = vary,
    .buffers = buffers,
    .fill = fill,
    .units = units,
    .unit_elems = unit_elems,
    .expect = expect,
    .guess = guess,
    .trait = trait,
    .cost = cost,
    .workspace_bytes = workspace_bytes,
    .describe = describe,
    .purpose = purpose,
};

#endif
