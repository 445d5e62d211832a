/**
 * @file machine.h
 * @brief The machine behind the software device: what the CUDA headers under include/ are written on.
 *
 * Words: a *thread* is a CUDA thread and runs as a fiber; a *worker* is an OS thread; a block stays on one
 * worker. A *site* is a place in the source. Everything here is C and may be called from C and C++.
 *
 * The machine sees ordinary memory accesses through the callbacks that `g++ -fsanitize=thread` inserts
 * (check.c supplies them; libtsan is never linked). What the compiler does not instrument (atomics, warp
 * operations, barriers, memcpy) calls in here by name.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** @brief A place in the source; static, so that its address identifies it. */
struct simt_site {
    const char *file;
    int line;
    const char *what; /**< "__syncthreads", "__shfl_xor_sync", ... */
    const void *pc;   /**< where a call returns to, if file and line are looked up only for a report */
};

/** @brief The site of a call of @p what in that line, for functions that learn it only when they run. Two calls of one
 *         name in one line are one site. */
const struct simt_site *simt_site_at(const char *file, int line, const char *what);
/** @brief @p text, if the host asks, or if it is a string constant of the program; else "unknown": a kernel may pass any
 *         pointer, and a finding copies what it points to. */
const char *simt_constant_text(const char *text);
/** @brief The same for a place: @p site, if it and its texts are constants, or simt_site_at() has made it. */
const struct simt_site *simt_constant_site(const struct simt_site *site);

struct simt_extent {
    unsigned x, y, z;
};

enum { SIMT_RANK = 4 };
/** @brief Elements of a variable or a buffer, so that a finding can name one of them. */
struct simt_shape {
    size_t element_bytes;
    size_t extent[SIMT_RANK]; /**< row-major */
    size_t row_bytes;         /**< from one row to the next, if rows lie apart; else 0 */
    int rank;                 /**< 0: no array; a buffer of rank 0 has elements of a byte */
    int is_buffer;            /**< written `out[2,5]`, as in the checker's report, not `tile[2][5]` */
};

/* ---- who am I -------------------------------------------------------------------------------------------- */

/** @brief Constant while one CUDA thread runs, so the compiler may keep what it read. */
struct simt_identity {
    struct simt_extent thread, block, block_dim, grid_dim;
    unsigned lane, warp; /**< lane in the warp 0..31, warp in the block */
};

/** @brief The running CUDA thread; NULL on the host. */
const struct simt_identity *simt_self(void) __attribute__((const));

/** @brief What threadIdx, blockIdx, blockDim and gridDim are on a thread of the device. */
#ifdef __cplusplus
extern __thread struct simt_extent simt_thread_index, simt_block_index, simt_block_extent, simt_grid_extent;
#else
extern _Thread_local struct simt_extent simt_thread_index, simt_block_index, simt_block_extent,
    simt_grid_extent;
#endif

/** @brief This block's dynamic shared memory; @p name is what the source calls it, for reports. NULL on the host. */
void *simtcc_dynamic_shared(const char *name, size_t element_bytes);

/* ---- launching ------------------------------------------------------------------------------------------- */

enum {
    SIMT_ARGUMENT_ROOM = 4096 /**< bytes from the arguments on that a kernel may read, whatever their size */
};

/** @brief One kernel launch, ready to run (or to be kept in a graph). */
struct simt_launch {
    const char *kernel;    /**< name as the student wrote it */
    struct simt_site site; /**< where the launch stands */
    struct simt_extent grid, block;
    size_t dynamic_shared_bytes;
    const void *function;            /**< key for function attributes, e.g. the opt-in above 48 KB */
    void (*entry)(const void *args); /**< runs the kernel body for the calling CUDA thread */
    const void *args;                /**< kept by the caller until simt_run() returns */
    int early;       /**< 1: on hardware it may start before the launch in front of it is over */
    int cooperative; /**< 1: all blocks are there at once, and may wait for each other (simt_grid_barrier()) */
    /** blocks of a cluster; all 0: nothing was said, each block is one of its own */
    struct simt_extent cluster;
    size_t args_bytes; /**< size of the arguments; filled by simt_launch_kernel() */
    size_t
        shared_room; /**< what a block may have of static and dynamic shared memory together; filled there, too */
};

/** @brief A launch that, on hardware, may still be running when a later one of its stream starts early. */
struct simt_running {
    uint32_t number; /**< 0: launched by who called; what memory it uses is not known */
    const char *kernel;
    struct simt_extent grid, block;
    int elsewhere; /**< 1: in another stream, which is not waited for */
};

/** @brief All of those in front of the next launch. All zeros: none, everything is over. */
struct simt_overlap {
    unsigned count; /**< what a thread must not meet before it has waited (cudaGridDependencySynchronize) */
    unsigned left;  /**< the first of them may run on even then: a launch between did not wait for them */
    struct simt_running launch[8];
};

