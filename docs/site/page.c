/*
 * A page as Doxygen is to read it. Pages are written for a forge: GitHub's markdown, with $formulas$, folded <details>,
 * and links from file to file. Doxygen 1.9.4 knows neither, so they become what it passes through or can follow:
 *
 *     # Title                   # Title {#page}                       page_name()
 *     ## Goal                   ## Goal {#page_goal}                  so that links to headings work
 *     $x_i$, ```math            <math> elements                       formula.h
 *     ![text](figure.svg)       the figure's own elements, in place   dark and light as the page is
 *     <details><summary>        the same, but out of Doxygen's paragraphs
 *     [text](file.md#heading)   @ref page_heading                     links.c
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter.h"
#include "links.h"
#include "formula.h"
#include "pager.h"

/* One page on its way through. */
struct page {
    const struct site *site;
    const char *path; /* in the tree */
    char name[128];
    struct text *out;
    int bad; /* a message was printed */
    int line;
    int titled;
    const struct lesson_folder *lesson; /* NULL unless it is a lesson's page or its notes */
};

static void warn(struct page *page, const char *what, const char *detail)
{
    fprintf(stderr, "%s:%d: warning: %s: %s\n", page->path, page->line, what, detail);
    page->bad = 1;
}

/* ---- inside a line ------------------------------------------------------------------------------------------------ */

static void add_formula(struct page *page, const char *tex, size_t length, int block)
{
    char *copy = strndup(tex, length);
    text_add(page->out, block ? "\n@htmlonly[block]\n" : "@htmlonly");
    const char *error = math_to_mathml(page->out, copy, block);
    text_add(page->out, block ? "\n@endhtmlonly\n\n" : "@endhtmlonly");
    if (error != NULL) warn(page, "formula", error);
    free(copy);
}

/* The closing dollar of a formula that begins at @p at, as GitHub has it: no space inside, no digit behind. */
static const char *formula_end(const char *at)
{
    if (at[1] == ' ' || at[1] == '$' || at[1] == '\0') return NULL;
    const char *end = strchr(at + 1, '$');
    return end == NULL || end[-1] == ' ' || isdigit((unsigned char)end[1]) ? NULL : end;
}

/* A figure's elements in place of its picture, so that its colours are the page's. */
static void add_figure(struct page *page, const char *target, const char *alt, size_t alt_length)
{
    char path[TREE_PATH_MAX], full[2 * TREE_PATH_MAX];
    if (resolve_link(page->path, target, path, sizeof path) != 0) path[0] = '\0';
    snprintf(full, sizeof full, "%s/%s", page->site->root, path);
    char *svg = read_whole(full);
    const char *element = svg == NULL ? NULL : strstr(svg, "<svg");
    if (element == NULL) {
        warn(page, "no such figure", target);
    } else {
        text_add(page->out, "\n@htmlonly[block]\n<figure class=\"drawn\"><div class=\"scroll\">");
        text_add(page->out, element);
        text_add(page->out, "</div>");
        if (alt_length > 0) {
            text_add(page->out, "<figcaption>");
            text_add_escaped(page->out, alt, alt_length);
            text_add(page->out, "</figcaption>");
        }
        text_add(page->out, "</figure>\n@endhtmlonly\n");
    }
    free(svg);
}

/* A link or a picture that begins at @p at; returns its end, or NULL if it is none. */
static const char *add_link(struct page *page, const char *at)
{
    int picture = *at == '!';
    const char *text = at + picture + 1;
    int depth = 1;
    const char *end = text;
    for (; *end != '\0' && depth > 0; end++) depth += *end == '[' ? 1 : *end == ']' ? -1 : 0;
    if (depth > 0 || *end != '(') return NULL;
    const char *close = strchr(end, ')');
    if (close == NULL) return NULL;
    size_t length = (size_t)(end - 1 - text);
    char target[TREE_PATH_MAX];
    snprintf(target, sizeof target, "%.*s", (int)(close - end - 1), end + 1);
    if (picture)
        add_figure(page, target, text, length);
    else if (add_site_link(page->out, page->site, page->path, page->name, target, text, length) != 0)
        warn(page, "link leads nowhere", target);
    return close + 1;
}

/* Where the bold text that begins at @p at has its closing marks, on this line and outside of code; or NULL. */
static const char *bold_end(const char *at)
{
    int code = 0;
    for (at += 2; *at != '\0'; at++) {
        if (*at == '`') code = !code;
        if (!code && starts(at, "**")) return at;
    }
    return NULL;
}

