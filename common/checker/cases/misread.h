/**
 * @file misread.h
 * @brief Operands that are read at other indices than they should be: the same mistakes of every lesson with products.
 *
 * A family says, in a table, which of its operands may be read wrongly together, and along what. Its one slow and plain computation
 * reads every operand at misread_index(). From the maps of an index, several hundred, follow the guesses: bits of the index that are
 * exchanged, rotated, flipped, cleared or copied, and neighbours taken for it.
 */
#pragma once

#include "lesson.h"

enum { MISREAD_BITS = 12 };

/** @brief What may be read wrongly. */
struct misread_row {
    unsigned operands; /**< a set of the family's own */
    int axis;          /**< along what, of the family's own */
    int bits;          /**< the lowest bits of the index that may be confused */
    /** a letter for each of these bits, and then one field may be taken for another; or NULL */
    const char *fields;
    enum record_cause cause;
    const char *what;  /**< "the scales" */
    const char *index; /**< "columns" */
    const char *hint;  /**< what to look at, or NULL */
    /** what else counts the operand, bits of which may be taken for the lowest of this index; or NULL */
    const char *other;
};

/** @brief A map of an index: bit b is bit from[b] of it, or from MISREAD_BITS on one of the other index, or 0, and flipped
 *         if `flip` has it. Higher bits stay, or are lost. */
struct index_map {
    signed char from[MISREAD_BITS];
    int bits, loses, shift,
        stops; /* higher bits are lost; so much is added; and not past the first or the last */
    unsigned flip;
};

/** @brief A mistake: of a row, or none at all where it is NULL. */
struct misread {
    const struct misread_row *row;
    struct index_map map;
};

/** @brief Guess @p index of the @p count rows at @p rows, in @p misread, and in @p guess what is told of it; 0 past the last one. Takes
 *         the guesses of these rows off @p index. */
int misread_at(const struct misread_row *rows, size_t count, int *index, struct misread *misread,
               struct lesson_guess *guess);

/** @brief Where operand @p operand is read in place of index @p at along @p axis, of @p extent; past that, nobody knows what is there. */
static inline size_t misread_beside(const struct misread *m, unsigned operand, int axis, size_t at,
                                    size_t extent, size_t other)
{
    if (m->row == NULL || !(m->row->operands & operand) || m->row->axis != axis) return at;
    const struct index_map *map = &m->map;
    if (map->shift != 0) {
        const int64_t end = (int64_t)extent, to = (int64_t)at + map->shift;
        if (map->stops) return (size_t)(to < 0 ? 0 : to < end ? to : end - 1);
        return (size_t)((to % end + end) % end);
    }
    size_t to = map->loses ? 0 : at >> map->bits << map->bits;
    for (int b = 0; b < map->bits; b++)
        if (map->from[b] >= MISREAD_BITS)
            to |= (other >> (map->from[b] - MISREAD_BITS) & 1) << b;
        else if (map->from[b] >= 0)
            to |= (at >> map->from[b] & 1) << b;
    return to ^ map->flip;
}

/** @brief The same of an operand that nothing else counts. */
static inline size_t misread_index(const struct misread *m, unsigned operand, int axis, size_t at,
                                   size_t extent)
{
    return misread_beside(m, operand, axis, at, extent, 0);
}
