/**
 * @file launch_order.h
 * @brief Device memory that one kernel read before anybody had written it, and another kernel wrote afterwards: launches may be in
 *        the wrong order.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** @brief @p kernel read word @p word of the arena, which was never written. */
void simt_launch_order_read(size_t word, const char *kernel);
/**
 * @brief Whether there is such a word that nobody has written yet: then writes of plain words must be
 * checked one by one.
 */
bool simt_launch_order_pending(void);
/** @brief @p kernel writes the word. */
void simt_launch_order_write(size_t word, const char *kernel);
/** @brief These bytes of the arena belong to another allocation from now on. */
void simt_launch_order_forget(size_t start, size_t bytes);
/** @brief Reports, at the end of a launch of @p kernel, which kernels have read what it has now written. */
void simt_launch_order_report(const char *kernel);
