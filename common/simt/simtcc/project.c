/**
 * @file project.c
 * @brief Finds project headers as the compiler would, and rewrites those that need a change.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "project.h"

static struct source_file *find_file(const struct project *p, const char *path)
{
    for (size_t i = 0; i < p->count; i++)
        if (strcmp(p->files[i]->path, path) == 0) return p->files[i];
    return NULL;
}

/** Resolves `#include "name"` in @p from: beside it, then in the include folders; with @p angled,
 *  `<name>`: only in these. NULL: not a project header. */
static char *resolve(const struct project *p, const char *from, const char *name, int angled)
{
    for (size_t i = 0; angled && i < p->include_folder_count; i++) {
        char *found = format_string("%s/%s", p->include_folders[i], name);
        if (access(found, R_OK) == 0) return found;
        free(found);
    }
    if (angled) return NULL;
    const char *slash = name[0] == '/' ? NULL : strrchr(from, '/');
    int folder_length = slash != NULL ? (int)(slash + 1 - from) : 0;
    char *path = format_string("%.*s%s", folder_length, from, name);
    for (size_t i = 0; access(path, R_OK) != 0; i++) {
        free(path);
        if (i == p->include_folder_count) return NULL;
        path = format_string("%s/%s", p->include_folders[i], name);
    }
    return path;
}

/** The path of a project header that a macro's value names, `"name"` or `<name>`; NULL: none of it. */
static char *resolve_value(const struct project *p, const char *from, const char *value)
{
    value += strspn(value, " \t");
    const char *close = *value == '"' || *value == '<' ? strchr(value + 1, *value == '<' ? '>' : '"') : NULL;
    if (close == NULL) return NULL;
    char *name = format_string("%.*s", (int)(close - value - 1), value + 1);
    char *path = resolve(p, from, name, *value == '<');
    free(name);
    return path;
}

/** The same for a macro that the `#define` at token @p i of @p file defines, if that is @p macro. */
static char *resolve_define(const struct project *p, const char *from, const struct source_file *file,
                            size_t i, const char *macro)
{
    const char *at = file->text.data + file->tokens.list[i].start + 1;
    at += strspn(at, " \t") + strlen("define");
    at += strspn(at, " \t");
    const size_t length = strlen(macro);
    if (strncmp(at, macro, length) != 0 || strchr(" \t", at[length]) == NULL) return NULL;
    return resolve_value(p, from, at + length);
}

/**
 * `#include MACRO`: what -D says of it, or else a `#define` in any of the files so far, the last one that names a
 * header of the project. Which branch of an `#if` holds is not known here: the compiler still reads the right one,
 * but of the others only this one has been rewritten.
 */
static char *resolve_macro(const struct project *p, const char *from, const char *macro)
{
    const size_t length = strlen(macro);
    char *path = NULL;
    for (size_t i = 1; p->compile != NULL && i < p->compile->count && path == NULL; i++)
        if (strcmp(p->compile->items[i - 1], "-D") == 0 &&
            strncmp(p->compile->items[i], macro, length) == 0 && p->compile->items[i][length] == '=')
            path = resolve_value(p, from, p->compile->items[i] + length + 1);
    for (size_t f = p->count; path == NULL && f-- > 0;)
        for (size_t i = p->files[f]->tokens.count; path == NULL && i-- > 0;)
            if (p->files[f]->tokens.list[i].kind == TOKEN_DEFINE)
                path = resolve_define(p, from, p->files[f], i, macro);
    return path;
}

static char *resolve_name(const struct project *p, const char *from, const char *name, enum include_form form)
{
    return form == INCLUDE_MACRO ? resolve_macro(p, from, name)
                                 : resolve(p, from, name, form == INCLUDE_ANGLED);
}

/** The file that the directive at token @p i of @p file includes, if it is a project header; a new string. */
static char *included_path(const struct project *p, const struct source_file *file, size_t i, int *angled)
{
    struct include_name name = include_name_of(&file->tokens, i);
    char *path = name.text != NULL ? resolve_name(p, file->path, name.text, name.form) : NULL;
    *angled = name.form == INCLUDE_ANGLED;
    free(name.text);
    return path;
}

/** A header in `<name>` may belong to another library; it counts as the project's if it contains CUDA
 *  code. */
static int is_of_cuda(const struct source_file *file)
{
    static const char *const words[] = {"<<<",        "__global__",   "__device__",
                                        "__shared__", "__constant__", "__managed__"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strstr(file->text.data, words[i]) != NULL) return 1;
    return 0;
}

/** Some formatters write `<< <` and `>> >`, which nvcc accepts as the brackets of a launch. 1 if there
 *  were any. */
