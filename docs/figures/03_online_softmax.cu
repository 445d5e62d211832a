// Lesson 03: m and l along a row, and how pairs travel in a warp.
#include "online_softmax.cu"

#include <math.h>

#include "figure.h"

__global__ void ask_merges(const float *row, int count, struct softmax_pair *after)
{
    struct softmax_pair so_far = {-INFINITY, 0.0f};
    for (int i = 0; i < count; i++) {
        so_far = merge_pairs(so_far, {row[i], 1.0f});
        after[i] = so_far;
    }
}

// warp_merge() of a warp in which only some lanes hold a piece: who knows of it at the end?
__global__ void ask_warp(const struct softmax_pair *mine, struct softmax_pair *result)
{
    result[threadIdx.x] = warp_merge(mine[threadIdx.x]);
}

static void draw_row(struct svg *svg, const float *row, int count)
{
    shared_array<float> values((size_t)count);
    shared_array<struct softmax_pair> after((size_t)count);
    for (int i = 0; i < count; i++) values[(size_t)i] = row[i];
    values.to_device();
    ask_merges<<<1, 1>>>(values.device, count, after.device);
    after.to_host();
    char label[32];
    static const char *const names[] = {"x", "m", "l"};
    for (int line = 0; line < 3; line++) svg_text(svg, 40, 78 + 34 * line, 13, SVG_START, "ink", "%s", names[line]);
    float m = -INFINITY;
    for (int i = 0; i < count; i++) {
        double x = 70 + 82 * i;
        struct softmax_pair pair = after[(size_t)i];
        int rises = pair.m > m;
        snprintf(label, sizeof label, "%g", row[i]);
        draw_cell(svg, x, 60, 74, 26, "none", label);
        snprintf(label, sizeof label, "%g", pair.m);
        draw_cell(svg, x, 94, 74, 26, rises ? "b" : "a", label);
        snprintf(label, sizeof label, "%.3f", pair.l);
        draw_cell(svg, x, 128, 74, 26, rises ? "b" : "a", label);
        if (rises && i > 0) svg_text(svg, x + 37, 172, 11.5, SVG_MIDDLE, "t", "l · exp(%g)", m - pair.m);
        m = pair.m;
    }
    double sum = 0;
    for (int i = 0; i < count; i++) sum += exp(row[i] - m);
    svg_text(svg, 40, 200, 12.5, SVG_START, "faint", "orange: a new maximum, so l is corrected first. At once, with the maximum known: l = %.3f", sum);
}

static void draw_warp(struct svg *svg, double y)
{
    shared_array<struct softmax_pair> mine(32), result(32);
    for (int lane = 0; lane < 32; lane++) mine[(size_t)lane] = {(float)lane, 1.0f};
    mine.to_device();
    ask_warp<<<1, 32>>>(mine.device, result.device);
    result.to_host();
    int equal = 0;
    for (size_t lane = 0; lane < 32; lane++) equal += result[lane].m == result[0].m && result[lane].l == result[0].l;
    svg_title(svg, 16, y, 15, SVG_START, "warp_merge: after distances 16, 8, 4, 2, 1 all %d lanes hold the same pair", equal);
    for (int step = 0; step <= 5; step++) {
        int known = 1 << step, distance = 16 >> step; // lanes that a lane has heard of
        for (int lane = 0; lane < 32; lane++) {
            double x = 76 + 21 * lane, top = y + 22 + 36 * step;
            int group = lane % (32 / known); // lanes with the same knowledge
            svg_rect(svg, x, top, 17, 14, step == 5 ? "c" : fill_of(group), "line");
            if (step < 5 && lane == 0) {
                svg_arrow(svg, x + 9, top + 15, x + 21 * distance + 8, top + 35, "ink");
                svg_arrow(svg, x + 21 * distance + 8, top + 15, x + 9, top + 35, "ink");
            }
        }
        svg_text(svg, 66, y + 33 + 36 * step, 11.5, SVG_END, "faint", step == 0 ? "lanes" : "%d known", known);
    }
}

int main(int count, char **arguments)
{
    static const float row[] = {1, 3, 2, 5, 4, 0, 6, 6};
    if (count != 2) fail("usage: %s FOLDER", arguments[0]);
    struct svg svg = {};
    svg.width = 760;
    svg.height = 220;
    svg_title(&svg, 16, 24, 15, SVG_START, "One pass over a row: the pair (m, l) of what has been seen");
    draw_row(&svg, row, 8);
    finish(&svg, arguments[1], "03_pass", "The pair m and l after each value of a row, and where it is corrected");
    svg = {};
    svg.width = 760;
    svg.height = 260;
    draw_warp(&svg, 24);
    finish(&svg, arguments[1], "03_warp", "How the pairs of 32 lanes are merged in five exchanges");
    return 0;
}
