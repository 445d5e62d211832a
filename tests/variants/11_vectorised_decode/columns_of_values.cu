/*
 * A correct solution of another shape, made for short sequences: flash_2 splits no keys, but the columns of the values. A block has all
 * keys of a K/V head and HEAD_DIM / SLICES columns of its values. All blocks of the head compute the same scores, so that
 * nothing has to be merged between them, and no workspace is needed; the tensor cores do that, and the L2 cache has the keys.
 * All that a warp needs is asked for before it waits for anything: queries and keys into registers, as mma.sync wants
 * them (see the variant four_lanes_a_key of lesson 06), values into shared memory.
 */
#include <cuda_pipeline.h>

#define FLASH_2_IS_ANOTHER
#include "warp_per_row.cu" // all other entry points

enum {
    LANES = 32,
    WARPS = 16,                    // that share the keys of a tile
    EIGHTS = 3,                    // times eight keys: of a warp, WARPS * EIGHT apart
    EIGHT = 8,                     // keys of one mma.sync; elements in 16 bytes
    TILE = WARPS * EIGHTS * EIGHT, // keys at a time: 384
    SLICES = 4,                    // of the columns of values
    HEADS = 4,                     // query heads of a block
    KEY_LANES = 4                  // that load a key
};

/** What a block keeps in shared memory; every warp has its own. */
template <int HEAD_DIM> struct shared_memory {
    alignas(16) __half v[WARPS][EIGHTS * EIGHT][HEAD_DIM / SLICES]; /* zeros past the last key */
    alignas(16) float weight[WARPS][EIGHTS * EIGHT][HEADS];         /* exp2(score - m) */
    float sum[WARPS][HEADS][HEAD_DIM / SLICES];                     /* of weights times values */
    struct softmax_pair pair[WARPS][HEADS];                         /* with powers of two */
};

/** C += A * B for 16 columns of A, eight heads (the other rows are zeros) and eight keys. */
static __device__ inline void multiply(float c[4], unsigned a_low, unsigned a_high, unsigned b_low,
                                       unsigned b_high)
{
#if __CUDA_ARCH__ >= 800
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %5}, {%7, %8}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a_low), "r"(0), "r"(a_high), "r"(b_low), "r"(b_high));
#else
    const unsigned a[2] = {a_low, a_high}, b[2] = {b_low, b_high};
    for (int i = 0; i < 2; i++)
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
                     "{%0, %1, %2, %3};"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                     : "r"(a[i]), "r"(0), "r"(b[i]));
#endif
}

/** Every fourth 16 bytes of a row, from the lane's own on; zeros if it is not there. */
template <int HEAD_DIM> static __device__ inline void load_row(uint4 *to, const __half *row, int there)
{
#pragma unroll
    for (int c = 0; c < HEAD_DIM / EIGHT / KEY_LANES; c++)
        to[c] = there ? *(const uint4 *)(row + (c * KEY_LANES + (int)threadIdx.x % KEY_LANES) * EIGHT)
                      : make_uint4(0, 0, 0, 0);
}

/** The warp's keys from @p key on become weights: of head lane / 4, keys 2 i and 2 i + 1 of every eight. */
template <int HEAD_DIM>
static __device__ inline float weigh(float (*weight)[HEADS], const uint4 (*k)[HEAD_DIM / EIGHT / KEY_LANES],
                                     const uint4 *q, struct softmax_pair *pair, float scale, int key,
                                     int keys)
{
    int lane = (int)threadIdx.x % LANES, head = lane / KEY_LANES, place = lane % KEY_LANES * 2;
    float score[EIGHTS][2], most = -INFINITY, old = pair->m;
#pragma unroll
    for (int i = 0; i < EIGHTS; i++) {
        float c[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
        for (int d = 0; d < HEAD_DIM / EIGHT / KEY_LANES; d++) {
            multiply(c, q[d].x, q[d].y, k[i][d].x, k[i][d].y);
            multiply(c, q[d].z, q[d].w, k[i][d].z, k[i][d].w);
        }
        for (int j = 0; j < 2; j++) {
            score[i][j] = key + i * WARPS * EIGHT + place + j < keys ? c[j] * scale * 1.44269504f : -INFINITY;
            most = fmaxf(most, score[i][j]);
        }
    }
    for (int distance = 1; distance < KEY_LANES; distance *= 2)
        most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, distance));
    pair->m = fmaxf(old, most);
    float shift = shift_of(pair->m), correction = exp2f(old - shift);
    pair->l *= correction; // l is of this lane's keys only
#pragma unroll
    for (int i = 0; i < 2 * EIGHTS; i++) {
        float w = exp2f(score[i / 2][i % 2] - shift);
        pair->l += w;
        if (head < HEADS) weight[i / 2 * EIGHT + place + i % 2][head] = w;
    }
    return correction;
}

