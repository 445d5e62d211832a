/**
 * @file random_fill.c
 * @brief The numbers of cuRAND's host interface, in the order of cuRAND's default.
 *
 * XORWOW has 4096 generators, 2^67 steps apart, that take turns, and MRG32k3a 81920, or 4096 in the legacy order, 2^76 steps apart;
 * what takes several draws takes them of one generator. Philox has 65536, of which each gives four words at a turn. The order of Mersenne
 * twisters is in random_mersenne.c.
 */
#include <math.h>
#include <stdlib.h>

#include "random_mersenne.h"

enum { XORWOWS = 4096, MRGS = 81920, LEGACY_MRGS = 4096, PHILOXES = 65536 };

/* ---- states that take turns ---------------------------------------------------------------------------- */

size_t simt_random_turns(const struct curandGenerator_st *g)
{
    switch (g->type) {
    case CURAND_RNG_PSEUDO_XORWOW:
        return XORWOWS;
    case CURAND_RNG_PSEUDO_MRG32K3A:
        return g->order == CURAND_ORDERING_PSEUDO_LEGACY ? LEGACY_MRGS : MRGS;
    default:
        return 0;
    }
}

static void begin(const struct curandGenerator_st *g, union simt_random_state *s, uint64_t turns)
{
    if (g->type == CURAND_RNG_PSEUDO_MRG32K3A) {
        simt_mrg_seed(&s->mrg, g->seed);
        simt_mrg_skip(&s->mrg, turns, SIMT_MRG_STEPS);
    } else {
        simt_xorwow_seed(s->xorwow.v, &s->xorwow.d, g->seed);
        simt_xorwow_skip(s->xorwow.v, &s->xorwow.d, turns);
    }
}

static uint32_t step(const struct curandGenerator_st *g, union simt_random_state *s)
{
    return g->type == CURAND_RNG_PSEUDO_MRG32K3A ? simt_mrg_next(&s->mrg)
                                                 : simt_xorwow_next(s->xorwow.v, &s->xorwow.d);
}

int simt_random_make_states(curandGenerator_t g)
{
    const size_t turns = simt_random_turns(g);
    if (turns == 0 || g->states != NULL) return 1;
    g->states = malloc(turns * sizeof *g->states);
    if (g->states == NULL) return 0;
    union simt_random_state s;
    begin(g, &s, g->position / turns);
    for (size_t i = 0; i < turns; i++) {
        g->states[i] = s;
        if (i < g->position % turns) (void)step(g, &g->states[i]);
        if (g->type == CURAND_RNG_PSEUDO_MRG32K3A)
            simt_mrg_skip(&s.mrg, 1, SIMT_MRG_SUBSEQUENCES);
        else
            simt_xorwow_skip_sequences(s.xorwow.v, 1);
    }
    return 1;
}

/* ---- words --------------------------------------------------------------------------------------------- */

static uint32_t philox_word(const struct curandGenerator_st *g, uint64_t block, uint64_t turn, unsigned word)
{
    const uint32_t counter[4] = {(uint32_t)turn, (uint32_t)(turn >> 32), (uint32_t)block, 0};
    const uint32_t key[2] = {(uint32_t)g->seed, (uint32_t)(g->seed >> 32)};
    uint32_t out[4];
    simt_philox(counter, key, out);
    return out[word];
}

/* The next `draws` values that belong to one number, or to one pair of them: `item` counts these in the call. */
static void draw(curandGenerator_t g, uint64_t item, unsigned draws, uint32_t *value)
{
    const size_t turns = simt_random_turns(g);
    if (turns != 0) {
        union simt_random_state *s = &g->states[(g->position + item) % turns];
        for (unsigned i = 0; i < draws; i++) value[i] = step(g, s);
        return;
    }
    const uint64_t first = g->position + item * draws;
    for (unsigned i = 0; i < draws; i++) {
        const uint64_t four = (first + i) / 4;
        value[i] = philox_word(g, four % PHILOXES, four / PHILOXES, (unsigned)((first + i) % 4));
    }
}

/* Doubles of Philox: a generator gives two times four words at a turn. */
static void draw_doubles(curandGenerator_t g, uint64_t item, unsigned draws, uint32_t *value)
{
    if (g->type != CURAND_RNG_PSEUDO_PHILOX4_32_10) {
        draw(g, item, draws, value);
        return;
    }
    const uint64_t first = g->position + item * draws;
    for (unsigned i = 0; i < draws; i++) {
        const uint64_t eight = (first + i) / 8;
        value[i] = philox_word(g, eight % PHILOXES, eight / PHILOXES * 2 + (first + i) / 4 % 2,
                               (unsigned)((first + i) % 4));
    }
}

