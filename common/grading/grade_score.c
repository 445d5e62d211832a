/**
 * @file grade_score.c
 * @brief Points of one lesson of one student, from what the journal holds.
 *
 * - Cases: what the checker's rows say, group by group. Where a lesson was run on both devices, the one with
 *   fewer points decides.
 * - Clean: only the software device can tell. A part earns its share if at least a quarter of its points were
 *   earned and nothing was found in any of its cases.
 * - Speed: the solution's cost over the student's, at each of the cases that are measured, from nothing at
 *   `speed_none` to everything at `speed_full`. A wrong result earns nothing, and half where other values of its
 *   part are wrong; a measurement that cannot be relied on is withheld: neither given nor refused. So is a ratio
 *   above what the problem allows.
 * - Rank: the mean of the ratios, none of them taken for more than ::GRADE_UNUSUAL_RATIO, so that a few absurd ones
 *   do not lift it; and only where there is one of each case, so that nobody chooses the cases.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "course/device.h"
#include "grade.h"
#include "judging/results.h"

/* if the solution's times before and after differ by at most this share, the measurement between them
 * counts */
#define STEADY 0.10

/* ---- groups of cases ----------------------------------------------------------------------------------- */

static const struct {
    const char *name, *title;
} groups[] = {{"basic", "basic"},
              {"edges", "edges"},
              {"numerics", "numerics"},
              {"bad_input", "bad input"},
              {"properties", "properties"},
              {"speed", "real sizes"},
              {"clean", "clean of findings"},
              {"ratio", "speed"},
              {"other", "other"}};
enum { GROUPS_OF_CASES = 6, GROUP_NAMES = sizeof groups / sizeof groups[0] };

const char *grade_group_title(const char *group)
{
    for (size_t i = 0; i < GROUP_NAMES; i++) {
        if (strcmp(groups[i].name, group) == 0) return groups[i].title;
    }
    return group;
}

const char *grade_group_of_title(const char *word)
{
    for (size_t i = 0; i < GROUP_NAMES; i++) {
        size_t at = 0;
        const char *title = groups[i].title;
        while (title[at] && (title[at] == word[at] || (title[at] == ' ' && word[at] == '_'))) at++;
        if (!title[at] && !word[at]) return groups[i].name;
    }
    return NULL;
}

static struct grade_group *group_called(struct grade_score *score, const char *name)
{
    const char *known = groups[GROUP_NAMES - 1].name;
    for (size_t i = 0; i < GROUP_NAMES; i++) {
        if (strcmp(groups[i].name, name) == 0) known = groups[i].name;
    }
    for (size_t i = 0; i < score->group_count; i++) {
        if (strcmp(score->group[i].name, known) == 0) return &score->group[i];
    }
    struct grade_group *group = &score->group[score->group_count++];
    *group = (struct grade_group){.name = known};
    return group;
}

static double sum_of_points(const struct grade_result *result)
{
    double sum = 0;
    for (size_t i = 0; i < result->row_count; i++) {
        if (result->rows[i].points > 0) sum += result->rows[i].points;
    }
    return sum;
}

/* A case that passes counts half while some value of its part is wrong: the checker's points already say
 * so. */
static int counts_half(const struct grade_row *row)
{
    return row->state == STATE_PASS && row->points > 0 && row->points < 0.75 * row->points_max;
}

/* Adds a note once per part of a group, for row number @p index, the first of its rows. */
static void note_half(const struct grade_result *result, size_t index, struct text *note)
{
    const struct grade_row *row = &result->rows[index];
    for (size_t i = 0; i < index; i++) {
        const struct grade_row *before = &result->rows[i];
        if (counts_half(before) && strcmp(before->group, row->group) == 0 &&
            strcmp(before->part, row->part) == 0)
            return;
    }
    text_print(note, "%s%s: what passes counts half, since some values of this part are wrong",
               note->length ? "; " : "", row->part);
}

