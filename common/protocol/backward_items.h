/**
 * @file backward_items.h
 * @brief What an item of attention's backward pass says to the runner: its buffers and its numbers.
 */
#pragma once

/** @brief The parts of the lesson. */
enum backward_part {
#define LESSON_DEF "../lessons/14_attention_backward/lesson.def"
#include "description/parts.h"
    BACKWARD_PARTS
};

/* Device buffers, in this order, of every item. */
enum { BW_Q, BW_K, BW_V, BW_OUT, BW_DOUT, BW_LSE, BW_DQ, BW_DK, BW_DV, BW_WORKSPACE, BW_BUFFERS };

/* lesson_case.value: what goes into struct attention_backward_args; the first six are lesson_case.extent too. */
enum {
    BW_BATCH,
    BW_HEADS,
    BW_KV_HEADS,
    BW_Q_LEN,
    BW_KV_LEN,
    BW_HEAD_DIM,
    BW_CAUSAL,
    BW_IS_DETERMINISTIC,
    BW_DTYPE,
    BW_ENTRY,     /* which entry point to call: the dtype it is for */
    BW_NULL_ARGS, /* 1: args itself is NULL */
    BW_OMITTED    /* set of 1 << buffer: gradients passed as NULL */
};
