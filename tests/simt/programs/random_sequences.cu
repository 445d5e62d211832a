/**
 * cuRAND's MRG32k3a and Sobol sequences, in kernels and by the host interface. The expected numbers in random_sequences.h are cuRAND's own, made on a CPU by
 * this very program:
 *
 *   nvcc -DWRITE -o write tests/simt/programs/random_sequences.cu -lcurand && ./write > tests/simt/programs/random_sequences.h
 *
 * Words and uniform numbers are compared bit for bit, the many of the host interface by a hash; normal numbers within what sine, logarithm
 * and exponential of two libraries differ by.
 */
#ifdef WRITE
#define QUALIFIERS static inline __host__ __device__
#define IN_KERNEL __host__ __device__
#else
#define IN_KERNEL __device__
#endif
#include <dlfcn.h>
#include <string.h>

#include <curand.h>
#include <curand_kernel.h>

#include "../testing.h"

enum { EXACT = 12, CLOSE = 8, MANY = 200000 };
#include "../random_rows.h"
#ifndef WRITE
#include "random_sequences.h"
#endif

/* ---- in kernels ---------------------------------------------------------------------------------------- */

struct start {
    unsigned long long seed, sequence, offset;
};
static const start starts[] = {{0, 0, 0},
                               {1234, 0, 0},
                               {1234, 1, 0},
                               {1234, 5000, 7},
                               {99, 0, 1},
                               {81985529216486895, 3, 1000000007},
                               {42, 1099511627775, 4886718345}};
enum { STARTS = sizeof(starts) / sizeof(starts[0]) };

IN_KERNEL static unsigned long long bits_of(double x)
{
    union {
        double number;
        unsigned long long bits;
    } u;
    u.number = x;
    return u.bits;
}

/* Numbers of floats are at even places of `close`, of doubles at odd ones. */
IN_KERNEL static void draw_mrg(const start *in, results *out)
{
    curandStateMRG32k3a state;
    curand_init(in->seed, in->sequence, in->offset, &state);
    for (int i = 0; i < 4; i++) out->exact[i] = curand(&state);
    out->exact[4] = bits_of(curand_uniform(&state));
    out->exact[5] = bits_of(curand_uniform_double(&state));
    const float2 two = curand_normal2(&state);
    const double2 two_doubles = curand_normal2_double(&state);
    out->close[0] = two.y;
    out->close[1] = two_doubles.y;
    out->close[2] = curand_normal(&state);
    out->close[3] = curand_normal_double(&state);
    out->close[4] = curand_normal(&state); /* the one that was kept */
    out->close[5] = curand_normal_double(&state);
    out->close[6] = curand_log_normal(&state, 0.5f, 0.25f);
    out->close[7] = curand_log_normal_double(&state, 0.5, 0.25);
    out->exact[6] = curand(&state);
    skipahead(12345678901ull, &state);
    out->exact[7] = curand(&state);
    skipahead_subsequence(77, &state);
    out->exact[8] = curand(&state);
    skipahead_sequence(5, &state);
    out->exact[9] = curand(&state);
}

#ifndef WRITE
static __global__ void mrg_kernel(const start *in, results *out)
{
    draw_mrg(&in[threadIdx.x], &out[threadIdx.x]);
}
#endif

static void in_kernels(void)
{
    results got[STARTS];
    memset(got, 0, sizeof got);
#ifdef WRITE
    for (int i = 0; i < STARTS; i++) draw_mrg(&starts[i], &got[i]);
#else
    start *in = upload(starts, STARTS);
    results *out = upload(got, STARTS);
    mrg_kernel<<<1, STARTS>>>(in, out);
    finish_launch("mrg_kernel");
    download(got, out, STARTS);
    release(in);
    release(out);
#endif
    COMPARE(in_kernels_mrg, got, STARTS);
}

/* A dimension of a Sobol sequence, scrambled by a constant of ours where it is not zero, from a point on. */
struct sobol_start {
    unsigned dimension, constant;
    unsigned long long offset;
};
static const sobol_start sobol_starts[] = {{0, 0, 0},          {1, 0, 1},           {2, 0, 1004},
                                           {5, 0, 123456789},  {63, 0, 4294960000}, {319, 0, 77},
                                           {7, 2863311530, 0}, {160, 305419896, 5}};
enum { SOBOL_STARTS = sizeof(sobol_starts) / sizeof(sobol_starts[0]), SOBOL_ROWS = 320, FIRST_NORMAL = 7 };

