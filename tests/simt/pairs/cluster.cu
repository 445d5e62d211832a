/**
 * Kernels in clusters of two blocks, in pairs: RIGHT, or with one mistake. pairs.test holds the device to what is announced before each
 * of them. `build/cluster NAME right|wrong` runs one.
 */
#include "../hopper.h"

#include <cooperative_groups.h>
#include <string.h>

namespace cg = cooperative_groups;

enum { THREADS = 64, ELEMS = 256, BYTES = 4 * ELEMS };

#define SHARED_TILE __shared__ __align__(128) int tile[ELEMS]
#define SHARED_BARRIERS __shared__ __align__(8) uint64_t full, empty

/** The mbarriers of both blocks are there, and the blocks have begun. */
static __device__ __forceinline__ void init_both(uint64_t *full, uint64_t *empty, uint32_t arrivals)
{
    if (threadIdx.x == 0) {
        mbarrier_init(full, 1);
        mbarrier_init(empty, arrivals);
        mbarrier_init_fence();
    }
    cluster_sync();
}

/* ---- reads and writes of another block's shared memory ---------------------------------------------------- */

/** A barrier of the block does not wait for the other block. */
// pair: block_barrier is shared-race
template <bool RIGHT> static __global__ void __cluster_dims__(2, 1, 1) block_barrier(const int *, int *out)
{
    __shared__ int value[THREADS];
    const int i = (int)threadIdx.x;
    cluster_sync();
    value[i] = i; // here: block_barrier
    if (RIGHT)
        cluster_sync();
    else
        __syncthreads();
    const uint32_t other = cluster_rank() ^ 1;
    out[blockIdx.x * THREADS + i] =
        (int)load_from_cluster(address_in(&value[i], other)); // here: block_barrier
    cluster_sync();
}

/** Whoever arrives relaxed does not say that what it wrote is there. */
// pair: relaxed is shared-race
template <bool RIGHT> static __global__ void __cluster_dims__(2, 1, 1) relaxed(const int *, int *out)
{
    __shared__ int value[THREADS];
    const int i = (int)threadIdx.x;
    value[i] = i; // here: relaxed
    if (RIGHT)
        cluster_arrive();
    else
        cluster_arrive_relaxed();
    cluster_wait();
    cg::cluster_group cluster = cg::this_cluster();
    const int *there = cluster.map_shared_rank(value, (int)(cluster_rank() ^ 1));
    out[blockIdx.x * THREADS + i] = there[i]; // here: relaxed
    cluster_sync();
}

/** What is written between arrival and wait is not ordered by them. */
// pair: after_arrival is shared-race
template <bool RIGHT> static __global__ void __cluster_dims__(2, 1, 1) after_arrival(const int *, int *out)
{
    __shared__ int value[THREADS];
    const int i = (int)threadIdx.x;
    if (RIGHT) value[i] = i;
    cluster_arrive();
    if (!RIGHT) value[i] = i; // here: after_arrival
    cluster_wait();
    out[blockIdx.x * THREADS + i] =
        (int)load_from_cluster(address_in(&value[i], cluster_rank() ^ 1)); // here: after_arrival
    cluster_sync();
}

/** Both blocks write what one of them reads. */
// pair: two_blocks_write is shared-race
template <bool RIGHT> static __global__ void __cluster_dims__(2, 1, 1) two_blocks_write(const int *, int *out)
{
    __shared__ int value[THREADS];
    const int i = (int)threadIdx.x;
    cluster_sync();
    if (cluster_rank() == 1)
        store_to_cluster(address_in(&value[i], 0), 100u + threadIdx.x); // here: two_blocks_write
    if (RIGHT) cluster_sync();
    if (cluster_rank() == 0) value[i] = i; // here: two_blocks_write
    cluster_sync();
    out[blockIdx.x * THREADS + i] = cluster_rank() == 0 ? value[i] : 0;
}

/** Atomics do not race with each other, but with what clears the sum. */
// pair: cleared_late is shared-race
template <bool RIGHT> static __global__ void __cluster_dims__(2, 1, 1) cleared_late(const int *in, int *out)
{
    __shared__ int sum;
    cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x == 0) sum = 0;
    cluster.sync();
    if (!RIGHT && cluster.block_rank() == 0 && threadIdx.x == 0) sum = 0; // here: cleared_late
    if (cluster.block_rank() == 1)
        atomicAdd(cluster.map_shared_rank(&sum, 0), in[threadIdx.x]); // here: cleared_late
    cluster.sync();
    out[blockIdx.x * THREADS + threadIdx.x] = sum;
}

