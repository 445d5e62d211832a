/**
 * @file paged_cases.h
 * @brief Inputs, oracle and bounds of decode attention over a paged cache: what checker/lessons/06_paged_attention.c
 *        makes its cases of.
 *
 * Data belong to tokens, not to places: token t of sequence b has the same key and value wherever its page
 * lies. Elements of no token (unused pages and the rest of last pages) hold NaN or large numbers, which show
 * in the result if a kernel uses them.
 */
#pragma once

#include "decode_rows.h"
#include "protocol/paged_items.h"
#include "lesson.h"

/* lesson_case.extent, after the first eight. */
enum { EX_LENGTHS = 8, EX_PAGES, EX_BREAK, EX_STATUS };

/** @brief How long the sequences are. */
enum lengths { FULL, MIXED, AROUND_PAGES, AROUND_PARTITIONS, ALL_EMPTY, SOME_EMPTY };
/** @brief Where pages lie. */
enum pages { SHUFFLED, IN_ORDER, SHARED_PREFIX, SHUFFLED_AGAIN, REVERSED, FIRST_TWICE };
/** @brief Faults of the table or the lengths. */
enum fault {
    SOUND,
    ENTRY_NEGATIVE,
    ENTRY_ONE_TOO_HIGH,
    ENTRY_HUGE,
    LAST_ENTRY_LOWEST,
    ENTRY_IN_THE_MIDDLE,
    ENTRY_ANYWHERE,
    LENGTH_NEGATIVE,
    LENGTH_TOO_LONG,
    LENGTH_HUGE,   /* of the first sequence */
    LENGTH_LOWEST, /* of one in the middle */
    LENGTH_ANYWHERE,
    FAULTS
};
enum { SPARE_PAGES = 3, PARTITION_LEAST = 64 };

/** @brief Where everything lies: every user computes it again from the item's seed. */
struct paged_plan {
    int *length; /**< [batch], the right lengths */
    int *table;  /**< [batch, max_blocks], the right table; -1 in unused entries */
};

/** @brief Fills @p plan; free it with the function below. Returns the number of table entries. */
int paged_plan_make(const struct lesson_case *item, struct paged_plan *plan);
void paged_plan_drop(struct paged_plan *plan);

/** @brief Pages that @p length tokens take. */
int paged_pages_of(const struct lesson_case *item, int length);

/** @brief The callbacks of struct lesson of the same names. */
int paged_buffers(const struct lesson_case *item, struct lesson_buffer *buffers);
void paged_fill(const struct lesson_case *item, int index, size_t elems, struct rng *rng, float *data);
size_t paged_units(const struct lesson_case *item);
size_t paged_unit_elems(const struct lesson_case *item);
void paged_expect(const struct lesson_case *item, const float *const *data, size_t unit,
                  struct lesson_expectation *expectation);
int paged_holds(const struct lesson_case *item, const float *const *got, const struct lesson_case *before,
                const float *const *got_before, char *reason, size_t size);
void paged_cost(const struct lesson_case *item, struct lesson_cost *cost);
int paged_guess(const struct lesson_case *item, const float *const *data, int index, int buffer, size_t at,
                struct lesson_guess *guess);
int paged_not_finite(const struct lesson_case *item, const float *const *data, int buffer, size_t at,
                     unsigned *holding, char *words, size_t size);
