// Lesson 06: where tokens lie, who loads what of sixteen of them, and how lanes add up their parts of the scores.
#include "paged_attention.cu"

#include "figure.h"

typedef layout<128, 4> figure_layout;

// Every 16 bytes of K hold their own number: which does each lane get, at each of its loads?
__global__ void ask_loads(const __half *rows, int *number_at)
{
    uint4 part[figure_layout::LOADS];
    int lane = (int)threadIdx.x;
    const __half *from = rows + lane / figure_layout::LANES * 128 + lane % figure_layout::LANES * VECTOR;
    load_rows<128>(part, from, 128, STEP_KEYS);
    for (int i = 0; i < figure_layout::LOADS; i++) {
        const __half *values = (const __half *)&part[i];
        number_at[i * WARP + lane] = (int)__half2float(values[0]);
    }
}

static void draw_pages(struct svg *svg, double x, double y)
{
    static const int table[] = {7, 2, 5};
    const int block_size = 16, length = 35, pages = 8;
    for (int t = 0; t < 3; t++) {
        char label[16];
        snprintf(label, sizeof label, "page %d", table[t]);
        draw_cell(svg, x + 90 * t, y, 84, 24, fill_of(t), label);
        svg_text(svg, x + 90 * t + 42, y - 8, 11.5, SVG_MIDDLE, "faint", "tokens %d–%d", t * block_size,
                 t == 2 ? length - 1 : (t + 1) * block_size - 1);
    }
    svg_text(svg, x + 280, y + 16, 12.5, SVG_START, "ink", "block_table of a sequence of %d tokens", length);
    for (int page = 0; page < pages; page++) {
        double left = x + 84 * page;
        int logical = -1;
        for (int t = 0; t < 3; t++)
            if (table[t] == page) logical = t;
        for (int row = 0; row < block_size; row++) {
            int used = logical >= 0 && logical * block_size + row < length;
            svg_rect(svg, left, y + 84 + 7 * row, 76, 7, used ? fill_of(logical) : logical >= 0 ? "e" : "none", "line");
        }
        svg_text(svg, left + 38, y + 84 + 7 * block_size + 15, 11.5, SVG_MIDDLE, "faint", "page %d", page);
        if (logical >= 0) svg_arrow(svg, x + 90 * logical + 42, y + 26, left + 38, y + 82, "faint");
    }
    svg_text(svg, x, y + 84 + 7 * block_size + 38, 12, SVG_START, "faint",
             "red: rows past the last token. They belong to no sequence, may hold NaN, and are not read.");
}

static void draw_loads(struct svg *svg, double x, double y)
{
    shared_array<__half> rows(STEP_KEYS * 128);
    shared_array<int> number_at((size_t)(figure_layout::LOADS * WARP));
    for (size_t i = 0; i < rows.host.size(); i++) rows[i] = __float2half((float)(i / VECTOR));
    rows.to_device();
    ask_loads<<<1, WARP>>>(rows.device, number_at.device);
    number_at.to_host();
    char label[8];
    for (int i = 0; i < figure_layout::LOADS; i++)
        for (int lane = 0; lane < WARP; lane++) {
            int number = number_at[(size_t)(i * WARP + lane)], across = 128 / VECTOR;
            snprintf(label, sizeof label, "%d", lane);
            draw_cell(svg, x + 38 * (number % across), y + 22 * (number / across), 38, 22, fill_of(i), label);
        }
    for (int key = 0; key < STEP_KEYS; key++) svg_text(svg, x - 6, y + 22 * key + 15, 11, SVG_END, "faint", "token %d", key);
    svg_text(svg, x, y + 22 * STEP_KEYS + 18, 12, SVG_START, "faint",
             "16 bytes a cell, in it the lane; one colour is one load instruction: 32 lanes, %d rows of 256 bytes.", figure_layout::LANE_GROUPS);
}

enum { SCATTER_LANES = 8 }; // of the reduce-scatter that is drawn: as many sums

// Which sum is each lane left with? Value i is 4^i in every lane, so sum i is SCATTER_LANES * 4^i.
__global__ void ask_reduce_scatter(float *sum_at)
{
    float x[SCATTER_LANES];
    for (int i = 0; i < SCATTER_LANES; i++) x[i] = (float)(1u << 2 * i);
    sum_at[threadIdx.x] = warp_reduce_scatter<SCATTER_LANES, SCATTER_LANES>(x);
}

static void draw_reduce_scatter(struct svg *svg, double x, double y)
{
    shared_array<float> sum_at(WARP);
    ask_reduce_scatter<<<1, WARP>>>(sum_at.device);
    sum_at.to_host();
    double cell = 19, apart = SCATTER_LANES * cell + 29;
    for (int stage = 0; stage <= 3; stage++) {
        int kept = SCATTER_LANES >> stage, added = 1 << stage; // sums of a lane, lanes in each of them
        double left = x + apart * stage;
        if (stage == 0)
            svg_text(svg, left, y - 26, 12, SVG_START, "ink", "at first");
        else
            svg_text(svg, left, y - 26, 12, SVG_START, "ink", "after distance %d", SCATTER_LANES >> stage);
        for (int i = 0; i < SCATTER_LANES; i++) svg_text(svg, left + cell * (i + 0.5), y - 6, 11, SVG_MIDDLE, "faint", "%d", i);
        for (int lane = 0; lane < SCATTER_LANES; lane++) {
            char label[8];
            snprintf(label, sizeof label, "%d", added);
            for (int i = 0; i < SCATTER_LANES; i++) {
                int holds = i / kept == lane / kept;
                draw_cell(svg, left + cell * i, y + 22 * lane, cell, 22, holds ? fill_of(stage) : "none", holds ? label : NULL);
                if (stage == 3 && holds && sum_at[(size_t)lane] != (float)(SCATTER_LANES * (1u << 2 * i)))
                    fail("warp_reduce_scatter() leaves lane %d with another sum than %d", lane, i);
            }
            if (stage == 0) svg_text(svg, left - 6, y + 22 * lane + 15, 11, SVG_END, "faint", "lane %d", lane);
        }
    }
    svg_text(svg, x, y + 22 * SCATTER_LANES + 20, 12, SVG_START, "faint",
             "A column is one of 8 sums. The number says of how many lanes a lane has added up the parts; white: given away.");
}

int main(int count, char **arguments)
{
    if (count != 2) fail("usage: %s FOLDER", arguments[0]);
    struct svg svg = {};
    svg.width = 760;
    svg.height = 318;
    svg_title(&svg, 16, 24, 15, SVG_START, "A sequence in pages of 16");
    draw_pages(&svg, 40, 64);
    finish(&svg, arguments[1], "06_pages", "A block table that names pages 7, 2 and 5, and the pages of the cache");
    svg = {};
    svg.width = 760;
    svg.height = 60 + 22.0 * STEP_KEYS + 30;
    svg_title(&svg, 16, 24, 15, SVG_START, "What the lanes of a warp load of %d tokens, head_dim 128", STEP_KEYS);
    draw_loads(&svg, 90, 44);
    finish(&svg, arguments[1], "06_loads", "Which lane loads which 16 bytes of a step of keys");
    svg = {};
    svg.width = 800;
    svg.height = 310;
    svg_title(&svg, 16, 24, 15, SVG_START, "Reduce-scatter: 8 lanes add up 8 values with 7 shuffles each, and each lane keeps one sum");
    draw_reduce_scatter(&svg, 66, 84);
    finish(&svg, arguments[1], "06_reduce_scatter", "Which sums each of 8 lanes holds after each exchange of a reduce-scatter");
    return 0;
}
