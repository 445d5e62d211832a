/**
 * @file sm_30_intrinsics.h
 * @brief For programs that include it by name: see cuda_runtime.h.
 */
#pragma once

#include "cuda_runtime.h"
