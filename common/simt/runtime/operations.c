/**
 * @file operations.c
 * @brief The one place where operations are carried out on the device.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"
#include "order.h"

/* The device does one thing at a time, whichever host thread asks. The lock is recursive: a host function
 * may call the runtime. */
static pthread_mutex_t device_lock;
static pthread_once_t device_lock_once = PTHREAD_ONCE_INIT;

static void make_device_lock(void)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&device_lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
}

/** Copies of the program that brought what nobody wrote to the host: each place is reported once. */
struct reported_operation {
    struct simt_site site;
    unsigned long again;
};
static struct reported_operation reported_operations[64];
static size_t reported_count;

static void count_again(void)
{
    for (size_t i = 0; i < reported_count; i++) {
        if (reported_operations[i].again == 0) continue;
        struct simt_site site = simt_site_found(&reported_operations[i].site);
        fprintf(stderr, "  the copy at %s:%d did so %lu times more\n", site.file, site.line,
                reported_operations[i].again);
    }
}

/** 1 if this place has been reported before. */
static int was_reported(const struct simt_site *site)
{
    for (size_t i = 0; i < reported_count; i++) {
        if (reported_operations[i].site.pc != site->pc || reported_operations[i].site.line != site->line)
            continue;
        reported_operations[i].again++;
        simt_finding_again();
        return 1;
    }
    if (reported_count == 0) atexit(count_again);
    if (reported_count < sizeof(reported_operations) / sizeof(reported_operations[0]))
        reported_operations[reported_count++] = (struct reported_operation){*site, 0};
    return 0;
}

/**
 * The data that the host receives must have been written by someone. If the first bytes of an array were
 * never written but later ones were, the array has a border: a halo that is copied along.
 */
static void check_initialized(const struct operation *operation, const char *from, size_t bytes)
{
    ptrdiff_t first = simt_device_first_uninitialized(from, bytes);
    if (first < 0) return;
    const int is_border = first == 0 && simt_device_any_written(from, bytes);
    if ((is_border && !simt_reports_all()) || was_reported(&operation->site)) return;
    simt_finding(is_border ? RECORD_UNWRITTEN_BORDER : RECORD_UNINITIALIZED_READ, &operation->site,
                 RECORD_SAYS_COPIES_UNWRITTEN,
                 SIMT_SAYS(.name = {operation->site.what}, .number = {(int64_t)bytes, first},
                           .memory = from + first, .bytes = 1));
}

/* The sectors of 32 bytes that a row of a copy or a fill touches. */
static uint64_t sectors_of(const char *row, size_t width)
{
    const uintptr_t first = (uintptr_t)row;
    return width > 0 ? (first + width - 1) / 32 - first / 32 + 1 : 0;
}

/* What copies and fills of an entry point move is traffic like what its kernels move. */
static void count_moved(const struct operation *operation, uint64_t read, uint64_t written)
{
    if (promises_are_made()) simt_counters_see_moved(operation->site.what, read, written);
}

static void perform_copy(const struct operation *operation)
{
    const struct copy_operation *c = &operation->as.copy;
    int found_before = simt_finding_count();
    uint64_t read = 0, written = 0;
    if (simt_share_refuses(c->rows * c->width)) return;
    for (size_t row = 0; row < c->rows; row++) {
        char *to = c->to + row * c->to_pitch;
        const char *from = c->from + row * c->from_pitch;
        if (c->kind == cudaMemcpyDeviceToHost && simt_finding_count() == found_before)
            check_initialized(operation, from, c->width);
        promises_see_write(operation, to, c->width);
        memmove(to, from, c->width);
        if (c->kind == cudaMemcpyHostToDevice) simt_device_written(to, c->width);
        if (c->kind != cudaMemcpyDeviceToDevice) continue;
        simt_device_copied(to, from, c->width);
        simt_counters_see_copy(to);
        read += sectors_of(from, c->width), written += sectors_of(to, c->width);
    }
    if (c->kind == cudaMemcpyDeviceToDevice) count_moved(operation, read, written);
}

static void perform_set(const struct operation *operation)
{
    const struct set_operation *s = &operation->as.set;
    uint64_t written = 0;
    if (simt_share_refuses(s->rows * s->width)) return;
    for (size_t row = 0; row < s->rows; row++) {
        promises_see_write(operation, s->to + row * s->pitch, s->width);
        memset(s->to + row * s->pitch, s->value, s->width);
        simt_device_written(s->to + row * s->pitch, s->width);
        written += sectors_of(s->to + row * s->pitch, s->width);
    }
    count_moved(operation, 0, written);
}

/* The launches after which the next launch in `running_in` comes on hardware, where it may start early.
 * Any other operation in between, in any stream, counts as if it waited for all of them. */
static struct simt_overlap running;
static cudaStream_t running_in;
static int running_on; /* the device as well, since default streams of all devices have the same handle */

