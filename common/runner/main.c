/**
 * @file main.c
 * @brief The runner: the student's kernel and what it takes to call it. It knows no right answer.
 *
 *     runner --session IMAGE CONTROL REPLY     started by the checker with three inherited descriptors
 *     runner --locked-session ...              the same for an untrusted kernel: it starts no more programs
 *     runner --case-file FILE                  one case saved by `checker --save-case`, for a debugger or
 *     profiler
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image_view.h"
#include "lock.h"
#include "protocol/status_file.h"
#include "records.h"
#include "run_case.h"
#include "runner.h"
#include "simt_only.h"

enum { EXIT_USAGE = 2, EXIT_NO_DEVICE = 77 };

/* Only the software device has it: starts what later looks up lines of the source. */
extern void simt_lines_prepare(void) __attribute__((weak));

extern void simt_watch(double seconds) __attribute__((weak));
extern void simt_seal_settings(void) __attribute__((weak));

/* Only a graded runner of the software device has it (boundary/boundary.h): host code then runs in a process of its own. */
extern int boundary_open(void) __attribute__((weak));
extern void boundary_watch(double seconds) __attribute__((weak));

/* Opens the device and tells the image about it; 0 if there is one. */
static int open_device(struct wire_header *image)
{
    int count = 0;
    struct cudaDeviceProp properties;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error == cudaSuccess && count == 0) error = cudaErrorNoDevice;
    if (error == cudaSuccess && image->sleeps) error = cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync);
    if (error == cudaSuccess) error = cudaSetDevice(0);
    if (error == cudaSuccess) error = cudaFree(NULL);
    if (error == cudaSuccess) error = cudaGetDeviceProperties(&properties, 0);
    if (error != cudaSuccess) {
        image->no_device = 1;
        snprintf(image->device, sizeof image->device, "%s", cudaGetErrorString(error));
        return -1;
    }
    const char *lacks = lesson_lacks == NULL ? NULL : lesson_lacks();
    if (lacks != NULL) {
        image->no_device = 1;
        snprintf(image->device, sizeof image->device, "%s", lacks);
        return -1;
    }
    image->l2_bytes = (uint64_t)properties.l2CacheSize;
    image->multiprocessors = (uint32_t)properties.multiProcessorCount;
    image->threads_per_sm = (uint32_t)properties.maxThreadsPerMultiProcessor;
    image->compute_capability = (uint32_t)(10 * properties.major + properties.minor);
    snprintf(image->device, sizeof image->device, "%.*s", (int)sizeof image->device - 1, properties.name);
    return 0;
}

/* As on the software device: what kernels take with malloc() outlives a launch, and is no place for a result. */
static void limit_heap(void)
{
    cudaDeviceSetLimit(cudaLimitMallocHeapSize, WIRE_OWN_BYTES);
    cudaGetLastError(); /* a device that refuses keeps its size */
}

/* What a driver puts off until it is asked for, it is asked for now: memory, a stream, an event, a launch of
 * its own. A locked runner could not make the first of each. */
static void warm_up_driver(void)
{
    void *memory = NULL, *pinned = NULL;
    cudaStream_t stream = NULL;
    cudaEvent_t event = NULL;
    if (cudaMalloc(&memory, 1 << 16) == cudaSuccess && cudaMallocHost(&pinned, 1 << 16) == cudaSuccess &&
        cudaStreamCreate(&stream) == cudaSuccess && cudaEventCreate(&event) == cudaSuccess) {
        cudaMemsetAsync(memory, 1, 1 << 16, stream);
        cudaMemcpyAsync(pinned, memory, 1 << 16, cudaMemcpyDeviceToHost, stream);
        cudaEventRecord(event, stream);
        cudaStreamSynchronize(stream);
    }
    if (event != NULL) cudaEventDestroy(event);
    if (stream != NULL) cudaStreamDestroy(stream);
    if (pinned != NULL) cudaFreeHost(pinned);
    if (memory != NULL) cudaFree(memory);
    cudaGetLastError(); /* what failed here fails again where it is reported */
}

static struct wire_header *map_image(int descriptor, int flags)
{
    struct stat info;
    if (fstat(descriptor, &info) != 0 || (size_t)info.st_size < sizeof(struct wire_header)) return NULL;
    struct wire_header *image =
        mmap(NULL, (size_t)info.st_size, PROT_READ | PROT_WRITE, flags, descriptor, 0);
    if (image == MAP_FAILED) return NULL;
    return image->magic == WIRE_MAGIC && image->image_bytes == (uint64_t)info.st_size ? image : NULL;
}

