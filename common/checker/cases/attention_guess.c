/**
 * @file attention_guess.c
 * @brief Lessons 01 to 05, 12, 16 and 19: what a kernel would compute with a well-known mistake in it.
 */
#include <math.h>

#include "attention_cases.h"
#include "wrong_attention.h"

/** mistake_row.where: the kinds of attention that can have the mistake, and what a case needs to show it. */
enum {
    S = 1 << ATTENTION_SCORES,
    M = 1 << ATTENTION_SOFTMAX,
    O = 1 << ATTENTION_OUTPUT,
    W = 1 << ATTENTION_WHOLE,
    CAUSAL = 1 << ATTENTION_KINDS,
    GROUPS = 2 << ATTENTION_KINDS,
    BATCHES = 4 << ATTENTION_KINDS,
    /* compare lse, which is wrong even where out is right; else compare the other output */
    IN_LSE = 8 << ATTENTION_KINDS
};

/* Lesson 01 has no tiles, so its messages say which keys count, not which tiles. */
#define EVERY_TILE .sizes = {4, 8, 16, 32, 64, 128}

#define QUERIES_IN_16_BITS                                                                                   \
    "queries are multiplied by the scale, and rounded to 16 bits then: scale the scores, which are floats"

/* clang-format off */
static const struct mistake_row MISTAKES[] = {
    {MAX_FROM_ZERO, RECORD_CAUSE_MAXIMUM, .where = M | W, .message = WRONG_MAXIMUM_BEGINS},
    {MAX_FROM_ZERO, RECORD_CAUSE_MAXIMUM, .where = M | W | IN_LSE, .message = WRONG_MAXIMUM_BEGINS},
    {MASK_SCALED, RECORD_CAUSE_MASK, .where = S | CAUSAL,
     .message = "the mask's -infinity is multiplied by a scale that is negative: mask after the scale"},
    {NO_SCALE, RECORD_CAUSE_SCALE, .where = S | W, .message = "as without the scale: is every score multiplied by it?"},
    {EVERY_SCORE_0, RECORD_CAUSE_SCALE, .where = S | W,
     .message = "as if every score were 0: is K read from the right place? Is the scale right? The scale 0 stands for "
                "1/sqrt(head_dim)"},
    {HEAD_DIM_ROUNDED, RECORD_CAUSE_HEAD_DIM, .where = S | W,
     .message = "the last elements of q and k are missing in every score, as if head_dim were rounded down to a multiple of %d",
     .sizes = {32, 16, 8}},
    {SCALE_DEFAULT, RECORD_CAUSE_SCALE, .where = S | W,
     .message = "as if the scale were 1/sqrt(head_dim): only a scale of 0 stands for that, not one that is negative or tiny"},
    {SCALE_TWICE, RECORD_CAUSE_SCALE, .where = S | W, .message = "as if the scale were applied twice"},
    {LAST_KEY_UNSEEN, RECORD_CAUSE_MASK, .where = S | O | W | CAUSAL,
     .message = "mask off by one: a query does not see the last key it should"},
    {ONE_KEY_MORE, RECORD_CAUSE_MASK, .where = S | O | W | CAUSAL, .message = "mask off by one: a query sees one key too many"},
    {NOT_CAUSAL, RECORD_CAUSE_MASK, .where = S | O | W | CAUSAL, .message = "as without the causal mask"},
    {SOFTMAX_MASKED, RECORD_CAUSE_MASK, .where = M | CAUSAL,
     .message = "the causal mask is applied here: softmax takes the matrix as it is, and knows of no mask"},
    {SOFTMAX_MASKED, RECORD_CAUSE_MASK, .where = M | CAUSAL | IN_LSE,
     .message = "the causal mask is applied here: softmax takes the matrix as it is, and knows of no mask"},
    {MASK_TOP_LEFT, RECORD_CAUSE_MASK, .where = S | O | W | CAUSAL,
     .message = "as if the causal mask began at the top left, with query i seeing keys up to i; correct: up to i + kv_len - q_len"},
    {HEAD_MODULO, RECORD_CAUSE_KV_HEAD, .where = S | O | W | GROUPS,
     .message = "wrong K/V head: h %% kv_heads in place of h / (heads / kv_heads)"},
    {HEAD_SAME, RECORD_CAUSE_KV_HEAD, .where = S | O | W | GROUPS,
     .message = "wrong K/V head: the query head's own number is used"},
    {HEAD_NO_BATCH, RECORD_CAUSE_KV_HEAD, .where = S | O | W | BATCHES,
     .message = "every sequence of the batch reads the K/V heads of the first: is the batch in their offset?"},
    {HEAD_BATCH_STRIDE_1, RECORD_CAUSE_KV_HEAD, .where = S | O | W | BATCHES,
     .message = "K/V rows of sequence b begin at b * kv_len: the stride of a sequence is kv_heads * kv_len rows"},
    {HEAD_BEFORE, RECORD_CAUSE_KV_HEAD, .where = S | O | W,
     .message = "wrong K/V head: the one before it is read: is a whole number divided as a float, whose quotient may be rounded down?"},
    {UNDIVIDED, RECORD_CAUSE_NORMALISE, .where = M | W, .message = "never divided by the sum of the exponentials"},
    {DIVIDED_TWICE, RECORD_CAUSE_NORMALISE, .where = M | W, .message = "divided twice by the sum of the exponentials"},
    {DIVIDED_BY_LANE, RECORD_CAUSE_NORMALISE, .where = W,
     .message = "divided by l of one lane: l is the sum over the four lanes of a row"},
    {OWN_LANE, RECORD_CAUSE_MAXIMUM, .where = W,
     .message = "each lane has a maximum of its own: that of a row is the largest of its four lanes, by two shuffles"},
    {LANES_BY_ONE, RECORD_CAUSE_MAXIMUM, .where = W,
     .message = "the maximum is that of two lanes, the shuffle by 2 is missing: a row has four lanes"},
    {LANES_BY_TWO, RECORD_CAUSE_MAXIMUM, .where = W,
     .message = "the maximum is that of two lanes, the shuffle by 1 is missing: a row has four lanes"},
    {SCORES_AS_WEIGHTS, RECORD_CAUSE_WEIGHTS, .where = W, .message = "as if scores, not probabilities, were multiplied with V"},
    {TAIL_MISSING, RECORD_CAUSE_TAIL, .where = O | W,
     .message = "the last keys are missing, as if kv_len were rounded down to a multiple of %d: is an incomplete K/V tile "
                "handled?", EVERY_TILE},
    {ONE_MORE_AS_ZERO, RECORD_CAUSE_TAIL, .where = W,
     .message = "off by one: a key past the last one counts as a key of score 0"},
    {TAIL_AS_ZEROS, RECORD_CAUSE_TAIL, .where = W,
     .message = "keys past the end count as keys of score 0, as if kv_len were rounded up to a multiple of %d", EVERY_TILE},
    /* A kernel that masks scores by the tile, and does not: all that the tiles of its block of queries hold counts. */
    {NOT_MASKED, RECORD_CAUSE_MASK, .where = W,
     .message = "nothing is masked in the last K/V tiles of a Q tile: keys above the diagonal of the causal mask count, and "
                "keys past the end as keys of score 0", .sizes = {64, 128, 128}, .others = {64, 64, 128}},
    {LAST_TILE_ONLY, RECORD_CAUSE_KV_TILES, .where = O | W,
     .message = "only the last K/V tile counts, the keys from the last multiple of %d on: is what came before kept?",
     EVERY_TILE},
    {FIRST_TILE_ONLY, RECORD_CAUSE_KV_TILES, .where = O | M | W,
     .message = "only the first %d keys count: does every thread go on to what follows?",
     .sizes = {8, 16, 32, 64, 128, 256}},
    {FIRST_TILE_ONLY, RECORD_CAUSE_KV_TILES, .where = O | M | W,
     .message = "only the first %d keys count: is that as many as fit somewhere?",
     .sizes = {512, 1024, 2048, 4096, 8192, 16384, 32768, 65536}},
    {FIRST_TILE_ONLY, RECORD_CAUSE_KV_TILES, .where = M | W | IN_LSE,
     .message = "only the first %d keys count: is that as many as fit somewhere?",
     .sizes = {512, 1024, 2048, 4096, 8192, 16384, 32768, 65536}},
    {POWERS_OF_2, RECORD_CAUSE_EXPONENT, .where = M | W,
     .message = "as if exp2 were taken where exp is meant: is the score multiplied by log2(e)?"},
    {POWERS_OF_E, RECORD_CAUSE_EXPONENT, .where = M | W,
     .message = "as if exp were taken of scores that are multiplied by log2(e) already"},
    {LAST_VALUES_MISSING, RECORD_CAUSE_VALUES, .where = W,
     .message = "the values of the last K/V tile (of %d keys) are missing in O, while l has its weights: is its product with V "
                "made, and waited for?", .sizes = {64, 128}},
    {FIRST_VALUES_MISSING, RECORD_CAUSE_VALUES, .where = W,
     .message = "the values of the first K/V tile, the last that a loop from the end comes to (of %d keys) are missing in O, "
                "while l has its weights: is its product with V made, and waited for?", .sizes = {64, 128}},
    {SCALE_POSITIVE, RECORD_CAUSE_SCALE, .where = S | W,
     .message = "a negative scale is taken as positive: the largest score of a row is then the smallest product of q and k"},
    {ROWS_EXCHANGED, RECORD_CAUSE_FRAGMENT, .where = W,
     .message = "weights of rows %d apart are exchanged: of a fragment, x[0] and x[1] are of row g, x[2] and x[3] of row g + 8",
     .sizes = {8}},
    {READ_AS_F16, RECORD_CAUSE_STORAGE_TYPE, .where = W, .message = "q, k and v are bf16, and are read as if they were f16"},
    {READ_AS_BF16, RECORD_CAUSE_STORAGE_TYPE, .where = W, .message = "q, k and v are f16, and are read as if they were bf16"},
    {TREATED_AS_F16, RECORD_CAUSE_STORAGE_TYPE, .where = W,
     .message = "q, k, v and out are bf16, and are treated as if they were f16"},
    {TREATED_AS_BF16, RECORD_CAUSE_STORAGE_TYPE, .where = W,
     .message = "q, k, v and out are f16, and are treated as if they were bf16"},
    /* Where all that is wrong is 0, each of these fits: the first is nearest to what the kernel does. */
    {WEIGHTS_CUT, RECORD_CAUSE_WEIGHTS, .where = M | W, .message = "small weights, below exp(-%d), are taken as 0",
     .sizes = {87, 80, 60, 40, 30, 20, 17, 14, 10, 9, 8}},
    {WEIGHTS_ROUNDED, RECORD_CAUSE_WEIGHTS, .where = M | W,
     .message = "weights are rounded to 16 bits: here they stay floats until they are multiplied with V", .sizes = {11, 8}},
    {QUERIES_ROUNDED, RECORD_CAUSE_SCALE, .where = S | W, .message = QUERIES_IN_16_BITS,
     .sizes = {11, 11, 8, 8, 11, 11, 8, 8}, .others = {0, 1, 0, 1, 2, 3, 2, 3}},
    {QUERIES_ROUNDED, RECORD_CAUSE_SCALE, .where = W | IN_LSE, .message = QUERIES_IN_16_BITS,
     .sizes = {11, 11, 8, 8, 11, 11, 8, 8}, .others = {0, 1, 0, 1, 2, 3, 2, 3}},
    {LSE_OF_ROUNDED, RECORD_CAUSE_LSE, .where = W | IN_LSE,
     .message = "l sums weights that were rounded to 16 bits, as P is for its product: sum them before", .sizes = {11, 8}},
    {LSE_WITHOUT_MAX, RECORD_CAUSE_LSE, .where = M | W | IN_LSE,
     .message = "lse is the logarithm of the sum without the maximum: lse = m + log(l)"},
    {LSE_MAX_ONLY, RECORD_CAUSE_LSE, .where = M | W | IN_LSE, .message = "lse is the maximum alone: lse = m + log(l)"},
    {LSE_IN_BASE_2, RECORD_CAUSE_LSE, .where = M | W | IN_LSE, .message = "lse is in base 2: multiply it by log(2)"},
    {LSE_OF_MEAN, RECORD_CAUSE_LSE, .where = M | W | IN_LSE,
     .message = "lse is m + log of the weights after they were divided, which is m"},
    {TILES_OF_FIRST_QUERY, RECORD_CAUSE_Q_TILES, .where = W | CAUSAL,
     .message = "the loop over K/V tiles ends with the keys that the first query of a Q tile sees: the last one sees the most",
     .sizes = {32, 64, 128, 32, 64, 128}, .others = {64, 64, 64, 128, 128, 128}},
    {ZEROS_AFTER_FIRST_QUERY, RECORD_CAUSE_Q_TILES, .where = W | CAUSAL,
     .message = "of K and V no more is loaded than the first query of a Q tile sees, so that later ones find zeros: the last one "
                "sees the most", .sizes = {32, 64, 128, 32, 64, 128}, .others = {64, 64, 64, 128, 128, 128}},
    {ELEMENTS_MISSING, RECORD_CAUSE_HEAD_DIM, .where = S | W,
     .message = "the last %d elements of q and k are missing in every score: does the loop over head_dim take its last step?",
     .sizes = {8, 16, 32}},
    {K_TRANSPOSED, RECORD_CAUSE_KV_ROWS, .where = S | W,
     .message = "K is read as if it were transposed: element d of key j is k[j * head_dim + d], not k[d * kv_len + j]"},
    {V_TRANSPOSED, RECORD_CAUSE_KV_ROWS, .where = O | W,
     .message = "V is read as if it were transposed: element d of key j is v[j * head_dim + d], not v[d * kv_len + j]"},
    {HALF_OF_LANES, RECORD_CAUSE_WARP_REDUCTION, .where = M | W,
     .message = "divided by half of the partial sums, those of the first %d threads: does the reduction begin with half of them?",
     .sizes = {16, 32, 64, 128}},
    {OWN_PART_ONLY, RECORD_CAUSE_PARTIALS, .where = W,
     .message = "only the keys of a query's own part count, of %d equal parts: in a ring, what comes from other ranks is not merged",
     .sizes = {2, 4, 8}},
    {PARTS_DROPPED, RECORD_CAUSE_PARTIALS, .where = W,
     .message = "a part of the keys is left out of the merge where its lse is lower than another part's by more than %d: its weights "
                "are small, and not 0",
     .sizes = {10, 20, 30, 10, 20, 30, 10, 20, 30}, .others = {2, 2, 2, 4, 4, 4, 8, 8, 8}},
    {TILES_SCALE_POSITIVE, RECORD_CAUSE_SCALE, .where = W,
     .message = "a negative scale is taken as positive in all K/V tiles but the last, of %d keys, the first that a loop from the "
                "end comes to", .sizes = {64, 128}},
    {REFILLED_LATE, RECORD_CAUSE_KV_TILES, .where = W,
     .message = "a stage is refilled with the wrong tile of %d keys: the next one in its stage lies as many tiles on as there are "
                "stages", .sizes = {64, 128, 64, 128, 64, 128}, .others = {2, 2, 3, 3, 4, 4}},
    {MASK_OF_FIRST_ROWS, RECORD_CAUSE_MASK, .where = W | CAUSAL,
     .message = "rows from %d on of a tile are masked as its first rows are: is the consumer's, or the warp's, number in the row?",
     .sizes = {64, 16, 64}, .others = {128, 64, 192}},
    {QUERIES_OF_FIRST_ROWS, RECORD_CAUSE_Q_ROWS, .where = W,
     .message = "rows from %d on of a tile have the queries of its first rows: is the consumer's, or the warp's, number in the row?",
     .sizes = {64, 16, 64}, .others = {128, 64, 192}},
};
/* clang-format on */

