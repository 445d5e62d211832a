/**
 * @file debug.c
 * @brief warpwise debug: a debugger on one case of a kernel, stopped at one thread; gdb on the software device, with the words
 *        of debugger.py, cuda-gdb on a GPU, with those of debugger_cuda.gdb.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/process.h"
#include "base/terminal.h"
#include "base/text.h"
#include "build/build.h"
#include "catalogue.h"
#include "companion.h"
#include "course/command.h"
#include "course/course.h"
#include "course/described.h"
#include "course/device.h"
#include "course/places.h"
#include "profile.h"

enum { DEBUG_BLOCK_THREADS = 1024, MOST_STOPS = 64 };

/** @brief Where to stop. */
struct stop {
    int block[3], thread;
    int line;                  /**< of the kernel file; 0: where its kernels begin */
    int kernel_at[MOST_STOPS]; /**< lines where kernels begin */
    size_t kernels;
};

/* "1,0" */
static int read_block(const char *text, int block[3])
{
    int used = 0;
    block[0] = block[1] = block[2] = 0;
    if (text == NULL) return EXIT_PASS;
    for (int axis = 0; axis < 3; axis++) {
        char *end;
        const long value = strtol(text + used, &end, 10);
        if (end == text + used || value < 0) break;
        block[axis] = (int)value;
        if (*end == '\0') return EXIT_PASS;
        if (*end != ',') break;
        used = (int)(end - text) + 1;
    }
    return complain("--block takes X, X,Y or X,Y,Z, such as 1,0; not \"%s\".", text);
}

static int read_number(const struct command_line *line, const char *option, long most, int *number)
{
    const char *text = option_value(line, option);
    char *end;
    *number = 0;
    if (text == NULL) return EXIT_PASS;
    const long value = strtol(text, &end, 10);
    if (end == text || *end || value < 0 || value > most)
        return complain("%s takes a number from 0 to %ld, not \"%s\".", option, most, text);
    *number = (int)value;
    return EXIT_PASS;
}

/* Notes the lines on which a kernel's name stands: gdb stops at the first line of what begins there. */
static int find_kernels(const char *path, struct stop *stop)
{
    struct text source = {0};
    const char mark[] = "__global__";
    int error = read_file(path, &source), number = 1;
    if (error) return complain("%s cannot be read: %s.", course_short_path(path), strerror(error));
    for (const char *at = source.data; *at && stop->kernels < MOST_STOPS; at++) {
        number += *at == '\n';
        if (strncmp(at, mark, sizeof mark - 1) != 0) continue;
        const char *open = strpbrk(at, "({;"); /* of its parameters, or of __launch_bounds__ */
        for (; at < open && *at; at++) number += *at == '\n';
        stop->kernel_at[stop->kernels++] = number;
        if (!*at) break;
    }
    text_free(&source);
    return stop->kernels ? EXIT_PASS : complain("%s has no kernel to stop in.", course_short_path(path));
}

static int read_stop(const struct command_line *line, const char *kernel, struct stop *stop)
{
    int code = read_block(option_value(line, "--block"), stop->block);
    if (code == EXIT_PASS) code = read_number(line, "--thread", DEBUG_BLOCK_THREADS - 1, &stop->thread);
    if (code == EXIT_PASS) code = read_number(line, "--line", 1000000, &stop->line);
    return code == EXIT_PASS ? find_kernels(kernel, stop) : code;
}

/* What debugger.py is told: the file, which thread, and where it is to stop. */
static char *start_words(const char *kernel, const struct stop *stop, const char *begin)
{
    struct text words = {0};
    const char *slash = strrchr(kernel, '/'), *name = slash != NULL ? slash + 1 : kernel;
    text_print(&words, "%s %s %d,%d,%d %d %zu", begin, name, stop->block[0], stop->block[1], stop->block[2],
               stop->thread, stop->kernels);
    for (size_t i = 0; i < stop->kernels; i++) text_print(&words, " %s:%d", name, stop->kernel_at[i]);
    if (stop->line) text_print(&words, " %s:%d", name, stop->line);
    return words.data;
}

