/**
 * @file attention_guess.c
 * @brief What would come out if a well-known mistake had been made: the diagnosis tries them in this order.
 */
#include <math.h>
#include <stdio.h>

#include "attention_cases.h"
#include "attention_inputs.h"

#define LN_2 0.69314718055994531

/** A mistake, as a change to the definition. */
struct mistake {
    const char *message;
    unsigned kinds; /* set of 1 << enum attention_kind that can have it */
    int only_causal, only_gqa;
    double scale_power; /* the scale, below 1, is applied this many times; 1 is right, infinity gives 0 */
    int mask_shift;     /* the row sees this many keys more */
    enum { MASK_RIGHT, MASK_NONE, MASK_TOP_LEFT } mask;
    enum { HEAD_RIGHT, HEAD_MODULO, HEAD_SAME } head;
    int tile; /* keys of a last, incomplete tile of this size are missing; below 0, zeros that fill it count; 0: none */
    enum { DIVIDE, DO_NOT_DIVIDE, KEEP_SCORES, POWERS_OF_2, POWERS_OF_E } normalise;
};

enum { S = 1 << ATTENTION_SCORES, O = 1 << ATTENTION_OUTPUT, W = 1 << ATTENTION_WHOLE };

static const struct mistake MISTAKES[] = {
    {"as without the scale: is every score multiplied by it?", S | W, 0, 0, 0.0, 0, 0, 0, 0, 0},
    {"as if the scale were 0: scale 0 stands for 1/sqrt(head_dim)", S | W, 0, 0, (double)INFINITY, 0, 0, 0, 0,
     0},
    {"as if the scale were applied twice", S | W, 0, 0, 2.0, 0, 0, 0, 0, 0},
    {"mask off by one: a query does not see the last key it should", S | O | W, 1, 0, 1.0, -1, 0, 0, 0, 0},
    {"mask off by one: a query sees one key too many", S | O | W, 1, 0, 1.0, 1, 0, 0, 0, 0},
    {"as without the causal mask", S | O | W, 1, 0, 1.0, 0, MASK_NONE, 0, 0, 0},
    {"as if the causal mask began at the top left: query i sees keys up to i + kv_len - q_len", S | O | W, 1,
     0, 1.0, 0, MASK_TOP_LEFT, 0, 0, 0},
    {"wrong K/V head: h % kv_heads in place of h / (heads / kv_heads)", S | O | W, 0, 1, 1.0, 0, 0,
     HEAD_MODULO, 0, 0},
    {"wrong K/V head: the query head's own number is used", S | O | W, 0, 1, 1.0, 0, 0, HEAD_SAME, 0, 0},
    {"never divided by the sum of the exponentials", W, 0, 0, 1.0, 0, 0, 0, 0, DO_NOT_DIVIDE},
    {"as if scores, not probabilities, were multiplied with V", W, 0, 0, 1.0, 0, 0, 0, 0, KEEP_SCORES},
    {"the keys of the last, incomplete K/V tile are missing (tile of 8)", O | W, 0, 0, 1.0, 0, 0, 0, 8, 0},
    {"the keys of the last, incomplete K/V tile are missing (tile of 16)", O | W, 0, 0, 1.0, 0, 0, 0, 16, 0},
    {"the keys of the last, incomplete K/V tile are missing (tile of 32)", O | W, 0, 0, 1.0, 0, 0, 0, 32, 0},
    {"the keys of the last, incomplete K/V tile are missing (tile of 64)", O | W, 0, 0, 1.0, 0, 0, 0, 64, 0},
    {"the keys of the last, incomplete K/V tile are missing (tile of 128)", O | W, 0, 0, 1.0, 0, 0, 0, 128,
     0},
    {"zeros that fill the last K/V tile count as keys of score 0 (tile of 32)", W, 0, 0, 1.0, 0, 0, 0, -32,
     0},
    {"zeros that fill the last K/V tile count as keys of score 0 (tile of 64)", W, 0, 0, 1.0, 0, 0, 0, -64,
     0},
    {"zeros that fill the last K/V tile count as keys of score 0 (tile of 128)", W, 0, 0, 1.0, 0, 0, 0, -128,
     0},
    {"as if exp2 were taken where exp is meant: is the score multiplied by log2(e)?", W, 0, 0, 1.0, 0, 0, 0,
     0, POWERS_OF_2},
    {"as if exp were taken of scores that are multiplied by log2(e) already", W, 0, 0, 1.0, 0, 0, 0, 0,
     POWERS_OF_E},
};

