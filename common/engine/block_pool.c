/**
 * @file block_pool.c
 * @brief The blocks of a paged key/value cache that nobody uses.
 */
#include "block_pool.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"

void block_pool_open(struct block_pool *pool, int total)
{
    pool->free = must_allocate((size_t)total * sizeof *pool->free);
    pool->used = must_allocate((size_t)total);
    pool->count = pool->total = total;
    for (int i = 0; i < total; i++) pool->free[i] = total - 1 - i;
}

void block_pool_close(struct block_pool *pool)
{
    free(pool->free);
    free(pool->used);
    *pool = (struct block_pool){0};
}

int block_pool_take(struct block_pool *pool, int count, int *blocks)
{
    if (count > pool->count) return -1;
    for (int i = 0; i < count; i++) {
        blocks[i] = pool->free[--pool->count];
        pool->used[blocks[i]] = 1;
    }
    return 0;
}

void block_pool_give(struct block_pool *pool, int count, const int *blocks)
{
    for (int i = count - 1; i >= 0; i--) {
        if (blocks[i] < 0 || blocks[i] >= pool->total || !pool->used[blocks[i]]) {
            fprintf(stderr, "block_pool: block %d is given back, and was not taken\n", blocks[i]);
            abort();
        }
        pool->used[blocks[i]] = 0;
        pool->free[pool->count++] = blocks[i];
    }
}
