/*
 * A correct solution of another shape: flash_2 splits every sequence into pieces of 512 keys times the size of the group,
 * whatever the device, a warp per query head and piece, and merges them in order, by one thread per column.
 */
#include "row.h"

enum { THREADS = 32, COLUMNS = DECODE_MOST_HEAD_DIM / THREADS, PIECE = 512 };

static int pieces_of(const struct decode_args *args)
{
    long long keys = (long long)PIECE * (args->heads / args->kv_heads);
    return (int)((args->max_len - 1) / keys + 1);
}

/** Keys begin ... end of one row: a key at a time, columns over lanes. */
template <typename T>
__device__ inline struct softmax_pair some_keys(float *sum, const T *q, const T *k, const T *v, size_t stride,
                                                int head_dim, int begin, int end, float scale)
{
    int lane = (int)threadIdx.x;
    struct softmax_pair all = {-INFINITY, 0.0f};
    for (int i = 0; i < COLUMNS; i++) sum[i] = 0.0f;
    for (int t = begin; t < end; t++) {
        float dot = 0.0f;
        for (int d = lane; d < head_dim; d += THREADS) dot += to_float(q[d]) * to_float(k[t * stride + d]);
        for (int distance = THREADS / 2; distance > 0; distance /= 2)
            dot += __shfl_xor_sync(0xffffffffu, dot, distance);
        float score = scale * dot, old = all.m;
        all.m = fmaxf(all.m, score);
        float shift = shift_of(all.m), correction = expf(old - shift), weight = expf(score - shift);
        all.l = all.l * correction + weight;
        for (int i = 0; i < COLUMNS; i++) {
            int d = lane + i * THREADS;
            if (d < head_dim) sum[i] = sum[i] * correction + weight * to_float(v[t * stride + d]);
        }
    }
    return all;
}

template <typename T> __global__ void row_kernel(struct decode_args args, float scale)
{
    const struct row_of<T> r(args, (int)blockIdx.y);
    size_t stride = r.stride;
    int keys = r.keys, head_dim = r.head_dim;
    const T *q = r.q, *k = r.k, *v = r.v;
    T *out = r.out;
    if (keys == 0) return; // the whole block
    float sum[COLUMNS];
    struct softmax_pair all = some_keys(sum, q, k, v, stride, head_dim, 0, keys, scale);
    for (int i = 0; i < COLUMNS; i++) {
        int d = (int)threadIdx.x + i * THREADS;
        if (d < head_dim) from_float(&out[d], sum[i] * factor_of(all.l));
    }
}

/** A partial result: m, l, then the sums. */
__global__ void piece_kernel(struct decode_args args, float scale)
{
    using T = __half;
    const struct row_of<T> r(args, 0);
    int piece = (int)blockIdx.y;
    size_t row = r.number, stride = r.stride;
    int keys = r.keys, head_dim = r.head_dim;
    const T *q = r.q, *k = r.k, *v = r.v;
    if (keys == 0) return; // the whole block
    int each = PIECE * (args.heads / args.kv_heads), begin = piece * each;
    if (begin >= keys) return;
    float sum[COLUMNS], *left = (float *)args.workspace + (row * gridDim.y + piece) * (head_dim + 2);
    struct softmax_pair all =
        some_keys(sum, q, k, v, stride, head_dim, begin, min(keys, begin + each), scale);
    if (threadIdx.x == 0) left[0] = all.m;
    if (threadIdx.x == 1) left[1] = all.l;
    for (int i = 0; i < COLUMNS; i++) {
        int d = (int)threadIdx.x + i * THREADS;
        if (d < head_dim) left[2 + d] = sum[i];
    }
}

__global__ void merge_pieces_kernel(struct decode_args args, int pieces)
{
    int keys = keys_of(args, (int)blockIdx.z, 0), head_dim = args.head_dim, d = (int)threadIdx.x;
    int each = PIECE * (args.heads / args.kv_heads), used = (keys + each - 1) / each;
    size_t row = (size_t)blockIdx.z * args.heads + blockIdx.x;
    const float *left = (const float *)args.workspace + row * pieces * (head_dim + 2);
    struct softmax_pair all = {-INFINITY, 0.0f};
    float sum = 0.0f;
    for (int i = 0; i < used; i++, left += head_dim + 2) {
        struct softmax_pair old = all, one = {left[0], left[1]};
        all = merge_pairs(old, one);
        float shift = shift_of(all.m);
        sum = sum * expf(old.m - shift) + left[2 + d] * expf(one.m - shift);
    }
    if (used > 0) from_float((__half *)args.out + row * head_dim + d, sum * factor_of(all.l));
}

#define FLASH_2_IS_ANOTHER
#define WORKSPACE_IS_ANOTHER
#include "one_kernel.h"

size_t decode_workspace_bytes(const struct decode_args *args, enum decode_variant variant,
                              enum decode_loads loads)
{
    if (args == NULL || !decode_extents_fit(args)) return 0;
    if (loads != DECODE_LOADS_4_BYTES && loads != DECODE_LOADS_16_BYTES) return 0;
    int serves = decode_choose_variant(args, loads) == DECODE_FLASH_2;
    if (variant == DECODE_AUTO) variant = decode_choose_variant(args, loads);
    if (variant == DECODE_FLASH_2 && serves && pieces_of(args) > 1)
        return (sizeof(float) * args->batch * args->heads * pieces_of(args) * (args->head_dim + 2) + 255) /
               256 * 256;
    return variant == DECODE_MHA ? sizeof(float) * args->batch * args->heads * args->q_len * args->max_len
                                 : 0;
}

enum kernel_status decode_flash_2(const struct decode_args *args, cudaStream_t stream)
{
    enum kernel_status status =
        decode_flash_2_check(args, decode_workspace_bytes(args, DECODE_FLASH_2, DECODE_LOADS_16_BYTES));
    if (status != KERNEL_OK) return status;
    int pieces = pieces_of(args);
    if (pieces == 1) return launch(args, stream);
    dim3 grid(args->heads, pieces, args->batch), rows(args->heads, 1, args->batch);
    piece_kernel<<<grid, THREADS, 0, stream>>>(*args, decode_scale(args));
    merge_pieces_kernel<<<rows, args->head_dim, 0, stream>>>(*args, pieces);
    return launch_status();
}
