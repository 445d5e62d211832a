/**
 * @file watchdog.h
 * @brief A call that never ends.
 */
#pragma once

void simt_watch_prepare(void); /**< ready for the timer */
