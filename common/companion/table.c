/**
 * @file table.c
 * @brief The tables that tour and bench print, at most 100 columns wide.
 *
 * On a GPU times are compared with what this very device reached in the same run. On the software device no
 * time is worth printing; its counters are exact, and are compared with the least possible number of sectors:
 * every input read once, every output written once, 32 bytes per sector.
 */
#include "table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/terminal.h"
#include "base/text.h"
#include "course/course.h"
#include "course/device.h"
#include "judging/judging.h"
#include "judging/results.h"

enum { NAME_WIDTH = 34, TABLE_WIDTH = 100 };

void print_device_heading(enum device device)
{
    if (device == DEVICE_SIMT) {
        printf("%ssimt%s   software device, not a GPU time: exact counters, the same on every machine\n",
               colour_on(COLOUR_BOLD), colour_off());
        return;
    }
    const struct device_facts *probe = device_probe(device), *limits = device_measure();
    printf("%sgpu%s    %s, sm_%d\n", colour_on(COLOUR_BOLD), colour_off(), probe->model, probe->arch);
    if (limits->count == 0) return;
    printf("       measured in this run: copy %.0f GB/s, reading %.0f GB/s, launch %.1f us",
           device_fact(limits, "copy_gbps"), device_fact(limits, "read_gbps"),
           device_fact(limits, "launch_us"));
    if (device_fact(limits, "f32_tflops") > 0) {
        printf(",\n       cuBLAS f32 %.1f TFLOP/s, f16 %.0f TFLOP/s", device_fact(limits, "f32_tflops"),
               device_fact(limits, "f16_tflops"));
    }
    printf("\n");
}

void print_table_head(enum device device)
{
    if (device == DEVICE_GPU) {
        printf("\n%-*s %11s %9s %9s %19s %12s\n", NAME_WIDTH, "lesson, case", "time", "TFLOP/s", "GB/s",
               "of measured limit", "lesson before");
    } else {
        printf("\n%-*s %14s %13s %11s %12s %10s\n", NAME_WIDTH, "lesson, case", "load sectors",
               "store sectors", "conflicts", "wavefronts", "minimum is");
    }
}

void print_table_foot(enum device device)
{
    if (device == DEVICE_GPU) {
        printf("of measured limit: of the one that allows the least speed; (latency): the problem is too "
               "small for\n"
               "either. Products of bytes: of twice cuBLAS f16. lesson before: how many times as fast as the "
               "same\n"
               "problem in an earlier lesson.\n");
    } else {
        printf("minimum is: the sectors that have to be moved at the least (inputs once, outputs once), as a "
               "share\n"
               "of the sectors that are moved. A sector is 32 bytes.\n");
    }
}

/* Shortens from the left, since the names of a lesson's cases begin alike. */
static const char *fitting_name(const char *name)
{
    size_t length = strlen(name);
    return length > NAME_WIDTH - 3 ? name + length - (NAME_WIDTH - 3) : name;
}

/* The limit that holds this kernel back: the one that allows the least speed. */
static void describe_limit(const struct result_row *row, char *text, size_t size)
{
    const struct device_facts *limits = device_measure();
    /* twice the rate of halves according to the data sheet: it is not measured */
    int bytes = strstr(row->shape, "int8") != NULL;
    int half = bytes || strstr(row->shape, "f16") != NULL; /* f16 or bf16 */
    double copy = device_fact(limits, "copy_gbps");
    double product = (bytes ? 2 : 1) * device_fact(limits, half ? "f16_tflops" : "f32_tflops");
    double memory_us = copy > 0 ? row->min_bytes / copy * 1e-3 : 0;
    double compute_us = product > 0 ? row->flop / product * 1e-6 : 0;
    double least_us = memory_us > compute_us ? memory_us : compute_us;
    if (!(least_us > 0)) {
        snprintf(text, size, "-");
    } else if (least_us < 2 * device_fact(limits, "launch_us")) {
        snprintf(text, size, "%.0f%% (latency)", 100 * least_us / row->median_us);
    } else {
        snprintf(text, size, "%.0f%% of %s", 100 * least_us / row->median_us,
                 memory_us > compute_us ? "copy rate"
                 : bytes                ? "2 cuBLAS f16"
                 : half                 ? "cuBLAS f16"
                                        : "cuBLAS f32");
    }
}

