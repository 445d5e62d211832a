/**
 * @file source_check.c
 * @brief A scanner just good enough to tell code from comments and strings, and the two checks built on it.
 *
 * Not simtcc's lexer (common/simt/simtcc/lexer.c), which reads what it is to rewrite: this one reads untrusted text, for
 * nvcc as well, and what it cannot be sure of it refuses.
 */
#include "source_check.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "course/course.h"

/* ---- the scanner --------------------------------------------------------------------------------------- */

enum token_kind { TOKEN_END, TOKEN_LINE, TOKEN_WORD, TOKEN_NUMBER, TOKEN_STRING, TOKEN_OTHER, TOKEN_RAW };

struct token {
    enum token_kind kind;
    const char *start; /* in the spliced text */
    size_t length;
    int line;
};

/* The text with lines that end in a backslash joined to the next, and the line that every byte came from. */
struct scanner {
    char *text;
    int *line;
    size_t at, length;
};

static struct scanner scanner_open(const char *text)
{
    size_t length = strlen(text), out = 0;
    struct scanner s = {must_allocate(length + 2), must_allocate((length + 2) * sizeof(int)), 0, 0};
    int line = 1;
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\\') { /* compilers let blanks stand before the end of the line */
            size_t blank = strspn(text + i + 1, " \t\r\f\v");
            if (text[i + 1 + blank] == '\n') {
                i += 1 + blank;
                line++;
                continue;
            }
        }
        s.line[out] = line;
        s.text[out++] = text[i];
        line += text[i] == '\n';
    }
    s.line[out] = line;
    s.length = out;
    return s;
}

static void scanner_close(struct scanner *s)
{
    free(s->text);
    free(s->line);
}

static int is_word_byte(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

/* Skips blanks and comments within the line. */
static void skip_blanks(struct scanner *s)
{
    for (;;) {
        const char *at = s->text + s->at;
        if (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\f' || *at == '\v') {
            s->at++;
        } else if (at[0] == '/' && at[1] == '/') {
            s->at += strcspn(at, "\n");
        } else if (at[0] == '/' && at[1] == '*') {
            const char *end = strstr(at + 2, "*/");
            s->at = end ? (size_t)(end + 2 - s->text) : s->length;
        } else {
            return;
        }
    }
}

static size_t quoted_length(const char *at)
{
    size_t length = 1;
    while (at[length] != '\0' && at[length] != '\n' && at[length] != at[0]) {
        length += at[length] == '\\' && at[length + 1] != '\0' && at[length + 1] != '\n' ? 2 : 1;
    }
    return length + (at[length] == at[0]);
}

static size_t number_length(const char *at)
{
    size_t length = 1;
    for (;; length++) {
        int sign = (at[length] == '+' || at[length] == '-') && strchr("eEpP", at[length - 1]);
        int separator = at[length] == '\'' && is_word_byte(at[length + 1]);
        if (!is_word_byte(at[length]) && at[length] != '.' && !sign && !separator) return length;
    }
}

static int begins_raw_string(const char *at, size_t length)
{
    static const char *const prefixes[] = {"R", "LR", "uR", "UR", "u8R"};
    for (size_t i = 0; at[length] == '"' && i < sizeof prefixes / sizeof prefixes[0]; i++) {
        if (strlen(prefixes[i]) == length && strncmp(at, prefixes[i], length) == 0) return 1;
    }
    return 0;
}

static struct token next_token(struct scanner *s)
{
    skip_blanks(s);
    const char *at = s->text + s->at;
    struct token token = {TOKEN_OTHER, at, 1, s->line[s->at]};
    if (s->at >= s->length) {
        token.kind = TOKEN_END;
        token.length = 0;
    } else if (*at == '\n') {
        token.kind = TOKEN_LINE;
    } else if (*at == '"' || *at == '\'') {
        token.kind = TOKEN_STRING;
        token.length = quoted_length(at);
    } else if (isdigit((unsigned char)*at) || (*at == '.' && isdigit((unsigned char)at[1]))) {
        token.kind = TOKEN_NUMBER;
        token.length = number_length(at);
    } else if (is_word_byte(*at)) {
        while (is_word_byte(at[token.length])) token.length++;
        token.kind = begins_raw_string(at, token.length) ? TOKEN_RAW : TOKEN_WORD;
    }
    s->at += token.length;
    return token;
}

static int token_is(const struct token *token, const char *text)
{
    return token->length == strlen(text) && strncmp(token->start, text, token->length) == 0;
}

static int token_in(const struct token *token, const char *const *list)
{
    for (; *list; list++) {
        if (token_is(token, *list)) return 1;
    }
    return 0;
}

static void skip_line(struct scanner *s)
{
    for (struct token token = next_token(s); token.kind != TOKEN_LINE && token.kind != TOKEN_END;) {
        token = next_token(s);
    }
}

/* ---- the file as it was written ------------------------------------------------------------------------ */

struct check {
    struct scanner scanner;
    const char *name;
    const struct lesson_folder *lesson;
    struct text *sentence;
};

static int refuse(struct check *check, int line, const char *what, const struct token *token)
{
    text_print(check->sentence, "%s:%d: ", check->name, line);
    text_print(check->sentence, what, (int)(token->length < 80 ? token->length : 80), token->start);
    return 0;
}

/* Plain C and C++ headers that compute or name types; none of them reaches the machine. */
static const char *const plain_headers[] = {
    "stdint.h", "stddef.h", "stdbool.h", "limits.h", "float.h",     "math.h",  "stdlib.h",   "string.h",
    "stdio.h",  "assert.h", "cstdint",   "cstddef",  "climits",     "cfloat",  "cmath",      "cstdlib",
    "cstring",  "cstdio",   "cassert",   "limits",   "type_traits", "utility", "cuda_fp8.h", NULL};

int source_header_allowed(const char *header, const struct lesson_folder *lesson)
{
    const char *const folders[] = {format_string("%s/lessons/%s", course_source_dir(), lesson->name),
                                   format_string("%s/common/contracts", course_source_dir()),
                                   format_string("%s/common/decode", course_source_dir()),
                                   format_string("%s/common/simt/include", course_source_dir())};
    size_t length = strlen(header);
    int allowed = 0;
    for (size_t i = 0; plain_headers[i]; i++) allowed = allowed || strcmp(header, plain_headers[i]) == 0;
    int plain = length > 2 && strcmp(header + length - 2, ".h") == 0 && !strchr(header, '/');
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        char *path = format_string("%s/%s", folders[i], header);
        allowed = allowed || (plain && access(path, R_OK) == 0);
        free(path);
        free((char *)folders[i]);
    }
    return allowed;
}

