/**
 * @file device_case.c
 * @brief The device buffers of a case: guarded, poisoned, copied back raw.
 *
 *     allocation  | lead | guard zone | what the kernel may touch | guard zone |
 *
 * On the software device there are no guard zones here: it watches the borders of every allocation itself and
 * can name the line that crossed one.
 */
#include "device_case.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simt_only.h"

enum {
    STAGING_BYTES = 1 << 20,
    BEHIND_ROW = 1024, /* bytes between rows that lie apart which are not left uninitialised */
    BEFORE_ROW = 64
};

enum { KEPT_INPUT = 1, KEPT_PADDING = 2 };
#undef cudaMalloc /* its headers make it a macro that names the allocation after the variable */

int note_error(struct wire_case *item, cudaError_t error, const char *where)
{
    if (error == cudaSuccess) return 0;
    struct wire_result *result = &item->result;
    if (result->cuda_error == 0) {
        result->cuda_error = (int32_t)error;
        snprintf(result->cuda_message, sizeof result->cuda_message, "%s (%s)", cudaGetErrorString(error),
                 where);
    }
    return -1;
}

static unsigned char *image_at(const struct device_case *run, uint64_t offset)
{
    return (unsigned char *)run->image + offset;
}

/*
 * Processes that share a GPU get it by turns: whoever waits for a copy waits for his turn. So small copies are only ordered, from
 * and to memory that the device reaches by itself, and are waited for together.
 */
enum { ROOM_BYTES = 8 << 20, MOST_ORDERED = 64, ORDERED_ALIGNMENT = 256 };
static struct {
    unsigned char *room;
    size_t used;
    struct {
        unsigned char *to, *from;
        size_t bytes;
    } back[MOST_ORDERED];
    unsigned backs;
} ordered;

/* Waits for the copies, and hands on what has come back. */
static int await_copies(struct device_case *run, const char *where)
{
    const int failed = note_error(run->item, cudaDeviceSynchronize(), where);
    for (unsigned i = 0; i < ordered.backs && !failed; i++)
        memcpy(ordered.back[i].to, ordered.back[i].from, ordered.back[i].bytes);
    ordered.backs = 0;
    ordered.used = 0;
    return failed;
}

static int is_orderable(size_t bytes)
{
    return ordered.room != NULL && bytes <= ROOM_BYTES / 4;
}

static int order_copy(struct device_case *run, void *device, void *host, size_t bytes, int back)
{
    const char *const where = back ? "copying back from the device" : "copying to the device";
    const size_t taken = (bytes + ORDERED_ALIGNMENT - 1) / ORDERED_ALIGNMENT * ORDERED_ALIGNMENT;
    if ((ordered.used + taken > ROOM_BYTES || ordered.backs == MOST_ORDERED) && await_copies(run, where) != 0)
        return -1;
    unsigned char *const room = ordered.room + ordered.used;
    ordered.used += taken;
    if (!back) {
        memcpy(room, host, bytes);
        return note_error(run->item, cudaMemcpyAsync(device, room, bytes, cudaMemcpyHostToDevice, NULL),
                          where);
    }
    ordered.back[ordered.backs].to = host;
    ordered.back[ordered.backs].from = room;
    ordered.back[ordered.backs++].bytes = bytes;
    return note_error(run->item, cudaMemcpyAsync(room, device, bytes, cudaMemcpyDeviceToHost, NULL), where);
}

/* Copies from host to device, or back if `back` is set: it is there after await_copies(). */
static int move(struct device_case *run, void *device, void *host, size_t bytes, int back)
{
    if (bytes == 0) return 0;
    if (is_orderable(bytes)) return order_copy(run, device, host, bytes, back);
    cudaError_t error = back ? cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost)
                             : cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice);
    return note_error(run->item, error, back ? "copying back from the device" : "copying to the device");
}

/* Rows further apart than the runtime's two-dimensional copies take are copied one by one. */
static int rows_are_near(const struct wire_buffer *wire)
{
    return wire->pitch <= INT_MAX;
}

/* Where the last row of a buffer of rows that lie apart begins in the buffer's bytes: it may be shorter than the others. */
static size_t last_row(const struct wire_buffer *wire, size_t bytes)
{
    return (bytes - 1) / wire->row_bytes * wire->row_bytes;
}

