/**
 * @file divergence.c
 * @brief Counters of diverged lanes: which executions of an instruction belong together.
 *
 * The logs have accesses and no branches. So the n-th execution by one lane is counted with the n-th of the
 * others, except where lanes execute an instruction different numbers of times and their addresses show which
 * executions some of them skipped.
 */
#include "divergence.h"
#include "counters.h"
#include "image.h"
#include "sizes.h"
#include "tools.h"
#include "traffic.h"
#include "worker.h"

#include <stdbool.h>
#include <string.h>

enum {
    SITES = WARP_LANES * LOG_ENTRIES,
    SITE_SLOTS = 2 * SITES,
    ALL_COMPLETE = UINT16_MAX,
    FARTHEST_AHEAD = 64, /* executions that a lane may be passed over at a time: bounds the search */
};

/** An instruction that some lanes executed, and how often each. */
struct site {
    uint64_t key;
    uint16_t count[WARP_LANES], start[WARP_LANES]; /* start: of its entries in sorted[lane] */
    unsigned limit;                                /* executions that are complete, or ALL_COMPLETE */
};

struct sorter {
    uint32_t slot[SITE_SLOTS]; /* 1 + index of the site with a key that hashes here */
    struct site site[SITES];
    unsigned sites;
    uint16_t site_of[WARP_LANES][LOG_ENTRIES], sorted[WARP_LANES][LOG_ENTRIES];
};

static unsigned slot_of(const struct sorter *s, uint64_t key)
{
    unsigned slot = (unsigned)(simt_mix(key) % SITE_SLOTS);
    while (s->slot[slot] != 0 && s->site[s->slot[slot] - 1].key != key) slot = (slot + 1) % SITE_SLOTS;
    return slot;
}

static const struct site *find_site(const struct sorter *s, uint64_t key)
{
    const unsigned slot = slot_of(s, key);
    return s->slot[slot] == 0 ? NULL : &s->site[s->slot[slot] - 1];
}

static unsigned site_index(struct sorter *s, uint64_t key)
{
    const unsigned slot = slot_of(s, key);
    if (s->slot[slot] == 0) {
        s->site[s->sites] = (struct site){.key = key};
        s->slot[slot] = ++s->sites;
    }
    return s->slot[slot] - 1;
}

static void sort_by_site(struct sorter *s, const struct lane_log *log, unsigned from)
{
    for (unsigned lane = 0; lane < WARP_LANES; lane++)
        for (unsigned i = from; i < log[lane].count; i++) {
            const unsigned site = site_index(s, simt_log_key(&log[lane].entry[i]));
            s->site_of[lane][i] = (uint16_t)site;
            s->site[site].count[lane]++;
        }
    for (unsigned lane = 0; lane < WARP_LANES; lane++) {
        uint16_t start = 0;
        for (unsigned site = 0; site < s->sites; site++) {
            s->site[site].start[lane] = start;
            start = (uint16_t)(start + s->site[site].count[lane]);
            s->site[site].count[lane] = 0; /* counted again as they are put in place */
        }
        for (unsigned i = from; i < log[lane].count; i++) {
            struct site *site = &s->site[s->site_of[lane][i]];
            s->sorted[lane][site->start[lane] + site->count[lane]++] = (uint16_t)i;
        }
    }
}

/* A lane that only paused may yet execute the site again: what it has not reached is not complete. */
static void set_limits(struct sorter *s, unsigned paused)
{
    for (unsigned site = 0; site < s->sites; site++) {
        s->site[site].limit = ALL_COMPLETE;
        for (unsigned lane = 0; lane < WARP_LANES; lane++)
            if (paused >> lane & 1 && s->site[site].count[lane] < s->site[site].limit)
                s->site[site].limit = s->site[site].count[lane];
    }
}

/** How many executions of a site by one lane have been counted beside those of the lane with most. */
struct follower {
    unsigned next;      /* of its executions */
    unsigned wait;      /* execution of the other lane before which it does not go on */
    uintptr_t distance; /* its address minus the other lane's, when they were last counted together */
};

static uintptr_t address_of(const struct worker *w, const struct sorter *s, const struct site *site,
                            unsigned lane, unsigned n)
{
    return w->log[lane].entry[s->sorted[lane][site->start[lane] + n]].address;
}

static unsigned lane_with_most(const struct site *site)
{
    unsigned most = 0;
    for (unsigned lane = 1; lane < WARP_LANES; lane++)
        if (site->count[lane] > site->count[most]) most = lane;
    return most;
}

static bool walks_evenly(const struct worker *w, const struct sorter *s, const struct site *site,
                         unsigned lane)
{
    for (unsigned n = 2; n < site->count[lane]; n++)
        if (address_of(w, s, site, lane, n) - address_of(w, s, site, lane, n - 1) !=
            address_of(w, s, site, lane, 1) - address_of(w, s, site, lane, 0))
            return false;
    return true;
}

/*
 * The lanes whose n-th execution need not belong with the n-th of the lane @p most: they have fewer, and
 * none is to come. Two lanes whose addresses both advance by a constant step are taken for one loop with
 * different steps: there the n-th does belong with the n-th.
 */
