/**
 * @file gpu.c
 * @brief libwarpwise on a GPU: calls the lessons' entry points, with device pointers, on the caller's stream.
 */
#include "choice.h"
#include "entry.h"

enum kernel_status warpwise_attention(const struct attention_args *args, void *stream)
{
    if (args == NULL) return KERNEL_INVALID_CONFIG;
    return attention_lesson(args) == LESSON_05 ? enter_05(args, (cudaStream_t)stream)
                                               : enter_12(args, (cudaStream_t)stream);
}

enum kernel_status warpwise_attention_backward(const struct attention_backward_args *args, void *stream)
{
    if (args == NULL) return KERNEL_INVALID_CONFIG;
    return enter_14(args, (cudaStream_t)stream);
}

size_t warpwise_attention_backward_workspace_bytes(const struct attention_backward_args *args)
{
    return attention_backward_workspace_bytes(args);
}

enum kernel_status warpwise_gemm(const struct gemm_args *args, enum warpwise_precision precision,
                                 void *stream)
{
    enum lesson lesson = gemm_lesson(precision);
    if (args == NULL || lesson == LESSON_COUNT) return KERNEL_INVALID_CONFIG;
    return lesson == LESSON_10 ? enter_10(args, (cudaStream_t)stream) : enter_15(args, (cudaStream_t)stream);
}

const char *warpwise_device(void)
{
    return "gpu";
}

const char *warpwise_status_name(enum kernel_status status)
{
    return kernel_status_name(status);
}

const char *warpwise_report(void)
{
    return "";
}
