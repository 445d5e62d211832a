/**
 * @file traffic.c
 * @brief What one instruction of a warp costs: requests and sectors of global memory, wavefronts of shared.
 *
 * The rules are those of the hardware, as docs/counters.md lists them.
 */
#include "traffic.h"
#include "counters.h"
#include "finding.h"
#include "machine.h"
#include "shadow.h"
#include "sizes.h"

#include <stdatomic.h>
#include <stdbool.h>

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

/*
 * Wavefronts that one group of lanes needs: per wavefront a bank gives one 4-byte word, to any number of
 * lanes.
 */
static unsigned bank_wavefronts(const struct request *r, unsigned first, unsigned end)
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

/* Whether each lane i of a group has the same address as lane i ^ distance, or one of the two is idle. */
static bool partners_share(const struct request *r, unsigned first, unsigned end, unsigned distance)
{
    for (unsigned i = first; i < end; i++)
        for (unsigned k = i + 1; k < end && r->lane[k] <= (r->lane[i] | distance); k++)
            if (r->lane[k] == (r->lane[i] ^ distance) && r->address[k] != r->address[i]) return false;
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
 * Up to 4 bytes per lane, the whole warp is one group. 8-byte accesses go by half warps, 16-byte ones by
 * quarter warps; but a load takes two of those groups together where every lane i has the address of lane i
 * ^ 1, or every one that of lane i ^ 2. Measured on an H200 (docs/counters.md). Ideal is one wavefront for
 * each group that has an active lane.
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
        wavefronts += bank_wavefronts(r, first, end);
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

uintptr_t simt_pack_copy(uintptr_t from, uintptr_t to)
{
    return (to / 4) << SOURCE_BITS | (from & (((uintptr_t)1 << SOURCE_BITS) - 1));
}

uintptr_t simt_unpack_copy(uintptr_t packed, uintptr_t *to)
{
    *to = (packed >> SOURCE_BITS) * 4;
    return packed & (((uintptr_t)1 << SOURCE_BITS) - 1);
}

bool simt_is_packed(int access)
{
    return (access & (SIMT_READ | ACCESS_COPY)) == (SIMT_READ | ACCESS_COPY);
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
        if (new) wavefronts += bank_wavefronts(&together, 0, together.count);
    }
    return wavefronts;
}

/*
 * In how many wavefronts the L1 cache looks up the tags: four lines per wavefront, and 8 bytes per lane by
 * half warps.
 */
static unsigned tag_wavefronts_of_copies(const struct request *from)
{
    const unsigned lanes = from->bytes <= 4 ? 32 : 16;
    unsigned wavefronts = 0;
    for (unsigned first = 0, end; first < from->count; first = end) {
        uint64_t line[WARP_LANES];
        end = end_of_group(from, first, lanes);
        for (unsigned i = first; i < end; i++) line[i - first] = from->address[i] / 128;
        wavefronts += (count_different(line, end - first) + 3) / 4;
    }
    return wavefronts;
}

/* Whether some lane copies the other half of lane @p i's sector, from and to the same one; the halves may change places. */
static bool is_whole_sector(const struct request *from, const struct request *to, unsigned i)
{
    const uintptr_t source = from->address[i] ^ 16, target = to->address[i] / 32;
    for (unsigned k = 0; k < from->count; k++)
        if (from->address[k] == source && to->address[k] / 32 == target) return true;
    return false;
}

/*
 * How many sectors of the same line of shared memory receive lane @p i's piece, too, before the one where
 * lane i puts it.
 */
static unsigned earlier_places(const struct request *from, const struct request *to, unsigned i)
{
    uint64_t sector[WARP_LANES];
    unsigned found = 0;
    for (unsigned k = 0; k < from->count; k++)
        if (from->address[k] == from->address[i] && to->address[k] / 128 == to->address[i] / 128 &&
            to->address[k] / 32 < to->address[i] / 32)
            sector[found++] = to->address[k] / 32;
    return count_different(sector, found);
}

/*
 * Wavefronts of copies of 16 bytes, which bypass the L1 cache, one 32-byte sector at a time. One wavefront
 * moves what comes from one line of 128 bytes and goes to one line. Whole sectors of a line go together,
 * wherever each of them goes, but each to one place per wavefront. Half sectors go together if they are
 * rotated by the same number of sectors; lower halves apart from upper ones, and halves that change sides
 * apart from those that stay.
 */
static unsigned wavefronts_of_wide_copies(const struct request *from, const struct request *to)
{
    const uint64_t whole = 1 << 4;
    uint64_t way[WARP_LANES];
    for (unsigned i = 0; i < from->count; i++) {
        const uintptr_t source = from->address[i], target = to->address[i];
        const uint64_t rotation = (target / 32 - source / 32) % 4, sides = (target ^ source) / 16 % 2;
        const uint64_t part = is_whole_sector(from, to, i) ? whole | earlier_places(from, to, i)
                                                           : rotation << 2 | sides << 1 | source / 16 % 2;
        way[i] = source / 128 << 18 | target / 128 << 5 | part;
    }
    return count_different(way, from->count);
}

/*
 * Asynchronous copies, as measured on an H200 (docs/counters.md). Sectors of those of 16 bytes are the 32-byte
 * blocks of shared memory that one line of 128 bytes fills.
 */
static void count_copies(struct counters *c, const struct request *r)
{
    struct request from = *r, to = *r;
    uint64_t block[WARP_LANES] = {0};
    for (unsigned i = 0; i < r->count; i++) {
        from.address[i] = simt_unpack_copy(r->address[i], &to.address[i]);
        block[i] = from.address[i] / 128 << 16 | to.address[i] / 32;
    }
    const bool wide = r->bytes == WIDE_COPY;
    c->load_requests++;
    c->load_sectors += wide ? count_different(block, r->count) : sectors_of_request(&from);
    const unsigned wavefronts = wide ? wavefronts_of_wide_copies(&from, &to) : store_line_by_line(&from, &to);
    c->store_wavefronts += wavefronts;
    if (!wide) c->conflicts += wavefronts - tag_wavefronts_of_copies(&from);
}

void simt_count_request(struct counters *c, const struct request *r, int access, enum place place)
{
    unsigned ideal, wavefronts;
    if (place == PLACE_NONE) {
        c->traced++;
        c->traced_lanes += r->count;
    } else if (access & SIMT_ATOMIC) {
        c->atomics++;
        if (place == PLACE_SHARED || place == PLACE_DYNAMIC) c->conflicts += atomic_conflicts(r);
    } else if (simt_is_packed(access)) {
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
