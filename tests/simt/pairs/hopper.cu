/**
 * Kernels with mbarriers, bulk copies and tensor copies, in pairs: RIGHT, or with one mistake. pairs.test holds the device to
 * what is announced before each of them. `build/hopper NAME right|wrong` runs one.
 */
#include "../hopper.h"

#include <cooperative_groups.h>
#include <string.h>

enum { WARP = 32, THREADS = 64, ELEMS = 256, BYTES = 4 * ELEMS };

#define SHARED_TILE __shared__ __align__(1024) int tile[2][ELEMS]
#define SHARED_BARRIERS __shared__ __align__(8) uint64_t full[2], empty[2]

/** Thread 0 initialises all of them, for so many arrivals. */
static __device__ __forceinline__ void init_all(uint64_t *full, uint64_t *empty, uint32_t arrivals)
{
    if (threadIdx.x == 0)
        for (int i = 0; i < 2; i++) {
            mbarrier_init(&full[i], 1);
            mbarrier_init(&empty[i], arrivals);
        }
    proxy_fence();
    __syncthreads();
}

/* ---- mbarriers by themselves ------------------------------------------------------------------------------ */

/** One thread arrives where two are waited for. */
// pair: arrival_missing is deadlock
template <bool RIGHT>
static __global__ void arrival_missing(const int *, int *out, const __grid_constant__ CUtensorMap)
{
    SHARED_BARRIERS;
    init_all(full, empty, 2);
    if (threadIdx.x % (RIGHT ? WARP : THREADS) == 0) mbarrier_arrive(&empty[1]); // here: arrival_missing
    mbarrier_wait(&empty[1], 0);                                                 // here: arrival_missing
    out[threadIdx.x] = 1;
}

/** A wait for the parity of a phase that nobody arrives in. */
// pair: parity_of_next is deadlock
template <bool RIGHT>
static __global__ void parity_of_next(const int *, int *out, const __grid_constant__ CUtensorMap)
{
    SHARED_BARRIERS;
    init_all(full, empty, THREADS);
    for (uint32_t phase = 0; phase < 2; phase++) {
        mbarrier_arrive(&empty[0]);
        mbarrier_wait(&empty[0], phase);
    }
    mbarrier_wait(&empty[0], RIGHT ? 1 : 0); // here: parity_of_next
    out[threadIdx.x] = 1;
}

/** The first lane of each warp arrives for all of them, which may still be writing. */
// pair: lane_arrives is shared-race
template <bool RIGHT>
static __global__ void lane_arrives(const int *, int *out, const __grid_constant__ CUtensorMap)
{
    __shared__ int values[THREADS];
    SHARED_BARRIERS;
    const int i = (int)threadIdx.x;
    init_all(full, empty, 2);
    values[i] = i; // here: lane_arrives
    if (RIGHT) __syncwarp();
    if (i % WARP == 0) mbarrier_arrive(&empty[0]);
    mbarrier_wait(&empty[0], 0);
    out[i] = values[i ^ 33]; // here: lane_arrives
}

/** The first lane of each warp waits for all of them. */
// pair: lane_waits is shared-race
template <bool RIGHT>
static __global__ void lane_waits(const int *, int *out, const __grid_constant__ CUtensorMap)
{
    __shared__ int values[THREADS];
    SHARED_BARRIERS;
    const int i = (int)threadIdx.x;
    init_all(full, empty, THREADS);
    values[i] = i; // here: lane_waits
    mbarrier_arrive(&empty[0]);
    if (i % WARP == 0) mbarrier_wait(&empty[0], 0);
    if (RIGHT) __syncwarp();
    out[i] = values[i ^ 33]; // here: lane_waits
}

/** The next phase ends while a warp may still be in its wait for the one before: it would find the phase after both. */
// pair: wait_overtaken is barrier-phase
template <bool RIGHT>
static __global__ void wait_overtaken(const int *, int *out, const __grid_constant__ CUtensorMap)
{
    SHARED_BARRIERS;
    init_all(full, empty, WARP);
    if (threadIdx.x >= WARP) {
        mbarrier_arrive(&empty[0]);
        mbarrier_wait(&full[0], 0); // here: wait_overtaken
        mbarrier_arrive(&empty[0]);
    } else if (threadIdx.x == 0) {
        mbarrier_wait(&empty[0], 0);
        mbarrier_arrive(&full[0]);
        if (RIGHT) mbarrier_wait(&empty[0], 1);
        mbarrier_arrive(&full[0]); // here: wait_overtaken
    }
    out[threadIdx.x] = 1;
}

// pair: after_inval is barrier-phase
template <bool RIGHT>
static __global__ void after_inval(const int *, int *out, const __grid_constant__ CUtensorMap)
{
    SHARED_BARRIERS;
    init_all(full, empty, 1);
    if (threadIdx.x != 0) return;
    mbarrier_arrive(&empty[1]);
    mbarrier_wait(&empty[1], 0);
    mbarrier_inval(&empty[1]);
    if (RIGHT) mbarrier_init(&empty[1], 2);
    mbarrier_arrive(&empty[1]); // here: after_inval
    out[0] = 1;
}

// pair: not_initialised is barrier-phase
template <bool RIGHT>
static __global__ void not_initialised(const int *, int *out, const __grid_constant__ CUtensorMap)
{
    __shared__ __align__(8) uint64_t barrier;
    if (threadIdx.x != 0) return;
    if (RIGHT) mbarrier_init(&barrier, 2);
    mbarrier_arrive(&barrier); // here: not_initialised
    out[0] = 1;
}

