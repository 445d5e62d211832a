/**
 * @file attention_cases.h
 * @brief The cases that every attention lesson has, their inputs, oracle and bounds.
 *
 * A lesson file names the parts it has and gets the rest from here: see checker/lessons/01_naive_attention.c.
 */
#ifndef WARPWISE_CHECKER_ATTENTION_CASES_H
#define WARPWISE_CHECKER_ATTENTION_CASES_H

#include "contracts/attention_args.h"
#include "protocol/attention_items.h"
#include "attention_inputs.h"
#include "lesson.h"
#include "guess_causes.h"

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

/**
 * @brief What makes one attention lesson differ from another.
 *
 * A lesson with several storage types is several families, a part each, and calls attention_cases() for each.
 */
struct attention_family {
    int part[ATTENTION_KINDS]; /**< index of the part that is of this kind, -1 for none */
    int max_head_dim;          /**< 0 for any; of no meaning if tiled */
    enum attention_workspace workspace;
    const char *name; /**< of the part that is ATTENTION_WHOLE, NULL for "attention" */
    enum dtype dtype; /**< how q, k, v and out are stored */
    enum attention_tiles tiled;
};

/** @brief 1 if a family of ATTENTION_TILES takes @p head_dim. */
static inline int attention_tiled_head_dim(int64_t head_dim)
{
    return head_dim == 32 || head_dim == 64 || head_dim == 128;
}

/** @brief Appends the cases of @p family to @p cases, of which @p count are there; returns the new count. */
int attention_cases(const struct attention_family *family, struct lesson_case *cases, int count,
                    int capacity);

/** @brief The cases of a lesson whose parts are scores, softmax, output and the whole, in f32; attention_parts.h is the
 *  runner's side of it. */
int attention_cases_in_parts(struct lesson_case *cases, int capacity);

enum { GUESS_WORKERS = 128, GUESS_KEYS = 1024 };

/** @brief Softmax and the sum of values in pieces of so many keys, dealt out to workers in turn. What is 1 is done right. */
struct guess_pieces {
    int keys, workers;
    int last_first; /**< pieces are taken from the last one down */
    int o, l;       /**< rescaled where a later piece brings a new maximum */
    enum { GUESS_NOT_DIVIDED, GUESS_TAKEN_FOR_SUM, GUESS_ADDED_WHOLE } divided; /**< O, after every piece */
    int merged_o, merged_l; /**< rescaled to the common maximum where the workers' sums are added */
};

/** @brief What comes of @p count keys with these scores and values by mistake @p index of those that can be made in
 *         pieces: as lesson::guess, 1, 0 or -1. */
int guess_in_pieces(int index, const double *score, const double *value, int count, double *result,
                    char *message, size_t size);

void attention_vary(struct lesson_case *item, int index, struct rng *rng);
int attention_buffers(const struct lesson_case *item, struct lesson_buffer *buffers);
void attention_fill(const struct lesson_case *item, int index, size_t elems, struct rng *rng, float *data);
size_t attention_units(const struct lesson_case *item);
size_t attention_unit_elems(const struct lesson_case *item);
void attention_expect(const struct lesson_case *item, const float *const *data, size_t unit,
                      struct lesson_expectation *expectation);
int attention_intermediate(const struct lesson_case *item, const float *const *data, size_t unit,
                           double *scratch, struct lesson_span *span);
int attention_holds(const struct lesson_case *item, const float *const *got, const struct lesson_case *before,
                    const float *const *got_before, char *reason, size_t size);
int attention_guess(const struct lesson_case *item, const float *const *data, int index, int buffer,
                    size_t at, double *value, char *message, size_t size);
int attention_trait(const struct lesson_case *item, int index, const char **message);
const char *attention_purpose(const struct lesson_case *item);
void attention_cost(const struct lesson_case *item, struct lesson_cost *cost);
size_t attention_workspace_bytes(const struct lesson_case *item);
void attention_describe(const struct lesson_case *item, char *text, size_t size);

/** @brief The members of struct lesson that are the same for every attention lesson. */
#define ATTENTION_CALLBACKS                                                                                  \
    .vary = attention_vary, .buffers = attention_buffers, .fill = attention_fill, .units = attention_units,  \
    .unit_elems = attention_unit_elems, .expect = attention_expect, .intermediate = attention_intermediate,  \
    .holds = attention_holds, .guess = attention_guess, .about = attention_about, .trait = attention_trait,  \
    .cost = attention_cost, .workspace_bytes = attention_workspace_bytes, .describe = attention_describe,    \
    .turns = "q k v", .purpose = attention_purpose, .distributions = DIST_COUNT

#endif
