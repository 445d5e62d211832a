/**
 * @file attention_oracle.c
 * @brief Oracle and error bounds of attention, one query row at a time.
 *
 * How an error gets into an output row, to first order. The computed score s_j is off by e_j; then
 *
 *     out   moves by  sum_j p_j e_j (v_j - out)          because d out / d s_j = p_j (v_j - out)
 *     lse   moves by  sum_j p_j e_j
 *     p_j   moves by  p_j (e_j - sum_k p_k e_k)
 *
 * with |e_j| <= c u sqrt(head_dim) scale sum_d |q_d k_jd| for the product, and c u |s_j - max| for rounding the
 * argument of exp. On top of it come the sums over the keys, as in bound.h: those of p_j v_j, and that of the p_j,
 * whose relative error moves out, p_j and lse alike.
 *
 * Of scores that are so large that the e_j are no small numbers the first order says nothing: of two that differ by
 * less, rounding decides which key has the weight. In full, with p'_j what p_j becomes,
 *
 *     out'  -  out  =  sum_j p'_j (v_j - out),      p'_j = p_j exp(e_j) / sum_k p_k exp(e_k)
 *
 * and the sum is at least exp(-e), with e the largest |e_k|. So p'_j is at most w_j = min(1, p_j exp(|e_j| + e)): where
 * |e_j| + e is more than 1, w_j takes the place of p_j, and the e_j beside it counts as 1 at least. A p_j below the
 * smallest double counts, too. out' still lies between the values that it is made of.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "attention.h"
#include "softmax.h"
#include "attention_cases.h"
#include "attention_e4m3.h"
#include "attention_inputs.h"
#include "contracts/e4m3_blocks.h"
#include "checker/numbers/bound.h"
#include "checker/numbers/plain.h"
#include "base/wide.h"

enum { SUMMED_COLUMNS = 64 };

/** One query row: where its data are. */
struct row {
    struct ref_attention_shape shape; /* the whole problem */
    size_t b, h, i;
    int visible;        /* keys it sees */
    const float *q;     /* [head_dim] */
    const float *k, *v; /* [kv_len, head_dim] of its head */
    double scale;
    enum storage storage;            /* of the output */
    enum storage of_p;               /* storage type of the probabilities that are multiplied with V */
    const struct e4m3_rows *rounded; /* the rounded q, k and v where products are those of E4M3, else NULL */
};

static void find_row(const struct lesson_case *item, const float *const *data, size_t unit, struct row *row)
{
    const int *extent = item->extent;
    row->shape = (struct ref_attention_shape){extent[AT_BATCH],
                                              extent[AT_HEADS],
                                              extent[AT_KV_HEADS],
                                              extent[AT_Q_LEN],
                                              extent[AT_KV_LEN],
                                              extent[AT_HEAD_DIM],
                                              (double)(float)item->real[AT_SCALE],
                                              item->value[AT_CAUSAL] == 1};
    size_t heads = (size_t)extent[AT_HEADS], q_len = (size_t)extent[AT_Q_LEN];
    size_t head_dim = (size_t)extent[AT_HEAD_DIM];
    row->i = unit % q_len;
    row->h = unit / q_len % heads;
    row->b = unit / q_len / heads;
    size_t kv_heads = (size_t)extent[AT_KV_HEADS];
    size_t kv_row = (row->b * kv_heads + row->h / (heads / kv_heads)) * (size_t)extent[AT_KV_LEN];
    row->visible = ref_attention_visible(&row->shape, (int)row->i);
    row->q = data[ATTENTION_Q] + unit * head_dim;
    row->k = data[ATTENTION_K] + kv_row * head_dim;
    row->v = data[ATTENTION_V] + kv_row * head_dim;
    row->scale = ref_attention_scale(&row->shape);
    row->storage = attention_storage(item);
    row->of_p = attention_storage_of_p(item);
    row->rounded = NULL;
}

/* A problem with a single row and a single head, in which every key is visible. */
static struct ref_attention_shape alone(const struct row *row)
{
    return (struct ref_attention_shape){1, 1, 1, 1, row->visible, row->shape.head_dim, row->scale, 0};
}

/* ---- the same row in plain f32, for the maximum-norm check ----------------------------------------------- */

static void plain_scores(const struct row *row, double *scores)
{
    plain_dots(row->q, row->k, (size_t)row->shape.head_dim, (size_t)row->visible, scores);
    for (int j = 0; j < row->visible; j++) scores[j] = (double)((float)scores[j] * (float)row->scale);
}

