/**
 * Small kernels whose memory traffic is known, to hold the device in software against the hardware's
 * counters.
 *
 * Every kernel is launched once, with a fixed grid, and its name says what it does; compare_with_ncu.py runs
 * the nvcc build under Nsight Compute, the simtcc build with SIMT_COUNTERS, and writes docs/results/tables/counters_by_kernel.csv.
 *
 * A gather kernel makes one access of interest a thread and writes what it read, so that no compiler can
 * drop, merge or hoist it. Where nvcc is known to merge accesses all the same, the kernel says so. The
 * program also checks every result and exits 1 if one is wrong.
 */
#include "../testing.h"

#include <cuda_fp16.h>

enum {
    BLOCKS = 2,
    THREADS = 64, /* two warps per block */
    COUNT = BLOCKS * THREADS,
    TILE = THREADS * 33, /* floats in a shared tile: one row of 33 a thread at most */
    ELEMS = COUNT * 64,  /* elements of every input buffer */
    VALUES = 97,         /* input[j] is j % 97: exact in every type, and in every sum made here */

    MATRIX = 64, /* side of the transposed matrices */
    TRANSPOSE_TILE = 32,

    ROWS = 8, /* softmax */
    COLUMNS = 256,
    ROW_THREADS = 128,

    HEADS = 32, /* decode: one query against a cache of 291 keys, Qwen3-8B's heads */
    KV_HEADS = 8,
    HEAD_DIM = 128,
    KV_LEN = 291,
    DECODE_THREADS = 256,
};

static __device__ int global_index()
{
    return (int)(blockIdx.x * blockDim.x + threadIdx.x);
}

static __device__ float sum2(float2 v)
{
    return v.x + v.y;
}
static __device__ float sum4(float4 v)
{
    return v.x + v.y + v.z + v.w;
}

/* ---- global loads */

static __global__ void load_coalesced_kernel(const float *in, float *out)
{
    const int i = global_index();
    out[i] = in[i];
}

static __global__ void load_reversed_kernel(const float *in, float *out)
{
    const int i = global_index();
    out[i] = in[COUNT - 1 - i];
}

static __global__ void load_stride_2_kernel(const float *in, float *out)
{
    const int i = global_index();
    out[i] = in[2 * i];
}

static __global__ void load_stride_8_kernel(const float *in, float *out)
{
    const int i = global_index();
    out[i] = in[8 * i];
}

static __global__ void load_stride_32_kernel(const float *in, float *out)
{
    const int i = global_index();
    out[i] = in[32 * i];
}

static __global__ void load_misaligned_by_one_float_kernel(const float *in, float *out)
{
    const int i = global_index();
    out[i] = in[i + 1];
}

static __global__ void load_broadcast_kernel(const float *in, float *out, int where)
{
    out[global_index()] = in[where + (int)(threadIdx.x >> 8)];
}

static __global__ void load_ldg_kernel(const float *__restrict__ in, float *__restrict__ out)
{
    const int i = global_index();
    out[i] = __ldg(in + i);
}

static __global__ void load_17_lanes_kernel(const float *in, float *out)
{
    const int i = global_index();
    if (i % 32 < 17) out[i] = in[i];
}

static __global__ void load_odd_lanes_kernel(const float *in, float *out)
{
    const int i = global_index();
    if (i % 2 == 1) out[i] = in[i];
}

static __global__ void load_byte_kernel(const unsigned char *in, float *out)
{
    const int i = global_index();
    out[i] = (float)in[i];
}

static __global__ void load_half_kernel(const half *in, float *out)
{
    const int i = global_index();
    out[i] = __half2float(in[i]);
}

static __global__ void load_half2_kernel(const half2 *in, float *out)
{
    const int i = global_index();
    out[i] = sum2(__half22float2(in[i]));
}

static __global__ void load_double_kernel(const double *in, float *out)
{
    const int i = global_index();
    out[i] = (float)in[i];
}

static __global__ void load_double_stride_4_kernel(const double *in, float *out)
{
    const int i = global_index();
    out[i] = (float)in[4 * i];
}

static __global__ void load_float2_coalesced_kernel(const float2 *in, float *out)
{
    const int i = global_index();
    out[i] = sum2(in[i]);
}

/* Lanes 0 and 16, 1 and 17, ... share a sector although they are in different half warps. */
static __global__ void load_float2_sector_across_halves_kernel(const float2 *in, float *out)
{
    const int i = global_index();
    out[i] = sum2(in[i % 16 * 4 + i % 32 / 16]);
}

static __global__ void load_float2_permuted_kernel(const float2 *in, float *out)
{
    const int i = global_index();
    out[i] = sum2(in[i / 32 * 32 + i * 5 % 32]);
}

static __global__ void load_float4_coalesced_kernel(const float4 *in, float *out)
{
    const int i = global_index();
    out[i] = sum4(in[i]);
}

static __global__ void load_float4_stride_2_kernel(const float4 *in, float *out)
{
    const int i = global_index();
    out[i] = sum4(in[2 * i]);
}

static __global__ void load_float4_broadcast_kernel(const float4 *in, float *out, int where)
{
    out[global_index()] = sum4(in[where + (int)(threadIdx.x >> 8)]);
}

/* A row of 256 bytes per lane, as in a product of a query with rows of K. */
static __global__ void load_float4_own_row_kernel(const float4 *in, float *out)
{
    const int i = global_index();
    out[i] = sum4(in[16 * i]);
}

/* All four quarter warps read the same 128 bytes. */
static __global__ void load_float4_same_quarters_kernel(const float4 *in, float *out)
{
    const int i = global_index();
    out[i] = sum4(in[i % 8]);
}

/* Lanes 0 and 16, 1 and 17, ... share a sector although they are in different quarter warps. */
static __global__ void load_float4_sector_across_quarters_kernel(const float4 *in, float *out)
{
    const int i = global_index();
    out[i] = sum4(in[i % 16 * 2 + i % 32 / 16]);
}

static __global__ void load_float4_permuted_kernel(const float4 *in, float *out)
{
    const int i = global_index();
    out[i] = sum4(in[i / 32 * 32 + i * 5 % 32]);
}

static __global__ void load_float4_17_lanes_kernel(const float4 *in, float *out)
{
    const int i = global_index();
    if (i % 32 < 17) out[i] = sum4(in[i]);
}

/* Two sites of load: the sums after them differ, so that neither compiler makes one load of both. */
static __global__ void load_divergent_two_sites_kernel(const float *in, const float *other, float *out)
{
    const int i = global_index();
    float result;
    if (i % 2 == 0) {
        result = in[i] + 1.0f;
    } else {
        result = sqrtf(other[i]);
    }
    out[i] = result;
}

static __global__ void load_trip_count_by_lane_kernel(const float *in, float *out)
{
    const int i = global_index();
    float sum = 0.0f;
#pragma unroll 1
    for (int k = 0; k <= i % 4; k++) sum += in[i + k * COUNT];
    out[i] = sum;
}

/*
 * A loop in a loop that lanes leave at different points; behind it hardware puts them together again, so that
 * step y of a row is one load and one store of the lanes that take it. In an array of 8 rows of 128 floats a lane
 * has four columns, of which it copies four, three, two or one: not as many as the lane that shares its sector.
 */
static __global__ void copy_loop_left_early_kernel(const float *in, float *out)
{
    const int i = global_index(), lane = i % 32, count = 4 - lane % 4;
    const int first = i / 32 * 1024 + 4 * lane;
#pragma unroll 1
    for (int row = 0; row < 8; row++)
#pragma unroll 1
        for (int y = 0; y < count; y++) out[first + row * 128 + y] = in[first + row * 128 + y];
}

/* A warp copies 8 rows of 44 floats: 32 at a time, then the 12 that are left. */
static __global__ void copy_rows_of_44_kernel(const float *in, float *out)
{
    const int i = global_index(), first = i / 32 * 352;
#pragma unroll 1
    for (int row = 0; row < 8; row++)
#pragma unroll 1
        for (int column = i % 32; column < 44; column += 32)
            out[first + row * 44 + column] = in[first + row * 44 + column];
}

