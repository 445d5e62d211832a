/**
 * @file adjacent_difference.h
 * @brief A header of Thrust: see simt/thrust/.
 */
#ifndef WARPWISE_SIMT_THRUST_ADJACENT_DIFFERENCE_HEADER
#define WARPWISE_SIMT_THRUST_ADJACENT_DIFFERENCE_HEADER

#include "../simt/thrust/all.h"

#endif
