/**
 * @file reference.c
 * @brief Tests of the oracles: values worked out by hand, identities of the algebra, and NumPy's values.
 *
 * Usage: unit_reference [name of a test]; exit code 1 if a test fails, 2 if there is none of that name.
 */
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "attention.h"
#include "gemm.h"
#include "paged_kv.h"
#include "qwen3.h"
#include "reference_values.h"
#include "softmax.h"
#include "w4.h"

enum { RANDOM_INPUTS = 100, MAX_ELEMS = 4096, MAX_COLS = 64 };

static const double ROUNDING = 1e-13; /* of a sum of a few dozen terms in float64, with room to spare */

/* ---- what failed ----------------------------------------------------------------------------------------
 */

static int failures;

static void fail(const char *format, ...)
{
    va_list words;
    va_start(words, format);
    printf("    ");
    vprintf(format, words);
    printf("\n");
    va_end(words);
    failures++;
}

/** Equal up to tolerance * max(1, |expected|); NaN equals NaN, an infinity only itself. */
static void expect_near(const char *what, int64_t index, double got, double expected, double tolerance)
{
    if (isnan(expected) ? isnan(got) : got == expected) return;
    if (fabs(got - expected) <= tolerance * fmax(1.0, fabs(expected)) && isfinite(expected)) return;
    fail("%s[%lld] is %.17g, expected %.17g", what, (long long)index, got, expected);
}

static void expect_all_near(const char *what, const double *got, const double *expected, int64_t count)
{
    for (int64_t i = 0; i < count; i++) expect_near(what, i, got[i], expected[i], ROUNDING);
}

/* ---- inputs ---------------------------------------------------------------------------------------------
 */

static uint64_t random_state;

/** An integer from low to high, both included. */
static int random_int(int low, int high)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return low + (int)((random_state >> 33) % (uint64_t)(high - low + 1));
}

/** Uniform in [-2, 2], a multiple of 2^-20 so that small sums of it are exact in float. */
static float random_float(void)
{
    return (float)random_int(-(1 << 21), 1 << 21) * 0x1p-20f;
}

static void fill_random(float *array, int64_t count)
{
    for (int64_t i = 0; i < count; i++) array[i] = random_float();
}

/* ---- softmax --------------------------------------------------------------------------------------------
 */

static void softmax_by_hand(void)
{
    const float rows[] = {1.0f, 2.0f, 3.0f, 0.0f, 0.0f, 0.0f, 10000.0f, 9999.0f, -10000.0f};
    const double probs[] = {0.09003057317038046, 0.24472847105479764, 0.66524095577482189,
                            1.0 / 3.0,           1.0 / 3.0,           1.0 / 3.0,
                            0.73105857863000488, 0.26894142136999512, 0.0};
    const double lse[] = {3.4076059644443803, 1.0986122886681098, 10000.313261687518};
    double out[9], out_lse[3];
    ref_softmax_rows(rows, out, out_lse, 3, 3);
    expect_all_near("probability", out, probs, 9);
    expect_all_near("lse", out_lse, lse, 3);

    const float one = -7.25f;
    ref_softmax_rows(&one, out, out_lse, 1, 1);
    expect_near("probability of one key", 0, out[0], 1.0, 0.0);
    expect_near("lse of one key", 0, out_lse[0], -7.25, 0.0);

    /* Next to 1 an error in exp(-30) does not show: look at it in its own size. */
    ref_softmax_rows((const float[]){0.0f, -30.0f}, out, NULL, 1, 2);
    expect_near("e^30 times a small probability", 1, out[1] * 10686474581524.463, 1.0, 1e-12);
}

static void softmax_of_special_values(void)
{
    enum { COLS = 3, ROWS = 6 };
    const float rows[ROWS][COLS] = {
        {-INFINITY, -INFINITY, -INFINITY}, {NAN, 1.0f, 2.0f},      {1.0f, NAN, 5.0f},
        {-INFINITY, -INFINITY, NAN},       {1.0f, INFINITY, 2.0f}, {-INFINITY, 4.0f, -INFINITY}};
    const double probs[ROWS][COLS] = {{0, 0, 0},       {NAN, NAN, NAN}, {NAN, NAN, NAN},
                                      {NAN, NAN, NAN}, {NAN, NAN, NAN}, {0, 1, 0}};
    const double lse[ROWS] = {-INFINITY, NAN, NAN, NAN, NAN, 4.0};
    double out[ROWS * COLS], out_lse[ROWS];
    ref_softmax_rows(&rows[0][0], out, out_lse, ROWS, COLS);
    expect_all_near("probability", out, &probs[0][0], ROWS * COLS);
    expect_all_near("lse", out_lse, lse, ROWS);
    ref_softmax_rows(&rows[0][0], out, NULL, ROWS, COLS);
    expect_all_near("probability without lse", out, &probs[0][0], ROWS * COLS);
    expect_near("lse of an empty row", 0, ref_softmax_row(out, 0), -INFINITY, 0.0);
}

/** Probabilities lie in (0, 1], sum to 1 and keep the order of the scores. */
static void softmax_is_a_distribution(void)
{
    float in[MAX_COLS];
    double out[MAX_COLS];
    for (int input = 0; input < RANDOM_INPUTS; input++) {
        int cols = random_int(1, MAX_COLS);
        fill_random(in, cols);
        ref_softmax_rows(in, out, NULL, 1, cols);
        double sum = 0.0;
        for (int j = 0; j < cols; j++) {
            sum += out[j];
            if (!(out[j] > 0.0 && out[j] <= 1.0)) fail("probability %g is outside (0, 1]", out[j]);
            if (j > 0 && (in[j] > in[j - 1]) != (out[j] > out[j - 1])) fail("order of scores lost at %d", j);
        }
        expect_near("sum", input, sum, 1.0, ROUNDING);
    }
}

/** softmax(x + c) = softmax(x) and lse(x + c) = lse(x) + c. */
static void softmax_ignores_a_shift(void)
{
    float in[MAX_COLS], shifted[MAX_COLS];
    double out[MAX_COLS], out_shifted[MAX_COLS], lse, lse_shifted;
    for (int input = 0; input < RANDOM_INPUTS; input++) {
        int cols = random_int(1, MAX_COLS);
        int shift = random_int(-8, 8); /* small, so that the float sum below is exact */
        fill_random(in, cols);
        for (int j = 0; j < cols; j++) shifted[j] = in[j] + (float)shift;
        ref_softmax_rows(in, out, &lse, 1, cols);
        ref_softmax_rows(shifted, out_shifted, &lse_shifted, 1, cols);
        expect_all_near("probability", out_shifted, out, cols);
        expect_near("lse", input, lse_shifted, lse + shift, ROUNDING);
    }
}

static void softmax_is_numpys(void)
{
    double out[SOFTMAX_ROWS * SOFTMAX_COLS], lse[SOFTMAX_ROWS];
    ref_softmax_rows(softmax_in, out, lse, SOFTMAX_ROWS, SOFTMAX_COLS);
    expect_all_near("probability", out, softmax_out, SOFTMAX_ROWS * SOFTMAX_COLS);
    expect_all_near("lse", lse, softmax_lse, SOFTMAX_ROWS);
}

/* ---- the merge of two pairs -----------------------------------------------------------------------------
 */

struct pair {
    double m, l;
};

static struct pair merge(struct pair a, struct pair b)
{
    struct pair both;
    ref_softmax_merge(a.m, a.l, b.m, b.l, &both.m, &both.l);
    return both;
}

