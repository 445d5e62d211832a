// expect: divergent-barrier at line 10
/** Not all threads of the block draw from its state of MTGP32. */
#include "detecting.h"

#include <curand_kernel.h>
#include <curand_mtgp32_host.h>

static __global__ void draw_kernel(curandStateMtgp32_t *state, float *out)
{
    if (threadIdx.x < 40) out[threadIdx.x] = curand_uniform(state); // here
}

int main(void)
{
    static mtgp32_params_fast_t own[CURAND_NUM_MTGP32_PARAMS];
    for (int i = 0; i < CURAND_NUM_MTGP32_PARAMS; i++) own[i].pos = 3;
    mtgp32_kernel_params_t *constants = device_array<mtgp32_kernel_params_t>(1);
    curandStateMtgp32_t *state = device_array<curandStateMtgp32_t>(1);
    float *out = device_array<float>(64);
    if (curandMakeMTGP32Constants(own, constants) != CURAND_STATUS_SUCCESS ||
        curandMakeMTGP32KernelState(state, own, constants, 1, 1234) != CURAND_STATUS_SUCCESS)
        printf("MTGP32 is not there\n");
    draw_kernel<<<1, 64>>>(state, out);
    expect_outcome(cudaErrorLaunchTimeout);
    abandon(out);
    return 0;
}