/* 1 if the mistake can be made in @p item, shows in @p buffer, and does not give what another mistake
 * gives. */
static int applies(const struct lesson_case *item, unsigned where, const struct mistake *mistake, int buffer)
{
    const int *extent = item->extent, kind = extent[EX_KIND], causal = item->value[AT_CAUSAL] == 1;
    const int kv_len = extent[AT_KV_LEN], head_dim = extent[AT_HEAD_DIM], size = mistake->size;
    const int matrix = kind == ATTENTION_SCORES || kind == ATTENTION_SOFTMAX;
    if (!(where >> kind & 1)) return 0;
    if (buffer != (where & IN_LSE ? ATTENTION_LSE : matrix ? ATTENTION_MATRIX : ATTENTION_OUT)) return 0;
    if (where & CAUSAL && !causal) return 0;
    if (where & GROUPS && extent[AT_HEADS] == extent[AT_KV_HEADS]) return 0;
    if (where & BATCHES && extent[AT_BATCH] == 1) return 0;
    switch (mistake->number) {
    case READ_AS_F16:
    case TREATED_AS_F16:
        return attention_storage(item) == STORAGE_BF16;
    case READ_AS_BF16:
    case TREATED_AS_BF16:
        return attention_storage(item) == STORAGE_F16;
    case WEIGHTS_ROUNDED:
        return attention_storage_of_p(item) == STORAGE_F32;
    case LSE_OF_ROUNDED:
        return attention_storage(item) == (size == 11 ? STORAGE_F16 : STORAGE_BF16);
    case SCALE_DEFAULT:
        return item->real[AT_SCALE] != 0.0;
    case QUERIES_ROUNDED:
        return attention_storage(item) == (size == 11 ? STORAGE_F16 : STORAGE_BF16);
    case SCALE_POSITIVE:
    case MASK_SCALED:
        return item->real[AT_SCALE] < 0.0;
    case TILES_SCALE_POSITIVE:
        return item->real[AT_SCALE] < 0.0 && kv_len > size;
    /* with a small head_dim all zeros may have other causes: then "all zero" is all that can be said */
    case EVERY_SCORE_0:
        return head_dim >= 32;
    case HEAD_DIM_ROUNDED:
        return head_dim > size && head_dim % size != 0;
    case ELEMENTS_MISSING:
        return head_dim > size;
    case ONE_MORE_AS_ZERO:
        return !causal;
    case TAIL_AS_ZEROS:
        return !causal && kv_len % size != 0;
    case TAIL_MISSING:
        return kv_len > size && kv_len % size != 0;
    case NOT_MASKED:
        return causal || kv_len % size != 0;
    case K_TRANSPOSED:
    case V_TRANSPOSED:
        return head_dim > 1 && kv_len > 1;
    case HEAD_BEFORE:
        return extent[AT_BATCH] * extent[AT_KV_HEADS] > 1;
    case OWN_PART_ONLY:
        return kv_len == extent[AT_Q_LEN] && kv_len % size == 0;
    case PARTS_DROPPED:
        return kv_len == extent[AT_Q_LEN] && kv_len % mistake->other == 0;
    case REFILLED_LATE:
        return kv_len > size * mistake->other;
    case MASK_OF_FIRST_ROWS:
    case QUERIES_OF_FIRST_ROWS:
        return extent[AT_Q_LEN] > size;
    case LAST_TILE_ONLY:
    case FIRST_TILE_ONLY:
    case HALF_OF_LANES:
    case LAST_VALUES_MISSING:
    case FIRST_VALUES_MISSING:
        return kv_len > size;
    default:
        return 1;
    }
}

