/**
 * @file assembly.c
 * @brief `asm` statements: which of them are PTX, and the call that takes their place.
 *
 * A file holds asm statements for host and device, which are told apart by these rules, in order:
 *
 * | where, or what | is |
 * |---|---|
 * | at file scope, behind a declarator (`int f() asm("g")`), `asm goto` | the host's |
 * | in a function declared `__global__`, or `__device__` without `__host__` | PTX |
 * | any other (macros, too) whose text begins as PTX does: `{`, `@p`, `.reg`, a name with a dot in it | PTX |
 * | any other whose operands have a constraint PTX does not have: `"=a"`, `"m"`, `"i"` ... | the host's |
 * | any other whose text begins with a macro, in a function or macro not declared `__host__` | PTX |
 * | the rest: `"cpuid"`, `"pause"`, `"mov %0, %1"`, `""` | the host's |
 *
 * Whatever is the host's is left as it is.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "rewriter.h"

enum { SECTIONS = 4 }; /* text, outputs, inputs, clobbers */

/** An asm statement taken apart: tokens of each section, [first, end). */
struct assembly {
    size_t open, close;
    size_t first[SECTIONS], end[SECTIONS];
    size_t colon[SECTIONS]; /**< the token that begins the section; one `::` begins two sections */
    int is_volatile;
};

static int is_word(const struct tokens *t, size_t i)
{
    return t->list[i].kind == TOKEN_WORD;
}

/* ---- taking it apart ------------------------------------------------------------------------------------ */

/** 0 if there is no such statement at @p i. */
static int take_assembly_apart(const struct tokens *t, size_t i, struct assembly *a)
{
    *a = (struct assembly){.open = i + 1};
    for (;; a->open++) {
        if (token_is(t, a->open, "volatile") || token_is(t, a->open, "__volatile__") ||
            token_is(t, a->open, "__volatile"))
            a->is_volatile = 1;
        else
            break;
    }
    if (!token_is(t, a->open, "(")) return 0; /* asm goto among them */
    a->close = match_forward(t, a->open);
    size_t section = 0;
    a->first[0] = a->open + 1;
    for (size_t k = a->open + 1; k < a->close; k++) {
        const int colons = token_is(t, k, ":") ? 1 : token_is(t, k, "::") ? 2 : 0;
        if (is_opening(t, k)) k = match_forward(t, k);
        for (int c = 0; c < colons && section + 1 < SECTIONS; c++) {
            a->end[section++] = k;
            a->first[section] = k + (c + 1 == colons);
            a->colon[section] = k;
        }
    }
    for (; section < SECTIONS; section++) {
        a->end[section] = a->close;
        if (section + 1 < SECTIONS) a->first[section + 1] = a->colon[section + 1] = a->close;
    }
    return 1;
}

/** One past the operand at @p i: its comma, or the end of the section. */
static size_t operand_end(const struct tokens *t, size_t i, size_t end)
{
    while (i < end && !token_is(t, i, ",")) i = is_opening(t, i) ? match_forward(t, i) + 1 : i + 1;
    return i;
}

/* ---- whose it is ---------------------------------------------------------------------------------------- */

/** The letters of the constraint in the string literal at token @p i, without `=`, `+`, `&`. */
static const char *constraint_at(const struct tokens *t, size_t i, size_t *length)
{
    const char *s = t->source + t->list[i].start + 1;
    while (*s == '=' || *s == '+' || *s == '&') s++;
    *length = strcspn(s, "\"");
    return s;
}

static int has_foreign_constraint(const struct tokens *t, const struct assembly *a)
{
    for (size_t s = 1; s <= 2; s++)
        for (size_t i = a->first[s]; i < a->end[s]; i = operand_end(t, i, a->end[s]) + 1) {
            size_t length;
            if (t->list[i].kind != TOKEN_LITERAL) continue;
            const char *letters = constraint_at(t, i, &length);
            if (length > 1 || (length == 1 && strchr("hrlqfdnC", *letters) == NULL))
                return 1; /* "=" may stand alone */
        }
    return 0;
}

static const char *after_blanks(const char *s)
{
    for (;;) {
        if (isspace((unsigned char)*s))
            s++;
        else if (s[0] == '\\' && (s[1] == 'n' || s[1] == 't'))
            s += 2;
        else
            return s;
    }
}

/** 1 unless assembly for the host could begin like this. A dot in the first name may be the host's, too:
 *  `b.eq` is AArch64, not PTX. */
