/**
 * @file plot.h
 * @brief Axes and series for the charts.
 */
#pragma once

#include "svg.h"

/** @brief From values to pixels, logarithmic; linear where base is 0, then without ticks. */
struct axis {
    double least, most; /**< values at the ends */
    double from, to;    /**< pixels at the ends */
    double base; /**< 2: a tick at every power; 10: at every power, and between them where they are few */
};

enum { PLOT_POINTS_MAX = 64, PLOT_SERIES_MAX = 24 };

/** @brief A line with dots and a name at its end. */
struct series {
    char name[96];
    const char *colour;
    double x[PLOT_POINTS_MAX], y[PLOT_POINTS_MAX];
    int count;
};

/** @brief Where a value stands. */
double axis_place(const struct axis *axis, double value);

/** @brief Makes a logarithmic axis of base 10 begin and end at 1, 2 or 5 times a power of 10 around the values. */
void axis_round(struct axis *axis, double least, double most);

/** @brief Lines across the chart at the round values of one axis, and these values. */
void plot_ticks(struct svg *svg, const struct axis *x, const struct axis *y, int along_x);

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
