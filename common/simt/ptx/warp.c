/**
 * @file warp.c
 * @brief Instructions that lanes and threads execute together: shuffles, votes, matches, reductions,
 *        barriers; and those that end or delay a thread.
 *
 * Lanes meet at the instruction: each op has a site of its own, so that two shuffles in one statement are two meetings.
 */
#include "program.h"

/* runtime/warp.c; C++ has them from include/simt/warp.h, where the enumerations are. */
unsigned int simt_vote(const struct simt_site *site, int kind, unsigned int mask, int predicate);
unsigned int simt_match_any(const struct simt_site *site, unsigned int mask, unsigned long long value);
unsigned int simt_match_all(const struct simt_site *site, unsigned int mask, unsigned long long value,
                            int *same);
unsigned int simt_reduce(const struct simt_site *site, int kind, unsigned int mask, unsigned int value);

enum { LANES = 32 };

static void demand_device(const struct op *op)
{
    if (simt_self() == NULL)
        simt_stop(&op->site, RECORD_UNSUPPORTED, RECORD_SAYS_HOST_CODE, SIMT_SAYS(.name = {op->site.what}));
}

/* ---- shuffles: (up|down|bfly|idx) b32 d|p, a, b, c, mask ------------------------------------------------- */

struct exchanged {
    uint64_t value;
    unsigned source;
};

static void exchange(void *const operand[32], void *const result[32], unsigned mask, void *context)
{
    const struct op *op = context;
    for (unsigned lane = 0; lane < LANES; lane++) {
        if (!(mask >> lane & 1) || operand[lane] == NULL) continue;
        const struct exchanged *own = operand[lane], *source = operand[own->source];
        *(uint64_t *)result[lane] =
            source != NULL ? source->value : simt_undefined_lane(&op->site, lane, own->source, 4);
    }
}

/* The lane to read from, or 32 if that is outside of the segment. c holds the clamp in its low bits, and
 * the segment mask above it. */
static unsigned source_of(unsigned mode, unsigned lane, unsigned b, unsigned c)
{
    enum { UP = 1, DOWN, BUTTERFLY };
    const unsigned clamp = c & 31, segment = c >> 8 & 31;
    const unsigned highest = (lane & segment) | (clamp & ~segment), lowest = lane & segment;
    b &= 31;
    if (mode == UP) return (int)(lane - b) >= (int)highest ? lane - b : LANES;
    const unsigned source = mode == DOWN ? lane + b : mode == BUTTERFLY ? lane ^ b : lowest | (b & ~segment);
    return source <= highest ? source : LANES;
}

static void shfl(struct run *run, const struct op *op)
{
    demand_device(op);
    const unsigned lane = simt_self()->lane, mask = ptx_u32(run, op, 5);
    const unsigned source = source_of(op->modifier[0], lane, ptx_u32(run, op, 3), ptx_u32(run, op, 4));
    struct exchanged operand = {ptx_u32(run, op, 2), source < LANES ? source : lane};
    uint64_t result = 0;
    simt_warp_collective(&op->site, mask, 1u + op->modifier[0], exchange, (void *)(uintptr_t)op, &operand,
                         &result);
    ptx_set(run, op, 0, result);
    if (op->slot[1] != NO_SLOT) ptx_set(run, op, 1, source < LANES);
}

/* ---- votes, matches, reductions --------------------------------------------------------------------------- */

enum { BALLOT, ALL, ANY };