template <typename State> IN_KERNEL static void draw_points(State *state, results *out)
{
    for (int i = 0; i < 4; i++) out->exact[i] = curand(state);
    out->exact[4] = bits_of(curand_uniform(state));
    out->exact[5] = bits_of(curand_uniform_double(state));
    out->exact[6] = curand(state);
#ifndef WRITE
    out->close[0] = curand_normal(state);
    out->close[1] = curand_normal_double(state);
    out->close[2] = curand_log_normal(state, 0.5f, 0.25f);
    out->close[3] = curand_log_normal_double(state, 0.5, 0.25);
#else
    skipahead(4, state);
#endif
    skipahead(1000, state);
    out->exact[7] = curand(state);
}

IN_KERNEL static void draw_sobol(const sobol_start *in, unsigned *v32, unsigned long long *v64, results *out)
{
    unsigned *row = v32 + 32 * in->dimension;
    unsigned long long *long_row = v64 + 64 * in->dimension;
    if (in->constant == 0) {
        curandStateSobol32_t state;
        curandStateSobol64_t long_state;
        curand_init(row, (unsigned)in->offset, &state);
        draw_points(&state, out);
        curand_init(long_row, in->offset, &long_state);
        draw_points(&long_state, out + SOBOL_STARTS);
    } else {
        curandStateScrambledSobol32_t state;
        curandStateScrambledSobol64_t long_state;
        curand_init(row, in->constant, (unsigned)in->offset, &state);
        draw_points(&state, out);
        curand_init(long_row, in->constant * 0x100000001ull, in->offset, &long_state);
        draw_points(&long_state, out + SOBOL_STARTS);
    }
}

#ifdef WRITE
/* cuRAND's header has normal numbers of Sobol sequences on a GPU only: those of its host interface, which has no constants of ours. */
static void write_normals(curandRngType_t type, const sobol_start *in, results *out)
{
    curandGenerator_t generator;
    float floats[SOBOL_ROWS];
    double doubles[SOBOL_ROWS];
    const unsigned long long at = in->offset + FIRST_NORMAL;
    if (in->constant != 0) return;
    curandCreateGeneratorHost(&generator, type);
    curandSetQuasiRandomGeneratorDimensions(generator, SOBOL_ROWS);
    curandSetGeneratorOffset(generator, at);
    curandGenerateNormal(generator, floats, SOBOL_ROWS, 0, 1);
    out->close[0] = floats[in->dimension];
    curandGenerateNormalDouble(generator, doubles, SOBOL_ROWS, 0, 1);
    out->close[1] = doubles[in->dimension];
    curandGenerateLogNormal(generator, floats, SOBOL_ROWS, 0.5f, 0.25f);
    out->close[2] = floats[in->dimension];
    curandGenerateLogNormalDouble(generator, doubles, SOBOL_ROWS, 0.5, 0.25);
    out->close[3] = doubles[in->dimension];
    curandDestroyGenerator(generator);
}
#else
static __global__ void sobol_kernel(const sobol_start *in, unsigned *v32, unsigned long long *v64,
                                    results *out)
{
    draw_sobol(&in[threadIdx.x], v32, v64, &out[threadIdx.x]);
}
#endif

static void sobol_in_kernels(void)
{
    results got[2 * SOBOL_STARTS]; /* of 32 bits, of 64 bits */
    curandDirectionVectors32_t *v32;
    curandDirectionVectors64_t *v64;
    memset(got, 0, sizeof got);
    expect_equal("vectors", 32, curandGetDirectionVectors32(&v32, CURAND_DIRECTION_VECTORS_32_JOEKUO6), 0);
    expect_equal("vectors", 64, curandGetDirectionVectors64(&v64, CURAND_DIRECTION_VECTORS_64_JOEKUO6), 0);
#ifdef WRITE
    for (int i = 0; i < SOBOL_STARTS; i++) {
        draw_sobol(&sobol_starts[i], v32[0], v64[0], &got[i]);
        write_normals(CURAND_RNG_QUASI_SOBOL32, &sobol_starts[i], &got[i]);
        write_normals(CURAND_RNG_QUASI_SOBOL64, &sobol_starts[i], &got[SOBOL_STARTS + i]);
    }
#else
    sobol_start *in = upload(sobol_starts, SOBOL_STARTS);
    unsigned *rows = upload(v32[0], 32 * SOBOL_ROWS);
    unsigned long long *long_rows = upload(v64[0], 64 * SOBOL_ROWS);
    results *out = upload(got, 2 * SOBOL_STARTS);
    sobol_kernel<<<1, SOBOL_STARTS>>>(in, rows, long_rows, out);
    finish_launch("sobol_kernel");
    download(got, out, 2 * SOBOL_STARTS);
    for (int i = 0; i < 2 * SOBOL_STARTS; i++)
        if (sobol_starts[i % SOBOL_STARTS].constant != 0) memset(got[i].close, 0, sizeof got[i].close);
    release(in);
    release(rows);
    release(long_rows);
    release(out);
#endif
    COMPARE(in_kernels_sobol, got, 2 * SOBOL_STARTS);
}

