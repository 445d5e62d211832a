/**
 * @file grade.h
 * @brief Grading a class: what the parts of `warpwise grade` share.
 *
 *     grade.c            the command: options, the order of things, exit codes
 *     grade_students.c   whose folders there are, and what each holds for a lesson
 *     grade_book.c       everything that is known about a class, and how the journal keeps it
 *     grade_unit.c       one lesson of one student on one device, in a process of its own
 *     grade_schedule.c   many of them at once: jobs, GPUs, progress
 *     grade_hunts.c      debugging exercises: hunts.csv
 *     grade_score.c      points, from the checker's rows and the lesson's rubric
 *     grade_adjust.c     late days, points set by hand and comments (grade_late.c, grade_table.c)
 *     grade_names.c      whom its tables mean
 *     grade_given.c      what the instructor gives for that; grade_settings.c: how the journal keeps it
 *     grade_similar.c    the class's files for programs that look for copies
 *     grade_leftovers.c  what runs that were killed have left behind
 *     grade_reports.c    which files are written, and grades.csv
 *     grade_gradescope.c results.json     grade_junit.c    junit.xml
 *     grade_student.c    report.md, log.txt   grade_summary.c  summary.html, with grade_statistics.c
 *     grade_export.c     canvas.csv, moodle.csv
 *
 * Only the journal (journal.h) is kept; every report is generated from it. So a class that was interrupted,
 * sharded or partly regraded gives the same bytes as one graded in a single run.
 */
#pragma once

#include "base/text.h"
#include "course/command.h"
#include "course/course.h"
#include "course/device.h"
#include "journal.h"
#include "record/causes.h"
#include "record/state.h"

/* ---- what is known about a class (grade_book.c) -------------------------------------------------------- */

/** @brief One case of the checker. */
struct grade_row {
    char *part, *test_case, *group, *shape;
    enum state state;
    enum record_kind finding;         /**< first finding of the software device, or 0 */
    enum record_cause cause;          /**< the usual cause of what is wrong, or 0 */
    int guess;                        /**< number of the lesson's guess that names it, from 0; or -1 */
    char *headline, *pattern, *found; /**< for people */
    double points, points_max;
    double seconds; /**< how long the runner was at it, on the software device */
};

/** @brief The measurements of one case; NaN for what was not measured. */
struct grade_measure {
    char *test_case;
    enum state state;
    char *refused;              /**< why the time is not plausible, or "" */
    double sectors;             /**< sectors of loads and stores, counted by the software device */
    double min_bytes;           /**< bytes that must be moved at least */
    double time_us;             /**< on a GPU */
    double before_us, after_us; /**< the course's solution, in the same run on the same GPU */
};

/** @brief The result of one lesson of one student on one device. The student "" is the course's own
 *         solution. */
struct grade_result {
    char *student, *lesson;
    enum device device;
    int graded; /**< 0: it could not be graded, through no fault of the student */
    char *key;  /**< hash of everything that the verdict depends on */
    enum state state;
    int elsewhere;  /**< 1: nothing was handed in where grading looks, but there is such a file elsewhere */
    char *sentence; /**< why it was not run, or not graded; "" otherwise */
    char *file;     /**< below the student's folder */
    char *sha256;   /**< of the file */
    char *notes;    /**< of a debugging exercise: what the student's tree noted of it; untrusted text */
    char *model, *driver; /**< of the device */
    char *at;             /**< when, UTC */
    double seconds;       /**< how long it took */
    char *log;            /**< untrusted text */
    size_t row_count, measure_count;
    struct grade_row *rows;
    struct grade_measure *measures;
};

/** @brief Adds a row or a measure and returns it, all zero; NaN where it holds numbers. */
struct grade_row *grade_add_row(struct grade_result *result);
struct grade_measure *grade_add_measure(struct grade_result *result);
/** @brief The measure of case @p test_case, or NULL. */
const struct grade_measure *grade_measure_of(const struct grade_result *result, const char *test_case);

