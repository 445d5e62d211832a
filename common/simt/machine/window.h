/**
 * @file window.h
 * @brief Shared memory as PTX addresses it.
 */
#pragma once

/** @brief A launch begins: no variable has a place in the window yet. */
void simt_window_begin(void);
