/**
 * The parts of the language that kernels are written with: structures as arguments, templates over types and
 * functions, default arguments, references, recursion, lambdas called in a kernel, local arrays, device and
 * constant variables, functions for host and device, launches whose arguments have commas and brackets.
 */
#include "../testing.h"

enum { THREADS = 64, BLOCKS = 2, COUNT = THREADS * BLOCKS };

struct line {
    float slope, offset;
    int powers[3];
};

namespace shapes
{
template <typename T, int N> struct array {
    T elements[N];
    __host__ __device__ T &operator[](int i) { return elements[i]; }
    __host__ __device__ const T &operator[](int i) const { return elements[i]; }
};
} // namespace shapes

static __constant__ int table[4] = {2, 3, 5, 7};
static __device__ int counter = 40;
static __device__ float history[COUNT];

static __host__ __device__ float evaluate(const struct line &line, float x)
{
    return line.slope * x + line.offset;
}

static __device__ int factorial(int n)
{
    return n <= 1 ? 1 : n * factorial(n - 1);
}

static __device__ __noinline__ void swap_values(int &a, int &b)
{
    const int t = a;
    a = b;
    b = t;
}

static __device__ float twice(float x)
{
    return 2.0f * x;
}
static __device__ float square(float x)
{
    return x * x;
}

static __global__ void structure_kernel(struct line line, shapes::array<float, 3> weights, float *out)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    float values[3], sum = 0.0f;
    for (int k = 0; k < 3; k++) values[k] = weights[k] * (float)line.powers[k];
    for (int k = 0; k < 3; k++) sum += values[2 - k];
    out[i] = evaluate(line, (float)i) + sum + (float)table[i % 4];
    history[i] = out[i];
}

template <float (*function)(float), typename T = int, int STEP = 1>
static __global__ void template_kernel(float *out, T first)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    out[i] = function((float)(first + STEP * i));
}

static __global__ void lambda_kernel(int *out)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    int a = i, b = 5;
    auto add = [&](int x) { return x + a + b; };
    swap_values(a, b);
    out[i] = add(factorial(i % 6)) + (i == 0 ? counter++ : 0);
}

__launch_bounds__(THREADS, 2) static __global__
    void bounded_kernel(int *__restrict__ out, bool flag, char c, short s)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    out[i] = flag ? c + s : i;
}

static void check_structures(float *out)
{
    const struct line line = {0.5f, 3.0f, {1, 2, 3}};
    const shapes::array<float, 3> weights = {{1.0f, 10.0f, 100.0f}};
    const int primes[4] = {2, 3, 5, 7};
    float got[COUNT], kept[COUNT];
    structure_kernel<<<BLOCKS, THREADS>>>(line, weights, out);
    finish_launch("structure_kernel");
    download(got, out, COUNT);
    require(cudaMemcpyFromSymbol(kept, history, sizeof kept), "cudaMemcpyFromSymbol");
    for (int i = 0; i < COUNT; i++) {
        expect_close("structure", i, got[i], evaluate(line, (float)i) + 321.0 + primes[i % 4], 0.0);
        expect_close("history", i, kept[i], got[i], 0.0);
    }
}

static void check_templates(float *out)
{
    float got[COUNT];
    template_kernel<twice><<<BLOCKS, THREADS>>>(out, 3);
    finish_launch("template_kernel<twice>");
    download(got, out, COUNT);
    for (int i = 0; i < COUNT; i++) expect_close("twice", i, got[i], 2.0 * (3 + i), 0.0);
    template_kernel<square, float, (COUNT > 4) ? 2 : 1><<<dim3(BLOCKS, 1), dim3(THREADS), 0, 0>>>(out, 0.5f);
    finish_launch("template_kernel<square>");
    download(got, out, COUNT);
    for (int i = 0; i < COUNT; i++) expect_close("square", i, got[i], (0.5 + 2 * i) * (0.5 + 2 * i), 0.0);
}

/** Parameters that are references, to managed memory. */
static __global__ void reference_kernel(struct line &line, const int &steps, int more)
{
    if (threadIdx.x == 0) line.offset += line.slope * (float)steps + (float)more;
}
template <typename T> static __global__ void reset_kernel(T &value)
{
    value = T();
}

static void check_references(void)
{
    struct line *line;
    int *steps;
    require(cudaMallocManaged(&line, sizeof *line), "cudaMallocManaged");
    require(cudaMallocManaged(&steps, sizeof *steps), "cudaMallocManaged");
    *line = {2.0f, 1.0f, {1, 2, 3}};
    *steps = 5;
    reference_kernel<<<1, THREADS>>>(*line, *steps, 4);
    finish_launch("reference_kernel");
    expect_close("offset", 0, line->offset, 15.0, 0.0);
    void *arguments[] = {&line, &steps, steps};
    require(cudaLaunchKernel((void *)reference_kernel, 1, THREADS, arguments, 0, 0), "cudaLaunchKernel");
    finish_launch("reference_kernel by cudaLaunchKernel");
    expect_close("offset", 1, line->offset, 30.0, 0.0);
    reset_kernel<int><<<1, 1>>>(*steps);
    finish_launch("reset_kernel");
    expect_equal("steps", 0, *steps, 0);
    release(line);
    release(steps);
}

static void check_integers(int *out)
{
    const int factorials[6] = {1, 1, 2, 6, 24, 120};
    int got[COUNT], count = 0, start = 90;
    void *address = NULL;
    require(cudaMemcpyToSymbol(counter, &start, sizeof start), "cudaMemcpyToSymbol");
    lambda_kernel<<<BLOCKS, THREADS>>>(out);
    finish_launch("lambda_kernel");
    download(got, out, COUNT);
    for (int i = 0; i < COUNT; i++)
        expect_equal("lambda", i, got[i], factorials[i % 6] + i + 5 + (i == 0 ? 90 : 0));
    require(cudaGetSymbolAddress(&address, counter), "cudaGetSymbolAddress");
    download(&count, (int *)address, 1);
    expect_equal("counter", 0, count, 91);
    for (int flag = 0; flag < 2; flag++) {
        bounded_kernel<<<BLOCKS, THREADS>>>(out, flag == 1, 'a', (short)-5);
        finish_launch("bounded_kernel");
        download(got, out, COUNT);
        for (int i = 0; i < COUNT; i++) expect_equal("bounded", i, got[i], flag ? 'a' - 5 : i);
    }
}

int main(void)
{
    float *floats = device_array<float>(COUNT);
    int *ints = device_array<int>(COUNT);
    check_structures(floats);
    check_templates(floats);
    check_integers(ints);
    check_references();
    release(floats);
    release(ints);
    return finish("language_features");
}
