/* Files as a whole, and the end of a program. */
#include "writing.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(1);
}

void text_add(struct text *text, const char *string)
{
    text_append(text, string, strlen(string));
}

int starts(const char *string, const char *with)
{
    return strncmp(string, with, strlen(with)) == 0;
}

int ends_with(const char *string, const char *with)
{
    size_t length = strlen(string), end = strlen(with);
    return length >= end && strcmp(string + length - end, with) == 0;
}

char *read_whole(const char *path)
{
    struct text content = {0};
    if (read_file(path, &content) == 0) return content.data;
    text_free(&content);
    return NULL;
}

int write_if_changed(const char *path, const char *content)
{
    char *old = read_whole(path);
    int same = old != NULL && strcmp(old, content) == 0;
    free(old);
    int error = same ? 0 : write_file(path, content, strlen(content));
    if (error != 0) fprintf(stderr, "%s: %s\n", path, strerror(error));
    return error != 0 ? -1 : 0;
}