/* cuda-gdb knows threads itself. Every launch stops, at the kernel's beginning: there the thread is chosen. For a line it becomes the condition of a
 * breakpoint, which means something only once there is device code, so it is set at the first launch (debugger_cuda.gdb). */
static void add_cuda_stops(const char *kernel, const struct stop *stop, struct argument_list *arguments)
{
    const char *slash = strrchr(kernel, '/'), *name = slash != NULL ? slash + 1 : kernel;
    const int *block = stop->block;
    const char *const at_launch[] = {
        format_string("cuda block %d,%d,%d thread %d,0,0", block[0], block[1], block[2], stop->thread), NULL};
    const char *const at_line[] = {
        "set cuda break_on_launch none",
        format_string("break %s:%d if blockIdx.x == %d && blockIdx.y == %d && blockIdx.z == %d && "
                      "threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z) == %d",
                      name, stop->line, block[0], block[1], block[2], stop->thread),
        "continue", NULL};
    const char *const begin[] = {"set cuda break_on_launch application", "run", NULL};
    const char *const *const both[] = {begin, stop->line ? at_line : at_launch};
    for (size_t i = 0; i < 2; i++)
        for (const char *const *command = both[i]; *command != NULL; command++) {
            argument_add(arguments, "-ex");
            argument_add(arguments, *command);
        }
}

/* Leaves a link at @p folder/@p name to what it is. */
static int link_to(const char *folder, const char *name, const char *what)
{
    char *path = format_string("%s/%s", folder, name);
    unlink(path);
    int error = symlink(what, path) == 0 ? 0 : errno;
    if (error) complain("%s cannot be written: %s.", path, strerror(error));
    free(path);
    return error ? EXIT_TROUBLE : EXIT_PASS;
}

/* For a debugger that an editor starts: the same files at the same paths, whatever is debugged. */
static int prepare_debugger(const char *folder, const char *kernel, const struct stop *stop,
                            const char *runner, const char *saved)
{
    int error = make_folders(folder);
    if (error) return complain("%s cannot be created: %s.", folder, strerror(error));
    char *words = format_string("%s/words.gdb", folder), *begin = start_words(kernel, stop, "warpwise-wait");
    char *text = format_string("source %s\n%s\n", in_source("common/companion/debugger.py"), begin);
    error = write_file(words, text, strlen(text));
    if (error) return complain("%s cannot be written: %s.", words, strerror(error));
    free(text);
    free(begin);
    free(words);
    int code = link_to(folder, "runner", runner);
    return code == EXIT_PASS ? link_to(folder, "case", saved) : code;
}

/* Becomes the debugger; returns only if that fails. */
static int start_debugger(const char *debugger, const char *kernel, enum device device,
                          const struct stop *stop, const char *runner, const char *saved)
{
    struct argument_list arguments = {0};
    argument_add(&arguments, debugger);
    argument_add(&arguments, "-q");
    if (!*colour_on(COLOUR_BOLD)) { /* NO_COLOR, of which gdb does not know */
        argument_add(&arguments, "-ex");
        argument_add(&arguments, "set style enabled off");
    }
    argument_add(&arguments, "-x");
    if (device == DEVICE_SIMT) {
        argument_add(&arguments, in_source("common/companion/debugger.py"));
        argument_add(&arguments, "-ex");
        argument_add(&arguments, start_words(kernel, stop, "warpwise-start"));
        setenv("SIMT_WORKERS", "1", 1); /* blocks one after another, in order */
    } else {
        argument_add(&arguments, in_source("common/companion/debugger_cuda.gdb"));
        add_cuda_stops(kernel, stop, &arguments);
    }
    argument_add(&arguments, "--args");
    argument_add(&arguments, runner);
    argument_add(&arguments, "--case-file");
    argument_add(&arguments, saved);
    fflush(stdout);
    execv(debugger, (char *const *)arguments.items);
    return complain("%s cannot be started: %s.", debugger, strerror(errno));
}

