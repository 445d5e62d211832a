/**
 * @file decode_guess.c
 * @brief Attention over a contiguous cache with a position: what a kernel would compute with a well-known
 *        mistake in it.
 */
#include <stdio.h>

#include "contracts/decode_args.h"
#include "decode_cases.h"
#include "wrong_attention.h"

/** mistake_row.where: what a case needs to show the mistake. */
enum {
    GROUPS = 1,
    ROWS_APART = 2,
    NOT_FIRST = 4,
    ONE_QUERY = 8,
    NOT_FIRST_QUERY = 16,
    HALVES = 32,
    SCALE_0 = 64,
    GIVEN = 128
};

/* clang-format off */
static const struct mistake_row MISTAKES[] = {
    {MAX_OF_BLOCKS_WARP, RECORD_CAUSE_WARP_REDUCTION,
     .message = "the maximum (or the sum of a pass) reached one warp only: __shfl_sync does not leave its warp; through shared "
                "memory every warp of the block gets the same maximum", .sizes = {256}},
    {MAX_OF_KEYS_WARP, RECORD_CAUSE_WARP_REDUCTION,
     .message = "every warp took the maximum of its own keys: __shfl_sync does not leave its warp; through shared memory every "
                "warp of the block gets the same maximum", .sizes = {128}},
    {DIVIDED_BY_WARP, RECORD_CAUSE_WARP_REDUCTION,
     .message = "divided by the sum of one warp's weights: a shuffle does not leave its warp, the sum of the block goes "
                "through shared memory", .sizes = {256, 128}},
    {LAST_KEY_UNSEEN, RECORD_CAUSE_POSITION,
     .message = "as if the last key were not seen: query i sees position + i + 1 keys, its own token included"},
    {ONE_KEY_MORE, RECORD_CAUSE_POSITION, .message = "as if one key more were seen: query i sees position + i + 1 keys"},
    {NOT_CAUSAL, RECORD_CAUSE_POSITION,
     .message = "as if every query saw all tokens: query i sees the keys up to its own token (causal)"},
    {KEYS_OF_FIRST_QUERY, RECORD_CAUSE_POSITION,
     .message = "as if every query saw the keys of the first: query i sees position + i + 1 keys"},
    {KEYS_OF_FIRST_SEQUENCE, RECORD_CAUSE_POSITION,
     .message = "as if all sequences stood at the position of the first: device_positions[b]"},
    {KEYS_BY_HOST, RECORD_CAUSE_POSITION, .where = GIVEN,
     .message = "as if args->position counted: where device_positions is given, the position on the device does, read when the "
                "kernel runs and not when it was launched or captured"},
    {FIRST_TILE_ONLY, RECORD_CAUSE_KV_TILES, .message = "only the first tile of keys was seen", .sizes = {256, 1024}},
    {FIRST_STEP_ONLY, RECORD_CAUSE_KV_TILES,
     .message = "only the keys that one step of the threads takes were seen: a thread goes on to the next key", .sizes = {128}},
    {HEAD_MODULO, RECORD_CAUSE_KV_HEAD, .where = GROUPS,
     .message = "wrong K/V head: h %% kv_heads in place of h / (heads / kv_heads)"},
    {ROWS_TIGHT, RECORD_CAUSE_KV_ROWS, .where = ROWS_APART,
     .message = "as if rows of the cache were kv_heads * head_dim apart: they lie kv_stride apart"},
    {ROWS_OF_ONE_HEAD, RECORD_CAUSE_KV_ROWS,
     .message = "as if rows of the cache were head_dim apart: a token has kv_heads of them, and rows lie kv_stride apart"},
    {FIRST_SEQUENCE, RECORD_CAUSE_KV_ROWS, .where = NOT_FIRST,
     .message = "the keys and values of the first sequence: sequences lie max_len * kv_stride apart"},
    {FIRST_QUERY, RECORD_CAUSE_Q_ROWS, .where = NOT_FIRST_QUERY,
     .message = "the first query in place of this one: q is [batch, q_len, heads, head_dim]"},
    {NO_SCALE, RECORD_CAUSE_SCALE,
     .message = "as without the scale: is every score multiplied by it, and by 1/sqrt(head_dim) where it is 0? scale 0 stands "
                "for that"},
    {SCALE_OF_0, RECORD_CAUSE_SCALE, .where = SCALE_0,
     .message = "as if every score were 0: does dot() return the sum, and does scale 0 stand for 1/sqrt(head_dim)?"},
    {UNDIVIDED, RECORD_CAUSE_NORMALISE, .message = "never divided by the sum of the exponentials"},
    {MAX_FROM_ZERO, RECORD_CAUSE_MAXIMUM,
     .message = WRONG_MAXIMUM_BEGINS},
    {WEIGHTS_ROUNDED, RECORD_CAUSE_WEIGHTS,
     .message = "weights are rounded to half, where those below 3e-8 are 0: here they stay floats until they are multiplied with V",
     .sizes = {11}},
    {WEIGHTS_CUT, RECORD_CAUSE_WEIGHTS, .message = "small weights, below exp(-%d), are taken as 0",
     .sizes = {87, 80, 60, 40, 30, 20, 14, 10, 9, 8}},
    {HALF_OF_QUERY, RECORD_CAUSE_HEAD_DIM,
     .message = "only the first half of the query and key was multiplied: how many elements do loads bytes hold?"},
    {PAIRS_AS_FLOATS, RECORD_CAUSE_HEAD_DIM, .where = HALVES,
     .message = "as if two halves were read as one float: 4 bytes of f16 are a half2, and its two halves are multiplied one by "
                "one"},
    {FIRST_OF_LOAD, RECORD_CAUSE_HEAD_DIM,
     .message = "only the first element of every load was multiplied: in f16 4 bytes hold two and 16 bytes eight"},
    {HEAD_DIM_ROUNDED, RECORD_CAUSE_HEAD_DIM,
     .message = "only whole steps of %d elements of the query and key were multiplied: head_dim is any multiple of 8",
     .sizes = {16, 32, 64}},
    {GRID_SWAPPED, RECORD_CAUSE_Q_ROWS, .where = NOT_FIRST | ONE_QUERY,
     .message = "as if blockIdx.y counted the sequences and blockIdx.z the queries: the grid is (heads, q_len, batch)"},
    {TILES_KEEP_L, RECORD_CAUSE_RESCALE,
     .message = "l is not rescaled where a later tile brings a new maximum", .sizes = {256, 1024}},
    {TILES_KEEP_O, RECORD_CAUSE_RESCALE,
     .message = "O is not rescaled where a later tile brings a new maximum", .sizes = {256, 1024}},
    {TILES_KEEP_BOTH, RECORD_CAUSE_RESCALE,
     .message = "neither O nor l is rescaled where a later tile brings a new maximum", .sizes = {256, 1024}},
    {VALUES_OF_FIRST_TILE, RECORD_CAUSE_VALUES,
     .message = "every tile takes the values of the first: key number key of a tile is row first + key of the cache",
     .sizes = {256, 1024}},
    {KEYS_OF_FIRST_TILE, RECORD_CAUSE_KV_ROWS,
     .message = "every tile takes the keys of the first: key number key of a tile is row first + key of the cache",
     .sizes = {256, 1024}},
    {FAULTY_ZEROED, RECORD_CAUSE_POSITION,
     .message = "zeros were written for a sequence whose position is not valid: its part of the output is to stay as it was"},
};
/* clang-format on */

