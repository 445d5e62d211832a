/**
 * @file qwen3.c
 * @brief A decoder of the Qwen3 kind in float64: every value goes with the variance of its error.
 */
#include "qwen3.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/wide.h"
#include "experts.h"
#include "lanes.h"

enum { MOST_TOP_K = 32 };

/** Values, and variances of the errors that another computation of them has. */
struct noisy {
    double *x, *variance;
};

/** What all steps share. */
struct context {
    const struct ref_qwen3_sizes *s;
    const struct ref_qwen3_rounding *r;
    size_t count, given;             /* tokens, and positions before them */
    double *next;                    /* scratch that nobody has yet */
    double *scores, *score_variance; /* [given + count] */
    uint64_t *random;                /* where roundings are drawn from; NULL: there are none */
};

/* A rounding to unit roundoff @p u, evenly spread. */
static double rounded(double x, double u)
{
    return u * u * x * x / 3.0;
}

/* @p x, or what a computation has for it whose own error there has that variance. */
static double drawn(const struct context *c, double x, double variance)
{
    if (c->random == NULL) return x;
    *c->random = *c->random * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX */
    return x + sqrt(3.0 * variance) * ((double)(*c->random >> 11) * 0x1p-52 - 1.0);
}

static struct noisy take(struct context *c, size_t count)
{
    struct noisy taken = {c->next, c->next + count};
    c->next += 2 * count;
    return taken;
}

static struct noisy part(struct noisy whole, size_t offset)
{
    return (struct noisy){whole.x + offset, whole.variance + offset};
}

/* y = x / rms(x) * gain, stored with roundoff @p u. */
static void normalize(const struct context *c, struct noisy x, const float *gain, size_t count, double u,
                      struct noisy y)
{
    double sum = 0.0;
    for (size_t i = 0; i < count; i++) sum += x.x[i] * x.x[i];
    double factor = 1.0 / sqrt(sum / (double)count + c->s->epsilon);
    for (size_t i = 0; i < count; i++) {
        double scale = factor * (double)gain[i], value = x.x[i] * scale;
        double own = rounded(value, 4.0 * c->r->sums) + rounded(value, u);
        y.variance[i] = scale * scale * x.variance[i] + own;
        y.x[i] = drawn(c, value, own);
    }
}

/* A sum of @p count products is rounded as it grows, by u times what it has reached, evenly spread. @p passed is the sum of
 * squares of what it reaches in the order at hand. In another order it reaches something else: terms of both signs, in any
 * order, about the root of the sum of their squares. The larger of the two counts. */
static double of_sum(const struct context *c, size_t count, double squares, double passed)
{
    return c->r->sums * c->r->sums * fmax((double)count * squares, passed / 3.0);
}

/* Rounds a row to whole multiples of its largest element / levels. */
static void to_levels(const struct context *c, struct noisy row, size_t count)
{
    double largest = 0.0;
    for (size_t i = 0; i < count; i++) largest = fmax(largest, fabs(row.x[i]));
    const double step = c->r->levels > 0.0 ? largest / c->r->levels : 0.0, own = step * step / 12.0;
    for (size_t i = 0; i < count && step > 0.0; i++) {
        row.x[i] = drawn(c, row.x[i], own);
        row.variance[i] += own;
    }
}

/** The sums of ROWS rows. */
struct row_sums {
    lanes sum[2], squares[2], passed[2], variance[2];
};

/* The next product of the rows that half @p h has. */
static inline void add_term(struct row_sums *s, int h, const lanes *term)
{
    s->sum[h] += *term;
    s->passed[h] += s->sum[h] * s->sum[h];
    s->squares[h] += *term * *term;
}

/* What @p rows of W, @p inputs long, make of x. */
WIDE static void sum_rows(const float *weights, size_t rows, struct noisy x, size_t inputs,
                          struct row_sums *sums)
{
    struct row_sums s = {0};
    const float *row[ROWS];
    lanes_rows(weights, rows, inputs, row);
    for (size_t i = 0; i < inputs; i++)
        for (int h = 0; h < 2; h++) {
            lanes w;
            lanes_load(row, h, i, &w);
            const lanes term = w * x.x[i];
            add_term(&s, h, &term);
            s.variance[h] += w * w * x.variance[i];
        }
    *sums = s;
}

