/**
 * @file tokenizer.h
 * @brief Byte-level byte-pair encoding, from a `tokenizer.json` as Hugging Face's tokenizers write it.
 *
 * A text is cut at the added tokens, the rest into words by one of the patterns that such models use
 * (GPT-2's, Qwen's, Llama 3's), and the bytes of a word are merged pair by pair, the pair of the lowest rank
 * first. Files of another form are refused, never approximated. One thing is left to the caller: Qwen's file
 * asks for Unicode's normal form C, and the text must be in that form already, as text from keyboards and
 * editors is.
 */
#pragma once

#include "base/text.h"
#include "json.h"

/** @brief An open tokenizer; tokenizer_close() releases it. */
struct tokenizer;

/** @brief Reads @p path; NULL after writing what is wrong to @p error. */
struct tokenizer *tokenizer_open(const char *path, char error[MODEL_ERROR]);
/** @brief Releases it; NULL is left alone. */
void tokenizer_close(struct tokenizer *tokenizer);

/** @brief One more than the largest number of a token. */
int tokenizer_size(const struct tokenizer *tokenizer);
/** @brief Converts @p text, any bytes, to tokens; returns their number. The caller frees @p tokens. */
size_t tokenizer_encode(const struct tokenizer *tokenizer, const char *text, size_t length, int **tokens);
/** @brief Appends the bytes of @p token, or nothing if there is no such token. They may be part of a
 *         character. */
void tokenizer_decode(const struct tokenizer *tokenizer, int token, struct text *text);
