/**
 * @file cuda_pipeline.h
 * @brief Asynchronous copies: the primitives. CUDA's older C++ class (nvcuda::experimental) is not here.
 */
#ifndef WARPWISE_SIMT_CUDA_PIPELINE_H
#define WARPWISE_SIMT_CUDA_PIPELINE_H

#pragma GCC system_header

#include "cuda_pipeline_primitives.h"

#endif