/* out = W x, or out += W x, where W x is rounded to u; without W it is 0. A sum that begins with what is in out passes through that, too, with every
 * product. */
static void project(const struct context *c, const float *weights, struct noisy x, size_t inputs,
                    size_t outputs, int add, double u, struct noisy out)
{
    struct row_sums s = {0};
    for (size_t row = 0; row < outputs; row++) {
        const size_t h = row % ROWS / LANES, lane = row % LANES;
        if (row % ROWS == 0 && weights != NULL)
            sum_rows(weights + row * inputs, outputs - row, x, inputs, &s);
        double sum = s.sum[h][lane], squares = s.squares[h][lane];
        double own = of_sum(c, inputs, squares, s.passed[h][lane]) + rounded(sqrt(squares), c->r->products) +
                     rounded(sum, u);
        if (add) {
            own += (double)inputs * rounded(out.x[row], c->r->sums);
            sum += out.x[row];
            own += rounded(sum, c->r->sums);
        }
        out.x[row] = drawn(c, sum, own);
        out.variance[row] = (add ? out.variance[row] : 0.0) + s.variance[h][lane] + own;
    }
}

/* A head of q or k: its norm, then pairs (d, d + head_dim / 2) turned by position * base^(-2 d / head_dim). */
static void norm_and_rotate(const struct context *c, struct noisy head, const float *gain, size_t position)
{
    size_t half = (size_t)c->s->head_dim / 2;
    normalize(c, head, gain, 2 * half, 0.0, head);
    for (size_t d = 0; d < half; d++) {
        double angle = (double)position * pow(c->s->rope_base, -(double)d / (double)half);
        double cosine = cos(angle), sine = sin(angle), low = head.x[d], high = head.x[d + half];
        double of_low = head.variance[d], of_high = head.variance[d + half];
        /* The angle itself is a float: what it is off by moves the pair at a right angle. */
        double turned = rounded(angle, 4.0 * c->r->sums) * (low * low + high * high);
        double x = low * cosine - high * sine, y = high * cosine + low * sine;
        double of_x = turned + rounded(x, c->r->stored), of_y = turned + rounded(y, c->r->stored);
        head.x[d] = drawn(c, x, of_x);
        head.x[d + half] = drawn(c, y, of_y);
        head.variance[d] = of_low * cosine * cosine + of_high * sine * sine + of_x;
        head.variance[d + half] = of_high * cosine * cosine + of_low * sine * sine + of_y;
    }
}

/* q K^T of ROWS keys, the last one in place of those beyond @p last. */
WIDE static void sum_keys(size_t dim, struct noisy q, struct noisy keys, size_t stride, size_t first,
                          size_t last, struct row_sums *sums)
{
    struct row_sums s = {0};
    size_t row[ROWS];
    for (size_t r = 0; r < ROWS; r++) row[r] = (first + r < last ? first + r : last) * stride;
    for (size_t d = 0; d < dim; d++)
        for (int h = 0; h < 2; h++) {
            const size_t *of = row + h * LANES;
            const double *k = keys.x + d, *of_k = keys.variance + d;
            const lanes b = {k[of[0]], k[of[1]], k[of[2]], k[of[3]]};
            const lanes of_b = {of_k[of[0]], of_k[of[1]], of_k[of[2]], of_k[of[3]]};
            const lanes term = q.x[d] * b;
            add_term(&s, h, &term);
            s.variance[h] += q.x[d] * q.x[d] * of_b + b * b * q.variance[d];
        }
    *sums = s;
}

enum { MOST_DIM = 64 }; /* elements of a head that are summed together */

