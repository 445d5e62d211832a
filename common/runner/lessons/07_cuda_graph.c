/**
 * @file 07_cuda_graph.c
 * @brief Lesson 07: from an item to calls of the entry points of `cuda_graph.h`.
 */
#include "protocol/cuda_graph_items.h"

#include <stdlib.h>

#include "cuda_graph.h"
#include "runner/runner.h"
#include "runner/simt_only.h"

/** A row of the report. */
struct tally {
    int32_t of[COLUMNS];
};

/** What one case works with. */
struct scene {
    struct plan plan;
    struct decode_model model;
    struct decode_buffers work;
    void *const *buffers;
    cudaStream_t stream;
    cudaStream_t of_step[MOST_STEPS]; /* if streams change */
    cudaEvent_t so_far;               /* the last of them has got here */
    struct tally report[MOST_STEPS + 1];
};

static struct decode_batch batch_at(const struct scene *scene, int step, int copy)
{
    const struct plan *p = &scene->plan;
    size_t rows = (size_t)p->config.max_rows, at = first_row_of(p, step), steps = (size_t)p->steps;
    size_t logits = ((size_t)copy * steps + (size_t)step) * rows * (size_t)p->config.vocab;
    return (struct decode_batch){rows_at(p, step), (const int *)scene->buffers[TOKENS] + at,
                                 (const int *)scene->buffers[POSITIONS] + at,
                                 (const int *)scene->buffers[TABLES] + at * (size_t)p->config.max_blocks,
                                 (float *)scene->buffers[LOGITS] + logits};
}

/** The copy @p copy of the cache. */
static void *cache_of(const struct scene *scene, int copy)
{
    return (char *)scene->buffers[CACHE] + (size_t)copy * decode_cache_elems(&scene->plan.config) * 2;
}

/* ---- mistakes ------------------------------------------------------------------------------------------ */

/** Pointer number @p which of the weights. */
static const decode_half **weight_of(struct decode_model *model, int which)
{
    const decode_half **const own[MODEL_POINTERS] = {&model->embedding, &model->final_norm,
                                                     &model->to_logits};
    struct decode_layer *layer =
        &model->layer[which < MODEL_POINTERS ? 0 : (which - MODEL_POINTERS) / LAYER_POINTERS];
    const decode_half **const of_layer[LAYER_POINTERS] = {
        &layer->attention_norm, &layer->qkv, &layer->out, &layer->mlp_norm, &layer->gate_up, &layer->down};
    return which < MODEL_POINTERS ? own[which] : of_layer[(which - MODEL_POINTERS) % LAYER_POINTERS];
}

static void **buffer_of(struct decode_buffers *b, int which)
{
    void **const all[BUFFER_POINTERS] = {[BUFFER_TOKENS] = (void **)&b->tokens,
                                         [BUFFER_POSITIONS] = (void **)&b->positions,
                                         [BUFFER_BLOCK_TABLE] = (void **)&b->block_table,
                                         [BUFFER_X] = (void **)&b->x,
                                         [BUFFER_QKV] = (void **)&b->qkv,
                                         [BUFFER_ATTENDED] = (void **)&b->attended,
                                         [BUFFER_GATED] = (void **)&b->gated,
                                         [BUFFER_LOGITS] = (void **)&b->logits,
                                         [BUFFER_CACHE] = (void **)&b->cache};
    return all[which];
}

static void spoil_model(enum mistake mistake, int which, struct decode_model *model)
{
    if (mistake == MISSING_WEIGHT || mistake == HEAD_DIM_48_AND_NO_WEIGHT) *weight_of(model, which) = NULL;
    if (mistake == HEAD_DIM_48 || mistake == HEAD_DIM_48_AND_NO_WEIGHT ||
        mistake == HEAD_DIM_48_AND_LEGACY_STREAM)
        model->config.head_dim = 48;
    if (mistake == ROWS_NOT_A_POWER) model->config.max_rows = 3;
    if (mistake == SCRATCH_OUTSIDE) model->config.scratch_block = model->config.num_blocks;
    if (mistake == UNEVEN_HEADS) model->config.kv_heads = 3;
}

