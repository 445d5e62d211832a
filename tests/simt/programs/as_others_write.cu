/**
 * @file as_others_write.cu
 * @brief What programs found elsewhere do: a kernel that shares its name with a host function, `<< <` from a formatter, a
 *        constant that is const beside one that is not, a kernel that waits for the clock, an argument that owns memory.
 */
#include "../testing.h"

#include <assert.h>
#include <cuda_fp16.h>
#include <mma.h>

enum { COUNT = 100 };

/* ---- a kernel and a host function of one name ---------------------------------------------------------- */

static __global__ void fill(float *x, int n)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) x[i] = (float)i;
}

static void fill(float *x, int n, int block)
{
    fill<<<(n + block - 1) / block, block>>>(x, n);
}

template <typename T> static __global__ void add(T *x, T value)
{
    x[threadIdx.x] += value;
}

template <typename T> static void add(T *x, T value, int n)
{
    add<<<1, n>>>(x, value);
}

/* ---- constants ----------------------------------------------------------------------------------------- */

static __constant__ float first[4] = {1, 2, 3, 4};
static __constant__ const float second[4] = {5, 6, 7, 8};

static __global__ void sum_kernel(float *x)
{
    assert(threadIdx.x < 4);
    x[threadIdx.x] = first[threadIdx.x] + second[threadIdx.x];
}

/* ---- time ---------------------------------------------------------------------------------------------- */

static __global__ void wait_kernel(long long *took)
{
    const long long start = clock64();
    while (clock64() - start < 1000000) continue;
    took[threadIdx.x] = clock64() - start;
}

/* ---- fragments ----------------------------------------------------------------------------------------- */

static __global__ void zero_kernel(half *halves, float *floats)
{
    nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, half> h;
    nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> f;
    nvcuda::wmma::fill_fragment(h, 0.0f);
    nvcuda::wmma::fill_fragment(f, 0);
    nvcuda::wmma::store_matrix_sync(halves, h, 16, nvcuda::wmma::mem_row_major);
    nvcuda::wmma::store_matrix_sync(floats, f, 16, nvcuda::wmma::mem_row_major);
}

/* ---- an argument with a destructor ----------------------------------------------------------------------- */

/* The copy that the launch makes goes when the launch has been made, as with nvcc; threads have bits, and destroy none. */
struct Counter {
    static int copies, destroyed;
    int *count;
    Counter(const int *start) : count(upload(start, 1)) {}
    Counter(const Counter &other) : count(other.count) { copies++; }
    ~Counter() { destroyed++; }
};
int Counter::copies, Counter::destroyed;

static __global__ void count_kernel(int step, Counter counter, short threads)
{
    if (threadIdx.x < (unsigned)threads) atomicAdd(counter.count, step);
}

static void check_counter()
{
    int host = 0;
    const Counter counter(&host);
    for (int launches = 1; launches <= 2; launches++) {
        count_kernel<<<2, 64>>>(3, counter, 40);
        finish_launch("count_kernel");
        expect_equal("copies", 0, Counter::copies, launches);
        expect_equal("destroyed", 0, Counter::destroyed, launches);
    }
    download(&host, counter.count, 1);
    expect_equal("counted", 0, host, 2 * 2 * 40 * 3);
    release(counter.count);
}

int main(void)
{
    float *x = device_array<float>(256), host[256];
    fill(x, COUNT, 32);
    finish_launch("fill");
    add(x, 1.0f, COUNT);
    finish_launch("add");
    download(host, x, COUNT);
    for (int i = 0; i < COUNT; i++) expect_close("filled", (size_t)i, (double)host[i], i + 1, 0);

    // clang-format off
    sum_kernel<< <1, 4>> >(x);
    // clang-format on
    finish_launch("sum_kernel");
    download(host, x, 4);
    for (int i = 0; i < 4; i++) expect_close("constants", (size_t)i, (double)host[i], 6 + 2 * i, 0);

    long long *took = device_array<long long>(32), times[32];
    wait_kernel<<<1, 32>>>(took);
    finish_launch("wait_kernel");
    download(times, took, 32);
    for (int i = 0; i < 32; i++) expect_equal("waited", (size_t)i, times[i] >= 1000000, 1);

    half *halves = device_array<half>(256);
    zero_kernel<<<1, 32>>>(halves, x);
    finish_launch("zero_kernel");
    download(host, x, 256);
    for (int i = 0; i < 256; i++) expect_close("zeros", (size_t)i, (double)host[i], 0, 0);
    check_counter();
    release(x);
    release(took);
    release(halves);
    return finish("as_others_write");
}
