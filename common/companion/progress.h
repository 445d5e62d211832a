/**
 * @file progress.h
 * @brief What is remembered of a student's work: verdicts, hints, cases that failed.
 */
#pragma once

#include "failing_place.h"
#include "judging/judging.h"

enum { MOST_FAILED = 8, MOST_HINTS = 64 };

/** @brief The last whole check of a lesson's kernel file on one device. */
struct past_check {
    int known; /**< 0 if there was none */
    enum state state;
    double points, points_max;
    char sum[65]; /**< of the file that was checked */
    char date[16];
};

/** @brief All that is remembered of a lesson. */
struct progress {
    struct past_check check[DEVICE_COUNT];
    char passed[16];           /**< the day of the first pass, "" before */
    char *failed[MOST_FAILED]; /**< cases that failed last, "part/name" */
    size_t failed_count;
    struct failing_place place; /**< where it failed last */
    unsigned char hint_shown[MOST_HINTS];
};

/** @brief The folder of what is remembered for this tree: $WARPWISE_STATE, else a folder under
 *         $XDG_STATE_HOME or ~/.local/state, else one in the build folder. Created if needed. */
const char *progress_folder(void);
void progress_read(const struct lesson_folder *lesson, struct progress *progress);
/** @brief Writes it; says so once if that fails, since no command should fail for it. */
void progress_write(const struct lesson_folder *lesson, const struct progress *progress);
/** @brief Remembers a whole check of the lesson's own file. */
void progress_note_check(const struct lesson_folder *lesson, enum device device,
                         const struct judgement *judgement);
/** @brief Remembers which cases failed in a check of only some. */
void progress_note_failures(const struct lesson_folder *lesson, const struct judgement *judgement);
/** @brief SHA-256 of a file, 64 digits; "" if it cannot be read. */
void progress_sum(const char *path, char digits[65]);

/** @brief Where a lesson stands, from what is remembered and the file as it is. */
struct standing {
    enum state state;
    double points, points_max;
    enum device device;
    int edited; /**< 1: the file has changed since that check; 0: it has not, or was never checked */
    int checked;
};

void standing_of(const struct lesson_folder *lesson, struct standing *standing);
/**
 * @brief The first lesson after @p lesson that does not stand at PASS, or the first of all, or NULL. The
 *        first of all, too, if @p lesson is NULL. So a student who begins with lesson 15 goes on with 16.
 */
const struct lesson_folder *standing_next(const struct lesson_folder *lesson);
/** @brief The lesson that @p word means, or the next one to do if it is NULL; complains and returns NULL
 *         if there is none. */
const struct lesson_folder *lesson_or_next(const char *word);