/** The second thread does not wait until the first one has initialised the mbarrier. */
// pair: init_not_awaited is barrier-phase
template <bool RIGHT>
static __global__ void init_not_awaited(const int *, int *out, const __grid_constant__ CUtensorMap)
{
    __shared__ __align__(8) uint64_t barrier;
    if (threadIdx.x == WARP) mbarrier_init(&barrier, THREADS);
    if (RIGHT) __syncthreads();
    mbarrier_arrive(&barrier); // here: init_not_awaited
    mbarrier_wait(&barrier, 0);
    out[threadIdx.x] = 1;
}

/** A bulk copy may report to an mbarrier of which its proxy has not heard, though the block gets by on hardware. */
// pair: init_unfenced is missing-proxy-fence, all
template <bool RIGHT>
static __global__ void init_unfenced(const int *in, int *out, const __grid_constant__ CUtensorMap)
{
    SHARED_TILE;
    __shared__ __align__(8) uint64_t barrier;
    if (threadIdx.x == 0) mbarrier_init(&barrier, 1); // here: init_unfenced
    if (RIGHT && threadIdx.x == 0) mbarrier_init_fence();
    __syncthreads();
    if (threadIdx.x == WARP) {
        mbarrier_arrive_expect(&barrier, BYTES);
        bulk_load(tile[0], in, BYTES, &barrier); // here: init_unfenced
    }
    mbarrier_wait(&barrier, 0);
    out[threadIdx.x] = tile[0][threadIdx.x];
}

/** An mbarrier is invalidated by the first warp that is done with it. */
// pair: inval_in_use is shared-race
template <bool RIGHT>
static __global__ void inval_in_use(const int *, int *out, const __grid_constant__ CUtensorMap)
{
    SHARED_BARRIERS;
    init_all(full, empty, THREADS);
    mbarrier_arrive(&empty[0]);
    mbarrier_wait(&empty[0], 0); // here: inval_in_use
    if (RIGHT) __syncthreads();
    if (threadIdx.x == 0) mbarrier_inval(&empty[0]); // here: inval_in_use
    out[threadIdx.x] = 1;
}

/** All threads arrive in a phase of one, while bytes are missing. */
// pair: arrival_too_many is barrier-phase
template <bool RIGHT>
static __global__ void arrival_too_many(const int *in, int *out, const __grid_constant__ CUtensorMap)
{
    SHARED_BARRIERS;
    init_all(full, empty, 1);
    if (threadIdx.x == 0) mbarrier_expect(&full[0], BYTES);
    __syncthreads();
    if (!RIGHT || threadIdx.x == 0) mbarrier_arrive(&full[0]); // here: arrival_too_many
    __syncthreads();
    if (threadIdx.x == 0)
        asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], %1;"
                     :
                     : "r"(shared_address(&full[0])), "r"(BYTES)
                     : "memory");
    mbarrier_wait(&full[0], 0);
    out[threadIdx.x] = in[threadIdx.x];
}

/** An mbarrier in the way of other data. */
// pair: overwritten is barrier-phase
template <bool RIGHT>
static __global__ void overwritten(const int *, int *out, const __grid_constant__ CUtensorMap)
{
    SHARED_BARRIERS;
    init_all(full, empty, 2);
    if (threadIdx.x != 0) return;
    if (!RIGHT) full[1] = 7;
    mbarrier_arrive(&full[1]); // here: overwritten
    out[0] = 1;
}

/* ---- loads ------------------------------------------------------------------------------------------------ */

static __device__ __forceinline__ void load_tile(int *tile, const int *in, uint64_t *barrier)
{
    mbarrier_arrive_expect(barrier, BYTES);
    bulk_load(tile, in, BYTES, barrier);
}

/** A barrier of the block does not wait for a bulk copy. */
// pair: barrier_instead is missing-wait
template <bool RIGHT>
static __global__ void barrier_instead(const int *in, int *out, const __grid_constant__ CUtensorMap)
{
    SHARED_TILE;
    SHARED_BARRIERS;
    init_all(full, empty, 1);
    if (threadIdx.x == 0) load_tile(tile[0], in, &full[0]); // here: barrier_instead
    __syncthreads();
    if (RIGHT) mbarrier_wait(&full[0], 0);
    out[threadIdx.x] = tile[0][threadIdx.x]; // here: barrier_instead
    mbarrier_wait(&full[0], 0);
}

/** One thread waits, and what it knows reaches the others by barriers: of its warp, then of the block. */
// pair: one_waits is missing-wait
template <bool RIGHT>
static __global__ void one_waits(const int *in, int *out, const __grid_constant__ CUtensorMap)
{
    SHARED_TILE;
    SHARED_BARRIERS;
    init_all(full, empty, 1);
    if (threadIdx.x == 0) load_tile(tile[0], in, &full[0]); // here: one_waits
    __syncthreads();
    if (threadIdx.x == 0) mbarrier_wait(&full[0], 0);
    __syncwarp();
    if (RIGHT) __syncthreads();
    out[threadIdx.x] = tile[0][threadIdx.x]; // here: one_waits
}