/* The same for all that a buffer holds; on the device its rows may lie apart. */
static int move_contents(struct device_case *run, const struct wire_buffer *wire,
                         const struct device_buffer *buffer, unsigned char *host, size_t bytes, int back)
{
    const size_t row = wire->row_bytes, pitch = wire->pitch;
    if (row == 0) return move(run, buffer->start, host, bytes, back);
    if (bytes == 0) return 0;
    const size_t last = last_row(wire, bytes);
    unsigned char *to_last = buffer->start + last / row * pitch;
    if (last > 0 && rows_are_near(wire)) {
        cudaError_t error =
            back ? cudaMemcpy2D(host, row, buffer->start, pitch, row, last / row, cudaMemcpyDeviceToHost)
                 : cudaMemcpy2D(buffer->start, pitch, host, row, row, last / row, cudaMemcpyHostToDevice);
        if (note_error(run->item, error, back ? "copying back from the device" : "copying to the device") !=
            0)
            return -1;
    }
    for (size_t at = 0; at < last && !rows_are_near(wire); at += row)
        if (move(run, buffer->start + at / row * pitch, host + at, row, back) != 0) return -1;
    return move(run, to_last, host + last, bytes - last, back);
}

/* @p width bytes of @p rows rows, the first of them at @p first. */
static int fill_column(struct device_case *run, const struct wire_buffer *wire, unsigned char *first,
                       size_t width, size_t rows)
{
    static const char where[] = "filling the bytes between rows";
    if (rows > 0 && rows_are_near(wire))
        return note_error(run->item, cudaMemset2D(first, wire->pitch, 0xff, width, rows), where);
    for (size_t i = 0; i < rows; i++)
        if (note_error(run->item, cudaMemset(first + i * wire->pitch, 0xff, width), where) != 0) return -1;
    return 0;
}

/* Next to rows that lie apart a kernel may read what it then has no use for: that is NaN. */
static int fill_gaps(struct device_case *run, const struct wire_buffer *wire,
                     const struct device_buffer *buffer)
{
    if (wire->row_bytes == 0 || run->item->parts.total > 0) return 0;
    const size_t gaps = last_row(wire, wire->bytes) / wire->row_bytes;
    if (fill_column(run, wire, buffer->start + wire->row_bytes, BEHIND_ROW, gaps) != 0) return -1;
    return fill_column(run, wire, buffer->start + wire->pitch - BEFORE_ROW, BEFORE_ROW, gaps);
}

static int fill_words(struct device_case *run, const struct wire_buffer *wire, struct device_buffer *buffer,
                      uint32_t word)
{
    static uint32_t staging[STAGING_BYTES / sizeof(uint32_t)];
    for (size_t at = 0; at < buffer->bytes && at < STAGING_BYTES; at += sizeof word)
        staging[at / sizeof word] = word;
    if (wire->row_bytes > 0)
        return move_contents(run, wire, buffer, (unsigned char *)staging, wire->bytes, 0);
    size_t filled = buffer->bytes < STAGING_BYTES ? buffer->bytes : STAGING_BYTES;
    if (move(run, buffer->start, staging, filled, 0) != 0) return -1;
    for (size_t more; filled < buffer->bytes;
         filled += more) { /* what is there already is copied on the device */
        more = buffer->bytes - filled < filled ? buffer->bytes - filled : filled;
        if (note_error(run->item,
                       cudaMemcpy(buffer->start + filled, buffer->start, more, cudaMemcpyDeviceToDevice),
                       "filling a buffer") != 0)
            return -1;
    }
    return 0;
}

static void make_guard(const struct device_case *run, unsigned zone, unsigned char *bytes)
{
    for (size_t at = 0; at < run->item->guard_bytes; at++)
        bytes[at] = wire_guard_byte(run->item->guard_seed, zone, at);
}

/* Both guard zones and, in the same copy, what small buffers hold: there are many of them, and copies from several
 * processes wait for each other. What is no input is filled before each run. */
static int fill_small(struct device_case *run, unsigned index, const struct device_buffer *buffer)
{
    static unsigned char staging[STAGING_BYTES];
    const struct wire_buffer *wire = &run->item->buffer[index];
    size_t guard = run->item->guard_bytes;
    make_guard(run, 2 * index, staging);
    make_guard(run, 2 * index + 1, staging + guard + buffer->bytes);
    if (wire->role == WIRE_IN && wire->contents != 0)
        memcpy(staging + guard, image_at(run, wire->contents), buffer->bytes);
    return move(run, buffer->start - guard, staging, buffer->bytes + 2 * guard, 0);
}

