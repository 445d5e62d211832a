/**
 * @file causes.h
 * @brief What wrong values usually come of, and which of its variants a record of the runner or the checker is.
 */
#pragma once

#include "record.h"

/**
 * @brief Every cause, with the name it has in CSV and JSON, in the tables of pages ("all zero" or `all-zero`) and in their
 *        comment `<!-- causes`.
 *
 * The first block are mistakes that a lesson's guess computes: what the guess is about. The guess has a sentence of its own,
 * in the record's note. The others are patterns of wrong elements and ends of a runner, with their sentences in words_values.c.
 */
#define RECORD_CAUSES(X)                                                                                     \
    X(RECORD_CAUSE_GUESS, "guess") /* of no name that cases share */                                         \
    X(RECORD_CAUSE_MAXIMUM, "maximum")                                                                       \
    X(RECORD_CAUSE_SCALE, "scale")                                                                           \
    X(RECORD_CAUSE_HEAD_DIM, "head-dim")                                                                     \
    X(RECORD_CAUSE_MASK, "mask")                                                                             \
    X(RECORD_CAUSE_KV_HEAD, "kv-head")                                                                       \
    X(RECORD_CAUSE_KV_ROWS, "kv-rows")                                                                       \
    X(RECORD_CAUSE_Q_ROWS, "q-rows")                                                                         \
    X(RECORD_CAUSE_NORMALISE, "normalise")                                                                   \
    X(RECORD_CAUSE_WEIGHTS, "weights")                                                                       \
    X(RECORD_CAUSE_TAIL, "tail")                                                                             \
    X(RECORD_CAUSE_KV_TILES, "kv-tiles")                                                                     \
    X(RECORD_CAUSE_Q_TILES, "q-tiles")                                                                       \
    X(RECORD_CAUSE_EXPONENT, "exponent")                                                                     \
    X(RECORD_CAUSE_VALUES, "values")                                                                         \
    X(RECORD_CAUSE_FRAGMENT, "fragment")                                                                     \
    X(RECORD_CAUSE_STORAGE_TYPE, "storage-type")                                                             \
    X(RECORD_CAUSE_LSE, "lse")                                                                               \
    X(RECORD_CAUSE_RESCALE, "rescale")                                                                       \
    X(RECORD_CAUSE_PARTIALS, "partials")                                                                     \
    X(RECORD_CAUSE_WARP_REDUCTION, "warp-reduction")                                                         \
    X(RECORD_CAUSE_POSITION, "position")                                                                     \
    X(RECORD_CAUSE_ALIBI, "alibi")                                                                           \
    X(RECORD_CAUSE_PAGE_TABLE, "page-table")                                                                 \
    X(RECORD_CAUSE_TRANSPOSED_OUTPUT, "transposed-output")                                                   \
    X(RECORD_CAUSE_LAYOUT, "layout")                                                                         \
    X(RECORD_CAUSE_LEADING_DIMENSION, "leading-dimension")                                                   \
    X(RECORD_CAUSE_ALPHA_BETA, "alpha-beta")                                                                 \
    X(RECORD_CAUSE_K_TAIL, "k-tail")                                                                         \
    X(RECORD_CAUSE_K_TILES, "k-tiles")                                                                       \
    X(RECORD_CAUSE_STAGES, "stages")                                                                         \
    X(RECORD_CAUSE_BYTES, "bytes")                                                                           \
    X(RECORD_CAUSE_ACCUMULATOR, "accumulator")                                                               \
    X(RECORD_CAUSE_DEQUANTISATION, "dequantisation")                                                         \
    X(RECORD_CAUSE_BIAS, "bias")                                                                             \
    X(RECORD_CAUSE_DELTA, "delta")                                                                           \
    X(RECORD_CAUSE_PROBABILITIES, "probabilities")                                                           \
    X(RECORD_CAUSE_TERMS, "terms")                                                                           \
    X(RECORD_CAUSE_PRODUCTS, "products")                                                                     \
    X(RECORD_CAUSE_NORM, "norm")                                                                             \
    X(RECORD_CAUSE_ROPE, "rope")                                                                             \
    X(RECORD_CAUSE_RESIDUAL, "residual")                                                                     \
    X(RECORD_CAUSE_MLP, "mlp")                                                                               \
    X(RECORD_CAUSE_KV_CACHE, "kv-cache")                                                                     \
    X(RECORD_CAUSE_LOGITS, "logits")                                                                         \
    X(RECORD_CAUSE_VARIANT, "variant")                                                                       \
    X(RECORD_CAUSE_TRANSFERS, "transfers")                                                                   \
    X(RECORD_CAUSE_GRAPH, "graph")                                                                           \
    X(RECORD_CAUSE_GRAPH_CREATION, "graph-creation")                                                         \
    X(RECORD_CAUSE_PADDING, "padding")                                                                       \
    X(RECORD_CAUSE_HOST_MEMORY, "host-memory")                                                               \
    /* patterns of wrong elements */                                                                         \
    X(RECORD_CAUSE_ROUNDING, "rounding")                                                                     \
    X(RECORD_CAUSE_FAR, "far")                                                                               \
    X(RECORD_CAUSE_NAN_LOST, "nan-lost")                                                                     \
    X(RECORD_CAUSE_NAN, "nan")                                                                               \
    X(RECORD_CAUSE_INFINITY, "infinity")                                                                     \
    X(RECORD_CAUSE_ALL_ZERO, "all-zero")                                                                     \
    X(RECORD_CAUSE_WRONG_ARE_ZERO, "wrong-are-zero")                                                         \
    X(RECORD_CAUSE_CONSTANT_FACTOR, "constant-factor")                                                       \
    X(RECORD_CAUSE_FACTOR_OF_ROW, "factor-of-row")                                                           \
    X(RECORD_CAUSE_CONSTANT_DIFFERENCE, "constant-difference")                                               \
    X(RECORD_CAUSE_OTHER_SIXTEEN_BITS, "other-sixteen-bits")                                                 \
    X(RECORD_CAUSE_COPY_OF_INPUT, "copy-of-input")                                                           \
    X(RECORD_CAUSE_TRANSPOSED, "transposed")                                                                 \
    X(RECORD_CAUSE_SWIZZLED, "swizzled")                                                                     \
    X(RECORD_CAUSE_ROWS_EXCHANGED, "rows-exchanged")                                                         \
    X(RECORD_CAUSE_COLUMNS_EXCHANGED, "columns-exchanged")                                                   \
    X(RECORD_CAUSE_FINITE, "finite")                                                                         \
    X(RECORD_CAUSE_EVERY_SECOND, "every-second")                                                             \
    X(RECORD_CAUSE_LAST_TILE, "last-tile")                                                                   \
    X(RECORD_CAUSE_LATER_PART, "later-part")                                                                 \
    X(RECORD_CAUSE_FIRST_PART, "first-part")                                                                 \
    X(RECORD_CAUSE_AS_BEFORE, "as-before")                                                                   \
    X(RECORD_CAUSE_KEPT, "kept")                                                                             \
    X(RECORD_CAUSE_LSE_RIGHT, "lse-is-right")                                                                \
    /* ends of a runner, findings of the device, what was returned */                                        \
    X(RECORD_CAUSE_DIVISION_BY_ZERO, "division-by-zero")                                                     \
    X(RECORD_CAUSE_HOST_POINTER, "host-pointer")                                                             \
    X(RECORD_CAUSE_SMALL_WORKSPACE, "small-workspace")                                                       \
    X(RECORD_CAUSE_VECTOR_TAIL, "vector-tail")                                                               \
    X(RECORD_CAUSE_C_READ, "c-read")                                                                         \
    X(RECORD_CAUSE_NCCL_COUNT, "nccl-count")                                                                 \
    X(RECORD_CAUSE_LAUNCH_REFUSED, "launch-refused")                                                         \
    X(RECORD_CAUSE_VALID_REFUSED, "valid-refused")                                                           \
    X(RECORD_CAUSE_OTHER_REFUSAL, "other-refusal")                                                           \
    X(RECORD_CAUSE_NOT_REFUSED, "not-refused")                                                               \
    X(RECORD_CAUSE_WORKSPACE_UNLIKE, "workspace-unlike")

