/**
 * @file warp.c
 * @brief Shuffles, votes, matches and reductions: what happens when all lanes of a mask have arrived.
 *
 * Each lane brings a struct operand; the last one to arrive computes the results of all. Lanes may come to the same operation at
 * several places.
 */
#include <stdint.h>

#include "runtime.h"

/* The same numbers as in include/simt/warp.h, which is C++. */
enum shuffle_kind { SHUFFLE_INDEX, SHUFFLE_UP, SHUFFLE_DOWN, SHUFFLE_XOR };
enum vote_kind { VOTE_BALLOT, VOTE_ALL, VOTE_ANY };
enum match_kind { MATCH_ANY = 1, MATCH_ALL };
enum reduction {
    REDUCE_ADD,
    REDUCE_MIN_SIGNED,
    REDUCE_MIN_UNSIGNED,
    REDUCE_MAX_SIGNED,
    REDUCE_MAX_UNSIGNED,
    REDUCE_AND,
    REDUCE_OR,
    REDUCE_XOR
};

unsigned long long simt_shuffle(const struct simt_site *site, enum shuffle_kind kind, unsigned int mask,
                                unsigned long long value, unsigned int lane, int width, unsigned int bytes);
unsigned int simt_vote(const struct simt_site *site, enum vote_kind kind, unsigned int mask, int predicate);
unsigned int simt_match_any(const struct simt_site *site, unsigned int mask, unsigned long long value);
unsigned int simt_match_all(const struct simt_site *site, unsigned int mask, unsigned long long value,
                            int *same);
unsigned int simt_reduce(const struct simt_site *site, enum reduction kind, unsigned int mask,
                         unsigned int value);

struct operand {
    uint64_t value;
    unsigned source;
    unsigned bytes;                /**< of a shuffle's value */
    const struct simt_site *place; /**< of a shuffle */
};

/* ---- shuffles ------------------------------------------------------------------------------------------ */

/**
 * The lane to read from. The warp falls into segments of @p width lanes (a power of two); where up, down and
 * xor would leave the segment a lane reads itself, except that xor may read an earlier segment.
 */
static unsigned source_lane(enum shuffle_kind kind, unsigned self, unsigned lane, unsigned width)
{
    unsigned first = self & ~(width - 1), last = first + width - 1;
    switch (kind) {
    case SHUFFLE_INDEX:
        return first + (lane & (width - 1));
    case SHUFFLE_UP:
        return self - first >= lane ? self - lane : self;
    case SHUFFLE_DOWN:
        return last - self >= lane ? self + lane : self;
    case SHUFFLE_XOR:
        return (self ^ lane) <= last ? self ^ lane : self;
    }
    return self;
}

/** A source lane that does not take part gives 0, as observed on hardware; CUDA leaves the value
 *  undefined. */
static void complete_shuffle(void *const operand[32], void *const result[32], unsigned mask, void *context)
{
    (void)context;
    for (unsigned lane = 0; lane < WARP_THREADS; lane++) {
        if (!(mask >> lane & 1) || operand[lane] == NULL) continue;
        const struct operand *own = operand[lane], *source = operand[own->source];
        *(uint64_t *)result[lane] =
            source != NULL ? source->value : simt_undefined_lane(own->place, lane, own->source, own->bytes);
    }
}

unsigned long long simt_shuffle(const struct simt_site *site, enum shuffle_kind kind, unsigned int mask,
                                unsigned long long value, unsigned int lane, int width, unsigned int bytes)
{
    if (width < 1 || width > WARP_THREADS || (width & (width - 1)) != 0)
        simt_stop(site, RECORD_UNSUPPORTED, RECORD_SAYS_SHUFFLE_WIDTH,
                  SIMT_SAYS(.name = {site->what}, .number = {width}));
    unsigned self = simt_self()->lane;
    struct operand operand = {value, source_lane(kind, self, lane & (WARP_THREADS - 1), (unsigned)width),
                              bytes, site};
    uint64_t result = value;
    simt_warp_collective(site, mask, 1u + kind, complete_shuffle, NULL, &operand, &result);
    return result;
}

/* ---- votes and matches --------------------------------------------------------------------------------- */

