/**
 * @file cuda_profiler_api.h
 * @brief For programs that include it by name: see cuda_runtime_api.h.
 */
#pragma once

#include "cuda_runtime_api.h"
