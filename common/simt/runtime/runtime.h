/**
 * @file runtime.h
 * @brief What the parts of the CUDA runtime share: error state, limits of the device, operations.
 *
 * A call of the interface does three things: it stops if the context is lost (sticky error), checks its
 * arguments, and hands an operation to runtime_perform(). Nothing else touches device memory, so that a
 * stream under capture can keep the operation instead of carrying it out.
 */
#pragma once

#include "../include/cuda_runtime_api.h"
#include "../findings.h"
#include "../machine.h"

/* ---- errors -------------------------------------------------------------------------------------------- */

/** @brief Remembers @p error as the thread's last error, unless it is success, and returns it. */
cudaError_t runtime_result(cudaError_t error);
/** @brief After a fault in a kernel every call for the current device gives the same error until cudaDeviceReset. */
cudaError_t runtime_lost(void);
cudaError_t runtime_device_lost(int device);
void runtime_lose(int device, cudaError_t error);
void runtime_forget_errors(void);

/** @brief The first line of every call that uses the device. */
#define RETURN_IF_LOST()                                                                                     \
    do {                                                                                                     \
        if (runtime_lost() != cudaSuccess) return runtime_lost();                                            \
    } while (0)

/** @brief The place in the student's source that called the function in which this stands. */
#define CALLER_SITE(name) runtime_site(__builtin_return_address(0), name)
struct simt_site runtime_site(const void *return_address, const char *call);

/** @brief Reports an `unsupported` finding and returns ::cudaErrorNotSupported. */
cudaError_t runtime_refuse(struct simt_site site, enum record_message message);

/** @brief Keeps for simt_refused_launch() that a launch or call was refused. */
void runtime_note_refusal(struct simt_site site, enum record_message message, const struct simt_words *words);

/* ---- the device ---------------------------------------------------------------------------------------- */

/** @brief The limits that SIMT_DEVICE selects. Sizes in bytes. */
struct device_limits {
    int capability; /**< 75, 80, 86, 89, 90; 100 if pretended */
    int multiprocessors;
    int threads_per_multiprocessor;
    int blocks_per_multiprocessor;
    size_t shared_per_multiprocessor;
    size_t shared_per_block_optin;
    size_t shared_reserved_per_block;
    int l2_bytes;
    int memory_bus_bits;
};
const struct device_limits *device_limits(void);

enum {
    SHARED_PER_BLOCK = 48 * 1024, /**< without the opt-in */
    THREADS_PER_BLOCK = 1024,
    BLOCK_Z_LIMIT = 64,
    GRID_YZ_LIMIT = 65535,
    WARP_THREADS = 32
};
#define GRID_X_LIMIT 2147483647u

/** @brief Largest dynamic shared memory a launch of @p function may ask for. */
size_t function_dynamic_limit(const void *function, size_t static_bytes);

/* ---- operations ---------------------------------------------------------------------------------------- */

enum operation_kind {
    OPERATION_LAUNCH,
    OPERATION_COPY,
    OPERATION_SET,
    OPERATION_RECORD,
    OPERATION_WAIT,
    OPERATION_HOST_FUNCTION,
    OPERATION_GRAPH
};

struct launch_operation {
    const struct simt_launch *launch;
    size_t args_bytes;
};
/** @brief Rows of @c width bytes; a plain copy is one row. */
struct copy_operation {
    char *to;
    const char *from;
    size_t to_pitch, from_pitch, width, rows;
    enum cudaMemcpyKind kind; /**< never cudaMemcpyDefault */
    struct host_range *host;  /**< of a graph's node: its host memory (captured_memory.c) */
};
struct set_operation {
    char *to;
    int value;
    size_t pitch, width, rows;
};
struct host_operation {
    void (*function)(void *);
    void *user_data;
};

