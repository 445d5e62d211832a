/**
 * @file journal.c
 * @brief Lines of "checksum fields", appended and synchronised one by one.
 *
 * Values are escaped so that a line end within one can never end the line: what a student's kernel printed
 * cannot be mistaken for a record.
 */
#include "journal.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/sha256.h"
#include "base/text.h"

enum { SUM_DIGITS = 16 };
static const char first_line[] = "kind\tjournal\tversion\t1";

/* ---- records ------------------------------------------------------------------------------------------- */

static void put_escaped(struct text *line, const char *value)
{
    for (const char *at = value; *at; at++) {
        const char *escaped = *at == '\\'   ? "\\\\"
                              : *at == '\t' ? "\\t"
                              : *at == '\n' ? "\\n"
                              : *at == '\r' ? "\\r"
                                            : NULL;
        text_append(line, escaped != NULL ? escaped : at, escaped != NULL ? 2 : 1);
    }
}

void record_put(struct text *line, const char *name, const char *value)
{
    if (line->length) text_append(line, "\t", 1);
    put_escaped(line, name);
    text_append(line, "\t", 1);
    put_escaped(line, value);
}

void record_put_number(struct text *line, const char *name, double value)
{
    char text[40];
    if (isnan(value)) return;
    snprintf(text, sizeof text, "%.17g", value);
    record_put(line, name, text);
}

/* Undoes put_escaped() in place; -1 if put_escaped() cannot have made the text. */
static int unescape(char *text)
{
    static const char letters[] = "\\tnr", meant[] = "\\\t\n\r";
    char *out = text;
    for (const char *at = text; *at; at++) {
        const char *found = *at != '\\' ? NULL : at[1] ? strchr(letters, at[1]) : NULL;
        if (*at == '\\' && found == NULL) return -1;
        *out++ = found != NULL ? meant[found - letters] : *at;
        at += found != NULL;
    }
    *out = '\0';
    return 0;
}

int record_parse(const char *line, struct journal_record *record)
{
    size_t fields = 1;
    for (const char *at = line; *at; at++) fields += *at == '\t';
    *record = (struct journal_record){.name = must_allocate(fields * sizeof(char *)),
                                      .value = must_allocate(fields * sizeof(char *))};
    int bad = fields % 2;
    while (line != NULL && !bad) {
        char *name = next_word(&line, '\t'), *value = next_word(&line, '\t');
        bad = value == NULL || unescape(name) != 0 || unescape(value) != 0;
        record->name[record->count] = name;
        record->value[record->count++] = value;
    }
    if (bad) record_free(record);
    return bad ? -1 : 0;
}

const char *record_value(const struct journal_record *record, const char *name)
{
    for (size_t i = 0; i < record->count; i++) {
        if (strcmp(record->name[i], name) == 0) return record->value[i];
    }
    return "";
}

double record_number(const char *text)
{
    char *end;
    double number = strtod(text, &end);
    return *text && !*end ? number : NAN;
}

void record_free(struct journal_record *record)
{
    for (size_t i = 0; i < record->count; i++) {
        free(record->name[i]);
        free(record->value[i]);
    }
    free(record->name);
    free(record->value);
    *record = (struct journal_record){0};
}

/* ---- the journal --------------------------------------------------------------------------------------- */

static void sum_of(const char *data, size_t length, char digits[65])
{
    struct sha256 hash;
    sha256_begin(&hash);
    sha256_add(&hash, data, length);
    sha256_end(&hash, digits);
}

/* 1 if the @p length bytes at @p line are a checksum, a blank, and text with that checksum. */
static int line_is_sound(const char *line, size_t length)
{
    char digits[65];
    if (length <= SUM_DIGITS || line[SUM_DIGITS] != ' ') return 0;
    sum_of(line + SUM_DIGITS + 1, length - SUM_DIGITS - 1, digits);
    return memcmp(digits, line, SUM_DIGITS) == 0 && memchr(line, '\0', length) == NULL;
}

static int scan(const struct text *content, journal_reader reader, void *context, struct journal *found)
{
    const char *at = content->data, *end = content->data + content->length, *stop;
    for (int first = 1; (stop = memchr(at, '\n', (size_t)(end - at))) != NULL; at = stop + 1, first = 0) {
        struct journal_record record;
        size_t length = (size_t)(stop - at);
        found->length = stop + 1 - content->data;
        if (!line_is_sound(at, length)) {
            if (first) return EPROTO;
            found->damaged++;
            continue;
        }
        char *payload = format_string("%.*s", (int)(length - SUM_DIGITS - 1), at + SUM_DIGITS + 1);
        if (first && strcmp(payload, first_line) != 0) return EPROTO;
        if (!first && record_parse(payload, &record) == 0) {
            found->records++;
            reader(context, &record);
            record_free(&record);
        }
        free(payload);
    }
    found->cut = at < end;
    return 0;
}

int journal_read(const char *path, journal_reader reader, void *context, struct journal *found)
{
    struct text content = {0};
    *found = (struct journal){.file = -1};
    int error = read_file(path, &content);
    if (!error) error = scan(&content, reader, context, found);
    text_free(&content);
    return error;
}

/* Appends all of the line or nothing: if it does not fit, what was written of it is removed. */
static int append(struct journal *journal, const char *data, size_t length)
{
    size_t written = 0;
    int error = 0;
    while (written < length && !error) {
        ssize_t step = write(journal->file, data + written, length - written);
        if (step < 0 && errno != EINTR) error = errno;
        if (step == 0) error = ENOSPC;
        if (step > 0) written += (size_t)step;
    }
    if (!error && fdatasync(journal->file) != 0) error = errno;
    if (error) {
        if (ftruncate(journal->file, (off_t)journal->length) != 0) return error;
        lseek(journal->file, (off_t)journal->length, SEEK_SET);
        return error;
    }
    journal->length += (long long)length;
    return 0;
}

int journal_append(struct journal *journal, const struct text *line)
{
    char digits[65];
    struct text whole = {0};
    sum_of(line->data, line->length, digits);
    text_print(&whole, "%.*s ", SUM_DIGITS, digits);
    text_append(&whole, line->data, line->length);
    text_append(&whole, "\n", 1);
    int error = append(journal, whole.data, whole.length);
    if (!error) journal->records++;
    text_free(&whole);
    return error;
}

/* The name of a new file is on the disk only after its folder was synchronised. */
static int sync_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash != NULL ? format_string("%.*s/", (int)(slash - path), path) : copy_string(".");
    int file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), error = file < 0 ? errno : 0;
    if (!error && fsync(file) != 0 && errno != EINVAL) error = errno;
    if (file >= 0) close(file);
    free(folder);
    return error;
}

int journal_open(const char *path, journal_reader reader, void *context, struct journal *journal)
{
    int error = journal_read(path, reader, context, journal);
    if (error && error != ENOENT) return error;
    journal->path = copy_string(path);
    journal->file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (journal->file < 0) return errno;
    if (ftruncate(journal->file, (off_t)journal->length) != 0) return errno;
    lseek(journal->file, (off_t)journal->length, SEEK_SET);
    if (journal->length > 0) return 0; /* otherwise it is new, or was cut off within its first line */
    struct text line = {0};
    text_print(&line, "%s", first_line);
    error = journal_append(journal, &line);
    journal->records = 0;
    text_free(&line);
    return error ? error : sync_folder(path);
}

void journal_close(struct journal *journal)
{
    if (journal->file >= 0) close(journal->file);
    free(journal->path);
    *journal = (struct journal){.file = -1};
}