/* Steps of another length in each lane: the n-th load of a lane goes with the n-th of the others. */
static __global__ void load_steps_by_lane_kernel(const float *in, float *out)
{
    const int i = global_index();
    float sum = 0.0f;
#pragma unroll 1
    for (int k = 0; k < 64; k += i % 32 + 1) sum += in[k];
    out[i] = sum;
}

/* ---- global stores */

static __global__ void store_stride_2_kernel(const float *in, float *out)
{
    const int i = global_index();
    out[2 * i] = in[i];
}

static __global__ void store_stride_8_kernel(const float *in, float *out)
{
    const int i = global_index();
    out[8 * i] = in[i];
}

static __global__ void store_misaligned_by_one_float_kernel(const float *in, float *out)
{
    const int i = global_index();
    out[i + 1] = in[i];
}

static __global__ void store_byte_kernel(const float *in, unsigned char *out)
{
    const int i = global_index();
    out[i] = (unsigned char)in[i];
}

static __global__ void store_half_kernel(const float *in, half *out)
{
    const int i = global_index();
    out[i] = __float2half(in[i]);
}

static __global__ void store_float2_coalesced_kernel(const float *in, float2 *out)
{
    const int i = global_index();
    out[i] = make_float2(in[i], in[i + COUNT]);
}

static __global__ void store_float4_coalesced_kernel(const float *in, float4 *out)
{
    const int i = global_index();
    out[i] = make_float4(in[i], in[i + COUNT], in[i + 2 * COUNT], in[i + 3 * COUNT]);
}

static __global__ void store_float4_permuted_kernel(const float *in, float4 *out)
{
    const int i = global_index();
    out[i / 32 * 32 + i * 5 % 32] = make_float4(in[i], in[i + COUNT], in[i + 2 * COUNT], in[i + 3 * COUNT]);
}

static __global__ void store_float4_own_row_kernel(const float *in, float4 *out)
{
    const int i = global_index();
    out[8 * i] = make_float4(in[i], in[i + COUNT], in[i + 2 * COUNT], in[i + 3 * COUNT]);
}

static __global__ void store_17_lanes_kernel(const float *in, float *out)
{
    const int i = global_index();
    if (i % 32 < 17) out[i] = in[i];
}

/* ---- shared loads */

/* Copies the whole tile with conflict-free stores: 33 wavefronts per warp, in every kernel below. */
static __device__ void fill_tile(float *tile, const float *in)
{
#pragma unroll 1
    for (int k = (int)threadIdx.x; k < TILE; k += THREADS) tile[k] = in[k];
    __syncthreads(); /* the tile is read by other threads than those that wrote it */
}

static __global__ void shared_load_conflict_free_kernel(const float *in, float *out)
{
    __shared__ float tile[TILE];
    fill_tile(tile, in);
    out[global_index()] = tile[threadIdx.x];
}

static __global__ void shared_load_stride_2_kernel(const float *in, float *out)
{
    __shared__ float tile[TILE];
    fill_tile(tile, in);
    out[global_index()] = tile[2 * threadIdx.x];
}

static __global__ void shared_load_stride_4_kernel(const float *in, float *out)
{
    __shared__ float tile[TILE];
    fill_tile(tile, in);
    out[global_index()] = tile[4 * threadIdx.x];
}

static __global__ void shared_load_column_unpadded_kernel(const float *in, float *out)
{
    __shared__ float tile[TILE];
    fill_tile(tile, in);
    out[global_index()] = tile[32 * threadIdx.x];
}

static __global__ void shared_load_column_padded_kernel(const float *in, float *out)
{
    __shared__ float tile[TILE];
    fill_tile(tile, in);
    out[global_index()] = tile[33 * threadIdx.x];
}

static __global__ void shared_load_broadcast_kernel(const float *in, float *out, int where)
{
    __shared__ float tile[TILE];
    fill_tile(tile, in);
    out[global_index()] = tile[where + (int)(threadIdx.x >> 8)];
}

/* Two addresses in one bank, each read by half the warp. */
static __global__ void shared_load_two_broadcasts_kernel(const float *in, float *out)
{
    __shared__ float tile[TILE];
    fill_tile(tile, in);
    out[global_index()] = tile[threadIdx.x % 32 / 16 * 32];
}

static __global__ void shared_load_17_lanes_kernel(const float *in, float *out)
{
    __shared__ float tile[TILE];
    fill_tile(tile, in);
    if (threadIdx.x % 32 < 17) out[global_index()] = tile[threadIdx.x];
}

static __global__ void shared_load_column_17_lanes_kernel(const float *in, float *out)
{
    __shared__ float tile[TILE];
    fill_tile(tile, in);
    if (threadIdx.x % 32 < 17) out[global_index()] = tile[32 * threadIdx.x];
}

static __global__ void shared_load_divergent_two_sites_kernel(const float *in, float *out)
{
    __shared__ float tile[TILE];
    fill_tile(tile, in);
    float result;
    if (threadIdx.x % 2 == 0) {
        result = tile[threadIdx.x] + 1.0f;
    } else {
        result = sqrtf(tile[32 * threadIdx.x]);
    }
    out[global_index()] = result;
}

static __global__ void shared_load_byte_kernel(const float *in, float *out)
{
    __shared__ unsigned char bytes[THREADS];
    bytes[threadIdx.x] = (unsigned char)in[threadIdx.x];
    __syncthreads(); /* bytes of the other threads are read below */
    out[global_index()] = (float)bytes[threadIdx.x ^ 1];
}

static __global__ void shared_load_half_kernel(const float *in, float *out)
{
    __shared__ half halves[THREADS];
    halves[threadIdx.x] = __float2half(in[threadIdx.x]);
    __syncthreads(); /* halves of the other threads are read below */
    out[global_index()] = __half2float(halves[threadIdx.x ^ 1]);
}

static __global__ void shared_load_double_kernel(const float *in, float *out)
{
    __shared__ double doubles[THREADS];
    doubles[threadIdx.x] = (double)in[threadIdx.x];
    __syncthreads(); /* doubles of the other threads are read below */
    out[global_index()] = (float)doubles[threadIdx.x ^ 1];
}

/* ---- shared loads of 64 bits: index counts float2 */

static __device__ float tile_float2(const float *tile, unsigned index)
{
    return sum2(reinterpret_cast<const float2 *>(tile)[index]);
}

static __global__ void shared_load_float2_conflict_free_kernel(const float *in, float *out)
{
    __shared__ __align__(16) float tile[TILE];
    fill_tile(tile, in);
    out[global_index()] = tile_float2(tile, threadIdx.x);
}

static __global__ void shared_load_float2_stride_2_kernel(const float *in, float *out)
{
    __shared__ __align__(16) float tile[TILE];
    fill_tile(tile, in);
    out[global_index()] = tile_float2(tile, 2 * threadIdx.x);
}

static __global__ void shared_load_float2_column_kernel(const float *in, float *out)
{
    __shared__ __align__(16) float tile[TILE];
    fill_tile(tile, in);
    out[global_index()] = tile_float2(tile, 16 * threadIdx.x);
}

static __global__ void shared_load_float2_broadcast_kernel(const float *in, float *out, int where)
{
    __shared__ __align__(16) float tile[TILE];
    fill_tile(tile, in);
    out[global_index()] = tile_float2(tile, (unsigned)where + (threadIdx.x >> 8));
}

/* Neighbouring lanes read the same pair: 128 bytes in all. */
static __global__ void shared_load_float2_pairs_kernel(const float *in, float *out)
{
    __shared__ __align__(16) float tile[TILE];
    fill_tile(tile, in);
    out[global_index()] = tile_float2(tile, threadIdx.x / 2);
}

/* Both half warps read the same 128 bytes. */
static __global__ void shared_load_float2_same_halves_kernel(const float *in, float *out)
{
    __shared__ __align__(16) float tile[TILE];
    fill_tile(tile, in);
    out[global_index()] = tile_float2(tile, threadIdx.x % 16);
}

/* Free of conflicts within even and within odd lanes, but not within a half warp. */
static __global__ void shared_load_float2_interleaved_kernel(const float *in, float *out)
{
    __shared__ __align__(16) float tile[TILE];
    fill_tile(tile, in);
    out[global_index()] = tile_float2(tile, threadIdx.x % 32 / 2 + threadIdx.x % 2 * 16);
}

