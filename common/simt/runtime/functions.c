/**
 * @file functions.c
 * @brief Kernels as host code sees them: launch, attributes, occupancy.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../include/texture_types.h"
#include "graph.h"

/* ---- attributes ---------------------------------------------------------------------------------------- */

/** A kernel for which attributes were set. */
struct function_entry {
    const void *function;
    int device;
    int max_dynamic; /**< -1: no opt-in */
    int carveout;
    int non_portable; /**< clusters of more than 8 blocks are allowed */
};
static struct function_entry *entries;
static size_t entry_count, entry_capacity;
static pthread_mutex_t functions_lock = PTHREAD_MUTEX_INITIALIZER;

/** The entry of @p function for the current device, created if necessary; NULL if memory is out. The
 *  caller holds the lock. */
static struct function_entry *find_or_make(const void *function)
{
    const int device = simt_current_device();
    for (size_t i = 0; i < entry_count; i++)
        if (entries[i].function == function && entries[i].device == device) return &entries[i];
    if (entry_count == entry_capacity) {
        size_t capacity = entry_capacity == 0 ? 16 : 2 * entry_capacity;
        struct function_entry *more = realloc(entries, capacity * sizeof(*more));
        if (more == NULL) return NULL;
        entries = more;
        entry_capacity = capacity;
    }
    entries[entry_count] = (struct function_entry){function, device, -1, cudaSharedmemCarveoutDefault, 0};
    return &entries[entry_count++];
}

/** A copy of what is known about @p function. */
static struct function_entry look_up(const void *function)
{
    const int device = simt_current_device();
    struct function_entry found = {function, device, -1, cudaSharedmemCarveoutDefault, 0};
    pthread_mutex_lock(&functions_lock);
    for (size_t i = 0; i < entry_count; i++)
        if (entries[i].function == function && entries[i].device == device) found = entries[i];
    pthread_mutex_unlock(&functions_lock);
    return found;
}

/** A launch whose template arguments were deduced does not say which function it runs: any opt-in will do. */
static int largest_opt_in(void)
{
    int largest = -1;
    const int device = simt_current_device();
    pthread_mutex_lock(&functions_lock);
    for (size_t i = 0; i < entry_count; i++)
        if (entries[i].device == device && entries[i].max_dynamic > largest) largest = entries[i].max_dynamic;
    pthread_mutex_unlock(&functions_lock);
    return largest;
}

/** What a block can have beside so much static shared memory. */
static size_t bytes_left(size_t static_bytes)
{
    const size_t all = device_limits()->shared_per_block_optin;
    return static_bytes < all ? all - static_bytes : 0;
}

size_t function_dynamic_limit(const void *function, size_t static_bytes)
{
    struct function_entry entry = look_up(function);
    const size_t available = bytes_left(static_bytes);
    if (function == NULL) entry.max_dynamic = largest_opt_in();
    if (entry.max_dynamic >= 0)
        return (size_t)entry.max_dynamic < available ? (size_t)entry.max_dynamic : available;
    return static_bytes < SHARED_PER_BLOCK ? SHARED_PER_BLOCK - static_bytes : 0;
}

/** What a block may have of both kinds of shared memory together. */
static size_t shared_room(const void *function)
{
    const int opted_in = function == NULL ? largest_opt_in() : look_up(function).max_dynamic;
    return opted_in >= 0 ? device_limits()->shared_per_block_optin : SHARED_PER_BLOCK;
}

