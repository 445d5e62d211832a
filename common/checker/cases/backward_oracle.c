/**
 * @file backward_oracle.c
 * @brief Oracle and error bounds of attention's backward pass, one K/V head and the queries that read it at a time.
 *
 * What a right kernel may lose, to first order. u is float's roundoff, c that of bound.h, w the roundoff of the storage type
 * (0 for f32), for query i and key j:
 *
 *     s      is off by  c u sqrt(d) scale sum|q k|      its product
 *     p      by p r,    r = c u (sqrt(d) scale sum|q k| + |s| + |lse| + 4)   rounding of the exponent, and of exp itself;
 *                       what the logsumexp that was given is off by its rounding to f32 is in u |lse|
 *     dP     by         c u sqrt(d) sum|do v|
 *     D      by         c u sqrt(d) sum|do o| + |do . (o as stored - o)|     of dO * O. The last is known exactly: 1.5 times
 *                       it is allowed, so that a kernel which has just this error is well within
 *            or by      sum_j p (r |dP| + error of dP) + c u sqrt(n) sum_j p |dP|     of P * dP, which is as right. P is then made
 *                       of the logsumexp as it was given, and so all terms are off alike. The larger of the two is allowed
 *     dS     by e = |dS| r + p (error of dP + error of D)
 *     P, dS  by w P, w |dS| more, or half the smallest number, as they are stored for the products that follow. Twice that is
 *            allowed: a kernel may make dS of a P that is rounded already, and where a gradient has but one term, one
 *            rounding may be w to the last bit
 *
 *     dV = sum_i p do         by  sum_i |do| p (r + w)           + c u sqrt(n) sum_i p |do|           + rounding when stored
 *     dK = scale sum_i dS q   by  scale sum_i |q| (e + w |dS|)   + c u sqrt(n) scale sum_i |dS q|     + the same
 *     dQ = scale sum_j dS k   by  scale sum_j |k| (e + w |dS|)   + c u sqrt(n) scale sum_j |dS k|     + the same
 *
 * That is the bound of every element. It holds for sums in any order, and so for atomics: c u sqrt(n) sum|terms| does not
 * depend on the order. It adds up the errors of terms as if they were of one sign. They are not: the floor for a whole
 * buffer (bound.h) takes the root of the sum of their squares, w / sqrt(3) being the standard deviation of a rounding, and c
 * of these; errors of D and of lse, which are the same for all keys of a query, are of one sign in dQ.
 *
 * Large cases: of each K/V head a seeded block of columns is compared, in every row. A column's sums need no other's.
 *
 * Keys that repeat others: of the query rows from the last to the first, sums over the queries so far are the gradient of
 * those keys that no earlier query sees.
 */
#include <math.h>
#include <string.h>

#include "backward_cases.h"
#include "base/wide.h"
#include "checker/numbers/bound.h"
#include "contracts/attention_backward_args.h"

#define BOUND_STORED_TERM 2.0 /* see above */
#define BOUND_GIVEN 1.5       /* see above */

/* For each element of a gradient: all sums over its terms. */
enum { EXACT, SIZES, LINEAR, ROUNDING, SQUARES, PLAIN, SUMS };

/** One K/V head, and the state of one of its query rows. */
struct head {
    const struct lesson_case *item;
    struct ref_attention_shape shape;
    struct ref_backward_row row;
    enum storage storage;
    size_t column, columns; /* of the head's elements those that are compared */
    /* roundoff of the type that P and dS are stored in, and half its smallest number */
    double scale, w, tiny;
    int visible;                 /* keys that the row sees, repetitions not counted */
    const float *q, *dout, *out; /* [head_dim] of the row */
    const float *k, *v;          /* [period, head_dim] */
    float lse, plain_d;
    double *rate;       /* [period] relative error of p */
    double *flat;       /* [period] c standard deviations of the independent part of rate */
    double common;      /* error of D, which all keys of the row share */
    double common_flat; /* c standard deviations of the error of D, and its part that is not random */
    double common_rate; /* relative error that all p of the row share */
    double *dk, *dv;    /* [SUMS, period, columns] sums over the queries so far */
    double *dq;         /* [SUMS + 1, columns]; the last: what all keys of the row share */
};

