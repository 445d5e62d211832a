/**
 * @file builtin_types.h
 * @brief For programs that include it by name: see driver_types.h.
 */
#ifndef WARPWISE_SIMT_BUILTIN_TYPES_H
#define WARPWISE_SIMT_BUILTIN_TYPES_H

#include "driver_types.h"

#endif
