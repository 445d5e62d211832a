/**
 * @file 17_decode_engine.c
 * @brief Lesson 17: steps of a decoder of the Qwen3 kind, for requests that join, take their prompts in pieces and go on token
 *        by token.
 *
 * A case is a decoder from a seed and a schedule, see engine_items.h. The checker compares the logits of all
 * wanted rows; the oracle computes each request's text at once. Most cases compute every token again in a
 * step of its own, with another cache, and the report says in which steps the bits differ.
 */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checker/cases/case_table.h"
#include "checker/cases/engine_guess.h"
#include "checker/cases/lesson.h"
#include "checker/numbers/bound.h"
#include "base/parallel.h"
#include "protocol/engine_items.h"
#include "qwen3.h"

/** How weights are distributed, if not normal. */
enum distribution {
    NORMAL,
    NO_ATTENTION, /* W_o is 0 */
    NO_MLP,       /* W_down is 0 */
    SHARP,        /* q_norm is eight times as large: a few keys take all the weight */
    FAINT,        /* states are as small as the square root of epsilon, and so are q and k */
    FAR,          /* q_norm and k_norm are a thousand times as large: scores of a million */
    STEEP,        /* gates are forty times as large: exp of some is infinite */
    LARGE,        /* the embedding is a thousand times as large */
    UNEVEN,       /* some elements of the embedding and of gains are much larger than others */
    NAN_TOKEN,    /* the embedding of one token is NaN; request 0 alone has it */
    BROAD, /* weights of q, k, of what layers add and of some gates are 50,000 times as large, and of the up projections beside the other gates */
    GATES_OF_5, /* gates are about 5 */
    ONE_KEY,    /* keys whose values are 0 take nearly all the weight */
    CANCELLED,  /* little remains of every sum: another order of its terms shows although it is rounded */
    LAGGING, /* states begin large, and go on with elements whose squares alone are lost beside the sum so far */
    ALIKE, /* layers with the same weights, and an embedding 4,000 times as large */
    DISTRIBUTIONS
};

enum { STRANGE = 1 }; /* the token whose embedding is NaN */

enum { DRAWN = 16, MOST_DRAWN = 40000000 }; /* number of multiplications in one of them */

/** A decoder. */
struct sizes {
    int layers, hidden, heads, kv_heads, head_dim, intermediate, vocab, tied;
    double epsilon, rope_base; /* 0: 1e-6, and 1e6 with heads of 128, else 1e4 */
};

/* clang-format off */
/*                                    layers hidden heads kv_h  dim  inter. vocab  tied */
static const struct sizes NO_LAYERS =    {0,    64,    1,   1,  32,    32,    37,    1, 0, 0};
static const struct sizes SMALL =        {1,    32,    2,   1,  32,    32,    21,    1, 0, 0};
static const struct sizes TWO_LAYERS =   {2,    64,    2,   1,  32,    64,    19,    0, 0, 0};
static const struct sizes THREE_GROUPS = {1,    32,    6,   3,  32,    32,    16,    0, 1e-2, 100};
static const struct sizes FOUR_GROUPS =  {1,    32,   12,   4,  32,    32,    16,    0, 0, 0};
static const struct sizes NO_GROUPS =    {1,    32,    2,   2,  64,    32,    16,    1, 0, 0.5};
static const struct sizes HEADS_OF_128 = {1,    32,    2,   1, 128,    32,    11,    1, 1e-3, 10};
static const struct sizes MANY_HEADS =   {1,    32,   16,   1, 128,    32,   11,    1, 0, 0};
static const struct sizes HEADS_260 =    {1,    32,  260,   1,  32,    32,   11,    1, 0, 0}; /* more than a block has threads */
static const struct sizes UNEVEN_SPANS = {1,   352,    2,   1,  32,   288,     9,    1, 0, 0};
static const struct sizes SLOW_PAIRS =   {1,    32,    2,   1,  32,    32,    21,    1, 0, 1e9};
static const struct sizes LAYERS_32 =    {32,   32,    2,   1,  32,    32,    21,    1, 0, 0};
static const struct sizes LONG_STATES =  {0, 16416,    1,   1,  32,    32,     3,    1, 0, 0};
static const struct sizes LONG_SUMS =    {1,    32,    2,   1,  32,  8256,     3,    1, 0, 0};
static const struct sizes ONE_WORD =     {1,    32,    1,   1,  32,    96,     1,    1, 0, 0};
/* Sizes that no other case on the software device has: warps with several chunks of inputs, and blocks
 * with several tiles of outputs. */
static const struct sizes LONG_ROWS =    {1,  1120,    2,   1,  32,    32,     9,    0, 0, 0};
static const struct sizes MANY_WORDS =   {1,    32,    2,   1,  32,    32, 65601,    0, 0, 0};
static const struct sizes MANY_TILES =   {1,    32,    2,   1,  32,  3360,    21,    1, 0, 0};
/* Layers as those models have them, but fewer of them, and a smaller vocabulary. */
static const struct sizes LIKE_0_6B =    {7,  1024,   16,   8, 128,  3072,  1024,    1, 0, 0};
static const struct sizes LIKE_8B =      {2,  4096,   32,   8, 128, 12288,  1024,    0, 0, 0};
/* clang-format on */

enum {
    A = ENGINE_ALONE,
    G = ENGINE_GRAPH,
    R = ENGINE_REVERSED,
    F = ENGINE_FEW,
    L = ENGINE_LAST,
    P = ENGINE_FILLED
};

