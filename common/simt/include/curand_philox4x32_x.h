/**
 * @file curand_philox4x32_x.h
 * @brief For programs that include it by name: see curand_kernel.h.
 */
#ifndef WARPWISE_SIMT_CURAND_PHILOX4X32_X_H
#define WARPWISE_SIMT_CURAND_PHILOX4X32_X_H

#include "curand_kernel.h"

#endif
