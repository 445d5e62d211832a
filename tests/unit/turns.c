/**
 * @file turns.c
 * @brief While a worker is alone, none shares the device and no other runs. Workers that run are seen by what their threads count,
 *        so that nothing depends on how fast the machine is.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "checker/verdict/turns.h"
#include "checker/verdict/workers.h"

enum { WORKERS = 3, UNITS = 12, PATIENCE_MS = 60000 };

/** What all processes see. */
static struct seen {
    struct check check;
    atomic_int sharing, alone, wrong, times_alone;
    atomic_ulong steps[UNITS]; /* of the thread that began with that unit */
    int dies;                  /* the unit whose worker dies while it is alone; -1: none */
} *seen;

static atomic_int counts; /* the thread of this process goes on */

static void *count(void *steps)
{
    while (counts) atomic_fetch_add((atomic_ulong *)steps, 1);
    return NULL;
}

static void wait_ms(long ms)
{
    nanosleep(&(struct timespec){0, ms * 1000000}, NULL);
}

/* "1234 (name) T ..." */
static int is_stopped(pid_t process)
{
    char path[40], text[200] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || read(file, text, sizeof text - 1) < 0) return 0;
    close(file);
    const char *name_end = strrchr(text, ')');
    return name_end != NULL && name_end[1] == ' ' && name_end[2] == 'T';
}

static void look_around(struct check *check)
{
    unsigned long before[UNITS];
    for (int i = 0; i < WORKERS; i++)
        for (int ms = 0; check->worker[i] > 0 && check->worker[i] != getpid() && !is_stopped(check->worker[i]); ms++) {
            if (ms == PATIENCE_MS) atomic_fetch_add(&seen->wrong, 1);
            if (ms == PATIENCE_MS) break;
            wait_ms(1);
        }
    for (int i = 0; i < UNITS; i++) before[i] = seen->steps[i];
    wait_ms(5);
    for (int i = 0; i < UNITS; i++)
        if (before[i] != seen->steps[i]) atomic_fetch_add(&seen->wrong, 1);
}

static void work(struct check *check, int unit, void *context)
{
    static pthread_t counting;
    static int begun;
    (void)context;
    turns_share(check);
    atomic_fetch_add(&seen->sharing, 1);
    if (seen->alone) atomic_fetch_add(&seen->wrong, 1);
    wait_ms(1);
    atomic_fetch_sub(&seen->sharing, 1);
    turns_alone(check);
    if (seen->sharing || atomic_fetch_add(&seen->alone, 1)) atomic_fetch_add(&seen->wrong, 1);
    atomic_fetch_add(&seen->times_alone, 1);
    counts = 0;
    if (begun) pthread_join(counting, NULL);
    look_around(check);
    atomic_fetch_sub(&seen->alone, 1);
    if (unit == seen->dies) raise(SIGKILL);
    counts = 1;
    begun = pthread_create(&counting, NULL, count, &seen->steps[unit]) == 0;
    turns_share(check); /* goes on to use the device, with others */
    atomic_fetch_add(&seen->sharing, 1);
    if (seen->alone) atomic_fetch_add(&seen->wrong, 1);
    atomic_fetch_sub(&seen->sharing, 1);
    turns_end(check);
}

static void nothing(void *context)
{
    (void)context;
}

static int expect(int holds, const char *what)
{
    if (!holds) printf("FAIL: %s\n", what);
    return !holds;
}

int main(void)
{
    int failures = 0;
    seen = mmap(NULL, sizeof *seen, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (seen == MAP_FAILED) return 2;
    struct check *check = &seen->check;
    for (int death = 0; death < 2; death++) {
        memset(seen, 0, sizeof *seen);
        seen->dies = death ? UNITS / 2 : -1;
        check->workers = WORKERS;
        turns_open(check);
        failures += expect(turns_are_taken(check), "the workers take turns");
        workers_run(check, UNITS, work, nothing, NULL);
        failures += expect(seen->wrong == 0, "alone is alone");
        failures += expect((check->broken[0] != '\0') == death, "a worker that dies is noticed");
        failures += expect(death || seen->times_alone == UNITS, "each has its turn");
        for (int i = 0; i < CHECK_WORKERS; i++) failures += expect(check->worker[i] == 0, "none is left");
    }
    check->workers = 1;
    failures += expect(!turns_are_taken(check), "one waits for nobody");
    turns_alone(check);
    turns_end(check);
    return failures > 0;
}
