/**
 * @file memory.c
 * @brief Allocation, copies and fills. Ranges are checked before any data move.
 */
#include <ctype.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"
#include "order.h"

/* cuda_runtime_api.h defines these as macros that record the variable's name; here the functions are
 * defined. */
#undef cudaMalloc
#undef cudaMallocAsync

/* ---- names of allocations ------------------------------------------------------------------------------ */

enum { NAME_BYTES = 64 };

static _Thread_local struct simt_site next_site;
static _Thread_local char next_name[NAME_BYTES];

/** The variable in the first argument of an allocation: the last identifier before its comma. */
void simt_name_next_allocation(const char *text, const char *file, int line)
{
    size_t end = 0, depth = 0;
    for (; text[end] != '\0' && (text[end] != ',' || depth > 0); end++) {
        if (text[end] == '(' || text[end] == '[') depth++;
        if (text[end] == ')' || text[end] == ']') depth--;
    }
    const char *name = text;
    size_t length = 0;
    for (size_t i = 0; i < end; i++) {
        if (!isalpha((unsigned char)text[i]) && text[i] != '_') continue;
        size_t start = i;
        while (i < end && (isalnum((unsigned char)text[i]) || text[i] == '_')) i++;
        name = text + start;
        length = i - start;
    }
    snprintf(next_name, sizeof(next_name), "%.*s", (int)length, name);
    next_site = (struct simt_site){file, line, "cudaMalloc", NULL};
}

/** The named allocation failed: the next allocation must not get its name. */
static void forget_name(void)
{
    next_name[0] = '\0';
    next_site.file = NULL;
}

/* ---- allocation ---------------------------------------------------------------------------------------- */

cudaError_t runtime_allocate(void **pointer, size_t bytes, enum simt_memory memory, struct simt_site site)
{
    runtime_makes(site, SIMT_NO_MEMORY);
    if (next_site.file != NULL) site = next_site;
    next_site.file = NULL;
    RETURN_IF_LOST();
    RETURN_IF_UNSAFE();
    if (pointer == NULL) return runtime_result(cudaErrorInvalidValue);
    *pointer = NULL;
    if (bytes == 0) return cudaSuccess;
    *pointer = simt_device_alloc(bytes, memory, next_name[0] != '\0' ? next_name : NULL, &site);
    next_name[0] = '\0';
    return runtime_result(*pointer != NULL ? cudaSuccess : cudaErrorMemoryAllocation);
}

static cudaError_t allocate_in_order(int device, void **pointer, size_t bytes, cudaStream_t stream,
                                     struct simt_site site)
{
    const int current = simt_current_device();
    const int is_valid = stream_is_valid(stream);
    if (!is_valid || capture_check_capturable(stream) != cudaSuccess) {
        forget_name();
        return is_valid ? runtime_refuse(site, RECORD_SAYS_NO_GRAPH_ALLOCATION)
                        : runtime_result(cudaErrorInvalidResourceHandle);
    }
    simt_set_current_device(device);
    const cudaError_t error = runtime_allocate(pointer, bytes, SIMT_MEMORY_DEVICE, site);
    simt_set_current_device(current);
    return error;
}

cudaError_t cudaMalloc(void **pointer, size_t bytes)
{
    return runtime_allocate(pointer, bytes, SIMT_MEMORY_DEVICE, CALLER_SITE("cudaMalloc"));
}

cudaError_t cudaMallocFromPoolAsync(void **pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream)
{
    const int device = pool_device(pool);
    if (device < 0) return runtime_result(cudaErrorInvalidValue);
    return allocate_in_order(device, pointer, bytes, stream, CALLER_SITE("cudaMallocFromPoolAsync"));
}

/** The pool that memory comes from if the call names none: that of the stream's device. */
cudaError_t cudaMallocAsync(void **pointer, size_t bytes, cudaStream_t stream)
{
    const int device = stream_is_valid(stream) ? stream_device(stream) : simt_current_device();
    return allocate_in_order(device, pointer, bytes, stream, CALLER_SITE("cudaMallocAsync"));
}

