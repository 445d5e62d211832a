/**
 * @file gpu.c
 * @brief libwarpwise on a GPU: calls the lessons' entry points, with device pointers, on the caller's stream.
 */
#include "choice.h"
#include "entry.h"

static const struct lesson_entry *const entry_of[LESSONS_END] = {[5] = &lesson_entry_05,
                                                                 [10] = &lesson_entry_10,
                                                                 [12] = &lesson_entry_12,
                                                                 [14] = &lesson_entry_14,
                                                                 [15] = &lesson_entry_15};

enum kernel_status warpwise_attention(const struct attention_args *args, void *stream)
{
    if (args == NULL) return KERNEL_INVALID_CONFIG;
    return entry_of[attention_lesson(args)]->call(args, args->dtype, (cudaStream_t)stream);
}

enum kernel_status warpwise_attention_backward(const struct attention_backward_args *args, void *stream)
{
    if (args == NULL) return KERNEL_INVALID_CONFIG;
    return entry_of[BACKWARD_LESSON]->call(args, args->dtype, (cudaStream_t)stream);
}

size_t warpwise_attention_backward_workspace_bytes(const struct attention_backward_args *args)
{
    return entry_of[BACKWARD_LESSON]->workspace_bytes(args);
}

enum kernel_status warpwise_gemm(const struct gemm_args *args, enum warpwise_precision precision,
                                 void *stream)
{
    int lesson = gemm_lesson(precision);
    if (args == NULL || lesson == 0) return KERNEL_INVALID_CONFIG;
    return entry_of[lesson]->call(args, args->dtype_in, (cudaStream_t)stream);
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
