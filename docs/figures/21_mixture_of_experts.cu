// Lesson 21: which row each pair gets, and which tile has it.
#include "mixture_of_experts.cu"

#include "figure.h"

enum { TOKENS = 6, CHOICES = 2, EXPERTS_DRAWN = 4, CELL = 34, PAIRS = TOKENS * CHOICES };

int main(int count, char **arguments)
{
    if (count != 2) fail("usage: %s FOLDER", arguments[0]);
    static const int experts_of[PAIRS] = {2, 0, 2, 3, 0, 2, 3, 2, 2, 3, 2, 0};
    shared_array<int> chosen(PAIRS), offsets(EXPERTS_DRAWN + 1), row_of(PAIRS);
    for (size_t i = 0; i < PAIRS; i++) chosen[i] = experts_of[i];
    chosen.to_device();
    if (experts_group(chosen.device, offsets.device, row_of.device, PAIRS, EXPERTS_DRAWN, 0) != KERNEL_OK) fail("refused");
    offsets.to_host();
    row_of.to_host();
    struct svg svg = {};
    svg.width = 700;
    svg.height = 300;
    const double x = 120, top = 40, below = 190;
    char label[16];
    svg_text(&svg, x - 10, top + 22, 12.5, SVG_END, "ink", "pairs");
    svg_text(&svg, x - 10, below + 22, 12.5, SVG_END, "ink", "rows");
    for (int i = 0; i < PAIRS; i++) {
        int row = row_of[(size_t)i], expert = experts_of[i];
        if (i % CHOICES == 0) svg_text(&svg, x + CELL * (i + 1), top - 10, 12, SVG_MIDDLE, "faint", "token %d", i / CHOICES);
        snprintf(label, sizeof label, "e%d", expert);
        draw_cell(&svg, x + CELL * i, top, CELL, CELL, fill_of(expert), label);
        snprintf(label, sizeof label, "t%d", i / CHOICES);
        draw_cell(&svg, x + CELL * row, below, CELL, CELL, fill_of(expert), label);
        svg_line(&svg, x + CELL * (i + 0.5), top + CELL, x + CELL * (row + 0.5), below, "line", 1.0, NULL);
    }
    for (int e = 0; e < EXPERTS_DRAWN; e++) {
        int first = offsets[(size_t)e], rows = offsets[(size_t)e + 1] - first;
        if (rows > 0)
            svg_text(&svg, x + CELL * (first + rows / 2.0), below + CELL + 20, 12, SVG_MIDDLE, "ink", "expert %d: %d rows", e, rows);
    }
    svg_text(&svg, x, below + CELL + 48, 12, SVG_START, "faint", "offsets: %d %d %d %d %d. Expert 1 has no row, and no tile. Pairs of one expert keep their order.",
             offsets[0], offsets[1], offsets[2], offsets[3], offsets[4]);
    finish(&svg, arguments[1], "21_rows", "Pairs of tokens and experts, and the rows that they get, sorted by expert");
    return 0;
}
