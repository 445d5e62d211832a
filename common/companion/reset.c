/**
 * @file reset.c
 * @brief warpwise reset: restores the skeleton, after putting aside what was written.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/terminal.h"
#include "base/text.h"
#include "companion.h"
#include "course/command.h"
#include "course/course.h"
#include "progress.h"
#include "skeleton.h"

/* A name that nobody has used: two resets within one second must not lose the work that the first one put
 * aside. */
static char *backup_name(const struct lesson_folder *lesson)
{
    char stamp[32];
    time_t now = time(NULL);
    struct tm parts;
    strftime(stamp, sizeof stamp, "%Y-%m-%d_%H-%M-%S", localtime_r(&now, &parts));
    for (int turn = 0;; turn++) {
        char *name =
            turn ? format_string("%s/backups/%s_%s_%d.cu", progress_folder(), lesson->name, stamp, turn)
                 : format_string("%s/backups/%s_%s.cu", progress_folder(), lesson->name, stamp);
        if (access(name, F_OK) != 0) return name;
        free(name);
    }
}

static int back_up(const struct lesson_folder *lesson, const struct text *source, char **backup)
{
    char *folder = format_string("%s/backups", progress_folder());
    *backup = backup_name(lesson);
    int error = make_folders(folder);
    if (!error) error = write_file(*backup, source->data, source->length);
    free(folder);
    if (!error) return EXIT_PASS;
    return complain("%s cannot be written (%s), so nothing was reset.", *backup, strerror(error));
}

static int put_back(const struct lesson_folder *lesson, const char *kernel, const struct text *skeleton)
{
    struct text source = {0};
    char *backup = NULL;
    int missing = read_file(kernel, &source) != 0, code = EXIT_PASS;
    int same = !missing && source.length == skeleton->length &&
               memcmp(source.data, skeleton->data, source.length) == 0;
    if (same) {
        printf("%s is as it was handed out; nothing to reset\n", course_short_path(kernel));
    } else {
        if (!missing) code = back_up(lesson, &source, &backup);
        int error = code == EXIT_PASS ? write_file(kernel, skeleton->data, skeleton->length) : 0;
        if (error) code = complain("%s cannot be written: %s.", course_short_path(kernel), strerror(error));
        if (code == EXIT_PASS) {
            printf("%s is as it was handed out again\n", course_short_path(kernel));
            if (backup != NULL)
                printf("what you had: %s\nto get it back: cp '%s' '%s'\n", backup, backup,
                       course_short_path(kernel));
        }
    }
    free(backup);
    text_free(&source);
    return code;
}

static int run_reset(const struct command_line *line)
{
    struct text skeleton = {0};
    if (line->operand == NULL) return complain("which lesson? For example: %s reset 01", program_name());
    const struct lesson_folder *lesson = course_find_lesson(line->operand);
    if (lesson == NULL) return EXIT_TROUBLE;
    char *kernel = course_kernel_path(lesson, 0);
    skeleton_keep(lesson);
    int code =
        skeleton_find(lesson, &skeleton) == 0
            ? put_back(lesson, kernel, &skeleton)
            : complain("there is no copy of the skeleton of lesson %s: not in git, and the file was changed "
                       "before this program saw it. Take %s from where you got the course.",
                       lesson->number, course_short_path(kernel));
    text_free(&skeleton);
    free(kernel);
    return code;
}

static const struct option_description reset_options[] = {{0}};

const struct command reset_command = {
    .name = "reset",
    .operand = "NN",
    .summary = "start a lesson again; what you wrote is kept aside, and you are told where",
    .details = "The skeleton comes from git's history, or from a copy kept when this program first saw it.\n"
               "Points and hints stay remembered. Exit 0, or 2 if nothing could be reset.",
    .options = reset_options,
    .run = run_reset,
};
