/**
 * @file reference_decode.c
 * @brief Tests of the oracle of a decode step: values worked out by hand, and what must not change it.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decode_step.h"

enum { CAPACITY = 8, MAX_WEIGHTS = 4096, MAX_SCRATCH = 512 };

static int failures;
static float weights[MAX_WEIGHTS];
static double keys[2 * CAPACITY * 8], values[2 * CAPACITY * 8], logits[16], scratch[MAX_SCRATCH];
static const struct ref_decode_rounding EXACT = {NULL, 0, NULL};

/** One layer, two elements everywhere, one head of two. */
static const struct ref_decode_sizes SMALL = {1, 2, 1, 1, 2, 1, 2};
/** Two layers, two query heads on one key head. */
static const struct ref_decode_sizes LARGER = {2, 6, 2, 1, 4, 5, 7};

/** Where the weights of SMALL lie. */
enum {
    EMBEDDING = 0,
    NORM = 4,
    QKV = 6,
    OUT = 18,
    MLP_NORM = 22,
    GATE_UP = 24,
    DOWN = 28,
    LAST_NORM = 30,
    TO_LOGITS = 32,
    SMALL_ELEMS = 36
};

static void expect_near(const char *what, double got, double expected, double tolerance)
{
    if (fabs(got - expected) <= tolerance) return;
    printf("    %s is %.17g, expected %.17g\n", what, got, expected);
    failures++;
}

static struct ref_decode_sequence empty_sequence(void)
{
    memset(keys, 0, sizeof keys);
    memset(values, 0, sizeof values);
    return (struct ref_decode_sequence){CAPACITY, keys, values};
}

/** Embeddings (3, 4) and (1, 0), norms of 1, logits = the normed state; everything else 0. */
static void plain_weights(void)
{
    const float embedding[] = {3.0f, 4.0f, 1.0f, 0.0f};
    memset(weights, 0, sizeof weights);
    memcpy(weights + EMBEDDING, embedding, sizeof embedding);
    for (int i = 0; i < 2; i++) weights[NORM + i] = weights[MLP_NORM + i] = weights[LAST_NORM + i] = 1.0f;
    weights[TO_LOGITS] = weights[TO_LOGITS + 3] = 1.0f;
}

static void fill_random(size_t count)
{
    unsigned state = 1;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        weights[i] = (float)(state >> 8) / 8388608.0f - 1.0f;
    }
}

static void test_counts(void)
{
    expect_near("weights of SMALL", (double)ref_decode_weight_elems(&SMALL), SMALL_ELEMS, 0.0);
    expect_near("weights of LARGER", (double)ref_decode_weight_elems(&LARGER),
                7 * 6 + 2 * (6 + 6 * 16 + 8 * 6 + 6 + 6 * 10 + 5 * 6) + 6 + 6 * 7, 0.0);
}

/** (3, 4) has a mean square of 12.5: the normed state is (3, 4) / sqrt(12.5 + 1e-5). */
static void test_nothing_but_embedding(void)
{
    struct ref_decode_sequence sequence = empty_sequence();
    plain_weights();
    ref_decode_step(&SMALL, weights, &EXACT, 0, 0, &sequence, logits, NULL, scratch);
    expect_near("first logit", logits[0], 3.0 / sqrt(12.50001), 1e-12);
    expect_near("second logit", logits[1], 4.0 / sqrt(12.50001), 1e-12);
}

/** At position 0 attention gives the value itself: v = 2 normed, Wout = 1, so x = (3, 4) (1 + 2 /
 * sqrt(12.50001)). */
static void test_first_position(void)
{
    struct ref_decode_sequence sequence = empty_sequence();
    double normed = 1.0 / sqrt(12.50001);
    plain_weights();
    weights[QKV + 4 * 2] = weights[QKV + 5 * 2 + 1] = 2.0f; /* rows are outputs: q, q, k, k, v, v */
    weights[OUT] = weights[OUT + 3] = 1.0f;
    ref_decode_step(&SMALL, weights, &EXACT, 0, 0, &sequence, logits, NULL, scratch);
    expect_near("value", values[0], 6.0 * normed, 1e-12);
    double x = 3.0 + 6.0 * normed, y = 4.0 + 8.0 * normed;
    expect_near("logit", logits[0], x / sqrt((x * x + y * y) / 2.0 + 1e-5), 1e-12);
}

/** gate = normed[0], up = normed[1], down = (1, 0): x[0] grows by silu(gate) * up. */
static void test_mlp(void)
{
    struct ref_decode_sequence sequence = empty_sequence();
    double a = 3.0 / sqrt(12.50001), b = 4.0 / sqrt(12.50001);
    plain_weights();
    weights[GATE_UP] = weights[GATE_UP + 3] = 1.0f;
    weights[DOWN] = 1.0f;
    ref_decode_step(&SMALL, weights, &EXACT, 0, 0, &sequence, logits, NULL, scratch);
    double x = 3.0 + a / (1.0 + exp(-a)) * b;
    expect_near("logit", logits[1], 4.0 / sqrt((x * x + 16.0) / 2.0 + 1e-5), 1e-12);
}

