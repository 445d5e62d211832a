/**
 * @file ranks_items.h
 * @brief What an item of lesson 19 says to the runner: sizes, ranks, and what is wrong.
 *
 * Buffers hold the whole matrices and the whole sequence; the runner distributes them to the ranks, and puts
 * the results together again. Where there are fewer devices than the item has ranks, it takes as many ranks
 * as there are devices.
 */
#pragma once

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
    RANKS_KEPT = 4,     /* to be timed: on GPUs, shards are kept from call to call */
    RANKS_FAR = 8,      /* part "tensor_parallel", one rank: heads of the cache begin 2^31 floats apart */
    RANKS_APART = 16,   /* a call for each rank alone, where host threads can stand for processes */
    RANKS_FIRST = 32    /* the first rank, and not the last, has what is wrong, other than a null pointer */
};

/** @brief Which argument of an entry point is wrong, other than one pointer or number: its number, the case's name, what is to be returned. From NULL_TRANSFER on in part
 *         "ring" only. */
#define RING_MISTAKE_LIST(X)                                                                                 \
    X(NULL_RANKS, "null_ranks", KERNEL_INVALID_CONFIG)                                                       \
    X(NULL_SIZES, "null_sizes", KERNEL_INVALID_CONFIG)                                                       \
    X(NULL_SHARDS, "null_shards", KERNEL_INVALID_CONFIG)                                                     \
    X(THREE_RANKS, "three_ranks", KERNEL_INVALID_CONFIG)                                                     \
    X(NO_COUNT, "count_zero", KERNEL_INVALID_CONFIG)                                                         \
    X(COUNT_ABOVE_RANKS, "count_above_ranks", KERNEL_INVALID_CONFIG)                                         \
    X(RANK_NEGATIVE, "rank_negative", KERNEL_INVALID_CONFIG)                                                 \
    X(NULL_COMM, "null_comm", KERNEL_INVALID_CONFIG)                                                         \
    X(NULL_TRANSFER, "null_transfer", KERNEL_INVALID_CONFIG)                                                 \
    X(NULL_ARRIVED, "null_arrived", KERNEL_INVALID_CONFIG)                                                   \
    X(NULL_USED, "null_used", KERNEL_INVALID_CONFIG)                                                         \
    X(RING_HEADS_ZERO, "heads_zero", KERNEL_INVALID_DIMENSION)                                               \
    X(PART_ZERO, "part_zero", KERNEL_INVALID_DIMENSION)                                                      \
    X(PART_TOO_LONG, "part_too_long", KERNEL_INVALID_DIMENSION)                                              \
    X(RING_DIM_132, "head_dim_132", KERNEL_INVALID_DIMENSION)                                                \
    X(RING_DIM_6, "head_dim_6", KERNEL_INVALID_DIMENSION)
/** @brief In part "tensor_parallel" only. */
#define LAYER_MISTAKE_LIST(X)                                                                                \
    X(ROWS_ZERO, "rows_zero", KERNEL_INVALID_DIMENSION)                                                      \
    X(ROWS_70000, "rows_70000", KERNEL_INVALID_DIMENSION)                                                    \
    X(WIDTH_6, "width_6", KERNEL_INVALID_DIMENSION)                                                          \
    X(WIDTH_ZERO, "width_zero", KERNEL_INVALID_DIMENSION)                                                    \
    X(HEADS_UNEVEN, "heads_1_of_2_ranks", KERNEL_INVALID_DIMENSION)                                          \
    X(HEADS_ZERO, "heads_zero", KERNEL_INVALID_DIMENSION)                                                    \
    X(DIM_132, "head_dim_132", KERNEL_INVALID_DIMENSION)                                                     \
    X(DIM_6, "head_dim_6", KERNEL_INVALID_DIMENSION)                                                         \
    X(INNER_UNEVEN, "inner_4_of_2_ranks", KERNEL_INVALID_DIMENSION)                                          \
    X(POSITION_NEGATIVE, "position_negative", KERNEL_INVALID_DIMENSION)                                      \
    X(POSITION_FULL, "position_past_the_cache", KERNEL_INVALID_DIMENSION)                                    \
    X(X_TOO_LARGE, "x_too_large", KERNEL_INVALID_DIMENSION)                                                  \
    X(NULL_X_AND_ROWS_ZERO, "null_x_and_rows_zero", KERNEL_INVALID_DIMENSION)

/** @cond */
#define RANKS_MISTAKE_NUMBER(number, name, expected) number,
/** @endcond */
enum ranks_mistake {
    RANKS_RIGHT,
    RING_MISTAKE_LIST(RANKS_MISTAKE_NUMBER) RING_MISTAKES,
    RING_LAST = RING_MISTAKES - 1,
    LAYER_MISTAKE_LIST(RANKS_MISTAKE_NUMBER) RANKS_MISTAKES
};
#undef RANKS_MISTAKE_NUMBER

/** @brief Columns of the report on a rank of part "tensor_parallel"; part "ring" has only the first. */
enum sent_column { SENT_FLOATS, SENT_UNLIKE, SENT_COLUMNS };

/** @brief Keys that a call is told the cache has room for; with RANKS_FAR the item's buffer holds only the first. */
static inline int64_t layer_room(const int64_t *value)
{
    return value[AT_MANNER] & RANKS_FAR ? (INT64_C(1) << 31) / value[AT_LAYER_DIM] : value[AT_ROOM];
}

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
