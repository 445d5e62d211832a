/**
 * @file settings.c
 * @brief The SIMT_ variables of the environment, read before main() so that a wrong one is never overlooked.
 */
#include "settings.h"
#include "machine.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct settings simt_settings = {.workers = 1, .check = true, .sample = 1, .device = 90, .devices = 1};

void simt_die(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("simt: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    fflush(NULL);
    _exit(2);
}

static int cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)online : 1;
}

/* A whole decimal number, or -1. */
static long long number(const char *text)
{
    char *end;
    if (*text < '0' || *text > '9') return -1;
    long long value = strtoll(text, &end, 10);
    return *end == '\0' ? value : -1;
}

static void read_order(const char *text)
{
    if (strcmp(text, "forward") == 0) {
        simt_settings.order = ORDER_FORWARD;
    } else if (strcmp(text, "reverse") == 0) {
        simt_settings.order = ORDER_REVERSE;
    } else if (strncmp(text, "random:", 7) == 0 && number(text + 7) >= 0) {
        simt_settings.order = ORDER_RANDOM;
        simt_settings.seed = (uint64_t)number(text + 7);
    } else {
        simt_die("SIMT_ORDER is \"%s\"; it must be forward, reverse or random:SEED with a whole number.",
                 text);
    }
}

static void read_device(const char *text)
{
    static const char *const names[] = {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(text, names[i]) != 0) continue;
        simt_settings.device = (int)number(names[i] + 3);
        return;
    }
    simt_die("SIMT_DEVICE is \"%s\"; it must be sm_75, sm_80, sm_86, sm_89 or sm_90.", text);
}

/* One block after the other: what is found first is then known while later blocks have not begun. */
static void read_trace(void)
{
    const char *text = getenv("SIMT_TRACE"), *blocks = getenv("SIMT_TRACE_BLOCKS");
    struct simt_extent *b = &simt_settings.traced_block;
    int end = 0;
    if (text == NULL || *text == '\0') return;
    simt_settings.trace = text;
    simt_settings.workers = 1;
    simt_settings.watched = getenv("SIMT_TRACE_WATCHED");
    simt_settings.element = getenv("SIMT_TRACE_ELEMENT");
    if (blocks == NULL || strcmp(blocks, "some") == 0) return;
    if (strcmp(blocks, "all") == 0) {
        simt_settings.traced = TRACED_ALL;
        return;
    }
    simt_settings.traced = TRACED_ONE;
    if (sscanf(blocks, "%u%n,%u%n,%u%n", &b->x, &end, &b->y, &end, &b->z, &end) < 1 || blocks[end] != '\0')
        simt_die(
            "SIMT_TRACE_BLOCKS is \"%s\"; it must be some, all or the index of a block: X, X,Y or X,Y,Z.",
            blocks);
}

__attribute__((constructor)) static void read_settings(void)
{
    const char *text;
    simt_settings.workers = cores();
    if ((text = getenv("SIMT_WORKERS")) != NULL) {
        long long workers = number(text);
        if (workers < 1 || workers > 256)
            simt_die("SIMT_WORKERS is \"%s\"; it must be a number of OS threads from 1 to 256.", text);
        simt_settings.workers = (int)workers;
    }
    if ((text = getenv("SIMT_DEVICES")) != NULL) {
        long long devices = number(text);
        if (devices < 1 || devices > SIMT_MOST_DEVICES)
            simt_die("SIMT_DEVICES is \"%s\"; it must be a number of devices from 1 to %d.", text,
                     SIMT_MOST_DEVICES);
        simt_settings.devices = (int)devices;
    }
    if ((text = getenv("SIMT_ORDER")) != NULL) read_order(text);
    if ((text = getenv("SIMT_DEVICE")) != NULL) read_device(text);
    if ((text = getenv("SIMT_CHECK")) != NULL) {
        simt_settings.check = strcmp(text, "off") != 0;
        if (strncmp(text, "sample:", 7) == 0 && number(text + 7) >= 1 && number(text + 7) <= 1 << 30)
            simt_settings.sample = (unsigned)number(text + 7);
        else if (simt_settings.check && strcmp(text, "on") != 0)
            simt_die("SIMT_CHECK is \"%s\"; it must be on, off or sample:N, which checks every Nth block.",
                     text);
    }
    if ((text = getenv("SIMT_REPORT")) != NULL) {
        simt_settings.all = strcmp(text, "all") == 0;
        if (!simt_settings.all && strcmp(text, "usual") != 0)
            simt_die("SIMT_REPORT is \"%s\"; it must be usual or all.", text);
    }
    if ((text = getenv("SIMT_ASYNC")) != NULL) {
        simt_settings.early = strcmp(text, "early") == 0;
        if (!simt_settings.early && strcmp(text, "late") != 0)
            simt_die("SIMT_ASYNC is \"%s\"; it must be early or late.", text);
    }
    text = getenv("SIMT_COUNTERS");
    if (text != NULL && *text != '\0') simt_settings.counters = text;
    read_trace();
    if ((text = getenv("SIMT_TRAFFIC")) != NULL) {
        simt_settings.all_traffic = strcmp(text, "all") == 0;
        if (!simt_settings.all_traffic && strcmp(text, "profiled") != 0)
            simt_die("SIMT_TRAFFIC is \"%s\"; it must be profiled or all.", text);
        if (simt_settings.all_traffic && simt_settings.trace != NULL)
            simt_die(
                "a trace has what a profiler counts: SIMT_TRACE and SIMT_TRAFFIC=all exclude each other.");
    }
}

static bool sealed;

static void set_writable(bool writable)
{
    if (sealed)
        (void)mprotect(&simt_settings, sizeof simt_settings, writable ? PROT_READ | PROT_WRITE : PROT_READ);
}

void simt_seal_settings(void)
{
    sealed = sysconf(_SC_PAGESIZE) <= (long)sizeof simt_settings;
    set_writable(false);
}

bool simt_settings_are_sealed(void)
{
    return sealed;
}

/* Counters are those of the order that was asked for. */
void simt_turn_order(int turned)
{
    if (simt_settings.counters != NULL || simt_settings.turned == (turned != 0)) return;
    set_writable(true);
    simt_settings.turned = turned != 0;
    if (simt_settings.order == ORDER_RANDOM)
        simt_settings.seed ^= 1;
    else
        simt_settings.order = simt_settings.order == ORDER_FORWARD ? ORDER_REVERSE : ORDER_FORWARD;
    set_writable(false);
}

void simt_report_all(void)
{
    simt_settings.all = true;
}

int simt_reports_all(void)
{
    return simt_settings.all;
}

int simt_compute_capability(void)
{
    return simt_settings.device;
}
