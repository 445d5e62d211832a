/**
 * @file worker.c
 * @brief The process behind libwarpwise_simt.so: one lesson's kernels on the software device.
 *
 * It reads requests from one socket until the other end is closed. It is a process of its own because the software device
 * takes a whole process: it catches faults, switches stacks, and ends the program where a kernel would not end. What it
 * reports is written to standard error, which the library reads. One lesson is linked: kernels of
 * several have the same names.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "entry.h"
#include "machine.h"
#include "request.h"

/** Memory that both processes see. */
static struct {
    char *start;
    size_t bytes;
} memory;

static int see_memory(size_t bytes)
{
    if (bytes == memory.bytes) return 1;
    if (memory.start != NULL) munmap(memory.start, memory.bytes);
    memory.start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, REQUEST_MEMORY, 0);
    memory.bytes = bytes;
    return memory.start != MAP_FAILED;
}

static void set_pointer(struct request *request, const struct request_buffer *buffer, void *pointer)
{
    memcpy((char *)&request->args + buffer->pointer_at, &pointer, sizeof pointer);
}

/** Device memory for every buffer, with the inputs in it. An output that is no input stays uninitialized, so that a read
 *  of it is found. */
static int load_buffers(struct request *request, void *device[REQUEST_BUFFERS])
{
    for (int i = 0; i < request->buffer_count; i++) {
        const struct request_buffer *buffer = &request->buffer[i];
        if (cudaMalloc(&device[i], buffer->bytes) != cudaSuccess) return 0;
        if (buffer->in && cudaMemcpy(device[i], memory.start + buffer->at, buffer->bytes,
                                     cudaMemcpyHostToDevice) != cudaSuccess)
            return 0;
        set_pointer(request, buffer, device[i]);
    }
    return 1;
}

static int store_buffers(const struct request *request, void *device[REQUEST_BUFFERS])
{
    for (int i = 0; i < request->buffer_count; i++) {
        const struct request_buffer *buffer = &request->buffer[i];
        if (buffer->out && cudaMemcpy(memory.start + buffer->at, device[i], buffer->bytes,
                                      cudaMemcpyDeviceToHost) != cudaSuccess)
            return 0;
    }
    return 1;
}

static struct reply serve(struct request *request)
{
    struct reply reply = {KERNEL_CUDA_ERROR, 1, 0};
    void *device[REQUEST_BUFFERS] = {NULL};
    if (request->only_workspace)
        return (struct reply){KERNEL_OK, 0, lesson_entry.workspace_bytes(&request->args)};
    if (!see_memory(request->memory_bytes) || !load_buffers(request, device)) return reply;
    reply.status = lesson_entry.call(&request->args, request->dtype, NULL);
    if (reply.status == KERNEL_OK && (cudaDeviceSynchronize() != cudaSuccess || simt_finding_count() > 0 ||
                                      !store_buffers(request, device)))
        reply.status = KERNEL_CUDA_ERROR;
    for (int i = 0; i < request->buffer_count; i++) (void)cudaFree(device[i]);
    reply.is_last = reply.status == KERNEL_CUDA_ERROR || simt_finding_count() > 0;
    return reply;
}

int main(void)
{
    static struct request request;
    for (;;) {
        ssize_t bytes = recv(REQUEST_SOCKET, &request, sizeof request, MSG_WAITALL);
        if (bytes != (ssize_t)sizeof request) return 0;
        struct reply reply = serve(&request);
        fflush(stdout), fflush(stderr);
        if (send(REQUEST_SOCKET, &reply, sizeof reply, MSG_NOSIGNAL) < 0 || reply.is_last) return 0;
    }
}
