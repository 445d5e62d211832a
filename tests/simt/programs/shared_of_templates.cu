/**
 * @file shared_of_templates.cu
 * @brief A template's instances have shared variables of their own: a launch needs those of its instance only, also where
 *        its arguments are deduced.
 */
#include "../testing.h"

enum { TILE = 5000, THREADS = 32 };

template <typename T> static __global__ void mirror_kernel(T *values)
{
    __shared__ T tile[TILE]; /* of all three instances together, more than a block may have */
    tile[threadIdx.x] = values[threadIdx.x];
    __syncthreads(); /* the tile is filled */
    values[threadIdx.x] = tile[THREADS - 1 - threadIdx.x];
}

template <typename T> static void check(const char *what)
{
    T host[THREADS];
    for (int i = 0; i < THREADS; i++) host[i] = (T)i;
    T *values = upload(host, THREADS);
    mirror_kernel<<<1, THREADS>>>(values); /* T is deduced */
    finish_launch(what);
    download(host, values, THREADS);
    for (int i = 0; i < THREADS; i++) expect_equal(what, (size_t)i, (long long)host[i], THREADS - 1 - i);
    release(values);
    cudaFuncAttributes attributes;
    require(cudaFuncGetAttributes(&attributes, mirror_kernel<T>), "cudaFuncGetAttributes");
    expect_equal("its shared bytes", 0, (long long)attributes.sharedSizeBytes, (long long)(TILE * sizeof(T)));
}

int main(void)
{
    check<float>("float");
    check<int>("int");
    check<unsigned>("unsigned");
    return finish("shared_of_templates");
}
