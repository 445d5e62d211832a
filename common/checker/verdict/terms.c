/**
 * @file terms.c
 * @brief Solves for how many times every piece of k counts in the wrong elements.
 *
 * An element is sum_c x_c S_c, where S_c is the sum of its terms of piece c, and every x_c should be 1. Wrong elements give one equation
 * each; their least squares give x. If all x are whole numbers, and explain every equation within its bound, they are what the kernel
 * does. The last term is a piece of its own, the others are of 8 or as many terms as there are equations for.
 */
#include "terms.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIECES = 96, EQUATIONS = 4 * PIECES, SPARE = 3, LEAST_PIECE = 8 };

struct system {
    const struct lesson *lesson;
    const struct judged *judged;
    int buffer;
    const char *what;
    size_t count, piece, pieces, equations;
    double *row; /* [equations, pieces + 1]: sums of pieces, and what came out, in bounds */
    double normal[PIECES][PIECES + 1]; /* and the right side */
    int times[PIECES];                 /* what is found */
};

static size_t begin_of(const struct system *s, size_t piece)
{
    if (piece >= s->pieces) return s->count;
    return piece + 1 == s->pieces && s->pieces > 1 ? s->count - 1 : piece * s->piece;
}

static int sum_of(const struct system *s, size_t at, size_t from, size_t to, struct lesson_terms *terms)
{
    *terms = (struct lesson_terms){0};
    return s->lesson->terms(&s->judged->item->settled, s->judged->inputs, s->buffer, at, from, to, terms);
}

/* A row of the system; 0 if the element is no sum of terms. */
static int add_equation(struct system *s, const struct wrong *wrong)
{
    double *row = s->row + s->equations * (s->pieces + 1);
    struct lesson_terms terms;
    if (!isfinite(wrong->got) || !isfinite(wrong->expected)) return 1;
    if (!sum_of(s, wrong->at, 0, 0, &terms)) return 0;
    const double weight = 1.0 / (wrong->bound + 1e-30 + 1e-6 * (fabs(wrong->expected) + fabs(wrong->got)));
    row[s->pieces] = (wrong->got - terms.sum) * weight;
    for (size_t c = 0; c < s->pieces; c++) {
        if (!sum_of(s, wrong->at, begin_of(s, c), begin_of(s, c + 1), &terms)) return 0;
        row[c] = terms.sum * weight;
    }
    s->equations++;
    return 1;
}

/* Gauss, with the largest of a column first; 0 if the wrong elements do not tell pieces apart. */
static int solve(struct system *s)
{
    const size_t n = s->pieces;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= n; j++) {
            s->normal[i][j] = 0.0;
            for (size_t e = 0; e < s->equations; e++)
                s->normal[i][j] += s->row[e * (n + 1) + i] * s->row[e * (n + 1) + j];
        }
    for (size_t i = 0; i < n; i++) {
        size_t best = i;
        for (size_t k = i + 1; k < n; k++)
            if (fabs(s->normal[k][i]) > fabs(s->normal[best][i])) best = k;
        for (size_t j = 0; j <= n; j++) {
            const double other = s->normal[i][j];
            s->normal[i][j] = s->normal[best][j], s->normal[best][j] = other;
        }
        if (!(fabs(s->normal[i][i]) > 0.0)) return 0;
        for (size_t k = 0; k < n; k++) {
            const double factor = s->normal[k][i] / s->normal[i][i];
            for (size_t j = i; j <= n && k != i; j++) s->normal[k][j] -= factor * s->normal[i][j];
        }
    }
    for (size_t i = 0; i < n; i++) {
        const double x = s->normal[i][n] / s->normal[i][i];
        if (!(fabs(x - round(x)) < 0.1) || fabs(x) > 99.0) return 0;
        s->times[i] = (int)round(x);
    }
    return 1;
}

static int fits_all(const struct system *s)
{
    const double slack = 4.0;
    int unlike = 0;
    for (size_t c = 1; c < s->pieces; c++) unlike |= s->times[c] != s->times[0];
    for (size_t e = 0; e < s->equations && unlike; e++) {
        const double *row = s->row + e * (s->pieces + 1);
        double sum = 0.0;
        for (size_t c = 0; c < s->pieces; c++) sum += s->times[c] * row[c];
        if (!(fabs(sum - row[s->pieces]) <= slack + 1e-2 * fabs(sum))) return 0;
    }
    return unlike;
}