/** A key is turned by its position in radians (the pair 0 of a head): (k, 0) becomes k (cos, sin). */
static void test_turning(void)
{
    struct ref_decode_sequence sequence = empty_sequence();
    double normed = 1.0 / sqrt(0.50001);
    plain_weights();
    weights[QKV + 2 * 2] = 1.0f;
    for (int position = 0; position < 4; position++) {
        ref_decode_step(&SMALL, weights, &EXACT, 1, position, &sequence, logits, NULL, scratch);
        expect_near("turned key", keys[2 * position], normed * cos(position), 1e-12);
        expect_near("turned key", keys[2 * position + 1], normed * sin(position), 1e-12);
    }
}

/** Two values, equal scores (q = 0): the mean of both. Token 1's value is (1, 0) / sqrt(0.50001). */
static void test_two_positions(void)
{
    struct ref_decode_sequence sequence = empty_sequence();
    plain_weights();
    weights[QKV + 4 * 2] = weights[QKV + 5 * 2 + 1] = 1.0f;
    weights[OUT] = weights[OUT + 3] = 1.0f;
    ref_decode_step(&SMALL, weights, &EXACT, 1, 0, &sequence, logits, NULL, scratch);
    ref_decode_step(&SMALL, weights, &EXACT, 0, 1, &sequence, logits, NULL, scratch);
    double x = 3.0 + (1.0 / sqrt(0.50001) + 3.0 / sqrt(12.50001)) / 2.0, y = 4.0 + 2.0 / sqrt(12.50001);
    expect_near("logit", logits[0], x / sqrt((x * x + y * y) / 2.0 + 1e-5), 1e-12);
}

static double stored_as_nothing(double x, double beside, int terms, double magnitude)
{
    (void)x, (void)beside, (void)terms, (void)magnitude;
    return 0.0;
}

static double stored_as_beside(double x, double beside, int terms, double magnitude)
{
    (void)x, (void)terms, (void)magnitude;
    return beside;
}

/** f32 is near and not the same; what is stored is what is read; magnitudes are at least the results. */
static void test_rounding(void)
{
    double single[16], magnitude[16], of_keys[8], of_values[8], unstored_keys[8], unstored_values[8];
    const struct ref_decode_rounding f32 = {NULL, 1, NULL}, nothing = {stored_as_nothing, 0, NULL};
    const struct ref_decode_magnitudes magnitudes = {magnitude, of_keys, of_values, unstored_keys,
                                                     unstored_values};
    struct ref_decode_sequence sequence = empty_sequence();
    int different = 0;
    fill_random(ref_decode_weight_elems(&LARGER));
    ref_decode_step(&LARGER, weights, &f32, 3, 0, &sequence, single, NULL, scratch);
    ref_decode_step(&LARGER, weights, &EXACT, 3, 0, &sequence, logits, &magnitudes, scratch);
    for (int i = 0; i < LARGER.vocab; i++) {
        expect_near("f32", single[i], logits[i], 1e-4);
        different += single[i] != logits[i];
        expect_near("magnitude too small", fmax(0.0, fabs(logits[i]) - magnitude[i]), 0.0, 1e-12);
    }
    expect_near("f32 is not float64", different > 0, 1.0, 0.0);
    for (int i = 0; i < 4; i++)
        expect_near("key within its magnitude", fmax(0.0, fabs(keys[i]) - of_keys[i]), 0.0, 1e-12);
    for (int i = 0; i < 4; i++) expect_near("stored as it is", unstored_keys[i], keys[i], 0.0);
    const struct ref_decode_rounding as_beside = {stored_as_beside, 0, &magnitudes};
    unstored_values[0] = 3.0;
    ref_decode_step(&LARGER, weights, &as_beside, 3, 0, &sequence, single, NULL, scratch);
    expect_near("stored as the other computation has it", values[0], 3.0, 0.0);
    ref_decode_step(&LARGER, weights, &nothing, 3, 0, &sequence, single, NULL, scratch);
    expect_near("stored as nothing", values[0], 0.0, 0.0);
    expect_near("and so different", single[0] != logits[0], 1.0, 0.0);
}

/** Query heads 0 and 1 share the key head; swapping them with their columns of Wout changes nothing. */
static void test_grouped_heads(void)
{
    double before[16];
    struct ref_decode_sequence sequence = empty_sequence();
    size_t qkv = 7 * 6 + 6, out = qkv + 6 * 16;
    fill_random(ref_decode_weight_elems(&LARGER));
    for (int i = 0; i < 3; i++)
        ref_decode_step(&LARGER, weights, &EXACT, i, i, &sequence, before, NULL, scratch);
    for (size_t i = 0; i < 6; i++)
        for (size_t d = 0; d < 4; d++) {
            float *q = weights + qkv + d * 6 + i, *o = weights + out + i * 8 + d, kept = q[0],
                  kept_out = o[0];
            q[0] = q[4 * 6];
            q[4 * 6] = kept;
            o[0] = o[4];
            o[4] = kept_out;
        }
    sequence = empty_sequence();
    for (int i = 0; i < 3; i++)
        ref_decode_step(&LARGER, weights, &EXACT, i, i, &sequence, logits, NULL, scratch);
    for (int i = 0; i < LARGER.vocab; i++) expect_near("swapped heads", logits[i], before[i], 1e-12);
}

