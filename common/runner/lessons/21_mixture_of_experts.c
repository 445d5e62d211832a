/**
 * @file 21_mixture_of_experts.c
 * @brief Lesson 21: from an item to calls of the entry points of `mixture_of_experts.h`.
 */
#include "mixture_of_experts.h"

#include "protocol/experts_items.h"
#include "runner/runner.h"

enum {
#include "description/parts.h"
};

static struct experts_args layer_of(const struct wire_case *item, void *const *buffers)
{
    const int64_t *value = item->value;
    return (struct experts_args){.tokens = (int)value[EXPERTS_ROWS],
                                 .experts = (int)value[EXPERTS_COUNT],
                                 .top_k = (int)value[EXPERTS_TOP_K],
                                 .hidden = (int)value[EXPERTS_K],
                                 .inner = (int)value[EXPERTS_N],
                                 .renormalise = (int)value[EXPERTS_RENORMALISE],
                                 .dtype = (enum dtype)value[EXPERTS_DTYPE],
                                 .x = buffers == NULL ? NULL : buffers[LAYER_X],
                                 .logits = buffers == NULL ? NULL : buffers[LAYER_LOGITS],
                                 .gate_up = buffers == NULL ? NULL : buffers[LAYER_GATE_UP],
                                 .down = buffers == NULL ? NULL : buffers[LAYER_DOWN],
                                 .out = buffers == NULL ? NULL : buffers[LAYER_OUT],
                                 .workspace = buffers == NULL ? NULL : buffers[LAYER_WORKSPACE],
                                 .workspace_bytes = (size_t)item->buffer[LAYER_WORKSPACE].bytes};
}

static enum kernel_status call_product(const struct wire_case *item, void *const *buffers,
                                       cudaStream_t stream)
{
    const int64_t *value = item->value;
    const struct grouped_gemm_args args = {.rows = (int)value[EXPERTS_ROWS],
                                           .experts = (int)value[EXPERTS_COUNT],
                                           .n = (int)value[EXPERTS_N],
                                           .k = (int)value[EXPERTS_K],
                                           .swiglu = (int)value[EXPERTS_SWIGLU],
                                           .dtype = (enum dtype)value[EXPERTS_DTYPE],
                                           .a = buffers[PRODUCT_A],
                                           .w = buffers[PRODUCT_W],
                                           .offsets = buffers[PRODUCT_OFFSETS],
                                           .c = buffers[PRODUCT_C]};
    return experts_product(value[EXPERTS_NULL_ARGS] ? NULL : &args, stream);
}

enum kernel_status lesson_call(const struct wire_case *item, void *const *buffers, cudaStream_t stream)
{
    const int64_t *value = item->value;
    if (item->part == PART_ROUTE)
        return experts_route(buffers[ROUTE_LOGITS], buffers[ROUTE_CHOSEN], buffers[ROUTE_WEIGHTS],
                             (int)value[EXPERTS_ROWS], (int)value[EXPERTS_COUNT], (int)value[EXPERTS_TOP_K],
                             (int)value[EXPERTS_RENORMALISE], stream);
    if (item->part == PART_GROUP)
        return experts_group(buffers[GROUP_CHOSEN], buffers[GROUP_OFFSETS], buffers[GROUP_ROW_OF],
                             (int)value[EXPERTS_ROWS], (int)value[EXPERTS_COUNT], stream);
    if (item->part == PART_PRODUCT) return call_product(item, buffers, stream);
    const struct experts_args args = layer_of(item, buffers);
    return mixture_of_experts(value[EXPERTS_NULL_ARGS] ? NULL : &args, stream);
}

/* Only the layer takes a workspace. */
size_t lesson_workspace_bytes(const struct wire_case *item)
{
    const struct experts_args args = layer_of(item, NULL);
    if (item->part != PART_LAYER) return 0;
    return mixture_of_experts_workspace_bytes(item->value[EXPERTS_NULL_ARGS] ? NULL : &args);
}
