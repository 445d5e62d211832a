/**
 * @file serve_bench.c
 * @brief warpwise serve-bench: what requests wait that arrive at random, at one rate after another.
 *
 * The requests, blocks and steps are those of lesson 17's engine (common/engine). How long a step takes is modelled from data sheets:
 *
 *     seconds = max(bytes / bandwidth, operations / peak) + kernels * launch
 *     bytes   the layers' weights and the head once (of experts those that are hit); keys and values of every position that is seen
 *             once per request; what is appended
 *
 * With `--common S` the first S of every prompt is the beginning of one text, whose blocks are shared.
 *
 * So the curves are those of a machine that reaches its data sheet; where they bend can be calculated (find_limit).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/plot.h"
#include "base/terminal.h"
#include "base/text.h"
#include "companion.h"
#include "course/command.h"
#include "course/course.h"
#include "course/places.h"
#include "engine/load.h"
#include "model/model.h"

enum { BLOCK = 16, MOST_BLOCKS = 1000000, MOST_RATES = 32, MOST_FILE = 1 << 24 };

/* Data sheets: memory, its bandwidth, dense f16 tensor operations per second. */
static const struct chip {
    const char *name;
    double memory, bandwidth, peak;
} chips[] = {
    {"a100", 80e9, 2.039e12, 312e12}, {"h100", 80e9, 3.35e12, 989e12}, {"h200", 141e9, 4.8e12, 989e12}};

/* What a run is about. */
struct serve_bench {
    struct model_config model;
    const struct chip *chip;
    double launch; /* seconds of each kernel beside its work */
    struct scheduler_limits limits;
    struct load_lengths lengths;
    int requests;
    uint64_t seed;
    double limit; /* requests per second, see find_limit() */
    double rates[MOST_RATES];
    int rate_count;
    struct load_result results[MOST_RATES];
};

/* ---- how long a step takes ------------------------------------------------------------------------------------ */

/* What a step has to do. */
struct work {
    double rows, wanted; /* tokens, and those whose logits are wanted */
    double positions;    /* whose keys and values are loaded */
    double pairs;        /* of a query and a key */
};

/* Weights of all layers but experts; of one expert in all layers. */
static void count_weights(const struct model_config *c, double *shared, double *of_expert)
{
    *shared = *of_expert = 0.0;
    for (int id = 0; id < MODEL_LAYER_TENSORS; id++) {
        int64_t rows, columns;
        model_shape(c, (enum model_tensor)id, &rows, &columns);
        const int mlp = id >= MODEL_GATE && id <= MODEL_DOWN;
        *(mlp && c->experts > 0 ? of_expert : shared) += (double)rows * (double)columns * c->layers;
    }
}

/* Of a weight of the layers. 4 bits: and f16 scale and zero of a group. */
static double weight_bytes(const struct model_config *c)
{
    const double group = c->group > 0 ? c->group : c->hidden;
    return c->storage == MODEL_FLOATS ? 2.0 : c->storage == MODEL_INT8 ? 1.0 : 0.5 + 2.5 / group;
}

/* Keys and values of a position, f16. */
static double position_bytes(const struct model_config *c)
{
    return 4.0 * c->layers * c->kv_heads * c->head_dim;
}

static double all_weight_bytes(const struct model_config *c)
{
    double shared, of_expert;
    count_weights(c, &shared, &of_expert);
    return weight_bytes(c) * (shared + of_expert * c->experts) +
           2.0 * (c->tied ? 1 : 2) * c->vocab * c->hidden;
}

static double step_seconds(const struct serve_bench *b, const struct work *w)
{
    const struct model_config *c = &b->model;
    double shared, of_expert;
    count_weights(c, &shared, &of_expert);
    const double head = (double)c->vocab * c->hidden;
    const double hit =
        c->experts > 0 ? c->experts * (1.0 - pow(1.0 - (double)c->top_k / c->experts, w->rows)) : 0.0;
    const double bytes = weight_bytes(c) * (shared + of_expert * hit) + (w->wanted > 0.0 ? 2.0 * head : 0.0) +
                         position_bytes(c) * (w->positions + w->rows);
    const double operations = 2.0 * w->rows * (shared + of_expert * c->top_k) + 2.0 * w->wanted * head +
                              4.0 * c->layers * c->heads * c->head_dim * w->pairs;
    const double kernels = 2.0 + (w->rows > 2.0 ? 6.0 : 5.0) * c->layers;
    return fmax(bytes / b->chip->bandwidth, operations / b->chip->peak) + kernels * b->launch;
}

