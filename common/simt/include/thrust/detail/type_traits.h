/**
 * @file type_traits.h
 * @brief A header of Thrust: see simt/thrust/.
 */
#ifndef WARPWISE_SIMT_THRUST_DETAIL_TYPE_TRAITS_HEADER
#define WARPWISE_SIMT_THRUST_DETAIL_TYPE_TRAITS_HEADER

#include "../../simt/thrust/all.h"

#endif
