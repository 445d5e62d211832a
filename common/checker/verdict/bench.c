/**
 * @file bench.c
 * @brief Measurements: read from the runner's result or the software device's file, checked for plausibility,
 *        and compared with what the device can do.
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/leftovers.h"
#include "workers.h"

enum { TIMED_CALLS = 100, TIMED_ON_SIMT = 24, CALLS_COUNTED = 2, WARP_SECTORS = 32 };

/* The host time of a call and a wait may exceed the event time by the cost of launching and waiting. */
#define WALL_SLACK_US 300.0
#define WALL_FACTOR 3.0
/* If the time reaches less than this share of both limits, neither limit explains it. */
#define NEAR_LIMIT 0.25

#define COUNTERS "warpwise_counters_"

void bench_prepare(struct session *session)
{
    static char path[] = "/tmp/" COUNTERS "XXXXXX";
    static int held = -1;
    const struct options *options = &session->check->options;
    if (options->timed) {
        session->timed = options->device == DEVICE_GPU ? TIMED_CALLS : TIMED_ON_SIMT;
        return;
    }
    memcpy(path + sizeof path - 7, "XXXXXX", 6);
    int descriptor = mkstemp(path);
    if (descriptor < 0) return;
    close(descriptor);
    leftovers_remove("/tmp", COUNTERS, "");
    if (held >= 0) close(held);
    held = leftovers_hold(path);
    session->counters = path;
}

static double limit_of(const struct check *check, const char *name)
{
    for (int i = 0; i < check->options.limit_count; i++)
        if (strcmp(check->options.limit[i].name, name) == 0) return check->options.limit[i].value;
    return 0.0;
}

/* ---- taking ---------------------------------------------------------------------------------------------- */

static int by_size(const void *one, const void *two)
{
    float a = *(const float *)one, b = *(const float *)two;
    return a < b ? -1 : a > b;
}

static void doubt(const struct check *check, const struct wire_result *result, struct measurement *m)
{
    double peak_gbps = limit_of(check, "peak_gbps");
    double peak_tflops = limit_of(check, m->cost.tensor_cores ? "peak_f16_tflops" : "peak_tflops");
    if (m->cost.int8) peak_tflops *= 2.0;
    if (!(m->median_us > 0.0)) {
        m->refused = "no time passed on the stream that was given: was the work launched on another one?";
    } else if (peak_gbps > 0.0 && m->cost.min_bytes / m->median_us * 1e-3 > peak_gbps) {
        m->refused = "faster than the device's memory can be";
    } else if (peak_tflops > 0.0 && m->cost.flop / m->median_us * 1e-6 > peak_tflops) {
        m->refused = "faster than the device's arithmetic can be";
    } else if ((double)result->wall_us > WALL_FACTOR * m->median_us + WALL_SLACK_US) {
        m->refused = "the device worked on after the stream that was given was done";
    }
}

static void take_times(const struct check *check, const struct wire_result *result, struct measurement *m)
{
    float sample[WIRE_SAMPLES];
    size_t count = result->sample_count;
    if (count == 0 || count > WIRE_SAMPLES) return;
    memcpy(sample, result->sample_us, count * sizeof *sample);
    qsort(sample, count, sizeof *sample, by_size);
    m->timed = 1;
    m->median_us = ((double)sample[(count - 1) / 2] + (double)sample[count / 2]) / 2.0;
    m->p10_us = (double)sample[count / 10];
    m->p90_us = (double)sample[count - 1 - count / 10];
    doubt(check, result, m);
}

static void take_occupancy(const struct check *check, const struct wire_result *result, struct measurement *m)
{
    if (result->kernel_count > WIRE_KERNELS || check->threads_per_sm == 0) return;
    m->launches = result->launches;
    for (uint32_t i = 0; i < result->kernel_count; i++) {
        const struct wire_kernel *kernel = &result->kernel[i];
        double threads =
            (double)kernel->block[0] * kernel->block[1] * kernel->block[2] * kernel->blocks_per_sm;
        double occupancy = threads / check->threads_per_sm;
        if (m->described && occupancy >= m->occupancy) continue;
        m->described = 1;
        m->occupancy = occupancy;
        m->blocks_per_sm = kernel->blocks_per_sm;
    }
}

enum { SUMS = 9 };

