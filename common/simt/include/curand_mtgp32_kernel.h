/**
 * @file curand_mtgp32_kernel.h
 * @brief For programs that include it by name: see curand_kernel.h.
 */
#ifndef WARPWISE_SIMT_CURAND_MTGP32_KERNEL_H
#define WARPWISE_SIMT_CURAND_MTGP32_KERNEL_H

#include "curand_kernel.h"

#endif
