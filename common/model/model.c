/**
 * @file model.c
 * @brief The weights of a decoder: read from the files of a folder, or generated from a seed.
 */
#include "model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/rng.h"
#include "base/text.h"

enum { MOST_FILES = 4096, MOST_INDEX = 64 << 20 };

struct model {
    struct model_config config;
    struct tensor_file *files;
    size_t file_count;
    const struct tensor **tensors; /* [MODEL_PARTS, MODEL_TENSORS, copies()]; NULL: from the seed */
    uint64_t seed;
};

static const char *const NAMES[MODEL_TENSORS] = {
    [MODEL_INPUT_NORM] = "input_layernorm",
    [MODEL_Q] = "self_attn.q_proj",
    [MODEL_K] = "self_attn.k_proj",
    [MODEL_V] = "self_attn.v_proj",
    [MODEL_Q_NORM] = "self_attn.q_norm",
    [MODEL_K_NORM] = "self_attn.k_norm",
    [MODEL_O] = "self_attn.o_proj",
    [MODEL_MLP_NORM] = "post_attention_layernorm",
    [MODEL_GATE] = "mlp.gate_proj",
    [MODEL_UP] = "mlp.up_proj",
    [MODEL_DOWN] = "mlp.down_proj",
    [MODEL_ROUTER] = "mlp.gate",
    [MODEL_EMBEDDING] = "model.embed_tokens",
    [MODEL_LAST_NORM] = "model.norm",
    [MODEL_HEAD] = "lm_head",
};

static int is_vector(enum model_tensor tensor)
{
    return tensor == MODEL_INPUT_NORM || tensor == MODEL_Q_NORM || tensor == MODEL_K_NORM ||
           tensor == MODEL_MLP_NORM || tensor == MODEL_LAST_NORM;
}

void model_shape(const struct model_config *c, enum model_tensor tensor, int64_t *rows, int64_t *columns)
{
    const int64_t q = (int64_t)c->heads * c->head_dim, kv = (int64_t)c->kv_heads * c->head_dim;
    const int64_t shape[MODEL_TENSORS][2] = {
        [MODEL_INPUT_NORM] = {1, c->hidden},
        [MODEL_Q] = {q, c->hidden},
        [MODEL_K] = {kv, c->hidden},
        [MODEL_V] = {kv, c->hidden},
        [MODEL_Q_NORM] = {1, c->head_dim},
        [MODEL_K_NORM] = {1, c->head_dim},
        [MODEL_O] = {c->hidden, q},
        [MODEL_MLP_NORM] = {1, c->hidden},
        [MODEL_GATE] = {c->intermediate, c->hidden},
        [MODEL_UP] = {c->intermediate, c->hidden},
        [MODEL_DOWN] = {c->hidden, c->intermediate},
        [MODEL_ROUTER] = {c->experts, c->hidden},
        [MODEL_EMBEDDING] = {c->vocab, c->hidden},
        [MODEL_LAST_NORM] = {1, c->hidden},
        [MODEL_HEAD] = {c->vocab, c->hidden},
    };
    *rows = shape[tensor][0];
    *columns = shape[tensor][1];
}

int model_is_matrix(enum model_tensor tensor)
{
    return tensor == MODEL_Q || tensor == MODEL_K || tensor == MODEL_V || tensor == MODEL_O ||
           (tensor >= MODEL_GATE && tensor <= MODEL_DOWN);
}

/* How often a tensor is there. */
static int copies(const struct model_config *c, enum model_tensor tensor)
{
    if (tensor >= MODEL_LAYER_TENSORS) return !(tensor == MODEL_HEAD && c->tied);
    if (tensor == MODEL_ROUTER && c->experts == 0) return 0;
    return tensor >= MODEL_GATE && tensor <= MODEL_DOWN && c->experts > 0 ? c->layers * c->experts
                                                                          : c->layers;
}

/* The index of a part of a tensor in struct model's table. */
static size_t place_of(const struct model_config *c, enum model_tensor tensor, enum model_part part,
                       int layer)
{
    const size_t most = (size_t)c->layers * (size_t)(c->experts > 0 ? c->experts : 1);
    return ((size_t)part * MODEL_TENSORS + tensor) * most + (size_t)layer;
}

