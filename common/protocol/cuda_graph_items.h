/**
 * @file cuda_graph_items.h
 * @brief What an item of lesson 07 says to the runner.
 */
#pragma once

#include <string.h>

#include "decode/decode_model.h"
#include "wire.h"

/** What to run: graphs, and eager launches to compare with; or one of them alone, to be timed. */
enum mode { MODE_BOTH, MODE_REPLAY, MODE_EAGER };

/** What a case does in addition to creating the graphs and taking its steps in one stream; a set. */
enum manner {
    PLAIN = 0,
    ROWS_REVERSED = 1,  /* every second step has its rows in reverse order */
    STREAMS_CHANGE = 2, /* the stream of the creation is destroyed; each step uses a new stream */
    NO_LEGACY = 4,      /* the legacy default stream must not be used while graphs are created and replayed */
    REFUSED_BETWEEN = 8, /* calls that must be refused come before every step */
    CREATED_TWICE = 16,  /* a creation that fails and one that is never used come before the graphs */
    /* graphs of another model take the same steps, and are destroyed before the last one */
    SECOND_MODEL = 32,
    /* other code has used the buffers before every step; the contents that a step leaves are checked */
    BUFFERS_SHARED = 64,
    LONG_TABLES = 128, /* tables have more pages than any sequence needs */
    HUGE_TABLES = 256, /* they have more than 65,535 pages */
    /* creation and steps use the streams that nobody creates, in rotation; with STREAMS_CHANGE only the steps do */
    STREAMS_BUILT_IN = 512,
    /* other graphs are created, used and destroyed before, one after the other, and some creations fail */
    CREATED_OFTEN = 1024,
    ROWS_OF_BUCKETS = 2048, /* each step has one row more than a bucket has room for */
    ONE_UNLIKE = 4096,      /* every step has graphs of its own beside others that differ in one thing */
    CALLER_CAPTURES = 8192  /* a creation in the middle of the caller's capture of the stream comes first */
};

/** Which argument of the student's functions is wrong. */
enum mistake {
    RIGHT,
    NULL_MODEL,
    NULL_BUFFERS,
    NULL_HANDLE,
    LEGACY_STREAM,  /* the stream in one of two ways: enum legacy_stream */
    MISSING_BUFFER, /* the buffer: an enum missing_buffer says which */
    MISSING_WEIGHT, /* every weight of every layer in turn */
    HEAD_DIM_48,
    ROWS_NOT_A_POWER,
    SCRATCH_OUTSIDE,
    UNEVEN_HEADS,
    HEAD_DIM_48_AND_NO_WEIGHT,
    HEAD_DIM_48_AND_LEGACY_STREAM,
    /* no argument is wrong, but CUDA refuses to instantiate a graph, at creation or at the first step; enum
     * refused_graph */
    GRAPH_REFUSED, /* from here on a step is taken if the creation succeeds */
    NULL_GRAPHS,
    NULL_BATCH,
    NULL_TOKENS,
    NULL_POSITIONS,
    NULL_TABLE,
    NULL_LOGITS,
    NO_ROWS,
    NEGATIVE_ROWS,
    TOO_MANY_ROWS,
    NO_ROWS_AND_NULL_LOGITS,
    EAGER_NULL_LOGITS, /* from here on the given eager step gets the wrong argument */
    EAGER_TOO_MANY_ROWS
};

/** Of struct decode_buffers. */
enum missing_buffer {
    BUFFER_TOKENS,
    BUFFER_POSITIONS,
    BUFFER_BLOCK_TABLE,
    BUFFER_X,
    BUFFER_QKV,
    BUFFER_ATTENDED,
    BUFFER_GATED,
    BUFFER_LOGITS,
    BUFFER_CACHE,
    BUFFER_POINTERS
};

/** Pointers to weights: those of struct decode_model itself, then those of each layer. */
enum { MODEL_POINTERS = 3, LAYER_POINTERS = sizeof(struct decode_layer) / sizeof(void *) };

static inline int weight_pointers(const struct decode_config *c)
{
    return MODEL_POINTERS + LAYER_POINTERS * c->layers;
}

