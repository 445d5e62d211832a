/*
 * Draws the charts of the measured results. Ours, and not gnuplot's: the test docs.charts compares bytes, which change with
 * gnuplot's version, and the colours are the site's, light and dark.
 *
 *     draw_charts GPU.csv DIR TREE      writes DIR/ladder.svg, ...; TREE is the top folder, for the lessons' names
 *
 * A chart shows one quantity of one device. Numbers of different runs are never on one axis: each run has a panel of its own, headed by
 * its command and date. (The roofline has a dot from each lesson's run, to be compared with the chip's peaks and not with each other.)
 * Values are dots on a logarithmic axis, since what is compared are ratios; each has its name beside it. The lines at the foot say how
 * far the measurements of a run lay apart.
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

enum { ROWS_MAX = 40, WIDTH = 560 /* as site.css has it: fits a telephone */, ROOFLINE_WIDTH = 760 };

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

/* Is this the lesson's own, and no rival? */
static int is_own(const struct record *record)
{
    const char *kernel = record->kernel;
    return is_part(record) || strncmp(kernel, "Python", 6) == 0 ||
           (strncmp(kernel, "step ", 5) == 0 && strstr(kernel, "cuBLAS") == NULL) ||
           (strncmp(kernel, "lesson ", 7) == 0 && strcmp(kernel + 7, record->lesson) == 0);
}

/* A colour stands for a storage type; dots of what is not the lesson's own are grey. */
static const char *colour_of(const struct record *record)
{
    const char *type = type_of(record);
    if (!is_own(record)) return "x";
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
    int count, with_spread;
    double spread; /* largest share that 10% or 90% lie from the median */
};

static double share_apart(const struct record *record, const char *metric)
{
    return fabs(metric_of(record, metric) / metric_of(record, "time") - 1);
}

static void source_add(struct source *source, const struct record *record)
{
    if (source->first == NULL) source->first = record;
    if (!has_metric(record, source->first->metric) || strcmp(record->device, source->first->device) != 0)
        fail("%s of %s and %s of %s in one chart", source->first->metric, source->first->device,
             record->metric, record->device);
    source->count++;
    double apart = fmax(share_apart(record, "time_p10"), share_apart(record, "time_p90"));
    if (isnan(apart)) return;
    source->with_spread++;
    source->spread = fmax(source->spread, apart);
}

/* "warpwise bench 05 --solution" as "bench 05, 2026-11-21" */
static void add_run(struct text *out, const struct record *record)
{
    const char *command = record->command, *options = strstr(command, " --");
    size_t length = strcspn(command, ":");
    if (options != NULL && (size_t)(options - command) < length) length = (size_t)(options - command);
    size_t skipped = strncmp(command, "warpwise ", 9) == 0 ? 9 : 0;
    text_append(out, command + skipped, length - skipped);
    text_print(out, ", %s", record->date);
}

/* Heads a panel by its run. */
static void head_panel(struct svg *svg, double y, const struct record *record)
{
    struct text out = {0};
    add_run(&out, record);
    svg_line(svg, 16, y - 20, svg->width - 16, y - 20, "line", 1, NULL);
    svg_title(svg, 16, y, 12.5, SVG_START, "one run: %s", out.data);
    text_free(&out);
}

/* The lines at the foot of a chart, from @p y on; makes the picture as high as they need. @p runs says how its runs are kept apart. */
static void add_source(struct svg *svg, const struct source *source, const char *runs, double y)
{
    struct text out = {0}, lines = {0};
    text_print(&out, "One %s, ", source->first->device);
    if (runs == NULL) {
        text_add(&out, "one run: ");
        add_run(&out, source->first);
    } else {
        text_add(&out, runs);
    }
    if (source->with_spread == 0)
        text_add(&out, ". Medians; no spread was recorded.");
    else
        text_print(&out, ". Medians; 10%% to 90%% of the launches lie within %.1f%% of them%s.",
                   100 * source->spread,
                   source->with_spread == source->count ? "" : ", where that was recorded");
    layout_wrap_words(&lines, out.data, 0, 0, (int)(svg->width / 6.4));
    const char *rest = lines.data;
    for (char *line; (line = next_word(&rest, '\n')) != NULL; free(line), y += 16)
        svg_text(svg, 16, y, 11.5, SVG_START, "faint", "%s", line);
    svg->height = y;
    text_free(&out);
    text_free(&lines);
}

