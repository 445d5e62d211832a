/**
 * @file inter_block.c
 * @brief Races between blocks, and global memory read before it was written.
 *
 * While it runs, a block only lists what it touched (pages.c, shadow_words.c). The lists are taken up here one at a
 * time in block order, so what is found does not depend on which blocks ran at the same time. Of each word
 * the first writing and the first reading block are kept: if either does not race with a later block, then
 * none does. A word costs eight bytes: blocks and source lines are kept in records, one for each pair.
 */
#include "inter_block.h"
#include "arena.h"
#include "finding.h"
#include "image.h"
#include "launch_order.h"
#include "machine.h"
#include "settings.h"
#include "share.h"
#include "shadow.h"
#include "sizes.h"
#include "tools.h"
#include "worker.h"

#include <stdbool.h>
#include <string.h>

enum {
    ATOMIC = 1,
    RELEASED = 2,
    VOLATILE = 4,
    BLOCK_ATOMIC = 8,
    CONSTANT = 16,
    ACQUIRED = 32,
    OBSERVED = 64,
    ASYNC = 128, /* through the asynchronous proxy */
    FENCED = 256 /* the block has executed a fence.proxy.async before it, if it is ASYNC; else after it */
};

/** The accesses of a block from one source line: who touched a word. */
struct trace {
    uint32_t block; /* linear index */
    uint32_t pc;
    uint32_t launch;
    uint16_t flags;
    uint32_t turn, released; /* in which turn of the block it was, and in which it was released; 0: in none */
    uint32_t lock;           /* that the thread held; 0: none */
    uint32_t cluster_phase;  /* of its cluster's barrier */
    uint64_t cluster;        /* 0: of none */
};

/** A record's index, then the thread of the block in the last 10 bits; 0: nobody yet. */
typedef uint32_t access_id;
enum { THREAD_BITS = 10, MOST_RECORDS = (1 << (32 - THREAD_BITS)) - 2 };

/**
 * Shadow word of global memory: who wrote it first and who read it first. If its bytes differ, the writer
 * is SPLIT and the reader the index of the bytes.
 */
struct shadow_word {
    access_id writer, reader;
};
#define SPLIT UINT32_MAX

struct bytes {
    struct shadow_word byte[4];
};

static struct shadow_word *words[2]; /* of the arena and of the variables */
static uint8_t *ready[2];            /* a byte for SPACE_CHUNK bytes: 1 if their shadow words are populated */
static struct vector splits;         /* struct bytes */
static struct vector records;        /* struct trace; the first is nobody's */
static uint32_t launch_record;       /* the first of this launch: older records are of earlier launches */
static uint32_t
    first_record; /* the first since the last barrier of the grid, which orders all that was before */
static uint32_t fence_record; /* the first since a block that has executed a fence.proxy.async was taken up */
static bool any_excused;      /* some record since then has flags */
static bool any_constant;     /* some record of this launch is of a load for what the kernel does not write */
static uint32_t launch;
static const struct simt_overlap *earlier_launches; /* launches that may still be running */
static const char *kernel;                          /* of this launch */

static size_t map_bytes(int space)
{
    const size_t all = space == 0 ? ARENA_BYTES : simt_image.data_end - simt_image.data;
    return (all / 4 + 1) * sizeof(struct shadow_word);
}

static size_t ready_bytes(int space)
{
    return map_bytes(space) / sizeof(struct shadow_word) * 4 / SPACE_CHUNK + 1;
}

/* Nobody has touched anything. */
static void forget_all(void)
{
    for (int space = 0; space < 2; space++) {
        simt_forget(words[space], map_bytes(space));
        simt_forget(ready[space], ready_bytes(space));
    }
    records.count = splits.count = 0;
    (void)simt_vector_grow(&records, sizeof(struct trace));
    launch_record = first_record = fence_record = 1;
}

