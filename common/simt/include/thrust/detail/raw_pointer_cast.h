/**
 * @file raw_pointer_cast.h
 * @brief A header of Thrust: see simt/thrust/.
 */
#ifndef WARPWISE_SIMT_THRUST_DETAIL_RAW_POINTER_CAST_HEADER
#define WARPWISE_SIMT_THRUST_DETAIL_RAW_POINTER_CAST_HEADER

#include "../../simt/thrust/all.h"

#endif