/* Elements first .. first + count of P V: the sums over all keys, then what the errors make of them. */
WIDE static void sum_values(const struct context *c, struct noisy values, size_t stride, size_t last,
                            size_t count, struct noisy out)
{
    double value[MOST_DIM] = {0.0}, variance[MOST_DIM] = {0.0}, squares[MOST_DIM] = {0.0};
    const double lost = c->r->scores * c->r->scores / 3.0;
    for (size_t t = 0; t <= last; t++)
        for (size_t d = 0; d < count; d++) value[d] += c->scores[t] * values.x[t * stride + d];
    for (size_t t = 0; t <= last; t++) {
        const double p = c->scores[t], of_p = c->score_variance[t];
        const double *x = values.x + t * stride, *of_x = values.variance + t * stride;
        for (size_t d = 0; d < count; d++) {
            const double moved = p * (x[d] - value[d]), term = p * x[d];
            variance[d] += moved * moved * of_p + p * p * of_x[d] + lost * term * term;
            squares[d] += term * term;
        }
    }
    for (size_t d = 0; d < count; d++) {
        const double own =
            c->r->sums * c->r->sums * (16.0 + (double)last) * squares[d] + rounded(value[d], c->r->stored);
        out.x[d] = drawn(c, value[d], own);
        out.variance[d] = variance[d] + own;
    }
}

/* One query head at position @p last over keys and values of positions 0 .. last, @p stride elements apart. */
static void attend(const struct context *c, struct noisy q, struct noisy keys, struct noisy values,
                   size_t stride, size_t last, struct noisy out)
{
    size_t dim = (size_t)c->s->head_dim;
    double largest = -(double)INFINITY, sum = 0.0, scale = 1.0 / sqrt((double)dim);
    struct row_sums s;
    for (size_t t = 0; t <= last; t++) {
        const size_t h = t % ROWS / LANES, lane = t % LANES;
        if (t % ROWS == 0) sum_keys(dim, q, keys, stride, t, last, &s);
        double own = of_sum(c, dim, s.squares[h][lane], s.passed[h][lane]) * scale * scale;
        c->scores[t] = drawn(c, s.sum[h][lane] * scale, own);
        c->score_variance[t] = s.variance[h][lane] * scale * scale + own;
        largest = fmax(largest, c->scores[t]);
    }
    for (size_t t = 0; t <= last; t++) sum += c->scores[t] = exp(c->scores[t] - largest);
    for (size_t t = 0; t <= last; t++) c->scores[t] /= sum;
    for (size_t d = 0; d < dim; d += MOST_DIM)
        sum_values(c, part(values, d), stride, last, dim - d < MOST_DIM ? dim - d : MOST_DIM, part(out, d));
}

/* What a layer works with; keys and values of all positions. */
struct layer_scratch {
    struct noisy h, q, keys, values, attended, gate, up;
    struct noisy router, of_expert, mixed; /* of experts */
    float *as_floats;                      /* [experts] what the router says */
};

static struct noisy exact(struct noisy to, const float *from, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        to.x[i] = (double)from[i];
        to.variance[i] = 0.0;
    }
    return to;
}

static void report(struct noisy from, size_t count, double *x, double *deviation)
{
    memcpy(x, from.x, count * sizeof *x);
    for (size_t i = 0; deviation != NULL && i < count; i++) deviation[i] = sqrt(from.variance[i]);
}

static void attention(struct context *c, const struct ref_qwen3_layer *w, struct noisy x,
                      const struct layer_scratch *l)
{
    const struct ref_qwen3_sizes *s = c->s;
    size_t hidden = (size_t)s->hidden, dim = (size_t)s->head_dim, q_width = (size_t)s->heads * dim;
    size_t kv_width = (size_t)s->kv_heads * dim;
    for (size_t i = 0; i < c->count; i++) {
        const size_t t = c->given + i;
        struct noisy of_token = part(x, i * hidden), key = part(l->keys, t * kv_width);
        normalize(c, of_token, w->input_norm, hidden, c->r->stored, l->h);
        to_levels(c, l->h, hidden);
        project(c, w->q, l->h, hidden, q_width, 0, c->r->products, l->q);
        project(c, w->k, l->h, hidden, kv_width, 0, c->r->products, key);
        project(c, w->v, l->h, hidden, kv_width, 0, hypot(c->r->stored, c->r->products),
                part(l->values, t * kv_width));
        for (int head = 0; head < s->kv_heads; head++)
            norm_and_rotate(c, part(key, (size_t)head * dim), w->k_norm, t);
        for (int head = 0; head < s->heads; head++) {
            size_t at = (size_t)head * dim, kv_at = (size_t)(head / (s->heads / s->kv_heads)) * dim;
            norm_and_rotate(c, part(l->q, at), w->q_norm, t);
            attend(c, part(l->q, at), part(l->keys, kv_at), part(l->values, kv_at), kv_width, t,
                   part(l->attended, at));
        }
        to_levels(c, l->attended, q_width);
        project(c, w->o, l->attended, q_width, hidden, 1, c->r->products, of_token);
    }
}

