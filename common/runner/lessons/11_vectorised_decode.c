/**
 * @file 11_vectorised_decode.c
 * @brief Lesson 11: from an item to calls of the entry points of `vectorised_decode.h`.
 */
#include "contracts/decode_args.h"
#include "protocol/decode_items.h"
#include "protocol/wire.h"

#include "runner/runner.h"
#include "vectorised_decode.h"

static void args_of(const struct wire_case *item, void *const *buffers, struct decode_args *args)
{
    const int64_t *value = item->value;
    size_t workspace = (size_t)item->buffer[DC_WORKSPACE].bytes;
    size_t shortage = (size_t)value[DC_WORKSPACE_SHORTAGE];
    *args = (struct decode_args){
        .batch = (int)value[DC_BATCH],
        .heads = (int)value[DC_HEADS],
        .kv_heads = (int)value[DC_KV_HEADS],
        .head_dim = (int)value[DC_HEAD_DIM],
        .q_len = (int)value[DC_Q_LEN],
        .max_len = (int)value[DC_MAX_LEN],
        .kv_stride = (int)value[DC_KV_STRIDE],
        .position = (int)value[DC_POSITION],
        .device_positions = value[DC_GIVEN] & DC_POSITIONS_GIVEN ? buffers[DC_POSITIONS] : NULL,
        .device_status = value[DC_GIVEN] & DC_STATUS_GIVEN ? buffers[DC_STATUS] : NULL,
        .scale = (float)item->real[0],
        .dtype = (enum dtype)value[DC_DTYPE],
        .q = buffers[DC_Q],
        .k_cache = buffers[DC_K],
        .v_cache = buffers[DC_V],
        .out = buffers[DC_OUT],
        .workspace = buffers[DC_WORKSPACE],
        .workspace_bytes = workspace > shortage ? workspace - shortage : 0,
    };
}

/* What the choice says lies on the device like any other result, but only where the call was not refused. */
static enum kernel_status call_dispatch(const struct wire_case *item, const struct decode_args *args,
                                        void *const *buffers, cudaStream_t stream)
{
    enum decode_loads loads = (enum decode_loads)item->value[DC_LOADS];
    enum kernel_status status =
        decode_attention(args, (enum decode_variant)item->value[DC_VARIANT], loads, stream);
    if (status != KERNEL_OK || args == NULL) return status;
    /* All that the choice is said to look at. */
    const struct decode_args seen = {.dtype = args->dtype, .q_len = args->q_len, .head_dim = args->head_dim};
    static int chosen; /* a captured copy reads it later */
    chosen = (int)decode_choose_variant(&seen, loads);
    marshalling_may_look(1);
    if (cudaMemcpyAsync(buffers[DC_CHOSEN], &chosen, sizeof chosen, cudaMemcpyHostToDevice, stream) !=
        cudaSuccess)
        status = KERNEL_CUDA_ERROR;
    marshalling_may_look(0);
    return status;
}

static enum kernel_status call_part(const struct wire_case *item, const struct decode_args *args,
                                    void *const *buffers, cudaStream_t stream)
{
    enum decode_loads loads = (enum decode_loads)item->value[DC_LOADS];
    switch (item->part) {
    case PART_MHA:
        return decode_mha(args, loads, stream);
    case PART_FLASH_2:
        return decode_flash_2(args, stream);
    case PART_DISPATCH:
        return call_dispatch(item, args, buffers, stream);
    default:
        return decode_flash_1(args, loads, stream);
    }
}

/** What a call that is captured needs to be made. */
struct captured {
    const struct wire_case *item;
    const struct decode_args *args;
    void *const *buffers;
};

static enum kernel_status call_captured(void *context, cudaStream_t stream)
{
    const struct captured *c = context;
    return call_part(c->item, c->args, c->buffers, stream);
}

enum kernel_status lesson_call(const struct wire_case *item, void *const *buffers, cudaStream_t stream)
{
    struct decode_args args;
    args_of(item, buffers, &args);
    const struct decode_args *given = item->value[DC_NULL_ARGS] ? NULL : &args;
    struct captured captured = {item, given, buffers};
    return item->value[DC_CAPTURED] ? captured_call(call_captured, &captured, stream)
                                    : call_part(item, given, buffers, stream);
}

size_t lesson_workspace_bytes(const struct wire_case *item)
{
    static char somewhere[1];
    static void *const none[DC_BUFFERS] = {[DC_POSITIONS] = somewhere, [DC_STATUS] = somewhere};
    static const enum decode_variant of_part[DECODE_PARTS] = {
        [PART_HALF2] = DECODE_FLASH_1,   [PART_VECTOR] = DECODE_FLASH_1, [PART_DEVICE] = DECODE_FLASH_1,
        [PART_PREFILL] = DECODE_FLASH_1, [PART_MHA] = DECODE_MHA,        [PART_FLASH_2] = DECODE_FLASH_2};
    struct decode_args args;
    args_of(item, none, &args);
    /* Of another position than the call's, where it is one: the size is said not to depend on it. */
    if (args.position > 0 && args.position <= args.max_len - args.q_len) args.position = 0;
    const struct decode_args *given = item->value[DC_NULL_ARGS] ? NULL : &args;
    enum decode_variant variant =
        item->part == PART_DISPATCH ? (enum decode_variant)item->value[DC_VARIANT] : of_part[item->part];
    return decode_workspace_bytes(given, variant, (enum decode_loads)item->value[DC_LOADS]);
}
