/**
 * What orders threads and what does not, by PTX's memory model, in pairs: RIGHT, or with one mistake. pairs.test holds the device to what
 * is announced before each of them. `build/order NAME right|wrong` runs one: two blocks of 96 threads.
 */
#include "../testing.h"

#include <cooperative_groups.h>
#include <cuda/atomic>
#include <string.h>

enum { WARP = 32, THREADS = 96, BLOCKS = 2 };
constexpr unsigned FULL = 0xffffffffu; // all lanes of a warp

/** Waits until *flag has the value, by atomics that order nothing. */
static __device__ __forceinline__ void await(int *flag, int value)
{
    while (atomicAdd(flag, 0) != value) continue;
}

template <cuda::thread_scope SCOPE> using reference = cuda::atomic_ref<int, SCOPE>;
typedef reference<cuda::thread_scope_block> block_flag;

/** Flags and a word in shared memory, zero for all; the kernel goes on with block 0. */
#define SHARED_FLAGS                                                                                         \
    __shared__ int word, flag, other;                                                                        \
    const int i = (int)threadIdx.x;                                                                          \
    if (i == 0) word = flag = other = 0;                                                                     \
    __syncthreads();                                                                                         \
    if (blockIdx.x != 0) return

/* ---- in a block: flags of atomics and fences ----------------------------------------------------------------- */

/** The reader's fence is missing. */
// pair: reader_fence is shared-race
template <bool RIGHT> static __global__ void reader_fence(int *out)
{
    SHARED_FLAGS;
    if (i == 0) {
        word = 1; // here: reader_fence
        __threadfence_block();
        atomicExch(&flag, 1);
    } else if (i == WARP) {
        await(&flag, 1);
        if (RIGHT) __threadfence_block();
        *out = word; // here: reader_fence
    }
}

/** The writer's fence is missing. */
// pair: writer_fence is shared-race
template <bool RIGHT> static __global__ void writer_fence(int *out)
{
    SHARED_FLAGS;
    if (i == WARP) {
        word = 1; // here: writer_fence
        if (RIGHT) __threadfence_block();
        atomicExch(&flag, 1);
    } else if (i == 0) {
        await(&flag, 1);
        __threadfence_block();
        *out = word; // here: writer_fence
    }
}

/** A warp says that it is ready, then writes again. */
// pair: written_late is shared-race
template <bool RIGHT> static __global__ void written_late(int *out)
{
    SHARED_FLAGS;
    if (i == 0) {
        word = 1;
        __threadfence_block();
        atomicExch(&flag, 1);
        if (!RIGHT) word = 2; // here: written_late
    } else if (i == WARP) {
        await(&flag, 1);
        __threadfence_block();
        *out = word; // here: written_late
    }
}

/** The thread waits for a flag that says nothing of the word. */
// pair: other_flag is shared-race
template <bool RIGHT> static __global__ void other_flag(int *out)
{
    SHARED_FLAGS;
    if (i == 0) {
        word = 1; // here: other_flag
        __threadfence_block();
        atomicExch(&flag, 1);
    } else if (i == WARP) {
        __threadfence_block();
        atomicExch(&other, 1);
    } else if (i == 2 * WARP) {
        await(RIGHT ? &flag : &other, 1);
        __threadfence_block();
        *out = word; // here: other_flag
    }
}

/** The last of three warps adds up what the others have left. */
// pair: last_warp is shared-race
template <bool RIGHT> static __global__ void last_warp(int *out)
{
    __shared__ int parts[THREADS / WARP];
    SHARED_FLAGS;
    if (i % WARP != 0) return;
    parts[i / WARP] = i; // here: last_warp
    if (RIGHT) __threadfence_block();
    if (atomicAdd(&flag, 1) != THREADS / WARP - 1) return;
    __threadfence_block();
    *out = parts[0] + parts[1] + parts[2]; // here: last_warp
}

/** A lock among warps; without the second fence it may be free before the sum is there. */
// pair: lock_of_warps is shared-race
template <bool RIGHT> static __global__ void lock_of_warps(int *out)
{
    SHARED_FLAGS;
    if (i % WARP != 0) return;
    while (atomicCAS(&flag, 0, 1) != 0) continue;
    __threadfence_block();
    word += i; // here: lock_of_warps
    if (RIGHT) __threadfence_block();
    atomicExch(&flag, 0);
    if (i < 0) *out = word;
}