/** One line: a decoder and a schedule. */
static const struct table_row {
    const char *name;
    enum case_group group;
    const struct sizes *sizes;
    int requests; /* 0: one */
    int text, growth, every, chunk, decode, page;
    unsigned manner;
    enum distribution distribution;
    int gpu_only;
    int elsewhere; /* of engine_config */
    int spread;    /* 0: 1 */
} TABLE[] = {
    /* clang-format off */
    {"step/no_layers",              GROUP_BASIC,      &NO_LAYERS,    .text = 3, .chunk = 3, .page = 4},
    {"step/no_attention",           GROUP_BASIC,      &SMALL,        .text = 3, .chunk = 3, .page = 4, .distribution = NO_ATTENTION},
    {"step/no_mlp",                 GROUP_BASIC,      &SMALL,        .text = 5, .chunk = 5, .page = 4, .distribution = NO_MLP},
    {"step/prompt",                 GROUP_BASIC,      &TWO_LAYERS,   .text = 9, .chunk = 9, .page = 4, .manner = A},
    {"step/token_by_token",         GROUP_BASIC,      &TWO_LAYERS,   .text = 5, .chunk = 2, .decode = 3, .page = 4},
    {"step/four_requests",          GROUP_BASIC,      &SMALL,        .requests = 4, .text = 4, .growth = 1, .chunk = 3, .decode = 2, .page = 4, .manner = A},

    {"step/one_token",              GROUP_EDGES,      &SMALL,        .text = 1, .chunk = 1, .page = 1},
    {"step/rows_7",                 GROUP_EDGES,      &SMALL,        .text = 7, .chunk = 7, .page = 2, .manner = A},
    {"step/rows_8",                 GROUP_EDGES,      &SMALL,        .text = 8, .chunk = 8, .page = 3, .manner = A},
    {"step/rows_33",                GROUP_EDGES,      &SMALL,        .text = 33, .chunk = 33, .page = 16, .manner = A},
    {"step/chunks_of_3",            GROUP_EDGES,      &SMALL,        .text = 13, .chunk = 3, .page = 4, .manner = A},
    {"step/pages_of_1",             GROUP_EDGES,      &SMALL,        .requests = 2, .text = 5, .growth = 1, .chunk = 2, .decode = 1, .page = 1},
    {"step/keys_233_to_290",        GROUP_EDGES,      &SMALL,        .text = 290, .chunk = 58, .page = 16, .manner = L, .distribution = SHARP},
    {"step/keys_to_600",            GROUP_EDGES,      &SMALL,        .text = 600, .chunk = 199, .decode = 3, .page = 16},
    {"step/keys_to_2100",           GROUP_EDGES,      &SMALL,        .text = 2100, .chunk = 699, .decode = 3, .page = 16, .gpu_only = 1},
    {"step/join_and_leave",         GROUP_EDGES,      &SMALL,        .requests = 5, .text = 3, .growth = 1, .every = 2, .chunk = 2, .decode = 2, .page = 2, .manner = A},
    {"step/rows_12_past_128_keys",  GROUP_EDGES,      &SMALL,        .requests = 12, .text = 138, .growth = 45, .decode = 2, .page = 16, .manner = P | A, .distribution = CANCELLED},
    {"step/position_70000",         GROUP_EDGES,      &SMALL,        .text = 70002, .decode = 2, .page = 16, .manner = P, .distribution = SHARP},
    {"step/position_5000_apart",    GROUP_EDGES,      &THREE_GROUPS, .requests = 2, .text = 4001, .growth = 1000, .decode = 1, .page = 16, .manner = P | A},
    /* Blocks of the cache are 2^30 elements apart, and so begin beyond 2^31 and 2^32 in a slice, and slices do. */
    {"step/far_blocks",             GROUP_EDGES,      &TWO_LAYERS,   .text = 34, .chunk = 33, .decode = 1, .page = 16, .spread = (1 << 30) / (16 * 32)},
    {"step/attention_elsewhere",    GROUP_EDGES,      &TWO_LAYERS,   .requests = 2, .text = 5, .growth = 1, .chunk = 3, .decode = 1, .page = 4, .elsewhere = ENGINE_ATTENTION_ELSEWHERE},
    {"step/mlp_elsewhere",          GROUP_EDGES,      &TWO_LAYERS,   .text = 25, .chunk = 20, .decode = 5, .page = 4, .elsewhere = ENGINE_MLP_ELSEWHERE},
    {"step/all_elsewhere_replayed", GROUP_EDGES,      &TWO_LAYERS,   .text = 5, .chunk = 3, .decode = 1, .page = 4, .manner = G, .elsewhere = ENGINE_ATTENTION_ELSEWHERE | ENGINE_MLP_ELSEWHERE},
    {"step/rows_reversed",          GROUP_EDGES,      &SMALL,        .requests = 3, .text = 5, .growth = 1, .every = 1, .chunk = 4, .decode = 1, .page = 4, .manner = A | R},
    {"step/few_wanted",             GROUP_EDGES,      &SMALL,        .requests = 3, .text = 6, .growth = 1, .every = 1, .chunk = 4, .decode = 1, .page = 4, .manner = A | F},
    {"step/last_wanted",            GROUP_EDGES,      &SMALL,        .requests = 2, .text = 5, .chunk = 2, .decode = 1, .page = 4, .manner = L},
    {"step/replayed",               GROUP_EDGES,      &SMALL,        .requests = 3, .text = 4, .growth = 2, .every = 1, .chunk = 3, .decode = 2, .page = 2, .manner = A | G},
    {"step/every_number_of_rows",   GROUP_EDGES,      &UNEVEN_SPANS, .requests = 9, .text = 9, .every = 1, .chunk = 1, .page = 4, .manner = A},
    {"step/replayed_in_1_row",      GROUP_EDGES,      &SMALL,        .requests = 2, .text = 2, .every = 3, .chunk = 1, .page = 2, .manner = A | G},
    {"step/replayed_in_2_rows",     GROUP_EDGES,      &SMALL,        .text = 4, .chunk = 1, .page = 2, .manner = A | G},
    {"step/replayed_in_12_rows",    GROUP_EDGES,      &SMALL,        .requests = 3, .text = 7, .growth = 1, .every = 2, .chunk = 5, .decode = 2, .page = 4, .manner = A | G | F},
    {"step/replayed_all_rows_pad",  GROUP_EDGES,      &SMALL,        .requests = 2, .text = 4, .every = 3, .chunk = 4, .page = 2, .manner = G},
    {"step/three_groups",           GROUP_EDGES,      &THREE_GROUPS, .requests = 2, .text = 5, .growth = 2, .chunk = 4, .decode = 1, .page = 4},
    {"step/four_groups",            GROUP_EDGES,      &FOUR_GROUPS,  .requests = 2, .text = 5, .growth = 2, .chunk = 4, .decode = 1, .page = 4},
    {"step/no_groups",              GROUP_EDGES,      &NO_GROUPS,    .requests = 2, .text = 5, .growth = 2, .chunk = 4, .decode = 1, .page = 4},
    {"step/heads_of_128",           GROUP_EDGES,      &HEADS_OF_128, .text = 19, .chunk = 18, .decode = 1, .page = 8},
    /* So many elements of q and k that an ulp of their norms, which is mostly lost when they are stored as halves, shows in some. */
    {"step/rows_alike",             GROUP_EDGES,      &MANY_HEADS,   .text = 40, .chunk = 40, .page = 16, .manner = A},
    {"step/uneven_spans",           GROUP_EDGES,      &UNEVEN_SPANS, .requests = 2, .text = 5, .growth = 1, .chunk = 5, .decode = 1, .page = 4, .manner = A},
    {"step/uneven_spans_20",        GROUP_EDGES,      &UNEVEN_SPANS, .text = 20, .chunk = 19, .decode = 1, .page = 8, .manner = A},
    {"step/long_rows",              GROUP_EDGES,      &LONG_ROWS,    .text = 4, .chunk = 3, .decode = 1, .page = 4, .manner = A},
    {"step/long_rows_20",           GROUP_EDGES,      &LONG_ROWS,    .text = 20, .chunk = 19, .decode = 1, .page = 8, .manner = A},
    {"step/many_tiles",             GROUP_EDGES,      &MANY_TILES,   .text = 4, .chunk = 3, .decode = 1, .page = 4, .manner = A},
    {"step/tiles_cancelled",        GROUP_EDGES,      &MANY_TILES,   .text = 4, .chunk = 3, .decode = 1, .page = 4, .manner = A, .distribution = CANCELLED},
    {"step/long_states",            GROUP_EDGES,      &LONG_STATES,  .text = 20, .chunk = 17, .page = 4, .manner = A},
    {"step/long_states_lagging",    GROUP_EDGES,      &LONG_STATES,  .text = 20, .chunk = 17, .page = 4, .manner = A, .distribution = LAGGING},
    {"step/heads_260",              GROUP_EDGES,      &HEADS_260,    .text = 130, .decode = 1, .page = 16, .manner = P},
    {"step/long_sums",              GROUP_EDGES,      &LONG_SUMS,    .text = 2, .chunk = 2, .page = 4, .manner = A, .distribution = CANCELLED},
    {"step/few_past_128_keys",      GROUP_EDGES,      &SMALL,        .requests = 3, .text = 131, .growth = 2, .chunk = 65, .decode = 2, .page = 16, .manner = A, .distribution = SHARP},
    {"step/words_65601",            GROUP_EDGES,      &MANY_WORDS,   .text = 3, .chunk = 2, .decode = 1, .page = 4},
    {"step/one_word",               GROUP_EDGES,      &ONE_WORD,     .text = 3, .chunk = 2, .decode = 1, .page = 4},

    {"step/sharp",                  GROUP_NUMERICS,   &TWO_LAYERS,   .text = 12, .chunk = 11, .decode = 1, .page = 4, .distribution = SHARP},
    {"step/far_below_zero",         GROUP_NUMERICS,   &SMALL,        .requests = 12, .text = 1, .chunk = 1, .page = 4, .distribution = FAR},
    {"step/faint",                  GROUP_NUMERICS,   &SMALL,        .text = 6, .chunk = 5, .decode = 1, .page = 4, .distribution = FAINT},
    {"step/large",                  GROUP_NUMERICS,   &SMALL,        .text = 6, .chunk = 5, .decode = 1, .page = 4, .distribution = LARGE},
    {"step/steep",                  GROUP_NUMERICS,   &SMALL,        .text = 6, .chunk = 5, .decode = 1, .page = 4, .distribution = STEEP},
    {"step/uneven",                 GROUP_NUMERICS,   &SMALL,        .text = 6, .chunk = 5, .decode = 1, .page = 4, .distribution = UNEVEN},
    {"step/nan_token",              GROUP_NUMERICS,   &SMALL,        .requests = 3, .text = 6, .chunk = 4, .decode = 1, .page = 4, .manner = A, .distribution = NAN_TOKEN},

    {"step/q_and_k_beyond_half",    GROUP_NUMERICS,   &SMALL,        .text = 22, .chunk = 17, .decode = 1, .page = 4, .distribution = BROAD},
    {"step/gates_of_5",             GROUP_NUMERICS,   &SMALL,        .text = 6, .chunk = 5, .decode = 1, .page = 4, .distribution = GATES_OF_5},
    {"step/faint_weights",          GROUP_NUMERICS,   &SLOW_PAIRS,   .text = 290, .chunk = 97, .decode = 1, .page = 16, .manner = L, .distribution = ONE_KEY},
    {"step/layers_alike",           GROUP_NUMERICS,   &LAYERS_32,    .text = 4, .chunk = 3, .decode = 1, .page = 4, .distribution = ALIKE},

    {"step/property_random",        GROUP_PROPERTIES, &SMALL,        .requests = 2, .text = 3, .growth = 1, .chunk = 2, .decode = 1, .page = 4, .manner = A},

    {"step/decode_small",           GROUP_SPEED,      &UNEVEN_SPANS, .text = 1, .chunk = 1, .page = 16, .manner = ENGINE_KEPT},
    {"step/prompt_small",           GROUP_SPEED,      &UNEVEN_SPANS, .text = 16, .chunk = 16, .page = 16, .manner = ENGINE_KEPT},
    {"step/like_qwen3_0_6b",        GROUP_SPEED,      &LIKE_0_6B,    .text = 1, .chunk = 1, .page = 16, .manner = ENGINE_KEPT, .gpu_only = 1},
    {"step/like_qwen3_0_6b_8",      GROUP_SPEED,      &LIKE_0_6B,    .requests = 8, .text = 1, .chunk = 1, .page = 16, .manner = ENGINE_KEPT, .gpu_only = 1},
    {"step/like_qwen3_0_6b_32",     GROUP_SPEED,      &LIKE_0_6B,    .requests = 32, .text = 1, .chunk = 1, .page = 16, .manner = ENGINE_KEPT, .gpu_only = 1},
    {"step/like_qwen3_0_6b_texts",  GROUP_SPEED,      &LIKE_0_6B,    .requests = 16, .text = 8, .chunk = 8, .page = 16, .manner = ENGINE_KEPT, .gpu_only = 1},
    {"step/like_qwen3_8b",          GROUP_SPEED,      &LIKE_8B,      .text = 1, .chunk = 1, .page = 16, .manner = ENGINE_KEPT, .gpu_only = 1},
    /* clang-format on */
};