cudaError_t cudaFuncSetAttribute(const void *function, enum cudaFuncAttribute attribute, int value)
{
    RETURN_IF_LOST();
    if (function == NULL) return runtime_result(cudaErrorInvalidDeviceFunction);
    size_t available = bytes_left(simt_static_shared_bytes(NULL, function));
    int is_size = attribute == cudaFuncAttributeMaxDynamicSharedMemorySize;
    int is_carveout = attribute == cudaFuncAttributePreferredSharedMemoryCarveout;
    int is_non_portable = attribute == cudaFuncAttributeNonPortableClusterSizeAllowed;
    if (!is_size && !is_carveout && !is_non_portable) return runtime_result(cudaErrorInvalidValue);
    if (is_size && (value < 0 || (size_t)value > available)) {
        runtime_note_refusal(runtime_site(__builtin_return_address(0), "cudaFuncSetAttribute"),
                             RECORD_SAYS_CALL_OVER,
                             SIMT_SAYS(.name = {"dynamic shared memory", "cudaFuncSetAttribute"},
                                       .number = {value, (int64_t)available}));
        return runtime_result(cudaErrorInvalidValue);
    }
    if (is_carveout && (value < -1 || value > 100)) return runtime_result(cudaErrorInvalidValue);
    pthread_mutex_lock(&functions_lock);
    struct function_entry *entry = find_or_make(function);
    if (entry != NULL && is_size) entry->max_dynamic = value;
    if (entry != NULL && is_carveout) entry->carveout = value;
    if (entry != NULL && is_non_portable) entry->non_portable = value != 0;
    pthread_mutex_unlock(&functions_lock);
    return runtime_result(entry != NULL ? cudaSuccess : cudaErrorMemoryAllocation);
}

/** How many threads a block of the kernel may have: a launch with more fails (CUDA C++ Programming Guide, "Launch Bounds"). */
static int most_threads(const void *function)
{
    const unsigned bound = simt_declared_threads(function);
    return bound > 0 && bound < THREADS_PER_BLOCK ? (int)bound : THREADS_PER_BLOCK;
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *function)
{
    RETURN_IF_LOST();
    if (attributes == NULL) return runtime_result(cudaErrorInvalidValue);
    if (function == NULL) return runtime_result(cudaErrorInvalidDeviceFunction);
    size_t static_bytes = simt_static_shared_bytes(NULL, function);
    int differ;
    const struct simt_extent cluster = simt_declared_cluster(NULL, function, &differ);
    *attributes = (struct cudaFuncAttributes){
        .sharedSizeBytes = static_bytes,
        .maxThreadsPerBlock = most_threads(function),
        .ptxVersion = device_limits()->capability,
        .binaryVersion = device_limits()->capability,
        .maxDynamicSharedSizeBytes = (int)function_dynamic_limit(function, static_bytes),
        .preferredShmemCarveout = look_up(function).carveout,
        .clusterDimMustBeSet = cluster.x != 0,
        .requiredClusterWidth = (int)cluster.x,
        .requiredClusterHeight = (int)cluster.y,
        .requiredClusterDepth = (int)cluster.z,
        .nonPortableClusterSizeAllowed = look_up(function).non_portable,
    };
    return cudaSuccess;
}

cudaError_t cudaFuncSetCacheConfig(const void *function, enum cudaFuncCache config)
{
    (void)config;
    RETURN_IF_LOST();
    return runtime_result(function != NULL ? cudaSuccess : cudaErrorInvalidDeviceFunction);
}

/* ---- launch -------------------------------------------------------------------------------------------- */

/* The section in which the compiler lists functions, as language.h and launch.h demand. It may put nops
 * before a function's entry; this is the size of one. */
#if defined(__x86_64__)
enum { NOP_BYTES = 1 };
#else
enum { NOP_BYTES = 4 };
#endif
extern const uintptr_t __start___patchable_function_entries[] __attribute__((weak)),
    __stop___patchable_function_entries[] __attribute__((weak));

static int is_listed(uintptr_t address)
{
    for (const uintptr_t *at = __start___patchable_function_entries;
         at != NULL && at < __stop___patchable_function_entries; at++)
        if (*at == address) return 1;
    return 0;
}

/* Where the list names a place, bytes behind it begin no function. */
static const char any_name[] = "", launch_code[] = "_ZN9simt_call"; /* of include/simt/launch.h */

int simt_is_kernel(const void *function)
{
    return is_listed((uintptr_t)function) && simt_begins_function(function, any_name);
}

enum simt_caller simt_caller_of(void (*entry)(const void *args))
{
    const uintptr_t at = (uintptr_t)entry;
    if (!simt_begins_function((const void *)at, launch_code)) return SIMT_CALLS_NOTHING;
    if (is_listed(at - NOP_BYTES)) return SIMT_CALLS_POINTER;
    return is_listed(at - 2 * NOP_BYTES) ? SIMT_CALLS_TYPE : SIMT_CALLS_NOTHING;
}

