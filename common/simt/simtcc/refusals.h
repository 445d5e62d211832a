/**
 * @file refusals.h
 * @brief What the software device does not have, said in one sentence instead of the compiler's many.
 */
#ifndef WARPWISE_SIMT_REFUSALS_H
#define WARPWISE_SIMT_REFUSALS_H

/** @brief Prints on stderr what a compiler left in the file @p messages; if its first error is about something that the device does not
 *         have, only that, and what to do. */
void refusals_tell(const char *messages);

#endif
