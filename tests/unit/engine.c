/**
 * @file engine.c
 * @brief Tests of a decode engine's host side: blocks, requests, sampled tokens.
 *
 * The scheduler is tried with a device that computes nothing: it writes each token where the block table says, and the token that
 * follows is a sum over all that it finds in the cache. So a block that two requests share, a position that was not computed again or
 * a table that is out of date changes what follows.
 */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/rng.h"
#include "engine/block_pool.h"
#include "engine/load.h"
#include "engine/sampler.h"
#include "engine/scheduler.h"

static int failures;

static void expect(int holds, const char *what)
{
    if (holds) return;
    printf("    %s\n", what);
    failures++;
}

/* ---- blocks ----------------------------------------------------------------------------------------------- */

static void test_blocks(void)
{
    enum { TOTAL = 50, STEPS = 2000 };
    struct block_pool pool;
    struct rng rng = {7};
    int held[TOTAL], count = 0, blocks[TOTAL], owner[TOTAL] = {0};
    block_pool_open(&pool, TOTAL, 1);
    expect(block_pool_take(&pool, TOTAL + 1, blocks) == -1 && pool.count == TOTAL,
           "more blocks than there are: none is taken");
    for (int step = 0; step < STEPS; step++) {
        const int wanted = rng_between(&rng, 0, 9);
        if (rng_between(&rng, 0, 1) && block_pool_take(&pool, wanted, blocks) == 0) {
            for (int i = 0; i < wanted; i++) {
                expect(blocks[i] >= 0 && blocks[i] < TOTAL && !owner[blocks[i]], "a block was given to two");
                owner[blocks[i]] = 1;
                held[count++] = blocks[i];
            }
        } else if (count > 0) {
            const int back = rng_between(&rng, 1, count), first = count - back;
            block_pool_give(&pool, back, held + first);
            for (int i = first; i < count; i++) owner[held[i]] = 0;
            count = first;
        }
        expect(pool.count + count == TOTAL, "blocks were lost");
    }
    block_pool_close(&pool);
}

/* Texts of two letters in blocks of one token: with five buckets, texts of equal hashes are the rule. */
static void test_texts(void)
{
    enum { TOTAL = 5 };
    const int a = 1, b = 2;
    struct block_pool pool;
    int blocks[TOTAL], again[2];
    block_pool_open(&pool, TOTAL, 1);
    expect(block_pool_take(&pool, 4, blocks) == 0 && block_pool_find(&pool, 0, &a) == -1, "an empty cache");
    const long long of_a = block_pool_filled(&pool, blocks[0], 0, &a),
                    of_ab = block_pool_filled(&pool, blocks[1], of_a, &b),
                    of_b = block_pool_filled(&pool, blocks[2], 0, &b);
    expect(of_a != of_b && of_ab != of_b && of_a != of_ab, "two texts have one number");
    expect(block_pool_filled(&pool, blocks[3], 0, &a) == of_a, "one text has two numbers");
    expect(block_pool_find(&pool, 0, &a) == blocks[0] && block_pool_find(&pool, of_a, &b) == blocks[1] &&
               block_pool_find(&pool, 0, &b) == blocks[2] && block_pool_find(&pool, of_b, &a) == -1,
           "not the block of that text");
    for (int i = 1; i < 100; i++)
        expect(block_pool_find(&pool, of_ab + i, &a) == -1, "the block of another text with these tokens");
    block_pool_share(&pool, blocks[0]);
    block_pool_give(&pool, 4, blocks);
    expect(pool.count == TOTAL - 1, "a block with two users is free when one of them is gone");
    block_pool_give(&pool, 1, blocks);
    expect(pool.count == TOTAL && block_pool_find(&pool, of_a, &b) == blocks[1],
           "a free block keeps its text");
    block_pool_share(&pool, blocks[2]);
    expect(block_pool_take(&pool, 2, again) == 0 && block_pool_find(&pool, 0, &a) == blocks[0],
           "blocks without a text are taken first");
    expect(block_pool_take(&pool, 1, again) == 0 && again[0] == blocks[1] &&
               block_pool_find(&pool, of_a, &b) == -1 && block_pool_find(&pool, 0, &a) == blocks[0],
           "then the one given back longest ago, which is forgotten");
    expect(block_pool_take(&pool, 2, again) == -1 && block_pool_find(&pool, 0, &b) == blocks[2],
           "a block in use is not taken");
    block_pool_close(&pool);
}

