/**
 * @file scheduler.c
 * @brief Which tokens of which requests a decode engine computes in its next step.
 */
#include "scheduler.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "block_pool.h"

enum state { WAITING, RUNNING, OVER };

struct entry {
    struct entry *next; /* in its list: oldest first */
    long long number;
    enum state state;
    enum scheduler_end end;
    int *tokens; /* [count], room for prompt_count + max_new */
    int prompt_count, count, max_new;
    int computed; /* positions that are in the cache */
    int *stops, stop_count;
    int *blocks, block_count;
    int known;      /* how many of them, from the first on, are blocks of a text that the pool knows */
    long long text; /* up to the end of those */
    int copied;     /* of scheduler_piece */
    int slot;
    int cancelled, recomputed;
};

/* Requests in the order of their numbers; of results, in the order in which they ended. */
struct list {
    struct entry *first;
};

struct scheduler {
    struct scheduler_limits limits;
    struct block_pool pool;
    struct list waiting, running, over;
    long long numbers, taken, found;
    char *slots; /* [max_running] 1: taken */
    struct scheduler_piece *pieces;
    struct entry **planned; /* whose pieces they are */
    int piece_count, in_step;
};

/* ---- lists ------------------------------------------------------------------------------------------------ */

static void list_insert(struct list *list, struct entry *entry)
{
    struct entry **at = &list->first;
    while (*at != NULL && (*at)->number < entry->number) at = &(*at)->next;
    entry->next = *at;
    *at = entry;
}

static void list_append(struct list *list, struct entry *entry)
{
    struct entry **at = &list->first;
    while (*at != NULL) at = &(*at)->next;
    entry->next = NULL;
    *at = entry;
}

static void list_remove(struct list *list, struct entry *entry)
{
    struct entry **at = &list->first;
    while (*at != entry) at = &(*at)->next;
    *at = entry->next;
}

static int list_length(const struct list *list)
{
    int length = 0;
    for (const struct entry *e = list->first; e != NULL; e = e->next) length++;
    return length;
}

static void list_free(struct list *list)
{
    for (struct entry *e = list->first, *next; e != NULL; e = next) {
        next = e->next;
        free(e->tokens);
        free(e->stops);
        free(e->blocks);
        free(e);
    }
}

/* ---- from here to there ------------------------------------------------------------------------------------- */

struct scheduler *scheduler_open(const struct scheduler_limits *l)
{
    if (l->blocks < 1 || l->block_size < 1 || l->max_running < 1 || l->max_rows < l->max_running ||
        l->max_context < 1 || l->max_context == INT_MAX || l->vocab < 1)
        return NULL;
    struct scheduler *s = must_allocate(sizeof *s);
    *s = (struct scheduler){.limits = *l};
    block_pool_open(&s->pool, l->blocks, l->block_size);
    s->slots = must_allocate((size_t)l->max_running);
    memset(s->slots, 0, (size_t)l->max_running);
    s->pieces = must_allocate((size_t)l->max_running * sizeof *s->pieces);
    s->planned = must_allocate((size_t)l->max_running * sizeof(struct entry *));
    return s;
}

void scheduler_close(struct scheduler *s)
{
    if (s == NULL) return;
    list_free(&s->waiting);
    list_free(&s->running);
    list_free(&s->over);
    block_pool_close(&s->pool);
    free(s->slots);
    free(s->pieces);
    free(s->planned);
    free(s);
}

static int blocks_for(const struct scheduler *s, int positions)
{
    return positions / s->limits.block_size + (positions % s->limits.block_size != 0);
}

static int refuses(const struct scheduler *s, const struct scheduler_request *r, char *error)
{
    if (r->prompt_count < 1 || r->max_new < 1 || r->stop_count < 0) {
        snprintf(error, SCHEDULER_ERROR,
                 "a request needs a prompt of at least one token, and at least one to follow");
        return 1;
    }
    for (int i = 0; i < r->prompt_count; i++)
        if (r->prompt[i] < 0 || r->prompt[i] >= s->limits.vocab) {
            snprintf(error, SCHEDULER_ERROR, "token %d of the prompt is %d, and the vocabulary has %d", i,
                     r->prompt[i], s->limits.vocab);
            return 1;
        }
    /* The last token is sampled, never computed: it takes no position. */
    const long long positions = (long long)r->prompt_count + r->max_new - 1;
    if (positions > s->limits.max_context) {
        snprintf(error, SCHEDULER_ERROR,
                 "%d tokens and %d to follow take %lld positions, and the context has %d", r->prompt_count,
                 r->max_new, positions, s->limits.max_context);
        return 1;
    }
    if (blocks_for(s, (int)positions) > s->limits.blocks) {
        snprintf(error, SCHEDULER_ERROR, "%lld positions take %d blocks of %d, and the whole cache has %d",
                 positions, blocks_for(s, (int)positions), s->limits.block_size, s->limits.blocks);
        return 1;
    }
    return 0;
}