/** A wait that is not repeated when its time is up. */
// pair: wait_once is missing-wait, late
template <bool RIGHT>
static __global__ void wait_once(const int *in, int *out, const __grid_constant__ CUtensorMap)
{
    SHARED_TILE;
    SHARED_BARRIERS;
    init_all(full, empty, 1);
    if (threadIdx.x == 0) load_tile(tile[0], in, &full[0]); // here: wait_once
    __syncthreads();
    while (!mbarrier_try_wait(&full[0], 0) && RIGHT) continue;
    out[threadIdx.x] = tile[0][threadIdx.x]; // here: wait_once
    mbarrier_wait(&full[0], 0);
}

/** A second tile comes into the same stage, and the wait for it has the parity of the first. */
// pair: parity_not_flipped is missing-wait, late
template <bool RIGHT>
static __global__ void parity_not_flipped(const int *in, int *out, const __grid_constant__ CUtensorMap)
{
    SHARED_TILE;
    SHARED_BARRIERS;
    init_all(full, empty, 1);
    for (uint32_t step = 0; step < 2; step++) {
        if (threadIdx.x == 0) load_tile(tile[0], in, &full[0]); // here: parity_not_flipped
        __syncthreads();
        mbarrier_wait(&full[0], RIGHT ? step : 0);
        out[THREADS * step + threadIdx.x] = tile[0][threadIdx.x + step]; // here: parity_not_flipped
        __syncthreads();
    }
    mbarrier_wait(&full[0], 1);
}

/** Two stages, and the wait for the other one. */
// pair: other_stage is missing-wait
template <bool RIGHT>
static __global__ void other_stage(const int *in, int *out, const __grid_constant__ CUtensorMap)
{
    SHARED_TILE;
    SHARED_BARRIERS;
    init_all(full, empty, 1);
    if (threadIdx.x == 0)
        for (int s = 0; s < 2; s++) load_tile(tile[s], in, &full[s]); // here: other_stage
    __syncthreads();
    mbarrier_wait(&full[0], 0);
    if (RIGHT) mbarrier_wait(&full[1], 0);
    out[threadIdx.x] = tile[1][threadIdx.x]; // here: other_stage
    mbarrier_wait(&full[1], 0);
}

/** Bytes are expected that no copy brings. */
// pair: bytes_too_many is barrier-phase
template <bool RIGHT>
static __global__ void bytes_too_many(const int *in, int *out, const __grid_constant__ CUtensorMap)
{
    SHARED_TILE;
    SHARED_BARRIERS;
    init_all(full, empty, 1);
    if (threadIdx.x == 0) {
        mbarrier_arrive_expect(&full[0], RIGHT ? BYTES : 2 * BYTES); // here: bytes_too_many
        bulk_load(tile[0], in, BYTES, &full[0]);
    }
    __syncthreads();
    mbarrier_wait(&full[0], 0); // here: bytes_too_many
    out[threadIdx.x] = tile[0][threadIdx.x];
}

/** Two copies report, and the bytes of one are expected: the phase is over when half of them have come. */
// pair: bytes_too_few is barrier-phase, late
template <bool RIGHT>
static __global__ void bytes_too_few(const int *in, int *out, const __grid_constant__ CUtensorMap)
{
    SHARED_TILE;
    SHARED_BARRIERS;
    init_all(full, empty, 1);
    if (threadIdx.x == 0) {
        mbarrier_arrive_expect(&full[0], RIGHT ? 2 * BYTES : BYTES);
        bulk_load(tile[0], in, BYTES, &full[0]);
        bulk_load(tile[1], in, BYTES, &full[0]); // here: bytes_too_few
    }
    __syncthreads();
    mbarrier_wait(&full[0], 0);
    out[threadIdx.x] = tile[0][threadIdx.x];
}

/** Threads give a stage back before they have read it. */
// pair: stage_in_use is shared-race
template <bool RIGHT>
static __global__ void stage_in_use(const int *in, int *out, const __grid_constant__ CUtensorMap)
{
    SHARED_TILE;
    SHARED_BARRIERS;
    init_all(full, empty, WARP);
    for (uint32_t step = 0; step < 2 && threadIdx.x == 0; step++) {
        mbarrier_wait(&empty[0], step ^ 1);
        load_tile(tile[0], in, &full[0]); // here: stage_in_use
    }
    for (uint32_t step = 0; step < 2 && threadIdx.x >= WARP; step++) {
        mbarrier_wait(&full[0], step);
        if (!RIGHT) mbarrier_arrive(&empty[0]);
        out[WARP * step + threadIdx.x] = tile[0][threadIdx.x]; // here: stage_in_use
        if (RIGHT) mbarrier_arrive(&empty[0]);
    }
}

/** A consumer is not counted in `empty`: the producer goes on when all others have given the stage back. */
// pair: consumer_not_counted is shared-race
template <bool RIGHT>
static __global__ void consumer_not_counted(const int *in, int *out, const __grid_constant__ CUtensorMap)
{
    SHARED_TILE;
    SHARED_BARRIERS;
    init_all(full, empty, RIGHT ? WARP : WARP - 1);
    for (uint32_t step = 0; step < 4 && threadIdx.x == 0; step++) {
        if (step >= 2) mbarrier_wait(&empty[step % 2], 0);
        load_tile(tile[step % 2], in, &full[step % 2]); // here: consumer_not_counted
    }
    for (uint32_t step = 0; step < 4 && threadIdx.x >= WARP; step++) {
        mbarrier_wait(&full[step % 2], step / 2);
        out[WARP * step + threadIdx.x] = tile[step % 2][threadIdx.x]; // here: consumer_not_counted
        mbarrier_arrive(&empty[step % 2]);
    }
}

/* ---- the two proxies -------------------------------------------------------------------------------------- */

