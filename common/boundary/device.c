/**
 * @file device.c
 * @brief The device process: sends entry points over, and answers what they ask of CUDA. Nothing in a question is believed:
 *        lengths are those of what came, handles must have been given out and still be alive, kernels must be kernels.
 */
#include "device.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nccl.h>

#include "boundary.h"
#include "simt/findings.h"
#include "simt/runtime/graph.h"

enum {
    HANDLES = 8192,
    OUTPUT_BYTES = 2048,
    ARGUMENTS = 7,
    EXIT_PROTOCOL = 1,
    FINDINGS = 64,
    MOST_TOUCHED = 4096
};
_Static_assert(sizeof(struct cudaDeviceProp) <= OUTPUT_BYTES, "an output has room for every kind");

/* ---- the end of the host process ------------------------------------------------------------------------ */

/* It is told as if there were one process: the same signal, or the same exit code. */
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

static void send_or_end(const struct message *message)
{
    if (message_send(message) != 0) end_like_host();
}

/* What host code was found doing. */
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

static void receive_or_end(struct message *message)
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
        return event_is_valid(object);
    case 'g':
        return graph_is_valid(object);
    case 'x':
        return executable_is_valid(object);
    case 'c':
        return comm_is_valid(object);
    default:
        return kind == 'n';
    }
}

/* What exists no longer makes room. Nodes go with their graph, of which nobody tells: with any graph. */
static void forget_dead_handles(int nodes_too)
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
    if (handle_count == HANDLES) forget_dead_handles(1);
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
        send_or_end(&fetch);
        receive_or_end(&content);
        if (content.kind != MESSAGE_CONTENT) device_refuse_message("no content");
        if (content.bytes != piece) break;
        memcpy((char *)to + done, content.data, piece);
        done += piece;
    }
    return done;
}

#define LISTED(name, kinds) [CALL_##name] = {(listed_call)(void (*)(void))name, kinds},
typedef uint64_t (*listed_call)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
static const struct {
    listed_call function;
    const char *kinds;
} listed[CALL_COUNT] = {BOUNDARY_CALLS(LISTED)};

static int is_output(char kind)
{
    return boundary_output_bytes(kind) > 0;
}

uint64_t device_last_error(cudaError_t error)
{
    return (uint64_t)(runtime_lost() != cudaSuccess ? runtime_lost() : runtime_result(error));
}

/* The error that a wrong handle or kernel gives, as CUDA has it. */
static cudaError_t check_argument(char kind, uint64_t value)
{
    switch (kind) {
    case 's':
    case 'e':
        return device_handle_is_good(kind, value) ? cudaSuccess : cudaErrorInvalidResourceHandle;
    case 'g':
    case 'x':
    case 'n':
    case 'c':
        return device_handle_is_good(kind, value) ? cudaSuccess : cudaErrorInvalidValue;
    case 'k':
        return value == 0 || simt_is_kernel((const void *)(uintptr_t)value) ? cudaSuccess
                                                                            : cudaErrorInvalidDeviceFunction;
    default:
        return cudaSuccess;
    }
}

static void note_new_handles(const char *kinds, unsigned char (*output)[OUTPUT_BYTES], const uint64_t *word)
{
    for (size_t i = 0; kinds[i] != '\0'; i++) {
        uint64_t value;
        const char *kind = strchr("SsEeGgXx", kinds[i]);
        if (kind == NULL || (kind - "SsEeGgXx") % 2 != 0 || word[i] == 0) continue;
        memcpy(&value, output[i], sizeof value);
        device_give_handle(kind[1], value);
    }
}

static uint64_t answer_listed(const char *kinds, listed_call function)
{
    static _Alignas(16) unsigned char output[ARGUMENTS][OUTPUT_BYTES];
    const uint64_t *word = device_question.word;
    uint64_t argument[ARGUMENTS] = {0};
    cudaError_t error = cudaSuccess;
    size_t at = 0;
    for (size_t i = 0; kinds[i] != '\0'; i++) {
        const size_t bytes = boundary_output_bytes(kinds[i]);
        const cudaError_t wrong = check_argument(kinds[i], word[i]);
        if (error == cudaSuccess) error = wrong;
        argument[i] = kinds[i] == 'i' ? (uint64_t)(int64_t)(int32_t)word[i] : word[i];
        if (!is_output(kinds[i]) || word[i] == 0) continue;
        const void *before = device_data(&at, bytes);
        if (before == NULL) device_refuse_message("a call without the place of its result");
        memcpy(output[i], before, bytes);
        argument[i] = (uint64_t)(uintptr_t)output[i];
    }
    if (error != cudaSuccess) return device_last_error(error);
    const uint32_t result = (uint32_t)function(argument[0], argument[1], argument[2], argument[3],
                                               argument[4], argument[5], argument[6]);
    if (result == 0) note_new_handles(kinds, output, word);
    for (size_t i = 0; kinds[i] != '\0'; i++)
        if (is_output(kinds[i]) && word[i] != 0)
            device_answer_with(output[i], boundary_output_bytes(kinds[i]));
    return result;
}

