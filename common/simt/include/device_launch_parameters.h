/**
 * @file device_launch_parameters.h
 * @brief For programs that include it by name: see cuda_runtime.h.
 */
#ifndef WARPWISE_SIMT_DEVICE_LAUNCH_PARAMETERS_H
#define WARPWISE_SIMT_DEVICE_LAUNCH_PARAMETERS_H

#include "cuda_runtime.h"

#endif
