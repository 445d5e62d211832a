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

enum { MAX_COLUMNS = 96 };

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

void results_without_run(struct results *results, const char *lesson, const char *device, enum state state,
                         const char *headline)
{
    const char *const known[][2] = {{"lesson", lesson}, {"device", device},  {"state", state_name(state)},
                                    {"points", "0"},    {"points_max", "0"}, {"headline", headline}};
    const char *columns = RECORD_COLUMNS;
    struct text line = {0};
    for (char *column; columns != NULL && (column = csv_field(&columns)) != NULL; free(column)) {
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
    while (line != NULL && fields->count < MAX_COLUMNS) fields->name[fields->count++] = csv_field(&line);
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

/* "alpha.cu:121;alpha.cu:84" */
static void read_places(const char *field, struct result_place places[RESULT_PLACES + 1])
{
    const char *rest = *field ? field : NULL;
    int count = 0;
    for (char *place; count < RESULT_PLACES && (place = next_word(&rest, ';')) != NULL;) {
        char *colon = strrchr(place, ':');
        if (colon == NULL) continue;
        *colon = '\0';
        places[count++] = (struct result_place){place, atoi(colon + 1)};
    }
}

/* A field of several lines, which stand in one row of the file (protocol/record_columns.h). */
static char *read_lines(const char *field)
{
    struct text out = {0};
    text_append(&out, "", 0);
    for (; *field; field++) {
        int escaped = *field == '\\' && field[1];
        if (escaped) field++;
        text_append(&out, escaped && *field == 'n' ? "\n" : field, 1);
    }
    return out.data;
}

static struct result_row read_row(const struct fields *header, const struct fields *row)
{
    struct result_row read = {
        .lesson = copy_string(field_called(header, row, "lesson")),
        .part = copy_string(field_called(header, row, "part")),
        .test_case = copy_string(field_called(header, row, "case")),
        .group = copy_string(field_called(header, row, "group")),
        .shape = copy_string(field_called(header, row, "shape")),
        .state = state_of(field_called(header, row, "state")),
        .part_state = state_of(field_called(header, row, "part_state")),
        .left_out = atoi(field_called(header, row, "left_out")),
        .finding = record_kind_of(field_called(header, row, "finding")),
        .kind = record_kind_of(field_called(header, row, "kind")),
        .cause = record_cause_of(field_called(header, row, "cause")),
        .buffer = copy_string(field_called(header, row, "buffer")),
        .index = copy_string(field_called(header, row, "index")),
        .function = copy_string(field_called(header, row, "function")),
        .block = copy_string(field_called(header, row, "block")),
        .thread = copy_string(field_called(header, row, "thread")),
        .time_refused = copy_string(field_called(header, row, "time_refused")),
        .headline = copy_string(field_called(header, row, "headline")),
        .pattern = copy_string(field_called(header, row, "pattern")),
        .found = read_lines(field_called(header, row, "found")),
        .text = read_lines(field_called(header, row, "text")),
        .guess = *field_called(header, row, "guess") ? atoi(field_called(header, row, "guess")) : -1,
        .shown = atoi(field_called(header, row, "shown")),
        .points = number_called(header, row, "points"),
        .points_max = number_called(header, row, "points_max"),
        .median_us = number_called(header, row, "median_us"),
        .p10_us = number_called(header, row, "p10_us"),
        .p90_us = number_called(header, row, "p90_us"),
        .host_seconds = number_called(header, row, "host_seconds"),
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
    read_places(field_called(header, row, "at"), read.at[0]);
    read_places(field_called(header, row, "other_at"), read.at[1]);
    return read;
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
    for (char *line; (line = next_word(&rest, '\n')) != NULL; free(line)) {
        if (!*line) continue;
        if (header.count == 0) {
            split_fields(line, &header);
            if (results->header == NULL) results->header = copy_string(line);
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

int result_counts(const struct result_row *row)
{
    return row->state == STATE_PASS && (row->points > 0 || !(row->points_max > 0));
}

/* All passed: PASS. One kind of failure: that. More kinds: FAIL. Without a failure, what is not started decides. Other
 * states say nothing about the kernel. */
enum state results_state(const struct results *results)
{
    size_t count[STATE_COUNT] = {0};
    int kinds = 0, begun = 0;
    enum state failure = STATE_FAIL;
    for (size_t i = 0; i < results->count; i++) {
        count[results->rows[i].state]++;
        begun |= result_counts(&results->rows[i]);
    }
    for (int state = 0; state < STATE_COUNT; state++) {
        if (count[state] == 0 || !state_is_failure((enum state)state)) continue;
        failure = (enum state)state;
        kinds++;
    }
    if (kinds > 0) return kinds == 1 ? failure : STATE_FAIL;
    if (count[STATE_NOT_STARTED] > 0) return begun ? STATE_IN_PROGRESS : STATE_NOT_STARTED;
    return count[STATE_PASS] > 0 ? STATE_PASS : STATE_NOTHING_RAN;
}

const struct result_row *results_shown(const struct results *results, int shown)
{
    for (size_t i = 0; i < results->count; i++)
        if (results->rows[i].shown == shown) return &results->rows[i];
    return NULL;
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

enum colour state_colour(enum state state)
{
    if (state == STATE_PASS) return COLOUR_GREEN;
    return state_is_failure(state) ? COLOUR_RED : COLOUR_YELLOW;
}
