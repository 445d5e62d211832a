/**
 * @file screen.h
 * @brief The terminal while something is watched.
 */
#pragma once

/** @brief Takes keys one by one without echo, if this is a terminal we stand in front of. 1 if so. */
int screen_open(void);
/** @brief As it was before; also called at exit. */
void screen_close(void);
/** @brief Shows @p text instead of what was there; on a pipe, after it. Too long a text is cut at the bottom
 *         and @p more says where the rest is. */
void screen_show(const char *text, const char *more);
/** @brief A key that was pressed, or 0. */
int screen_key(void);
/** @brief 1 once after the terminal has changed its size or the program was resumed. */
int screen_changed(void);
