/**
 * @file 07_cuda_graph.c
 * @brief Lesson 07: decode steps of a batch whose sequences grow, join and leave; replayed, and launch by
 * launch.
 *
 * A case is a schedule. Sequence j joins at step j * every, with a prefix already in the cache, and stays
 * `life` steps; the rows of a step are the sequences that are there, in order. The runner takes all the steps
 * through the student's graphs, then with the same inputs and another cache through the given eager step. It
 * reports, step by step, how many graphs and kernels the student's function launched, and how many 16-bit
 * halves of words differ from the eager step's.
 */
#include "checker/cases/case_table.h"
#include "checker/cases/lesson.h"
#include "protocol/cuda_graph_items.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "checker/numbers/bound.h"
#include "decode_step.h"
#include "base/parallel.h"

/** A model. */
struct sizes {
    int layers, hidden, heads, kv_heads, head_dim, intermediate, vocab;
};

/* clang-format off */
/*                                       layers hidden heads kv_h  dim  inter. vocab */
static const struct sizes TINY =          { 2,    32,    2,   1,  32,    24,    20};
static const struct sizes SMALLEST =      { 1,     8,    1,   1,  32,     4,     5};
static const struct sizes TWO_HEADS =     { 1,     8,    2,   1,  32,     4,     5};
static const struct sizes WIDE =          { 1,    40,    6,   2,  64,    33,    67};
static const struct sizes DEEP =          { 5,    16,    2,   2,  32,    16,    11};
static const struct sizes SEVEN_A_GROUP = { 1,    24,    7,   1,  96,     9,     3};
static const struct sizes HEADS_OF_128 =  { 2,    13,    1,   1, 128,     7,    10};
static const struct sizes MANY_TOKENS =   { 1,     8,    1,   1,  32,     4, 65600};
static const struct sizes HIDDEN_256 =    { 8,   256,    8,   2,  32,   512,   512};
static const struct sizes HIDDEN_1024 =   { 8,  1024,   16,   8,  64,  1024,  1024};
static const struct sizes LAYERS_28 =     {28,   256,    8,   2,  32,   512,   512};
/* Layers as those models have them, but caches of fewer tokens; of the larger model only two layers. */
static const struct sizes LIKE_0_6B =     {28,  1024,   16,   8, 128,  3072,  1024};
static const struct sizes LIKE_8B =       { 2,  4096,   32,   8, 128, 12288,  1024};
/* clang-format on */

