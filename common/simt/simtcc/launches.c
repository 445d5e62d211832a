/**
 * @file launches.c
 * @brief Finds the kernels, and how to write each launch of one in C++.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "rewriter.h"

/* ---- declarations of kernels --------------------------------------------------------------------------- */

const struct kernel *kernels_find(const struct kernels *kernels, const char *name, size_t length)
{
    for (size_t i = 0; i < kernels->count; i++)
        if (strlen(kernels->list[i].name) == length && strncmp(kernels->list[i].name, name, length) == 0)
            return &kernels->list[i];
    return NULL;
}

void kernels_drop(struct kernels *kernels)
{
    for (size_t i = 0; i < kernels->count; i++) {
        free(kernels->list[i].name);
        for (int told = 0; told < TOLD; told++) free(kernels->list[i].told[told]);
    }
    free(kernels->list);
    for (size_t m = 0; m < kernels->macro_count; m++) free(kernels->macros[m].name);
    free(kernels->macros);
    for (size_t e = 0; e < kernels->extern_count; e++) free(kernels->externs[e]);
    free(kernels->externs);
    *kernels = (struct kernels){0};
}

/** Counts the items between the brackets at @p open and @p close; commas inside further brackets do not
 *  count. */
static int count_items(const struct tokens *t, size_t open, size_t close)
{
    int items = close > open + 1;
    for (size_t i = open + 1; i < close; i++) {
        if (is_opening(t, i))
            i = match_forward(t, i);
        else if (token_is(t, i, "<") && match_angle_forward(t, i) < close)
            i = match_angle_forward(t, i);
        else
            items += token_is(t, i, ",");
    }
    return items;
}

/** Counts the template parameters without a default in the list from `<` to `>`. */
static int count_required(const struct tokens *t, size_t open, size_t close)
{
    int required = 0, has_default = 0;
    for (size_t i = open + 1; i <= close; i++) {
        if (i + 2 < close && token_is(t, i, ".") && token_is(t, i + 1, ".")) return INT_MAX;
        if (is_opening(t, i))
            i = match_forward(t, i);
        else if (token_is(t, i, "<") && match_angle_forward(t, i) < close)
            i = match_angle_forward(t, i);
        else if (token_is(t, i, "="))
            has_default = 1;
        else if (token_is(t, i, ",") || i == close) {
            required += !has_default && close > open + 1;
            has_default = 0;
        }
    }
    return required;
}

static int has_default_argument(const struct tokens *t, size_t open, size_t close)
{
    for (size_t i = open + 1; i < close; i++) {
        if (is_opening(t, i))
            i = match_forward(t, i);
        else if (token_is(t, i, "="))
            return 1;
    }
    return 0;
}

static void add_kernel(struct kernels *kernels, const struct tokens *t, size_t name, struct kernel found)
{
    const char *spelling = t->source + t->list[name].start;
    struct kernel *known = (struct kernel *)kernels_find(kernels, spelling, t->list[name].length);
    if (known == NULL) {
        kernels->list = array_grow(kernels->list, &kernels->capacity, kernels->count, sizeof(*kernels->list));
        found.name = format_string("%.*s", (int)t->list[name].length, spelling);
        kernels->list[kernels->count++] = found;
        return;
    }
    for (int told = 0; told < TOLD; told++) {
        if (known->told[told] == NULL)
            known->told[told] = found.told[told];
        else
            free(found.told[told]);
    }
    known->definitions += found.definitions;
    known->has_defaults |= found.has_defaults;
    if (known->parameters != found.parameters)
        known->definitions += 2; /* overloads of which only one is declared here */
    if (found.template_parameters > known->template_parameters)
        known->template_parameters = found.template_parameters;
}

static const char *const told_word[TOLD] = {"__cluster_dims__", "__launch_bounds__"},
                         *const told_record[TOLD] = {"SIMT_CLUSTER_DIMS", "SIMT_LAUNCH_BOUNDS"};

/** The text between the parentheses of the attribute from @p first to @p last, or NULL. */
static char *find_told(const struct tokens *t, size_t first, size_t last, int told)
{
    for (size_t i = first; i < last; i++) {
        if (!token_is(t, i, told_word[told]) || !token_is(t, i + 1, "(")) continue;
        struct text text = {0};
        text_add_string(&text, "");
        for (size_t j = i + 2, close = match_forward(t, i + 1); j < close; j++) {
            const int joined = t->list[j + 1].start == token_end(t, j); /* "<=" is two */
            text_printf(&text, "%.*s%s", (int)t->list[j].length, t->source + t->list[j].start,
                        joined ? "" : " ");
        }
        return text.data;
    }
    return NULL;
}