static void expect_pair(const char *what, struct pair got, struct pair expected)
{
    expect_near(what, 0, got.m, expected.m, ROUNDING);
    expect_near(what, 1, got.l, expected.l, ROUNDING);
}

static struct pair random_pair(void)
{
    struct pair pair = {10.0 * (double)random_float(), 2.5 + (double)random_float()};
    return pair;
}

static void merge_by_hand(void)
{
    const double two = 0.69314718055994531; /* log 2: a maximum lower by it halves the sum */
    expect_pair("equal", merge((struct pair){3, 2}, (struct pair){3, 5}), (struct pair){3, 7});
    expect_pair("second larger", merge((struct pair){0, 2}, (struct pair){two, 5}), (struct pair){two, 6});
    expect_pair("first larger", merge((struct pair){two, 5}, (struct pair){0, 2}), (struct pair){two, 6});
    expect_pair("far apart", merge((struct pair){-1e6, 9}, (struct pair){1e6, 1}), (struct pair){1e6, 1});
}

static void merge_with_nothing_changes_nothing(void)
{
    const struct pair empty = {-INFINITY, 0.0};
    expect_pair("empty, empty", merge(empty, empty), empty);
    for (int input = 0; input < RANDOM_INPUTS; input++) {
        struct pair a = random_pair();
        expect_pair("a, empty", merge(a, empty), a);
        expect_pair("empty, a", merge(empty, a), a);
    }
}

static void merge_keeps_a_nan(void)
{
    const struct pair pairs[] = {{NAN, NAN}, {0, NAN}, {NAN, 1}, {-INFINITY, NAN}, {INFINITY, 1}};
    const struct pair others[] = {{-INFINITY, 0}, {-1, 2}, {5, 1}};
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 3; j++) {
            expect_near("l of NaN and a pair", i, merge(pairs[i], others[j]).l, NAN, 0.0);
            expect_near("l of a pair and NaN", i, merge(others[j], pairs[i]).l, NAN, 0.0);
        }
    expect_near("m", 0, merge(pairs[0], others[1]).m, NAN, 0.0);
    expect_near("m", 1, merge(others[1], pairs[0]).m, NAN, 0.0);
}

static void merge_may_be_done_in_any_order(void)
{
    for (int input = 0; input < RANDOM_INPUTS; input++) {
        struct pair a = random_pair(), b = random_pair(), c = random_pair();
        expect_pair("a, b and b, a", merge(a, b), merge(b, a));
        expect_pair("(a, b), c and a, (b, c)", merge(merge(a, b), c), merge(a, merge(b, c)));
    }
}

/** Merging the pairs (x_j, 1) of single scores one by one gives the logsumexp of the row. */
static void merge_of_single_scores_gives_the_row(void)
{
    float in[MAX_COLS];
    double out[MAX_COLS], lse;
    for (int input = 0; input < RANDOM_INPUTS; input++) {
        int cols = random_int(1, MAX_COLS);
        fill_random(in, cols);
        ref_softmax_rows(in, out, &lse, 1, cols);
        struct pair sum = {-INFINITY, 0.0};
        for (int j = 0; j < cols; j++) sum = merge(sum, (struct pair){(double)in[j], 1.0});
        expect_near("m + log(l)", input, sum.m + log(sum.l), lse, ROUNDING);
        for (int j = 0; j < cols; j++)
            expect_near("exp(x - m) / l", j, exp((double)in[j] - sum.m) / sum.l, out[j], ROUNDING);
    }
}

static void merge_is_numpys(void)
{
    for (int i = 0; i < MERGE_COUNT; i++) {
        const double *pairs = merge_values + 6 * i;
        expect_pair("pair", merge((struct pair){pairs[0], pairs[1]}, (struct pair){pairs[2], pairs[3]}),
                    (struct pair){pairs[4], pairs[5]});
    }
}

/* ---- attention ------------------------------------------------------------------------------------------
 */

/** One problem with room for inputs and results. */
struct attention_problem {
    struct ref_attention_shape shape;
    float q[MAX_ELEMS], k[MAX_ELEMS], v[MAX_ELEMS];
    double out[MAX_ELEMS], magnitude[MAX_ELEMS], lse[MAX_ELEMS], score_magnitude[MAX_ELEMS];
};

static struct attention_problem problem, other;

static int64_t q_rows(const struct ref_attention_shape *shape)
{
    return (int64_t)shape->batch * shape->heads * shape->q_len;
}

static int64_t kv_rows(const struct ref_attention_shape *shape)
{
    return (int64_t)shape->batch * shape->kv_heads * shape->kv_len;
}

static void solve(struct attention_problem *p)
{
    double scratch[MAX_COLS];
    const struct ref_attention_result result = {p->out, p->magnitude, p->lse, p->score_magnitude};
    ref_attention(&p->shape, p->q, p->k, p->v, scratch, &result);
}

/** A problem of random extents, options and values. */
static void make_random(struct attention_problem *p)
{
    int kv_heads = random_int(1, 3);
    p->shape = (struct ref_attention_shape){.batch = random_int(1, 2),
                                            .heads = kv_heads * random_int(1, 3),
                                            .kv_heads = kv_heads,
                                            .q_len = random_int(1, 9),
                                            .kv_len = random_int(1, 9),
                                            .head_dim = random_int(1, 8),
                                            .scale = random_int(0, 1) ? 0.0 : (double)random_float(),
                                            .causal = random_int(0, 1)};
    fill_random(p->q, q_rows(&p->shape) * p->shape.head_dim);
    fill_random(p->k, kv_rows(&p->shape) * p->shape.head_dim);
    fill_random(p->v, kv_rows(&p->shape) * p->shape.head_dim);
}

static void expect_same_result(const struct attention_problem *got, const struct attention_problem *expected)
{
    int64_t rows = q_rows(&expected->shape);
    expect_all_near("out", got->out, expected->out, rows * expected->shape.head_dim);
    expect_all_near("magnitude", got->magnitude, expected->magnitude, rows * expected->shape.head_dim);
    expect_all_near("lse", got->lse, expected->lse, rows);
    expect_all_near("score magnitude", got->score_magnitude, expected->score_magnitude, rows);
}

/** Moves key and value from row `from` of each K/V head to row `to` of an array with other extents. */
static void copy_kv_row(const struct attention_problem *source, int64_t from,
                        struct attention_problem *target, int64_t to)
{
    size_t bytes = (size_t)source->shape.head_dim * sizeof(float);
    memcpy(target->k + to * target->shape.head_dim, source->k + from * source->shape.head_dim, bytes);
    memcpy(target->v + to * target->shape.head_dim, source->v + from * source->shape.head_dim, bytes);
}

static void attention_visible_by_hand(void)
{
    static const struct {
        int q_len, kv_len, causal, i, visible;
    } rows[] = {{3, 5, 0, 0, 5}, {3, 5, 0, 2, 5}, {4, 4, 1, 0, 1}, {4, 4, 1, 3, 4}, {3, 5, 1, 0, 3},
                {3, 5, 1, 2, 5}, {5, 3, 1, 0, 0}, {5, 3, 1, 1, 0}, {5, 3, 1, 2, 1}, {5, 3, 1, 4, 3},
                {1, 7, 1, 0, 7}, {7, 1, 1, 5, 0}, {7, 1, 1, 6, 1}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        struct ref_attention_shape shape = {1, 1, 1, rows[r].q_len, rows[r].kv_len, 4, 0.0, rows[r].causal};
        expect_near("visible", (int64_t)r, ref_attention_visible(&shape, rows[r].i), rows[r].visible, 0.0);
    }
}

