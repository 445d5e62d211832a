/* draw_screen TITLE FILE.txt FILE.svg: what a terminal showed, as a picture. FILE.txt is what a run printed, and its commands, which
 * begin with "$ ". Lines of more than WIDTH letters go on in the next. What follows a line "%%" appears some seconds
 * later, and all of it again from the beginning; who asks for little motion sees it all at once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/layout.h"
#include "base/text.h"
#include "base/svg.h"
#include "writing.h"

enum { LINE = 18, MARGIN = 16, TOP = 52, WIDTH = 92 };
enum { SECONDS = 3, LAST_SECONDS = 7 }; /* until the next moment; how long everything stays */
static const double LETTER = 7.83;      /* of 13 pixels in the fonts named below */

/* What a line is about, by how it begins; the words are those of the checker's report and of a finding. */
static const char *colour_of(const char *line)
{
    const char *word = line + strspn(line, " |");
    if (strncmp(line, "$ ", 2) == 0) return "ink";
    if (*line == '-') return "w";
    if (*line == '+') return "u";
    if (strncmp(word, "simt: ", 6) == 0 || strstr(word, " FAIL ") != NULL || strncmp(word, "FAIL ", 5) == 0)
        return "w";
    if (strncmp(word, "pattern ", 8) == 0) return "t";
    if (strstr(word, " PASS ") != NULL || strstr(word, " IN_PROGRESS ") != NULL) return "u";
    return "x";
}

static void add_line(struct svg *svg, int row, int moment, const char *colour, const char *line)
{
    text_print(
        &svg->body,
        "<text x=\"%d\" y=\"%d\" font-size=\"13\" class=\"f-%s moment%d\"%s xml:space=\"preserve\" "
        "style=\"font-family:ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace;white-space:pre\">",
        MARGIN, TOP + row * LINE, colour, moment, strncmp(line, "$ ", 2) == 0 ? " font-weight=\"600\"" : "");
    text_add_escaped(&svg->body, line, strlen(line));
    text_add(&svg->body, "</text>\n");
}

/* The moments appear one after another. */
static void add_motion(struct svg *svg, int moments)
{
    int seconds = SECONDS * moments + LAST_SECONDS;
    text_add(&svg->body, "<style>@media(prefers-reduced-motion:no-preference){\n");
    for (int moment = 1; moment <= moments; moment++)
        text_print(&svg->body,
                   ".moment%d{animation:moment%d %ds step-end infinite}"
                   "@keyframes moment%d{0%%{opacity:.35}%.2f%%{opacity:1}}\n",
                   moment, moment, seconds, moment, 100.0 * SECONDS * moment / seconds);
    text_add(&svg->body, "}</style>\n");
}

int main(int argc, char **argv)
{
    struct text content = {0};
    struct svg svg = {.width = 0};
    int rows = 0, moments = 0, longest = 0;
    if (argc != 4 || read_file(argv[2], &content) != 0) {
        fprintf(stderr, "usage: draw_screen TITLE FILE.txt FILE.svg; the text must be there\n");
        return 2;
    }
    if (content.length > 0 && content.data[content.length - 1] == '\n') content.data[--content.length] = '\0';
    const char *rest = content.data;
    svg_title(&svg, MARGIN, 24, 14, SVG_START, "%s", argv[1]);
    for (char *line; (line = next_word(&rest, '\n')) != NULL; free(line)) {
        struct text wrapped = {0};
        int indent = (int)strspn(line, " |");
        if (strcmp(line, "%%") == 0) {
            moments++;
            continue;
        }
        if (*line == '\0') rows++;
        text_print(&wrapped, "%.*s", indent, line);
        layout_wrap_words(&wrapped, line + indent, indent, indent + 2, WIDTH);
        const char *left = *line == '\0' ? NULL : wrapped.data;
        for (char *row; left != NULL && (row = next_word(&left, '\n')) != NULL; free(row)) {
            if (layout_columns(row) > longest) longest = layout_columns(row);
            add_line(&svg, rows++, moments, colour_of(line), row);
        }
        text_free(&wrapped);
    }
    if (moments > 0) add_motion(&svg, moments);
    svg.width = 2 * MARGIN + LETTER * longest;
    svg.height = TOP + rows * LINE;
    return svg_write(&svg, argv[3], argv[1]);
}