cudaError_t runtime_allocate_rows(void **pointer, size_t *pitch, size_t width, size_t rows,
                                  struct simt_site site)
{
    size_t bytes;
    if (pitch == NULL) return runtime_result(cudaErrorInvalidValue);
    if (width > SIZE_MAX - 511) return runtime_result(cudaErrorMemoryAllocation);
    *pitch = (width + 511) / 512 * 512;
    if (__builtin_mul_overflow(*pitch, rows, &bytes)) bytes = SIZE_MAX; /* more than there is */
    return runtime_allocate(pointer, bytes, SIMT_MEMORY_DEVICE, site);
}

cudaError_t cudaMallocPitch(void **pointer, size_t *pitch, size_t width, size_t height)
{
    return runtime_allocate_rows(pointer, pitch, width, height, CALLER_SITE("cudaMallocPitch"));
}

/** Managed memory is device memory; simt_host_may() says that the host may access it. */
cudaError_t cudaMallocManaged(void **pointer, size_t bytes, unsigned int flags)
{
    struct simt_site site = CALLER_SITE("cudaMallocManaged");
    if (bytes == 0 || (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost))
        return runtime_result(cudaErrorInvalidValue);
    forget_name(); /* messages say that it is managed */
    return runtime_allocate(pointer, bytes, SIMT_MEMORY_MANAGED, site);
}

static cudaError_t release(void *pointer, struct simt_site site)
{
    if (pointer != NULL) runtime_makes(site, SIMT_NO_MEMORY);
    RETURN_IF_LOST();
    RETURN_IF_UNSAFE();
    if (pointer == NULL || simt_device_free(pointer) == 0) return cudaSuccess;
    const struct simt_words words = {.name = {site.what}, .memory = pointer, .bytes = 1};
    if (simt_device_freed(pointer))
        simt_finding(RECORD_USE_AFTER_FREE, &site, RECORD_SAYS_FREED_BEFORE, &words);
    else if (!simt_is_device_pointer(pointer))
        simt_finding(RECORD_HOST_POINTER, &site, RECORD_SAYS_NOT_DEVICE_MEMORY,
                     SIMT_SAYS(.name = {site.what}));
    else
        simt_finding(RECORD_OUT_OF_BOUNDS, &site, RECORD_SAYS_NO_START, &words);
    return runtime_result(cudaErrorInvalidValue);
}

cudaError_t cudaFree(void *pointer)
{
    runtime_settled();
    for (int device = 0; device < simt_device_count(); device++) order_host_waits_device(device);
    return release(pointer, CALLER_SITE("cudaFree"));
}

cudaError_t cudaFreeAsync(void *pointer, cudaStream_t stream)
{
    if (!stream_is_valid(stream)) return runtime_result(cudaErrorInvalidResourceHandle);
    if (stream_is_under_capture(stream)) return runtime_result(cudaErrorInvalidValue); /* not the graph's */
    return release(pointer, CALLER_SITE("cudaFreeAsync"));
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    RETURN_IF_LOST();
    if (free_bytes == NULL || total_bytes == NULL) return runtime_result(cudaErrorInvalidValue);
    simt_device_memory(free_bytes, total_bytes);
    return cudaSuccess;
}

/* ---- pinned host memory: kernels may use what CUDA allocates, so it lies on the device; what is registered is the
 * program's own and only remembered ---------------------------------------------------------------------- */

struct registered {
    char *start;
    size_t bytes;
    unsigned int flags;
    int is_own; /**< cudaHostRegister: the memory is the caller's */
    struct registered *next;
};
static struct registered *pinned_list;
static pthread_mutex_t pinned_lock = PTHREAD_MUTEX_INITIALIZER;