/** What may be forgotten from one tile of keys to the next: each is tried with tiles of several sizes. */
static const struct forgotten {
    const char *message;
    int o, l,
        divided; /* corrected to the new maximum: O, l; O was divided by l in between, and is taken for a sum */
} FORGOTTEN[] = {
    {"O is not corrected where a later K/V tile brings a new maximum (tile of %d)", 0, 1, 0},
    {"l is not corrected where a later K/V tile brings a new maximum (tile of %d)", 1, 0, 0},
    {"neither O nor l is corrected where a later K/V tile brings a new maximum (tile of %d)", 0, 0, 0},
    {"O, divided by l at every K/V tile, is corrected as if it were still the sum (tile of %d)", 1, 1, 1},
};
static const int FORGOTTEN_TILES[] = {32, 64, 128};

/** The element that is looked at. */
struct place {
    size_t b, h, i, column;
};

static struct place place_of(const struct lesson_case *item, size_t at, size_t columns)
{
    size_t unit = at / columns, q_len = (size_t)item->extent[AT_Q_LEN],
           heads = (size_t)item->extent[AT_HEADS];
    return (struct place){unit / q_len / heads, unit / q_len % heads, unit % q_len, at % columns};
}

static int keys_seen(const struct lesson_case *item, const struct mistake *mistake, size_t i)
{
    int kv_len = item->extent[AT_KV_LEN], seen = kv_len;
    if (item->value[AT_CAUSAL] == 1 && mistake->mask != MASK_NONE) {
        seen = (int)i + 1 + mistake->mask_shift;
        if (mistake->mask == MASK_RIGHT) seen += kv_len - item->extent[AT_Q_LEN];
    }
    if (mistake->tile > 0) {
        int whole = kv_len / mistake->tile * mistake->tile;
        seen = seen < whole ? seen : whole;
    }
    return seen < 0 ? 0 : seen > kv_len ? kv_len : seen;
}

/* How many keys of score 0 stand behind the last one, by this mistake. */
static int filled_keys(const struct lesson_case *item, const struct mistake *mistake)
{
    int over = mistake->tile < 0 ? item->extent[AT_KV_LEN] % -mistake->tile : 0;
    return over > 0 ? -mistake->tile - over : 0;
}

static size_t first_kv_row(const struct lesson_case *item, const struct mistake *mistake,
                           const struct place *place)
{
    size_t kv_heads = (size_t)item->extent[AT_KV_HEADS], group = (size_t)item->extent[AT_HEADS] / kv_heads;
    size_t head = mistake->head == HEAD_MODULO ? place->h % kv_heads
                  : mistake->head == HEAD_SAME ? place->h
                                               : place->h / group;
    size_t flat = (place->b * kv_heads + head) % ((size_t)item->extent[AT_BATCH] * kv_heads);
    return flat * (size_t)item->extent[AT_KV_LEN];
}

static double score_of(const struct lesson_case *item, const float *const *data,
                       const struct mistake *mistake, const struct place *place, size_t kv_row)
{
    size_t head_dim = (size_t)item->extent[AT_HEAD_DIM];
    size_t q_row =
        (place->b * (size_t)item->extent[AT_HEADS] + place->h) * (size_t)item->extent[AT_Q_LEN] + place->i;
    double scale = item->real[AT_SCALE] != 0.0 ? item->real[AT_SCALE] : 1.0 / sqrt((double)head_dim);
    double sum = 0.0;
    for (size_t d = 0; d < head_dim; d++)
        sum += (double)data[ATTENTION_Q][q_row * head_dim + d] *
               (double)data[ATTENTION_K][kv_row * head_dim + d];
    return sum * pow(fabs(scale), mistake->scale_power) *
           (scale < 0.0 && mistake->scale_power == 1.0 ? -1.0 : 1.0);
}

