/**
 * @file undefined.c
 * @brief Whether results depend on a value that CUDA leaves undefined: what a shuffle brings from a lane that takes no part.
 *
 * Such a value is no mistake while nothing comes of it: a reduction of 16 lanes leaves sums in lanes that nobody asks. Nor can
 * registers be followed, as memory can. So the rest of the block is run three times more, in processes that begin as copies of this
 * one, each with another value: 0, one smaller than anything a kernel is likely to have, and one larger. If device memory is not the
 * same after all of them, the results depend on it.
 *
 *      lanes meet at the shuffle ──┬── this process goes on with 0
 *                                  ├── a copy: 0 ─────────────────── end of the block ── a hash of what it touched ─┐
 *                                  ├── a copy: the lowest value ──── end of the block ── a hash of what it touched ─┼─ equal?
 *                                  └── a copy: the highest value ─── end of the block ── a hash of what it touched ─┘
 *
 * A copy has only the thread that made it: a block that waits for another one stays where it is, until its time is over.
 *
 * A graded run makes no processes, and blocks of a cluster or of a cooperative launch do not end alone. There the value is the lowest or
 * the highest one, which differs from block to block and from launch to launch: results that depend on it are wrong.
 */
#include "undefined.h"
#include "arena.h"
#include "blocks.h"
#include "finding.h"
#include "image.h"
#include "lanes.h"
#include "machine.h"
#include "pages.h"
#include "settings.h"
#include "shadow.h"
#include "tools.h"
#include "worker.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    FIRST_BLOCKS = 4, /* of a launch, and as many at its end: the last block is often a shorter one */
    SITES = 8,        /* of one block */
    MOST = 256,       /* comparisons of a program */
    SECONDS = 3       /* for the rest of one block */
};

enum value { ZERO, LOWEST, HIGHEST, VALUES };

/** What a copy of the process does. */
static struct {
    const struct simt_site *site; /* whose values are not 0; NULL: this process is no copy */
    int answer;
    enum value value;
} copy;

/** The sites that the running block was copied at. */
struct compared {
    unsigned long launch;
    uint64_t block;
    unsigned count;
    const struct simt_site *site[SITES];
};
static _Thread_local struct compared compared;

/* 0x7f7fffff and 0xff7fffff: of floats, of doubles and of integers with a sign one of the largest and of the smallest. The same
 * bytes are a large and a small number as halves. */
static uint64_t number_of(enum value value, unsigned bytes)
{
    const uint64_t high = value == LOWEST ? 0xff : 0x7f;
    const unsigned top = 8 * (bytes - 1);
    if (value == ZERO || bytes == 1) return value == ZERO ? 0 : high;
    return high << top | (uint64_t)0x7f << (top - 8) | (((uint64_t)1 << (top - 8)) - 1);
}

static bool is_due(struct worker *w, const struct simt_site *site)
{
    static atomic_int made;
    if (!w->checking) return false;
    if (w->block >= FIRST_BLOCKS && w->block + FIRST_BLOCKS < simt_now.blocks) return false;
    if (compared.launch != simt_now.number || compared.block != w->block)
        compared = (struct compared){simt_now.number, w->block, 0, {NULL}};
    for (unsigned i = 0; i < compared.count; i++)
        if (compared.site[i] == site) return false;
    if (compared.count == SITES || atomic_fetch_add(&made, 1) >= MOST) return false;
    compared.site[compared.count++] = site;
    return true;
}

/* ---- the copies ---------------------------------------------------------------------------------------- */

