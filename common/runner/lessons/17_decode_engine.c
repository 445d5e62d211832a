/**
 * @file 17_decode_engine.c
 * @brief Lesson 17: from an item to the steps of `decode_engine.h`.
 */
#include "protocol/engine_items.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "decode_engine.h"
#include "runner/runner.h"
#include "runner/simt_only.h"

/** What one case works with. */
struct scene {
    struct engine_plan plan;
    struct engine_model model;
    void *const *buffers;
    cudaStream_t stream;
};

/** The arrays of a step, from row @p row on. */
static struct engine_batch batch_at(const struct scene *s, int step, int row)
{
    const struct engine_config *c = &s->plan.config;
    const size_t rows = (size_t)c->max_rows, at = (size_t)step * rows + (size_t)row;
    const size_t table = (size_t)s->plan.requests * (size_t)c->max_blocks;
    return (struct engine_batch){.rows = engine_rows(&s->plan, step),
                                 .wanted = engine_wanted(&s->plan, step),
                                 .tokens = (const int *)s->buffers[ENGINE_TOKENS] + at,
                                 .positions = (const int *)s->buffers[ENGINE_POSITIONS] + at,
                                 .requests = (const int *)s->buffers[ENGINE_REQUESTS] + at,
                                 .tables = (const int *)s->buffers[ENGINE_TABLES] + (size_t)step * table,
                                 .wanted_rows = (const int *)s->buffers[ENGINE_WANTED] + (size_t)step * rows,
                                 .logits = (float *)s->buffers[ENGINE_LOGITS] +
                                           (size_t)step * rows * (size_t)c->vocab};
}

/** Elements of one of the two copies of the logits. */
static size_t logits_elems(const struct engine_plan *p)
{
    return (size_t)p->steps * (size_t)p->config.max_rows * (size_t)p->config.vocab;
}

/* ---- mistakes ------------------------------------------------------------------------------------------ */

static void spoil_config(int mistake, struct engine_config *c)
{
    if (mistake == EPSILON_NAN) c->epsilon = NAN;
    if (mistake == EPSILON_NEGATIVE) c->epsilon = -1e-6f;
    if (mistake == ROPE_BASE_ZERO) c->rope_base = 0.0f;
    if (mistake == ROPE_BASE_INFINITE) c->rope_base = INFINITY;
    if (mistake == LAYERS_NEGATIVE) c->layers = -1;
    if (mistake == HIDDEN_40) c->hidden = 40;
    if (mistake == HEADS_UNEVEN) c->heads = 2 * c->kv_heads + 1;
    if (mistake == KV_HEADS_ZERO) c->kv_heads = 0;
    if (mistake == HEAD_DIM_48) c->head_dim = 48;
    if (mistake == INTERMEDIATE_ZERO) c->intermediate = 0;
    if (mistake == VOCAB_ZERO) c->vocab = 0;
    if (mistake == TIED_2) c->tied = 2;
    if (mistake == BLOCK_SIZE_ZERO) c->block_size = 0;
    if (mistake == BLOCKS_OVERFLOW) c->max_blocks = c->block_size = 1 << 16;
    if (mistake == MAX_ROWS_70000) c->max_rows = 70000;
}

static void spoil_batch(int mistake, int max_rows, struct engine_batch *b)
{
    if (mistake == NULL_TOKENS_AND_ROWS_ZERO) b->tokens = NULL;
    if (mistake == ROWS_ZERO || mistake == NULL_TOKENS_AND_ROWS_ZERO ||
        mistake == ROWS_ZERO_AND_MISALIGNED_CACHE)
        b->rows = 0;
    if (mistake == ROWS_NEGATIVE) b->rows = -2;
    if (mistake == ROWS_TOO_MANY) b->rows = max_rows + 1;
    if (mistake == WANTED_NEGATIVE) b->wanted = -1;
    if (mistake == WANTED_TOO_MANY) b->wanted = b->rows + 1;
}

/**
 * Whether an argument is wrong, or the device too old, so that one step must do: nothing may be prepared in memory that is not there,
 * or before a call that is refused.
 */