/* A block that is given back twice would be given to two: the program ends. */
static void test_given_back_twice(void)
{
    const pid_t child = fork();
    int status = 0, block;
    struct block_pool pool;
    if (child == 0) {
        if (freopen("/dev/null", "w", stderr) == NULL) _exit(1);
        block_pool_open(&pool, 3, 1);
        (void)block_pool_take(&pool, 1, &block);
        block_pool_give(&pool, 1, &block);
        block_pool_give(&pool, 1, &block);
        _exit(0);
    }
    expect(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT,
           "a block given back twice goes unnoticed");
}

/* ---- requests --------------------------------------------------------------------------------------------- */

enum { VOCAB = 1000, MOST_REQUESTS = 40, MOST_TOKENS = 200, STOP = 13 };

/* What one request asks for, and what must come of it. */
struct asked {
    int prompt[MOST_TOKENS], prompt_count, max_new;
    int expected[MOST_TOKENS], expected_count;
    enum scheduler_end end;
    int cancelled, over;
};

/* What requests begin with, if they share: one of two texts. */
static int common_token(int text, int position)
{
    return (position * 7 + text) % VOCAB;
}

static int next_token(const int *tokens, int count)
{
    uint64_t sum = 5;
    for (int i = 0; i < count; i++) sum = rng_mix(sum, (uint64_t)tokens[i]);
    return (int)(sum % VOCAB);
}

/* The request alone, without a cache. */
static void foresee(struct asked *a)
{
    int text[2 * MOST_TOKENS], count = a->prompt_count;
    memcpy(text, a->prompt, (size_t)count * sizeof *text);
    a->end = SCHEDULER_LENGTH;
    for (a->expected_count = 0; a->expected_count < a->max_new;) {
        const int token = next_token(text, count);
        a->expected[a->expected_count++] = text[count++] = token;
        if (token % 50 == STOP) {
            a->end = SCHEDULER_STOP;
            return;
        }
    }
}

static void make_request(struct asked *a, struct rng *rng, const struct scheduler_limits *l)
{
    int most = l->blocks * l->block_size < l->max_context ? l->blocks * l->block_size : l->max_context;
    if (most > MOST_TOKENS) most = MOST_TOKENS;
    a->prompt_count = rng_between(rng, 1, most);
    a->max_new = rng_between(rng, 1, most - a->prompt_count + 1);
    const int text = rng_between(rng, 0, 1), common = l->share ? rng_between(rng, 0, a->prompt_count) : 0;
    for (int i = 0; i < a->prompt_count; i++)
        a->prompt[i] = i < common ? common_token(text, i) : rng_between(rng, 0, VOCAB - 1);
    a->cancelled = a->over = 0;
    foresee(a);
}

/* A cache of tokens. What nobody has written is -1. */
struct device {
    const struct scheduler_limits *limits;
    int *cache; /* [blocks * block_size] */
};

static void copy_blocks(struct device *d, const struct scheduler_step *step)
{
    const int size = d->limits->block_size;
    for (int i = 0; i < step->count; i++) {
        const struct scheduler_piece *p = &step->pieces[i];
        if (p->copied >= 0)
            memmove(d->cache + p->blocks[p->first / size] * size, d->cache + p->copied * size,
                    (size_t)size * sizeof *d->cache);
    }
}

static int run_piece(struct device *d, const struct scheduler_piece *p)
{
    const int size = d->limits->block_size;
    int text[2 * MOST_TOKENS];
    expect(p->block_count * size >= p->first + p->count, "a table is too short for its positions");
    for (int i = 0; i < p->count; i++)
        d->cache[p->blocks[(p->first + i) / size] * size + (p->first + i) % size] = p->tokens[i];
    for (int i = 0; i < p->first + p->count; i++) text[i] = d->cache[p->blocks[i / size] * size + i % size];
    return next_token(text, p->first + p->count);
}