/* What a call that made `items` numbers or pairs, of `draws` words each, has used up. */
static void move_on(curandGenerator_t g, uint64_t items, unsigned draws)
{
    g->position += simt_random_turns(g) != 0 ? items : items * draws;
}

/* ---- numbers ------------------------------------------------------------------------------------------- */

static const float unit = 2.3283064e-10f, full_circle = 6.2831855f;
static const double fine_unit = 1.1102230246251565e-16, fine_circle = 6.2831853071795860;

static float uniform_of(uint32_t x)
{
    const float part = (float)x * unit;
    return part + unit / 2;
}

static double double_of(uint32_t x, uint32_t y)
{
    const double part = (double)(x ^ (uint64_t)y << 21) * fine_unit;
    return part + fine_unit / 2;
}

/* Box's and Muller's: two uniform numbers, of which the second is the angle. */
static void pair_of(curandGenerator_t g, uint64_t item, float *u, float *angle)
{
    uint32_t value[2];
    draw(g, item, 2, value);
    if (g->type == CURAND_RNG_PSEUDO_MRG32K3A) {
        *u = (float)simt_mrg_unit(value[0]);
        *angle = (float)simt_mrg_unit(value[1]) * full_circle;
    } else {
        *u = uniform_of(value[0]);
        *angle = (float)value[1] * (unit * full_circle) + unit * full_circle / 2;
    }
}

static void pair_of_doubles(curandGenerator_t g, uint64_t item, double *u, double *angle)
{
    uint32_t value[4];
    if (g->type == CURAND_RNG_PSEUDO_MRG32K3A) { /* it has one word for a double */
        draw(g, item, 2, value);
        *u = simt_mrg_unit(value[0]);
        *angle = simt_mrg_unit(value[1]) * fine_circle;
    } else {
        draw_doubles(g, item, 4, value);
        *u = double_of(value[0], value[1]);
        *angle = double_of(value[2], value[3]) * fine_circle;
    }
}

static void fill_words(curandGenerator_t g, uint32_t *out, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        draw(g, i, 1, &out[i]);
        if (g->type == CURAND_RNG_PSEUDO_MRG32K3A) out[i] = simt_mrg_word(out[i]);
    }
    move_on(g, count, 1);
}

static void fill_uniform(curandGenerator_t g, float *out, size_t count)
{
    uint32_t value;
    for (size_t i = 0; i < count; i++) {
        draw(g, i, 1, &value);
        out[i] = g->type == CURAND_RNG_PSEUDO_MRG32K3A ? (float)simt_mrg_unit(value) : uniform_of(value);
    }
    move_on(g, count, 1);
}

static void fill_doubles(curandGenerator_t g, double *out, size_t count)
{
    uint32_t value[2];
    for (size_t i = 0; i < count; i++) {
        if (g->type == CURAND_RNG_PSEUDO_MRG32K3A) {
            draw(g, i, 1, value);
            out[i] = simt_mrg_unit(value[0]);
        } else {
            draw_doubles(g, i, 2, value);
            out[i] = double_of(value[0], value[1]);
        }
    }
    move_on(g, count, 2);
}

static void fill_normal(curandGenerator_t g, float *out, size_t count, float mean, float deviation)
{
    float u, angle;
    for (size_t i = 0; i + 1 < count; i += 2) {
        pair_of(g, i / 2, &u, &angle);
        const float s = sqrtf(-2.0f * logf(u));
        out[i] = s * sinf(angle) * deviation + mean;
        out[i + 1] = s * cosf(angle) * deviation + mean;
    }
    move_on(g, count / 2, 2);
}

static void fill_normal_double(curandGenerator_t g, double *out, size_t count, double mean, double deviation)
{
    double u, angle;
    for (size_t i = 0; i + 1 < count; i += 2) {
        pair_of_doubles(g, i / 2, &u, &angle);
        const double s = sqrt(-2.0 * log(u));
        out[i] = s * sin(angle) * deviation + mean;
        out[i + 1] = s * cos(angle) * deviation + mean;
    }
    move_on(g, count / 2, 4);
}

/* ---- Sobol sequences and Mersenne twisters: a number of each word --------------------------------------- */

/* MT19937's uniform numbers are in the middle between those of cuRAND's other generators, and floats are rounded once. */
static double unit_of_mt19937(uint32_t x)
{
    return (double)x * 2.3283064365386963e-10 + 2.3283064365386963e-10 / 2;
}

