/**
 * @file stray.h
 * @brief Finds numbers in a page that look measured but were typed by hand.
 *
 * Looks measured: a number with a unit of speed, time or share behind it (GB/s, TFLOP/s, us, ms, %, times, ×), and such a
 * unit without a number in a row of a table, where it heads a column. Allowed are
 * - what stands between "<!-- measured: NAME" and "<!-- /measured -->", which fill_numbers writes;
 * - a block, up to the next empty line, below a line "<!-- numbers: WHY -->": computed, a target, cited, given;
 * - other comments of several lines, and code: fenced blocks and what is between backquotes.
 */
#pragma once

/**
 * @brief Prints a line for each line of the page that has such numbers.
 * @param[in] page  its text
 * @param[in] where its path, for the messages
 * @return how many lines were printed
 */
int report_stray_numbers(const char *page, const char *where);
