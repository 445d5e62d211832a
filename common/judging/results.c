/**
 * @file results.c
 * @brief Reads the rows that the checker writes (--csv), and says what they amount to.
 *
 * Columns are found by name, so that the checker may add some. A field with a comma stands in double quotes.
 */
#include "results.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/terminal.h"
#include "base/text.h"
#include "protocol/record_columns.h"

enum { MAX_COLUMNS = 64 };

struct fields {
    char *name[MAX_COLUMNS];
    size_t count;
};

char *csv_field(const char **line)
{
    struct text field = {0};
    const char *at = *line;
    int quoted = 0;
    text_append(&field, "", 0);
    for (; *at && (quoted || *at != ','); at++) {
        if (*at == '"' && quoted && at[1] == '"') {
            text_append(&field, at++, 1);
        } else if (*at == '"') {
            quoted = !quoted;
        } else {
            text_append(&field, at, 1);
        }
    }
    *line = *at ? at + 1 : NULL;
    return field.data;
}

void csv_append(struct text *line, const char *value)
{
    int quoted = strpbrk(value, ",\"\n") != NULL;
    if (line->length && line->data[line->length - 1] != '\n') text_append(line, ",", 1);
    if (quoted) text_append(line, "\"", 1);
    for (; *value; value++) {
        if (*value == '"') text_append(line, "\"", 1);
        text_append(line, value, 1);
    }
    if (quoted) text_append(line, "\"", 1);
}

void results_without_run(struct results *results, const char *lesson, const char *device, const char *state,
                         const char *headline)
{
    const char *const known[][2] = {{"lesson", lesson}, {"device", device},  {"state", state},
                                    {"points", "0"},    {"points_max", "0"}, {"headline", headline}};
    const char *columns = RECORD_COLUMNS;
    struct text line = {0};
    for (char *column; columns && (column = csv_field(&columns)); free(column)) {
        const char *value = "";
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
            if (strcmp(column, known[i][0]) == 0) value = known[i][1];
        csv_append(&line, value);
    }
    results->header = copy_string(RECORD_COLUMNS);
    for (size_t i = 0; i < line.length; i++)
        if (line.data[i] == '\n') line.data[i] = ' '; /* rows are read line by line */
    text_print(&results->lines, "%s\n", line.data);
    text_free(&line);
}

static void split_fields(const char *line, struct fields *fields)
{
    fields->count = 0;
    while (line && fields->count < MAX_COLUMNS) fields->name[fields->count++] = csv_field(&line);
}

static void free_fields(struct fields *fields)
{
    for (size_t i = 0; i < fields->count; i++) free(fields->name[i]);
    fields->count = 0;
}

static const char *field_called(const struct fields *header, const struct fields *row, const char *name)
{
    for (size_t i = 0; i < header->count && i < row->count; i++) {
        if (strcmp(header->name[i], name) == 0) return row->name[i];
    }
    return "";
}

/* A number that is not there is NaN, so that nothing computed from it looks like one. */
static double number_called(const struct fields *header, const struct fields *row, const char *name)
{
    const char *field = field_called(header, row, name);
    char *end;
    double number = strtod(field, &end);
    return *field && !*end ? number : NAN;
}

static struct result_row read_row(const struct fields *header, const struct fields *row)
{
    return (struct result_row){
        .lesson = copy_string(field_called(header, row, "lesson")),
        .part = copy_string(field_called(header, row, "part")),
        .test_case = copy_string(field_called(header, row, "case")),
        .group = copy_string(field_called(header, row, "group")),
        .shape = copy_string(field_called(header, row, "shape")),
        .state = copy_string(field_called(header, row, "state")),
        .finding = copy_string(field_called(header, row, "finding")),
        .time_refused = copy_string(field_called(header, row, "time_refused")),
        .headline = copy_string(field_called(header, row, "headline")),
        .pattern = copy_string(field_called(header, row, "pattern")),
        .points = number_called(header, row, "points"),
        .points_max = number_called(header, row, "points_max"),
        .median_us = number_called(header, row, "median_us"),
        .p10_us = number_called(header, row, "p10_us"),
        .p90_us = number_called(header, row, "p90_us"),
        .flop = number_called(header, row, "flop"),
        .min_bytes = number_called(header, row, "min_bytes"),
        .workspace_bytes = number_called(header, row, "workspace_bytes"),
        .launches = number_called(header, row, "launches"),
        .occupancy = number_called(header, row, "occupancy"),
        .load_requests = number_called(header, row, "load_requests"),
        .store_requests = number_called(header, row, "store_requests"),
        .atomics = number_called(header, row, "atomics"),
        .barriers = number_called(header, row, "barriers"),
        .load_sectors = number_called(header, row, "load_sectors"),
        .store_sectors = number_called(header, row, "store_sectors"),
        .bank_conflicts = number_called(header, row, "bank_conflicts"),
        .shared_load_wavefronts = number_called(header, row, "shared_load_wavefronts"),
        .shared_store_wavefronts = number_called(header, row, "shared_store_wavefronts"),
    };
}

