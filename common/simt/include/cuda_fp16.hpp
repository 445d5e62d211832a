/**
 * @file cuda_fp16.hpp
 * @brief For programs that include it by name: see cuda_fp16.h.
 */
#pragma once

#include "cuda_fp16.h"