static void spoil_batch(enum mistake mistake, struct decode_batch *batch, int max_rows)
{
    if (mistake == NULL_TOKENS) batch->tokens = NULL;
    if (mistake == NULL_POSITIONS) batch->positions = NULL;
    if (mistake == NULL_TABLE) batch->block_table = NULL;
    if (mistake == NULL_LOGITS || mistake == NO_ROWS_AND_NULL_LOGITS || mistake == EAGER_NULL_LOGITS)
        batch->logits = NULL;
    if (mistake == NO_ROWS || mistake == NO_ROWS_AND_NULL_LOGITS) batch->rows = 0;
    if (mistake == NEGATIVE_ROWS) batch->rows = -2;
    if (mistake == TOO_MANY_ROWS || mistake == EAGER_TOO_MANY_ROWS) batch->rows = max_rows + 1;
}

/* ---- graphs and steps ---------------------------------------------------------------------------------- */

/**
 * A call that ends here must have launched @p graphs graphs; and as many kernels beside them, at most.
 * Where nobody counts, the report says what it should.
 */
static void report_calls(struct tally *tally, struct device_calls before, int32_t graphs)
{
    struct device_calls now = device_calls();
    int32_t launched = (int32_t)(now.graph_launches - before.graph_launches);
    int32_t kernels = (int32_t)(now.launches - before.launches);
    tally->of[GRAPHS] = now.counted ? launched : graphs;
    tally->of[KERNELS] = now.counted && launched == graphs && kernels > graphs;
}

static int is_capturing(cudaStream_t stream)
{
    enum cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    return cudaStreamIsCapturing(stream, &capture) != cudaSuccess || capture != cudaStreamCaptureStatusNone;
}

/** 1 if a capture of @p stream was left open; it is closed, so that the next case can go on. */
static int capture_was_left(cudaStream_t stream)
{
    cudaGraph_t open = NULL;
    if (!is_capturing(stream)) return 0;
    cudaStreamEndCapture(stream, &open);
    if (open != NULL) cudaGraphDestroy(open);
    cudaGetLastError();
    return 1;
}

/** The student's creation; what must hold when it fails is looked at here, and *@p graphs is NULL then. Its
 * arguments do not outlive it. */
static enum kernel_status create(const struct scene *scene, enum mistake mistake, cudaStream_t stream,
                                 struct decode_graphs **graphs)
{
    struct decode_model model = scene->model;
    struct decode_buffers work = scene->work;
    *graphs = (struct decode_graphs *)&model; /* anything but NULL */
    spoil_model(mistake, scene->plan.which, &model);
    if (mistake == MISSING_BUFFER) *buffer_of(&work, scene->plan.which) = NULL;
    if (mistake == LEGACY_STREAM || mistake == HEAD_DIM_48_AND_LEGACY_STREAM)
        stream = scene->plan.which == LEGACY_AS_NULL ? NULL : cudaStreamLegacy;
    /* One of the caller's stays open, and of these streams there is none. */
    const int before = stream == NULL || stream == cudaStreamLegacy || is_capturing(stream);
    enum kernel_status status =
        decode_graphs_create(mistake == NULL_MODEL ? NULL : &model, mistake == NULL_BUFFERS ? NULL : &work,
                             stream, mistake == NULL_HANDLE ? NULL : graphs);
    memset(&model, 0xff, sizeof model);
    memset(&work, 0xff, sizeof work);
    if (mistake == NULL_HANDLE) *graphs = NULL;
    int closed = before || !capture_was_left(stream);
    int given = *graphs != NULL;
    if (status == KERNEL_OK && closed) return status;
    *graphs = NULL;
    return status == KERNEL_NOT_STARTED || (closed && !given) ? status : KERNEL_CUDA_ERROR;
}

static enum kernel_status step_with(const struct scene *scene, enum mistake mistake,
                                    struct decode_graphs *graphs, int step)
{
    struct decode_batch batch = batch_at(scene, step, 0);
    spoil_batch(mistake, &batch, scene->plan.config.max_rows);
    if (mistake >= EAGER_NULL_LOGITS)
        return decode_step_eager(&scene->model, &scene->work, &batch, scene->stream);
    return decode_graphs_step(mistake == NULL_GRAPHS ? NULL : graphs, mistake == NULL_BATCH ? NULL : &batch,
                              scene->stream);
}

