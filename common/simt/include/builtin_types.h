/**
 * @file builtin_types.h
 * @brief For programs that include it by name: see driver_types.h.
 */
#pragma once

#include "driver_types.h"
