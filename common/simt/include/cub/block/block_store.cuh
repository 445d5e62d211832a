/**
 * @file block_store.cuh
 * @brief A header of CUB: see simt/cub/.
 */
#ifndef WARPWISE_SIMT_CUB_BLOCK_BLOCK_STORE_CUH
#define WARPWISE_SIMT_CUB_BLOCK_BLOCK_STORE_CUH

#include "../../simt/cub/device.h"

#endif
