/**
 * @file call_check.h
 * @brief Given in lesson 04: the checks that both entry points make, in the contract's order.
 */
#ifndef WARPWISE_CALL_CHECK_H
#define WARPWISE_CALL_CHECK_H

#include "flash_attention_1.h"

/** @brief The checks that both entry points make. */
static enum kernel_status check_call(const struct attention_args *args, enum dtype dtype)
{
    enum kernel_status status = attention_args_check(args, 16, 0);
    if (status != KERNEL_OK) return status;
    if (args->dtype != dtype) return KERNEL_UNSUPPORTED_DTYPE;
    if (args->head_dim != 32 && args->head_dim != 64 && args->head_dim != 128)
        return KERNEL_INVALID_DIMENSION;
    return attention_args_check(args, 16, flash_attention_1_workspace_bytes(args));
}

#endif
