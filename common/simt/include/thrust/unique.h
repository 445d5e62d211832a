/**
 * @file unique.h
 * @brief A header of Thrust: see simt/thrust/.
 */
#ifndef WARPWISE_SIMT_THRUST_UNIQUE_HEADER
#define WARPWISE_SIMT_THRUST_UNIQUE_HEADER

#include "../simt/thrust/all.h"

#endif