static __global__ void shared_load_float2_17_lanes_kernel(const float *in, float *out)
{
    __shared__ __align__(16) float tile[TILE];
    fill_tile(tile, in);
    if (threadIdx.x % 32 < 17) out[global_index()] = tile_float2(tile, threadIdx.x);
}

/* Sixteen lanes, eight in each half warp, in sixteen different pairs of banks. */
static __global__ void shared_load_float2_even_lanes_kernel(const float *in, float *out)
{
    __shared__ __align__(16) float tile[TILE];
    fill_tile(tile, in);
    if (threadIdx.x % 2 == 0) out[global_index()] = tile_float2(tile, threadIdx.x / 2);
}

/* Lanes i and i ^ 2 read the same pair: 128 bytes in all. */
static __global__ void shared_load_float2_pairs_of_two_kernel(const float *in, float *out)
{
    __shared__ __align__(16) float tile[TILE];
    fill_tile(tile, in);
    out[global_index()] = tile_float2(tile, threadIdx.x % 2 + threadIdx.x % 32 / 4 * 2);
}

/* ---- shared loads of 128 bits: index counts float4 */

static __device__ float tile_float4(const float *tile, unsigned index)
{
    return sum4(reinterpret_cast<const float4 *>(tile)[index]);
}

static __global__ void shared_load_float4_conflict_free_kernel(const float *in, float *out)
{
    __shared__ __align__(16) float tile[TILE];
    fill_tile(tile, in);
    out[global_index()] = tile_float4(tile, threadIdx.x);
}

static __global__ void shared_load_float4_stride_2_kernel(const float *in, float *out)
{
    __shared__ __align__(16) float tile[TILE];
    fill_tile(tile, in);
    out[global_index()] = tile_float4(tile, 2 * threadIdx.x);
}

static __global__ void shared_load_float4_column_kernel(const float *in, float *out)
{
    __shared__ __align__(16) float tile[TILE];
    fill_tile(tile, in);
    out[global_index()] = tile_float4(tile, 8 * threadIdx.x);
}

static __global__ void shared_load_float4_broadcast_kernel(const float *in, float *out, int where)
{
    __shared__ __align__(16) float tile[TILE];
    fill_tile(tile, in);
    out[global_index()] = tile_float4(tile, (unsigned)where + (threadIdx.x >> 8));
}

static __global__ void shared_load_float4_pairs_kernel(const float *in, float *out)
{
    __shared__ __align__(16) float tile[TILE];
    fill_tile(tile, in);
    out[global_index()] = tile_float4(tile, threadIdx.x / 2);
}

/* All four quarter warps read the same 128 bytes. */
static __global__ void shared_load_float4_same_quarters_kernel(const float *in, float *out)
{
    __shared__ __align__(16) float tile[TILE];
    fill_tile(tile, in);
    out[global_index()] = tile_float4(tile, threadIdx.x % 8);
}

/* Four addresses, each read by one quarter warp. */
static __global__ void shared_load_float4_quarter_each_kernel(const float *in, float *out)
{
    __shared__ __align__(16) float tile[TILE];
    fill_tile(tile, in);
    out[global_index()] = tile_float4(tile, threadIdx.x % 32 / 8);
}

/* Free of conflicts within lanes 0, 4, 8, ... and so on, but not within a quarter warp. */
static __global__ void shared_load_float4_interleaved_kernel(const float *in, float *out)
{
    __shared__ __align__(16) float tile[TILE];
    fill_tile(tile, in);
    out[global_index()] = tile_float4(tile, threadIdx.x % 32 / 4 + threadIdx.x % 4 * 8);
}

static __global__ void shared_load_float4_17_lanes_kernel(const float *in, float *out)
{
    __shared__ __align__(16) float tile[TILE];
    fill_tile(tile, in);
    if (threadIdx.x % 32 < 17) out[global_index()] = tile_float4(tile, threadIdx.x);
}

/* Eight lanes, two in each quarter warp, in eight different quadruples of banks. */
static __global__ void shared_load_float4_every_fourth_lane_kernel(const float *in, float *out)
{
    __shared__ __align__(16) float tile[TILE];
    fill_tile(tile, in);
    if (threadIdx.x % 4 == 0) out[global_index()] = tile_float4(tile, threadIdx.x / 4);
}

/* Lanes i and i ^ 2 read the same address. */
static __global__ void shared_load_float4_pairs_of_two_kernel(const float *in, float *out)
{
    __shared__ __align__(16) float tile[TILE];
    fill_tile(tile, in);
    out[global_index()] = tile_float4(tile, threadIdx.x % 2 + threadIdx.x % 32 / 4 * 2);
}

/* Lanes i and i ^ 4 read the same address. */
static __global__ void shared_load_float4_pairs_of_four_kernel(const float *in, float *out)
{
    __shared__ __align__(16) float tile[TILE];
    fill_tile(tile, in);
    out[global_index()] = tile_float4(tile, threadIdx.x % 4 + threadIdx.x % 32 / 8 * 4);
}

/* Neighbouring lanes read the same address in the first half warp only. */
static __global__ void shared_load_float4_pairs_in_one_half_kernel(const float *in, float *out)
{
    __shared__ __align__(16) float tile[TILE];
    fill_tile(tile, in);
    const unsigned lane = threadIdx.x % 32;
    out[global_index()] = tile_float4(tile, lane < 16 ? lane / 2 : lane);
}

/* ---- shared stores: the tile is then read back without conflicts, 33 wavefronts per warp */

static __device__ void sum_tile(const float *tile, float *out)
{
    float sum = 0.0f;
    __syncthreads(); /* a thread sums what others wrote */
#pragma unroll 1
    for (int k = (int)threadIdx.x; k < TILE; k += THREADS) sum += tile[k];
    out[global_index()] = sum;
}

static __device__ void clear_tile(float *tile)
{
#pragma unroll 1
    for (int k = (int)threadIdx.x; k < TILE; k += THREADS) tile[k] = 0.0f;
    __syncthreads(); /* the kernel's own stores come after these */
}

static __global__ void shared_store_conflict_free_kernel(const float *in, float *out)
{
    __shared__ float tile[TILE];
    clear_tile(tile);
    tile[threadIdx.x] = in[global_index()];
    sum_tile(tile, out);
}

static __global__ void shared_store_stride_2_kernel(const float *in, float *out)
{
    __shared__ float tile[TILE];
    clear_tile(tile);
    tile[2 * threadIdx.x] = in[global_index()];
    sum_tile(tile, out);
}

static __global__ void shared_store_column_unpadded_kernel(const float *in, float *out)
{
    __shared__ float tile[TILE];
    clear_tile(tile);
    tile[32 * threadIdx.x] = in[global_index()];
    sum_tile(tile, out);
}

static __global__ void shared_store_column_padded_kernel(const float *in, float *out)
{
    __shared__ float tile[TILE];
    clear_tile(tile);
    tile[33 * threadIdx.x] = in[global_index()];
    sum_tile(tile, out);
}

static __global__ void shared_store_17_lanes_kernel(const float *in, float *out)
{
    __shared__ float tile[TILE];
    clear_tile(tile);
    if (threadIdx.x % 32 < 17) tile[32 * threadIdx.x] = in[global_index()];
    sum_tile(tile, out);
}

static __global__ void shared_store_float2_conflict_free_kernel(const float2 *in, float *out)
{
    __shared__ __align__(16) float tile[TILE];
    clear_tile(tile);
    reinterpret_cast<float2 *>(tile)[threadIdx.x] = in[global_index()];
    sum_tile(tile, out);
}

static __global__ void shared_store_float2_stride_2_kernel(const float2 *in, float *out)
{
    __shared__ __align__(16) float tile[TILE];
    clear_tile(tile);
    reinterpret_cast<float2 *>(tile)[2 * threadIdx.x] = in[global_index()];
    sum_tile(tile, out);
}

