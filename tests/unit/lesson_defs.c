/**
 * @file lesson_defs.c
 * @brief Holds the memory that descriptions (lessons/NN_topic/lesson.def) name against the buffers that the checker's cases
 *        have: names, roles, storage types, alignment, extents, and which may be NULL.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checker/promises/promises.h"
#include "checker/cases/lesson.h"
#include "checker/verdict/check.h"

enum { IN = 1 << WIRE_IN, OUT = 1 << WIRE_OUT, INOUT = 1 << WIRE_INOUT };
enum {
    F32 = 1 << STORAGE_F32,
    F16 = 1 << STORAGE_F16,
    I32 = 1 << STORAGE_I32,
    BF16 = 1 << STORAGE_BF16,
    S8 = 1 << STORAGE_S8
};
enum { ELEMENT = 0, REQUIRED = 0, LAST = 0, OPTIONAL = 1, CHOSEN = 1 };
enum { VARIED = 8, WORDS = 16, LONGEST = 32, MOST_NAMED = 24 };

enum kind { A_LESSON, A_PART, A_POINTER, A_SCRATCH, A_REPORT, A_LIST };

/** A line of a description. */
struct line {
    enum kind kind;
    const char *name;
    unsigned roles, dtypes, alignments, optional;
    const char *extents;
    unsigned devices; /**< that its cases are for */
    const char *cases[MOST_NAMED];
};