/** One line: a model and a schedule. */
static const struct table_row {
    const char *name;
    enum case_group group;
    unsigned devices;
    const struct sizes *sizes;
    int max_rows, page;                /* of the cache, in tokens */
    int steps, sequences, every, life; /* sequence j is there from step j * every on, for `life` steps */
    enum mode mode;
    unsigned manner; /* set of enum manner */
} TABLE[] = {
    /* clang-format off */
    /* name                            group             devices  model            rows  page  steps  seq.  every  life mode         manner */
    {"step/one_sequence",              GROUP_BASIC,      ON_ANY,  &TINY,             1,   16,     6,    1,     0,    6, MODE_BOTH,   PLAIN},
    {"step/four_sequences",            GROUP_BASIC,      ON_ANY,  &TINY,             4,   16,     3,    4,     0,    3, MODE_BOTH,   PLAIN},
    {"step/smallest",                  GROUP_BASIC,      ON_ANY,  &SMALLEST,         2,    4,     3,    2,     0,    3, MODE_BOTH,   PLAIN},
    {"step/rows_3_of_4",               GROUP_EDGES,      ON_ANY,  &TINY,             4,   16,     2,    3,     0,    2, MODE_BOTH,   BUFFERS_SHARED},
    {"step/rows_5_of_8",               GROUP_EDGES,      ON_ANY,  &SMALLEST,         8,    1,     3,    5,     0,  150, MODE_BOTH,   BUFFERS_SHARED | LONG_TABLES},
    {"step/65600_pages_a_row",         GROUP_EDGES,      ON_ANY,  &SMALLEST,         4,    1,     1,    3,     0,    1, MODE_BOTH,   BUFFERS_SHARED | HUGE_TABLES},
    {"step/65600_tokens",              GROUP_EDGES,      ON_GPU,  &MANY_TOKENS,      4,   16,     1,    3,     0,    1, MODE_BOTH,   PLAIN},
    {"step/rows_1_to_33_of_64",        GROUP_EDGES,      ON_ANY,  &SMALLEST,        64,    4,     7,   33,     0,    7, MODE_BOTH,   ROWS_OF_BUCKETS},
    {"step/64_rows",                   GROUP_EDGES,      ON_ANY,  &SMALLEST,        64,    4,     1,   64,     0,    1, MODE_BOTH,   PLAIN},
    {"step/page_edges",                GROUP_EDGES,      ON_ANY,  &TINY,             4,    2,     5,    3,     0,    5, MODE_BOTH,   PLAIN},
    {"step/pages_of_one",              GROUP_EDGES,      ON_ANY,  &SMALLEST,         2,    1,     5,    2,     0,    5, MODE_BOTH,   PLAIN},
    {"step/pages_of_32",               GROUP_EDGES,      ON_ANY,  &SMALLEST,         2,   32,     5,    2,     0,    5, MODE_BOTH,   LONG_TABLES},
    {"step/grouped_heads",             GROUP_EDGES,      ON_ANY,  &WIDE,             2,   16,     2,    2,     0,    2, MODE_BOTH,   PLAIN},
    {"step/seven_heads_a_group",       GROUP_EDGES,      ON_ANY,  &SEVEN_A_GROUP,    2,   16,     2,    2,     0,    2, MODE_BOTH,   PLAIN},
    {"step/heads_of_128",              GROUP_EDGES,      ON_ANY,  &HEADS_OF_128,     2,    8,     2,    2,     0,    2, MODE_BOTH,   PLAIN},
    {"step/five_layers",               GROUP_EDGES,      ON_ANY,  &DEEP,             2,    4,     3,    2,     0,    3, MODE_BOTH,   PLAIN},
    {"step/rows_in_another_order",     GROUP_EDGES,      ON_ANY,  &SMALLEST,         4,    4,     4,    3,     0,    4, MODE_BOTH,   ROWS_REVERSED},
    {"step/streams_in_turn",           GROUP_EDGES,      ON_ANY,  &SMALLEST,         4,    4,     4,    5,     1,    3, MODE_BOTH,   STREAMS_CHANGE},
    {"step/without_the_legacy_stream", GROUP_EDGES,      ON_ANY,  &SMALLEST,         4,    4,     2,    3,     0,    2, MODE_BOTH,   NO_LEGACY},
    {"step/refusals_between",          GROUP_EDGES,      ON_ANY,  &SMALLEST,         4,    4,     3,    3,     0,    3, MODE_BOTH,   REFUSED_BETWEEN},
    {"step/created_again",             GROUP_EDGES,      ON_ANY,  &SMALLEST,         2,    4,     2,    2,     0,    2, MODE_BOTH,   CREATED_TWICE},
    {"step/built_in_streams",          GROUP_EDGES,      ON_ANY,  &SMALLEST,         4,    4,     4,    5,     1,    3, MODE_BOTH,   STREAMS_BUILT_IN},
    {"step/creation_stream_gone",      GROUP_EDGES,      ON_ANY,  &SMALLEST,         4,    4,     2,    3,     0,    2, MODE_BOTH,   STREAMS_CHANGE | STREAMS_BUILT_IN},
    {"step/created_in_turn",           GROUP_EDGES,      ON_ANY,  &SMALLEST,         2,    4,     1,    1,     0,    1, MODE_BOTH,   CREATED_OFTEN},
    {"step/two_models",                GROUP_EDGES,      ON_ANY,  &SMALLEST,         4,    4,     4,    3,     1,    3, MODE_BOTH,   SECOND_MODEL},
    {"step/all_but_one_alike",         GROUP_EDGES,      ON_ANY,  &TWO_HEADS,        4,    4,    30,    3,     0,   30, MODE_BOTH,   ONE_UNLIKE},
    {"step/stream_being_captured",     GROUP_EDGES,      ON_ANY,  &SMALLEST,         2,    4,     2,    2,     0,    2, MODE_BOTH,   CALLER_CAPTURES},
    {"step/joins_and_leaves",          GROUP_NUMERICS,   ON_ANY,  &SMALLEST,         4,    4,    24,    9,     3,    8, MODE_BOTH,   PLAIN},
    {"step/batch_shrinks",             GROUP_NUMERICS,   ON_ANY,  &SMALLEST,         8,    8,    11,    8,     1,    4, MODE_BOTH,   LONG_TABLES},
    {"step/64_steps",                  GROUP_NUMERICS,   ON_ANY,  &SMALLEST,         1,    8,    64,    1,     0,   64, MODE_BOTH,   PLAIN},
    {"step/property_replay_is_eager",  GROUP_PROPERTIES, ON_ANY,  &SMALLEST,         4,    4,     3,    4,     0,    3, MODE_BOTH,   PLAIN},
    {"step/replay_tiny",               GROUP_SPEED,      ON_ANY,  &SMALLEST,         1,   16,     2,    1,     0,    2, MODE_REPLAY, LONG_TABLES},
    {"step/eager_tiny",                GROUP_SPEED,      ON_ANY,  &SMALLEST,         1,   16,     2,    1,     0,    2, MODE_EAGER,  LONG_TABLES},
    {"step/replay_256_rows_1",         GROUP_SPEED,      ON_GPU,  &HIDDEN_256,       1,   16,     4,    1,     0,    4, MODE_REPLAY, LONG_TABLES},
    {"step/eager_256_rows_1",          GROUP_SPEED,      ON_GPU,  &HIDDEN_256,       1,   16,     4,    1,     0,    4, MODE_EAGER,  LONG_TABLES},
    {"step/replay_1024_rows_1",        GROUP_SPEED,      ON_GPU,  &HIDDEN_1024,      1,   16,     4,    1,     0,    4, MODE_REPLAY, LONG_TABLES},
    {"step/eager_1024_rows_1",         GROUP_SPEED,      ON_GPU,  &HIDDEN_1024,      1,   16,     4,    1,     0,    4, MODE_EAGER,  LONG_TABLES},
    {"step/replay_1024_rows_8",        GROUP_SPEED,      ON_GPU,  &HIDDEN_1024,      8,   16,     2,    8,     0,    2, MODE_REPLAY, LONG_TABLES},
    {"step/eager_1024_rows_8",         GROUP_SPEED,      ON_GPU,  &HIDDEN_1024,      8,   16,     2,    8,     0,    2, MODE_EAGER,  LONG_TABLES},
    {"step/replay_28_layers",          GROUP_SPEED,      ON_GPU,  &LAYERS_28,        1,   16,     4,    1,     0,    4, MODE_REPLAY, LONG_TABLES},
    {"step/eager_28_layers",           GROUP_SPEED,      ON_GPU,  &LAYERS_28,        1,   16,     4,    1,     0,    4, MODE_EAGER,  LONG_TABLES},
    {"step/replay_like_qwen3_0_6b",    GROUP_SPEED,      ON_GPU,  &LIKE_0_6B,        1,   16,     1,    1,     0,    1, MODE_REPLAY, LONG_TABLES},
    {"step/eager_like_qwen3_0_6b",     GROUP_SPEED,      ON_GPU,  &LIKE_0_6B,        1,   16,     1,    1,     0,    1, MODE_EAGER,  LONG_TABLES},
    {"step/replay_like_qwen3_8b",      GROUP_SPEED,      ON_GPU,  &LIKE_8B,          1,   16,     1,    1,     0,    1, MODE_REPLAY, LONG_TABLES},
    {"step/eager_like_qwen3_8b",       GROUP_SPEED,      ON_GPU,  &LIKE_8B,          1,   16,     1,    1,     0,    1, MODE_EAGER,  LONG_TABLES},
    /* clang-format on */
};

