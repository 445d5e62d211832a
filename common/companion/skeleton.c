/**
 * @file skeleton.c
 * @brief The kernel file as it was handed out, for `reset`.
 *
 * There are two sources. If the tree is a git clone: the newest version in the file's history in which every
 * region still says TODO, whatever the student has committed since. For trees without git: a copy, which
 * every command keeps as long as the file is still untouched.
 */
#include "skeleton.h"

#include <stdlib.h>
#include <string.h>

#include "base/process.h"
#include "base/text.h"
#include "course/course.h"
#include "page.h"
#include "progress.h"

enum { GIT_SECONDS = 20, MOST_VERSIONS = 200 };

static char *copy_path(const struct lesson_folder *lesson)
{
    return format_string("%s/skeletons/%s.cu", progress_folder(), lesson->name);
}

void skeleton_keep(const struct lesson_folder *lesson)
{
    struct text source = {0}, kept = {0};
    char *kernel = course_kernel_path(lesson, 0), *copy = copy_path(lesson);
    char *folder = format_string("%s/skeletons", progress_folder());
    if (read_file(kernel, &source) == 0 && kernel_is_skeleton(source.data)) {
        int same = read_file(copy, &kept) == 0 && kept.length == source.length &&
                   memcmp(kept.data, source.data, kept.length) == 0;
        if (!same && make_folders(folder) == 0) write_file(copy, source.data, source.length);
    }
    free(folder);
    free(copy);
    free(kernel);
    text_free(&kept);
    text_free(&source);
}

char *ask_git(const char *const *arguments)
{
    struct process_end end;
    struct process process = {.arguments = arguments, .seconds = GIT_SECONDS};
    process_run(&process, &end);
    if (end.exit_code == 0) return end.output.data;
    text_free(&end.output);
    return NULL;
}

static int find_in_git(const char *path, struct text *source)
{
    char *git = find_program("git"), *limit = format_string("-%d", MOST_VERSIONS);
    if (git == NULL) return -1;
    const char *list[] = {git, "-C", course_source_dir(), "log", limit, "--format=%H", "--", path, NULL};
    char *versions = ask_git(list);
    const char *rest = versions;
    int found = -1;
    for (char *version; found != 0 && (version = next_word(&rest, '\n')) != NULL; free(version)) {
        if (strlen(version) < 40) continue;
        char *name = format_string("%s:./%s", version, path);
        const char *show[] = {git, "-C", course_source_dir(), "show", name, NULL};
        char *content = ask_git(show);
        if (content != NULL && kernel_is_skeleton(content)) {
            text_append(source, content, strlen(content));
            found = 0;
        }
        free(content);
        free(name);
    }
    free(versions);
    free(limit);
    free(git);
    return found;
}

int skeleton_find(const struct lesson_folder *lesson, struct text *source)
{
    char *path = format_string("lessons/%s/%s.cu", lesson->name, lesson->topic), *copy = copy_path(lesson);
    int found = find_in_git(path, source);
    if (found != 0 && read_file(copy, source) == 0) found = 0;
    free(copy);
    free(path);
    return found;
}
