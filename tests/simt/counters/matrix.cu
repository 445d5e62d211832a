/**
 * Kernels of one warp whose traffic by warp matrix operations and asynchronous copies is known: as
 * counters.cu, to hold the software device against the hardware's counters. matrix.expected has what the
 * device must say.
 *
 * Every kernel is launched once, and the program checks every result. Shared tiles are filled, and results
 * leave, by whole rows of float that give no bank conflicts of their own.
 */
#include "../testing.h"

#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>

using namespace nvcuda;

enum { SIDE = 16, TILE = SIDE * SIDE, WIDEST = 64, ELEMS = SIDE * WIDEST, STRIPES = 1024 };

typedef wmma::fragment<wmma::matrix_a, SIDE, SIDE, SIDE, half, wmma::row_major> fragment_a;
typedef wmma::fragment<wmma::matrix_b, SIDE, SIDE, SIDE, half, wmma::row_major> fragment_b;
typedef wmma::fragment<wmma::matrix_b, SIDE, SIDE, SIDE, half, wmma::col_major> fragment_b_turned;
typedef wmma::fragment<wmma::accumulator, SIDE, SIDE, SIDE, float> fragment_sum;

/** in[i] = i % 7 for all of the shared tile, a word a lane. */
static __device__ void fill_tile(half *tile, const half *in)
{
    for (int i = (int)threadIdx.x; i < ELEMS / 2; i += 32) ((half2 *)tile)[i] = ((const half2 *)in)[i];
    __syncwarp(); /* lanes load what others have written */
}

/** A fragment's elements leave by one store of one float a lane: their sum. */
template <typename F> static __device__ void give_sum(const F &f, float *out)
{
    float sum = 0.0f;
    for (int i = 0; i < f.num_elements; i++) sum += (float)f.x[i];
    out[threadIdx.x] = sum;
}

/* ---- loads of half */

static __global__ void load_a_global_16_kernel(const half *in, float *out)
{
    fragment_a f;
    wmma::load_matrix_sync(f, in, 16);
    give_sum(f, out);
}

static __global__ void load_a_global_64_kernel(const half *in, float *out)
{
    fragment_a f;
    wmma::load_matrix_sync(f, in, 64);
    give_sum(f, out);
}

static __global__ void load_b_global_64_kernel(const half *in, float *out)
{
    fragment_b f;
    wmma::load_matrix_sync(f, in, 64);
    give_sum(f, out);
}

template <typename F> static __device__ void load_shared(const half *in, float *out, int ld)
{
    __shared__ __align__(128) half tile[ELEMS];
    fill_tile(tile, in);
    F f;
    wmma::load_matrix_sync(f, tile, ld);
    give_sum(f, out);
}

static __global__ void load_a_shared_16_kernel(const half *in, float *out)
{
    load_shared<fragment_a>(in, out, 16);
}
static __global__ void load_a_shared_24_kernel(const half *in, float *out)
{
    load_shared<fragment_a>(in, out, 24);
}
static __global__ void load_a_shared_32_kernel(const half *in, float *out)
{
    load_shared<fragment_a>(in, out, 32);
}
static __global__ void load_a_shared_40_kernel(const half *in, float *out)
{
    load_shared<fragment_a>(in, out, 40);
}
static __global__ void load_a_shared_64_kernel(const half *in, float *out)
{
    load_shared<fragment_a>(in, out, 64);
}
static __global__ void load_b_shared_64_kernel(const half *in, float *out)
{
    load_shared<fragment_b>(in, out, 64);
}
static __global__ void load_b_turned_shared_24_kernel(const half *in, float *out)
{
    load_shared<fragment_b_turned>(in, out, 24);
}

/* ---- accumulators */

static __global__ void store_row_global_16_kernel(float *out)
{
    fragment_sum sum;
    wmma::fill_fragment(sum, 1.0f);
    wmma::store_matrix_sync(out, sum, 16, wmma::mem_row_major);
}

static __global__ void store_row_global_64_kernel(float *out)
{
    fragment_sum sum;
    wmma::fill_fragment(sum, 1.0f);
    wmma::store_matrix_sync(out, sum, 64, wmma::mem_row_major);
}

