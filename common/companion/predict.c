/**
 * @file predict.c
 * @brief warpwise predict: asks for bytes, operations and the limiting resource before the kernel runs, then
 *        shows predictions beside measurements. A measurement that surprises is worth more than one that does
 *        not, but only to somebody who expected something.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/layout.h"
#include "base/process.h"
#include "base/terminal.h"
#include "base/text.h"
#include "catalogue.h"
#include "companion.h"
#include "course/command.h"
#include "course/course.h"
#include "course/described.h"
#include "course/device.h"
#include "figures.h"
#include "judging/judging.h"
#include "judging/results.h"
#include "limits.h"
#include "profile.h"
#include "progress.h"

enum { LINE = 256, PREDICT_NAME_WIDTH = 11, WIDE_COLUMN = 20, NARROW_COLUMN = 14 };

struct prediction {
    double bytes, operations;
    const char *bound;
};

/* ---- answers ------------------------------------------------------------------------------------------------ */

/* "4*16*2048*64", "268MB", "17.2G": factors, each with an optional unit of thousands. NaN if the text is
 * something else. */
static double read_quantity(const char *text)
{
    static const char units[] = "kMGT";
    double product = 1;
    for (;;) {
        char *end;
        text += strspn(text, " ,");
        double factor = strtod(text, &end);
        if (end == text || !(factor >= 0)) return NAN;
        end += strspn(end, " ");
        const char *unit = *end == 'K' ? units : *end && *end != '*' ? strchr(units, *end) : NULL;
        if (unit != NULL) {
            factor *= pow(1000, (double)(unit - units + 1));
            end++;
            if (*end == 'i') end++; /* close enough: within 2.4% of the power of two */
        }
        end += strspn(end, "Bb");
        if (strncmp(end, "FLOP", 4) == 0) end += 4;
        end += strspn(end, " \n");
        product *= factor;
        if (*end == '\0') return product;
        if (*end != '*') return NAN;
        text = end + 1;
    }
}

static const char *read_bound(const char *text)
{
    static const char *const bounds[] = {"memory", "compute", "latency", NULL};
    size_t length = strcspn(text, " \n");
    for (size_t i = 0; bounds[i] != NULL; i++)
        if (length > 0 && strncmp(text, bounds[i], length) == 0) return bounds[i];
    return NULL;
}

/* Reads one line from the keyboard or a pipe; 0 at its end. */
static int ask(const char *question, char answer[LINE])
{
    layout_paragraph(question, 0, 2);
    printf("> ");
    fflush(stdout);
    int got = fgets(answer, LINE, stdin) != NULL && !process_interrupted();
    if (!isatty(STDIN_FILENO) || !got) printf("\n");
    return got;
}

static int ask_quantity(const struct command_line *line, const char *option, const char *question,
                        double *value)
{
    char answer[LINE];
    const char *given = option_value(line, option);
    if (given != NULL) {
        *value = read_quantity(given);
        return isfinite(*value)
                   ? EXIT_PASS
                   : complain("%s takes a number such as 268MB or 4*16*2048*64, not \"%s\".", option, given);
    }
    for (;;) {
        if (!ask(question, answer))
            return complain("no answer; without a keyboard: --bytes N --operations N --bound WORD");
        *value = read_quantity(answer);
        if (isfinite(*value)) return EXIT_PASS;
        printf("a number, please: 268MB, 17.2G, 4*16*2048*64\n");
    }
}

static int ask_bound(const struct command_line *line, const struct limits *limits, const char **bound)
{
    char answer[LINE];
    const char *given = option_value(line, "--bound");
    if (given != NULL) {
        *bound = read_bound(given);
        return *bound != NULL ? EXIT_PASS
                              : complain("--bound takes memory, compute or latency, not \"%s\".", given);
    }
    char *question = format_string("What will bound it on %s (a copy moves %.0f GB/s, cuBLAS reaches %.0f "
                                   "TFLOP/s in f32, %.0f in f16, a launch "
                                   "takes %.1f us): memory, compute or latency?",
                                   limits->device, limits->copy_gbps, limits->f32_tflops, limits->f16_tflops,
                                   limits->launch_us);
    for (;;) {
        if (!ask(question, answer))
            return complain("no answer; without a keyboard: --bytes N --operations N --bound WORD");
        *bound = read_bound(answer);
        if (*bound != NULL) break;
        printf("memory, compute or latency, please\n");
    }
    free(question);
    return EXIT_PASS;
}

static int ask_all(const struct command_line *line, const struct limits *limits, struct prediction *said)
{
    int code =
        ask_quantity(line, "--bytes",
                     "How many bytes have to cross device memory at the least: every input read once, every "
                     "output written once?",
                     &said->bytes);
    if (code == EXIT_PASS)
        code = ask_quantity(
            line, "--operations",
            "How many floating-point operations does the definition need? A multiply-add is two.",
            &said->operations);
    return code == EXIT_PASS ? ask_bound(line, limits, &said->bound) : code;
}