static int remember_pinned(void *start, size_t bytes, unsigned int flags, int is_own)
{
    struct registered *entry = malloc(sizeof(*entry));
    if (entry == NULL) return 0;
    *entry = (struct registered){start, bytes, flags, is_own, NULL};
    pthread_mutex_lock(&pinned_lock);
    entry->next = pinned_list;
    pinned_list = entry;
    pthread_mutex_unlock(&pinned_lock);
    return 1;
}

/** Removes the entry that begins at @p start from the list; 0 if there is none of that kind. */
static int forget_pinned(const void *start, int is_own)
{
    int found = 0;
    pthread_mutex_lock(&pinned_lock);
    for (struct registered **link = &pinned_list; *link != NULL; link = &(*link)->next) {
        struct registered *entry = *link;
        if (entry->start != start || entry->is_own != is_own) continue;
        *link = entry->next;
        free(entry);
        found = 1;
        break;
    }
    pthread_mutex_unlock(&pinned_lock);
    return found;
}

/** The entry that contains @p pointer; its start is NULL if there is none. */
static struct registered find_pinned(const void *pointer)
{
    struct registered found = {0};
    pthread_mutex_lock(&pinned_lock);
    for (const struct registered *entry = pinned_list; entry != NULL && found.start == NULL;
         entry = entry->next)
        if ((uintptr_t)pointer - (uintptr_t)entry->start < entry->bytes) found = *entry;
    pthread_mutex_unlock(&pinned_lock);
    return found;
}

