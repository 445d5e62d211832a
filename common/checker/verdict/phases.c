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

static void add(struct check *check, const struct item *item, enum check_phase phase, uint64_t ns)
{
    __atomic_fetch_add(&check->phase_ns[item->settled.group][phase], ns, __ATOMIC_RELAXED);
}

void phases_add(struct check *check, const struct item *item, enum check_phase phase, uint64_t begin)
{
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
    for (int lap = 0; lap < WIRE_LAPS; lap++) {
        const uint64_t ns = result->lap_ns[lap] < all - told ? result->lap_ns[lap] : all - told;
        add(check, item, of_runner[lap], ns);
        told += ns;
    }
    add(check, item, PHASE_REPLY, all - told);
}
