/**
 * Kernels of one warp whose traffic by inline PTX is known: as matrix.cu, to hold the software device against the hardware's
 * counters. ptx.expected has what the device must say.
 *
 * A tile is filled by 36 stores of a word a lane, without conflicts; a word a lane leaves by one store.
 */
#include "../testing.h"

#include <stdint.h>

enum { LANES = 32, WORDS = 36 * LANES, MOST = 1024 };

static __device__ unsigned shared_address(const void *pointer)
{
    return (unsigned)__cvta_generic_to_shared(pointer);
}

static __device__ void fill_tile(uint32_t *tile)
{
    for (int i = (int)threadIdx.x; i < WORDS; i += LANES) tile[i] = (uint32_t)i;
    __syncwarp(); /* lanes load what others have written */
}

/** Rows lie that many words apart; lane l gives row l. */
template <int PITCH> static __device__ void load_four(uint32_t *out)
{
    __shared__ __align__(128) uint32_t tile[WORDS];
    uint32_t a, b, c, d;
    fill_tile(tile);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
                 : "r"(shared_address(&tile[PITCH * (int)threadIdx.x]))
                 : "memory");
    out[threadIdx.x] = a + b + c + d;
}

static __global__ void ldmatrix_x4_pitch_4_kernel(const uint32_t *, uint32_t *out)
{
    load_four<4>(out);
}
static __global__ void ldmatrix_x4_pitch_8_kernel(const uint32_t *, uint32_t *out)
{
    load_four<8>(out);
}
static __global__ void ldmatrix_x4_pitch_32_kernel(const uint32_t *, uint32_t *out)
{
    load_four<32>(out);
}
static __global__ void ldmatrix_x4_pitch_36_kernel(const uint32_t *, uint32_t *out)
{
    load_four<36>(out);
}

static __global__ void ldmatrix_x1_pitch_32_kernel(const uint32_t *, uint32_t *out)
{
    __shared__ __align__(128) uint32_t tile[WORDS];
    uint32_t a;
    fill_tile(tile);
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
                 : "=r"(a)
                 : "r"(shared_address(&tile[32 * ((int)threadIdx.x % 8)]))
                 : "memory");
    out[threadIdx.x] = a;
}

static __global__ void ldmatrix_x2_trans_pitch_36_kernel(const uint32_t *, uint32_t *out)
{
    __shared__ __align__(128) uint32_t tile[WORDS];
    uint32_t a, b;
    fill_tile(tile);
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(a), "=r"(b)
                 : "r"(shared_address(&tile[36 * ((int)threadIdx.x % 16)]))
                 : "memory");
    out[threadIdx.x] = a + b;
}

template <int PITCH> static __device__ void store_four(uint32_t *out)
{
    __shared__ __align__(128) uint32_t tile[WORDS];
    fill_tile(tile);
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %1, %1, %1};"
                 :
                 : "r"(shared_address(&tile[PITCH * (int)threadIdx.x])), "r"((int)threadIdx.x)
                 : "memory");
    __syncwarp();
    out[threadIdx.x] = tile[threadIdx.x];
}
static __global__ void stmatrix_x4_pitch_32_kernel(const uint32_t *, uint32_t *out)
{
    store_four<32>(out);
}
static __global__ void stmatrix_x4_pitch_36_kernel(const uint32_t *, uint32_t *out)
{
    store_four<36>(out);
}

static __global__ void ld_global_v4_kernel(const uint32_t *in, uint32_t *out)
{
    uint32_t a, b, c, d;
    asm volatile("ld.global.nc.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
                 : "l"(in + 4 * threadIdx.x));
    out[threadIdx.x] = a + b + c + d;
}

static __global__ void st_shared_v4_kernel(const uint32_t *, uint32_t *out)
{
    __shared__ __align__(128) uint32_t tile[WORDS];
    asm volatile("st.shared.v4.b32 [%0], {%1, %1, %1, %1};"
                 :
                 : "r"(shared_address(&tile[4 * threadIdx.x])), "r"((int)threadIdx.x)
                 : "memory");
    __syncwarp();
    uint32_t a;
    asm volatile("ld.shared.b32 %0, [%1];"
                 : "=r"(a)
                 : "r"(shared_address(&tile[2 * threadIdx.x]))
                 : "memory");
    out[threadIdx.x] = a;
}

/** A row of 16 bytes per lane, one after the other in both memories. */
static __global__ void cp_async_16_kernel(const uint32_t *in, uint32_t *out)
{
    __shared__ __align__(128) uint32_t tile[WORDS];
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16; cp.async.wait_all;"
                 :
                 : "r"(shared_address(&tile[4 * threadIdx.x])), "l"(in + 4 * threadIdx.x)
                 : "memory");
    __syncwarp();
    out[threadIdx.x] = tile[threadIdx.x];
}