static cudaError_t allocate_pinned(void **pointer, size_t bytes, unsigned int flags, struct simt_site site)
{
    runtime_makes(site, SIMT_NO_MEMORY);
    RETURN_IF_LOST();
    RETURN_IF_UNSAFE();
    if (pointer == NULL) return runtime_result(cudaErrorInvalidValue);
    *pointer = NULL;
    if (bytes == 0) return cudaSuccess;
    void *memory = simt_device_alloc(bytes, SIMT_MEMORY_PINNED, NULL, &site);
    if (memory != NULL && !remember_pinned(memory, bytes, flags, 0)) {
        (void)simt_device_free(memory);
        memory = NULL;
    }
    *pointer = memory;
    return runtime_result(memory != NULL ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t cudaHostAlloc(void **pointer, size_t bytes, unsigned int flags)
{
    return allocate_pinned(pointer, bytes, flags, CALLER_SITE("cudaHostAlloc"));
}

cudaError_t cudaMallocHost(void **pointer, size_t bytes)
{
    return allocate_pinned(pointer, bytes, cudaHostAllocDefault, CALLER_SITE("cudaMallocHost"));
}

cudaError_t cudaFreeHost(void *pointer)
{
    runtime_makes(CALLER_SITE("cudaFreeHost"), SIMT_NO_MEMORY);
    RETURN_IF_LOST();
    RETURN_IF_UNSAFE();
    if (pointer == NULL) return cudaSuccess;
    if (!forget_pinned(pointer, 0)) return runtime_result(cudaErrorInvalidValue);
    (void)simt_device_free(pointer);
    return cudaSuccess;
}

cudaError_t cudaHostRegister(void *pointer, size_t bytes, unsigned int flags)
{
    runtime_makes(CALLER_SITE("cudaHostRegister"), SIMT_NO_MEMORY);
    RETURN_IF_LOST();
    RETURN_IF_UNSAFE();
    if (pointer == NULL || bytes == 0) return runtime_result(cudaErrorInvalidValue);
    if (find_pinned(pointer).start != NULL) return runtime_result(cudaErrorHostMemoryAlreadyRegistered);
    return runtime_result(remember_pinned(pointer, bytes, flags, 1) ? cudaSuccess
                                                                    : cudaErrorMemoryAllocation);
}

cudaError_t cudaHostUnregister(void *pointer)
{
    runtime_makes(CALLER_SITE("cudaHostUnregister"), SIMT_NO_MEMORY);
    RETURN_IF_LOST();
    RETURN_IF_UNSAFE();
    return runtime_result(forget_pinned(pointer, 1) ? cudaSuccess : cudaErrorHostMemoryNotRegistered);
}

cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned int flags)
{
    RETURN_IF_LOST();
    if (device == NULL || flags != 0) return runtime_result(cudaErrorInvalidValue);
    *device = NULL;
    struct registered entry = find_pinned(host);
    if (entry.start == NULL) return runtime_result(cudaErrorInvalidValue);
    if (entry.is_own)
        return runtime_refuse(CALLER_SITE("cudaHostGetDevicePointer"), RECORD_SAYS_NO_MAPPED_MEMORY);
    *device = host;
    return cudaSuccess;
}

cudaError_t cudaHostGetFlags(unsigned int *flags, void *host)
{
    RETURN_IF_LOST();
    struct registered entry = find_pinned(host);
    if (flags == NULL || entry.start == NULL) return runtime_result(cudaErrorInvalidValue);
    /* with unified addressing, all memory of this kind is mapped */
    *flags = entry.flags | cudaHostAllocMapped;
    return cudaSuccess;
}

/* The linker's names for the ends of the section into which simtcc puts such variables; NULL without any. */
extern const char __start_simt_managed[] __attribute__((weak)), __stop_simt_managed[] __attribute__((weak));

static int is_between(const void *pointer, const char *start, const char *stop)
{
    return (uintptr_t)pointer >= (uintptr_t)start && (uintptr_t)pointer < (uintptr_t)stop;
}

/** Managed memory, whether allocated or a variable. */
static int is_managed(const void *pointer)
{
    return simt_host_may(pointer) || is_between(pointer, __start_simt_managed, __stop_simt_managed);
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *pointer)
{
    RETURN_IF_LOST();
    if (attributes == NULL) return runtime_result(cudaErrorInvalidValue);
    memset(attributes, 0, sizeof(*attributes));
    attributes->device = -2; /* CUDA's answer for memory that it does not know */
    struct registered entry = find_pinned(pointer);
    if (entry.start != NULL || is_managed(pointer)) {
        const int whose = entry.is_own ? -1 : simt_device_of(pointer);
        attributes->type = entry.start != NULL ? cudaMemoryTypeHost : cudaMemoryTypeManaged;
        attributes->device = whose < 0 ? simt_current_device() : whose;
        attributes->devicePointer = entry.is_own ? NULL : (void *)pointer;
        attributes->hostPointer = (void *)pointer;
    } else if (simt_device_contains(pointer, 1)) {
        attributes->type = cudaMemoryTypeDevice;
        const int whose = simt_device_of(pointer);
        /* each device has its own copy of the variables */
        attributes->device = whose < 0 ? simt_current_device() : whose;
        attributes->devicePointer = (void *)pointer;
    } else {
        attributes->hostPointer = (void *)pointer;
    }
    return cudaSuccess;
}

/* ---- copies -------------------------------------------------------------------------------------------- */

/** Reports a finding if @p pointer is used as host memory but points to the device. */
static int is_mistaken_for_host(struct simt_site site, const void *pointer, enum role role)
{
    if (!simt_is_on_device(pointer) || is_managed(pointer)) return 0;
    simt_finding(RECORD_HOST_POINTER, &site, RECORD_SAYS_DEVICE_AS_HOST,
                 SIMT_SAYS(.name = {site.what}, .number = {role}, .memory = pointer, .bytes = 1));
    return 1;
}

static int to_device(enum cudaMemcpyKind kind)
{
    return kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
}

static int from_device(enum cudaMemcpyKind kind)
{
    return kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
}

/** The direction that follows from the pointers themselves. */
static enum cudaMemcpyKind infer_kind(const void *to, const void *from)
{
    int to_is_device = simt_is_on_device(to) && !simt_host_may(to),
        from_is_device = simt_is_on_device(from) && !simt_host_may(from);
    if (to_is_device) return from_is_device ? cudaMemcpyDeviceToDevice : cudaMemcpyHostToDevice;
    return from_is_device ? cudaMemcpyDeviceToHost : cudaMemcpyHostToHost;
}

/** The direction of a copy: as asked, or, if that would take device memory for host memory, what hardware
 *  does. */
static enum cudaMemcpyKind settle_kind(const struct copy_operation *c, struct simt_site site)
{
    int mistaken = 0;
    if (c->kind == cudaMemcpyDefault) return infer_kind(c->to, c->from);
    if (!to_device(c->kind)) mistaken |= is_mistaken_for_host(site, c->to, ROLE_WRITES);
    if (!from_device(c->kind)) mistaken |= is_mistaken_for_host(site, c->from, ROLE_READS);
    return mistaken ? infer_kind(c->to, c->from) : c->kind;
}

/** 1 if a side of a copy is all device memory, or none of it and need not be; else reports a finding. */
static int is_side_valid(struct simt_site site, int is_device, const void *pointer, size_t bytes,
                         enum role role)
{
    return !(is_device || simt_is_on_device(pointer)) || device_range_is_valid(site, pointer, bytes, role);
}

cudaError_t runtime_copy(struct copy_operation c, cudaStream_t stream, struct simt_site site)
{
    enum { PAGE = 4096 }; /* null, or an element of it */
    RETURN_IF_LOST();
    if ((unsigned)c.kind > cudaMemcpyDefault) return runtime_result(cudaErrorInvalidMemcpyDirection);
    if (!stream_is_valid(stream)) return runtime_result(cudaErrorInvalidResourceHandle);
    if (c.width == 0 || c.rows == 0) return cudaSuccess;
    if (c.rows > 1 && (c.width > c.to_pitch || c.width > c.from_pitch))
        return runtime_result(cudaErrorInvalidPitchValue);
    if ((uintptr_t)c.to < PAGE || (uintptr_t)c.from < PAGE) return runtime_result(cudaErrorInvalidValue);
    c.kind = settle_kind(&c, site);
    if (runtime_host_is_kept_out() && c.kind == cudaMemcpyDeviceToHost) {
        simt_finding(RECORD_HOST_POINTER, &site, RECORD_SAYS_BRINGS_TO_HOST, SIMT_SAYS(.name = {site.what}));
        return runtime_result(cudaErrorNotPermitted);
    }
    size_t to_bytes = bytes_of_rows(c.rows, c.to_pitch, c.width),
           from_bytes = bytes_of_rows(c.rows, c.from_pitch, c.width);
    int to_ok = is_side_valid(site, to_device(c.kind), c.to, to_bytes, ROLE_WRITES);
    int from_ok = is_side_valid(site, from_device(c.kind), c.from, from_bytes, ROLE_READS);
    if (!to_ok || !from_ok) return runtime_result(cudaErrorInvalidValue);
    if (c.kind == cudaMemcpyDeviceToDevice)
        count_transfer(simt_device_of(c.from), simt_device_of(c.to), c.rows * c.width);
    struct operation operation = {OPERATION_COPY, site, stream, stream_device(stream), {.copy = c}};
    return runtime_result(runtime_perform(&operation));
}

static struct copy_operation one_row(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    return (struct copy_operation){to, from, bytes, bytes, bytes, 1, kind, NULL};
}

cudaError_t runtime_copy_and_wait(struct copy_operation c, struct simt_site site)
{
    const cudaError_t error = runtime_copy(c, NULL, site);
    order_host_waits(NULL, simt_current_device());
    return error;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    runtime_waits(CALLER_SITE("cudaMemcpy"));
    return runtime_copy_and_wait(one_row(to, from, bytes, kind), CALLER_SITE("cudaMemcpy"));
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    return runtime_copy(one_row(to, from, bytes, kind), stream, CALLER_SITE("cudaMemcpyAsync"));
}

/** 1 if @p pointer is memory of @p device, as the call says; else reports a finding. */
static int is_memory_of(struct simt_site site, int device, const void *pointer, enum role role)
{
    const int whose = simt_device_of(pointer);
    if (whose < 0 || whose == device || simt_host_may(pointer))
        return 1; /* runtime_copy() reports memory that does not exist */
    simt_finding(
        RECORD_WRONG_DEVICE, &site, RECORD_SAYS_CALLED_DEVICE,
        SIMT_SAYS(.name = {site.what}, .number = {role, whose, device}, .memory = pointer, .bytes = 1));
    return 0;
}

static cudaError_t copy_peer(struct copy_operation c, int to_device, int from_device, cudaStream_t stream,
                             struct simt_site site)
{
    RETURN_IF_LOST();
    if (!device_is_valid(to_device) || !device_is_valid(from_device))
        return runtime_result(cudaErrorInvalidDevice);
    if (!is_memory_of(site, to_device, c.to, ROLE_WRITES) ||
        !is_memory_of(site, from_device, c.from, ROLE_READS))
        return runtime_result(cudaErrorInvalidValue);
    return runtime_copy(c, stream, site);
}

cudaError_t cudaMemcpyPeer(void *to, int device, const void *from, int from_device, size_t bytes)
{
    return copy_peer(one_row(to, from, bytes, cudaMemcpyDeviceToDevice), device, from_device, NULL,
                     CALLER_SITE("cudaMemcpyPeer"));
}

cudaError_t cudaMemcpyPeerAsync(void *to, int device, const void *from, int from_device, size_t bytes,
                                cudaStream_t stream)
{
    return copy_peer(one_row(to, from, bytes, cudaMemcpyDeviceToDevice), device, from_device, stream,
                     CALLER_SITE("cudaMemcpyPeerAsync"));
}

cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                         size_t height, enum cudaMemcpyKind kind)
{
    struct copy_operation c = {to, from, to_pitch, from_pitch, width, height, kind, NULL};
    runtime_waits(CALLER_SITE("cudaMemcpy2D"));
    return runtime_copy_and_wait(c, CALLER_SITE("cudaMemcpy2D"));
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                              size_t height, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    struct copy_operation c = {to, from, to_pitch, from_pitch, width, height, kind, NULL};
    return runtime_copy(c, stream, CALLER_SITE("cudaMemcpy2DAsync"));
}