/* The keys that the row's query uses under the mistake. */
static int keys_of(const struct wrong_row *row)
{
    const struct mistake *mistake = &row->mistake;
    const int query = (int)row->query, right = decode_position(row->item, (int)row->b) + query + 1;
    switch (mistake->number) {
    case LAST_KEY_UNSEEN:
        return right - 1;
    case ONE_KEY_MORE:
        return right + 1;
    case NOT_CAUSAL:
        return right - query + row->item->extent[DC_Q_LEN] - 1;
    case KEYS_OF_FIRST_QUERY:
        return right - query;
    case KEYS_OF_FIRST_SEQUENCE:
        return decode_position(row->item, 0) + query + 1;
    case KEYS_BY_HOST:
        return (int)row->item->value[DC_POSITION] + query + 1;
    case GRID_SWAPPED:
        return decode_position(row->item, 0) + (int)row->b + 1;
    case FIRST_TILE_ONLY:
    case FIRST_STEP_ONLY:
        return right > mistake->size ? mistake->size : 0;
    default:
        return right;
    }
}

static size_t place_of(const struct wrong_row *row, int t)
{
    const int *extent = row->item->extent, number = row->mistake.number;
    const size_t kv_heads = (size_t)extent[DC_KV_HEADS], stride = (size_t)extent[DC_KV_STRIDE];
    const size_t group = (size_t)extent[DC_HEADS] / kv_heads;
    const size_t kv_head = number == HEAD_MODULO ? row->h % kv_heads : row->h / group;
    const size_t b = number == FIRST_SEQUENCE || number == GRID_SWAPPED ? 0 : row->b;
    const size_t apart = number == ROWS_TIGHT         ? kv_heads * row->head_dim
                         : number == ROWS_OF_ONE_HEAD ? row->head_dim
                                                      : stride;
    return b * (size_t)extent[DC_MAX_LEN] * stride + (size_t)t * apart + kv_head * row->head_dim;
}

