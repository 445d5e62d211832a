/**
 * @file scheduler.h
 * @brief Which tokens of which requests a decode engine computes in its next step: continuous batching over a paged cache.
 *
 * A request is a prompt and how many tokens may follow it. Each step computes at most `max_rows` tokens, of at most `max_running`
 * requests at once: first the newest token of every request that is past its prompt, then pieces of prompts, the oldest request
 * first, as much as there is room for (chunked prefill: Agrawal et al. 2024, Taming Throughput-Latency Tradeoff in LLM Inference
 * with Sarathi-Serve). A request is taken in as soon as there is a place for it, and leaves as soon as it is done (iteration-level
 * scheduling: Yu et al. 2022, Orca).
 *
 * A request that is taken in gets the blocks for the tokens that it has so far, later one more whenever its newest token begins
 * one. If none is left then, the youngest of the requests behind it gives up all of its own and waits at the front of the queue; what
 * that one has so far, prompt and tokens, is computed again later (recomputation, as in vLLM). The youngest of all keeps what it has
 * and waits a step. No request is put back by a younger one, and one
 * that could not end even alone is refused at once: so each one ends, and none is lost.
 *
 * With `share` a request that is taken in uses the full blocks that hold what it begins with, whoever has computed them, as far as the
 * cache still has them (automatic prefix caching, as in vLLM). A block is found from the step after the one that filled it. At least one
 * token is computed, for its logits: if that one lies in a block that was found, the request gets a copy of it (copy on write), so what a
 * step writes is in no other request's table.
 *
 * Nothing here computes: the caller runs the step on the device and says which tokens were sampled.
 */
#pragma once

#include <stddef.h>

/** @brief Longest sentence about why a request is refused, its end included. */
enum { SCHEDULER_ERROR = 256 };

/** @brief What the cache and the buffers of a step have room for; each at least 1. */
struct scheduler_limits {
    int blocks;      /**< of the cache */
    int block_size;  /**< positions of a block */
    int max_running; /**< requests in one step */
    int max_rows;    /**< tokens in one step, at least max_running */
    int max_context; /**< positions of one request: prompt and what follows */
    int vocab;       /**< tokens are 0 .. vocab - 1 */
    int share;       /**< 1: requests share blocks of what they begin with */
};

/** @brief A request. */
struct scheduler_request {
    const int *prompt; /**< [prompt_count], copied */
    int prompt_count;  /**< at least 1 */
    int max_new;       /**< tokens that may follow, at least 1 */
    const int *stops;  /**< [stop_count] tokens that end it, copied; such a token is its last */
    int stop_count;    /**< may be 0 */
};

/** @brief Consecutive tokens of one request in a step. Pointers are valid until scheduler_finish(). */
struct scheduler_piece {
    long long request; /**< its number */
    int slot;          /**< 0 .. max_running - 1: its own while it runs */
    int first;         /**< position of the first token */
    int count;         /**< tokens */
    const int *tokens; /**< [count] */
    const int *blocks; /**< the request's table: block of positions i * block_size ... */
    int block_count;   /**< of the table; enough for first + count positions */
    int samples;       /**< 1: the token after the last one is wanted */
    int copied; /**< block that is to be copied to blocks[first / block_size], piece by piece before anything of the step is
                            computed; -1: none */
};

/** @brief What the next step computes. */
struct scheduler_step {
    const struct scheduler_piece *pieces; /**< [count] */
    int count;                            /**< 0: nothing is to be done */
    int rows;                             /**< tokens of all pieces */
};

/** @brief Why a request is over. */
enum scheduler_end { SCHEDULER_STOP, SCHEDULER_LENGTH, SCHEDULER_CANCELLED };

/** @brief A request that is over. */
struct scheduler_result {
    long long request;      /**< its number */
    enum scheduler_end end; /**< a stop token, max_new tokens, or scheduler_cancel() */
    int *tokens;            /**< [count] what followed the prompt; the caller frees it */
    int count;              /**< tokens */
    int recomputed;         /**< times that it gave up its blocks */
};

/** @brief What waits, what runs, what is free. */
struct scheduler_counts {
    int waiting;     /**< requests without a place */
    int running;     /**< requests with a place */
    int free_blocks; /**< of the cache, also those that still hold a text */
    /** tokens of all requests when they were taken in, with tokens that followed before they were put back */
    long long taken;
    long long found; /**< of these, such as did not have to be computed */
};

/** @brief Requests and the blocks that they hold. */
struct scheduler;

/** @brief A scheduler without requests; NULL if a limit is below 1, or max_rows below max_running. */
struct scheduler *scheduler_open(const struct scheduler_limits *limits);
/** @brief Releases it, with all requests. NULL is nothing. */
void scheduler_close(struct scheduler *scheduler);

/**
 * @brief Queues a request, also during a step.
 * @param      scheduler who shall see to it
 * @param[in]  request   copied
 * @param[out] error     why it is refused: no token, a token that is not in the vocabulary, a context longer than
 *                       max_context or than the whole cache
 * @return its number, from 1 on in the order of the calls; -1 if it is refused
 */
long long scheduler_add(struct scheduler *scheduler, const struct scheduler_request *request,
                        char error[SCHEDULER_ERROR]);

/** @brief Plans the next step. Aborts if the last one has not been finished. */
struct scheduler_step scheduler_plan(struct scheduler *scheduler);

/** @brief The step has been computed. @p sampled holds a token for every piece that samples, in their order. */
void scheduler_finish(struct scheduler *scheduler, const int *sampled);

/**
 * @brief Ends a request. In a step it still runs to the end of it, for the device may be writing to its blocks; its token is not
 *        kept then.
 * @return 0, or -1 if there is no such request, or it is over
 */
int scheduler_cancel(struct scheduler *scheduler, long long request);

/** @brief Takes a request that is over, the first that ended first; 0 if there is none. */
int scheduler_take_result(struct scheduler *scheduler, struct scheduler_result *result);

/** @brief What waits, what runs, what is free, now. */
struct scheduler_counts scheduler_count(const struct scheduler *scheduler);
