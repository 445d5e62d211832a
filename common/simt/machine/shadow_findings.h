/**
 * @file shadow_findings.h
 * @brief What accesses of one block are found to do wrong, as their shadow cells show it.
 */
#pragma once

#include "finding.h"
#include "shadow.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct worker;

/** The access that is checked now, once for all its words. */
struct shadow_access {
    struct worker *w;
    enum place place;
    uintptr_t offset; /**< of the whole access */
    size_t bytes;
    int access;
    uint32_t pc;
    bool reported; /**< one race per access is enough */
    bool padding;  /**< the current word may be padding, which need not be written */
    bool observed; /**< the block has read the current word by an atomic or a volatile */
};

static inline unsigned simt_thread_of(unsigned reader)
{
    return reader & ~(unsigned)READER_FLAGS;
}

static inline bool simt_is_shared(const struct shadow_access *now)
{
    return now->place == PLACE_SHARED || now->place == PLACE_DYNAMIC;
}

/**
 * @brief The access races with @p other_access of @p other_thread at @p other_pc, which the cell has kept.
 */
void simt_found_race(struct shadow_access *now, int other_access, unsigned other_thread, uint32_t other_pc);
/** @brief A finding of @p kind about the access of @p thread that the cell has kept, and the access now. */
void simt_found_pair(struct shadow_access *now, enum record_kind kind, unsigned thread, uint32_t pc,
                     int access, enum record_advice advice);
/** @brief The access comes after an asynchronous copy to the cell was begun, and not after it landed. */
void simt_found_missing_wait(struct shadow_access *now, const struct shadow_cell *c);
/** @brief The access writes what a bulk copy, the cell's reader in @p slot, may not have read yet. */
void simt_found_busy(struct shadow_access *now, const struct shadow_cell *c, int slot);
/** @brief The access reads shared memory that nobody has written. */
void simt_found_unwritten(struct shadow_access *now);
/** @brief A finding, unless a fence.proxy.async is between what @p actor did at @p tick and the access. */
void simt_check_fence(struct shadow_access *now, uint32_t tick, unsigned actor, int access, uint32_t pc);
/**
 * @brief The same for a product: it reads through the asynchronous proxy what the cell's writer wrote
 * through the generic one.
 */
void simt_check_product_fence(struct shadow_access *now, const struct shadow_cell *c);
