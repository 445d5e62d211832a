/**
 * @file calls.c
 * @brief Reads g++'s dump of functions and their calls.
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

/* The names that CUDA's keywords become (language.h), and the rewriter's mark in a body. */
static const char kernel_mark[] = "flatten", device_mark[] = "no_profile_instrument_function",
                  host_word_mark[] = "unused", host_mark[] = " simt_host_functionD.";

/** One function in the compiler's dump. Its texts end where the file's lines do. */
struct function {
    const char *name, *mangled, *type, *body, *end;
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

/** Parses ";; Function NAME (MANGLED, funcdef_no=1, decl_uid=2, ..."; 0 if the line is something else. */
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

/** 1 if the line is the declaration of the function: "void scaleD.2345 (". */
static int names_function(const struct function *f, const char *line, const char *end)
{
    char name[32];
    snprintf(name, sizeof name, "D.%ld (", f->uid);
    return holds(line, end, name);
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
    } else if (f->body == NULL && names_function(f, line, end)) {
        f->type = line;
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

/** Functions defined inside a function are named after it: a lambda in a kernel is device code. */
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

/** For calls from a `__host__ __device__` function nvcc only warns. */
static int is_device_code(const struct functions *all, const struct function *f)
{
    if (f->host_word) return 0;
    return f->kernel || f->device || is_inside_device_function(all, f);
}

/** "S::S" and "S::~S" have several declarations, and the dump of the function shows another one than the
 *  calls do. */
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

/** Functions of the host's libraries, which nvcc refuses in a kernel. A user's function of the same name
 *  is device code. */
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

/** What was reported already: a template's instances repeat it. */
struct reported {
    char **list;
    size_t count, capacity;
};

static int report_once(struct reported *reported, char *message)
{
    for (size_t i = 0; i < reported->count; i++) {
        if (strcmp(reported->list[i], message) != 0) continue;
        free(message);
        return 0;
    }
    reported->list = array_grow(reported->list, &reported->capacity, reported->count, sizeof *reported->list);
    reported->list[reported->count++] = message;
    fprintf(stderr, "%s\n", message);
    return 1;
}

/** "file:line" of the statement from @p line to @p call, or nothing. Columns are those of the rewritten
 *  line. */
static char *place_of(const char *line, const char *call)
{
    const char *open = call;
    while (open > line && *open != '[') open--;
    size_t length = *open == '[' ? strcspn(open + 1, "]\n") : 0;
    while (length > 0 && open[length] != ':') length--;
    return length > 0 ? format_string("%.*s", (int)length - 1, open + 1) : format_string("simtcc");
}

/** Checks one call: of the function whose name is in the text from @p line to "D.UID (" at @p mark. */
static int judge_call(const struct functions *all, const struct function *caller, const char *line,
                      const char *mark, struct reported *reported)
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
    return report_once(reported, message);
}

/** A kernel's result would go where nobody waits for it. */
static int judge_result(const struct function *f, struct reported *reported)
{
    if (!f->kernel || f->type == NULL || f->body == NULL) return 0;
    if (strncmp(f->type, "voidD.", 6) == 0 || strncmp(f->type, "void ", 5) == 0) return 0;
    const char *first = strstr(f->body, "\n  [");
    char *place = place_of(first != NULL ? first + 1 : f->body, first != NULL ? first + 4 : f->body);
    char *message = format_string(
        "%s: error: the kernel %.*s must give back nothing, that is void, as nvcc wants it, too", place,
        (int)f->name_length, f->name);
    free(place);
    return report_once(reported, message);
}

/** The calls in one function: "D.", a number, and an opening parenthesis. */
static int judge_function(const struct functions *all, const struct function *caller,
                          struct reported *reported)
{
    int refused = 0;
    const char *line = caller->body;
    if (caller->body == NULL || caller->end == NULL || !is_device_code(all, caller)) return 0;
    for (const char *at = caller->body; at < caller->end; at++) {
        if (*at == '\n') line = at + 1;
        if (at[0] != 'D' || at[1] != '.' || at == line || isspace((unsigned char)at[-1])) continue;
        const size_t digits = strspn(at + 2, "0123456789");
        if (digits > 0 && strncmp(at + 2 + digits, " (", 2) == 0)
            refused += judge_call(all, caller, line, at, reported);
    }
    return refused;
}

int calls_refused(const char *path)
{
    struct text text = {0};
    struct reported reported = {0};
    int refused = 0;
    if (!text_read_file(&text, path) || text.data == NULL) return 0;
    struct functions all = read_functions(text.data);
    if (all.count > 0) qsort(all.list, all.count, sizeof *all.list, compare_uids);
    for (size_t i = 0; i < all.count; i++)
        refused += judge_function(&all, &all.list[i], &reported) + judge_result(&all.list[i], &reported);
    for (size_t i = 0; i < reported.count; i++) free(reported.list[i]);
    free(reported.list);
    free(all.list);
    text_drop(&text);
    return refused;
}

/* ---- calls that move a struct by a pointer -------------------------------------------------------------- */

/*
 * -fsanitize=thread reports the loads and stores of assignments, and none of calls: `*p = make()` and
 * `take(*p)` each copy a whole struct, which is not reported if the callee is not inlined. An untrusted file
 * must not contain such calls.
 *
 * Nor does it report atomics of a memory order that does not exist: those it knows are calls of __tsan_atomic... by now, and what is
 * left under the compiler's own name becomes a bare instruction. The compiler's warning is not enough: a pragma switches it off.
 *
 * Nor does it report what a function stores into the struct that it gives back, whose place the caller hands over as a hidden
 * first argument. Called through a pointer, as one of another type, it would store where the kernel likes.
 */
char *unseen_option(const char *path)
{
    return format_string("-fdump-tree-tsan-uid-lineno=%s", path);
}

/** Skips "[file:line:column] ", if it is there. */
static const char *behind_places(const char *at, const char *end)
{
    while (at < end && *at == '[') {
        const char *close = memchr(at, ']', (size_t)(end - at));
        if (close == NULL) return at;
        at = close + 1;
        while (at < end && *at == ' ') at++;
    }
    return at;
}

/** Whether the operand from @p at to @p end is memory accessed through a pointer. */
static int is_by_pointer(const char *at, const char *end)
{
    static const char *const marks[] = {"->", "(*", "MEM[", "MEM <", "MEM_REF"};
    at = behind_places(at, end);
    if (at >= end || *at == '&' || *at == '"') return 0;
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
        if (holds(at, end, marks[i])) return 1;
    return *at == '*';
}

/** The parenthesis that closes the one at @p open; ignores those in strings. */
static const char *closing(const char *open, const char *end)
{
    int depth = 0, quoted = 0;
    for (const char *at = open; at < end; at++) {
        if (quoted && *at == '\\')
            at++;
        else if (*at == '"')
            quoted = !quoted;
        else if (!quoted && *at == '(')
            depth++;
        else if (!quoted && *at == ')' && --depth == 0)
            return at;
    }
    return NULL;
}

/** One call in the statements of a function. */
struct call {
    const char *callee, *open, *close;
    int by_pointer; /**< 1: calls a function through a pointer */
};

/** Accepts "makeD.12 (", "_7 (" and "OBJ_TYPE_REF(...) ("; not ".FMA (", which is the compiler's own, nor
 *  a declaration. */
static int read_call(const char *at, const char *end, struct call *call)
{
    static const char *const words[] = {"if (", "switch (", "return", "goto ", "resx",
                                        "(",    "{",        "<",      ".",     "#"};
    static const char object[] = "OBJ_TYPE_REF(";
    const char *name_end = at;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strncmp(at, words[i], strlen(words[i])) == 0) return 0;
    if (strncmp(at, object, sizeof object - 1) == 0 &&
        (name_end = closing(at + sizeof object - 2, end)) == NULL)
        return 0;
    while (name_end < end && *name_end != ' ') name_end++;
    if (name_end + 1 >= end || name_end[1] != '(') return 0;
    *call = (struct call){.callee = at, .open = name_end + 1, .close = closing(name_end + 1, end)};
    if (call->close == NULL || (strncmp(call->close, ");", 2) != 0 && strncmp(call->close, ") [", 3) != 0))
        return 0;
    const char *digits = name_end; /* "store.1_6" and "_7" are values; a function's own name ends in "D.12" */
    while (digits > at && isdigit((unsigned char)digits[-1])) digits--;
    call->by_pointer = name_end[-1] == ')' || (digits < name_end && digits > at && digits[-1] == '_');
    return 1;
}

