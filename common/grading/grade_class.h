/**
 * @file grade_class.h
 * @brief One run of `warpwise grade`: what was asked for, what is known, what is to be done.
 */
#pragma once

#include "course/command.h"
#include "grade.h"

/** @brief A run. */
struct grade_class {
    struct grade_plan plan;
    struct grade_book book;
    struct journal journal;

    /* as asked for */
    const struct lesson_folder **lessons; /**< none: as recorded, or all */
    size_t lesson_count;
    const char *student;    /**< grade only this one, and again; or NULL */
    const char *seed_given; /**< a file, or NULL */
    const char *device;     /**< as on the command line, or NULL */
    struct device_choice devices;
    unsigned shard, shards; /**< 0/0: the whole class */
    int no_speed;
    int without_isolation;               /**< grade even if some of the isolation is missing */
    const char *setting[GRADE_SETTINGS]; /**< as given now, or NULL: as recorded */
    const char *similar; /**< write files for similarity checkers there, and grade nothing; or NULL */

    /* what comes of it */
    struct grade_unit *units;
    size_t unit_count;
    size_t done, ungraded;
    struct grade_unit *again; /**< could not be graded at the first attempt */
    size_t again_count;
    int retrying;
    double start;
};

/** @brief Makes plan.seed_file hold the seed that was given, recorded, or drawn just now; notes its sum.
 *  @return EXIT_PASS, or EXIT_TROUBLE after a complaint */
int grade_seed_settle(struct grade_class *class);

/** @brief Settles seed, lessons, devices and students, and notes them in the journal.
 *  @return EXIT_PASS, or EXIT_TROUBLE after a complaint */
int grade_class_settle(struct grade_class *class);

/** @brief Takes over, and keeps, what was given of overrides, late days and visibility (grade_given.c).
 *  @return EXIT_PASS, or EXIT_TROUBLE after a complaint */
int grade_settings_settle(struct grade_class *class);
/** @brief Notes which of them stand on the command line. */
void grade_settings_ask(const struct command_line *line, struct grade_class *class);

/** @brief Writes the files of each lesson where JPlag and MOSS find them (grade_similar.c).
 *  @return EXIT_PASS, or EXIT_TROUBLE after a complaint */
int grade_similar(const struct grade_class *class);

/** @brief Removes what graders that were killed have left in plan.out, which is ours now (grade_leftovers.c). */
void grade_remove_leftovers(const char *out);

/** @brief Grades what is not graded yet. @return EXIT_PASS, or EXIT_TROUBLE if it had to stop */
int grade_class_run(struct grade_class *class);

/** @brief Takes the results in @p folders into the book and writes them to a new journal in plan.out.
 *  @return EXIT_PASS, or EXIT_TROUBLE after a complaint; the book has no lessons if nothing came of it */
int grade_merge(struct grade_class *class, const char *const *folders, size_t count);
