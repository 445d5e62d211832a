#pragma once

#include <cuda_runtime.h>

/** @brief Adds the sum of @p count floats in device memory to *@p result, in device memory too. */
cudaError_t add_sum(const float *values, int count, float *result);