/* No position that is written is in the table of another request. */
static void check_step(const struct scheduler_step *step, const struct scheduler_limits *l)
{
    char *slots = calloc((size_t)l->max_running, 1);
    int *tables = calloc((size_t)l->blocks, sizeof *tables);
    for (int i = 0; i < step->count; i++)
        for (int b = 0; b < step->pieces[i].block_count; b++) tables[step->pieces[i].blocks[b]]++;
    int rows = 0, past_decode = 0;
    for (int i = 0; i < step->count; i++) {
        const struct scheduler_piece *p = &step->pieces[i];
        rows += p->count;
        if (p->count > 1 || !p->samples) past_decode = 1;
        expect(p->count >= 1, "an empty piece");
        expect(p->count == 1 || past_decode, "prompts before newest tokens");
        expect(p->slot >= 0 && p->slot < l->max_running && !slots[p->slot]++, "two requests in one slot");
        const int written = l->share ? p->first / l->block_size : 0;
        for (int b = written; b < p->block_count; b++)
            expect(tables[p->blocks[b]] == 1, "two requests in one step share a block, and one writes to it");
    }
    expect(rows == step->rows && rows <= l->max_rows, "more rows than there is room for");
    free(slots);
    free(tables);
}

static int take_results(struct scheduler *s, struct asked *asked, long long first)
{
    struct scheduler_result r;
    int recomputed = 0;
    while (scheduler_take_result(s, &r)) {
        struct asked *a = &asked[r.request - first];
        expect(!a->over, "a request ends twice");
        a->over = 1;
        recomputed += r.recomputed;
        const int same =
            r.count <= a->expected_count && memcmp(r.tokens, a->expected, (size_t)r.count * sizeof(int)) == 0;
        expect(same, "tokens are not those of the request alone");
        if (r.end == SCHEDULER_CANCELLED)
            expect(a->cancelled, "a request that nobody cancelled");
        else
            expect(r.end == a->end && r.count == a->expected_count, "a request ends too early or too late");
        free(r.tokens);
    }
    return recomputed;
}

/* Requests come at random, some are cancelled, some of them in a step. Returns how often blocks were given up; tokens that were taken,
 * found, and copied for are added to @p sums. */
static int run_randomly(uint64_t seed, int share, long long sums[3])
{
    struct rng rng = {seed};
    const int running = rng_between(&rng, 1, 6);
    const struct scheduler_limits limits = {.blocks = rng_between(&rng, 1, 24),
                                            .block_size = rng_between(&rng, 1, 16),
                                            .max_running = running,
                                            .max_rows = running + rng_between(&rng, 0, 40),
                                            .max_context = rng_between(&rng, 1, 150),
                                            .vocab = VOCAB,
                                            .share = share};
    struct scheduler *s = scheduler_open(&limits);
    struct asked *asked = calloc(MOST_REQUESTS, sizeof *asked);
    struct device device = {&limits, malloc((size_t)(limits.blocks * limits.block_size) * sizeof(int))};
    const int total = rng_between(&rng, 1, MOST_REQUESTS);
    int stops[VOCAB / 50], added = 0, recomputed = 0, sampled[8], steps = 0;
    char error[SCHEDULER_ERROR];
    for (int i = 0; i < VOCAB / 50; i++) stops[i] = 50 * i + STOP;
    for (int i = 0; i < limits.blocks * limits.block_size; i++) device.cache[i] = -1;
    for (struct scheduler_counts counts = {.waiting = 1};
         (added < total || counts.waiting + counts.running > 0) && steps < 200000; steps++) {
        if (added < total && rng_between(&rng, 0, 3) == 0) {
            struct asked *a = &asked[added++];
            make_request(a, &rng, &limits);
            const struct scheduler_request r = {a->prompt, a->prompt_count, a->max_new, stops, VOCAB / 50};
            expect(scheduler_add(s, &r, error) == added, "a request that fits is refused");
        }
        const struct scheduler_step step = scheduler_plan(s);
        counts = scheduler_count(s);
        expect(step.count > 0 || counts.waiting + counts.running == 0, "there is work, and nothing is done");
        check_step(&step, &limits);
        copy_blocks(&device, &step);
        int samples = 0;
        for (int i = 0; i < step.count; i++) {
            sums[2] += step.pieces[i].copied >= 0;
            const int token = run_piece(&device, &step.pieces[i]);
            if (step.pieces[i].samples) sampled[samples++] = token;
        }
        if (added > 0 && rng_between(&rng, 0, 60) == 0) {
            const int i = rng_between(&rng, 0, added - 1);
            asked[i].cancelled = scheduler_cancel(s, i + 1) == 0 || asked[i].cancelled;
        }
        scheduler_finish(s, sampled);
        recomputed += take_results(s, asked, 1);
        counts = scheduler_count(s);
    }
    for (int i = 0; i < total; i++) expect(asked[i].over, "a request never ends");
    const struct scheduler_counts end = scheduler_count(s);
    expect(end.free_blocks == limits.blocks, "blocks are not given back");
    sums[0] += end.taken, sums[1] += end.found;
    scheduler_close(s);
    free(asked);
    free(device.cache);
    return recomputed;
}