/** The first holder lacks the fence behind its compare-and-swap: that it is the first is chance. */
// pair: first_of_lock is shared-race
template <bool RIGHT> static __global__ void first_of_lock(int *out)
{
    SHARED_FLAGS;
    if (i % WARP != 0) return;
    while (atomicCAS(&flag, 0, 1) != 0) continue;
    if (RIGHT || i != 0) __threadfence_block();
    word += 1; // here: first_of_lock
    __threadfence_block();
    atomicExch(&flag, 0);
    if (i < 0) *out = word;
}

/** The same in device memory, where the lock is given back by a release. */
// pair: first_of_released_lock is global-race
template <bool RIGHT> static __global__ void first_of_released_lock(int *out)
{
    if (threadIdx.x % WARP != 0 || blockIdx.x != 0) return;
    cuda::atomic_ref<int, cuda::thread_scope_block> lock(out[2]);
    const cuda::memory_order order =
        RIGHT || threadIdx.x != 0 ? cuda::memory_order_acquire : cuda::memory_order_relaxed;
    for (int zero = 0; !lock.compare_exchange_weak(zero, 1, order, cuda::memory_order_relaxed);) zero = 0;
    out[1] += 1; // here: first_of_released_lock
    lock.store(0, cuda::memory_order_release);
}

/** One lane releases for its warp: what the others wrote is ordered before by __syncwarp() alone. */
// pair: lane_releases is shared-race
template <bool RIGHT> static __global__ void lane_releases(int *out)
{
    __shared__ int values[WARP];
    SHARED_FLAGS;
    if (i < WARP) {
        values[i] = i; // here: lane_releases
        if (RIGHT) __syncwarp();
        __threadfence_block();
        if (i == 0) atomicExch(&flag, 1);
    } else if (i == WARP) {
        await(&flag, 1);
        __threadfence_block();
        *out = values[5]; // here: lane_releases
    }
}

/** A fence orders what comes before it: not what __syncwarp() brings after it. */
// pair: fence_too_early is shared-race
template <bool RIGHT> static __global__ void fence_too_early(int *out)
{
    SHARED_FLAGS;
    if (i < WARP) {
        if (i == 5) word = 1; // here: fence_too_early
        if (!RIGHT) __threadfence_block();
        __syncwarp();
        if (RIGHT) __threadfence_block();
        if (i == 0) atomicExch(&flag, 1);
    } else if (i == WARP) {
        await(&flag, 1);
        __threadfence_block();
        *out = word; // here: fence_too_early
    }
}

/* ---- in a block: release and acquire ------------------------------------------------------------------------- */

/** A relaxed store releases nothing. */
// pair: relaxed_store is shared-race
template <bool RIGHT> static __global__ void relaxed_store(int *out)
{
    SHARED_FLAGS;
    if (i == 0) {
        word = 1; // here: relaxed_store
        block_flag(flag).store(1, RIGHT ? cuda::memory_order_release : cuda::memory_order_relaxed);
    } else if (i == WARP) {
        while (block_flag(flag).load(cuda::memory_order_acquire) == 0) continue;
        *out = word; // here: relaxed_store
    }
}

/** A relaxed load acquires nothing. */
// pair: relaxed_load is shared-race
template <bool RIGHT> static __global__ void relaxed_load(int *out)
{
    SHARED_FLAGS;
    if (i == 0) {
        word = 1; // here: relaxed_load
        block_flag set(flag);
        set = 1;
    } else if (i == WARP) {
        const cuda::memory_order order = RIGHT ? cuda::memory_order_acquire : cuda::memory_order_relaxed;
        while (block_flag(flag).load(order) == 0) continue;
        *out = word; // here: relaxed_load
    }
}

