/*
 * Draws the charts of the measured results. Ours, and not gnuplot's: the test docs.charts compares bytes, which change with
 * gnuplot's version, and the colours are the site's, light and dark.
 *
 *     draw_charts GPU.csv DIR TREE      writes DIR/ladder.svg, ...; TREE is the top folder, for the lessons' names
 *
 * Every chart shows one quantity of one device, each row or line from one run; a line below names the runs and how far measurements of
 * a run lay apart. Values are dots on a logarithmic axis, since what is compared are ratios; each has its name beside it.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/plot.h"
#include "base/layout.h"
#include "records.h"
#include "base/svg.h"
#include "tree.h"
#include "writing.h"

enum { ROWS_MAX = 40, RUNS_MAX = 32, WIDTH = 760 };

static const char SHARED_PROBLEM[] = "heads_16_len_2048";

static struct {
    struct records records;
    struct lesson_folder lessons[LESSONS_MAX];
    int lesson_count;
    const char *folder; /* where charts are written */
} all;

/* ---- what a record is about ------------------------------------------------------------------------------------------ */

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

static int has_metric(const struct record *record, const char *metric)
{
    return strcmp(record->metric, metric) == 0;
}

static double metric_of(const struct record *record, const char *metric)
{
    const struct record *other =
        find_record(&all.records, record->lesson, record->kernel, record->case_name, metric);
    return other == NULL ? NAN : other->value;
}

static double limit(const char *kernel, const char *metric)
{
    const struct record *record = find_record(&all.records, "limits", kernel, "", metric);
    return record == NULL ? NAN : record->value;
}

/* The storage type that the part is named for, or that lessons with one part have; or NULL. */
static const char *type_of(const struct record *record)
{
    static const char *const parts[][2] = {{"attention/", "f32"}, {"product/", "f16"}, {"f32/", "f32"},
                                           {"f16/", "f16"},       {"bf16/", "bf16"},   {"fp8/", "fp8"}};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (strncmp(record->case_name, parts[i][0], strlen(parts[i][0])) == 0) return parts[i][1];
    return NULL;
}

/* A colour stands for a storage type; dots of what is not the lesson's own are grey. */
static const char *colour_of(const struct record *record)
{
    const char *type = type_of(record), *kernel = record->kernel;
    int own = is_part(record) || strncmp(kernel, "Python", 6) == 0 ||
              (strncmp(kernel, "step ", 5) == 0 && strstr(kernel, "cuBLAS") == NULL) ||
              (strncmp(kernel, "lesson ", 7) == 0 && strcmp(kernel + 7, record->lesson) == 0);
    if (!own) return "x";
    if (type == NULL) return "ink";
    return strcmp(type, "f32") == 0   ? "s"
           : strcmp(type, "f16") == 0 ? "t"
           : strcmp(type, "fp8") == 0 ? "w"
                                      : "v";
}

/* "05 flash_attention_2, f16" */
static void name_part(const struct record *record, char *name, size_t size)
{
    const char *topic = "";
    for (int i = 0; i < all.lesson_count; i++)
        if (strcmp(all.lessons[i].number, record->lesson) == 0) topic = all.lessons[i].topic;
    snprintf(name, size, "%.2s %.48s, %.30s", record->lesson, topic,
             type_of(record) != NULL ? type_of(record) : record->kernel);
}

/* ---- what every chart says of its numbers ------------------------------------------------------------------------------ */

/* The records of a chart so far. */
struct source {
    const struct record *first;
    const char *runs[RUNS_MAX]; /* commands, each once */
    const char *oldest, *newest;
    int run_count, count, with_spread;
    double spread; /* largest share that 10% or 90% lie from the median */
};

static double share_apart(const struct record *record, const char *metric)
{
    return fabs(metric_of(record, metric) / metric_of(record, "time") - 1);
}

static void source_add(struct source *source, const struct record *record)
{
    if (source->first == NULL) {
        source->first = record;
        source->oldest = source->newest = record->date;
    }
    if (!has_metric(record, source->first->metric) || strcmp(record->device, source->first->device) != 0)
        fail("%s of %s and %s of %s in one chart", source->first->metric, source->first->device,
             record->metric, record->device);
    int run = 0;
    while (run < source->run_count && strcmp(source->runs[run], record->command) != 0) run++;
    if (run == RUNS_MAX) fail("a chart of more than %d runs", RUNS_MAX);
    if (run == source->run_count) source->runs[source->run_count++] = record->command;
    if (strcmp(record->date, source->oldest) < 0) source->oldest = record->date;
    if (strcmp(record->date, source->newest) > 0) source->newest = record->date;
    source->count++;
    double apart = fmax(share_apart(record, "time_p10"), share_apart(record, "time_p90"));
    if (isnan(apart)) return;
    source->with_spread++;
    source->spread = fmax(source->spread, apart);
}

