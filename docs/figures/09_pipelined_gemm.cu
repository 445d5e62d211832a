// Lesson 09: in which order blocks take the parts of C, what is under way with 1 to 4 stages, and what happens in each fragment step.
#include "pipelined_gemm.cu"

#include "figure.h"

enum { SIZE = 8192, FIRST_BLOCKS = 132 }; // one block per SM of an H200

__global__ void ask_places(struct gemm_args args, int *row, int *column)
{
    for (int index = (int)threadIdx.x; index < 512; index += (int)blockDim.x) {
        struct coord tile = block_tile<large_tile>(args, index);
        row[index] = tile.row / large_tile::M;
        column[index] = tile.column / large_tile::N;
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

// The order of the kernel's loop, a column a step: what is requested, what is multiplied. A single stage is filled when it has nearly been multiplied.
static void draw_stages(struct svg *svg, double x, double y, int stages)
{
    const int steps = 6, ahead = stages > 1 ? stages - 1 : 1;
    const double late = stages > 1 ? 0 : 26 * (1 - (double)FRAGMENT / large_tile::K);
    char label[8];
    svg_text(svg, x, y - 10, 12.5, SVG_START, "ink", stages == 1 ? "1 stage" : "%d stages", stages);
    for (int step = -ahead; step < steps; step++) {
        double left = x + 26 * (step + 3);
        int fetched = step + ahead; // fill_stage() of the kernel's loop
        snprintf(label, sizeof label, "%d", fetched);
        if (fetched < steps) draw_cell(svg, left + late, y, 24, 18, "b", label);
        snprintf(label, sizeof label, "%d", step);
        if (step >= 0) draw_cell(svg, left, y + 22, 24, 18, "c", label);
    }
}

// What multiply_step() has under way at the same time in the steps 0 and 1: a column is a fragment step, 16 along k.
static void draw_steps(struct svg *svg, double x, double y, int stages)
{
    enum { PIECES = large_tile::K / FRAGMENT, WIDTH = 72, HEIGHT = 26 };
    const char *const names[] = {"multiply, k =", "load fragments", "begin copies"};
    char label[32];
    for (int row = 0; row < 3; row++) svg_text(svg, x, y + row * 34 + 17, 12.5, SVG_START, "ink", "%s", names[row]);
    for (int column = 0; column < 2 * PIECES; column++) {
        int step = column / PIECES, piece = column % PIECES, next = (piece + 1) % PIECES;
        double left = x + 112 + column * (WIDTH + 4);
        snprintf(label, sizeof label, "%d", piece * FRAGMENT);
        draw_cell(svg, left, y, WIDTH, HEIGHT, step ? "a" : "c", label);
        snprintf(label, sizeof label, next ? "%d" : "%d, step %d", next * FRAGMENT, step + 1);
        draw_cell(svg, left, y + 34, WIDTH, HEIGHT, step + !next == 0 ? "c" : step + !next == 1 ? "a" : "b", label);
        snprintf(label, sizeof label, "step %d, %d/%d", step + stages - 1, piece + 1, (int)large_tile::PORTIONS);
        if (piece < large_tile::PORTIONS) draw_cell(svg, left, y + 68, WIDTH, HEIGHT, step ? "d" : "b", label);
        if (next) continue;
        svg_line(svg, left - 2, y - 8, left - 2, y + 102, "w", 2, NULL);
        svg_text(svg, left - 2, y + 116, 11.5, SVG_MIDDLE, "ink", "wait for step %d, barrier", step + 1);
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
    svg_title(&svg, 16, 24, 15, SVG_START, "Tiles requested (orange) and tiles multiplied (green), step by step");
    for (int stages = 1; stages <= MAX_STAGES; stages++)
        draw_stages(&svg, 40 + (stages - 1) % 2 * 360, 74 + (stages - 1) / 2 * 86, stages);
    svg_text(&svg, 40, 236, 12, SVG_START, "faint", "With one stage a tile is requested just before it is needed; with four it has three steps to arrive.");
    finish(&svg, arguments[1], "09_stages", "Which tile is requested and which is multiplied in each step, for 1 to 4 stages");

    svg = {};
    svg.width = 760;
    svg.height = 190;
    svg_title(&svg, 16, 24, 15, SVG_START, "What is in flight in each fragment step (%d along k), in the steps 0 and 1, with 3 stages", FRAGMENT);
    draw_steps(&svg, 16, 52, 3);
    finish(&svg, arguments[1], "09_step", "What is multiplied, loaded and copied at the same time in two steps, with the barrier before the last fragment step (16 along k)");
    return 0;
}
