/**
 * Inline PTX, wgmma as programs write it: accumulators one by one by reference, in a struct, in a function of its own, in registers of
 * the statement itself; fences for the compiler between; several groups in flight; a fragment of A loaded by ldmatrix; a wait in the
 * statement of the product. All of them multiply the same 64 x 16 and 16 x 8 matrices.
 */
#include "../testing.h"

#include <cuda_fp16.h>

#include <stdint.h>

enum { GROUP = 128, A_HALVES = 64 * 16, B_HALVES = 8 * 16, SUMS = 4, STYLES = 7 };

#define WGMMA "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 "

/** Where the matrices lie: cores of 8 rows of 16 bytes, the two along k 128 bytes apart, those along m 256. */
struct tiles {
    unsigned address;
    uint64_t a, b;
};

struct sums {
    float v[SUMS];
};

static __device__ void fence()
{
    asm volatile("wgmma.fence.sync.aligned;\n" ::: "memory");
}
static __device__ void commit()
{
    asm volatile("wgmma.commit_group.sync.aligned;\n" ::: "memory");
}
template <int GROUPS> static __device__ void wait()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;\n" ::"n"(GROUPS) : "memory");
}
/** For the compiler: the register does not move across it. */
static __device__ void pin(float &reg)
{
    asm volatile("" : "+f"(reg)::"memory");
}

/* One by one, scale-d and the signs as template arguments. */
template <int SCALE_D, int SCALE_A, int SCALE_B>
static __device__ void multiply_refs(uint64_t a, uint64_t b, float &d0, float &d1, float &d2, float &d3)
{
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %6, 0;\n" WGMMA
                 "{%0, %1, %2, %3}, %4, %5, p, %7, %8, 0, 0;\n}\n"
                 : "+f"(d0), "+f"(d1), "+f"(d2), "+f"(d3)
                 : "l"(a), "l"(b), "r"(SCALE_D), "n"(SCALE_A), "n"(SCALE_B));
}

static __device__ void by_reference(const tiles &t, float *out)
{
    float d0 = 7.0f, d1 = 7.0f, d2 = 7.0f, d3 = 7.0f;
    pin(d0), pin(d1), pin(d2), pin(d3);
    fence();
    multiply_refs<0, 1, 1>(t.a, t.b, d0, d1, d2, d3);
    multiply_refs<1, 1, -1>(t.a, t.b, d0, d1, d2, d3);
    multiply_refs<1, -1, -1>(t.a, t.b, d0, d1, d2, d3);
    commit();
    pin(d0), pin(d1), pin(d2), pin(d3); /* touches nothing */
    wait<0>();
    out[0] = d0, out[1] = d1, out[2] = d2, out[3] = d3;
}

/* A fragment of A by ldmatrix: eight rows of 16 bytes for each matrix, the halves of k 128 bytes apart. */
static __device__ void load_fragment(const tiles &t, uint32_t (&f)[4])
{
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const unsigned row = lane % 16, half_of_k = lane / 16;
    const unsigned at = t.address + (warp * 2 + row / 8) * 256 + half_of_k * 128 + row % 8 * 16;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(f[0]), "=r"(f[1]), "=r"(f[2]), "=r"(f[3])
                 : "r"(at)
                 : "memory");
}

static __device__ void from_fragment(const tiles &t, float *out)
{
    struct sums s = {{0}};
    uint32_t f[4];
    load_fragment(t, f);
    fence();
    asm volatile(WGMMA "{%0, %1, %2, %3}, {%4, %5, %6, %7}, %8, 0, 1, 1, 0;"
                 : "+f"(s.v[0]), "+f"(s.v[1]), "+f"(s.v[2]), "+f"(s.v[3])
                 : "r"(f[0]), "r"(f[1]), "r"(f[2]), "r"(f[3]), "l"(t.b));
    commit();
    wait<0>();
    for (int i = 0; i < SUMS; i++) out[i] = s.v[i];
}

/* The product and its wait in one statement; the sums in its own registers. */
static __device__ void in_one_statement(const tiles &t, float *out)
{
    float d[SUMS];
    asm volatile("{\n.reg .f32 s<4>;\n.reg .pred never;\nsetp.ne.u32 never, 0, 0;\n"
                 "mov.f32 s0, 0f00000000;\nmov.f32 s1, s0;\nmov.f32 s2, s0;\nmov.f32 s3, s0;\n"
                 "wgmma.fence.sync.aligned;\n" WGMMA "{s0, s1, s2, s3}, %4, %5, never, 1, 1, 0, 0;\n"
                 "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n"
                 "mov.f32 %0, s0;\nmov.f32 %1, s1;\nmov.f32 %2, s2;\nmov.f32 %3, s3;\n}"
                 : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
                 : "l"(t.a), "l"(t.b)
                 : "memory");
    for (int i = 0; i < SUMS; i++) out[i] = d[i];
}

/* A chain of groups of which always one is in flight, on two sets of sums. */
static __device__ void two_in_flight(const tiles &t, float *out)
{
    struct sums s[2] = {{{0}}};
    fence();
    for (int i = 0; i < 6; i++) {
        struct sums &now = s[i % 2];
        if (i < 2)
            multiply_refs<0, 1, 1>(t.a, t.b, now.v[0], now.v[1], now.v[2], now.v[3]);
        else
            multiply_refs<1, 1, 1>(t.a, t.b, now.v[0], now.v[1], now.v[2], now.v[3]);
        commit();
        wait<1>();
    }
    for (int i = 0; i < SUMS; i++) out[i] = s[0].v[i] / 3.0f; /* the last group is that of s[1] */
    wait<0>();
    for (int i = 0; i < SUMS; i++) out[i] += s[1].v[i] - 3.0f * out[i];
}