/** The name of the kernel in the declaration around the `__global__` at @p i, or a boundary. */
static size_t find_kernel_name(const struct tokens *t, size_t i)
{
    size_t name = i + 1;
    while (!is_boundary(t, name) &&
           !(t->list[name].kind == TOKEN_WORD && token_is(t, name + 1, "(") && !takes_parentheses(t, name)))
        name = takes_parentheses(t, name) ? match_forward(t, name + 1) + 1 : name + 1;
    return name;
}

/** The declaration around the `__global__` at @p i. */
static void collect_at(struct kernels *kernels, const struct tokens *t, size_t i)
{
    size_t first = declaration_start(t, i), name = find_kernel_name(t, i);
    struct kernel found = {NULL, -1, 0, 0, 0, {NULL}};
    if (token_is(t, first, "template")) {
        size_t close = match_angle_forward(t, first + 1);
        if (close == first + 2) return; /* template <>: the general template is declared elsewhere */
        found.template_parameters = count_required(t, first + 1, close);
    }
    if (is_boundary(t, name)) return;
    size_t close = match_forward(t, name + 1), after = close + 1;
    while (!is_boundary(t, after)) after++;
    found.definitions = token_is(t, after, "{");
    for (int told = 0; told < TOLD; told++) found.told[told] = find_told(t, first, after, told);
    found.parameters = count_items(t, name + 1, close);
    found.has_defaults = has_default_argument(t, name + 1, close);
    add_kernel(kernels, t, name, found);
}

/** 1 if the name @p i is also declared as a function that is no kernel: then a launch must choose by its
 *  arguments. */
static void note_namesake(struct kernels *kernels, const struct tokens *t, size_t i)
{
    static const char *const no_types[] = {"return", "else", "do", "goto", "case", "throw", "new", "delete"};
    const struct token *name = &t->list[i];
    struct kernel *k = (struct kernel *)kernels_find(kernels, t->source + name->start, name->length);
    if (k == NULL || t->list[i - 1].kind != TOKEN_WORD) return;
    for (size_t w = 0; w < sizeof no_types / sizeof no_types[0]; w++)
        if (token_is(t, i - 1, no_types[w])) return;
    for (size_t j = declaration_start(t, i); j < i; j++)
        if (token_is(t, j, "__global__")) return;
    const size_t close = match_forward(t, i + 1);
    if (token_is(t, close + 1, "{") || token_is(t, close + 1, ";")) k->definitions += 2;
}

/** The `>>>` that ends the body of the macro at @p i, if the body is the brackets of a launch; else 0. */
static size_t end_of_brackets(const struct tokens *t, size_t i)
{
    size_t end = i + 1;
    if (t->list[i].kind != TOKEN_DEFINE || !token_is(t, end, "<<<")) return 0;
    while (end < t->count && t->list[end].kind != TOKEN_DEFINE_END) end++;
    return end < t->count && token_is(t, end - 1, ">>>") ? end - 1 : 0;
}

static const struct launch_macro *find_macro(const struct kernels *kernels, const char *name, size_t length)
{
    for (size_t m = 0; m < kernels->macro_count; m++)
        if (strlen(kernels->macros[m].name) == length && strncmp(kernels->macros[m].name, name, length) == 0)
            return &kernels->macros[m];
    return NULL;
}

static void collect_macro(struct kernels *kernels, const struct tokens *t, size_t i)
{
    if (end_of_brackets(t, i) == 0) return;
    char *line = format_string("%.*s", (int)t->list[i].length, t->source + t->list[i].start);
    const char *name = strstr(line, "define");
    if (name == NULL) return;
    name += strlen("define");
    name += strspn(name, " \t");
    const size_t length = strcspn(name, " \t\\\r\n(");
    if (find_macro(kernels, name, length) == NULL) {
        kernels->macros = array_grow(kernels->macros, &kernels->macro_capacity, kernels->macro_count,
                                     sizeof *kernels->macros);
        const struct launch_macro macro = {format_string("%.*s", (int)length, name), name[length] == '('};
        kernels->macros[kernels->macro_count++] = macro;
    }
    free(line);
}

void kernels_collect(struct kernels *kernels, const struct tokens *tokens)
{
    for (size_t i = 0; i + 1 < tokens->count; i++) collect_macro(kernels, tokens, i);
    for (size_t i = 0; i < tokens->count; i++) {
        if (token_is(tokens, i, "__global__")) collect_at(kernels, tokens, i);
        if (token_is(tokens, i, "extern")) externs_collect(kernels, tokens, i);
    }
    for (size_t i = 1; i + 1 < tokens->count; i++)
        if (tokens->list[i].kind == TOKEN_WORD && token_is(tokens, i + 1, "("))
            note_namesake(kernels, tokens, i);
}

