/**
 * @file constant_input_iterator.cuh
 * @brief A header of CUB: see simt/cub/.
 */
#ifndef WARPWISE_SIMT_CUB_ITERATOR_CONSTANT_INPUT_ITERATOR_CUH
#define WARPWISE_SIMT_CUB_ITERATOR_CONSTANT_INPUT_ITERATOR_CUH

#include "../../simt/cub/device.h"

#endif