static double whole_of(const struct lesson_case *item, const float *const *data,
                       const struct mistake *mistake, const struct place *place)
{
    size_t first = first_kv_row(item, mistake, place), head_dim = (size_t)item->extent[AT_HEAD_DIM];
    int seen = keys_seen(item, mistake, place->i), filled = filled_keys(item, mistake);
    double max = filled > 0 ? 0.0 : (double)-INFINITY, sum = 0.0, weights = 0.0;
    double exponent = mistake->normalise == POWERS_OF_2   ? LN_2
                      : mistake->normalise == POWERS_OF_E ? 1.0 / LN_2
                                                          : 1.0;
    for (int j = 0; j < seen; j++) max = fmax(max, score_of(item, data, mistake, place, first + (size_t)j));
    for (int j = 0; j < seen; j++) {
        double score = score_of(item, data, mistake, place, first + (size_t)j);
        double weight = mistake->normalise == KEEP_SCORES ? score : exp(exponent * (score - max));
        weights += weight;
        sum += weight * (double)data[ATTENTION_V][(first + (size_t)j) * head_dim + place->column];
    }
    weights += filled * exp(-max);
    int divided = mistake->normalise != DO_NOT_DIVIDE && mistake->normalise != KEEP_SCORES;
    return divided && weights > 0.0 ? sum / weights : sum;
}

/* Tile by tile, with something forgotten. */
static double forgetful_of(const struct lesson_case *item, const float *const *data,
                           const struct forgotten *forgotten, int tile, const struct place *place)
{
    static const struct mistake none = {.scale_power = 1.0};
    size_t first = first_kv_row(item, &none, place), head_dim = (size_t)item->extent[AT_HEAD_DIM];
    int seen = keys_seen(item, &none, place->i);
    double m = (double)-INFINITY, l = 0.0, o = 0.0;
    for (int begin = 0; begin < seen; begin += tile) {
        int end = begin + tile < seen ? begin + tile : seen;
        double max = m, weights = 0.0, sum = 0.0;
        for (int j = begin; j < end; j++)
            max = fmax(max, score_of(item, data, &none, place, first + (size_t)j));
        for (int j = begin; j < end; j++) {
            double weight = exp(score_of(item, data, &none, place, first + (size_t)j) - max);
            weights += weight;
            sum += weight * (double)data[ATTENTION_V][(first + (size_t)j) * head_dim + place->column];
        }
        double correction = begin > 0 ? exp(m - max) : 1.0;
        l = l * (forgotten->l ? correction : 1.0) + weights;
        o = o * (forgotten->o ? correction : 1.0) + sum;
        if (forgotten->divided) o /= l;
        m = max;
    }
    return forgotten->divided || l == 0.0 ? o : o / l;
}

static int forgotten_guess(const struct lesson_case *item, const float *const *data, int index, int buffer,
                           size_t at, double *value, char *message, size_t size)
{
    enum { TILES = sizeof FORGOTTEN_TILES / sizeof FORGOTTEN_TILES[0] };
    if (index >= TILES * (int)(sizeof FORGOTTEN / sizeof FORGOTTEN[0])) return -1;
    const struct forgotten *forgotten = &FORGOTTEN[index / TILES];
    int tile = FORGOTTEN_TILES[index % TILES];
    if (item->extent[EX_KIND] != ATTENTION_WHOLE || buffer != ATTENTION_OUT) return 0;
    if (item->extent[AT_KV_LEN] <= tile) return 0;
    struct place place = place_of(item, at, (size_t)item->extent[AT_HEAD_DIM]);
    snprintf(message, size, forgotten->message, tile);
    *value = forgetful_of(item, data, forgotten, tile, &place);
    return 1;
}

static double output_of(const struct lesson_case *item, const float *const *data,
                        const struct mistake *mistake, const struct place *place)
{
    size_t first = first_kv_row(item, mistake, place), head_dim = (size_t)item->extent[AT_HEAD_DIM];
    size_t q_row =
        (place->b * (size_t)item->extent[AT_HEADS] + place->h) * (size_t)item->extent[AT_Q_LEN] + place->i;
    const float *probs = data[ATTENTION_MATRIX] + q_row * (size_t)item->extent[AT_KV_LEN];
    int seen = keys_seen(item, mistake, place->i);
    double sum = 0.0;
    for (int j = 0; j < seen; j++)
        sum += (double)probs[j] * (double)data[ATTENTION_V][(first + (size_t)j) * head_dim + place->column];
    return sum;
}

static int applies(const struct lesson_case *item, const struct mistake *mistake, int buffer)
{
    int kind = item->extent[EX_KIND];
    if (!(mistake->kinds >> kind & 1)) return 0;
    if (buffer != (kind == ATTENTION_SCORES ? ATTENTION_MATRIX : ATTENTION_OUT)) return 0;
    if (mistake->only_causal && item->value[AT_CAUSAL] != 1) return 0;
    if (mistake->only_gqa && item->extent[AT_HEADS] == item->extent[AT_KV_HEADS]) return 0;
    int kv_len = item->extent[AT_KV_LEN];
    if (mistake->tile < 0) return filled_keys(item, mistake) > 0 && item->value[AT_CAUSAL] != 1;
    return mistake->tile == 0 || (kv_len > mistake->tile && kv_len % mistake->tile != 0);
}

