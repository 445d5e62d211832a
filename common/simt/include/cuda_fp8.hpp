/**
 * @file cuda_fp8.hpp
 * @brief For programs that include it by name: see cuda_fp8.h.
 */
#ifndef WARPWISE_SIMT_CUDA_FP8_HPP
#define WARPWISE_SIMT_CUDA_FP8_HPP

#include "cuda_fp8.h"

#endif
