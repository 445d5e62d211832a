/**
 * @file roofline.c
 * @brief warpwise roofline: what this device allows at each number of operations per byte, and where the kernels
 *        stand below it.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/layout.h"
#include "base/process.h"
#include "base/terminal.h"
#include "base/text.h"
#include "catalogue.h"
#include "companion.h"
#include "course/command.h"
#include "course/course.h"
#include "course/device.h"
#include "figures.h"
#include "limits.h"

enum { MOST_POINTS = 52, PLOT_HEIGHT = 18, MOST_PLOT_WIDTH = 90, AXIS_WIDTH = 9, GNUPLOT_SECONDS = 60 };

/** @brief A kernel at its best case. */
struct point {
    char *name; /* "05 f32" */
    const char *test_case;
    double intensity, tflops;
    enum limits_numbers numbers;
};

struct points {
    struct point items[MOST_POINTS];
    size_t count;
};

/* ---- which points ----------------------------------------------------------------------------------------------- */

/* A kernel is shown once, at the case where it is fastest. */
static void add_point(struct points *points, struct point point)
{
    for (size_t i = 0; i < points->count; i++) {
        if (strcmp(points->items[i].name, point.name) != 0) continue;
        if (point.tflops > points->items[i].tflops) points->items[i] = point;
        return;
    }
    if (points->count < MOST_POINTS) points->items[points->count++] = point;
}

/* The type that a case multiplies, from the checker's description of its shape. */
static enum limits_numbers numbers_of(const char *lesson, const char *test_case)
{
    static struct catalogue catalogue;
    static char *read;
    if (read == NULL || strcmp(read, lesson) != 0) {
        const struct lesson_folder *folder = course_find_lesson(lesson);
        free(read);
        read = copy_string(lesson);
        catalogue = (struct catalogue){0};
        if (folder != NULL) (void)catalogue_read(folder, &catalogue);
    }
    for (size_t i = 0; i < catalogue.count; i++)
        if (strcmp(catalogue.cases[i].name, test_case) == 0)
            return limits_numbers_of(catalogue.cases[i].shape);
    return limits_numbers_of(test_case);
}

/* Rows with a time that a bench wrote, so that they have operations and bytes, too. */
static void add_points(const struct figures *figures, int own, struct points *points)
{
    for (size_t i = 0; i < figures->count; i++) {
        const struct figure *row = &figures->items[i];
        if (strcmp(row->metric, "time") != 0 || strcmp(row->lesson, "limits") == 0) continue;
        double flop = figures_value(figures, row->lesson, row->kernel, row->test_case, "flop");
        double bytes = figures_value(figures, row->lesson, row->kernel, row->test_case, "min_bytes");
        double us = atof(row->value);
        if (!(flop > 0) || !(bytes > 0) || !(us > 0)) continue;
        add_point(points, (struct point){.name = format_string("%s %s%s", row->lesson, row->kernel,
                                                               own ? ", yours" : ""),
                                         .test_case = row->test_case,
                                         .intensity = flop / bytes,
                                         .tflops = flop / us * 1e-6,
                                         .numbers = numbers_of(row->lesson, row->test_case)});
    }
}

static double roof(const struct limits *limits, double intensity, enum limits_numbers numbers)
{
    double memory = limits->copy_gbps * intensity * 1e-3;
    double compute = limits_compute(limits, numbers);
    return compute > 0 && compute < memory ? compute : memory;
}

/* The roofs to draw: the one for products of bytes only if a kernel computes some. */
static int is_drawn(const struct points *points, enum limits_numbers numbers)
{
    int used = numbers != LIMITS_INT8;
    for (size_t i = 0; i < points->count; i++) used |= points->items[i].numbers == numbers;
    return used;
}

static double highest_roof(const struct limits *limits, const struct points *points)
{
    double top = 0;
    for (int numbers = 0; numbers < LIMITS_KINDS; numbers++)
        if (is_drawn(points, (enum limits_numbers)numbers))
            top = fmax(top, limits_compute(limits, (enum limits_numbers)numbers));
    return top;
}

