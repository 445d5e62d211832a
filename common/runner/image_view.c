/**
 * @file image_view.c
 * @brief Pages of the image are made unreadable: all but one case's from its beginning to its end, and those too while
 *        untrusted code runs.
 *
 * An image holds a hundred cases and more. To hide all of it around each call would cost more than most of the calls.
 */
#include "image_view.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { HEADER, CASE, BUFFERS, SPANS };

static struct span {
    unsigned char *start;
    size_t bytes;
} view[SPANS];
static unsigned char *whole;
static size_t whole_bytes;

static void protect(const struct span *span, int protection)
{
    if (span->bytes > 0 && mprotect(span->start, span->bytes, protection) != 0) abort();
}

/* Pages from @p first to @p last of the image. */
static void show(struct span *span, size_t first, size_t last)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (last > whole_bytes) last = whole_bytes;
    first = first / page * page;
    *span = (struct span){whole + first, first < last ? last - first : 0};
    protect(span, PROT_READ | PROT_WRITE);
}

/* From where to where the buffers of a case lie. */
static void show_buffers(const struct wire_case *item)
{
    size_t first = SIZE_MAX, last = 0;
    for (uint32_t i = 0; i < item->buffer_count && i < WIRE_BUFFERS; i++) {
        const struct wire_buffer *buffer = &item->buffer[i];
        for (int k = -1; k < WIRE_RUNS; k++) {
            const uint64_t at = k < 0 ? buffer->contents : buffer->copy[k];
            if (at == 0) continue;
            const uint64_t end = at + wire_round(buffer->bytes + 2 * item->guard_bytes);
            if (at < first) first = (size_t)at;
            if (end > last) last = (size_t)end;
        }
    }
    if (first < last) show(&view[BUFFERS], first, last);
}

void image_view_open(struct wire_header *image, uint32_t index)
{
    if (whole == NULL) {
        whole = (unsigned char *)image;
        whole_bytes = image->image_bytes;
        protect(&(struct span){whole, whole_bytes}, PROT_NONE);
    }
    image_view_hide(1);
    view[BUFFERS] = (struct span){0};
    show(&view[HEADER], 0, sizeof *image);
    const struct wire_case *item = wire_case_at(image, index);
    const size_t at = (size_t)((const unsigned char *)item - whole);
    show(&view[CASE], at, at + sizeof *item);
    show_buffers(item);
}

void image_view_hide(int hide)
{
    for (int i = 0; i < SPANS; i++) protect(&view[i], hide ? PROT_NONE : PROT_READ | PROT_WRITE);
}