/** Removes `__cluster_dims__(...)` between two tokens. */
static void remove_cluster(struct rewriter *r, size_t first, size_t last)
{
    const struct tokens *t = r->tokens;
    for (size_t i = first; i < last; i++)
        if (token_is(t, i, "__cluster_dims__") && token_is(t, i + 1, "("))
            edit_remove_tokens(r, i, match_forward(t, i + 1));
}

/** If this declaration of a kernel or an earlier one says `__cluster_dims__` or `__launch_bounds__`, a record of it goes to
 *  the start of the kernel's body. */
void rewrite_kernel(struct rewriter *r, size_t i)
{
    const struct tokens *t = r->tokens;
    size_t name = find_kernel_name(t, i);
    if (is_boundary(t, name)) return;
    size_t body = match_forward(t, name + 1) + 1;
    while (!is_boundary(t, body)) body++;
    if (!token_is(t, body, "{") && !token_is(t, body, ";")) return;
    remove_cluster(r, declaration_start(t, i), body);
    if (token_is(t, body, ";")) return;
    const struct kernel *k = kernels_find(r->kernels, t->source + t->list[name].start, t->list[name].length);
    for (int told = 0; told < TOLD; told++) {
        char *own = find_told(t, declaration_start(t, i), body, told);
        const char *said = own != NULL ? own : k != NULL && k->definitions < 2 ? k->told[told] : NULL;
        if (said != NULL)
            edit_add(r, token_end(t, body), 0, format_string(" %s(%s);", told_record[told], said));
        free(own);
    }
    rewrite_parameters(r, name + 1, body);
}

/* ---- launches ------------------------------------------------------------------------------------------ */

/** What stands before `<<<`. */
struct callee {
    size_t first, name, last; /**< tokens; name is the last word outside template arguments */
    int simple;               /**< only names, `::` and template arguments */
    int template_arguments;   /**< token where the name's template arguments begin; -1: it has none */
};

static struct callee find_callee(const struct tokens *t, size_t launch)
{
    struct callee c = {launch - 1, launch - 1, launch - 1, 1, -1};
    size_t i = launch - 1;
    if (token_is(t, i, ">") || token_is(t, i, ">>>")) {
        size_t open = match_angle_backward(t, i);
        c.template_arguments = count_items(t, open, i);
        i = open - 1;
    }
    c.name = c.first = i;
    for (;;) {
        while (is_closing(t, i) && i > 0) { /* (*kernel), kernels[3], choose(n) */
            c.simple = 0;
            i = match_backward(t, i);
            c.first = i;
            if (i > 0 && (t->list[i - 1].kind == TOKEN_WORD || token_is(t, i - 1, "]"))) c.first = --i;
        }
        if (i == 0) return c;
        int scope = token_is(t, i - 1, "::"), member = token_is(t, i - 1, ".") || token_is(t, i - 1, "->");
        if (!scope && !member) return c;
        c.simple &= scope;
        c.first = i - 1;
        if (i < 2) return c;
        if (scope && token_is(t, i - 2, ">"))
            i = match_angle_backward(t, i - 2) - 1;
        else if (t->list[i - 2].kind == TOKEN_WORD || is_closing(t, i - 2))
            i = i - 2;
        else
            return c; /* ::kernel */
        c.first = i;
    }
}

/** The `>>>` of the launch at @p launch, or 0: the first one outside brackets. */
static size_t find_end(const struct tokens *t, size_t launch)
{
    for (size_t i = launch + 1; i < t->count; i++) {
        if (is_opening(t, i)) /* also a brace: dim3{1, 2} */
            i = match_forward(t, i);
        else if (is_boundary(t, i))
            return 0;
        else if (token_is(t, i, ">>>") && i + 1 < t->count && token_is(t, i + 1, "("))
            return i;
    }
    return 0;
}

/** 1 if the function pointer for call @p c depends on the arguments. */
static int is_deduced(const struct rewriter *r, const struct callee *c, size_t arguments)
{
    const struct tokens *t = r->tokens;
    if (!c->simple) return 0;
    const struct kernel *k =
        kernels_find(r->kernels, t->source + t->list[c->name].start, t->list[c->name].length);
    if (k == NULL) return 0;
    if (k->template_parameters > (c->template_arguments < 0 ? 0 : c->template_arguments)) return 1;
    if (k->template_parameters >= 0 && c->template_arguments < 0) return 1;
    if (k->definitions > 1) return 1;
    return k->has_defaults && count_items(t, arguments, match_forward(t, arguments)) != k->parameters;
}