/* a to z, then A to Z */
static char letter(size_t point)
{
    return (char)(point < 26 ? 'a' + point : 'A' + point - 26);
}

/* ---- text ------------------------------------------------------------------------------------------------------- */

struct frame {
    double x_low, x_high, y_low, y_high; /* logarithms to base 2 */
    int width, height;
    char cell[PLOT_HEIGHT][MOST_PLOT_WIDTH + 1];
};

static void set_frame(const struct limits *limits, const struct points *points, struct frame *frame)
{
    double top = highest_roof(limits, points);
    if (!(top > 0)) top = limits->copy_gbps;
    *frame = (struct frame){.x_low = -2, .x_high = 10, .y_high = log2(top) + 0.7, .y_low = log2(top) - 10};
    for (size_t i = 0; i < points->count; i++) {
        double x = log2(points->items[i].intensity), y = log2(points->items[i].tflops);
        if (x < frame->x_low) frame->x_low = floor(x);
        if (x > frame->x_high) frame->x_high = ceil(x);
        if (y < frame->y_low) frame->y_low = y - 0.5;
    }
    int width = layout_width() - AXIS_WIDTH - 1;
    frame->width = width < MOST_PLOT_WIDTH ? width : MOST_PLOT_WIDTH;
    frame->height = PLOT_HEIGHT;
    for (int row = 0; row < frame->height; row++) {
        memset(frame->cell[row], ' ', (size_t)frame->width);
        frame->cell[row][frame->width] = '\0';
    }
}

static void put(struct frame *frame, double intensity, double tflops, char mark)
{
    double x = (log2(intensity) - frame->x_low) / (frame->x_high - frame->x_low);
    double y = (log2(tflops) - frame->y_low) / (frame->y_high - frame->y_low);
    int column = (int)lround(x * (frame->width - 1)), row = (int)lround((1 - y) * (frame->height - 1));
    if (column < 0 || column >= frame->width || row < 0 || row >= frame->height) return;
    frame->cell[row][column] = mark;
}

static void draw_roofs(struct frame *frame, const struct limits *limits, const struct points *points)
{
    for (int kind = LIMITS_KINDS - 1; kind >= 0; kind--) {
        enum limits_numbers numbers = (enum limits_numbers)kind;
        double compute = limits_compute(limits, numbers);
        if (!is_drawn(points, numbers)) continue;
        for (int column = 0; column < frame->width; column++) {
            double x = frame->x_low + (frame->x_high - frame->x_low) * column / (frame->width - 1);
            double y = roof(limits, exp2(x), numbers);
            put(frame, exp2(x), y, compute > 0 && y >= compute ? '-' : '/');
        }
    }
}

/* Labels whole powers of two below the axis, as many as fit. */
static void print_axis(const struct frame *frame)
{
    char labels[AXIS_WIDTH + MOST_PLOT_WIDTH + 16];
    double span = frame->x_high - frame->x_low;
    int step = 1;
    while (frame->width * step / span < 8) step++;
    memset(labels, ' ', sizeof labels);
    for (int x = (int)frame->x_low; x <= (int)frame->x_high; x += step) {
        char label[16];
        int length = snprintf(label, sizeof label, "%g", exp2(x));
        int column = (int)lround((x - frame->x_low) / span * (frame->width - 1));
        if (column + length <= frame->width) memcpy(labels + column, label, (size_t)length);
    }
    printf("%*s%.*s\n%*soperations per byte, at best\n", AXIS_WIDTH, "", frame->width, labels, AXIS_WIDTH,
           "");
}

static void print_frame(const struct frame *frame)
{
    for (int row = 0; row < frame->height; row++) {
        double y = frame->y_high - (frame->y_high - frame->y_low) * row / (frame->height - 1);
        char label[16] = "";
        if (row % 3 == 0) snprintf(label, sizeof label, exp2(y) < 100 ? "%.2g" : "%.0f", exp2(y));
        printf("%*s |%s\n", AXIS_WIDTH - 2, label, frame->cell[row]);
    }
    printf("%*s +", AXIS_WIDTH - 2, "TFLOP/s");
    for (int column = 0; column < frame->width; column++) putchar('-');
    printf("\n");
    print_axis(frame);
}

