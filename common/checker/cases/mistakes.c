/**
 * @file mistakes.c
 * @brief From the number of a guess to the mistake with its size, and to the message.
 */
#include "mistakes.h"

#include <stdio.h>

const struct mistake_row *mistake_at(const struct mistake_row *rows, size_t count, int *index,
                                     struct mistake *mistake)
{
    for (const struct mistake_row *row = rows; row < rows + count; row++) {
        int sizes = 1;
        while (sizes < MISTAKE_SIZES && row->sizes[sizes] != 0) sizes++;
        if (*index < sizes) {
            *mistake = (struct mistake){row->number, row->sizes[*index], row->others[*index]};
            return row;
        }
        *index -= sizes;
    }
    return NULL;
}

void mistake_tell(const struct mistake_row *row, const struct mistake *mistake, char *message, size_t size)
{
    snprintf(message, size, row->message, mistake->size, mistake->size == 1 ? "" : "s");
}
