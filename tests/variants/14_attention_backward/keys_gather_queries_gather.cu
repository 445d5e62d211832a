/*
 * Two kernels without workspace: a warp per key sums dK and dV, a warp per query sums dQ. Seven products, no atomics, the same
 * bits every time whatever is asked.
 */
#include "gradients.h"

static size_t workspace_of(const struct attention_backward_args *)
{
    return 0;
}

template <typename T> __global__ void gather_dk_dv(struct attention_backward_args args, float scale)
{
    __shared__ float p[32], ds[32];
    size_t key = blockIdx.x;
    int lane = (int)threadIdx.x, group = args.heads / args.kv_heads, j = (int)(key % (size_t)args.kv_len);
    float dk[4] = {}, dv[4] = {};
    int begin = first_query_that_sees(args, j);
    for (int head = 0; head < group; head++)
        for (int query = begin; query < args.q_len; query += 32) {
            size_t first = (key / (size_t)args.kv_len * group + head) * (size_t)args.q_len + query;
            int there = query + lane < args.q_len;
            float d =
                there ? dot<T, float>(args.dout, first + lane, args.out, first + lane, args.head_dim) : 0.0f;
            float dp = there ? dot<T, float>(args.dout, first + lane, args.v, key, args.head_dim) : 0.0f;
            __syncthreads();
            p[lane] = there ? weight_of<T, float>(args, scale, first + lane, key) : 0.0f;
            ds[lane] = p[lane] * (dp - d);
            __syncthreads();
            for (int i = 0; i < min(32, args.q_len - query); i++)
                for (int c = 0; c < args.head_dim / 32; c++) {
                    dv[c] += p[i] * get<T>(args.dout, first + i, args.head_dim, lane + 32 * c);
                    dk[c] += ds[i] * get<T>(args.q, first + i, args.head_dim, lane + 32 * c);
                }
        }
    for (int c = 0; c < args.head_dim / 32; c++) {
        size_t at = key * args.head_dim + lane + 32 * c;
        if (args.dk != NULL) put((T *)args.dk + at, dk[c] * scale);
        if (args.dv != NULL) put((T *)args.dv + at, dv[c]);
    }
}

template <typename T>
static enum kernel_status run(const struct attention_backward_args *args, float scale, cudaStream_t stream)
{
    gather_dk_dv<T><<<(unsigned)key_rows(args), 32, 0, stream>>>(*args, scale);
    if (args->dq != NULL) gather_dq<T><<<(unsigned)query_rows(args), 32, 0, stream>>>(*args, scale);
    return launch_status();
}