/* The number of keys that query @p i sees by the contract; may be negative. */
static int keys_seen(const struct lesson_case *item, size_t i)
{
    const int kv_len = item->extent[AT_KV_LEN];
    return item->value[AT_CAUSAL] == 1 ? (int)i + 1 + kv_len - item->extent[AT_Q_LEN] : kv_len;
}

/* The end of the last K/V tile that the Q tile of query @p i loads. The tile's last query sees the most
 * keys, its first the fewest. */
static int end_of_tiles(const struct lesson_case *item, const struct mistake *mistake, size_t i)
{
    const size_t rows = (size_t)mistake->other, after = (i / rows + 1) * rows,
                 q_len = (size_t)item->extent[AT_Q_LEN], last = (after < q_len ? after : q_len) - 1;
    const int most = keys_seen(item, mistake->number == NOT_MASKED ? last : after - rows);
    return most > 0 ? (most + mistake->size - 1) / mistake->size * mistake->size : 0;
}

static int seen_by_mask(const struct lesson_case *item, int number, size_t i)
{
    if (item->value[AT_CAUSAL] != 1 || number == NOT_CAUSAL ||
        (item->extent[EX_KIND] == ATTENTION_SOFTMAX && number != SOFTMAX_MASKED))
        return item->extent[AT_KV_LEN];
    const int seen = number == MASK_TOP_LEFT ? (int)i + 1 : keys_seen(item, i);
    return seen + (number == ONE_KEY_MORE) - (number == LAST_KEY_UNSEEN);
}

