/**
 * @file attention_cases.c
 * @brief The tables: shapes, data and wrong arguments that every attention lesson is tried with.
 */
#include "attention_cases.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "attention_inputs.h"

/* Sets of kinds. */
enum {
    S = 1 << ATTENTION_SCORES,
    M = 1 << ATTENTION_SOFTMAX,
    O = 1 << ATTENTION_OUTPUT,
    W = 1 << ATTENTION_WHOLE
};
enum { ALL = S | M | O | W, PRODUCTS = S | O | W };

enum { BAD_WEIGHT = 1, GOOD_WEIGHT = 2 };

enum shape_flags { CAUSAL = 1, NO_LSE = 2, TWO_STREAMS = 4 };

/** One line: the same shape and data for every kind in the set. */
struct shape_row {
    const char *name;
    enum case_group group;
    unsigned kinds, devices;
    int batch, heads, kv_heads, q_len, kv_len, head_dim;
    unsigned flags;
    double scale;
    enum attention_distribution distribution;
};

static const struct shape_row SHAPES[] = {
    /* name              group           kinds     devices      b  h  kv   q    kv   d  flags */
    {"one", GROUP_BASIC, ALL, DEVICE_ANY, 1, 1, 1, 1, 1, 1, 0, 0, DIST_NORMAL},
    {"tiny", GROUP_BASIC, ALL, DEVICE_ANY, 1, 1, 1, 4, 6, 8, 0, 0, DIST_NORMAL},
    {"square_64", GROUP_BASIC, ALL, DEVICE_ANY, 1, 2, 2, 64, 64, 64, 0, 0, DIST_NORMAL},
    {"wide_32x128", GROUP_BASIC, ALL, DEVICE_ANY, 1, 2, 2, 32, 128, 32, 0, 0, DIST_NORMAL},
    {"tall_128x32", GROUP_BASIC, ALL, DEVICE_ANY, 1, 1, 1, 128, 32, 128, 0, 0, DIST_NORMAL},
    {"batch_3", GROUP_BASIC, ALL, DEVICE_ANY, 3, 2, 2, 17, 24, 16, 0, 0, DIST_NORMAL},
    {"causal_64", GROUP_BASIC, ALL, DEVICE_ANY, 1, 2, 2, 64, 64, 64, CAUSAL, 0, DIST_NORMAL},
    {"gqa_4", GROUP_BASIC, PRODUCTS, DEVICE_ANY, 1, 8, 2, 16, 32, 32, 0, 0, DIST_NORMAL},

    {"row_1x128", GROUP_EDGES, ALL, DEVICE_ANY, 1, 2, 2, 1, 128, 64, 0, 0, DIST_NORMAL},
    {"column_128x1", GROUP_EDGES, ALL, DEVICE_ANY, 1, 2, 2, 128, 1, 32, 0, 0, DIST_NORMAL},
    {"tail_31x33", GROUP_EDGES, ALL, DEVICE_ANY, 1, 2, 2, 31, 33, 32, 0, 0, DIST_NORMAL},
    {"tail_33x31", GROUP_EDGES, ALL, DEVICE_ANY, 1, 2, 2, 33, 31, 64, 0, 0, DIST_NORMAL},
    {"tail_63x65", GROUP_EDGES, ALL, DEVICE_ANY, 1, 2, 2, 63, 65, 64, 0, 0, DIST_NORMAL},
    {"tail_65x63", GROUP_EDGES, ALL, DEVICE_ANY, 1, 2, 2, 65, 63, 32, 0, 0, DIST_NORMAL},
    {"tail_127x129", GROUP_EDGES, ALL, DEVICE_ANY, 1, 1, 1, 127, 129, 64, 0, 0, DIST_NORMAL},
    {"tail_129x127", GROUP_EDGES, ALL, DEVICE_ANY, 1, 1, 1, 129, 127, 32, 0, 0, DIST_NORMAL},
    {"prime_97x131", GROUP_EDGES, ALL, DEVICE_ANY, 1, 1, 1, 97, 131, 64, 0, 0, DIST_NORMAL},
    {"head_dim_1", GROUP_EDGES, PRODUCTS, DEVICE_ANY, 1, 2, 2, 33, 33, 1, 0, 0, DIST_NORMAL},
    {"head_dim_31", GROUP_EDGES, PRODUCTS, DEVICE_ANY, 1, 2, 2, 33, 33, 31, 0, 0, DIST_NORMAL},
    {"head_dim_33", GROUP_EDGES, PRODUCTS, DEVICE_ANY, 1, 2, 2, 33, 33, 33, 0, 0, DIST_NORMAL},
    {"head_dim_100", GROUP_EDGES, PRODUCTS, DEVICE_ANY, 1, 1, 1, 20, 40, 100, CAUSAL, 0, DIST_NORMAL},
    {"head_dim_129", GROUP_EDGES, PRODUCTS, DEVICE_ANY, 1, 1, 1, 20, 40, 129, 0, 0, DIST_NORMAL},
    {"head_dim_256", GROUP_EDGES, PRODUCTS, DEVICE_ANY, 1, 1, 1, 20, 40, 256, 0, 0, DIST_NORMAL},
    {"head_dim_300", GROUP_EDGES, PRODUCTS, DEVICE_ANY, 1, 1, 1, 9, 11, 300, 0, 0, DIST_NORMAL},
    {"causal_tail", GROUP_EDGES, ALL, DEVICE_ANY, 1, 2, 2, 65, 65, 64, CAUSAL, 0, DIST_NORMAL},
    {"causal_129", GROUP_EDGES, ALL, DEVICE_ANY, 1, 1, 1, 129, 129, 32, CAUSAL, 0, DIST_NORMAL},
    {"causal_decode", GROUP_EDGES, ALL, DEVICE_ANY, 1, 2, 2, 1, 97, 32, CAUSAL, 0, DIST_NORMAL},
    {"causal_more_keys", GROUP_EDGES, ALL, DEVICE_ANY, 1, 2, 2, 33, 97, 32, CAUSAL, 0, DIST_NORMAL},
    {"causal_blind_rows", GROUP_EDGES, ALL, DEVICE_ANY, 1, 2, 2, 97, 33, 32, CAUSAL, 0, DIST_NORMAL},
    {"gqa_8", GROUP_EDGES, PRODUCTS, DEVICE_ANY, 1, 8, 1, 9, 33, 32, 0, 0, DIST_NORMAL},
    {"gqa_batch_causal", GROUP_EDGES, PRODUCTS, DEVICE_ANY, 3, 8, 2, 17, 33, 32, CAUSAL, 0, DIST_NORMAL},
    {"no_lse", GROUP_EDGES, M | W, DEVICE_ANY, 1, 2, 2, 33, 40, 32, NO_LSE, 0, DIST_NORMAL},
    {"scale_explicit", GROUP_EDGES, S | W, DEVICE_ANY, 1, 2, 2, 33, 40, 32, 0, 0.25, DIST_NORMAL},
    {"scale_negative", GROUP_EDGES, S | W, DEVICE_ANY, 1, 1, 1, 16, 40, 32, 0, -0.5, DIST_NORMAL},
    {"two_streams", GROUP_EDGES, ALL, DEVICE_ANY, 2, 2, 1, 40, 65, 32, CAUSAL | TWO_STREAMS, 0, DIST_NORMAL},

    {"large_logits", GROUP_NUMERICS, S | M | W, DEVICE_ANY, 1, 2, 2, 33, 65, 64, 0, 0, DIST_LARGE},
    {"low_logits", GROUP_NUMERICS, M | W, DEVICE_ANY, 1, 2, 2, 17, 65, 32, 0, 0, DIST_LOW},
    {"dominant_key", GROUP_NUMERICS, ALL, DEVICE_ANY, 1, 2, 2, 17, 130, 32, 0, 0, DIST_DOMINANT},
    {"equal_scores", GROUP_NUMERICS, M | O | W, DEVICE_ANY, 1, 1, 1, 2, 2500, 16, 0, 0, DIST_EQUAL},
    {"rising_scores", GROUP_NUMERICS, M | W, DEVICE_ANY, 1, 2, 2, 9, 200, 32, 0, 0, DIST_RISING},
    {"falling_scores", GROUP_NUMERICS, M | W, DEVICE_ANY, 1, 2, 2, 9, 200, 32, 0, 0, DIST_FALLING},
    {"nan_q", GROUP_NUMERICS, S | M | W, DEVICE_ANY, 1, 2, 2, 33, 40, 32, 0, 0, DIST_NAN_Q},
    {"nan_k", GROUP_NUMERICS, S | W, DEVICE_ANY, 2, 4, 2, 20, 40, 32, 0, 0, DIST_NAN_K},
    {"nan_v", GROUP_NUMERICS, O | W, DEVICE_ANY, 2, 4, 2, 20, 40, 32, 0, 0, DIST_NAN_V},
    {"nan_behind_mask", GROUP_NUMERICS, PRODUCTS, DEVICE_ANY, 1, 2, 2, 40, 70, 32, CAUSAL, 0,
     DIST_NAN_HIDDEN},

    {"qwen3_8b_prefill_8", GROUP_SPEED, W, DEVICE_ANY, 1, 32, 8, 8, 8, 128, CAUSAL, 0, DIST_NORMAL},
    {"qwen3_8b_decode_291", GROUP_SPEED, W, DEVICE_ANY, 1, 32, 8, 1, 291, 128, CAUSAL, 0, DIST_NORMAL},
    {"qwen3_8b_decode_4096", GROUP_SPEED, W, DEVICE_GPU, 1, 32, 8, 1, 4096, 128, CAUSAL, 0, DIST_NORMAL},
    {"qwen3_8b_prefill_512", GROUP_SPEED, W, DEVICE_GPU, 1, 32, 8, 512, 512, 128, CAUSAL, 0, DIST_NORMAL},
    {"qwen3_8b_prefill_2048", GROUP_SPEED, W, DEVICE_GPU, 1, 32, 8, 2048, 2048, 128, CAUSAL, 0, DIST_NORMAL},
    {"heads_16_len_2048", GROUP_SPEED, W, DEVICE_GPU, 1, 16, 16, 2048, 2048, 64, 0, 0, DIST_NORMAL},
};

