/**
 * @file code_values.h
 * @brief Values of registers, by name: a sum of a constant and of multiples of what has a name, modulo 2^64. Two values of the same name and
 *        constant are equal, whatever they are.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum value_kind {
    ANYTHING, /**< no name */
    NUMBER,   /**< at */
    FRAME, /**< of: CALLERS, where the caller's frame ends, above the return address; or where the stack was aligned */
    THREAD,       /**< fs:0, where the thread's variables end */
    THREAD_LOCAL, /**< of: the name of a variable; its distance from fs:0 */
    SYMBOL,       /**< of: a name; its address */
    GIVEN,        /**< of: a register, as the caller left it */
    DEFINED, /**< of: named() an instruction, when it ran last: what it gave a register, or what a register held */
    JOINED, /**< of: named() the first instruction of a block: what a register held when the block began last */
    SUM     /**< of: the number of a list of terms */
};

enum { CALLERS = -1, MOST_TERMS = 6, NAMES_OF_ONE = 64, HELD = 32 /* beyond the registers */ };

struct value {
    enum value_kind kind;
    int of;
    int64_t at; /**< bytes from there */
};

/** @brief Lists of terms; each list is there once. */
struct values {
    struct terms *list;
    size_t count, capacity;
    int *bucket;
    size_t buckets;
};

static inline int named(size_t at, int which)
{
    return (int)at * NAMES_OF_ONE + which;
}

static inline struct value moved(struct value value, int64_t by)
{
    value.at = (int64_t)((uint64_t)value.at + (uint64_t)by);
    return value;
}

static inline int same_name(struct value a, struct value b)
{
    return a.kind == b.kind && a.of == b.of;
}

static inline int same_value(struct value a, struct value b)
{
    return a.kind == b.kind && (a.kind == ANYTHING || (a.of == b.of && a.at == b.at));
}

/** @brief a + times * b. */
struct value values_sum(struct values *all, struct value a, struct value b, int64_t times);

/** @brief Whether @p value mentions a name of this kind that instruction @p at gave, its number a bit of @p which. */
int values_mention(const struct values *all, struct value value, enum value_kind kind, size_t at,
                   uint64_t which);
void values_free(struct values *all);
