/**
 * @file lexer.c
 * @brief The tokens of a source file.
 *
 * Two programs use it: simtcc, which must write every byte again as it was, and the check of untrusted kernel
 * files (common/build/source_check.c), which must see each token where the compiler sees it. So the rules are
 * the compiler's own, to the letter: which prefixes make a raw string, where a number ends, what joins two
 * lines. It needs no other file.
 */
#include "lexer.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct lexer {
    struct tokens tokens;
    const char *at; /**< what comes next */
    int line_start; /**< only blanks so far in the line: a `#` here begins a directive */
    int in_define;  /**< the end of the line ends the macro's body */
};

static void add_token(struct lexer *l, enum token_kind kind, const char *start, const char *end)
{
    struct tokens *t = &l->tokens;
    if (t->count == t->capacity) {
        t->capacity = 2 * t->capacity + 64;
        struct token *larger = realloc(t->list, t->capacity * sizeof(*larger));
        if (larger == NULL) {
            fputs("out of memory\n", stderr);
            exit(2);
        }
        t->list = larger;
    }
    t->list[t->count++] = (struct token){kind, (size_t)(start - t->source), (size_t)(end - start)};
    l->at = end;
}

/** Length of a line continuation: a backslash, the blanks that compilers allow after it, and the newline;
 *  else 0. */
static size_t continuation(const char *s)
{
    if (s[0] != '\\') return 0;
    size_t blanks = strspn(s + 1, " \t\f\v\r");
    return s[1 + blanks] == '\n' ? blanks + 2 : 0;
}

/** The end of the comment that begins at @p s; @p s if there is none. */
static const char *skip_comment(const char *s)
{
    if (s[0] != '/' || (s[1] != '/' && s[1] != '*')) return s;
    if (s[1] == '*') {
        const char *end = strstr(s + 2, "*/");
        return end != NULL ? end + 2 : s + strlen(s);
    }
    for (; *s != '\0' && *s != '\n'; s++)
        if (continuation(s) > 0) s += continuation(s) - 1;
    return s;
}

/** The end of a string or character literal whose quote is at @p s. */
static const char *skip_quoted(const char *s)
{
    char quote = *s++;
    for (; *s != '\0' && *s != quote && *s != '\n'; s++)
        if (*s == '\\' && s[1] != '\0') s++;
    return *s == quote ? s + 1 : s;
}

/** The end of R"delimiter(...)delimiter" whose quote is at @p s. */
static const char *skip_raw_string(const char *s)
{
    const char *open = strchr(s, '(');
    if (open == NULL) return s + strlen(s);
    size_t delimiter = (size_t)(open - s) - 1;
    for (const char *end = open; (end = strchr(end, ')')) != NULL; end++)
        if (strncmp(end + 1, s + 1, delimiter) == 0 && end[1 + delimiter] == '"') return end + delimiter + 2;
    return s + strlen(s);
}

