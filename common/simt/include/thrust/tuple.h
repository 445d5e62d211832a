/**
 * @file tuple.h
 * @brief A header of Thrust: see simt/thrust/.
 */
#ifndef WARPWISE_SIMT_THRUST_TUPLE_HEADER
#define WARPWISE_SIMT_THRUST_TUPLE_HEADER

#include "../simt/thrust/all.h"

#endif
