/**
 * Inline PTX on memory: loads and stores of every width with cache hints, vectors, shared memory by 32-bit addresses, address
 * conversions, atomics and reductions with their scopes, fences.
 */
#include "../testing.h"

#include <stdint.h>

enum { THREADS = 64 };

static __device__ unsigned shared_address(const void *pointer)
{
    return (unsigned)__cvta_generic_to_shared(pointer);
}

/** Bytes and halves with their signs, words, vectors; device memory to shared memory and back. */
static __global__ void load_store_kernel(const int *in, int *out)
{
    __shared__ __align__(16) int tile[4 * THREADS];
    const int i = (int)threadIdx.x;
    int a, b, c, d, byte, half;
    unsigned ubyte;
    asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.s32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
                 : "l"(in + 4 * i)
                 : "memory");
    asm volatile("st.shared.v4.s32 [%0], {%1, %2, %3, %4};"
                 :
                 : "r"(shared_address(&tile[4 * i])), "r"(d), "r"(c), "r"(b), "r"(a)
                 : "memory");
    __syncthreads();
    asm volatile("ld.shared.s8 %0, [%1+3];" : "=r"(byte) : "r"(shared_address(&tile[i])) : "memory");
    asm volatile("ld.volatile.shared.u8 %0, [%1+3];"
                 : "=r"(ubyte)
                 : "r"(shared_address(&tile[i]))
                 : "memory");
    asm volatile("ld.shared.s16 %0, [%1+2];"
                 : "=r"(half)
                 : "l"(__cvta_generic_to_shared(&tile[i]))
                 : "memory");
    asm volatile("ld.b32 %0, [%1];"
                 : "=r"(a)
                 : "l"(&tile[(i + 5) % (4 * THREADS)])
                 : "memory"); /* a generic pointer */
    asm volatile("st.global.cs.v2.b32 [%0], {%1, %2};"
                 :
                 : "l"(out + 4 * i), "r"(byte), "r"(ubyte)
                 : "memory");
    asm volatile("st.global.wt.b32 [%0+8], %1;" : : "l"(out + 4 * i), "r"(half) : "memory");
    asm volatile("st.b32 [%0+12], %1;" : : "l"(out + 4 * i), "r"(a) : "memory");
}

static void check_loads(void)
{
    static int host[4 * THREADS], result[4 * THREADS], tile[4 * THREADS];
    for (int i = 0; i < 4 * THREADS; i++) host[i] = (int)(0x9e3779b9u * (unsigned)(i + 1));
    int *in = upload(host, 4 * THREADS), *out = device_array<int>(4 * THREADS);
    load_store_kernel<<<1, THREADS>>>(in, out);
    finish_launch("load_store_kernel");
    download(result, out, 4 * THREADS);
    for (int i = 0; i < 4 * THREADS; i++) tile[i] = host[4 * (i / 4) + 3 - i % 4];
    for (int i = 0; i < THREADS; i++) {
        expect_equal("s8", (size_t)i, result[4 * i], (signed char)((unsigned)tile[i] >> 24));
        expect_equal("u8", (size_t)i, result[4 * i + 1], (unsigned)tile[i] >> 24);
        expect_equal("s16", (size_t)i, result[4 * i + 2], (short)((unsigned)tile[i] >> 16));
        expect_equal("generic", (size_t)i, result[4 * i + 3], tile[i + 5]);
    }
    release(in);
    release(out);
}

/** Addresses there and back; which space a pointer is in. */
static __global__ void address_kernel(int *out)
{
    __shared__ __align__(1024) int tile[THREADS];
    extern __shared__ int dynamic[];
    const int i = (int)threadIdx.x;
    unsigned long long offset, back;
    int in_shared, in_global, size;
    asm("{ .reg .u64 t; cvta.to.shared.u64 t, %2; mov.b64 %0, t; cvta.shared.u64 %1, t; }"
        : "=l"(offset), "=l"(back)
        : "l"(&tile[i]));
    asm("{ .reg .pred p; isspacep.shared p, %1; selp.s32 %0, 1, 0, p; }" : "=r"(in_shared) : "l"(&tile[i]));
    asm("{ .reg .pred p; isspacep.global p, %1; selp.s32 %0, 1, 0, p; }" : "=r"(in_global) : "l"(out));
    asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(size));
    tile[i] = dynamic[i] = i;
    const int apart = (int)(shared_address(&dynamic[i]) - shared_address(&dynamic[0])) == 4 * i;
    const int aligned = shared_address(tile) % 1024 == 0;
    out[i] = offset == shared_address(&tile[i]) && offset >> 32 == 0 && (int *)back == &tile[i] &&
             __cvta_shared_to_generic(offset) == (void *)&tile[i] && in_shared && in_global &&
             size == 4 * THREADS && apart && aligned;
}

static void check_addresses(void)
{
    static int result[THREADS];
    int *out = device_array<int>(THREADS);
    address_kernel<<<1, THREADS, 4 * THREADS>>>(out);
    finish_launch("address_kernel");
    download(result, out, THREADS);
    for (int i = 0; i < THREADS; i++) expect_equal("address", (size_t)i, result[i], 1);
    release(out);
}

