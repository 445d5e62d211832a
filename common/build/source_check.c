/**
 * @file source_check.c
 * @brief What an untrusted kernel file says, token by token as the compiler reads it, and the checks built on that.
 *
 * The tokens are those of simtcc's lexer (common/simt/simtcc/lexer.h), from text whose continued lines were
 * joined first, as in the compiler. Text that could be read in two ways is refused: bytes that are no UTF-8,
 * letters beyond ASCII outside of strings and comments, control characters, stray backslashes, raw strings.
 */
#include "source_check.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "course/course.h"
#include "simt/simtcc/lexer.h"

/* ---- tokens -------------------------------------------------------------------------------------------- */

/* A text with its continued lines joined, the line that every byte came from, and its tokens. */
struct scan {
    char *text;
    int *line;
    struct tokens tokens;
    size_t at; /* the token that comes next */
};

/* Joins lines in @p text, which begins in line @p line, or uses the line numbers that are given. */
static struct scan scan_open(const char *text, size_t length, const int *lines)
{
    struct scan s = {must_allocate(length + 2), must_allocate((length + 2) * sizeof(int)), {0}, 0};
    size_t out = 0;
    int line = 1;
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\\' && lines == NULL) { /* compilers let blanks stand before the end of the line */
            size_t blank = strspn(text + i + 1, " \t\r\f\v");
            if (text[i + 1 + blank] == '\n') {
                i += 1 + blank;
                line++;
                continue;
            }
        }
        s.line[out] = lines != NULL ? lines[i] : line;
        s.text[out++] = text[i];
        line += text[i] == '\n';
    }
    s.line[out] = lines != NULL ? lines[length] : line;
    s.tokens = tokens_of(s.text);
    return s;
}

static void scan_close(struct scan *s)
{
    tokens_drop(&s->tokens);
    free(s->text);
    free(s->line);
}

/* A token as the rules below want it. */
struct word {
    enum token_kind kind;
    const char *start;
    size_t length;
    int line;
};

static struct word word_at(const struct scan *s, size_t i)
{
    const struct token *token = &s->tokens.list[i < s->tokens.count ? i : s->tokens.count - 1];
    return (struct word){token->kind, s->text + token->start, token->length, s->line[token->start]};
}

static struct word next_word_of(struct scan *s)
{
    struct word word = word_at(s, s->at);
    if (s->at + 1 < s->tokens.count) s->at++;
    return word;
}

/* The text after the `#` of a preprocessor line. */
static struct scan directive_of(const struct scan *s, const struct word *directive)
{
    size_t mark = *directive->start == '%' ? 2 : 1;
    const char *start = directive->start + mark;
    return scan_open(start, directive->length - mark, s->line + (start - s->text));
}

static int word_is(const struct word *word, const char *text)
{
    return word->length == strlen(text) && strncmp(word->start, text, word->length) == 0;
}

static int word_in(const struct word *word, const char *const *list)
{
    for (; *list != NULL; list++) {
        if (word_is(word, *list)) return 1;
    }
    return 0;
}

/* ---- the file as it was written ------------------------------------------------------------------------ */

struct check {
    const char *name;
    const struct lesson_folder *lesson;
    struct text *sentence;
    /* difference of line numbers: those in the student's file minus those in the text that is read */
    int shift;
    int of_headers; /* 1: what follows comes from a macro of the device's headers, or of the system's */
};

static int refuse_word(struct check *check, int line, const char *format, const struct word *word)
{
    int length = word->length > 60 ? 60 : (int)word->length;
    text_print(check->sentence, "%s:%d: ", check->name, line + check->shift);
    text_print(check->sentence, format, length, word->start);
    return 0;
}

