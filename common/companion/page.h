/**
 * @file page.h
 * @brief What a lesson's page and its kernel file say: the goal, the hints, the regions.
 */
#pragma once

#include <stddef.h>
#include "course/course.h"

struct hint {
    char *region;   /**< "softmax": what stands before the colon */
    char *question; /**< what stands after it */
    char *answer;   /**< paragraphs, Markdown */
};

struct hints {
    struct hint *items;
    size_t count;
};

/** @brief The hints of a lesson's page, in its order; none if there is no page. */
void page_hints(const struct lesson_folder *lesson, struct hints *hints);
/** @brief The first paragraph of a lesson's goal, on one line, or NULL. */
char *page_goal(const struct lesson_folder *lesson);
/** @brief lessons/NN_topic/README.md */
char *page_path(const struct lesson_folder *lesson);

/** @brief One step of the work that a page describes: a line of its comment `<!-- steps`. */
struct page_step {
    char *regions;   /**< names, in the order in which to write the regions */
    char *test_case; /**< "f16/tiny": the case to look at then */
};

enum { MOST_STEPS = 16 };

/** @brief The steps of a lesson's page, in their order; returns how many there are. */
size_t page_steps(const struct lesson_folder *lesson, struct page_step steps[MOST_STEPS]);

/** @brief One row of the table "the first case that fails | look at". */
struct page_row {
    char *fails, *look_at; /**< Markdown: names of cases and of regions in backticks */
};

enum { MOST_ROWS = 16 };

/** @brief The rows of that table, in their order; returns how many there are. */
size_t page_rows(const struct lesson_folder *lesson, struct page_row rows[MOST_ROWS]);

/** @brief One line of a page's comment `<!-- causes`: the regions whose hints help with a cause. */
struct page_cause {
    char *causes, *regions; /**< names, between blanks; regions in the order in which to look */
};

enum { MOST_CAUSES = 48 };

/** @brief The lines of that comment, in their order; returns how many there are. */
size_t page_causes(const struct lesson_folder *lesson, struct page_cause causes[MOST_CAUSES]);

/** @brief The next name in backticks of @p text, which the caller frees; moves the text past it. NULL if
 *         there is none. */
char *next_quoted_name(const char **text);

/** @brief One `[student: NAME]` of a kernel file. */
struct region {
    char *name;
    int todo;       /**< 1 if a TODO is in it */
    int line, last; /**< lines of its opening and of its closing mark */
};

enum { MAX_REGIONS = 32 };

/** @brief The regions in @p source; returns how many there are, at most MAX_REGIONS. */
size_t kernel_regions(const char *source, struct region regions[MAX_REGIONS]);
/** @brief 1 if @p source is as it was handed out: it has regions, and each of them still says TODO. */
int kernel_is_skeleton(const char *source);
/** @brief "scores_kernel, block_max": the regions of a file that still say TODO; NULL if none does. */
char *kernel_regions_left(const char *kernel);
/** @brief "step 4, softmax_launch (line 147)": the region to write next, in the order of the page's steps; NULL if none says TODO. */
char *kernel_next_region(const struct lesson_folder *lesson, const char *kernel);
