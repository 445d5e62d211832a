/**
 * @file 14_attention_backward.c
 * @brief Lesson 14: from an item to calls of the entry points of `attention_backward.h`.
 */
#include "attention_backward.h"

#include "protocol/backward_items.h"
#include "protocol/wire.h"
#include "runner/runner.h"

static void *wanted(const struct wire_case *item, void *const *buffers, int index)
{
    return item->value[BW_OMITTED] >> index & 1 ? NULL : buffers[index];
}

static void args_of(const struct wire_case *item, void *const *buffers, struct attention_backward_args *args)
{
    const int64_t *value = item->value;
    *args = (struct attention_backward_args){
        .batch = (int)value[BW_BATCH],
        .heads = (int)value[BW_HEADS],
        .kv_heads = (int)value[BW_KV_HEADS],
        .q_len = (int)value[BW_Q_LEN],
        .kv_len = (int)value[BW_KV_LEN],
        .head_dim = (int)value[BW_HEAD_DIM],
        .scale = (float)item->real[0],
        .causal = (int)value[BW_CAUSAL],
        .deterministic = (int)value[BW_IS_DETERMINISTIC],
        .dtype = (enum dtype)value[BW_DTYPE],
        .q = buffers[BW_Q],
        .k = buffers[BW_K],
        .v = buffers[BW_V],
        .out = buffers[BW_OUT],
        .dout = buffers[BW_DOUT],
        .lse = buffers[BW_LSE],
        .dq = wanted(item, buffers, BW_DQ),
        .dk = wanted(item, buffers, BW_DK),
        .dv = wanted(item, buffers, BW_DV),
        .workspace = buffers[BW_WORKSPACE],
        .workspace_bytes = (size_t)item->buffer[BW_WORKSPACE].bytes,
    };
}

enum kernel_status lesson_call(const struct wire_case *item, void *const *buffers, cudaStream_t stream)
{
    struct attention_backward_args args;
    args_of(item, buffers, &args);
    const struct attention_backward_args *given = item->value[BW_NULL_ARGS] ? NULL : &args;
    switch (item->value[BW_ENTRY]) {
    case DTYPE_F32:
        return attention_backward_f32(given, stream);
    case DTYPE_F16:
        return attention_backward_f16(given, stream);
    default:
        return attention_backward_bf16(given, stream);
    }
}

size_t lesson_workspace_bytes(const struct wire_case *item)
{
    static char somewhere[1];
    void *pointers[BW_BUFFERS] = {0}; /* looked at by nobody, but for dq: is it wanted? */
    pointers[BW_DQ] = somewhere;
    struct attention_backward_args args;
    args_of(item, pointers, &args);
    return attention_backward_workspace_bytes(item->value[BW_NULL_ARGS] ? NULL : &args);
}