static void attention_by_hand(void)
{
    /* Scores 1 and 0: probabilities 1 / (1 + 1/e) and the rest. Element 1 of the values cancels in part. */
    problem.shape = (struct ref_attention_shape){1, 1, 1, 1, 2, 2, 0.5, 0};
    memcpy(problem.q, (const float[]){1.0f, 2.0f}, 2 * sizeof(float));
    memcpy(problem.k, (const float[]){4.0f, -1.0f, -2.0f, 1.0f}, 4 * sizeof(float));
    memcpy(problem.v, (const float[]){10.0f, 1.0f, 0.0f, -1.0f}, 4 * sizeof(float));
    const double p = 0.73105857863000488;
    solve(&problem);
    expect_near("out", 0, problem.out[0], 10.0 * p, ROUNDING);
    expect_near("out", 1, problem.out[1], 2.0 * p - 1.0, ROUNDING);
    expect_near("magnitude", 0, problem.magnitude[0], 10.0 * p, ROUNDING);
    expect_near("magnitude", 1, problem.magnitude[1], 1.0, ROUNDING);
    expect_near("lse", 0, problem.lse[0], 1.3132616875182228, ROUNDING);
    expect_near("score magnitude", 0, problem.score_magnitude[0], 3.0, ROUNDING);

    struct ref_attention_shape shape = {1, 1, 1, 1, 1, 64, 0.0, 0};
    expect_near("default scale", 0, ref_attention_scale(&shape), 0.125, 0.0);
    shape.scale = -3.0;
    expect_near("explicit scale", 0, ref_attention_scale(&shape), -3.0, 0.0);
}

/** With keys that are all alike every visible key has the same weight: the output is the mean of the values.
 */
static void attention_to_identical_keys_is_the_mean(void)
{
    for (int input = 0; input < RANDOM_INPUTS; input++) {
        make_random(&problem);
        const struct ref_attention_shape *shape = &problem.shape;
        for (int64_t i = shape->head_dim; i < kv_rows(shape) * shape->head_dim; i++)
            problem.k[i] = problem.k[i % shape->head_dim];
        solve(&problem);
        for (int64_t row = 0; row < q_rows(shape); row++) {
            int64_t b = row / shape->q_len / shape->heads, h = row / shape->q_len % shape->heads;
            int64_t kv_head = b * shape->kv_heads + h * shape->kv_heads / shape->heads;
            int visible = ref_attention_visible(shape, (int)(row % shape->q_len));
            for (int d = 0; d < shape->head_dim; d++) {
                double sum = 0.0;
                for (int j = 0; j < visible; j++)
                    sum += (double)problem.v[(kv_head * shape->kv_len + j) * shape->head_dim + d];
                expect_near("mean", row, problem.out[row * shape->head_dim + d],
                            visible ? sum / visible : 0.0, ROUNDING);
            }
        }
    }
}

/** Without a mask the order of the keys means nothing as long as values move with them. */
static void attention_ignores_the_order_of_keys(void)
{
    for (int input = 0; input < RANDOM_INPUTS; input++) {
        make_random(&problem);
        problem.shape.causal = 0;
        other = problem;
        int kv_len = problem.shape.kv_len;
        int shift = random_int(0, kv_len - 1);
        for (int64_t row = 0; row < kv_rows(&problem.shape); row++)
            copy_kv_row(&problem, row, &other, row / kv_len * kv_len + (kv_len - 1 - (row + shift) % kv_len));
        solve(&problem);
        solve(&other);
        expect_same_result(&other, &problem);
    }
}

/** Grouped-query attention is attention with every K/V head repeated for each query head of its group. */
static void attention_in_groups_is_repeated_heads(void)
{
    for (int input = 0; input < RANDOM_INPUTS; input++) {
        make_random(&problem);
        other = problem;
        other.shape.kv_heads = problem.shape.heads;
        int group = problem.shape.heads / problem.shape.kv_heads;
        int kv_len = problem.shape.kv_len;
        for (int64_t row = 0; row < kv_rows(&other.shape); row++)
            copy_kv_row(&problem, row / kv_len / group * kv_len + row % kv_len, &other, row);
        solve(&problem);
        solve(&other);
        expect_same_result(&other, &problem);
    }
}

/** A causal row is a row of an unmasked problem whose keys end where the mask begins. */
static void attention_causal_is_truncation(void)
{
    for (int input = 0; input < RANDOM_INPUTS; input++) {
        make_random(&problem);
        problem.shape.batch = problem.shape.heads = problem.shape.kv_heads = 1;
        problem.shape.causal = 1;
        solve(&problem);
        for (int i = 0; i < problem.shape.q_len; i++) {
            int visible = i + 1 + problem.shape.kv_len - problem.shape.q_len;
            if (visible < 1) continue;
            int head_dim = problem.shape.head_dim;
            other = problem;
            other.shape.causal = 0;
            other.shape.q_len = 1;
            other.shape.kv_len = visible;
            memcpy(other.q, problem.q + i * head_dim, (size_t)head_dim * sizeof(float));
            solve(&other);
            expect_all_near("out", problem.out + i * head_dim, other.out, head_dim);
            expect_all_near("magnitude", problem.magnitude + i * head_dim, other.magnitude, head_dim);
            expect_near("lse", i, problem.lse[i], other.lse[0], ROUNDING);
            expect_near("score magnitude", i, problem.score_magnitude[i], other.score_magnitude[0], ROUNDING);
        }
    }
}

static void attention_never_reads_behind_the_mask(void)
{
    enum { Q_LEN = 4, KV_LEN = 3, HEAD_DIM = 2 };
    problem.shape = (struct ref_attention_shape){1, 1, 1, Q_LEN, KV_LEN, HEAD_DIM, 0.0, 1};
    fill_random(problem.q, Q_LEN * HEAD_DIM);
    fill_random(problem.k, KV_LEN * HEAD_DIM);
    fill_random(problem.v, KV_LEN * HEAD_DIM);
    for (int i = (KV_LEN - 1) * HEAD_DIM; i < KV_LEN * HEAD_DIM; i++) problem.k[i] = problem.v[i] = NAN;
    solve(&problem);
    /* Row 0 sees nothing, rows 1 and 2 see finite keys only, row 3 sees the NaN. */
    for (int d = 0; d < HEAD_DIM; d++) {
        expect_near("row 0", d, problem.out[d], 0.0, 0.0);
        if (!isfinite(problem.out[HEAD_DIM + d]) || !isfinite(problem.out[2 * HEAD_DIM + d]))
            fail("NaN leaked through the mask");
        expect_near("row 3", d, problem.out[3 * HEAD_DIM + d], NAN, 0.0);
    }
    expect_near("lse of row 0", 0, problem.lse[0], -INFINITY, 0.0);
    expect_near("score magnitude of row 0", 0, problem.score_magnitude[0], 0.0, 0.0);

    float probs[Q_LEN * KV_LEN];
    double scores[Q_LEN * KV_LEN], sizes[Q_LEN * KV_LEN], out[Q_LEN * HEAD_DIM], magnitude[Q_LEN * HEAD_DIM];
    ref_attention_scores(&problem.shape, problem.q, problem.k, scores, sizes);
    for (int i = 0; i < Q_LEN; i++)
        for (int j = 0; j < KV_LEN; j++) {
            int hidden = j > i - 1;
            probs[i * KV_LEN + j] = hidden ? NAN : 0.5f;
            if (hidden) expect_near("masked score", j, scores[i * KV_LEN + j], -INFINITY, 0.0);
            if (hidden) expect_near("size of a masked score", j, sizes[i * KV_LEN + j], 0.0, 0.0);
        }
    ref_attention_output(&problem.shape, probs, problem.v, out, magnitude);
    for (int i = 0; i < (Q_LEN - 1) * HEAD_DIM; i++)
        if (!isfinite(out[i]) || !isfinite(magnitude[i])) fail("output %d read behind the mask", i);
}

