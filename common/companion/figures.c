/**
 * @file figures.c
 * @brief docs/results/DEVICE.csv: every figure measured on a device, one per row. docs/results/README.md
 *        describes the format.
 */
#include "figures.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/source_sum.h"
#include "base/terminal.h"
#include "base/text.h"
#include "course/command.h"
#include "course/course.h"
#include "course/device.h"
#include "course/places.h"
#include "judging/results.h"
#include "progress.h"
#include "skeleton.h"

static const char columns[] = "date,device,toolkit,lesson,kernel,case,metric,value,unit,command";
enum { FIGURE_COLUMNS = 10 };

/* ---- the file ----------------------------------------------------------------------------------------------- */

/* The columns in the order of the file. */
static char **field_of(struct figure *figure, size_t column)
{
    char **const fields[FIGURE_COLUMNS] = {
        &figure->date,      &figure->device, &figure->toolkit, &figure->lesson, &figure->kernel,
        &figure->test_case, &figure->metric, &figure->value,   &figure->unit,   &figure->command};
    return fields[column];
}

static void append_figure(struct figures *figures, const struct figure *figure)
{
    /* the array is full whenever the count is a power of two */
    if ((figures->count & (figures->count - 1)) == 0) {
        struct figure *items = must_allocate((2 * figures->count + 1) * sizeof *items);
        if (figures->count) memcpy(items, figures->items, figures->count * sizeof *items);
        free(figures->items);
        figures->items = items;
    }
    figures->items[figures->count++] = *figure;
}

int figures_read(const char *path, struct figures *figures)
{
    struct text content = {0};
    int error = read_file(path, &content), heading = 1;
    *figures = (struct figures){0};
    if (error == ENOENT) return EXIT_PASS;
    if (error) return complain("%s cannot be read: %s.", path, strerror(error));
    const char *rest = content.data;
    for (char *line; (line = next_word(&rest, '\n')) != NULL; free(line)) {
        struct figure figure = {0};
        const char *at = line;
        if (heading && strcmp(line, columns) != 0)
            return complain("%s does not begin with the line \"%s\".", path, columns);
        for (size_t i = 0; !heading && *line && i < FIGURE_COLUMNS; i++)
            *field_of(&figure, i) = at != NULL ? csv_field(&at) : copy_string("");
        if (!heading && *line) append_figure(figures, &figure);
        heading = 0;
    }
    text_free(&content);
    return EXIT_PASS;
}

static int compare_keys(const void *one, const void *two)
{
    const struct figure *a = one, *b = two;
    int order = strcmp(a->lesson, b->lesson);
    if (!order) order = strcmp(a->kernel, b->kernel);
    if (!order) order = strcmp(a->test_case, b->test_case);
    return order ? order : strcmp(a->metric, b->metric);
}

void figures_put(struct figures *figures, const struct figure *figure, int exact)
{
    for (size_t i = 0; i < figures->count; i++) {
        struct figure *old = &figures->items[i];
        if (compare_keys(old, figure) != 0) continue;
        if (!exact || strcmp(old->value, figure->value) != 0) *old = *figure;
        return;
    }
    append_figure(figures, figure);
}

int figures_write(const char *path, struct figures *figures)
{
    struct text file = {0};
    if (figures->count) qsort(figures->items, figures->count, sizeof *figures->items, compare_keys);
    text_print(&file, "%s\n", columns);
    for (size_t i = 0; i < figures->count; i++) {
        for (size_t column = 0; column < FIGURE_COLUMNS; column++) {
            const char *value = *field_of(&figures->items[i], column);
            if (column && !*value) text_append(&file, ",", 1); /* an empty field is nothing but a comma */
            if (*value) csv_append(&file, value);
        }
        text_append(&file, "\n", 1);
    }
    char *slash = strrchr(path, '/'), *folder = format_string("%.*s", (int)(slash - path), path);
    int error = make_folders(folder);
    if (!error) error = write_file(path, file.data, file.length);
    free(folder);
    text_free(&file);
    return error ? complain("%s cannot be written: %s.", path, strerror(error)) : EXIT_PASS;
}

