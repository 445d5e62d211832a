/**
 * @file rooms.c
 * @brief Holds the tree under common/ to its plan: which room may include and call which, and which files may call each other
 *        in a circle. The plan is the two tables of common/README.md. docs/rooms.svg has to show what is included.
 *
 * usage: rooms SOURCE_DIR [--dot] [OBJECTS... [-- OBJECTS...]]
 *
 * OBJECTS are object files of the rooms, those of one program up to --; what they call is read with nm, so that a function
 * declared by hand counts like any other. A file and its header are one: inline functions of x.h are x.c's, and so are the
 * calls that they make. --dot draws the rooms and what they include for Graphviz, instead of judging them.
 */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    MOST_ROOMS = 40,
    MOST_FILES = 400,
    MOST_SYMBOLS = 20000,
    MOST_INLINES = 1000,
    BELOW = 1024,
    PATH = 4096
};

/* ---- the plan --------------------------------------------------------------------------------------------------- */

struct room {
    char name[64];
    int uses[MOST_ROOMS];     /* by index: the plan allows it */
    int includes[MOST_ROOMS]; /* how many includes there are */
    int calls[MOST_ROOMS];    /* 1: a file of this room calls one of that */
};

struct circle {
    char files[16][64];
    int count, met;
};

static struct room rooms[MOST_ROOMS];
static struct circle circles[MOST_ROOMS];
static int room_count, circle_count, failures;
static const char *source;

static void fail(const char *first, const char *second, const char *third)
{
    fprintf(stderr, "FAIL %s%s%s\n", first, second, third);
    failures++;
}

static int room_named(const char *name)
{
    for (int i = 0; i < room_count; i++)
        if (strcmp(rooms[i].name, name) == 0) return i;
    return -1;
}

/* The next `word` of a table's row; moves @p at behind it. */
static int quoted(const char **at, const char *end, char word[64])
{
    const char *open = memchr(*at, '`', (size_t)(end - *at));
    const char *close = open != NULL ? memchr(open + 1, '`', (size_t)(end - open - 1)) : NULL;
    if (close == NULL || close - open > 63) return 0;
    snprintf(word, 64, "%.*s", (int)(close - open - 1), open + 1);
    *at = close + 1;
    return 1;
}

/* Rows "| `room` | purpose | uses |" before the line "## Circles", "| `file` `file` | why |" after it. */
static void read_plan(int naming)
{
    char path[PATH], line[2048], word[64];
    int in_circles = 0;
    snprintf(path, sizeof path, "%s/common/README.md", source);
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        fail("there is no ", path, "");
        return;
    }
    while (fgets(line, sizeof line, file) != NULL) {
        in_circles = in_circles || strncmp(line, "## Circles", 10) == 0;
        if (strncmp(line, "| `", 3) != 0) continue;
        const char *end = strchr(line + 2, '|'), *at = line;
        if (end == NULL) continue;
        if (in_circles) {
            if (naming) continue;
            struct circle *circle = &circles[circle_count++];
            while (circle->count < 16 && quoted(&at, end, circle->files[circle->count])) circle->count++;
            continue;
        }
        if (!quoted(&at, end, word)) continue;
        if (naming) {
            snprintf(rooms[room_count++].name, sizeof rooms[0].name, "%s", word);
            continue;
        }
        struct room *room = &rooms[room_named(word)];
        at = strrchr(line, '|');
        for (end = at; at > line && at[-1] != '|';) at--;
        while (quoted(&at, end, word)) {
            if (room_named(word) < 0)
                fail("common/README.md: no such room: ", word, "");
            else
                room->uses[room_named(word)] = 1;
        }
    }
    fclose(file);
}

/* ---- what files include ----------------------------------------------------------------------------------------- */

/* The room of a path below common/: the one with the longest name that it begins with. */
static int room_of(const char *path)
{
    int best = -1;
    for (int i = 0; i < room_count; i++) {
        size_t length = strlen(rooms[i].name);
        if (strncmp(path, rooms[i].name, length) != 0 || path[length] != '/') continue;
        if (best < 0 || length > strlen(rooms[best].name)) best = i;
    }
    return best;
}

