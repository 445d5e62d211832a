/**
 * @file 04_flash_attention_1.c
 * @brief Lesson 04: from an item to calls of the entry points of `flash_attention_1.h`.
 */
#include "runner/attention_call.h"

enum { PART_F32, PART_F16 };

#include "flash_attention_1.h"
#include "runner/runner.h"

enum kernel_status lesson_call(const struct wire_case *item, void *const *buffers, cudaStream_t stream)
{
    struct attention_args args;
    attention_args_of(item, buffers, &args);
    const struct attention_args *given = item->value[AT_NULL_ARGS] ? NULL : &args;
    return item->part == PART_F32 ? flash_attention_1_f32(given, stream)
                                  : flash_attention_1_f16(given, stream);
}

size_t lesson_workspace_bytes(const struct wire_case *item)
{
    struct attention_args args;
    void *const none[WIRE_BUFFERS] = {0};
    attention_args_of(item, none, &args);
    return flash_attention_1_workspace_bytes(item->value[AT_NULL_ARGS] ? NULL : &args);
}
