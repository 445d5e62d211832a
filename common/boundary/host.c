/**
 * @file host.c
 * @brief The host process: waits for calls of entry points, and asks the device process for the CUDA calls
 *        that they make.
 */
#include "host.h"

#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "boundary.h"
#include "calls.h"
#include "machine.h"
#include "simt/findings.h"

enum { EXIT_LOST = 1, PAGE = 4096 };

static _Alignas(16) struct message sent, received;

static _Noreturn void leave(void)
{
    fflush(NULL);
    _exit(EXIT_LOST);
}

static void send_or_leave(const struct message *message)
{
    if (message_send(message) != 0) leave();
}

/* ---- asking -------------------------------------------------------------------------------------------- */

static int is_there(uint64_t address, size_t bytes)
{
    const uint64_t first = address / PAGE * PAGE, end = address + bytes;
    unsigned char resident;
    if (end < address) return 0;
    for (uint64_t page = first; page < end; page += PAGE)
        if (mincore((void *)page, 1, &resident) != 0) return 0;
    return 1;
}

/* Answers with the source of a copy, which lies here. If no memory is mapped there, the answer is empty. */
static void give_content(void)
{
    const uint64_t address = received.word[0], bytes = received.word[1];
    struct message *content = &sent;
    content->kind = MESSAGE_CONTENT;
    content->bytes = 0;
    if (bytes <= MESSAGE_DATA && is_there(address, bytes)) {
        memcpy(content->data, (const void *)(uintptr_t)address, bytes);
        content->bytes = (uint32_t)bytes;
    }
    send_or_leave(content);
}

struct message *host_question(enum boundary_call_number call, const void *site)
{
    sent.kind = MESSAGE_ASK;
    sent.call = call;
    sent.site = (uint64_t)(uintptr_t)site;
    sent.bytes = 0;
    memset(sent.word, 0, sizeof sent.word);
    return &sent;
}

int host_append(const void *data, size_t bytes)
{
    const size_t at = (sent.bytes + 15u) / 16 * 16;
    if (at > MESSAGE_DATA || bytes > MESSAGE_DATA - at) return -1;
    memset(sent.data + sent.bytes, 0, at - sent.bytes);
    memcpy(sent.data + at, data, bytes);
    sent.bytes = (uint32_t)(at + bytes);
    return 0;
}

int host_append_text(const char *text)
{
    char copy[STRING_BYTES];
    snprintf(copy, sizeof copy, "%s", text != NULL ? text : "");
    return host_append(copy, sizeof copy);
}

const struct message *host_ask(void)
{
    send_or_leave(&sent);
    for (;;) {
        if (message_receive(&received) != 1) leave();
        if (received.kind == MESSAGE_ANSWER) return &received;
        if (received.kind != MESSAGE_FETCH) leave();
        give_content();
    }
}

/* A call from the list: output arguments are sent as they are, and come back as the other side left them. */
static uint64_t ask(enum boundary_call_number call, const char *kinds, const uint64_t *word, const void *site)
{
    struct message *question = host_question(call, site);
    for (size_t i = 0; kinds[i] != '\0'; i++) {
        const size_t bytes = boundary_output_bytes(kinds[i]);
        question->word[i] = bytes > 0 ? word[i] != 0 : word[i];
        if (bytes > 0 && word[i] != 0) (void)host_append((const void *)(uintptr_t)word[i], bytes);
    }
    const struct message *answer = host_ask();
    size_t at = 0;
    for (size_t i = 0; kinds[i] != '\0'; i++) {
        const size_t bytes = boundary_output_bytes(kinds[i]);
        if (bytes == 0 || word[i] == 0) continue;
        at = (at + 15) / 16 * 16;
        if (at + bytes <= answer->bytes) memcpy((void *)(uintptr_t)word[i], answer->data + at, bytes);
        at += bytes;
    }
    return answer->word[0];
}

void boundary_not_in_kernel(const char *name, const void *site)
{
    static __thread struct simt_site place;
    if (simt_self() == NULL) return;
    place = (struct simt_site){"unknown", 0, name, site};
    simt_stop(&place, RECORD_UNSUPPORTED, RECORD_SAYS_HOST_ONLY, SIMT_SAYS(.name = {name}));
}

/* All parameters are of the integer class: each is a register, or eight bytes on the stack, whatever its
 * type. If the function has no seventh parameter, that argument is whatever the stack holds, and is not
 * used. */