/* Length in bytes of the UTF-8 character at @p at, 0 if it is none. */
static size_t utf8_length(const unsigned char *at)
{
    size_t length = *at < 0x80                   ? 1
                    : *at >= 0xc2 && *at <= 0xdf ? 2
                    : *at >= 0xe0 && *at <= 0xef ? 3
                    : *at >= 0xf0 && *at <= 0xf4 ? 4
                                                 : 0;
    for (size_t i = 1; i < length; i++)
        if ((at[i] & 0xc0) != 0x80) return 0;
    int overlong = (*at == 0xe0 && at[1] < 0xa0) || (*at == 0xf0 && at[1] < 0x90);
    int beyond = (*at == 0xed && at[1] > 0x9f) || (*at == 0xf4 && at[1] > 0x8f);
    return overlong || beyond ? 0 : length;
}

static int check_bytes(struct check *check, const char *text)
{
    static const struct word nothing = {TOKEN_END, "", 0, 0};
    int line = 1;
    for (const unsigned char *at = (const unsigned char *)text; *at;) {
        size_t length = utf8_length(at);
        int control =
            (*at < ' ' && strchr("\t\n\r\f\v", *at) == NULL) || *at == 0x7f || (*at == '\r' && at[1] != '\n');
        if (length == 0)
            return refuse_word(check, line, "a byte that is not valid UTF-8: save the file as UTF-8%.*s",
                               &nothing);
        if (control) return refuse_word(check, line, "a control character%.*s", &nothing);
        line += *at == '\n';
        at += length;
    }
    return 1;
}

/* `<:` is `[`, but in `<::` before anything but another `:` or `>`, where C++ reads `<` and `::`. */
static int is_bracket_in_disguise(const struct word *word)
{
    const char *at = word->start;
    if (word->kind == TOKEN_LITERAL || word->length == 0 || at[0] != '<' || at[1] != ':') return 0;
    return at[2] != ':' || at[3] == ':' || at[3] == '>';
}

/* Refuses tokens that two readers could see differently. */
static int check_plain(struct check *check, const struct word *word)
{
    if (word->kind == TOKEN_LITERAL) {
        size_t quote = strcspn(word->start, "\"'");
        if (!lexer_begins_raw_string(word->start, quote)) return 1;
        struct word prefix = {TOKEN_WORD, word->start, quote, word->line};
        return refuse_word(check, word->line, "raw string literals (%.*s\"…) are not allowed here", &prefix);
    }
    for (size_t i = 0; i < word->length && word->kind != TOKEN_DIRECTIVE; i++) {
        if ((unsigned char)word->start[i] >= 0x80)
            return refuse_word(check, word->line, "%.*s: letters beyond ASCII belong in strings and comments",
                               word);
    }
    if (is_bracket_in_disguise(word))
        return refuse_word(check, word->line, "a digraph (<:) in place of a bracket is not allowed here%.0s",
                           word);
    if (word_is(word, "\\"))
        return refuse_word(check, word->line,
                           "a backslash (%.*s) outside of strings and not at the end of a line", word);
    return 1;
}

/* 1 if @p header is a name of the C or C++ standard library, whose functions that reach the machine do not link: every header of C++ has
 * a name without a dot, and that of C is the same with "c" before it. */
static int header_is_standard(const char *header)
{
    static const char *const of_c[] = {"assert", "ctype",    "errno",  "float",   "inttypes", "limits",
                                       "math",   "stdalign", "stdarg", "stdbool", "stddef",   "stdint",
                                       "stdio",  "stdlib",   "string", "time"};
    const size_t length = strspn(header, "abcdefghijklmnopqrstuvwxyz_");
    int known = length > 0 && header[length] == '\0';
    for (size_t i = 0; i < sizeof of_c / sizeof of_c[0]; i++)
        known = known || (length == strlen(of_c[i]) && strncmp(header, of_c[i], length) == 0 &&
                          strcmp(header + length, ".h") == 0);
    return known;
}

/* A name below a folder, of which the device's own parts are none. */
static int header_is_public(const char *header)
{
    return header[0] != '/' && strstr(header, "..") == NULL &&
           strncmp(header, "simt/", strlen("simt/")) != 0 &&
           strncmp(header, "refused/", strlen("refused/")) != 0;
}