enum { GRADE_PARTS = 16 };

/** @brief What a lesson is worth, as `checker --rubric` says. */
struct grade_lesson {
    char *name, *number, *title; /**< "04_flash_attention_1", "04", … */
    size_t part_count;
    char *part[GRADE_PARTS];
    double part_points[GRADE_PARTS];
    double clean_points, speed_points, speed_none, speed_full;
};

/** @brief What the instructor gives in addition to the submissions: contents of files, and words. */
enum grade_setting {
    GRADE_OVERRIDES,
    GRADE_DEADLINES,
    GRADE_TIMES,
    GRADE_TIME_COLUMN,
    GRADE_STUDENT_COLUMN,
    GRADE_LATE_DAYS,
    GRADE_VISIBILITY,
    GRADE_SETTINGS
};

/** @brief A class: who is in it, which lessons, and the results. */
struct grade_book {
    struct grade_lesson *lessons; /**< of this run, by number */
    size_t lesson_count;
    char **students; /**< names of folders, sorted by their bytes */
    size_t student_count;
    int devices[DEVICE_COUNT]; /**< 1: graded on it */
    int speed;                 /**< 1: speed is measured */
    char *seed;                /**< sum of the secret seed */
    char *version;             /**< version of the program that graded it */
    char *shard;               /**< "2/5", or "" for the whole class */
    char *isolation;           /**< isolation of builds and runs, as sandbox_describe() words it */
    int whole;                 /**< 1 if no part of the isolation was missing */
    struct grade_result *results;
    size_t result_count;
    char *class_line;              /**< the latest journal records of everything except results */
    char *setting[GRADE_SETTINGS]; /**< see grade_adjust.h; NULL or "" if nothing was given */
};

/** @brief Adds one record of a journal to the book; a ::journal_reader, @p book is a struct grade_book. */
void grade_book_read(void *book, const struct journal_record *record);
/** @brief Adds @p result, in place of an earlier one for the same student, lesson and device. */
void grade_book_put(struct grade_book *book, const struct grade_result *result);
/** @brief The result, graded or not, or NULL. */
const struct grade_result *grade_book_find(const struct grade_book *book, const char *student,
                                           const char *lesson, enum device device);
/** @brief A graded result that depends on the same bytes and settings as @p key says, or NULL. */
const struct grade_result *grade_book_judged(const struct grade_book *book, const char *key);
/** @brief How many others handed in the very file of @p result for the same lesson. */
size_t grade_book_same(const struct grade_book *book, const struct grade_result *result);
/** @brief The journal's line for a class, and the one for a result. */
void grade_class_line(const struct grade_book *book, struct text *line);
void grade_result_line(const struct grade_result *result, struct text *line);
/** @brief The name of a setting's option without the hyphens; the journal's line for all settings, and how
 *         to read it (grade_settings.c). */
const char *grade_setting_name(enum grade_setting which);
void grade_settings_line(const struct grade_book *book, struct text *line);
void grade_settings_read(struct grade_book *book, const struct journal_record *record);
/** @brief Reads the line of a result; 0, or -1. */
int grade_result_parse(const char *line, struct grade_result *result);

/* ---- whose folders there are (grade_students.c) -------------------------------------------------------- */

/** @brief The names of the folders in @p folder, sorted; reports on stderr what is not a student's folder.
 *         @return EXIT_PASS, or EXIT_TROUBLE after a complaint */
int grade_collect(const char *folder, char ***students, size_t *count);
/** @brief A text that changes with what @p student has handed in for @p lesson, or for its debugging exercise of this number
 *         (0: none); "" if there is no file for the exercise. The caller frees it. */
char *grade_fingerprint(const char *folder, const char *student, const struct lesson_folder *lesson,
                        int exercise);
/** @brief The shard, from 1 to @p shards, of a student; it does not depend on the rest of the class. */
unsigned grade_shard_of(const char *student, unsigned shards);

/* ---- one unit of work (grade_unit.c) ------------------------------------------------------------------- */

