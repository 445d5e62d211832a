/**
 * @file 20_w4a16_gemm.c
 * @brief Lesson 20: from an item to calls of the entry points of `w4a16_gemm.h`.
 */
#include "w4a16_gemm.h"

#include "protocol/w4a16_items.h"
#include "runner/runner.h"

enum {
#include "description/parts.h"
};

static struct w4a16_shuffle_args shuffle_args_of(const struct wire_case *item, void *const *buffers)
{
    const int64_t *value = item->value;
    return (struct w4a16_shuffle_args){.n = (int)value[W4_N],
                                       .k = (int)value[W4_K],
                                       .group = (int)value[W4_GROUP],
                                       .format = (enum w4_format)value[W4_FORMAT],
                                       .qweight = buffers[W4_QWEIGHT],
                                       .qzeros = value[W4_HAS_ZEROS] ? buffers[W4_QZEROS] : NULL,
                                       .weights = buffers[W4_SHUFFLED],
                                       .zeros = buffers[W4_SHUFFLED_ZEROS]};
}

static struct w4a16_args args_of(const struct wire_case *item, void *const *buffers)
{
    const int64_t *value = item->value;
    struct w4a16_args args = {.m = (int)value[W4_M],
                              .n = (int)value[W4_N],
                              .k = (int)value[W4_K],
                              .group = (int)value[W4_GROUP],
                              .lda = (int)value[W4_LDA],
                              .ldc = (int)value[W4_LDC],
                              .splits = (int)value[W4_SPLITS],
                              .dtype = (enum dtype)value[W4_DTYPE],
                              .a = buffers[W4_A],
                              .weights = buffers[W4_WEIGHTS],
                              .scales = buffers[W4_SCALES],
                              .zeros = buffers[W4_ZEROS],
                              .c = buffers[W4_C],
                              .workspace = buffers[W4_WORKSPACE],
                              .workspace_bytes = (size_t)item->buffer[W4_WORKSPACE].bytes};
    if (item->part != PART_SPLIT) { /* what has no meaning: a number that is none, an address that is none */
        args.splits = -3;
        args.workspace = (void *)~(uintptr_t)0;
        args.workspace_bytes = 1;
        stray_workspace(item, &args.workspace, &args.workspace_bytes);
    }
    return args;
}

enum kernel_status lesson_call(const struct wire_case *item, void *const *buffers, cudaStream_t stream)
{
    if (item->part == PART_SHUFFLE) {
        struct w4a16_shuffle_args filled = shuffle_args_of(item, buffers);
        return w4a16_shuffle(item->value[W4_NULL_ARGS] ? NULL : &filled, stream);
    }
    struct w4a16_args filled = args_of(item, buffers);
    const struct w4a16_args *args = item->value[W4_NULL_ARGS] ? NULL : &filled;
    switch (item->part) {
    case PART_VECTOR:
        return w4a16_vector(args, stream);
    case PART_TENSOR:
        return w4a16_tensor(args, stream);
    default:
        return w4a16_split(args, stream);
    }
}

size_t lesson_workspace_bytes(const struct wire_case *item)
{
    if (item->part != PART_SPLIT) return 0;
    void *const none[WIRE_BUFFERS] = {0};
    struct w4a16_args args = args_of(item, none);
    return w4a16_split_workspace_bytes(item->value[W4_NULL_ARGS] ? NULL : &args);
}