/* A word, of which a generator of 32 bits has the upper half, as what is asked for. */
static double number_of(const struct curandGenerator_st *g, enum simt_random_kind kind, uint64_t x)
{
    const uint32_t upper = (uint32_t)(x >> 32);
    if (g->type == CURAND_RNG_PSEUDO_MT19937 && (kind == UNIFORM || kind == UNIFORM_DOUBLE))
        return unit_of_mt19937(upper);
    if (g->type == CURAND_RNG_PSEUDO_MTGP32 && kind == NORMAL_DOUBLE && g->on_host)
        return (double)(float)simt_normal_of_word(upper); /* as cuRAND has it; on a GPU it is a double */
    if (kind == UNIFORM) return (double)uniform_of(upper);
    if (kind == UNIFORM_DOUBLE)
        return simt_random_is_long(g) ? (double)(x >> 11) * fine_unit + fine_unit / 2
                                      : (double)upper * 2.3283064365386963e-10 + 2.3283064365386963e-10;
    return kind == NORMAL || kind == LOG_NORMAL
               ? simt_normal_of_word(upper)
               : simt_fine_normal_of_word(x, simt_random_is_long(g) ? 53 : 32);
}

static void store(const struct curandGenerator_st *g, enum simt_random_kind kind, uint64_t x, void *out,
                  size_t i, double mean, double deviation)
{
    if (kind == WORDS) ((uint32_t *)out)[i] = (uint32_t)(x >> 32);
    if (kind == LONG_WORDS) ((uint64_t *)out)[i] = x;
    if (kind == UNIFORM) ((float *)out)[i] = (float)number_of(g, kind, x);
    if (kind == UNIFORM_DOUBLE) ((double *)out)[i] = number_of(g, kind, x);
    if (kind == NORMAL || kind == LOG_NORMAL)
        ((float *)out)[i] = (float)number_of(g, kind, x) * (float)deviation + (float)mean;
    if (kind == NORMAL_DOUBLE || kind == LOG_NORMAL_DOUBLE)
        ((double *)out)[i] = number_of(g, kind, x) * deviation + mean;
}

static void fill_quasi(curandGenerator_t g, enum simt_random_kind kind, void *out, size_t count, double mean,
                       double deviation)
{
    const size_t points = count / g->dimensions;
    const uint64_t bits = simt_random_is_long(g) ? ~(uint64_t)0 : ~(uint64_t)0 << 32;
    for (unsigned d = 0; d < g->dimensions; d++) {
        const uint64_t *v = simt_sobol_vector(simt_random_is_scrambled(g), d);
        uint64_t x = simt_random_is_scrambled(g) ? simt_sobol_constant(d) & bits : 0;
        for (uint64_t code = simt_sobol_code(g->position); code != 0; code &= code - 1)
            x ^= v[__builtin_ctzll(code)] & bits;
        for (size_t i = 0; i < points; i++) {
            store(g, kind, x, out, d * points + i, mean, deviation);
            x ^= v[simt_sobol_change(g->position + i)] & bits;
        }
    }
    g->position += points;
}

static void fill_mersenne(curandGenerator_t g, enum simt_random_kind kind, void *out, size_t count,
                          double mean, double deviation)
{
    for (size_t i = 0; i < count; i++)
        store(g, kind, (uint64_t)simt_mersenne_word(g) << 32, out, i, mean, deviation);
}

void simt_random_fill(curandGenerator_t g, enum simt_random_kind kind, void *out, size_t count, double mean,
                      double deviation)
{
    if (simt_random_is_quasi(g))
        fill_quasi(g, kind, out, count, mean, deviation);
    else if (simt_random_is_mersenne(g))
        fill_mersenne(g, kind, out, count, mean, deviation);
    else if (kind == WORDS)
        fill_words(g, out, count);
    else if (kind == UNIFORM)
        fill_uniform(g, out, count);
    else if (kind == UNIFORM_DOUBLE)
        fill_doubles(g, out, count);
    else if (kind == NORMAL || kind == LOG_NORMAL)
        fill_normal(g, out, count, (float)mean, (float)deviation);
    else
        fill_normal_double(g, out, count, mean, deviation);
    for (size_t i = 0; kind == LOG_NORMAL && i < count; i++) ((float *)out)[i] = expf(((float *)out)[i]);
    for (size_t i = 0; kind == LOG_NORMAL_DOUBLE && i < count; i++)
        ((double *)out)[i] = exp(((double *)out)[i]);
}