static __global__ void store_column_global_64_kernel(float *out)
{
    fragment_sum sum;
    wmma::fill_fragment(sum, 1.0f);
    wmma::store_matrix_sync(out, sum, 64, wmma::mem_col_major);
}

static __device__ void store_shared(float *out, int ld, wmma::layout_t layout)
{
    __shared__ __align__(128) float tile[SIDE * WIDEST];
    fragment_sum sum;
    wmma::fill_fragment(sum, 1.0f);
    wmma::store_matrix_sync(tile, sum, ld, layout);
    __syncwarp(); /* the tile is whole */
    out[threadIdx.x] = tile[threadIdx.x % SIDE];
}

static __global__ void store_row_shared_16_kernel(float *out)
{
    store_shared(out, 16, wmma::mem_row_major);
}
static __global__ void store_row_shared_20_kernel(float *out)
{
    store_shared(out, 20, wmma::mem_row_major);
}
static __global__ void store_row_shared_24_kernel(float *out)
{
    store_shared(out, 24, wmma::mem_row_major);
}
static __global__ void store_row_shared_64_kernel(float *out)
{
    store_shared(out, 64, wmma::mem_row_major);
}
static __global__ void store_column_shared_16_kernel(float *out)
{
    store_shared(out, 16, wmma::mem_col_major);
}

/* ---- asynchronous copies: one per lane, then a word of what was copied */

template <int BYTES> static __device__ void copy_one(const char *from, float *out, int to, bool takes_part)
{
    __shared__ __align__(128) char tile[32 * STRIPES];
    if (takes_part) __pipeline_memcpy_async(tile + to, from, BYTES);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    if (takes_part) out[threadIdx.x] = *(const float *)(tile + to);
}

static __global__ void copy_4_kernel(const char *in, float *out)
{
    copy_one<4>(in + 4 * threadIdx.x, out, 4 * (int)threadIdx.x, true);
}
static __global__ void copy_8_kernel(const char *in, float *out)
{
    copy_one<8>(in + 8 * threadIdx.x, out, 8 * (int)threadIdx.x, true);
}
static __global__ void copy_16_kernel(const char *in, float *out)
{
    copy_one<16>(in + 16 * threadIdx.x, out, 16 * (int)threadIdx.x, true);
}
/** Rows of 32 bytes, 128 apart: two lanes per row. */
static __global__ void copy_16_rows_of_32_kernel(const char *in, float *out)
{
    copy_one<16>(in + 128 * (threadIdx.x / 2) + 16 * (threadIdx.x % 2), out, 16 * (int)threadIdx.x, true);
}
/** Rows of 64 bytes, 512 apart, to rows that are padded to 80 bytes. */
static __global__ void copy_16_padded_rows_kernel(const char *in, float *out)
{
    copy_one<16>(in + 512 * (threadIdx.x / 4) + 16 * (threadIdx.x % 4), out,
                 80 * (int)(threadIdx.x / 4) + 16 * (int)(threadIdx.x % 4), true);
}
/** Columns of a tile with rows of 128 bytes: all lanes write the same four banks. */
static __global__ void copy_16_to_one_column_kernel(const char *in, float *out)
{
    copy_one<16>(in + 16 * threadIdx.x, out, 128 * (int)threadIdx.x, true);
}
static __global__ void copy_16_half_a_sector_kernel(const char *in, float *out)
{
    copy_one<16>(in + 32 * threadIdx.x, out, 16 * (int)threadIdx.x, true);
}
static __global__ void copy_16_17_lanes_kernel(const char *in, float *out)
{
    copy_one<16>(in + 16 * threadIdx.x, out, 16 * (int)threadIdx.x, threadIdx.x < 17);
}
/** As lesson 09 copies: rows of 128 bytes, 256 apart, to rows that are padded to 144 bytes. */
static __global__ void copy_16_rows_of_128_kernel(const char *in, float *out)
{
    copy_one<16>(in + 256 * (threadIdx.x / 8) + 16 * (threadIdx.x % 8), out,
                 144 * (int)(threadIdx.x / 8) + 16 * (int)(threadIdx.x % 8), true);
}
/** Lower halves of sectors become upper ones. */
static __global__ void copy_16_shifted_kernel(const char *in, float *out)
{
    copy_one<16>(in + 16 + 16 * threadIdx.x, out, 16 * (int)threadIdx.x, true);
}
/** Rows of 128 bytes, 144 apart on either side: as lesson 09 copies a matrix with 72 columns. */
static __global__ void copy_16_rows_144_apart_kernel(const char *in, float *out)
{
    const int at = 144 * (int)(threadIdx.x / 8) + 16 * (int)(threadIdx.x % 8);
    copy_one<16>(in + at, out, at, true);
}
/** Of each line of 128 bytes the lower half of its first sector, the upper half of its second, its third sector. */
static __global__ void copy_16_halves_and_wholes_kernel(const char *in, float *out)
{
    const int part = (int)threadIdx.x % 4;
    const int at = 128 * (int)(threadIdx.x / 4) + 16 * (part == 0 ? 0 : part + 2);
    copy_one<16>(in + at, out, at, true);
}
static __global__ void copy_4_from_sectors_kernel(const char *in, float *out)
{
    copy_one<4>(in + 32 * threadIdx.x, out, 4 * (int)threadIdx.x, true);
}
static __global__ void copy_4_to_sectors_kernel(const char *in, float *out)
{
    copy_one<4>(in + 4 * threadIdx.x, out, 32 * (int)threadIdx.x, true);
}
static __global__ void copy_8_from_sectors_kernel(const char *in, float *out)
{
    copy_one<8>(in + 32 * threadIdx.x, out, 8 * (int)threadIdx.x, true);
}
static __global__ void copy_8_to_sectors_kernel(const char *in, float *out)
{
    copy_one<8>(in + 8 * threadIdx.x, out, 32 * (int)threadIdx.x, true);
}

