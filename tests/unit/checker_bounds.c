/**
 * @file checker_bounds.c
 * @brief What a right kernel may lose: attention and softmax computed here in float, in the ways that honest kernels
 *        choose, with an exp as inexact as a GPU's; and with the mistakes that only a bound can see.
 *
 *     unit_checker_bounds            a few seeds; no right computation may use more than 70% of its budget
 *     unit_checker_bounds SEEDS      more seeds, and a line per kernel and shape with the largest share
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attention.h"
#include "checker/cases/attention_cases.h"
#include "checker/cases/attention_inputs.h"
#include "checker/numbers/bound.h"
#include "checker/verdict/compare.h"
#include "checker/options.h"

static int failures;
static int told;

static void expect(int holds, const char *what, const char *found)
{
    if (holds) return;
    failures++;
    printf("FAIL %s: %s\n", what, found);
}

/* ---- kernels --------------------------------------------------------------------------------------------- */

enum mistake {
    RIGHT,
    WEIGHTS_IN_HALF,
    SUMS_IN_HALF,
    RESULT_IN_HALF,
    KEY_LOST,
    SCORES_IN_HALF,
    /* of kernels on tensor cores */
    WEIGHTS_IN_BFLOAT16, /* though all else is f16 */
    WEIGHTS_CUT_OFF,     /* toward zero */
    FAINT_WEIGHTS_LOST   /* those below the normal numbers of half */
};

/** One way to go through the keys of a row. */
struct kernel {
    const char *name;
    int lanes;      /* keys are dealt out to so many, which merge in the end */
    int normalised; /* divides after every key */
    int base_2;     /* scores times log2(e), and exp2 */
    int rounded_up; /* the maximum is rounded up so that exp of it is a power of two: it changes rarely */
    int blind;      /* takes the maximum in a pass of its own */
    enum mistake mistake;
    int cores;   /* weights are rounded to the storage type before they are multiplied with V */
    float slack; /* the maximum is raised only by a score that is so much above it */
};

static const struct kernel KERNELS[] = {
    {"sequential", 1, 0, 0, 0, 1, RIGHT, 0, 0.0f},
    {"online", 1, 0, 0, 0, 0, RIGHT, 0, 0.0f},
    {"online, base 2", 1, 0, 1, 0, 0, RIGHT, 0, 0.0f},
    {"online, rounded maximum", 1, 0, 0, 1, 0, RIGHT, 0, 0.0f},
    {"divides after every key", 1, 1, 0, 0, 0, RIGHT, 0, 0.0f},
    {"divides after every key, rounded maximum", 1, 1, 0, 1, 0, RIGHT, 0, 0.0f},
    {"32 lanes", 32, 0, 0, 0, 0, RIGHT, 0, 0.0f},
    {"32 lanes, base 2, rounded maximum", 32, 0, 1, 1, 0, RIGHT, 0, 0.0f},
    {"32 lanes, divides after every key", 32, 1, 0, 0, 0, RIGHT, 0, 0.0f},
    {"weights in half", 1, 0, 0, 0, 0, WEIGHTS_IN_HALF, 0, 0.0f},
    {"sums in half", 32, 0, 0, 0, 0, SUMS_IN_HALF, 0, 0.0f},
    {"result in half", 32, 0, 0, 0, 0, RESULT_IN_HALF, 0, 0.0f},
    {"scores in half", 32, 0, 0, 0, 0, SCORES_IN_HALF, 0, 0.0f},
    {"last key lost", 32, 0, 0, 0, 0, KEY_LOST, 0, 0.0f},
    {"on tensor cores", 1, 0, 1, 0, 0, RIGHT, 1, 0.0f},
    {"on tensor cores, 4 lanes, with slack", 4, 0, 1, 0, 0, RIGHT, 1, 8.0f},
    {"on tensor cores, maximum first", 1, 0, 0, 0, 1, RIGHT, 1, 0.0f},
    {"on tensor cores, weights in bfloat16", 1, 0, 1, 0, 0, WEIGHTS_IN_BFLOAT16, 1, 0.0f},
    {"on tensor cores, weights cut off", 1, 0, 1, 0, 0, WEIGHTS_CUT_OFF, 1, 0.0f},
    {"on tensor cores, faint weights lost", 1, 0, 1, 0, 0, FAINT_WEIGHTS_LOST, 1, 0.0f},
    {"on tensor cores, sums in half", 1, 0, 1, 0, 0, SUMS_IN_HALF, 1, 0.0f},
    {"on tensor cores, last key lost", 1, 0, 1, 0, 0, KEY_LOST, 1, 0.0f},
};