/**
 * @brief Runs every block of @p launch to the end, over the workers. Findings are printed before it returns.
 * @return 0, or the cudaError_t hardware would give (700 illegal address, 716 misaligned, 719 launch failure,
 *         702 time-out for a deadlock, 710 assert); limits of grid, block and shared memory are checked by the caller
 */
int simt_run(const struct simt_launch *launch);

/**
 * @brief The same behind those in @p before, which receives what the next launch of the stream is behind. Grids run
 *        one after the other, but an access that meets one of theirs in time on hardware is a `global-race`.
 */
int simt_run_behind(const struct simt_launch *launch, struct simt_overlap *before);

/** @brief 1 if a function whose linker name begins with @p prefix, a constant, begins at @p address; also if the program has no names. */
int simt_begins_function(const void *address, const char *prefix);
/** @brief 1 if @p function is a `__global__` function: one of those that the compiler lists, see SIMT_LISTED. */
int simt_is_kernel(const void *function);
/** @brief How many functions have linker names that begin with @p prefix; the addresses of the first @p room. */
size_t simt_functions_called(const char *prefix, uintptr_t *function, size_t room);
/** @brief What launch.h's simt_call::run() at an address calls. */
enum simt_caller {
    SIMT_CALLS_NOTHING, /**< it is none */
    SIMT_CALLS_POINTER, /**< what the first of the launch's arguments points to */
    SIMT_CALLS_TYPE     /**< what its own type says */
};
enum simt_caller simt_caller_of(void (*entry)(const void *args));

/** @brief What `__cluster_dims__` says of @p function, or of the kernel called @p kernel; all 0: nothing, or not one thing of all
 *         of its instances, which *@p differ tells. */
struct simt_extent simt_declared_cluster(const char *kernel, const void *function, int *differ);

/** @brief The most threads a block of @p function may have by `__launch_bounds__`; 0: nothing was said. */
unsigned simt_declared_threads(const void *function);

/**
 * @brief The kernel's own name, where the launch names it by an ordinary variable: a parameter of a function that launches any
 *        kernel. Otherwise @p called.
 */
const char *simt_kernel_name(const char *called, const void *function);

/** @brief Bytes of `__shared__` variables declared in the function whose linker name begins with the mangled
 *         form of @p kernel (0 if none are found). */
size_t simt_static_shared_bytes(const char *kernel, const void *function);

/* ---- several devices ------------------------------------------------------------------------------------- */

enum { SIMT_MOST_DEVICES = 16 };
/** @brief How many devices there are: SIMT_DEVICES. */
int simt_device_count(void);
/** @brief From now on there are at least @p count devices; 0: as many as SIMT_DEVICES says. No operation is under way. */
void simt_pretend_devices(int count);
/** @brief Which one the calling host thread means where it names none; 0 at first. */
int simt_current_device(void);
void simt_set_current_device(int device);
/** @brief The next operation is @p device's: its variables come in. One operation at a time. */
void simt_use_device(int device);
/** @brief Whether kernels of @p device may use memory of @p peer. */
int simt_peer_is_enabled(int device, int peer);
void simt_peer_enable(int device, int peer, int enable);
/** @brief Whose memory @p pointer points to; -1: no device's. */
int simt_device_of(const void *pointer);

/* ---- several streams ------------------------------------------------------------------------------------- */

/** @brief What may still be used by something that the next launch does not wait for. */
struct simt_busy {
    const char *start, *end;
    int written;           /**< it is written, not only read */
    struct simt_site site; /**< where the call is that uses it */
};
/** @brief Launches from now on do not wait for what uses these; until the next call. */
void simt_set_busy(struct simt_busy *busy, size_t count);
/** @brief The number of the launch that began last. A launch may have several, with this as the highest. */
uint32_t simt_launch_number(void);
/** @brief What a launch did to a byte of a range. */
struct simt_touch {
    uint32_t launch;
    size_t offset; /**< of the byte in the range */
    int access;    /**< SIMT_READ or SIMT_WRITE */
    uint32_t pc;   /**< where the kernel did that, packed */
};
/** @brief 1 if a launch for which @p is_open holds wrote in the range, or (if it is now written) read there. */
int simt_touched_by_open(const void *pointer, size_t bytes, int writes, int (*is_open)(uint32_t launch),
                         struct simt_touch *touch);
/** @brief What has been moved for a device so far, by copies between devices and by NCCL as on a ring: all-reduce of S bytes sends 2 (N - 1) / N S. */
void simt_collective_bytes(int device, unsigned long long *bytes_sent, unsigned long long *bytes_received);
/** @brief OS threads that wait for launches, besides the program's own. */
int simt_pool_threads(void);

/* ---- meeting points -------------------------------------------------------------------------------------- */

enum simt_vote {
    SIMT_VOTE_NONE,
    SIMT_VOTE_COUNT,
    SIMT_VOTE_AND,
    SIMT_VOTE_OR,
    SIMT_VOTE_GRID /**< no vote: the barrier of all blocks */
};