int source_header_allowed(const char *header, const struct lesson_folder *lesson)
{
    const char *const folders[] = {format_string("%s/lessons/%s", course_source_dir(), lesson->name),
                                   format_string("%s/common/contracts", course_source_dir()),
                                   format_string("%s/common/decode", course_source_dir()),
                                   format_string("%s/common/simt/include", course_source_dir())};
    int allowed = header_is_standard(header);
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        char *path = format_string("%s/%s", folders[i], header);
        const char *dot = strrchr(header, '.');
        const int is_header = dot == NULL ? strchr(header, '/') != NULL : strcmp(dot, ".h") == 0;
        allowed = allowed || (is_header && header_is_public(header) && access(path, R_OK) == 0);
        free(path);
        free((char *)folders[i]);
    }
    return allowed;
}

/* Words by which a file could find out on what, where or when it is compiled; and one for exceptions, without which it is graded. */
static const char *const forbidden_words[] = {
    "__has_include", "__has_include_next", "__has_embed", "__TIME__", "__DATE__",
    "__TIMESTAMP__", "__pragma",           "try",         "throw",    NULL};

/* Checks `#include` to the end of its line: one plain name, and an allowed one. @p after is what follows
 * the word. */
static int check_include(struct check *check, const char *after, int line)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+-/";
    after += strspn(after, " \t");
    char close = *after == '<' ? '>' : '"';
    size_t length = *after ? strspn(after + 1, plain) : 0;
    struct word name = {TOKEN_LITERAL, after + 1, length, line};
    if ((*after != '<' && *after != '"') || after[1 + length] != close) {
        name = (struct word){TOKEN_PUNCTUATION, after, strcspn(after, "\n"), line};
        return refuse_word(check, line, "an #include must name its file plainly, not as %.*s", &name);
    }
    char *header = format_string("%.*s", (int)length, after + 1);
    int allowed = source_header_allowed(header, check->lesson);
    free(header);
    if (!allowed)
        return refuse_word(check, line,
                           "includes %.*s, which is none of the headers a kernel file may include", &name);
    return 1;
}

/* Checks `#pragma` by its first word: allowed are those that unroll, and those on messages and warnings. */
static int check_pragma(struct check *check, struct scan *s, int line)
{
    static const char *const harmless[] = {"unroll",    "nounroll", "once", "region",
                                           "endregion", "message",  "mark", NULL};
    static const char *const of_compilers[] = {"diagnostic", "unroll", "ivdep", "loop",
                                               "warning",    "error",  NULL};
    struct word what = next_word_of(s), which = word_at(s, s->at);
    what.line = line;
    int diagnostics = what.length > 8 &&
                      (strncmp(what.start, "nv_diag_", 8) == 0 || strncmp(what.start, "diag_sup", 8) == 0 ||
                       strncmp(what.start, "diag_def", 8) == 0);
    if (diagnostics || word_in(&what, harmless)) return 1;
    if ((word_is(&what, "GCC") || word_is(&what, "clang")) && word_in(&which, of_compilers)) return 1;
    return refuse_word(check, line, "#pragma %.*s is not allowed here (#pragma unroll is)", &what);
}

static int check_directive_words(struct check *check, struct scan *s)
{
    for (size_t i = s->at; i + 1 < s->tokens.count; i++) {
        struct word word = word_at(s, i);
        if (!check_plain(check, &word)) return 0;
        if (word.kind == TOKEN_WORD && word_in(&word, forbidden_words))
            return refuse_word(check, word.line, "%.*s is nothing that a kernel file has a use for", &word);
    }
    return 1;
}

/* The device's headers stand on macros of their own, which keep their meaning. */
static int is_name_of_the_device(const struct word *word)
{
    return word->length > 4 &&
           (strncmp(word->start, "simt", 4) == 0 || strncmp(word->start, "SIMT_", 5) == 0);
}