enum { MOST_HEAD_DIM = 256, MOST_LANES = 32 };

/** The pair and the output of one lane. */
struct part {
    float m, l, o[MOST_HEAD_DIM];
};

static float half(float x)
{
    return storage_round(STORAGE_F16, x);
}

/* Of x - m; up to 2 ulp off, as a GPU's may be, but for exp(0). */
static float weight_of(const struct kernel *kernel, float x, struct rng *rng)
{
    double exact = kernel->base_2 ? exp2((double)x) : exp((double)x);
    if (x == 0.0f) return 1.0f;
    return (float)(exact * (1.0 + 4.0 * BOUND_U_F32 * (2.0 * rng_uniform(rng) - 1.0)));
}

/* As a kernel on tensor cores multiplies it with V. */
static float rounded_weight(const struct kernel *kernel, enum storage storage, float p)
{
    float stored = storage_round(kernel->mistake == WEIGHTS_IN_BFLOAT16 ? STORAGE_BF16 : storage, p);
    if (kernel->mistake == WEIGHTS_CUT_OFF && stored > p)
        stored = storage_round(
            storage, p * (1.0f - 2.0f * (float)(storage == STORAGE_F16 ? BOUND_U_F16 : BOUND_U_BF16)));
    return kernel->mistake == FAINT_WEIGHTS_LOST && p < 0x1p-14f ? 0.0f : stored;
}

/* To where exp(x), or exp2(x), is a power of two. */
static float rounded_up(const struct kernel *kernel, float x)
{
    return kernel->base_2 ? ceilf(x) : fmaxf(x, ceilf(x * 1.44269504f) * 0.693147181f);
}

static void visit(const struct kernel *kernel, enum storage storage, struct part *part, float score,
                  const float *v, int head_dim, struct rng *rng)
{
    float m = score > part->m + kernel->slack ? score : part->m;
    if (kernel->rounded_up) m = fmaxf(part->m, rounded_up(kernel, m));
    float alpha = part->m == -INFINITY ? 0.0f : weight_of(kernel, part->m - m, rng);
    float p = weight_of(kernel, score - m, rng);
    if (kernel->mistake == WEIGHTS_IN_HALF) p = half(p);
    float kept = part->l * alpha, factor = 1.0f / (kept + p), summed = p;
    if (kernel->cores) p = rounded_weight(kernel, storage, p);
    for (int d = 0; d < head_dim; d++) {
        part->o[d] =
            kernel->normalised ? (kept * part->o[d] + p * v[d]) * factor : part->o[d] * alpha + p * v[d];
        if (kernel->mistake == SUMS_IN_HALF) part->o[d] = half(part->o[d]);
    }
    part->l = kept + summed;
    part->m = m;
}

static void merge(const struct kernel *kernel, struct part *into, const struct part *from, int head_dim,
                  struct rng *rng)
{
    if (from->m == -INFINITY) return;
    float m = fmaxf(into->m, from->m);
    float a = weight_of(kernel, into->m - m, rng), b = weight_of(kernel, from->m - m, rng);
    if (kernel->normalised) {
        float factor = 1.0f / (into->l * a + from->l * b);
        for (int d = 0; d < head_dim; d++)
            into->o[d] = (into->l * a * into->o[d] + from->l * b * from->o[d]) * factor;
    } else {
        for (int d = 0; d < head_dim; d++) into->o[d] = into->o[d] * a + from->o[d] * b;
    }
    into->l = into->l * a + from->l * b;
    into->m = m;
}

