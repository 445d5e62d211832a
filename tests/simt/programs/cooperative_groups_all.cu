/**
 * Cooperative groups within a block, against an emulation on the host: ranks and sizes of all groups, shuffles, votes and
 * matches of tiles and of coalesced threads, partitions by size, by label and by predicate, reductions, scans, and copies.
 */
#include "../testing.h"

#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

enum { THREADS = 96, LANES = 32, ROWS = 16 };

/* A type that no shuffle instruction moves at once. */
struct wide {
    double a;
    int b, c, d;
};

static __global__ void ranks_kernel(int *out) /* [ROWS, THREADS] */
{
    const cg::thread_block block = cg::this_thread_block();
    const auto warp = cg::tiled_partition<32>(block);
    const auto tile = cg::tiled_partition<4>(warp);
    const cg::thread_group any = cg::tiled_partition(block, 8);
    const cg::thread_block_tile<32> plain = warp;
    const cg::grid_group grid = cg::this_grid();
    int *row = out + block.thread_rank();
    row[0 * THREADS] = (int)(block.size() * 1000 + block.num_threads());
    row[1 * THREADS] =
        (int)(warp.meta_group_rank() * 1000 + warp.meta_group_size() * 100 + warp.thread_rank());
    row[2 * THREADS] =
        (int)(tile.meta_group_rank() * 1000 + tile.meta_group_size() * 100 + tile.thread_rank());
    row[3 * THREADS] = (int)(any.size() * 1000 + any.thread_rank());
    row[4 * THREADS] = (int)(grid.size() * 1000 + grid.thread_rank());
    row[5 * THREADS] = (int)(plain.meta_group_rank() * 1000 + plain.size());
    row[6 * THREADS] =
        (int)(block.thread_index().x * 100 + block.thread_index().y * 10 + block.group_index().x);
    block.sync();
    any.sync();
    tile.sync();
    cg::sync(warp);
}

static void check_ranks(void)
{
    int host[ROWS * THREADS];
    int *out = device_array<int>(ROWS * THREADS);
    require(cudaMemset(out, 0, sizeof host), "cudaMemset");
    ranks_kernel<<<1, dim3(8, 12)>>>(out);
    finish_launch("ranks_kernel");
    download(host, out, ROWS * THREADS);
    for (int i = 0; i < THREADS; i++) {
        expect_equal("block", i, host[0 * THREADS + i], 96 * 1000 + 96);
        expect_equal("warp", i, host[1 * THREADS + i], i / 32 * 1000 + 3 * 100 + i % 32);
        expect_equal("tile of a warp", i, host[2 * THREADS + i], i % 32 / 4 * 1000 + 8 * 100 + i % 4);
        expect_equal("tile of a size", i, host[3 * THREADS + i], 8 * 1000 + i % 8);
        expect_equal("grid", i, host[4 * THREADS + i], 96 * 1000 + i);
        expect_equal("parent forgotten", i, host[5 * THREADS + i], i / 32 * 1000 + 32);
        expect_equal("indices", i, host[6 * THREADS + i], i % 8 * 100 + i / 8 * 10);
    }
    release(out);
}

template <int SIZE> static __global__ void tile_kernel(const int *in, int *out) /* [LANES], [ROWS, LANES] */
{
    const auto tile = cg::tiled_partition<SIZE>(cg::this_thread_block());
    const int lane = (int)threadIdx.x, value = in[lane];
    int same = 0;
    out[0 * LANES + lane] = tile.shfl(value, 1);
    out[1 * LANES + lane] = tile.shfl_up(value, 1);
    out[2 * LANES + lane] = tile.shfl_down(value, 1);
    out[3 * LANES + lane] = tile.shfl_xor(value, SIZE / 2);
    out[4 * LANES + lane] = (int)tile.ballot(value % 3 == 0);
    out[5 * LANES + lane] = tile.any(value % 5 == 0) * 2 + tile.all(value % 2 == 0);
    out[6 * LANES + lane] = (int)tile.match_any(value % 3);
    out[7 * LANES + lane] = (int)tile.match_all(lane / SIZE, same) + same;
    out[8 * LANES + lane] = cg::reduce(tile, value, cg::plus<int>());
    out[9 * LANES + lane] = cg::reduce(tile, value, cg::less<int>());
    out[10 * LANES + lane] = cg::reduce(tile, value, cg::greater<int>());
    out[11 * LANES + lane] = cg::reduce(tile, value, [](int a, int b) { return a ^ b; });
    out[12 * LANES + lane] = cg::inclusive_scan(tile, value);
    out[13 * LANES + lane] = cg::exclusive_scan(tile, value, cg::plus<int>());
    const wide w = tile.shfl(wide{(double)value, value, lane, 7}, SIZE - 1);
    out[14 * LANES + lane] = (int)w.a + w.b + w.c + w.d;
}

