/*
 * Draws the charts of the measured results. Ours, and not gnuplot's: the test docs.charts compares bytes, which change with
 * gnuplot's version, and the colours are the site's, light and dark.
 *
 *     draw_charts GPU.csv DIR      writes DIR/ladder.svg, ...
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plot.h"
#include "records.h"
#include "base/svg.h"
#include "writing.h"

static const char SHARED_PROBLEM[] = "heads_16_len_2048";

/* What stands behind the part's name: two lessons solve the same problem where this agrees. */
static const char *problem(const struct record *record)
{
    const char *slash = strchr(record->case_name, '/');
    return slash == NULL ? record->case_name : slash + 1;
}

/* The whole of a lesson, as against a kernel of it, a rival or an experiment: rows of the checker's own parts. */
static int is_part(const struct record *record)
{
    size_t length = strlen(record->kernel);
    return strncmp(record->case_name, record->kernel, length) == 0 && record->case_name[length] == '/';
}

static int is_time(const struct record *record)
{
    return strcmp(record->metric, "time") == 0;
}

static double limit(const struct records *records, const char *kernel, const char *metric)
{
    const struct record *record = find_record(records, "limits", kernel, "", metric);
    return record == NULL ? NAN : record->value;
}

static const char *device_of(const struct records *records)
{
    return records->count > 0 ? records->at[0].device : "no device";
}

static void path_of(char *path, size_t size, const char *folder, const char *name)
{
    snprintf(path, size, "%s/%s.svg", folder, name);
}

/* ---- the ladder: one problem, lesson by lesson ---------------------------------------------------------------------- */

static int draw_ladder(const struct records *records, const char *folder)
{
    const struct record *steps[32];
    int count = 0;
    for (size_t i = 0; i < records->count && count < 32; i++) {
        const struct record *record = &records->at[i];
        if (is_time(record) && is_part(record) && strcmp(problem(record), SHARED_PROBLEM) == 0)
            steps[count++] = record;
    }
    if (count == 0) return 0;
    double least = INFINITY, most = 0;
    for (int i = 0; i < count; i++) {
        least = fmin(least, steps[i]->value / 1e3);
        most = fmax(most, steps[i]->value / 1e3);
    }
    struct svg svg = {.width = 760, .height = 74 + 34.0 * count + 30};
    struct axis x = {pow(10, floor(log10(least))), pow(10, ceil(log10(most))), 110, 640, 10};
    struct axis y = {0, 1, 60 + 34.0 * count, 60, 0};
    svg_title(&svg, 16, 24, 15, SVG_START,
              "Attention, 16 heads, 2048 queries and keys, head_dim 64, on an %s", device_of(records));
    svg_text(&svg, 16, 43, 12.5, SVG_START, "faint",
             "milliseconds, logarithmic: shorter is faster; behind it, how many times as fast as lesson 01");
    for (double tick = x.least; tick <= x.most * 1.001; tick *= 10) {
        svg_line(&svg, axis_place(&x, tick), y.to, axis_place(&x, tick), y.from, "line", 0.6, NULL);
        svg_text(&svg, axis_place(&x, tick), y.from + 17, 12, SVG_MIDDLE, "faint", "%g", tick);
    }
    for (int i = 0; i < count; i++) {
        double top = y.to + 34.0 * i + 6, ms = steps[i]->value / 1e3;
        int f16 = strcmp(steps[i]->kernel, "f16") == 0;
        svg_text(&svg, 100, top + 15, 13, SVG_END, "ink", "%s%s", steps[i]->lesson,
                 f16                                     ? " in f16"
                 : strcmp(steps[i]->kernel, "bf16") == 0 ? " in bf16"
                                                         : "");
        svg_rect(&svg, x.from, top, axis_place(&x, ms) - x.from, 22, f16 ? "b" : "a", "none");
        svg_text(&svg, axis_place(&x, ms) + 7, top + 15, 12.5, SVG_START, "ink",
                 ms < 10 ? "%.2f ms, %.1f×" : "%.1f ms, %.1f×", ms, steps[0]->value / steps[i]->value);
    }
    char path[1024];
    path_of(path, sizeof path, folder, "ladder");
    return svg_write(&svg, path, "Time of each lesson's attention at the same problem");
}

/* ---- the roofline ---------------------------------------------------------------------------------------------------- */

