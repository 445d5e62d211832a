/**
 * @file load.h
 * @brief An engine under load: requests that arrive at random, and what each of them waits.
 *
 * Time is counted, not waited for: a step takes as many seconds as the caller says, measured or modelled, and requests that have
 * arrived by its end are queued before the next one is planned (a discrete-event simulation of the scheduler of scheduler.h).
 */
#pragma once

#include <stdint.h>

#include "scheduler.h"

/** @brief One request. */
struct load_request {
    double arrival; /**< seconds; never falling from one to the next */
    int prompt;     /**< tokens, at least 1 */
    int output;     /**< tokens, at least 1 */
    int common; /**< tokens that its prompt begins with, of a text that is the same in all requests; at most prompt */
};

/** @brief Where lengths come from. */
struct load_lengths {
    double prompt;    /**< mean of log-normal lengths */
    double output;    /**< likewise */
    double spread;    /**< standard deviation of their logarithms; 0: all are the mean */
    int most;         /**< longest prompt, and output; longer ones become this */
    const int *pairs; /**< [2 * pair_count] prompt, output; taken at random in place of these; NULL: none */
    int pair_count;   /**< of them */
    double common;    /**< share of each prompt that is the beginning of one text, 0 to 1 */
};

/** @brief Fills @p requests with @p count requests, Poisson at @p rate per second. The same seed gives the same requests, only closer
 *         together at a higher rate. */
void load_make(struct load_request *requests, int count, double rate, const struct load_lengths *lengths,
               uint64_t seed);

/** @brief Values at 50, 90 and 99 percent. */
struct load_percentiles {
    double at_50, at_90, at_99;
};

/** @brief What a load gave. Seconds. */
struct load_result {
    struct load_percentiles first;   /**< from the arrival to the first token */
    struct load_percentiles between; /**< from one token to the next of the same request */
    double tokens_per_second;        /**< while the second to the fourth fifth of the requests ended */
    double requests_per_second;      /**< in the same time */
    double waiting, running;         /**< requests, mean over all time */
    int most_waiting;                /**< at any time */
    double busy;                     /**< share of the time in which a step ran */
    long long steps;                 /**< of the engine */
    int recomputed;                  /**< times that a request gave up its blocks */
    double hit_rate;                 /**< share of the tokens of requests taken in that were in the cache */
    double blocks;                   /**< of the cache that tables name, mean over all time */
};

/**
 * @brief Runs a load until all its requests have ended.
 * @param[in]  requests [count], each of which the scheduler accepts
 * @param[in]  count    at least 1
 * @param[in]  limits   of the engine; a vocabulary above @p count
 * @param[in]  seconds  how long a step takes
 * @param[in]  context  handed to it
 * @param[out] result   what came of it
 * @param[out] error    why a request was refused
 * @return 0, or -1
 */
int load_run(const struct load_request *requests, int count, const struct scheduler_limits *limits,
             double (*seconds)(void *context, const struct scheduler_step *step), void *context,
             struct load_result *result, char error[SCHEDULER_ERROR]);
