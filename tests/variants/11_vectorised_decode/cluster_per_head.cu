/*
 * A correct solution of another shape, made for short sequences: a cluster of blocks shares the keys of a K/V head, and merges what
 * its warps found through shared memory: each block one query head. So a few hundred keys are spread over
 * several SMs without a workspace and without a second kernel. Where there are no clusters, before sm_90, one block does all of it.
 *
 *     all that a warp needs is asked for before it waits for anything: queries and keys into registers, as mma.sync
 *     wants them (see the variant four_lanes_a_key of lesson 06), values into shared memory
 *     the code is short, since with nothing in the caches a kernel waits for its instructions, too
 */
#define FLASH_2_IS_ANOTHER
#include "warp_per_row.cu" // all other entry points

#include <cuda_pipeline.h>

#include "hopper.h" // the cluster's barrier

enum {
    LANES = 32,
    HEADS = 4,    // query heads of a cluster
    WARPS = 5,    // of a block
    EIGHT = 8,    // keys of one mma.sync; elements in 16 bytes
    EIGHTS = 2,   // times eight keys, of a warp at a time: 320 keys of a cluster
    KEY_LANES = 4 // that load a key
};

/** What a block keeps in shared memory: what its own warps work on, and what all warps of the cluster left for it. */
template <int HEAD_DIM, int CLUSTER> struct shared_memory {
    alignas(16) __half v[WARPS][EIGHTS * EIGHT][HEAD_DIM];                 /* zeros past the last key */
    alignas(16) float weight[WARPS][EIGHTS * EIGHT][HEADS];                /* exp2(score - m) */
    alignas(16) float sum[CLUSTER * WARPS][HEADS / CLUSTER][HEAD_DIM];     /* of weights times values */
    alignas(8) struct softmax_pair pair[CLUSTER * WARPS][HEADS / CLUSTER]; /* with powers of two */
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

/** Every fourth 16 bytes of a row, from the lane's own on. */
template <int HEAD_DIM> static __device__ inline void load_row(uint4 *to, const __half *row)
{
    const uint4 *from = (const uint4 *)row + threadIdx.x % KEY_LANES;
#pragma unroll
    for (int c = 0; c < HEAD_DIM / EIGHT / KEY_LANES; c++) to[c] = from[c * KEY_LANES];
}

/** The warp's keys become weights: lane 4 h + i has those of head h and keys 2 i and 2 i + 1 of every eight. */
template <int HEAD_DIM>
static __device__ inline float weigh(float (*weight)[HEADS], const uint4 (*k)[HEAD_DIM / EIGHT / KEY_LANES],
                                     const uint4 *q, struct softmax_pair *pair, float scale, int left,
                                     int apart)
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
            score[i][j] = i * apart + place + j < left ? c[j] * scale * 1.44269504f : -INFINITY; // log2(e)
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

/** Tells the cluster that this block has begun: its shared memory may be written to from now on. */
template <int CLUSTER> static __device__ inline void say_begun(void)
{
#if __CUDA_ARCH__ >= 900
    if (CLUSTER > 1) asm volatile("barrier.cluster.arrive.relaxed;" : : : "memory");
#endif
}

/** Waits until all blocks of the cluster have begun. */
template <int CLUSTER> static __device__ inline void wait_begun(void)
{
#if __CUDA_ARCH__ >= 900
    if (CLUSTER > 1) asm volatile("barrier.cluster.wait;" : : : "memory");
#endif
}

/** What block @p rank of the cluster has at this place of its shared memory. */
template <int CLUSTER, typename T> static __device__ inline T *in_block(T *place, int rank)
{
#if __CUDA_ARCH__ >= 900
    T *there;
    asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(place), "r"(rank));
    return CLUSTER > 1 ? there : place;
#else
    (void)rank;
    return place;
#endif
}

/** A barrier of the cluster, or of the block that is alone. */
template <int CLUSTER> static __device__ inline void sync_all(void)
{
#if __CUDA_ARCH__ >= 900
    if (CLUSTER > 1) return cluster_sync();
#endif
    __syncthreads();
}

