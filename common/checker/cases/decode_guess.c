/**
 * @file decode_guess.c
 * @brief Attention over a contiguous cache with a position: what would come out if a well-known mistake had been made.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "attention_cases.h"
#include "checker/numbers/storage.h"
#include "contracts/decode_args.h"
#include "decode_cases.h"

/** A mistake, as a change to the definition. */
struct mistake {
    const char *message;
    enum {
        KEYS_RIGHT,
        LAST_UNSEEN,
        ONE_TOO_MANY,
        NOT_CAUSAL,
        QUERY_UNCOUNTED,
        OF_FIRST,
        OF_HOST,
        ONE_TILE
    } keys;
    enum {
        ROW_RIGHT,
        ROW_TIGHT,
        ROW_OF_ONE_HEAD,
        HEAD_MODULO,
        FIRST_SEQUENCE,
        FIRST_QUERY,
        GRID_SWAPPED,
        FAULTY_ZEROED
    } row;
    enum {
        WEIGHT_RIGHT,
        NO_SCALE,
        SCALE_OF_0,
        UNDIVIDED,
        MAX_FROM_ZERO,
        MAX_OF_WARP,
        SUM_OF_WARP,
        HALF_OF_QUERY,
        PAIRS_AS_FLOATS,
        FIRST_OF_LOAD,
        WHOLE_STEPS,
        TILES_KEEP_L,
        TILES_KEEP_O,
        TILES_KEEP_BOTH,
        TILES_VALUES,
        TILES_KEYS
    } weight;
    int number; /* keys of a tile, threads of a block, elements of a step */
};