static int is_wrong(const struct scene *s, const struct wire_case *item)
{
    enum {
#define ARCHITECTURE(least, last) OLDEST = least
#include "description/lesson_def.h"
    };
    const int too_old = item->capability > 0 && item->capability < OLDEST;
    int wrong = s->plan.mistake != ENGINE_RIGHT || item->workspace_more < 0 || too_old;
    for (int b = 0; b < ENGINE_BUFFERS; b++) {
        const uintptr_t align = b == ENGINE_WORKSPACE                      ? WIRE_ALIGNMENT
                                : b == ENGINE_WEIGHTS || b == ENGINE_CACHE ? 16
                                                                           : 4;
        wrong |= s->buffers[b] == NULL || (uintptr_t)s->buffers[b] % align != 0;
    }
    return wrong;
}

static enum kernel_status call_wrongly(const struct scene *s)
{
    const int mistake = s->plan.mistake;
    struct engine_model model = s->model;
    struct engine_batch batch = batch_at(s, 0, 0);
    spoil_config(mistake, &model.config);
    if (mistake == ROWS_ZERO_AND_MISALIGNED_CACHE) model.cache = (char *)model.cache + 8;
    spoil_batch(mistake, s->plan.config.max_rows, &batch);
    return engine_step(mistake == NULL_MODEL ? NULL : &model, mistake == NULL_BATCH ? NULL : &batch,
                       s->stream);
}

/* ---- products elsewhere -------------------------------------------------------------------------------- */

enum product { PRODUCT_QKV, PRODUCT_O, PRODUCT_MLP, PRODUCTS };

/**
 * Products with matrices of zeros, which count how often they are asked. They stand for any: what they get must be what the contract
 * says, and a status of theirs is the step's.
 */
struct products {
    struct engine_products called; /* first: what the functions get is this */
    const struct scene *scene;
    int rows;            /* of the step */
    int calls[PRODUCTS]; /* in this step: the next one is of this layer */
    int refused;         /* enum product that says so; -1: none */
    int wrong;           /* some call was not as it should be */
};

static enum kernel_status asked(const struct engine_products *self, enum product which, int layer, int rows,
                                cudaStream_t stream)
{
    struct products *p = (struct products *)(uintptr_t)self;
    p->wrong |= layer != p->calls[which]++ || rows != p->rows || stream != p->scene->stream;
    return p->refused == (int)which ? KERNEL_UNSUPPORTED_DTYPE : KERNEL_OK;
}

static enum kernel_status multiply_qkv(const struct engine_products *self, int layer, int rows,
                                       const float *x, float *qkv, cudaStream_t stream)
{
    const struct engine_config *c = &((const struct products *)self)->scene->plan.config;
    const size_t width = engine_q_width(c) + 2 * engine_kv_width(c);
    (void)x;
    cudaMemsetAsync(qkv, 0, (size_t)rows * width * sizeof(float), stream);
    return asked(self, PRODUCT_QKV, layer, rows, stream);
}

static enum kernel_status multiply_o(const struct engine_products *self, int layer, int rows,
                                     const void *attended, float *x, cudaStream_t stream)
{
    (void)attended, (void)x;
    return asked(self, PRODUCT_O, layer, rows, stream);
}

static enum kernel_status multiply_mlp(const struct engine_products *self, int layer, int rows, float *x,
                                       cudaStream_t stream)
{
    (void)x;
    return asked(self, PRODUCT_MLP, layer, rows, stream);
}

