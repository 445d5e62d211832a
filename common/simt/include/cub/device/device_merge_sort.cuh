/**
 * @file device_merge_sort.cuh
 * @brief A header of CUB: see simt/cub/.
 */
#ifndef WARPWISE_SIMT_CUB_DEVICE_DEVICE_MERGE_SORT_CUH
#define WARPWISE_SIMT_CUB_DEVICE_DEVICE_MERGE_SORT_CUH

#include "../../simt/cub/device.h"

#endif
