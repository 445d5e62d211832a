/**
 * Inline PTX of warps and blocks: shuffles with their predicates, votes, matches, reductions, election, special registers, and
 * barriers that a part of the block meets at: two groups, and a producer that only arrives.
 */
#include "../testing.h"

#include <stdint.h>

enum { THREADS = 128, COLUMNS = 16, STAGES = 2, STEPS = 9 };

static __device__ unsigned shuffled(unsigned value, unsigned by, unsigned *valid, int mode)
{
    unsigned d = 0, p = 0;
    if (mode == 0)
        asm volatile("{ .reg .pred q; shfl.sync.up.b32 %0|q, %2, %3, 0, 0xffffffff; selp.u32 %1, 1, 0, q; }"
                     : "=r"(d), "=r"(p)
                     : "r"(value), "r"(by));
    else if (mode == 1)
        asm volatile(
            "{ .reg .pred q; shfl.sync.down.b32 %0|q, %2, %3, 0x181f, 0xffffffff; selp.u32 %1, 1, 0, q; }"
            : "=r"(d), "=r"(p)
            : "r"(value), "r"(by));
    else if (mode == 2)
        asm volatile(
            "{ .reg .pred q; shfl.sync.idx.b32 %0|q, %2, %3, 0x181f, 0xffffffff; selp.u32 %1, 1, 0, q; }"
            : "=r"(d), "=r"(p)
            : "r"(value), "r"(by));
    else
        asm volatile(
            "{ .reg .pred q; shfl.sync.bfly.b32 %0|q, %2, %3, 0x1f, 0xffffffff; selp.u32 %1, 1, 0, q; }"
            : "=r"(d), "=r"(p)
            : "r"(value), "r"(by));
    *valid = p;
    return d;
}

static __global__ void warp_kernel(unsigned *out)
{
    unsigned *mine = out + (size_t)COLUMNS * threadIdx.x, lane, value, valid, flag;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    asm("mov.u32 %0, %%tid.x;" : "=r"(value));
    for (int mode = 0; mode < 4; mode++) {
        mine[2 * mode] = shuffled(100 + lane, 3, &valid, mode);
        mine[2 * mode + 1] = valid;
    }
    asm volatile("{ .reg .pred p; setp.lt.u32 p, %1, 5; vote.sync.ballot.b32 %0, p, 0xffffffff; }"
                 : "=r"(mine[8])
                 : "r"(lane));
    asm volatile("{ .reg .pred p, q; setp.lt.u32 p, %1, 32; vote.sync.all.pred q, p, 0xffffffff; selp.u32 "
                 "%0, 1, 0, q; }"
                 : "=r"(mine[9])
                 : "r"(lane));
    asm volatile("{ .reg .pred p, q; setp.lt.u32 p, %1, 9; vote.sync.uni.pred q, !p, 0xffffffff; selp.u32 "
                 "%0, 1, 0, q; }"
                 : "=r"(mine[10])
                 : "r"(lane));
    asm volatile("match.any.sync.b32 %0, %1, 0xffffffff;" : "=r"(mine[11]) : "r"(lane / 4));
    asm volatile("redux.sync.add.u32 %0, %1, 0xffffffff;" : "=r"(mine[12]) : "r"(value));
    asm volatile("redux.sync.min.s32 %0, %1, 0xffffffff;" : "=r"(mine[13]) : "r"(5 - (int)lane));
    asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p; }" : "=r"(flag));
    asm volatile("{ .reg .b32 t; mov.u32 t, %%lanemask_lt; popc.b32 %0, t; }" : "=r"(value));
    mine[14] = 100 * flag + value;
    asm volatile("{ .reg .pred p; setp.ge.u32 p, %1, 20; bar.red.popc.u32 %0, 0, p; }"
                 : "=r"(mine[15])
                 : "r"(lane)
                 : "memory");
}

static unsigned expected_shuffle(int lane, int mode, int *valid)
{
    const int from[4] = {lane - 3, lane + 3, (lane & 24) + 3, lane ^ 3};
    *valid = from[mode] >= 0 &&
             (mode != 1 || from[mode] / 8 == lane / 8); /* down goes by segments of 8 lanes, as idx */
    return 100u + (unsigned)(*valid ? from[mode] : lane);
}