/** @brief How a barrier of the block, or of a part of it, is come to. */
enum simt_barrier_how {
    SIMT_BARRIER_WAIT = 1,
    SIMT_BARRIER_ALIGNED = 2 /**< PTX's .aligned: the lanes of a warp come together, at one place */
};

/** @brief `__syncthreads` and its voting forms. Returns the vote's result. */
int simt_block_barrier(const struct simt_site *site, enum simt_vote vote, int predicate);
/** @brief `barrier.sync 0`, which threads may come to at different places. */
void simt_block_barrier_unaligned(const struct simt_site *site);

/** @brief `grid.sync()`: all threads of all blocks of a cooperative launch meet, and what was before is ordered before what
 *         comes after. */
void simt_grid_barrier(const struct simt_site *site);
/** @brief The running thread has arrived at the barrier of the grid at which it will wait: what it does in device memory until then is
 *         not ordered by that. */
void simt_grid_arrive(const struct simt_site *site);
/** @brief What stands where in the running thread's cluster. */
struct simt_cluster_place {
    struct simt_extent blocks, block;     /**< blocks of the cluster; which of them the thread's is */
    struct simt_extent clusters, cluster; /**< clusters of the grid, and which of them this is */
    unsigned size, rank;
    int is_explicit; /**< the launch, or the kernel, asks for clusters */
};
struct simt_cluster_place simt_cluster_place(void);
/** @brief `barrier.cluster`: the thread has come, and goes on; with @p release, what it did is ordered before what comes after
 *         others' wait. */
void simt_cluster_arrive(const struct simt_site *site, int release);
/** @brief Until all threads of the cluster that have not ended have arrived. */
void simt_cluster_wait(const struct simt_site *site);

/** @brief 1 if the running launch is a cooperative one. */
int simt_grid_is_cooperative(void);

/**
 * @brief Barrier @p id of the block, 0 to 15 (PTX's bar.sync, bar.arrive): it opens when @p threads, a multiple of 32 (0: all
 *        of the block), have come. A warp comes as a whole, with SIMT_BARRIER_ALIGNED at one place. With SIMT_BARRIER_WAIT the
 *        calling thread goes on when it opens, and is ordered after all who came; without, it goes on at once. @p how: a set of
 *        enum simt_barrier_how; @p pc is the student's line, or NULL if @p site names it.
 */
void simt_named_barrier(const struct simt_site *site, unsigned id, unsigned threads, unsigned how,
                        const void *pc);

/** @brief How an mbarrier is arrived at, or waited for. */
enum simt_mbarrier_how {
    SIMT_MBARRIER_RELAXED = 1,     /**< orders no memory */
    SIMT_MBARRIER_DROP = 2,        /**< the thread does not arrive in later phases */
    SIMT_MBARRIER_NO_COMPLETE = 4, /**< must not be the arrival that completes the phase */
    SIMT_MBARRIER_PARITY = 8,      /**< the state is a parity */
};
/** @brief mbarriers, of 8 bytes in shared memory. @p site must stay; @p return_address is of the student's line. */
void simt_mbarrier_init(const struct simt_site *site, void *address, uint32_t count,
                        const void *return_address);
void simt_mbarrier_inval(const struct simt_site *site, void *address, const void *return_address);
/** @brief @p count arrivals, after @p bytes more are expected in this phase. Returns the state: the phase, and how many were
 *         pending. @p how: a set of enum simt_mbarrier_how. */
uint64_t simt_mbarrier_arrive(const struct simt_site *site, void *address, uint32_t count, uint32_t bytes,
                              unsigned how, const void *return_address);
void simt_mbarrier_expect(const struct simt_site *site, void *address, uint32_t bytes,
                          const void *return_address);
void simt_mbarrier_complete(const struct simt_site *site, void *address, uint32_t bytes,
                            const void *return_address);
/** @brief 1 if the phase of @p state (a parity, or what an arrival returned) is complete. May wait; may return 0 at any time. */
int simt_mbarrier_wait(const struct simt_site *site, void *address, uint64_t state, unsigned how,
                       const void *return_address);
unsigned simt_mbarrier_pending(uint64_t state);
/**
 * @brief A copy of many bytes by the asynchronous proxy: of @p bytes that lie side by side, or of a box of a tensor. Stores form
 *        groups, everything else reports its bytes to an mbarrier.
 */
