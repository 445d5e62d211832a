/**
 * @file bulk_copies.c
 * @brief Bulk copies, tensor copies and their reductions: what the asynchronous proxy does for the threads of a block.
 *
 * A copy is checked when it is issued, on both sides, and kept in a list. It completes as late as it may: a
 * copy that reports to an mbarrier completes when no thread can go on and one waits for that mbarrier; a
 * store reads its source when its thread waits for the reads of its group, and writes when that thread waits
 * for the group, or when the block is over. What another block of the cluster sends is in the list of the
 * block that receives it; a multicast is in the list of each receiver. With SIMT_ASYNC=early a copy completes
 * at once. What a thread may rely on is the same either way, and kept in shadow cells (shadow_words.c).
 */
#include "bulk_copies.h"
#include "async_copies.h"
#include "blocks.h"
#include "check.h"
#include "counters.h"
#include "distributed_shared.h"
#include "fences.h"
#include "finding.h"
#include "lanes.h"
#include "machine.h"
#include "mbarrier.h"
#include "settings.h"
#include "shadow.h"
#include "tensor_map.h"
#include "tools.h"
#include "trace.h"
#include "vector_clocks.h"
#include "worker.h"

#include <stdlib.h>
#include <string.h>

enum kind { LOAD, STORE, BETWEEN, WRITE /* st.async */, ARRIVAL };

struct bulk {
    enum kind kind;
    struct simt_bulk what;
    struct tensor_map map; /* rank 0: plain bytes */
    struct mbarrier *mbarrier;
    struct worker *issuer; /* whose thread began it: of this block, or of another one of the cluster */
    unsigned thread;
    uint32_t begun;      /* tick */
    uint32_t group;      /* of a store */
    uint32_t copies;     /* of an arrival: how many copies of its thread come before */
    bool read, done;     /* the source has been read; the copy is complete */
    bool awaited;        /* its thread has waited for its reads */
    bool first;          /* the first one of a multicast: its source is checked once */
    unsigned char *data; /* what was read */
    uint64_t traced;     /* its number in a trace */
};

;

/* ---- pieces ------------------------------------------------------------------------------------------- */

/* Some bytes of a copy: of shared memory, and of global memory; NULL: out of the tensor's range. */
typedef void piece(const struct bulk *b, char *shared, char *global, size_t bytes);

static uintptr_t swizzled(uintptr_t address, unsigned span)
{
    const uintptr_t chunks = span / 16; /* that change places: 2, 4, 8 */
    return span == 0 ? address : address ^ ((address >> 7 & (chunks - 1)) << 4);
}

/* Bytes of a row that are all in range, or all out of it. */
static void for_row_part(const struct bulk *b, uintptr_t shared, char *global, size_t bytes, piece *what)
{
    const char *base = b->what.shared;
    char *to = b->data != NULL ? (char *)b->data : (char *)b->what.shared;
    if (b->map.swizzle == 0) {
        if (bytes > 0) what(b, to + ((const char *)shared - base), global, bytes);
        return;
    }
    while (bytes > 0) { /* a chunk of 16 bytes keeps together */
        const size_t left = 16 - shared % 16, part = bytes < left ? bytes : left;
        what(b, to + ((const char *)swizzled(shared, b->map.swizzle) - base), global, part);
        shared += part;
        if (global != NULL) global += part;
        bytes -= part;
    }
}

static unsigned taken(const struct tensor_map *m, unsigned axis)
{
    const unsigned step = axis == 0 ? 1 : m->step[axis];
    return (m->box[axis] + step - 1) / step;
}

