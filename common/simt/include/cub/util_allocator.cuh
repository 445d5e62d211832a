/**
 * @file util_allocator.cuh
 * @brief A header of CUB: see simt/cub/.
 */
#ifndef WARPWISE_SIMT_CUB_UTIL_ALLOCATOR_CUH
#define WARPWISE_SIMT_CUB_UTIL_ALLOCATOR_CUH

#include "../simt/cub/device.h"

#endif