/** What must be refused. */
static const struct bad_row {
    const char *name;
    enum kernel_status expected;
} BAD[ENGINE_MISTAKES] = {
    [ENGINE_RIGHT] = {"sound_arguments", KERNEL_OK}, /* what the table of promises makes refusals of */
#define BAD_ROW(mistake, name, expected) [mistake] = {name, expected},
    ENGINE_MISTAKE_LIST(BAD_ROW)
#undef BAD_ROW
};

/* ---- schedules ----------------------------------------------------------------------------------------- */

static void put_plan(struct lesson_case *item, const struct engine_plan *plan)
{
    memset(item->value, 0, sizeof item->value);
    memcpy(item->value, plan, sizeof *plan);
}

/** Blocks of the cache that the longest request needs. */
static int blocks_needed(const struct engine_plan *p)
{
    const int longest = engine_text(p, p->growth > 0 ? p->requests - 1 : 0);
    return (longest + p->config.block_size - 1) / p->config.block_size;
}

/** Steps, rows and cache blocks that the schedule needs. A graph has rows to spare, or steps without rows. */
static void settle(struct engine_plan *p)
{
    struct engine_config *c = &p->config;
    c->max_rows = 1;
    p->steps = 0;
    for (int idle = 0; idle <= p->every; p->steps++) {
        const int rows = engine_rows(p, p->steps);
        c->max_rows = rows > c->max_rows ? rows : c->max_rows;
        idle = rows == 0 ? idle + 1 : 0;
    }
    p->steps -= p->every + 1;
    if (p->manner & ENGINE_GRAPH && (c->max_rows > 1 || p->every < p->text))
        c->max_rows += c->max_rows < 3 ? c->max_rows : 3;
    c->max_blocks = blocks_needed(p) + 1;
    c->num_blocks = p->requests * blocks_needed(p) + 2;
}

static void set_sizes(struct engine_config *c, const struct sizes *s)
{
    c->layers = s->layers;
    c->hidden = s->hidden;
    c->heads = s->heads;
    c->kv_heads = s->kv_heads;
    c->head_dim = s->head_dim;
    c->intermediate = s->intermediate;
    c->vocab = s->vocab;
    c->tied = s->tied;
    c->epsilon = s->epsilon > 0.0 ? (float)s->epsilon : 1e-6f;
    c->rope_base = s->rope_base > 0.0 ? (float)s->rope_base : s->head_dim == 128 ? 1e6f : 1e4f;
}

/** Elements of a block of keys or of values. */
static size_t block_elems(const struct engine_config *c)
{
    return (size_t)c->block_size * engine_kv_width(c);
}

static struct lesson_case case_of(const struct table_row *row)
{
    struct lesson_case item = {.group = row->group,
                               .weight = 3,
                               .devices = row->gpu_only ? ON_GPU : ON_ANY,
                               .distribution = row->distribution,
                               .null_buffer = -1,
                               .misaligned_buffer = -1,
                               .repeat = row->group == GROUP_PROPERTIES ? 100 : 1};
    struct engine_plan plan = {.config = {.block_size = row->page},
                               .requests = row->requests > 0 ? row->requests : 1,
                               .text = row->text,
                               .growth = row->growth,
                               .every = row->every,
                               .chunk = row->chunk,
                               .decode = row->decode,
                               .manner = row->manner};
    set_sizes(&plan.config, row->sizes);
    plan.config.elsewhere = row->elsewhere;
    plan.spread = row->spread > 0 ? row->spread : 1;
    settle(&plan);
    put_plan(&item, &plan);
    if (plan.spread > 1) item.apart[ENGINE_CACHE] = plan.spread * (int64_t)block_elems(&plan.config);
    if (row->group == GROUP_EDGES || row->group == GROUP_NUMERICS) item.flags |= CASE_ONE_CALL;
    snprintf(item.name, sizeof item.name, "%s", row->name);
    return item;
}

static struct lesson_case bad_case_of(int mistake)
{
    /* the first step has fewer rows than others */
    static const struct table_row basis = {"",        GROUP_BAD_INPUT, &THREE_GROUPS, .requests = 2,
                                           .text = 3, .every = 1,      .chunk = 2,    .page = 4};
    struct lesson_case item = case_of(&basis);
    struct engine_plan plan = engine_plan_of(item.value);
    plan.mistake = mistake;
    put_plan(&item, &plan);
    item.weight = 1;
    item.expected = BAD[mistake].expected;
    snprintf(item.name, sizeof item.name, "step/%s", BAD[mistake].name);
    return item;
}

static int cases(struct lesson_case *cases, int capacity)
{
    int count = 0;
    for (size_t i = 0; i < sizeof TABLE / sizeof TABLE[0] && count < capacity; i++)
        cases[count++] = case_of(&TABLE[i]);
    for (int i = ENGINE_RIGHT; i < ENGINE_MISTAKES && count < capacity; i++) cases[count++] = bad_case_of(i);
    return count;
}

/* In some items the norms' epsilon is 0 or large beside what is normalised, or one token is NaN: of these some have a prompt of more
 * than 16 rows, on few SMs, where a block may take several. */
static void vary_numbers(struct lesson_case *item, struct engine_plan *plan, int index, struct rng *rng)
{
    static const float epsilons[] = {0.0f, 1e-9f, 1e-6f, 1e-2f};
    static const enum distribution distributions[] = {NORMAL, FAINT, NORMAL, NAN_TOKEN};
    if (plan->config.vocab <= STRANGE + 1) plan->config.vocab += STRANGE + 1;
    item->distribution = (int)distributions[index % 4];
    plan->config.epsilon = epsilons[index / 4 % 4];
    if (index % 16 != 7) return;
    plan->text = rng_between(rng, 20, 24);
    plan->chunk = 32;
    plan->config.layers = 1;
    plan->config.heads = 4;
    plan->manner &= ~(unsigned)ENGINE_FILLED;
    item->flags |= CASE_SMALL_DEVICE;
}