/* The number of pieces after which the counts begin anew; 0 if they never do. */
static size_t period_of(const struct system *s)
{
    for (size_t period = 2; 2 * period < s->pieces; period++) {
        size_t c = period;
        while (c + 1 < s->pieces && s->times[c] == s->times[c - period]) c++;
        if (c + 1 >= s->pieces && s->times[c] == s->times[(s->count - 1) / s->piece % period]) return period;
    }
    return 0;
}

/* What usually leads to such counts. */
static const char *usual_cause(const struct system *s, size_t period)
{
    size_t from = s->pieces, again = 0;
    if (strcmp(s->what, "k") != 0) return "";
    while (from > 0 && s->times[from - 1] == 0) from--;
    for (size_t c = 0; c < s->pieces; c++) again += s->times[c] > 1 || (c < from && s->times[c] == 0);
    if (period > 0) return ": a stage's, a warp's or a split's share of k";
    if (again > 0) return ": is a K tile left out, or the same stage multiplied again?";
    return 2 * begin_of(s, from) < s->count ? ": only the first K tile counts"
                                            : ": the last K tile, or its tail";
}

static void tell(const struct system *s, char *words, size_t size)
{
    enum { RUNS = 6 };
    const size_t period = period_of(s), end = period > 0 ? period : s->pieces;
    size_t used = (size_t)snprintf(words, size, "of %s%zu terms along %s ", period > 0 ? "every " : "",
                                   period > 0 ? period * s->piece : s->count, s->what);
    int runs = 0;
    for (size_t c = 0, next; c < end && runs < RUNS; c = next) {
        for (next = c + 1; next < end && s->times[next] == s->times[c];) next++;
        if (s->times[c] == 1) continue;
        const size_t from = begin_of(s, c), last = (period > 0 ? next * s->piece : begin_of(s, next)) - 1;
        used += (size_t)snprintf(words + used, size - used, "%s%zu", runs++ > 0 ? ", " : "", from);
        if (last > from) used += (size_t)snprintf(words + used, size - used, " to %zu", last);
        if (s->times[c] == 0)
            used += (size_t)snprintf(words + used, size - used, last > from ? " are missing" : " is missing");
        else
            used += (size_t)snprintf(words + used, size - used, " count%s %d times", last > from ? "" : "s",
                                     s->times[c]);
    }
    snprintf(words + used, size - used, "%s", usual_cause(s, period));
}

int terms_explain(const struct judged *judged, int buffer, const struct wrong *wrong, size_t kept,
                  struct record *record)
{
    struct system *s = calloc(1, sizeof *s);
    struct lesson_terms terms;
    int known = 0;
    if (s == NULL) return 0;
    *s =
        (struct system){.lesson = judged->session->check->options.lesson, .judged = judged, .buffer = buffer};
    if (s->lesson->terms != NULL && kept > SPARE + 1 && sum_of(s, wrong[0].at, 0, 0, &terms) &&
        terms.count > 1) {
        const size_t most = kept - SPARE < PIECES ? kept - SPARE : PIECES;
        s->count = terms.count, s->what = terms.what;
        s->piece = s->count <= LEAST_PIECE * 4 ? 1 : LEAST_PIECE;
        while ((s->count - 1 + s->piece - 1) / s->piece + 1 > most) s->piece *= 2;
        s->pieces = (s->count - 1 + s->piece - 1) / s->piece + 1;
        s->row = calloc(EQUATIONS * (s->pieces + 1), sizeof *s->row);
        known = s->row != NULL;
        const size_t step = kept > EQUATIONS ? kept / EQUATIONS + 1 : 1;
        for (size_t i = 0; i < kept && known; i += step) known = add_equation(s, &wrong[i]);
        known = known && s->equations >= s->pieces + SPARE && solve(s) && fits_all(s);
    }
    if (known) {
        record->cause = RECORD_CAUSE_TERMS;
        tell(s, record->note, sizeof record->note);
    }
    free(s->row);
    free(s);
    return known;
}