/** A third thread moves the flag on: by an update, which keeps what was released, or by a store, which does not. */
// pair: release_sequence is shared-race
template <bool RIGHT> static __global__ void release_sequence(int *out)
{
    SHARED_FLAGS;
    if (i == 0) {
        word = 1; // here: release_sequence
        block_flag(flag).store(1, cuda::memory_order_release);
    } else if (i == WARP) {
        while (block_flag(flag).load(cuda::memory_order_relaxed) != 1) continue;
        if (RIGHT)
            block_flag(flag).fetch_add(1, cuda::memory_order_relaxed);
        else
            block_flag(flag).store(2, cuda::memory_order_relaxed);
        block_flag(other).store(1, cuda::memory_order_relaxed);
    } else if (i == 2 * WARP) { /* it must not see the flag before: that would be another order */
        while (block_flag(other).load(cuda::memory_order_relaxed) != 1) continue;
        while (block_flag(flag).load(cuda::memory_order_acquire) != 2) continue;
        *out = word; // here: release_sequence
    }
}

/** What one thread releases to a second, and this to a third, is there for the third, if the second acquires. */
// pair: passed_on is shared-race
template <bool RIGHT> static __global__ void passed_on(int *out)
{
    SHARED_FLAGS;
    if (i == 0) {
        word = 1; // here: passed_on
        block_flag(flag).store(1, cuda::memory_order_release);
    } else if (i == WARP) {
        const cuda::memory_order order = RIGHT ? cuda::memory_order_acquire : cuda::memory_order_relaxed;
        while (block_flag(flag).load(order) != 1) continue;
        block_flag(other).store(1, cuda::memory_order_release);
    } else if (i == 2 * WARP) {
        while (block_flag(other).load(cuda::memory_order_acquire) != 1) continue;
        *out = word; // here: passed_on
    }
}

/** The same instructions as inline PTX, in global memory. */
// pair: ptx_release is global-race
template <bool RIGHT> static __global__ void ptx_release(int *out)
{
    const int i = (int)threadIdx.x;
    int *const word = out + 1, *const flag = out + 2;
    if (blockIdx.x != 0) return;
    if (i == 0) {
        *word = 1; // here: ptx_release
        if (RIGHT)
            asm volatile("st.release.cta.global.b32 [%0], 1;" ::"l"(flag) : "memory");
        else
            asm volatile("st.relaxed.cta.global.b32 [%0], 1;" ::"l"(flag) : "memory");
    } else if (i == WARP) {
        int set;
        do asm volatile("ld.acquire.cta.global.b32 %0, [%1];" : "=r"(set) : "l"(flag) : "memory");
        while (!set);
        *out = *word; // here: ptx_release
    }
}

/** Stores of an atomic do not race with its loads and updates; a plain store does. */
// pair: plain_store is global-race
template <bool RIGHT> static __global__ void plain_store(int *out)
{
    const int i = (int)threadIdx.x;
    if (i == 0 && RIGHT) reference<cuda::thread_scope_device>(out[3]).store((int)blockIdx.x);
    if (i == 0 && blockIdx.x == 0 && !RIGHT) out[3] = 1; // here: plain_store
    if (i == WARP && blockIdx.x == 1)
        reference<cuda::thread_scope_device>(out[3]).fetch_max(5); // here: plain_store
}

/* ---- between two blocks --------------------------------------------------------------------------------------- */

/** The reader in another block lacks its fence. */
// pair: message is global-race
template <bool RIGHT> static __global__ void message(int *out)
{
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        out[1] = 1; // here: message
        __threadfence();
        atomicExch(&out[2], 1);
    } else {
        await(&out[2], 1);
        if (RIGHT) __threadfence();
        *out = out[1]; // here: message
    }
}

/** The flag is set before the word is written, and then an atomic leaves it as it is. */
// pair: set_before is global-race
template <bool RIGHT> static __global__ void set_before(int *out)
{
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        if (!RIGHT) atomicExch(&out[2], 1);
        out[1] = 1; // here: set_before
        __threadfence();
        atomicMax(&out[2], 1);
    } else {
        await(&out[2], 1);
        __threadfence();
        *out = out[1]; // here: set_before
    }
}