static void test_requests(void)
{
    int recomputed[2] = {0};
    long long sums[2][3] = {{0}};
    for (int share = 0; share < 2; share++)
        for (uint64_t seed = 1; seed <= 400; seed++)
            recomputed[share] += run_randomly(seed, share, sums[share]);
    expect(recomputed[0] > 100 && recomputed[1] > 100, "blocks never ran out: the test is too easy");
    expect(sums[0][1] == 0 && sums[0][2] == 0, "blocks are shared that should not be");
    expect(sums[1][1] > sums[1][0] / 8 && sums[1][2] > 50, "little is shared: the test is too easy");
}

/* Steps until the queue is empty, every token a 1; returns how many tokens were computed. */
static int compute_all(struct scheduler *s)
{
    enum { MOST_PIECES = 64 };
    int ones[MOST_PIECES], rows = 0;
    for (int i = 0; i < MOST_PIECES; i++) ones[i] = 1;
    for (struct scheduler_step step; (step = scheduler_plan(s)).count > 0; scheduler_finish(s, ones)) {
        if (step.count > MOST_PIECES) abort();
        rows += step.rows;
    }
    return rows;
}

/* Ten prompts of 64 tokens, 48 of which are the same, in blocks of 16: three blocks for all, one each; nine of the ten find 48 tokens.
 * Then the same prompt again: all of it is found, the last block copied, one token computed. */
static void test_shared(void)
{
    enum { COUNT = 10, LENGTH = 64, COMMON = 48 };
    const struct scheduler_limits limits = {40, 16, COUNT, 97, 200, VOCAB, 1};
    struct scheduler *s = scheduler_open(&limits);
    struct scheduler_result result;
    char error[SCHEDULER_ERROR];
    int prompt[LENGTH] = {0}, tokens[COUNT];
    for (int i = 0; i < COUNT; i++) {
        const struct scheduler_request r = {prompt, LENGTH, 2, NULL, 0};
        for (int j = COMMON; j < LENGTH; j++) prompt[j] = 1 + i;
        (void)scheduler_add(s, &r, error);
        if (i > 0) continue;
        (void)scheduler_plan(s); /* the first one alone: what it fills is found from the next step on */
        scheduler_finish(s, prompt);
    }
    const struct scheduler_step step = scheduler_plan(s);
    for (int i = 0; i < COUNT; i++) tokens[i] = 1;
    expect(step.count == 7 && step.rows == 97 && step.pieces[1].first == COMMON &&
               step.pieces[1].copied == -1,
           "one token and six pieces of what is not common");
    expect(scheduler_count(s).free_blocks == 40 - (4 + 1) - 6,
           "each takes one block beside those of the first");
    expect(scheduler_cancel(s, 1) == 0, "the owner is cancelled");
    scheduler_finish(s, tokens);
    expect(scheduler_count(s).free_blocks == 40 - 3 - 6, "its sharers keep what it computed");
    (void)compute_all(s);
    struct scheduler_counts counts = scheduler_count(s);
    expect(counts.taken == COUNT * LENGTH && counts.found == (COUNT - 1) * COMMON && counts.free_blocks == 40,
           "what is found");
    const struct scheduler_request again = {prompt, LENGTH, 1, NULL, 0};
    (void)scheduler_add(s, &again, error);
    expect(compute_all(s) == 1 && scheduler_count(s).found == counts.found + LENGTH - 1,
           "of a prompt that is known one token is computed");
    while (scheduler_take_result(s, &result)) free(result.tokens);
    scheduler_close(s);
}

