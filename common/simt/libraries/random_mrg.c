/**
 * @file random_mrg.c
 * @brief MRG32k3a's leaps: powers of its two matrices, each modulo a prime.
 */
#include "include/simt/random.h"

#include <pthread.h>
#include <string.h>

enum { POWERS = SIMT_MRG_SEQUENCES + 64 };

struct matrix {
    uint64_t of[3][3];
};

/* Matrix k makes 2^k steps. */
static struct matrix powers_a[POWERS], powers_b[POWERS];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void square(const struct matrix *m, uint64_t modulus, struct matrix *twice)
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            uint64_t sum = 0;
            for (int k = 0; k < 3; k++) sum = (sum + m->of[i][k] * m->of[k][j] % modulus) % modulus;
            twice->of[i][j] = sum;
        }
}

static void make_powers(void)
{
    powers_a[0] = (struct matrix){{{0, 1, 0}, {0, 0, 1}, {SIMT_MRG_M1 - 810728, 1403580, 0}}};
    powers_b[0] = (struct matrix){{{0, 1, 0}, {0, 0, 1}, {SIMT_MRG_M2 - 1370589, 0, 527612}}};
    for (int k = 1; k < POWERS; k++) {
        square(&powers_a[k - 1], SIMT_MRG_M1, &powers_a[k]);
        square(&powers_b[k - 1], SIMT_MRG_M2, &powers_b[k]);
    }
}

static void apply(const struct matrix *m, uint64_t modulus, uint32_t v[3])
{
    uint64_t moved[3] = {0};
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) moved[i] = (moved[i] + m->of[i][k] * v[k] % modulus) % modulus;
    for (int i = 0; i < 3; i++) v[i] = (uint32_t)moved[i];
}

void simt_mrg_skip(struct simt_mrg *s, uint64_t n, int power)
{
    if (n == 0) return;
    pthread_once(&once, make_powers);
    for (; n != 0; n /= 2, power++)
        if (n % 2 == 1) {
            apply(&powers_a[power], SIMT_MRG_M1, s->a);
            apply(&powers_b[power], SIMT_MRG_M2, s->b);
        }
}

void simt_mrg_seed(struct simt_mrg *s, uint64_t seed)
{
    const uint64_t low = 12345ull * ((uint32_t)seed ^ 0x55555555u);
    const uint64_t high = 12345ull * ((uint32_t)(seed >> 32) ^ 0xaaaaaaaau);
    for (int i = 0; i < 3; i++) {
        s->a[i] = seed == 0 ? 12345u : (uint32_t)((i == 1 ? high : low) % SIMT_MRG_M1);
        s->b[i] = seed == 0 ? 12345u : (uint32_t)((i == 1 ? low : high) % SIMT_MRG_M2);
    }
}