/* clang-format off */
static const struct line lines[] = {
#define LESSON(number, topic, title) {.kind = A_LESSON, .name = #topic},
#define PART(id, name_, points) {.kind = A_PART, .name = name_},
#define POINTER(name_, role, dtype, alignment, null, ...) \
    {.kind = A_POINTER, .name = name_, .roles = role, .dtypes = dtype, .alignments = alignment, .optional = null, .extents = #__VA_ARGS__},
#define SCRATCH(name_) {.kind = A_SCRATCH, .name = name_},
#define REPORT(name_) {.kind = A_REPORT, .name = name_},
#define SHOWN_BY(test_case) {.kind = A_LIST, .devices = ON_ANY, .cases = {test_case}},
#define SANITIZED(...) {.kind = A_LIST, .devices = ON_GPU, .cases = {__VA_ARGS__}},
#define COUNTED(...) {.kind = A_LIST, .devices = ON_ANY, .cases = {__VA_ARGS__}},
#define LESSON_DEF "lessons.def"
#include "description/lesson_def.h"
};
/* clang-format on */
enum { LINES = sizeof lines / sizeof lines[0] };

/** What the cases of a part have shown of a line. */
static struct {
    unsigned roles, dtypes, alignments;
    int cases, refused_null, taken_null, refused_address;
} met[LINES][LESSON_PARTS];
static int failures;

static void fail(const struct lesson *lesson, const char *where, const char *name, const char *what)
{
    fprintf(stderr, "FAIL %s: %s: %s: %s\n", lesson->topic, where, name, what);
    failures++;
}

/** The line that describes @p name in part @p part of the lesson that begins at line @p at; -1 if there is none. */
static int line_of(int at, int part, const char *name)
{
    int now = -1;
    for (int i = at + 1; i < LINES && lines[i].kind != A_LESSON; i++) {
        now += lines[i].kind == A_PART;
        if ((now < 0 || now == part) && lines[i].kind != A_PART && lines[i].kind != A_LIST &&
            strcmp(lines[i].name, name) == 0)
            return i;
    }
    return -1;
}

/** What words stand for in one item. */
struct meaning {
    int count;
    char word[WORDS][LONGEST];
    size_t extent[WORDS];
};

/** 1 if @p word can stand for @p extent beside what is known. */
static int means(struct meaning *known, const char *word, size_t extent)
{
    if (word[0] >= '0' && word[0] <= '9' && strspn(word, "0123456789") == strlen(word))
        return strtoull(word, NULL, 10) == extent;
    for (int i = 0; i < known->count; i++)
        if (strcmp(known->word[i], word) == 0) return known->extent[i] == extent;
    if (known->count == WORDS) return 0;
    snprintf(known->word[known->count], LONGEST, "%s", word);
    known->extent[known->count++] = extent;
    return 1;
}

static int extents_fit(struct meaning *known, const char *extents, const struct lesson_buffer *buffer)
{
    int axis = 0;
    char word[LONGEST];
    if (strcmp(extents, "any") == 0) return 1;
    for (const char *at = extents; *at != '\0'; axis++) {
        size_t length = strcspn(at, ",");
        snprintf(word, sizeof word, "%.*s", (int)length, at);
        if (axis >= buffer->rank || !means(known, word, buffer->extent[axis])) return 0;
        at += length + strspn(at + length, ", ");
    }
    return axis == buffer->rank;
}

static void hold_pointer(const struct lesson *lesson, const struct lesson_case *item, int i,
                         const struct lesson_buffer *buffer, struct meaning *known)
{
    const struct line *line = &lines[i];
    const unsigned align = (unsigned)lesson_align(buffer);
    if (!extents_fit(known, line->extents, buffer)) fail(lesson, item->name, line->name, "another shape");
    if (item->expected != KERNEL_OK) return; /* for one of the others, perhaps */
    if (!(line->roles & 1u << buffer->role)) fail(lesson, item->name, line->name, "another role");
    if (!(line->dtypes & 1u << buffer->storage)) fail(lesson, item->name, line->name, "another storage type");
    if (line->alignments == ELEMENT ? align != storage_bytes(buffer->storage) : !(line->alignments & align))
        fail(lesson, item->name, line->name, "another alignment");
    met[i][item->part].roles |= 1u << buffer->role;
    met[i][item->part].dtypes |= 1u << buffer->storage;
    met[i][item->part].alignments |= line->alignments & align;
}

/** What a null pointer and a misaligned one must come to. */
static void hold_refusals(const struct lesson *lesson, const struct lesson_case *item, int i, int index,
                          const struct lesson_buffer *buffer)
{
    const int alone = item->expected == KERNEL_INVALID_CONFIG;
    if (item->null_buffer == index && lines[i].kind == A_POINTER) {
        if (item->expected == KERNEL_OK && !lines[i].optional)
            fail(lesson, item->name, lines[i].name, "is NULL, and is not refused");
        met[i][item->part].refused_null += alone;
        met[i][item->part].taken_null += item->expected == KERNEL_OK;
    }
    if (item->misaligned_buffer != index || item->expected != KERNEL_ALIGNMENT_ERROR) return;
    if ((size_t)item->misalignment % lesson_align(buffer) == 0)
        fail(lesson, item->name, lines[i].name, "is aligned, and is refused for its address");
    met[i][item->part].refused_address++;
}

static void hold_item(const struct lesson *lesson, int at, const struct lesson_case *item)
{
    struct lesson_buffer buffers[WIRE_BUFFERS] = {{0}};
    struct meaning known = {.count = 0};
    const int count = lesson->buffers(item, buffers);
    for (int b = 0; b < count; b++) {
        const int i = line_of(at, item->part, buffers[b].name);
        if (i < 0) {
            fail(lesson, item->name, buffers[b].name, "is not in lesson.def");
            continue;
        }
        met[i][item->part].cases++;
        if (lines[i].kind == A_POINTER) hold_pointer(lesson, item, i, &buffers[b], &known);
        if (lines[i].kind == A_SCRATCH && buffers[b].role != WIRE_WORKSPACE)
            fail(lesson, item->name, buffers[b].name, "is a workspace there");
        hold_refusals(lesson, item, i, b, &buffers[b]);
    }
}

/** What is described, and no case has. */
static void hold_line(const struct lesson *lesson, int i, int part, int nulls, int addresses)
{
    const char *where = lesson->part[part].name;
    const struct line *line = &lines[i];
    int refused_address = met[i][part].refused_address;
    for (int other = 0; line->optional && other < lesson->part_count; other++) /* one part may do for all */
        refused_address += met[i][other].refused_address;
    if (met[i][part].cases == 0) fail(lesson, where, line->name, "no case has it");
    if (line->kind != A_POINTER) return;
    if (met[i][part].roles != line->roles)
        fail(lesson, where, line->name, "no case has it in one of its roles");
    if (met[i][part].dtypes != line->dtypes)
        fail(lesson, where, line->name, "no case has it in one of its storage types");
    if (met[i][part].alignments != line->alignments)
        fail(lesson, where, line->name, "no case has it with one of its alignments");
    if (nulls && !line->optional && met[i][part].refused_null == 0)
        fail(lesson, where, line->name, "no case is refused for its being NULL");
    if (met[i][part].refused_null > 0 && line->optional && met[i][part].taken_null == 0)
        fail(lesson, where, line->name, "may be NULL, and no case gets through so");
    if (addresses && line->dtypes != S8 && refused_address == 0)
        fail(lesson, where, line->name, "no case is refused for its address");
}

static void hold_part(const struct lesson *lesson, int at, int part)
{
    int nulls = 0, addresses = 0, now = -1;
    for (int i = at + 1; i < LINES && lines[i].kind != A_LESSON; i++) {
        nulls += met[i][part].refused_null;
        addresses += met[i][part].refused_address;
    }
    for (int i = at + 1; i < LINES && lines[i].kind != A_LESSON; i++) {
        now += lines[i].kind == A_PART;
        if (lines[i].kind == A_PART || lines[i].kind == A_LIST || (now >= 0 && now != part)) continue;
        hold_line(lesson, i, part, nulls, addresses);
    }
}

static const struct lesson *lesson_on(const char *topic)
{
    const struct lesson *const *at = lesson_table;
    while (*at != NULL && strcmp((*at)->topic, topic) != 0) at++;
    return *at;
}

/** Cases that are named are there, for the devices that they are named for. */
static void hold_list(const struct lesson *lesson, const struct line *line, const struct lesson_case *cases,
                      int count)
{
    for (int i = 0; i < MOST_NAMED && line->cases[i] != NULL; i++) {
        int found = 0;
        for (int c = 0; c < count; c++)
            found |= strcmp(cases[c].name, line->cases[i]) == 0 &&
                     (cases[c].devices & line->devices) == line->devices;
        if (!found)
            fail(lesson, "lesson.def", line->cases[i], "no such case for the device that it is named for");
    }
}

static void hold_lesson(int at)
{
    static struct lesson_case cases[CHECK_CASES];
    const struct lesson *lesson = lesson_on(lines[at].name);
    if (lesson == NULL) abort();
    const int count = promises_cases(lesson, cases, CHECK_CASES);
    for (int i = at + 1; i < LINES && lines[i].kind != A_LESSON; i++)
        if (lines[i].kind == A_LIST) hold_list(lesson, &lines[i], cases, count);
    for (int c = 0; c < count; c++)
        for (int index = 0; index < cases[c].repeat && index < VARIED; index++) {
            struct lesson_case item = cases[c];
            struct rng rng = {rng_mix(1, (uint64_t)index)};
            item.devices = ON_SIMT;
            if (item.repeat > 1) lesson->vary(&item, index, &rng);
            hold_item(lesson, at, &item);
        }
    for (int part = 0; part < lesson->part_count; part++) hold_part(lesson, at, part);
}

int main(void)
{
    int lessons = 0;
    for (int i = 0; i < LINES; i++)
        if (lines[i].kind == A_LESSON) {
            hold_lesson(i);
            lessons++;
        }
    printf("%d lessons, %d lines, %d failures\n", lessons, (int)LINES, failures);
    return failures > 0;
}
