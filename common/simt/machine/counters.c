/**
 * @file counters.c
 * @brief What a profiler counts: requests and sectors of global memory, wavefronts of shared memory.
 *
 * Lanes run one after another, so what a warp does at once must be put together afterwards. Each lane logs
 * its accesses; when no lane of the warp can go on, the n-th execution of an instruction by one lane belongs
 * with the n-th of the others. Counting of executions starts anew at each such point, as lanes meet there.
 */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

enum { SITES = WARP_LANES * LOG_ENTRIES, SITE_SLOTS = 2 * SITES };

/** The lanes of one warp-wide instruction. */
struct request {
    unsigned count;
    uintptr_t address[WARP_LANES];
    uint8_t lane[WARP_LANES];
    size_t bytes;
};

/* ---- the rules of the hardware ------------------------------------------------------------------------ */

/* Distinct 32-byte sectors. */
static unsigned sectors_of_request(const struct request *r)
{
    uintptr_t sector[2 * WARP_LANES], highest = 0;
    unsigned count = 0;
    for (unsigned i = 0; i < r->count; i++) {
        const uintptr_t last = (r->address[i] + r->bytes - 1) / 32;
        for (uintptr_t s = r->address[i] / 32; s <= last; s++) {
            bool new = true;
            if (s <= highest) /* addresses mostly ascend: then nothing need be searched */
                for (unsigned k = count; new &&k-- > 0;) new = sector[k] != s;
            if (new) sector[count++] = s;
            if (s > highest) highest = s;
        }
    }
    return count;
}

/* Passes one group of lanes needs: a bank gives one 4-byte word a pass, to any number of lanes. */
static unsigned passes(const struct request *r, unsigned first, unsigned end)
{
    uint32_t words[32][WARP_LANES];
    uint8_t used[32] = {0};
    unsigned most = 0;
    for (unsigned i = first; i < end; i++) {
        const uintptr_t last = (r->address[i] + r->bytes - 1) / 4;
        for (uintptr_t word = r->address[i] / 4; word <= last; word++) {
            const unsigned bank = word % 32;
            bool new = true;
            for (unsigned k = used[bank]; new &&k-- > 0;) new = words[bank][k] != (uint32_t)word;
            if (!new) continue;
            words[bank][used[bank]++] = (uint32_t)word;
            if (used[bank] > most) most = used[bank];
        }
    }
    return most;
}

/* Whether each lane i of a group and lane i ^ apart have one address between them, or one of the two is idle. */
static bool partners_share(const struct request *r, unsigned first, unsigned end, unsigned apart)
{
    for (unsigned i = first; i < end; i++)
        for (unsigned k = i + 1; k < end && r->lane[k] <= (r->lane[i] | apart); k++)
            if (r->lane[k] == (r->lane[i] ^ apart) && r->address[k] != r->address[i]) return false;
    return true;
}

/* End of the lanes that are in the same group of @p lanes as lane @p first. */
static unsigned end_of_group(const struct request *r, unsigned first, unsigned lanes)
{
    unsigned end = first;
    while (end < r->count && r->lane[end] / lanes == r->lane[first] / lanes) end++;
    return end;
}

/*
 * Up to 4 bytes a lane, the warp goes at once. 8-byte accesses go by half warps, 16-byte ones by quarter warps;
 * but a load takes two of those together where all lanes share with lane i ^ 1, or all with lane i ^ 2. Measured
 * on an H200 (docs/counters.md). Ideal is one wavefront for each group that has a lane.
 */
static unsigned wavefronts_of_request(const struct request *r, bool load, unsigned *ideal)
{
    const unsigned lanes = r->bytes <= 4 ? 32 : r->bytes <= 8 ? 16 : 8;
    unsigned wavefronts = 0;
    *ideal = 0;
    for (unsigned first = 0, end; first < r->count; first = end) {
        end = end_of_group(r, first, lanes);
        if (lanes < 32 && load) {
            const unsigned both = end_of_group(r, first, 2 * lanes);
            if (partners_share(r, first, both, 1) || partners_share(r, first, both, 2)) end = both;
        }
        wavefronts += passes(r, first, end);
        ++*ideal;
    }
    return wavefronts;
}

