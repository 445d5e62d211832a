/**
 * @file decode_rows.c
 * @brief Rows of decode attention, for paged and contiguous caches: elements of queries, keys and values;
 *        bounds of an output.
 */
#include "decode_rows.h"

#include <math.h>

#include "base/wide.h"
#include "checker/numbers/bound.h"
#include "checker/numbers/plain.h"

/* ---- inputs ------------------------------------------------------------------------------------------------ */

/* The first element of a query where all scores should be very low: keys must stay within the range of
 * half. */
#define BELOW_QUERY 64.0
#define LOWEST_QUERY 0x1p15
enum { WEIGHTLESS_TOKEN = 37 };

/* 1 if the token is one of those that take nearly all the weight: the later half, the earlier half, or every second block, in
 * sequences by turns. */
static int takes_weight(const struct decode_token *token)
{
    const int later = token->t >= token->length / 2;
    return token->b % 3 == 2 ? token->t / 32 % 2 : later == (token->b % 3 == 0);
}

static double trend(const struct decode_token *token)
{
    int t = token->t, length = token->length;
    switch (token->distribution) {
    case RISING:
        return 0.25 * t;
    case FALLING:
        return 0.25 * (length - t);
    case OUTWEIGHED:
        return OUTWEIGHED_SLOPE * (length - 1 - t);
    case DOMINANT:
        return t == length - length / 4 - 1 ? 40.0 : 0.0;
    case EARLY:
        return t == 2 ? 14.0 : 0.0;
    case FAINT:
        return t == length - length / 4 - 1 ? 22.0 : 0.0;
    case FAINT_PARTS:
        return takes_weight(token) ? 22.0 : 0.0;
    case BELOW:
        return -20000.0 / BELOW_QUERY;
    case NAN_WEIGHTLESS:
        return t == WEIGHTLESS_TOKEN ? -1000.0 : 0.0;
    case NAN_OVERTAKEN:
        return t == length - length / 4 - 1 ? 1000.0 : 0.0;
    default:
        return 0.0;
    }
}

/* Component 0 of a key whose score is as trend() says. */
static double of_score(const struct decode_token *token)
{
    return trend(token) * sqrt((double)token->head_dim);
}

static double element(const struct decode_token *token, int d, double noise)
{
    int t = token->t, length = token->length, key = token->key;
    int hit = token->b == 1 && t == WEIGHTLESS_TOKEN && d == 3;
    switch (token->distribution) {
    case LARGE:
        return key ? 100.0 * noise : noise;
    case EQUAL:
        return key ? (d % 3 - 1) * 0.5 + 0.25 : noise;
    case NAN_KEY:
        return key && hit ? (double)NAN : noise;
    case NAN_VALUE:
        return !key && hit ? (double)NAN : noise;
    case INFINITE_KEY:
        return key && hit ? -(double)INFINITY : noise;
    case INFINITE_VALUE:
        if (key || token->b != 1 || t != WEIGHTLESS_TOKEN) return noise;
        return d % 5 == 3 ? (double)INFINITY : d % 5 == 1 ? -(double)INFINITY : noise;
    case LARGE_VALUES: /* 65504 is more than 7 standard deviations away */
        if (key) return 0.25 * noise;
        return d % 2 ? -64000.0 - 200.0 * noise : 64000.0 + 200.0 * noise;
    case FAINT:
        if (key) return d == 0 ? of_score(token) : 0.25 * noise;
        return t == length - length / 4 - 1 ? 0.0 : 8192.0 * noise;
    case FAINT_PARTS:
        if (key) return d == 0 ? of_score(token) : 0.25 * noise;
        return takes_weight(token) ? 0.0 : 8192.0 * noise;
    case LOWEST: /* exact, and the same for all: the scale is a power of 2. Values do not sum to 0. */
        if (key) return d == 0 ? -LOWEST_QUERY : 0.0;
        return 4.0 + 0.5 * noise;
    case NAN_WEIGHTLESS:
    case NAN_OVERTAKEN:
        if (!key && hit) return (double)NAN;
        return key && d == 0 ? of_score(token) : noise;
    case RISING:
    case FALLING:
    case OUTWEIGHED:
    case BELOW:
    case DOMINANT:
    case EARLY:
        return key && d == 0 ? of_score(token) : noise;
    default:
        return noise;
    }
}

