/**
 * @file watchdog.h
 * @brief A call that never ends.
 */
#pragma once

void simt_watch_prepare(void);  /**< ready for the timer */
void simt_watch_keyboard(void); /**< from now on Ctrl-C tells where a kernel is */
/** @brief Called four times a second: ends the program if it was interrupted a while ago, and no kernel told where it is. */
void simt_watch_interrupted(void);