void simt_inter_block_next_phase(void)
{
    any_excused = false;
    earlier_launches = NULL;
    launch++;
    first_record = (uint32_t)records.count;
    if (records.count > MOST_RECORDS / 2) forget_all();
}

uint32_t simt_inter_block_begin(const struct simt_launch *running, const struct simt_overlap *overlap)
{
    for (int space = 0; space < 2; space++) {
        if (words[space] != NULL) continue;
        words[space] = simt_reserve(map_bytes(space), "races between blocks");
        ready[space] = simt_reserve(ready_bytes(space), "races between blocks");
    }
    earlier_launches = overlap;
    kernel = running->kernel;
    any_excused = any_constant = false;
    launch_record = first_record = fence_record = (uint32_t)records.count;
    if (records.count == 0 || (records.count > MOST_RECORDS / 2 && earlier_launches == NULL)) forget_all();
    return ++launch;
}

/* ---- findings ----------------------------------------------------------------------------------------- */

/** A touch of a block, what the block's result says about it, and the word of it that is being checked. */
struct replay {
    const struct touch *touch;
    uint64_t block;
    uint16_t flags;
    uint32_t turn, released, lock;
    uint32_t cluster_phase;
    uint64_t cluster;
    struct vector *findings;
    uint32_t record; /**< 0: not yet made */
    size_t word;
    unsigned mask, thread;
};

static const struct trace *record_of(access_id s)
{
    return (struct trace *)records.data + (s >> THREAD_BITS);
}

static bool is_current(access_id s)
{
    return s >> THREAD_BITS >= first_record;
}

static int access_of(const struct touch *touch)
{
    if (touch->kind & (TOUCH_ATOMIC | TOUCH_BLOCK_ATOMIC)) return SIMT_ATOMIC;
    return touch->kind & TOUCH_WRITE ? SIMT_WRITE : SIMT_READ;
}

/* If an access is smaller than a word, the finding names its first byte that races. */
static void add_finding(const struct replay *now, unsigned mask, enum record_kind kind,
                        enum record_advice advice, access_id other, int other_access,
                        const struct simt_running *earlier)
{
    const struct touch *touch = now->touch;
    const unsigned bytes = (unsigned)__builtin_popcount(mask);
    const enum place place = touch->kind & TOUCH_DATA ? PLACE_DATA : PLACE_ARENA;
    const uintptr_t where = 4 * now->word + (unsigned)__builtin_ctz(mask);
    const struct actor me = {now->block, touch->pc, (uint16_t)now->thread, (uint8_t)access_of(touch), NULL};
    struct finding f =
        simt_finding_about(kind, advice, place, where + (place == PLACE_DATA ? simt_image.data : 0),
                           touch->unit < bytes ? touch->unit : bytes, me);
    f.earlier = earlier;
    if (other != 0)
        simt_finding_pair(&f, (struct actor){record_of(other)->block, record_of(other)->pc,
                                             (uint16_t)(other & ((1u << THREAD_BITS) - 1)),
                                             (uint8_t)other_access, NULL});
    simt_finding_add(now->findings, &f);
}

static void check_kept(const struct replay *now, uintptr_t offset)
{
    unsigned marks = 0;
    for (unsigned b = 0; b < 4; b++)
        if (now->mask >> b & 1) marks |= simt_kept[offset + b];
    if (marks & KEPT_INPUT)
        add_finding(now, now->mask, RECORD_INPUT_WRITTEN, RECORD_ADVICE_INPUT, 0, 0, NULL);
    else if (marks & KEPT_PADDING)
        add_finding(now, now->mask, RECORD_PADDING_WRITTEN, RECORD_ADVICE_PADDING, 0, 0, NULL);
}