static int fill_guards(struct device_case *run, unsigned index, const struct device_buffer *buffer)
{
    size_t bytes = run->item->guard_bytes;
    if (bytes == 0) return 0;
    unsigned char *zone = malloc(bytes);
    int failed = zone == NULL;
    for (unsigned side = 0; side < 2 && !failed; side++) {
        make_guard(run, 2 * index + side, zone);
        failed = move(run, side == 0 ? buffer->start - bytes : buffer->start + buffer->span, zone, bytes, 0);
    }
    free(zone);
    return failed ? -1 : 0;
}

static int fill_at_first(struct device_case *run, unsigned index, const struct device_buffer *buffer)
{
    const struct wire_buffer *wire = &run->item->buffer[index];
    size_t guard = run->item->guard_bytes;
    if (guard > 0 && wire->row_bytes == 0 && buffer->bytes + 2 * guard <= STAGING_BYTES)
        return fill_small(run, index, buffer);
    if (fill_guards(run, index, buffer) != 0 || fill_gaps(run, wire, buffer) != 0) return -1;
    if (wire->role != WIRE_IN || wire->contents == 0) return 0;
    return move_contents(run, wire, buffer, image_at(run, wire->contents), buffer->bytes, 0);
}

/* What the kernel must not write, even if it leaves there what was there: an input, and what lies between the rows of
 * an output. On a GPU only what differs afterwards is seen. */
static void keep(const struct device_case *run, const struct wire_buffer *wire,
                 const struct device_buffer *buffer)
{
    size_t row = wire->row_bytes > 0 ? wire->row_bytes : wire->own_row;
    size_t stride = wire->row_bytes > 0 ? wire->pitch : wire->row_stride;
    size_t behind = stride - row < BEHIND_ROW ? stride - row : BEHIND_ROW;
    if (simt_device_keep == NULL || wire->role == WIRE_WORKSPACE) return;
    if (wire->role != WIRE_IN && run->item->parts.total > 0) return; /* other parts follow */
    if (wire->role == WIRE_IN && wire->row_bytes == 0)
        simt_device_keep(buffer->start, buffer->span, KEPT_INPUT);
    for (size_t at = 0; wire->row_bytes > 0 && wire->role == WIRE_IN && at < buffer->span; at += stride)
        simt_device_keep(buffer->start + at, buffer->span - at < row ? buffer->span - at : row, KEPT_INPUT);
    for (size_t at = row; wire->role != WIRE_IN && stride > row && at < buffer->span; at += stride)
        simt_device_keep(buffer->start + at, behind, KEPT_PADDING);
}

/* Whether the checker knows the size of the workspace for the parts alone, or for buffers that are small because nothing runs. */
static int is_larger_than_told(const struct wire_case *item)
{
    return item->parts.total > 0 || item->flags & CASE_LAUNCH_ONLY;
}

/* A workspace is as large as the student's own function says, but no larger than the contract; some cases add to that. */
static size_t usable_bytes(const struct wire_case *item, const struct wire_buffer *wire)
{
    const uint64_t asked = item->result.workspace_asked;
    if (wire->role != WIRE_WORKSPACE) return wire->bytes;
    if (is_larger_than_told(item)) return asked;
    const uint64_t least = asked > wire->bytes ? wire->bytes : asked;
    return least + (least > 0 && item->workspace_more > 0 ? (uint64_t)item->workspace_more : 0);
}

/* Inputs that lie at the same place in both runs need only be there once. */
static int is_shared(const struct device_case *run, unsigned index)
{
    const struct wire_buffer *wire = &run->item->buffer[index];
    return wire->role == WIRE_IN && wire->lead[0] == wire->lead[1];
}

/* Findings call it as the contract does. */
static void name_next_allocation(const struct device_case *run, const struct wire_buffer *wire)
{
    size_t extent[WIRE_RANK];
    for (uint32_t axis = 0; axis < wire->rank; axis++) extent[axis] = wire->extent[axis];
    if (simt_name_next_allocation != NULL) simt_name_next_allocation(wire->name, __FILE__, __LINE__);
    if (simt_shape_next_allocation != NULL)
        simt_shape_next_allocation(wire->elem_bytes, (int)wire->rank, extent,
                                   wire->row_bytes > 0 && run->item->parts.total == 0 ? wire->pitch : 0);
}

enum { KEPT_BYTES = 1 << 20 }; /* larger buffers are allocated for each case */

static int keeps;

void keep_small_buffers(void)
{
    void *room = NULL;
    keeps = 1;
    if (simt_lead_next_allocation == NULL && cudaMallocHost(&room, ROOM_BYTES) == cudaSuccess)
        ordered.room = room;
    (void)cudaGetLastError();
}

