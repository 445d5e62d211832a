/**
 * @file mbarrier.c
 * @brief mbarriers: arrivals and bytes of a phase, and the threads that wait for its end.
 *
 * A phase ends when no arrival is pending and no byte is. Whoever waits for it comes after what the arriving threads did
 * before (vector_clocks.h), and after the asynchronous copies that completed on it (bulk_copies.c).
 *
 * A wait returns false at least once before the phase is over, so that a wait without a loop around it is
 * found; the next one suspends the thread. With SIMT_ASYNC=early it is suspended at once. If no thread can go
 * on, the asynchronous operations that are waited for complete (bulk_copies.c); if there are none, all waits
 * time out, as on hardware. If several rounds of this change nothing, it is a deadlock.
 */
#include "mbarrier.h"
#include "check.h"
#include "counters.h"
#include "distributed_shared.h"
#include "fences.h"
#include "finding.h"
#include "happens_before.h"
#include "image.h"
#include "lanes.h"
#include "lines.h"
#include "machine.h"
#include "names.h"
#include "settings.h"
#include "sizes.h"
#include "vector_clocks.h"
#include "worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_ARRIVALS = (1 << 20) - 1,
    IDLE_ROUNDS = 16,
    OBJECT_BYTES = 8,
    MARK = 0x6d62,
};

/* ---- findings ----------------------------------------------------------------------------------------- */

static struct worker *owner_of(struct worker *w, uintptr_t address)
{
    struct worker *owner = simt_owner_of(w, address);
    return owner != NULL ? owner : w;
}

static struct finding finding_at(struct worker *w, uintptr_t address, enum record_kind kind,
                                 enum record_advice advice, const void *pc)
{
    const struct worker *owner = owner_of(w, address);
    const enum place place = simt_place_of(owner, address);
    const uintptr_t base = place < PLACE_COUNT ? owner->space[place].base : 0;
    return simt_finding_about(kind, advice, place, address - base, OBJECT_BYTES,
                              simt_actor(w, pc, SIMT_ATOMIC));
}

/* Something wrong with a phase; @p numbers belong to the sentence. */
static void found(struct worker *w, uintptr_t address, const void *pc, enum record_message message,
                  enum record_advice advice, const struct simt_words *words)
{
    if (!w->checking) return;
    struct finding f = finding_at(w, address, RECORD_BARRIER_PHASE, advice, pc);
    f.message = message;
    f.words = *words;
    simt_found(w, &f);
}

/* After these the program cannot go on in any way that hardware would. */
static void refuse(struct worker *w, uintptr_t address, const void *pc, enum record_advice advice)
    __attribute__((noreturn));
static void refuse(struct worker *w, uintptr_t address, const void *pc, enum record_advice advice)
{
    struct finding f = finding_at(w, address, RECORD_BARRIER_PHASE, advice, pc);
    const struct worker *owner = owner_of(w, address);
    if (owner != w) simt_finding_owner(&f, owner);
    simt_found(w, &f);
    simt_abandon(w, 719);
    abort();
}

/* What the source calls an mbarrier. */
static void set_name(const struct worker *w, const struct mbarrier *b, struct record_wait *to)
{
    const enum place place = simt_place_of(w, b->address);
    const uintptr_t where = b->address - w->space[place].base;
    const struct symbol *symbol = NULL;
    struct record_memory memory = {0};
    if (place == PLACE_SHARED) symbol = simt_symbol_before(simt_image.shared, simt_image.shared_count, where);
    if (symbol == NULL) {
        record_copy_text(to->name, sizeof to->name,
                         w->dynamic_name != NULL ? w->dynamic_name : "dynamic shared memory");
        to->is_byte = 1;
        to->index = (int64_t)where;
        return;
    }
    const struct simt_shape unknown = {.element_bytes = OBJECT_BYTES, .rank = 1, .extent = {1}};
    const struct simt_shape *shape = simt_shape_of_symbol(symbol);
    record_copy_text(to->name, sizeof to->name, symbol->name);
    simt_resolve_element(shape != NULL ? shape : &unknown, (ptrdiff_t)(where - symbol->start), OBJECT_BYTES,
                         &memory);
    to->index = memory.rank > 0 ? memory.index[memory.rank - 1] : -1;
    for (int axis = 0; axis + 1 < memory.rank; axis++) {
        const size_t used = strlen(to->name);
        snprintf(to->name + used, sizeof to->name - used, "[%lld]", (long long)memory.index[axis]);
    }
}

