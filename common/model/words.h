/**
 * @file words.h
 * @brief How a text is split into words before their bytes are merged, by patterns with a name.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/** @brief The patterns. They differ in contractions, in what may stand before letters, and in how many digits are a word. */
enum word_pattern { WORDS_UNKNOWN, WORDS_GPT2, WORDS_QWEN, WORDS_LLAMA3 };

/** @brief The pattern that is written as this regular expression in a tokenizer's file. */
enum word_pattern word_pattern_named(const char *expression);

/** @brief Bytes of the first word of @p text, at least one. */
size_t word_length(enum word_pattern pattern, const char *text, size_t length);

/** @brief Bytes of the first character of @p text, at least one, and its code point; a byte that begins no valid UTF-8 is a
 *         character of its own, UINT32_MAX. */
size_t next_character(const char *text, size_t length, uint32_t *character);
