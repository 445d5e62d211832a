/**
 * @file runner.c
 * @brief warpwise runner: prints the command that runs a kernel on one case and nothing else, for cuda-gdb,
 *        compute-sanitizer, ncu or gdb.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/process.h"
#include "base/terminal.h"
#include "base/text.h"
#include "build/build.h"
#include "companion.h"
#include "course/command.h"
#include "course/course.h"
#include "course/device.h"
#include "profile.h"

/* Saves the case under a path made of lesson, case and device; NULL after a complaint. */
char *runner_save_case(const struct lesson_folder *lesson, const char *test_case, enum device device)
{
    char *folder = format_string("%s/cases", course_binary_dir());
    char *name = format_string("%s-%s-%s", lesson->name, test_case, device_name(device));
    for (char *at = name; *at; at++) {
        if (*at == '/') *at = '.';
    }
    char *path = format_string("%s/%s", folder, name);
    const char *arguments[] = {format_string("%s/bin/checker", course_binary_dir()),
                               "--lesson",
                               lesson->name,
                               "--device",
                               device_name(device),
                               "--save-case",
                               test_case,
                               path,
                               NULL};
    struct process process = {.arguments = arguments};
    struct process_end end;
    int error = make_folders(folder);
    if (error) {
        complain("%s cannot be created: %s.", folder, strerror(error));
    } else {
        process_run(&process, &end);
        if (end.exit_code == 0) return path;
        complain("the case cannot be saved: %s",
                 end.output.length ? end.output.data : "the checker did not start");
    }
    return NULL;
}

static int run_runner(const struct command_line *line)
{
    struct device_choice choice;
    const char *test_case = option_value(line, "--case");
    if (line->operand == NULL || test_case == NULL)
        return complain("which lesson and case? For example: warpwise runner 01 --case attention/square_64");
    const struct lesson_folder *lesson = course_find_lesson(line->operand);
    if (lesson == NULL || device_choose(option_value(line, "--device"), &choice) != EXIT_PASS)
        return EXIT_TROUBLE;
    const char *given = option_value(line, "--kernel");
    char *kernel = given != NULL ? copy_string(given)
                                 : course_kernel_path(lesson, option_value(line, "--solution") != NULL);
    if (build_kernel_file_usable(kernel) != EXIT_PASS) return EXIT_TROUBLE;
    enum device device =
        choice.wanted[DEVICE_GPU] && device_probe(DEVICE_GPU)->usable ? DEVICE_GPU : DEVICE_SIMT;
    if (!choice.wanted[device]) return complain("there is no such device here; see warpwise doctor.");

    struct build build;
    build_runner(lesson, kernel, device, BUILD_FULL, &build);
    if (build.state == BUILD_BROKEN) fputs(build.errors.data, stderr);
    if (build.state != BUILD_READY) return build.state == BUILD_BROKEN ? EXIT_FAIL : EXIT_TROUBLE;
    char *saved = runner_save_case(lesson, test_case, device);
    if (saved == NULL) return EXIT_TROUBLE;
    printf("%s --case-file %s\n", build.runner, saved);
    return EXIT_PASS;
}

static const struct option_description runner_options[] = {
    {"--case", "NAME", "the case, as part/name", 0},
    {"--device", "gpu|simt", "where to run; without it, the GPU if there is one", 0},
    {"--kernel", "FILE.cu", "this file instead of the lesson's", 0},
    {"--solution", NULL, "the course's own solution", 0},
    {0},
};

const struct command runner_command = {
    .name = "runner",
    .operand = "NN",
    .summary = "prints the command that runs one case alone, for a debugger or profiler",
    .details = "Builds the kernel and saves the case with its inputs. Nothing is judged. For example\n\n"
               "  compute-sanitizer $(build/bin/warpwise runner 01 --case attention/square_64)\n"
               "  gdb --args $(build/bin/warpwise runner 01 --case attention/square_64 --device simt)",
    .options = runner_options,
    .run = run_runner,
};
