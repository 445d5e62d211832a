/**
 * @file load.c
 * @brief An engine under load: requests that arrive at random, and what each of them waits.
 */
#include "load.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/text.h"

/* ---- requests ------------------------------------------------------------------------------------------------- */

/* Log-normal with that mean: the logarithm has the mean log(mean) - spread^2 / 2. */
static int draw_length(struct rng *rng, double mean, double spread, int most)
{
    const double length = round(mean * exp(spread * rng_normal(rng) - spread * spread / 2));
    return length < 1.0 ? 1 : length > (double)most ? most : (int)length;
}

void load_make(struct load_request *requests, int count, double rate, const struct load_lengths *l,
               uint64_t seed)
{
    struct rng gaps = {rng_mix(seed, 1)}, lengths = {rng_mix(seed, 2)};
    double now = 0.0;
    for (int i = 0; i < count; i++) {
        now += -log(1.0 - rng_uniform(&gaps)) / rate;
        requests[i].arrival = now;
        if (l->pair_count > 0) {
            const int at = rng_between(&lengths, 0, l->pair_count - 1);
            requests[i].prompt = l->pairs[2 * at], requests[i].output = l->pairs[2 * at + 1];
        } else {
            requests[i].prompt = draw_length(&lengths, l->prompt, l->spread, l->most);
            requests[i].output = draw_length(&lengths, l->output, l->spread, l->most);
        }
        requests[i].common = (int)(l->common * requests[i].prompt);
    }
}

/* ---- a run ---------------------------------------------------------------------------------------------------- */

/* What is written down while a load runs. */
struct record {
    const struct load_request *requests;
    int count, added, ended, total_blocks;
    double now, busy, waiting, running, blocks; /* the last three: requests and blocks times seconds */
    double *last;                     /* [count] when the request's newest token came; below 0: none yet */
    double *first, *between, *tokens; /* waits, and when tokens came */
    size_t tokens_count, between_count;
    double *ends; /* [count] */
};

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Of sorted values the one that a share of them does not exceed. */
static double at_share(const double *sorted, size_t count, double share)
{
    if (count == 0) return 0.0;
    const size_t rank = (size_t)ceil(share * (double)count);
    return sorted[rank > 0 ? rank - 1 : 0];
}

static struct load_percentiles percentiles(double *values, size_t count)
{
    qsort(values, count, sizeof *values, by_value);
    return (struct load_percentiles){at_share(values, count, 0.5), at_share(values, count, 0.9),
                                     at_share(values, count, 0.99)};
}

/* Queues all requests that have arrived; -1 if one is refused. Tokens of the common text are 0, all others are the request's number. */
static int take_arrivals(struct record *r, struct scheduler *scheduler, int *prompt,
                         char error[SCHEDULER_ERROR])
{
    for (; r->added < r->count && r->requests[r->added].arrival <= r->now; r->added++) {
        const struct load_request *from = &r->requests[r->added];
        const struct scheduler_request request = {prompt, from->prompt, from->output, NULL, 0};
        for (int i = 0; i < from->prompt; i++) prompt[i] = i < from->common ? 0 : r->added + 1;
        if (scheduler_add(scheduler, &request, error) < 0) return -1;
    }
    return 0;
}

/* The token of every piece that samples has come: the request's number, from 1 on. */
static void note_tokens(struct record *r, const struct scheduler_step *step, int *sampled)
{
    for (int i = 0; i < step->count; i++) {
        const long long request = step->pieces[i].request - 1;
        if (!step->pieces[i].samples) continue;
        *sampled++ = (int)request + 1;
        if (r->last[request] < 0.0)
            r->first[request] = r->now - r->requests[request].arrival;
        else
            r->between[r->between_count++] = r->now - r->last[request];
        r->last[request] = r->now;
        r->tokens[r->tokens_count++] = r->now;
    }
}

