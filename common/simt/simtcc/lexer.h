/**
 * @file lexer.h
 * @brief Cuts C++ into tokens: as coarse as simtcc's rewriter allows, with the same boundaries as the
 *        compiler's.
 *
 * Comments, strings and preprocessor lines are each skipped as a whole, so that nothing inside them is taken
 * for code; the body of a `#define` is code, between two marks.
 */
#pragma once

#include <stddef.h>

enum token_kind {
    TOKEN_WORD, /**< identifier or keyword */
    TOKEN_NUMBER,
    TOKEN_LITERAL,     /**< string or character */
    TOKEN_PUNCTUATION, /**< one character, or `::` `->` `<<<` `>>>` */
    TOKEN_DIRECTIVE,   /**< a preprocessor line other than `#define`, continuations included */
    TOKEN_DEFINE,      /**< `#define NAME(parameters)`; its body follows */
    TOKEN_DEFINE_END,  /**< empty */
    TOKEN_END          /**< empty; the last token */
};

struct token {
    enum token_kind kind;
    size_t start, length; /**< bytes in the source */
};

struct tokens {
    const char *source;
    struct token *list;
    size_t count, capacity;
};

/** @brief Tokens of @p source (zero-terminated, and kept by the caller). Free with tokens_drop(). */
struct tokens tokens_of(const char *source);
void tokens_drop(struct tokens *tokens);

/** @brief 1 if the quote after the first @p length bytes of @p word begins a raw string. */
int lexer_begins_raw_string(const char *word, size_t length);

/** @brief 1 if token @p i is spelled @p spelling. */
int token_is(const struct tokens *tokens, size_t i, const char *spelling);
/** @brief 1 if it is spelled like one of @p spellings, which NULL ends. */
int token_is_one_of(const struct tokens *tokens, size_t i, const char *const *spellings);
