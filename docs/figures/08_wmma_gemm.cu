// Lesson 08: who brings a tile into shared memory, who multiplies which part of C, and the banks of a fragment's rows.
#include "wmma_gemm.cu"

#include "figure.h"

enum { CHUNKS = TILE_K / CHUNK };

// Which thread writes each chunk of the tile of A: they load one after another, and whatever is new was that thread's.
__global__ void ask_loaders(struct source from, int *loader)
{
    __shared__ struct shared_tiles tiles;
    for (int i = (int)threadIdx.x; i < TILE_M * CHUNKS; i += THREADS) tiles.a[i / CHUNKS][i % CHUNKS * CHUNK] = __float2half(-1.0f);
    __syncthreads();
    for (int turn = 0; turn < THREADS; turn++) {
        if ((int)threadIdx.x == turn) {
            load_by_chunk<TILE_M, TILE_K>(tiles.a, from, 0, 0);
            for (int i = 0; i < TILE_M * CHUNKS; i++)
                if (__half2float(tiles.a[i / CHUNKS][i % CHUNKS * CHUNK]) >= 0.0f && loader[i] < 0) loader[i] = turn;
        }
        __syncthreads();
    }
}

static void draw_loaders(struct svg *svg, double x, double y, const shared_array<int> &loader)
{
    char label[8];
    for (int row = 0; row < 16; row++)
        for (int chunk = 0; chunk < CHUNKS; chunk++) {
            int thread = loader.host[(size_t)(row * CHUNKS + chunk)];
            snprintf(label, sizeof label, "%d", thread);
            draw_cell(svg, x + 34 * chunk, y + 14 * row, 34, 14, fill_of(thread / WARP), label);
        }
    svg_text(svg, x, y - 8, 12.5, SVG_START, "ink", "A: 16 of %d rows, %d chunks of 16 bytes", TILE_M, CHUNKS);
    svg_text(svg, x, y + 14 * 16 + 16, 12, SVG_START, "faint", "number: thread; colour: warp");
}

static void draw_parts(struct svg *svg, double x, double y)
{
    double cell = 224.0 / (TILE_M / FRAGMENT);
    svg_text(svg, x, y - 8, 12.5, SVG_START, "ink", "C: %d × %d, fragments of %d × %d", TILE_M, TILE_N, FRAGMENT, FRAGMENT);
    for (int i = 0; i < TILE_M / FRAGMENT; i++)
        for (int j = 0; j < TILE_N / FRAGMENT; j++) {
            int warp = i / FRAGMENTS_M * WARPS_N + j / FRAGMENTS_N;
            char label[8];
            snprintf(label, sizeof label, "w%d", warp);
            draw_cell(svg, x + cell * j, y + cell * i, cell, cell, fill_of(warp), label);
        }
}

// 8 rows of 16 bytes at once: the word in which each begins, in tiles with and without the pad.
static void draw_banks(struct svg *svg, double x, double y, int pad)
{
    int used[32] = {0}, turns = 0;
    for (int row = 0; row < 8; row++)
        for (int word = 0; word < 4; word++) {
            int bank = (row * (TILE_K + pad) / 2 + word) % 32;
            used[bank]++;
            turns = used[bank] > turns ? used[bank] : turns;
        }
    svg_text(svg, x, y - 8, 12.5, SVG_START, "ink", "rows of %d halves: %d turn%s", TILE_K + pad, turns, turns == 1 ? "" : "s");
    for (int row = 0; row < 8; row++)
        for (int bank = 0; bank < 32; bank++) {
            int first = row * (TILE_K + pad) / 2 % 32;
            int mine = bank >= first && bank < first + 4;
            svg_rect(svg, x + 10.5 * bank, y + 16 * row, 10.5, 16, mine ? turns == 1 ? "c" : "e" : "none", "line");
        }
}

int main(int count, char **arguments)
{
    if (count != 2) fail("usage: %s FOLDER", arguments[0]);
    shared_array<half> matrix(TILE_M * TILE_K, __float2half(1.0f));
    shared_array<int> loader(TILE_M * CHUNKS, -1);
    struct source from = {};
    from.data = matrix.device;
    from.leading = TILE_K;
    from.rows = TILE_M;
    from.cols = TILE_K;
    ask_loaders<<<1, THREADS>>>(from, loader.device);
    loader.to_host();
    struct svg svg = {};
    svg.width = 760;
    svg.height = 330;
    svg_title(&svg, 16, 24, 15, SVG_START, "Threads load chunks, warps multiply fragments");
    draw_loaders(&svg, 40, 66, loader);
    draw_parts(&svg, 420, 66);
    finish(&svg, arguments[1], "08_tiles", "Which thread loads each chunk of A, and which warp has each fragment of C");

    svg = {};
    svg.width = 760;
    svg.height = 220;
    svg_title(&svg, 16, 24, 15, SVG_START, "A fragment's load: 16 bytes of 8 rows at once, in which banks? (0 left, 31 right)");
    draw_banks(&svg, 24, 66, 0);
    draw_banks(&svg, 400, 66, PAD);
    finish(&svg, arguments[1], "08_banks", "Banks of eight rows of a fragment without and with the pad");
    return 0;
}
