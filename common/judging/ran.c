/**
 * @file ran.c
 * @brief Notes that a kernel was really executed. CTest calls a run of nothing but skipped tests a success;
 *        the test run.executed_something looks for these notes instead.
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/terminal.h"
#include "base/text.h"
#include "course/command.h"
#include "course/course.h"
#include "course/device.h"
#include "judging.h"

static char *notes_folder(void)
{
    return format_string("%s/ran", course_binary_dir());
}

void record_run(const struct lesson_folder *lesson, enum device device, enum state state)
{
    char *folder = notes_folder();
    char *path = format_string("%s/%ld-%s-%s", folder, (long)getpid(), lesson->name, device_name(device));
    char *line = format_string("%s %s %s\n", lesson->name, device_name(device), state_name(state));
    int error = make_folders(folder);
    if (!error) error = write_file(path, line, strlen(line));
    if (error) complain("%s cannot be written: %s.", path, strerror(error));
    free(line);
    free(path);
    free(folder);
}

static size_t count_notes(const char *pattern)
{
    glob_t found;
    char *folder = notes_folder();
    char *path = format_string("%s/%s", folder, pattern);
    size_t count = 0;
    if (glob(path, 0, NULL, &found) == 0) {
        count = found.gl_pathc;
        globfree(&found);
    }
    free(path);
    free(folder);
    return count;
}

static int run_ran(const struct command_line *line)
{
    const char *required = option_value(line, "--require");
    if (option_value(line, "--clear") != NULL) {
        char *folder = notes_folder();
        remove_tree(folder);
        free(folder);
        return EXIT_PASS;
    }
    size_t simt = count_notes("*-simt"), gpu = count_notes("*-gpu"), counted = simt + gpu;
    if (required != NULL && strcmp(required, "simt") == 0) counted = simt;
    if (required != NULL && strcmp(required, "gpu") == 0) counted = gpu;
    printf("kernels were checked in %zu runs on simt and %zu on gpu\n", simt, gpu);
    if (counted) return EXIT_PASS;
    complain("nothing ran%s%s: no kernel was executed since the record was cleared, so nothing was shown.",
             required != NULL ? " on " : "", required != NULL ? required : "");
    return EXIT_FAIL;
}

static const struct option_description options[] = {
    {"--clear", NULL, "forget what ran so far", 0},
    {"--require", "DEVICE", "fail unless a kernel was executed on simt or gpu", 0},
    {0},
};

const struct command ran_command = {
    .name = "ran-anything",
    .details = "For the test run.executed_something: fails unless a kernel was executed since --clear.",
    .options = options,
    .run = run_ran,
};
