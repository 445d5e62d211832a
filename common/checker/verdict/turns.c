/**
 * @file turns.c
 * @brief Two locks on a file in memory, which the system takes from a process that dies, and signals.
 *
 * Who wants the device waits at the gate first, in which there is room for one: so those who share the device cannot keep out for ever
 * who wants to be alone on it.
 */
#include "turns.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

enum { GATE, DEVICE }; /* bytes of the file */

static enum { AWAY, SHARING, ALONE } now; /* of this process */

void turns_open(struct check *check)
{
    check->turns = memfd_create("turns", MFD_CLOEXEC);
    if (check->turns < 0) check->workers = 1;
}

int turns_are_taken(const struct check *check)
{
    return check->workers > 1 && check->turns >= 0;
}

/* Locks of a process are its own: other processes have the same descriptor. */
static void lock(const struct check *check, int byte, short how)
{
    struct flock range = {.l_type = how, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
    while (fcntl(check->turns, F_SETLKW, &range) != 0 && errno == EINTR) continue;
}

static void signal_others(const struct check *check, int number)
{
    for (int i = 0; i < CHECK_WORKERS; i++) {
        const pid_t worker = __atomic_load_n(&check->worker[i], __ATOMIC_ACQUIRE);
        if (worker > 0 && worker != getpid()) kill(worker, number);
    }
}

void turns_join(struct check *check, int number)
{
    /* Nobody is alone meanwhile, who would not have stopped this process; or, once it is reaped, would stop another one of its number. */
    turns_share(check);
    if (number >= 0)
        __atomic_store_n(&check->worker[number], getpid(), __ATOMIC_RELEASE);
    else
        turns_leave(check, getpid());
    turns_end(check);
}

void turns_leave(struct check *check, pid_t worker)
{
    for (int i = 0; i < CHECK_WORKERS; i++)
        if (check->worker[i] == worker) __atomic_store_n(&check->worker[i], 0, __ATOMIC_RELEASE);
}

void turns_continue(const struct check *check)
{
    signal_others(check, SIGCONT);
}

void turns_share(struct check *check)
{
    if (!turns_are_taken(check) || now == SHARING) return;
    if (now == ALONE) turns_continue(check);
    if (now == AWAY) lock(check, GATE, F_WRLCK);
    lock(check, DEVICE, F_RDLCK);
    if (now == AWAY) lock(check, GATE, F_UNLCK);
    now = SHARING;
}

void turns_alone(struct check *check)
{
    if (!turns_are_taken(check)) return;
    turns_end(check);
    lock(check, GATE, F_WRLCK);
    lock(check, DEVICE, F_WRLCK);
    lock(check, GATE, F_UNLCK);
    now = ALONE;
    signal_others(check, SIGSTOP);
}

void turns_end(struct check *check)
{
    if (!turns_are_taken(check) || now == AWAY) return;
    if (now == ALONE) turns_continue(check);
    lock(check, DEVICE, F_UNLCK);
    now = AWAY;
}
