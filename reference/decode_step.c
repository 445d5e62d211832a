/**
 * @file decode_step.c
 * @brief A decode step by its definition.
 */
#include "decode_step.h"

#include <math.h>
#include <stdint.h>

#include "base/wide.h"
#include "lanes.h"

static const double EPSILON = 1e-5, ROPE_BASE = 10000.0;

static double kept(const struct ref_decode_rounding *rounding, double x)
{
    return rounding->single ? (double)(float)x : x;
}

static double store(const struct ref_decode_rounding *rounding, double x, double beside, int terms,
                    double magnitude)
{
    return rounding->stored != NULL ? rounding->stored(x, beside, terms, magnitude) : x;
}

static size_t qkv_width(const struct ref_decode_sizes *s)
{
    return (size_t)(s->heads + 2 * s->kv_heads) * (size_t)s->head_dim;
}

static size_t layer_elems(const struct ref_decode_sizes *s)
{
    size_t hidden = (size_t)s->hidden;
    return 2 * hidden + hidden * qkv_width(s) + (size_t)s->heads * (size_t)s->head_dim * hidden +
           3 * hidden * (size_t)s->intermediate;
}

size_t ref_decode_weight_elems(const struct ref_decode_sizes *s)
{
    return (2 * (size_t)s->vocab + 1) * (size_t)s->hidden + (size_t)s->layers * layer_elems(s);
}

size_t ref_decode_scratch_elems(const struct ref_decode_sizes *s, size_t capacity)
{
    return 2 * (size_t)s->hidden + 2 * qkv_width(s) + (size_t)s->heads * (size_t)s->head_dim +
           3 * (size_t)s->intermediate + capacity;
}

typedef float floats __attribute__((vector_size(LANES * sizeof(float))));
typedef int64_t bits __attribute__((vector_size(LANES * sizeof(double))));

static inline void keep(int single, lanes *x)
{
    if (single) *x = __builtin_convertvector(__builtin_convertvector(*x, floats), lanes);
}

/* What @p rows of W, @p inputs long, make of x. */
static inline __attribute__((always_inline)) void sum_rows(int single, const double *x, const float *weights,
                                                           size_t rows, size_t inputs, lanes *sums,
                                                           lanes *absolute)
{
    lanes sum[2] = {{0.0}}, sizes[2] = {{0.0}};
    const float *row[ROWS];
    lanes_rows(weights, rows, inputs, row);
    for (size_t i = 0; i < inputs; i++)
        for (int h = 0; h < 2; h++) {
            lanes w;
            lanes_load(row, h, i, &w);
            lanes product = w * x[i];
            keep(single, &product);
            sum[h] += product;
            keep(single, &sum[h]);
            sizes[h] += (lanes)((bits)product & INT64_MAX);
        }
    for (int h = 0; h < 2; h++) sums[h] = sum[h], absolute[h] = sizes[h];
}

WIDE static void sum_single(const double *x, const float *weights, size_t rows, size_t inputs, lanes *sums,
                            lanes *absolute)
{
    sum_rows(1, x, weights, rows, inputs, sums, absolute);
}

WIDE static void sum_double(const double *x, const float *weights, size_t rows, size_t inputs, lanes *sums,
                            lanes *absolute)
{
    sum_rows(0, x, weights, rows, inputs, sums, absolute);
}

/** out = x W^T, or out += x W^T; magnitude receives the sums of the absolute products. */
static void project(const struct ref_decode_rounding *rounding, const double *x, const float *weights,
                    size_t inputs, size_t outputs, int add, double *out, double *magnitude)
{
    lanes sums[2], absolute[2];
    for (size_t o = 0; o < outputs; o++) {
        const size_t h = o % ROWS / LANES, lane = o % LANES;
        if (o % ROWS == 0)
            (rounding->single ? sum_single : sum_double)(x, weights + o * inputs, outputs - o, inputs, sums,
                                                         absolute);
        out[o] = add ? kept(rounding, out[o] + sums[h][lane]) : sums[h][lane];
        if (magnitude != NULL) magnitude[o] = absolute[h][lane];
    }
}

static void normalize(const struct ref_decode_rounding *rounding, const double *x, const float *gain,
                      size_t count, double *y)
{
    double sum = 0.0;
    for (size_t i = 0; i < count; i++) sum = kept(rounding, sum + x[i] * x[i]);
    double factor = kept(rounding, 1.0 / sqrt(sum / (double)count + EPSILON));
    for (size_t i = 0; i < count; i++) y[i] = kept(rounding, (double)gain[i] * x[i] * factor);
}

/** Turns the pairs (d, d + head_dim / 2) of a head; a pair's magnitude becomes that of its larger part. */
static void turn(const struct ref_decode_rounding *rounding, double *head, double *magnitude, int head_dim,
                 int position)
{
    for (int d = 0; d < head_dim / 2; d++) {
        double angle = kept(rounding, position * pow(ROPE_BASE, -2.0 * d / head_dim));
        double low = head[d], high = head[d + head_dim / 2];
        head[d] = kept(rounding, low * cos(angle) - high * sin(angle));
        head[d + head_dim / 2] = kept(rounding, high * cos(angle) + low * sin(angle));
        if (magnitude != NULL)
            magnitude[d] = magnitude[d + head_dim / 2] = fmax(magnitude[d], magnitude[d + head_dim / 2]);
    }
}

