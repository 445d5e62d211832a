/**
 * @file decode_items.h
 * @brief What an item of decode attention over a contiguous cache says to the runner: its buffers and its numbers.
 */
#pragma once

/** @brief The parts of the lesson. */
enum decode_part {
#define LESSON_DEF "../lessons/11_vectorised_decode/lesson.def"
#include "description/parts.h"
    DECODE_PARTS
};

/* Device buffers, in this order, of every item. DC_CHOSEN is the result of decode_choose_variant(), in
 * part "dispatch". */
enum { DC_Q, DC_K, DC_V, DC_POSITIONS, DC_STATUS, DC_OUT, DC_CHOSEN, DC_WORKSPACE, DC_BUFFERS };

/* lesson_case.value: what goes into struct decode_args, and further settings; the first seven are
 * lesson_case.extent too. */
enum {
    DC_BATCH,
    DC_HEADS,
    DC_KV_HEADS,
    DC_HEAD_DIM,
    DC_Q_LEN,
    DC_MAX_LEN,
    DC_KV_STRIDE,
    DC_POSITION, /* position on the host; it does not count if the device has positions */
    DC_DTYPE,
    DC_GIVEN, /* a set of DC_POSITIONS_GIVEN and DC_STATUS_GIVEN: the pointers that are not NULL */
    DC_LOADS,
    DC_VARIANT,            /* of part "dispatch" */
    DC_NULL_ARGS,          /* 1: args itself is NULL */
    DC_WORKSPACE_SHORTAGE, /* bytes by which workspace_bytes is less than the workspace allocated */
    DC_CAPTURED            /* 1: the call is captured into a graph, which is then launched */
};
enum { DC_POSITIONS_GIVEN = 1, DC_STATUS_GIVEN = 2 };
