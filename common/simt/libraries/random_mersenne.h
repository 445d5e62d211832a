/**
 * @file random_mersenne.h
 * @brief Mersenne twisters: words of a generator one after the other, and the parameters of MTGP32.
 */
#pragma once

#include "include/curand_mtgp32.h"
#include "random_generator.h"

/** @brief Makes what is needed for the words before @p end; 0 without memory. */
int simt_mersenne_reach(curandGenerator_t g, uint64_t end);
/** @brief The next word, which must be within reach. */
uint32_t simt_mersenne_word(curandGenerator_t g);

/** @brief The first words of a state of MTGP32. */
void simt_mtgp_seed(uint32_t x[MTGPDC_N], const struct mtgp32_params_fast *p, uint32_t seed);
/** @brief CURAND_NUM_MTGP32_PARAMS sets, which nobody can read where no CUDA Toolkit has them. */
struct mtgp32_params_fast *simt_mtgp_parameters(void);
/** @brief Whether they are there, or a finding says why not. */
int simt_mtgp_has(const char *function, void *caller);