/* `#include`, up to the end of its line: one plain name, and one that is allowed. */
static int check_include(struct check *check, int line)
{
    struct scanner *s = &check->scanner;
    skip_blanks(s);
    const char *at = s->text + s->at;
    char close = *at == '<' ? '>' : '"';
    size_t length = strcspn(at + (*at != '\0'), close == '>' ? ">\n" : "\"\n");
    struct token name = {TOKEN_STRING, at + 1, length, line};
    if ((*at != '<' && *at != '"') || at[1 + length] != close) {
        name = (struct token){TOKEN_OTHER, at, strcspn(at, "\n"), line};
        return refuse(check, line, "an #include must name its file plainly, not as %.*s", &name);
    }
    char *header = format_string("%.*s", (int)length, at + 1);
    int allowed = source_header_allowed(header, check->lesson);
    free(header);
    s->at += length + 2;
    if (!allowed)
        return refuse(check, line, "includes %.*s, which is none of the headers a kernel file may include",
                      &name);
    return 1;
}

static int is_pragma_harmless(const struct token *word)
{
    static const char *const harmless[] = {"unroll",          "nounroll", "once",      "nv_diag_suppress",
                                           "nv_diag_default", "region",   "endregion", NULL};
    return token_in(word, harmless);
}

static int check_directive(struct check *check)
{
    static const char *const ordinary[] = {"define", "undef", "if",    "ifdef",   "ifndef", "elif",
                                           "else",   "endif", "error", "warning", NULL};
    struct token word = next_token(&check->scanner);
    if (word.kind == TOKEN_LINE || word.kind == TOKEN_END) return 1;
    if (token_is(&word, "include")) return check_include(check, word.line);
    if (token_is(&word, "pragma")) {
        struct token what = next_token(&check->scanner);
        if (!is_pragma_harmless(&what))
            return refuse(check, what.line, "#pragma %.*s is not allowed here (#pragma unroll is)", &what);
        return 1;
    }
    if (token_in(&word, ordinary)) return 1;
    return refuse(check, word.line, "#%.*s is no directive that a kernel file has a use for", &word);
}

/* Words by which a file could ask what it is compiled on, where, or when. */
static const char *const forbidden_words[] = {
    "__has_include", "__has_include_next", "__has_embed", "__TIME__",
    "__DATE__",      "__TIMESTAMP__",      "__pragma",    NULL};
/* Attributes that make code run or be found where nobody expects it. */
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
                                                   "symver",
                                                   "__symver__",
                                                   NULL};

