/**
 * @file text.c
 * @brief Strings that grow, files as a whole, and how far apart two words are.
 */
#include "text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "edit_distance.h"
#include "terminal.h"

void *must_allocate(size_t bytes)
{
    void *memory = calloc(1, bytes ? bytes : 1);
    if (memory == NULL) {
        fputs("warpwise: this machine has no memory left for warpwise itself.\n", stderr);
        exit(EXIT_TROUBLE);
    }
    return memory;
}

static void reserve(struct text *text, size_t length)
{
    if (text->length + length + 1 <= text->capacity) return;
    size_t capacity = 2 * (text->length + length) + 64;
    char *data = must_allocate(capacity);
    if (text->length) memcpy(data, text->data, text->length);
    free(text->data);
    text->data = data;
    text->capacity = capacity;
}

void text_append(struct text *text, const char *data, size_t length)
{
    reserve(text, length);
    if (length) memcpy(text->data + text->length, data, length);
    text->length += length;
    text->data[text->length] = '\0';
}

static void print_arguments(struct text *text, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    if (length > 0) {
        reserve(text, (size_t)length);
        vsnprintf(text->data + text->length, (size_t)length + 1, format, again);
        text->length += (size_t)length;
    }
    va_end(again);
}

void text_add_escaped(struct text *text, const char *characters, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        const char *entity = characters[i] == '&'   ? "&amp;"
                             : characters[i] == '<' ? "&lt;"
                             : characters[i] == '>' ? "&gt;"
                             : characters[i] == '"' ? "&quot;"
                                                    : NULL;
        text_append(text, entity != NULL ? entity : &characters[i], entity != NULL ? strlen(entity) : 1);
    }
}

void text_add_json(struct text *text, const char *string)
{
    text_append(text, "\"", 1);
    for (; *string; string++) {
        const unsigned char letter = (unsigned char)*string;
        if (letter == '"' || letter == '\\')
            text_print(text, "\\%c", letter);
        else if (letter == '\n') /* listings are mostly short lines */
            text_append(text, "\\n", 2);
        else if (letter < ' ' || letter == '<' || letter == '>' || letter == '&' || letter == 0x7f)
            text_print(text, "\\u%04x", letter);
        else
            text_append(text, string, 1);
    }
    text_append(text, "\"", 1);
}

void text_print(struct text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_arguments(text, format, arguments);
    va_end(arguments);
}

void text_free(struct text *text)
{
    free(text->data);
    *text = (struct text){0};
}

char *format_string(const char *format, ...)
{
    struct text text = {0};
    va_list arguments;
    va_start(arguments, format);
    text_append(&text, "", 0);
    print_arguments(&text, format, arguments);
    va_end(arguments);
    return text.data;
}

char *copy_string(const char *string)
{
    return format_string("%s", string);
}

int read_file(const char *path, struct text *content)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return errno;
    char buffer[65536];
    ssize_t length;
    text_append(content, "", 0);
    while ((length = read(file, buffer, sizeof buffer)) != 0) {
        if (length < 0 && errno == EINTR) continue;
        if (length < 0) break;
        text_append(content, buffer, (size_t)length);
    }
    int error = length < 0 ? errno : 0;
    close(file);
    return error;
}

int write_file(const char *path, const char *content, size_t length)
{
    char *beside = format_string("%s.%ld", path, (long)getpid());
    int error = 0;
    FILE *file = fopen(beside, "w");
    if (file == NULL) {
        error = errno;
    } else {
        size_t written = fwrite(content, 1, length, file);
        int closed = fclose(file);
        if (written != length || closed != 0 || rename(beside, path) != 0) error = errno ? errno : EIO;
        if (error) unlink(beside);
    }
    free(beside);
    return error;
}

int make_folders(const char *path)
{
    char *part = copy_string(path);
    int error = 0;
    for (char *slash = strchr(part + 1, '/'); !error; slash = strchr(slash + 1, '/')) {
        if (slash != NULL) *slash = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST) error = errno;
        if (slash == NULL) break;
        *slash = '/';
    }
    free(part);
    return error;
}

void remove_tree(const char *path)
{
    DIR *folder = opendir(path);
    struct stat status;
    if (folder != NULL && lstat(path, &status) == 0 && S_ISDIR(status.st_mode)) {
        for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
            if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
            char *inside = format_string("%s/%s", path, entry->d_name);
            remove_tree(inside);
            free(inside);
        }
    }
    if (folder != NULL) closedir(folder);
    remove(path);
}

int is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static int is_program(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

char *find_program(const char *program)
{
    if (!*program) return NULL;
    if (strchr(program, '/') != NULL) return is_program(program) ? copy_string(program) : NULL;
    const char *list = getenv("PATH");
    if (list == NULL) return NULL;
    for (char *folder; (folder = next_word(&list, ':')) != NULL; free(folder)) {
        char *path = format_string("%s/%s", *folder ? folder : ".", program);
        if (is_program(path)) {
            free(folder);
            return path;
        }
        free(path);
    }
    return NULL;
}

char *next_word(const char **list, char separator)
{
    if (*list == NULL) return NULL;
    const char *end = strchr(*list, separator);
    size_t length = end != NULL ? (size_t)(end - *list) : strlen(*list);
    char *word = format_string("%.*s", (int)length, *list);
    *list = end != NULL ? end + 1 : NULL;
    return word;
}

int edit_distance(const char *a, const char *b)
{
    return count_edits(a, b);
}

const char *nearest_name(const char *word, const char *const *names)
{
    const char *best = NULL;
    int best_distance = 0;
    for (; *names != NULL; names++) {
        int distance = edit_distance(word, *names);
        if (best == NULL || distance < best_distance) {
            best = *names;
            best_distance = distance;
        }
    }
    int near = 1 + (int)strlen(word) / 3;
    return best != NULL && best_distance <= near ? best : NULL;
}