/* Atomics on shared memory go one lane a bank at a time, even to one address. */
static unsigned atomic_conflicts(const struct request *r)
{
    uint8_t lanes[32] = {0}, most = 0;
    for (unsigned i = 0; i < r->count; i++) {
        const unsigned bank = r->address[i] / 4 % 32;
        if (++lanes[bank] > most) most = lanes[bank];
    }
    return most - 1u;
}

/* A copy in one entry of the log: where it comes from, and above that, which word of shared memory it goes to. */
enum { SOURCE_BITS = 47, WIDE_COPY = 16 };

static uintptr_t pack_copy(uintptr_t from, uintptr_t to)
{
    return (to / 4) << SOURCE_BITS | (from & (((uintptr_t)1 << SOURCE_BITS) - 1));
}

static unsigned count_different(const uint64_t *value, unsigned count)
{
    unsigned different = 0;
    for (unsigned i = 0; i < count; i++) {
        bool new = true;
        for (unsigned k = i; new &&k-- > 0;) new = value[k] != value[i];
        different += new;
    }
    return different;
}

/* Copies of 4 and 8 bytes go through the L1 cache: each line of 128 bytes that they come from is stored by itself. */
static unsigned store_line_by_line(const struct request *from, const struct request *to)
{
    unsigned wavefronts = 0;
    for (unsigned i = 0; i < from->count; i++) {
        const uintptr_t line = from->address[i] / 128;
        struct request together = {.count = 0, .bytes = to->bytes};
        bool new = true;
        for (unsigned k = i; new &&k-- > 0;) new = from->address[k] / 128 != line;
        for (unsigned k = i; new &&k < from->count; k++)
            if (from->address[k] / 128 == line) together.address[together.count++] = to->address[k];
        if (new) wavefronts += passes(&together, 0, together.count);
    }
    return wavefronts;
}

/* In how many turns the L1 cache finds them: four lines a turn, and 8 bytes a lane by half warps. */
static unsigned fetches_of_copies(const struct request *from)
{
    const unsigned lanes = from->bytes <= 4 ? 32 : 16;
    unsigned fetches = 0;
    for (unsigned first = 0, end; first < from->count; first = end) {
        uint64_t line[WARP_LANES];
        end = end_of_group(from, first, lanes);
        for (unsigned i = first; i < end; i++) line[i - first] = from->address[i] / 128;
        fetches += (count_different(line, end - first) + 3) / 4;
    }
    return fetches;
}

/*
 * Asynchronous copies, as measured on an H200 (docs/counters.md). Those of 16 bytes go past the L1 cache, a 32-byte sector
 * at a time: the sectors counted are the 32-byte blocks of shared memory that one line of 128 bytes fills; a wavefront moves
 * what comes from one such line, goes to one, and is turned by as many sectors; where the halves of sectors change sides,
 * lower halves and upper ones go apart.
 */
static void count_copies(struct counters *c, const struct request *r)
{
    struct request from = *r, to = *r;
    uint64_t block[WARP_LANES], way[WARP_LANES];
    for (unsigned i = 0; i < r->count; i++) {
        const uintptr_t source = r->address[i] & (((uintptr_t)1 << SOURCE_BITS) - 1);
        const uintptr_t target = (r->address[i] >> SOURCE_BITS) * 4, line = source / 128;
        const uint64_t turn = (target / 32 - source / 32) % 4, sides = (target ^ source) / 16 % 2;
        from.address[i] = source;
        to.address[i] = target;
        block[i] = line << 16 | target / 32;
        way[i] = line << 16 | target / 128 << 3 | turn << 1 | sides;
    }
    const bool wide = r->bytes == WIDE_COPY;
    c->load_requests++;
    c->load_sectors += wide ? count_different(block, r->count) : sectors_of_request(&from);
    const unsigned wavefronts = wide ? count_different(way, r->count) : store_line_by_line(&from, &to);
    c->store_wavefronts += wavefronts;
    if (!wide) c->conflicts += wavefronts - fetches_of_copies(&from);
}

