/* The page of all measured numbers, lesson by lesson. */
#include "measured.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "writing.h"
#include "tree.h"

static double value_of(const struct records *records, const struct record *like, const char *metric)
{
    const struct record *record = find_record(records, like->lesson, like->kernel, like->case_name, metric);
    return record == NULL ? NAN : record->value;
}

/* A cell: the number, or nothing. */
static void add_cell(struct text *out, double value, double factor, const char *after)
{
    double scaled = value * factor;
    if (isnan(value))
        text_add(out, " |");
    else
        text_print(out,
                   scaled >= 9.995 || scaled == 0 ? " %.0f%s |"
                   : scaled >= 0.0995             ? " %.2f%s |"
                                                  : " %.3g%s |",
                   scaled, after);
}

static void add_time(struct text *out, double us)
{
    if (us >= 1000)
        text_print(out, us >= 9999.5 ? " %.1f ms |" : " %.2f ms |", us / 1000);
    else
        text_print(out, us >= 99.95 ? " %.0f µs |" : " %.1f µs |", us);
}

static int add_times(struct text *out, const struct records *gpu, const char *number)
{
    int rows = 0;
    for (size_t i = 0; i < gpu->count; i++) {
        const struct record *record = &gpu->at[i];
        if (strcmp(record->lesson, number) != 0 || strcmp(record->metric, "time") != 0) continue;
        if (rows++ == 0)
            text_add(out, "| part or kernel | case | time | TFLOP/s | GB/s | of the copy rate | measured by "
                          "|\n|---|---|---|---|---|---|---|\n");
        const char *slash = strchr(record->case_name, '/');
        text_print(out, "| `%s` | %s |", record->kernel, slash == NULL ? record->case_name : slash + 1);
        add_time(out, record->value);
        add_cell(out, value_of(gpu, record, "tflops"), 1, "");
        add_cell(out, value_of(gpu, record, "gb_per_s"), 1, "");
        add_cell(out, value_of(gpu, record, "share_of_copy"), 100, "%");
        text_print(out, " %.*s, %s |\n", (int)strcspn(record->command, ":"), record->command, record->date);
    }
    if (rows > 0) text_add(out, "\n");
    return rows;
}

static int add_counters(struct text *out, const struct records *simt, const char *number)
{
    int rows = 0;
    for (size_t i = 0; i < simt->count; i++) {
        const struct record *record = &simt->at[i];
        if (strcmp(record->lesson, number) != 0 || strcmp(record->metric, "load_sectors") != 0) continue;
        if (rows++ == 0)
            text_add(out, "Exact counters of the software device:\n\n"
                          "| case | load sectors | store sectors | shared wavefronts, load and store | bank "
                          "conflicts |\n|---|---|---|---|---|\n");
        text_print(out, "| %s | %.0f |", record->case_name, record->value);
        text_print(out, " %.0f |", value_of(simt, record, "store_sectors"));
        text_print(out, " %.0f, %.0f |", value_of(simt, record, "shared_load_wavefronts"),
                   value_of(simt, record, "shared_store_wavefronts"));
        text_print(out, " %.0f |\n", value_of(simt, record, "bank_conflicts"));
    }
    if (rows > 0) text_add(out, "\n");
    return rows;
}

/* A section for the lesson, if anything of it was recorded. */
static void add_lesson(struct text *out, const struct records *gpu, const struct records *simt,
                       const struct lesson_folder *lesson)
{
    struct text tables = {0};
    int rows = add_times(&tables, gpu, lesson->number);
    rows += add_counters(&tables, simt, lesson->number);
    if (rows > 0) {
        text_print(out,
                   "## %s\n\nThe lesson: [%s](../../lessons/%s/README.md). Why: "
                   "[notes](../../solutions/%s/NOTES.md).\n\n",
                   lesson->folder, lesson->title, lesson->folder, lesson->folder);
        text_add(out, tables.data);
    }
    text_free(&tables);
}

static void add_limits(struct text *out, const struct records *gpu)
{
    text_add(out, "## Limits of the device\n\n| | case | | measured by |\n|---|---|---|---|\n");
    for (size_t i = 0; i < gpu->count; i++) {
        const struct record *record = &gpu->at[i];
        if (strcmp(record->lesson, "limits") != 0) continue;
        text_print(out, "| %s | %s | %g %s | %s, %s |\n", record->kernel, record->case_name, record->value,
                   strcmp(record->unit, "1") == 0 ? "" : record->unit, record->command, record->date);
    }
    text_add(out, "\n");
}

int write_measured_page(const struct records *gpu, const struct records *simt, const char *folder,
                        const char *tree)
{
    static const char *const charts[][2] = {
        {"ladder", "The same attention, lesson by lesson."},
        {"roofline", "The fastest part of each lesson at the problem of the ladder or, if it has none, at "
                     "its fastest case."},
        {"sequence_sweep", "Speed by length of the sequence."},
        {"heads_sweep", "One block per head needs heads: lesson 04 beside lesson 02."},
        {"decode", "Lesson 06: bytes per second."},
        {"product_sweep", "Products by size."},
        {"product_steps", "The steps to lesson 10, in f32 at 4096."},
        {"attention_steps", "The steps to lesson 12, beside FlashAttention-2 and cuDNN."},
        {"hopper_attention_64_steps", "The steps to lesson 16, head_dim 64."},
        {"hopper_attention_128_steps", "The steps to lesson 16, head_dim 128."}};
    static struct lesson_folder lessons[LESSONS_MAX];
    int count = find_lessons(tree, lessons);
    struct text out = {0};
    char path[2048];
    text_print(&out,
               "# Every measured number\n\nMeasured on an %s. This page is written by `cmake --build build "
               "--target charts` from "
               "[the files of results](README.md), which say how and when.\n\n",
               gpu->count > 0 ? gpu->at[0].device : "unknown device");
    for (size_t i = 0; i < sizeof charts / sizeof charts[0]; i++) {
        snprintf(path, sizeof path, "%s/%s.svg", folder, charts[i][0]);
        char *there = read_whole(path);
        if (there != NULL) text_print(&out, "![%s](%s.svg)\n\n", charts[i][1], charts[i][0]);
        free(there);
    }
    for (int i = 0; i < count; i++) add_lesson(&out, gpu, simt, &lessons[i]);
    add_limits(&out, gpu);
    snprintf(path, sizeof path, "%s/measured.md", folder);
    int status = write_if_changed(path, out.data);
    text_free(&out);
    return status;
}
