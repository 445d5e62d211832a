/**
 * @file engine_guess.c
 * @brief Steps of a decoder: what a kernel would compute with a well-known mistake in it.
 *
 * A small decoder in float64, which follows the schedule piece by piece: a mistake may concern what earlier steps left in the
 * cache, or the number of a row in its step. It knows nothing of roundings: what it gives is compared with the bounds of the
 * right result.
 */
#include "engine_guess.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/engine_items.h"

/** Numbers of mistakes; a guess has the index of its mistake. */
enum twist {
    /* clang-format off */
    /* norms */
    NO_EPSILON, EPSILON_BUILT_IN, HEADS_EPSILON, EPSILON_BOUND, HEADS_EPSILON_BOUND, SUM_FOR_MEAN, NO_DIVISION, SQUARES_OF_SLICE, SPANS_CUT, NO_GAIN, NO_HEAD_NORM, GAIN_OF_Q, GAIN_OF_K,
    /* rotations */
    NO_ROPE, ROPE_NEIGHBOURS, ROPE_NEIGHBOURS_GAINS /* with the gains, too, of neighbours */, ROPE_BACKWARDS, ROPE_LOW_SIGN,
    ROPE_HIGH_SIGN, ROPE_OF_QUERIES, ROPE_OF_KEYS /* by the position after theirs */, ROPE_BY_ROW, GAIN_AFTER_ROPE,
    /* attention */
    NO_SCALE, OWN_KEY_HIDDEN, KV_HEAD_MODULO, ONE_CACHE,
    /* the residual state, the MLP, the head */
    STATE_LOST, STATE_LOST_BY_ATTENTION, STATE_LOST_BY_MLP, SILU_OF_UP, NO_SILU, GAIN_OF_INPUT, NO_LAST_NORM,
    WANTED_IGNORED, TIED_HEAD
    /* clang-format on */
};