/* ---- objects ------------------------------------------------------------------------------------------ */

static struct worker *running(const struct simt_site *site)
{
    if (simt_tls_worker == NULL)
        simt_stop(site, RECORD_UNSUPPORTED, RECORD_SAYS_HOST_CODE, SIMT_SAYS(.name = {site->what}));
    return simt_tls_worker;
}

/*
 * An access to the mbarrier's own bytes: they must be shared memory, and initialised before anything but
 * mbarrier.init.
 */
static void touch(struct worker *w, void *address, int access, const void *pc)
{
    const bool counting = w->counting;
    w->counting = false; /* a profiler counts no loads and stores for it */
    if (simt_tls_watch != NULL) simt_check(address, OBJECT_BYTES, access, true, pc);
    w->counting = counting;
}

static uint64_t word_of(const struct worker *w, const struct mbarrier *b)
{
    return (uint64_t)MARK << 48 | (uint64_t)(b - w->mbarriers.at);
}

static struct mbarrier *find(struct worker *w, void *address)
{
    uint64_t word;
    memcpy(&word, address, sizeof word);
    if (word >> 48 != MARK || (uint32_t)word >= w->mbarriers.count) return NULL;
    struct mbarrier *b = &w->mbarriers.at[(uint32_t)word];
    return b->live && b->address == (uintptr_t)address ? b : NULL;
}

static struct mbarrier *known(struct worker *w, void *address)
{
    for (unsigned i = 0; i < w->mbarriers.count; i++)
        if (w->mbarriers.at[i].address == (uintptr_t)address) return &w->mbarriers.at[i];
    return NULL;
}

/* ---- whether it is known that an mbarrier is initialised ------------------------------------------------- */

static void note_initialiser(struct worker *w, struct mbarrier *b, const void *pc)
{
    b->initialiser = w->thread_index;
    b->init_tick = w->time.tick;
    b->init_at = pc;
    b->init_fence = b->init_phase = 0;
    b->init_found = false;
}

void simt_mbarrier_init_fence(void)
{
    struct worker *w = simt_tls_worker;
    if (w == NULL) return;
    for (unsigned i = 0; i < w->mbarriers.count; i++) {
        struct mbarrier *b = &w->mbarriers.at[i];
        if (b->live && b->initialiser == w->thread_index && b->init_fence == 0) b->init_fence = w->time.tick;
    }
}

bool simt_mbarriers_publish_init(struct worker *w, uint32_t cluster_phase)
{
    bool any = false;
    for (unsigned i = 0; i < w->mbarriers.count; i++) {
        struct mbarrier *b = &w->mbarriers.at[i];
        if (!b->live || b->initialiser != w->thread_index || b->init_fence == 0 || b->init_phase != 0)
            continue;
        b->init_phase = cluster_phase;
        any = true;
    }
    return any;
}

/*
 * Whether the initialisation is known by a fence.mbarrier_init and a relaxed arrival at the cluster's
 * barrier, which releases nothing else.
 */
static bool is_init_published(const struct worker *w, const struct mbarrier *b)
{
    return b->init_phase != 0 && w->clocks.open && simt_clock_cluster_phase(w) >= b->init_phase;
}

/* In a block without a cluster hardware works without the fence, and public kernels leave it out. */
void simt_mbarrier_check_init(struct worker *w, struct mbarrier *b, const void *pc)
{
    const struct worker *owner = owner_of(w, b->address);
    if (!w->checking || b->init_found || (w->cluster == NULL && !simt_settings.all)) return;
    const struct epoch init = {owner, b->initialiser, b->init_tick},
                       fence = {owner, b->initialiser, b->init_fence};
    if (b->init_fence != 0 && (simt_happens_before(w, fence, EDGE_SYNCHRONISED) || is_init_published(w, b)))
        return;
    if (simt_happens_before(w, init, EDGE_FENCED_SHARED)) return;
    struct finding f =
        finding_at(w, b->address, RECORD_MISSING_PROXY_FENCE, RECORD_ADVICE_PROXY_MBARRIER, pc);
    simt_finding_pair(&f, (struct actor){owner->block, simt_pack_pc(b->init_at), (uint16_t)b->initialiser,
                                         SIMT_WRITE, NULL});
    if (owner != w) simt_finding_owner(&f, owner);
    b->init_found = true;
    simt_found(w, &f);
}