static const char PANELS[] = "a panel for each run: compare numbers of one panel only";

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
    double copy; /* GB/s of a copy, which no dot can pass; 0: no such line */
};

/* In the unit of the axis: times are drawn as milliseconds. */
static double shown(const struct record *record)
{
    return record->value * (has_metric(record, "time") ? 1e-3 : 1);
}

static void rows_add(struct rows *rows, const struct record *record)
{
    if (rows->count == ROWS_MAX) fail("a chart of more than %d rows", ROWS_MAX);
    rows->record[rows->count++] = record;
}

/* From 10% to 90%, if that was recorded. */
static void add_spread(struct svg *svg, const struct axis *x, double y, const struct record *record)
{
    double low = metric_of(record, "time_p10") / metric_of(record, "time"),
           high = metric_of(record, "time_p90") / metric_of(record, "time"), value = shown(record);
    if (isnan(low) || isnan(high)) return;
    if (!has_metric(record, "time")) low = 1 / low, high = 1 / high;
    svg_line(svg, axis_place(x, value * low), y, axis_place(x, value * high), y, colour_of(record), 3, NULL);
}

/* One run's rows below @p top: name, dot, value. Returns where the panel ends. */
static double draw_panel(struct svg *svg, const struct rows *rows, int from, int to, size_t longest,
                         double top)
{
    double least = INFINITY, most = rows->copy;
    for (int i = from; i < to; i++) {
        least = fmin(least, shown(rows->record[i]));
        most = fmax(most, shown(rows->record[i]));
    }
    struct axis x = {0, 0, 36 + 7.0 * (double)longest, WIDTH - 70, 10};
    struct axis y = {0, 1, top + 26.0 * (to - from), top, 0};
    axis_round(&x, least, most);
    plot_ticks(svg, &x, &y, 1);
    double limit_at = rows->copy > 0 ? axis_place(&x, rows->copy) : 0;
    if (limit_at > 0) {
        svg_line(svg, limit_at, y.to - 4, limit_at, y.from, "w", 1.6, "5 3");
        svg_text(svg, limit_at - 5, y.to - 4, 12, SVG_END, "w", "a copy: %.0f", rows->copy);
    }
    for (int i = from; i < to; i++) {
        double middle = y.to + 26.0 * (i - from) + 14, value = shown(rows->record[i]),
               at = axis_place(&x, value);
        svg_line(svg, x.from, middle, x.to, middle, "line", 0.6, "1 4");
        svg_text(svg, x.from - 12, middle + 4, 12.5, SVG_END, "ink", "%s", rows->name[i]);
        add_spread(svg, &x, middle, rows->record[i]);
        svg_dot(svg, at, middle, 5, colour_of(rows->record[i]));
        int left = limit_at > at && limit_at < at + 50;
        svg_text(svg, left ? at - 10 : at + 10, middle + 4, 12.5, left ? SVG_END : SVG_START, "ink",
                 value < 0.995  ? "%.3g"
                 : value < 9.95 ? "%.2f"
                 : value < 99.5 ? "%.1f"
                                : "%.0f",
                 value);
    }
    return y.from;
}

/* Rows of one run stand together, in order; a run stands where its first row did. */
static void group_runs(struct rows *rows)
{
    struct rows grouped = {.copy = rows->copy};
    for (int i = 0; i < rows->count; i++)
        for (int j = i; j < rows->count && rows->record[i] != NULL; j++) {
            if (rows->record[j] == NULL || (j > i && !same_run(rows->record[j], rows->record[i]))) continue;
            rows_add(&grouped, rows->record[j]);
            if (j > i) rows->record[j] = NULL;
        }
    *rows = grouped;
}