static void vary(struct lesson_case *item, int index, struct rng *rng)
{
    struct engine_plan plan = engine_plan_of(item->value);
    struct engine_config *c = &plan.config;
    item->seed = rng_next(rng);
    if (index % 4 > 0) item->flags |= CASE_ONE_CALL; /* every fourth item shows what a second call would */
    c->layers = rng_between(rng, 0, 4) / 2;
    c->hidden = 32 * rng_between(rng, 1, 2);
    c->intermediate = 32 * rng_between(rng, 1, 2);
    c->kv_heads = rng_between(rng, 1, 2);
    c->heads = c->kv_heads * rng_between(rng, 1, 2);
    c->vocab = rng_between(rng, 1, 40);
    c->tied = rng_between(rng, 0, 1);
    c->block_size = rng_between(rng, 1, 5);
    plan.requests = rng_between(rng, 1, 3);
    plan.text = rng_between(rng, 2, 4);
    plan.growth = rng_between(rng, 0, 2);
    plan.every = rng_between(rng, 0, 1);
    plan.chunk = rng_between(rng, 1, 4);
    plan.decode = rng_between(rng, 0, 2);
    plan.manner = ENGINE_ALONE | (rng_between(rng, 0, 1) ? ENGINE_REVERSED : 0) |
                  (rng_between(rng, 0, 2) == 0 ? ENGINE_FEW : 0) |
                  (rng_between(rng, 0, 4) == 0 ? ENGINE_GRAPH : 0);
    if (plan.decode > 0 && rng_between(rng, 0, 2) == 0) plan.manner |= ENGINE_FILLED;
    vary_numbers(item, &plan, index, rng);
    settle(&plan);
    put_plan(item, &plan);
}

/* ---- buffers ------------------------------------------------------------------------------------------- */

static int buffers(const struct lesson_case *item, struct lesson_buffer *b)
{
    const struct engine_plan p = engine_plan_of(item->value);
    const struct engine_config *c = &p.config;
    const size_t steps = (size_t)p.steps, rows = (size_t)c->max_rows, vocab = (size_t)c->vocab;
    const size_t copies = p.manner & ENGINE_ALONE ? 2 : 1;
    const size_t workspace = engine_staged(&p) + engine_most_workspace(c) / 256 * 256;
    const size_t slices = 2 * (size_t)c->layers, blocks = (size_t)c->num_blocks;
    b[ENGINE_WEIGHTS] = LESSON_BUFFER("weights", WIRE_IN, STORAGE_F16, engine_weight_elems(c));
    b[ENGINE_TOKENS] = LESSON_BUFFER("tokens", WIRE_IN, STORAGE_I32, steps, rows);
    b[ENGINE_POSITIONS] = LESSON_BUFFER("positions", WIRE_IN, STORAGE_I32, steps, rows);
    b[ENGINE_REQUESTS] = LESSON_BUFFER("requests", WIRE_IN, STORAGE_I32, steps, rows);
    b[ENGINE_TABLES] =
        LESSON_BUFFER("tables", WIRE_IN, STORAGE_I32, steps, (size_t)p.requests, (size_t)c->max_blocks);
    b[ENGINE_WANTED] = LESSON_BUFFER("wanted_rows", WIRE_IN, STORAGE_I32, steps + 1, rows);
    b[ENGINE_CACHE] = LESSON_BUFFER("cache", WIRE_INOUT, STORAGE_F16, copies, slices == 0 ? 1 : slices,
                                    slices == 0 ? 1 : blocks, slices == 0 ? 8 : block_elems(c));
    b[ENGINE_LOGITS] = LESSON_BUFFER("logits", WIRE_OUT, STORAGE_F32, copies, steps, rows, vocab);
    b[ENGINE_REPORT] = (struct lesson_buffer){.name = "batched",
                                              .role = WIRE_OUT,
                                              .rank = 2,
                                              .extent = {steps, 1},
                                              .column = {"differs_from_alone"},
                                              .storage = STORAGE_I32};
    b[ENGINE_WORKSPACE] = LESSON_BUFFER("workspace", WIRE_WORKSPACE, STORAGE_F32, workspace / 4);
    b[ENGINE_WEIGHTS].align = b[ENGINE_CACHE].align = 16;
    return ENGINE_BUFFERS;
}

/** Fills in count values around @p middle; no values are drawn and thrown away. */
static void fill_part(struct rng *rng, float *to, size_t count, double middle, double deviation)
{
    rng_fill_normal(rng, to, count);
    for (size_t i = 0; i < count; i++) to[i] = (float)(middle + deviation * (double)to[i]);
}

/* The states are about 1, as fill_weights() makes them. The up projections are about 1 and all go into an
 * output with the same weight: so the errors of all gates add up. */
static void put_gates_of_5(const struct engine_config *c, const struct engine_layer *at, float *data)
{
    const size_t hidden = (size_t)c->hidden, inner = (size_t)c->intermediate;
    float *gate = data + at->gate_up, *up = gate + inner * hidden, *down = data + at->down;
    for (size_t i = 0; i < inner * hidden; i++) {
        gate[i] = 0.1f * gate[i] + 5.3f / (float)hidden;
        up[i] = 0.1f * up[i] + 1.0f / (float)hidden;
    }
    for (size_t i = 0; i < hidden * inner; i++)
        down[i] = i % inner > 0 ? down[i - 1] : down[i] / (float)(5.0 * sqrt((double)inner));
}

/* A token's query equals its key, and is the opposite of the other token's key, because half of the state
 * is (see fill_weights()). So the last token's score is 8 for tokens like it and -8 for all others,
 * at any position, since pairs that rotate by more than a little have weight 0. Values come from the other
 * half of the state, which is 0 in tokens like the last one. One K/V head. */
static void put_one_key(const struct engine_config *c, const struct engine_layer *at, struct rng *rng,
                        float *data)
{
    const size_t hidden = (size_t)c->hidden, dim = (size_t)c->head_dim, row = dim * hidden;
    const size_t q = engine_q_width(c) * hidden, fast = 3 * dim / 16 * hidden;
    float *keys = data + at->qkv + q;
    for (size_t i = 0; i < row; i++)
        if (i % (row / 2) < fast || i % hidden >= hidden / 2) keys[i] = 0.0f;
    for (size_t i = 0; i < q; i++) data[at->qkv + i] = keys[i % row];
    fill_part(rng, data + at->q_norm, 2 * dim, sqrt(8.0 / sqrt((double)dim)), 0.0);
    for (size_t i = 0; i < row; i++) keys[row + i] = i % hidden < hidden / 2 ? 0.0f : 200.0f * keys[row + i];
    for (size_t i = at->o; i < at->mlp_norm; i++) data[i] *= 1000.0f;
    for (size_t i = at->down; i < at->end; i++) data[i] = 0.0f;
}

/* In each eighth, which one of eight warps may add up, one element in five is large; the other squares are lost one by one. */
static void make_lag(float *state, size_t hidden)
{
    const size_t eighth = (hidden + 7) / 8;
    for (size_t i = 0; i < hidden; i++)
        if (i % eighth >= eighth / 5) state[i] = copysignf(0x1.3p-11f, state[i]);
}

/* Makes the second half of each of @p count runs of @p elems elements the same as the first. */
static void repeat_halves(float *data, size_t count, size_t elems)
{
    for (size_t i = 0; i < count * elems; i++)
        if (i % elems >= elems / 2) data[i] = data[i - elems / 2];
}

/* Makes inputs large, those of the second half of every @p elems the opposite of the first but for what they were. */
static void cancel_inputs(float *data, size_t count, size_t elems)
{
    for (size_t i = 0; i < count * elems; i++)
        data[i] = i % elems < elems / 2 ? 512.0f * data[i] : data[i] - data[i - elems / 2];
}