/** Both parts of a pair; and pairs that turn more slowly: 10000^(-1/2) for the second of two. */
static void test_pairs(void)
{
    static const struct ref_decode_sizes wide = {1, 2, 1, 1, 4, 1, 2}; /* q, k, v: 4 rows each */
    struct ref_decode_sequence sequence = empty_sequence();
    double a = 3.0 / sqrt(12.50001), b = 4.0 / sqrt(12.50001);
    plain_weights();
    weights[QKV + 2 * 2] = weights[QKV + 3 * 2 + 1] = 1.0f;
    ref_decode_step(&SMALL, weights, &EXACT, 0, 1, &sequence, logits, NULL, scratch);
    expect_near("first of the pair", keys[2], a * cos(1.0) - b * sin(1.0), 1e-12);
    expect_near("second of the pair", keys[3], b * cos(1.0) + a * sin(1.0), 1e-12);
    sequence = empty_sequence();
    memset(weights + QKV, 0, 200 * sizeof weights[0]);
    weights[QKV + 5 * 2] = 1.0f;
    ref_decode_step(&wide, weights, &EXACT, 0, 3, &sequence, logits, NULL, scratch);
    expect_near("slow pair", keys[4 * 3 + 1], a * cos(0.03), 1e-12);
    expect_near("slow pair", keys[4 * 3 + 3], a * sin(0.03), 1e-12);
}

/** Scores by hand: token 0, then token 1, whose query meets both keys; values are the normed states. */
static void test_scores(void)
{
    struct ref_decode_sequence sequence = empty_sequence();
    double a = 3.0 / sqrt(12.50001), b = 4.0 / sqrt(12.50001), n = 1.0 / sqrt(0.50001);
    plain_weights();
    weights[QKV] = weights[QKV + 2 * 2] = weights[QKV + 4 * 2] = weights[QKV + 5 * 2 + 1] = 1.0f;
    weights[OUT] = weights[OUT + 3] = 1.0f;
    ref_decode_step(&SMALL, weights, &EXACT, 0, 0, &sequence, logits, NULL, scratch);
    ref_decode_step(&SMALL, weights, &EXACT, 1, 1, &sequence, logits, NULL, scratch);
    double first = exp(n * a * cos(1.0) / sqrt(2.0)), second = exp(n * n / sqrt(2.0)), sum = first + second;
    double x = 1.0 + (first * a + second * n) / sum, y = first * b / sum;
    expect_near("logit", logits[1], y / sqrt((x * x + y * y) / 2.0 + 1e-5), 1e-12);
}

/** Two heads with a key head each: the value of the second one must reach the state. */
static void test_second_key_head(void)
{
    static const struct ref_decode_sizes two = {1, 2, 2, 2, 2, 1, 2};
    enum { OUT_OF_TWO = QKV + 24 }; /* then 8 of Wout, 2 + 4 + 2 of the MLP, the last norm, Wlogits */
    struct ref_decode_sequence sequence = empty_sequence();
    double a = 3.0 / sqrt(12.50001);
    plain_weights();
    memset(weights + QKV, 0, 200 * sizeof weights[0]);
    weights[QKV + 10 * 2] = weights[OUT_OF_TWO + 2] = 1.0f;
    for (int i = 0; i < 2; i++) weights[OUT_OF_TWO + 8 + 2 + 4 + 2 + i] = 1.0f;
    weights[OUT_OF_TWO + 18] = weights[OUT_OF_TWO + 21] = 1.0f;
    ref_decode_step(&two, weights, &EXACT, 0, 0, &sequence, logits, NULL, scratch);
    double x = 3.0 + a;
    expect_near("logit", logits[0], x / sqrt((x * x + 16.0) / 2.0 + 1e-5), 1e-12);
}

int main(void)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } tests[] = {{"counts", test_counts},
                 {"nothing_but_embedding", test_nothing_but_embedding},
                 {"first_position", test_first_position},
                 {"mlp", test_mlp},
                 {"turning", test_turning},
                 {"two_positions", test_two_positions},
                 {"pairs", test_pairs},
                 {"scores", test_scores},
                 {"second_key_head", test_second_key_head},
                 {"rounding", test_rounding},
                 {"grouped_heads", test_grouped_heads}};
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
        int before = failures;
        tests[i].run();
        printf("%s %s\n", failures == before ? "ok  " : "FAIL", tests[i].name);
    }
    return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