/** A wrong argument: one value, one null pointer or one misaligned pointer. */
struct bad_row {
    const char *name;
    unsigned kinds;
    enum kernel_status expected;
    int at, value; /* lesson_case.value[at] = value; at < 0 for none */
    int null_buffer, misaligned_buffer, misalignment;
};

#define BAD_VALUE(at, value) (at), (value), -1, -1, 0
#define BAD_NULL(buffer) -1, 0, (buffer), -1, 0
#define BAD_ALIGNMENT(buffer, bytes) -1, 0, -1, (buffer), (bytes)

static const struct bad_row BAD[] = {
    {"null_args", ALL, KERNEL_INVALID_CONFIG, BAD_VALUE(AT_NULL_ARGS, 1)},
    {"null_q", S | W, KERNEL_INVALID_CONFIG, BAD_NULL(ATTENTION_Q)},
    {"null_k", S | W, KERNEL_INVALID_CONFIG, BAD_NULL(ATTENTION_K)},
    {"null_v", O | W, KERNEL_INVALID_CONFIG, BAD_NULL(ATTENTION_V)},
    {"null_out", O | W, KERNEL_INVALID_CONFIG, BAD_NULL(ATTENTION_OUT)},
    {"null_matrix", S | M | O, KERNEL_INVALID_CONFIG, BAD_NULL(ATTENTION_MATRIX)},
    {"batch_zero", W, KERNEL_INVALID_DIMENSION, BAD_VALUE(AT_BATCH, 0)},
    {"batch_negative", W, KERNEL_INVALID_DIMENSION, BAD_VALUE(AT_BATCH, -1)},
    {"heads_zero", W, KERNEL_INVALID_DIMENSION, BAD_VALUE(AT_HEADS, 0)},
    {"kv_heads_zero", W, KERNEL_INVALID_DIMENSION, BAD_VALUE(AT_KV_HEADS, 0)},
    {"q_len_zero", ALL, KERNEL_INVALID_DIMENSION, BAD_VALUE(AT_Q_LEN, 0)},
    {"q_len_negative", W, KERNEL_INVALID_DIMENSION, BAD_VALUE(AT_Q_LEN, -5)},
    {"kv_len_zero", ALL, KERNEL_INVALID_DIMENSION, BAD_VALUE(AT_KV_LEN, 0)},
    {"kv_len_negative", W, KERNEL_INVALID_DIMENSION, BAD_VALUE(AT_KV_LEN, -1)},
    {"head_dim_zero", S | O | W, KERNEL_INVALID_DIMENSION, BAD_VALUE(AT_HEAD_DIM, 0)},
    {"head_dim_negative", W, KERNEL_INVALID_DIMENSION, BAD_VALUE(AT_HEAD_DIM, -64)},
    {"heads_not_divisible", PRODUCTS, KERNEL_INVALID_DIMENSION, BAD_VALUE(AT_KV_HEADS, 3)},
    {"dtype_f16", ALL, KERNEL_UNSUPPORTED_DTYPE, BAD_VALUE(AT_DTYPE, DTYPE_F16)},
    {"dtype_unknown", W, KERNEL_UNSUPPORTED_DTYPE, BAD_VALUE(AT_DTYPE, 7)},
    {"causal_unknown", W, KERNEL_INVALID_CONFIG, BAD_VALUE(AT_CAUSAL, 2)},
    {"misaligned_q", S | W, KERNEL_ALIGNMENT_ERROR, BAD_ALIGNMENT(ATTENTION_Q, 2)},
    {"misaligned_k", S | W, KERNEL_ALIGNMENT_ERROR, BAD_ALIGNMENT(ATTENTION_K, 2)},
    {"misaligned_v", O | W, KERNEL_ALIGNMENT_ERROR, BAD_ALIGNMENT(ATTENTION_V, 2)},
    {"misaligned_out", O | W, KERNEL_ALIGNMENT_ERROR, BAD_ALIGNMENT(ATTENTION_OUT, 2)},
    {"misaligned_lse", W, KERNEL_ALIGNMENT_ERROR, BAD_ALIGNMENT(ATTENTION_LSE, 2)},
    {"batch_times_heads_overflow", W, KERNEL_INVALID_DIMENSION, BAD_VALUE(AT_BATCH, 1 << 30)},
    {"rows_overflow", W, KERNEL_INVALID_DIMENSION, BAD_VALUE(AT_KV_LEN, 1 << 30)},
};

