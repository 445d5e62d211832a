/**
 * @file special.c
 * @brief Special registers: the values of %laneid and the others for the running thread.
 */
#include "parse.h"

#include <string.h>

long long simt_clock(void); /* runtime/device_libc.c; C++ has it from include/simt/language.h */

enum special {
    TID_X,
    TID_Y,
    TID_Z,
    NTID_X,
    NTID_Y,
    NTID_Z,
    CTAID_X,
    CTAID_Y,
    CTAID_Z,
    NCTAID_X,
    NCTAID_Y,
    NCTAID_Z,
    LANEID,
    WARPID,
    NWARPID,
    SMID,
    NSMID,
    GRIDID,
    CLOCK,
    CLOCK_HI,
    CLOCK64,
    GLOBALTIMER,
    GLOBALTIMER_LO,
    GLOBALTIMER_HI,
    MASK_EQ,
    MASK_LE,
    MASK_LT,
    MASK_GE,
    MASK_GT,
    DYNAMIC_SMEM_SIZE,
    TOTAL_SMEM_SIZE,
    CLUSTERID_X,
    CLUSTERID_Y,
    CLUSTERID_Z,
    NCLUSTERID_X,
    NCLUSTERID_Y,
    NCLUSTERID_Z,
    CLUSTER_CTAID_X,
    CLUSTER_CTAID_Y,
    CLUSTER_CTAID_Z,
    CLUSTER_NCTAID_X,
    CLUSTER_NCTAID_Y,
    CLUSTER_NCTAID_Z,
    CLUSTER_CTARANK,
    CLUSTER_NCTARANK,
    IS_EXPLICIT_CLUSTER,
    SPECIALS
};

static const struct {
    const char *name;
    enum ptx_type type;
} special[SPECIALS] = {
    {"%tid.x", PTX_U32},
    {"%tid.y", PTX_U32},
    {"%tid.z", PTX_U32},
    {"%ntid.x", PTX_U32},
    {"%ntid.y", PTX_U32},
    {"%ntid.z", PTX_U32},
    {"%ctaid.x", PTX_U32},
    {"%ctaid.y", PTX_U32},
    {"%ctaid.z", PTX_U32},
    {"%nctaid.x", PTX_U32},
    {"%nctaid.y", PTX_U32},
    {"%nctaid.z", PTX_U32},
    {"%laneid", PTX_U32},
    {"%warpid", PTX_U32},
    {"%nwarpid", PTX_U32},
    {"%smid", PTX_U32},
    {"%nsmid", PTX_U32},
    {"%gridid", PTX_U64},
    {"%clock", PTX_U32},
    {"%clock_hi", PTX_U32},
    {"%clock64", PTX_U64},
    {"%globaltimer", PTX_U64},
    {"%globaltimer_lo", PTX_U32},
    {"%globaltimer_hi", PTX_U32},
    {"%lanemask_eq", PTX_U32},
    {"%lanemask_le", PTX_U32},
    {"%lanemask_lt", PTX_U32},
    {"%lanemask_ge", PTX_U32},
    {"%lanemask_gt", PTX_U32},
    {"%dynamic_smem_size", PTX_U32},
    {"%total_smem_size", PTX_U32},
    {"%clusterid.x", PTX_U32},
    {"%clusterid.y", PTX_U32},
    {"%clusterid.z", PTX_U32},
    {"%nclusterid.x", PTX_U32},
    {"%nclusterid.y", PTX_U32},
    {"%nclusterid.z", PTX_U32},
    {"%cluster_ctaid.x", PTX_U32},
    {"%cluster_ctaid.y", PTX_U32},
    {"%cluster_ctaid.z", PTX_U32},
    {"%cluster_nctaid.x", PTX_U32},
    {"%cluster_nctaid.y", PTX_U32},
    {"%cluster_nctaid.z", PTX_U32},
    {"%cluster_ctarank", PTX_U32},
    {"%cluster_nctarank", PTX_U32},
    {"%is_explicit_cluster", PTX_PRED},
};

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

static unsigned component(struct simt_extent e, int which)
{
    return which == 0 ? e.x : which == 1 ? e.y : e.z;
}

static uint64_t place_in_cluster(int which)
{
    const struct simt_cluster_place p = simt_cluster_place();
    switch (which) {
    case CLUSTERID_X:
    case CLUSTERID_Y:
    case CLUSTERID_Z:
        return component(p.cluster, which - CLUSTERID_X);
    case NCLUSTERID_X:
    case NCLUSTERID_Y:
    case NCLUSTERID_Z:
        return component(p.clusters, which - NCLUSTERID_X);
    case CLUSTER_CTAID_X:
    case CLUSTER_CTAID_Y:
    case CLUSTER_CTAID_Z:
        return component(p.block, which - CLUSTER_CTAID_X);
    case CLUSTER_NCTAID_X:
    case CLUSTER_NCTAID_Y:
    case CLUSTER_NCTAID_Z:
        return component(p.blocks, which - CLUSTER_NCTAID_X);
    case CLUSTER_CTARANK:
        return p.rank;
    case CLUSTER_NCTARANK:
        return p.size;
    default:
        return (uint64_t)p.is_explicit;
    }
}

static uint64_t place_in_grid(int which, const struct simt_identity *self)
{
    switch (which) {
    case TID_X:
    case TID_Y:
    case TID_Z:
        return component(self->thread, which - TID_X);
    case NTID_X:
    case NTID_Y:
    case NTID_Z:
        return component(self->block_dim, which - NTID_X);
    case CTAID_X:
    case CTAID_Y:
    case CTAID_Z:
        return component(self->block, which - CTAID_X);
    case NCTAID_X:
    case NCTAID_Y:
    case NCTAID_Z:
        return component(self->grid_dim, which - NCTAID_X);
    default:
        return place_in_cluster(which);
    }
}

static uint64_t place_in_warp(int which, const struct simt_identity *self)
{
    const uint32_t own = 1u << self->lane;
    switch (which) {
    case LANEID:
        return self->lane;
    case WARPID:
        return self->warp;
    case NWARPID:
        return (self->block_dim.x * self->block_dim.y * self->block_dim.z + 31) / 32;
    case MASK_EQ:
        return own;
    case MASK_LE:
        return own | (own - 1);
    case MASK_LT:
        return own - 1;
    case MASK_GE:
        return ~(own - 1);
    default:
        return ~(own - 1) & ~own;
    }
}

uint64_t ptx_special_value(int which)
{
    const struct simt_identity *self = simt_self();
    if (self == NULL) return 0; /* the host */
    switch (which) {
    case LANEID:
    case WARPID:
    case NWARPID:
    case MASK_EQ:
    case MASK_LE:
    case MASK_LT:
    case MASK_GE:
    case MASK_GT:
        return place_in_warp(which, self);
    case SMID:
    case GRIDID:
        return 0;
    case NSMID:
        return 1;
    case CLOCK:
    case CLOCK64:
    case GLOBALTIMER:
    case GLOBALTIMER_LO:
        return (uint64_t)simt_clock();
    case CLOCK_HI:
    case GLOBALTIMER_HI:
        return (uint64_t)simt_clock() >> 32;
    case DYNAMIC_SMEM_SIZE:
    case TOTAL_SMEM_SIZE:
        return simt_dynamic_shared_bytes();
    default:
        return place_in_grid(which, self);
    }
}
