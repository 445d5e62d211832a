/**
 * @file device.c
 * @brief What the answers of the device process are built on: messages, handles, data. Nothing in a question
 *        is trusted: lengths are those of what came, handles must have been given out and still be alive.
 */
#include "device.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "simt/findings.h"
#include "simt/runtime/graph.h"

enum { HANDLES = 8192, EXIT_PROTOCOL = 1, MOST_TOUCHED = 4096 };

/* ---- the end of the host process ------------------------------------------------------------------------ */

/* Ends as if there were one process: with the same signal, or the same exit code. */
static _Noreturn void end_like_host(void)
{
    int status = 0;
    fflush(NULL);
    if (waitpid(boundary_host, &status, 0) == boundary_host && WIFSIGNALED(status)) {
        signal(WTERMSIG(status), SIG_DFL);
        raise(WTERMSIG(status));
    }
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_PROTOCOL);
}

_Noreturn void device_refuse_message(const char *what)
{
    fprintf(stderr, "runner: the host process sent %s\n", what);
    close(boundary_socket); /* it ends with it */
    fflush(NULL);
    _exit(EXIT_PROTOCOL);
}

void device_send(const struct message *message)
{
    if (message_send(message) != 0) end_like_host();
}

/* What host code was caught doing. */
static void take_record(const struct message *message)
{
    struct record record;
    if (message->bytes != sizeof record) device_refuse_message("a record that is none");
    memcpy(&record, message->data, sizeof record);
    record.stamp = 0;
    if (!record_is_sound(&record)) device_refuse_message("a record that is none");
    struct record_memory *memory = &record.memory;
    if (memory->space == RECORD_SPACE_GLOBAL && memory->bytes > 0 && memory->bytes <= MOST_TOUCHED)
        simt_device_resolve((const void *)(uintptr_t)memory->address, memory->bytes,
                            memory); /* known here alone */
    simt_record_put(&record);
}

void device_receive(struct message *message)
{
    for (;;) {
        const int got = message_receive(message);
        if (got == 0) end_like_host();
        if (got < 0) device_refuse_message("a message that is none");
        if (message->kind != MESSAGE_RECORD) return;
        take_record(message);
    }
}

/* ---- handles ------------------------------------------------------------------------------------------- */

static struct handle {
    char kind;
    uint64_t value;
} handles[HANDLES];
static size_t handle_count;

static int is_alive(char kind, uint64_t value)
{
    void *object = (void *)(uintptr_t)value;
    switch (kind) {
    case 's':
        return stream_is_valid(object);
    case 'e':
        return object_exists(OBJECT_EVENT, object);
    case 'g':
        return object_exists(OBJECT_GRAPH, object);
    case 'x':
        return object_exists(OBJECT_EXECUTABLE, object);
    case 'c':
        return comm_is_valid(object);
    default:
        return kind == 'n';
    }
}

void device_forget_dead_handles(int nodes_too)
{
    size_t kept = 0;
    for (size_t i = 0; i < handle_count; i++)
        if (handles[i].kind == 'n' ? !nodes_too : is_alive(handles[i].kind, handles[i].value))
            handles[kept++] = handles[i];
    handle_count = kept;
}

static int was_given(char kind, uint64_t value)
{
    for (size_t i = handle_count; i-- > 0;)
        if (handles[i].value == value && handles[i].kind == kind) return 1;
    return 0;
}

void device_give_handle(char kind, uint64_t value)
{
    if (value == 0 || was_given(kind, value)) return;
    if (handle_count == HANDLES) device_forget_dead_handles(1);
    if (handle_count == HANDLES) device_refuse_message("a call that makes one object too many");
    handles[handle_count++] = (struct handle){kind, value};
}

int device_handle_is_good(char kind, uint64_t value)
{
    const uint64_t legacy = (uint64_t)(uintptr_t)cudaStreamLegacy;
    const uint64_t per_thread = (uint64_t)(uintptr_t)cudaStreamPerThread;
    if (kind == 's' && (value == 0 || value == legacy || value == per_thread)) return 1;
    return value != 0 && was_given(kind, value) && is_alive(kind, value);
}

/* ---- answers ------------------------------------------------------------------------------------------- */

_Alignas(16) struct message device_question;
static _Alignas(16) struct message answer;

void device_begin_answer(void)
{
    memset(&answer, 0, MESSAGE_SIZE(0)); /* not its data: nobody reads more than it says it has */
    answer.kind = MESSAGE_ANSWER;
}

void device_send_answer(void)
{
    device_send(&answer);
}

const void *device_data(size_t *at, size_t bytes)
{
    const size_t start = (*at + 15) / 16 * 16;
    if (start > device_question.bytes || bytes > device_question.bytes - start) return NULL;
    *at = start + bytes;
    return device_question.data + start;
}

void device_answer_with(const void *data, size_t bytes)
{
    const size_t at = (answer.bytes + 15u) / 16 * 16;
    if (at + bytes > MESSAGE_DATA) device_refuse_message("a question whose answer is too long");
    memset(answer.data + answer.bytes, 0, at - answer.bytes);
    memcpy(answer.data + at, data, bytes);
    answer.bytes = (uint32_t)(at + bytes);
}

void device_answer_word(unsigned index, uint64_t value)
{
    answer.word[index] = value;
}

size_t device_fetch(uint64_t address, void *to, size_t bytes)
{
    static _Alignas(16) struct message fetch, content;
    size_t done = 0;
    while (done < bytes) {
        const size_t piece = bytes - done < MESSAGE_DATA ? bytes - done : MESSAGE_DATA;
        fetch = (struct message){.kind = MESSAGE_FETCH, .word = {address + done, piece}};
        device_send(&fetch);
        device_receive(&content);
        if (content.kind != MESSAGE_CONTENT) device_refuse_message("no content");
        if (content.bytes != piece) break;
        memcpy((char *)to + done, content.data, piece);
        done += piece;
    }
    return done;
}

uint64_t device_last_error(cudaError_t error)
{
    return (uint64_t)(runtime_lost() != cudaSuccess ? runtime_lost() : runtime_result(error));
}
