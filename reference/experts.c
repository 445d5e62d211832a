/**
 * @file experts.c
 * @brief The oracle of a mixture of experts: by definition, one expert and one sum after the other.
 */
#include "experts.h"

#include <math.h>

/* The logit that decides about expert @p e. */
static double rank_of(const float *logits, int e)
{
    return isnan(logits[e]) ? -INFINITY : (double)logits[e];
}

static int is_chosen(const int *chosen, int count, int e)
{
    for (int j = 0; j < count; j++)
        if (chosen[j] == e) return 1;
    return 0;
}

void ref_experts_route(const float *logits, int experts, int top_k, int renormalise, int *chosen,
                       double *weights)
{
    double largest = -INFINITY, total = 0.0, sum = 0.0;
    for (int e = 0; e < experts; e++) largest = fmax(largest, rank_of(logits, e));
    for (int e = 0; e < experts; e++) total += exp((double)logits[e] - largest);
    for (int j = 0; j < top_k; j++) {
        int best = -1;
        for (int e = 0; e < experts; e++) {
            if (is_chosen(chosen, j, e)) continue;
            if (best < 0 || rank_of(logits, e) > rank_of(logits, best)) best = e;
        }
        chosen[j] = best;
        weights[j] = exp(rank_of(logits, best) - largest) / total;
        sum += weights[j];
    }
    for (int j = 0; j < top_k && renormalise; j++) weights[j] /= sum;
}

void ref_experts_group(const float *chosen, int64_t pairs, int experts, double *offsets, double *row_of)
{
    int64_t row = 0;
    for (int64_t i = 0; i < pairs; i++) row_of[i] = -1.0;
    for (int e = 0; e < experts; e++) {
        offsets[e] = (double)row;
        for (int64_t i = 0; i < pairs; i++)
            if (chosen[i] == (float)e) row_of[i] = (double)row++;
    }
    offsets[experts] = (double)row;
}

void ref_experts_row(const double *a, const float *w, int n, int k, double *row, double *magnitude)
{
    for (int j = 0; j < n; j++) {
        double sum = 0.0, size = 0.0;
        for (int i = 0; i < k; i++) {
            double product = a[i] * (double)w[(int64_t)j * k + i];
            sum += product;
            size += fabs(product);
        }
        row[j] = sum;
        magnitude[j] = size;
    }
}

double ref_silu(double x)
{
    return x / (1.0 + exp(-x));
}