/* ---- what came out -------------------------------------------------------------------------------------------- */

static void print_line(const char *name, const char *said, const char *truth, const char *verdict)
{
    int narrow = layout_width() < PREDICT_NAME_WIDTH + 2 * WIDE_COLUMN + 24;
    int column = narrow ? NARROW_COLUMN : WIDE_COLUMN;
    printf("%-*s%*s%*s%s%s\n", PREDICT_NAME_WIDTH, name, column, said, column, truth,
           !*verdict ? ""
           : narrow  ? "\n  "
                     : "   ",
           verdict);
}

static void judge_quantity(const char *name, double said, double truth)
{
    char a[32], b[32], verdict[48];
    double ratio = truth > 0 ? said / truth : 0;
    if (said == truth || (ratio > 0.97 && ratio < 1.03)) {
        snprintf(verdict, sizeof verdict, "right");
    } else if (ratio >= 1) {
        snprintf(verdict, sizeof verdict, "%.3g times too many", ratio);
    } else if (ratio > 0) {
        snprintf(verdict, sizeof verdict, "%.3g times too few", 1 / ratio);
    } else {
        snprintf(verdict, sizeof verdict, "-");
    }
    print_line(name, grouped_number(a, said), grouped_number(b, truth), verdict);
}

static void tell_truth(const struct prediction *said, const struct known_case *item,
                       const struct limits *limits)
{
    const char *bound;
    double least_us = limits_least_us(limits, item->shape, item->flop, item->min_bytes, &bound);
    print_line("", "predicted", "by definition", "");
    judge_quantity("bytes", said->bytes, item->min_bytes);
    judge_quantity("operations", said->operations, item->flop);
    print_line("bound", said->bound, bound, strcmp(said->bound, bound) == 0 ? "right" : "not so");
    char *where = limits->measured ? copy_string(limits->device)
                                   : format_string("%s, as recorded on %s,", limits->device, limits->date);
    char *why =
        strcmp(bound, "latency") == 0
            ? format_string(
                  "%.3g operations per byte. On %s memory and arithmetic would allow %.3g us; a launch "
                  "alone takes %.1f us.",
                  item->flop / item->min_bytes, where, least_us, limits->launch_us)
            : format_string("%.3g operations per byte. On %s no kernel can take less than %.3g us.",
                            item->flop / item->min_bytes, where, least_us);
    printf("\n");
    layout_paragraph(why, 0, 0);
    free(why);
    free(where);
}

static void tell_sectors(const char *whose, double sectors, double min_bytes)
{
    char bytes[32];
    char *text = format_string("%s asks the caches for %s bytes (%.0f sectors of 32): %.3g times the least.",
                               whose, grouped_number(bytes, sectors * SECTOR_BYTES), sectors,
                               sectors * SECTOR_BYTES / min_bytes);
    layout_paragraph(text, 0, 0);
    free(text);
}

static void tell_time(const char *whose, double us, const struct known_case *item,
                      const struct limits *limits)
{
    const char *bound;
    double least_us = limits_least_us(limits, item->shape, item->flop, item->min_bytes, &bound);
    char *text = format_string("%s takes %.2f us: %.3g times the least. %.1f GB/s, %.2f TFLOP/s.", whose, us,
                               us / least_us, item->min_bytes / us * 1e-3, item->flop / us * 1e-6);
    layout_paragraph(text, 0, 0);
    free(text);
}

/* What is written of the student's kernel, if not all of it is. */
static void tell_written(const struct lesson_folder *lesson, const struct catalogue *catalogue,
                         const struct known_case *item, const char *kernel)
{
    static struct profile profile;
    struct profile_request request = {lesson, kernel, item->name};
    int code = profile_on_simt(&request, &profile);
    for (size_t i = 0; code == EXIT_PASS && i < profile.count; i++) {
        char *whose = format_string("your %s", profile.kernels[i].name);
        tell_sectors(whose,
                     profile_value(&profile.kernels[i], "load sectors") +
                         profile_value(&profile.kernels[i], "store sectors"),
                     item->min_bytes);
        free(whose);
    }
    for (size_t i = 0; code == EXIT_SKIPPED; i++) {
        const struct known_case *other = catalogue_other(catalogue, item, DEVICE_SIMT, i);
        if (other == NULL) break;
        request.test_case = other->name;
        code = profile_on_simt(&request, &profile);
        if (code == EXIT_PASS)
            printf("begun is %s: %s predict %s --case %s\n", other->part, program_name(), lesson->number,
                   other->name);
    }
}