/** Errors of one pair of query and key. */
struct pair {
    double p, ds;
    double p_linear, ds_linear; /* of one sign */
    /* the part of these that comes from storing in 16 bits for the next products */
    double p_rounded, ds_rounded;
    double p_random, ds_random; /* c standard deviations of the independent errors */
    double ds_common;           /* the error that all keys of the row share */
    float plain_p, plain_ds;
};

static void set_storage(struct head *h)
{
    h->w = h->storage == STORAGE_F16 ? BOUND_U_F16 : h->storage == STORAGE_BF16 ? BOUND_U_BF16 : 0.0;
    h->tiny = h->storage == STORAGE_F16 ? BOUND_TINY_F16 : BOUND_TINY;
}

/* The same in plain f32, computed from the logsumexp and the output that the kernel receives. */
static void plain_pair(const struct head *h, int j, struct pair *pair)
{
    const float *k = h->k + (size_t)j * (size_t)h->shape.head_dim,
                *v = h->v + (size_t)j * (size_t)h->shape.head_dim;
    float s = 0.0f, dp = 0.0f;
    for (int d = 0; d < h->shape.head_dim; d++) {
        s += h->q[d] * k[d];
        dp += h->dout[d] * v[d];
    }
    float p = expf(s * (float)h->scale - h->lse);
    pair->plain_p = storage_round(h->storage, p);
    pair->plain_ds = storage_round(h->storage, p * (dp - h->plain_d));
}

static void find_pair(const struct head *h, int j, struct pair *pair)
{
    const double cu = BOUND_C * BOUND_U_F32, root = sqrt((double)h->shape.head_dim);
    const double spread = BOUND_C / sqrt(3.0);
    const struct ref_backward_row *row = &h->row;
    double p = row->probs[j], ds = row->dscores[j];
    double rate = h->rate[j], flat = h->flat[j], dp = cu * row->dprob_sizes[j];
    pair->p = p;
    pair->ds = ds;
    pair->p_rounded = p * BOUND_STORED_TERM * h->w + h->tiny;
    pair->ds_rounded = fabs(ds) * BOUND_STORED_TERM * h->w + h->tiny;
    pair->p_linear = p * rate + pair->p_rounded;
    pair->ds_linear = fabs(ds) * rate + p * (root * dp + h->common) + pair->ds_rounded;
    pair->p_random = p * hypot(flat + h->common_rate, spread * h->w) + h->tiny;
    pair->ds_random = hypot(fabs(ds) * hypot(flat, spread * h->w), p * dp) + h->tiny;
    pair->ds_common = fabs(ds) * h->common_rate + p * h->common_flat;
    plain_pair(h, j, pair);
}

/* sum += weight * x for each of @p count elements, and likewise for all sums that the bounds need. */
WIDE static void add_terms(double *sum, size_t stride, size_t count, const float *x, double weight,
                           double linear, double rounded, double random, double plain)
{
    for (size_t d = 0; d < count; d++) {
        double value = (double)x[d], size = fabs(value);
        sum[EXACT * stride + d] += weight * value;
        sum[SIZES * stride + d] += fabs(weight) * size;
        sum[LINEAR * stride + d] += linear * size;
        sum[ROUNDING * stride + d] += rounded * size;
        sum[SQUARES * stride + d] += random * size * (random * size);
        sum[PLAIN * stride + d] = (double)((float)sum[PLAIN * stride + d] + (float)plain * x[d]);
    }
}

/* Errors of the weights of a row, and of D where it is computed from the weights. */
static void find_rates(struct head *h)
{
    const double cu = BOUND_C * BOUND_U_F32, root = sqrt((double)h->shape.head_dim);
    const struct ref_backward_row *row = &h->row;
    double linear = 0.0, squares = 0.0, sizes = 0.0, keys = 0.0;
    h->common_rate = cu * fabs(row->lse);
    for (int j = 0; j < h->visible; j++) {
        double p = row->probs[j], copies = row->copies[j], dp = cu * row->dprob_sizes[j];
        /* where a weight is 0 the score does not matter */
        double s = p > 0.0 ? fabs(row->lse + log(p)) : 0.0;
        double rate = cu * (root * row->score_sizes[j] + s + fabs(row->lse) + BOUND_EXP);
        double size = p * fabs(row->dprobs[j]);
        h->flat[j] = p > 0.0 ? cu * (row->score_sizes[j] + s + BOUND_EXP) : 0.0;
        h->rate[j] = p > 0.0 ? expm1(fmin(rate, 50.0)) : 0.0; /* exact beyond first order, for huge scores */
        linear += copies * (size * h->rate[j] + p * root * dp);
        squares += copies * (size * h->flat[j] * size * h->flat[j] + p * dp * p * dp);
        sizes += copies * size;
        keys += copies;
    }
    h->common = linear + bound_sum(keys, sizes);
    h->common_flat = sqrt(squares) + h->common_rate * sizes + bound_floor(sizes);
}