/* ---- a folder --------------------------------------------------------------------------------------------- */

/* The files that the index names, without repetitions. */
static int open_indexed(struct model *model, const char *folder, const char *index_path,
                        char error[MODEL_ERROR])
{
    struct json index;
    int failed = json_read(&index, index_path, MOST_INDEX, error);
    if (failed) {
        json_free(&index);
        return failed;
    }
    const struct json_value *map = json_find(&index, json_root(&index), "weight_map");
    if (map == NULL || map->kind != JSON_OBJECT) {
        snprintf(error, MODEL_ERROR, "%.300s: it has no \"weight_map\"", index_path);
        failed = -1;
    }
    const char **names = must_allocate(MOST_FILES * sizeof *names);
    size_t count = 0;
    for (const struct json_value *m = json_first(&index, map); m != NULL && !failed;
         m = json_next(&index, m)) {
        size_t known = 0;
        if (m->kind != JSON_STRING || strchr(m->text, '/') != NULL || m->text[0] == '.' ||
            count == MOST_FILES) {
            snprintf(error, MODEL_ERROR, "%.300s: '%.100s' is in no file of this folder", index_path, m->key);
            failed = -1;
            break;
        }
        while (known < count && strcmp(names[known], m->text) != 0) known++;
        if (known == count) names[count++] = m->text;
    }
    model->files = must_allocate((count + 1) * sizeof *model->files);
    for (size_t i = 0; i < count && !failed; i++) {
        char *path = format_string("%s/%s", folder, names[i]);
        failed = tensor_file_open(&model->files[i], path, error);
        if (!failed) model->file_count++;
        free(path);
    }
    free(names);
    json_free(&index);
    return failed;
}

static int open_files(struct model *model, const char *folder, char error[MODEL_ERROR])
{
    char *single = format_string("%s/model.safetensors", folder),
         *index = format_string("%s.index.json", single);
    int failed;
    if (access(single, F_OK) != 0 && access(index, F_OK) == 0) {
        failed = open_indexed(model, folder, index, error);
    } else {
        model->files = must_allocate(sizeof *model->files);
        failed = tensor_file_open(&model->files[0], single, error);
        if (!failed) model->file_count = 1;
    }
    free(single);
    free(index);
    return failed;
}

/* How a part of a tensor has to be stored. */
struct expected {
    const char *name, *dtype; /* dtype NULL: floats */
    int rank;
    int64_t shape[2];
};

/* Of a matrix whose elements are not floats; a part without a name is not there. */
static struct expected expected_of_matrix(const struct model_config *c, enum model_part part, int64_t outputs,
                                          int64_t inputs)
{
    const int64_t groups = c->group > 0 ? inputs / c->group : 1;
    const struct expected eight[MODEL_PARTS] = {[MODEL_VALUES] = {"weight", "I8", 2, {outputs, inputs}},
                                                [MODEL_SCALES] = {"weight_scale", NULL, 2, {outputs, 1}}};
    const struct expected four[MODEL_PARTS] = {
        [MODEL_VALUES] = {"qweight", "I32", 2, {inputs, outputs / 8}},
        [MODEL_SCALES] = {"scales", NULL, 2, {groups, outputs}},
        [MODEL_ZEROS] = {"qzeros", "I32", 2, {groups, outputs / 8}},
    };
    const struct expected values = {"qweight", "I32", 2, {inputs / 8, outputs}},
                          order = {"g_idx", "I32", 1, {inputs}};
    if (c->storage == MODEL_INT8) return eight[part];
    if (c->storage == MODEL_GPTQ && part == MODEL_VALUES) return values;
    return c->storage == MODEL_GPTQ && part == MODEL_ORDER ? order : four[part];
}