/** One line: a call that must be refused. */
static const struct bad_row {
    const char *name;
    enum mistake mistake;
    int which; /* which one, for mistakes with several variants, as in the comments of enum mistake */
    enum kernel_status expected;
} BAD[] = {
    /* clang-format off */
    /* name                                 mistake                        which                   expected */
    {"step/null_model",                     NULL_MODEL,                    0,                      KERNEL_INVALID_CONFIG},
    {"step/null_buffers",                   NULL_BUFFERS,                  0,                      KERNEL_INVALID_CONFIG},
    {"step/null_handle",                    NULL_HANDLE,                   0,                      KERNEL_INVALID_CONFIG},
    {"step/legacy_stream",                  LEGACY_STREAM,                 LEGACY_AS_NULL,         KERNEL_INVALID_CONFIG},
    {"step/legacy_stream_by_its_name",      LEGACY_STREAM,                 LEGACY_BY_NAME,         KERNEL_INVALID_CONFIG},
    {"step/no_buffer_of_tokens",            MISSING_BUFFER,                BUFFER_TOKENS,          KERNEL_INVALID_CONFIG},
    {"step/no_buffer_of_positions",         MISSING_BUFFER,                BUFFER_POSITIONS,       KERNEL_INVALID_CONFIG},
    {"step/no_buffer_of_block_tables",      MISSING_BUFFER,                BUFFER_BLOCK_TABLE,     KERNEL_INVALID_CONFIG},
    {"step/no_buffer_of_x",                 MISSING_BUFFER,                BUFFER_X,               KERNEL_INVALID_CONFIG},
    {"step/no_buffer_of_qkv",               MISSING_BUFFER,                BUFFER_QKV,             KERNEL_INVALID_CONFIG},
    {"step/no_buffer_of_attended",          MISSING_BUFFER,                BUFFER_ATTENDED,        KERNEL_INVALID_CONFIG},
    {"step/no_buffer_of_gated",             MISSING_BUFFER,                BUFFER_GATED,           KERNEL_INVALID_CONFIG},
    {"step/no_buffer_of_logits",            MISSING_BUFFER,                BUFFER_LOGITS,          KERNEL_INVALID_CONFIG},
    {"step/no_cache",                       MISSING_BUFFER,                BUFFER_CACHE,           KERNEL_INVALID_CONFIG},
    {"step/weight_missing",                 MISSING_WEIGHT,                0,                      KERNEL_INVALID_CONFIG},
    {"step/head_dim_48",                    HEAD_DIM_48,                   0,                      KERNEL_INVALID_DIMENSION},
    {"step/max_rows_3",                     ROWS_NOT_A_POWER,              0,                      KERNEL_INVALID_DIMENSION},
    {"step/scratch_page_outside",           SCRATCH_OUTSIDE,               0,                      KERNEL_INVALID_DIMENSION},
    {"step/heads_2_of_3",                   UNEVEN_HEADS,                  0,                      KERNEL_INVALID_DIMENSION},
    {"step/head_dim_48_and_weight_missing", HEAD_DIM_48_AND_NO_WEIGHT,     0,                      KERNEL_INVALID_DIMENSION},
    {"step/legacy_stream_and_head_dim_48",  HEAD_DIM_48_AND_LEGACY_STREAM, LEGACY_AS_NULL,         KERNEL_INVALID_CONFIG},
    {"step/graph_refused_by_cuda",          GRAPH_REFUSED,                 ONE_OF_SEVERAL_BUCKETS, KERNEL_CUDA_ERROR},
    {"step/only_graph_refused_by_cuda",     GRAPH_REFUSED,                 THE_ONLY_BUCKET,        KERNEL_CUDA_ERROR},
    {"step/null_graphs",                    NULL_GRAPHS,                   0,                      KERNEL_INVALID_CONFIG},
    {"step/null_batch",                     NULL_BATCH,                    0,                      KERNEL_INVALID_CONFIG},
    {"step/null_tokens",                    NULL_TOKENS,                   0,                      KERNEL_INVALID_CONFIG},
    {"step/null_positions",                 NULL_POSITIONS,                0,                      KERNEL_INVALID_CONFIG},
    {"step/null_block_table",               NULL_TABLE,                    0,                      KERNEL_INVALID_CONFIG},
    {"step/null_logits",                    NULL_LOGITS,                   0,                      KERNEL_INVALID_CONFIG},
    {"step/rows_0",                         NO_ROWS,                       0,                      KERNEL_INVALID_DIMENSION},
    {"step/rows_negative",                  NEGATIVE_ROWS,                 0,                      KERNEL_INVALID_DIMENSION},
    {"step/rows_above_the_largest_bucket",  TOO_MANY_ROWS,                 0,                      KERNEL_INVALID_DIMENSION},
    {"step/null_logits_and_rows_0",         NO_ROWS_AND_NULL_LOGITS,       0,                      KERNEL_INVALID_CONFIG},
    {"step/eager_null_logits",              EAGER_NULL_LOGITS,             0,                      KERNEL_INVALID_CONFIG},
    {"step/eager_rows_above_max_rows",      EAGER_TOO_MANY_ROWS,           0,                      KERNEL_INVALID_DIMENSION},
    /* clang-format on */
};

/* ---- schedules ----------------------------------------------------------------------------------------- */

static void put_plan(struct lesson_case *item, const struct plan *plan)
{
    if (plan->steps > MOST_STEPS) abort();
    if (plan->manner & ONE_UNLIKE && plan->steps != things(&plan->config)) abort();
    memset(item->value, 0, sizeof item->value);
    memcpy(item->value, plan, sizeof *plan);
}

/** Tokens in the cache when a sequence joins; some sequences are about to fill a page, some have just
 *  filled one. */
static int prefix_of(const struct plan *p, int sequence)
{
    int size = p->config.block_size;
    return (size - 1 + 3 * sequence) % (2 * size);
}