struct simt_bulk {
    void *shared;
    char *global; /**< between two places in shared memory: where it goes to */
    size_t bytes;
    const void *map; /**< of a tensor: its CUtensorMap, else NULL */
    unsigned rank;
    int32_t at[5]; /**< where the box begins */
    void *mbarrier;
    /** of a load: the ranks of the blocks that receive it, a bit each; 0: the one where `shared` lies */
    unsigned blocks;
    void (*reduce)(char *to, const char *from, size_t bytes, unsigned reduction); /**< NULL: a copy */
    unsigned reduction;
    const void *pc; /**< of the student's line */
};
void simt_bulk_load(const struct simt_site *site, const struct simt_bulk *what);
void simt_bulk_store(const struct simt_site *site, const struct simt_bulk *what);
void simt_bulk_between(const struct simt_site *site, const struct simt_bulk *what);
/** @brief A parameter of the running kernel that can hold a tensor map, in the thread's own memory. */
struct simt_parameter {
    const void *address;
    size_t bytes;
    int constant; /**< __grid_constant__ */
};
/** @brief Adds it to the running thread's list, in which it stays until the thread ends. */
void simt_note_parameter(const void *address, size_t bytes, int constant);
/** @brief The one of the list that holds @p address, or NULL. */
const struct simt_parameter *simt_parameter_around(const void *address);
/** @brief st.async: @p bytes (up to 16) at @p data go to @p to, and are reported to @p mbarrier of the same block. */
void simt_async_store(const struct simt_site *site, void *to, const void *data, size_t bytes, void *mbarrier,
                      void (*reduce)(char *to, const char *from, size_t bytes, unsigned reduction),
                      unsigned reduction, const void *return_address);
void simt_bulk_commit(const void *return_address);
/** @brief Waits until all but the last @p prior groups of the thread are done, or only have read their sources. */
void simt_bulk_wait(size_t prior, int reads_only, const void *return_address);
/** @brief An arrival when all copies of the thread begun so far (simt_copy_begin) have landed. @p counted: the mbarrier's
 *         count has it; else one more is pending until then. */
void simt_copies_arrive(const struct simt_site *site, void *mbarrier, int counted,
                        const void *return_address);

/** @brief fence.proxy.async: what the running thread did to this memory and knows of it is visible to the asynchronous proxy. */
void simt_proxy_fence(int shared, int global);
/** @brief fence.mbarrier_init.release.cluster: the mbarriers that the running thread has initialised are there for the asynchronous
 *         proxy, and for whoever waits at the cluster's barrier, to which the thread may arrive relaxed. */
void simt_mbarrier_init_fence(void);
/** @brief fence.acq_rel.cluster, or of a wider scope: what the running thread did before is there for whoever waits at the cluster's
 *         barrier, to which it may arrive relaxed. */
void simt_cluster_fence(void);

/** @brief clock64() of the running thread, which begins at 0. */
long long simt_clock(void);
/** @brief __nanosleep(): moves that clock. */
void simt_sleep(unsigned nanoseconds);

/** @brief What lane @p lane gets in a shuffle of @p bytes bytes from lane @p source, which takes no part. The device then finds out
 *         whether results depend on it (machine/undefined.c). */
uint64_t simt_undefined_lane(const struct simt_site *site, unsigned lane, unsigned source, unsigned bytes);
/** @brief `__syncwarp`: orders memory among the lanes of @p mask. */
void simt_warp_barrier(const struct simt_site *site, unsigned mask);

/**
 * @brief Called once by the last lane's completion, on behalf of the whole group, with one operand and one
 *        result area a lane; lanes outside the mask have NULL.
 */
typedef void (*simt_warp_function)(void *const operand[32], void *const result[32], unsigned mask,
                                   void *context);

/**
 * @brief Gathers the lanes of @p mask at (mask, operation, site) and runs @p function once for all of them.
 *
 * @p operand and @p result belong to the calling lane and stay valid until the call returns. Shuffles, votes,
 * matches, reductions and warp matrix operations are built on this. Orders nothing in memory.
 * An impossible mask (own lane missing, lanes that have exited) is a finding.
 */
void simt_warp_gather(const struct simt_site *site, unsigned mask, simt_warp_function function, void *context,
                      void *operand, void *result);
/**
 * @brief The same for an operation that lanes may come to at several places of the code: those with the same mask and the same
 *        @p operation (not 0, and of one @p function) meet, as on hardware, where each is one instruction whatever the branch.
 */
void simt_warp_collective(const struct simt_site *site, unsigned mask, unsigned operation,
                          simt_warp_function function, void *context, void *operand, void *result);

/** @brief Lanes of the calling warp known to be at the same point: `__activemask`. */
unsigned simt_active_mask(void);

/* ---- memory the compiler does not instrument ------------------------------------------------------------- */

enum simt_access {
    SIMT_READ = 1,
    SIMT_WRITE = 2,
    SIMT_ATOMIC = 4,
    SIMT_CONSTANT = 4096, /**< with SIMT_READ: by a load that is only for what the kernel does not write */
    SIMT_GLOBAL = 8192    /**< to simt_access(): by an instruction that is for global memory only */
};

/** @brief Checks and counts an access of the running CUDA thread; does nothing on the host. */
void simt_access(const void *address, size_t bytes, int access, const void *return_address);

/** @brief State spaces of PTX, as an instruction names them: `ld.global`. */
enum simt_space {
    SIMT_ANY_SPACE,
    SIMT_GLOBAL_SPACE,
    SIMT_LOCAL_SPACE,
    SIMT_CONST_SPACE,
    SIMT_PARAM_SPACE,
    SIMT_SHARED_SPACE
};
/** @brief Ends the block with a finding if the address lies in another space than @p space; what lies in none is for the access. */
void simt_demand_space(const void *address, size_t bytes, int access, enum simt_space space,
                       const void *return_address);