/* out = D (silu(G h) * U h), or out += that; silu(gate) * up comes to stand in place of the gate. @p u: roundoff of that product. */
static void gated(const struct context *c, const struct ref_qwen3_layer *w, size_t expert, struct noisy h,
                  int add, double u, struct noisy out, const struct layer_scratch *l)
{
    size_t hidden = (size_t)c->s->hidden, inner = (size_t)c->s->intermediate, at = expert * hidden * inner;
    if (w->down == NULL) return; /* 0 is added */
    project(c, w->gate + at, h, hidden, inner, 0, c->r->products, l->gate);
    project(c, w->up + at, h, hidden, inner, 0, c->r->products, l->up);
    for (size_t i = 0; i < inner; i++) {
        double g = l->gate.x[i], up = l->up.x[i], sigmoid = 1.0 / (1.0 + exp(-g));
        double slope = sigmoid * (1.0 + g * (1.0 - sigmoid)) * up, silu = g * sigmoid;
        double variance = slope * slope * l->gate.variance[i] + silu * silu * l->up.variance[i];
        double own = rounded(silu * up, 6.0 * c->r->sums) + rounded(silu * up, c->r->stored);
        l->gate.x[i] = drawn(c, silu * up, own);
        l->gate.variance[i] = variance + own;
    }
    to_levels(c, l->gate, inner);
    project(c, w->down + at, l->gate, inner, hidden, add, u, out);
}

/* The variance of a token's weight for its choice @p j: softmax moves by p_j (dl_j - sum_i p_i dl_i), over those that it is taken of. */
static double of_weight(const struct context *c, struct noisy logits, const int *chosen,
                        const double *weights, int j)
{
    const int all = c->s->renormalise ? c->s->top_k : c->s->experts;
    double sum = 0.0, variance = rounded(weights[j], 8.0 * c->r->sums), top = -(double)INFINITY;
    for (int i = 0; i < c->s->experts; i++) top = fmax(top, logits.x[i]);
    for (int i = 0; i < all; i++) sum += exp(logits.x[c->s->renormalise ? chosen[i] : i] - top);
    for (int i = 0; i < all; i++) {
        const int expert = c->s->renormalise ? chosen[i] : i;
        const double moved = weights[j] * ((expert == chosen[j]) - exp(logits.x[expert] - top) / sum);
        variance += moved * moved * logits.variance[expert];
    }
    return variance;
}

/* x += the weighted sum of what the token's experts make of h. What each makes, and the sum, are stored. */
static void mix_experts(const struct context *c, const struct ref_qwen3_layer *w, struct noisy h,
                        struct noisy x, const struct layer_scratch *l)
{
    const size_t hidden = (size_t)c->s->hidden;
    int chosen[MOST_TOP_K];
    double weights[MOST_TOP_K];
    project(c, w->router, h, hidden, (size_t)c->s->experts, 0, 0.0, l->router);
    for (int i = 0; i < c->s->experts; i++) l->as_floats[i] = (float)l->router.x[i];
    ref_experts_route(l->as_floats, c->s->experts, c->s->top_k, c->s->renormalise, chosen, weights);
    for (size_t i = 0; i < hidden; i++) l->mixed.x[i] = l->mixed.variance[i] = 0.0;
    for (int j = 0; j < c->s->top_k; j++) {
        const double variance = of_weight(c, l->router, chosen, weights, j);
        gated(c, w, (size_t)chosen[j], h, 0, c->r->stored, l->of_expert, l);
        for (size_t i = 0; i < hidden; i++) {
            const double y = l->of_expert.x[i];
            l->mixed.x[i] += weights[j] * y;
            l->mixed.variance[i] += weights[j] * weights[j] * l->of_expert.variance[i] + y * y * variance;
        }
    }
    for (size_t i = 0; i < hidden; i++) {
        const double own = rounded(l->mixed.x[i], c->r->stored) + rounded(x.x[i] + l->mixed.x[i], c->r->sums);
        x.x[i] = drawn(c, x.x[i] + l->mixed.x[i], own);
        x.variance[i] += l->mixed.variance[i] + own;
    }
}

