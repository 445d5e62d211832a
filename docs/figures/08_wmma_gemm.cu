// Lesson 08: which banks a fragment's load meets, which lane holds which element of a sum, who loads and who multiplies.
#include "wmma_gemm.cu"

#include "figure.h"

enum { ROWS_AT_ONCE = 8, BANKS = 32, WORDS = CHUNK / 2 }; // a load takes 8 rows of 16 bytes, 4 banks each, at once

// Every lane puts its number into all elements that it holds; stored, the fragment says who holds which.
__global__ void ask_lanes(float *lanes)
{
    c_fragment c;
    for (int i = 0; i < c.num_elements; i++) c.x[i] = (float)threadIdx.x;
    nvcuda::wmma::store_matrix_sync(lanes, c, FRAGMENT, nvcuda::wmma::mem_row_major);
}

static void draw_banks(struct svg *svg, double x, double y, int pad)
{
    int met[BANKS] = {0}, worst = 0;
    for (int row = 0; row < ROWS_AT_ONCE; row++)
        for (int word = 0; word < WORDS; word++) {
            int bank = (row * (TILE_K + pad) / 2 + word) % BANKS;
            met[bank]++;
            worst = met[bank] > worst ? met[bank] : worst;
            svg_rect(svg, x + 10 * bank, y + 14 * row, 10, 14, pad ? "c" : "e", "line");
        }
    svg_text(svg, x, y - 8, 12.5, SVG_START, "ink", "rows of %d halves: %d wavefront%s", TILE_K + pad, worst, worst == 1 ? "" : "s");
    svg_rect(svg, x, y, 10.0 * BANKS, 14.0 * ROWS_AT_ONCE, "none", "line");
}

enum { CHUNKS = TILE_K / CHUNK };

// Which thread writes each chunk of the tile of A: they load one after another, and whatever is new was that thread's.
__global__ void ask_loaders(struct source from, int *loader)
{
    __shared__ struct shared_tiles tiles;
    for (int i = (int)threadIdx.x; i < TILE_M * CHUNKS; i += THREADS) tiles.a[i / CHUNKS][i % CHUNKS * CHUNK] = __float2half(-1.0f);
    __syncthreads();
    for (int thread = 0; thread < THREADS; thread++) {
        if ((int)threadIdx.x == thread) {
            load_by_chunk<TILE_M, TILE_K>(tiles.a, from, 0, 0);
            for (int i = 0; i < TILE_M * CHUNKS; i++)
                if (__half2float(tiles.a[i / CHUNKS][i % CHUNKS * CHUNK]) >= 0.0f && loader[i] < 0) loader[i] = thread;
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

int main(int count, char **arguments)
{
    if (count != 2) fail("usage: %s FOLDER", arguments[0]);
    shared_array<float> lanes(FRAGMENT * FRAGMENT, -1.0f);
    ask_lanes<<<1, WARP>>>(lanes.device);
    lanes.to_host();

    struct svg svg = {};
    svg.width = 760;
    svg.height = 200;
    svg_title(&svg, 16, 24, 15, SVG_START, "8 rows of 16 bytes, loaded at once: the banks of each (bank 0 left, 31 right)");
    draw_banks(&svg, 30, 66, 0);
    draw_banks(&svg, 400, 66, PAD);
    finish(&svg, arguments[1], "08_banks", "Banks of 8 rows of a tile without and with the pad");

    svg = {};
    svg.width = 760;
    svg.height = 340;
    svg_title(&svg, 16, 24, 15, SVG_START, "Which lane holds which element of a sum, on sm_80 and later. Nobody promises it.");
    for (int i = 0; i < FRAGMENT; i++)
        for (int j = 0; j < FRAGMENT; j++) {
            char label[8];
            int lane = (int)lanes[(size_t)(i * FRAGMENT + j)];
            snprintf(label, sizeof label, "%d", lane);
            draw_cell(&svg, 30 + 42.0 * j, 44 + 17.0 * i, 42, 17, lane == 5 ? "e" : lane / 4 % 2 ? "b" : "none", label);
        }
    finish(&svg, arguments[1], "08_lanes", "The lane that holds each element of a 16 × 16 accumulator");

    shared_array<half> matrix(TILE_M * TILE_K, __float2half(1.0f));
    shared_array<int> loader(TILE_M * CHUNKS, -1);
    struct source from = {};
    from.data = matrix.device;
    from.leading = TILE_K;
    from.rows = TILE_M;
    from.cols = TILE_K;
    ask_loaders<<<1, THREADS>>>(from, loader.device);
    loader.to_host();
    svg = {};
    svg.width = 760;
    svg.height = 330;
    svg_title(&svg, 16, 24, 15, SVG_START, "Threads load chunks, warps multiply fragments");
    draw_loaders(&svg, 40, 66, loader);
    draw_parts(&svg, 420, 66);
    finish(&svg, arguments[1], "08_tiles", "Which thread loads each chunk of A, and which warp has each fragment of C");
    return 0;
}
