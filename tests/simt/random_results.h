/**
 * @file random_results.h
 * @brief What the programs share that compare cuRAND's Mersenne twisters with numbers of cuRAND's own, written down by the same program built with
 *        -DWRITE: words and uniform numbers bit for bit, the many by a hash; normal numbers within what inverse error functions and
 *        exponentials of two libraries differ by.
 */
#pragma once

#include <string.h>

#include <curand.h>

#include "testing.h"

enum { EXACT = 8, CLOSE = 8, MANY = 120000 };
#include "random_rows.h"

static void ask(const char *what, curandStatus_t status)
{
    expect_equal(what, 0, status, CURAND_STATUS_SUCCESS);
}

template <typename Word, typename T> static unsigned long long hash(const T *numbers, size_t count)
{
    unsigned long long sum = 0;
    for (size_t i = 0; i < count; i++) {
        Word bits;
        memcpy(&bits, &numbers[i], sizeof bits);
        sum = sum * 31 + bits;
    }
    return sum;
}

/* The mean of the numbers, each weighed by its place: what would be wrong at another place shows. */
template <typename T> static double weighed(const T *numbers, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += (double)numbers[i] * (double)(1 + i % 7);
    return sum / (double)count;
}

/* ---- the host interface -------------------------------------------------------------------------------- */

/* An array that a generator fills: in device memory, but where the numbers are written down. */
template <typename T> struct filled {
    T *numbers, *host;
    filled(size_t count)
    {
        host = host_array<T>(count);
#ifdef WRITE
        numbers = host;
#else
        numbers = device_array<T>(count);
#endif
    }
    ~filled(void)
    {
#ifndef WRITE
        release(numbers);
#endif
        free(host);
    }
    const T *read(size_t count)
    {
        if (numbers != host) download(host, numbers, count);
        return host;
    }
};

static curandGenerator_t make(curandRngType_t type, curandOrdering_t order, unsigned long long seed)
{
    curandGenerator_t generator;
#ifdef WRITE
    ask("create", curandCreateGeneratorHost(&generator, type));
#else
    ask("create", curandCreateGenerator(&generator, type));
#endif
    ask("order", curandSetGeneratorOrdering(generator, order));
    ask("seed", curandSetPseudoRandomGeneratorSeed(generator, seed));
    return generator;
}

/* cuRAND's generator for host memory makes MTGP32's normal doubles of floats, but log-normal ones of doubles, as a GPU makes both. */
static curandStatus_t draw_normal_doubles(curandGenerator_t generator, double *out, size_t count, int written)
{
    if (!written) return curandGenerateNormalDouble(generator, out, count, 1, 2);
    const curandStatus_t status = curandGenerateLogNormalDouble(generator, out, count, 0, 1);
    for (size_t i = 0; i < count; i++) out[i] = log(out[i]) * 2 + 1;
    return status;
}

/* A call goes on where the last one stopped, whatever it made and however much. */
static void draw_many(curandGenerator_t generator, size_t most, int by_logarithm, results *out)
{
    filled<unsigned> words(most);
    filled<float> floats(MANY);
    filled<double> doubles(MANY);
    ask("words", curandGenerate(generator, words.numbers, 70001));
    out->exact[0] = hash<unsigned>(words.read(70001), 70001);
    ask("uniform", curandGenerateUniform(generator, floats.numbers, MANY));
    out->exact[1] = hash<unsigned>(floats.read(MANY), MANY);
    ask("uniform double", curandGenerateUniformDouble(generator, doubles.numbers, 99999));
    out->exact[2] = hash<unsigned long long>(doubles.read(99999), 99999);
    ask("normal", curandGenerateNormal(generator, floats.numbers, 66666, 1, 2));
    out->close[0] = weighed(floats.read(66666), 66666);
    out->close[2] = floats.host[66663];
    ask("normal double", draw_normal_doubles(generator, doubles.numbers, 54320, by_logarithm));
    out->close[1] = weighed(doubles.read(54320), 54320);
    out->close[3] = doubles.host[54318];
    ask("log-normal", curandGenerateLogNormal(generator, floats.numbers, 1002, 0.5f, 0.25f));
    out->close[4] = weighed(floats.read(1002), 1002);
    ask("log-normal double", curandGenerateLogNormalDouble(generator, doubles.numbers, 1004, 0.5, 0.25));
    out->close[5] = weighed(doubles.read(1004), 1004);
    ask("words at last", curandGenerate(generator, words.numbers, most));
    out->exact[3] = hash<unsigned>(words.read(most), most);
    out->exact[4] = words.host[0];
}

static void few_words(curandRngType_t type, unsigned long long seed, unsigned long long *out)
{
    filled<unsigned> words(1000);
    curandGenerator_t generator = make(type, CURAND_ORDERING_PSEUDO_DEFAULT, seed);
    ask("words of a seed", curandGenerate(generator, words.numbers, 1000));
    *out = hash<unsigned>(words.read(1000), 1000);
    ask("destroy", curandDestroyGenerator(generator));
}

/* What a generator for host memory refuses, and when it begins anew. */
static void manners(curandRngType_t type, results *out)
{
    curandGenerator_t generator;
    unsigned words[8];
    double doubles[4];
    ask("create", curandCreateGeneratorHost(&generator, type));
    out->exact[0] = curandSetGeneratorOffset(generator, 0) +
                    1000 * curandSetGeneratorOrdering(generator, CURAND_ORDERING_PSEUDO_SEEDED) +
                    1000000 * curandSetGeneratorOrdering(generator, CURAND_ORDERING_PSEUDO_BEST);
    out->exact[1] = curandSetGeneratorOrdering(generator, CURAND_ORDERING_QUASI_DEFAULT) +
                    1000 * curandSetQuasiRandomGeneratorDimensions(generator, 2) +
                    1000000 * curandGenerateLongLong(generator, (unsigned long long *)doubles, 4);
    ask("order", curandSetGeneratorOrdering(generator, CURAND_ORDERING_PSEUDO_DEFAULT));
    ask("seed", curandSetPseudoRandomGeneratorSeed(generator, 5));
    ask("words", curandGenerate(generator, words, 5));
    ask("the same seed", curandSetPseudoRandomGeneratorSeed(generator, 5));
    ask("the same order", curandSetGeneratorOrdering(generator, CURAND_ORDERING_PSEUDO_DEFAULT));
    ask("words that go on", curandGenerate(generator, words, 3));
    out->exact[2] = hash<unsigned>(words, 3);
    ask("another seed", curandSetPseudoRandomGeneratorSeed(generator, 6));
    ask("words", curandGenerate(generator, words, 3));
    out->exact[3] = hash<unsigned>(words, 3);
    ask("another order", curandSetGeneratorOrdering(generator, CURAND_ORDERING_PSEUDO_LEGACY));
    ask("words", curandGenerate(generator, words, 3));
    out->exact[4] = hash<unsigned>(words, 3);
    ask("seeds", curandGenerateSeeds(generator));
    ask("words", curandGenerate(generator, words, 1));
    out->exact[5] = words[0];
    ask("normal double", curandGenerateNormalDouble(generator, doubles, 3, 0.1, 0.3));
    out->close[1] = weighed(doubles, 3);
    ask("destroy", curandDestroyGenerator(generator));
}