/* Reads the last numbers of a row; 0 if it has none. Kernel names may hold commas inside quotes or
 * template brackets, so fields are counted from the end. */
static int read_counters(char *line, uint64_t value[SUMS])
{
    int found = 0;
    if (line[0] < '0' || line[0] > '9') return 0;
    for (char *end = line + strlen(line); end > line && found < SUMS; end--)
        if (end[-1] == ',') {
            value[SUMS - 1 - found++] = strtoull(end, NULL, 10);
            end[-1] = '\0';
        }
    return found == SUMS;
}

/* A copy's or a fill's row: what is left of a launch's ends with the extent of its blocks. */
static int has_no_block(const char *line)
{
    static const char none[] = ",0x0x0";
    const size_t length = strlen(line), end = sizeof none - 1;
    return length >= end && strcmp(line + length - end, none) == 0;
}

/* Adds up the rows of the two calls that the device counted; half of the sum is the cost of one call. The
 * calls of an untrusted kernel have different inputs, so that each does its own work (check.c). Such a
 * kernel could use atomics to hide its reads, so each atomic access counts as one sector per lane. */
static void take_counters(const char *path, int untrusted, struct measurement *m)
{
    enum { LOADED = 1, STORED = 3, ATOMICS = 7 };
    FILE *file = fopen(path, "re");
    char *line = NULL; /* grows with the line: a kernel name may be very long */
    size_t room = 0;
    uint64_t *const sums[SUMS] = {&m->load_requests,
                                  &m->load_sectors,
                                  &m->store_requests,
                                  &m->store_sectors,
                                  &m->shared_load_wavefronts,
                                  &m->shared_store_wavefronts,
                                  &m->bank_conflicts,
                                  &m->atomics,
                                  &m->barriers};
    uint64_t value[SUMS];
    size_t rows = 0;
    if (file == NULL) return;
    while (getline(&line, &room, file) >= 0) {
        if (!read_counters(line, value)) continue;
        if (untrusted) value[LOADED] += WARP_SECTORS * value[ATOMICS];
        rows += !has_no_block(line);
        for (int i = 0; i < SUMS; i++) *sums[i] += value[i];
    }
    free(line);
    fclose(file);
    for (int i = 0; i < SUMS; i++) *sums[i] /= CALLS_COUNTED;
    m->launches = rows / CALLS_COUNTED;
    m->counted = rows > 0;
}

void bench_item(struct session *session, int index)
{
    struct check *check = session->check;
    const struct item *item = &session->item[index];
    struct measurement *m = &check->verdicts[item->case_index].measurement;
    const struct wire_result *result = &session_case(session, index)->result;
    check->options.lesson->cost(&item->settled, &m->cost);
    m->workspace_bytes = result->workspace_asked;
    if (check->verdicts[item->case_index].state == STATE_PASS && session->timed > 0) {
        take_times(check, result, m);
        take_occupancy(check, result, m);
    }
    if (session->counters == NULL) return;
    if (check->verdicts[item->case_index].state == STATE_PASS)
        take_counters(session->counters, check->options.isolated, m);
    unlink(session->counters);
}

/* ---- telling --------------------------------------------------------------------------------------------- */

static void tell_limits(const struct check *check, const struct measurement *m)
{
    double gbps = m->cost.min_bytes / m->median_us * 1e-3, tflops = m->cost.flop / m->median_us * 1e-6;
    double copy = limit_of(check, "copy_gbps");
    double product = limit_of(check, m->cost.tensor_cores ? "f16_tflops" : "f32_tflops");
    /* device_limits does not measure what cuBLAS reaches for products of bytes */
    if (m->cost.int8) product = 0.0;
    double memory_share = copy > 0.0 ? gbps / copy : 0.0;
    double compute_share = product > 0.0 ? tflops / product : 0.0;
    if (copy > 0.0)
        printf("      %.1f%% of the copy rate measured here (%.0f GB/s)\n", 100.0 * memory_share, copy);
    if (product > 0.0)
        printf("      %.1f%% of cuBLAS %s measured here (%.1f TFLOP/s)\n", 100.0 * compute_share,
               m->cost.tensor_cores ? "f16" : "f32", product);
    if (copy <= 0.0 || product <= 0.0) return;
    const char *what = memory_share < NEAR_LIMIT && compute_share < NEAR_LIMIT
                           ? "latency-bound: neither limit is near"
                       : memory_share >= compute_share ? "memory-bound"
                                                       : "compute-bound";
    printf("      %s\n", what);
}

