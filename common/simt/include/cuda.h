/**
 * @file cuda.h
 * @brief For programs that include it by name: see cuda_runtime_api.h.
 */
#ifndef WARPWISE_SIMT_CUDA_H
#define WARPWISE_SIMT_CUDA_H

#include "cuda_runtime_api.h"

#endif
