/**
 * @file cuda_fp8.hpp
 * @brief For programs that include it by name: see cuda_fp8.h.
 */
#pragma once

#include "cuda_fp8.h"
