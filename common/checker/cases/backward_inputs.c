/**
 * @file backward_inputs.c
 * @brief Buffers of attention's backward pass, and what is in them.
 */
#include <math.h>
#include <stdlib.h>

#include "backward_cases.h"
#include "base/parallel.h"
#include "contracts/attention_backward_args.h"

#define E(item, name) ((size_t)(item)->extent[name])

enum storage backward_storage(const struct lesson_case *item)
{
    switch (item->extent[EX_STORED_AS]) {
    case DTYPE_F16:
        return STORAGE_F16;
    case DTYPE_BF16:
        return STORAGE_BF16;
    default:
        return STORAGE_F32;
    }
}

static int period_of(const struct lesson_case *item)
{
    int kv_len = item->extent[BW_KV_LEN], period = item->extent[EX_PERIOD];
    return period > 0 && period < kv_len ? period : kv_len;
}

struct ref_attention_shape backward_shape(const struct lesson_case *item)
{
    const int *extent = item->extent;
    return (struct ref_attention_shape){
        extent[BW_BATCH], extent[BW_HEADS],    extent[BW_KV_HEADS],          extent[BW_Q_LEN],
        period_of(item),  extent[BW_HEAD_DIM], (double)(float)item->real[0], item->value[BW_CAUSAL] == 1};
}

int backward_copies(const struct lesson_case *item, int i, double *copies)
{
    int kv_len = item->extent[BW_KV_LEN], period = period_of(item), visible = kv_len;
    if (item->value[BW_CAUSAL] == 1) visible = i + 1 + kv_len - item->extent[BW_Q_LEN];
    if (visible < 0) visible = 0;
    for (int r = 0; r < period; r++) copies[r] = visible / period + (r < visible % period);
    return visible;
}

size_t backward_contract_workspace(const struct lesson_case *item)
{
    size_t tiles = (E(item, BW_Q_LEN) + BACKWARD_ROW_TILE - 1) / BACKWARD_ROW_TILE;
    size_t rows = E(item, BW_BATCH) * E(item, BW_HEADS) * tiles * BACKWARD_ROW_TILE;
    size_t slices = (E(item, BW_KV_LEN) + BACKWARD_ROW_TILE - 1) / BACKWARD_ROW_TILE;
    if (slices > BACKWARD_MOST_SLICES) slices = BACKWARD_MOST_SLICES;
    if (item->value[BW_IS_DETERMINISTIC] != 1) slices = 1;
    if (item->value[BW_OMITTED] >> BW_DQ & 1) slices = 0;
    return rows * (BACKWARD_ROW_TERMS + slices * E(item, BW_HEAD_DIM)) * sizeof(float);
}

int backward_buffers(const struct lesson_case *item, struct lesson_buffer *buffers)
{
    size_t batch = E(item, BW_BATCH), heads = E(item, BW_HEADS), kv_heads = E(item, BW_KV_HEADS);
    size_t q_len = E(item, BW_Q_LEN), kv_len = E(item, BW_KV_LEN), head_dim = E(item, BW_HEAD_DIM);
    enum storage storage = backward_storage(item);
    static const struct {
        const char *name;
        int of_keys;
        enum wire_role role;
    } tensor[] = {
        [BW_Q] = {"q", 0, WIRE_IN},     [BW_K] = {"k", 1, WIRE_IN},       [BW_V] = {"v", 1, WIRE_IN},
        [BW_OUT] = {"out", 0, WIRE_IN}, [BW_DOUT] = {"dout", 0, WIRE_IN}, [BW_DQ] = {"dq", 0, WIRE_OUT},
        [BW_DK] = {"dk", 1, WIRE_OUT},  [BW_DV] = {"dv", 1, WIRE_OUT}};
    for (int b = BW_Q; b <= BW_DV; b++) {
        if (b == BW_LSE) continue;
        buffers[b] = LESSON_BUFFER(tensor[b].name, tensor[b].role, storage, batch, heads, q_len, head_dim);
        if (tensor[b].of_keys) {
            buffers[b].extent[1] = kv_heads;
            buffers[b].extent[2] = kv_len;
        }
        buffers[b].align = 16;
    }
    buffers[BW_LSE] = LESSON_BUFFER("lse", WIRE_IN, STORAGE_F32, batch, heads, q_len);
    buffers[BW_WORKSPACE] = LESSON_BUFFER("workspace", WIRE_WORKSPACE, STORAGE_F32,
                                          backward_contract_workspace(item) / sizeof(float));
    return BW_BUFFERS;
}

/* ---- q, k, v, dout ------------------------------------------------------------------------------------------ */

