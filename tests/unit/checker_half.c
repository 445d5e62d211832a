/**
 * @file checker_half.c
 * @brief Attention stored as half: the case table, and the verdict on planted mistakes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checker/cases/attention_cases.h"
#include "judged_case.h"
#include "base/parallel.h"

static int failures;

void expect(int holds, const char *what, const char *found)
{
    if (holds) return;
    failures++;
    printf("FAIL %s: %s\n", what, found);
}

static int half_cases(struct lesson_case *cases, int capacity)
{
    static const struct attention_family family = {.part = {-1, -1, -1, 0},
                                                   .workspace = WORKSPACE_STATISTICS_OUT,
                                                   .name = "f16",
                                                   .dtype = DTYPE_F16,
                                                   .tiled = 1};
    return attention_cases(&family, cases, 0, capacity);
}

static const struct lesson HALF_LESSON = {.number = 90,
                                          .topic = "half",
                                          .title = "attention stored as half",
                                          .part_count = 1,
                                          .part = {{"f16", 100}},
                                          ATTENTION_CALLBACKS,
                                          .cases = half_cases};

enum damage {
    NONE,
    TWO_ULPS,
    TRUNCATED,
    SUMMED_AS_HALF,
    TIMES_TWO,
    ALL_ZERO,
    COPY_OF_Q,
    UNTOUCHED_EVEN,
    UNTOUCHED_ODD,
    UNTOUCHED_LSE,
    ONE_RUN,
    INPUT_CHANGED,
    LAST_OUT_WRITTEN
};

static const struct planted {
    const char *name;
    enum damage damage;
    enum state state;
    const char *says;
} PLANTED[] = {
    {"f16/square_64", NONE, STATE_PASS, ""},
    {"f16/causal_blind_rows", NONE, STATE_PASS, ""},
    {"f16/large_logits", NONE, STATE_PASS, ""},
    {"f16/large_values", NONE, STATE_PASS, ""},
    {"f16/small_values", NONE, STATE_PASS, ""},
    {"f16/dominant_key", NONE, STATE_PASS, ""},
    {"f16/equal_scores", NONE, STATE_PASS, ""},
    {"f16/nan_k", NONE, STATE_PASS, ""},
    {"f16/dtype_bf16_and_misaligned_q", NONE, STATE_PASS, ""},
    {"f16/square_64", TWO_ULPS, STATE_FAIL, "wrong"},
    {"f16/square_64", TRUNCATED, STATE_FAIL, "wrong"},
    {"f16/small_values", TRUNCATED, STATE_FAIL, "wrong"},
    {"f16/equal_scores", SUMMED_AS_HALF, STATE_FAIL, "wrong"},
    {"f16/square_64", TIMES_TWO, STATE_FAIL, "constant factor"},
    {"f16/square_64", ALL_ZERO, STATE_FAIL, "all zero"},
    {"f16/square_64", COPY_OF_Q, STATE_FAIL, "a copy of q"},
    {"f16/square_64", UNTOUCHED_EVEN, STATE_FAIL, "never written: 4096 of 8192"},
    {"f16/square_64", UNTOUCHED_ODD, STATE_FAIL, "never written: 4096 of 8192"},
    {"f16/square_64", UNTOUCHED_LSE, STATE_FAIL, "elements of lse"},
    {"f16/square_64", ONE_RUN, STATE_FAIL, "differs from run to run"},
    {"f16/square_64", INPUT_CHANGED, STATE_FAIL, "input modified: k[0,0,0,3]"},
    {"f16/dtype_bf16_and_misaligned_q", LAST_OUT_WRITTEN, STATE_FAIL, "yet out["},
};

/* The mean of the values, which is the right answer where all scores are equal, if the sum were a half. */
static float sum_as_half(const struct judged_case *c, const float *v, size_t column)
{
    size_t kv_len = (size_t)c->item->settled.extent[AT_KV_LEN];
    size_t head_dim = (size_t)c->item->settled.extent[AT_HEAD_DIM];
    float sum = 0.0f;
    for (size_t j = 0; j < kv_len; j++)
        sum = storage_round(STORAGE_F16, sum + v[j * head_dim + column] / (float)kv_len);
    return sum;
}

static float spoiled(struct judged_case *c, enum damage damage, size_t at, float value, const float *v)
{
    switch (damage) {
    case TWO_ULPS:
        return storage_of_half((uint16_t)(storage_half_of(value) + 2 * (at == 100)));
    case TRUNCATED: /* toward zero, as if the exact result lay just below what rounding gave */
        return at % 2 ? value : storage_of_half((uint16_t)(storage_half_of(value) - (value != 0.0f)));
    case SUMMED_AS_HALF:
        return sum_as_half(c, v, at % 32);
    case TIMES_TWO:
        return 2.0f * value;
    case ALL_ZERO:
        return 0.0f;
    case COPY_OF_Q:
        return storage_get(STORAGE_F16, copy_of(c, ATTENTION_Q, 0), at);
    default:
        return value;
    }
}

