/**
 * @file shared.c
 * @brief `__shared__` and `__device__` variables.
 */
#include <stdlib.h>
#include <string.h>

#include "rewriter.h"

/** A declaration taken apart: specifiers, then declarators up to the semicolon. */
struct declaration {
    size_t first, declarators, end; /**< tokens: of the whole, of the first declarator, one past the last */
    int is_extern, has_body;        /**< has_body: the type is defined here, `struct { ... }` */
    size_t initializer;             /**< token of an `=`, or 0 */
};

/** The token after the specifier at @p i: a word, or one with its parentheses or template arguments. */
static size_t after_specifier(const struct tokens *t, size_t i)
{
    if (takes_parentheses(t, i)) return match_forward(t, i + 1) + 1;
    if (token_is(t, i, "<")) return match_angle_forward(t, i) + 1;
    return is_opening(t, i) ? match_forward(t, i) + 1 : i + 1;
}

/** The first token of the declarator: its stars, or its name. */
static size_t find_declarator(const struct tokens *t, size_t first, size_t end)
{
    size_t name = first;
    for (size_t i = first; i < end; i = after_specifier(t, i)) {
        if (token_is(t, i, "[") || token_is(t, i, ",") || token_is(t, i, "=")) break;
        if (t->list[i].kind == TOKEN_WORD && !takes_parentheses(t, i)) name = i;
    }
    while (name > first && (token_is(t, name - 1, "*") || token_is(t, name - 1, "&"))) name--;
    return name;
}

static struct declaration take_declaration_apart(const struct tokens *t, size_t i)
{
    struct declaration d = {declaration_start(t, i), 0, i, 0, 0, 0};
    for (; !is_boundary(t, d.end) || token_is(t, d.end, "{"); d.end++) {
        if (token_is(t, d.end, "{")) d.has_body = 1;
        if (token_is(t, d.end, "=")) d.initializer = d.end;
        if (is_opening(t, d.end)) d.end = match_forward(t, d.end);
    }
    for (size_t j = d.first; j < i; j++) d.is_extern |= token_is(t, j, "extern");
    for (size_t j = i; j < d.end && !d.is_extern; j++) d.is_extern |= token_is(t, j, "extern");
    d.declarators = find_declarator(t, d.first, d.end);
    return d;
}

/** Words of the specifiers that must not be repeated: storage classes, and alignment, which C++ wants in
 *  front. */
static int is_dropped(const struct tokens *t, size_t i)
{
    return token_is(t, i, "static") || token_is(t, i, "extern") || token_is(t, i, "__shared__") ||
           token_is(t, i, "alignas") || token_is(t, i, "__align__");
}

/** The type, on one line; or with @p alignment only the alignment that was removed from it. */
static char *spell_specifiers(const struct tokens *t, const struct declaration *d, int alignment)
{
    struct text text = {0};
    text_add_string(&text, "");
    for (size_t i = d->first; i < d->declarators; i++) {
        size_t next = takes_parentheses(t, i) ? match_forward(t, i + 1) + 1 : i + 1;
        int aligns = token_is(t, i, "alignas") || token_is(t, i, "__align__");
        if (alignment ? aligns : !is_dropped(t, i))
            for (size_t j = i; j < next; j++) {
                const int joined = j + 1 < next && t->list[j + 1].start == token_end(t, j); /* "<<" is two */
                text_printf(&text, "%.*s%s", (int)t->list[j].length, t->source + t->list[j].start,
                            joined ? "" : " ");
            }
        i = next - 1;
    }
    return text.data;
}

/** One past the declarator at @p i: the comma or the end. */
static size_t declarator_end(const struct tokens *t, size_t i, size_t end)
{
    while (i < end && !token_is(t, i, ",")) i = is_opening(t, i) ? match_forward(t, i) + 1 : i + 1;
    return i;
}

