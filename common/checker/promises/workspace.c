/**
 * @file workspace.c
 * @brief Promises about the workspace: how large it must be, that it may be larger, and that nobody looks at one that is not
 *        needed.
 */
#include <stdio.h>
#include <string.h>

#include "making.h"

/* Where the contract leaves the size to the kernel, one that needs none must succeed without. */
static void may_need_none(const struct making *m, struct lesson_case *item)
{
    if (m->lesson->workspace_bytes(making_like(m)) == SIZE_MAX) item->flags |= CASE_IF_WORKSPACE;
}

/* What refusals of the workspace are made of: the case that other refusals are made of, if it needs one, so that both may come
 * together. */
static const struct lesson_case *refused_like(const struct making *m)
{
    const struct lesson_case *like = making_like_sound(m);
    const size_t bytes = m->lesson->workspace_bytes(like);
    return bytes == 0 || bytes == SIZE_MAX ? making_like(m) : like;
}

static int needs_one(const struct making *m)
{
    const struct lesson_case *like = making_like(m);
    return making_workspace(m->lesson, like) >= 0 && m->lesson->workspace_bytes(like) != 0;
}

/* The alignment of what is read and written is looked at before the workspace. */
static void add_short_and_misaligned(struct making *m, const struct lesson_case *like)
{
    struct lesson_buffer buffer[WIRE_BUFFERS] = {{0}};
    char name[LESSON_NAME / 2];
    m->lesson->buffers(like, buffer);
    const int half = (int)lesson_align(&buffer[0]) / 2; /* the first is an input that is needed */
    snprintf(name, sizeof name, "short_and_misaligned_%s", buffer[0].name);
    struct lesson_case *item = half > 0 ? making_add(m, like, name) : NULL;
    if (item == NULL) return;
    item->group = GROUP_BAD_INPUT;
    item->expected = KERNEL_ALIGNMENT_ERROR;
    item->misaligned_buffer = 0;
    item->misalignment = half;
    item->workspace_more = -1;
}

void make_refused_workspaces(struct making *m)
{
    static const struct {
        const char *name;
        enum kernel_status expected;
        int null, misaligned, short_by;
    } wrong[] = {{"workspace_null", KERNEL_OUT_OF_MEMORY, 1, 0, 0},
                 {"workspace_short", KERNEL_OUT_OF_MEMORY, 0, 0, 1},
                 {"workspace_misaligned", KERNEL_ALIGNMENT_ERROR, 0, 1, 0},
                 {"workspace_short_and_misaligned", KERNEL_OUT_OF_MEMORY, 0, 1, 1}};
    struct lesson_buffer buffer[WIRE_BUFFERS] = {{0}};
    const struct lesson_case *like = refused_like(m);
    if (!needs_one(m)) return;
    const int workspace = making_workspace(m->lesson, like);
    m->lesson->buffers(like, buffer);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct lesson_case *item = making_add(m, like, wrong[i].name);
        if (item == NULL) continue;
        item->group = GROUP_BAD_INPUT;
        item->weight = 1;
        item->expected = wrong[i].expected;
        if (wrong[i].null) item->null_buffer = workspace;
        if (wrong[i].misaligned) {
            item->misaligned_buffer = workspace;
            item->misalignment = (int)lesson_align(&buffer[workspace]) / 2;
        }
        item->workspace_more = -wrong[i].short_by;
        may_need_none(m, item);
    }
    add_short_and_misaligned(m, like);
}

void make_larger_workspace(struct making *m)
{
    enum { MORE = 1021 }; /* an odd one: what lies at its end lies anywhere */
    if (!needs_one(m)) return;
    struct lesson_case *item = making_add(m, making_like(m), "workspace_larger");
    if (item == NULL) return;
    item->workspace_more = MORE;
    item->about = "the workspace is 1021 bytes larger than it has to be: places are counted from its "
                  "beginning, not from "
                  "the end that workspace_bytes gives";
}

static const char UNNEEDED[] =
    "no workspace is needed here: neither the pointer nor the size that the call gets is to be looked at";

