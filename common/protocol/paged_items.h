/**
 * @file paged_items.h
 * @brief What an item of decode attention over a paged cache says to the runner: its buffers and its numbers.
 */
#pragma once

/** @brief The parts of the lesson. */
enum {
#define LESSON_DEF "../lessons/06_paged_attention/lesson.def"
#include "description/parts.h"
    PARTS
};

/* Device buffers, in this order, of every item. */
enum { PA_Q, PA_K, PA_V, PA_TABLE, PA_LENS, PA_SLOPES, PA_OUT, PA_STATUS, PA_WORKSPACE, PA_BUFFERS };

/* lesson_case.value: what goes into struct paged_attention_args; the first eight are lesson_case.extent
 * too. */
enum {
    PA_BATCH,
    PA_HEADS,
    PA_KV_HEADS,
    PA_HEAD_DIM,
    PA_NUM_BLOCKS,
    PA_BLOCK_SIZE,
    PA_MAX_BLOCKS,
    PA_MAX_CONTEXT_LEN,
    PA_DTYPE,
    PA_NULL_ARGS,          /* 1: args itself is NULL */
    PA_WORKSPACE_SHORTAGE, /* bytes by which workspace_bytes is less than the workspace allocated */
    PA_VALIDATE_FIRST,     /* 1: the validating kernel runs before, in the same stream */
    PA_CAPTURED,           /* 1: the calls are captured into a graph, which is then launched */
    /* number of the first page that really exists: the caches begin that many pages before their buffers,
     * and the table names no page below it */
    PA_FIRST_PAGE
};
