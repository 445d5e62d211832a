/**
 * @file device_run_length_encode.cuh
 * @brief A header of CUB: see simt/cub/.
 */
#ifndef WARPWISE_SIMT_CUB_DEVICE_DEVICE_RUN_LENGTH_ENCODE_CUH
#define WARPWISE_SIMT_CUB_DEVICE_DEVICE_RUN_LENGTH_ENCODE_CUH

#include "../../simt/cub/device.h"

#endif
