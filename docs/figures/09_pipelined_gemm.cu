// Lesson 09: which parts of C are computed together.
#include "pipelined_gemm.cu"

#include "figure.h"

enum {
    EXTENT = 8192, // of C in both directions
    DOWN = EXTENT / large_tile::M,
    ACROSS = EXTENT / large_tile::N,
    THREADS_ASKED = 256,
    MULTIPROCESSORS = 132,
    TURNS_NAMED = 5
};

__global__ void ask_parts(struct gemm_args args, int *row, int *column)
{
    int block = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    struct place place = find_place<large_tile>(args, block);
    row[block] = place.row / large_tile::M;
    column[block] = place.column / large_tile::N;
}

static void draw_parts(struct svg *svg, double x, double y)
{
    struct gemm_args args = {};
    args.m = args.n = EXTENT;
    shared_array<int> row(DOWN * ACROSS), column(DOWN * ACROSS);
    ask_parts<<<DOWN * ACROSS / THREADS_ASKED, THREADS_ASKED>>>(args, row.device, column.device);
    row.to_host();
    column.to_host();
    double width = 16, height = 5;
    for (int i = 0; i < DOWN * ACROSS; i++)
        svg_rect(svg, x + width * column[(size_t)i], y + height * row[(size_t)i], width, height,
                 fill_of(i / MULTIPROCESSORS), "line");
    for (int turn = 0; turn < TURNS_NAMED; turn++) {
        double at = x + width * ACROSS + 24;
        svg_rect(svg, at, y + 24 * turn, 18, 14, fill_of(turn), "line");
        svg_text(svg, at + 26, y + 24 * turn + 12, 12, SVG_START, "ink", "blocks %d to %d", turn * MULTIPROCESSORS,
                 (turn + 1) * MULTIPROCESSORS - 1);
    }
    svg_text(svg, x, y + height * DOWN + 18, 12, SVG_START, "faint",
             "%d × %d parts of %d × %d; one colour: blocks that run together on %d multiprocessors", DOWN, ACROSS,
             large_tile::M, large_tile::N, MULTIPROCESSORS);
}

int main(int count, char **arguments)
{
    if (count != 2) fail("usage: %s FOLDER", arguments[0]);
    struct svg svg = {};
    svg.width = 760;
    svg.height = 400;
    svg_title(&svg, 16, 24, 15, SVG_START, "Which parts of an 8192 × 8192 product are computed together");
    draw_parts(&svg, 40, 44);
    finish(&svg, arguments[1], "09_parts", "Parts of C, coloured by the turn in which blocks take them: eight rows of parts at a time");
    return 0;
}
