// expect: unsupported at line 14
// with: CUDA_HOME=nowhere
/** The parameters of MTGP32 are in a CUDA Toolkit, and there is none. */
#include "detecting.h"

#include <curand_kernel.h>
#include <curand_mtgp32_host.h>
#include <curand_mtgp32dc_p_11213.h>

int main(void)
{
    mtgp32_kernel_params_t *constants = device_array<mtgp32_kernel_params_t>(1);
    curandStatus_t status;
    status = curandMakeMTGP32Constants(mtgp32dc_params_fast_11213, constants); // here
    if (status != CURAND_STATUS_INITIALIZATION_FAILED) printf("the status is %d\n", (int)status);
    release(constants);
    return 0;
}