/* Four rows of eight chunks of 16 bytes, each chunk at another place of its row: number by lane; the first bytes come back. */
static __device__ void copy_chunk(const uint32_t *in, uint32_t *out, int from, int to)
{
    __shared__ __align__(128) uint32_t tile[WORDS];
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16; cp.async.wait_all;"
                 :
                 : "r"(shared_address(&tile[4 * to])), "l"(in + 4 * from)
                 : "memory");
    __syncwarp();
    out[threadIdx.x] = tile[threadIdx.x];
}
static __global__ void cp_async_16_swizzled_kernel(const uint32_t *in, uint32_t *out)
{
    const int row = (int)threadIdx.x / 8, chunk = (int)threadIdx.x % 8;
    copy_chunk(in, out, row * 8 + chunk, row * 8 + (chunk ^ (row + 1)));
}
static __global__ void cp_async_16_rotated_kernel(const uint32_t *in, uint32_t *out)
{
    const int row = (int)threadIdx.x / 8, chunk = (int)threadIdx.x % 8;
    copy_chunk(in, out, row * 8 + chunk, row * 8 + (chunk + 3) % 8);
}
static __global__ void cp_async_16_half_lines_kernel(const uint32_t *in, uint32_t *out)
{
    const int row = (int)threadIdx.x / 4, chunk = (int)threadIdx.x % 4;
    copy_chunk(in, out, row * 8 + chunk, (row * 4 + chunk) ^ row / 2);
}
/* The same four chunks for every row: each line of shared memory gets them twice. */
static __global__ void cp_async_16_half_a_line_for_all_kernel(const uint32_t *in, uint32_t *out)
{
    copy_chunk(in, out, (int)threadIdx.x % 4, (int)threadIdx.x);
}
/* And a sector earlier, so that every other row lies in two lines. */
static __global__ void cp_async_16_half_a_line_for_all_earlier_kernel(const uint32_t *in, uint32_t *out)
{
    copy_chunk(in, out, (int)threadIdx.x % 4, ((int)threadIdx.x + 30) % 32);
}

int main(void)
{
    static uint32_t host[MOST], result[LANES];
    for (int i = 0; i < MOST; i++) host[i] = (uint32_t)i;
    uint32_t *in = upload(host, MOST), *out = device_array<uint32_t>(LANES);
    ldmatrix_x4_pitch_4_kernel<<<1, LANES>>>(in, out);
    ldmatrix_x4_pitch_8_kernel<<<1, LANES>>>(in, out);
    ldmatrix_x4_pitch_32_kernel<<<1, LANES>>>(in, out);
    ldmatrix_x4_pitch_36_kernel<<<1, LANES>>>(in, out);
    ldmatrix_x1_pitch_32_kernel<<<1, LANES>>>(in, out);
    ldmatrix_x2_trans_pitch_36_kernel<<<1, LANES>>>(in, out);
    stmatrix_x4_pitch_32_kernel<<<1, LANES>>>(in, out);
    stmatrix_x4_pitch_36_kernel<<<1, LANES>>>(in, out);
    ld_global_v4_kernel<<<1, LANES>>>(in, out);
    st_shared_v4_kernel<<<1, LANES>>>(in, out);
    cp_async_16_kernel<<<1, LANES>>>(in, out);
    finish_launch("cp_async_16_kernel");
    download(result, out, LANES);
    for (int i = 0; i < LANES; i++) expect_equal("copied", (size_t)i, result[i], i);
    cp_async_16_swizzled_kernel<<<1, LANES>>>(in, out);
    cp_async_16_rotated_kernel<<<1, LANES>>>(in, out);
    cp_async_16_half_lines_kernel<<<1, LANES>>>(in, out);
    finish_launch("cp_async_16_half_lines_kernel");
    download(result, out, LANES);
    for (int i = 0; i < LANES; i++)
        expect_equal("a row's first half", (size_t)i, result[i], i / 16 * 32 + i % 16);
    cp_async_16_half_a_line_for_all_kernel<<<1, LANES>>>(in, out);
    cp_async_16_half_a_line_for_all_earlier_kernel<<<1, LANES>>>(in, out);
    finish_launch("cp_async_16_half_a_line_for_all_earlier_kernel");
    download(result, out, LANES);
    for (int i = 0; i < LANES; i++)
        expect_equal("a row from its middle on", (size_t)i, result[i], (i + 8) % 16);
    release(in);
    release(out);
    return finish("ptx");
}
