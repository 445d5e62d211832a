/**
 * @file random_sobol.c
 * @brief Sobol's sequences: direction numbers of the first dimensions, and those that an installed cuRAND has.
 *
 * The polynomials of the dimensions are the primitive ones over GF(2), in order; with the initial numbers of Joe and Kuo (2008)
 * they give cuRAND's direction vectors. Of the 20,000 dimensions the first 320 are made here. The others, and what scrambles
 * sequences (matrices and constants that NVIDIA drew at random), come from libcurand.so.10 where that is installed.
 */
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "random_host.h"
#include "sobol_numbers.h"
#include "graph.h"
#include "../machine/trap.h"

/* ---- direction numbers --------------------------------------------------------------------------------- */

enum { BITS = 64 };

static uint64_t own[SOBOL_OWN_DIMENSIONS][BITS]; /* those of 32 bits are their upper halves */
static pthread_once_t made_own = PTHREAD_ONCE_INIT;

/* Whether x has the order 2^degree - 1 modulo the polynomial, whose coefficients are bits. */
static int is_primitive(unsigned polynomial, int degree)
{
    unsigned power = 1, order = 0;
    if (polynomial % 2 == 0) return 0;
    do {
        power <<= 1;
        if (power >> degree != 0) power ^= polynomial;
        order++;
    } while (power != 1);
    return order == (1u << degree) - 1;
}

/* The recurrence of Bratley and Fox: `initial` are the first numbers, odd, the k-th below 2^(k + 1). */
static void extend(unsigned polynomial, int degree, const uint16_t *initial, uint64_t v[BITS])
{
    for (int k = 0; k < degree; k++) v[k] = (uint64_t)initial[k] << (BITS - 1 - k);
    for (int k = degree; k < BITS; k++) {
        v[k] = v[k - degree] ^ v[k - degree] >> degree;
        for (int i = 1; i < degree; i++)
            if (polynomial >> (degree - i) & 1) v[k] ^= v[k - i];
    }
}

static void make_own(void)
{
    const uint16_t *initial = sobol_initial;
    int dimension = 1, degree = 1;
    for (int k = 0; k < BITS; k++) own[0][k] = (uint64_t)1 << (BITS - 1 - k);
    for (unsigned polynomial = 3; dimension < SOBOL_OWN_DIMENSIONS; polynomial++) {
        while (polynomial >> (degree + 1) != 0) degree++;
        if (!is_primitive(polynomial, degree)) continue;
        extend(polynomial, degree, initial, own[dimension++]);
        initial += degree;
    }
}

/* ---- what an installed cuRAND has ---------------------------------------------------------------------- */

typedef uint64_t direction[BITS];
static const direction *library_vectors[2]; /* [scrambled][20000]; NULL where no library is */
static const uint64_t *library_constants;
static pthread_once_t looked_for_library = PTHREAD_ONCE_INIT;

static void look_for_library(void)
{
    static const char *const names[] = {"libcurand.so.10", "/usr/local/cuda/lib64/libcurand.so.10"};
    union {
        void *address;
        int (*call)(const direction **vectors, int set);
    } get_vectors;
    union {
        void *address;
        int (*call)(const uint64_t **constants);
    } get_constants;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        void *library = dlopen(names[i], RTLD_LAZY | RTLD_LOCAL);
        if (library == NULL) continue;
        get_vectors.address = dlsym(library, "curandGetDirectionVectors64");
        get_constants.address = dlsym(library, "curandGetScrambleConstants64");
        if (get_vectors.address == NULL || get_constants.address == NULL ||
            get_vectors.call(&library_vectors[0], CURAND_DIRECTION_VECTORS_64_JOEKUO6) != 0 ||
            get_vectors.call(&library_vectors[1], CURAND_SCRAMBLED_DIRECTION_VECTORS_64_JOEKUO6) != 0 ||
            get_constants.call(&library_constants) != 0)
            library_vectors[0] = library_vectors[1] = NULL;
        return;
    }
}

unsigned simt_sobol_dimensions(int scrambled)
{
    pthread_once(&looked_for_library, look_for_library);
    return library_vectors[scrambled] != NULL ? SOBOL_DIMENSIONS : scrambled ? 0 : SOBOL_OWN_DIMENSIONS;
}

const uint64_t *simt_sobol_vector(int scrambled, unsigned dimension)
{
    pthread_once(&made_own, make_own);
    if (!scrambled && dimension < SOBOL_OWN_DIMENSIONS) return own[dimension];
    return dimension < simt_sobol_dimensions(scrambled) ? library_vectors[scrambled][dimension] : NULL;
}

uint64_t simt_sobol_constant(unsigned dimension)
{
    return library_constants[dimension];
}

int simt_sobol_has(const char *function, void *caller, int scrambled, unsigned dimensions)
{
    if (dimensions <= simt_sobol_dimensions(scrambled)) return 1;
    const struct simt_site site = {"cuRAND", 0, function, caller};
    if (scrambled)
        simt_finding(RECORD_UNSUPPORTED, &site, RECORD_SAYS_SOBOL_SCRAMBLED, NULL);
    else
        simt_finding(RECORD_UNSUPPORTED, &site, RECORD_SAYS_SOBOL_DIMENSIONS,
                     SIMT_SAYS(.number = {SOBOL_OWN_DIMENSIONS, dimensions}));
    return 0;
}

