/**
 * Products of single tiles by nvcuda::wmma on bytes, TF32 and double: every shape and every pair of layouts, from device and from
 * shared memory, exact in every number; sums of bytes that leave the range of int; and where a lane's elements lie in the tile.
 */
#include "../testing.h"

#include <limits.h>
#include <mma.h>
#include <type_traits>

using namespace nvcuda;

enum { LEADING = 48, LINES = 32, ELEMS = LEADING * LINES };

template <typename Layout> static constexpr bool is_row_major = std::is_same<Layout, wmma::row_major>::value;

/** What memory holds of a fragment's elements. */
template <typename T> struct stored {
    typedef T type;
};
template <> struct stored<wmma::precision::tf32> {
    typedef float type;
};

/** d = a b + c by one warp, through shared memory or not. */
template <int M, int N, int K, typename T, typename Sum, typename LayoutA, typename LayoutB>
static __global__ void tile_kernel(const typename stored<T>::type *a, const typename stored<T>::type *b,
                                   const Sum *c, Sum *d, int row_major, int through_shared)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    __shared__ __align__(32) typename stored<T>::type tile_a[ELEMS], tile_b[ELEMS];
    const wmma::layout_t layout = row_major ? wmma::mem_row_major : wmma::mem_col_major;
    wmma::fragment<wmma::matrix_a, M, N, K, T, LayoutA> fragment_a;
    wmma::fragment<wmma::matrix_b, M, N, K, T, LayoutB> fragment_b;
    wmma::fragment<wmma::accumulator, M, N, K, Sum> sum;
    if (through_shared) {
        for (int i = (int)threadIdx.x; i < ELEMS; i += 32) {
            tile_a[i] = a[i];
            tile_b[i] = b[i];
        }
        __syncwarp(); /* lanes load what others have written */
    }
    wmma::load_matrix_sync(fragment_a, through_shared ? tile_a : a, LEADING);
    wmma::load_matrix_sync(fragment_b, through_shared ? tile_b : b, LEADING);
    wmma::load_matrix_sync(sum, c, LEADING, layout);
    wmma::mma_sync(sum, fragment_a, fragment_b, sum);
    wmma::store_matrix_sync(d, sum, LEADING, layout);
#endif
}

/** Small integers: products and sums are exact in every type, and TF32 loses nothing. */
template <typename T> static T small_value(unsigned *state)
{
    const int value = (int)(next_random(state) >> 8) % 201;
    return (T)(std::is_same<T, unsigned char>::value ? value + 50 : value - 100);
}

template <int M, int N, int K, typename T, typename Sum, typename LayoutA, typename LayoutB>
static void try_tile(const char *what, int row_major, int through_shared)
{
    typedef typename stored<T>::type Elem;
    static Elem a[ELEMS], b[ELEMS];
    static Sum c[ELEMS], d[ELEMS];
    unsigned state = 3;
    for (int i = 0; i < ELEMS; i++) {
        a[i] = small_value<Elem>(&state);
        b[i] = small_value<Elem>(&state);
        c[i] = small_value<Sum>(&state);
    }
    Elem *device_a = upload(a, ELEMS), *device_b = upload(b, ELEMS);
    Sum *device_c = upload(c, ELEMS), *device_d = upload(c, ELEMS);
    tile_kernel<M, N, K, T, Sum, LayoutA, LayoutB>
        <<<1, 32>>>(device_a, device_b, device_c, device_d, row_major, through_shared);
    finish_launch(what);
    download(d, device_d, ELEMS);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            const int at = row_major ? i * LEADING + j : j * LEADING + i;
            double sum = (double)c[at];
            for (int k = 0; k < K; k++)
                sum += (double)a[is_row_major<LayoutA> ? i * LEADING + k : k * LEADING + i] *
                       (double)b[is_row_major<LayoutB> ? k * LEADING + j : j * LEADING + k];
            expect_close(what, (size_t)(i * N + j), (double)d[at], sum, 0.0);
        }
    release(device_a), release(device_b), release(device_c), release(device_d);
}

template <int M, int N, int K, typename T, typename Sum> static void try_layouts(const char *what)
{
    try_tile<M, N, K, T, Sum, wmma::row_major, wmma::row_major>(what, 1, 0);
    try_tile<M, N, K, T, Sum, wmma::row_major, wmma::col_major>(what, 0, 1);
    try_tile<M, N, K, T, Sum, wmma::col_major, wmma::row_major>(what, 1, 1);
    try_tile<M, N, K, T, Sum, wmma::col_major, wmma::col_major>(what, 0, 0);
}

/* ---- sums of bytes at the ends of the range -------------------------------------------------------------- */