static void check_written(const struct replay *now)
{
    const struct touch *touch = now->touch;
    const uintptr_t offset = 4 * now->word;
    uint8_t *const written = &simt_written[offset / 8];
    const unsigned there = *written >> offset % 8 & now->mask;
    if (!(touch->kind & TOUCH_READ)) {
        if (simt_any_kept) check_kept(now, offset);
        if (simt_share_outputs > 0) simt_share_written(offset);
        *written = (uint8_t)(*written | now->mask << offset % 8);
        if (simt_launch_order_pending()) simt_launch_order_write(now->word, kernel);
    }
    if (there == now->mask || simt_settings.sample > 1 ||
        touch->kind & (TOUCH_WRITE | TOUCH_STORED | TOUCH_PADDED))
        return;
    if (touch->kind & TOUCH_WHOLE && there != 0) return;
    if (touch->kind & TOUCH_ACQUIRED && now->turn != 0)
        return; /* a later block may have written it, in its turn */
    if (simt_share_forgives(offset)) return;
    const unsigned missing = now->mask & ~there;
    if (!(touch->kind & (TOUCH_ATOMIC | TOUCH_BLOCK_ATOMIC))) simt_launch_order_read(now->word, kernel);
    add_finding(now, touch->unit >= 4 ? now->mask : missing, RECORD_UNINITIALIZED_READ,
                RECORD_ADVICE_DEVICE_UNWRITTEN, 0, 0, NULL);
}

/* ---- races -------------------------------------------------------------------------------------------- */

/* Whether one of the two is an atomic or a volatile, and the other a write behind a read that observed it: what a read of the block observed
 * precedes what follows that read (PTX ISA, "Causality order": observation order, then program order). A flag is reset so, and the
 * counter of a grid's last block. */
static bool is_observed(const struct trace *r, const struct replay *now)
{
    enum { STRONG = ATOMIC | VOLATILE };
    if (now->flags & OBSERVED && r->flags & STRONG)
        return now->turn == 0 ? (now->flags & ACQUIRED) != 0 : r->turn < now->turn;
    return r->flags & OBSERVED && now->flags & STRONG && now->turn < r->turn;
}

/** What is ordered comes as the blocks do, or the block that is first in their order has waited for the other one. */
enum sequence { NOT_ORDERED, IN_ORDER, TURNED };

/* Whether something orders the two: a barrier of their cluster, or that one of the blocks acquired, by an atomic, what the other
 * had released. */
static enum sequence sequence_of(const struct trace *r, const struct replay *now)
{
    if (r->block == (uint32_t)now->block) return IN_ORDER;
    if (now->cluster != 0 && r->cluster == now->cluster && r->cluster_phase != now->cluster_phase)
        return r->cluster_phase < now->cluster_phase ? IN_ORDER : TURNED;
    if (r->lock != 0 && r->lock == now->lock && !(r->flags & now->flags & ACQUIRED))
        return NOT_ORDERED; /* which of the two had it first is chance, and the one behind needs a fence */
    if (now->flags & ACQUIRED && r->flags & RELEASED && (now->turn == 0 || r->released <= now->turn))
        return IN_ORDER;
    if (is_observed(r, now)) return now->flags & OBSERVED ? IN_ORDER : TURNED;
    return r->flags & ACQUIRED && now->flags & RELEASED && r->turn > now->released ? TURNED : NOT_ORDERED;
}

/* Whether one of the two, which are ordered, goes through the asynchronous proxy to what the other one wrote through the generic one, and
 * neither block has executed a fence.proxy.async between them (PTX ISA, "Proxy-preserved base causality order"). What one block does
 * between two barriers of the grid is judged thread by thread, when it does it (shadow_words.c); what other blocks did behind such a
 * barrier is not followed, so there any fence will do. */
static bool lacks_proxy_fence(const struct replay *now, access_id other, bool wrote)
{
    if (other >> THREAD_BITS < launch_record || other == 0) return false;
    const struct trace *r = record_of(other);
    const bool current = is_current(other);
    if (!((r->flags ^ now->flags) & ASYNC) || (r->flags | now->flags) & FENCED) return false;
    if (current ? r->block == (uint32_t)now->block : other >> THREAD_BITS < fence_record) return false;
    const enum sequence sequence = current ? sequence_of(r, now) : IN_ORDER;
    return sequence == IN_ORDER ? (wrote || simt_settings.all) && now->flags & ASYNC
                                : sequence == TURNED && r->flags & ASYNC;
}

