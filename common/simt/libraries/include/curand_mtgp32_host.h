/**
 * @file curand_mtgp32_host.h
 * @brief What a host does before kernels use MTGP32. The parameters may be a program's own.
 */
#pragma once

#pragma GCC system_header

#define CURAND_MTGP32_HOST_H

#include "curand.h"
#include "curand_mtgp32.h"
#include "curand_mtgp32dc_p_11213.h"

#ifdef __cplusplus
extern "C" {
#endif
/** @brief CURAND_NUM_MTGP32_PARAMS sets. */
curandStatus_t curandMakeMTGP32Constants(const mtgp32_params_fast_t params[], mtgp32_kernel_params_t *p);
/** @brief One state for each of the first @p n sets. */
curandStatus_t curandMakeMTGP32KernelState(curandStateMtgp32_t *s, mtgp32_params_fast_t params[],
                                           mtgp32_kernel_params_t *k, int n, unsigned long long seed);
#ifdef __cplusplus
}
#endif