/** @brief 1 if the running CUDA thread may access these bytes at all, which are not counted: its stack, shared memory of its block, one
 *         allocation or variable; to read, also constants of the program and arguments. */
int simt_reaches(const void *address, size_t bytes, int access);

/** @brief 1 if the compiler has just reported this access to a struct, and no copy was made since that it stands for. */
int simt_struct_is_reported(const void *address, size_t bytes, int access);

/** @brief 1 if these bytes are on the running CUDA thread's own stack, in whichever frame, or no CUDA thread runs. */
int simt_is_own_stack(const void *address, size_t bytes);
/** @brief Whether nobody can write these bytes: of a graded program, that they are constants of it; of others this is not asked. */
int simt_is_fixed(const void *pointer, size_t bytes);
/** @brief Whether these bytes lie between @p low and the frame of the function that began last: a function of the device's headers, which
 *         reports nothing, was passed them. Where no frames are known: whether they lie on the stack. */
int simt_is_passed(const void *pointer, size_t bytes, const void *low);

/** @brief 1 if these bytes are the running CUDA thread's own local memory: of its stack what a pointer may lead to; or no CUDA thread
 *         runs. */
int simt_is_own_local(const void *address, size_t bytes);

/** @brief 1 if the function that begins there writes arguments on its caller's stack, as many as its type has. */
int simt_changes_arguments(uintptr_t function);

/** @brief The same for an access that others may be waiting for: volatile, or relaxed. */
void simt_access_volatile(const void *address, size_t bytes, int access, const void *return_address);

/** @brief The offset into the window of shared memory that a generic pointer stands for: `__cvta_generic_to_shared`. */
uint64_t simt_shared_offset(const void *pointer);
/** @brief The generic pointer for an offset into the window. */
void *simt_shared_address(uint64_t offset);
/** @brief The same for an access of @p bytes; an offset that is none of this block ends the launch. */
void *simt_shared_checked(uint64_t offset, size_t bytes, int access, const void *return_address);
/** @brief 1 if @p pointer lies in the running block's shared memory. */
int simt_is_shared_pointer(const void *pointer);
/** @brief The rank of the block of the cluster in whose shared memory @p pointer lies, or -1. */
int simt_rank_of_pointer(const void *pointer);
/** @brief The same place in the shared memory of the block of @p rank. */
void *simt_pointer_of_rank(const struct simt_site *site, void *pointer, unsigned rank);
uint64_t simt_offset_of_rank(const struct simt_site *site, uint64_t offset, unsigned rank);
int simt_rank_of_offset(uint64_t offset);
/** @brief The upper bits of offsets into the running block's own shared memory, which are its rank. */
uint64_t simt_own_window(void);
/** @brief As simt_shared_checked(), of any block of the cluster. */
void *simt_cluster_checked(uint64_t offset, size_t bytes, int access, const void *return_address);
/** @brief A matrix of a product begins at @p pointer: what follows of it lies in the same shared variable. */
void simt_operand_begin(const void *pointer);
/** @brief The running thread's product reads these bytes of shared memory by the asynchronous proxy. */
void simt_operand_read(const void *address, size_t bytes, const void *return_address);
/** @brief What the running launch asked for. */
size_t simt_dynamic_shared_bytes(void);

/**
 * @brief Begins an asynchronous copy of @p bytes (4, 8 or 16) from global to shared memory by the running
 *        thread, the last @p zeros of them zeros instead of what the source holds.
 *
 * Both sides are checked and counted now; the bytes land at the thread's simt_copy_wait(). Until then an
 * access to the destination that comes after the copy (in the same thread, or behind a barrier) is a
 * `missing-wait`.
 */
void simt_copy_begin(void *to, const void *from, size_t bytes, size_t zeros, const void *return_address);
/** @brief Closes the thread's group of copies begun since the last one. */
void simt_copy_commit(const void *return_address);
/** @brief Lands all of the thread's closed groups but the last @p prior. */
void simt_copy_wait(size_t prior, const void *return_address);

/**
 * @brief Begins an atomic operation: checks it, and for global memory waits until every earlier block (in
 *        SIMT_ORDER) has finished, so that results do not depend on the number of workers. The caller then
 *        does the plain read-modify-write.
 */