static void add_inline(struct page *page, const char *line)
{
    const char *bold = NULL; // Doxygen knows no bold text that begins or ends with code
    for (const char *at = line; *at != '\0';) {
        if (starts(at, "**") && (at == bold || (bold == NULL && (bold = bold_end(at)) != NULL))) {
            text_add(page->out, at == bold ? "</b>" : "<b>");
            if (at == bold) bold = NULL;
            at += 2;
            continue;
        }
        if (*at == '`') {
            size_t ticks = strspn(at, "`");
            const char *end = strstr(at + ticks, ticks == 1 ? "`" : "``");
            size_t length = end == NULL ? strlen(at) : (size_t)(end - at) + ticks;
            text_append(page->out, at, length);
            at += length;
            continue;
        }
        const char *next = NULL;
        if (*at == '$' && (next = formula_end(at)) != NULL) {
            add_formula(page, at + 1, (size_t)(next - at) - 1, 0);
            at = next + 1;
        } else if ((*at == '[' || (*at == '!' && at[1] == '[')) && (next = add_link(page, at)) != NULL) {
            at = next;
        } else {
            text_append(page->out, at++, 1);
        }
    }
}

/* Plain text with `code`, as HTML. */
static void add_html(struct page *page, const char *text, size_t length)
{
    int code = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '`') {
            text_add(page->out, code ? "</code>" : "<code>");
            code = !code;
        } else
            text_add_escaped(page->out, &text[i], 1);
    }
}

/* ---- whole lines -------------------------------------------------------------------------------------------------- */

/* A link to the finished kernel, or to the finished Python, which Doxygen does not show. */
static void add_solution_link(struct page *page, const char *words)
{
    const struct lesson_folder *lesson = page->lesson;
    text_print(page->out, "[%s](%ssolutions/%s/%s.%s)", words, lesson->is_python ? "files/" : "@ref ",
               lesson->folder, lesson->topic, lesson->is_python ? "py" : "cu");
}

/* Contract, skeleton and speed of the lesson, in one line under the title; on the page of the notes the lesson and the solution, too. */
static void add_lesson_links(struct page *page)
{
    const struct lesson_folder *lesson = page->lesson;
    const char *folder = lesson->folder, *topic = lesson->topic, *number = lesson->number, *between = " · ";
    int notes = starts(page->name, "notes_");
    text_add(page->out, "\n@htmlonly[block]\n<div class=\"belongs\">\n@endhtmlonly\n\n");
    if (notes) text_print(page->out, "[Lesson](@ref lesson_%s)%s", number, between);
    if (lesson->is_python)
        text_print(page->out, "[Skeleton](files/lessons/%s/%s.py)", folder, topic);
    else
        text_print(page->out, "[Contract](@ref lessons/%s/%s.h)%s[Skeleton](@ref skeleton_%s)", folder, topic,
                   between, number);
    if (notes) text_add(page->out, between), add_solution_link(page, "Solution");
    if (!lesson->is_python && lesson->measured)
        text_print(page->out, "%s[Measured](@ref measured_%s)", between, folder);
    else if (!lesson->is_python)
        text_print(page->out, "%snot measured yet", between);
    text_add(page->out, "\n\n@htmlonly[block]\n</div>\n@endhtmlonly\n\n");
}

/* All lessons, for the side of a lesson's page. */
static void add_sidebar(struct page *page)
{
    text_add(page->out, "\n@htmlonly[block]\n<nav class=\"lessons\" aria-label=\"lessons\">\n");
    for (int i = 0; i < page->site->lesson_count; i++) {
        const struct lesson_folder *lesson = &page->site->lessons[i];
        text_print(page->out, "<a href=\"lesson_%s.html\"%s>%s ", lesson->number,
                   lesson == page->lesson ? " aria-current=\"page\"" : "", lesson->number);
        text_add_escaped(page->out, lesson->title, strlen(lesson->title));
        text_add(page->out, "</a>\n");
    }
    text_add(page->out, "</nav>\n@endhtmlonly\n\n");
}

/* What is to be read after the lesson, at its end. */
static void add_solution_links(struct page *page)
{
    const struct lesson_folder *lesson = page->lesson;
    if (lesson == NULL || !starts(page->name, "lesson_")) return;
    text_print(page->out, "\n\nOnce your %s: ", lesson->is_python ? "functions pass" : "kernel passes");
    add_solution_link(page, "the solution");
    text_print(page->out, ", and [why it %s](@ref notes_%s).\n",
               lesson->is_python ? "is as it is" : "is fast", lesson->number);
}

