// Lesson 08: which banks a fragment's load meets, and which lane holds which element of a sum.
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
    svg_text(svg, x, y - 8, 12.5, SVG_START, "ink", "rows of %d halves: %d turn%s", TILE_K + pad, worst, worst == 1 ? "" : "s");
    svg_rect(svg, x, y, 10.0 * BANKS, 14.0 * ROWS_AT_ONCE, "none", "line");
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
    return 0;
}
