// Lesson 02: who loads a tile, who multiplies which results, and which banks a column of the tile lies in.
#include "tiled_attention.cu"

#include "figure.h"

// Which thread writes each word of a tile: they load one after another, and whatever is new was that thread's.
__global__ void ask_loaders(const float *matrix, int *loader)
{
    __shared__ float tile[TILE][TILE_K + PAD];
    for (int i = (int)threadIdx.x; i < TILE * (TILE_K + PAD); i += THREADS) (&tile[0][0])[i] = -1.0f;
    __syncthreads();
    for (int thread = 0; thread < THREADS; thread++) {
        if ((int)threadIdx.x == thread) {
            load_tile<TILE, TILE_K>(tile, matrix, 0, TILE, 0, TILE_K);
            for (int r = 0; r < TILE; r++)
                for (int c = 0; c < TILE_K; c++)
                    if (tile[r][c] >= 0.0f && loader[r * TILE_K + c] < 0) loader[r * TILE_K + c] = thread;
        }
        __syncthreads();
    }
}

// Which results a thread computes: with rows numbered in Q and ones in K the sums are row numbers, and the reverse.
__global__ void ask_results(int thread, int *rows, int *columns)
{
    __shared__ float numbers[TILE][TILE_K + PAD], ones[TILE][TILE_K + PAD];
    for (int r = (int)threadIdx.x; r < TILE; r += THREADS)
        for (int d = 0; d < TILE_K; d++) {
            numbers[r][d] = d == 0 ? (float)r : 0.0f;
            ones[r][d] = d == 0 ? 1.0f : 0.0f;
        }
    __syncthreads();
    if ((int)threadIdx.x != thread) return;
    float by_row[THREAD_TILE][THREAD_TILE] = {}, by_column[THREAD_TILE][THREAD_TILE] = {};
    multiply_q_k(by_row, numbers, ones);
    multiply_q_k(by_column, ones, numbers);
    for (int i = 0; i < THREAD_TILE * THREAD_TILE; i++) {
        rows[i] = (int)by_row[i / THREAD_TILE][i % THREAD_TILE];
        columns[i] = (int)by_column[i / THREAD_TILE][i % THREAD_TILE];
    }
}

static void draw_results(struct svg *svg, double x, double y, int thread, const char *fill)
{
    shared_array<int> rows(THREAD_TILE * THREAD_TILE), columns(THREAD_TILE * THREAD_TILE);
    ask_results<<<1, THREADS>>>(thread, rows.device, columns.device);
    rows.to_host();
    columns.to_host();
    for (size_t i = 0; i < THREAD_TILE * THREAD_TILE; i++) svg_rect(svg, x + 3.5 * columns[i] - 1, y + 3.5 * rows[i] - 1, 5.5, 5.5, fill, "none");
}

static void draw_banks(struct svg *svg, double x, double y, int pad)
{
    int banks[32] = {0}, worst = 0;
    for (int row = 0; row < BLOCK_DIM; row++) {
        int bank = row * (TILE_K + pad) % 32;
        banks[bank]++;
        worst = banks[bank] > worst ? banks[bank] : worst;
    }
    svg_text(svg, x, y - 8, 12.5, SVG_START, "ink", "rows of %d floats: %d wavefront%s", TILE_K + pad, worst, worst == 1 ? "" : "s");
    for (int row = 0; row < BLOCK_DIM; row++)
        for (int bank = 0; bank < 32; bank++)
            svg_rect(svg, x + 10 * bank, y + 10 * row, 10, 10, row * (TILE_K + pad) % 32 == bank ? pad ? "c" : "e" : "none", "line");
}

int main(int count, char **arguments)
{
    if (count != 2) fail("usage: %s FOLDER", arguments[0]);
    shared_array<float> matrix(TILE * TILE_K, 1.0f);
    shared_array<int> loader(TILE * TILE_K, -1);
    ask_loaders<<<1, THREADS>>>(matrix.device, loader.device);
    loader.to_host();

    struct svg svg = {};
    svg.width = 760;
    svg.height = 330;
    svg_title(&svg, 16, 24, 15, SVG_START, "Who loads is not who multiplies");
    svg_text(&svg, 30, 56, 12.5, SVG_START, "ink", "the first 16 rows of a k-slice of %d × %d: who loads them", TILE, TILE_K);
    for (int r = 0; r < 16; r++) {
        for (int c = 0; c < TILE_K; c++)
            svg_rect(&svg, 30 + 8.0 * c, 66 + 14.0 * r, 8, 14, fill_of(loader[(size_t)(r * TILE_K + c)] / 32), "line");
        svg_text(&svg, 292, 77 + 14.0 * r, 11, SVG_START, "faint", "warp %d, its lanes in order", loader[(size_t)(r * TILE_K)] / 32);
    }
    svg_text(&svg, 470, 56, 12.5, SVG_START, "ink", "%d × %d results: those of three threads", TILE, TILE);
    svg_rect(&svg, 470, 66, 224, 224, "none", "line");
    draw_results(&svg, 470, 66, 0, "s");
    draw_results(&svg, 470, 66, 5, "t");
    draw_results(&svg, 470, 66, 16 * 9 + 12, "u");
    svg_text(&svg, 702, 80, 12, SVG_START, "s", "0");
    svg_text(&svg, 702, 98, 12, SVG_START, "t", "5");
    svg_text(&svg, 702, 116, 12, SVG_START, "u", "%d", 16 * 9 + 12);
    finish(&svg, arguments[1], "02_tiles", "Which warp loads each row of a k-slice, and which 16 results a thread computes");

    svg = {};
    svg.width = 760;
    svg.height = 260;
    svg_title(&svg, 16, 24, 15, SVG_START, "16 lanes read one column of 16 rows: the bank of each (bank 0 left, 31 right)");
    draw_banks(&svg, 30, 66, 0);
    draw_banks(&svg, 400, 66, PAD);
    finish(&svg, arguments[1], "02_banks", "Banks of a column of a tile without and with the pad");
    return 0;
}
