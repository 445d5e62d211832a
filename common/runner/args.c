/**
 * @file args.c
 * @brief Copies of the structs that an entry point is given.
 */
#include "args.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4, ROOM = 1 << 16 };

/* A lesson may call from several threads at once. */
static _Thread_local struct {
    const void *args;
    size_t bytes, at; /* where its copy is */
} kept[MOST];
static _Thread_local unsigned char copies[ROOM];
static _Thread_local size_t count, used;
static _Atomic int changed;

/* A graded runner of the software device calls entry points in another process, with copies, see boundary/boundary.h. */
extern int boundary_args_changed(void) __attribute__((weak));

void *args_given(const void *args, size_t bytes)
{
    if (args != NULL) {
        if (count == MOST || bytes > ROOM - used) abort();
        memcpy(copies + used, args, bytes);
        kept[count].args = args;
        kept[count].bytes = bytes;
        kept[count++].at = used;
        used += bytes;
    }
    return (void *)(uintptr_t)args;
}

void args_returned(void)
{
    for (; count > 0; count--)
        changed |= memcmp(kept[count - 1].args, copies + kept[count - 1].at, kept[count - 1].bytes) != 0;
    used = 0;
    if (boundary_args_changed != NULL) changed |= boundary_args_changed();
}

int args_changed(void)
{
    const int has = changed;
    changed = 0;
    return has;
}