/* Scores become out, if v is given, and lse; @p m and @p l are set to the pair. */
static void go_through(const struct kernel *kernel, enum storage storage, const float *scores, int count,
                       const float *v, int head_dim, struct rng *rng, float *out, struct part *all)
{
    static struct part part[MOST_LANES];
    float max = -INFINITY;
    for (int j = 0; kernel->blind && j < count; j++) max = fmaxf(max, scores[j]);
    for (int lane = 0; lane < kernel->lanes; lane++)
        part[lane] = (struct part){.m = kernel->blind ? max : -INFINITY};
    if (kernel->mistake == KEY_LOST && count > 1) count--;
    for (int j = 0; j < count; j++)
        visit(kernel, storage, &part[j % kernel->lanes], scores[j], v + (size_t)j * (size_t)head_dim,
              head_dim, rng);
    for (int lane = 1; lane < kernel->lanes; lane++) merge(kernel, &part[0], &part[lane], head_dim, rng);
    for (int d = 0; d < head_dim; d++) {
        out[d] = kernel->normalised ? part[0].o[d] : part[0].o[d] / part[0].l;
        if (kernel->mistake == RESULT_IN_HALF) out[d] = half(out[d]);
    }
    *all = part[0];
}

static float lse_of(const struct kernel *kernel, const struct part *all)
{
    return all->m * (kernel->base_2 ? 0.693147180559945f : 1.0f) + logf(all->l);
}

/* ---- an item, and its verdict ---------------------------------------------------------------------------- */

struct judging {
    struct check check;
    struct session session;
    struct item item;
    struct judged judged;
    float *memory[WIRE_BUFFERS];
};

static void open_item(struct judging *j, const char *lesson, const char *name)
{
    memset(j, 0, sizeof *j);
    j->check.options.lesson = options_lesson(lesson);
    j->check.case_count = j->check.options.lesson->cases(j->check.cases, CHECK_CASES);
    j->session.check = &j->check;
    for (int i = 0; i < j->check.case_count; i++)
        if (strcmp(j->check.cases[i].name, name) == 0) j->item.settled = j->check.cases[i];
    expect(strcmp(j->item.settled.name, name) == 0, name, "no such case");
}

/* Buffers and inputs, once the item's numbers are settled. */
static void fill_item(struct judging *j, uint64_t seed)
{
    const struct lesson *lesson = j->check.options.lesson;
    j->item.settled.seed = seed;
    j->item.buffer_count = lesson->buffers(&j->item.settled, j->item.buffer);
    j->judged = (struct judged){.session = &j->session, .item = &j->item};
    for (int b = 0; b < j->item.buffer_count; b++) {
        const struct lesson_buffer *buffer = &j->item.buffer[b];
        size_t elems = lesson_elems(buffer);
        struct rng rng = {rng_mix(seed, (uint64_t)b)};
        j->memory[b] = calloc(elems + 1, sizeof(float));
        if (j->memory[b] == NULL) exit(2);
        j->judged.got[0][b] = j->judged.got[1][b] = j->memory[b];
        if (buffer->role != WIRE_IN) continue;
        lesson->fill(&j->item.settled, b, elems, &rng, j->memory[b]);
        for (size_t i = 0; i < elems; i++) j->memory[b][i] = storage_round(buffer->storage, j->memory[b][i]);
        j->judged.inputs[b] = j->memory[b];
    }
}

static double share_of(struct judging *j)
{
    struct record broken = {0};
    int right = compare_values(&j->judged, &broken);
    expect(broken.kind == RECORD_NO_KIND, "compare_values", broken.note);
    double share = right || j->judged.share > 1.0 ? j->judged.share : (double)INFINITY; /* of a NaN, say */
    for (int b = 0; b < j->item.buffer_count; b++) {
        free(j->judged.buffer[b].first);
        free(j->memory[b]);
    }
    return share;
}

