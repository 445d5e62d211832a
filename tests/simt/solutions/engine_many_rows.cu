/**
 * Lesson 17's products of many rows (engine_many.h) against its product_kernel(): each kind of product, in tiles of each size, must
 * give the same bits as eight rows at a time. Rows, outputs and slices end within tiles; stages of shared memory are used again.
 */
#include "../../../solutions/17_decode_engine/decode_engine.cu"

#include <string.h>

#include "../testing.h"

enum { ROWS_OF_X = 139, ROWS_OF_OUT = 136, INPUTS = 864, OF_OUT = 70 };

static struct product product;
static size_t out_bytes;
static unsigned char *before, *expected, *found;

/* Eight rows at a time, by the kernel that a small batch has. */
template <int KIND> static void multiply_by_eights(void)
{
    for (int row = 0; row < ROWS_OF_OUT; row += TILE) {
        struct product p = product;
        p.rows = TILE;
        p.out = (char *)product.out + (size_t)row * (out_bytes / ROWS_OF_OUT);
        if (KIND == TO_LOGITS)
            p.wanted = product.wanted + row;
        else
            p.x = (const char *)product.x + (size_t)row * INPUTS * (KIND == TO_STATE ? 2 : 4);
        if (launch_product<KIND>(p, 0) != KERNEL_OK) g_failures++;
    }
}

template <int KIND> static void norm(void)
{
    if constexpr (KIND != TO_STATE) norm_kernel<KIND><<<divide_up(ROWS_OF_OUT, TILE), THREADS>>>(product);
}

template <int KIND> static void judge(const char *kind, const char *tiles, enum kernel_status status)
{
    finish_launch(tiles);
    download(found, (const unsigned char *)product.out, out_bytes);
    if (status == KERNEL_OK && memcmp(found, expected, out_bytes) == 0) return;
    printf("%s in tiles of %s: other bits than eight rows at a time\n", kind, tiles);
    g_failures++;
}

static void begin_anew(void)
{
    require(cudaMemcpy(product.out, before, out_bytes, cudaMemcpyHostToDevice), "begin");
}

template <int KIND> static void compare(const char *kind)
{
    out_bytes = (size_t)ROWS_OF_OUT * OF_OUT * (KIND == TO_GATED ? 2 : 4);
    begin_anew();
    multiply_by_eights<KIND>();
    finish_launch(kind);
    download(expected, (const unsigned char *)product.out, out_bytes);
    norm<KIND>();
    begin_anew();
    judge<KIND>(kind, "128", launch_wide<KIND>(product, 0));
    begin_anew();
    judge<KIND>(kind, "128 by TMA", launch_tensor_with<KIND, tensor_tile<128, 128, 4>>(product, 0));
    begin_anew();
    judge<KIND>(kind, "96 by TMA", launch_tensor_with<KIND, tensor_tile<96, 128, 2>>(product, 0));
    begin_anew();
    judge<KIND>(kind, "64", launch_tiles<KIND, 64, 64, 4>(product, 0));
    begin_anew();
    judge<KIND>(kind, "32", launch_tiles<KIND, 32, 32, 6>(product, 0));
    begin_anew();
    judge<KIND>(kind, "its choice", launch_product<KIND>(product, 0));
}

static float some(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) / 8388608.0f - 1.0f;
}

static __half *halves(size_t count, unsigned *state)
{
    __half *host = host_array<__half>(count);
    for (size_t i = 0; i < count; i++) host[i] = __float2half(some(state));
    __half *device = upload(host, count);
    free(host);
    return device;
}

int main(void)
{
    enum { MOST = ROWS_OF_X * INPUTS };
    static float x[MOST];
    static int wanted[ROWS_OF_OUT];
    unsigned state = 17;
    for (int i = 0; i < MOST; i++) x[i] = some(&state);
    for (int i = 0; i < ROWS_OF_OUT; i++) wanted[i] = i % 11 == 3 ? -1 : (i * 7 + 2) % ROWS_OF_X;
    before = host_array<unsigned char>(MOST * 4);
    expected = host_array<unsigned char>(MOST * 4);
    found = host_array<unsigned char>(MOST * 4);
    memcpy(before, x, sizeof x);
    product = (struct product){halves(2 * OF_OUT * INPUTS, &state),
                               halves(INPUTS, &state),
                               upload(x, MOST),
                               device_array<float>(ROWS_OF_OUT * OF_OUT),
                               NULL,
                               INPUTS,
                               OF_OUT,
                               ROWS_OF_OUT,
                               1e-6f,
                               device_array<__half>(ROWS_OF_OUT * INPUTS)};
    compare<TO_QKV>("QKV");
    compare<TO_GATED>("gated");
    product.wanted = upload(wanted, ROWS_OF_OUT);
    compare<TO_LOGITS>("logits");
    release((void *)product.x);
    product.x = halves(MOST, &state);
    compare<TO_STATE>("state");
    void *const made[] = {(void *)product.weights, (void *)product.gain, (void *)product.x, product.out,
                          (void *)product.wanted,  product.normed};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) release(made[i]);
    free(before);
    free(expected);
    free(found);
    return finish("engine_many_rows");
}