/** Removes storage and alignment words where they stand. */
static void remove_dropped(struct rewriter *r, const struct declaration *d)
{
    const struct tokens *t = r->tokens;
    for (size_t i = d->first; i < d->declarators; i++) {
        size_t last = takes_parentheses(t, i) ? match_forward(t, i + 1) : i;
        if (is_dropped(t, i)) edit_remove_tokens(r, i, last);
        i = last;
    }
}

/** `extern __shared__ T name[];` for one declarator. */
static void rewrite_dynamic(struct rewriter *r, size_t i, size_t end, const char *type)
{
    const struct tokens *t = r->tokens;
    while (t->list[i].kind != TOKEN_WORD && i + 1 < end) i++;
    if (!token_is(t, i + 1, "[")) return; /* not an array: the compiler will complain */
    size_t close = match_forward(t, i + 1);
    int name_length = (int)t->list[i].length;
    const char *name = t->source + t->list[i].start, *rest = t->source + token_end(t, close);
    int rest_length = (int)(token_end(t, end - 1) - token_end(t, close));
    size_t start = t->list[i].start, length = token_end(t, end - 1) - start;
    if (r->function_depth == 0) {
        edit_add(r, start, length, format_string("%.*s{\"%.*s\"}", name_length, name, name_length, name));
        return;
    }
    if (rest_length == 0) {
        edit_add(r, start, length,
                 format_string("*const %.*s = (%s*)simtcc_dynamic_shared(\"%.*s\", sizeof(%s))", name_length,
                               name, type, name_length, name, type));
        return;
    }
    edit_add(r, start, length,
             format_string("(*const %.*s)%.*s = (%s(*)%.*s)simtcc_dynamic_shared(\"%.*s\", sizeof(%s%.*s))",
                           name_length, name, rest_length, rest, type, rest_length, rest, name_length, name,
                           type, rest_length, rest));
}

/** At file scope, an extern array gets the type of an object that finds the memory of the running block. */
static void rewrite_dynamic_type(struct rewriter *r, const struct declaration *d, const char *type)
{
    const struct tokens *t = r->tokens;
    size_t close = d->declarators;
    while (close < d->end && !token_is(t, close, "[")) close++;
    if (close == d->end) return;
    close = match_forward(t, close);
    size_t rest = declarator_end(t, d->declarators, d->end);
    int rest_length = (int)(token_end(t, rest - 1) - token_end(t, close));
    edit_remove_tokens(r, d->first, d->declarators - 1);
    edit_add(r, t->list[d->declarators].start, 0,
             format_string("__attribute__((unused)) static const simtcc_dynamic_array<%s%.*s> ", type,
                           rest_length, t->source + token_end(t, close)));
}

static void rewrite_extern(struct rewriter *r, const struct declaration *d)
{
    const struct tokens *t = r->tokens;
    char *type = spell_specifiers(t, d, 0);
    if (r->function_depth == 0)
        rewrite_dynamic_type(r, d, type);
    else
        remove_dropped(r, d);
    for (size_t i = d->declarators; i < d->end;) {
        size_t end = declarator_end(t, i, d->end);
        rewrite_dynamic(r, i, end, type);
        i = end + 1;
    }
    free(type);
}

/** After the declarator [i, end): a record of the array's shape, with which findings name its elements. */
static char *spell_shape(const struct tokens *t, size_t i, size_t end)
{
    while (i < end && t->list[i].kind != TOKEN_WORD) i++;
    if (i == end || (i + 1 < end && !token_is(t, i + 1, "[")))
        return strdup(""); /* a pointer in parentheses */
    return format_string(" SIMT_SHAPE(%.*s);", (int)t->list[i].length, t->source + t->list[i].start);
}

/** The alignment of the declarator at @p i, if it is an array: enough for a tile of a warp matrix
 *  operation. The compiler aligns arrays like this by itself, but not in templates. */
static char *spell_array(const struct tokens *t, size_t i, size_t end, const char *type)
{
    for (; i < end && !token_is(t, i, ","); i++)
        if (token_is(t, i, "[")) return format_string("alignas(simtcc_array_alignment<%s>()) ", type);
    return strdup("");
}

