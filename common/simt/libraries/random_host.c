/**
 * @file random_host.c
 * @brief cuRAND's host interface. Numbers are made on the host and copied.
 */
#include <stdlib.h>
#include <string.h>

#include "random_mersenne.h"
#include "simt/runtime/graph.h"

/* ---- generators ---------------------------------------------------------------------------------------- */

static curandStatus_t create(curandGenerator_t *generator, curandRngType_t type, int on_host, void *caller)
{
    if (generator == NULL) return CURAND_STATUS_NOT_INITIALIZED;
    if (type == CURAND_RNG_PSEUDO_DEFAULT) type = CURAND_RNG_PSEUDO_XORWOW;
    if (type == CURAND_RNG_QUASI_DEFAULT) type = CURAND_RNG_QUASI_SOBOL32;
    const struct curandGenerator_st asked = {.type = type};
    if (type != CURAND_RNG_PSEUDO_XORWOW && type != CURAND_RNG_PSEUDO_MRG32K3A &&
        type != CURAND_RNG_PSEUDO_PHILOX4_32_10 && !simt_random_is_mersenne(&asked) &&
        (type < CURAND_RNG_QUASI_SOBOL32 || type > CURAND_RNG_QUASI_SCRAMBLED_SOBOL64))
        return CURAND_STATUS_TYPE_ERROR;
    if (type == CURAND_RNG_PSEUDO_MTGP32 && !simt_mtgp_has("curandCreateGenerator", caller))
        return CURAND_STATUS_INITIALIZATION_FAILED;
    if (simt_random_is_scrambled(&asked) && !simt_sobol_has("curandCreateGenerator", caller, 1, 1))
        return CURAND_STATUS_INITIALIZATION_FAILED;
    *generator = calloc(1, sizeof **generator);
    if (*generator == NULL) return CURAND_STATUS_ALLOCATION_FAILED;
    (*generator)->type = type;
    (*generator)->order = CURAND_ORDERING_PSEUDO_DEFAULT;
    (*generator)->dimensions = 1;
    (*generator)->on_host = on_host;
    return CURAND_STATUS_SUCCESS;
}

curandStatus_t curandCreateGenerator(curandGenerator_t *generator, curandRngType_t type)
{
    return create(generator, type, 0, __builtin_return_address(0));
}

curandStatus_t curandCreateGeneratorHost(curandGenerator_t *generator, curandRngType_t type)
{
    return create(generator, type, 1, __builtin_return_address(0));
}

