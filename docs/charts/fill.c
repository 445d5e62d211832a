/*
 * Fills measured numbers into pages. A page holds the text with its gaps, in a comment, and below it what came out:
 *
 *     <!-- measured: NAME
 *     | lesson 02 | {02; attention; attention/heads_16_len_2048; time; ms} |
 *     -->
 *     | lesson 02 | 1.04 |
 *     <!-- /measured -->
 *
 * A gap is {lesson; kernel; case; metric; form}: a key of four fields, then a form. In place of the key there may be
 * keys and plain numbers joined by " * " and " / ", computed from left to right: {2 * key / key; form}. Forms are listed
 * in add_number(). {simt; ...} asks the software device's file. A line with a gap that nobody has measured yet is left
 * out, so the text must be true without it.
 *
 *     fill_numbers [--check] GPU.csv SIMT.csv PAGE.md...
 *     fill_numbers --stray PAGE.md...                        measured numbers that were typed by hand: see stray.h
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "records.h"
#include "stray.h"
#include "writing.h"

enum { KEY_FIELDS = 4 };

struct sources {
    struct records gpu, simt;
};

static const char BEGIN[] = "<!-- measured: ", END[] = "<!-- /measured -->\n";

static char *trim(char *string)
{
    while (*string == ' ') string++;
    size_t length = strlen(string);
    while (length > 0 && string[length - 1] == ' ') string[--length] = '\0';
    return string;
}

/* Three digits that count: 0.193, 1.04, 19.6, 268, and 12,345 for more. */
static void add_digits(struct text *out, double value)
{
    double size = fabs(value);
    if (size < 9.995)
        text_print(out, "%.*f", size < 0.9995 ? 3 : 2, value);
    else if (size < 99.95)
        text_print(out, "%.1f", value);
    else if (size < 9999.5)
        text_print(out, "%.0f", value);
    else {
        long long whole = llround(value);
        if (whole >= 1000000)
            text_print(out, "%lld,%03lld,%03lld", whole / 1000000, whole / 1000 % 1000, whole % 1000);
        else
            text_print(out, "%lld,%03lld", whole / 1000, whole % 1000);
    }
}

/* Returns 0 if the form is not known. */
static int add_number(struct text *out, double value, const char *form)
{
    static const struct {
        const char *name;
        double factor;
        const char *after;
    } forms[] = {{"us", 1, ""},         {"ms", 1e-3, ""},   {"GB", 1e-9, ""},
                 {"MB", 1e-6, ""},      {"number", 1, ""},  {"x", 1, "×"},
                 {"percent", 100, "%"}, {"GB/s", 1e-3, ""}, // of bytes / us
                 {"TFLOP/s", 1e-6, ""}};                    // of flop / us
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (strcmp(forms[i].name, form) != 0) continue;
        if (strcmp(form, "percent") == 0)
            text_print(out, "%.0f", value * forms[i].factor);
        else if (strcmp(form, "x") == 0 && value >= 9.95)
            text_print(out, "%.0f", value);
        else if (strcmp(form, "x") == 0)
            text_print(out, value >= 2.0 ? "%.1f" : "%.2f", value);
        else
            add_digits(out, value * forms[i].factor);
        text_add(out, forms[i].after);
        return 1;
    }
    return 0;
}

/* The number behind a key; NAN if nobody measured it. */
static double look_up(const struct sources *sources, char *key, const char *where)
{
    char *fields[KEY_FIELDS], *rest = key;
    const struct records *records = &sources->gpu;
    if (strncmp(trim(key), "simt;", 5) == 0) {
        records = &sources->simt;
        rest = strchr(key, ';') + 1;
    }
    for (int i = 0; i < KEY_FIELDS; i++) {
        char *field = strsep(&rest, ";");
        if (field == NULL) fail("%s: a key has four fields: %s", where, key);
        fields[i] = trim(field);
    }
    const struct record *record = find_record(records, fields[0], fields[1], fields[2], fields[3]);
    return record == NULL ? NAN : record->value;
}

/* Keys and numbers joined by " * " and " / ", from left to right; NAN if one of them nobody measured. Cuts it up. */
static double compute(const struct sources *sources, char *expression, const char *where)
{
    double value = 1;
    for (char operation = '*'; expression != NULL;) {
        char *times = strstr(expression, " * "), *by = strstr(expression, " / ");
        char *end = times == NULL || (by != NULL && by < times) ? by : times;
        char next = end == NULL ? '\0' : end[1];
        if (end != NULL) *end = '\0';
        double factor;
        if (strchr(expression, ';') == NULL) {
            char *rest;
            factor = strtod(expression, &rest);
            if (*trim(rest) != '\0') fail("%s: neither a key nor a number: %s", where, expression);
        } else
            factor = look_up(sources, expression, where);
        value = operation == '*' ? value * factor : value / factor;
        operation = next;
        expression = end == NULL ? NULL : end + 3;
    }
    return value;
}