static void add_heading(struct page *page, const char *line)
{
    size_t level = strspn(line, "#");
    const char *heading = line + level + 1;
    int length = (int)strlen(heading);
    while (length > 0 && isspace((unsigned char)heading[length - 1])) length--;
    if (level == 1 && !page->titled) {
        page->titled = 1;
        const char *label = strstr(heading, " {#");
        if (label != NULL) length = (int)(label - heading);
        text_print(page->out, "# %.*s {#%s}\n", length, heading, page->name);
        if (strcmp(page->name, "mainpage") != 0) text_add(page->out, "\n[TOC]\n");
        if (page->lesson != NULL) {
            add_sidebar(page);
            add_lesson_links(page);
        }
        return;
    }
    char slug[256], label[512];
    heading_slug(heading, slug, sizeof slug);
    heading_label(page->name, slug, label, sizeof label);
    text_append(page->out, line, level + 1);
    char *copy = strndup(heading, (size_t)length);
    add_inline(page, copy);
    free(copy);
    text_print(page->out, " {#%s}\n", label);
}

static void add_details(struct page *page, const char *line)
{
    const char *summary = strstr(line, "<summary>"), *end = strstr(line, "</summary>");
    text_add(page->out, "\n@htmlonly[block]\n");
    if (starts(line, "</details>"))
        text_add(page->out, "</div></details>");
    else if (summary == NULL || end == NULL)
        warn(page, "summary and its end must stand on the line of", "<details>");
    else {
        text_add(page->out, "<details><summary>");
        add_html(page, summary + 9, (size_t)(end - summary) - 9);
        text_add(page->out, "</summary><div>");
    }
    text_add(page->out, "\n@endhtmlonly\n\n");
}

/* The opening line of a fence: Doxygen colours C, and takes the rest as it is. */
static void add_fence(struct page *page, const char *info)
{
    int c = starts(info, "c") && (info[1] == '\n' || starts(info, "cuda"));
    text_add(page->out, c ? "```{.c}\n" : "```{.unparsed}\n");
}

/* The course's map: the first block of its section on the course's page. */
static void add_map(struct page *page)
{
    struct text path = {0};
    text_print(&path, "%s/lessons/README.md", page->site->root);
    char *course = read_whole(path.data);
    const char *map = course == NULL ? NULL : strstr(course, "\n## The map\n");
    const char *begin = map == NULL ? NULL : strstr(map, "\n```\n"),
               *end = begin == NULL ? NULL : strstr(begin + 5, "\n```\n");
    if (end == NULL)
        warn(page, "no map in", path.data);
    else {
        add_fence(page, "");
        text_append(page->out, begin + 5, (size_t)(end - begin) - 4);
        text_add(page->out, "```\n");
    }
    free(course);
    text_free(&path);
}

static void add_line(struct page *page, const char *line)
{
    if (line[0] == '#' && line[strspn(line, "#")] == ' ')
        add_heading(page, line);
    else if (starts(line, "<details>") || starts(line, "</details>"))
        add_details(page, line);
    else if (starts(line, "    "))
        text_add(page->out, line); // indented code, or the rest of a list item
    else if (starts(line, "<!-- lessons -->"))
        add_lesson_table(page->out, page->site);
    else if (starts(line, "<!-- map -->"))
        add_map(page);
    else if (starts(line, "**Next:** ["))
        return; // for readers of the Markdown: pages of the site have links to both sides, add_pager()
    else
        add_inline(page, line);
}

int filter_page(const struct site *site, const char *path, const char *content, struct text *out)
{
    struct page page = {.site = site, .path = path, .out = out};
    struct text formula = {0};
    int fence = 0; // 1 inside ```, 2 inside ```math
    page_name(path, page.name, sizeof page.name);
    page.lesson = lesson_of(site, path);
    for (const char *at = content; *at != '\0';) {
        size_t length = strcspn(at, "\n");
        length += at[length] == '\n';
        char *line = strndup(at, length);
        page.line++;
        if (starts(line, "```")) {
            if (fence == 2) {
                add_formula(&page, formula.data != NULL ? formula.data : "", formula.length, 1);
                text_free(&formula);
            } else if (fence == 1)
                text_add(out, line);
            else if (!starts(line, "```math"))
                add_fence(&page, line + 3);
            fence = fence > 0 ? 0 : starts(line, "```math") ? 2 : 1;
        } else if (fence == 2)
            text_add(&formula, line);
        else if (fence == 1)
            text_add(out, line);
        else
            add_line(&page, line);
        free(line);
        at += length;
    }
    add_solution_links(&page);
    add_pager(out, site, page.name, page.lesson);
    return page.bad ? -1 : 0;
}