static void expect_refusal(const struct scheduler_request *r, const char *words)
{
    const struct scheduler_limits limits = {4, 8, 2, 16, 100, VOCAB, 0};
    struct scheduler *s = scheduler_open(&limits);
    char error[SCHEDULER_ERROR] = "";
    expect(scheduler_add(s, r, error) == -1 && strstr(error, words) != NULL, words);
    expect(scheduler_count(s).waiting == 0, "what is refused does not wait");
    scheduler_close(s);
}

static void test_refusals(void)
{
    int prompt[40] = {0}, outside[] = {5, VOCAB};
    const struct scheduler_limits without_rows = {4, 8, 2, 1, 100, VOCAB, 0},
                                  without_blocks = {0, 8, 2, 2, 100, VOCAB, 0};
    expect(scheduler_open(&without_rows) == NULL && scheduler_open(&without_blocks) == NULL,
           "limits that cannot be");
    expect_refusal(&(struct scheduler_request){prompt, 0, 1, NULL, 0}, "at least one token");
    expect_refusal(&(struct scheduler_request){prompt, 1, 0, NULL, 0}, "at least one to follow");
    expect_refusal(&(struct scheduler_request){outside, 2, 1, NULL, 0}, "token 1 of the prompt is 1000");
    expect_refusal(&(struct scheduler_request){prompt, 40, 62, NULL, 0}, "the context has 100");
    expect_refusal(&(struct scheduler_request){prompt, 30, 4, NULL, 0}, "the whole cache has 4");
    const struct scheduler_limits limits = {4, 8, 2, 16, 32, VOCAB, 0};
    struct scheduler *s = scheduler_open(&limits);
    char error[SCHEDULER_ERROR];
    const struct scheduler_request whole = {prompt, 30, 3, NULL, 0};
    expect(scheduler_add(s, &whole, error) == 1, "a request of the whole context and cache is taken");
    expect(scheduler_cancel(s, 2) == -1 && scheduler_cancel(s, 1) == 0 && scheduler_cancel(s, 1) == -1,
           "what is over, or never was, cannot be cancelled");
    scheduler_close(s);
}

/* Steps with made-up tokens until somebody is over; the number of that request, 0 after ten steps without. */
static long long run_to_result(struct scheduler *s, enum scheduler_end *end)
{
    const int sampled[] = {1, 1, 1};
    struct scheduler_result r;
    for (int step = 0; step < 10; step++) {
        if (scheduler_take_result(s, &r)) {
            free(r.tokens);
            *end = r.end;
            return r.request;
        }
        (void)scheduler_plan(s);
        scheduler_finish(s, sampled);
    }
    return 0;
}

/* The second gives its blocks up for the first; the third, which could begin at once, waits behind it. */
static void test_order(void)
{
    const struct scheduler_limits limits = {4, 1, 2, 8, 8, VOCAB, 0};
    const int new_tokens[] = {4, 3, 1}, prompt = 0;
    struct scheduler *s = scheduler_open(&limits);
    enum scheduler_end how;
    char error[SCHEDULER_ERROR];
    for (int i = 0; i < 3; i++) {
        const struct scheduler_request r = {&prompt, 1, new_tokens[i], NULL, 0};
        expect(scheduler_add(s, &r, error) == i + 1, "a request that fits is refused");
    }
    for (int i = 0; i < 3; i++) expect(run_to_result(s, &how) == i + 1, "a younger request ended first");
    scheduler_close(s);
}

