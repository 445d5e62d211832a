/**
 * @file tiny_model.cu
 * @brief The tiny model through lesson 17's engine, against logits that an independent implementation gave for it: PyTorch in
 *        float64, held against transformers (common/model/tiny/make.py).
 *
 * Its 40 tokens are taken in pieces of 17, which are launches, and then by 5, which are replays of a graph, with the same bits.
 * The bound is eight standard deviations of what the engine's roundings may do, from reference/qwen3.h.
 */
#include <math.h>

#include "generate/decoder.h"

extern "C" {
#include "model/safetensors.h"
#include "qwen3.h"
}

enum { MOST_TOKENS = 64, MOST_LAYERS = 8 };

static int failures;

static void expect(int holds, const char *what)
{
    if (holds) return;
    printf("FAIL %s\n", what);
    failures++;
}

/** All of a tensor; nobody frees it. */
static const float *read_all(const struct model *model, enum model_tensor tensor, int layer)
{
    int64_t rows, columns;
    model_shape(model_config(model), tensor, &rows, &columns);
    float *all = (float *)malloc((size_t)(rows * columns) * sizeof *all);
    model_read(model, tensor, layer, 0, (size_t)(rows * columns), all);
    return all;
}

/** Standard deviations of the engine's logits. */
static double *find_deviations(const struct model *model, const int *tokens, size_t count)
{
    const struct model_config *c = model_config(model);
    const struct ref_qwen3_sizes sizes = {c->layers,       c->hidden, c->heads,   c->kv_heads, c->head_dim,
                                          c->intermediate, c->vocab,  c->epsilon, c->rope_base};
    const struct ref_qwen3_rounding rounding = {0x1p-11, 0x1p-24, 0x1p-24};
    struct ref_qwen3_layer layers[MOST_LAYERS];
    for (int i = 0; i < c->layers; i++) {
        const float *all[MODEL_LAYER_TENSORS];
        for (int id = 0; id < MODEL_LAYER_TENSORS; id++) all[id] = read_all(model, (enum model_tensor)id, i);
        layers[i] = {all[0], all[1], all[2], all[3], all[4], all[5], all[6], all[7], all[8], all[9], all[10]};
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

int main(void)
{
    char error[MODEL_ERROR] = "";
    struct tensor_file file = {};
    struct decoder decoder;
    struct model *model = model_open(TINY_MODEL, error);
    if (!model || tensor_file_open(&file, TINY_MODEL "/expected.safetensors", error) != 0) {
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
    float *wanted = (float *)malloc(3 * elems * sizeof *wanted), *got = wanted + elems, *again = got + elems;
    const double *deviations = find_deviations(model, tokens, (size_t)count);
    tensor_to_floats(expected, 0, elems, wanted);
    decoder_open(&decoder, model, 17, 1, count);
    compute(&decoder, tokens, count, 17, got);
    compute(&decoder, tokens, count, 5, again);
    double worst = 0.0;
    for (size_t i = 0; i < elems; i++)
        worst = fmax(worst, fabs((double)got[i] - (double)wanted[i]) / (8.0 * deviations[i]));
    printf("largest error %.0f%% of its bound\n", 100.0 * worst);
    expect(worst <= 1.0, "logits are those of the independent implementation");
    expect(worst > 1e-3, "logits have been compared with others");
    expect(memcmp(got, again, elems * sizeof *got) == 0, "pieces of 17 and of 5 give the same bits");
    decoder_close(&decoder);
    tensor_file_close(&file);
    model_close(model);
    return failures > 0;
}
