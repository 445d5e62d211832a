/**
 * @file random_generator.h
 * @brief A generator of cuRAND's host interface, and what fills an array with its numbers.
 */
#pragma once

#include "include/curand.h"
#include "include/simt/random.h"

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
    unsigned dimensions;     /**< of a quasi-random sequence */
    /** Of those that take turns, as they stand before `position`; NULL until needed. */
    union simt_random_state *states;
    void *mersenne; /**< states of a Mersenne twister; NULL until needed */
};

/** @brief What an array is filled with. Those from NORMAL on are made two at a time by Box's and Muller's method. */
enum simt_random_kind {
    WORDS,
    LONG_WORDS, /**< of 64 bits */
    UNIFORM,
    UNIFORM_DOUBLE,
    NORMAL,
    NORMAL_DOUBLE,
    LOG_NORMAL,
    LOG_NORMAL_DOUBLE
};

/** @brief Whether it is a Mersenne twister, which has one word for each number and cannot be set to an offset. */
static inline int simt_random_is_mersenne(const struct curandGenerator_st *g)
{
    return g->type == CURAND_RNG_PSEUDO_MTGP32 || g->type == CURAND_RNG_PSEUDO_MT19937;
}
/** @brief How many states take turns; 0 where every word is a function of its position. */
size_t simt_random_turns(const struct curandGenerator_st *g);
/** @brief 0 without memory. */
int simt_random_make_states(curandGenerator_t g);
void simt_random_fill(curandGenerator_t g, enum simt_random_kind kind, void *out, size_t count, double mean,
                      double deviation);

/** @brief Whether it is a generator of Sobol sequences, scrambled ones among them, those of 64 bits among them. */
static inline int simt_random_is_quasi(const struct curandGenerator_st *g)
{
    return g->type >= CURAND_RNG_QUASI_DEFAULT;
}
static inline int simt_random_is_scrambled(const struct curandGenerator_st *g)
{
    return g->type == CURAND_RNG_QUASI_SCRAMBLED_SOBOL32 || g->type == CURAND_RNG_QUASI_SCRAMBLED_SOBOL64;
}
static inline int simt_random_is_long(const struct curandGenerator_st *g)
{
    return g->type == CURAND_RNG_QUASI_SOBOL64 || g->type == CURAND_RNG_QUASI_SCRAMBLED_SOBOL64;
}

/** @brief Whether its normal numbers are made two at a time, and not by the inverse of the distribution. */
static inline int simt_random_makes_pairs(const struct curandGenerator_st *g)
{
    return !simt_random_is_quasi(g) && !simt_random_is_mersenne(g);
}

/** @brief Dimensions of Sobol sequences that cuRAND has. */
enum { SOBOL_DIMENSIONS = 20000 };
/** @brief How many there are here; none of the scrambled ones without an installed cuRAND. */
unsigned simt_sobol_dimensions(int scrambled);
/** @brief 64 direction numbers; those of 32 bits are their upper halves. */
const uint64_t *simt_sobol_vector(int scrambled, unsigned dimension);
uint64_t simt_sobol_constant(unsigned dimension);
/** @brief Or a finding says why not. */
int simt_sobol_has(const char *function, void *caller, int scrambled, unsigned dimensions);
