/**
 * @file progress.c
 * @brief What is remembered of a student's work: verdicts, hints, cases that failed.
 *
 * It lies outside the tree and outside the build folder: `git pull` and `git clean` never see it, and after a
 * new build it is still known what has passed. There is one small file per lesson, with lines of "name
 * value". Each tree on a machine has a folder, named after the tree's path. Nothing is lost with it but
 * convenience: every command works without.
 */
#include "progress.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/sha256.h"
#include "base/terminal.h"
#include "base/text.h"
#include "course/course.h"
#include "course/device.h"
#include "judging/judging.h"
#include "judging/results.h"
#include "page.h"

/* ---- where ---------------------------------------------------------------------------------------------- */

/* A folder name that is readable, and different for every path of a tree. */
static char *name_of_tree(void)
{
    struct sha256 hash;
    char digits[65];
    const char *path = course_source_dir(), *slash = strrchr(path, '/');
    sha256_begin(&hash);
    sha256_add(&hash, path, strlen(path));
    sha256_end(&hash, digits);
    return format_string("%s-%.12s", slash != NULL ? slash + 1 : path, digits);
}

static char *preferred_folder(void)
{
    const char *own = getenv("WARPWISE_STATE"), *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    char *name = name_of_tree(), *folder = NULL;
    if (own != NULL && *own) {
        folder = copy_string(own);
    } else if (state != NULL && *state == '/') {
        folder = format_string("%s/warpwise/%s", state, name);
    } else if (home != NULL && *home == '/') {
        folder = format_string("%s/.local/state/warpwise/%s", home, name);
    }
    free(name);
    return folder;
}

const char *progress_folder(void)
{
    static char *folder;
    if (folder != NULL) return folder;
    folder = preferred_folder();
    if (folder != NULL && make_folders(folder) == 0 && access(folder, W_OK) == 0) return folder;
    /* if the home folder is not writable, keep the state in the build folder: better to lose it with the
     * build than to keep nothing */
    free(folder);
    folder = format_string("%s/state", course_binary_dir());
    make_folders(folder);
    return folder;
}

/* ---- reading and writing ---------------------------------------------------------------------------------- */

static char *file_of(const struct lesson_folder *lesson)
{
    return format_string("%s/%s", progress_folder(), lesson->name);
}

static void read_check(const char *value, struct past_check *check)
{
    struct past_check read = {.known = 1};
    char state[16];
    int fields =
        sscanf(value, "%15s %lf %lf %64s %15s", state, &read.points, &read.points_max, read.sum, read.date);
    if (fields != 5) return;
    *check = read;
    check->state = state_of(state);
}

static void read_hints(const char *value, struct progress *progress)
{
    for (char *word; (word = next_word(&value, ',')) != NULL; free(word)) {
        int number = atoi(word);
        if (number > 0 && number <= MOST_HINTS) progress->hint_shown[number - 1] = 1;
    }
}

static void read_line(const char *name, const char *value, struct progress *progress)
{
    if (strcmp(name, "check.simt") == 0) read_check(value, &progress->check[DEVICE_SIMT]);
    if (strcmp(name, "check.gpu") == 0) read_check(value, &progress->check[DEVICE_GPU]);
    if (strcmp(name, "passed") == 0) snprintf(progress->passed, sizeof progress->passed, "%s", value);
    if (strcmp(name, "hints") == 0) read_hints(value, progress);
    if (strcmp(name, "failed") == 0 && progress->failed_count < MOST_FAILED)
        progress->failed[progress->failed_count++] = copy_string(value);
    if (strcmp(name, "at") == 0) failing_place_add(&progress->place, value);
    if (strcmp(name, "cause") == 0) progress->place.cause = record_cause_of(value);
}

void progress_read(const struct lesson_folder *lesson, struct progress *progress)
{
    struct text content = {0};
    char *path = file_of(lesson);
    *progress = (struct progress){0};
    const char *rest = read_file(path, &content) == 0 ? content.data : NULL;
    for (char *line; (line = next_word(&rest, '\n')) != NULL; free(line)) {
        char *blank = strchr(line, ' ');
        if (blank == NULL) continue;
        *blank = '\0';
        read_line(line, blank + 1, progress);
    }
    text_free(&content);
    free(path);
}

void progress_write(const struct lesson_folder *lesson, const struct progress *progress)
{
    static int complained;
    struct text content = {0};
    char *path = file_of(lesson);
    text_append(&content, "", 0);
    for (int device = 0; device < DEVICE_COUNT; device++) {
        const struct past_check *check = &progress->check[device];
        if (!check->known) continue;
        text_print(&content, "check.%s %s %.3f %.3f %s %s\n", device_name((enum device)device),
                   state_name(check->state), check->points, check->points_max, check->sum, check->date);
    }
    if (*progress->passed) text_print(&content, "passed %s\n", progress->passed);
    const char *before = "hints ";
    for (int i = 0; i < MOST_HINTS; i++) {
        if (!progress->hint_shown[i]) continue;
        text_print(&content, "%s%d", before, i + 1);
        before = ",";
    }
    if (*before == ',') text_print(&content, "\n");
    for (size_t i = 0; i < progress->failed_count; i++)
        text_print(&content, "failed %s\n", progress->failed[i]);
    for (size_t i = 0; i < progress->place.count; i++)
        text_print(&content, "at %s\n", progress->place.region[i]);
    if (progress->place.cause) text_print(&content, "cause %s\n", record_cause_name(progress->place.cause));
    int error = write_file(path, content.data, content.length);
    if (error && !complained++)
        complain("%s cannot be written (%s), so this is not remembered.", path, strerror(error));
    text_free(&content);
    free(path);
}