/* What waits ends at once when it is cancelled; what is being computed ends with the step, and keeps its blocks until then. */
static void test_cancelled_in_a_step(void)
{
    const struct scheduler_limits limits = {4, 1, 1, 8, 8, VOCAB, 0};
    const struct scheduler_request r = {(const int[]){1, 2}, 2, 3, NULL, 0};
    struct scheduler *s = scheduler_open(&limits);
    struct scheduler_result result;
    char error[SCHEDULER_ERROR];
    const int sampled = 7;
    (void)scheduler_add(s, &r, error);
    (void)scheduler_add(s, &r, error);
    (void)scheduler_plan(s);
    expect(scheduler_cancel(s, 2) == 0 && scheduler_count(s).waiting == 0 &&
               scheduler_take_result(s, &result) && result.request == 2 &&
               result.end == SCHEDULER_CANCELLED && result.count == 0,
           "what waits is not cancelled at once");
    free(result.tokens);
    expect(scheduler_cancel(s, 1) == 0 && scheduler_count(s).free_blocks == 2 &&
               !scheduler_take_result(s, &result),
           "what is being computed lost its blocks");
    scheduler_finish(s, &sampled);
    expect(scheduler_count(s).free_blocks == 4 && scheduler_take_result(s, &result) && result.count == 0,
           "what was cancelled in a step does not end with it");
    free(result.tokens);
    scheduler_close(s);
}

/* ---- sampled tokens --------------------------------------------------------------------------------------- */

/* Tokens that may be chosen, by sorting; 1 for each. */
static void find_allowed(char *allowed, const double *logits, int vocab, const struct sampling *s)
{
    double sum = 0.0, reached = 0.0;
    int order[MOST_TOKENS], kept = s->top_k > 0 && s->top_k < vocab ? s->top_k : vocab;
    for (int i = 0; i < vocab; i++) {
        int at = i;
        for (; at > 0 && logits[order[at - 1]] < logits[i]; at--) order[at] = order[at - 1];
        order[at] = i;
    }
    memset(allowed, 0, MOST_TOKENS);
    for (int i = 0; i < kept; i++) sum += exp((logits[order[i]] - logits[order[0]]) / s->temperature);
    for (int i = 0; i < kept && (i == 0 || reached < s->top_p * sum * (1 - 1e-12)); i++) {
        allowed[order[i]] = 1;
        reached += exp((logits[order[i]] - logits[order[0]]) / s->temperature);
    }
}

static void test_support_and_shares(void)
{
    enum { TRIES = 60, DRAWS = 2000, MOST = MOST_TOKENS };
    struct rng rng = {11};
    for (int try = 0; try < TRIES; try++) {
        const int vocab = rng_between(&rng, 1, try % 2 ? MOST : 30);
        const struct sampling s = {.temperature = 0.3 + 2.0 * rng_uniform(&rng),
                                   .top_k = try % 4 < 2 ? 0 : rng_between(&rng, 1, 12),
                                   .top_p = try % 3 == 0 ? 1.0 : 0.05 + 0.9 * rng_uniform(&rng),
                                   .seed = (uint64_t)try};
        float logits[MOST];
        double exact[MOST], weight[MOST], sum = 0.0;
        char allowed[MOST];
        int drawn[MOST] = {0};
        for (int i = 0; i < vocab; i++)
            exact[i] = logits[i] = (float)rng_between(&rng, -6, 6) * 0.5f; /* with equal ones */
        find_allowed(allowed, exact, vocab, &s);
        for (int i = 0; i < vocab; i++) sum += weight[i] = allowed[i] ? exp(exact[i] / s.temperature) : 0.0;
        for (int position = 0; position < DRAWS; position++)
            drawn[sample_token(logits, vocab, &s, position)]++;
        for (int i = 0; i < vocab; i++) {
            const double share = weight[i] / sum, deviation = sqrt(share * (1 - share) / DRAWS);
            expect(allowed[i] || drawn[i] == 0, "a token was chosen that top_k or top_p leaves out");
            /* 60 * 115 shares: beyond 6 deviations, and one draw, less than once in 10^5 runs */
            expect(fabs((double)drawn[i] / DRAWS - share) <= 6 * deviation + 1.0 / DRAWS,
                   "a token's share is not its probability");
        }
    }
}

