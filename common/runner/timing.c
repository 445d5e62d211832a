/**
 * @file timing.c
 * @brief The timing loop: cold L2, one event pair per call, outputs and workspace poisoned before each call.
 *
 * After some calls, which cannot be foreseen, the outputs are checked: they must be what the first run of the case left,
 * bit for bit. So an entry point that works only when it expects to be checked is caught; what it left is what the checker
 * gets to see.
 *
 * All other calls, and only they are timed, get inputs of their own: the same elements, rotated (wire_buffer's turn). Nothing is
 * copied for that; a call is given another place in a larger buffer. What some of them left, again chosen by chance, goes to the
 * checker with how far their inputs were rotated, and is judged like any result. A launcher that remembers results gains nothing,
 * and one that is right only for inputs it has seen is wrong. Where an input is some whole numbers, other numbers take their place
 * (wire_buffer's below).
 */
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "call.h"
#include "lock.h"
#include "run_case.h"

enum { LEAST_TIMED = 16, WALL_CALLS = 3, AUDITS = 8, MOST_TURNED = 1 << 20, MOST_NUMBERS = 4096 };

/** What the loop needs beside the case. */
struct stopwatch {
    struct device_case *run;
    void *pointers[WIRE_BUFFERS];
    void *first[WIRE_BUFFERS]; /* device copies of what all but the inputs hold before a call */
    void *flush;
    cudaEvent_t begin[WIRE_SAMPLES], end[WIRE_SAMPLES];
    unsigned char audited[WIRE_SAMPLES];
    unsigned char judged[WIRE_SAMPLES];  /* 1 + which of the copies from WIRE_TURNED on */
    unsigned char *own[WIRE_BUFFERS];    /* where the case's inputs lie */
    unsigned char *larger[WIRE_BUFFERS]; /* what may be rotated, and the beginning of it once more */
    uint64_t places[WIRE_BUFFERS];       /* by how many multiples of wire_buffer's turn, at most */
    uint64_t turned[WIRE_BUFFERS];       /* bytes, in the next call */
    int turns;                           /* 1: of some input there is a larger buffer */
    int found_out;                       /* 1: copy 2 holds outputs that are not as they were */
    double late_us; /* the longest that the device went on working after the given stream was done */
};

static int check(struct stopwatch *watch, cudaError_t error)
{
    return note_error(watch->run->item, error, "timing");
}

/* Bits that cannot be foreseen; zeros where the system has none. */
static void draw(void *bits, size_t bytes)
{
    if (getrandom(bits, bytes, 0) != (ssize_t)bytes) memset(bits, 0, bytes);
}

/* Calls that are looked at: the last one and, where somebody might want to deceive, as many others by chance. */
static void draw_audits(struct stopwatch *watch)
{
    unsigned random[AUDITS], timed = watch->run->item->timed;
    if (!runner_is_locked()) {
        watch->audited[timed - 1] = 1;
        return;
    }
    draw(random, sizeof random);
    for (unsigned i = 0; i < AUDITS && timed > 0; i++) watch->audited[random[i] % timed] = 1;
    if (timed > 0) watch->audited[timed - 1] = 1;
    for (unsigned i = 0; i < WIRE_JUDGED && timed > 0; i++)
        for (unsigned at = random[i] / timed, tries = 0; tries < timed; at++, tries++)
            if (!watch->audited[at % timed] && !watch->judged[at % timed]) {
                watch->judged[at % timed] = (unsigned char)(1 + i);
                break;
            }
}

/* How many whole numbers the input has that may be others. */
static size_t numbers_of(const struct device_case *run, unsigned index)
{
    const struct wire_buffer *wire = &run->item->buffer[index];
    const size_t count = run->buffer[0][index].bytes / sizeof(int32_t);
    const int may_be = wire->role == WIRE_IN && wire->below > 1 && run->buffer[0][index].start != NULL;
    return may_be && count <= MOST_NUMBERS ? count : 0;
}

/* A buffer that holds an input and then its beginning again. */
static int open_turning(struct stopwatch *watch, unsigned index)
{
    const struct wire_buffer *wire = &watch->run->item->buffer[index];
    const size_t bytes = watch->run->buffer[0][index].bytes;
    watch->turns |= numbers_of(watch->run, index) > 0;
    unsigned char *own = watch->run->buffer[0][index].start, *larger = NULL;
    if (wire->role != WIRE_IN || wire->turn == 0 || own == NULL || bytes <= wire->turn) return 0;
    const size_t again = bytes - 1 < MOST_TURNED ? bytes - 1 : MOST_TURNED;
    if (check(watch, cudaMalloc((void **)&larger, bytes + again)) != 0) return -1;
    watch->own[index] = own;
    watch->larger[index] = larger;
    watch->places[index] = again / wire->turn;
    watch->turns = 1;
    if (check(watch, cudaMemcpy(larger, own, bytes, cudaMemcpyDeviceToDevice)) != 0) return -1;
    return check(watch, cudaMemcpy(larger + bytes, own, again, cudaMemcpyDeviceToDevice));
}

