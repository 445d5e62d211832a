/**
 * @file config.h
 * @brief A header of Thrust: see simt/thrust/.
 */
#ifndef WARPWISE_SIMT_THRUST_DETAIL_CONFIG_HEADER
#define WARPWISE_SIMT_THRUST_DETAIL_CONFIG_HEADER

#include "../../simt/thrust/all.h"

#endif
