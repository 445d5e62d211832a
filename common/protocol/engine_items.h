/**
 * @file engine_items.h
 * @brief What an item of lesson 17 says to the runner: a decoder and a schedule, from which checker and
 *        runner compute every row of every step.
 *
 * Request j has a text of `text + growth * j` tokens and joins at step `every * j`. All but its last `decode` tokens are its
 * prompt, taken `chunk` at a time; then it takes one per step, until its text ends.
 */
#pragma once

#include <string.h>

#include "decode/engine_args.h"
#include "wire.h"

/** @brief What a case does in addition to taking its steps launch by launch; a set. */
enum engine_manner {
    ENGINE_PLAIN = 0,
    ENGINE_ALONE = 1,    /* computes all tokens again, each in a step of its own: the bits must be the same */
    ENGINE_GRAPH = 2,    /* one graph of max_rows rows is replayed for every step */
    ENGINE_REVERSED = 4, /* rows of a step in the opposite order */
    ENGINE_FEW = 8,      /* logits of every second row are wanted, the last row first */
    ENGINE_LAST = 16,    /* only the last step wants logits */
    /* positions of a request before its last `decode` tokens are in the cache, and no step computes them */
    ENGINE_FILLED = 64,
    ENGINE_KEPT = 32 /* to be timed: the graph is kept from call to call */
};

/** @brief Which argument of the step is wrong, other than one pointer: its number, the case's name, what is to be returned. */
#define ENGINE_MISTAKE_LIST(X)                                                                               \
    X(NULL_MODEL, "null_model", KERNEL_INVALID_CONFIG)                                                       \
    X(NULL_BATCH, "null_batch", KERNEL_INVALID_CONFIG)                                                       \
    X(EPSILON_NAN, "epsilon_nan", KERNEL_INVALID_CONFIG)                                                     \
    X(EPSILON_NEGATIVE, "epsilon_negative", KERNEL_INVALID_CONFIG)                                           \
    X(ROPE_BASE_ZERO, "rope_base_zero", KERNEL_INVALID_CONFIG)                                               \
    X(ROPE_BASE_INFINITE, "rope_base_infinite", KERNEL_INVALID_CONFIG)                                       \
    X(ROWS_ZERO, "rows_zero", KERNEL_INVALID_DIMENSION)                                                      \
    X(ROWS_NEGATIVE, "rows_negative", KERNEL_INVALID_DIMENSION)                                              \
    X(ROWS_TOO_MANY, "rows_above_max_rows", KERNEL_INVALID_DIMENSION)                                        \
    X(WANTED_NEGATIVE, "wanted_negative", KERNEL_INVALID_DIMENSION)                                          \
    X(WANTED_TOO_MANY, "wanted_above_rows", KERNEL_INVALID_DIMENSION)                                        \
    X(LAYERS_NEGATIVE, "layers_negative", KERNEL_INVALID_DIMENSION)                                          \
    X(HIDDEN_40, "hidden_40", KERNEL_INVALID_DIMENSION)                                                      \
    X(HEADS_UNEVEN, "heads_3_of_2", KERNEL_INVALID_DIMENSION)                                                \
    X(KV_HEADS_ZERO, "kv_heads_zero", KERNEL_INVALID_DIMENSION)                                              \
    X(HEAD_DIM_48, "head_dim_48", KERNEL_INVALID_DIMENSION)                                                  \
    X(INTERMEDIATE_ZERO, "intermediate_zero", KERNEL_INVALID_DIMENSION)                                      \
    X(VOCAB_ZERO, "vocab_zero", KERNEL_INVALID_DIMENSION)                                                    \
    X(TIED_2, "tied_2", KERNEL_INVALID_DIMENSION)                                                            \
    X(BLOCK_SIZE_ZERO, "block_size_zero", KERNEL_INVALID_DIMENSION)                                          \
    X(BLOCKS_OVERFLOW, "positions_overflow", KERNEL_INVALID_DIMENSION)                                       \
    X(MAX_ROWS_70000, "max_rows_70000", KERNEL_INVALID_DIMENSION)                                            \
    X(NULL_TOKENS_AND_ROWS_ZERO, "null_tokens_and_rows_zero", KERNEL_INVALID_CONFIG)                         \
    X(ROWS_ZERO_AND_MISALIGNED_CACHE, "rows_zero_and_misaligned_cache", KERNEL_INVALID_DIMENSION)

