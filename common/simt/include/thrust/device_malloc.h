/**
 * @file device_malloc.h
 * @brief A header of Thrust: see simt/thrust/.
 */
#ifndef WARPWISE_SIMT_THRUST_DEVICE_MALLOC_HEADER
#define WARPWISE_SIMT_THRUST_DEVICE_MALLOC_HEADER

#include "../simt/thrust/all.h"

#endif