static double seconds_of(void *context, const struct scheduler_step *step)
{
    struct work work = {.rows = step->rows};
    for (int i = 0; i < step->count; i++) {
        const struct scheduler_piece *p = &step->pieces[i];
        work.wanted += p->samples;
        work.positions += p->first;
        work.pairs += (double)p->count * (p->first + (p->count + 1) / 2.0);
    }
    return step_seconds(context, &work);
}

/* Positions of a prompt that the cache has, in the long run: full blocks of the common text, but never all of a prompt. */
static double found_of(const struct serve_bench *b, const struct load_request *request)
{
    if (!b->limits.share) return 0.0;
    return request->common < request->prompt || request->common % BLOCK != 0 ? request->common / BLOCK * BLOCK
                                                                             : request->prompt - 1;
}

/**
 * The largest rate in the long run, all B places taken (fewer, where the cache has no blocks for B requests of mean length). A request
 * holds its place for a step per token, the first of which ends its prompt, and for one more per further piece of the prompt: R steps.
 * So B / R requests leave per step. A step takes as long as B tokens do, over keys of the mean length of a running request, and the
 * pieces of B / R prompts, without what is found, add what each adds to such a step: a step is limited by bytes or by operations, so one with a piece of a
 * prompt and one without are not two of mean size. Pieces of several prompts in one step count as if they came one by one.
 */
static double find_limit(const struct serve_bench *b, const struct load_request *requests)
{
    double held = 0.0, steps = 0.0, output = 0.0, prompts = 0.0, shared = 0.0, longest = 0.0;
    for (int i = 0; i < b->requests; i++) {
        const double found = found_of(b, &requests[i]);
        output += requests[i].output;
        /* positions times steps */
        held += requests[i].output * (requests[i].prompt + requests[i].output / 2.0);
        shared += requests[i].output * found;
        longest = fmax(longest, found);
    }
    const double length = held / output, own = length - shared / output + BLOCK / 2.0;
    const double taken = fmin(b->limits.max_running, fmax(b->limits.blocks * BLOCK - longest, own) / own);
    const double room = fmax(b->limits.max_rows - taken, 1.0);
    const struct work tokens = {taken, taken, taken * length, taken * length};
    const double without = step_seconds(b, &tokens);
    for (int i = 0; i < b->requests; i++) {
        steps += requests[i].output - 1;
        for (double at = found_of(b, &requests[i]), piece; at < requests[i].prompt; at += piece, steps++) {
            piece = fmin(room, requests[i].prompt - at);
            struct work more = tokens;
            more.rows += piece, more.positions += at, more.pairs += piece * (at + (piece + 1) / 2);
            prompts += step_seconds(b, &more) - without;
        }
    }
    const double leave = taken * b->requests / steps; /* per step */
    return leave / (without + leave * prompts / b->requests);
}

/* ---- options -------------------------------------------------------------------------------------------------- */

/* A number of the command line; 0, or -1 after a complaint. */
static int take_number(const struct command_line *line, const char *name, double least, double most,
                       double *to)
{
    const char *text = option_value(line, name);
    char *end;
    if (text == NULL) return 0;
    const double value = strtod(text, &end);
    if (*text == '\0' || *end != '\0' || !(value >= least && value <= most)) {
        (void)complain("%s is a number from %g to %g.", name, least, most);
        return -1;
    }
    *to = value;
    return 0;
}

/* Whole numbers of a file, prompt and output of a request after each other; -1 after a complaint. */
static int take_pairs(const char *path, struct load_lengths *lengths)
{
    struct text text = {0};
    if (read_file(path, &text) != 0 || text.length == 0 || text.length > MOST_FILE) {
        (void)complain("%s cannot be read, is empty or too long.", path);
        return -1;
    }
    int *pairs = must_allocate(text.length * sizeof *pairs), count = 0;
    char *at = text.data, *end;
    for (long value; (value = strtol(at, &end, 10)), end != at; at = end + (*end == ',')) {
        if (value < 1 || value > lengths->most) break;
        pairs[count++] = (int)value;
    }
    const int wrong = at[strspn(at, " \t\r\n")] != '\0' || count == 0 || count % 2 != 0;
    text_free(&text);
    if (wrong) {
        (void)complain("%s: pairs of whole numbers are needed, prompt,output, each from 1 to %d.", path,
                       lengths->most);
        return -1;
    }
    lengths->pairs = pairs, lengths->pair_count = count / 2;
    return 0;
}