static void check_warps(void)
{
    static unsigned result[COLUMNS * THREADS];
    unsigned *out = device_array<unsigned>(COLUMNS * THREADS);
    warp_kernel<<<1, THREADS>>>(out);
    finish_launch("warp_kernel");
    download(result, out, COLUMNS * THREADS);
    for (int i = 0; i < THREADS; i++) {
        const unsigned *mine = result + (size_t)COLUMNS * (size_t)i;
        const int lane = i % 32, warp = i / 32;
        const size_t k = (size_t)i;
        for (int mode = 0; mode < 4; mode++) {
            int valid;
            expect_equal("shuffle", k, mine[2 * mode], expected_shuffle(lane, mode, &valid));
            expect_equal("valid", k, mine[2 * mode + 1], valid);
        }
        expect_equal("ballot", k, mine[8], 0x1f);
        expect_equal("all", k, mine[9], 1);
        expect_equal("uni", k, mine[10], 0);
        expect_equal("match", k, mine[11], 0xfu << (lane & ~3));
        expect_equal("sum", k, mine[12], 32 * 32 * warp + 496);
        expect_equal("least", k, (int)mine[13], -26);
        expect_equal("elect and mask", k, mine[14], (lane == 0 ? 100 : 0) + lane);
        expect_equal("bar.red", k, mine[15], 12 * THREADS / 32);
    }
    release(out);
}

/* ---- barriers of a part of the block */

/** Two groups of two warps, each reversing its own half, at their own pace. */
static __global__ void group_kernel(int *out)
{
    __shared__ int tile[THREADS];
    const int i = (int)threadIdx.x, group = i / 64;
    for (int step = 0; step < STEPS + group; step++) {
        tile[i] = step == 0 ? i : tile[i] + 1;
        asm volatile("bar.sync %0, 64;" : : "r"(group + 1) : "memory");
        const int other = tile[i ^ 63];
        asm volatile("barrier.sync %0, 64;" : : "r"(group + 1) : "memory"); /* all have read */
        tile[i] = other;
        asm volatile("bar.sync %0, 64;" : : "r"(group + 1) : "memory");
    }
    out[i] = tile[i];
}

static __device__ void arrive(int id)
{
    asm volatile("bar.arrive %0, 128;" : : "r"(id) : "memory");
}
static __device__ void await(int id)
{
    asm volatile("bar.sync %0, 128;" : : "r"(id) : "memory");
}

/** Warps 0 and 1 fill stages of a ring, warps 2 and 3 empty them: barriers 1 and 2 say full, 3 and 4 say empty. */
static __global__ void ring_kernel(const int *in, int *out)
{
    __shared__ int ring[STAGES][64];
    const int i = (int)threadIdx.x % 64;
    if (threadIdx.x < 64) {
        for (int step = 0; step < STEPS; step++) {
            const int stage = step % STAGES;
            if (step >= STAGES) await(3 + stage);
            ring[stage][i] = in[64 * step + i];
            arrive(1 + stage);
        }
    } else {
        for (int step = 0; step < STEPS; step++) {
            const int stage = step % STAGES;
            await(1 + stage);
            out[64 * step + i] = ring[stage][63 - i];
            if (step + STAGES < STEPS) arrive(3 + stage);
        }
    }
}

static void check_barriers(void)
{
    static int host[64 * STEPS], result[64 * STEPS];
    for (int i = 0; i < 64 * STEPS; i++) host[i] = 7 * i + 1;
    int *in = upload(host, 64 * STEPS), *out = device_array<int>(64 * STEPS);
    ring_kernel<<<1, THREADS>>>(in, out);
    finish_launch("ring_kernel");
    download(result, out, 64 * STEPS);
    for (int i = 0; i < 64 * STEPS; i++)
        expect_equal("ring", (size_t)i, result[i], host[i / 64 * 64 + 63 - i % 64]);
    group_kernel<<<1, THREADS>>>(out);
    finish_launch("group_kernel");
    download(result, out, THREADS);
    for (int i = 0; i < THREADS; i++) {
        const int steps = STEPS + i / 64;
        expect_equal("group", (size_t)i, result[i], (steps % 2 ? i ^ 63 : i) + steps - 1);
    }
    release(in);
    release(out);
}

int main(void)
{
    check_warps();
    check_barriers();
    return finish("ptx_warps");
}
