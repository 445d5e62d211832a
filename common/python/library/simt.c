/**
 * @file simt.c
 * @brief libwarpwise on the software device: sends each call to a process that has the device, and copies what it needs.
 *
 * There is a process per lesson, started at the first call that needs it, kept until this process ends, and replaced after
 * it met an error. Calls of several threads wait for each other.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "choice.h"
#include "request.h"

extern char **environ;

enum { REPORT_BYTES = 4096, PLACE_BYTES = 4096, ALIGNED = 256 };

/** One of the processes. */
struct worker {
    pid_t pid, parent; /**< pid 0: not running. A fork of the parent must not use it */
    int socket, memory, report;
    char *start; /**< of the memory that both see */
    size_t bytes;
};

static struct worker workers[LESSONS_END];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local char report[REPORT_BYTES];

/* ---- starting and ending ------------------------------------------------------------------------------------------- */

/** Full path of a lesson's program: it lies beside this library. */
static int find_program(int lesson, char path[PLACE_BYTES])
{
    Dl_info self;
    if (dladdr((const void *)workers, &self) == 0 || self.dli_fname == NULL) return 0;
    const char *slash = strrchr(self.dli_fname, '/');
    int folder = slash != NULL ? (int)(slash - self.dli_fname) : 1;
    return snprintf(path, PLACE_BYTES, "%.*s/warpwise_worker_%02d", folder,
                    slash != NULL ? self.dli_fname : ".", lesson) < PLACE_BYTES;
}

static void close_worker(struct worker *worker)
{
    if (worker->start != NULL) munmap(worker->start, worker->bytes);
    if (worker->socket > 0) close(worker->socket);
    if (worker->memory > 0) close(worker->memory);
    if (worker->report > 0) close(worker->report);
    if (worker->pid > 0 && worker->parent == getpid()) (void)waitpid(worker->pid, NULL, 0);
    memset(worker, 0, sizeof *worker);
}

/** Starts @p program with descriptors of its own: socket, memory, and standard error where this process can read it. */
static int spawn(struct worker *worker, const char *program, int theirs)
{
    char *arguments[] = {(char *)(size_t)program, NULL};
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions) != 0) return ENOMEM;
    int error = posix_spawn_file_actions_adddup2(&actions, theirs, REQUEST_SOCKET);
    if (error == 0) error = posix_spawn_file_actions_adddup2(&actions, worker->memory, REQUEST_MEMORY);
    if (error == 0) error = posix_spawn_file_actions_adddup2(&actions, worker->report, STDERR_FILENO);
    if (error == 0) error = posix_spawn(&worker->pid, program, &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

/** @p descriptor as one that is none of those the process finds open, closed in all programs that are started. */
static int moved_up(int descriptor)
{
    int moved = descriptor < 0 ? -1 : fcntl(descriptor, F_DUPFD_CLOEXEC, 16);
    if (descriptor >= 0) close(descriptor);
    return moved;
}

static int start_worker(int lesson)
{
    struct worker *worker = &workers[lesson];
    char program[PLACE_BYTES];
    int ends[2];
    if (!find_program(lesson, program)) return 0;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return 0;
    int theirs = moved_up(ends[1]);
    worker->socket = moved_up(ends[0]);
    worker->memory = moved_up(memfd_create("warpwise", MFD_CLOEXEC));
    worker->report = moved_up(memfd_create("warpwise report", MFD_CLOEXEC));
    worker->parent = getpid();
    int error = theirs < 0 || worker->socket < 0 || worker->memory < 0 || worker->report < 0
                    ? errno
                    : spawn(worker, program, theirs);
    if (theirs >= 0) close(theirs);
    if (error != 0) {
        snprintf(report, sizeof report, "cannot start %.3000s: %s", program, strerror(error));
        worker->pid = 0;
        close_worker(worker);
    }
    return error == 0;
}

/** A child made by fork() has its parent's memory, but must not talk to its parent's processes. */
static int worker_is_ready(int lesson)
{
    if (workers[lesson].pid > 0 && workers[lesson].parent != getpid()) close_worker(&workers[lesson]);
    return workers[lesson].pid > 0 || start_worker(lesson);
}

__attribute__((destructor)) static void close_workers(void)
{
    for (int i = 0; i < LESSONS_END; i++)
        if (workers[i].pid > 0) close_worker(&workers[i]);
}

/* ---- a request ------------------------------------------------------------------------------------------------------ */

/** Adds the buffer whose pointer stands @p pointer_at bytes into the arguments; a null pointer stays one. */
static void add_buffer(struct request *request, size_t pointer_at, size_t bytes, int in, int out)
{
    const void *pointer;
    memcpy(&pointer, (const char *)&request->args + pointer_at, sizeof pointer);
    if (pointer == NULL || bytes == 0) {
        memset((char *)&request->args + pointer_at, 0, sizeof pointer);
        return;
    }
    struct request_buffer *buffer = &request->buffer[request->buffer_count++];
    *buffer = (struct request_buffer){pointer_at, bytes, request->memory_bytes, in, out};
    request->memory_bytes += (bytes + ALIGNED - 1) / ALIGNED * ALIGNED;
}

static int grow_memory(struct worker *worker, size_t bytes)
{
    if (bytes <= worker->bytes) return 1;
    if (worker->start != NULL) munmap(worker->start, worker->bytes);
    worker->start = NULL;
    if (ftruncate(worker->memory, (off_t)bytes) != 0) return 0;
    void *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, worker->memory, 0);
    if (start == MAP_FAILED) return 0;
    worker->start = start;
    worker->bytes = bytes;
    return 1;
}

