/**
 * @file special.c
 * @brief Special registers: the values of %laneid and the others for the running thread.
 */
#include "parse.h"

#include <string.h>

enum place {
    THREAD, /* in the block, in three components as the next seven */
    BLOCK_DIM,
    BLOCK,
    GRID_DIM,
    CLUSTER,
    CLUSTERS,
    BLOCK_OF_CLUSTER,
    BLOCKS_OF_CLUSTER,
    RANK,
    RANKS,
    IS_CLUSTER,
    LANE,
    WARP,
    WARPS,
    LANE_EQ,
    LANE_LE,
    LANE_LT,
    LANE_GE,
    LANE_GT,
    ZERO,
    ONE,
    CLOCK,
    CLOCK_HIGH,
    DYNAMIC_BYTES
};

#define EXTENT(name, place)                                                                                  \
    {name ".x", PTX_U32, place, 0}, {name ".y", PTX_U32, place, 1},                                          \
    {                                                                                                        \
        name ".z", PTX_U32, place, 2                                                                         \
    }
static const struct {
    const char *name;
    enum ptx_type type;
    enum place place;
    int component;
} special[] = {
    EXTENT("%tid", THREAD),
    EXTENT("%ntid", BLOCK_DIM),
    EXTENT("%ctaid", BLOCK),
    EXTENT("%nctaid", GRID_DIM),
    EXTENT("%clusterid", CLUSTER),
    EXTENT("%nclusterid", CLUSTERS),
    EXTENT("%cluster_ctaid", BLOCK_OF_CLUSTER),
    EXTENT("%cluster_nctaid", BLOCKS_OF_CLUSTER),
    {"%cluster_ctarank", PTX_U32, RANK, 0},
    {"%cluster_nctarank", PTX_U32, RANKS, 0},
    {"%is_explicit_cluster", PTX_PRED, IS_CLUSTER, 0},
    {"%laneid", PTX_U32, LANE, 0},
    {"%warpid", PTX_U32, WARP, 0},
    {"%nwarpid", PTX_U32, WARPS, 0},
    {"%lanemask_eq", PTX_U32, LANE_EQ, 0},
    {"%lanemask_le", PTX_U32, LANE_LE, 0},
    {"%lanemask_lt", PTX_U32, LANE_LT, 0},
    {"%lanemask_ge", PTX_U32, LANE_GE, 0},
    {"%lanemask_gt", PTX_U32, LANE_GT, 0},
    {"%smid", PTX_U32, ZERO, 0},
    {"%nsmid", PTX_U32, ONE, 0},
    {"%gridid", PTX_U64, ZERO, 0},
    {"%clock", PTX_U32, CLOCK, 0},
    {"%clock_hi", PTX_U32, CLOCK_HIGH, 0},
    {"%clock64", PTX_U64, CLOCK, 0},
    {"%globaltimer", PTX_U64, CLOCK, 0},
    {"%globaltimer_lo", PTX_U32, CLOCK, 0},
    {"%globaltimer_hi", PTX_U32, CLOCK_HIGH, 0},
    {"%dynamic_smem_size", PTX_U32, DYNAMIC_BYTES, 0},
    {"%total_smem_size", PTX_U32, DYNAMIC_BYTES, 0},
};
enum { SPECIALS = sizeof special / sizeof special[0] };

enum ptx_type ptx_special_type(int which)
{
    return special[which].type;
}

int ptx_special_named(const char *name, int length)
{
    for (int i = 0; i < SPECIALS; i++)
        if ((int)strlen(special[i].name) == length && strncmp(special[i].name, name, (size_t)length) == 0)
            return i;
    return -1;
}

uint64_t ptx_special_value(int which)
{
    const struct simt_identity *self = simt_self();
    if (self == NULL) return 0; /* the host */
    const enum place place = special[which].place;
    const struct simt_cluster_place p = place >= CLUSTER && place <= IS_CLUSTER
                                            ? simt_cluster_place()
                                            : (struct simt_cluster_place){.size = 1};
    const struct simt_extent extent[] = {self->thread, self->block_dim, self->block, self->grid_dim,
                                         p.cluster,    p.clusters,      p.block,     p.blocks};
    const uint32_t own = 1u << self->lane;
    switch (place) {
    case RANK:
        return p.rank;
    case RANKS:
        return p.size;
    case IS_CLUSTER:
        return (uint64_t)p.is_explicit;
    case LANE:
        return self->lane;
    case WARP:
        return self->warp;
    case WARPS:
        return (self->block_dim.x * self->block_dim.y * self->block_dim.z + 31) / 32;
    case LANE_EQ:
        return own;
    case LANE_LE:
        return own | (own - 1);
    case LANE_LT:
        return own - 1;
    case LANE_GE:
        return ~(own - 1);
    case LANE_GT:
        return ~(own - 1) & ~own;
    case ZERO:
        return 0;
    case ONE:
        return 1;
    case CLOCK:
        return (uint64_t)simt_clock();
    case CLOCK_HIGH:
        return (uint64_t)simt_clock() >> 32;
    case DYNAMIC_BYTES:
        return simt_dynamic_shared_bytes();
    default: {
        const struct simt_extent e = extent[place];
        return special[which].component == 0 ? e.x : special[which].component == 1 ? e.y : e.z;
    }
    }
}