/* The row that @p i is taken for where a tile's rows are taken for its first ones. */
static size_t first_rows_of(const struct mistake *mistake, size_t i)
{
    const size_t tile = (size_t)mistake->other;
    return i / tile * tile + i % tile % (size_t)mistake->size;
}

/* Which keys count, and how many keys past the end count with score 0. */
static void count_keys(struct wrong_row *row)
{
    const struct mistake *mistake = &row->mistake;
    const int kv_len = row->item->extent[AT_KV_LEN], size = mistake->size, number = mistake->number;
    const int first_only = number == TILES_OF_FIRST_QUERY || number == ZEROS_AFTER_FIRST_QUERY;
    const int end = number == NOT_MASKED || first_only ? end_of_tiles(row->item, mistake, row->query) : 0;
    const size_t query = number == MASK_OF_FIRST_ROWS ? first_rows_of(mistake, row->query) : row->query;
    int last = number == NOT_MASKED ? end : seen_by_mask(row->item, number, query);
    if (first_only && last > end) last = end;
    int empty = 0;
    if (number == ZEROS_AFTER_FIRST_QUERY) {
        const size_t tile = (size_t)mistake->other;
        const int loaded = seen_by_mask(row->item, number, row->query / tile * tile);
        empty = last - (loaded > 0 ? loaded : 0);
        if (empty > 0) last = loaded;
    }
    last = last < 0 ? 0 : last > kv_len ? kv_len : last;
    if (number == TAIL_MISSING && last > kv_len / size * size) last = kv_len / size * size;
    if (number == FIRST_TILE_ONLY && last > size) last = size;
    row->first = number == LAST_TILE_ONLY && last > 0 ? (last - 1) / size * size : 0;
    if (number == OWN_PART_ONLY) {
        const int part = kv_len / size, own = (int)row->query / part * part;
        row->first = own;
        if (last > own + part) last = own + part;
    }
    row->last = last;
    row->zeros = number == ONE_MORE_AS_ZERO                     ? 1
                 : number == NOT_MASKED && end > kv_len         ? end - kv_len
                 : number == TAIL_AS_ZEROS && kv_len % size > 0 ? size - kv_len % size
                                                                : empty;
}