static void serve(void)
{
    const uint32_t call = device_question.call;
    if (call >= CALL_COUNT) device_refuse_message("a call that there is not");
    memset(&answer, 0, MESSAGE_SIZE(0)); /* its data are as long as it says */
    answer.kind = MESSAGE_ANSWER;
    simt_called_from((const void *)(uintptr_t)device_question.site);
    if (call == CALL_cudaGraphLaunch) device_fetch_captured();
    answer.word[0] = listed[call].function != NULL ? answer_listed(listed[call].kinds, listed[call].function)
                                                   : device_answer_special((enum boundary_call_number)call);
    if (call == CALL_cudaGraphDestroy || call == CALL_cudaStreamEndCapture || call == CALL_cudaStreamDestroy)
        forget_dead_handles(1);
    simt_called_from(NULL);
    send_or_end(&answer);
}

/* ---- entry points -------------------------------------------------------------------------------------- */

static double patience;
static uint64_t case_number;

void boundary_watch(double seconds)
{
    patience = seconds;
    case_number++;
}

void boundary_may_use(char kind, const void *handle)
{
    device_give_handle(kind, (uint64_t)(uintptr_t)handle);
}

static void put_parameters(struct message *call, const struct boundary_word *word, unsigned count)
{
    memcpy(call->data, word, count * sizeof *word);
    call->bytes = (uint32_t)(count * sizeof *word);
    for (unsigned i = 0; i < count; i++) {
        const size_t bytes = word[i].kind == BOUNDARY_HANDLE ? sizeof(uint64_t) : word[i].bytes;
        if (word[i].kind == BOUNDARY_STREAM) device_give_handle('s', word[i].value);
        if (word[i].value == 0 || word[i].kind < BOUNDARY_GIVEN) continue;
        const size_t at = (call->bytes + 15u) / 16 * 16;
        if (at + bytes > MESSAGE_DATA) abort();
        memcpy(call->data + at, (const void *)(uintptr_t)word[i].value, bytes);
        call->bytes = (uint32_t)(at + bytes);
    }
}

/* What the host process found of itself (host code that touches device memory) counts for the case, too. */
static void note_findings(uint64_t count)
{
    static uint64_t noted;
    for (; noted < count; noted++) {
        if (count - noted > FINDINGS) noted = count - FINDINGS;
        simt_finding_again();
    }
}

static void take_handles(const struct boundary_word *word, unsigned count)
{
    uint64_t handle[BOUNDARY_PARAMETERS];
    if (device_question.bytes < sizeof handle) device_refuse_message("a return without its handles");
    memcpy(handle, device_question.data, sizeof handle);
    for (unsigned i = 0; i < count; i++)
        if (word[i].kind == BOUNDARY_HANDLE && word[i].value != 0)
            memcpy((void *)(uintptr_t)word[i].value, &handle[i], sizeof handle[i]);
}

uint64_t boundary_call(void (*function)(void), const struct boundary_word *word, unsigned count)
{
    static _Alignas(16) struct message call;
    memset(&call, 0, MESSAGE_SIZE(0));
    call.kind = MESSAGE_ENTRY;
    call.word[0] = (uint64_t)(uintptr_t)function;
    call.word[1] = count;
    call.word[2] = case_number;
    memcpy(&call.word[3], &patience, sizeof patience);
    put_parameters(&call, word, count);
    send_or_end(&call);
    for (;;) {
        receive_or_end(&device_question);
        if (device_question.kind == MESSAGE_RETURN) break;
        if (device_question.kind != MESSAGE_ASK) device_refuse_message("what nobody asked for");
        serve();
    }
    note_findings(device_question.word[1]);
    take_handles(word, count);
    return device_question.word[0];
}

uint64_t boundary_host_bytes(void)
{
    return boundary_call((void (*)(void))host_bytes, NULL, 0);
}
