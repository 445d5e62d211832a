// Lesson 04: where the swizzle puts the groups of a key, and in which order one block visits.
#include "flash_attention_1.cu"

#include "figure.h"

enum { HEAD_DIM = 64, FIGURE_KEYS = sizes<HEAD_DIM>::KEYS, FIGURE_FOURS = sizes<HEAD_DIM>::FOURS };

// Every group of K holds its own number: what lies where after load_tile()?
__global__ void ask_places(const float *k, int *group_at)
{
    __shared__ float4 k_tile[FIGURE_KEYS][FIGURE_FOURS], v_tile[FIGURE_KEYS][FIGURE_FOURS];
    load_tile<float, HEAD_DIM>(k_tile, v_tile, k, k, FIGURE_KEYS);
    __syncthreads();
    for (int i = (int)threadIdx.x; i < FIGURE_KEYS * FIGURE_FOURS; i += THREADS)
        group_at[i] = (int)k_tile[i / FIGURE_FOURS][i % FIGURE_FOURS].x % FIGURE_FOURS;
}

// Does a piece of queries have business with a tile of keys? As attention_kernel() decides it.
__global__ void ask_visits(struct attention_args args, int piece_rows, int tiles, int *visited)
{
    int piece = (int)threadIdx.x;
    int last = min((piece + 1) * piece_rows, args.q_len) - 1;
    for (int tile = 0; tile < tiles; tile++)
        visited[piece * tiles + tile] = tile == 0 || keys_seen(args, last) > tile * FIGURE_KEYS;
}

static void draw_places(struct svg *svg, double x, double y, const char *title, const int *group_at)
{
    char label[8];
    svg_text(svg, x, y - 10, 12.5, SVG_START, "ink", "%s", title);
    for (int key = 0; key < 8; key++) {
        svg_text(svg, x - 6, y + 22 * key + 15, 11, SVG_END, "faint", "key %d", key);
        for (int place = 0; place < 8; place++) {
            int group = group_at[key * FIGURE_FOURS + place];
            snprintf(label, sizeof label, "%d", group);
            draw_cell(svg, x + 34 * place, y + 22 * key, 34, 22, group == 3 ? "b" : "none", label);
        }
    }
}

static void draw_visits(struct svg *svg, double x, double y, int causal)
{
    struct attention_args args = {};
    args.batch = args.heads = args.kv_heads = 1;
    args.q_len = args.kv_len = 512;
    args.head_dim = HEAD_DIM;
    args.causal = causal;
    const int tiles = 512 / FIGURE_KEYS, pieces = 16;
    shared_array<int> visited((size_t)(tiles * pieces));
    ask_visits<<<1, pieces>>>(args, 512 / pieces, tiles, visited.device);
    visited.to_host();
    svg_text(svg, x, y - 10, 12.5, SVG_START, "ink", causal ? "causal" : "every query sees every key");
    char label[8];
    for (int tile = 0; tile < tiles; tile++) {
        for (int piece = 0; piece < pieces; piece++)
            draw_cell(svg, x + 34 * tile, y + 11 * piece, 34, 11, visited[(size_t)(piece * tiles + tile)] ? fill_of(tile) : "none", NULL);
        snprintf(label, sizeof label, "%d", tile + 1);
        svg_text(svg, x + 34 * tile + 17, y + 11 * pieces + 16, 12, SVG_MIDDLE, "faint", "%s", label);
    }
}

int main(int count, char **arguments)
{
    if (count != 2) fail("usage: %s FOLDER", arguments[0]);
    shared_array<float> k(FIGURE_KEYS * HEAD_DIM);
    shared_array<int> swizzled(FIGURE_KEYS * FIGURE_FOURS);
    std::vector<int> plain(FIGURE_KEYS * FIGURE_FOURS);
    for (size_t i = 0; i < k.host.size(); i++) k[i] = (float)(i / FOUR);
    k.to_device();
    ask_places<<<1, THREADS>>>(k.device, swizzled.device);
    swizzled.to_host();
    for (size_t i = 0; i < plain.size(); i++) plain[i] = (int)i % FIGURE_FOURS;
    struct svg svg = {};
    svg.width = 760;
    svg.height = 282;
    svg_title(&svg, 16, 24, 15, SVG_START, "Eight lanes read group 3 of eight keys, 16 bytes each, from lines of 128 bytes");
    draw_places(&svg, 70, 72, "in rows: 1 group of banks, 8 wavefronts", plain.data());
    draw_places(&svg, 440, 72, "swizzled by load_tile: 8 groups, 1 wavefront", swizzled.host.data());
    svg_text(&svg, 70, 270, 12, SVG_START, "faint", "numbers: which group of four floats lies there");
    finish(&svg, arguments[1], "04_swizzle", "Where the groups of K lie in shared memory with and without the swizzle");

    svg = {};
    svg.width = 760;
    svg.height = 300;
    svg_title(&svg, 16, 24, 15, SVG_START, "One block per head: keys outside, queries inside");
    draw_visits(&svg, 70, 72, 0);
    draw_visits(&svg, 440, 72, 1);
    svg_text(&svg, 70, 284, 12, SVG_START, "faint",
             "columns: tiles of %d of 512 keys, in order. With each, O, l and m of all coloured rows are read, corrected, put back.",
             FIGURE_KEYS);
    finish(&svg, arguments[1], "04_visits", "Which rows are visited with each tile of keys, with and without the causal mask");
    return 0;
}