/** Calls that must leave no trace. What they return is other cases' business. */
static void be_refused(const struct scene *scene, struct decode_graphs *graphs, int step)
{
    static const enum mistake mistakes[] = {NO_ROWS, TOO_MANY_ROWS, NULL_LOGITS, NULL_TABLE, NULL_BATCH};
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++)
        (void)step_with(scene, mistakes[i], graphs, step);
}

/** 1 if the steps of a case are not all in one stream. */
static int streams_differ(const struct scene *scene)
{
    return (scene->plan.manner & (STREAMS_CHANGE | STREAMS_BUILT_IN)) != 0;
}

/** 1 if every step has a stream that is made for it. */
static int has_streams_of_steps(const struct scene *scene)
{
    return (scene->plan.manner & (STREAMS_CHANGE | STREAMS_BUILT_IN)) == STREAMS_CHANGE;
}

/** The stream of a step; what has been done so far is in front of it. */
static cudaStream_t begin_step(const struct scene *scene, int step)
{
    if (!streams_differ(scene)) return scene->stream;
    cudaStreamWaitEvent(scene->of_step[step], scene->so_far, 0);
    return scene->of_step[step];
}

/** Whoever still knows the stream of the step has a handle of nothing. */
static void end_step(struct scene *scene, int step)
{
    if (!streams_differ(scene)) return;
    cudaEventRecord(scene->so_far, scene->of_step[step]);
    if (has_streams_of_steps(scene)) cudaStreamDestroy(scene->of_step[step]);
    scene->of_step[step] = NULL;
    cudaStreamWaitEvent(scene->stream, scene->so_far, 0);
}

/** Fills the buffers with what is no token, no position, no page and no number. */
static void use_buffers(const struct scene *scene)
{
    const struct decode_config *c = &scene->plan.config;
    size_t bytes = decode_buffers_at(c, NULL, NULL, &(struct decode_buffers){0});
    cudaMemsetAsync(scene->buffers[WORKSPACE], 0xff, bytes, scene->stream);
}

/** Puts the block table of a step at the end of the workspace, where that of the step before lay. */
static void move_table(const struct scene *scene, struct decode_batch *batch)
{
    const size_t elems = (size_t)batch->rows * (size_t)scene->plan.config.max_blocks;
    int *to = (int *)((char *)scene->buffers[WORKSPACE] + workspace_of(&scene->plan)) - elems;
    cudaMemcpyAsync(to, batch->block_table, elems * sizeof *to, cudaMemcpyDeviceToDevice, scene->stream);
    batch->block_table = to;
}

/** A step, by @p graphs or, without any, launch by launch. Rows of logits that it has no sequences for become
 * zero first. */
static enum kernel_status take_step(struct scene *scene, struct decode_graphs *graphs, int copy, int step)
{
    const struct plan *p = &scene->plan;
    size_t row_bytes = (size_t)p->config.vocab * sizeof(float);
    struct decode_batch batch = batch_at(scene, step, copy);
    struct decode_buffers work = scene->work;
    work.cache = cache_of(scene, copy);
    cudaStream_t stream = graphs == NULL ? scene->stream : begin_step(scene, step);
    entry_point_is_given(stream);
    if (p->mode == MODE_BOTH || batch.rows < p->config.max_rows)
        cudaMemsetAsync(batch.logits, 0, (size_t)p->config.max_rows * row_bytes, stream);
    if (graphs == NULL) return decode_step_eager(&scene->model, &work, &batch, stream);
    if (p->manner & BUFFERS_SHARED) {
        use_buffers(scene);
        move_table(scene, &batch);
    }
    if (p->manner & REFUSED_BETWEEN) be_refused(scene, graphs, step);
    struct device_calls before = device_calls();
    enum kernel_status status = decode_graphs_step(graphs, &batch, stream);
    if (p->mode == MODE_BOTH) report_calls(&scene->report[step], before, 1);
    if (step == 0 && (status == KERNEL_INVALID_DIMENSION || status == KERNEL_INVALID_CONFIG))
        marshalling_saw(
            "creation took the model, and the first step refuses: is what steps need of model and buffers "
            "copied (both are overwritten once creation has returned), or does a check ask too much of "
            "the batch?");
    end_step(scene, step);
    entry_point_is_given(scene->stream);
    return status;
}