/* ---- variables ----------------------------------------------------------------------------------------- */

/** 1 if @p symbol is a `__device__` or `__constant__` variable; else reports a finding. */
static int is_symbol(struct simt_site site, const void *symbol)
{
    if (symbol == NULL) return 0;
    if (simt_is_device_variable(symbol)) return 1;
    simt_finding(RECORD_HOST_POINTER, &site, RECORD_SAYS_NO_SYMBOL, SIMT_SAYS(.name = {site.what}));
    return 0;
}

/** 1 if the host waits for a copy by the function of this name. */
static int waits(const char *call)
{
    return strstr(call, "Async") == NULL;
}

/* cuda_runtime.h declares these two to C++ only. */
cudaError_t simt_copy_to_symbol(void *symbol, size_t symbol_bytes, const void *from, size_t bytes,
                                size_t offset, enum cudaMemcpyKind kind, cudaStream_t stream,
                                const char *call);
cudaError_t simt_copy_from_symbol(void *to, const void *symbol, size_t symbol_bytes, size_t bytes,
                                  size_t offset, enum cudaMemcpyKind kind, cudaStream_t stream,
                                  const char *call);

/** A copy to or from @p symbol, by a host's @p across or within the device. */
static cudaError_t copy_symbol(const void *symbol, size_t symbol_bytes, size_t offset,
                               enum cudaMemcpyKind across, struct copy_operation c, cudaStream_t stream,
                               struct simt_site site)
{
    const size_t bytes = c.width;
    RETURN_IF_LOST();
    if (!is_symbol(site, symbol)) return runtime_result(cudaErrorInvalidSymbol);
    if (c.kind != across && c.kind != cudaMemcpyDeviceToDevice && c.kind != cudaMemcpyDefault)
        return runtime_result(cudaErrorInvalidMemcpyDirection);
    if (offset > symbol_bytes || bytes > symbol_bytes - offset) {
        const int64_t role = across == cudaMemcpyHostToDevice ? ROLE_WRITES : ROLE_READS;
        simt_finding(RECORD_OUT_OF_BOUNDS, &site, RECORD_SAYS_SYMBOL_RANGE,
                     SIMT_SAYS(.name = {site.what},
                               .number = {role, (int64_t)bytes, (int64_t)offset, (int64_t)symbol_bytes}));
        return runtime_result(cudaErrorInvalidValue);
    }
    return waits(site.what) ? runtime_copy_and_wait(c, site) : runtime_copy(c, stream, site);
}

