/**
 * @file between.c
 * @brief Races between blocks, and global memory read before it was written.
 *
 * While it runs, a block only lists the words it touched (cells.c). The lists are taken up here one at a
 * time in block order, so what is found does not depend on which blocks ran at the same time. Of each word
 * the first writing and the first reading block are kept: if either does not race with a later block, then
 * none does.
 */
#include "between.h"
#include "arena.h"
#include "cells.h"
#include "finding.h"
#include "image.h"
#include "machine.h"
#include "sizes.h"
#include "tools.h"
#include "worker.h"

#include <stdbool.h>
#include <string.h>

enum { ATOMIC = 1, RELEASED = 2, VOLATILE = 4, BLOCK_ATOMIC = 8 };

struct side {
    uint32_t block; /* 1 + linear index; 0: nobody yet */
    uint32_t pc;
    uint16_t thread;
    uint8_t flags, mask; /* of the bytes that anybody on this side touched */
};

struct meeting {
    uint32_t launch; /* it is empty if this is an earlier one */
    uint32_t split;  /* index of four meetings of single bytes */
    struct side writer, reader;
};

static struct meeting *words[2]; /* of the arena and of the variables */
static uint8_t *ready[2];        /* a byte for SPACE_CHUNK bytes: 1 if their meetings are populated */
static struct vector bytes;      /* groups of four */
static uint32_t launch;
static const struct simt_overlap *before; /* launches that this one may meet */
static size_t taken;

static const char *const NOTHING_ORDERS =
    "blocks run in any order, and nothing orders these two (a __threadfence, then an atomic in each, could)";

static const char *const BLOCK_SCOPE =
    "an atomic of block scope (atomicAdd_block and its like) is one for its own block only";

static size_t map_bytes(int space)
{
    const size_t all = space == 0 ? ARENA_BYTES : simt_image.data_end - simt_image.data;
    return (all / 4 + 1) * sizeof(struct meeting);
}

static size_t ready_bytes(int space)
{
    return map_bytes(space) / sizeof(struct meeting) * 4 / SPACE_CHUNK + 1;
}

uint32_t simt_between_begin(const struct simt_overlap *overlap)
{
    for (int space = 0; space < 2; space++) {
        if (words[space] == NULL) {
            words[space] = simt_reserve(map_bytes(space), "races between blocks");
            ready[space] = simt_reserve(ready_bytes(space), "races between blocks");
        }
        if (taken <= (8u << 20)) continue;
        simt_forget(words[space], map_bytes(space));
        simt_forget(ready[space], ready_bytes(space));
    }
    if (taken > (8u << 20)) taken = 0;
    bytes.count = 0;
    before = overlap;
    return ++launch;
}

/* ---- findings ----------------------------------------------------------------------------------------- */

/** A touch, and what its block's result says about it. */
struct taking {
    const struct touch *touch;
    uint64_t block;
    bool acquired, released;
    struct vector *findings;
};

static int access_of(const struct touch *touch)
{
    if (touch->kind & (TOUCH_ATOMIC | TOUCH_BLOCK_ATOMIC)) return SIMT_ATOMIC;
    return touch->kind & TOUCH_WRITE ? SIMT_WRITE : SIMT_READ;
}

static void add_finding(const struct taking *now, const char *kind, const char *remark,
                        const struct side *other, int other_access, const struct simt_running *earlier)
{
    const struct touch *touch = now->touch;
    struct finding f = {.kind = kind,
                        .place = touch->kind & TOUCH_DATA ? PLACE_DATA : PLACE_ARENA,
                        .earlier = earlier,
                        .remark = remark,
                        .where = 4 * (uintptr_t)touch->word + (unsigned)__builtin_ctz(touch->mask),
                        .bytes = (uint32_t)__builtin_popcount(touch->mask),
                        .seen = 1};
    if (f.place == PLACE_DATA) f.where += simt_image.data;
    const struct actor me = {now->block, touch->pc, touch->thread, (uint8_t)access_of(touch), NULL};
    f.actor[other != NULL] = me;
    if (other != NULL)
        f.actor[0] = (struct actor){other->block - 1, other->pc, other->thread, (uint8_t)other_access, NULL};
    simt_finding_add(now->findings, &f);
}

