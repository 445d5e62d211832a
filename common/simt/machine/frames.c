/**
 * @file frames.c
 * @brief The open parts of the functions that a thread is in.
 */
#include "frames.h"
#include "image.h"
#include "sizes.h"

/** A row of the table, which common/build/object_gates.c writes. */
struct frame_row {
    uintptr_t site;    /**< to which the report of the function's beginning returns */
    int32_t low, high; /**< its open part, from the stack pointer there; or as in struct machine_code_frame */
};

/** The open part of a function that runs. */
struct open_part {
    uintptr_t start;
    size_t bytes;
    uintptr_t stack; /**< the stack pointer when it began: what it passes to others lies below */
};

extern const struct frame_row __start_simt_frames[] __attribute__((weak)),
    __stop_simt_frames[] __attribute__((weak));

void (*simt_frames_full)(const void *pc);

static inline bool is_known(void)
{
    return __start_simt_frames != NULL;
}

void simt_frames_begin(struct thread *t)
{
    t->frames.count = 0;
    t->open = t->stack;
    t->open_bytes = is_known() ? 0 : STACK_BYTES;
}

/* What is open in the function that runs, for those that ask in a hurry: its whole units. */
static void show(struct worker *w, struct thread *t, struct open_part part)
{
    const uintptr_t first = (part.start + OPEN_UNIT - 1) / OPEN_UNIT * OPEN_UNIT,
                    end = (part.start + part.bytes) / OPEN_UNIT * OPEN_UNIT;
    part = (struct open_part){first, end > first ? end - first : 0, 0};
    w->local.open = t->open = part.start;
    t->open_bytes = part.bytes;
    w->local.open_bytes = t->watched ? 0 : part.bytes;
}

bool simt_frames_open(const struct thread *t, uintptr_t address, size_t bytes)
{
    const struct open_part *part = t->frames.data;
    if (!is_known()) return true;
    for (size_t i = t->frames.count; i-- > 0;)
        if (simt_lies_in(part[i].start, part[i].bytes, address, bytes)) return true;
    return false;
}

bool simt_frames_passed(const struct thread *t, uintptr_t low, uintptr_t address, size_t bytes)
{
    const struct open_part *part = t->frames.data;
    if (!is_known()) return true;
    if (t->frames.count == 0 || part[t->frames.count - 1].stack < low) return false;
    return simt_lies_in(low, part[t->frames.count - 1].stack - low, address, bytes);
}

int simt_is_fixed(const void *pointer, size_t bytes)
{
    return !is_known() || bytes == 0 ||
           simt_lies_in(simt_image.low, simt_image.data - simt_image.low, (uintptr_t)pointer, bytes);
}

size_t simt_frames_unreported(void)
{
    int32_t lowest = 0;
    for (const struct frame_row *row = __start_simt_frames; row < __stop_simt_frames; row++)
        if (row->low < lowest) lowest = row->low;
    return (size_t)(-(int64_t)lowest);
}

uintptr_t simt_frames_lowest(const struct worker *w, const struct fiber *fiber)
{
    const uintptr_t top = simt_fiber_top(fiber), end = (uintptr_t)fiber->stack + 16;
    return top - end < w->local.deepest ? end : top - w->local.deepest;
}

int simt_changes_arguments(uintptr_t function)
{
    for (const struct frame_row *row = __start_simt_frames; row < __stop_simt_frames; row++)
        if (row->site == function && row->high < row->low) return 1;
    return 0;
}

static const struct frame_row *find(struct worker *w, uintptr_t site)
{
    const struct frame_row **known = &w->local.row[site / 8 % LOCAL_ROWS];
    if (*known != NULL && (*known)->site == site) return *known;
    for (const struct frame_row *row = __start_simt_frames; row < __stop_simt_frames; row++)
        if (row->site == site) return *known = row;
    return NULL;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
void __tsan_func_entry(void *pc)
{
    struct worker *w = simt_tls_worker;
    struct open_part part = {0, 0,
                             (uintptr_t)__builtin_dwarf_cfa()}; /* nothing, if nobody has read the function */
    (void)pc;
    if (w == NULL || !is_known()) return;
    /* not every stack is guarded: set_guard() */
    if ((uintptr_t)__builtin_frame_address(0) - w->current->stack >= STACK_BYTES)
        simt_frames_full(__builtin_return_address(0));
    const size_t depth = simt_fiber_top(w->current->fiber) - part.stack + w->local.unreported;
    if (depth > w->local.deepest) w->local.deepest = depth;
    const struct frame_row *row = find(w, (uintptr_t)__builtin_return_address(0));
    if (row != NULL) {
        part.start = (uintptr_t)__builtin_dwarf_cfa() + (uintptr_t)(intptr_t)row->low;
        part.bytes = (size_t)(row->high - row->low);
    }
    *(struct open_part *)simt_vector_grow(&w->current->frames, sizeof part) = part;
    show(w, w->current, part);
}

void __tsan_func_exit(void)
{
    struct worker *w = simt_tls_worker;
    if (w == NULL || w->current->frames.count == 0) return;
    struct vector *frames = &w->current->frames;
    frames->count--;
    show(w, w->current,
         frames->count > 0 ? ((const struct open_part *)frames->data)[frames->count - 1]
                           : (struct open_part){0, 0, 0});
}
#pragma GCC diagnostic pop
