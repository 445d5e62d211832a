/**
 * @file config.cuh
 * @brief A header of CUB: see simt/cub/.
 */
#ifndef WARPWISE_SIMT_CUB_CONFIG_CUH
#define WARPWISE_SIMT_CUB_CONFIG_CUH

#include "../simt/cub/device.h"

#endif