/* One gap, without its braces. Returns 0 if nobody measured it. */
static int add_gap(struct text *out, const struct sources *sources, const char *gap, size_t length,
                   const char *where)
{
    char *copy = strndup(gap, length), *form = strrchr(copy, ';');
    if (form == NULL) fail("%s: a gap without a form: %s", where, copy);
    *form++ = '\0';
    double value = compute(sources, copy, where);
    int known = !isnan(value);
    if (known && !add_number(out, value, trim(form))) fail("%s: unknown form '%s'", where, form);
    free(copy);
    return known;
}

static void add_template(struct text *out, const struct sources *sources, const char *from, const char *end,
                         const char *where)
{
    while (from < end) {
        size_t length = strcspn(from, "\n");
        struct text line = {0};
        int known = 1;
        text_add(&line, "");
        for (const char *at = from; at < from + length;) {
            const char *close = *at == '{' ? memchr(at, '}', (size_t)(from + length - at)) : NULL;
            if (close == NULL)
                text_append(&line, at++, 1);
            else {
                known &= add_gap(&line, sources, at + 1, (size_t)(close - at) - 1, where);
                at = close + 1;
            }
        }
        if (known) text_print(out, "%s\n", line.data);
        text_free(&line);
        from += length + 1;
    }
}

static void fill_page(struct text *out, const struct sources *sources, const char *page, const char *where)
{
    for (const char *begin;;) {
        begin = strstr(page, BEGIN);
        if (begin != NULL && begin > page && begin[-1] != '\n') { // an example of one, indented
            text_append(out, page, (size_t)(begin - page) + strlen(BEGIN));
            page = begin + strlen(BEGIN);
            continue;
        }
        const char *line_end = begin == NULL ? NULL : strchr(begin, '\n');
        if (line_end == NULL) break;
        const char *body = line_end + 1;
        if (line_end - begin >= 3 && strncmp(line_end - 3, "-->", 3) == 0) { // a marker without a template
            text_append(out, page, (size_t)(body - page));
            page = body;
            continue;
        }
        const char *close = strstr(body, "-->\n");
        const char *end = close == NULL ? NULL : strstr(close, END);
        if (end == NULL) fail("%s: '%.60s' has no --> or no <!-- /measured -->", where, begin);
        text_append(out, page, (size_t)(close + 4 - page));
        add_template(out, sources, body, close, where);
        text_add(out, END);
        page = end + strlen(END);
    }
    text_add(out, page);
}

/* Says where pages have measured numbers outside of markers. */
static int find_stray(int count, char **paths)
{
    int found = 0;
    for (int i = 0; i < count; i++) {
        char *page = read_whole(paths[i]);
        if (page == NULL) fail("%s: cannot be read", paths[i]);
        found += report_stray_numbers(page, paths[i]);
        free(page);
    }
    return found > 0;
}

int main(int count, char **arguments)
{
    if (count > 2 && strcmp(arguments[1], "--stray") == 0) return find_stray(count - 2, arguments + 2);
    int check = count > 1 && strcmp(arguments[1], "--check") == 0, stale = 0;
    arguments += check;
    count -= check;
    if (count < 4) fail("usage: fill_numbers [--check] GPU.csv SIMT.csv PAGE.md..., or --stray PAGE.md...");
    struct sources sources = {.gpu = read_records(arguments[1])};
    char *simt = read_whole(arguments[2]);
    if (simt != NULL) sources.simt = read_records(arguments[2]);
    free(simt);
    for (int i = 3; i < count; i++) {
        char *page = read_whole(arguments[i]);
        if (page == NULL) fail("%s: cannot be read", arguments[i]);
        struct text out = {0};
        fill_page(&out, &sources, page, arguments[i]);
        if (check && strcmp(page, out.data) != 0) {
            printf("%s: numbers differ from the recorded ones: cmake --build build --target charts\n",
                   arguments[i]);
            stale = 1;
        } else if (!check && write_if_changed(arguments[i], out.data) != 0)
            stale = 1;
        text_free(&out);
        free(page);
    }
    free_records(&sources.gpu);
    free_records(&sources.simt);
    return stale;
}