/* clang-format off */
static const struct {
    enum record_cause cause;
    const char *words; /* NULL: those of the one before */
} TOLD[] = {
    [NO_EPSILON] = {RECORD_CAUSE_NORM, "as if epsilon were 0: a norm divides by the root of mean + epsilon"},
    [EPSILON_BUILT_IN] = {RECORD_CAUSE_NORM, "as if epsilon were 1e-6, whatever the configuration says"},
    [HEADS_EPSILON] = {RECORD_CAUSE_NORM, "as if epsilon were 1e-6 in the norms of heads, whatever the configuration says"},
    [EPSILON_BOUND] = {RECORD_CAUSE_NORM, "epsilon is taken for a lower bound of the mean of squares: it has to be added"},
    [HEADS_EPSILON_BOUND] = {RECORD_CAUSE_NORM,
                             "epsilon is taken for a lower bound of the mean of squares in the norms of heads: it has to be added"},
    [SUM_FOR_MEAN] = {RECORD_CAUSE_NORM, "a norm divides by the root of the sum of the squares, not of their mean"},
    [NO_DIVISION] = {RECORD_CAUSE_NORM, "a norm does not divide: x / sqrt(mean(x^2) + epsilon) comes before its gain"},
    [SQUARES_OF_SLICE] = {RECORD_CAUSE_NORM,
                          "a norm has the squares of a warp's own slice of the inputs alone: add those of all warps"},
    [SPANS_CUT] = {RECORD_CAUSE_NORM,
                   "inputs are left out: of spans of 32 inputs that eight warps cannot share evenly, some warps have one "
                   "more than others"},
    [NO_GAIN] = {RECORD_CAUSE_NORM, "as if the gains of norms were 1"},
    [NO_HEAD_NORM] = {RECORD_CAUSE_NORM, "as if queries and keys were not normalised head by head (q_norm, k_norm)"},
    [GAIN_OF_Q] = {RECORD_CAUSE_NORM, "keys are normalised with the gain of the queries: theirs is k_norm"},
    [GAIN_OF_K] = {RECORD_CAUSE_NORM, "queries are normalised with the gain of the keys: theirs is q_norm"},
    [NO_ROPE] = {RECORD_CAUSE_ROPE, "as if queries and keys were not rotated (rope)"},
    [ROPE_NEIGHBOURS] = {RECORD_CAUSE_ROPE, "rope rotates the pairs (2 d, 2 d + 1): here pairs are (d, d + head_dim / 2)"},
    [ROPE_NEIGHBOURS_GAINS] = {RECORD_CAUSE_ROPE, NULL},
    [ROPE_BACKWARDS] = {RECORD_CAUSE_ROPE, "rope rotates backwards: (low cos - high sin, high cos + low sin)"},
    [ROPE_LOW_SIGN] = {RECORD_CAUSE_ROPE, "rope has a wrong sign: (low cos - high sin, high cos + low sin)"},
    [ROPE_HIGH_SIGN] = {RECORD_CAUSE_ROPE, NULL},
    [ROPE_OF_QUERIES] = {RECORD_CAUSE_ROPE,
                         "queries are rotated by another position than that of their token: by the next one, or keys by the one before"},
    [ROPE_OF_KEYS] = {RECORD_CAUSE_ROPE,
                      "keys are rotated by another position than that of their token: by the next one, or queries by the one before"},
    [ROPE_BY_ROW] = {RECORD_CAUSE_ROPE, "rope rotates by the number of a row in its step, not by its position in the text"},
    [GAIN_AFTER_ROPE] = {RECORD_CAUSE_ROPE,
                         "queries and keys are multiplied with the gain after their rotation: the norm, with its gain, "
                         "comes first"},
    [NO_SCALE] = {RECORD_CAUSE_SCALE, "as without the scale: a score is q k / sqrt(head_dim)"},
    [OWN_KEY_HIDDEN] = {RECORD_CAUSE_MASK, "as if a row did not see its own key: it sees positions 0 to its own"},
    [KV_HEAD_MODULO] = {RECORD_CAUSE_KV_HEAD, "wrong K/V head: h % kv_heads in place of h / (heads / kv_heads)"},
    [ONE_CACHE] = {RECORD_CAUSE_KV_CACHE,
                   "all layers share the cache of one: keys and values of earlier steps are the last layer's"},
    [STATE_LOST] = {RECORD_CAUSE_RESIDUAL,
                    "what a layer gives takes the place of the state: it has to be added to it (the residual)"},
    [STATE_LOST_BY_ATTENTION] = {RECORD_CAUSE_RESIDUAL,
                                 "what attention gives takes the place of the state: it has to be added to it (the residual)"},
    [STATE_LOST_BY_MLP] = {RECORD_CAUSE_RESIDUAL,
                           "what the MLP gives takes the place of the state: it has to be added to it (the residual)"},
    [SILU_OF_UP] = {RECORD_CAUSE_MLP, "silu is taken of up: it belongs to the gate, silu(gate) * up"},
    [NO_SILU] = {RECORD_CAUSE_MLP, "as if silu were forgotten: silu(gate) * up"},
    [GAIN_OF_INPUT] = {RECORD_CAUSE_NORM, "the MLP's norm has the gain of attention's: theirs are two"},
    [NO_LAST_NORM] = {RECORD_CAUSE_NORM, "as without the last norm, before the head"},
    [WANTED_IGNORED] = {RECORD_CAUSE_LOGITS, "logits are those of the first rows: wanted_rows says of which, in which order"},
    [TIED_HEAD] = {RECORD_CAUSE_LOGITS, "as if the head were the embedding: here it has weights of its own (tied is 0)"},
};
/* clang-format on */
enum {
    TWISTS = sizeof TOLD / sizeof TOLD[0],
    SPAN = 32, /* inputs that a warp takes at once */
    WARPS = 8,
    MOST_HEAD_DIM = 128
};

/** The state of one request in the decoder. */
struct decoder {
    struct engine_plan plan;
    const float *weights;
    const float *tokens; /* [steps, max_rows] */
    enum twist twist;
    int alone;             /* 1: computes each token in a step of its own */
    double *x;             /* [tokens, hidden] */
    double *keys, *values; /* [layers, tokens, kv_heads * head_dim] */
    double *h, *q, *attended, *gate, *up, *scores, *logits;
};

/** The tokens of a request that one step computes. */
struct piece {
    int request, first, count, step;
};

/* The first input of the slice that warp @p warp sums up. */
static size_t slice_begin(size_t inputs, size_t warp)
{
    return warp * (inputs / SPAN) / WARPS * SPAN;
}

/* 1 if input `at` is left out because each warp takes only as many spans as the shortest slice has. */
static int is_cut(const struct decoder *d, size_t inputs, size_t at)
{
    if (d->twist != SPANS_CUT) return 0;
    for (size_t w = 0; w < WARPS; w++) {
        size_t begin = slice_begin(inputs, w);
        if (at >= begin && at < begin + inputs / SPAN / WARPS * SPAN) return 0;
    }
    return 1;
}

