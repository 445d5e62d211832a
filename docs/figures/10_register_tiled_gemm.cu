// Lesson 10: which elements of C a lane keeps in registers, and which thread loads what of a tile that is transposed.
#include "register_tiled_gemm.cu"

#include "figure.h"

typedef large_tile figure_tile;

enum { PACKS = figure_tile::TILE_M * figure_tile::TILE_K / VECTOR };

// Where the parts of lane i begin in its warp's part of C, and whose are the packs of a tile of A along k.
__global__ void ask_lanes(int *row, int *column, int *loader)
{
    if ((int)threadIdx.x < WARP) {
        row[threadIdx.x] = lane_row<figure_tile>();
        column[threadIdx.x] = lane_column<figure_tile>();
    }
    for (int i = 0; i < PACKS / figure_tile::THREADS; i++) {
        int c, k;
        find_pack<figure_tile, figure_tile::TILE_M, VECTOR>(1, i, &c, &k);
        loader[c * (figure_tile::TILE_K / VECTOR) + k / VECTOR] = (int)threadIdx.x;
    }
}

static void draw_lanes(struct svg *svg, double x, double y, shared_array<int> &row, shared_array<int> &column)
{
    static const int shown[] = {0, 1, 6};
    static const char *const colours[] = {"s", "t", "u"};
    const double cell = 3.6;
    svg_rect(svg, x, y, cell * figure_tile::WARP_N, cell * figure_tile::WARP_M, "none", "line");
    for (int s = 0; s < 3; s++) {
        int lane = shown[s];
        for (int i = 0; i < figure_tile::THREAD_M; i += VECTOR)
            for (int j = 0; j < figure_tile::THREAD_N; j += VECTOR)
                svg_rect(svg, x + cell * (column[(size_t)lane] * VECTOR + j * figure_tile::LANES_N),
                         y + cell * (row[(size_t)lane] * VECTOR + i * figure_tile::LANES_M), cell * VECTOR, cell * VECTOR, colours[s], "none");
        svg_text(svg, x + cell * figure_tile::WARP_N + 12, y + 14 + 20 * s, 12.5, SVG_START, colours[s], "lane %d", lane);
    }
    svg_text(svg, x, y - 8, 12.5, SVG_START, "ink", "a warp's %d × %d of C: %d × %d each, in groups of %d × %d", figure_tile::WARP_M,
             figure_tile::WARP_N, figure_tile::THREAD_M, figure_tile::THREAD_N, VECTOR, VECTOR);
}

static void draw_loaders(struct svg *svg, double x, double y, shared_array<int> &loader)
{
    char label[8];
    const int across = figure_tile::TILE_K / VECTOR;
    for (int c = 0; c < 16; c++)
        for (int k = 0; k < across; k++) {
            int thread = loader[(size_t)(c * across + k)];
            snprintf(label, sizeof label, "%d", thread);
            draw_cell(svg, x + 54 * k, y + 14 * c, 54, 14, fill_of(thread / WARP), label);
        }
    svg_text(svg, x, y - 8, 12.5, SVG_START, "ink", "A: 16 of %d rows, %d of k", figure_tile::TILE_M, figure_tile::TILE_K);
    svg_text(svg, x, y + 14 * 16 + 16, 12, SVG_START, "faint", "number: thread that loads these 4");
}

int main(int count, char **arguments)
{
    if (count != 2) fail("usage: %s FOLDER", arguments[0]);
    shared_array<int> row(WARP), column(WARP), loader(PACKS, -1);
    ask_lanes<<<1, figure_tile::THREADS>>>(row.device, column.device, loader.device);
    row.to_host();
    column.to_host();
    loader.to_host();
    struct svg svg = {};
    svg.width = 760;
    svg.height = 326;
    svg_title(&svg, 16, 24, 15, SVG_START, "Sums in registers, and who loads a tile that is transposed");
    draw_lanes(&svg, 40, 66, row, column);
    draw_loaders(&svg, 500, 66, loader);
    finish(&svg, arguments[1], "10_lanes", "The sums that three lanes keep, and which thread loads which numbers of A");
    return 0;
}