/* Turns scores into probabilities in place; returns the logsumexp. NaN stays NaN. */
static float plain_softmax(double *scores, int count)
{
    float max = -INFINITY, sum = 0.0f;
    for (int j = 0; j < count; j++) max = fmaxf(max, (float)scores[j]);
    for (int j = 0; j < count; j++) {
        scores[j] = max == -INFINITY ? 0.0 : (double)expf((float)scores[j] - max);
        sum += (float)scores[j];
    }
    for (int j = 0; j < count && sum != 0.0f; j++) scores[j] = (double)((float)scores[j] / sum);
    return max + logf(sum);
}

/* The outer loop runs over keys, so that v is read along its rows. */
WIDE static void plain_output(const struct row *row, const double *probs, double *out)
{
    enum { COLUMNS = 64 };
    size_t head_dim = (size_t)row->shape.head_dim;
    for (size_t first = 0; first < head_dim; first += COLUMNS) {
        float sum[COLUMNS] = {0.0f};
        size_t columns = head_dim - first < COLUMNS ? head_dim - first : COLUMNS;
        for (int j = 0; j < row->visible; j++) {
            const float *v = row->v + (size_t)j * head_dim + first;
            float weight = (float)probs[j];
            for (size_t d = 0; d < columns; d++) sum[d] += weight * v[d];
        }
        for (size_t d = 0; d < columns; d++) out[first + d] = (double)sum[d];
    }
}

/* ---- the parts ------------------------------------------------------------------------------------------- */

static void set_span(struct lesson_expectation *e, int index, int buffer, size_t first, size_t count)
{
    e->span[index].buffer = buffer;
    e->span[index].first = first;
    e->span[index].count = count;
}

static void set_stored(struct lesson_span *span, size_t at, enum storage storage, double expected,
                       double accumulated, double floor)
{
    span->expected[at] = expected;
    span->bound[at] = bound_stored_as(storage, expected) + accumulated;
    span->floor[at] = bound_stored_as(storage, expected) + floor;
}

static void set_element(struct lesson_span *span, size_t at, double expected, double accumulated,
                        double floor)
{
    set_stored(span, at, STORAGE_F32, expected, accumulated, floor);
}

static void expect_scores(const struct row *row, size_t unit, struct lesson_expectation *e)
{
    size_t kv_len = (size_t)row->shape.kv_len;
    e->span_count = 1;
    set_span(e, 0, ATTENTION_MATRIX, unit * kv_len, kv_len);
    struct lesson_span *span = &e->span[0];
    if (row->visible > 0) {
        struct ref_attention_shape shape = alone(row);
        ref_attention_scores(&shape, row->q, row->k, span->expected, e->scratch);
    }
    plain_scores(row, span->plain);
    for (size_t j = 0; j < kv_len; j++) {
        int hidden = j >= (size_t)row->visible;
        double magnitude = hidden ? 0.0 : e->scratch[j];
        if (hidden) span->plain[j] = (double)-INFINITY;
        set_element(span, j, hidden ? (double)-INFINITY : span->expected[j],
                    bound_sum(row->shape.head_dim, magnitude), bound_floor(magnitude));
    }
}

/* The mean of |e_j| weighted by p, in units of c u; exponent[j] holds |e_j| of key j. */
static double mean_exponent(const double *probs, const double *exponent, int count)
{
    double mean = 0.0;
    for (int j = 0; j < count; j++)
        if (probs[j] > 0.0) mean += probs[j] * exponent[j];
    return mean;
}

static double row_max(const double *scores, int count)
{
    double max = (double)-INFINITY;
    for (int j = 0; j < count; j++) max = scores[j] > max ? scores[j] : max; /* NaN is none */
    return max;
}

