/**
 * @file attention_inputs.h
 * @brief Buffers of attention cases, and how their data are distributed.
 */
#ifndef WARPWISE_CHECKER_ATTENTION_INPUTS_H
#define WARPWISE_CHECKER_ATTENTION_INPUTS_H

#include "contracts/attention_args.h"
#include "lesson.h"
#include "protocol/attention_items.h"

/** @brief lesson_case.extent: what the buffers are made for. The first six are as in enum attention_value. */
enum attention_extent { EX_KIND = 6, EX_WORKSPACE, EX_DTYPE, EX_TILED, EX_PROPERTY };

/** @brief extent[EX_PROPERTY]: what the items of a property have to do with each other. */
enum attention_property { PROPERTY_SHAPES, PROPERTY_CAUSAL_PREFIX, PROPERTY_BAD_INPUT, PROPERTY_ALIGNMENTS };

/** @brief What the workspace holds by contract: so many floats for each of the batch * heads * q_len query rows. */
enum attention_workspace {
    WORKSPACE_NONE,
    WORKSPACE_MATRIX,         /**< kv_len: the scores */
    WORKSPACE_STATISTICS,     /**< 2: l and m */
    WORKSPACE_STATISTICS_OUT, /**< 2 + head_dim: l, m and the output before it is rounded */
    WORKSPACE_E4M3            /**< not by rows: what e4m3_workspace() says */
};

/** @brief Which head_dim a family takes: any, or those of its tiles, all else refused; q, k, v and out are then aligned to
 *         16 bytes. */
enum attention_tiles {
    NOT_TILED,
    ATTENTION_TILES, /**< head_dim 32, 64 or 128 */
    ATTENTION_TENSOR_TILES, /**< head_dim 64, 128 or 256, P rounded to the storage type, nothing on a GPU before sm_80 */
    ATTENTION_HOPPER_TILES, /**< head_dim 64 or 128, P rounded likewise, nothing on a GPU that is not of sm_90 */
    ATTENTION_E4M3_TILES /**< head_dim 128, Q, K, V and P rounded to E4M3, on sm_90 likewise; f16 or bf16 */
};

/** @brief 1 where products run on tensor cores, which take P in 16 bits. */
static inline int attention_on_tensor_cores(int64_t tiled)
{
    return tiled == ATTENTION_TENSOR_TILES || tiled == ATTENTION_HOPPER_TILES ||
           tiled == ATTENTION_E4M3_TILES;
}

/** @brief 1 if a family of ATTENTION_TILES takes @p head_dim. */
static inline int attention_tiled_head_dim(int64_t head_dim)
{
    return head_dim == 32 || head_dim == 64 || head_dim == 128;
}

enum attention_distribution {
    DIST_NORMAL,     /* q, k, v normal with standard deviation 1 */
    DIST_LARGE,      /* scores of magnitude 1e4: exp overflows unless the maximum is subtracted */
    DIST_LOW,        /* every score far below zero: exp underflows, and a maximum that begins at 0 is wrong */
    DIST_DOMINANT,   /* one key takes nearly all the weight, late in the row */
    DIST_EQUAL,      /* all scores of a row are equal */
    DIST_RISING,     /* scores grow along the row: every tile brings a new maximum */
    DIST_FALLING,    /* the first key has the largest score */
    DIST_NAN_Q,      /* a NaN in some query rows */
    DIST_NAN_K,      /* a NaN in one key row of one head */
    DIST_NAN_V,      /* a NaN in one value row of one head */
    DIST_NAN_HIDDEN, /* NaN in keys that only the last query rows see, and here and there in their values */
    DIST_NAN_WEIGHTLESS, /* a NaN in three value rows of one head, whose weight is 0 */
    DIST_INFINITE, /* +infinity in some query rows, -infinity in a key row, both in a value row of one head */
    DIST_MINUS_INFINITE, /* scores of -infinity: all those of some rows, and in one head those of the first half of the keys */
    DIST_EXTREME, /* scores of 2^123 and -2^123, equal in a row: a maximum that begins at -1e30 is wrong */
    DIST_FAINT, /* one key, whose values are 0, takes nearly all the weight: weights of 1e-10 ... 1e-28 are all there is */
    DIST_BEHIND_MASK, /* normal, also those scores and weights that the mask hides */
    DIST_OTHER_TAIL,  /* normal, but the last keys and values drawn anew */
    DIST_SELDOM_NAN,  /* normal, but a few elements of the last values NaN */
    DIST_LARGE_VALUES, /* values near the largest half, even weights: what is not divided yet overflows there */
    DIST_SMALL_VALUES,  /* values among the subnormals of half */
    DIST_SMALL_QUERIES, /* queries among the subnormals of half beside large keys, or the other way round */
    DIST_OCTAVES, /* scores of each query row half as large as those of the row before it, the first enormous by the scale */
    DIST_OUTLIERS,      /* two columns of q and k have a mean of 8, as keys of language models have columns */
    DIST_UNEVEN,        /* queries, keys and values of each 128 rows have a size of their own */
    DIST_UNEVEN_ROWS,   /* 16 of each 128 rows are larger than the others, which ones depends on the head */
    DIST_ZEROS,         /* queries and keys are 0 */
    DIST_BEYOND_HALF,   /* sizes that bf16 has and half has not: large, small, or one times the other */
    DIST_SMALL_COLUMNS, /* every fourth column of v is small beside the largest value: 448, or no such number */
    DIST_STEPS, /* one key of each 128 counts, and the fewer keys come before it the more, by less than a factor of 2 each */
    DIST_COUNT
};

/** @brief How q, k, v and out of @p item are stored. */
enum storage attention_storage(const struct lesson_case *item);

/** @brief How a kernel keeps its probabilities while it multiplies them with V. */
enum storage attention_storage_of_p(const struct lesson_case *item);

/** @brief Floats of workspace for one query row; @p workspace is an enum attention_workspace. */
size_t attention_workspace_row(int workspace, int kv_len, int head_dim);

/** @brief Key row from which DIST_NAN_HIDDEN, DIST_OTHER_TAIL and DIST_SELDOM_NAN differ from DIST_NORMAL. */
int attention_hidden_from(const struct lesson_case *item);

/** @brief The callbacks of struct lesson of the same names. */
int attention_buffers(const struct lesson_case *item, struct lesson_buffer *buffers);
void attention_fill(const struct lesson_case *item, int index, size_t elems, struct rng *rng, float *data);
size_t attention_workspace_bytes(const struct lesson_case *item);

#endif
