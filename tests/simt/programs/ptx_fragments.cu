/**
 * Inline PTX: ldmatrix, stmatrix and movmatrix in every form, and asynchronous copies of every size, with zeros at their end, in
 * groups and all at once.
 */
#include "../testing.h"

#include <stdint.h>

enum {
    LANES = 32,
    SIDE = 8,
    MATRICES = 4,
    PITCH = 24,
    ELEMS = MATRICES * SIDE * PITCH,
    FORMS = 7,
    WORDS = 4
};

static __device__ unsigned shared_address(const void *pointer)
{
    return (unsigned)__cvta_generic_to_shared(pointer);
}

/** Matrix j begins at row 8j of the tile; rows lie 48 bytes apart. Lane l gives row l % 8 of matrix l / 8. */
static __global__ void load_kernel(const uint16_t *in, uint32_t *out)
{
    __shared__ __align__(16) uint16_t tile[ELEMS];
    const int lane = (int)threadIdx.x;
    for (int i = lane; i < ELEMS; i += LANES) tile[i] = in[i];
    __syncwarp();
    const unsigned row = shared_address(tile) + 2 * PITCH * (unsigned)lane;
    uint32_t r[FORMS][WORDS] = {{0}};
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
                 : "=r"(r[0][0])
                 : "r"(row)
                 : "memory");
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(r[1][0]), "=r"(r[1][1])
                 : "r"(row)
                 : "memory");
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[2][0]), "=r"(r[2][1]), "=r"(r[2][2]), "=r"(r[2][3])
                 : "r"(row)
                 : "memory");
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1+16];"
                 : "=r"(r[3][0])
                 : "r"(row)
                 : "memory");
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared::cta.b16 {%0, %1}, [%2];"
                 : "=r"(r[4][0]), "=r"(r[4][1])
                 : "r"(row)
                 : "memory");
    asm volatile("ldmatrix.sync.aligned.x4.trans.m8n8.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[5][0]), "=r"(r[5][1]), "=r"(r[5][2]), "=r"(r[5][3])
                 : "r"(row)
                 : "memory");
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(r[6][0]) : "r"(r[2][0]));
    for (int form = 0; form < FORMS; form++)
        for (int j = 0; j < WORDS; j++) out[(form * WORDS + j) * LANES + lane] = r[form][j];
}

static void check_loads(void)
{
    static const struct {
        int matrices, transposed, column;
    } forms[FORMS] = {{1, 0, 0}, {2, 0, 0}, {4, 0, 0}, {1, 1, 8}, {2, 1, 0}, {4, 1, 0}, {1, 1, 0}};
    static uint16_t tile[ELEMS];
    static uint32_t result[FORMS * WORDS * LANES];
    for (int i = 0; i < ELEMS; i++) tile[i] = (uint16_t)(i * 37 + 5);
    uint16_t *in = upload(tile, ELEMS);
    uint32_t *out = device_array<uint32_t>(FORMS * WORDS * LANES);
    load_kernel<<<1, LANES>>>(in, out);
    finish_launch("load_kernel");
    download(result, out, FORMS * WORDS * LANES);
    for (int form = 0; form < FORMS; form++)
        for (int j = 0; j < WORDS; j++)
            for (int lane = 0; lane < LANES; lane++) {
                uint32_t expected = 0;
                for (int i = 0; i < 2 && j < forms[form].matrices; i++) {
                    const int a = lane / 4, b = lane % 4 * 2 + i;
                    const int row = forms[form].transposed ? b : a, column = forms[form].transposed ? a : b;
                    expected |= (uint32_t)tile[(SIDE * j + row) * PITCH + forms[form].column + column]
                                << 16 * i;
                }
                const int k = (form * WORDS + j) * LANES + lane;
                expect_equal("ldmatrix", (size_t)k, result[k], expected);
            }
    release(in);
    release(out);
}

/** What ldmatrix loads, stmatrix puts back: as it was, and transposed. */
static __global__ void store_kernel(const uint16_t *in, uint16_t *out, int transposed)
{
    __shared__ __align__(16) uint16_t tile[ELEMS], copy[ELEMS];
    const int lane = (int)threadIdx.x;
    for (int i = lane; i < ELEMS; i += LANES) tile[i] = in[i], copy[i] = 0;
    __syncwarp();
    uint32_t a, b, c, d;
    const unsigned row = 2 * PITCH * (unsigned)lane, from = shared_address(tile) + row,
                   to = shared_address(copy) + row;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
                 : "r"(from)
                 : "memory");
    if (transposed)
        asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};"
                     :
                     : "r"(to), "r"(a), "r"(b), "r"(c), "r"(d)
                     : "memory");
    else
        asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};"
                     :
                     : "r"(to), "r"(a), "r"(b)
                     : "memory");
    __syncwarp();
    for (int i = lane; i < ELEMS; i += LANES) out[i] = copy[i];
}