/* "warpwise bench 05 --solution" as "bench 05" */
static void add_run(struct text *out, const char *command)
{
    size_t length = strcspn(command, ":");
    const char *options = strstr(command, " --");
    if (options != NULL && (size_t)(options - command) < length) length = (size_t)(options - command);
    size_t skipped = strncmp(command, "warpwise ", 9) == 0 ? 9 : 0;
    text_append(out, command + skipped, length - skipped);
}

/* The lines at the foot of a chart, from @p y on; makes the picture as high as they need. */
static void add_source(struct svg *svg, const struct source *source, double y)
{
    struct text out = {0}, lines = {0};
    text_print(&out, "One %s, ", source->first->device);
    if (source->run_count == 1)
        text_add(&out, "one run: ");
    else
        text_print(&out, "%d runs: ", source->run_count);
    for (int i = 0; i < source->run_count; i++) {
        if (i > 0) text_add(&out, ", ");
        add_run(&out, source->runs[i]);
    }
    text_print(&out, "; %s", source->oldest);
    if (strcmp(source->oldest, source->newest) != 0) text_print(&out, " to %s", source->newest);
    text_add(&out, source->run_count == 1 ? ". " : "; between runs clocks differ by a few percent. ");
    if (source->with_spread == 0)
        text_add(&out, "Medians; no spread was recorded.");
    else
        text_print(&out, "Medians; 10%% to 90%% of the launches lie within %.1f%% of them%s.",
                   100 * source->spread,
                   source->with_spread == source->count ? "" : ", where that was recorded");
    layout_wrap_words(&lines, out.data, 0, 0, 118);
    const char *rest = lines.data;
    for (char *line; (line = next_word(&rest, '\n')); free(line), y += 16)
        svg_text(svg, 16, y, 11.5, SVG_START, "faint", "%s", line);
    svg->height = y;
    text_free(&out);
    text_free(&lines);
}

static int write_chart(struct svg *svg, const char *name, const char *label)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s.svg", all.folder, name);
    return svg_write(svg, path, label);
}

/* ---- rows of dots --------------------------------------------------------------------------------------------------------- */

struct rows {
    const struct record *record[ROWS_MAX];
    char name[ROWS_MAX][96];
    int count;
};

static void rows_add(struct rows *rows, const struct record *record, const char *name)
{
    if (rows->count == ROWS_MAX) fail("a chart of more than %d rows", ROWS_MAX);
    snprintf(rows->name[rows->count], sizeof rows->name[0], "%s", name);
    rows->record[rows->count++] = record;
}

/* From 10% to 90%, if that was recorded. */
static void add_spread(struct svg *svg, const struct axis *x, double y, const struct record *record,
                       double scale)
{
    double low = metric_of(record, "time_p10") / metric_of(record, "time"),
           high = metric_of(record, "time_p90") / metric_of(record, "time"), value = record->value * scale;
    if (isnan(low) || isnan(high)) return;
    if (!has_metric(record, "time")) low = 1 / low, high = 1 / high;
    svg_line(svg, axis_place(x, value * low), y, axis_place(x, value * high), y, colour_of(record), 3, NULL);
}