/* ---- where it is ------------------------------------------------------------------------------------- */

/*
 * The mbarrier may belong to another block of the cluster: *@p owner is that block. A @p copy reads it when it reports.
 */
static struct mbarrier *mbarrier_at(struct worker *w, void *address, const void *pc, struct worker **owner,
                                    bool copy)
{
    struct worker *o = *owner = owner_of(w, (uintptr_t)address);
    const int access = SIMT_READ | (copy && o != w ? ACCESS_COPY : 0);
    struct mbarrier *b = o->mbarriers.at != NULL ? find(o, address) : NULL;
    if (w->checking && (uintptr_t)address % OBJECT_BYTES != 0)
        simt_refuse(w, RECORD_MISALIGNED, (uintptr_t)address, OBJECT_BYTES, SIMT_ATOMIC, pc,
                    RECORD_ADVICE_ALIGN_MBARRIER);
    if (b != NULL && is_init_published(w, b))
        simt_distributed_note(w, (uintptr_t)address, OBJECT_BYTES, access, pc);
    else if (b != NULL || o != w)
        touch(w, address, access, pc);
    if (b != NULL) return b;
    b = known(o, address);
    refuse(w, (uintptr_t)address, pc,
           b == NULL  ? RECORD_ADVICE_MBARRIER_NONE
           : !b->live ? RECORD_ADVICE_MBARRIER_INVALIDATED
                      : RECORD_ADVICE_MBARRIER_OVERWRITTEN);
}

struct mbarrier *simt_mbarrier_of_copy(struct worker *w, void *address, const void *pc)
{
    struct worker *owner;
    return mbarrier_at(w, address, pc, &owner, true);
}

void simt_mbarriers_begin(struct worker *w)
{
    w->mbarriers.count = 0;
    w->clocks.open = false;
    w->mbarriers.idle = 0;
}

void simt_mbarrier_init(const struct simt_site *site, void *address, uint32_t count, const void *pc)
{
    struct worker *w = running(site);
    touch(w, address, SIMT_WRITE, pc);
    if (count == 0 || count > MOST_ARRIVALS)
        refuse(w, (uintptr_t)address, pc, RECORD_ADVICE_MBARRIER_ARRIVALS);
    simt_clocks_open(w);
    if (w->mbarriers.at == NULL)
        w->mbarriers.at = simt_reserve(MBARRIERS * sizeof *w->mbarriers.at, "mbarriers");
    struct mbarrier *b = known(w, address);
    if (b == NULL && w->mbarriers.count == MBARRIERS)
        simt_stop(site, RECORD_UNSUPPORTED, RECORD_SAYS_MBARRIERS_MOST, SIMT_SAYS(.number = {MBARRIERS}));
    if (b == NULL) {
        b = &w->mbarriers.at[w->mbarriers.count++];
        b->live = false; /* an earlier block's */
    }
    if (b->live && b->in_flight != 0)
        found(w, b->address, pc, RECORD_SAYS_MBARRIER_AGAIN, RECORD_ADVICE_MBARRIER_COPIES,
              SIMT_SAYS(.number = {b->in_flight}));
    b->live = true;
    b->address = (uintptr_t)address;
    b->count = b->pending = count;
    b->tx = 0;
    b->expected = b->came = 0;
    b->phase = 0;
    b->in_flight = 0;
    b->remote = false;
    b->at = NULL;
    memset(b->left, 0, sizeof b->left);
    note_initialiser(w, b, pc);
    const uint64_t word = word_of(w, b);
    memcpy(address, &word, sizeof word);
    w->mbarriers.idle = 0;
}

