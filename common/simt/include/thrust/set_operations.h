/**
 * @file set_operations.h
 * @brief A header of Thrust: see simt/thrust/.
 */
#ifndef WARPWISE_SIMT_THRUST_SET_OPERATIONS_HEADER
#define WARPWISE_SIMT_THRUST_SET_OPERATIONS_HEADER

#include "../simt/thrust/all.h"

#endif