/** Pages of the sequence that needs the most. */
static int pages_needed(const struct plan *p)
{
    int most = 0;
    for (int j = 0; j < p->sequences; j++) {
        int left = p->steps - joins_at(p, j), stays = left < p->life ? left : p->life;
        int pages = (prefix_of(p, j) + stays - 1) / p->config.block_size + 1;
        most = pages > most ? pages : most;
    }
    return most;
}

/** The cache that the schedule needs. Scratch pages lie in the middle of the others. */
static void set_cache(struct plan *p)
{
    struct decode_config *c = &p->config;
    int pages = p->manner & LONG_TABLES ? 3 + (p->life + c->block_size - 1) / c->block_size : pages_needed(p);
    c->max_blocks = p->manner & HUGE_TABLES ? HUGE_TABLE : pages;
    c->num_blocks = p->sequences * pages + c->max_rows;
    c->scratch_block = p->sequences * pages / 2;
}

static void set_sizes(struct decode_config *c, const struct sizes *sizes)
{
    c->layers = sizes->layers;
    c->hidden = sizes->hidden;
    c->heads = sizes->heads;
    c->kv_heads = sizes->kv_heads;
    c->head_dim = sizes->head_dim;
    c->intermediate = sizes->intermediate;
    c->vocab = sizes->vocab;
}

/** The number of pages of each sequence. */
static int pages_of_each(const struct plan *p)
{
    return (p->config.num_blocks - p->config.max_rows) / p->sequences;
}

/** Page @p index of a sequence. Pages are scattered over the cache; sequence 0 begins in page 0. */
static int page_of(const struct plan *p, int sequence, int index)
{
    int64_t pages = p->config.num_blocks - p->config.max_rows,
            at = (int64_t)sequence * pages_of_each(p) + index;
    int page = (int)(at * case_table_stride(pages) % pages);
    return page < p->config.scratch_block ? page : page + p->config.max_rows;
}

/** The row of sequence @p sequence at @p step. */
static int row_of(const struct plan *p, int sequence, int step)
{
    int row = rows_before(p, sequence, step);
    return p->manner & ROWS_REVERSED && step % 2 == 1 ? rows_at(p, step) - 1 - row : row;
}

static struct lesson_case case_of(const struct table_row *row)
{
    struct lesson_case item = {.group = row->group,
                               .weight = row->mode == MODE_EAGER ? 0 : 3,
                               .devices = row->devices,
                               .null_buffer = -1,
                               .misaligned_buffer = -1,
                               .repeat = row->group == GROUP_PROPERTIES ? 100 : 1,
                               .expected = KERNEL_OK};
    struct plan plan = {.config = {.max_rows = row->max_rows, .block_size = row->page},
                        .steps = row->steps,
                        .sequences = row->sequences,
                        .every = row->every,
                        .life = row->life,
                        .mode = row->mode,
                        .manner = row->manner};
    set_sizes(&plan.config, row->sizes);
    set_cache(&plan);
    put_plan(&item, &plan);
    if (row->manner & BUFFERS_SHARED) item.unread = 1u << WORKSPACE;
    snprintf(item.name, sizeof item.name, "%s", row->name);
    return item;
}

/** A small case of one step, with a mistake in its arguments. */
static struct lesson_case bad_case_of(const struct bad_row *row)
{
    /* clang-format off */
    static const struct table_row basis = {"", GROUP_BAD_INPUT, ON_ANY, &DEEP, 4, 16, 1, 4, 0, 1, MODE_BOTH, PLAIN};
    /* clang-format on */
    struct lesson_case item = case_of(&basis);
    struct plan plan = plan_of(item.value);
    plan.mistake = row->mistake;
    plan.which = row->which;
    put_plan(&item, &plan);
    if (row->mistake == GRAPH_REFUSED && row->which == THE_ONLY_BUCKET) {
        plan.config.max_rows = plan.sequences = 1;
        set_cache(&plan);
        put_plan(&item, &plan);
    }
    /* a CUDA driver may instantiate such a graph */
    if (row->mistake == GRAPH_REFUSED) item.devices = ON_SIMT;
    item.weight = row->mistake < EAGER_NULL_LOGITS; /* given code earns no points */
    item.expected = row->expected;
    snprintf(item.name, sizeof item.name, "%s", row->name);
    return item;
}

static int cases(struct lesson_case *cases, int capacity)
{
    const size_t good = sizeof TABLE / sizeof TABLE[0], all = good + sizeof BAD / sizeof BAD[0];
    int count = 0;
    for (size_t i = 0; i < all && count < capacity; i++) {
        struct lesson_case *item = &cases[count++];
        *item = i < good ? case_of(&TABLE[i]) : bad_case_of(&BAD[i - good]);
        if (i < good && TABLE[i].mode == MODE_REPLAY)
            item->beside = count + 1; /* reports show eager's time beside this one's */
    }
    return count;
}

static void vary(struct lesson_case *item, int index, struct rng *rng)
{
    static const int page_sizes[] = {1, 2, 4, 8, 16};
    struct plan plan = plan_of(item->value);
    struct decode_config *c = &plan.config;
    item->seed = rng_next(rng);
    if (index % 4 > 0) item->flags |= CASE_ONE_CALL; /* every fourth item shows what a second call would */
    c->layers = 1 + rng_between(rng, 0, 3) / 3; /* sometimes two layers: launches take most of the time */
    c->hidden = rng_between(rng, 4, 9);
    c->kv_heads = 1 + rng_between(rng, 0, 3) / 3;
    c->heads = c->kv_heads * (1 + rng_between(rng, 0, 3) / 3);
    c->vocab = rng_between(rng, 2, 9);
    c->max_rows = 1 << rng_between(rng, 0, 2);
    c->block_size = page_sizes[rng_between(rng, 0, 4)];
    plan.every = rng_between(rng, 0, 2);
    plan.steps = 2;
    plan.life = plan.every == 0 ? plan.steps : rng_between(rng, plan.every, plan.every * c->max_rows);
    plan.sequences = plan.every == 0 ? rng_between(rng, 1, c->max_rows) : plan.steps / plan.every + 1;
    plan.manner = rng_between(rng, 0, 1) ? ROWS_REVERSED : PLAIN;
    set_cache(&plan);
    put_plan(item, &plan);
}

