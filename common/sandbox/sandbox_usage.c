/**
 * @file sandbox_usage.c
 * @brief What a program in the sandbox, with everything that it started, uses: memory, and time.
 */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/process.h"
#include "sandbox.h"

enum { TREE_DEPTH = 64 };

/** What all processes below the keeper use in total. */
struct usage {
    uint64_t resident; /**< bytes */
    double running,
        waiting; /**< seconds of processor time; seconds in which a thread was ready and had no processor */
    void (*add)(long pid, struct usage *usage);
};

/* Private memory and shared memory, which a program may fill just as well; mapped files and libraries do
 * not count. */
static void add_resident(long pid, struct usage *usage)
{
    char path[64], line[128];
    unsigned long long kilobytes;
    snprintf(path, sizeof path, "/proc/%ld/status", pid);
    FILE *file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "RssAnon: %llu", &kilobytes) == 1 || sscanf(line, "RssShmem: %llu", &kilobytes) == 1)
            usage->resident += (uint64_t)kilobytes << 10;
    if (file != NULL) fclose(file);
}

/* Threads that have ended no longer count; if the kernel has no such numbers, the wait is 0. */
static void add_time(long pid, struct usage *usage)
{
    char path[64], thread[400];
    unsigned long long running, waiting;
    snprintf(path, sizeof path, "/proc/%ld/task", pid);
    DIR *tasks = opendir(path);
    for (struct dirent *entry; tasks != NULL && (entry = readdir(tasks)) != NULL;) {
        snprintf(thread, sizeof thread, "%s/%s/schedstat", path, entry->d_name);
        FILE *file = entry->d_name[0] != '.' ? fopen(thread, "re") : NULL;
        if (file != NULL && fscanf(file, "%llu %llu", &running, &waiting) == 2) {
            usage->running += (double)running * 1e-9;
            usage->waiting += (double)waiting * 1e-9;
        }
        if (file != NULL) fclose(file);
    }
    if (tasks != NULL) closedir(tasks);
}

static void add_below(long pid, int depth, struct usage *usage)
{
    char path[64], task[400];
    snprintf(path, sizeof path, "/proc/%ld/task", pid);
    DIR *tasks = depth < TREE_DEPTH ? opendir(path) : NULL;
    for (struct dirent *entry; tasks != NULL && (entry = readdir(tasks)) != NULL;) {
        long below;
        snprintf(task, sizeof task, "%s/%s/children", path, entry->d_name);
        FILE *children = entry->d_name[0] != '.' ? fopen(task, "re") : NULL;
        while (children != NULL && fscanf(children, "%ld", &below) == 1) {
            usage->add(below, usage);
            add_below(below, depth + 1, usage);
        }
        if (children != NULL) fclose(children);
    }
    if (tasks != NULL) closedir(tasks);
}

int sandbox_is_greedy(const struct sandboxed *child)
{
    struct usage usage = {.add = add_resident};
    if (child->resident_bytes == 0) return 0;
    add_below(child->keeper, 0, &usage);
    return usage.resident > child->resident_bytes;
}

static struct usage time_of(long process)
{
    struct usage usage = {.add = add_time};
    add_time(process, &usage);
    add_below(process, 0, &usage);
    return usage;
}

static void start_clock(long process, struct sandbox_clock *watch)
{
    const struct usage usage = time_of(process);
    *watch = (struct sandbox_clock){
        .process = process, .begin = monotonic_seconds(), .running = usage.running, .waiting = usage.waiting};
    watch->looked = watch->begin;
}

void sandbox_clock_start(const struct sandboxed *child, struct sandbox_clock *watch)
{
    start_clock(child->keeper, watch);
}

void sandbox_clock_start_here(struct sandbox_clock *watch)
{
    start_clock(getpid(), watch);
}

double sandbox_clock_look(struct sandbox_clock *watch)
{
    const struct usage usage = time_of(watch->process);
    const double now = monotonic_seconds(), passed = now - watch->looked;
    const double running = fmax(usage.running - watch->running, 0.0);
    const double waiting = fmax(usage.waiting - watch->waiting, 0.0);
    const double slept = fmax(passed - running - waiting, 0.0);
    const double share = running + waiting > 0.0 ? running / (running + waiting) : 1.0;
    watch->seconds += slept + (passed - slept) * share;
    watch->looked = now;
    watch->running = usage.running;
    watch->waiting = usage.waiting;
    return fmax(watch->seconds, (now - watch->begin) / SANDBOX_PATIENCE);
}