static int exists(const char *below, const char *name)
{
    char path[PATH];
    struct stat found;
    snprintf(path, sizeof path, "%s/%s/%s", source, below, name);
    return stat(path, &found) == 0;
}

/* What @p file, a path below common/ in folder @p folder, includes as @p name: the room, -1 if it is none of ours, -2 if
 * nobody knows. */
static int room_included(const char *folder, const char *name)
{
    char path[BELOW];
    static const char *const by_name[] = {"contracts", "decode", "simt", "simt/machine", "simt/include"};
    snprintf(path, sizeof path, "common/%s", folder);
    if (exists(path, name)) {
        snprintf(path, sizeof path, "%s/%s", folder, name);
        return room_of(path);
    }
    if (exists("common", name)) return room_of(name);
    for (size_t i = 0; i < sizeof by_name / sizeof by_name[0];
         i++) { /* kernels and their headers see these folders */
        snprintf(path, sizeof path, "common/%s", by_name[i]);
        if (!exists(path, name)) continue;
        snprintf(path, sizeof path, "%s/%s", by_name[i], name);
        return room_of(path);
    }
    return -2;
}

static int is_of_a_lesson_or_oracle(const char *name)
{
    char path[BELOW];
    if (exists("reference", name)) return 1;
    snprintf(path, sizeof path, "%s/lessons", source);
    DIR *lessons = opendir(path);
    int found = 0;
    for (struct dirent *entry; lessons != NULL && !found && (entry = readdir(lessons)) != NULL;) {
        snprintf(path, sizeof path, "lessons/%s", entry->d_name);
        found = exists(path, name);
    }
    if (lessons != NULL) closedir(lessons);
    return found;
}

static void read_includes(const char *folder, const char *file)
{
    char path[PATH], line[1024], name[256], below[BELOW];
    snprintf(below, sizeof below, "%s/%s", folder, file);
    int from = room_of(below);
    if (from < 0) {
        fail("common/", below, " stands in no room of common/README.md");
        return;
    }
    snprintf(path, sizeof path, "%s/common/%s", source, below);
    FILE *text = fopen(path, "r");
    while (text != NULL && fgets(line, sizeof line, text) != NULL) {
        if (sscanf(line, " # include \"%255[^\"]\"", name) != 1) continue;
        int to = room_included(folder, name);
        if (to == -2 && !is_of_a_lesson_or_oracle(name)) fail(below, " includes what is nowhere: ", name);
        if (to < 0 || to == from) continue;
        rooms[from].includes[to]++;
        if (!rooms[from].uses[to]) fail(below, " may not include ", name);
    }
    if (text != NULL) fclose(text);
}

/* ---- inline functions ------------------------------------------------------------------------------------------- */

static struct inline_function {
    char name[96], stem[BELOW]; /* the header's path below common/, without its ending */
} inlines[MOST_INLINES];
static int inline_count;

/* The text of a file below common/ with blanks for comments, strings and directives; the caller's to free. */
static char *read_code(const char *below)
{
    char path[PATH];
    snprintf(path, sizeof path, "%s/common/%s", source, below);
    FILE *file = fopen(path, "r");
    char *text = calloc(1, 1 << 20);
    if (file != NULL && text != NULL && fread(text, 1, (1 << 20) - 1, file) == 0)
        fail(path, " cannot be read", "");
    if (file != NULL) fclose(file);
    int new_line = 1;
    for (char *at = text; at != NULL && *at; at++) {
        char *end = at;
        if (at[0] == '/' && at[1] == '*') {
            end = strstr(at, "*/") != NULL ? strstr(at, "*/") + 2 : at + strlen(at);
        } else if (at[0] == '/' && at[1] == '/') {
            end = at + strcspn(at, "\n");
        } else if (*at == '"' || (*at == '\'' && at[1])) {
            for (end = at + 1; *end && *end != *at; end++) end += *end == '\\' && end[1];
            end += *end != '\0';
        } else if (*at == '#' && new_line) {
            for (end = at; *end && *end != '\n'; end++) end += *end == '\\' && end[1];
        }
        new_line = *at == '\n' || (new_line && *at == ' ');
        if (end > at) memset(at, ' ', (size_t)(end - at));
        if (end > at) at = end - 1;
    }
    return text;
}

