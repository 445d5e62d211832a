/* Finds numbers in a page that look measured but were typed by hand. */
#include "stray.h"

#include "writing.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* What a line belongs to; a block of code or of filled-in numbers goes over several. */
enum place { PROSE, CODE, FILLED, ALLOWED, COMMENT };

static const char FILLED_BEGIN[] = "<!-- measured: ", FILLED_END[] = "<!-- /measured -->";
static const char ALLOWED_BEGIN[] = "<!-- numbers: ", COMMENT_BEGIN[] = "<!-- ", COMMENT_END[] = "-->";

/* The length of the unit at a place, 0 if there is none. */
static size_t unit_at(const char *at)
{
    static const char *const units[] = {"TFLOP/s",      "GFLOP/s",      "TB/s",    "GB/s",
                                        "MB/s",         "µs",           "us",      "ms",
                                        "microseconds", "milliseconds", "seconds", "ns"};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        size_t length = strlen(units[i]);
        if (strncmp(at, units[i], length) == 0 && !isalnum((unsigned char)at[length])) return length;
    }
    return 0;
}

/* Whether a share, a multiple or a unit follows the number that ends here. */
static int is_measured(const char *after)
{
    if (starts(after, "×") && after[strlen("×")] != ' ') return 1; // 15×, but not 16 × 16
    if (*after == '%') return 1;
    after += strspn(after, " ");
    return unit_at(after) > 0 || (*after == '%' && after[1] != ' ') ||
           (starts(after, "times") && !isalpha((unsigned char)after[5]));
}

/* Whether a line, which ends at @p end, has a number that looks measured, or as a row of a table a bare unit. */
static int has_number(const char *line, const char *end)
{
    int in_code = 0;
    for (const char *at = line; at < end;) {
        if (*at == '`') in_code = !in_code;
        if (in_code) {
            at++;
        } else if (isdigit((unsigned char)*at)) {
            at += strspn(at, "0123456789.,");
            if (isdigit((unsigned char)at[-1]) && is_measured(at)) return 1;
        } else if (*line == '|' && at > line && strchr(" |", at[-1]) != NULL && unit_at(at) > 0) {
            return 1;
        } else {
            at++;
        }
    }
    return 0;
}

/* The place of this line, by that of the line before. */
static enum place place_of(const char *line, size_t length, enum place before)
{
    if (before == CODE) return starts(line, "```") ? PROSE : CODE;
    if (before == FILLED) return starts(line, FILLED_END) ? PROSE : FILLED;
    if (starts(line, "```")) return CODE;
    if (before == COMMENT) return starts(line, COMMENT_END) ? PROSE : COMMENT;
    int goes_on = memmem(line, length, COMMENT_END, strlen(COMMENT_END)) == NULL;
    if (starts(line, FILLED_BEGIN) && goes_on) return FILLED;
    if (starts(line, ALLOWED_BEGIN)) return ALLOWED;
    if (starts(line, COMMENT_BEGIN) && goes_on) return COMMENT;
    return before == ALLOWED && length > 0 ? ALLOWED : PROSE;
}

int report_stray_numbers(const char *page, const char *where)
{
    enum place place = PROSE;
    int found = 0, number = 1;
    for (const char *line = page; *line != '\0'; number++) {
        size_t length = strcspn(line, "\n");
        place = place_of(line, length, place);
        if (place == PROSE && has_number(line, line + length)) {
            printf("%s:%d: a measured number typed by hand? Put it between '%sNAME' and '%s', or write "
                   "'%sWHY -->' above "
                   "its paragraph if it was not measured:\n    %.*s\n",
                   where, number, FILLED_BEGIN, FILLED_END, ALLOWED_BEGIN, (int)length, line);
            found++;
        }
        line += length + (line[length] == '\n');
    }
    return found;
}
