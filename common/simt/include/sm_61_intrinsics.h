/**
 * @file sm_61_intrinsics.h
 * @brief For programs that include it by name: see cuda_runtime.h.
 */
#ifndef WARPWISE_SIMT_SM_61_INTRINSICS_H
#define WARPWISE_SIMT_SM_61_INTRINSICS_H

#include "cuda_runtime.h"

#endif
