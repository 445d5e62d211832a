/**
 * @file phases.c
 * @brief Sums of times by phase and group of cases.
 */
#include "phases.h"

#include <time.h>

uint64_t phases_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <fcntl.h>
static void timeline(const struct item *item, int phase, uint64_t begin, uint64_t ns)
{
    static int fd = -2;
    char line[256];
    if (fd == -2) fd = getenv("WW_TIMELINE") ? open(getenv("WW_TIMELINE"), O_WRONLY | O_APPEND | O_CREAT, 0644) : -1;
    if (fd < 0) return;
    int n = snprintf(line, sizeof line, "%d %d %.6f %.6f %s %d\n", (int)getpid(), phase, begin * 1e-9, ns * 1e-9, item->settled.name, item->item_index);
    if (write(fd, line, (size_t)n) < 0) return;
}

static void add(struct check *check, const struct item *item, enum check_phase phase, uint64_t ns)
{
    __atomic_fetch_add(&check->phase_ns[item->settled.group][phase], ns, __ATOMIC_RELAXED);
}

void phases_add(struct check *check, const struct item *item, enum check_phase phase, uint64_t begin)
{
    timeline(item, phase, begin, phases_now() - begin);
    add(check, item, phase, phases_now() - begin);
}

void phases_add_runner(struct check *check, const struct item *item, const struct wire_result *result,
                       double seconds)
{
    static const enum check_phase of_runner[WIRE_LAPS] = {
        [WIRE_LAP_PLACE] = PHASE_PLACE, [WIRE_LAP_POISON] = PHASE_POISON, [WIRE_LAP_KERNEL] = PHASE_KERNEL,
        [WIRE_LAP_BACK] = PHASE_BACK,   [WIRE_LAP_TIMING] = PHASE_TIMING, [WIRE_LAP_FREE] = PHASE_FREE};
    const uint64_t all = (uint64_t)(seconds * 1e9);
    uint64_t told = 0;
    timeline(item, PHASE_KERNEL, phases_now() - all, all);
    for (int lap = 0; lap < WIRE_LAPS; lap++) {
        const uint64_t ns = result->lap_ns[lap] < all - told ? result->lap_ns[lap] : all - told;
        add(check, item, of_runner[lap], ns);
        told += ns;
    }
    add(check, item, PHASE_REPLY, all - told);
}