/* Row number @p row of the box: the bytes before the tensor, in it, and past its end. */
static void for_row(const struct bulk *b, size_t row, piece *what)
{
    const struct tensor_map *m = &b->map;
    const size_t inner = (size_t)m->box[0] * m->bytes;
    const uintptr_t shared = (uintptr_t)b->what.shared + row * inner;
    char *global = (char *)(uintptr_t)m->base;
    bool inside = true;
    for (unsigned axis = 1; axis < m->rank; axis++) {
        const int64_t at = (int64_t)b->what.at[axis] + (int64_t)(row % taken(m, axis)) * m->step[axis];
        row /= taken(m, axis);
        inside = inside && at >= 0 && at <= m->last[axis];
        if (inside) global += (size_t)at * m->stride[axis - 1];
    }
    const int64_t first = b->what.at[0], box = m->box[0], size = (int64_t)m->last[0] + 1;
    int64_t from = first < 0 ? -first : 0, to = first + box > size ? size - first : box;
    if (from > box) from = box;
    if (!inside || to < from) to = from;
    if (b->kind == STORE &&
        to > from) { /* an H200 writes and reduces whole 16 bytes, also past the end of a row */
        enum { GRANULE = 16 };
        const int64_t elems = GRANULE / m->bytes, end = (first + to + elems - 1) / elems * elems - first;
        to = end < box ? end : box;
    }
    const size_t before = (size_t)from * m->bytes, in = (size_t)(to - from) * m->bytes;
    for_row_part(b, shared, NULL, before, what);
    if (in > 0) for_row_part(b, shared + before, global + (first + from) * m->bytes, in, what);
    for_row_part(b, shared + before + in, NULL, inner - before - in, what);
}

static void for_pieces(const struct bulk *b, piece *what)
{
    if (b->map.rank == 0) {
        what(b, b->data != NULL ? (char *)b->data : (char *)b->what.shared, b->what.global, b->what.bytes);
        return;
    }
    size_t rows = 1;
    for (unsigned axis = 1; axis < b->map.rank; axis++) rows *= taken(&b->map, axis);
    for (size_t row = 0; row < rows; row++) for_row(b, row, what);
}

/* ---- completing a copy -------------------------------------------------------------------------------- */

static void fill(const struct bulk *b, char *to, size_t bytes)
{
    enum { HALF = 2, DOUBLE = 8 };
    memset(to, 0, bytes);
    if (!b->map.nan) return;
    for (size_t at = 0; at < bytes; at += b->map.bytes) {
        const uint64_t nan = b->map.bytes == HALF     ? 0x7fff
                             : b->map.bytes == DOUBLE ? UINT64_C(0x7fffffffffffffff)
                                                      : 0x7fffffff;
        memcpy(to + at, &nan, b->map.bytes);
    }
}

static void flush_subnormals(char *at, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += sizeof(uint32_t)) {
        uint32_t word;
        memcpy(&word, at + i, sizeof word);
        if ((word & 0x7f800000) == 0) word &= 0x80000000;
        memcpy(at + i, &word, sizeof word);
    }
}

static void move_in(const struct bulk *b, char *shared, char *global, size_t bytes)
{
    if (global == NULL) {
        fill(b, shared, bytes);
        return;
    }
    memcpy(shared, global, bytes);
    if (b->map.flush) flush_subnormals(shared, bytes);
}

static void move_out(const struct bulk *b, char *shared, char *global, size_t bytes)
{
    if (global == NULL) return;
    if (b->what.reduce != NULL)
        b->what.reduce(global, shared, bytes, b->what.reduction);
    else
        memcpy(global, shared, bytes);
    simt_trace_stored(b->issuer, b->thread, b->what.pc, global, bytes);
}

static uintptr_t offset_of(const struct worker *w, const void *shared, enum place *place)
{
    *place = simt_place_of(w, (uintptr_t)shared);
    return (uintptr_t)shared - w->space[*place < PLACE_COUNT ? *place : 0].base;
}

static const void *target_of(const struct bulk *b)
{
    return b->kind == BETWEEN || b->kind == WRITE ? b->what.global : b->what.shared;
}

static void report_cells(struct worker *w, const struct bulk *b, unsigned column, uint32_t tick)
{
    enum place place;
    const uintptr_t offset = offset_of(w, target_of(b), &place);
    const unsigned writer = b->issuer == w ? b->thread : simt_foreign_actor(b->issuer, b->thread);
    if (b->kind == WRITE) {
        simt_shadow_copy_reported(w, place, offset, b->what.bytes, writer, column, tick);
        return;
    }
    simt_shadow_bulk_reported(w, place, offset, b->what.bytes, b->begun, column, tick);
    if (b->kind != BETWEEN) return;
    const uintptr_t from = offset_of(b->issuer, b->what.shared, &place);
    simt_shadow_read_complete(b->issuer, place, from, b->what.bytes, b->begun);
}

