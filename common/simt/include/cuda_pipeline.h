/**
 * @file cuda_pipeline.h
 * @brief Asynchronous copies: the primitives. CUDA's older C++ class (nvcuda::experimental) is not here.
 */
#pragma once

#pragma GCC system_header

#include "cuda_pipeline_primitives.h"
