/**
 * Every atomic operation and type, in global and in shared memory, with their results used where the order of
 * threads does not matter. Shown: compare-and-swap loops, block and system scope, wrap-around of inc and dec.
 */
#include "../testing.h"

enum { THREADS = 96, BLOCKS = 5, COUNT = THREADS * BLOCKS };

struct totals {
    int sum, difference, low, high, and_all, or_all, xor_all, exchanged;
    unsigned wrapped_up, wrapped_down, unsigned_low, unsigned_high;
    unsigned long long long_sum, long_high;
    float float_sum;
    double double_sum;
};

static __device__ void apply(struct totals *t, int i)
{
    atomicAdd(&t->sum, i);
    atomicSub(&t->difference, i);
    atomicMin(&t->low, 1000 - i);
    atomicMax(&t->high, i * 3);
    atomicAnd(&t->and_all, ~(1 << i % 16));
    atomicOr(&t->or_all, 1 << i % 16);
    atomicXor(&t->xor_all, i);
    atomicExch(&t->exchanged, 77);
    atomicInc(&t->wrapped_up, 6u);
    atomicDec(&t->wrapped_down, 6u);
    atomicMin(&t->unsigned_low, 4000000000u - (unsigned)i);
    atomicMax(&t->unsigned_high, 4000000000u + (unsigned)i);
    atomicAdd(&t->long_sum, 1ull << 33);
    atomicMax(&t->long_high, (unsigned long long)i << 35);
    atomicAdd(&t->float_sum, 0.5f);
    atomicAdd(&t->double_sum, 0.25);
}

static __host__ __device__ void begin(struct totals *t)
{
    t->sum = t->difference = t->xor_all = t->or_all = t->exchanged = 0;
    t->low = t->high = 0;
    t->and_all = 0x7fffffff;
    t->wrapped_up = t->wrapped_down = 0;
    t->unsigned_low = 4000000000u;
    t->unsigned_high = 0;
    t->long_sum = t->long_high = 0;
    t->float_sum = 0.0f;
    t->double_sum = 0.0;
}

static __global__ void global_kernel(struct totals *totals)
{
    apply(totals, (int)(blockIdx.x * THREADS + threadIdx.x));
}

static __global__ void shared_kernel(struct totals *totals) /* [gridDim.x] */
{
    __shared__ struct totals mine;
    if (threadIdx.x == 0) begin(&mine);
    __syncthreads(); /* the totals are set before anyone adds */
    apply(&mine, (int)threadIdx.x);
    __syncthreads(); /* all have added */
    if (threadIdx.x == 0) totals[blockIdx.x] = mine;
}

static void check_totals(const struct totals *t, int count)
{
    int sum = 0, xor_all = 0;
    for (int i = 0; i < count; i++) {
        sum += i;
        xor_all ^= i;
    }
    expect_equal("sum", count, t->sum, sum);
    expect_equal("difference", count, t->difference, -sum);
    expect_equal("low", count, t->low, count > 1000 ? 1000 - count : 0);
    expect_equal("high", count, t->high, 3 * (count - 1));
    expect_equal("and", count, t->and_all, 0x7fff0000);
    expect_equal("or", count, t->or_all, 0xffff);
    expect_equal("xor", count, t->xor_all, xor_all);
    expect_equal("exchanged", count, t->exchanged, 77);
    expect_equal("wrapped up", count, t->wrapped_up, count % 7);
    expect_equal("wrapped down", count, t->wrapped_down, (7 - count % 7) % 7);
    expect_equal("unsigned low", count, t->unsigned_low, 4000000000ll - (count - 1));
    expect_equal("unsigned high", count, t->unsigned_high, 4000000000ll + count - 1);
    expect_equal("long sum", count, (long long)t->long_sum, (long long)count << 33);
    expect_equal("long high", count, (long long)t->long_high, (long long)(count - 1) << 35);
    expect_close("float sum", count, t->float_sum, 0.5 * count, 0.0);
    expect_close("double sum", count, t->double_sum, 0.25 * count, 0.0);
}