static int close_gaps(struct source_file *file)
{
    const struct tokens *t = &file->tokens;
    int found = 0;
    for (size_t i = 0; i + 3 < t->count; i++) {
        const char bracket = file->text.data[t->list[i].start];
        const struct token *last = &t->list[i + 2];
        if (bracket != '<' && bracket != '>') continue;
        const char one[2] = {bracket, '\0'};
        if (!token_is(t, i, one) || !token_is(t, i + 1, one) || !token_is(t, i + 2, one)) continue;
        const size_t end = t->list[i + 1].start + 1;
        if (t->list[i].start + 2 != end || last->start == end) continue;
        if (bracket == '>' && !token_is(t, i + 3, "(")) continue;
        if (strspn(file->text.data + end, " \t") != last->start - end) continue;
        file->text.data[last->start] = ' ';
        file->text.data[end] = bracket;
        found = 1;
    }
    return found;
}

/** Reads a file and everything it includes, and collects their kernels. */
static void load(struct project *p, const char *path, int angled)
{
    struct source_file *file = calloc(1, sizeof(*file));
    if (file == NULL) die("out of memory");
    file->path = format_string("%s", path);
    if (!text_read_file(&file->text, path)) die("cannot read %s", path);
    if (strncmp(file->text.data, "\xef\xbb\xbf", 3) == 0)
        memset(file->text.data, ' ', 3); /* a byte-order mark */
    file->foreign = angled && !is_of_cuda(file);
    file->tokens = tokens_of(file->text.data);
    if (close_gaps(file)) {
        tokens_drop(&file->tokens);
        file->tokens = tokens_of(file->text.data);
    }
    p->files = array_grow(p->files, &p->capacity, p->count, sizeof(struct source_file *));
    p->files[p->count++] = file;
    for (size_t i = 0; i < file->tokens.count; i++) {
        int is_angled = 0;
        char *included = included_path(p, file, i, &is_angled);
        if (included != NULL && find_file(p, included) == NULL) load(p, included, is_angled);
        free(included);
    }
    kernels_collect(&p->kernels, &file->tokens);
}

static void plan_copy(const struct project *p, struct source_file *file, size_t number)
{
    const char *slash = strrchr(file->path, '/');
    const char *name = slash != NULL ? slash + 1 : file->path;
    file->copy = format_string("%s/%zu_%s%s", p->folder, number, name, number == 0 ? ".cpp" : "");
}

/** 1 if @p file includes a file that will be copied. */
static int includes_a_copy(const struct project *p, const struct source_file *file)
{
    int found = 0;
    for (size_t i = 0; i < file->tokens.count && !found; i++) {
        int angled = 0;
        char *path = included_path(p, file, i, &angled);
        const struct source_file *included = path != NULL ? find_file(p, path) : NULL;
        found = included != NULL && included->copy != NULL;
        free(path);
    }
    return found;
}

/** A copy is needed of files that change, and of all files that include such a file. */
static void plan_copies(struct project *p)
{
    for (size_t i = 0; i < p->count; i++) {
        size_t changed = 0;
        struct text text = rewrite(&p->files[i]->tokens, &p->kernels, NULL, NULL, &changed);
        text_drop(&text);
        if ((changed > 0 && !p->files[i]->foreign) || i == 0) plan_copy(p, p->files[i], i);
    }
    for (int again = 1; again;) {
        again = 0;
        for (size_t i = 0; i < p->count; i++) {
            if (p->files[i]->copy != NULL || !includes_a_copy(p, p->files[i])) continue;
            plan_copy(p, p->files[i], i);
            again = 1;
        }
    }
}

struct including {
    const struct project *project;
    const struct source_file *file;
};

/** In a copy the compiler cannot find files beside the original: so every project header in quotes gets
 *  its full path. */
static char *redirect(void *context, const char *name, enum include_form form)
{
    const struct including *c = context;
    char *path = resolve_name(c->project, c->file->path, name, form);
    const struct source_file *included = path != NULL ? find_file(c->project, path) : NULL;
    if ((included == NULL || included->copy == NULL) && form == INCLUDE_QUOTED) return path;
    free(path);
    if (included == NULL || included->copy == NULL) return NULL;
    return format_string("%s", included->copy);
}

const char *project_rewrite(struct project *p, const char *path)
{
    load(p, path, 0);
    plan_copies(p);
    for (size_t i = 0; i < p->count; i++) {
        struct source_file *file = p->files[i];
        if (file->copy == NULL) continue;
        struct including context = {p, file};
        size_t changed;
        struct text text = rewrite(&file->tokens, &p->kernels, redirect, &context, &changed), whole = {0};
        text_printf(&whole, "#line 1 \"%s\"\n", file->path);
        text_add(&whole, text.data, text.length);
        if (!text_write_file(&whole, file->copy)) die("cannot write %s: is the disk full?", file->copy);
        text_drop(&text);
        text_drop(&whole);
    }
    return p->files[0]->copy;
}

const char *project_original(const struct project *p, const char *path)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->files[i]->copy != NULL && strcmp(p->files[i]->copy, path) == 0) return p->files[i]->path;
    return path;
}

void project_drop(struct project *p)
{
    for (size_t i = 0; i < p->count; i++) {
        free(p->files[i]->path);
        free(p->files[i]->copy);
        text_drop(&p->files[i]->text);
        tokens_drop(&p->files[i]->tokens);
        free(p->files[i]);
    }
    free(p->files);
    kernels_drop(&p->kernels);
}