/** Nothing says that the other block has begun. */
// pair: not_begun is shared-race
template <bool RIGHT> static __global__ void __cluster_dims__(2, 1, 1) not_begun(const int *, int *out)
{
    __shared__ int value[THREADS];
    const int i = (int)threadIdx.x;
    if (RIGHT) cluster_sync();
    store_to_cluster(address_in(&value[i], cluster_rank() ^ 1), threadIdx.x); // here: not_begun
    cluster_sync();
    out[blockIdx.x * THREADS + i] = value[i];
}

/** A block that ends takes its shared memory with it. */
// pair: left_early is cluster-exit
template <bool RIGHT> static __global__ void __cluster_dims__(2, 1, 1) left_early(const int *, int *out)
{
    __shared__ int value[THREADS];
    const int i = (int)threadIdx.x;
    value[i] = i;
    cluster_sync();
    if (cluster_rank() == 0) out[i] = (int)load_from_cluster(address_in(&value[i], 1)); // here: left_early
    if (RIGHT) cluster_sync();
}

// pair: unwritten is uninitialized-read
template <bool RIGHT> static __global__ void __cluster_dims__(2, 1, 1) unwritten(const int *, int *out)
{
    __shared__ int value[THREADS];
    const int i = (int)threadIdx.x;
    if (RIGHT || cluster_rank() == 0) value[i] = i;
    cluster_sync();
    out[blockIdx.x * THREADS + i] = (int)load_from_cluster(address_in(&value[i], 1)); // here: unwritten
    cluster_sync();
}

/* ---- addresses -------------------------------------------------------------------------------------------- */

// pair: rank_too_high is out-of-bounds
template <bool RIGHT> static __global__ void __cluster_dims__(2, 1, 1) rank_too_high(const int *, int *out)
{
    __shared__ int value;
    if (threadIdx.x == 0) value = 1;
    cluster_sync();
    uint32_t address;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" // here: rank_too_high
                 : "=r"(address)
                 : "r"(shared_address(&value)), "r"(RIGHT ? 1 : 2));
    out[blockIdx.x * THREADS + threadIdx.x] = (int)load_from_cluster(address);
    cluster_sync();
}

// pair: past_end is out-of-bounds
template <bool RIGHT> static __global__ void __cluster_dims__(2, 1, 1) past_end(const int *, int *out)
{
    __shared__ int value[THREADS];
    value[threadIdx.x] = 1;
    cluster_sync();
    cg::cluster_group cluster = cg::this_cluster();
    const int *there = cluster.map_shared_rank(value, 1);
    out[blockIdx.x * THREADS + threadIdx.x] = there[threadIdx.x + (RIGHT ? 0 : 1)]; // here: past_end
    cluster_sync();
}

/** `.shared` alone is the block's own. */
// pair: not_of_cluster is out-of-bounds
template <bool RIGHT> static __global__ void __cluster_dims__(2, 1, 1) not_of_cluster(const int *, int *out)
{
    __shared__ int value;
    if (threadIdx.x == 0) value = 1;
    cluster_sync();
    int got;
    const uint32_t address = address_in(&value, RIGHT ? cluster_rank() : cluster_rank() ^ 1);
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(got) : "r"(address) : "memory"); // here: not_of_cluster
    out[blockIdx.x * THREADS + threadIdx.x] = got;
    cluster_sync();
}

/* ---- barriers --------------------------------------------------------------------------------------------- */

/** One block waits for an arrival that the other makes only when the first has come to the cluster's barrier. */
// pair: crossed is deadlock
template <bool RIGHT> static __global__ void __cluster_dims__(2, 1, 1) crossed(const int *, int *out)
{
    SHARED_BARRIERS;
    init_both(&full, &empty, 1);
    if (RIGHT && cluster_rank() == 0 && threadIdx.x == 0) mbarrier_arrive_at(&empty, 1);
    if (cluster_rank() == 1) mbarrier_wait_cluster(&empty, 0); // here: crossed
    cg::this_cluster().sync();                                 // here: crossed
    if (!RIGHT && cluster_rank() == 0 && threadIdx.x == 0) mbarrier_arrive_at(&empty, 1);
    out[blockIdx.x * THREADS + threadIdx.x] = 1;
    cluster_sync();
}