/* The input's numbers, made anew with @p with; 0: as they are. In the stream, behind the calls that read the last ones. */
static int put_numbers(struct stopwatch *watch, unsigned index, uint64_t with)
{
    static int32_t number[MOST_NUMBERS];
    const struct wire_buffer *wire = &watch->run->item->buffer[index];
    const size_t count = numbers_of(watch->run, index);
    memcpy(number, (const unsigned char *)watch->run->image + wire->contents, count * sizeof *number);
    for (size_t at = 0; at < count; at++) number[at] = wire_other_number(number[at], at, with, wire->below);
    watch->turned[index] = with;
    return check(watch, cudaMemcpyAsync(watch->run->buffer[0][index].start, number, count * sizeof *number,
                                        cudaMemcpyHostToDevice, watch->run->stream[0]));
}

/* The next call gets its inputs rotated, or in the same larger buffers as they are. */
static int turn_inputs(struct stopwatch *watch, int turned)
{
    uint32_t random[WIRE_BUFFERS];
    draw(random, sizeof random);
    for (unsigned i = 0; i < watch->run->item->buffer_count; i++) {
        if (numbers_of(watch->run, i) > 0 && put_numbers(watch, i, turned ? 1u + random[i] / 2 : 0) != 0)
            return -1;
        if (watch->larger[i] == NULL) continue;
        watch->turned[i] = turned ? (1 + random[i] % watch->places[i]) * watch->run->item->buffer[i].turn : 0;
        watch->run->buffer[0][i].start = watch->larger[i] + watch->turned[i];
    }
    return 0;
}

static int one_of_two(void)
{
    unsigned char random;
    draw(&random, sizeof random);
    return random & 1;
}

static int open_watch(struct stopwatch *watch)
{
    struct wire_case *item = watch->run->item;
    kernel_pointers(watch->run, 0, watch->pointers);
    if (prepare_outputs(watch->run, 0, 0, 1) != 0) return -1;
    for (unsigned i = 0; i < item->buffer_count; i++) {
        size_t bytes = watch->run->buffer[0][i].span;
        int poisoned = item->buffer[i].role != WIRE_WORKSPACE || item->poison_workspace;
        if (item->buffer[i].role == WIRE_IN || !poisoned || watch->pointers[i] == NULL) continue;
        if (check(watch, cudaMalloc(&watch->first[i], bytes)) != 0 ||
            check(watch, cudaMemcpy(watch->first[i], watch->pointers[i], bytes, cudaMemcpyDeviceToDevice)) !=
                0)
            return -1;
    }
    for (unsigned i = 0; i < item->buffer_count; i++)
        if (open_turning(watch, i) != 0) return -1;
    if (item->flush_bytes > 0 && check(watch, cudaMalloc(&watch->flush, item->flush_bytes)) != 0) return -1;
    for (unsigned i = 0; i < item->timed; i++)
        if (check(watch, cudaEventCreate(&watch->begin[i])) != 0 ||
            check(watch, cudaEventCreate(&watch->end[i])) != 0)
            return -1;
    return 0;
}

static void close_watch(struct stopwatch *watch)
{
    for (unsigned i = 0; i < WIRE_BUFFERS; i++) {
        cudaFree(watch->first[i]);
        cudaFree(watch->larger[i]);
        if (watch->larger[i] != NULL) watch->run->buffer[0][i].start = watch->own[i];
        if (i < watch->run->item->buffer_count && numbers_of(watch->run, i) > 0)
            (void)put_numbers(watch, i, 0);
    }
    cudaFree(watch->flush);
    for (unsigned i = 0; i < WIRE_SAMPLES; i++) {
        if (watch->begin[i] != NULL) cudaEventDestroy(watch->begin[i]);
        if (watch->end[i] != NULL) cudaEventDestroy(watch->end[i]);
    }
}

/* Poisons outputs and workspace, puts back what in-out buffers held at first, and empties L2 of what the kernel reads. */
static int before_call(struct stopwatch *watch)
{
    struct wire_case *item = watch->run->item;
    cudaStream_t stream = watch->run->stream[0];
    for (unsigned i = 0; i < item->buffer_count; i++) {
        if (watch->first[i] == NULL) continue;
        cudaError_t error = cudaMemcpyAsync(watch->pointers[i], watch->first[i],
                                            watch->run->buffer[0][i].span, cudaMemcpyDeviceToDevice, stream);
        if (check(watch, error) != 0) return -1;
    }
    if (watch->flush == NULL) return 0;
    return check(watch, cudaMemsetAsync(watch->flush, 0, item->flush_bytes, stream));
}

static int call_timed(struct stopwatch *watch)
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
 * stream does not hide from this. Inputs are as in the calls that are timed, so that these cannot be told apart. */
static int wall_time(struct stopwatch *watch)
{
    struct wire_result *result = &watch->run->item->result;
    for (int i = 0; i < WALL_CALLS; i++) {
        if (turn_inputs(watch, watch->turns) != 0 || before_call(watch) != 0 ||
            check(watch, cudaDeviceSynchronize()) != 0)
            return -1;
        double begin = now_us();
        if (call_timed(watch) != 0 || check(watch, cudaDeviceSynchronize()) != 0) return -1;
        float us = (float)(now_us() - begin);
        if (i == 0 || us < result->wall_us) result->wall_us = us;
    }
    return 0;
}