static int *copy_ints(const int *from, int count, int room)
{
    int *to = must_allocate(((size_t)room + 1) * sizeof *to);
    if (count > 0) memcpy(to, from, (size_t)count * sizeof *to);
    return to;
}

long long scheduler_add(struct scheduler *s, const struct scheduler_request *r, char error[SCHEDULER_ERROR])
{
    if (refuses(s, r, error)) return -1;
    struct entry *e = must_allocate(sizeof *e);
    const int positions = r->prompt_count + r->max_new;
    *e = (struct entry){.number = ++s->numbers,
                        .state = WAITING,
                        .tokens = copy_ints(r->prompt, r->prompt_count, positions),
                        .prompt_count = r->prompt_count,
                        .count = r->prompt_count,
                        .max_new = r->max_new,
                        .stops = copy_ints(r->stops, r->stop_count, r->stop_count),
                        .stop_count = r->stop_count,
                        .blocks = copy_ints(NULL, 0, blocks_for(s, positions))};
    list_insert(&s->waiting, e);
    return e->number;
}

static void give_blocks_up(struct scheduler *s, struct entry *e)
{
    block_pool_give(&s->pool, e->block_count, e->blocks);
    e->block_count = 0;
    e->computed = 0;
    s->slots[e->slot] = 0;
}

static void put_back(struct scheduler *s, struct entry *e)
{
    give_blocks_up(s, e);
    list_remove(&s->running, e);
    list_insert(&s->waiting, e); /* older than all that wait: at the front */
    e->state = WAITING;
    e->recomputed++;
}

static void end(struct scheduler *s, struct entry *e, enum scheduler_end how)
{
    if (e->state == RUNNING) give_blocks_up(s, e);
    list_remove(e->state == RUNNING ? &s->running : &s->waiting, e);
    list_append(&s->over, e);
    e->state = OVER;
    e->end = how;
}

/* ---- a step ------------------------------------------------------------------------------------------------- */

static int youngest_but(const struct scheduler *s, const struct entry *e, struct entry **youngest)
{
    *youngest = NULL;
    for (struct entry *other = s->running.first; other != NULL; other = other->next)
        if (other->number > e->number) *youngest = other;
    return *youngest != NULL;
}

/* Blocks for @p positions. Younger requests, of which none is planned yet, give up theirs for it; 0 if that is not enough. */
static int make_room(struct scheduler *s, struct entry *e, int positions)
{
    const int wanted = blocks_for(s, positions) - e->block_count;
    struct entry *youngest;
    if (wanted <= 0) return 1;
    while (block_pool_take(&s->pool, wanted, e->blocks + e->block_count) != 0) {
        if (!youngest_but(s, e, &youngest)) return 0;
        put_back(s, youngest);
    }
    e->block_count += wanted;
    return 1;
}

static void plan_piece(struct scheduler *s, struct entry *e, int count)
{
    s->planned[s->piece_count] = e;
    s->pieces[s->piece_count++] = (struct scheduler_piece){.request = e->number,
                                                           .slot = e->slot,
                                                           .first = e->computed,
                                                           .count = count,
                                                           .tokens = e->tokens + e->computed,
                                                           .blocks = e->blocks,
                                                           .block_count = e->block_count,
                                                           .samples = e->computed + count == e->count,
                                                           .copied = e->copied};
    e->copied = -1;
}

/* The newest token of everybody who is past the prompt, the oldest first. Rows are enough: max_rows >= max_running. */
static int plan_decode(struct scheduler *s, int rows)
{
    for (struct entry *e = s->running.first, *next; e != NULL; e = next) {
        const int decodes = e->count - e->computed == 1;
        if (decodes && make_room(s, e, e->computed + 1)) {
            plan_piece(s, e, 1);
            rows--;
        }
        next = e->next; /* read after make_room(), which may have removed younger ones */
    }
    return rows;
}

static int plan_prompt(struct scheduler *s, struct entry *e, int rows)
{
    const int left = e->count - e->computed, count = left < rows ? left : rows;
    plan_piece(s, e, count); /* its blocks were taken when it was taken in */
    return rows - count;
}

/* The token at which the next block of a text begins; NULL if there are not so many as @p count. */
static const int *next_block(const struct scheduler *s, const struct entry *e, int count)
{
    const int at = e->known * s->limits.block_size;
    return s->limits.share && count - at >= s->limits.block_size ? e->tokens + at : NULL;
}

/* Uses blocks that hold what a request begins with. The newest token's own is not used, but copied. */
static void share_blocks(struct scheduler *s, struct entry *e)
{
    e->known = 0, e->text = 0, e->copied = -1;
    for (const int *tokens; (tokens = next_block(s, e, e->count)) != NULL; e->known++) {
        const int block = block_pool_find(&s->pool, e->text, tokens);
        if (block < 0) return;
        if (tokens + s->limits.block_size == e->tokens + e->count) {
            e->copied = block;
            return;
        }
        block_pool_share(&s->pool, block);
        e->blocks[e->known] = block;
        e->text = s->pool.blocks[block].text;
    }
}

