/**
 * @file journal.h
 * @brief A file of records that is only ever appended to, and that survives being cut off at any moment.
 *
 * A record is a list of fields, name and value, kept on one line behind a checksum. It counts once its line
 * is whole; append returns when the line is on the disk. When the journal is opened, a half-written last line
 * is dropped and lines with a wrong checksum are skipped: the work they record counts as never done.
 */
#pragma once

#include "base/text.h"
#include "course/command.h"

/* ---- records ------------------------------------------------------------------------------------------- */

/** @brief The fields of one record, in their order; a name may occur many times. */
struct journal_record {
    size_t count;
    char **name, **value;
};

/** @brief Appends a field to the line under construction in @p line. */
void record_put(struct text *line, const char *name, const char *value);
/** @brief The same for a number, exactly; NaN is left out. */
void record_put_number(struct text *line, const char *name, double value);
/** @brief Parses a line; 0, or -1 if record_put() did not make it. */
int record_parse(const char *line, struct journal_record *record);
/** @brief The first value called @p name, or "". */
const char *record_value(const struct journal_record *record, const char *name);
/** @brief @p text as a number, NaN if it is none. */
double record_number(const char *text);
void record_free(struct journal_record *record);

/* ---- the journal --------------------------------------------------------------------------------------- */

struct journal {
    int file;
    char *path;
    long long length; /**< bytes of whole lines */
    size_t records;   /**< lines that count */
    size_t damaged;   /**< number of whole lines with a wrong checksum */
    int cut;          /**< 1 if a half-written last line was dropped */
};

/** @brief Receives every record, in the order of writing; the record is freed after it returns. */
typedef void (*journal_reader)(void *context, const struct journal_record *record);

/**
 * @brief Reads the journal @p path, without writing to it.
 * @return 0, or errno (ENOENT if there is none); EPROTO if it is not a journal of this version
 */
int journal_read(const char *path, journal_reader reader, void *context, struct journal *found);

/**
 * @brief Opens @p path for appending, creates it if need be, reads what is there and drops a half-written
 * end.
 * @return 0, or errno as journal_read() has it
 */
int journal_open(const char *path, journal_reader reader, void *context, struct journal *journal);

/**
 * @brief Appends a line made by record_put(); on the disk when this returns.
 * @return 0, or errno; then the journal is as it was before
 */
int journal_append(struct journal *journal, const struct text *line);

void journal_close(struct journal *journal);