/** 1 if the launched function is a kernel. simt_call::run() calls it, and must be one, too. */
static int launches_kernel(const struct simt_launch *launch, size_t args_bytes)
{
    const void *pointer;
    const enum simt_caller caller = simt_caller_of(launch->entry);
    if (launch->function != NULL && !simt_is_kernel(launch->function)) return 0;
    if (caller == SIMT_CALLS_TYPE) return 1;
    if (caller == SIMT_CALLS_NOTHING || args_bytes < sizeof pointer) return 0;
    memcpy(&pointer, launch->args, sizeof pointer);
    return simt_is_kernel(pointer) && (launch->function == NULL || launch->function == pointer);
}

static size_t blocks_that_fit(size_t static_bytes, int block_threads, size_t dynamic_bytes);

/** All blocks of a cooperative launch must be on the device at once. */
static cudaError_t check_cooperative(const struct simt_launch *launch, size_t static_bytes)
{
    const struct simt_extent *g = &launch->grid, *b = &launch->block;
    size_t resident = blocks_that_fit(static_bytes, (int)(b->x * b->y * b->z), launch->dynamic_shared_bytes) *
                      (size_t)device_limits()->multiprocessors;
    return (uint64_t)g->x * g->y * g->z > resident ? cudaErrorCooperativeLaunchTooLarge : cudaSuccess;
}

enum { PORTABLE_CLUSTER = 8, LARGEST_CLUSTER = 16 };

/** Whether a kernel may run in clusters of this shape; a launch with deduced template arguments names no
 *  function. */
static int cluster_is_allowed(const void *function, struct simt_extent cluster)
{
    const unsigned limit =
        function == NULL || look_up(function).non_portable ? LARGEST_CLUSTER : PORTABLE_CLUSTER;
    return device_limits()->capability >= 90 && cluster.x != 0 && cluster.y != 0 && cluster.z != 0 &&
           cluster.x <= limit && cluster.y <= limit && cluster.z <= limit &&
           cluster.x * cluster.y * cluster.z <= limit;
}

static cudaError_t check_cluster(const struct simt_launch *launch)
{
    const struct simt_extent *g = &launch->grid, c = launch->cluster;
    if (c.x == 0 && c.y == 0 && c.z == 0) return cudaSuccess;
    if (!cluster_is_allowed(launch->function, c)) return cudaErrorInvalidClusterSize;
    return g->x % c.x != 0 || g->y % c.y != 0 || g->z % c.z != 0 ? cudaErrorInvalidConfiguration
                                                                 : cudaSuccess;
}

/** The cluster shape that the kernel itself asks for, if the launch gives none. Returns 0 if both give one
 *  and they differ. */
static int take_declared_cluster(struct simt_launch *launch)
{
    int differ;
    const struct simt_extent asked = launch->cluster;
    const struct simt_extent own = simt_declared_cluster(launch->kernel, launch->function, &differ);
    if (differ) {
        simt_finding(RECORD_UNSUPPORTED, &launch->site, RECORD_SAYS_CLUSTER_DIMS,
                     SIMT_SAYS(.name = {launch->kernel}));
        return 0;
    }
    if (own.x == 0) return 1;
    launch->cluster = own;
    return asked.x == 0 || (asked.x == own.x && asked.y == own.y && asked.z == own.z);
}

static cudaError_t refuse_launch(const struct simt_launch *launch, enum record_message message,
                                 const char *what, uint64_t asked, uint64_t limit, uint64_t opt_in)
{
    runtime_note_refusal(launch->site, message,
                         SIMT_SAYS(.name = {what, launch->kernel},
                                   .number = {(int64_t)asked, (int64_t)limit, (int64_t)opt_in}));
    return cudaErrorInvalidValue;
}