/* A row must have more keys than this for the mistake to show. */
static int keys_beyond(const struct mistake *mistake)
{
    switch (mistake->number) {
    case MAX_OF_BLOCKS_WARP:
    case MAX_OF_KEYS_WARP:
    case DIVIDED_BY_WARP:
        return 32; /* those of a warp */
    case TILES_KEEP_L:
    case TILES_KEEP_O:
    case TILES_KEEP_BOTH:
    case VALUES_OF_FIRST_TILE:
    case KEYS_OF_FIRST_TILE:
        return mistake->size;
    default:
        return 0;
    }
}

static int applies(const struct wrong_row *row, unsigned where)
{
    const struct lesson_case *item = row->item;
    const struct mistake *mistake = &row->mistake;
    const int *extent = item->extent, width = extent[DC_KV_HEADS] * extent[DC_HEAD_DIM];
    if (item->distribution == BELOW && mistake->number != MAX_FROM_ZERO) return 0; /* wide bounds: all fit */
    if (row->last < 1 || row->last > extent[DC_MAX_LEN] || row->last <= keys_beyond(mistake)) return 0;
    if (where & GROUPS && extent[DC_HEADS] == extent[DC_KV_HEADS]) return 0;
    if (where & ROWS_APART && extent[DC_KV_STRIDE] == width) return 0;
    if (where & NOT_FIRST && row->b == 0) return 0;
    if (where & ONE_QUERY && extent[DC_Q_LEN] > 1) return 0;
    if (where & NOT_FIRST_QUERY && row->query == 0) return 0;
    if (where & HALVES && extent[EX_STORED_AS] != DTYPE_F16) return 0;
    if (where & GIVEN && extent[EX_GIVEN] == 0) return 0;
    if (mistake->number == HEAD_DIM_ROUNDED && extent[DC_HEAD_DIM] % mistake->size == 0) return 0;
    return !(where & SCALE_0) || item->real[0] == 0.0;
}

