/**
 * @file transform_reduce.h
 * @brief A header of Thrust: see simt/thrust/.
 */
#ifndef WARPWISE_SIMT_THRUST_TRANSFORM_REDUCE_HEADER
#define WARPWISE_SIMT_THRUST_TRANSFORM_REDUCE_HEADER

#include "../simt/thrust/all.h"

#endif
