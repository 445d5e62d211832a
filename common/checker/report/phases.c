/**
 * @file phases.c
 * @brief The table of `--phases`: seconds by phase and group of cases.
 */
#include <stdio.h>

#include "report.h"

static const char *const phase_name[CHECK_PHASES] = {
    [PHASE_INPUTS] = "inputs", [PHASE_START] = "start",   [PHASE_WAIT] = "wait", [PHASE_PLACE] = "place",
    [PHASE_POISON] = "poison", [PHASE_KERNEL] = "kernel", [PHASE_BACK] = "back", [PHASE_TIMING] = "timing",
    [PHASE_FREE] = "free",     [PHASE_REPLY] = "reply",   [PHASE_BITS] = "bits", [PHASE_ORACLE] = "oracle"};

static void print_line(const char *name, const uint64_t ns[CHECK_PHASES])
{
    double sum = 0.0;
    printf("%-12s", name);
    for (int phase = 0; phase < CHECK_PHASES; phase++) {
        printf(" %7.2f", (double)ns[phase] * 1e-9);
        sum += (double)ns[phase] * 1e-9;
    }
    printf(" %7.2f\n", sum);
}

void report_phases(const struct check *check, double seconds)
{
    uint64_t sum[CHECK_PHASES] = {0};
    printf("%-12s", "seconds");
    for (int phase = 0; phase < CHECK_PHASES; phase++) printf(" %7s", phase_name[phase]);
    printf(" %7s\n", "sum");
    for (int group = 0; group < GROUP_COUNT; group++) {
        print_line(report_group((enum case_group)group), check->phase_ns[group]);
        for (int phase = 0; phase < CHECK_PHASES; phase++) sum[phase] += check->phase_ns[group][phase];
    }
    print_line("all", sum);
    printf("%.2f s by the clock, with %d at once\n", seconds, check->workers);
}