/* If a lesson was not run its rows are copied from the solution's, without points. */
static void add_cases(const struct grade_result *result, const struct grade_result *solution,
                      const struct grade_lesson *lesson, struct grade_score *score)
{
    const struct grade_result *rows = result->row_count > 0 ? result : solution;
    for (size_t known = 0; known < GROUPS_OF_CASES && rows != NULL; known++) { /* always in the same order */
        for (size_t i = 0; i < rows->row_count; i++) {
            if (strcmp(rows->rows[i].group, groups[known].name) == 0) group_called(score, groups[known].name);
        }
    }
    for (size_t i = 0; rows != NULL && i < rows->row_count; i++) {
        const struct grade_row *row = &rows->rows[i];
        struct grade_group *group = group_called(score, row->group);
        group->cases++;
        group->points_max += row->points_max > 0 ? row->points_max : 0;
        if (rows == result && row->points > 0) group->points += row->points;
        if (rows == result && counts_half(row)) note_half(result, i, &group->note);
        group->failed += rows != result || row->state != STATE_PASS;
    }
    if (score->group_count > 0) return;
    struct grade_group *group = group_called(score, "other");
    for (size_t i = 0; i < lesson->part_count; i++) group->points_max += lesson->part_points[i];
    group->failed = group->cases = 1;
}

/* ---- clean of findings --------------------------------------------------------------------------------- */

static int is_unclean(const struct grade_row *row)
{
    return row->finding != RECORD_NO_KIND || row->state == STATE_CRASH || row->state == STATE_TIMEOUT;
}

static double clean_share(const struct grade_lesson *lesson, const struct grade_result *result,
                          struct text *note)
{
    double earned = 0, all = 0;
    for (size_t part = 0; part < lesson->part_count; part++) {
        double points = 0, most = 0;
        const struct grade_row *unclean = NULL;
        for (size_t i = 0; i < result->row_count; i++) {
            const struct grade_row *row = &result->rows[i];
            if (strcmp(row->part, lesson->part[part]) != 0) continue;
            points += row->points > 0 ? row->points : 0;
            most += row->points_max > 0 ? row->points_max : 0;
            if (unclean == NULL && is_unclean(row)) unclean = row;
        }
        all += lesson->part_points[part];
        if (unclean != NULL) {
            text_print(note, "%s%s: %s", note->length ? "; " : "", unclean->test_case,
                       unclean->finding ? record_kind_name(unclean->finding) : state_name(unclean->state));
        } else if (most > 0 && points >= 0.25 * most) {
            earned += lesson->part_points[part];
        } else {
            text_print(note, "%s%s: less than a quarter of its points", note->length ? "; " : "",
                       lesson->part[part]);
        }
    }
    return all > 0 ? earned / all : 0;
}

static void add_clean(const struct grade_book *book, const struct grade_lesson *lesson,
                      const struct grade_result *on_simt, struct grade_score *score)
{
    if (!(lesson->clean_points > 0)) return;
    struct grade_group *group = group_called(score, "clean");
    group->kind = GRADE_CLEAN;
    group->points_max = lesson->clean_points;
    group->cases = 1;
    if (!book->devices[DEVICE_SIMT]) {
        group->withheld = lesson->clean_points;
        text_print(&group->note, "only the software device looks for races and bad addresses, and it was "
                                 "not asked");
        return;
    }
    if (on_simt != NULL && on_simt->row_count == 0) text_print(&group->note, "it was not run");
    if (on_simt != NULL && on_simt->row_count == 0) on_simt = NULL;
    group->points = lesson->clean_points * (on_simt != NULL ? clean_share(lesson, on_simt, &group->note) : 0);
    group->failed = group->points < group->points_max;
}

/* ---- speed --------------------------------------------------------------------------------------------- */

int grade_is_steady(const struct grade_measure *measure)
{
    double least = measure->before_us < measure->after_us ? measure->before_us : measure->after_us;
    return least > 0 && fabs(measure->before_us - measure->after_us) <= STEADY * least;
}

