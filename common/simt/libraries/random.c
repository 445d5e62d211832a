/**
 * @file random.c
 * @brief XORWOW with its leaps, and Philox4x32-10: the bits are cuRAND's.
 */
#include "include/simt/random.h"

#include <pthread.h>
#include <string.h>

enum { BITS = 160, WORDS = 5, POWERS = 64, SEQUENCE = 67 };

/* What each of the 160 bits becomes: the columns of the map. */
struct map {
    uint32_t column[BITS][WORDS];
};

/* Map k makes 2^k steps; those behind POWERS make 2^67 * 2^k. */
static struct map maps[2 * POWERS];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void apply(const struct map *map, uint32_t v[WORDS])
{
    uint32_t moved[WORDS] = {0};
    for (unsigned word = 0; word < WORDS; word++)
        for (uint32_t left = v[word]; left != 0; left &= left - 1) {
            const uint32_t *column = map->column[32 * word + (unsigned)__builtin_ctz(left)];
            for (unsigned i = 0; i < WORDS; i++) moved[i] ^= column[i];
        }
    memcpy(v, moved, sizeof moved);
}

/* The map made twice. */
static void square(const struct map *map, struct map *twice)
{
    for (unsigned bit = 0; bit < BITS; bit++) {
        uint32_t v[WORDS];
        memcpy(v, map->column[bit], sizeof v);
        apply(map, v);
        memcpy(twice->column[bit], v, sizeof v);
    }
}

static void make_maps(void)
{
    for (unsigned bit = 0; bit < BITS; bit++) {
        uint32_t v[WORDS] = {0}, d = 0;
        v[bit / 32] = (uint32_t)1 << bit % 32;
        (void)simt_xorwow_next(v, &d);
        memcpy(maps[0].column[bit], v, sizeof v);
    }
    for (unsigned k = 1; k < POWERS; k++) square(&maps[k - 1], &maps[k]);
    struct map between[2];
    square(&maps[POWERS - 1], &between[0]); /* 2^64 */
    square(&between[0], &between[1]);
    square(&between[1], &between[0]);
    square(&between[0], &maps[POWERS]); /* 2^SEQUENCE */
    for (unsigned k = 1; k < POWERS; k++) square(&maps[POWERS + k - 1], &maps[POWERS + k]);
}

static void skip(const struct map *power, uint32_t v[WORDS], uint64_t n)
{
    if (n == 0) return;
    pthread_once(&once, make_maps);
    for (; n != 0; n /= 2, power++)
        if (n % 2 == 1) apply(power, v);
}

void simt_xorwow_seed(uint32_t v[5], uint32_t *d, uint64_t seed)
{
    const uint32_t t0 = 1099087573u * ((uint32_t)seed ^ 0xaad26b49u);
    const uint32_t t1 = 2591861531u * ((uint32_t)(seed >> 32) ^ 0xf7dcefddu);
    *d = 6615241u + t1 + t0;
    v[0] = 123456789u + t0;
    v[1] = 362436069u ^ t0;
    v[2] = 521288629u + t1;
    v[3] = 88675123u ^ t1;
    v[4] = 5783321u + t0;
}

void simt_xorwow_skip(uint32_t v[5], uint32_t *d, uint64_t n)
{
    skip(maps, v, n);
    *d += 362437u * (uint32_t)n;
}

void simt_xorwow_skip_sequences(uint32_t v[5], uint64_t n)
{
    skip(maps + POWERS, v, n);
}

void simt_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t c[4], k0 = key[0], k1 = key[1];
    memcpy(c, counter, sizeof c);
    for (int round = 0; round < 10; round++) {
        const uint64_t a = (uint64_t)0xD2511F53u * c[0], b = (uint64_t)0xCD9E8D57u * c[2];
        const uint32_t next[4] = {(uint32_t)(b >> 32) ^ c[1] ^ k0, (uint32_t)b,
                                  (uint32_t)(a >> 32) ^ c[3] ^ k1, (uint32_t)a};
        memcpy(c, next, sizeof c);
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    memcpy(out, c, sizeof c);
}