static void expect_softmax(const struct row *row, const float *scores, size_t unit,
                           struct lesson_expectation *e)
{
    size_t kv_len = (size_t)row->shape.kv_len;
    e->span_count = 2;
    set_span(e, 0, ATTENTION_MATRIX, unit * kv_len, kv_len);
    set_span(e, 1, ATTENTION_LSE, unit, 1);
    struct lesson_span *span = &e->span[0], *lse = &e->span[1];
    for (size_t j = 0; j < kv_len; j++)
        span->plain[j] = span->expected[j] = (double)scores[unit * kv_len + j];
    double max = row_max(span->expected, (int)kv_len);
    for (size_t j = 0; j < kv_len; j++) e->scratch[j] = fabs(span->expected[j] - max);
    lse->plain[0] = (double)plain_softmax(span->plain, (int)kv_len);
    double exact_lse = ref_softmax_row(span->expected, (int64_t)kv_len);
    double mean = mean_exponent(span->expected, e->scratch, (int)kv_len);
    struct bound_weights weights = {0};
    for (size_t j = 0; j < kv_len; j++) bound_weights_add(&weights, span->expected[j]);
    double running = bound_weights_running(&weights), alike = bound_weights_alike(&weights);
    for (size_t j = 0; j < kv_len; j++) {
        double p = span->expected[j], off = p > 0.0 ? p * (e->scratch[j] + mean) : 0.0;
        set_element(span, j, p, bound_sum((double)kv_len, p) + bound_floor(off) + p * alike,
                    bound_floor(p + off) + p * (running + alike));
    }
    double in_base_2 = bound_base_2(max);
    set_element(lse, 0, exact_lse, bound_sum((double)kv_len, 1.0) + bound_floor(mean) + alike + in_base_2,
                bound_floor(1.0 + mean) + running + alike + in_base_2);
}

/* The errors of the sums over keys; @p memory has room for three rows of the output. */
WIDE static void follow_columns(const struct row *row, const double *probs, double *memory,
                                struct bound_weights *weights, struct bound_columns *columns)
{
    size_t head_dim = (size_t)row->shape.head_dim;
    *weights = (struct bound_weights){0};
    *columns = (struct bound_columns){
        .count = (int)head_dim, .sum = memory, .squares = memory + head_dim, .alike = memory + 2 * head_dim};
    for (size_t d = 0; d < 3 * head_dim; d++) memory[d] = 0.0;
    for (int j = 0; j < row->visible; j++)
        bound_columns_add(columns, weights, probs[j], row->v + (size_t)j * head_dim);
}

static void expect_output(const struct row *row, const float *probs, size_t unit,
                          struct lesson_expectation *e)
{
    size_t head_dim = (size_t)row->shape.head_dim, kv_len = (size_t)row->shape.kv_len;
    const float *p = probs + unit * kv_len;
    e->span_count = 1;
    set_span(e, 0, ATTENTION_OUT, unit * head_dim, head_dim);
    struct lesson_span *span = &e->span[0];
    double *magnitude = span->floor;
    for (size_t d = 0; d < head_dim; d++) span->expected[d] = magnitude[d] = 0.0;
    if (row->visible > 0) {
        struct ref_attention_shape shape = alone(row);
        ref_attention_output(&shape, p, row->v, span->expected, magnitude);
    }
    for (int j = 0; j < row->visible; j++) e->scratch[j] = (double)p[j];
    plain_output(row, e->scratch, span->plain);
    struct bound_weights weights;
    struct bound_columns columns;
    follow_columns(row, e->scratch, e->scratch + kv_len, &weights, &columns);
    for (size_t d = 0; d < head_dim; d++) {
        double m = magnitude[d], alike = bound_columns_alike(&columns, (int)d);
        set_element(span, d, span->expected[d], bound_sum(row->visible, m) + alike,
                    fmax(bound_floor(m), bound_columns_running(&columns, (int)d)) + alike);
    }
}

/* Further errors of a product of E4M3, in units of c u: what the sum cuts off, and numbers that may have
 * either of two codes. */
static double e4m3_score_error(const struct row *row, size_t key)
{
    if (row->rounded == NULL) return 0.0;
    double lost = e4m3_score_cut_off(row->rounded, key) + e4m3_score_slack(row->rounded, key);
    return fabs(row->scale) * lost / (BOUND_C * BOUND_U_F32);
}

/* The error |e_j| of each score in units of c u: `rooted` with the sqrt(head_dim) of a sum, `flat` without. weights[j] holds the score
 * and becomes the weight that key j may have; flat[j] holds sum_d |scale q_d k_jd| at first. */
static void score_errors(const struct row *row, const double *probs, double *weights, double *rooted,
                         double *flat)
{
    const double root = sqrt((double)row->shape.head_dim), largest = row_max(weights, row->visible),
                 lse = largest - log(row_max(probs, row->visible)), one = 1.0 / (BOUND_C * BOUND_U_F32);
    double most = 0.0;
    for (int j = 0; j < row->visible; j++) {
        const double magnitude = flat[j];
        rooted[j] = flat[j] = 0.0;
        if (probs[j] == 0.0 && !isfinite(weights[j])) continue;
        const double below_max = largest - weights[j] + e4m3_score_error(row, (size_t)j);
        rooted[j] = root * magnitude + below_max;
        flat[j] = magnitude + below_max;
        if (probs[j] > 0.0) most = fmax(most, rooted[j]);
    }
    for (int j = 0; j < row->visible; j++) {
        const double together = rooted[j] + most;
        weights[j] = together > one ? exp(fmin(0.0, weights[j] - lse + together / one)) : probs[j];
        if (weights[j] == 0.0 || !(together > one)) continue;
        rooted[j] = fmax(rooted[j], one);
        flat[j] = fmax(flat[j], one);
    }
}