void simt_mbarrier_inval(const struct simt_site *site, void *address, const void *pc)
{
    struct worker *w = running(site);
    struct worker *owner;
    struct mbarrier *b = mbarrier_at(w, address, pc, &owner, false);
    touch(w, address, SIMT_WRITE, pc);
    if (b->in_flight != 0)
        found(w, b->address, pc, RECORD_SAYS_MBARRIER_INVALIDATED, RECORD_ADVICE_MBARRIER_COPIES,
              SIMT_SAYS(.number = {b->in_flight}));
    b->live = false;
    memset(address, 0, OBJECT_BYTES);
}

/* ---- waits that a phase may overtake -------------------------------------------------------------------- */

/*
 * A wait knows a phase by its parity, or as the one before. If the next phase can end while a warp is still in it, the warp
 * finds the phase after that, and waits for ever or for other data. Lanes of a warp are taken to leave a wait together.
 */
static void note_left(struct worker *w, struct mbarrier *b, unsigned thread, uint32_t tick, const void *pc)
{
    struct mbarrier_left *left = &b->left[thread / WARP_LANES];
    if (!w->checking) return;
    if (left->phase != b->phase || left->lanes == 0)
        *left = (struct mbarrier_left){.phase = b->phase, .tick = tick, .at = pc};
    if (left->tick == UINT32_MAX) left->tick = tick;
    left->lanes |= 1u << thread % WARP_LANES;
}

/* The products of a warpgroup are those of all its warps. */
static bool knows_left(const struct worker *w, const struct worker *owner, unsigned warp,
                       const struct mbarrier_left *left)
{
    if (left->tick == UINT32_MAX) return false;
    if (simt_happens_before(w, (struct epoch){owner, COLUMN_PRODUCT + warp / 4, left->tick},
                            EDGE_SYNCHRONISED))
        return true;
    for (unsigned rest = left->lanes; rest != 0; rest &= rest - 1) {
        const unsigned thread = warp * WARP_LANES + (unsigned)__builtin_ctz(rest);
        if (simt_happens_before(w, (struct epoch){owner, thread, left->tick}, EDGE_SYNCHRONISED)) return true;
    }
    return false;
}

/* The running thread arrives: the phase will end after what it knows. */
static void order_waits(const struct worker *w, const struct worker *owner, struct mbarrier *b)
{
    if (!w->checking) return;
    for (unsigned i = 0; i < owner->warps; i++) {
        struct mbarrier_left *left = &b->left[i];
        if (left->lanes == 0 || left->phase != b->phase) continue;
        if ((owner == w && i == w->thread_index / WARP_LANES) || knows_left(w, owner, i, left))
            left->lanes = 0;
    }
}

/* The phase ends. */
static void found_overtaken(struct worker *w, const struct mbarrier *b)
{
    if (!w->checking || b->at == NULL) return;
    for (unsigned i = 0; i < w->warps; i++) {
        const struct mbarrier_left *left = &b->left[i];
        if (left->lanes == 0 || left->phase != b->phase) continue;
        struct finding f =
            finding_at(w, b->address, RECORD_BARRIER_PHASE, RECORD_ADVICE_MBARRIER_OVERTAKEN, b->at);
        f.message = RECORD_SAYS_MBARRIER_OVERTAKEN;
        f.words = *SIMT_SAYS(.number = {b->phase});
        f.actor[0] = simt_mbarrier_actor(w, b->last, b->at, SIMT_ATOMIC);
        simt_finding_pair(&f, simt_mbarrier_actor(w, i * WARP_LANES + (unsigned)__builtin_ctz(left->lanes),
                                                  left->at, SIMT_ATOMIC));
        simt_found(w, &f);
        return;
    }
}

/* ---- phases ------------------------------------------------------------------------------------------- */

static bool waits_for(const struct worker *w, const struct thread *t, const struct mbarrier *b)
{
    return t->wait == WAIT_MBARRIER && &w->mbarriers.at[t->mbarrier] == b;
}

/*
 * A wait for a phase happens after the arrivals in it, but not after those of a later phase that is over by
 * the time the thread goes on.
 */