static const struct mistake MISTAKES[] = {
    {"the maximum (or the sum of a pass) reached one warp only: __shfl_sync does not leave its warp; through "
     "shared "
     "memory every warp of the block gets the same maximum",
     0, 0, MAX_OF_WARP, 256},
    {"every warp took the maximum of its own keys: __shfl_sync does not leave its warp; through shared "
     "memory every "
     "warp of the block gets the same maximum",
     0, 0, MAX_OF_WARP, 128},
    {"divided by the sum of one warp's weights: a shuffle does not leave its warp, the sum of the block goes "
     "through "
     "shared memory",
     0, 0, SUM_OF_WARP, 256},
    {"divided by the sum of one warp's weights: a shuffle does not leave its warp, the sum of the block goes "
     "through "
     "shared memory",
     0, 0, SUM_OF_WARP, 128},
    {"as if the last key were not seen: query i sees position + i + 1 keys, its own token included",
     LAST_UNSEEN, 0, 0, 0},
    {"as if one key more were seen: query i sees position + i + 1 keys", ONE_TOO_MANY, 0, 0, 0},
    {"as if every query saw all tokens: query i sees the keys up to its own token (causal)", NOT_CAUSAL, 0, 0,
     0},
    {"as if every query saw the keys of the first: query i sees position + i + 1 keys", QUERY_UNCOUNTED, 0, 0,
     0},
    {"as if all sequences stood at the position of the first: device_positions[b]", OF_FIRST, 0, 0, 0},
    {"as if args->position counted: where device_positions is given, the position on the device does, read "
     "when the "
     "kernel runs and not when it was launched or captured",
     OF_HOST, 0, 0, 0},
    {"only the first tile of keys was seen", ONE_TILE, 0, 0, 256},
    {"only the first tile of keys was seen", ONE_TILE, 0, 0, 1024},
    {"only the keys that one step of the threads takes were seen: a thread goes on to the next key", ONE_TILE,
     0, 0, 128},
    {"wrong K/V head: h % kv_heads in place of h / (heads / kv_heads)", 0, HEAD_MODULO, 0, 0},
    {"as if rows of the cache were kv_heads * head_dim apart: they lie kv_stride apart", 0, ROW_TIGHT, 0, 0},
    {"as if rows of the cache were head_dim apart: a token has kv_heads of them, and rows lie kv_stride "
     "apart",
     0, ROW_OF_ONE_HEAD, 0, 0},
    {"the keys and values of the first sequence: sequences lie max_len * kv_stride apart", 0, FIRST_SEQUENCE,
     0, 0},
    {"the first query in place of this one: q is [batch, q_len, heads, head_dim]", 0, FIRST_QUERY, 0, 0},
    {"as without the scale: is every score multiplied by it, and by 1/sqrt(head_dim) where it is 0? scale 0 "
     "stands for "
     "that",
     0, 0, NO_SCALE, 0},
    {"as if every score were 0: does dot() return the sum, and does scale 0 stand for 1/sqrt(head_dim)?", 0,
     0, SCALE_OF_0, 0},
    {"never divided by the sum of the exponentials", 0, 0, UNDIVIDED, 0},
    {"the maximum begins at 0, not at -infinity: all scores are far below 0, and every exp(score - 0) is 0",
     0, 0, MAX_FROM_ZERO, 0},
    {"only the first half of the query and key was multiplied: how many elements do loads bytes hold?", 0, 0,
     HALF_OF_QUERY, 0},
    {"as if two halves were read as one float: 4 bytes of f16 are a half2, and its two halves are multiplied "
     "one by "
     "one",
     0, 0, PAIRS_AS_FLOATS, 0},
    {"only the first element of every load was multiplied: in f16 4 bytes hold two and 16 bytes eight", 0, 0,
     FIRST_OF_LOAD, 0},
    {"only whole steps of 16 elements of the query and key were multiplied: head_dim is any multiple of 8", 0,
     0, WHOLE_STEPS, 16},
    {"only whole steps of 32 elements of the query and key were multiplied: head_dim is any multiple of 8", 0,
     0, WHOLE_STEPS, 32},
    {"only whole steps of 64 elements of the query and key were multiplied: head_dim is any multiple of 8", 0,
     0, WHOLE_STEPS, 64},
    {"as if blockIdx.y counted the sequences and blockIdx.z the queries: the grid is (heads, q_len, batch)",
     0, GRID_SWAPPED, 0, 0},
    {"l is not rescaled where a later tile brings a new maximum", 0, 0, TILES_KEEP_L, 256},
    {"l is not rescaled where a later tile brings a new maximum", 0, 0, TILES_KEEP_L, 1024},
    {"O is not rescaled where a later tile brings a new maximum", 0, 0, TILES_KEEP_O, 256},
    {"O is not rescaled where a later tile brings a new maximum", 0, 0, TILES_KEEP_O, 1024},
    {"neither O nor l is rescaled where a later tile brings a new maximum", 0, 0, TILES_KEEP_BOTH, 256},
    {"neither O nor l is rescaled where a later tile brings a new maximum", 0, 0, TILES_KEEP_BOTH, 1024},
    {"every tile takes the values of the first: key number key of a tile is row first + key of the cache", 0,
     0, TILES_VALUES, 256},
    {"every tile takes the values of the first: key number key of a tile is row first + key of the cache", 0,
     0, TILES_VALUES, 1024},
    {"every tile takes the keys of the first: key number key of a tile is row first + key of the cache", 0, 0,
     TILES_KEYS, 256},
    {"every tile takes the keys of the first: key number key of a tile is row first + key of the cache", 0, 0,
     TILES_KEYS, 1024},
    {"zeros were written for a sequence whose position is not valid: its part of the output is to stay as it "
     "was",
     0, FAULTY_ZEROED, 0, 0},
};

/** One element of the output, and what the mistake finds its keys by. */
struct element {
    const struct lesson_case *item;
    const float *const *data;
    const struct mistake *mistake;
    size_t b, query, h, column;
    int keys; /* that are seen */
};