/* ---- the tables that programs ask for ------------------------------------------------------------------ */

/* Room for 20,000 vectors of which those that nobody has cannot be read: a program that does ends with a sentence. */
static void *make_table(int scrambled, size_t word_bytes)
{
    const size_t row = word_bytes * word_bytes * 8, bytes = row * SOBOL_DIMENSIONS;
    const unsigned dimensions = simt_sobol_dimensions(scrambled);
    void *table = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (table == MAP_FAILED) return NULL;
    for (unsigned d = 0; d < dimensions; d++) {
        const uint64_t *vector = simt_sobol_vector(scrambled, d);
        for (size_t k = 0; k < word_bytes * 8; k++)
            if (word_bytes == 8)
                ((uint64_t *)table)[d * 64 + k] = vector[k];
            else
                ((uint32_t *)table)[d * 32 + k] = (uint32_t)(vector[k] >> 32);
    }
    _Static_assert(SOBOL_OWN_DIMENSIONS * 32 * sizeof(uint32_t) % 4096 == 0, "the last one ends a page");
    if (dimensions < SOBOL_DIMENSIONS) {
        char *missing = (char *)table + row * dimensions;
        if (mprotect(missing, bytes - row * dimensions, PROT_NONE) == 0)
            simt_trap_explain(
                missing, bytes - row * dimensions,
                "simt: unsupported: the direction vectors of dimensions above 320: they come from "
                "libcurand.so.10, which is not installed\n");
    }
    return table;
}

static curandStatus_t get_vectors(const char *function, void *caller, int scrambled, size_t word_bytes,
                                  void **table, void *out)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    if (!simt_sobol_has(function, caller, scrambled, 1)) return CURAND_STATUS_INITIALIZATION_FAILED;
    pthread_mutex_lock(&lock);
    if (*table == NULL) *table = make_table(scrambled, word_bytes);
    pthread_mutex_unlock(&lock);
    memcpy(out, table, sizeof *table);
    return *table != NULL ? CURAND_STATUS_SUCCESS : CURAND_STATUS_ALLOCATION_FAILED;
}

curandStatus_t curandGetDirectionVectors32(curandDirectionVectors32_t *vectors[],
                                           curandDirectionVectorSet_t set)
{
    static void *table[2];
    const int scrambled = set == CURAND_SCRAMBLED_DIRECTION_VECTORS_32_JOEKUO6;
    if (vectors == NULL || (!scrambled && set != CURAND_DIRECTION_VECTORS_32_JOEKUO6))
        return CURAND_STATUS_OUT_OF_RANGE;
    return get_vectors("curandGetDirectionVectors32", __builtin_return_address(0), scrambled,
                       sizeof(uint32_t), &table[scrambled], vectors);
}

curandStatus_t curandGetDirectionVectors64(curandDirectionVectors64_t *vectors[],
                                           curandDirectionVectorSet_t set)
{
    static void *table[2];
    const int scrambled = set == CURAND_SCRAMBLED_DIRECTION_VECTORS_64_JOEKUO6;
    if (vectors == NULL || (!scrambled && set != CURAND_DIRECTION_VECTORS_64_JOEKUO6))
        return CURAND_STATUS_OUT_OF_RANGE;
    return get_vectors("curandGetDirectionVectors64", __builtin_return_address(0), scrambled,
                       sizeof(uint64_t), &table[scrambled], vectors);
}

static uint32_t constants_32[SOBOL_DIMENSIONS];
static unsigned long long constants_64[SOBOL_DIMENSIONS];

curandStatus_t curandGetScrambleConstants32(unsigned int **constants)
{
    if (!simt_sobol_has("curandGetScrambleConstants32", __builtin_return_address(0), 1, 1))
        return CURAND_STATUS_INITIALIZATION_FAILED;
    for (unsigned d = 0; d < SOBOL_DIMENSIONS; d++)
        constants_32[d] = (uint32_t)(simt_sobol_constant(d) >> 32);
    *constants = constants_32;
    return CURAND_STATUS_SUCCESS;
}

curandStatus_t curandGetScrambleConstants64(unsigned long long **constants)
{
    if (!simt_sobol_has("curandGetScrambleConstants64", __builtin_return_address(0), 1, 1))
        return CURAND_STATUS_INITIALIZATION_FAILED;
    for (unsigned d = 0; d < SOBOL_DIMENSIONS; d++) constants_64[d] = simt_sobol_constant(d);
    *constants = constants_64;
    return CURAND_STATUS_SUCCESS;
}

/* ---- normal numbers ------------------------------------------------------------------------------------ */

/* Abramowitz and Stegun's 26.2.23, and three steps of Halley's, each of which triples the digits. */
double simt_normal_quantile(double p)
{
    const double t = sqrt(-2 * log(p));
    double x =
        t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
    for (int i = 0; i < 3; i++) {
        const double density = exp(-x * x / 2) * 0.3989422804014327;
        const double step = (0.5 * erfc(x * 0.7071067811865476) - p) / density;
        x += step / (1 - step * x / 2);
    }
    return -x;
}