static int check_directive(struct check *check, const struct scan *whole, const struct word *directive)
{
    static const char *const ordinary[] = {"undef", "if", "ifdef", "ifndef", "elif", "else", "endif", NULL};
    static const char *const of_words[] = {"error", "warning", NULL};
    struct scan s = directive_of(whole, directive);
    struct word word = next_word_of(&s);
    int fine = 1;
    if (word_is(&word, "include")) {
        fine = check_include(check, word.start + word.length, word.line);
    } else if (word_is(&word, "pragma")) {
        fine = check_directive_words(check, &s) && check_pragma(check, &s, word.line);
    } else if (word.kind != TOKEN_END && !word_in(&word, of_words)) {
        struct word after = word_at(&s, s.at);
        if (word_is(&word, "undef") && is_name_of_the_device(&after))
            fine =
                refuse_word(check, word.line, "#undef %.*s: that name is the software device's own", &after);
        else
            fine = word_in(&word, ordinary)
                       ? check_directive_words(check, &s)
                       : refuse_word(check, word.line,
                                     "#%.*s is no directive that a kernel file has a use for", &word);
    } else { /* its text is for people; a raw string in it would still continue past the line */
        for (size_t i = s.at; fine && i + 1 < s.tokens.count; i++) {
            word = word_at(&s, i);
            fine = word.kind != TOKEN_LITERAL || check_plain(check, &word);
        }
    }
    scan_close(&s);
    return fine;
}

/* Attributes that make code run, or be found, where nobody expects it. */
static const char *const forbidden_attributes[] = {"constructor",
                                                   "__constructor__",
                                                   "destructor",
                                                   "__destructor__",
                                                   "ifunc",
                                                   "__ifunc__",
                                                   "weakref",
                                                   "__weakref__",
                                                   "init_priority",
                                                   "__init_priority__",
                                                   "no_sanitize",
                                                   "__no_sanitize__",
                                                   "no_sanitize_thread",
                                                   "__no_sanitize_thread__",
                                                   "no_instrument_function",
                                                   "patchable_function_entry",
                                                   "__patchable_function_entry__",
                                                   "symver",
                                                   "__symver__",
                                                   NULL};

/* Copies (memcpy and its like) are not among them: the software device would not see built-in copies. */
static const char *const harmless_builtins[] = {
    "inff",        "inf",          "nanf",         "nan",
    "nansf",       "huge_val",     "huge_valf",    "expect",
    "unreachable", "constant_p",   "popcount",     "popcountl",
    "popcountll",  "clz",          "clzl",         "clzll",
    "ctz",         "ctzl",         "ctzll",        "ffs",
    "ffsl",        "ffsll",        "offsetof",     "assume_aligned",
    "prefetch",    "isnan",        "isinf",        "isfinite",
    "signbit",     "fabsf",        "fabs",         "sqrtf",
    "sqrt",        "bswap32",      "bswap64",      "is_constant_evaluated",
    "bit_cast",    "addressof",    "trap",         "types_compatible_p",
    "choose_expr", "add_overflow", "sub_overflow", "mul_overflow",
    "assume",      "FILE",         "LINE",         "FUNCTION",
    NULL};

static int check_builtin(struct check *check, const struct word *token)
{
    if (token->length <= 10 || strncmp(token->start, "__builtin_", 10) != 0) return 1;
    struct word rest = {TOKEN_WORD, token->start + 10, token->length - 10, token->line};
    if (word_in(&rest, harmless_builtins)) return 1;
    return refuse_word(check, token->line, "%.*s is nothing that a kernel file has a use for", token);
}

/* `_Pragma("unroll 4")` says in a macro what `#pragma unroll 4` says in a line. */
static int check_pragma_operator(struct check *check, struct scan *s, const struct word *word)
{
    struct word open = next_word_of(s), text = next_word_of(s);
    size_t length = text.length > 2 ? text.length - 2 : 0;
    if (!word_is(&open, "(") || text.kind != TOKEN_LITERAL || *text.start != '"' ||
        memchr(text.start, '\\', text.length) != NULL)
        return refuse_word(check, word->line, "%.*s takes a plain string here", word);
    struct scan inside = scan_open(text.start + 1, length, s->line + (text.start + 1 - s->text));
    int fine = check_pragma(check, &inside, word->line);
    scan_close(&inside);
    return fine;
}

