/**
 * Attention as FlashAttention-2 has it, on inline PTX from end to end: cp.async brings tiles of K and V to shared memory two
 * deep, ldmatrix makes fragments of them, mma.sync multiplies, ex2.approx exponentiates, and the fragment of P is used as it lies.
 * One block of four warps has 64 queries, a warp 16 of them. Half precision in and out, float sums; held against double.
 */
#include "../testing.h"

#include <stdint.h>
#include <string.h>

enum { HEAD_DIM = 64, TILE_Q = 64, TILE_KV = 32, WARPS = TILE_Q / 16, THREADS = 32 * WARPS };
enum {
    PITCH = HEAD_DIM + 8,
    ROW_CHUNKS = HEAD_DIM / 8
}; /* rows 144 bytes apart: eight of them fall on all banks */

typedef uint16_t half_bits;

/* ---- the instructions */

static __device__ __forceinline__ unsigned shared_address(const void *pointer)
{
    return (unsigned)__cvta_generic_to_shared(pointer);
}

/** 16 bytes, or zeros where there is no row. */
static __device__ __forceinline__ void copy_async(void *to, const void *from, bool there)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"(shared_address(to)), "l"(from), "r"(there ? 16 : 0)
                 : "memory");
}
static __device__ __forceinline__ void commit(void)
{
    asm volatile("cp.async.commit_group;" : : : "memory");
}
template <int LEFT> static __device__ __forceinline__ void wait(void)
{
    asm volatile("cp.async.wait_group %0;" : : "n"(LEFT) : "memory");
}