/* Tiles come from the last to the first, as in lesson 16: the last ones fill the stages, each later one is one too far. */
static int refilled(const struct wrong_row *row, int key)
{
    const int tile = row->mistake.size, tiles = (row->last + tile - 1) / tile;
    return key / tile < tiles - row->mistake.other ? key + tile : key;
}

static size_t place_of(const struct wrong_row *row, int key)
{
    const int *extent = row->item->extent, number = row->mistake.number;
    const size_t kv_heads = (size_t)extent[AT_KV_HEADS], group = (size_t)extent[AT_HEADS] / kv_heads;
    size_t head = row->h / group, sequence = row->b * kv_heads;
    if (number == HEAD_MODULO) head = row->h % kv_heads;
    if (number == HEAD_SAME) head = row->h;
    if (number == HEAD_NO_BATCH) sequence = 0;
    if (number == HEAD_BATCH_STRIDE_1) sequence = row->b;
    if (number == HEAD_BEFORE) head += (size_t)extent[AT_BATCH] * kv_heads - 1;
    if (number == REFILLED_LATE) key = refilled(row, key);
    const size_t first =
        (sequence + head) % ((size_t)extent[AT_BATCH] * kv_heads) * (size_t)extent[AT_KV_LEN];
    return (first + (size_t)key) * row->head_dim;
}

