/**
 * @file catalogue.h
 * @brief Cases and what they cost, asked of the checker.
 */
#pragma once

#include "course/course.h"
#include "course/device.h"

struct known_case {
    char *part, *name, *group, *shape;
    int on[DEVICE_COUNT];
    double flop, min_bytes;
};

struct catalogue {
    struct known_case *cases;
    size_t count;
};

/** @brief The cases of a lesson that have a cost, from the checker; EXIT_PASS, or EXIT_TROUBLE after a complaint.
 */
int catalogue_read(const struct lesson_folder *lesson, struct catalogue *catalogue);
/** @brief 1 if @p name, "part/name" or "name", means that case. */
int catalogue_means(const struct known_case *known, const char *name);
/** @brief The case called @p name ("part/name" or "name"), or the first one of group "speed" on @p device if
 *         @p name is NULL; complains and returns NULL if there is none. */
const struct known_case *catalogue_case(const struct catalogue *catalogue, const struct lesson_folder *lesson,
                                        const char *name, enum device device);
/** @brief Where a kernel file is begun, and the part of @p shown is not: the case that shows the @p number th other part, which is
 *         the one of the same name, else its first one of group "speed" on @p device; NULL when no part is left. */
const struct known_case *catalogue_other(const struct catalogue *catalogue, const struct known_case *shown,
                                         enum device device, size_t number);
/** @brief The case of group "speed" on @p device with the most work, which `tour` shows; NULL if there is
 *         none. */
const struct known_case *catalogue_largest(const struct catalogue *catalogue, enum device device);
