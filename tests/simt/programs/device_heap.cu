/**
 * @file device_heap.cu
 * @brief malloc, free, new and delete in kernels: memory that one kernel takes and another gives back, objects with virtual
 *        functions, a heap that runs out.
 */
#include "../testing.h"

enum { THREADS = 32 };

static __global__ void take_kernel(int **rows)
{
    rows[threadIdx.x] = (int *)malloc(64);
    rows[threadIdx.x][3] = (int)threadIdx.x;
}

static __global__ void give_kernel(int **rows, int *out)
{
    out[threadIdx.x] = rows[threadIdx.x][3];
    free(rows[threadIdx.x]);
}

struct shape {
    __device__ virtual float area() const = 0;
    __device__ virtual ~shape() {}
};

struct square : shape {
    float side;
    __device__ square(float s) : side(s) {}
    __device__ float area() const override { return side * side; }
};

static __global__ void area_kernel(float *out)
{
    float *const sides = new float[4];
    for (int i = 0; i < 4; i++) sides[i] = (float)(threadIdx.x + i);
    shape *const s = new square(sides[3]);
    out[threadIdx.x] = s->area();
    delete s;
    delete[] sides;
}

static __global__ void greedy_kernel(int *out)
{
    out[threadIdx.x] = malloc(1 << 20) != nullptr;
}

/** The same objects and arrays in a kernel and in host code. */
struct pair {
    int first, second;
    __host__ __device__ pair(int value) : first(value), second(3 * value) {}
    __host__ __device__ ~pair() { first = second = 0; }
};

static __host__ __device__ int sum_of_new_things(int base)
{
    pair *const object = new pair(base);
    pair *const objects = new pair[2]{pair(base + 1), pair(base + 2)};
    char *const bytes = new char[5];
    int *const word = (int *)malloc(sizeof(int));
    *word = object->first + object->second + objects[1].second;
    for (int i = 0; i < 5; i++) bytes[i] = (char)i;
    const int sum = *word + bytes[4];
    delete object;
    delete[] objects;
    delete[] bytes;
    free(word);
    delete (pair *)nullptr;
    return sum;
}

static __global__ void sum_kernel(int *out)
{
    out[threadIdx.x] = sum_of_new_things((int)threadIdx.x);
}

int main(void)
{
    /* before the first kernel that allocates: then it is too late */
    require(cudaDeviceSetLimit(cudaLimitMallocHeapSize, (size_t)4 << 20), "cudaDeviceSetLimit");
    int **rows = device_array<int *>(THREADS), *out = device_array<int>(THREADS), host[THREADS];
    take_kernel<<<1, THREADS>>>(rows);
    give_kernel<<<1, THREADS>>>(rows, out);
    finish_launch("give_kernel");
    download(host, out, THREADS);
    for (int i = 0; i < THREADS; i++) expect_equal("rows", (size_t)i, host[i], i);

    float *areas = device_array<float>(THREADS), area[THREADS];
    area_kernel<<<1, THREADS>>>(areas);
    finish_launch("area_kernel");
    download(area, areas, THREADS);
    for (int i = 0; i < THREADS; i++)
        expect_close("area", (size_t)i, (double)area[i], (i + 3.0) * (i + 3.0), 0);

    sum_kernel<<<1, THREADS>>>(out);
    finish_launch("sum_kernel");
    download(host, out, THREADS);
    for (int i = 0; i < THREADS; i++) {
        expect_equal("sum in a kernel", (size_t)i, host[i], 7 * i + 10);
        expect_equal("sum on the host", (size_t)i, sum_of_new_things(i), 7 * i + 10);
    }

    greedy_kernel<<<1, THREADS>>>(out);
    finish_launch("greedy_kernel");
    download(host, out, THREADS);
    int got = 0;
    for (int i = 0; i < THREADS; i++) got += host[i];
    expect_equal("allocations of a MB from 4 MB", 0, got >= 1 && got <= 4, 1);
    release(rows);
    release(out);
    release(areas);
    return finish("device_heap");
}