static void report(struct worker *w, struct bulk *b)
{
    const unsigned column = COLUMN_ASYNC + (unsigned)(b->mbarrier - w->mbarriers.at);
    const uint32_t tick = simt_mbarrier_report(w, b->mbarrier, b->what.bytes, b->kind == ARRIVAL);
    if (b->kind == ARRIVAL)
        simt_copies_report(w, b->thread, b->copies, column, tick);
    else if (w->checking)
        report_cells(w, b, column, tick);
}

/* From here on the store's source may be overwritten. */
static void read_source(struct bulk *b)
{
    if (b->read) return;
    b->read = true;
    unsigned char *data = malloc(b->what.bytes + 1);
    if (data == NULL) simt_die("out of host memory.");
    memcpy(data, b->what.shared, b->what.bytes);
    b->data = data;
}

static void complete_copy(struct worker *w, struct bulk *b)
{
    struct worker *watch = simt_tls_watch;
    if (b->done) return;
    simt_tls_watch = NULL; /* checked when it was issued */
    b->done = true;
    if (b->kind == LOAD) {
        for_pieces(b, move_in);
    } else if (b->kind == STORE) {
        read_source(b);
        for_pieces(b, move_out);
    } else if (b->kind == BETWEEN) {
        move_out(b, b->what.shared, b->what.global, b->what.bytes);
    } else if (b->kind == WRITE) {
        move_out(b, (char *)b->data, b->what.global, b->what.bytes);
    }
    simt_tls_watch = watch;
    if (b->kind != ARRIVAL)
        simt_trace_landed(w, b->traced, b->kind == STORE ? b->what.global : target_of(b), b->what.bytes);
    if (b->mbarrier != NULL) report(w, b);
}

static void forget(struct worker *w, size_t index)
{
    struct bulk *list = w->bulks.data;
    free(list[index].data);
    w->bulks.count--;
    memmove(list + index, list + index + 1, (w->bulks.count - index) * sizeof *list);
}

bool simt_bulk_progress(struct worker *w)
{
    bool any = false;
    for (size_t i = 0; i < w->bulks.count;) {
        struct bulk *b = (struct bulk *)w->bulks.data + i;
        if (b->mbarrier == NULL || !simt_mbarrier_is_awaited(w, b->mbarrier)) {
            i++;
            continue;
        }
        complete_copy(w, b);
        forget(w, i);
        any = true;
    }
    return any;
}

/* ---- checks when it is issued ------------------------------------------------------------------------- */

static struct worker *running(const struct simt_site *site)
{
    if (simt_tls_worker == NULL)
        simt_stop(site, RECORD_UNSUPPORTED, RECORD_SAYS_HOST_CODE, SIMT_SAYS(.name = {site->what}));
    return simt_tls_worker;
}

/* Whose list a copy to @p target goes to; its mbarrier must be of the same block. */
static struct worker *receiver(struct worker *w, const struct simt_site *site, const void *target,
                               const void *mbarrier)
{
    struct worker *owner = simt_owner_of(w, (uintptr_t)target);
    if (w->cluster == NULL || owner == NULL) return w;
    if (simt_owner_of(w, (uintptr_t)mbarrier) != owner)
        simt_stop(site, RECORD_BARRIER_PHASE, RECORD_SAYS_MBARRIER_ELSEWHERE,
                  SIMT_SAYS(.name = {site->what}));
    return owner;
}

static void demand(struct worker *w, const void *address, size_t bytes, unsigned multiple, int access,
                   const struct simt_bulk *what, enum record_advice advice)
{
    if (!w->checking || ((uintptr_t)address % multiple == 0 && bytes % 16 == 0)) return;
    simt_refuse(w, RECORD_MISALIGNED, (uintptr_t)address, bytes, access, what->pc, advice);
}

/* The row that a box takes from device memory begins on 16 bytes, though the tensor's size may be any: an H200 says
 * cudaErrorIllegalInstruction where it does not. */