static void compute_row(struct judging *j, const struct kernel *kernel, int b, int h, int i, struct rng *rng)
{
    static float scores[1 << 16];
    const int *extent = j->item.settled.extent;
    int head_dim = extent[AT_HEAD_DIM], kv_len = extent[AT_KV_LEN], q_len = extent[AT_Q_LEN];
    struct ref_attention_shape shape = {extent[AT_BATCH],
                                        extent[AT_HEADS],
                                        extent[AT_KV_HEADS],
                                        q_len,
                                        kv_len,
                                        head_dim,
                                        (double)(float)j->item.settled.real[AT_SCALE],
                                        j->item.settled.value[AT_CAUSAL] == 1};
    float scale = (float)ref_attention_scale(&shape) * (kernel->base_2 ? 1.44269504f : 1.0f);
    size_t row = ((size_t)b * (size_t)extent[AT_HEADS] + (size_t)h) * (size_t)q_len + (size_t)i;
    size_t kv =
        ((size_t)b * (size_t)extent[AT_KV_HEADS] + (size_t)(h / (extent[AT_HEADS] / extent[AT_KV_HEADS]))) *
        (size_t)kv_len * (size_t)head_dim;
    const float *q = j->memory[ATTENTION_Q] + row * (size_t)head_dim, *k = j->memory[ATTENTION_K] + kv;
    float *out = j->memory[ATTENTION_OUT] + row * (size_t)head_dim;
    int visible = ref_attention_visible(&shape, i);
    struct part all = {.m = -INFINITY};
    for (int key = 0; key < visible; key++) {
        float sum = 0.0f;
        for (int d = 0; d < head_dim; d++) sum += q[d] * k[(size_t)key * (size_t)head_dim + (size_t)d];
        scores[key] = kernel->mistake == SCORES_IN_HALF ? half(sum * scale) : sum * scale;
    }
    if (visible > 0)
        go_through(kernel, j->item.buffer[ATTENTION_OUT].storage, scores, visible,
                   j->memory[ATTENTION_V] + kv, head_dim, rng, out, &all);
    for (int d = 0; d < head_dim; d++)
        out[d] = visible > 0 ? storage_round(j->item.buffer[ATTENTION_OUT].storage, out[d]) : 0.0f;
    j->memory[ATTENTION_LSE][row] = visible > 0 ? lse_of(kernel, &all) : -INFINITY;
}

/* ---- attention ------------------------------------------------------------------------------------------- */

/** Which lesson judges a shape, and what its items are like. */
enum target { F32, F16, CORES_F16, CORES_BF16 };

static const struct {
    const char *lesson, *model;
    int cores;
} TARGETS[] = {[F32] = {"04", "f32/square_64", 0},
               [F16] = {"04", "f16/square_64", 0},
               [CORES_F16] = {"12", "f16/square_64", 1},
               [CORES_BF16] = {"12", "bf16/square_64", 1}};

/** Data that have been trouble. Extents of 0 are drawn as a GPU's property cases draw them. */
struct shape {
    const char *name;
    enum target target;
    int q_len, kv_len, head_dim, causal;
    double scale;
    enum attention_distribution distribution;
    unsigned seen; /* set of 1 << mistake: those that must be rejected here */
};

#define SEES(mistake) (1u << (mistake))
#define PRECISION (SEES(SUMS_IN_HALF) | SEES(RESULT_IN_HALF) | SEES(SCORES_IN_HALF))

