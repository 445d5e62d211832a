/**
 * @file model_config.c
 * @brief Sizes of a decoder, from a config.json or by name.
 */
#include "model.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_CONFIG = 1 << 20, MOST_LAYERS = 1024, MOST_EXTENT = 1 << 24 };

/** A file that is being read, and what is wrong with it. */
struct config_file {
    struct json json;
    const struct json_value *root;
    const char *path;
    char *error; /* [MODEL_ERROR] */
    int failed;
};

static void refuse_field(struct config_file *f, const char *name, const char *what)
{
    if (f->failed) return; /* the first fault is told */
    snprintf(f->error, MODEL_ERROR, "%.300s: \"%.60s\" %.140s", f->path, name, what);
    f->failed = 1;
}

/* Reads a whole number from 1 to @p most; if it is missing, @p otherwise, where 0 means that it must not
 * be. */
static int whole(struct config_file *f, const char *name, int most, int otherwise)
{
    const struct json_value *value = json_find(&f->json, f->root, name);
    if ((value == NULL || value->kind == JSON_NULL) && otherwise > 0) return otherwise;
    if (value == NULL) {
        refuse_field(f, name, "is missing");
        return 1;
    }
    if (value->kind != JSON_NUMBER || !value->is_integer || value->integer < 1 || value->integer > most) {
        char what[80];
        snprintf(what, sizeof what, "is not a whole number from 1 to %d", most);
        refuse_field(f, name, what);
        return 1;
    }
    return (int)value->integer;
}

static double positive(struct config_file *f, const struct json_value *from, const char *name,
                       double otherwise)
{
    const struct json_value *value = json_find(&f->json, from, name);
    if (value == NULL) return otherwise;
    if (value->kind == JSON_NUMBER && value->number > 0.0 && isfinite(value->number)) return value->number;
    refuse_field(f, name, "is not a positive number");
    return otherwise;
}

/* Features that every Qwen3 has off: if one were on it would be another model. */
static void check_absent(struct config_file *f)
{
    static const char *const off[] = {"attention_bias", "use_sliding_window", "mlp_bias"};
    for (size_t i = 0; i < sizeof off / sizeof off[0]; i++) {
        const struct json_value *value = json_find(&f->json, f->root, off[i]);
        if (value != NULL && value->kind != JSON_FALSE && value->kind != JSON_NULL)
            refuse_field(f, off[i], "is on, which is not supported");
    }
    const struct json_value *scaling = json_find(&f->json, f->root, "rope_scaling");
    if (scaling != NULL && scaling->kind != JSON_NULL) {
        const struct json_value *type = json_find(&f->json, scaling, "rope_type");
        if (!json_is(type, "default")) refuse_field(f, "rope_scaling", "is given, which is not supported");
    }
    const struct json_value *act = json_find(&f->json, f->root, "hidden_act");
    if (act != NULL && !json_is(act, "silu")) refuse_field(f, "hidden_act", "is not \"silu\"");
}

/* rope_theta is at the top level, or in rope_parameters in newer versions of transformers. */
static double rope_base(struct config_file *f)
{
    const struct json_value *inner = json_find(&f->json, f->root, "rope_parameters");
    double base = positive(f, f->root, "rope_theta", 0.0);
    if (inner != NULL && inner->kind == JSON_OBJECT) {
        const struct json_value *type = json_find(&f->json, inner, "rope_type");
        if (type != NULL && !json_is(type, "default")) refuse_field(f, "rope_type", "is not \"default\"");
        base = positive(f, inner, "rope_theta", base);
    }
    if (base == 0.0) refuse_field(f, "rope_theta", "is missing");
    return base;
}

static void take_stop(struct config_file *f, struct model_config *config, const struct json_value *value)
{
    if (value->kind != JSON_NUMBER || !value->is_integer || value->integer < 0 ||
        value->integer >= config->vocab)
        refuse_field(f, "eos_token_id", "is no token of the vocabulary");
    else if (config->stop_count == MODEL_MOST_STOPS)
        refuse_field(f, "eos_token_id", "has more tokens than are supported");
    else
        config->stops[config->stop_count++] = (int)value->integer;
}