/** @brief One operation of a stream. */
struct operation {
    enum operation_kind kind;
    struct simt_site site;
    cudaStream_t stream;
    int device; /**< the stream's */
    union {
        struct launch_operation launch;
        struct copy_operation copy;
        struct set_operation set;
        cudaEvent_t event; /**< recorded, or waited for */
        struct host_operation host;
        cudaGraphExec_t graph;
    } as;
};

/** @brief Carries @p operation out before it returns, or keeps it if its stream is under capture. */
cudaError_t runtime_perform(const struct operation *operation);

/** @brief Between these two calls nothing else happens on the devices: for work that is not an operation. */
void runtime_begin(void);
void runtime_end(void);

/** @brief The host waited, or asked and was told that all is done: all launches are over. */
void runtime_settled(void);

/** @brief 1 if there is a device of that number. */
int device_is_valid(int device);
/** @brief The device whose pool @p pool is; -1: it is none. */
int pool_device(cudaMemPool_t pool);
/** @brief 1 if @p stream is a default stream or one that exists. */
int stream_is_valid(cudaStream_t stream);
/** @brief The device of a valid stream; default streams belong to the current device. */
int stream_device(cudaStream_t stream);
void event_record_now(cudaEvent_t event);

/** @brief Bytes from the first byte of the first of @p rows rows to the end of the last one; SIZE_MAX if
 *         that overflows. */
size_t bytes_of_rows(size_t rows, size_t pitch, size_t width);
/** @brief How a call uses memory. */
enum role { ROLE_READS, ROLE_WRITES, ROLE_FILLS };
/** @brief Checks that [@p pointer, @p bytes) is device memory; else reports a finding that says what it
 *         is. */
int device_range_is_valid(struct simt_site site, const void *pointer, size_t bytes, enum role role);
/** @brief The same for all device memory of a copy or a fill. */
int operation_ranges_are_valid(const struct operation *operation);

/* ---- what calls of the interface are made of; @p site is that of the call ------------------------------ */

cudaError_t runtime_allocate(void **pointer, size_t bytes, enum simt_memory memory, struct simt_site site);
/** @brief @p rows rows of @p width bytes, *@p pitch bytes apart. */
cudaError_t runtime_allocate_rows(void **pointer, size_t *pitch, size_t width, size_t rows,
                                  struct simt_site site);
cudaError_t runtime_copy(struct copy_operation c, cudaStream_t stream, struct simt_site site);
/** @brief A copy in the default stream; the host waits for it. */
cudaError_t runtime_copy_and_wait(struct copy_operation c, struct simt_site site);
cudaError_t runtime_set(struct set_operation s, cudaStream_t stream, struct simt_site site);

/* ---- what an entry point promises (promises.c): findings where simt_promise() says so ------------------ */

/** @brief The call at @p site makes the host wait for the device. */
void runtime_waits(struct simt_site site);
/** @brief 0 within a call that must not wait for the device. */
int runtime_may_wait(void);
/** @brief The call at @p site creates or destroys memory (SIMT_NO_MEMORY) or an object (SIMT_NO_OBJECTS). */
void runtime_makes(struct simt_site site, unsigned promise);
/** @brief @p operation, a copy or a fill, is about to write here. */
void promises_see_write(const struct operation *operation, const void *to, size_t bytes);
/** @brief @p operation is about to be carried out; its stream may be the wrong one. */
void promises_see(const struct operation *operation);
/** @brief 1 while an entry point runs that has promised something. */
int promises_are_made(void);
/** @brief @p bytes go from a device to another one: whoever does it, they count as sent (simt_collective_bytes()). */
void count_transfer(int from, int to, size_t bytes);
/** @brief Drops the calls of a group of NCCL calls that the calling thread has begun and not ended; 1 if there was one. NULL: it has begun
 *         none. */
extern _Thread_local int (*promises_leave_group)(void);

/** @brief 1 while launches are checked and not run, see simt_launch_only(). */
int runtime_only_launches(void);

/** @brief 1 while the host may not see device memory, see simt_forbid_copies_to_host(). */
int runtime_host_is_kept_out(void);
