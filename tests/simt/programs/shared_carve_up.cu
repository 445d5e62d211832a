/**
 * One dynamic shared array carved into parts of different types, beside static shared arrays; the sizes are
 * known only at launch. Shown: extern __shared__ with alignment, several kernels with their own views of it.
 */
#include "../testing.h"

enum { THREADS = 96 };

/* [ doubles: n ][ floats: 2 n ][ shorts: n ][ bytes: n ] */
static __global__ void carve_kernel(double *out, /* [n] */
                                    int n)
{
    extern __shared__ __align__(16) unsigned char memory[];
    __shared__ int order[THREADS];
    double *doubles = reinterpret_cast<double *>(memory);
    float *floats = reinterpret_cast<float *>(doubles + n);
    short *shorts = reinterpret_cast<short *>(floats + 2 * n);
    unsigned char *bytes = reinterpret_cast<unsigned char *>(shorts + n);
    const int i = (int)threadIdx.x;
    if (i < n) {
        doubles[i] = 1.0 / (1 + i);
        floats[i] = (float)i;
        floats[n + i] = (float)-i;
        shorts[i] = (short)(i * 3);
        bytes[i] = (unsigned char)(i ^ 0x55);
        order[i] = n - 1 - i;
    }
    __syncthreads(); /* all parts are complete */
    if (i < n) {
        const int j = order[i];
        out[i] = doubles[j] + floats[j] + floats[n + i] + shorts[j] + bytes[j];
    }
}

static __global__ void float4_kernel(float *out) /* [blockDim.x] */
{
    extern __shared__ float4 rows[];
    rows[threadIdx.x] = make_float4(1.0f, 2.0f, 3.0f, (float)threadIdx.x);
    __syncthreads(); /* the row of another thread is read */
    const float4 row = rows[blockDim.x - 1 - threadIdx.x];
    out[threadIdx.x] = row.x + row.y + row.z + row.w;
}

/* As large as fits without opting in; every byte is used. */
static __global__ void whole_kernel(unsigned *out, int words)
{
    extern __shared__ unsigned whole[];
    unsigned sum = 0;
    for (int i = (int)threadIdx.x; i < words; i += THREADS) whole[i] = (unsigned)i * 2654435761u;
    __syncthreads(); /* the words of the others are summed */
    for (int i = (int)threadIdx.x; i < words; i += THREADS) sum += whole[words - 1 - i];
    atomicAdd(out, sum);
}

static void check_carve(int n)
{
    double got[THREADS], *out = device_array<double>(THREADS);
    carve_kernel<<<1, THREADS, (size_t)n *(8 + 2 * 4 + 2 + 1)>>>(out, n);
    finish_launch("carve_kernel");
    download(got, out, n);
    for (int i = 0; i < n; i++) {
        const int j = n - 1 - i;
        expect_close("carve", i, got[i], 1.0 / (1 + j) + j - i + 3 * j + (j ^ 0x55), 1e-12);
    }
    release(out);
}

int main(void)
{
    check_carve(THREADS);
    check_carve(37);
    check_carve(1);

    float got[THREADS], *out = device_array<float>(THREADS);
    float4_kernel<<<1, THREADS, THREADS * sizeof(float4)>>>(out);
    finish_launch("float4_kernel");
    download(got, out, THREADS);
    for (int i = 0; i < THREADS; i++) expect_close("float4", i, got[i], 6.0 + THREADS - 1 - i, 0.0);
    release(out);

    const int words = 48 * 1024 / 4;
    unsigned sum = 0, expected = 0, *total = upload(&sum, 1);
    whole_kernel<<<2, THREADS, words * sizeof(unsigned)>>>(total, words);
    finish_launch("whole_kernel");
    download(&sum, total, 1);
    for (unsigned i = 0; i < (unsigned)words; i++) expected += i * 2654435761u;
    expect_equal("whole", 0, sum, 2 * expected);
    release(total);
    return finish("shared_carve_up");
}