static void check_kept(const struct taking *now, unsigned marks)
{
    if (now->touch->kind & TOUCH_READ) return;
    if (marks & SHADOW_INPUT)
        add_finding(
            now, "input-written",
            "an input may be in use by others: it is read, and never written, not even with what it holds",
            NULL, 0, NULL);
    else if (marks & SHADOW_PADDING)
        add_finding(now, "padding-written",
                    "this lies between two rows of the output and belongs to somebody else", NULL, 0, NULL);
}

static void check_written(const struct taking *now)
{
    const struct touch *touch = now->touch;
    uint8_t *shadow = simt_shadow + 4 * (size_t)touch->word;
    bool all = true, any = false;
    unsigned marks = 0;
    for (int b = 0; b < 4; b++) {
        if (!(touch->mask >> b & 1)) continue;
        const bool written = (shadow[b] & SHADOW_WRITTEN) != 0;
        marks |= shadow[b];
        all &= written;
        any |= written;
        if (!(touch->kind & TOUCH_READ)) shadow[b] |= SHADOW_WRITTEN;
    }
    if (marks & (SHADOW_INPUT | SHADOW_PADDING)) check_kept(now, marks);
    const bool enough = touch->kind & TOUCH_WHOLE ? any : all;
    if (!enough && !(touch->kind & (TOUCH_WRITE | TOUCH_PADDED)))
        add_finding(now, "uninitialized-read", "this device memory was never written", NULL, 0, NULL);
}

/* ---- meetings ----------------------------------------------------------------------------------------- */

static bool races_with(const struct taking *now, const struct side *other)
{
    if (other->block == 0 || other->block == (uint32_t)now->block + 1) return false;
    if (other->flags & ATOMIC && now->touch->kind & (TOUCH_ATOMIC | TOUCH_VOLATILE)) return false;
    if (other->flags & VOLATILE && now->touch->kind & TOUCH_ATOMIC) return false;
    return !(now->acquired && other->flags & (ATOMIC | RELEASED));
}

/* An atomic of block scope excuses nothing between blocks. */
static bool is_excused(unsigned flags)
{
    return (flags & ~(unsigned)BLOCK_ATOMIC) != 0;
}

/* The first, but rather one that is not excused by being atomic or released. */
static void note(struct side *side, const struct taking *now)
{
    const unsigned kind = now->touch->kind, flags = (kind & TOUCH_ATOMIC ? ATOMIC : 0) |
                                                    (kind & TOUCH_BLOCK_ATOMIC ? BLOCK_ATOMIC : 0) |
                                                    (kind & TOUCH_VOLATILE ? VOLATILE : 0) |
                                                    (now->released ? RELEASED : 0);
    const uint8_t mask = side->block != 0 ? side->mask | now->touch->mask : now->touch->mask;
    if (side->block == 0 || (is_excused(side->flags) && !is_excused(flags)))
        *side = (struct side){.block = (uint32_t)now->block + 1,
                              .pc = now->touch->pc,
                              .thread = now->touch->thread,
                              .flags = (uint8_t)flags};
    side->mask = mask;
}

static void meet(const struct taking *now, struct meeting *m)
{
    const bool reads = (now->touch->kind & TOUCH_READ) != 0;
    if (races_with(now, &m->writer))
        add_finding(now, "global-race", m->writer.flags & BLOCK_ATOMIC ? BLOCK_SCOPE : NOTHING_ORDERS,
                    &m->writer, m->writer.flags & (ATOMIC | BLOCK_ATOMIC) ? SIMT_ATOMIC : SIMT_WRITE, NULL);
    else if (!reads && races_with(now, &m->reader))
        add_finding(now, "global-race", NOTHING_ORDERS, &m->reader, SIMT_READ, NULL);
    note(reads ? &m->reader : &m->writer, now);
}

/* ---- launches that overlap ---------------------------------------------------------------------------- */

static const char *const NOT_OVER =
    "that kernel may still be running: it is over after cudaGridDependencySynchronize()";