/** The first extent of a grid or block that no launch may have; 0 if all may be. */
static cudaError_t check_extents(const struct simt_launch *launch)
{
    static const char *const names[] = {"gridDim.x",  "gridDim.y",  "gridDim.z",
                                        "blockDim.x", "blockDim.y", "blockDim.z"};
    const struct simt_extent *g = &launch->grid, *b = &launch->block;
    const uint64_t extent[] = {g->x, g->y, g->z, b->x, b->y, b->z},
                   limit[] = {GRID_X_LIMIT,      GRID_YZ_LIMIT,     GRID_YZ_LIMIT,
                              THREADS_PER_BLOCK, THREADS_PER_BLOCK, BLOCK_Z_LIMIT};
    for (int i = 0; i < 6; i++) {
        if (extent[i] == 0) return refuse_launch(launch, RECORD_SAYS_LAUNCH_UNDER, names[i], 0, limit[i], 0);
        if (extent[i] > limit[i])
            return refuse_launch(launch, RECORD_SAYS_LAUNCH_OVER, names[i], extent[i], limit[i], 0);
    }
    const uint64_t threads = extent[3] * extent[4] * extent[5];
    const uint64_t most = (uint64_t)most_threads(launch->function);
    return threads > most ? refuse_launch(launch, RECORD_SAYS_LAUNCH_OVER,
                                          most < THREADS_PER_BLOCK ? "threads per block (__launch_bounds__)"
                                                                   : "threads per block",
                                          threads, most, 0)
                          : cudaSuccess;
}

/** The limits that hardware checks before anything runs. (CUDA 12 returns cudaErrorInvalidConfiguration.) */
static cudaError_t check_launch(const struct simt_launch *launch)
{
    const cudaError_t extents = check_extents(launch);
    if (extents != cudaSuccess) return extents;
    const cudaError_t cluster = check_cluster(launch);
    if (cluster != cudaSuccess) return cluster;
    size_t static_bytes = simt_static_shared_bytes(launch->kernel, launch->function);
    if (static_bytes > SHARED_PER_BLOCK) {
        simt_finding(
            RECORD_UNSUPPORTED, &launch->site, RECORD_SAYS_STATIC_SHARED,
            SIMT_SAYS(.name = {launch->kernel}, .number = {(int64_t)static_bytes, SHARED_PER_BLOCK}));
        return cudaErrorInvalidValue;
    }
    const size_t dynamic = function_dynamic_limit(launch->function, static_bytes);
    if (launch->dynamic_shared_bytes > dynamic)
        return refuse_launch(launch, RECORD_SAYS_LAUNCH_SHARED, "", launch->dynamic_shared_bytes, dynamic,
                             bytes_left(static_bytes));
    return launch->cooperative ? check_cooperative(launch, static_bytes) : cudaSuccess;
}

cudaError_t simt_launch_kernel(const struct simt_launch *launch, size_t args_bytes, cudaStream_t stream);

cudaError_t simt_launch_kernel(const struct simt_launch *asked, size_t args_bytes, cudaStream_t stream)
{
    struct simt_launch own = *asked, *const launch = &own;
    launch->kernel = simt_kernel_name(asked->kernel, asked->function);
    launch->args_bytes = args_bytes;
    if (simt_self() != NULL)
        simt_stop(&launch->site, RECORD_UNSUPPORTED, RECORD_SAYS_DYNAMIC_PARALLELISM,
                  SIMT_SAYS(.name = {launch->kernel}));
    RETURN_IF_LOST();
    if (!stream_is_valid(stream) || stream_device(stream) != simt_current_device())
        return runtime_result(cudaErrorInvalidResourceHandle);
    cudaError_t error = cudaErrorInvalidDeviceFunction;
    const int is_kernel = launches_kernel(launch, args_bytes);
    /* what runs is asked for its limits, whatever the launch calls it */
    if (is_kernel && simt_caller_of(launch->entry) == SIMT_CALLS_POINTER)
        memcpy(&own.function, launch->args, sizeof own.function);
    own.shared_room = shared_room(own.function);
    if (is_kernel)
        error = take_declared_cluster(launch) ? check_launch(launch) : cudaErrorInvalidClusterSize;
    else
        simt_finding(RECORD_UNSUPPORTED, &launch->site, RECORD_SAYS_NOT_GLOBAL,
                     SIMT_SAYS(.name = {launch->kernel}));
    if (error != cudaSuccess) {
        capture_spoil(stream);
        return runtime_result(error);
    }
    struct operation operation = {
        OPERATION_LAUNCH, launch->site, stream, stream_device(stream), {.launch = {launch, args_bytes}}};
    return runtime_result(runtime_perform(&operation));
}

