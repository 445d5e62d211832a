/**
 * @file call.h
 * @brief One call of the student's entry point: what it may see, what it is held to, what it launches.
 */
#pragma once

#include "contracts/kernel_status.h"
#include "device_case.h"

/** @brief Calls the student's entry point on buffer set @p set and @p stream; launches are described in @p described,
 *         or NULL. */
enum kernel_status call_kernel(struct device_case *run, int set, cudaStream_t stream,
                               struct wire_result *described);

/** @brief What the kernel file says of the workspace of a case; it is held to what calls are held to. */
size_t ask_workspace(const struct wire_case *item);

/** @brief What the lesson's marshalling saw go wrong in the last call; NULL: nothing. */
const char *call_was_seen(void);

/** @brief From now on launches are described in @p result; NULL stops it. */
void describe_launches(struct wire_result *result);

/** @brief From now on (1) a copy from the device to the host is refused, until 0 (launch_info.c). */
void forbid_copies_to_host(int forbid);
