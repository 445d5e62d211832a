/**
 * @file rewrite.c
 * @brief One pass over the tokens of a file, collecting changes; then the text with the changes made.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "hosts.h"
#include "rewriter.h"

/* ---- scopes -------------------------------------------------------------------------------------------- */

/** The braces around the current token. Branches of an `#if` may each open the same brace, so the depth at
 *  each `#if` is kept. */
struct scopes {
    struct scope {
        char transparent; /**< 1 for a namespace or extern "C" */
        char declares;    /**< 1 for a namespace or a class, and not in a function */
        enum side side;
    } * list; /**< of each open brace */
    size_t count, capacity;
    size_t *conditional; /**< for each open #if: the number of braces at its start */
    size_t conditional_count, conditional_capacity;
};

static int opens_namespace(const struct tokens *t, size_t brace)
{
    for (size_t i = declaration_start(t, brace); i < brace; i++)
        if (token_is(t, i, "namespace") ||
            (token_is(t, i, "extern") && t->list[i + 1].kind == TOKEN_LITERAL && i + 2 == brace))
            return 1;
    return 0;
}

static int directive_is(const struct tokens *t, size_t i, const char *name)
{
    const char *s = t->source + t->list[i].start + 1;
    s += strspn(s, " \t");
    return strncmp(s, name, strlen(name)) == 0;
}

static void follow_conditional(struct scopes *s, const struct tokens *t, size_t i)
{
    if (directive_is(t, i, "if")) {
        s->conditional =
            array_grow(s->conditional, &s->conditional_capacity, s->conditional_count, sizeof(size_t));
        s->conditional[s->conditional_count++] = s->count;
    } else if (s->conditional_count > 0 && directive_is(t, i, "el")) {
        size_t start = s->conditional[s->conditional_count - 1];
        if (s->count > start) s->count = start;
    } else if (s->conditional_count > 0 && directive_is(t, i, "endif")) {
        s->conditional_count--;
    }
}

static int scope_depth(const struct scopes *s)
{
    int depth = 0;
    for (size_t i = 0; i < s->count; i++) depth += !s->list[i].transparent;
    return depth;
}

static enum side side_around(const struct scopes *s)
{
    return s->count > 0 ? s->list[s->count - 1].side : SIDE_UNKNOWN;
}

/** The side that the declaration before a brace names, or else that of the code around it. */
static enum side side_of(const struct scopes *s, const struct tokens *t, size_t brace)
{
    int device = 0, host = 0;
    for (size_t i = declaration_start(t, brace); i < brace; i++) {
        if (token_is(t, i, "__global__") || token_is(t, i, "__device__")) device = 1;
        if (token_is(t, i, "__host__")) host = 1;
    }
    if (device || host) return !device ? SIDE_HOST : host ? SIDE_BOTH : SIDE_DEVICE;
    return side_around(s);
}

/** 1 if functions may be defined at this place: inside other functions they do not count. */
static int declares_functions(const struct scopes *s)
{
    return s->count == 0 || s->list[s->count - 1].declares;
}

static void follow_braces(struct scopes *s, const struct tokens *t, size_t i)
{
    if (token_is(t, i, "{")) {
        s->list = array_grow(s->list, &s->capacity, s->count, sizeof *s->list);
        const int transparent = opens_namespace(t, i);
        const int declares = declares_functions(s) && (transparent || is_class_body(t, i));
        const struct scope scope = {(char)transparent, (char)declares, side_of(s, t, i)};
        s->list[s->count++] = scope;
    } else if (token_is(t, i, "}") && s->count > 0) {
        s->count--;
    }
}

/* ---- single words -------------------------------------------------------------------------------------- */

/** The compiler expands these built-ins itself, so that no callback reports them: the library's function is called instead. */
static void rewrite_builtin(struct rewriter *r, size_t i)
{
    static const char *const names[] = {"__builtin_memcpy", "__builtin_memmove", "__builtin_memset"};
    const struct token *word = &r->tokens->list[i];
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++)
        if (token_is(r->tokens, i, names[n]) && token_is(r->tokens, i + 1, "("))
            edit_add(r, word->start, word->length, format_string("::%s", names[n] + strlen("__builtin_")));
}

static size_t rewrite_word(struct rewriter *r, size_t i)
{
    const struct tokens *t = r->tokens;
    if (r->kernels->macro_count > 0) rewrite_launch_by_macro(r, i);
    if (token_is(t, i, "__shared__")) return rewrite_shared(r, i);
    if (token_is(t, i, "__device__") || token_is(t, i, "__constant__") || token_is(t, i, "__managed__"))
        rewrite_own_variable(r, i);
    if (token_is(t, i, "__device__")) rewrite_device_variable(r, i);
    if (token_is(t, i, "__constant__")) rewrite_constant(r, i);
    if (token_is(t, i, "__global__")) rewrite_kernel(r, i);
    if (token_is(t, i, "cudaLaunchKernel") || token_is(t, i, "cudaLaunchCooperativeKernel"))
        rewrite_launch_call(r, i);
    if (token_is(t, i, "asm") || token_is(t, i, "__asm__") || token_is(t, i, "__asm")) rewrite_assembly(r, i);
    if (token_is(t, i, "__noinline__") && (i == 0 || !token_is(t, i - 1, "(")))
        edit_add(r, t->list[i].start, t->list[i].length, format_string("/* may be inlined */"));
    rewrite_builtin(r, i);
    return i;
}