static int keys_of(const struct element *e)
{
    int query = (int)e->query, right = decode_position(e->item, (int)e->b) + query + 1;
    if (e->mistake->row == GRID_SWAPPED) return decode_position(e->item, 0) + (int)e->b + 1;
    switch (e->mistake->keys) {
    case LAST_UNSEEN:
        return right - 1;
    case ONE_TOO_MANY:
        return right + 1;
    case NOT_CAUSAL:
        return right - query + e->item->extent[DC_Q_LEN] - 1;
    case QUERY_UNCOUNTED:
        return right - query;
    case OF_FIRST:
        return decode_position(e->item, 0) + query + 1;
    case OF_HOST:
        return (int)e->item->value[DC_POSITION] + query + 1;
    case ONE_TILE:
        return right > e->mistake->number ? e->mistake->number : 0;
    default:
        return right;
    }
}

/* Where the row of token t begins in either cache. */
static size_t row_of(const struct element *e, int t)
{
    const int *extent = e->item->extent;
    size_t heads = (size_t)extent[DC_HEADS], kv_heads = (size_t)extent[DC_KV_HEADS], b = e->b;
    size_t head_dim = (size_t)extent[DC_HEAD_DIM], stride = (size_t)extent[DC_KV_STRIDE], apart = stride;
    size_t kv_head = e->mistake->row == HEAD_MODULO ? e->h % kv_heads : e->h / (heads / kv_heads);
    if (e->mistake->row == ROW_TIGHT) apart = kv_heads * head_dim;
    if (e->mistake->row == ROW_OF_ONE_HEAD) apart = head_dim;
    if (e->mistake->row == FIRST_SEQUENCE || e->mistake->row == GRID_SWAPPED) b = 0;
    return b * (size_t)extent[DC_MAX_LEN] * stride + (size_t)t * apart + kv_head * head_dim;
}

static int keeps(const struct mistake *mistake)
{
    return mistake->weight == TILES_KEEP_L || mistake->weight == TILES_KEEP_O ||
           mistake->weight == TILES_KEEP_BOTH;
}

static int applies(const struct element *e)
{
    const int *extent = e->item->extent;
    size_t width = (size_t)extent[DC_KV_HEADS] * (size_t)extent[DC_HEAD_DIM];
    int threads = e->mistake->weight == MAX_OF_WARP || e->mistake->weight == SUM_OF_WARP ? 32 : 0;
    if (e->item->distribution == BELOW && e->mistake->weight != MAX_FROM_ZERO)
        return 0; /* wide bounds: all fit */
    if (e->keys < 1 || e->keys > extent[DC_MAX_LEN] || e->keys <= threads) return 0;
    if (e->mistake->row == HEAD_MODULO && extent[DC_HEADS] == extent[DC_KV_HEADS]) return 0;
    if (e->mistake->row == ROW_TIGHT && (size_t)extent[DC_KV_STRIDE] == width) return 0;
    if (e->mistake->row == FIRST_SEQUENCE && e->b == 0) return 0;
    if (e->mistake->row == GRID_SWAPPED && (e->b == 0 || extent[DC_Q_LEN] > 1)) return 0;
    int in_tiles =
        keeps(e->mistake) || e->mistake->weight == TILES_VALUES || e->mistake->weight == TILES_KEYS;
    if (in_tiles && e->keys <= e->mistake->number) return 0;
    if (e->mistake->weight == PAIRS_AS_FLOATS && extent[EX_STORED_AS] != DTYPE_F16) return 0;
    if (e->mistake->weight == WHOLE_STEPS && extent[DC_HEAD_DIM] % e->mistake->number == 0) return 0;
    if (e->mistake->row == FIRST_QUERY && e->query == 0) return 0;
    if (e->mistake->keys == OF_HOST && extent[EX_GIVEN] == 0) return 0;
    return e->mistake->weight != SCALE_OF_0 || e->item->real[0] == 0.0;
}

/* Elements d and d + 1, which lie beside each other as halves, taken for one float. */
static double pair_as_float(const float *x, size_t d)
{
    uint32_t bits = (uint32_t)storage_half_of(x[d]) | (uint32_t)storage_half_of(x[d + 1]) << 16;
    float both;
    memcpy(&both, &bits, sizeof both);
    return (double)both;
}

