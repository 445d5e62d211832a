/**
 * @file terminal.h
 * @brief Colours where they are wanted, one-sentence complaints, progress, numbers people can read; and the exit codes.
 */
#pragma once

/** @brief Exit codes, the same for every command. */
enum exit_code {
    EXIT_PASS = 0,     /**< everything asked for was done and is right */
    EXIT_FAIL = 1,     /**< a kernel is wrong, or does not compile */
    EXIT_TROUBLE = 2,  /**< bad usage, or something outside the kernel is broken: no verdict */
    EXIT_SKIPPED = 77, /**< not started, or the device is not here */
};

enum colour { COLOUR_NONE, COLOUR_RED, COLOUR_GREEN, COLOUR_YELLOW, COLOUR_BOLD, COLOUR_DIM };

/** @brief The control code for @p colour on stdout, or "" where colours are not wanted (NO_COLOR, no tty). */
const char *colour_on(enum colour colour);
/** @brief The code that ends any colour. */
const char *colour_off(void);

/** @brief One sentence on stderr, after "warpwise: ". Returns EXIT_TROUBLE, so that callers can return it. */
int complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/** @brief From now on (1) complaints are kept instead of printed, until 0. */
void complaints_keep(int keep);
/** @brief The last complaint kept, "" if there was none. */
const char *complaint_kept(void);
/** @brief A line of progress on stderr, overwritten by the next; only on a terminal. NULL wipes it. */
void show_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** @brief 1234567 as "1,234,567", in @p buffer of at least 32 bytes. */
const char *grouped_number(char *buffer, double value);