/* The same problem in an earlier lesson, the latest of them; NULL if there is none. */
static const struct result_row *same_problem(const struct result_row *row, const struct results *before)
{
    for (size_t i = before != NULL ? before->count : 0; i-- > 0;) {
        const struct result_row *other = &before->rows[i];
        if (strcmp(other->lesson, row->lesson) != 0 && strcmp(other->shape, row->shape) == 0 &&
            other->median_us > 0) { /* the name of the part does not matter: "attention", "f32" */
            return other;
        }
    }
    return NULL;
}

static void print_time_row(const char *name, const struct result_row *row, const char *ratio)
{
    char limit[32], time[32];
    describe_limit(row, limit, sizeof limit);
    if (row->median_us < 1000) {
        snprintf(time, sizeof time, "%.2f us", row->median_us);
    } else {
        snprintf(time, sizeof time, "%.3f ms", row->median_us / 1000);
    }
    printf("   %-*.*s %11s %9.2f %9.1f %19s %12s\n", NAME_WIDTH - 3, NAME_WIDTH - 3, name, time,
           row->flop / row->median_us * 1e-6, row->min_bytes / row->median_us * 1e-3, limit, ratio);
}

/* Times of this GPU's libraries at the case above. */
static void print_library_rows(const struct result_row *row)
{
    const struct device_facts *facts = device_measure();
    for (size_t i = 0; i < facts->peer_count; i++) {
        if (strcmp(facts->peer[i].test_case, row->test_case) != 0) continue;
        struct result_row library = *row;
        char name[NAME_WIDTH];
        library.median_us = facts->peer[i].us;
        snprintf(name, sizeof name, "  %s does it in", facts->peer[i].library);
        if (library.median_us > 0) print_time_row(name, &library, "-");
    }
}

static void describe_ratio(const struct result_row *row, const struct results *before, char text[32])
{
    const struct result_row *other = same_problem(row, before);
    snprintf(text, 32, "-");
    if (other != NULL) snprintf(text, 32, "%.2fx", other->median_us / row->median_us);
}

static void print_time(const struct result_row *row, const struct results *before)
{
    char ratio[32];
    describe_ratio(row, before, ratio);
    print_time_row(fitting_name(row->test_case), row, ratio);
    print_library_rows(row);
}

static void print_counters(const struct result_row *row)
{
    char loads[32], stores[32], conflicts[32], wavefronts[32], least[32];
    double moved = row->load_sectors + row->store_sectors;
    snprintf(least, sizeof least, "%.1f%%", 100 * row->min_bytes / SECTOR_BYTES / moved);
    printf("   %-*.*s %14s %13s %11s %12s %10s\n", NAME_WIDTH - 3, NAME_WIDTH - 3,
           fitting_name(row->test_case), grouped_number(loads, row->load_sectors),
           grouped_number(stores, row->store_sectors), grouped_number(conflicts, row->bank_conflicts),
           grouped_number(wavefronts, row->shared_load_wavefronts + row->shared_store_wavefronts), least);
}

static int is_measured(const struct result_row *row, enum device device)
{
    if (row->state != STATE_PASS) return 0;
    return device == DEVICE_GPU ? row->median_us > 0 : row->load_sectors + row->store_sectors > 0;
}

static void print_left_out(const struct lesson_folder *lesson, const struct results *results)
{
    int count = results->count ? results->rows[0].left_out : 0;
    if (count == 0) return;
    printf("   %d case%s too large for the software device; names: check %s --list\n", count,
           count == 1 ? " is" : "s are", lesson->number);
}

void print_lesson_rows(const struct lesson_folder *lesson, enum device device, const struct judgement *check,
                       const struct judgement *bench, const struct results *before)
{
    if (check != NULL) {
        double points_max, points = results_points(&check->results, &points_max);
        printf("%s%s %-*s%s %s%s%s   %.1f of %.0f points, %zu cases\n", colour_on(COLOUR_BOLD),
               lesson->number, NAME_WIDTH - 3, lesson->topic, colour_off(),
               colour_on(state_colour(check->state)), state_name(check->state), colour_off(), points,
               points_max, check->results.count);
    }
    for (size_t i = 0; bench != NULL && i < bench->results.count; i++) {
        const struct result_row *row = &bench->results.rows[i];
        if (!is_measured(row, device)) {
            printf("   %-*.*s %s\n", NAME_WIDTH - 3, NAME_WIDTH - 3, fitting_name(row->test_case),
                   row->state == STATE_PASS ? "not measured" : state_name(row->state));
        } else if (device == DEVICE_GPU) {
            print_time(row, before);
        } else {
            print_counters(row);
        }
    }
    if (bench != NULL && device == DEVICE_SIMT) print_left_out(lesson, &bench->results);
}

/* ---- one line per lesson ---------------------------------------------------------------------------------- */

