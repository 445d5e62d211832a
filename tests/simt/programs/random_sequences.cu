/**
 * cuRAND's MRG32k3a, in kernels and by the host interface. The expected numbers in random_sequences.h are cuRAND's own, made on a CPU by
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
#include <string.h>

#include <curand.h>
#include <curand_kernel.h>

#include "../testing.h"

enum { EXACT = 12, CLOSE = 8, MANY = 200000 };
/* What one row of a test gives: bits to compare, and numbers that are about so. */
struct results {
    unsigned long long exact[EXACT];
    double close[CLOSE];
};
#ifdef WRITE
#define COMPARE(name, got, rows) compare(#name, got, (const results *)0, rows)
#else
#include "random_sequences.h"
#define COMPARE(name, got, rows) compare(#name, got, name, rows)
#endif

/* Or prints them, where the numbers are written down. */
static void compare(const char *name, const results *got, const results *expected, size_t rows)
{
#ifdef WRITE
    (void)expected;
    printf("static const results %s[] = {\n", name);
    for (size_t row = 0; row < rows; row++) {
        printf("    {{");
        for (int i = 0; i < EXACT; i++) printf("%s0x%llx", i > 0 ? ", " : "", got[row].exact[i]);
        printf("},\n     {");
        for (int i = 0; i < CLOSE; i++) printf("%s%.15g", i > 0 ? ", " : "", got[row].close[i]);
        printf("}}%s", row + 1 < rows ? ",\n" : "};\n");
    }
#else
    for (size_t row = 0; row < rows; row++) {
        for (int i = 0; i < EXACT; i++)
            expect_equal(name, row * EXACT + i, (long long)got[row].exact[i],
                         (long long)expected[row].exact[i]);
        for (int i = 0; i < CLOSE; i++) {
            const double size = fabs(expected[row].close[i]), bound = i % 2 == 0 ? 2e-6 : 1e-13;
            expect_close(name, row * CLOSE + i, got[row].close[i], expected[row].close[i],
                         bound * (1 + size));
        }
    }
#endif
}

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

static void by_host(void)
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

int main(void)
{
#ifdef WRITE
    printf("/** What random_sequences.cu expects: written by it. */\n");
#endif
    in_kernels();
    by_host();
#ifdef WRITE
    return g_failures;
#else
    return finish("random_sequences");
#endif
}