static enum kernel_status take_steps(struct scene *scene, struct decode_graphs *graphs, int copy)
{
    enum kernel_status status = KERNEL_OK;
    for (int step = 0; step < scene->plan.steps && status == KERNEL_OK; step++)
        status = take_step(scene, graphs, copy, step);
    return status;
}

/** Waits for the stream, which the kernel file's own code may not. */
static void settle(const struct scene *scene)
{
    marshalling_may_look(1);
    cudaStreamSynchronize(scene->stream);
    marshalling_may_look(0);
}

/* ---- a second model ------------------------------------------------------------------------------------ */

/** The same model elsewhere: weights, buffers and cache of its own. */
static struct scene second_scene(const struct scene *first)
{
    const struct decode_config *c = &first->plan.config;
    struct scene second = *first;
    size_t bytes = decode_buffers_at(c, first->buffers[WORKSPACE], first->buffers[CACHE], &second.work);
    char *memory = (char *)first->buffers[WORKSPACE] + bytes;
    decode_buffers_at(c, memory, cache_of(first, 1), &second.work);
    decode_half *weights = (decode_half *)(memory + bytes);
    size_t count = decode_model_at(c, weights, &second.model);
    cudaMemcpyAsync(weights, first->buffers[WEIGHTS], count * sizeof *weights, cudaMemcpyDeviceToDevice,
                    first->stream);
    return second;
}

/** Both sets of graphs take all steps, the second one step ahead. When it is gone, so is its memory. */
static enum kernel_status take_steps_of_two(struct scene *scene, struct decode_graphs *graphs)
{
    struct scene second = second_scene(scene);
    struct decode_graphs *others = NULL;
    size_t all = workspace_of(&scene->plan);
    size_t first = decode_buffers_at(&scene->plan.config, NULL, NULL, &(struct decode_buffers){0});
    int last = scene->plan.steps - 1;
    enum kernel_status status = create(&second, RIGHT, scene->stream, &others);
    for (int step = 0; step <= last && status == KERNEL_OK; step++) {
        status = take_step(&second, others, 1, step);
        if (step > 0 && status == KERNEL_OK) status = take_step(scene, graphs, 0, step - 1);
    }
    settle(scene);
    decode_graphs_destroy(others);
    cudaMemsetAsync((char *)scene->buffers[WORKSPACE] + first, 0xff, all - first, scene->stream);
    return status == KERNEL_OK ? take_step(scene, graphs, 0, last) : status;
}

/** The same model and buffers but for one thing, number @p which. Nothing is computed with them: a pointer may
 * point anywhere, here to weights that are others. */
static struct scene unlike(const struct scene *first, int which)
{
    struct scene other = *first;
    struct decode_config *c = &other.model.config;
    int weights = weight_pointers(c), extent[EXTENTS];
    if (which < weights)
        *weight_of(&other.model, which) = (const decode_half *)first->buffers[WEIGHTS] + DECODE_ALIGNMENT;
    which -= weights;
    if (which >= 0 && which < BUFFER_POINTERS) *buffer_of(&other.work, which) = first->buffers[WEIGHTS];
    which -= BUFFER_POINTERS;
    for (int i = 0; i < 3 && which >= 0; i++) {
        *c = first->model.config;
        memcpy(extent, c, sizeof extent);
        extent[which] = i == 0 ? extent[which] + 1 : i == 1 ? extent[which] * 2 : extent[which] / 2;
        memcpy(c, extent, sizeof extent);
        if (decode_config_check(c) == KERNEL_OK) break;
    }
    /* if that is what there is more of */
    other.model.layer[first->model.config.layers] = other.model.layer[0];
    return other;
}

/** Each step has graphs of its own, made between others that differ in one thing. */
static enum kernel_status take_steps_beside_unlike(struct scene *scene)
{
    enum kernel_status status = KERNEL_OK;
    for (int step = 0; step < scene->plan.steps && status == KERNEL_OK; step++) {
        struct decode_graphs *before = NULL, *graphs = NULL, *after = NULL;
        const struct scene other = unlike(scene, step);
        status = create(&other, RIGHT, scene->stream, &before);
        if (status == KERNEL_OK) status = create(scene, RIGHT, scene->stream, &graphs);
        if (status == KERNEL_OK) status = create(&other, RIGHT, scene->stream, &after);
        if (status == KERNEL_OK) status = take_step(scene, graphs, 0, step);
        settle(scene);
        decode_graphs_destroy(before);
        decode_graphs_destroy(graphs);
        decode_graphs_destroy(after);
    }
    return status;
}