/* The next name before a bracket at or behind *@p at, which moves behind it; @p depth counts braces. */
static int next_call(char **at, char name[96], int *depth)
{
    for (char *p = *at; *p; p++) {
        if (*p == '{' || *p == '}') *depth += *p == '{' ? 1 : -1;
        if (!isalpha((unsigned char)*p) && *p != '_') continue;
        char *end = p;
        while (isalnum((unsigned char)*end) || *end == '_') end++;
        char *open = end + strspn(end, " \n");
        const int attribute =
            strncmp(p, "__attribute__", 13) == 0; /* stands before a bracket, and is no function */
        if (*open == '(' && end - p < 96 && !attribute) {
            snprintf(name, 96, "%.*s", (int)(end - p), p);
            *at = end;
            return 1;
        }
        p = end - 1;
    }
    return 0;
}

static void read_inlines(const char *below)
{
    char *text = read_code(below);
    int depth = 0;
    for (char *at = text; at != NULL && (at = strstr(at, "static inline ")) != NULL;) {
        struct inline_function *found = &inlines[inline_count];
        if (!next_call(&at, found->name, &depth) || inline_count + 1 == MOST_INLINES) break;
        snprintf(found->stem, sizeof found->stem, "%.*s", (int)strlen(below) - 2, below);
        inline_count++;
    }
    free(text);
}

static void walk(const char *folder)
{
    char path[PATH];
    snprintf(path, sizeof path, "%s/common/%s", source, folder);
    DIR *open = opendir(path);
    for (struct dirent *entry; open != NULL && (entry = readdir(open)) != NULL;) {
        const char *ending = strrchr(entry->d_name, '.');
        struct stat found;
        char below[BELOW];
        if (entry->d_name[0] == '.') continue;
        snprintf(below, sizeof below, "%s%s%s", folder, *folder ? "/" : "", entry->d_name);
        snprintf(path, sizeof path, "%s/common/%s", source, below);
        if (stat(path, &found) == 0 && S_ISDIR(found.st_mode))
            walk(below);
        else if (ending != NULL &&
                 (!strcmp(ending, ".c") || !strcmp(ending, ".h") || !strcmp(ending, ".cu"))) {
            read_includes(folder, entry->d_name);
            if (!strcmp(ending, ".h") &&
                strstr(below, "/include/") == NULL) /* CUDA's own: what is there is for programs */
                read_inlines(below);
        }
    }
    if (open != NULL) closedir(open);
}

/* ---- circles of files ------------------------------------------------------------------------------------------- */

static char files[MOST_FILES][64],
    stems[MOST_FILES][BELOW]; /* a stem is a path below common/ without its ending */
static unsigned char calls[MOST_FILES][MOST_FILES];
static int file_count, judged;

static struct symbol {
    char name[96];
    int file, defined;
} symbols[MOST_SYMBOLS];
static int symbol_count;

static int by_name(const void *a, const void *b)
{
    const struct symbol *left = a, *right = b;
    int order = strcmp(left->name, right->name);
    return order ? order : right->defined - left->defined;
}

/* The number of a file of this program, by its path below common/ without the ending. */
static int file_of(const char *stem, const char *ending)
{
    for (int i = 0; i < file_count; i++)
        if (strcmp(stems[i], stem) == 0) return i;
    const char *slash = strrchr(stem, '/');
    if (file_count == MOST_FILES) return -1;
    snprintf(stems[file_count], sizeof stems[0], "%s", stem);
    snprintf(files[file_count], sizeof files[0], "%.50s%s", slash != NULL ? slash + 1 : stem, ending);
    return file_count++;
}

