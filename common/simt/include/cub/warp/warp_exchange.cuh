/**
 * @file warp_exchange.cuh
 * @brief A header of CUB: see simt/cub/.
 */
#ifndef WARPWISE_SIMT_CUB_WARP_WARP_EXCHANGE_CUH
#define WARPWISE_SIMT_CUB_WARP_WARP_EXCHANGE_CUH

#include "../../simt/cub/device.h"

#endif