static void spoil(struct judged_case *c, enum damage damage)
{
    size_t elems = lesson_elems(&c->item->buffer[ATTENTION_OUT]);
    const float *v = c->item->input[ATTENTION_V];
    for (int run = 0; run < 2; run++) {
        unsigned char *out = copy_of(c, ATTENTION_OUT, run), *lse = copy_of(c, ATTENTION_LSE, run);
        uint32_t poison = session_poison(c->item, ATTENTION_OUT, run);
        uint32_t lse_poison = session_poison(c->item, ATTENTION_LSE, run);
        for (size_t at = 0; at < elems && damage < UNTOUCHED_EVEN; at++)
            storage_put(STORAGE_F16, out, at, spoiled(c, damage, at, storage_get(STORAGE_F16, out, at), v));
        for (size_t at = damage == UNTOUCHED_ODD; at < elems && damage <= UNTOUCHED_ODD; at += 2)
            if (damage >= UNTOUCHED_EVEN)
                memcpy(out + 2 * at, (const unsigned char *)&poison + 2 * (at % 2), 2);
        if (damage == UNTOUCHED_LSE) memcpy(lse + 40, &lse_poison, sizeof lse_poison);
        if (damage == ONE_RUN && run == 1) out[7] ^= 1;
        if (damage == LAST_OUT_WRITTEN) storage_put(STORAGE_F16, out, elems - 1, 0.5f);
    }
    if (damage == INPUT_CHANGED) ((unsigned char *)copy_of(c, ATTENTION_K, 0))[6] ^= 1;
}

static void test_planted(void)
{
    for (size_t i = 0; i < sizeof PLANTED / sizeof PLANTED[0]; i++) {
        const struct planted *planted = &PLANTED[i];
        struct judged_case c;
        char text[2 * VERDICT_TEXT + 64];
        open_case(&c, &HALF_LESSON, planted->name);
        if (planted->damage != NONE) spoil(&c, planted->damage);
        const struct verdict *verdict = judge_case(&c);
        snprintf(text, sizeof text, "row %zu: %s: %s / %s", i, state_name(verdict->state),
                 headline_of(verdict), pattern_of(verdict));
        expect(verdict->state == planted->state, planted->name, text);
        expect(strstr(headline_of(verdict), planted->says) != NULL ||
                   strstr(pattern_of(verdict), planted->says) != NULL,
               planted->name, text);
        close_case(&c);
    }
}

/* An odd number of halves: the guard zone begins in the middle of a word. */
static void test_guards(void)
{
    for (int changed = -1; changed < 2; changed++) {
        struct judged_case c;
        open_guarded_case(&c, &HALF_LESSON, "f16/square_64");
        unsigned char *out = copy_of(&c, ATTENTION_OUT, 0);
        size_t bytes = lesson_bytes(&c.item->buffer[ATTENTION_OUT]);
        expect(bytes == 2 * 2 * 64 * 64, "lesson_bytes", "not two bytes per element");
        if (changed == 0) out[bytes + 2] ^= 1;
        if (changed == 1) out[-2] ^= 1;
        const struct verdict *verdict = judge_case(&c);
        const char *says = changed == 0 ? "2 bytes past the end of out" : "2 bytes before the start of out";
        expect(verdict->state == (changed < 0 ? STATE_PASS : STATE_FAIL), "guards of halves",
               headline_of(verdict));
        expect(changed < 0 || strstr(headline_of(verdict), says) != NULL, "guards of halves",
               headline_of(verdict));
        close_case(&c);
    }
}

/* Points add up, names are unique, and only what a tiled kernel takes is expected to work. */
static void test_table(void)
{
    static struct lesson_case cases[CHECK_CASES];
    int count = half_cases(cases, CHECK_CASES), refused_dims = 0;
    for (int i = 0; i < count; i++) {
        expect(strncmp(cases[i].name, "f16/", 4) == 0, cases[i].name, "not named by its part");
        expect(cases[i].expected != KERNEL_OK || cases[i].repeat > 1 ||
                   attention_tiled_head_dim(cases[i].value[AT_HEAD_DIM]),
               cases[i].name, "a head_dim that tiled kernels refuse");
        refused_dims += cases[i].repeat == 1 && cases[i].expected == KERNEL_INVALID_DIMENSION &&
                        cases[i].value[AT_HEAD_DIM] > 0 &&
                        !attention_tiled_head_dim(cases[i].value[AT_HEAD_DIM]);
        for (int j = 0; j < i; j++) expect(strcmp(cases[j].name, cases[i].name) != 0, cases[i].name, "twice");
        for (int n = 0; n < cases[i].repeat && cases[i].repeat > 1; n++) {
            struct lesson_case item = cases[i];
            struct rng rng = {rng_mix(9, (uint64_t)n)};
            item.devices = n % 2 ? ON_GPU : ON_SIMT;
            attention_vary(&item, n, &rng);
            expect(attention_tiled_head_dim(item.extent[AT_HEAD_DIM]), item.name, "a random head_dim");
        }
    }
    expect(refused_dims >= 5, "tiled cases", "refusals are missing");
}

/* What the checker finds, and the inputs it makes, do not depend on how many threads it has. */
static void test_threads(void)
{
    enum { COUNT = 200001 };
    float *one = malloc(COUNT * sizeof *one), *more = malloc(COUNT * sizeof *more);
    struct rng first = {7}, second = {7};
    if (one == NULL || more == NULL) exit(2);
    parallel_limit(1);
    rng_fill_normal(&first, one, COUNT);
    parallel_limit(5);
    rng_fill_normal(&second, more, COUNT);
    parallel_limit(0);
    expect(memcmp(one, more, COUNT * sizeof *one) == 0, "rng_fill_normal", "other numbers on five threads");
    expect(first.state == second.state, "rng_fill_normal", "another state on five threads");
    struct rng plain = {7};
    for (size_t i = 0; i < COUNT; i++) more[i] = (float)rng_normal(&plain);
    expect(memcmp(one, more, COUNT * sizeof *one) == 0, "rng_fill_normal", "not rng_normal() one by one");
    free(one);
    free(more);
}

int main(void)
{
    test_threads();
    test_table();
    test_planted();
    test_guards();
    printf("checker_half: %d failures\n", failures);
    return failures == 0 ? 0 : 1;
}
