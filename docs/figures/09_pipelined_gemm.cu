// Lesson 09: in which order blocks take the parts of C, and what is under way with 1 to 4 stages.
#include "pipelined_gemm.cu"

#include "figure.h"

enum { SIZE = 8192, FIRST_BLOCKS = 132 }; // one block a multiprocessor of an H200

__global__ void ask_places(struct gemm_args args, int *row, int *column)
{
    for (int index = (int)threadIdx.x; index < 512; index += (int)blockDim.x) {
        struct place place = find_place<large_tile>(args, index);
        row[index] = place.row / large_tile::M;
        column[index] = place.column / large_tile::N;
    }
}

static void draw_order(struct svg *svg, double x, double y, const shared_array<int> &row, const shared_array<int> &column, int across)
{
    char label[8];
    int rows[512] = {0}, columns[512] = {0}, apart_rows = 0, apart_columns = 0;
    for (int index = 0; index < FIRST_BLOCKS; index++) {
        int r = row.host[(size_t)index], c = column.host[(size_t)index];
        apart_rows += rows[r]++ == 0;
        apart_columns += columns[c]++ == 0;
        snprintf(label, sizeof label, "%d", index);
        draw_cell(svg, x + 21 * c, y + 15 * r, 21, 15, "a", label);
    }
    svg_rect(svg, x, y, 21 * across, 15 * 16, "none", "line");
    svg_text(svg, x, y + 15 * 16 + 18, 12, SVG_START, "faint",
             "The first %d blocks of %d × %d need %d row strips of A and %d of B; row by row it would be %d and %d.",
             FIRST_BLOCKS, SIZE, SIZE, apart_rows, apart_columns, (FIRST_BLOCKS - 1) / across + 1, across);
}

// The order of the kernel's loop, a row a step: what is asked for, what is waited for, what is multiplied.
static void draw_stages(struct svg *svg, double x, double y, int stages)
{
    const int steps = 6, ahead = stages - 1;
    char label[8];
    svg_text(svg, x, y - 10, 12.5, SVG_START, "ink", stages == 1 ? "1 stage" : "%d stages", stages);
    for (int step = -ahead; step < steps; step++) {
        double left = x + 26 * (step + 3);
        int fetched = step + ahead; // fill_stage() of the kernel's loop
        snprintf(label, sizeof label, "%d", fetched);
        if (fetched < steps) draw_cell(svg, left, y, 24, 18, "b", label);
        snprintf(label, sizeof label, "%d", step);
        if (step >= 0) draw_cell(svg, left, y + 22, 24, 18, "c", label);
    }
}

int main(int count, char **arguments)
{
    if (count != 2) fail("usage: %s FOLDER", arguments[0]);
    struct gemm_args args = {};
    args.m = args.n = args.k = SIZE;
    shared_array<int> row(512), column(512);
    ask_places<<<1, 128>>>(args, row.device, column.device);
    row.to_host();
    column.to_host();
    struct svg svg = {};
    svg.width = 760;
    svg.height = 340;
    svg_title(&svg, 16, 24, 15, SVG_START, "Which part of C each block takes, with tiles of %d × %d", large_tile::M, large_tile::N);
    draw_order(&svg, 40, 44, row, column, SIZE / large_tile::N);
    finish(&svg, arguments[1], "09_order", "The parts of C that the first 132 blocks compute");

    svg = {};
    svg.width = 760;
    svg.height = 250;
    svg_title(&svg, 16, 24, 15, SVG_START, "Tiles asked for (orange) and tiles multiplied (green), step by step");
    for (int stages = 1; stages <= MAX_STAGES; stages++)
        draw_stages(&svg, 40 + (stages - 1) % 2 * 360, 74 + (stages - 1) / 2 * 86, stages);
    svg_text(&svg, 40, 236, 12, SVG_START, "faint", "With one stage a tile is asked for and needed in the same step; with four it has three steps to arrive.");
    finish(&svg, arguments[1], "09_stages", "Which tile is asked for and which is multiplied in each step, for 1 to 4 stages");
    return 0;
}
