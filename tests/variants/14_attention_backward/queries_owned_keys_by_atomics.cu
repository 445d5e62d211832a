/*
 * The loops exchanged: a block per query owns dQ, and adds to dK and dV of all keys by atomics, straight into f32 gradients. Of
 * 16-bit gradients, and where the bits must be the same every time, a block per key sums them up.
 */
#include "gradients.h"

static size_t workspace_of(const struct attention_backward_args *)
{
    return 0;
}

__global__ void zeros(float *to, int count)
{
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < count) to[i] = 0.0f;
}

/** Query row, or key row by its queries: both add P * dO to dV and dS * Q to dK of one key, a thread per column. */
template <typename T>
__device__ void add_pair(const struct attention_backward_args &args, float scale, size_t row, size_t key,
                         float *dk, float *dv, float *dq)
{
    __shared__ float shared[2];
    int column = (int)threadIdx.x;
    __syncthreads();
    if (column == 0) {
        float d = dot<T, float>(args.dout, row, args.out, row, args.head_dim);
        shared[0] = weight_of<T, float>(args, scale, row, key);
        shared[1] = shared[0] * (dot<T, float>(args.dout, row, args.v, key, args.head_dim) - d) * scale;
    }
    __syncthreads();
    *dv += shared[0] * get<T>(args.dout, row, args.head_dim, column);
    *dk += shared[1] * get<T>(args.q, row, args.head_dim, column);
    *dq += shared[1] * get<T>(args.k, key, args.head_dim, column);
}

template <typename T> __global__ void queries(struct attention_backward_args args, float scale)
{
    size_t row = blockIdx.x, first = key_rows_of(args, row);
    int column = (int)threadIdx.x, seen = keys_seen(args, (int)(row % (size_t)args.q_len));
    int by_atomics = args.dtype == DTYPE_F32 && !args.deterministic;
    float dq = 0.0f;
    for (int j = 0; j < seen; j++) {
        float dk = 0.0f, dv = 0.0f;
        add_pair<T>(args, scale, row, first + j, &dk, &dv, &dq);
        size_t at = (first + j) * args.head_dim + column;
        if (by_atomics && args.dk != NULL) atomicAdd((float *)args.dk + at, dk);
        if (by_atomics && args.dv != NULL) atomicAdd((float *)args.dv + at, dv);
    }
    if (args.dq != NULL) put((T *)args.dq + row * args.head_dim + column, dq);
}

template <typename T> __global__ void keys(struct attention_backward_args args, float scale)
{
    size_t key = blockIdx.x, group = (size_t)(args.heads / args.kv_heads), kv_len = (size_t)args.kv_len;
    float dk = 0.0f, dv = 0.0f, dq = 0.0f;
    for (size_t head = key / kv_len * group; head < (key / kv_len + 1) * group; head++)
        for (int i = first_query_that_sees(args, (int)(key % kv_len)); i < args.q_len; i++)
            add_pair<T>(args, scale, head * (size_t)args.q_len + i, key, &dk, &dv, &dq);
    size_t at = key * args.head_dim + threadIdx.x;
    if (args.dk != NULL) put((T *)args.dk + at, dk);
    if (args.dv != NULL) put((T *)args.dv + at, dv);
}

template <typename T>
static enum kernel_status run(const struct attention_backward_args *args, float scale, cudaStream_t stream)
{
    unsigned threads = (unsigned)args->head_dim;
    int by_atomics = args->dtype == DTYPE_F32 && !args->deterministic,
        count = key_rows(args) * args->head_dim;
    if (by_atomics && args->dk != NULL)
        zeros<<<(unsigned)divide_up(count, 256), 256, 0, stream>>>((float *)args->dk, count);
    if (by_atomics && args->dv != NULL)
        zeros<<<(unsigned)divide_up(count, 256), 256, 0, stream>>>((float *)args->dv, count);
    queries<T><<<(unsigned)query_rows(args), threads, 0, stream>>>(*args, scale);
    if (!by_atomics) keys<T><<<(unsigned)key_rows(args), threads, 0, stream>>>(*args, scale);
    return launch_status();
}