/* A load for what the kernel does not write goes past whatever orders it with a write, except a write that the same thread makes
 * later. */
static bool is_misled(const struct trace *r, const struct replay *now, access_id other)
{
    if (now->touch->kind & TOUCH_CONSTANT) return true;
    return r->flags & CONSTANT &&
           (r->block != (uint32_t)now->block || (other & ((1u << THREAD_BITS) - 1)) != now->thread);
}

static bool races_with(const struct replay *now, access_id other)
{
    if (other >> THREAD_BITS < launch_record || other == 0) return false;
    const struct trace *r = record_of(other);
    if (is_misled(r, now, other)) return true;
    if (!is_current(other)) return false;
    if (r->flags & ATOMIC && now->touch->kind & (TOUCH_ATOMIC | TOUCH_VOLATILE)) return false;
    if (r->flags & VOLATILE && now->touch->kind & TOUCH_ATOMIC) return false;
    return sequence_of(r, now) == NOT_ORDERED;
}

/*
 * Whether the touch is an atomic, volatile or released, so that it may not race. An atomic of block scope
 * may race with every other block.
 */
static bool is_excused(unsigned flags)
{
    return (flags & (ATOMIC | RELEASED | VOLATILE)) != 0;
}

static access_id me(struct replay *now)
{
    if (now->record == 0) {
        any_excused |= is_excused(now->flags);
        any_constant |= (now->flags & CONSTANT) != 0;
        now->record = (uint32_t)records.count;
        *(struct trace *)simt_vector_grow(&records, sizeof(struct trace)) =
            (struct trace){.block = (uint32_t)now->block,
                           .pc = now->touch->pc,
                           .launch = launch,
                           .flags = now->flags,
                           .turn = now->turn,
                           .released = now->released,
                           .lock = now->lock,
                           .cluster_phase = now->cluster_phase,
                           .cluster = now->cluster};
    }
    return now->record << THREAD_BITS | now->thread;
}

/* Whether an access with flags @p b races with all that one with flags @p a races with, and with more. */
static bool is_stricter(unsigned b, unsigned a)
{
    enum { EXCUSES = ATOMIC | RELEASED | VOLATILE | ACQUIRED | OBSERVED | FENCED };
    if ((b ^ a) & CONSTANT) return (b & CONSTANT) != 0;
    return (b & EXCUSES) != (a & EXCUSES) && (b & EXCUSES & ~a) == 0;
}

/* Keeps the first access; one that may race with more replaces it. */
static void note(access_id *s, struct replay *now)
{
    if (*s == 0 || !is_current(*s) || is_stricter(now->flags, record_of(*s)->flags)) *s = me(now);
}

