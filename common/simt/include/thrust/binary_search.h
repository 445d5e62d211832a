/**
 * @file binary_search.h
 * @brief A header of Thrust: see simt/thrust/.
 */
#ifndef WARPWISE_SIMT_THRUST_BINARY_SEARCH_HEADER
#define WARPWISE_SIMT_THRUST_BINARY_SEARCH_HEADER

#include "../simt/thrust/all.h"

#endif