void simt_atomic_begin(void *address, size_t bytes, const void *return_address);
/** @brief The same for one of block scope: to other blocks it is a plain read and a plain write. */
void simt_block_atomic_begin(void *address, size_t bytes, const void *return_address);
/** @brief What an atomic does, and among whom. */
enum simt_atomic_how {
    SIMT_BLOCK_SCOPE = 1,
    SIMT_CLUSTER_SCOPE = 2,
    SIMT_ACQUIRE = 4, /**< without these two it is relaxed */
    SIMT_RELEASE = 8,
    SIMT_ONLY_LOADS = 16, /**< without these two it reads and writes */
    SIMT_ONLY_STORES = 32 /**< what it overwrites may never have been written */
};
/** @brief The same for any atomic: @p how is a set of enum simt_atomic_how. */
void simt_ordered_begin(void *address, size_t bytes, unsigned how, const void *return_address);
/** @brief The same for one that reads and writes, only loads, or only stores, by name: so machine code shows what it may touch. */
void simt_update_begin(void *address, size_t bytes, unsigned how, const void *return_address);
void simt_load_begin(const void *address, size_t bytes, unsigned how, const void *return_address);
void simt_store_begin(void *address, size_t bytes, unsigned how, const void *return_address);
/**
 * @brief Called in front of the beginning of a compare-and-swap. What the thread has just read there by a plain read was a guess,
 *        which the swap checks: that read races with no atomic.
 */
void simt_swap_checks(void *address, size_t bytes);
/** @brief Ends it. */
void simt_atomic_end(void *address, size_t bytes);
/**
 * @brief A number for what atomics (not compare-and-swap) have left in memory since the last call of this: the same in any order of
 *        blocks and threads, unless their order shows there, as when floats are added.
 */
uint64_t simt_left_by_atomics(void);
/** @brief Ends a compare-and-swap. @p swapped: whether it has replaced what was there. */
void simt_swap_end(void *address, size_t bytes, int swapped);

/** @brief cudaGridDependencySynchronize: the launch in front is over, for the running thread. */
void simt_grids_wait(void);
/** @brief cudaTriggerProgrammaticLaunchCompletion: the next launch may start, as far as this block is concerned. */
void simt_grids_trigger(void);

/** @brief malloc() of the running thread: device memory from the heap, or NULL; the heap's size is cudaLimitMallocHeapSize. */
void *simt_heap_alloc(size_t bytes, const void *return_address);
void simt_heap_free(void *pointer, const void *return_address);
void simt_heap_limit(size_t bytes);
/** @brief What kernels took with malloc() and did not free() is a finding, and is freed. No kernel may run. */
void simt_heap_close(void);

/** @brief `__threadfence`: what this block wrote may be read by blocks that see a later atomic of it. */
void simt_fence(void);
/** @brief `__threadfence_block`: the same among the threads of a block. */
void simt_block_fence(void);

/** @brief Device printf: kept a block, printed in block order when the launch is done. */
int simt_vprintf(const char *format, va_list arguments);

/** @brief What the device's headers refuse. */
enum simt_misuse {
    SIMT_MISUSE_TRAP,       /**< __trap() */
    SIMT_MISUSE_HOST,       /**< host code calls it */
    SIMT_MISUSE_NOT_SHARED, /**< a barrier outside of shared memory */
    SIMT_MISUSE_TILE_SIZE,  /**< a tile of so many threads */
    SIMT_MISUSE_COPY_SIZE,  /**< an asynchronous copy of so many bytes */
    SIMT_MISUSE_COPY_ZEROS, /**< of so many bytes, with so many zeros */
    SIMT_MISUSE_TEXTURE,
    SIMT_MISUSE_MTGP_BLOCK /**< of MTGP32, by a block that is too large */
};
/** @brief Ends the running block, or the program if it is host code, with a finding at @p site. */
void simt_misuse(const struct simt_site *site, enum simt_misuse misuse, size_t first, size_t second)
    __attribute__((noreturn));

/* ---- device memory, from the host ------------------------------------------------------------------------ */

/** @brief Whose an allocation is. */
enum simt_memory {
    SIMT_MEMORY_DEVICE,
    SIMT_MEMORY_HEAP,    /**< of a kernel's malloc() */
    SIMT_MEMORY_MANAGED, /**< the host may touch it */
    SIMT_MEMORY_PINNED   /**< it is the host's */
};
/** @brief Device memory of @p bytes (> 0), 256-byte aligned, with red zones; NULL if the device is full. It is called
 *         @p name, or, if that is NULL, after the call at @p site. */
void *simt_device_alloc(size_t bytes, enum simt_memory memory, const char *name,
                        const struct simt_site *site);
/** @brief The next allocation begins @p bytes after an address that is a multiple of 256. */
void simt_lead_next_allocation(size_t bytes);

/**
 * @brief Ends the quarantine of freed memory, and from now on sets aside at least @p room bytes for an allocation: the same
 *        allocations in the same order then lie at the same addresses as before, whatever their sizes up to that. 0 ends it.
 */
void simt_reuse_addresses(size_t room);
/**
 * @brief The next allocation is a buffer whose shape the caller knows: findings call an element `out[2,5]`, or `out byte 5`
 * at @p rank 0.
 * @param row_bytes from one row to the next, if rows lie apart; else 0
 */