static void expect_row(const char *what, const int *rows, int row, int lane, int expected)
{
    expect_equal(what, (size_t)lane, rows[row * LANES + lane], expected);
}

template <int SIZE> static void check_tile(const int *in, const int *value)
{
    int host[ROWS * LANES];
    int *out = device_array<int>(ROWS * LANES);
    require(cudaMemset(out, 0, sizeof host), "cudaMemset");
    tile_kernel<SIZE><<<1, LANES>>>(in, out);
    finish_launch("tile_kernel");
    download(host, out, ROWS * LANES);
    for (int lane = 0; lane < LANES; lane++) {
        const int first = lane / SIZE * SIZE, last = first + SIZE - 1;
        int sum = 0, least = value[first], most = value[first], odd = 0, before = 0, ballot = 0, same = 0,
            any = 0, all = 1;
        for (int i = first; i <= last; i++) {
            sum += value[i];
            odd ^= value[i];
            if (i < lane) before += value[i];
            if (value[i] < least) least = value[i];
            if (value[i] > most) most = value[i];
            ballot |= (int)((unsigned)(value[i] % 3 == 0) << (i - first));
            same |= (int)((unsigned)(value[i] % 3 == value[lane] % 3) << (i - first));
            any |= value[i] % 5 == 0;
            all &= value[i] % 2 == 0;
        }
        const int everybody = (int)(0xffffffffu >> (32 - SIZE));
        expect_row("shfl", host, 0, lane, value[first + 1 % SIZE]);
        expect_row("shfl_up", host, 1, lane, value[lane > first ? lane - 1 : lane]);
        expect_row("shfl_down", host, 2, lane, value[lane < last ? lane + 1 : lane]);
        expect_row("shfl_xor", host, 3, lane, value[lane ^ SIZE / 2]);
        expect_row("ballot", host, 4, lane, ballot);
        expect_row("any, all", host, 5, lane, any * 2 + all);
        expect_row("match_any", host, 6, lane, same);
        expect_row("match_all", host, 7, lane, everybody + 1);
        expect_row("sum", host, 8, lane, sum);
        expect_row("least", host, 9, lane, least);
        expect_row("greatest", host, 10, lane, most);
        expect_row("xor", host, 11, lane, odd);
        expect_row("inclusive scan", host, 12, lane, before + value[lane]);
        expect_row("exclusive scan", host, 13, lane, before);
        expect_row("wide", host, 14, lane, 2 * value[last] + last + 7);
    }
    release(out);
}

/* Lanes that are no multiple of 3, by their ranks among each other. */
static __global__ void coalesced_kernel(const int *in, int *out,
                                        int *counter) /* [LANES], [ROWS, LANES], [1] */
{
    const int lane = (int)threadIdx.x, value = in[lane];
    if (lane % 3 != 0) {
        const cg::coalesced_group active = cg::coalesced_threads();
        out[0 * LANES + lane] = (int)(active.size() * 100 + active.thread_rank());
        out[1 * LANES + lane] = active.shfl(value, 3);
        out[2 * LANES + lane] = active.shfl_up(value, 2);
        out[3 * LANES + lane] = active.shfl_down(value, 2);
        out[4 * LANES + lane] = (int)active.ballot(value % 2);
        out[5 * LANES + lane] = cg::reduce(active, value, cg::plus<int>());
        out[6 * LANES + lane] = cg::exclusive_scan(active, value);
        const cg::coalesced_group half = cg::tiled_partition(active, 4);
        out[7 * LANES + lane] = (int)(half.meta_group_rank() * 1000 + half.size() * 100 + half.thread_rank());
        const cg::coalesced_group alike = cg::labeled_partition(active, lane % 4);
        out[8 * LANES + lane] = (int)(alike.meta_group_size() * 100 + alike.size());
        const cg::coalesced_group odd = cg::binary_partition(active, lane % 2 == 1);
        out[9 * LANES + lane] = (int)(odd.size() * 100 + odd.thread_rank());
        out[10 * LANES + lane] = cg::reduce(odd, 1, cg::plus<int>());
        active.sync();
        cg::invoke_one(active, [=] { atomicAdd(counter, 5); });
    }
}