static void check_word(struct replay *now, struct shadow_word *m, unsigned mask)
{
    const bool reads = (now->touch->kind & TOUCH_READ) != 0;
    if (races_with(now, m->writer)) {
        const unsigned flags = record_of(m->writer)->flags;
        add_finding(now, mask, RECORD_GLOBAL_RACE,
                    now->flags & CONSTANT                    ? RECORD_ADVICE_READ_ONLY
                    : flags & BLOCK_ATOMIC                   ? RECORD_ADVICE_BLOCK_SCOPE
                    : reads || (flags | now->flags) & ATOMIC ? RECORD_ADVICE_BLOCKS_UNORDERED
                                                             : RECORD_ADVICE_BLOCKS_WRITE,
                    m->writer, flags & (ATOMIC | BLOCK_ATOMIC) ? SIMT_ATOMIC : SIMT_WRITE, NULL);
    } else if (lacks_proxy_fence(now, m->writer, true)) {
        add_finding(now, mask, RECORD_MISSING_PROXY_FENCE, RECORD_ADVICE_PROXY_GLOBAL, m->writer, SIMT_WRITE,
                    NULL);
    } else if (!reads && lacks_proxy_fence(now, m->reader, false)) {
        add_finding(now, mask, RECORD_MISSING_PROXY_FENCE, RECORD_ADVICE_PROXY_GLOBAL, m->reader, SIMT_READ,
                    NULL);
    } else if (!reads && races_with(now, m->reader)) {
        add_finding(now, mask, RECORD_GLOBAL_RACE,
                    record_of(m->reader)->flags & CONSTANT ? RECORD_ADVICE_READ_ONLY
                                                           : RECORD_ADVICE_BLOCKS_UNORDERED,
                    m->reader, SIMT_READ, NULL);
    }
    note(reads ? &m->reader : &m->writer, now);
}

/* ---- launches that overlap ---------------------------------------------------------------------------- */

/* A finding if a launch of the caller's may still be running, which may be using any of the caller's memory. */
static bool check_callers_launch(const struct replay *now, unsigned mask)
{
    const struct touch *touch = now->touch;
    const unsigned open = touch->kind & TOUCH_EARLY ? earlier_launches->count : earlier_launches->left;
    if (open == 0 || earlier_launches->launch[0].number != 0 || touch->kind & TOUCH_DATA) return false;
    add_finding(now, mask, RECORD_GLOBAL_RACE, RECORD_ADVICE_GRID_DEPENDENCY_CALLER, 0, 0, NULL);
    return true;
}

/* A finding if the word was touched by an earlier launch that may still be running. */
static bool check_earlier_launch(const struct replay *now, unsigned mask, access_id other, bool wrote)
{
    const struct touch *touch = now->touch;
    const bool early = (touch->kind & TOUCH_EARLY) != 0;
    if (other == 0 || is_current(other) || (!wrote && touch->kind & TOUCH_READ)) return false;
    const struct trace *r = record_of(other);
    if (wrote && r->flags & ATOMIC && touch->kind & TOUCH_ATOMIC) return false;
    for (unsigned i = 0; i < (early ? earlier_launches->count : earlier_launches->left); i++) {
        if (earlier_launches->launch[i].number != r->launch) continue;
        add_finding(now, mask, RECORD_GLOBAL_RACE,
                    earlier_launches->launch[i].elsewhere  ? RECORD_ADVICE_STREAMS_SHARE
                    : i < earlier_launches->left           ? RECORD_ADVICE_GRID_DEPENDENCY_BETWEEN
                    : wrote && !(touch->kind & TOUCH_READ) ? RECORD_ADVICE_GRID_WRITES
                                                           : RECORD_ADVICE_GRID_DEPENDENCY,
                    other, wrote ? SIMT_WRITE : SIMT_READ, &earlier_launches->launch[i]);
        return true;
    }
    return false;
}

/* ---- other streams ------------------------------------------------------------------------------------ */

uint32_t simt_launch_number(void)
{
    return launch;
}

/* Whether it is an access of a launch that @p is_open says may still be running. */
static bool is_of_open(access_id s, int (*is_open)(uint32_t launch), struct simt_touch *touch, int access)
{
    if (s == 0) return false;
    const struct trace *r = record_of(s);
    if (!is_open(r->launch)) return false;
    touch->launch = r->launch;
    touch->pc = r->pc;
    touch->access = access;
    return true;
}