enum { SUM, LEAST, MOST, BITS, LAST, SWAPS, WRAPPED, FLOATS, HALVES, SHARED_SUM, SLOTS };

static __global__ void atomic_kernel(int *slot)
{
    __shared__ int sum;
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    int last, swapped;
    unsigned most, wrapped;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    asm volatile("red.global.add.s32 [%0], %1;" : : "l"(slot + SUM), "r"(i) : "memory");
    asm volatile("red.global.gpu.relaxed.min.s32 [%0], %1;" : : "l"(slot + LEAST), "r"(-i) : "memory");
    asm volatile("atom.global.max.u32 %0, [%1], %2;" : "=r"(most) : "l"(slot + MOST), "r"(i) : "memory");
    asm volatile("red.global.or.b32 [%0], %1;" : : "l"(slot + BITS), "r"(1 << i % 20) : "memory");
    asm volatile("atom.acq_rel.gpu.global.exch.b32 %0, [%1], %2;"
                 : "=r"(last)
                 : "l"(slot + LAST), "r"(7)
                 : "memory");
    asm volatile("atom.global.cas.b32 %0, [%1], %2, %3;"
                 : "=r"(swapped)
                 : "l"(slot + SWAPS), "r"(0), "r"(11)
                 : "memory");
    asm volatile("atom.global.inc.u32 %0, [%1], %2;"
                 : "=r"(wrapped)
                 : "l"(slot + WRAPPED), "r"(9)
                 : "memory");
    asm volatile("red.global.add.f32 [%0], %1;" : : "l"(slot + FLOATS), "f"(0.5f) : "memory");
    asm volatile("red.global.add.noftz.f16x2 [%0], %1;" : : "l"(slot + HALVES), "r"(0x3c004000) : "memory");
    asm volatile("red.shared.add.s32 [%0], %1;" : : "r"(shared_address(&sum)), "r"(2) : "memory");
    asm volatile("membar.gl; fence.acq_rel.gpu;" : : : "memory");
    __syncthreads();
    if ((last != 0 && last != 7) || (swapped != 0 && swapped != 11) || most > 2 * THREADS || wrapped > 9)
        slot[SUM] = -1; /* never: what was there before is one of these */
    if (threadIdx.x == 0)
        asm volatile("red.add.s32 [%0], %1;" : : "l"(slot + SHARED_SUM), "r"(sum) : "memory");
}

static void check_atomics(void)
{
    enum { ALL = 2 * THREADS };
    static int slot[SLOTS];
    int *device = upload(slot, SLOTS);
    atomic_kernel<<<2, THREADS>>>(device);
    finish_launch("atomic_kernel");
    download(slot, device, SLOTS);
    const int expected[SLOTS] = {ALL * (ALL - 1) / 2, 1 - ALL,    ALL - 1, (1 << 20) - 1, 7, 11, ALL % 10,
                                 0x42800000,          0x58005c00, 2 * ALL};
    for (int i = 0; i < SLOTS; i++) expect_equal("atomic", (size_t)i, slot[i], expected[i]);
    release(device);
}

/** Sums that one instruction adds two or four of: sm_90. */
static __global__ void vector_sum_kernel(float *sum)
{
    asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};"
                 :
                 : "l"(sum), "f"(1.0f), "f"(2.0f), "f"(3.0f), "f"((float)threadIdx.x)
                 : "memory");
}

static void check_vector_sums(void)
{
    static float sum[4];
    float *device = upload(sum, 4);
    vector_sum_kernel<<<1, THREADS>>>(device);
    finish_launch("vector_sum_kernel");
    download(sum, device, 4);
    const float expected[4] = {THREADS, 2 * THREADS, 3 * THREADS, THREADS * (THREADS - 1) / 2};
    for (int i = 0; i < 4; i++) expect_close("sum", (size_t)i, (double)sum[i], (double)expected[i], 0.0);
    release(device);
}

/* The address of an element of a restrict pointer, in a template: g++ gives it a type that no reference binds to. */
template <typename T> static __global__ void restrict_kernel(const T *__restrict__ in, T *__restrict__ out)
{
    T value;
    asm volatile("ld.global.u32 %0, [%1];" : "=r"(value) : "l"(&in[threadIdx.x]) : "memory");
    asm volatile("st.global.u32 [%0], %1;" ::"l"(&out[threadIdx.x]), "r"(value + 1) : "memory");
}

static void check_restrict(void)
{
    unsigned host[THREADS];
    for (unsigned i = 0; i < THREADS; i++) host[i] = 3 * i;
    unsigned *in = upload(host, THREADS), *out = device_array<unsigned>(THREADS);
    restrict_kernel<unsigned><<<1, THREADS>>>(in, out);
    finish_launch("restrict_kernel");
    download(host, out, THREADS);
    for (unsigned i = 0; i < THREADS; i++) expect_equal("restrict", i, host[i], 3 * i + 1);
    release(in);
    release(out);
}

int main(void)
{
    check_restrict();
    check_loads();
    check_addresses();
    check_atomics();
    check_vector_sums();
    return finish("ptx_memory");
}
