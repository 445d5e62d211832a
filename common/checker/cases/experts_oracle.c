/**
 * @file experts_oracle.c
 * @brief Oracle and error bounds of lesson 21: a token's choice, pairs by expert, a row of a product, a token of the layer.
 *
 * Every sum of products is bounded as bound.h has it. From there on errors are carried along: with |silu'| <= 1.1, silu(g) u moves by
 *
 *     1.1 |u| dg + |silu(g)| du + u (12 + 2 |g|) |silu(g) u|
 *
 * the last for an exp of an argument of that size, three roundings and a product. Where what comes out is rounded to 16 bits and
 * multiplied again, n roundings d_i of terms t_i may move a sum by u sum |t_i|, and likely move it by no more than 8 u sqrt(sum t_i^2 / 3):
 * the first counts for an element's bound, the second for the floor.
 *
 * Some numbers are off by nothing: a sum of one product, which f32 holds; a number of 16 bits that is off by less than would round it to
 * another one. Where all that a token's experts return is exact, and 0 or a power of two, a product with a weight is, too, and the order
 * in which f32 adds these decides: add_in_order() follows it.
 */
#include <math.h>
#include <stdlib.h>

#include "checker/numbers/bound.h"
#include "experts.h"
#include "experts_cases.h"

#define SILU_SLOPE 1.1 /* silu'(x) is between -0.1 and 1.1 */

/** A value, what it may be off by at most and likely, and what plain float arithmetic makes of it. */
struct carried {
    double value, most, likely, plain;
};

/** Sums of products that a token or a row needs, in one block. */
struct rows {
    double *a, *row, *magnitude;
    struct carried *first, *second;
};

enum storage experts_storage(const struct lesson_case *item)
{
    return item->extent[EXPERTS_DTYPE] == 2 ? STORAGE_BF16 : STORAGE_F16;
}

size_t experts_lines(const struct lesson_case *item)
{
    return experts_extent(item, EXPERTS_N) * (item->extent[EXPERTS_SWIGLU] == 1 ? 2 : 1);
}

/* The most lines and columns that one product of @p item has. */
static size_t longest(const struct lesson_case *item)
{
    size_t n = 2 * experts_extent(item, EXPERTS_N), k = experts_extent(item, EXPERTS_K);
    return n > k ? n : k;
}

size_t experts_units(const struct lesson_case *item)
{
    return item->part == EXPERTS_GROUP ? 1 : experts_extent(item, EXPERTS_ROWS);
}

size_t experts_unit_elems(const struct lesson_case *item)
{
    size_t pairs = experts_extent(item, EXPERTS_ROWS), experts = experts_extent(item, EXPERTS_COUNT) + 1;
    if (item->part == EXPERTS_ROUTE) return experts;
    if (item->part == EXPERTS_GROUP) return pairs > experts ? pairs : experts;
    return longest(item);
}

/* ---- routing ---------------------------------------------------------------------------------------------- */

/* A weight is exp(x - m) over a sum of such, and over another one if weights are divided by theirs: x - m is rounded. */
static double weight_error(const float *logits, int experts, int chosen, double weight)
{
    float largest = -INFINITY;
    for (int e = 0; e < experts; e++) largest = fmaxf(largest, logits[e]);
    double below = fabs((double)largest - (double)logits[chosen]);
    if (!isfinite(weight) || !isfinite(below)) return BOUND_TINY;
    return bound_floor(weight * (2.0 * BOUND_EXP + fmin(below, 200.0)));
}

static void expect_route(const struct lesson_case *item, const float *const *data, size_t unit,
                         struct lesson_expectation *e)
{
    int experts = item->extent[EXPERTS_COUNT], top_k = item->extent[EXPERTS_TOP_K], chosen[256];
    const float *logits = data[ROUTE_LOGITS] + unit * (size_t)experts;
    double *weights = e->span[1].expected;
    ref_experts_route(logits, experts, top_k, item->value[EXPERTS_RENORMALISE] == 1, chosen, weights);
    for (int b = 0; b < 2; b++) {
        struct lesson_span *span = &e->span[b];
        span->buffer = b == 0 ? ROUTE_CHOSEN : ROUTE_WEIGHTS;
        span->first = unit * (size_t)top_k;
        span->count = (size_t)top_k;
        for (int j = 0; j < top_k; j++) {
            if (b == 0) span->expected[j] = chosen[j];
            span->plain[j] = span->expected[j];
            double error = b == 0 ? 0.0 : weight_error(logits, experts, chosen[j], weights[j]);
            span->bound[j] = span->floor[j] = b == 0 ? 0.0 : bound_stored(weights[j]) + error;
        }
    }
    e->span_count = 2;
}