static void *pointer_of(const struct request *request, int i)
{
    void *pointer;
    memcpy(&pointer, (const char *)&request->args + request->buffer[i].pointer_at, sizeof pointer);
    return pointer;
}

/** What the process has written to its standard error. */
static void read_report(const struct worker *worker)
{
    ssize_t bytes = pread(worker->report, report, sizeof report - 1, 0);
    report[bytes > 0 ? bytes : 0] = '\0';
}

static struct reply exchange(struct worker *worker, struct request *request)
{
    struct reply reply = {KERNEL_CUDA_ERROR, 1, 0};
    if (!grow_memory(worker, request->memory_bytes)) {
        snprintf(report, sizeof report, "no memory for %zu bytes", request->memory_bytes);
        return reply;
    }
    request->memory_bytes = worker->bytes;
    for (int i = 0; i < request->buffer_count; i++)
        if (request->buffer[i].in)
            memcpy(worker->start + request->buffer[i].at, pointer_of(request, i), request->buffer[i].bytes);
    if (send(worker->socket, request, sizeof *request, MSG_NOSIGNAL) != (ssize_t)sizeof *request ||
        recv(worker->socket, &reply, sizeof reply, MSG_WAITALL) != (ssize_t)sizeof reply)
        reply = (struct reply){KERNEL_CUDA_ERROR, 1, 0};
    if (reply.status == KERNEL_OK)
        for (int i = 0; i < request->buffer_count; i++)
            if (request->buffer[i].out)
                memcpy(pointer_of(request, i), worker->start + request->buffer[i].at,
                       request->buffer[i].bytes);
    if (reply.is_last) read_report(worker);
    return reply;
}

static struct reply ask(int lesson, struct request *request)
{
    struct reply reply = {KERNEL_CUDA_ERROR, 0, 0};
    report[0] = '\0';
    pthread_mutex_lock(&lock);
    if (worker_is_ready(lesson)) {
        reply = exchange(&workers[lesson], request);
        if (reply.is_last) close_worker(&workers[lesson]);
    }
    pthread_mutex_unlock(&lock);
    return reply;
}

/* ---- the functions -------------------------------------------------------------------------------------------------- */

/** Elements of a tensor [batch, heads, rows, head_dim], times the bytes of one. Checked before: they fit. */
static size_t tensor_bytes(int batch, int heads, int rows, int width, size_t element_bytes)
{
    return (size_t)batch * (size_t)heads * (size_t)rows * (size_t)width * element_bytes;
}

enum kernel_status warpwise_attention(const struct attention_args *args, void *stream)
{
    (void)stream;
    enum kernel_status status = attention_args_check(args, 16, 0);
    if (status != KERNEL_OK) return status;
    struct request request = {.dtype = args->dtype, .args.attention = *args};
    size_t q = tensor_bytes(args->batch, args->heads, args->q_len, args->head_dim, dtype_bytes(args->dtype));
    size_t k =
        tensor_bytes(args->batch, args->kv_heads, args->kv_len, args->head_dim, dtype_bytes(args->dtype));
    request.args.attention.workspace = NULL;
    add_buffer(&request, offsetof(struct attention_args, q), q, 1, 0);
    add_buffer(&request, offsetof(struct attention_args, k), k, 1, 0);
    add_buffer(&request, offsetof(struct attention_args, v), k, 1, 0);
    add_buffer(&request, offsetof(struct attention_args, out), q, 0, 1);
    add_buffer(&request, offsetof(struct attention_args, lse),
               tensor_bytes(args->batch, args->heads, args->q_len, 1, sizeof(float)), 0, 1);
    return ask(attention_lesson(args), &request).status;
}

