/**
 * @file block_pool.h
 * @brief The blocks of a paged key/value cache: which are free, who uses the others, and which hold a text that is known.
 *
 * A block holds the keys and values of `block_size` positions of one sequence, in all layers; a sequence names its blocks in a
 * table (Kwon et al. 2023, Efficient Memory Management for Large Language Model Serving with PagedAttention, section 4.2). Sequences
 * that begin alike may use the same blocks (section 4.4). A full block is found by its tokens and by the *text* before it, a number
 * that stands for all tokens from position 0 on: equal numbers are equal texts, whatever the hash table does. A block that nobody uses
 * any more keeps its text until it is taken for something else, the one given back longest ago first.
 */
#pragma once

/** @brief One block. */
struct pool_block {
    int users;        /**< tables that it is in; 0: free */
    int before, next; /**< its neighbours among the free ones */
    int chained;      /**< the next one with the same hash; -1: none */
    long long text;   /**< up to its end; 0: not known */
    long long prefix; /**< the text before it; 0: it is the first block */
};

/** @brief Blocks. Free ones without a text are taken first, of these the one given back last, for its lines may still be in a cache. */
struct block_pool {
    struct pool_block *blocks; /**< [total + 1], the last one begins and ends the list of free ones */
    int *tokens;               /**< [total, block_size] of blocks whose text is known */
    int *buckets;              /**< [total] of the hash table; -1: none */
    int block_size;            /**< positions of a block */
    int count;                 /**< free blocks */
    int total;                 /**< of the cache */
    long long texts;           /**< numbers that have been given to texts */
};

/** @brief A pool of blocks 0 .. @p total - 1, all free. The first to be taken is block 0. */
void block_pool_open(struct block_pool *pool, int total, int block_size);
/** @brief Releases the pool, not the cache. */
void block_pool_close(struct block_pool *pool);

/** @brief Takes @p count blocks, whose numbers go to @p blocks, or none. 0, or -1 if so many are not free. */
int block_pool_take(struct block_pool *pool, int count, int *blocks);

/** @brief The block that holds @p tokens, [block_size], after the text @p prefix; -1: none does. */
int block_pool_find(const struct block_pool *pool, long long prefix, const int *tokens);

/** @brief One table more has a block that was found. */
void block_pool_share(struct block_pool *pool, int block);

/** @brief A block that is in use has been filled: with @p tokens, after the text @p prefix. Returns the text up to its end; if another
 *         block has it already, that one will be found. */
long long block_pool_filled(struct block_pool *pool, int block, long long prefix, const int *tokens);

/** @brief A table less has these blocks. Aborts if one is in none: two sequences would write to it. */
void block_pool_give(struct block_pool *pool, int count, const int *blocks);