/* Whatever a matrix multiplies has two equal halves. */
static void cancel_layer(const struct engine_config *c, const struct engine_layer *at, float *data)
{
    const size_t hidden = (size_t)c->hidden, dim = (size_t)c->head_dim, inner = (size_t)c->intermediate;
    const size_t heads = (size_t)c->heads, kv_heads = (size_t)c->kv_heads;
    repeat_halves(data + at->input_norm, 1, hidden);
    repeat_halves(data + at->mlp_norm, 1, hidden);
    cancel_inputs(data + at->qkv, (heads + 2 * kv_heads) * dim, hidden);
    cancel_inputs(data + at->o, hidden * heads, dim);
    cancel_inputs(data + at->gate_up, 2 * inner, hidden);
    cancel_inputs(data + at->down, hidden, inner);
    repeat_halves(data + at->qkv + (heads + kv_heads) * dim * hidden, kv_heads, dim * hidden);
    repeat_halves(data + at->o, 1, hidden * heads * dim);
    repeat_halves(data + at->gate_up, 2, inner * hidden);
    repeat_halves(data + at->down, 1, hidden * inner);
}

static void fill_layer(const struct engine_config *c, const struct engine_layer *at,
                       enum distribution distribution, struct rng *rng, float *data)
{
    const size_t hidden = (size_t)c->hidden, dim = (size_t)c->head_dim, inner = (size_t)c->intermediate;
    const double root = sqrt((double)hidden), far = distribution == FAR ? 1e3 : 1.0;
    const double sharp = distribution == SHARP ? 8.0 : far;
    const double o = distribution == NO_ATTENTION || distribution == GATES_OF_5 ? 0.0 : 1.0;
    const double down = distribution == NO_MLP ? 0.0 : 1.0;
    fill_part(rng, data + at->input_norm, hidden, 1.0, 0.2);
    fill_part(rng, data + at->qkv, at->q_norm - at->qkv, 0.0, 1.0 / root);
    fill_part(rng, data + at->q_norm, dim, sharp, 0.2 * sharp);
    fill_part(rng, data + at->k_norm, dim, far, 0.2 * far);
    fill_part(rng, data + at->o, at->mlp_norm - at->o, 0.0, o / sqrt((double)engine_q_width(c)));
    fill_part(rng, data + at->mlp_norm, hidden, 1.0, 0.2);
    fill_part(rng, data + at->gate_up, at->down - at->gate_up, 0.0, 1.0 / root);
    fill_part(rng, data + at->down, at->end - at->down, 0.0, down / sqrt((double)inner));
    const size_t of_q_and_k = (engine_q_width(c) + engine_kv_width(c)) * hidden;
    for (size_t i = 0; i < inner * hidden && distribution == STEEP; i++) data[at->gate_up + i] *= 40.0f;
    for (size_t i = 0; i < of_q_and_k && distribution == FAINT; i++) data[at->qkv + i] *= 1e-3f;
    for (size_t i = 0; i < of_q_and_k && distribution == BROAD; i++) data[at->qkv + i] *= 5e4f;
    for (size_t i = at->o; i < at->mlp_norm && distribution == BROAD; i++) data[i] *= 5e4f;
    for (size_t i = at->down; i < at->end && distribution == BROAD; i++) data[i] *= 5e4f;
    for (size_t i = 0; i < 2 * inner * hidden && distribution == BROAD; i++)
        data[at->gate_up + i] *= (i / hidden + i / (inner * hidden)) % 2 == 0 ? 5e4f : 1e-3f;
    if (distribution == CANCELLED) cancel_layer(c, at, data);
    if (distribution == GATES_OF_5) put_gates_of_5(c, at, data);
    if (distribution == ONE_KEY) put_one_key(c, at, rng, data);
}

static void fill_weights(const struct lesson_case *item, size_t elems, struct rng *rng, float *data)
{
    const struct engine_plan p = engine_plan_of(item->value);
    const struct engine_config *c = &p.config;
    const enum distribution distribution = (enum distribution)item->distribution;
    const size_t hidden = (size_t)c->hidden, vocab = (size_t)c->vocab, embedding = vocab * hidden;
    const double size = distribution == FAINT   ? 1e-3
                        : distribution == LARGE ? 1e3
                        : distribution == ALIKE ? 4e3
                                                : 1.0;
    for (size_t i = 0; i < elems; i++) data[i] = 0.0f; /* unused elements that keep later matrices aligned */
    if (distribution == GATES_OF_5)
        fill_part(rng, data, embedding, 1.0, 0.2);
    else
        fill_part(rng, data, embedding, 0.0, size);
    const struct rng of_first = *rng;
    for (int i = 0; i < c->layers; i++) {
        const struct engine_layer at = engine_layer_at(c, i);
        if (distribution == ALIKE) *rng = of_first;
        fill_layer(c, &at, distribution, rng, data);
    }
    fill_part(rng, data + engine_last_norm_at(c), hidden, 1.0, 0.2);
    if (!c->tied) fill_part(rng, data + engine_head_at(c), embedding, 0.0, 1.0 / sqrt((double)hidden));
    for (size_t i = 0; i < hidden / 2 && distribution == ONE_KEY; i++) {
        data[i] = -data[hidden + i];
        data[3 * hidden / 2 + i] = 0.0f;
    }
    if (distribution == CANCELLED) repeat_halves(data, vocab, hidden);
    for (size_t i = 0; i < vocab && distribution == LAGGING; i++) make_lag(data + i * hidden, hidden);
    for (size_t i = 0; i < embedding && distribution == UNEVEN; i += 7) data[i] *= 30.0f;
    for (size_t i = 0; i < hidden && distribution == NAN_TOKEN; i++) data[STRANGE * hidden + i] = NAN;
}

/** The token of request @p j at @p position, in any step. */
static int token_of(const struct lesson_case *item, const struct engine_plan *p, int j, int position)
{
    const uint64_t hash = rng_mix(item->seed + 977, (uint64_t)j * 100003u + (uint64_t)position);
    int token = (int)(hash % (uint64_t)p->config.vocab);
    const int last =
        engine_text(p, j) - 1; /* tokens like the last: few of the first half of keys, half of the others */
    if (item->distribution == ONE_KEY)
        return position == 0 || position == last || (position > last / 2 && position % 16 < 8);
    if (item->distribution != NAN_TOKEN) return token;
    if (j == 0 && position == 2) return STRANGE;
    return token == STRANGE ? token + 1 : token;
}

/** Block @p index of request @p j, if none were spread; blocks are scattered over the cache. */
static int block_of(const struct engine_plan *p, int j, int index)
{
    const int64_t blocks = p->config.num_blocks, at = j * blocks_needed(p) + index;
    return (int)((at * case_table_stride(blocks) + 1) % blocks);
}

/** The tables as each step sees them: entries that no row needs yet are -1. */
static void fill_tables(const struct engine_plan *p, float *data)
{
    for (int step = 0; step < p->steps; step++)
        for (int j = 0; j < p->requests; j++) {
            float *table =
                data + ((size_t)step * (size_t)p->requests + (size_t)j) * (size_t)p->config.max_blocks;
            int first = 0, count = engine_piece(p, j, step, &first), tokens = count > 0 ? first + count : 0;
            for (int i = 0; i < p->config.max_blocks; i++)
                table[i] = i * p->config.block_size < tokens ? (float)(p->spread * block_of(p, j, i)) : -1.0f;
        }
}

/** What the arrays hold of a row that pads: a negative position, a negative number for a wanted row, and any token and request, of which many exist. */
static int pad(const struct lesson_case *item, int index, int requests, int number)
{
    static const int positions[] = {-1, -2, -17, INT_MIN}, tokens[] = {0, -1, 1, 1 << 30};
    const int other = 1 << 20, which = (int)(rng_mix(item->seed + 978, (uint64_t)number) % 4);
    if (index == ENGINE_POSITIONS || index == ENGINE_WANTED) return positions[which];
    return index == ENGINE_TOKENS ? tokens[(which + number) % 4]
           : which == 3           ? other
                                  : (which + number) % requests;
}