int attention_guess(const struct lesson_case *item, const float *const *data, int index, int buffer,
                    size_t at, double *value, char *message, size_t size)
{
    int known = (int)(sizeof MISTAKES / sizeof MISTAKES[0]);
    if (index >= known) return forgotten_guess(item, data, index - known, buffer, at, value, message, size);
    const struct mistake *mistake = &MISTAKES[index];
    if (!applies(item, mistake, buffer)) return 0;
    snprintf(message, size, "%s", mistake->message);
    int kind = item->extent[EX_KIND];
    size_t columns = (size_t)item->extent[kind == ATTENTION_SCORES ? AT_KV_LEN : AT_HEAD_DIM];
    struct place place = place_of(item, at, columns);
    if (kind == ATTENTION_WHOLE) {
        *value = whole_of(item, data, mistake, &place);
    } else if (kind == ATTENTION_OUTPUT) {
        *value = output_of(item, data, mistake, &place);
    } else {
        size_t row = first_kv_row(item, mistake, &place) + place.column;
        *value = (int)place.column < keys_seen(item, mistake, place.i)
                     ? score_of(item, data, mistake, &place, row)
                     : (double)-INFINITY;
    }
    return 1;
}

int attention_trait(const struct lesson_case *item, int index, const char **message)
{
    static const char *const messages[] = {
        "only causal cases fail",
        "only cases with grouped-query attention (heads > kv_heads) fail: which K/V head does a query head "
        "read?",
        "only cases with a batch above 1 fail",
        "only cases with more than 16 keys fail: what happens from one K/V tile to the next?",
        "only cases with more than 32 keys fail: what happens from one K/V tile to the next? (rescaling, "
        "barriers)",
        "only cases with more than 64 keys fail: what happens from one K/V tile to the next? (rescaling, "
        "barriers)",
        "only cases with more than 128 keys fail: what happens from one K/V tile to the next? (rescaling, "
        "barriers)",
        "only cases whose kv_len is no multiple of 32 fail: is the last K/V tile's tail handled?",
        "only cases whose q_len is no multiple of 16 fail: is the last Q tile's tail handled?",
        "only cases whose head_dim is no multiple of 32 fail",
        "only cases with an explicit scale fail",
        "only cases with a NaN in the input fail",
    };
    const int *extent = item->extent;
    if (index >= (int)(sizeof messages / sizeof messages[0])) return -1;
    *message = messages[index];
    switch (index) {
    case 0:
        return item->value[AT_CAUSAL] == 1;
    case 1:
        return extent[AT_HEADS] > extent[AT_KV_HEADS];
    case 2:
        return extent[AT_BATCH] > 1;
    case 3:
        return extent[AT_KV_LEN] > 16;
    case 4:
        return extent[AT_KV_LEN] > 32;
    case 5:
        return extent[AT_KV_LEN] > 64;
    case 6:
        return extent[AT_KV_LEN] > 128;
    case 7:
        return extent[AT_KV_LEN] % 32 != 0;
    case 8:
        return extent[AT_Q_LEN] % 16 != 0;
    case 9:
        return extent[AT_HEAD_DIM] % 32 != 0;
    case 10:
        return item->real[AT_SCALE] != 0.0;
    default:
        return item->distribution >= DIST_NAN_Q && item->distribution <= DIST_NAN_WEIGHTLESS;
    }
}

const char *attention_purpose(const struct lesson_case *item)
{
    switch (item->distribution) {
    case DIST_LARGE:
        return "scores of magnitude 1e4: exp overflows unless the row's maximum is subtracted first";
    case DIST_LOW:
        return "all scores are far below zero: does the maximum begin at -infinity?";
    case DIST_DOMINANT:
        return "one key, late in the row, takes nearly all the weight";
    case DIST_EQUAL:
        return "all scores of the long row are equal";
    case DIST_RISING:
        return "scores rise along the row, so that every tile brings a new maximum: is all that was summed "
               "rescaled?";
    case DIST_FALLING:
        return "the first key has the largest score";
    case DIST_NAN_HIDDEN:
        return "keys and values behind the mask are NaN: they must never be read";
    case DIST_NAN_Q:
    case DIST_NAN_K:
    case DIST_NAN_V:
        return "an input holds a NaN: it must come out where it belongs and nowhere else";
    case DIST_NAN_WEIGHTLESS:
        return "a value is NaN whose weight is 0: 0 times NaN is NaN, and no visible key may be left out";
    case DIST_INFINITE:
        return "some inputs are infinite: the scores, weights and sums are what arithmetic makes of them";
    case DIST_EXTREME:
        return "all scores of a row are 1e37 or -1e37: does the maximum begin at -infinity?";
    case DIST_FAINT:
        return "the key with nearly all the weight has values of 0: what is left comes from weights of 1e-10 "
               "and below, "
               "which are small and not 0";
    case DIST_LARGE_VALUES:
        return "values near the largest half: a sum that is not divided yet overflows if it is kept as half";
    case DIST_SMALL_VALUES:
        return "values among the subnormals of half: they are not zero";
    default:
        return NULL;
    }
}

