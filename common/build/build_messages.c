/**
 * @file build_messages.c
 * @brief Compilers' messages, line by line: which of them quote a file that the reader must not see.
 */
#include "build_messages.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* Compares without blanks: compilers replace tabs by their own. */
static char *without_blanks(const char *text, size_t length)
{
    char *out = must_allocate(length + 1), *end = out;
    for (size_t i = 0; i < length; i++)
        if (!isspace((unsigned char)text[i])) *end++ = text[i];
    return out;
}

static int is_of_source(const char *source, const char *line, size_t length)
{
    char *squeezed = without_blanks(line, length);
    int found = strstr(source, squeezed) != NULL || strspn(squeezed, "^~|") == strlen(squeezed);
    free(squeezed);
    return found;
}

/* g++ writes " 12 | the line" and below it " | ^~~"; nvcc's front end writes the line alone, indented. */
static int quotes_another_file(const char *source, const char *line, size_t length)
{
    size_t blanks = strspn(line, " "), digits = strspn(line + blanks, "0123456789");
    size_t bar = blanks + digits + strspn(line + blanks + digits, " ");
    if (blanks == 0 || blanks >= length) return 0;
    if (line[bar] == '|') return digits > 0 && !is_of_source(source, line + bar + 1, length - bar - 1);
    return !is_of_source(source, line, length);
}

static int lies_below(const char *path, size_t length, const char *const *folders)
{
    for (; *folders != NULL; folders++) {
        size_t n = strlen(*folders);
        if (n < length && strncmp(path, *folders, n) == 0 && path[n] == '/' &&
            memmem(path, length, "/../", 4) == NULL)
            return 1;
    }
    return 0;
}

/* "PATH:1:2: error", "PATH(3): error", "In file included from PATH:4,". */
static int is_about_another_file(const char *const *folders, const char *line, size_t length)
{
    const char *from = memmem(line, length, " from ", 6);
    const char *path = from != NULL ? from + 6 : line, *end = line + length;
    size_t name = 0;
    while (path + name < end && strchr(":(,", path[name]) == NULL) name++;
    int is_place = path + name + 1 < end && isdigit((unsigned char)path[name + 1]);
    int is_path = is_place && memchr(path, '/', name) != NULL;
    return is_path && !lies_below(path, name, folders);
}

void build_keep_own_lines(const char *source, const char *const *folders, char *text)
{
    char *own = without_blanks(source, strlen(source)), *out = text;
    for (const char *at = text; *at;) {
        size_t length = strcspn(at, "\n"), whole = length + (at[length] == '\n');
        if (!quotes_another_file(own, at, length) && !is_about_another_file(folders, at, length)) {
            memmove(out, at, whole);
            out += whole;
        }
        at += whole;
    }
    *out = '\0';
    free(own);
}