static void demand_begin(struct worker *w, const struct bulk *b, int access)
{
    const int64_t begin = (int64_t)b->what.at[0] * b->map.bytes;
    if (!w->checking || b->map.rank == 0 || begin % 16 == 0) return;
    simt_refuse(w, RECORD_MISALIGNED, (uintptr_t)b->map.base + (uintptr_t)begin, b->map.bytes, access,
                b->what.pc, RECORD_ADVICE_ALIGN_TENSOR_COORDINATE);
}

/* The copy's global memory, in pieces of up to 16 bytes. */
static void check_pieces(const struct bulk *b, char *global, size_t bytes, int access)
{
    struct worker *w = simt_tls_worker;
    if ((uintptr_t)global - w->local.stacks < w->local.stacks_bytes)
        simt_refuse(w, RECORD_OUT_OF_BOUNDS, (uintptr_t)global, bytes, access, b->what.pc,
                    RECORD_ADVICE_LOCAL_COPY);
    while (global != NULL && bytes > 0) {
        const size_t left = 16 - (uintptr_t)global % 16, part = bytes < left ? bytes : left;
        simt_check(global, part, access, false, b->what.pc);
        global += part;
        bytes -= part;
    }
}

static void check_read(const struct bulk *b, char *shared, char *global, size_t bytes)
{
    (void)shared;
    check_pieces(b, global, bytes, SIMT_READ | ACCESS_COPY | ACCESS_ASYNC);
}
static void check_write(const struct bulk *b, char *shared, char *global, size_t bytes)
{
    (void)shared;
    check_pieces(b, global, bytes,
                 (b->what.reduce != NULL ? SIMT_ATOMIC : SIMT_WRITE) | ACCESS_COPY | ACCESS_ASYNC);
}

static void check_shared(const struct bulk *b, void *shared, int access)
{
    simt_check(shared, b->what.bytes, access | ACCESS_COPY | ACCESS_BULK, false, b->what.pc);
}

/* the last sector of the piece before, in which this one may begin */
static __thread uintptr_t latest_sector;

static void count_piece(const struct bulk *b, char *shared, char *global, size_t bytes)
{
    struct counters *c = &simt_tls_worker->result->counters;
    (void)shared;
    if (global == NULL) return;
    for (uintptr_t sector = (uintptr_t)global / 32; sector <= ((uintptr_t)global + bytes - 1) / 32;
         sector++) {
        if (sector != latest_sector) ++*(b->kind == LOAD ? &c->load_sectors : &c->store_sectors);
        latest_sector = sector;
    }
}

/*
 * A profiler counts the loads and stores of warps. Bulk copies are not among them, but are traffic, too
 * (SIMT_TRAFFIC=all).
 */
static void count_sides(const struct worker *w, const struct bulk *b)
{
    if (!w->counting || !simt_settings.all_traffic) return;
    latest_sector = 0;
    if (b->kind == STORE || (b->kind == LOAD && b->first)) for_pieces(b, count_piece);
}

static void check_sides(struct worker *w, const struct bulk *b)
{
    const bool counting = w->counting;
    if (simt_tls_watch == NULL) return;
    w->counting = false; /* a profiler counts no loads and stores for it */
    if (b->kind == LOAD) {
        if (b->first) for_pieces(b, check_read);
        check_shared(b, b->what.shared, SIMT_WRITE);
    } else if (b->kind == WRITE) {
        simt_check(b->what.global, b->what.bytes, SIMT_WRITE | ACCESS_COPY, true, b->what.pc);
    } else {
        check_shared(b, b->what.shared, SIMT_READ);
        if (b->kind == BETWEEN)
            check_shared(b, b->what.global, SIMT_WRITE);
        else
            for_pieces(b, check_write);
    }
    w->counting = counting;
}

void simt_note_parameter(const void *address, size_t bytes, int constant)
{
    const struct worker *w = simt_tls_worker;
    size_t passed = bytes;
    if (w == NULL) return;
    struct vector *list = &w->current->parameters;
    struct simt_parameter *p = list->data;
    for (size_t i = 0; i < list->count; i++) passed += p[i].bytes;
    if (passed > w->launch->args_bytes) return; /* the kernel's own come first */
    p = simt_vector_grow(list, sizeof *p);
    *p = (struct simt_parameter){address, bytes, constant};
}