/* The sum over the elements of query and key, as far as the mistake takes them. */
static double dot_of(const struct element *e, const float *q, const float *k)
{
    size_t head_dim = (size_t)e->item->extent[DC_HEAD_DIM], step = 1;
    double dot = 0.0;
    if (e->mistake->weight == HALF_OF_QUERY) head_dim /= 2;
    if (e->mistake->weight == WHOLE_STEPS) head_dim -= head_dim % (size_t)e->mistake->number;
    if (e->mistake->weight == PAIRS_AS_FLOATS) step = 2;
    if (e->mistake->weight == FIRST_OF_LOAD)
        step = (size_t)e->item->value[DC_LOADS] / (e->item->extent[EX_STORED_AS] == DTYPE_F32 ? 4 : 2);
    for (size_t d = 0; d < head_dim && step > 0; d += step)
        dot += e->mistake->weight == PAIRS_AS_FLOATS ? pair_as_float(q, d) * pair_as_float(k, d)
                                                     : (double)q[d] * (double)k[d];
    return dot;
}

static double score_of(const struct element *e, int t)
{
    if (e->mistake->weight == TILES_KEYS) t %= e->mistake->number;
    size_t head_dim = (size_t)e->item->extent[DC_HEAD_DIM], heads = (size_t)e->item->extent[DC_HEADS];
    size_t query = e->mistake->row == FIRST_QUERY ? 0 : e->query;
    size_t row = (e->b * (size_t)e->item->extent[DC_Q_LEN] + query) * heads + e->h;
    const float *q = e->data[DC_Q] + row * head_dim, *k = e->data[DC_K] + row_of(e, t);
    double scale = e->item->real[0] != 0.0 ? e->item->real[0] : 1.0 / sqrt((double)head_dim);
    if (e->mistake->weight == NO_SCALE) scale = 1.0;
    if (e->mistake->weight == SCALE_OF_0) scale = 0.0;
    return scale * dot_of(e, q, k);
}

/* The warp of a block of so many threads that has key t. */
static int warp_of(const struct element *e, int t)
{
    return t % e->mistake->number / 32;
}

static double max_of(const struct element *e, int warp)
{
    double max = e->mistake->weight == MAX_FROM_ZERO ? 0.0 : (double)-INFINITY;
    for (int t = 0; t < e->keys; t++)
        if (warp < 0 || warp_of(e, t) == warp) max = fmax(max, score_of(e, t));
    return max;
}

/* Tile by tile, by online softmax; what the mistake forgets to rescale keeps its old size. */
static double value_in_tiles(const struct element *e)
{
    double m = (double)-INFINITY, l = 0.0, o = 0.0;
    for (int first = 0; first < e->keys; first += e->mistake->number) {
        int last = first + e->mistake->number < e->keys ? first + e->mistake->number : e->keys;
        double old = m;
        for (int t = first; t < last; t++) m = fmax(m, score_of(e, t));
        double correction = first > 0 ? exp(old - m) : 0.0;
        if (e->mistake->weight == TILES_KEEP_O) l *= correction;
        if (e->mistake->weight == TILES_KEEP_L) o *= correction;
        for (int t = first; t < last; t++) {
            double weight = exp(score_of(e, t) - m);
            l += weight;
            o += weight * (double)e->data[DC_V][row_of(e, t) + e->column];
        }
    }
    return l == 0.0 ? o : o / l;
}

static double value_of(const struct element *e)
{
    if (keeps(e->mistake)) return value_in_tiles(e);
    enum { MOST_WARPS = 8 };
    double max[MOST_WARPS], weights = 0.0, sum = 0.0;
    int of_warp = e->mistake->weight == MAX_OF_WARP, own = (int)e->column % e->item->extent[DC_HEAD_DIM] / 32;
    for (int w = 0; w < MOST_WARPS && of_warp; w++) max[w] = max_of(e, w);
    double whole = of_warp ? 0.0 : max_of(e, -1);
    for (int t = 0; t < e->keys; t++) {
        double weight = exp(score_of(e, t) - (of_warp ? max[warp_of(e, t)] : whole));
        if (e->mistake->weight == MAX_FROM_ZERO) weight = (double)(float)weight; /* far below 0 it is 0 */
        if (e->mistake->weight != SUM_OF_WARP || warp_of(e, t) == own) weights += weight;
        int taken = e->mistake->weight == TILES_VALUES ? t % e->mistake->number : t;
        sum += weight * (double)e->data[DC_V][row_of(e, taken) + e->column];
    }
    return e->mistake->weight == UNDIVIDED || weights == 0.0 ? sum : sum / weights;
}

