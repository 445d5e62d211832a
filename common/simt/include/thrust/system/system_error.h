/**
 * @file system_error.h
 * @brief A header of Thrust: see simt/thrust/.
 */
#ifndef WARPWISE_SIMT_THRUST_SYSTEM_SYSTEM_ERROR_HEADER
#define WARPWISE_SIMT_THRUST_SYSTEM_SYSTEM_ERROR_HEADER

#include "../../simt/thrust/all.h"

#endif