cudaError_t simt_copy_to_symbol(void *symbol, size_t symbol_bytes, const void *from, size_t bytes,
                                size_t offset, enum cudaMemcpyKind kind, cudaStream_t stream,
                                const char *call)
{
    return copy_symbol(symbol, symbol_bytes, offset, cudaMemcpyHostToDevice,
                       one_row((char *)symbol + offset, from, bytes, kind), stream, CALLER_SITE(call));
}

cudaError_t simt_copy_from_symbol(void *to, const void *symbol, size_t symbol_bytes, size_t bytes,
                                  size_t offset, enum cudaMemcpyKind kind, cudaStream_t stream,
                                  const char *call)
{
    return copy_symbol(symbol, symbol_bytes, offset, cudaMemcpyDeviceToHost,
                       one_row(to, (const char *)symbol + offset, bytes, kind), stream, CALLER_SITE(call));
}

/* In C the size of the variable is not known; runtime_copy() checks the device's own bounds. */

cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset,
                               enum cudaMemcpyKind kind)
{
    return runtime_copy_and_wait(one_row((char *)symbol + offset, from, bytes, kind),
                                 CALLER_SITE("cudaMemcpyToSymbol"));
}

cudaError_t cudaMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset,
                                 enum cudaMemcpyKind kind)
{
    runtime_waits(CALLER_SITE("cudaMemcpyFromSymbol"));
    return runtime_copy_and_wait(one_row(to, (const char *)symbol + offset, bytes, kind),
                                 CALLER_SITE("cudaMemcpyFromSymbol"));
}