/* A row for each: name, dot, value. @p limit, if it is a number, is a line that no dot can pass, by its name. */
static int draw_rows(const struct rows *rows, const char *file, const char *title, const char *quantity,
                     double scale, double limit_value, const char *limit_name)
{
    if (rows->count == 0) return 0; // not measured yet
    struct source source = {0};
    double least = INFINITY, most = isnan(limit_value) ? 0 : limit_value;
    size_t longest = 0;
    for (int i = 0; i < rows->count; i++) {
        source_add(&source, rows->record[i]);
        least = fmin(least, rows->record[i]->value * scale);
        most = fmax(most, rows->record[i]->value * scale);
        longest = fmax(longest, strlen(rows->name[i]));
    }
    struct svg svg = {.width = WIDTH};
    struct axis x = {0, 0, 36 + 7.0 * (double)longest, WIDTH - 70, 10};
    struct axis y = {0, 1, 64 + 26.0 * rows->count, 64, 0};
    axis_round(&x, least, most);
    svg_title(&svg, 16, 24, 15, SVG_START, "%s", title);
    svg_text(&svg, 16, 43, 12.5, SVG_START, "faint", "%s, on a logarithmic axis", quantity);
    plot_ticks(&svg, &x, &y, 1);
    double limit_at = isnan(limit_value) ? 0 : axis_place(&x, limit_value);
    if (limit_at > 0) {
        svg_line(&svg, limit_at, y.to - 4, limit_at, y.from, "w", 1.6, "5 3");
        svg_text(&svg, limit_at - 5, y.to - 4, 12, SVG_END, "w", "%s: %.0f", limit_name, limit_value);
    }
    for (int i = 0; i < rows->count; i++) {
        double middle = y.to + 26.0 * i + 14, value = rows->record[i]->value * scale,
               at = axis_place(&x, value);
        svg_line(&svg, x.from, middle, x.to, middle, "line", 0.6, "1 4");
        svg_text(&svg, x.from - 12, middle + 4, 12.5, SVG_END, "ink", "%s", rows->name[i]);
        add_spread(&svg, &x, middle, rows->record[i], scale);
        svg_dot(&svg, at, middle, 5, colour_of(rows->record[i]));
        int left = limit_at > at && limit_at < at + 50;
        svg_text(&svg, left ? at - 10 : at + 10, middle + 4, 12.5, left ? SVG_END : SVG_START, "ink",
                 value < 0.995  ? "%.3g"
                 : value < 9.95 ? "%.2f"
                 : value < 99.5 ? "%.1f"
                                : "%.0f",
                 value);
    }
    add_source(&svg, &source, y.from + 42);
    return write_chart(&svg, file, title);
}

/* One problem, lesson by lesson: what computes it with as many operations as lesson 01 does, and so no gradient. */
static int draw_ladder(void)
{
    struct rows rows = {.count = 0};
    double flop = 0;
    for (size_t i = 0; i < all.records.count; i++) {
        const struct record *record = &all.records.at[i];
        char name[96];
        if (!has_metric(record, "time") || !is_part(record) || strcmp(problem(record), SHARED_PROBLEM) != 0)
            continue;
        if (flop == 0) flop = metric_of(record, "flop");
        if (metric_of(record, "flop") != flop) continue;
        name_part(record, name, sizeof name);
        rows_add(&rows, record, name);
    }
    return draw_rows(&rows, "ladder", "Attention forward, 16 heads, 2048 queries and keys, head_dim 64",
                     "milliseconds: further left is faster", 1e-3, NAN, NULL);
}

/* Is this one of the kernels that a lesson's program of steps times? They are named "step ..." and "tile ...". */
static int is_step(const struct record *record, const char *kind)
{
    return strncmp(record->kernel, kind, strlen(kind)) == 0;
}

static const struct steps {
    const char *file, *lesson, *problem, *title;
} STEPS[] = {
    {"product_steps", "10", "square_4096", "Lesson 10, step by step: 4096³ in f32"},
    {"attention_steps", "12", "heads_32_len_8192_d128",
     "Lesson 12, step by step: 8192 tokens, 32 heads of 128, f16"},
    {"hopper_steps", "15", "square_8192_nt", "Lesson 15, step by step: 8192³ in f16"},
    {"hopper_attention_64_steps", "16", "heads_64_len_8192_d64",
     "Lesson 16, step by step: 8192 tokens, 64 heads of 64, f16"},
    {"hopper_attention_128_steps", "16", "heads_32_len_8192_d128",
     "Lesson 16, step by step: 8192 tokens, 32 heads of 128, f16"},
};

static int draw_steps(const struct steps *steps)
{
    struct rows rows = {.count = 0};
    for (size_t i = 0; i < all.records.count; i++) {
        const struct record *record = &all.records.at[i];
        if (strcmp(record->lesson, steps->lesson) == 0 && has_metric(record, "tflops") &&
            strcmp(problem(record), steps->problem) == 0 && is_step(record, "step "))
            rows_add(&rows, record, record->kernel + strlen("step "));
    }
    return draw_rows(&rows, steps->file, steps->title, "TFLOP/s: further right is faster", 1, NAN, NULL);
}

