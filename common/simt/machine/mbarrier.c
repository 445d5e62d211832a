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
#include "distributed_shared.h"
#include "fences.h"
#include "finding.h"
#include "happens_before.h"
#include "image.h"
#include "lanes.h"
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

static char *print(const char *format, va_list arguments)
{
    char *text = NULL;
    if (vasprintf(&text, format, arguments) < 0) simt_die("out of host memory.");
    return text;
}

static char *print_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
static char *print_text(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = print(format, arguments);
    va_end(arguments);
    return text;
}

static struct worker *owner_of(struct worker *w, uintptr_t address)
{
    struct worker *owner = simt_owner_of(w, address);
    return owner != NULL ? owner : w;
}

static struct finding finding_at(struct worker *w, uintptr_t address, const char *kind, const void *pc)
{
    const struct worker *owner = owner_of(w, address);
    struct finding f = {.kind = kind,
                        .place = simt_place_of(owner, address),
                        .bytes = OBJECT_BYTES,
                        .where = address,
                        .seen = 1};
    if (f.place < PLACE_COUNT) f.where -= owner->space[f.place].base;
    f.actor[0] = (struct actor){w->block, simt_pack_pc(pc), (uint16_t)w->thread_index, SIMT_ATOMIC, NULL};
    return f;
}

void simt_mbarrier_found(struct worker *w, uintptr_t address, const char *kind, const void *pc,
                         const char *remark, const char *format, ...)
{
    struct finding f = finding_at(w, address, kind, pc);
    va_list arguments;
    if (!w->checking) return;
    va_start(arguments, format);
    f.detail = print(format, arguments);
    va_end(arguments);
    f.remark = remark;
    simt_found(w, &f);
}

/* After these the program cannot go on in any way that hardware would. */
static void refuse(struct worker *w, uintptr_t address, const void *pc, const char *remark)
    __attribute__((noreturn));
static void refuse(struct worker *w, uintptr_t address, const void *pc, const char *remark)
{
    struct finding f = finding_at(w, address, "barrier-phase", pc);
    const struct worker *owner = owner_of(w, address);
    if (owner != w) f.detail = simt_distant_text(owner);
    f.remark = remark;
    simt_found(w, &f);
    simt_abandon(w, 719);
    abort();
}

/* What the source calls an mbarrier. */
static void name(const struct worker *w, const struct mbarrier *b, char *text, size_t size)
{
    const enum place place = simt_place_of(w, b->address);
    const uintptr_t where = b->address - w->space[place].base;
    const struct symbol *symbol = NULL;
    if (place == PLACE_SHARED) symbol = simt_symbol_before(simt_image.shared, simt_image.shared_count, where);
    if (symbol == NULL) {
        snprintf(text, size, "%s byte %zu",
                 w->dynamic_name != NULL ? w->dynamic_name : "dynamic shared memory", (size_t)where);
        return;
    }
    const struct simt_shape unknown = {.element_bytes = OBJECT_BYTES, .rank = 1, .extent = {1}};
    const struct simt_shape *shape = simt_shape_of_symbol(symbol);
    simt_print_element(symbol->name, shape != NULL ? shape : &unknown, (ptrdiff_t)(where - symbol->start),
                       OBJECT_BYTES, text, size);
    char *bytes = strstr(text, " (8 bytes)");
    if (bytes != NULL) *bytes = '\0';
}

/* ---- objects ------------------------------------------------------------------------------------------ */

static struct worker *running(const struct simt_site *site)
{
    if (simt_tls_worker == NULL) simt_stop(site, "unsupported", "%s in host code", site->what);
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
    struct finding f = finding_at(w, b->address, "missing-proxy-fence", pc);
    f.actor[1] = f.actor[0];
    f.actor[0] =
        (struct actor){owner->block, simt_pack_pc(b->init_at), (uint16_t)b->initialiser, SIMT_WRITE, NULL};
    if (owner != w) f.detail = simt_distant_text(owner);
    f.remark =
        "the copy reports to an mbarrier through the asynchronous proxy, which need not know yet that it is "
        "initialised: a fence.mbarrier_init.release.cluster (or fence.proxy.async) by the thread that "
        "initialised it, then a barrier, must be between";
    b->init_found = true;
    simt_found(w, &f);
}

/* ---- where it is ------------------------------------------------------------------------------------- */

/* The mbarrier may belong to another block of the cluster: *@p owner is that block. */
static struct mbarrier *mbarrier_at(struct worker *w, void *address, const void *pc, struct worker **owner)
{
    struct worker *o = *owner = owner_of(w, (uintptr_t)address);
    struct mbarrier *b = o->mbarriers.at != NULL ? find(o, address) : NULL;
    if (w->checking && (uintptr_t)address % OBJECT_BYTES != 0)
        simt_refuse(w, "misaligned", (uintptr_t)address, OBJECT_BYTES, SIMT_ATOMIC, pc,
                    "an mbarrier needs an address that is a multiple of 8");
    if (b != NULL && is_init_published(w, b))
        simt_distributed_note(w, (uintptr_t)address, OBJECT_BYTES, SIMT_READ, pc);
    else if (b != NULL || o != w)
        touch(w, address, SIMT_READ, pc);
    if (b != NULL) return b;
    b = known(o, address);
    refuse(w, (uintptr_t)address, pc,
           b == NULL  ? "no mbarrier has been initialised there (mbarrier.init)"
           : !b->live ? "the mbarrier there has been invalidated (mbarrier.inval)"
                      : "the mbarrier there has been overwritten since it was initialised");
}