cudaError_t simt_launch_attributes(const struct simt_site *site, const cudaLaunchConfig_t *config, int *early,
                                   int *cooperative, struct simt_extent *cluster);

/** Handles one launch attribute: ignores it, sets *@p early, *@p cooperative or *@p cluster, or refuses
 *  it. */
static cudaError_t take_attribute(const struct simt_site *site, const cudaLaunchAttribute *attribute,
                                  int *early, int *cooperative, struct simt_extent *cluster)
{
    const cudaLaunchAttributeValue *value = &attribute->val;
    switch (attribute->id) {
    case cudaLaunchAttributeProgrammaticStreamSerialization:
        *early = value->programmaticStreamSerializationAllowed != 0 && device_limits()->capability >= 90;
        return cudaSuccess;
    case cudaLaunchAttributeIgnore:
    case cudaLaunchAttributePriority:
    case cudaLaunchAttributeMemSyncDomainMap:
    case cudaLaunchAttributeMemSyncDomain:
    case cudaLaunchAttributeAccessPolicyWindow:
    case cudaLaunchAttributePreferredSharedMemoryCarveout: /* say how fast, not what */
        return cudaSuccess;
    case cudaLaunchAttributeCooperative:
        *cooperative = value->cooperative != 0;
        return cudaSuccess;
    case cudaLaunchAttributeClusterDimension:
        *cluster = (struct simt_extent){value->clusterDim.x, value->clusterDim.y, value->clusterDim.z};
        return cudaSuccess;
    case cudaLaunchAttributeClusterSchedulingPolicyPreference: /* says where, not what */
        return cudaSuccess;
    case cudaLaunchAttributePreferredClusterDimension:
    case cudaLaunchAttributeProgrammaticEvent:
    case cudaLaunchAttributeLaunchCompletionEvent:
    case cudaLaunchAttributeDeviceUpdatableKernelNode:
        return runtime_refuse(*site, RECORD_SAYS_NO_LAUNCH_ATTRIBUTE);
    default: /* attributes of streams only, or invalid ones */
        return runtime_result(cudaErrorInvalidValue);
    }
}

/** CUDA has fewer kinds of attributes than this; where there seem to be more, the number is wrong. */
enum { MOST_ATTRIBUTES = 16 };

static int attributes_are_there(const cudaLaunchConfig_t *config)
{
    return config->numAttrs == 0 || (config->numAttrs <= MOST_ATTRIBUTES && config->attrs != NULL);
}

cudaError_t simt_launch_attributes(const struct simt_site *site, const cudaLaunchConfig_t *config, int *early,
                                   int *cooperative, struct simt_extent *cluster)
{
    cudaError_t error = cudaSuccess;
    RETURN_IF_LOST();
    if (config == NULL || !attributes_are_there(config)) return runtime_result(cudaErrorInvalidValue);
    for (unsigned i = 0; i < config->numAttrs && error == cudaSuccess; i++)
        error = take_attribute(site, &config->attrs[i], early, cooperative, cluster);
    if (error != cudaSuccess && stream_is_valid(config->stream)) capture_spoil(config->stream);
    return error;
}

/* The rewriter drops the cast to void * that the argument of cudaLaunchKernel usually has; calls come here
 * if it cannot. */
cudaError_t simt_launch_untyped(const struct simt_site *site);

cudaError_t simt_launch_untyped(const struct simt_site *site)
{
    simt_finding(RECORD_UNSUPPORTED, site, RECORD_SAYS_KERNEL_TYPE, NULL);
    return runtime_result(cudaErrorInvalidDeviceFunction);
}

