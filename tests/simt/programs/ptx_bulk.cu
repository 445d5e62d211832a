/**
 * Inline PTX: bulk copies of plain bytes in every direction, a pipeline of loads and stores through four stages, reductions in global and
 * shared memory, groups, and asynchronous copies of threads that arrive at an mbarrier.
 */
#include "../hopper.h"

#include <string.h>

enum { WARP = 32, STAGES = 4, ELEMS = 256, TILES = 11, CONSUMERS = 128, THREADS = WARP + CONSUMERS };

/** A warp loads tiles, the others double them in place, and one of their threads stores them. */
static __global__ void pipeline_kernel(const float *in, float *out)
{
    __shared__ __align__(128) float stage[STAGES][ELEMS];
    __shared__ __align__(8) uint64_t full[STAGES], empty[STAGES];
    const int thread = (int)threadIdx.x;
    if (thread == 0) {
        for (int s = 0; s < STAGES; s++) {
            mbarrier_init(&full[s], 1);
            mbarrier_init(&empty[s], 1);
        }
        mbarrier_init_fence();
    }
    __syncthreads();
    if (thread < WARP) {
        for (int tile = 0; tile < TILES && thread == 0; tile++) {
            const int s = tile % STAGES;
            mbarrier_wait(&empty[s], tile / STAGES % 2 ^ 1);
            mbarrier_arrive_expect(&full[s], sizeof stage[s]);
            bulk_load(stage[s], in + tile * ELEMS, sizeof stage[s], &full[s]);
        }
        return;
    }
    for (int tile = 0; tile < TILES; tile++) {
        const int s = tile % STAGES;
        mbarrier_wait(&full[s], tile / STAGES % 2);
        for (int i = thread - WARP; i < ELEMS; i += CONSUMERS) stage[s][i] = 2.0f * stage[s][i];
        proxy_fence();
        asm volatile("bar.sync 1, %0;" : : "r"(CONSUMERS) : "memory");
        if (thread == WARP) {
            bulk_store(out + tile * ELEMS, stage[s], sizeof stage[s]);
            bulk_commit();
            bulk_wait_read<1>();
            if (tile > 0) mbarrier_arrive(&empty[(tile - 1) % STAGES]);
        }
    }
    if (thread == WARP) bulk_wait<0>();
}

static void check_pipeline(void)
{
    static float values[TILES * ELEMS], result[TILES * ELEMS];
    for (int i = 0; i < TILES * ELEMS; i++) values[i] = (float)i + 0.5f;
    float *in = upload(values, TILES * ELEMS), *out = device_array<float>(TILES * ELEMS);
    pipeline_kernel<<<1, THREADS>>>(in, out);
    finish_launch("pipeline_kernel");
    download(result, out, TILES * ELEMS);
    for (int i = 0; i < TILES * ELEMS; i++)
        expect_close("pipeline", (size_t)i, result[i], 2.0 * values[i], 0);
    release(in);
    release(out);
}

/** Blocks add their numbers to one array; maxima of signed ones; copies within shared memory, and sums there. */
static __global__ void __cluster_dims__(1, 1, 1) reduce_kernel(unsigned *sums, int *maxima, unsigned *copies)
{
    __shared__ __align__(16) unsigned from[ELEMS], to[ELEMS];
    __shared__ __align__(16) int numbers[ELEMS];
    __shared__ __align__(8) uint64_t barrier;
    const int thread = (int)threadIdx.x, block = (int)blockIdx.x;
    for (int i = thread; i < ELEMS; i += WARP) {
        from[i] = (unsigned)(i + block);
        to[i] = 5;
        numbers[i] = (i - 128) * (block + 1);
    }
    if (thread == 0) mbarrier_init(&barrier, 1);
    proxy_fence();
    __syncthreads();
    if (thread == 0) {
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], %2;"
                     :
                     : "l"(sums), "r"(shared_address(from)), "n"(4 * ELEMS)
                     : "memory");
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.max.s32 [%0], [%1], %2;"
                     :
                     : "l"(maxima), "r"(shared_address(numbers)), "n"(4 * ELEMS)
                     : "memory");
        bulk_commit();
        mbarrier_arrive_expect(&barrier, 4 * ELEMS);
        asm volatile("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 "
                     "[%0], [%1], %2, [%3];"
                     :
                     : "r"(shared_address(to)), "r"(shared_address(from)), "n"(2 * ELEMS),
                       "r"(shared_address(&barrier))
                     : "memory");
        bulk_between(to + ELEMS / 2, from, 2 * ELEMS, &barrier);
    }
    mbarrier_wait(&barrier, 0);
    for (int i = thread; i < ELEMS; i += WARP) copies[block * ELEMS + i] = to[i];
    if (thread == 0) bulk_wait<0>();
}

