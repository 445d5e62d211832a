/**
 * @file dump.c
 * @brief `--dump`: small buffers element by element, each result above the expected value, then inputs.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "compare.h"
#include "record/words.h"

enum { SHOWN_ROWS = 12, SHOWN_COLUMNS = 8 };

/* The oracle's answer for every element of a buffer; NULL if it has none. */
struct answers {
    double *expected[WIRE_BUFFERS], *bound[WIRE_BUFFERS];
};

static void print_row(const struct lesson_buffer *buffer, const float *got, const double *expected,
                      const double *bound, size_t row, size_t columns)
{
    char name[96];
    struct record first = {0};
    size_t used = buffer->row > 0 ? buffer->row : columns;
    size_t shown = used < SHOWN_COLUMNS ? used : SHOWN_COLUMNS;
    compare_place(buffer, row * columns, &first);
    record_print_element(&first, name, sizeof name);
    printf("    %-20s", name);
    for (size_t c = 0; c < shown; c++) printf(" %11.5g", (double)got[row * columns + c]);
    printf(used > shown ? "  ...\n" : "\n");
    if (expected == NULL) return;
    printf("    %-20s", "  expected");
    for (size_t c = 0; c < shown; c++) printf(" %11.5g", expected[row * columns + c]);
    putchar('\n');
    int wrong = 0;
    for (size_t c = 0; c < used; c++) {
        size_t at = row * columns + c;
        wrong += !compare_element((double)got[at], expected[at], bound[at]);
    }
    if (wrong > 0) printf("    %-20s %d of %zu wrong in this row\n", "", wrong, columns);
}

static void print_buffer(const struct lesson_buffer *buffer, const float *got, const double *expected,
                         const double *bound)
{
    size_t columns = buffer->extent[buffer->rank - 1], elems = lesson_elems(buffer);
    if (elems == 0) return;
    size_t rows = (elems + columns - 1) / columns;
    static const char *const roles[] = {"input", "output", "in and out", "workspace after the call"};
    printf("  %s (%s, %zu rows of %zu, %s)\n", buffer->name, roles[buffer->role], rows,
           buffer->row > 0 ? buffer->row : columns, storage_name(buffer->storage));
    for (size_t row = 0; row < rows && row < SHOWN_ROWS; row++)
        print_row(buffer, got, expected, bound, row, columns);
    if (rows > SHOWN_ROWS) printf("    ... and %zu more rows\n", rows - SHOWN_ROWS);
}

static void keep_span(const struct judged *judged, struct answers *answers, const struct lesson_span *span)
{
    int b = span->buffer;
    size_t all = lesson_elems(&judged->item->buffer[b]);
    if (answers->expected[b] == NULL) {
        answers->expected[b] = calloc(all, sizeof(double));
        answers->bound[b] = calloc(all, sizeof(double));
    }
    if (answers->expected[b] == NULL || answers->bound[b] == NULL) return;
    memcpy(answers->expected[b] + span->first, span->expected, span->count * sizeof(double));
    memcpy(answers->bound[b] + span->first, span->bound, span->count * sizeof(double));
}

static void ask_oracle(const struct judged *judged, struct answers *answers)
{
    const struct lesson *lesson = judged->session->check->options.lesson;
    const struct lesson_case *settled = &judged->item->settled;
    struct lesson_expectation e = {.shared = compare_prepare(judged)};
    double *memory = compare_expectation(&e, lesson->unit_elems(settled));
    for (size_t unit = 0; memory != NULL && unit < lesson->units(settled); unit++) {
        lesson->expect(settled, judged->inputs, unit, &e);
        for (int s = 0; s < e.span_count; s++) keep_span(judged, answers, &e.span[s]);
        if (lesson->intermediate != NULL &&
            lesson->intermediate(settled, judged->inputs, unit, e.scratch, &e.span[0]))
            keep_span(judged, answers, &e.span[0]);
    }
    free(e.shared);
    free(e.kept);
    free(memory);
}

void dump_item(struct session *session, int index)
{
    struct judged judged;
    struct answers answers = {0};
    const struct item *item = &session->item[index];
    if (item->end != ITEM_ANSWERED || item->settled.expected != KERNEL_OK ||
        judged_open(&judged, session, index) != 0)
        return;
    char shape[160];
    session->check->options.lesson->describe(&item->settled, shape, sizeof shape);
    printf("dump of case %s: %s\n", item->settled.name, shape);
    ask_oracle(&judged, &answers);
    for (int i = 0; i < 2 * item->buffer_count; i++) { // results that the oracle gives come first
        const int b = i % item->buffer_count, compared = answers.expected[b] != NULL;
        enum wire_role role = item->buffer[b].role;
        if (item->settled.null_buffer == b || compared != (i < item->buffer_count)) continue;
        if (!compared && role != WIRE_IN && role != WIRE_WORKSPACE) continue; // of another part
        const float *got = role == WIRE_IN          ? judged.inputs[b]
                           : role == WIRE_WORKSPACE ? session_copy(session, index, b, 0)
                                                    : judged.got[0][b];
        print_buffer(&item->buffer[b], got, answers.expected[b], answers.bound[b]);
    }
    for (int b = 0; b < WIRE_BUFFERS; b++) {
        free(answers.expected[b]);
        free(answers.bound[b]);
    }
    judged_close(&judged);
}
