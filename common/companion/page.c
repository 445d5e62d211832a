/**
 * @file page.c
 * @brief Reads those parts of a lesson's page that this program uses, and the regions of a kernel file.
 */
#include "page.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "course/course.h"

char *page_path(const struct lesson_folder *lesson)
{
    return format_string("%s/lessons/%s/README.md", course_source_dir(), lesson->name);
}

/* The text of section "## TITLE", up to the next "## ", copied; NULL if there is none. */
static char *page_section(const struct lesson_folder *lesson, const char *title)
{
    struct text page = {0}, section = {0};
    char *path = page_path(lesson), *heading = format_string("## %s", title);
    int inside = 0, found = 0;
    const char *rest = read_file(path, &page) == 0 ? page.data : NULL;
    for (char *line; (line = next_word(&rest, '\n')) != NULL; free(line)) {
        if (strncmp(line, "## ", 3) == 0) {
            inside = strcmp(line, heading) == 0;
            found = found || inside;
        } else if (inside) {
            text_print(&section, "%s\n", line);
        }
    }
    free(heading);
    free(path);
    text_free(&page);
    if (found && section.data == NULL) text_append(&section, "", 0);
    return section.data;
}

/* ---- hints -------------------------------------------------------------------------------------------- */

static char *trimmed(const char *text, size_t length)
{
    while (length && strchr(" \n\r\t", *text) != NULL) text++, length--;
    while (length && strchr(" \n\r\t", text[length - 1]) != NULL) length--;
    return format_string("%.*s", (int)length, text);
}

static void add_hint(struct hints *hints, const char *summary, const char *answer)
{
    struct hint *items = must_allocate((hints->count + 1) * sizeof *items);
    const char *colon = strstr(summary, ": ");
    if (hints->count) memcpy(items, hints->items, hints->count * sizeof *items);
    free(hints->items);
    hints->items = items;
    items[hints->count++] =
        (struct hint){.region = colon != NULL ? trimmed(summary, (size_t)(colon - summary)) : copy_string(""),
                      .question = copy_string(colon != NULL ? colon + 2 : summary),
                      .answer = copy_string(answer)};
}

/* Joins the lines of a paragraph, so that it can be wrapped to fit; code and lists keep their lines. */
static char *joined_paragraphs(const char *markdown)
{
    struct text out = {0};
    int fenced = 0, open_line = 0;
    text_append(&out, "", 0);
    for (char *line; (line = next_word(&markdown, '\n')) != NULL; free(line)) {
        int fence = strncmp(line, "```", 3) == 0;
        int own = fenced || strncmp(line, "    ", 4) == 0 || strncmp(line, "- ", 2) == 0 || *line == '|';
        if (fence) fenced = !fenced;
        if (fence) continue;
        if (!*line || own) {
            text_print(&out, "%s%s%s%s", open_line ? "\n" : "", fenced ? "    " : "", line,
                       own && *line != '-' ? "\n" : "");
            if (!*line && !fenced) text_append(&out, "\n", 1);
            open_line = own && *line == '-';
        } else {
            text_print(&out, "%s%s", open_line ? " " : "", line + strspn(line, " "));
            open_line = 1;
        }
    }
    char *whole = trimmed(out.data, out.length);
    text_free(&out);
    return whole;
}

void page_hints(const struct lesson_folder *lesson, struct hints *hints)
{
    static const char opening[] = "<summary>", middle[] = "</summary>", closing[] = "</details>";
    char *section = page_section(lesson, "Hints");
    *hints = (struct hints){0};
    for (const char *at = section; at != NULL && (at = strstr(at, opening)) != NULL;) {
        const char *summary = at + strlen(opening), *end = strstr(summary, middle);
        const char *close = end != NULL ? strstr(end, closing) : NULL;
        if (close == NULL) break;
        const char *body = end + strlen(middle);
        char *question = trimmed(summary, (size_t)(end - summary));
        char *text = format_string("%.*s", (int)(close - body), body), *answer = joined_paragraphs(text);
        add_hint(hints, question, answer);
        free(answer);
        free(text);
        free(question);
        at = close;
    }
    free(section);
}

char *page_goal(const struct lesson_folder *lesson)
{
    char *section = page_section(lesson, "Goal");
    if (section == NULL) return NULL;
    char *joined = joined_paragraphs(section);
    char *end = strchr(joined, '\n');
    if (end != NULL) *end = '\0';
    free(section);
    return joined;
}

/* ---- steps and failures -------------------------------------------------------------------------------- */

/* The next field of a line up to '|', without blanks around it; moves the line past it. */
static char *next_field(const char **line)
{
    size_t length = strcspn(*line, "|");
    char *field = trimmed(*line, length);
    *line += length + ((*line)[length] == '|');
    return field;
}

/* The first two fields of each line after one that begins with @p opening, to the end of the table or comment. */
static size_t read_fields(const struct lesson_folder *lesson, const char *opening, char *fields[][2],
                          size_t most)
{
    struct text page = {0};
    char *path = page_path(lesson);
    size_t count = 0;
    int inside = 0, table = *opening == '|';
    const char *rest = read_file(path, &page) == 0 ? page.data : NULL;
    for (char *line; (line = next_word(&rest, '\n')) != NULL; free(line)) {
        const char *field = line + table;
        if (table ? *line != '|' : strncmp(line, "-->", 3) == 0) inside = 0;
        if (inside && count < most && strncmp(line, "|-", 2) != 0) {
            fields[count][0] = next_field(&field);
            fields[count++][1] = next_field(&field);
        }
        inside |= strncmp(line, opening, strlen(opening)) == 0;
    }
    free(path);
    text_free(&page);
    return count;
}

