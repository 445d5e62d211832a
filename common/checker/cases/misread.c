/**
 * @file misread.c
 * @brief From the number of a guess to the map of an index, and to what is told of it.
 */
#include "misread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 8, FLIPPED = 64 /* added to what a bit is taken from */ };

static void keep_bits(struct index_map *map, int bits)
{
    *map = (struct index_map){.bits = bits};
    for (int b = 0; b < bits; b++) map->from[b] = (signed char)b;
}

/* The lowest three bits in every order, and every set of them flipped: eight things in any order that comes of counting. */
static int order_of_eight(int bits, int *index, struct index_map *map)
{
    static const signed char orders[6][3] = {{0, 1, 2}, {2, 0, 1}, {1, 2, 0},
                                             {1, 0, 2}, {2, 1, 0}, {0, 2, 1}};
    if (bits < 3 || *index >= 48) {
        *index -= bits < 3 ? 0 : 48;
        return 0;
    }
    for (int b = 0; b < 3; b++) map->from[b] = orders[*index / 8][b];
    map->flip = (unsigned)(*index % 8);
    return 1;
}

/* Neighbouring bits rotated, or two others exchanged: columns before rows, lanes before words. */
static int rotated(int bits, int *index, struct index_map *map)
{
    for (int length = 2; length <= bits; length++)
        for (int first = 0; first + length <= bits; first++)
            for (int by = 1; by < length; by++) {
                if ((*index)-- > 0) continue;
                for (int i = 0; i < length; i++)
                    map->from[first + i] = (signed char)(first + (i + by) % length);
                return 1;
            }
    for (int low = 0; low < bits; low++)
        for (int high = low + 2; high < bits; high++) {
            if ((*index)-- > 0) continue;
            map->from[low] = (signed char)high, map->from[high] = (signed char)low;
            return 1;
        }
    return 0;
}

/* A neighbour so far away, or in its stead the first or last one; higher bits lost, lower ones cleared; a bit flipped, or cleared. */
static int of_a_bit(int bits, int *index, struct index_map *map)
{
    enum { KINDS = 8 };
    const int bit = *index / KINDS, kind = *index % KINDS;
    if (bit >= bits) {
        *index -= KINDS * bits;
        return 0;
    }
    if (kind < 4) map->shift = kind % 2 == 0 ? 1 << bit : -(1 << bit), map->stops = kind / 2;
    for (int b = bit; b < bits && kind == 4; b++) map->from[b] = -1, map->loses = 1;
    for (int b = 0; b <= bit && kind == 5; b++) map->from[b] = -1;
    if (kind == 6) map->flip = 1U << bit;
    if (kind == 7) map->from[bit] = -1;
    return 1;
}

/* Some bits are read twice: one to three, at their own place and at another; the bit after the second place is kept, or 0. */
static int copied(int bits, int *index, struct index_map *map)
{
    enum { LONGEST = 3 };
    for (int length = 1; length <= LONGEST; length++)
        for (int from = 0; from + length <= bits; from++)
            for (int to = 0; to + length <= bits; to++)
                for (int cleared = 0; cleared < 2 && to != from; cleared++) {
                    if ((*index)-- > 0) continue;
                    for (int b = 0; b < length; b++) map->from[to + b] = (signed char)(from + b);
                    if (cleared && to + length < bits) map->from[to + length] = -1;
                    return 1;
                }
    return 0;
}

/* One of the lowest bits is a bit of the other index. */
static int of_other(int *index, struct index_map *map)
{
    enum { LOW = 3, BITS = 7 };
    if (*index >= LOW * BITS) {
        *index -= LOW * BITS;
        return 0;
    }
    map->from[*index / BITS] = (signed char)(MISREAD_BITS + *index % BITS);
    return 1;
}

static int map_at(const struct misread_row *row, int *index, struct index_map *map)
{
    keep_bits(map, row->bits);
    return of_a_bit(row->bits, index, map) || order_of_eight(row->bits, index, map) ||
           rotated(row->bits, index, map) || (row->fields != NULL && copied(row->bits, index, map)) ||
           (row->other != NULL && of_other(index, map));
}

/* Whether bit @p bit of an index stays what it is, and decides about no other one. */
static int stays(const struct index_map *map, int bit)
{
    if (bit >= map->bits || map->from[bit] != bit || map->flip >> bit & 1) return 0;
    for (int b = 0; b < map->bits; b++)
        if (b != bit && map->from[b] == bit) return 0;
    return 1;
}

/** What is told of a map. */
struct telling {
    enum { OF_NEIGHBOUR, OF_OTHER, OF_FIELDS, OF_INDICES } how;
    /* OF_NEIGHBOUR: how far; OF_OTHER: which bit, and of which; OF_FIELDS: what each bit is */
    int value[MISREAD_BITS];
    size_t index[2][SHOWN]; /* OF_INDICES: which, and those in place of them */
};

static int field_value(const struct index_map *map, int b)
{
    return map->flip >> b & 1 ? FLIPPED + map->from[b] : map->from[b];
}

