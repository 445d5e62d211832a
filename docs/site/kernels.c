/* A kernel file or a header as Doxygen is to read it. Every line stays on its line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter.h"

/* "    TILE_Q = 64, // rows" -> "    TILE_Q = 64, ///< rows"; a line of nothing but a comment goes on with it. */
static void add_enumerator(struct text *out, const char *line)
{
    const char *comment = strstr(line, "// ");
    if (comment == NULL || comment - line <= 4) { // no comment, or one on what follows
        text_add(out, line);
    } else {
        text_append(out, line, (size_t)(comment - line));
        text_print(out, "///< %s", comment + 3);
    }
}

static int begins_struct(const char *line)
{
    size_t length = strcspn(line, "\n");
    return length > 0 && line[length - 1] == '{' &&
           (starts(line, "struct ") ||
            (starts(line, "template ") && memmem(line, length, "> struct ", 9) != NULL));
}

/* Where something ends that is left to the source, if it begins here: a typedef, or a struct with its documentation. */
static const char *end_of_hidden(const char *at)
{
    const char *documented = starts(at, "/**") ? strstr(at, "*/\n") : NULL;
    const char *code = documented == NULL ? at : documented + 3, *end = NULL;
    if (starts(code, "typedef ") && documented == NULL) end = strstr(code, ";\n");
    if (begins_struct(code)) end = strstr(code, "\n};\n");
    return end == NULL ? NULL : strchr(end, ';') + 1;
}

/* The head comment, as a block that is shown as it stands and documents the file; returns where the code begins. */
static const char *add_head(struct text *out, const char *source, const char *path, const char *number)
{
    static const char begin[] = "// [student: head]\n/*\n", end[] = " */\n// [/student]\n";
    if (!starts(source, begin)) return source;
    text_print(out,
               "/** @file %s @brief The solution of @ref lesson_%s (@ref notes_%s \"why it is fast\").\n"
               "~~~~{.unparsed}\n",
               path, number, number);
    const char *at = source + strlen(begin);
    while (*at != '\0' && !starts(at, end)) {
        size_t length = strcspn(at, "\n"), mark = starts(at, " * ") ? 3 : starts(at, " *") ? 2 : 0;
        text_print(out, "%.*s\n", (int)(length - mark), at + mark);
        at += length + (at[length] == '\n');
    }
    text_add(out, "~~~~\n*/\n");
    return *at == '\0' ? at : at + strlen(end);
}

const struct lesson_folder *lesson_of(const struct site *site, const char *path)
{
    for (int i = 0; i < site->lesson_count; i++)
        if (strstr(path, site->lessons[i].folder) != NULL) return &site->lessons[i];
    return NULL;
}

void filter_contract(const struct site *site, const char *path, const char *source, struct text *out)
{
    static const char brief[] = "@brief Lesson ";
    const struct lesson_folder *lesson = lesson_of(site, path);
    const char *found = lesson == NULL ? NULL : strstr(source, brief);
    if (found != NULL && starts(found + strlen(brief), lesson->number)) {
        text_append(out, source, (size_t)(found - source));
        text_print(out, "@brief @ref lesson_%s \"Lesson %s\"", lesson->number, lesson->number);
        source = found + strlen(brief) + strlen(lesson->number);
    }
    text_add(out, source);
}

void filter_kernels(const struct site *site, const char *path, const char *source, struct text *out)
{
    const struct lesson_folder *lesson = lesson_of(site, path);
    const char *number = lesson == NULL ? "" : lesson->number, *name = strrchr(path, '/');
    int in_enum = 0;
    if (lesson != NULL && name != NULL &&
        !(starts(name + 1, lesson->topic) && name[1 + strlen(lesson->topic)] == '.')) {
        text_print(out, "/** @file %s @brief A program beside the solution of @ref lesson_%s */\n", path,
                   number);
        return;
    }
    for (const char *at = add_head(out, source, path, number); *at != '\0';) {
        const char *hidden = in_enum ? NULL : end_of_hidden(at);
        if (hidden != NULL) {
            text_print(out, "/** @cond */ %.*s /** @endcond */\n", (int)(hidden - at), at);
            at = hidden + 1;
            continue;
        }
        size_t length = strcspn(at, "\n");
        length += at[length] == '\n';
        char *line = strndup(at, length);
        if (in_enum)
            add_enumerator(out, line);
        else
            text_print(out, "%s%s", starts(line, "enum {") ? "/** Sizes. */ " : "", line);
        in_enum = (in_enum || starts(line, "enum {")) && strchr(line, '}') == NULL;
        free(line);
        at += length;
    }
}