int simt_touched_by_open(const void *pointer, size_t bytes, int writes, int (*is_open)(uint32_t launch),
                         struct simt_touch *touch)
{
    const uintptr_t first = (uintptr_t)pointer - ARENA_BASE;
    if (words[0] == NULL || !simt_is_device_pointer(pointer) || !simt_settings.check) return 0;
    for (uintptr_t at = first / 4 * 4; at < first + bytes; at += 4) {
        if (!ready[0][at / SPACE_CHUNK]) {
            at = (at / SPACE_CHUNK + 1) * SPACE_CHUNK - 4;
            continue;
        }
        const struct shadow_word *m = &words[0][at / 4];
        if (m->writer == SPLIT)
            m = &((const struct bytes *)splits.data + m->reader)->byte[first > at ? first - at : 0];
        touch->offset = at > first ? at - first : 0;
        if (is_of_open(m->writer, is_open, touch, SIMT_WRITE)) return 1;
        if (writes && is_of_open(m->reader, is_open, touch, SIMT_READ)) return 1;
    }
    return 0;
}

/* ---- replaying what blocks touched -------------------------------------------------------------------- */

static struct shadow_word *shadow_of(int space, size_t word)
{
    enum { TOGETHER = SPACE_CHUNK / 4 };
    const size_t chunk = word / TOGETHER, all = map_bytes(space) / sizeof(struct shadow_word);
    if (__builtin_expect(!ready[space][chunk], 0)) {
        const size_t first = chunk * TOGETHER, count = all - first < TOGETHER ? all - first : TOGETHER;
        simt_populate(words[space] + first, count * sizeof(struct shadow_word));
        ready[space][chunk] = 1;
    }
    return &words[space][word];
}

static struct bytes *bytes_of_word(const struct shadow_word *m)
{
    return (struct bytes *)splits.data + m->reader;
}

/* From now on the bytes of the word are kept apart. */
static void split(struct shadow_word *m)
{
    const uint32_t index = (uint32_t)splits.count;
    struct bytes *bytes = simt_vector_grow(&splits, sizeof *bytes);
    for (int b = 0; b < 4; b++) bytes->byte[b] = *m;
    *m = (struct shadow_word){SPLIT, index};
}

static void access_one(struct replay *now, struct shadow_word *m, unsigned mask)
{
    if (earlier_launches != NULL && earlier_launches->count > 0 && !check_callers_launch(now, mask) &&
        !check_earlier_launch(now, mask, m->writer, true))
        (void)check_earlier_launch(now, mask, m->reader, false);
    check_word(now, m, mask);
}

static void replay_word(struct replay *now)
{
    struct shadow_word *m = shadow_of(now->touch->kind & TOUCH_DATA ? 1 : 0, now->word);
    if (now->mask == 15 && m->writer != SPLIT) {
        access_one(now, m, 15);
        return;
    }
    if (m->writer != SPLIT) split(m);
    for (unsigned b = 0; b < 4; b++)
        if (now->mask >> b & 1) access_one(now, &bytes_of_word(m)->byte[b], now->mask);
}

/* The bits of these bytes of one eighth of the map. */
static unsigned bits_of(uintptr_t at, uintptr_t end)
{
    const unsigned from = at % 8, count = end - (at - from) >= 8 ? 8 : (unsigned)(end - (at - from));
    return (0xffu << from & 0xff) & ((1u << count) - 1);
}

static bool all_written(uintptr_t at, uintptr_t end)
{
    for (; at < end; at = (at & ~(uintptr_t)7) + 8) {
        const unsigned bits = bits_of(at, end);
        if ((simt_written[at / 8] & bits) != bits) return false;
    }
    return true;
}

static void set_written(uintptr_t at, uintptr_t end)
{
    for (; at < end; at = (at & ~(uintptr_t)7) + 8)
        simt_written[at / 8] = (uint8_t)(simt_written[at / 8] | bits_of(at, end));
}

/*
 * Whole words that no other block of this launch has used in a way that matters: not written, if they are
 * read here; not touched at all, if they are written. Their shadow words are updated without further
 * checks. Returns how many words of the run were handled so, from its beginning.
 */