enum { TOPIC_WIDTH = 21, VERDICT_WIDTH = 11, COUNT_WIDTH = 5, CASE_WIDTH = 32, TIMED_CASE_WIDTH = 21 };

/* The case with the most work: operations on a GPU, sectors on simt. NULL if none was measured. */
static const struct result_row *largest_case(const struct results *results, enum device device)
{
    const struct result_row *largest = NULL;
    double most = 0;
    for (size_t i = 0; i < results->count; i++) {
        const struct result_row *row = &results->rows[i];
        double size = device == DEVICE_GPU ? row->flop : row->load_sectors + row->store_sectors;
        if (!is_measured(row, device) || !(size > most)) continue;
        most = size;
        largest = row;
    }
    return largest;
}

void print_line_head(enum device device)
{
    printf("   %-*s %-*s", TOPIC_WIDTH, "lesson", VERDICT_WIDTH + COUNT_WIDTH + 1, "verdict, cases");
    if (device == DEVICE_GPU)
        printf(" %-*s %10s %17s %6s\n", TIMED_CASE_WIDTH, "largest case", "time", "of limit", "before");
    else
        printf(" %-*s %12s %10s\n", CASE_WIDTH, "largest case", "sectors", "needed");
}

void print_line_foot(enum device device)
{
    if (device == DEVICE_GPU)
        printf(
            "of limit: share of the measured limit that binds; before: times as fast as the lesson before\n");
    else
        printf(
            "sectors: moved to and from device memory, 32 bytes each; needed: share that had to be moved\n");
}

/* A case's name to fit: without its part if the whole is too long; if that still is too long, its end
 * after two dots. */
static const char *short_name(const char *name, size_t width, char text[CASE_WIDTH + 1])
{
    const char *slash = strchr(name, '/'), *own = slash != NULL && strlen(name) > width ? slash + 1 : name;
    size_t length = strlen(own);
    if (length > width)
        snprintf(text, width + 1, "..%s", own + length - (width - 2));
    else
        snprintf(text, width + 1, "%s", own);
    return text;
}

void print_lesson_line(const struct lesson_folder *lesson, enum device device, const struct judgement *check,
                       const struct judgement *bench, const struct results *before)
{
    const struct result_row *row = largest_case(&bench->results, device);
    char name[CASE_WIDTH + 1];
    printf("%s%s%s %-*.*s %s%-*s%s %*zu", colour_on(COLOUR_BOLD), lesson->number, colour_off(), TOPIC_WIDTH,
           TOPIC_WIDTH, lesson->topic, colour_on(state_colour(check->state)), VERDICT_WIDTH,
           state_name(check->state), colour_off(), COUNT_WIDTH, check->results.count);
    if (row != NULL && device == DEVICE_GPU) {
        char limit[32], time[32], ratio[32];
        describe_limit(row, limit, sizeof limit);
        describe_ratio(row, before, ratio);
        snprintf(time, sizeof time, row->median_us < 1000 ? "%.2f us" : "%.3f ms",
                 row->median_us < 1000 ? row->median_us : row->median_us / 1000);
        printf(" %-*s %10s %17s %6s", TIMED_CASE_WIDTH, short_name(row->test_case, TIMED_CASE_WIDTH, name),
               time, limit, ratio);
    } else if (row != NULL) {
        char sectors[32];
        double moved = row->load_sectors + row->store_sectors;
        printf(" %-*s %12s %9.1f%%", CASE_WIDTH, short_name(row->test_case, CASE_WIDTH, name),
               grouped_number(sectors, moved), 100 * row->min_bytes / SECTOR_BYTES / moved);
    }
    printf("\n");
}

static int shown_before(const struct results *results, size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (strcmp(results->rows[i].test_case, results->rows[index].test_case) == 0 &&
            strcmp(results->rows[i].shape, results->rows[index].shape) == 0) {
            return 1;
        }
    }
    return 0;
}

void print_shapes(const struct results *results)
{
    int printed = 0;
    for (size_t i = 0; i < results->count; i++) {
        const struct result_row *row = &results->rows[i];
        if (shown_before(results, i)) continue;
        if (!printed++) printf("\nshapes\n");
        int wide = NAME_WIDTH + 1 + (int)strlen(row->shape) > TABLE_WIDTH;
        printf("   %-*.*s%s%.*s\n", wide ? 0 : NAME_WIDTH - 2, NAME_WIDTH - 3, fitting_name(row->test_case),
               wide ? "\n      " : "", TABLE_WIDTH - 6, row->shape);
    }
}