static uint32_t followers_of(const struct worker *w, const struct sorter *s, const struct site *site,
                             unsigned most)
{
    uint32_t shorter = 0;
    for (unsigned lane = 0; site->limit == ALL_COMPLETE && lane < WARP_LANES; lane++)
        if (site->count[lane] > 0 && site->count[lane] < site->count[most]) shorter |= 1u << lane;
    if (shorter == 0 || !walks_evenly(w, s, site, most)) return shorter;
    for (unsigned lane = 0; lane < WARP_LANES; lane++)
        if (shorter >> lane & 1 && walks_evenly(w, s, site, lane)) shorter &= ~(1u << lane);
    return shorter;
}

/*
 * Whether the next execution by a lane belongs with execution n of the lane @p most. It does, unless the
 * distance of their addresses has changed, a later execution of @p most is at the old distance, and the
 * lane has few enough executions left to be counted with that one. This is what an inner loop looks like
 * that some lanes left early: on hardware they wait at its end. Where addresses follow no such rule, the
 * n-th goes with the n-th of those that are left.
 */
static bool goes_along(const struct worker *w, const struct sorter *s, const struct site *site, unsigned most,
                       unsigned n, unsigned lane, struct follower *f)
{
    if (f->next == site->count[lane] || n < f->wait) return false;
    const unsigned spare = site->count[most] - n - (site->count[lane] - f->next);
    const unsigned end = n + (spare < FARTHEST_AHEAD ? spare : FARTHEST_AHEAD);
    const uintptr_t own = address_of(w, s, site, lane, f->next);
    for (unsigned later = n; f->next > 0 && later <= end; later++) {
        if (own - address_of(w, s, site, most, later) != f->distance) continue;
        f->wait = later;
        break;
    }
    if (n < f->wait) return false;
    f->distance = own - address_of(w, s, site, most, n);
    f->next++;
    return true;
}

/* Executions of a site, put together: the n-th of each, unless lanes are complete and some have fewer. */
static void flush_site(struct worker *w, const struct sorter *s, const struct site *site)
{
    struct follower follower[WARP_LANES] = {{0}};
    const unsigned most = lane_with_most(site);
    const uint32_t followers = followers_of(w, s, site, most);
    const unsigned end = site->limit < site->count[most] ? site->limit : site->count[most];
    for (unsigned n = 0; n < end; n++) {
        struct request r = {.count = 0};
        unsigned index = 0;
        const struct log_entry *entry = &w->log[most].entry[s->sorted[most][site->start[most] + n]];
        for (unsigned lane = 0; lane < WARP_LANES; lane++) {
            unsigned own = n;
            if (followers >> lane & 1) {
                own = follower[lane].next;
                if (!goes_along(w, s, site, most, n, lane, &follower[lane])) continue;
            }
            if (own >= site->count[lane]) continue;
            if (s->sorted[lane][site->start[lane] + own] > index)
                index = s->sorted[lane][site->start[lane] + own];
            r.lane[r.count] = (uint8_t)lane;
            r.address[r.count++] = address_of(w, s, site, lane, own);
        }
        r.bytes = entry->bytes;
        simt_count_together(w, &r, entry, index);
    }
}

/* Moves the entries of incomplete executions to the front of their logs. */
static void keep_incomplete(struct worker *w, const struct sorter *s, unsigned from)
{
    for (unsigned lane = 0; lane < WARP_LANES; lane++) {
        struct lane_log *log = &w->log[lane];
        unsigned kept = 0;
        for (unsigned i = from; i < log->count; i++) {
            const struct site *site = &s->site[s->site_of[lane][i]];
            unsigned complete = site->limit < site->count[lane] ? site->limit : site->count[lane];
            if (complete == 0 || s->sorted[lane][site->start[lane] + complete - 1] < i)
                log->entry[kept++] = log->entry[i];
        }
        log->count = kept;
    }
}

static bool is_crowded(const struct worker *w)
{
    for (unsigned lane = 0; lane < WARP_LANES; lane++)
        if (w->log[lane].count > LOG_ENTRIES / 2) return true;
    return false;
}

static struct sorter *sorted_from(const struct worker *w, unsigned from)
{
    static _Thread_local struct sorter *simt_sorter;
    if (simt_sorter == NULL) simt_sorter = simt_reserve(sizeof *simt_sorter, "counters");
    simt_sorter->sites = 0;
    memset(simt_sorter->slot, 0, sizeof simt_sorter->slot);
    sort_by_site(simt_sorter, w->log, from);
    return simt_sorter;
}

unsigned simt_converged_until(const struct worker *w, unsigned reached)
{
    const struct sorter *s = sorted_from(w, reached);
    unsigned first = 0, until = 0;
    while (w->log[first].count == 0) first++;
    for (; until < reached; until++) {
        const struct site *site = find_site(s, simt_log_key(&w->log[first].entry[until]));
        for (unsigned lane = 0; site != NULL && lane < WARP_LANES; lane++)
            if (w->log[lane].count > 0 && site->count[lane] != site->count[first]) return until;
    }
    return until;
}

void simt_count_divergent(struct worker *w, unsigned from, unsigned paused)
{
    struct sorter *s = sorted_from(w, from);
    set_limits(s, paused);
    for (unsigned site = 0; site < s->sites; site++) flush_site(w, s, &s->site[site]);
    keep_incomplete(w, s, from);
    if (paused != 0 && is_crowded(w))
        simt_count_divergent(w, 0, 0); /* lanes too far apart to be put together */
}
