/* Strings that grow, and files read whole. */
#include "text.h"

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

void text_add_n(struct text *text, const char *characters, size_t length)
{
    if (text->length + length + 1 > text->capacity) {
        text->capacity = 2 * (text->length + length + 1);
        text->at = realloc(text->at, text->capacity);
        if (text->at == NULL) fail("out of memory");
    }
    memcpy(text->at + text->length, characters, length);
    text->length += length;
    text->at[text->length] = '\0';
}

void text_add(struct text *text, const char *string)
{
    text_add_n(text, string, strlen(string));
}

void text_print(struct text *text, const char *format, ...)
{
    char line[4096];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= sizeof line)
        fail("text_print: a piece of more than %zu bytes", sizeof line);
    text_add_n(text, line, (size_t)length);
}

void text_add_escaped(struct text *text, const char *characters, size_t length)
{
    for (size_t i = 0; i < length; i++) switch (characters[i]) {
        case '&':
            text_add(text, "&amp;");
            break;
        case '<':
            text_add(text, "&lt;");
            break;
        case '>':
            text_add(text, "&gt;");
            break;
        case '"':
            text_add(text, "&quot;");
            break;
        default:
            text_add_n(text, &characters[i], 1);
        }
}

void text_free(struct text *text)
{
    free(text->at);
    *text = (struct text){0};
}

char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) return NULL;
    struct text content = {0};
    char block[65536];
    size_t got;
    text_add(&content, "");
    while ((got = fread(block, 1, sizeof block, file)) > 0) text_add_n(&content, block, got);
    int bad = ferror(file);
    fclose(file);
    if (!bad) return content.at;
    free(content.at);
    return NULL;
}

int write_file(const char *path, const char *content)
{
    char *old = read_file(path);
    int same = old != NULL && strcmp(old, content) == 0;
    free(old);
    if (same) return 0;
    FILE *file = fopen(path, "wb");
    if (file == NULL) {
        perror(path);
        return -1;
    }
    size_t length = strlen(content);
    int bad = fwrite(content, 1, length, file) != length;
    bad |= fclose(file) != 0;
    if (bad) fprintf(stderr, "%s: cannot be written\n", path);
    return bad ? -1 : 0;
}
