/**
 * @file pair.h
 * @brief A header of Thrust: see simt/thrust/.
 */
#ifndef WARPWISE_SIMT_THRUST_PAIR_HEADER
#define WARPWISE_SIMT_THRUST_PAIR_HEADER

#include "../simt/thrust/all.h"

#endif
