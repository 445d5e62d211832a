/**
 * @file mistakes.c
 * @brief From the number of a guess to the mistake with its size, and to the message.
 */
#include "mistakes.h"

#include <stdio.h>
#include <string.h>

const struct mistake_row *mistake_at(const struct mistake_row *rows, size_t count, int *index,
                                     struct mistake *mistake, struct lesson_guess *guess)
{
    for (const struct mistake_row *row = rows; row < rows + count; row++) {
        int sizes = 1, same = 0;
        while (sizes < MISTAKE_SIZES && row->sizes[sizes] != 0) sizes++;
        if (*index < sizes) {
            const int size = row->sizes[*index], names_size = strstr(row->message, "%d") != NULL;
            while (names_size && row->sizes[same] != size) same++;
            *mistake = (struct mistake){row->number, size, row->others[*index]};
            guess->told -= *index - same;
            guess->votes = 1;
            guess->cause = row->cause;
            snprintf(guess->words, sizeof guess->words, row->message, size, size == 1 ? "" : "s");
            return row;
        }
        *index -= sizes;
    }
    return NULL;
}
