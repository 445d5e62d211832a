/**
 * C = A B by tiles in shared memory, as a template over the tile's side and the element type. Shown: template
 * launches, a barrier before a tile is used and one before it is overwritten, sides that leave ragged tiles.
 */
#include "../testing.h"

template <typename T, int TILE>
static __global__ void matrix_product_kernel(const T *a, /* [m, k] */
                                             const T *b, /* [k, n] */
                                             T *c,       /* [m, n] */
                                             int m, int n, int k)
{
    __shared__ T a_tile[TILE][TILE], b_tile[TILE][TILE];
    const int row = (int)(blockIdx.y * TILE + threadIdx.y), column = (int)(blockIdx.x * TILE + threadIdx.x);
    T sum = 0;
    for (int first = 0; first < k; first += TILE) {
        const int a_column = first + (int)threadIdx.x, b_row = first + (int)threadIdx.y;
        a_tile[threadIdx.y][threadIdx.x] = row < m && a_column < k ? a[(size_t)row * k + a_column] : T(0);
        b_tile[threadIdx.y][threadIdx.x] = b_row < k && column < n ? b[(size_t)b_row * n + column] : T(0);
        __syncthreads(); /* both tiles are complete */
        for (int i = 0; i < TILE; i++) sum += a_tile[threadIdx.y][i] * b_tile[i][threadIdx.x];
        __syncthreads(); /* nobody needs these tiles any more */
    }
    if (row < m && column < n) c[(size_t)row * n + column] = sum;
}

template <typename T, int TILE> static void run(int m, int n, int k, double tolerance)
{
    T *host_a = host_array<T>((size_t)m * k), *host_b = host_array<T>((size_t)k * n);
    T *host_c = host_array<T>((size_t)m * n);
    unsigned state = 23;
    for (int i = 0; i < m * k; i++) host_a[i] = (T)next_float(&state);
    for (int i = 0; i < k * n; i++) host_b[i] = (T)next_float(&state);
    T *a = upload(host_a, (size_t)m * k), *b = upload(host_b, (size_t)k * n);
    T *c = device_array<T>((size_t)m * n);
    const dim3 grid((n + TILE - 1) / TILE, (m + TILE - 1) / TILE);
    matrix_product_kernel<T, TILE><<<grid, dim3(TILE, TILE)>>>(a, b, c, m, n, k);
    finish_launch("matrix_product_kernel");
    download(host_c, c, (size_t)m * n);
    for (int i = 0; i < m * n; i++) {
        double sum = 0.0;
        for (int j = 0; j < k; j++) sum += (double)host_a[i / n * k + j] * host_b[j * n + i % n];
        expect_close("c", i, host_c[i], sum, tolerance);
    }
    release(a);
    release(b);
    release(c);
    free(host_a);
    free(host_b);
    free(host_c);
}

int main(void)
{
    run<float, 16>(64, 48, 32, 1e-4);
    run<float, 16>(37, 29, 41, 1e-4);
    run<float, 8>(1, 65, 127, 1e-4);
    run<double, 8>(33, 17, 25, 1e-12);
    return finish("matrix_product");
}
