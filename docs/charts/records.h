/**
 * @file records.h
 * @brief Reads docs/results/<device>.csv (format: docs/results/README.md).
 */
#pragma once

#include <stddef.h>

/** @brief One row of the file: one number. */
struct record {
    const char *date, *device, *toolkit, *lesson, *kernel, *case_name, *metric, *unit,
        *command; /**< the columns */
    double value;
};

/** @brief A file of them, in its order. */
struct records {
    struct record *at;
    size_t count;
    char *content; /**< the file, cut into fields */
};

/**
 * @brief Cuts one line of a CSV file into fields, in place; quotes may hold commas, and two quotes stand for one.
 * @return how many fields there are; @p most + 1 if there are more than that
 */
int cut_line(char *line, char **fields, int most);

/** @brief Reads a file; the program ends with a message if it cannot be read or a row has no 10 columns. */
struct records read_records(const char *path);

/** @brief Frees what read_records() allocated. */
void free_records(struct records *records);

/**
 * @brief One number by its key.
 * @return the row, or NULL if nobody measured it
 */
const struct record *find_record(const struct records *records, const char *lesson, const char *kernel,
                                 const char *case_name, const char *metric);

/** @brief 1 if both come from one run: the same command on the same day. */
int same_run(const struct record *a, const struct record *b);