/* ---- what is looked at afterwards ---------------------------------------------------------------------- */

/** Counts what differs between the two halves of @p device, in @p parts equal parts. */
static void count_differences(const void *device, size_t half_bytes, int parts, struct tally *report)
{
    char *host = malloc(2 * half_bytes);
    if (host == NULL) return;
    cudaMemcpy(host, device, 2 * half_bytes, cudaMemcpyDeviceToHost);
    for (int part = 0; part < parts; part++) {
        size_t first = half_bytes / (size_t)parts * (size_t)part, end = first + half_bytes / (size_t)parts;
        report[part].of[DIFFERENCES] = 0;
        for (size_t at = first; at < end; at += 2)
            report[part].of[DIFFERENCES] += memcmp(host + at, host + half_bytes + at, 2) != 0;
    }
    free(host);
}

/** Takes the step of a row that pads, launch by launch and with the second copy of the cache. */
static void take_step_of_padding(struct scene *scene)
{
    const struct decode_config *c = &scene->plan.config;
    struct decode_buffers work = scene->work;
    int *from = work.block_table + c->max_blocks; /* of row 1, to where row 0 is read */
    const struct decode_batch batch = {1, work.tokens + 1, work.positions + 1, from, work.logits + c->vocab};
    cudaMemcpy(from, &c->scratch_block, sizeof *from, cudaMemcpyHostToDevice); /* position 0 needs one page */
    cudaMemsetAsync(from + 1, 0, ((size_t)c->max_blocks - 1) * sizeof *from, scene->stream);
    cudaMemsetAsync(work.tokens + 1, 0, sizeof *work.tokens, scene->stream);
    cudaMemsetAsync(work.positions + 1, 0, sizeof *work.positions, scene->stream);
    work.cache = cache_of(scene, 1);
    (void)decode_step_eager(&scene->model, &work, &batch, scene->stream);
    cudaStreamSynchronize(scene->stream);
}

/** 1 if some step has so many rows that row @p row pads it. */
static int row_pads(const struct plan *p, int row)
{
    int pads = 0;
    for (int step = 0; step < p->steps; step++) {
        int rows = rows_at(p, step);
        pads |= rows <= row && row < bucket_rows(rows);
    }
    return pads;
}

/** What row @p row has done to its scratch page; @p key is what row 0 appends to its own. */
static enum padding scratch_page(const struct plan *p, int row, const char *page, size_t page_bytes,
                                 const char *key, size_t key_bytes)
{
    size_t used = page_bytes;
    while (used > 0 && page[used - 1] == 0) used--;
    if (used == 0) return PADDED_RIGHT; /* or not at all, where graphs are of any size */
    if (!row_pads(p, row)) return PADDED_NEEDLESSLY;
    return used <= key_bytes && memcmp(page, key, key_bytes) == 0 ? PADDED_RIGHT : PADDED_WITH_ANOTHER_ROW;
}

/** Looks at all scratch pages of the first copy of the cache. */
static enum padding look_at_scratch_pages(struct scene *scene)
{
    const struct decode_config *c = &scene->plan.config;
    size_t key_bytes = 2 * (size_t)c->kv_heads * (size_t)c->head_dim,
           page = key_bytes * (size_t)c->block_size;
    size_t rows = (size_t)c->max_rows;
    char *pages = malloc(page * (rows + 1));
    enum padding found = PADDED_RIGHT;
    if (pages == NULL) return found;
    take_step_of_padding(scene);
    for (size_t i = 0; i < 2 * (size_t)c->layers; i++) {
        size_t first = (i * (size_t)c->num_blocks + (size_t)c->scratch_block) * page;
        cudaMemcpy(pages, (char *)cache_of(scene, 1) + first, page, cudaMemcpyDeviceToHost);
        cudaMemcpy(pages + page, (char *)cache_of(scene, 0) + first, rows * page, cudaMemcpyDeviceToHost);
        for (size_t row = 0; row < rows && found == PADDED_RIGHT; row++)
            found = scratch_page(&scene->plan, (int)row, pages + (row + 1) * page, page, pages, key_bytes);
    }
    free(pages);
    return found;
}

