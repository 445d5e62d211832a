/**
 * cuda::atomic, cuda::atomic_ref and cuda::std::atomic_flag: a histogram by scopes, a maximum by compare and swap, the last block's sum, every
 * operation by itself, in a kernel and on the host.
 */
#include "../testing.h"

#include <cuda/atomic>
#include <cuda/std/atomic>

enum { THREADS = 128, BLOCKS = 24, COUNT = THREADS * BLOCKS, BINS = 32 };

typedef cuda::atomic_ref<unsigned, cuda::thread_scope_device> device_ref;
typedef cuda::atomic_ref<unsigned, cuda::thread_scope_block> block_ref;

static __device__ cuda::atomic<unsigned, cuda::thread_scope_device> ticket;

/** Bins of the block first, then those of all. */
static __global__ void histogram_kernel(const unsigned *in, unsigned *bins)
{
    __shared__ unsigned own[BINS];
    if (threadIdx.x < BINS) own[threadIdx.x] = 0;
    __syncthreads();
    block_ref(own[in[blockIdx.x * THREADS + threadIdx.x] % BINS]).fetch_add(1, cuda::memory_order_relaxed);
    __syncthreads();
    if (threadIdx.x < BINS)
        device_ref(bins[threadIdx.x]).fetch_add(own[threadIdx.x], cuda::std::memory_order_relaxed);
}

static __global__ void maximum_kernel(const unsigned *in, float *most)
{
    cuda::atomic_ref<float, cuda::thread_scope_device> all(*most);
    const float mine = (float)in[blockIdx.x * THREADS + threadIdx.x];
    float seen = all.load(cuda::memory_order_relaxed);
    while (seen < mine &&
           !all.compare_exchange_weak(seen, mine, cuda::memory_order_relaxed, cuda::memory_order_relaxed)) {
    }
}

/** Each block's first thread leaves a sum; whoever takes the last ticket adds them up. */
static __global__ void last_block_kernel(const unsigned *in, unsigned *partial, unsigned *out)
{
    if (threadIdx.x != 0) return;
    unsigned sum = 0;
    for (int i = 0; i < THREADS; i++) sum += in[blockIdx.x * THREADS + i];
    partial[blockIdx.x] = sum;
    if (ticket.fetch_add(1, cuda::memory_order_acq_rel) != BLOCKS - 1) return;
    sum = 0;
    for (int i = 0; i < BLOCKS; i++) sum += partial[i];
    *out = sum;
}

/** The same by a fence and a relaxed atomic. */
static __global__ void last_block_fence_kernel(const unsigned *in, unsigned *partial, unsigned *out)
{
    if (threadIdx.x != 0) return;
    partial[blockIdx.x] = in[blockIdx.x];
    cuda::atomic_thread_fence(cuda::memory_order_acq_rel, cuda::thread_scope_device);
    const unsigned before = ticket.fetch_sub(1, cuda::memory_order_relaxed);
    cuda::atomic_thread_fence(cuda::memory_order_acq_rel, cuda::thread_scope_device);
    if (before != 1) return;
    unsigned sum = 0;
    for (int i = 0; i < BLOCKS; i++) sum += partial[i];
    *out = sum;
}

enum { RESULTS = 32 };

/** What one thread sees of every operation. @p memory: some words for it. */
static __host__ __device__ void every_operation(int *memory, long long *out)
{
    cuda::atomic_ref<int> ref(memory[0]);
    int expected = 4, n = 0;
    ref.store(3);
    out[n++] = ref.exchange(5);
    out[n++] = ref.compare_exchange_strong(expected, 9);
    out[n++] = expected;
    out[n++] = ref.compare_exchange_strong(expected, 9, cuda::memory_order_acquire);
    out[n++] = ref.fetch_min(7);
    out[n++] = ref.fetch_max(12, cuda::memory_order_release);
    out[n++] = ref.fetch_and(10);
    out[n++] = ref.fetch_or(5);
    out[n++] = ref.fetch_xor(6);
    out[n++] = ref++ + ++ref;
    out[n++] = ref-- - --ref;
    out[n++] = ref += 100;
    out[n++] = ref -= 50;
    out[n++] = (ref &= 60) + (ref |= 3) + (ref ^= 1);
    out[n++] = ref;
    ref = 0x7fffffff;
    out[n++] = ref.fetch_add(1); /* wraps */
    out[n++] = ref.load(cuda::memory_order_acquire);
    cuda::atomic_ref<float, cuda::thread_scope_block> real(*(float *)&memory[1]);
    real.store(1.5f, cuda::memory_order_relaxed);
    out[n++] = (long long)(4 * real.fetch_add(0.25f));
    out[n++] = (long long)(4 * real.load());
    cuda::atomic_ref<unsigned long long> wide(*(unsigned long long *)&memory[2]);
    wide = ~0ull;
    out[n++] = (long long)wide.fetch_sub(1ull << 40);
    out[n++] = (long long)wide.load();
    cuda::atomic_ref<int *> pointer(*(int **)&memory[4]);
    pointer.store(memory);
    out[n++] = pointer.fetch_add(3) - memory;
    out[n++] = pointer.load() - memory;
    cuda::std::atomic<int> local(4);
    local.wait(5);
    out[n++] = local.is_lock_free() ? local.fetch_add(2) : -1;
    out[n++] = local;
    cuda::std::atomic_flag flag(false);
    out[n++] = flag.test_and_set() * 2 + flag.test_and_set();
    flag.clear();
    out[n++] = flag.test();
    cuda::atomic<unsigned char, cuda::thread_scope_thread> small(250);
    out[n++] = small.fetch_add(10);
    out[n++] = small.load();
}