size_t warpwise_attention_backward_workspace_bytes(const struct attention_backward_args *args)
{
    if (args == NULL) return 0;
    struct request request = {.only_workspace = 1, .args.backward = *args};
    return ask(BACKWARD_LESSON, &request).size;
}

enum kernel_status warpwise_attention_backward(const struct attention_backward_args *args, void *stream)
{
    (void)stream;
    enum kernel_status status = attention_backward_args_check(args, 16, 0);
    if (status != KERNEL_OK) return status;
    struct request request = {.dtype = args->dtype, .args.backward = *args};
    size_t q = tensor_bytes(args->batch, args->heads, args->q_len, args->head_dim, dtype_bytes(args->dtype));
    size_t k =
        tensor_bytes(args->batch, args->kv_heads, args->kv_len, args->head_dim, dtype_bytes(args->dtype));
    add_buffer(&request, offsetof(struct attention_backward_args, q), q, 1, 0);
    add_buffer(&request, offsetof(struct attention_backward_args, k), k, 1, 0);
    add_buffer(&request, offsetof(struct attention_backward_args, v), k, 1, 0);
    add_buffer(&request, offsetof(struct attention_backward_args, out), q, 1, 0);
    add_buffer(&request, offsetof(struct attention_backward_args, dout), q, 1, 0);
    add_buffer(&request, offsetof(struct attention_backward_args, lse),
               tensor_bytes(args->batch, args->heads, args->q_len, 1, sizeof(float)), 1, 0);
    add_buffer(&request, offsetof(struct attention_backward_args, dq), q, 0, 1);
    add_buffer(&request, offsetof(struct attention_backward_args, dk), k, 0, 1);
    add_buffer(&request, offsetof(struct attention_backward_args, dv), k, 0, 1);
    add_buffer(&request, offsetof(struct attention_backward_args, workspace), args->workspace_bytes, 0, 0);
    return ask(BACKWARD_LESSON, &request).status;
}

/** Bytes from the first element of a matrix to the end of its last. */
static size_t matrix_bytes(int rows, int columns, int leading, size_t element_bytes)
{
    if (rows == 0 || columns == 0) return element_bytes; /* none is looked at, but the pointer is not NULL */
    return ((size_t)(rows - 1) * (size_t)leading + (size_t)columns) * element_bytes;
}

enum kernel_status warpwise_gemm(const struct gemm_args *args, enum warpwise_precision precision,
                                 void *stream)
{
    (void)stream;
    int lesson = gemm_lesson(precision);
    enum kernel_status status = gemm_args_check(args, 0);
    if (status != KERNEL_OK) return status;
    if (lesson == 0) return KERNEL_INVALID_CONFIG;
    struct request request = {.dtype = args->dtype_in, .args.gemm = *args};
    size_t in = dtype_bytes(args->dtype_in), out = dtype_bytes(args->dtype_out);
    int m = args->m, n = args->n, k = args->k;
    request.args.gemm.workspace = NULL;
    add_buffer(&request, offsetof(struct gemm_args, a),
               args->trans_a ? matrix_bytes(k, m, args->lda, in) : matrix_bytes(m, k, args->lda, in), 1, 0);
    add_buffer(&request, offsetof(struct gemm_args, b),
               args->trans_b ? matrix_bytes(n, k, args->ldb, in) : matrix_bytes(k, n, args->ldb, in), 1, 0);
    /* What lies between the rows of C comes back as it went. */
    add_buffer(&request, offsetof(struct gemm_args, c), matrix_bytes(m, n, args->ldc, out), 1, 1);
    return ask(lesson, &request).status;
}

const char *warpwise_device(void)
{
    return "simt";
}

const char *warpwise_status_name(enum kernel_status status)
{
    return kernel_status_name(status);
}

const char *warpwise_report(void)
{
    return report;
}
