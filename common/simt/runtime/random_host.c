/**
 * @file random_host.c
 * @brief cuRAND's host interface. Numbers are made on the host, in the order of cuRAND's default, and copied.
 *
 * XORWOW has 4096 generators, 2^67 steps apart, that take turns; what takes several draws takes them of one generator. Philox has
 * 65536, of which each gives four words at a turn.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../include/curand.h"
#include "../include/simt/random.h"
#include "graph.h"

enum { XORWOWS = 4096, PHILOXES = 65536 };

struct curandGenerator_st {
    curandRngType_t type;
    int on_host;
    cudaStream_t stream;
    uint64_t seed, position; /**< of the next word, among all that the generator gives */
    struct xorwow {
        uint32_t v[5], d;
    } * xorwow; /**< [XORWOWS], as they stand before `position`; NULL until they are needed */
};

/* ---- words --------------------------------------------------------------------------------------------- */

static int make_xorwows(curandGenerator_t g)
{
    if (g->xorwow != NULL) return 1;
    g->xorwow = malloc(XORWOWS * sizeof *g->xorwow);
    if (g->xorwow == NULL) return 0;
    struct xorwow s;
    simt_xorwow_seed(s.v, &s.d, g->seed);
    for (uint64_t i = 0; i < XORWOWS; i++) {
        g->xorwow[i] = s;
        const uint64_t turns = g->position / XORWOWS + (i < g->position % XORWOWS);
        simt_xorwow_skip(g->xorwow[i].v, &g->xorwow[i].d, turns);
        simt_xorwow_skip_sequences(s.v, 1);
    }
    return 1;
}

static uint32_t philox_word(const struct curandGenerator_st *g, uint64_t block, uint64_t turn, unsigned word)
{
    const uint32_t counter[4] = {(uint32_t)turn, (uint32_t)(turn >> 32), (uint32_t)block, 0};
    const uint32_t key[2] = {(uint32_t)g->seed, (uint32_t)(g->seed >> 32)};
    uint32_t out[4];
    simt_philox(counter, key, out);
    return out[word];
}

/* The next `draws` words that belong to one number, or to one pair of them: `item` counts these in the call. */
static void draw(curandGenerator_t g, uint64_t item, unsigned draws, uint32_t *word)
{
    if (g->xorwow != NULL) {
        struct xorwow *s = &g->xorwow[(g->position + item) % XORWOWS];
        for (unsigned i = 0; i < draws; i++) word[i] = simt_xorwow_next(s->v, &s->d);
        return;
    }
    const uint64_t first = g->position + item * draws;
    for (unsigned i = 0; i < draws; i++) {
        const uint64_t four = (first + i) / 4;
        word[i] = philox_word(g, four % PHILOXES, four / PHILOXES, (unsigned)((first + i) % 4));
    }
}

/* Doubles of Philox: a generator gives two times four words at a turn. */
static void draw_doubles(curandGenerator_t g, uint64_t item, unsigned draws, uint32_t *word)
{
    if (g->xorwow != NULL) {
        draw(g, item, draws, word);
        return;
    }
    const uint64_t first = g->position + item * draws;
    for (unsigned i = 0; i < draws; i++) {
        const uint64_t eight = (first + i) / 8;
        word[i] = philox_word(g, eight % PHILOXES, eight / PHILOXES * 2 + (first + i) / 4 % 2,
                              (unsigned)((first + i) % 4));
    }
}

/* ---- numbers ------------------------------------------------------------------------------------------- */

static const float unit = 2.3283064e-10f, full_circle = 6.2831855f;
static const double fine_unit = 1.1102230246251565e-16;

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

static void fill_words(curandGenerator_t g, uint32_t *out, size_t count)
{
    for (size_t i = 0; i < count; i++) draw(g, i, 1, &out[i]);
    g->position += count;
}

static void fill_uniform(curandGenerator_t g, float *out, size_t count)
{
    uint32_t word;
    for (size_t i = 0; i < count; i++) {
        draw(g, i, 1, &word);
        out[i] = uniform_of(word);
    }
    g->position += count;
}

static void fill_doubles(curandGenerator_t g, double *out, size_t count)
{
    uint32_t word[2];
    for (size_t i = 0; i < count; i++) {
        draw_doubles(g, i, 2, word);
        out[i] = double_of(word[0], word[1]);
    }
    g->position += g->xorwow != NULL ? count : 2 * count;
}

