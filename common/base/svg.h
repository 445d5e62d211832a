/**
 * @file svg.h
 * @brief Draws SVG: figures, charts, pictures of a kernel. Colours are names that the site defines for dark and light; alone, a picture
 *        follows the system. Coordinates are pixels, y down.
 */
#pragma once

#include "text.h"

#ifdef __cplusplus
extern "C" {
#endif

/** @brief A picture under way. */
struct svg {
    struct text body;
    double width, height;
};

/** @brief Where a text stands relative to its point. */
enum svg_anchor { SVG_START, SVG_MIDDLE, SVG_END };

/**
 * Colours, everywhere below: "ink" "faint" "line" "paper"; fills "a" "b" "c" "d" "e"; strong lines "s" "t" "u" "v" "w" "x";
 * "none".
 */
void svg_rect(struct svg *svg, double x, double y, double width, double height, const char *fill,
              const char *stroke);

/** @brief A straight line; @p dash e.g. "4 3", or NULL. */
void svg_line(struct svg *svg, double x1, double y1, double x2, double y2, const char *stroke, double width,
              const char *dash);

/** @brief A line with an arrow's head at its second end. */
void svg_arrow(struct svg *svg, double x1, double y1, double x2, double y2, const char *stroke);

/** @brief A line through points: x0 y0 x1 y1 ... */
void svg_path(struct svg *svg, const double *points, int count, const char *stroke, double width);

/** @brief A dot. */
void svg_dot(struct svg *svg, double x, double y, double radius, const char *fill);

/** @brief One line of text of @p size pixels; printf's format. */
__attribute__((format(printf, 7, 8))) void svg_text(struct svg *svg, double x, double y, double size,
                                                    enum svg_anchor anchor, const char *fill,
                                                    const char *format, ...);

/** @brief A line of bold text. */
__attribute__((format(printf, 6, 7))) void svg_title(struct svg *svg, double x, double y, double size,
                                                     enum svg_anchor anchor, const char *format, ...);

/**
 * @brief Writes the picture and frees it.
 * @param[in] svg   the picture; its size counts from 0 0
 * @param[in] path  file to write
 * @param[in] label what a reader who cannot see it is told
 * @return 0, or -1 if it cannot be written (a message is on stderr)
 */
int svg_write(struct svg *svg, const char *path, const char *label);

#ifdef __cplusplus
}
#endif
