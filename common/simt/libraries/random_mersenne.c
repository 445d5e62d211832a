/**
 * @file random_mersenne.c
 * @brief The Mersenne twisters of cuRAND's host interface: MT19937 and MTGP32.
 *
 * MT19937 (Matsumoto and Nishimura 1998) is 8192 generators, of which each begins 2^2048 steps after the one before. The words of an array
 * come from them in turn, eight from each, as eight threads make them together.
 * MTGP32 (Saito and Matsumoto 2013) is 192 generators, or 64 in the legacy order, each with its own parameters, that give 256 words at
 * a turn: as many as the threads of a block.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "random_mersenne.h"

/* ---- MT19937 ------------------------------------------------------------------------------------------- */

enum {
    WORDS_OF_STATE = 624,
    PICKED_UP = 397,
    GENERATORS = 8192,
    THREADS = 8,
    ROW = GENERATORS * THREADS,              /* words for which each thread makes one */
    ROWS_OF_STATE = WORDS_OF_STATE / THREADS /* after which the state is renewed */
};

struct mt19937 {
    uint32_t x[WORDS_OF_STATE];
};
struct many_mt19937 {
    /* the state with which the newest generator began: the next one's follows from it when it is first needed */
    struct mt19937 last;
    size_t made;
    uint16_t renewed[GENERATORS]; /* how often, modulo 2^16: never more than once behind */
    struct mt19937 now[GENERATORS];
};

static inline uint32_t follow(uint32_t x0, uint32_t x1, uint32_t x397)
{
    const uint32_t y = (x0 & 0x80000000u) | (x1 & 0x7fffffffu);
    return x397 ^ y >> 1 ^ (y % 2 == 1 ? 0x9908b0dfu : 0);
}

static void seed_mt19937(struct mt19937 *s, uint32_t seed)
{
    s->x[0] = seed;
    for (uint32_t i = 1; i < WORDS_OF_STATE; i++)
        s->x[i] = 1812433253u * (s->x[i - 1] ^ s->x[i - 1] >> 30) + i;
}

static void renew(struct mt19937 *s)
{
    for (int i = 0; i < WORDS_OF_STATE; i++)
        s->x[i] = follow(s->x[i], s->x[(i + 1) % WORDS_OF_STATE], s->x[(i + PICKED_UP) % WORDS_OF_STATE]);
}

static uint32_t temper(uint32_t y)
{
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680u;
    y ^= y << 15 & 0xefc60000u;
    return y ^ y >> 18;
}

/* place[row][thread]: the word of a state that the thread gives in a row. Row 0 has those in `first`; every seven rows after it have 56
 * of the others, seven in a row of each thread's. */
static uint16_t place[ROWS_OF_STATE][THREADS];

static void make_places(void)
{
    static const uint16_t first[THREADS] = {0, 113, 170, 283, 340, 397, 510, 567};
    memcpy(place[0], first, sizeof first);
    for (uint16_t word = 0, skipped = 0; word < WORDS_OF_STATE; word++) {
        if (skipped < THREADS && word == first[skipped]) {
            skipped++;
            continue;
        }
        const int i = word - skipped;
        place[1 + i / 56 * 7 + i % 7][i % 56 / 7] = word;
    }
}

/* ---- 2^2048 steps at once ------------------------------------------------------------------------------ */

/* n steps are t^n modulo the characteristic polynomial (Haramoto and others 2008): the new state is the sum of those states, of the
 * 19937 that follow, whose power of t is in the remainder. */
enum { DEGREE = 19937, LIMBS = (DEGREE + 63) / 64, LOG2_STEPS = 2048, SPAN = 4 };

static uint64_t polynomial[LIMBS];
static uint16_t exponent[256]; /* of its terms but the first; it has 135 */
static int exponents;

/* The powers of t in the remainder, in spans of SPAN powers that begin with one that is there. Those of begins_at[k] have, after their
 * first, the powers that are bits of k. */
static uint16_t begins_at[1 << (SPAN - 1)][DEGREE / 2];
static int begins[1 << (SPAN - 1)];
static pthread_once_t made_jump = PTHREAD_ONCE_INIT;

static int has(const uint64_t *p, int power)
{
    return (int)(p[power / 64] >> power % 64 & 1);
}