static int begins_as_ptx(const struct tokens *t, const struct assembly *a)
{
    if (t->list[a->first[0]].kind != TOKEN_LITERAL) return 0;
    const char *s = strchr(t->source + t->list[a->first[0]].start, '"');
    if (s == NULL) return 0;
    if (s > t->source && s[-1] == 'R') s = strchr(s, '(');
    s = after_blanks(s + 1);
    if (*s == '{') {
        s = after_blanks(s + 1);
        if (*s == '"' || *s == '{' || *s == '/') return 1;
    }
    if (*s == '@' || strncmp(s, "//", 2) == 0 || strncmp(s, ".reg", 4) == 0) return 1;
    size_t name = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_");
    if (s[name] == ';') return strncmp(s, "trap", name) == 0 || strncmp(s, "exit", name) == 0;
    return s[name] == '.' && name > 1 && isalpha((unsigned char)s[name + 1]);
}

static int is_ptx(const struct rewriter *r, const struct assembly *a)
{
    const struct tokens *t = r->tokens;
    if (r->function_depth == 0) return 0;
    if (r->side == SIDE_DEVICE || begins_as_ptx(t, a)) return 1;
    if (has_foreign_constraint(t, a)) return 0;
    return r->side == SIDE_UNKNOWN && is_word(t, a->first[0]);
}

/* ---- the call ------------------------------------------------------------------------------------------- */

/** `"=r"(d)` becomes `simt_out("=r", (d))`; @p open is its parenthesis. */
static void rewrite_operand(struct rewriter *r, size_t i, size_t open, const char *use)
{
    const struct tokens *t = r->tokens;
    size_t length = 0;
    const char *letters = t->list[i].kind == TOKEN_LITERAL ? constraint_at(t, i, &length) : "";
    const int constant = length == 1 && *letters == 'n';
    edit_add(r, t->list[i].start, 0, format_string("%s(", constant ? "simt_constant" : use));
    edit_add(r, t->list[open].start, 0, format_string(", "));
    edit_add(r, token_end(t, match_forward(t, open)), 0, format_string(")"));
}

/** Rewrites the operands of one section. nvcc has no names for them, `[x] "r"(x)`, and reports an error;
 *  so does this. */
static void rewrite_operands(struct rewriter *r, size_t statement, size_t first, size_t end, const char *use)
{
    const struct tokens *t = r->tokens;
    for (size_t i = first, next; i < end; i = next + 1) {
        next = operand_end(t, i, end);
        if (token_is(t, i, "[")) {
            edit_insert(r, t->list[statement].start,
                        "_Pragma(\"GCC error \\\"operands of PTX have no names, as with nvcc: write %0, %1 "
                        "...\\\"\") ");
            const size_t close = match_forward(t, i);
            edit_remove_tokens(r, i, close);
            i = close + 1;
        }
        size_t open = i;
        while (open < next && !token_is(t, open, "(")) open++;
        if (open < next) rewrite_operand(r, i, open, use);
    }
}

/** Removes the colon before a section, or replaces it by a comma if the section has operands. */
static void rewrite_colon(struct rewriter *r, const struct assembly *a, size_t s, const char *before)
{
    const struct tokens *t = r->tokens;
    const int empty = a->first[s] >= a->end[s];
    if (a->colon[s] == a->close) return;
    const int second = s > 1 && a->colon[s - 1] == a->colon[s]; /* for a `::`, which is replaced once */
    edit_add(r, t->list[a->colon[s]].start, second ? 0 : t->list[a->colon[s]].length,
             format_string("%s%s", empty ? "" : ", ", empty ? "" : before));
}

void rewrite_assembly(struct rewriter *r, size_t i)
{
    const struct tokens *t = r->tokens;
    struct assembly a;
    const int is_label =
        i > 0 && (token_is(t, i - 1, ")") ||
                  (is_word(t, i - 1) && !token_is(t, i - 1, "else") && !token_is(t, i - 1, "do")));
    if (!take_assembly_apart(t, i, &a)) return;
    if (is_label && !a.is_volatile && a.colon[1] == a.close && r->side != SIDE_DEVICE) return;
    if (!is_ptx(r, &a)) return;
    edit_add(r, t->list[i].start, t->list[i].length, format_string("simtcc_ptx_at"));
    if (a.open > i + 1) edit_remove_tokens(r, i + 1, a.open - 1);
    edit_add(r, token_end(t, a.open), 0, format_string("SIMT_PTX_SITE(%d, ", a.is_volatile));
    edit_add(r, token_end(t, a.end[0] - 1), 0, format_string(")"));
    rewrite_operands(r, i, a.first[1], a.end[1], "simt_out");
    rewrite_operands(r, i, a.first[2], a.end[2], "simt_in");
    rewrite_colon(r, &a, 1,
                  ""); /* edits after them: the end of an operand goes before a colon right after it */
    rewrite_colon(r, &a, 2, "");
    rewrite_colon(r, &a, 3, "simt_clobbers(");
    if (a.first[3] < a.end[3]) edit_add(r, token_end(t, a.end[3] - 1), 0, format_string(")"));
}