/** Scratch pages are part of the cache that is compared; what is in them has been looked at: they are emptied
 * again. */
static void empty_scratch_pages(const struct scene *scene)
{
    const struct decode_config *c = &scene->plan.config;
    size_t page = (size_t)c->block_size * (size_t)c->kv_heads * (size_t)c->head_dim * 2;
    for (size_t i = 0; i < 4 * (size_t)c->layers; i++) {
        size_t first = i * (size_t)c->num_blocks + (size_t)c->scratch_block;
        cudaMemsetAsync((char *)scene->buffers[CACHE] + first * page, 0, (size_t)c->max_rows * page,
                        scene->stream);
    }
}

/** A row that pads the last step has all of what the contract says, and not only what is read of it. */
static enum padding look_at_inputs(const struct scene *scene)
{
    const struct decode_config *c = &scene->plan.config;
    int first = rows_at(&scene->plan, scene->plan.steps - 1), token, position;
    int *table = malloc((size_t)c->max_blocks * sizeof *table);
    enum padding found = PADDED_RIGHT;
    marshalling_may_look(1);
    cudaStreamSynchronize(scene->stream);
    for (int row = first; row < bucket_rows(first) && table != NULL; row++) {
        const int *from = scene->work.block_table + (size_t)row * (size_t)c->max_blocks;
        cudaMemcpy(&token, scene->work.tokens + row, sizeof token, cudaMemcpyDeviceToHost);
        cudaMemcpy(&position, scene->work.positions + row, sizeof position, cudaMemcpyDeviceToHost);
        cudaMemcpy(table, from, (size_t)c->max_blocks * sizeof *table, cudaMemcpyDeviceToHost);
        if (table[0] != c->scratch_block + row) continue; /* no graph was made that has this row */
        int right = token == 0 && position == 0;
        for (int i = 0; i < c->max_blocks; i++) right &= table[i] == table[0];
        if (!right) found = PADDED_WITH_A_PART;
    }
    free(table);
    marshalling_may_look(0);
    return found;
}

/** Completes the report, and writes it. */
static void report(struct scene *scene)
{
    const struct plan *p = &scene->plan;
    size_t logits = (size_t)p->steps * (size_t)p->config.max_rows * (size_t)p->config.vocab * sizeof(float);
    int padded = 0;
    for (int row = 0; row < p->config.max_rows; row++) padded |= row_pads(p, row);
    marshalling_may_look(1); /* the kernel file's own code may not, nor wait */
    cudaStreamSynchronize(scene->stream);
    int32_t *padding = &scene->report[p->steps].of[PADDING];
    if (padded && *padding == PADDED_RIGHT) *padding = look_at_scratch_pages(scene);
    empty_scratch_pages(scene);
    cudaStreamSynchronize(scene->stream);
    count_differences(scene->buffers[LOGITS], logits, p->steps, scene->report);
    count_differences(scene->buffers[CACHE], decode_cache_elems(&p->config) * 2, 1, scene->report + p->steps);
    cudaMemcpy(scene->buffers[REPORT], scene->report, ((size_t)p->steps + 1) * sizeof scene->report[0],
               cudaMemcpyHostToDevice);
    marshalling_may_look(0);
}

/* ---- a case -------------------------------------------------------------------------------------------- */

/** From here on, until it is ended, the legacy default stream cannot be used: it waits for all streams of its
 * kind, and one of them is under capture. */
static cudaStream_t bar_legacy_stream(void)
{
    cudaStream_t barrier = NULL;
    cudaStreamCreate(&barrier);
    cudaStreamBeginCapture(barrier, cudaStreamCaptureModeRelaxed);
    return barrier;
}

static void open_legacy_stream(cudaStream_t barrier)
{
    cudaGraph_t nothing = NULL;
    cudaStreamEndCapture(barrier, &nothing);
    if (nothing != NULL) cudaGraphDestroy(nothing);
    cudaStreamDestroy(barrier);
    cudaGetLastError();
}

/** The stream of the creation. Those of the steps are made before any is destroyed, so that no two have the same
 * handle; or they are the built-in ones. */
