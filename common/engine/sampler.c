/**
 * @file sampler.c
 * @brief Chooses the next token from logits.
 */
#include "sampler.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/text.h"

struct candidate {
    int token;
    float logit;
    double weight; /* exp((logit - largest) / temperature) */
};

const char *sampling_check(const struct sampling *s)
{
    if (!(s->temperature >= 0.0) || isinf(s->temperature))
        return "the temperature is a number from 0 (the most probable token, always) up";
    if (s->top_k < 0) return "top_k is a number of tokens, or 0 for all";
    if (!(s->top_p > 0.0) || s->top_p > 1.0) return "top_p is a share of the probability: above 0, at most 1";
    return NULL;
}

/* The bits of a float as an integer: of numbers, larger ones are larger. */
static int32_t ordered(float x)
{
    int32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits < 0 ? bits ^ 0x7fffffff : bits;
}

/* The first of the largest; -1 if there is a NaN, or nothing but -INFINITY. Most of the time of a greedy step on the host: no
 * branch within the loop, so that a compiler takes several at a time. */
static int largest(const float *logits, int vocab)
{
    int32_t most = INT32_MIN, least = INT32_MAX;
    for (int i = 0; i < vocab; i++) {
        const int32_t x = ordered(logits[i]);
        most = x > most ? x : most;
        least = x < least ? x : least;
    }
    if (most > ordered(INFINITY) || least < ordered(-INFINITY)) return -1; /* a NaN */
    if (most == ordered(-INFINITY)) return -1;
    int best = 0;
    while (ordered(logits[best]) != most && !(most == 0 && logits[best] == 0.0f))
        best++; /* -0 is as large as 0 */
    return best;
}

/* A lower logit, or an equal one of a later token, is less probable. */
static int less_probable(const struct candidate *a, const struct candidate *b)
{
    return a->logit < b->logit || (a->logit == b->logit && a->token > b->token);
}

static int most_probable_first(const void *a, const void *b)
{
    return less_probable(a, b) ? 1 : -1;
}

static void exchange(struct candidate *a, struct candidate *b)
{
    const struct candidate other = *a;
    *a = *b;
    *b = other;
}

/* The heap's first is its least probable. */
static void sift_down(struct candidate *heap, int count, int at)
{
    for (int child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && less_probable(&heap[child + 1], &heap[child])) child++;
        if (!less_probable(&heap[child], &heap[at])) return;
        exchange(&heap[child], &heap[at]);
    }
}

/* Moves the @p k most probable to the front, in any order. */
static void keep_most_probable(struct candidate *all, int count, int k)
{
    for (int i = k / 2 - 1; i >= 0; i--) sift_down(all, k, i);
    for (int i = k; i < count; i++)
        if (less_probable(&all[0], &all[i])) {
            exchange(&all[0], &all[i]);
            sift_down(all, k, 0);
        }
}

static double sum_weights(const struct candidate *all, int count)
{
    double sum = 0.0;
    for (int i = 0; i < count; i++) sum += all[i].weight;
    return sum;
}

/* The fewest of the most probable whose weights reach @p wanted; they come first, in their order. Sorts no more than it has to. */
static int keep_nucleus(struct candidate *all, int count, double wanted)
{
    for (int k = 64;; k = k > count / 8 ? count : 8 * k) {
        if (k > count) k = count;
        keep_most_probable(all, count, k);
        qsort(all, (size_t)k, sizeof *all, most_probable_first);
        double sum = 0.0;
        for (int i = 0; i < k; i++)
            if ((sum += all[i].weight) >= wanted) return i + 1;
        if (k == count) return count;
    }
}

/* Those that may be chosen at all, with their weights. */
static int gather(struct candidate *all, const float *logits, int vocab, float top, double temperature)
{
    int count = 0;
    for (int i = 0; i < vocab; i++) {
        const double weight = logits[i] == top ? 1.0 : exp(((double)logits[i] - (double)top) / temperature);
        if (weight > 0.0) all[count++] = (struct candidate){i, logits[i], weight};
    }
    return count;
}

static int choose(const struct candidate *all, int count, double at)
{
    for (int i = 0; i < count; i++)
        if ((at -= all[i].weight) < 0.0) return all[i].token;
    return all[count - 1].token; /* rounding: at was all but the whole sum */
}

int sample_token(const float *logits, int vocab, const struct sampling *s, int position)
{
    const int best = largest(logits, vocab);
    if (best < 0 || s->temperature == 0.0 || s->top_k == 1) return best;
    struct candidate *all = must_allocate((size_t)vocab * sizeof *all);
    int count = gather(all, logits, vocab, logits[best], s->temperature);
    if (s->top_k > 0 && s->top_k < count) {
        keep_most_probable(all, count, s->top_k);
        count = s->top_k;
    }
    if (s->top_p < 1.0) count = keep_nucleus(all, count, s->top_p * sum_weights(all, count));
    struct rng rng = {rng_mix(s->seed, (uint64_t)position)};
    const int token = choose(all, count, rng_uniform(&rng) * sum_weights(all, count));
    free(all);
    return token;
}
