/**
 * @file parameters.c
 * @brief Which parameters of a kernel have an address that a tensor copy accepts: those that are
 *        `__grid_constant__`.
 */
#include "rewriter.h"

/** What the source says about a parameter; its tokens are first .. last - 1. */
struct parameter {
    size_t name; /**< 0: none, or its type holds no tensor map */
    int constant;
    int unknown; /**< its syntax does not tell: `decltype(x) y`, a macro's call, a pack */
};

/**
 * If there is a word more than a type and a name, it is a macro, which may stand for `__grid_constant__`.
 * Pointers, references, arrays, functions and the built-in types hold no tensor map.
 */
static struct parameter read_parameter(const struct tokens *t, size_t first, size_t last)
{
    static const char *const other[] = {"const", "volatile", "typename", "struct",
                                        "class", "union",    "enum",     NULL},
                             *const own[] = {"void",  "bool",   "char",   "short",    "int",  "long",
                                             "float", "double", "signed", "unsigned", "auto", NULL};
    const struct parameter none = {0, 0, 0};
    struct parameter p = none;
    int types = 0;
    for (size_t i = first; i < last; i++) {
        if (token_is(t, i, "<") && match_angle_forward(t, i) < last) {
            i = match_angle_forward(t, i);
        } else if (token_is(t, i, "__grid_constant__")) {
            p.constant = 1;
        } else if (t->list[i].kind == TOKEN_WORD) {
            if (token_is_one_of(t, i, own)) return none;
            if (i + 1 == last)
                p.name = i;
            else if (!token_is_one_of(t, i, other) && (i == first || !token_is(t, i - 1, "::")))
                types++;
        } else if (token_is(t, i, "*") || token_is(t, i, "&") || token_is(t, i, "[")) {
            return none;
        } else if (!token_is(t, i, "::")) {
            p.unknown = 1;
            return p;
        }
    }
    if (types == 0) p.name = 0; /* the last word is the type */
    p.constant |= types > 1;
    return p;
}

/** The parameter that begins at token @p first; the last one ends at the bracket that closes the list.
 *  Sets *@p end to the comma after it, or to that bracket. */
static struct parameter next_parameter(const struct tokens *t, size_t first, size_t close, size_t *end)
{
    size_t i = first;
    while (i < close && !token_is(t, i, ",")) {
        if (is_opening(t, i))
            i = match_forward(t, i);
        else if (token_is(t, i, "<") && match_angle_forward(t, i) < close)
            i = match_angle_forward(t, i);
        i++;
    }
    *end = i;
    return read_parameter(t, first, i);
}

void rewrite_parameters(struct rewriter *r, size_t open, size_t body)
{
    const struct tokens *t = r->tokens;
    const size_t close = match_forward(t, open);
    struct text marks = {0};
    int unknown = 0;
    for (size_t first = open + 1, end; first < close; first = end + 1) {
        const struct parameter p = next_parameter(t, first, close, &end);
        unknown |= p.unknown;
        if (p.name != 0)
            text_printf(&marks, " SIMT_PARAMETER(%.*s, %d);", (int)t->list[p.name].length,
                        t->source + t->list[p.name].start, p.constant);
    }
    if (marks.data != NULL && !unknown) edit_insert(r, token_end(t, body), marks.data);
    text_drop(&marks);
}
