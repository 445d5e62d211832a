/**
 * cuda::barrier, cuda::pipeline and cuda::memcpy_async of CUDA's C++ library. Shown: arrive and wait apart, with work between
 * them; a phase that ends when copies are there; threads that leave; pipelines of one thread, of a block, and with threads that
 * only copy; with sm_90 a bulk copy whose bytes the barrier expects.
 */
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/pipeline>

#include "../testing.h"

enum { THREADS = 128, TILES = 9, STAGES = 3, COUNT = THREADS * TILES };
typedef cuda::barrier<cuda::thread_scope_block> barrier;
namespace cg = cooperative_groups;

/* Every thread leaves a number, and adds those of all others. Uses the barrier for as many phases as there are rounds. */
static __global__ void rounds_kernel(int *out, int rounds)
{
    __shared__ int value[2][THREADS];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ barrier met;
    const int own = (int)threadIdx.x;
    if (own == 0) init(&met, THREADS);
    __syncthreads();
    int sum = 0;
    for (int round = 0; round < rounds; round++) {
        value[round % 2][own] = own + round;
        barrier::arrival_token token = met.arrive();
        const int mine = own * round; /* work that needs nobody */
        met.wait(std::move(token));
        for (int i = 0; i < THREADS; i++) sum += value[round % 2][i];
        sum += mine;
    }
    out[own] = sum;
}

/* Half of the threads leave early. */
static __global__ void drop_kernel(int *out)
{
    __shared__ int value[THREADS];
    __shared__ barrier met;
    if (threadIdx.x == 0) init(&met, blockDim.x);
    __syncthreads();
    if (threadIdx.x >= THREADS / 2) {
        met.arrive_and_drop();
        return;
    }
    met.arrive_and_wait();
    value[threadIdx.x] = (int)threadIdx.x;
    met.arrive_and_wait();
    out[threadIdx.x] = value[THREADS / 2 - 1 - threadIdx.x];
}

/* A tile comes by memcpy_async, once by all together, once by each thread for itself; sizes that are no multiple of 16, too. */
static __global__ void copy_kernel(const int *in, int *out, int count)
{
    __shared__ alignas(16) int together[THREADS], apart[THREADS];
    __shared__ barrier there;
    cg::thread_block block = cg::this_thread_block();
    if (block.thread_rank() == 0) init(&there, block.size());
    block.sync();
    cuda::memcpy_async(block, together, in, sizeof(int) * (size_t)count, there);
    if ((int)threadIdx.x < count)
        cuda::memcpy_async(&apart[threadIdx.x], &in[threadIdx.x], cuda::aligned_size_t<4>(sizeof(int)),
                           there);
    there.arrive_and_wait();
    if ((int)threadIdx.x < count)
        out[threadIdx.x] = together[count - 1 - (int)threadIdx.x] + apart[threadIdx.x];
}