static void tell_times(const struct check *check, int index)
{
    const struct measurement *m = &check->verdicts[index].measurement;
    if (m->refused != NULL) {
        printf("      time refused: %s (%.2f us)\n", m->refused, m->median_us);
        return;
    }
    printf("      %.2f us (10%%: %.2f, 90%%: %.2f)  %.3f TFLOP/s  %.1f GB/s  %.2f flop/byte\n", m->median_us,
           m->p10_us, m->p90_us, m->cost.flop / m->median_us * 1e-6, m->cost.min_bytes / m->median_us * 1e-3,
           m->cost.flop / m->cost.min_bytes);
    if (m->described)
        printf("      %llu launches, theoretical occupancy %.0f%% (%u blocks per SM, the least of "
               "them)\n",
               (unsigned long long)m->launches, 100.0 * m->occupancy, m->blocks_per_sm);
    if (m->cost.kernels > 0.0)
        printf("      %.2f us a kernel (%.0f of them)\n", m->median_us / m->cost.kernels, m->cost.kernels);
    int beside = check->cases[index].beside - 1;
    const struct measurement *other = beside >= 0 ? &check->verdicts[beside].measurement : NULL;
    if (other != NULL && other->timed && other->refused == NULL)
        printf("      %.2f times as fast as %s\n", other->median_us / m->median_us,
               check->cases[beside].name);
    tell_limits(check, m);
    for (int i = 0; i < check->options.peer_count; i++) {
        const struct peer *peer = &check->options.peer[i];
        if (strcmp(peer->case_name, check->cases[index].name) != 0) continue;
        printf("      %.2f times as fast as %s (%.2f us)\n", peer->us / m->median_us, peer->label, peer->us);
    }
}

static void tell_counters(const struct measurement *m)
{
    printf("      load requests %llu, sectors %llu; store requests %llu, sectors %llu\n",
           (unsigned long long)m->load_requests, (unsigned long long)m->load_sectors,
           (unsigned long long)m->store_requests, (unsigned long long)m->store_sectors);
    printf(
        "      shared wavefronts: load %llu, store %llu; bank conflicts %llu; atomics %llu; barriers %llu\n",
        (unsigned long long)m->shared_load_wavefronts, (unsigned long long)m->shared_store_wavefronts,
        (unsigned long long)m->bank_conflicts, (unsigned long long)m->atomics,
        (unsigned long long)m->barriers);
    printf("      %llu launches; loads and stores move %.2f times the least possible (%.0f bytes); %.2f "
           "flop/byte\n",
           (unsigned long long)m->launches,
           (double)(m->load_sectors + m->store_sectors) * 32.0 / m->cost.min_bytes, m->cost.min_bytes,
           m->cost.flop / m->cost.min_bytes);
    printf("      %.2f s on the host (software device, not a GPU time)\n", m->host_seconds);
}

static void tell_case(const struct check *check, int index)
{
    const struct verdict *verdict = &check->verdicts[index];
    int passed = 0;
    for (int i = 0; i <= index; i++) passed += check->chosen[i] && check->verdicts[i].state == STATE_PASS;
    if (verdict->state != STATE_PASS) return;
    if (passed == 1) printf("  measured on %s\n", check->device_name);
    printf("    %s: %s; extra memory %llu bytes\n", check->cases[index].name, verdict->shape,
           (unsigned long long)verdict->measurement.workspace_bytes);
    if (verdict->measurement.timed) tell_times(check, index);
    if (verdict->measurement.counted) tell_counters(&verdict->measurement);
}

/* 1 while neither the case nor, of times, the one that it is set beside is still to come. */
static int is_there(const struct check *check, int index)
{
    const int beside = check->cases[index].beside - 1;
    if (beside >= 0 && check->chosen[beside] && check->judged[beside] == 0) return 0;
    return !check->chosen[index] || check->judged[index] > 0;
}

void bench_report(struct check *check)
{
    workers_merge(check, 1);
    for (; check->reported < check->case_count && is_there(check, check->reported); check->reported++)
        if (check->chosen[check->reported]) tell_case(check, check->reported);
    fflush(stdout);
    workers_merge(check, 0);
}