/* The solution's cost over the student's at one case; NaN and the reason if it is not reliable. */
static double ratio_of(enum device device, const struct grade_measure *solution,
                       const struct grade_measure *student, const char **why)
{
    *why = NULL;
    if (device == DEVICE_GPU) {
        double best = student->before_us < student->after_us ? student->before_us : student->after_us;
        if (*student->refused) {
            *why = student->refused;
        } else if (!(student->time_us > 0) || !(best > 0)) {
            *why = "there is no time";
        } else if (!grade_is_steady(student)) {
            *why = "the solution, measured before and after it, took different times: the device was not "
                   "quiet";
        }
        return *why != NULL ? NAN : best / student->time_us;
    }
    int limited = solution->sectors * SECTOR_BYTES >= solution->min_bytes;
    if (!(student->sectors > 0) || !(solution->sectors > 0)) {
        *why = "there are no counters";
    } else if (limited && student->sectors * SECTOR_BYTES < student->min_bytes) {
        *why = "fewer sectors were counted than the data have";
    } else if (!limited && solution->sectors > GRADE_UNUSUAL_RATIO * student->sectors) {
        *why = "nothing says how few sectors there may be, and these are less than half of the solution's";
    }
    return *why != NULL ? NAN : solution->sectors / student->sectors;
}

/* The ratio with which a case counts in the ranking, and whether a person should look at it. */
static double ranked_ratio(double ratio, int *unusual)
{
    *unusual |= ratio > GRADE_UNUSUAL_RATIO;
    return fmin(ratio, GRADE_UNUSUAL_RATIO);
}

static double share_of(const struct grade_lesson *lesson, double ratio)
{
    double share = (ratio - lesson->speed_none) / (lesson->speed_full - lesson->speed_none);
    if (!(lesson->speed_full > lesson->speed_none)) share = ratio >= lesson->speed_full;
    return share < 0 ? 0 : share > 1 ? 1 : share;
}

static const struct grade_row *row_of(const struct grade_result *result, const char *test_case)
{
    for (size_t i = 0; i < result->row_count; i++)
        if (strcmp(result->rows[i].test_case, test_case) == 0) return &result->rows[i];
    return NULL;
}

static void add_measures(const struct grade_lesson *lesson, const struct grade_result *result,
                         const struct grade_result *solution, struct grade_group *group,
                         struct grade_score *score)
{
    double worth = lesson->speed_points / (double)solution->measure_count, ratios = 0;
    size_t known = 0;
    for (size_t i = 0; i < solution->measure_count; i++) {
        const struct grade_measure *theirs = &solution->measures[i];
        const struct grade_measure *own = grade_measure_of(result, theirs->test_case);
        const char *why = "it was not measured", *between = group->note.length ? "; " : "";
        const struct grade_row *row = row_of(result, theirs->test_case);
        group->cases++;
        if (row == NULL || row->state != STATE_PASS || (own != NULL && own->state != STATE_PASS)) {
            group->failed++;
            continue;
        }
        double ratio = own != NULL ? ratio_of(result->device, theirs, own, &why) : NAN;
        if (isnan(ratio)) {
            group->withheld += worth;
            text_print(&group->note, "%s%s: %s", between, theirs->test_case, why);
            continue;
        }
        /* A kernel that is wrong elsewhere may be fast for that reason: it gets no ratio for the ranking. */
        int half = counts_half(row);
        double share = share_of(lesson, ratio) * (half ? 0.5 : 1.0);
        group->points += worth * share;
        group->failed += share < 1;
        if (!half) ratios += ranked_ratio(ratio, &score->speed_unusual);
        known += !half;
        text_print(&group->note, "%s%s: %.2f of the solution's speed%s%s", between, theirs->test_case, ratio,
                   ratio > GRADE_UNUSUAL_RATIO ? ", which is unusual" : "",
                   half ? ", which counts half, since some values of this part are wrong" : "");
    }
    if (known > 0 && known == solution->measure_count) score->speed_ratio = ratios / (double)known;
}

