/**
 * @file hosts.c
 * @brief Which functions are the host's alone: those whose bodies get a mark, so that calls.c knows them again.
 *
 * A word in front of a function may be a macro for `__device__`; the compiler sees that, and a function
 * marked for both is no error. In doubt a function gets no mark.
 */
#include "hosts.h"

/** The first token after the lists of template parameters at @p first. */
static size_t after_templates(const struct tokens *t, size_t first)
{
    while (token_is(t, first, "template") && token_is(t, first + 1, "<")) {
        size_t close = match_angle_forward(t, first + 1);
        if (close == first + 1) break;
        first = close + 1;
    }
    return first;
}

/** The token at which the parameters begin of the function declared from @p first to @p brace, or @p brace
 *  if it declares no function. */
static size_t find_parameters(const struct tokens *t, size_t first, size_t brace)
{
    static const char *const no_names[] = {"if",     "for",   "while",    "switch",  "catch", "return", "do",
                                           "sizeof", "throw", "requires", "defined", "case",  "main",   NULL};
    for (size_t i = first; i < brace; i++) {
        if (takes_parentheses(t, i)) {
            i = match_forward(t, i + 1);
        } else if (token_is(t, i, "operator")) {
            while (i + 1 < brace && !token_is(t, i + 1, "(")) i++;
            if (token_is(t, i + 1, "(") && token_is(t, i + 2, ")") && token_is(t, i + 3, "(")) i += 2;
            return i + 1;
        } else if (token_is(t, i, "(")) {
            return i > first && t->list[i - 1].kind == TOKEN_WORD && !token_is_one_of(t, i - 1, no_names)
                       ? i
                       : brace;
        }
    }
    return brace;
}

/** Words in front of the name that are more than a type: those of a device function, of a constant, or a
 *  macro after a `*`. */
static int has_other_words(const struct tokens *t, size_t first, size_t end)
{
    static const char *const other[] = {"__device__", "__global__", "__shared__", "__constant__",
                                        "constexpr",  "consteval",  "typedef",    "using",
                                        "friend",     "=",          NULL};
    int behind_star = 0;
    for (size_t i = first; i < end; i++) {
        if (token_is_one_of(t, i, other)) return 1;
        if (behind_star && t->list[i].kind == TOKEN_WORD && i + 1 < end &&
            t->list[i + 1].kind == TOKEN_WORD && !token_is(t, i, "const"))
            return 1;
        behind_star |= token_is(t, i, "*") || token_is(t, i, "&");
    }
    return 0;
}

int is_class_body(const struct tokens *t, size_t brace)
{
    static const char *const keys[] = {"class", "struct", "union", NULL};
    const size_t first = after_templates(t, declaration_start(t, brace));
    if (brace == first || token_is(t, brace - 1, ")")) return 0;
    for (size_t i = first; i < brace; i++) {
        if (token_is(t, i, "enum") || token_is(t, i, "=")) return 0;
        if (token_is_one_of(t, i, keys)) return find_parameters(t, first, brace) == brace;
    }
    return 0;
}

int is_host_function_body(const struct tokens *t, size_t brace)
{
    static const char *const last[] = {")", "const", "noexcept", "override", "final", NULL};
    const size_t first = after_templates(t, declaration_start(t, brace));
    const size_t open = find_parameters(t, first, brace);
    if (open >= brace || has_other_words(t, first, open)) return 0;
    const size_t close = match_forward(t, open);
    if (close >= brace) return 0;
    for (size_t i = close + 1; i < brace; i++)
        if (token_is(t, i, "->")) return 1; /* a type that may end in any word */
    return token_is_one_of(t, brace - 1, last);
}
