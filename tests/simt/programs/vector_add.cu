/**
 * Vector add: the smallest whole program. Shown: one thread per element, a tail that is guarded, lengths
 * around the block size.
 */
#include "../testing.h"

enum { THREADS = 128 };

static __global__ void vector_add_kernel(const float *a, /* [n] */
                                         const float *b, /* [n] */
                                         float *c,       /* [n] */
                                         int n)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) c[i] = a[i] + b[i];
}

static void run(int n)
{
    float *host_a = host_array<float>(n), *host_b = host_array<float>(n), *host_c = host_array<float>(n);
    unsigned state = 1u + (unsigned)n;
    for (int i = 0; i < n; i++) {
        host_a[i] = next_float(&state);
        host_b[i] = next_float(&state);
    }
    float *a = upload(host_a, n), *b = upload(host_b, n), *c = device_array<float>(n);
    vector_add_kernel<<<(n + THREADS - 1) / THREADS, THREADS>>>(a, b, c, n);
    finish_launch("vector_add_kernel");
    download(host_c, c, n);
    for (int i = 0; i < n; i++) expect_close("c", i, host_c[i], host_a[i] + host_b[i], 0.0);
    release(a);
    release(b);
    release(c);
    free(host_a);
    free(host_b);
    free(host_c);
}

int main(void)
{
    const int sizes[] = {1, 31, 127, 128, 129, 1009, 10007};
    for (int n : sizes) run(n);
    return finish("vector_add");
}