/* Sums that are read after every product, with a fence before each. */
static __device__ void step_by_step(const tiles &t, float *out)
{
    float total[SUMS] = {0}, d[SUMS];
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < SUMS; k++) d[k] = -2.0f * total[k];
        fence();
        multiply_refs<1, 1, 1>(t.a, t.b, d[0], d[1], d[2], d[3]);
        commit();
        wait<0>();
        for (int k = 0; k < SUMS; k++) total[k] += d[k]; /* P, then 0, then P */
    }
    for (int k = 0; k < SUMS; k++) out[k] = total[k];
}

/* Some warps come later than others. */
static __device__ void uneven(const tiles &t, float *out)
{
    struct sums s = {{0}};
    fence();
    if (threadIdx.x / 32 == 2) __nanosleep(100);
    multiply_refs<0, 1, 1>(t.a, t.b, s.v[0], s.v[1], s.v[2], s.v[3]);
    commit();
    if (threadIdx.x / 32 != 1) wait<0>();
    asm volatile("bar.sync 1, 128;" ::: "memory");
    if (threadIdx.x / 32 == 1) wait<0>();
    for (int i = 0; i < SUMS; i++) out[i] = s.v[i];
}

/* Scale-d decides whether what was there counts: a negated predicate. */
static __device__ void negated(const tiles &t, float *out)
{
    float d[SUMS] = {9.0f, 9.0f, 9.0f, 9.0f};
    fence();
    asm volatile("{\n.reg .pred p;\nsetp.eq.u64 p, %4, %4;\n" WGMMA
                 "{%0, %1, %2, %3}, %4, %5, !p, 1, 1, 0, 0;\n}"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "l"(t.a), "l"(t.b));
    commit();
    wait<0>();
    for (int i = 0; i < SUMS; i++) out[i] = d[i];
}

static __global__ void __launch_bounds__(GROUP)
    styles_kernel(const half *a, const half *b, float *out, int style)
{
    __shared__ __align__(128) half tile[A_HALVES + B_HALVES];
    for (int i = (int)threadIdx.x; i < A_HALVES + B_HALVES; i += GROUP)
        tile[i] = i < A_HALVES ? a[i] : b[i - A_HALVES];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    const unsigned address = (unsigned)__cvta_generic_to_shared(tile);
    const uint64_t offsets = (uint64_t)(128 >> 4) << 16 | (uint64_t)(256 >> 4) << 32;
    const tiles t = {address, offsets | address >> 4, offsets | (address + 2 * A_HALVES) >> 4};
    float sum[SUMS];
    switch (style) {
    case 0:
        by_reference(t, sum);
        break;
    case 1:
        from_fragment(t, sum);
        break;
    case 2:
        in_one_statement(t, sum);
        break;
    case 3:
        two_in_flight(t, sum);
        break;
    case 4:
        step_by_step(t, sum);
        break;
    case 5:
        uneven(t, sum);
        break;
    default:
        negated(t, sum);
    }
    for (int i = 0; i < SUMS; i++) out[SUMS * threadIdx.x + i] = sum[i];
}

int main(void)
{
    static half a[A_HALVES], b[B_HALVES];
    static float got[GROUP * SUMS];
    double x[64][16], y[8][16];
    unsigned state = 99;
    for (int row = 0; row < 64; row++)
        for (int k = 0; k < 16; k++) {
            x[row][k] = (int)(next_random(&state) % 9) - 4;
            a[row / 8 * 128 + k / 8 * 64 + row % 8 * 8 + k % 8] = __float2half((float)x[row][k]);
        }
    for (int column = 0; column < 8; column++)
        for (int k = 0; k < 16; k++) {
            y[column][k] = (int)(next_random(&state) % 9) - 4;
            b[k / 8 * 64 + column * 8 + k % 8] = __float2half((float)y[column][k]);
        }
    half *device_a = upload(a, A_HALVES), *device_b = upload(b, B_HALVES);
    float *out = device_array<float>(GROUP * SUMS);
    for (int style = 0; style < STYLES; style++) {
        styles_kernel<<<1, GROUP>>>(device_a, device_b, out, style);
        finish_launch("styles_kernel");
        download(got, out, GROUP * SUMS);
        for (int thread = 0; thread < GROUP; thread++)
            for (int i = 0; i < SUMS; i++) {
                const int row = thread / 32 * 16 + thread % 32 / 4 + i / 2 * 8,
                          column = thread % 4 * 2 + i % 2;
                double sum = 0;
                for (int k = 0; k < 16; k++) sum += x[row][k] * y[column][k];
                if (style == 3) sum = sum + (3 * sum - 3 * sum);
                if (style == 4) sum = sum + (sum - 2 * sum) + (sum - 2 * (sum + (sum - 2 * sum)));
                expect_close("sum", (size_t)style * 10000 + thread * 10 + i, got[thread * SUMS + i], sum, 0);
            }
    }
    release(device_a);
    release(device_b);
    release(out);
    return finish("ptx_wgmma_styles");
}
