/**
 * @file attention.c
 * @brief From an item to the entry points of an attention lesson, compiled once a lesson: LESSON_HEADER is its contract.
 */
#include LESSON_HEADER

#include "runner/attention_call.h"
#include "runner/runner.h"

enum kernel_status lesson_call(const struct wire_case *item, void *const *buffers, cudaStream_t stream)
{
    struct attention_args filled;
    attention_args_of(item, buffers, &filled);
    /* What entry points call their parameters; no lesson has all. */
    const struct attention_args *args = item->value[AT_NULL_ARGS] ? NULL : &filled;
    float *scores = buffers[ATTENTION_MATRIX];
    const float *probs = scores;
    unsigned seed = (unsigned)item->value[AT_SEED];
    (void)probs;
    (void)seed;
#include "runner/dispatch.h"
    return KERNEL_INVALID_CONFIG;
}

size_t lesson_workspace_bytes(const struct wire_case *item)
{
    struct attention_args filled;
    void *const none[WIRE_BUFFERS] = {0};
    attention_args_of(item, none, &filled);
    const struct attention_args *args = item->value[AT_NULL_ARGS] ? NULL : &filled;
    (void)args;
#include "runner/dispatch_workspace.h"
    return 0; /* there is no function to ask: none is needed */
}
