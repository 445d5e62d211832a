/**
 * @file functional.h
 * @brief A header of Thrust: see simt/thrust/.
 */
#ifndef WARPWISE_SIMT_THRUST_FUNCTIONAL_HEADER
#define WARPWISE_SIMT_THRUST_FUNCTIONAL_HEADER

#include "../simt/thrust/all.h"

#endif
