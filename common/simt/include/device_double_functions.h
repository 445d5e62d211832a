/**
 * @file device_double_functions.h
 * @brief For programs that include it by name: see cuda_runtime.h.
 */
#ifndef WARPWISE_SIMT_DEVICE_DOUBLE_FUNCTIONS_H
#define WARPWISE_SIMT_DEVICE_DOUBLE_FUNCTIONS_H

#include "cuda_runtime.h"

#endif