const struct simt_parameter *simt_parameter_around(const void *address)
{
    if (simt_tls_worker == NULL) return NULL;
    const struct vector *list = &simt_tls_worker->current->parameters;
    const struct simt_parameter *p = list->data;
    for (size_t i = 0; i < list->count; i++)
        if ((uintptr_t)address - (uintptr_t)p[i].address < p[i].bytes) return &p[i];
    return NULL;
}

/* A parameter that no kernel can change holds what the launch has passed, whatever a kernel says of its variables. */
static bool was_passed(const struct worker *w, const struct bulk *b)
{
    return memmem(w->launch->args, w->launch->args_bytes, b->what.map, sizeof b->map) != NULL;
}

/*
 * Hardware reads a tensor map from a parameter, constant or global memory only. If nobody has listed the
 * kernel's parameters, every address in a thread's own memory may be a parameter's.
 */
static void check_map(struct worker *w, const struct bulk *b)
{
    const uintptr_t map = (uintptr_t)b->what.map;
    const enum place place = simt_place_of(w, map);
    enum record_advice advice = RECORD_ADVICE_MAP_SHARED;
    if (simt_tls_watch == NULL) return;
    if (map - w->local.stacks >= w->local.stacks_bytes) {
        if (place == PLACE_ARENA || place == PLACE_OTHER)
            check_pieces(b, (char *)map, sizeof b->map, SIMT_READ | ACCESS_COPY);
        if (place != PLACE_SHARED && place != PLACE_DYNAMIC) return;
    } else {
        const struct simt_parameter *p = simt_parameter_around(b->what.map);
        if (w->current->parameters.count == 0 || (p != NULL && p->constant && was_passed(w, b))) return;
        advice = p != NULL ? RECORD_ADVICE_MAP_PARAMETER : RECORD_ADVICE_MAP_LOCAL;
    }
    simt_refuse(w, RECORD_TENSOR_MAP, map, sizeof b->map, SIMT_READ, b->what.pc, advice);
}

/* A map is 128 bytes that a program may have written itself. Those of cuTensorMapEncodeTiled are like this; any other would
 * lead a copy out of what was checked: a swizzle beyond its row, an axis that there is not, a step of nothing. */
static bool is_encoded(const struct tensor_map *m)
{
    const unsigned inner = (unsigned)m->box[0] * m->bytes;
    if (m->rank == 0 || m->rank > TENSOR_RANK) return false;
    if (m->bytes == 0 || m->bytes > 8 || (m->bytes & (m->bytes - 1)) != 0) return false;
    if (m->swizzle != 0 && m->swizzle != 32 && m->swizzle != 64 && m->swizzle != 128) return false;
    if (inner == 0 || inner % 16 != 0 || (m->swizzle != 0 && inner > m->swizzle) || m->base % 16 != 0)
        return false;
    for (unsigned axis = 0; axis < m->rank; axis++) {
        if (m->box[axis] == 0 || m->box[axis] > MOST_BOX || m->step[axis] == 0 || m->step[axis] > MOST_STEP)
            return false;
        if (axis > 0 && (m->stride[axis - 1] % 16 != 0 || m->stride[axis - 1] >= STRIDE_LIMIT)) return false;
    }
    return true;
}