static int run_debug(const struct command_line *line)
{
    struct device_choice choice;
    struct catalogue catalogue;
    struct build build;
    struct stop stop = {0};
    if (line->operand == NULL) return complain("which lesson? For example: %s debug 01", program_name());
    const struct lesson_folder *lesson = course_find_lesson(line->operand);
    const char *given = option_value(line, "--kernel"), *name = option_value(line, "--case");
    const char *asked = option_value(line, "--device");
    if (lesson == NULL || device_choose(asked != NULL ? asked : "simt", &choice) != EXIT_PASS)
        return EXIT_TROUBLE;
    const enum device device = choice.wanted[DEVICE_SIMT] ? DEVICE_SIMT : DEVICE_GPU;
    const char *program = device == DEVICE_SIMT ? "gdb" : "cuda-gdb";
    char *debugger = find_program(program);
    if (debugger == NULL)
        return complain("%s is not on the PATH: %s", program,
                        device == DEVICE_SIMT ? "apt install gdb" : "it comes with the CUDA Toolkit");
    if (!device_probe(device)->usable)
        return complain("%s: %s.", device_name(device), device_probe(device)->reason);
    if (catalogue_read(lesson, &catalogue) != EXIT_PASS) return EXIT_TROUBLE;
    const struct known_case *item = catalogue_case(
        &catalogue, lesson, name != NULL ? name : course_described(lesson->topic)->shown_by, device);
    char *kernel = given != NULL ? copy_string(given)
                                 : course_kernel_path(lesson, option_value(line, "--solution") != NULL);
    if (item == NULL || build_kernel_file_usable(kernel) != EXIT_PASS ||
        read_stop(line, kernel, &stop) != EXIT_PASS)
        return EXIT_TROUBLE;
    build_runner(lesson, kernel, device, BUILD_DEBUG, &build);
    if (build.state == BUILD_BROKEN) fputs(build.errors.data, stderr);
    if (build.state != BUILD_READY) return build.state == BUILD_BROKEN ? EXIT_FAIL : EXIT_TROUBLE;
    char *saved = runner_save_case(lesson, item->name, device);
    if (saved == NULL) return EXIT_TROUBLE;
    const char *folder = option_value(line, "--prepare");
    if (folder != NULL) return prepare_debugger(folder, kernel, &stop, build.runner, saved);
    return start_debugger(debugger, kernel, device, &stop, build.runner, saved);
}

static const struct option_description debug_options[] = {
    {"--case", "NAME", "this case; without it, the one that shows what the lesson is about", 0},
    {"--block", "X,Y", "the block to stop in (0,0)", 0},
    {"--thread", "N", "and its thread, counted over x, then y, then z (0)", 0},
    {"--line", "L", "at this line of the kernel file; without it, where a kernel begins", 0},
    {"--device", "simt|gpu", "gdb on the software device (the default), or cuda-gdb on a GPU", 0},
    {"--prepare", "DIR", "start no debugger: leave in DIR what an editor starts, runner, case, words.gdb", 0},
    {"--kernel", "FILE.cu", "this file instead of the lesson's", 0},
    {"--solution", NULL, "the course's own solution", 0},
    {0},
};

const struct command debug_command = {
    .name = "debug",
    .operand = "NN",
    .summary = "step through a kernel: gdb, stopped at one thread of one block",
    .details = "Builds the kernel without optimising it away and starts gdb at a case. Beside gdb's own "
               "words there are\n"
               "thread N, lane N, block X,Y, at LINE, lanes, shared NAME: docs/debug.md.\n"
               "The exit status is the debugger's; 2 if it cannot be started.",
    .options = debug_options,
    .run = run_debug,
};