/* The logsumexp and output that the kernel receives may have more in their denominator: P is smaller then. */
static void take_share(struct head *h, size_t row)
{
    double share = backward_share(h->item, row), d = 0.0;
    if (share == 1.0) return;
    for (int c = 0; c < h->shape.head_dim; c++)
        d += (double)h->dout[c] * (h->row.out[c] *= isinf(share) ? 1.0 : share);
    for (int j = 0; j < h->visible; j++) {
        h->row.probs[j] *= share;
        h->row.dscores[j] = h->row.probs[j] * (h->row.dprobs[j] - d);
    }
    h->row.lse -= log(share);
}

/* Computes everything about query row @p at of the problem. */
static void find_row(struct head *h, const float *const *data, size_t at)
{
    size_t head_dim = (size_t)h->shape.head_dim;
    const double cu = BOUND_C * BOUND_U_F32;
    double sizes = 0.0, stored = 0.0;
    h->q = data[BW_Q] + at * head_dim;
    h->dout = data[BW_DOUT] + at * head_dim;
    h->out = data[BW_OUT] + at * head_dim;
    h->lse = data[BW_LSE][at];
    h->visible = backward_copies(h->item, (int)(at % (size_t)h->shape.q_len), (double *)h->row.copies);
    if (h->visible > h->shape.kv_len) h->visible = h->shape.kv_len;
    ref_attention_backward_row(&h->shape, h->visible, h->q, h->dout, h->k, h->v, &h->row);
    take_share(h, at % (size_t)h->shape.q_len);
    h->plain_d = 0.0f;
    for (size_t d = 0; d < head_dim; d++) {
        sizes += fabs((double)h->dout[d] * h->row.out[d]);
        stored += (double)h->dout[d] * ((double)h->out[d] - h->row.out[d]);
        h->plain_d += h->dout[d] * h->out[d];
    }
    find_rates(h);
    double of_out = cu * sqrt((double)head_dim) * sizes + BOUND_GIVEN * fabs(stored);
    h->common = fmax(h->common, of_out);
    h->common_flat = fmax(h->common_flat, of_out);
}

/* Adds query row `at` to the sums of its keys, and computes its own gradient. */
static void add_row(struct head *h, const float *const *data, size_t at)
{
    size_t head_dim = (size_t)h->shape.head_dim, columns = h->columns,
           all = (size_t)h->shape.kv_len * columns;
    memset(h->dq, 0, (SUMS + 1) * columns * sizeof *h->dq);
    find_row(h, data, at);
    for (int j = 0; j < h->visible; j++) {
        struct pair pair;
        size_t key = (size_t)j * columns;
        const float *k = h->k + (size_t)j * head_dim + h->column;
        double copies = h->row.copies[j], factor = fabs(h->scale);
        find_pair(h, j, &pair);
        add_terms(h->dv + key, all, columns, h->dout + h->column, pair.p, pair.p_linear, pair.p_rounded,
                  pair.p_random, (double)pair.plain_p);
        add_terms(h->dk + key, all, columns, h->q + h->column, h->scale * pair.ds, factor * pair.ds_linear,
                  factor * pair.ds_rounded, factor * (pair.ds_random + pair.ds_common),
                  h->scale * (double)pair.plain_ds);
        add_terms(h->dq, columns, columns, k, h->scale * copies * pair.ds, factor * copies * pair.ds_linear,
                  factor * copies * pair.ds_rounded, factor * copies * pair.ds_random,
                  h->scale * copies * (double)pair.plain_ds);
        for (size_t d = 0; d < columns; d++)
            h->dq[SUMS * columns + d] += factor * copies * pair.ds_common * fabs((double)k[d]);
    }
}