static void test_large_vocabulary(void)
{
    enum { VOCABULARY = 151936 };
    float *logits = malloc(VOCABULARY * sizeof *logits);
    struct rng rng = {3};
    for (int i = 0; i < VOCABULARY; i++) logits[i] = (float)rng_normal(&rng);
    logits[777] = 8.0f;
    const struct sampling nucleus = {1.0, 0, 0.9, 1}, few = {1.0, 50, 1.0, 1};
    int below = 0, seen = 0;
    for (int position = 0; position < 30; position++) {
        const float limit = logits[sample_token(logits, VOCABULARY, &few, position)];
        int better = 0;
        for (int i = 0; i < VOCABULARY; i++) better += logits[i] > limit;
        expect(better < 50, "not one of the 50 most probable");
        below += logits[sample_token(logits, VOCABULARY, &nucleus, position)] < -0.35f;
        seen += limit == 8.0f;
    }
    /* Weighted by exp(x), normal x has mean 1: nine tenths of the probability lie above 1 - 1.28. */
    expect(below == 0, "the nucleus of 0.9 holds what is in the last tenth");
    expect(seen > 0, "the most probable of 50 is never chosen");
    free(logits);
}

static void test_special_logits(void)
{
    const float inf = INFINITY, equal[] = {1, 3, 3, 2}, none[] = {-inf, -inf}, nan[] = {0, NAN},
                two[] = {0, inf, 5, inf}, masked[] = {-inf, 0, -inf};
    const struct sampling greedy = {0.0, 0, 1.0, 0}, warm = {1.0, 0, 1.0, 0}, cold = {1e-300, 0, 1.0, 0};
    int counts[4] = {0};
    expect(sample_token(equal, 4, &greedy, 0) == 1, "of equal logits the first");
    expect(sample_token(equal, 4, &(struct sampling){1.0, 1, 1.0, 0}, 0) == 1,
           "top_k 1 is the most probable");
    expect(sample_token(none, 2, &warm, 0) == -1 && sample_token(none, 2, &greedy, 0) == -1,
           "all impossible");
    expect(sample_token(nan, 2, &warm, 0) == -1 && sample_token(nan, 2, &greedy, 0) == -1, "not a number");
    for (int i = 0; i < 200; i++) {
        counts[sample_token(two, 4, &warm, i)]++;
        expect(sample_token(masked, 3, &warm, i) == 1, "-INFINITY is never chosen");
        const int token = sample_token(equal, 4, &cold, i);
        expect(token == 1 || token == 2, "nearly no temperature: one of the largest");
    }
    expect(counts[0] == 0 && counts[2] == 0 && counts[1] > 50 && counts[3] > 50,
           "+INFINITY: only such, evenly");
}