void decode_fill_row(const struct decode_token *token, float *row, size_t width, struct rng *rng)
{
    const size_t head_dim = (size_t)token->head_dim;
    rng_fill_row(rng, row, width);
    if (token->distribution == NORMAL || token->distribution == NAN_REST) return;
    for (size_t head = 0; head < width; head += head_dim)
        for (size_t d = 0; d < head_dim; d++)
            row[head + d] = (float)element(token, (int)d, (double)row[head + d]);
}

/* For caches so large that normal random numbers would take too long: multiples of 1/64 in [-2, 2), exact
 * in half, eight of them from each random number. */
void decode_fill_cheaply(float *row, size_t count, struct rng *rng)
{
    for (size_t i = 0; i < count; i += 8) { /* rows are multiples of 8 */
        uint64_t bits = rng_next(rng);
        for (size_t piece = 0; piece < 8; piece++)
            row[i + piece] = ((float)(bits >> (8 * piece) & 0xFF) - 128.0f) / 64.0f;
    }
}

void decode_fill_query(enum distribution distribution, int head_dim, size_t elems, struct rng *rng,
                       float *data)
{
    static const enum distribution trends[] = {RISING,        FALLING, DOMINANT,  BELOW,
                                               FAINT_PARTS,   LOWEST,  FAINT,     NAN_WEIGHTLESS,
                                               NAN_OVERTAKEN, EARLY,   OUTWEIGHED};
    int trended = 0;
    for (size_t i = 0; i < sizeof trends / sizeof trends[0]; i++) trended |= distribution == trends[i];
    float first = distribution == BELOW    ? (float)BELOW_QUERY
                  : distribution == LOWEST ? (float)LOWEST_QUERY
                                           : 1.0f;
    for (size_t i = 0; i < elems; i++) {
        double noise = rng_normal(rng);
        if (distribution == LARGE) noise *= 100.0;
        data[i] = trended && i % (size_t)head_dim == 0 ? first : (float)noise;
    }
}

/* ---- what a report says ------------------------------------------------------------------------------------ */

const char *decode_purpose(enum distribution distribution)
{
    static const char holds_nan[] =
        "one token of sequence 1 holds a NaN: it must come out there and nowhere else";
    static const char *const of_data[CHEAP + 1] = {
        [LARGE] = "scores of magnitude 1e4: exp overflows unless the maximum is subtracted first",
        [BELOW] = "all scores lie near -20,000: does the maximum begin at -infinity, and not at 0?",
        [LOWEST] =
            "all scores are below -1e30: does the maximum begin at -infinity, and not at a low number?",
        [FAINT_PARTS] = "half of the keys have nearly all the weight, and values of 0: weights of 1e-10 are "
                        "all that comes out",
        [EARLY] = "the third key takes nearly all the weight: the tiles behind it weigh less than a "
                  "thousandth each, and count",
        [FAINT] =
            "one key, whose value is 0, takes nearly all the weight: weights of 1e-10 are all that comes out",
        [OUTWEIGHED] =
            "what the distance takes from a score its key gives back: all keys count, however far they are",
        [NAN_WEIGHTLESS] = "a value is NaN whose weight is 0: 0 * NaN is NaN",
        [NAN_OVERTAKEN] = "a value is NaN whose weight becomes 0 when a later key lies far above: a sum that "
                          "is NaN stays NaN if it is multiplied by 0",
        [INFINITE_KEY] =
            "a key holds -infinity: its score is -infinity, or +infinity where the query is negative",
        [INFINITE_VALUE] = "a value holds infinities: they must come out, in their columns and nowhere else",
        [LARGE_VALUES] = "values lie near the largest half: sums that are not divided yet are beyond it",
        [RISING] = "scores rise along the keys: is everything rescaled whenever the maximum grows?",
        [NAN_KEY] = holds_nan,
        [NAN_VALUE] = holds_nan,
    };
    return of_data[distribution];
}

/* ---- what is right ----------------------------------------------------------------------------------------- */