static unsigned replay_plain_words(struct replay *now, unsigned count)
{
    const struct touch *touch = now->touch;
    const bool reads = (touch->kind & TOUCH_READ) != 0;
    const uintptr_t start = 4 * (uintptr_t)touch->word;
    const access_id mine = me(now) & ~((1u << THREAD_BITS) - 1),
                    current = (access_id)((any_constant || now->flags & ASYNC ? launch_record : first_record)
                                          << THREAD_BITS);
    const unsigned units = touch->unit >= 4 ? touch->unit / 4u : 1,
                   parts = touch->unit >= 4 ? 1 : 4u / touch->unit;
    unsigned taken = 0, thread = touch->thread, in_thread = 0;
    if (reads ? !all_written(start, start + 4 * count) : simt_any_kept || simt_launch_order_pending())
        return 0;
    const unsigned words_each = touch->each == 0 ? count : touch->each * units / parts;
    if (touch->each != 0 && touch->each * units % parts != 0)
        return 0; /* a word that several threads touched */
    struct shadow_word *m = shadow_of(0, touch->word);
    for (; taken < count; taken++, m++) {
        if (m->writer >= current || (!reads && m->reader >= current)) break;
        if (!reads)
            m->writer = mine | thread;
        else if (m->reader < current || now->flags & CONSTANT)
            m->reader = mine | thread;
        if (++in_thread == words_each) thread++, in_thread = 0;
    }
    if (!reads) set_written(start, start + 4 * taken);
    return taken;
}

/* Word by word, as they lie. */
static void replay_touch(struct replay *now)
{
    const struct touch *touch = now->touch;
    const unsigned end = touch->first + (unsigned)touch->count * touch->unit;
    unsigned at = touch->first;
    if (records.count >= MOST_RECORDS) { /* a race with an access that is dropped here is missed */
        forget_all();
        now->record = 0;
    }
    const unsigned kind =
        touch->kind & ~(unsigned)(TOUCH_EARLY | TOUCH_ACQUIRED | TOUCH_CONSTANT | TOUCH_ASYNC);
    if ((kind == TOUCH_READ || kind == TOUCH_WRITE) && !is_excused(now->flags) && !any_excused && at == 0 &&
        end >= 8 && (earlier_launches == NULL || earlier_launches->count == 0))
        at = 4 * replay_plain_words(now, end / 4);
    for (; at < end; at = (at & ~3u) + 4) {
        const unsigned first = at % 4, behind = end - (at & ~3u);
        now->word = touch->word + at / 4;
        now->mask = 15u << first & 15 & (behind < 4 ? (1u << behind) - 1 : 15);
        now->thread =
            touch->thread + (touch->each != 0 ? (at - touch->first) / touch->unit / touch->each : 0);
        if (!(touch->kind & TOUCH_DATA))
            check_written(now);
        else if (simt_variables_kept && !(touch->kind & TOUCH_READ))
            add_finding(now, now->mask, RECORD_VARIABLE_WRITTEN, RECORD_ADVICE_VARIABLE, 0, 0, NULL);
        replay_word(now);
    }
}

static bool covers(const struct result *result, const struct fence *fence, const struct touch *touch)
{
    const uint32_t *clock = result->fence_clocks.data;
    if (touch->tick < fence->barrier || (fence->thread == touch->thread && touch->phase < fence->phase))
        return true;
    if (fence->thread / WARP_LANES == touch->thread / WARP_LANES && touch->tick <= fence->known) return true;
    return fence->clock != 0 && touch->tick <= clock[fence->clock - 1 + touch->thread];
}

/* Whether a fence of the block, followed by an atomic, comes after the touch, and in which turn of the block the first was. */
static bool is_released(const struct result *result, const struct touch *touch, uint32_t *turn)
{
    const struct fence *fence = result->releases.data;
    for (size_t i = 0; i < result->releases.count; i++) {
        if (!covers(result, &fence[i], touch)) continue;
        *turn = fence[i].turn;
        return true;
    }
    return false;
}

