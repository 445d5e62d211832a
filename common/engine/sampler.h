/**
 * @file sampler.h
 * @brief Chooses the next token from logits.
 *
 * With temperature T token i has probability exp(logit[i] / T), divided by the sum over all. `top_k` keeps the k most probable,
 * then `top_p` the fewest of these, most probable first, whose probabilities sum to at least p of theirs (Holtzman et al. 2020, The
 * Curious Case of Neural Text Degeneration). Of equal logits the one with the lower number counts as more probable.
 *
 * The choice depends on the logits, the settings, and the position in the text; not on what was sampled before or for others.
 * Sums are in double and the order is fixed: the same machine gives the same token each time.
 */
#pragma once

#include <stdint.h>

/** @brief How tokens of one text are chosen. */
struct sampling {
    double temperature; /**< 0: the most probable, always */
    int top_k;          /**< 0: all */
    double top_p;       /**< above 0; 1: all */
    uint64_t seed;      /**< of the text */
};

/** @brief NULL, or what is wrong: a temperature that is negative or not finite, top_k below 0, top_p outside (0, 1]. */
const char *sampling_check(const struct sampling *sampling);

/**
 * @brief The token after @p position.
 * @param[in] logits   [vocab] -INFINITY: never chosen. If any is +INFINITY, only such are chosen, all equally probable
 * @param[in] vocab    at least 1
 * @param[in] sampling as sampling_check() accepts it
 * @param[in] position of the last token that the logits have seen
 * @return 0 .. vocab - 1; -1 if a logit is NaN, or all are -INFINITY
 */
int sample_token(const float *logits, int vocab, const struct sampling *sampling, int position);