void simt_shape_next_allocation(size_t element_bytes, int rank, const size_t *extent, size_t row_bytes);
/** @brief 0, or -1 if @p pointer is not the start of a live allocation. */
int simt_device_free(void *pointer);
/** @brief Frees everything of the current device (cudaDeviceReset). Live allocations are reported as leaks. */
void simt_device_reset(void);
/** @brief 1 if [pointer, pointer + bytes) lies wholly in one live device allocation or `__device__` variable. */
int simt_device_contains(const void *pointer, size_t bytes);
/** @brief 1 if @p pointer lies in the device's address range at all. */
int simt_is_device_pointer(const void *pointer);
/** @brief 1 if @p pointer lies there, or among the variables of the device: not where the host's own memory lies. */
int simt_is_on_device(const void *pointer);
/** @brief 1 if @p pointer lies among the variables of the device: `__device__`, `__constant__`, `__managed__`. */
int simt_is_device_variable(const void *pointer);
/** @brief 1 if the host, too, may touch what @p pointer points to: managed or pinned memory. */
int simt_host_may(const void *pointer);
/** @brief The host wrote (or cudaMemset wrote) these device bytes: they count as initialised. */
void simt_device_written(void *pointer, size_t bytes);
/** @brief From now on these device bytes count as never written. */
void simt_device_forget(void *pointer, size_t bytes);
/** @brief What the code that is checked must not write, even if it leaves there what was there. */
enum simt_kept { SIMT_FREE, SIMT_INPUT, SIMT_PADDING /**< between the rows of an output */ };
/** @brief From now on a kernel that writes there, or a copy or fill while promises are kept, is a finding. */
void simt_device_keep(void *pointer, size_t bytes, enum simt_kept kept);
/** @brief From now on (1), until 0, the same holds for the program's `__device__`, `__managed__` and `__constant__` variables. */
void simt_keep_variables(int keep);
/** @brief 1 if these bytes are of such a variable, and must not be written. */
int simt_is_kept_variable(const void *pointer, size_t bytes);
/** @brief The first byte of the range that must not be written, or -1; *@p kept says why. */
ptrdiff_t simt_device_first_kept(const void *pointer, size_t bytes, enum simt_kept *kept);
/** @brief Copies initialised/uninitialised state along with a device-to-device copy. */
void simt_device_copied(void *to, const void *from, size_t bytes);
/** @brief Tells the counters that device memory was copied to @p to: reads of constants so filled may count (SIMT_TRAFFIC). */
void simt_counters_see_copy(const void *to);
/** @brief Counts the sectors that a copy or a fill has moved, in a row of its own without any block (SIMT_TRAFFIC=all). */
void simt_counters_see_moved(const char *what, uint64_t read, uint64_t written);
/** @brief First byte of the range never written, or -1: a device-to-host copy of it is an uninitialized-read. */
ptrdiff_t simt_device_first_uninitialized(const void *pointer, size_t bytes);
/** @brief 1 if somebody wrote some byte of the range. */
int simt_device_any_written(const void *pointer, size_t bytes);
/** @brief 1 if @p pointer lies in an allocation that was freed. */
int simt_device_freed(const void *pointer);
void simt_device_memory(size_t *free_bytes, size_t *total_bytes);
/**
 * @brief From now on (1), until 0, copies to the host are findings. For code that is not trusted; where it has a process of its
 *        own, device memory is sealed there (simt_arena_seal()).
 */
void simt_forbid_copies_to_host(int forbid);
/** @brief What an entry point promises whoever calls it. */
enum simt_promise {
    SIMT_NO_WAIT = 1,    /**< the host waits for nothing */
    SIMT_NO_MEMORY = 2,  /**< no memory of the device, nor pinned memory of the host, is allocated or freed */
    SIMT_NO_OBJECTS = 4, /**< no stream, event or graph is made or destroyed */
    SIMT_ONE_STREAM = 8, /**< all work goes to one stream, or to others that fork from it and join it again */
};
/** @brief From now on host code keeps @p promises, a set of them, and @p stream (cudaStream_t) is the one stream. A
 *         call that breaks one is a finding. None: the entry point has returned. */
void simt_promise(unsigned promises, void *stream);
/** @brief After simt_promise(): @p stream, of another device, is given as well. */
void simt_promise_also(void *stream);
/** @brief Before the next simt_promise(): the entry point has returned an error. Streams that it had no more occasion to join are no
 *         finding: the error is what is reported. If it @p refused the call, work that it gave to a stream before is one. */
void simt_promise_broken_off(int refused);
/** @brief The call has returned, with whatever status. */
void simt_promise_returned(void);
/** @brief How many streams, events and graphs, plain and executable, the program has made so far. */
unsigned long simt_objects_made(void);
/** @brief A finding for each kind of them that was made after the first @p mark ones and is still there. */
void simt_report_left_since(unsigned long mark);
/** @brief How many kernels and graphs the program has launched so far. A kernel that became part of a graph by a
 *         capture is not among them, however often the graph is launched. */
void simt_calls(unsigned long *launches, unsigned long *graph_launches);
/** @brief Why the last launch of this thread that was beyond a limit was refused, or its last tensor map or capture, and where it is: on
 *         one line, "" if there was none since the last call of this. */
