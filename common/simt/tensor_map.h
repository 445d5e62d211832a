/**
 * @file tensor_map.h
 * @brief What the 128 bytes of a CUtensorMap hold on this device: written by cuTensorMapEncodeTiled, read by tensor copies.
 */
#pragma once

#include <stdint.h>

enum { TENSOR_RANK = 5, TENSOR_MAP_BYTES = 128, TENSOR_MAP_ALIGNMENT = 64, MOST_BOX = 256, MOST_STEP = 8 };
#define STRIDE_LIMIT (UINT64_C(1) << 40)
#define TENSOR_MAP_MARK UINT64_C(0x70616d5f74746d73)

/** @brief A box of a tensor of global memory. Axis 0 has the elements that lie side by side. */
struct tensor_map {
    uint64_t mark;
    uint64_t base;                    /**< address */
    uint64_t stride[TENSOR_RANK - 1]; /**< bytes, of axes 1 and up */
    uint32_t last[TENSOR_RANK];       /**< index of the last element: sizes go up to 2^32 */
    uint16_t box[TENSOR_RANK];
    uint8_t step[TENSOR_RANK]; /**< every so many elements of the box's extent is taken, on axes 1 and up */
    uint8_t rank;
    uint8_t type;    /**< CUtensorMapDataType */
    uint8_t bytes;   /**< of an element */
    uint8_t swizzle; /**< bytes of its span: 32, 64, 128; 0: none */
    uint8_t nan;     /**< elements out of range are NaN; else 0 */
    uint8_t flush;   /**< subnormal floats become 0 */
};