static void fill_normal(curandGenerator_t g, float *out, size_t count, float mean, float deviation)
{
    uint32_t word[2];
    for (size_t i = 0; i + 1 < count; i += 2) {
        draw(g, i / 2, 2, word);
        const float u = uniform_of(word[0]);
        const float v = (float)word[1] * (unit * full_circle) + unit * full_circle / 2;
        const float s = sqrtf(-2.0f * logf(u));
        out[i] = s * sinf(v) * deviation + mean;
        out[i + 1] = s * cosf(v) * deviation + mean;
    }
    g->position += g->xorwow != NULL ? count / 2 : count;
}

static void fill_normal_double(curandGenerator_t g, double *out, size_t count, double mean, double deviation)
{
    uint32_t word[4];
    for (size_t i = 0; i + 1 < count; i += 2) {
        draw_doubles(g, i / 2, 4, word);
        const double v = double_of(word[2], word[3]) * 6.2831853071795860;
        const double s = sqrt(-2.0 * log(double_of(word[0], word[1])));
        out[i] = s * sin(v) * deviation + mean;
        out[i + 1] = s * cos(v) * deviation + mean;
    }
    g->position += g->xorwow != NULL ? count / 2 : 2 * count;
}

/* ---- generators ---------------------------------------------------------------------------------------- */

static curandStatus_t create(curandGenerator_t *generator, curandRngType_t type, int on_host)
{
    if (generator == NULL) return CURAND_STATUS_NOT_INITIALIZED;
    if (type == CURAND_RNG_PSEUDO_DEFAULT) type = CURAND_RNG_PSEUDO_XORWOW;
    if (type != CURAND_RNG_PSEUDO_XORWOW && type != CURAND_RNG_PSEUDO_PHILOX4_32_10) {
        const struct simt_site site = {"cuRAND", 0, "curandCreateGenerator", __builtin_return_address(0)};
        simt_finding("unsupported", &site,
                     "this device has the generators XORWOW and PHILOX4_32_10, and not number %d", (int)type);
        return CURAND_STATUS_TYPE_ERROR;
    }
    *generator = calloc(1, sizeof **generator);
    if (*generator == NULL) return CURAND_STATUS_ALLOCATION_FAILED;
    (*generator)->type = type;
    (*generator)->on_host = on_host;
    return CURAND_STATUS_SUCCESS;
}

curandStatus_t curandCreateGenerator(curandGenerator_t *generator, curandRngType_t type)
{
    return create(generator, type, 0);
}

curandStatus_t curandCreateGeneratorHost(curandGenerator_t *generator, curandRngType_t type)
{
    return create(generator, type, 1);
}

curandStatus_t curandDestroyGenerator(curandGenerator_t g)
{
    if (g == NULL) return CURAND_STATUS_NOT_INITIALIZED;
    free(g->xorwow);
    free(g);
    return CURAND_STATUS_SUCCESS;
}

curandStatus_t curandGetVersion(int *version)
{
    if (version == NULL) return CURAND_STATUS_OUT_OF_RANGE;
    *version = CURAND_VERSION;
    return CURAND_STATUS_SUCCESS;
}

curandStatus_t curandSetStream(curandGenerator_t g, cudaStream_t stream)
{
    if (g == NULL) return CURAND_STATUS_NOT_INITIALIZED;
    g->stream = stream;
    return CURAND_STATUS_SUCCESS;
}

/* What a seed or an offset changes is made anew when it is needed. */
static curandStatus_t begin_at(curandGenerator_t g, uint64_t seed, uint64_t position)
{
    if (g == NULL) return CURAND_STATUS_NOT_INITIALIZED;
    free(g->xorwow);
    g->xorwow = NULL;
    g->seed = seed;
    g->position = position;
    return CURAND_STATUS_SUCCESS;
}

curandStatus_t curandSetPseudoRandomGeneratorSeed(curandGenerator_t g, unsigned long long seed)
{
    return begin_at(g, seed, 0);
}

curandStatus_t curandSetGeneratorOffset(curandGenerator_t g, unsigned long long offset)
{
    return begin_at(g, g != NULL ? g->seed : 0, offset);
}

curandStatus_t curandSetGeneratorOrdering(curandGenerator_t g, curandOrdering_t order)
{
    if (g == NULL) return CURAND_STATUS_NOT_INITIALIZED;
    return order == CURAND_ORDERING_PSEUDO_BEST || order == CURAND_ORDERING_PSEUDO_DEFAULT ||
                   order == CURAND_ORDERING_PSEUDO_LEGACY
               ? CURAND_STATUS_SUCCESS
               : CURAND_STATUS_OUT_OF_RANGE;
}