/** A variable of the block: a red zone, then the variable as a thread_local of the thread that runs the
 *  block. */
static void rewrite_static(struct rewriter *r, const struct declaration *d)
{
    const struct tokens *t = r->tokens;
    char *type = spell_specifiers(t, d, 0), *alignment = spell_specifiers(t, d, 1);
    char *array = d->has_body ? strdup("") : spell_array(t, d->declarators, d->end, type);
    remove_dropped(r, d);
    edit_add(r, t->list[d->first].start, 0,
             format_string("SIMT_RED_ZONE; %s%sSIMT_SHARED ", array, alignment));
    for (size_t i = d->declarators; i < d->end && !d->has_body;) {
        size_t end = declarator_end(t, i, d->end);
        char *shape = spell_shape(t, i, end);
        free(array);
        array = spell_array(t, end + 1, d->end, type);
        if (end < d->end)
            edit_add(r, t->list[end].start, t->list[end].length,
                     format_string(";%s SIMT_RED_ZONE; %s%sSIMT_SHARED %s", shape, array, alignment, type));
        else if (token_is(t, end, ";"))
            edit_add(r, token_end(t, end), 0, format_string("%s", shape));
        free(shape);
        i = end + 1;
    }
    free(array);
    free(type);
    free(alignment);
}

size_t rewrite_shared(struct rewriter *r, size_t i)
{
    struct declaration d = take_declaration_apart(r->tokens, i);
    if (d.initializer != 0 && !d.is_extern)
        edit_insert(r, r->tokens->list[d.first].start,
                    "_Pragma(\"GCC error \\\"a __shared__ variable cannot have an initializer: its value is "
                    "undefined until a thread writes it\\\"\") ");
    if (d.is_extern)
        rewrite_extern(r, &d);
    else
        rewrite_static(r, &d);
    return d.end > i ? d.end - 1 : i;
}

/** `__device__ __managed__ int x`: the second word says where it lies. */
static int is_managed(const struct tokens *t, size_t first)
{
    for (size_t j = first; !is_boundary(t, j) && !token_is(t, j, "="); j++)
        if (token_is(t, j, "__managed__")) return 1;
    return 0;
}

/** A variable that can be written: not const, or a pointer of which only the target is const. */
static int is_writable_variable(const struct tokens *t, size_t first, size_t i)
{
    int is_const = 0;
    size_t j = first;
    for (; !is_boundary(t, j); j++) {
        if (takes_parentheses(t, j))
            j = match_forward(t, j + 1);
        else if (token_is(t, j, "<") && match_angle_forward(t, j) > j)
            j = match_angle_forward(t, j);
        else if (token_is(t, j, "(") && token_is(t, j + 1, "*"))
            j = match_forward(t, match_forward(t, j) + 1); /* a pointer to a function or an array */
        else if (token_is(t, j, "("))
            return 0; /* a function */
        else if (token_is(t, j, "__constant__") || token_is(t, j, "__shared__") ||
                 token_is(t, j, "constexpr") || token_is(t, j, "operator"))
            return 0;
        else if (token_is(t, j, "const"))
            is_const = 1;
        else if (token_is(t, j, "*"))
            is_const = 0;
        else if (token_is(t, j, "[") || token_is(t, j, "=") || token_is(t, j, ","))
            break;
    }
    int is_variable =
        token_is(t, j, "[") || token_is(t, j, "=") || token_is(t, j, ",") || token_is(t, j, ";");
    return is_variable && !is_const && j > i + 1;
}

/** Whether a word says that a variable lies on the device. */
static int is_of_device(const struct tokens *t, size_t i)
{
    return token_is(t, i, "__device__") || token_is(t, i, "__constant__") || token_is(t, i, "__managed__");
}