int lexer_begins_raw_string(const char *word, size_t length)
{
    static const char *const prefixes[] = {"R", "LR", "uR", "UR", "u8R"};
    for (size_t i = 0; word[length] == '"' && i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
        if (strlen(prefixes[i]) == length && strncmp(prefixes[i], word, length) == 0) return 1;
    return 0;
}

/** The end of the preprocessor line at @p s: a newline that is not continued and not in a comment. */
static const char *skip_directive(const char *s)
{
    while (*s != '\0' && *s != '\n') {
        const char *after = skip_comment(s);
        if (after == s) after = *s == '"' || *s == '\'' ? skip_quoted(s) : s + 1;
        if (continuation(s) > 0) after = s + continuation(s);
        s = after;
    }
    return s;
}

static const char *skip_word(const char *s)
{
    while (isalnum((unsigned char)*s) || *s == '_' || *s == '$' || (unsigned char)*s >= 0x80) s++;
    return s;
}

static const char *skip_blanks(const char *s)
{
    while (*s == ' ' || *s == '\t' || continuation(s) > 0) s += continuation(s) > 0 ? continuation(s) : 1;
    return s;
}

static void read_directive(struct lexer *l)
{
    const char *start = l->at, *word = skip_blanks(start + (*start == '%' ? 2 : 1)), *after = skip_word(word);
    if (after - word != 6 || strncmp(word, "define", 6) != 0) {
        add_token(l, TOKEN_DIRECTIVE, start, skip_directive(start));
        return;
    }
    after = skip_word(skip_blanks(after));
    if (*after == '(') /* parameters belong to the macro's head: they are names, not code */
        while (*after != '\0' && *after != '\n') {
            const char *comment_end = skip_comment(after);
            if (comment_end == after && *after++ == ')') break;
            if (comment_end > after) after = comment_end;
        }
    add_token(l, TOKEN_DEFINE, start, after);
    l->in_define = 1;
}

/** Digits, letters, points, digit separators, and the sign of an exponent. */
static const char *skip_number(const char *s)
{
    for (;; s++) {
        int separator = *s == '\'' && (isalnum((unsigned char)s[1]) || s[1] == '_');
        if (*s != '.' && !separator && skip_word(s) == s) return s;
        if (*s != '\0' && strchr("eEpP", *s) != NULL && (s[1] == '+' || s[1] == '-')) s++;
    }
}

static void read_word(struct lexer *l)
{
    const char *end = skip_word(l->at);
    if (lexer_begins_raw_string(l->at, (size_t)(end - l->at))) {
        add_token(l, TOKEN_LITERAL, l->at, skip_raw_string(end));
    } else if ((*end == '"' || *end == '\'') && end - l->at <= 2 && strchr("uUL8", end[-1]) != NULL) {
        add_token(l, TOKEN_LITERAL, l->at, skip_quoted(end));
    } else {
        add_token(l, TOKEN_WORD, l->at, end);
    }
}

static void read_punctuation(struct lexer *l)
{
    static const char *const longer[] = {"<<<", ">>>", "::", "->"};
    for (size_t i = 0; i < sizeof(longer) / sizeof(longer[0]); i++) {
        size_t length = strlen(longer[i]);
        if (strncmp(l->at, longer[i], length) != 0) continue;
        add_token(l, TOKEN_PUNCTUATION, l->at, l->at + length);
        return;
    }
    add_token(l, TOKEN_PUNCTUATION, l->at, l->at + 1);
}

static void read_token(struct lexer *l)
{
    unsigned char c = (unsigned char)*l->at;
    if (l->line_start && (c == '#' || (c == '%' && l->at[1] == ':'))) {
        read_directive(l);
    } else if (isdigit(c) || (c == '.' && isdigit((unsigned char)l->at[1]))) {
        add_token(l, TOKEN_NUMBER, l->at, skip_number(l->at));
    } else if (isalpha(c) || c == '_' || c == '$' || c >= 0x80) {
        read_word(l);
    } else if (c == '"' || c == '\'') {
        add_token(l, TOKEN_LITERAL, l->at, skip_quoted(l->at));
    } else {
        read_punctuation(l);
    }
    l->line_start = 0;
}

struct tokens tokens_of(const char *source)
{
    struct lexer l = {{source, NULL, 0, 0}, source, 1, 0};
    while (*l.at != '\0') {
        const char *after = skip_comment(l.at);
        if (after != l.at) {
            l.at = after;
        } else if (continuation(l.at) > 0) {
            l.at += continuation(l.at);
        } else if (*l.at == '\n') {
            if (l.in_define) add_token(&l, TOKEN_DEFINE_END, l.at, l.at);
            l.in_define = 0;
            l.line_start = 1;
            l.at++;
        } else if (isspace((unsigned char)*l.at)) {
            l.at++;
        } else {
            read_token(&l);
        }
    }
    if (l.in_define) add_token(&l, TOKEN_DEFINE_END, l.at, l.at);
    add_token(&l, TOKEN_END, l.at, l.at);
    return l.tokens;
}

void tokens_drop(struct tokens *tokens)
{
    free(tokens->list);
    *tokens = (struct tokens){0};
}

int token_is(const struct tokens *tokens, size_t i, const char *spelling)
{
    const struct token *t = &tokens->list[i];
    return t->kind != TOKEN_LITERAL && strlen(spelling) == t->length &&
           strncmp(tokens->source + t->start, spelling, t->length) == 0;
}

int token_is_one_of(const struct tokens *tokens, size_t i, const char *const *spellings)
{
    for (; *spellings != NULL; spellings++)
        if (token_is(tokens, i, *spellings)) return 1;
    return 0;
}