/** A NaN in column d of a visible value comes out in column d; one in a query row spoils that row only. */
static void attention_puts_a_nan_where_it_belongs(void)
{
    problem.shape = (struct ref_attention_shape){1, 2, 1, 3, 4, 3, 0.0, 0};
    fill_random(problem.q, 18);
    fill_random(problem.k, 12);
    fill_random(problem.v, 12);
    problem.v[2 * 3 + 1] = NAN;
    problem.q[4 * 3 + 2] = NAN;
    solve(&problem);
    for (int i = 0; i < 18; i++)
        if (isnan(problem.out[i]) != (i % 3 == 1 || i / 3 == 4)) fail("element %d is %g", i, problem.out[i]);
    for (int row = 0; row < 6; row++)
        if (isnan(problem.lse[row]) != (row == 4)) fail("lse of row %d is %g", row, problem.lse[row]);
}

/** Attention is linear in V: doubling and negating values does so to the output, not to lse and magnitudes.
 */
static void attention_is_linear_in_values(void)
{
    for (int input = 0; input < RANDOM_INPUTS; input++) {
        make_random(&problem);
        other = problem;
        int64_t count = q_rows(&problem.shape) * problem.shape.head_dim;
        for (int i = 0; i < MAX_ELEMS; i++) other.v[i] *= -2.0f;
        solve(&problem);
        solve(&other);
        for (int64_t i = 0; i < count; i++) problem.out[i] *= -2.0, problem.magnitude[i] *= 2.0;
        expect_same_result(&other, &problem);
        for (int64_t i = 0; i < count; i++)
            if (!(fabs(other.out[i]) <= other.magnitude[i] * (1.0 + ROUNDING)))
                fail("magnitude is too small");
    }
}

/** The three parts of lesson 01, one after another, give what the whole gives up to float probabilities. */
static void attention_parts_make_the_whole(void)
{
    static double scores[MAX_ELEMS], sizes[MAX_ELEMS], probs[MAX_ELEMS], out[MAX_ELEMS], magnitude[MAX_ELEMS];
    static float probs_f32[MAX_ELEMS];
    for (int input = 0; input < RANDOM_INPUTS; input++) {
        make_random(&problem);
        const struct ref_attention_shape *shape = &problem.shape;
        int64_t rows = q_rows(shape), kv_len = shape->kv_len;
        solve(&problem);
        ref_attention_scores(shape, problem.q, problem.k, scores, sizes);
        for (int64_t row = 0; row < rows; row++) {
            double largest = 0.0;
            for (int64_t j = 0; j < kv_len; j++) {
                largest = fmax(largest, sizes[row * kv_len + j]);
                probs[row * kv_len + j] = scores[row * kv_len + j];
            }
            expect_near("score magnitude", row, largest, problem.score_magnitude[row], ROUNDING);
            expect_near("lse", row, ref_softmax_row(probs + row * kv_len, kv_len), problem.lse[row],
                        ROUNDING);
        }
        for (int64_t i = 0; i < rows * kv_len; i++) probs_f32[i] = (float)probs[i];
        ref_attention_output(shape, probs_f32, problem.v, out, magnitude);
        for (int64_t i = 0; i < rows * shape->head_dim; i++) {
            expect_near("out", i, out[i], problem.out[i], 0x1p-22);
            expect_near("magnitude", i, magnitude[i], problem.magnitude[i], 0x1p-22);
        }
        ref_attention_scores(shape, problem.q, problem.k, probs, NULL);
        expect_all_near("scores without sizes", probs, scores, rows * kv_len);
        ref_attention_output(shape, probs_f32, problem.v, other.out, NULL);
        expect_all_near("output without magnitude", other.out, out, rows * shape->head_dim);
    }
}

/** A sampled row is the row of the whole, and what is not wanted is not needed. */
static void attention_rows_make_the_whole(void)
{
    double scratch[MAX_COLS], out[MAX_COLS], magnitude[MAX_COLS];
    make_random(&problem);
    problem.shape = (struct ref_attention_shape){2, 4, 2, 3, 5, 3, 0.0, 1};
    solve(&problem);
    for (int64_t index = 0; index < q_rows(&problem.shape); index++) {
        int b = (int)(index / 12), h = (int)(index / 3 % 4), i = (int)(index % 3);
        struct ref_attention_row row = {.out = out, .magnitude = magnitude};
        ref_attention_row(&problem.shape, b, h, i, problem.q, problem.k, problem.v, scratch, &row);
        expect_all_near("out", out, problem.out + 3 * index, 3);
        expect_all_near("magnitude", magnitude, problem.magnitude + 3 * index, 3);
        expect_near("lse", index, row.lse, problem.lse[index], 0.0);
        expect_near("score magnitude", index, row.score_magnitude, problem.score_magnitude[index], 0.0);
        double sum = 0.0;
        for (int j = 0; j < ref_attention_visible(&problem.shape, i); j++) sum += scratch[j];
        expect_near("sum of the probabilities in scratch", index, sum, 1.0, ROUNDING);
    }
    const struct ref_attention_result only_out = {.out = other.out};
    ref_attention(&problem.shape, problem.q, problem.k, problem.v, scratch, &only_out);
    expect_all_near("out alone", other.out, problem.out, q_rows(&problem.shape) * 3);
}

static void attention_is_numpys(void)
{
    static double scores[MAX_ELEMS], sizes[MAX_ELEMS];
    for (size_t c = 0; c < sizeof attention_values / sizeof *attention_values; c++) {
        const struct attention_values *values = &attention_values[c];
        int before = failures;
        int64_t rows = q_rows(&values->shape), head_dim = values->shape.head_dim;
        problem.shape = values->shape;
        memcpy(problem.q, values->q, (size_t)(rows * head_dim) * sizeof(float));
        memcpy(problem.k, values->k, (size_t)(kv_rows(&values->shape) * head_dim) * sizeof(float));
        memcpy(problem.v, values->v, (size_t)(kv_rows(&values->shape) * head_dim) * sizeof(float));
        solve(&problem);
        ref_attention_scores(&values->shape, values->q, values->k, scores, sizes);
        expect_all_near("score", scores, values->scores, rows * values->shape.kv_len);
        expect_all_near("size of a score", sizes, values->sizes, rows * values->shape.kv_len);
        expect_all_near("lse", problem.lse, values->lse, rows);
        expect_all_near("out", problem.out, values->out, rows * head_dim);
        expect_all_near("magnitude", problem.magnitude, values->magnitude, rows * head_dim);
        if (failures > before) fail("in case %s", values->name);
    }
}

/* ---- paged attention -------------------------------------------------------------------------------------
 */

