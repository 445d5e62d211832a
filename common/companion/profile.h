/**
 * @file profile.h
 * @brief What Nsight Compute and the software device write about kernels, in one form; and the profiled case.
 */
#pragma once

#include <stddef.h>
#include "course/course.h"
#include "course/device.h"

enum { MOST_METRICS = 24, MOST_KERNELS = 64 };

/** @brief One kernel of a profile, over all its launches. */
struct profiled_kernel {
    char *name;
    int launches;
    double value[MOST_METRICS]; /**< NaN if it was not measured */
};

struct profile {
    struct profiled_kernel kernels[MOST_KERNELS];
    size_t count;
    int partial; /**< 1: not all that the case needs is written, and these are the kernels that are */
};

/** @brief What is profiled. */
struct profile_request {
    const struct lesson_folder *lesson;
    const char *kernel, *test_case;
};

/** @brief A metric to ask for. */
struct metric {
    const char *ncu;  /**< Nsight Compute's name */
    const char *simt; /**< the software device's column, or NULL */
    const char *title;
    const char *meaning;
    int is_rate; /**< 1: the mean over launches counts, 0: the sum */
};

extern const struct metric profile_metrics[];
extern const size_t profile_metric_count;
/** @brief What a kernel has of the metric @p title. */
double profile_value(const struct profiled_kernel *kernel, const char *title);
/** @brief The --metrics argument for ncu. */
char *profile_metric_list(void);
/** @brief Reads what `ncu --csv --page raw` wrote about @p calls calls of the lesson; the profile holds
 *         the numbers of one call. Returns how many launches were found, -1 if the file is not such
 *         output. */
int profile_read_ncu(const char *content, int calls, struct profile *profile);
/** @brief The same for what SIMT_COUNTERS wrote. */
int profile_read_simt(const char *content, int calls, struct profile *profile);

/** @brief Counts on the software device; EXIT_PASS, EXIT_SKIPPED if no kernel was launched, since none is written, or EXIT_FAIL or
 *         EXIT_TROUBLE after a message. */
int profile_on_simt(const struct profile_request *request, struct profile *profile);
/** @brief Saves a case of a lesson for `runner --case-file`; its path, or NULL after a complaint (runner.c). */
char *runner_save_case(const struct lesson_folder *lesson, const char *test_case, enum device device);
