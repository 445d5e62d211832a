/**
 * @file attention_parts.h
 * @brief Runner's side of a lesson whose attention is three parts, scores, softmax and output, and a whole.
 */
#ifndef WARPWISE_RUNNER_ATTENTION_PARTS_H
#define WARPWISE_RUNNER_ATTENTION_PARTS_H

#include "attention_call.h"
#include "runner.h"

/** @brief The student's entry points. */
struct attention_parts {
    enum kernel_status (*scores)(const struct attention_args *args, float *scores, cudaStream_t stream);
    enum kernel_status (*softmax)(const struct attention_args *args, float *scores, cudaStream_t stream);
    enum kernel_status (*output)(const struct attention_args *args, const float *probs, cudaStream_t stream);
    enum kernel_status (*whole)(const struct attention_args *args, cudaStream_t stream);
    size_t (*workspace_bytes)(const struct attention_args *args);
};

/** @brief What lesson_call() is to do: calls the entry point that @p item asks for; returns its status. */
enum kernel_status attention_parts_call(const struct attention_parts *parts, const struct wire_case *item,
                                        void *const *buffers, cudaStream_t stream);

/** @brief What lesson_workspace_bytes() is to do: the workspace that the student asks for. */
size_t attention_parts_workspace_bytes(const struct attention_parts *parts, const struct wire_case *item);

#endif