static __global__ void shared_store_float2_interleaved_kernel(const float2 *in, float *out)
{
    __shared__ __align__(16) float tile[TILE];
    clear_tile(tile);
    reinterpret_cast<float2 *>(tile)[threadIdx.x / 32 * 32 + threadIdx.x % 32 / 2 + threadIdx.x % 2 * 16] =
        in[global_index()];
    sum_tile(tile, out);
}

static __global__ void shared_store_float4_conflict_free_kernel(const float4 *in, float *out)
{
    __shared__ __align__(16) float tile[TILE];
    clear_tile(tile);
    reinterpret_cast<float4 *>(tile)[threadIdx.x] = in[global_index()];
    sum_tile(tile, out);
}

static __global__ void shared_store_float4_stride_2_kernel(const float4 *in, float *out)
{
    __shared__ __align__(16) float tile[TILE];
    clear_tile(tile);
    reinterpret_cast<float4 *>(tile)[2 * threadIdx.x] = in[global_index()];
    sum_tile(tile, out);
}

static __global__ void shared_store_float4_column_kernel(const float4 *in, float *out)
{
    __shared__ __align__(16) float tile[TILE];
    clear_tile(tile);
    reinterpret_cast<float4 *>(tile)[8 * threadIdx.x] = in[global_index()];
    sum_tile(tile, out);
}

static __global__ void shared_store_float4_interleaved_kernel(const float4 *in, float *out)
{
    __shared__ __align__(16) float tile[TILE];
    clear_tile(tile);
    reinterpret_cast<float4 *>(tile)[threadIdx.x / 32 * 32 + threadIdx.x % 32 / 4 + threadIdx.x % 4 * 8] =
        in[global_index()];
    sum_tile(tile, out);
}

static __global__ void shared_store_float2_even_lanes_kernel(const float2 *in, float *out)
{
    __shared__ __align__(16) float tile[TILE];
    clear_tile(tile);
    if (threadIdx.x % 2 == 0) reinterpret_cast<float2 *>(tile)[threadIdx.x / 2] = in[global_index()];
    sum_tile(tile, out);
}

static __global__ void shared_store_float4_every_fourth_lane_kernel(const float4 *in, float *out)
{
    __shared__ __align__(16) float tile[TILE];
    clear_tile(tile);
    if (threadIdx.x % 4 == 0) reinterpret_cast<float4 *>(tile)[threadIdx.x / 4] = in[global_index()];
    sum_tile(tile, out);
}

/* ---- atomics and barriers */

/* Not an integer atomicAdd: nvcc would add up the warp first (REDUX) and send one atomic for all lanes. */
static __global__ void global_atomic_same_address_kernel(const float *in, float *out)
{
    atomicAdd(out, in[global_index()]);
}

static __global__ void global_atomic_own_address_kernel(const float *in, int *out)
{
    const int i = global_index();
    atomicAdd(out + i, (int)in[i]);
}

static __global__ void global_atomic_float_kernel(const float *in, float *out)
{
    const int i = global_index();
    atomicAdd(out + i / 4, in[i]);
}

static __global__ void global_atomic_with_result_kernel(const float *in, int *out)
{
    const int i = global_index();
    out[COUNT + i] = atomicAdd(out + i, (int)in[i]);
}

static __global__ void shared_atomic_own_address_kernel(const float *in, float *out)
{
    __shared__ int counts[THREADS];
    counts[threadIdx.x] = 0;
    __syncthreads(); /* cleared before anyone adds */
    atomicAdd(&counts[threadIdx.x ^ 1], (int)in[global_index()]);
    __syncthreads(); /* all additions are in */
    out[global_index()] = (float)counts[threadIdx.x ^ 1];
}

static __global__ void shared_atomic_four_addresses_kernel(const float *in, float *out)
{
    __shared__ int counts[4];
    if (threadIdx.x < 4) counts[threadIdx.x] = 0;
    __syncthreads(); /* cleared before anyone adds */
    atomicAdd(&counts[threadIdx.x % 4], (int)in[global_index()]);
    __syncthreads(); /* all additions are in */
    out[global_index()] = (float)counts[threadIdx.x % 4];
}

static __global__ void three_barriers_kernel(const float *in, float *out)
{
    __shared__ float tile[THREADS];
    tile[threadIdx.x] = in[global_index()];
    __syncthreads(); /* the neighbour's value is there */
    const float neighbour = tile[threadIdx.x ^ 33];
    __syncthreads(); /* everyone has read before anyone writes */
    tile[threadIdx.x] = neighbour;
    __syncthreads(); /* the exchanged values are there */
    out[global_index()] = tile[threadIdx.x ^ 33];
}

/* ---- whole kernels */

static __global__ void copy_grid_stride_kernel(const float *in, float *out)
{
#pragma unroll 1
    for (int i = global_index(); i < ELEMS; i += COUNT) out[i] = in[i];
}

static __global__ void transpose_naive_kernel(const float *in, /* [MATRIX, MATRIX] */
                                              float *out)      /* [MATRIX, MATRIX] */
{
    const unsigned row = blockIdx.y * TRANSPOSE_TILE + threadIdx.y,
                   column = blockIdx.x * TRANSPOSE_TILE + threadIdx.x;
    out[column * MATRIX + row] = in[row * MATRIX + column];
}

