/**
 * cuRAND's MT19937, by the host interface. The expected numbers in random_mt19937.h are cuRAND's own, made on a CPU by this very program:
 *
 *   nvcc -DWRITE -o write tests/simt/programs/random_mt19937.cu -lcurand && ./write > tests/simt/programs/random_mt19937.h
 */
#include "../random_results.h"
#ifndef WRITE
#include "random_mt19937.h"
#endif

enum { MOST = 5300000 }; /* so many that each of the 8192 states is renewed */

static void by_host(void)
{
    results got[2];
    curandGenerator_t generator;
    memset(got, 0, sizeof got);
    generator = make(CURAND_RNG_PSEUDO_MT19937, CURAND_ORDERING_PSEUDO_DEFAULT, 1234);
    draw_many(generator, MOST, 0, &got[0]);
    ask("destroy", curandDestroyGenerator(generator));
    few_words(CURAND_RNG_PSEUDO_MT19937, 0, &got[0].exact[5]);
    few_words(CURAND_RNG_PSEUDO_MT19937, 0xfedcba9876543210ull, &got[0].exact[6]);
    manners(CURAND_RNG_PSEUDO_MT19937, &got[1]);
    COMPARE(by_host_mt19937, got, 2);
}

int main(void)
{
#ifdef WRITE
    printf("/** What random_mt19937.cu expects: written by it. */\n");
#endif
    by_host();
#ifdef WRITE
    return g_failures;
#else
    return finish("random_mt19937");
#endif
}
