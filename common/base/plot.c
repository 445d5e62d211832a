/* Axes and series for the charts. */
#include "plot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double axis_place(const struct axis *axis, double value)
{
    double share = axis->base > 0 ? log(value / axis->least) / log(axis->most / axis->least)
                                  : (value - axis->least) / (axis->most - axis->least);
    return axis->from + share * (axis->to - axis->from);
}

/* The largest of 1, 2, 5 times a power of 10 that is no more than @p value; or the least that is no less. */
static double round_value(double value, int up)
{
    static const double steps[] = {1, 2, 5, 10};
    double power = pow(10, floor(log10(value) + 1e-9)), found = power;
    for (int i = 0; i < 4; i++) {
        if (up && steps[i] * power >= value * 0.9999) return steps[i] * power;
        if (steps[i] * power <= value * 1.0001) found = steps[i] * power;
    }
    return found;
}

void axis_round(struct axis *axis, double least, double most)
{
    axis->least = round_value(least * 0.999, 0);
    axis->most = round_value(most, 1);
}

/* 0.1, 64, 4096, 16k */
static void add_value(struct svg *svg, double x, double y, enum svg_anchor anchor, double value)
{
    if (value >= 10000)
        svg_text(svg, x, y, 12, anchor, "faint", "%gk", fmod(value, 1024) == 0 ? value / 1024 : value / 1000);
    else
        svg_text(svg, x, y, 12, anchor, "faint", "%g", value);
}

static void add_tick(struct svg *svg, const struct axis *x, const struct axis *y, double value, int along_x)
{
    double at = axis_place(along_x ? x : y, value);
    if (along_x) {
        svg_line(svg, at, y->from, at, y->to, "line", 0.6, NULL);
        add_value(svg, at, y->from + 17, SVG_MIDDLE, value);
    } else {
        svg_line(svg, x->from, at, x->to, at, "line", 0.6, NULL);
        add_value(svg, x->from - 7, at + 4, SVG_END, value);
    }
}

void plot_ticks(struct svg *svg, const struct axis *x, const struct axis *y, int along_x)
{
    const struct axis *axis = along_x ? x : y;
    static const double few[] = {1}, some[] = {1, 2, 5}, many[] = {1, 2, 3, 5, 7};
    double decades = axis->most / axis->least;
    const double *steps = axis->base != 10 || decades > 999 ? few : decades > 11 ? some : many;
    int count = steps == few ? 1 : steps == some ? 3 : 5;
    double power = pow(axis->base, floor(log(axis->least) / log(axis->base) + 1e-9));
    for (; power <= axis->most * 1.0001; power *= axis->base)
        for (int i = 0; i < count; i++) {
            double value = power * steps[i];
            if (value > axis->least * 0.9999 && value < axis->most * 1.0001)
                add_tick(svg, x, y, value, along_x);
        }
}

void plot_axes(struct svg *svg, const struct axis *x, const struct axis *y, const char *x_title,
               const char *y_title)
{
    plot_ticks(svg, x, y, 1);
    plot_ticks(svg, x, y, 0);
    svg_line(svg, x->from, y->from, x->to, y->from, "ink", 1, NULL);
    svg_line(svg, x->from, y->from, x->from, y->to, "ink", 1, NULL);
    svg_text(svg, (x->from + x->to) / 2, y->from + 36, 13, SVG_MIDDLE, "ink", "%s", x_title);
    svg_text(svg, x->from - 40, y->to - 10, 13, SVG_START, "ink", "%s", y_title);
}

void series_add(struct series *series, double x, double y)
{
    if (series->count == PLOT_POINTS_MAX) {
        fprintf(stderr, "a series of more than %d points\n", PLOT_POINTS_MAX);
        exit(2);
    }
    int at = series->count++;
    for (; at > 0 && series->x[at - 1] > x; at--) {
        series->x[at] = series->x[at - 1];
        series->y[at] = series->y[at - 1];
    }
    series->x[at] = x;
    series->y[at] = y;
}

void spread_labels(double *places, int count, double gap)
{
    for (int round = 0; round < 200; round++) {
        int moved = 0;
        for (int i = 0; i < count; i++)
            for (int j = i + 1; j < count; j++) {
                double apart = places[j] - places[i];
                if (fabs(apart) >= gap - 0.01) continue;
                double push = (gap - fabs(apart)) / 2;
                places[i] -= apart >= 0 ? push : -push;
                places[j] += apart >= 0 ? push : -push;
                moved = 1;
            }
        if (!moved) return;
    }
}

/* Moves labels up until the lowest is no lower than @p bottom, where the numbers of the axis begin. */
static void lift_labels(double *places, int count, double gap, double bottom)
{
    for (int rank = 0; rank < count; rank++) { // from the lowest up
        int lowest = -1;
        for (int i = 0; i < count; i++) {
            int lower = 0; // labels below this one; of two at one place the later is lower
            for (int j = 0; j < count; j++)
                lower += places[j] > places[i] || (places[j] == places[i] && j > i);
            if (lower == rank) lowest = i;
        }
        if (lowest < 0 || places[lowest] <= bottom) return;
        places[lowest] = bottom;
        bottom -= gap;
    }
}

void plot_series(struct svg *svg, const struct axis *x, const struct axis *y, const struct series *series,
                 int count)
{
    double places[PLOT_SERIES_MAX];
    for (int i = 0; i < count; i++) places[i] = axis_place(y, series[i].y[series[i].count - 1]);
    spread_labels(places, count, 15);
    lift_labels(places, count, 15, y->from);
    for (int i = 0; i < count; i++) {
        double points[2 * PLOT_POINTS_MAX];
        for (int j = 0; j < series[i].count; j++) {
            points[2 * j] = axis_place(x, series[i].x[j]);
            points[2 * j + 1] = axis_place(y, series[i].y[j]);
        }
        svg_path(svg, points, series[i].count, series[i].colour, 2);
        for (int j = 0; j < series[i].count; j++)
            svg_dot(svg, points[2 * j], points[2 * j + 1], 3, series[i].colour);
        double end = points[2 * series[i].count - 2];
        svg_line(svg, end + 5, points[2 * series[i].count - 1], x->to + 8, places[i], "line", 1, NULL);
        svg_text(svg, x->to + 11, places[i] + 4, 12.5, SVG_START, series[i].colour, "%s", series[i].name);
    }
}