/** The writer's fence is one for its block only; the one who waits comes first in the grid. */
// pair: narrow_fence is global-race
template <bool RIGHT> static __global__ void narrow_fence(int *out)
{
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 1) {
        out[1] = 1; // here: narrow_fence
        if (RIGHT)
            __threadfence();
        else
            __threadfence_block();
        atomicExch(&out[2], 1);
    } else {
        await(&out[2], 1);
        __threadfence();
        *out = out[1]; // here: narrow_fence
    }
}

/** The reader's fence is one for its block only. */
// pair: narrow_acquire is global-race
template <bool RIGHT> static __global__ void narrow_acquire(int *out)
{
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 1) {
        out[1] = 1; // here: narrow_acquire
        reference<cuda::thread_scope_device>(out[2]).store(1, cuda::memory_order_release);
    } else {
        while (reference<cuda::thread_scope_device>(out[2]).load(cuda::memory_order_relaxed) == 0) continue;
        cuda::atomic_thread_fence(cuda::memory_order_acquire,
                                  RIGHT ? cuda::thread_scope_device : cuda::thread_scope_block);
        *out = out[1]; // here: narrow_acquire
    }
}

/** The reader sets the flag back by a plain store: it has seen what set it, but nothing that set another one. */
// pair: flag_reset is global-race
template <bool RIGHT> static __global__ void flag_reset(int *out)
{
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 1) {
        atomicExch(&out[3], 1); // here: flag_reset
        atomicExch(&out[2], 1);
    } else {
        await(&out[2], 1);
        __threadfence();
        await(RIGHT ? &out[3] : &out[2], 1);
        out[3] = 0; // here: flag_reset
    }
}

/** The same with a flag that is read and set back as a volatile. */
// pair: flag_reset_volatile is global-race
template <bool RIGHT> static __global__ void flag_reset_volatile(int *out)
{
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        atomicExch(&out[3], 1); // here: flag_reset_volatile
    } else {
        while (RIGHT && ((volatile int *)out)[3] != 1) continue;
        __threadfence();
        out[3] = 0; // here: flag_reset_volatile
    }
}

/** The word is written again, as volatile, when the flag has been set. */
// pair: volatile_late is global-race
template <bool RIGHT> static __global__ void volatile_late(int *out)
{
    volatile int *const word = out + 1;
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        *word = 1;
        __threadfence();
        atomicExch(&out[2], 1);
        if (!RIGHT) *word = 2; // here: volatile_late
    } else {
        await(&out[2], 1);
        __threadfence();
        *out = *word; // here: volatile_late
    }
}

/** Each block takes the lock and lacks the fence behind it. */
// pair: lock_of_blocks is global-race
template <bool RIGHT> static __global__ void lock_of_blocks(int *out)
{
    if (threadIdx.x != 0) return;
    while (atomicCAS(&out[2], 0, 1) != 0) continue;
    if (RIGHT) __threadfence();
    out[1] += 1; // here: lock_of_blocks
    __threadfence();
    atomicExch(&out[2], 0);
}

/** Only one of the blocks lacks it, whichever has the lock first. */
// pair: lock_of_one is global-race
template <bool RIGHT> static __global__ void lock_of_one(int *out)
{
    if (threadIdx.x != 0) return;
    while (atomicCAS(&out[2], 0, 1) != 0) continue;
    if (RIGHT || blockIdx.x == 0)
        __threadfence();
    else
        __threadfence_block();
    out[1] += 1; // here: lock_of_one
    __threadfence();
    atomicExch(&out[2], 0);
}

/** What a block claims for itself it needs no fence for, even if others claim from the same word later. */
// pair: claimed is global-race
template <bool RIGHT> static __global__ void claimed(int *out)
{
    if (threadIdx.x != 0) return;
    if (atomicCAS(&out[4 + blockIdx.x], 0, 1) == 0) out[6 + blockIdx.x] = 1; // here: claimed
    if (RIGHT) __threadfence();
    if (atomicAdd(&out[2], 1) != BLOCKS - 1) return;
    __threadfence();
    *out = out[6] + out[7]; // here: claimed
}

/** The last block reads what the others left: the fence behind the ticket is missing, and there is no barrier either. */
// pair: ticket_reader is global-race
template <bool RIGHT> static __global__ void ticket_reader(int *out)
{
    if (threadIdx.x != 0) return;
    out[4 + blockIdx.x] = 1; // here: ticket_reader
    __threadfence();
    if (atomicAdd(&out[2], 1) != BLOCKS - 1) return;
    if (RIGHT) __threadfence();
    *out = out[4] + out[5]; // here: ticket_reader
}

