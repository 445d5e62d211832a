/**
 * @file curand_mrg32k3a.h
 * @brief For programs that include it by name: see curand_kernel.h.
 */
#ifndef WARPWISE_SIMT_CURAND_MRG32K3A_H
#define WARPWISE_SIMT_CURAND_MRG32K3A_H

#include "curand_kernel.h"

#endif