/* Two maps of a row are one guess where this is the same of both. */
static struct telling telling_of(const struct misread *m)
{
    enum { MANY = 1 << MISREAD_BITS };
    const struct misread_row *row = m->row;
    struct telling t = {0};
    int bit = 0, low = 0;
    while (low + 1 < m->map.bits && m->map.from[low] < MISREAD_BITS) low++;
    if (m->map.shift != 0) {
        t.how = OF_NEIGHBOUR, t.value[0] = m->map.shift;
    } else if (row->other != NULL && m->map.from[low] >= MISREAD_BITS) {
        t.how = OF_OTHER, t.value[0] = low, t.value[1] = m->map.from[low] - MISREAD_BITS;
    } else if (row->fields != NULL && !m->map.loses) {
        t.how = OF_FIELDS;
        for (int b = 0; b < m->map.bits; b++) t.value[b] = field_value(&m->map, b);
    } else {
        t.how = OF_INDICES;
        while (stays(&m->map, bit)) bit++;
        for (size_t i = 0; i < SHOWN; i++) {
            t.index[0][i] = i << bit;
            t.index[1][i] = misread_index(m, row->operands, row->axis, i << bit, MANY);
        }
    }
    return t;
}

static int same_telling(const struct telling *a, const struct telling *b)
{
    return a->how == b->how && memcmp(a->value, b->value, sizeof a->value) == 0 &&
           memcmp(a->index, b->index, sizeof a->index) == 0;
}

/* "in place of g0 g1 g2 t0 t1 0 are taken": the fields' bits that are others. */
static size_t tell_fields(const struct misread *m, const struct telling *t, char *words, size_t size)
{
    const char *fields = m->row->fields;
    size_t used = (size_t)snprintf(words, size, "%s: in place of", m->row->what);
    for (int of = 0; of < 2; of++) {
        for (int b = 0; b < m->map.bits; b++) {
            const int from = of ? m->map.from[b] : b;
            if (t->value[b] == b) continue;
            used += (size_t)snprintf(words + used, size - used, of && t->value[b] != from ? " not " : " ");
            if (from < 0)
                used += (size_t)snprintf(words + used, size - used, "0");
            else
                used += (size_t)snprintf(words + used, size - used, "%c%d", fields[from],
                                         from - (int)(strchr(fields, fields[from]) - fields));
        }
        used += (size_t)snprintf(words + used, size - used, "%s", of ? " are taken" : " the bits");
    }
    return used;
}

/* "in place of columns 0 1 2 3 4 5 6 7 those of 1 0 3 2 5 4 7 6 are taken": in steps of the lowest bit that changes. */
static void tell(const struct misread *m, char *words, size_t size)
{
    const struct misread_row *row = m->row;
    const struct telling t = telling_of(m);
    size_t used;
    if (t.how == OF_NEIGHBOUR) {
        used = (size_t)snprintf(words, size, "%s: in place of %s i those of i %c %d are taken", row->what,
                                row->index, t.value[0] < 0 ? '-' : '+', abs(t.value[0]));
    } else if (t.how == OF_OTHER) {
        used = (size_t)snprintf(words, size,
                                "%s: whether they are of the first or second of %d %s goes by bit %d of %s",
                                row->what, 2 << t.value[0], row->index, t.value[1], row->other);
    } else if (t.how == OF_FIELDS) {
        used = tell_fields(m, &t, words, size);
    } else {
        used = (size_t)snprintf(words, size, "%s: in place of %s", row->what, row->index);
        for (int of = 0; of < 2; of++) {
            for (size_t i = 0; i < SHOWN; i++)
                used += (size_t)snprintf(words + used, size - used, " %zu", t.index[of][i]);
            used += (size_t)snprintf(words + used, size - used, "%s", of ? " are taken" : " those of");
        }
    }
    if (row->hint != NULL) snprintf(words + used, size - used, ": %s", row->hint);
}

/** The maps of a row, made when they are first asked for. */
struct maps {
    const struct misread_row *row;
    int count;
    struct {
        struct index_map map;
        int told; /* the first that says the same */
    } * of;
};

static void make_maps(struct maps *maps)
{
    struct misread m = {.row = maps->row};
    struct telling *telling;
    for (int index = maps->count; map_at(m.row, &index, &m.map); index = maps->count) maps->count++;
    maps->of = calloc((size_t)maps->count, sizeof *maps->of);
    telling = calloc((size_t)maps->count, sizeof *telling);
    if (maps->of == NULL || telling == NULL) abort();
    for (int i = 0; i < maps->count; i++) {
        int index = i, told = 0;
        (void)map_at(m.row, &index, &m.map);
        telling[i] = telling_of(&m);
        while (!same_telling(&telling[told], &telling[i])) told++;
        maps->of[i].map = m.map, maps->of[i].told = told;
    }
    free(telling);
}

static const struct maps *maps_of(const struct misread_row *row)
{
    enum { ROWS = 32 };
    static struct maps known[ROWS];
    struct maps *at = known;
    while (at->row != NULL && at->row != row && at + 1 < known + ROWS) at++;
    if (at->row == NULL) {
        at->row = row;
        make_maps(at);
    }
    if (at->row != row) abort();
    return at;
}

int misread_at(const struct misread_row *rows, size_t count, int *index, struct misread *misread,
               struct lesson_guess *guess)
{
    for (const struct misread_row *row = rows; row < rows + count; row++) {
        const struct maps *maps = maps_of(row);
        if (*index >= maps->count) {
            *index -= maps->count;
            continue;
        }
        *misread = (struct misread){row, maps->of[*index].map};
        guess->told -= *index - maps->of[*index].told;
        guess->cause = row->cause;
        guess->votes = guess->of_many = 1;
        tell(misread, guess->words, sizeof guess->words);
        return 1;
    }
    misread->row = NULL;
    return 0;
}
