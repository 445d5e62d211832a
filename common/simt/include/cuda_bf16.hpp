/**
 * @file cuda_bf16.hpp
 * @brief For programs that include it by name: see cuda_bf16.h.
 */
#pragma once

#include "cuda_bf16.h"