static void wake(struct worker *w, unsigned thread, struct mbarrier *complete)
{
    struct thread *t = &w->thread[thread];
    if (complete != NULL && !t->mbarrier_relaxed) simt_clock_acquire(w, thread, &complete->done);
    if (complete != NULL) note_left(w, complete, thread, UINT32_MAX, t->pc);
    t->wait = WAIT_NONE;
    t->predicate = complete != NULL;
    w->warp_of[thread / WARP_LANES].ready |= 1u << thread % WARP_LANES;
}

/*
 * The bytes of a copy that is still under way will count in the next phase, whichever one they were meant
 * for.
 */
static void found_early_end(struct worker *w, const struct mbarrier *b)
{
    if (!w->checking) return;
    struct finding f =
        finding_at(w, b->address, RECORD_BARRIER_PHASE, RECORD_ADVICE_MBARRIER_EXPECT, b->issued_at);
    f.message = RECORD_SAYS_MBARRIER_EARLY_END;
    f.words = *SIMT_SAYS(.number = {b->phase, (int64_t)b->came, (int64_t)b->expected, b->in_flight});
    f.actor[0] = simt_mbarrier_actor(w, b->issuer, b->issued_at, SIMT_ATOMIC);
    simt_found(w, &f);
}

static void complete_phase(struct worker *w, struct mbarrier *b)
{
    if (b->pending != 0 || b->tx != 0) return;
    if (b->in_flight != 0) found_early_end(w, b);
    found_overtaken(w, b);
    simt_clock_join(w, &b->done, &b->arrived);
    b->phase++;
    b->pending = b->count;
    b->expected = b->came = 0;
    for (unsigned i = 0; i < w->threads; i++)
        if (waits_for(w, &w->thread[i], b)) wake(w, i, b);
}

static void expect(struct worker *w, struct mbarrier *b, int64_t bytes)
{
    b->tx += bytes;
    if (bytes > 0) b->expected += (uint64_t)bytes;
    w->mbarriers.idle = 0;
}

void simt_mbarrier_expect(const struct simt_site *site, void *address, uint32_t bytes, const void *pc)
{
    struct worker *w = running(site), *owner;
    struct mbarrier *b = mbarrier_at(w, address, pc, &owner, false);
    if (bytes > MOST_ARRIVALS) refuse(w, b->address, pc, RECORD_ADVICE_MBARRIER_BYTES);
    expect(owner, b, bytes);
}

void simt_mbarrier_complete(const struct simt_site *site, void *address, uint32_t bytes, const void *pc)
{
    struct worker *owner;
    struct mbarrier *b = mbarrier_at(running(site), address, pc, &owner, false);
    b->came += bytes;
    expect(owner, b, -(int64_t)bytes);
    complete_phase(owner, b);
}

static uint64_t state_of(const struct mbarrier *b)
{
    return (uint64_t)b->pending << 32 | b->phase;
}

static void take_arrivals(struct worker *w, struct mbarrier *b, uint32_t count, const void *pc)
{
    const struct worker *owner = owner_of(w, b->address);
    b->last = owner == w ? w->thread_index : simt_foreign_actor(w, w->thread_index);
    b->at = pc;
    if (count <= b->pending) {
        b->pending -= count;
        return;
    }
    found(w, b->address, pc, RECORD_SAYS_MBARRIER_ARRIVALS, RECORD_ADVICE_MBARRIER_COUNT,
          SIMT_SAYS(.number = {count, b->count, b->phase, b->pending, b->tx}));
    b->pending = 0;
}

/* An arrival at another block's mbarrier also releases what was written to global memory (fences.h). */
static void release(struct worker *w, struct worker *owner, struct mbarrier *b)
{
    if (owner != w) {
        simt_note_atomic(w, SIMT_RELEASE | SIMT_ONLY_STORES);
        b->remote = true;
    }
    simt_clocks_open(w);
    simt_clock_release(w, owner, &b->arrived);
}

