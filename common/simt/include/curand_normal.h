/**
 * @file curand_normal.h
 * @brief For programs that include it by name: see curand_kernel.h.
 */
#ifndef WARPWISE_SIMT_CURAND_NORMAL_H
#define WARPWISE_SIMT_CURAND_NORMAL_H

#include "curand_kernel.h"

#endif