static void check_stores(void)
{
    static uint16_t tile[ELEMS], result[ELEMS];
    for (int i = 0; i < ELEMS; i++) tile[i] = (uint16_t)(i * 37 + 5);
    uint16_t *in = upload(tile, ELEMS), *out = device_array<uint16_t>(ELEMS);
    for (int transposed = 0; transposed < 2; transposed++) {
        store_kernel<<<1, LANES>>>(in, out, transposed);
        finish_launch("store_kernel");
        download(result, out, ELEMS);
        for (int row = 0; row < MATRICES * SIDE; row++)
            for (int column = 0; column < PITCH; column++) {
                const int stored = column < SIDE && (transposed || row < 2 * SIDE);
                const int from =
                    transposed ? (row / SIDE * SIDE + column) * PITCH + row % SIDE : row * PITCH + column;
                expect_equal("stmatrix", (size_t)(row * PITCH + column), result[row * PITCH + column],
                             stored ? tile[from] : 0);
            }
    }
    release(in);
    release(out);
}

/* ---- copies */

enum { THREADS = 64, STEPS = 5, STAGES = 3 };

/** Copies of 4, 8 and 16 bytes; the last with 5 bytes and 11 zeros; and one that a predicate turns into zeros. */
static __global__ void copy_kernel(const char *in, char *out)
{
    __shared__ __align__(16) char tile[3][16 * THREADS];
    const int i = (int)threadIdx.x;
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;"
                 :
                 : "r"(shared_address(&tile[0][4 * i])), "l"(in + 4 * i)
                 : "memory");
    asm volatile("cp.async.ca.shared.global [%0+512], [%1], %2;"
                 :
                 : "r"(shared_address(&tile[0][8 * i])), "l"(in + 8 * i), "n"(8)
                 : "memory");
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;"
                 :
                 : "r"(shared_address(&tile[1][16 * i])), "l"(in + 16 * i), "r"(i % 2 ? 16 : 5)
                 : "memory");
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %2, 0; cp.async.cg.shared.global [%0], [%1], 16, p; }"
                 :
                 : "r"(shared_address(&tile[2][16 * i])), "l"(in + 16 * i), "r"(i % 3)
                 : "memory");
    asm volatile("cp.async.wait_all;" : : : "memory");
    __syncthreads();
    for (int part = 0; part < 3; part++)
        for (int byte = i; byte < 16 * THREADS; byte += THREADS)
            out[16 * THREADS * part + byte] = part > 0 || byte < 256 || (byte >= 512) ? tile[part][byte] : 0;
}

static void check_copies(void)
{
    static char host[16 * THREADS], result[3 * 16 * THREADS];
    for (int i = 0; i < 16 * THREADS; i++) host[i] = (char)(i * 13 + 1);
    char *in = upload(host, 16 * THREADS), *out = device_array<char>(3 * 16 * THREADS);
    copy_kernel<<<1, THREADS>>>(in, out);
    finish_launch("copy_kernel");
    download(result, out, 3 * 16 * THREADS);
    for (int byte = 0; byte < 16 * THREADS; byte++) {
        const int thread = byte / 16, at = byte % 16;
        const int first = byte < 256 ? host[byte] : byte >= 512 ? host[byte - 512] : 0;
        expect_equal("4 and 8 bytes", (size_t)byte, result[byte], first);
        expect_equal("5 of 16", (size_t)byte, result[16 * THREADS + byte],
                     thread % 2 || at < 5 ? host[byte] : 0);
        expect_equal("ignored", (size_t)byte, result[32 * THREADS + byte], thread % 3 ? 0 : host[byte]);
    }
    release(in);
    release(out);
}

/** A ring of stages: a group a step, two of them under way while a third is read. */
static __global__ void ring_kernel(const int *in, int *out)
{
    __shared__ int ring[STAGES][THREADS];
    const int i = (int)threadIdx.x;
    for (int step = 0; step < STEPS + STAGES - 1; step++) {
        if (step < STEPS)
            asm volatile("cp.async.ca.shared.global [%0], [%1], 4;"
                         :
                         : "r"(shared_address(&ring[step % STAGES][i])), "l"(in + step * THREADS + i)
                         : "memory");
        asm volatile("cp.async.commit_group;" : : : "memory");
        const int now = step - (STAGES - 1);
        if (now < 0) continue;
        asm volatile("cp.async.wait_group %0;" : : "n"(STAGES - 1) : "memory");
        __syncthreads();
        out[now * THREADS + i] = ring[now % STAGES][THREADS - 1 - i];
        __syncthreads();
    }
}

static void check_ring(void)
{
    static int host[STEPS * THREADS], result[STEPS * THREADS];
    for (int i = 0; i < STEPS * THREADS; i++) host[i] = 3 * i + 1;
    int *in = upload(host, STEPS * THREADS), *out = device_array<int>(STEPS * THREADS);
    ring_kernel<<<1, THREADS>>>(in, out);
    finish_launch("ring_kernel");
    download(result, out, STEPS * THREADS);
    for (int i = 0; i < STEPS * THREADS; i++)
        expect_equal("ring", (size_t)i, result[i], host[i / THREADS * THREADS + THREADS - 1 - i % THREADS]);
    release(in);
    release(out);
}

int main(void)
{
    check_loads();
    check_stores();
    check_copies();
    check_ring();
    return finish("ptx_fragments");
}