/* ---- pairs by expert -------------------------------------------------------------------------------------- */

static void expect_group(const struct lesson_case *item, const float *const *data,
                         struct lesson_expectation *e)
{
    const int pairs = item->extent[EXPERTS_ROWS], experts = item->extent[EXPERTS_COUNT];
    ref_experts_group(data[GROUP_CHOSEN], pairs, experts, e->span[0].expected, e->span[1].expected);
    for (int b = 0; b < 2; b++) {
        struct lesson_span *span = &e->span[b];
        span->buffer = b == 0 ? GROUP_OFFSETS : GROUP_ROW_OF;
        span->first = 0;
        span->count = (size_t)(b == 0 ? experts + 1 : pairs);
        for (size_t i = 0; i < span->count; i++) {
            span->plain[i] = span->expected[i];
            span->bound[i] = span->floor[i] = 0.0;
        }
    }
    e->span_count = 2;
}

/* ---- products --------------------------------------------------------------------------------------------- */

static void *allocate(size_t bytes)
{
    void *memory = calloc(bytes, 1);
    if (memory == NULL) abort();
    return memory;
}

static struct rows new_rows(size_t elems)
{
    return (struct rows){allocate(elems * sizeof(double)), allocate(elems * sizeof(double)),
                         allocate(elems * sizeof(double)), allocate(elems * sizeof(struct carried)),
                         allocate(elems * sizeof(struct carried))};
}

static void free_rows(struct rows *rows)
{
    free(rows->a);
    free(rows->row);
    free(rows->magnitude);
    free(rows->first);
    free(rows->second);
}

/* The same sum in float, one product after the other; @p squares becomes the sum of the squares of the sums on the way. */
static double plain_sum(const struct carried *a, const float *w, int k, double *squares)
{
    float sum = 0.0f;
    *squares = 0.0;
    for (int i = 0; i < k; i++) {
        sum += (float)a[i].plain * w[i];
        *squares += (double)sum * (double)sum;
    }
    return (double)sum;
}

/* Whether a sum of exact @p a times @p w has no second term, and f32 holds the first: nothing is rounded in any order. */
static int is_exact(const struct carried *a, const float *w, int k)
{
    int terms = 0;
    for (int i = 0; i < k; i++) {
        const double term = a[i].value * (double)w[i];
        if (a[i].most != 0.0 || (double)(float)term != term) return 0; /* NaN, too */
        terms += term != 0.0;
        if (terms > 1) return 0;
    }
    return 1;
}

/* @p out becomes the n sums of @p a [k] with rows of @p w, with what they may be off by: their own roundings, and those of a. */
static void multiply(struct rows *rows, const struct carried *a, const float *w, int n, int k,
                     struct carried *out)
{
    for (int i = 0; i < k; i++) rows->a[i] = a[i].value;
    ref_experts_row(rows->a, w, n, k, rows->row, rows->magnitude);
    for (int j = 0; j < n; j++, w += k) {
        double squares, most = 0.0, likely = 0.0;
        for (int i = 0; i < k; i++) {
            most += a[i].most * fabs((double)w[i]);
            likely += a[i].likely * a[i].likely * (double)w[i] * (double)w[i];
        }
        double plain = plain_sum(a, w, k, &squares);
        double own = fmax(bound_floor(rows->magnitude[j]), bound_running(squares));
        out[j] = (struct carried){rows->row[j], most + bound_sum(k, rows->magnitude[j]),
                                  BOUND_C * sqrt(likely / 3.0) + own, plain};
        if (is_exact(a, w, k)) out[j].most = out[j].likely = 0.0;
    }
}

