/**
 * @file device_scan.cuh
 * @brief A header of CUB: see simt/cub/.
 */
#ifndef WARPWISE_SIMT_CUB_DEVICE_DEVICE_SCAN_CUH
#define WARPWISE_SIMT_CUB_DEVICE_DEVICE_SCAN_CUH

#include "../../simt/cub/device.h"

#endif