/* build/common/ROOM/CMakeFiles/TARGET.dir/FILE.c.o is common/ROOM/FILE.c; what is generated is of no room. */
static int file_of_object(const char *object)
{
    char stem[BELOW];
    const char *below = strstr(object, "/common/"), *target = strstr(object, "/CMakeFiles/");
    const char *file = target != NULL ? strstr(target, ".dir/") : NULL;
    if (file == NULL || below == NULL || below > target) return -1;
    snprintf(stem, sizeof stem, "%.*s%s", (int)(target + 1 - (below + 8)), below + 8, file + 5);
    for (char *up; (up = strstr(stem, "/__/")) != NULL;) { /* CMake's word for .. */
        char *parent = up;
        while (parent > stem && parent[-1] != '/') parent--;
        memmove(parent, up + 4, strlen(up + 4) + 1);
    }
    char *end = strstr(stem, ".cu.o");
    const char *ending = end != NULL ? ".cu" : ".c";
    if (end == NULL) end = strstr(stem, ".c.o");
    if (end != NULL) *end = '\0';
    return file_of(stem, ending);
}

/* "00000000 T text_append": which names the object file defines or wants. */
static void read_symbols(const char *object)
{
    char command[PATH + 64], line[1024], name[96], kind;
    const int at = file_of_object(object);
    snprintf(command, sizeof command, "nm -g '%s' 2>/dev/null", object);
    FILE *nm = at >= 0 ? popen(command, "r") : NULL;
    while (nm != NULL && fgets(line, sizeof line, nm) != NULL) {
        if (sscanf(line, "%*x %c %95s", &kind, name) != 2 && sscanf(line, " %c %95s", &kind, name) != 2)
            continue;
        if (symbol_count == MOST_SYMBOLS) break;
        symbols[symbol_count] = (struct symbol){.file = at, .defined = kind != 'U' && kind != 'w'};
        snprintf(symbols[symbol_count++].name, sizeof symbols[0].name, "%s", name);
    }
    if (nm == NULL || pclose(nm) != 0) fail("nm cannot read ", object, "");
}

static int defined_in(const char *name)
{
    for (int i = 0; i < symbol_count; i++)
        if (symbols[i].defined && strcmp(symbols[i].name, name) == 0) return symbols[i].file;
    return -1;
}

/* What a file calls of the inline functions in headers, and, if it is a header, what its own functions call. */
static void read_calls(int file, const char *ending)
{
    char below[BELOW + 8], name[96];
    int depth = 0;
    snprintf(below, sizeof below, "%s%s", stems[file], ending);
    if (!exists("common", below)) return;
    char *text = read_code(below);
    for (char *at = text; at != NULL && next_call(&at, name, &depth);) {
        int owner = -1;
        for (int i = 0; i < inline_count && owner < 0; i++)
            if (strcmp(inlines[i].name, name) == 0) owner = file_of(inlines[i].stem, ".h");
        if (owner < 0 && depth > 0 && strcmp(ending, ".h") == 0) owner = defined_in(name);
        if (owner >= 0 && owner != file) calls[file][owner] = 1;
    }
    free(text);
}

/* Holds a call from file @p i to file @p j to the plan of rooms. What a header brings is held where it is included. */
static void judge_call(int i, int j)
{
    const int from = room_of(stems[i]), to = room_of(stems[j]);
    if (from < 0 || to < 0 || from == to) return;
    rooms[from].calls[to] = 1;
    if (!rooms[from].uses[to]) fail(stems[i], " may not call ", stems[j]);
}

static void close_calls(void)
{
    for (int i = 0; i < file_count; i++) { /* headers without a file join while they are found */
        read_calls(i, ".c");
        read_calls(i, ".h");
    }
    qsort(symbols, (size_t)symbol_count, sizeof symbols[0], by_name);
    for (int i = 0, owner = -1; i < symbol_count; i++) {
        if (i == 0 || strcmp(symbols[i].name, symbols[i - 1].name) != 0) owner = -1;
        if (symbols[i].defined) {
            owner = symbols[i].file;
        } else if (owner >= 0 && owner != symbols[i].file) {
            calls[symbols[i].file][owner] = 1;
            judge_call(symbols[i].file, owner);
        }
    }
    for (int k = 0; k < file_count; k++)
        for (int i = 0; i < file_count; i++)
            for (int j = 0; calls[i][k] && j < file_count; j++) calls[i][j] |= calls[k][j];
}

static int is_in(const struct circle *circle, const char *file)
{
    for (int i = 0; i < circle->count; i++)
        if (strcmp(circle->files[i], file) == 0) return 1;
    return 0;
}

