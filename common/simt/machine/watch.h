/**
 * @file watch.h
 * @brief A call that never ends.
 */
#ifndef WARPWISE_SIMT_WATCH_H
#define WARPWISE_SIMT_WATCH_H

void simt_watch_prepare(void); /**< ready for the timer */

#endif
