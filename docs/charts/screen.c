/* draw_screen TITLE FILE.txt FILE.svg: what a terminal showed, as a picture. FILE.txt is what a run printed, and its
 * commands, which begin with "$ ". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/svg.h"
#include "writing.h"

enum { LINE = 18, MARGIN = 16, TOP = 52 };
static const double LETTER = 7.83; /* of 13 pixels in the fonts named below */

/* What a line is about, by how it begins; the words are those of the checker's report and of a finding. */
static const char *colour_of(const char *line)
{
    const char *word = line + strspn(line, " ");
    if (strncmp(word, "$ ", 2) == 0) return "ink";
    if (strncmp(word, "simt: ", 6) == 0 || strstr(word, " FAIL ") || strncmp(word, "FAIL ", 5) == 0)
        return "w";
    if (strncmp(word, "pattern ", 8) == 0) return "t";
    if (strstr(word, " PASS ")) return "u";
    return "x";
}

static void add_line(struct svg *svg, int row, const char *line)
{
    int command = strncmp(line, "$ ", 2) == 0;
    text_print(
        &svg->body,
        "<text x=\"%d\" y=\"%d\" font-size=\"13\" class=\"f-%s\"%s xml:space=\"preserve\" "
        "style=\"font-family:ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace;white-space:pre\">",
        MARGIN, TOP + row * LINE, colour_of(line), command ? " font-weight=\"600\"" : "");
    text_add_escaped(&svg->body, line, strlen(line));
    text_add(&svg->body, "</text>\n");
}

int main(int argc, char **argv)
{
    struct text content = {0};
    struct svg svg = {.width = 0};
    size_t longest = 0;
    int rows = 0;
    if (argc != 4 || read_file(argv[2], &content) != 0) {
        fprintf(stderr, "usage: draw_screen TITLE FILE.txt FILE.svg; the text must be there\n");
        return 2;
    }
    const char *rest = content.data;
    svg_title(&svg, MARGIN, 24, 14, SVG_START, "%s", argv[1]);
    for (char *line; (line = next_word(&rest, '\n')); free(line)) {
        if (*line == '\0') continue; /* the last one */
        if (strlen(line) > longest) longest = strlen(line);
        add_line(&svg, rows++, line);
    }
    svg.width = 2 * MARGIN + LETTER * (double)longest;
    svg.height = TOP + rows * LINE;
    return svg_write(&svg, argv[3], argv[1]);
}
