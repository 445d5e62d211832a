/**
 * @file warp_reduce.cuh
 * @brief A header of CUB: see simt/cub/.
 */
#ifndef WARPWISE_SIMT_CUB_WARP_WARP_REDUCE_CUH
#define WARPWISE_SIMT_CUB_WARP_WARP_REDUCE_CUH

#include "../../simt/cub/device.h"

#endif