/* ---- the host interface -------------------------------------------------------------------------------- */

static void ask(const char *what, curandStatus_t status)
{
    expect_equal(what, 0, status, CURAND_STATUS_SUCCESS);
}

/* An array that a generator fills: in device memory, but where the numbers are written down. */
template <typename T> struct filled {
    T *numbers, *host;
    filled(void)
    {
        host = host_array<T>(MANY);
#ifdef WRITE
        numbers = host;
#else
        numbers = device_array<T>(MANY);
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
    template <typename Word> unsigned long long hash(size_t count)
    {
        unsigned long long sum = 0;
        read(count);
        for (size_t i = 0; i < count; i++) {
            Word bits;
            memcpy(&bits, &host[i], sizeof bits);
            sum = sum * 31 + bits;
        }
        return sum;
    }
    /* The mean of the numbers, each weighed by its place: what would be wrong at another place shows. */
    double weighed(size_t count)
    {
        double sum = 0;
        read(count);
        for (size_t i = 0; i < count; i++) sum += (double)host[i] * (double)(1 + i % 7);
        return sum / (double)count;
    }
};

static curandGenerator_t make(curandRngType_t type, curandOrdering_t order)
{
    curandGenerator_t generator;
#ifdef WRITE
    ask("create", curandCreateGeneratorHost(&generator, type));
#else
    ask("create", curandCreateGenerator(&generator, type));
#endif
    ask("order", curandSetGeneratorOrdering(generator, order));
    return generator;
}

static void draw_many(curandGenerator_t generator, results *out)
{
    filled<unsigned> words;
    filled<float> floats;
    filled<double> doubles;
    ask("words", curandGenerate(generator, words.numbers, 70000));
    out->exact[0] = words.hash<unsigned>(70000);
    ask("words that go on", curandGenerate(generator, words.numbers, MANY));
    out->exact[1] = words.hash<unsigned>(MANY);
    ask("uniform", curandGenerateUniform(generator, floats.numbers, MANY));
    out->exact[2] = floats.hash<unsigned>(MANY);
    ask("uniform double", curandGenerateUniformDouble(generator, doubles.numbers, MANY));
    out->exact[3] = doubles.hash<unsigned long long>(MANY);
    ask("normal", curandGenerateNormal(generator, floats.numbers, MANY, 1, 2));
    out->close[0] = floats.weighed(MANY);
    out->close[2] = floats.host[MANY - 3];
    ask("normal double", curandGenerateNormalDouble(generator, doubles.numbers, MANY, 1, 2));
    out->close[1] = doubles.weighed(MANY);
    out->close[3] = doubles.host[MANY - 3];
    ask("log-normal", curandGenerateLogNormal(generator, floats.numbers, 1000, 0.5f, 0.25f));
    out->close[4] = floats.weighed(1000);
    ask("log-normal double", curandGenerateLogNormalDouble(generator, doubles.numbers, 1000, 0.5, 0.25));
    out->close[5] = doubles.weighed(1000);
    ask("words at last", curandGenerate(generator, words.numbers, 1)); /* all of them were used up */
    out->exact[4] = words.hash<unsigned>(1);
}

static void draw_pseudo(curandGenerator_t generator, results *out)
{
    filled<unsigned> words;
    ask("seed", curandSetPseudoRandomGeneratorSeed(generator, 99));
    draw_many(generator, out);
    ask("offset", curandSetGeneratorOffset(generator, 123456789));
    ask("words at an offset", curandGenerate(generator, words.numbers, 1000));
    out->exact[5] = words.hash<unsigned>(1000);
    ask("seed", curandSetPseudoRandomGeneratorSeed(generator, 0xfedcba9876543210ull));
    ask("words of a seed", curandGenerate(generator, words.numbers, 1000));
    out->exact[6] = words.hash<unsigned>(1000);
}

static void pseudo_by_host(void)
{
    results got[2];
    memset(got, 0, sizeof got);
    const curandOrdering_t orders[] = {CURAND_ORDERING_PSEUDO_DEFAULT, CURAND_ORDERING_PSEUDO_LEGACY};
    for (int i = 0; i < 2; i++) {
        curandGenerator_t generator = make(CURAND_RNG_PSEUDO_MRG32K3A, orders[i]);
        draw_pseudo(generator, &got[i]);
        ask("destroy", curandDestroyGenerator(generator));
    }
    COMPARE(by_host_mrg, got, 2);
}

/* Of 320 dimensions, which are all that the device makes by itself. */
static void draw_quasi(curandRngType_t type, results *out)
{
    enum { COUNT = 600 * SOBOL_ROWS };
    filled<unsigned> words;
    filled<unsigned long long> long_words;
    filled<float> floats;
    filled<double> doubles;
    curandGenerator_t generator = make(type, CURAND_ORDERING_QUASI_DEFAULT);
    const int is_long = type == CURAND_RNG_QUASI_SOBOL64 || type == CURAND_RNG_QUASI_SCRAMBLED_SOBOL64;
    out->exact[0] = curandSetPseudoRandomGeneratorSeed(generator, 1);
    ask("dimensions", curandSetQuasiRandomGeneratorDimensions(generator, SOBOL_ROWS));
    out->exact[1] = curandGenerate(generator, words.numbers, COUNT);
    out->exact[2] = curandGenerateLongLong(generator, long_words.numbers, COUNT);
    out->exact[3] = is_long ? long_words.hash<unsigned long long>(COUNT) : words.hash<unsigned>(COUNT);
    ask("uniform", curandGenerateUniform(generator, floats.numbers, COUNT));
    out->exact[4] = floats.hash<unsigned>(COUNT);
    ask("uniform double", curandGenerateUniformDouble(generator, doubles.numbers, COUNT));
    out->exact[5] = doubles.hash<unsigned long long>(COUNT);
    out->exact[6] = curandGenerateUniform(generator, floats.numbers, SOBOL_ROWS + 1); /* not a whole point */
    ask("offset", curandSetGeneratorOffset(generator, 123456789));
    ask("dimensions", curandSetQuasiRandomGeneratorDimensions(generator, 3));
    ask("normal", curandGenerateNormal(generator, floats.numbers, 9999, 1, 2));
    out->close[0] = floats.weighed(9999);
    out->close[2] = floats.host[4567];
    ask("normal double", curandGenerateNormalDouble(generator, doubles.numbers, 9999, 1, 2));
    out->close[1] = doubles.weighed(9999);
    out->close[3] = doubles.host[4567];
    ask("log-normal", curandGenerateLogNormal(generator, floats.numbers, 999, 0.5f, 0.25f));
    out->close[4] = floats.weighed(999);
    ask("log-normal double", curandGenerateLogNormalDouble(generator, doubles.numbers, 999, 0.5, 0.25));
    out->close[5] = doubles.weighed(999);
    ask("uniform at last", curandGenerateUniform(generator, floats.numbers, 3));
    out->exact[7] = floats.hash<unsigned>(3);
    ask("offset",
        curandSetGeneratorOffset(generator, 0)); /* the point of zeros, as far out as normal numbers go */
    ask("normal", curandGenerateNormal(generator, floats.numbers, 3, 0, 1));
    out->close[6] = floats.read(3)[1];
    ask("offset", curandSetGeneratorOffset(generator, 0));
    ask("normal double", curandGenerateNormalDouble(generator, doubles.numbers, 3, 0, 1));
    out->close[7] = doubles.read(3)[1];
    ask("destroy", curandDestroyGenerator(generator));
}

static void quasi_by_host(void)
{
    results got[2];
    memset(got, 0, sizeof got);
    draw_quasi(CURAND_RNG_QUASI_DEFAULT, &got[0]);
    draw_quasi(CURAND_RNG_QUASI_SOBOL64, &got[1]);
    COMPARE(by_host_sobol, got, 2);
#ifndef WRITE /* what scrambles comes from NVIDIA's library */
    if (dlopen("libcurand.so.10", RTLD_LAZY) == NULL &&
        dlopen("/usr/local/cuda/lib64/libcurand.so.10", RTLD_LAZY) == NULL)
        return;
#endif
    memset(got, 0, sizeof got);
    draw_quasi(CURAND_RNG_QUASI_SCRAMBLED_SOBOL32, &got[0]);
    draw_quasi(CURAND_RNG_QUASI_SCRAMBLED_SOBOL64, &got[1]);
    COMPARE(by_host_scrambled, got, 2);
}

int main(void)
{
#ifdef WRITE
    printf("/** What random_sequences.cu expects: written by it. */\n");
#endif
    in_kernels();
    sobol_in_kernels();
    pseudo_by_host();
    quasi_by_host();
#ifdef WRITE
    return g_failures;
#else
    return finish("random_sequences");
#endif
}