double backward_share(const struct lesson_case *item, size_t row)
{
    if (item->distribution == LSE_MINUS_INFINITE && row == 3) return (double)INFINITY;
    return item->distribution == SINK ? 0.5 : item->distribution == SURPLUS ? 4.0 : 1.0;
}

/* The key that takes nearly all the weight, in distributions that have one. */
static int dominant_key(const struct lesson_case *item)
{
    return item->extent[BW_KV_LEN] - item->extent[BW_KV_LEN] / 4 - 1;
}

/* What component 0 of a query times component 0 of key j adds to the score. */
static double trend(const struct lesson_case *item, int j)
{
    switch (item->distribution) {
    case DOMINANT:
        return j == dominant_key(item) ? 40.0 : 0.0;
    case NAN_V_WEIGHTLESS:
        return j == dominant_key(item) ? 300.0 : 0.0;
    case FAINT:
        return j == dominant_key(item) ? 22.0 : 0.0;
    default:
        return -300.0; /* LOW */
    }
}

static double scale_of(const struct lesson_case *item)
{
    return 1.0 / sqrt((double)item->extent[BW_HEAD_DIM]);
}

/* Component 0 where the keys that only the later half of the queries sees have high scores with the others. */
static double of_hidden_high(const struct lesson_case *item, int index, int row)
{
    const int q_len = item->extent[BW_Q_LEN], kv_len = item->extent[BW_KV_LEN];
    if (index == BW_Q) return row < q_len / 2;
    return row >= kv_len - q_len + q_len / 2 ? 150.0 / scale_of(item) : 0.0;
}

/* All weights are the same, dS has a key's sign by turns, and so has the key. */
static double of_cancelled(const struct lesson_case *item, int index, int row, int column, double noise)
{
    const int half = item->extent[BW_KV_LEN] / 2, at = row % half;
    const double sign = at % 2 == 0 ? 1.0 : -1.0, key = sign * (1.0 + (7 * at + 13 * column) % 32 / 64.0);
    if (index == BW_K) return row < half ? key : 0x1p-8 * noise - key;
    return column > 0 || index == BW_Q ? 0.0 : index == BW_V ? sign : 1.0;
}

/* Scores are of the other columns; heads have gradients of other signs and nearly the same size. */
static double of_opposed(int index, int head, int row, int column, double noise)
{
    if (column > 0) return index == BW_V ? 0.0 : noise;
    if (index == BW_DOUT) return head % 2 == 0 ? 1400.0 : -1260.0;
    return index == BW_Q ? 10.0 : index == BW_K ? 0.0 : row % 2 == 0 ? 1.0 : -1.0;
}

static double element(const struct lesson_case *item, int index, int head, int row, int column, double noise)
{
    int spot = head == 1 && row == 7 && column == 3;
    switch (item->distribution) {
    case LARGE:
        return index == BW_Q || index == BW_K ? 100.0 * noise : noise;
    case EQUAL:
        return index == BW_K ? (column % 3 - 1) * 0.5 + 0.25 : noise;
    case NAN_V_WEIGHTLESS:
        if (index == BW_V && spot) return (double)NAN;
        /* fall through */
    case DOMINANT:
    case FAINT:
    case LOW:
        if (column == 0 && index == BW_Q) return 1.0;
        return column == 0 && index == BW_K ? trend(item, row) / scale_of(item) : noise;
    case HIDDEN_HIGH:
        return column == 0 && (index == BW_Q || index == BW_K) ? of_hidden_high(item, index, row) : noise;
    case SMALL_PRODUCTS:
        /* dS is less than 1, so that it may be multiplied by the scale first */
        return ldexp(noise, index == BW_Q ? -60 : index == BW_K ? -68 : index == BW_DOUT ? -8 : 0);
    case CANCELLED:
        return of_cancelled(item, index, row, column, noise);
    case ZERO_PRODUCTS:
        return index == BW_Q || index == BW_K ? 0.0 : noise;
    case STEADY:
        return index == BW_DOUT ? 1.0 + 0.125 * noise : noise;
    case LARGE_GRADIENT:
        return index == BW_DOUT ? 500.0 * noise : noise;
    case LARGE_SUMS:
        return index == BW_DOUT ? 500.0 * noise : index == BW_K ? 1000.0 * noise : noise;
    case OPPOSED_HEADS:
        return of_opposed(index, head, row, column, noise);
    case SMALL_GRADIENT:
        return index == BW_DOUT ? 0x1p-12 * noise : noise;
    case NAN_Q:
        return index == BW_Q && spot ? (double)NAN : noise;
    case NAN_K:
        return index == BW_K && spot ? (double)NAN : noise;
    case NAN_V:
        return index == BW_V && spot ? (double)NAN : noise;
    case NAN_DOUT:
        return index == BW_DOUT && spot ? (double)NAN : noise;
    default:
        return noise;
    }
}

