/**
 * @file serve.c
 * @brief The device process: sends calls of entry points to the host process, and answers the CUDA calls that
 *        they make. It checks that handles are valid and that kernels are kernels.
 */
#include <stdlib.h>
#include <string.h>

#include <nccl.h>

#include "boundary.h"
#include "device.h"
#include "simt/runtime/graph.h"

enum { OUTPUT_BYTES = 2048, ARGUMENTS = 7, FINDINGS = 64 };
_Static_assert(sizeof(struct cudaDeviceProp) <= OUTPUT_BYTES, "an output has room for every kind");

/* ---- calls of the list ---------------------------------------------------------------------------------- */

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

/* The error for a wrong handle or kernel, the same as CUDA's. */
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
    device_begin_answer();
    simt_called_from((const void *)(uintptr_t)device_question.site);
    if (call == CALL_cudaGraphLaunch) device_fetch_captured();
    device_answer_word(0, listed[call].function != NULL
                              ? answer_listed(listed[call].kinds, listed[call].function)
                              : device_answer_special((enum boundary_call_number)call));
    if (call == CALL_cudaGraphDestroy || call == CALL_cudaStreamEndCapture || call == CALL_cudaStreamDestroy)
        device_forget_dead_handles(1);
    simt_called_from(NULL);
    device_send_answer();
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

/* Findings of the host process (host code that touches device memory) count for the case, too. */
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

static int args_changed;

int boundary_args_changed(void)
{
    const int changed = args_changed;
    args_changed = 0;
    return changed;
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
    device_send(&call);
    for (;;) {
        device_receive(&device_question);
        if (device_question.kind == MESSAGE_RETURN) break;
        if (device_question.kind != MESSAGE_ASK) device_refuse_message("what nobody asked for");
        serve();
    }
    note_findings(device_question.word[1]);
    args_changed |= device_question.word[2] != 0;
    take_handles(word, count);
    return device_question.word[0];
}

uint64_t boundary_host_bytes(void)
{
    return boundary_call((void (*)(void))host_bytes, NULL, 0);
}
