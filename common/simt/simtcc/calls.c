/**
 * @file calls.c
 * @brief Reads what g++ says of its functions and their calls.
 *
 * @code
 * ;; Function scale (_Z5scalef, funcdef_no=0, decl_uid=2345, cgraph_uid=1, symbol_order=0)
 * __attribute__((no_profile_instrument_function))
 * floatD.41 scaleD.2345 (floatD.41 xD.2344)
 * {
 *   charD.10 simt_host_functionD.2347;
 *   [scale.cu:3:12] _1 = otherD.2340 (xD.2344);
 * @endcode
 */
#include "calls.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

/* What the words of CUDA become (language.h), and the rewriter's mark in a body. */
static const char kernel_mark[] = "flatten", device_mark[] = "no_profile_instrument_function",
                  host_word_mark[] = "unused", host_mark[] = " simt_host_functionD.";

/** One function, as the compiler has it. The texts end where the file's lines do. */
struct function {
    const char *name, *mangled, *body, *end;
    size_t name_length, mangled_length;
    long uid;
    int kernel, device, host_word, host;
};
struct functions {
    struct function *list;
    size_t count, capacity;
};

char *calls_option(const char *path)
{
    return format_string("-fdump-tree-cfg-uid-lineno=%s", path);
}

/* ---- reading ------------------------------------------------------------------------------------------- */

/** ";; Function NAME (MANGLED, funcdef_no=1, decl_uid=2, ...": 0 if the line is none. */
static int read_header(struct function *f, const char *line, const char *end)
{
    static const char start[] = ";; Function ", behind[] = ", funcdef_no=", uid[] = "decl_uid=";
    const char *numbers = NULL, *open;
    if ((size_t)(end - line) < sizeof start || strncmp(line, start, sizeof start - 1) != 0) return 0;
    for (const char *at = line; at + sizeof behind < end && numbers == NULL; at++)
        if (strncmp(at, behind, sizeof behind - 1) == 0) numbers = at;
    if (numbers == NULL) return 0;
    for (open = numbers; open > line && *open != '('; open--) continue;
    *f = (struct function){.name = line + sizeof start - 1, .mangled = open + 1};
    if (open <= f->name) return 0;
    f->name_length = (size_t)(open - 1 - f->name);
    f->mangled_length = (size_t)(numbers - f->mangled);
    const char *number = strstr(numbers, uid);
    if (number == NULL || number > end) return 0;
    f->uid = atol(number + sizeof uid - 1);
    return 1;
}

static int holds(const char *line, const char *end, const char *word)
{
    const size_t length = strlen(word);
    for (; line + length <= end; line++)
        if (strncmp(line, word, length) == 0) return 1;
    return 0;
}

/** A line of a function, before its body or in it. */
static void read_line(struct function *f, const char *line, const char *end)
{
    static const char attributes[] = "__attribute__((";
    if (strncmp(line, attributes, sizeof attributes - 1) == 0) {
        f->kernel |= holds(line, end, kernel_mark);
        f->device |= holds(line, end, device_mark);
        f->host_word |= holds(line, end, host_word_mark);
    } else if (f->body == NULL && *line == '{') {
        f->body = line;
    } else if (f->body != NULL && *line == '}') {
        f->end = line;
    } else if (f->body != NULL && f->end == NULL) {
        f->host |= *line == ' ' && end - line < 80 && holds(line, end, host_mark);
    }
}

static struct functions read_functions(const char *text)
{
    struct functions all = {0};
    for (const char *line = text, *end; *line != '\0'; line = *end != '\0' ? end + 1 : end) {
        struct function found;
        end = line + strcspn(line, "\n");
        if (read_header(&found, line, end)) {
            all.list = array_grow(all.list, &all.capacity, all.count, sizeof *all.list);
            all.list[all.count++] = found;
        } else if (all.count > 0) {
            read_line(&all.list[all.count - 1], line, end);
        }
    }
    return all;
}

static int compare_uids(const void *a, const void *b)
{
    const struct function *x = a, *y = b;
    return (x->uid > y->uid) - (x->uid < y->uid);
}

/* ---- who may call whom --------------------------------------------------------------------------------- */

/** What is defined in a function is named after it: a lambda in a kernel is device code. */
static int is_inside_device_function(const struct functions *all, const struct function *f)
{
    if (strncmp(f->mangled, "_ZZ", 3) != 0) return 0;
    for (size_t i = 0; i < all->count; i++) {
        const struct function *g = &all->list[i];
        const size_t length = g->mangled_length - 2;
        if (!(g->kernel || g->device) || g->host_word || strncmp(g->mangled, "_Z", 2) != 0) continue;
        if (length + 3 < f->mangled_length && strncmp(f->mangled + 3, g->mangled + 2, length) == 0 &&
            f->mangled[3 + length] == 'E')
            return 1;
    }
    return 0;
}

/** nvcc warns, and does not refuse, where a `__host__ __device__` function calls. */
static int is_device_code(const struct functions *all, const struct function *f)
{
    if (f->host_word) return 0;
    return f->kernel || f->device || is_inside_device_function(all, f);
}

