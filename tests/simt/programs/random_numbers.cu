/**
 * cuRAND's XORWOW and Philox4x32-10, in kernels and by the host interface. The expected numbers are cuRAND's own: its headers and its
 * generators for host memory, run on a CPU. Words and uniform numbers are compared bit for bit, the many of the host interface by a
 * hash; normal numbers within what sine and logarithm of two libraries differ by.
 */
#include <string.h>

#include <curand.h>
#include <curand_kernel.h>

#include "../testing.h"

struct expected {
    unsigned long long seed, sequence, offset;
    unsigned first, second;
    float uniform;
    double uniform_double;
    float normal, next_normal;
    double normal_double;
};
static const expected xorwow[] = {{0u, 0u, 0u, 3179217846u, 1883133293u, 0x1.08b5e2p-1f, 0x1.245255e833fecp-4,
                                   1.229614f, 0.1738707f, -0.997959958636},
                                  {1234u, 0u, 0u, 624778773u, 1867875844u, 0x1.bdcdb6p-1f,
                                   0x1.b6d4d2425b394p-1, 0.9916809f, 0.3125731f, -0.719816680625},
                                  {1234u, 1u, 0u, 3522650202u, 3978931785u, 0x1.06061ep-1f,
                                   0x1.9e5584effbaf4p-1, 0.8900985f, -2.701136f, 1.21052621108},
                                  {1234u, 5000u, 7u, 961802843u, 541066581u, 0x1.06d95ep-2f,
                                   0x1.00ce1f241e25ep-1, 0.5058461f, -0.1600714f, 0.346209020315},
                                  {81985529216486895u, 3u, 1000000007u, 874526654u, 4011419978u,
                                   0x1.eb2d54p-3f, 0x1.53cd57d6a7314p-1, -0.191344f, -0.3028225f,
                                   -0.202011443184},
                                  {42u, 1099511627775u, 4886718345u, 3481788938u, 3103763000u, 0x1.8f2ep-3f,
                                   0x1.c0e41457ded02p-3, -1.00833f, 0.749638f, -0.866134603229}};
static const expected philox[] = {{0u, 0u, 0u, 1713891541u, 3781805453u, 0x1.78af58p-1f, 0x1.3601b7b2p-1,
                                   0.1808258f, -0.1536382f, 2.32632798085},
                                  {1234u, 0u, 0u, 546353992u, 3665621163u, 0x1.100642p-2f, 0x1.97948e1ep-1,
                                   0.6330829f, 0.7433671f, -0.218767477912},
                                  {1234u, 1u, 0u, 3507855656u, 1392278645u, 0x1.8fe67ep-1f, 0x1.e2a73b8p-5,
                                   1.635822f, -2.12178f, 1.0899341099},
                                  {1234u, 5000u, 7u, 1258867168u, 373364861u, 0x1.6807fap-2f, 0x1.45e4928p-6,
                                   -1.150548f, -1.518922f, -0.00940059584551},
                                  {81985529216486895u, 3u, 1000000007u, 3633100707u, 921297157u,
                                   0x1.383becp-5f, 0x1.f4193c3cp-2, -0.3955479f, -0.0007480312f,
                                   0.0153727975589},
                                  {42u, 1099511627775u, 4886718345u, 1133271652u, 1915490279u, 0x1.6a86ap-1f,
                                   0x1.3483383p-4, -1.370214f, 0.4871817f, -0.996281344483}};
/* Of the next curand4() of Philox, which begins in the middle of a block. */
static const unsigned fours[][2] = {{605361069u, 1782871206u},  {3424062247u, 599211371u},
                                    {1723463268u, 3818897829u}, {3472496094u, 237897823u},
                                    {661496999u, 3097796763u},  {212410645u, 1836684282u}};
enum { CASES = 6, MANY = 300000 };

template <typename State> static __device__ void draw_all(const expected *in, expected *out, State *state)
{
    curand_init(in->seed, in->sequence, in->offset, state);
    out->first = curand(state);
    out->second = curand(state);
    out->uniform = curand_uniform(state);
    out->uniform_double = curand_uniform_double(state);
    out->normal = curand_normal(state);
    out->next_normal = curand_normal(state);
    out->normal_double = curand_normal_double(state);
}

static __global__ void xorwow_kernel(const expected *in, expected *out, curandState *states)
{
    draw_all(&in[threadIdx.x], &out[threadIdx.x], &states[threadIdx.x]);
}

static __global__ void philox_kernel(const expected *in, expected *out, unsigned *next)
{
    curandStatePhilox4_32_10_t state;
    draw_all(&in[threadIdx.x], &out[threadIdx.x], &state);
    const uint4 four = curand4(&state);
    next[2 * threadIdx.x] = four.x;
    next[2 * threadIdx.x + 1] = four.w;
}

static void compare(const char *what, const expected *device, const expected *expect)
{
    expected got[CASES];
    download(got, device, CASES);
    for (size_t i = 0; i < CASES; i++) {
        expect_equal(what, i, got[i].first, expect[i].first);
        expect_equal(what, i, got[i].second, expect[i].second);
        expect_close(what, i, got[i].uniform, expect[i].uniform, 0);
        expect_close(what, i, got[i].uniform_double, expect[i].uniform_double, 0);
        expect_close(what, i, got[i].normal, expect[i].normal, 4e-6);
        expect_close(what, i, got[i].next_normal, expect[i].next_normal, 4e-6);
        expect_close(what, i, got[i].normal_double, expect[i].normal_double, 1e-10);
    }
}