static void mlp(struct context *c, const struct ref_qwen3_layer *w, struct noisy x,
                const struct layer_scratch *l)
{
    size_t hidden = (size_t)c->s->hidden;
    for (size_t t = 0; t < c->count; t++) {
        struct noisy of_token = part(x, t * hidden);
        normalize(c, of_token, w->mlp_norm, hidden, c->r->stored, l->h);
        to_levels(c, l->h, hidden);
        if (c->s->experts > 0)
            mix_experts(c, w, l->h, of_token, l);
        else
            gated(c, w, 0, l->h, 1, c->r->products, of_token, l);
    }
}

/* @p sum += (drawn - exact)^2 of each. */
static void add_squares(const double *drawn, const double *exact, size_t count, double *sum)
{
    for (size_t i = 0; i < count; i++) sum[i] += (drawn[i] - exact[i]) * (drawn[i] - exact[i]);
}

/* The larger of the model's deviation and that of the computations whose squares were added up. */
static void take_larger(double *deviation, const double *squares, size_t count, int computations)
{
    for (size_t i = 0; i < count && computations > 0; i++)
        deviation[i] = fmax(deviation[i], sqrt(squares[i] / computations));
}

/* Elements of the keys and values that the tokens add to the caches of all layers. */
static size_t added_elems(const struct ref_qwen3_sizes *s, size_t count)
{
    return (size_t)s->layers * 2 * count * (size_t)s->kv_heads * (size_t)s->head_dim;
}

size_t ref_qwen3_scratch_elems(const struct ref_qwen3_sizes *s, size_t count, size_t given)
{
    size_t q_width = (size_t)s->heads * (size_t)s->head_dim,
           kv_width = (size_t)s->kv_heads * (size_t)s->head_dim;
    size_t of_token = (size_t)s->hidden + (size_t)s->vocab;
    size_t of_experts = s->experts > 0 ? 2 * (size_t)s->experts + 2 * (size_t)s->hidden : 0;
    return 2 * (count * of_token + of_experts + (given + count) * (2 * kv_width + 1) + (size_t)s->hidden +
                2 * q_width + 2 * (size_t)s->intermediate + (size_t)s->vocab + added_elems(s, count));
}

/* Keys and values of the positions before the tokens. */
static void take_given(const struct context *c, const struct ref_qwen3_cache *cache, int layer,
                       const struct layer_scratch *l)
{
    const size_t elems = c->given * (size_t)c->s->kv_heads * (size_t)c->s->head_dim;
    if (elems == 0) return;
    (void)exact(l->keys, cache->before + 2 * (size_t)layer * elems, elems);
    (void)exact(l->values, cache->before + (2 * (size_t)layer + 1) * elems, elems);
}

/* Keys and values of the tokens, as a layer has them. */
static void report_added(const struct context *c, const struct ref_qwen3_cache *cache, int layer,
                         const struct layer_scratch *l)
{
    const size_t width = (size_t)c->s->kv_heads * (size_t)c->s->head_dim, elems = c->count * width;
    if (cache == NULL || cache->added == NULL) return;
    for (size_t half = 0; half < 2; half++) {
        const size_t at = (2 * (size_t)layer + half) * elems;
        report(part(half == 0 ? l->keys : l->values, c->given * width), elems, cache->added + at,
               cache->added_deviation != NULL ? cache->added_deviation + at : NULL);
    }
}

