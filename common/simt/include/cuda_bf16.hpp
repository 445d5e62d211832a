/**
 * @file cuda_bf16.hpp
 * @brief For programs that include it by name: see cuda_bf16.h.
 */
#ifndef WARPWISE_SIMT_CUDA_BF16_HPP
#define WARPWISE_SIMT_CUDA_BF16_HPP

#include "cuda_bf16.h"

#endif
