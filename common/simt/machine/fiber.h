/**
 * @file fiber.h
 * @brief Switching between stacks.
 */
#pragma once

#include <stdint.h>

/** @brief A context that will run @p function (which never returns) on the stack that ends at @p top. */
void *simt_fiber_prepare(void *top, void (*function)(void));
/** @brief Leaves the running context in *save and goes on with @p load. */
void simt_fiber_switch(void **save, void *load);
/** @brief Sets what lies on the running stack from the caller's frame down to @p low to bytes of 0xff: as floats NaN, as integers -1. */
void simt_fiber_spoil(uintptr_t low);
