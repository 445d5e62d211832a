/**
 * @file rewriter.h
 * @brief What the parts of the rewriter share: walking over tokens, and the list of changes.
 */
#pragma once

#include "rewrite.h"

/** @brief A text that replaces some bytes of the source. */
struct edit {
    size_t start, length;
    char *text;
    size_t order; /**< edits at the same place keep the order in which they were made */
};

/** @brief Where a function runs, from the words of its declaration. */
enum side { SIDE_UNKNOWN, SIDE_DEVICE, SIDE_HOST, SIDE_BOTH };

struct rewriter {
    const struct tokens *tokens;
    const struct kernels *kernels;
    struct edit *edits;
    size_t edit_count, edit_capacity;
    int function_depth; /**< depth of braces, without those of namespaces; 0: file scope */
    enum side side;     /**< the side of the function around */
};

/** @brief Replaces @p length bytes at @p start by @p text, which becomes the rewriter's. */
void edit_add(struct rewriter *r, size_t start, size_t length, char *text);
void edit_insert(struct rewriter *r, size_t at, const char *text);
/** @brief Removes tokens first..last (inclusive) but keeps the newlines between them. */
void edit_remove_tokens(struct rewriter *r, size_t first, size_t last);

/** @brief Index of the bracket that closes the one at @p open, or the last token. */
size_t match_forward(const struct tokens *tokens, size_t open);
/** @brief Index of the bracket that opens the one at @p close, or @p close if there is none. */
size_t match_backward(const struct tokens *tokens, size_t close);
/** @brief Index of the `<` that opens the template arguments that end at @p close, or @p close. */
size_t match_angle_backward(const struct tokens *tokens, size_t close);
/** @brief Index of the `>` that closes the template list that opens at @p open, or @p open. */
size_t match_angle_forward(const struct tokens *tokens, size_t open);
int is_opening(const struct tokens *tokens, size_t i);
int is_closing(const struct tokens *tokens, size_t i);
/** @brief 1 for `;` `{` `}` and preprocessor lines, where every declaration ends. */
int is_boundary(const struct tokens *tokens, size_t i);
/** @brief Index of the first token of the declaration around token @p i. */
size_t declaration_start(const struct tokens *tokens, size_t i);
/** @brief alignas, __attribute__ and other words that a group of parentheses follows. */
int takes_parentheses(const struct tokens *tokens, size_t i);
size_t token_end(const struct tokens *tokens, size_t i);

/** @brief Each rewrites the construct at token @p i; those that are shared return the last token they
 *         handled. */
void rewrite_launch(struct rewriter *r, size_t i);
void rewrite_brackets_macro(struct rewriter *r, size_t i);
void rewrite_launch_by_macro(struct rewriter *r, size_t i);
void rewrite_launch_call(struct rewriter *r, size_t i);
size_t rewrite_shared(struct rewriter *r, size_t i);
void rewrite_device_variable(struct rewriter *r, size_t i);
void rewrite_constant(struct rewriter *r, size_t i);
/** @brief Without -rdc=true a variable of the device is the file's own: makes it static. */
void rewrite_own_variable(struct rewriter *r, size_t i);
/** @brief Adds the variables of the device that the declaration at the `extern` at @p i names. */
void externs_collect(struct kernels *kernels, const struct tokens *tokens, size_t i);
void rewrite_assembly(struct rewriter *r, size_t i);
void rewrite_kernel(struct rewriter *r, size_t i);
/** @brief Adds to the kernel's body, which begins at token @p body, a record of which parameters after @p
 *         open have an address that a tensor copy accepts. */
void rewrite_parameters(struct rewriter *r, size_t open, size_t body);
