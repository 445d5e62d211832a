/**
 * @file block_exchange.cuh
 * @brief A header of CUB: see simt/cub/.
 */
#ifndef WARPWISE_SIMT_CUB_BLOCK_BLOCK_EXCHANGE_CUH
#define WARPWISE_SIMT_CUB_BLOCK_BLOCK_EXCHANGE_CUH

#include "../../simt/cub/device.h"

#endif
