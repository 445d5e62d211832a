/**
 * @file walk.c
 * @brief Brackets, declarations and changes.
 */
#include <stdlib.h>
#include <string.h>

#include "rewriter.h"

/* ---- brackets ------------------------------------------------------------------------------------------ */

static int is_one_of(const struct tokens *t, size_t i, const char *characters)
{
    const struct token *token = &t->list[i];
    return token->kind == TOKEN_PUNCTUATION && token->length == 1 &&
           strchr(characters, t->source[token->start]) != NULL;
}

int is_opening(const struct tokens *t, size_t i)
{
    return is_one_of(t, i, "([{");
}

int is_closing(const struct tokens *t, size_t i)
{
    return is_one_of(t, i, ")]}");
}

size_t match_forward(const struct tokens *t, size_t open)
{
    int depth = 0;
    for (size_t i = open; i < t->count; i++) {
        depth += is_opening(t, i) - is_closing(t, i);
        if (depth == 0) return i;
    }
    return t->count - 1;
}

size_t match_backward(const struct tokens *t, size_t close)
{
    int depth = 0;
    for (size_t i = close + 1; i-- > 0;) {
        depth += is_closing(t, i) - is_opening(t, i);
        if (depth == 0) return i;
    }
    return close;
}

/** `>` counts one, `>>>` three. */
static int closing_angles(const struct tokens *t, size_t i)
{
    return token_is(t, i, ">") ? 1 : token_is(t, i, ">>>") ? 3 : 0;
}

size_t match_angle_backward(const struct tokens *t, size_t close)
{
    int depth = 0;
    for (size_t i = close + 1; i-- > 0;) {
        if (is_closing(t, i)) i = match_backward(t, i);
        if (is_boundary(t, i)) break;
        depth += closing_angles(t, i) - token_is(t, i, "<");
        if (depth == 0) return i;
    }
    return close;
}

size_t match_angle_forward(const struct tokens *t, size_t open)
{
    int depth = 0;
    for (size_t i = open; i < t->count; i++) {
        if (is_opening(t, i)) i = match_forward(t, i);
        if (is_boundary(t, i)) break;
        depth += token_is(t, i, "<") - closing_angles(t, i);
        if (depth <= 0) return i;
    }
    return open;
}

/* ---- declarations -------------------------------------------------------------------------------------- */

int is_boundary(const struct tokens *t, size_t i)
{
    enum token_kind kind = t->list[i].kind;
    return kind == TOKEN_DIRECTIVE || kind == TOKEN_DEFINE || kind == TOKEN_DEFINE_END || kind == TOKEN_END ||
           is_one_of(t, i, ";{}");
}

size_t declaration_start(const struct tokens *t, size_t i)
{
    while (i > 0 && !is_boundary(t, i - 1)) i--;
    /* a label, `case 3:` or `public:`, is not part of it */
    for (size_t j = i; !is_boundary(t, j); j++)
        if (token_is(t, j, ":") && j > i &&
            (token_is(t, i, "public") || token_is(t, i, "private") || token_is(t, i, "case") ||
             token_is(t, i, "default") || token_is(t, i, "protected")))
            return j + 1;
    return i;
}

int takes_parentheses(const struct tokens *t, size_t i)
{
    static const char *const words[] = {
        "alignas",    "__align__", "__builtin_align__", "__attribute__",   "decltype", "__launch_bounds__",
        "__typeof__", "typeof",    "__maxnreg__",       "__cluster_dims__"};
    for (size_t w = 0; w < sizeof(words) / sizeof(words[0]); w++)
        if (token_is(t, i, words[w])) return i + 1 < t->count && token_is(t, i + 1, "(");
    return 0;
}

size_t token_end(const struct tokens *t, size_t i)
{
    return t->list[i].start + t->list[i].length;
}

/* ---- changes ------------------------------------------------------------------------------------------- */

void edit_add(struct rewriter *r, size_t start, size_t length, char *text)
{
    r->edits = array_grow(r->edits, &r->edit_capacity, r->edit_count, sizeof(*r->edits));
    r->edits[r->edit_count] = (struct edit){start, length, text, r->edit_count};
    r->edit_count++;
}

void edit_insert(struct rewriter *r, size_t at, const char *text)
{
    edit_add(r, at, 0, format_string("%s", text));
}

void edit_remove_tokens(struct rewriter *r, size_t first, size_t last)
{
    const struct tokens *t = r->tokens;
    for (size_t i = first; i <= last; i++)
        edit_add(r, t->list[i].start, t->list[i].length, format_string(" "));
}