curandStatus_t curandDestroyGenerator(curandGenerator_t g)
{
    if (g == NULL) return CURAND_STATUS_NOT_INITIALIZED;
    free(g->states);
    free(g->mersenne);
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

/* What a seed or an offset changes is made anew when it is needed. A seed leaves the position as it is, as cuRAND does. */
static curandStatus_t begin_at(curandGenerator_t g, uint64_t seed, uint64_t position)
{
    if (g == NULL) return CURAND_STATUS_NOT_INITIALIZED;
    free(g->states);
    free(g->mersenne);
    g->states = NULL;
    g->mersenne = NULL;
    g->seed = seed;
    g->position = position;
    return CURAND_STATUS_SUCCESS;
}

curandStatus_t curandSetPseudoRandomGeneratorSeed(curandGenerator_t g, unsigned long long seed)
{
    if (g != NULL && simt_random_is_quasi(g)) return CURAND_STATUS_TYPE_ERROR;
    if (g != NULL && simt_random_is_mersenne(g)) /* another seed begins anew */
        return seed != g->seed ? begin_at(g, seed, 0) : CURAND_STATUS_SUCCESS;
    return begin_at(g, seed, g != NULL ? g->position : 0);
}

curandStatus_t curandSetGeneratorOffset(curandGenerator_t g, unsigned long long offset)
{
    if (g != NULL && simt_random_is_mersenne(g)) return CURAND_STATUS_TYPE_ERROR;
    return begin_at(g, g != NULL ? g->seed : 0, offset);
}

curandStatus_t curandSetGeneratorOrdering(curandGenerator_t g, curandOrdering_t order)
{
    if (g == NULL) return CURAND_STATUS_NOT_INITIALIZED;
    if (simt_random_is_quasi(g))
        return order == CURAND_ORDERING_QUASI_DEFAULT ? CURAND_STATUS_SUCCESS : CURAND_STATUS_OUT_OF_RANGE;
    if (order != CURAND_ORDERING_PSEUDO_BEST && order != CURAND_ORDERING_PSEUDO_DEFAULT &&
        order != CURAND_ORDERING_PSEUDO_LEGACY)
        return CURAND_STATUS_OUT_OF_RANGE;
    if (g->type == CURAND_RNG_PSEUDO_MT19937 && order == CURAND_ORDERING_PSEUDO_BEST)
        return CURAND_STATUS_OUT_OF_RANGE;
    const int other = order != g->order;
    g->order = order;
    if (simt_random_is_mersenne(g)) return other ? begin_at(g, g->seed, 0) : CURAND_STATUS_SUCCESS;
    return begin_at(g, g->seed, g->position);
}

curandStatus_t curandSetQuasiRandomGeneratorDimensions(curandGenerator_t g, unsigned int dimensions)
{
    if (g == NULL) return CURAND_STATUS_NOT_INITIALIZED;
    if (!simt_random_is_quasi(g)) return CURAND_STATUS_TYPE_ERROR;
    if (dimensions == 0 || dimensions > SOBOL_DIMENSIONS ||
        !simt_sobol_has("curandSetQuasiRandomGeneratorDimensions", __builtin_return_address(0),
                        simt_random_is_scrambled(g), dimensions))
        return CURAND_STATUS_OUT_OF_RANGE;
    g->dimensions = dimensions;
    return CURAND_STATUS_SUCCESS;
}

curandStatus_t curandGenerateSeeds(curandGenerator_t g)
{
    if (g == NULL) return CURAND_STATUS_NOT_INITIALIZED;
    if (simt_random_is_mersenne(g)) return begin_at(g, g->seed, 0);
    return simt_random_make_states(g) ? CURAND_STATUS_SUCCESS : CURAND_STATUS_ALLOCATION_FAILED;
}

/* ---- a call -------------------------------------------------------------------------------------------- */

static curandStatus_t generate(curandGenerator_t g, enum simt_random_kind kind, size_t bytes, void *out,
                               size_t count, double mean, double deviation)
{
    if (g == NULL) return CURAND_STATUS_NOT_INITIALIZED;
    if (count == 0) return CURAND_STATUS_SUCCESS;
    const int quasi = simt_random_is_quasi(g);
    if (quasi && count % g->dimensions != 0) return CURAND_STATUS_LENGTH_NOT_MULTIPLE;
    if (kind >= NORMAL && count % 2 == 1 && simt_random_turns(g) != 0)
        return CURAND_STATUS_LENGTH_NOT_MULTIPLE;
    if (!(simt_random_is_mersenne(g) ? simt_mersenne_reach(g, g->position + count)
                                     : simt_random_make_states(g)))
        return CURAND_STATUS_ALLOCATION_FAILED;
    const size_t whole = count + (kind >= NORMAL && simt_random_makes_pairs(g) ? count % 2 : 0);
    void *numbers = malloc(bytes * whole);
    if (numbers == NULL) return CURAND_STATUS_ALLOCATION_FAILED;
    simt_random_fill(g, kind, numbers, whole, mean, deviation);
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
    if (g != NULL && simt_random_is_long(g)) return CURAND_STATUS_TYPE_ERROR;
    return generate(g, WORDS, sizeof *out, out, count, 0, 1);
}

curandStatus_t curandGenerateLongLong(curandGenerator_t g, unsigned long long *out, size_t count)
{
    if (g != NULL && !simt_random_is_long(g)) return CURAND_STATUS_TYPE_ERROR;
    return generate(g, LONG_WORDS, sizeof *out, out, count, 0, 1);
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