/* Adds to a row of the output what the errors of one key's score, `rooted` and `flat`, change in it. */
WIDE static void add_pull(double p, double rooted, double flat, const float *v, const double *out,
                          double *restrict from_rooted, double *restrict from_flat, size_t head_dim)
{
    for (size_t d = 0; d < head_dim; d++) {
        double pull = p * fabs((double)v[d] - out[d]);
        from_rooted[d] += pull * rooted;
        from_flat[d] += pull * (BOUND_EXP + flat) * pull * (BOUND_EXP + flat);
    }
}

/** Of some columns of V, over the keys that a row sees: what the bounds of the output are made of. */
struct column_sums {
    double squares[SUMMED_COLUMNS]; /**< sum_j (p_j v_j)^2 */
    double values[SUMMED_COLUMNS];  /**< sum_j |v_j| */
    /** largest |v_j - out|: what a column of the output may be off however far the scores are off, since it lies between the
     *  values that it is made of */
    double reach[SUMMED_COLUMNS];
};

/* Columns from @p first on. The outer loop runs over keys, so that v is read along its rows. */
WIDE static void sum_columns(const struct row *row, const double *probs, const double *out, size_t first,
                             struct column_sums *restrict sums)
{
    const size_t rest = (size_t)row->shape.head_dim - first;
    const size_t columns = rest < SUMMED_COLUMNS ? rest : SUMMED_COLUMNS;
    for (size_t d = 0; d < columns; d++) sums->squares[d] = sums->values[d] = sums->reach[d] = 0.0;
    for (int j = 0; j < row->visible; j++) {
        const float *v_row = row->v + (size_t)j * (size_t)row->shape.head_dim + first;
        const double p = probs[j];
        for (size_t d = 0; d < columns; d++) {
            const double v = (double)v_row[d], off = fabs(v - out[first + d]);
            sums->squares[d] += p * v * p * v;
            sums->values[d] += fabs(v);
            sums->reach[d] = off > sums->reach[d] ? off : sums->reach[d];
        }
    }
}

/* The error from rounding each weight before it is multiplied with V; @p d is the column, which is @p at in @p sums. */
static struct bound_rounded round_weights(const struct row *row, size_t d, double magnitude, double size,
                                          const double *probs, double largest, const struct column_sums *sums,
                                          size_t at)
{
    if (row->visible == 0 || (row->of_p == STORAGE_F32 && row->rounded == NULL))
        return (struct bound_rounded){0.0, 0.0};
    const double tiny = largest * sums->values[at];
    if (row->rounded != NULL) {
        double cut_off = e4m3_output_cut_off(row->rounded, probs, (size_t)row->visible, (int)d);
        return bound_e4m3_weights(cut_off, magnitude, sums->squares[at], size, tiny);
    }
    return bound_rounded_weights(row->of_p, magnitude, sums->squares[at], size, tiny);
}

/* Fills the span of one output row; e->scratch holds the probabilities, then the two kinds of score error and the weights that keys may
 * have. */