static void print_legend(const struct points *points, const struct limits *limits)
{
    if (points->count) printf("\n");
    for (size_t i = 0; i < points->count; i++) {
        const struct point *point = &points->items[i];
        double share = 100 * point->tflops / roof(limits, point->intensity, point->numbers);
        char *line = format_string("%s: %.3g TFLOP/s, %.*f%% of the roof (%s)", point->name, point->tflops,
                                   share < 1 ? 1 : 0, share, point->test_case);
        printf("  %s%c%s  ", colour_on(COLOUR_BOLD), letter(i), colour_off());
        layout_paragraph(line, 5, 5);
        free(line);
    }
}

static void print_text(const struct limits *limits, const struct points *points)
{
    static struct frame frame;
    set_frame(limits, points, &frame);
    draw_roofs(&frame, limits, points);
    for (size_t i = 0; i < points->count; i++)
        put(&frame, points->items[i].intensity, points->items[i].tflops, letter(i));
    print_frame(&frame);
    print_legend(points, limits);
}

/* ---- SVG ------------------------------------------------------------------------------------------------------ */

static char *svg_script(const char *path, const struct limits *limits, const struct points *points)
{
    struct text script = {0};
    double right = 2048, bottom = 0.1;
    for (size_t i = 0; i < points->count; i++) {
        right = fmax(right, 2 * points->items[i].intensity);
        bottom = fmin(bottom, points->items[i].tflops / 2);
    }
    text_print(&script,
               "set terminal svg noenhanced size 860,560 background rgb 'white' font 'sans-serif,13'\n"
               "set output '%s'\nset logscale xy\nset key bottom right\nset grid\n"
               "set title 'Roofline of %s%s'\n"
               "set xlabel 'operations per byte of compulsory traffic'\nset ylabel 'TFLOP/s'\n"
               "set xrange [0.25:%g]\nset yrange [%g:%g]\n"
               "roof(x, top) = %g * x < top ? %g * x : top\n$points << END\n",
               path, limits->device, limits->measured ? ", measured now" : "", right, bottom,
               2 * fmax(highest_roof(limits, points), 1), limits->copy_gbps * 1e-3, limits->copy_gbps * 1e-3);
    for (size_t i = 0; i < points->count; i++)
        text_print(&script, "%g %g \"%s\"\n", points->items[i].intensity, points->items[i].tflops,
                   points->items[i].name);
    text_print(
        &script,
        "END\nplot roof(x, %g) title 'copy rate, then the peak in f32' lw 2 lc rgb '#444444', \\\n"
        "     roof(x, %g) title 'copy rate, then the peak of tensor cores in f16' lw 2 lc rgb '#888888', \\\n"
        "     %g title 'cuBLAS f32, for reference' dt 2 lc rgb '#444444', \\\n"
        "     %g title 'cuBLAS f16, for reference' dt 2 lc rgb '#888888'",
        limits_compute(limits, LIMITS_F32) > 0 ? limits_compute(limits, LIMITS_F32) : 1e9,
        limits_compute(limits, LIMITS_F16) > 0 ? limits_compute(limits, LIMITS_F16) : 1e9, limits->f32_tflops,
        limits->f16_tflops);
    if (is_drawn(points, LIMITS_INT8) && limits_compute(limits, LIMITS_INT8) > 0)
        text_print(&script,
                   ", \\\n     roof(x, %g) title 'the same in int8, twice as fast' lw 2 lc rgb '#bbbbbb'",
                   limits_compute(limits, LIMITS_INT8));
    if (points->count)
        text_print(&script,
                   ", \\\n     $points using 1:2:3 with labels point pt 7 offset char 1,0 left notitle");
    text_print(&script, "\n");
    return script.data;
}

