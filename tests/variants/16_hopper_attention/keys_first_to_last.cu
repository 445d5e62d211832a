/*
 * wgmma without TMA, mbarriers or a producer: one warpgroup copies 64 rows and tiles of 64 keys itself, from the first key to the
 * last, multiplies, masks every tile, and writes its rows from registers.
 */
#include "entry.h"

#define FP8_ROUNDS_P
#include "rounded.h"

#include "softmax_rows.h"
#include "wgmma_attention.h"

/** ROWS rows, of which @p rows are there, to where wgmma looks for them. */
template <typename T, int HEAD_DIM> __device__ inline void copy_rows(char *tile, const T *from, int rows)
{
    for (int i = (int)threadIdx.x; i < 64 * HEAD_DIM; i += WARPGROUP) {
        int row = i / HEAD_DIM, column = i % HEAD_DIM;
        uint16_t bits = row < rows ? *(const uint16_t *)&from[i] : (uint16_t)0;
        *(uint16_t *)(tile + column / 64 * 64 * ROW_BYTES + swizzled(row, column % 64 * 2)) = bits;
    }
}

template <typename T, typename SIZE>
__global__ void __launch_bounds__(WARPGROUP) attention_kernel(struct attention_args args, float scale)
{
#if HOPPER_CODE
    extern __shared__ __align__(1024) char shared[];
    __shared__ int answers[4];
    char *k = shared + SIZE::Q_BYTES, *v = k + SIZE::KV_BYTES;
    int tiles = divide_up(args.q_len, 64), bh = (int)blockIdx.x / tiles, first = (int)blockIdx.x % tiles * 64;
    int lane = (int)threadIdx.x % 32, row = first + (int)threadIdx.x / 32 * 16 + lane / 4;
    int last = min(first + 64, args.q_len) - 1;
    const T *q = (const T *)args.q + ((size_t)bh * args.q_len + first) * SIZE::HEAD_DIM;
    size_t kv = kv_head(args, bh) * args.kv_len * SIZE::HEAD_DIM;
    struct row_state<SIZE::SUMS> rows;
    clear_rows(&rows);
    copy_rows<T, SIZE::HEAD_DIM>(shared, q, args.q_len - first);
    for (int key = 0; key < keys_seen(args, last); key += 64) {
        float s[SIZE::SCORES], correction[2];
        uint32_t p[SIZE::WEIGHTS];
        size_t at = kv + (size_t)key * SIZE::HEAD_DIM;
        copy_rows<T, SIZE::HEAD_DIM>(k, (const T *)args.k + at, args.kv_len - key);
        copy_rows<T, SIZE::HEAD_DIM>(v, (const T *)args.v + at, args.kv_len - key);
        async_proxy_fence();
        __syncthreads(); // the tiles are there
        wgmma_fence();
        for (int i = 0; i < SIZE::HEAD_DIM / 16; i++) {
            uint32_t byte = (uint32_t)(i / 4 * 64 * ROW_BYTES + i % 4 * 32);
            wgmma_shared(s, tile_descriptor(shared_address(shared) + byte, 0),
                         tile_descriptor(shared_address(k) + byte, 0), i > 0, T());
        }
        wgmma_commit();
        wgmma_wait<0>();
        wgmma_hold(s);
        int seen[2] = {keys_seen(args, min(row, last)) - key, keys_seen(args, min(row + 8, last)) - key};
        float factor = scale < 0.0f ? -1.0f : 1.0f, size = fabsf(scale);
        if (isinf(scale)) factor *= 2.0f, size = fabsf(args.scale) * (LOG2_E / 2);
        if (factor != 1.0f) multiply_scores(s, factor);
        mask_scores(s, seen);
        if (weigh_scores(s, &rows, size, correction)) rescale_sums(rows.o, correction);
        round_weights<T>(p, s);
        int special = special_values<T, SIZE>(v, 0, 64);
        special = __any_sync(ALL_LANES, special);
        if (lane == 0) answers[threadIdx.x / 32] = special;
        __syncthreads(); // all answers are there
        if (__any_sync(ALL_LANES, answers[threadIdx.x % 4])) {
            add_one_by_one<T, SIZE>(rows.o, p, v, seen);
        } else {
            wgmma_fence();
            for (int i = 0; i < 4; i++)
                wgmma_registers(
                    rows.o, &p[4 * i],
                    tile_descriptor(shared_address(v) + (uint32_t)i * 16 * ROW_BYTES, 64 * ROW_BYTES), T());
            wgmma_commit();
            wgmma_wait<0>();
            wgmma_hold(rows.o);
        }
        __syncthreads(); // and may be overwritten
    }
    for (int h = 0; h < 2; h++) {
        float l = row_sum(rows.l[h]), factor = factor_of(l);
        if (row + 8 * h > last) continue;
        size_t out_row = (size_t)bh * args.q_len + row + 8 * h;
        if (args.lse != NULL && lane % 4 == 0) args.lse[out_row] = rows.m[h] * LN_2 + logf(l);
#pragma unroll
        for (int i = 0; i < SIZE::SUMS; i++)
            if (i / 2 % 2 == h)
                store((T *)args.out + out_row * SIZE::HEAD_DIM + i / 4 * 8 + lane % 4 * 2 + i % 2,
                      rows.o[i] * factor);
    }
#endif
}

template <typename T, int HEAD_DIM>
static enum kernel_status launch(const struct attention_args *args, cudaStream_t stream)
{
    typedef struct tile_sizes<HEAD_DIM, 0, 1, 64, 1, 1> size;
    int blocks = args->batch * args->heads * divide_up(args->q_len, 64),
        bytes = size::Q_BYTES + 2 * size::KV_BYTES;
    if (cudaFuncSetAttribute(attention_kernel<T, size>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) !=
        cudaSuccess)
        return KERNEL_CUDA_ERROR;
    attention_kernel<T, size>
        <<<(unsigned)blocks, WARPGROUP, (size_t)bytes, stream>>>(*args, attention_scale(args) * LOG2_E);
    return launch_status();
}