uint64_t simt_mbarrier_arrive(const struct simt_site *site, void *address, uint32_t count, uint32_t bytes,
                              unsigned how, const void *pc)
{
    struct worker *w = running(site), *owner;
    struct mbarrier *b = mbarrier_at(w, address, pc, &owner, false);
    simt_mark_at(w, TRACE_ARRIVE, address, pc);
    const uint64_t state = state_of(b);
    if (bytes > MOST_ARRIVALS) refuse(w, b->address, pc, RECORD_ADVICE_MBARRIER_BYTES);
    order_waits(w, owner, b);
    if (!(how & SIMT_MBARRIER_RELAXED)) release(w, owner, b);
    expect(owner, b, bytes);
    take_arrivals(w, b, count, pc);
    if (how & SIMT_MBARRIER_DROP) b->count -= count < b->count ? count : b->count;
    if (how & SIMT_MBARRIER_NO_COMPLETE && b->pending == 0 && b->tx == 0)
        found(w, b->address, pc, RECORD_SAYS_MBARRIER_COMPLETES, RECORD_ADVICE_MBARRIER_NO_COMPLETE,
              SIMT_SAYS(.number = {b->phase}));
    complete_phase(owner, b);
    return state;
}

unsigned simt_mbarrier_pending(uint64_t state)
{
    return (unsigned)(state >> 32);
}

/* ---- what asynchronous operations report -------------------------------------------------------------- */

void simt_mbarrier_add_pending(struct mbarrier *b)
{
    b->pending++;
}

uint32_t simt_mbarrier_report(struct worker *w, struct mbarrier *b, uint64_t bytes, bool arrives)
{
    const uint32_t tick = ++*w->time.clock;
    b->arrived.ordered[COLUMN_ASYNC + (b - w->mbarriers.at)] = tick;
    b->in_flight--;
    b->came += bytes;
    b->tx -= (int64_t)bytes;
    if (arrives && b->pending > 0) {
        b->pending--;
        memset(b->left, 0, sizeof b->left); /* what its thread knew is not kept */
    }
    w->mbarriers.idle = 0;
    complete_phase(w, b);
    return tick;
}

/* ---- waiting ------------------------------------------------------------------------------------------ */

/* Whether the phase asked for is complete. *@p phase: its number, if not. */
static bool is_complete(struct worker *w, const struct mbarrier *b, const void *pc, uint64_t state,
                        bool by_parity, uint32_t *phase)
{
    *phase = b->phase;
    if (by_parity) return (b->phase & 1) != (state & 1);
    const uint32_t asked = (uint32_t)state;
    if (asked + 1 < b->phase || asked > b->phase)
        found(w, b->address, pc, RECORD_SAYS_MBARRIER_STATE, RECORD_ADVICE_MBARRIER_STATE,
              SIMT_SAYS(.number = {asked, b->phase}));
    return asked != b->phase;
}

int simt_mbarrier_wait(const struct simt_site *site, void *address, uint64_t state, unsigned how,
                       const void *pc)
{
    struct worker *w = running(site);
    struct worker *owner;
    struct mbarrier *b = mbarrier_at(w, address, pc, &owner, false);
    struct thread *t = w->current;
    uint32_t phase;
    bool complete = is_complete(w, b, pc, state, (how & SIMT_MBARRIER_PARITY) != 0, &phase);
    const bool relaxed = (how & SIMT_MBARRIER_RELAXED) != 0, asleep = !complete;
    if (complete && !relaxed) simt_clock_acquire(w, w->thread_index, &b->done);
    if (!complete) {
        const uint64_t asked = (uint64_t)(b - w->mbarriers.at + 1) << 32 | phase;
        if (t->polled != asked && !simt_settings.early) {
            t->polled = asked;
            return 0;
        }
        t->wait = WAIT_MBARRIER;
        t->site = site;
        t->pc = pc;
        t->mask = 0;
        t->mbarrier = (unsigned)(b - w->mbarriers.at);
        t->mbarrier_phase = phase;
        t->mbarrier_relaxed = relaxed;
        simt_suspend(w);
        complete = t->predicate != 0;
        simt_mark_at(w, TRACE_AWAIT, address, pc); /* now that it is over: a mark may suspend, too */
    }
    /* if all have arrived and only bytes are missing, it is the wrong phase: what is read now is a missing-wait */
    if (complete && b->pending != 0 && b->phase == phase + (asleep ? 1 : 0))
        note_left(w, b, w->thread_index, w->time.tick, pc);
    if (complete && !relaxed && b->remote) simt_note_atomic(w, SIMT_ACQUIRE | SIMT_ONLY_LOADS);
    if (complete && !relaxed) t->acquired |= w->grid.met; /* whoever arrived may have */
    return complete;
}