double figures_value(const struct figures *figures, const char *lesson, const char *kernel,
                     const char *test_case, const char *metric)
{
    for (size_t i = 0; i < figures->count; i++) {
        const struct figure *figure = &figures->items[i];
        if (strcmp(figure->lesson, lesson) == 0 && strcmp(figure->kernel, kernel) == 0 &&
            strcmp(figure->test_case, test_case) == 0 && strcmp(figure->metric, metric) == 0)
            return atof(figure->value);
    }
    return NAN;
}

char *figures_path(const char *device)
{
    char *name = copy_string(device);
    for (char *letter = name; *letter; letter++)
        *letter = isalnum((unsigned char)*letter) ? (char)tolower((unsigned char)*letter) : '_';
    char *path = format_string("%s/docs/results/%s.csv", course_source_dir(), name);
    free(name);
    return path;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

char *figures_of_some_gpu(struct figures *figures)
{
    enum { MOST_FILES = 64 };
    char *names[MOST_FILES], *device = NULL;
    size_t count = 0;
    char *folder_path = format_string("%s/docs/results", course_source_dir());
    DIR *folder = opendir(folder_path);
    for (struct dirent *entry; folder != NULL && count < MOST_FILES && (entry = readdir(folder)) != NULL;) {
        size_t length = strlen(entry->d_name);
        if (length > 4 && strcmp(entry->d_name + length - 4, ".csv") == 0)
            names[count++] = copy_string(entry->d_name);
    }
    if (folder != NULL) closedir(folder);
    qsort(names, count, sizeof names[0], compare_names);
    for (size_t i = 0; i < count && device == NULL; i++) {
        char *path = format_string("%s/%s", folder_path, names[i]);
        int gpu = strcmp(names[i], "simt.csv") != 0;
        if (gpu && figures_read(path, figures) == EXIT_PASS && figures->count)
            device = copy_string(figures->items[0].device);
        free(path);
    }
    free(folder_path);
    return device;
}

/* ---- what was measured -------------------------------------------------------------------------------------- */

const char *figures_device(enum device device)
{
    const char *model = device == DEVICE_GPU ? device_probe(DEVICE_GPU)->model : "simt";
    return model != NULL ? model : "gpu";
}

/* "CUDA 13.0", "GNU 12.2": a change after the second number does not change what is measured. */
static char *toolkit_of(enum device device)
{
    const char *version = device == DEVICE_GPU ? places.cuda_version : places.cxx_version;
    size_t length = strcspn(version, ".");
    if (version[length] != '\0') length += 1 + strcspn(version + length + 1, ".");
    return format_string("%s %.*s", device == DEVICE_GPU ? "CUDA" : places.cxx_id, (int)length, version);
}

static struct figure new_figure(enum device device, const char *lesson, const char *kernel,
                                const char *test_case, const char *command)
{
    static char date[16], *toolkit[DEVICE_COUNT];
    time_t now = time(NULL);
    struct tm parts;
    strftime(date, sizeof date, "%Y-%m-%d", gmtime_r(&now, &parts));
    if (toolkit[device] == NULL) toolkit[device] = toolkit_of(device);
    return (struct figure){.date = date,
                           .device = (char *)figures_device(device),
                           .toolkit = toolkit[device],
                           .lesson = copy_string(lesson),
                           .kernel = copy_string(kernel),
                           .test_case = copy_string(test_case),
                           .command = copy_string(command)};
}

static void put_value(struct figures *figures, struct figure figure, const char *metric, double value,
                      const char *unit, int exact)
{
    if (!isfinite(value)) return;
    int whole = fabs(value) < 1e15 && value == floor(value);
    figure.metric = copy_string(metric);
    figure.value = format_string(whole ? "%.0f" : "%.6g", value);
    figure.unit = copy_string(unit);
    figures_put(figures, &figure, exact);
}

/* Operations per second: of integers they are not floating-point operations. */
static void put_rate(struct figures *figures, struct figure figure, const struct result_row *row, double us)
{
    int integers = strstr(row->shape, "int8") != NULL;
    put_value(figures, figure, integers ? "tops" : "tflops", row->flop / us * 1e-6,
              integers ? "TOP/s" : "TFLOP/s", 0);
}

static void put_times(struct figures *figures, struct figure figure, const struct result_row *row)
{
    double copy = device_fact(device_measure(), "copy_gbps"), gbps = row->min_bytes / row->median_us * 1e-3;
    if (!(row->median_us > 0)) return;
    put_value(figures, figure, "time", row->median_us, "us", 0);
    put_value(figures, figure, "time_p10", row->p10_us, "us", 0);
    put_value(figures, figure, "time_p90", row->p90_us, "us", 0);
    put_value(figures, figure, "flop", row->flop, "flop", 0);
    put_value(figures, figure, "min_bytes", row->min_bytes, "B", 0);
    put_rate(figures, figure, row, row->median_us);
    put_value(figures, figure, "gb_per_s", gbps, "GB/s", 0);
    if (copy > 0) put_value(figures, figure, "share_of_copy", gbps / copy, "1", 0);
    put_value(figures, figure, "workspace", row->workspace_bytes, "B", 0);
    put_value(figures, figure, "launches", row->launches, "1", 0);
    put_value(figures, figure, "occupancy", row->occupancy, "1", 0);
}

static void put_counters(struct figures *figures, struct figure figure, const struct result_row *row)
{
    const struct {
        const char *metric;
        double value;
    } counters[] = {{"load_requests", row->load_requests},
                    {"load_sectors", row->load_sectors},
                    {"store_requests", row->store_requests},
                    {"store_sectors", row->store_sectors},
                    {"shared_load_wavefronts", row->shared_load_wavefronts},
                    {"shared_store_wavefronts", row->shared_store_wavefronts},
                    {"bank_conflicts", row->bank_conflicts},
                    {"atomics", row->atomics},
                    {"barriers", row->barriers},
                    {"launches", row->launches}};
    if (!(row->load_sectors + row->store_sectors > 0)) return;
    for (size_t i = 0; i < sizeof counters / sizeof counters[0]; i++)
        put_value(figures, figure, counters[i].metric, counters[i].value, "1", 1);
    put_value(figures, figure, "flop", row->flop, "flop", 1);
    put_value(figures, figure, "min_bytes", row->min_bytes, "B", 1);
    put_value(figures, figure, "workspace", row->workspace_bytes, "B", 1);
}

/* The name of a limit for `device_limits`, and in the file. */
static const struct {
    const char *fact, *kernel, *test_case, *metric, *unit;
} limits[] = {
    {"copy_gbps", "copy", "", "gb_per_s", "GB/s"},
    {"read_gbps", "read", "", "gb_per_s", "GB/s"},
    {"launch_us", "launch", "", "time", "us"},
    {"graph_node_us", "graph node", "", "time", "us"},
    {"f32_tflops", "cuBLAS f32", "", "tflops", "TFLOP/s"},
    {"f16_tflops", "cuBLAS f16", "", "tflops", "TFLOP/s"},
    {"f16_4096_tflops", "cuBLAS f16", "4096", "tflops", "TFLOP/s"},
    {"f16_8192_tflops", "cuBLAS f16", "8192", "tflops", "TFLOP/s"},
    {"peak_gbps", "peak", "", "gb_per_s", "GB/s"},
    {"peak_tflops", "peak f32", "", "tflops", "TFLOP/s"},
    {"peak_f16_tflops", "peak f16", "", "tflops", "TFLOP/s"},
    {"sms", "sms", "", "count", "1"},
};

static void put_limits(struct figures *figures, const char *command)
{
    const struct device_facts *facts = device_measure();
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        double value = device_fact(facts, limits[i].fact);
        if (!(value > 0)) continue;
        struct figure figure =
            new_figure(DEVICE_GPU, "limits", limits[i].kernel, limits[i].test_case, command);
        put_value(figures, figure, limits[i].metric, value, limits[i].unit, 0);
    }
}