static unsigned char *kept_memory(const struct device_case *run, int set, unsigned index, size_t bytes)
{
    static unsigned char *kept[2][WIRE_BUFFERS];
    void *memory = NULL;
    if (!keeps || run->item->guard_bytes == 0 || bytes > KEPT_BYTES) return NULL;
    if (kept[set][index] == NULL && cudaMalloc(&memory, KEPT_BYTES) == cudaSuccess) kept[set][index] = memory;
    return kept[set][index];
}

/* Gigabytes of a case whose rows or parts lie far apart, kept on a GPU for the next such case: to have them from the driver takes longer than
 * most kernels need. */
static struct far_memory {
    void *memory;
    size_t bytes;
    int taken;
} far_memory[2 * WIRE_BUFFERS];

static int is_far(const struct wire_case *item)
{
    int far = item->parts.total > 0;
    for (unsigned i = 0; i < item->buffer_count; i++) far |= item->buffer[i].row_bytes > 0;
    return far;
}

static void release_far_memory(void)
{
    for (size_t i = 0; i < sizeof far_memory / sizeof far_memory[0]; i++) {
        if (far_memory[i].taken) continue;
        cudaFree(far_memory[i].memory);
        far_memory[i] = (struct far_memory){0};
    }
}

static struct far_memory *find_far_memory(size_t bytes)
{
    struct far_memory *best = NULL;
    for (size_t i = 0; i < sizeof far_memory / sizeof far_memory[0]; i++) {
        struct far_memory *one = &far_memory[i];
        if (!one->taken && one->bytes >= bytes && (best == NULL || one->bytes < best->bytes)) best = one;
    }
    return best;
}

/* Like cudaMalloc(). What is kept and too small goes back first. */
static cudaError_t allocate_far(void **memory, size_t bytes)
{
    struct far_memory *one = find_far_memory(bytes);
    if (one == NULL) {
        release_far_memory();
        void *more = NULL;
        const cudaError_t error = cudaMalloc(&more, bytes);
        if (error != cudaSuccess) return error;
        one = find_far_memory(0);
        one->memory = more;
        one->bytes = bytes;
    }
    one->taken = 1;
    *memory = one->memory;
    return cudaSuccess;
}

static int give_back_far(const void *memory)
{
    for (size_t i = 0; i < sizeof far_memory / sizeof far_memory[0]; i++) {
        if (memory == NULL || far_memory[i].memory != memory) continue;
        far_memory[i].taken = 0;
        return 1;
    }
    return 0;
}

static int allocate(struct device_case *run, int set, unsigned index)
{
    const struct wire_buffer *wire = &run->item->buffer[index];
    struct device_buffer *buffer = &run->buffer[set][index];
    size_t guard = run->item->guard_bytes;
    buffer->bytes = usable_bytes(run->item, wire);
    if (wire->null || buffer->bytes == 0) return 0;
    if (is_shared(run, index) && set == 1) {
        *buffer = run->buffer[0][index];
        return 0;
    }
    buffer->span = buffer->bytes;
    if (wire->row_bytes > 0) {
        const size_t last = last_row(wire, wire->bytes);
        buffer->span = last / wire->row_bytes * wire->pitch + wire->bytes - last;
    }
    /* The software device leaves the lead out of the allocation, so that it watches both borders of the buffer. */
    size_t lead = simt_lead_next_allocation != NULL ? 0 : wire->lead[set];
    buffer->allocated = lead + 2 * guard + buffer->span;
    void *allocation = NULL;
    /* An index that is negative as an int leads to no other buffer. */
    const size_t before = run->item->parts.total > 0 ? sizeof(float) << 31 : 0;
    if (simt_lead_next_allocation != NULL) simt_lead_next_allocation(wire->lead[set] + before);
    name_next_allocation(run, wire);
    unsigned char *kept = kept_memory(run, set, index, buffer->allocated);
    if (kept == NULL) {
        const cudaError_t error = keeps && guard > 0 && is_far(run->item)
                                      ? allocate_far(&allocation, buffer->allocated)
                                      : cudaMalloc(&allocation, buffer->allocated);
        if (note_error(run->item, error, "allocating the case's buffers") != 0) return -1;
    }
    buffer->allocation = allocation;
    buffer->start = (kept != NULL ? kept : buffer->allocation) + lead + guard;
    keep(run, wire, buffer);
    return fill_at_first(run, index, buffer);
}