/* Opens query row number @p unit, counted over all heads and sequences. */
static struct wrong_row open_row(const struct lesson_case *item, const float *const *data,
                                 const struct mistake *mistake, size_t unit, size_t column)
{
    const size_t q_len = (size_t)item->extent[AT_Q_LEN], heads = (size_t)item->extent[AT_HEADS],
                 head_dim = (size_t)item->extent[AT_HEAD_DIM], kv_len = (size_t)item->extent[AT_KV_LEN];
    struct wrong_row row = {.mistake = *mistake,
                            .item = item,
                            .data = data,
                            .b = unit / q_len / heads,
                            .h = unit / q_len % heads,
                            .query = unit % q_len,
                            .column = column,
                            .head_dim = head_dim,
                            .q = data[ATTENTION_Q] + unit * head_dim,
                            .k = data[ATTENTION_K],
                            .v = data[ATTENTION_V],
                            .place = place_of,
                            .scale = wrong_scale(item->real[AT_SCALE], head_dim)};
    if (item->extent[EX_KIND] == ATTENTION_SOFTMAX) row.given = data[ATTENTION_MATRIX] + unit * kv_len;
    if (mistake->number == QUERIES_OF_FIRST_ROWS)
        row.q -= (row.query - first_rows_of(mistake, row.query)) * head_dim;
    count_keys(&row);
    return row;
}