void simt_refused_launch(char *text, size_t size);
/** @brief From now on the device says that it has @p count multiprocessors; 0: as many as SIMT_DEVICE has. A small
 *         problem then is what a large one is on the real device. */
void simt_pretend_multiprocessors(int count);
/** @brief From now on the device says that it has compute capability @p capability, 75 for 7.5; 0: that of SIMT_DEVICE. */
void simt_pretend_capability(int capability);
/** @brief From now on (1), until 0, launches are checked and not run, and fills do nothing: a problem may then be
 *         larger than any memory. */
void simt_launch_only(int only);
/** @brief From now on (1), until 0, no graph can be made executable, as while the thread captures another stream in global mode. */
void simt_refuse_graphs(int refuse);
/** @brief From now on (1), until 0, kernels of different streams count as running at the same time: a finding if one writes what another
 *         uses. */
void simt_watch_streams(int watch);
/**
 * @brief A kernel of the caller's, which uses all of its memory and has let the next one start, runs in @p stream from now on: what is
 *        launched early as the next thing in this stream must wait for it before it uses the caller's memory.
 */
void simt_caller_runs(void *stream);
/** @brief How many launches may still run when the last one is over: it started early, or one before it did, and waited for none. */
unsigned simt_left_running(void);
/**
 * @brief From now on, until @p total is 0, of a launch only the blocks run that three parts of an axis are the share of: @p each of its
 *        @p total elements, @p step apart. Memory that nobody wrote reads as zeros, but for the @p bytes of @p workspace.
 */
void simt_run_share(uint64_t total, uint64_t step, uint64_t each, const void *workspace, size_t bytes);
/** @brief 1 if what the launches since the last simt_run_share() left tells nothing: a block needed what others had not done, or did
 *         their work, too. */
int simt_share_left(void);
/** @brief An output of shared launches, number @p index, until the next simt_run_share(). */
void simt_share_output(unsigned index, const void *start, size_t bytes);
/** @brief Which outputs launches of so few blocks have written that all of them ran, to their end, and no others: there nothing more would
 *         have been written. A set of 1 << index. */
unsigned simt_share_ended(void);
/** @brief 1 if a copy or fill of so many bytes is left out: launches are shared, and it would take as much memory as the problem. */
int simt_share_refuses(size_t bytes);
/** @brief From now on no allocation is refused because the host lacks the memory: the caller knows how much is touched. */
void simt_trust_allocations(void);
/** @brief Makes device memory unreachable (1) or reachable (0) for this process. */
void simt_arena_seal(int seal);
/** @brief Host code is about to access these bytes by a function that the compiler does not report: a finding if
 *         they are device memory. */
void simt_host_access(const void *address, size_t bytes, int access, const void *return_address);
/** @brief One more finding, of which enough has been printed. */
void simt_finding_again(void);
/** @brief Has @p report called whenever leaks are looked for: at a reset and at the end of the process. Those that were
 *         given first are called first, each once. */
void simt_report_leaks_with(void (*report)(void));

/* ---- findings and settings ------------------------------------------------------------------------------- */

/**
 * @brief The source line a call returns to, innermost inlined function of the student's own files.
 * @return 1 if it is known: file (a string that stays) and line of @p site are then filled
 */
int simt_locate(const void *return_address, struct simt_site *site);
/** @brief @p site with file and line, looked up if that was put off. A look-up costs a run of addr2line. */
struct simt_site simt_site_found(const struct simt_site *site);
/** @brief From now on nothing but the machine's own functions can change the settings: their page is read-only. */
void simt_seal_settings(void);
/** @brief Bytes of all `__device__` variables of the program, and of its `__constant__` variables. */
void simt_static_device_bytes(size_t *variables, size_t *constants);
/** @brief From now on calls of CUDA count as made at @p return_address, for who makes them in another's place; NULL: where they
 *         are made. */
void simt_called_from(const void *return_address);
/** @brief From now on as with SIMT_REPORT=all: what is a mistake by the letter only is a finding, too. */
void simt_report_all(void);
int simt_reports_all(void);
/** @brief Findings so far in this process. */
int simt_finding_count(void);
/** @brief Starts what later looks up lines of the source, for a process that soon may start no other. */
void simt_lines_prepare(void);

/** @brief From now on (1), until 0, blocks and threads run in another order: forward for reverse, another random one. */
void simt_turn_order(int turned);

/** @brief From @p seconds of CPU time on without another call of this the program is watched: a block that then takes
 *         three quarters as long again, or host code that does without a launch, stops it. It prints an `endless` finding
 *         with the line where it is and exits with SIMT_EXIT_ENDLESS. 0 stops watching. */
void simt_watch(double seconds);

/** @brief Something failed that is no launch: as on hardware, the program cannot even free its memory, which then is no leak. */
void simt_device_is_broken(void);

/** @brief SIMT_DEVICE: 75, 80, 86, 89 or 90. */
int simt_compute_capability(void);

#ifdef __cplusplus
}
#endif
