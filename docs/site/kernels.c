/* A kernel file as Doxygen is to read it. Every line stays on its line. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter.h"

enum state { HEAD_AWAITED, IN_HEAD, IN_LINE_HEAD, PLAIN, IN_ENUM, IN_STRUCT };

/* "    TILE_Q = 64, // rows" -> "    TILE_Q = 64, ///< rows"; a line of nothing but a comment goes on with it. */
static void add_enumerator(struct text *out, const char *line)
{
    const char *comment = strstr(line, "// ");
    if (comment == NULL) {
        text_add(out, line);
    } else {
        text_add_n(out, line, (size_t)(comment - line));
        text_add(out, "///< ");
        text_add(out, comment + 3);
    }
}

static int begins_struct(const char *line)
{
    const char *brace = strstr(line, "{\n");
    return brace != NULL && (strncmp(line, "struct ", 7) == 0 ||
                             (strncmp(line, "template ", 9) == 0 && strstr(line, "struct ") != NULL));
}

static enum state add_line(struct text *out, const char *line, enum state state, const char *file, const char *number)
{
    const char *end = strstr(line, "*/");
    if (strstr(line, "// [student: ") != NULL || strstr(line, "// [/student]") != NULL) {
        text_add(out, "\n");
    } else if (state == HEAD_AWAITED && strncmp(line, "/*", 2) == 0) {
        text_print(out, "/** @file %s @brief The solution of @ref lesson_%s. @verbatim\n", file, number);
        return IN_HEAD;
    } else if (state == HEAD_AWAITED && strncmp(line, "//", 2) == 0) {
        text_print(out, "/** @file %s @brief The solution of @ref lesson_%s. @verbatim\n", file, number);
        return IN_LINE_HEAD;
    } else if (state == IN_LINE_HEAD) {
        int goes_on = strncmp(line, "//", 2) == 0;
        text_print(out, "%s%s", goes_on ? " *" : "@endverbatim */", goes_on ? line + 2 : "\n");
        return goes_on ? IN_LINE_HEAD : PLAIN;
    } else if (state == HEAD_AWAITED && line[0] == '#') {
        text_add(out, line);
        return PLAIN;
    } else if (state == IN_HEAD && end != NULL) {
        text_add(out, "@endverbatim */\n");
        return PLAIN;
    } else if (state == PLAIN && strncmp(line, "enum {", 6) == 0) {
        text_print(out, "/** Sizes. */ %s", line);
        return strchr(line, '}') == NULL ? IN_ENUM : PLAIN;
    } else if (state == PLAIN && begins_struct(line)) {
        text_print(out, "/** @cond */ %s", line);
        return IN_STRUCT;
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

void filter_kernels(const struct site *site, const char *path, const char *source, struct text *out)
{
    enum state state = HEAD_AWAITED;
    const char *number = "";
    for (int i = 0; i < site->lesson_count; i++)
        if (strstr(path, site->lessons[i].folder) != NULL) number = site->lessons[i].number;
    for (const char *at = source; *at != '\0';) {
        size_t length = strcspn(at, "\n");
        length += at[length] == '\n';
        char *line = strndup(at, length);
        state = add_line(out, line, state, path, number);
        free(line);
        at += length;
    }
}