/** A warp that does not come to the barrier of the cluster, and waits elsewhere. */
// pair: warp_missing is deadlock
template <bool RIGHT> static __global__ void __cluster_dims__(2, 1, 1) warp_missing(const int *, int *out)
{
    if (RIGHT || cluster_rank() == 0 || threadIdx.x < 32) cg::this_cluster().sync(); // here: warp_missing
    __syncthreads();                                                                 // here: warp_missing
    out[blockIdx.x * THREADS + threadIdx.x] = 1;
}

// pair: arrives_twice is divergent-barrier
template <bool RIGHT> static __global__ void __cluster_dims__(2, 1, 1) arrives_twice(const int *, int *out)
{
    cg::cluster_group cluster = cg::this_cluster();
    cluster.barrier_arrive();
    if (RIGHT) cluster.barrier_wait();
    cluster.barrier_arrive(); // here: arrives_twice
    cluster.barrier_wait();
    out[blockIdx.x * THREADS + threadIdx.x] = 1;
}

/** The consumer says that it has read before it reads. */
// pair: arrives_too_early is shared-race
template <bool RIGHT>
static __global__ void __cluster_dims__(2, 1, 1) arrives_too_early(const int *in, int *out)
{
    SHARED_TILE;
    SHARED_BARRIERS;
    init_both(&full, &empty, 1);
    if (threadIdx.x == 0) mbarrier_arrive_expect(&full, BYTES);
    if (threadIdx.x == 0 && cluster_rank() == 0) bulk_multicast(tile, in, BYTES, &full, 3);
    mbarrier_wait(&full, 0);
    int sum = 0;
    if (RIGHT || cluster_rank() == 0) sum = tile[threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0 && cluster_rank() == 1) mbarrier_arrive_at(&empty, 0);
    if (!RIGHT && cluster_rank() == 1) sum = tile[threadIdx.x]; // here: arrives_too_early
    if (threadIdx.x == 0) mbarrier_arrive_expect(&full, BYTES);
    if (threadIdx.x == 0 && cluster_rank() == 0) {
        mbarrier_wait_cluster(&empty, 0);
        bulk_multicast(tile, in + ELEMS, BYTES, &full, 3); // here: arrives_too_early
    }
    mbarrier_wait(&full, 1);
    out[blockIdx.x * THREADS + threadIdx.x] = sum + tile[threadIdx.x];
    cluster_sync();
}

/** The last arrivals go to a block that does not wait for them. */
// pair: arrives_at_nobody is cluster-exit
template <bool RIGHT>
static __global__ void __cluster_dims__(2, 1, 1) arrives_at_nobody(const int *, int *out)
{
    SHARED_BARRIERS;
    init_both(&full, &empty, 1);
    if (cluster_rank() == 1 && threadIdx.x == 0) mbarrier_arrive_at(&empty, 0); // here: arrives_at_nobody
    out[blockIdx.x * THREADS + threadIdx.x] = 1;
    if (RIGHT) cluster_sync();
}

/** Whoever arrives relaxed must have fenced the mbarriers that it initialised. */
// pair: init_unknown is shared-race
template <bool RIGHT> static __global__ void __cluster_dims__(2, 1, 1) init_unknown(const int *, int *out)
{
    __shared__ __align__(8) uint64_t empty;
    if (threadIdx.x == 0) mbarrier_init(&empty, 1); // here: init_unknown
    if (RIGHT && threadIdx.x == 0) mbarrier_init_fence();
    cluster_arrive_relaxed();
    cluster_wait();
    if (threadIdx.x == 0 && cluster_rank() == 1) mbarrier_arrive_at(&empty, 0); // here: init_unknown
    if (RIGHT && cluster_rank() == 0) mbarrier_wait(&empty, 0);
    out[blockIdx.x * THREADS + threadIdx.x] = 1;
    cluster_sync();
}

/** A fence of the cluster's scope before a relaxed arrival holds for what comes before it. */
// pair: relaxed_after_fence is shared-race
template <bool RIGHT>
static __global__ void __cluster_dims__(2, 1, 1) relaxed_after_fence(const int *, int *out)
{
    __shared__ int value[THREADS];
    const int i = (int)threadIdx.x;
    if (RIGHT) value[i] = i;
    asm volatile("fence.acq_rel.cluster;" : : : "memory");
    if (!RIGHT) value[i] = i; // here: relaxed_after_fence
    cluster_arrive_relaxed();
    cluster_wait();
    const uint32_t other = cluster_rank() ^ 1;
    out[blockIdx.x * THREADS + i] =
        (int)load_from_cluster(address_in(&value[i], other)); // here: relaxed_after_fence
    cluster_sync();
}

