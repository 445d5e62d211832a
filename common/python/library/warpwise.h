/**
 * @file warpwise.h
 * @brief libwarpwise: the course's attention and matrix product for programs in other languages.
 *
 * There are two libraries with these functions. libwarpwise_gpu.so takes device pointers and launches on the caller's stream.
 * libwarpwise_simt.so takes host pointers and has the software device compute in a process of its own; when a function
 * returns, its outputs are written. Both check their arguments as the lessons' contracts say, and a status other than
 * ::KERNEL_OK means that no output was touched, except ::KERNEL_CUDA_ERROR from the software device: see warpwise_report().
 *
 * A GPU and the software device share this header, so a binding that works with one works with the other.
 */
#pragma once

#include <stddef.h>

#include "attention_args.h"
#include "attention_backward_args.h"
#include "gemm_args.h"

#ifdef __cplusplus
extern "C" {
#endif

/** @brief How a product multiplies and adds. */
enum warpwise_precision {
    WARPWISE_PRECISION_FLOAT32 = 0, /**< on CUDA cores, products and sums in float: lesson 10; f32 and f16 */
    WARPWISE_PRECISION_TENSOR = 1   /**< on Hopper's tensor cores, sums in float: lesson 15; f16 and bf16 */
};

/**
 * @brief Attention: lesson 05 for f32, and for f16 if head_dim is 32; lesson 12 for all other f16 and bf16.
 * @param args   as attention_args.h says; q, k, v and out are multiples of 16 bytes
 * @param stream a cudaStream_t; the software device does not look at it
 * @return what the lesson's contract says
 */
enum kernel_status warpwise_attention(const struct attention_args *args, void *stream);

/** @brief The gradients of attention: lesson 14. @param args as attention_backward_args.h says @param stream as above */
enum kernel_status warpwise_attention_backward(const struct attention_backward_args *args, void *stream);

/** @brief Bytes of workspace that warpwise_attention_backward() needs; 0 for extents that it refuses. */
size_t warpwise_attention_backward_workspace_bytes(const struct attention_backward_args *args);

/** @brief C = alpha op(A) op(B) + beta C. @param args as gemm_args.h says @param precision which kernel @param stream as above */
enum kernel_status warpwise_gemm(const struct gemm_args *args, enum warpwise_precision precision,
                                 void *stream);

/** @brief "gpu" or "simt". */
const char *warpwise_device(void);

/** @brief The name of @p status as kernel_status.h spells it. */
const char *warpwise_status_name(enum kernel_status status);

/** @brief What the software device wrote about this thread's last call: its findings, or why it could not start. Never NULL. */
const char *warpwise_report(void);

#ifdef __cplusplus
}
#endif
