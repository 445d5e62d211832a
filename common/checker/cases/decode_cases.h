/**
 * @file decode_cases.h
 * @brief Inputs, oracle and bounds of attention over a contiguous cache with a position: what
 *        checker/lessons/11_vectorised_decode.c makes its cases of.
 *
 * Rows of the cache past the last key that is seen, and the elements between the end of a row and the next,
 * are filled with NaN or large numbers, which show in the result if a kernel uses them.
 */
#pragma once

#include "decode_rows.h"
#include "protocol/decode_items.h"

/* lesson_case.extent, after the first seven: the position that counts, and the storage type of elements. */
enum { EX_POSITION = 7, EX_STORED_AS, EX_GIVEN, EX_FAULT, EX_STATUS };

/** @brief Faults of the positions on the device. */
enum position_fault {
    POSITIONS_SOUND,
    POSITION_NEGATIVE, /* of the last sequence */
    POSITION_ONE_TOO_FAR,
    POSITION_HUGE,  /* of the first sequence */
    POSITION_LOWEST /* of one in the middle */
};

/** @brief The position of the first query of sequence @p b, without faults: on the device every sequence
 *         has its own. */
int decode_position(const struct lesson_case *item, int b);

/** @brief Keys that the first query of sequence @p b sees: later ones see more. */
int decode_seen(const struct lesson_case *item, int b);

/** @brief 1 if the position of sequence @p b is out of range. */
int decode_is_faulty(const struct lesson_case *item, int b);

/** @brief The position of sequence @p b that the device memory holds, faults included. */
double decode_told_position(const struct lesson_case *item, int b);

/** @brief The result that decode_choose_variant() should return for @p item. */
int decode_expected_choice(const struct lesson_case *item);

/** @brief The variant that @p item runs, ::DECODE_AUTO resolved. */
int decode_variant_of(const struct lesson_case *item);

/** @brief How elements of q, caches and out are stored. */
enum storage decode_storage(const struct lesson_case *item);

/** @brief The callbacks of struct lesson of the same names. */
int decode_buffers(const struct lesson_case *item, struct lesson_buffer *buffers);
void decode_fill(const struct lesson_case *item, int index, size_t elems, struct rng *rng, float *data);
size_t decode_units(const struct lesson_case *item);
size_t decode_unit_elems(const struct lesson_case *item);
void decode_expect(const struct lesson_case *item, const float *const *data, size_t unit,
                   struct lesson_expectation *expectation);
void decode_cost(const struct lesson_case *item, struct lesson_cost *cost);
size_t decode_contract_workspace(const struct lesson_case *item);
int decode_guess(const struct lesson_case *item, const float *const *data, int index, int buffer, size_t at,
                 struct lesson_guess *guess);
int decode_not_finite(const struct lesson_case *item, const float *const *data, int buffer, size_t at,
                      unsigned *holding, char *words, size_t size);
