/**
 * @file window.h
 * @brief Shared memory as PTX addresses it.
 */
#ifndef WARPWISE_SIMT_WINDOW_H
#define WARPWISE_SIMT_WINDOW_H

/** @brief A launch begins: no variable has a place in the window yet. */
void simt_window_begin(void);

#endif
