/**
 * @file 13_int8_gemm.c
 * @brief Lesson 13: from an item to calls of the entry points of `int8_gemm.h`.
 */
#include "int8_gemm.h"

#include "protocol/int8_items.h"
#include "runner/runner.h"

enum {
#include "description/parts.h"
};

static struct int8_gemm_args args_of(const struct wire_case *item, void *const *buffers)
{
    const int64_t *value = item->value;
    struct int8_gemm_args args = {
        .m = (int)value[GEMM_M],
        .n = (int)value[GEMM_N],
        .k = (int)value[GEMM_K],
        .trans_a = (int)value[GEMM_TRANS_A],
        .trans_b = (int)value[GEMM_TRANS_B],
        .lda = (int)value[GEMM_LDA],
        .ldb = (int)value[GEMM_LDB],
        .ldc = (int)value[GEMM_LDC],
        .a = buffers[GEMM_A],
        .b = buffers[GEMM_B],
        .c = buffers[GEMM_C],
        .dtype_out = (enum dtype)value[GEMM_DTYPE_OUT],
    };
    if (item->part == PART_DEQUANTISED) {
        args.row_scales = buffers[INT8_ROW_SCALES];
        args.column_scales = buffers[INT8_COLUMN_SCALES];
        args.bias = value[INT8_HAS_BIAS] ? buffers[INT8_BIAS] : NULL;
    } else {
        args.dtype_out = DTYPE_F16;    /* not looked at: as good as any */
        if (value[GEMM_UNUSED] != 0) { /* what has no meaning: addresses that are none, or odd ones */
            int large = (value[GEMM_UNUSED] & GEMM_UNUSED_LARGE) != 0;
            args.row_scales = large ? (const float *)~(uintptr_t)0 : (const float *)((char *)args.c + 1);
            args.column_scales = args.bias = args.row_scales;
            args.dtype_out = (enum dtype)(large ? 1 << 30 : 9);
        }
    }
    return args;
}

enum kernel_status lesson_call(const struct wire_case *item, void *const *buffers, cudaStream_t stream)
{
    struct int8_gemm_args filled = args_of(item, buffers);
    const struct int8_gemm_args *args = item->value[GEMM_NULL_ARGS] ? NULL : &filled;
#include "runner/dispatch.h"
    return KERNEL_INVALID_CONFIG;
}

/* No workspace. */
size_t lesson_workspace_bytes(const struct wire_case *item)
{
    (void)item;
    return 0;
}