static int check_defined_name(struct check *check, const struct scan *s, const struct word *define)
{
    struct scan inside = directive_of(s, define);
    (void)next_word_of(&inside); /* define */
    struct word name = next_word_of(&inside);
    const int fine =
        !is_name_of_the_device(&name) ||
        refuse_word(check, define->line, "#define %.*s: that name is the software device's own", &name);
    scan_close(&inside);
    return fine;
}

static int check_written_word(struct check *check, struct scan *s, const struct word *word)
{
    if (!check_plain(check, word)) return 0;
    if (word->kind == TOKEN_DIRECTIVE) return check_directive(check, s, word);
    if (word->kind == TOKEN_DEFINE) return check_defined_name(check, s, word);
    if (word->kind != TOKEN_WORD) return 1;
    if (word_is(word, "_Pragma")) return check_pragma_operator(check, s, word);
    if (word_in(word, forbidden_words) || word_in(word, forbidden_attributes))
        return refuse_word(check, word->line, "%.*s is nothing that a kernel file has a use for", word);
    if (word->length > 5 && strncmp(word->start, "SIMT_", 5) == 0)
        return refuse_word(check, word->line,
                           "%.*s: names that begin with SIMT_ are the software device's own", word);
    return check_builtin(check, word);
}

int source_check_text(const char *text, const char *name, const struct lesson_folder *lesson,
                      struct text *sentence)
{
    struct check check = {.name = name, .lesson = lesson, .sentence = sentence};
    if (strncmp(text, "\xef\xbb\xbf", 3) == 0) text += 3; /* a byte-order mark */
    if (!check_bytes(&check, text)) return 0;
    struct scan s = scan_open(text, strlen(text), NULL);
    int fine = 1;
    while (fine && s.at + 1 < s.tokens.count) {
        struct word word = next_word_of(&s);
        fine = check_written_word(&check, &s, &word);
    }
    scan_close(&s);
    return fine;
}

int source_line_of(const char *text, const char *word)
{
    struct scan s = scan_open(text, strlen(text), NULL);
    int line = 0;
    while (line == 0 && s.at + 1 < s.tokens.count) {
        struct word found = next_word_of(&s);
        if (found.kind == TOKEN_WORD && word_is(&found, word)) line = found.line;
    }
    scan_close(&s);
    return line;
}

void source_blank_comments(char *text)
{
    struct tokens tokens = tokens_of(text);
    size_t end = 0;
    for (size_t i = 0; i < tokens.count; i++) { /* between tokens there are blanks and comments */
        for (; end < tokens.list[i].start; end++)
            if (text[end] != '\n') text[end] = ' ';
        end += tokens.list[i].length;
    }
    tokens_drop(&tokens);
}

int source_has_assembly(const char *text)
{
    return source_line_of(text, "asm") || source_line_of(text, "__asm") || source_line_of(text, "__asm__") ||
           strstr(text, "##") != NULL || strstr(text, "%:%:") != NULL; /* or may be pasted together */
}

/* ---- what the preprocessor made of it ------------------------------------------------------------------ */

/* Attributes that the device's headers use, and others that only affect their own declaration. */
static const char *const harmless_attributes[] = {"noinline",
                                                  "__noinline__",
                                                  "always_inline",
                                                  "__always_inline__",
                                                  "used",
                                                  "__used__",
                                                  "unused",
                                                  "__unused__",
                                                  "aligned",
                                                  "__aligned__",
                                                  "noreturn",
                                                  "pure",
                                                  "const",
                                                  "cold",
                                                  "hot",
                                                  "flatten",                        /* __global__ */
                                                  "no_profile_instrument_function", /* __device__ */
                                                  "packed",
                                                  "warn_unused_result",
                                                  "may_alias",
                                                  "nodiscard",
                                                  "maybe_unused",
                                                  "fallthrough",
                                                  "likely",
                                                  "unlikely",
                                                  "gnu",
                                                  "nothrow",
                                                  "deprecated",
                                                  "gnu_inline",
                                                  "patchable_function_entry",
                                                  NULL};

