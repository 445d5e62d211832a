/**
 * @file devices.c
 * @brief Several devices (SIMT_DEVICES): which one a host thread means, which one works, and which may reach whose memory.
 *
 * The devices are equal, lie in one range of addresses and take turns on the host's cores. What each has of its own is
 * its allocations (arena.c) and a copy of the program's `__device__` and `__constant__` variables, kept here while
 * another device works.
 */
#include "devices.h"
#include "machine.h"
#include "settings.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local int current;
static int pretended_count; /* how many there are at least while simt_pretend_devices() holds */
static int working;         /* under the runtime's lock of all devices */
static atomic_uint reaches[SIMT_MOST_DEVICES]; /* a bit for each device whose memory it may use */

int simt_device_count(void)
{
    return pretended_count > simt_settings.devices ? pretended_count : simt_settings.devices;
}

void simt_pretend_devices(int count)
{
    pretended_count = count;
}

int simt_current_device(void)
{
    return current;
}

void simt_set_current_device(int device)
{
    current = device;
}

int simt_working_device(void)
{
    return working;
}

/* ---- variables ---------------------------------------------------------------------------------------- */

/* The sections that simtcc puts variables of the device in; NULL without any. */
extern char __start_simt_device[] __attribute__((weak)), __stop_simt_device[] __attribute__((weak));
extern char __start_simt_constant[] __attribute__((weak)), __stop_simt_constant[] __attribute__((weak));

struct section {
    char *start;
    size_t bytes;
    char *initial, *kept[SIMT_MOST_DEVICES]; /* what it began with; what it holds for a device that rests */
};

static char *copy_of(const struct section *section)
{
    char *copy = malloc(section->bytes);
    if (copy == NULL) simt_die("no memory for the variables of %d devices.", simt_device_count());
    return memcpy(copy, section->start, section->bytes);
}

static void open_section(struct section *section, char *start, const char *stop)
{
    section->start = start;
    section->bytes = (size_t)(stop - start);
    if (section->bytes > 0) section->initial = copy_of(section);
}

/* The variables of one device make way for those of another. Where all are constant they lie in memory that cannot be written. */
static void exchange(struct section *section, int from, int to)
{
    const char *next = section->kept[to] != NULL ? section->kept[to] : section->initial;
    if (section->bytes == 0) return;
    if (section->kept[from] == NULL)
        section->kept[from] = copy_of(section);
    else
        memcpy(section->kept[from], section->start, section->bytes);
    if (memcmp(section->start, next, section->bytes) != 0) memcpy(section->start, next, section->bytes);
}

void simt_use_device(int device)
{
    static struct section variables, constants;
    static bool opened;
    if (!opened) { /* nobody has written to them before the first operation */
        open_section(&variables, __start_simt_device, __stop_simt_device);
        open_section(&constants, __start_simt_constant, __stop_simt_constant);
        opened = true;
    }
    if (device == working) return;
    exchange(&variables, working, device);
    exchange(&constants, working, device);
    working = device;
}

/* ---- peers -------------------------------------------------------------------------------------------- */

int simt_peer_is_enabled(int device, int peer)
{
    return reaches[device] >> peer & 1;
}

void simt_peer_enable(int device, int peer, int enable)
{
    if (enable)
        atomic_fetch_or(&reaches[device], 1u << peer);
    else
        atomic_fetch_and(&reaches[device], ~(1u << peer));
}