static const struct bad_row BAD_WORKSPACE[] = {
    {"workspace_null", W, KERNEL_OUT_OF_MEMORY, BAD_NULL(ATTENTION_WORKSPACE)},
    {"workspace_short", W, KERNEL_OUT_OF_MEMORY, BAD_VALUE(AT_WORKSPACE_SHORTAGE, 1)},
    {"workspace_misaligned", W, KERNEL_ALIGNMENT_ERROR, BAD_ALIGNMENT(ATTENTION_WORKSPACE, 4)},
};

static const char *const KIND_NAME[ATTENTION_KINDS] = {"scores", "softmax", "output", "attention"};

static void settle(struct lesson_case *item, enum attention_kind kind, const struct attention_family *family)
{
    item->part = family->part[kind];
    item->extent[EX_KIND] = (int)kind;
    item->extent[EX_WORKSPACE] = family->workspace;
    for (int i = 0; i <= AT_HEAD_DIM; i++) item->value[i] = item->extent[i];
    item->value[AT_KIND] = (int)kind;
    item->null_buffer = item->misaligned_buffer = -1;
    item->expected = KERNEL_OK;
    item->repeat = 1;
}

static void shape_case(struct lesson_case *item, const struct shape_row *row, enum attention_kind kind,
                       const struct attention_family *family)
{
    *item = (struct lesson_case){
        .group = row->group,
        .weight = GOOD_WEIGHT,
        .devices = row->devices,
        .extent = {row->batch, row->heads, row->kv_heads, row->q_len, row->kv_len, row->head_dim},
        .real = {row->scale},
        .distribution = row->distribution};
    settle(item, kind, family);
    snprintf(item->name, sizeof item->name, "%s/%s", KIND_NAME[kind], row->name);
    item->value[AT_CAUSAL] = (row->flags & CAUSAL) != 0;
    if (row->flags & NO_LSE) item->null_buffer = ATTENTION_LSE;
    if (row->flags & TWO_STREAMS) item->flags |= CASE_TWO_STREAMS;
    if (row->distribution == DIST_NORMAL) item->flags |= CASE_UNIT_SCALE;
}

