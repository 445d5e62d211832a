/**
 * Lesson 17's products of many rows (engine_many.h) against its product_kernel(): each kind of product, in tiles of each size, must
 * give the same bits as eight rows at a time. Rows, outputs and slices end within tiles; stages of shared memory are used again.
 */
#include "../../../solutions/17_decode_engine/decode_engine.cu"

#include <string.h>

#include "../testing.h"

enum { ROWS_OF_X = 139, ROWS_OF_OUT = 136, INPUTS = 864, OF_OUT = 70, OF_GATED = 96 };

static struct product product;
static size_t out_bytes;
static unsigned char *before, *expected, *found;
static const __half *plain, *in_order; // what TO_STATE multiplies, and the same as warpgroups want it

/* Exchanges the order of elements and that of in_span(). */
static void put_in_span(__half *halves, int rows, int width, int back)
{
    static __half row[INPUTS];
    for (int i = 0; i < rows; i++, halves += width) {
        memcpy(row, halves, (size_t)width * sizeof *row);
        for (int k = 0; k < width; k++) halves[back ? k : in_span(k)] = row[back ? in_span(k) : k];
    }
}

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

/* Halves are to lie as warpgroups want them, or not. */
template <int KIND> static void lay(bool by_warpgroups)
{
    product.by_warpgroups = by_warpgroups;
    if (KIND == TO_STATE) product.x = by_warpgroups ? in_order : plain;
    if constexpr (KIND != TO_STATE)
        norm_kernel<KIND><<<divide_up(ROWS_OF_OUT, NORM_ROWS), THREADS>>>(product);
}

template <int KIND> static void judge(const char *kind, const char *tiles, enum kernel_status status)
{
    finish_launch(tiles);
    download(found, (const unsigned char *)product.out, out_bytes);
    if (KIND == TO_GATED && product.by_warpgroups) put_in_span((__half *)found, ROWS_OF_OUT, OF_GATED, 1);
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
    product.outputs = KIND == TO_GATED ? OF_GATED : OF_OUT;
    out_bytes = (size_t)ROWS_OF_OUT * (size_t)product.outputs * (KIND == TO_GATED ? 2 : 4);
    begin_anew();
    multiply_by_eights<KIND>();
    finish_launch(kind);
    download(expected, (const unsigned char *)product.out, out_bytes);
    lay<KIND>(false);
    begin_anew();
    judge<KIND>(kind, "128", launch_wide<KIND>(product, 0));
    begin_anew();
    judge<KIND>(kind, "64", launch_tiles<KIND, 64, 64, 4>(product, 0));
    begin_anew();
    judge<KIND>(kind, "32", launch_tiles<KIND, 32, 32, 6>(product, 0));
    lay<KIND>(true);
    begin_anew();
    judge<KIND>(kind, "128 by warpgroups", launch_tensor_with<KIND, tensor_tile<128>>(product, 0));
    begin_anew();
    judge<KIND>(kind, "64 by warpgroups", launch_tensor_with<KIND, tensor_tile<64>>(product, 0));
    lay<KIND>(for_warpgroups(ROWS_OF_OUT));
    begin_anew();
    judge<KIND>(kind, "its choice", launch_product<KIND>(product, 0));
}

static float some(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) / 8388608.0f - 1.0f;
}

static __half *halves(size_t count, unsigned *state, bool spans = false)
{
    __half *host = host_array<__half>(count);
    for (size_t i = 0; i < count; i++) host[i] = __float2half(some(state));
    if (spans) put_in_span(host, (int)(count / INPUTS), INPUTS, 0);
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
    product = (struct product){halves(2 * OF_GATED * INPUTS, &state),
                               halves(INPUTS, &state),
                               upload(x, MOST),
                               device_array<float>(ROWS_OF_OUT * OF_GATED),
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
    const unsigned same = state;
    plain = halves(MOST, &state);
    state = same;
    in_order = halves(MOST, &state, true);
    product.x = plain;
    compare<TO_STATE>("state");
    void *const made[] = {(void *)product.weights, (void *)product.gain, (void *)plain,
                          (void *)in_order,        product.out,          (void *)product.wanted,
                          product.normed};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) release(made[i]);
    free(before);
    free(expected);
    free(found);
    return finish("engine_many_rows");
}