static __device__ __forceinline__ void load_matrices(uint32_t (&r)[4], const half_bits *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row))
                 : "memory");
}
static __device__ __forceinline__ void load_transposed(uint32_t (&r)[4], const half_bits *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row))
                 : "memory");
}
static __device__ __forceinline__ void multiply(float (&d)[4], const uint32_t (&a)[4], uint32_t b0,
                                                uint32_t b1)
{
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
static __device__ __forceinline__ float exp2_approx(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ uint32_t pack_halves(float low, float high)
{
    uint32_t d;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(d) : "f"(high), "f"(low));
    return d;
}
/** The greatest, or the sum, over the four lanes that share a row. */
static __device__ __forceinline__ float row_max(float x)
{
    x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
    return fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
}
static __device__ __forceinline__ float row_sum(float x)
{
    x += __shfl_xor_sync(0xffffffffu, x, 1);
    return x + __shfl_xor_sync(0xffffffffu, x, 2);
}

/* ---- the kernel */

struct tiles {
    half_bits k[2][TILE_KV][PITCH], v[2][TILE_KV][PITCH];
};

static __device__ __forceinline__ void begin_tile(half_bits (*tile)[PITCH], const half_bits *from, int first,
                                                  int kv_len)
{
    for (int chunk = (int)threadIdx.x; chunk < TILE_KV * ROW_CHUNKS; chunk += THREADS) {
        const int row = chunk / ROW_CHUNKS, column = chunk % ROW_CHUNKS * 8, at = first + row;
        const bool there = at < kv_len;
        copy_async(&tile[row][column], from + (size_t)(there ? at : 0) * HEAD_DIM + column, there);
    }
}

/** S = Q K^T for 16 queries and the keys of a tile: S[j] has keys 8j to 8j + 7. */
static __device__ __forceinline__ void scores(float (&s)[TILE_KV / 8][4],
                                              const uint32_t (&q)[HEAD_DIM / 16][4],
                                              const half_bits (*k)[PITCH], int lane)
{
    memset(s, 0, sizeof s);
    for (int d = 0; d < HEAD_DIM / 16; d++)
        for (int j = 0; j < TILE_KV / 16; j++) {
            uint32_t b[4]; /* keys 16j to 16j + 7: b[0], b[1]; the next eight: b[2], b[3] */
            load_matrices(b, &k[16 * j + lane % 8 + lane / 16 * 8][16 * d + lane / 8 % 2 * 8]);
            multiply(s[2 * j], q[d], b[0], b[1]);
            multiply(s[2 * j + 1], q[d], b[2], b[3]);
        }
}

/** One step of the softmax that goes along: S becomes P, the sums so far are scaled. */
static __device__ __forceinline__ void soften(float (&s)[TILE_KV / 8][4], float (&out)[HEAD_DIM / 8][4],
                                              float (&most)[2], float (&sum)[2], int keys, float scale,
                                              int lane)
{
    for (int half = 0; half < 2; half++) {
        float next = most[half];
        for (int j = 0; j < TILE_KV / 8; j++)
            for (int i = 2 * half; i < 2 * half + 2; i++) {
                if (8 * j + 2 * (lane % 4) + i % 2 >= keys) s[j][i] = -INFINITY;
                next = fmaxf(next, s[j][i]);
            }
        next = row_max(next);
        const float shrink = exp2_approx((most[half] - next) * scale);
        float added = 0.0f;
        for (int j = 0; j < TILE_KV / 8; j++)
            for (int i = 2 * half; i < 2 * half + 2; i++) {
                s[j][i] = exp2_approx((s[j][i] - next) * scale);
                added += s[j][i];
            }
        sum[half] = sum[half] * shrink + row_sum(added);
        for (int j = 0; j < HEAD_DIM / 8; j++)
            for (int i = 2 * half; i < 2 * half + 2; i++) out[j][i] *= shrink;
        most[half] = next;
    }
}

/** O += P V. The accumulators of S lie as A of the next product wants them. */
static __device__ __forceinline__ void accumulate(float (&out)[HEAD_DIM / 8][4],
                                                  const float (&p)[TILE_KV / 8][4],
                                                  const half_bits (*v)[PITCH], int lane)
{
    for (int j = 0; j < TILE_KV / 16; j++) {
        const uint32_t a[4] = {pack_halves(p[2 * j][0], p[2 * j][1]), pack_halves(p[2 * j][2], p[2 * j][3]),
                               pack_halves(p[2 * j + 1][0], p[2 * j + 1][1]),
                               pack_halves(p[2 * j + 1][2], p[2 * j + 1][3])};
        for (int d = 0; d < HEAD_DIM / 16; d++) {
            uint32_t b[4];
            load_transposed(b, &v[16 * j + lane % 16][16 * d + lane / 16 * 8]);
            multiply(out[2 * d], a, b[0], b[1]);
            multiply(out[2 * d + 1], a, b[2], b[3]);
        }
    }
}

static __device__ __forceinline__ void store_rows(half_bits *out, const float (&sums)[HEAD_DIM / 8][4],
                                                  const float (&sum)[2], int first, int q_len, int lane)
{
    for (int half = 0; half < 2; half++) {
        const int row = first + lane / 4 + 8 * half;
        const float scale = 1.0f / sum[half];
        for (int j = 0; j < HEAD_DIM / 8 && row < q_len; j++) {
            const uint32_t pair = pack_halves(sums[j][2 * half] * scale, sums[j][2 * half + 1] * scale);
            asm volatile("st.global.b32 [%0], %1;"
                         :
                         : "l"(out + (size_t)row * HEAD_DIM + 8 * j + 2 * (lane % 4)), "r"(pair)
                         : "memory");
        }
    }
}

static __global__ void attention_kernel(const half_bits *q, const half_bits *k, const half_bits *v,
                                        half_bits *out, int q_len, int kv_len, float scale)
{
    __shared__ __align__(16) struct tiles tiles;
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    const int first = (int)blockIdx.x * TILE_Q + 16 * warp, steps = (kv_len + TILE_KV - 1) / TILE_KV;
    const size_t q_head = (size_t)blockIdx.y * (size_t)q_len * HEAD_DIM;
    const size_t kv_head = (size_t)blockIdx.y * (size_t)kv_len * HEAD_DIM;
    uint32_t q_fragment[HEAD_DIM / 16][4];
    float sums[HEAD_DIM / 8][4] = {{0.0f}}, most[2] = {-INFINITY, -INFINITY}, sum[2] = {0.0f, 0.0f};
    for (int d = 0; d < HEAD_DIM / 16; d++)
        for (int r = 0; r < 4; r++) {
            const int row = first + lane / 4 + r % 2 * 8, column = 16 * d + 2 * (lane % 4) + r / 2 * 8;
            q_fragment[d][r] = 0;
            if (row < q_len) memcpy(&q_fragment[d][r], q + q_head + (size_t)row * HEAD_DIM + column, 4);
        }
    begin_tile(tiles.k[0], k + kv_head, 0, kv_len);
    begin_tile(tiles.v[0], v + kv_head, 0, kv_len);
    commit();
    for (int step = 0; step < steps; step++) {
        const int stage = step % 2;
        if (step + 1 < steps) { /* the next tile is on its way while this one is used */
            begin_tile(tiles.k[!stage], k + kv_head, (step + 1) * TILE_KV, kv_len);
            begin_tile(tiles.v[!stage], v + kv_head, (step + 1) * TILE_KV, kv_len);
        }
        commit();
        wait<1>();
        __syncthreads(); /* all threads' copies have landed */
        float s[TILE_KV / 8][4];
        scores(s, q_fragment, tiles.k[stage], lane);
        soften(s, sums, most, sum, kv_len - step * TILE_KV, scale, lane);
        accumulate(sums, s, tiles.v[stage], lane);
        __syncthreads(); /* all have used the stage before it is filled again */
    }
    store_rows(out + q_head, sums, sum, first, q_len, lane);
}

/* ---- the host */

/** A half of a number that has 6 bits at most. */
static half_bits half_of(double x)
{
    int exponent;
    const double magnitude = fabs(x), fraction = 2.0 * frexp(magnitude, &exponent);
    if (magnitude == 0.0) return 0;
    return (half_bits)((x < 0) << 15 | (exponent + 14) << 10 | (int)((fraction - 1.0) * 1024.0));
}
static double number_of(half_bits bits)
{
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double magnitude = exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25);
    return bits & 0x8000 ? -magnitude : magnitude;
}