/** "S::S" and "S::~S" have several declarations, of which the one that is called is not the one that is written down. */
static const struct function *find_constructor(const struct functions *all, const char *name, size_t length)
{
    const struct function *found = NULL;
    size_t last = length;
    while (last > 0 && name[last - 1] != ':') last--;
    const size_t own = last + (name[last] == '~'), own_length = length - own;
    if (last < 2 || last - 2 < own_length ||
        strncmp(name + last - 2 - own_length, name + own, own_length) != 0)
        return NULL;
    for (size_t i = 0; i < all->count; i++) {
        const struct function *f = &all->list[i];
        if (f->name_length != length || strncmp(f->name, name, length) != 0) continue;
        if (!f->host || f->device) return NULL;
        found = f;
    }
    return found;
}

/** Functions of the host's libraries; nvcc refuses each of them in a kernel. One's own of that name is a device function. */
static int is_library_function(const char *name, size_t length)
{
    static const char *const names[] = {
        "rand",   "srand",   "random",  "srandom", "drand48", "lrand48",  "rand_r", "time",   "fopen",
        "fclose", "fprintf", "fputs",   "fputc",   "puts",    "putchar",  "fflush", "fgets",  "fread",
        "fwrite", "scanf",   "sscanf",  "sprintf", "vprintf", "snprintf", "getenv", "exit",   "abort",
        "system", "sleep",   "usleep",  "strlen",  "strcmp",  "strncmp",  "strcpy", "perror", "strncpy",
        "strcat", "strstr",  "strchr",  "memchr",  "memcmp",  "atoi",     "atof",   "strtol", "strtod",
        "qsort",  "calloc",  "realloc", "toupper", "tolower", "isdigit",  "isalpha"};
    static const char stream[] = "std::basic_ostream<";
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strlen(names[i]) == length && strncmp(name, names[i], length) == 0) return 1;
    return length > sizeof stream && strncmp(name, stream, sizeof stream - 1) == 0;
}

/* ---- telling ------------------------------------------------------------------------------------------- */

/** What was told already: a template's instances repeat it. */
struct told {
    char **list;
    size_t count, capacity;
};

static int tell_once(struct told *told, char *message)
{
    for (size_t i = 0; i < told->count; i++) {
        if (strcmp(told->list[i], message) != 0) continue;
        free(message);
        return 0;
    }
    told->list = array_grow(told->list, &told->capacity, told->count, sizeof *told->list);
    told->list[told->count++] = message;
    fprintf(stderr, "%s\n", message);
    return 1;
}

/** "file:line" of the statement from @p line to @p call, or nothing. The columns are those of the rewritten line. */
static char *place_of(const char *line, const char *call)
{
    const char *open = call;
    while (open > line && *open != '[') open--;
    size_t length = *open == '[' ? strcspn(open + 1, "]\n") : 0;
    while (length > 0 && open[length] != ':') length--;
    return length > 0 ? format_string("%.*s", (int)length - 1, open + 1) : format_string("simtcc");
}

/** One call: of the function that the text from @p line to "D.UID (" at @p mark names. */
static int judge_call(const struct functions *all, const struct function *caller, const char *line,
                      const char *mark, struct told *told)
{
    struct function key = {.uid = atol(mark + 2)};
    const char *name = mark;
    while (name > line && !isspace((unsigned char)name[-1]) && name[-1] != ']') name--;
    size_t length = (size_t)(mark - name);
    const struct function *callee = bsearch(&key, all->list, all->count, sizeof *all->list, compare_uids);
    const int library = (callee == NULL || !callee->host) && is_library_function(name, length);
    if (callee == NULL && !library) callee = find_constructor(all, name, length);
    if (callee != NULL && (callee->device || (!callee->host && !library))) return 0;
    if (callee == NULL && !library) return 0;
    if (callee != NULL) {
        name = callee->name;
        length = callee->name_length;
    }
    char *place = place_of(line, mark);
    char *message = format_string(
        "%s: error: %.*s is a host function, and the %s %.*s calls it, which nvcc refuses, too; %s", place,
        (int)length, name, caller->kernel ? "kernel" : "device function", (int)caller->name_length,
        caller->name,
        library ? "the host's libraries are not on a device"
                : "write __device__, or __host__ __device__, in front of it");
    free(place);
    return tell_once(told, message);
}

/** The calls in one function: "D.", a number, and an opening parenthesis. */
static int judge_function(const struct functions *all, const struct function *caller, struct told *told)
{
    int refused = 0;
    const char *line = caller->body;
    if (caller->body == NULL || caller->end == NULL || !is_device_code(all, caller)) return 0;
    for (const char *at = caller->body; at < caller->end; at++) {
        if (*at == '\n') line = at + 1;
        if (at[0] != 'D' || at[1] != '.' || at == line || isspace((unsigned char)at[-1])) continue;
        const size_t digits = strspn(at + 2, "0123456789");
        if (digits > 0 && strncmp(at + 2 + digits, " (", 2) == 0)
            refused += judge_call(all, caller, line, at, told);
    }
    return refused;
}

int calls_refused(const char *path)
{
    struct text text = {0};
    struct told told = {0};
    int refused = 0;
    if (!text_read_file(&text, path) || text.data == NULL) return 0;
    struct functions all = read_functions(text.data);
    if (all.count > 0) qsort(all.list, all.count, sizeof *all.list, compare_uids);
    for (size_t i = 0; i < all.count; i++) refused += judge_function(&all, &all.list[i], &told);
    for (size_t i = 0; i < told.count; i++) free(told.list[i]);
    free(told.list);
    free(all.list);
    text_drop(&text);
    return refused;
}