static int has_argument_by_pointer(const struct call *call)
{
    int depth = 0, quoted = 0;
    const char *argument = call->open + 1;
    for (const char *at = call->open; at <= call->close; at++) {
        if (quoted && *at == '\\')
            at++;
        else if (*at == '"')
            quoted = !quoted;
        if (quoted) continue;
        depth += *at == '(';
        depth -= *at == ')';
        if (at != call->close && !(*at == ',' && depth == 1)) continue;
        while (argument < at && *argument == ' ') argument++;
        if (is_by_pointer(argument, at)) return 1;
        argument = at + 1;
    }
    return 0;
}

/** The refused calls of a file, and what is needed to find them. */
struct unseen {
    const struct functions *all;
    const struct function *gives_struct; /**< a function that is left, and gives back a struct */
    struct reported reported;
    int refused;
};

static void refuse_statement(struct unseen *u, const char *line, const char *at, const char *what)
{
    char *place = place_of(line, at);
    u->refused += report_once(&u->reported, format_string("%s: error: %s", place, what));
    free(place);
}

/** Whether it is an atomic that -fsanitize=thread has left alone; in host code, too, which a kernel may call by a pointer. */
static int is_unseen_atomic(const struct call *call)
{
    static const char *const starts[] = {"__atomic_", "__sync_"};
    static const char fence[] = "__atomic_signal_fence"; /* is for the compiler alone */
    int found = 0;
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++)
        found |= strncmp(call->callee, starts[i], strlen(starts[i])) == 0;
    return found && strncmp(call->callee, fence, sizeof fence - 1) != 0;
}

