/**
 * @file code_values.c
 * @brief Sums of named values.
 */
#include "code_values.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

struct term {
    enum value_kind kind;
    int of;
    int64_t times;
};

struct terms {
    int count;
    uint64_t hash;
    uint64_t instructions; /* a bit for each that a term is named after, modulo 64 */
    struct term term[MOST_TERMS];
};

static int is_after(struct term a, struct term b)
{
    return a.kind != b.kind ? a.kind > b.kind : a.of > b.of;
}

/* 0 if there are too many. */
static int add_term(struct terms *to, struct term term)
{
    int at = to->count;
    while (at > 0 && is_after(to->term[at - 1], term)) at--;
    struct term *same = at > 0 ? &to->term[at - 1] : NULL;
    if (same != NULL && same->kind == term.kind && same->of == term.of) {
        same->times = (int64_t)((uint64_t)same->times + (uint64_t)term.times);
        if (same->times != 0) return 1;
        to->count--;
        memmove(same, same + 1, (size_t)(to->count - (at - 1)) * sizeof *same);
        return 1;
    }
    if (to->count == MOST_TERMS) return 0;
    memmove(&to->term[at + 1], &to->term[at], (size_t)(to->count - at) * sizeof term);
    to->term[at] = term;
    to->count++;
    return 1;
}

static int add_value(const struct values *all, struct terms *to, struct value value, int64_t times)
{
    if (value.kind == ANYTHING) return 0;
    if (value.kind == NUMBER) return 1;
    if (value.kind != SUM) return add_term(to, (struct term){value.kind, value.of, times});
    const struct terms *from = &all->list[value.of];
    for (int i = 0; i < from->count; i++) {
        struct term term = from->term[i];
        term.times = (int64_t)((uint64_t)term.times * (uint64_t)times);
        if (term.times != 0 && !add_term(to, term)) return 0;
    }
    return 1;
}

static uint64_t hash_of(const struct terms *terms)
{
    uint64_t hash = (uint64_t)terms->count;
    for (int i = 0; i < terms->count; i++) {
        const struct term *term = &terms->term[i];
        hash = (hash ^ (uint64_t)term->of << 8 ^ (uint64_t)term->kind) * UINT64_C(0x9e3779b97f4a7c15);
        hash = (hash ^ hash >> 29 ^ (uint64_t)term->times) * UINT64_C(0xbf58476d1ce4e5b9);
    }
    return hash ^ hash >> 32;
}

static size_t bucket_of_terms(const struct values *all, const struct terms *terms)
{
    size_t at = terms->hash & (all->buckets - 1);
    for (; all->bucket[at] >= 0; at = (at + 1) & (all->buckets - 1)) {
        const struct terms *there = &all->list[all->bucket[at]];
        int same = there->hash == terms->hash && there->count == terms->count;
        for (int i = 0; i < terms->count && same; i++)
            same = there->term[i].kind == terms->term[i].kind && there->term[i].of == terms->term[i].of &&
                   there->term[i].times == terms->term[i].times;
        if (same) break;
    }
    return at;
}

static int number_of(struct values *all, struct terms *terms)
{
    if (2 * all->count >= all->buckets) {
        all->buckets = all->buckets ? 2 * all->buckets : 1024;
        free(all->bucket);
        all->bucket = must_allocate(all->buckets * sizeof *all->bucket);
        for (size_t i = 0; i < all->buckets; i++) all->bucket[i] = -1;
        for (size_t i = 0; i < all->count; i++) all->bucket[bucket_of_terms(all, &all->list[i])] = (int)i;
    }
    terms->hash = hash_of(terms);
    const size_t at = bucket_of_terms(all, terms);
    if (all->bucket[at] >= 0) return all->bucket[at];
    if (all->count == all->capacity) {
        all->capacity = all->capacity ? 2 * all->capacity : 512;
        struct terms *more = must_allocate(all->capacity * sizeof *more);
        if (all->count) memcpy(more, all->list, all->count * sizeof *more);
        free(all->list);
        all->list = more;
    }
    struct terms *made = &all->list[all->count];
    *made = *terms;
    made->instructions = 0;
    for (int i = 0; i < terms->count; i++) {
        const struct term *term = &terms->term[i];
        if (term->kind == DEFINED || term->kind == JOINED)
            made->instructions |= UINT64_C(1) << term->of / NAMES_OF_ONE % 64;
        if (term->kind == FRAME && term->of >= 0) made->instructions |= UINT64_C(1) << term->of % 64;
    }
    return all->bucket[at] = (int)all->count++;
}

struct value values_sum(struct values *all, struct value a, struct value b, int64_t times)
{
    struct terms terms = {0};
    struct value sum = {NUMBER, 0, (int64_t)((uint64_t)a.at + (uint64_t)b.at * (uint64_t)times)};
    if (a.kind == ANYTHING || b.kind == ANYTHING) return (struct value){ANYTHING, 0, 0};
    if (b.kind == NUMBER) return (struct value){a.kind, a.of, sum.at};
    if (!add_value(all, &terms, a, 1) || !add_value(all, &terms, b, times))
        return (struct value){ANYTHING, 0, 0};
    if (terms.count == 0) return sum;
    if (terms.count == 1 && terms.term[0].times == 1)
        return (struct value){terms.term[0].kind, terms.term[0].of, sum.at};
    return (struct value){SUM, number_of(all, &terms), sum.at};
}

static int is_named(enum value_kind has, int of, enum value_kind kind, size_t at, uint64_t which)
{
    if (has != kind) return 0;
    if (kind == FRAME) return of == (int)at;
    return of / NAMES_OF_ONE == (int)at && which >> of % NAMES_OF_ONE & 1;
}

int values_mention(const struct values *all, struct value value, enum value_kind kind, size_t at,
                   uint64_t which)
{
    if (value.kind != SUM) return is_named(value.kind, value.of, kind, at, which);
    const struct terms *terms = &all->list[value.of];
    if (!(terms->instructions >> at % 64 & 1)) return 0;
    for (int i = 0; i < terms->count; i++)
        if (is_named(terms->term[i].kind, terms->term[i].of, kind, at, which)) return 1;
    return 0;
}

void values_free(struct values *all)
{
    free(all->list);
    free(all->bucket);
}
