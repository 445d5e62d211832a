// Lesson 01: what the mask leaves visible, which K/V head a query head reads, and what 32 lanes ask for at once.
#include "naive_attention.cu"

#include "figure.h"

__global__ void ask_mask(struct attention_args args, int *seen, int *kv_head)
{
    int row = (int)threadIdx.x;
    seen[row] = keys_seen(args, row);
    kv_head[row] = (int)(kv_offset(args, row) / ((size_t)args.kv_len * args.head_dim));
}

static struct attention_args shape(int heads, int kv_heads, int q_len, int kv_len, int causal)
{
    struct attention_args args = {};
    args.batch = 1;
    args.heads = heads;
    args.kv_heads = kv_heads;
    args.q_len = q_len;
    args.kv_len = kv_len;
    args.head_dim = 64;
    args.causal = causal;
    return args;
}

static void draw_mask(struct svg *svg, double x, double y, int q_len, int kv_len)
{
    shared_array<int> seen(64), kv_head(64);
    ask_mask<<<1, (unsigned)q_len>>>(shape(1, 1, q_len, kv_len, 1), seen.device, kv_head.device);
    seen.to_host();
    svg_text(svg, x, y - 8, 12.5, SVG_START, "ink", "q_len %d, kv_len %d", q_len, kv_len);
    for (int q = 0; q < q_len; q++)
        for (int k = 0; k < kv_len; k++)
            draw_cell(svg, x + 24 * k, y + 24 * q, 24, 24, k < seen[(size_t)q] ? "a" : "none", NULL);
}

static void draw_groups(struct svg *svg, double x, double y, int heads, int kv_heads)
{
    shared_array<int> seen(64), kv_head(64);
    ask_mask<<<1, (unsigned)heads>>>(shape(heads, kv_heads, 1, 16, 0), seen.device, kv_head.device);
    kv_head.to_host();
    char label[16];
    svg_text(svg, x, y - 8, 12.5, SVG_START, "ink", "%d query heads share %d K/V heads", heads, kv_heads);
    double width = 36, apart = heads * width / kv_heads;
    for (int h = 0; h < heads; h++) {
        int kv = kv_head[(size_t)h];
        snprintf(label, sizeof label, "Q %d", h);
        draw_cell(svg, x + width * h, y, width - 4, 24, fill_of(kv), label);
        svg_arrow(svg, x + width * h + width / 2 - 2, y + 26,
                  x + apart * kv + apart / 2 + (h - (kv + 0.5) * heads / kv_heads) * 6, y + 66, "faint");
    }
    for (int kv = 0; kv < kv_heads; kv++) {
        snprintf(label, sizeof label, "K V %d", kv);
        draw_cell(svg, x + apart * kv + apart / 2 - 36, y + 68, 72, 24, fill_of(kv), label);
    }
}

// The addresses of one load instruction of a warp: lane i asks for the key of its thread, or for its own column.
__global__ void ask_sectors(struct attention_args args, int *scores_sector, int *output_sector)
{
    size_t key = threadIdx.x; // scores_kernel: block (0, 0), column 0
    scores_sector[threadIdx.x] = (int)((kv_offset(args, 0) + key * args.head_dim) * sizeof(float) / 32);
    size_t d = threadIdx.x; // output_kernel: the first key
    output_sector[threadIdx.x] = (int)((kv_offset(args, 0) + d) * sizeof(float) / 32);
}

static void draw_sectors(struct svg *svg, double x, double y, const char *title, shared_array<int> &sector)
{
    int touched = 0;
    svg_text(svg, x, y - 8, 12.5, SVG_START, "ink", "%s", title);
    for (int row = 0; row < 32; row++)
        for (int s = 0; s < 8; s++) {
            int lanes = 0;
            for (int lane = 0; lane < 32; lane++) lanes += sector[(size_t)lane] == row * 8 + s;
            svg_rect(svg, x + 27 * s, y + 7 * row, 27, 7,
                     lanes == 0   ? "none"
                     : lanes == 1 ? "e"
                                  : "c",
                     "line");
            touched += lanes > 0;
        }
    svg_text(svg, x, y + 32 * 7 + 18, 12.5, SVG_START, "ink", "%d sectors of 32 bytes for 128 bytes wanted",
             touched);
}

int main(int count, char **arguments)
{
    if (count != 2) fail("usage: %s FOLDER", arguments[0]);
    struct svg svg = {};
    svg.width = 760;
    svg.height = 215;
    svg_title(&svg, 16, 24, 15, SVG_START, "What a query sees, and whose keys it reads");
    draw_mask(&svg, 20, 70, 4, 4);
    draw_mask(&svg, 155, 70, 2, 3);
    draw_mask(&svg, 285, 70, 4, 2);
    draw_groups(&svg, 425, 70, 8, 2);
    svg_text(&svg, 20, 195, 12.5, SVG_START, "faint",
             "blue: a key that the query sees. The last query sees every key.");
    finish(&svg, arguments[1], "01_mask",
           "The causal mask for three shapes, and the K/V head of each of 8 query heads");

    shared_array<int> scores(32), output(32);
    ask_sectors<<<1, 32>>>(shape(1, 1, 1, 32, 0), scores.device, output.device);
    scores.to_host();
    output.to_host();
    svg = {};
    svg.width = 760;
    svg.height = 330;
    svg_title(&svg, 16, 24, 15, SVG_START,
              "One load of a warp: 32 lanes, 32 rows of 64 floats, 8 sectors per row");
    draw_sectors(&svg, 40, 66, "scores_kernel: K, one key a lane", scores);
    draw_sectors(&svg, 420, 66, "output_kernel: V, one column per lane", output);
    finish(&svg, arguments[1], "01_sectors",
           "Sectors that one load of a warp touches: 32 in scores_kernel, 4 in output_kernel");
    return 0;
}
