/**
 * @file storage.h
 * @brief How elements lie in device memory, and the exact way there and back.
 *
 * The checker computes with float throughout: inputs are made as floats and rounded to their storage type
 * before anybody sees them, so that oracle and kernel work on the same numbers; outputs are converted back to
 * floats, which can hold every storage type. Conversions do not depend on the host's instructions.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/** @brief Storage type of a buffer's elements. */
enum storage {
    STORAGE_F32,
    STORAGE_F16,  /**< IEEE 754 binary16 */
    STORAGE_I32,  /**< integers: exact up to 2^24; values beyond the range become its ends */
    STORAGE_BF16, /**< the upper half of an f32 */
    STORAGE_S8    /**< integers from -128 to 127; values beyond the range become its ends */
};

/** @brief "f32", as a report calls it. */
const char *storage_name(enum storage storage);

/** @brief Bytes of one element. */
size_t storage_bytes(enum storage storage);

/** @brief The half nearest to @p value, ties to even; beyond 65520 infinity; a NaN stays one. */
uint16_t storage_half_of(float value);

/** @brief The bfloat16 nearest to @p value, ties to even; a NaN stays one. */
uint16_t storage_bfloat16_of(float value);

/** @brief The value of @p half; exact. */
float storage_of_half(uint16_t half);

/** @brief The value with the same bits in the other 16-bit type: @p value is stored as one of the two
 *         types and read as the other. */
float storage_as_other(enum storage storage, float value);

/** @brief Element @p at of memory at @p data, exact in every storage type. */
double storage_exact(enum storage storage, const void *data, size_t at);

/** @brief Element @p at of memory at @p data, as a float. */
float storage_get(enum storage storage, const void *data, size_t at);

/** @brief Stores @p value, rounded, as element @p at of memory at @p data. */
void storage_put(enum storage storage, void *data, size_t at, float value);

/** @brief @p value after it has been stored as that type and read again. */
float storage_round(enum storage storage, float value);

/** @brief Stores @p count values at @p data; each becomes what storage_round() says. */
void storage_put_all(enum storage storage, void *data, float *values, size_t count);

/** @brief Reads @p count values at @p data. */
void storage_get_all(enum storage storage, const void *data, float *values, size_t count);

/** @brief The bits of element @p at of memory at @p data. */
uint32_t storage_bits(enum storage storage, const void *data, size_t at);

/**
 * @brief The word that fills memory before run @p run, so that elements which a kernel never writes show.
 *
 * For run 0 every element is a NaN, for run 1 a large finite number: code that reads what it should write is
 * caught by one of them, even if it takes maxima. Neighbours in one word differ. @p secret cannot be foreseen.
 */
uint32_t storage_poison(enum storage storage, int run, uint64_t secret);

/** @brief The bits of element @p at in memory filled with @p poison. */
uint32_t storage_poison_bits(enum storage storage, uint32_t poison, size_t at);
