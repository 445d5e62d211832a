// Lesson 07: which graph a batch takes, what the padding rows hold, and how many nodes there are.
#include "cuda_graph.cu"

#include "figure.h"

static void draw_buckets(struct svg *svg, double x, double y, int most)
{
    for (int rows = 1; rows <= most; rows++) {
        int bucket = 1 << bucket_of(rows);
        for (int row = 0; row < bucket; row++)
            svg_rect(svg, x + 34 * (rows - 1), y + 9 * (most - 1 - row), 28, 9, row < rows ? fill_of(bucket_of(rows)) : "none", "line");
        svg_text(svg, x + 34 * (rows - 1) + 14, y + 9 * most + 15, 11.5, SVG_MIDDLE, "faint", "%d", rows);
        svg_text(svg, x + 34 * (rows - 1) + 14, y + 9 * (most - bucket) - 5, 11, SVG_MIDDLE, "ink", "%d", bucket);
    }
    svg_text(svg, x, y + 9 * most + 34, 12, SVG_START, "faint", "rows of the step below, rows of its graph above; white rows only pad");
}

static void draw_padding(struct svg *svg, double x, double y)
{
    struct decode_config config = {};
    config.max_rows = 4;
    config.max_blocks = 4;
    config.scratch_block = 96;
    static const int tokens[] = {12, 7, 30, -1}, positions[] = {37, 16, 3, -1};
    static const int tables[4][4] = {{5, 9, 2, -1}, {4, 8, -1, -1}, {6, -1, -1, -1}, {-1, -1, -1, -1}};
    shared_array<int> token(4), position(4), table(16);
    for (size_t i = 0; i < 16; i++) {
        table[i] = tables[i / 4][i % 4];
        if (i < 4) token[i] = tokens[i];
        if (i < 4) position[i] = positions[i];
    }
    token.to_device();
    position.to_device();
    table.to_device();
    struct decode_buffers buffers = {};
    buffers.tokens = token.device;
    buffers.positions = position.device;
    buffers.block_table = table.device;
    pad_rows_kernel<<<1, PAD_THREADS>>>(buffers, config, 3);
    token.to_host();
    position.to_host();
    table.to_host();
    static const char *const heads[] = {"token", "position", "block table"};
    for (int c = 0; c < 3; c++) svg_text(svg, x + 60 + 80 * c, y - 8, 12, SVG_START, "faint", "%s", heads[c]);
    for (size_t row = 0; row < 4; row++) {
        char label[16];
        const char *fill = row < 3 ? "a" : "e";
        double top = y + 26 * (double)row;
        svg_text(svg, x, top + 16, 12, SVG_START, "ink", "row %d", (int)row);
        snprintf(label, sizeof label, "%d", token[row]);
        draw_cell(svg, x + 60, top, 60, 22, fill, label);
        snprintf(label, sizeof label, "%d", position[row]);
        draw_cell(svg, x + 140, top, 60, 22, fill, label);
        for (size_t i = 0; i < 4; i++) {
            int page = table[row * 4 + i];
            snprintf(label, sizeof label, "%d", page);
            draw_cell(svg, x + 220 + 46 * (double)i, top, 44, 22, page < 0 ? "none" : fill, page < 0 ? "" : label);
        }
    }
    svg_text(svg, x, y + 126, 12, SVG_START, "faint", "red: what pad_rows_kernel wrote; page %d is row 3's scratch page", config.scratch_block + 3);
}

int main(int count, char **arguments)
{
    if (count != 2) fail("usage: %s FOLDER", arguments[0]);
    struct svg svg = {};
    svg.width = 760;
    svg.height = 240;
    svg_title(&svg, 16, 24, 15, SVG_START, "Every number of rows takes the next larger graph");
    draw_buckets(&svg, 40, 52, 16);
    finish(&svg, arguments[1], "07_buckets", "The bucket that bucket_of() chooses for 1 to 16 rows");
    svg = {};
    svg.width = 760;
    svg.height = 210;
    svg_title(&svg, 16, 24, 15, SVG_START, "A step of 3 rows in the graph of 4");
    draw_padding(&svg, 40, 66);
    finish(&svg, arguments[1], "07_padding", "The inputs of a padded step, with the scratch page of the fourth row");
    return 0;
}