static double epsilon_of(const struct decoder *d, enum twist built_in)
{
    return d->twist == NO_EPSILON ? 0.0 : d->twist == built_in ? 1e-6 : (double)d->plan.config.epsilon;
}

/* The square of what a norm divides by. */
static double divisor_of(const struct decoder *d, double mean, enum twist built_in, enum twist bound)
{
    const double epsilon = epsilon_of(d, built_in);
    return d->twist == bound ? fmax(mean, epsilon) : mean + epsilon;
}

/* y = x / rms(x) * gain, for a state. */
static void norm(const struct decoder *d, const double *x, const float *gain, double *y)
{
    const size_t hidden = (size_t)d->plan.config.hidden;
    const double count = d->twist == SUM_FOR_MEAN ? 1.0 : (double)hidden;
    double sum = 0.0;
    for (size_t i = 0; i < hidden; i++) sum += is_cut(d, hidden, i) ? 0.0 : x[i] * x[i];
    for (size_t w = 0; w < WARPS; w++) {
        const size_t begin = slice_begin(hidden, w), end = slice_begin(hidden, w + 1);
        double of_slice = 0.0;
        for (size_t i = begin; i < end; i++) of_slice += x[i] * x[i];
        const double factor =
            d->twist == NO_DIVISION
                ? 1.0
                : 1.0 / sqrt(divisor_of(d, (d->twist == SQUARES_OF_SLICE ? of_slice : sum) / count,
                                        EPSILON_BUILT_IN, EPSILON_BOUND));
        for (size_t i = begin; i < end; i++)
            y[i] = x[i] * factor * (d->twist == NO_GAIN ? 1.0 : (double)gain[i]);
    }
}

/* out = W x. */
static void project(const struct decoder *d, const float *weights, const double *x, size_t inputs,
                    size_t outputs, double *out)
{
    for (size_t row = 0; row < outputs; row++) {
        const float *w = weights + row * inputs;
        double sum = 0.0;
        for (size_t i = 0; i < inputs; i++) sum += is_cut(d, inputs, i) ? 0.0 : (double)w[i] * x[i];
        out[row] = sum;
    }
}

/* Adds out = W x to a state, or replaces the state by it. */
static void add_to_state(const struct decoder *d, const float *weights, const double *x, size_t inputs,
                         enum twist lost, double *state)
{
    const size_t hidden = (size_t)d->plan.config.hidden;
    const int keep = d->twist != lost && d->twist != STATE_LOST;
    project(d, weights, x, inputs, hidden, d->h);
    for (size_t i = 0; i < hidden; i++) state[i] = (keep ? state[i] : 0.0) + d->h[i];
}

/* A head of q or k: its norm, then its rotation. */
static void turn(const struct decoder *d, double *head, const float *gain, int place)
{
    double low[MOST_HEAD_DIM], high[MOST_HEAD_DIM];
    const size_t dim = (size_t)d->plan.config.head_dim, half = dim / 2;
    const int neighbours = d->twist == ROPE_NEIGHBOURS || d->twist == ROPE_NEIGHBOURS_GAINS;
    const double low_sign = d->twist == ROPE_BACKWARDS || d->twist == ROPE_LOW_SIGN ? -1.0 : 1.0,
                 high_sign = d->twist == ROPE_BACKWARDS || d->twist == ROPE_HIGH_SIGN ? -1.0 : 1.0;
    double sum = 0.0;
    for (size_t i = 0; i < dim; i++) sum += head[i] * head[i];
    const double factor =
        d->twist == NO_HEAD_NORM
            ? 1.0
            : 1.0 / sqrt(divisor_of(d, sum / (double)dim, HEADS_EPSILON, HEADS_EPSILON_BOUND));
    for (size_t i = 0; i < half; i++) {
        const size_t at_low = neighbours ? 2 * i : i, at_high = neighbours ? 2 * i + 1 : i + half;
        const int own = d->twist == ROPE_NEIGHBOURS_GAINS,
                  no_gain = d->twist == NO_HEAD_NORM || d->twist == GAIN_AFTER_ROPE;
        low[i] = head[at_low] * factor * (no_gain ? 1.0 : (double)gain[own ? at_low : i]);
        high[i] = head[at_high] * factor * (no_gain ? 1.0 : (double)gain[own ? at_high : i + half]);
    }
    for (size_t i = 0; i < half; i++) {
        const double angle = (double)place * pow((double)d->plan.config.rope_base, -(double)i / (double)half);
        const double cosine = d->twist == NO_ROPE ? 1.0 : cos(angle),
                     sine = d->twist == NO_ROPE ? 0.0 : sin(angle);
        head[i] = low[i] * cosine - low_sign * high[i] * sine;
        head[i + half] = high[i] * cosine + high_sign * low[i] * sine;
        if (d->twist == GAIN_AFTER_ROPE) head[i] *= (double)gain[i], head[i + half] *= (double)gain[i + half];
    }
}

