/*
 * peers: whose peers are asked for, and what their operands hold.
 */
#include "peers.h"

#include <cuda_fp16.h>
#include <string.h>

static char **cases; /* ends with NULL */

void ask_for(char **test_cases)
{
    cases = test_cases;
}

int is_asked_for(const char *test_case)
{
    int found = *cases == NULL;
    for (char **name = cases; *name != NULL; name++) found |= strcmp(*name, test_case) == 0;
    return found;
}

/* Random numbers: a product of zeros or of a pattern takes less power, and so runs faster, than one
 * of data. */
template <typename T> __global__ void fill_kernel(T *data, size_t count)
{
    size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += step) {
        unsigned x = (unsigned)i * 2654435769u;
        x = (x ^ x >> 16) * 2246822519u;
        x = (x ^ x >> 13) * 3266489917u;
        data[i] = (T)((float)(x >> 8) / 8388608.0f - 1.0f);
    }
}

void fill(void *data, cudaDataType_t type, size_t count)
{
    if (type == CUDA_R_16F) {
        fill_kernel<<<1024, 256>>>((__half *)data, count);
    } else {
        fill_kernel<<<1024, 256>>>((float *)data, count);
    }
}
