/**
 * @file fake_runner.c
 * @brief A runner with no kernel in it that misbehaves as the environment variable SIMT_FAKE says.
 *
 * It knows how to merge softmax pairs (lesson 03, part "merge"), so that "good" passes; every other behaviour
 * does one thing wrong. tests/unit/checker_child.c holds what the checker must make of it.
 */
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "contracts/kernel_status.h"
#include "protocol/wire.h"

static int is(const char *behaviour)
{
    const char *asked = getenv("SIMT_FAKE");
    return asked != NULL && strcmp(asked, behaviour) == 0;
}

/* 1 for the first of the runners that ask: it leaves a file behind. */
static int first_time(void)
{
    const char *mark = getenv("SIMT_FAKE_MARK");
    int file = mark != NULL ? open(mark, O_CREAT | O_EXCL | O_WRONLY, 0600) : -1;
    if (file >= 0) close(file);
    return file >= 0;
}

static unsigned char *at(struct wire_header *image, uint64_t offset)
{
    return (unsigned char *)image + offset;
}

static void put_guards(const struct wire_case *item, unsigned index, unsigned char *zone)
{
    const struct wire_buffer *buffer = &item->buffer[index];
    for (uint64_t i = 0; i < item->guard_bytes; i++) {
        zone[i] = wire_guard_byte(item->guard_seed, 2 * index, i);
        zone[item->guard_bytes + buffer->bytes + i] = wire_guard_byte(item->guard_seed, 2 * index + 1, i);
    }
}

static void merge(const float *a, const float *b, float *out)
{
    out[0] = fmaxf(a[0], b[0]);
    out[1] = out[0] == -INFINITY ? 0.0f : a[1] * expf(a[0] - out[0]) + b[1] * expf(b[0] - out[0]);
    if (out[0] == INFINITY || isnan(a[0]) || isnan(a[1]) || isnan(b[0]) || isnan(b[1])) out[1] = NAN;
}

/* Contents of the output buffer after run `run`. */
static void fill_output(struct wire_header *image, struct wire_case *item, int run, float *out)
{
    run %= 2; /* the timing loop works on what run 0 had */
    const float *a = (const void *)at(image, item->buffer[0].contents);
    const float *b = (const void *)at(image, item->buffer[1].contents);
    size_t pairs = item->buffer[2].bytes / (2 * sizeof(float));
    for (size_t i = 0; i < pairs; i++) {
        merge(a + 2 * i, b + 2 * i, out + 2 * i);
        if (is("nan")) out[2 * i + 1] = NAN;
        if (is("zeros")) out[2 * i] = out[2 * i + 1] = 0.0f;
        if (is("copy")) memcpy(out + 2 * i, a + 2 * i, 2 * sizeof *out);
        if (is("random") && run == 1) out[2 * i + 1] *= 1.0000002f;
        if (is("unwritten") && i % 2 == 1) {
            memcpy(out + 2 * i, &item->buffer[2].poison[run], sizeof *out);
            memcpy(out + 2 * i + 1, &item->buffer[2].poison[run], sizeof *out);
        }
    }
}

static void put_poison(const struct wire_case *item, int run, float *out)
{
    for (size_t i = 0; i < item->buffer[2].bytes / sizeof(float); i++)
        memcpy(out + i, &item->buffer[2].poison[run], sizeof *out);
}

static int copies_of(const struct wire_case *item, unsigned b)
{
    return item->buffer[b].role == WIRE_IN ? 1 : item->timed > 0 ? 3 : 2;
}

/* Samples as a timing loop would leave them. */
static void claim_times(struct wire_case *item)
{
    item->result.sample_count = item->timed;
    for (uint32_t i = 0; i < item->timed; i++)
        item->result.sample_us[i] = is("no_time") ? 0.0f : 10.0f + (float)i;
    item->result.wall_us = is("late_work") ? 9e6f : 80.0f;
    item->result.launches = 1;
    item->result.kernel_count = is("many_kernels") ? 0xFFFFFFFFu : 1;
    item->result.kernel[0] =
        (struct wire_kernel){.grid = {4, 1, 1}, .block = {256, 1, 1}, .blocks_per_sm = 6};
}

static void answer(struct wire_header *image, struct wire_case *item)
{
    int refused = item->value[0] < 1;
    for (unsigned b = 0; b < item->buffer_count; b++)
        for (int run = 0; run < copies_of(item, b); run++) {
            unsigned char *zone = at(image, item->buffer[b].copy[run]), *contents = zone + item->guard_bytes;
            put_guards(item, b, zone);
            if (item->buffer[b].role == WIRE_IN) {
                memcpy(contents, at(image, item->buffer[b].contents), item->buffer[b].bytes);
            } else if (refused && !is("refused_but_written")) {
                put_poison(item, run, (float *)(void *)contents);
            } else {
                fill_output(image, item, run, (float *)(void *)contents);
            }
            if (is("timed_other") && run == 2) contents[3] ^= 1;
            if (is("guard") && b == 2) contents[item->buffer[b].bytes + 12] ^= 1;
            if (is("guard_before") && b == 2) contents[-8] ^= 1;
        }
    claim_times(item);
    if (is("input")) *at(image, item->buffer[1].copy[0] + item->guard_bytes + 4) ^= 1;
    if (is("input_in_image")) *at(image, item->buffer[0].contents + 4) ^= 64;
    for (int run = 0; run < 2; run++) {
        item->result.status[run] = refused ? KERNEL_INVALID_DIMENSION : KERNEL_OK;
        if (is("not_started")) item->result.status[run] = KERNEL_NOT_STARTED;
        if (is("wrong_status")) item->result.status[run] = KERNEL_INVALID_CONFIG;
    }
    if (is("cuda_error")) {
        item->result.cuda_error = 700;
        memset(item->result.cuda_message, '\t', sizeof item->result.cuda_message);
    }
    if (is("setup")) item->result.cuda_error = item->result.setup_failed = 2;
    if (is("findings_counted")) item->result.findings = 1;
    if (is("samples")) item->result.sample_count = 0xFFFFFFFFu;
    if (!is("no_stamp")) memcpy(item->result.stamp, item->nonce, sizeof item->nonce);
    if (is("wrong_nonce")) item->result.stamp[1] ^= 1;
}