/* ---- occupancy: threads, blocks and shared memory; there are no registers to run out of ---------------- */

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/** Blocks that fit on an SM at once. */
static size_t blocks_that_fit(size_t static_bytes, int block_threads, size_t dynamic_bytes)
{
    enum { SHARED_GRANULE = 128 };
    const struct device_limits *limits = device_limits();
    size_t warps = ((size_t)block_threads + WARP_THREADS - 1) / WARP_THREADS;
    size_t blocks = smaller((size_t)limits->threads_per_multiprocessor / WARP_THREADS / warps,
                            (size_t)limits->blocks_per_multiprocessor);
    size_t shared = static_bytes + dynamic_bytes + limits->shared_reserved_per_block;
    shared = (shared + SHARED_GRANULE - 1) / SHARED_GRANULE * SHARED_GRANULE;
    return shared == 0 ? blocks : smaller(blocks, limits->shared_per_multiprocessor / shared);
}

/** The same for a kernel; 0 if not even one of its blocks may be launched. */
static size_t resident_blocks(const void *function, int block_threads, size_t dynamic_bytes)
{
    size_t static_bytes = simt_static_shared_bytes(NULL, function);
    if (block_threads > most_threads(function) ||
        dynamic_bytes > function_dynamic_limit(function, static_bytes))
        return 0;
    return blocks_that_fit(static_bytes, block_threads, dynamic_bytes);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *function,
                                                                   int block_threads,
                                                                   size_t dynamic_shared_bytes,
                                                                   unsigned int flags)
{
    RETURN_IF_LOST();
    if (blocks == NULL || block_threads < 1 || flags > cudaOccupancyDisableCachingOverride)
        return runtime_result(cudaErrorInvalidValue);
    if (function == NULL) return runtime_result(cudaErrorInvalidDeviceFunction);
    *blocks = (int)resident_blocks(function, block_threads, dynamic_shared_bytes);
    return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function,
                                                          int block_threads, size_t dynamic_shared_bytes)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, block_threads,
                                                                  dynamic_shared_bytes, cudaOccupancyDefault);
}

/** The most shared memory with which that many blocks are still resident at once. */
cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *dynamic_shared_bytes, const void *function,
                                                      int blocks, int block_threads)
{
    RETURN_IF_LOST();
    if (dynamic_shared_bytes == NULL || blocks < 1 || block_threads < 1)
        return runtime_result(cudaErrorInvalidValue);
    if (function == NULL) return runtime_result(cudaErrorInvalidDeviceFunction);
    const size_t static_bytes = simt_static_shared_bytes(NULL, function), wanted = (size_t)blocks;
    if (block_threads > most_threads(function) || blocks_that_fit(static_bytes, block_threads, 0) < wanted)
        return runtime_result(cudaErrorInvalidValue);
    size_t least = 0, above = function_dynamic_limit(function, static_bytes) + 1;
    while (above - least > 1) { /* least fits; above does not fit, or is not allowed */
        const size_t middle = least + (above - least) / 2;
        if (blocks_that_fit(static_bytes, block_threads, middle) >= wanted)
            least = middle;
        else
            above = middle;
    }
    *dynamic_shared_bytes = least;
    return cudaSuccess;
}

cudaError_t simt_best_block_size(int *grid_blocks, int *block_threads, const void *function,
                                 size_t (*dynamic_shared_bytes)(int block_threads, void *context),
                                 void *context, int limit);

/** The largest block size among those with the most resident threads. */
cudaError_t simt_best_block_size(int *grid_blocks, int *block_threads, const void *function,
                                 size_t (*dynamic_shared_bytes)(int block_threads, void *context),
                                 void *context, int limit)
{
    RETURN_IF_LOST();
    if (grid_blocks == NULL || block_threads == NULL) return runtime_result(cudaErrorInvalidValue);
    if (function == NULL) return runtime_result(cudaErrorInvalidDeviceFunction);
    if (limit < 1 || limit > THREADS_PER_BLOCK) limit = THREADS_PER_BLOCK;
    size_t most = 0;
    *grid_blocks = *block_threads = 0;
    for (int threads = limit; threads > 0; threads = (threads - 1) / WARP_THREADS * WARP_THREADS) {
        size_t blocks = resident_blocks(function, threads, dynamic_shared_bytes(threads, context));
        if (blocks * (size_t)threads <= most) continue;
        most = blocks * (size_t)threads;
        *block_threads = threads;
        *grid_blocks = (int)blocks * device_limits()->multiprocessors;
    }
    return cudaSuccess;
}