/* p = p (t^high + t^low) + constant */
static void multiply_by_two_terms(uint64_t p[LIMBS], int high, int low, uint32_t constant)
{
    uint64_t product[LIMBS] = {0};
    for (int i = 0; i + low <= DEGREE; i++)
        if (has(p, i)) {
            product[(i + high) / 64] ^= (uint64_t)1 << (i + high) % 64;
            product[(i + low) / 64] ^= (uint64_t)1 << (i + low) % 64;
        }
    product[0] ^= constant;
    memcpy(p, product, sizeof product);
}

/* Matsumoto and Nishimura's appendix A, by Horner's rule; bit i of the constant of the recurrence is the coefficient of degree 30 - i. */
static void make_polynomial(void)
{
    polynomial[0] = 1;
    for (int i = 0; i < 31; i++)
        multiply_by_two_terms(polynomial, WORDS_OF_STATE - 1, PICKED_UP - 1, 0x9908b0dfu >> i & 1);
    multiply_by_two_terms(polynomial, WORDS_OF_STATE, PICKED_UP, 1);
    for (int i = 0; i < DEGREE; i++)
        if (has(polynomial, i)) exponent[exponents++] = (uint16_t)i;
}

/* The highest powers, 64 at a time: the second highest of the polynomial is 227 below the first, so they do not come back at once. */
static void reduce(uint64_t p[2 * LIMBS + 1])
{
    for (int limb = 2 * LIMBS - 1; limb >= DEGREE / 64; limb--) {
        const int shift = limb > DEGREE / 64 ? 0 : DEGREE % 64;
        const uint64_t high = p[limb] >> shift << shift;
        p[limb] ^= high;
        for (int i = 0; i < exponents && high != 0; i++) {
            /* below 0 only where the lowest bits of `high` are 0 */
            const int to = limb * 64 - DEGREE + exponent[i];
            if (to < 0) {
                p[0] ^= high >> -to;
                continue;
            }
            p[to / 64] ^= high << to % 64;
            if (to % 64 != 0) p[to / 64 + 1] ^= high >> (64 - to % 64);
        }
    }
}

/* x becomes every second bit of the product. */
static uint64_t spread(uint32_t x)
{
    uint64_t wide = x;
    wide = (wide | wide << 16) & 0x0000ffff0000ffffu;
    wide = (wide | wide << 8) & 0x00ff00ff00ff00ffu;
    wide = (wide | wide << 4) & 0x0f0f0f0f0f0f0f0fu;
    wide = (wide | wide << 2) & 0x3333333333333333u;
    return (wide | wide << 1) & 0x5555555555555555u;
}

static void make_jump(void)
{
    uint64_t p[2 * LIMBS + 1] = {2}; /* t */
    make_places();
    make_polynomial();
    for (int k = 0; k < LOG2_STEPS; k++) {
        for (int i = LIMBS - 1; i >= 0; i--) {
            const uint64_t limb = p[i];
            p[2 * i] = spread((uint32_t)limb);
            p[2 * i + 1] = spread((uint32_t)(limb >> 32));
        }
        reduce(p);
    }
    for (int i = 0; i < DEGREE;) {
        if (!has(p, i)) {
            i++;
            continue;
        }
        unsigned pattern = 0;
        for (int k = 1; k < SPAN; k++) pattern |= (unsigned)(i + k < DEGREE && has(p, i + k)) << (k - 1);
        begins_at[pattern][begins[pattern]++] = (uint16_t)i;
        i += SPAN;
    }
}

/* Adds what begins at each of these words to the state. */
static void add_states(uint32_t *restrict sum, const uint32_t *restrict x, const uint16_t *at, int count)
{
    int k = 0;
    for (; k + 4 <= count; k += 4) {
        const uint32_t *a = x + at[k], *b = x + at[k + 1], *c = x + at[k + 2], *d = x + at[k + 3];
        for (int i = 0; i < WORDS_OF_STATE; i++) sum[i] ^= a[i] ^ b[i] ^ c[i] ^ d[i];
    }
    for (; k < count; k++)
        for (int i = 0; i < WORDS_OF_STATE; i++) sum[i] ^= x[at[k] + i];
}

