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
/** @brief MRG32k3a (L'Ecuyer 1999): two recurrences of order three, each modulo a prime; the oldest value first. */
struct simt_mrg {
    uint32_t a[3], b[3];
};
enum { SIMT_MRG_STEPS = 0, SIMT_MRG_SUBSEQUENCES = 76, SIMT_MRG_SEQUENCES = 127 };
void simt_mrg_seed(struct simt_mrg *s, uint64_t seed);
/** @brief @p n times 2^@p power steps at once. */
void simt_mrg_skip(struct simt_mrg *s, uint64_t n, int power);

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

#define SIMT_MRG_M1 4294967087u
#define SIMT_MRG_M2 4294944443u

/** @brief From 1 to SIMT_MRG_M1. */
static inline uint32_t simt_mrg_next(struct simt_mrg *s)
{
    /* -x modulo m is m - x: what is added keeps the sum above zero, and below 2^64 */
    const uint64_t a = (1403580ull * s->a[1] + 810728ull * (SIMT_MRG_M1 - s->a[0])) % SIMT_MRG_M1;
    const uint64_t b = (527612ull * s->b[2] + 1370589ull * (SIMT_MRG_M2 - s->b[0])) % SIMT_MRG_M2;
    for (int i = 0; i < 2; i++) {
        s->a[i] = s->a[i + 1];
        s->b[i] = s->b[i + 1];
    }
    s->a[2] = (uint32_t)a;
    s->b[2] = (uint32_t)b;
    return (uint32_t)(a > b ? a - b : a + SIMT_MRG_M1 - b);
}
/** @brief The range stretched to 32 bits. */
static inline uint32_t simt_mrg_word(uint32_t x)
{
    const double stretched = x * 1.000000048662; /* 2^32 / M1 */
    return stretched < 4294967296.0 ? (uint32_t)stretched : 0xffffffffu;
}
static inline double simt_mrg_unit(uint32_t x) { return x * (1.0 / SIMT_MRG_M1); }

#endif