/* Two commands at once must not undo each other's notes. If locking fails, they rarely do. */
static int lock_notes(void)
{
    char *path = format_string("%s/lock", progress_folder());
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file >= 0) flock(file, LOCK_EX);
    free(path);
    return file;
}

/* ---- checks ------------------------------------------------------------------------------------------------- */

void progress_sum(const char *path, char digits[65])
{
    struct sha256 hash;
    struct text content = {0};
    digits[0] = '\0';
    if (read_file(path, &content) == 0) {
        sha256_begin(&hash);
        sha256_add(&hash, content.data, content.length);
        sha256_end(&hash, digits);
    }
    text_free(&content);
}

static void today(char date[16])
{
    time_t now = time(NULL);
    struct tm parts;
    strftime(date, 16, "%Y-%m-%d", gmtime_r(&now, &parts));
}

/* A file that does not compile fails in no case, but at some lines. */
static void take_failed(const struct lesson_folder *lesson, const struct judgement *judgement,
                        struct progress *progress)
{
    char *kernel = course_kernel_path(lesson, 0);
    failing_place_read(judgement, kernel, &progress->place);
    free(kernel);
    if (judgement->results.count == 0) return;
    progress->failed_count = 0;
    for (size_t i = 0; i < judgement->results.count && progress->failed_count < MOST_FAILED; i++) {
        const struct result_row *row = &judgement->results.rows[i];
        if (state_is_failure(row->state) && *row->test_case)
            progress->failed[progress->failed_count++] = row->test_case;
    }
}

void progress_note_failures(const struct lesson_folder *lesson, const struct judgement *judgement)
{
    struct progress progress;
    int lock = lock_notes();
    progress_read(lesson, &progress);
    take_failed(lesson, judgement, &progress);
    progress_write(lesson, &progress);
    if (lock >= 0) close(lock);
}

void progress_note_check(const struct lesson_folder *lesson, enum device device,
                         const struct judgement *judgement)
{
    struct progress progress;
    if (judgement->state == STATE_NOTHING_RAN || judgement->state == STATE_NO_DEVICE) return;
    char *kernel = course_kernel_path(lesson, 0);
    int lock = lock_notes();
    progress_read(lesson, &progress);
    struct past_check *check = &progress.check[device];
    double most = 0;
    check->known = 1;
    check->state = judgement->state;
    check->points = results_points(&judgement->results, &most);
    if (most > 0) check->points_max = most; /* without compiling, nothing is known about it */
    progress_sum(kernel, check->sum);
    today(check->date);
    if (check->state == STATE_PASS && !*progress.passed) today(progress.passed);
    take_failed(lesson, judgement, &progress);
    progress_write(lesson, &progress);
    if (lock >= 0) close(lock);
    free(kernel);
}

/* ---- where a lesson stands ---------------------------------------------------------------------------------- */

static int better_check(const struct past_check *a, const struct past_check *b)
{
    int a_passes = a->state == STATE_PASS, b_passes = b->state == STATE_PASS;
    return a_passes != b_passes ? a_passes : a->points > b->points;
}

/* Prefers a check of the file as it is now, and of two such checks the better. Else takes the check there
 * is, and sets "edited". */
static const struct past_check *check_that_counts(const struct progress *progress, const char *sum,
                                                  struct standing *standing)
{
    const struct past_check *best = NULL;
    for (int pass = 0; pass < 2 && best == NULL; pass++) {
        for (int device = 0; device < DEVICE_COUNT; device++) {
            const struct past_check *check = &progress->check[device];
            if (!check->known || (pass == 0 && strcmp(check->sum, sum) != 0)) continue;
            if (best != NULL && !better_check(check, best)) continue;
            best = check;
            standing->device = (enum device)device;
            standing->edited = pass;
        }
    }
    return best;
}

void standing_of(const struct lesson_folder *lesson, struct standing *standing)
{
    struct progress progress;
    struct text source = {0};
    char sum[65], *kernel = course_kernel_path(lesson, 0);
    *standing = (struct standing){.state = STATE_NOT_STARTED};
    progress_read(lesson, &progress);
    progress_sum(kernel, sum);
    int skeleton = read_file(kernel, &source) == 0 && kernel_is_skeleton(source.data);
    const struct past_check *check = check_that_counts(&progress, sum, standing);
    if (check != NULL) {
        standing->checked = 1;
        standing->points = check->points;
        standing->points_max = check->points_max;
        standing->state = check->state;
    }
    if (skeleton) { /* whatever was known before: the file has been reset */
        standing->state = STATE_NOT_STARTED;
        standing->points = 0;
        standing->edited = 0;
    } else if (check == NULL) {
        standing->edited = 1;
    }
    text_free(&source);
    free(kernel);
}

const struct lesson_folder *standing_next(const struct lesson_folder *lesson)
{
    size_t count;
    struct standing standing;
    const struct lesson_folder *lessons = course_lessons(&count), *first = NULL;
    for (size_t i = 0; i < count; i++) {
        int behind = lesson == NULL || strcmp(lessons[i].number, lesson->number) > 0;
        if (first != NULL && !behind) continue;
        standing_of(&lessons[i], &standing);
        if (standing.state == STATE_PASS && !standing.edited) continue;
        if (behind) return &lessons[i];
        first = &lessons[i];
    }
    return first;
}

const struct lesson_folder *lesson_or_next(const char *word)
{
    size_t count;
    if (word != NULL) return course_find_lesson(word);
    const struct lesson_folder *next = standing_next(NULL);
    if (next != NULL) return next;
    const struct lesson_folder *lessons = course_lessons(&count);
    if (count) return &lessons[count - 1];
    complain("there are no lessons in %s/lessons.", course_source_dir());
    return NULL;
}