/** Takes a step with products of zeros that none but @p refused refuses. ::KERNEL_CUDA_ERROR if they were not asked as they should be. */
static enum kernel_status take_step_elsewhere(const struct scene *s, const struct engine_model *model,
                                              const struct engine_batch *batch, int refused)
{
    struct products products = {.called = {multiply_qkv, multiply_o, multiply_mlp},
                                .scene = s,
                                .rows = batch->rows,
                                .refused = refused};
    struct engine_model with = *model;
    with.products = &products.called;
    const enum kernel_status status = engine_step(&with, batch, s->stream);
    const int elsewhere = model->config.elsewhere;
    for (int which = 0; which < PRODUCTS && refused < 0; which++) {
        const int is_there =
            elsewhere & (which == PRODUCT_MLP ? ENGINE_MLP_ELSEWHERE : ENGINE_ATTENTION_ELSEWHERE);
        products.wrong |= products.calls[which] != (is_there ? model->config.layers : 0);
    }
    static char saw[200];
    const int asked_for = refused < 0 || products.calls[refused] > 0;
    snprintf(saw, sizeof saw,
             asked_for && !products.wrong
                 ? "a product returned KERNEL_UNSUPPORTED_DTYPE, and the step did not"
                 : "elsewhere is %d: qkv, o and mlp were asked for %d, %d and %d times in %d layers, or with "
                   "other rows or another stream: is each flag tested by its own bit?",
             elsewhere, products.calls[0], products.calls[1], products.calls[2], model->config.layers);
    if (products.wrong || (refused >= 0 && status != KERNEL_UNSUPPORTED_DTYPE)) marshalling_saw(saw);
    return products.wrong ? KERNEL_CUDA_ERROR : status;
}

/** A step; where matrices are elsewhere, first with each product of them refused. */
static enum kernel_status take_step(const struct scene *s, const struct engine_model *model,
                                    const struct engine_batch *batch)
{
    const int elsewhere = model->config.elsewhere;
    if (elsewhere == 0) return engine_step(model, batch, s->stream);
    for (int which = 0; which < PRODUCTS; which++) {
        if (!(elsewhere & (which == PRODUCT_MLP ? ENGINE_MLP_ELSEWHERE : ENGINE_ATTENTION_ELSEWHERE)))
            continue;
        if (take_step_elsewhere(s, model, batch, which) != KERNEL_UNSUPPORTED_DTYPE) return KERNEL_CUDA_ERROR;
    }
    return take_step_elsewhere(s, model, batch, -1);
}

/* ---- steps --------------------------------------------------------------------------------------------- */

/** What the step before has left in the workspace must not count: it is NaN, and -1, when the next one begins, and on the software device
 *  it was never written. */
static void spoil_workspace(const struct scene *s)
{
    cudaMemsetAsync(s->model.workspace, 0xff, s->model.workspace_bytes, s->stream);
    if (simt_device_forget != NULL) simt_device_forget(s->model.workspace, s->model.workspace_bytes);
}

/** Launch by launch. */
static enum kernel_status take_steps(const struct scene *s)
{
    enum kernel_status status = KERNEL_OK;
    for (int step = 0; step < s->plan.steps && status == KERNEL_OK; step++) {
        const struct engine_batch batch = batch_at(s, step, 0);
        if (step > 0) spoil_workspace(s);
        status = take_step(s, &s->model, &batch);
    }
    return status;
}

/** Row @p row of @p step in a step of its own; its logits go where they are in the first copy. */
static enum kernel_status take_alone(const struct scene *s, const struct engine_model *model, int step,
                                     int row)
{
    const struct engine_plan *p = &s->plan;
    struct engine_batch batch = batch_at(s, step, row);
    const int wanted = batch.wanted;
    batch.rows = 1;
    batch.wanted = 0;
    batch.wanted_rows =
        (const int *)s->buffers[ENGINE_WANTED] + (size_t)p->steps * (size_t)p->config.max_rows;
    batch.logits += logits_elems(p);
    for (int i = 0; i < wanted && batch.wanted == 0; i++) {
        batch.wanted = engine_wanted_row(p, step, i) == row;
        if (batch.wanted == 0) batch.logits += p->config.vocab;
    }
    return take_step(s, model, &batch);
}

/** Every token by itself, in the other copy of the cache. */
static enum kernel_status take_all_alone(const struct scene *s)
{
    const struct engine_plan *p = &s->plan;
    struct engine_model model = s->model;
    enum kernel_status status = KERNEL_OK;
    model.cache = (char *)model.cache + engine_cache_elems(&p->config) * 2;
    for (int step = 0; step < p->steps; step++) {
        const int rows = engine_rows(p, step), reversed = (p->manner & ENGINE_REVERSED) != 0;
        spoil_workspace(s);
        for (int i = 0; i < rows && status == KERNEL_OK; i++)
            status = take_alone(s, &model, step, reversed ? rows - 1 - i : i);
    }
    return status;
}