#define GATE(name, kinds)                                                                                    \
    uint64_t gate_##name(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f,             \
                         uint64_t g);                                                                        \
    uint64_t gate_##name(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f, uint64_t g) \
    {                                                                                                        \
        const uint64_t word[] = {a, b, c, d, e, f, g};                                                       \
        _Static_assert(sizeof kinds - 1 <= sizeof word / sizeof *word, "too many parameters");               \
        boundary_not_in_kernel(#name, __builtin_return_address(0));                                          \
        return ask(CALL_##name, kinds, word, __builtin_return_address(0));                                   \
    }
BOUNDARY_CALLS(GATE)

/* ---- entry points -------------------------------------------------------------------------------------- */

/* The first six words are registers, the other four lie on the stack; the real numbers are registers. */
typedef uint64_t (*entry_point)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, double, double,
                                double, double, uint64_t, uint64_t, uint64_t, uint64_t);

/** Arguments of an entry point, each class in its order, whatever the order of its parameters. */
struct arguments {
    uint64_t word[BOUNDARY_PARAMETERS], handle[BOUNDARY_PARAMETERS];
    double real[BOUNDARY_REALS]; /* a float is the lower half of one */
};

/* Copies the message for the duration of the call; calls of CUDA use the other two buffers. */
static _Alignas(16) struct message call;

static void take_parameters(struct arguments *to)
{
    const struct boundary_word *word = (const void *)call.data;
    size_t at = call.word[1] * sizeof *word, words = 0, reals = 0;
    for (unsigned i = 0; i < call.word[1]; i++) {
        uint64_t value = word[i].value;
        if (word[i].kind == BOUNDARY_REAL) {
            memcpy(&to->real[reals++], &value, sizeof value);
            continue;
        }
        if (value != 0 && word[i].kind >= BOUNDARY_GIVEN) {
            at = (at + 15) / 16 * 16;
            value = (uint64_t)(uintptr_t)(call.data + at);
            if (word[i].kind == BOUNDARY_HANDLE) {
                memcpy(&to->handle[i], call.data + at, sizeof to->handle[i]);
                value = (uint64_t)(uintptr_t)&to->handle[i];
            }
            at += word[i].kind == BOUNDARY_HANDLE ? sizeof to->handle[i] : word[i].bytes;
        }
        to->word[words++] = value;
    }
}

static void run_entry_point(void)
{
    static uint64_t case_number;
    static unsigned char given[MESSAGE_DATA];
    struct arguments a = {0};
    double seconds;
    memcpy(&seconds, &call.word[3], sizeof seconds);
    if (call.word[2] != case_number) simt_watch(seconds);
    case_number = call.word[2];
    take_parameters(&a);
    memcpy(given, call.data, call.bytes);
    const entry_point function = (entry_point)(uintptr_t)call.word[0];
    const uint64_t value =
        function(a.word[0], a.word[1], a.word[2], a.word[3], a.word[4], a.word[5], a.real[0], a.real[1],
                 a.real[2], a.real[3], a.word[6], a.word[7], a.word[8], a.word[9]);
    const int changed = memcmp(given, call.data, call.bytes) != 0;
    fflush(NULL); /* so that output of host code comes before output of the kernels of the next call */
    memset(call.data, 0xff, call.bytes); /* arguments are valid only during the call */
    memset(&sent, 0, MESSAGE_SIZE(0));
    sent.kind = MESSAGE_RETURN;
    sent.word[0] = value;
    sent.word[1] = (uint64_t)simt_finding_count();
    sent.word[2] = (uint64_t)changed;
    (void)host_append(a.handle, sizeof a.handle);
    send_or_leave(&sent);
}

/* May be called while another message is being made, and from the handler that ends an endless call. */
static void send_record(const struct record *record)
{
    static _Alignas(16) struct message found = {.kind = MESSAGE_RECORD, .bytes = sizeof *record};
    _Static_assert(sizeof *record <= MESSAGE_DATA, "a record is one message");
    memcpy(found.data, record, sizeof *record);
    send_or_leave(&found);
}

/* Device addresses have no memory here; host code that accesses them gets a finding, and faults. */
static void reserve_device_addresses(void)
{
    const struct simt_site site = {"unknown", 0, "boundary", NULL};
    void *memory = simt_device_alloc(1, SIMT_MEMORY_DEVICE, "device memory", &site);
    if (memory != NULL) simt_arena_seal(1);
}

void host_process(void)
{
    static char output[BUFSIZ];
    setvbuf(stdout, output, _IOFBF, sizeof output);
    simt_lines_prepare();
    simt_record_sink(send_record);
    reserve_device_addresses();
    simt_watch(0.0);
    if (host_filter() != 0) _exit(EXIT_LOST);
    while (message_receive(&call) == 1 && call.kind == MESSAGE_ENTRY) run_entry_point();
    leave();
}

/* ---- called as an entry point, by the device process ---------------------------------------------------- */

uint64_t host_bytes(void)
{
#if defined __GLIBC__ && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
#else
    return 0;
#endif
}