static void paged_gather_by_hand(void)
{
    /* Two rows per page, two K/V heads, one column: page p holds 100 p + 10 row + head. */
    const struct ref_paged_cache cache = {2, 2, 1};
    float pages[4 * 4], rows[5];
    for (int p = 0; p < 4; p++)
        for (int r = 0; r < 4; r++) pages[4 * p + r] = (float)(100 * p + 10 * (r / 2) + r % 2);
    pages[4 * 2 + 3] = NAN; /* the second row of the last page is nobody's */
    const int32_t table[] = {3, 1, 2, -7};
    ref_paged_gather(&cache, pages, table, 1, 5, rows);
    const double expected[] = {301, 311, 101, 111, 201};
    for (int t = 0; t < 5; t++) expect_near("row", t, (double)rows[t], expected[t], 0.0);
    rows[0] = -1.0f;
    ref_paged_gather(&cache, pages, table + 3, 0, 0, rows);
    expect_near("row of nothing", 0, (double)rows[0], -1.0, 0.0);
}

static struct ref_paged_result paged_result(double *memory, int context_len, int head_dim)
{
    return (struct ref_paged_result){.scores = memory,
                                     .score_magnitude = memory + context_len,
                                     .probs = memory + 2 * context_len,
                                     .out = memory + 3 * context_len,
                                     .magnitude = memory + 3 * context_len + head_dim};
}

static void paged_row_by_hand(void)
{
    /* Scores 0.5 * 2 = 1 and 0.5 * (-2) = -1, bias -2 and 0: -1 and -1, so both keys count alike. */
    const float q[] = {1.0f, 2.0f}, k[] = {4.0f, -1.0f, 0.0f, -1.0f}, v[] = {10.0f, 1.0f, 2.0f, -3.0f};
    double memory[16];
    struct ref_paged_query query = {2, 2, 0.5, 2.0, q, k, v};
    struct ref_paged_result result = paged_result(memory, 2, 2);
    ref_paged_attention_row(&query, &result);
    expect_all_near("score", result.scores, (const double[]){-1.0, -1.0}, 2);
    expect_all_near("score magnitude", result.score_magnitude, (const double[]){5.0, 1.0}, 2);
    expect_all_near("probability", result.probs, (const double[]){0.5, 0.5}, 2);
    expect_all_near("out", result.out, (const double[]){6.0, -1.0}, 2);
    expect_all_near("magnitude", result.magnitude, (const double[]){6.0, 2.0}, 2);
    expect_near("lse", 0, result.lse, -1.0 + 0.69314718055994531, ROUNDING);
    query.context_len = 0;
    result = paged_result(memory, 0, 2);
    ref_paged_attention_row(&query, &result);
    expect_all_near("out of nothing", result.out, (const double[]){0.0, 0.0}, 2);
    expect_near("lse of nothing", 0, result.lse, -INFINITY, 0.0);
}

/** Without ALiBi a row over pages in any order is a row of ref_attention() over the same keys. */
static void paged_row_is_attention(void)
{
    static float pages_k[MAX_ELEMS], pages_v[MAX_ELEMS];
    float k[256], v[256];
    double memory[256];
    for (int input = 0; input < RANDOM_INPUTS; input++) {
        make_random(&problem);
        problem.shape.causal = 0;
        problem.shape.batch = problem.shape.q_len = 1;
        const struct ref_attention_shape *shape = &problem.shape;
        const struct ref_paged_cache cache = {random_int(1, 4), shape->kv_heads, shape->head_dim};
        int32_t table[16];
        int used = (shape->kv_len - 1) / cache.block_size + 1, head = random_int(0, shape->heads - 1);
        int kv_head = head / (shape->heads / shape->kv_heads);
        for (int i = 0; i < MAX_ELEMS; i++) pages_k[i] = pages_v[i] = NAN;
        for (int i = 0; i < used; i++) table[i] = (used - i) * 2; /* backwards, with gaps */
        for (int t = 0; t < shape->kv_len; t++)
            for (int d = 0; d < shape->head_dim; d++) {
                int token = table[t / cache.block_size] * cache.block_size + t % cache.block_size;
                int to = (token * cache.kv_heads + kv_head) * cache.head_dim + d;
                int from = (kv_head * shape->kv_len + t) * shape->head_dim + d;
                pages_k[to] = problem.k[from];
                pages_v[to] = problem.v[from];
            }
        ref_paged_gather(&cache, pages_k, table, kv_head, shape->kv_len, k);
        ref_paged_gather(&cache, pages_v, table, kv_head, shape->kv_len, v);
        const float *q = problem.q + head * shape->head_dim;
        struct ref_paged_query query = {shape->kv_len, shape->head_dim, shape->scale, 0.0, q, k, v};
        struct ref_paged_result result = paged_result(memory, shape->kv_len, shape->head_dim);
        ref_paged_attention_row(&query, &result);
        solve(&problem);
        expect_all_near("out", result.out, problem.out + head * shape->head_dim, shape->head_dim);
        expect_all_near("magnitude", result.magnitude, problem.magnitude + head * shape->head_dim,
                        shape->head_dim);
        expect_near("lse", input, result.lse, problem.lse[head], ROUNDING);
    }
}

/* ---- matrix product -------------------------------------------------------------------------------------
 */

/** A shape without gaps between rows. */
static struct ref_gemm_shape dense_shape(int m, int n, int k, int transpose_a, int transpose_b)
{
    return (struct ref_gemm_shape){
        m, n, k, transpose_a, transpose_b, transpose_a ? m : k, transpose_b ? k : n, n, 1.0, 0.0};
}

static void transpose(const float *in, float *out, int rows, int cols)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++) out[j * rows + i] = in[i * cols + j];
}

static void gemm_by_hand(void)
{
    const float a[] = {1, 2, 3, 4}, b[] = {5, 6, -7, 8}, c[] = {1, 10, 100, 1000};
    static const struct {
        int transpose_a, transpose_b;
        double alpha, beta, product[4], magnitude[4];
    } cases[] = {{0, 0, 1, 0, {-9, 22, -13, 50}, {19, 22, 43, 50}},
                 {0, 1, 1, 0, {17, 9, 39, 11}, {17, 23, 39, 53}},
                 {1, 0, 1, 0, {-16, 30, -18, 44}, {26, 30, 38, 44}},
                 {1, 1, 1, 0, {23, 17, 34, 18}, {23, 31, 34, 46}},
                 {0, 0, -2, 3, {21, -14, 326, 2900}, {41, 74, 386, 3100}},
                 {0, 0, 0, -1, {-1, -10, -100, -1000}, {1, 10, 100, 1000}}};
    double out[4], magnitude[4];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ref_gemm_shape shape = dense_shape(2, 2, 2, cases[i].transpose_a, cases[i].transpose_b);
        shape.alpha = cases[i].alpha;
        shape.beta = cases[i].beta;
        ref_gemm(&shape, a, b, c, out, magnitude);
        for (int j = 0; j < 4; j++) {
            expect_near("product", 4 * (int)i + j, out[j], cases[i].product[j], 0.0);
            expect_near("magnitude", 4 * (int)i + j, magnitude[j], cases[i].magnitude[j], 0.0);
        }
        ref_gemm(&shape, a, b, c, out, NULL);
        expect_all_near("product without magnitude", out, cases[i].product, 4);
    }
}

/** NT, TN and TT agree with NN of operands transposed beforehand; with (AB)^T = B^T A^T as a second witness.
 */
