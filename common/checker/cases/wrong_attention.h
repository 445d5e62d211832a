/**
 * @file wrong_attention.h
 * @brief Attention with a mistake: one slow computation for the guesses of all attention lessons, however
 *        they store keys and values.
 */
#pragma once

#include "lesson.h"
#include "mistakes.h"

/** @brief Numbers of mistakes; brackets say what mistake.size means. Mistakes about places and numbers of
 *         keys are made by the code that opens the row, all others here. */
enum attention_mistake {
    /* clang-format off */
    /* scores */
    NO_SCALE = 1, SCALE_OF_0, EVERY_SCORE_0, SCALE_TWICE, SCALE_POSITIVE,
    HEAD_DIM_ROUNDED /* down to a multiple of [elements] */, ELEMENTS_MISSING /* the last [elements] */, HALF_OF_QUERY,
    FIRST_OF_LOAD /* of each load of [elements] only the first */, PAIRS_AS_FLOATS,
    READ_AS_F16, READ_AS_BF16 /* q, k and v of the other 16-bit type */, TREATED_AS_F16, TREATED_AS_BF16 /* and out */,
    KEYS_OF_FIRST_TILE /* in every tile of [keys] */, NO_SLOPE, SLOPE_SIGN, SLOPE_COMPUTED,
    /* the maximum: over the lanes that hold a row of a fragment, or over the warps of a block of [threads] */
    MAX_FROM_ZERO, OWN_LANE, LANES_BY_ONE, LANES_BY_TWO, MAX_OF_BLOCKS_WARP, MAX_OF_KEYS_WARP,
    /* weights, their sum, and values */
    UNDIVIDED, DIVIDED_TWICE, DIVIDED_BY_LANE, DIVIDED_BY_WARP, SCORES_AS_WEIGHTS, POWERS_OF_2, POWERS_OF_E,
    WEIGHTS_CUT /* those below exp(-[size]) are 0 */,
    LAST_VALUES_MISSING, FIRST_VALUES_MISSING, VALUES_OF_FIRST_TILE /* of [keys] */,
    LSE_WITHOUT_MAX, LSE_MAX_ONLY, LSE_IN_BASE_2, LSE_OF_MEAN,
    /* what a kernel forgets from one tile of [keys] to the next */
    TILES_KEEP_L, TILES_KEEP_O, TILES_KEEP_BOTH,
    /* which keys count */
    LAST_KEY_UNSEEN, ONE_KEY_MORE, NOT_CAUSAL, MASK_TOP_LEFT,
    NOT_MASKED, TILES_OF_FIRST_QUERY /* tiles of [keys], and of [other] queries */,
    TAIL_MISSING, TAIL_AS_ZEROS, LAST_TILE_ONLY, FIRST_TILE_ONLY, FIRST_STEP_ONLY /* of [keys] */, ONE_MORE_AS_ZERO,
    KEYS_OF_FIRST_QUERY, KEYS_OF_FIRST_SEQUENCE, KEYS_BY_HOST,
    /* which rows are read */
    HEAD_MODULO, HEAD_SAME, HEAD_NO_BATCH, HEAD_BATCH_STRIDE_1, ROWS_TIGHT, ROWS_OF_ONE_HEAD, FIRST_SEQUENCE, FIRST_QUERY,
    GRID_SWAPPED, ROWS_EXCHANGED /* [rows] apart */, TABLE_UNUSED, TABLE_OF_FIRST, FAULTY_ZEROED,
    /* what a kernel forgets from one piece of the keys to the next: wrong_row_in_pieces() */
    PIECES_KEEP_O, PIECES_KEEP_L, PIECES_KEEP_BOTH, PIECES_TAKEN_FOR_SUM, PIECES_ADDED_WHOLE, PARTS_ADDED, PARTS_O_ADDED,
    PARTS_L_ADDED, PARTS_ALIKE,
    K_TRANSPOSED, V_TRANSPOSED, HALF_OF_LANES /* of twice [threads] */,
    OWN_PART_ONLY /* of [parts] */, REFILLED_LATE /* tiles of [keys], [other] stages */,
    /* of tiles of [other] rows those from [rows] on are taken for the first ones: by the mask, or for their queries */
    MASK_OF_FIRST_ROWS, QUERIES_OF_FIRST_ROWS, TILES_SCALE_POSITIVE /* all of [keys] but the last */,
    SLOPE_OF_FIRST /* [heads] */, SLOPE_OF_GROUP, LSE_OF_ROUNDED /* weights, to [bits] */,
    ZEROS_AFTER_FIRST_QUERY /* as TILES_OF_FIRST_QUERY */, WEIGHTS_ROUNDED /* to [bits] */, MASK_SCALED,
    SCALE_DEFAULT, QUERIES_ROUNDED /* to [bits]; with log2(e) in them if [other] */, HEAD_BEFORE, SOFTMAX_MASKED,
    PARTS_DROPPED /* of [other] parts those whose lse is lower by more than [size] */
    /* clang-format on */
};

/** @brief A row of attention, and the element of it to compute. */
struct wrong_row {
    struct mistake mistake;
    const struct lesson_case *item;
    const float *const *data;
    size_t b, query, h, column; /**< the element */
    size_t head_dim;
    const float *q, *k, *v;
    /** Where the row of key @p key begins in k and in v: at a fixed distance, or by a table. */
    size_t (*place)(const struct wrong_row *row, int key);
    /** The scores, if the lesson's part receives them: then the element is the weight of key `column`;
     *  else NULL. */
    const float *given;
    double scale, slope;
    int first, last; /**< the keys in [first, last) count */
    int halves;      /**< 1: weights may be rounded to f16 */
    int zeros;       /**< keys past the end that count with score 0; -1 where the lesson has none */
};

/** @brief What is told of MAX_FROM_ZERO. */
#define WRONG_MAXIMUM_BEGINS                                                                                 \
    "the maximum begins at 0, or at a low number such as -1e30, or that is the score of a key that is not "  \
    "there, in place of "                                                                                    \
    "-infinity: every score here is lower, and every exp is 0"

/** @brief @p scale, or 1 / sqrt(head_dim) if it is 0. */
double wrong_scale(double scale, size_t head_dim);

/** @brief The score of @p key; the second function: what its weight is multiplied with. */
double wrong_score(const struct wrong_row *row, int key);
double wrong_value(const struct wrong_row *row, int key);

/** @brief The element of the output, or the logsumexp of the row. */
double wrong_row_output(const struct wrong_row *row);
double wrong_row_lse(const struct wrong_row *row);

/** @brief Why the row, opened without a mistake, may be infinite or NaN: as lesson::not_finite. The keys from its last one to before
 *         @p end are those that it must not use; @p place says where they are. */
int wrong_row_not_finite(const struct wrong_row *row, int end, const char *place, unsigned *holding,
                         char *words, size_t size);

enum { PIECES_MOST_KEYS = 1024 }; /* smaller cases show the mistake sooner */

/** @brief The result of the row, otherwise right, with mistake @p index of those about pieces of keys: as
 *         lesson::guess. -1 for more keys than ::PIECES_MOST_KEYS. */
int wrong_row_in_pieces(const struct wrong_row *row, int index, struct lesson_guess *guess);