struct dot {
    const struct record *record; /* of metric tflops */
    double intensity;
    char name[64];
};

static void draw_roofs(struct svg *svg, const struct records *records, const struct axis *x,
                       const struct axis *y)
{
    double copy = limit(records, "copy", "gb_per_s") / 1e3; // TB/s: TFLOP/s for each FLOP a byte
    static const struct { /* what the chip could do at its clock, and what a library reaches, for reference */
        const char *kernel, *text, *dashes;
        double times; /* tensor cores multiply bytes twice as fast as halves */
        int lower;    /* the label of a line close below another one */
    } roofs[] = {{"peak f32", "peak, f32", NULL, 1, 0},
                 {"cuBLAS f32", "cuBLAS f32 reaches", "5 4", 1, 1},
                 {"peak f16", "peak, f16 on tensor cores", NULL, 1, 0},
                 {"cuBLAS f16", "cuBLAS f16 reaches", "5 4", 1, 1},
                 {"peak f16", "peak, int8 on tensor cores", NULL, 2, 0}};
    double top = 0;
    for (size_t i = 0; i < sizeof roofs / sizeof roofs[0]; i++) {
        double roof = limit(records, roofs[i].kernel, "tflops") * roofs[i].times;
        if (isnan(roof)) continue;
        top = fmax(top, roof);
        double ridge = axis_place(x, roof / copy), level = axis_place(y, roof);
        svg_line(svg, ridge, level, x->to, level, "ink", roofs[i].dashes ? 1.0 : 1.6, roofs[i].dashes);
        /* Left of the ridge no kernel can be: there is room for words. */
        svg_text(svg, ridge - (roofs[i].lower ? 26 : 8), level + (roofs[i].lower ? 9 : 1), 12, SVG_END, "ink",
                 "%s: %.0f TFLOP/s", roofs[i].text, roof);
    }
    svg_line(svg, x->from, axis_place(y, copy * x->least), axis_place(x, top / copy), axis_place(y, top),
             "ink", 1.6, NULL);
    svg_text(svg, axis_place(x, 0.16) + 12, axis_place(y, 0.16 * copy) + 8, 12, SVG_START, "ink",
             "copy: %.0f GB/s", copy * 1e3);
}

/* The problem that most lessons share, if the part has it. */
static int is_shared(const struct record *record)
{
    return strcmp(problem(record), SHARED_PROBLEM) == 0;
}

/* One case of each lesson: its fastest part at the shared problem, or else its fastest case. */
static int collect_dots(const struct records *records, struct dot *dots, int most)
{
    int count = 0;
    for (size_t i = 0; i < records->count; i++) {
        const struct record *record = &records->at[i];
        if (strcmp(record->metric, "tflops") != 0 || !is_part(record)) continue;
        const struct record *flop =
            find_record(records, record->lesson, record->kernel, record->case_name, "flop");
        const struct record *bytes =
            find_record(records, record->lesson, record->kernel, record->case_name, "min_bytes");
        if (flop == NULL || bytes == NULL || bytes->value <= 0) continue;
        int at = 0;
        while (at < count && strcmp(dots[at].record->lesson, record->lesson) != 0) at++;
        if (at == most) continue;
        if (at < count) { // the shared problem comes before speed
            int gain = is_shared(record) - is_shared(dots[at].record);
            if (gain < 0 || (gain == 0 && dots[at].record->value >= record->value)) continue;
        }
        dots[at] = (struct dot){.record = record, .intensity = flop->value / bytes->value};
        snprintf(dots[at].name, sizeof dots[at].name, "%.2s %.40s", record->lesson, record->kernel);
        if (at == count) count++;
    }
    return count;
}

/* Does another dot lie where the label right of dot @p i would stand? Then it stands on the left. */
static int is_covered(const struct dot *dots, int count, int i, const struct axis *x, const struct axis *y,
                      double label)
{
    double px = axis_place(x, dots[i].intensity), length = 9 + 6.5 * (double)strlen(dots[i].name);
    for (int j = 0; j < count; j++) {
        double right = axis_place(x, dots[j].intensity) - px;
        if (right > 5 && right < length && fabs(axis_place(y, dots[j].record->value) - label) < 11) return 1;
    }
    return 0;
}