/* ---- buffers ------------------------------------------------------------------------------------------- */

static int buffers(const struct lesson_case *item, struct lesson_buffer *b)
{
    struct decode_model model;
    struct plan p = plan_of(item->value);
    const struct decode_config *c = &p.config;
    size_t steps = (size_t)p.steps, rows = first_row_of(&p, p.steps), copies = p.mode == MODE_BOTH ? 2 : 1;
    size_t page = (size_t)c->block_size * (size_t)c->kv_heads * (size_t)c->head_dim;
    size_t slices = 2 * (size_t)c->layers, vocab = (size_t)c->vocab;
    b[WEIGHTS] = LESSON_BUFFER("weights", WIRE_IN, STORAGE_F16, decode_model_at(c, NULL, &model));
    b[TOKENS] = LESSON_BUFFER("tokens", WIRE_IN, STORAGE_I32, rows);
    b[POSITIONS] = LESSON_BUFFER("positions", WIRE_IN, STORAGE_I32, rows);
    b[TABLES] = LESSON_BUFFER("block_table", WIRE_IN, STORAGE_I32, rows, (size_t)c->max_blocks);
    b[CACHE] = LESSON_BUFFER("cache", WIRE_INOUT, STORAGE_F16, copies, slices, (size_t)c->num_blocks, page);
    b[LOGITS] = LESSON_BUFFER("logits", WIRE_OUT, STORAGE_F32, copies, steps, (size_t)c->max_rows, vocab);
    b[REPORT] = (struct lesson_buffer){
        .name = "replay",
        .role = WIRE_OUT,
        .rank = 2,
        .extent = {steps + 1, COLUMNS},
        .column = {"graphs", "kernels", "differences_from_eager", "padding", "creation"},
        .storage = STORAGE_I32};
    b[WORKSPACE] = LESSON_BUFFER("workspace", WIRE_WORKSPACE, STORAGE_F32, workspace_of(&p) / 4);
    /* The given kernels demand this layout. */
    b[WEIGHTS].align = b[CACHE].align = DECODE_ALIGNMENT;
    return BUFFERS;
}

/** Weights as floats on their way into the array. A model without memory says where each matrix lies. */
struct weights {
    struct decode_model model; /* its pointers begin at NOWHERE */
    float *data;
    struct rng rng;
};

/* Any address but NULL: pointers of the model lie as far from it as the matrices lie from the start of the
 * array. */
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

/** Table entries of pages that a sequence does not need yet: a kernel that uses them crashes. */
static void fill_batches(const struct lesson_case *item, int index, struct rng *rng, float *data)
{
    const struct plan p = plan_of(item->value);
    const struct decode_config *c = &p.config;
    size_t width = index == TABLES ? (size_t)c->max_blocks : 1;
    for (size_t i = 0; i < first_row_of(&p, p.steps) * width; i++) data[i] = -1.0f;
    for (int step = 0; step < p.steps; step++) {
        for (int j = 0; j < p.sequences; j++) {
            if (!is_there(&p, j, step)) continue;
            float *at = data + (first_row_of(&p, step) + (size_t)row_of(&p, j, step)) * width;
            int position = prefix_of(&p, j) + step - joins_at(&p, j);
            if (index == TOKENS) *at = (float)rng_between(rng, 0, c->vocab - 1);
            if (index == POSITIONS) *at = (float)position;
            for (int i = 0; index == TABLES && i <= position / c->block_size; i++)
                at[i] = (float)page_of(&p, j, i);
        }
    }
}

/** Where a position of a sequence begins in [num_blocks, block_size, kv_heads, head_dim]. */
static size_t place_of(const struct plan *p, int sequence, int position)
{
    const struct decode_config *c = &p->config;
    size_t page = (size_t)page_of(p, sequence, position / c->block_size);
    return (page * (size_t)c->block_size + (size_t)(position % c->block_size)) *
           (size_t)(c->kv_heads * c->head_dim);
}

/** NaN wherever no kernel may read; the prefixes; zeros in the scratch pages. The copies hold the same. */
static void fill_cache(const struct lesson_case *item, size_t elems, struct rng *rng, float *data)
{
    const struct plan p = plan_of(item->value);
    const struct decode_config *c = &p.config;
    size_t one = decode_cache_elems(c), slice = one / (2 * (size_t)c->layers),
           page = slice / (size_t)c->num_blocks;
    size_t width = (size_t)(c->kv_heads * c->head_dim);
    for (size_t i = 0; i < one; i++) data[i] = NAN;
    for (size_t part = 0; part < 2 * (size_t)c->layers; part++) {
        float *of_part = data + part * slice;
        for (size_t i = 0; i < (size_t)c->max_rows * page; i++)
            of_part[(size_t)c->scratch_block * page + i] = 0.0f;
        for (int j = 0; j < p.sequences; j++)
            for (int t = 0; t < prefix_of(&p, j); t++)
                for (size_t i = 0; i < width; i++) of_part[place_of(&p, j, t) + i] = (float)rng_normal(rng);
    }
    for (size_t i = one; i < elems; i++) data[i] = data[i - one];
}

static void fill(const struct lesson_case *item, int index, size_t elems, struct rng *rng, float *data)
{
    const struct plan p = plan_of(item->value);
    if (index == WEIGHTS)
        fill_weights(&p.config, rng, data);
    else if (index == CACHE)
        fill_cache(item, elems, rng, data);
    else
        fill_batches(item, index, rng, data);
}

/* ---- the oracle ---------------------------------------------------------------------------------------- */

static size_t units(const struct lesson_case *item)
{
    (void)item;
    return 1; /* each step depends on all earlier ones */
}