/* 1 if (1, 0) follows, as in `__global__`. Where that is the first word after an #include, the compiler does not say that the
 * attributes come from a header; a function that has them itself is a kernel, too. */
static int lists_a_kernel(const struct scan *s)
{
    static const char *const arguments[] = {"(", "1", ",", "0", ")"};
    size_t at = s->at;
    for (size_t i = 0; i < sizeof arguments / sizeof arguments[0]; i++) {
        const struct word word = word_at(s, at++);
        if (!word_is(&word, arguments[i])) return 0;
    }
    return 1;
}

/* After `__attribute__`: checks names at depth two, and skips their arguments. */
static int check_attribute(struct check *check, struct scan *s)
{
    struct word before = {0};
    int depth = 0;
    do {
        struct word word = next_word_of(s);
        if (word.kind == TOKEN_END) return 1;
        if (word_is(&word, "(")) depth++;
        if (word_is(&word, ")")) depth--;
        if (depth == 2 && word.kind == TOKEN_WORD) {
            before = word;
            const int lists =
                !check->of_headers && word_is(&word, "patchable_function_entry") && !lists_a_kernel(s);
            if (lists || (!word_in(&word, harmless_attributes) && !word_is(&word, "section")))
                return refuse_word(check, word.line, "the attribute %.*s is not allowed here", &word);
        }
        if (word.kind == TOKEN_LITERAL && word_is(&before, "section") && !word_is(&word, "\"simt_device\"") &&
            !word_is(&word, "\"simt_constant\""))
            return refuse_word(check, word.line, "the section %.*s is not allowed here", &word);
    } while (depth > 0);
    return 1;
}

/* After `[[`. An index in brackets within brackets looks the same, but C++ reserves two brackets in a row
 * for attributes. */
static int check_brackets(struct check *check, struct scan *s)
{
    (void)next_word_of(s); /* the second bracket */
    for (int depth = 2; depth > 0;) {
        struct word word = next_word_of(s);
        if (word.kind == TOKEN_END) return 1;
        depth += word_is(&word, "[") - word_is(&word, "]");
        if (word.kind == TOKEN_WORD && !word_in(&word, harmless_attributes) && !word_is(&word, "using"))
            return refuse_word(check, word.line, "the attribute %.*s is not allowed here", &word);
    }
    return 1;
}

static int begins_with_one_of(const struct word *word, const char *const *prefixes)
{
    for (; *prefixes != NULL; prefixes++)
        if (word->length >= strlen(*prefixes) && strncmp(word->start, *prefixes, strlen(*prefixes)) == 0)
            return 1;
    return 0;
}

static int check_word(struct check *check, struct scan *s, const struct word *word)
{
    static const char *const assembly[] = {"asm", "__asm", "__asm__", NULL};
    static const char *const attributes[] = {"__attribute__", "__attribute", "__declspec", NULL};
    static const char *const of_the_device[] = {"simt_", NULL};
    /* calls that the compiler makes, on addresses that nobody has looked at */
    static const char *const of_the_runtime[] = {"__cxa_",   "_Unwind_", "__throw_", "__tsan_",
                                                 "__ubsan_", "_Z",       NULL};
    if (word_in(word, assembly))
        return refuse_word(check, word->line, "inline assembly (%.*s) is not allowed on this device", word);
    if (word_in(word, attributes)) return check_attribute(check, s);
    if (!check->of_headers && begins_with_one_of(word, of_the_device))
        return refuse_word(check, word->line,
                           "%.*s: names that begin with simt_ are the software device's own", word);
    if (!check->of_headers && begins_with_one_of(word, of_the_runtime))
        return refuse_word(check, word->line,
                           "%.*s is the compiler's own, and nothing that a kernel file has a use for", word);
    return check_builtin(check, word);
}