static int is_of_ladder(const struct record *record)
{
    return has_metric(record, "time") && strcmp(problem(record), SHARED_PROBLEM) == 0;
}

/* Is this a time of the ladder whose run has measured a lesson's part, and something else to compare it with? */
static int has_company(const struct record *record)
{
    int parts = 0, others = 0;
    if (!is_of_ladder(record)) return 0;
    for (size_t i = 0; i < all.records.count; i++) {
        const struct record *other = &all.records.at[i];
        if (!is_of_ladder(other) || !same_run(other, record)) continue;
        parts += is_part(other);
        others += strcmp(other->lesson, record->lesson) != 0 || is_part(other) != is_part(record);
    }
    return parts > 0 && others > 0;
}

/* Is this one of the kernels that a lesson's program of steps times? They are named "step ...". */
static int is_step(const struct record *record)
{
    return strncmp(record->kernel, "step ", 5) == 0;
}

static void name_step(const struct record *record, char *name, size_t size)
{
    snprintf(name, size, "%.80s", record->kernel + strlen("step "));
}

static void name_of_ladder(const struct record *record, char *name, size_t size)
{
    if (is_part(record))
        name_part(record, name, size);
    else
        snprintf(name, size, "%.90s", record->kernel);
}

static void name_rival(const struct record *record, char *name, size_t size)
{
    snprintf(name, size, "%.60s, %.*s", record->kernel, (int)strcspn(record->case_name, "/"),
             record->case_name);
}

static void name_problem(const struct record *record, char *name, size_t size)
{
    snprintf(name, size, "%.50s, %.40s", problem(record), record->kernel);
}

/* The charts of rows: which records they show, and how a row is named. What is NULL is not asked. */
static const struct chart {
    const char *file, *title, *lesson, *command, *problem, *metric;
    int (*belongs)(const struct record *record);
    void (*name)(const struct record *record, char *name, size_t size);
} CHARTS[] = {
    /* One problem, lesson by lesson, as far as a run has measured several kernels that can be compared. */
    {"ladder", "Attention, 16 heads, 2048 queries and keys, head_dim 64", NULL, NULL, SHARED_PROBLEM, "time",
     has_company, name_of_ladder},
    {"decode", "Decode with lesson 06", "06", NULL, NULL, "gb_per_s", is_part, name_problem},
    {"product_steps", "Lesson 10, step by step: 4096³ in f32", "10", NULL, "square_4096", "tflops", is_step,
     name_step},
    {"attention_steps", "Lesson 12, step by step: 8192 tokens, 32 heads of 128, f16", "12", NULL,
     "heads_32_len_8192_d128", "tflops", is_step, name_step},
    {"hopper_steps", "Lesson 15, step by step: 8192³ in f16", "15", NULL, "square_8192_nt", "tflops", is_step,
     name_step},
    {"hopper_attention_64_steps", "Lesson 16, step by step: 8192 tokens, 64 heads of 64, f16", "16", NULL,
     "heads_64_len_8192_d64", "tflops", is_step, name_step},
    {"hopper_attention_128_steps", "Lesson 16, step by step: 8192 tokens, 32 heads of 128, f16", "16", NULL,
     "heads_32_len_8192_d128", "tflops", is_step, name_step},
    {"attention_64_rivals", "Attention beside libraries: 8192 tokens, 64 heads of 64", NULL,
     "time_hopper_attention.py", "heads_64_len_8192_d64", "tflops", NULL, name_rival},
    {"attention_128_rivals", "Attention beside libraries: 8192 tokens, 32 heads of 128", NULL,
     "time_hopper_attention.py", "heads_32_len_8192_d128", "tflops", NULL, name_rival},
};