static struct carried swiglu(struct carried gate, struct carried up)
{
    double silu = ref_silu(gate.value), value = silu * up.value;
    double own = BOUND_U_F32 * (12.0 + 2.0 * fabs(gate.value)) * fabs(value) + BOUND_TINY;
    float x = (float)gate.plain;
    return (struct carried){
        value, SILU_SLOPE * fabs(up.value) * gate.most + fabs(silu) * up.most + gate.most * up.most + own,
        SILU_SLOPE * fabs(up.value) * gate.likely + fabs(silu) * up.likely + own,
        (double)(x / (1.0f + expf(-x)) * (float)up.plain)};
}

/* Rounded to what matrices are stored as. */
static struct carried rounded(enum storage storage, struct carried x)
{
    double stored = bound_stored_as(storage, x.value);
    struct carried to = {x.value, x.most + stored, x.likely + stored,
                         (double)storage_round(storage, (float)x.plain)};
    if ((double)storage_round(storage, (float)(x.value - x.most)) == x.value &&
        (double)storage_round(storage, (float)(x.value + x.most)) == x.value)
        to.most = to.likely = 0.0;
    return to;
}

/* Numbers that are exact. */
static void read_row(const float *from, size_t count, struct carried *to)
{
    for (size_t i = 0; i < count; i++) to[i] = (struct carried){(double)from[i], 0.0, 0.0, (double)from[i]};
}

/* One element of an output in 16 bits. A NaN or an infinity must come out as such. */
static void expect_element(const struct lesson_case *item, struct lesson_span *span, size_t at,
                           struct carried x)
{
    enum storage storage = experts_storage(item);
    double cap = item->flags & CASE_UNIT_SCALE ? bound_unit(storage) : (double)INFINITY;
    double stored = bound_stored_as(storage, x.value);
    int finite = isfinite(x.value) && isfinite(x.most);
    span->expected[at] = x.value;
    span->plain[at] = (double)storage_round(storage, (float)x.plain);
    span->bound[at] = finite ? fmin(stored + x.most, cap) : 0.0;
    span->floor[at] = finite ? stored + fmin(x.likely, x.most) : 0.0;
}

int experts_owner(const float *offsets, int experts, size_t row)
{
    for (int e = 0; e < experts; e++)
        if ((double)row >= (double)offsets[e] && (double)row < (double)offsets[e + 1]) return e;
    return -1;
}

static void expect_product(const struct lesson_case *item, const float *const *data, size_t unit,
                           struct lesson_expectation *e)
{
    size_t n = experts_extent(item, EXPERTS_N), k = experts_extent(item, EXPERTS_K),
           lines = experts_lines(item);
    int expert = experts_owner(data[PRODUCT_OFFSETS], item->extent[EXPERTS_COUNT], unit);
    struct lesson_span *span = &e->span[0];
    struct rows rows = new_rows(longest(item));
    e->span_count = 1;
    span->buffer = PRODUCT_C;
    span->first = unit * n;
    span->count = n;
    if (expert >= 0) {
        read_row(data[PRODUCT_A] + unit * k, k, rows.first);
        multiply(&rows, rows.first, data[PRODUCT_W] + (size_t)expert * lines * k, (int)lines, (int)k,
                 rows.second);
    }
    for (size_t j = 0; j < n; j++) {
        struct carried x = expert < 0 ? (struct carried){0} : rows.second[j];
        if (expert >= 0 && lines > n) x = swiglu(x, rows.second[n + j]);
        if (expert < 0) x.value = x.plain = (double)data[PRODUCT_C][unit * n + j];
        expect_element(item, span, j, x);
        if (expert < 0) span->bound[j] = span->floor[j] = 0.0; /* as it was */
    }
    free_rows(&rows);
}

/* ---- the layer -------------------------------------------------------------------------------------------- */