static void check_reductions(void)
{
    enum { BLOCKS = 5 };
    static unsigned sums[ELEMS], copies[BLOCKS * ELEMS];
    static int maxima[ELEMS];
    unsigned *device_sums = upload(sums, ELEMS), *device_copies = device_array<unsigned>(BLOCKS * ELEMS);
    int *device_maxima = upload(maxima, ELEMS);
    reduce_kernel<<<BLOCKS, WARP>>>(device_sums, device_maxima, device_copies);
    finish_launch("reduce_kernel");
    download(sums, device_sums, ELEMS);
    download(maxima, device_maxima, ELEMS);
    download(copies, device_copies, BLOCKS * ELEMS);
    for (int i = 0; i < ELEMS; i++) {
        expect_equal("sum", (size_t)i, sums[i], BLOCKS * i + 10);
        expect_equal("maximum", (size_t)i, maxima[i], i > 128 ? (i - 128) * BLOCKS : 0);
        for (int b = 0; b < BLOCKS; b++)
            expect_equal("copy", (size_t)(b * ELEMS + i), copies[b * ELEMS + i],
                         i < ELEMS / 2 ? 5 + i + b : i - ELEMS / 2 + b);
    }
    release(device_sums);
    release(device_maxima);
    release(device_copies);
}

#define REDUCE(form, index)                                                                                  \
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group." form " [%0], [%1], 64;"               \
                 :                                                                                           \
                 : "l"(words + (index)*16), "r"(shared_address(from))                                        \
                 : "memory")

/** Sixteen words, combined in eight ways with those in `words`. */
static __global__ void forms_kernel(unsigned *words)
{
    __shared__ __align__(16) unsigned from[16];
    if (threadIdx.x < 16) from[threadIdx.x] = 0x3c004000u + threadIdx.x; /* halves 1.0 and 2.0 and a little */
    proxy_fence();
    __syncwarp();
    if (threadIdx.x != 0) return;
    REDUCE("add.noftz.f16", 0);
    REDUCE("min.f16", 1);
    REDUCE("max.bf16", 2);
    REDUCE("and.b32", 3);
    REDUCE("xor.b64", 4);
    REDUCE("inc.u32", 5);
    REDUCE("min.s32", 6);
    REDUCE("or.b32", 7);
    bulk_commit();
    bulk_wait<0>();
}

static void check_forms(void)
{
    static unsigned words[8 * 16];
    for (int i = 0; i < 8 * 16; i++) words[i] = i / 16 == 6 ? 0u - (unsigned)i : 0x40003c00u;
    unsigned *device = upload(words, 8 * 16);
    forms_kernel<<<1, WARP>>>(device);
    finish_launch("forms_kernel");
    download(words, device, 8 * 16);
    for (unsigned i = 0; i < 16; i++) {
        const unsigned from = 0x3c004000u + i;
        const unsigned expected[8] = {0, /* the first of these below */
                                      0x3c003c00u,
                                      0x40004000u + i,
                                      0x40003c00u & from,
                                      0x40003c00u ^ from,
                                      0, /* what was there is more than the limit */
                                      0u - (96 + i),
                                      0x40003c00u | from};
        for (unsigned form = 1; form < 8; form++)
            expect_equal("form", form * 16 + i, words[form * 16 + i], expected[form]);
    }
    expect_equal("1 + 2 in f16", 0, words[0], 0x42004200u);
    release(device);
}