/* ---- multicast, and copies between blocks ----------------------------------------------------------------- */

/** A multicast brings its bytes to the mbarriers of all blocks, one of which expects fewer. */
// pair: multicast_unexpected is barrier-phase
template <bool RIGHT>
static __global__ void __cluster_dims__(2, 1, 1) multicast_unexpected(const int *in, int *out)
{
    SHARED_TILE;
    SHARED_BARRIERS;
    init_both(&full, &empty, 1);
    if (threadIdx.x == 0) mbarrier_arrive_expect(&full, RIGHT || cluster_rank() == 0 ? BYTES : BYTES / 2);
    cluster_sync();
    if (threadIdx.x == 0 && cluster_rank() == 0) bulk_multicast(tile, in, BYTES, &full, 3);
    mbarrier_wait(&full, 0); // here: multicast_unexpected
    out[blockIdx.x * THREADS + threadIdx.x] = tile[threadIdx.x];
    cluster_sync();
}

/** One block sends to the mbarriers of both, which a barrier orders for the threads' own proxy only. */
// pair: init_unfenced is missing-proxy-fence
template <bool RIGHT> static __global__ void __cluster_dims__(2, 1, 1) init_unfenced(const int *in, int *out)
{
    SHARED_TILE;
    __shared__ __align__(8) uint64_t full;
    if (threadIdx.x == 0) {
        mbarrier_init(&full, 1); // here: init_unfenced
        if (RIGHT || cluster_rank() == 0) mbarrier_init_fence();
        mbarrier_arrive_expect(&full, BYTES);
    }
    cluster_sync();
    if (threadIdx.x == 0 && cluster_rank() == 0)
        bulk_multicast(tile, in, BYTES, &full, 3); // here: init_unfenced
    mbarrier_wait(&full, 0);
    out[blockIdx.x * THREADS + threadIdx.x] = tile[threadIdx.x];
    cluster_sync();
}

/** A fence after the barrier comes too late for the other block. */
// pair: init_fenced_late is missing-proxy-fence
template <bool RIGHT>
static __global__ void __cluster_dims__(2, 1, 1) init_fenced_late(const int *in, int *out)
{
    SHARED_TILE;
    __shared__ __align__(8) uint64_t full;
    if (threadIdx.x == 0) mbarrier_init(&full, 1); // here: init_fenced_late
    if (threadIdx.x == 0 && (RIGHT || cluster_rank() == 0)) mbarrier_init_fence();
    cluster_arrive();
    cluster_wait();
    if (!RIGHT && threadIdx.x == 0 && cluster_rank() == 1) mbarrier_init_fence();
    if (threadIdx.x == 0) mbarrier_arrive_expect(&full, BYTES);
    if (threadIdx.x == 0 && cluster_rank() == 0)
        bulk_multicast(tile, in, BYTES, &full, 3); // here: init_fenced_late
    mbarrier_wait(&full, 0);
    out[blockIdx.x * THREADS + threadIdx.x] = tile[threadIdx.x];
    cluster_sync();
}

/** Its own block's mbarrier, too; the other fence will do. */
// pair: init_unfenced_own is missing-proxy-fence
template <bool RIGHT>
static __global__ void __cluster_dims__(2, 1, 1) init_unfenced_own(const int *in, int *out)
{
    SHARED_TILE;
    __shared__ __align__(8) uint64_t full;
    if (threadIdx.x == 0) mbarrier_init(&full, 1); // here: init_unfenced_own
    if (RIGHT && threadIdx.x == 0) proxy_fence();
    cluster_sync();
    if (threadIdx.x == 32) {
        mbarrier_arrive_expect(&full, BYTES);
        bulk_load(tile, in, BYTES, &full); // here: init_unfenced_own
    }
    mbarrier_wait(&full, 0);
    out[blockIdx.x * THREADS + threadIdx.x] = tile[threadIdx.x];
    cluster_sync();
}

