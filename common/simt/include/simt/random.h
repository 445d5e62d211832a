/**
 * @file random.h
 * @brief The generators of cuRAND that curand.h and curand_kernel.h share.
 */
#ifndef WARPWISE_SIMT_RANDOM_H
#define WARPWISE_SIMT_RANDOM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** @brief XORWOW: five words that a linear map over GF(2) moves on, and a counter (Marsaglia 2003). */
void simt_xorwow_seed(uint32_t v[5], uint32_t *d, uint64_t seed);
/** @brief @p n steps at once, or @p n times 2^67 steps. */
void simt_xorwow_skip(uint32_t v[5], uint32_t *d, uint64_t n);
void simt_xorwow_skip_sequences(uint32_t v[5], uint64_t n);
/** @brief Philox4x32-10 (Salmon et al. 2011): four words of a counter and a key. */
void simt_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

#ifdef __cplusplus
}
#endif

static inline uint32_t simt_xorwow_next(uint32_t v[5], uint32_t *d)
{
    const uint32_t t = v[0] ^ (v[0] >> 2);
    for (int i = 0; i < 4; i++) v[i] = v[i + 1];
    v[4] = (v[4] ^ (v[4] << 4)) ^ (t ^ (t << 1));
    *d += 362437;
    return v[4] + *d;
}

#endif