static void vote_ballot(struct run *run, const struct op *op)
{
    demand_device(op);
    ptx_set(run, op, 0, simt_vote(&op->site, BALLOT, ptx_u32(run, op, 2), ptx_predicate(run, op, 1)));
}
static void vote(struct run *run, const struct op *op)
{
    enum { VOTE_ALL = 1, VOTE_ANY };
    demand_device(op);
    const unsigned mask = ptx_u32(run, op, 2);
    const bool predicate = ptx_predicate(run, op, 1);
    if (op->modifier[0] == VOTE_ALL || op->modifier[0] == VOTE_ANY) {
        ptx_set(run, op, 0, simt_vote(&op->site, op->modifier[0] == VOTE_ALL ? ALL : ANY, mask, predicate));
        return;
    }
    const unsigned set = simt_vote(&op->site, BALLOT, mask, predicate); /* uni: all of them alike */
    ptx_set(run, op, 0, set == 0 || set == mask);
}
static uint64_t compared(const struct run *run, const struct op *op, unsigned operand)
{
    return op->type[0] == PTX_B64 ? ptx_word(run, op, operand) : ptx_u32(run, op, operand);
}
static void match_any(struct run *run, const struct op *op)
{
    demand_device(op);
    ptx_set(run, op, 0, simt_match_any(&op->site, ptx_u32(run, op, 2), compared(run, op, 1)));
}
static void match_all(struct run *run, const struct op *op)
{
    int same = 0;
    demand_device(op);
    ptx_set(run, op, 0, simt_match_all(&op->site, ptx_u32(run, op, 3), compared(run, op, 2), &same));
    if (op->slot[1] != NO_SLOT) ptx_set(run, op, 1, same != 0);
}
static void redux(struct run *run, const struct op *op)
{
    enum { R_ADD = 1, R_MIN, R_MAX, R_AND, R_OR, R_XOR };
    enum { ADD, MIN_SIGNED, MIN_UNSIGNED, MAX_SIGNED, MAX_UNSIGNED, AND, OR, XOR };
    const bool with_sign = op->type[0] == PTX_S32;
    static const int kinds[] = {[R_ADD] = ADD, [R_AND] = AND, [R_OR] = OR, [R_XOR] = XOR};
    const int kind = op->modifier[0] == R_MIN   ? (with_sign ? MIN_SIGNED : MIN_UNSIGNED)
                     : op->modifier[0] == R_MAX ? (with_sign ? MAX_SIGNED : MAX_UNSIGNED)
                                                : kinds[op->modifier[0]];
    demand_device(op);
    ptx_set(run, op, 0, simt_reduce(&op->site, kind, ptx_u32(run, op, 2), ptx_u32(run, op, 1)));
}

/* Elects the lowest of the lanes in the mask. */
static void elect(struct run *run, const struct op *op)
{
    demand_device(op);
    const unsigned mask = ptx_u32(run, op, 2), leader = (unsigned)__builtin_ctz(mask != 0 ? mask : 1);
    (void)simt_vote(&op->site, BALLOT, mask, 1);
    ptx_set(run, op, 0, leader);
    if (op->slot[1] != NO_SLOT) ptx_set(run, op, 1, simt_self()->lane == leader);
}
static void activemask(struct run *run, const struct op *op)
{
    demand_device(op);
    ptx_set(run, op, 0, simt_active_mask());
}
static void warp_barrier(struct run *run, const struct op *op)
{
    demand_device(op);
    simt_warp_barrier(&op->site, ptx_u32(run, op, 0));
}

/* ---- barriers of the block -------------------------------------------------------------------------------- */

static void sync_at(const struct run *run, const struct op *op, unsigned aligned)
{
    const uint32_t id = ptx_u32(run, op, 0);
    const bool all = op->slot[1] == NO_SLOT;
    demand_device(op);
    if (id != 0 || !all)
        simt_named_barrier(&op->site, id, all ? 0 : ptx_u32(run, op, 1), SIMT_BARRIER_WAIT | aligned,
                           run->pc);
    else if (aligned)
        (void)simt_block_barrier(&op->site, SIMT_VOTE_NONE, 0);
    else
        simt_block_barrier_unaligned(&op->site);
}
static void arrive_at(const struct run *run, const struct op *op, unsigned aligned)
{
    demand_device(op);
    simt_named_barrier(&op->site, ptx_u32(run, op, 0), ptx_u32(run, op, 1), aligned, run->pc);
}
PTX_OP(bar_sync, sync_at(run, op, SIMT_BARRIER_ALIGNED))
PTX_OP(bar_arrive, arrive_at(run, op, SIMT_BARRIER_ALIGNED))