/** @cond */
#define RECORD_CAUSE_NUMBER(number, name) number,
/** @endcond */
/** @brief What was done wrong, of RECORD_CAUSES. */
enum record_cause { RECORD_NO_CAUSE_KNOWN, RECORD_CAUSES(RECORD_CAUSE_NUMBER) RECORD_CAUSE_COUNT };
#undef RECORD_CAUSE_NUMBER

/** @brief The variants of kinds of the runner and the checker: a record's `message`. */
enum record_variant {
    RECORD_ANY_VARIANT,
    RECORD_RAN_TOO_LONG,     /**< time-limit */
    RECORD_CHECK_TOO_LONG,   /**< time-limit: not tried; real[0] seconds */
    RECORD_OTHERS_TOO_LONG,  /**< time-limit: not tried, cases before it had it all */
    RECORD_TOO_MUCH_MEMORY,  /**< memory-limit */
    RECORD_OTHERS_TOO_MUCH,  /**< memory-limit: not tried */
    RECORD_BY_SIGNAL,        /**< crash: number[0] is the signal */
    RECORD_BY_EXIT,          /**< crash: number[0] is the exit code */
    RECORD_GAVE_UP,          /**< crash: before this case */
    RECORD_INCOMPLETE,       /**< crash: an answer without its stamp */
    RECORD_STATUS_WORKSPACE, /**< wrong-workspace: number[0] asked for, number[1] given */
    RECORD_ASKED_WORKSPACE,  /**< wrong-workspace: number[0] asked for, number[1] the contract's */
    RECORD_CONSTANT_MEMORY,  /**< own-memory: number[0] bytes, number[1] at most */
    RECORD_VARIABLE_MEMORY,  /**< own-memory: likewise */
    RECORD_NEVER,            /**< never-written: number[0] of number[1] elements */
    RECORD_NOT_IN_ONE_RUN,   /**< never-written: likewise */
    RECORD_NOT_WHERE_ALIGNED, /**< never-written: the other run, whose buffers begin at any element, wrote it */
    RECORD_NOT_WHERE_ANY_PLACE, /**< never-written: the other run, whose buffers are aligned, wrote it */
    RECORD_TWO_RUNS,            /**< runs-differ: number[0] of number[1] elements */
    RECORD_TWO_PLACES,          /**< runs-differ: likewise; the buffers of one run are aligned */
    RECORD_TWO_PLACES_WATCHED, /**< runs-differ: likewise; the software device saw nothing that explains it */
    RECORD_TWO_RUNS_WATCHED,   /**< runs-differ: likewise; the software device saw nothing that explains it */
    RECORD_ATOMICS_DIFFER,     /**< runs-differ: what atomics leave in memory does, an output does not */
    RECORD_BEFORE_START,       /**< wrote-outside: number[0] bytes */
    RECORD_PAST_END,           /**< wrote-outside: number[0] bytes past number[1] elements */
    RECORD_PAST_WORKSPACE,     /**< wrote-outside: number[0] bytes past number[1] bytes */
    RECORD_BETWEEN_ROWS,       /**< wrote-outside: rows have number[0] elements; number[1] to the next */
    RECORD_CALL_REFUSED,       /**< wrote-refused: outputs of a refused call */
    RECORD_OUTPUT_KEPT,        /**< wrote-refused: an output that had to stay */
    RECORD_OUTPUT_UNASKED,     /**< wrote-refused: likewise; the note says which elements these are */
    RECORD_STATUS_EXPLAINED,   /**< wrong-status: the note says why */
    RECORD_NO_OTHER_INPUTS,    /**< timed-call: there was no call with other inputs */
    RECORD_TIMED_OTHER_RESULT, /**< timed-call: not the checked result */
    RECORD_NOTHING_TO_AGREE,   /**< broken-check */
    RECORD_NO_MEMORY,          /**< broken-check */
    RECORD_NO_BOUND,           /**< broken-check: number[0] elements */
    RECORD_BROKEN_FOR          /**< broken-check: the note says why */
};

