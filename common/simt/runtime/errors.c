/**
 * @file errors.c
 * @brief Error codes: names, texts, the last error of a thread, and the sticky error after a context was
 *        lost.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/words.h"
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

/* ---- refused launches that nobody asked about ----------------------------------------------------------- */

/** The first of them, and how many there are. */
static struct {
    pthread_mutex_t lock;
    struct simt_launch launch;
    cudaError_t error;
    unsigned long count;
} refused = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void asked(void)
{
    if (last_error == cudaSuccess) return;
    pthread_mutex_lock(&refused.lock);
    refused.count = 0;
    pthread_mutex_unlock(&refused.lock);
}

static void tell_refused(void)
{
    const struct simt_extent g = refused.launch.grid, b = refused.launch.block;
    if (refused.count == 0) return;
    const struct record_line at = simt_site_line(&refused.launch.site);
    fprintf(stderr,
            "simt: kernel %s did not run: its launch at %s:%d, <<<(%u,%u,%u), (%u,%u,%u), %zu>>>, gave %s, "
            "and nobody asked "
            "(cudaGetLastError)",
            refused.launch.kernel, at.file, (int)at.line, g.x, g.y, g.z, b.x, b.y, b.z,
            refused.launch.dynamic_shared_bytes, cudaGetErrorName(refused.error));
    if (refused.count > 1) fprintf(stderr, "; nor did %lu more", refused.count - 1);
    fputc('\n', stderr);
}

void simt_launch_refused(const struct simt_launch *launch, cudaError_t error);
void simt_launch_refused(const struct simt_launch *launch, cudaError_t error)
{
    static atomic_flag watched = ATOMIC_FLAG_INIT;
    if (runtime_lost() != cudaSuccess || simt_reports_all())
        return; /* reported, or told by the check of a lesson */
    if (!atomic_flag_test_and_set(&watched)) atexit(tell_refused);
    pthread_mutex_lock(&refused.lock);
    if (refused.count++ == 0) {
        refused.launch = *launch;
        refused.error = error;
    }
    pthread_mutex_unlock(&refused.lock);
}

cudaError_t cudaPeekAtLastError(void)
{
    asked();
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

/* ---- why the last one was refused ------------------------------------------------------------------------ */

/** The last launch or call of this thread that was refused. */
static _Thread_local struct {
    struct simt_words words;
    enum record_message message; /* RECORD_SAYS_NOTHING: there was none */
    struct simt_site site;
} refusal;

void runtime_note_refusal(struct simt_site site, enum record_message message, const struct simt_words *words)
{
    refusal.words = *words;
    refusal.message = message;
    refusal.site = site;
}

void simt_refused_launch(char *text, size_t size)
{
    struct record record = {.message = (int32_t)refusal.message};
    text[0] = '\0';
    if (refusal.message == RECORD_SAYS_NOTHING) return;
    memcpy(record.number, refusal.words.number, sizeof record.number);
    for (int i = 0; i < 2; i++)
        record_copy_text(record.name[i], sizeof record.name[i], refusal.words.name[i]);
    record.actor[1].at[0] = simt_site_line(&refusal.site);
    record_headline(&record, text, size);
    refusal.message = RECORD_SAYS_NOTHING;
}