/* One query head over the keys and values of positions 0 .. count - 1. */
static void attend(const struct decoder *d, const double *q, const double *keys, const double *values,
                   size_t count, double *out)
{
    const size_t dim = (size_t)d->plan.config.head_dim, stride = engine_kv_width(&d->plan.config);
    const double scale = d->twist == NO_SCALE ? 1.0 : 1.0 / sqrt((double)dim);
    double largest = -(double)INFINITY, sum = 0.0;
    for (size_t t = 0; t < count; t++) {
        double score = 0.0;
        for (size_t i = 0; i < dim; i++) score += q[i] * keys[t * stride + i];
        d->scores[t] = score * scale;
        largest = fmax(largest, d->scores[t]);
    }
    for (size_t t = 0; t < count; t++) sum += d->scores[t] = exp(d->scores[t] - largest);
    for (size_t i = 0; i < dim; i++) {
        out[i] = 0.0;
        for (size_t t = 0; t < count; t++) out[i] += d->scores[t] / sum * values[t * stride + i];
    }
}

/* The number of a row within its step. */
static int row_of(const struct decoder *d, const struct piece *piece, int position)
{
    int request, at, rows = engine_rows(&d->plan, piece->step);
    for (int row = 0; row < rows && !d->alone; row++) {
        engine_row(&d->plan, piece->step, row, &request, &at);
        if (request == piece->request && at == position) return row;
    }
    return 0;
}

static void append(const struct decoder *d, const struct engine_layer *at, const struct piece *piece, int t,
                   double *key, double *value)
{
    const struct engine_config *c = &d->plan.config;
    const size_t hidden = (size_t)c->hidden, dim = (size_t)c->head_dim, kv_width = engine_kv_width(c);
    const float *of_keys = d->weights + at->qkv + engine_q_width(c) * hidden;
    norm(d, d->x + (size_t)t * hidden, d->weights + at->input_norm, d->h);
    project(d, of_keys, d->h, hidden, kv_width, key);
    project(d, of_keys + kv_width * hidden, d->h, hidden, kv_width, value);
    for (size_t head = 0; head < (size_t)c->kv_heads; head++)
        turn(d, key + head * dim, d->weights + (d->twist == GAIN_OF_Q ? at->q_norm : at->k_norm),
             d->twist == ROPE_BY_ROW ? row_of(d, piece, t) : t + (d->twist == ROPE_OF_KEYS));
}

static void attention(const struct decoder *d, const struct engine_layer *at, const struct piece *piece,
                      int t, const double *keys, const double *values)
{
    const struct engine_config *c = &d->plan.config;
    const size_t hidden = (size_t)c->hidden, dim = (size_t)c->head_dim;
    const size_t group = (size_t)(c->heads / c->kv_heads), count = (size_t)t + (d->twist != OWN_KEY_HIDDEN);
    double *state = d->x + (size_t)t * hidden;
    norm(d, state, d->weights + at->input_norm, d->h);
    project(d, d->weights + at->qkv, d->h, hidden, engine_q_width(c), d->q);
    for (size_t head = 0; head < (size_t)c->heads; head++) {
        const size_t kv = d->twist == KV_HEAD_MODULO ? head % (size_t)c->kv_heads : head / group;
        turn(d, d->q + head * dim, d->weights + (d->twist == GAIN_OF_K ? at->k_norm : at->q_norm),
             d->twist == ROPE_BY_ROW ? row_of(d, piece, t) : t + (d->twist == ROPE_OF_QUERIES));
        attend(d, d->q + head * dim, keys + kv * dim, values + kv * dim, count, d->attended + head * dim);
    }
    add_to_state(d, d->weights + at->o, d->attended, engine_q_width(c), STATE_LOST_BY_ATTENTION, state);
}

