/**
 * @file attention_call.h
 * @brief From an item of the protocol to the arguments of the contract.
 */
#pragma once

#include "contracts/attention_args.h"
#include "protocol/attention_items.h"
#include "protocol/wire.h"

/** @brief The arguments that an item stands for. */
void attention_args_of(const struct wire_case *item, void *const *buffers, struct attention_args *args);
