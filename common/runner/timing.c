/**
 * @file timing.c
 * @brief The timing loop: cold L2, one event pair a call, outputs poisoned before and kept for validation.
 */
#include <stdio.h>
#include <time.h>

#include "call.h"
#include "run_case.h"

enum { WALL_CALLS = 3 };

/** What the loop needs beside the case. */
struct stopwatch {
    struct device_case *run;
    void *pointers[WIRE_BUFFERS];
    void *first[WIRE_BUFFERS]; /* device copies of what in-out buffers hold at first */
    void *flush;
    cudaEvent_t begin[WIRE_SAMPLES], end[WIRE_SAMPLES];
};

static int check(struct stopwatch *watch, cudaError_t error)
{
    return note_error(watch->run->item, error, "timing");
}

static int open_watch(struct stopwatch *watch)
{
    struct wire_case *item = watch->run->item;
    kernel_pointers(watch->run, 0, watch->pointers);
    for (unsigned i = 0; i < item->buffer_count; i++) {
        if (item->buffer[i].role != WIRE_INOUT || watch->pointers[i] == NULL) continue;
        const unsigned char *contents = (const unsigned char *)watch->run->image + item->buffer[i].contents;
        if (check(watch, cudaMalloc(&watch->first[i], item->buffer[i].bytes)) != 0 ||
            check(watch,
                  cudaMemcpy(watch->first[i], contents, item->buffer[i].bytes, cudaMemcpyHostToDevice)) != 0)
            return -1;
    }
    if (item->flush_bytes > 0 && check(watch, cudaMalloc(&watch->flush, item->flush_bytes)) != 0) return -1;
    for (unsigned i = 0; i < item->timed; i++)
        if (check(watch, cudaEventCreate(&watch->begin[i])) != 0 ||
            check(watch, cudaEventCreate(&watch->end[i])) != 0)
            return -1;
    return 0;
}

static void close_watch(struct stopwatch *watch)
{
    for (unsigned i = 0; i < WIRE_BUFFERS; i++) cudaFree(watch->first[i]);
    cudaFree(watch->flush);
    for (unsigned i = 0; i < WIRE_SAMPLES; i++) {
        if (watch->begin[i] != NULL) cudaEventDestroy(watch->begin[i]);
        if (watch->end[i] != NULL) cudaEventDestroy(watch->end[i]);
    }
}

/* Puts back what in-out buffers held at first, and empties L2 of what the kernel reads. */
static int before_call(struct stopwatch *watch)
{
    struct wire_case *item = watch->run->item;
    cudaStream_t stream = watch->run->stream[0];
    for (unsigned i = 0; i < item->buffer_count; i++) {
        if (watch->first[i] == NULL) continue;
        cudaError_t error = cudaMemcpyAsync(watch->pointers[i], watch->first[i], item->buffer[i].bytes,
                                            cudaMemcpyDeviceToDevice, stream);
        if (check(watch, error) != 0) return -1;
    }
    if (watch->flush == NULL) return 0;
    return check(watch, cudaMemsetAsync(watch->flush, 0, item->flush_bytes, stream));
}

static int call(struct stopwatch *watch)
{
    struct device_case *run = watch->run;
    run->item->result.status[2] = (int32_t)call_kernel(run, 0, run->stream[0], NULL);
    return run->item->result.status[2] == KERNEL_OK ? check(watch, cudaGetLastError()) : -1;
}

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

/* The host's clock around a call and the wait for the whole device: work that hides from the events of one
 * stream does not hide from this. */
static int wall_time(struct stopwatch *watch)
{
    struct wire_result *result = &watch->run->item->result;
    for (int i = 0; i < WALL_CALLS; i++) {
        if (before_call(watch) != 0 || check(watch, cudaDeviceSynchronize()) != 0) return -1;
        double begin = now_us();
        if (call(watch) != 0 || check(watch, cudaDeviceSynchronize()) != 0) return -1;
        float us = (float)(now_us() - begin);
        if (i == 0 || us < result->wall_us) result->wall_us = us;
    }
    return 0;
}

static int sample(struct stopwatch *watch)
{
    struct wire_case *item = watch->run->item;
    cudaStream_t stream = watch->run->stream[0];
    for (unsigned i = 0; i < item->timed; i++) {
        if (before_call(watch) != 0 || check(watch, cudaEventRecord(watch->begin[i], stream)) != 0) return -1;
        if (call(watch) != 0 || check(watch, cudaEventRecord(watch->end[i], stream)) != 0) return -1;
    }
    if (check(watch, cudaDeviceSynchronize()) != 0) return -1;
    for (unsigned i = 0; i < item->timed; i++) {
        float ms = 0.0f;
        if (check(watch, cudaEventElapsedTime(&ms, watch->begin[i], watch->end[i])) != 0) return -1;
        item->result.sample_us[i] = ms * 1e3f;
    }
    item->result.sample_count = item->timed;
    return 0;
}

int time_case(struct device_case *run)
{
    static struct stopwatch watch;
    watch = (struct stopwatch){.run = run};
    if (run->item->timed > WIRE_SAMPLES) run->item->timed = WIRE_SAMPLES;
    int failed = open_watch(&watch) != 0 || prepare_outputs(run, 0, 0, 0) != 0;
    for (unsigned i = 0; i < run->item->warm_up && !failed; i++)
        failed = before_call(&watch) != 0 || call(&watch) != 0;
    failed = failed || wall_time(&watch) != 0 || sample(&watch) != 0 || copy_back(run, 0, 2) != 0;
    close_watch(&watch);
    return failed ? -1 : 0;
}
