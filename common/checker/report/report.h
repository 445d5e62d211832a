/**
 * @file report.h
 * @brief What the student reads, and what programs read.
 */
#pragma once

#include <stdio.h>

#include "checker/verdict/check.h"

/** @brief Prints parts, failing cases, what was left out, and the result, and notes which cases it showed in full. Nothing
 *         in it varies with time. */
void report_text(struct check *check);

/** @brief Writes to @p out all that is known of case @p index, which did not pass, as report_text() shows it. */
void report_case(const struct check *check, int index, FILE *out);

/** @brief Writes the headline of @p verdict, and what that usually comes of, "" if nothing is known. */
void report_headline(const struct verdict *verdict, char *text, size_t size);
void report_pattern(const struct verdict *verdict, char *text, size_t size);

/** @brief Writes what the software device found, some lines for each finding, the first of them behind @p mark. */
void report_found(const struct verdict *verdict, const char *mark, char *text, size_t size);
enum { REPORT_FOUND = 8192 };

/** @brief Writes the command that runs case @p index again: with the seed, if one was given. */
void report_again(const struct check *check, int index, char *text, size_t size);

/** @brief How many cases this device does not run, where all were asked for; the last one is written to @p last, if it is not NULL. */
int report_left_out(const struct check *check, int *last);

/** @brief Prints the cases of the lesson, with what they are. */
void report_list(const struct check *check);

/** @brief Prints, as CSV, what the points of @p lesson are given for: "part,NAME,POINTS", "clean,,POINTS",
 *         "speed,,POINTS", "speed_none,,RATIO", "speed_full,,RATIO", after "title,,TITLE". */
void report_rubric(const struct lesson *lesson);

/** @brief Prints, as CSV, what each case costs by definition of the problem: nothing is run for it. */
void report_costs(const struct check *check);

/** @brief Prints measurements in CTest's form, points among them. */
void report_ctest(const struct check *check);

/** @brief Writes one row per case to @p path; 0 or -1. */
int report_csv(const struct check *check, const char *path);
int report_json(const struct check *check, const char *path);

const char *report_group(enum case_group group);