/* What would go to a pointer that is left out must not go to the workspace in its place. */
static void add_without_optional(struct making *m)
{
    struct lesson_buffer buffer[WIRE_BUFFERS] = {{0}};
    char name[LESSON_NAME / 2];
    const int count = m->lesson->buffers(m->simplest, buffer);
    const struct described *line = NULL;
    while ((line = described_next(m->lesson, m->part, DESCRIBED_POINTER, line)) != NULL)
        for (int b = 0; b < count; b++) {
            if (strcmp(line->words, "OPTIONAL") != 0 || strcmp(line->name, buffer[b].name) != 0) continue;
            snprintf(name, sizeof name, "workspace_unneeded_no_%s", line->name);
            struct lesson_case *item = making_add(m, m->simplest, name);
            if (item == NULL) continue;
            item->flags |= CASE_STRAY_WORKSPACE | CASE_MEANINGLESS;
            item->about = UNNEEDED;
            item->null_buffer = b;
        }
}

void make_unneeded_workspaces(struct making *m)
{
    static const struct {
        const char *name;
        unsigned flags;
    } kinds[] = {{"workspace_unneeded_misaligned", CASE_STRAY_WORKSPACE},
                 {"workspace_unneeded_null", CASE_NULL_WORKSPACE},
                 {"workspace_unneeded_large", CASE_STRAY_WORKSPACE | CASE_NULL_WORKSPACE}};
    const size_t needed = m->lesson->workspace_bytes(m->simplest);
    if (needed != 0 && needed != SIZE_MAX) return;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct lesson_case *item = making_add(m, m->simplest, kinds[i].name);
        if (item == NULL) continue;
        item->flags |= kinds[i].flags | CASE_MEANINGLESS;
        item->about = UNNEEDED;
    }
    add_without_optional(m);
}

/* The contract's size of @p item with three extents of these sizes: SIZE_MAX if it does not fit in 63 bits. */
static size_t bytes_with(const struct making *m, struct lesson_case *item,
                         const struct described *const *line, int third)
{
    enum { LARGE = 1 << 30 };
    for (int i = 0; i < 3; i++) item->value[line[i]->at] = i < 2 ? LARGE : third;
    return m->lesson->workspace_bytes(item);
}

/* The first size that takes 64 bits: one that only looks for an overflow of 64 has none yet. */
static void make_64_bits(struct making *m, const struct lesson_case *like)
{
    enum { MOST = 16 };
    const struct described *line[3] = {NULL, NULL, NULL};
    struct lesson_case large = *like;
    while ((line[0] = described_next(m->lesson, m->part, DESCRIBED_EXTENT, line[0])) != NULL)
        for (line[1] = line[0];
             (line[1] = described_next(m->lesson, m->part, DESCRIBED_EXTENT, line[1])) != NULL;)
            for (line[2] = line[1];
                 (line[2] = described_next(m->lesson, m->part, DESCRIBED_EXTENT, line[2])) != NULL;
                 large = *like)
                for (int third = 2; third < MOST; third++) {
                    const size_t before = bytes_with(m, &large, line, third - 1);
                    if (before == 0 || before == SIZE_MAX) break;
                    if (bytes_with(m, &large, line, third) != SIZE_MAX) continue;
                    struct lesson_case *item = making_add(m, &large, "workspace_of_64_bits");
                    if (item == NULL) return;
                    item->flags |= CASE_ASK_ONLY;
                    item->workspace_most = SIZE_MAX;
                    return;
                }
}

/* Three times a power of two, so that no product of 32 bits is 0 by chance. */
void make_workspace_queries(struct making *m)
{
    enum { FACTOR = 3, MOST_DOUBLED = 29 };
    const struct lesson_case *like = making_like(m);
    if (!needs_one(m)) return;
    if (m->lesson->workspace_bytes(like) != SIZE_MAX) make_64_bits(m, like);
    for (const struct described *line = NULL;
         (line = described_next(m->lesson, m->part, DESCRIBED_EXTENT, line)) != NULL;) {
        struct lesson_case large = *like;
        char name[LESSON_NAME / 2];
        int doubled = MOST_DOUBLED;
        for (; doubled > 0; doubled--) {
            const int64_t value = (like->value[line->at] * FACTOR) << doubled;
            if (value > INT32_MAX) continue;
            large.value[line->at] = large.extent[line->at] = (int)value;
            if (m->lesson->workspace_bytes(&large) != 0) break;
        }
        if (doubled == 0) continue;
        snprintf(name, sizeof name, "workspace_of_%s", line->name);
        struct lesson_case *item = making_add(m, &large, name);
        if (item == NULL) continue;
        item->group = GROUP_EDGES;
        item->weight = 1;
        item->flags |= CASE_ASK_ONLY;
        if (m->lesson->workspace_bytes(item) == SIZE_MAX)
            item->workspace_most = making_most_workspace(m->lesson, item);
    }
}
