/**
 * @file submission.c
 * @brief Finds and reads the one file of a submission that counts, without trusting any name in it.
 */
#include "submission.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/sha256.h"
#include "base/terminal.h"
#include "base/text.h"
#include "build.h"
#include "course/course.h"
#include "course/device.h"
#include "course/exercise.h"
#include "course/places.h"

enum { LOG_BYTES = 64 << 10, STEPS = 4, PLACES = 3 };

const char *submission_state_name(enum submission_state state)
{
    static const char *const names[] = {"READY",       "NOT_STARTED", "REFUSED",
                                        "BUILD_ERROR", "TIMEOUT",     "TROUBLE"};
    return names[state];
}

/* What is told of a submission may have its words in it, which must not move about on a terminal. */
static void settle(struct submission *submission, enum submission_state state, char *sentence)
{
    free(submission->sentence);
    submission->state = state;
    submission->sentence = escape_visible(sentence, ESCAPE_MANY_LINES);
    free(sentence);
}

/* ---- finding it ---------------------------------------------------------------------------------------- */

static int is_absent(int error)
{
    return error == ENOENT || error == ENOTDIR;
}

static const char *kind_of(mode_t mode)
{
    return S_ISLNK(mode)    ? "a link, which is not followed"
           : S_ISDIR(mode)  ? "a folder"
           : S_ISFIFO(mode) ? "a pipe"
           : S_ISSOCK(mode) ? "a socket"
                            : "a device";
}

/* Decides about a file @p name that could not be opened: refused, or trouble on our side. */
static void explain_entry(int folder, const char *name, const char *path, int error,
                          struct submission *submission)
{
    struct stat status;
    if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(status.st_mode)) {
        if (!S_ISDIR(status.st_mode) || error == EISDIR) {
            settle(submission, SUBMISSION_REFUSED, format_string("%s is %s", path, kind_of(status.st_mode)));
            return;
        }
    }
    settle(submission, SUBMISSION_TROUBLE, format_string("%s cannot be read: %s", path, strerror(error)));
}

/* Opens the kernel file at @p step[0]/step[1]/... below @p folder, one name at a time, so that no link is
 * followed. Returns the descriptor; -1 if there is no such file; -2 if the state is settled. */