/* What a library takes is a figure for every lesson that has the case. */
static void put_peers(struct figures *figures, const struct result_row *row, const char *command)
{
    const struct device_facts *facts = device_measure();
    for (size_t i = 0; i < facts->peer_count; i++) {
        const struct device_peer *peer = &facts->peer[i];
        if (strcmp(peer->test_case, row->test_case) != 0) continue;
        struct figure figure = new_figure(DEVICE_GPU, row->lesson, peer->library, row->test_case, command);
        put_value(figures, figure, "time", peer->us, "us", 0);
        if (row->flop > 0) put_rate(figures, figure, row, peer->us);
    }
}

void figures_put_results(struct figures *figures, enum device device, const struct results *results,
                         const char *kernel, const char *command)
{
    for (size_t i = 0; i < results->count; i++) {
        const struct result_row *row = &results->rows[i];
        struct figure figure =
            new_figure(device, row->lesson, kernel != NULL ? kernel : row->part, row->test_case, command);
        if (row->state != STATE_PASS) continue;
        if (device == DEVICE_GPU) {
            put_times(figures, figure, row);
            put_peers(figures, row, command);
        } else {
            put_counters(figures, figure, row);
        }
    }
    if (device == DEVICE_GPU) put_limits(figures, command);
}

/* Which kernel that was: the sum of its code. The unit is the commit, where git knows one. */
static void put_source(struct figures *figures, const struct results *results, const char *command)
{
    const char *head[] = {"git", "-C", course_source_dir(), "rev-parse", "--short=8", "HEAD", NULL};
    char *commit = ask_git(head);
    if (commit != NULL) commit[strcspn(commit, "\n")] = '\0';
    for (size_t i = 0; i < results->count; i++) {
        const struct lesson_folder *lesson = course_find_lesson(results->rows[i].lesson);
        if (lesson == NULL || results->rows[i].state != STATE_PASS) continue;
        struct figure figure = new_figure(DEVICE_GPU, lesson->number, "solution", "", command);
        put_value(figures, figure, "source", source_sum(course_source_dir(), lesson->name),
                  commit != NULL ? commit : "", 0);
    }
    free(commit);
}