/* The younger names are for threads that may come at different places, unless they say .aligned. */
static unsigned alignment(const struct op *op)
{
    enum { ALIGNED = 1 }; /* which modifier */
    return op->modifier[ALIGNED] != 0 ? SIMT_BARRIER_ALIGNED : 0;
}
PTX_OP(barrier_sync, sync_at(run, op, alignment(op)))
PTX_OP(barrier_arrive, arrive_at(run, op, alignment(op)))
/* Barriers with a vote: barrier 0, for all threads. */
static void bar_red(struct run *run, const struct op *op)
{
    enum { POPC = 1, AND };
    const enum simt_vote vote = op->modifier[0] == POPC  ? SIMT_VOTE_COUNT
                                : op->modifier[0] == AND ? SIMT_VOTE_AND
                                                         : SIMT_VOTE_OR;
    demand_device(op);
    if (ptx_u32(run, op, 1) != 0)
        simt_stop(&op->site, RECORD_UNSUPPORTED, RECORD_SAYS_VOTE_BARRIER,
                  SIMT_SAYS(.name = {op->site.what}, .number = {ptx_u32(run, op, 1)}));
    ptx_set(run, op, 0, (uint32_t)simt_block_barrier(&op->site, vote, ptx_predicate(run, op, 2)));
}

/* ---- delays and ends -------------------------------------------------------------------------------------- */

static void nothing(struct run *run, const struct op *op)
{
    (void)run, (void)op;
}
static void trap(struct run *run, const struct op *op)
{
    (void)run;
    simt_stop(&op->site, RECORD_TRAP, RECORD_SAYS_TRAP, SIMT_SAYS(.name = {op->site.what}, .number = {1}));
}
static void grid_wait(struct run *run, const struct op *op)
{
    (void)run;
    demand_device(op);
    simt_grids_wait();
}
static void grid_launch(struct run *run, const struct op *op)
{
    (void)run;
    demand_device(op);
    simt_grids_trigger();
}

/* ---- the rows --------------------------------------------------------------------------------------------- */

static const struct row rows[] = {
    {"shfl sync (up|down|bfly|idx) b32", "=b32|P b32 u32 u32 u32", shfl, 30, 60, 0, NULL},
    {"vote sync ballot b32", "=b32 P u32", vote_ballot, 30, 60, 0, NULL},
    {"vote sync (all|any|uni) pred", "=P P u32", vote, 30, 60, 0, NULL},
    {"match any sync <b32|b64>", "=u32 T u32", match_any, 70, 60, 0, NULL},
    {"match all sync <b32|b64>", "=u32|P T u32", match_all, 70, 60, 0, NULL},
    {"redux sync (add|min|max) <u32|s32>", "=T T u32", redux, 80, 70, 0, NULL},
    {"redux sync (|||and|or|xor) <b32>", "=T T u32", redux, 80, 70, 0, NULL},
    {"elect sync", "=b32|P u32", elect, 90, 80, 0, NULL},
    {"activemask b32", "=b32", activemask, 30, 62, 0, NULL},

    {"bar sync", "u32 ?u32", bar_sync, 0, 10, TOUCHES_MEMORY, NULL},
    {"bar cta sync", "u32 ?u32", bar_sync, 0, 78, TOUCHES_MEMORY, NULL},
    {"barrier [cta] sync [aligned]", "u32 ?u32", barrier_sync, 30, 60, TOUCHES_MEMORY, NULL},
    {"bar arrive", "u32 u32", bar_arrive, 20, 20, TOUCHES_MEMORY, NULL},
    {"bar cta arrive", "u32 u32", bar_arrive, 20, 78, TOUCHES_MEMORY, NULL},
    {"barrier [cta] arrive [aligned]", "u32 u32", barrier_arrive, 30, 60, TOUCHES_MEMORY, NULL},
    {"bar red (popc) u32", "=u32 u32 P", bar_red, 20, 20, TOUCHES_MEMORY, NULL},
    {"bar red (|and|or) pred", "=P u32 P", bar_red, 20, 20, TOUCHES_MEMORY, NULL},
    {"bar warp sync", "u32", warp_barrier, 30, 60, TOUCHES_MEMORY, NULL},

    {"nanosleep u32", "u32", nothing, 70, 63, 0, NULL},
    {"brkpt", "", nothing, 0, 10, 0, NULL},
    {"pmevent", "I", nothing, 0, 14, 0, NULL},
    {"trap", "", trap, 0, 10, 0, NULL},
    {"griddepcontrol wait", "", grid_wait, 90, 78, TOUCHES_MEMORY, NULL},
    {"griddepcontrol launch_dependents", "", grid_launch, 90, 78, 0, NULL},
};
PTX_GROUP(ptx_warp_rows, rows);
