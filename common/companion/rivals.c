/**
 * @file rivals.c
 * @brief Compares kernels at one problem: a bar for each.
 */
#include "rivals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/layout.h"
#include "base/terminal.h"
#include "course/device.h"
#include "judging/results.h"

enum { RIVAL_NAME_WIDTH = 24, VALUE_WIDTH = 17, LEAST_BAR = 8, MOST_BAR = 48 };

/* Within a lesson a case is identified by its name. Across lessons the same shape is the same problem,
 * whatever the part is called ("attention", "f32"). */
static int is_same_problem(const struct result_row *a, const struct result_row *b)
{
    return strcmp(a->lesson, b->lesson) == 0 ? strcmp(a->test_case, b->test_case) == 0
                                             : strcmp(a->shape, b->shape) == 0;
}

void contest_add(struct contest *contest, const char *name, const struct result_row *row,
                 const struct results *results, enum device device)
{
    for (size_t i = 0; i < results->count && contest->count < MOST_RIVALS; i++) {
        const struct result_row *other = &results->rows[i];
        double value = device == DEVICE_GPU ? other->median_us : other->load_sectors + other->store_sectors;
        if (other->state != STATE_PASS || !(value > 0) || !is_same_problem(row, other)) continue;
        contest->rivals[contest->count++] = (struct rival){name, value};
        return;
    }
}

static void print_value(double value, enum device device)
{
    char number[32];
    if (device == DEVICE_SIMT) {
        printf("%*s sectors", VALUE_WIDTH - 8, grouped_number(number, value));
    } else if (value < 1000) {
        printf("%*.2f us", VALUE_WIDTH - 3, value);
    } else {
        printf("%*.3f ms", VALUE_WIDTH - 3, value / 1000);
    }
}

static void print_bar(const char *name, double value, double most, enum device device, enum colour colour)
{
    int width = layout_width() - RIVAL_NAME_WIDTH - VALUE_WIDTH - 5, narrow = width < LEAST_BAR;
    if (narrow) width = layout_width() - 4;
    if (width > MOST_BAR) width = MOST_BAR;
    char *bar = layout_bar(value / most, width);
    printf("  %-*.*s ", narrow ? 14 : RIVAL_NAME_WIDTH, narrow ? 14 : RIVAL_NAME_WIDTH, name);
    print_value(value, device);
    printf("%s%s%s%s\n", narrow ? "\n    " : " ", colour_on(colour), bar, colour_off());
    free(bar);
}

void contest_print(const struct contest *contest, enum device device)
{
    double most = contest->minimum;
    for (size_t i = 0; i < contest->count; i++)
        if (contest->rivals[i].value > most) most = contest->rivals[i].value;
    printf("\n%s%s%s  ", colour_on(COLOUR_BOLD), contest->test_case, colour_off());
    int used = (int)strlen(contest->test_case) + 2;
    layout_paragraph(contest->shape, used, 2);
    for (size_t i = 0; i < contest->count; i++) {
        const struct rival *rival = &contest->rivals[i];
        enum colour colour = strcmp(rival->name, "yours") == 0 ? COLOUR_GREEN : COLOUR_NONE;
        print_bar(rival->name, rival->value, most, device, colour);
    }
    if (contest->minimum > 0) print_bar("the least possible", contest->minimum, most, device, COLOUR_DIM);
}
