/**
 * @file products.h
 * @brief Warpgroup matrix multiplies in flight (wgmma.mma_async): who has issued them, and what they will write.
 *
 * Four warps, the first of which has a number divisible by four, issue a product together. On hardware it may read its operands
 * and write its accumulators at any time until a wgmma.wait_group that covers it. Here it does so at that wait, as late as it
 * may (SIMT_ASYNC=early: as early as it may), and an access to its accumulators or operands before that is a finding.
 */
#pragma once

#include "sizes.h"
#include "tools.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct worker;
struct warp;
struct thread;
struct simt_site;

enum { GROUP_WARPS = 4, GROUPS = MAX_WARPS / GROUP_WARPS, FRAGMENT = 4 };

/** @brief Where a statement of assembly keeps its registers, until it is over. */
struct own_registers {
    uintptr_t low, high;
};

/** @brief Accumulator registers of a warp while products use them: element [lane * count + i]. */
struct sums {
    unsigned count;  /**< registers of a lane */
    unsigned users;  /**< products that this warp has not waited for */
    uint32_t *value; /**< what they will hold */
    void **place;    /**< where the variables are */
    struct own_registers own[WARP_LANES];
};

/** @brief One wgmma.mma_async of a warpgroup. */
struct product {
    const struct simt_site *site;
    const void *how;    /**< what its issuer needs to compute it */
    uint64_t a, b;      /**< descriptors; of A none if it is in registers */
    unsigned scale_d;   /**< 1: the accumulators are added to */
    unsigned count;     /**< accumulator registers of a lane */
    bool done;          /**< the accumulators have been computed */
    unsigned issued;    /**< warps that have come, */
    unsigned delivered; /**< and that have waited for it */
    const void *pc;
    uint32_t group[GROUP_WARPS];  /**< number of its group, as each warp counts */
    uint32_t serial[GROUP_WARPS]; /**< of the writes that come after the warp's issue */
    struct sums *sums[GROUP_WARPS];
    uint32_t fragment[GROUP_WARPS][WARP_LANES][FRAGMENT]; /**< of A */
    void (*compute)(struct product *product);
    /** calls @p row with the address of every 16 bytes of shared memory that part 0 ... 3 reads of A, or part 4 of B */
    void (*each_row)(const struct product *product, unsigned part,
                     void (*row)(void *context, uintptr_t address), void *context);
    struct product *next;
};

/** @brief What a lane brings to a wgmma.mma_async. The arrays last until the statement is over. */
struct product_lane {
    uint32_t *value;          /**< of its accumulators, then of its fragment of A */
    void *const *place;       /**< of the variables, in this order; NULL: what is no variable */
    struct own_registers own; /**< or of registers of the statement */
    bool fence_missing;       /**< out: there was no wgmma.fence since an access to a register, */
    bool other_shape;         /**< out: or its accumulators are in flight in another shape, */
    bool other_product;       /**< out: or the warps of the group issue different products */
};

/** @brief All lanes of the running warp have come: the product is in flight. Their results say what was wrong with it. */
void simt_product_issue(const struct product *issued, unsigned warp_index,
                        struct product_lane *lane[WARP_LANES]);

/** @brief wgmma.fence by the running thread: what it did with registers is over. */
void simt_product_fence(void);
/** @brief wgmma.commit_group by the running warp: once for all its lanes. */
void simt_product_commit(unsigned warp_index);
/** @brief wgmma.wait_group: all groups of the running warp but the last @p prior are complete. */
void simt_product_wait(const struct simt_site *site, unsigned prior);
/** @brief The running thread gives the register at @p place, a fragment of A: a finding if a product in flight will write it. */
void simt_product_use(const void *place, const void *return_address);
/** @brief Registers of a statement that is over: products in flight have nowhere to write them. */
void simt_product_drop(const void *low, const void *high);
/** @brief Whether the register at @p place of the running thread belongs to a product in flight. */
bool simt_product_holds(const void *place);

/** @brief The warp cannot go on: it may if what it waits for is complete. */
void simt_resolve_products(struct worker *w, struct warp *warp);
/** @brief A local access of the running thread, which has issued products. */
void simt_product_touch(struct worker *w, uintptr_t address, size_t bytes, int access, const void *pc);
/** @brief A block begins, or ends: a finding for each product that no warp waited for. */
void simt_products_begin(struct worker *w);
void simt_products_end(struct worker *w);