static int is_shown(const struct chart *chart, const struct record *record)
{
    return has_metric(record, chart->metric) &&
           (chart->lesson == NULL || strcmp(record->lesson, chart->lesson) == 0) &&
           (chart->command == NULL || strcmp(record->command, chart->command) == 0) &&
           (chart->problem == NULL || strcmp(problem(record), chart->problem) == 0) &&
           (chart->belongs == NULL || chart->belongs(record));
}

/* Does a row of the same run have the record's name already? Lessons with one rival time it each. */
static int is_repeated(const struct chart *chart, const struct rows *rows, const struct record *record)
{
    char name[2][96];
    chart->name(record, name[0], sizeof name[0]);
    for (int i = 0; i < rows->count; i++) {
        chart->name(rows->record[i], name[1], sizeof name[1]);
        if (strcmp(name[0], name[1]) == 0 && same_run(rows->record[i], record)) return 1;
    }
    return 0;
}

/* Rows of one problem stand together. */
static int compare_problems(const void *a, const void *b)
{
    const struct record *const *first = a, *const *second = b;
    int order = strcmp(problem(*first), problem(*second));
    return order != 0 ? order : strcmp((*first)->kernel, (*second)->kernel);
}

static int draw_chart(const struct chart *chart)
{
    struct rows rows = {.count = 0};
    struct source source = {0};
    size_t longest = 0;
    for (size_t i = 0; i < all.records.count; i++)
        if (is_shown(chart, &all.records.at[i]) && !is_repeated(chart, &rows, &all.records.at[i]))
            rows_add(&rows, &all.records.at[i]);
    if (rows.count == 0) return 0; // not measured yet
    if (chart->problem == NULL)
        qsort(rows.record, (size_t)rows.count, sizeof rows.record[0], compare_problems);
    /* The copy of the same run, from a share of it. */
    if (strcmp(chart->metric, "gb_per_s") == 0)
        rows.copy = rows.record[0]->value / metric_of(rows.record[0], "share_of_copy");
    group_runs(&rows);
    for (int i = 0; i < rows.count; i++) {
        chart->name(rows.record[i], rows.name[i], sizeof rows.name[i]);
        source_add(&source, rows.record[i]);
        longest = fmax(longest, strlen(rows.name[i]));
    }
    struct svg svg = {.width = WIDTH};
    svg_title(&svg, 16, 24, 15, SVG_START, "%s", chart->title);
    svg_text(&svg, 16, 43, 12.5, SVG_START, "faint", "%s is faster, on a logarithmic axis",
             strcmp(chart->metric, "time") == 0     ? "milliseconds: further left"
             : strcmp(chart->metric, "tflops") == 0 ? "TFLOP/s: further right"
                                                    : "GB/s: further right");
    int several = !same_run(rows.record[0], rows.record[rows.count - 1]);
    double y = 22;
    for (int from = 0, to = 0; from < rows.count; from = to) {
        while (to < rows.count && same_run(rows.record[to], rows.record[from])) to++;
        if (several) head_panel(&svg, y += 56, rows.record[from]);
        y = draw_panel(&svg, &rows, from, to, longest, y + (several ? 12 : 42));
    }
    add_source(&svg, &source, several ? PANELS : NULL, y + 42);
    return write_chart(&svg, chart->file, chart->title);
}

/* ---- the roofline ---------------------------------------------------------------------------------------------------- */

struct dot {
    const struct record *record; /* of metric tflops */
    double intensity;
    char name[96];
};