static double silu(double x)
{
    return x / (1.0 + exp(-x));
}

static void mlp(const struct decoder *d, const struct engine_layer *at, int t)
{
    const size_t hidden = (size_t)d->plan.config.hidden, inner = (size_t)d->plan.config.intermediate;
    double *state = d->x + (size_t)t * hidden;
    norm(d, state, d->weights + (d->twist == GAIN_OF_INPUT ? at->input_norm : at->mlp_norm), d->h);
    project(d, d->weights + at->gate_up, d->h, hidden, inner, d->gate);
    project(d, d->weights + at->gate_up + inner * hidden, d->h, hidden, inner, d->up);
    for (size_t i = 0; i < inner; i++)
        d->gate[i] = d->twist == SILU_OF_UP ? d->gate[i] * silu(d->up[i])
                     : d->twist == NO_SILU  ? d->gate[i] * d->up[i]
                                            : silu(d->gate[i]) * d->up[i];
    add_to_state(d, d->weights + at->down, d->gate, inner, STATE_LOST_BY_MLP, state);
}

/* Where the logits of position `t` are stored; SIZE_MAX if nobody asked for them. */
static size_t place_of(const struct decoder *d, int request, int step, int t)
{
    const struct engine_plan *p = &d->plan;
    for (int i = 0; i < engine_wanted(p, step); i++) {
        int of, position;
        engine_row(p, step, d->twist == WANTED_IGNORED && !d->alone ? i : engine_wanted_row(p, step, i), &of,
                   &position);
        if (of == request && position == t)
            return ((size_t)(d->alone * p->steps + step) * (size_t)p->config.max_rows + (size_t)i) *
                   (size_t)p->config.vocab;
    }
    return SIZE_MAX;
}

static int token_at(const struct decoder *d, const struct piece *piece, int t)
{
    const struct engine_plan *p = &d->plan;
    for (int row = 0; row < engine_rows(p, piece->step); row++) {
        int request, position;
        engine_row(p, piece->step, row, &request, &position);
        if (request == piece->request && position == t)
            return (int)d->tokens[(size_t)piece->step * (size_t)p->config.max_rows + (size_t)row];
    }
    return 0;
}

static void take_piece(const struct decoder *d, const struct piece *piece)
{
    const struct engine_config *c = &d->plan.config;
    const size_t hidden = (size_t)c->hidden, vocab = (size_t)c->vocab, kv_width = engine_kv_width(c);
    const size_t room = (size_t)engine_text(&d->plan, piece->request) * kv_width;
    const int first = piece->first, end = first + piece->count;
    for (int t = first; t < end; t++)
        for (size_t i = 0; i < hidden; i++)
            d->x[(size_t)t * hidden + i] = (double)d->weights[(size_t)token_at(d, piece, t) * hidden + i];
    for (int layer = 0; layer < c->layers; layer++) {
        const struct engine_layer at = engine_layer_at(c, layer);
        const size_t slice = d->twist == ONE_CACHE ? 0 : (size_t)layer * room;
        double *keys = d->keys + slice, *values = d->values + slice;
        for (int t = first; t < end; t++)
            append(d, &at, piece, t, keys + (size_t)t * kv_width, values + (size_t)t * kv_width);
        for (int t = first; t < end; t++) attention(d, &at, piece, t, keys, values);
        for (int t = first; t < end; t++) mlp(d, &at, t);
    }
    for (int t = first; t < end; t++) {
        const size_t to = place_of(d, piece->request, piece->step, t);
        const double *state = d->x + (size_t)t * hidden;
        if (to == SIZE_MAX) continue;
        norm(d, state, d->weights + engine_last_norm_at(c), d->h);
        if (d->twist == NO_LAST_NORM) memcpy(d->h, state, hidden * sizeof *d->h);
        project(d, d->weights + (d->twist == TIED_HEAD ? 0 : engine_head_at(c)), d->h, hidden, vocab,
                d->logits + to);
    }
}

static void follow(struct decoder *d, int request)
{
    for (int step = 0; step < d->plan.steps; step++) {
        struct piece piece = {.request = request, .step = step};
        const int count = engine_piece(&d->plan, request, step, &piece.first);
        piece.count = d->alone ? 1 : count;
        for (int i = 0; i < count; i += piece.count, piece.first += piece.count) take_piece(d, &piece);
    }
}