/* Copies the tensor map, which may lie in any memory, and compares it with the instruction. */
static void take_map(struct worker *w, const struct simt_site *site, struct bulk *b)
{
    const struct tensor_map *map = b->what.map;
    if (map == NULL) return;
    check_map(w, b);
    memcpy(&b->map, map, sizeof b->map);
    if (b->map.mark != TENSOR_MAP_MARK || !is_encoded(&b->map))
        simt_stop(site, RECORD_UNSUPPORTED, RECORD_SAYS_NO_TENSOR_MAP, SIMT_SAYS(.name = {site->what}));
    if (b->map.rank != b->what.rank)
        simt_stop(site, RECORD_UNSUPPORTED, RECORD_SAYS_TENSOR_AXES,
                  SIMT_SAYS(.name = {site->what}, .number = {b->map.rank}));
    if (b->map.swizzle != 0 && (unsigned)b->map.box[0] * b->map.bytes < b->map.swizzle)
        simt_stop(site, RECORD_UNSUPPORTED, RECORD_SAYS_TENSOR_SWIZZLE,
                  SIMT_SAYS(.name = {site->what}, .number = {b->map.box[0] * b->map.bytes, b->map.swizzle}));
    b->what.bytes = (size_t)b->map.box[0] * b->map.bytes;
    for (unsigned axis = 1; axis < b->map.rank; axis++) b->what.bytes *= taken(&b->map, axis);
}

/* What a bulk copy reports to. */
static void take_mbarrier(struct worker *w, struct bulk *b)
{
    b->mbarrier = simt_mbarrier_of_copy(w, b->what.mbarrier, b->what.pc);
    simt_mbarrier_check_init(w, b->mbarrier, b->what.pc);
}

/*
 * Puts the copy in @p w's list: the running block's, or that of the block of its cluster that receives it
 * and has the mbarrier.
 */
static void issue_to(struct worker *w, struct bulk *b)
{
    const bool late = !simt_settings.early;
    b->issuer = simt_tls_worker;
    b->thread = b->issuer->thread_index;
    b->begun = b->issuer->time.tick;
    if (b->kind != ARRIVAL) check_sides(b->issuer, b);
    simt_new_tick(b->issuer, b->issuer->warp);
    if (w->member.over) return; /* there was a finding */
    count_sides(b->issuer, b);
    if (b->kind != ARRIVAL && b->issuer->trace != NULL) {
        b->traced = simt_trace_number(b->issuer);
        simt_mark(b->issuer, TRACE_BULK, b->traced, b->what.pc);
    }
    if (b->mbarrier != NULL) {
        b->mbarrier->in_flight++;
        b->mbarrier->issuer = w == b->issuer ? b->thread : simt_foreign_actor(b->issuer, b->thread);
        b->mbarrier->issued_at = b->what.pc;
    }
    if (!late) complete_copy(w, b);
    if (!late && b->mbarrier != NULL) return;
    *(struct bulk *)simt_vector_grow(&w->bulks, sizeof *b) = *b;
    if (late && b->kind == LOAD)
        memset(b->what.shared, 0xff, b->what.bytes); /* who reads too early sees NaN */
}

static void issue(struct worker *w, struct bulk *b)
{
    b->first = true;
    issue_to(w, b);
}

/* ---- what threads do ---------------------------------------------------------------------------------- */

/* The address in the block of @p rank that corresponds to @p pointer in @p owner's. */
static void *moved(const struct worker *owner, unsigned rank, const void *pointer)
{
    enum place place;
    const uintptr_t offset = offset_of(owner, pointer, &place);
    return (void *)(owner->cluster->block[rank]->space[place].base + offset);
}

/*
 * Each block that the multicast names receives the bytes at the same offset, and its mbarrier at the same
 * offset is the one they count in.
 */
static void multicast(struct worker *w, const struct simt_site *site, const struct bulk *b)
{
    const struct cluster *c = w->cluster;
    const struct worker *named = receiver(w, site, b->what.shared, b->what.mbarrier);
    const unsigned blocks = b->what.blocks, all = c == NULL ? 1 : (1u << c->size) - 1;
    if ((blocks & ~all) != 0)
        simt_stop(site, RECORD_OUT_OF_BOUNDS, RECORD_SAYS_MULTICAST_BLOCKS,
                  SIMT_SAYS(.name = {site->what}, .number = {blocks, c == NULL ? 1 : c->size}));
    bool first = true;
    for (unsigned rank = 0; rank < MAX_CLUSTER; rank++) {
        if (!(blocks >> rank & 1)) continue;
        struct bulk one = *b;
        struct worker *to = c == NULL ? w : c->block[rank];
        one.first = first;
        if (to != named) {
            one.what.shared = moved(named, rank, b->what.shared);
            one.what.mbarrier = moved(named, rank, b->what.mbarrier);
        }
        take_mbarrier(w, &one);
        issue_to(to, &one);
        first = false;
    }
}

