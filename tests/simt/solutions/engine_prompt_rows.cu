/**
 * Lesson 17's attention of several rows per block (engine_prompt.h) against its attend_kernel(), which has a block for each: the same bits,
 * whichever rows of a block share a request, pad or have keys of several tiles per walker.
 */
#include "../../../solutions/17_decode_engine/decode_engine.cu"

#include <string.h>

#include "../testing.h"

enum { ROWS = 29, HEADS = 2, REQUESTS = 5, PAGE = 16, BLOCKS = 80 };

/* Request and position of each row. Blocks of eight: of one request, of it and another with many keys, of five and pads, and a last. */
static const int REQUEST_OF[ROWS] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 1, 0, 1, 1,
                                     1, 2, 3, 9, 4, 2, 9, 0, 1, 9, 9, 3, 3, 3};
static const int POSITION_OF[ROWS] = {125, 126, 127, 128, 129, 130, 131,  132,  511, 3,
                                      512, 513, 0,   700, 640, 639, 0,    256,  -1,  90,
                                      1,   -7,  133, 5,   -1,  -1,  1100, 1023, 1024};

static float some(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) / 8388608.0f - 1.0f;
}

static __half *halves(size_t count, unsigned *state)
{
    __half *host = host_array<__half>(count);
    for (size_t i = 0; i < count; i++) host[i] = __float2half(2.0f * some(state));
    __half *device = upload(host, count);
    free(host);
    return device;
}

template <int LANES> static void compare(void)
{
    const int dim = LANES * 8;
    const size_t elems = (size_t)ROWS * HEADS * dim, slice = (size_t)REQUESTS * BLOCKS * PAGE * dim;
    static int table[REQUESTS * BLOCKS];
    for (int i = 0; i < REQUESTS * BLOCKS; i++) table[i] = i * 7 % (REQUESTS * BLOCKS);
    unsigned state = LANES;
    struct layer_attention a = {};
    a.config.heads = HEADS, a.config.kv_heads = 1, a.config.head_dim = dim;
    a.config.block_size = PAGE, a.config.max_blocks = BLOCKS;
    a.rows = ROWS;
    int *const positions = upload(POSITION_OF, ROWS), *const requests = upload(REQUEST_OF, ROWS);
    int *const tables = upload(table, REQUESTS * BLOCKS);
    a.positions = positions, a.requests = requests, a.tables = tables;
    a.q = halves(elems, &state), a.keys = halves(slice, &state), a.values = halves(slice, &state);
    a.attended = device_array<__half>(elems);
    __half *const expected = host_array<__half>(elems), *const found = host_array<__half>(elems);
    for (int of_block = 1; of_block <= WARPS; of_block *= 2) {
        require(cudaMemset(a.attended, 0xff, elems * sizeof(__half)), "poison");
        const enum kernel_status status = launch_prompt_with<LANES>(a, of_block, 0);
        finish_launch("attend_prompt_kernel");
        download(of_block == 1 ? expected : found, (const __half *)a.attended, elems);
        if (status == KERNEL_OK && (of_block == 1 || memcmp(found, expected, elems * sizeof(__half)) == 0))
            continue;
        printf("head_dim %d, %d rows per block: other bits than one row per block\n", dim, of_block);
        g_failures++;
    }
    void *const made[] = {positions, requests, tables, a.q, a.keys, a.values, a.attended};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) release(made[i]);
    free(expected);
    free(found);
}

int main(void)
{
    compare<4>();
    compare<8>();
    compare<16>();
    return finish("engine_prompt_rows");
}
