/**
 * @file case_table.c
 * @brief Checks tables of cases: a table is code, and a mistake in it must not pass for a shorter table.
 */
#include "case_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/edit_distance.h"

/* 1 if a name is "part/name" in small letters, digits and underscores, and was not cut off by the end of
 * its array. */
static const char *name_fault(const struct lesson *lesson, const struct lesson_case *item)
{
    const char *part = lesson->part[item->part].name, *end = memchr(item->name, '\0', LESSON_NAME);
    if (end == NULL || end - item->name >= LESSON_NAME - 1) return "its name does not fit its array";
    size_t length = strlen(part);
    if (strncmp(item->name, part, length) != 0 || item->name[length] != '/')
        return "its name does not begin with its part's";
    const char *rest = item->name + length + 1;
    if (*rest == '\0') return "it has no name";
    if (rest[strspn(rest, "abcdefghijklmnopqrstuvwxyz0123456789_")] != '\0')
        return "its name holds more than small letters, digits and _";
    return NULL;
}

/* What is wrong with a case, as far as that shows without its buffers; NULL if nothing is. */
static const char *number_fault(const struct lesson *lesson, const struct lesson_case *item, int count)
{
    if (item->group < 0 || item->group >= GROUP_COUNT) return "there is no such group";
    if (item->weight < 0) return "its weight is negative";
    if (item->devices == 0) return "it runs on no device";
    if (item->devices & ~(unsigned)ON_ANY) return "there is no such device";
    if (item->flags & ~(unsigned)CASE_ALL_FLAGS) return "it has a flag that is not in CASE_ALL_FLAGS";
    if (item->repeat < 1) return "it has no items (repeat)";
    if (item->beside < 0 || item->beside > count) return "the case beside it is not there";
    if (item->expected < KERNEL_OK || item->expected > KERNEL_UNSUPPORTED_ARCHITECTURE ||
        item->expected == KERNEL_NOT_STARTED)
        return "it expects a status that no finished kernel returns";
    int distributions = lesson->distributions > 0 ? lesson->distributions : 1;
    if (item->distribution < 0 || item->distribution >= distributions) return "there is no such distribution";
    return NULL;
}

static const char *buffer_fault(const struct lesson *lesson, const struct lesson_case *item)
{
    struct lesson_buffer buffer[WIRE_BUFFERS];
    memset(buffer, 0, sizeof buffer);
    int buffers = lesson->buffers(item, buffer);
    if (buffers < 1 || buffers > WIRE_BUFFERS) return "it has no buffers, or too many";
    if (item->null_buffer < -1 || item->null_buffer >= buffers) return "there is no such null buffer";
    if (item->misaligned_buffer < -1 || item->misaligned_buffer >= buffers)
        return "there is no such misaligned buffer";
    if (item->misalignment < 0) return "its misalignment is negative";
    if (item->untouched >> buffers != 0) return "there is no such untouched buffer";
    for (int b = 0; b < buffers; b++)
        if (buffer[b].name == NULL || buffer[b].rank < 1 || buffer[b].rank > LESSON_RANK)
            return "one of its buffers has no name or no shape";
    return NULL;
}

static int say(const struct lesson *lesson, const struct lesson_case *item, const char *fault, char *why,
               size_t size)
{
    const char *part =
        item->part >= 0 && item->part < lesson->part_count ? lesson->part[item->part].name : "unknown";
    snprintf(why, size, "the table of lesson %02d is wrong: part %s, case %.*s: %s", lesson->number, part,
             LESSON_NAME, item->name, fault);
    return -1;
}

static int check_case(const struct lesson *lesson, const struct lesson_case *cases, int index, int count,
                      char *why, size_t size)
{
    const struct lesson_case *item = &cases[index];
    const char *fault = item->part < 0 || item->part >= lesson->part_count ? "there is no such part" : NULL;
    if (fault == NULL) fault = name_fault(lesson, item);
    if (fault == NULL) fault = number_fault(lesson, item, count);
    if (fault == NULL) fault = buffer_fault(lesson, item);
    for (int i = 0; i < index && fault == NULL; i++)
        if (strcmp(cases[i].name, item->name) == 0) fault = "another case has the same name";
    return fault == NULL ? 0 : say(lesson, item, fault, why, size);
}

/* Nobody could earn points in a part whose cases are all worth nothing on that device. */
static int check_part(const struct lesson *lesson, const struct lesson_case *cases, int count, int part,
                      char *why, size_t size)
{
    for (unsigned device = ON_SIMT; device <= ON_GPU; device <<= 1) {
        int weight = 0;
        for (int i = 0; i < count; i++)
            if (cases[i].part == part && (cases[i].devices & device) && cases[i].expected == KERNEL_OK)
                weight += cases[i].weight;
        if (weight > 0) continue;
        snprintf(why, size, "the table of lesson %02d is wrong: part %s has no case with a weight on %s",
                 lesson->number, lesson->part[part].name, device == ON_SIMT ? "simt" : "gpu");
        return -1;
    }
    return 0;
}

int case_table_check(const struct lesson *lesson, const struct lesson_case *cases, int count, int capacity,
                     char *why, size_t size)
{
    if (count + CASE_TABLE_SPARE > capacity) {
        snprintf(why, size, "the table of lesson %02d is wrong: %d cases do not fit (CHECK_CASES is %d)",
                 lesson->number, count, capacity);
        return -1;
    }
    for (int i = 0; i < count; i++)
        if (check_case(lesson, cases, i, count, why, size) != 0) return -1;
    for (int part = 0; part < lesson->part_count; part++)
        if (check_part(lesson, cases, count, part, why, size) != 0) return -1;
    return 0;
}

