/**
 * @file generate.cu
 * @brief Text from a model: tokens of a prompt through lesson 17's engine, one sampled token after another.
 *
 *     generate --model tiny|0.6B|8B|FOLDER --prompt TEXT [--tokens N] [--requests N] [--chunk N] [--context N]
 *              [--temperature T] [--top-p P] [--top-k K] [--seed S] [--sharing on|off] [--show N]
 *
 * A FOLDER is as Hugging Face's transformers write it: config.json, weights in .safetensors, tokenizer.json. 0.6B and 8B are shapes
 * with weights from a seed: no text comes of them, but the times are real. Built once for each device.
 */
#include <math.h>
#include <time.h>

#include "decoder.h"

extern "C" {
#include "engine/sampler.h"
#include "engine/scheduler.h"
#include "model/tokenizer.h"
}

/** What the command line says. */
struct options {
    const char *model, *prompt;
    int tokens, requests, chunk, context, sharing, show;
    struct sampling sampling;
};

/** All that a run works with. */
struct run {
    struct options options;
    struct model *model;
    struct tokenizer *tokenizer; /* NULL: the prompt's bytes are its tokens */
    struct decoder decoder;
    struct scheduler *scheduler;
    long long first;     /* the first request */
    double seconds[2];   /* in steps with prompt tokens, and without */
    long long tokens[2]; /* of prompts; sampled in the other steps */
};

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "generate: %s%s%s\n", what, why ? ": " : "", why ? why : "");
    exit(2);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double number(const char *name, const char *text, double least, double most)
{
    char *end;
    const double value = strtod(text, &end);
    if (*text == '\0' || *end != '\0' || !(value >= least && value <= most))
        fail(name, "not a number that it takes");
    return value;
}

static struct options read_options(int count, char **words)
{
    struct options o = {NULL, NULL, 64, 1, 64, 0, 1, 1, {0.0, 0, 1.0, 1}};
    for (int i = 1; i + 1 < count; i += 2) {
        const char *name = words[i], *value = words[i + 1];
        if (!strcmp(name, "--model"))
            o.model = value;
        else if (!strcmp(name, "--prompt"))
            o.prompt = value;
        else if (!strcmp(name, "--tokens"))
            o.tokens = (int)number(name, value, 1, 1e6);
        else if (!strcmp(name, "--requests"))
            o.requests = (int)number(name, value, 1, 4096);
        else if (!strcmp(name, "--chunk"))
            o.chunk = (int)number(name, value, 1, 65535);
        else if (!strcmp(name, "--context"))
            o.context = (int)number(name, value, 1, 1e7);
        else if (!strcmp(name, "--temperature"))
            o.sampling.temperature = number(name, value, 0, 1e6);
        else if (!strcmp(name, "--top-p"))
            o.sampling.top_p = number(name, value, 0, 1);
        else if (!strcmp(name, "--top-k"))
            o.sampling.top_k = (int)number(name, value, 0, 1e9);
        else if (!strcmp(name, "--seed"))
            o.sampling.seed = (uint64_t)number(name, value, 0, 9e15);
        else if (!strcmp(name, "--sharing") && (!strcmp(value, "on") || !strcmp(value, "off")))
            o.sharing = !strcmp(value, "on");
        else if (!strcmp(name, "--sharing"))
            fail(name, "is on or off");
        else if (!strcmp(name, "--show"))
            o.show = (int)number(name, value, 1, 4096);
        else
            fail(name, "there is no such option");
    }
    if (count % 2 == 0 || !o.model || !o.prompt)
        fail("usage: generate --model tiny|0.6B|8B|FOLDER --prompt TEXT [--tokens N] [--requests N] [--chunk "
             "N] [--context N] "
             "[--temperature T] [--top-p P] [--top-k K] [--seed S] [--sharing on|off] [--show N]",
             NULL);
    if (o.show > o.requests) fail("--show", "there are not so many requests");
    const char *wrong = sampling_check(&o.sampling);
    if (wrong) fail("sampling", wrong);
    return o;
}

/** The model, and its tokenizer if it has one. */
static void open_model(struct run *run)
{
    char error[MODEL_ERROR] = "", path[4096];
    const char *folder = strcmp(run->options.model, "tiny") == 0 ? TINY_MODEL : run->options.model;
    struct model_config shapes;
    if (model_config_named(&shapes, run->options.model) == 0) {
        run->model = model_from_seed(&shapes, 17);
        return;
    }
    run->model = model_open(folder, error);
    if (!run->model) fail(error, NULL);
    snprintf(path, sizeof path, "%s/tokenizer.json", folder);
    run->tokenizer = tokenizer_open(path, error);
    if (!run->tokenizer) fail(error, NULL);
    if (tokenizer_size(run->tokenizer) > model_config(run->model)->vocab)
        fail(folder, "the tokenizer has more tokens than the model");
}

/** Tokens of the prompt. */
static size_t read_prompt(const struct run *run, int **tokens)
{
    const char *prompt = run->options.prompt;
    const size_t length = strlen(prompt);
    if (run->tokenizer) return tokenizer_encode(run->tokenizer, prompt, length, tokens);
    *tokens = (int *)malloc((length + 1) * sizeof **tokens);
    for (size_t i = 0; i < length; i++) (*tokens)[i] = (unsigned char)prompt[i];
    return length;
}