static cudaStream_t make_streams(struct scene *scene)
{
    static const cudaStream_t built_in[] = {NULL, cudaStreamPerThread, cudaStreamLegacy};
    cudaStream_t of_creation = cudaStreamPerThread;
    if (scene->plan.manner & STREAMS_CHANGE) cudaStreamCreateWithFlags(&of_creation, cudaStreamNonBlocking);
    for (int step = 0; step < scene->plan.steps; step++) {
        scene->of_step[step] = built_in[step % 3];
        if (has_streams_of_steps(scene))
            cudaStreamCreateWithFlags(&scene->of_step[step], cudaStreamNonBlocking);
    }
    cudaEventCreateWithFlags(&scene->so_far, cudaEventDisableTiming);
    cudaEventRecord(scene->so_far, scene->stream);
    return of_creation;
}

/** Those of steps that were not taken. */
static void destroy_streams(struct scene *scene)
{
    for (int step = 0; step < scene->plan.steps && has_streams_of_steps(scene); step++)
        if (scene->of_step[step] != NULL) cudaStreamDestroy(scene->of_step[step]);
    cudaEventDestroy(scene->so_far);
}

/**
 * Graphs made, used and destroyed in turn, and creations that fail. The C library and the device keep some memory to
 * use it again, less and less from round to round: a leak is what is left of every one of the later rounds.
 */
static void create_in_turn(struct scene *scene)
{
    int leaks = 1;
    struct decode_graphs *graphs;
    for (int round = 0; round < 2 * ROUNDS; round++) {
        size_t before = host_bytes_in_use();
        if (create(scene, MISSING_WEIGHT, scene->stream, &graphs) == KERNEL_OK) decode_graphs_destroy(graphs);
        if (create(scene, RIGHT, scene->stream, &graphs) != KERNEL_OK) return;
        (void)take_step(scene, graphs, 0, 0);
        settle(scene);
        decode_graphs_destroy(graphs);
        if (round >= ROUNDS) leaks &= host_bytes_in_use() > before;
    }
    scene->report[scene->plan.steps].of[CREATION] = leaks ? MEMORY_LEFT : CREATED_RIGHT;
}

/** A creation while the caller captures the stream. It may fail, but leaves no error, and that capture as it was: going on, and empty. */
static enum creation create_in_capture(const struct scene *scene, cudaStream_t stream)
{
    struct decode_graphs *graphs = NULL;
    cudaGraph_t graph = NULL;
    size_t nodes = 1;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
    const unsigned long long own = capture_of(stream);
    if (decode_graphs_create(&scene->model, &scene->work, stream, &graphs) == KERNEL_OK)
        decode_graphs_destroy(graphs);
    int left = cudaGetLastError() != cudaSuccess;
    const int kept = capture_of(stream) == own;
    if (cudaStreamEndCapture(stream, &graph) == cudaSuccess) {
        cudaGraphGetNodes(graph, NULL, &nodes);
        cudaGraphDestroy(graph);
    }
    nodes += !kept;
    cudaGetLastError();
    return nodes > 0 ? CAPTURE_SPOILED : left ? ERROR_LEFT : CREATED_RIGHT;
}

/** Each weight of each layer is missing in turn. The first creation that does not say so decides. */
static enum kernel_status create_without_each_weight(const struct scene *scene, struct decode_graphs **graphs)
{
    struct scene without = *scene;
    enum kernel_status status = KERNEL_INVALID_CONFIG;
    for (int which = 0; which < weight_pointers(&scene->plan.config) && status == KERNEL_INVALID_CONFIG;
         which++) {
        without.plan.which = which;
        status = create(&without, MISSING_WEIGHT, scene->stream, graphs);
    }
    return status;
}