static __global__ void every_operation_kernel(int *memory, long long *out)
{
    every_operation(memory, out);
}

static void check_counts(const unsigned *in, const unsigned *given)
{
    unsigned expected[BINS] = {0}, got[BINS], zeros[BINS] = {0}, sum = 0, first = 0, result[2];
    float most = 0, highest = 0, *maximum = upload(&most, 1);
    unsigned *bins = upload(zeros, BINS), *partial = device_array<unsigned>(BLOCKS),
             *out = device_array<unsigned>(2);
    for (int i = 0; i < COUNT; i++) {
        expected[in[i] % BINS]++;
        sum += in[i];
        if (i < BLOCKS) first += in[i];
        if ((float)in[i] > highest) highest = (float)in[i];
    }
    histogram_kernel<<<BLOCKS, THREADS>>>(given, bins);
    maximum_kernel<<<BLOCKS, THREADS>>>(given, maximum);
    last_block_kernel<<<BLOCKS, THREADS>>>(given, partial, out);
    last_block_fence_kernel<<<BLOCKS, THREADS>>>(given, partial, out + 1);
    finish_launch("counts");
    download(got, bins, BINS);
    download(&most, maximum, 1);
    download(result, out, 2);
    for (int i = 0; i < BINS; i++) g_failures += got[i] != expected[i];
    if (most != highest || result[0] != sum || result[1] != first) {
        printf("%g %g, %u %u, %u %u\n", most, highest, result[0], sum, result[1], first);
        g_failures++;
    }
    release(maximum);
    release(bins);
    release(partial);
    release(out);
}

static void check_operations(void)
{
    static const long long expected[] = {3,
                                         5 == 4,
                                         5,
                                         1,
                                         9,
                                         7,
                                         12,
                                         8,
                                         13,
                                         11 + 13,
                                         13 - 11,
                                         111,
                                         61,
                                         60 + 63 + 62,
                                         62,
                                         0x7fffffff,
                                         -0x7fffffff - 1,
                                         6,
                                         7,
                                         -1,
                                         -1 - (1ll << 40),
                                         0,
                                         3,
                                         4,
                                         6,
                                         1,
                                         0,
                                         250,
                                         4};
    enum { EXPECTED = sizeof expected / sizeof *expected };
    long long got[RESULTS], on_host[RESULTS];
    alignas(8) int memory[8] = {0};
    int *words = upload(memory, 8);
    long long *out = device_array<long long>(RESULTS);
    every_operation_kernel<<<1, 1>>>(words, out);
    finish_launch("every_operation_kernel");
    download(got, out, EXPECTED);
    every_operation(memory, on_host);
    for (int i = 0; i < EXPECTED; i++)
        if ((got[i] != expected[i] || on_host[i] != expected[i]) && g_failures++ < 10)
            printf("operation %d: %lld, %lld on the host, expected %lld\n", i, got[i], on_host[i],
                   expected[i]);
    release(words);
    release(out);
}

int main(void)
{
    static unsigned in[COUNT];
    for (unsigned i = 0; i < COUNT; i++) in[i] = i * 2654435761u >> 20;
    unsigned *given = upload(in, COUNT);
    check_counts(in, given);
    check_operations();
    release(given);
    return finish("cuda_atomics");
}
