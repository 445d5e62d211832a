/**
 * @file fill.h
 * @brief A header of Thrust: see simt/thrust/.
 */
#ifndef WARPWISE_SIMT_THRUST_FILL_HEADER
#define WARPWISE_SIMT_THRUST_FILL_HEADER

#include "../simt/thrust/all.h"

#endif
