/**
 * @file fiber.h
 * @brief Switching between stacks.
 */
#ifndef WARPWISE_SIMT_FIBER_H
#define WARPWISE_SIMT_FIBER_H

/** @brief A context that will run @p function (which never returns) on the stack that ends at @p top. */
void *simt_fiber_prepare(void *top, void (*function)(void));
/** @brief Leaves the running context in *save and goes on with @p load. */
void simt_fiber_switch(void **save, void *load);

#endif