/* Copies are not among them: as built-ins they would pass unseen by the software device. */
static const char *const harmless_builtins[] = {"inff",         "inf",
                                                "nanf",         "nan",
                                                "nansf",        "huge_val",
                                                "huge_valf",    "expect",
                                                "unreachable",  "constant_p",
                                                "popcount",     "popcountl",
                                                "popcountll",   "clz",
                                                "clzl",         "clzll",
                                                "ctz",          "ctzl",
                                                "ctzll",        "ffs",
                                                "ffsl",         "ffsll",
                                                "offsetof",     "assume_aligned",
                                                "prefetch",     "isnan",
                                                "isinf",        "isfinite",
                                                "signbit",      "fabsf",
                                                "fabs",         "sqrtf",
                                                "sqrt",         "bswap32",
                                                "bswap64",      "is_constant_evaluated",
                                                "bit_cast",     "addressof",
                                                "trap",         "types_compatible_p",
                                                "choose_expr",  "add_overflow",
                                                "sub_overflow", "mul_overflow",
                                                "assume",       NULL};

static int check_builtin(struct check *check, const struct token *token)
{
    if (token->length <= 10 || strncmp(token->start, "__builtin_", 10) != 0) return 1;
    struct token rest = {TOKEN_WORD, token->start + 10, token->length - 10, token->line};
    if (token_in(&rest, harmless_builtins)) return 1;
    return refuse(check, token->line, "%.*s is nothing that a kernel file has a use for", token);
}

/* `_Pragma("unroll 4")` is the one that macros need. */
static int check_pragma_operator(struct check *check, const struct token *word)
{
    struct token open = next_token(&check->scanner), text = next_token(&check->scanner);
    if (token_is(&open, "(") && text.kind == TOKEN_STRING && text.length > 7 &&
        strncmp(text.start, "\"unroll", 7) == 0)
        return 1;
    return refuse(check, word->line, "%.*s is allowed for unroll only", word);
}

int source_check_text(const char *text, const char *name, const struct lesson_folder *lesson,
                      struct text *sentence)
{
    struct check check = {scanner_open(text), name, lesson, sentence};
    int fresh_line = 1, fine = 1;
    for (struct token token = next_token(&check.scanner); fine && token.kind != TOKEN_END;
         token = next_token(&check.scanner)) {
        int colon = *(token.start + 1) == ':';
        if (token.kind == TOKEN_LINE) {
            fresh_line = 1;
            continue;
        }
        if (fresh_line && (*token.start == '#' || (*token.start == '%' && colon))) {
            check.scanner.at += *token.start == '%';
            fine = check_directive(&check);
        } else if (token.kind == TOKEN_RAW) {
            fine = refuse(&check, token.line, "raw string literals (%.*s\"…) are not allowed here", &token);
        } else if (token_is(&token, "_Pragma")) {
            fine = check_pragma_operator(&check, &token);
        } else if (token.kind == TOKEN_WORD &&
                   (token_in(&token, forbidden_words) || token_in(&token, forbidden_attributes))) {
            fine = refuse(&check, token.line, "%.*s is nothing that a kernel file has a use for", &token);
        } else if (token.kind == TOKEN_WORD) {
            fine = check_builtin(&check, &token);
        }
        fresh_line = 0;
    }
    scanner_close(&check.scanner);
    return fine;
}

int source_line_of(const char *text, const char *word)
{
    struct scanner s = scanner_open(text);
    int line = 0;
    for (struct token token = next_token(&s); line == 0 && token.kind != TOKEN_END; token = next_token(&s)) {
        if (token.kind == TOKEN_WORD && token_is(&token, word)) line = token.line;
    }
    scanner_close(&s);
    return line;
}

void source_blank_comments(char *text)
{
    for (char *at = text; *at;) {
        if (*at == '"' || *at == '\'') {
            at += quoted_length(at);
        } else if (at[0] == '/' && (at[1] == '/' || at[1] == '*')) {
            const char *end = at[1] == '/' ? strchr(at, '\n') : strstr(at + 2, "*/");
            size_t length = end ? (size_t)(end - at) + (at[1] == '*' ? 2 : 0) : strlen(at);
            memset(at, ' ', length);
            at += length;
        } else {
            at++;
        }
    }
}

int source_has_assembly(const char *text)
{
    return source_line_of(text, "asm") || source_line_of(text, "__asm") || source_line_of(text, "__asm__") ||
           strstr(text, "##") || strstr(text, "%:%:"); /* or may be pasted together */
}

/* ---- what the preprocessor made of it ------------------------------------------------------------------ */

/* Attributes that the device's headers put there, and others that only speak of the thing itself. */
static const char *const harmless_attributes[] = {
    "noinline",  "__noinline__", "always_inline", "__always_inline__", "used",     "__used__",
    "unused",    "__unused__",   "aligned",       "__aligned__",       "noreturn", "pure",
    "const",     "cold",         "hot",           "flatten",           "packed",   "warn_unused_result",
    "may_alias", "nodiscard",    "maybe_unused",  "fallthrough",       "likely",   "unlikely",
    "gnu",       "nothrow",      "deprecated",    "gnu_inline",        NULL};

