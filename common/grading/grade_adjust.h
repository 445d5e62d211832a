/**
 * @file grade_adjust.h
 * @brief What the instructor adds to the points that were earned: late days, points set by hand, comments.
 *
 * Files and values that `warpwise grade` is given are kept in the journal word by word, until others are given: reports made
 * later, or from merged parts, say the same.
 *
 *     --overrides F    student,lesson,points,comment     "95": the points; "+5", "-10": that much more or less; "": a comment
 *     --deadlines F    lesson,deadline,penalty_percent[,most_percent][,student]    a row with a student: an extension
 *     --times F        student,time[,lesson]             when it was handed in; other columns by --time-column, --student-column
 *     --late-days N    so many days of each student cost nothing, those of the earliest deadlines first
 */
#pragma once

#include "grade.h"
#include "grade_table.h"

/** @brief The tables of a class, taken apart. */
struct grade_rules {
    struct grade_table overrides, deadlines, times;
    const char *time_column, *student_column;
    long late_days;
};

/** @brief Reads what @p book keeps; complaints call the files by their options.
 *  @return EXIT_PASS, or EXIT_TROUBLE after a complaint about a row that cannot be understood */
int grade_rules_make(const struct grade_book *book, struct grade_rules *rules);
void grade_rules_free(struct grade_rules *rules);
/** @brief EXIT_PASS if each row names a lesson of the course and, in a class that is all here, a student; else a complaint. */
int grade_rules_fit(const struct grade_book *book, const struct grade_rules *rules);
/** @brief Applies them to the points of one student, whose scores are all there. */
void grade_adjust(const struct grade_book *book, const struct grade_rules *rules, struct grade_sheet *sheet);

/** @brief Seconds since 1970 of a time as people write it; @p day_is_enough: a date alone is its end. 0, or -1. */
int grade_read_time(const char *text, int day_is_enough, long long *seconds);
/** @brief Days begun since @p deadline; 0 if it was in time. */
long grade_days_between(long long deadline, long long handed_in);
