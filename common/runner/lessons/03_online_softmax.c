/**
 * @file 03_online_softmax.c
 * @brief Lesson 03: from an item to calls of the entry points of `online_softmax.h`.
 */
#include "runner/attention_call.h"
#include "protocol/online_softmax_items.h"

#include "online_softmax.h"
#include "runner/runner.h"

enum kernel_status lesson_call(const struct wire_case *item, void *const *buffers, cudaStream_t stream)
{
    if (item->part == PART_MERGE)
        return online_softmax_merge_f32(buffers[MERGE_A], buffers[MERGE_B], buffers[MERGE_OUT],
                                        (int)item->value[ON_COUNT], stream);
    if (item->part == PART_ROWS)
        return online_softmax_rows_f32(buffers[ROWS_IN], buffers[ROWS_OUT], buffers[ROWS_LSE],
                                       (int)item->value[ON_ROWS], (int)item->value[ON_COLS], stream);
    struct attention_args args;
    attention_args_of(item, buffers, &args);
    return online_softmax_attention_f32(item->value[AT_NULL_ARGS] ? NULL : &args, stream);
}

/* No part of this lesson takes a workspace. */
size_t lesson_workspace_bytes(const struct wire_case *item)
{
    (void)item;
    return 0;
}