/** @brief What a record of the checker has in `number`. */
enum {
    RECORD_N_FIRST,  /**< as enum record_variant says */
    RECORD_N_SECOND, /**< likewise */
    RECORD_N_AXIS, /**< of the cause: an axis of the buffer; of RECORD_CAUSE_NAN: 1 if the note says it all */
    RECORD_N_FROM, /**< of the cause: an index, bytes, how far apart; 1: all wrong elements */
    RECORD_N_EXTENT,       /**< of the cause: of the axis */
    RECORD_N_TILE,         /**< of the cause: a tile's size; 1: whole blocks of columns of 128 bytes */
    RECORD_N_NEIGHBOURS,   /**< 0, or RECORD_PART_OF(), beside the cause */
    RECORD_N_OTHER_INPUTS, /**< 1: in a timed call with other inputs than the checked ones */
};

/** @brief What a record of the checker has in `name`. */
enum {
    RECORD_NAME_FIELD, /**< of the memory's last index, where that counts fields */
    RECORD_NAME_AXIS,  /**< what the cause's axis counts, in the plural */
    RECORD_NAME_OTHER, /**< another buffer */
};

/** @brief What number RECORD_N_FROM of RECORD_CAUSE_NAN_LOST says: 0 is in its place, where some keys may be hidden, in a sum of products,
 *         or anywhere else. */
enum { RECORD_ZERO_OF_KEYS = 1, RECORD_ZERO_OF_PRODUCT, RECORD_ZERO_OF_ANY };

/** @brief Which part of every @p period rows or columns is wrong: the first @p count, or, if @p last, those from @p count on. */
#define RECORD_PART_OF(period, count, last)                                                                  \
    ((int64_t)(period) << 16 | (int64_t)(count) << 1 | (int64_t)((last) != 0))

/** @brief The name of @p cause, or "" if there is none. Never NULL. */
const char *record_cause_name(int cause);

/** @brief The cause called @p name, with hyphens or blanks, or RECORD_NO_CAUSE_KNOWN. */
enum record_cause record_cause_of(const char *name);

/** @brief 1 if @p record tells what was done wrong by where the device found it, or by its kind alone: of its values nothing
 *         is known. */
int record_names_cause(const struct record *record);

/** @brief 1 if two failures of one check come of the same: a finding of the same kind at the same line, the same guess, the
 *         same pattern of wrong elements at the same place. */
int record_same_cause(const struct record *a, const struct record *b);
