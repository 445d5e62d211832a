/**
 * @file grade_statistics.c
 * @brief Of summary.html: how points are spread, lesson by lesson; which cases most fail, and which mistakes most make.
 *
 * A mistake is known by the numbers of its record (finding, cause, guess), never by its words.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/text.h"
#include "grade.h"

enum { MISTAKES_TOLD = 15, STATISTICS_CASES_TOLD = 5 };

/* ---- the spread of points ------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    const double *one = a, *other = b;
    return (*one > *other) - (*one < *other);
}

/* The value below which @p share of the sorted values lie, on the line between its two neighbours. */
static double quantile(const double *values, size_t count, double share)
{
    double at = share * (double)(count - 1);
    size_t below = (size_t)at;
    if (below + 1 >= count) return values[count - 1];
    return values[below] + (at - (double)below) * (values[below + 1] - values[below]);
}

static void put_quartiles(double *values, size_t count, double most, struct text *out)
{
    double sum = 0;
    if (count == 0) {
        text_print(out, "<td>–</td><td>–</td><td>–</td><td>–</td><td class=\"n\">%.1f</td>", most);
        return;
    }
    qsort(values, count, sizeof *values, by_value);
    for (size_t i = 0; i < count; i++) sum += values[i];
    for (int quarter = 1; quarter <= 3; quarter++)
        text_print(out, "<td class=\"n\">%.1f</td>", quantile(values, count, 0.25 * quarter));
    text_print(out, "<td class=\"n\">%.1f</td><td class=\"n\">%.1f</td>", sum / (double)count, most);
}

static void put_lesson_spread(const struct grade_book *book, const struct grade_sheet *sheets, size_t lesson,
                              double *values, struct text *out)
{
    size_t decided = 0, begun = 0, passed = 0;
    double most = 0;
    for (size_t s = 0; s < book->student_count; s++) {
        const struct grade_score *score = &sheets[s].scores[lesson];
        most = fmax(most, score->points_max);
        if (!score->decided) continue;
        values[decided++] = score->points;
        begun += score->state != STATE_NOT_STARTED;
        passed += score->state == STATE_PASS;
    }
    text_print(out,
               "<tr><th scope=\"row\">%s</th><td class=\"n\">%zu</td><td class=\"n\">%zu</td><td "
               "class=\"n\">%zu</td>",
               book->lessons[lesson].name, decided, begun, passed);
    put_quartiles(values, decided, most, out);
    text_print(out, "</tr>\n");
}