struct lesson_case *case_table_find(struct lesson_case *cases, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(cases[i].name, name) == 0) return &cases[i];
    fprintf(stderr, "checker: the table of a lesson is wrong: it builds on case %s, which is not there\n",
            name);
    exit(2);
}

/* ---- launches that are refused ---------------------------------------------------------------------------- */

void case_table_refuse_launches(struct lesson_case *item)
{
    item->group = GROUP_BAD_INPUT;
    item->weight = 1;
    item->devices = ON_SIMT; /* how a GPU reports a broken capture is not known here */
    item->flags = CASE_REFUSE_LAUNCHES;
    item->untouched = 0;
    item->expected = KERNEL_CUDA_ERROR;
}

/* ---- cases made of others ---------------------------------------------------------------------------------- */

void case_table_spoil(struct lesson_case *item, const struct bad_argument *bad, int dtype_at)
{
    if (bad->at >= 0) item->value[bad->at] = bad->value;
    if (bad->dtype >= 0) item->value[dtype_at] = bad->dtype;
    item->null_buffer = bad->null_buffer;
    item->misaligned_buffer = bad->misaligned_buffer;
    item->misalignment = bad->misalignment;
    item->expected = bad->expected;
}

struct lesson_case *case_table_copy(struct lesson_case *cases, int *count, int capacity, const char *part,
                                    const char *like, const char *name)
{
    char full[LESSON_NAME];
    snprintf(full, sizeof full, "%s/%s", part, like);
    const struct lesson_case *model = case_table_find(cases, *count, full);
    if (*count >= capacity) return NULL;
    struct lesson_case *item = &cases[(*count)++];
    *item = *model;
    snprintf(item->name, sizeof item->name, "%s/%s", part, name);
    return item;
}

int case_table_add_old_device(struct lesson_case *cases, int count, int capacity, const char *part,
                              const char *like, const char *name)
{
    struct lesson_case *item = case_table_copy(cases, &count, capacity, part, like, name);
    if (item == NULL) return count;
    item->group = GROUP_BAD_INPUT;
    item->weight = 1;
    item->devices = ON_SIMT;
    item->flags = 0;
    item->capability = CASE_TABLE_OLD_DEVICE;
    return count;
}

void case_table_shorten(int *tokens, int row, struct rng *rng)
{
    const int most = (1 << 19) / row;
    if (rng_between(rng, 0, 9) > 0 && *tokens > most) *tokens = most;
}

int64_t case_table_stride(int64_t count)
{
    for (int64_t candidate = count / 3 + 1; candidate < count; candidate++) {
        int64_t a = count, b = candidate;
        while (b != 0) {
            const int64_t rest = a % b;
            a = b;
            b = rest;
        }
        if (a == 1 && candidate > 1) return candidate;
    }
    return 1;
}

/* ---- where buffers begin ---------------------------------------------------------------------------------- */

enum { WIDEST_ACCESS = 16 }; /* width in bytes of one load or store instruction */

struct sweep case_table_sweep(int index, int paths)
{
    enum { MIXED = 37 }; /* a prime that is no number of paths */
    const int mixed = index * MIXED % (CASE_TABLE_REMAINDERS * paths);
    return (struct sweep){mixed % paths, 1 + mixed / paths};
}

int case_table_places(const struct lesson_buffer *buffers, int count)
{
    int places = 0;
    for (int b = 0; b < count; b++)
        for (size_t align = lesson_align(&buffers[b]); align <= WIDEST_ACCESS; align *= 2) places++;
    return places;
}

void case_table_place(struct lesson_case *item, int index, const struct lesson_buffer *buffers, int count)
{
    int places = 0, each[WIRE_BUFFERS] = {0};
    for (int b = 0; b < count; b++) {
        for (size_t align = lesson_align(&buffers[b]); align <= WIDEST_ACCESS; align *= 2) each[b]++;
        places += each[b];
    }
    if (places == 0) return;
    int place = index % places, b = 0;
    while (place >= each[b]) place -= each[b++];
    int odd = index / places % 2 == 0 ? 1 : 3;
    item->misaligned_buffer = b;
    item->misalignment = odd * ((int)lesson_align(&buffers[b]) << place);
}

/* ---- names as people write them -------------------------------------------------------------------------- */

int case_table_means(const char *name, const struct lesson_case *item)
{
    const char *slash = strchr(item->name, '/');
    size_t length = strlen(name);
    if (length > 0 && name[length - 1] == '/') return strncmp(name, item->name, length) == 0;
    return strcmp(name, item->name) == 0 || (slash != NULL && strcmp(name, slash + 1) == 0);
}

/* Names that contain the given name are near, and so are names that differ in a few letters. */
static int distance_of(const char *name, const struct lesson_case *item)
{
    const char *slash = strchr(item->name, '/'), *rest = slash != NULL ? slash + 1 : item->name;
    int whole = count_edits(name, item->name), alone = count_edits(name, rest);
    int distance = whole < alone ? whole : alone, limit = 1 + (int)strlen(name) / 3;
    int within = strlen(name) > 2 && strstr(item->name, name) != NULL;
    return within && distance > 1 ? 1 : distance <= limit ? distance : INT_MAX;
}

int case_table_near(const struct lesson_case *cases, int count, const char *name, const char **near, int most)
{
    int found = 0;
    for (int distance = 0; distance <= LONGEST_WORD && found < most; distance++)
        for (int i = 0; i < count && found < most; i++)
            if (distance_of(name, &cases[i]) == distance) near[found++] = cases[i].name;
    return found;
}
