/**
 * @file gemm.c
 * @brief From an item to the entry points of a lesson on matrix products, compiled once a lesson: LESSON_HEADER is its
 *        contract.
 */
#include LESSON_HEADER

#include "runner/gemm_call.h"
#include "runner/runner.h"

enum kernel_status lesson_call(const struct wire_case *item, void *const *buffers, cudaStream_t stream)
{
    struct gemm_args filled;
    gemm_args_of(item, buffers, &filled);
    /* What entry points call their parameters; no lesson has all. */
    const struct gemm_args *args = item->value[GEMM_NULL_ARGS] ? NULL : &filled;
    int tile = (int)item->value[GEMM_CHOICE];
    (void)tile;
#include "runner/dispatch.h"
    return KERNEL_INVALID_CONFIG;
}

/* No workspace. */
size_t lesson_workspace_bytes(const struct wire_case *item)
{
    (void)item;
    return 0;
}
