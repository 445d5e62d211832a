/**
 * @file rng.h
 * @brief Random numbers that depend on a seed and on nothing else, the same on every machine.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/** @brief State of a generator (splitmix64). */
struct rng {
    uint64_t state;
};

/** @brief Mixes @p salt into @p seed; related arguments give unrelated results. */
uint64_t rng_mix(uint64_t seed, uint64_t salt);

/** @brief Mixes a text into @p seed. */
uint64_t rng_mix_text(uint64_t seed, const char *text);

/** @brief The next 64 random bits. */
uint64_t rng_next(struct rng *rng);

/** @brief A whole number from @p low to @p high, both included. */
int rng_between(struct rng *rng, int low, int high);

/** @brief Evenly distributed in [0, 1). */
double rng_uniform(struct rng *rng);

/** @brief Close to normal, mean 0, standard deviation 1, never beyond 6. Takes RNG_NORMAL numbers. */
double rng_normal(struct rng *rng);

enum { RNG_NORMAL = 3 };

/** @brief The generator as it is after @p numbers more of rng_next(): where another thread can begin. */
struct rng rng_ahead(const struct rng *rng, uint64_t numbers);

/** @brief Fills @p data with rng_normal(), which floats hold exactly. */
void rng_fill_row(struct rng *rng, float *data, size_t count);

/** @brief Element i is the rng_normal() of seed + rng_mix(first + i * first_step, second + i * second_step): a row of a matrix whose
 *         numbers depend on their place alone. */
void rng_fill_mixed(uint64_t seed, uint64_t first, uint64_t first_step, uint64_t second, uint64_t second_step,
                    float *data, size_t count);

/** @brief rng_fill_row() over all cores. */
void rng_fill_normal(struct rng *rng, float *data, size_t count);

/** @brief Bits that cannot be foreseen, for nonces and poisons; from the kernel. */
uint64_t rng_unforeseen(void);