/* Makes a row as it is stored. Rows are not kept: each caller makes them again. */
static void make_row(const struct lesson_case *item, int index, size_t number, float *row)
{
    int of_keys = index == BW_K || index == BW_V, head_dim = item->extent[BW_HEAD_DIM];
    int length = item->extent[of_keys ? BW_KV_LEN : BW_Q_LEN];
    int at = (int)(number % (size_t)length), head = (int)(number / (size_t)length); /* of all sequences */
    size_t from =
        of_keys ? number / (size_t)length * (size_t)length + (size_t)(at % period_of(item)) : number;
    struct rng rng = {rng_mix(rng_mix(item->seed, 400 + (uint64_t)index), from)};
    enum { COLUMNS = 64 };
    float stored[COLUMNS];
    rng_fill_row(&rng, row, (size_t)head_dim);
    for (int d = 0; d < head_dim && item->distribution != NORMAL; d++)
        row[d] = (float)element(item, index, head, at, d, (double)row[d]);
    for (int d = 0; d < head_dim; d += COLUMNS)
        storage_put_all(backward_storage(item), stored, row + d,
                        (size_t)(head_dim - d < COLUMNS ? head_dim - d : COLUMNS));
}

/** Rows that are being made. */
struct making {
    const struct lesson_case *item;
    int index;
    const float *k, *v; /* for inputs that need the forward pass: all K/V heads, period_of() rows each */
    float *data;
};

static void make_rows(void *context, size_t first, size_t last)
{
    const struct making *m = context;
    for (size_t row = first; row < last; row++)
        make_row(m->item, m->index, row, m->data + row * E(m->item, BW_HEAD_DIM));
}

/* ---- out, lse: the forward pass ----------------------------------------------------------------------------- */

static void forward_rows(void *context, size_t first, size_t last)
{
    const struct making *m = context;
    struct ref_attention_shape shape = backward_shape(m->item);
    size_t period = (size_t)shape.kv_len, head_dim = (size_t)shape.head_dim, q_len = (size_t)shape.q_len;
    size_t group = (size_t)(shape.heads / shape.kv_heads);
    double *memory = calloc(3 * period + head_dim, sizeof *memory);
    float *q = calloc(head_dim, sizeof *q);
    if (memory == NULL || q == NULL) abort();
    struct ref_backward_row row = {.copies = memory,
                                   .probs = memory + period,
                                   .score_sizes = memory + 2 * period,
                                   .out = memory + 3 * period};
    for (size_t at = first; at < last; at++) {
        int visible = backward_copies(m->item, (int)(at % q_len), memory);
        size_t kv = at / q_len / group * period * head_dim;
        make_row(m->item, BW_Q, at, q);
        if (visible > (int)period) visible = (int)period;
        ref_attention_backward_row(&shape, visible, q, NULL, m->k + kv, m->v + kv, &row);
        double share = backward_share(m->item, at % q_len);
        if (m->index == BW_LSE) m->data[at] = (float)(row.lse - log(share));
        for (size_t d = 0; d < head_dim && m->index == BW_OUT; d++)
            m->data[at * head_dim + d] = (float)((isinf(share) ? 1.0 : share) * row.out[d]);
    }
    free(q);
    free(memory);
}

/* Keys or values without their repetitions. */
static float *make_period(const struct lesson_case *item, int index)
{
    size_t period = (size_t)period_of(item), head_dim = E(item, BW_HEAD_DIM);
    size_t heads = E(item, BW_BATCH) * E(item, BW_KV_HEADS);
    float *rows = malloc(heads * period * head_dim * sizeof *rows);
    if (rows == NULL) abort();
    for (size_t head = 0; head < heads; head++)
        for (size_t r = 0; r < period; r++)
            make_row(item, index, head * E(item, BW_KV_LEN) + r, rows + (head * period + r) * head_dim);
    return rows;
}

void backward_fill(const struct lesson_case *item, int index, size_t elems, struct rng *rng, float *data)
{
    enum { ROWS_A_PIECE = 64, FORWARD_ROWS_A_PIECE = 16 };
    struct making m = {item, index, NULL, NULL, data};
    (void)rng;
    if (index != BW_OUT && index != BW_LSE) {
        parallel_for(elems / E(item, BW_HEAD_DIM), ROWS_A_PIECE, make_rows, &m);
        return;
    }
    float *k = make_period(item, BW_K), *v = make_period(item, BW_V);
    m.k = k;
    m.v = v;
    parallel_for(index == BW_LSE ? elems : elems / E(item, BW_HEAD_DIM), FORWARD_ROWS_A_PIECE, forward_rows,
                 &m);
    free(k);
    free(v);
}