/* Each thread has a pipeline of its own, two copies ahead. */
static __global__ void thread_pipeline_kernel(const int *in, int *out)
{
    __shared__ int ring[STAGES][THREADS];
    cuda::pipeline<cuda::thread_scope_thread> pipe = cuda::make_pipeline();
    const int own = (int)threadIdx.x;
    int sum = 0;
    for (int tile = 0, next = 0; tile < TILES; tile++) {
        for (; next < TILES && next < tile + STAGES; next++) {
            pipe.producer_acquire();
            cuda::memcpy_async(&ring[next % STAGES][own], &in[next * THREADS + own], sizeof(int), pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        sum += (tile + 1) * ring[tile % STAGES][own];
        pipe.consumer_release();
    }
    out[own] = sum;
}

/* The block has one; each thread reads what another one copied. */
template <int RING> static __global__ void block_pipeline_kernel(const int *in, int *out)
{
    __shared__ alignas(16) int ring[RING][THREADS];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, RING> state;
    cg::thread_block block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    int sum = 0;
    for (int tile = 0, next = 0; tile < TILES; tile++) {
        for (; next < TILES && next < tile + RING; next++) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, ring[next % RING], in + next * THREADS,
                               cuda::aligned_size_t<16>(sizeof(int) * THREADS), pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        sum += (tile + 1) * ring[tile % RING][THREADS - 1 - (int)threadIdx.x];
        pipe.consumer_release();
    }
    out[threadIdx.x] = sum;
}

/* The first warp copies, the others add. */
static __global__ void roles_kernel(const int *in, int *out)
{
    __shared__ int ring[STAGES][THREADS];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state;
    cg::thread_block block = cg::this_thread_block();
    const bool copies = threadIdx.x < 32;
    auto pipe = cuda::make_pipeline(block, &state,
                                    copies ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
    int sum = 0;
    for (int tile = 0; tile < TILES; tile++) {
        int *const stage = ring[tile % STAGES];
        if (copies) {
            pipe.producer_acquire();
            for (int i = (int)threadIdx.x; i < THREADS; i += 32)
                cuda::memcpy_async(&stage[i], &in[tile * THREADS + i], sizeof(int), pipe);
            pipe.producer_commit();
        } else {
            pipe.consumer_wait();
            sum += (tile + 1) * stage[THREADS - 1 - (int)threadIdx.x];
            pipe.consumer_release();
        }
    }
    if (!copies) out[threadIdx.x] = sum;
}

/* One thread begins a bulk copy. */
static __global__ void bulk_kernel(const int *in, int *out)
{
#if __CUDA_ARCH__ >= 900
    __shared__ alignas(16) int tile[THREADS];
    __shared__ barrier there;
    if (threadIdx.x == 0) {
        init(&there, blockDim.x);
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();
    barrier::arrival_token token;
    if (threadIdx.x == 0) {
        cuda::device::memcpy_async_tx(tile, in, cuda::aligned_size_t<16>(sizeof tile), there);
        token = cuda::device::barrier_arrive_tx(there, 1, sizeof tile);
    } else {
        token = there.arrive();
    }
    there.wait(std::move(token));
    out[threadIdx.x] = tile[THREADS - 1 - threadIdx.x];
#else
    out[threadIdx.x] = in[THREADS - 1 - threadIdx.x];
#endif
}

static void check_meetings(int *out)
{
    int got[THREADS], rounds = 5;
    rounds_kernel<<<1, THREADS>>>(out, rounds);
    finish_launch("rounds_kernel");
    download(got, out, THREADS);
    for (int i = 0; i < THREADS; i++) {
        int sum = 0;
        for (int r = 0; r < rounds; r++) sum += THREADS * (THREADS - 1) / 2 + THREADS * r + i * r;
        expect_equal("rounds", (size_t)i, got[i], sum);
    }
    drop_kernel<<<1, THREADS>>>(out);
    finish_launch("drop_kernel");
    download(got, out, THREADS);
    for (int i = 0; i < THREADS / 2; i++) expect_equal("drop", (size_t)i, got[i], THREADS / 2 - 1 - i);
}

static void check_sums(const char *what, const int *out, const int *host, int first, int reversed)
{
    int got[THREADS];
    finish_launch(what);
    download(got, out, THREADS);
    for (int i = first; i < THREADS; i++) {
        int sum = 0;
        for (int t = 0; t < TILES; t++) sum += (t + 1) * host[t * THREADS + (reversed ? THREADS - 1 - i : i)];
        expect_equal(what, (size_t)i, got[i], sum);
    }
}

int main(void)
{
    static int host[COUNT], got[THREADS];
    unsigned state = 11;
    for (int &x : host) x = (int)(next_random(&state) % 1000);
    int *in = upload(host, COUNT), *out = device_array<int>(THREADS);
    check_meetings(out);
    for (int count = THREADS; count > 0; count -= 41) {
        copy_kernel<<<1, THREADS>>>(in, out, count);
        finish_launch("copy_kernel");
        download(got, out, (size_t)count);
        for (int i = 0; i < count; i++)
            expect_equal("copy", (size_t)i, got[i], host[count - 1 - i] + host[i]);
    }
    thread_pipeline_kernel<<<1, THREADS>>>(in, out);
    check_sums("thread_pipeline_kernel", out, host, 0, 0);
    block_pipeline_kernel<1><<<1, THREADS>>>(in, out);
    check_sums("block_pipeline_kernel<1>", out, host, 0, 1);
    block_pipeline_kernel<STAGES><<<1, THREADS>>>(in, out);
    check_sums("block_pipeline_kernel", out, host, 0, 1);
    roles_kernel<<<1, THREADS>>>(in, out);
    check_sums("roles_kernel", out, host, 32, 1);
    bulk_kernel<<<1, THREADS>>>(in, out);
    finish_launch("bulk_kernel");
    download(got, out, THREADS);
    for (int i = 0; i < THREADS; i++) expect_equal("bulk", (size_t)i, got[i], host[THREADS - 1 - i]);
    release(in);
    release(out);
    return finish("cuda_barrier_pipeline");
}
