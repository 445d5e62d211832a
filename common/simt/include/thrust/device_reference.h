/**
 * @file device_reference.h
 * @brief A header of Thrust: see simt/thrust/.
 */
#ifndef WARPWISE_SIMT_THRUST_DEVICE_REFERENCE_HEADER
#define WARPWISE_SIMT_THRUST_DEVICE_REFERENCE_HEADER

#include "../simt/thrust/all.h"

#endif