/** @brief All that the units of a run have in common. */
struct grade_plan {
    const char *submissions;
    const char *out;
    char *seed_file;
    int speed;
    int jobs;
    int gpus;
    int lock; /**< descriptor of the lock that keeps other graders out */
    double lesson_seconds,
        /** time limits for one lesson on one device, and for all of a student's; 0: ten times what the
         *  solutions took, and a minute or ten at least */
        student_seconds;
    const struct grade_book *book; /**< the book, for these times */
};

/** @brief One lesson of one student on one device. */
struct grade_unit {
    const char *student; /**< "" for the course's own solution */
    const struct lesson_folder *lesson;
    int exercise; /**< the number of a debugging exercise of the lesson, or 0 for the lesson */
    enum device device;
    char key[65];
};

/** @brief What a result calls the unit's lesson: "02_tiled_attention", or "02_tiled_attention/hunt/07". The caller frees it. */
char *grade_unit_name(const struct grade_unit *unit);
/** @brief The number of the exercise that a result is of; 0: it is of a lesson. */
int grade_exercise_of(const struct grade_result *result);

/** @brief A hash of everything that the verdict on a unit depends on; @p fingerprint is that of the files
 *         handed in. */
void grade_key(const struct grade_unit *unit, const struct grade_book *book, const char *fingerprint,
               char key[65]);
/** @brief Grades one unit, in a process of its own whose stderr goes nowhere. */
void grade_unit_run(const struct grade_plan *plan, const struct grade_unit *unit,
                    struct grade_result *result);

/* ---- many of them (grade_schedule.c) ------------------------------------------------------------------- */

/** @brief Receives every result when it is complete, in the order of completion; a return value other than
 *         0 stops the run. */
typedef int (*grade_taker)(void *context, const struct grade_unit *unit, struct grade_result *result);

/**
 * @brief Runs @p units, as many at a time as @p plan says.
 * @return EXIT_PASS, EXIT_TROUBLE if the taker stopped it or it was interrupted
 */
int grade_schedule(const struct grade_plan *plan, const struct grade_unit *units, size_t count,
                   grade_taker taker, void *context);
/** @brief How many GPUs units may use at the same time. */
int grade_count_gpus(void);

/* ---- points (grade_score.c) ---------------------------------------------------------------------------- */

enum grade_group_kind { GRADE_CASES, GRADE_CLEAN, GRADE_SPEED };

/** @brief What a student earned in one group of cases of a lesson. */
struct grade_group {
    const char *name; /**< "basic", "edges", …, "clean", "speed" */
    enum grade_group_kind kind;
    double points, points_max;
    double withheld; /**< points withheld: neither given nor refused */
    size_t cases, failed;
    struct text note; /**< what there is to say about it, or empty */
};

enum { GRADE_GROUPS = 10 };

/** @brief What a student earned in a lesson. */
struct grade_score {
    enum state state; /**< state on the deciding device; NOT_GRADED if there is no verdict */
    /** result on the deciding device, the one with fewer points; or NULL */
    const struct grade_result *result;
    double points, points_max, withheld;
    size_t group_count;
    struct grade_group group[GRADE_GROUPS];
    /** the solution's cost over the student's, no case counting for more than ::GRADE_UNUSUAL_RATIO; NaN
     *  unless it is known at every case */
    double speed_ratio;
    int speed_unusual; /**< 1 if the ratio of some case is larger than that */
    enum device speed_device;
    double earned;        /**< points before late days and overrides */
    int decided;          /**< 1 if it is graded, or its points were set by hand */
    struct text adjusted; /**< the instructor's changes and comments, in words, or empty */
};

/** A person should look at a kernel that is so many times as good as the course's solution. */
#define GRADE_UNUSUAL_RATIO 2.0

/** @brief 1 if the solution took the same time before and after this measurement was made. */
int grade_is_steady(const struct grade_measure *measure);

/** @brief Points of @p student at @p lesson. Free it with grade_score_free(). */
void grade_score(const struct grade_book *book, const char *student, const struct grade_lesson *lesson,
                 struct grade_score *score);