/* Logits of all tokens, exact or with roundings that are drawn. */
static void follow_text(struct context c, const struct ref_qwen3_weights *weights, const int *tokens,
                        const struct ref_qwen3_cache *cache, double *logits, double *deviation)
{
    const struct ref_qwen3_sizes *s = c.s;
    size_t hidden = (size_t)s->hidden, vocab = (size_t)s->vocab, dim = (size_t)s->head_dim, count = c.count;
    const size_t all = c.given + count, kv_width = (size_t)s->kv_heads * dim;
    struct noisy x = take(&c, count * hidden), scores = take(&c, all), last = take(&c, vocab);
    struct layer_scratch l = {.h = take(&c, hidden),
                              .q = take(&c, (size_t)s->heads * dim),
                              .keys = take(&c, all * kv_width),
                              .values = take(&c, all * kv_width),
                              .attended = take(&c, (size_t)s->heads * dim),
                              .gate = take(&c, (size_t)s->intermediate),
                              .up = take(&c, (size_t)s->intermediate)};
    if (s->experts > 0) {
        l.router = take(&c, (size_t)s->experts), l.as_floats = (float *)take(&c, (size_t)s->experts).x;
        l.of_expert = take(&c, hidden), l.mixed = take(&c, hidden);
    }
    c.scores = scores.x;
    c.score_variance = scores.variance;
    for (size_t t = 0; t < count; t++)
        for (size_t i = 0; i < hidden; i++) {
            x.x[t * hidden + i] = (double)weights->embedding[(size_t)tokens[t] * hidden + i];
            x.variance[t * hidden + i] = 0.0;
        }
    for (int layer = 0; layer < s->layers; layer++) {
        take_given(&c, cache, layer, &l);
        attention(&c, &weights->layers[layer], x, &l);
        report_added(&c, cache, layer, &l);
        mlp(&c, &weights->layers[layer], x, &l);
    }
    for (size_t t = 0; t < count; t++) {
        normalize(&c, part(x, t * hidden), weights->last_norm, hidden, c.r->stored, l.h);
        project(&c, weights->head, l.h, hidden, vocab, 0, 0.0, last);
        memcpy(logits + t * vocab, last.x, vocab * sizeof *logits);
        for (size_t i = 0; deviation != NULL && i < vocab; i++)
            deviation[t * vocab + i] = sqrt(last.variance[i]);
    }
}

void ref_qwen3_logits(const struct ref_qwen3_sizes *s, const struct ref_qwen3_weights *weights,
                      const int *tokens, size_t count, const struct ref_qwen3_rounding *rounding,
                      const struct ref_qwen3_cache *cache, double *logits, double *deviation, double *scratch)
{
    const size_t all = count * (size_t)s->vocab, added = added_elems(s, count),
                 given = cache != NULL ? cache->given : 0;
    double *other = scratch, *squares = other + all + added;
    uint64_t random = 1;
    struct context c = {s, rounding, count, given, squares + all + added, NULL, NULL, NULL};
    const int of_cache = cache != NULL && cache->added_deviation != NULL;
    follow_text(c, weights, tokens, cache, logits, deviation);
    if (deviation == NULL) return;
    memset(squares, 0, (all + added) * sizeof *squares);
    c.random = &random;
    for (int i = 0; i < rounding->drawn; i++) {
        const struct ref_qwen3_cache with_roundings = {given, given > 0 ? cache->before : NULL,
                                                       of_cache ? other + all : NULL, NULL};
        follow_text(c, weights, tokens, &with_roundings, other, NULL);
        add_squares(other, logits, all, squares);
        if (of_cache) add_squares(other + all, cache->added, added, squares + all);
    }
    take_larger(deviation, squares, all, rounding->drawn);
    if (of_cache) take_larger(cache->added_deviation, squares + all, added, rounding->drawn);
}

/* ---- one layer, one token ------------------------------------------------------------------------------- */

