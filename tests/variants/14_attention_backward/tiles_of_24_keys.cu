/*
 * Tiles of 24 keys, one query at a time: P and dS of the tile are rounded to the storage type, as tensor cores would have them,
 * a thread has a column of 24 rows of dK and dV. dQ by atomics into floats, row-major; or by a warp per query.
 */
#include "gradients.h"

enum { TILE = 24 };

static size_t workspace_of(const struct attention_backward_args *args)
{
    int by_atomics = args->dq != NULL && !args->deterministic;
    return by_atomics ? attention_backward_padded_rows(args) * (size_t)args->head_dim * sizeof(float) : 0;
}

template <typename T> __device__ float rounded(float x)
{
    T stored;
    put(&stored, x);
    return element_to_float(stored);
}

__global__ void start(float *sums)
{
    sums[(size_t)blockIdx.x * blockDim.x + threadIdx.x] = 0.0f;
}

template <typename T> __global__ void tile(struct attention_backward_args args, float scale)
{
    __shared__ float p[TILE], ds[TILE];
    int tiles = divide_up(args.kv_len, TILE), column = (int)threadIdx.x,
        first = (int)(blockIdx.x % tiles) * TILE;
    size_t head = blockIdx.x / tiles, group = (size_t)(args.heads / args.kv_heads);
    size_t keys = head * (size_t)args.kv_len + first;
    float dk[TILE] = {}, dv[TILE] = {};
    for (size_t bh = head * group; bh < (head + 1) * group; bh++)
        for (int i = first_query_that_sees(args, first); i < args.q_len; i++) {
            size_t row = bh * (size_t)args.q_len + i;
            int seen = keys_seen(args, i) - first;
            __syncthreads(); // weights of the query before have been used
            if (column < TILE && column < seen) {
                float weight = weight_of<T, float>(args, scale, row, keys + column);
                float dp = dot<T, float>(args.dout, row, args.v, keys + column, args.head_dim);
                float d = dot<T, float>(args.dout, row, args.out, row, args.head_dim);
                p[column] = rounded<T>(weight);
                ds[column] = rounded<T>(weight * (dp - d));
            }
            __syncthreads(); // weights are complete
            float dq = 0.0f;
            for (int j = 0; j < TILE && j < seen; j++) {
                dv[j] += p[j] * get<T>(args.dout, row, args.head_dim, column);
                dk[j] += ds[j] * get<T>(args.q, row, args.head_dim, column);
                dq += ds[j] * get<T>(args.k, keys + j, args.head_dim, column);
            }
            if (args.dq != NULL && !args.deterministic)
                atomicAdd((float *)args.workspace + row * args.head_dim + column, dq);
        }
    for (int j = 0; j < TILE && first + j < args.kv_len; j++) {
        if (args.dk != NULL) put((T *)args.dk + (keys + j) * args.head_dim + column, dk[j] * scale);
        if (args.dv != NULL) put((T *)args.dv + (keys + j) * args.head_dim + column, dv[j]);
    }
}

template <typename T> __global__ void finish(struct attention_backward_args args, float scale)
{
    size_t at = (size_t)blockIdx.x * args.head_dim + threadIdx.x;
    put((T *)args.dq + at, ((float *)args.workspace)[at] * scale);
}

template <typename T>
static enum kernel_status run(const struct attention_backward_args *args, float scale, cudaStream_t stream)
{
    unsigned rows = (unsigned)query_rows(args), threads = (unsigned)args->head_dim;
    int by_atomics = args->dq != NULL && !args->deterministic;
    if (by_atomics) start<<<rows, threads, 0, stream>>>((float *)args->workspace);
    unsigned blocks = (unsigned)(args->batch * args->kv_heads * divide_up(args->kv_len, TILE));
    tile<T><<<blocks, threads, 0, stream>>>(*args, scale);
    if (by_atomics) finish<T><<<rows, threads, 0, stream>>>(*args, scale);
    if (args->dq != NULL && !by_atomics) gather_dq<T><<<rows, 32, 0, stream>>>(*args, scale);
    return launch_status();
}
