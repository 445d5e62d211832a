/**
 * @file block_histogram.cuh
 * @brief A header of CUB: see simt/cub/.
 */
#ifndef WARPWISE_SIMT_CUB_BLOCK_BLOCK_HISTOGRAM_CUH
#define WARPWISE_SIMT_CUB_BLOCK_BLOCK_HISTOGRAM_CUH

#include "../../simt/cub/device.h"

#endif
