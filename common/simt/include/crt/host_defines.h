/**
 * @file host_defines.h
 * @brief For programs that include it by name: see cuda_runtime.h.
 */
#ifndef WARPWISE_SIMT_CRT_HOST_DEFINES_H
#define WARPWISE_SIMT_CRT_HOST_DEFINES_H

#include "../cuda_runtime.h"

#endif
