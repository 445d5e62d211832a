/**
 * @file warp_scan.cuh
 * @brief A header of CUB: see simt/cub/.
 */
#ifndef WARPWISE_SIMT_CUB_WARP_WARP_SCAN_CUH
#define WARPWISE_SIMT_CUB_WARP_WARP_SCAN_CUH

#include "../../simt/cub/device.h"

#endif