static size_t unit_elems(const struct lesson_case *item)
{
    struct lesson_buffer b[BUFFERS];
    buffers(item, b);
    size_t cache = lesson_elems(&b[CACHE]), logits = lesson_elems(&b[LOGITS]);
    return (cache > logits ? cache : logits) + lesson_elems(&b[REPORT]);
}

static double as_half(double x)
{
    return (double)storage_round(STORAGE_F16, (float)x);
}

static double stored_as_half(double x, double beside, int terms, double magnitude)
{
    (void)beside, (void)terms, (void)magnitude;
    return as_half(x);
}

/**
 * The same, but a value that a right kernel may move across the midpoint of two halves is stored as the other
 * half. Such a kernel may be off by its own error, and by as much as earlier ties that went the other way
 * have changed the state. @p beside is the value that the oracle rounds to the nearest half. A tie may change
 * a state in either direction, and @p x is the result of one of them: so both sides of @p beside are tried,
 * the side of @p x first.
 */
static double stored_otherwise(double x, double beside, int terms, double magnitude)
{
    double reach = fabs(x - beside) + bound_sum(terms, magnitude), nearest = as_half(beside);
    double first = as_half(x > beside ? beside + reach : beside - reach),
           second = as_half(x > beside ? beside - reach : beside + reach);
    return first != nearest ? first : second;
}

/**
 * A sequence computed in three ways: by the oracle; with nearly every tie stored the other way; and in plain
 * f32. Also their scratch memory.
 */
struct followed {
    struct ref_decode_sizes sizes;
    struct ref_decode_sequence exact, other, plain;
    struct ref_decode_magnitudes magnitudes;
    double *logits, *other_logits, *plain_logits, *scratch;
};

static int follow_open(struct followed *f, const struct plan *p)
{
    const struct decode_config *c = &p->config;
    f->sizes = (struct ref_decode_sizes){c->layers,   c->hidden,       c->heads, c->kv_heads,
                                         c->head_dim, c->intermediate, c->vocab};
    size_t capacity = (size_t)(pages_of_each(p) * c->block_size), vocab = (size_t)c->vocab;
    size_t kv = (size_t)(c->layers * c->kv_heads * c->head_dim), history = capacity * kv;
    double *memory = calloc(6 * history + 4 * kv + 4 * vocab + ref_decode_scratch_elems(&f->sizes, capacity),
                            sizeof *memory);
    f->exact = (struct ref_decode_sequence){capacity, memory, memory + history};
    f->plain = (struct ref_decode_sequence){capacity, memory + 2 * history, memory + 3 * history};
    f->other = (struct ref_decode_sequence){capacity, memory + 4 * history, memory + 5 * history};
    if (memory == NULL) return 0;
    f->magnitudes.keys = memory + 6 * history;
    f->magnitudes.values = f->magnitudes.keys + kv;
    f->magnitudes.unstored_keys = f->magnitudes.values + kv;
    f->magnitudes.unstored_values = f->magnitudes.unstored_keys + kv;
    f->magnitudes.logits = f->magnitudes.unstored_values + kv;
    f->logits = f->magnitudes.logits + vocab;
    f->plain_logits = f->logits + vocab;
    f->other_logits = f->plain_logits + vocab;
    f->scratch = f->other_logits + vocab;
    return 1;
}

/** Copies the prefix of sequence @p j from the pages of the cache. */
static void follow_from(struct followed *f, const struct plan *p, const float *cache, int j)
{
    const struct decode_config *c = &p->config;
    size_t width = (size_t)(c->kv_heads * c->head_dim),
           slice = decode_cache_elems(c) / (2 * (size_t)c->layers);
    for (size_t layer = 0; layer < (size_t)c->layers; layer++)
        for (int t = 0; t < prefix_of(p, j); t++)
            for (size_t i = 0; i < width; i++) {
                size_t to = (layer * f->exact.capacity + (size_t)t) * width + i, from = place_of(p, j, t) + i;
                f->exact.keys[to] = f->other.keys[to] = f->plain.keys[to] =
                    (double)cache[2 * layer * slice + from];
                f->exact.values[to] = f->other.values[to] = f->plain.values[to] =
                    (double)cache[(2 * layer + 1) * slice + from];
            }
}

/*
 * A new key or value near the middle between two halves may be stored as either. From there on everything is
 * a little different, as if states were good to the precision of a half: hence these bounds, which are those
 * of results stored as half. Where a sequence is short one key weighs so much that a tie does more: how much
 * is the difference to the sequence whose ties went the other way. The effect of such a tie is chance, so all
 * of it counts as floor.
 */
static void put(struct lesson_span *span, size_t at, double expected, double plain, double bound)
{
    span->expected[at] = expected;
    span->plain[at] = plain;
    span->bound[at] = span->floor[at] = bound;
}

static void put_new_keys(const struct followed *f, const struct plan *p, int j, int position,
                         struct lesson_span *span)
{
    const struct decode_config *c = &p->config;
    size_t width = (size_t)(c->kv_heads * c->head_dim),
           slice = decode_cache_elems(c) / (2 * (size_t)c->layers);
    for (size_t layer = 0; layer < (size_t)c->layers; layer++)
        for (size_t i = 0; i < width; i++) {
            size_t from = (layer * f->exact.capacity + (size_t)position) * width + i;
            size_t to = 2 * layer * slice + place_of(p, j, position) + i;
            double key = f->exact.keys[from], value = f->exact.values[from];
            double of_key = fabs(key) + f->magnitudes.keys[layer * width + i];
            double of_value = fabs(value) + f->magnitudes.values[layer * width + i];
            put(span, to, key, f->plain.keys[from],
                bound_stored_as(STORAGE_F16, of_key) + fabs(f->other.keys[from] - key));
            put(span, to + slice, value, f->plain.values[from],
                bound_stored_as(STORAGE_F16, of_value) + fabs(f->other.values[from] - value));
        }
}