static void take_stops(struct config_file *f, struct model_config *config)
{
    const struct json_value *value = json_find(&f->json, f->root, "eos_token_id");
    if (value == NULL || value->kind == JSON_NULL) return;
    if (value->kind != JSON_ARRAY) {
        take_stop(f, config, value);
        return;
    }
    for (const struct json_value *m = json_first(&f->json, value); m != NULL; m = json_next(&f->json, m))
        take_stop(f, config, m);
}

static int is_true(const struct config_file *f, const struct json_value *from, const char *name)
{
    const struct json_value *value = json_find(&f->json, from, name);
    return value != NULL && value->kind == JSON_TRUE;
}

/* Qwen3-MoE: experts in every layer. */
static void take_experts(struct config_file *f, struct model_config *config)
{
    const struct json_value *without = json_find(&f->json, f->root, "mlp_only_layers");
    config->experts = whole(f, "num_experts", 65535, 0);
    config->top_k = whole(f, "num_experts_per_tok", 65535, 0);
    config->intermediate = whole(f, "moe_intermediate_size", MOST_EXTENT, 0);
    config->renormalise = is_true(f, f->root, "norm_topk_prob");
    if (config->top_k > config->experts) refuse_field(f, "num_experts_per_tok", "is more than num_experts");
    if (whole(f, "decoder_sparse_step", 65535, 1) != 1)
        refuse_field(f, "decoder_sparse_step", "is not 1: layers without experts are not supported");
    if (without != NULL && without->kind != JSON_NULL && (without->kind != JSON_ARRAY || without->count > 0))
        refuse_field(f, "mlp_only_layers", "is not empty: layers without experts are not supported");
}

/* 4 bits: AWQ's gemm version, or GPTQ. */
static void take_four_bits(struct config_file *f, const struct json_value *from, struct model_config *config)
{
    const struct json_value *group = json_find(&f->json, from, "group_size"),
                            *bits = json_find(&f->json, from, "bits");
    const struct json_value *version =
        json_find(&f->json, from, config->storage == MODEL_AWQ ? "version" : "checkpoint_format");
    if (bits == NULL || bits->kind != JSON_NUMBER || bits->number != 4.0) refuse_field(f, "bits", "is not 4");
    if (version != NULL && !json_is(version, config->storage == MODEL_AWQ ? "gemm" : "gptq"))
        refuse_field(f, config->storage == MODEL_AWQ ? "version" : "checkpoint_format", "is not supported");
    if (config->storage == MODEL_AWQ && !is_true(f, from, "zero_point"))
        refuse_field(f, "zero_point", "is not true");
    if (group == NULL || group->kind != JSON_NUMBER ||
        (group->number != 32.0 && group->number != 64.0 && group->number != 128.0 && group->number != -1.0)) {
        refuse_field(f, "group_size", "is none of 32, 64, 128 and -1");
        return;
    }
    config->group = group->number < 0.0 ? 0 : (int)group->number;
    const int inputs[] = {config->hidden, config->heads * config->head_dim, config->intermediate};
    for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++) {
        if (inputs[i] % 64 != 0 || (config->kv_heads * config->head_dim) % 8 != 0)
            refuse_field(f, "hidden_size",
                         "or another extent of a matrix is no multiple of 64, as 4 bits need");
        else if (config->group > 0 && inputs[i] % config->group != 0)
            refuse_field(f, "group_size", "does not divide the inputs of every matrix");
    }
}

/* The one form of compressed-tensors that lesson 13 multiplies: 8 bits, a scale per output and one per row of activations. */
static void take_eight_bits(struct config_file *f, const struct json_value *from)
{
    const struct json_value *groups = json_find(&f->json, from, "config_groups");
    const struct json_value *first = groups != NULL ? json_first(&f->json, groups) : NULL;
    const char *const sides[] = {"weights", "input_activations"}, *const strategies[] = {"channel", "token"};
    if (first == NULL || json_next(&f->json, first) != NULL)
        refuse_field(f, "config_groups", "does not have one group");
    for (int i = 0; i < 2 && first != NULL; i++) {
        const struct json_value *side = json_find(&f->json, first, sides[i]);
        const struct json_value *bits = side != NULL ? json_find(&f->json, side, "num_bits") : NULL;
        if (side == NULL || bits == NULL || bits->kind != JSON_NUMBER || bits->number != 8.0 ||
            !json_is(json_find(&f->json, side, "type"), "int") || !is_true(f, side, "symmetric") ||
            !json_is(json_find(&f->json, side, "strategy"), strategies[i]) ||
            is_true(f, side, "dynamic") != (i == 1))
            refuse_field(f, sides[i],
                         i ? "is not symmetric, dynamic, of 8 bits per token"
                           : "is not symmetric, of 8 bits per channel");
    }
}