/* The buffers of a bad case are those of a small good one, so that a kernel that does run finds memory. */
static void bad_case(struct lesson_case *item, const struct bad_row *row, enum attention_kind kind,
                     const struct attention_family *family)
{
    *item = (struct lesson_case){.group = GROUP_BAD_INPUT,
                                 .weight = BAD_WEIGHT,
                                 .devices = DEVICE_ANY,
                                 .extent = {1, 4, 2, 5, 7, 8},
                                 .distribution = DIST_NORMAL};
    settle(item, kind, family);
    snprintf(item->name, sizeof item->name, "%s/%s", KIND_NAME[kind], row->name);
    if (row->at >= 0) item->value[row->at] = row->value;
    item->null_buffer = row->null_buffer;
    item->misaligned_buffer = row->misaligned_buffer;
    item->misalignment = row->misalignment;
    item->expected = row->expected;
}

/* Scales that are no number, a head_dim above the limit, and a score matrix of 2^32 bytes and more. */
static int odd_cases(const struct attention_family *family, struct lesson_case *cases, int count,
                     int capacity)
{
    static const struct bad_row blank = {"", W, KERNEL_INVALID_CONFIG, BAD_VALUE(-1, 0)};
    static const struct {
        const char *name;
        double scale;
    } odd_scale[] = {{"scale_nan", (double)NAN}, {"scale_infinite", (double)INFINITY}};
    for (int i = 0; i < 2 && count < capacity; i++, count++) {
        bad_case(&cases[count], &blank, ATTENTION_WHOLE, family);
        snprintf(cases[count].name, LESSON_NAME, "attention/%s", odd_scale[i].name);
        cases[count].real[AT_SCALE] = odd_scale[i].scale;
    }
    if (family->max_head_dim > 0 && count < capacity) {
        bad_case(&cases[count], &blank, ATTENTION_WHOLE, family);
        snprintf(cases[count].name, LESSON_NAME, "attention/head_dim_above_%d", family->max_head_dim);
        cases[count].value[AT_HEAD_DIM] = family->max_head_dim + 1;
        cases[count++].expected = KERNEL_INVALID_DIMENSION;
    }
    for (int wide = 0; family->workspace && wide < 2 && count < capacity; wide++, count++) {
        bad_case(&cases[count], &blank, ATTENTION_WHOLE, family);
        snprintf(cases[count].name, LESSON_NAME, "attention/workspace_overflow_%d", wide ? 64 : 32);
        cases[count].value[AT_HEADS] = cases[count].value[AT_KV_HEADS] = 1;
        cases[count].value[AT_Q_LEN] = cases[count].value[AT_KV_LEN] = wide ? 1 << 30 : 1 << 16;
        cases[count].expected = KERNEL_OUT_OF_MEMORY;
    }
    return count;
}

