// Tensor cores: which lane holds which element, as the instructions themselves say, and which banks eight rows of a tile meet.
#define FRAGMENTS_NO_MAIN
#include "../../lessons/ptx_fragments.cu"

#include "figure.h"

enum { SHOWN = 5, CELL_W = 24, CELL_H = 17 }; // the lane whose elements stand out

// who[i] says which lane holds element i, found in what the lanes said that they hold.
static std::vector<int> owners(const int *elements, int each, int count)
{
    std::vector<int> who((size_t)count, -1);
    for (int i = 0; i < LANES * each; i++) who[(size_t)elements[i]] = i / each;
    return who;
}

static void draw_fragment(struct svg *svg, double x, double y, const std::vector<int> &who, int columns, const char *name)
{
    char label[8];
    svg_text(svg, x, y - 8, 12.5, SVG_START, "ink", "%s: %d × %d", name, (int)who.size() / columns, columns);
    for (int i = 0; i < (int)who.size(); i++) {
        int lane = who[(size_t)i];
        snprintf(label, sizeof label, "%d", lane);
        draw_cell(svg, x + CELL_W * (i % columns), y + CELL_H * (i / columns), CELL_W, CELL_H,
                  lane == SHOWN ? "e" : lane / 4 % 2 ? "b" : "none", label);
    }
}

static void draw_fragments(const char *folder)
{
    static struct held held;
    if (ask(&held) != cudaSuccess) fail("the device does not say who holds what");
    const double y = 62; // all three side by side
    struct svg svg = {};
    svg.width = 890;
    svg.height = 350;
    svg_title(&svg, 16, 24, 15, SVG_START, "C += A B: which lane holds each element for mma.sync.m16n8k16; those of lane 5 stand out");
    draw_fragment(&svg, 450, y, owners(held.b[0], B_HALVES, K * N), N, "B");
    draw_fragment(&svg, 40, y, owners(held.a[0], A_HALVES, M * K), K, "A");
    draw_fragment(&svg, 668, y, owners(held.c[0], C_FLOATS, M * N), N, "C");
    finish(&svg, folder, "00_fragments", "The lane that holds each element of A, B and C of one matrix instruction");
}

enum { ROWS = 8, CHUNKS = 8 }; // eight rows of 128 bytes, in chunks of 16 bytes; all 32 banks are 8 chunks wide

// Where chunk @p chunk of row @p row lies: as it is, padded by a chunk, or with exclusive or.
static int place(int kind, int row, int chunk)
{
    return kind == 0 ? chunk : kind == 1 ? (chunk + row) % CHUNKS : chunk ^ row;
}

static void draw_places(struct svg *svg, double x, double y, int kind, const char *title)
{
    int met[CHUNKS] = {0}, worst = 0;
    char label[8];
    for (int row = 0; row < ROWS; row++)
        for (int chunk = 0; chunk < CHUNKS; chunk++) {
            snprintf(label, sizeof label, "%d", chunk);
            draw_cell(svg, x + 26 * place(kind, row, chunk), y + 20 * row, 26, 20, chunk == 3 ? "e" : "none", label);
        }
    for (int row = 0; row < ROWS; row++) met[place(kind, row, 3)]++;
    for (int i = 0; i < CHUNKS; i++) worst = met[i] > worst ? met[i] : worst;
    svg_text(svg, x, y - 10, 12.5, SVG_START, "ink", "%s", title);
    svg_text(svg, x, y + 20 * ROWS + 18, 12, SVG_START, "ink", "chunk 3 of 8 rows: %d wavefront%s", worst, worst == 1 ? "" : "s");
}

static void draw_swizzle(const char *folder)
{
    struct svg svg = {};
    svg.width = 760;
    svg.height = 260;
    svg_title(&svg, 16, 24, 15, SVG_START, "Eight rows of 128 bytes; a column of the picture is four banks");
    draw_places(&svg, 24, 70, 0, "as they are");
    draw_places(&svg, 276, 70, 1, "each row 16 bytes longer");
    draw_places(&svg, 528, 70, 2, "swizzled: chunk ^ row");
    finish(&svg, folder, "00_swizzle", "Where chunk 3 of eight rows lies: in the same four banks, or in eight different groups of four");
}

int main(int count, char **arguments)
{
    if (count != 2) fail("usage: %s FOLDER", arguments[0]);
    draw_fragments(arguments[1]);
    draw_swizzle(arguments[1]);
    return 0;
}
