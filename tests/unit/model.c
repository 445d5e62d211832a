/**
 * @file model.c
 * @brief Tests of what reads models: JSON, files of tensors, configurations, tokenizers; and of the oracle of a decoder, which
 *        must give the tiny model's logits as PyTorch computed them.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "model/model.h"
#include "model/safetensors.h"
#include "model/tokenizer.h"
#include "model/words.h"
#include "qwen3.h"

static int failures;
static const char *const tiny = TINY_MODEL, *const work = WORKDIR;

static void fail(const char *what, const char *detail)
{
    printf("    %s: %s\n", what, detail);
    failures++;
}

/* A call that must fail, with these words in its sentence. */
static void expect_error(const char *name, int failed, const char *error, const char *words)
{
    if (!failed)
        fail(name, "was accepted");
    else if (strstr(error, words) == NULL)
        fail(name, error);
}

static void write_text(const char *path, const char *text)
{
    if (write_file(path, text, strlen(text)) != 0) fail("cannot write", path);
}

static char *read_text(const char *path)
{
    struct text content = {0};
    if (read_file(path, &content) != 0) {
        printf("    %s cannot be read\n", path);
        exit(1);
    }
    text_append(&content, "", 1);
    return content.data;
}

/* @p text with the first @p from replaced by @p to; it must be there. */
static char *replaced(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    if (at == NULL) {
        fail("a test looks for text that is not there", from);
        return copy_string(text);
    }
    return format_string("%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

/* ---- JSON --------------------------------------------------------------------------------------------------- */

static void test_bad_json(void)
{
    static const struct {
        const char *text, *words;
    } bad[] = {{"", "ends too early"},
               {"[1,", "ends too early"},
               {"[1", "no comma"},
               {"{\"a\" 1}", "colon"},
               {"{1:2}", "without a name"},
               {"{\"a\":1,}", "without a name"},
               {"[1,]", "no value"},
               {"01", "a number"},
               {"-", "a number"},
               {"1.", "point"},
               {"1e", "exponent"},
               {"nul", "no value"},
               {"\"a", "does not end"},
               {"\"\\x\"", "unknown escape"},
               {"\"\\u12g4\"", "hexadecimal"},
               {"\"\\ud800\"", "surrogate"},
               {"\"\\udc00\"", "surrogate"},
               {"\"\\ud800\\u0041\"", "surrogate"},
               {"\"a\nb\"", "control"},
               {"1 2", "more text"},
               {"\"\\", "unknown escape"}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct json json;
        char error[MODEL_ERROR] = "";
        int failed = json_parse(&json, copy_string(bad[i].text), strlen(bad[i].text), error);
        expect_error(bad[i].text, failed, error, bad[i].words);
        json_free(&json);
    }
    char deep[200], error[MODEL_ERROR] = "";
    struct json json;
    memset(deep, '[', sizeof deep - 1);
    deep[sizeof deep - 1] = '\0';
    expect_error("200 brackets", json_parse(&json, copy_string(deep), strlen(deep), error), error, "deeply");
    json_free(&json);
}

static void test_good_json(void)
{
    static const char text[] = " {\"a\": [1, -2.5e1, true, false, null, {}], \"\\u00e9\\ud83d\\ude00\\n\": "
                               "\"x\\\"\\\\\", \"big\": 9223372036854775808} ";
    struct json json;
    char error[MODEL_ERROR] = "";
    if (json_parse(&json, copy_string(text), strlen(text), error) != 0) {
        fail("good JSON", error);
        return;
    }
    const struct json_value *root = json_root(&json), *a = json_find(&json, root, "a");
    const struct json_value *one = json_first(&json, a), *two = json_next(&json, one);
    if (a->count != 6 || !one->is_integer || one->integer != 1 || two->is_integer || two->number != -25.0)
        fail("JSON", "numbers");
    if (!json_is(json_find(&json, root, "\xc3\xa9\xf0\x9f\x98\x80\n"), "x\"\\")) fail("JSON", "escapes");
    if (json_find(&json, root, "big")->is_integer || json_find(&json, root, "b") != NULL ||
        json_find(&json, a, "a") != NULL)
        fail("JSON", "members");
    json_free(&json);
}

/* ---- files of tensors ---------------------------------------------------------------------------------------- */

/* Writes length, header and data; @p length -1 is the header's own. */
static char *tensor_file(const char *header, long long length, const void *data, size_t bytes)
{
    struct text text = {0};
    unsigned long long stored = length < 0 ? strlen(header) : (unsigned long long)length;
    for (int i = 0; i < 8; i++) text_append(&text, &(char){(char)(stored >> 8 * i & 255)}, 1);
    text_append(&text, header, strlen(header));
    text_append(&text, data, bytes);
    char *path = format_string("%s/test.safetensors", work);
    if (write_file(path, text.data, text.length) != 0) fail("cannot write", path);
    text_free(&text);
    return path;
}

static void test_bad_tensor_files(void)
{
#define ONE(dtype, shape, offsets)                                                                           \
    "{\"t\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}}"
    static const struct {
        const char *header;
        long long length;
        const char *words;
    } bad[] = {{"{}", 1000, "header is longer"},
               {"{}", 0x7fffffffffffffff, "header is longer"},
               {"{\"t\"", -1, "no valid JSON"},
               {"[]", -1, "no object"},
               {"{\"t\":1}", -1, "'t' is described by no object"},
               {ONE("F99", "[2]", "[0,8]"), -1, "element type"},
               {ONE("F32", "[-2]", "[0,8]"), -1, "shape"},
               {ONE("F32", "[1.5]", "[0,8]"), -1, "shape"},
               {ONE("F32", "[4294967296,4294967296]", "[0,8]"), -1, "shape"},
               {ONE("F32", "[1,1,1,1,1,1,1,1,2]", "[0,8]"), -1, "shape"},
               {ONE("F32", "[2]", "[8,0]"), -1, "offsets"},
               {ONE("F32", "[2]", "[-8,0]"), -1, "offsets"},
               {ONE("F32", "[2]", "[0]"), -1, "offsets"},
               {ONE("F32", "[3]", "[0,12]"), -1, "cut off"},
               {ONE("F32", "[1]", "[0,8]"), -1, "not as long"},
               {ONE("F16", "[2]", "[0,8]"), -1, "not as long"},
               {ONE("F32", "[1]", "[4,8]"), -1, "hole"},
               {ONE("F32", "[1]", "[0,4]"), -1, "no tensor"},
               {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
                "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}",
                -1, "overlaps"},
               {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
                "\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}",
                -1, "twice"}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct tensor_file file;
        char error[MODEL_ERROR] = "";
        char *path = tensor_file(bad[i].header, bad[i].length, "12345678", 8);
        expect_error(bad[i].header, tensor_file_open(&file, path, error) != 0, error, bad[i].words);
        if (strstr(error, path) == NULL) fail("the sentence does not name the file", error);
        free(path);
    }
    struct tensor_file file;
    char error[MODEL_ERROR] = "", *path = format_string("%s/test.safetensors", work);
    write_text(path, "1234567");
    expect_error("7 bytes", tensor_file_open(&file, path, error) != 0, error, "shorter");
    write_text(path, "");
    expect_error("0 bytes", tensor_file_open(&file, path, error) != 0, error, "shorter");
    expect_error("no file", tensor_file_open(&file, "/no/such/file", error) != 0, error, "No such file");
    expect_error("a folder", tensor_file_open(&file, work, error) != 0, error, "directory");
    free(path);
}

/* Elements of the three types, the corners of each among them. */
static void test_elements(void)
{
    static const unsigned char data[] = {0,    0,    0x80, 0x3f, 0,    0,    0xc0, 0xff, /* f32: 1, NaN */
                                         0,    0x3c, 1,    0,    0xff, 0x7b, 0,    0xfc,
                                         0xff, 0x83, 0x55, 0x35,                          /* f16 */
                                         0x80, 0x3f, 1,    0,    0x80, 0xff, 0x49, 0xc0}; /* bf16 */
    static const float halves[] = {1.0f, 0x1p-24f, 65504.0f, -INFINITY, -0x1.ff8p-15f, 0x1.554p-2f};
    static const float bfloats[] = {1.0f, 0x1p-133f, -INFINITY, -0x1.92p+1f};
    float got[6];
    struct tensor_file file;
    char error[MODEL_ERROR] = "";
    char *path = tensor_file(
        "{\"__metadata__\":{\"format\":\"pt\"},\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}"
        ","
        "\"b\":{\"dtype\":\"F16\",\"shape\":[2,3],\"data_offsets\":[8,20]},\"e\":{\"dtype\":\"F32\","
        "\"shape\":[0],"
        "\"data_offsets\":[8,8]},\"c\":{\"dtype\":\"BF16\",\"shape\":[4],\"data_offsets\":[20,28]}}",
        -1, data, sizeof data);
    if (tensor_file_open(&file, path, error) != 0) {
        fail("a good file", error);
        return;
    }
    const struct tensor *b = tensor_find(&file, "b");
    if (file.count != 4 || b == NULL || b->rank != 2 || b->shape[1] != 3 || tensor_find(&file, "d") != NULL)
        fail("a good file", "its tensors");
    tensor_to_floats(tensor_find(&file, "a"), 0, 2, got);
    if (got[0] != 1.0f || !isnan(got[1])) fail("F32", "elements");
    tensor_to_floats(b, 0, 6, got);
    for (int i = 0; i < 6; i++)
        if (got[i] != halves[i])
            printf("    F16 element %d is %a, not %a\n", i, (double)got[i], (double)halves[i]), failures++;
    tensor_to_floats(tensor_find(&file, "c"), 1, 3, got);
    for (int i = 1; i < 4; i++)
        if (got[i - 1] != bfloats[i])
            printf("    BF16 element %d is %a\n", i, (double)got[i - 1]), failures++;
    tensor_file_close(&file);
    free(path);
}

/* ---- folders -------------------------------------------------------------------------------------------------- */

/* A copy of a file of a tiny model in the work folder, with a piece of it replaced. @p of: folder of the model in tiny. */
static void copy_changed(const char *of, const char *name, const char *from, const char *to)
{
    char *source = format_string("%s/%s/%s", tiny, of, name), *target = format_string("%s/%s", work, name);
    struct text content = {0};
    if (read_file(source, &content) != 0) fail("cannot read", source);
    for (size_t at = 0; from != NULL && at + strlen(from) <= content.length; at++)
        if (memcmp(content.data + at, from, strlen(from)) == 0) {
            struct text changed = {0};
            text_append(&changed, content.data, at);
            text_append(&changed, to, strlen(to));
            text_append(&changed, content.data + at + strlen(from), content.length - at - strlen(from));
            text_free(&content);
            content = changed;
            from = NULL;
        }
    if (from != NULL) fail("a test looks for text that is not there", from);
    if (write_file(target, content.data, content.length) != 0) fail("cannot write", target);
    text_free(&content);
    free(source);
    free(target);
}

static void test_bad_folders(void)
{
    static const struct {
        const char *of, *file, *from, *to, *words;
    } bad[] = {
        {".", "config.json", "\"qwen3\"", "\"llama\"", "\"model_type\" is not \"qwen3\""},
        {".", "config.json", "\"silu\"", "\"gelu\"", "\"hidden_act\""},
        {".", "config.json", "\"attention_bias\": false", "\"attention_bias\": true",
         "\"attention_bias\" is on"},
        {".", "config.json", "\"hidden_size\": 64", "\"hidden_siz\": 64", "\"hidden_size\" is missing"},
        {".", "config.json", "\"hidden_size\": 64", "\"hidden_size\": 64.5",
         "\"hidden_size\" is not a whole number"},
        {".", "config.json", "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 0",
         "\"num_hidden_layers\" is not a whole number"},
        {".", "config.json", "\"num_key_value_heads\": 2", "\"num_key_value_heads\": 3", "does not divide"},
        {".", "config.json", "\"head_dim\": 32", "\"head_dim\": 33", "\"head_dim\" is odd"},
        {".", "config.json", "\"rms_norm_eps\": 1e-06", "\"rms_norm_eps\": 0",
         "\"rms_norm_eps\" is not a positive number"},
        {".", "config.json", "\"rope_theta\"", "\"rope_thet\"", "\"rope_theta\" is missing"},
        {".", "config.json", "\"eos_token_id\": 317", "\"eos_token_id\": 320", "no token of the vocabulary"},
        {".", "config.json", "\"vocab_size\": 320", "\"vocab_size\": 330",
         "has 320 rows, but the vocabulary of config.json 330"},
        {".", "config.json", "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 3",
         "no tensor 'model.layers.2."},
        {".", "config.json", "\"tie_word_embeddings\": true", "\"tie_word_embeddings\": false",
         "no tensor 'lm_head.weight'"},
        {".", "config.json", "\"intermediate_size\": 96", "\"intermediate_size\": 97",
         "no matrix of 97 x 64"},
        {".", "config.json", "{", "", "no valid JSON"},
        {".", "model.safetensors", "model.norm.weight", "model.nrom.weight", "no tensor 'model.norm.weight'"},
        {".", "model.safetensors", "\"BF16\"", "\"I16\" ", "elements of type I16"},
        {".", "model.safetensors", "\"dtype\"", "\"dtypE\"", "element type"},
        {"awq", "config.json", "\"awq\"", "\"exl\"", "\"quant_method\" is none of"},
        {"awq", "config.json", "\"bits\": 4", "\"bits\": 3", "\"bits\" is not 4"},
        {"awq", "config.json", "\"group_size\": 128", "\"group_size\": 96", "\"group_size\" is none of"},
        {"awq", "config.json", "\"group_size\": 128", "\"group_size\": 64",
         "q_proj.scales' is no matrix of 2 x 128"},
        {"awq", "config.json", "\"intermediate_size\": 256", "\"intermediate_size\": 192", "does not divide"},
        {"awq", "config.json", "\"zero_point\": true", "\"zero_point\": false", "\"zero_point\" is not true"},
        {"awq", "model.safetensors", "down_proj.qzeros", "down_proj.qzeroz",
         "no tensor 'model.layers.0.mlp.down_proj.qzeros'"},
        {"awq", "model.safetensors", "\"I32\"", "\"F32\"", "elements of type F32; I32 can be read"},
        {"gptq", "config.json", "\"gptq\",\n    \"bits", "\"awq\",\n    \"bits",
         "\"zero_point\" is not true"},
        {"gptq", "config.json", "\"checkpoint_format\": \"gptq\"", "\"checkpoint_format\": \"gptq_v2\"",
         "is not supported"},
        {"int8", "config.json", "\"symmetric\": true", "\"symmetric\": false",
         "\"weights\" is not symmetric"},
        {"int8", "config.json", "\"dynamic\": true", "\"dynamic\": false", "\"input_activations\" is not"},
        {"int8", "model.safetensors", "weight_scale", "weight_scalf", "down_proj.weight_scale'"},
        {"int8", "model.safetensors", "\"I8\"", "\"U8\"", "elements of type U8; I8 can be read"},
        {"moe", "config.json", "\"num_experts\": 8", "\"num_experts\": 9",
         "no tensor 'model.layers.0.mlp.experts.8.gate_proj.weight'"},
        {"moe", "config.json", "\"num_experts_per_tok\": 2", "\"num_experts_per_tok\": 9",
         "more than num_experts"},
        {"moe", "config.json", "\"decoder_sparse_step\": 1", "\"decoder_sparse_step\": 2",
         "layers without experts"},
        {"moe", "model.safetensors", "mlp.gate.weight", "mlp.gat3.weight",
         "no tensor 'model.layers.0.mlp.gate.weight'"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char error[MODEL_ERROR] = "";
        copy_changed(bad[i].of, "config.json", NULL, NULL);
        copy_changed(bad[i].of, "model.safetensors", NULL, NULL);
        copy_changed(bad[i].of, bad[i].file, bad[i].from, bad[i].to);
        struct model *model = model_open(work, error);
        expect_error(bad[i].to, model == NULL, error, bad[i].words);
        model_close(model);
    }
    char error[MODEL_ERROR] = "", *path = format_string("%s/model.safetensors", work);
    copy_changed(".", "config.json", NULL, NULL);
    copy_changed(".", "model.safetensors", NULL, NULL);
    if (truncate(path, 100000) != 0) fail("cannot cut off", path);
    expect_error("a file cut off", model_open(work, error) == NULL, error, "the file is cut off");
    unlink(path);
    expect_error("no weights", model_open(work, error) == NULL, error, "No such file");
    expect_error("no folder", model_open("/no/such/folder", error) == NULL, error, "No such file");
    free(path);
}

/* The tiny model again, its tensors in the file that the index names. */
static void test_index(void)
{
    char error[MODEL_ERROR] = "", *single = format_string("%s/model.safetensors", work),
         *index = format_string("%s.index.json", single);
    char *part = format_string("%s/part.safetensors", work);
    copy_changed(".", "config.json", NULL, NULL);
    copy_changed(".", "model.safetensors", NULL, NULL);
    rename(single, part);
    write_text(index, "{\"weight_map\":{\"a\":\"part.safetensors\",\"b\":\"part.safetensors\"}}");
    struct model *model = model_open(work, error);
    if (model == NULL) fail("an index", error);
    model_close(model);
    write_text(index, "{\"weight_map\":{\"a\":\"../part.safetensors\"}}");
    expect_error("a path in the index", model_open(work, error) == NULL, error, "in no file of this folder");
    write_text(index, "{\"weight\":{}}");
    expect_error("no map", model_open(work, error) == NULL, error, "weight_map");
    write_text(index, "{\"weight_map\":{\"a\":\"gone.safetensors\"}}");
    expect_error("a file that is gone", model_open(work, error) == NULL, error, "No such file");
    unlink(index);
    free(single);
    free(index);
    free(part);
}

static void test_seed(void)
{
    struct model_config config;
    if (model_config_named(&config, "0.6B") != 0 || model_config_named(&config, "8B") != 0 ||
        model_config_named(&config, "9B") == 0)
        fail("sizes", "by name");
    model_config_named(&config, "0.6B");
    struct model *model = model_from_seed(&config, 5), *other = model_from_seed(&config, 6);
    float all[600], piece[100], others[600];
    double squares = 0.0;
    model_read(model, MODEL_Q, 3, 1000, 600, all);
    model_read(model, MODEL_Q, 3, 1250, 100, piece);
    model_read(other, MODEL_Q, 3, 1000, 600, others);
    if (memcmp(all + 250, piece, sizeof piece) != 0)
        fail("seed", "an element depends on where reading begins");
    if (memcmp(all, others, sizeof all) == 0) fail("seed", "the seed does not matter");
    for (int i = 0; i < 600; i++) squares += (double)all[i] * (double)all[i];
    if (fabs(squares / 600.0 * 1024.0 - 1.0) > 0.2) fail("seed", "standard deviation");
    model_read(model, MODEL_EMBEDDING, 0, 7, 600, all);
    model_read(model, MODEL_HEAD, 0, 7, 600, others);
    if (memcmp(all, others, sizeof all) != 0) fail("seed", "the head of a tied model is not its embedding");
    model_close(model);
    model_close(other);
}

/* ---- the oracle ------------------------------------------------------------------------------------------------ */

static float *read_all(const struct model *model, enum model_tensor tensor, int layer)
{
    int64_t rows, columns;
    model_shape(model_config(model), tensor, &rows, &columns);
    float *all = must_allocate((size_t)(rows * columns) * sizeof *all);
    model_read(model, tensor, layer, 0, (size_t)(rows * columns), all);
    return all;
}

/* Every logit that PyTorch computed in float64 and stored as a float. */
static void compare_logits(const double *logits, const double *deviation, const struct tensor *expected)
{
    enum { DEVIATIONS = 8 };
    float *wanted = must_allocate(expected->elems * sizeof *wanted);
    double worst = 0.0;
    tensor_to_floats(expected, 0, expected->elems, wanted);
    for (size_t i = 0; i < expected->elems; i++) {
        double off = fabs(logits[i] - (double)wanted[i]),
               bound = 0x1p-24 * fabs(logits[i]) + DEVIATIONS * deviation[i];
        if (!(off <= bound)) {
            printf("    logit %zu is %.9g, expected %.9g\n", i, logits[i], (double)wanted[i]);
            if (++failures > 10) break;
        }
        worst = fmax(worst, off / bound);
    }
    if (worst < 1e-3) fail("logits", "no error at all: are they compared with themselves?");
    free(wanted);
}

static void test_logits(void)
{
    char error[MODEL_ERROR] = "", *path = format_string("%s/expected.safetensors", tiny);
    struct model *model = model_open(tiny, error);
    struct tensor_file file;
    if (model == NULL || tensor_file_open(&file, path, error) != 0) {
        fail("the tiny model", error);
        return;
    }
    const struct model_config *c = model_config(model);
    const struct tensor *tokens = tensor_find(&file, "tokens"), *logits = tensor_find(&file, "logits");
    struct ref_qwen3_sizes sizes = {
        c->layers, c->hidden,  c->heads,     c->kv_heads, c->head_dim, c->intermediate,
        c->vocab,  c->epsilon, c->rope_base, 0,           0,           0};
    struct ref_qwen3_layer layers[8];
    for (int i = 0; i < c->layers; i++) {
        const float *all[MODEL_LAYER_TENSORS];
        for (int id = 0; id < MODEL_ROUTER; id++) all[id] = read_all(model, (enum model_tensor)id, i);
        layers[i] = (struct ref_qwen3_layer){all[0], all[1], all[2], all[3], all[4],  all[5],
                                             all[6], all[7], all[8], all[9], all[10], NULL};
    }
    struct ref_qwen3_weights weights = {read_all(model, MODEL_EMBEDDING, 0),
                                        read_all(model, MODEL_LAST_NORM, 0), read_all(model, MODEL_HEAD, 0),
                                        layers};
    const struct ref_qwen3_rounding f64 = {0x1p-53, 0x1p-53, 0x1p-53, 0, 0.0, 0.0};
    size_t count = tokens->elems, elems = logits->elems;
    double *got = must_allocate(elems * sizeof *got), *deviation = must_allocate(elems * sizeof *deviation);
    double *scratch = must_allocate(ref_qwen3_scratch_elems(&sizes, count, 0) * sizeof *scratch);
    int *ids = must_allocate(count * sizeof *ids);
    memcpy(ids, tokens->data, count * sizeof *ids);
    ref_qwen3_logits(&sizes, &weights, ids, count, &f64, NULL, got, deviation, scratch);
    compare_logits(got, deviation, logits);
    tensor_file_close(&file);
    model_close(model);
}

/* ---- tokens ---------------------------------------------------------------------------------------------------- */

static void test_text(const struct tokenizer *tokenizer, const char *pattern, const struct json *json,
                      const struct json_value *value)
{
    const struct json_value *text = json_find(json, value, "text"),
                            *expected = json_find(json, value, "tokens");
    struct text back = {0};
    int *tokens, same = 1;
    size_t count = tokenizer_encode(tokenizer, text->text, text->length, &tokens), i = 0;
    text_append(&back, "", 0);
    for (const struct json_value *m = json_first(json, expected); m != NULL; m = json_next(json, m), i++)
        same = same && i < count && tokens[i] == m->integer;
    for (size_t k = 0; k < count; k++) tokenizer_decode(tokenizer, tokens[k], &back);
    if (!same || count != expected->count) fail(pattern, text->text);
    if (back.length != text->length || memcmp(back.data, text->text, back.length) != 0)
        fail("text from its tokens", text->text);
    text_free(&back);
    free(tokens);
}

/* Where the text is cut: the tokens alone do not tell, as most cuts are where no pair would merge. */
static void test_words(const char *name, enum word_pattern pattern, const struct json *json,
                       const struct json_value *value)
{
    const struct json_value *text = json_find(json, value, "text"), *words = json_find(json, value, "words");
    size_t at = 0;
    int same = 1;
    for (const struct json_value *m = json_first(json, words); m != NULL && same; m = json_next(json, m)) {
        same = at < text->length &&
               word_length(pattern, text->text + at, text->length - at) == (size_t)m->integer;
        at += (size_t)m->integer;
    }
    if (!same || at != text->length) fail(name, format_string("words of: %s", text->text));
}

/* A string as it stands in a JSON text. */
static char *as_json(const char *plain)
{
    struct text text = {0};
    for (; *plain; plain++) {
        if (*plain == '\\') text_append(&text, "\\", 1);
        text_append(&text, plain, 1);
    }
    return text.data;
}

static void test_tokenizers(void)
{
    char error[MODEL_ERROR] = "", *source = format_string("%s/tokenizer.json", tiny),
         *path = format_string("%s/tokenizer.json", work);
    char *cases_path = format_string("%s/expected_tokens.json", tiny), *plain = read_text(source);
    struct json json;
    if (json_read(&json, cases_path, 1 << 20, error) != 0) {
        fail("expected tokens", error);
        return;
    }
    const struct json_value *patterns = json_find(&json, json_root(&json), "patterns"),
                            *cases = json_find(&json, json_root(&json), "cases");
    char *qwen = as_json(json_find(&json, patterns, "qwen")->text);
    for (const struct json_value *m = json_first(&json, patterns); m != NULL; m = json_next(&json, m)) {
        write_text(path, replaced(plain, qwen, as_json(m->text)));
        struct tokenizer *tokenizer = tokenizer_open(path, error);
        if (tokenizer == NULL) {
            fail(m->key, error);
            continue;
        }
        const struct json_value *list = json_find(&json, cases, m->key);
        for (const struct json_value *value = json_first(&json, list); value != NULL;
             value = json_next(&json, value)) {
            test_words(m->key, word_pattern_named(m->text), &json, value);
            test_text(tokenizer, m->key, &json, value);
        }
        if (tokenizer_size(tokenizer) != 320) fail("tokenizer", "its size");
        tokenizer_close(tokenizer);
    }
    json_free(&json);
}

static void test_bad_tokenizers(void)
{
    static const struct {
        const char *from, *to, *words;
    } bad[] = {{"\"type\":\"BPE\"", "\"type\":\"WordPiece\"", "not of type BPE"},
               {"\"vocab\"", "\"vocap\"", "no vocabulary"},
               {"\"merges\"", "\"mergez\"", "no merges"},
               {"\"a\":", "\"aa\":", "a byte has no token"},
               {"\\\\p{N}|", "\\\\p{N}+|", "by a pattern that is none of"},
               {"\"byte_fallback\":false", "\"byte_fallback\":true", "byte_fallback"},
               {"\"normalizer\":null", "\"normalizer\":{\"type\":\"Lowercase\"}", "normalizer"},
               {"\"a\":", "\"a\":-", "number of a token"},
               {"\"lstrip\":false", "\"lstrip\":true", "lstrip"},
               {"\"merges\":[[\"", "\"merges\":[[\"\\u4e2d", "a merge is not of two tokens"},
               {"{", "[", "no valid JSON"}};
    char *source = format_string("%s/tokenizer.json", tiny), *path = format_string("%s/tokenizer.json", work),
         *plain = read_text(source);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char error[MODEL_ERROR] = "", *changed = replaced(plain, bad[i].from, bad[i].to);
        write_text(path, changed);
        struct tokenizer *tokenizer = tokenizer_open(path, error);
        expect_error(bad[i].to, tokenizer == NULL, error, bad[i].words);
        tokenizer_close(tokenizer);
        free(changed);
    }
}

int main(void)
{
    remove_tree(work);
    if (make_folders(work) != 0) return 2;
    test_bad_json();
    test_good_json();
    test_bad_tensor_files();
    test_elements();
    test_bad_folders();
    test_index();
    test_seed();
    test_logits();
    test_tokenizers();
    test_bad_tokenizers();
    printf(failures ? "%d failures\n" : "all right\n", failures);
    return failures != 0;
}