/** A sum by atomics, read at last: the ticket may come before the sum. */
// pair: sum_before_ticket is global-race
template <bool RIGHT> static __global__ void sum_before_ticket(int *out)
{
    if (threadIdx.x != 0) return;
    atomicAdd(&out[1], 5); // here: sum_before_ticket
    if (RIGHT) __threadfence();
    if (atomicAdd(&out[2], 1) != BLOCKS - 1) return;
    __threadfence();
    *out = out[1]; // here: sum_before_ticket
}

/** A thread fences what another thread of its block wrote, with no barrier between. */
// pair: fence_of_other is global-race
template <bool RIGHT> static __global__ void fence_of_other(int *out)
{
    if (threadIdx.x == WARP && blockIdx.x == 0) out[1] = 1; // here: fence_of_other
    if (RIGHT) __syncthreads();
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        __threadfence();
        atomicExch(&out[2], 1);
    } else {
        await(&out[2], 1);
        __threadfence();
        *out = out[1]; // here: fence_of_other
    }
}

/** A flag between two blocks, passed on by a flag in the second one. */
// pair: passed_in_block is global-race
template <bool RIGHT> static __global__ void passed_in_block(int *out)
{
    __shared__ int flag;
    if (threadIdx.x == 0) flag = 0;
    __syncthreads();
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        out[1] = 1; // here: passed_in_block
        reference<cuda::thread_scope_device>(out[2]).store(1, cuda::memory_order_release);
    } else if (blockIdx.x == 1 && threadIdx.x == 0) {
        while (reference<cuda::thread_scope_device>(out[2]).load(cuda::memory_order_relaxed) == 0) continue;
        if (RIGHT) __threadfence();
        block_flag(flag).store(1, cuda::memory_order_release);
    } else if (blockIdx.x == 1 && threadIdx.x == WARP) {
        while (block_flag(flag).load(cuda::memory_order_acquire) == 0) continue;
        *out = out[1]; // here: passed_in_block
    }
}

/** What the kernel itself writes is read by the path for what it does not. */
// pair: read_only_path is global-race
template <bool RIGHT> static __global__ void read_only_path(int *out)
{
    const int i = (int)threadIdx.x;
    if (blockIdx.x != 0) return;
    out[8 + i] = i; // here: read_only_path
    __syncthreads();
    const int value =
        RIGHT ? out[8 + THREADS - 1 - i] : __ldg(&out[8 + THREADS - 1 - i]); // here: read_only_path
    out[8 + THREADS + i] = value;
}

/* ---- where threads meet ------------------------------------------------------------------------------------------ */

/** The same shuffle in both branches is one; a shuffle and a vote are not. */
// pair: two_collectives is deadlock
template <bool RIGHT> static __global__ void two_collectives(int *out)
{
    const int i = (int)threadIdx.x;
    if (i >= WARP || blockIdx.x != 0) return;
    int value;
    if (i % 2 == 0)
        value = __shfl_sync(FULL, i, 31 - i); // here: two_collectives
    else if (RIGHT)
        value = __shfl_sync(FULL, i, 31 - i);
    else
        value = (int)__ballot_sync(FULL, i); // here: two_collectives
    out[8 + i] = value;
}

/** Lanes of the two branches name each other, or only some do. */
// pair: two_masks is deadlock
template <bool RIGHT> static __global__ void two_masks(int *out)
{
    const int i = (int)threadIdx.x;
    if (i >= WARP || blockIdx.x != 0) return;
    unsigned lanes;
    if (i < WARP / 2)
        lanes = __reduce_or_sync(RIGHT ? 0xffffffffu : 0x0000ffffu, 1u << i);
    else
        lanes = __reduce_or_sync(0xffffffffu, 1u << i); // here: two_masks
    out[8 + i] = (int)lanes;
}

#define IN_BOTH_BRANCHES(instruction)                                                                        \
    if (threadIdx.x % 2 == 0)                                                                                \
        asm volatile(instruction ::: "memory");                                                              \
    else                                                                                                     \
        asm volatile(instruction ::: "memory")