static void gemm_transposes_agree(void)
{
    enum { MAX_EXTENT = 9, MAX = MAX_EXTENT * MAX_EXTENT };
    float a[MAX], b[MAX], a_t[MAX], b_t[MAX];
    double nn[MAX], out[MAX];
    for (int input = 0; input < RANDOM_INPUTS; input++) {
        int m = random_int(1, MAX_EXTENT), n = random_int(1, MAX_EXTENT), k = random_int(1, MAX_EXTENT);
        fill_random(a, MAX);
        fill_random(b, MAX);
        transpose(a, a_t, m, k);
        transpose(b, b_t, k, n);
        struct ref_gemm_shape shape = dense_shape(m, n, k, 0, 0);
        ref_gemm(&shape, a, b, NULL, nn, NULL);
        for (int both = 1; both < 4; both++) {
            shape = dense_shape(m, n, k, both & 1, both >> 1);
            ref_gemm(&shape, both & 1 ? a_t : a, both >> 1 ? b_t : b, NULL, out, NULL);
            expect_all_near("product", out, nn, (int64_t)m * n);
        }
        shape = dense_shape(n, m, k, 0, 0);
        ref_gemm(&shape, b_t, a_t, NULL, out, NULL);
        for (int i = 0; i < m * n; i++)
            expect_near("transposed product", i, out[i % n * m + i / n], nn[i], ROUNDING);
    }
}

/** Multiplying by the identity changes nothing, and a product of nothing is zero. */
static void gemm_identity_and_empty(void)
{
    enum { N = 5 };
    float a[N * N], identity[N * N];
    double out[N * N];
    fill_random(a, N * N);
    for (int i = 0; i < N * N; i++) identity[i] = i / N == i % N;
    struct ref_gemm_shape shape = dense_shape(N, N, N, 0, 0);
    ref_gemm(&shape, a, identity, NULL, out, NULL);
    for (int i = 0; i < N * N; i++) expect_near("A I", i, out[i], (double)a[i], 0.0);
    ref_gemm(&shape, identity, a, NULL, out, NULL);
    for (int i = 0; i < N * N; i++) expect_near("I A", i, out[i], (double)a[i], 0.0);
    shape.k = 0;
    ref_gemm(&shape, a, a, NULL, out, NULL);
    for (int i = 0; i < N * N; i++) expect_near("k = 0", i, out[i], 0.0, 0.0);
}

/** C(alpha, beta) = alpha * C(1, 0) + beta * C, for random factors, shapes and gaps between rows. */
static void gemm_is_linear(void)
{
    enum { MAX_EXTENT = 7, MAX_STRIDE = 10, MAX = MAX_EXTENT * MAX_STRIDE };
    float a[MAX], b[MAX], c[MAX];
    double product[MAX], out[MAX], row[MAX], magnitude[MAX], row_magnitude[MAX];
    for (int input = 0; input < RANDOM_INPUTS; input++) {
        int m = random_int(1, MAX_EXTENT), n = random_int(1, MAX_EXTENT), k = random_int(1, MAX_EXTENT);
        struct ref_gemm_shape shape = dense_shape(m, n, k, random_int(0, 1), random_int(0, 1));
        shape.lda += random_int(0, 3);
        shape.ldb += random_int(0, 3);
        shape.ldc += random_int(0, 3);
        fill_random(a, MAX);
        fill_random(b, MAX);
        fill_random(c, MAX);
        ref_gemm(&shape, a, b, NULL, product, NULL);
        shape.alpha = (double)random_float();
        shape.beta = (double)random_float();
        ref_gemm(&shape, a, b, c, out, magnitude);
        for (int i = 0; i < m; i++) {
            ref_gemm_row(&shape, i, a, b, c, row, row_magnitude);
            expect_all_near("row", row, out + i * n, n);
            expect_all_near("magnitude of a row", row_magnitude, magnitude + i * n, n);
            for (int j = 0; j < n; j++) {
                double expected =
                    shape.alpha * product[i * n + j] + shape.beta * (double)c[i * shape.ldc + j];
                expect_near("product", i * n + j, out[i * n + j], expected, ROUNDING);
            }
        }
    }
}

/** Gaps between rows, C under beta 0, and A and B under alpha 0 are not read: NaN there does not come out. */
static void gemm_reads_only_what_counts(void)
{
    enum { M = 2, N = 3, K = 2, LD = 5 };
    float a[LD * LD], b[LD * LD], nothing[LD * LD];
    double out[M * N], magnitude[M * N];
    for (int i = 0; i < LD * LD; i++) nothing[i] = NAN;
    for (int both = 0; both < 4; both++) {
        struct ref_gemm_shape shape = {M, N, K, both & 1, both >> 1, LD, LD, LD, 1.0, 0.0};
        memcpy(a, nothing, sizeof a);
        memcpy(b, nothing, sizeof b);
        for (int i = 0; i < M * K; i++) a[shape.transpose_a ? i % K * LD + i / K : i / K * LD + i % K] = 1.0f;
        for (int i = 0; i < K * N; i++) b[shape.transpose_b ? i % N * LD + i / N : i / N * LD + i % N] = 1.0f;
        ref_gemm(&shape, a, b, nothing, out, magnitude);
        for (int i = 0; i < M * N; i++) expect_near("product of ones", i, out[i], (double)K, 0.0);
        for (int i = 0; i < M * N; i++) expect_near("its magnitude", i, magnitude[i], (double)K, 0.0);
    }
    struct ref_gemm_shape shape = {M, N, K, 0, 0, LD, LD, N, 0.0, 2.0};
    ref_gemm(&shape, nothing, nothing, (const float[]){1, 2, 3, 4, 5, 6}, out, magnitude);
    for (int i = 0; i < M * N; i++) expect_near("2 C", i, out[i], 2.0 * (i + 1), 0.0);
}

static void gemm_is_numpys(void)
{
    double out[MAX_COLS], magnitude[MAX_COLS];
    for (size_t i = 0; i < sizeof gemm_values / sizeof *gemm_values; i++) {
        const struct gemm_values *values = &gemm_values[i];
        int before = failures;
        int64_t count = (int64_t)values->shape.m * values->shape.n;
        ref_gemm(&values->shape, values->a, values->b, values->c, out, magnitude);
        expect_all_near("product", out, values->product, count);
        expect_all_near("magnitude", magnitude, values->sizes, count);
        if (failures > before) fail("in case %s", values->name);
    }
}

/* ---- the table ------------------------------------------------------------------------------------------
 */

/* ---- a layer --------------------------------------------------------------------------------------------- */

enum { LAYER_SCRATCH = 4096 };
static const struct ref_qwen3_rounding exactly = {0x1p-53, 0x1p-53, 0x1p-53, 0, 0.0, 0.0};

