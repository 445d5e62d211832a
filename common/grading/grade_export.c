/**
 * @file grade_export.c
 * @brief The grades as Canvas and Moodle import them.
 *
 * canvas.csv has the columns that Canvas' gradebook wants, in their order: Student, ID, SIS User ID, SIS Login ID,
 * Section, then a column for each assignment and, as second row, the points that are possible. Canvas looks a student
 * up by the first of the three identifiers that is there: the folder's name is taken for the login.
 *
 * moodle.csv has the folder's name as username, and for each lesson the points and a feedback; which column is which
 * grade item, Moodle asks at the import. What is not graded is empty in both, which changes nothing there.
 */
#include "base/escape.h"
#include "base/text.h"
#include "grade.h"

static void put_points(const struct grade_score *score, struct text *out)
{
    text_print(out, ",");
    if (score->decided) text_print(out, "%.2f", score->points);
}

/* 1 if somebody has points of no lesson alone: they are a column of their own. */
static int has_points_by_hand(const struct grade_book *book, const struct grade_sheet *sheets)
{
    for (size_t s = 0; s < book->student_count; s++)
        if (sheets[s].by_hand != 0) return 1;
    return 0;
}

void grade_canvas(const struct grade_book *book, const struct grade_sheet *sheets, struct text *out)
{
    int by_hand = has_points_by_hand(book, sheets);
    text_print(out, "Student,ID,SIS User ID,SIS Login ID,Section");
    for (size_t i = 0; i < book->lesson_count; i++) text_print(out, ",Warpwise %s", book->lessons[i].name);
    text_print(out, "%s\n    Points Possible,,,,", by_hand ? ",Warpwise by hand" : "");
    for (size_t i = 0; i < book->lesson_count; i++) {
        double most = book->student_count ? sheets[0].scores[i].points_max : 0;
        text_print(out, ",%.2f", most);
    }
    text_print(out, "%s\n", by_hand ? ",0.00" : "");
    for (size_t s = 0; s < book->student_count; s++) {
        put_csv(out, sheets[s].student);
        text_print(out, ",,,");
        put_csv(out, sheets[s].student);
        text_print(out, ",");
        for (size_t i = 0; i < book->lesson_count; i++) put_points(&sheets[s].scores[i], out);
        if (by_hand) text_print(out, ",%.2f", sheets[s].by_hand);
        text_print(out, "\n");
    }
}

/* What a student reads beside the points: why the lesson was not run, and what was changed. */
static void put_feedback(const struct grade_score *score, struct text *out)
{
    struct text feedback = {0};
    const char *reason = grade_reason(score);
    text_print(&feedback, "%s", state_name(score->state));
    if (reason != NULL) text_print(&feedback, ": %s", reason);
    if (score->adjusted.length) text_print(&feedback, "; %s", score->adjusted.data);
    text_print(out, ",");
    put_csv(out, feedback.data);
    text_free(&feedback);
}

void grade_moodle(const struct grade_book *book, const struct grade_sheet *sheets, struct text *out)
{
    int by_hand = has_points_by_hand(book, sheets);
    text_print(out, "username");
    for (size_t i = 0; i < book->lesson_count; i++)
        text_print(out, ",%s,%s feedback", book->lessons[i].name, book->lessons[i].name);
    text_print(out, "%s\n", by_hand ? ",by hand,by hand feedback" : "");
    for (size_t s = 0; s < book->student_count; s++) {
        put_csv(out, sheets[s].student);
        for (size_t i = 0; i < book->lesson_count; i++) {
            put_points(&sheets[s].scores[i], out);
            put_feedback(&sheets[s].scores[i], out);
        }
        if (by_hand) {
            text_print(out, ",%.2f,", sheets[s].by_hand);
            put_csv(out, sheets[s].adjusted.length ? sheets[s].adjusted.data : "");
        }
        text_print(out, "\n");
    }
}
