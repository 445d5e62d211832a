/**
 * @file cub.cuh
 * @brief A header of CUB: see simt/cub/.
 */
#ifndef WARPWISE_SIMT_CUB_CUB_CUH
#define WARPWISE_SIMT_CUB_CUB_CUH

#include "../simt/cub/device.h"

#endif
