/**
 * @file cuda_device_runtime_api.h
 * @brief For programs that include it by name: see cuda_runtime.h.
 */
#ifndef WARPWISE_SIMT_CUDA_DEVICE_RUNTIME_API_H
#define WARPWISE_SIMT_CUDA_DEVICE_RUNTIME_API_H

#include "cuda_runtime.h"

#endif