enum { EXTENTS = sizeof(struct decode_config) / sizeof(int) };

/** What two models and their buffers can differ in: one pointer, or one extent. */
static inline int things(const struct decode_config *c)
{
    return weight_pointers(c) + BUFFER_POINTERS + EXTENTS;
}

/** The legacy default stream has two names. */
enum legacy_stream { LEGACY_AS_NULL, LEGACY_BY_NAME };

/** With a single bucket, no later one reveals the error. */
enum refused_graph { ONE_OF_SEVERAL_BUCKETS, THE_ONLY_BUCKET };

enum { WEIGHTS, TOKENS, POSITIONS, TABLES, CACHE, LOGITS, REPORT, WORKSPACE, BUFFERS };

/** The columns of the report. It has a row for every step, and a last row for everything else. */
enum { GRAPHS, KERNELS, DIFFERENCES, PADDING, CREATION, COLUMNS };

/** What the last row of the report says about padding rows. */
enum padding { PADDED_RIGHT, PADDED_NEEDLESSLY, PADDED_WITH_ANOTHER_ROW, PADDED_WITH_A_PART };

/** What it says about creations. */
enum creation { CREATED_RIGHT, MEMORY_LEFT, CAPTURE_SPOILED, ERROR_LEFT };

/** A case, or an item of a property: everything that checker and runner both need to know about it. */
struct plan {
    struct decode_config config;
    int steps, sequences, every, life; /* the schedule */
    enum mode mode;
    unsigned manner; /* set of enum manner */
    enum mistake mistake;
    int which; /* which one, for mistakes with several variants */
};

enum { MOST_STEPS = 64, HUGE_TABLE = 65600, ROUNDS = 8 };

_Static_assert(sizeof(struct plan) <= sizeof((struct wire_case *)0)->value, "it travels as these values");

static inline struct plan plan_of(const int64_t *value)
{
    struct plan plan;
    memcpy(&plan, value, sizeof plan);
    return plan;
}

/** The step at which sequence @p sequence joins. */
static inline int joins_at(const struct plan *p, int sequence)
{
    int step = 0;
    if (!(p->manner & ROWS_OF_BUCKETS)) return p->every * sequence;
    while ((1 << step) / 2 + 1 <= sequence) step++;
    return step;
}

/** 1 if sequence @p sequence is part of the batch at @p step. */
static inline int is_there(const struct plan *p, int sequence, int step)
{
    int join = joins_at(p, sequence);
    return sequence < p->sequences && step >= join && step < join + p->life;
}

/** How many of the sequences before @p sequence are part of the batch at @p step. */
static inline int rows_before(const struct plan *p, int sequence, int step)
{
    int rows = 0;
    for (int j = 0; j < sequence; j++) rows += is_there(p, j, step);
    return rows;
}

static inline int rows_at(const struct plan *p, int step)
{
    return rows_before(p, p->sequences, step);
}

/** Rows of all steps before @p step: arrays hold only rows that exist. */
static inline size_t first_row_of(const struct plan *p, int step)
{
    size_t rows = 0;
    for (int i = 0; i < step; i++) rows += (size_t)rows_at(p, i);
    return rows;
}

/** Rows of the graph that the contract demands for @p rows rows. */
static inline int bucket_rows(int rows)
{
    int bucket = 1;
    while (bucket < rows) bucket *= 2;
    return bucket;
}

/** What the block table of a step takes that lies where that of the step before did. */
static inline size_t table_bytes(const struct decode_config *c)
{
    return ((size_t)c->max_blocks * (size_t)c->max_rows * sizeof(int) + 255) / 256 * 256;
}

/** Scratch memory of a step; for a second model, the same again and its weights. */
static inline size_t workspace_of(const struct plan *p)
{
    struct decode_model model;
    struct decode_buffers work;
    size_t one = decode_buffers_at(&p->config, NULL, NULL, &work), used = 0;
    if (p->manner & BUFFERS_SHARED) return one + table_bytes(&p->config);
    if (!(p->manner & SECOND_MODEL)) return one;
    decode_place(NULL, &used, (decode_model_at(&p->config, NULL, &model) + 1) / 2);
    return 2 * one + used;
}
