/**
 * @file tiny_model.cu
 * @brief A tiny model through lesson 17's engine, against logits that an independent implementation gave for it: PyTorch in
 *        float64, held against transformers (reference/tiny_model/make.py), or NumPy in float64 (make_stored.py).
 *
 *     tiny_model FOLDER
 *
 * Its 40 tokens are taken in pieces of 17, which are launches, and then by 5, which are replays of a graph, with the same bits.
 * A second request that begins alike, with blocks of the first in its table and a copy of the one that it writes to, gets the same bits.
 * The bound is eight standard deviations of what the engine's roundings may do, from reference/qwen3.h.
 */
#include <math.h>

#include "generate/decoder.h"

extern "C" {
#include "model/safetensors.h"
#include "qwen3.h"
#include "w4.h"
}

enum { MOST_TOKENS = 64, MOST_LAYERS = 8, SHARED = 31 /* tokens: not a whole block */ };

static int failures;

static void expect(int holds, const char *what)
{
    if (holds) return;
    printf("FAIL %s\n", what);
    failures++;
}

/** A part's bytes as reference/w4.h wants them: -128 to 127. */
static float *bytes_of(const struct tensor *part)
{
    float *bytes = (float *)malloc(part->bytes * sizeof *bytes);
    for (size_t i = 0; i < part->bytes; i++) bytes[i] = (float)(signed char)part->data[i];
    return bytes;
}

/** A matrix of 4 or 8 bits as floats, [outputs, inputs]. */
static void read_stored(const struct model *model, enum model_tensor tensor, int layer, int outputs,
                        int inputs, float *to)
{
    const struct model_config *c = model_config(model);
    const struct tensor *values = model_part(model, tensor, layer, MODEL_VALUES),
                        *scales = model_part(model, tensor, layer, MODEL_SCALES),
                        *zeros = model_part(model, tensor, layer, MODEL_ZEROS);
    const struct ref_w4_shape shape = {outputs, inputs, c->group > 0 ? c->group : inputs,
                                       c->storage == MODEL_GPTQ};
    float *numbers = bytes_of(values), *of_zeros = zeros ? bytes_of(zeros) : NULL;
    float *factors = (float *)malloc(scales->elems * sizeof *factors);
    tensor_to_floats(scales, 0, scales->elems, factors);
    for (int out = 0; out < outputs; out++)
        for (int in = 0; in < inputs; in++) {
            const int group = in / shape.group;
            float *w = to + (size_t)out * (size_t)inputs + (size_t)in;
            if (c->storage == MODEL_INT8)
                *w = numbers[(size_t)out * (size_t)inputs + (size_t)in] * factors[out];
            else
                *w = (float)(ref_w4_stored(&shape, numbers, in, out) -
                             ref_w4_stored_zero(&shape, of_zeros, group, out)) *
                     factors[(size_t)group * (size_t)outputs + (size_t)out];
        }
    free(numbers);
    free(of_zeros);
    free(factors);
}

/** All of a tensor, of all experts; nobody frees it. */
static const float *read_all(const struct model *model, enum model_tensor tensor, int layer)
{
    const struct model_config *c = model_config(model);
    int64_t rows, columns;
    model_shape(c, tensor, &rows, &columns);
    const int of_experts = c->experts > 0 && tensor >= MODEL_GATE && tensor <= MODEL_DOWN;
    const int copies = of_experts ? c->experts : 1;
    const size_t elems = (size_t)(rows * columns);
    float *all = (float *)malloc((elems * (size_t)copies + 1) * sizeof *all);
    for (int i = 0; i < copies && elems > 0; i++) {
        if (c->storage != MODEL_FLOATS && model_is_matrix(tensor))
            read_stored(model, tensor, layer, (int)rows, (int)columns, all);
        else
            model_read(model, tensor, layer * copies + i, 0, elems, all + elems * (size_t)i);
    }
    return all;
}

/** Standard deviations of the engine's logits, then the logits in float64. */
static double *find_deviations(const struct model *model, const int *tokens, size_t count)
{
    enum { LEVELS = 127 };
    const struct model_config *c = model_config(model);
    const struct ref_qwen3_sizes sizes = {c->layers,    c->hidden,       c->heads, c->kv_heads,
                                          c->head_dim,  c->intermediate, c->vocab, c->epsilon,
                                          c->rope_base, c->experts,      c->top_k, c->renormalise};
    const int eight = c->storage == MODEL_INT8, four = c->storage != MODEL_FLOATS && !eight;
    const struct ref_qwen3_rounding rounding = {
        0x1p-11, 0x1p-24, 0x1p-24, 0, four ? 0x1p-11 : 0.0, eight ? (double)LEVELS : 0.0};
    struct ref_qwen3_layer layers[MOST_LAYERS];
    for (int i = 0; i < c->layers; i++) {
        const float *all[MODEL_LAYER_TENSORS];
        for (int id = 0; id < MODEL_LAYER_TENSORS; id++) all[id] = read_all(model, (enum model_tensor)id, i);
        layers[i] = {all[0], all[1], all[2], all[3], all[4],  all[5],
                     all[6], all[7], all[8], all[9], all[10], all[11]};
    }
    const struct ref_qwen3_weights weights = {read_all(model, MODEL_EMBEDDING, 0),
                                              read_all(model, MODEL_LAST_NORM, 0),
                                              read_all(model, MODEL_HEAD, 0), layers};
    const size_t elems = count * (size_t)c->vocab;
    double *memory =
        (double *)malloc((2 * elems + ref_qwen3_scratch_elems(&sizes, count, 0)) * sizeof *memory);
    ref_qwen3_logits(&sizes, &weights, tokens, count, &rounding, NULL, memory + elems, memory,
                     memory + 2 * elems);
    return memory;
}

