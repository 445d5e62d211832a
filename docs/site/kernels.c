/* A kernel file as Doxygen is to read it. Every line stays on its line. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter.h"

enum state {
    FIRST,
    HEAD_AWAITED,
    LINE_HEAD_AWAITED,
    IN_HEAD,
    IN_LINE_HEAD,
    HEAD_DONE,
    PLAIN,
    IN_ENUM,
    IN_STRUCT,
    IN_TYPEDEF
};

/* "    TILE_Q = 64, // rows" -> "    TILE_Q = 64, ///< rows"; a line of nothing but a comment goes on with it. */
static void add_enumerator(struct text *out, const char *line)
{
    const char *comment = strstr(line, "// ");
    if (comment == NULL || comment - line <= 4) { // no comment, or one on what follows
        text_add(out, line);
    } else {
        text_append(out, line, (size_t)(comment - line));
        text_add(out, "///< ");
        text_add(out, comment + 3);
    }
}

static int begins_struct(const char *line)
{
    size_t length = strcspn(line, "\n");
    return length > 0 && line[length - 1] == '{' &&
           (strncmp(line, "struct ", 7) == 0 ||
            (strncmp(line, "template ", 9) == 0 && memmem(line, length, "> struct ", 9) != NULL));
}

/* Does the documentation that begins here belong to a struct? Then it has to be left out with it. */
static int documents_struct(const char *at)
{
    const char *end = strncmp(at, "/**", 3) == 0 ? strstr(at, "*/\n") : NULL;
    return end != NULL && begins_struct(end + 3);
}

/* The head comment, as a block that is shown as it stands. */
static enum state add_head(struct text *out, const char *line, enum state state)
{
    if (state == IN_LINE_HEAD) { // lines that begin with //
        int goes_on = strncmp(line, "//", 2) == 0;
        text_add(out, goes_on ? line + 2 + (line[2] == ' ') : "~~~~ */\n");
        return goes_on ? IN_LINE_HEAD : PLAIN;
    }
    if (strstr(line, "*/") != NULL) {
        text_add(out, "~~~~\n");
        return HEAD_DONE;
    }
    text_add(out, strncmp(line, " * ", 3) == 0 ? line + 3 : strncmp(line, " *", 2) == 0 ? line + 2 : line);
    return IN_HEAD;
}

/* The first line opens the file's documentation: that of the mark in front of the head comment, or the comment's own. */
static enum state add_first(struct text *out, const char *line, const char *file, const char *number)
{
    text_print(out, "/** @file %s @brief The solution of @ref lesson_%s (@ref notes_%s \"why it is fast\").",
               file, number, number);
    if (strncmp(line, "// [student: ", 13) == 0) {
        text_add(out, "\n");
        return HEAD_AWAITED;
    }
    text_print(out, " %s", strncmp(line, "// ", 3) == 0 ? line + 3 : "\n");
    return LINE_HEAD_AWAITED;
}

static enum state add_code(struct text *out, const char *line, enum state state)
{
    if (strstr(line, "// [student: ") != NULL || strstr(line, "// [/student]") != NULL) {
        text_add(out, "\n");
    } else if (state == PLAIN && strncmp(line, "enum {", 6) == 0) {
        text_print(out, "/** Sizes. */ %s", line);
        return strchr(line, '}') == NULL ? IN_ENUM : PLAIN;
    } else if (state == IN_ENUM) {
        add_enumerator(out, line);
        return strchr(line, '}') == NULL ? IN_ENUM : PLAIN;
    } else if (state == IN_STRUCT && strncmp(line, "};", 2) == 0) {
        text_add(out, "}; /** @endcond */\n");
        return PLAIN;
    } else {
        text_add(out, line);
    }
    return state;
}

static enum state add_line(struct text *out, const char *line, const char *at, enum state state,
                           const char *file, const char *number)
{
    switch (state) {
    case FIRST:
        return add_first(out, line, file, number);
    case HEAD_AWAITED:
    case LINE_HEAD_AWAITED:
        text_add(out, "~~~~{.unparsed}\n");
        return state == HEAD_AWAITED ? IN_HEAD : IN_LINE_HEAD;
    case IN_HEAD:
    case IN_LINE_HEAD:
        return add_head(out, line, state);
    case HEAD_DONE:
        text_add(out, "*/\n");
        return PLAIN;
    default:
        if (state == PLAIN &&
            (begins_struct(at) || documents_struct(at) || strncmp(at, "typedef ", 8) == 0)) {
            text_print(out, "/** @cond */ %s", line);
            if (strncmp(at, "typedef ", 8) != 0) return IN_STRUCT;
            state = IN_TYPEDEF;
            line = "";
        }
        if (state == IN_TYPEDEF) { // a name for something that the source explains
            text_add(out, line);
            size_t length = out->length;
            if (length < 2 || strcmp(out->data + length - 2, ";\n") != 0) return IN_TYPEDEF;
            out->data[--out->length] = '\0';
            text_add(out, " /** @endcond */\n");
            return PLAIN;
        }
        return add_code(out, line, state);
    }
}

void filter_contract(const struct site *site, const char *path, const char *source, struct text *out)
{
    const char *at = source;
    for (int i = 0; i < site->lesson_count; i++) {
        const struct lesson_folder *lesson = &site->lessons[i];
        struct text title = {0};
        text_print(&title, "@brief Lesson %s:", lesson->number);
        const char *found = strstr(path, lesson->folder) == NULL ? NULL : strstr(source, title.data);
        if (found != NULL) {
            text_append(out, source, (size_t)(found - source));
            text_print(out, "@brief @ref lesson_%s \"Lesson %s\":", lesson->number, lesson->number);
            at = found + strlen(title.data);
        }
        text_free(&title);
    }
    text_add(out, at);
}

void filter_kernels(const struct site *site, const char *path, const char *source, struct text *out)
{
    enum state state = FIRST;
    const char *number = "";
    for (int i = 0; i < site->lesson_count; i++) {
        if (strstr(path, site->lessons[i].folder) == NULL) continue;
        number = site->lessons[i].number;
        const char *name = strrchr(path, '/');
        size_t length = strlen(site->lessons[i].topic);
        if (name != NULL &&
            (strncmp(name + 1, site->lessons[i].topic, length) != 0 || name[1 + length] != '.')) {
            text_print(out, "/** @file %s @brief A program beside the solution of @ref lesson_%s */\n", path,
                       number);
            return;
        }
    }
    for (const char *at = source; *at != '\0';) {
        size_t length = strcspn(at, "\n");
        length += at[length] == '\n';
        char *line = strndup(at, length);
        state = add_line(out, line, at, state, path, number);
        free(line);
        at += length;
    }
}
