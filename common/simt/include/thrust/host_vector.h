/**
 * @file host_vector.h
 * @brief A header of Thrust: see simt/thrust/.
 */
#ifndef WARPWISE_SIMT_THRUST_HOST_VECTOR_HEADER
#define WARPWISE_SIMT_THRUST_HOST_VECTOR_HEADER

#include "../simt/thrust/all.h"

#endif
