/**
 * @file vector_functions.hpp
 * @brief For programs that include it by name: see vector_functions.h.
 */
#pragma once

#include "vector_functions.h"