static void follow_step(struct followed *f, const struct plan *p, const float *const *data, int j, int step,
                        struct lesson_expectation *e)
{
    const struct ref_decode_rounding exact = {stored_as_half, 0, NULL}, plain = {stored_as_half, 1, NULL};
    const struct ref_decode_rounding other = {stored_otherwise, 0, &f->magnitudes};
    size_t row = (size_t)row_of(p, j, step), from = first_row_of(p, step) + row;
    size_t at = (size_t)step * (size_t)p->config.max_rows + row, vocab = (size_t)p->config.vocab;
    int token = (int)data[TOKENS][from], position = (int)data[POSITIONS][from];
    ref_decode_step(&f->sizes, data[WEIGHTS], &plain, token, position, &f->plain, f->plain_logits, NULL,
                    f->scratch);
    ref_decode_step(&f->sizes, data[WEIGHTS], &exact, token, position, &f->exact, f->logits, &f->magnitudes,
                    f->scratch);
    ref_decode_step(&f->sizes, data[WEIGHTS], &other, token, position, &f->other, f->other_logits, NULL,
                    f->scratch);
    put_new_keys(f, p, j, position, &e->span[0]);
    for (size_t i = 0; i < vocab; i++)
        put(&e->span[1], at * vocab + i, f->logits[i], f->plain_logits[i],
            bound_stored(f->logits[i]) + bound_stored_as(STORAGE_F16, f->magnitudes.logits[i]) +
                fabs(f->other_logits[i] - f->logits[i]));
}

/** The second half of a span repeats the first. */
static void repeat_half(struct lesson_span *span)
{
    size_t half = span->count / 2;
    for (size_t i = 0; i < half; i++) put(span, half + i, span->expected[i], span->plain[i], span->bound[i]);
}

/** Sequences do not influence each other: any thread can compute any of them. */
struct following {
    const struct plan *plan;
    const float *const *data;
    struct lesson_expectation *e;
};

static void follow(void *context, size_t first, size_t last)
{
    const struct following *f = context;
    struct followed followed = {0};
    if (!follow_open(&followed, f->plan)) abort();
    for (size_t j = first; j < last; j++) {
        follow_from(&followed, f->plan, f->data[CACHE], (int)j);
        for (int step = 0; step < f->plan->steps; step++)
            if (is_there(f->plan, (int)j, step)) follow_step(&followed, f->plan, f->data, (int)j, step, f->e);
    }
    free(followed.exact.keys);
}

static int cheap_to_follow(const struct plan *p)
{
    return (int64_t)p->config.layers * p->config.hidden * p->config.hidden * p->steps < 1 << 20;
}

static void expect(const struct lesson_case *item, const float *const *data, size_t unit,
                   struct lesson_expectation *e)
{
    const struct plan p = plan_of(item->value);
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
    struct following following = {&p, data, e};
    parallel_for((size_t)p.sequences, cheap_to_follow(&p) ? (size_t)p.sequences : 1, follow, &following);
    if (p.mode != MODE_BOTH) return;
    repeat_half(&e->span[0]);
    repeat_half(&e->span[1]);
    for (size_t step = 0; step < (size_t)p.steps; step++) put(&e->span[2], step * COLUMNS + GRAPHS, 1, 1, 0);
}

/* ---- words --------------------------------------------------------------------------------------------- */

static int trait(const struct lesson_case *item, int index, const char **message)
{
    const struct plan p = plan_of(item->value);
    int padded = 0, most = 0;
    for (int step = 0; step < p.steps; step++) {
        int rows = rows_at(&p, step);
        padded |= bucket_rows(rows) != rows;
        most = rows > most ? rows : most;
    }
    const struct trait traits[] = {
        {padded, "only batches that are no power of two fail: look at the choice of the bucket, and at rows "
                 "that pad: each writes to its own scratch page, scratch_block + row"},
        {p.steps > 1,
         "only cases of more than one step fail: what does a replay read anew, and what was frozen?"},
        {p.config.layers > 1, "only models of more than one layer fail: is every layer captured?"},
        {most > 1, "only batches of more than one row fail: was the graph of each bucket captured for as "
                   "many rows as the bucket has?"},
        {bucket_rows(most) == p.config.max_rows,
         "only batches that need the largest bucket fail: is there a graph for max_rows rows?"},
    };
    return trait_at(traits, sizeof traits / sizeof traits[0], p.mistake == RIGHT && p.mode != MODE_EAGER,
                    index, message);
}

/** A number in the report, and what it means. */
static const struct meaning {
    int column;
    int of_steps; /* 1: in the row of a step; 0: in the last row */
    int value;
    enum record_cause cause;
    const char *text;
} MEANINGS[] = {
    {GRAPHS, 1, 0, RECORD_CAUSE_GRAPH,
     "these steps launch no graph: every kernel is launched by itself, as without CUDA graphs"},
    {GRAPHS, 1, 2, RECORD_CAUSE_GRAPH, "a step launches two graphs: everything is computed twice"},
    {GRAPHS, 0, 1, RECORD_CAUSE_GRAPH_CREATION,
     "decode_graphs_create() launches a graph: it is to capture, and to run nothing"},
    {KERNELS, 1, 1, RECORD_CAUSE_GRAPH,
     "a step launches more than one kernel beside its graph: the whole step belongs into the graph; what may "
     "be launched by itself is one kernel that stages and pads the inputs"},
    {KERNELS, 0, 1, RECORD_CAUSE_GRAPH_CREATION,
     "decode_graphs_create() launches kernels that are not captured: it is to capture, and to run nothing"},
    {PADDING, 0, PADDED_NEEDLESSLY, RECORD_CAUSE_PADDING,
     "a scratch page was written whose row never pads: rows that pad have page scratch_block + row, and the "
     "smallest bucket that is large enough has no others"},
    {PADDING, 0, PADDED_WITH_ANOTHER_ROW, RECORD_CAUSE_PADDING,
     "what a row that pads has written to its scratch page is not the key and value of token 0 at position "
     "0"},
    {PADDING, 0, PADDED_WITH_A_PART, RECORD_CAUSE_PADDING,
     "a row that pads must be token 0 at position 0, and every entry of its block table its scratch page"},
    {CREATION, 0, MEMORY_LEFT, RECORD_CAUSE_HOST_MEMORY,
     "host memory is left when graphs are created, used and destroyed in turn: decode_graphs_destroy() frees "
     "all that decode_graphs_create() and the steps have allocated, and a creation that fails frees it as "
     "well"},
    {CREATION, 0, ERROR_LEFT, RECORD_CAUSE_GRAPH_CREATION,
     "decode_graphs_create() fails, since its caller is capturing the stream, and leaves an error for "
     "cudaGetLastError()"},
    {CREATION, 0, CAPTURE_SPOILED, RECORD_CAUSE_GRAPH_CREATION,
     "decode_graphs_create() is called on a stream that its caller is capturing, and ends that capture or "
     "adds "
     "to it: if cudaStreamBeginCapture() fails there is none of yours to end"},
};