static int property_cases(const struct attention_family *family, struct lesson_case *cases, int count,
                          int capacity)
{
    static const struct shape_row rows[] = {
        {"property_random_shapes", GROUP_PROPERTIES, ALL, DEVICE_ANY, 1, 1, 1, 1, 1, 1, 0, 0, DIST_NORMAL},
        {"property_causal_prefix", GROUP_PROPERTIES, W, DEVICE_ANY, 1, 1, 1, 1, 1, 1, CAUSAL, 0, DIST_NORMAL},
        {"property_bad_input", GROUP_PROPERTIES, W, DEVICE_ANY, 1, 4, 2, 5, 7, 8, 0, 0, DIST_NORMAL},
    };
    static const int repeat[] = {100, 200, 100};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (int kind = 0; kind < ATTENTION_KINDS; kind++) {
            if (!(rows[i].kinds >> kind & 1) || family->part[kind] < 0 || count >= capacity) continue;
            shape_case(&cases[count], &rows[i], (enum attention_kind)kind, family);
            cases[count].repeat = repeat[i];
            if (strcmp(rows[i].name, "property_bad_input") == 0)
                cases[count].expected = KERNEL_INVALID_DIMENSION;
            count++;
        }
    return count;
}

int attention_cases(const struct attention_family *family, struct lesson_case *cases, int count, int capacity)
{
    for (int kind = 0; kind < ATTENTION_KINDS; kind++) {
        if (family->part[kind] < 0) continue;
        for (size_t i = 0; i < sizeof SHAPES / sizeof SHAPES[0] && count < capacity; i++) {
            if (!(SHAPES[i].kinds >> kind & 1)) continue;
            if (family->max_head_dim > 0 && SHAPES[i].head_dim > family->max_head_dim) continue;
            shape_case(&cases[count++], &SHAPES[i], (enum attention_kind)kind, family);
        }
        for (size_t i = 0; i < sizeof BAD / sizeof BAD[0] && count < capacity; i++)
            if (BAD[i].kinds >> kind & 1)
                bad_case(&cases[count++], &BAD[i], (enum attention_kind)kind, family);
    }
    for (size_t i = 0; family->workspace && i < sizeof BAD_WORKSPACE / sizeof BAD_WORKSPACE[0]; i++)
        if (count < capacity) bad_case(&cases[count++], &BAD_WORKSPACE[i], ATTENTION_WHOLE, family);
    count = odd_cases(family, cases, count, capacity);
    return property_cases(family, cases, count, capacity);
}

