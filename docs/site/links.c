/* Where links lead on the site. */
#include "links.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

void heading_label(const char *page, const char *slug, char *label, size_t size)
{
    size_t length = (size_t)snprintf(label, size, "%s_", page);
    for (; *slug != '\0' && length + 1 < size; slug++) {
        unsigned char c = (unsigned char)*slug;
        label[length++] = isalnum(c) ? (char)c : '_';
    }
    label[length] = '\0';
}

/* Files that Doxygen reads, so that it has a page for them. Keep in step with INPUT in Doxyfile.in. */
static int is_input(const char *path)
{
    static const char *const folders[] = {"common/contracts/", "common/decode/", "common/python/",
                                          "lessons/",          "reference/",     "solutions/"};
    int read = 0;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) read |= starts(path, folders[i]);
    return read && (ends_with(path, ".h") || (ends_with(path, ".cu") && starts(path, "solutions/")));
}

/* Doxygen shows the backticks of a link's text: they go. */
static size_t without_ticks(char *plain, size_t size, const char *text, size_t length)
{
    size_t kept = 0;
    for (size_t i = 0; i < length && kept + 1 < size; i++)
        if (text[i] != '`') plain[kept++] = text[i];
    plain[kept] = '\0';
    return kept;
}

/* The page that write_pages has made of a file of docs/results; NULL of another file. */
static const char *page_of_numbers(const char *path, char *name, size_t size)
{
    static const char tables[] = "docs/results/tables/";
    if (strcmp(path, "docs/results/nvidia_h200.csv") == 0 || strcmp(path, "docs/results/simt.csv") == 0)
        return "measured";
    if (!starts(path, tables)) return NULL;
    page_name(path, name, size);
    return name;
}

int add_site_link(struct text *out, const struct site *site, const char *from, const char *page,
                  const char *target, const char *text, size_t length)
{
    char plain[TREE_PATH_MAX];
    length = without_ticks(plain, sizeof plain, text, length);
    text = plain;
    char path[TREE_PATH_MAX], file[TREE_PATH_MAX], name[256], slug[256], label[600];
    if (strstr(target, "://") != NULL || starts(target, "@ref ") || starts(target, "mailto:")) {
        text_print(out, "[%.*s](%s)", (int)length, text, target);
        return 0;
    }
    snprintf(file, sizeof file, "%.*s", (int)strcspn(target, "#"), target);
    const char *fragment = strchr(target, '#'), *numbers;
    if (file[0] == '\0')
        snprintf(path, sizeof path, "%s", from);
    else if (resolve_link(from, file, path, sizeof path) != 0)
        return -1;
    if (path[0] != '\0' && tree_has(site->root, path, 1)) {
        size_t used = strlen(path);
        snprintf(path + used, sizeof path - used, "/README.md");
        if (!tree_has(site->root, path, 0)) { // a folder without a page
            text_print(out, "%.*s", (int)length, text);
            return 0;
        }
    }
    if (!tree_has(site->root, path, 0)) return -1;
    if (ends_with(path, ".md")) {
        page_name(path, name, sizeof name);
        if (fragment != NULL) {
            heading_slug(fragment + 1, slug, sizeof slug);
            heading_label(file[0] == '\0' ? page : name, slug, label, sizeof label);
        } else
            snprintf(label, sizeof label, "%s", strcmp(name, "mainpage") == 0 ? "index" : name);
        text_print(out, "[%.*s](@ref %s)", (int)length, text, label);
    } else if ((numbers = page_of_numbers(path, name, sizeof name)) != NULL && strcmp(numbers, page) != 0) {
        text_print(out, "[%.*s](@ref %s)", (int)length, text, numbers);
    } else if (is_input(path)) {
        text_print(out, "[%.*s](@ref %s)", (int)length, text, path);
    } else if (ends_with(path, ".cu") && starts(path, "lessons/") && isdigit((unsigned char)path[8])) {
        text_print(out, "[%.*s](@ref skeleton_%.2s)", (int)length, text, path + 8);
    } else {
        text_print(out, "[%.*s](files/%s)", (int)length, text, path);
    }
    return 0;
}

void add_lesson_table(struct text *out, const struct site *site)
{
    text_add(out, "| lesson | contract | to fill in | speed |\n|---|---|---|---|\n");
    for (int i = 0; i < site->lesson_count; i++) {
        const struct lesson_folder *lesson = &site->lessons[i];
        const char *number = lesson->number;
        text_print(out, "| [%s %s](@ref lesson_%s) ", number, lesson->title, number);
        if (lesson->is_python)
            text_add(out, "| | |");
        else
            text_print(out, "| [contract](@ref lessons/%s/%s.h) | [skeleton](@ref skeleton_%s) |",
                       lesson->folder, lesson->topic, number);
        if (lesson->measured)
            text_print(out, " [measured](@ref measured_%s) |\n", lesson->folder);
        else
            text_add(out, " |\n");
    }
}