static void count_request(struct counters *c, const struct request *r, int access, enum place place)
{
    unsigned ideal, wavefronts;
    if (place == PLACE_NONE) {
        c->traced++;
        c->traced_lanes += r->count;
    } else if (access & SIMT_ATOMIC) {
        c->atomics++;
        if (place == PLACE_SHARED || place == PLACE_DYNAMIC) c->conflicts += atomic_conflicts(r);
    } else if ((access & (SIMT_READ | ACCESS_COPY)) == (SIMT_READ | ACCESS_COPY)) {
        count_copies(c, r);
    } else if (place == PLACE_ARENA || place == PLACE_DATA) {
        const unsigned sectors = sectors_of_request(r);
        if (access & SIMT_WRITE)
            c->store_requests++, c->store_sectors += sectors;
        else
            c->load_requests++, c->load_sectors += sectors;
    } else {
        wavefronts = wavefronts_of_request(r, !(access & SIMT_WRITE), &ideal);
        *(access & SIMT_WRITE ? &c->store_wavefronts : &c->load_wavefronts) += wavefronts;
        if (!(access & ACCESS_COPY)) c->conflicts += wavefronts - ideal;
    }
}

/* ---- logging ------------------------------------------------------------------------------------------ */

void simt_count(struct worker *w, uintptr_t address, size_t bytes, int access, enum place place,
                const void *pc)
{
    const unsigned lane = w->thread_index % WARP_LANES;
    if (place == PLACE_DATA && simt_image_constant(address)) return; /* has a cache of its own */
    /* A struct that the compiler copies as a whole is aligned to less than its size: 4 bytes, as a rule. */
    const size_t widest = access & ACCESS_WHOLE ? 4 : 16;
    do {
        const size_t part = bytes < widest ? bytes : widest;
        if (w->log[lane].count == LOG_ENTRIES) {
            w->warp->paused |= 1u << lane; /* until the others have come as far, and the log is flushed */
            simt_suspend(w);
        }
        struct lane_log *log = &w->log[lane];
        log->entry[log->count++] = (struct log_entry){.address = address,
                                                      .pc = simt_pack_pc(pc),
                                                      .bytes = (uint16_t)part,
                                                      .access = (uint8_t)access,
                                                      .place = (uint8_t)place};
        address += part;
        bytes -= part;
    } while (bytes > 0);
}

void simt_count_copy(struct worker *w, uintptr_t to, uintptr_t from, size_t bytes, size_t read, const void *pc)
{
    const enum place target = simt_place_of(w, to);
    if (read > 0)
        simt_count(w, pack_copy(from, to - w->space[target].base), bytes, SIMT_READ | ACCESS_COPY,
                   simt_place_of(w, from), pc);
    else
        simt_count(w, to, bytes, SIMT_WRITE | ACCESS_COPY, target, pc);
}

/* What makes two entries the same instruction: everything but the address. */
static uint64_t key_of(const struct log_entry *entry)
{
    uint64_t key;
    memcpy(&key, (const char *)entry + sizeof entry->address, sizeof key);
    return key;
}

/* Counts the entries at one index of all logs, while all lanes did the same. Returns the index reached. */
static unsigned flush_in_step(struct worker *w)
{
    const struct lane_log *log = w->log;
    struct request r = {.count = 0};
    unsigned shortest = LOG_ENTRIES, i;
    for (unsigned lane = 0; lane < WARP_LANES; lane++) {
        if (log[lane].count == 0) continue;
        r.lane[r.count++] = (uint8_t)lane;
        if (log[lane].count < shortest) shortest = log[lane].count;
    }
    if (r.count == 0) return 0;
    for (i = 0; i < shortest; i++) {
        const struct log_entry *first = &log[r.lane[0]].entry[i];
        const uint64_t key = key_of(first);
        uint64_t differs = 0;
        for (unsigned k = 0; k < r.count; k++) {
            const struct log_entry *entry = &log[r.lane[k]].entry[i];
            r.address[k] = entry->address;
            differs |= key_of(entry) ^ key;
        }
        if (differs) break;
        r.bytes = first->bytes;
        count_request(&w->result->counters, &r, first->access, first->place);
    }
    return i;
}

/* ---- lanes that went different ways ------------------------------------------------------------------- */

/** An instruction some lanes executed, and how often each. */
struct site {
    uint64_t key;
    uint16_t count[WARP_LANES], start[WARP_LANES]; /* start: of its entries in sorted[lane] */
    unsigned limit;                                /* executions that are complete */
};

struct sorter {
    uint32_t slot[SITE_SLOTS]; /* 1 + index of the site with a key that hashes here */
    struct site site[SITES];
    unsigned sites;
    uint16_t site_of[WARP_LANES][LOG_ENTRIES], sorted[WARP_LANES][LOG_ENTRIES];
};