struct mbarrier *simt_mbarrier_at(struct worker *w, void *address, const void *pc)
{
    struct worker *owner;
    return mbarrier_at(w, address, pc, &owner);
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
        refuse(w, (uintptr_t)address, pc, "the number of arrivals must be from 1 to 1048575");
    simt_clocks_open(w);
    if (w->mbarriers.at == NULL)
        w->mbarriers.at = simt_reserve(MBARRIERS * sizeof *w->mbarriers.at, "mbarriers");
    struct mbarrier *b = known(w, address);
    if (b == NULL && w->mbarriers.count == MBARRIERS)
        simt_stop(site, "unsupported", "more than %d mbarriers in a block", MBARRIERS);
    if (b == NULL) {
        b = &w->mbarriers.at[w->mbarriers.count++];
        b->live = false; /* an earlier block's */
    }
    if (b->live && b->in_flight != 0)
        simt_mbarrier_found(w, b->address, "barrier-phase", pc, "wait for all copies before",
                            "initialised again while %u asynchronous copies have yet to report to it",
                            b->in_flight);
    b->live = true;
    b->address = (uintptr_t)address;
    b->count = b->pending = count;
    b->tx = 0;
    b->expected = b->came = 0;
    b->phase = 0;
    b->in_flight = 0;
    b->remote = false;
    b->at = NULL;
    note_initialiser(w, b, pc);
    const uint64_t word = word_of(w, b);
    memcpy(address, &word, sizeof word);
    w->mbarriers.idle = 0;
}