static const char *const NOT_WAITED =
    "that kernel may still be running: the one between did not wait for it (cudaGridDependencySynchronize)";

static bool touches_same(const struct touch *touch, const struct side *side)
{
    const bool atomic = side->flags & ATOMIC && touch->kind & TOUCH_ATOMIC;
    return side->block != 0 && side->mask & touch->mask && !atomic;
}

/* The meeting is one that an earlier launch left behind. May that launch still be running? */
static void meet_earlier(const struct taking *now, const struct meeting *m)
{
    const struct touch *touch = now->touch;
    const bool early = (touch->kind & TOUCH_EARLY) != 0;
    for (unsigned i = 0; i < (early ? before->count : before->left); i++) {
        const struct simt_running *earlier = &before->launch[i];
        const char *remark = i < before->left ? NOT_WAITED : NOT_OVER;
        if (earlier->number != m->launch) continue;
        if (touches_same(touch, &m->writer))
            add_finding(now, "global-race", remark, &m->writer, SIMT_WRITE, earlier);
        else if (!(touch->kind & TOUCH_READ) && touches_same(touch, &m->reader))
            add_finding(now, "global-race", remark, &m->reader, SIMT_READ, earlier);
        return;
    }
}

/* ---- the lists ---------------------------------------------------------------------------------------- */

static struct meeting *meeting_of(int space, size_t word)
{
    enum { TOGETHER = SPACE_CHUNK / 4 };
    const size_t chunk = word / TOGETHER, all = map_bytes(space) / sizeof(struct meeting);
    if (__builtin_expect(!ready[space][chunk], 0)) {
        const size_t first = chunk * TOGETHER, count = all - first < TOGETHER ? all - first : TOGETHER;
        simt_populate(words[space] + first, count * sizeof(struct meeting));
        ready[space][chunk] = 1;
    }
    return &words[space][word];
}

static void take_touch(const struct taking *now)
{
    const struct touch *touch = now->touch;
    struct meeting *m = meeting_of(touch->kind & TOUCH_DATA ? 1 : 0, touch->word);
    if (m->launch != launch) {
        if (before != NULL && before->count > 0) meet_earlier(now, m);
        *m = (struct meeting){.launch = launch};
    }
    if (touch->mask == 15 && m->split == 0) {
        meet(now, m);
        return;
    }
    if (m->split == 0) {
        if (bytes.count == 0) simt_vector_grow(&bytes, 4 * sizeof *m); /* index 0 means none */
        m->split = (uint32_t)bytes.count;
        struct meeting whole = *m, *four = simt_vector_grow(&bytes, 4 * sizeof *m);
        for (int b = 0; b < 4; b++) four[b] = whole;
    }
    struct meeting *four = (struct meeting *)bytes.data + 4 * (size_t)m->split;
    for (int b = 0; b < 4; b++)
        if (touch->mask >> b & 1) meet(now, &four[b]);
    note(touch->kind & TOUCH_READ ? &m->reader : &m->writer, now); /* for launches behind this one */
}

/* Whether a fence of the block covers the touch, with an atomic behind it. */
static bool is_released(const struct result *result, const struct touch *touch)
{
    const struct fence *fence = result->releases.data;
    if (touch->tick < result->released_tick) return true;
    for (size_t i = 0; i < result->releases.count; i++) {
        if (fence[i].thread == touch->thread && touch->phase < fence[i].phase) return true;
        if (fence[i].thread / WARP_LANES == touch->thread / WARP_LANES && touch->tick <= fence[i].known)
            return true;
    }
    return false;
}

void simt_between(struct result *result, uint64_t block, struct vector *findings)
{
    const struct touch *touches = result->touches.data;
    for (size_t i = 0; i < result->touches.count; i++) {
        const struct touch *touch = &touches[i];
        struct taking now = {touch, block, touch->phase >= result->acquired_from, is_released(result, touch),
                             findings};
        if (!(touch->kind & TOUCH_DATA)) check_written(&now);
        take_touch(&now);
    }
    taken += result->touches.count;
}