/* The weights of another row, divided by the sum of this row; each is relative to the maximum of its own
 * row. */
static int of_other_row(const struct wrong_row *row, size_t unit, double *value)
{
    static const struct mistake none = {0}, undivided = {.number = UNDIVIDED};
    const size_t other = row->query ^ (size_t)row->mistake.size;
    if (other >= (size_t)row->item->extent[AT_Q_LEN]) return 0;
    const struct wrong_row rows[] = {
        open_row(row->item, row->data, &undivided, unit, row->column),
        open_row(row->item, row->data, &none, unit, row->column),
        open_row(row->item, row->data, &undivided, unit - row->query + other, row->column)};
    const double own = wrong_row_output(&rows[0]);
    if (own == 0.0) return 0;
    *value = wrong_row_output(&rows[2]) * wrong_row_output(&rows[1]) / own;
    return 1;
}

static int guess_row(const struct wrong_row *row, size_t unit, int buffer, double *value)
{
    const size_t kv_len = (size_t)row->item->extent[AT_KV_LEN];
    switch (row->item->extent[EX_KIND]) {
    case ATTENTION_OUTPUT:
        *value = 0.0;
        for (int key = row->first; key < row->last; key++)
            *value +=
                (double)row->data[ATTENTION_MATRIX][unit * kv_len + (size_t)key] * wrong_value(row, key);
        return 1;
    case ATTENTION_SCORES:
        *value = (int)row->column < row->last ? wrong_score(row, (int)row->column) : (double)-INFINITY;
        if (row->mistake.number == MASK_SCALED && (int)row->column >= row->last) *value = (double)INFINITY;
        return 1;
    default:
        if (row->mistake.number == ROWS_EXCHANGED) return of_other_row(row, unit, value);
        if (row->mistake.number == SOFTMAX_MASKED && buffer == ATTENTION_MATRIX &&
            (int)row->column >= row->last) {
            *value = 0.0;
            return 1;
        }
        *value = buffer == ATTENTION_LSE ? wrong_row_lse(row) : wrong_row_output(row);
        return 1;
    }
}

int attention_guess(const struct lesson_case *item, const float *const *data, int index, int buffer,
                    size_t at, struct lesson_guess *guess)
{
    const int kv_len = item->extent[AT_KV_LEN], head_dim = item->extent[AT_HEAD_DIM];
    const size_t columns =
        buffer == ATTENTION_LSE ? 1 : (size_t)(buffer == ATTENTION_MATRIX ? kv_len : head_dim);
    struct mistake mistake = {0};
    if (item->extent[EX_TILED] == ATTENTION_E4M3_TILES)
        return -1; /* what the kernel stores differs from what it multiplies */
    const struct mistake_row *known =
        mistake_at(MISTAKES, sizeof MISTAKES / sizeof MISTAKES[0], &index, &mistake, guess);
    if (known != NULL && !applies(item, known->where, &mistake, buffer)) return 0;
    if (known == NULL &&
        (item->extent[EX_KIND] != ATTENTION_WHOLE || buffer != ATTENTION_OUT || kv_len > PIECES_MOST_KEYS))
        return -1;
    const struct wrong_row row = open_row(item, data, &mistake, at / columns, at % columns);
    return known != NULL ? guess_row(&row, at / columns, buffer, &guess->value)
                         : wrong_row_in_pieces(&row, index, guess);
}

int attention_not_finite(const struct lesson_case *item, const float *const *data, int buffer, size_t at,
                         unsigned *holding, char *words, size_t size)
{
    static const struct mistake none = {0};
    const size_t columns = buffer == ATTENTION_LSE ? 1 : (size_t)item->extent[AT_HEAD_DIM];
    if (item->extent[EX_KIND] != ATTENTION_WHOLE || item->extent[EX_TILED] == ATTENTION_E4M3_TILES) return 0;
    struct wrong_row row = open_row(item, data, &none, at / columns, at % columns);
    row.halves = attention_on_tensor_cores(item->extent[EX_TILED]) && attention_storage(item) == STORAGE_F16;
    return wrong_row_not_finite(&row, item->extent[AT_KV_LEN], "behind the mask", holding, words, size);
}
