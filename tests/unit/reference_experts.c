/**
 * @file reference_experts.c
 * @brief Tests of the oracle of a mixture of experts: values worked out by hand, and what must not change it.
 */
#include <math.h>
#include <stdio.h>

#include "experts.h"

static int failures;

static void expect_near(const char *what, int at, double got, double expected)
{
    if (isnan(expected) ? isnan(got) : fabs(got - expected) <= 1e-13 * fmax(1.0, fabs(expected))) return;
    printf("    %s[%d] is %.17g, expected %.17g\n", what, at, got, expected);
    failures++;
}

static void expect_all(const char *what, const double *got, const double *expected, int count)
{
    for (int i = 0; i < count; i++) expect_near(what, i, got[i], expected[i]);
}

static void expect_chosen(const int *got, int first, int second)
{
    expect_near("chosen", 0, got[0], first);
    expect_near("chosen", 1, got[1], second);
}

/* Softmax of the logarithms of 1, 4, 3, 4 over 12. */
static void route_by_hand(void)
{
    const float logits[] = {0.0f, logf(4.0f), logf(3.0f), logf(4.0f)};
    const double exact[] = {exp((double)logits[1]), exp((double)logits[2])};
    double total = 1.0 + 2.0 * exact[0] + exact[1], weights[2];
    int chosen[2];
    ref_experts_route(logits, 4, 2, 0, chosen, weights);
    expect_chosen(chosen, 1, 3); /* equal: the smaller index first */
    expect_all("weights", weights, (const double[]){exact[0] / total, exact[0] / total}, 2);
    ref_experts_route(logits, 4, 2, 1, chosen, weights);
    expect_all("renormalised", weights, (const double[]){0.5, 0.5}, 2);
}

static void logits_decide_not_weights(void)
{
    const float logits[] = {-3000.0f, -2000.0f, 0.0f, -1000.0f};
    double weights[2];
    int chosen[2];
    ref_experts_route(logits, 4, 2, 1, chosen, weights);
    expect_chosen(chosen, 2, 3);
    expect_all("weights", weights, (const double[]){1.0, 0.0}, 2);
}

static void nan_is_chosen_last_and_spoils_weights(void)
{
    const float logits[] = {NAN, -1.0f, NAN, -INFINITY};
    const double none[] = {NAN, NAN};
    double weights[2];
    int chosen[2];
    ref_experts_route(logits, 4, 2, 1, chosen, weights);
    expect_chosen(chosen, 1, 0); /* a NaN is -infinity, and has the smaller index */
    expect_all("weights", weights, none, 2);
    const float infinite[] = {INFINITY, 1.0f}, lowest[] = {-INFINITY, -INFINITY};
    ref_experts_route(infinite, 2, 2, 0, chosen, weights);
    expect_chosen(chosen, 0, 1);
    expect_all("weights with an infinity", weights, none, 2);
    ref_experts_route(lowest, 2, 2, 0, chosen, weights);
    expect_chosen(chosen, 0, 1);
    expect_all("weights of nothing", weights, none, 2);
}

/* The example of the lesson's page, and pairs of nobody. */
static void group_by_hand(void)
{
    const float chosen[] = {2, 0, 2, 3, 0, 2, 3, 2}, nobody[] = {-1, 1, 4, 0};
    double offsets[5], row_of[8];
    ref_experts_group(chosen, 8, 4, offsets, row_of);
    expect_all("offsets", offsets, (const double[]){0, 2, 2, 6, 8}, 5);
    expect_all("row_of", row_of, (const double[]){2, 0, 3, 6, 1, 4, 7, 5}, 8);
    ref_experts_group(nobody, 4, 4, offsets, row_of);
    expect_all("offsets", offsets, (const double[]){0, 1, 2, 2, 2}, 5);
    expect_all("row_of", row_of, (const double[]){-1, 1, -1, 0}, 4);
}

static void row_by_hand(void)
{
    const double a[] = {1.0, -2.0, 3.0};
    const float w[] = {1, 1, 1, -1, 0.5f, 2};
    double row[2], magnitude[2];
    ref_experts_row(a, w, 2, 3, row, magnitude);
    expect_all("row", row, (const double[]){2.0, 4.0}, 2);
    expect_all("magnitude", magnitude, (const double[]){6.0, 8.0}, 2);
}

static void silu_by_hand(void)
{
    expect_near("silu", 0, ref_silu(0.0), 0.0);
    expect_near("silu", 1, ref_silu(log(3.0)), 0.75 * log(3.0));
    expect_near("silu", 2, ref_silu(-1000.0), 0.0);
    expect_near("silu", 3, ref_silu(1000.0), 1000.0);
}

static const struct {
    void (*function)(void);
    const char *name;
} tests[] = {
    {route_by_hand, "route_by_hand"},
    {logits_decide_not_weights, "logits_decide_not_weights"},
    {nan_is_chosen_last_and_spoils_weights, "nan_is_chosen_last_and_spoils_weights"},
    {group_by_hand, "group_by_hand"},
    {row_by_hand, "row_by_hand"},
    {silu_by_hand, "silu_by_hand"},
};

int main(void)
{
    int failed = 0;
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        failures = 0;
        tests[i].function();
        printf("%s %s\n", failures == 0 ? "ok    " : "FAILED", tests[i].name);
        failed += failures > 0;
    }
    return failed > 0;
}