size_t page_steps(const struct lesson_folder *lesson, struct page_step steps[MOST_STEPS])
{
    char *fields[MOST_STEPS][2];
    size_t count = read_fields(lesson, "<!-- steps", fields, MOST_STEPS);
    for (size_t i = 0; i < count; i++)
        steps[i] = (struct page_step){.regions = fields[i][0], .test_case = fields[i][1]};
    return count;
}

size_t page_rows(const struct lesson_folder *lesson, struct page_row rows[MOST_ROWS])
{
    char *fields[MOST_ROWS][2];
    size_t count = read_fields(lesson, "| the first case that fails | look at |", fields, MOST_ROWS);
    for (size_t i = 0; i < count; i++)
        rows[i] = (struct page_row){.fails = fields[i][0], .look_at = fields[i][1]};
    return count;
}

size_t page_causes(const struct lesson_folder *lesson, struct page_cause causes[MOST_CAUSES])
{
    char *fields[MOST_CAUSES][2];
    size_t count = read_fields(lesson, "<!-- causes", fields, MOST_CAUSES);
    for (size_t i = 0; i < count; i++)
        causes[i] = (struct page_cause){.causes = fields[i][0], .regions = fields[i][1]};
    return count;
}

char *next_quoted_name(const char **text)
{
    const char *begin = strchr(*text, '`'), *end = begin != NULL ? strchr(begin + 1, '`') : NULL;
    if (end == NULL) return NULL;
    *text = end + 1;
    return format_string("%.*s", (int)(end - begin - 1), begin + 1);
}

/* ---- regions ------------------------------------------------------------------------------------------ */

size_t kernel_regions(const char *source, struct region regions[MAX_REGIONS])
{
    static const char opening[] = "// [student: ", closing[] = "// [/student]";
    size_t count = 0;
    int inside = 0, number = 0;
    for (char *line; (line = next_word(&source, '\n')) != NULL; free(line)) {
        const char *text = line + strspn(line, " \t");
        number++;
        if (strncmp(text, opening, strlen(opening)) == 0 && count < MAX_REGIONS) {
            const char *name = text + strlen(opening);
            regions[count++] =
                (struct region){.name = format_string("%.*s", (int)strcspn(name, "]"), name), .line = number};
            inside = 1;
        } else if (strncmp(text, closing, strlen(closing)) == 0) {
            if (inside) regions[count - 1].last = number;
            inside = 0;
        } else if (inside && strstr(text, "TODO") != NULL) {
            regions[count - 1].todo = 1;
        }
    }
    return count;
}

/* The head comment is the student's as well, and says nothing about how far the work is. */
int kernel_is_skeleton(const char *source)
{
    struct region regions[MAX_REGIONS];
    size_t count = kernel_regions(source, regions);
    int work = 0, left = 0;
    for (size_t i = 0; i < count; i++) {
        int head = strcmp(regions[i].name, "head") == 0;
        work += !head;
        left += !head && regions[i].todo;
        free(regions[i].name);
    }
    return work > 0 && left == work;
}

char *kernel_regions_left(const char *kernel)
{
    struct text source = {0}, names = {0};
    struct region regions[MAX_REGIONS];
    size_t count = read_file(kernel, &source) == 0 ? kernel_regions(source.data, regions) : 0;
    for (size_t i = 0; i < count; i++) {
        if (regions[i].todo) text_print(&names, "%s%s", names.length ? ", " : "", regions[i].name);
        free(regions[i].name);
    }
    text_free(&source);
    return names.data;
}

/* The region called @p name that still says TODO; @p count if there is none. */
static size_t open_region(const struct region *regions, size_t count, const char *name)
{
    size_t i = 0;
    while (i < count && !(regions[i].todo && (name == NULL || strcmp(regions[i].name, name) == 0))) i++;
    return i;
}

/* "step 4, " where row 4 of the page's table of steps is the first that names the region; otherwise "". */
static char *step_of_region(const struct lesson_folder *lesson, const char *region)
{
    char *fields[MOST_STEPS][2], *step = NULL, *quoted = format_string("`%s`", region);
    size_t count = read_fields(lesson, "| step | write |", fields, MOST_STEPS);
    for (size_t i = 0; i < count; i++) {
        if (step == NULL && strstr(fields[i][1], quoted) != NULL)
            step = format_string("step %s, ", fields[i][0]);
        free(fields[i][0]);
        free(fields[i][1]);
    }
    free(quoted);
    return step != NULL ? step : copy_string("");
}

char *kernel_next_region(const struct lesson_folder *lesson, const char *kernel)
{
    struct text source = {0};
    struct region regions[MAX_REGIONS];
    struct page_step steps[MOST_STEPS];
    size_t count = read_file(kernel, &source) == 0 ? kernel_regions(source.data, regions) : 0, found = count;
    size_t step_count = page_steps(lesson, steps);
    for (size_t i = 0; i < step_count && found == count; i++) {
        const char *names = steps[i].regions;
        for (char *name; found == count && (name = next_word(&names, ' ')) != NULL; free(name))
            found = open_region(regions, count, name);
    }
    if (found == count) found = open_region(regions, count, NULL);
    char *step = found < count ? step_of_region(lesson, regions[found].name) : NULL;
    char *place =
        step != NULL ? format_string("%s%s (line %d)", step, regions[found].name, regions[found].line) : NULL;
    free(step);
    for (size_t i = 0; i < count; i++) free(regions[i].name);
    for (size_t i = 0; i < step_count; i++) free(steps[i].regions), free(steps[i].test_case);
    text_free(&source);
    return place;
}