/** Logits that no step is asked for are ENGINE_UNASKED, and have to stay so. */
static void clear_other_logits(const struct scene *s)
{
    const struct engine_plan *p = &s->plan;
    const size_t row = (size_t)p->config.vocab * sizeof(float);
    for (int copy = 0; copy < (p->manner & ENGINE_ALONE ? 2 : 1); copy++)
        for (int step = 0; step < p->steps; step++) {
            const int wanted = engine_wanted(p, step);
            float *first = batch_at(s, step, 0).logits + (size_t)copy * logits_elems(p);
            cudaMemsetAsync(first + (size_t)wanted * (size_t)p->config.vocab, ENGINE_UNASKED_BYTE,
                            (size_t)(p->config.max_rows - wanted) * row, s->stream);
        }
}

/** Whether any logits differ between the two copies goes into the report, step by step. */
static void report_differences(const struct scene *s)
{
    const size_t elems = logits_elems(&s->plan), of_step = elems / (size_t)s->plan.steps;
    uint32_t *host = malloc(2 * elems * sizeof *host);
    int32_t *report = calloc((size_t)s->plan.steps, sizeof *report);
    if (host == NULL || report == NULL) abort();
    marshalling_may_look(1); /* the kernel file's own code may not, nor wait */
    cudaStreamSynchronize(s->stream);
    cudaMemcpy(host, s->buffers[ENGINE_LOGITS], 2 * elems * sizeof *host, cudaMemcpyDeviceToHost);
    for (size_t i = 0; i < elems && s->plan.manner & ENGINE_ALONE; i++)
        if (host[i] != host[elems + i]) report[i / of_step] = 1;
    cudaMemcpy(s->buffers[ENGINE_REPORT], report, (size_t)s->plan.steps * sizeof *report,
               cudaMemcpyHostToDevice);
    marshalling_may_look(0);
    free(host);
    free(report);
}

/* ---- a graph ------------------------------------------------------------------------------------------- */

/** Where a graph of max_rows rows reads and writes. */
static struct engine_batch staged_batch(const struct scene *s)
{
    const struct engine_config *c = &s->plan.config;
    const size_t rows = (size_t)c->max_rows;
    int *at = s->buffers[ENGINE_WORKSPACE];
    struct engine_batch batch = {.rows = c->max_rows, .wanted = c->max_rows, .tokens = at};
    batch.positions = at + rows;
    batch.requests = at + 2 * rows;
    batch.wanted_rows = at + 3 * rows;
    batch.tables = at + 4 * rows;
    batch.logits = (float *)(at + 4 * rows + (size_t)s->plan.requests * (size_t)c->max_blocks);
    return batch;
}

static void stage(const struct scene *s, const void *to, const void *from, size_t words)
{
    cudaMemcpyAsync((void *)(uintptr_t)to, from, words * 4, cudaMemcpyDeviceToDevice, s->stream);
}

/** Replays the graph for @p step. Rows that the step does not have are staged as rows that pad. */
static enum kernel_status replay_step(const struct scene *s, cudaGraphExec_t graph, int step)
{
    const struct engine_batch to = staged_batch(s), from = batch_at(s, step, 0);
    const size_t rows = (size_t)s->plan.config.max_rows, logits = rows * (size_t)s->plan.config.vocab;
    stage(s, to.tokens, from.tokens, rows);
    stage(s, to.positions, from.positions, rows);
    stage(s, to.requests, from.requests, rows);
    stage(s, to.wanted_rows, from.wanted_rows, rows);
    stage(s, to.tables, from.tables, (size_t)s->plan.requests * (size_t)s->plan.config.max_blocks);
    if (!(s->plan.manner & ENGINE_KEPT)) {
        cudaMemsetAsync(to.logits, ENGINE_UNASKED_BYTE, logits * 4, s->stream);
        spoil_workspace(s);
    }
    if (cudaGraphLaunch(graph, s->stream) != cudaSuccess) return KERNEL_CUDA_ERROR;
    stage(s, from.logits, to.logits, logits);
    return KERNEL_OK;
}

