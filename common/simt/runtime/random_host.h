/**
 * @file random_host.h
 * @brief A generator of cuRAND's host interface, and what fills an array with its numbers.
 */
#ifndef WARPWISE_SIMT_RANDOM_HOST_H
#define WARPWISE_SIMT_RANDOM_HOST_H

#include "../include/curand.h"
#include "../include/simt/random.h"

union simt_random_state {
    struct xorwow {
        uint32_t v[5], d;
    } xorwow;
    struct simt_mrg mrg;
};

struct curandGenerator_st {
    curandRngType_t type;
    curandOrdering_t order;
    int on_host;
    cudaStream_t stream;
    uint64_t seed, position; /**< of the next number or word, among all that the generator gives */
    union simt_random_state
        *states; /**< of those that take turns, as they stand before `position`; NULL until needed */
};

/** @brief What an array is filled with. Those from NORMAL on are made two at a time. */
enum simt_random_kind {
    WORDS,
    UNIFORM,
    UNIFORM_DOUBLE,
    NORMAL,
    NORMAL_DOUBLE,
    LOG_NORMAL,
    LOG_NORMAL_DOUBLE
};

/** @brief How many states take turns; 0 where every word is a function of its position. */
size_t simt_random_turns(const struct curandGenerator_st *g);
/** @brief 0 without memory. */
int simt_random_make_states(curandGenerator_t g);
void simt_random_fill(curandGenerator_t g, enum simt_random_kind kind, void *out, size_t count, double mean,
                      double deviation);

#endif