static void fill_rows(const struct lesson_case *item, int index, float *data)
{
    const struct engine_plan p = engine_plan_of(item->value);
    for (int step = 0; step < p.steps; step++)
        for (int row = 0; row < p.config.max_rows; row++) {
            int value = pad(item, index, p.requests, step * p.config.max_rows + row), request, position;
            if (index == ENGINE_WANTED && row < engine_wanted(&p, step))
                value = engine_wanted_row(&p, step, row);
            if (index != ENGINE_WANTED && row < engine_rows(&p, step)) {
                engine_row(&p, step, row, &request, &position);
                value = index == ENGINE_TOKENS      ? token_of(item, &p, request, position)
                        : index == ENGINE_POSITIONS ? position
                                                    : request;
            }
            data[(size_t)step * (size_t)p.config.max_rows + (size_t)row] = (float)value;
        }
    for (int row = 0; row < p.config.max_rows && index == ENGINE_WANTED; row++) /* of a row alone */
        data[(size_t)p.steps * (size_t)p.config.max_rows + (size_t)row] = 0.0f;
}

/** Where position @p t of request @p j begins, in elements of the keys or of the values of a layer. */
static size_t place_of(const struct engine_plan *p, int j, int t)
{
    const int size = p->config.block_size;
    return ((size_t)block_of(p, j, t / size) * (size_t)size + (size_t)(t % size)) *
           engine_kv_width(&p->config);
}

/* The second half of the keys is the first one again, and gets the same weights; its values are the opposite but for what they were. */
static void cancel_keys(const struct engine_plan *p, int j, int are_values, float *slice)
{
    const int half = engine_given(p, j) / 2;
    const size_t width = engine_kv_width(&p->config);
    for (int t = 0; t < half; t++) {
        float *first = slice + place_of(p, j, t), *second = slice + place_of(p, j, t + half);
        for (size_t i = 0; i < width; i++) {
            if (are_values) first[i] *= 512.0f;
            second[i] = are_values ? second[i] - first[i] : first[i];
        }
    }
}

/** What nobody has appended is NaN; keys are as large as a norm with gain 1 makes them. */
static void fill_cache(const struct lesson_case *item, const struct engine_plan *p, size_t elems,
                       struct rng *rng, float *data)
{
    const size_t slice = engine_slice_elems(&p->config), width = engine_kv_width(&p->config);
    const size_t slices = 2 * (size_t)p->config.layers, copy = slices * slice;
    for (size_t i = 0; i < elems; i++) data[i] = NAN;
    for (size_t s = 0; s < slices; s++)
        for (int j = 0; j < p->requests; j++)
            for (int t = 0; t < engine_given(p, j); t++)
                rng_fill_normal(rng, data + s * slice + place_of(p, j, t), width);
    for (size_t s = 0; s < slices && item->distribution == CANCELLED; s++)
        for (int j = 0; j < p->requests; j++) cancel_keys(p, j, s % 2 > 0, data + s * slice);
    if (p->manner & ENGINE_ALONE) memcpy(data + copy, data, copy * sizeof *data);
}

static void fill(const struct lesson_case *item, int index, size_t elems, struct rng *rng, float *data)
{
    const struct engine_plan p = engine_plan_of(item->value);
    if (index == ENGINE_WEIGHTS)
        fill_weights(item, elems, rng, data);
    else if (index == ENGINE_TABLES)
        fill_tables(&p, data);
    else if (index == ENGINE_CACHE)
        fill_cache(item, &p, elems, rng, data);
    else
        fill_rows(item, index, data);
}

/* ---- the oracle ---------------------------------------------------------------------------------------- */

static size_t units(const struct lesson_case *item)
{
    (void)item;
    return 1;
}

static size_t unit_elems(const struct lesson_case *item)
{
    struct lesson_buffer b[ENGINE_BUFFERS];
    buffers(item, b);
    return lesson_elems(&b[ENGINE_LOGITS]) + lesson_elems(&b[ENGINE_CACHE]) + lesson_elems(&b[ENGINE_REPORT]);
}

/** Shared by the threads that compute requests. */
struct following {
    const struct lesson_case *item;
    struct engine_plan plan;
    const float *weights, *cache;
    struct ref_qwen3_sizes sizes;
    struct ref_qwen3_weights of_model;
    const struct lesson_span *span, *cached;
};

/** Eight standard deviations, see qwen3.h and bound.h, and @p tiny. */
static void put(const struct lesson_span *span, size_t at, double x, double deviation, double tiny)
{
    span->expected[at] = span->plain[at] = x;
    span->bound[at] = span->floor[at] = isfinite(x) ? BOUND_C * deviation + tiny : 0.0;
}

/** The logits of a request are stored at the places of its rows. */
static void put_logits(const struct following *f, int j, const double *logits, const double *deviation)
{
    const struct engine_plan *p = &f->plan;
    const size_t vocab = (size_t)p->config.vocab, given = (size_t)engine_given(p, j);
    for (int step = 0; step < p->steps; step++)
        for (int i = 0; i < engine_wanted(p, step); i++) {
            int request, position;
            engine_row(p, step, engine_wanted_row(p, step, i), &request, &position);
            if (request != j) continue;
            const size_t to = ((size_t)step * (size_t)p->config.max_rows + (size_t)i) * vocab;
            const size_t from = ((size_t)position - given) * vocab;
            for (size_t k = 0; k < vocab; k++)
                put(f->span, to + k, logits[from + k], deviation[from + k], BOUND_TINY);
        }
}

/** The keys and values that a request's rows append. */
static void put_appended(const struct following *f, int j, size_t count, const struct ref_qwen3_cache *cache)
{
    const struct engine_plan *p = &f->plan;
    const size_t slice = engine_slice_elems(&p->config), width = engine_kv_width(&p->config);
    for (size_t s = 0; s < 2 * (size_t)p->config.layers; s++)
        for (size_t t = 0; t < count; t++)
            for (size_t i = 0, from = (s * count + t) * width; i < width; i++)
                put(f->cached, s * slice + place_of(p, j, (int)(cache->given + t)) + i,
                    cache->added[from + i], cache->added_deviation[from + i], BOUND_TINY_F16);
}

/** The keys and values of a request that the cache has from the beginning, in a row for each slice. */
static void gather_given(const struct following *f, int j, float *to)
{
    const struct engine_plan *p = &f->plan;
    const size_t slice = engine_slice_elems(&p->config), width = engine_kv_width(&p->config);
    for (size_t s = 0; s < 2 * (size_t)p->config.layers; s++)
        for (int t = 0; t < engine_given(p, j); t++, to += width)
            memcpy(to, f->cache + s * slice + place_of(p, j, t), width * sizeof *to);
}

/* Computations with random roundings, for a text of @p count tokens: none where they would take long.
 * There an error must have so many sources that no single one matters, so no case of that size is SHARP:
 * where two of 2,100 keys shared the weight, right kernels were off by 1.1 times the bound at one element
 * of 88,074 and one seed of 20. */
static int drawn_for(const struct ref_qwen3_sizes *s, size_t count)
{
    const double width = (double)s->heads * s->head_dim, of_layer = 2.0 * width + 3.0 * s->intermediate;
    const double of_token = s->layers * (of_layer * s->hidden + width * (double)count);
    return (double)count * (of_token + (double)s->vocab * s->hidden) < MOST_DRAWN ? DRAWN : 0;
}

static void follow(void *context, size_t first, size_t last)
{
    const struct following *f = context;
    for (size_t j = first; j < last; j++) {
        const size_t given = (size_t)engine_given(&f->plan, (int)j);
        const size_t count = (size_t)engine_text(&f->plan, (int)j) - given,
                     elems = count * (size_t)f->sizes.vocab;
        const size_t of_token = 2 * (size_t)f->sizes.layers * engine_kv_width(&f->plan.config);
        const struct ref_qwen3_rounding rounding = {.stored = BOUND_U_F16,
                                                    .sums = BOUND_U_F32,
                                                    .scores = BOUND_U_F32,
                                                    .drawn = drawn_for(&f->sizes, count)};
        double *memory =
            malloc((2 * elems + 2 * count * of_token + ref_qwen3_scratch_elems(&f->sizes, count, given)) *
                   sizeof *memory);
        float *before = malloc((given * of_token + 1) * sizeof *before);
        int *tokens = malloc(count * sizeof *tokens);
        if (memory == NULL || before == NULL || tokens == NULL) abort();
        const struct ref_qwen3_cache cache = {given, before, memory + 2 * elems,
                                              memory + 2 * elems + count * of_token};
        for (size_t t = 0; t < count; t++) tokens[t] = token_of(f->item, &f->plan, (int)j, (int)(given + t));
        gather_given(f, (int)j, before);
        ref_qwen3_logits(&f->sizes, &f->of_model, tokens, count, &rounding, &cache, memory, memory + elems,
                         memory + 2 * elems + 2 * count * of_token);
        put_logits(f, (int)j, memory, memory + elems);
        put_appended(f, (int)j, count, &cache);
        free(tokens);
        free(before);
        free(memory);
    }
}