/** The mask names a block that the cluster does not have. */
// pair: mask_too_wide is out-of-bounds
template <bool RIGHT> static __global__ void __cluster_dims__(2, 1, 1) mask_too_wide(const int *in, int *out)
{
    SHARED_TILE;
    SHARED_BARRIERS;
    init_both(&full, &empty, 1);
    if (threadIdx.x == 0) mbarrier_arrive_expect(&full, BYTES);
    if (threadIdx.x == 0 && cluster_rank() == 0)
        asm volatile( // here: mask_too_wide
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
            "[%1], "
            "%2, [%3], %4;"
            :
            : "r"(shared_address(tile)), "l"(in), "r"((int)BYTES), "r"(shared_address(&full)),
              "h"((uint16_t)(RIGHT ? 3 : 7))
            : "memory");
    mbarrier_wait(&full, 0);
    out[blockIdx.x * THREADS + threadIdx.x] = tile[threadIdx.x];
    cluster_sync();
}

/** What a copy brought is there for those who waited for it; for the other block only behind a barrier of the cluster. */
// pair: wait_of_other is missing-wait
template <bool RIGHT> static __global__ void __cluster_dims__(2, 1, 1) wait_of_other(const int *in, int *out)
{
    SHARED_TILE;
    SHARED_BARRIERS;
    init_both(&full, &empty, 1);
    if (threadIdx.x == 0) {
        mbarrier_arrive_expect(&full, BYTES);
        bulk_load(tile, in, BYTES, &full); // here: wait_of_other
    }
    if (RIGHT) mbarrier_wait(&full, 0);
    cluster_sync();
    const int got =
        (int)load_from_cluster(address_in(&tile[threadIdx.x], cluster_rank() ^ 1)); // here: wait_of_other
    cluster_sync();
    if (!RIGHT) mbarrier_wait(&full, 0);
    out[blockIdx.x * THREADS + threadIdx.x] = got;
}

/** A word that another block sends is there when the phase that it is reported to is over. */
// pair: sent_not_awaited is missing-wait
template <bool RIGHT> static __global__ void __cluster_dims__(2, 1, 1) sent_not_awaited(const int *, int *out)
{
    __shared__ int word;
    SHARED_BARRIERS;
    init_both(&full, &empty, 1);
    if (threadIdx.x == 0) mbarrier_arrive_expect(&full, 4);
    cluster_sync();
    const uint32_t there = address_in(&word, cluster_rank() ^ 1);
    const uint32_t barrier = address_in(&full, cluster_rank() ^ 1);
    if (threadIdx.x == 0) store_async(there, 7, barrier); // here: sent_not_awaited
    if (!RIGHT) cluster_sync();
    if (RIGHT) mbarrier_wait_cluster(&full, 0);
    if (threadIdx.x == 0) out[blockIdx.x] = word; // here: sent_not_awaited
    if (!RIGHT) mbarrier_wait_cluster(&full, 0);
    cluster_sync();
}

/** Who has waited for what is sent may end without a barrier of the cluster, and so may who sent it. */
// pair: sent_to_nobody is cluster-exit
template <bool RIGHT> static __global__ void __cluster_dims__(2, 1, 1) sent_to_nobody(const int *, int *out)
{
    __shared__ int word;
    SHARED_BARRIERS;
    init_both(&full, &empty, 1);
    if (threadIdx.x == 0) mbarrier_arrive_expect(&full, 4);
    cluster_sync();
    const uint32_t other = cluster_rank() ^ 1;
    if (threadIdx.x == 0)
        store_async(address_in(&word, other), 7, address_in(&full, other)); // here: sent_to_nobody
    if (RIGHT) mbarrier_wait_cluster(&full, 0);
    out[blockIdx.x * THREADS + threadIdx.x] = RIGHT ? word : 7;
}

/** The copy to the other block may read its source until that block's mbarrier has its bytes. */
// pair: source_in_use is bulk-group, late
template <bool RIGHT> static __global__ void __cluster_dims__(2, 1, 1) source_in_use(const int *, int *out)
{
    SHARED_TILE;
    __shared__ __align__(16) int received[ELEMS];
    SHARED_BARRIERS;
    for (int i = (int)threadIdx.x; i < ELEMS; i += THREADS) tile[i] = i;
    proxy_fence();
    init_both(&full, &empty, 1);
    if (threadIdx.x == 0) {
        const uint32_t other = cluster_rank() ^ 1;
        mbarrier_arrive_expect(&full, BYTES);
        asm volatile( // here: source_in_use
            "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
            :
            : "r"(address_in(received, other)), "r"(shared_address(tile)), "r"((int)BYTES),
              "r"(address_in(&full, other))
            : "memory");
    }
    __syncthreads();
    if (!RIGHT && threadIdx.x == 32) tile[0] = 1; // here: source_in_use
    mbarrier_wait_cluster(&full, 0);
    cluster_sync();
    if (RIGHT && threadIdx.x == 32) tile[0] = 1;
    out[blockIdx.x * THREADS + threadIdx.x] = received[threadIdx.x];
    cluster_sync();
}