/* What a program measured of a lesson and its rivals in one run. */
static const struct rivals {
    const char *file, *command, *problem, *title;
} RIVALS[] = {
    {"attention_64_rivals", "time_hopper_attention.py", "heads_64_len_8192_d64",
     "Attention beside libraries: 8192 tokens, 64 heads of 64"},
    {"attention_128_rivals", "time_hopper_attention.py", "heads_32_len_8192_d128",
     "Attention beside libraries: 8192 tokens, 32 heads of 128"},
};

static int draw_rivals(const struct rivals *rivals)
{
    struct rows rows = {.count = 0};
    for (size_t i = 0; i < all.records.count; i++) {
        const struct record *record = &all.records.at[i];
        char name[96];
        if (!has_metric(record, "tflops") || strcmp(record->command, rivals->command) != 0 ||
            strcmp(problem(record), rivals->problem) != 0)
            continue;
        snprintf(name, sizeof name, "%.60s, %.*s", record->kernel, (int)strcspn(record->case_name, "/"),
                 record->case_name);
        rows_add(&rows, record, name);
    }
    return draw_rows(&rows, rivals->file, rivals->title, "TFLOP/s: further right is faster", 1, NAN, NULL);
}

/* Rows of one problem stand together. */
static int compare_problems(const void *a, const void *b)
{
    const struct record *const *first = a, *const *second = b;
    int order = strcmp(problem(*first), problem(*second));
    return order != 0 ? order : strcmp((*first)->kernel, (*second)->kernel);
}

static int draw_decode(void)
{
    struct rows rows = {.count = 0};
    for (size_t i = 0; i < all.records.count; i++) {
        const struct record *record = &all.records.at[i];
        if (strcmp(record->lesson, "06") == 0 && has_metric(record, "gb_per_s") && is_part(record))
            rows_add(&rows, record, "");
    }
    qsort(rows.record, (size_t)rows.count, sizeof rows.record[0], compare_problems);
    for (int i = 0; i < rows.count; i++)
        snprintf(rows.name[i], sizeof rows.name[i], "%.50s, %.40s", problem(rows.record[i]),
                 rows.record[i]->kernel);
    return draw_rows(&rows, "decode", "Decode with lesson 06", "GB/s: further right is faster", 1,
                     limit("copy", "gb_per_s"), "a copy");
}

/* ---- the roofline ---------------------------------------------------------------------------------------------------- */

struct dot {
    const struct record *record; /* of metric tflops */
    double intensity;
    char name[96];
};

