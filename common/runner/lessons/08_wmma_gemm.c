/**
 * @file 08_wmma_gemm.c
 * @brief Lesson 08: from an item to calls of the entry points of `wmma_gemm.h`.
 */
#include "runner/gemm_call.h"

#include "runner/runner.h"
#include "wmma_gemm.h"

enum kernel_status lesson_call(const struct wire_case *item, void *const *buffers, cudaStream_t stream)
{
    struct gemm_args args;
    gemm_args_of(item, buffers, &args);
    return wmma_gemm(item->value[GEMM_NULL_ARGS] ? NULL : &args, stream);
}

/* No workspace. */
size_t lesson_workspace_bytes(const struct wire_case *item)
{
    (void)item;
    return 0;
}