static int draw_roofline(const struct records *records, const char *folder)
{
    struct dot dots[40];
    double places[40];
    int count = collect_dots(records, dots, 40);
    struct svg svg = {.width = 760, .height = 520};
    struct axis x = {0.1, 10000, 70, 720, 10}, y = {0.1, 4000, 460, 70, 10};
    svg_title(&svg, 16, 24, 15, SVG_START, "Each lesson's kernel under the roof of an %s",
              device_of(records));
    plot_axes(&svg, &x, &y, "operations for each byte that must be moved", "TFLOP/s");
    draw_roofs(&svg, records, &x, &y);
    for (int i = 0; i < count; i++) places[i] = axis_place(&y, dots[i].record->value);
    for (int i = 0; i < count; i++) { // labels of dots that stand one above the other
        double group[40];
        int members[40], size = 0;
        for (int j = 0; j < count; j++)
            if (fabs(axis_place(&x, dots[j].intensity) - axis_place(&x, dots[i].intensity)) < 120) {
                members[size] = j;
                group[size++] = places[j];
            }
        spread_labels(group, size, 14);
        for (int j = 0; j < size; j++) places[members[j]] = group[j];
    }
    for (int i = 0; i < count; i++) {
        double px = axis_place(&x, dots[i].intensity), py = axis_place(&y, dots[i].record->value);
        int lesson = atoi(dots[i].record->lesson);
        svg_dot(&svg, px, py, 4.5, plot_colour(lesson));
        int left = is_covered(dots, count, i, &x, &y, places[i]);
        svg_text(&svg, left ? px - 9 : px + 9, places[i] + 4, 12, left ? SVG_END : SVG_START,
                 plot_colour(lesson), "%s", dots[i].name);
    }
    char path[1024];
    path_of(path, sizeof path, folder, "roofline");
    return svg_write(&svg, path, "Roofline with a measured kernel of each lesson");
}

/* Is this one of the kernels that lesson 10's program of steps times? They are named "step ..." and "tile ...". */
static int is_step(const struct record *record, const char *kind)
{
    return strncmp(record->kernel, kind, strlen(kind)) == 0;
}

/* ---- sweeps: cases whose names differ in one number ------------------------------------------------------------------- */

/* The number in a name like heads_16_len_<number>; 0 if the name is another. */
static double number_in(const char *name, const char *before, const char *after)
{
    size_t length = strlen(before);
    if (strncmp(name, before, length) != 0 || !isdigit((unsigned char)name[length])) return 0;
    char *end;
    double number = strtod(name + length, &end);
    return strcmp(end, after) == 0 ? number : 0;
}

/* Lesson and kernel; cuBLAS has one line for all lessons that multiply the same matrices. */
static void series_name(const struct record *record, char *name, size_t size)
{
    int product = strcmp(record->kernel, "cuBLAS") == 0;
    if (product)
        snprintf(name, size, "cuBLAS %s", strncmp(record->case_name, "f32/", 4) == 0 ? "f32" : "f16");
    else
        snprintf(name, size, "%.2s %.60s", record->lesson, record->kernel);
}

static int has_point(const struct series *series, double x)
{
    for (int i = 0; i < series->count; i++)
        if (series->x[i] == x) return 1;
    return 0;
}

/* All series of at least two points of a metric; their names say lesson and kernel. */
static int collect_series(const struct records *records, const char *lesson, const char *metric,
                          const char *before, const char *after, struct series *series)
{
    int count = 0;
    for (size_t i = 0; i < records->count; i++) {
        const struct record *record = &records->at[i];
        double number = number_in(problem(record), before, after);
        if (number == 0 || strcmp(record->metric, metric) != 0) continue;
        if (lesson != NULL && strcmp(record->lesson, lesson) != 0) continue;
        if (is_step(record, "step ") || is_step(record, "tile ")) continue; // of draw_steps()
        char name[96];
        series_name(record, name, sizeof name);
        int at = 0;
        while (at < count && strcmp(series[at].name, name) != 0) at++;
        if (at == PLOT_SERIES_MAX || (at < count && has_point(&series[at], number))) continue;
        if (at == count) {
            series[count++] = (struct series){.count = 0};
            snprintf(series[at].name, sizeof series[at].name, "%s", name);
        }
        series_add(&series[at], number, record->value * (strcmp(metric, "time") == 0 ? 1e-3 : 1));
    }
    int kept = 0;
    for (int i = 0; i < count; i++)
        if (series[i].count >= 2) series[kept++] = series[i];
    return kept;
}

