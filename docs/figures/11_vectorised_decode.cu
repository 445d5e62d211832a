// Lesson 11: which lane loads which 16 bytes of the keys, in flash_1 and in flash_2.
#include "vectorised_decode.cu"

#include "figure.h"

enum { FIGURE_DIM = 128, FIGURE_KEYS = 8, CHUNKS = FIGURE_DIM / VECTOR };

// The first element of key t is t, and of the query only the first is not 0: what a thread returns is the number of its key.
__global__ void ask_rows(const __half *k, const __half *q, float *row_of)
{
    __shared__ float scores[WARP];
    struct query_row<__half> row = {q, k, k, NULL, FIGURE_DIM, FIGURE_DIM, 1.0f};
    row_of[threadIdx.x] = score_keys<__half, 16>(scores, q, row, 0, WARP);
}

// Every 16 bytes of K hold their own number: which does each lane get, at each of its loads?
__global__ void ask_loads(const __half *k, int *number_at)
{
    using step = struct warp_step<FIGURE_DIM>;
    uint4 part[KEYS_PER_LANE * step::K_LOADS];
    int lane = (int)threadIdx.x, row = lane / KEY_LANES;
    const __half *from = k + row * FIGURE_DIM + lane % KEY_LANES * VECTOR;
    load_rows<KEYS_PER_LANE, step::K_LOADS>(part, from, FIGURE_DIM, row, KEY_ROWS, STEP_KEYS);
    for (int i = 0; i < step::K_LOADS; i++)
        number_at[i * WARP + lane] = (int)__half2float(*(const __half *)&part[i]);
}

static void draw_flash_1(struct svg *svg, double x, double y)
{
    shared_array<__half> k(WARP * FIGURE_DIM), q(FIGURE_DIM);
    shared_array<float> row_of(WARP);
    for (int t = 0; t < WARP; t++) k[(size_t)(t * FIGURE_DIM)] = __float2half((float)t);
    q[0] = __float2half(1.0f);
    k.to_device();
    q.to_device();
    ask_rows<<<1, WARP>>>(k.device, q.device, row_of.device);
    row_of.to_host();
    char label[16];
    svg_text(svg, x, y - 12, 12.5, SVG_START, "ink", "flash_1: a lane per key. One load: 16 bytes of each of 32 rows, half of 32 sectors");
    for (int lane = 0; lane < FIGURE_KEYS; lane++) {
        int row = (int)row_of[(size_t)lane];
        svg_text(svg, x - 6, y + 22 * row + 15, 11, SVG_END, "faint", "token %d", row);
        for (int chunk = 0; chunk < CHUNKS; chunk++) {
            snprintf(label, sizeof label, "%d", lane);
            draw_cell(svg, x + 38 * chunk, y + 22 * row, 38, 22, chunk == 0 ? "a" : "none", chunk == 0 ? label : NULL);
        }
    }
    svg_text(svg, x, y + 22 * FIGURE_KEYS + 17, 12, SVG_START, "faint", "and so on to token 31; the other 16 bytes of each sector come with the next load");
}

static void draw_flash_2(struct svg *svg, double x, double y)
{
    using step = struct warp_step<FIGURE_DIM>;
    shared_array<__half> k(STEP_KEYS * FIGURE_DIM);
    shared_array<int> number_at((size_t)(step::K_LOADS * WARP));
    for (size_t i = 0; i < k.host.size(); i++) k[i] = __float2half((float)(i / VECTOR));
    k.to_device();
    ask_loads<<<1, WARP>>>(k.device, number_at.device);
    number_at.to_host();
    char label[16];
    svg_text(svg, x, y - 12, 12.5, SVG_START, "ink", "flash_2: four lanes per key. One load: 64 bytes of each of 8 rows, all of 16 sectors");
    for (int key = 0; key < KEY_ROWS; key++) svg_text(svg, x - 6, y + 22 * key + 15, 11, SVG_END, "faint", "token %d", key);
    for (int i = 0; i < step::K_LOADS; i++)
        for (int lane = 0; lane < WARP; lane++) {
            int number = number_at[(size_t)(i * WARP + lane)];
            snprintf(label, sizeof label, "%d", lane);
            draw_cell(svg, x + 38 * (number % CHUNKS), y + 22 * (number / CHUNKS), 38, 22, fill_of(i), label);
        }
    svg_text(svg, x, y + 22 * KEY_ROWS + 17, 12, SVG_START, "faint", "each cell is 16 bytes and shows its lane; cells of one colour come with one load instruction");
}

int main(int count, char **arguments)
{
    if (count != 2) fail("usage: %s FOLDER", arguments[0]);
    struct svg svg = {};
    svg.width = 700;
    svg.height = 480;
    draw_flash_1(&svg, 70, 34);
    draw_flash_2(&svg, 70, 274);
    finish(&svg, arguments[1], "11_loads", "Which lane loads which 16 bytes of the keys, in flash_1 and in flash_2");
    return 0;
}