/** The name of the variable that is declared from @p first on; 0: it declares no variable, or one in parentheses. */
static size_t variable_name(const struct tokens *t, size_t first)
{
    size_t j = first;
    for (; !is_boundary(t, j); j++) {
        if (takes_parentheses(t, j))
            j = match_forward(t, j + 1);
        else if (token_is(t, j, "<") && match_angle_forward(t, j) > j)
            j = match_angle_forward(t, j);
        else if (token_is(t, j, "(") || token_is(t, j, "operator"))
            return 0;
        else if (token_is(t, j, "[") || token_is(t, j, "=") || token_is(t, j, ","))
            break;
    }
    const int ends = token_is(t, j, "[") || token_is(t, j, "=") || token_is(t, j, ",") || token_is(t, j, ";");
    return ends && j > first + 1 && t->list[j - 1].kind == TOKEN_WORD ? j - 1 : 0;
}

void externs_collect(struct kernels *kernels, const struct tokens *t, size_t i)
{
    const size_t name = variable_name(t, i);
    int of_device = 0;
    for (size_t j = declaration_start(t, i); j < name; j++) of_device |= is_of_device(t, j);
    if (!of_device || token_is(t, name + 1, "=")) return; /* with a value it is defined here */
    kernels->externs =
        array_grow(kernels->externs, &kernels->extern_capacity, kernels->extern_count, sizeof(char *));
    kernels->externs[kernels->extern_count++] =
        format_string("%.*s", (int)t->list[name].length, t->source + t->list[name].start);
}

void rewrite_own_variable(struct rewriter *r, size_t i)
{
    static const char *const shared_words[] = {"static",   "extern",    "inline",
                                               "template", "constexpr", "__shared__"};
    const struct tokens *t = r->tokens;
    const size_t first = declaration_start(t, i), name = variable_name(t, first);
    int is_const = 0;
    size_t extern_at = name; /* of one that has a value */
    if (r->kernels->relocatable || r->function_depth > 0 || name <= i) return;
    for (size_t j = first; j < name; j++) {
        if (token_is(t, j, "const")) is_const = 1;
        if (token_is(t, j, "*")) is_const = 0;
        if (j < i && is_of_device(t, j)) return; /* its first word has been here */
        if (token_is(t, j, "extern") && token_is(t, name + 1, "=")) {
            extern_at = j;
            continue;
        }
        for (size_t w = 0; w < sizeof shared_words / sizeof shared_words[0]; w++)
            if (token_is(t, j, shared_words[w])) return;
        if (token_is(t, j, "::") && j + 1 == name) return; /* a member of a class */
    }
    for (size_t e = 0; e < r->kernels->extern_count; e++)
        if (token_is(t, name, r->kernels->externs[e])) return;
    if (extern_at < name)
        edit_add(r, t->list[extern_at].start, t->list[extern_at].length, format_string("static"));
    else if (!is_const) /* which is the file's own already */
        edit_insert(r, t->list[i].start, "static ");
}

void rewrite_device_variable(struct rewriter *r, size_t i)
{
    const struct tokens *t = r->tokens;
    size_t first = declaration_start(t, i);
    if (token_is(t, first, "template") || !is_writable_variable(t, first, i) || is_managed(t, first)) return;
    edit_add(r, t->list[i].start, t->list[i].length, format_string("simt_device_variable"));
}

/** A __constant__ that is also const goes to read-only memory, not to the memory of constants that the
 *  host may write. */
void rewrite_constant(struct rewriter *r, size_t i)
{
    const struct tokens *t = r->tokens;
    int is_const = 0;
    for (size_t j = declaration_start(t, i); !is_boundary(t, j); j++) {
        if (is_opening(t, j) || token_is(t, j, "=") || token_is(t, j, "[")) break;
        if (token_is(t, j, "const") || token_is(t, j, "constexpr")) is_const = 1;
        if (token_is(t, j, "*")) is_const = 0;
    }
    if (is_const) edit_add(r, t->list[i].start, t->list[i].length, format_string("simt_fixed_constant"));
}