/* What the chip could do at its clock: of no run. */
static void draw_roofs(struct svg *svg, const struct axis *x, const struct axis *y)
{
    double memory = limit("peak", "gb_per_s") / 1e3; // TB/s: TFLOP/s for each FLOP a byte
    static const char *const roofs[][2] = {{"peak f32", "peak, f32"},
                                           {"peak f16", "peak, f16 on tensor cores"}};
    double top = 0;
    for (size_t i = 0; i < sizeof roofs / sizeof roofs[0]; i++) {
        double roof = limit(roofs[i][0], "tflops");
        if (isnan(roof)) continue;
        top = fmax(top, roof);
        double ridge = axis_place(x, roof / memory), level = axis_place(y, roof);
        svg_line(svg, ridge, level, x->to, level, "ink", 1.6, NULL);
        /* Left of the ridge no kernel can be: there is room for words. */
        svg_text(svg, ridge - 8, level + 1, 12, SVG_END, "ink", "%s: %.0f", roofs[i][1], roof);
    }
    svg_line(svg, x->from, axis_place(y, memory * x->least), axis_place(x, top / memory), axis_place(y, top),
             "ink", 1.6, NULL);
    svg_text(svg, axis_place(x, 0.16) + 12, axis_place(y, 0.16 * memory) + 8, 12, SVG_START, "ink",
             "peak of memory: %.0f GB/s", memory * 1e3);
}

/* The problem that most lessons share. */
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
    struct svg svg = {.width = ROOFLINE_WIDTH};
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
    add_source(
        &svg, &source,
        "each dot from its lesson's own run: compare it with the roof, which is the chip's peak, not with "
        "other dots",
        y.from + 62);
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
    {"heads_sweep", "FlashAttention-1 and lesson 02 by heads, 2048 tokens", "04", "time", "heads_",
     "_len_2048", "heads, one block each in lesson 04", "milliseconds"},
    {"product_sweep", "Products of square matrices by size", NULL, "tflops", "square_", "",
     "rows and columns", "TFLOP/s"},
};

/* The records of a series, which are of one name and one run. */
struct line {
    char name[96];
    const struct record *record[PLOT_POINTS_MAX];
    int count;
};

/* Does the line's run have a line of the lesson's own at three sizes or more, and the longest of its name, or the last as long? Then
 * libraries of the same run come with it. */
static int run_is_kept(const struct line *lines, int count, const struct line *line)
{
    for (int i = 0; i < count; i++) {
        if (!is_own(lines[i].record[0]) || !same_run(lines[i].record[0], line->record[0])) continue;
        int best = lines[i].count >= 3;
        for (int j = 0; j < count && best; j++)
            if (strcmp(lines[i].name, lines[j].name) == 0)
                best = j <= i ? lines[j].count <= lines[i].count : lines[j].count < lines[i].count;
        if (best) return 1;
    }
    return 0;
}

/* Lessons with one rival time it each; a line has the first. */
static int has_place(const struct line *line, const struct record *record)
{
    for (int i = 0; i < line->count; i++)
        if (strcmp(problem(line->record[i]), problem(record)) == 0) return 1;
    return 0;
}

/* The series of the runs that are kept; those of one run stand together. */
static int collect_lines(const struct sweep *sweep, struct line *kept)
{
    static struct line lines[2 * PLOT_SERIES_MAX];
    int count = 0, many = 0;
    for (size_t i = 0; i < all.records.count; i++) {
        const struct record *record = &all.records.at[i];
        if (number_in(problem(record), sweep->before, sweep->after) == 0 ||
            !has_metric(record, sweep->metric) || is_step(record) || strncmp(record->kernel, "tile ", 5) == 0)
            continue;
        if (sweep->lesson != NULL && strcmp(record->lesson, sweep->lesson) != 0) continue;
        char name[96];
        series_name(record, name, sizeof name);
        int at = 0;
        while (at < count && (strcmp(lines[at].name, name) != 0 || !same_run(lines[at].record[0], record)))
            at++;
        if (at == 2 * PLOT_SERIES_MAX) fail("more than %d series", at);
        if (at == count) {
            lines[count++].count = 0;
            snprintf(lines[at].name, sizeof lines[at].name, "%s", name);
        }
        if (has_place(&lines[at], record)) continue;
        if (lines[at].count == PLOT_POINTS_MAX) fail("a series of more than %d points", PLOT_POINTS_MAX);
        lines[at].record[lines[at].count++] = record;
    }
    int is_kept[2 * PLOT_SERIES_MAX];
    for (int i = 0; i < count; i++) is_kept[i] = lines[i].count >= 2 && run_is_kept(lines, count, &lines[i]);
    for (int i = 0; i < count; i++)
        for (int j = i; j < count && is_kept[i]; j++) {
            if (!is_kept[j] || !same_run(lines[j].record[0], lines[i].record[0])) continue;
            kept[many++] = lines[j];
            if (j > i) is_kept[j] = 0; // taken
        }
    return many;
}

