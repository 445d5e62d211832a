/* The source tree as the site sees it. */
#include "tree.h"

#include <ctype.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "records.h"
#include "writing.h"

int tree_has(const char *root, const char *path, int folder)
{
    struct text full = {0};
    struct stat status;
    text_print(&full, "%s/%s", root, path);
    int found = stat(full.data, &status) == 0 && (S_ISDIR(status.st_mode) != 0) == folder;
    text_free(&full);
    return found;
}

/* "# 03 Online softmax" -> "Online softmax" */
static void read_title(const char *root, struct lesson_folder *lesson)
{
    char path[2 * TREE_PATH_MAX];
    snprintf(path, sizeof path, "%s/lessons/%s/README.md", root, lesson->folder);
    snprintf(lesson->title, sizeof lesson->title, "%s", lesson->topic);
    char *page = read_whole(path);
    if (page != NULL && starts(page, "# ")) {
        const char *title = page + 2;
        title += strspn(title, "0123456789"); // not those of "20 4-bit weights"
        title += *title == ' ';
        snprintf(lesson->title, sizeof lesson->title, "%.*s", (int)strcspn(title, "\n"), title);
    }
    free(page);
}

/* Whether something of the lesson was recorded: a time, or counters of the software device. */
static int is_measured(const struct records *records, const char *number)
{
    for (size_t i = 0; i < records->count; i++) {
        const struct record *record = &records->at[i];
        if (strcmp(record->lesson, number) == 0 &&
            (strcmp(record->metric, "time") == 0 || strcmp(record->metric, "load_sectors") == 0))
            return 1;
    }
    return 0;
}

int find_lessons(const char *root, struct lesson_folder *lessons)
{
    char path[2 * TREE_PATH_MAX];
    snprintf(path, sizeof path, "%s/docs/results/nvidia_h200.csv", root);
    struct records gpu = read_records(path);
    snprintf(path, sizeof path, "%s/docs/results/simt.csv", root);
    struct records simt = read_records(path);
    snprintf(path, sizeof path, "%s/lessons/[0-9][0-9]_*/README.md", root);
    glob_t pages;
    int count = 0;
    if (glob(path, 0, NULL, &pages) != 0) fail("%s: nothing there", path);
    for (; (size_t)count < pages.gl_pathc && count < LESSONS_MAX; count++) {
        struct lesson_folder *lesson = &lessons[count];
        const char *name = pages.gl_pathv[count] + strlen(root) + strlen("/lessons/");
        snprintf(lesson->folder, sizeof lesson->folder, "%.*s", (int)strcspn(name, "/"), name);
        snprintf(lesson->number, sizeof lesson->number, "%.2s", name);
        snprintf(lesson->topic, sizeof lesson->topic, "%s", lesson->folder + 3);
        lesson->measured = is_measured(&gpu, lesson->number) || is_measured(&simt, lesson->number);
        snprintf(path, sizeof path, "lessons/%s/%s.py", lesson->folder, lesson->topic);
        lesson->is_python = tree_has(root, path, 0);
        read_title(root, lesson);
    }
    globfree(&pages);
    free_records(&gpu);
    free_records(&simt);
    return count;
}

void page_name(const char *path, char *name, size_t size)
{
    const char *last = strrchr(path, '/');
    last = last == NULL ? path : last + 1;
    const char *folder = strchr(path, '/');
    folder = folder == NULL ? "" : folder + 1;
    if (starts(path, "lessons/") && isdigit((unsigned char)*folder))
        snprintf(name, size, "lesson_%.2s", folder);
    else if (starts(path, "solutions/"))
        snprintf(name, size, "notes_%.2s", folder);
    else if (strcmp(path, "lessons/README.md") == 0)
        snprintf(name, size, "course");
    else if (strcmp(path, "README.md") == 0)
        snprintf(name, size, "readme");
    else if (strcmp(path, "docs/mainpage.md") == 0)
        snprintf(name, size, "mainpage");
    else if (strcmp(last, "README.md") == 0) { // docs/results/README.md -> results
        size_t length = (size_t)(last - path) - 1;
        size_t begin = length;
        while (begin > 0 && path[begin - 1] != '/') begin--;
        snprintf(name, size, "%.*s", (int)(length - begin), path + begin);
    } else
        snprintf(name, size, "%.*s", (int)strcspn(last, "."), last);
}

void heading_slug(const char *heading, char *slug, size_t size)
{
    size_t length = 0;
    for (const char *at = heading; *at != '\0' && *at != '\n' && strncmp(at, " {#", 3) != 0; at++) {
        unsigned char c = (unsigned char)*at;
        if (length + 2 >= size) break;
        if (isalnum(c) || c == '_' || c == '-' || c >= 0x80)
            slug[length++] = (char)tolower(c);
        else if (c == ' ')
            slug[length++] = '-';
    }
    slug[length] = '\0';
}

int resolve_link(const char *from, const char *link, char *path, size_t size)
{
    const char *last = strrchr(from, '/');
    snprintf(path, size, "%.*s", last == NULL ? 0 : (int)(last - from), from);
    while (*link != '\0') {
        size_t length = strcspn(link, "/");
        if (length == 2 && starts(link, "..")) {
            if (path[0] == '\0') return -1;
            char *slash = strrchr(path, '/');
            *(slash == NULL ? path : slash) = '\0';
        } else if (length > 0 && !(length == 1 && *link == '.')) {
            size_t used = strlen(path);
            snprintf(path + used, size - used, "%s%.*s", used > 0 ? "/" : "", (int)length, link);
        }
        link += length;
        if (*link == '/') link++;
    }
    return 0;
}
