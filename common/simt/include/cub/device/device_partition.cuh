/**
 * @file device_partition.cuh
 * @brief A header of CUB: see simt/cub/.
 */
#ifndef WARPWISE_SIMT_CUB_DEVICE_DEVICE_PARTITION_CUH
#define WARPWISE_SIMT_CUB_DEVICE_DEVICE_PARTITION_CUH

#include "../../simt/cub/device.h"

#endif