static void bound_whole(const struct row *row, const double *magnitude, const struct bound_weights *weights,
                        const struct bound_columns *columns, struct lesson_expectation *e)
{
    struct lesson_span *span = &e->span[0];
    size_t head_dim = (size_t)row->shape.head_dim, kv_len = (size_t)row->shape.kv_len;
    const double *probs = e->scratch, *rooted = probs + kv_len, *flat = rooted + kv_len, *may = flat + kv_len;
    for (size_t d = 0; d < head_dim; d++) span->bound[d] = span->floor[d] = 0.0;
    for (int j = 0; j < row->visible; j++)
        add_pull(may[j], rooted[j], flat[j], row->v + (size_t)j * head_dim, span->expected, span->bound,
                 span->floor, head_dim);
    const double largest = row_max(probs, row->visible);
    struct column_sums sums;
    size_t summed = SIZE_MAX; /* first column of those in sums */
    for (size_t d = 0; d < head_dim; d++) {
        const size_t at = d % SUMMED_COLUMNS, first = d - at;
        const int rounds = row->of_p != STORAGE_F32 || row->rounded != NULL;
        double m = magnitude[d], pulled = bound_floor(span->bound[d]),
               from_flat = bound_floor(sqrt(span->floor[d]));
        double size = fabs(span->expected[d]);
        if (summed != first && (rounds || pulled > m))
            sum_columns(row, probs, span->expected, summed = first, &sums);
        double alike = bound_columns_alike(columns, (int)d) + size * bound_weights_alike(weights);
        double running = bound_columns_running(columns, (int)d) + size * bound_weights_running(weights);
        struct bound_rounded rounded = round_weights(row, d, m, size, probs, largest, &sums, at);
        if (pulled > m) pulled = fmin(pulled, sums.reach[at]), from_flat = fmin(from_flat, sums.reach[at]);
        set_stored(span, d, row->storage, span->expected[d],
                   bound_sum(row->visible, m) + pulled + alike + rounded.most,
                   from_flat + fmax(bound_floor(m), running) + alike + rounded.likely);
        span->rounding[d] = rounded.most;
    }
}

static void expect_whole(const struct row *row, size_t unit, struct lesson_expectation *e)
{
    size_t head_dim = (size_t)row->shape.head_dim, kv_len = (size_t)row->shape.kv_len;
    e->span_count = 2;
    set_span(e, 0, ATTENTION_OUT, unit * head_dim, head_dim);
    set_span(e, 1, ATTENTION_LSE, unit, 1);
    struct lesson_span *span = &e->span[0], *lse = &e->span[1];
    double *rooted = e->scratch + kv_len, *flat = rooted + kv_len, *plain = flat + kv_len;
    double *magnitude = plain + kv_len;
    struct ref_attention_row exact = {
        .out = span->expected, .magnitude = magnitude, .score_sizes = flat, .scores = plain};
    if (row->visible > 0) {
        struct ref_attention_shape shape = alone(row);
        ref_attention_row(&shape, 0, 0, 0, row->q, row->k, row->v, e->scratch, &exact);
    } else {
        exact.lse = (double)-INFINITY;
        for (size_t d = 0; d < head_dim; d++) span->expected[d] = magnitude[d] = 0.0;
    }
    score_errors(row, e->scratch, plain, rooted, flat);
    struct bound_weights weights;
    struct bound_columns columns;
    follow_columns(row, e->scratch, magnitude + head_dim, &weights, &columns);
    bound_whole(row, magnitude, &weights, &columns, e);
    double running = bound_weights_running(&weights), alike = bound_weights_alike(&weights);
    double mean_rooted = mean_exponent(plain, rooted, row->visible);
    double mean_flat = mean_exponent(plain, flat, row->visible);
    set_element(lse, 0, exact.lse, bound_sum(row->visible, 1.0) + bound_floor(mean_rooted) + alike,
                bound_floor(1.0 + mean_flat) + running + alike);
    plain_scores(row, plain);
    lse->plain[0] = (double)plain_softmax(plain, row->visible);
    plain_output(row, plain, span->plain);
    for (size_t d = 0; d < head_dim; d++)
        span->plain[d] = (double)storage_round(row->storage, (float)span->plain[d]);
}

/* Of weights that are rounded to E4M3, as 256 times what they are to the largest, the sum over that of those that are not. */
static double rounded_share(const double *probs, int count)
{
    const double scale = 256.0 / row_max(probs, count);
    double sum = 0.0, rounded = 0.0;
    for (int j = 0; j < count; j++) {
        sum += probs[j] * scale;
        rounded += e4m3_nearest(probs[j] * scale);
    }
    return rounded / sum;
}

/* The same for a row whose products are those of E4M3: attention of the rounded q, k and v. */
static void expect_e4m3(const struct lesson_case *item, struct row *row, size_t unit,
                        struct lesson_expectation *e)
{
    const int64_t given = item->value[AT_SEED] & ~E4M3_L_OF_ROUNDED, seed = given & ~E4M3_V_OF_4096;
    const float *q = row->q - row->i * E4M3_COLUMNS;
    row->rounded = e4m3_rows(&e->kept, q, row->shape.q_len, (int)row->i, row->k, row->v, row->shape.kv_len,
                             given, row->storage);
    if (row->rounded == NULL)
        abort(); /* out of memory, as elsewhere for so little: the checker cannot continue */
    row->q = row->rounded->q, row->k = row->rounded->k, row->v = row->rounded->v;
    row->of_p = STORAGE_F32;
    if (seed != 0) row->scale /= E4M3_COLUMNS;
    expect_whole(row, unit, e);
    if (given == item->value[AT_SEED] || row->visible == 0) return;
    const double share = rounded_share(e->scratch, row->visible);
    for (size_t d = 0; d < E4M3_COLUMNS; d++) e->span[0].expected[d] /= share;
    e->span[1].expected[0] += log(share);
}