/** A tile is written by threads and stored by a bulk copy, with a barrier between but no fence. */
// pair: store_without_fence is missing-proxy-fence
template <bool RIGHT>
static __global__ void store_without_fence(const int *, int *out, const __grid_constant__ CUtensorMap)
{
    SHARED_TILE;
    for (int i = (int)threadIdx.x; i < ELEMS; i += THREADS) tile[0][i] = i; // here: store_without_fence
    if (RIGHT) proxy_fence();
    __syncthreads();
    if (threadIdx.x == 0) {
        bulk_store(out, tile[0], BYTES); // here: store_without_fence
        bulk_commit();
        bulk_wait<0>();
    }
}

/** The fence comes before the last write. */
// pair: fence_too_early is missing-proxy-fence
template <bool RIGHT>
static __global__ void fence_too_early(const int *, int *out, const __grid_constant__ CUtensorMap)
{
    SHARED_TILE;
    for (int i = (int)threadIdx.x; i < ELEMS; i += THREADS) tile[0][i] = i;
    if (!RIGHT) proxy_fence();
    tile[0][threadIdx.x] = 5; // here: fence_too_early
    if (RIGHT) proxy_fence();
    __syncthreads();
    if (threadIdx.x == 0) {
        bulk_store(out, tile[0], BYTES); // here: fence_too_early
        bulk_commit();
        bulk_wait<0>();
    }
}

/** What threads wrote is overwritten by a load. */
// pair: cleared_before is missing-proxy-fence
template <bool RIGHT>
static __global__ void cleared_before(const int *in, int *out, const __grid_constant__ CUtensorMap)
{
    SHARED_TILE;
    SHARED_BARRIERS;
    init_all(full, empty, 1);
    for (int i = (int)threadIdx.x; i < ELEMS; i += THREADS) tile[0][i] = 0; // here: cleared_before
    if (RIGHT) proxy_fence();
    __syncthreads();
    if (threadIdx.x == 0) load_tile(tile[0], in, &full[0]); // here: cleared_before
    mbarrier_wait(&full[0], 0);
    out[threadIdx.x] = tile[0][threadIdx.x];
}

/** A warp reads a tile, and its first lane loads the next over it: the load may overtake the reads. */
// pair: overtakes_reads is missing-proxy-fence
template <bool RIGHT>
static __global__ void overtakes_reads(const int *in, int *out, const __grid_constant__ CUtensorMap)
{
    SHARED_TILE;
    SHARED_BARRIERS;
    init_all(full, empty, 1);
    if (threadIdx.x >= WARP) return;
    for (uint32_t step = 0; step < 2; step++) {
        if (threadIdx.x == 0) load_tile(tile[0], in, &full[0]); // here: overtakes_reads
        mbarrier_wait(&full[0], step);
        out[WARP * step + threadIdx.x] = tile[0][threadIdx.x]; // here: overtakes_reads
        if (RIGHT) proxy_fence();
        __syncwarp();
    }
}

/** The reading warp gives the stage back by an mbarrier: a fence is still asked for, by the letter. */
// pair: read_by_other_warp is missing-proxy-fence, all
template <bool RIGHT>
static __global__ void read_by_other_warp(const int *in, int *out, const __grid_constant__ CUtensorMap)
{
    SHARED_TILE;
    SHARED_BARRIERS;
    init_all(full, empty, WARP);
    for (uint32_t step = 0; step < 2 && threadIdx.x == 0; step++) {
        mbarrier_wait(&empty[0], step ^ 1);
        load_tile(tile[0], in, &full[0]); // here: read_by_other_warp
    }
    for (uint32_t step = 0; step < 2 && threadIdx.x >= WARP; step++) {
        mbarrier_wait(&full[0], step);
        out[WARP * step + threadIdx.x] = tile[0][threadIdx.x]; // here: read_by_other_warp
        if (RIGHT) proxy_fence();
        mbarrier_arrive(&empty[0]);
    }
}

/* ---- the two proxies in device memory ---------------------------------------------------------------------- */

/** Threads write device memory, and a bulk copy of their block loads it: a fence for shared memory says nothing of that. */
// pair: global_written is missing-proxy-fence
template <bool RIGHT>
static __global__ void global_written(const int *, int *out, const __grid_constant__ CUtensorMap)
{
    SHARED_TILE;
    SHARED_BARRIERS;
    init_all(full, empty, 1);
    for (int i = (int)threadIdx.x; i < ELEMS; i += THREADS) out[i] = i; // here: global_written
    if (RIGHT)
        proxy_fence_global();
    else
        proxy_fence();
    __syncthreads();
    if (threadIdx.x == 0) load_tile(tile[0], out, &full[0]); // here: global_written
    mbarrier_wait(&full[0], 0);
    out[ELEMS + threadIdx.x] = tile[0][threadIdx.x];
}

/** One thread fences for all, before the barrier instead of after it. */
// pair: global_fenced_by_one is missing-proxy-fence
template <bool RIGHT>
static __global__ void global_fenced_by_one(const int *, int *out, const __grid_constant__ CUtensorMap)
{
    SHARED_TILE;
    SHARED_BARRIERS;
    init_all(full, empty, 1);
    for (int i = (int)threadIdx.x; i < ELEMS; i += THREADS) out[i] = i; // here: global_fenced_by_one
    if (!RIGHT && threadIdx.x == 0) proxy_fence_all();
    __syncthreads();
    if (RIGHT && threadIdx.x == 0) proxy_fence_all();
    if (threadIdx.x == 0) load_tile(tile[0], out, &full[0]); // here: global_fenced_by_one
    mbarrier_wait(&full[0], 0);
    out[ELEMS + threadIdx.x] = tile[0][threadIdx.x];
}