/* Allocates what a request needs, with all logits after it, and computes. */
static int run(struct decoder *d, size_t logits)
{
    const struct engine_plan *p = &d->plan;
    const struct engine_config *c = &p->config;
    const size_t tokens = (size_t)engine_text(p, p->growth > 0 ? p->requests - 1 : 0);
    const size_t hidden = (size_t)c->hidden, q = engine_q_width(c), inner = (size_t)c->intermediate;
    const size_t cache = (size_t)c->layers * tokens * engine_kv_width(c);
    double *next = calloc(tokens * hidden + 2 * cache + hidden + 2 * q + 2 * inner + tokens, sizeof *next);
    double *memory = next;
    if (next == NULL) return 0;
    d->x = next, next += tokens * hidden;
    d->keys = next, next += cache;
    d->values = next, next += cache;
    d->h = next, next += hidden;
    d->q = next, next += q;
    d->attended = next, next += q;
    d->gate = next, next += inner;
    d->up = next, next += inner;
    d->scores = next;
    for (size_t i = 0; i < logits; i++) d->logits[i] = ENGINE_UNASKED;
    for (d->alone = 0; d->alone <= ((p->manner & ENGINE_ALONE) != 0); d->alone++)
        for (int j = 0; j < p->requests; j++) follow(d, j);
    free(memory);
    return 1;
}

static int applies(const struct engine_plan *p, enum twist twist)
{
    const struct engine_config *c = &p->config;
    if (twist == TIED_HEAD) return !c->tied;
    /* With a larger base the rotation angles are so small that a wrong rotation does not show. */
    if (twist >= NO_ROPE && twist <= ROPE_BY_ROW) return c->rope_base < 1e8f;
    if (twist == WANTED_IGNORED) return (p->manner & ENGINE_FEW) != 0;
    if (twist == ONE_CACHE) return c->layers > 1 && p->steps > 1;
    if (twist == KV_HEAD_MODULO) return c->kv_heads > 1 && c->heads > c->kv_heads;
    if (twist == STATE_LOST_BY_ATTENTION || twist == STATE_LOST_BY_MLP) return c->layers > 0;
    return 1;
}

/* Upper limit on the cost of a guess; a smaller case shows the mistake sooner. */
static double operations(const struct engine_plan *p)
{
    double tokens = 0.0, keys = 0.0;
    for (int j = 0; j < p->requests; j++) {
        tokens += engine_text(p, j);
        keys += (double)engine_text(p, j) * engine_text(p, j);
    }
    return tokens * (double)engine_weight_elems(&p->config) +
           keys * p->config.layers * (double)engine_q_width(&p->config);
}

int engine_guess(const struct lesson_case *item, const float *const *data, int index, size_t at,
                 struct lesson_guess *guess)
{
    static struct {
        struct lesson_case item;
        int index;
        double *logits;
    } last = {.index = -1};
    struct decoder d = {.plan = engine_plan_of(item->value),
                        .weights = data[ENGINE_WEIGHTS],
                        .tokens = data[ENGINE_TOKENS],
                        .twist = (enum twist)index};
    const struct engine_plan *p = &d.plan;
    const double most = 1e7;
    if (index >= TWISTS || p->mistake != ENGINE_RIGHT || operations(p) > most) return -1;
    if (p->config.elsewhere != 0) return -1; /* the matrices are not in the array of weights */
    if (!applies(p, d.twist)) return 0;
    if (last.index != index || memcmp(&last.item, item, sizeof *item) != 0) {
        const size_t logits = (size_t)(p->manner & ENGINE_ALONE ? 2 : 1) * (size_t)p->steps *
                              (size_t)p->config.max_rows * (size_t)p->config.vocab;
        free(last.logits);
        last.logits = d.logits = malloc(logits * sizeof *d.logits);
        last.index = -1;
        if (d.logits == NULL || !run(&d, logits)) return -1;
        last.item = *item;
        last.index = index;
    }
    while (TOLD[index].words == NULL) index--, guess->told--;
    guess->value = last.logits[at];
    guess->votes = 1;
    guess->cause = TOLD[index].cause;
    snprintf(guess->words, sizeof guess->words, "%s", TOLD[index].words);
    return 1;
}