static int in_one_circle(int i, int j)
{
    return i == j || (calls[i][j] && calls[j][i]);
}

/* The circle whose first file is @p first, if the plan does not have it. */
static void judge_circle(int first)
{
    int length = 0, known = 0;
    for (int c = 0; c < circle_count; c++) {
        int met = 0, missing = 0;
        for (int i = 0; i < file_count; i++) {
            if (!in_one_circle(first, i)) continue;
            met += is_in(&circles[c], files[i]);
            missing += !is_in(&circles[c], files[i]);
        }
        known = known || missing == 0;
        circles[c].met = circles[c].met || (met > 1 && met == circles[c].count);
    }
    for (int i = 0; i < file_count; i++) length += in_one_circle(first, i);
    if (known || length < 2) return;
    fprintf(stderr, "FAIL a circle of files that common/README.md does not know:");
    for (int i = 0; i < file_count; i++)
        if (in_one_circle(first, i)) fprintf(stderr, " %s", files[i]);
    fprintf(stderr, "\n");
    failures++;
}

/* The files of one program, which then are forgotten. */
static void judge_circles(void)
{
    close_calls();
    for (int i = 0; i < file_count; i++) {
        int first = 1;
        for (int j = 0; j < i; j++) first = first && !in_one_circle(i, j);
        if (first) judge_circle(i);
    }
    judged += file_count;
    memset(calls, 0, sizeof calls);
    file_count = symbol_count = 0;
}

/* ---- the picture ------------------------------------------------------------------------------------------------ */

static void draw(void)
{
    printf("digraph rooms {\n    rankdir=TB; node [shape=box, fontname=\"sans-serif\"]; edge "
           "[color=\"#777777\"];\n");
    for (int i = 0; i < room_count; i++) {
        printf("    \"%s\";\n", rooms[i].name);
        for (int j = 0; j < room_count; j++)
            if (rooms[i].includes[j]) printf("    \"%s\" -> \"%s\";\n", rooms[i].name, rooms[j].name);
    }
    printf("}\n");
}

/* The picture has an edge for every room that another includes, and no others. */
static void judge_picture(void)
{
    char path[PATH], edge[256];
    static char picture[1 << 20];
    snprintf(path, sizeof path, "%s/docs/rooms.svg", source);
    FILE *file = fopen(path, "r");
    if (file == NULL || fread(picture, 1, sizeof picture - 1, file) == 0)
        fail("docs/rooms.svg cannot be read", "", "");
    if (file != NULL) fclose(file);
    for (int i = 0; i < room_count; i++)
        for (int j = 0; j < room_count; j++) {
            snprintf(edge, sizeof edge, "<title>%.100s&#45;&gt;%.100s</title>", rooms[i].name, rooms[j].name);
            const int drawn = strstr(picture, edge) != NULL;
            if (drawn != (rooms[i].includes[j] > 0))
                fail(rooms[i].name,
                     drawn ? " does not include, and docs/rooms.svg says so: "
                           : " is drawn in docs/rooms.svg without ",
                     rooms[j].name);
        }
}

int main(int count, char **words)
{
    if (count < 2) return 2;
    source = words[1];
    int dot = count > 2 && strcmp(words[2], "--dot") == 0;
    read_plan(1);
    read_plan(0);
    walk("");
    if (dot) {
        draw();
        return 0;
    }
    for (int i = 2; i < count; i++) {
        if (strcmp(words[i], "--") == 0)
            judge_circles();
        else
            read_symbols(words[i]);
    }
    judge_circles();
    judge_picture();
    for (int c = 0; c < circle_count && judged > 0; c++)
        if (!circles[c].met) fail("common/README.md: not one circle any more: ", circles[c].files[0], " ...");
    for (int i = 0; i < room_count; i++)
        for (int j = 0; j < room_count; j++)
            if (rooms[i].uses[j] && !rooms[i].includes[j] && !rooms[i].calls[j])
                fail(rooms[i].name, " does not use any more: ", rooms[j].name);
    printf("%d rooms, %d files with symbols, %d failures\n", room_count, judged, failures);
    return failures > 0;
}