static void draw_roofs(struct svg *svg, const struct axis *x, const struct axis *y)
{
    double copy = limit("copy", "gb_per_s") / 1e3; // TB/s: TFLOP/s for each FLOP a byte
    static const struct { /* what the chip could do at its clock, and what a library reaches, for reference */
        const char *kernel, *text, *dashes;
        int lower; /* the label of a line close below another one */
    } roofs[] = {{"peak f32", "peak, f32", NULL, 0},
                 {"cuBLAS f32", "cuBLAS f32", "5 4", 1},
                 {"peak f16", "peak, f16 on tensor cores", NULL, 0},
                 {"cuBLAS f16", "cuBLAS f16", "5 4", 1}};
    double top = 0;
    for (size_t i = 0; i < sizeof roofs / sizeof roofs[0]; i++) {
        double roof = limit(roofs[i].kernel, "tflops");
        if (isnan(roof)) continue;
        top = fmax(top, roof);
        double ridge = axis_place(x, roof / copy), level = axis_place(y, roof);
        svg_line(svg, ridge, level, x->to, level, "ink", roofs[i].dashes ? 1.0 : 1.6, roofs[i].dashes);
        /* Left of the ridge no kernel can be: there is room for words. */
        svg_text(svg, ridge - (roofs[i].lower ? 26 : 8), level + (roofs[i].lower ? 9 : 1), 12, SVG_END, "ink",
                 "%s: %.0f", roofs[i].text, roof);
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
static int collect_dots(struct dot *dots, int most)
{
    int count = 0;
    for (size_t i = 0; i < all.records.count; i++) {
        const struct record *record = &all.records.at[i];
        double bytes = metric_of(record, "min_bytes"), flop = metric_of(record, "flop");
        if (!has_metric(record, "tflops") || !is_part(record) || !(bytes > 0) || isnan(flop)) continue;
        int at = 0;
        while (at < count && strcmp(dots[at].record->lesson, record->lesson) != 0) at++;
        if (at == most) continue;
        if (at < count) { // the shared problem comes before speed
            int gain = is_shared(record) - is_shared(dots[at].record);
            if (gain < 0 || (gain == 0 && dots[at].record->value >= record->value)) continue;
        }
        dots[at] = (struct dot){.record = record, .intensity = flop / bytes};
        name_part(record, dots[at].name, sizeof dots[at].name);
        if (at == count) count++;
    }
    return count;
}

/* Names of the dots in columns: few stand at the left, those beside their dots; all others right of the chart. */
static void name_dots(struct svg *svg, const struct dot *dots, int count, const struct axis *x,
                      const struct axis *y)
{
    double places[2][ROWS_MAX];
    int members[2][ROWS_MAX], sizes[2] = {0};
    for (int i = 0; i < count; i++) {
        int right = dots[i].intensity > 50;
        members[right][sizes[right]] = i;
        places[right][sizes[right]++] = axis_place(y, dots[i].record->value);
    }
    for (int right = 0; right < 2; right++) {
        spread_labels(places[right], sizes[right], 15);
        for (int j = 0; j < sizes[right]; j++) {
            const struct dot *dot = &dots[members[right][j]];
            double px = axis_place(x, dot->intensity), py = axis_place(y, dot->record->value);
            double at = right ? x->to + 12 : px + 26;
            svg_line(svg, px, py, at - 3, places[right][j], "line", 1, NULL);
            int length = (int)(right ? strlen(dot->name) : strcspn(dot->name, ","));
            svg_text(svg, at, places[right][j] + 4, 12, SVG_START, "ink", "%.*s", length, dot->name);
        }
    }
}

static int draw_roofline(void)
{
    struct dot dots[ROWS_MAX];
    int count = collect_dots(dots, ROWS_MAX);
    if (count == 0) return 0;
    struct source source = {0};
    struct svg svg = {.width = WIDTH};
    struct axis x = {0.1, 10000, 60, 535, 10}, y = {0.1, 4000, 460, 70, 10};
    svg_title(&svg, 16, 24, 15, SVG_START, "Each lesson's kernel under the roof of an %s",
              dots[0].record->device);
    plot_axes(&svg, &x, &y, "floating-point operations for each byte that must be moved", "TFLOP/s");
    draw_roofs(&svg, &x, &y);
    name_dots(&svg, dots, count, &x, &y);
    for (int i = 0; i < count; i++) {
        source_add(&source, dots[i].record);
        svg_dot(&svg, axis_place(&x, dots[i].intensity), axis_place(&y, dots[i].record->value), 5,
                colour_of(dots[i].record));
    }
    add_source(&svg, &source, y.from + 62);
    return write_chart(&svg, "roofline", "Roofline with a measured kernel of each lesson");
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

/* Lesson and part; a library has one line for all lessons that do the same. */
static void series_name(const struct record *record, char *name, size_t size)
{
    if (strcmp(record->kernel, "cuBLAS") == 0)
        snprintf(name, size, "cuBLAS, %s", strncmp(record->case_name, "f32/", 4) == 0 ? "f32" : "f16");
    else if (is_part(record))
        name_part(record, name, size);
    else
        snprintf(name, size, "%.80s", record->kernel);
}

/* One sweep: file name, title, which cases, which number. */
struct sweep {
    const char *file, *title, *lesson, *metric, *before, *after, *x_title, *y_title;
};

static const struct sweep SWEEPS[] = {
    {"sequence_sweep", "Attention by length, 16 heads of 64", NULL, "tflops", "heads_16_len_", "",
     "queries and keys", "TFLOP/s"},
    {"heads_sweep", "FlashAttention-1 and lesson 02 by number of heads, 2048 tokens", "04", "time", "heads_",
     "_len_2048", "heads, one block each in lesson 04", "milliseconds"},
    {"product_sweep", "Products of square matrices by size", NULL, "tflops", "square_", "",
     "rows and columns", "TFLOP/s"},
};

/* The records of a series, which are of one name and one run. */
struct line {
    char name[96];
    const char *command;
    const struct record *record[PLOT_POINTS_MAX];
    int count;
};

/* All series of at least two points, of each name the run that has most of them, and of several the last. */
static int collect_lines(const struct sweep *sweep, struct line *lines)
{
    int count = 0, kept = 0;
    for (size_t i = 0; i < all.records.count; i++) {
        const struct record *record = &all.records.at[i];
        if (number_in(problem(record), sweep->before, sweep->after) == 0 ||
            !has_metric(record, sweep->metric) || is_step(record, "step ") || is_step(record, "tile "))
            continue;
        if (sweep->lesson != NULL && strcmp(record->lesson, sweep->lesson) != 0) continue;
        char name[96];
        series_name(record, name, sizeof name);
        int at = 0;
        while (at < count &&
               (strcmp(lines[at].name, name) != 0 || strcmp(lines[at].command, record->command) != 0))
            at++;
        if (at == 2 * PLOT_SERIES_MAX) fail("more than %d series", at);
        if (at == count) {
            lines[count++] = (struct line){.command = record->command};
            snprintf(lines[at].name, sizeof lines[at].name, "%s", name);
        }
        if (lines[at].count == PLOT_POINTS_MAX) fail("a series of more than %d points", PLOT_POINTS_MAX);
        lines[at].record[lines[at].count++] = record;
    }
    for (int i = 0; i < count; i++) {
        int best = lines[i].count >= 2;
        for (int j = 0; j < count && best; j++)
            if (strcmp(lines[i].name, lines[j].name) == 0)
                best = j <= i ? lines[j].count <= lines[i].count : lines[j].count < lines[i].count;
        if (best) lines[kept++] = lines[i];
    }
    return kept;
}

static int draw_sweep(const struct sweep *sweep)
{
    static struct line lines[2 * PLOT_SERIES_MAX];
    static struct series series[PLOT_SERIES_MAX];
    int count = collect_lines(sweep, lines);
    if (count == 0) return 0; // not measured yet
    if (count > PLOT_SERIES_MAX) fail("%s has more than %d lines", sweep->file, PLOT_SERIES_MAX);
    struct source source = {0};
    double least_x = INFINITY, most_x = 0, least_y = INFINITY, most_y = 0;
    size_t longest = 18; /* letters of the names right of the lines */
    for (int i = 0; i < count; i++) {
        series[i] = (struct series){.colour = colour_of(lines[i].record[0])};
        memcpy(series[i].name, lines[i].name, sizeof series[i].name);
        longest = fmax(longest, strlen(series[i].name));
        for (int j = 0; j < lines[i].count; j++) {
            const struct record *record = lines[i].record[j];
            double x = number_in(problem(record), sweep->before, sweep->after),
                   y = record->value * (has_metric(record, "time") ? 1e-3 : 1);
            source_add(&source, record);
            series_add(&series[i], x, y);
            least_x = fmin(least_x, x), most_x = fmax(most_x, x);
            least_y = fmin(least_y, y), most_y = fmax(most_y, y);
        }
    }
    struct svg svg = {.width = WIDTH};
    struct axis x = {least_x, most_x, 70, svg.width - 24 - 6.7 * (double)longest, 2}, y = {0, 0, 350, 70, 10};
    axis_round(&y, least_y, most_y);
    svg_title(&svg, 16, 24, 15, SVG_START, "%s", sweep->title);
    plot_axes(&svg, &x, &y, sweep->x_title, sweep->y_title);
    plot_series(&svg, &x, &y, series, count);
    add_source(&svg, &source, 412);
    return write_chart(&svg, sweep->file, sweep->title);
}

int main(int count, char **arguments)
{
    if (count != 4) fail("usage: draw_charts GPU.csv DIR TREE");
    all.records = read_records(arguments[1]);
    all.folder = arguments[2];
    all.lesson_count = find_lessons(arguments[3], all.lessons);
    int status = draw_ladder() | draw_roofline() | draw_decode();
    for (size_t i = 0; i < sizeof STEPS / sizeof STEPS[0]; i++) status |= draw_steps(&STEPS[i]);
    for (size_t i = 0; i < sizeof RIVALS / sizeof RIVALS[0]; i++) status |= draw_rivals(&RIVALS[i]);
    for (size_t i = 0; i < sizeof SWEEPS / sizeof SWEEPS[0]; i++) status |= draw_sweep(&SWEEPS[i]);
    free_records(&all.records);
    return status == 0 ? 0 : 1;
}