/* One sweep: file name, title, which cases, which number. */
struct sweep {
    const char *file, *title, *lesson, *metric, *before, *after, *x_title, *y_title;
    double x_base, y_base;
};

static const struct sweep SWEEPS[] = {
    {"sequence_sweep", "Attention by length, 16 heads of 64", NULL, "tflops", "heads_16_len_", "",
     "queries and keys", "TFLOP/s", 2, 10},
    {"heads_sweep", "FlashAttention-1 and lesson 02 by number of heads, 2048 tokens", "04", "time", "heads_",
     "_len_2048", "heads, one block each in lesson 04", "ms", 2, 10},
    {"product_sweep", "Products of square matrices by size", NULL, "tflops", "square_", "",
     "rows and columns", "TFLOP/s", 2, 10},
};

static int draw_sweep(const struct records *records, const struct sweep *sweep, const char *folder)
{
    static struct series series[PLOT_SERIES_MAX];
    int count = collect_series(records, sweep->lesson, sweep->metric, sweep->before, sweep->after, series);
    if (count == 0) return 0; // not measured yet
    double least_x = INFINITY, most_x = 0, least_y = INFINITY, most_y = 0;
    for (int i = 0; i < count; i++)
        for (int j = 0; j < series[i].count; j++) {
            least_x = fmin(least_x, series[i].x[j]);
            most_x = fmax(most_x, series[i].x[j]);
            least_y = fmin(least_y, series[i].y[j]);
            most_y = fmax(most_y, series[i].y[j]);
        }
    struct svg svg = {.width = 760, .height = 420};
    size_t longest = 18; /* letters of the names right of the lines */
    for (int i = 0; i < count; i++) longest = fmax(longest, strlen(series[i].name));
    struct axis x = {least_x, most_x, 70, svg.width - 20 - 6.8 * (double)longest, sweep->x_base},
                y = {0, most_y * 1.1, 350, 70, sweep->y_base};
    if (sweep->y_base > 0) {
        y.least = pow(10, floor(log10(least_y)));
        y.most = pow(10, ceil(log10(most_y)));
    }
    svg_title(&svg, 16, 24, 15, SVG_START, "%s, on an %s", sweep->title, device_of(records));
    plot_axes(&svg, &x, &y, sweep->x_title, sweep->y_title);
    plot_series(&svg, &x, &y, series, count);
    char path[1024];
    path_of(path, sizeof path, folder, sweep->file);
    return svg_write(&svg, path, sweep->title);
}

/* ---- the steps to a lesson's kernel, beside what a library takes ---------------------------------------------------- */

static const struct steps {
    const char *file, *lesson, *problem, *title;
} STEPS[] = {
    {"product_steps", "10", "square_4096", "4096³ in f32, step by step"},
    {"attention_steps", "12", "heads_32_len_8192_d128", "8192 tokens, 32 heads of 128, in f16, step by step"},
    {"hopper_steps", "15", "square_8192_nt", "8192³ in f16, step by step"},
    {"hopper_attention_64_steps", "16", "heads_64_len_8192_d64",
     "8192 tokens, 64 heads of 64, in f16, step by step"},
    {"hopper_attention_128_steps", "16", "heads_32_len_8192_d128",
     "8192 tokens, 32 heads of 128, in f16, step by step"},
};

/* Of a step, or of a library; the part of the case does not matter but that it is f16's, where there are others. */
static int is_of_steps(const struct record *record, const struct steps *steps)
{
    int library = strcmp(record->kernel, "cuDNN") == 0 || strncmp(record->kernel, "PyTorch", 7) == 0;
    return strcmp(record->lesson, steps->lesson) == 0 && strcmp(record->metric, "tflops") == 0 &&
           strncmp(record->case_name, "bf16/", 5) != 0 && strcmp(problem(record), steps->problem) == 0 &&
           (is_step(record, "step ") || library);
}

