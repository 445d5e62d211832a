/**
 * @file device_radix_sort.cuh
 * @brief A header of CUB: see simt/cub/.
 */
#ifndef WARPWISE_SIMT_CUB_DEVICE_DEVICE_RADIX_SORT_CUH
#define WARPWISE_SIMT_CUB_DEVICE_DEVICE_RADIX_SORT_CUH

#include "../../simt/cub/device.h"

#endif