/** @cond */
#define ENGINE_MISTAKE_NUMBER(number, name, expected) number,
/** @endcond */
enum engine_mistake { ENGINE_RIGHT, ENGINE_MISTAKE_LIST(ENGINE_MISTAKE_NUMBER) ENGINE_MISTAKES };
#undef ENGINE_MISTAKE_NUMBER

enum {
    ENGINE_WEIGHTS,
    ENGINE_TOKENS,
    ENGINE_POSITIONS,
    ENGINE_REQUESTS,
    ENGINE_TABLES,
    ENGINE_WANTED,
    ENGINE_LOGITS,
    ENGINE_CACHE,
    ENGINE_REPORT,
    ENGINE_WORKSPACE,
    ENGINE_BUFFERS
};

/** @brief A case, or an item of a property: everything that checker and runner both need to know about it. */
struct engine_plan {
    struct engine_config config;
    int requests, text, growth, every, chunk, decode; /* the schedule */
    int steps;
    int spread;      /* the cache has so many times the blocks of config, of which every such one is used */
    unsigned manner; /* set of enum engine_manner */
    int mistake;     /* enum engine_mistake */
};

_Static_assert(sizeof(struct engine_plan) <= sizeof((struct wire_case *)0)->value,
               "it travels as these values");

static inline struct engine_plan engine_plan_of(const int64_t *value)
{
    struct engine_plan plan;
    memcpy(&plan, value, sizeof plan);
    return plan;
}

/** Tokens of request @p j's text. */
static inline int engine_text(const struct engine_plan *p, int j)
{
    return p->text + p->growth * j;
}

/** Positions of request @p j that the cache has before the first step. */
static inline int engine_given(const struct engine_plan *p, int j)
{
    return p->manner & ENGINE_FILLED ? engine_text(p, j) - p->decode : 0;
}

/** How many tokens of request @p j step @p step computes; @p first is set to the first of them. */
static inline int engine_piece(const struct engine_plan *p, int j, int step, int *first)
{
    const int all = engine_text(p, j), prompt = all - p->decode;
    int at = engine_given(p, j);
    for (int i = p->every * j;; i++) {
        int count = at < prompt ? prompt - at : at < all;
        if (at < prompt && count > p->chunk) count = p->chunk;
        *first = at;
        if (i >= step || count == 0) return i == step ? count : 0;
        at += count;
    }
}

static inline int engine_rows(const struct engine_plan *p, int step)
{
    int rows = 0, first;
    for (int j = 0; j < p->requests; j++) rows += engine_piece(p, j, step, &first);
    return rows;
}

/** The request and position that row @p row of @p step belongs to. */
static inline void engine_row(const struct engine_plan *p, int step, int row, int *request, int *position)
{
    int left = p->manner & ENGINE_REVERSED ? engine_rows(p, step) - 1 - row : row;
    *request = *position = 0;
    for (int j = 0; j < p->requests; j++) {
        int first, count = engine_piece(p, j, step, &first);
        *request = j;
        *position = first + left;
        if (left < count) return;
        left -= count;
    }
}

/** Every byte of logits that no step is asked for, and the number that these bytes make: one that no kernel computes by chance. */
enum { ENGINE_UNASKED_BYTE = 0x3f };
#define ENGINE_UNASKED 0x1.7e7e7ep-1

static inline int engine_wanted(const struct engine_plan *p, int step)
{
    const int rows = engine_rows(p, step);
    if (p->manner & ENGINE_LAST && step < p->steps - 1) return 0;
    return p->manner & ENGINE_FEW ? (rows + 1) / 2 : rows;
}

/** The row of the step that is number @p i of the wanted ones. */
static inline int engine_wanted_row(const struct engine_plan *p, int step, int i)
{
    return p->manner & ENGINE_FEW ? engine_rows(p, step) - 1 - 2 * i : i;
}

/** The largest workspace that the contract allows. */
static inline size_t engine_most_workspace(const struct engine_config *c)
{
    return 8 * (size_t)c->max_rows *
               ((size_t)c->hidden + 2 * (engine_q_width(c) + engine_kv_width(c)) + (size_t)c->intermediate) +
           5 * engine_q_width(c) * ((size_t)c->head_dim + 16) + 4096;
}

/** Ints and floats that a graph reads and writes, staged before the workspace. */
static inline size_t engine_staged(const struct engine_plan *p)
{
    const size_t rows = (size_t)p->config.max_rows;
    size_t words =
        4 * rows + (size_t)p->requests * (size_t)p->config.max_blocks + rows * (size_t)p->config.vocab;
    return p->manner & (ENGINE_GRAPH | ENGINE_KEPT) ? (words * 4 + 255) / 256 * 256 : 0;
}
