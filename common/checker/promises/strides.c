/**
 * @file strides.c
 * @brief Promises about the distance from row to row: rows that begin beyond 2^31 elements, of which only a page each is ever
 *        touched.
 */
#include <stdio.h>
#include <string.h>

#include "making.h"

/* Whether the rows of this memory are @p stride apart: that is the last of its extents. */
static int is_apart(const struct described *pointer, const char *stride)
{
    const size_t length = strlen(pointer->extents), last = strlen(stride);
    return length > last && strcmp(pointer->extents + length - last, stride) == 0 &&
           pointer->extents[length - last - 1] == ' ';
}

/* Whether lesson.def says that the rows of buffer @p name are @p stride apart. */
static int has_rows_apart(const struct making *m, const char *name, const char *stride)
{
    for (const struct described *line = NULL;
         (line = described_next(m->lesson, m->part, DESCRIBED_POINTER, line)) != NULL;)
        if (strcmp(line->name, name) == 0 && is_apart(line, stride)) return 1;
    return 0;
}

static size_t rows_of(const struct lesson_buffer *buffer)
{
    size_t rows = 1;
    for (int axis = 0; axis + 1 < buffer->rank; axis++) rows *= buffer->extent[axis];
    return rows;
}

/* What lies beyond 2^32, where unsigned offsets begin anew, is not only a rest that nobody reads. @p more keeps rows from beginning at multiples of a vector. */
static void add_far_stride(struct making *m, const struct described *stride, const char *of,
                           size_t least_rows, int more)
{
    enum { TILE_ROWS = 64 };
    struct lesson_buffer buffer[WIRE_BUFFERS] = {{0}};
    const struct lesson_case *like = making_like(m);
    const int count = m->lesson->buffers(like, buffer);
    char name[LESSON_NAME / 2];
    int64_t apart[WIRE_BUFFERS] = {0};
    int far = 0;
    for (int b = 0; b < count; b++) {
        const size_t rows = rows_of(&buffer[b]);
        if (rows < least_rows || !has_rows_apart(m, buffer[b].name, stride->name)) continue;
        apart[b] =
            ((INT64_C(1) << 32) / (int64_t)(rows < TILE_ROWS ? rows * 3 / 4 : rows / 2) / 64 + 1) * 64 + more;
        far++;
    }
    if (far == 0) return;
    snprintf(name, sizeof name, "far_%s%s%s", of, stride->name, more ? "_odd" : "");
    struct lesson_case *item = making_add(m, like, name);
    if (item == NULL) return;
    memcpy(item->apart, apart, sizeof apart);
    for (int b = 0; b < count; b++)
        if (apart[b] != 0) item->value[stride->at] = apart[b];
}

/* Three eighths of the rows lie below 2^31, and a quarter beyond 2^32: of three rows none would. Of a tile of 64 rows half do, seen
 * from its first row. */
void make_far_rows(struct making *m)
{
    enum { LEAST_ROWS = 4 };
    const struct described *line = NULL;
    while ((line = described_next(m->lesson, m->part, DESCRIBED_STRIDE, line)) != NULL) {
        add_far_stride(m, line, "", LEAST_ROWS, 0);
        if (line->first == 1) add_far_stride(m, line, "", LEAST_ROWS, 1);
    }
}

/* The first row of a tile, or of what a loop over rows does next, is so far away: a kernel may find it in another way than rows of the tile. */
void make_far_tiles(struct making *m)
{
    enum { LEAST_ROWS = 100 };
    const struct described *line = NULL;
    if (described_about(m->lesson, m->part, DESCRIBED_LIKE, m->row_name) == NULL) return;
    while ((line = described_next(m->lesson, m->part, DESCRIBED_STRIDE, line)) != NULL)
        add_far_stride(m, line, "tiles_of_", LEAST_ROWS, 0);
}

void make_longer_rows(struct making *m)
{
    enum { MORE = 8 };
    for (const struct described *line = NULL;
         (line = described_next(m->lesson, m->part, DESCRIBED_STRIDE, line)) != NULL;) {
        char name[LESSON_NAME / 2];
        snprintf(name, sizeof name, "longer_%s", line->name);
        struct lesson_case *item = making_add(m, m->simplest, name);
        if (item == NULL) continue;
        item->extent[line->at] += line->first * MORE;
        item->value[line->at] = item->extent[line->at];
    }
}