static int pieces_guess(struct element *e, int index, double *value, char *message, size_t size)
{
    static const struct mistake none = {0};
    double score[GUESS_KEYS], of_key[GUESS_KEYS];
    e->mistake = &none;
    e->keys = keys_of(e);
    if (e->keys > GUESS_KEYS) return -1; /* a shorter case shows it sooner */
    for (int t = 0; t < e->keys; t++) {
        score[t] = score_of(e, t);
        of_key[t] = (double)e->data[DC_V][row_of(e, t) + e->column];
    }
    return guess_in_pieces(index, score, of_key, e->keys, value, message, size);
}

/* What one number holds that a kernel or the choice leaves, by its name: the report shows numbers. The text depends on the
 * case, so these guesses come after those on which the cases of a part vote. */
static int number_guess(const struct lesson_case *item, int index, int buffer, double *value, char *message,
                        size_t size)
{
    enum { VOTED_ON = 64 }; /* CHECK_GUESSES */
    static const char *const variant[] = {"DECODE_AUTO", "DECODE_MHA", "DECODE_FLASH_1", "DECODE_FLASH_2"};
    const int invalid = item->extent[EX_FAULT] != POSITIONS_SOUND;
    if (index < VOTED_ON) return 0;
    index -= VOTED_ON;
    if (buffer == DC_CHOSEN && index <= DECODE_FLASH_2) {
        *value = index;
        snprintf(message, size, "decode_choose_variant() says %s, the contract %s", variant[index],
                 variant[decode_expected_choice(item)]);
        return 1;
    }
    if (buffer != DC_STATUS || index > 1) return -1;
    const int kept = invalid ? item->extent[EX_STATUS] : KERNEL_INVALID_DIMENSION;
    *value = index == 0 ? kept : KERNEL_OK;
    snprintf(message, size,
             index == 1 ? "KERNEL_OK: a valid position leaves *device_status as it is"
             : invalid  ? "*device_status is as it was: where a position is not valid, one thread sets it to "
                          "KERNEL_INVALID_DIMENSION"
                        : "KERNEL_INVALID_DIMENSION, though all positions are valid: 0 to max_len - q_len");
    return 1;
}

int decode_guess(const struct lesson_case *item, const float *const *data, int index, int buffer, size_t at,
                 double *value, char *message, size_t size)
{
    const int known = sizeof MISTAKES / sizeof MISTAKES[0];
    const int *extent = item->extent;
    if (buffer != DC_OUT) return number_guess(item, index, buffer, value, message, size);
    size_t head_dim = (size_t)extent[DC_HEAD_DIM], heads = (size_t)extent[DC_HEADS], row = at / head_dim;
    size_t q_len = (size_t)extent[DC_Q_LEN];
    struct element e = {.item = item, .data = data, .column = at % head_dim};
    e.h = row % heads;
    e.query = row / heads % q_len;
    e.b = row / heads / q_len;
    int faulty = decode_is_faulty(item, (int)e.b);
    if (index >= known)
        return faulty || item->distribution == BELOW ? -1
                                                     : pieces_guess(&e, index - known, value, message, size);
    e.mistake = &MISTAKES[index];
    if (faulty != (e.mistake->row == FAULTY_ZEROED)) return 0;
    if (faulty) {
        snprintf(message, size, "%s", e.mistake->message);
        *value = 0.0;
        return 1;
    }
    e.keys = keys_of(&e);
    if (!applies(&e)) return 0;
    snprintf(message, size, "%s", e.mistake->message);
    *value = value_of(&e);
    return 1;
}