static int take_model(const struct command_line *line, struct serve_bench *b)
{
    const char *name = option_value(line, "--model"), *chip = option_value(line, "--chip");
    char error[MODEL_ERROR] = "", *path;
    name = name != NULL ? name : "8B", chip = chip != NULL ? chip : "h100";
    path = strcmp(name, "tiny") == 0 ? in_source("reference/tiny_model/config.json")
                                     : format_string("%s/config.json", name);
    if (model_config_named(&b->model, name) != 0 && model_config_read(&b->model, path, error) != 0)
        return complain("%s.", error);
    for (size_t i = 0; i < sizeof chips / sizeof chips[0]; i++)
        if (strcmp(chips[i].name, chip) == 0) b->chip = &chips[i];
    return b->chip != NULL ? EXIT_PASS : complain("--chip is one of a100, h100 and h200.");
}

static int take_options(const struct command_line *line, struct serve_bench *b)
{
    double running = 64, rows = 512, requests = 500, seed = 1, blocks = 0, launch = 2;
    b->lengths = (struct load_lengths){.prompt = 512, .output = 128, .spread = 0.6, .most = 32768};
    if (take_model(line, b) != EXIT_PASS) return EXIT_TROUBLE;
    if (take_number(line, "--running", 1, 4096, &running) || take_number(line, "--chunk", 1, 65535, &rows) ||
        take_number(line, "--requests", 10, 1e5, &requests) || take_number(line, "--seed", 0, 9e15, &seed) ||
        take_number(line, "--blocks", 1, MOST_BLOCKS, &blocks) ||
        take_number(line, "--launch", 0, 1e6, &launch) ||
        take_number(line, "--prompt", 1, 32768, &b->lengths.prompt) ||
        take_number(line, "--output", 1, 32768, &b->lengths.output) ||
        take_number(line, "--spread", 0, 3, &b->lengths.spread) ||
        take_number(line, "--common", 0, 1, &b->lengths.common))
        return EXIT_TROUBLE;
    const char *file = option_value(line, "--lengths");
    if (file != NULL && take_pairs(file, &b->lengths) != 0) return EXIT_TROUBLE;
    const double room = 0.9 * b->chip->memory - all_weight_bytes(&b->model);
    if (blocks == 0) blocks = fmin(floor(room / (BLOCK * position_bytes(&b->model))), MOST_BLOCKS);
    if (blocks < 1) return complain("the model does not fit the memory of the %s.", b->chip->name);
    b->launch = launch * 1e-6, b->requests = (int)requests, b->seed = (uint64_t)seed;
    b->limits = (struct scheduler_limits){(int)blocks,
                                          BLOCK,
                                          (int)running,
                                          (int)fmax(rows, running),
                                          2 * b->lengths.most,
                                          b->requests + 1,
                                          option_value(line, "--unshared") == NULL};
    return EXIT_PASS;
}

/* Rates from the command line, or shares of the limit. */
static int take_rates(const struct command_line *line, struct serve_bench *b)
{
    static const double shares[] = {0.2, 0.4, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5};
    const char *text = option_value(line, "--rates");
    for (size_t i = 0; text == NULL && i < sizeof shares / sizeof shares[0]; i++)
        b->rates[b->rate_count++] = shares[i] * b->limit;
    for (char *end; text != NULL && *text && b->rate_count < MOST_RATES; text = *end == ',' ? end + 1 : end) {
        const double rate = strtod(text, &end);
        if (end == text || !(rate > 0.0 && rate < 1e9) || (*end != '\0' && *end != ','))
            return complain("--rates is a list of requests per second: 1,2,4.");
        b->rates[b->rate_count++] = rate;
    }
    return b->rate_count > 0 ? EXIT_PASS : complain("--rates is empty.");
}

/* ---- what is shown -------------------------------------------------------------------------------------------- */

