/**
 * @file math_functions.h
 * @brief For programs that include it by name: see cuda_runtime.h.
 */
#pragma once

#include "../cuda_runtime.h"
