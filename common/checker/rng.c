/**
 * @file rng.c
 * @brief splitmix64 (Steele, Lea and Flood 2014) and what is made of it.
 */
#include "rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

static uint64_t scramble(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

uint64_t rng_mix(uint64_t seed, uint64_t salt)
{
    return scramble(seed + scramble(salt + UINT64_C(0x9E3779B97F4A7C15)));
}

uint64_t rng_mix_text(uint64_t seed, const char *text)
{
    for (; *text != '\0'; text++) seed = rng_mix(seed, (unsigned char)*text);
    return seed;
}

uint64_t rng_next(struct rng *rng)
{
    rng->state += UINT64_C(0x9E3779B97F4A7C15);
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

/* Twelve uniform numbers of 16 bits have variance 12/12 in sum. No logarithm or cosine is called, so the
 * inputs do not depend on the C library. */
double rng_normal(struct rng *rng)
{
    double sum = 0.0;
    for (int word = 0; word < 3; word++) {
        uint64_t bits = rng_next(rng);
        for (int piece = 0; piece < 4; piece++) sum += (double)(bits >> (16 * piece) & 0xFFFF) * 0x1p-16;
    }
    return sum - 6.0;
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