/** A warp reads what a bulk copy of its first lane then overwrites, and may overtake. */
// pair: global_overtakes_reads is missing-proxy-fence
template <bool RIGHT>
static __global__ void global_overtakes_reads(const int *, int *out, const __grid_constant__ CUtensorMap)
{
    SHARED_TILE;
    if (threadIdx.x >= WARP) return;
    for (int i = (int)threadIdx.x; i < ELEMS; i += WARP) tile[0][i] = out[i]; // here: global_overtakes_reads
    if (RIGHT)
        proxy_fence_all();
    else
        proxy_fence();
    __syncwarp();
    if (threadIdx.x != 0) return;
    bulk_store(out, tile[0], BYTES); // here: global_overtakes_reads
    bulk_commit();
    bulk_wait<0>();
}

/** All read it, and a barrier of the block stands between: a fence is still asked for, by the letter. */
// pair: global_read_by_all is missing-proxy-fence, all
template <bool RIGHT>
static __global__ void global_read_by_all(const int *, int *out, const __grid_constant__ CUtensorMap)
{
    SHARED_TILE;
    for (int i = (int)threadIdx.x; i < ELEMS; i += THREADS) tile[0][i] = out[i]; // here: global_read_by_all
    proxy_fence();
    if (RIGHT) proxy_fence_global();
    __syncthreads();
    if (threadIdx.x != 0) return;
    bulk_store(out, tile[0], BYTES); // here: global_read_by_all
    bulk_commit();
    bulk_wait<0>();
}

/** What one copy has written another one reads and overwrites: one proxy, unless a thread writes first. */
// pair: global_in_place is missing-proxy-fence
template <bool RIGHT>
static __global__ void global_in_place(const int *, int *out, const __grid_constant__ CUtensorMap)
{
    SHARED_TILE;
    SHARED_BARRIERS;
    init_all(full, empty, 1);
    if (threadIdx.x != 0) return;
    if (!RIGHT) out[0] = 1; // here: global_in_place
    for (uint32_t step = 0; step < 2; step++) {
        load_tile(tile[0], out, &full[0]); // here: global_in_place
        mbarrier_wait(&full[0], step);
        if (!RIGHT) break; // one finding is enough
        bulk_store(out, tile[0], BYTES);
        bulk_commit();
        bulk_wait<0>();
    }
}

/** Another block wrote it, and said so by a flag: who loads it may fence. */
// pair: global_of_other is missing-proxy-fence
template <bool RIGHT> static __global__ void global_of_other(int *out)
{
    SHARED_TILE;
    SHARED_BARRIERS;
    init_all(full, empty, 1);
    int *flag = out + ELEMS;
    if (blockIdx.x == 0) {
        for (int i = (int)threadIdx.x; i < ELEMS; i += THREADS) out[i] = i; // here: global_of_other
        __syncthreads();
        if (threadIdx.x != 0) return;
        __threadfence();
        atomicExch(flag, 1);
    } else {
        if (threadIdx.x != 0) return;
        while (atomicAdd(flag, 0) != 1) continue;
        __threadfence();
        if (RIGHT) proxy_fence_global();
        load_tile(tile[0], out, &full[0]); // here: global_of_other
        mbarrier_wait(&full[0], 0);
    }
}
template <bool RIGHT> static void launch_global_of_other(const int *, int *out, CUtensorMap)
{
    global_of_other<RIGHT><<<2, THREADS>>>(out);
}

/** The grid's barrier is no fence between the proxies: who wrote may fence, or who overwrites. */
// pair: global_behind_grid is missing-proxy-fence
template <bool RIGHT> static __global__ void global_behind_grid(int *out)
{
    SHARED_TILE;
    const int i = (int)threadIdx.x;
    for (int j = i; j < ELEMS; j += THREADS) tile[0][j] = j;
    out[blockIdx.x * THREADS + i] = i; // here: global_behind_grid
    proxy_fence();
    if (RIGHT) proxy_fence_global();
    cooperative_groups::this_grid().sync();
    if (i != 0 || blockIdx.x != 0) return;
    bulk_store(out, tile[0], 2 * THREADS * 4); // here: global_behind_grid
    bulk_commit();
    bulk_wait<0>();
}
template <bool RIGHT> static void launch_global_behind_grid(const int *, int *out, CUtensorMap)
{
    void *arguments[] = {&out};
    (void)cudaLaunchCooperativeKernel(global_behind_grid<RIGHT>, dim3(2), dim3(THREADS), arguments);
}

/* ---- groups of stores ------------------------------------------------------------------------------------- */

static __device__ __forceinline__ void fill(int *tile, int with)
{
    for (int i = (int)threadIdx.x; i < ELEMS; i += THREADS) tile[i] = i + with;
    proxy_fence();
    __syncthreads();
}

/** The source of a store is written again while it may still be read. */
// pair: source_reused is bulk-group
template <bool RIGHT>
static __global__ void source_reused(const int *, int *out, const __grid_constant__ CUtensorMap)
{
    SHARED_TILE;
    fill(tile[0], 0);
    if (threadIdx.x == 0) {
        bulk_store(out, tile[0], BYTES); // here: source_reused
        bulk_commit();
        if (RIGHT) bulk_wait_read<0>();
    }
    __syncthreads();
    tile[0][threadIdx.x] = 3; // here: source_reused
    if (threadIdx.x == 0) bulk_wait<0>();
}