/** NULL must stay a pointer when its type is deduced. */
static void spell_null_pointers(struct rewriter *r, size_t open)
{
    const struct tokens *t = r->tokens;
    for (size_t i = open + 1, close = match_forward(t, open); i < close; i++)
        if (token_is(t, i, "NULL") && (i == open + 1 || token_is(t, i - 1, ",")) &&
            (i + 1 == close || token_is(t, i + 1, ",")))
            edit_add(r, t->list[i].start, t->list[i].length, format_string("nullptr"));
}

/** Turns the text before the configuration at @p i into the first part of a call, with the kernel's
 *  arguments at @p arguments. 1 if the arguments determine the kernel. */
static int begin_launch(struct rewriter *r, size_t i, size_t arguments)
{
    const struct tokens *t = r->tokens;
    struct callee c = find_callee(t, i);
    int deduced = is_deduced(r, &c, arguments);
    if (t->list[c.name].kind != TOKEN_WORD) /* kernels[3] and choose(n) are looked up by their first word */
        for (c.name = c.first; t->list[c.name].kind != TOKEN_WORD && c.name < i - 1;) c.name++;
    const struct token *name = &t->list[c.name];
    edit_add(r, t->list[c.first].start, 0,
             format_string("%s(simtcc_site{__FILE__, __LINE__, \"%.*s\", nullptr}, %s",
                           deduced ? "simtcc_launch_deduced" : "simtcc_launch_of", (int)name->length,
                           t->source + name->start, deduced ? "[](auto... simtcc_a) { " : ""));
    if (deduced) spell_null_pointers(r, arguments);
    return deduced;
}

void rewrite_launch(struct rewriter *r, size_t i)
{
    const struct tokens *t = r->tokens;
    size_t end = find_end(t, i);
    if (i == 0 || end == 0) return;
    const int deduced = begin_launch(r, i, end + 1);
    edit_add(r, t->list[i].start, t->list[i].length,
             format_string("%s, simtcc_configure(", deduced ? "(simtcc_a...); }" : ""));
    edit_add(r, t->list[end].start, t->list[end].length, format_string("))"));
}

void rewrite_brackets_macro(struct rewriter *r, size_t i)
{
    const struct tokens *t = r->tokens;
    const size_t end = end_of_brackets(t, i);
    if (end == 0) return;
    edit_add(r, t->list[i + 1].start, t->list[i + 1].length, format_string("simtcc_configure("));
    edit_add(r, t->list[end].start, t->list[end].length, format_string(")"));
}

void rewrite_launch_by_macro(struct rewriter *r, size_t i)
{
    const struct tokens *t = r->tokens;
    const struct launch_macro *macro =
        find_macro(r->kernels, t->source + t->list[i].start, t->list[i].length);
    if (macro == NULL || i == 0 || (macro->takes_arguments && !token_is(t, i + 1, "("))) return;
    if (t->list[i - 1].kind != TOKEN_WORD && !token_is(t, i - 1, ">") && !is_closing(t, i - 1)) return;
    const size_t last = macro->takes_arguments ? match_forward(t, i + 1) : i;
    if (!token_is(t, last + 1, "(")) return;
    const int deduced = begin_launch(r, i, last + 1);
    edit_add(r, t->list[i].start, 0, format_string("%s, ", deduced ? "(simtcc_a...); }" : ""));
    edit_add(r, token_end(t, last), 0, format_string(")"));
}

/** cudaLaunchKernel((const void *)kernel, ...), and the cooperative one: drops the cast and adds the place
 *  in the source. */
void rewrite_launch_call(struct rewriter *r, size_t i)
{
    const struct tokens *t = r->tokens;
    const char *by =
        token_is(t, i, "cudaLaunchKernel") ? "simtcc_launch_by_array" : "simtcc_launch_cooperatively";
    if (!token_is(t, i + 1, "(")) return;
    size_t first = i + 2, last = first;
    if (token_is(t, first, "(")) { /* (const void *) */
        size_t close = match_forward(t, first);
        if (token_is(t, close - 1, "*")) {
            edit_remove_tokens(r, first, close);
            first = close + 1;
        }
    } else if (token_is(t, first, "reinterpret_cast") || token_is(t, first, "static_cast")) {
        size_t close = match_angle_forward(t, first + 1);
        edit_remove_tokens(r, first, close);
        first = close + 2;
    }
    while (token_is(t, first, "&") || token_is(t, first, "(")) first++;
    for (last = first; token_is(t, last + 1, "::") && t->list[last + 2].kind == TOKEN_WORD;) last += 2;
    edit_add(r, t->list[i].start, token_end(t, i + 1) - t->list[i].start,
             format_string("%s(simtcc_site{__FILE__, __LINE__, \"%.*s\", nullptr}, ", by,
                           (int)t->list[last].length, t->source + t->list[last].start));
}