/* Handles a preprocessor line in the preprocessor's output: a line marker, which says where the following
 * lines come from, or a pragma. Notes whether the next lines belong to the main file, and their numbers
 * there. */
static int check_marker(struct check *check, const struct scan *whole, const struct word *directive,
                        const char *main_file, int *ours)
{
    struct scan s = directive_of(whole, directive);
    struct word number = next_word_of(&s);
    int fine = 1;
    if (number.kind == TOKEN_NUMBER) {
        struct word file = next_word_of(&s);
        fine = (file.kind == TOKEN_LITERAL && file.length >= 2) ||
               refuse_word(check, directive->line, "a line marker: %.*s", &file);
        struct word path = {TOKEN_LITERAL, file.start + 1, file.length - 2, 0};
        *ours = fine && word_is(&path, main_file);
        struct word flag = next_word_of(&s);
        for (check->of_headers = 0; flag.kind != TOKEN_END; flag = next_word_of(&s))
            check->of_headers |= word_is(&flag, "3");
        check->shift = atoi(number.start) - directive->line - 1;
    } else if (*ours && word_is(&number, "pragma")) {
        fine = check_pragma(check, &s, directive->line);
    } else if (*ours) {
        fine = refuse_word(check, directive->line, "#%.*s is no directive that a kernel file has a use for",
                           &number);
    }
    scan_close(&s);
    return fine;
}

static int check_made_word(struct check *check, struct scan *s, const struct word *word)
{
    if (!check_plain(check, word)) return 0;
    if (word->kind == TOKEN_WORD) return check_word(check, s, word);
    struct word after = word_at(s, s->at);
    if (word_is(word, "[") && word_is(&after, "[")) return check_brackets(check, s);
    return 1;
}

int source_check_preprocessed(const char *text, const char *main_file, const char *name,
                              struct text *sentence)
{
    struct check check = {.name = name, .sentence = sentence};
    struct scan s = scan_open(text, strlen(text), NULL);
    int ours = 0, fine = 1;
    while (fine && s.at + 1 < s.tokens.count) {
        struct word word = next_word_of(&s);
        if (word.kind == TOKEN_DIRECTIVE)
            fine = check_marker(&check, &s, &word, main_file, &ours);
        else if (ours)
            fine = check_made_word(&check, &s, &word);
    }
    scan_close(&s);
    return fine;
}

/* ---- headers, which no macro of the file may change ------------------------------------------------------ */

char *source_includes_alone(const char *text)
{
    struct scan s = scan_open(text, strlen(text), NULL);
    struct text includes = {0};
    int defined = 0, late = 0;
    while (s.at + 1 < s.tokens.count) {
        struct word word = next_word_of(&s);
        defined |= word.kind == TOKEN_DEFINE;
        if (word.kind != TOKEN_DIRECTIVE) continue;
        struct scan inside = directive_of(&s, &word);
        struct word what = next_word_of(&inside);
        defined |= word_is(&what, "undef");
        if (word_is(&what, "include")) {
            const char *name = what.start + what.length + strspn(what.start + what.length, " \t");
            size_t length = *name != '\0' ? 1 + strcspn(name + 1, *name == '<' ? ">" : "\"") : 0;
            text_print(&includes, "#include %.*s%c\n", (int)length, name, *name == '<' ? '>' : '"');
            late |= defined;
        }
        scan_close(&inside);
    }
    scan_close(&s);
    if (!late) text_free(&includes);
    return includes.data;
}

/** A line of a header in the preprocessor's output. */
struct header_line {
    const char *file, *text;
    size_t file_length, length;
    int number;
};

/* The lines of headers in the output for @p main_file from @p *at on, one for each call; 0 at the end. The file and the number of
 * @p line go on from call to call. */