/* One run's lines below @p top, @p height high. */
static void draw_sweep_panel(struct svg *svg, const struct sweep *sweep, const struct line *lines, int count,
                             struct axis x, double top, double height)
{
    static struct series series[PLOT_SERIES_MAX];
    struct axis y = {0, 0, top + height, top, 10};
    double least = INFINITY, most = 0;
    if (count > PLOT_SERIES_MAX) fail("%s has more than %d lines", sweep->file, PLOT_SERIES_MAX);
    for (int i = 0; i < count; i++) {
        series[i] = (struct series){.colour = colour_of(lines[i].record[0])};
        memcpy(series[i].name, lines[i].name, sizeof series[i].name);
        for (int j = 0; j < lines[i].count; j++) {
            const struct record *record = lines[i].record[j];
            double value = shown(record);
            series_add(&series[i], number_in(problem(record), sweep->before, sweep->after), value);
            least = fmin(least, value), most = fmax(most, value);
        }
    }
    axis_round(&y, least, most);
    plot_axes(svg, &x, &y, sweep->x_title, sweep->y_title);
    plot_series(svg, &x, &y, series, count);
}

static int draw_sweep(const struct sweep *sweep)
{
    static struct line lines[2 * PLOT_SERIES_MAX];
    int count = collect_lines(sweep, lines);
    if (count == 0) return 0; // not measured yet
    struct source source = {0};
    double least = INFINITY, most = 0;
    size_t longest = 18; /* letters of the names right of the lines */
    for (int i = 0; i < count; i++) {
        longest = fmax(longest, strlen(lines[i].name));
        for (int j = 0; j < lines[i].count; j++) {
            double x = number_in(problem(lines[i].record[j]), sweep->before, sweep->after);
            source_add(&source, lines[i].record[j]);
            least = fmin(least, x), most = fmax(most, x);
        }
    }
    struct svg svg = {.width = WIDTH};
    struct axis x = {least, most, 70, svg.width - 24 - 6.7 * (double)longest, 2};
    svg_title(&svg, 16, 24, 15, SVG_START, "%s", sweep->title);
    int several = !same_run(lines[0].record[0], lines[count - 1].record[0]);
    double top = several ? 0 : 70, height = several ? 130 : 280;
    for (int from = 0, to = 0; from < count; from = to) {
        while (to < count && same_run(lines[to].record[0], lines[from].record[0])) to++;
        if (several)
            head_panel(&svg, top + (from > 0 ? 80 : 56), lines[from].record[0]), top += from > 0 ? 116 : 92;
        draw_sweep_panel(&svg, sweep, lines + from, to - from, x, top, height);
        top += height;
    }
    add_source(&svg, &source, several ? PANELS : NULL, top + 62);
    return write_chart(&svg, sweep->file, sweep->title);
}

int main(int count, char **arguments)
{
    if (count != 4) fail("usage: draw_charts GPU.csv DIR TREE");
    all.records = read_records(arguments[1]);
    all.folder = arguments[2];
    all.lesson_count = find_lessons(arguments[3], all.lessons);
    int status = draw_roofline();
    for (size_t i = 0; i < sizeof CHARTS / sizeof CHARTS[0]; i++) status |= draw_chart(&CHARTS[i]);
    for (size_t i = 0; i < sizeof SWEEPS / sizeof SWEEPS[0]; i++) status |= draw_sweep(&SWEEPS[i]);
    free_records(&all.records);
    return status == 0 ? 0 : 1;
}