/* Adds the sums of one gradient to a span; the sums are those of one head of a group, or complete. */
static void add_to_span(const struct head *h, struct lesson_span *span, size_t at, const double *sum,
                        size_t stride, const double *common, double terms)
{
    for (size_t d = 0; d < h->columns; d++) {
        double sizes = sum[SIZES * stride + d];
        span->expected[at + d] += sum[EXACT * stride + d];
        span->bound[at + d] += sum[LINEAR * stride + d] + bound_sum(terms, sizes);
        span->rounding[at + d] += h->w > 0.0 ? sum[ROUNDING * stride + d] : 0.0;
        span->floor[at + d] +=
            sqrt(sum[SQUARES * stride + d]) + bound_floor(sizes) + (common != NULL ? common[d] : 0.0);
        span->plain[at + d] += sum[PLAIN * stride + d];
    }
}

static void start_span(const struct head *h, struct lesson_span *span, int buffer, size_t first_row,
                       size_t rows)
{
    const size_t head_dim = (size_t)h->shape.head_dim;
    *span = (struct lesson_span){.buffer = buffer,
                                 .first = first_row * head_dim + h->column,
                                 .count = rows * h->columns,
                                 .columns = h->columns,
                                 .pitch = head_dim,
                                 .expected = span->expected,
                                 .bound = span->bound,
                                 .plain = span->plain,
                                 .floor = span->floor,
                                 .rounding = span->rounding};
    const size_t count = span->count;
    for (size_t i = 0; i < count; i++)
        span->expected[i] = span->bound[i] = span->plain[i] = span->floor[i] = span->rounding[i] = 0.0;
}

/* One query head, from its last row to its first. */
static void add_head(struct head *h, const float *const *data, size_t bh, size_t of_group,
                     struct lesson_span *span)
{
    size_t q_len = (size_t)h->shape.q_len, columns = h->columns, period = (size_t)h->shape.kv_len;
    size_t all = period * columns, kv_len = (size_t)h->item->extent[BW_KV_LEN],
           group = span[0].count / q_len / columns;
    double *copies = (double *)h->row.copies;
    memset(h->dk, 0, SUMS * all * sizeof *h->dk);
    memset(h->dv, 0, SUMS * all * sizeof *h->dv);
    for (size_t i = q_len; i-- > 0;) {
        add_row(h, data, bh * q_len + i);
        add_to_span(h, &span[0], (of_group * q_len + i) * columns, h->dq, columns, h->dq + SUMS * columns,
                    (double)kv_len);
        size_t last = (size_t)backward_copies(h->item, (int)i, copies), first = 0;
        if (i > 0) first = (size_t)backward_copies(h->item, (int)i - 1, copies);
        for (size_t j = i > 0 ? first : 0; j < last; j++) { /* the keys that no earlier query sees */
            size_t from = j % period * columns;
            add_to_span(h, &span[1], j * columns, h->dk + from, all, NULL, (double)(q_len * group));
            add_to_span(h, &span[2], j * columns, h->dv + from, all, NULL, (double)(q_len * group));
        }
    }
}

/* Adds the rounding of the stored result, and applies the cap for data of size 1. */
static void finish_span(const struct head *h, struct lesson_span *span)
{
    /* Gradients of such data are a few units at most. Those of a key are sums over the queries, with
     * weights of about 1 / kv_len. */
    double queries = (double)h->shape.q_len * h->shape.heads / h->shape.kv_heads;
    double unit = span->buffer == BW_DQ ? 1.0 : fmax(1.0, sqrt(queries) / h->item->extent[BW_KV_LEN]);
    for (size_t i = 0; i < span->count; i++) {
        double stored = bound_stored_as(h->storage, span->expected[i]);
        span->plain[i] = (double)storage_round(h->storage, (float)span->plain[i]);
        span->bound[i] += stored;
        span->floor[i] = stored + fmin(span->floor[i], span->bound[i]);
        double size = fmax(unit, fabs(span->expected[i]));
        if (h->item->flags & CASE_UNIT_SCALE)
            span->bound[i] = fmin(span->bound[i], bound_unit(h->storage) * size);
    }
}

static void choose_columns(struct head *h, size_t unit, int chosen)
{
    enum { CHOSEN = 32 };
    const size_t head_dim = (size_t)h->shape.head_dim;
    const int large = h->shape.kv_len < h->item->extent[BW_KV_LEN];
    h->columns = chosen && large && head_dim > CHOSEN ? CHOSEN : head_dim;
    h->column = h->columns * (rng_mix(h->item->seed, unit) % (head_dim / h->columns));
}