void runtime_settled(void)
{
    running.count = running.left = 0;
}

void simt_caller_runs(void *stream)
{
    running = (struct simt_overlap){.count = 1};
    running_in = stream;
    running_on = simt_current_device();
}

unsigned simt_left_running(void)
{
    return running.left;
}

/* The launches of all streams since simt_watch_streams(1), of which any may still be running when another stream has its next one. */
static int streams_watched;
static struct simt_overlap watched;
static cudaStream_t watched_in[sizeof watched.launch / sizeof *watched.launch];

void simt_watch_streams(int watch)
{
    streams_watched = watch;
    watched.count = 0;
}

static struct simt_overlap running_elsewhere(cudaStream_t stream)
{
    struct simt_overlap elsewhere = {0};
    for (unsigned i = 0; i < watched.count; i++)
        if (watched_in[i] != stream) elsewhere.launch[elsewhere.count++] = watched.launch[i];
    elsewhere.left = elsewhere.count;
    return elsewhere;
}

static void watch_launch(const struct simt_launch *launch, cudaStream_t stream)
{
    if (!streams_watched || watched.count == sizeof watched_in / sizeof *watched_in) return;
    watched_in[watched.count] = stream;
    watched.launch[watched.count++] =
        (struct simt_running){simt_launch_number(), launch->kernel, launch->grid, launch->block, 1};
}

/** The launch itself succeeds; what a kernel did wrong is reported by the next call, as on hardware. */
static void perform_launch(const struct operation *operation)
{
    if (operation->stream != running_in || operation->device != running_on) runtime_settled();
    running_in = operation->stream;
    running_on = operation->device;
    struct simt_overlap elsewhere = running_elsewhere(operation->stream), before = running;
    int error = simt_run_behind(operation->as.launch.launch, elsewhere.count > 0 ? &elsewhere : &before);
    if (elsewhere.count == 0) running = before; /* nothing that happens in between changes it */
    watch_launch(operation->as.launch.launch, operation->stream);
    if (error != 0) runtime_lose(operation->device, (cudaError_t)error);
}

static void replay(cudaGraphExec_t executable);

static void carry_out(const struct operation *operation)
{
    if (operation->kind != OPERATION_LAUNCH) runtime_settled();
    simt_use_device(operation->device);
    switch (operation->kind) {
    case OPERATION_LAUNCH:
        perform_launch(operation);
        break;
    case OPERATION_COPY:
        perform_copy(operation);
        break;
    case OPERATION_SET:
        perform_set(operation);
        break;
    case OPERATION_RECORD:
        event_record_now(operation->as.event);
        break;
    case OPERATION_WAIT:
        break; /* the work before the event has been done */
    case OPERATION_HOST_FUNCTION:
        operation->as.host.function(operation->as.host.user_data);
        break;
    case OPERATION_GRAPH:
        replay(operation->as.graph);
        runtime_settled();
        break;
    }
}

/** Replays nodes in order, until the context is lost. Memory may have been freed since the capture: so
 *  ranges are checked. */
static void replay(cudaGraphExec_t executable)
{
    const struct node_set *nodes = &executable->graph->nodes;
    for (size_t i = 0; i < nodes->count; i++) {
        const struct operation *operation = &nodes->nodes[i]->operation;
        if (runtime_device_lost(operation->device) != cudaSuccess) break;
        if (operation_ranges_are_valid(operation) && host_range_is_there(operation)) {
            carry_out(operation);
        } else {
            runtime_lose(operation->device, cudaErrorIllegalAddress);
            simt_device_is_broken();
        }
    }
}

static int host_kept_out;

void simt_forbid_copies_to_host(int forbid)
{
    host_kept_out = forbid;
}

int runtime_host_is_kept_out(void)
{
    return host_kept_out;
}

static unsigned long launches, graph_launches;

void simt_calls(unsigned long *launch_count, unsigned long *graph_launch_count)
{
    *launch_count = launches;
    *graph_launch_count = graph_launches;
}

static int launches_only;

void simt_launch_only(int only)
{
    launches_only = only;
}

int runtime_only_launches(void)
{
    return launches_only;
}

void runtime_begin(void)
{
    pthread_once(&device_lock_once, make_device_lock);
    pthread_mutex_lock(&device_lock);
}

void runtime_end(void)
{
    pthread_mutex_unlock(&device_lock);
}

cudaError_t runtime_perform(const struct operation *operation)
{
    int taken;
    cudaError_t error = capture_take(operation, &taken);
    if (taken || error != cudaSuccess) return error;
    runtime_begin();
    launches += operation->kind == OPERATION_LAUNCH;
    graph_launches += operation->kind == OPERATION_GRAPH;
    promises_see(operation);
    order_begin(operation);
    if (!launches_only || operation->kind != OPERATION_LAUNCH) carry_out(operation);
    order_end(operation);
    runtime_end();
    return cudaSuccess;
}
