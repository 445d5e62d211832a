/**
 * @file reference_backward.c
 * @brief Tests of the oracle of attention's gradients: an example by hand, and finite differences of the float64 forward pass.
 */
#include "attention_gradients.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4096 };

static int failures;

static void expect_near(const char *what, size_t at, double got, double expected, double bound)
{
    if (fabs(got - expected) <= bound) return;
    failures++;
    fprintf(stderr, "FAIL %s[%zu] = %.17g, expected %.17g\n", what, at, got, expected);
}

/* Numbers between -1 and 1 that depend on the index. */
static float number(size_t seed, size_t at)
{
    size_t mixed = (at + 1) * 2654435761u + seed * 40503u;
    return (float)((double)(mixed >> 7 & 0xFFFF) / 32768.0 - 1.0);
}

/* q = 1, k = (0, log 3), v = (1, 2), dO = 1, scale 1: the example of lesson 14's page. */
static void test_by_hand(void)
{
    struct ref_attention_shape shape = {1, 1, 1, 1, 2, 1, 1.0, 0};
    float q[] = {1.0f}, k[] = {0.0f, (float)log(3.0)}, v[] = {1.0f, 2.0f}, dout[] = {1.0f};
    double scratch[11], dq[1], dk[2], dv[2];
    ref_attention_backward(&shape, q, k, v, dout, scratch, dq, dk, dv);
    expect_near("dv", 0, dv[0], 0.25, 1e-7);
    expect_near("dv", 1, dv[1], 0.75, 1e-7);
    expect_near("dk", 0, dk[0], -3.0 / 16.0, 1e-7);
    expect_near("dk", 1, dk[1], 3.0 / 16.0, 1e-7);
    expect_near("dq", 0, dq[0], 3.0 / 16.0 * log(3.0), 1e-7);
}

/** A problem, and a row of numbers for each of its tensors. */
struct problem {
    struct ref_attention_shape shape;
    size_t queries, keys;  /* elements */
    float tensor[3][MOST]; /* q, k, v */
    float dout[MOST];
};

/* sum dO * O, the function whose gradients are asked for. */
static double loss(const struct problem *p, double *scratch, double *out)
{
    struct ref_attention_result result = {.out = out};
    double sum = 0.0;
    ref_attention(&p->shape, p->tensor[0], p->tensor[1], p->tensor[2], scratch, &result);
    for (size_t i = 0; i < p->queries; i++) sum += (double)p->dout[i] * out[i];
    return sum;
}

/*
 * The central difference over 2 h is off by h^2 / 6 times a third derivative, some hundred at most here, and by
 * the rounding of the sums, 1e-13 / h. Inputs are floats: h is what the element really moved by.
 */
static void check_gradient(struct problem *p, int index, const double *gradient, size_t count,
                           double *scratch, double *out)
{
    static const char *const name[] = {"dq", "dk", "dv"};
    const float h = 0x1p-10f;
    for (size_t i = 0; i < count; i++) {
        float *x = &p->tensor[index][i], kept = *x, above, below;
        above = kept + h;
        below = kept - h;
        *x = above;
        double more = loss(p, scratch, out);
        *x = below;
        double less = loss(p, scratch, out);
        *x = kept;
        double moved = (double)above - (double)below;
        expect_near(name[index], i, gradient[i], (more - less) / moved, 1e-4);
    }
}

static void test_differences(const struct ref_attention_shape *shape, size_t seed)
{
    static struct problem p;
    static double scratch[MOST], out[MOST], gradient[3][MOST];
    memset(&p, 0, sizeof p);
    p.shape = *shape;
    p.queries = (size_t)(shape->batch * shape->heads * shape->q_len * shape->head_dim);
    p.keys = (size_t)(shape->batch * shape->kv_heads * shape->kv_len * shape->head_dim);
    for (size_t i = 0; i < MOST; i++) {
        for (size_t t = 0; t < 3; t++) p.tensor[t][i] = number(seed + t, i);
        p.dout[i] = number(seed + 3, i);
    }
    ref_attention_backward(&p.shape, p.tensor[0], p.tensor[1], p.tensor[2], p.dout, scratch, gradient[0],
                           gradient[1], gradient[2]);
    for (int t = 0; t < 3; t++) check_gradient(&p, t, gradient[t], t == 0 ? p.queries : p.keys, scratch, out);
}

/* Keys that are there several times are so many equal keys. */
static void test_copies(void)
{
    struct ref_attention_shape three = {1, 1, 1, 1, 3, 2, 0.5, 0}, two = {1, 1, 1, 1, 2, 2, 0.5, 0};
    float q[] = {0.5f, -1.0f}, k[] = {0.25f, 1.0f, -0.5f, 2.0f, 0.25f, 1.0f},
          v[] = {1.0f, 2.0f, 3.0f, -1.0f, 1.0f, 2.0f};
    float dout[] = {0.75f, -0.25f};
    double a[5][3], b[5][3], out[2][2], copies[] = {2.0, 1.0};
    struct ref_backward_row whole = {NULL, a[0], a[1], a[2], a[3], a[4], out[0], 0.0, 0.0};
    struct ref_backward_row folded = {copies, b[0], b[1], b[2], b[3], b[4], out[1], 0.0, 0.0};
    ref_attention_backward_row(&three, 3, q, dout, k, v, &whole);
    ref_attention_backward_row(&two, 2, q, dout, k, v, &folded);
    for (size_t j = 0; j < 2; j++)
        expect_near("dS with copies", j, folded.dscores[j], whole.dscores[j], 1e-15);
    expect_near("lse with copies", 0, folded.lse, whole.lse, 1e-15);
    expect_near("D with copies", 0, folded.d, whole.d, 1e-15);
}

int main(void)
{
    static const struct ref_attention_shape shape[] = {
        {1, 1, 1, 3, 5, 4, 0.0, 0}, {2, 2, 1, 4, 3, 2, 0.7, 0}, {1, 6, 2, 5, 5, 3, -0.4, 1},
        {1, 2, 2, 3, 7, 2, 0.0, 1}, {1, 2, 1, 7, 3, 2, 1.0, 1}, {1, 1, 1, 1, 1, 1, 0.0, 0}};
    test_by_hand();
    test_copies();
    for (size_t i = 0; i < sizeof shape / sizeof shape[0]; i++) test_differences(&shape[i], 17 * (i + 1));
    if (failures == 0) printf("all gradients agree with finite differences\n");
    return failures > 0;
}