/* ---- occupancy: clusters ------------------------------------------------------------------------------- */

/** The shape that a launch of @p function asks for; 0 if it is not allowed. */
static unsigned cluster_blocks(const void *function, const cudaLaunchConfig_t *config)
{
    int differ;
    struct simt_extent cluster = simt_declared_cluster(NULL, function, &differ);
    for (unsigned i = 0; i < config->numAttrs; i++) {
        const cudaLaunchAttributeValue *value = &config->attrs[i].val;
        if (config->attrs[i].id == cudaLaunchAttributeClusterDimension)
            cluster = (struct simt_extent){value->clusterDim.x, value->clusterDim.y, value->clusterDim.z};
    }
    if (cluster.x == 0) cluster = (struct simt_extent){1, 1, 1};
    return cluster_is_allowed(function, cluster) ? cluster.x * cluster.y * cluster.z : 0;
}

static int is_config(const void *result, const void *function, const cudaLaunchConfig_t *config)
{
    return result != NULL && function != NULL && config != NULL && attributes_are_there(config);
}

static size_t resident_of(const void *function, const cudaLaunchConfig_t *config)
{
    const dim3 *b = &config->blockDim;
    return resident_blocks(function, (int)(b->x * b->y * b->z), config->dynamicSmemBytes);
}

/** All blocks of a cluster run in one GPC. GPCs have this many SMs; that some GPUs have fewer in some GPCs
 *  is ignored. */
enum { SMS_OF_GPC = 16 };

cudaError_t cudaOccupancyMaxActiveClusters(int *clusters, const void *function,
                                           const cudaLaunchConfig_t *config)
{
    RETURN_IF_LOST();
    if (!is_config(clusters, function, config)) return runtime_result(cudaErrorInvalidValue);
    const unsigned size = cluster_blocks(function, config);
    if (size == 0) return runtime_result(cudaErrorInvalidClusterSize);
    const size_t blocks = resident_of(function, config), sms = (size_t)device_limits()->multiprocessors;
    const size_t whole = sms / SMS_OF_GPC, rest = sms % SMS_OF_GPC;
    *clusters = (int)(whole * (SMS_OF_GPC * blocks / size) + rest * blocks / size);
    return cudaSuccess;
}

cudaError_t cudaOccupancyMaxPotentialClusterSize(int *size, const void *function,
                                                 const cudaLaunchConfig_t *config)
{
    RETURN_IF_LOST();
    if (!is_config(size, function, config)) return runtime_result(cudaErrorInvalidValue);
    if (cluster_blocks(function, config) == 0) return runtime_result(cudaErrorInvalidClusterSize);
    size_t most = look_up(function).non_portable ? LARGEST_CLUSTER : PORTABLE_CLUSTER;
    if (device_limits()->capability < 90) most = 1;
    const size_t fits = resident_of(function, config) * SMS_OF_GPC;
    while (most > fits) most /= 2;
    *size = (int)most;
    return cudaSuccess;
}

/* ---- textures: refused --------------------------------------------------------------------------------- */

cudaError_t cudaCreateTextureObject(cudaTextureObject_t *texture, const struct cudaResourceDesc *resource,
                                    const struct cudaTextureDesc *description,
                                    const struct cudaResourceViewDesc *view)
{
    (void)resource;
    (void)description;
    (void)view;
    if (texture != NULL) *texture = 0;
    return runtime_refuse(CALLER_SITE("cudaCreateTextureObject"), RECORD_SAYS_NO_TEXTURES);
}

cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texture)
{
    return runtime_result(texture == 0 ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaMallocArray(cudaArray_t *array, const struct cudaChannelFormatDesc *description, size_t width,
                            size_t height, unsigned int flags)
{
    (void)description;
    (void)width;
    (void)height;
    (void)flags;
    if (array != NULL) *array = NULL;
    return runtime_refuse(CALLER_SITE("cudaMallocArray"), RECORD_SAYS_NO_ARRAYS);
}

cudaError_t cudaFreeArray(cudaArray_t array)
{
    return runtime_result(array == NULL ? cudaSuccess : cudaErrorInvalidValue);
}
