/**
 * @file report.h
 * @brief What the student reads, and what programs read.
 */
#pragma once

#include <stdio.h>

#include "checker/verdict/check.h"

/** @brief Prints parts, failing cases, what was left out, and the result, and notes which cases it showed
 *         in full. The output does not vary with time. */
void report_text(struct check *check);

/** @brief Writes to @p out what report_text() shows about case @p index, which did not pass. */
void report_case(const struct check *check, int index, FILE *out);

/** @brief Writes the headline of @p verdict, and the usual cause, "" if none is known. */
void report_headline(const struct verdict *verdict, char *text, size_t size);
void report_pattern(const struct verdict *verdict, char *text, size_t size);

/** @brief Writes what the software device found, some lines for each finding, the first of them behind @p mark. */
void report_found(const struct verdict *verdict, const char *mark, char *text, size_t size);
enum { REPORT_FOUND = 8192 };

/** @brief Writes the command that runs case @p index again: with the seed, if one was given. */
void report_again(const struct check *check, int index, char *text, size_t size);

/** @brief How many cases this device does not run, or could not judge, if all were asked for. */
int report_left_out(const struct check *check);

/** @brief Prints the cases of the lesson, and what each one tests. */
void report_list(const struct check *check);

/** @brief Prints, as CSV, how the points of @p lesson are distributed: "part,NAME,POINTS",
 *         "clean,,POINTS", "speed,,POINTS", "speed_none,,RATIO", "speed_full,,RATIO", after
 *         "title,,TITLE". */
void report_rubric(const struct lesson *lesson);

/** @brief Prints, as CSV, the cost of each case, defined by its problem: nothing runs. */
void report_costs(const struct check *check);

/** @brief Prints measurements, and points, in the form that CTest reads. */
void report_ctest(const struct check *check);

/** @brief Writes one row per case to @p path; 0 or -1. */
int report_csv(const struct check *check, const char *path);
int report_json(const struct check *check, const char *path);

/** @brief Prints where the time went, @p seconds in all. */
void report_phases(const struct check *check, double seconds);

const char *report_group(enum case_group group);