/** One head: out = softmax(q K^T / sqrt(head_dim)) V over positions 0 .. position. */
static void attend(const struct ref_decode_rounding *rounding, const double *q, const double *keys,
                   const double *values, size_t stride, int head_dim, int position, double *scores,
                   double *out)
{
    double largest = (double)-INFINITY, sum = 0.0;
    for (int t = 0; t <= position; t++) {
        scores[t] = 0.0;
        for (int d = 0; d < head_dim; d++)
            scores[t] = kept(rounding, scores[t] + q[d] * keys[(size_t)t * stride + (size_t)d]);
        scores[t] = kept(rounding, scores[t] / sqrt((double)head_dim));
        largest = fmax(largest, scores[t]);
    }
    for (int t = 0; t <= position; t++) {
        scores[t] = kept(rounding, exp(scores[t] - largest));
        sum = kept(rounding, sum + scores[t]);
    }
    for (int d = 0; d < head_dim; d++) {
        double total = 0.0;
        for (int t = 0; t <= position; t++)
            total = kept(rounding, total + scores[t] * values[(size_t)t * stride + (size_t)d]);
        out[d] = kept(rounding, total / sum);
    }
}

/** What a layer works with. */
struct layer_scratch {
    double *normed, *qkv, *qkv_magnitude, *attended, *gate_up, *gated, *scores;
};

/** The new key and value of a layer, into the sequence; its attention, into `attended`. */
static void attention(const struct ref_decode_sizes *s, const struct ref_decode_rounding *rounding, int layer,
                      int position, struct ref_decode_sequence *sequence,
                      const struct ref_decode_magnitudes *magnitudes, const struct layer_scratch *w)
{
    size_t head_dim = (size_t)s->head_dim, q_width = (size_t)s->heads * head_dim;
    size_t kv_width = (size_t)s->kv_heads * head_dim, first = (size_t)layer * sequence->capacity * kv_width;
    double *keys = sequence->keys + first, *values = sequence->values + first; /* [capacity, kv_width] */
    const struct ref_decode_magnitudes *beside = rounding->beside;
    for (int head = 0; head < s->heads + s->kv_heads; head++)
        turn(rounding, w->qkv + (size_t)head * head_dim, w->qkv_magnitude + (size_t)head * head_dim,
             s->head_dim, position);
    for (size_t i = 0; i < kv_width; i++) {
        double key = w->qkv[q_width + i], of_key = w->qkv_magnitude[q_width + i];
        double value = w->qkv[q_width + kv_width + i], of_value = w->qkv_magnitude[q_width + kv_width + i];
        size_t at = (size_t)layer * kv_width + i;
        double beside_key = beside != NULL ? beside->unstored_keys[at] : key;
        double beside_value = beside != NULL ? beside->unstored_values[at] : value;
        keys[(size_t)position * kv_width + i] = store(rounding, key, beside_key, s->hidden, of_key);
        values[(size_t)position * kv_width + i] = store(rounding, value, beside_value, s->hidden, of_value);
        if (magnitudes == NULL) continue;
        magnitudes->keys[at] = of_key;
        magnitudes->values[at] = of_value;
        magnitudes->unstored_keys[at] = key;
        magnitudes->unstored_values[at] = value;
    }
    for (int head = 0; head < s->heads; head++) {
        size_t kv_head = (size_t)(head / (s->heads / s->kv_heads)) * head_dim;
        attend(rounding, w->qkv + (size_t)head * head_dim, keys + kv_head, values + kv_head, kv_width,
               s->head_dim, position, w->scores, w->attended + (size_t)head * head_dim);
    }
}

void ref_decode_step(const struct ref_decode_sizes *s, const float *weights,
                     const struct ref_decode_rounding *rounding, int token, int position,
                     struct ref_decode_sequence *sequence, double *logits,
                     const struct ref_decode_magnitudes *magnitudes, double *scratch)
{
    size_t hidden = (size_t)s->hidden, inner = (size_t)s->intermediate, qkv = qkv_width(s);
    size_t q_width = (size_t)s->heads * (size_t)s->head_dim;
    double *x = scratch;
    struct layer_scratch w;
    w.normed = x + hidden;
    w.qkv = w.normed + hidden;
    w.qkv_magnitude = w.qkv + qkv;
    w.attended = w.qkv_magnitude + qkv;
    w.gate_up = w.attended + q_width;
    w.gated = w.gate_up + 2 * inner;
    w.scores = w.gated + inner;
    for (size_t i = 0; i < hidden; i++) x[i] = (double)weights[(size_t)token * hidden + i];
    weights += (size_t)s->vocab * hidden;
    for (int layer = 0; layer < s->layers; layer++) {
        const float *of_qkv = weights + hidden, *of_out = of_qkv + hidden * qkv;
        const float *mlp_norm = of_out + q_width * hidden, *of_gate = mlp_norm + hidden;
        normalize(rounding, x, weights, hidden, w.normed);
        project(rounding, w.normed, of_qkv, hidden, qkv, 0, w.qkv, w.qkv_magnitude);
        attention(s, rounding, layer, position, sequence, magnitudes, &w);
        project(rounding, w.attended, of_out, q_width, hidden, 1, x, NULL);
        normalize(rounding, x, mlp_norm, hidden, w.normed);
        project(rounding, w.normed, of_gate, hidden, 2 * inner, 0, w.gate_up, NULL);
        for (size_t i = 0; i < inner; i++)
            w.gated[i] = kept(rounding, w.gate_up[i] / (1.0 + exp(-w.gate_up[i])) * w.gate_up[inner + i]);
        project(rounding, w.gated, of_gate + hidden * 2 * inner, inner, hidden, 1, x, NULL);
        weights += layer_elems(s);
    }
    normalize(rounding, x, weights, hidden, w.normed);
    project(rounding, w.normed, weights + hidden, hidden, (size_t)s->vocab, 0, logits,
            magnitudes != NULL ? magnitudes->logits : NULL);
}