int figures_record(enum device device, const struct results *results, const char *command)
{
    struct figures figures;
    char *path = figures_path(figures_device(device));
    int code = figures_read(path, &figures);
    if (code == EXIT_PASS) {
        figures_put_results(&figures, device, results, NULL, command);
        if (device == DEVICE_GPU) put_source(&figures, results, command);
        code = figures_write(path, &figures);
    }
    free(path);
    return code;
}

void figures_say_recorded(enum device device)
{
    char *path = figures_path(figures_device(device));
    printf("recorded in %s\n", course_short_path(path));
    free(path);
}

char *figures_own_path(const char *device)
{
    char *path = figures_path(device);
    char *own = format_string("%s/results%s", progress_folder(), strrchr(path, '/'));
    free(path);
    return own;
}

void figures_remember_own(enum device device, const struct results *results, const char *command)
{
    struct figures figures;
    char *path = figures_own_path(figures_device(device));
    if (figures_read(path, &figures) == EXIT_PASS) {
        figures_put_results(&figures, device, results, NULL, command);
        figures_write(path, &figures);
    }
    free(path);
}

/* ---- drift ---------------------------------------------------------------------------------------------------- */

int figures_compare(const struct results *results)
{
    struct figures recorded, now = {0};
    char *path = figures_path("simt");
    size_t known = 0, other = 0;
    if (figures_read(path, &recorded) != EXIT_PASS) return EXIT_TROUBLE;
    figures_put_results(&now, DEVICE_SIMT, results, NULL, "");
    for (size_t i = 0; i < now.count; i++) {
        for (size_t j = 0; j < recorded.count; j++) {
            const struct figure *a = &now.items[i], *b = &recorded.items[j];
            if (compare_keys(a, b) != 0 || strcmp(a->toolkit, b->toolkit) != 0) continue;
            known++;
            if (strcmp(a->value, b->value) == 0) continue;
            other++;
            printf("%s %s: %s is %s, but recorded as %s\n", a->lesson, a->test_case, a->metric, a->value,
                   b->value);
        }
    }
    printf("%zu figures as recorded in %s, %zu others, %zu not recorded for this compiler\n", known - other,
           course_short_path(path), other, now.count - known);
    free(path);
    if (other) printf("if that is meant: %s bench NN --solution --record\n", program_name());
    return other ? EXIT_FAIL : EXIT_PASS;
}