static void find_weights(struct following *f, struct ref_qwen3_layer *layers)
{
    const struct engine_config *c = &f->plan.config;
    const size_t hidden = (size_t)c->hidden, q = engine_q_width(c) * hidden, kv = engine_kv_width(c) * hidden;
    const float *w = f->weights;
    for (int i = 0; i < c->layers; i++) {
        const struct engine_layer at = engine_layer_at(c, i);
        const int attention = !(c->elsewhere & ENGINE_ATTENTION_ELSEWHERE), /* products elsewhere give 0 */
            mlp = !(c->elsewhere & ENGINE_MLP_ELSEWHERE);
        layers[i] =
            (struct ref_qwen3_layer){.input_norm = w + at.input_norm,
                                     .q = attention ? w + at.qkv : NULL,
                                     .k = attention ? w + at.qkv + q : NULL,
                                     .v = attention ? w + at.qkv + q + kv : NULL,
                                     .q_norm = w + at.q_norm,
                                     .k_norm = w + at.k_norm,
                                     .o = attention ? w + at.o : NULL,
                                     .mlp_norm = w + at.mlp_norm,
                                     .gate = mlp ? w + at.gate_up : NULL,
                                     .up = mlp ? w + at.gate_up + (size_t)c->intermediate * hidden : NULL,
                                     .down = mlp ? w + at.down : NULL};
    }
    f->sizes = (struct ref_qwen3_sizes){.layers = c->layers,
                                        .hidden = c->hidden,
                                        .heads = c->heads,
                                        .kv_heads = c->kv_heads,
                                        .head_dim = c->head_dim,
                                        .intermediate = c->intermediate,
                                        .vocab = c->vocab,
                                        .epsilon = (double)c->epsilon,
                                        .rope_base = (double)c->rope_base};
    f->of_model = (struct ref_qwen3_weights){.embedding = w,
                                             .last_norm = w + engine_last_norm_at(c),
                                             .head = w + engine_head_at(c),
                                             .layers = layers};
}

/** The second of two copies. */
static struct lesson_span second_of(struct lesson_span span)
{
    span.count /= 2;
    span.expected += span.count, span.plain += span.count;
    span.bound += span.count, span.floor += span.count;
    return span;
}

/** What one copy of an output is holds for the other, too. */
static void repeat(const struct lesson_span *from, const struct lesson_span *to)
{
    const size_t bytes = to->count * sizeof *to->expected;
    memcpy(to->expected, from->expected, bytes);
    memcpy(to->plain, from->plain, bytes);
    memcpy(to->bound, from->bound, bytes);
    memcpy(to->floor, from->floor, bytes);
}

/** The rows alone, which have a cache of their own: it may hold NaN elsewhere, and where any comes out @p differs may say so, or not. */
static void follow_alone(struct following f, struct lesson_span *differs)
{
    const struct lesson_span alone = second_of(*f.span), own_cache = second_of(*f.cached);
    const size_t elems = own_cache.count;
    const double *batched = f.span->expected;
    if (memcmp(f.cache, f.cache + elems, elems * sizeof *f.cache) == 0) {
        repeat(f.span, &alone);
        repeat(f.cached, &own_cache);
    } else {
        f.cache += elems, f.span = &alone, f.cached = &own_cache;
        parallel_for((size_t)f.plan.requests, 1, follow, &f);
    }
    for (size_t i = 0, of_step = alone.count / differs->count; i < alone.count; i++)
        if (isnan(batched[i]) || isnan(alone.expected[i]))
            differs->bound[i / of_step] = differs->floor[i / of_step] = 100.0;
}

static void expect(const struct lesson_case *item, const float *const *data, size_t unit,
                   struct lesson_expectation *e)
{
    struct following f = {.item = item,
                          .plan = engine_plan_of(item->value),
                          .weights = data[ENGINE_WEIGHTS],
                          .cache = data[ENGINE_CACHE]};
    const struct engine_config *c = &f.plan.config;
    struct ref_qwen3_layer *layers = calloc((size_t)c->layers + 1, sizeof *layers);
    struct lesson_buffer b[ENGINE_BUFFERS];
    if (layers == NULL) abort();
    (void)unit;
    buffers(item, b);
    e->span_count = 3;
    for (int s = 0; s < 3; s++) {
        struct lesson_span *span = &e->span[s];
        span->buffer = ENGINE_LOGITS + s;
        span->first = 0;
        span->count = lesson_elems(&b[span->buffer]);
        for (size_t i = 0; i < span->count; i++) {
            span->expected[i] = span->plain[i] = span->buffer == ENGINE_CACHE    ? (double)f.cache[i]
                                                 : span->buffer == ENGINE_LOGITS ? ENGINE_UNASKED
                                                                                 : 0.0;
            span->bound[i] = span->floor[i] = 0.0;
        }
    }
    f.span = &e->span[0];
    f.cached = &e->span[1];
    find_weights(&f, layers);
    parallel_for((size_t)f.plan.requests, 1, follow, &f);
    if (f.plan.manner & ENGINE_ALONE) follow_alone(f, &e->span[2]);
    free(layers);
}

/* ---- words --------------------------------------------------------------------------------------------- */

enum {
    TILE_KEYS = 128,
    APPENDING_ROWS = 2,  /* up to this many rows per step, launch_few() also appends to the cache */
    FROM_MANY_ROWS = 16, /* up to this many rows per step, launch_many() has nothing to do */
    LITTLE_SHARED = 86,  /* capability of a device whose blocks have 99 KB of shared memory */
    LONG_SUM = 1024,     /* number of inputs: eight slices of four spans of 32 */
};

static int guess(const struct lesson_case *item, const float *const *data, int index, int buffer, size_t at,
                 struct lesson_guess *guess)
{
    if (buffer == ENGINE_LOGITS) /* behind that of the report */
        return index > 0 ? engine_guess(item, data, index - 1, at, guess) : 0;
    if (buffer != ENGINE_REPORT || index > 0) return -1;
    const struct engine_plan p = engine_plan_of(item->value);
    guess->value = 1.0;
    guess->cause = RECORD_CAUSE_LOGITS;
    snprintf(guess->words, sizeof guess->words,
             "in these steps logits of a batch differ, bit for bit, from those of the same tokens alone: the "
             "order of a sum depends on the number of rows, on the row or on the pieces of the prompt%s",
             p.config.max_rows > FROM_MANY_ROWS
                 ? "; for more than 16 rows launch_many() adds slice after slice: of S spans slice w is w S "
                   "/ 8 .. (w + 1) S / 8 - 1, and the sum of two accumulators, one of the first instruction "
                   "of every span, one of the second"
                 : "");
    return 1;
}

static const char *stage(const struct lesson_case *item, unsigned compared, unsigned wrong)
{
    (void)item;
    if ((compared & ~wrong) >> ENGINE_LOGITS & 1 && wrong >> ENGINE_CACHE & 1)
        return "the logits are right: the keys and values that are stored have other values, or another "
               "order or place, than "
               "the contract says, or a row that pads has stored some";
    return NULL;
}

/** 1 if a warp's slice of a sum is longer than the four spans that it stages at once. */
static int long_slices(const struct engine_config *c)
{
    return c->hidden > LONG_SUM || c->intermediate > LONG_SUM;
}

static int most_keys(const struct engine_plan *p)
{
    return engine_text(p, p->growth > 0 ? p->requests - 1 : 0);
}

