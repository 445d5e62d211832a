/**
 * @file error_code.h
 * @brief A header of Thrust: see simt/thrust/.
 */
#ifndef WARPWISE_SIMT_THRUST_SYSTEM_ERROR_CODE_HEADER
#define WARPWISE_SIMT_THRUST_SYSTEM_ERROR_CODE_HEADER

#include "../../simt/thrust/all.h"

#endif