void attention_cost(const struct lesson_case *item, struct lesson_cost *cost)
{
    const int *extent = item->extent;
    double rows = (double)extent[AT_BATCH] * extent[AT_HEADS] * extent[AT_Q_LEN];
    double kv_rows = (double)extent[AT_BATCH] * extent[AT_KV_HEADS] * extent[AT_KV_LEN];
    double head_dim = extent[AT_HEAD_DIM], pairs = 0.0;
    for (int i = 0; i < extent[AT_Q_LEN]; i++) {
        int seen =
            item->value[AT_CAUSAL] == 1 ? i + 1 + extent[AT_KV_LEN] - extent[AT_Q_LEN] : extent[AT_KV_LEN];
        pairs += seen > 0 ? seen : 0;
    }
    pairs *= (double)extent[AT_BATCH] * extent[AT_HEADS];
    double matrix = rows * extent[AT_KV_LEN];
    double lse = item->null_buffer == ATTENTION_LSE ? 0.0 : rows;
    *cost = (struct lesson_cost){.oracle_ops = pairs * head_dim * 12.0 + matrix * 20.0};
    switch (extent[EX_KIND]) {
    case ATTENTION_SCORES:
        cost->flop = 2.0 * pairs * head_dim;
        cost->min_bytes = 4.0 * (rows * head_dim + kv_rows * head_dim + matrix);
        break;
    case ATTENTION_SOFTMAX:
        cost->flop = 5.0 * pairs;
        cost->min_bytes = 4.0 * (2.0 * matrix + lse);
        break;
    case ATTENTION_OUTPUT:
        cost->flop = 2.0 * pairs * head_dim;
        cost->min_bytes = 4.0 * (matrix + kv_rows * head_dim + rows * head_dim);
        break;
    default:
        cost->flop = 4.0 * pairs * head_dim;
        cost->min_bytes =
            (double)storage_bytes(attention_storage(item)) * 2.0 * (rows + kv_rows) * head_dim + 4.0 * lse;
        cost->extra_bytes =
            4.0 * rows *
            (double)attention_workspace_row(extent[EX_WORKSPACE], extent[AT_KV_LEN], extent[AT_HEAD_DIM]);
        break;
    }
}

/* Computed from what the kernel is told, since that is what it is asked about. */
size_t attention_workspace_bytes(const struct lesson_case *item)
{
    const int64_t *value = item->value;
    if (!item->extent[EX_WORKSPACE] || item->extent[EX_KIND] != ATTENTION_WHOLE || value[AT_NULL_ARGS])
        return SIZE_MAX;
    /* Of a storage type or head_dim that is refused the contract says nothing. */
    if (item->extent[EX_TILED] &&
        (value[AT_DTYPE] != item->extent[EX_DTYPE] || !attention_tiled_head_dim(value[AT_HEAD_DIM])))
        return SIZE_MAX;
    uint64_t bytes = sizeof(float);
    const int64_t extents[] = {value[AT_BATCH], value[AT_HEADS], value[AT_Q_LEN], value[AT_KV_LEN]};
    for (int i = 0; i < 4; i++)
        if (extents[i] < 1) return 0;
    for (int i = 0; i < 3; i++)
        if (!multiply_fits(&bytes, (uint64_t)extents[i], INT64_MAX)) return SIZE_MAX;
    size_t row =
        attention_workspace_row(item->extent[EX_WORKSPACE], (int)value[AT_KV_LEN], (int)value[AT_HEAD_DIM]);
    return multiply_fits(&bytes, row, INT64_MAX) ? (size_t)bytes : SIZE_MAX;
}
