/**
 * @file attention_inputs.h
 * @brief Buffers of attention cases, and how their data are distributed.
 */
#pragma once

#include "contracts/attention_args.h"
#include "lesson.h"
#include "protocol/attention_items.h"

/** @brief lesson_case.extent: the sizes that the buffers are made for. The first six are as in enum
 *         attention_value. */
enum attention_extent { EX_KIND = 6, EX_WORKSPACE, EX_DTYPE, EX_TILED, EX_PROPERTY };

/** @brief extent[EX_PROPERTY]: how the items of a property relate to each other. */
enum attention_property { PROPERTY_SHAPES, PROPERTY_CAUSAL_PREFIX, PROPERTY_ALIGNMENTS };

/** @brief Contents of the workspace by contract: this many floats for each of the batch * heads * q_len
 *         query rows. */
enum attention_workspace {
    WORKSPACE_NONE,
    WORKSPACE_MATRIX,         /**< kv_len: the scores */
    WORKSPACE_STATISTICS,     /**< 2: l and m */
    WORKSPACE_STATISTICS_OUT, /**< 2 + head_dim: l, m and the output before it is rounded */
    WORKSPACE_E4M3            /**< not counted by rows: see e4m3_workspace() */
};

/** @brief The head_dims that a family takes: any, or only those of its tiles. A family with tiles wants q,
 *         k, v and out aligned to 16 bytes. */
enum attention_tiles {
    NOT_TILED,
    ATTENTION_TILES, /**< head_dim 32, 64 or 128 */
    ATTENTION_TENSOR_TILES, /**< head_dim 64, 128 or 256, P rounded to the storage type, nothing on a GPU before sm_80 */
    ATTENTION_HOPPER_TILES, /**< head_dim 64 or 128, P rounded to the storage type, only on a GPU of sm_90 */
    /** head_dim 128; Q, K, V and P rounded to E4M3; only on sm_90; stored as f16 or bf16 */
    ATTENTION_E4M3_TILES
};

/** @brief 1 if products run on tensor cores, which take P in 16 bits. */
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
    DIST_NORMAL, /* q, k, v normal with standard deviation 1 */
    DIST_LARGE,  /* scores of magnitude 1e4: exp overflows unless the maximum is subtracted */
    /* every score far below zero: exp underflows, and a running maximum initialized with 0 is wrong */
    DIST_LOW,
    DIST_DOMINANT, /* one key takes nearly all the weight, late in the row */
    DIST_EQUAL,    /* all scores of a row are equal */
    DIST_RISING,   /* scores grow along the row: every tile brings a new maximum */
    DIST_FALLING,  /* the first key has the largest score */
    DIST_NAN_Q,    /* a NaN in some query rows */
    DIST_NAN_K,    /* a NaN in one key row of one head */
    DIST_NAN_V,    /* a NaN in one value row of one head */
    /* NaN in keys that only the last query rows see, and NaN or, in odd heads, infinity here and there in their values */
    DIST_NAN_HIDDEN,
    DIST_NAN_WEIGHTLESS, /* a NaN in three value rows of one head, whose weight is 0 */
    DIST_INFINITE, /* +infinity in some query rows, -infinity in a key row, both in a value row of one head */
    DIST_MINUS_INFINITE, /* scores of -infinity: all those of some rows, and in one head those of the first half of the keys */
    /* scores of 2^123 and -2^123, equal in a row: a running maximum initialized with -1e30 is wrong */
    DIST_EXTREME,
    /* one key, whose values are 0, takes nearly all the weight: the other weights, 1e-10 ... 1e-28, make
     * up the whole output */
    DIST_FAINT,
    DIST_BEHIND_MASK, /* normal, and so are the scores and weights of masked keys */
    DIST_OTHER_TAIL,  /* normal, but the last keys and values are redrawn */
    DIST_SELDOM_NAN,  /* normal, but a few elements of the last values are NaN */
    /* values near the largest half, even weights: the sum overflows half before it is divided */
    DIST_LARGE_VALUES,
    DIST_SMALL_VALUES,  /* values among the subnormals of half */
    DIST_SMALL_QUERIES, /* queries among the subnormals of half with large keys, or the reverse */
    /* scores of each query row half as large as those of the row before; the scale makes the first row's
     * enormous */
    DIST_OCTAVES,
    DIST_OUTLIERS, /* two columns of q and k have a mean of 8, as some key columns of language models do */
    /* the magnitude of queries, keys and values differs from one block of 128 rows to the next;
     * the largest values come after key 4096 */
    DIST_UNEVEN,
    DIST_UNEVEN_ROWS, /* 16 of each 128 rows are larger than the others; which ones depends on the head */
    DIST_ZEROS,       /* queries and keys are 0 */
    /* magnitudes that bf16 can hold and half cannot: large, small, or one multiplied by the other */
    DIST_BEYOND_HALF,
    /* every fourth column of v is small beside the largest value, which is 448 in every second head */
    DIST_SMALL_COLUMNS,
    /* one key in each block of 128 counts; the later it comes the smaller its weight, by less than a
     * factor of 2 each */
    DIST_STEPS,
    /* as DIST_FAINT, but many keys take the weight: the later half, the earlier half, or every second block of keys,
     * depending on the head. So a whole tile, warp or split has small weights only, relative to the others. */
    DIST_FAINT_PARTS,
    /* products of queries and keys so small that the largest finite scale makes ordinary scores of them */
    DIST_SMALL_PRODUCTS,
    DIST_STAIRS, /* rising by whole powers of 2, if the scale is ln 2 */
    DIST_COUNT
};

/** @brief How q, k, v and out of @p item are stored. */
enum storage attention_storage(const struct lesson_case *item);

/** @brief The storage type in which a kernel keeps its probabilities while it multiplies them with V. */
enum storage attention_storage_of_p(const struct lesson_case *item);

/** @brief Floats of workspace for one query row; @p workspace is an enum attention_workspace. */
size_t attention_workspace_row(int workspace, int kv_len, int head_dim);

/** @brief The key row from which on DIST_NAN_HIDDEN, DIST_OTHER_TAIL and DIST_SELDOM_NAN differ from
 *         DIST_NORMAL. */
int attention_hidden_from(const struct lesson_case *item);

/** @brief The callbacks of struct lesson of the same names. */
int attention_buffers(const struct lesson_case *item, struct lesson_buffer *buffers);
void attention_fill(const struct lesson_case *item, int index, size_t elems, struct rng *rng, float *data);
size_t attention_workspace_bytes(const struct lesson_case *item);
