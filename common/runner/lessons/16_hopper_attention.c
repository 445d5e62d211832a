/**
 * @file 16_hopper_attention.c
 * @brief Lesson 16: from an item to calls of the entry points of `hopper_attention.h`.
 */
#include "runner/attention_call.h"

enum { PART_F16, PART_BF16 };

#include "hopper_attention.h"
#include "runner/runner.h"

enum kernel_status lesson_call(const struct wire_case *item, void *const *buffers, cudaStream_t stream)
{
    struct attention_args args;
    attention_args_of(item, buffers, &args);
    const struct attention_args *given = item->value[AT_NULL_ARGS] ? NULL : &args;
    return item->part == PART_F16 ? hopper_attention_f16(given, stream)
                                  : hopper_attention_bf16(given, stream);
}

/* There is no function to ask: none is needed, at any length. */
size_t lesson_workspace_bytes(const struct wire_case *item)
{
    (void)item;
    return 0;
}