static void print_table(const struct serve_bench *b)
{
    printf("                          first token, ms         between tokens, ms        requests\n"
           "requests/s  load  tokens/s     50%%    90%%    99%%     50%%    90%%    99%%   waiting  most  "
           "running  blocks  hit rate\n");
    for (int i = 0; i < b->rate_count; i++) {
        const struct load_result *r = &b->results[i];
        printf("%10.2f %5.2f %9.0f %7.0f %6.0f %6.0f %7.1f %6.1f %6.1f %9.1f %5d %8.1f %7.0f %8.1f%%\n",
               b->rates[i], b->rates[i] / b->limit, r->tokens_per_second, 1e3 * r->first.at_50,
               1e3 * r->first.at_90, 1e3 * r->first.at_99, 1e3 * r->between.at_50, 1e3 * r->between.at_90,
               1e3 * r->between.at_99, r->waiting, r->most_waiting, r->running, r->blocks,
               100.0 * r->hit_rate);
    }
}

static int write_serve_csv(const struct serve_bench *b, const char *path)
{
    struct text text = {0};
    text_print(
        &text,
        "rate,load,requests_per_second,tokens_per_second,first_50_s,first_90_s,first_99_s,between_50_s,"
        "between_90_s,between_99_s,waiting,most_waiting,running,busy,steps,recomputed,blocks,hit_rate\n");
    for (int i = 0; i < b->rate_count; i++) {
        const struct load_result *r = &b->results[i];
        text_print(
            &text, "%.6g,%.4f,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%d,%.6g,%.4f,%lld,%d,%.6g,%.4f\n",
            b->rates[i], b->rates[i] / b->limit, r->requests_per_second, r->tokens_per_second, r->first.at_50,
            r->first.at_90, r->first.at_99, r->between.at_50, r->between.at_90, r->between.at_99, r->waiting,
            r->most_waiting, r->running, r->busy, r->steps, r->recomputed, r->blocks, r->hit_rate);
    }
    const int failed = write_file(path, text.data, text.length);
    text_free(&text);
    return failed ? complain("%s cannot be written.", path) : EXIT_PASS;
}

/* One chart over the rate: values as @p series, and the limit as a dashed line. */
static int draw_chart(const struct serve_bench *b, const char *folder, const char *name, const char *y_title,
                      const struct series *series, int count)
{
    double least = INFINITY, most = 0.0;
    for (int i = 0; i < count; i++)
        for (int j = 0; j < series[i].count; j++) {
            least = fmin(least, series[i].y[j]);
            most = fmax(most, series[i].y[j]);
        }
    struct svg svg = {.width = 640, .height = 360};
    struct axis x = {.from = 60, .to = 500, .base = 10}, y = {.from = 300, .to = 40, .base = 10};
    axis_round(&x, b->rates[0], fmax(b->rates[b->rate_count - 1], b->limit));
    axis_round(&y, least, fmax(most, 2 * least));
    plot_axes(&svg, &x, &y, "requests per second", y_title);
    plot_series(&svg, &x, &y, series, count);
    if (b->limit > x.least && b->limit < x.most) {
        const double at = axis_place(&x, b->limit);
        svg_line(&svg, at, y.from, at, y.to, "faint", 1.2, "4 3");
        svg_text(&svg, at - 4, y.to + 4, 12, SVG_END, "faint", "limit");
    }
    char *path = format_string("%s/%s.svg", folder, name);
    const int failed = svg_write(&svg, path, y_title);
    free(path);
    return failed ? EXIT_TROUBLE : EXIT_PASS;
}

static int draw_charts(const struct serve_bench *b, const char *folder)
{
    static const struct series at[] = {
        {.name = "50%", .colour = "s"}, {.name = "90%", .colour = "t"}, {.name = "99%", .colour = "u"}};
    struct series tokens[1] = {{.name = "tokens/s", .colour = "s"}}, first[3], between[3],
                  queue[2] = {{.name = "running", .colour = "s"}, {.name = "waiting", .colour = "t"}};
    memcpy(first, at, sizeof first);
    memcpy(between, at, sizeof between);
    for (int i = 0; i < b->rate_count; i++) {
        const struct load_result *r = &b->results[i];
        const double *of_first = &r->first.at_50, *of_between = &r->between.at_50;
        series_add(tokens, b->rates[i], r->tokens_per_second);
        for (int j = 0; j < 3; j++) {
            series_add(&first[j], b->rates[i], 1e3 * of_first[j]);
            series_add(&between[j], b->rates[i], 1e3 * fmax(of_between[j], 1e-6));
        }
        series_add(&queue[0], b->rates[i], fmax(r->running, 0.01));
        series_add(&queue[1], b->rates[i], fmax(r->waiting, 0.01)); /* the axis is logarithmic */
    }
    if (make_folders(folder) != 0) return complain("%s cannot be created.", folder);
    int failed = draw_chart(b, folder, "throughput", "tokens per second", tokens, 1);
    failed |= draw_chart(b, folder, "first_token", "time to the first token, ms", first, 3);
    failed |= draw_chart(b, folder, "between_tokens", "time between tokens, ms", between, 3);
    failed |= draw_chart(b, folder, "queue", "requests, mean; 0.01 stands for less", queue, 2);
    return failed;
}