static int next_header_line(const char **at, const char *main_file, struct header_line *line)
{
    while (**at != '\0') {
        const char *text = *at;
        const size_t length = strcspn(text, "\n");
        *at += length + (text[length] == '\n');
        line->number++;
        if (text[0] == '#' && text[1] == ' ' && isdigit((unsigned char)text[2])) {
            const char *quote = strchr(text, '"');
            line->number = atoi(text + 2) - 1;
            line->file = quote != NULL ? quote + 1 : text + length;
            line->file_length = strcspn(line->file, "\"\n");
            continue;
        }
        const int ours =
            line->file_length == strlen(main_file) && strncmp(line->file, main_file, line->file_length) == 0;
        line->text = text;
        line->length = length;
        if (!ours && length > 0) return 1;
    }
    return 0;
}

static int compare_bytes(const char *a, size_t a_length, const char *b, size_t b_length)
{
    return a_length != b_length ? (a_length < b_length ? -1 : 1) : memcmp(a, b, a_length);
}

static int by_place_and_text(const void *a, const void *b)
{
    const struct header_line *left = a, *right = b;
    if (left->number != right->number) return left->number < right->number ? -1 : 1;
    const int files = compare_bytes(left->file, left->file_length, right->file, right->file_length);
    return files != 0 ? files : compare_bytes(left->text, left->length, right->text, right->length);
}

int source_check_headers(const char *text, const char *main_file, const char *plain, const char *plain_file,
                         const char *name, struct text *sentence)
{
    struct header_line line = {.file = ""};
    struct text known = {0};
    int fine = 1;
    for (const char *at = plain; next_header_line(&at, plain_file, &line);)
        text_append(&known, (const char *)&line, sizeof line);
    const size_t count = known.length / sizeof line;
    if (count > 0) qsort(known.data, count, sizeof line, by_place_and_text);
    line = (struct header_line){.file = ""};
    for (const char *at = text; fine && next_header_line(&at, main_file, &line);) {
        fine = count > 0 && bsearch(&line, known.data, count, sizeof line, by_place_and_text) != NULL;
        if (!fine)
            text_print(
                sentence,
                "%s: a macro of this file changes line %d of %.*s: put each #include above each #define",
                name, line.number, (int)line.file_length, line.file);
    }
    text_free(&known);
    return fine;
}

/* ---- which files the compiler opened ------------------------------------------------------------------- */

static int path_lies_below(const char *path, const char *const *folders)
{
    for (; *folders != NULL; folders++) {
        size_t n = strlen(*folders);
        if (strncmp(path, *folders, n) == 0 && (path[n] == '\0' || path[n] == '/')) return 1;
    }
    return 0;
}

/* The next name of a list of dependencies in the syntax of Make: blanks separate, a backslash escapes,
 * `$$` is `$`. NULL at the end; *at_end says whether it was the target. */
static char *next_dependency(const char **at, int *is_target)
{
    struct text name = {0};
    for (;; ++*at) {
        if (**at == '\\' && ((*at)[1] == '\n' || (*at)[1] == '\r'))
            ++*at;
        else if (!isspace((unsigned char)**at))
            break;
    }
    if (!**at) return NULL;
    while (**at && !isspace((unsigned char)**at)) {
        if (**at == '\\' && (*at)[1] == '\n') break;
        if ((**at == '\\' && strchr(" #\\", (*at)[1]) != NULL && (*at)[1]) ||
            (**at == '$' && (*at)[1] == '$'))
            ++*at;
        text_append(&name, (*at)++, 1);
    }
    *is_target = name.length > 0 && name.data[name.length - 1] == ':';
    return name.data;
}

int source_check_dependencies(const char *list, const char *main_file, const char *name,
                              const struct source_places *rules, struct text *sentence)
{
    int is_target, fine = 1;
    for (char *path; fine && (path = next_dependency(&list, &is_target)) != NULL; free(path)) {
        if (is_target || strcmp(path, main_file) == 0) continue;
        char *real = realpath(path, NULL);
        fine = real != NULL && path_lies_below(real, rules->folders) &&
               (!path_lies_below(real, rules->trees) || path_lies_below(real, rules->of_trees));
        if (!fine)
            text_print(sentence, "%s: the compiler opened %s, which a kernel file may not include", name,
                       path);
        free(real);
    }
    return fine;
}
