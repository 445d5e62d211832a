/**
 * @file figures.h
 * @brief docs/results/DEVICE.csv: every figure measured on a device.
 */
#pragma once

#include "course/device.h"
#include "judging/results.h"

/** @brief One row of docs/results/DEVICE.csv; docs/results/README.md describes the format. */
struct figure {
    char *date, *device, *toolkit, *lesson, *kernel, *test_case, *metric, *value, *unit, *command;
};

struct figures {
    struct figure *items;
    size_t count;
};

/** @brief Reads such a file; a missing one has no rows. EXIT_PASS, or EXIT_TROUBLE after a complaint. */
int figures_read(const char *path, struct figures *figures);
/** @brief Adds a row, or replaces the one with the same key. An exact figure that has not changed keeps
 *         its row. */
void figures_put(struct figures *figures, const struct figure *figure, int exact);
/** @brief Sorts and writes; EXIT_PASS, or EXIT_TROUBLE after a complaint. */
int figures_write(const char *path, struct figures *figures);
/** @brief The value of a key, or NaN. */
double figures_value(const struct figures *figures, const char *lesson, const char *kernel,
                     const char *test_case, const char *metric);
/** @brief docs/results/DEVICE.csv for a device's name. */
char *figures_path(const char *device);
/** @brief Reads the recorded file of a GPU (the first by name); NULL if there is none. Returns the
 *         device's name. */
char *figures_of_some_gpu(struct figures *figures);
/** @brief Adds measured rows of the checker and the device's limits. @p kernel names them, or NULL for the
 *         part. */
void figures_put_results(struct figures *figures, enum device device, const struct results *results,
                         const char *kernel, const char *command);
/** @brief Reads docs/results/DEVICE.csv of this device, adds the rows and writes it. */
int figures_record(enum device device, const struct results *results, const char *command);
/** @brief Prints which file that is. */
void figures_say_recorded(enum device device);
/** @brief Compares counters of the software device with the recorded ones; EXIT_FAIL if one by the same
 *         compiler differs. Counters that are not recorded, or by another compiler, are counted and
 *         reported. */
int figures_compare(const struct results *results);
/** @brief The name under which this device is recorded: the GPU's model, or "simt". */
const char *figures_device(enum device device);

/** @brief The student's own figures on @p device: in the same format, kept where progress is remembered. */
char *figures_own_path(const char *device);
/** @brief Remembers what the student's kernel took; prints nothing if it cannot. */
void figures_remember_own(enum device device, const struct results *results, const char *command);