/* What expert @p expert makes of @p x [hidden]; it is in rows->second. */
static void run_expert(const struct lesson_case *item, const float *const *data, int expert,
                       const struct carried *x, struct rows *rows)
{
    size_t inner = experts_extent(item, EXPERTS_N), hidden = experts_extent(item, EXPERTS_K);
    enum storage storage = experts_storage(item);
    multiply(rows, x, data[LAYER_GATE_UP] + (size_t)expert * 2 * inner * hidden, (int)(2 * inner),
             (int)hidden, rows->first);
    for (size_t i = 0; i < inner; i++)
        rows->first[i] = rounded(storage, swiglu(rows->first[i], rows->first[inner + i]));
    multiply(rows, rows->first, data[LAYER_DOWN] + (size_t)expert * hidden * inner, (int)hidden, (int)inner,
             rows->second);
    for (size_t i = 0; i < hidden; i++) rows->second[i] = rounded(storage, rows->second[i]);
}

static int is_power_of_two(double x)
{
    int exponent;
    return fabs(frexp(x, &exponent)) == 0.5;
}

/* Adds @p term to *@p sum as f32 does, where both are powers of two times a weight that is known to some bits less: 0 if the bits that
 * are not known could decide. A term that is 2^26 times smaller is lost, and nothing is rounded in the sum of one and the same weight
 * times two powers of two that is 0 or such a product again. */
static int add_in_order(double *sum, double term)
{
    const double lost = 0x1p-26, total = *sum + term;
    if (fabs(term) <= lost * fabs(*sum)) return 1;
    const int is_first = fabs(*sum) <= lost * fabs(term);
    if (!is_first && (!is_power_of_two(*sum / term) || (total != 0.0 && !is_power_of_two(total / term))))
        return 0;
    *sum = is_first ? term : total;
    return 1;
}

static void expect_layer(const struct lesson_case *item, const float *const *data, size_t unit,
                         struct lesson_expectation *e)
{
    int experts = item->extent[EXPERTS_COUNT], top_k = item->extent[EXPERTS_TOP_K], chosen[256];
    size_t hidden = experts_extent(item, EXPERTS_K);
    const float *logits = data[LAYER_LOGITS] + unit * (size_t)experts;
    struct lesson_span *span = &e->span[0];
    struct rows rows = new_rows(longest(item));
    struct carried *x = allocate(hidden * sizeof *x), *sum = allocate(hidden * sizeof *sum);
    double weights[256], *in_order = allocate(hidden * sizeof *in_order), unsure = 0.0;
    ref_experts_route(logits, experts, top_k, item->value[EXPERTS_RENORMALISE] == 1, chosen, weights);
    read_row(data[LAYER_X] + unit * hidden, hidden, x);
    e->span_count = 1;
    span->buffer = LAYER_OUT;
    span->first = unit * hidden;
    span->count = hidden;
    for (int j = 0; j < top_k; j++) {
        double off = weight_error(logits, experts, chosen[j], weights[j]), w = weights[j];
        unsure = fmax(unsure, off / w);
        run_expert(item, data, chosen[j], x, &rows);
        for (size_t i = 0; i < hidden; i++) {
            struct carried y = rows.second[i];
            double own = off * fabs(y.value) + bound_floor(w * fabs(y.value)) * top_k;
            sum[i].value += w * y.value;
            sum[i].most += w * y.most + own;
            sum[i].likely += w * y.likely + own;
            sum[i].plain = (double)((float)sum[i].plain + (float)w * (float)y.plain);
            if (y.most != 0.0 || (y.value != 0.0 && !is_power_of_two(y.value)) ||
                !add_in_order(&in_order[i], w * y.value))
                in_order[i] = (double)NAN;
        }
    }
    for (size_t i = 0; i < hidden; i++) {
        const double likely = unsure * fabs(in_order[i]);
        if (isfinite(likely)) sum[i] = (struct carried){in_order[i], likely, likely, sum[i].plain};
        expect_element(item, span, i, sum[i]);
    }
    free(in_order);
    free(x);
    free(sum);
    free_rows(&rows);
}

void experts_expect(const struct lesson_case *item, const float *const *data, size_t unit,
                    struct lesson_expectation *e)
{
    if (item->part == EXPERTS_ROUTE) expect_route(item, data, unit, e);
    if (item->part == EXPERTS_GROUP) expect_group(item, data, e);
    if (item->part == EXPERTS_PRODUCT) expect_product(item, data, unit, e);
    if (item->part == EXPERTS_LAYER) expect_layer(item, data, unit, e);
}