/** The bytes go to one block, the mbarrier is the other's. */
// pair: mbarrier_of_other is barrier-phase
template <bool RIGHT>
static __global__ void __cluster_dims__(2, 1, 1) mbarrier_of_other(const int *in, int *out)
{
    SHARED_TILE;
    SHARED_BARRIERS;
    init_both(&full, &empty, 1);
    if (threadIdx.x == 0) {
        mbarrier_arrive_expect(&full, BYTES);
        const uint32_t rank = cluster_rank();
        asm volatile( // here: mbarrier_of_other
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
            :
            : "r"(shared_address(tile)), "l"(in), "r"((int)BYTES),
              "r"(address_in(&full, RIGHT ? rank : rank ^ 1))
            : "memory");
    }
    mbarrier_wait(&full, 0);
    out[blockIdx.x * THREADS + threadIdx.x] = tile[threadIdx.x];
    cluster_sync();
}

/* ---- global memory ---------------------------------------------------------------------------------------- */

/** A barrier of the cluster orders global memory, too; one of the block does not. */
// pair: global_memory is global-race
template <bool RIGHT> static __global__ void __cluster_dims__(2, 1, 1) global_memory(const int *, int *out)
{
    const int own = (int)(blockIdx.x * THREADS + threadIdx.x);
    out[own] = own; // here: global_memory
    if (RIGHT)
        cluster_sync();
    else
        __syncthreads();
    const int other = out[own ^ THREADS]; // here: global_memory
    cluster_sync();
    out[own] = other;
}

/* ---- running one of them ---------------------------------------------------------------------------------- */

typedef void launcher(const int *in, int *out);
#define LAUNCHERS(name)                                                                                      \
    template <bool RIGHT> static void launch_##name(const int *in, int *out)                                 \
    {                                                                                                        \
        name<RIGHT><<<2, THREADS>>>(in, out);                                                                \
    }
#define PAIRS(X)                                                                                             \
    X(block_barrier)                                                                                         \
    X(relaxed)                                                                                               \
    X(after_arrival)                                                                                         \
    X(two_blocks_write)                                                                                      \
    X(cleared_late)                                                                                          \
    X(not_begun)                                                                                             \
    X(left_early)                                                                                            \
    X(unwritten)                                                                                             \
    X(rank_too_high)                                                                                         \
    X(past_end)                                                                                              \
    X(not_of_cluster)                                                                                        \
    X(crossed)                                                                                               \
    X(warp_missing)                                                                                          \
    X(arrives_twice)                                                                                         \
    X(arrives_too_early)                                                                                     \
    X(arrives_at_nobody)                                                                                     \
    X(init_unknown)                                                                                          \
    X(relaxed_after_fence)                                                                                   \
    X(init_unfenced)                                                                                         \
    X(init_fenced_late)                                                                                      \
    X(init_unfenced_own)                                                                                     \
    X(multicast_unexpected)                                                                                  \
    X(mask_too_wide)                                                                                         \
    X(wait_of_other)                                                                                         \
    X(sent_not_awaited)                                                                                      \
    X(sent_to_nobody)                                                                                        \
    X(source_in_use)                                                                                         \
    X(mbarrier_of_other)                                                                                     \
    X(global_memory)
PAIRS(LAUNCHERS)

#define ROW(name) {#name, launch_##name<true>, launch_##name<false>},
static const struct {
    const char *name;
    launcher *right, *wrong;
} pairs[] = {PAIRS(ROW)};

int main(int arguments, char **argument)
{
    static int host[2 * ELEMS];
    if (arguments != 3) return 2;
    int *in = upload(host, 2 * ELEMS), *out = device_array<int>(2 * ELEMS);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (strcmp(pairs[i].name, argument[1]) == 0)
            (strcmp(argument[2], "right") == 0 ? pairs[i].right : pairs[i].wrong)(in, out);
    (void)cudaDeviceSynchronize(); /* a wrong one fails */
    (void)cudaFree(in);
    (void)cudaFree(out);
    return 0;
}
