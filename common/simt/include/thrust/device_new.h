/**
 * @file device_new.h
 * @brief A header of Thrust: see simt/thrust/.
 */
#ifndef WARPWISE_SIMT_THRUST_DEVICE_NEW_HEADER
#define WARPWISE_SIMT_THRUST_DEVICE_NEW_HEADER

#include "../simt/thrust/all.h"

#endif
