/**
 * @file async_copies.c
 * @brief Asynchronous copies from global to shared memory.
 *
 * A copy is checked, counted and read when it is begun, and kept in its thread's list. It is written when the
 * thread waits for its group; on hardware it may land at any time until then, so its shadow cells say that it
 * is in flight, and every access before the wait is a finding, whatever value it sees (shadow_words.c). Nor may its source be
 * written before the wait, which alone orders the copy's reads (PTX ISA, cp.async): then it is not what it was.
 */
#include "async_copies.h"
#include "check.h"
#include "counters.h"
#include "finding.h"
#include "machine.h"
#include "settings.h"
#include "shadow.h"
#include "tools.h"
#include "worker.h"

#include <stdbool.h>
#include <string.h>

struct copy {
    void *to;
    const void *from, *pc;
    uint32_t group, number;
    uint32_t bytes, read;
    unsigned char data[16];
};

static struct worker *running(void)
{
    if (simt_tls_worker == NULL) simt_die("host code calls __pipeline_memcpy_async or its like.");
    return simt_tls_worker;
}

static void check_places(struct worker *w, const void *to, const void *from, size_t bytes, bool reads,
                         const void *pc)
{
    const enum place target = simt_place_of(w, (uintptr_t)to), source = simt_place_of(w, (uintptr_t)from);
    if (target != PLACE_SHARED && target != PLACE_DYNAMIC)
        simt_refuse(w, RECORD_OUT_OF_BOUNDS, (uintptr_t)to, bytes, SIMT_WRITE, pc, RECORD_ADVICE_COPY_TARGET);
    if (!reads) return;
    if (source == PLACE_SHARED || source == PLACE_DYNAMIC)
        simt_refuse(w, RECORD_OUT_OF_BOUNDS, (uintptr_t)from, bytes, SIMT_READ, pc,
                    RECORD_ADVICE_COPY_SOURCE);
    if ((uintptr_t)from % bytes != 0)
        simt_refuse(w, RECORD_MISALIGNED, (uintptr_t)from, bytes, SIMT_READ, pc, RECORD_ADVICE_ALIGN_COPY);
}

void simt_copy_begin(void *to, const void *from, size_t bytes, size_t zeros, const void *return_address)
{
    struct worker *w = running();
    struct thread *t = w->current;
    const size_t read = bytes - zeros;
    if ((bytes != 4 && bytes != 8 && bytes != sizeof((struct copy *)NULL)->data) || zeros > bytes)
        simt_die("an asynchronous copy of %zu bytes, %zu of them zeros: there are such of 4, 8 and 16.",
                 bytes, zeros);
    if (w->checking) check_places(w, to, from, bytes, read > 0, return_address);
    if (simt_tls_watch != NULL) {
        simt_check(from, read, SIMT_READ | ACCESS_COPY, false, return_address);
        simt_check(to, bytes, SIMT_WRITE | ACCESS_COPY, true, return_address);
        if (w->counting) simt_count_copy(w, (uintptr_t)to, (uintptr_t)from, bytes, read, return_address);
    }
    struct copy *copy = simt_vector_grow(&t->copies, sizeof *copy);
    *copy = (struct copy){.to = to,
                          .from = from,
                          .pc = return_address,
                          .group = t->copy_group,
                          .number = t->copies_begun++,
                          .bytes = (uint32_t)bytes,
                          .read = (uint32_t)read};
    memcpy(copy->data, from, read);
    if (simt_settings.early) memcpy(to, copy->data, bytes);
}

void simt_copy_commit(const void *return_address)
{
    struct worker *w = running();
    simt_mark(w, TRACE_COMMIT, w->current->copy_group, return_address);
    w->current->copy_group++;
}

static void move(struct worker *w, const struct copy *copy)
{
    if (!simt_settings.early) memcpy(copy->to, copy->data, copy->bytes);
    if (w->checking && memcmp(copy->data, copy->from, copy->read) != 0)
        simt_found_access(w, RECORD_MISSING_WAIT, (uintptr_t)copy->from, copy->read, SIMT_READ, copy->pc,
                          RECORD_ADVICE_COPY_OVERWRITTEN);
}

void simt_copies_report(struct worker *w, unsigned thread, uint32_t number, unsigned column, uint32_t tick)
{
    struct thread *t = &w->thread[thread];
    struct copy *copy = t->copies.data;
    size_t landed = 0;
    for (; landed < t->copies.count && copy[landed].number < number; landed++) {
        const struct copy *now = &copy[landed];
        move(w, now);
        const enum place place = simt_place_of(w, (uintptr_t)now->to);
        if (w->checking)
            simt_shadow_copy_reported(w, place, (uintptr_t)now->to - w->space[place].base, now->bytes, thread,
                                      column, tick);
    }
    t->copies.count -= landed;
    if (t->copies.count > 0) memmove(copy, copy + landed, t->copies.count * sizeof *copy);
}

void simt_copy_wait(size_t prior, const void *return_address)
{
    struct worker *w = running();
    struct thread *t = w->current;
    size_t landed = 0;
    if (t->copy_group <= prior) return;
    const uint32_t end = t->copy_group - (uint32_t)prior;
    simt_mark(w, TRACE_WAIT, end, return_address);
    struct copy *copy = t->copies.data;
    for (; landed < t->copies.count && copy[landed].group < end; landed++) {
        const struct copy *now = &copy[landed];
        move(w, now);
        const enum place place = simt_place_of(w, (uintptr_t)now->to);
        if (w->checking)
            simt_shadow_copy_landed(w, place, (uintptr_t)now->to - w->space[place].base, now->bytes);
    }
    t->copies.count -= landed;
    if (t->copies.count > 0) memmove(copy, copy + landed, t->copies.count * sizeof *copy);
}