static int draw_steps(const struct records *records, const struct steps *steps, const char *folder)
{
    const struct record *bars[32];
    int count = 0;
    double most = 0;
    for (size_t i = 0; i < records->count && count < 32; i++) {
        if (!is_of_steps(&records->at[i], steps)) continue;
        bars[count++] = &records->at[i];
        most = fmax(most, records->at[i].value);
    }
    if (count == 0) return 0; // not measured yet
    struct svg svg = {.width = 760, .height = 78 + 30.0 * count};
    struct axis x = {0, most * 1.12, 190, 720, 0};
    svg_title(&svg, 16, 24, 15, SVG_START, "%s, on an %s", steps->title, device_of(records));
    svg_text(&svg, 16, 43, 12.5, SVG_START, "faint", "TFLOP/s: longer is faster");
    for (int i = 0; i < count; i++) { // "step 1 naive": as they are sorted in the file, so in the chart
        double top = 56 + 30.0 * i;
        const char *name = bars[i]->kernel;
        int step = strncmp(name, "step ", 5) == 0, library = !step || strstr(name, "cuBLAS") != NULL;
        svg_text(&svg, 180, top + 15, 13, SVG_END, "ink", "%s", step ? name + strlen("step ") : name);
        svg_rect(&svg, x.from, top, fmax(axis_place(&x, bars[i]->value) - x.from, 1), 21, library ? "b" : "a",
                 "none");
        svg_text(&svg, axis_place(&x, bars[i]->value) + 7, top + 15, 12.5, SVG_START, "ink", "%.1f",
                 bars[i]->value);
    }
    char path[1024];
    path_of(path, sizeof path, folder, steps->file);
    return svg_write(&svg, path, steps->title);
}

/* ---- decode: bytes per second, beside a copy ---------------------------------------------------------------------------- */

static int draw_decode(const struct records *records, const char *folder)
{
    const struct record *bars[32];
    int count = 0;
    for (size_t i = 0; i < records->count && count < 32; i++) {
        const struct record *record = &records->at[i];
        if (strcmp(record->lesson, "06") == 0 && strcmp(record->metric, "gb_per_s") == 0 && is_part(record))
            bars[count++] = record;
    }
    double copy = limit(records, "copy", "gb_per_s");
    if (count == 0 || isnan(copy)) return 0;
    struct svg svg = {.width = 760, .height = 70 + 26.0 * count + 40};
    struct axis x = {0, copy * 1.15, 240, 720, 0};
    double bottom = 60 + 26.0 * count;
    svg_title(&svg, 16, 24, 15, SVG_START, "Decode with lesson 06 on an %s, GB/s", device_of(records));
    for (double tick = 0; tick < x.most; tick += 1000) {
        svg_line(&svg, axis_place(&x, tick), 48, axis_place(&x, tick), bottom, "line", 0.6, NULL);
        svg_text(&svg, axis_place(&x, tick), bottom + 17, 12, SVG_MIDDLE, "faint", "%g", tick);
    }
    svg_line(&svg, axis_place(&x, copy), 48, axis_place(&x, copy), bottom, "w", 1.6, "5 3");
    svg_text(&svg, axis_place(&x, copy) - 5, 45, 12, SVG_END, "w", "a copy: %.0f", copy);
    for (int i = 0; i < count; i++) {
        double top = 54 + 26.0 * i;
        svg_text(&svg, 232, top + 14, 12, SVG_END, "ink", "%s", bars[i]->case_name);
        svg_rect(&svg, x.from, top, axis_place(&x, bars[i]->value) - x.from, 18,
                 strcmp(bars[i]->kernel, "v1") == 0 ? "b" : "a", "none");
        svg_text(&svg, axis_place(&x, bars[i]->value) + 6, top + 14, 12, SVG_START, "ink", "%.0f",
                 bars[i]->value);
    }
    char path[1024];
    path_of(path, sizeof path, folder, "decode");
    return svg_write(&svg, path, "Bytes per second of lesson 06 beside a copy");
}

int main(int count, char **arguments)
{
    if (count != 3) fail("usage: draw_charts GPU.csv DIR");
    struct records gpu = read_records(arguments[1]);
    const char *folder = arguments[2];
    int status = draw_ladder(&gpu, folder) | draw_roofline(&gpu, folder) | draw_decode(&gpu, folder);
    for (size_t i = 0; i < sizeof STEPS / sizeof STEPS[0]; i++) status |= draw_steps(&gpu, &STEPS[i], folder);
    for (size_t i = 0; i < sizeof SWEEPS / sizeof SWEEPS[0]; i++)
        status |= draw_sweep(&gpu, &SWEEPS[i], folder);
    free_records(&gpu);
    return status == 0 ? 0 : 1;
}