void backward_expect(const struct lesson_case *item, const float *const *data, size_t unit,
                     struct lesson_expectation *e)
{
    struct head h = {.item = item, .shape = backward_shape(item), .storage = backward_storage(item)};
    choose_columns(&h, unit, e->chosen);
    size_t period = (size_t)h.shape.kv_len, head_dim = (size_t)h.shape.head_dim, all = period * h.columns;
    size_t kv_len = (size_t)item->extent[BW_KV_LEN], group = (size_t)(h.shape.heads / h.shape.kv_heads);
    size_t queries = (size_t)h.shape.q_len * group;
    double *next = e->scratch;
    double **row[] = {(double **)&h.row.copies, &h.row.probs,       &h.row.dprobs, &h.row.dscores,
                      &h.row.score_sizes,       &h.row.dprob_sizes, &h.rate,       &h.flat};
    for (size_t a = 0; a < sizeof row / sizeof row[0]; a++, next += period) *row[a] = next;
    h.row.out = next;
    h.dq = next + head_dim;
    h.dk = h.dq + (SUMS + 1) * h.columns;
    h.dv = h.dk + SUMS * all;
    h.scale = ref_attention_scale(&h.shape);
    h.k = data[BW_K] + unit * kv_len * head_dim;
    h.v = data[BW_V] + unit * kv_len * head_dim;
    set_storage(&h);
    start_span(&h, &e->span[0], BW_DQ, unit * queries, queries);
    start_span(&h, &e->span[1], BW_DK, unit * kv_len, kv_len);
    start_span(&h, &e->span[2], BW_DV, unit * kv_len, kv_len);
    for (size_t g = 0; g < group; g++) add_head(&h, data, unit * group + g, g, e->span);
    e->span_count = 0;
    for (int s = 0; s < 3; s++) {
        if (item->value[BW_OMITTED] >> e->span[s].buffer & 1) continue; /* nobody wants it */
        finish_span(&h, &e->span[s]);
        struct lesson_span kept = e->span[e->span_count];
        e->span[e->span_count++] = e->span[s];
        e->span[s] = kept; /* its arrays are free */
    }
}

size_t backward_units(const struct lesson_case *item)
{
    return (size_t)item->extent[BW_BATCH] * (size_t)item->extent[BW_KV_HEADS];
}

/* A span holds a K/V head, or all rows of its group; scratch holds eight rows of keys, and the sums of dK
 * and dV. */
size_t backward_unit_elems(const struct lesson_case *item)
{
    struct ref_attention_shape shape = backward_shape(item);
    size_t head_dim = (size_t)shape.head_dim, period = (size_t)shape.kv_len;
    size_t queries = (size_t)shape.q_len * (size_t)(shape.heads / shape.kv_heads) * head_dim;
    size_t keys = (size_t)item->extent[BW_KV_LEN] * head_dim;
    size_t scratch = 8 * period + (SUMS + 2) * head_dim + 2 * SUMS * period * head_dim;
    size_t most = queries > keys ? queries : keys;
    return most > scratch ? most : scratch;
}

void backward_cost(const struct lesson_case *item, struct lesson_cost *cost)
{
    const int *extent = item->extent;
    struct ref_attention_shape shape = backward_shape(item);
    double heads = (double)extent[BW_BATCH] * extent[BW_HEADS], head_dim = extent[BW_HEAD_DIM];
    double q_len = extent[BW_Q_LEN], kv_len = extent[BW_KV_LEN], pairs = q_len * kv_len;
    if (shape.causal) { /* query i sees i + 1 + kv_len - q_len keys */
        double first = fmax(1.0 + kv_len - q_len, 0.0), rows = fmin(q_len, kv_len);
        pairs = (q_len < kv_len ? first + kv_len : rows + 1.0) * rows / 2.0;
    }
    double bytes = (double)storage_bytes(backward_storage(item));
    double kv_elems = (double)extent[BW_BATCH] * extent[BW_KV_HEADS] * kv_len * head_dim;
    cost->flop = 10.0 * heads * pairs * head_dim;
    cost->min_bytes = bytes * (4.0 * heads * q_len * head_dim + 4.0 * kv_elems) + 4.0 * heads * q_len;
    cost->oracle_ops = 2.5 * 10.0 * heads * q_len * fmin(kv_len, shape.kv_len) * head_dim;
    cost->tensor_cores = item->extent[EX_STORED_AS] != DTYPE_F32;
    cost->kernels = 0.0;
}
