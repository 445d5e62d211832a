/*
 * The search index of the site: every section of every page with its text, as a script that site.js looks through. Ours,
 * because Doxygen's own search without a server knows names and titles and not what pages say; nor has the text that it
 * writes for a server (EXTERNAL_SEARCH) any sections.
 *
 *     site_index OUT.js PAGE.html...
 */
#include <ctype.h>
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

/* Blanks and ends of lines are one blank. */
static void join_blanks(char *text)
{
    char *to = text;
    for (const char *from = text; *from != '\0'; from++)
        if (!isspace((unsigned char)*from))
            *to++ = *from;
        else if (to > text && to[-1] != ' ')
            *to++ = ' ';
    *to = '\0';
}

static void end_section(struct section *section, struct text *out)
{
    if (section->text.length > 0) {
        char *const fields[] = {section->url, section->page, section->heading, section->text.data};
        for (size_t i = 0; i < 4; i++) {
            html_decode(fields[i]);
            join_blanks(fields[i]);
            text_add(out, i == 0 ? "[" : ",");
            text_add_json(out, fields[i]);
        }
        text_add(out, "],\n");
    }
    text_free(&section->text);
    section->heading[0] = '\0';
}

static void append(char *string, size_t size, const struct html_piece *piece)
{
    size_t used = strlen(string);
    snprintf(string + used, size - used, "%.*s", (int)piece->length, piece->at);
}

/* Is this an element whose text belongs to no section: navigation, line numbers, pictures, the mark in front of a function's name? */
static int is_noise(const struct html_piece *piece)
{
    static const char *const noise[] = {"toc", "ttc", "belongs", "permalink"};
    char class[64] = "";
    if (strcmp(piece->name, "svg") == 0 || strcmp(piece->name, "nav") == 0) return 1;
    html_attribute(piece, "class", class, sizeof class);
    for (size_t i = 0; i < sizeof noise / sizeof noise[0]; i++)
        if (strcmp(class, noise[i]) == 0) return 1;
    return 0;
}

/* In the glossary every row is a section of its own, whose heading is the word: what stands in the first cell. */
static void enter_cell(struct section *section, const struct html_piece *piece, int *in_heading,
                       struct text *out)
{
    int row = strcmp(piece->name, "tr") == 0, opens = piece->kind == HTML_OPEN;
    if (row && opens) end_section(section, out);
    if (!row) *in_heading = opens && *section->heading == '\0'; // the first one
    if (!row && !opens) text_add(&section->text, " ");
}

static void index_page(const char *name, const char *html, struct text *out)
{
    struct section section = {.url = ""};
    struct html_piece piece;
    char noise[32] = "";
    int noise_depth = 0, in_title = 0, in_heading = 0, in_contents = 0;
    snprintf(section.url, sizeof section.url, "%s", name);
    for (const char *at = html; html_next(&at, &piece);) {
        char value[256];
        int opens = piece.kind == HTML_OPEN;
        if (noise_depth > 0) {
            int same = strcmp(piece.name, noise) == 0;
            noise_depth += same && opens ? 1 : same && piece.kind == HTML_CLOSE ? -1 : 0;
        } else if (piece.kind == HTML_TEXT) {
            if (in_title)
                append(section.page, sizeof section.page, &piece);
            else if (in_heading)
                append(section.heading, sizeof section.heading, &piece);
            else if (in_contents)
                text_append(&section.text, piece.at, piece.length);
        } else if (strcmp(piece.name, "title") == 0) {
            in_title = opens;
        } else if (opens && is_noise(&piece)) {
            snprintf(noise, sizeof noise, "%s", piece.name);
            noise_depth = 1;
        } else if (in_contents && strcmp(name, "glossary.html") == 0 &&
                   (strcmp(piece.name, "tr") == 0 || strcmp(piece.name, "td") == 0)) {
            enter_cell(&section, &piece, &in_heading, out);
        } else if (piece.name[0] == 'h' && isdigit((unsigned char)piece.name[1]) && in_contents) {
            if (opens) end_section(&section, out);
            in_heading = opens;
        } else if (opens && strcmp(piece.name, "a") == 0 && in_heading &&
                   html_attribute(&piece, "id", value, sizeof value)) {
            snprintf(section.url, sizeof section.url, "%s#%.200s", name, value);
        } else if (opens && strcmp(piece.name, "div") == 0 &&
                   html_attribute(&piece, "class", value, sizeof value)) {
            in_contents |= strcmp(value, "contents") == 0;
        } else if (in_contents && section.text.length > 0) {
            text_add(&section.text, " ");
        }
    }
    end_section(&section, out);
}

int main(int count, char **arguments)
{
    if (count < 3) fail("usage: site_index OUT.js PAGE.html...");
    struct text out = {0};
    text_add(&out, "const SEARCH_INDEX = [\n");
    for (int i = 2; i < count; i++) {
        const char *slash = strrchr(arguments[i], '/');
        char *html = read_whole(arguments[i]);
        if (html == NULL) fail("%s: cannot be read", arguments[i]);
        index_page(slash == NULL ? arguments[i] : slash + 1, html, &out);
        free(html);
    }
    text_add(&out, "];\n");
    int status = write_if_changed(arguments[1], out.data);
    text_free(&out);
    return status == 0 ? 0 : 1;
}
