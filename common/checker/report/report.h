/**
 * @file report.h
 * @brief What the student reads, and what programs read.
 */
#ifndef WARPWISE_CHECKER_REPORT_H
#define WARPWISE_CHECKER_REPORT_H

#include "checker/verdict/check.h"

/** @brief Prints parts, failing cases, what was left out, and the result. Nothing in it varies with time. */
void report_text(const struct check *check);

/** @brief Writes the command that runs case @p index again: with the seed, if one was given. */
void report_again(const struct check *check, int index, char *text, size_t size);

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

/** @brief Prints text from the untrusted side, indented: no control characters, and no tags that CTest reads. */
void report_untrusted(const char *text);

const char *report_group(enum case_group group);

#endif