/** Asks for the values of a warp's keys from @p key on; there are @p keys, and zeros for what is past them. */
template <int HEAD_DIM>
static __device__ inline void ask_values(__half (*to)[HEAD_DIM], const __half *from, size_t stride, int key,
                                         int keys, int apart)
{
    enum { PIECES = HEAD_DIM / EIGHT };
    int row = (int)threadIdx.x % LANES / PIECES, column = (int)threadIdx.x % PIECES * EIGHT;
#pragma unroll
    for (int at = 0; at < EIGHTS * EIGHT; at += LANES / PIECES) {
        int mine = key + at / EIGHT * apart + at % EIGHT + row;
        __pipeline_memcpy_async(&to[at + row][column], from + min(mine, keys - 1) * stride + column, 16,
                                mine < keys ? 0 : 16);
    }
    __pipeline_commit();
}

/**
 * A cluster: all keys of one sequence, up to HEADS query heads of one K/V head. What is not there is not asked about where the
 * last that is there does as well: the last key again has no weight, the last head again no output.
 */
template <int HEAD_DIM, int CLUSTER, bool ONCE>
__global__ void __launch_bounds__(WARPS *LANES)
    cluster_kernel(struct decode_args args, int group, float scale)
{
    enum {
        OWN = HEAD_DIM / LANES,
        OF_BLOCK = HEADS / CLUSTER,
        APART = CLUSTER * WARPS * EIGHT,
        UNROLLED = ONCE ? 4 : 2
    };
    __shared__ struct shared_memory<HEAD_DIM, CLUSTER> memory;
    int keys = keys_of(args, (int)blockIdx.z, 0);
    if (keys == 0) return; // the whole cluster
    say_begun<CLUSTER>();
    int warp = (int)threadIdx.x / LANES, lane = (int)threadIdx.x % LANES, row = lane / KEY_LANES;
    int rank = (int)blockIdx.x % CLUSTER, kv_head = (int)blockIdx.x / CLUSTER, chunk = (int)blockIdx.y;
    int heads = min(group - chunk * HEADS, (int)HEADS), me = rank * WARPS + warp; // of the cluster's warps
    size_t first_row = (size_t)blockIdx.z * args.heads + (size_t)kv_head * group + chunk * HEADS,
           stride = args.kv_stride;
    size_t cache = (size_t)blockIdx.z * args.max_len * stride + (size_t)kv_head * HEAD_DIM;
    const __half *k_cache = (const __half *)args.k_cache + cache,
                 *v_cache = (const __half *)args.v_cache + cache;
    uint4 q[HEAD_DIM / EIGHT / KEY_LANES], k[EIGHTS][HEAD_DIM / EIGHT / KEY_LANES];
    float sum[HEADS][OWN] = {{0.0f}};
    struct softmax_pair pair = {-INFINITY, 0.0f};
    load_row<HEAD_DIM>(q, (const __half *)args.q + (first_row + min(row, heads - 1)) * HEAD_DIM);
#pragma unroll 1
    for (int key = me * EIGHT; key < keys; key += EIGHTS * APART) {
#pragma unroll
        for (int i = 0; i < EIGHTS; i++)
            load_row<HEAD_DIM>(k[i], k_cache + min(key + i * APART + row, keys - 1) * stride);
        ask_values<HEAD_DIM>(memory.v[warp], v_cache, stride, key, keys, APART);
        float correction = weigh<HEAD_DIM>(memory.weight[warp], k, q, &pair, scale, keys - key, APART);
        for (int h = 0; h < HEADS && key >= EIGHTS * APART; h++) { // not for the first keys
            float factor = __shfl_sync(0xffffffffu, correction, h * KEY_LANES);
            for (int c = 0; c < OWN; c++) sum[h][c] *= factor;
        }
        __pipeline_wait_prior(0);
        __syncwarp(); // weights and values of all lanes are there
#pragma unroll UNROLLED
        for (int at = 0; at < EIGHTS * EIGHT; at++) {
            const float4 four = *(const float4 *)memory.weight[warp][at];
            const float w[HEADS] = {four.x, four.y, four.z, four.w};
#pragma unroll
            for (int c = 0; c < OWN; c += 2) {
                float2 x = __half22float2(*(const __half2 *)&memory.v[warp][at][lane * OWN + c]);
                for (int h = 0; h < HEADS; h++) {
                    sum[h][c] += w[h] * x.x;
                    sum[h][c + 1] += w[h] * x.y;
                }
            }
        }
        if (ONCE) break; // there are no more keys: without a loop it is faster
        __syncwarp();    // and read before those of the next keys replace them
    }
    for (int distance = 1; distance < KEY_LANES; distance *= 2)
        pair.l += __shfl_xor_sync(0xffffffffu, pair.l, distance);
    wait_begun<CLUSTER>();
    if (lane % KEY_LANES == 0 && row < HEADS)
        *in_block<CLUSTER>(&memory.pair[me][row % OF_BLOCK], row / OF_BLOCK) = pair;
#pragma unroll
    for (int h = 0; h < HEADS; h++) {
        float *to = in_block<CLUSTER>(&memory.sum[me][h % OF_BLOCK][lane * OWN], h / OF_BLOCK);
        if (OWN == 4)
            *(float4 *)to = make_float4(sum[h][0], sum[h][1], sum[h][OWN - 2], sum[h][OWN - 1]);
        else
            *(float2 *)to = make_float2(sum[h][0], sum[h][1]);
    }
    sync_all<CLUSTER>(); // every warp has left what it found, and nobody writes to another block any more
    for (int i = (int)threadIdx.x; i < OF_BLOCK * HEAD_DIM; i += WARPS * LANES) {
        int h = i / HEAD_DIM, d = i % HEAD_DIM;
        float most = -INFINITY, l = 0.0f, all = 0.0f;
#pragma unroll 4
        for (int w = 0; w < CLUSTER * WARPS; w++) most = fmaxf(most, memory.pair[w][h].m);
#pragma unroll 4
        for (int w = 0; w < CLUSTER * WARPS; w++) {
            float factor = exp2f(memory.pair[w][h].m - shift_of(most));
            l += memory.pair[w][h].l * factor;
            all += memory.sum[w][h][d] * factor;
        }
        if (rank * OF_BLOCK + h < heads)
            ((__half *)args.out)[(first_row + rank * OF_BLOCK + h) * HEAD_DIM + d] =
                __float2half(all * factor_of(l));
    }
}

