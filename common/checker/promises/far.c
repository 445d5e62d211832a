/**
 * @file far.c
 * @brief Promises about tensors of more than 2^31 and 2^32 elements: three parts of them are filled, and only those are compared.
 *
 * A part holds the same elements of an axis in every buffer that has it. Two parts are 2^31 of the widest vectors apart, where a number
 * of them as an int is negative, and a number of anything narrower begins anew. On a GPU, whose kernels
 * do everything between the parts as well, and where no device could have that much memory, the second part begins beyond 2^31 elements, and
 * a third one beyond 2^32, where an unsigned begins anew. Along such an axis the problem is many problems:
 * for the oracle there are as many as the parts have. Everything between them is zeros that no memory holds. Groups of query heads are such
 * parts, too, less far apart.
 */
#include <limits.h>
#include <stdio.h>

#include "making.h"

enum { PARTS = 3, PARTS_IN_VECTORS = 2, VECTOR_BYTES = 16 };
#define MOST_BYTES ((size_t)200 << 30) /* of addresses: the software device has no more than 256 GB */

static int extents_of(const struct lesson *lesson, const struct lesson_case *item,
                      struct lesson_buffer *buffer)
{
    for (int b = 0; b < WIRE_BUFFERS; b++) buffer[b] = (struct lesson_buffer){0};
    return lesson->buffers(item, buffer);
}

/* The axis of @p one that is longer in @p more; -1: none is. */
static int longer_axis(const struct lesson_buffer *one, const struct lesson_buffer *more)
{
    for (int axis = 0; axis < one->rank; axis++)
        if (one->extent[axis] != more->extent[axis]) return axis;
    return -1;
}

static size_t elements(const struct lesson_buffer *buffer, int before)
{
    size_t elems = 1;
    for (int axis = 0; axis < before; axis++) elems *= buffer->extent[axis];
    return elems;
}

static void set_extent(struct lesson_case *item, const struct described *line, int extent)
{
    item->value[line->at] = item->extent[line->at] = extent;
}

/* What a part of the largest tensor takes, or that many parts of all of them. */
struct extent_of_parts {
    size_t most_elems, most_bytes, bytes;
};

/* Sets how far parts are from each other that follow each other, @p number of them. 0: the axis does not cut every tensor that has it into whole
 * parts, or some output does not have it. */
static int set_apart(const struct lesson *lesson, const struct lesson_case *part, struct lesson_case *parts,
                     size_t number, struct extent_of_parts *of)
{
    struct lesson_buffer one[WIRE_BUFFERS], all[WIRE_BUFFERS];
    const int count = extents_of(lesson, part, one);
    *of = (struct extent_of_parts){0};
    extents_of(lesson, parts, all);
    for (int b = 0; b < count; b++) {
        const int axis = longer_axis(&one[b], &all[b]);
        const size_t elems = lesson_elems(&one[b]), bytes = lesson_bytes(&one[b]);
        if (one[b].role == WIRE_WORKSPACE || elems == 0) continue;
        if (axis < 0 && one[b].role != WIRE_IN) return 0;
        if (axis < 0) continue;
        if (elements(&one[b], axis) != 1 || lesson_elems(&all[b]) != number * elems) return 0;
        parts->apart[b] = (int64_t)elems;
        of->bytes += bytes;
        if (elems > of->most_elems) of->most_elems = elems;
        if (bytes > of->most_bytes) of->most_bytes = bytes;
    }
    return 1;
}

/* From part to part there are @p steps that are as long as one. */
static void set_steps(struct lesson_case *parts, int64_t each, int64_t number, int64_t steps)
{
    for (int b = 0; b < WIRE_BUFFERS; b++) parts->apart[b] *= steps;
    parts->parts.each = (uint64_t)each;
    parts->parts.step = (uint64_t)(steps * each);
    parts->parts.total = (uint64_t)(((number - 1) * steps + 1) * each);
}

/* Fills in what @p parts is of: the largest tensors have 2^31 elements from part to part, or vectors. 0: that cannot be. */
static int set_parts(const struct lesson *lesson, const struct lesson_case *part, struct lesson_case *parts,
                     int each, int vectors)
{
    const int64_t number = vectors ? PARTS_IN_VECTORS : PARTS;
    struct extent_of_parts of;
    if (!set_apart(lesson, part, parts, (size_t)number, &of)) return 0;
    const int64_t apart = (INT64_C(1) << 31) * (vectors ? VECTOR_BYTES : 1);
    const int64_t most = (int64_t)(vectors ? of.most_bytes : of.most_elems);
    const int64_t steps = most > 0 ? (apart - 1) / most + 1 : INT_MAX;
    const int64_t total = (number - 1) * steps + 1;
    if (total * each > INT_MAX || (vectors && of.bytes > MOST_BYTES / (size_t)total)) return 0;
    set_steps(parts, each, number, steps);
    return 1;
}