static void jump(const struct mt19937 *from, struct mt19937 *to)
{
    enum { LENGTH = DEGREE + WORDS_OF_STATE };
    uint32_t x[LENGTH + SPAN], together[LENGTH];
    memcpy(x, from->x, sizeof from->x);
    for (int i = WORDS_OF_STATE; i < LENGTH + SPAN; i++)
        x[i] = follow(x[i - WORDS_OF_STATE], x[i - WORDS_OF_STATE + 1], x[i - WORDS_OF_STATE + PICKED_UP]);
    memset(to, 0, sizeof *to);
    for (unsigned pattern = 0; pattern < 1u << (SPAN - 1); pattern++) {
        memcpy(together, x, sizeof together);
        for (int k = 1; k < SPAN; k++)
            if (pattern >> (k - 1) & 1)
                for (int i = 0; i < LENGTH; i++) together[i] ^= x[i + k];
        add_states(to->x, together, begins_at[pattern], begins[pattern]);
    }
}

static int reach_mt19937(curandGenerator_t g, uint64_t end)
{
    const size_t needed = end < ROW ? (size_t)(end + THREADS - 1) / THREADS : GENERATORS;
    pthread_once(&made_jump, make_jump);
    if (g->mersenne == NULL) g->mersenne = calloc(1, sizeof(struct many_mt19937));
    struct many_mt19937 *many = g->mersenne;
    if (many == NULL) return 0;
    for (; many->made < needed; many->made++) {
        struct mt19937 *made = &many->now[many->made];
        if (many->made == 0)
            seed_mt19937(made, (uint32_t)g->seed);
        else
            jump(&many->last, made);
        many->last = *made;
    }
    return 1;
}

static uint32_t word_of_mt19937(struct many_mt19937 *many, uint64_t position)
{
    const uint64_t row = position / ROW;
    const size_t generator = position % ROW / THREADS;
    const uint16_t renewals = (uint16_t)(row / ROWS_OF_STATE + 1);
    if (many->renewed[generator] != renewals) renew(&many->now[generator]);
    many->renewed[generator] = renewals;
    return temper(many->now[generator].x[place[row % ROWS_OF_STATE][position % THREADS]]);
}

/* ---- MTGP32 -------------------------------------------------------------------------------------------- */

enum { MTGP_GENERATORS = 192, LEGACY_MTGP_GENERATORS = 64, BLOCK = 256 };

struct mtgp32 {
    uint32_t x[MTGPDC_N];
    int next;
};

static uint32_t step_mtgp32(struct mtgp32 *s, const struct mtgp32_params_fast *p)
{
    const int at = s->next;
    uint32_t x = (s->x[at] & p->mask) ^ s->x[(at + 1) % MTGPDC_N], t = s->x[(at + p->pos - 1) % MTGPDC_N];
    x ^= x << p->sh1;
    const uint32_t y = x ^ s->x[(at + p->pos) % MTGPDC_N] >> p->sh2, next = y ^ p->tbl[y % 16];
    s->x[at] = next;
    s->next = (at + 1) % MTGPDC_N;
    t ^= t >> 16;
    t ^= t >> 8;
    return next ^ p->tmp_tbl[t % 16];
}

static int reach_mtgp32(curandGenerator_t g)
{
    if (g->mersenne != NULL) return 1;
    struct mtgp32 *s = g->mersenne = calloc(MTGP_GENERATORS, sizeof *s);
    for (uint32_t i = 0; s != NULL && i < MTGP_GENERATORS; i++)
        simt_mtgp_seed(s[i].x, &simt_mtgp_parameters()[i], (uint32_t)(g->seed ^ g->seed >> 32) + i + 1);
    return s != NULL;
}

/* ---- either -------------------------------------------------------------------------------------------- */

int simt_mersenne_reach(curandGenerator_t g, uint64_t end)
{
    return g->type == CURAND_RNG_PSEUDO_MT19937 ? reach_mt19937(g, end) : reach_mtgp32(g);
}

uint32_t simt_mersenne_word(curandGenerator_t g)
{
    const uint64_t position = g->position++;
    if (g->type == CURAND_RNG_PSEUDO_MT19937) return word_of_mt19937(g->mersenne, position);
    const size_t generators =
        g->order == CURAND_ORDERING_PSEUDO_LEGACY ? LEGACY_MTGP_GENERATORS : MTGP_GENERATORS;
    const size_t generator = position / BLOCK % generators;
    return step_mtgp32((struct mtgp32 *)g->mersenne + generator, &simt_mtgp_parameters()[generator]);
}
