/**
 * @file cuda_graph_items.h
 * @brief What an item of lesson 07 says to the runner.
 */
#ifndef WARPWISE_PROTOCOL_CUDA_GRAPH_ITEMS_H
#define WARPWISE_PROTOCOL_CUDA_GRAPH_ITEMS_H

#include <string.h>

#include "decode/decode_model.h"
#include "wire.h"

/** What is run: graphs and eager launches with a comparison; or one of them alone, to be timed. */
enum mode { MODE_BOTH, MODE_REPLAY, MODE_EAGER };

/** What a case does beyond creating the graphs and taking its steps in one stream; a set. */
enum manner {
    PLAIN = 0,
    ROWS_REVERSED = 1,   /* every second step has its rows in reverse order */
    STREAMS_CHANGE = 2,  /* the stream of the creation is destroyed; every step has a stream of its own */
    NO_LEGACY = 4,       /* the legacy default stream cannot be used while graphs are made and replayed */
    REFUSED_BETWEEN = 8, /* before every step come calls that must be refused */
    CREATED_TWICE = 16,  /* before the graphs come a creation that fails and one that nobody uses */
    SECOND_MODEL = 32,   /* graphs of another model take the same steps, and are destroyed before the last */
    BUFFERS_SHARED =
        64, /* somebody else has used the buffers before every step; what a step leaves is looked at */
    LONG_TABLES = 128,      /* tables have more pages than any sequence needs */
    HUGE_TABLES = 256,      /* they have more than 65,535 */
    STREAMS_BUILT_IN = 512, /* creation and steps are given the streams that nobody makes, in turn */
    CREATED_OFTEN =
        1024 /* before the graphs come others, created, used and destroyed in turn, and creations that fail */
};

/** What the student's functions are told wrongly. */
enum mistake {
    RIGHT,
    NULL_MODEL,
    NULL_BUFFERS,
    NULL_HANDLE,
    LEGACY_STREAM,  /* in one of two ways: enum legacy_stream */
    MISSING_BUFFER, /* an enum missing_buffer says which */
    MISSING_WEIGHT, /* an enum missing_weight does */
    HEAD_DIM_48,
    ROWS_NOT_A_POWER,
    SCRATCH_OUTSIDE,
    UNEVEN_HEADS,
    HEAD_DIM_48_AND_NO_WEIGHT,
    HEAD_DIM_48_AND_LEGACY_STREAM,
    CAPTURE_ELSEWHERE, /* no mistake of anybody: meanwhile CUDA refuses to make a graph executable; enum refused_graph */
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
    EAGER_NULL_LOGITS, /* from here on it is the given eager step that is told so */
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
    BUFFER_CACHE
};

/** Of struct decode_model, and of its last layer. */
enum missing_weight {
    WEIGHT_EMBEDDING,
    WEIGHT_FINAL_NORM,
    WEIGHT_TO_LOGITS,
    WEIGHT_ATTENTION_NORM,
    WEIGHT_QKV,
    WEIGHT_OUT,
    WEIGHT_MLP_NORM,
    WEIGHT_GATE_UP,
    WEIGHT_DOWN
};

/** The legacy default stream has two names. */
enum legacy_stream { LEGACY_AS_NULL, LEGACY_BY_NAME };

/** Of a single bucket no later one finds the error. */
enum refused_graph { ONE_OF_SEVERAL_BUCKETS, THE_ONLY_BUCKET };

enum { WEIGHTS, TOKENS, POSITIONS, TABLES, CACHE, LOGITS, REPORT, WORKSPACE, BUFFERS };

/** The columns of the report. It has a row for every step, and a last one for what is not of a step. */
enum { GRAPHS, KERNELS, DIFFERENCES, PADDING, LEFT, COLUMNS };

/** What the report says in its last row of the rows that pad. */
enum padding { PADDED_RIGHT, PADDED_NEEDLESSLY, PADDED_WITH_ANOTHER_ROW, PADDED_WITH_A_PART };

/** A case, or an item of a property: all that checker and runner have to know of it. */
struct plan {
    struct decode_config config;
    int steps, sequences, every, life; /* the schedule */
    enum mode mode;
    unsigned manner; /* set of enum manner */
    enum mistake mistake;
    int which; /* of what the mistake has several of */
};

enum { MOST_STEPS = 64, HUGE_TABLE = 65600, ROUNDS = 8 };

_Static_assert(sizeof(struct plan) <= sizeof((struct wire_case *)0)->value, "it travels as these values");

static inline struct plan plan_of(const int64_t *value)
{
    struct plan plan;
    memcpy(&plan, value, sizeof plan);
    return plan;
}

/** 1 if sequence @p sequence is part of the batch at @p step. */
static inline int is_there(const struct plan *p, int sequence, int step)
{
    int join = p->every * sequence;
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

/** Rows of all steps before @p step: arrays hold just the rows that there are. */
static inline size_t first_row_of(const struct plan *p, int step)
{
    size_t rows = 0;
    for (int i = 0; i < step; i++) rows += (size_t)rows_at(p, i);
    return rows;
}

/** Rows of the graph that the contract wants for @p rows rows. */
static inline int bucket_rows(int rows)
{
    int bucket = 1;
    while (bucket < rows) bucket *= 2;
    return bucket;
}

/** Room for what a step works in; for a second model, room for the same once more and for its weights. */
static inline size_t workspace_of(const struct plan *p)
{
    struct decode_model model;
    struct decode_buffers work;
    size_t one = decode_buffers_at(&p->config, NULL, NULL, &work), used = 0;
    if (!(p->manner & SECOND_MODEL)) return one;
    decode_place(NULL, &used, (decode_model_at(&p->config, NULL, &model) + 1) / 2);
    return 2 * one + used;
}

#endif
