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

// What moves between device memory and an SM in one pass of the inner loop: FlashAttention-1 on the left.
static void draw_levels(struct svg *svg, double x, const char *const shared[2], const char *registers)
{
    draw_cell(svg, x, 62, 330, 40, "none", "");
    svg_text(svg, x + 8, 58, 12, SVG_START, "faint", "device memory");
    draw_cell(svg, x, 176, 330, 40, "none", "");
    svg_text(svg, x + 8, 230, 12, SVG_START, "faint", "shared memory of one block");
    draw_cell(svg, x, 272, 330, 40, "none", "");
    svg_text(svg, x + 8, 326, 12, SVG_START, "faint", "registers");
    draw_cell(svg, x + 6, 183, 128, 26, "a", shared[0]);
    draw_cell(svg, x + 138, 183, 106, 26, "b", shared[1]);
    draw_cell(svg, x + 10, 279, 310, 26, "c", registers);
}

static void draw_dataflow(const char *folder)
{
    static const char *const first[] = {"K, V: one tile, stays", "Q: tile after tile"}, *const second[] = {"K, V: tile after tile", "Q: one tile, stays"};
    struct svg svg = {{0}, 760, 376};
    svg_title(&svg, 20, 26, 15, SVG_START, "FlashAttention-1: keys outside");
    svg_title(&svg, 400, 26, 15, SVG_START, "FlashAttention-2: queries outside");
    draw_levels(&svg, 20, first, "S, P of one tile; O, m, l of a visit");
    draw_levels(&svg, 400, second, "S, P of one tile; O, m, l to the end");
    for (int side = 0; side < 2; side++) {
        double x = side ? 400 : 20;
        draw_cell(&svg, x + 10, 69, 90, 26, "a", "K, V");
        draw_cell(&svg, x + 110, 69, 60, 26, "b", "Q");
        draw_cell(&svg, x + 200, 69, 120, 26, "c", side ? "O, lse" : "O, m, l");
        svg_arrow(&svg, x + 55, 96, x + 55, 180, side ? "t" : "line");
        svg_arrow(&svg, x + 140, 96, x + 190, 180, side ? "line" : "t");
        svg_arrow(&svg, x + 70, 210, x + 70, 276, "t");
        svg_arrow(&svg, x + 190, 210, x + 190, 276, "t");
    }
    svg_arrow(&svg, 282, 96, 282, 276, "s");
    svg_arrow(&svg, 312, 276, 312, 96, "s");
    svg_arrow(&svg, 680, 276, 680, 96, "line");
    svg_text(&svg, 20, 352, 12, SVG_START, "faint", "O, m, l are loaded and stored once per tile of keys");
    svg_text(&svg, 400, 352, 12, SVG_START, "faint", "O and lse are stored once, at the end; no state goes back");
    svg_text(&svg, 20, 370, 12, SVG_START, "faint", "Coloured arrows: at every iteration of the inner loop. Thin grey: once per iteration of the outer loop.");
    finish(&svg, folder, "05_dataflow", "What moves between device memory, shared memory and registers in FlashAttention-1 and FlashAttention-2");
}

// 2 blocks fit on each of SMS SMs: BLOCKS equal blocks, in the order in which SMs become free.
static void draw_tail(const char *folder)
{
    enum { SMS = 6, FIT = 2, BLOCKS = 26, WIDTH_OF_BLOCK = 190 };
    struct svg svg = {{0}, 760, 86 + SMS * 44};
    svg_title(&svg, 16, 24, 15, SVG_START, "%d equal blocks on %d SMs that hold %d each: two full waves, and a tail", BLOCKS, SMS, FIT);
    for (int block = 0; block < (BLOCKS + SMS * FIT - 1) / (SMS * FIT) * SMS * FIT; block++) {
        char label[16];
        int wave = block / (SMS * FIT), place = block % (SMS * FIT), sm = place % SMS, slot = place / SMS;
        snprintf(label, sizeof label, "%d", block);
        draw_cell(&svg, 80 + WIDTH_OF_BLOCK * wave, 44 + 44 * sm + 19 * slot, WIDTH_OF_BLOCK - 2, 18, block < BLOCKS ? fill_of(wave) : "none", block < BLOCKS ? label : "");
    }
    for (int sm = 0; sm < SMS; sm++) svg_text(&svg, 20, 68 + 44 * sm, 12, SVG_START, "ink", "SM %d", sm);
    svg_arrow(&svg, 80, 52 + SMS * 44, 660, 52 + SMS * 44, "line");
    svg_text(&svg, 666, 56 + SMS * 44, 12, SVG_START, "faint", "time");
    svg_text(&svg, 80, 76 + SMS * 44, 12, SVG_START, "faint", "The last %d blocks take as long as %d: empty places are SMs that wait for the tail.", BLOCKS % (SMS * FIT), SMS * FIT);
    finish(&svg, folder, "05_tail", "Blocks on SMs over time: two full waves, then a tail of two blocks while the other SMs are idle");
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
    draw_dataflow(arguments[1]);
    draw_tail(arguments[1]);
    return 0;
}