/** Another thread waits, whose groups are not these. */
// pair: other_thread_waits is bulk-group
template <bool RIGHT>
static __global__ void other_thread_waits(const int *, int *out, const __grid_constant__ CUtensorMap)
{
    SHARED_TILE;
    fill(tile[0], 0);
    if (threadIdx.x == 0) {
        bulk_store(out, tile[0], BYTES); // here: other_thread_waits
        bulk_commit();
    }
    if (threadIdx.x == (RIGHT ? 0 : WARP)) bulk_wait_read<0>();
    __syncthreads();
    tile[0][threadIdx.x] = 3; // here: other_thread_waits
    if (threadIdx.x == 0) bulk_wait<0>();
}

/** The thread that issued the store waits for its reads, and the others do not wait for that thread. */
// pair: leader_waits_alone is bulk-group
template <bool RIGHT>
static __global__ void leader_waits_alone(const int *, int *out, const __grid_constant__ CUtensorMap)
{
    SHARED_TILE;
    fill(tile[0], 0);
    if (threadIdx.x == 0) {
        bulk_store(out, tile[0], BYTES); // here: leader_waits_alone
        bulk_commit();
    }
    __syncthreads();
    if (threadIdx.x == 0) bulk_wait_read<0>();
    if (RIGHT) __syncthreads();
    if (threadIdx.x >= WARP) tile[0][threadIdx.x] = 3; // here: leader_waits_alone
    if (threadIdx.x == 0) bulk_wait<0>();
}

/** Two stages, and one group may be left: it is that of the stage that is loaded next. */
// pair: one_group_left is bulk-group
template <bool RIGHT>
static __global__ void one_group_left(const int *in, int *out, const __grid_constant__ CUtensorMap)
{
    SHARED_TILE;
    SHARED_BARRIERS;
    init_all(full, empty, 1);
    if (threadIdx.x != 0) return;
    for (int step = 0; step < 2; step++) load_tile(tile[step], in, &full[step]);
    for (int step = 0; step < 4; step++) {
        const int s = step % 2;
        mbarrier_wait(&full[s], step / 2 % 2);
        bulk_store(out, tile[s], BYTES); // here: one_group_left
        bulk_commit();
        if (RIGHT)
            bulk_wait_read<0>();
        else
            bulk_wait_read<1>();
        if (step < 2) load_tile(tile[s], in, &full[s]); // here: one_group_left
    }
    bulk_wait<0>();
}

/** A store that belongs to no group when its thread waits. */
// pair: not_committed is bulk-group
template <bool RIGHT>
static __global__ void not_committed(const int *, int *out, const __grid_constant__ CUtensorMap)
{
    SHARED_TILE;
    fill(tile[0], 0);
    if (threadIdx.x == 0) {
        bulk_store(out, tile[0], BYTES); // here: not_committed
        if (RIGHT) bulk_commit();
        bulk_wait_read<0>();
    }
    __syncthreads();
    tile[0][threadIdx.x] = 3; // here: not_committed
    bulk_commit();
    bulk_wait<0>();
}

/** The block ends while a store may still read shared memory. */
// pair: store_left is bulk-group, all
template <bool RIGHT>
static __global__ void store_left(const int *, int *out, const __grid_constant__ CUtensorMap)
{
    SHARED_TILE;
    fill(tile[0], 0);
    if (threadIdx.x != 0) return;
    bulk_store(out, tile[0], BYTES); // here: store_left
    bulk_commit();
    if (RIGHT) bulk_wait_read<0>();
}

/* ---- addresses -------------------------------------------------------------------------------------------- */

// pair: bulk_off_by_8 is misaligned
template <bool RIGHT>
static __global__ void bulk_off_by_8(const int *in, int *out, const __grid_constant__ CUtensorMap)
{
    SHARED_TILE;
    SHARED_BARRIERS;
    init_all(full, empty, 1);
    if (threadIdx.x == 0) load_tile(tile[0], RIGHT ? in : in + 2, &full[0]); // here: bulk_off_by_8
    mbarrier_wait(&full[0], 0);
    out[threadIdx.x] = tile[0][threadIdx.x];
}

// pair: bulk_past_end is out-of-bounds
template <bool RIGHT>
static __global__ void bulk_past_end(const int *in, int *out, const __grid_constant__ CUtensorMap)
{
    SHARED_TILE;
    SHARED_BARRIERS;
    init_all(full, empty, 1);
    if (threadIdx.x == 0)
        load_tile(tile[0], RIGHT ? in : in + 2 * ELEMS - 4, &full[0]); // here: bulk_past_end
    mbarrier_wait(&full[0], 0);
    out[threadIdx.x] = tile[0][threadIdx.x];
}

/** The box of a tensor copy needs 128 bytes of alignment. */
// pair: box_off_by_64 is misaligned
template <bool RIGHT>
static __global__ void box_off_by_64(const int *, int *out, const __grid_constant__ CUtensorMap map)
{
    SHARED_TILE;
    SHARED_BARRIERS;
    init_all(full, empty, 1);
    if (threadIdx.x == 0) {
        mbarrier_arrive_expect(&full[0], BYTES);
        tensor_load(RIGHT ? tile[0] : tile[0] + 16, &map, 0, 0, &full[0]); // here: box_off_by_64
    }
    mbarrier_wait(&full[0], 0);
    out[threadIdx.x] = tile[0][threadIdx.x];
}