/** A block: all keys of one sequence, up to HEADS query heads of one K/V head, a slice of the columns. */
template <int HEAD_DIM>
__global__ void __launch_bounds__(WARPS *LANES, 1) slice_kernel(struct decode_args args, float scale)
{
    enum { COLUMNS = HEAD_DIM / SLICES, PIECES = COLUMNS / EIGHT, OWN = COLUMNS * HEADS / LANES };
    __shared__ struct shared_memory<HEAD_DIM> memory;
    int warp = (int)threadIdx.x / LANES, lane = (int)threadIdx.x % LANES, row = lane / KEY_LANES;
    int group = args.heads / args.kv_heads, chunks = divide_up(group, HEADS), b = (int)blockIdx.z;
    int slice = (int)blockIdx.x % SLICES, chunk = (int)blockIdx.x / SLICES % chunks;
    int kv_head = (int)blockIdx.x / SLICES / chunks, heads = min(group - chunk * HEADS, (int)HEADS);
    size_t first_row = (size_t)b * args.heads + (size_t)kv_head * group + chunk * HEADS,
           stride = args.kv_stride;
    size_t cache = (size_t)b * args.max_len * stride + (size_t)kv_head * HEAD_DIM;
    const __half *keys_at = (const __half *)args.k_cache + cache,
                 *values_at = (const __half *)args.v_cache + cache + slice * COLUMNS;
    uint4 q[HEAD_DIM / EIGHT / KEY_LANES], k[EIGHTS][HEAD_DIM / EIGHT / KEY_LANES];
    int head = lane / EIGHT, column = lane % EIGHT * OWN; // whose sums this lane has
    float sum[OWN] = {0.0f};
    struct softmax_pair pair = {-INFINITY, 0.0f};
    int keys = keys_of(args, b, 0);
    load_row<HEAD_DIM>(q, (const __half *)args.q + (first_row + row) * HEAD_DIM, row < heads);
    for (int key = warp * EIGHT; key < keys; key += TILE) {
#pragma unroll
        for (int i = 0; i < EIGHTS; i++) {
            int mine = key + i * WARPS * EIGHT + row;
            load_row<HEAD_DIM>(k[i], keys_at + mine * stride, mine < keys);
        }
#pragma unroll
        for (int i = lane; i < EIGHTS * EIGHT * PIECES; i += LANES) {
            int at = i / PIECES, mine = key + at / EIGHT * WARPS * EIGHT + at % EIGHT;
            __half *to = &memory.v[warp][at][i % PIECES * EIGHT];
            if (mine < keys)
                __pipeline_memcpy_async(to, values_at + mine * stride + i % PIECES * EIGHT, 16);
            else
                *(uint4 *)to = make_uint4(0, 0, 0, 0);
        }
        __pipeline_commit();
        float correction = weigh<HEAD_DIM>(memory.weight[warp], k, q, &pair, scale, key, keys);
        correction = __shfl_sync(0xffffffffu, correction, head * KEY_LANES);
        for (int c = 0; c < OWN; c++) sum[c] *= correction;
        __pipeline_wait_prior(0);
        __syncwarp(); // weights and values of all lanes are there
#pragma unroll 8
        for (int at = 0; at < EIGHTS * EIGHT; at++) {
            float w = memory.weight[warp][at][head];
#pragma unroll
            for (int c = 0; c < OWN; c += 2) {
                float2 x = __half22float2(*(const __half2 *)&memory.v[warp][at][column + c]);
                sum[c] += w * x.x;
                sum[c + 1] += w * x.y;
            }
        }
        __syncwarp(); // and read before those of the next tile replace them
    }
    for (int distance = 1; distance < KEY_LANES; distance *= 2)
        pair.l += __shfl_xor_sync(0xffffffffu, pair.l, distance);
    if (lane % KEY_LANES == 0 && row < HEADS) memory.pair[warp][row] = pair;
    for (int c = 0; c < OWN; c++) memory.sum[warp][head][column + c] = sum[c];
    __syncthreads(); // every warp has left what it found
    int h = (int)threadIdx.x / COLUMNS, d = (int)threadIdx.x % COLUMNS;
    if (h >= heads || keys == 0) return;
    float most = -INFINITY, l = 0.0f, all = 0.0f;
#pragma unroll 4
    for (int w = 0; w < WARPS; w++) most = fmaxf(most, memory.pair[w][h].m);
#pragma unroll 4
    for (int w = 0; w < WARPS; w++) {
        float factor = exp2f(memory.pair[w][h].m - shift_of(most));
        l += memory.pair[w][h].l * factor;
        all += memory.sum[w][h][d] * factor;
    }
    ((__half *)args.out)[(first_row + h) * HEAD_DIM + slice * COLUMNS + d] = __float2half(all * factor_of(l));
}

enum kernel_status decode_flash_2(const struct decode_args *args, cudaStream_t stream)
{
    enum kernel_status status = decode_flash_2_check(args, 0);
    if (status != KERNEL_OK) return status;
    dim3 grid(args->kv_heads * divide_up(args->heads / args->kv_heads, HEADS) * SLICES, 1, args->batch);
    if (args->head_dim == 64)
        slice_kernel<64><<<grid, WARPS * LANES, 0, stream>>>(*args, decode_scale(args));
    else
        slice_kernel<128><<<grid, WARPS * LANES, 0, stream>>>(*args, decode_scale(args));
    return launch_status();
}