static int open_below(int folder, const char *const *step, struct submission *submission)
{
    struct text path = {0};
    int at = dup(folder), found = -2;
    while (at >= 0 && found == -2) {
        int last = step[1] == NULL;
        text_print(&path, "%s%s", path.length ? "/" : "", *step);
        /* O_NONBLOCK: a pipe must not keep us waiting for its other end. */
        int next =
            openat(at, *step, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | (last ? 0 : O_DIRECTORY));
        int error = next < 0 ? errno : 0;
        struct stat status;
        if (next >= 0 && last && fstat(next, &status) != 0) error = errno;
        if (next >= 0 && last && !error && !S_ISREG(status.st_mode)) error = EISDIR;
        if (error == ENOTDIR && fstatat(at, *step, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISLNK(status.st_mode))
            error = ELOOP;
        if (error && is_absent(error)) found = -1;
        if (error && !is_absent(error)) explain_entry(at, *step, path.data, error, submission);
        if (error && next >= 0) close(next);
        close(at);
        at = error ? -1 : next;
        if (!error && last) {
            submission->found = copy_string(path.data);
            found = next;
        }
        step++;
    }
    text_free(&path);
    return found;
}

/* ---- reading it ---------------------------------------------------------------------------------------- */

/* 0, or errno. Reads at most one byte more than the limit, whatever the file's size claims to be. */
static int read_bounded(int file, struct text *content)
{
    char buffer[65536];
    text_append(content, "", 0);
    while (content->length <= SUBMISSION_BYTES) {
        ssize_t got = read(file, buffer, sizeof buffer);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return errno;
        if (got == 0) return 0;
        text_append(content, buffer, (size_t)got);
    }
    return 0;
}

static void judge_content(const struct text *content, struct submission *submission)
{
    struct sha256 hash;
    sha256_begin(&hash);
    sha256_add(&hash, content->data, content->length);
    sha256_end(&hash, submission->sha256);
    if (content->length > SUBMISSION_BYTES) {
        submission->sha256[0] = '\0'; /* of a part of it only */
        settle(submission, SUBMISSION_REFUSED,
               format_string("%s is larger than 1 MB, which no kernel file is", submission->found));
    } else if (memchr(content->data, '\0', content->length) != NULL) {
        settle(submission, SUBMISSION_REFUSED, format_string("%s is not text", submission->found));
    } else if (strspn(content->data, " \t\r\n\f\v") == content->length) {
        settle(submission, SUBMISSION_NOT_STARTED, format_string("%s is empty", submission->found));
    }
}

/* A debugging exercise counts for the one that was mended. */
static void judge_exercise(const struct text *content, const struct lesson_folder *lesson, int number,
                           struct submission *submission)
{
    struct exercise exercise;
    char *refusal = exercise_find(lesson, number, &exercise)
                        ? exercise_refuses(lesson, &exercise, content->data)
                        : copy_string("there is no such exercise");
    if (refusal != NULL)
        settle(submission, SUBMISSION_REFUSED, format_string("%s: %s", submission->found, refusal));
    free(refusal);
}

/* Whether @p file has this content. */
static int has_content(const char *file, const struct text *content)
{
    struct text there = {0};
    const int same = read_file(file, &there) == 0 && there.length == content->length &&
                     memcmp(there.data, content->data, content->length) == 0;
    text_free(&there);
    return same;
}

/* Our copy lies in a folder of its own, which is named after its content and the lesson. One that is there stays the file that it is:
 * where another check of the same content compiles it, the sandbox has opened that file, and no other of its name. */
static void keep_copy(const struct text *content, const struct lesson_folder *lesson,
                      struct submission *submission)
{
    char *folder =
        format_string("%s/submitted/%.32s/%s", course_binary_dir(), submission->sha256, lesson->name);
    submission->kernel = format_string("%s/%s.cu", folder, lesson->topic);
    int error = make_folders(folder);
    if (!error && !has_content(submission->kernel, content))
        error = write_file(submission->kernel, content->data, content->length);
    if (!error && (chmod(folder, 0755) != 0 || chmod(submission->kernel, 0644) != 0))
        error = errno; /* for guests */
    if (error) {
        settle(submission, SUBMISSION_TROUBLE,
               format_string("%s cannot be written: %s", submission->kernel, strerror(error)));
    }
    free(folder);
}

/* ---- what lies beside its place ------------------------------------------------------------------------ */

/* 1 if somebody who wanted to hand in @p topic could have called it @p name: "Topic.cu", "topic-1.cu", "topic (2).cu". */
static int is_meant_for(const char *name, const char *topic)
{
    size_t length = strlen(topic), whole = strlen(name);
    if (whole < length + 3 || strncasecmp(name, topic, length) != 0) return 0;
    const char *dot = strrchr(name, '.');
    return (strcasecmp(dot != NULL ? dot : "", ".cu") == 0 ||
            strncmp(dot != NULL ? dot : "", ".cu", 3) == 0) &&
           !isalpha((unsigned char)name[length]);
}

/* The first such file, by name, below @p folder; returns its path there, or NULL. Does not follow links,
 * and gives up in a folder with very many entries. */
static char *find_stray(int folder, const char *topic, int depth, int *left)
{
    char *best = NULL;
    DIR *open_folder = fdopendir(folder);
    if (open_folder == NULL) return close(folder), NULL;
    for (struct dirent *entry; (entry = readdir(open_folder)) != NULL && --*left > 0;) {
        struct stat status;
        char *found = NULL;
        if (entry->d_name[0] == '.' ||
            fstatat(dirfd(open_folder), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        if (S_ISREG(status.st_mode) && is_meant_for(entry->d_name, topic)) found = copy_string(entry->d_name);
        if (S_ISDIR(status.st_mode) && depth > 0) {
            int below =
                openat(dirfd(open_folder), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
            char *deeper = below >= 0 ? find_stray(below, topic, depth - 1, left) : NULL;
            if (deeper != NULL) found = format_string("%s/%s", entry->d_name, deeper);
            free(deeper);
        }
        if (found != NULL && (best == NULL || strcmp(found, best) < 0)) {
            free(best);
            best = found;
        } else {
            free(found);
        }
    }
    closedir(open_folder);
    return best;
}

/* Nothing was handed in, or the file is not where grading looks. Closes @p below, the student's folder. */
static void explain_absence(int below, const struct lesson_folder *lesson, struct submission *submission)
{
    enum { DEPTH = 5, MOST_ENTRIES = 20000 };
    int left = MOST_ENTRIES;
    char *stray = find_stray(below, lesson->topic, DEPTH, &left);
    settle(submission, SUBMISSION_NOT_STARTED,
           stray != NULL ? format_string("there is no file %s.cu; found %s: did you mean lessons/%s/%s.cu?",
                                         lesson->topic, stray, lesson->name, lesson->topic)
                         : format_string("there is no file %s.cu", lesson->topic));
    submission->elsewhere = stray != NULL;
    free(stray);
}

/* Opens the student's folder, which somebody may replace by a link at any moment: so it is opened once, and what it is
 * is asked of what was opened. Returns the descriptor, or -1 if the state is settled. */
static int open_folder(const char *folder, struct submission *submission)
{
    struct stat status;
    int file = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), error = errno;
    if (file >= 0) return file;
    /* a link in the folder's place is ENOTDIR: O_DIRECTORY is looked at first */
    if (lstat(folder, &status) == 0 && S_ISLNK(status.st_mode))
        settle(submission, SUBMISSION_REFUSED, format_string("the folder is %s", kind_of(status.st_mode)));
    else
        settle(submission, SUBMISSION_TROUBLE,
               format_string("%s cannot be opened: %s", folder, strerror(error)));
    return -1;
}

/* Opens the first of the places where @p name may lie: of a lesson's kernel, or in its folder of exercises. As open_below(). */
static int open_usual(int below, const struct lesson_folder *lesson, int hunt, const char *name,
                      struct submission *submission)
{
    const char *const own[PLACES][STEPS + 1] = {
        {"lessons", lesson->name, name}, {lesson->name, name}, {name}};
    const char *const of_hunt[PLACES][STEPS + 1] = {{"lessons", lesson->name, "hunt", name},
                                                    {lesson->name, "hunt", name}};
    int file = -1;
    for (size_t i = 0; i < PLACES && file == -1; i++) {
        const char *const *steps = hunt ? of_hunt[i] : own[i];
        if (*steps != NULL) file = open_below(below, steps, submission);
    }
    return file;
}

char *submission_notes(const char *folder, const struct lesson_folder *lesson, int exercise)
{
    struct submission submission = {.sentence = copy_string("")};
    struct text content = {0};
    char *number = format_string("%d ", exercise), *found = NULL;
    int below = open_folder(folder, &submission);
    int file = below >= 0 ? open_usual(below, lesson, 1, "notes", &submission) : -1;
    if (file >= 0 && read_bounded(file, &content) == 0 &&
        memchr(content.data, '\0', content.length) == NULL) {
        const char *rest = content.data;
        for (char *line; found == NULL && (line = next_word(&rest, '\n')) != NULL;) {
            if (strncmp(line, number, strlen(number)) == 0)
                found = line;
            else
                free(line);
        }
    }
    if (file >= 0) close(file);
    if (below >= 0) close(below);
    free(number);
    text_free(&content);
    submission_free(&submission);
    return found != NULL ? found : copy_string("");
}

void submission_find(const char *folder, const struct lesson_folder *lesson, int exercise,
                     struct submission *submission)
{
    *submission = (struct submission){.state = SUBMISSION_READY, .sentence = copy_string("")};
    text_append(&submission->log, "", 0);
    char *name = exercise ? format_string("%02d.cu", exercise) : format_string("%s.cu", lesson->topic);
    int below = open_folder(folder, submission), file = below < 0 ? -2 : -1;
    if (below >= 0) file = open_usual(below, lesson, exercise, name, submission);
    if (file == -1 && !exercise)
        explain_absence(below, lesson, submission);
    else if (below >= 0)
        close(below);
    if (file == -1 && exercise)
        settle(submission, SUBMISSION_NOT_STARTED, format_string("there is no file hunt/%s", name));
    if (file >= 0) {
        struct text content = {0};
        int error = read_bounded(file, &content);
        close(file);
        if (error) {
            settle(submission, SUBMISSION_TROUBLE,
                   format_string("%s cannot be read: %s", submission->found, strerror(error)));
        } else {
            judge_content(&content, submission);
            if (exercise && submission->state == SUBMISSION_READY)
                judge_exercise(&content, lesson, exercise, submission);
            if (submission->state == SUBMISSION_READY) keep_copy(&content, lesson, submission);
        }
        text_free(&content);
    }
    free(name);
}

/* ---- building it --------------------------------------------------------------------------------------- */

void submission_build(const char *folder, const struct lesson_folder *lesson, int exercise,
                      enum device device, struct submission *submission)
{
    static const enum submission_state states[] = {[BUILD_READY] = SUBMISSION_READY,
                                                   [BUILD_BROKEN] = SUBMISSION_BUILD_ERROR,
                                                   [BUILD_IMPOSSIBLE] = SUBMISSION_TROUBLE,
                                                   [BUILD_REFUSED] = SUBMISSION_REFUSED,
                                                   [BUILD_LATE] = SUBMISSION_TIMEOUT};
    struct build build;
    submission_find(folder, lesson, exercise, submission);
    if (submission->state != SUBMISSION_READY) return;
    complaints_keep(1);
    build_untrusted(lesson, submission->kernel, device, &build);
    complaints_keep(0);
    const struct text *said = build.state == BUILD_BROKEN ? &build.errors : &build.log;
    char *shown = escape_visible(said->data != NULL ? said->data : "", ESCAPE_MANY_LINES);
    text_append(&submission->log, shown, strnlen(shown, LOG_BYTES));
    free(shown);
    if (build.state == BUILD_READY) {
        submission->runner = copy_string(build.runner);
    } else {
        settle(submission, states[build.state],
               copy_string(build.sentence != NULL        ? build.sentence
                           : build.state == BUILD_BROKEN ? "it does not compile"
                           : *complaint_kept()           ? complaint_kept()
                                                         : "interrupted"));
    }
    text_free(&build.log);
    text_free(&build.errors);
    free(build.runner);
    free(build.sentence);
}

void submission_free(struct submission *submission)
{
    free(submission->found);
    free(submission->kernel);
    free(submission->runner);
    free(submission->sentence);
    text_free(&submission->log);
    *submission = (struct submission){0};
}