/** Every thread copies for the others, and its copies arrive for it: counted, and one more than is counted. */
static __global__ void arrive_kernel(const int *in, int *out)
{
    __shared__ int tile[2][THREADS];
    __shared__ __align__(8) uint64_t full[2];
    const int thread = (int)threadIdx.x;
    if (thread == 0) {
        mbarrier_init(&full[0], THREADS);
        mbarrier_init(&full[1], THREADS);
    }
    __syncthreads();
    for (int half = 0; half < 2; half++)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;\n"
                     :
                     : "r"(shared_address(&tile[half][thread])), "l"(in + half * THREADS + thread)
                     : "memory");
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];"
                 :
                 : "r"(shared_address(&full[0]))
                 : "memory");
    asm volatile("cp.async.mbarrier.arrive.shared.b64 [%0];" : : "r"(shared_address(&full[1])) : "memory");
    mbarrier_arrive(&full[1]);
    for (int half = 0; half < 2; half++) {
        mbarrier_wait(&full[half], 0);
        out[half * THREADS + thread] = tile[half][(thread + 77) % THREADS];
    }
}

static void check_arrivals(void)
{
    static int values[2 * THREADS], result[2 * THREADS];
    for (int i = 0; i < 2 * THREADS; i++) values[i] = 7 * i - 4;
    int *in = upload(values, 2 * THREADS), *out = device_array<int>(2 * THREADS);
    arrive_kernel<<<1, THREADS>>>(in, out);
    finish_launch("arrive_kernel");
    download(result, out, 2 * THREADS);
    for (int i = 0; i < 2 * THREADS; i++)
        expect_equal("arrival", (size_t)i, result[i],
                     values[i / THREADS * THREADS + (i % THREADS + 77) % THREADS]);
    release(in);
    release(out);
}

/** Sums of floats whose order is not promised: 1 + 1e8 - 1e8 is 0, but 1 if the first comes last. */
static __global__ void order_kernel(float *sums)
{
    __shared__ __align__(16) float from[3][4];
    if (threadIdx.x < 4) {
        from[0][threadIdx.x] = 1;
        from[1][threadIdx.x] = 1e8f;
        from[2][threadIdx.x] = -1e8f;
    }
    proxy_fence();
    __syncwarp();
    if (threadIdx.x != 0) return;
    for (int i = 0; i < 3; i++)
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], 16;"
                     :
                     : "l"(sums), "r"(shared_address(from[i]))
                     : "memory");
    bulk_commit();
    bulk_wait<0>();
}

/** The software device takes them as late as may be in one order, and as early in the other. */
static void check_order(void)
{
    float sums[4] = {0};
    const char *async = getenv("SIMT_ASYNC");
    float *device_sums = upload(sums, 4);
    order_kernel<<<1, WARP>>>(device_sums);
    finish_launch("order_kernel");
    download(sums, device_sums, 4);
    for (int i = 0; i < 4; i++) {
#if defined(__SIMT__)
        const bool good = sums[i] == (async != NULL && strcmp(async, "early") == 0 ? 0 : 1);
#else
        const bool good = async == NULL && (sums[i] == 0 || sums[i] == 1);
#endif
        if (!good) printf("sum of floats %d: %g\n", i, sums[i]);
        g_failures += !good;
    }
    release(device_sums);
}

int main(void)
{
    check_pipeline();
    check_reductions();
    check_order();
    check_forms();
    check_arrivals();
    return finish("ptx_bulk");
}