/* One random wrong argument on a good shape: what must be refused, whatever else is asked. */
static void vary_bad(struct lesson_case *item, struct rng *rng)
{
    int count = (int)(sizeof BAD / sizeof BAD[0]);
    const struct bad_row *row;
    do row = &BAD[rng_between(rng, 0, count - 1)];
    while (!(row->kinds & W));
    if (row->at >= 0) item->value[row->at] = row->value;
    item->null_buffer = row->null_buffer;
    item->misaligned_buffer = row->misaligned_buffer;
    item->misalignment = row->misalignment;
    item->expected = row->expected;
}

void attention_vary(struct lesson_case *item, int index, struct rng *rng)
{
    /* The software device is slow in rows: a block of threads each, as a rule. */
    int large = item->devices == DEVICE_GPU, longest = large ? 300 : 24, most_rows = large ? 300 : 8;
    int pairs = strstr(item->name, "property_causal_prefix") != NULL;
    int bad = strstr(item->name, "property_bad_input") != NULL;
    /* Items 2n and 2n + 1 of the causal property have the same shape, and the same inputs but for hidden keys. */
    struct rng shape = {pairs ? rng_mix(item->seed, (uint64_t)(index / 2)) : rng_next(rng)};
    item->seed = rng_mix(shape.state, 7);
    int most = large ? 3 : pairs ? 1 : 2;
    int group = rng_between(&shape, 1, most);
    item->extent[AT_BATCH] = rng_between(&shape, 1, most);
    item->extent[AT_KV_HEADS] = rng_between(&shape, 1, 2);
    item->extent[AT_HEADS] = item->extent[AT_KV_HEADS] * group;
    item->extent[AT_Q_LEN] = rng_between(&shape, pairs ? 2 : 1, most_rows);
    item->extent[AT_KV_LEN] = rng_between(&shape, pairs ? 2 : 1, longest);
    item->extent[AT_HEAD_DIM] = rng_between(&shape, 1, longest > 128 ? 128 : longest);
    if (bad) {
        item->extent[AT_KV_HEADS] = 2;
        item->extent[AT_HEADS] = 4;
    }
    for (int i = 0; i <= AT_HEAD_DIM; i++) item->value[i] = item->extent[i];
    if (!pairs) item->value[AT_CAUSAL] = rng_between(&shape, 0, 1);
    if (rng_between(&shape, 0, 2) == 0) item->real[AT_SCALE] = 0.05 + rng_uniform(&shape);
    if (pairs && index % 2 == 1) item->distribution = DIST_OTHER_TAIL;
    if (bad) vary_bad(item, &shape);
}
