/**
 * @file refusals.h
 * @brief What the software device lacks, in one sentence instead of the compiler's many messages.
 */
#pragma once

/** @brief Prints a compiler's messages, from the file @p messages, on stderr. If the first error is about
 *         something that the device lacks, prints only that, and what to do about it. */
void refusals_tell(const char *messages);