static enum kernel_status capture(const struct scene *s, cudaGraphExec_t *executable)
{
    const struct engine_batch batch = staged_batch(s);
    cudaGraph_t graph = NULL;
    if (cudaStreamBeginCapture(s->stream, cudaStreamCaptureModeRelaxed) != cudaSuccess)
        return KERNEL_CUDA_ERROR;
    const unsigned long long own = capture_of(s->stream);
    enum kernel_status status = take_step(s, &s->model, &batch);
    const int kept = capture_of(s->stream) == own;
    if (cudaStreamEndCapture(s->stream, &graph) != cudaSuccess) return KERNEL_CUDA_ERROR;
    marshalling_may_look(1);
    if (!kept) {
        marshalling_saw(CAPTURE_ENDED);
        status = KERNEL_CUDA_ERROR;
    }
    if (status == KERNEL_OK && cudaGraphInstantiate(executable, graph, 0) != cudaSuccess)
        status = KERNEL_CUDA_ERROR;
    cudaGraphDestroy(graph);
    marshalling_may_look(0);
    return status;
}

/** All steps by one graph. To be timed it is kept until another case comes; on simt nothing is timed. */
static enum kernel_status replay(const struct scene *s)
{
    static cudaGraphExec_t kept;
    static struct engine_model of;
    enum kernel_status status = KERNEL_OK;
    if (kept != NULL && memcmp(&of, &s->model, sizeof of) != 0) {
        cudaGraphExecDestroy(kept);
        kept = NULL;
    }
    of = s->model;
    if (kept == NULL) status = capture(s, &kept);
    for (int step = 0; step < s->plan.steps && status == KERNEL_OK; step++)
        status = replay_step(s, kept, step);
    if (kept != NULL && (simt_pretend_multiprocessors != NULL || !(s->plan.manner & ENGINE_KEPT))) {
        marshalling_may_look(1);
        cudaStreamSynchronize(s->stream);
        cudaGraphExecDestroy(kept);
        marshalling_may_look(0);
        kept = NULL;
    }
    return status;
}

enum kernel_status lesson_call(const struct wire_case *item, void *const *buffers, cudaStream_t stream)
{
    struct scene scene = {.plan = engine_plan_of(item->value), .buffers = buffers, .stream = stream};
    const struct engine_plan *p = &scene.plan;
    const size_t asked = engine_workspace_bytes(&p->config), most = engine_most_workspace(&p->config);
    scene.model = (struct engine_model){.config = p->config,
                                        .weights = buffers[ENGINE_WEIGHTS],
                                        .cache = buffers[ENGINE_CACHE],
                                        .workspace = (char *)buffers[ENGINE_WORKSPACE] + engine_staged(p),
                                        .workspace_bytes =
                                            (asked < most ? asked : most) + (size_t)item->workspace_more};
    scene.model.config.num_blocks *= p->spread;
    if (is_wrong(&scene, item)) return call_wrongly(&scene);
    clear_other_logits(&scene);
    enum kernel_status status =
        p->manner & (ENGINE_GRAPH | ENGINE_KEPT) ? replay(&scene) : take_steps(&scene);
    if (status == KERNEL_OK && p->manner & ENGINE_ALONE) status = take_all_alone(&scene);
    if (status != KERNEL_OK) return status;
    if (p->manner & ENGINE_ALONE)
        report_differences(&scene);
    else
        cudaMemsetAsync(buffers[ENGINE_REPORT], 0, (size_t)p->steps * 4, stream);
    return status;
}

size_t lesson_workspace_bytes(const struct wire_case *item)
{
    const struct engine_plan plan = engine_plan_of(item->value);
    return engine_staged(&plan) + engine_workspace_bytes(&plan.config);
}