static void append_row(struct results *results, struct result_row row, const char *line)
{
    if ((results->count & (results->count - 1)) == 0) { /* full whenever the count is a power of two */
        struct result_row *rows = must_allocate((2 * results->count + 1) * sizeof *rows);
        if (results->count) memcpy(rows, results->rows, results->count * sizeof *rows);
        free(results->rows);
        results->rows = rows;
    }
    results->rows[results->count++] = row;
    text_print(&results->lines, "%s\n", line);
}

int results_read(const char *path, struct results *results)
{
    struct text content = {0};
    struct fields header = {0}, row = {0};
    int error = read_file(path, &content);
    if (error) return complain("the checker's results %s cannot be read: %s.", path, strerror(error));
    const char *rest = content.data;
    for (char *line; (line = next_word(&rest, '\n')); free(line)) {
        if (!*line) continue;
        if (header.count == 0) {
            split_fields(line, &header);
            if (!results->header) results->header = copy_string(line);
            continue;
        }
        split_fields(line, &row);
        append_row(results, read_row(&header, &row), line);
        free_fields(&row);
    }
    free_fields(&header);
    text_free(&content);
    return EXIT_PASS;
}

/* What a case can come to. Other words (NO_DEVICE, BROKEN) say nothing about the kernel. */
static const char *const states[] = {"PASS",    "NOT_STARTED", "FAIL",       "CRASH",
                                     "TIMEOUT", "REFUSED",     "BUILD_ERROR"};
enum {
    RANK_PASS,
    RANK_NOT_STARTED,
    RANK_FAIL,
    RANK_CRASH,
    RANK_TIMEOUT,
    RANK_REFUSED,
    RANK_BUILD_ERROR,
    RANKS
};

static int state_rank(const char *state)
{
    int rank = 0;
    while (rank < RANKS && strcmp(states[rank], state) != 0) rank++;
    return rank;
}

/* All passed: PASS. One kind of failure: that. More kinds: FAIL. What is left has parts not started. */
const char *results_state(const struct results *results)
{
    size_t count[RANKS + 1] = {0};
    int kinds = 0, failure = RANK_FAIL;
    for (size_t i = 0; i < results->count; i++) count[state_rank(results->rows[i].state)]++;
    for (int rank = RANK_FAIL; rank < RANKS; rank++) {
        if (count[rank] == 0) continue;
        failure = rank;
        kinds++;
    }
    if (kinds > 0) return states[kinds == 1 ? failure : RANK_FAIL];
    if (count[RANK_NOT_STARTED] > 0) return states[RANK_NOT_STARTED];
    return count[RANK_PASS] > 0 ? states[RANK_PASS] : "NOTHING_RAN";
}

int state_is_failure(const char *state)
{
    int rank = state_rank(state);
    return rank >= RANK_FAIL && rank < RANKS;
}

/* A kernel that does not even compile is not what a test that expects FAIL is about. */
int state_is_expected(const char *state, const char *expected)
{
    if (strcmp(expected, "FAIL") != 0) return strcmp(expected, state) == 0;
    return state_is_failure(state) && strcmp(state, "BUILD_ERROR") != 0;
}

int state_was_executed(const char *state)
{
    int rank = state_rank(state);
    return rank == RANK_PASS || rank == RANK_FAIL || rank == RANK_CRASH || rank == RANK_TIMEOUT;
}

double results_points(const struct results *results, double *points_max)
{
    double points = 0;
    *points_max = 0;
    for (size_t i = 0; i < results->count; i++) {
        if (results->rows[i].points > 0) points += results->rows[i].points;
        if (results->rows[i].points_max > 0) *points_max += results->rows[i].points_max;
    }
    return points;
}

enum colour state_colour(const char *state)
{
    if (strcmp(state, "PASS") == 0) return COLOUR_GREEN;
    return state_is_failure(state) ? COLOUR_RED : COLOUR_YELLOW;
}
