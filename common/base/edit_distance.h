/**
 * @file edit_distance.h
 * @brief How many letters lie between two names: for "did you mean ...?".
 */
#pragma once

#include <limits.h>
#include <string.h>

enum { LONGEST_WORD = 64 };

/** @brief Insertions, deletions, replacements and swaps of neighbours that make @p b of @p a; INT_MAX for long words. */
static inline int count_edits(const char *a, const char *b)
{
    int a_length = (int)strlen(a), b_length = (int)strlen(b);
    if (a_length > LONGEST_WORD || b_length > LONGEST_WORD) return INT_MAX;
    int cost[LONGEST_WORD + 1][LONGEST_WORD + 1];
    for (int i = 0; i <= a_length; i++) cost[i][0] = i;
    for (int j = 0; j <= b_length; j++) cost[0][j] = j;
    for (int i = 1; i <= a_length; i++) {
        for (int j = 1; j <= b_length; j++) {
            int best = cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            if (cost[i - 1][j] + 1 < best) best = cost[i - 1][j] + 1;
            if (cost[i][j - 1] + 1 < best) best = cost[i][j - 1] + 1;
            int swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped && cost[i - 2][j - 2] + 1 < best) best = cost[i - 2][j - 2] + 1;
            cost[i][j] = best;
        }
    }
    return cost[a_length][b_length];
}
