/**
 * @file ranks_items.h
 * @brief What an item of lesson 19 says to the runner: sizes, ranks, and what is wrong.
 *
 * Buffers hold the whole matrices and the whole sequence; the runner distributes them to the ranks, and puts
 * the results together again. Where there are fewer devices than the item has ranks, it takes as many ranks
 * as there are devices.
 */
#ifndef WARPWISE_PROTOCOL_RANKS_ITEMS_H
#define WARPWISE_PROTOCOL_RANKS_ITEMS_H

#include <stdint.h>

#include "attention_items.h"

enum {
#define LESSON_DEF "../lessons/19_several_gpus/lesson.def"
#include "description/parts.h"
};

/** @brief Device buffers of part "tensor_parallel". */
enum layer_buffer {
    LAYER_QKV,
    LAYER_O,
    LAYER_GATE_UP,
    LAYER_DOWN,
    LAYER_X,
    LAYER_CACHE,
    LAYER_OUT, /* [ranks, rows, width] x on each rank after the call */
    LAYER_SENT,
    LAYER_WORKSPACE,
    LAYER_BUFFERS
};

/** @brief The buffers of part "ring" are those of attention, and the number of floats that each rank has
 *         sent. */
enum ring_buffer { RING_SENT = ATTENTION_MATRIX, RING_BUFFERS };

/** @brief lesson_case.value of part "tensor_parallel"; of part "ring" the first are enum attention_value. */
enum layer_value { AT_ROWS, AT_WIDTH, AT_LAYER_HEADS, AT_LAYER_DIM, AT_INNER, AT_POSITION, AT_ROOM };

/** @brief And of both. */
enum ranks_value {
    AT_RANKS = 16,
    AT_MISTAKE, /* enum ranks_mistake */
    AT_MANNER   /* set of enum ranks_manner */
};

enum ranks_manner {
    RANKS_REVERSED = 1, /* rank r is on device ranks - 1 - r */
    RANKS_GONE = 2,     /* the last rank has aborted before the others are called */
    RANKS_KEPT = 4      /* to be timed: on GPUs, shards are kept from call to call */
};

/** @brief Which argument of an entry point is wrong. */
enum ranks_mistake {
    RANKS_RIGHT,
    NULL_RANKS,
    NULL_SIZES,
    NULL_SHARDS,
    THREE_RANKS,
    NO_COUNT,
    COUNT_ABOVE_RANKS,
    RANK_NEGATIVE,
    NULL_COMM,
    NULL_TRANSFER, /* from here on in part "ring" only */
    NULL_ARRIVED,
    NULL_USED,
    CAUSAL_2,
    SCALE_NAN,
    RING_HEADS_ZERO,
    PART_ZERO,
    PART_TOO_LONG,
    RING_DIM_132,
    RING_DIM_6,
    NULL_Q,
    NULL_K,
    NULL_V,
    NULL_OUT,
    NULL_LSE,
    MISALIGNED_Q,
    MISALIGNED_K,
    MISALIGNED_V,
    MISALIGNED_OUT,
    MISALIGNED_LSE,
    RING_MISTAKES,
    ROWS_ZERO = RING_MISTAKES, /* and in part "tensor_parallel" only */
    ROWS_70000,
    WIDTH_6,
    WIDTH_ZERO,
    HEADS_UNEVEN,
    HEADS_ZERO,
    DIM_132,
    DIM_6,
    INNER_UNEVEN,
    POSITION_NEGATIVE,
    POSITION_FULL,
    X_TOO_LARGE,
    NULL_QKV,
    NULL_O,
    NULL_GATE_UP,
    NULL_DOWN,
    NULL_CACHE,
    NULL_X,
    MISALIGNED_QKV,
    MISALIGNED_O,
    MISALIGNED_GATE_UP,
    MISALIGNED_DOWN,
    MISALIGNED_CACHE,
    MISALIGNED_X,
    NULL_X_AND_ROWS_ZERO,
    LAYER_MISTAKES,
    NULL_WORKSPACE = LAYER_MISTAKES, /* of both */
    SHORT_WORKSPACE,
    MISALIGNED_WORKSPACE,
    NULL_INPUT_AND_WORKSPACE,
    ALL_MISTAKES
};

/** @brief Columns of the report on a rank of part "tensor_parallel"; part "ring" has only the first. */
enum sent_column { SENT_FLOATS, SENT_UNLIKE, SENT_COLUMNS };

/** @brief Floats that each rank sends: two all-reduces of x, over a ring. */
static inline int64_t layer_floats_sent(const int64_t *value, int ranks)
{
    return 4 * (ranks - 1) * (value[AT_ROWS] * value[AT_WIDTH] / ranks);
}

/** @brief The same for part "ring": keys and values of one part of the sequence, in all steps but the
 *         last. */
static inline int64_t ring_floats_sent(const int64_t *value, int ranks)
{
    return 2 * (ranks - 1) * (value[AT_HEADS] * value[AT_Q_LEN] * value[AT_HEAD_DIM] / ranks);
}

#endif
