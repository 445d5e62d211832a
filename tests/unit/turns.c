/**
 * @file turns.c
 * @brief While a worker is alone, none shares the device and no other runs, and whoever is killed then, no process is left over.
 *        Workers that run are seen by what their threads count, so that nothing depends on how fast the machine is.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "checker/verdict/turns.h"
#include "checker/verdict/workers.h"

enum { WORKERS = 3, UNITS = 12, PATIENCE_MS = 60000 };

/** Who is killed while a worker is alone for the first time. */
enum death { NOBODY, THE_ONE_ALONE, ONE_THAT_IS_STOPPED, ALL };

/** What all processes see. */
static struct seen {
    struct check check;
    atomic_int sharing, alone, wrong, times_alone;
    atomic_ulong steps[UNITS]; /* of the thread that began with that unit */
    enum death death;
    atomic_int all_stopped; /* of ALL: the one that is alone waits for its end */
} * seen;

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

static void kill_another(const struct check *check)
{
    for (int i = 0; i < WORKERS; i++)
        if (check->worker[i] > 0 && check->worker[i] != getpid()) {
            kill(check->worker[i], SIGKILL);
            break;
        }
}

static int is_broken(const struct check *check)
{
    return *(const volatile char *)check->broken != '\0';
}

/* Once a worker has died the others go on, and this says nothing any more. */
static void look_around(struct check *check)
{
    unsigned long before[UNITS];
    int wrong = 0;
    for (int i = 0; i < WORKERS; i++)
        for (int ms = 0;
             check->worker[i] > 0 && check->worker[i] != getpid() && !is_stopped(check->worker[i]); ms++) {
            wrong |= ms == PATIENCE_MS;
            if (wrong || is_broken(check)) break;
            wait_ms(1);
        }
    for (int i = 0; i < UNITS; i++) before[i] = seen->steps[i];
    wait_ms(5);
    for (int i = 0; i < UNITS; i++) wrong |= before[i] != seen->steps[i];
    if (wrong && !is_broken(check)) atomic_fetch_add(&seen->wrong, 1);
}

static void await_all(const struct check *check)
{
    for (int i = 0; i < WORKERS; i++)
        for (int ms = 0;
             *(const volatile pid_t *)&check->worker[i] == 0 && ms < PATIENCE_MS && !seen->times_alone; ms++)
            wait_ms(1);
}

static void work(struct check *check, int unit, void *context)
{
    static pthread_t counting;
    static int begun;
    (void)context;
    if (seen->death != NOBODY) await_all(check);
    turns_share(check);
    atomic_fetch_add(&seen->sharing, 1);
    if (seen->alone) atomic_fetch_add(&seen->wrong, 1);
    wait_ms(1);
    atomic_fetch_sub(&seen->sharing, 1);
    turns_alone(check);
    if (seen->sharing || atomic_fetch_add(&seen->alone, 1)) atomic_fetch_add(&seen->wrong, 1);
    const int is_first = atomic_fetch_add(&seen->times_alone, 1) == 0;
    counts = 0;
    if (begun) pthread_join(counting, NULL);
    look_around(check);
    atomic_fetch_sub(&seen->alone, 1);
    if (is_first && seen->death == THE_ONE_ALONE) raise(SIGKILL);
    if (is_first && seen->death == ONE_THAT_IS_STOPPED) kill_another(check);
    if (seen->death == ALL) seen->all_stopped = 1;
    while (seen->death == ALL) pause();
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

static int try_turns(enum death death)
{
    int failures = 0;
    struct check *check = &seen->check;
    memset(seen, 0, sizeof *seen);
    seen->death = death;
    check->workers = WORKERS;
    turns_open(check);
    failures += expect(turns_are_taken(check), "the workers take turns");
    workers_run(check, UNITS, work, nothing, NULL);
    failures += expect(seen->wrong == 0, "alone is alone");
    failures += expect((check->broken[0] != '\0') == (death != NOBODY), "a worker that dies is noticed");
    failures += expect(death != NOBODY || seen->times_alone == UNITS, "each has its turn");
    for (int i = 0; i < CHECK_WORKERS; i++) failures += expect(check->worker[i] == 0, "none is left");
    return failures;
}

/* The checker gets @p number while a worker is alone; 0 if its workers end as well, those that are stopped, too. All are children of
 * this process then. */
static int try_end(int number)
{
    pid_t left[WORKERS + 1] = {0}, ended;
    int running = 1;
    memset(seen, 0, sizeof *seen);
    fflush(NULL);
    left[WORKERS] = fork();
    if (left[WORKERS] == 0) _exit(try_turns(ALL));
    for (int ms = 0; !seen->all_stopped && ms < PATIENCE_MS; ms++) wait_ms(1);
    for (int i = 0; i < WORKERS; i++) left[i] = seen->check.worker[i];
    int failures = expect(seen->all_stopped && left[0] > 0 && left[1] > 0 && left[2] > 0, "all of them work");
    kill(left[WORKERS], number);
    for (int ms = 0; running && ms < PATIENCE_MS; ms++) {
        while ((ended = waitpid(-1, NULL, WNOHANG)) > 0) continue;
        running = ended == 0;
        if (running) wait_ms(1);
    }
    for (int i = 0; i <= WORKERS && running; i++)
        if (left[i] > 0) kill(left[i], SIGKILL);
    return failures + expect(!running, "a checker that is ended leaves no worker behind");
}

int main(void)
{
    int failures = 0;
    seen = mmap(NULL, sizeof *seen, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (seen == MAP_FAILED || prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) return 2;
    for (int death = NOBODY; death < ALL; death++) failures += try_turns((enum death)death);
    failures += try_end(SIGKILL) + try_end(SIGTERM);
    struct check *check = &seen->check;
    check->workers = 1;
    failures += expect(!turns_are_taken(check), "one waits for nobody");
    turns_alone(check);
    turns_end(check);
    return failures > 0;
}