/* Takes in the oldest that waits, if there is a slot, and blocks for all that it has so far. The block that is copied may be taken, too,
 * by this request or a later one: copies are made in the order of the pieces, before anything is written. */
static int take_in(struct scheduler *s, struct entry *e)
{
    int slot = 0;
    if (list_length(&s->running) == s->limits.max_running) return 0;
    share_blocks(s, e);
    const int count = blocks_for(s, e->count);
    if (block_pool_take(&s->pool, count - e->known, e->blocks + e->known) != 0) {
        block_pool_give(&s->pool, e->known, e->blocks);
        return 0;
    }
    while (s->slots[slot]) slot++;
    s->slots[slot] = 1;
    e->slot = slot;
    e->block_count = count;
    e->computed = e->copied >= 0 ? e->count - 1 : e->known * s->limits.block_size;
    if (e->copied >= 0 && e->copied == e->blocks[e->known])
        e->copied = -1; /* the block was free, and is the request's own now: nothing to copy */
    s->taken += e->count, s->found += e->computed;
    list_remove(&s->waiting, e);
    list_insert(&s->running, e);
    e->state = RUNNING;
    return 1;
}

struct scheduler_step scheduler_plan(struct scheduler *s)
{
    struct scheduler_step step = {.pieces = s->pieces};
    if (s->in_step) {
        fprintf(stderr, "scheduler_plan: the last step has not been finished\n");
        abort();
    }
    s->piece_count = 0;
    int rows = plan_decode(s, s->limits.max_rows);
    for (struct entry *e = s->running.first; e != NULL && rows > 0; e = e->next)
        if (e->count - e->computed > 1) rows = plan_prompt(s, e, rows);
    for (struct entry *e; rows > 0 && (e = s->waiting.first) != NULL && take_in(s, e);)
        rows = plan_prompt(s, e, rows);
    step.count = s->piece_count;
    step.rows = s->limits.max_rows - rows;
    s->in_step = step.count > 0;
    return step;
}

/* Blocks that this step has filled can be found from now on. */
static void note_filled(struct scheduler *s, struct entry *e)
{
    for (const int *tokens; (tokens = next_block(s, e, e->computed)) != NULL; e->known++)
        e->text = block_pool_filled(&s->pool, e->blocks[e->known], e->text, tokens);
}

static int is_stop(const struct entry *e, int token)
{
    for (int i = 0; i < e->stop_count; i++)
        if (e->stops[i] == token) return 1;
    return 0;
}

void scheduler_finish(struct scheduler *s, const int *sampled)
{
    s->in_step = 0;
    for (int i = 0; i < s->piece_count; i++) {
        struct entry *e = s->planned[i];
        e->computed += s->pieces[i].count;
        note_filled(s, e);
        const int token = s->pieces[i].samples ? *sampled++ : 0;
        if (e->cancelled) {
            end(s, e, SCHEDULER_CANCELLED);
            continue;
        }
        if (!s->pieces[i].samples) continue;
        e->tokens[e->count++] = token;
        if (is_stop(e, token))
            end(s, e, SCHEDULER_STOP);
        else if (e->count - e->prompt_count == e->max_new)
            end(s, e, SCHEDULER_LENGTH);
    }
    s->piece_count = 0;
}

/* ---- around it ---------------------------------------------------------------------------------------------- */

static struct entry *find(const struct list *list, long long number)
{
    for (struct entry *e = list->first; e != NULL; e = e->next)
        if (e->number == number) return e;
    return NULL;
}

static int is_planned(const struct scheduler *s, const struct entry *e)
{
    for (int i = 0; i < s->piece_count; i++)
        if (s->planned[i] == e) return 1;
    return 0;
}

int scheduler_cancel(struct scheduler *s, long long request)
{
    struct entry *e = find(&s->running, request);
    if (e == NULL) e = find(&s->waiting, request);
    if (e == NULL || e->cancelled) return -1;
    if (s->in_step && is_planned(s, e))
        e->cancelled = 1;
    else
        end(s, e, SCHEDULER_CANCELLED);
    return 0;
}

int scheduler_take_result(struct scheduler *s, struct scheduler_result *result)
{
    struct entry *e = s->over.first;
    if (e == NULL) return 0;
    s->over.first = e->next;
    const int count = e->count - e->prompt_count;
    *result = (struct scheduler_result){.request = e->number,
                                        .end = e->end,
                                        .tokens = copy_ints(e->tokens + e->prompt_count, count, count),
                                        .count = count,
                                        .recomputed = e->recomputed};
    struct list alone = {e};
    e->next = NULL;
    list_free(&alone);
    return 1;
}

struct scheduler_counts scheduler_count(const struct scheduler *s)
{
    return (struct scheduler_counts){.waiting = list_length(&s->waiting),
                                     .running = list_length(&s->running),
                                     .free_blocks = s->pool.count,
                                     .taken = s->taken,
                                     .found = s->found};
}
