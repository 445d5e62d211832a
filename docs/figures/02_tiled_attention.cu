// Lesson 02: who loads a tile, who multiplies which results, and which banks a column of the tile lies in.
#include "tiled_attention.cu"

#include "figure.h"

// Which thread writes each word of a tile: they load one after another, and whatever is new was that thread's.
__global__ void ask_loaders(const float *matrix, int *loader)
{
    __shared__ float tile[TILE][SLAB + PAD];
    for (int i = (int)threadIdx.x; i < TILE * (SLAB + PAD); i += THREADS) (&tile[0][0])[i] = -1.0f;
    __syncthreads();
    for (int turn = 0; turn < THREADS; turn++) {
        if ((int)threadIdx.x == turn) {
            load_tile<TILE, SLAB>(tile, matrix, 0, TILE, 0, SLAB);
            for (int r = 0; r < TILE; r++)
                for (int c = 0; c < SLAB; c++)
                    if (tile[r][c] >= 0.0f && loader[r * SLAB + c] < 0) loader[r * SLAB + c] = turn;
        }
        __syncthreads();
    }
}

// Which results a thread computes: with rows numbered in Q and ones in K the sums are row numbers, and the reverse.
__global__ void ask_results(int thread, int *rows, int *columns)
{
    __shared__ float numbers[TILE][SLAB + PAD], ones[TILE][SLAB + PAD];
    for (int r = (int)threadIdx.x; r < TILE; r += THREADS)
        for (int d = 0; d < SLAB; d++) {
            numbers[r][d] = d == 0 ? (float)r : 0.0f;
            ones[r][d] = d == 0 ? 1.0f : 0.0f;
        }
    __syncthreads();
    if ((int)threadIdx.x != thread) return;
    float by_row[EACH][EACH] = {}, by_column[EACH][EACH] = {};
    multiply_q_k(by_row, numbers, ones);
    multiply_q_k(by_column, ones, numbers);
    for (int i = 0; i < EACH * EACH; i++) {
        rows[i] = (int)by_row[i / EACH][i % EACH];
        columns[i] = (int)by_column[i / EACH][i % EACH];
    }
}

static void draw_results(struct svg *svg, double x, double y, int thread, const char *fill)
{
    shared_array<int> rows(EACH * EACH), columns(EACH * EACH);
    ask_results<<<1, THREADS>>>(thread, rows.device, columns.device);
    rows.to_host();
    columns.to_host();
    for (size_t i = 0; i < EACH * EACH; i++) svg_rect(svg, x + 3.5 * columns[i] - 1, y + 3.5 * rows[i] - 1, 5.5, 5.5, fill, "none");
}

static void draw_banks(struct svg *svg, double x, double y, int pad)
{
    int banks[32] = {0}, worst = 0;
    for (int row = 0; row < SIDE; row++) {
        int bank = row * (SLAB + pad) % 32;
        banks[bank]++;
        worst = banks[bank] > worst ? banks[bank] : worst;
    }
    svg_text(svg, x, y - 8, 12.5, SVG_START, "ink", "rows of %d floats: %d turn%s", SLAB + pad, worst, worst == 1 ? "" : "s");
    for (int row = 0; row < SIDE; row++)
        for (int bank = 0; bank < 32; bank++)
            svg_rect(svg, x + 10 * bank, y + 10 * row, 10, 10, row * (SLAB + pad) % 32 == bank ? pad ? "c" : "e" : "none", "line");
}

int main(int count, char **arguments)
{
    if (count != 2) fail("usage: %s FOLDER", arguments[0]);
    shared_array<float> matrix(TILE * SLAB, 1.0f);
    shared_array<int> loader(TILE * SLAB, -1);
    ask_loaders<<<1, THREADS>>>(matrix.device, loader.device);
    loader.to_host();

    struct svg svg = {};
    svg.width = 760;
    svg.height = 330;
    svg_title(&svg, 16, 24, 15, SVG_START, "Who loads is not who multiplies");
    svg_text(&svg, 30, 56, 12.5, SVG_START, "ink", "the first 16 rows of a slab of %d × %d: who loads them", TILE, SLAB);
    for (int r = 0; r < 16; r++) {
        for (int c = 0; c < SLAB; c++)
            svg_rect(&svg, 30 + 8.0 * c, 66 + 14.0 * r, 8, 14, fill_of(loader[(size_t)(r * SLAB + c)] / 32), "line");
        svg_text(&svg, 292, 77 + 14.0 * r, 11, SVG_START, "faint", "warp %d, its lanes in order", loader[(size_t)(r * SLAB)] / 32);
    }
    svg_text(&svg, 470, 56, 12.5, SVG_START, "ink", "%d × %d results: those of three threads", TILE, TILE);
    svg_rect(&svg, 470, 66, 224, 224, "none", "line");
    draw_results(&svg, 470, 66, 0, "s");
    draw_results(&svg, 470, 66, 5, "t");
    draw_results(&svg, 470, 66, 16 * 9 + 12, "u");
    svg_text(&svg, 702, 80, 12, SVG_START, "s", "0");
    svg_text(&svg, 702, 98, 12, SVG_START, "t", "5");
    svg_text(&svg, 702, 116, 12, SVG_START, "u", "%d", 16 * 9 + 12);
    finish(&svg, arguments[1], "02_tiles", "Which warp loads each row of a slab, and which 16 results a thread computes");

    svg = {};
    svg.width = 760;
    svg.height = 260;
    svg_title(&svg, 16, 24, 15, SVG_START, "16 lanes read one column of 16 rows: the bank of each (bank 0 left, 31 right)");
    draw_banks(&svg, 30, 66, 0);
    draw_banks(&svg, 400, 66, PAD);
    finish(&svg, arguments[1], "02_banks", "Banks of a column of a tile without and with the pad");
    return 0;
}
