/**
 * @file random.h
 * @brief The generators of cuRAND that curand.h and curand_kernel.h share.
 */
#pragma once

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
/** @brief Where the normal distribution has the share @p p below it: above 0, and not more than about 1/2. */
double simt_normal_quantile(double p);

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


/** @brief The place of the point @p i of a Sobol sequence, of which one bit differs from the next one's: a Gray code. */
static inline uint64_t simt_sobol_code(uint64_t i) { return i ^ i >> 1; }
/** @brief The bit that changes after it. */
static inline int simt_sobol_change(uint64_t i) { return ~i != 0 ? __builtin_ctzll(~i) : 63; }
/* Words of a quasi-random sequence become normal numbers one by one, by the inverse of the distribution. What is above the middle is
 * taken from above, where the numbers are finer. */
static inline double simt_normal_of_word(uint32_t x)
{
    const uint32_t from_below = x > 0x80000000u ? ~x : x;
    const float part = (float)from_below * 2.3283064e-10f, p = part + 2.3283064e-10f / 2;
    const double normal = simt_normal_quantile((double)p);
    return x > 0x80000000u ? -normal : normal;
}
/** @brief Of @p bits bits of a longer word, 32 or 53. */
static inline double simt_fine_normal_of_word(uint64_t x, int bits)
{
    const uint64_t from_below = x > (uint64_t)1 << 63 ? ~x : x;
    const double unit = bits == 53 ? 1.1102230246251565e-16 : 2.3283064365386963e-10;
    const double normal = simt_normal_quantile((double)(from_below >> (64 - bits)) * unit + unit / 2);
    return x > (uint64_t)1 << 63 ? -normal : normal;
}
