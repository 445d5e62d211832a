/**
 * @file grade_students.c
 * @brief The students' folders, in an order that does not depend on the file system.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/escape.h"
#include "base/sha256.h"
#include "base/terminal.h"
#include "base/text.h"
#include "build/submission.h"
#include "course/course.h"
#include "grade.h"

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void tell_ignored(const char *name, const char *why)
{
    char *shown = escape_visible(name, ESCAPE_ONE_LINE);
    complain("%s is not graded: %s.", shown, why);
    free(shown);
}

/* 1 if the name may be a student's folder: a folder, or a link, which somebody may have put in its place. */
static int is_students(const char *folder, const char *name)
{
    struct stat status;
    char *path = format_string("%s/%s", folder, name);
    int failed = lstat(path, &status) != 0;
    free(path);
    if (name[0] == '.') return 0; /* ".git" and the like belong to no student */
    if (!failed && (S_ISDIR(status.st_mode) || S_ISLNK(status.st_mode))) return 1;
    tell_ignored(name, failed ? strerror(errno) : "a student's submission is a folder, and this is none");
    return 0;
}

int grade_collect(const char *folder, char ***students, size_t *count)
{
    DIR *open_folder = opendir(folder);
    size_t capacity = 0;
    *students = NULL;
    *count = 0;
    if (open_folder == NULL) return complain("%s cannot be opened: %s.", folder, strerror(errno));
    errno = 0;
    for (struct dirent *entry; (entry = readdir(open_folder)) != NULL; errno = 0) {
        if (!is_students(folder, entry->d_name)) continue;
        if (*count == capacity) {
            capacity = 2 * capacity + 64;
            char **more = must_allocate(capacity * sizeof *more);
            if (*count) memcpy(more, *students, *count * sizeof *more);
            free(*students);
            *students = more;
        }
        (*students)[(*count)++] = copy_string(entry->d_name);
    }
    int error = errno;
    closedir(open_folder);
    if (error) return complain("%s cannot be read to its end: %s.", folder, strerror(error));
    if (*count) qsort(*students, *count, sizeof **students, compare_names);
    return EXIT_PASS;
}

char *grade_fingerprint(const char *folder, const char *student, const struct lesson_folder *lesson,
                        int exercise)
{
    struct submission submission;
    char *path = format_string("%s/%s", folder, student);
    submission_find(path, lesson, exercise, &submission);
    char *notes = exercise ? submission_notes(path, lesson, exercise) : copy_string("");
    char *fingerprint = exercise && submission.state == SUBMISSION_NOT_STARTED
                            ? copy_string("")
                            : format_string("%s %s %s %s%s%s", submission_state_name(submission.state),
                                            submission.found != NULL ? submission.found : "",
                                            submission.sha256, submission.sentence, *notes ? " " : "", notes);
    free(notes);
    submission_free(&submission);
    free(path);
    return fingerprint;
}

unsigned grade_shard_of(const char *student, unsigned shards)
{
    struct sha256 hash;
    char digits[65], *end;
    sha256_begin(&hash);
    sha256_add(&hash, student, strlen(student));
    sha256_end(&hash, digits);
    digits[8] = '\0';
    return (unsigned)(strtoul(digits, &end, 16) % shards) + 1;
}