static void in_kernels(void)
{
    expected *in = upload(xorwow, CASES), *out = device_array<expected>(CASES);
    curandState *states = device_array<curandState>(CASES);
    unsigned *next = device_array<unsigned>(2 * CASES), got[2 * CASES];
    xorwow_kernel<<<1, CASES>>>(in, out, states);
    finish_launch("xorwow_kernel");
    compare("XORWOW", out, xorwow);
    release(in);
    in = upload(philox, CASES);
    philox_kernel<<<1, CASES>>>(in, out, next);
    finish_launch("philox_kernel");
    compare("Philox", out, philox);
    download(got, next, 2 * CASES);
    for (size_t i = 0; i < 2 * CASES; i++) expect_equal("curand4", i, got[i], fours[i / 2][i % 2]);
    release(in);
    release(out);
    release(states);
    release(next);
}

static void ask(curandStatus_t status, const char *what)
{
    expect_equal(what, 0, status, CURAND_STATUS_SUCCESS);
}

template <typename Word, typename T>
static void hash(const char *what, const T *device, unsigned long long expected_hash)
{
    T *const host = host_array<T>(MANY);
    unsigned long long sum = 0;
    download(host, device, MANY);
    for (size_t i = 0; i < MANY; i++) {
        Word bits;
        memcpy(&bits, &host[i], sizeof bits);
        sum = sum * 31 + bits;
    }
    expect_equal(what, 0, (long long)sum, (long long)expected_hash);
    free(host);
}

template <typename T> static double weighed(const T *device)
{
    T *const host = host_array<T>(MANY);
    double sum = 0;
    download(host, device, MANY);
    for (size_t i = 0; i < MANY; i++) sum += (double)host[i] * (double)(1 + i % 7);
    free(host);
    return sum;
}

struct expected_many {
    unsigned long long words, uniform, uniform_double;
    double normal, normal_double;
    unsigned at_offset;
};

static void by_host(curandRngType_t type, const expected_many *expect)
{
    curandGenerator_t generator;
    unsigned *words = device_array<unsigned>(MANY), at_offset;
    float *floats = device_array<float>(MANY);
    double *doubles = device_array<double>(MANY);
    ask(curandCreateGenerator(&generator, type), "create");
    ask(curandSetPseudoRandomGeneratorSeed(generator, 99), "seed");
    ask(curandGenerate(generator, words, 100000), "words");
    ask(curandGenerate(generator, words + 100000, MANY - 100000), "words");
    hash<unsigned>("words", words, expect->words);
    ask(curandSetGeneratorOffset(generator, 0), "offset");
    ask(curandGenerateUniform(generator, floats, MANY), "uniform");
    hash<unsigned>("uniform", floats, expect->uniform);
    ask(curandSetGeneratorOffset(generator, 0), "offset");
    ask(curandGenerateUniformDouble(generator, doubles, MANY), "uniform double");
    hash<unsigned long long>("uniform double", doubles, expect->uniform_double);
    ask(curandSetGeneratorOffset(generator, 0), "offset");
    ask(curandGenerateNormal(generator, floats, MANY, 1, 2), "normal");
    expect_close("normal", 0, weighed(floats), expect->normal, 1);
    ask(curandSetGeneratorOffset(generator, 0), "offset");
    ask(curandGenerateNormalDouble(generator, doubles, MANY, 1, 2), "normal double");
    expect_close("normal double", 0, weighed(doubles), expect->normal_double, 1e-4);
    ask(curandSetGeneratorOffset(generator, 12345), "offset");
    ask(curandGenerate(generator, words, 1), "words");
    download(&at_offset, words, 1);
    expect_equal("at an offset", 0, at_offset, expect->at_offset);
    /* XORWOW makes normal numbers two at a time and refuses the half of a pair; Philox does not. */
    const curandStatus_t of_odd_count =
        type == CURAND_RNG_PSEUDO_DEFAULT ? CURAND_STATUS_LENGTH_NOT_MULTIPLE : CURAND_STATUS_SUCCESS;
    expect_equal("odd count", 0, curandGenerateNormal(generator, floats, 3, 0, 1), of_odd_count);
    ask(curandDestroyGenerator(generator), "destroy");
    release(words);
    release(floats);
    release(doubles);
}

int main(void)
{
    const expected_many of_xorwow = {6359889374574864230u, 15301155678781295397u, 2570986653101465823u,
                                     1202191.55,           1210033.81609,         4257563997u};
    const expected_many of_philox = {14620915432776216159u, 14830160118682925632u,
                                     16949131648040937342u, 1198225.52,
                                     1196117.64111,         195329388u};
    in_kernels();
    by_host(CURAND_RNG_PSEUDO_DEFAULT, &of_xorwow);
    by_host(CURAND_RNG_PSEUDO_PHILOX4_32_10, &of_philox);
    return finish("random_numbers");
}
