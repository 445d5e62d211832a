/**
 * @file 06_paged_attention.c
 * @brief Lesson 06: from an item to calls of the entry points of `paged_attention.h`.
 */
#include "contracts/paged_attention_args.h"
#include "protocol/paged_items.h"
#include "protocol/wire.h"

#include "paged_attention.h"
#include "runner/runner.h"

/* A cache of which only the last pages are there begins where nothing is: an address, to be computed with. */
static const void *cache_of(const struct wire_case *item, const unsigned char *pages)
{
    const int64_t *value = item->value;
    int64_t page_bytes = 2 * value[PA_BLOCK_SIZE] * value[PA_KV_HEADS] * value[PA_HEAD_DIM];
    if (pages == NULL || value[PA_FIRST_PAGE] == 0) return pages;
    return (const void *)((uintptr_t)pages - (uintptr_t)(value[PA_FIRST_PAGE] * page_bytes));
}

static void args_of(const struct wire_case *item, void *const *buffers, struct paged_attention_args *args)
{
    const int64_t *value = item->value;
    size_t workspace = (size_t)item->buffer[PA_WORKSPACE].bytes;
    size_t shortage = (size_t)value[PA_WORKSPACE_SHORTAGE];
    *args = (struct paged_attention_args){
        .batch = (int)value[PA_BATCH],
        .heads = (int)value[PA_HEADS],
        .kv_heads = (int)value[PA_KV_HEADS],
        .head_dim = (int)value[PA_HEAD_DIM],
        .num_blocks = (int)value[PA_NUM_BLOCKS],
        .block_size = (int)value[PA_BLOCK_SIZE],
        .max_blocks = (int)value[PA_MAX_BLOCKS],
        .max_context_len = (int)value[PA_MAX_CONTEXT_LEN],
        .scale = (float)item->real[0],
        .dtype = (enum dtype)value[PA_DTYPE],
        .q = buffers[PA_Q],
        .k_cache = cache_of(item, buffers[PA_K]),
        .v_cache = cache_of(item, buffers[PA_V]),
        .block_table = buffers[PA_TABLE],
        .context_lens = buffers[PA_LENS],
        .alibi_slopes = buffers[PA_SLOPES],
        .out = buffers[PA_OUT],
        .device_status = buffers[PA_STATUS],
        .workspace = buffers[PA_WORKSPACE],
        .workspace_bytes = workspace > shortage ? workspace - shortage : 0,
    };
}

static enum kernel_status call_part(const struct wire_case *item, const struct paged_attention_args *args,
                                    cudaStream_t stream)
{
    if (item->part == PART_VALIDATE) return paged_attention_validate(args, stream);
    if (item->value[PA_VALIDATE_FIRST]) {
        enum kernel_status status = paged_attention_validate(args, stream);
        if (status != KERNEL_OK) return status;
    }
    return item->part == PART_V1 ? paged_attention_v1_f16(args, stream)
                                 : paged_attention_v2_f16(args, stream);
}

/** What calls that are captured need to be made. */
struct captured {
    const struct wire_case *item;
    const struct paged_attention_args *args;
};

static enum kernel_status call_captured(void *context, cudaStream_t stream)
{
    const struct captured *c = context;
    return call_part(c->item, c->args, stream);
}

enum kernel_status lesson_call(const struct wire_case *item, void *const *buffers, cudaStream_t stream)
{
    struct paged_attention_args args;
    args_of(item, buffers, &args);
    const struct paged_attention_args *given = item->value[PA_NULL_ARGS] ? NULL : &args;
    struct captured captured = {item, given};
    return item->value[PA_CAPTURED] ? captured_call(call_captured, &captured, stream)
                                    : call_part(item, given, stream);
}

size_t lesson_workspace_bytes(const struct wire_case *item)
{
    static void *const none[PA_BUFFERS];
    struct paged_attention_args args;
    args_of(item, none, &args);
    const struct paged_attention_args *given = item->value[PA_NULL_ARGS] ? NULL : &args;
    return item->part == PART_V2 ? paged_attention_v2_workspace_bytes(given) : 0;
}