/** barrier.sync is for threads that come to it at different places; bar.sync is not. */
// pair: aligned_barrier is divergent-barrier
template <bool RIGHT> static __global__ void aligned_barrier(int *out)
{
    if (threadIdx.x >= 2 * WARP) return;
    if (RIGHT) {
        IN_BOTH_BRANCHES("barrier.sync 1, 64;");
    } else {
        IN_BOTH_BRANCHES("bar.sync 1, 64;"); // here: aligned_barrier
    }
    if (threadIdx.x == 0 && blockIdx.x == 0) *out = 1;
}

/** The same of the whole block: the sync() of cooperative groups, and __syncthreads(). */
// pair: two_syncs is divergent-barrier
template <bool RIGHT> static __global__ void two_syncs(int *out)
{
    const cooperative_groups::thread_block block = cooperative_groups::this_thread_block();
    if (blockIdx.x != 0) return;
    if (RIGHT && threadIdx.x % 2 == 0)
        block.sync();
    else if (RIGHT)
        block.sync();
    else if (threadIdx.x % 2 == 0)
        __syncthreads(); // here: two_syncs
    else
        __syncthreads(); // here: two_syncs
    if (threadIdx.x == 0) *out = 1;
}

/** Whole warps may end before a barrier, a part of one may not. */
// pair: part_ends is divergent-barrier
template <bool RIGHT> static __global__ void part_ends(int *out)
{
    if (blockIdx.x != 0 || threadIdx.x >= (RIGHT ? WARP : WARP + 1)) return;
    __syncthreads(); // here: part_ends
    if (threadIdx.x == 0) *out = 1;
}

/* ---- one of them ------------------------------------------------------------------------------------------------- */

#define PAIRS(X)                                                                                             \
    X(reader_fence)                                                                                          \
    X(writer_fence)                                                                                          \
    X(written_late)                                                                                          \
    X(other_flag)                                                                                            \
    X(last_warp)                                                                                             \
    X(lock_of_warps)                                                                                         \
    X(first_of_lock)                                                                                         \
    X(first_of_released_lock)                                                                                \
    X(lane_releases)                                                                                         \
    X(fence_too_early)                                                                                       \
    X(relaxed_store)                                                                                         \
    X(relaxed_load)                                                                                          \
    X(release_sequence)                                                                                      \
    X(passed_on)                                                                                             \
    X(ptx_release)                                                                                           \
    X(plain_store)                                                                                           \
    X(message)                                                                                               \
    X(set_before)                                                                                            \
    X(narrow_fence)                                                                                          \
    X(narrow_acquire)                                                                                        \
    X(flag_reset)                                                                                            \
    X(flag_reset_volatile)                                                                                   \
    X(volatile_late)                                                                                         \
    X(claimed)                                                                                               \
    X(lock_of_one)                                                                                           \
    X(lock_of_blocks)                                                                                        \
    X(ticket_reader)                                                                                         \
    X(sum_before_ticket)                                                                                     \
    X(fence_of_other)                                                                                        \
    X(passed_in_block)                                                                                       \
    X(read_only_path)                                                                                        \
    X(two_collectives)                                                                                       \
    X(two_masks)                                                                                             \
    X(aligned_barrier)                                                                                       \
    X(two_syncs)                                                                                             \
    X(part_ends)
#define ROW(name) {#name, name<true>, name<false>},
static const struct {
    const char *name;
    void (*right)(int *), (*wrong)(int *);
} pairs[] = {PAIRS(ROW)};

int main(int arguments, char **argument)
{
    static const int zeros[8 + 2 * THREADS] = {0};
    if (arguments != 3) return 2;
    int *out = upload(zeros, sizeof zeros / sizeof *zeros);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (strcmp(pairs[i].name, argument[1]) == 0)
            (strcmp(argument[2], "right") == 0 ? pairs[i].right : pairs[i].wrong)<<<BLOCKS, THREADS>>>(out);
    (void)cudaDeviceSynchronize(); /* a wrong one fails */
    (void)cudaFree(out);
    return 0;
}
