// Background pages, of no lesson: where a grid runs, and which memory belongs to whom. Which warp has a thread, the device says.
#include "figure.h"

enum { BLOCK_DIM = 16, BLOCK_WARPS = BLOCK_DIM * BLOCK_DIM / 32, SMS = 3, SLOTS = 2, BLOCKS = 8 };

__global__ void ask_warps(int *warp_of) // [BLOCK_DIM, BLOCK_DIM]
{
    int number = (int)(threadIdx.x + blockDim.x * threadIdx.y), first = number;
    for (int distance = 1; distance < warpSize; distance *= 2)
        first = min(first, __shfl_xor_sync(0xffffffffu, first, distance));
    warp_of[number] = first / warpSize;
}

static void draw_grid(struct svg *svg, double x, double y)
{
    char label[24];
    svg_text(svg, x, y - 10, 12.5, SVG_START, "ink", "the grid: 8 blocks");
    for (int block = 0; block < BLOCKS; block++) {
        snprintf(label, sizeof label, "block %d", block);
        draw_cell(svg, x + 62 * (block % 2), y + 30 * (block / 2), 62, 30, block < SMS * SLOTS ? "a" : "none", label);
    }
    svg_text(svg, x, y + 138, 11, SVG_START, "faint", "white: they wait until");
    svg_text(svg, x, y + 153, 11, SVG_START, "faint", "a block has ended");
}

static void draw_chip(struct svg *svg, double x, double y)
{
    char label[24];
    svg_text(svg, x, y - 10, 12.5, SVG_START, "ink", "the chip: each SM holds the blocks that fit");
    for (int sm = 0; sm < SMS; sm++) {
        double left = x + 92 * sm;
        svg_rect(svg, left, y, 84, 120, "none", "line");
        svg_text(svg, left + 42, y + 16, 11.5, SVG_MIDDLE, "ink", "SM %d", sm);
        for (int slot = 0; slot < SLOTS; slot++) {
            snprintf(label, sizeof label, "block %d", sm + SMS * slot);
            draw_cell(svg, left + 8, y + 24 + 30 * slot, 68, 28, "a", label);
        }
        svg_text(svg, left + 42, y + 98, 10.5, SVG_MIDDLE, "faint", "4 schedulers,");
        svg_text(svg, left + 42, y + 112, 10.5, SVG_MIDDLE, "faint", "registers, L1");
        svg_line(svg, left + 42, y + 120, left + 42, y + 136, "faint", 1, NULL);
    }
    draw_cell(svg, x, y + 136, 268, 28, "c", "L2 cache and device memory, of all SMs");
}

static void draw_block(struct svg *svg, double x, double y)
{
    shared_array<int> warp_of(BLOCK_DIM * BLOCK_DIM);
    ask_warps<<<1, dim3(BLOCK_DIM, BLOCK_DIM)>>>(warp_of.device);
    warp_of.to_host();
    svg_text(svg, x, y - 10, 12.5, SVG_START, "ink", "one block: 16 x 16 threads, 8 warps");
    for (int i = 0; i < BLOCK_DIM * BLOCK_DIM; i++)
        draw_cell(svg, x + 10 * (i % BLOCK_DIM), y + 10 * (i / BLOCK_DIM), 10, 10, fill_of(warp_of[(size_t)i]), NULL);
    for (int i = 0; i < BLOCK_DIM * BLOCK_DIM; i += 32)
        svg_text(svg, x + 168, y + 10 * (i / BLOCK_DIM) + 14, 11, SVG_START, "ink", "warp %d", warp_of[(size_t)i]);
    svg_text(svg, x, y + 178, 11, SVG_START, "faint", "a square is a thread; x goes to the right");
}

static void draw_execution(const char *folder)
{
    struct svg svg = {};
    svg.width = 760;
    svg.height = 260;
    svg_title(&svg, 16, 24, 15, SVG_START, "From a launch to the lanes");
    draw_grid(&svg, 16, 70);
    svg_arrow(&svg, 148, 130, 186, 130, "faint");
    draw_chip(&svg, 196, 70);
    svg_arrow(&svg, 474, 130, 512, 130, "faint");
    draw_block(&svg, 522, 70);
    finish(&svg, folder, "00_execution", "A grid of blocks, the SMs that hold them, and the warps of one block");
}

// A level of memory: its name, whose it is, how large, and in what it is moved to the level above.
static const struct level {
    const char *name, *owner, *size, *unit, *fill;
} levels[] = {
    {"registers", "of a thread: at most 255 words", "256 KB per SM", "words", "a"},
    {"shared memory, L1 cache", "of a block; of an SM", "256 KB per SM for both", "wavefronts (shared), sectors of 32 bytes (L1)", "b"},
    {"L2 cache", "of the chip", "50 MB", "sectors of 32 bytes", "c"},
    {"device memory", "of the chip", "141 GB", "sectors of 32 bytes, in bursts", "d"},
};

static void draw_memory(const char *folder)
{
    const int count = (int)(sizeof levels / sizeof levels[0]);
    struct svg svg = {};
    svg.width = 760;
    svg.height = 330;
    svg_title(&svg, 16, 24, 15, SVG_START, "Memory, level by level, on an H200");
    svg_text(&svg, 16, 62, 11.5, SVG_START, "faint", "nearest to the arithmetic");
    svg_text(&svg, 16, 312, 11.5, SVG_START, "faint", "largest");
    for (int i = 0; i < count; i++) {
        double width = 200 + 72 * i, y = 44 + 68 * i, x = 370 - width / 2;
        svg_rect(&svg, x, y, width, 40, levels[i].fill, "line");
        svg_text(&svg, 370, y + 17, 12.5, SVG_MIDDLE, "ink", "%s", levels[i].name);
        svg_text(&svg, 370, y + 33, 11, SVG_MIDDLE, "ink", "%s", levels[i].owner);
        svg_text(&svg, 590, y + 17, 11.5, SVG_START, "ink", "%s", levels[i].size);
        if (i == 0) continue;
        svg_arrow(&svg, 362, y, 362, y - 27, "faint");
        svg_arrow(&svg, 378, y - 27, 378, y - 1, "faint");
        svg_text(&svg, 390, y - 9, 11, SVG_START, "faint", "moves in %s", levels[i].unit);
    }
    finish(&svg, folder, "00_memory", "Registers, shared memory and L1 cache, L2 cache, device memory: whose they are, their sizes, and the units that move between them");
}

int main(int count, char **arguments)
{
    if (count != 2) fail("usage: %s FOLDER", arguments[0]);
    draw_execution(arguments[1]);
    draw_memory(arguments[1]);
    return 0;
}
