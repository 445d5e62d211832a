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

// Two time lines of a step of KERNELS kernels, in microseconds from the first call on: 30 pixels each.
enum { KERNELS = 6, SCALE = 30 };

static void draw_host_and_device(struct svg *svg, double x, double y)
{
    svg_text(svg, x, y + 16, 12, SVG_START, "ink", "host");
    svg_text(svg, x, y + 46, 12, SVG_START, "ink", "device");
}

static double draw_eager(struct svg *svg, double x, double y, double launch, double kernel)
{
    char label[16];
    double device = 0;
    draw_host_and_device(svg, x - 60, y);
    for (int i = 0; i < KERNELS; i++) {
        snprintf(label, sizeof label, "launch %d", i + 1);
        draw_cell(svg, x + SCALE * launch * i, y, SCALE * launch, 22, "a", label);
        device = device > launch * (i + 1) ? device : launch * (i + 1); // when the launch has arrived and the device is free
        snprintf(label, sizeof label, "%d", i + 1);
        draw_cell(svg, x + SCALE * device, y + 30, SCALE * kernel, 22, "b", label);
        device += kernel;
    }
    return device;
}

static double draw_graph(struct svg *svg, double x, double y, double launch, double gap, double kernel)
{
    char label[16];
    draw_host_and_device(svg, x - 60, y);
    draw_cell(svg, x, y, SCALE * launch, 22, "a", "graph");
    draw_cell(svg, x + SCALE * launch, y, SCALE * (KERNELS * (gap + kernel)), 22, "none", "free for other work");
    for (int i = 0; i < KERNELS; i++) {
        snprintf(label, sizeof label, "%d", i + 1);
        draw_cell(svg, x + SCALE * (launch + i * (gap + kernel)), y + 30, SCALE * kernel, 22, "b", label);
    }
    return launch + KERNELS * (gap + kernel) - gap;
}

static void draw_time_lines(const char *folder)
{
    struct svg svg = {{0}, 760, 316};
    svg_title(&svg, 16, 24, 15, SVG_START, "One step of %d kernels: launched one by one, and as a graph", KERNELS);
    svg_text(&svg, 16, 52, 12.5, SVG_START, "ink", "eager, short kernels: the device waits for each launch");
    double eager = draw_eager(&svg, 84, 62, 3, 1);
    svg_text(&svg, 16, 140, 12.5, SVG_START, "ink", "graph, the same kernels: one call, then the device goes on by itself");
    double graph = draw_graph(&svg, 84, 150, 3, 0.5, 1);
    svg_text(&svg, 16, 228, 12.5, SVG_START, "ink", "eager, kernels as long as a launch: the device has no gaps, and a graph would save little");
    draw_eager(&svg, 84, 238, 3, 3);
    svg_line(&svg, 84 + SCALE * eager, 60, 84 + SCALE * eager, 118, "s", 2, "4 3");
    svg_line(&svg, 84 + SCALE * graph, 148, 84 + SCALE * graph, 206, "s", 2, "4 3");
    svg_arrow(&svg, 84, 304, 720, 304, "line");
    svg_text(&svg, 724, 308, 12, SVG_START, "faint", "time");
    finish(&svg, folder, "07_time_lines", "Time lines of host and device: with a launch per kernel the device waits, with a graph it runs kernel after kernel");
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
    draw_time_lines(arguments[1]);
    return 0;
}
