// Lesson 05: which scores a lane holds, and which block starts first under a causal mask.
#include "flash_attention_2.cu"

#include "figure.h"

typedef sizes<64> figure_size;

__global__ void ask_lanes(int *rows, int *columns)
{
    rows[threadIdx.x] = first_row<figure_size::WARP_ROWS>();
    columns[threadIdx.x] = column_lane();
}

__global__ void ask_blocks(struct attention_args args, int *head, int *keys)
{
    int index = (int)threadIdx.x;
    struct query_tile tile = find_query_tile<figure_size::TILE_Q>(args, index);
    head[index] = tile.bh;
    keys[index] = keys_seen(args, tile.first + tile.rows - 1);
}

static void draw_lanes(struct svg *svg, double x, double y)
{
    static const int shown[] = {0, 5, 18};
    static const char *const colours[] = {"s", "t", "u"};
    shared_array<int> rows(THREADS), columns(THREADS);
    ask_lanes<<<1, THREADS>>>(rows.device, columns.device);
    rows.to_host();
    columns.to_host();
    int width = figure_size::TILE_KV, height = figure_size::WARP_ROWS;
    double cell = 7;
    svg_rect(svg, x, y, cell * width, cell * height, "none", "line");
    for (int lane = 0; lane < WARP; lane++)
        for (int i = 0; i < figure_size::ROWS; i++)
            for (int j = 0; j < figure_size::KEYS; j++) {
                const char *fill = "none";
                for (int s = 0; s < 3; s++)
                    if (shown[s] == lane) fill = colours[s];
                if (fill[0] == 'n') continue;
                svg_rect(svg, x + cell * (columns[(size_t)lane] + j * COLUMN_LANES), y + cell * (rows[(size_t)lane] + i * ROW_LANES),
                         cell, cell, fill, "none");
            }
    for (int s = 0; s < 3; s++) svg_text(svg, x + cell * width + 14, y + 14 + 20 * s, 12.5, SVG_START, colours[s], "lane %d", shown[s]);
    svg_text(svg, x + cell * width + 14, y + 90, 12, SVG_START, "faint", "%d × %d scores", figure_size::ROWS, figure_size::KEYS);
    svg_text(svg, x + cell * width + 14, y + 106, 12, SVG_START, "faint", "of %d × %d", height, width);
    svg_text(svg, x, y + cell * height + 18, 12, SVG_START, "faint", "%d keys across, the %d rows of one warp down", width, height);
}

static void draw_order(struct svg *svg, double x, double y)
{
    struct attention_args args = {};
    args.batch = 1;
    args.heads = args.kv_heads = 4;
    args.q_len = args.kv_len = 1024;
    args.head_dim = 64;
    args.causal = 1;
    int blocks = args.heads * args.q_len / figure_size::TILE_Q;
    shared_array<int> head((size_t)blocks), keys((size_t)blocks);
    ask_blocks<<<1, (unsigned)blocks>>>(args, head.device, keys.device);
    head.to_host();
    keys.to_host();
    for (int i = 0; i < blocks; i++) {
        double height = 110.0 * keys[(size_t)i] / args.kv_len;
        svg_rect(svg, x + 20 * i, y + 110 - height, 17, height, fill_of(head[(size_t)i]), "line");
    }
    svg_text(svg, x, y + 128, 12, SVG_START, "faint", "blocks in the order they start; height: keys the block must see (most: %d); colour: head", args.kv_len);
}

int main(int count, char **arguments)
{
    if (count != 2) fail("usage: %s FOLDER", arguments[0]);
    struct svg svg = {};
    svg.width = 760;
    svg.height = 300;
    svg_title(&svg, 16, 24, 15, SVG_START, "Who holds which scores: 4 lanes down the rows, 8 across the keys");
    draw_lanes(&svg, 40, 44);
    finish(&svg, arguments[1], "05_lanes", "The scores that three lanes of a warp hold, of 32 rows and 64 keys");
    svg = {};
    svg.width = 760;
    svg.height = 200;
    svg_title(&svg, 16, 24, 15, SVG_START, "Causal, 4 heads of 1024 queries: the longest blocks start first");
    draw_order(&svg, 40, 48);
    finish(&svg, arguments[1], "05_order", "Keys that each block must see, in the order in which blocks start");
    return 0;
}