static __global__ void transpose_shared_unpadded_kernel(const float *in, float *out)
{
    __shared__ float tile[TRANSPOSE_TILE][TRANSPOSE_TILE];
    const unsigned x = blockIdx.x * TRANSPOSE_TILE, y = blockIdx.y * TRANSPOSE_TILE;
    tile[threadIdx.y][threadIdx.x] = in[(y + threadIdx.y) * MATRIX + x + threadIdx.x];
    __syncthreads(); /* columns are read by other threads than wrote the rows */
    out[(x + threadIdx.y) * MATRIX + y + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}

static __global__ void transpose_shared_padded_kernel(const float *in, float *out)
{
    __shared__ float tile[TRANSPOSE_TILE][TRANSPOSE_TILE + 1];
    const unsigned x = blockIdx.x * TRANSPOSE_TILE, y = blockIdx.y * TRANSPOSE_TILE;
    tile[threadIdx.y][threadIdx.x] = in[(y + threadIdx.y) * MATRIX + x + threadIdx.x];
    __syncthreads(); /* columns are read by other threads than wrote the rows */
    out[(x + threadIdx.y) * MATRIX + y + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}

static __device__ float maximum(float a, float b)
{
    return fmaxf(a, b);
}
static __device__ float add(float a, float b)
{
    return a + b;
}

/* Tree over one value a thread; every thread gets the result. blockDim.x is a power of two. */
template <float (*combine)(float, float)> static __device__ float reduce_block(float value, float *scratch)
{
    scratch[threadIdx.x] = value;
    for (unsigned step = blockDim.x / 2; step > 0; step /= 2) {
        __syncthreads(); /* the upper half is complete */
        if (threadIdx.x < step)
            scratch[threadIdx.x] = combine(scratch[threadIdx.x], scratch[threadIdx.x + step]);
    }
    __syncthreads(); /* the result is there */
    const float result = scratch[0];
    __syncthreads(); /* everyone has it before scratch is used again */
    return result;
}

static __global__ void softmax_rows_kernel(const float *in, /* [ROWS, COLUMNS] */
                                           float *out)      /* [ROWS, COLUMNS] */
{
    __shared__ float scratch[ROW_THREADS];
    const float *row = in + (size_t)blockIdx.x * COLUMNS;
    float *out_row = out + (size_t)blockIdx.x * COLUMNS;
    float peak = -INFINITY, sum = 0.0f;
#pragma unroll 1
    for (unsigned c = threadIdx.x; c < COLUMNS; c += ROW_THREADS) peak = fmaxf(peak, row[c]);
    peak = reduce_block<maximum>(peak, scratch);
#pragma unroll 1
    for (unsigned c = threadIdx.x; c < COLUMNS; c += ROW_THREADS) sum += expf(row[c] - peak);
    sum = reduce_block<add>(sum, scratch);
#pragma unroll 1
    for (unsigned c = threadIdx.x; c < COLUMNS; c += ROW_THREADS) out_row[c] = expf(row[c] - peak) / sum;
}

/* q·k for one key a thread: 64 loads of 32 bits, or 16 of 128 bits. */
static __device__ float dot_half2(const half *q, const half *k)
{
    const half2 *q2 = reinterpret_cast<const half2 *>(q), *k2 = reinterpret_cast<const half2 *>(k);
    float sum = 0.0f;
    for (int d = 0; d < HEAD_DIM / 2; d++) {
        const float2 a = __half22float2(q2[d]), b = __half22float2(k2[d]);
        sum += a.x * b.x + a.y * b.y;
    }
    return sum;
}

static __device__ float dot_float4(const half *q, const half *k)
{
    const float4 *q4 = reinterpret_cast<const float4 *>(q), *k4 = reinterpret_cast<const float4 *>(k);
    float sum = 0.0f;
    for (int d = 0; d < HEAD_DIM / 8; d++) {
        const float4 a = q4[d], b = k4[d];
        const half2 *a2 = reinterpret_cast<const half2 *>(&a), *b2 = reinterpret_cast<const half2 *>(&b);
        for (int i = 0; i < 4; i++) {
            const float2 x = __half22float2(a2[i]), y = __half22float2(b2[i]);
            sum += x.x * y.x + x.y * y.y;
        }
    }
    return sum;
}

/* One block per query head: scores by one thread per key, softmax, output by one thread per dimension. */
template <float (*dot)(const half *, const half *)>
static __device__ void decode(const half *q, /*         [HEADS, HEAD_DIM] */
                              const half *k, /* [KV_LEN, KV_HEADS, HEAD_DIM] */
                              const half *v, /* [KV_LEN, KV_HEADS, HEAD_DIM] */
                              half *out)     /*         [HEADS, HEAD_DIM] */
{
    __shared__ __align__(16) half query[HEAD_DIM];
    __shared__ float scores[KV_LEN];
    __shared__ float scratch[DECODE_THREADS];
    const size_t head = blockIdx.x, kv_row = (size_t)KV_HEADS * HEAD_DIM;
    const size_t kv_head = head / (HEADS / KV_HEADS) * HEAD_DIM;
    if (threadIdx.x < HEAD_DIM) query[threadIdx.x] = q[head * HEAD_DIM + threadIdx.x];
    __syncthreads(); /* the whole query is there */

    float peak = -INFINITY, sum = 0.0f;
    for (int j = (int)threadIdx.x; j < KV_LEN; j += DECODE_THREADS) {
        scores[j] = dot(query, k + j * kv_row + kv_head) * 0.0883883476f;
        peak = fmaxf(peak, scores[j]);
    }
    peak = reduce_block<maximum>(peak, scratch);
    for (int j = (int)threadIdx.x; j < KV_LEN; j += DECODE_THREADS) {
        scores[j] = expf(scores[j] - peak);
        sum += scores[j];
    }
    sum = reduce_block<add>(sum, scratch); /* its barriers also publish the scores */

    if (threadIdx.x < HEAD_DIM) {
        float value = 0.0f;
        for (int j = 0; j < KV_LEN; j++)
            value += scores[j] * __half2float(v[j * kv_row + kv_head + threadIdx.x]);
        out[head * HEAD_DIM + threadIdx.x] = __float2half(value / sum);
    }
}

static __global__ void decode_k_as_half2_kernel(const half *q, const half *k, const half *v, half *out)
{
    decode<dot_half2>(q, k, v, out);
}

static __global__ void decode_k_as_float4_kernel(const half *q, const half *k, const half *v, half *out)
{
    decode<dot_float4>(q, k, v, out);
}

/* ---- host */

/* On the device; element j of each input holds j % VALUES. */
static float *g_in_float;        /* [ELEMS] */
static half *g_in_half;          /* [ELEMS] */
static double *g_in_double;      /* [ELEMS] */
static unsigned char *g_in_byte; /* [ELEMS] */
static float *g_out;             /* [ELEMS] */
static float g_host[ELEMS];

static float value(int j)
{
    return (float)(j % VALUES);
}

/* Waits for the kernel, brings its output to g_host and clears the output for the next one. */
static void collect(const char *kernel)
{
    finish_launch(kernel);
    download(g_host, g_out, ELEMS);
    require(cudaMemset(g_out, 0, sizeof g_host), "cudaMemset");
}

/* out[i] is the sum of `width` neighbouring input elements, the group with number source(i); -1: untouched.
 */
static void expect(const char *kernel, int width, int (*source)(int))
{
    collect(kernel);
    for (int i = 0; i < COUNT; i++) {
        float expected = 0.0f;
        for (int w = 0; w < width && source(i) >= 0; w++) expected += value(source(i) * width + w);
        expect_close(kernel, i, g_host[i], expected, 0.0);
    }
}

/* out[destination(i)] is in[source(i)] for i < count. */
static void expect_at(const char *kernel, int count, int (*destination)(int), int (*source)(int))
{
    collect(kernel);
    for (int i = 0; i < count; i++) expect_close(kernel, i, g_host[destination(i)], value(source(i)), 0.0);
}

/* The sum over all of out is that of the first `count` input elements that `counted` accepts. */
static void expect_sum(const char *kernel, int count, int (*counted)(int))
{
    double got = 0.0, expected = 0.0;
    collect(kernel);
    for (int i = 0; i < ELEMS; i++) got += g_host[i];
    for (int i = 0; i < count; i++) expected += counted(i) ? value(i) : 0.0;
    expect_close(kernel, 0, got, expected, 0.0);
}

static int always(int)
{
    return 1;
}
static int same(int i)
{
    return i;
}

static void run_scalar_loads(void)
{
    const float *in = g_in_float;
    load_coalesced_kernel<<<BLOCKS, THREADS>>>(in, g_out);
    expect("load_coalesced", 1, same);
    load_reversed_kernel<<<BLOCKS, THREADS>>>(in, g_out);
    expect("load_reversed", 1, [](int i) { return COUNT - 1 - i; });
    load_stride_2_kernel<<<BLOCKS, THREADS>>>(in, g_out);
    expect("load_stride_2", 1, [](int i) { return 2 * i; });
    load_stride_8_kernel<<<BLOCKS, THREADS>>>(in, g_out);
    expect("load_stride_8", 1, [](int i) { return 8 * i; });
    load_stride_32_kernel<<<BLOCKS, THREADS>>>(in, g_out);
    expect("load_stride_32", 1, [](int i) { return 32 * i; });
    load_misaligned_by_one_float_kernel<<<BLOCKS, THREADS>>>(in, g_out);
    expect("load_misaligned_by_one_float", 1, [](int i) { return i + 1; });
    load_broadcast_kernel<<<BLOCKS, THREADS>>>(in, g_out, 5);
    expect("load_broadcast", 1, [](int) { return 5; });
    load_ldg_kernel<<<BLOCKS, THREADS>>>(in, g_out);
    expect("load_ldg", 1, same);
    load_17_lanes_kernel<<<BLOCKS, THREADS>>>(in, g_out);
    expect("load_17_lanes", 1, [](int i) { return i % 32 < 17 ? i : -1; });
    load_odd_lanes_kernel<<<BLOCKS, THREADS>>>(in, g_out);
    expect("load_odd_lanes", 1, [](int i) { return i % 2 ? i : -1; });
    load_byte_kernel<<<BLOCKS, THREADS>>>(g_in_byte, g_out);
    expect("load_byte", 1, same);
    load_half_kernel<<<BLOCKS, THREADS>>>(g_in_half, g_out);
    expect("load_half", 1, same);
    load_half2_kernel<<<BLOCKS, THREADS>>>((const half2 *)g_in_half, g_out);
    expect("load_half2", 2, same);
    load_double_kernel<<<BLOCKS, THREADS>>>(g_in_double, g_out);
    expect("load_double", 1, same);
    load_double_stride_4_kernel<<<BLOCKS, THREADS>>>(g_in_double, g_out);
    expect("load_double_stride_4", 1, [](int i) { return 4 * i; });
}

static void run_vector_loads(void)
{
    const float2 *in2 = (const float2 *)g_in_float;
    const float4 *in4 = (const float4 *)g_in_float;
    load_float2_coalesced_kernel<<<BLOCKS, THREADS>>>(in2, g_out);
    expect("load_float2_coalesced", 2, same);
    load_float2_sector_across_halves_kernel<<<BLOCKS, THREADS>>>(in2, g_out);
    expect("load_float2_sector_across_halves", 2, [](int i) { return i % 16 * 4 + i % 32 / 16; });
    load_float2_permuted_kernel<<<BLOCKS, THREADS>>>(in2, g_out);
    expect("load_float2_permuted", 2, [](int i) { return i / 32 * 32 + i * 5 % 32; });
    load_float4_coalesced_kernel<<<BLOCKS, THREADS>>>(in4, g_out);
    expect("load_float4_coalesced", 4, same);
    load_float4_stride_2_kernel<<<BLOCKS, THREADS>>>(in4, g_out);
    expect("load_float4_stride_2", 4, [](int i) { return 2 * i; });
    load_float4_broadcast_kernel<<<BLOCKS, THREADS>>>(in4, g_out, 5);
    expect("load_float4_broadcast", 4, [](int) { return 5; });
    load_float4_own_row_kernel<<<BLOCKS, THREADS>>>(in4, g_out);
    expect("load_float4_own_row", 4, [](int i) { return 16 * i; });
    load_float4_same_quarters_kernel<<<BLOCKS, THREADS>>>(in4, g_out);
    expect("load_float4_same_quarters", 4, [](int i) { return i % 8; });
    load_float4_sector_across_quarters_kernel<<<BLOCKS, THREADS>>>(in4, g_out);
    expect("load_float4_sector_across_quarters", 4, [](int i) { return i % 16 * 2 + i % 32 / 16; });
    load_float4_permuted_kernel<<<BLOCKS, THREADS>>>(in4, g_out);
    expect("load_float4_permuted", 4, [](int i) { return i / 32 * 32 + i * 5 % 32; });
    load_float4_17_lanes_kernel<<<BLOCKS, THREADS>>>(in4, g_out);
    expect("load_float4_17_lanes", 4, [](int i) { return i % 32 < 17 ? i : -1; });
}

/* What lanes of a warp do differently: two places of load, and a loop that ends earlier for some. */
static void run_divergent_loads(void)
{
    const float *in = g_in_float;
    load_divergent_two_sites_kernel<<<BLOCKS, THREADS>>>(in, in + COUNT, g_out);
    collect("load_divergent_two_sites");
    for (int i = 0; i < COUNT; i++) {
        const double expected = i % 2 ? sqrt(value(COUNT + i)) : value(i) + 1.0;
        expect_close("load_divergent_two_sites", i, g_host[i], expected, 1e-5);
    }
    load_trip_count_by_lane_kernel<<<BLOCKS, THREADS>>>(in, g_out);
    collect("load_trip_count_by_lane");
    for (int i = 0; i < COUNT; i++) {
        float sum = 0.0f;
        for (int k = 0; k <= i % 4; k++) sum += value(i + k * COUNT);
        expect_close("load_trip_count_by_lane", i, g_host[i], sum, 0.0);
    }
}

/* Loops whose turns are not the same for all lanes. */
static void run_uneven_loops(void)
{
    copy_loop_left_early_kernel<<<BLOCKS, THREADS>>>(g_in_float, g_out);
    collect("copy_loop_left_early");
    for (int i = 0; i < 4 * 1024; i++)
        expect_close("copy_loop_left_early", i, g_host[i], i % 4 < 4 - i / 4 % 4 ? value(i) : 0.0, 0.0);
    load_steps_by_lane_kernel<<<BLOCKS, THREADS>>>(g_in_float, g_out);
    collect("load_steps_by_lane");
    for (int i = 0; i < COUNT; i++) {
        float sum = 0.0f;
        for (int k = 0; k < 64; k += i % 32 + 1) sum += value(k);
        expect_close("load_steps_by_lane", i, g_host[i], sum, 0.0);
    }
    copy_rows_of_44_kernel<<<BLOCKS, THREADS>>>(g_in_float, g_out);
    expect_at("copy_rows_of_44", 4 * 352, same, same);
}

/* Checks a kernel that stores the elements i, i + COUNT, i + 2 COUNT, ... of its input as vector number
 * where(i). */
static void expect_vectors(const char *kernel, int width, int (*where)(int))
{
    collect(kernel);
    for (int i = 0; i < COUNT * width; i++) {
        expect_close(kernel, i, g_host[where(i / width) * width + i % width],
                     value(i / width + i % width * COUNT), 0.0);
    }
}

static void run_stores(void)
{
    const float *in = g_in_float;
    store_stride_2_kernel<<<BLOCKS, THREADS>>>(in, g_out);
    expect_at(
        "store_stride_2", COUNT, [](int i) { return 2 * i; }, same);
    store_stride_8_kernel<<<BLOCKS, THREADS>>>(in, g_out);
    expect_at(
        "store_stride_8", COUNT, [](int i) { return 8 * i; }, same);
    store_misaligned_by_one_float_kernel<<<BLOCKS, THREADS>>>(in, g_out);
    expect_at(
        "store_misaligned_by_one_float", COUNT, [](int i) { return i + 1; }, same);
    store_17_lanes_kernel<<<BLOCKS, THREADS>>>(in, g_out);
    expect("store_17_lanes", 1, [](int i) { return i % 32 < 17 ? i : -1; });
    store_float2_coalesced_kernel<<<BLOCKS, THREADS>>>(in, (float2 *)g_out);
    expect_vectors("store_float2_coalesced", 2, same);
    store_float4_coalesced_kernel<<<BLOCKS, THREADS>>>(in, (float4 *)g_out);
    expect_vectors("store_float4_coalesced", 4, same);
    store_float4_permuted_kernel<<<BLOCKS, THREADS>>>(in, (float4 *)g_out);
    expect_vectors("store_float4_permuted", 4, [](int i) { return i / 32 * 32 + i * 5 % 32; });
    store_float4_own_row_kernel<<<BLOCKS, THREADS>>>(in, (float4 *)g_out);
    expect_vectors("store_float4_own_row", 4, [](int i) { return 8 * i; });

    store_byte_kernel<<<BLOCKS, THREADS>>>(in, (unsigned char *)g_out);
    collect("store_byte");
    for (int i = 0; i < COUNT; i++)
        expect_close("store_byte", i, ((unsigned char *)g_host)[i], value(i), 0.0);
    store_half_kernel<<<BLOCKS, THREADS>>>(in, (half *)g_out);
    collect("store_half");
    for (int i = 0; i < COUNT; i++)
        expect_close("store_half", i, __half2float(((half *)g_host)[i]), value(i), 0.0);
}

static void run_shared_loads(void)
{
    const float *in = g_in_float;
    shared_load_conflict_free_kernel<<<BLOCKS, THREADS>>>(in, g_out);
    expect("shared_load_conflict_free", 1, [](int i) { return i % THREADS; });
    shared_load_stride_2_kernel<<<BLOCKS, THREADS>>>(in, g_out);
    expect("shared_load_stride_2", 1, [](int i) { return 2 * (i % THREADS); });
    shared_load_stride_4_kernel<<<BLOCKS, THREADS>>>(in, g_out);
    expect("shared_load_stride_4", 1, [](int i) { return 4 * (i % THREADS); });
    shared_load_column_unpadded_kernel<<<BLOCKS, THREADS>>>(in, g_out);
    expect("shared_load_column_unpadded", 1, [](int i) { return 32 * (i % THREADS); });
    shared_load_column_padded_kernel<<<BLOCKS, THREADS>>>(in, g_out);
    expect("shared_load_column_padded", 1, [](int i) { return 33 * (i % THREADS); });
    shared_load_broadcast_kernel<<<BLOCKS, THREADS>>>(in, g_out, 5);
    expect("shared_load_broadcast", 1, [](int) { return 5; });
    shared_load_two_broadcasts_kernel<<<BLOCKS, THREADS>>>(in, g_out);
    expect("shared_load_two_broadcasts", 1, [](int i) { return i % 32 / 16 * 32; });
    shared_load_17_lanes_kernel<<<BLOCKS, THREADS>>>(in, g_out);
    expect("shared_load_17_lanes", 1, [](int i) { return i % 32 < 17 ? i % THREADS : -1; });
    shared_load_column_17_lanes_kernel<<<BLOCKS, THREADS>>>(in, g_out);
    expect("shared_load_column_17_lanes", 1, [](int i) { return i % 32 < 17 ? 32 * (i % THREADS) : -1; });
    shared_load_divergent_two_sites_kernel<<<BLOCKS, THREADS>>>(in, g_out);
    collect("shared_load_divergent_two_sites");
    for (int i = 0; i < COUNT; i++) {
        const double expected = i % 2 ? sqrt(value(i % THREADS * 32)) : value(i % THREADS) + 1.0;
        expect_close("shared_load_divergent_two_sites", i, g_host[i], expected, 1e-5);
    }
    shared_load_byte_kernel<<<BLOCKS, THREADS>>>(in, g_out);
    expect("shared_load_byte", 1, [](int i) { return (i ^ 1) % THREADS; });
    shared_load_half_kernel<<<BLOCKS, THREADS>>>(in, g_out);
    expect("shared_load_half", 1, [](int i) { return (i ^ 1) % THREADS; });
    shared_load_double_kernel<<<BLOCKS, THREADS>>>(in, g_out);
    expect("shared_load_double", 1, [](int i) { return (i ^ 1) % THREADS; });
}

static void run_shared_float2_loads(void)
{
    const float *in = g_in_float;
    shared_load_float2_conflict_free_kernel<<<BLOCKS, THREADS>>>(in, g_out);
    expect("shared_load_float2_conflict_free", 2, [](int i) { return i % THREADS; });
    shared_load_float2_stride_2_kernel<<<BLOCKS, THREADS>>>(in, g_out);
    expect("shared_load_float2_stride_2", 2, [](int i) { return 2 * (i % THREADS); });
    shared_load_float2_column_kernel<<<BLOCKS, THREADS>>>(in, g_out);
    expect("shared_load_float2_column", 2, [](int i) { return 16 * (i % THREADS); });
    shared_load_float2_broadcast_kernel<<<BLOCKS, THREADS>>>(in, g_out, 5);
    expect("shared_load_float2_broadcast", 2, [](int) { return 5; });
    shared_load_float2_pairs_kernel<<<BLOCKS, THREADS>>>(in, g_out);
    expect("shared_load_float2_pairs", 2, [](int i) { return i % THREADS / 2; });
    shared_load_float2_same_halves_kernel<<<BLOCKS, THREADS>>>(in, g_out);
    expect("shared_load_float2_same_halves", 2, [](int i) { return i % 16; });
    shared_load_float2_interleaved_kernel<<<BLOCKS, THREADS>>>(in, g_out);
    expect("shared_load_float2_interleaved", 2, [](int i) { return i % 32 / 2 + i % 2 * 16; });
    shared_load_float2_17_lanes_kernel<<<BLOCKS, THREADS>>>(in, g_out);
    expect("shared_load_float2_17_lanes", 2, [](int i) { return i % 32 < 17 ? i % THREADS : -1; });
    shared_load_float2_even_lanes_kernel<<<BLOCKS, THREADS>>>(in, g_out);
    expect("shared_load_float2_even_lanes", 2, [](int i) { return i % 2 ? -1 : i % THREADS / 2; });
    shared_load_float2_pairs_of_two_kernel<<<BLOCKS, THREADS>>>(in, g_out);
    expect("shared_load_float2_pairs_of_two", 2, [](int i) { return i % 2 + i % 32 / 4 * 2; });
}

static void run_shared_float4_loads(void)
{
    const float *in = g_in_float;
    shared_load_float4_conflict_free_kernel<<<BLOCKS, THREADS>>>(in, g_out);
    expect("shared_load_float4_conflict_free", 4, [](int i) { return i % THREADS; });
    shared_load_float4_stride_2_kernel<<<BLOCKS, THREADS>>>(in, g_out);
    expect("shared_load_float4_stride_2", 4, [](int i) { return 2 * (i % THREADS); });
    shared_load_float4_column_kernel<<<BLOCKS, THREADS>>>(in, g_out);
    expect("shared_load_float4_column", 4, [](int i) { return 8 * (i % THREADS); });
    shared_load_float4_broadcast_kernel<<<BLOCKS, THREADS>>>(in, g_out, 5);
    expect("shared_load_float4_broadcast", 4, [](int) { return 5; });
    shared_load_float4_pairs_kernel<<<BLOCKS, THREADS>>>(in, g_out);
    expect("shared_load_float4_pairs", 4, [](int i) { return i % THREADS / 2; });
    shared_load_float4_same_quarters_kernel<<<BLOCKS, THREADS>>>(in, g_out);
    expect("shared_load_float4_same_quarters", 4, [](int i) { return i % 8; });
    shared_load_float4_quarter_each_kernel<<<BLOCKS, THREADS>>>(in, g_out);
    expect("shared_load_float4_quarter_each", 4, [](int i) { return i % 32 / 8; });
    shared_load_float4_interleaved_kernel<<<BLOCKS, THREADS>>>(in, g_out);
    expect("shared_load_float4_interleaved", 4, [](int i) { return i % 32 / 4 + i % 4 * 8; });
    shared_load_float4_17_lanes_kernel<<<BLOCKS, THREADS>>>(in, g_out);
    expect("shared_load_float4_17_lanes", 4, [](int i) { return i % 32 < 17 ? i % THREADS : -1; });
    shared_load_float4_every_fourth_lane_kernel<<<BLOCKS, THREADS>>>(in, g_out);
    expect("shared_load_float4_every_fourth_lane", 4, [](int i) { return i % 4 ? -1 : i % THREADS / 4; });
    shared_load_float4_pairs_of_two_kernel<<<BLOCKS, THREADS>>>(in, g_out);
    expect("shared_load_float4_pairs_of_two", 4, [](int i) { return i % 2 + i % 32 / 4 * 2; });
    shared_load_float4_pairs_of_four_kernel<<<BLOCKS, THREADS>>>(in, g_out);
    expect("shared_load_float4_pairs_of_four", 4, [](int i) { return i % 4 + i % 32 / 8 * 4; });
    shared_load_float4_pairs_in_one_half_kernel<<<BLOCKS, THREADS>>>(in, g_out);
    expect("shared_load_float4_pairs_in_one_half", 4,
           [](int i) { return i % 32 < 16 ? i % 32 / 2 : i % 32; });
}

static void run_shared_stores(void)
{
    const float *in = g_in_float;
    const float2 *in2 = (const float2 *)g_in_float;
    const float4 *in4 = (const float4 *)g_in_float;
    shared_store_conflict_free_kernel<<<BLOCKS, THREADS>>>(in, g_out);
    expect_sum("shared_store_conflict_free", COUNT, always);
    shared_store_stride_2_kernel<<<BLOCKS, THREADS>>>(in, g_out);
    expect_sum("shared_store_stride_2", COUNT, always);
    shared_store_column_unpadded_kernel<<<BLOCKS, THREADS>>>(in, g_out);
    expect_sum("shared_store_column_unpadded", COUNT, always);
    shared_store_column_padded_kernel<<<BLOCKS, THREADS>>>(in, g_out);
    expect_sum("shared_store_column_padded", COUNT, always);
    shared_store_17_lanes_kernel<<<BLOCKS, THREADS>>>(in, g_out);
    expect_sum("shared_store_17_lanes", COUNT, [](int i) { return (int)(i % 32 < 17); });
    shared_store_float2_conflict_free_kernel<<<BLOCKS, THREADS>>>(in2, g_out);
    expect_sum("shared_store_float2_conflict_free", 2 * COUNT, always);
    shared_store_float2_stride_2_kernel<<<BLOCKS, THREADS>>>(in2, g_out);
    expect_sum("shared_store_float2_stride_2", 2 * COUNT, always);
    shared_store_float2_interleaved_kernel<<<BLOCKS, THREADS>>>(in2, g_out);
    expect_sum("shared_store_float2_interleaved", 2 * COUNT, always);
    shared_store_float4_conflict_free_kernel<<<BLOCKS, THREADS>>>(in4, g_out);
    expect_sum("shared_store_float4_conflict_free", 4 * COUNT, always);
    shared_store_float4_stride_2_kernel<<<BLOCKS, THREADS>>>(in4, g_out);
    expect_sum("shared_store_float4_stride_2", 4 * COUNT, always);
    shared_store_float4_column_kernel<<<BLOCKS, THREADS>>>(in4, g_out);
    expect_sum("shared_store_float4_column", 4 * COUNT, always);
    shared_store_float4_interleaved_kernel<<<BLOCKS, THREADS>>>(in4, g_out);
    expect_sum("shared_store_float4_interleaved", 4 * COUNT, always);
    shared_store_float2_even_lanes_kernel<<<BLOCKS, THREADS>>>(in2, g_out);
    expect_sum("shared_store_float2_even_lanes", 2 * COUNT, [](int i) { return (int)(i / 2 % 2 == 0); });
    shared_store_float4_every_fourth_lane_kernel<<<BLOCKS, THREADS>>>(in4, g_out);
    expect_sum("shared_store_float4_every_fourth_lane", 4 * COUNT,
               [](int i) { return (int)(i / 4 % 4 == 0); });
}

static void run_atomics(void)
{
    const float *in = g_in_float;
    global_atomic_same_address_kernel<<<BLOCKS, THREADS>>>(in, g_out);
    expect_sum("global_atomic_same_address", COUNT, always);
    global_atomic_own_address_kernel<<<BLOCKS, THREADS>>>(in, (int *)g_out);
    collect("global_atomic_own_address");
    for (int i = 0; i < COUNT; i++)
        expect_close("global_atomic_own_address", i, ((int *)g_host)[i], value(i), 0.0);
    global_atomic_float_kernel<<<BLOCKS, THREADS>>>(in, g_out);
    expect_sum("global_atomic_float", COUNT, always);
    global_atomic_with_result_kernel<<<BLOCKS, THREADS>>>(in, (int *)g_out);
    collect("global_atomic_with_result");
    for (int i = 0; i < COUNT; i++)
        expect_close("global_atomic_with_result", i, ((int *)g_host)[i], value(i), 0.0);
    shared_atomic_own_address_kernel<<<BLOCKS, THREADS>>>(in, g_out);
    expect("shared_atomic_own_address", 1, same);
    shared_atomic_four_addresses_kernel<<<BLOCKS, THREADS>>>(in, g_out);
    collect("shared_atomic_four_addresses");
    for (int i = 0; i < COUNT; i++) {
        float sum = 0.0f; /* of every fourth value of the block */
        for (int j = i % 4; j < THREADS; j += 4) sum += value(i / THREADS * THREADS + j);
        expect_close("shared_atomic_four_addresses", i, g_host[i], sum, 0.0);
    }
    three_barriers_kernel<<<BLOCKS, THREADS>>>(in, g_out);
    expect("three_barriers", 1, same);
}

static void run_whole_kernels(void)
{
    const float *in = g_in_float;
    copy_grid_stride_kernel<<<BLOCKS, THREADS>>>(in, g_out);
    expect_at("copy_grid_stride", ELEMS, same, same);

    const dim3 grid(MATRIX / TRANSPOSE_TILE, MATRIX / TRANSPOSE_TILE), block(TRANSPOSE_TILE, TRANSPOSE_TILE);
    int (*turned)(int) = [](int i) { return i % MATRIX * MATRIX + i / MATRIX; };
    transpose_naive_kernel<<<grid, block>>>(in, g_out);
    expect_at("transpose_naive", MATRIX * MATRIX, turned, same);
    transpose_shared_unpadded_kernel<<<grid, block>>>(in, g_out);
    expect_at("transpose_shared_unpadded", MATRIX * MATRIX, turned, same);
    transpose_shared_padded_kernel<<<grid, block>>>(in, g_out);
    expect_at("transpose_shared_padded", MATRIX * MATRIX, turned, same);

    softmax_rows_kernel<<<ROWS, ROW_THREADS>>>(in, g_out);
    collect("softmax_rows");
    for (int r = 0; r < ROWS; r++) {
        double sum = 0.0;
        for (int c = 0; c < COLUMNS; c++) sum += exp(value(r * COLUMNS + c) - (VALUES - 1.0));
        for (int c = r * COLUMNS; c < (r + 1) * COLUMNS; c++) {
            expect_close("softmax_rows", c, g_host[c], exp(value(c) - (VALUES - 1.0)) / sum, 1e-6);
        }
    }
}

static float decode_input(int j)
{
    return (float)(j * 7 % 31 - 15) / 16.0f;
}

/* What decode() should give for one head and dimension; the inputs are those of run_decode(). */
static void reference_head(int head, double *out)
{
    const int kv_row = KV_HEADS * HEAD_DIM, kv_head = head / (HEADS / KV_HEADS) * HEAD_DIM;
    double sum = 0.0;
    for (int d = 0; d < HEAD_DIM; d++) out[d] = 0.0;
    for (int j = 0; j < KV_LEN; j++) {
        double score = 0.0;
        for (int d = 0; d < HEAD_DIM; d++) {
            score += (double)decode_input(head * HEAD_DIM + d) * decode_input(j * kv_row + kv_head + d);
        }
        const double weight = exp(score / sqrt((double)HEAD_DIM));
        for (int d = 0; d < HEAD_DIM; d++) out[d] += weight * decode_input(j * kv_row + kv_head + d);
        sum += weight;
    }
    for (int d = 0; d < HEAD_DIM; d++) out[d] /= sum;
}

static void check_decode(const char *kernel, const half *out)
{
    static half host[HEADS * HEAD_DIM];
    double expected[HEAD_DIM];
    finish_launch(kernel);
    download(host, out, HEADS * HEAD_DIM);
    for (int head = 0; head < HEADS; head++) {
        reference_head(head, expected);
        for (int d = 0; d < HEAD_DIM; d++) {
            expect_close(kernel, head * HEAD_DIM + d, __half2float(host[head * HEAD_DIM + d]), expected[d],
                         1e-3);
        }
    }
}

static void run_decode(void)
{
    enum { Q_ELEMS = HEADS * HEAD_DIM, KV_ELEMS = KV_LEN * KV_HEADS * HEAD_DIM };
    static half host[KV_ELEMS];
    for (int j = 0; j < KV_ELEMS; j++) host[j] = __float2half(decode_input(j));
    half *q = upload(host, Q_ELEMS), *kv = upload(host, KV_ELEMS), *out = device_array<half>(Q_ELEMS);
    decode_k_as_half2_kernel<<<HEADS, DECODE_THREADS>>>(q, kv, kv, out);
    check_decode("decode_k_as_half2", out);
    decode_k_as_float4_kernel<<<HEADS, DECODE_THREADS>>>(q, kv, kv, out);
    check_decode("decode_k_as_float4", out);
    release(q);
    release(kv);
    release(out);
}

int main(void)
{
    static float floats[ELEMS];
    static half halves[ELEMS];
    static double doubles[ELEMS];
    static unsigned char bytes[ELEMS];
    for (int j = 0; j < ELEMS; j++) {
        floats[j] = value(j);
        halves[j] = __float2half(value(j));
        doubles[j] = value(j);
        bytes[j] = (unsigned char)value(j);
    }
    g_in_float = upload(floats, ELEMS);
    g_in_half = upload(halves, ELEMS);
    g_in_double = upload(doubles, ELEMS);
    g_in_byte = upload(bytes, ELEMS);
    g_out = device_array<float>(ELEMS);
    require(cudaMemset(g_out, 0, sizeof g_host), "cudaMemset");

    run_scalar_loads();
    run_vector_loads();
    run_divergent_loads();
    run_uneven_loops();
    run_stores();
    run_shared_loads();
    run_shared_float2_loads();
    run_shared_float4_loads();
    run_shared_stores();
    run_atomics();
    run_whole_kernels();
    run_decode();

    release(g_in_float);
    release(g_in_half);
    release(g_in_double);
    release(g_in_byte);
    release(g_out);
    return finish("counters");
}
