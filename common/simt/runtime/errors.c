/**
 * @file errors.c
 * @brief Error codes: names, texts, the last error of a thread, and the sticky error after a context was
 *        lost.
 */
#include <stdatomic.h>

#include "runtime.h"

static _Thread_local cudaError_t last_error = cudaSuccess;
static atomic_int lost[SIMT_MOST_DEVICES];

cudaError_t runtime_result(cudaError_t error)
{
    if (error != cudaSuccess) last_error = error;
    return error;
}

cudaError_t runtime_device_lost(int device)
{
    return (cudaError_t)atomic_load(&lost[device]);
}

cudaError_t runtime_lost(void)
{
    return runtime_device_lost(simt_current_device());
}

void runtime_lose(int device, cudaError_t error)
{
    int none = cudaSuccess;
    atomic_compare_exchange_strong(&lost[device], &none, (int)error);
}

void runtime_forget_errors(void)
{
    atomic_store(&lost[simt_current_device()], cudaSuccess);
    last_error = cudaSuccess;
}

cudaError_t cudaPeekAtLastError(void)
{
    return runtime_lost() != cudaSuccess ? runtime_lost() : last_error;
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t error = cudaPeekAtLastError();
    last_error = cudaSuccess;
    return error;
}

const char *cudaGetErrorName(cudaError_t error)
{
    switch ((int)error) {
#define NAME_CASE(name, value, text)                                                                         \
    case value:                                                                                              \
        return #name;
        SIMT_ERRORS(NAME_CASE)
#undef NAME_CASE
    default:
        return "unrecognized error code";
    }
}

const char *cudaGetErrorString(cudaError_t error)
{
    switch ((int)error) {
#define TEXT_CASE(name, value, text)                                                                         \
    case value:                                                                                              \
        return text;
        SIMT_ERRORS(TEXT_CASE)
#undef TEXT_CASE
    default:
        return "unrecognized error code";
    }
}

static _Thread_local const void *caller;

void simt_called_from(const void *return_address)
{
    caller = return_address;
}

struct simt_site runtime_site(const void *return_address, const char *call)
{
    if (caller != NULL) return_address = caller;
    return (struct simt_site){"unknown", 0, call, return_address};
}

cudaError_t runtime_refuse(struct simt_site site, enum record_message message)
{
    simt_finding(RECORD_UNSUPPORTED, &site, message, SIMT_SAYS(.name = {site.what}));
    return runtime_result(cudaErrorNotSupported);
}