/* Queries are 0, so attention is the mean of the old value 2 and the new one 4; a gate of 1 passes 1 / (1 + 1/e) of up on. */
static void layer_by_hand(void)
{
    const float zero = 0.0f, wk = 3.0f, wv = 4.0f, wo = 0.5f, gate = 0.4f, up = 2.0f, down = 1.0f, x = 1.0f;
    const float key[2] = {7.0f, NAN}, value[2] = {2.0f, NAN};
    const struct ref_qwen3_sizes sizes = {1, 1, 1, 1, 1, 1, 1, 0.0, 1.0, 0, 0, 0};
    const struct ref_qwen3_layer weights = {
        .q = &zero, .k = &wk, .v = &wv, .o = &wo, .gate = &gate, .up = &up, .down = &down};
    double out, deviation, appended[2], appended_deviation[2], scratch[LAYER_SCRATCH];
    const struct ref_layer_step step = {&x, key, value, 2, 1, &out, &deviation, appended, appended_deviation};
    ref_layer_step(&sizes, &weights, &exactly, &step, scratch);
    expect_near("x", 0, out, 2.5 + 5.0 / (1.0 + exp(-1.0)), 1e-6); /* 0.4 is rounded to a float */
    expect_near("the new key", 0, appended[0], 3.0, 0.0);
    expect_near("the new value", 0, appended[1], 4.0, 0.0);
    expect_near("deviation", 0, deviation, 0.0, 1e-14);
}

/* With weights that pass x on as q, k and v, no MLP, and W_o the identity, x grows by its attention. */
static void layer_without_an_mlp_is_attention(void)
{
    enum { HEADS = 2, DIM = 3, WIDTH = HEADS * DIM, POSITION = 4, ROOM = 6 };
    float identity[WIDTH * WIDTH] = {0}, none[WIDTH] = {0}, x[WIDTH], kv[2][HEADS * ROOM * DIM];
    double out[WIDTH], deviation[WIDTH], appended[2 * WIDTH], appended_deviation[2 * WIDTH];
    double scratch[LAYER_SCRATCH], expected[WIDTH], of_keys[POSITION + 1];
    float keys[2][HEADS * (POSITION + 1) * DIM];
    for (int i = 0; i < WIDTH; i++) identity[i * WIDTH + i] = 1.0f;
    fill_random(x, WIDTH);
    fill_random(kv[0], HEADS * ROOM * DIM);
    fill_random(kv[1], HEADS * ROOM * DIM);
    for (int i = 0; i < 2 * HEADS * (POSITION + 1) * DIM; i++) {
        const int half = i / (HEADS * (POSITION + 1) * DIM), head = i / ((POSITION + 1) * DIM) % HEADS;
        const int j = i / DIM % (POSITION + 1), d = i % DIM;
        keys[half][i % (HEADS * (POSITION + 1) * DIM)] =
            j == POSITION ? x[head * DIM + d] : kv[half][(head * ROOM + j) * DIM + d];
    }
    const struct ref_qwen3_sizes sizes = {1, WIDTH, HEADS, HEADS, DIM, 1, 1, 0.0, 1.0, 0, 0, 0};
    const struct ref_qwen3_layer weights = {
        .q = identity, .k = identity, .v = identity, .o = identity, .gate = none, .up = none, .down = none};
    const struct ref_layer_step step = {
        x, kv[0], kv[1], ROOM, POSITION, out, deviation, appended, appended_deviation};
    const struct ref_attention_shape shape = {1, HEADS, HEADS, 1, POSITION + 1, DIM, 0.0, 0};
    const struct ref_attention_result result = {.out = expected};
    ref_layer_step(&sizes, &weights, &exactly, &step, scratch);
    ref_attention(&shape, x, keys[0], keys[1], of_keys, &result);
    for (int i = 0; i < WIDTH; i++) expect_near("x", i, out[i], (double)x[i] + expected[i], 1e-12);
    for (int i = 0; i < 2 * WIDTH; i++) expect_near("appended", i, appended[i], (double)x[i % WIDTH], 0.0);
}

/*
 * Two keys share the weight, and the newer one is rounded: both elements of the head move together, by half of half a score. The
 * first new x adds them up, so it moves twice as far as one of them; carried on as if they were independent, their errors
 * would make sqrt(2). The second takes one from the other: it does not move at all, and the model's deviation stays.
 */
static void errors_with_one_cause_add_up(void)
{
    const float wq[4] = {10.0f}, wk[4] = {10.0f}, none[4] = {0.0f}, wo[4] = {1.0f, 1.0f, 1.0f, -1.0f};
    const float x[2] = {1.0f}, key[2] = {10.0f}, value[2] = {1.0f, 1.0f};
    const struct ref_qwen3_sizes sizes = {1, 2, 1, 1, 2, 1, 1, 0.0, 1.0, 0, 0, 0};
    const struct ref_qwen3_layer weights = {
        .q = wq, .k = wk, .v = none, .o = wo, .gate = none, .up = none, .down = none};
    const double u = 1e-4, one = 0.25 * 10.0 / sqrt(2.0) * 10.0 * u / sqrt(3.0);
    double out[2], appended[4], appended_deviation[4], scratch[LAYER_SCRATCH], deviation[2][2];
    for (int i = 0; i < 2; i++) {
        const struct ref_qwen3_rounding rounding = {u, 0.0, 0.0, i == 0 ? 0 : 1000, 0.0, 0.0};
        const struct ref_layer_step step = {
            x, key, value, 2, 1, out, deviation[i], appended, appended_deviation};
        ref_layer_step(&sizes, &weights, &rounding, &step, scratch);
        expect_near("x", i, out[0], 2.0, 1e-12);
        expect_near("the new key's deviation", i, appended_deviation[0], 10.0 * u / sqrt(3.0),
                    i == 0 ? 1e-12 : 0.05 * 10.0 * u);
    }
    expect_near("of the model", 0, deviation[0][0], sqrt(2.0) * one, 0.01 * one);
    expect_near("of 1,000 computations", 0, deviation[1][0], 2.0 * one, 0.1 * one);
    expect_near("the other way round", 0, deviation[1][1], deviation[0][1], 0.0);
}

/* A sum of one sign passes through more than the root of the sum of its terms' squares; so does one that begins with a large x. */
static void sums_of_one_sign_lose_more(void)
{
    enum { WIDTH = 64 };
    static float none[WIDTH * WIDTH], down[2 * WIDTH], x[WIDTH];
    const float key[1] = {0.0f}, value[1] = {0.0f};
    double out[WIDTH], deviation[2][WIDTH], appended[2], appended_deviation[2], scratch[LAYER_SCRATCH];
    const struct ref_qwen3_sizes sizes = {1, WIDTH, 1, 1, 1, 1, 1, 0.0, 1.0, 0, 0, 0};
    const struct ref_qwen3_rounding rounding = {0.0, 0x1p-24, 0.0, 0, 0.0, 0.0};
    for (int i = 0; i < WIDTH; i++) x[i] = 1.0f;
    for (int sign = 0; sign < 2; sign++) { /* v = sum of x, or of x with alternating signs */
        for (int i = 0; i < WIDTH; i++) down[i] = sign == 1 && i % 2 == 1 ? -1.0f : 1.0f;
        const struct ref_qwen3_layer weights = {
            .q = none, .k = down, .v = none, .o = none, .gate = none, .up = none, .down = none};
        const struct ref_layer_step step = {
            x, key, value, 1, 0, out, deviation[sign], appended, appended_deviation};
        ref_layer_step(&sizes, &weights, &rounding, &step, scratch);
        /* u * max(sqrt(n * n), sqrt((1 + 4 + ... + n^2) / 3)), or u * n where signs alternate */
        double passed = WIDTH * (WIDTH + 1.0) * (2.0 * WIDTH + 1.0) / 6.0;
        expect_near("deviation of a sum", sign, appended_deviation[0] * 0x1p24,
                    sign == 0 ? sqrt(passed / 3.0) : WIDTH, 1e-3 * WIDTH);
        /* x itself, where nothing is added to it by 1 product of o and 1 of down: 1 + 1 + 1 + 1 roundings of 1 */
        expect_near("deviation of x", sign, deviation[sign][0] * 0x1p24, sqrt(4.0 / 3.0), 1e-3);
    }
}