/** Checks one statement: "[place] left = [place] callee (arguments); [remark]", or without the left side.
 *  Structs only in device code: the host process of a submission has nothing to hide, and every
 *  launch passes structs. */
static void judge_statement(struct unseen *u, const struct function *caller, const char *line,
                            const char *end)
{
    static const char *const equals[] = {" = ", " ={v} "};
    const char *left = behind_places(line + strspn(line, " "), end), *right = left;
    struct call call;
    for (const char *at = left; at < end && right == left && *at != '"'; at++)
        for (size_t i = 0; i < sizeof equals / sizeof equals[0]; i++)
            if (strncmp(at, equals[i], strlen(equals[i])) == 0) right = at + strlen(equals[i]);
    if (!read_call(behind_places(right, end), end, &call)) return;
    if (is_unseen_atomic(&call))
        refuse_statement(
            u, line, call.callee,
            "an atomic of a memory order that does not exist, which the software device does not see: "
            "use one of __ATOMIC_RELAXED to __ATOMIC_SEQ_CST");
    if (!is_device_code(u->all, caller)) return;
    if (right != left && is_by_pointer(left, strchr(left, '=')))
        refuse_statement(u, line, left,
                         "the result of a call is a struct that is stored by a pointer, which the software "
                         "device does not see: "
                         "assign it to a variable first");
    if (has_argument_by_pointer(&call))
        refuse_statement(u, line, call.callee,
                         "a struct is handed to a function by value, from where a pointer leads, which the "
                         "software device does "
                         "not see: copy it to a variable first");
    if (!call.by_pointer || u->gives_struct == NULL) return;
    char *what = format_string(
        "device code calls through a pointer, and %.*s, which is not inlined, gives back a struct: called "
        "so, it would store unseen; let it store by a pointer that it is given",
        (int)u->gives_struct->name_length, u->gives_struct->name);
    refuse_statement(u, line, call.callee, what);
    free(what);
}

/** The compiler's name for a result that lies in memory. */
static const struct function *find_giver_of_struct(const struct functions *all)
{
    for (size_t i = 0; i < all->count; i++) {
        const struct function *f = &all->list[i];
        if (f->body != NULL && f->end != NULL && holds(f->body, f->end, "<retval>")) return f;
    }
    return NULL;
}

int unseen_refused(const char *path)
{
    struct text text = {0};
    if (!text_read_file(&text, path) || text.data == NULL) return 0;
    struct functions all = read_functions(text.data);
    struct unseen u = {.all = &all, .gives_struct = find_giver_of_struct(&all)};
    for (size_t i = 0; i < all.count; i++) {
        const struct function *f = &all.list[i];
        for (const char *line = f->body, *end; line != NULL && line < f->end; line = end + 1) {
            end = line + strcspn(line, "\n");
            if (*line == ' ') judge_statement(&u, f, line, end);
        }
    }
    for (size_t i = 0; i < u.reported.count; i++) free(u.reported.list[i]);
    free(u.reported.list);
    free(all.list);
    text_drop(&text);
    return u.refused;
}
