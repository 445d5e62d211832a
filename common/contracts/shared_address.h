/**
 * @file shared_address.h
 * @brief Where something lies within shared memory: inline PTX names it by 32 bits.
 */
#ifndef WARPWISE_SHARED_ADDRESS_H
#define WARPWISE_SHARED_ADDRESS_H

#include <cuda_runtime.h>
#include <stdint.h>

/** @brief The address of @p pointer within shared memory, as instructions with `.shared` take it. */
__device__ inline uint32_t shared_address(const void *pointer)
{
    return (uint32_t)__cvta_generic_to_shared(pointer);
}

#endif