static int by_rate(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static int run_serve_bench(const struct command_line *line)
{
    struct serve_bench b = {0};
    char error[SCHEDULER_ERROR] = "";
    if (take_options(line, &b) != EXIT_PASS) return EXIT_TROUBLE;
    struct load_request *requests = must_allocate((size_t)b.requests * sizeof *requests);
    load_make(requests, b.requests, 1.0, &b.lengths, b.seed);
    b.limit = find_limit(&b, requests);
    if (take_rates(line, &b) != EXIT_PASS) return EXIT_TROUBLE;
    qsort(b.rates, (size_t)b.rate_count, sizeof *b.rates, by_rate);
    printf("modelled: %s, %.3g TB/s, %.3g TFLOP/s, %.3g us per kernel beside its work; %d blocks of %d, %d "
           "requests at "
           "once, %d rows in a step\n",
           b.chip->name, b.chip->bandwidth * 1e-12, b.chip->peak * 1e-12, b.launch * 1e6, b.limits.blocks,
           BLOCK, b.limits.max_running, b.limits.max_rows);
    printf("limit, calculated: %.2f requests/s\n\n", b.limit);
    for (int i = 0; i < b.rate_count; i++) {
        load_make(requests, b.requests, b.rates[i], &b.lengths, b.seed);
        if (load_run(requests, b.requests, &b.limits, seconds_of, &b, &b.results[i], error) != 0)
            return complain("%s.", error);
    }
    free(requests);
    print_table(&b);
    const char *csv = option_value(line, "--csv"), *charts = option_value(line, "--charts");
    if (csv != NULL && write_serve_csv(&b, csv) != EXIT_PASS) return EXIT_TROUBLE;
    return charts != NULL ? draw_charts(&b, charts) : EXIT_PASS;
}

static const struct option_description serve_bench_options[] = {
    {"--model", "NAME", "tiny, 0.6B, 8B (as without it), or a folder; only its sizes count", 0},
    {"--chip", "NAME", "a100, h100 (as without it) or h200: bandwidth, peak and memory of its data sheet", 0},
    {"--launch", "US", "microseconds of each kernel beside its work; 2 without it", 0},
    {"--rates", "LIST", "requests per second: 1,2,4; without it, shares of the limit", 0},
    {"--requests", "N", "per rate; 500 without it", 0},
    {"--prompt", "N", "mean length of prompts; 512 without it", 0},
    {"--output", "N", "mean number of tokens that follow; 128 without it", 0},
    {"--spread", "S", "standard deviation of the lengths' logarithms; 0.6 without it", 0},
    {"--lengths", "FILE", "lines of prompt,output, taken at random in place of these", 0},
    {"--common", "S", "share of each prompt that is the beginning of one text, 0 to 1; 0 without it", 0},
    {"--unshared", NULL, "requests that begin alike do not share blocks of the cache", 0},
    {"--running", "N", "requests in one step at most; 64 without it", 0},
    {"--chunk", "N", "tokens in one step at most; 512 without it", 0},
    {"--blocks", "N", "of 16 positions, of the cache; without it, what fits the chip's memory", 0},
    {"--seed", "S", "of arrivals and lengths", 0},
    {"--csv", "FILE", "the table, for programs", 0},
    {"--charts", "DIR", "throughput, first_token, between_tokens and queue, as SVG", 0},
    {0},
};

const struct command serve_bench_command = {
    .name = "serve-bench",
    .summary = "requests that arrive at random: what they wait, rate by rate",
    .details =
        "Lesson 17's scheduler under load. Nothing runs on a device: a step takes as long as the bytes and\n"
        "operations of its rows at the rates of a chip's data sheet. The limit is calculated by itself.",
    .options = serve_bench_options,
    .run = run_serve_bench,
};