void simt_bulk_load(const struct simt_site *site, const struct simt_bulk *what)
{
    struct worker *w = running(site);
    struct bulk b = {.kind = LOAD, .what = *what};
    simt_clocks_open(w);
    take_map(w, site, &b);
    demand(w, what->shared, b.what.bytes, b.map.rank != 0 ? 128 : 16, SIMT_WRITE, &b.what,
           b.map.rank != 0 ? RECORD_ADVICE_ALIGN_TENSOR_SHARED : RECORD_ADVICE_ALIGN_BULK);
    if (b.map.rank == 0)
        demand(w, what->global, b.what.bytes, 16, SIMT_READ, &b.what, RECORD_ADVICE_ALIGN_BULK);
    demand_begin(w, &b, SIMT_READ);
    if (what->blocks != 0) {
        multicast(w, site, &b);
        return;
    }
    take_mbarrier(w, &b);
    issue(receiver(w, site, what->shared, what->mbarrier), &b);
}

void simt_bulk_store(const struct simt_site *site, const struct simt_bulk *what)
{
    struct worker *w = running(site);
    struct bulk b = {.kind = STORE, .what = *what, .group = w->current->bulk_group};
    simt_clocks_open(w);
    take_map(w, site, &b);
    demand(w, what->shared, b.what.bytes, b.map.rank != 0 ? 128 : 16, SIMT_READ, &b.what,
           b.map.rank != 0 ? RECORD_ADVICE_ALIGN_TENSOR_SHARED : RECORD_ADVICE_ALIGN_BULK);
    if (b.map.rank == 0)
        demand(w, what->global, b.what.bytes, 16, SIMT_WRITE, &b.what, RECORD_ADVICE_ALIGN_BULK);
    demand_begin(w, &b, SIMT_WRITE);
    if (what->reduce != NULL) { /* as an atomic: results do not depend on the number of workers */
        simt_wait_for_earlier(w);
        simt_note_atomic(w, SIMT_ONLY_STORES);
    }
    issue(w, &b);
}

void simt_bulk_between(const struct simt_site *site, const struct simt_bulk *what)
{
    struct worker *w = running(site);
    struct bulk b = {.kind = BETWEEN, .what = *what};
    simt_clocks_open(w);
    demand(w, what->shared, what->bytes, 16, SIMT_READ, &b.what, RECORD_ADVICE_ALIGN_BULK);
    demand(w, what->global, what->bytes, 16, SIMT_WRITE, &b.what, RECORD_ADVICE_ALIGN_BULK);
    take_mbarrier(w, &b);
    issue(receiver(w, site, what->global, what->mbarrier), &b);
}

void simt_async_store(const struct simt_site *site, void *to, const void *data, size_t bytes, void *mbarrier,
                      void (*reduce)(char *to, const char *from, size_t bytes, unsigned reduction),
                      unsigned reduction, const void *return_address)
{
    struct worker *w = running(site);
    struct bulk b = {.kind = WRITE,
                     .what = {.global = to,
                              .bytes = bytes,
                              .mbarrier = mbarrier,
                              .reduce = reduce,
                              .reduction = reduction,
                              .pc = return_address}};
    simt_clocks_open(w);
    b.mbarrier = simt_mbarrier_of_copy(w, mbarrier, return_address);
    b.data = malloc(bytes);
    if (b.data == NULL) simt_die("out of host memory.");
    memcpy(b.data, data, bytes);
    issue(receiver(w, site, to, mbarrier), &b);
    if (b.done) free(b.data);
}

void simt_copies_arrive(const struct simt_site *site, void *mbarrier, int counted, const void *return_address)
{
    struct worker *w = running(site);
    struct bulk b = {.kind = ARRIVAL, .what = {.pc = return_address}, .copies = w->current->copies_begun};
    simt_clocks_open(w);
    b.mbarrier = simt_mbarrier_of_copy(w, mbarrier, return_address);
    simt_clock_release(w, w, &b.mbarrier->arrived);
    if (!counted) simt_mbarrier_add_pending(b.mbarrier);
    issue(w, &b);
}

