/**
 * @file gemm_call.c
 * @brief Runner's side of the matrix product lessons: an item's numbers become struct gemm_args.
 */
#include "gemm_call.h"

#include "runner.h"

void gemm_args_of(const struct wire_case *item, void *const *buffers, struct gemm_args *args)
{
    const int64_t *value = item->value;
    *args = (struct gemm_args){
        .m = (int)value[GEMM_M],
        .n = (int)value[GEMM_N],
        .k = (int)value[GEMM_K],
        .trans_a = (int)value[GEMM_TRANS_A],
        .trans_b = (int)value[GEMM_TRANS_B],
        .lda = (int)value[GEMM_LDA],
        .ldb = (int)value[GEMM_LDB],
        .ldc = (int)value[GEMM_LDC],
        .alpha = (float)item->real[GEMM_ALPHA],
        .beta = (float)item->real[GEMM_BETA],
        .stages = (int)value[GEMM_CHOICE],
        .dtype_in = (enum dtype)value[GEMM_DTYPE_IN],
        .dtype_out = (enum dtype)value[GEMM_DTYPE_OUT],
        .a = buffers[GEMM_A],
        .b = buffers[GEMM_B],
        .c = buffers[GEMM_C],
    };
    int large = (value[GEMM_UNUSED] & GEMM_UNUSED_LARGE) != 0;
    if (value[GEMM_UNUSED] & GEMM_UNUSED_STAGES) args->stages = large ? INT_MAX : -7;
    stray_workspace(item, &args->workspace, &args->workspace_bytes);
    if (!(value[GEMM_UNUSED] & GEMM_UNUSED_WORKSPACE)) return;
    args->workspace = large ? NULL : (char *)buffers[GEMM_C] + 3;
    args->workspace_bytes = large ? SIZE_MAX : 5;
}