/* Whether a call may have 1 of this extent, and not only so many as fill a word. */
static int can_be_one(const struct making *m, const struct described *line)
{
    for (int i = 0; i < m->count; i++)
        if (m->cases[i].part == m->part && making_is_ordinary(&m->cases[i]) &&
            m->cases[i].value[line->at] == 1)
            return 1;
    return 0;
}

static struct lesson_case *add_far(struct making *m, const struct described *line, int vectors,
                                   const char *row, const char *behind_name)
{
    const struct described *other = NULL;
    struct lesson_case part = making_least(m, making_like(m), INT_MAX), parts;
    const int each = part.extent[line->at];
    char name[LESSON_NAME / 2];
    /* extents are named from the outermost in */
    while ((other = described_next(m->lesson, m->part, DESCRIBED_EXTENT, other)) != line)
        if (can_be_one(m, other)) set_extent(&part, other, 1);
    parts = part;
    set_extent(&parts, line, (vectors ? PARTS_IN_VECTORS : PARTS) * each);
    if (!set_parts(m->lesson, &part, &parts, each, vectors)) return NULL;
    parts.value[line->at] = (int64_t)parts.parts.total;
    snprintf(name, sizeof name, "%s_%s%s", row, line->name, behind_name);
    return making_add(m, &parts, name);
}

void make_far_parts(struct making *m)
{
    const struct described *line = NULL;
    char promise[LESSON_NAME];
    if (m->lesson->settle != NULL) return; /* other extents follow from each */
    while ((line = described_next(m->lesson, m->part, DESCRIBED_EXTENT, line)) != NULL) {
        snprintf(promise, sizeof promise, "%s %s", m->row_name, line->name);
        if (described_about(m->lesson, m->part, DESCRIBED_NOT_HELD, promise) != NULL) continue;
        struct lesson_case *in_vectors = add_far(m, line, 1, "far", "");
        struct lesson_case *in_elements =
            add_far(m, line, 0, "far", in_vectors != NULL ? "_in_elements" : "");
        if (in_vectors == NULL || in_elements == NULL) continue;
        in_vectors->devices = ON_SIMT;
        in_elements->devices = ON_GPU;
    }
}

/* Of a grid that is capped the device runs a block that goes on and on: what comes out tells nothing, but a barrier that is missing shows. */
void make_rounds(struct making *m)
{
    const struct described *line = NULL;
    struct lesson_case *item = NULL;
    if (described_about(m->lesson, m->part, DESCRIBED_LIKE, m->row_name) == NULL) return;
    while (item == NULL && (line = described_next(m->lesson, m->part, DESCRIBED_EXTENT, line)) != NULL)
        item = add_far(m, line, 1, "rounds", "");
    if (item != NULL) item->devices = ON_SIMT;
}

/* Heads of a group of this size, with its K/V head, are a part; the second part begins below head 2^15, the third one below 2^16. */
static void add_far_group(struct making *m, const struct described *heads, const struct described *kv_heads,
                          int group)
{
    enum { QUERIES = 3, APART = 1 << 15 };
    struct lesson_case part = making_least(m, m->simplest, QUERIES), parts;
    struct extent_of_parts of;
    char name[LESSON_NAME / 2];
    set_extent(&part, heads, group);
    parts = part;
    set_extent(&parts, heads, PARTS * group);
    set_extent(&parts, kv_heads, PARTS);
    if (!set_apart(m->lesson, &part, &parts, PARTS, &of)) return;
    set_steps(&parts, group, PARTS, APART / group);
    parts.value[heads->at] = (int64_t)parts.parts.total;
    parts.value[kv_heads->at] = (int64_t)parts.parts.total / group;
    snprintf(name, sizeof name, "many_groups_of_%d", group);
    struct lesson_case *item = making_add(m, &parts, name);
    if (item != NULL)
        item->about = "tens of thousands of heads, several of which share a K/V head: is head / group exact "
                      "for large heads? A product with "
                      "a reciprocal of few bits is not";
}

void make_far_groups(struct making *m)
{
    static const int groups[] = {3, 7};
    const struct described *heads = described_extent(m->lesson, m->part, "heads"),
                           *kv_heads = described_extent(m->lesson, m->part, "kv_heads");
    if (heads == NULL || kv_heads == NULL || m->lesson->settle != NULL)
        return; /* other extents follow from each */
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++)
        add_far_group(m, heads, kv_heads, groups[i]);
}