/* What a device would have found, sound or not. */
static void put_records(struct wire_header *image)
{
    struct wire_records *records = (struct wire_records *)(void *)at(image, image->records);
    struct record r = {
        .version = RECORD_VERSION, .origin = RECORD_DEVICE, .kind = RECORD_SHARED_RACE, .seen = 1};
    r.memory = (struct record_memory){.space = RECORD_SPACE_LOCAL};
    snprintf(r.kernel, sizeof r.kernel, "fake_kernel");
    if (is("record_of_no_kind")) r.kind = RECORD_KIND_COUNT;
    if (is("record_with_escape")) r.kernel[3] = '\033';
    r.stamp = !is("record_incomplete");
    for (uint32_t i = 0; i < WIRE_RECORDS; i++) records->record[i] = r;
    records->count = is("records_too_many") ? 0xFFFFFFFFu : 2;
}

/* Behaviour that has nothing to do with the answer. */
static void misbehave(struct wire_header *image, int image_descriptor, int replies)
{
    const char *behaviour = getenv("SIMT_FAKE");
    if (behaviour != NULL && strncmp(behaviour, "record", 6) == 0) put_records(image);
    if (is("exit0")) exit(0);
    if (is("exit77")) exit(77);
    if (is("underscore_exit")) _exit(0);
    if (is("crash")) raise(SIGSEGV);
    if (is("killed_always") || (is("killed_once") && first_time())) raise(SIGKILL);
    if (is("endless")) {
        fputs("simt: endless: a block has not ended in kernel fake\n", stderr);
        _exit(87);
    }
    if (is("abort")) abort();
    if (is("hang"))
        for (;;) pause();
    if (is("spin"))
        for (volatile int i = 0;; i++) continue;
    if (is("prints") || is("prints_and_crashes"))
        printf("PASS\n<CTestMeasurement type=\"numeric/double\" name=\"x\">1</CTestMeasurement>\n\033[2J");
    if (is("prints_and_crashes")) {
        fflush(stdout);
        abort();
    }
    if (is("finding") || is("finding_said"))
        fprintf(stderr, "simt: out-of-bounds: out[7] (4 bytes)\n  write at kernel.cu:3\n");
    if (is("close")) close(replies);
    if (is("flood"))
        for (int i = 0; i < 1000000; i++) printf("%d flooding the pipe with lines\n", i);
    if (is("kill_parent")) kill(getppid(), SIGKILL);
    if (is("kill_group")) kill(0, SIGKILL);
    if (is("shrink") && ftruncate(image_descriptor, 0) == 0) _exit(3);
    if (is("daemon") && fork() == 0) {
        setsid();
        for (;;) pause();
    }
    if (is("early_reply")) {
        struct wire_message message = {WIRE_DONE, 0};
        if (write(replies, &message, sizeof message) < 0) _exit(4);
        _exit(0);
    }
    if (is("memory"))
        for (;;) memset(malloc(1 << 26), 1, 1 << 26);
}

__attribute__((constructor)) static void before_main(void)
{
    if (is("constructor")) _exit(0);
    if (is("hang_at_start"))
        for (;;) pause();
}

int main(int argc, char **argv)
{
    if (argc != 5) return 2;
    int image_descriptor = atoi(argv[2]), control = atoi(argv[3]), replies = atoi(argv[4]);
    struct stat info;
    if (fstat(image_descriptor, &info) != 0) return 2;
    struct wire_header *image =
        mmap(NULL, (size_t)info.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, image_descriptor, 0);
    if (image == MAP_FAILED || image->magic != WIRE_MAGIC) return 2;
    snprintf(image->device, sizeof image->device, "no device at all");
    image->threads_per_sm = 2048;
    if (is("no_device")) image->no_device = 1;
    struct wire_message message = {WIRE_READY, 0};
    if (write(replies, &message, sizeof message) < 0) return 2;
    while (read(control, &message, sizeof message) == (ssize_t)sizeof message) {
        misbehave(image, image_descriptor, replies);
        while (is("endless_merge") && wire_case_at(image, message.index)->part == 0) pause();
        answer(image, wire_case_at(image, message.index));
        fflush(NULL);
        message.kind = WIRE_DONE;
        if (write(replies, &message, sizeof message) < 0) return 2;
    }
    if (is("finding") || is("finding_at_end")) return 86;
    return 0;
}