/** Creates the graphs as the case wants it, and reports what that has launched. */
static enum kernel_status create_graphs(struct scene *scene, struct decode_graphs **graphs)
{
    unsigned manner = scene->plan.manner;
    cudaStream_t stream = streams_differ(scene) ? make_streams(scene) : scene->stream;
    if (manner & CREATED_OFTEN) create_in_turn(scene);
    struct device_calls before = device_calls();
    if (manner & CREATED_TWICE) {
        if (create(scene, MISSING_WEIGHT, stream, graphs) == KERNEL_OK) decode_graphs_destroy(*graphs);
        if (create(scene, RIGHT, stream, graphs) == KERNEL_OK) decode_graphs_destroy(*graphs);
    }
    if (manner & CALLER_CAPTURES)
        scene->report[scene->plan.steps].of[CREATION] = create_in_capture(scene, stream);
    enum kernel_status status = scene->plan.mistake == MISSING_WEIGHT
                                    ? create_without_each_weight(scene, graphs)
                                    : create(scene, scene->plan.mistake, stream, graphs);
    report_calls(&scene->report[scene->plan.steps], before, 0);
    if (manner & STREAMS_CHANGE) cudaStreamDestroy(stream);
    return status;
}

static enum kernel_status replay_all(struct scene *scene)
{
    const struct plan *p = &scene->plan;
    struct decode_graphs *graphs = NULL;
    if (p->mistake >= EAGER_NULL_LOGITS) return step_with(scene, p->mistake, NULL, 0);
    if (p->manner & ONE_UNLIKE) return take_steps_beside_unlike(scene);
    cudaStream_t barrier = p->manner & NO_LEGACY ? bar_legacy_stream() : NULL;
    enum kernel_status status = create_graphs(scene, &graphs);
    if (status == KERNEL_OK && p->mistake >= GRAPH_REFUSED)
        status = step_with(scene, p->mistake, graphs, 0);
    else if (status == KERNEL_OK && p->manner & SECOND_MODEL)
        status = take_steps_of_two(scene, graphs);
    else if (status == KERNEL_OK)
        status = take_steps(scene, graphs, 0);
    if (barrier != NULL) open_legacy_stream(barrier);
    if (status == KERNEL_OK && p->manner & BUFFERS_SHARED)
        scene->report[p->steps].of[PADDING] = look_at_inputs(scene);
    settle(scene);
    decode_graphs_destroy(graphs);
    if (streams_differ(scene)) destroy_streams(scene);
    return status;
}

static enum kernel_status run_both(struct scene *scene)
{
    decode_graphs_destroy(NULL);
    enum kernel_status status = replay_all(scene);
    if (status != KERNEL_OK || scene->plan.mistake != RIGHT) return status;
    if (!(scene->plan.manner & SECOND_MODEL)) status = take_steps(scene, NULL, 1);
    if (status == KERNEL_OK) report(scene);
    return status;
}

/** To be timed: the graphs are made once and kept until another case comes. On simt nothing is timed, and what a call
 * makes it has to destroy. */
static enum kernel_status replay_only(struct scene *scene)
{
    static struct decode_graphs *kept;
    static struct decode_buffers of;
    if (kept != NULL && memcmp(&of, &scene->work, sizeof of) != 0) {
        decode_graphs_destroy(kept);
        kept = NULL;
    }
    of = scene->work;
    enum kernel_status status = kept == NULL ? create(scene, RIGHT, scene->stream, &kept) : KERNEL_OK;
    if (status == KERNEL_OK) status = take_steps(scene, kept, 0);
    if (simt_pretend_multiprocessors != NULL) {
        settle(scene);
        decode_graphs_destroy(kept);
        kept = NULL;
    }
    return status;
}

enum kernel_status lesson_call(const struct wire_case *item, void *const *buffers, cudaStream_t stream)
{
    struct scene scene = {.plan = plan_of(item->value), .buffers = buffers, .stream = stream};
    const struct plan *p = &scene.plan;
    if (simt_refuse_graphs != NULL) simt_refuse_graphs(p->mistake == GRAPH_REFUSED);
    entry_point_makes_objects(); /* graphs, and what it takes to capture them */
    decode_model_at(&p->config, (const decode_half *)buffers[WEIGHTS], &scene.model);
    decode_buffers_at(&p->config, buffers[WORKSPACE], buffers[CACHE], &scene.work);
    if (p->mode == MODE_BOTH) return run_both(&scene);
    cudaMemsetAsync(buffers[REPORT], 0, ((size_t)p->steps + 1) * sizeof scene.report[0], stream);
    return p->mode == MODE_REPLAY ? replay_only(&scene) : take_steps(&scene, NULL, 0);
}

size_t lesson_workspace_bytes(const struct wire_case *item)
{
    struct plan plan = plan_of(item->value);
    return workspace_of(&plan);
}
