/**
 * @file screen.h
 * @brief The terminal while something is watched.
 */
#pragma once

/** @brief Takes keys one by one without echo, if this is a terminal and we are in the foreground. 1 if so. */
int screen_open(void);
/** @brief Restores the terminal; also called at exit. */
void screen_close(void);
/** @brief Shows @p text in place of the last one; on a pipe, after it. If the text is too long it is cut
 *         at the bottom, and @p more says where the rest is. */
void screen_show(const char *text, const char *more);
/** @brief A key that was pressed, or 0. */
int screen_key(void);
/** @brief 1 once after the terminal has changed its size or the program was resumed. */
int screen_changed(void);
