/**
 * @file vector_functions.hpp
 * @brief For programs that include it by name: see vector_functions.h.
 */
#ifndef WARPWISE_SIMT_VECTOR_FUNCTIONS_HPP
#define WARPWISE_SIMT_VECTOR_FUNCTIONS_HPP

#include "vector_functions.h"

#endif
