/**
 * @file text.c
 * @brief Growing text; memory running out ends the program.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

void die(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("simtcc: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(2);
}

void *array_grow(void *array, size_t *capacity, size_t count, size_t element_bytes)
{
    if (count < *capacity) return array;
    *capacity = *capacity == 0 ? 16 : 2 * *capacity;
    void *larger = realloc(array, *capacity * element_bytes);
    if (larger == NULL) die("out of memory");
    return larger;
}

void text_add(struct text *text, const char *bytes, size_t count)
{
    if (text->length + count + 1 > text->capacity) {
        text->capacity = 2 * (text->length + count + 1);
        text->data = realloc(text->data, text->capacity);
        if (text->data == NULL) die("out of memory");
    }
    if (count > 0) memcpy(text->data + text->length, bytes, count);
    text->length += count;
    text->data[text->length] = '\0';
}

void text_add_string(struct text *text, const char *string)
{
    text_add(text, string, strlen(string));
}

static void add_formatted(struct text *text, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    char *line = malloc((size_t)length + 1);
    if (line == NULL) die("out of memory");
    vsnprintf(line, (size_t)length + 1, format, arguments);
    text_add(text, line, (size_t)length);
    free(line);
}

void text_printf(struct text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    add_formatted(text, format, arguments);
    va_end(arguments);
}

char *format_string(const char *format, ...)
{
    struct text text = {0};
    va_list arguments;
    va_start(arguments, format);
    add_formatted(&text, format, arguments);
    va_end(arguments);
    return text.data;
}

void text_drop(struct text *text)
{
    free(text->data);
    *text = (struct text){0};
}

int text_read_file(struct text *text, const char *path)
{
    char chunk[16384];
    FILE *file = fopen(path, "rb");
    if (file == NULL) return 0;
    text_add(text, "", 0);
    for (size_t count; (count = fread(chunk, 1, sizeof(chunk), file)) > 0;) text_add(text, chunk, count);
    int ok = !ferror(file);
    fclose(file);
    return ok;
}

int text_write_file(const struct text *text, const char *path)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL) return 0;
    int ok = text->length == 0 || fwrite(text->data, 1, text->length, file) == text->length;
    return fclose(file) == 0 && ok;
}

void list_add(struct string_list *list, const char *item)
{
    list->items = array_grow(list->items, &list->capacity, list->count, sizeof(*list->items));
    list->items[list->count++] = item;
}
