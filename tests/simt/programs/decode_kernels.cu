/**
 * The kernels of lesson 07's decode step, one by one: attention of every head size and of contexts from one
 * key to many rounds of all warps, with its rotation and its append to the cache; products whose rows 16
 * bytes fit and do not fit; against double, and the bits of a row in batches of other sizes.
 */
#include "../testing.h"

#include "../../../common/decode/decode_kernels.h"

static unsigned seed = 7;

static __half *random_halves(size_t count, float scale)
{
    __half *values = host_array<__half>(count);
    for (size_t i = 0; i < count; i++) values[i] = __float2half(scale * next_float(&seed));
    return values;
}

static float *random_floats(size_t count)
{
    float *values = host_array<float>(count);
    for (size_t i = 0; i < count; i++) values[i] = next_float(&seed);
    return values;
}

/** Where the host has what a device array was made of. */
template <typename T> struct pair_of_arrays {
    T *host, *device;
    size_t count;
};

template <typename T> static pair_of_arrays<T> both(T *host, size_t count)
{
    return pair_of_arrays<T>{host, upload(host, count), count};
}

template <typename T> static void drop(pair_of_arrays<T> arrays)
{
    free(arrays.host);
    release(arrays.device);
}

/* ---- attention ----------------------------------------------------------------------------------------- */

enum { ROWS = 3, BLOCK_SIZE = 16 };

struct attention_case {
    struct decode_config c;
    pair_of_arrays<int> positions, table;
    pair_of_arrays<float> qkv;
    pair_of_arrays<__half> cache; // keys, then values
    float *out;                   // [ROWS, heads, head_dim], device
    size_t kv_elems;
};

static struct attention_case make_attention(int head_dim, int longest)
{
    struct attention_case a = {};
    struct decode_config *c = &a.c;
    *c = {1, 8, 4, 2, head_dim, 8, 8, 4, BLOCK_SIZE, (longest + BLOCK_SIZE - 1) / BLOCK_SIZE, 0, 0};
    c->num_blocks = ROWS * c->max_blocks;
    a.kv_elems = (size_t)c->num_blocks * BLOCK_SIZE * (size_t)(c->kv_heads * head_dim);
    int *positions = host_array<int>(ROWS), *table = host_array<int>((size_t)(ROWS * c->max_blocks));
    for (int r = 0; r < ROWS; r++) positions[r] = r == 1 || longest == 1 ? longest / 2 : longest - 1 - r / 2;
    for (int i = 0; i < ROWS * c->max_blocks; i++) table[i] = (i * 7 + 2) % c->num_blocks;
    a.positions = both(positions, ROWS);
    a.table = both(table, (size_t)(ROWS * c->max_blocks));
    a.qkv = both(random_floats(ROWS * decode_qkv_width(c)), ROWS * decode_qkv_width(c));
    a.cache = both(random_halves(2 * a.kv_elems, 1.0f), 2 * a.kv_elems);
    a.out = device_array<float>((size_t)(ROWS * c->heads * head_dim));
    return a;
}

static void attend(const struct attention_case *a, int first_row, int rows)
{
    const struct decode_config *c = &a->c;
    size_t row = (size_t)first_row, out = row * (size_t)(c->heads * c->head_dim);
    struct decode_buffers b = {};
    b.positions = a->positions.device + row;
    b.block_table = a->table.device + row * (size_t)c->max_blocks;
    b.qkv = a->qkv.device + row * decode_qkv_width(c);
    b.attended = a->out + out;
    decode_attention(c, &b, a->cache.device, a->cache.device + a->kv_elems, rows, NULL);
    finish_launch("decode_attention");
}

/** Element d of a query or key, turned by the angle of its position. */
static double turned(const float *head, int d, int head_dim, int position)
{
    int half_dim = head_dim / 2, low = d < half_dim;
    double angle = position * pow(1e4, -(double)(d % half_dim) / half_dim);
    double other = (double)head[low ? d + half_dim : d - half_dim];
    return (double)head[d] * cos(angle) + (low ? -other : other) * sin(angle);
}

/** Puts the keys and values that the kernel has to append into the host's cache. */
static void append_expected(struct attention_case *a)
{
    const struct decode_config *c = &a->c;
    for (int i = 0; i < ROWS * c->kv_heads * c->head_dim; i++) {
        int d = i % c->head_dim, head = i / c->head_dim % c->kv_heads, row = i / (c->head_dim * c->kv_heads);
        int t = a->positions.host[row], page = a->table.host[row * c->max_blocks + t / BLOCK_SIZE];
        const float *key = a->qkv.host + (size_t)row * decode_qkv_width(c) + (c->heads + head) * c->head_dim;
        size_t at = ((size_t)(page * BLOCK_SIZE + t % BLOCK_SIZE) * (size_t)c->kv_heads + (size_t)head) *
                        (size_t)c->head_dim +
                    (size_t)d;
        a->cache.host[at] = __float2half((float)turned(key, d, c->head_dim, t));
        a->cache.host[a->kv_elems + at] = __float2half(key[c->kv_heads * c->head_dim + d]);
    }
}