/* Where copy @p copy of what buffer @p index held lies in the image, behind its guard zone. */
static const void *contents_of(const struct device_case *run, unsigned index, int copy)
{
    return (const unsigned char *)run->image + run->item->buffer[index].copy[copy] + run->item->guard_bytes;
}

static int outputs_are_as_before(const struct device_case *run)
{
    for (unsigned i = 0; i < run->item->buffer_count; i++) {
        const struct wire_buffer *wire = &run->item->buffer[i];
        if ((wire->role != WIRE_OUT && wire->role != WIRE_INOUT) || wire->copy[2] == 0 || wire->null)
            continue;
        if (memcmp(contents_of(run, i, 0), contents_of(run, i, 2), wire->bytes) != 0) return 0;
    }
    return 1;
}

/* How long the rest of the device works on, now that the stream is done. */
static int wait_for_rest(struct stopwatch *watch)
{
    const double begin = now_us();
    if (check(watch, cudaDeviceSynchronize()) != 0) return -1;
    const double late = now_us() - begin;
    if (late > watch->late_us) watch->late_us = late;
    return 0;
}

/* Looks at what the call just made has left. Every second time it first waits for the rest of the device, which shows how long
 * that worked on; else work that is still under way on another stream is not waited for. Outputs that are not as they were stay
 * in copy 2, for the checker. */
static int audit(struct stopwatch *watch, unsigned number)
{
    if (check(watch, cudaStreamSynchronize(watch->run->stream[0])) != 0) return -1;
    if (number % 2 == 0 && wait_for_rest(watch) != 0) return -1;
    if (copy_back(watch->run, 0, WIRE_TIMED) != 0) return -1;
    watch->found_out = !outputs_are_as_before(watch->run);
    return 0;
}

/* Hands what the last call, of rotated inputs, has left to the checker. As in audit(), only some calls wait for the rest of the device. */
static int keep_for_checker(struct stopwatch *watch, int which)
{
    if (check(watch, cudaStreamSynchronize(watch->run->stream[0])) != 0) return -1;
    if (which == 0 && wait_for_rest(watch) != 0) return -1;
    memcpy(watch->run->item->result.turned[which], watch->turned, sizeof watch->turned);
    return copy_back(watch->run, 0, WIRE_TURNED + which);
}

static int sample(struct stopwatch *watch)
{
    unsigned audits = 0;
    struct wire_case *item = watch->run->item;
    cudaStream_t stream = watch->run->stream[0];
    for (unsigned i = 0; i < item->timed; i++) {
        const int turned = watch->turns && !watch->audited[i];
        if (turn_inputs(watch, turned) != 0 || before_call(watch) != 0 ||
            check(watch, cudaEventRecord(watch->begin[i], stream)) != 0)
            return -1;
        if (call_timed(watch) != 0 || check(watch, cudaEventRecord(watch->end[i], stream)) != 0) return -1;
        if (turned && watch->judged[i] && keep_for_checker(watch, watch->judged[i] - 1) != 0) return -1;
        if (!turned && watch->audited[i] && !watch->found_out && audit(watch, audits++) != 0) return -1;
    }
    watch->run->item->result.wall_us += (float)watch->late_us;
    if (check(watch, cudaDeviceSynchronize()) != 0) return -1;
    for (unsigned i = 0; i < item->timed; i++) {
        float ms = 0.0f;
        if (check(watch, cudaEventElapsedTime(&ms, watch->begin[i], watch->end[i])) != 0) return -1;
        if (watch->turns && watch->audited[i]) continue;
        item->result.sample_us[item->result.sample_count++] = ms * 1e3f;
    }
    return 0;
}

/* Calls that take long vary little: fewer are timed, but never so few that the median is a matter of chance. */
static void choose_count(struct stopwatch *watch)
{
    const double enough_us = 300e3, us = (double)watch->run->item->result.wall_us;
    uint32_t *timed = &watch->run->item->timed;
    while (*timed > LEAST_TIMED && us * (double)*timed > enough_us) --*timed;
    draw_audits(watch);
}

int time_case(struct device_case *run)
{
    static struct stopwatch watch;
    watch = (struct stopwatch){.run = run};
    if (run->item->timed > WIRE_SAMPLES) run->item->timed = WIRE_SAMPLES;
    int failed = open_watch(&watch) != 0;
    for (unsigned i = 0; i < run->item->warm_up && !failed; i++) {
        failed = turn_inputs(&watch, watch.turns && one_of_two()) != 0 || before_call(&watch) != 0 ||
                 call_timed(&watch) != 0;
    }
    failed = failed || wall_time(&watch) != 0;
    if (!failed) choose_count(&watch);
    failed = failed || sample(&watch) != 0;
    close_watch(&watch);
    return failed ? -1 : 0;
}