void simt_mbarrier_inval(const struct simt_site *site, void *address, const void *pc)
{
    struct worker *w = running(site);
    struct mbarrier *b = simt_mbarrier_at(w, address, pc);
    touch(w, address, SIMT_WRITE, pc);
    if (b->in_flight != 0)
        simt_mbarrier_found(w, b->address, "barrier-phase", pc, "wait for all copies before",
                            "invalidated while %u asynchronous copies have yet to report to it",
                            b->in_flight);
    b->live = false;
    memset(address, 0, OBJECT_BYTES);
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
static void wake(struct worker *w, unsigned thread, const struct mbarrier *complete)
{
    struct thread *t = &w->thread[thread];
    if (complete != NULL && !t->mbarrier_relaxed) simt_clock_acquire(w, thread, &complete->done);
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
    struct finding f = finding_at(w, b->address, "barrier-phase", b->issued_at);
    if (!w->checking) return;
    f.actor[0] = simt_mbarrier_actor(w, b->issuer, b->issued_at, SIMT_ATOMIC);
    f.detail =
        print_text("phase %u ends when %llu bytes have come of %llu expected, and %u asynchronous operations "
                   "that report to it are still under way",
                   b->phase, (unsigned long long)b->came, (unsigned long long)b->expected, b->in_flight);
    f.remark =
        "expect the bytes of all of them (mbarrier.arrive.expect_tx), tensor elements out of range included";
    simt_found(w, &f);
}

static void complete_phase(struct worker *w, struct mbarrier *b)
{
    if (b->pending != 0 || b->tx != 0) return;
    if (b->in_flight != 0) found_early_end(w, b);
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
    struct mbarrier *b = mbarrier_at(w, address, pc, &owner);
    if (bytes > MOST_ARRIVALS) refuse(w, b->address, pc, "an mbarrier counts no more than 1048575 bytes");
    expect(owner, b, bytes);
}

void simt_mbarrier_complete(const struct simt_site *site, void *address, uint32_t bytes, const void *pc)
{
    struct worker *owner;
    struct mbarrier *b = mbarrier_at(running(site), address, pc, &owner);
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
    simt_mbarrier_found(w, b->address, "barrier-phase", pc,
                        "an arrival too many: it was initialised for fewer than arrive in a phase",
                        "%u arrive, of the %u arrivals of phase %u %u are missing, and %lld of its bytes",
                        count, b->count, b->phase, b->pending, (long long)b->tx);
    b->pending = 0;
}

/* An arrival at another block's mbarrier also releases what was written to global memory (fences.h). */
static void release(struct worker *w, struct worker *owner, struct mbarrier *b)
{
    if (owner != w) {
        simt_fence();
        simt_note_atomic(w);
        b->remote = true;
    }
    simt_clocks_open(w);
    simt_clock_release(w, owner, &b->arrived);
}

uint64_t simt_mbarrier_arrive(const struct simt_site *site, void *address, uint32_t count, uint32_t bytes,
                              unsigned how, const void *pc)
{
    struct worker *w = running(site), *owner;
    struct mbarrier *b = mbarrier_at(w, address, pc, &owner);
    const uint64_t state = state_of(b);
    if (bytes > MOST_ARRIVALS) refuse(w, b->address, pc, "an mbarrier counts no more than 1048575 bytes");
    if (!(how & SIMT_MBARRIER_RELAXED)) release(w, owner, b);
    expect(owner, b, bytes);
    take_arrivals(w, b, count, pc);
    if (how & SIMT_MBARRIER_DROP) b->count -= count < b->count ? count : b->count;
    if (how & SIMT_MBARRIER_NO_COMPLETE && b->pending == 0 && b->tx == 0)
        simt_mbarrier_found(w, b->address, "barrier-phase", pc, "take mbarrier.arrive without .noComplete",
                            "an arrival with .noComplete completes phase %u", b->phase);
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
    if (arrives && b->pending > 0) b->pending--;
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
        simt_mbarrier_found(w, b->address, "barrier-phase", pc,
                            "a state holds for its own phase and the one after it",
                            "waits with a state of phase %u, in phase %u", asked, b->phase);
    return asked != b->phase;
}

int simt_mbarrier_wait(const struct simt_site *site, void *address, uint64_t state, unsigned how,
                       const void *pc)
{
    struct worker *w = running(site);
    struct mbarrier *b = simt_mbarrier_at(w, address, pc);
    struct thread *t = w->current;
    uint32_t phase;
    bool complete = is_complete(w, b, pc, state, (how & SIMT_MBARRIER_PARITY) != 0, &phase);
    const bool relaxed = (how & SIMT_MBARRIER_RELAXED) != 0;
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
    }
    if (complete && !relaxed && b->remote) simt_note_atomic(w);
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

/*
 * "; 128 threads wait for it, the first is (128,0,0)": several mbarriers may be stuck, and each line says
 * who waits.
 */
static void print_waiting(FILE *out, const struct worker *w, const struct mbarrier *b)
{
    unsigned count = 0, first = 0;
    for (unsigned i = w->threads; i-- > 0;)
        if (waits_for(w, &w->thread[i], b)) first = i, count++;
    const struct simt_extent id = w->thread[first].identity.thread;
    if (count > 0)
        fprintf(out, "; %u thread%s wait%s for it, the first is (%u,%u,%u)", count, count == 1 ? "" : "s",
                count == 1 ? "s" : "", id.x, id.y, id.z);
}

static void describe(FILE *out, const struct worker *w, const struct mbarrier *b)
{
    char text[256];
    name(w, b, text, sizeof text);
    fprintf(out, "mbarrier %s is in phase %u (parity %u): %u of %u arrivals are missing", text, b->phase,
            b->phase & 1, b->pending, b->count);
    if (b->expected != 0 || b->came != 0)
        fprintf(out, ", %llu bytes came of %llu expected", (unsigned long long)b->came,
                (unsigned long long)b->expected);
    if (b->tx < 0) fputs(" (bytes that came in an earlier phase count)", out);
    if (b->at == NULL) fputs("; nobody has arrived yet", out);
    print_waiting(out, w, b);
}

/* Threads that have ended arrive no more. */
static void print_ended(FILE *out, const struct worker *w)
{
    unsigned count = 0;
    for (unsigned i = 0; i < w->warps; i++)
        count += (unsigned)__builtin_popcount(w->warp_of[i].exited & w->warp_of[i].lanes);
    if (count > 0)
        fprintf(out, "\n  %u of the block's %u threads have ended, and arrive no more", count, w->threads);
}

void simt_mbarriers_describe(struct worker *w, struct finding *f)
{
    enum { MOST = 3 };
    char *text = NULL;
    size_t size;
    unsigned described = 0;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL) simt_die("out of host memory.");
    for (unsigned i = 0; i < w->mbarriers.count && described < MOST; i++) {
        const struct mbarrier *b = &w->mbarriers.at[i];
        if (!b->live || !simt_mbarrier_is_awaited(w, b)) continue;
        if (described++ > 0) fputs("\n  ", out);
        describe(out, w, b);
        if (b->pending == 0 && b->tx != 0) f->kind = "barrier-phase";
        if (described == 1 && b->at != NULL)
            f->actor[1] = simt_mbarrier_actor(w, b->last, b->at, SIMT_ATOMIC);
    }
    if (described > 0) print_ended(out, w);
    fclose(out);
    if (described == 0) {
        free(text);
        return;
    }
    f->detail = text;
    if (strcmp(f->kind, "deadlock") == 0) f->remark = "a phase that never ends: on a GPU the kernel hangs";
    if (strcmp(f->kind, "barrier-phase") == 0)
        f->remark = "the bytes that are expected and those that copies bring "
                    "must be equal: on a GPU the kernel hangs";
}
