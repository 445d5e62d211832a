/**
 * @file results.h
 * @brief The rows that the checker writes, and what they amount to.
 */
#ifndef WARPWISE_JUDGING_RESULTS_H
#define WARPWISE_JUDGING_RESULTS_H

#include <stddef.h>
#include "base/terminal.h"
#include "base/text.h"

struct result_row {
    char *lesson, *part, *test_case, *group, *shape, *state;
    char *finding;            /**< what the software device found: "shared-race", …; or "" */
    char *time_refused;       /**< why the time is not to be believed, or "" */
    char *headline, *pattern; /**< what is wrong, and what that looks like */
    double points, points_max;
    double median_us, p10_us, p90_us;
    double flop, min_bytes;
    double workspace_bytes, launches, occupancy;
    double load_requests, load_sectors, store_requests, store_sectors, bank_conflicts;
    double shared_load_wavefronts, shared_store_wavefronts, atomics, barriers;
};

struct results {
    struct result_row *rows;
    size_t count;
    struct text lines; /**< the rows as they were read, without the header */
    char *header;
};

/** @brief Cuts one field off the front of @p line, without its quotes; the line is NULL after the last. */
char *csv_field(const char **line);
/** @brief Appends a field to a line that ends at its last field, or begins one after a line end. */
void csv_append(struct text *line, const char *value);

/** @brief Appends the rows of a file of the checker; EXIT_PASS, or EXIT_TROUBLE after a complaint. */
int results_read(const char *path, struct results *results);
/** @brief Sets header and lines, not rows: the one line of a kernel file that never came to run, with @p state and
 *         the reason. It has the columns of the checker's lines. */
void results_without_run(struct results *results, const char *lesson, const char *device, const char *state,
                         const char *headline);
/** @brief The one state that stands for all rows; "NOTHING_RAN" if there are none. */
const char *results_state(const struct results *results);
double results_points(const struct results *results, double *points_max);
/** @brief 1 for a state that means a wrong kernel: FAIL, CRASH, TIMEOUT, REFUSED, BUILD_ERROR. */
int state_is_failure(const char *state);
/** @brief 1 if @p state is what `--expect @p expected` asks for: FAIL stands for every failure but BUILD_ERROR. */
int state_is_expected(const char *state, const char *expected);
/** @brief 1 if a kernel was really executed to reach this state. */
int state_was_executed(const char *state);

enum colour state_colour(const char *state);

#endif
