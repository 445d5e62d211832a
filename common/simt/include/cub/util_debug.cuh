/**
 * @file util_debug.cuh
 * @brief A header of CUB: see simt/cub/.
 */
#ifndef WARPWISE_SIMT_CUB_UTIL_DEBUG_CUH
#define WARPWISE_SIMT_CUB_UTIL_DEBUG_CUH

#include "../simt/cub/device.h"

#endif
