/**
 * @file grade_adjust.h
 * @brief What the instructor adds to the points that were earned: late days, points set by hand, comments.
 *
 * The journal keeps the files and values that `warpwise grade` receives, word by word, until others are
 * given: so later reports, and reports on merged parts, say the same.
 *
 *     --overrides F    student,lesson,points,comment     "95": the points; "+5", "-10": that much more or less; "": a comment
 *     --deadlines F    lesson,deadline,penalty_percent[,most_percent][,student]    a row with a student: an extension
 *     --times F        student,time[,lesson]             when it was handed in; other columns by --time-column, --student-column
 *     --late-days N    so many days of each student cost nothing, those of the earliest deadlines first
 */
#pragma once

#include "grade.h"
#include "grade_table.h"

/** @brief The parsed tables of a class. */
struct grade_rules {
    struct grade_table overrides, deadlines, times;
    const char *time_column, *student_column;
    long late_days;
};

/** @brief Parses the tables that @p book keeps; complaints name the files by their options.
 *  @return EXIT_PASS, or EXIT_TROUBLE after a complaint about a row that cannot be understood */
int grade_rules_make(const struct grade_book *book, struct grade_rules *rules);
void grade_rules_free(struct grade_rules *rules);
/** @brief EXIT_PASS if each row names a lesson of the course and, if the class is complete, a student;
 *         else a complaint. */
int grade_rules_fit(const struct grade_book *book, const struct grade_rules *rules);
/** @brief Applies the tables to the points of the book's student number @p student, whose scores are complete. */
void grade_adjust(const struct grade_book *book, const struct grade_rules *rules, int student,
                  struct grade_sheet *sheet);

/** @brief Notes in each row which of the book's students the cell in @p column names (grade_names.c).
 *  @return EXIT_PASS, or EXIT_TROUBLE after a complaint about a cell that may be several */
int grade_names_resolve(const struct grade_book *book, const char *name, const char *column,
                        struct grade_table *table);
/** @brief The sentence about a student @p word who is not in the class, with the nearest name. */
void grade_names_absent(const struct grade_book *book, const char *word, struct text *out);

/** @brief Parses a time as people write it, to seconds since 1970; with @p day_is_enough a date alone
 *         means its end. 0, or -1. */
int grade_read_time(const char *text, int day_is_enough, long long *seconds);
/** @brief Days that have begun since @p deadline; 0 if the work was in time. */
long grade_days_between(long long deadline, long long handed_in);