size_t ref_layer_scratch_elems(const struct ref_qwen3_sizes *s, size_t keys)
{
    size_t dim = (size_t)s->head_dim, q_width = (size_t)s->heads * dim, kv_width = (size_t)s->kv_heads * dim;
    return 2 * ((size_t)s->hidden + 2 * q_width + 2 * kv_width + 2 * (size_t)s->intermediate +
                keys * (2 * dim + 1)) +
           3 * ((size_t)s->hidden + 2 * kv_width);
}

/* All keys of a head, of which the last is this token's. */
static void gather(struct noisy to, const float *earlier, size_t count, struct noisy last, size_t dim)
{
    (void)exact(to, earlier, count * dim);
    memcpy(to.x + count * dim, last.x, dim * sizeof *to.x);
    memcpy(to.variance + count * dim, last.variance, dim * sizeof *to.variance);
}

/* One way through the layer, exact or with roundings that are drawn. */
static void go_through(struct context c, const struct ref_qwen3_layer *w, const struct ref_layer_step *step)
{
    const struct ref_qwen3_sizes *s = c.s;
    size_t hidden = (size_t)s->hidden, dim = (size_t)s->head_dim, keys = step->position + 1;
    size_t q_width = (size_t)s->heads * dim, kv_width = (size_t)s->kv_heads * dim;
    struct noisy x = exact(take(&c, hidden), step->x, hidden), scores = take(&c, keys);
    struct noisy q = take(&c, q_width), kv = take(&c, 2 * kv_width), attended = take(&c, q_width);
    struct layer_scratch l = {.keys = take(&c, keys * dim),
                              .values = take(&c, keys * dim),
                              .gate = take(&c, (size_t)s->intermediate),
                              .up = take(&c, (size_t)s->intermediate)};
    c.scores = scores.x;
    c.score_variance = scores.variance;
    project(&c, w->q, x, hidden, q_width, 0, 0.0, q);
    project(&c, w->k, x, hidden, kv_width, 0, c.r->stored, kv);
    project(&c, w->v, x, hidden, kv_width, 0, c.r->stored, part(kv, kv_width));
    for (int head = 0; head < s->heads; head++) {
        size_t kv_head = (size_t)(head / (s->heads / s->kv_heads)), before = kv_head * step->room * dim;
        gather(l.keys, step->keys + before, step->position, part(kv, kv_head * dim), dim);
        gather(l.values, step->values + before, step->position, part(kv, kv_width + kv_head * dim), dim);
        attend(&c, part(q, (size_t)head * dim), l.keys, l.values, dim, step->position,
               part(attended, (size_t)head * dim));
    }
    project(&c, w->o, attended, q_width, hidden, 1, 0.0, x);
    report(kv, 2 * kv_width, step->appended, step->appended_deviation);
    gated(&c, w, 0, x, 1, c.r->products, x, &l);
    report(x, hidden, step->out, step->deviation);
}

void ref_layer_step(const struct ref_qwen3_sizes *s, const struct ref_qwen3_layer *w,
                    const struct ref_qwen3_rounding *rounding, const struct ref_layer_step *step,
                    double *scratch)
{
    size_t hidden = (size_t)s->hidden, appended = 2 * (size_t)s->kv_heads * (size_t)s->head_dim;
    size_t all = hidden + appended;
    double *other = scratch, *unused = other + all, *squares = unused + all;
    uint64_t random = 1;
    struct context c = {s, rounding, 1, 0, squares + all, NULL, NULL, NULL};
    struct ref_layer_step with_roundings = *step;
    with_roundings.out = other;
    with_roundings.deviation = unused;
    with_roundings.appended = other + hidden;
    with_roundings.appended_deviation = unused + hidden;
    go_through(c, w, step);
    memset(squares, 0, all * sizeof *squares);
    c.random = &random;
    for (int i = 0; i < rounding->drawn; i++) {
        go_through(c, w, &with_roundings);
        add_squares(other, step->out, hidden, squares);
        add_squares(other + hidden, step->appended, appended, squares + hidden);
    }
    take_larger(step->deviation, squares, hidden, rounding->drawn);
    take_larger(step->appended_deviation, squares + hidden, appended, rounding->drawn);
}
