// Lesson 12: which lane holds which scores of S, and which weights of P it needs: they are the same.
#include "tensor_core_attention.cu"

#include "figure.h"

enum { FIGURE_DIM = 64, SIDE = 16, PAIRS = SIDE / 2, REGISTERS = 4 };

// What the lanes of a warp hold: element [lane][register][half] is 16 * row + column.
struct holdings {
    float s[WARP][REGISTERS][2]; // two fragments C of S, in the order in which add_values() packs them
    float a[WARP][REGISTERS][2]; // a fragment A
};

// Q has its row's number in column 0 and a 1 in column 1, K a 16 in column 0 and its row's number in column 1.
__device__ void fill_tiles(struct shared_tiles<__half, FIGURE_DIM> *tiles)
{
    for (int i = (int)threadIdx.x; i < SIDE * FIGURE_DIM; i += THREADS) {
        int row = i / FIGURE_DIM, column = i % FIGURE_DIM;
        float q = column == 0 ? (float)row : column == 1 ? 1.0f : 0.0f, k = column == 0 ? 16.0f : column == 1 ? (float)row : 0.0f;
        chunk_at<__half, FIGURE_DIM>(tiles->q, row, column / CHUNK)[column % CHUNK] = __float2half(q);
        chunk_at<__half, FIGURE_DIM>(tiles->k, row, column / CHUNK)[column % CHUNK] = __float2half(k);
    }
}

__global__ void ask_fragments(struct holdings *out)
{
    extern __shared__ uint4 memory[];
    struct shared_tiles<__half, FIGURE_DIM> *tiles = (struct shared_tiles<__half, FIGURE_DIM> *)memory;
    struct query_fragments<FIGURE_DIM> q;
    struct scores<FIGURE_DIM> p;
    int lane = (int)threadIdx.x;
    for (int i = lane; i < (int)(sizeof *tiles / sizeof(uint4)); i += THREADS) memory[i] = make_uint4(0, 0, 0, 0);
    __syncthreads(); // all is 0 before some of it is not
    fill_tiles(tiles);
    __syncthreads(); // Q and K are complete
    for (int step = 0; step < sizes<FIGURE_DIM>::STEPS; step++) load_q<__half, FIGURE_DIM>(q.a[step], tiles->q, step);
    multiply_q_k<__half, FIGURE_DIM>(&p, &q, tiles);
    __syncthreads(); // all have read Q
    for (int i = lane; i < SIDE * SIDE; i += THREADS)
        chunk_at<__half, FIGURE_DIM>(tiles->q, i / SIDE, i % SIDE / CHUNK)[i % CHUNK] = __float2half((float)i);
    __syncthreads(); // Q is what a fragment A is asked about
    load_q<__half, FIGURE_DIM>(q.a[0], tiles->q, 0);
    for (int x = 0; x < 2 * REGISTERS && lane < WARP; x++) {
        int which = x / 2, half = x % 2;
        out->s[lane][which][half] = p.s[0][which / 2][which % 2 * 2 + half];
        out->a[lane][which][half] = unpack_element<__half>(q.a[0][0][which], half);
    }
}

static void draw_holdings(struct svg *svg, double x, double y, const char *title, const char *of_colours,
                          const float held[WARP][REGISTERS][2])
{
    char label[8];
    svg_text(svg, x, y - 24, 12.5, SVG_START, "ink", "%s", title);
    for (int pair = 0; pair < PAIRS; pair++)
        svg_text(svg, x + 36 * pair + 18, y - 6, 9.5, SVG_MIDDLE, "faint", "%d, %d", 2 * pair, 2 * pair + 1);
    for (int row = 0; row < SIDE; row++) svg_text(svg, x - 6, y + 16 * row + 12, 11, SVG_END, "faint", "%d", row);
    for (int lane = 0; lane < WARP; lane++)
        for (int which = 0; which < REGISTERS; which++) {
            int first = (int)held[lane][which][0], second = (int)held[lane][which][1];
            if (second != first + 1 || first % 2 != 0) fail("lane %d: %d beside %d", lane, first, second);
            snprintf(label, sizeof label, "%d", lane);
            draw_cell(svg, x + 36 * (first % SIDE / 2), y + 16 * (first / SIDE), 36, 16, fill_of(which), label);
        }
    svg_text(svg, x, y + 16 * SIDE + 17, 12, SVG_START, "faint", "%s", of_colours);
}

int main(int count, char **arguments)
{
    if (count != 2) fail("usage: %s FOLDER", arguments[0]);
    shared_array<struct holdings> held(1);
    ask_fragments<<<1, THREADS, sizeof(struct shared_tiles<__half, FIGURE_DIM>)>>>(held.device);
    held.to_host();
    struct svg svg = {};
    svg.width = 700;
    svg.height = 350;
    draw_holdings(&svg, 36, 54, "S: 16 rows, keys 0 to 15", "number: lane; colour: which half of which fragment C", held[0].s);
    draw_holdings(&svg, 388, 54, "P, as mma.sync wants it", "number: lane; colour: a[0], a[1], a[2], a[3]", held[0].a);
    finish(&svg, arguments[1], "12_fragments", "Which lane holds which scores of S, and which weights of P it needs");
    return 0;
}
