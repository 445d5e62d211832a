// Lesson 16: what multiplies and what computes exponentials, when. A product of head_dim 128 takes as long as a tile's softmax, one of 64
// half as long, as the page says.
#include "hopper_attention.cu"

#include "figure.h"

enum { UNIT = 48, LEFT = 150, ROW = 30, TILES = 3 };

// A unit of the SM does one thing at a time, in the order in which it is asked; returns when it begins.
static double take(double *free, double ready, double length)
{
    double begin = ready > *free ? ready : *free;
    *free = begin + length;
    return begin;
}

static void draw_work(struct svg *svg, double y, double begin, double length, const char *fill, const char *what, int tile)
{
    char label[24];
    snprintf(label, sizeof label, "%s%d", what, tile);
    draw_cell(svg, LEFT + UNIT * begin, y, UNIT * length, 22, fill, label);
}

static void draw_name(struct svg *svg, double y, const char *name, int number)
{
    svg_text(svg, LEFT - 12, y + 15, 12, SVG_END, "ink", "%s %d", name, number);
    svg_line(svg, LEFT, y + 22, 744, y + 22, "line", 0.6, NULL);
}

// Blocks of one warpgroup: S, softmax and O of a tile one after the other. Whoever is ready first goes on.
static void draw_small_blocks(struct svg *svg, double y)
{
    enum { BLOCKS = tile_of_64::BLOCKS };
    double tensor_cores = 0, exponentials = 0, ready[BLOCKS] = {};
    int done[BLOCKS] = {};
    for (int left = 3 * TILES * BLOCKS; left > 0; left--) {
        int next = -1;
        for (int block = 0; block < BLOCKS; block++)
            if (done[block] < 3 * TILES && (next < 0 || ready[block] < ready[next])) next = block;
        int kind = done[next] % 3, tile = done[next] / 3;
        double length = kind == 1 ? 1 : 0.5;
        double begin = take(kind == 1 ? &exponentials : &tensor_cores, ready[next], length);
        draw_work(svg, y + ROW * next, begin, length, kind == 0 ? "a" : kind == 1 ? "b" : "c", kind == 0 ? "S" : kind == 1 ? "P" : "O", tile);
        ready[next] = begin + length;
        done[next]++;
    }
    for (int block = 0; block < BLOCKS; block++) draw_name(svg, y + ROW * block, "block", block);
}

// Consumers in turn: each issues S of its next tile and O of this one, then computes softmax while O and the other's products run.
static void draw_ping_pong(struct svg *svg, double y)
{
    double tensor_cores = 0, ready[tile_of_128::CONSUMERS] = {};
    for (int tile = 0; tile <= TILES; tile++) {
        for (int consumer = 0; consumer < tile_of_128::CONSUMERS; consumer++) {
            double products = y + 2 * ROW * consumer, begin = 0;
            if (tile < TILES) {
                begin = take(&tensor_cores, ready[consumer], 1);
                draw_work(svg, products, begin, 1, "a", "S", tile);
            }
            if (tile > 0) draw_work(svg, products, take(&tensor_cores, ready[consumer], 1), 1, "c", "O", tile - 1);
            if (tile < TILES) draw_work(svg, products + 22, begin + 1, 1, "b", "P", tile);
            ready[consumer] = begin + 2;
        }
    }
    for (int consumer = 0; consumer < tile_of_128::CONSUMERS; consumer++) draw_name(svg, y + 2 * ROW * consumer, "consumer", consumer);
}

int main(int count, char **arguments)
{
    if (count != 2) fail("usage: %s FOLDER", arguments[0]);
    struct svg svg = {};
    svg.width = 760;
    svg.height = 350;
    svg_title(&svg, 16, 24, 15, SVG_START, "Softmax while another warpgroup multiplies");
    svg_text(&svg, 16, 52, 12.5, SVG_START, "ink", "head_dim 64: %d blocks of one warpgroup share the SM's units; whoever is ready goes on", (int)tile_of_64::BLOCKS);
    draw_small_blocks(&svg, 64);
    svg_text(&svg, 16, 186, 12.5, SVG_START, "ink", "head_dim 128: %d consumers of one block take turns; each issues S and the O before it together",
             (int)tile_of_128::CONSUMERS);
    draw_ping_pong(&svg, 198);
    svg_arrow(&svg, LEFT + 60, 328, 720, 328, "line");
    svg_text(&svg, 724, 332, 12, SVG_START, "faint", "time");
    svg_text(&svg, 16, 332, 12, SVG_START, "faint", "S, O: products; P: softmax");
    finish(&svg, arguments[1], "16_turns", "Time lines of head_dim 64 and 128: the products of one warpgroup run while another computes softmax");
    return 0;
}
