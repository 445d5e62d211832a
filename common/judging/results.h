/**
 * @file results.h
 * @brief The rows that the checker writes, and what they amount to.
 */
#pragma once

#include <stddef.h>
#include "base/terminal.h"
#include "base/text.h"
#include "record/causes.h"
#include "record/state.h"

enum { SECTOR_BYTES = 32 }; /* what a device moves at least */

/** @brief One line of a file that somebody's code was at. */
struct result_place {
    char *file;
    int line;
};

enum { RESULT_PLACES = RECORD_FRAMES };

struct result_row {
    char *lesson, *part, *test_case, *group, *shape;
    enum state state, part_state;
    int left_out;             /**< cases of the lesson that the device does not run */
    enum record_kind finding; /**< what the software device found first; 0: nothing */
    enum record_kind kind;    /**< what is wrong */
    enum record_cause cause;  /**< and what that usually comes of */
    int guess;                /**< of the lesson, from 0: which says so; -1: none */
    /** Where the device found it: of both halves of a race, innermost call first; the file behind the last one is NULL. */
    struct result_place at[2][RESULT_PLACES + 1];
    /** What the record is about: the buffer, the element's index as "0,3", the kernel, the thread as "0,0,0". */
    char *buffer, *index, *function, *block, *thread;
    char *time_refused; /**< why the time is not to be believed, or "" */
    /** For people: what is wrong, what that looks like, what the software device found, all that the report shows. */
    char *headline, *pattern, *found, *text;
    int shown; /**< which of the cases that the report shows in full, from 1; 0: none of them */
    double points, points_max;
    double host_seconds; /**< how long the runner was at it, on the software device */
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
void results_without_run(struct results *results, const char *lesson, const char *device, enum state state,
                         const char *headline);
/** @brief 1 if @p row passes and that is worth something, see check_counts() of the checker. */
int result_counts(const struct result_row *row);
/** @brief The one state that stands for all rows; STATE_NOTHING_RAN if there are none. */
enum state results_state(const struct results *results);
/** @brief The row that the report shows in full as number @p shown, from 1; NULL if it shows fewer. */
const struct result_row *results_shown(const struct results *results, int shown);
double results_points(const struct results *results, double *points_max);
enum colour state_colour(enum state state);
