/**
 * @file judged_case.h
 * @brief One case with its image, filled as a perfect kernel would fill it: for tests that then spoil it.
 */
#pragma once

#include "checker/verdict/session.h"

struct judged_case {
    struct check *check;
    struct item *item;
    struct session session;
};

/** @brief Counts and tells a failure unless @p holds; the test's own. */
void expect(int holds, const char *what, const char *found);

/** @brief Opens case @p name of @p lesson on the software device and lets the oracle answer it, in both runs. */
void open_case(struct judged_case *c, const struct lesson *lesson, const char *name);

/** @brief The same as if on a GPU: with guard zones, intact. */
void open_guarded_case(struct judged_case *c, const struct lesson *lesson, const char *name);

/** @brief Closes the case and frees all that belongs to it. */
void close_case(struct judged_case *c);

/** @brief What came back of @p buffer in run @p run, to be spoiled. */
void *copy_of(struct judged_case *c, int buffer, int run);

/** @brief Judges the case. */
const struct verdict *judge_case(struct judged_case *c);

/** @brief The verdict in words, which stay until the next call. */
const char *headline_of(const struct verdict *verdict);
const char *pattern_of(const struct verdict *verdict);
