/**
 * @file mbarrier.h
 * @brief The block's mbarriers, as those that copy asynchronously and those that look for a deadlock see them.
 */
#pragma once

#include "finding.h"
#include "machine.h"
#include "vector_clocks.h"

#include <stdbool.h>
#include <stdint.h>

/** A warp whose wait for a phase is over. In the phase that comes now its lanes have to be known to have left the wait. */
struct mbarrier_left {
    uint32_t phase; /**< the phase that comes now */
    uint32_t tick;  /**< when the first lane left the wait, or UINT32_MAX: none has yet */
    unsigned lanes; /**< that were to leave; 0: an arrival in this phase comes after one of them */
    const void *at; /**< their wait */
};

/** @brief An mbarrier. Its eight bytes of shared memory hold its index here. */
struct mbarrier {
    bool live;
    bool remote; /**< threads of other blocks have arrived */
    uintptr_t address;
    uint32_t count;          /**< arrivals that a phase takes */
    uint32_t pending;        /**< that are still to come in this one */
    int64_t tx;              /**< bytes that are expected and have not come */
    uint64_t expected, came; /**< bytes, in this phase */
    uint32_t phase;          /**< how many are complete */
    unsigned in_flight;      /**< asynchronous operations that will report here */
    unsigned issuer;         /**< thread that began the last one, or simt_foreign_actor(), */
    const void *issued_at;   /**< there */
    unsigned initialiser;    /**< thread of this block that initialised it, */
    uint32_t init_tick;      /**< then, */
    const void *init_at;     /**< there; */
    uint32_t init_fence;     /**< its fence.mbarrier_init after that, or 0; */
    /** whoever has waited for this many phases of the cluster's barrier comes after that fence; 0: nobody */
    uint32_t init_phase;
    bool init_found; /**< the missing fence has been reported */
    unsigned last;   /**< thread that arrived last, or simt_foreign_actor(), */
    const void *at;  /**< there; NULL: none has */
    struct mbarrier_left left[MAX_WARPS];
    struct vector_clock arrived,
        done; /**< what the threads know that arrived: so far in this phase, and in all complete ones */
};

/** @brief The mbarrier at @p address that a copy will report to; ends the launch if there is none. */
struct mbarrier *simt_mbarrier_of_copy(struct worker *w, void *address, const void *pc);
/** @brief Thread @p thread, which may be a simt_foreign_actor(), for a finding. */
struct actor simt_mbarrier_actor(const struct worker *w, unsigned thread, const void *pc, int access);
/** @brief An asynchronous operation completes on @p b: it counts @p bytes, or arrives. Returns its tick. */
uint32_t simt_mbarrier_report(struct worker *w, struct mbarrier *b, uint64_t bytes, bool arrives);
/** @brief One more arrival is needed in this phase: that of an asynchronous operation. */
void simt_mbarrier_add_pending(struct mbarrier *b);
/** @brief Whether some thread waits for the phase that @p b is in. */
bool simt_mbarrier_is_awaited(const struct worker *w, const struct mbarrier *b);
/** @brief No thread can go on: all waits for mbarriers time out. False if that has not helped. */
bool simt_mbarriers_time_out(struct worker *w);
/** @brief Adds to a finding about an endless wait the state of the mbarriers that are waited for, and who arrived last. Bytes
 *         that do not add up make another kind of it. @p wait: its words' own. */
void simt_mbarriers_describe(struct worker *w, struct finding *f, struct record_wait *wait);
/** @brief The running thread begins a copy that reports to @p b: the asynchronous proxy must know that it is initialised. */
void simt_mbarrier_check_init(struct worker *w, struct mbarrier *b, const void *pc);
/**
 * @brief The running thread arrives relaxed at the cluster's barrier, in the phase that ends as number @p
 * cluster_phase. Returns whether that publishes the initialisation of mbarriers.
 */
bool simt_mbarriers_publish_init(struct worker *w, uint32_t cluster_phase);
/** @brief A block begins. */
void simt_mbarriers_begin(struct worker *w);
