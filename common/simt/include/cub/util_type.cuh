/**
 * @file util_type.cuh
 * @brief A header of CUB: see simt/cub/.
 */
#ifndef WARPWISE_SIMT_CUB_UTIL_TYPE_CUH
#define WARPWISE_SIMT_CUB_UTIL_TYPE_CUH

#include "../simt/cub/device.h"

#endif