/** A row of a tensor copy begins on 16 bytes in device memory. */
// pair: row_off_by_8 is misaligned
template <bool RIGHT>
static __global__ void row_off_by_8(const int *, int *out, const __grid_constant__ CUtensorMap map)
{
    SHARED_TILE;
    SHARED_BARRIERS;
    init_all(full, empty, 1);
    if (threadIdx.x == 0) {
        mbarrier_arrive_expect(&full[0], BYTES);
        tensor_load(tile[0], &map, RIGHT ? -4 : -2, 0, &full[0]); // here: row_off_by_8
    }
    mbarrier_wait(&full[0], 0);
    out[threadIdx.x] = tile[0][threadIdx.x];
}

/** A box with elements out of the tensor's range brings as many bytes as any other. */
// pair: bytes_of_range is barrier-phase, late
template <bool RIGHT>
static __global__ void bytes_of_range(const int *in, int *out, const __grid_constant__ CUtensorMap map)
{
    SHARED_TILE;
    SHARED_BARRIERS;
    init_all(full, empty, 1);
    if (threadIdx.x == 0) {
        mbarrier_arrive_expect(&full[0], BYTES + (RIGHT ? BYTES : BYTES / 2));
        bulk_load(tile[1], in, BYTES, &full[0]);
        tensor_load(tile[0], &map, 0, 12, &full[0]);
    }
    mbarrier_wait(&full[0], 0); // here: bytes_of_range
    out[threadIdx.x] = tile[0][threadIdx.x];
}

/** A bulk copy within shared memory needs a launch in clusters, if only of one block. */
// pair: no_cluster is unsupported
template <bool RIGHT>
static __global__ void no_cluster(const int *in, int *out, const __grid_constant__ CUtensorMap)
{
    SHARED_TILE;
    SHARED_BARRIERS;
    init_all(full, empty, 1);
    if (threadIdx.x == 0) {
        load_tile(tile[1], in, &full[1]);
        mbarrier_wait(&full[1], 0);
        mbarrier_arrive_expect(&full[0], BYTES);
        if (RIGHT)
            bulk_load(tile[0], in, BYTES, &full[0]);
        else
            asm volatile( // here: no_cluster
                "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                :
                : "r"(shared_address(tile[0])), "r"(shared_address(tile[1])), "r"(BYTES),
                  "r"(shared_address(&full[0]))
                : "memory");
    }
    mbarrier_wait(&full[0], 0);
    out[threadIdx.x] = tile[0][threadIdx.x];
}

/** Something that is no tensor map. */
// pair: no_map is unsupported
template <bool RIGHT>
static __global__ void no_map(const int *in, int *out, const __grid_constant__ CUtensorMap map)
{
    SHARED_TILE;
    SHARED_BARRIERS;
    init_all(full, empty, 1);
    if (threadIdx.x == 0) {
        mbarrier_arrive_expect(&full[0], BYTES);
        asm volatile( // here: no_map
            "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, "
            "%2}], [%3];"
            :
            : "r"(shared_address(tile[0])), "l"(RIGHT ? &map : (const CUtensorMap *)in), "r"(0),
              "r"(shared_address(&full[0]))
            : "memory");
    }
    mbarrier_wait(&full[0], 0);
    out[threadIdx.x] = tile[0][threadIdx.x];
}

/** A copy of the map in a local variable. */
// pair: local_map is tensor-map
template <bool RIGHT>
static __global__ void local_map(const int *, int *out, const __grid_constant__ CUtensorMap map)
{
    SHARED_TILE;
    SHARED_BARRIERS;
    init_all(full, empty, 1);
    const CUtensorMap copy = map;
    if (threadIdx.x == 0) {
        mbarrier_arrive_expect(&full[0], BYTES);
        tensor_load(tile[0], RIGHT ? &map : &copy, 0, 0, &full[0]); // here: local_map
    }
    mbarrier_wait(&full[0], 0);
    out[threadIdx.x] = tile[0][threadIdx.x];
}

/** And one in shared memory, from where a kernel could change it. */
// pair: shared_map is tensor-map
template <bool RIGHT>
static __global__ void shared_map(const int *, int *out, const __grid_constant__ CUtensorMap map)
{
    SHARED_TILE;
    SHARED_BARRIERS;
    __shared__ __align__(64) uint64_t copy[sizeof map / 8];
    for (unsigned i = threadIdx.x; i < sizeof map / 8; i += THREADS) copy[i] = ((const uint64_t *)&map)[i];
    init_all(full, empty, 1);
    if (threadIdx.x == 0) {
        mbarrier_arrive_expect(&full[0], BYTES);
        tensor_load(tile[0], RIGHT ? &map : (const CUtensorMap *)copy, 0, 0, &full[0]); // here: shared_map
    }
    mbarrier_wait(&full[0], 0);
    out[threadIdx.x] = tile[0][threadIdx.x];
}

struct maps_and_more {
    int more;
    CUtensorMap map;
};

static __device__ __forceinline__ void load_by(const CUtensorMap *map, int *out)
{
    SHARED_TILE;
    SHARED_BARRIERS;
    init_all(full, empty, 1);
    if (threadIdx.x == 0) {
        mbarrier_arrive_expect(&full[0], BYTES);
        tensor_load(tile[0], map, 0, 0, &full[0]); // here: plain_map, plain_structure
    }
    mbarrier_wait(&full[0], 0);
    out[threadIdx.x] = tile[0][threadIdx.x];
}