/* Time passes, and nobody comes or goes meanwhile. */
static void pass(struct record *r, const struct scheduler *scheduler, double seconds, int busy)
{
    const struct scheduler_counts counts = scheduler_count(scheduler);
    r->now += seconds;
    r->busy += busy ? seconds : 0.0;
    r->waiting += (double)counts.waiting * seconds;
    r->running += (double)counts.running * seconds;
    r->blocks += (double)(r->total_blocks - counts.free_blocks) * seconds;
}

static void summarize(struct record *r, struct load_result *result)
{
    qsort(r->ends, (size_t)r->count, sizeof *r->ends, by_value);
    const int first = r->count / 5, last = r->count - 1 - r->count / 5;
    const double begin = r->ends[first], end = r->ends[last];
    size_t within = 0;
    for (size_t i = 0; i < r->tokens_count; i++) within += r->tokens[i] > begin && r->tokens[i] <= end;
    if (end > begin) {
        result->tokens_per_second = (double)within / (end - begin);
        result->requests_per_second = (double)(last - first) / (end - begin);
    }
    result->first = percentiles(r->first, (size_t)r->count);
    result->between = percentiles(r->between, r->between_count);
    result->waiting = r->waiting / r->now;
    result->running = r->running / r->now;
    result->blocks = r->blocks / r->now;
    result->busy = r->busy / r->now;
}

static int run_all(struct record *r, struct scheduler *scheduler, int *tokens,
                   double (*seconds)(void *, const struct scheduler_step *), void *context,
                   struct load_result *result, char error[SCHEDULER_ERROR])
{
    struct scheduler_result over;
    while (r->ended < r->count) {
        if (take_arrivals(r, scheduler, tokens, error) != 0) return -1;
        const int waiting = scheduler_count(scheduler).waiting;
        if (waiting > result->most_waiting) result->most_waiting = waiting;
        const struct scheduler_step step = scheduler_plan(scheduler);
        if (step.count == 0) {
            scheduler_finish(scheduler, tokens);
            const double next = r->requests[r->added].arrival; /* there is one: some have not ended */
            pass(r, scheduler, next - r->now, 0);
            r->now = next;
            continue;
        }
        pass(r, scheduler, seconds(context, &step), 1);
        result->steps++;
        note_tokens(r, &step, tokens);
        scheduler_finish(scheduler, tokens);
        while (scheduler_take_result(scheduler, &over)) {
            result->recomputed += over.recomputed;
            r->ends[r->ended++] = r->now;
            free(over.tokens);
        }
    }
    const struct scheduler_counts counts = scheduler_count(scheduler);
    result->hit_rate = (double)counts.found / (double)counts.taken;
    return 0;
}

int load_run(const struct load_request *requests, int count, const struct scheduler_limits *limits,
             double (*seconds)(void *, const struct scheduler_step *), void *context,
             struct load_result *result, char error[SCHEDULER_ERROR])
{
    size_t tokens = 1, longest = (size_t)limits->max_running;
    for (int i = 0; i < count; i++) {
        tokens += (size_t)requests[i].output;
        if ((size_t)requests[i].prompt > longest) longest = (size_t)requests[i].prompt;
    }
    const size_t all = (size_t)count;
    double *memory = must_allocate((3 * all + 2 * tokens) * sizeof *memory);
    int *prompt = must_allocate(longest * sizeof *prompt); /* or what a step samples */
    struct record r = {.requests = requests, .count = count, .total_blocks = limits->blocks};
    r.last = memory, r.first = memory + all, r.ends = memory + 2 * all, r.between = memory + 3 * all;
    r.tokens = r.between + tokens;
    for (int i = 0; i < count; i++) r.last[i] = -1.0;
    *result = (struct load_result){0};
    struct scheduler *scheduler = scheduler_open(limits);
    if (scheduler == NULL) abort();
    const int failed = run_all(&r, scheduler, prompt, seconds, context, result, error);
    if (!failed) summarize(&r, result);
    scheduler_close(scheduler);
    free(memory);
    free(prompt);
    return failed;
}