static __global__ void ends_kernel(int *out)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    wmma::fragment<wmma::matrix_a, 16, 16, 16, signed char, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, signed char, wmma::col_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, int> start, sum;
    wmma::fill_fragment(b, 127);
    for (int i = 0; i < 4; i++) {
        wmma::fill_fragment(a, i % 2 ? -128 : 127);
        wmma::fill_fragment(start, i % 2 ? INT_MIN : INT_MAX);
        wmma::mma_sync(sum, a, b, start, i / 2);
        wmma::store_matrix_sync(out + 256 * i, sum, 16, wmma::mem_row_major);
    }
#endif
}

static void try_ends(void)
{
    static int host[4 * 256];
    const long long expected[4] = {INT_MIN + 16 * 127 * 127 - 1LL, INT_MAX - 16 * 128 * 127 + 1LL, INT_MAX,
                                   INT_MIN};
    int *out = device_array<int>(4 * 256);
    ends_kernel<<<1, 32>>>(out);
    finish_launch("ends_kernel");
    download(host, out, 4 * 256);
    for (int i = 0; i < 4 * 256; i++)
        expect_equal(i < 512 ? "wrapped" : "saturated", (size_t)i, host[i], expected[i / 256]);
    release(out);
}

/* ---- where elements lie ---------------------------------------------------------------------------------- */

template <typename Use, int M, int N, int K, typename T, typename Layout>
static __global__ void places_kernel(const typename stored<T>::type *tile, float *out)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    wmma::fragment<Use, M, N, K, T, Layout> fragment;
    wmma::load_matrix_sync(fragment, tile, 16);
    for (int i = 0; i < fragment.num_elements; i++)
        out[fragment.num_elements * (int)threadIdx.x + i] = (float)fragment.x[i];
#endif
}

/** Element i of lane 4g + t lies at line 8 (i / SPAN) + g (along m or n) and at 4t + i % 4, or t, of it (along k). */
template <typename Use, int M, int N, int K, typename T, typename Layout>
static void try_places(const char *what, int count, int (*place)(int lane, int i))
{
    typedef typename stored<T>::type Elem;
    static Elem tile[512];
    static float host[32 * 16];
    for (int i = 0; i < 512; i++) tile[i] = (Elem)(std::is_same<T, signed char>::value ? i % 251 - 125 : i);
    Elem *device_tile = upload(tile, 512);
    float *out = device_array<float>(32 * 16);
    places_kernel<Use, M, N, K, T, Layout><<<1, 32>>>(device_tile, out);
    finish_launch(what);
    download(host, out, (size_t)(32 * count));
    for (int i = 0; i < 32 * count; i++)
        expect_close(what, (size_t)i, host[i], (double)tile[place(i / count, i % count)], 0.0);
    release(device_tile), release(out);
}

static int place_of_byte(int lane, int i)
{
    return 16 * (8 * (i / 4) + lane / 4) + 4 * (lane % 4) + i % 4;
}
static int place_in_a(int lane, int i)
{
    return 16 * (8 * (i % 2) + lane / 4) + 4 * (i / 2) + lane % 4;
}
static int place_in_b(int lane, int i)
{
    return 16 * (8 * (i / 2) + lane / 4) + 4 * (i % 2) + lane % 4;
}

int main(void)
{
    cudaDeviceProp properties;
    require(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
    if (properties.major < 8) return finish("wmma_types");
    try_layouts<16, 16, 16, signed char, int>("16x16 signed char");
    try_layouts<32, 8, 16, signed char, int>("32x8 signed char");
    try_layouts<8, 32, 16, signed char, int>("8x32 signed char");
    try_layouts<16, 16, 16, unsigned char, int>("16x16 unsigned char");
    try_layouts<32, 8, 16, unsigned char, int>("32x8 unsigned char");
    try_layouts<8, 32, 16, unsigned char, int>("8x32 unsigned char");
    try_layouts<16, 16, 8, wmma::precision::tf32, float>("16x16x8 TF32");
    try_layouts<8, 8, 4, double, double>("8x8x4 double");
    try_ends();
    try_places<wmma::matrix_a, 16, 16, 16, signed char, wmma::row_major>("x[] of bytes", 8, place_of_byte);
    try_places<wmma::matrix_b, 8, 32, 16, signed char, wmma::col_major>("x[] of bytes", 16, place_of_byte);
    try_places<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major>("x[] of TF32", 4,
                                                                                  place_in_a);
    try_places<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::col_major>("x[] of TF32", 4,
                                                                                  place_in_b);
    try_places<wmma::matrix_a, 8, 8, 4, double, wmma::row_major>("x[] of double", 1, place_in_a);
    return finish("wmma_types");
}
