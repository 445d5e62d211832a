/**
 * @file svg.c
 * @brief Draws SVG.
 */
#include "svg.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* name, light, dark: the same as in site.css. */
static const char *const COLOURS[][3] = {
    {"ink", "#1f2430", "#dde2ea"},   {"faint", "#667085", "#98a2b3"}, {"line", "#c3cad6", "#465061"},
    {"paper", "#ffffff", "#14171d"}, {"a", "#bcd9f5", "#204a72"},     {"b", "#fbd7a8", "#6d4a1c"},
    {"c", "#c4e8cd", "#245436"},     {"d", "#e4cbf0", "#533664"},     {"e", "#f6c3c3", "#6b2c2c"},
    {"s", "#0b5cad", "#7ab8f5"},     {"t", "#c05a0a", "#f0a35e"},     {"u", "#1a7f4b", "#6fd39a"},
    {"v", "#8a3fa8", "#d2a8f0"},     {"w", "#b3303a", "#f28b82"},     {"x", "#54708c", "#a9bdd1"},
};

static void add(struct text *text, const char *string)
{
    text_append(text, string, strlen(string));
}

void svg_rect(struct svg *svg, double x, double y, double width, double height, const char *fill,
              const char *stroke)
{
    text_print(&svg->body, "<rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" class=\"f-%s s-%s\"/>\n", x, y,
               width, height, fill, stroke);
}

void svg_line(struct svg *svg, double x1, double y1, double x2, double y2, const char *stroke, double width,
              const char *dash)
{
    text_print(&svg->body,
               "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"s-%s\" stroke-width=\"%g\"", x1,
               y1, x2, y2, stroke, width);
    if (dash != NULL) text_print(&svg->body, " stroke-dasharray=\"%s\"", dash);
    add(&svg->body, "/>\n");
}

void svg_arrow(struct svg *svg, double x1, double y1, double x2, double y2, const char *stroke)
{
    double length = hypot(x2 - x1, y2 - y1);
    if (length == 0) return;
    double dx = (x2 - x1) / length * 7, dy = (y2 - y1) / length * 7;
    svg_line(svg, x1, y1, x2 - dx / 2, y2 - dy / 2, stroke, 1.6, NULL);
    text_print(&svg->body, "<path d=\"M%.1f %.1fL%.1f %.1fL%.1f %.1fZ\" class=\"f-%s\"/>\n", x2, y2,
               x2 - dx - dy / 2, y2 - dy + dx / 2, x2 - dx + dy / 2, y2 - dy - dx / 2, stroke);
}

void svg_path(struct svg *svg, const double *points, int count, const char *stroke, double width)
{
    add(&svg->body, "<path d=\"");
    for (int i = 0; i < count; i++)
        text_print(&svg->body, "%s%.1f %.1f", i == 0 ? "M" : "L", points[2 * i], points[2 * i + 1]);
    text_print(&svg->body, "\" class=\"f-none s-%s\" stroke-width=\"%g\"/>\n", stroke, width);
}

void svg_dot(struct svg *svg, double x, double y, double radius, const char *fill)
{
    text_print(&svg->body, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%g\" class=\"f-%s\"/>\n", x, y, radius, fill);
}

static void add_text(struct svg *svg, double x, double y, double size, enum svg_anchor anchor,
                     const char *fill, int bold, const char *format, va_list arguments)
{
    static const char *const anchors[] = {"start", "middle", "end"};
    char line[512];
    vsnprintf(line, sizeof line, format, arguments);
    text_print(&svg->body,
               "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%g\" text-anchor=\"%s\" class=\"f-%s\"%s>", x, y,
               size, anchors[anchor], fill, bold ? " font-weight=\"600\"" : "");
    text_add_escaped(&svg->body, line, strlen(line));
    add(&svg->body, "</text>\n");
}

void svg_text(struct svg *svg, double x, double y, double size, enum svg_anchor anchor, const char *fill,
              const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    add_text(svg, x, y, size, anchor, fill, 0, format, arguments);
    va_end(arguments);
}

void svg_title(struct svg *svg, double x, double y, double size, enum svg_anchor anchor, const char *format,
               ...)
{
    va_list arguments;
    va_start(arguments, format);
    add_text(svg, x, y, size, anchor, "ink", 1, format, arguments);
    va_end(arguments);
}

int svg_write(struct svg *svg, const char *path, const char *label)
{
    struct text out = {0};
    text_print(&out,
               "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" width=\"%g\" height=\"%g\" "
               "role=\"img\" ",
               svg->width, svg->height, svg->width, svg->height);
    add(&out, "font-family=\"system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif\" aria-label=\"");
    text_add_escaped(&out, label, strlen(label));
    add(&out, "\">\n<style>\n");
    size_t colours = sizeof COLOURS / sizeof COLOURS[0];
    for (size_t i = 0; i < colours; i++)
        text_print(&out, ".f-%s{fill:var(--fig-%s,%s)}.s-%s{stroke:var(--fig-%s,%s)}\n", COLOURS[i][0],
                   COLOURS[i][0], COLOURS[i][1], COLOURS[i][0], COLOURS[i][0], COLOURS[i][1]);
    add(&out, ".f-none{fill:none}.s-none{stroke:none}\n@media(prefers-color-scheme:dark){\n");
    for (size_t i = 0; i < colours; i++)
        text_print(&out, ".f-%s{fill:var(--fig-%s,%s)}.s-%s{stroke:var(--fig-%s,%s)}\n", COLOURS[i][0],
                   COLOURS[i][0], COLOURS[i][2], COLOURS[i][0], COLOURS[i][0], COLOURS[i][2]);
    add(&out, "}\n</style>\n");
    text_print(&out, "<rect width=\"%g\" height=\"%g\" class=\"f-paper\"/>\n", svg->width, svg->height);
    if (svg->body.data != NULL) add(&out, svg->body.data);
    add(&out, "</svg>\n");
    int error = write_file(path, out.data, out.length);
    if (error) fprintf(stderr, "%s: %s\n", path, strerror(error));
    text_free(&out);
    text_free(&svg->body);
    return error ? -1 : 0;
}
