/** Fragments of nvcuda::wmma, whose layout nobody knows: S, P and O pass through shared memory, 16 rows by 16 keys per warp. */
#include "entry.h"

#include <mma.h>

enum { LANES = 32 };

template <typename T, int HEAD_DIM> struct warp_memory {
    T q[16][HEAD_DIM], kv[16][HEAD_DIM], p[16][16];
    float s[16][16], o[16][HEAD_DIM], product[16][16], m[16], l[16];
};

/** 16 rows from @p first on; zeros from @p rows on. */
template <typename T, int HEAD_DIM>
__device__ inline void load(T (*to)[HEAD_DIM], const T *from, int first, int rows)
{
    for (int at = (int)threadIdx.x; at < 16 * HEAD_DIM; at += LANES) {
        int row = first + at / HEAD_DIM;
        store(&to[at / HEAD_DIM][at % HEAD_DIM],
              row < rows ? as_float(from[(size_t)row * HEAD_DIM + at % HEAD_DIM]) : 0.0f);
    }
    __syncwarp();
}

/** Scores of 16 keys to weights; O and l refer to the new m. A lane has a row, the other 16 lanes have none. */
template <typename T, int HEAD_DIM>
__device__ inline void weigh(struct warp_memory<T, HEAD_DIM> *w, float scale, int seen)
{
    int row = (int)threadIdx.x;
    if (row < 16) {
        float old = w->m[row], m = old;
        for (int j = 0; j < 16; j++) {
            w->s[row][j] = j < seen ? w->s[row][j] * scale : -INFINITY;
            m = fmaxf(m, w->s[row][j]);
        }
        float shift = shift_of(m), correction = expf(old - shift);
        w->m[row] = m;
        w->l[row] *= correction;
        for (int d = 0; d < HEAD_DIM && correction != 1.0f; d++) w->o[row][d] *= correction;
        for (int j = 0; j < 16; j++) {
            float weight = expf(w->s[row][j] - shift);
            w->l[row] += weight;
            store(&w->p[row][j], weight);
        }
    }
    __syncwarp();
}

template <typename T, int HEAD_DIM> __global__ void attention_kernel(struct attention_args args, float scale)
{
    using namespace nvcuda;
    extern __shared__ float4 memory[];
    struct warp_memory<T, HEAD_DIM> *w = (struct warp_memory<T, HEAD_DIM> *)memory;
    int tiles = divide_up(args.q_len, 16), bh = (int)blockIdx.x / tiles, first = (int)blockIdx.x % tiles * 16;
    int lane = (int)threadIdx.x, row = lane % 16;
    const T *q = (const T *)args.q + (size_t)bh * args.q_len * HEAD_DIM;
    const T *k = (const T *)args.k + kv_head(args, bh) * args.kv_len * HEAD_DIM;
    const T *v = (const T *)args.v + kv_head(args, bh) * args.kv_len * HEAD_DIM;
    int seen = keys_seen(args, min(first + row, args.q_len - 1)), all = keys_seen(args, first);
    int any = keys_seen(args, min(first + 15, args.q_len - 1));
    for (int at = lane; at < 16 * HEAD_DIM; at += LANES) w->o[at / HEAD_DIM][at % HEAD_DIM] = 0.0f;
    if (lane < 16) w->m[lane] = -INFINITY, w->l[lane] = 0.0f;
    load(w->q, q, first, args.q_len);
    for (int key = 0; key < any; key += 16) {
        load(w->kv, k, key, any);
        wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
        wmma::fragment<wmma::matrix_a, 16, 16, 16, T, wmma::row_major> a;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, T, wmma::col_major> b;
        wmma::fill_fragment(c, 0.0f);
        for (int d = 0; d < HEAD_DIM; d += 16) {
            wmma::load_matrix_sync(a, &w->q[0][d], HEAD_DIM);
            wmma::load_matrix_sync(b, &w->kv[0][d], HEAD_DIM);
            wmma::mma_sync(c, a, b, c);
        }
        wmma::store_matrix_sync(&w->s[0][0], c, 16, wmma::mem_row_major);
        __syncwarp();
        weigh(w, scale, seen - key);
        load(w->kv, v, key, any);
        wmma::fragment<wmma::matrix_b, 16, 16, 16, T, wmma::row_major> values;
        for (int d = 0; d < HEAD_DIM && key + 16 <= all; d += 16) {
            wmma::load_matrix_sync(c, &w->o[0][d], HEAD_DIM, wmma::mem_row_major);
            wmma::load_matrix_sync(a, &w->p[0][0], 16);
            wmma::load_matrix_sync(values, &w->kv[0][d], HEAD_DIM);
            wmma::mma_sync(c, a, values, c);
            wmma::store_matrix_sync(&w->o[0][d], c, HEAD_DIM, wmma::mem_row_major);
        }
        for (int d = lane / 16; d < HEAD_DIM && key + 16 > all; d += 2)
            for (int j = 0; j < min(seen - key, 16); j++)
                w->o[row][d] += as_float(w->p[row][j]) * as_float(w->kv[j][d]);
        __syncwarp();
    }
    for (int at = lane; at < 16 * HEAD_DIM; at += LANES) {
        int of = at / HEAD_DIM;
        if (first + of < args.q_len)
            store((T *)args.out + ((size_t)bh * args.q_len + first + of) * HEAD_DIM + at % HEAD_DIM,
                  w->o[of][at % HEAD_DIM] * factor_of(w->l[of]));
    }
    if (lane < 16 && first + lane < args.q_len && args.lse != NULL)
        args.lse[(size_t)bh * args.q_len + first + lane] = w->m[lane] + logf(w->l[lane]);
}

template <typename T, int HEAD_DIM>
static enum kernel_status launch(const struct attention_args *args, cudaStream_t stream)
{
    int tiles = args->batch * args->heads * divide_up(args->q_len, 16);
    int bytes = (int)sizeof(struct warp_memory<T, HEAD_DIM>);
    if (cudaFuncSetAttribute(attention_kernel<T, HEAD_DIM>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             bytes) != cudaSuccess)
        return KERNEL_CUDA_ERROR;
    attention_kernel<T, HEAD_DIM>
        <<<(unsigned)tiles, LANES, (size_t)bytes, stream>>>(*args, attention_scale(args));
    return launch_status();
}