/** The address of a parameter that is not __grid_constant__ is that of a copy in local memory. */
// pair: plain_map is tensor-map
static __global__ void plain_map_kernel(int *out, CUtensorMap map)
{
    load_by(&map, out);
}
static __global__ void constant_map_kernel(int *out, const __grid_constant__ CUtensorMap map)
{
    load_by(&map, out);
}

/** The same where the map is a part of the parameter. */
// pair: plain_structure is tensor-map
static __global__ void plain_structure_kernel(const struct maps_and_more maps, int *out)
{
    load_by(&maps.map, out);
}
#define MADE_BY_A_MACRO __grid_constant__
static __global__ void constant_structure_kernel(MADE_BY_A_MACRO const struct maps_and_more maps, int *out)
{
    load_by(&maps.map, out);
}

// pair: source_unwritten is uninitialized-read
template <bool RIGHT>
static __global__ void source_unwritten(const int *, int *out, const __grid_constant__ CUtensorMap)
{
    SHARED_TILE;
    fill(tile[RIGHT ? 1 : 0], 0);
    if (threadIdx.x == 0) {
        bulk_store(out, tile[1], BYTES); // here: source_unwritten
        bulk_commit();
        bulk_wait<0>();
    }
}

/* ---- running one of them ---------------------------------------------------------------------------------- */

typedef void launcher(const int *in, int *out, CUtensorMap map);
#define LAUNCHERS(name)                                                                                      \
    template <bool RIGHT> static void launch_##name(const int *in, int *out, CUtensorMap map)                \
    {                                                                                                        \
        name<RIGHT><<<1, THREADS>>>(in, out, map);                                                           \
    }
#define PAIRS(X)                                                                                             \
    X(arrival_missing)                                                                                       \
    X(parity_of_next)                                                                                        \
    X(lane_arrives)                                                                                          \
    X(lane_waits)                                                                                            \
    X(wait_overtaken)                                                                                        \
    X(after_inval)                                                                                           \
    X(not_initialised)                                                                                       \
    X(arrival_too_many)                                                                                      \
    X(init_not_awaited)                                                                                      \
    X(init_unfenced)                                                                                         \
    X(inval_in_use)                                                                                          \
    X(consumer_not_counted)                                                                                  \
    X(leader_waits_alone)                                                                                    \
    X(overwritten)                                                                                           \
    X(barrier_instead)                                                                                       \
    X(one_waits)                                                                                             \
    X(wait_once)                                                                                             \
    X(parity_not_flipped)                                                                                    \
    X(other_stage)                                                                                           \
    X(bytes_too_many)                                                                                        \
    X(bytes_too_few)                                                                                         \
    X(stage_in_use)                                                                                          \
    X(store_without_fence)                                                                                   \
    X(fence_too_early)                                                                                       \
    X(cleared_before)                                                                                        \
    X(overtakes_reads)                                                                                       \
    X(read_by_other_warp)                                                                                    \
    X(global_written)                                                                                        \
    X(global_fenced_by_one)                                                                                  \
    X(global_overtakes_reads)                                                                                \
    X(global_read_by_all)                                                                                    \
    X(global_in_place)                                                                                       \
    X(store_left)                                                                                            \
    X(source_reused)                                                                                         \
    X(other_thread_waits)                                                                                    \
    X(one_group_left)                                                                                        \
    X(not_committed)                                                                                         \
    X(bulk_off_by_8)                                                                                         \
    X(bulk_past_end)                                                                                         \
    X(box_off_by_64)                                                                                         \
    X(row_off_by_8)                                                                                          \
    X(bytes_of_range)                                                                                        \
    X(no_cluster)                                                                                            \
    X(no_map)                                                                                                \
    X(local_map)                                                                                             \
    X(shared_map)                                                                                            \
    X(source_unwritten)
PAIRS(LAUNCHERS)

template <bool RIGHT> static void launch_plain_map(const int *, int *out, CUtensorMap map)
{
    (RIGHT ? constant_map_kernel : plain_map_kernel)<<<1, THREADS>>>(out, map);
}
template <bool RIGHT> static void launch_plain_structure(const int *, int *out, CUtensorMap map)
{
    const struct maps_and_more maps = {0, map};
    (RIGHT ? constant_structure_kernel : plain_structure_kernel)<<<1, THREADS>>>(maps, out);
}

#define ROW(name) {#name, launch_##name<true>, launch_##name<false>},
static const struct {
    const char *name;
    launcher *right, *wrong;
} pairs[] = {PAIRS(ROW) ROW(plain_map) ROW(plain_structure) ROW(global_of_other) ROW(global_behind_grid)};

int main(int arguments, char **argument)
{
    static int host[2 * ELEMS];
    if (arguments != 3) return 2;
    int *in = upload(host, 2 * ELEMS), *out = upload(host, 2 * ELEMS);
    const CUtensorMap map = matrix_map(CU_TENSOR_MAP_DATA_TYPE_INT32, 4, in, 16, 32, 8, 32);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (strcmp(pairs[i].name, argument[1]) == 0)
            (strcmp(argument[2], "right") == 0 ? pairs[i].right : pairs[i].wrong)(in, out, map);
    (void)cudaDeviceSynchronize(); /* a wrong one fails */
    (void)cudaFree(in);
    (void)cudaFree(out);
    return 0;
}
