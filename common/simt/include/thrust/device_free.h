/**
 * @file device_free.h
 * @brief A header of Thrust: see simt/thrust/.
 */
#ifndef WARPWISE_SIMT_THRUST_DEVICE_FREE_HEADER
#define WARPWISE_SIMT_THRUST_DEVICE_FREE_HEADER

#include "../simt/thrust/all.h"

#endif