/* The same row in plain f32, for the maximum-norm check; p is scratch for the weights. */
WIDE static void plain_row(const struct decode_row *row, double *p, double *out)
{
    const struct ref_paged_query *query = &row->query;
    size_t head_dim = (size_t)row->head_dim;
    float scale = query->scale != 0.0 ? (float)query->scale : 1.0f / sqrtf((float)row->head_dim);
    float max = -INFINITY, sum = 0.0f;
    plain_dots(query->q, query->k, head_dim, (size_t)row->length, p);
    for (int t = 0; t < row->length; t++) {
        p[t] = (double)((float)p[t] * scale + (float)query->slope * (float)(t - (row->length - 1)));
        max = fmaxf(max, (float)p[t]);
    }
    for (int t = 0; t < row->length; t++) {
        p[t] = (double)expf((float)p[t] - max);
        sum += (float)p[t];
    }
    float value[MOST_HEAD_DIM] = {0.0f};
    for (int t = 0; t < row->length; t++)
        for (size_t d = 0; d < head_dim; d++) value[d] += (float)p[t] * query->v[(size_t)t * head_dim + d];
    for (size_t d = 0; d < head_dim; d++)
        out[d] = (double)storage_round(row->storage, row->length > 0 ? value[d] / sum : 0.0f);
}

/* As attention_oracle.c has it: the output moves by p_t (v_t - out) e_t, e_t being the error of score t. */
WIDE static void bound_row(const struct decode_row *row, struct lesson_span *span)
{
    const struct ref_paged_result *exact = &row->exact;
    double root = sqrt((double)row->head_dim), max = (double)-INFINITY;
    double rooted[MOST_HEAD_DIM] = {0.0}, flat[MOST_HEAD_DIM] = {0.0};
    double sum[MOST_HEAD_DIM] = {0.0}, squares[MOST_HEAD_DIM] = {0.0}, of_alike[MOST_HEAD_DIM] = {0.0};
    double hull[MOST_HEAD_DIM] = {0.0};
    struct bound_weights weights = {0};
    struct bound_columns columns = {
        .count = row->head_dim, .sum = sum, .squares = squares, .alike = of_alike};
    for (int t = 0; t < row->length; t++) max = fmax(max, exact->scores[t]);
    for (int t = 0; t < row->length; t++) {
        const float *v = row->query.v + (size_t)t * (size_t)row->head_dim;
        for (int d = 0; d < row->head_dim;
             d++) { /* the output lies between values, however far the scores are off */
            const double off = fabs((double)v[d] - span->expected[d]);
            hull[d] = off > hull[d] ? off : hull[d]; /* NaN is none; fmax() would be a call */
        }
        if (exact->probs[t] == 0.0) continue; /* its score may be -infinity */
        double below = max - exact->scores[t], size = exact->score_magnitude[t];
        bound_columns_add(&columns, &weights, exact->probs[t], v);
        for (int d = 0; d < row->head_dim; d++) {
            double pull = exact->probs[t] * fabs((double)v[d] - span->expected[d]);
            rooted[d] += pull * (root * size + below);
            flat[d] += pull * (BOUND_EXP + size + below) * pull * (BOUND_EXP + size + below);
        }
    }
    for (int d = 0; d < row->head_dim; d++) {
        double stored = bound_stored_as(row->storage, span->expected[d]), m = exact->magnitude[d];
        double size = fabs(span->expected[d]);
        double alike = bound_columns_alike(&columns, d) + size * bound_weights_alike(&weights);
        double running = bound_columns_running(&columns, d) + size * bound_weights_running(&weights);
        span->bound[d] = stored + bound_sum(row->length, m) + fmin(bound_floor(rooted[d]), hull[d]) + alike;
        span->floor[d] = stored + bound_floor(sqrt(flat[d])) + fmax(bound_floor(m), running) + alike;
    }
}

void decode_row_expect(struct decode_row *row, double *scratch, int unit_scale, struct lesson_span *span)
{
    row->exact.out = span->expected;
    ref_paged_attention_row(&row->query, &row->exact);
    bound_row(row, span);
    plain_row(row, scratch, span->plain);
    for (int d = 0; unit_scale && d < row->head_dim; d++)
        span->bound[d] = fmin(span->bound[d], bound_unit(row->storage));
}