static int guess(const struct lesson_case *item, const float *const *data, int index, int buffer, size_t at,
                 struct lesson_guess *guess)
{
    const struct plan p = plan_of(item->value);
    (void)data;
    if (index >= (int)(sizeof MEANINGS / sizeof MEANINGS[0])) return -1;
    const struct meaning *meaning = &MEANINGS[index];
    int of_step = at / COLUMNS < (size_t)p.steps;
    if (buffer != REPORT || (int)(at % COLUMNS) != meaning->column || of_step != meaning->of_steps) return 0;
    guess->value = meaning->value;
    guess->cause = meaning->cause;
    snprintf(guess->words, sizeof guess->words, "%s", meaning->text);
    return 1;
}

static const char *purpose(const struct lesson_case *item)
{
    static const struct {
        unsigned manner;
        const char *text;
    } purposes[] = {
        {ROWS_REVERSED, "every second step has its rows in reverse order"},
        {STREAMS_CHANGE | STREAMS_BUILT_IN,
         "the stream of the creation is gone, and the first step is on the legacy default stream"},
        {STREAMS_CHANGE, "the stream of the creation is gone, and every step has a stream of its own"},
        {NO_LEGACY,
         "the legacy default stream cannot be used meanwhile: all work belongs into the stream given"},
        {BUFFERS_SHARED,
         "before every step others have used the buffers that the graphs read, and the last step's block "
         "table lay where this one's does: all is copied, and rows past the batch are padded, in every step"},
        {REFUSED_BETWEEN, "before every step come calls that must be refused, and leave no trace"},
        {CREATED_TWICE, "a creation that fails and graphs that are destroyed unused come first"},
        {SECOND_MODEL, "graphs of a second model take the same steps in turn, and are destroyed earlier"},
        {STREAMS_BUILT_IN,
         "creation is given cudaStreamPerThread; steps are given that and the legacy default stream"},
        {ROWS_OF_BUCKETS,
         "batches grow: each has one row more than a bucket has room for, and needs the next"},
        {ONE_UNLIKE, "before and after the graphs come others, of the same model and buffers but for one "
                     "pointer or one extent"},
        {CALLER_CAPTURES, "the first creation is on a stream that its caller is capturing: it may fail, but "
                          "that capture must go on, and stay empty"},
        {CREATED_OFTEN,
         "graphs are created, used and destroyed in turn, and must leave no host memory behind"}};
    const struct plan p = plan_of(item->value);
    if (p.mistake == GRAPH_REFUSED) return "cudaGraphInstantiate fails, as if another capture forbade it";
    if (p.mistake == LEGACY_STREAM)
        return p.which == LEGACY_AS_NULL
                   ? "the stream is NULL, the legacy default stream, which cannot be captured"
                   : "the stream is cudaStreamLegacy, another name of the legacy default stream, which "
                     "cannot be captured";
    if (p.mistake == MISSING_WEIGHT)
        return "each weight of each layer is missing in turn: a kernel is refused in the middle of the "
               "capture";
    for (size_t i = 0; i < sizeof purposes / sizeof purposes[0]; i++)
        if ((p.manner & purposes[i].manner) == purposes[i].manner) return purposes[i].text;
    return p.every > 0 ? "sequences join and leave, so that they change rows and buckets" : NULL;
}

enum { KERNELS_A_LAYER = 6 }; /* from decode_kernels.h, plus an embedding and the logits */

static void cost(const struct lesson_case *item, struct lesson_cost *cost)
{
    struct decode_model model;
    const struct plan p = plan_of(item->value);
    double weights = (double)decode_model_at(&p.config, NULL, &model);
    double rows = (double)first_row_of(&p, p.steps), steps = (double)p.steps;
    *cost = (struct lesson_cost){.flop = 2.0 * weights * rows,
                                 .min_bytes = 2.0 * weights * steps,
                                 .oracle_ops = 8.0 * weights * rows,
                                 .kernels = steps * (2 + KERNELS_A_LAYER * p.config.layers)};
}

static size_t workspace_bytes(const struct lesson_case *item)
{
    const struct plan p = plan_of(item->value);
    return workspace_of(&p);
}

static void describe(const struct lesson_case *item, char *text, size_t size)
{
    const struct plan p = plan_of(item->value);
    const struct decode_config *c = &p.config;
    snprintf(text, size, "%d steps, %d to %d rows, %d layers, hidden %d, heads %d/%d, head_dim %d, page %d",
             p.steps, rows_at(&p, 0), c->max_rows, c->layers, c->hidden, c->heads, c->kv_heads, c->head_dim,
             c->block_size);
}

/** A different token makes a different step. Inputs that a graph holds the address of, all larger ones,
 *  must stay. */
static uint64_t others_below(const struct lesson_case *item, int buffer)
{
    return buffer == TOKENS ? (uint64_t)plan_of(item->value).config.vocab : 0;
}

const struct lesson lesson_07_cuda_graph = {
#include "checker/cases/described.h"
    LESSON_CALLBACKS(),
    .others_below = others_below,
};