/** Lanes that brought a nonzero value. */
static void complete_ballot(void *const operand[32], void *const result[32], unsigned mask, void *context)
{
    (void)context;
    uint64_t set = 0, present = 0;
    for (unsigned lane = 0; lane < WARP_THREADS; lane++) {
        if (!(mask >> lane & 1) || operand[lane] == NULL) continue;
        present |= 1u << lane;
        if (((const struct operand *)operand[lane])->value != 0) set |= 1u << lane;
    }
    for (unsigned lane = 0; lane < WARP_THREADS; lane++)
        if (present >> lane & 1) *(uint64_t *)result[lane] = present << 32 | set;
}

unsigned int simt_vote(const struct simt_site *site, enum vote_kind kind, unsigned int mask, int predicate)
{
    struct operand operand = {.value = predicate != 0};
    uint64_t result = 0;
    simt_warp_collective(site, mask, 1u + kind, complete_ballot, NULL, &operand, &result);
    unsigned set = (unsigned)result, present = (unsigned)(result >> 32);
    switch (kind) {
    case VOTE_BALLOT:
        return set;
    case VOTE_ALL:
        return set == present;
    case VOTE_ANY:
        return set != 0;
    }
    return 0;
}

/** For every lane, the lanes that brought the same value. */
static void complete_match(void *const operand[32], void *const result[32], unsigned mask, void *context)
{
    (void)context;
    for (unsigned lane = 0; lane < WARP_THREADS; lane++) {
        if (!(mask >> lane & 1) || operand[lane] == NULL) continue;
        uint64_t same = 0, present = 0;
        for (unsigned other = 0; other < WARP_THREADS; other++) {
            if (!(mask >> other & 1) || operand[other] == NULL) continue;
            present |= 1u << other;
            if (((const struct operand *)operand[other])->value ==
                ((const struct operand *)operand[lane])->value)
                same |= 1u << other;
        }
        *(uint64_t *)result[lane] = present << 32 | same;
    }
}

unsigned int simt_match_any(const struct simt_site *site, unsigned int mask, unsigned long long value)
{
    struct operand operand = {.value = value};
    uint64_t result = 0;
    simt_warp_collective(site, mask, MATCH_ANY, complete_match, NULL, &operand, &result);
    return (unsigned)result;
}

unsigned int simt_match_all(const struct simt_site *site, unsigned int mask, unsigned long long value,
                            int *same)
{
    struct operand operand = {.value = value};
    uint64_t result = 0;
    simt_warp_collective(site, mask, MATCH_ALL, complete_match, NULL, &operand, &result);
    const int is_same = (unsigned)result == (unsigned)(result >> 32);
    if (!simt_is_own_local(same, sizeof *same))
        simt_access(same, sizeof *same, SIMT_WRITE, __builtin_return_address(0));
    *same = is_same;
    return is_same ? (unsigned)result : 0;
}

/* ---- reductions ---------------------------------------------------------------------------------------- */

static unsigned combine(enum reduction kind, unsigned a, unsigned b)
{
    switch (kind) {
    case REDUCE_ADD:
        return a + b;
    case REDUCE_MIN_SIGNED:
        return (int)a < (int)b ? a : b;
    case REDUCE_MIN_UNSIGNED:
        return a < b ? a : b;
    case REDUCE_MAX_SIGNED:
        return (int)a > (int)b ? a : b;
    case REDUCE_MAX_UNSIGNED:
        return a > b ? a : b;
    case REDUCE_AND:
        return a & b;
    case REDUCE_OR:
        return a | b;
    case REDUCE_XOR:
        return a ^ b;
    }
    return a;
}

static void complete_reduction(void *const operand[32], void *const result[32], unsigned mask, void *context)
{
    const enum reduction *kind = context;
    unsigned sum = 0, any = 0;
    for (unsigned lane = 0; lane < WARP_THREADS; lane++) {
        if (!(mask >> lane & 1) || operand[lane] == NULL) continue;
        unsigned value = (unsigned)((const struct operand *)operand[lane])->value;
        sum = any ? combine(*kind, sum, value) : value;
        any = 1;
    }
    for (unsigned lane = 0; lane < WARP_THREADS; lane++)
        if ((mask >> lane & 1) && operand[lane] != NULL) *(uint64_t *)result[lane] = sum;
}

unsigned int simt_reduce(const struct simt_site *site, enum reduction kind, unsigned int mask,
                         unsigned int value)
{
    struct operand operand = {.value = value};
    uint64_t result = 0;
    simt_warp_collective(site, mask, 1u + kind, complete_reduction, &kind, &operand, &result);
    return (unsigned)result;
}
