/**
 * @file block_pool.c
 * @brief The blocks of a paged key/value cache: which are free, who uses the others, and which hold a text that is known.
 */
#include "block_pool.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/text.h"

/* ---- the list of free blocks, a ring --------------------------------------------------------------------------- */

static void link_before(struct block_pool *pool, int block, int next)
{
    const int before = pool->blocks[next].before;
    pool->blocks[block].before = before, pool->blocks[block].next = next;
    pool->blocks[before].next = pool->blocks[next].before = block;
    pool->count++;
}

static void unlink_block(struct block_pool *pool, int block)
{
    const struct pool_block *b = &pool->blocks[block];
    pool->blocks[b->before].next = b->next;
    pool->blocks[b->next].before = b->before;
    pool->count--;
}

/* ---- texts ----------------------------------------------------------------------------------------------------- */

static const int *tokens_of(const struct block_pool *pool, int block)
{
    return pool->tokens + (size_t)block * (size_t)pool->block_size;
}

static int *bucket_of(const struct block_pool *pool, long long prefix, const int *tokens)
{
    uint64_t hash = (uint64_t)prefix;
    for (int i = 0; i < pool->block_size; i++) hash = rng_mix(hash, (uint64_t)tokens[i]);
    return &pool->buckets[hash % (uint64_t)pool->total];
}

int block_pool_find(const struct block_pool *pool, long long prefix, const int *tokens)
{
    const size_t bytes = (size_t)pool->block_size * sizeof *tokens;
    for (int i = *bucket_of(pool, prefix, tokens); i >= 0; i = pool->blocks[i].chained)
        if (pool->blocks[i].prefix == prefix && memcmp(tokens_of(pool, i), tokens, bytes) == 0) return i;
    return -1;
}

long long block_pool_filled(struct block_pool *pool, int block, long long prefix, const int *tokens)
{
    const int known = block_pool_find(pool, prefix, tokens);
    int *bucket = bucket_of(pool, prefix, tokens);
    struct pool_block *b = &pool->blocks[block];
    if (known >= 0) return pool->blocks[known].text;
    memcpy(pool->tokens + (size_t)block * (size_t)pool->block_size, tokens,
           (size_t)pool->block_size * sizeof *tokens);
    b->prefix = prefix, b->text = ++pool->texts;
    b->chained = *bucket;
    *bucket = block;
    return b->text;
}

static void forget(struct block_pool *pool, int block)
{
    struct pool_block *b = &pool->blocks[block];
    if (b->text == 0) return;
    int *at = bucket_of(pool, b->prefix, tokens_of(pool, block));
    while (*at != block) at = &pool->blocks[*at].chained;
    *at = b->chained;
    b->text = 0;
}

/* ---- from hand to hand ----------------------------------------------------------------------------------------- */

void block_pool_open(struct block_pool *pool, int total, int block_size)
{
    const size_t count = (size_t)total;
    *pool = (struct block_pool){.block_size = block_size, .total = total};
    pool->blocks = must_allocate((count + 1) * sizeof *pool->blocks);
    pool->tokens = must_allocate(count * (size_t)block_size * sizeof *pool->tokens);
    pool->buckets = must_allocate(count * sizeof *pool->buckets);
    pool->blocks[total] = (struct pool_block){.before = total, .next = total};
    for (int i = 0; i < total; i++) {
        pool->buckets[i] = -1;
        pool->blocks[i] = (struct pool_block){0};
        link_before(pool, i, total);
    }
}

void block_pool_close(struct block_pool *pool)
{
    free(pool->blocks);
    free(pool->tokens);
    free(pool->buckets);
    *pool = (struct block_pool){0};
}

int block_pool_take(struct block_pool *pool, int count, int *blocks)
{
    if (count > pool->count) return -1;
    for (int i = 0; i < count; i++) {
        blocks[i] = pool->blocks[pool->total].next;
        unlink_block(pool, blocks[i]);
        forget(pool, blocks[i]);
        pool->blocks[blocks[i]].users = 1;
    }
    return 0;
}

void block_pool_share(struct block_pool *pool, int block)
{
    if (pool->blocks[block].users++ == 0) unlink_block(pool, block);
}

/* The last block first: of a text that is being forgotten, the end goes before the beginning. */
void block_pool_give(struct block_pool *pool, int count, const int *blocks)
{
    for (int i = count - 1; i >= 0; i--) {
        if (blocks[i] < 0 || blocks[i] >= pool->total || pool->blocks[blocks[i]].users == 0) {
            fprintf(stderr, "block_pool: block %d is given back, and was not taken\n", blocks[i]);
            abort();
        }
        struct pool_block *b = &pool->blocks[blocks[i]];
        if (--b->users == 0)
            link_before(pool, blocks[i], b->text ? pool->total : pool->blocks[pool->total].next);
    }
}
