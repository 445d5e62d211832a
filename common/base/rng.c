/**
 * @file rng.c
 * @brief splitmix64 (Steele, Lea and Flood 2014) and what is made of it.
 */
#include "rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "parallel.h"
#include "wide.h"

#define STEP UINT64_C(0x9E3779B97F4A7C15)

static uint64_t scramble(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

uint64_t rng_mix(uint64_t seed, uint64_t salt)
{
    return scramble(seed + scramble(salt + STEP));
}

uint64_t rng_mix_text(uint64_t seed, const char *text)
{
    for (; *text != '\0'; text++) seed = rng_mix(seed, (unsigned char)*text);
    return seed;
}

uint64_t rng_next(struct rng *rng)
{
    rng->state += STEP;
    return scramble(rng->state);
}

int rng_between(struct rng *rng, int low, int high)
{
    return low + (int)(rng_next(rng) % (uint64_t)((int64_t)high - low + 1));
}

double rng_uniform(struct rng *rng)
{
    return (double)(rng_next(rng) >> 11) * 0x1p-53;
}

struct rng rng_ahead(const struct rng *rng, uint64_t numbers)
{
    return (struct rng){rng->state + numbers * STEP};
}

/* Twelve uniform numbers of 16 bits have variance 12/12 in sum. No logarithm or cosine is called, so the
 * inputs do not depend on the C library. Two of the twelve are added up at a time, in the halves of a word. */
static inline double normal_behind(uint64_t state)
{
    const uint64_t every_other = UINT64_C(0x0000FFFF0000FFFF);
    uint64_t sums = 0;
    for (uint64_t word = 1; word <= RNG_NORMAL; word++) {
        const uint64_t bits = scramble(state + word * STEP);
        sums += (bits & every_other) + (bits >> 16 & every_other);
    }
    return (double)(int32_t)((sums & UINT32_MAX) + (sums >> 32)) * 0x1p-16 - 6.0;
}

double rng_normal(struct rng *rng)
{
    const uint64_t state = rng->state;
    rng->state += RNG_NORMAL * STEP;
    return normal_behind(state);
}

struct filling {
    struct rng rng;
    float *data;
};

WIDE void rng_fill_row(struct rng *rng, float *data, size_t count)
{
    const uint64_t state = rng->state;
    for (size_t i = 0; i < count; i++) data[i] = (float)normal_behind(state + i * RNG_NORMAL * STEP);
    rng->state += count * RNG_NORMAL * STEP;
}

WIDE void rng_fill_mixed(uint64_t seed, uint64_t first, uint64_t first_step, uint64_t second,
                         uint64_t second_step, float *data, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const uint64_t mixed = scramble(first + i * first_step + scramble(second + i * second_step + STEP));
        data[i] = (float)normal_behind(seed + mixed);
    }
}

static void fill_piece(void *context, size_t first, size_t last)
{
    const struct filling *filling = context;
    struct rng rng = rng_ahead(&filling->rng, RNG_NORMAL * first);
    rng_fill_row(&rng, filling->data + first, last - first);
}

void rng_fill_normal(struct rng *rng, float *data, size_t count)
{
    struct filling filling = {*rng, data};
    parallel_for(count, 1 << 16, fill_piece, &filling);
    *rng = rng_ahead(rng, RNG_NORMAL * count);
}

uint64_t rng_unforeseen(void)
{
    uint64_t bits;
    if (getrandom(&bits, sizeof bits, 0) != (ssize_t)sizeof bits) {
        fputs("checker: the kernel gives no random bits\n", stderr);
        exit(2);
    }
    return bits;
}