static int receive(int descriptor, struct wire_message *message)
{
    ssize_t got;
    do got = read(descriptor, message, sizeof *message);
    while (got < 0 && errno == EINTR);
    return got == (ssize_t)sizeof *message ? 0 : -1;
}

static int reply(int descriptor, uint32_t kind, uint32_t index)
{
    struct wire_message message = {kind, index};
    return write(descriptor, &message, sizeof message) == (ssize_t)sizeof message ? 0 : -1;
}

/** Of this session: the pipes, and the case that runs. */
static struct {
    int control, replies;
    uint32_t index;
} turn_line;

static void take_turn(int begins)
{
    struct wire_message message = {0};
    (void)reply(turn_line.replies, begins ? WIRE_WAITS : WIRE_TURN_OVER, turn_line.index);
    while (begins && message.kind != WIRE_TURN && receive(turn_line.control, &message) == 0) continue;
}

static void watch(double seconds)
{
    if (boundary_watch != NULL && seconds > 0.0) boundary_watch(seconds);
    if (simt_watch != NULL) simt_watch(seconds);
}

static int session(int image_descriptor, int control, int replies, int locked)
{
    if (boundary_open != NULL && boundary_open() != 0)
        return EXIT_USAGE; /* before there is anything to see */
    struct wire_header *image = map_image(image_descriptor, MAP_SHARED);
    if (image == NULL) return EXIT_USAGE;
    if (records_open(image, image_descriptor) != 0) return EXIT_USAGE;
    int gpu = simt_lines_prepare == NULL;
    if (locked && !gpu) simt_lines_prepare();
    int failed = open_device(image) != 0;
    if (locked && gpu && !failed) limit_heap();
    if (locked && gpu && !failed) warm_up_driver();
    if (locked && gpu && !failed && lesson_warm_up != NULL) lesson_warm_up();
    if (locked) lock_runner(gpu);
    if (!locked) keep_small_buffers();
    if (boundary_open != NULL && simt_seal_settings != NULL) simt_seal_settings();
    if (reply(replies, WIRE_READY, 0) != 0) return EXIT_USAGE;
    if (failed) return EXIT_NO_DEVICE;
    struct wire_message message;
    while (receive(control, &message) == 0 && message.kind == WIRE_RUN && message.index < image->case_count) {
        struct wire_case *item = wire_case_at(image, message.index);
        if (locked) image_view_open(image, message.index);
        records_belong_to(message.index);
        watch(item->patience);
        turn_line.control = control, turn_line.replies = replies, turn_line.index = message.index;
        run_case(image, item, take_turn);
        watch(0.0);
        fflush(NULL); /* so that what the kernel printed comes before the reply */
        if (reply(replies, WIRE_DONE, message.index) != 0) return EXIT_USAGE;
    }
    return 0;
}

static void leave_status(int32_t status)
{
    const char *path = getenv(STATUS_FILE);
    FILE *file = path != NULL ? fopen(path, "we") : NULL;
    if (file == NULL) return;
    fprintf(file, "%d\n", (int)status);
    fclose(file);
}

static int by_hand(const char *path)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    struct wire_header *image = descriptor < 0 ? NULL : map_image(descriptor, MAP_PRIVATE);
    if (image == NULL) {
        fprintf(stderr, "runner: %s: not a case saved by this version of the checker\n", path);
        return EXIT_USAGE;
    }
    if (open_device(image) != 0) {
        fprintf(stderr, "runner: no device: %s\n", image->device);
        return EXIT_NO_DEVICE;
    }
    for (uint32_t i = 0; i < image->case_count; i++) {
        struct wire_case *item = wire_case_at(image, i);
        run_case(image, item, take_turn);
        printf("runner: status %s%s%s\n", kernel_status_name((enum kernel_status)item->result.status[0]),
               item->result.cuda_error ? ", CUDA: " : "", item->result.cuda_message);
        leave_status(item->result.status[0]);
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (simt_report_all != NULL) simt_report_all(); /* by the letter */
    if (simt_trust_allocations != NULL) simt_trust_allocations();
    int locked = argc == 5 && strcmp(argv[1], "--locked-session") == 0;
    if (argc == 5 && (locked || strcmp(argv[1], "--session") == 0))
        return session(atoi(argv[2]), atoi(argv[3]), atoi(argv[4]), locked);
    if (argc == 3 && strcmp(argv[1], "--case-file") == 0)
        return boundary_open != NULL && boundary_open() != 0 ? EXIT_USAGE : by_hand(argv[2]);
    fprintf(stderr, "usage: %s --case-file FILE\n", argv[0]);
    return EXIT_USAGE;
}