void simt_bulk_commit(const void *return_address)
{
    struct worker *w = simt_tls_worker;
    if (w == NULL) return;
    simt_mark(w, TRACE_BULK_COMMIT, w->current->bulk_group, return_address);
    w->current->bulk_group++;
}

/*
 * The next of the running thread's stores in groups before @p end, or -1: group by group, and within a
 * group the last one first. No order is promised within a group, so a sum that depends on it differs from
 * the one with SIMT_ASYNC=early.
 */
static ptrdiff_t next_store(const struct worker *w, uint32_t end, bool unread_only)
{
    const struct bulk *list = w->bulks.data;
    ptrdiff_t next = -1;
    for (size_t i = 0; i < w->bulks.count; i++) {
        const struct bulk *b = &list[i];
        if (b->kind != STORE || b->thread != w->thread_index || b->group >= end) continue;
        if (unread_only && b->awaited) continue;
        if (next < 0 || b->group <= list[next].group) next = (ptrdiff_t)i;
    }
    return next;
}

void simt_bulk_wait(size_t prior, int reads_only, const void *return_address)
{
    struct worker *w = simt_tls_worker;
    if (w == NULL || w->current->bulk_group <= prior) return;
    const uint32_t end = w->current->bulk_group - (uint32_t)prior;
    simt_mark(w, TRACE_BULK_WAIT, end, return_address);
    for (ptrdiff_t i; (i = next_store(w, end, reads_only != 0)) >= 0;) {
        struct bulk *b = (struct bulk *)w->bulks.data + i;
        enum place place;
        const uintptr_t offset = offset_of(w, b->what.shared, &place);
        if (w->checking) simt_shadow_read_awaited(w, place, offset, b->what.bytes, b->begun);
        read_source(b);
        b->awaited = true;
        if (reads_only) continue;
        complete_copy(w, b);
        forget(w, (size_t)i);
    }
}

/* ---- blocks ------------------------------------------------------------------------------------------- */

void simt_bulk_begin(struct worker *w)
{
    while (w->bulks.count > 0) forget(w, w->bulks.count - 1);
}

static struct actor actor_of(const struct bulk *b, int access)
{
    return (struct actor){b->issuer->block, simt_pack_pc(b->what.pc), (uint16_t)b->thread, (uint8_t)access,
                          NULL};
}

static void found_left(struct worker *w, const struct bulk *b)
{
    const bool stores = b->kind == STORE;
    enum place place;
    const uintptr_t where = offset_of(w, stores ? b->what.shared : target_of(b), &place);
    struct finding f = simt_finding_about(stores ? RECORD_BULK_GROUP : RECORD_MISSING_WAIT,
                                          stores ? RECORD_ADVICE_STORE_LEFT : RECORD_ADVICE_COPY_LEFT, place,
                                          where, b->what.bytes, actor_of(b, stores ? SIMT_READ : SIMT_WRITE));
    simt_found(w, &f);
}

/* What another block has sent arrives in shared memory that no longer exists. */
static void found_late(struct worker *w, const struct bulk *b)
{
    enum place place;
    const uintptr_t where = offset_of(w, target_of(b), &place);
    struct finding f = simt_finding_about(RECORD_CLUSTER_EXIT, RECORD_ADVICE_SENT_LATE, place, where,
                                          b->what.bytes, actor_of(b, SIMT_WRITE));
    simt_finding_owner(&f, w);
    simt_found(w, &f);
}

void simt_bulk_end(struct worker *w)
{
    for (size_t i = 0; i < w->bulks.count; i++) {
        struct bulk *b = (struct bulk *)w->bulks.data + i;
        if (w->abandoned || b->kind == ARRIVAL) continue;
        if (b->issuer != w && w->checking)
            found_late(w, b);
        else if (simt_settings.all && w->checking && !b->awaited)
            found_left(w, b);
        if (b->kind == STORE) complete_copy(w, b);
    }
    while (w->bulks.count > 0) forget(w, w->bulks.count - 1);
}