static struct expected expected_of(const struct model_config *c, enum model_tensor id, enum model_part part)
{
    int64_t rows, columns;
    model_shape(c, id, &rows, &columns);
    if (c->storage != MODEL_FLOATS && model_is_matrix(id)) return expected_of_matrix(c, part, rows, columns);
    const struct expected vector = {"weight", NULL, 1, {columns}},
                          matrix = {"weight", NULL, 2, {rows, columns}};
    if (part != MODEL_VALUES) return (struct expected){0};
    return is_vector(id) ? vector : matrix;
}

static int wrong_shape(const struct expected *e, enum model_tensor id, const struct tensor *tensor,
                       char *text, size_t size)
{
    const int64_t *shape = tensor->shape;
    if (tensor->rank == e->rank && shape[0] == e->shape[0] && (e->rank == 1 || shape[1] == e->shape[1]))
        return 0;
    if (e->rank == 1)
        snprintf(text, size, "is no vector of %lld elements, as config.json asks", (long long)e->shape[0]);
    else if ((id == MODEL_EMBEDDING || id == MODEL_HEAD) && tensor->rank == 2 && shape[1] == e->shape[1])
        snprintf(text, size, "has %lld rows, but the vocabulary of config.json %lld words",
                 (long long)shape[0], (long long)e->shape[0]);
    else
        snprintf(text, size, "is no matrix of %lld x %lld, as config.json asks", (long long)e->shape[0],
                 (long long)e->shape[1]);
    return 1;
}

/* Inputs lie in the order of their groups, as the products take them; desc_act stores them otherwise. */
static int in_order(const struct tensor *order, int group)
{
    for (size_t i = 0; i < order->elems; i++) {
        int32_t of_input;
        memcpy(&of_input, order->data + i * sizeof of_input, sizeof of_input);
        if (of_input != (group > 0 ? (int32_t)(i / (size_t)group) : 0)) return 0;
    }
    return 1;
}

/* What a tensor is called in its file, but for the part's name. */
static void name_tensor(const struct model_config *c, enum model_tensor id, int layer, char *name,
                        size_t size)
{
    const int experts = copies(c, id) > c->layers ? c->experts : 0;
    if (id >= MODEL_LAYER_TENSORS)
        snprintf(name, size, "%s", NAMES[id]);
    else if (experts > 0) /* mlp.experts.5.gate_proj */
        snprintf(name, size, "model.layers.%d.mlp.experts.%d%s", layer / experts, layer % experts,
                 strchr(NAMES[id], '.'));
    else
        snprintf(name, size, "model.layers.%d.%s", layer, NAMES[id]);
}

/* Finds a part of the tensor in whichever file has it. */
static int find_part(struct model *model, enum model_tensor id, int layer, enum model_part part,
                     char error[MODEL_ERROR])
{
    const struct model_config *c = &model->config;
    const struct expected expected = expected_of(c, id, part);
    char whole[96], name[112], what[160];
    if (expected.name == NULL) return 0;
    name_tensor(c, id, layer, whole, sizeof whole);
    snprintf(name, sizeof name, "%s.%s", whole, expected.name);
    const struct tensor *found = NULL;
    for (size_t file = 0; file < model->file_count && found == NULL; file++)
        found = tensor_find(&model->files[file], name);
    if (found == NULL) {
        snprintf(error, MODEL_ERROR, "the model has no tensor '%s'", name);
        return -1;
    }
    if (expected.dtype != NULL ? strcmp(found->dtype_name, expected.dtype) != 0
                               : found->dtype == TENSOR_OTHER) {
        snprintf(error, MODEL_ERROR, "tensor '%s' has elements of type %s; %s can be read", name,
                 found->dtype_name, expected.dtype != NULL ? expected.dtype : "F32, F16 and BF16");
        return -1;
    }
    if (wrong_shape(&expected, id, found, what, sizeof what)) {
        snprintf(error, MODEL_ERROR, "tensor '%s' %s", name, what);
        return -1;
    }
    if (part == MODEL_ORDER && !in_order(found, c->group)) {
        snprintf(error, MODEL_ERROR, "tensor '%s': inputs in another order (desc_act) are not supported",
                 name);
        return -1;
    }
    model->tensors[place_of(c, id, part, layer)] = found;
    return 0;
}