static void take_storage(struct config_file *f, struct model_config *config)
{
    const struct json_value *from = json_find(&f->json, f->root, "quantization_config");
    if (from == NULL || from->kind == JSON_NULL) return;
    const struct json_value *method = json_find(&f->json, from, "quant_method");
    if (config->experts > 0)
        refuse_field(f, "quantization_config", "is given, which is not supported with experts");
    else if (json_is(method, "awq"))
        config->storage = MODEL_AWQ;
    else if (json_is(method, "gptq"))
        config->storage = MODEL_GPTQ;
    else if (json_is(method, "compressed-tensors"))
        config->storage = MODEL_INT8;
    else
        refuse_field(f, "quant_method", "is none of \"awq\", \"gptq\" and \"compressed-tensors\"");
    if (config->storage == MODEL_INT8) take_eight_bits(f, from);
    if (config->storage == MODEL_AWQ || config->storage == MODEL_GPTQ) take_four_bits(f, from, config);
}

static void take_config(struct config_file *f, struct model_config *config)
{
    const struct json_value *type = json_find(&f->json, f->root, "model_type");
    const int experts = json_is(type, "qwen3_moe");
    if (!experts && !json_is(type, "qwen3"))
        refuse_field(f, "model_type", "is not \"qwen3\" or \"qwen3_moe\"");
    check_absent(f);
    config->layers = whole(f, "num_hidden_layers", MOST_LAYERS, 0);
    config->hidden = whole(f, "hidden_size", MOST_EXTENT, 0);
    config->heads = whole(f, "num_attention_heads", 65535, 0);
    config->kv_heads = whole(f, "num_key_value_heads", 65535, config->heads);
    config->head_dim =
        whole(f, "head_dim", 1024, config->hidden / config->heads > 0 ? config->hidden / config->heads : 1);
    if (experts)
        take_experts(f, config);
    else
        config->intermediate = whole(f, "intermediate_size", MOST_EXTENT, 0);
    config->vocab = whole(f, "vocab_size", MOST_EXTENT, 0);
    config->max_context = whole(f, "max_position_embeddings", INT_MAX, 0);
    config->epsilon = positive(f, f->root, "rms_norm_eps", 1e-6);
    config->rope_base = rope_base(f);
    config->tied = is_true(f, f->root, "tie_word_embeddings");
    if (config->heads % config->kv_heads != 0)
        refuse_field(f, "num_key_value_heads", "does not divide num_attention_heads");
    if (config->head_dim % 2 != 0) refuse_field(f, "head_dim", "is odd");
    take_stops(f, config);
    take_storage(f, config);
}

int model_config_read(struct model_config *config, const char *path, char error[MODEL_ERROR])
{
    struct config_file f = {.path = path, .error = error};
    *config = (struct model_config){0};
    int failed = json_read(&f.json, path, MOST_CONFIG, error);
    if (!failed) {
        f.root = json_root(&f.json);
        take_config(&f, config);
        failed = f.failed ? -1 : 0;
    }
    json_free(&f.json);
    return failed;
}

int model_config_named(struct model_config *config, const char *name)
{
    static const struct {
        const char *name;
        struct model_config config;
    } known[] = {
        {"0.6B",
         {.layers = 28,
          .hidden = 1024,
          .heads = 16,
          .kv_heads = 8,
          .head_dim = 128,
          .intermediate = 3072,
          .vocab = 151936,
          .max_context = 40960,
          .tied = 1,
          .epsilon = 1e-6,
          .rope_base = 1e6}},
        {"8B",
         {.layers = 36,
          .hidden = 4096,
          .heads = 32,
          .kv_heads = 8,
          .head_dim = 128,
          .intermediate = 12288,
          .vocab = 151936,
          .max_context = 40960,
          .tied = 0,
          .epsilon = 1e-6,
          .rope_base = 1e6}},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(known[i].name, name) != 0) continue;
        *config = known[i].config;
        return 0;
    }
    return -1;
}
