/*
 * A block per row, of dQ or of dK and dV, a thread per column; everything in double. D is the sum of P * dP over a row, not of
 * dO * O, and lies in the workspace where this has room for it.
 */
#include "gradients.h"

static size_t workspace_of(const struct attention_backward_args *args)
{
    return attention_backward_padded_rows(args) * sizeof(double); // two floats per row
}

template <typename T> __global__ void sum_d(struct attention_backward_args args, double scale)
{
    __shared__ double part[64];
    size_t row = blockIdx.x, first = key_rows_of(args, row);
    int seen = keys_seen(args, (int)(row % (size_t)args.q_len));
    double sum = 0.0;
    for (int j = (int)threadIdx.x; j < seen; j += 64)
        sum += weight_of<T, double>(args, scale, row, first + j) *
               dot<T, double>(args.dout, row, args.v, first + j, args.head_dim);
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int j = 1; j < 64 && threadIdx.x == 0; j++) sum += part[j];
    if (threadIdx.x == 0) ((double *)args.workspace)[row] = sum;
}

/* P and dS of one query and key, by the first two threads; then each column. */
template <typename T>
__device__ void find_pair(const struct attention_backward_args &args, double scale, size_t row, size_t key,
                          double *pair)
{
    __syncthreads();
    if (threadIdx.x == 0) pair[0] = weight_of<T, double>(args, scale, row, key);
    if (threadIdx.x == 1)
        pair[1] =
            dot<T, double>(args.dout, row, args.v, key, args.head_dim) - ((double *)args.workspace)[row];
    __syncthreads();
}

template <typename T> __global__ void rows_of_dq(struct attention_backward_args args, double scale)
{
    __shared__ double pair[2];
    size_t row = blockIdx.x, first = key_rows_of(args, row);
    int column = (int)threadIdx.x, seen = keys_seen(args, (int)(row % (size_t)args.q_len));
    double sum = 0.0;
    for (int j = seen - 1; j >= 0; j--) {
        find_pair<T>(args, scale, row, first + j, pair);
        sum += pair[0] * pair[1] * (double)get<T>(args.k, first + j, args.head_dim, column);
    }
    put((T *)args.dq + row * args.head_dim + column, (float)(scale * sum));
}

template <typename T> __global__ void rows_of_dk_dv(struct attention_backward_args args, double scale)
{
    __shared__ double pair[2];
    size_t key = blockIdx.x, group = (size_t)(args.heads / args.kv_heads);
    int column = (int)threadIdx.x, begin = first_query_that_sees(args, (int)(key % (size_t)args.kv_len));
    double dk = 0.0, dv = 0.0;
    for (size_t head = 0; head < group; head++)
        for (int i = args.q_len - 1; i >= begin; i--) {
            size_t row = (key / (size_t)args.kv_len * group + head) * (size_t)args.q_len + i;
            find_pair<T>(args, scale, row, key, pair);
            dv += pair[0] * (double)get<T>(args.dout, row, args.head_dim, column);
            dk += pair[0] * pair[1] * (double)get<T>(args.q, row, args.head_dim, column);
        }
    if (args.dk != NULL) put((T *)args.dk + key * args.head_dim + column, (float)(scale * dk));
    if (args.dv != NULL) put((T *)args.dv + key * args.head_dim + column, (float)dv);
}

template <typename T>
static enum kernel_status run(const struct attention_backward_args *args, float scale, cudaStream_t stream)
{
    sum_d<T><<<(unsigned)query_rows(args), 64, 0, stream>>>(*args, scale);
    rows_of_dk_dv<T><<<(unsigned)key_rows(args), (unsigned)args->head_dim, 0, stream>>>(*args, scale);
    if (args->dq != NULL)
        rows_of_dq<T><<<(unsigned)query_rows(args), (unsigned)args->head_dim, 0, stream>>>(*args, scale);
    return launch_status();
}
