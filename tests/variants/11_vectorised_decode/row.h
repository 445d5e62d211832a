/*
 * What variants of lesson 11 have in common before their kernels: where the row of a block lies. Not the course's own
 * query_row.h: a variant shares no line with the solution.
 */
#include "vectorised_decode.h"

#include <cuda_fp16.h>

#include "attention_rows.h"
#include "kernel_launch.h"
#include "vector_elements.h"

/** Keys of query @p query; 0 where its position is wrong. */
static __device__ inline int keys_of(const struct decode_args &args, int b, int query)
{
    int position = args.device_positions != NULL ? args.device_positions[b] : args.position;
    if (position >= 0 && position <= args.max_len - args.q_len) return position + query + 1;
    atomicExch(args.device_status, (int)KERNEL_INVALID_DIMENSION);
    return 0;
}

/** Query @p query of head blockIdx.x and sequence blockIdx.z. */
template <typename T> struct row_of {
    const T *q, *k, *v;
    T *out;
    size_t number, stride;
    int keys, head_dim;

    __device__ row_of(const struct decode_args &args, int query)
    {
        size_t group = (size_t)(args.heads / args.kv_heads);
        stride = args.kv_stride;
        head_dim = args.head_dim;
        keys = keys_of(args, (int)blockIdx.z, query);
        number = ((size_t)blockIdx.z * args.q_len + query) * args.heads + blockIdx.x;
        size_t cache = (size_t)blockIdx.z * args.max_len * stride + blockIdx.x / group * head_dim;
        q = (const T *)args.q + number * head_dim;
        k = (const T *)args.k_cache + cache;
        v = (const T *)args.v_cache + cache;
        out = (T *)args.out + number * head_dim;
    }
};
