/**
 * @file entry.h
 * @brief Calls the entry point of a lesson that fits the storage type. Whoever includes it links the lessons that it calls.
 */
#pragma once

#include <cuda_runtime_api.h>

#include "attention_backward.h"
#include "flash_attention_2.h"
#include "hopper_gemm.h"
#include "register_tiled_gemm.h"
#include "tensor_core_attention.h"

/** @brief Lesson 05. */
static inline enum kernel_status enter_05(const struct attention_args *args, cudaStream_t stream)
{
    return args->dtype == DTYPE_F32 ? flash_attention_2_f32(args, stream)
                                    : flash_attention_2_f16(args, stream);
}

/** @brief Lesson 12. */
static inline enum kernel_status enter_12(const struct attention_args *args, cudaStream_t stream)
{
    return args->dtype == DTYPE_F16 ? tensor_core_attention_f16(args, stream)
                                    : tensor_core_attention_bf16(args, stream);
}

/** @brief Lesson 14. */
static inline enum kernel_status enter_14(const struct attention_backward_args *args, cudaStream_t stream)
{
    switch (args->dtype) {
    case DTYPE_F32:
        return attention_backward_f32(args, stream);
    case DTYPE_F16:
        return attention_backward_f16(args, stream);
    default: /* refuses what is none of the three */
        return attention_backward_bf16(args, stream);
    }
}

/** @brief Lesson 10. */
static inline enum kernel_status enter_10(const struct gemm_args *args, cudaStream_t stream)
{
    return args->dtype_in == DTYPE_F32 ? register_tiled_gemm_f32(args, GEMM_TILE_AUTO, stream)
                                       : register_tiled_gemm_f16(args, GEMM_TILE_AUTO, stream);
}

/** @brief Lesson 15. */
static inline enum kernel_status enter_15(const struct gemm_args *args, cudaStream_t stream)
{
    return args->dtype_in == DTYPE_F16 ? hopper_gemm_f16(args, stream) : hopper_gemm_bf16(args, stream);
}