/* ---- fills --------------------------------------------------------------------------------------------- */

cudaError_t runtime_set(struct set_operation s, cudaStream_t stream, struct simt_site site)
{
    RETURN_IF_LOST();
    if (!stream_is_valid(stream)) return runtime_result(cudaErrorInvalidResourceHandle);
    if (s.width == 0 || s.rows == 0) return cudaSuccess;
    if (s.rows > 1 && s.width > s.pitch) return runtime_result(cudaErrorInvalidPitchValue);
    if (runtime_only_launches()) return cudaSuccess;
    if (!device_range_is_valid(site, s.to, bytes_of_rows(s.rows, s.pitch, s.width), ROLE_FILLS))
        return runtime_result(cudaErrorInvalidValue);
    struct operation operation = {OPERATION_SET, site, stream, stream_device(stream), {.set = s}};
    return runtime_result(runtime_perform(&operation));
}

cudaError_t cudaMemset(void *pointer, int value, size_t bytes)
{
    return runtime_set((struct set_operation){pointer, value, bytes, bytes, 1}, NULL,
                       CALLER_SITE("cudaMemset"));
}

cudaError_t cudaMemsetAsync(void *pointer, int value, size_t bytes, cudaStream_t stream)
{
    return runtime_set((struct set_operation){pointer, value, bytes, bytes, 1}, stream,
                       CALLER_SITE("cudaMemsetAsync"));
}

cudaError_t cudaMemset2D(void *pointer, size_t pitch, int value, size_t width, size_t height)
{
    return runtime_set((struct set_operation){pointer, value, pitch, width, height}, NULL,
                       CALLER_SITE("cudaMemset2D"));
}

cudaError_t cudaMemset2DAsync(void *pointer, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream)
{
    struct set_operation s = {pointer, value, pitch, width, height};
    return runtime_set(s, stream, CALLER_SITE("cudaMemset2DAsync"));
}