static void fill(half_bits *x, size_t count, unsigned seed, double largest)
{
    for (size_t i = 0; i < count; i++)
        x[i] = half_of((double)((int)(next_random(&seed) % 63) - 31) / 31.0 * 31.0 / 32.0 * largest);
}

static void reference(const half_bits *q, const half_bits *k, const half_bits *v, double *out, int kv_len,
                      double scale)
{
    double most = -INFINITY, sum = 0.0, *score = host_array<double>((size_t)kv_len);
    for (int j = 0; j < kv_len; j++) {
        for (int d = 0; d < HEAD_DIM; d++)
            score[j] += number_of(q[d]) * number_of(k[(size_t)j * HEAD_DIM + d]);
        score[j] *= scale;
        most = score[j] > most ? score[j] : most;
    }
    for (int d = 0; d < HEAD_DIM; d++) out[d] = 0.0;
    for (int j = 0; j < kv_len; j++) {
        const double p = exp(score[j] - most);
        sum += p;
        for (int d = 0; d < HEAD_DIM; d++) out[d] += p * number_of(v[(size_t)j * HEAD_DIM + d]);
    }
    for (int d = 0; d < HEAD_DIM; d++) out[d] /= sum;
    free(score);
}

static void check_attention(int heads, int q_len, int kv_len)
{
    const size_t q_elems = (size_t)(heads * q_len) * HEAD_DIM, kv_elems = (size_t)(heads * kv_len) * HEAD_DIM;
    half_bits *q = host_array<half_bits>(q_elems), *k = host_array<half_bits>(kv_elems),
              *v = host_array<half_bits>(kv_elems);
    half_bits *out = host_array<half_bits>(q_elems);
    const double scale = 0.125;
    fill(q, q_elems, 1, 2.0);
    fill(k, kv_elems, 2, 2.0);
    fill(v, kv_elems, 3, 1.0);
    half_bits *d_q = upload(q, q_elems), *d_k = upload(k, kv_elems), *d_v = upload(v, kv_elems);
    half_bits *d_out = device_array<half_bits>(q_elems);
    const dim3 grid((unsigned)((q_len + TILE_Q - 1) / TILE_Q), (unsigned)heads);
    attention_kernel<<<grid, THREADS>>>(d_q, d_k, d_v, d_out, q_len, kv_len,
                                        (float)(scale * 1.4426950408889634));
    finish_launch("attention_kernel");
    download(out, d_out, q_elems);
    for (int head = 0; head < heads; head++)
        for (int row = 0; row < q_len; row++) {
            double expected[HEAD_DIM];
            const size_t at = (size_t)(head * q_len + row) * HEAD_DIM,
                         keys = (size_t)(head * kv_len) * HEAD_DIM;
            reference(q + at, k + keys, v + keys, expected, kv_len, scale);
            for (int d = 0; d < HEAD_DIM; d++) /* halves of P and of the result: 2^-11 of at most 1, each */
                expect_close("out", at + (size_t)d, number_of(out[at + (size_t)d]), expected[d], 1.5e-3);
        }
    void *const device[] = {d_q, d_k, d_v, d_out}, *const host[] = {q, k, v, out};
    for (int i = 0; i < 4; i++) {
        release(device[i]);
        free(host[i]);
    }
}

int main(void)
{
    check_attention(2, 128, 128);
    check_attention(1, 70, 97);
    check_attention(1, 5, 1);
    return finish("ptx_attention");
}