static bool is_fenced(const struct result *result, const struct touch *touch)
{
    if (result->proxy_fence.last == 0) return false;
    return touch->kind & TOUCH_ASYNC ? result->proxy_fence.first < touch->tick
                                     : result->proxy_fence.last >= touch->tick;
}

static uint16_t flags_of(const struct result *result, const struct touch *touch, bool released)
{
    return (
        uint16_t)((touch->kind & TOUCH_ATOMIC ? ATOMIC : 0) | (touch->kind & TOUCH_VOLATILE ? VOLATILE : 0) |
                  (touch->kind & TOUCH_BLOCK_ATOMIC ? BLOCK_ATOMIC : 0) |
                  (touch->kind & TOUCH_CONSTANT ? CONSTANT : 0) |
                  (touch->kind & TOUCH_ACQUIRED ? ACQUIRED : 0) |
                  (touch->kind & TOUCH_OBSERVED ? OBSERVED : 0) | (touch->kind & TOUCH_ASYNC ? ASYNC : 0) |
                  (is_fenced(result, touch) ? FENCED : 0) | (released ? RELEASED : 0));
}

/* Records that the block has made already, by line: touches of a few lines alternate. */
struct made {
    uint32_t pc, record, cluster_phase, turn, released, lock;
    uint16_t flags;
};

/* The turn in which the block was. */
static uint32_t turn_of(const struct result *result, const struct touch *touch)
{
    const struct turn *turn = result->turns.data;
    uint32_t number = 0;
    for (size_t i = 0; i < result->turns.count && turn[i].phase <= touch->phase; i++) number = turn[i].number;
    return number;
}

/* The lock that the thread held. */
static uint32_t lock_of(const struct result *result, const struct touch *touch)
{
    const struct lock *lock = result->locks.data;
    for (size_t i = result->locks.count; i-- > 0;)
        if (lock[i].thread == touch->thread && lock[i].tick <= touch->tick) return lock[i].id;
    return 0;
}

/* How many phases of the cluster's barrier were over before the touch. */
static uint32_t cluster_phase_of(const struct result *result, const struct touch *touch)
{
    const uint32_t *phase = result->cluster_phases.data;
    uint32_t cluster_phase = 0;
    while (cluster_phase < result->cluster_phases.count && phase[cluster_phase] <= touch->phase)
        cluster_phase++;
    return cluster_phase;
}

void simt_inter_block_check(struct result *result, uint32_t cluster_phase, struct vector *findings)
{
    const uint64_t block = result->block;
    enum { KEPT = 16 };
    const struct touch *touches = result->touches.data;
    struct made made[KEPT] = {{0}};
    const uint32_t before_block = (uint32_t)records.count;
    for (size_t i = 0; i < result->touches.count; i++) {
        const struct touch *touch = &touches[i];
        if (result->cluster != 0 && cluster_phase_of(result, touch) != cluster_phase) continue;
        struct replay now = {.touch = touch,
                             .block = block,
                             .turn = turn_of(result, touch),
                             .lock = lock_of(result, touch),
                             .cluster_phase = cluster_phase,
                             .cluster = result->cluster,
                             .findings = findings};
        now.flags = flags_of(result, touch, is_released(result, touch, &now.released));
        struct made *slot = &made[(touch->pc ^ touch->pc >> 4) % KEPT];
        const bool known = slot->pc == touch->pc && slot->flags == now.flags && slot->turn == now.turn &&
                           slot->released == now.released && slot->lock == now.lock &&
                           slot->cluster_phase == now.cluster_phase && slot->record >= before_block;
        if (known && records.count > slot->record) now.record = slot->record;
        replay_touch(&now);
        *slot = (struct made){touch->pc,    now.record, now.cluster_phase, now.turn,
                              now.released, now.lock,   now.flags};
    }
    if (result->proxy_fence.last != 0) fence_record = (uint32_t)records.count;
}