static const struct shape SHAPES[] = {
    {"random shapes", F32, 0, 0, 0, 0, 0.0, DIST_NORMAL, 0},
    {"peaked rows", F32, 24, 300, 128, 0, 1.0, DIST_NORMAL, SEES(RESULT_IN_HALF)},
    {"peaked rows, causal", F32, 300, 300, 32, 1, 1.0, DIST_NORMAL, SEES(RESULT_IN_HALF)},
    {"one row of 16384", F32, 1, 16384, 64, 0, 0.0, DIST_NORMAL, PRECISION | SEES(WEIGHTS_IN_HALF)},
    {"one row of 40000", F32, 1, 40000, 32, 0, 0.0, DIST_NORMAL, SEES(SUMS_IN_HALF) | SEES(SCORES_IN_HALF)},
    {"normal", F32, 64, 256, 64, 0, 0.0, DIST_NORMAL, PRECISION | SEES(WEIGHTS_IN_HALF) | SEES(KEY_LOST)},
    {"equal scores", F32, 2, 2500, 32, 0, 0.0, DIST_EQUAL,
     SEES(SUMS_IN_HALF) | SEES(RESULT_IN_HALF) | SEES(KEY_LOST)},
    {"equal scores, one row of 16384", F32, 1, 16384, 32, 0, 0.0, DIST_EQUAL, SEES(SUMS_IN_HALF)},
    {"rising scores", F32, 9, 200, 32, 0, 0.0, DIST_RISING, SEES(SUMS_IN_HALF) | SEES(RESULT_IN_HALF)},
    {"falling scores", F32, 9, 200, 32, 0, 0.0, DIST_FALLING, SEES(SUMS_IN_HALF) | SEES(RESULT_IN_HALF)},
    {"dominant key", F32, 17, 130, 32, 0, 0.0, DIST_DOMINANT, 0},
    {"large logits", F32, 33, 65, 64, 0, 0.0, DIST_LARGE, 0},
    {"low logits", F32, 17, 65, 32, 0, 0.0, DIST_LOW, SEES(SCORES_IN_HALF)},
    {"f16", F16, 63, 65, 64, 0, 0.0, DIST_NORMAL, SEES(SUMS_IN_HALF)},
    {"f16, large values", F16, 9, 130, 32, 0, 0.0, DIST_LARGE_VALUES, SEES(SUMS_IN_HALF)},
    {"f16, equal scores", F16, 2, 2500, 32, 0, 0.0, DIST_EQUAL, SEES(SUMS_IN_HALF)},
    {"f16, random shapes", F16, 0, 0, 0, 0, 0.0, DIST_NORMAL, 0},
    {"cores, random shapes", CORES_F16, 0, 0, 0, 0, 0.0, DIST_NORMAL, 0},
    {"cores", CORES_F16, 64, 256, 64, 0, 0.0, DIST_NORMAL,
     SEES(WEIGHTS_IN_BFLOAT16) | SEES(KEY_LOST) | SEES(SUMS_IN_HALF)},
    {"cores, two keys", CORES_F16, 128, 2, 64, 0, 0.0, DIST_NORMAL,
     SEES(WEIGHTS_IN_BFLOAT16) | SEES(WEIGHTS_CUT_OFF)},
    {"cores, one row of 16384", CORES_F16, 1, 16384, 64, 0, 0.0, DIST_NORMAL, SEES(SUMS_IN_HALF)},
    {"cores, equal scores", CORES_F16, 2, 2500, 64, 0, 0.0, DIST_EQUAL, SEES(SUMS_IN_HALF)},
    {"cores, rising scores", CORES_F16, 64, 140, 64, 0, 0.0, DIST_RISING,
     0}, /* one key has nearly all of the weight */
    {"cores, falling scores", CORES_F16, 9, 200, 64, 0, 0.0, DIST_FALLING, SEES(WEIGHTS_IN_BFLOAT16)},
    {"cores, faint weights", CORES_F16, 16, 140, 64, 0, 0.0, DIST_FAINT, SEES(FAINT_WEIGHTS_LOST)},
    {"cores, large logits", CORES_F16, 33, 65, 64, 0, 0.0, DIST_LARGE, 0},
    {"cores, large values", CORES_F16, 9, 130, 64, 0, 0.0, DIST_LARGE_VALUES, 0},
    {"cores, bf16", CORES_BF16, 64, 256, 64, 0, 0.0, DIST_NORMAL, SEES(KEY_LOST)},
    {"cores, bf16, two keys", CORES_BF16, 128, 2, 64, 0, 0.0, DIST_NORMAL, SEES(WEIGHTS_CUT_OFF)},
    {"cores, bf16, faint weights", CORES_BF16, 16, 140, 64, 0, 0.0, DIST_FAINT, SEES(FAINT_WEIGHTS_LOST)},
};

