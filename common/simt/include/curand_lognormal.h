/**
 * @file curand_lognormal.h
 * @brief For programs that include it by name: see curand_kernel.h.
 */
#ifndef WARPWISE_SIMT_CURAND_LOGNORMAL_H
#define WARPWISE_SIMT_CURAND_LOGNORMAL_H

#include "curand_kernel.h"

#endif