static unsigned site_index(struct sorter *s, uint64_t key)
{
    unsigned slot = (unsigned)(simt_mix(key) % SITE_SLOTS);
    while (s->slot[slot] != 0 && s->site[s->slot[slot] - 1].key != key) slot = (slot + 1) % SITE_SLOTS;
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
            const unsigned site = site_index(s, key_of(&log[lane].entry[i]));
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
        s->site[site].limit = UINT16_MAX;
        for (unsigned lane = 0; lane < WARP_LANES; lane++)
            if (paused >> lane & 1 && s->site[site].count[lane] < s->site[site].limit)
                s->site[site].limit = s->site[site].count[lane];
    }
}

static void flush_site(struct worker *w, const struct sorter *s, const struct site *site)
{
    for (unsigned n = 0; n < site->limit; n++) {
        struct request r = {.count = 0};
        const struct log_entry *entry = NULL;
        for (unsigned lane = 0; lane < WARP_LANES; lane++) {
            if (site->count[lane] <= n) continue;
            entry = &w->log[lane].entry[s->sorted[lane][site->start[lane] + n]];
            r.lane[r.count] = (uint8_t)lane;
            r.address[r.count++] = entry->address;
        }
        if (entry == NULL) return;
        r.bytes = entry->bytes;
        count_request(&w->result->counters, &r, entry->access, entry->place);
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

static void flush_apart(struct worker *w, unsigned from, unsigned paused)
{
    static _Thread_local struct sorter *simt_sorter;
    if (simt_sorter == NULL) simt_sorter = simt_reserve(sizeof *simt_sorter, "counters");
    struct sorter *s = simt_sorter;
    s->sites = 0;
    memset(s->slot, 0, sizeof s->slot);
    sort_by_site(s, w->log, from);
    set_limits(s, paused);
    for (unsigned site = 0; site < s->sites; site++) flush_site(w, s, &s->site[site]);
    keep_incomplete(w, s, from);
    if (paused != 0 && is_crowded(w)) flush_apart(w, 0, 0); /* lanes too far apart to be put together */
}

void simt_counters_flush(struct worker *w, unsigned paused)
{
    const unsigned reached = flush_in_step(w);
    unsigned longest = 0;
    for (unsigned lane = 0; lane < WARP_LANES; lane++)
        if (w->log[lane].count > longest) longest = w->log[lane].count;
    if (reached < longest) {
        flush_apart(w, reached, paused);
        return;
    }
    for (unsigned lane = 0; lane < WARP_LANES; lane++) w->log[lane].count = 0;
}

/* ---- sums and the file -------------------------------------------------------------------------------- */

void simt_counters_add(struct counters *sum, const struct counters *part)
{
    uint64_t *to = (uint64_t *)sum;
    const uint64_t *from = (const uint64_t *)part;
    for (size_t i = 0; i < sizeof *sum / sizeof *to; i++) to[i] += from[i];
}

static FILE *open_counters(bool traced)
{
    FILE *file = strcmp(simt_settings.counters, "-") == 0 ? stderr : fopen(simt_settings.counters, "we");
    if (file == NULL) simt_die("cannot write the counters to %s.", simt_settings.counters);
    fprintf(file,
            "launch,kernel,grid,block,global_load_requests,global_load_sectors,global_store_requests,"
            "global_store_sectors,shared_load_wavefronts,shared_store_wavefronts,shared_bank_conflicts,"
            "atomics,barriers%s\n",
            traced ? ",active_lanes_per_instruction" : "");
    return file;
}

void simt_counters_write(const struct simt_launch *launch, const struct counters *sum)
{
    static FILE *file;
    static unsigned long number;
    static bool traced; /* built for it; decides on the header */
    if (file == NULL) {
        traced = sum->traced > 0;
        file = open_counters(traced);
    }
    const uint64_t *value = (const uint64_t *)sum;
    const char *quote = strpbrk(launch->kernel, ",\"") != NULL ? "\"" : "";
    fprintf(file, "%lu,%s%s%s,%ux%ux%u,%ux%ux%u", number++, quote, launch->kernel, quote, launch->grid.x,
            launch->grid.y, launch->grid.z, launch->block.x, launch->block.y, launch->block.z);
    for (int i = 0; i < 9; i++) fprintf(file, ",%llu", (unsigned long long)value[i]);
    if (traced) fprintf(file, ",%.2f", sum->traced ? (double)sum->traced_lanes / (double)sum->traced : 0.0);
    fputc('\n', file);
    fflush(file);
}