/* What the student's kernel does at this case. */
static void tell_own(const struct lesson_folder *lesson, const struct catalogue *catalogue,
                     const struct known_case *item, enum device device, const struct limits *limits)
{
    struct judgement bench;
    char *kernel = course_kernel_path(lesson, 0);
    struct judgement_request request = {.lesson = lesson, .kernel = kernel, .device = device, .bench = 1};
    argument_add(&request.checker_arguments, "--case");
    argument_add(&request.checker_arguments, item->name);
    judge(&request, &bench);
    if (bench.state != STATE_PASS || bench.results.count == 0) {
        printf("your kernel: %s%s\n", state_name(bench.state),
               state_is_failure(bench.state) ? "; only what is right is measured" : "");
        if (bench.state == STATE_NOT_STARTED && device_probe(DEVICE_SIMT)->usable)
            tell_written(lesson, catalogue, item, kernel);
        free(kernel);
        return;
    }
    const struct result_row *row = &bench.results.rows[0];
    for (size_t i = 0; i < bench.results.count; i++)
        if (strcmp(bench.results.rows[i].test_case, item->name) == 0) row = &bench.results.rows[i];
    if (device == DEVICE_GPU && row->median_us > 0) tell_time("your kernel", row->median_us, item, limits);
    if (device == DEVICE_SIMT)
        tell_sectors("your kernel", row->load_sectors + row->store_sectors, item->min_bytes);
    free(kernel);
}

/* The solution's figures, as recorded. */
static void tell_recorded(const struct lesson_folder *lesson, const struct known_case *item,
                          const struct limits *limits)
{
    struct figures simt;
    char *path = figures_path("simt");
    double us = figures_value(&limits->figures, lesson->number, item->part, item->name, "time");
    figures_read(path, &simt);
    double loads = figures_value(&simt, lesson->number, item->part, item->name, "load_sectors");
    double stores = figures_value(&simt, lesson->number, item->part, item->name, "store_sectors");
    if (isfinite(loads + stores)) tell_sectors("the solution", loads + stores, item->min_bytes);
    if (isfinite(us)) {
        char *whose = format_string("the solution on %s", limits->device);
        tell_time(whose, us, item, limits);
        free(whose);
    }
    free(path);
}

/* ---- the command ------------------------------------------------------------------------------------------------ */

static int run_predict(const struct command_line *line)
{
    struct catalogue catalogue;
    struct prediction said;
    struct limits limits;
    const struct lesson_folder *lesson = lesson_or_next(line->operand);
    if (lesson == NULL || catalogue_read(lesson, &catalogue) != EXIT_PASS) return EXIT_TROUBLE;
    int gpu = device_probe(DEVICE_GPU)->usable;
    const char *given = option_value(line, "--case");
    const struct known_case *item =
        catalogue_case(&catalogue, lesson, given != NULL ? given : course_described(lesson->topic)->shown_by,
                       gpu ? DEVICE_GPU : DEVICE_SIMT);
    if (item == NULL) return EXIT_TROUBLE;
    if (limits_find(&limits) != EXIT_PASS)
        return complain("there is no GPU here, and no figures of one in docs/results to predict for.");
    printf("%s%s %s%s, case %s\n", colour_on(COLOUR_BOLD), lesson->number, lesson->topic, colour_off(),
           item->name);
    layout_paragraph(item->shape, 0, 0);
    printf("\n");
    fflush(stdout);
    int code = ask_all(line, &limits, &said);
    if (code != EXIT_PASS) return code;
    tell_truth(&said, item, &limits);
    enum device device = gpu && item->on[DEVICE_GPU] ? DEVICE_GPU : DEVICE_SIMT;
    if (item->on[device] && device_probe(device)->usable) tell_own(lesson, &catalogue, item, device, &limits);
    tell_recorded(lesson, item, &limits);
    printf("next: %s bench %s\n", program_name(), lesson->number);
    return EXIT_PASS;
}

static const struct option_description predict_options[] = {
    {"--case", "NAME", "this case; without it, the one that shows what the lesson is about", 0},
    {"--bytes", "N", "your answer: 268MB, 4*16*2048*64*4", 0},
    {"--operations", "N", "your answer: 17.2G", 0},
    {"--bound", "WORD", "your answer: memory, compute or latency", 0},
    {0},
};

const struct command predict_command = {
    .name = "predict",
    .operand = "[NN]",
    .summary = "bytes, operations and what bounds the kernel: first you say, then it is measured",
    .details =
        "Asks for what the options do not answer. Then what the definition says, what your kernel does,\n"
        "and what the solution was recorded to do. Nobody keeps count.\n"
        "Exit 0 whatever you answered, 2 without answers.",
    .options = predict_options,
    .run = run_predict,
};
