/**
 * @file hint_choice.h
 * @brief Which hint helps most: what is known about the student's progress, and the choice.
 */
#pragma once

#include "page.h"
#include "progress.h"

/** @brief What the choice depends on: the page, the kernel file, what failed last. */
struct situation {
    const struct lesson_folder *lesson;
    struct hints hints;
    struct progress progress;
    struct page_step steps[MOST_STEPS];
    struct page_row rows[MOST_ROWS];
    struct page_cause causes[MOST_CAUSES];
    struct region regions[MAX_REGIONS];
    size_t step_count, row_count, cause_count, region_count;
};

void situation_read(const struct lesson_folder *lesson, struct situation *now);

/** @brief The next hint to show; hints.count if nothing points to one. */
size_t hint_choose(const struct situation *now);

/** @brief The next hint of @p region (NULL: of any) that was not shown yet; hints.count if there is none. */
size_t hint_unseen(const struct situation *now, const char *region);

/** @brief Hints name a region ("softmax_kernel") or what several of them have in common ("softmax"). */
int hint_is_about(const char *region, const char *name);

/** @brief 1 if row @p row of the page's table is about a case that failed, as far as this program can
 *         decide. */
int hint_row_may_fit(const struct situation *now, size_t row);

/** @brief The first hint of each region that the steps for the first failed part name, in their order; or
 *         of each region if no step names one. Returns how many. */
size_t hints_of_failed_part(const struct situation *now, size_t first[MOST_HINTS]);