/* ---- weights of four bits -------------------------------------------------------------------------------- */

enum { W4_COLUMNS = 72, W4_ROWS = 128, W4_NUMBERS = W4_ROWS * 128, W4_SLICE_BYTES = 2048 };

/** The words 0x76543210 and 0xfedcba98 as both formats read them. */
static void w4_words_by_hand(void)
{
    const float words[] = {0x10, 0x32, 0x54, 0x76, 0x98 - 256, 0xba - 256, 0xdc - 256, 0xfe - 256};
    const int awq[] = {0, 4, 1, 5, 2, 6, 3, 7};
    struct ref_w4_shape shape = {16, 64, 64, 0};
    for (int column = 0; column < 16; column++) {
        int right = column / 8 * 8 + awq[column % 8];
        expect_near("AWQ", column, ref_w4_stored(&shape, words, 0, column), right, 0.0);
        expect_near("AWQ's zero", column, ref_w4_stored_zero(&shape, words, 0, column), right, 0.0);
    }
    shape.gptq = 1;
    for (int i = 0; i < 16; i++) {
        expect_near("GPTQ", i, ref_w4_stored(&shape, words, i % 8, i / 8), i, 0.0);
        expect_near("GPTQ's zero", i, ref_w4_stored_zero(&shape, words, 0, i), (i + 1) % 16, 0.0);
    }
    expect_near("no zeros", 0, ref_w4_stored_zero(&shape, NULL, 0, 5), 8.0, 0.0);
}

/** No two weights share a place, each is found again there, and a few are where the contract's formula says. */
static void w4_places_are_each_taken_once(void)
{
    static unsigned char taken[W4_NUMBERS];
    struct ref_w4_shape shape = {W4_COLUMNS, W4_ROWS, 64, 0};
    for (int row = 0; row < W4_ROWS; row++)
        for (int column = 0; column < W4_COLUMNS; column++) {
            int found_row, found_column;
            size_t at = ref_w4_place(&shape, row, column);
            if (at >= W4_NUMBERS || taken[at]++ != 0) fail("weight [%d, %d] is at %zu", row, column, at);
            ref_w4_weight_at(&shape, at, &found_row, &found_column);
            if (found_row != row || found_column != column)
                fail("%zu is [%d, %d]", at, found_row, found_column);
        }
    /* slice 1 of strip 1: 3 * 512 words; block 3, lane 3, word 1: 397 more, and their number 6 */
    expect_near("place", 0, (double)ref_w4_place(&shape, 64 + 48 + 4 + 3, 64 + 6),
                8.0 * (1536 + 384 + 13) + 6, 0.0);
}

static void w4_weights_by_hand(void)
{
    static float weights[W4_SLICE_BYTES], w[64 * 8];
    const float zeros[] = {0x21, 0x43, 0x65, -121},
                scales[] = {1, 2, 4, 8, 0.5f, -1, 0, 3}; /* 1, 2, ... 7, 8 */
    struct ref_w4_shape shape = {8, 64, 64, 0};
    weights[ref_w4_place(&shape, 5, 3) / 2] = ref_w4_place(&shape, 5, 3) % 2 ? (float)(0xd0 - 256) : 0xd;
    ref_w4_weights(&shape, weights, zeros, scales, w);
    expect_near("W[5, 3]", 0, w[5 * 8 + 3], (13 - 4) * 8, 0.0);
    expect_near("W[5, 5]", 0, w[5 * 8 + 5], 6, 0.0);
    expect_near("W[63, 7]", 0, w[63 * 8 + 7], -24, 0.0);
}

static const struct {
    void (*function)(void);
    const char *name;
} tests[] = {
    {softmax_by_hand, "softmax_by_hand"},
    {softmax_of_special_values, "softmax_of_special_values"},
    {softmax_is_a_distribution, "softmax_is_a_distribution"},
    {softmax_ignores_a_shift, "softmax_ignores_a_shift"},
    {softmax_is_numpys, "softmax_is_numpys"},
    {merge_by_hand, "merge_by_hand"},
    {merge_with_nothing_changes_nothing, "merge_with_nothing_changes_nothing"},
    {merge_keeps_a_nan, "merge_keeps_a_nan"},
    {merge_may_be_done_in_any_order, "merge_may_be_done_in_any_order"},
    {merge_of_single_scores_gives_the_row, "merge_of_single_scores_gives_the_row"},
    {merge_is_numpys, "merge_is_numpys"},
    {attention_visible_by_hand, "attention_visible_by_hand"},
    {attention_by_hand, "attention_by_hand"},
    {attention_to_identical_keys_is_the_mean, "attention_to_identical_keys_is_the_mean"},
    {attention_ignores_the_order_of_keys, "attention_ignores_the_order_of_keys"},
    {attention_in_groups_is_repeated_heads, "attention_in_groups_is_repeated_heads"},
    {attention_causal_is_truncation, "attention_causal_is_truncation"},
    {attention_never_reads_behind_the_mask, "attention_never_reads_behind_the_mask"},
    {attention_puts_a_nan_where_it_belongs, "attention_puts_a_nan_where_it_belongs"},
    {attention_is_linear_in_values, "attention_is_linear_in_values"},
    {attention_parts_make_the_whole, "attention_parts_make_the_whole"},
    {attention_rows_make_the_whole, "attention_rows_make_the_whole"},
    {attention_is_numpys, "attention_is_numpys"},
    {paged_gather_by_hand, "paged_gather_by_hand"},
    {paged_row_by_hand, "paged_row_by_hand"},
    {paged_row_is_attention, "paged_row_is_attention"},
    {gemm_by_hand, "gemm_by_hand"},
    {gemm_transposes_agree, "gemm_transposes_agree"},
    {gemm_identity_and_empty, "gemm_identity_and_empty"},
    {gemm_is_linear, "gemm_is_linear"},
    {gemm_reads_only_what_counts, "gemm_reads_only_what_counts"},
    {gemm_is_numpys, "gemm_is_numpys"},
    {w4_words_by_hand, "w4_words_by_hand"},
    {w4_places_are_each_taken_once, "w4_places_are_each_taken_once"},
    {w4_weights_by_hand, "w4_weights_by_hand"},
    {layer_by_hand, "layer_by_hand"},
    {layer_without_an_mlp_is_attention, "layer_without_an_mlp_is_attention"},
    {errors_with_one_cause_add_up, "errors_with_one_cause_add_up"},
    {sums_of_one_sign_lose_more, "sums_of_one_sign_lose_more"},
};

int main(int argc, char **argv)
{
    int failed = 0, ran = 0;
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        if (argc > 1 && strcmp(argv[1], tests[i].name) != 0) continue;
        failures = 0;
        random_state = 1; /* each test starts alike, so that one alone does what it does among all */
        tests[i].function();
        printf("%s %s\n", failures == 0 ? "ok    " : "FAILED", tests[i].name);
        failed += failures > 0;
        ran++;
    }
    if (ran == 0) {
        fprintf(stderr, "unit_reference: no test named %s\n", argv[1]);
        return 2;
    }
    printf("%d of %d tests failed\n", failed, ran);
    return failed > 0;
}