static int find_tensors(struct model *model, char error[MODEL_ERROR])
{
    const struct model_config *c = &model->config;
    model->tensors = calloc(place_of(c, MODEL_INPUT_NORM, MODEL_PARTS, 0), sizeof *model->tensors);
    if (model->tensors == NULL) abort();
    for (int id = 0; id < MODEL_TENSORS; id++)
        for (int layer = 0; layer < copies(c, (enum model_tensor)id); layer++)
            for (int part = 0; part < MODEL_PARTS; part++)
                if (find_part(model, (enum model_tensor)id, layer, (enum model_part)part, error) != 0)
                    return -1;
    return 0;
}

struct model *model_open(const char *path, char error[MODEL_ERROR])
{
    struct model *model = calloc(1, sizeof *model);
    if (model == NULL) abort();
    char *config = format_string("%s/config.json", path);
    int failed = model_config_read(&model->config, config, error) != 0 ||
                 open_files(model, path, error) != 0 || find_tensors(model, error) != 0;
    free(config);
    if (!failed) return model;
    model_close(model);
    return NULL;
}

struct model *model_from_seed(const struct model_config *config, uint64_t seed)
{
    struct model *model = calloc(1, sizeof *model);
    if (model == NULL) abort();
    model->config = *config;
    model->seed = seed;
    return model;
}

void model_close(struct model *model)
{
    if (model == NULL) return;
    for (size_t i = 0; i < model->file_count; i++) tensor_file_close(&model->files[i]);
    free(model->files);
    free(model->tensors);
    free(model);
}

const struct model_config *model_config(const struct model *model)
{
    return &model->config;
}

/* ---- elements --------------------------------------------------------------------------------------------- */

/* Rounds to the nearest bfloat16. There are no NaN here. */
static float to_bfloat16(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits += 0x7fff + (bits >> 16 & 1);
    bits &= 0xffff0000u;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* A number of its own for each tensor. */
static uint64_t seed_of(const struct model_config *c, enum model_tensor tensor, int layer)
{
    enum { BEFORE = MODEL_ROUTER /* tensors of a layer that are made from a seed */ };
    if (tensor < MODEL_LAYER_TENSORS) return (uint64_t)layer * BEFORE + tensor;
    return (uint64_t)c->layers * BEFORE + (uint64_t)(tensor - MODEL_LAYER_TENSORS);
}

/* A generator from which any element can be computed without those before it. */
static void make(const struct model *model, enum model_tensor tensor, int layer, size_t first, size_t count,
                 float *to)
{
    int64_t rows, columns;
    model_shape(&model->config, tensor, &rows, &columns);
    struct rng begin = {rng_mix(model->seed, seed_of(&model->config, tensor, layer))};
    struct rng rng = rng_ahead(&begin, (uint64_t)first);
    double size = tensor >= MODEL_LAYER_TENSORS ? 0.02 : 1.0 / sqrt((double)columns);
    /* Evenly distributed numbers with that standard deviation: they take one random number per element,
     * and billions are needed. */
    float low = (float)(-sqrt(3.0) * size), width = -2.0f * low;
    for (size_t i = 0; i < count; i++) {
        float x = (float)(rng_next(&rng) >> 40) * (1.0f / 16777216.0f);
        to[i] = to_bfloat16(is_vector(tensor) ? 0.75f + 0.5f * x : low + width * x);
    }
}

void model_read(const struct model *model, enum model_tensor tensor, int layer, size_t first, size_t count,
                float *to)
{
    if (tensor == MODEL_HEAD && model->config.tied) tensor = MODEL_EMBEDDING;
    if (model->tensors != NULL)
        tensor_to_floats(model->tensors[place_of(&model->config, tensor, MODEL_VALUES, layer)], first, count,
                         to);
    else
        make(model, tensor, layer, first, count, to);
}

const struct tensor *model_part(const struct model *model, enum model_tensor tensor, int layer,
                                enum model_part part)
{
    return model->tensors != NULL ? model->tensors[place_of(&model->config, tensor, part, layer)] : NULL;
}