static int draw_svg(const char *path, const struct limits *limits, const struct points *points)
{
    struct process_end end;
    char *gnuplot = find_program("gnuplot");
    if (gnuplot == NULL) {
        printf("\nno picture: gnuplot is not installed\n");
        return EXIT_PASS;
    }
    char *script = svg_script(path, limits, points), *file = format_string("%s.gnuplot", path);
    const char *arguments[] = {gnuplot, file, NULL};
    int error = write_file(file, script, strlen(script)), code = EXIT_PASS;
    if (error) {
        code = complain("%s cannot be written: %s.", file, strerror(error));
    } else {
        process_run(&(struct process){.arguments = arguments, .seconds = GNUPLOT_SECONDS}, &end);
        if (end.exit_code != 0) code = complain("gnuplot does not draw it: %s", end.output.data);
        text_free(&end.output);
    }
    remove(file);
    if (code == EXIT_PASS) printf("\npicture: %s\n", course_short_path(path));
    free(file);
    free(script);
    free(gnuplot);
    return code;
}

/* ---- the command ------------------------------------------------------------------------------------------------ */

static void print_heading(const struct limits *limits)
{
    char *line = format_string(
        "%s: copy %.0f GB/s; peak f32 %.1f TFLOP/s, f16 on tensor cores %.0f TFLOP/s; for reference "
        "cuBLAS f32 %.1f, f16 %.0f; %s%s",
        limits->device, limits->copy_gbps, limits_compute(limits, LIMITS_F32),
        limits_compute(limits, LIMITS_F16), limits->f32_tflops, limits->f16_tflops,
        limits->measured ? "measured now" : "recorded ", limits->measured ? "" : limits->date);
    layout_paragraph(line, 0, 2);
    free(line);
    printf("\n");
    if (limits->measured) return;
    layout_paragraph(
        "There is no GPU here. simt has counters and no speed, so nothing of this machine can be "
        "drawn; these are figures recorded in docs/results.",
        0, 0);
    printf("\n");
}

static void say_how_to_get_points(void)
{
    char *line =
        format_string("kernels: %s tour --record puts the solutions here, bench NN your own", program_name());
    printf("\n");
    layout_paragraph(line, 0, 2);
    free(line);
}

static int run_roofline(const struct command_line *line)
{
    static struct points points;
    struct limits limits;
    struct figures own;
    const char *given = option_value(line, "--svg");
    if (option_value(line, "--device") != NULL && !device_probe(DEVICE_GPU)->usable) {
        printf("NO_DEVICE   gpu: %s\n", device_probe(DEVICE_GPU)->reason);
        return EXIT_SKIPPED;
    }
    if (limits_find(&limits) != EXIT_PASS) {
        layout_paragraph(
            "There is no GPU here and docs/results holds figures of none. A roofline is drawn from "
            "speeds; simt has only counters: warpwise bench NN shows them.",
            0, 0);
        return EXIT_SKIPPED;
    }
    char *mine = figures_own_path(limits.device);
    add_points(&limits.figures, 0, &points);
    if (figures_read(mine, &own) == EXIT_PASS) add_points(&own, 1, &points);
    print_heading(&limits);
    print_text(&limits, &points);
    if (limits.measured && points.count == 0) say_how_to_get_points();
    free(mine);
    if (option_value(line, "--text") != NULL) return EXIT_PASS;
    char *path = given != NULL ? copy_string(given) : format_string("%s/roofline.svg", course_binary_dir());
    int code = draw_svg(path, &limits, &points);
    free(path);
    return code;
}

static const struct option_description roofline_options[] = {
    {"--device", "gpu", "fail without a GPU instead of drawing recorded figures", 0},
    {"--svg", "FILE", "where the picture goes; without it, roofline.svg in the build folder", 0},
    {"--text", NULL, "no picture", 0},
    {0},
};

const struct command roofline_command = {
    .name = "roofline",
    .summary = "what this GPU allows, and where each kernel stands below it",
    .details =
        "The limits are measured on your own GPU; kernels come from what tour --record and bench recorded.\n"
        "As text, and with gnuplot as SVG. Without a GPU it draws what docs/results holds of one.\n"
        "Exit 0, 77 if there is nothing to draw.",
    .options = roofline_options,
    .run = run_roofline,
};