/* After `__attribute__`: names at depth two, with what they are given skipped. */
static int check_attribute(struct check *check)
{
    struct token before = {0};
    int depth = 0;
    do {
        struct token token = next_token(&check->scanner);
        if (token.kind == TOKEN_END) return 1;
        if (token_is(&token, "(")) depth++;
        if (token_is(&token, ")")) depth--;
        if (depth == 2 && token.kind == TOKEN_WORD) {
            before = token;
            if (!token_in(&token, harmless_attributes) && !token_is(&token, "section"))
                return refuse(check, token.line, "the attribute %.*s is not allowed here", &token);
        }
        if (token.kind == TOKEN_STRING && token_is(&before, "section") &&
            !token_is(&token, "\"simt_device\"") && !token_is(&token, "\"simt_constant\""))
            return refuse(check, token.line, "the section %.*s is not allowed here", &token);
    } while (depth > 0);
    return 1;
}

/* After `[[`. An index in brackets within brackets looks the same and has names that are no attributes, but
 * C++ gives two brackets in a row to attributes alone. */
static int check_brackets(struct check *check)
{
    for (;;) {
        struct token token = next_token(&check->scanner);
        if (token.kind == TOKEN_END || token_is(&token, "]")) return 1;
        if (token.kind == TOKEN_WORD && !token_in(&token, harmless_attributes) && !token_is(&token, "using"))
            return refuse(check, token.line, "the attribute %.*s is not allowed here", &token);
    }
}

static int check_word(struct check *check, const struct token *token)
{
    static const char *const assembly[] = {"asm", "__asm", "__asm__", NULL};
    static const char *const attributes[] = {"__attribute__", "__attribute", "__declspec", NULL};
    if (token_in(token, assembly))
        return refuse(check, token->line, "inline assembly (%.*s) is not allowed on this device", token);
    if (token_in(token, attributes)) return check_attribute(check);
    return check_builtin(check, token);
}

static int lies_below(const char *path, size_t length, const char *const *folders)
{
    for (; *folders; folders++) {
        size_t n = strlen(*folders);
        if (n <= length && strncmp(path, *folders, n) == 0 && (n == length || path[n] == '/')) return 1;
    }
    return 0;
}

/* A line marker, after its `#` and number. Sets whether what follows is the main file's; 0 if refused. */
static int check_marker(struct check *check, const char *main_file, const char *const *folders, int line,
                        int *ours)
{
    struct token file = next_token(&check->scanner);
    if (file.kind != TOKEN_STRING || file.length < 2)
        return refuse(check, line, "a line marker: %.*s", &file);
    struct token path = {TOKEN_STRING, file.start + 1, file.length - 2, line};
    int built_in = path.length > 0 && (path.start[0] == '<' || path.start[path.length - 1] == '/');
    *ours = token_is(&path, main_file);
    skip_line(&check->scanner);
    if (*ours || built_in || (!strstr(path.start, "/../") && lies_below(path.start, path.length, folders)))
        return 1;
    return refuse(check, line, "the compiler opened %.*s, which a kernel file may not include", &path);
}

int source_check_preprocessed(const char *text, const char *main_file, const char *name,
                              const char *const *folders, struct text *sentence)
{
    struct check check = {scanner_open(text), name, NULL, sentence};
    int fresh_line = 1, ours = 0, fine = 1, line = 1;
    while (fine) {
        struct token token = next_token(&check.scanner);
        if (token.kind == TOKEN_END) break;
        token.line = line; /* the line in the student's file, not in this text */
        line += token.kind == TOKEN_LINE;
        if (fresh_line && *token.start == '#') {
            struct token number = next_token(&check.scanner);
            if (number.kind == TOKEN_NUMBER) {
                line = atoi(number.start);
                fine = check_marker(&check, main_file, folders, line, &ours);
                continue;
            }
            struct token what = next_token(&check.scanner);
            what.line = line;
            if (ours && !is_pragma_harmless(&what))
                fine = refuse(&check, line, "#pragma %.*s is not allowed here (#pragma unroll is)", &what);
        } else if (ours && token.kind == TOKEN_WORD) {
            fine = check_word(&check, &token);
        } else if (ours && *token.start == '[' && check.scanner.text[check.scanner.at] == '[') {
            fine = check_brackets(&check);
        } else if (ours && token.kind == TOKEN_RAW) {
            fine = refuse(&check, line, "raw string literals (%.*s\"…) are not allowed here", &token);
        }
        fresh_line = token.kind == TOKEN_LINE;
    }
    scanner_close(&check.scanner);
    return fine;
}