static void settle(struct judging *j, const struct shape *shape, struct rng *rng)
{
    struct lesson_case *item = &j->item.settled;
    item->devices = ON_GPU;
    item->seed = rng_next(rng);
    if (shape->q_len == 0) {
        attention_vary(item, 0, rng);
        return;
    }
    item->extent[AT_Q_LEN] = shape->q_len;
    item->extent[AT_KV_LEN] = shape->kv_len;
    item->extent[AT_HEAD_DIM] = shape->head_dim;
    item->extent[AT_HEADS] = item->extent[AT_KV_HEADS] = item->extent[AT_BATCH] = 1;
    item->value[AT_CAUSAL] = shape->causal;
    item->real[AT_SCALE] = shape->scale;
    item->distribution = shape->distribution;
    if (shape->distribution != DIST_NORMAL) item->flags &= ~(unsigned)CASE_UNIT_SCALE;
}

static double attention_share(const struct shape *shape, const struct kernel *kernel, uint64_t seed)
{
    static struct judging j;
    struct rng rng = {rng_mix(seed, 77)};
    open_item(&j, TARGETS[shape->target].lesson, TARGETS[shape->target].model);
    settle(&j, shape, &rng);
    fill_item(&j, rng_next(&rng));
    const int *extent = j.item.settled.extent;
    for (int b = 0; b < extent[AT_BATCH]; b++)
        for (int h = 0; h < extent[AT_HEADS]; h++)
            for (int i = 0; i < extent[AT_Q_LEN]; i++) compute_row(&j, kernel, b, h, i, &rng);
    return share_of(&j);
}

/* The largest share of a right kernel and the smallest of a wrong one, over the seeds. */
static void judge_kernel(const char *shape, const struct kernel *kernel, unsigned seen, double least,
                         double most)
{
    char text[160];
    snprintf(text, sizeof text, "%s: %.3g to %.3g times its budget", kernel->name, least, most);
    if (told) printf("%-32s %s\n", shape, text);
    /* A bound on rounded weights allows what rounding can do, not more: with few keys it nearly does it. */
    if (kernel->mistake == RIGHT) expect(most <= (kernel->cores ? 1.0 : 0.7), shape, text);
    if (seen & SEES(kernel->mistake)) expect(least > 1.0, shape, text);
}

static void test_attention(int seeds)
{
    for (size_t s = 0; s < sizeof SHAPES / sizeof SHAPES[0]; s++)
        for (size_t k = 0; k < sizeof KERNELS / sizeof KERNELS[0]; k++) {
            double most = 0.0, least = (double)INFINITY;
            int needed = KERNELS[k].mistake == RIGHT || told || (SHAPES[s].seen & SEES(KERNELS[k].mistake));
            if (KERNELS[k].cores != TARGETS[SHAPES[s].target].cores) continue;
            for (int seed = 1; seed <= seeds && needed; seed++) {
                double share = attention_share(&SHAPES[s], &KERNELS[k], (uint64_t)seed);
                most = fmax(most, share);
                least = fmin(least, share);
            }
            if (needed) judge_kernel(SHAPES[s].name, &KERNELS[k], SHAPES[s].seen, least, most);
        }
}

/* ---- weights that are rounded before they are multiplied ----------------------------------------------------- */

/* The error that rounding @p count weights of a row causes, as shares of what bound_rounded_weights() allows. The first
 * weight is 1. Of the others some are small; if @p faint all are below the normal numbers of half, and the first value is 0. */
static void round_row(enum storage storage, int count, int faint, struct rng *rng, double *of_most,
                      double *of_likely)
{
    double l = 0.0, exact = 0.0, rounded = 0.0, magnitude = 0.0, squares = 0.0, values = 0.0;
    for (int j = 0; j < count; j++) {
        float w = j == 0 ? 1.0f : (float)exp2(-12.0 * rng_uniform(rng) - (faint ? 14.0 : 0.0));
        double v = j == 0 && faint ? 0.0 : rng_normal(rng), term = (double)w * v;
        l += (double)w;
        exact += term;
        rounded += (double)storage_round(storage, w) * v;
        magnitude += fabs(term);
        squares += term * term;
        values += fabs(v);
    }
    struct bound_rounded allowed =
        bound_rounded_weights(storage, magnitude / l, squares / l / l, fabs(exact) / l, values / l);
    *of_most = fmax(*of_most, fabs(rounded - exact) / l / allowed.most);
    *of_likely = fmax(*of_likely, fabs(rounded - exact) / l / allowed.likely);
}

