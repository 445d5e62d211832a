/**
 * @file shadow_async.c
 * @brief What asynchronous operations change in shadow cells after they were begun: copies land, or report to an mbarrier; products
 *        have read their operands.
 */
#include "shadow_cell.h"
#include "finding.h"
#include "shadow.h"
#include "worker.h"

#include <stdbool.h>

/* ---- copies that land --------------------------------------------------------------------------------- */

static void land_cell(const struct worker *w, struct shadow_cell *c)
{
    if (c->copy != COPY_IN_FLIGHT || c->writer != w->thread_index || c->write_tick < w->time.block_start)
        return;
    c->copy = COPY_LANDED;
    c->write_tick = w->time.tick;
    c->serial = w->products.serial;
}

void simt_shadow_copy_landed(struct worker *w, enum place place, uintptr_t offset, size_t bytes)
{
    struct space *s = &w->space[place];
    for (size_t word = offset / 4; word * 4 < offset + bytes; word++) {
        struct shadow_cell *c = &s->cells[word];
        if (c->split != 0 && simt_cell_is_live(w, c))
            for (unsigned b = 0; b < 4; b++) land_cell(w, simt_byte_cells(w, c) + b);
        else
            land_cell(w, c);
        s->read_mark[2 * word] = s->read_mark[2 * word + 1] = 0;
    }
}

/* ---- writes while a product reads --------------------------------------------------------------------- */

static bool is_written_since(const struct worker *w, const struct shadow_cell *c, uint32_t serial,
                             struct actor *writer)
{
    if (c->write_tick < w->time.block_start || c->serial < serial) return false;
    *writer =
        (struct actor){w->block, c->write_pc, c->writer, c->write_atomic ? SIMT_ATOMIC : SIMT_WRITE, NULL};
    return true;
}

bool simt_shadow_written_since(struct worker *w, enum place place, uintptr_t offset, size_t bytes,
                               uint32_t serial, struct actor *writer)
{
    const struct space *s = &w->space[place];
    for (size_t word = offset / 4; word * 4 < offset + bytes; word++) {
        struct shadow_cell *c = &s->cells[word];
        if (!s->ready[word * 4 / SPACE_CHUNK]) continue;
        const bool split = c->split != 0 && simt_cell_is_live(w, c);
        const struct shadow_cell *one = split ? simt_byte_cells(w, c) : c;
        for (unsigned b = 0; b < (split ? 4u : 1u); b++)
            if (is_written_since(w, &one[b], serial, writer)) return true;
    }
    return false;
}

static void read_by_product(struct shadow_cell *c, unsigned actor, uint32_t tick, uint32_t pc)
{
    const int slot = c->read_tick[0] <= c->read_tick[1] ? 0 : 1; /* the older one gives way */
    c->reader[slot] = (uint16_t)actor;
    c->read_tick[slot] = tick;
    c->read_pc[slot] = pc;
}

void simt_shadow_product_read(struct worker *w, enum place place, uintptr_t offset, size_t bytes,
                              unsigned group, uint32_t tick, uint32_t pc)
{
    struct space *s = &w->space[place];
    for (size_t word = offset / 4; word * 4 < offset + bytes; word++) {
        struct shadow_cell *c = &s->cells[word];
        if (!s->ready[word * 4 / SPACE_CHUNK]) continue;
        const bool split = c->split != 0 && simt_cell_is_live(w, c);
        struct shadow_cell *one = split ? simt_byte_cells(w, c) : c;
        for (unsigned b = 0; b < (split ? 4u : 1u); b++)
            read_by_product(&one[b], COLUMN_PRODUCT + group, tick, pc);
        s->read_mark[2 * word] = s->read_mark[2 * word + 1] = 0;
    }
}

/* ---- copies that report to an mbarrier ---------------------------------------------------------------- */

/** How the shadow cells of a copy change. */
struct landing {
    struct worker *w;
    uint32_t begun, tick;
    unsigned thread, column;
};

static void report_cell(const struct landing *l, struct shadow_cell *c)
{
    if (c->copy != COPY_IN_FLIGHT || c->writer != l->thread || c->write_tick < l->w->time.block_start) return;
    c->copy = COPY_REPORTED;
    c->writer = (uint16_t)l->column;
    c->write_tick = l->tick;
}

