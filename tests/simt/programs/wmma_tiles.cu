/**
 * Products of single tiles by nvcuda::wmma: every shape, every pair of layouts, half, float and bfloat16,
 * from device and from shared memory, with leading dimensions beyond the tile; and accumulators loaded,
 * scaled through x[], stored.
 */
#include "../testing.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

#ifdef __SIMT__
#define HALF_SUMS_EXACT 1 /* one rounding at the end */
#else
#define HALF_SUMS_EXACT 0 /* nothing is promised of hardware */
#endif

enum { DEPTH = 16, LARGEST = 32, ELEMS = 40 * LARGEST }; /* leading dimensions are up to 40 */

template <typename Layout> static __host__ __device__ constexpr bool is_row_major(void);
template <> constexpr bool is_row_major<wmma::row_major>(void)
{
    return true;
}
template <> constexpr bool is_row_major<wmma::col_major>(void)
{
    return false;
}

static float *g_device[4]; /* buffers of ELEMS numbers, for all trials one after another */

static void send(int buffer, const void *host, size_t bytes)
{
    require(cudaMemcpy(g_device[buffer], host, bytes, cudaMemcpyHostToDevice), "send");
}

static void fetch(void *host, int buffer, size_t bytes)
{
    require(cudaMemcpy(host, g_device[buffer], bytes, cudaMemcpyDeviceToHost), "fetch");
}

/** d = 2 (a b + c), one warp. With through_shared the tiles go through shared memory first, and back. */
template <int M, int N, typename T, typename Sum, typename LayoutA, typename LayoutB>
static __global__ void tile_kernel(const T *a, const T *b, const Sum *c, Sum *d, int ld, int row_major,
                                   int through_shared)
{
    __shared__ __align__(32) T tile_a[ELEMS], tile_b[ELEMS];
    __shared__ __align__(32) Sum tile_c[ELEMS];
    const wmma::layout_t layout = row_major ? wmma::mem_row_major : wmma::mem_col_major;
    wmma::fragment<wmma::matrix_a, M, N, DEPTH, T, LayoutA> fragment_a;
    wmma::fragment<wmma::matrix_b, M, N, DEPTH, T, LayoutB> fragment_b;
    wmma::fragment<wmma::accumulator, M, N, DEPTH, Sum> sum;
    if (through_shared) {
        for (int i = (int)threadIdx.x; i < ELEMS; i += 32) {
            tile_a[i] = a[i];
            tile_b[i] = b[i];
            tile_c[i] = c[i];
        }
        __syncwarp(); /* lanes load what others have written */
        wmma::load_matrix_sync(fragment_a, tile_a, ld);
        wmma::load_matrix_sync(fragment_b, tile_b, ld);
        wmma::load_matrix_sync(sum, tile_c, ld, layout);
    } else {
        wmma::load_matrix_sync(fragment_a, a, ld);
        wmma::load_matrix_sync(fragment_b, b, ld);
        wmma::load_matrix_sync(sum, c, ld, layout);
    }
    wmma::mma_sync(sum, fragment_a, fragment_b, sum);
    for (int i = 0; i < sum.num_elements; i++) sum.x[i] = sum.x[i] + sum.x[i];
    if (through_shared) {
        __syncwarp(); /* the tile was read as c */
        wmma::store_matrix_sync(tile_c, sum, ld, layout);
        __syncwarp(); /* lanes read what others have stored */
        for (int i = (int)threadIdx.x; i < ELEMS; i += 32) d[i] = tile_c[i];
    } else {
        wmma::store_matrix_sync(d, sum, ld, layout);
    }
}

static double value_of(half x)
{
    return __half2float(x);
}
static double value_of(__nv_bfloat16 x)
{
    return __bfloat162float(x);
}
static double value_of(float x)
{
    return x;
}

/** Multiples of 1/16 up to 2: products and sums of 16 are exact in float, and have to be rounded to half. */
static float small_value(unsigned *state)
{
    return (float)((int)(next_random(state) >> 8) % 65 - 32) / 16.0f;
}

template <int M, int N, typename T, typename Sum, typename LayoutA, typename LayoutB> struct trial {
    T a[ELEMS], b[ELEMS];
    Sum c[ELEMS], d[ELEMS];

    void run(const char *what, int ld, bool row_major, bool through_shared)
    {
        unsigned state = 77;
        for (int i = 0; i < ELEMS; i++) {
            a[i] = (T)small_value(&state);
            b[i] = (T)small_value(&state);
            c[i] = (Sum)small_value(&state);
        }
        send(0, a, sizeof a);
        send(1, b, sizeof b);
        send(2, c, sizeof c);
        send(3, c, sizeof c);
        tile_kernel<M, N, T, Sum, LayoutA, LayoutB><<<1, 32>>>((T *)g_device[0], (T *)g_device[1],
                                                               (Sum *)g_device[2], (Sum *)g_device[3], ld,
                                                               row_major, through_shared);
        finish_launch(what);
        fetch(d, 3, sizeof d);
        compare(what, ld, row_major);
    }

    void compare(const char *what, int ld, bool row_major)
    {
        for (int i = 0; i < M; i++)
            for (int j = 0; j < N; j++) {
                const int at = row_major ? i * ld + j : j * ld + i;
                double sum = value_of(c[at]);
                for (int k = 0; k < DEPTH; k++)
                    sum += value_of(a[is_row_major<LayoutA>() ? i * ld + k : k * ld + i]) *
                           value_of(b[is_row_major<LayoutB>() ? k * ld + j : j * ld + k]);
                expect_close(what, (size_t)(i * N + j), value_of(d[at]), 2.0 * value_of((Sum)(float)sum),
                             HALF_SUMS_EXACT || sizeof(Sum) == 4 ? 0.0 : 0.002 * fabs(sum) + 0.03);
            }
        for (int i = 0; i < ELEMS; i++) { /* what is not the tile is left alone */
            const int line = i / ld, position = i % ld;
            if (line < (row_major ? M : N) && position < (row_major ? N : M)) continue;
            expect_close("outside of the tile", (size_t)i, value_of(d[i]), value_of(c[i]), 0.0);
        }
    }
};

