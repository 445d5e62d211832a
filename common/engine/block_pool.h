/**
 * @file block_pool.h
 * @brief The blocks of a paged key/value cache that nobody uses.
 *
 * A block holds the keys and values of `block_size` positions of one sequence, in all layers; a sequence names its blocks in a
 * table (Kwon et al. 2023, Efficient Memory Management for Large Language Model Serving with PagedAttention, section 4.2).
 */
#ifndef WARPWISE_ENGINE_BLOCK_POOL_H
#define WARPWISE_ENGINE_BLOCK_POOL_H

/** @brief Free blocks; the one given back last is taken first, for its lines may still be in a cache. */
struct block_pool {
    int *free;  /**< [total], of which the first @c count are free */
    char *used; /**< [total] 1: taken */
    int count;  /**< free blocks */
    int total;  /**< of the cache */
};

/** @brief A pool of blocks 0 .. @p total - 1, all free. The first to be taken is block 0. */
void block_pool_open(struct block_pool *pool, int total);
/** @brief Releases the pool, not the cache. */
void block_pool_close(struct block_pool *pool);

/** @brief Takes @p count blocks, whose numbers go to @p blocks, or none. 0, or -1 if so many are not free. */
int block_pool_take(struct block_pool *pool, int count, int *blocks);

/** @brief Gives blocks back. Aborts if one is not taken: two sequences would share it. */
void block_pool_give(struct block_pool *pool, int count, const int *blocks);

#endif
