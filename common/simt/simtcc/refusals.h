/**
 * @file refusals.h
 * @brief What the software device does not have, said in one sentence instead of the compiler's many.
 */
#pragma once

/** @brief Prints on stderr what a compiler left in the file @p messages; if its first error is about something that the device does not
 *         have, only that, and what to do. */
void refusals_tell(const char *messages);