template <int M, int N, typename T, typename Sum, typename LayoutA, typename LayoutB>
static void try_layouts(const char *what)
{
    static trial<M, N, T, Sum, LayoutA, LayoutB> trial;
    trial.run(what, LARGEST, true, false);
    trial.run(what, LARGEST + 8, true, true);
    trial.run(what, LARGEST + 8, false, false);
    trial.run(what, LARGEST, false, true);
}

/** bfloat16 is there from sm_80 on; on sm_75 the kernel only says so. */
template <int M, int N>
static __global__ void bfloat16_kernel(const __nv_bfloat16 *a, const __nv_bfloat16 *b, float *d)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    wmma::fragment<wmma::matrix_a, M, N, DEPTH, __nv_bfloat16, wmma::row_major> fragment_a;
    wmma::fragment<wmma::matrix_b, M, N, DEPTH, __nv_bfloat16, wmma::col_major> fragment_b;
    wmma::fragment<wmma::accumulator, M, N, DEPTH, float> sum;
    wmma::fill_fragment(sum, 1.0f);
    wmma::load_matrix_sync(fragment_a, a, DEPTH);
    wmma::load_matrix_sync(fragment_b, b, DEPTH);
    wmma::mma_sync(sum, fragment_a, fragment_b, sum);
    wmma::store_matrix_sync(d, sum, N, wmma::mem_row_major);
#else
    if (threadIdx.x == 0) d[0] = NAN;
    (void)a, (void)b;
#endif
}

template <int M, int N> static void try_bfloat16(const char *what)
{
    static __nv_bfloat16 a[LARGEST * DEPTH], b[LARGEST * DEPTH];
    static float d[M * N];
    unsigned state = 5;
    for (int i = 0; i < LARGEST * DEPTH; i++) {
        a[i] = __float2bfloat16(small_value(&state));
        b[i] = __float2bfloat16(small_value(&state));
    }
    send(0, a, sizeof a);
    send(1, b, sizeof b);
    bfloat16_kernel<M, N>
        <<<1, 32>>>((__nv_bfloat16 *)g_device[0], (__nv_bfloat16 *)g_device[1], (float *)g_device[2]);
    finish_launch(what);
    fetch(d, 2, sizeof d);
    for (int i = 0; i < M * N && !isnan(d[0]); i++) {
        double sum = 1.0;
        for (int k = 0; k < DEPTH; k++)
            sum += value_of(a[i / N * DEPTH + k]) * value_of(b[i % N * DEPTH + k]);
        expect_close(what, (size_t)i, d[i], sum, 0.0);
    }
}

/** The number of elements is no secret, and elements of two fragments of one kind go together. */
static __global__ void elements_kernel(float *out)
{
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> ones, twos;
    wmma::fill_fragment(ones, 1.0f);
    wmma::fill_fragment(twos, 2.0f);
    for (int i = 0; i < ones.num_elements; i++) ones.x[i] += 10.0f * twos.x[i];
    wmma::store_matrix_sync(out, ones, 16, wmma::mem_row_major);
    if (threadIdx.x == 0) out[256] = (float)twos.num_elements;
}

static void try_elements(void)
{
    static float host[257];
    elements_kernel<<<1, 32>>>(g_device[3]);
    finish_launch("elements_kernel");
    fetch(host, 3, sizeof host);
    for (int i = 0; i < 256; i++) expect_close("ones + 10 twos", (size_t)i, host[i], 21.0, 0.0);
    expect_equal("num_elements", 0, (long long)host[256], 8);
}

int main(void)
{
    for (int i = 0; i < 4; i++) g_device[i] = device_array<float>(ELEMS);
    try_layouts<16, 16, half, float, wmma::row_major, wmma::row_major>("16x16 half, float");
    try_layouts<16, 16, half, float, wmma::row_major, wmma::col_major>("16x16 half, float");
    try_layouts<16, 16, half, float, wmma::col_major, wmma::row_major>("16x16 half, float");
    try_layouts<16, 16, half, float, wmma::col_major, wmma::col_major>("16x16 half, float");
    try_layouts<32, 8, half, float, wmma::row_major, wmma::row_major>("32x8 half, float");
    try_layouts<32, 8, half, float, wmma::col_major, wmma::col_major>("32x8 half, float");
    try_layouts<8, 32, half, float, wmma::row_major, wmma::col_major>("8x32 half, float");
    try_layouts<8, 32, half, float, wmma::col_major, wmma::row_major>("8x32 half, float");
    try_layouts<16, 16, half, half, wmma::row_major, wmma::col_major>("16x16 half, half");
    try_layouts<32, 8, half, half, wmma::col_major, wmma::row_major>("32x8 half, half");
    try_layouts<8, 32, half, half, wmma::row_major, wmma::row_major>("8x32 half, half");
    try_bfloat16<16, 16>("16x16 bfloat16");
    try_bfloat16<32, 8>("32x8 bfloat16");
    try_bfloat16<8, 32>("8x32 bfloat16");
    try_elements();
    for (int i = 0; i < 4; i++) release(g_device[i]);
    return finish("wmma_tiles");
}