/** Device, cache and scheduler for all requests; then the requests. */
static void open_engine(struct run *run)
{
    const struct options *o = &run->options;
    const struct model_config *m = model_config(run->model);
    int *prompt;
    const size_t count = read_prompt(run, &prompt);
    const int needed = (int)count + o->tokens, context = o->context > 0 ? o->context : needed;
    const int rows = o->chunk > o->requests ? o->chunk : o->requests;
    const struct engine_config c = decoder_config(m, rows, o->requests, context);
    const struct scheduler_limits limits = {c.num_blocks, c.block_size, o->requests, rows,
                                            context,      c.vocab,      o->sharing};
    const struct scheduler_request request = {prompt, (int)count, o->tokens, m->stops,
                                              run->tokenizer ? m->stop_count : 0};
    run->scheduler = scheduler_open(&limits);
    for (int i = 0; i < o->requests; i++) {
        char error[SCHEDULER_ERROR];
        const long long id = scheduler_add(run->scheduler, &request, error);
        if (id < 0) fail(error, NULL);
        if (i == 0) run->first = id;
    }
    free(prompt);
    decoder_open(&run->decoder, run->model, rows, o->requests,
                 context); // when nothing can be refused any more
}

static void show(const struct run *run, const int *tokens, int count)
{
    struct text text = {0};
    for (int i = 0; i < count && run->tokenizer; i++) tokenizer_decode(run->tokenizer, tokens[i], &text);
    if (text.length > 0) fwrite(text.data, 1, text.length, stdout);
    fflush(stdout);
    text_free(&text);
}

/** The host's arrays, as the scheduler wants the step; returns how many rows are wanted. */
static int fill_rows(struct run *run, const struct scheduler_step *step)
{
    const struct decoder_rows *r = &run->decoder.host;
    int row = 0, wanted = 0;
    for (int i = 0; i < step->count; i++) {
        const struct scheduler_piece *piece = &step->pieces[i];
        memcpy(r->tables + (size_t)piece->slot * (size_t)run->decoder.model.config.max_blocks, piece->blocks,
               (size_t)piece->block_count * sizeof(int));
        if (piece->copied >= 0)
            decoder_copy_block(&run->decoder, piece->copied,
                               piece->blocks[piece->first / run->decoder.model.config.block_size]);
        for (int t = 0; t < piece->count; t++, row++) {
            r->tokens[row] = piece->tokens[t];
            r->positions[row] = piece->first + t;
            r->requests[row] = piece->slot;
        }
        if (piece->samples) r->wanted[wanted++] = row - 1;
    }
    return wanted;
}

/** One step; 0 if there is nothing left to do. */
static int take_step(struct run *run, float *logits, int *sampled)
{
    const int vocab = run->decoder.model.config.vocab;
    const struct scheduler_step step = scheduler_plan(run->scheduler);
    if (step.count == 0) return 0;
    const double begin = now();
    const int wanted = fill_rows(run, &step), of_prompts = step.rows > step.count || wanted < step.count;
    decoder_step(&run->decoder, step.rows, wanted, logits);
    for (int i = 0, next = 0; i < step.count; i++) {
        const struct scheduler_piece *piece = &step.pieces[i];
        struct sampling sampling = run->options.sampling;
        if (!piece->samples) continue;
        sampling.seed += (uint64_t)(piece->request - run->first);
        sampled[next] = sample_token(logits + (size_t)next * (size_t)vocab, vocab, &sampling,
                                     piece->first + piece->count - 1);
        if (sampled[next] < 0) fail("the logits are no numbers", NULL);
        if (piece->request == run->first + run->options.show - 1) show(run, &sampled[next], 1);
        next++;
    }
    scheduler_finish(run->scheduler, sampled);
    run->seconds[!of_prompts] += now() - begin;
    run->tokens[!of_prompts] += step.rows;
    return 1;
}

int main(int count, char **words)
{
    struct run run = {};
    run.options = read_options(count, words);
    open_model(&run);
    open_engine(&run);
    float *logits = NULL; // page-locked, for the GPU writes to it
    const size_t elems = (size_t)run.options.requests * (size_t)run.decoder.model.config.vocab;
    decoder_need(cudaMallocHost((void **)&logits, elems * sizeof *logits), "logits");
    int *sampled = (int *)malloc((size_t)run.options.requests * sizeof *sampled);
    show(&run, NULL, 0);
    fputs(run.tokenizer ? run.options.prompt : "", stdout);
    while (take_step(&run, logits, sampled)) continue;
    fputs(run.tokenizer ? "\n" : "", stdout);
    struct scheduler_result result;
    while (scheduler_take_result(run.scheduler, &result)) free(result.tokens);
    for (int i = 0; i < 2; i++)
        if (run.tokens[i] > 0)
            fprintf(stderr, "%s: %lld tokens in %.3f s, %.1f tokens/s\n", i ? "decode" : "prefill",
                    run.tokens[i], run.seconds[i], (double)run.tokens[i] / run.seconds[i]);
    const struct scheduler_counts counts = scheduler_count(run.scheduler);
    if (counts.found > 0)
        fprintf(stderr, "shared: %lld of %lld tokens of prompts were in the cache\n", counts.found,
                counts.taken);
    scheduler_close(run.scheduler);
    decoder_close(&run.decoder);
    tokenizer_close(run.tokenizer);
    model_close(run.model);
    cudaFreeHost(logits);
    free(sampled);
    return 0;
}
