/**
 * @file 16_hopper_attention.c
 * @brief Lesson 16: from an item to calls of the entry points of `hopper_attention.h`.
 */
#include "runner/attention_call.h"

enum { PART_F16, PART_BF16, PART_FP8 };

#include "hopper_attention.h"
#include "runner/runner.h"

enum kernel_status lesson_call(const struct wire_case *item, void *const *buffers, cudaStream_t stream)
{
    struct attention_args args;
    attention_args_of(item, buffers, &args);
    const struct attention_args *given = item->value[AT_NULL_ARGS] ? NULL : &args;
    if (item->part == PART_FP8) return hopper_attention_fp8(given, (unsigned)item->value[AT_SEED], stream);
    return item->part == PART_F16 ? hopper_attention_f16(given, stream)
                                  : hopper_attention_bf16(given, stream);
}

/* There is no function to ask but for part "fp8": none is needed, at any length. */
size_t lesson_workspace_bytes(const struct wire_case *item)
{
    struct attention_args args;
    void *const none[WIRE_BUFFERS] = {0};
    if (item->part != PART_FP8) return 0;
    attention_args_of(item, none, &args);
    return hopper_attention_fp8_workspace_bytes(item->value[AT_NULL_ARGS] ? NULL : &args);
}