/* ---- the host */

static half g_half[ELEMS];
static float g_host[ELEMS];
static float *g_out;

static void collect(const char *kernel)
{
    finish_launch(kernel);
    download(g_host, g_out, ELEMS);
    require(cudaMemset(g_out, 0, sizeof g_host), "cudaMemset");
}

/** The lanes' sums add up to the sum of the tile; elements of half fragments are held twice. */
static void expect_tile(const char *kernel, int ld)
{
    double sum = 0.0, expected = 0.0;
    collect(kernel);
    for (int lane = 0; lane < 32; lane++) sum += g_host[lane];
    for (int i = 0; i < TILE; i++) expected += 2.0 * __half2float(g_half[i / SIDE * ld + i % SIDE]);
    expect_close(kernel, 0, sum, expected, 0.0);
}

static void expect_ones(const char *kernel, double expected)
{
    double sum = 0.0;
    collect(kernel);
    for (int i = 0; i < ELEMS; i++) sum += g_host[i];
    expect_close(kernel, 0, sum, expected, 0.0);
}

static void run_matrix_operations(void)
{
    const half *in = upload(g_half, ELEMS);
    load_a_global_16_kernel<<<1, 32>>>(in, g_out);
    expect_tile("load_a_global_16", 16);
    load_a_global_64_kernel<<<1, 32>>>(in, g_out);
    expect_tile("load_a_global_64", 64);
    load_b_global_64_kernel<<<1, 32>>>(in, g_out);
    expect_tile("load_b_global_64", 64);
    load_a_shared_16_kernel<<<1, 32>>>(in, g_out);
    expect_tile("load_a_shared_16", 16);
    load_a_shared_24_kernel<<<1, 32>>>(in, g_out);
    expect_tile("load_a_shared_24", 24);
    load_a_shared_32_kernel<<<1, 32>>>(in, g_out);
    expect_tile("load_a_shared_32", 32);
    load_a_shared_40_kernel<<<1, 32>>>(in, g_out);
    expect_tile("load_a_shared_40", 40);
    load_a_shared_64_kernel<<<1, 32>>>(in, g_out);
    expect_tile("load_a_shared_64", 64);
    load_b_shared_64_kernel<<<1, 32>>>(in, g_out);
    expect_tile("load_b_shared_64", 64);
    load_b_turned_shared_24_kernel<<<1, 32>>>(in, g_out);
    expect_tile("load_b_turned_shared_24", 24);
    store_row_global_16_kernel<<<1, 32>>>(g_out);
    expect_ones("store_row_global_16", TILE);
    store_row_global_64_kernel<<<1, 32>>>(g_out);
    expect_ones("store_row_global_64", TILE);
    store_column_global_64_kernel<<<1, 32>>>(g_out);
    expect_ones("store_column_global_64", TILE);
    store_row_shared_16_kernel<<<1, 32>>>(g_out);
    expect_ones("store_row_shared_16", 32);
    store_row_shared_20_kernel<<<1, 32>>>(g_out);
    expect_ones("store_row_shared_20", 32);
    store_row_shared_24_kernel<<<1, 32>>>(g_out);
    expect_ones("store_row_shared_24", 32);
    store_row_shared_64_kernel<<<1, 32>>>(g_out);
    expect_ones("store_row_shared_64", 32);
    store_column_shared_16_kernel<<<1, 32>>>(g_out);
    expect_ones("store_column_shared_16", 32);
    release((void *)in);
}

