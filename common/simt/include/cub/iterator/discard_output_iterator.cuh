/**
 * @file discard_output_iterator.cuh
 * @brief A header of CUB: see simt/cub/.
 */
#ifndef WARPWISE_SIMT_CUB_ITERATOR_DISCARD_OUTPUT_ITERATOR_CUH
#define WARPWISE_SIMT_CUB_ITERATOR_DISCARD_OUTPUT_ITERATOR_CUH

#include "../../simt/cub/device.h"

#endif