/* Neither bound is ever passed, and both are of the right size: errors come near them. */
static void test_rounded_weights(void)
{
    static const enum storage storages[] = {STORAGE_F16, STORAGE_BF16};
    static const int counts[] = {2, 16, 256};
    for (int i = 0; i < 12; i++) {
        enum storage storage = storages[i % 2];
        int count = counts[i / 2 % 3], faint = i / 6;
        double of_most = 0.0, of_likely = 0.0;
        struct rng rng = {(uint64_t)i + 1};
        for (int row = 0; row < 500; row++) round_row(storage, count, faint, &rng, &of_most, &of_likely);
        char text[160];
        snprintf(text, sizeof text, "%d weights in %s, faint %d: %.3g of the most, %.3g of the likely", count,
                 storage_name(storage), faint, of_most, of_likely);
        if (told) printf("%s\n", text);
        expect(of_most <= 1.0 && of_likely <= 1.0, "bound_rounded_weights: too tight", text);
        expect(of_most >= 0.04 && of_likely >= 0.1, "bound_rounded_weights: too wide", text);
    }
}

/* ---- rows of lesson 03 ------------------------------------------------------------------------------------ */

enum { ROWS_IN, ROWS_OUT, ROWS_LSE };

static double rows_share(const char *name, const struct kernel *kernel, uint64_t seed)
{
    static struct judging j;
    static float nothing[1];
    struct rng rng = {rng_mix(seed, 78)};
    open_item(&j, "03", name);
    fill_item(&j, rng_next(&rng));
    int rows = j.item.settled.extent[0], cols = j.item.settled.extent[1];
    for (int row = 0; row < rows; row++) {
        float *in = j.memory[ROWS_IN] + (size_t)row * (size_t)cols,
              *out = j.memory[ROWS_OUT] + (size_t)row * (size_t)cols;
        struct part all;
        go_through(kernel, STORAGE_F32, in, cols, nothing, 0, &rng, nothing, &all);
        for (int i = 0; i < cols; i++) {
            out[i] = weight_of(kernel, in[i] - all.m, &rng) / all.l;
            if (kernel->mistake == RESULT_IN_HALF) out[i] = half(out[i]);
        }
        j.memory[ROWS_LSE][row] = lse_of(kernel, &all);
    }
    return share_of(&j);
}

static void test_rows(int seeds)
{
    static const char *const names[] = {"rows/cols_40000", "rows/cols_9001", "rows/equal",     "rows/rising",
                                        "rows/dominant",   "rows/cols_31",   "rows/many_rows", "rows/low"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        for (size_t k = 0; k < sizeof KERNELS / sizeof KERNELS[0]; k++) {
            double most = 0.0, least = (double)INFINITY;
            if (KERNELS[k].cores || KERNELS[k].base_2 ||
                (KERNELS[k].mistake != RIGHT && KERNELS[k].mistake != RESULT_IN_HALF))
                continue;
            for (int seed = 1; seed <= seeds; seed++) {
                double share = rows_share(names[i], &KERNELS[k], (uint64_t)seed);
                most = fmax(most, share);
                least = fmin(least, share);
            }
            unsigned seen = strcmp(names[i], "rows/equal") != 0 ? SEES(RESULT_IN_HALF) : 0;
            judge_kernel(names[i], &KERNELS[k], seen, least, most);
        }
}

int main(int argc, char **argv)
{
    int seeds = argc > 1 ? atoi(argv[1]) : 1;
    told = argc > 1;
    test_attention(seeds);
    test_rows(seeds);
    test_rounded_weights();
    if (failures > 0) printf("%d failures\n", failures);
    return failures > 0;
}