curandStatus_t curandGenerateSeeds(curandGenerator_t g)
{
    if (g == NULL) return CURAND_STATUS_NOT_INITIALIZED;
    return g->type != CURAND_RNG_PSEUDO_XORWOW || make_xorwows(g) ? CURAND_STATUS_SUCCESS
                                                                  : CURAND_STATUS_ALLOCATION_FAILED;
}

/* ---- a call -------------------------------------------------------------------------------------------- */

enum kind { WORDS, UNIFORM, UNIFORM_DOUBLE, NORMAL, NORMAL_DOUBLE, LOG_NORMAL, LOG_NORMAL_DOUBLE };

static void fill(curandGenerator_t g, enum kind kind, void *out, size_t count, double mean, double deviation)
{
    if (kind == WORDS) fill_words(g, out, count);
    if (kind == UNIFORM) fill_uniform(g, out, count);
    if (kind == UNIFORM_DOUBLE) fill_doubles(g, out, count);
    if (kind == NORMAL || kind == LOG_NORMAL) fill_normal(g, out, count, (float)mean, (float)deviation);
    if (kind == NORMAL_DOUBLE || kind == LOG_NORMAL_DOUBLE)
        fill_normal_double(g, out, count, mean, deviation);
    for (size_t i = 0; kind == LOG_NORMAL && i < count; i++) ((float *)out)[i] = expf(((float *)out)[i]);
    for (size_t i = 0; kind == LOG_NORMAL_DOUBLE && i < count; i++)
        ((double *)out)[i] = exp(((double *)out)[i]);
}

static curandStatus_t generate(curandGenerator_t g, enum kind kind, size_t bytes, void *out, size_t count,
                               double mean, double deviation)
{
    if (g == NULL) return CURAND_STATUS_NOT_INITIALIZED;
    if (count == 0) return CURAND_STATUS_SUCCESS;
    if (curandGenerateSeeds(g) != CURAND_STATUS_SUCCESS) return CURAND_STATUS_ALLOCATION_FAILED;
    const size_t whole = count + (kind >= NORMAL ? count % 2 : 0); /* normal ones are made two at a time */
    void *numbers = malloc(bytes * whole);
    if (numbers == NULL) return CURAND_STATUS_ALLOCATION_FAILED;
    fill(g, kind, numbers, whole, mean, deviation);
    cudaError_t error = cudaSuccess;
    if (g->on_host)
        memcpy(out, numbers, bytes * count);
    else
        error = cudaMemcpyAsync(out, numbers, bytes * count, cudaMemcpyHostToDevice, g->stream);
    free(numbers);
    return error == cudaSuccess ? CURAND_STATUS_SUCCESS : CURAND_STATUS_LAUNCH_FAILURE;
}

curandStatus_t curandGenerate(curandGenerator_t g, unsigned int *out, size_t count)
{
    return generate(g, WORDS, sizeof *out, out, count, 0, 1);
}

curandStatus_t curandGenerateUniform(curandGenerator_t g, float *out, size_t count)
{
    return generate(g, UNIFORM, sizeof *out, out, count, 0, 1);
}

curandStatus_t curandGenerateUniformDouble(curandGenerator_t g, double *out, size_t count)
{
    return generate(g, UNIFORM_DOUBLE, sizeof *out, out, count, 0, 1);
}

curandStatus_t curandGenerateNormal(curandGenerator_t g, float *out, size_t count, float mean,
                                    float deviation)
{
    return generate(g, NORMAL, sizeof *out, out, count, (double)mean, (double)deviation);
}

curandStatus_t curandGenerateNormalDouble(curandGenerator_t g, double *out, size_t count, double mean,
                                          double deviation)
{
    return generate(g, NORMAL_DOUBLE, sizeof *out, out, count, mean, deviation);
}

curandStatus_t curandGenerateLogNormal(curandGenerator_t g, float *out, size_t count, float mean,
                                       float deviation)
{
    return generate(g, LOG_NORMAL, sizeof *out, out, count, (double)mean, (double)deviation);
}

curandStatus_t curandGenerateLogNormalDouble(curandGenerator_t g, double *out, size_t count, double mean,
                                             double deviation)
{
    return generate(g, LOG_NORMAL_DOUBLE, sizeof *out, out, count, mean, deviation);
}