/* Opens row @p unit, counted over all heads and sequences, with the keys that it should see. */
static struct wrong_row open_row(const struct lesson_case *item, const float *const *data,
                                 const struct mistake *mistake, size_t unit, size_t column)
{
    const size_t head_dim = (size_t)item->extent[DC_HEAD_DIM], heads = (size_t)item->extent[DC_HEADS],
                 q_len = (size_t)item->extent[DC_Q_LEN];
    struct wrong_row row = {.mistake = *mistake,
                            .item = item,
                            .data = data,
                            .b = unit / heads / q_len,
                            .query = unit / heads % q_len,
                            .h = unit % heads,
                            .column = column,
                            .head_dim = head_dim,
                            .q = data[DC_Q] + unit * head_dim,
                            .k = data[DC_K],
                            .v = data[DC_V],
                            .place = place_of,
                            .zeros = -1,
                            .scale = wrong_scale(item->real[0], head_dim)};
    if (mistake->number == FIRST_QUERY) row.q -= row.query * heads * head_dim;
    if (mistake->number == FIRST_OF_LOAD)
        row.mistake.size = (int)item->value[DC_LOADS] / (item->extent[EX_STORED_AS] == DTYPE_F32 ? 4 : 2);
    row.last = keys_of(&row);
    return row;
}

/* What one number holds that a kernel or the choice leaves, by its name: the report shows numbers. The text depends on the
 * case, so the cases of a part do not vote on it. */
static int number_guess(const struct lesson_case *item, int index, int buffer, struct lesson_guess *guess)
{
    static const char *const variant[] = {"DECODE_AUTO", "DECODE_MHA", "DECODE_FLASH_1", "DECODE_FLASH_2"};
    const int invalid = item->extent[EX_FAULT] != POSITIONS_SOUND;
    if (buffer == DC_CHOSEN && index <= DECODE_FLASH_2) {
        guess->value = index;
        guess->cause = RECORD_CAUSE_VARIANT;
        snprintf(guess->words, sizeof guess->words, "decode_choose_variant() says %s, the contract %s",
                 variant[index], variant[decode_expected_choice(item)]);
        return 1;
    }
    if (buffer != DC_STATUS || index > 1) return -1;
    const int kept = invalid ? item->extent[EX_STATUS] : KERNEL_INVALID_DIMENSION;
    guess->value = index == 0 ? kept : KERNEL_OK;
    guess->cause = RECORD_CAUSE_POSITION;
    snprintf(guess->words, sizeof guess->words,
             index == 1 ? "KERNEL_OK: a valid position leaves *device_status as it is"
             : item->extent[EX_FAULT] == POSITION_HUGE ? "*device_status is as it was: the position is near "
                                                         "INT_MAX, so that position + q_len is beyond int"
             : invalid ? "*device_status is as it was: where a position is not valid, one thread sets it to "
                         "KERNEL_INVALID_DIMENSION"
                       : "KERNEL_INVALID_DIMENSION, though all positions are valid: 0 to max_len - q_len");
    return 1;
}

int decode_guess(const struct lesson_case *item, const float *const *data, int index, int buffer, size_t at,
                 struct lesson_guess *guess)
{
    if (buffer != DC_OUT) return number_guess(item, index, buffer, guess);
    const size_t head_dim = (size_t)item->extent[DC_HEAD_DIM];
    struct mistake mistake = {0};
    const struct mistake_row *known =
        mistake_at(MISTAKES, sizeof MISTAKES / sizeof MISTAKES[0], &index, &mistake, guess);
    const struct wrong_row row = open_row(item, data, &mistake, at / head_dim, at % head_dim);
    const int faulty = decode_is_faulty(item, (int)row.b);
    if (known == NULL)
        return faulty || item->distribution == BELOW ? -1 : wrong_row_in_pieces(&row, index, guess);
    if (faulty != (mistake.number == FAULTY_ZEROED) || (!faulty && !applies(&row, known->where))) return 0;
    guess->value = faulty ? 0.0 : wrong_row_output(&row);
    return 1;
}

int decode_not_finite(const struct lesson_case *item, const float *const *data, int buffer, size_t at,
                      unsigned *holding, char *words, size_t size)
{
    static const struct mistake none = {0};
    const size_t head_dim = (size_t)item->extent[DC_HEAD_DIM];
    if (buffer != DC_OUT) return 0;
    const struct wrong_row row = open_row(item, data, &none, at / head_dim, at % head_dim);
    if (decode_is_faulty(item, (int)row.b)) return 0;
    return wrong_row_not_finite(&row, item->extent[DC_MAX_LEN], "past its position", holding, words, size);
}