static int trait(const struct lesson_case *item, int index, const char **message)
{
    const struct engine_plan p = engine_plan_of(item->value);
    const struct engine_config *c = &p.config;
    const struct trait traits[] = {
        {(p.manner & (ENGINE_GRAPH | ENGINE_KEPT)) != 0,
         "only replays fail: what differs from step to step is read from device memory, by the kernels; rows "
         "whose position is negative pad"},
        {(p.manner & (ENGINE_FEW | ENGINE_LAST)) != 0,
         "only steps that want the logits of some rows fail: wanted_rows says of which, in which order"},
        {(p.manner & ENGINE_FEW) != 0, "only steps that want the logits of every second row, the last first, "
                                       "fail: wanted_rows says of which"},
        {c->layers > 1, "only several layers fail: where do the weights, keys and values of a layer begin?"},
        {!c->tied, "only a head of its own fails: where does it lie?"},
        {c->heads > c->kv_heads, "only groups of query heads fail: which K/V head does a query head read?"},
        {c->max_rows > 8, "only more than 8 rows in a step fail: are there blocks for every tile of rows?"},
        {c->max_rows > FROM_MANY_ROWS, "only more than 16 rows in a step fail, those of launch_many(): what "
                                       "has normed to be, and in which order does it add?"},
        {p.requests > 1, "only several requests fail: each row has its own request, table and position"},
        {p.steps > 1,
         "only texts of several steps fail: are keys and values of earlier steps where the table says?"},
        {most_keys(&p) > TILE_KEYS, "only more keys than a tile has fail"},
        {long_slices(c),
         "only slices of several chunks fail: inputs, gains, squares and slots of the later ones"},
        {c->hidden % 256 != 0,
         "only inputs that are no multiple of 256 fail: a warp's slice may be shorter than another's"},
    };
    return trait_at(traits, sizeof traits / sizeof traits[0], p.mistake == ENGINE_RIGHT, index, message);
}

enum { MOST_OF_HALF = 65504 };

static const char *purpose(const struct lesson_case *item)
{
    static const char *const of_data[DISTRIBUTIONS] = {
        [NO_ATTENTION] = "W_o is 0, so attention adds nothing: embedding, MLP and logits are what is tried",
        [NO_MLP] = "W_down is 0, so the MLP adds nothing: embedding, attention and logits are what is tried",
        [SHARP] = "a few keys have nearly all the weight",
        [FAINT] = "states are as small as the root of epsilon, and so are q and k before their norms",
        [STEEP] = "gates go to 90 and beyond, where exp is infinite: silu of such a gate is the gate, or 0",
        [FAR] = "a query that sees one key may have the score -1e6, and that key has all the weight: a "
                "maximum that begins at a number is above it, and so is a number for the score of a key that "
                "is not there",
        [LARGE] = "the embedding is a thousand times as large as usual",
        [UNEVEN] = "some elements of a state are much larger than the others",
        [BROAD] =
            "q and k before their norms, silu of some gates, other up projections and what a layer adds "
            "are beyond 65,504, which is as far as a half goes",
        [CANCELLED] =
            "little remains of every sum, so that another order of its terms shows although it is rounded",
        [GATES_OF_5] = "gates are about 5, where silu of a gate is 0.7% less than the gate",
        [ONE_KEY] = "keys with nearly all the weight have values of 0: what is left comes from 200 weights "
                    "of exp(-16), which are small and not 0",
        [ALIKE] = "a state is thousands of times as large as what a layer adds, and 32 layers add the same",
        [NAN_TOKEN] = "a token of request 0 is NaN: its later logits are NaN, those of the others are not"};
    const struct engine_plan p = engine_plan_of(item->value);
    if (item->capability == LITTLE_SHARED)
        return "the device is an sm_86, where a block has no more than 99 KB of shared memory: too few for "
               "all slots of a single row, see single_row_fits(); every token is computed alone, too";
    if (strcmp(item->name, "step/few_past_128_keys") == 0)
        return "steps of more than 128 rows, then of five, three and two with two tiles of keys: several "
               "blocks for each row";
    if (item->group == GROUP_EDGES && p.config.intermediate > LONG_SUM)
        return "a block has several tiles of outputs of gate and up, and a warp several chunks of inputs of "
               "W_down";
    if (item->distribution == LAGGING)
        return "states begin large, and the squares of what follows are lost one by one beside their sum: "
               "another order of the norm's terms shows";
    if (item->group == GROUP_EDGES && p.config.hidden > LONG_SUM)
        return "a warp has several chunks of inputs, also of the norm";
    if (engine_text(&p, 0) > MOST_OF_HALF)
        return "positions are beyond 65,504, which is as far as a half goes: angles are computed in float";
    if (of_data[item->distribution] != NULL) return of_data[item->distribution];
    if (p.config.heads >= HEADS_260.heads)
        return "more heads than a block has threads, each with keys for several blocks: what is kept of a "
               "head must begin at 0 for all";
    if (most_keys(&p) > TILE_KEYS)
        return "more keys than a tile has: the sums of one tile are rescaled when the next brings a new "
               "maximum, and those of several blocks are merged";
    if (p.manner & ENGINE_GRAPH)
        return "one graph, captured once, is replayed for every step; rows to spare pad";
    if (item->repeat == 1 && (p.config.block_size & (p.config.block_size - 1)))
        return "a block has 3 positions, which is no power of two: position / block_size and position % "
               "block_size, not a shift and a "
               "mask";
    if (p.manner & ENGINE_ALONE)
        return "every token is computed once more in a step of its own, and must get the same bits";
    return p.config.layers == 0 ? "no layers: embedding, norm and logits" : NULL;
}

static void cost(const struct lesson_case *item, struct lesson_cost *cost)
{
    const struct engine_plan p = engine_plan_of(item->value);
    const double hidden = p.config.hidden, embedding = p.config.vocab * hidden;
    const int graph = (p.manner & (ENGINE_GRAPH | ENGINE_KEPT)) != 0;
    double weights = (double)engine_weight_elems(&p.config), rows = 0.0, texts = 0.0, kernels = 0.0;
    for (int step = 0; step < p.steps; step++) {
        rows += engine_rows(&p, step);
        const int launched = graph ? p.config.max_rows : engine_rows(&p, step);
        kernels += 2.0 + (launched <= APPENDING_ROWS ? 5.0 : 6.0) * p.config.layers;
    }
    for (int j = 0; j < p.requests; j++) texts += engine_text(&p, j);
    if (!p.config.tied) weights -= embedding; /* steps read one row of it per token, not all of it */
    *cost = (struct lesson_cost){.flop = 2.0 * weights * rows,
                                 .min_bytes = 2.0 * weights * p.steps,
                                 .oracle_ops = 8.0 * weights * texts,
                                 .tensor_cores = 1,
                                 .kernels = kernels};
}

static size_t workspace_bytes(const struct lesson_case *item)
{
    (void)item;
    return SIZE_MAX;
}

static void describe(const struct lesson_case *item, char *text, size_t size)
{
    const struct engine_plan p = engine_plan_of(item->value);
    const struct engine_config *c = &p.config;
    snprintf(text, size,
             "steps %d, rows up to %d, requests %d, layers %d, hidden %d, heads %d/%d of %d, intermediate "
             "%d, vocab %d, block size %d",
             p.steps, c->max_rows, p.requests, c->layers, c->hidden, c->heads, c->kv_heads, c->head_dim,
             c->intermediate, c->vocab, c->block_size);
}

const struct lesson lesson_17_decode_engine = {
#include "checker/cases/described.h"
    LESSON_CALLBACKS(),
    .distributions = DISTRIBUTIONS,
    .nan = "the cache is NaN where no row has appended, and the workspace when a step begins: are keys and "
           "values stored, and read, at a row's own position, by its request's table? Is all that is read of "
           "the workspace written in the same step?",
    .axes = {"runs (0: in the batch, 1: each token alone)", "steps", "rows of logits", "words"},
    .stage = stage,
    .unasked = ENGINE_UNASKED,
    .left_out = "logits of a row that is not asked for, where wanted_rows is negative or ends",
};
