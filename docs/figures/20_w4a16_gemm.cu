// Lesson 20: which weights a lane's 16 bytes hold: the shuffle kernel is asked, with one number of W at a time set.
#include "w4a16_gemm.cu"

#include "figure.h"

enum { SIDE = 64, NUMBERS = 8, SHOWN_LANE = 9 };

// Where the weight of each row and column went: 8 * word + nibble of the slice.
static void find_places(int place[SIDE][SIDE])
{
    shared_array<uint32_t> qweight(SIDE * SIDE / NUMBERS), weights(W4_SLICE_WORDS), zeros(SIDE / NUMBERS);
    struct w4a16_shuffle_args args = {SIDE, SIDE, SIDE, W4_GPTQ, qweight.device, NULL, weights.device, zeros.device};
    for (int bit = 0; bit < 12; bit++) { // bit by bit of the weight's own number
        for (int row = 0; row < SIDE; row++)
            for (int column = 0; column < SIDE; column++) {
                uint32_t *word = &qweight[(size_t)(row / NUMBERS * SIDE + column)];
                uint32_t is_set = (uint32_t)((row * SIDE + column) >> bit & 1);
                *word = (*word & ~(1u << row % NUMBERS * 4)) | is_set << row % NUMBERS * 4;
            }
        qweight.to_device();
        if (w4a16_shuffle(&args, 0) != KERNEL_OK) fail("the shuffle was refused");
        weights.to_host();
        static int number[W4_SLICE_WORDS * NUMBERS];
        for (int at = 0; at < W4_SLICE_WORDS * NUMBERS; at++) {
            int is_set = (int)(weights[(size_t)at / NUMBERS] >> at % NUMBERS * 4 & 1);
            number[at] = (bit == 0 ? 0 : number[at]) | is_set << bit;
            if (bit == 11) place[number[at] / SIDE][number[at] % SIDE] = at;
        }
    }
}

int main(int count, char **arguments)
{
    if (count != 2) fail("usage: %s FOLDER", arguments[0]);
    static int place[SIDE][SIDE];
    find_places(place);
    struct svg svg = {};
    svg.width = 700;
    svg.height = 420;
    svg_text(&svg, 40, 24, 12.5, SVG_START, "ink", "a slice of W: 64 columns, 64 rows along k");
    svg_text(&svg, 420, 24, 12.5, SVG_START, "ink", "lane %d: g = %d, t = %d", SHOWN_LANE, SHOWN_LANE / 4, SHOWN_LANE % 4);
    for (int row = 0; row < SIDE; row += 16)
        for (int column = 0; column < SIDE; column += 2) {
            int lane = place[row][column] / 32 % WARP, block = place[row][column] / 1024;
            int shown = lane == SHOWN_LANE;
            svg_rect(&svg, 40 + 5 * column, 40 + 5 * row, 10, 80, shown ? fill_of(block) : "paper", "line");
            if (column % 8 == 0)
                svg_text(&svg, 40 + 5 * column + 20, 40 + 5 * row + 44, 11, SVG_MIDDLE, "ink", "%d", lane);
        }
    svg_text(&svg, 40, 382, 12, SVG_START, "faint", "number: lane; colour: block 0 to 3 of the lane's columns");
    for (int row = 0; row < 16; row++)
        for (int column = 0; column < 8; column++) {
            int at = place[SHOWN_LANE % 4 * 16 + row][SHOWN_LANE / 4 * 8 + column];
            if (at / 32 % WARP != SHOWN_LANE) fail("another lane has it");
            char label[16];
            snprintf(label, sizeof label, "%d.%d", at / 8 % 4, at % 8);
            draw_cell(&svg, 420 + 30 * column, 40 + 20 * row, 30, 20, fill_of(at / 1024), label);
        }
    svg_text(&svg, 420, 382, 12, SVG_START, "faint", "word.nibble of the block's 16 bytes");
    svg_text(&svg, 420, 400, 12, SVG_START, "faint", "across: 8 columns; down: 16 rows along k");
    finish(&svg, arguments[1], "20_shuffle", "Which columns and rows of W the 16 bytes of a lane hold");
    return 0;
}
