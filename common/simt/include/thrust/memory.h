/**
 * @file memory.h
 * @brief A header of Thrust: see simt/thrust/.
 */
#ifndef WARPWISE_SIMT_THRUST_MEMORY_HEADER
#define WARPWISE_SIMT_THRUST_MEMORY_HEADER

#include "../simt/thrust/all.h"

#endif
