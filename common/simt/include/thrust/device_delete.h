/**
 * @file device_delete.h
 * @brief A header of Thrust: see simt/thrust/.
 */
#ifndef WARPWISE_SIMT_THRUST_DEVICE_DELETE_HEADER
#define WARPWISE_SIMT_THRUST_DEVICE_DELETE_HEADER

#include "../simt/thrust/all.h"

#endif
