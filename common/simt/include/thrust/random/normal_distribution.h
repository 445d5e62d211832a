/**
 * @file normal_distribution.h
 * @brief A header of Thrust: see simt/thrust/.
 */
#ifndef WARPWISE_SIMT_THRUST_RANDOM_NORMAL_DISTRIBUTION_HEADER
#define WARPWISE_SIMT_THRUST_RANDOM_NORMAL_DISTRIBUTION_HEADER

#include "../../simt/thrust/all.h"

#endif
