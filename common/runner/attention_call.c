/**
 * @file attention_call.c
 * @brief Runner's side of the attention lessons: an item's numbers become struct attention_args.
 */
#include "attention_call.h"

void attention_args_of(const struct wire_case *item, void *const *buffers, struct attention_args *args)
{
    const int64_t *value = item->value;
    *args = (struct attention_args){
        .batch = (int)value[AT_BATCH],
        .heads = (int)value[AT_HEADS],
        .kv_heads = (int)value[AT_KV_HEADS],
        .q_len = (int)value[AT_Q_LEN],
        .kv_len = (int)value[AT_KV_LEN],
        .head_dim = (int)value[AT_HEAD_DIM],
        .scale = (float)item->real[AT_SCALE],
        .causal = (int)value[AT_CAUSAL],
        .dtype = (enum dtype)value[AT_DTYPE],
        .q = buffers[ATTENTION_Q],
        .k = buffers[ATTENTION_K],
        .v = buffers[ATTENTION_V],
        .out = buffers[ATTENTION_OUT],
        .lse = buffers[ATTENTION_LSE],
        .workspace = buffers[ATTENTION_WORKSPACE],
        .workspace_bytes = item->buffer[ATTENTION_WORKSPACE].bytes,
    };
}