/** All tokens of one request, @p chunk in a step. */
static void compute(struct decoder *d, const int *tokens, int count, int chunk, float *logits)
{
    const int vocab = d->model.config.vocab, blocks = d->model.config.max_blocks;
    for (int i = 0; i < blocks; i++) d->host.tables[i] = blocks - 1 - i;
    for (int first = 0; first < count; first += chunk) {
        const int rows = count - first < chunk ? count - first : chunk;
        for (int i = 0; i < rows; i++) {
            d->host.tokens[i] = tokens[first + i];
            d->host.positions[i] = first + i;
            d->host.requests[i] = 0;
            d->host.wanted[i] = i;
        }
        decoder_step(d, rows, rows, logits + (size_t)first * (size_t)vocab);
    }
}

/** What compute() left in the cache, used by request 1, which computes @p first and what follows: the blocks before are shared, that of
 *  @p first is a copy. Logits as compute() writes them. */
static void compute_shared(struct decoder *d, const int *tokens, int count, int first, float *logits)
{
    const int vocab = d->model.config.vocab, blocks = d->model.config.max_blocks,
              at = first / d->model.config.block_size;
    int *table = d->host.tables + blocks;
    for (int i = 0; i < blocks; i++) table[i] = i < at ? d->host.tables[i] : blocks + i;
    decoder_copy_block(d, d->host.tables[at], table[at]);
    for (int i = first; i < count; i++) {
        d->host.tokens[0] = tokens[i];
        d->host.positions[0] = i;
        d->host.requests[0] = 1;
        d->host.wanted[0] = 0;
        decoder_step(d, 1, 1, logits + (size_t)i * (size_t)vocab);
    }
}

int main(int words, char **word)
{
    char error[MODEL_ERROR] = "", path[4096];
    struct tensor_file file = {};
    struct decoder decoder;
    if (words != 2) return 2;
    struct model *model = model_open(word[1], error);
    snprintf(path, sizeof path, "%s/expected.safetensors", word[1]);
    if (!model || tensor_file_open(&file, path, error) != 0) {
        printf("FAIL %s\n", error);
        return 1;
    }
    const struct tensor *stored = tensor_find(&file, "tokens"), *expected = tensor_find(&file, "logits");
    const int count = (int)stored->elems;
    int tokens[MOST_TOKENS];
    expect(count <= MOST_TOKENS && expected->elems == (size_t)count * (size_t)model_config(model)->vocab,
           "what is stored");
    if (failures > 0) return 1;
    memcpy(tokens, stored->data, stored->elems * sizeof *tokens);
    const size_t elems = expected->elems;
    float *wanted = (float *)malloc(4 * elems * sizeof *wanted), *got = wanted + elems, *again = got + elems,
          *shared = again + elems;
    const double *deviations = find_deviations(model, tokens, (size_t)count);
    tensor_to_floats(expected, 0, elems, wanted);
    decoder_open(&decoder, model, 17, 2, count);
    compute(&decoder, tokens, count, 17, got);
    compute(&decoder, tokens, count, 5, again);
    memcpy(shared, again, elems * sizeof *shared);
    compute_shared(&decoder, tokens, count, SHARED, shared);
    double worst = 0.0, apart = 0.0;
    for (size_t i = 0; i < elems; i++) apart = fmax(apart, fabs(deviations[elems + i] - (double)wanted[i]));
    for (size_t i = 0; i < elems; i++)
        worst = fmax(worst, fabs((double)got[i] - (double)wanted[i]) / (8.0 * deviations[i]));
    printf("largest error %.0f%% of its bound\n", 100.0 * worst);
    expect(worst <= 1.0, "logits are those of the independent implementation");
    expect(worst > 1e-3, "logits have been compared with others");
    expect(apart < 1e-4, "reference/qwen3.h gives the same logits as the independent implementation");
    // Products with matrices elsewhere have kernels for few rows, which add in another order.
    if (decoder.products == NULL) {
        expect(memcmp(got, again, elems * sizeof *got) == 0, "pieces of 17 and of 5 give the same bits");
        expect(memcmp(got, shared, elems * sizeof *got) == 0, "shared blocks and a copy give the same bits");
    }
    for (size_t i = 0; i < elems; i++)
        worst = fmax(worst, fabs((double)shared[i] - (double)wanted[i]) / (8.0 * deviations[i]));
    expect(worst <= 1.0, "the same with shared blocks");
    for (size_t i = 0; i < elems; i++)
        worst = fmax(worst, fabs((double)again[i] - (double)wanted[i]) / (8.0 * deviations[i]));
    expect(worst <= 1.0, "the same in pieces of 5");
    decoder_close(&decoder);
    tensor_file_close(&file);
    model_close(model);
    return failures > 0;
}