static uint64_t add_bytes(uint64_t hash, uintptr_t from, size_t bytes)
{
    const unsigned char *at = (const unsigned char *)from;
    for (size_t i = 0; i < bytes; i++) hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* What the block leaves: the device memory it touched, variables, what it printed, how it ended. */
static uint64_t hash_of_results(struct worker *w)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ (w->abandoned ? (uint64_t)w->result->error : 0);
    const struct pages *p = &w->shadow.pages;
    for (size_t i = 0; i < p->count; i++) {
        const uint32_t number = p->page[i].number;
        if (number >= DATA_PAGES) continue;
        hash = add_bytes((hash ^ number) * UINT64_C(0x100000001b3),
                         ARENA_BASE + (uintptr_t)number * PAGE_BYTES, PAGE_BYTES);
    }
    for (size_t i = 0; i < simt_image.device_count; i++)
        hash = add_bytes(hash, simt_image.device[i].start, simt_image.device[i].bytes);
    return add_bytes(hash, (uintptr_t)w->result->text.data, w->result->text.count);
}

void simt_undefined_end_block(struct worker *w)
{
    if (copy.site == NULL) return;
    const uint64_t hash = hash_of_results(w);
    const bool told = write(copy.answer, &hash, sizeof hash) == (ssize_t)sizeof hash;
    _exit(told ? 0 : 1);
}

/* Begins a copy. In this process: its number, or -1, and the end of the pipe where its answer comes. */
static pid_t begin_copy(struct worker *w, const struct simt_site *site, enum value value, int *answer)
{
    int ends[2];
    if (pipe(ends) != 0) return -1;
    const pid_t child = fork();
    if (child == 0) {
        signal(SIGALRM, SIG_DFL);
        signal(SIGINT, SIG_DFL);
        alarm(SECONDS);
        copy.site = site;
        copy.answer = ends[1];
        copy.value = value;
        w->grid.has_turn = true; /* nobody else runs here */
        return 0;
    }
    close(ends[1]);
    if (child < 0) close(ends[0]);
    *answer = ends[0];
    return child;
}

static bool end_copy(pid_t child, int answer, uint64_t *hash)
{
    if (child < 0) return false;
    const bool told = read(answer, hash, sizeof *hash) == (ssize_t)sizeof *hash;
    close(answer);
    (void)waitpid(child, NULL, 0);
    return told;
}

/* ---- what a shuffle asks ------------------------------------------------------------------------------- */

static void found(struct worker *w, const struct simt_site *site, unsigned lane, unsigned source)
{
    const struct warp *warp = w->warp;
    const bool exists = warp->lanes >> source & 1;
    const unsigned thread = (unsigned)(warp - w->warp_of) * WARP_LANES + lane;
    struct finding f = simt_finding_says(
        RECORD_UNINITIALIZED_READ, RECORD_SAYS_LANE_ABSENT, RECORD_ADVICE_LANE_ABSENT,
        SIMT_SAYS(.name = {site->what}, .number = {source, exists, w->thread[thread].mask, w->threads}),
        simt_actor_at(w, thread, site));
    simt_found(w, &f);
}

uint64_t simt_undefined_lane(const struct simt_site *site, unsigned lane, unsigned source, unsigned bytes)
{
    struct worker *w = simt_tls_worker;
    if (copy.site != NULL) return copy.site == site ? number_of(copy.value, bytes) : 0;
    if (simt_settings_are_sealed() || w->cluster != NULL || w->launch->cooperative)
        return number_of(simt_mix(simt_now.number ^ simt_mix(w->block)) & 1 ? LOWEST : HIGHEST, bytes);
    if (!is_due(w, site)) return 0;
    int answer[VALUES];
    pid_t child[VALUES];
    uint64_t hash[VALUES];
    bool differ = false, told = true;
    for (enum value value = ZERO; value < VALUES; value++) {
        child[value] = begin_copy(w, site, value, &answer[value]);
        if (child[value] == 0) return number_of(value, bytes);
    }
    for (enum value value = ZERO; value < VALUES; value++) {
        told &= end_copy(child[value], answer[value], &hash[value]);
        differ |= told && hash[value] != hash[ZERO];
    }
    if (told && differ) found(w, site, lane, source);
    return 0;
}
