/**
 * @file device_ptr.h
 * @brief A header of Thrust: see simt/thrust/.
 */
#ifndef WARPWISE_SIMT_THRUST_DEVICE_PTR_HEADER
#define WARPWISE_SIMT_THRUST_DEVICE_PTR_HEADER

#include "../simt/thrust/all.h"

#endif
