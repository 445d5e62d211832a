/**
 * @file replace.h
 * @brief A header of Thrust: see simt/thrust/.
 */
#ifndef WARPWISE_SIMT_THRUST_REPLACE_HEADER
#define WARPWISE_SIMT_THRUST_REPLACE_HEADER

#include "../simt/thrust/all.h"

#endif