struct include_name include_name_of(const struct tokens *tokens, size_t i)
{
    const struct token *token = &tokens->list[i];
    struct include_name name = {NULL, INCLUDE_MACRO, 0, 0};
    if (token->kind != TOKEN_DIRECTIVE || !directive_is(tokens, i, "include")) return name;
    const char *line = tokens->source + token->start, *end = line + token->length;
    const char *at = (const char *)memchr(line, 'i', token->length) + strlen("include");
    while (at < end && (*at == ' ' || *at == '\t')) at++;
    name.at = (size_t)(at - line);
    if (at < end && (*at == '"' || *at == '<')) {
        const char *close = memchr(at + 1, *at == '<' ? '>' : '"', (size_t)(end - at - 1));
        if (close == NULL) return name;
        name.form = *at == '<' ? INCLUDE_ANGLED : INCLUDE_QUOTED;
        name.length = (size_t)(close + 1 - at);
        name.text = format_string("%.*s", (int)(close - at - 1), at + 1);
        return name;
    }
    while (at < end && (isalnum((unsigned char)*at) || *at == '_')) at++;
    name.length = (size_t)(at - line) - name.at;
    if (name.length > 0) name.text = format_string("%.*s", (int)name.length, line + name.at);
    return name;
}

/** 1 if the include line at token @p i was changed to name another file. */
static int rewrite_include(struct rewriter *r, size_t i, include_function *include, void *context)
{
    const struct token *token = &r->tokens->list[i];
    struct include_name name = include_name_of(r->tokens, i);
    if (include == NULL || name.text == NULL) return 0;
    char *other = include(context, name.text, name.form);
    free(name.text);
    if (other == NULL) return 0;
    char *quoted = format_string("\"%s\"", other);
    free(other);
    edit_add(r, token->start + name.at, name.length, quoted);
    return 1;
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

static int compare_edits(const void *a, const void *b)
{
    const struct edit *x = a, *y = b;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    if ((x->length == 0) != (y->length == 0)) return x->length == 0 ? -1 : 1; /* insertions stand before */
    return x->order < y->order ? -1 : x->order > y->order;
}

/** The source with all changes made. Each replacement keeps the number of newlines. */
static struct text apply_edits(struct rewriter *r, size_t source_length)
{
    struct text out = {0};
    const char *source = r->tokens->source;
    size_t at = 0;
    if (r->edit_count > 0) qsort(r->edits, r->edit_count, sizeof(*r->edits), compare_edits);
    for (size_t i = 0; i < r->edit_count; i++) {
        const struct edit *e = &r->edits[i];
        if (e->start < at) continue; /* inside a replaced text */
        text_add(&out, source + at, e->start - at);
        text_add_string(&out, e->text);
        at = e->start + e->length;
        size_t missing = 0;
        for (size_t j = e->start; j < at; j++) missing += source[j] == '\n';
        for (const char *s = e->text; *s != '\0' && missing > 0; s++) missing -= *s == '\n';
        for (; missing > 0; missing--) text_add_string(&out, "\n");
    }
    text_add(&out, source + at, source_length - at);
    return out;
}

struct text rewrite(const struct tokens *tokens, const struct kernels *kernels, include_function *include,
                    void *context, size_t *changed)
{
    struct rewriter r = {.tokens = tokens, .kernels = kernels};
    struct scopes scopes = {0};
    size_t includes = 0, shared_end = 0, host_functions = 0;
    int in_define = 0;
    for (size_t i = 0; i < tokens->count; i++) {
        enum token_kind kind = tokens->list[i].kind;
        if (kind == TOKEN_DEFINE || kind == TOKEN_DEFINE_END) in_define = kind == TOKEN_DEFINE;
        /* a macro's declarations end up where it is used: in functions */
        r.function_depth = in_define ? 1 : scope_depth(&scopes);
        r.side = in_define ? SIDE_UNKNOWN : side_around(&scopes);
        if (kind == TOKEN_DEFINE) rewrite_brackets_macro(&r, i);
        if (kind == TOKEN_DIRECTIVE) {
            follow_conditional(&scopes, tokens, i);
            includes += (size_t)rewrite_include(&r, i, include, context);
        } else if (kind == TOKEN_WORD && i >= shared_end) {
            size_t last = rewrite_word(&r, i);
            if (last > i) shared_end = last + 1;
        } else if (kind == TOKEN_PUNCTUATION) {
            if (!in_define && token_is(tokens, i, "{") && declares_functions(&scopes) &&
                is_host_function_body(tokens, i)) {
                if (include != NULL) edit_insert(&r, token_end(tokens, i), " SIMT_HOST_FUNCTION;");
                host_functions++;
            }
            if (!in_define) follow_braces(&scopes, tokens, i);
            if (token_is(tokens, i, "<<<")) rewrite_launch(&r, i);
        }
    }
    *changed = r.edit_count - includes + (include == NULL ? host_functions : 0);
    struct text out = apply_edits(&r, tokens->list[tokens->count - 1].start);
    for (size_t i = 0; i < r.edit_count; i++) free(r.edits[i].text);
    free(r.edits);
    free(scopes.list);
    free(scopes.conditional);
    return out;
}