static void test_settings(void)
{
    const float logits[] = {0, 0, 0, 0, 0, 0, 0, 0};
    const struct sampling one = {1.0, 0, 1.0, 1}, other = {1.0, 0, 1.0, 2};
    int differ = 0;
    for (int i = 0; i < 100; i++) {
        expect(sample_token(logits, 8, &one, i) == sample_token(logits, 8, &one, i), "the same again");
        differ += sample_token(logits, 8, &one, i) != sample_token(logits, 8, &other, i);
    }
    expect(differ > 50, "another seed, other tokens");
    expect(sampling_check(&one) == NULL, "good settings");
    const struct sampling wrong[] = {{-1, 0, 1, 0}, {NAN, 0, 1, 0}, {INFINITY, 0, 1, 0}, {1, -1, 1, 0},
                                     {1, 0, 0, 0},  {1, 0, 1.5, 0}, {1, 0, NAN, 0}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        expect(sampling_check(&wrong[i]) != NULL, "wrong settings are accepted");
}

/* ---- load ------------------------------------------------------------------------------------------------- */

static double one_second(void *context, const struct scheduler_step *step)
{
    (void)context, (void)step;
    return 1.0;
}

/* A step of as many seconds as it has rows: what is found is saved. */
static double rows_seconds(void *context, const struct scheduler_step *step)
{
    (void)context;
    return step->rows;
}

/* Prompts of 100 tokens, 60 of which all have in common: of blocks of 4 all but the first request finds 60. */
static void test_load_shared(void)
{
    enum { COUNT = 200 };
    const struct load_lengths lengths = {100.0, 20.0, 0.0, 100, NULL, 0, 0.6};
    struct scheduler_limits limits = {4000, 4, 6, 130, 2000, COUNT + 1, 1};
    struct load_request *requests = malloc(COUNT * sizeof *requests);
    struct load_result shared, alone;
    char error[SCHEDULER_ERROR];
    load_make(requests, COUNT, 1e-3, &lengths, 5);
    expect(requests[0].common == 60, "what is common");
    expect(load_run(requests, COUNT, &limits, rows_seconds, NULL, &shared, error) == 0, "a load runs");
    const double rate = 0.6 * (COUNT - 1) / COUNT;
    expect(shared.hit_rate <= rate && shared.hit_rate > rate - 0.01, "the hit rate is not the common share");
    limits.share = 0;
    expect(load_run(requests, COUNT, &limits, rows_seconds, NULL, &alone, error) == 0 &&
               alone.hit_rate == 0.0,
           "a hit rate without sharing");
    expect(shared.first.at_50 < 0.6 * alone.first.at_50 && shared.blocks < alone.blocks &&
               shared.busy < alone.busy,
           "sharing saves no time and no blocks");
    free(requests);
}

/* One place and one step of a second per request is a queue M/D/1: rho^2 / (2 (1 - rho)) requests wait in the mean (Pollaczek and
 * Khinchine). Arrivals within a step are queued at its end, half a second late in the mean while it runs: of a queue's mean that is
 * rate * busy * 0.5 = rho^2 / 2 less. */
static void test_load(void)
{
    enum { COUNT = 100000 };
    const struct load_lengths ones = {1.0, 1.0, 0.0, 8, NULL, 0, 0.0},
                              random = {100.0, 20.0, 0.6, 100, NULL, 0, 0.0};
    const struct scheduler_limits one = {4, 4, 1, 1, 8, COUNT + 1, 0},
                                  some = {60, 4, 6, 30, 2000, COUNT + 1, 0};
    struct load_request *requests = malloc(COUNT * sizeof *requests);
    struct load_result result, again;
    char error[SCHEDULER_ERROR];
    const double rates[] = {0.5, 0.8};
    for (int i = 0; i < 2; i++) {
        const double rho = rates[i], waiting = rho * rho / (2.0 * (1.0 - rho)) - rho * rho / 2.0;
        load_make(requests, COUNT, rho, &ones, 3);
        expect(load_run(requests, COUNT, &one, one_second, NULL, &result, error) == 0, "a load runs");
        /* the queue at 0.8 forgets within some tens of requests: thousands of means of their own, 5% are two of their deviations */
        expect(fabs(result.waiting - waiting) < 0.05 * waiting, "the queue is not that of M/D/1");
        expect(fabs(result.busy - rho) < 0.01, "the load is not rate times work");
        expect(result.steps == COUNT && result.between.at_99 == 0.0 && result.first.at_50 >= 1.0,
               "one step each");
    }
    load_make(requests, 300, 1e-4, &random, 4);
    double mean = 0.0;
    for (int i = 0; i < 300; i++) mean += requests[i].output / 300.0;
    expect(fabs(mean - 20.0) < 3.0 * 20.0 * 0.66 / sqrt(300.0), "log-normal lengths have their mean");
    expect(load_run(requests, 300, &some, one_second, NULL, &result, error) == 0 &&
               result.most_waiting <= 1 && result.between.at_99 == 1.0,
           "alone, a request has a token per step");
    load_make(requests, 300, 10.0, &random, 4);
    expect(load_run(requests, 300, &some, one_second, NULL, &result, error) == 0 && result.recomputed > 0,
           "a cache with few blocks makes requests give theirs up, and all end");
    expect(load_run(requests, 300, &some, one_second, NULL, &again, error) == 0 &&
               memcmp(&result, &again, sizeof result) == 0,
           "the same load twice gives the same");
    requests[0].prompt = 5000;
    expect(load_run(requests, 300, &some, one_second, NULL, &result, error) == -1,
           "a request that cannot end");
    free(requests);
}

int main(void)
{
    test_blocks();
    test_texts();
    test_load();
    test_load_shared();
    test_given_back_twice();
    test_requests();
    test_shared();
    test_order();
    test_cancelled_in_a_step();
    test_refusals();
    test_support_and_shares();
    test_large_vocabulary();
    test_special_logits();
    test_settings();
    printf("%d failures\n", failures);
    return failures != 0;
}