int set_up(struct device_case *run)
{
    ordered.backs = 0; /* of a case that has failed */
    if (!is_far(run->item)) release_far_memory();
    for (int index = 0; index < 2; index++) {
        cudaError_t error = cudaStreamCreateWithFlags(&run->stream[index], cudaStreamNonBlocking);
        if (note_error(run->item, error, "creating a stream") != 0) return -1;
    }
    for (int set = 0; set < run->sets; set++) {
        /* Those whose rows lie far apart come first, while all of the memory is in one piece. */
        for (unsigned apart = 2; apart-- > 0;)
            for (unsigned i = 0; i < run->item->buffer_count; i++)
                if ((run->item->buffer[i].row_bytes > 0) == apart && allocate(run, set, i) != 0) return -1;
    }
    return 0;
}

void tear_down(struct device_case *run)
{
    for (int set = 0; set < run->sets; set++) {
        for (unsigned i = 0; i < run->item->buffer_count; i++)
            if ((set == 0 || !is_shared(run, i)) && !give_back_far(run->buffer[set][i].allocation))
                cudaFree(run->buffer[set][i].allocation);
    }
    for (int index = 0; index < 2; index++)
        if (run->stream[index] != NULL) cudaStreamDestroy(run->stream[index]);
}

int prepare_outputs(struct device_case *run, int set, int index, int first_contents)
{
    for (unsigned i = 0; i < run->item->buffer_count; i++) {
        const struct wire_buffer *wire = &run->item->buffer[i];
        struct device_buffer *buffer = &run->buffer[set][i];
        if (buffer->start == NULL) continue;
        int failed = 0;
        if (wire->role == WIRE_OUT) failed = fill_words(run, wire, buffer, wire->poison[index]);
        if (wire->role == WIRE_WORKSPACE && is_larger_than_told(run->item))
            continue; /* as large as the problem */
        if (wire->role == WIRE_WORKSPACE) failed = fill_words(run, wire, buffer, wire->poison[index]);
        /* The software device tells reads of a workspace that this call has not written: poison would hide them. */
        if (wire->role == WIRE_WORKSPACE && !run->item->poison_workspace && simt_device_forget != NULL)
            simt_device_forget(buffer->start, buffer->bytes);
        if (wire->role == WIRE_INOUT && first_contents)
            failed = move_contents(run, wire, buffer, image_at(run, wire->contents), buffer->bytes, 0);
        if (failed) return -1;
    }
    return await_copies(run, "preparing the case's buffers");
}

static int copy_buffer_back(struct device_case *run, int set, unsigned index, int copy)
{
    const struct wire_buffer *wire = &run->item->buffer[index];
    struct device_buffer *buffer = &run->buffer[set][index];
    size_t guard = run->item->guard_bytes;
    if (wire->copy[copy] == 0 || buffer->start == NULL) return 0;
    unsigned char *to = image_at(run, wire->copy[copy]);
    const int unread = wire->role == WIRE_IN && wire->contents == 0;
    int contents = !unread && (wire->role != WIRE_WORKSPACE || (run->item->flags & WIRE_KEEP_WORKSPACE));
    if (contents && wire->row_bytes == 0 && buffer->bytes == wire->bytes)
        return move(run, buffer->start - guard, to, buffer->bytes + 2 * guard, 1);
    if (move(run, buffer->start - guard, to, guard, 1) != 0) return -1;
    to += guard;
    if (contents && move_contents(run, wire, buffer, to, buffer->bytes, 1) != 0) return -1;
    if (contents || unread) to += wire->bytes;
    return move(run, buffer->start + buffer->span, to, guard, 1);
}

int order_copies_back(struct device_case *run, int set, int index)
{
    for (unsigned i = 0; i < run->item->buffer_count; i++)
        if (run->item->buffer[i].role != WIRE_IN && copy_buffer_back(run, set, i, index) != 0) return -1;
    return 0;
}

int copy_back(struct device_case *run, int set, int index)
{
    return order_copies_back(run, set, index) != 0 ? -1 : await_copies(run, "copying back from the device");
}

int copy_inputs_back(struct device_case *run)
{
    for (unsigned i = 0; i < run->item->buffer_count; i++)
        if (run->item->buffer[i].role == WIRE_IN && copy_buffer_back(run, 0, i, 0) != 0) return -1;
    return await_copies(run, "copying back from the device");
}

void kernel_pointers(const struct device_case *run, int set, void **pointers)
{
    for (unsigned i = 0; i < WIRE_BUFFERS; i++) pointers[i] = run->buffer[set][i].start;
}