void attention_expect(const struct lesson_case *item, const float *const *data, size_t unit,
                      struct lesson_expectation *e)
{
    struct row row;
    find_row(item, data, unit, &row);
    switch (item->extent[EX_KIND]) {
    case ATTENTION_SCORES:
        expect_scores(&row, unit, e);
        break;
    case ATTENTION_SOFTMAX:
        expect_softmax(&row, data[ATTENTION_MATRIX], unit, e);
        break;
    case ATTENTION_OUTPUT:
        expect_output(&row, data[ATTENTION_MATRIX], unit, e);
        break;
    default:
        if (item->extent[EX_TILED] == ATTENTION_E4M3_TILES)
            expect_e4m3(item, &row, unit, e);
        else
            expect_whole(&row, unit, e);
        break;
    }
    for (int s = 0; (item->flags & CASE_UNIT_SCALE) && s < e->span_count; s++) {
        enum storage storage = e->span[s].buffer == ATTENTION_OUT ? row.storage : STORAGE_F32;
        for (size_t i = 0; i < e->span[s].count; i++)
            e->span[s].bound[i] = fmin(e->span[s].bound[i], bound_unit(storage));
    }
}

/* Scores become probabilities in place, so the workspace holds the probabilities at the end. */
int attention_intermediate(const struct lesson_case *item, const float *const *data, size_t unit,
                           double *scratch, struct lesson_span *span)
{
    struct row row;
    size_t kv_len = (size_t)item->extent[AT_KV_LEN];
    if (item->extent[EX_WORKSPACE] != WORKSPACE_MATRIX || item->extent[EX_KIND] != ATTENTION_WHOLE) return 0;
    find_row(item, data, unit, &row);
    struct ref_attention_row exact = {.out = scratch};
    span->buffer = ATTENTION_WORKSPACE;
    span->first = unit * kv_len;
    span->count = kv_len;
    for (size_t j = 0; j < kv_len; j++) {
        span->expected[j] = 0.0;
        span->bound[j] = BOUND_UNIT_F32;
    }
    ref_attention_row(&row.shape, (int)row.b, (int)row.h, (int)row.i, data[ATTENTION_Q], data[ATTENTION_K],
                      data[ATTENTION_V], span->expected, &exact);
    return 1;
}

size_t attention_units(const struct lesson_case *item)
{
    return (size_t)item->extent[AT_BATCH] * (size_t)item->extent[AT_HEADS] * (size_t)item->extent[AT_Q_LEN];
}

/* Spans hold a row of the output or of the score matrix; scratch holds four rows of keys and four of output. */
size_t attention_unit_elems(const struct lesson_case *item)
{
    return 4 * ((size_t)item->extent[AT_KV_LEN] + (size_t)item->extent[AT_HEAD_DIM]);
}

/* The causal property: rows that cannot see the changed keys keep every bit. */
int attention_holds(const struct lesson_case *item, const float *const *got, const struct lesson_case *before,
                    const float *const *got_before, char *reason, size_t size)
{
    if (item->distribution != DIST_OTHER_TAIL || before == NULL) return 1;
    int hidden_from = attention_hidden_from(item), q_len = item->extent[AT_Q_LEN];
    size_t head_dim = (size_t)item->extent[AT_HEAD_DIM];
    for (size_t unit = 0; unit < attention_units(item); unit++) {
        int i = (int)(unit % (size_t)q_len), visible = i + 1 + item->extent[AT_KV_LEN] - q_len;
        if (visible > hidden_from) continue;
        for (size_t d = 0; d < head_dim; d++) {
            float now = got[ATTENTION_OUT][unit * head_dim + d],
                  then = got_before[ATTENTION_OUT][unit * head_dim + d];
            if (now == then || (isnan(now) && isnan(then))) continue;
            snprintf(
                reason, size,
                "query row %d sees keys up to %d, but its output changed with keys from %d on; its values "
                "are right, so that these "
                "change how it rounds: do they enter a maximum, or a choice to rescale, that rows share?",
                i, visible - 1, hidden_from);
            return 0;
        }
    }
    return 1;
}
