/**
 * @file device_allocator.h
 * @brief A header of Thrust: see simt/thrust/.
 */
#ifndef WARPWISE_SIMT_THRUST_DEVICE_ALLOCATOR_HEADER
#define WARPWISE_SIMT_THRUST_DEVICE_ALLOCATOR_HEADER

#include "../simt/thrust/all.h"

#endif