static void add_speed(const struct grade_book *book, const struct grade_lesson *lesson,
                      const struct grade_result *result, const struct grade_result *solution,
                      struct grade_score *score)
{
    if (!(lesson->speed_points > 0)) return;
    struct grade_group *group = group_called(score, "ratio");
    const char *why = !book->speed                   ? "speed was not measured (--no-speed)"
                      : solution == NULL             ? "there is no solution here to measure beside"
                      : solution->measure_count == 0 ? "this lesson has no case that can be measured"
                                                     : NULL;
    group->kind = GRADE_SPEED;
    group->points_max = lesson->speed_points;
    score->speed_device = result->device;
    int right = 0;
    for (size_t i = 0; i < result->row_count; i++) {
        right = right || (strcmp(result->rows[i].group, "speed") == 0 && result->rows[i].state == STATE_PASS);
    }
    if (!right) { /* without right results there is no speed, and nothing to withhold */
        group->cases = group->failed = 1;
        text_print(&group->note, result->row_count ? "nothing is right at the real sizes" : "it was not run");
    } else if (why != NULL) {
        group->cases = 1;
        group->withheld = lesson->speed_points;
        text_print(&group->note, "%s", why);
    } else {
        add_measures(lesson, result, solution, group, score);
    }
}

/* ---- a lesson ------------------------------------------------------------------------------------------ */

/* 1 if @p result is a valid verdict: the course's own solution must have passed on that device. */
static int stands(const struct grade_book *book, const struct grade_result *result)
{
    const struct grade_result *solution =
        result != NULL ? grade_book_find(book, "", result->lesson, result->device) : NULL;
    if (result == NULL || !result->graded) return 0;
    return solution == NULL || solution->state == STATE_PASS;
}

static void total(struct grade_score *score)
{
    for (size_t i = 0; i < score->group_count; i++) {
        score->points += score->group[i].points;
        score->points_max += score->group[i].points_max;
        score->withheld += score->group[i].withheld;
    }
}

/* The verdict with fewer points; if both have as many, one that is not a pass. */
static int decides(const struct grade_result *one, const struct grade_result *other)
{
    double points = sum_of_points(one), others = sum_of_points(other);
    if (points != others) return points < others;
    return one->state != STATE_PASS && other->state == STATE_PASS;
}

void grade_score(const struct grade_book *book, const char *student, const struct grade_lesson *lesson,
                 struct grade_score *score)
{
    const struct grade_result *result[DEVICE_COUNT] = {NULL}, *worse = NULL, *speed = NULL, *missing = NULL;
    *score = (struct grade_score){.state = STATE_NOT_GRADED, .speed_ratio = NAN};
    int complete = 1;
    for (int device = 0; device < DEVICE_COUNT; device++) {
        if (!book->devices[device]) continue;
        result[device] = grade_book_find(book, student, lesson->name, (enum device)device);
        if (!stands(book, result[device])) {
            complete = 0;
            missing = result[device];
            continue;
        }
        if (worse == NULL || decides(result[device], worse)) worse = result[device];
        speed = result[device]; /* the GPU, which comes last, if there is one */
    }
    for (size_t i = 0; i < lesson->part_count; i++) score->points_max += lesson->part_points[i];
    if (!complete || worse == NULL) {
        score->result = missing;
        score->points_max += lesson->clean_points + lesson->speed_points;
        return;
    }
    score->points_max = 0;
    score->decided = 1;
    score->state = worse->state;
    score->result = worse;
    add_cases(worse, grade_book_find(book, "", lesson->name, worse->device), lesson, score);
    add_clean(book, lesson, result[DEVICE_SIMT], score);
    add_speed(book, lesson, speed, grade_book_find(book, "", lesson->name, speed->device), score);
    total(score);
}

const char *grade_reason(const struct grade_score *score)
{
    const struct grade_result *result = score->result;
    if (result == NULL || !*result->sentence || score->state == STATE_NOT_GRADED) return NULL;
    return score->state != STATE_NOT_STARTED || result->elsewhere ? result->sentence : NULL;
}

void grade_score_free(struct grade_score *score)
{
    text_free(&score->adjusted);
    for (size_t i = 0; i < score->group_count; i++) text_free(&score->group[i].note);
}
