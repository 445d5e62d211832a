/*
 * The search index of the site: every section of every page with its text, as a script that site.js looks through. Ours,
 * because Doxygen's own search without a server knows names and titles and not what pages say.
 *
 *     site_index DIR          DIR holds the HTML files; writes DIR/search_index.js
 */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "html.h"
#include "writing.h"

/* The section that is being read. */
struct section {
    char page[256];    /* title of the page */
    char heading[256]; /* empty before the first heading */
    char url[512];
    struct text text;
};

static void add_string(struct text *out, const char *string)
{
    text_add(out, "\"");
    int blank = 1;
    for (const char *at = string; *at != '\0'; at++) {
        unsigned char c = (unsigned char)*at;
        if (isspace(c)) {
            if (!blank) text_add(out, " ");
            blank = 1;
            continue;
        }
        blank = 0;
        if (c == '"' || c == '\\') text_add(out, "\\");
        if (c == '<')
            text_add(out, "\\u003c");
        else
            text_append(out, at, 1);
    }
    text_add(out, "\"");
}

static void end_section(struct section *section, struct text *out)
{
    if (section->text.length > 0) {
        html_decode(section->text.data);
        html_decode(section->page);
        html_decode(section->heading);
        text_add(out, "[");
        add_string(out, section->url);
        text_add(out, ",");
        add_string(out, section->page);
        text_add(out, ",");
        add_string(out, section->heading);
        text_add(out, ",");
        add_string(out, section->text.data);
        text_add(out, "],\n");
    }
    text_free(&section->text);
    section->heading[0] = '\0';
}

static void append(char *string, size_t size, const struct html_piece *piece)
{
    size_t used = strlen(string);
    snprintf(string + used, size - used, "%.*s", (int)piece->length, piece->at);
    for (char *c = string; *c != '\0'; c++)
        if (isspace((unsigned char)*c)) *c = ' ';
}

/* Is this an element whose text belongs to no section: navigation, line numbers, pictures? */
static int is_noise(const struct html_piece *piece)
{
    char class[64] = "";
    if (strcmp(piece->name, "svg") == 0 || strcmp(piece->name, "nav") == 0) return 1;
    if (strcmp(piece->name, "span") == 0) // the mark in front of a function's name
        return html_attribute(piece, "class", class, sizeof class) && strcmp(class, "permalink") == 0;
    if (strcmp(piece->name, "div") != 0) return 0;
    return html_attribute(piece, "class", class, sizeof class) &&
           (strcmp(class, "toc") == 0 || strcmp(class, "ttc") == 0 || strcmp(class, "belongs") == 0);
}

/* In the glossary every row is a section of its own, whose heading is the word: what stands in the first cell. */
static void enter_cell(struct section *section, const struct html_piece *piece, char *in_heading,
                       struct text *out)
{
    int row = strcmp(piece->name, "tr") == 0, cell = strcmp(piece->name, "td") == 0;
    if (row && piece->kind == HTML_OPEN) end_section(section, out);
    if (cell && piece->kind == HTML_OPEN)
        *in_heading = *section->heading == '\0' ? 'd' : '\0'; // the first one
    if (cell && piece->kind == HTML_CLOSE) {
        *in_heading = '\0';
        text_add(&section->text, " ");
    }
}

static void index_page(const char *name, const char *html, struct text *out)
{
    struct section section = {.url = ""};
    struct html_piece piece;
    char in_heading[8] = "", noise[32] = "";
    int noise_depth = 0, in_title = 0, in_contents = 0;
    snprintf(section.url, sizeof section.url, "%s", name);
    for (const char *at = html; html_next(&at, &piece);) {
        char value[256];
        if (noise_depth > 0) {
            int same = strcmp(piece.name, noise) == 0;
            noise_depth += same && piece.kind == HTML_OPEN ? 1 : same && piece.kind == HTML_CLOSE ? -1 : 0;
        } else if (piece.kind == HTML_TEXT) {
            if (in_title)
                append(section.page, sizeof section.page, &piece);
            else if (in_heading[0] != '\0')
                append(section.heading, sizeof section.heading, &piece);
            else if (in_contents)
                text_append(&section.text, piece.at, piece.length);
        } else if (strcmp(piece.name, "title") == 0) {
            in_title = piece.kind == HTML_OPEN;
        } else if (piece.kind == HTML_OPEN && is_noise(&piece)) {
            snprintf(noise, sizeof noise, "%s", piece.name);
            noise_depth = 1;
        } else if (in_contents && strcmp(name, "glossary.html") == 0 &&
                   (strcmp(piece.name, "tr") == 0 || strcmp(piece.name, "td") == 0)) {
            enter_cell(&section, &piece, in_heading, out);
        } else if (piece.name[0] == 'h' && isdigit((unsigned char)piece.name[1]) && in_contents) {
            if (piece.kind == HTML_OPEN) end_section(&section, out);
            snprintf(in_heading, sizeof in_heading, "%s", piece.kind == HTML_OPEN ? "h" : "");
        } else if (piece.kind == HTML_OPEN && strcmp(piece.name, "a") == 0 && in_heading[0] != '\0' &&
                   html_attribute(&piece, "id", value, sizeof value)) {
            snprintf(section.url, sizeof section.url, "%s#%.200s", name, value);
        } else if (piece.kind == HTML_OPEN && strcmp(piece.name, "div") == 0 &&
                   html_attribute(&piece, "class", value, sizeof value)) {
            in_contents |= strcmp(value, "contents") == 0;
        } else if (in_contents && section.text.length > 0) {
            text_add(&section.text, " ");
        }
    }
    end_section(&section, out);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sources are found through what documents them; lists of everything would be found for every word. */
static int is_indexed(const char *name)
{
    size_t length = strlen(name);
    static const char *const lists[] = {"files.html",        "pages.html",     "index.html",
                                        "graph_legend.html", "annotated.html", "classes.html"};
    if (length < 5 || strcmp(name + length - 5, ".html") != 0 || strstr(name, "_source.html") != NULL)
        return 0;
    if (strncmp(name, "globals", 7) == 0 || strncmp(name, "functions", 9) == 0 ||
        strncmp(name, "dir_", 4) == 0)
        return 0;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        if (strcmp(name, lists[i]) == 0) return 0;
    return 1;
}

int main(int count, char **arguments)
{
    if (count != 2) fail("usage: site_index DIR");
    char path[4096], *names[4096];
    size_t found = 0;
    DIR *folder = opendir(arguments[1]);
    if (folder == NULL) fail("%s: cannot be read", arguments[1]);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL && found < 4096;)
        if (is_indexed(entry->d_name)) names[found++] = strdup(entry->d_name);
    closedir(folder);
    qsort(names, found, sizeof names[0], compare_names);
    struct text out = {0};
    text_add(&out, "const SEARCH_INDEX = [\n");
    for (size_t i = 0; i < found; i++) {
        snprintf(path, sizeof path, "%s/%s", arguments[1], names[i]);
        char *html = read_whole(path);
        if (html == NULL) fail("%s: cannot be read", path);
        index_page(names[i], html, &out);
        free(html);
        free(names[i]);
    }
    text_add(&out, "];\n");
    snprintf(path, sizeof path, "%s/search_index.js", arguments[1]);
    int status = write_if_changed(path, out.data);
    text_free(&out);
    return status == 0 ? 0 : 1;
}
