/**
 * @file course.c
 * @brief Where the course lies on this machine, and which lessons it has.
 *
 * A build folder holds absolute paths, in here and in the compilers' output. Moved elsewhere it would look
 * for its parts in the old place, or worse find those of another build there; so it is refused with one
 * sentence.
 */
#include "course.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/terminal.h"
#include "base/text.h"
#include "places.h"

const char *course_source_dir(void)
{
    return places.source_dir;
}

const char *course_binary_dir(void)
{
    return places.binary_dir;
}

char *in_source(const char *below)
{
    return format_string("%s/%s", places.source_dir, below);
}

char *in_build(const char *below)
{
    return format_string("%s/%s", places.binary_dir, below);
}

static char *own_folder(void)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length <= 0) return NULL;
    path[length] = '\0';
    for (int up = 0; up < 2; up++) { /* from BUILD/bin/warpwise to BUILD */
        char *slash = strrchr(path, '/');
        if (slash != NULL) *slash = '\0';
    }
    return copy_string(path);
}

static int has_lessons(const char *tree)
{
    char *lessons = format_string("%s/lessons", tree);
    int there = is_folder(lessons);
    free(lessons);
    return there;
}

/* This program stands in @p folder, and was made for another one. */
static int refuse_place(const char *folder)
{
    char *original = in_build("bin/warpwise"), *above = format_string("%s/..", folder);
    const char *tree = realpath(above, NULL);
    if (tree == NULL || !has_lessons(tree)) {
        if (access(original, X_OK) == 0)
            return complain("this is a copy; a build's program works in its own folder only. Start %s",
                            original);
        tree = has_lessons(places.source_dir) ? places.source_dir : "THE_COURSE";
    }
    return complain("this build folder was made as %s and is now %s; paths in it no longer hold. "
                    "Configure it anew: cmake -S %s -B %s --fresh",
                    places.binary_dir, folder, tree, folder);
}

int course_locate(void)
{
    char resolved[PATH_MAX];
    char *folder = own_folder();
    int trouble = EXIT_PASS;
    if (folder != NULL && (realpath(places.binary_dir, resolved) == NULL || strcmp(resolved, folder) != 0)) {
        trouble = refuse_place(folder);
    } else if (!has_lessons(places.source_dir)) {
        trouble = complain("the course's files are no longer in %s (no folder lessons/ there). "
                           "Move them back, or configure a new build folder where they are now.",
                           places.source_dir);
    }
    free(folder);
    return trouble;
}

static int is_lesson_name(const char *name)
{
    return strlen(name) > 3 && strspn(name, "0123456789") == 2 && name[2] == '_';
}

static int compare_lessons(const void *a, const void *b)
{
    return strcmp(((const struct lesson_folder *)a)->name, ((const struct lesson_folder *)b)->name);
}

/* A lesson whose skeleton is a file of Python has no kernel: this program does not build and check it. */
static int is_python(const char *folder)
{
    char *skeleton = format_string("%s/%s.py", folder, strrchr(folder, '/') + 4);
    int there = access(skeleton, R_OK) == 0;
    free(skeleton);
    return there;
}

enum { MAX_LESSONS = 100 };

const struct lesson_folder *course_lessons(size_t *count)
{
    static struct lesson_folder lessons[MAX_LESSONS];
    static size_t found;
    *count = found;
    if (found) return lessons;
    char *path = format_string("%s/lessons", places.source_dir);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder != NULL && found < MAX_LESSONS && (entry = readdir(folder)) != NULL;) {
        char *inside = format_string("%s/%s", path, entry->d_name);
        if (is_lesson_name(entry->d_name) && is_folder(inside) && !is_python(inside)) {
            lessons[found++] = (struct lesson_folder){.name = copy_string(entry->d_name),
                                                      .number = format_string("%.2s", entry->d_name),
                                                      .topic = copy_string(entry->d_name + 3)};
        }
        free(inside);
    }
    if (folder != NULL) closedir(folder);
    free(path);
    qsort(lessons, found, sizeof lessons[0], compare_lessons);
    *count = found;
    return lessons;
}

/* True for the lesson's number, or if the word, or a folder or file in it, is the lesson's name or topic. */
static int means_lesson(const char *word, const struct lesson_folder *lesson)
{
    char *end, *file = format_string("%s.cu", lesson->topic);
    long number = strtol(word, &end, 10);
    int found = *word != '\0' && *end == '\0' && number == atol(lesson->number);
    for (char *part; !found && (part = next_word(&word, '/')) != NULL; free(part)) {
        found =
            strcmp(part, lesson->name) == 0 || strcmp(part, lesson->topic) == 0 || strcmp(part, file) == 0;
    }
    free(file);
    return found;
}

static const struct lesson_folder *unknown_lesson(const char *word)
{
    const char *names[2 * MAX_LESSONS + 1];
    size_t count;
    const struct lesson_folder *lessons = course_lessons(&count);
    for (size_t i = 0; i < count; i++) {
        names[2 * i] = lessons[i].topic;
        names[2 * i + 1] = lessons[i].name;
    }
    names[2 * count] = NULL;
    char *number = format_string("%s/lessons/%.2s_python_interface", places.source_dir, word);
    int found = strlen(word) == 2 && is_folder(number);
    free(number);
    if (found) {
        complain("lesson %s is Python. What checks it: python3 tests/python/run.py build --student; "
                 "its page has the rest: lessons/%s_python_interface/README.md",
                 word, word);
        return NULL;
    }
    const char *near = nearest_name(word, names);
    if (near != NULL) {
        complain("there is no lesson \"%s\". Did you mean %s?", word, near);
    } else if (count) {
        complain("there is no lesson \"%s\". Lessons are %s to %s; a number or a topic names one.", word,
                 lessons[0].name, lessons[count - 1].name);
    } else {
        complain("there are no lessons in %s/lessons.", places.source_dir);
    }
    return NULL;
}

const struct lesson_folder *course_find_lesson(const char *word)
{
    size_t count;
    const struct lesson_folder *lessons = course_lessons(&count);
    for (size_t i = count; i-- > 0;) {
        if (means_lesson(word, &lessons[i])) return &lessons[i];
    }
    return unknown_lesson(word);
}

char *course_choose_lessons(const char *list, const char *option)
{
    size_t count;
    const struct lesson_folder *all = course_lessons(&count);
    char *chosen = must_allocate(count + 1);
    memset(chosen, 0, count + 1);
    for (char *word; list != NULL && (word = next_word(&list, ',')) != NULL; free(word)) {
        char *hyphen = strchr(word, '-');
        if (hyphen != NULL) *hyphen = '\0';
        const struct lesson_folder *first = course_find_lesson(word);
        const struct lesson_folder *last =
            first != NULL && hyphen != NULL ? course_find_lesson(hyphen + 1) : first;
        if (first == NULL || last == NULL) return NULL;
        if (last < first) {
            complain("%s: %s comes after %s.", option, word, hyphen + 1);
            return NULL;
        }
        for (const struct lesson_folder *at = first; at <= last; at++) chosen[at - all] = 1;
    }
    return chosen;
}

char *course_kernel_path(const struct lesson_folder *lesson, int solution)
{
    return format_string("%s/%s/%s/%s.cu", places.source_dir, solution ? "solutions" : "lessons",
                         lesson->name, lesson->topic);
}

const char *course_short_path(const char *path)
{
    char here[PATH_MAX];
    size_t length;
    if (getcwd(here, sizeof here) == NULL) return path;
    length = strlen(here);
    return strncmp(path, here, length) == 0 && path[length] == '/' ? path + length + 1 : path;
}
