/*
 * A thread per row, without shared memory and without barriers: of keys for dK and dV, of queries for dQ. A thread holds whole rows of
 * its gradients.
 */
#include "gradients.h"

enum { THREADS = 32, MOST_COLUMNS = 128 };

static size_t workspace_of(const struct attention_backward_args *)
{
    return 0;
}

/** P, and dS times scale. */
template <typename T>
__device__ float2 pair_of(const struct attention_backward_args &args, float scale, size_t row, size_t key)
{
    float p = weight_of<T, float>(args, scale, row, key);
    float above = 0.0f; // dP - D in one sum
    for (int c = 0; c < args.head_dim; c++)
        above += get<T>(args.dout, row, args.head_dim, c) *
                 (get<T>(args.v, key, args.head_dim, c) - get<T>(args.out, row, args.head_dim, c));
    return make_float2(p, p * above * scale);
}

template <typename T>
__global__ void rows(struct attention_backward_args args, float scale, int query_count, int key_count)
{
    float a[MOST_COLUMNS] = {}, b[MOST_COLUMNS] = {};
    int thread = (int)(blockIdx.x * blockDim.x + threadIdx.x), head_dim = args.head_dim;
    if (thread < query_count && args.dq != NULL) {
        size_t row = (size_t)thread, first = key_rows_of(args, row);
        for (int j = 0; j < keys_seen(args, thread % args.q_len); j++) {
            float ds = pair_of<T>(args, scale, row, first + j).y;
            for (int c = 0; c < head_dim; c++) a[c] += ds * get<T>(args.k, first + j, head_dim, c);
        }
        for (int c = 0; c < head_dim; c++) put((T *)args.dq + row * head_dim + c, a[c]);
    }
    if (thread < query_count || thread - query_count >= key_count) return;
    size_t key = (size_t)(thread - query_count), group = (size_t)(args.heads / args.kv_heads);
    for (size_t head = 0; head < group; head++)
        for (int i = first_query_that_sees(args, (int)(key % (size_t)args.kv_len)); i < args.q_len; i++) {
            size_t row = (key / (size_t)args.kv_len * group + head) * (size_t)args.q_len + i;
            float2 pair = pair_of<T>(args, scale, row, key);
            for (int c = 0; c < head_dim; c++) {
                a[c] += pair.y * get<T>(args.q, row, head_dim, c);
                b[c] += pair.x * get<T>(args.dout, row, head_dim, c);
            }
        }
    for (int c = 0; c < head_dim; c++) {
        if (args.dk != NULL) put((T *)args.dk + key * head_dim + c, a[c]);
        if (args.dv != NULL) put((T *)args.dv + key * head_dim + c, b[c]);
    }
}

template <typename T>
static enum kernel_status run(const struct attention_backward_args *args, float scale, cudaStream_t stream)
{
    int queries = query_rows(args), keys = key_rows(args), all = queries + keys;
    rows<T><<<(unsigned)divide_up(all, THREADS), THREADS, 0, stream>>>(*args, scale, queries, keys);
    return launch_status();
}