/* The product modulo 2^32 by compare-and-swap, and the largest float by its bits. */
static __global__ void compare_and_swap_kernel(unsigned *product, float *largest, int *tickets /* [COUNT] */,
                                               int *next)
{
    const unsigned factor = 2 * (blockIdx.x * THREADS + threadIdx.x) + 1;
    unsigned seen = *(volatile unsigned *)product, expected;
    do {
        expected = seen;
        seen = atomicCAS(product, expected, expected * factor);
    } while (seen != expected);
    atomicMax((int *)largest,
              __float_as_int((float)factor * 0.5f)); /* order of positive floats and their bits */
    tickets[atomicAdd(next, 1)] = 1;
}

static __global__ void scoped_kernel(int *values) /* [3] */
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 600
    atomicAdd_block(&values[0] + blockIdx.x, 1);
    atomicAdd_system(&values[2], 1);
#endif
}

static void check_compare_and_swap(void)
{
    unsigned start[4] = {1, 0, 0, 0}, *device = upload(start, 4), product = 1;
    int tickets[COUNT], *device_tickets = device_array<int>(COUNT);
    float largest;
    compare_and_swap_kernel<<<BLOCKS, THREADS>>>(device, (float *)device + 1, device_tickets,
                                                 (int *)device + 2);
    finish_launch("compare_and_swap_kernel");
    for (unsigned i = 0; i < COUNT; i++) product *= 2 * i + 1;
    download(start, device, 4);
    download(&largest, (float *)device + 1, 1);
    download(tickets, device_tickets, COUNT); /* every element was written: each ticket was drawn once */
    expect_equal("product", 0, start[0], product);
    expect_close("largest", 0, largest, COUNT - 0.5, 0.0);
    for (int i = 0; i < COUNT; i++) expect_equal("ticket", i, tickets[i], 1);
    release(device);
    release(device_tickets);
}

/* nvcc's built-in functions, which CUDA 12.8 brought. */
static __global__ void built_in_kernel(unsigned *sum, unsigned *greatest)
{
    __nv_atomic_fetch_add(sum, threadIdx.x, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
    __nv_atomic_fetch_max(greatest, threadIdx.x, __NV_ATOMIC_RELAXED);
    __syncthreads();
    if (threadIdx.x == 0 && __nv_atomic_load_n(sum, __NV_ATOMIC_ACQUIRE) == blockDim.x * (blockDim.x - 1) / 2)
        __nv_atomic_store_n(sum, 7u, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_SYSTEM);
}

static void check_built_in(void)
{
    unsigned *both = device_array<unsigned>(2), got[2];
    require(cudaMemset(both, 0, 2 * sizeof *both), "cudaMemset");
    built_in_kernel<<<1, 64>>>(both, both + 1);
    finish_launch("built_in_kernel");
    download(got, both, 2);
    expect_equal("__nv_atomic", 0, got[0], 7);
    expect_equal("__nv_atomic", 1, got[1], 63);
    release(both);
}

int main(void)
{
    check_built_in();
    struct totals host[BLOCKS];
    begin(host);
    struct totals *one = upload(host, 1), *many = device_array<struct totals>(BLOCKS);
    global_kernel<<<BLOCKS, THREADS>>>(one);
    finish_launch("global_kernel");
    download(host, one, 1);
    check_totals(host, COUNT);
    shared_kernel<<<BLOCKS, THREADS>>>(many);
    finish_launch("shared_kernel");
    download(host, many, BLOCKS);
    for (int block = 0; block < BLOCKS; block++) check_totals(&host[block], THREADS);
    check_compare_and_swap();

    int values[3] = {0, 0, 0}, *device_values = upload(values, 3);
    scoped_kernel<<<2, THREADS>>>(device_values);
    finish_launch("scoped_kernel");
    download(values, device_values, 3);
    expect_equal("block scope", 0, values[0] + values[1], 2 * THREADS);
    expect_equal("system scope", 0, values[2], 2 * THREADS);
    release(device_values);
    release(one);
    release(many);
    return finish("atomics_all");
}
