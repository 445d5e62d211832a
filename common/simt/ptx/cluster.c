/**
 * @file cluster.c
 * @brief Clusters of thread blocks: their barrier, and addresses of shared memory of a block of the cluster.
 *
 * A cluster is one block on this device, which refuses a launch with larger ones. So the only rank is 0, and its addresses are those
 * of the block itself.
 */
#include "../machine/cluster_barrier.h"
#include "program.h"

static void demand_device(const struct op *op)
{
    if (simt_self() == NULL) simt_stop(&op->site, "unsupported", "%s in host code", op->site.what);
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

/* The address of the same variable in the block of a rank. */
static void mapa(struct run *run, const struct op *op)
{
    const uint32_t rank = ptx_u32(run, op, 2);
    demand_device(op);
    if (rank != 0)
        simt_stop(&op->site, "out-of-bounds", "%s: rank %u of a cluster of 1 block", op->site.what, rank);
    ptx_set(run, op, 0, op->type[0] == PTX_U64 ? ptx_word(run, op, 1) : ptx_u32(run, op, 1));
}
static void rank_of(struct run *run, const struct op *op)
{
    demand_device(op);
    ptx_set(run, op, 0, 0);
}

static const struct row rows[] = {
    {"barrier cluster arrive [release|relaxed] [aligned]", "", arrive, 90, 78, TOUCHES_MEMORY, NULL},
    {"barrier cluster wait [acquire] [aligned]", "", wait, 90, 78, TOUCHES_MEMORY, NULL},
    {"mapa [shared::cluster] <u32|u64>", "=T T u32", mapa, 90, 78, 0, NULL},
    {"getctarank [shared::cluster] <u32|u64>", "=u32 T", rank_of, 90, 78, 0, NULL},
};
PTX_GROUP(ptx_cluster_rows, rows);
