/**
 * @file grade_class.h
 * @brief One run of `warpwise grade`: the options, the known results, and the work to do.
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
    int hunts;                           /**< debugging exercises are graded, too */
    int without_isolation;               /**< grade even if a part of the isolation is missing */
    const char *setting[GRADE_SETTINGS]; /**< as given now; NULL: as recorded */
    /** write the files for similarity checkers to this folder, and grade nothing; or NULL */
    const char *similar;

    /* what comes of it */
    struct grade_unit *units;
    size_t unit_count;
    struct grade_unit *twins; /**< same files as one of the units: they get its verdict */
    size_t twin_count;
    size_t done, ungraded;
    struct grade_unit *again; /**< could not be graded at the first attempt */
    size_t again_count;
    int retrying;
    double start;
};

/** @brief Makes plan.seed_file hold the seed that was given, recorded, or just drawn; notes its hash.
 *  @return EXIT_PASS, or EXIT_TROUBLE after a complaint */
int grade_seed_settle(struct grade_class *class);

/** @brief Settles seed, lessons, devices and students, and notes them in the journal.
 *  @return EXIT_PASS, or EXIT_TROUBLE after a complaint */
int grade_class_settle(struct grade_class *class);

/** @brief Takes over and keeps the given overrides, late days and visibility (grade_given.c).
 *  @return EXIT_PASS, or EXIT_TROUBLE after a complaint */
int grade_settings_settle(struct grade_class *class);
/** @brief Notes which of these options are on the command line. */
void grade_settings_ask(const struct command_line *line, struct grade_class *class);

/** @brief Writes the files of each lesson where JPlag and MOSS find them (grade_similar.c).
 *  @return EXIT_PASS, or EXIT_TROUBLE after a complaint */
int grade_similar(const struct grade_class *class);

/** @brief Removes what killed graders left in plan.out, which belongs to this grader now
 *         (grade_leftovers.c). */
void grade_remove_leftovers(const char *out);

/** @brief Grades what is not graded yet.
 *  @return EXIT_PASS, or EXIT_TROUBLE if it had to stop */
int grade_class_run(struct grade_class *class);

/** @brief Takes the results in @p folders into the book and writes them to a new journal in plan.out.
 *  @return EXIT_PASS, or EXIT_TROUBLE after a complaint; the book has no lessons if that failed */
int grade_merge(struct grade_class *class, const char *const *folders, size_t count);