/** Whether the code that this device runs has clusters. */
static int has_clusters(void)
{
    struct cudaFuncAttributes code;
    if (cudaFuncGetAttributes(&code, cluster_kernel<128, HEADS, false>) != cudaSuccess) return 0;
    return code.ptxVersion >= 90 && device_attribute(cudaDevAttrClusterLaunch);
}

template <int HEAD_DIM>
static enum kernel_status launch_clusters(const struct decode_args *args, cudaStream_t stream)
{
    int group = args->heads / args->kv_heads, chunks = divide_up(group, HEADS);
    if (!has_clusters()) {
        dim3 alone(args->kv_heads, chunks, args->batch);
        cluster_kernel<HEAD_DIM, 1, false>
            <<<alone, WARPS * LANES, 0, stream>>>(*args, group, decode_scale(args));
        return launch_status();
    }
    cudaLaunchAttribute cluster = {};
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim.x = HEADS;
    cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(args->kv_heads * HEADS, chunks, args->batch);
    config.blockDim = dim3(WARPS * LANES);
    config.stream = stream;
    config.attrs = &cluster;
    config.numAttrs = 1;
    auto kernel = args->max_len <= HEADS * WARPS * EIGHTS * EIGHT ? cluster_kernel<HEAD_DIM, HEADS, true>
                                                                  : cluster_kernel<HEAD_DIM, HEADS, false>;
    return cudaLaunchKernelEx(&config, kernel, *args, group, decode_scale(args)) == cudaSuccess
               ? KERNEL_OK
               : KERNEL_CUDA_ERROR;
}

enum kernel_status decode_flash_2(const struct decode_args *args, cudaStream_t stream)
{
    enum kernel_status status = decode_flash_2_check(args, 0);
    if (status != KERNEL_OK) return status;
    return args->head_dim == 64 ? launch_clusters<64>(args, stream) : launch_clusters<128>(args, stream);
}
