/**
 * @file util_ptx.cuh
 * @brief A header of CUB: see simt/cub/.
 */
#ifndef WARPWISE_SIMT_CUB_UTIL_PTX_CUH
#define WARPWISE_SIMT_CUB_UTIL_PTX_CUH

#include "../simt/cub/device.h"

#endif
