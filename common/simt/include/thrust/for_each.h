/**
 * @file for_each.h
 * @brief A header of Thrust: see simt/thrust/.
 */
#ifndef WARPWISE_SIMT_THRUST_FOR_EACH_HEADER
#define WARPWISE_SIMT_THRUST_FOR_EACH_HEADER

#include "../simt/thrust/all.h"

#endif
