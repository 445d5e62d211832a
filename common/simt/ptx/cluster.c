/**
 * @file cluster.c
 * @brief Clusters of thread blocks: their barrier, and addresses of the shared memory of other blocks.
 *
 * An address of `.shared::cluster` has the rank of the block in its upper bits (machine/window.c); a generic one is a pointer.
 */
#include "program.h"

#include <string.h>

static void demand_device(const struct op *op)
{
    if (simt_self() == NULL)
        simt_stop(&op->site, RECORD_UNSUPPORTED, RECORD_SAYS_HOST_CODE, SIMT_SAYS(.name = {op->site.what}));
}

static void gathered(void *const operand[32], void *const result[32], unsigned mask, void *context)
{
    (void)operand, (void)result, (void)mask, (void)context;
}

/* .aligned: all lanes of the warp execute it together. */
static void meet_if_aligned(const struct op *op)
{
    enum { ALIGNED = 1 };
    const struct simt_identity *self = simt_self();
    const unsigned threads = self->block_dim.x * self->block_dim.y * self->block_dim.z;
    const unsigned left = threads - 32 * self->warp;
    if (op->modifier[ALIGNED] != 0)
        simt_warp_gather(&op->site, left >= 32 ? 0xffffffffu : (1u << left) - 1, gathered, NULL, NULL, NULL);
}

static void arrive(struct run *run, const struct op *op)
{
    enum { RELAXED = 2 };
    (void)run;
    demand_device(op);
    meet_if_aligned(op);
    simt_cluster_arrive(&op->site, op->modifier[0] != RELAXED);
}
static void wait(struct run *run, const struct op *op)
{
    (void)run;
    demand_device(op);
    meet_if_aligned(op);
    simt_cluster_wait(&op->site);
}

/* The address of the same variable in the block with the given rank: an offset in the shared window, or a
 * generic pointer. */
enum { OF_WINDOW = 1 };
static void mapa(struct run *run, const struct op *op)
{
    const uint32_t rank = ptx_u32(run, op, 2);
    const uint64_t address = ptx_word(run, op, 1);
    demand_device(op);
    if (op->modifier[0] == OF_WINDOW)
        ptx_set(run, op, 0,
                simt_offset_of_rank(&op->site, op->type[0] == PTX_U64 ? address : (uint32_t)address, rank));
    else
        ptx_set(run, op, 0,
                (uint64_t)(uintptr_t)simt_pointer_of_rank(&op->site, (void *)(uintptr_t)address, rank));
}
static void rank_of(struct run *run, const struct op *op)
{
    const uint64_t address = ptx_word(run, op, 1);
    demand_device(op);
    const int rank = op->modifier[0] == OF_WINDOW
                         ? simt_rank_of_offset(op->type[0] == PTX_U64 ? address : (uint32_t)address)
                         : simt_rank_of_pointer((const void *)(uintptr_t)address);
    if (rank < 0)
        simt_stop(&op->site, RECORD_OUT_OF_BOUNDS, RECORD_SAYS_NO_SHARED_POINTER,
                  SIMT_SAYS(.name = {op->site.what}));
    ptx_set(run, op, 0, (uint64_t)rank);
}

/* ---- st.async and red.async: [address], values, [mbarrier], both of one block of the cluster ------------- */

enum { MOST_BYTES = 16 };

static void add_or_so(char *to, const char *from, size_t bytes, unsigned reduction)
{
    const unsigned operation = reduction >> 8, type = reduction & 0xff, bits = ptx_type[type].bits;
    uint64_t old = 0, value = 0;
    memcpy(&old, to, bytes);
    memcpy(&value, from, bytes);
    if (ptx_type[type].class == 's') {
        old = (uint64_t)((int64_t)(old << (64 - bits)) >> (64 - bits));
        value = (uint64_t)((int64_t)(value << (64 - bits)) >> (64 - bits));
    }
    const uint64_t now = ptx_atomic_result((enum ptx_atomic)operation, (enum ptx_type)type, old, value, 0);
    memcpy(to, &now, bytes);
}

static void send(struct run *run, const struct op *op, unsigned count, unsigned reduction)
{
    char data[MOST_BYTES];
    const size_t each = ptx_type[op->type[0]].bits / 8;
    demand_device(op);
    for (unsigned i = 0; i < count; i++) {
        const uint64_t word = ptx_word(run, op, 1 + i);
        memcpy(data + i * each, &word, each);
    }
    void *to = simt_cluster_checked(ptx_word(run, op, 0) + (uint64_t)op->offset[0], count * each, SIMT_WRITE,
                                    run->pc);
    void *mbarrier =
        simt_cluster_checked(ptx_word(run, op, 1 + count) + (uint64_t)op->offset[1], 8, SIMT_ATOMIC, run->pc);
    simt_async_store(&op->site, to, data, count * each, mbarrier, reduction != 0 ? add_or_so : NULL,
                     reduction, run->pc);
}
PTX_OP(st_async, send(run, op, op->vector, 0))
static void red_async(struct run *run, const struct op *op)
{
    static const enum ptx_atomic operations[] = {0,
                                                 PTX_ATOMIC_INC,
                                                 PTX_ATOMIC_DEC,
                                                 PTX_ATOMIC_MIN,
                                                 PTX_ATOMIC_MAX,
                                                 PTX_ATOMIC_ADD,
                                                 PTX_ATOMIC_AND,
                                                 PTX_ATOMIC_OR,
                                                 PTX_ATOMIC_XOR};
    send(run, op, 1, (unsigned)operations[op->modifier[0]] << 8 | op->type[0]);
}

static const struct row rows[] = {
    {"barrier cluster arrive [release|relaxed] [aligned]", "", arrive, 90, 78, TOUCHES_MEMORY, NULL},
    {"barrier cluster wait [acquire] [aligned]", "", wait, 90, 78, TOUCHES_MEMORY, NULL},
    {"mapa [shared::cluster] <u32|u64>", "=T T u32", mapa, 90, 78, 0, NULL},
    {"getctarank [shared::cluster] <u32|u64>", "=u32 T", rank_of, 90, 78, 0, NULL},
    {"st async [weak] shared::cluster mbarrier::complete_tx::bytes {v2|v4} <b32|b64|u32|u64|s32|s64|f32|f64>",
     "a T:n a", st_async, 90, 81, TOUCHES_MEMORY, NULL},
    {"red async relaxed cluster shared::cluster mbarrier::complete_tx::bytes "
     "(inc|dec|min|max|add|and|or|xor) "
     "<u32|s32|u64|b32>",
     "a T a", red_async, 90, 81, TOUCHES_MEMORY, NULL},
};
PTX_GROUP(ptx_cluster_rows, rows);