void grade_put_spread(const struct grade_book *book, const struct grade_sheet *sheets, struct text *out)
{
    double *values = must_allocate((book->student_count + 1) * sizeof *values);
    size_t graded = 0, begun = 0, passed = 0;
    double most = 0;
    text_print(
        out,
        "<h2 id=\"spread\">Lesson by lesson</h2>\n<div class=\"wide\"><table>\n<caption>Points as they "
        "count; half of the students lie between the quarters, and who has handed in nothing counts with "
        "no points</caption>\n<thead><tr><th scope=\"col\">lesson</th><th scope=\"col\">graded</th><th "
        "scope=\"col\">begun</th><th scope=\"col\">passed</th><th scope=\"col\">lower quarter</th><th "
        "scope=\"col\">median</th><th scope=\"col\">upper quarter</th><th scope=\"col\">mean</th><th "
        "scope=\"col\">of</th></tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < book->lesson_count; i++) put_lesson_spread(book, sheets, i, values, out);
    for (size_t s = 0; s < book->student_count; s++) {
        size_t started = 0, right = 0;
        for (size_t i = 0; i < book->lesson_count; i++) {
            started += sheets[s].scores[i].state != STATE_NOT_STARTED;
            right += sheets[s].scores[i].state == STATE_PASS;
        }
        most = fmax(most, sheets[s].points_max);
        if (!sheets[s].graded) continue;
        values[graded++] = sheets[s].points;
        begun += started > 0;
        passed += right == book->lesson_count;
    }
    text_print(out,
               "<tr><th scope=\"row\">together</th><td class=\"n\">%zu</td><td class=\"n\">%zu</td><td "
               "class=\"n\">%zu</td>",
               graded, begun, passed);
    put_quartiles(values, graded, most, out);
    text_print(out, "</tr>\n</tbody></table></div>\n");
    free(values);
}

/* ---- mistakes ------------------------------------------------------------------------------------------ */

/** What identifies the mistake in a failed case: the device's finding; else its usual cause; else the
 *  state. */
struct known_by {
    enum record_kind finding;
    enum record_cause cause;
    int guess;
    enum state state;
};

struct mistake {
    struct known_by by;
    char *shown;
    const char *lesson;
    const char *test_case; /* "" for the whole lesson */
    size_t students;
    const char *last; /* the last student who made it */
};

struct mistakes {
    struct mistake *list;
    size_t count, capacity;
};

static struct known_by row_is_known_by(const struct grade_row *row)
{
    if (row->finding) return (struct known_by){.finding = row->finding};
    if (row->cause) return (struct known_by){.cause = row->cause, .guess = row->guess};
    return (struct known_by){.state = row->state};
}

static int is_same(const struct known_by *one, const struct known_by *other)
{
    return one->finding == other->finding && one->cause == other->cause && one->guess == other->guess &&
           one->state == other->state;
}

static const char *words_of(const struct grade_row *row)
{
    return row->finding               ? record_kind_name(row->finding)
           : *row->pattern            ? row->pattern
           : row->state == STATE_FAIL ? "wrong, in no way that has a name"
                                      : state_name(row->state);
}

static void note_mistake(struct mistakes *mistakes, const char *lesson, const char *test_case,
                         const char *student, struct known_by by, const char *shown)
{
    struct mistake *found = NULL;
    for (size_t i = 0; i < mistakes->count && found == NULL; i++) {
        struct mistake *mistake = &mistakes->list[i];
        if (mistake->lesson == lesson && is_same(&mistake->by, &by) &&
            strcmp(mistake->test_case, test_case) == 0)
            found = mistake;
    }
    if (found == NULL) {
        if (mistakes->count == mistakes->capacity) {
            mistakes->capacity = 2 * mistakes->capacity + 64;
            struct mistake *more = must_allocate(mistakes->capacity * sizeof *more);
            if (mistakes->count) memcpy(more, mistakes->list, mistakes->count * sizeof *more);
            free(mistakes->list);
            mistakes->list = more;
        }
        found = &mistakes->list[mistakes->count++];
        *found =
            (struct mistake){.by = by, .shown = copy_string(shown), .lesson = lesson, .test_case = test_case};
    }
    if (found->last != NULL && strcmp(found->last, student) == 0) return;
    found->last = student;
    found->students++;
}

static int by_students(const void *a, const void *b)
{
    const struct mistake *one = a, *other = b;
    if (one->students != other->students) return one->students > other->students ? -1 : 1;
    int order = strcmp(one->lesson, other->lesson);
    return order ? order : strcmp(one->shown, other->shown);
}

/* Each kind of mistake counts once per student and lesson, however many cases show it. */
static void collect(const struct grade_book *book, const struct grade_sheet *sheets,
                    struct mistakes *of_lessons, struct mistakes *of_cases)
{
    for (size_t s = 0; s < book->student_count; s++) {
        for (size_t i = 0; i < book->lesson_count; i++) {
            const struct grade_score *score = &sheets[s].scores[i];
            const char *lesson = book->lessons[i].name;
            if (score->result == NULL || score->state == STATE_NOT_GRADED) continue;
            if (score->result->row_count == 0 && score->state != STATE_NOT_STARTED)
                note_mistake(of_lessons, lesson, "", sheets[s].student,
                             (struct known_by){.state = score->state}, state_name(score->state));
            for (size_t r = 0; r < score->result->row_count; r++) {
                const struct grade_row *row = &score->result->rows[r];
                if (row->state == STATE_PASS || row->state == STATE_NOT_STARTED) continue;
                note_mistake(of_cases, lesson, row->test_case, sheets[s].student, row_is_known_by(row),
                             words_of(row));
                if (row->finding == RECORD_SEEN_BEFORE) continue; /* told by an earlier case */
                note_mistake(of_lessons, lesson, "", sheets[s].student, row_is_known_by(row), words_of(row));
            }
        }
    }
}

static void forget(struct mistakes *mistakes)
{
    for (size_t i = 0; i < mistakes->count; i++) free(mistakes->list[i].shown);
    free(mistakes->list);
}

/** A case, with all who fail it, and what most of them show. */
struct failing {
    const char *lesson, *test_case, *shown;
    size_t students, most;
};

static int by_failures(const void *a, const void *b)
{
    const struct failing *one = a, *other = b;
    int order = strcmp(one->lesson, other->lesson);
    if (order) return order;
    if (one->students != other->students) return one->students > other->students ? -1 : 1;
    return strcmp(one->test_case, other->test_case);
}

/* A student fails a case in one way: so those who fail it are the sum over all ways. */
static size_t sum_cases(const struct mistakes *cases, struct failing *failing)
{
    size_t count = 0;
    for (size_t i = 0; i < cases->count; i++) {
        const struct mistake *way = &cases->list[i];
        size_t at = 0;
        while (at < count &&
               (failing[at].lesson != way->lesson || strcmp(failing[at].test_case, way->test_case) != 0))
            at++;
        if (at == count)
            failing[count++] = (struct failing){.lesson = way->lesson, .test_case = way->test_case};
        failing[at].students += way->students;
        if (way->students <= failing[at].most) continue; /* of equally many, the first: the order is fixed */
        failing[at].most = way->students;
        failing[at].shown = way->shown;
    }
    return count;
}

static void put_cases(const struct mistakes *cases, struct text *out)
{
    struct failing *failing = must_allocate((cases->count + 1) * sizeof *failing);
    size_t count = sum_cases(cases, failing), told = 0;
    if (count) qsort(failing, count, sizeof *failing, by_failures);
    if (count)
        text_print(
            out,
            "<h2 id=\"cases\">Cases that most fail</h2>\n<div class=\"wide\"><table>\n<caption>The first "
            "%d of each lesson, with what most of these students show</caption>\n<thead><tr><th "
            "scope=\"col\">lesson</th><th scope=\"col\">case</th><th scope=\"col\">students</th><th "
            "scope=\"col\">most common mistake</th></tr></thead>\n<tbody>\n",
            STATISTICS_CASES_TOLD);
    for (size_t i = 0; i < count; i++) {
        told = i && failing[i].lesson == failing[i - 1].lesson ? told + 1 : 0;
        if (told >= STATISTICS_CASES_TOLD) continue;
        text_print(out, "<tr><th scope=\"row\">%s</th><td>", failing[i].lesson);
        put_xml(out, failing[i].test_case);
        text_print(out, "</td><td class=\"n\">%zu</td><td>", failing[i].students);
        put_xml(out, failing[i].shown);
        text_print(out, " (%zu)</td></tr>\n", failing[i].most);
    }
    if (count) text_print(out, "</tbody></table></div>\n");
    free(failing);
}

static void put_common(struct mistakes *mistakes, struct text *out)
{
    text_print(out, "<h2 id=\"mistakes\">Most common mistakes</h2>\n");
    if (mistakes->count == 0) {
        text_print(out, "<p>None was seen.</p>\n");
        return;
    }
    qsort(mistakes->list, mistakes->count, sizeof *mistakes->list, by_students);
    text_print(out,
               "<div class=\"wide\"><table>\n<caption>As diagnosed from the wrong values; each counts once a "
               "student</caption>\n<thead><tr><th scope=\"col\">students</th><th scope=\"col\">lesson</th>"
               "<th scope=\"col\">what it looks like</th></tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < mistakes->count && i < MISTAKES_TOLD; i++) {
        text_print(out, "<tr><td class=\"n\">%zu</td><th scope=\"row\">%s</th><td>",
                   mistakes->list[i].students, mistakes->list[i].lesson);
        put_xml(out, mistakes->list[i].shown);
        text_print(out, "</td></tr>\n");
    }
    text_print(out, "</tbody></table></div>\n");
}

void grade_put_mistakes(const struct grade_book *book, const struct grade_sheet *sheets, struct text *out)
{
    struct mistakes of_lessons = {0}, of_cases = {0};
    collect(book, sheets, &of_lessons, &of_cases);
    put_common(&of_lessons, out);
    put_cases(&of_cases, out);
    forget(&of_lessons);
    forget(&of_cases);
}
