/**
 * @file 05_flash_attention_2.c
 * @brief Lesson 05: from an item to calls of the entry points of `flash_attention_2.h`.
 */
#include "runner/attention_call.h"

enum { PART_F32, PART_F16 };

#include "flash_attention_2.h"
#include "runner/runner.h"

enum kernel_status lesson_call(const struct wire_case *item, void *const *buffers, cudaStream_t stream)
{
    struct attention_args args;
    attention_args_of(item, buffers, &args);
    const struct attention_args *given = item->value[AT_NULL_ARGS] ? NULL : &args;
    return item->part == PART_F32 ? flash_attention_2_f32(given, stream)
                                  : flash_attention_2_f16(given, stream);
}

/* There is no function to ask: none is needed, at any length. */
size_t lesson_workspace_bytes(const struct wire_case *item)
{
    (void)item;
    return 0;
}
