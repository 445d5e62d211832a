/**
 * @file share.c
 * @brief Which blocks of a launch run if only a few parts of a large problem are looked at, and when that tells nothing.
 *
 * The parts are the first one of an axis, the last one, and perhaps one in the middle. A kernel hands out an axis in order as a rule, so that its blocks are a
 * stretch of the grid, as long as their share of the axis is. Blocks that have something else to do are harmless: all else is zeros. Where
 * there are so few blocks that each must go on and on, all of them run, until it turns out that they do.
 */
#include "share.h"
#include "arena.h"

#include <stdatomic.h>

enum { PARTS = 3, MANY = 1 << 20, OUTPUTS = 16 };

unsigned simt_share_outputs;

static struct {
    uint64_t total, step, each; /* of the axis: its length, from part to part, of a part */
    uintptr_t workspace;        /* offset in the arena of what only kernels write */
    size_t workspace_bytes;
    uint64_t along,
        inside; /* blocks along the grid's longest axis; from the number of one to that of the next */
    uint64_t first[PARTS], count[PARTS], run; /* those that run along it, and how many they are */
    atomic_bool left, *stopped;               /* what runs tells nothing; ends the launch that runs */
    bool whole, doubted; /* all blocks of this launch run; they have read what others would have written */
    atomic_size_t pages; /* that its blocks have touched */
    unsigned by_whole, by_share; /* outputs that launches have written whose blocks all ran, or did not */
    uintptr_t output[OUTPUTS];   /* offsets in the arena */
    size_t output_bytes[OUTPUTS];
} share;

void simt_run_share(uint64_t total, uint64_t step, uint64_t each, const void *workspace, size_t bytes)
{
    share.total = total;
    share.step = step;
    share.each = each;
    share.workspace = (uintptr_t)workspace - ARENA_BASE;
    share.workspace_bytes = bytes;
    simt_share_outputs = 0;
    if (total == 0) return;
    share.left = share.doubted = false;
    share.by_whole = share.by_share = 0;
    for (int i = 0; i < OUTPUTS; i++) share.output_bytes[i] = 0;
}

void simt_share_output(unsigned index, const void *start, size_t bytes)
{
    if (share.total == 0 || index >= OUTPUTS) return;
    share.output[index] = (uintptr_t)start - ARENA_BASE;
    share.output_bytes[index] = bytes;
    if (simt_share_outputs <= index) simt_share_outputs = index + 1;
}

unsigned simt_share_ended(void)
{
    return share.left ? 0 : share.by_whole & ~share.by_share;
}

void simt_share_written(uintptr_t offset)
{
    for (unsigned i = 0; i < simt_share_outputs; i++)
        if (offset - share.output[i] < share.output_bytes[i])
            *(share.whole ? &share.by_whole : &share.by_share) |= 1u << i;
}

bool simt_share_overworks(size_t pages)
{
    return share.total > 0 && pages > (share.whole ? WHOLE_PAGES : SHARE_PAGES) && simt_share_gives_up();
}

void simt_share_block_ended(size_t pages)
{
    if (share.total > 0 && share.whole && (share.pages += pages) > LAUNCH_PAGES) simt_share_tells_nothing();
}

int simt_share_left(void)
{
    return share.left || share.doubted;
}

void simt_share_tells_nothing(void)
{
    share.left = true;
    if (share.stopped != NULL) *share.stopped = true;
}

bool simt_share_stopped(void)
{
    return share.left;
}

bool simt_is_shared_launch(void)
{
    return share.total > 0;
}

int simt_share_refuses(size_t bytes)
{
    const size_t most = (size_t)64 << 20;
    if (share.total == 0) return 0;
    share.by_share = ~0u; /* what is copied may be an output */
    if (bytes > most) simt_share_tells_nothing();
    return share.left;
}

uint64_t simt_share_blocks(const struct simt_launch *launch, atomic_bool *stopped)
{
    const struct simt_extent grid = launch->grid;
    const uint64_t all = (uint64_t)grid.x * grid.y * grid.z;
    uint64_t end = 0;
    share.stopped = stopped;
    share.whole = share.total >= MANY && all <= FEW_BLOCKS;
    share.pages = 0;
    if (share.total == 0 || share.whole) return all;
    share.along = grid.x > grid.y ? grid.x : grid.y;
    if (grid.z > share.along) share.along = grid.z;
    share.inside = share.along == grid.x ? 1 : share.along == grid.y ? grid.x : (uint64_t)grid.x * grid.y;
    share.run = 0;
    for (uint64_t part = 0; part < PARTS && part * share.step < share.total; part++) {
        const uint64_t from = share.along * (part * share.step) / share.total,
                       to = (share.along * (part * share.step + share.each) + share.total - 1) / share.total;
        share.first[part] = from > end ? from : end;
        share.count[part] = to > share.first[part] ? to - share.first[part] : 0;
        share.run += share.count[part];
        end = share.first[part] + share.count[part];
    }
    return all / share.along * share.run;
}

uint64_t simt_share_block(uint64_t index)
{
    if (share.total == 0 || share.whole) return index;
    uint64_t at = index / share.inside % share.run, part = 0;
    while (at >= share.count[part]) at -= share.count[part++];
    return index % share.inside +
           share.inside * (share.first[part] + at + share.along * (index / share.inside / share.run));
}

bool simt_share_gives_up(void)
{
    if (share.total > 0) simt_share_tells_nothing();
    return share.total > 0;
}

/* Inputs that were not filled are zeros, and may be read. A workspace may have been for a block to write that was skipped: then this
 * launch proves nothing. */
bool simt_share_forgives(uintptr_t offset)
{
    if (share.total == 0) return false;
    if (offset - share.workspace >= share.workspace_bytes) return true;
    share.doubted = true;
    if (!share.whole) simt_share_tells_nothing();
    return true;
}