static void run_copies(void)
{
    static float ones[32 * STRIPES / 4];
    for (int i = 0; i < 32 * STRIPES / 4; i++) ones[i] = 1.0f;
    float *device = upload(ones, 32 * STRIPES / 4);
    const char *in = (const char *)device;
    copy_4_kernel<<<1, 32>>>(in, g_out);
    expect_ones("copy_4", 32);
    copy_8_kernel<<<1, 32>>>(in, g_out);
    expect_ones("copy_8", 32);
    copy_16_kernel<<<1, 32>>>(in, g_out);
    expect_ones("copy_16", 32);
    copy_16_rows_of_32_kernel<<<1, 32>>>(in, g_out);
    expect_ones("copy_16_rows_of_32", 32);
    copy_16_padded_rows_kernel<<<1, 32>>>(in, g_out);
    expect_ones("copy_16_padded_rows", 32);
    copy_16_to_one_column_kernel<<<1, 32>>>(in, g_out);
    expect_ones("copy_16_to_one_column", 32);
    copy_16_half_a_sector_kernel<<<1, 32>>>(in, g_out);
    expect_ones("copy_16_half_a_sector", 32);
    copy_16_17_lanes_kernel<<<1, 32>>>(in, g_out);
    expect_ones("copy_16_17_lanes", 17);
    copy_16_rows_of_128_kernel<<<1, 32>>>(in, g_out);
    expect_ones("copy_16_rows_of_128", 32);
    copy_16_shifted_kernel<<<1, 32>>>(in, g_out);
    expect_ones("copy_16_shifted", 32);
    copy_16_rows_144_apart_kernel<<<1, 32>>>(in, g_out);
    expect_ones("copy_16_rows_144_apart", 32);
    copy_16_halves_and_wholes_kernel<<<1, 32>>>(in, g_out);
    expect_ones("copy_16_halves_and_wholes", 32);
    copy_4_from_sectors_kernel<<<1, 32>>>(in, g_out);
    expect_ones("copy_4_from_sectors", 32);
    copy_4_to_sectors_kernel<<<1, 32>>>(in, g_out);
    expect_ones("copy_4_to_sectors", 32);
    copy_8_from_sectors_kernel<<<1, 32>>>(in, g_out);
    expect_ones("copy_8_from_sectors", 32);
    copy_8_to_sectors_kernel<<<1, 32>>>(in, g_out);
    expect_ones("copy_8_to_sectors", 32);
    release(device);
}

int main(void)
{
    for (int i = 0; i < ELEMS; i++) g_half[i] = __float2half((float)(i % 7));
    g_out = device_array<float>(ELEMS);
    require(cudaMemset(g_out, 0, sizeof g_host), "cudaMemset");
    run_matrix_operations();
    run_copies();
    release(g_out);
    return finish("matrix");
}
