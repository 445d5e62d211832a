/**
 * Memory calls besides the plain copy: rows with a pitch, sets, copies within the device, parts of variables,
 * a kind that is worked out from the pointers, memory that the host pins.
 */
#include "../testing.h"

#include <string.h>

enum { WIDTH = 37, HEIGHT = 11, COUNT = 500 };

static __device__ int device_values[COUNT];
static __constant__ float constants[8];

static __global__ void add_kernel(float *rows, /* [HEIGHT, WIDTH], rows `pitch` bytes apart */
                                  size_t pitch)
{
    float *row = (float *)((char *)rows + threadIdx.y * pitch);
    row[threadIdx.x] += (float)(threadIdx.y * WIDTH + threadIdx.x);
}

static __global__ void constants_kernel(float *out)
{
    out[threadIdx.x] = constants[threadIdx.x];
}

static void check_pitch(void)
{
    float host[HEIGHT][WIDTH], got[HEIGHT][WIDTH], *rows;
    size_t pitch = 0;
    for (int i = 0; i < HEIGHT * WIDTH; i++) host[i / WIDTH][i % WIDTH] = 0.5f * (float)i;
    require(cudaMallocPitch((void **)&rows, &pitch, sizeof host[0], HEIGHT), "cudaMallocPitch");
    expect_equal("pitch", 0, pitch >= sizeof host[0] && pitch % 32 == 0, 1);
    require(cudaMemcpy2D(rows, pitch, host, sizeof host[0], sizeof host[0], HEIGHT, cudaMemcpyHostToDevice),
            "cudaMemcpy2D");
    add_kernel<<<1, dim3(WIDTH, HEIGHT)>>>(rows, pitch);
    finish_launch("add_kernel");
    require(cudaMemcpy2D(got, sizeof got[0], rows, pitch, sizeof got[0], HEIGHT, cudaMemcpyDeviceToHost),
            "cudaMemcpy2D");
    for (int i = 0; i < HEIGHT * WIDTH; i++) expect_close("row", i, got[i / WIDTH][i % WIDTH], 1.5 * i, 0.0);
    require(cudaMemset2D(rows, pitch, 0, sizeof host[0], HEIGHT), "cudaMemset2D");
    require(cudaMemcpy(got[0], rows, sizeof got[0], cudaMemcpyDeviceToHost), "cudaMemcpy");
    for (int i = 0; i < WIDTH; i++) expect_close("zero", i, got[0][i], 0.0, 0.0);
    release(rows);
}

static void check_copies_and_sets(void)
{
    unsigned char host[COUNT], got[COUNT];
    for (int i = 0; i < COUNT; i++) host[i] = (unsigned char)(i * 7);
    unsigned char *first = upload(host, COUNT), *second = device_array<unsigned char>(COUNT);
    require(cudaMemset(second, 0xab, COUNT), "cudaMemset");
    require(cudaMemcpy(second + 13, first + 5, 200, cudaMemcpyDeviceToDevice), "cudaMemcpy");
    require(cudaMemcpy(got, second, COUNT, cudaMemcpyDefault), "cudaMemcpy");
    for (int i = 0; i < COUNT; i++) {
        expect_equal("byte", i, got[i], i >= 13 && i < 213 ? host[i - 8] : 0xab);
    }
    unsigned char *pinned;
    require(cudaHostAlloc((void **)&pinned, COUNT, cudaHostAllocDefault), "cudaHostAlloc");
    require(cudaMemcpyAsync(pinned, first, COUNT, cudaMemcpyDeviceToHost, 0), "cudaMemcpyAsync");
    require(cudaStreamSynchronize(0), "cudaStreamSynchronize");
    expect_equal("pinned", 0, memcmp(pinned, host, COUNT), 0);
    require(cudaFreeHost(pinned), "cudaFreeHost");
    release(first);
    release(second);
}

static void check_symbols(void)
{
    int host[COUNT], got[COUNT];
    size_t bytes = 0;
    float values[8], received[8], *out = device_array<float>(8);
    for (int i = 0; i < COUNT; i++) host[i] = i * i;
    require(cudaGetSymbolSize(&bytes, device_values), "cudaGetSymbolSize");
    expect_equal("size", 0, (long long)bytes, (long long)sizeof host);
    require(cudaMemcpyToSymbol(device_values, host, sizeof host), "cudaMemcpyToSymbol");
    require(cudaMemcpyToSymbol(device_values, host, 10 * sizeof(int), 20 * sizeof(int)),
            "cudaMemcpyToSymbol");
    require(cudaMemcpyFromSymbol(got, device_values, sizeof got), "cudaMemcpyFromSymbol");
    for (int i = 0; i < COUNT; i++)
        expect_equal("symbol", i, got[i], i >= 20 && i < 30 ? host[i - 20] : host[i]);
    for (int i = 0; i < 8; i++) values[i] = (float)(i + 1) / 4.0f;
    require(cudaMemcpyToSymbolAsync(constants, values, sizeof values, 0, cudaMemcpyHostToDevice, 0),
            "cudaMemcpyToSymbolAsync");
    constants_kernel<<<1, 8>>>(out);
    finish_launch("constants_kernel");
    download(received, out, 8);
    for (int i = 0; i < 8; i++) expect_close("constant", i, received[i], values[i], 0.0);
    release(out);
}

static void check_pointer_attributes(void)
{
    cudaPointerAttributes attributes;
    int *device = device_array<int>(4);
    require(cudaPointerGetAttributes(&attributes, device), "cudaPointerGetAttributes");
    expect_equal("device pointer", 0, attributes.type, cudaMemoryTypeDevice);
    expect_equal("device pointer itself", 0, attributes.devicePointer == device, 1);
    release(device);
}

int main(void)
{
    check_pitch();
    check_copies_and_sets();
    check_symbols();
    check_pointer_attributes();
    return finish("memory_copies");
}
