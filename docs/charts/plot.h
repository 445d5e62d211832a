/**
 * @file plot.h
 * @brief Axes and series for the charts.
 */
#ifndef WARPWISE_DOCS_PLOT_H
#define WARPWISE_DOCS_PLOT_H

#include "base/svg.h"

/** @brief From values to pixels; logarithmic where base is not 0. */
struct axis {
    double least, most; /**< values at the ends */
    double from, to;    /**< pixels at the ends */
    double base;        /**< 0 linear; 2 or 10: a tick at every power */
};

enum { PLOT_POINTS_MAX = 64, PLOT_SERIES_MAX = 24 };

/** @brief A line with dots and a name at its end. */
struct series {
    char name[96];
    double x[PLOT_POINTS_MAX], y[PLOT_POINTS_MAX];
    int count;
};

/** @brief Where a value stands. */
double axis_place(const struct axis *axis, double value);

/** @brief The names of the strong colours, by number; they repeat. */
const char *plot_colour(int number);

/** @brief Frame, ticks with their values, grid, and what the axes show. */
void plot_axes(struct svg *svg, const struct axis *x, const struct axis *y, const char *x_title,
               const char *y_title);

/** @brief Adds a point; keeps points sorted by x. Points beyond PLOT_POINTS_MAX end the program. */
void series_add(struct series *series, double x, double y);

/** @brief Draws the series, and their names at the right, apart from each other. */
void plot_series(struct svg *svg, const struct axis *x, const struct axis *y, const struct series *series,
                 int count);

/**
 * @brief Moves labels apart that would overlap.
 * @param[in,out] places pixels, in any order
 * @param[in]     count  how many
 * @param[in]     gap    least distance
 */
void spread_labels(double *places, int count, double gap);

#endif
