/**
 * @file cuda_fp16.hpp
 * @brief For programs that include it by name: see cuda_fp16.h.
 */
#ifndef WARPWISE_SIMT_CUDA_FP16_HPP
#define WARPWISE_SIMT_CUDA_FP16_HPP

#include "cuda_fp16.h"

#endif