static void report_bulk_cell(const struct landing *l, struct shadow_cell *c)
{
    if (c->copy != COPY_BULK_IN_FLIGHT || c->copy_tick != l->begun) return;
    c->copy = COPY_BULK_REPORTED;
    c->writer = (uint16_t)l->column;
    c->write_tick = l->tick;
}

static void read_done(const struct landing *l, struct shadow_cell *c)
{
    for (int slot = 0; slot < 2; slot++) {
        if (!(c->reader[slot] & BUSY_READER) || c->read_tick[slot] != l->begun) continue;
        c->reader[slot] = (uint16_t)(l->w->thread_index | ASYNC_READER);
        c->read_tick[slot] = l->w->time.tick;
    }
}

static void for_cells(const struct landing *l, enum place place, uintptr_t offset, size_t bytes,
                      void (*what)(const struct landing *l, struct shadow_cell *c))
{
    struct worker *w = l->w;
    struct space *s = &w->space[place];
    for (size_t word = offset / 4; word * 4 < offset + bytes; word++) {
        struct shadow_cell *c = &s->cells[word];
        if (c->split != 0 && simt_cell_is_live(w, c))
            for (unsigned b = 0; b < 4; b++) what(l, simt_byte_cells(w, c) + b);
        else
            what(l, c);
        s->read_mark[2 * word] = s->read_mark[2 * word + 1] = 0;
    }
}

void simt_shadow_copy_reported(struct worker *w, enum place place, uintptr_t offset, size_t bytes,
                               unsigned thread, unsigned column, uint32_t tick)
{
    const struct landing l = {.w = w, .tick = tick, .thread = thread, .column = column};
    for_cells(&l, place, offset, bytes, report_cell);
}

void simt_shadow_bulk_reported(struct worker *w, enum place place, uintptr_t offset, size_t bytes,
                               uint32_t begun, unsigned column, uint32_t tick)
{
    const struct landing l = {.w = w, .begun = begun, .tick = tick, .column = column};
    for_cells(&l, place, offset, bytes, report_bulk_cell);
}

void simt_shadow_read_awaited(struct worker *w, enum place place, uintptr_t offset, size_t bytes,
                              uint32_t begun)
{
    const struct landing l = {.w = w, .begun = begun};
    for_cells(&l, place, offset, bytes, read_done);
}

static void read_over(const struct landing *l, struct shadow_cell *c)
{
    for (int slot = 0; slot < 2; slot++)
        if (c->reader[slot] & BUSY_READER && c->read_tick[slot] == l->begun)
            c->read_tick[slot] = c->reader[slot] = 0;
}

void simt_shadow_read_complete(struct worker *w, enum place place, uintptr_t offset, size_t bytes,
                               uint32_t begun)
{
    const struct landing l = {.w = w, .begun = begun};
    for_cells(&l, place, offset, bytes, read_over);
}

/* ---- other blocks' accesses --------------------------------------------------------------------------- */

void simt_shadow_for_each(struct worker *w, enum place place, uintptr_t offset, size_t bytes,
                          void (*what)(void *context, struct shadow_cell *c), void *context)
{
    struct space *s = &w->space[place];
    const uintptr_t end = offset + bytes;
    for (size_t chunk = offset / SPACE_CHUNK; chunk * SPACE_CHUNK < end; chunk++)
        if (!s->ready[chunk]) simt_shadow_make_ready(s, chunk);
    for (size_t word = offset / 4; word * 4 < end; word++) {
        struct shadow_cell *c = &s->cells[word];
        const unsigned mask = simt_bytes_of_word(word, offset, end);
        if (c->split != 0 && !simt_cell_is_live(w, c)) c->split = 0;
        if (mask == 15 && c->split == 0) {
            what(context, c);
        } else {
            struct shadow_cell *one = simt_byte_cells(w, c);
            for (unsigned b = 0; b < 4; b++)
                if (mask >> b & 1) what(context, &one[b]);
        }
        s->read_mark[2 * word] = s->read_mark[2 * word + 1] = 0;
    }
}