/** out[d] of one row and head, in double. */
static void expected_attention(const struct attention_case *a, int row, int head, double *out)
{
    const struct decode_config *c = &a->c;
    const float *q = a->qkv.host + (size_t)row * decode_qkv_width(c) + head * c->head_dim;
    double sum = 0.0, query[128];
    for (int d = 0; d < c->head_dim; d++) {
        out[d] = 0.0;
        query[d] = turned(q, d, c->head_dim, a->positions.host[row]);
    }
    for (int t = 0; t <= a->positions.host[row]; t++) {
        int page = a->table.host[row * c->max_blocks + t / BLOCK_SIZE];
        size_t at = ((size_t)(page * BLOCK_SIZE + t % BLOCK_SIZE) * (size_t)c->kv_heads +
                     (size_t)(head / (c->heads / c->kv_heads))) *
                    (size_t)c->head_dim;
        double dot = 0.0;
        for (int d = 0; d < c->head_dim; d++)
            dot += query[d] * (double)__half2float(a->cache.host[at + (size_t)d]);
        double weight = exp(dot / sqrt((double)c->head_dim));
        sum += weight;
        for (int d = 0; d < c->head_dim; d++)
            out[d] += weight * (double)__half2float(a->cache.host[a->kv_elems + at + (size_t)d]);
    }
    for (int d = 0; d < c->head_dim; d++) out[d] /= sum;
}

/** Whether the cache holds the new keys and values, and else what it held. */
static void check_cache(const struct attention_case *a)
{
    __half *cache = host_array<__half>(a->cache.count);
    download(cache, a->cache.device, a->cache.count);
    for (size_t i = 0; i < a->cache.count; i++) // a key may be rounded to the next half
        expect_close("cache", i, __half2float(cache[i]), (double)__half2float(a->cache.host[i]), 1e-3);
    free(cache);
}

static void check_attention(int head_dim, int longest)
{
    struct attention_case a = make_attention(head_dim, longest);
    size_t count = (size_t)(ROWS * a.c.heads * head_dim);
    float *together = host_array<float>(count), *alone = host_array<float>(count);
    double expected[128];
    attend(&a, 0, ROWS);
    download(together, a.out, count);
    for (int r = 0; r < ROWS; r++) attend(&a, r, 1);
    download(alone, a.out, count);
    append_expected(&a);
    check_cache(&a);
    for (size_t i = 0; i < count; i++) expect_close("bits of a row", i, together[i], alone[i], 0.0);
    for (int i = 0; i < ROWS * a.c.heads; i++) {
        expected_attention(&a, i / a.c.heads, i % a.c.heads, expected);
        for (int d = 0; d < head_dim; d++)
            expect_close("attention", (size_t)(i * head_dim + d), together[i * head_dim + d], expected[d],
                         2e-5);
    }
    free(together);
    free(alone);
    drop(a.positions);
    drop(a.table);
    drop(a.qkv);
    drop(a.cache);
    release(a.out);
}

/* ---- products ------------------------------------------------------------------------------------------ */

/** A product of `rows` rows: `shift` halves into an array, so that its place fits 16 bytes, or does not. */
static void check_product(int inputs, int outputs, int rows, int shift, int with_gain, int add)
{
    size_t in = (size_t)inputs, n = (size_t)(rows * outputs);
    pair_of_arrays<__half> w = both(random_halves(in * (size_t)outputs + 8, 0.5f), in * (size_t)outputs + 8);
    pair_of_arrays<__half> gain = both(random_halves(in, 1.0f), in);
    pair_of_arrays<float> x = both(random_floats(in * (size_t)rows), in * (size_t)rows);
    pair_of_arrays<float> out = both(random_floats(n), n);
    float *together = host_array<float>(n), *alone = host_array<float>((size_t)outputs);
    struct decode_projection p = {
        w.device + shift, with_gain ? gain.device : NULL, x.device, out.device, inputs, outputs, rows, add};
    decode_project(&p, NULL);
    finish_launch("decode_project");
    download(together, out.device, n);
    for (int r = 0; r < rows; r++) {
        double squares = 0.0;
        p.x = x.device + (size_t)r * in;
        p.out = upload(out.host + r * outputs, (size_t)outputs);
        p.rows = 1;
        decode_project(&p, NULL);
        finish_launch("decode_project");
        download(alone, p.out, (size_t)outputs);
        release(p.out);
        for (size_t i = 0; i < in; i++)
            squares += (double)x.host[(size_t)r * in + i] * (double)x.host[(size_t)r * in + i];
        for (int o = 0; o < outputs; o++) {
            double sum = 0.0, norm = with_gain ? 1.0 / sqrt(squares / inputs + 1e-5) : 1.0;
            for (size_t i = 0; i < in; i++)
                sum += (double)x.host[(size_t)r * in + i] *
                       (double)__half2float(w.host[(size_t)shift + (size_t)o * in + i]) *
                       (with_gain ? (double)__half2float(gain.host[i]) : 1.0);
            size_t at = (size_t)(r * outputs + o);
            expect_close("product", at, together[at], (add ? (double)out.host[at] : 0.0) + sum * norm, 2e-4);
            expect_close("bits of a row", at, together[at], alone[o], 0.0);
        }
    }
    free(together);
    free(alone);
    drop(w);
    drop(gain);
    drop(x);
    drop(out);
}

int main(void)
{
    static const int lengths[] = {1, 33, 65, 300};
    for (int head_dim = 32; head_dim <= 128; head_dim += 32)
        for (size_t i = head_dim == 64 ? 0 : 3; i < sizeof lengths / sizeof *lengths; i++)
            check_attention(head_dim, lengths[i]);
    check_product(1, 1, 1, 0, 0, 0);
    check_product(7, 3, 5, 0, 1, 0);
    check_product(40, 9, 4, 0, 1, 0);
    check_product(40, 9, 4, 3, 1, 1);
    check_product(264, 10, 9, 0, 0, 1);
    check_product(1024, 5, 3, 8, 1, 0);
    check_product(2056, 3, 2, 0, 1, 1);
    return finish("decode_kernels");
}