bool simt_mbarrier_is_awaited(const struct worker *w, const struct mbarrier *b)
{
    for (unsigned i = 0; i < w->threads; i++)
        if (waits_for(w, &w->thread[i], b)) return true;
    return false;
}

bool simt_mbarriers_time_out(struct worker *w)
{
    bool any = false;
    if (w->mbarriers.count == 0 || ++w->mbarriers.idle > IDLE_ROUNDS) return false;
    for (unsigned i = 0; i < w->threads; i++) {
        if (w->thread[i].wait != WAIT_MBARRIER) continue;
        wake(w, i, NULL);
        any = true;
    }
    return any;
}

/* ---- endless waits ------------------------------------------------------------------------------------ */

struct actor simt_mbarrier_actor(const struct worker *w, unsigned thread, const void *pc, int access)
{
    if (thread >= FOREIGN) return simt_foreign(w, thread, simt_pack_pc(pc), access);
    return (struct actor){w->block, simt_pack_pc(pc), (uint16_t)thread, (uint8_t)access, NULL};
}

static uint32_t clipped(uint64_t number)
{
    return number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
}

/* The line of the kernel's own file, not of a helper in a header, from which @p pc was reached. */
static struct record_line own_line(const void *pc)
{
    struct record_line at[RECORD_FRAMES] = {{.line = 0}};
    int outermost = 0, own = 0;
    simt_line_frames(simt_pack_pc(pc), at);
    while (outermost + 1 < RECORD_FRAMES && at[outermost + 1].line > 0) outermost++;
    while (strcmp(at[own].file, at[outermost].file) != 0) own++;
    return at[own];
}

static struct record_wait describe(const struct worker *w, const struct mbarrier *b)
{
    unsigned count = 0, first = 0;
    for (unsigned i = w->threads; i-- > 0;)
        if (waits_for(w, &w->thread[i], b)) first = i, count++;
    const struct simt_extent id = w->thread[first].identity.thread;
    struct record_wait wait = {.waiting = RECORD_WAIT_MBARRIER,
                               .count = count,
                               .thread = {id.x, id.y, id.z},
                               .number = {b->phase, b->pending, b->count, clipped(b->came),
                                          clipped(b->expected),
                                          (b->tx < 0 ? RECORD_MBARRIER_SURPLUS : 0) |
                                              (b->at == NULL ? RECORD_MBARRIER_UNTOUCHED : 0)}};
    set_name(w, b, &wait);
    if (count > 0) wait.at = own_line(w->thread[first].pc);
    return wait;
}

/* Whoever has left its loop arrives no more. */
static unsigned ended_threads(const struct worker *w)
{
    unsigned count = 0;
    for (unsigned i = 0; i < w->warps; i++)
        count += (unsigned)__builtin_popcount(w->warp_of[i].exited & w->warp_of[i].lanes);
    return count;
}

void simt_mbarriers_describe(struct worker *w, struct finding *f, struct record_wait *wait)
{
    bool any = false;
    for (unsigned i = 0; i < w->mbarriers.count && f->words.waits < RECORD_WAITS; i++) {
        const struct mbarrier *b = &w->mbarriers.at[i];
        if (!b->live || !simt_mbarrier_is_awaited(w, b)) continue;
        wait[f->words.waits++] = describe(w, b);
        if (b->pending == 0 && b->tx != 0) f->kind = RECORD_BARRIER_PHASE;
        if (!any && b->at != NULL) f->actor[1] = simt_mbarrier_actor(w, b->last, b->at, SIMT_ATOMIC);
        any = true;
    }
    if (!any) return;
    f->words.number[0] = ended_threads(w);
    f->words.number[1] = w->threads;
    if (f->kind == RECORD_DEADLOCK) f->advice = RECORD_ADVICE_PHASE_NEVER_ENDS;
    if (f->kind == RECORD_BARRIER_PHASE) f->advice = RECORD_ADVICE_BYTES_EQUAL;
}
