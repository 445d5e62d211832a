/**
 * @file vector_elements.h
 * @brief Elements as they are stored and as floats, and four floats at once.
 */
#ifndef WARPWISE_VECTOR_ELEMENTS_H
#define WARPWISE_VECTOR_ELEMENTS_H

#include <cuda_fp16.h>

/** @brief Copies four floats in one instruction; both addresses are multiples of 16 bytes. */
__device__ inline void copy_vector(float *to, const float *from)
{
    *(float4 *)to = *(const float4 *)from;
}

/** @brief One element of storage, as a float. */
__device__ inline float to_float(float x)
{
    return x;
}
/** @overload */
__device__ inline float to_float(__half x)
{
    return __half2float(x);
}

/** @brief A float becomes an element of storage. */
__device__ inline void from_float(float *to, float x)
{
    *to = x;
}
/** @brief The same for a half: rounded to nearest. */
__device__ inline void from_float(__half *to, float x)
{
    *to = __float2half(x);
}

/** @brief Loads COUNT floats that follow each other, 1, 2 or 4 of them, in one instruction. */
template <int COUNT> __device__ inline void load_floats(float *x, const float *from)
{
    if (COUNT == 4)
        *(float4 *)x = *(const float4 *)from;
    else if (COUNT == 2)
        *(float2 *)x = *(const float2 *)from;
    else
        x[0] = *from;
}

/** @brief Stores COUNT floats that follow each other, 1, 2 or 4 of them, in one instruction. */
template <int COUNT> __device__ inline void store_floats(float *to, const float *x)
{
    if (COUNT == 4)
        *(float4 *)to = *(const float4 *)x;
    else if (COUNT == 2)
        *(float2 *)to = *(const float2 *)x;
    else
        *to = x[0];
}

/** @brief Four elements that follow each other, as floats, in one instruction. */
__device__ inline float4 load_four(const float *from)
{
    return *(const float4 *)from;
}

/** @brief Stores four floats as four elements of storage, in one instruction. */
__device__ inline void store_vector(float *to, const float *from)
{
    copy_vector(to, from);
}
/** @brief The same for halves: each is rounded to nearest. */
__device__ inline void store_vector(__half *to, const float *from)
{
    alignas(8) __half x[4];
    for (int i = 0; i < 4; i++) x[i] = __float2half(from[i]);
    *(uint2 *)to = *(const uint2 *)x;
}

#endif
