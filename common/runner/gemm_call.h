/**
 * @file gemm_call.h
 * @brief From an item of the protocol to the arguments of the contract.
 */
#pragma once

#include "contracts/gemm_args.h"
#include "protocol/gemm_items.h"
#include "protocol/wire.h"

/** @brief The arguments that an item stands for. */
void gemm_args_of(const struct wire_case *item, void *const *buffers, struct gemm_args *args);