void grade_score_free(struct grade_score *score);
/** @brief Why a lesson was not run, as every report says it; NULL if there is nothing to say. */
const char *grade_reason(const struct grade_score *score);

/* ---- reports ------------------------------------------------------------------------------------------- */

/** @brief One student's scores, in the order of the book's lessons. */
struct grade_sheet {
    const char *student;
    char *shown;  /**< the name as visible text */
    char *folder; /**< the name of the student's folder below students/ */
    double points, points_max, withheld, seconds;
    double earned;        /**< points before late days and overrides */
    double by_hand;       /**< added for no lesson alone */
    struct text adjusted; /**< why, or empty */
    int graded;           /**< 1 if every lesson is, or has points set by hand */
    struct grade_score *scores;
};

/** @brief Makes the sheet of each of the book's students. @return EXIT_PASS, or EXIT_TROUBLE after a complaint */
int grade_sheets_make(const struct grade_book *book, struct grade_sheet **sheets);
void grade_sheets_free(const struct grade_book *book, struct grade_sheet *sheets);
/** @brief All changes to a student's points, lesson by lesson, in one line; empty if there were none. */
void grade_put_adjustments(const struct grade_book *book, const struct grade_sheet *sheet, struct text *out);
/** @brief EXIT_PASS if the value of `--visibility` is one of Gradescope's, else EXIT_TROUBLE after a
 *         complaint (grade_gradescope.c). */
int grade_visibility_check(const struct grade_book *book);

/** @brief Writes all reports below @p out. @return EXIT_PASS, or EXIT_TROUBLE after a complaint */
int grade_reports(const struct grade_book *book, const struct grade_sheet *sheets, const char *out);

/** @brief The debugging exercises that were handed in, and each student's points for them; empty if there are none. */
void grade_hunts(const struct grade_book *book, struct text *out);
void grade_csv(const struct grade_book *book, const struct grade_sheet *sheets, struct text *out);
/** @brief Tables that Canvas and Moodle import (grade_export.c). */
void grade_canvas(const struct grade_book *book, const struct grade_sheet *sheets, struct text *out);
void grade_moodle(const struct grade_book *book, const struct grade_sheet *sheets, struct text *out);
void grade_gradescope(const struct grade_book *book, const struct grade_sheet *sheet, struct text *out);
void grade_junit(const struct grade_book *book, const struct grade_sheet *sheet, struct text *out);
void grade_student_report(const struct grade_book *book, const struct grade_sheet *sheet, struct text *out);
void grade_student_log(const struct grade_book *book, const struct grade_sheet *sheet, struct text *out);
void grade_summary(const struct grade_book *book, const struct grade_sheet *sheets, struct text *out);
/** @brief Of the summary: the spread of points, lesson by lesson; the cases that most failed, and the most common
 *         mistakes (grade_statistics.c). */
void grade_put_spread(const struct grade_book *book, const struct grade_sheet *sheets, struct text *out);
void grade_put_mistakes(const struct grade_book *book, const struct grade_sheet *sheets, struct text *out);

/** @brief A line for each row of `--times` that is about nobody of the class (grade_adjust.c). Of a part of a class,
 *         nothing is said. */
void grade_times_absent(const struct grade_book *book, struct text *out);

/** @brief The sentence that every report has about a class graded without the full isolation; else "". */
const char *grade_isolation_note(const struct grade_book *book);

/** @brief What is wrong with a case, in one line: headline, finding, pattern. */
void grade_put_row(const struct grade_row *row, struct text *out);

/** @brief The name of a group in reports: "edges", "real sizes", "clean of findings". */
const char *grade_group_title(const char *group);

/** @brief The group whose title is @p word, with "_" for blanks: "real_sizes"; NULL if there is none. */
const char *grade_group_of_title(const char *word);

/** @brief `warpwise grade` and `warpwise handout`. */
extern const struct command grade_command, handout_command;