static void check_coalesced(const int *in, const int *value)
{
    int host[ROWS * LANES], lanes[LANES], count = 0, counted = 0;
    int *out = device_array<int>(ROWS * LANES), *counter = device_array<int>(1);
    require(cudaMemset(out, 0, sizeof host), "cudaMemset");
    require(cudaMemset(counter, 0, sizeof *counter), "cudaMemset");
    coalesced_kernel<<<1, LANES>>>(in, out, counter);
    finish_launch("coalesced_kernel");
    download(host, out, ROWS * LANES);
    download(&counted, counter, 1);
    expect_equal("one of them", 0, counted, 5);
    for (int lane = 0; lane < LANES; lane++)
        if (lane % 3 != 0) lanes[count++] = lane;
    for (int rank = 0; rank < count; rank++) {
        const int lane = lanes[rank], last = count - 1;
        int sum = 0, before = 0, ballot = 0, alike = 0, odd = 0, odd_before = 0, labels = 0;
        for (int i = 0; i < count; i++) {
            sum += value[lanes[i]];
            if (i < rank) before += value[lanes[i]];
            ballot |= (value[lanes[i]] % 2) << i;
            alike += lanes[i] % 4 == lane % 4;
            labels |= 1 << lanes[i] % 4;
            odd += lanes[i] % 2 == lane % 2;
            odd_before += i < rank && lanes[i] % 2 == lane % 2;
        }
        expect_row("coalesced", host, 0, lane, count * 100 + rank);
        expect_row("coalesced shfl", host, 1, lane, value[lanes[3]]);
        expect_row("coalesced shfl_up", host, 2, lane, value[lanes[rank >= 2 ? rank - 2 : rank]]);
        expect_row("coalesced shfl_down", host, 3, lane, value[lanes[rank + 2 <= last ? rank + 2 : rank]]);
        expect_row("coalesced ballot", host, 4, lane, ballot);
        expect_row("coalesced sum", host, 5, lane, sum);
        expect_row("coalesced scan", host, 6, lane, before);
        expect_row("coalesced tile", host, 7, lane,
                   rank / 4 * 1000 + (rank / 4 * 4 + 4 <= count ? 4 : count % 4) * 100 + rank % 4);
        expect_row("label", host, 8, lane, 4 * 100 + alike);
        expect_row("predicate", host, 9, lane, odd * 100 + odd_before);
        expect_row("sum of a part", host, 10, lane, odd);
        expect_equal("labels", 0, labels, 15);
    }
    release(out);
    release(counter);
}

/* Two stages are copied by the block together; the second is under way while the first is used. A length that is no multiple
 * of 16 bytes leaves a rest. */
static __global__ void copy_kernel(const float *in, float *out, int count) /* [2, count], [count] */
{
    __shared__ alignas(16) float stage[2][256];
    const cg::thread_block block = cg::this_thread_block();
    cg::memcpy_async(block, stage[0], in, sizeof(float) * (size_t)count);
    cg::memcpy_async(block, stage[1], in + 256, sizeof(float) * (size_t)count);
    cg::wait_prior<1>(block);
    const int i = (int)block.thread_rank();
    const float first = i < count ? stage[0][i] : 0.0f;
    cg::wait(block);
    if (i < count) out[i] = first + 2.0f * stage[1][count - 1 - i];
}

static void check_copies(void)
{
    float host[512], result[256];
    for (int i = 0; i < 512; i++) host[i] = (float)i;
    float *in = upload(host, 512), *out = device_array<float>(256);
    const int counts[] = {256, 255, 33, 1};
    for (int count : counts) {
        copy_kernel<<<1, 256>>>(in, out, count);
        finish_launch("copy_kernel");
        download(result, out, (size_t)count);
        for (int i = 0; i < count; i++)
            expect_close("copied", (size_t)i, result[i], host[i] + 2 * host[256 + count - 1 - i], 0);
    }
    release(in);
    release(out);
}

/* Tiles of two warps: each exchanges through its own part of shared memory. */
static __global__ void large_tile_kernel(int *out) /* [128] */
{
    __shared__ int slots[128];
    __shared__ cg::block_tile_memory<128> scratch;
    const cg::thread_block block = cg::this_thread_block(scratch);
    const auto tile = cg::tiled_partition<64>(block);
    slots[block.thread_rank()] = (int)block.thread_rank();
    tile.sync();
    out[block.thread_rank()] = slots[tile.meta_group_rank() * 64 + 63 - tile.thread_rank()];
}

static void check_large_tile(void)
{
    int host[128];
    int *out = device_array<int>(128);
    large_tile_kernel<<<1, 128>>>(out);
    finish_launch("large_tile_kernel");
    download(host, out, 128);
    for (int i = 0; i < 128; i++)
        expect_equal("tile of two warps", (size_t)i, host[i], i / 64 * 64 + 63 - i % 64);
    release(out);
}

int main(void)
{
    int value[LANES];
    unsigned state = 5;
    for (int &v : value) v = (int)(next_random(&state) % 1000);
    int *in = upload(value, LANES);
    check_ranks();
    check_tile<32>(in, value);
    check_tile<16>(in, value);
    check_tile<8>(in, value);
    check_tile<4>(in, value);
    check_tile<2>(in, value);
    check_coalesced(in, value);
    check_copies();
    check_large_tile();
    release(in);
    return finish("cooperative_groups_all");
}
