/**
 * @file 19_several_gpus.c
 * @brief Lesson 19: a layer of a decoder and attention over one sequence, shared out to ranks.
 *
 * The oracles know of no ranks: they compute the whole layer, and attention of the whole sequence. The
 * checker compares the state of each rank with the same numbers, and the amount that each rank sent with what
 * a ring needs. See ranks_items.h for how an item is shared out.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "checker/cases/attention_cases.h"
#include "checker/cases/case_table.h"
#include "checker/cases/lesson.h"
#include "checker/numbers/bound.h"
#include "protocol/ranks_items.h"
#include "qwen3.h"

enum { DRAWN = 16 }; /* computations with random roundings, see qwen3.h */

/** How the weights of a layer are distributed, if not normal. */
enum layer_data {
    LAYER_NORMAL,
    LAYER_NO_MLP,       /* W_down is 0 */
    LAYER_NO_ATTENTION, /* W_o is 0 */
    LAYER_SHARP,        /* queries eight times as large: a few keys have all the weight */
    LAYER_STEEP,        /* gates are forty times as large: exp of some is infinite */
    LAYER_LARGE,        /* x a thousand times as large */
    LAYER_SMALL,        /* x a millionth of that */
    LAYER_FAR_BELOW,    /* every score is about -15,000 */
    LAYER_LOWEST,       /* every score is below -1e36 */
    LAYER_FAINT,        /* one key, whose values are 0, takes nearly all the weight */
    LAYER_DATA
};

/** A case of part "tensor_parallel". */
static const struct layer_row {
    const char *name;
    enum case_group group;
    unsigned devices;
    int ranks, rows, width, heads, dim, inner, position, room;
    unsigned manner;
    enum layer_data data;
} LAYERS[] = {
    /* clang-format off */
    /* name                 group             devices ranks rows width heads  dim inner  pos. room manner          data */
    {"one_rank",            GROUP_BASIC,      ON_ANY,   1,   2,   64,    4,   16,   96,   5,    8, 0,              LAYER_NORMAL},
    {"one_rank_no_attention",GROUP_BASIC,     ON_ANY,   1,   2,   64,    4,   16,   96,   5,    8, 0,              LAYER_NO_ATTENTION},
    {"two_ranks",           GROUP_BASIC,      ON_ANY,   2,   2,   64,    4,   16,   96,   5,    8, 0,              LAYER_NORMAL},
    {"no_mlp",              GROUP_BASIC,      ON_ANY,   2,   2,   64,    4,   16,   96,   5,    8, 0,              LAYER_NO_MLP},
    {"no_attention",        GROUP_BASIC,      ON_ANY,   2,   2,   64,    4,   16,   96,   5,    8, 0,              LAYER_NO_ATTENTION},
    {"four_ranks",          GROUP_BASIC,      ON_ANY,   4,   2,   64,    8,   16,   96,   5,    8, 0,              LAYER_NORMAL},
    {"eight_ranks",         GROUP_BASIC,      ON_ANY,   8,   2,   64,    8,   16,   96,   5,    8, 0,              LAYER_NORMAL},

    {"one_rank_heads_3",    GROUP_EDGES,      ON_ANY,   1,   1,   40,    3,    8,   20,   4,    6, 0,              LAYER_NORMAL},
    {"no_mlp_4_ranks",      GROUP_EDGES,      ON_ANY,   4,   1,   32,    4,    8,   16,   4,    6, 0,              LAYER_NO_MLP},
    {"no_attention_4_ranks",GROUP_EDGES,      ON_ANY,   4,   1,   32,    4,    8,   16,   4,    6, 0,              LAYER_NO_ATTENTION},
    {"first_token",         GROUP_EDGES,      ON_ANY,   2,   1,   32,    2,   32,   32,   0,    1, 0,              LAYER_NORMAL},
    {"cache_full",          GROUP_EDGES,      ON_ANY,   4,   3,   32,    4,   32,   32,  12,   13, 0,              LAYER_NORMAL},
    {"a_head_per_rank",     GROUP_EDGES,      ON_ANY,   8,   1,   32,    8,    4,   32,   3,    5, 0,              LAYER_NORMAL},
    {"heads_of_4",          GROUP_EDGES,      ON_ANY,   2,   2,   40,    6,    4,   24,   7,    9, 0,              LAYER_NORMAL},
    {"heads_of_128",        GROUP_EDGES,      ON_ANY,   2,   1,   32,    2,  128,   32,   9,   16, 0,              LAYER_NORMAL},
    {"heads_of_96",         GROUP_EDGES,      ON_ANY,   1,   1,   32,    2,   96,   32,   9,   16, 0,              LAYER_NORMAL},
    {"heads_of_36",         GROUP_EDGES,      ON_ANY,   4,   1,   32,   12,   36,   48,   9,   16, 0,              LAYER_NORMAL},
    {"width_200",           GROUP_EDGES,      ON_ANY,   4,   2,  200,    4,   16,  272,   4,    5, 0,              LAYER_NORMAL},
    {"rows_33",             GROUP_EDGES,      ON_ANY,   2,  33,   32,    2,   16,   32,   3,    4, 0,              LAYER_NORMAL},
    {"keys_131",            GROUP_EDGES,      ON_ANY,   2,   1,   32,    2,   16,   32, 130,  140, 0,              LAYER_NORMAL},
    {"keys_1101",           GROUP_EDGES,      ON_ANY,   2,   2,   32,    2,   16,   32,1100, 1102, 0,              LAYER_NORMAL},
    {"one_rank_keys_1101",  GROUP_EDGES,      ON_ANY,   1,   2,   32,    2,   16,   96,1100, 1102, 0,              LAYER_NORMAL},
    {"one_rank_keys_1601",  GROUP_EDGES,      ON_ANY,   1,   1,   32,    2,   16,   96,1600, 1602, 0,              LAYER_NORMAL},
    {"width_65540",         GROUP_EDGES,      ON_ANY,   2,   1,65540,    2,    4,    8,   1,    2, 0,              LAYER_NORMAL},
    {"ranks_reversed",      GROUP_EDGES,      ON_ANY,   4,   2,   32,    4,   16,   48,   5,    7, RANKS_REVERSED, LAYER_NORMAL},
    {"ranks_apart",         GROUP_EDGES,      ON_SIMT,  4,   3,   36,   16,   12,   80,   5,    7, RANKS_APART,    LAYER_NORMAL},
    {"far_cache",           GROUP_EDGES,      ON_SIMT,  1,   2,   32,    1,   16,   32,   0,    1, RANKS_FAR,      LAYER_NORMAL},

    {"sharp",               GROUP_NUMERICS,   ON_ANY,   4,   2,   64,    4,   16,   64,  20,   24, 0,              LAYER_SHARP},
    {"large",               GROUP_NUMERICS,   ON_ANY,   4,   2,   64,    4,   16,   64,  20,   24, 0,              LAYER_LARGE},
    {"small",               GROUP_NUMERICS,   ON_ANY,   4,   2,   64,    4,   16,   64,  20,   24, 0,              LAYER_SMALL},

    {"steep",               GROUP_NUMERICS,   ON_ANY,   2,   2,   64,    4,   16,   64,  20,   24, 0,              LAYER_STEEP},
    {"scores_below",        GROUP_NUMERICS,   ON_ANY,   4,   2,   64,    4,   16,   64,  20,   24, 0,              LAYER_FAR_BELOW},
    {"scores_below_1101",   GROUP_NUMERICS,   ON_ANY,   2,   1,   32,    2,   16,   32,1100, 1102, 0,              LAYER_FAR_BELOW},
    {"scores_lowest",       GROUP_NUMERICS,   ON_ANY,   2,   1,   32,    2,   16,   32, 300,  302, 0,              LAYER_LOWEST},
    {"faint_weights",       GROUP_NUMERICS,   ON_ANY,   2,   2,   64,    4,   16,   64,  20,   24, 0,              LAYER_FAINT},
    {"faint_weights_1101",  GROUP_NUMERICS,   ON_ANY,   1,   1,   32,    2,   16,   32,1100, 1102, 0,              LAYER_FAINT},

    {"property_random",     GROUP_PROPERTIES, ON_ANY,   2,   1,   32,    2,    8,   32,   1,    2, 0,              LAYER_NORMAL},

    {"decode_small",        GROUP_SPEED,      ON_ANY,   2,   1,  256,    4,   64,  768,  63,   64, RANKS_KEPT,     LAYER_NORMAL},
    {"decode_2048",         GROUP_SPEED,      ON_GPU,   8,   1, 2048,   16,  128, 8192, 511, 1024, RANKS_KEPT,     LAYER_NORMAL},
    /* clang-format on */
};

/** A case of part "ring". */
static const struct ring_row {
    const char *name;
    enum case_group group;
    unsigned devices;
    int ranks, heads, part, dim, causal;
    double scale;
    unsigned manner;
    enum attention_distribution data;
} RINGS[] = {
    /* clang-format off */
    /* name                 group             devices ranks heads part  dim causal scale manner          data */
    {"one_rank",            GROUP_BASIC,      ON_ANY,   1,   2,   12,   16, 0,     0,   0,              DIST_NORMAL},
    {"one_rank_causal",     GROUP_BASIC,      ON_ANY,   1,   2,   12,   16, 1,     0,   0,              DIST_NORMAL},
    {"two_ranks",           GROUP_BASIC,      ON_ANY,   2,   2,    7,   16, 0,     0,   0,              DIST_NORMAL},
    {"two_ranks_causal",    GROUP_BASIC,      ON_ANY,   2,   2,    7,   16, 1,     0,   0,              DIST_NORMAL},
    {"four_ranks",          GROUP_BASIC,      ON_ANY,   4,   2,    5,   16, 0,     0,   0,              DIST_NORMAL},
    {"four_ranks_causal",   GROUP_BASIC,      ON_ANY,   4,   2,    5,   16, 1,     0,   0,              DIST_NORMAL},
    {"eight_ranks",         GROUP_BASIC,      ON_ANY,   8,   1,    3,   16, 0,     0,   0,              DIST_NORMAL},
    {"eight_ranks_causal",  GROUP_BASIC,      ON_ANY,   8,   1,    3,   16, 1,     0,   0,              DIST_NORMAL},

    {"a_token_per_rank",    GROUP_EDGES,      ON_ANY,   8,   1,    1,    4, 1,     0,   0,              DIST_NORMAL},
    {"part_31",             GROUP_EDGES,      ON_ANY,   2,   1,   31,   32, 1,     0,   0,              DIST_NORMAL},
    {"part_33",             GROUP_EDGES,      ON_ANY,   2,   1,   33,   32, 0,     0,   0,              DIST_NORMAL},
    {"part_67",             GROUP_EDGES,      ON_ANY,   2,   2,   67,   16, 1,     0,   0,              DIST_NORMAL},
    {"heads_5",             GROUP_EDGES,      ON_ANY,   4,   5,    3,    8, 1,     0,   0,              DIST_NORMAL},
    {"heads_of_128",        GROUP_EDGES,      ON_ANY,   4,   1,    6,  128, 0,     0,   0,              DIST_NORMAL},
    {"heads_of_36",         GROUP_EDGES,      ON_ANY,   4,   1,    6,   36, 1,     0,   0,              DIST_NORMAL},
    {"scale_given",         GROUP_EDGES,      ON_ANY,   2,   1,    9,   16, 0,   0.7,   0,              DIST_NORMAL},
    {"scale_negative",      GROUP_EDGES,      ON_ANY,   2,   1,    9,   16, 1,  -0.3,   0,              DIST_NORMAL},
    {"ranks_reversed",      GROUP_EDGES,      ON_ANY,   4,   1,    5,   16, 1,     0,   RANKS_REVERSED, DIST_NORMAL},
    {"ranks_apart",         GROUP_EDGES,      ON_SIMT,  4,   3,    7,   36, 1,     0,   RANKS_APART,    DIST_NORMAL},

    {"rising",              GROUP_NUMERICS,   ON_ANY,   4,   1,    8,   16, 0,     0,   0,              DIST_RISING},
    {"falling",             GROUP_NUMERICS,   ON_ANY,   4,   1,    8,   16, 0,     0,   0,              DIST_FALLING},
    {"large_logits",        GROUP_NUMERICS,   ON_ANY,   4,   1,    8,   16, 1,     0,   0,              DIST_LARGE},
    {"low_logits",          GROUP_NUMERICS,   ON_ANY,   4,   1,    8,   16, 0,     0,   0,              DIST_LOW},
    {"dominant_key",        GROUP_NUMERICS,   ON_ANY,   4,   1,    8,   16, 0,     0,   0,              DIST_DOMINANT},
    {"equal_scores",        GROUP_NUMERICS,   ON_ANY,   4,   1,    8,   16, 1,     0,   0,              DIST_EQUAL},
    {"faint_weights",       GROUP_NUMERICS,   ON_ANY,   4,   2,    8,   16, 0,     0,   0,              DIST_FAINT},
    {"faint_weights_70",    GROUP_NUMERICS,   ON_ANY,   1,   1,   70,   16, 1,     0,   0,              DIST_FAINT},
    {"faint_parts",         GROUP_NUMERICS,   ON_ANY,   4,   4,   24,   16, 0,     0,   0,              DIST_FAINT_PARTS},
    {"nan_value",           GROUP_NUMERICS,   ON_ANY,   4,   2,    8,   16, 0,     0,   0,              DIST_NAN_V},
    {"nan_behind_mask",     GROUP_NUMERICS,   ON_ANY,   4,   1,    8,   16, 1,     0,   0,              DIST_NAN_HIDDEN},
    {"nan_hidden_in_part",  GROUP_NUMERICS,   ON_ANY,   1,   1,   12,   16, 1,     0,   0,              DIST_NAN_HIDDEN},

    {"property_random",     GROUP_PROPERTIES, ON_ANY,   2,   1,    2,    8, 0,     0,   0,              DIST_NORMAL},

    {"ring_small",          GROUP_SPEED,      ON_ANY,   4,   2,   32,   64, 1,     0,   RANKS_KEPT,     DIST_NORMAL},
    {"ring_16384",          GROUP_SPEED,      ON_GPU,   8,   4, 2048,  128, 1,     0,   RANKS_KEPT,     DIST_NORMAL},
    /* clang-format on */
};

/** What must be refused. */
static const struct bad_row {
    const char *name;
    enum kernel_status expected;
} BAD[RANKS_MISTAKES] = {
    [RANKS_RIGHT] = {"sound_arguments", KERNEL_OK}, /* what the table of promises makes refusals of */
#define BAD_ROW(mistake, name, expected) [mistake] = {name, expected},
    RING_MISTAKE_LIST(BAD_ROW) LAYER_MISTAKE_LIST(BAD_ROW)
#undef BAD_ROW
};

static const char *const PART_NAME[] = {
#include "description/part_names.h"
};

/* ---- cases --------------------------------------------------------------------------------------------- */

static struct lesson_case start_case(int part, const char *name, enum case_group group, unsigned devices,
                                     int ranks)
{
    struct lesson_case item = {.group = group,
                               .part = part,
                               .weight = group == GROUP_BAD_INPUT ? 1 : 3,
                               .devices = devices,
                               .null_buffer = -1,
                               .misaligned_buffer = -1,
                               .repeat = group == GROUP_PROPERTIES ? 100 : 1};
    item.value[AT_RANKS] = ranks;
    if (group == GROUP_EDGES || group == GROUP_NUMERICS) item.flags |= CASE_ONE_CALL;
    snprintf(item.name, sizeof item.name, "%s/%s", PART_NAME[part], name);
    return item;
}

static struct lesson_case layer_case(const struct layer_row *row)
{
    struct lesson_case item = start_case(PART_LAYER, row->name, row->group, row->devices, row->ranks);
    const int sizes[] = {row->rows, row->width, row->heads, row->dim, row->inner, row->position, row->room};
    for (int i = 0; i <= AT_ROOM; i++) item.value[i] = sizes[i];
    item.value[AT_MANNER] = row->manner;
    item.distribution = (int)row->data;
    if (row->manner & RANKS_FAR) item.apart[LAYER_CACHE] = INT64_C(1) << 31; /* of heads of one key */
    return item;
}

static void set_ring(struct lesson_case *item, int heads, int len, int dim)
{
    const int extent[] = {1, heads, heads, len, len, dim, ATTENTION_WHOLE};
    for (int i = 0; i <= EX_KIND; i++) item->extent[i] = extent[i];
    for (int i = 0; i <= AT_HEAD_DIM; i++) item->value[i] = extent[i];
    item->extent[EX_DTYPE] = DTYPE_F32;
    item->value[AT_DTYPE] = DTYPE_F32;
    item->value[AT_KIND] = ATTENTION_WHOLE;
}

static struct lesson_case ring_case(const struct ring_row *row)
{
    struct lesson_case item = start_case(PART_RING, row->name, row->group, row->devices, row->ranks);
    set_ring(&item, row->heads, row->ranks * row->part, row->dim);
    item.value[AT_CAUSAL] = row->causal;
    item.real[AT_SCALE] = row->scale;
    item.value[AT_MANNER] = row->manner;
    item.distribution = (int)row->data;
    if (row->data == DIST_NORMAL) item.flags |= CASE_UNIT_SCALE;
    return item;
}

/* A key and a value for each query head. */
static void settle(struct lesson_case *item)
{
    if (item->part == PART_RING)
        item->value[AT_KV_HEADS] = item->extent[AT_KV_HEADS] = (int)item->value[AT_HEADS];
}

static int is_mistake_of(int part, int mistake)
{
    if (mistake < NULL_TRANSFER) return 1;
    return (mistake < RING_MISTAKES) == (part == PART_RING);
}

/* Something is wrong with the first rank that comes late in the order of causes, and with the last one what comes first. */
static int add_faults_of_ranks(int part, const struct lesson_case *like, struct lesson_case *cases, int count,
                               int capacity)
{
    for (int is_short = 0; is_short < 2 && count < capacity; is_short++) {
        struct lesson_case *item = &cases[count++];
        *item = *like;
        item->group = GROUP_BAD_INPUT;
        item->weight = 1;
        item->devices = ON_SIMT;
        item->value[AT_MANNER] = RANKS_FIRST;
        item->null_buffer = 1;
        if (is_short) item->workspace_more = -1;
        if (!is_short) item->misaligned_buffer = 0, item->misalignment = 8;
        item->expected = is_short ? KERNEL_OUT_OF_MEMORY : KERNEL_ALIGNMENT_ERROR;
        snprintf(item->name, sizeof item->name, "%s/%s_before_null", PART_NAME[part],
                 is_short ? "short" : "misaligned");
    }
    return count;
}

static int add_bad_cases(int part, const struct lesson_case *like, struct lesson_case *cases, int count,
                         int capacity)
{
    for (int i = RANKS_RIGHT; i < RANKS_MISTAKES && count < capacity; i++) {
        if (!is_mistake_of(part, i)) continue;
        struct lesson_case *item = &cases[count++];
        *item = *like;
        item->group = GROUP_BAD_INPUT;
        item->weight = 1;
        item->value[AT_MISTAKE] = i;
        item->expected = BAD[i].expected;
        snprintf(item->name, sizeof item->name, "%s/%s", PART_NAME[part], BAD[i].name);
    }
    if (count == capacity) return count;
    /* a rank has aborted: the others have to return an error, and soon */
    struct lesson_case *gone = &cases[count++];
    *gone = *like;
    gone->group = GROUP_BAD_INPUT;
    gone->devices = ON_SIMT;
    gone->value[AT_MANNER] = RANKS_GONE;
    gone->expected = KERNEL_CUDA_ERROR;
    snprintf(gone->name, sizeof gone->name, "%s/rank_gone", PART_NAME[part]);
    return count;
}

static int cases(struct lesson_case *cases, int capacity)
{
    int count = 0;
    for (size_t i = 0; i < sizeof LAYERS / sizeof LAYERS[0] && count < capacity; i++)
        cases[count++] = layer_case(&LAYERS[i]);
    for (size_t i = 0; i < sizeof RINGS / sizeof RINGS[0] && count < capacity; i++)
        cases[count++] = ring_case(&RINGS[i]);
    for (int part = PART_LAYER; part <= PART_RING; part++) {
        char two[LESSON_NAME];
        snprintf(two, sizeof two, "%s/two_ranks", PART_NAME[part]);
        const struct lesson_case *like = case_table_find(cases, count, two);
        count = add_bad_cases(part, like, cases, count, capacity);
        count = add_faults_of_ranks(part, like, cases, count, capacity);
    }
    return count;
}

static int any_ranks(struct rng *rng)
{
    return 1 << rng_between(rng, 0, 3);
}

static void vary(struct lesson_case *item, int index, struct rng *rng)
{
    const int ranks = any_ranks(rng);
    (void)index;
    item->seed = rng_next(rng);
    item->value[AT_RANKS] = ranks;
    item->value[AT_MANNER] = rng_between(rng, 0, 3) == 0 ? RANKS_REVERSED : 0;
    if (item->part == PART_RING) {
        set_ring(item, rng_between(rng, 1, 3), ranks * rng_between(rng, 1, 24 / ranks),
                 4 * rng_between(rng, 1, 6));
        item->value[AT_CAUSAL] = rng_between(rng, 0, 1);
        item->real[AT_SCALE] = rng_between(rng, 0, 2) == 0 ? 0.3 : 0.0;
        return;
    }
    item->value[AT_ROWS] = rng_between(rng, 1, 3);
    item->value[AT_WIDTH] = 8 * rng_between(rng, 1, 5);
    item->value[AT_LAYER_HEADS] = ranks * rng_between(rng, 1, 8 / ranks > 3 ? 3 : 8 / ranks);
    item->value[AT_LAYER_DIM] = 4 * rng_between(rng, 1, 5);
    item->value[AT_INNER] = 4 * ranks * rng_between(rng, 1, 3);
    item->value[AT_POSITION] = rng_between(rng, 0, 6);
    item->value[AT_ROOM] = item->value[AT_POSITION] + rng_between(rng, 1, 3);
}

/* ---- buffers ------------------------------------------------------------------------------------------- */

static size_t V(const struct lesson_case *item, int at)
{
    return (size_t)item->value[at];
}

/** Floats of workspace that the contract allows a rank. */
static size_t most_workspace(const struct lesson_case *item)
{
    if (item->part == PART_RING)
        return 4 * V(item, AT_HEADS) * V(item, AT_Q_LEN) * V(item, AT_HEAD_DIM) + 256;
    const size_t of_row =
        V(item, AT_WIDTH) + 2 * V(item, AT_LAYER_HEADS) * V(item, AT_LAYER_DIM) + V(item, AT_INNER);
    return V(item, AT_ROWS) * of_row + 256; /* with a single GPU, its rank has the whole layer */
}

/** Bytes that the contract allows a rank, if there are devices for all ranks. */
static size_t workspace_limit(const struct lesson_case *item)
{
    struct lesson_case of_rank = *item;
    of_rank.value[item->part == PART_RING ? (int)AT_Q_LEN : (int)AT_LAYER_HEADS] /= item->value[AT_RANKS];
    if (item->part != PART_RING) of_rank.value[AT_INNER] /= item->value[AT_RANKS];
    return most_workspace(&of_rank) * sizeof(float);
}

static size_t sent_columns(const struct lesson_case *item)
{
    return item->part == PART_RING ? 1 : SENT_COLUMNS;
}

static struct lesson_buffer sent_buffer(const struct lesson_case *item)
{
    return (struct lesson_buffer){.name = "sent_by_rank",
                                  .role = WIRE_OUT,
                                  .rank = 2,
                                  .extent = {V(item, AT_RANKS), sent_columns(item)},
                                  .column = {"floats", "x_unlike_rank_0"},
                                  .storage = STORAGE_I32};
}

static int layer_buffers(const struct lesson_case *item, struct lesson_buffer *b)
{
    const size_t ranks = V(item, AT_RANKS), rows = V(item, AT_ROWS), width = V(item, AT_WIDTH);
    const size_t heads = V(item, AT_LAYER_HEADS), dim = V(item, AT_LAYER_DIM), inner = V(item, AT_INNER);
    const size_t all = heads * dim, room = V(item, AT_ROOM);
    b[LAYER_QKV] = LESSON_BUFFER("qkv", WIRE_IN, STORAGE_F32, 3, all, width);
    b[LAYER_O] = LESSON_BUFFER("o", WIRE_IN, STORAGE_F32, width, all);
    b[LAYER_GATE_UP] = LESSON_BUFFER("gate_up", WIRE_IN, STORAGE_F32, 2, inner, width);
    b[LAYER_DOWN] = LESSON_BUFFER("down", WIRE_IN, STORAGE_F32, width, inner);
    b[LAYER_X] = LESSON_BUFFER("x", WIRE_IN, STORAGE_F32, rows, width);
    b[LAYER_CACHE] = LESSON_BUFFER("cache", WIRE_INOUT, STORAGE_F32, 2 * rows, heads, room, dim);
    b[LAYER_OUT] = LESSON_BUFFER("x_of_rank", WIRE_OUT, STORAGE_F32, ranks, rows, width);
    b[LAYER_SENT] = sent_buffer(item);
    b[LAYER_WORKSPACE] = LESSON_BUFFER("workspace", WIRE_WORKSPACE, STORAGE_F32, most_workspace(item));
    for (int i = LAYER_QKV; i <= LAYER_OUT; i++) b[i].align = 16;
    b[LAYER_WORKSPACE].align = 16;
    return LAYER_BUFFERS;
}

static int buffers(const struct lesson_case *item, struct lesson_buffer *b)
{
    if (item->part == PART_LAYER) return layer_buffers(item, b);
    (void)attention_buffers(item, b);
    b[ATTENTION_WORKSPACE] = LESSON_BUFFER("workspace", WIRE_WORKSPACE, STORAGE_F32, most_workspace(item));
    b[RING_SENT] = sent_buffer(item);
    for (int i = ATTENTION_Q; i <= ATTENTION_WORKSPACE; i++) b[i].align = 16;
    return RING_BUFFERS;
}

/** Elements around 0; no values are drawn and thrown away. */
static void fill_part(struct rng *rng, float *to, size_t count, double deviation)
{
    rng_fill_normal(rng, to, count);
    for (size_t i = 0; i < count; i++) to[i] = (float)(deviation * (double)to[i]);
}

/** Cache rows that no token has written yet are NaN. */
static void fill_cache(const struct lesson_case *item, size_t elems, struct rng *rng, float *data)
{
    const size_t dim = V(item, AT_LAYER_DIM), room = V(item, AT_ROOM);
    fill_part(rng, data, elems, 1.0);
    for (size_t i = 0; i < elems; i++)
        if (i / dim % room >= V(item, AT_POSITION)) data[i] = NAN;
}

/** Every score is about -1.5e4, and those of the keys in the cache differ by about 1: a softmax whose
 * running maximum begins with a finite number finds no weight. x is nearly 1 everywhere, an element of q
 * nearly 61 * (16 / head_dim)^(1/4), one of a key minus that. With 2^61 in place of 61 the scores differ by so much that any
 * key may get the weight: values are all about 4, whichever it is. */
static void put_scores_below(const struct lesson_case *item, int index, size_t elems, float *data)
{
    const int lowest = item->distribution == LAYER_LOWEST;
    const double size = (lowest ? 0x1p61 : 61.0) * sqrt(4.0 / sqrt((double)item->value[AT_LAYER_DIM]));
    const double of_weight = size / (double)item->value[AT_WIDTH];
    if (index == LAYER_X)
        for (size_t i = 0; i < elems; i++) data[i] = 1.0f + 1e-3f * data[i];
    for (size_t i = 0; i < elems / 2 && index == LAYER_CACHE; i++)
        data[i] = (float)(-size * (1.0 + 1e-4 * (double)data[i])); /* NaN stays */
    for (size_t i = 0; i < elems / 3 * 2 && index == LAYER_QKV; i++)
        data[i] = (float)((i < elems / 3 ? of_weight : -of_weight) * (1.0 + 1e-3 * (double)data[i]));
    for (size_t i = elems / 2; i < elems && index == LAYER_CACHE && lowest; i++)
        data[i] = 4.0f + 0.01f * data[i];
    for (size_t i = elems / 3 * 2; i < elems && index == LAYER_QKV && lowest; i++)
        data[i] = (4.0f + 0.01f * data[i]) / (float)item->value[AT_WIDTH];
}

/* The second key's score is about 12.5, all others' are -12.5; W_o scales the part of the output that
 * comes from those to the size of x. */
static void put_faint(const struct lesson_case *item, int index, size_t elems, float *data)
{
    const size_t dim = V(item, AT_LAYER_DIM), room = V(item, AT_ROOM);
    const double size = sqrt(12.5 / sqrt((double)dim)), of_weight = size / (double)item->value[AT_WIDTH];
    if (index == LAYER_X)
        for (size_t i = 0; i < elems; i++) data[i] = 1.0f + 1e-3f * data[i];
    for (size_t i = 0; i < elems / 3 * 2 && index == LAYER_QKV; i++)
        data[i] = (float)((i < elems / 3 ? of_weight : -of_weight) * (1.0 + 1e-3 * (double)data[i]));
    for (size_t i = 0; i < elems && index == LAYER_CACHE; i++) {
        const int strong = i / dim % room == 1;
        const double key = (strong ? size : -size) * (1.0 + 1e-3 * (double)data[i]); /* NaN stays */
        if (i < elems / 2) data[i] = (float)key;
        if (i >= elems / 2 && strong) data[i] = 0.0f;
    }
    for (size_t i = 0; i < elems && index == LAYER_O; i++) data[i] *= (float)exp(25.0);
}

static void fill(const struct lesson_case *item, int index, size_t elems, struct rng *rng, float *data)
{
    if (item->part == PART_RING) {
        attention_fill(item, index, elems, rng, data);
        return;
    }
    const enum layer_data of = (enum layer_data)item->distribution;
    const double width = (double)item->value[AT_WIDTH], inner = (double)item->value[AT_INNER];
    const double all = (double)(item->value[AT_LAYER_HEADS] * item->value[AT_LAYER_DIM]);
    const double size = of == LAYER_LARGE ? 1e3 : of == LAYER_SMALL ? 1e-6 : 1.0;
    if (index == LAYER_CACHE) fill_cache(item, elems, rng, data);
    if (index == LAYER_QKV || index == LAYER_GATE_UP) fill_part(rng, data, elems, 1.0 / (size * sqrt(width)));
    for (size_t i = 0; i < elems / 2 && index == LAYER_GATE_UP && of == LAYER_STEEP; i++) data[i] *= 40.0f;
    if (index == LAYER_O) fill_part(rng, data, elems, of == LAYER_NO_ATTENTION ? 0.0 : size / sqrt(all));
    if (index == LAYER_DOWN) fill_part(rng, data, elems, of == LAYER_NO_MLP ? 0.0 : size / sqrt(inner));
    if (index == LAYER_X) fill_part(rng, data, elems, size);
    for (size_t i = 0; i < elems / 3 && index == LAYER_QKV && of == LAYER_SHARP; i++) data[i] *= 8.0f;
    if (of == LAYER_FAR_BELOW || of == LAYER_LOWEST) put_scores_below(item, index, elems, data);
    if (of == LAYER_FAINT) put_faint(item, index, elems, data);
}

/* ---- the oracles --------------------------------------------------------------------------------------- */

static size_t units(const struct lesson_case *item)
{
    return item->part == PART_RING ? attention_units(item) : 1;
}

static size_t unit_elems(const struct lesson_case *item)
{
    struct lesson_buffer b[WIRE_BUFFERS];
    if (item->part == PART_RING) return attention_unit_elems(item) + V(item, AT_RANKS);
    buffers(item, b);
    return lesson_elems(&b[LAYER_CACHE]) + lesson_elems(&b[LAYER_OUT]) + lesson_elems(&b[LAYER_SENT]);
}

/** Each rank sends exactly as many floats as a ring needs, and no float of x differs from rank 0's. */
static void expect_sent(const struct lesson_case *item, struct lesson_span *span)
{
    const int ranks = (int)item->value[AT_RANKS], ring = item->part == PART_RING;
    const int64_t sent = ring ? ring_floats_sent(item->value, ranks) : layer_floats_sent(item->value, ranks);
    span->buffer = ring ? (int)RING_SENT : (int)LAYER_SENT;
    span->first = 0;
    span->count = (size_t)ranks * sent_columns(item);
    for (size_t i = 0; i < span->count; i++) {
        span->expected[i] = span->plain[i] = i % sent_columns(item) == SENT_FLOATS ? (double)sent : 0.0;
        span->bound[i] = span->floor[i] = 0.0;
    }
}

/** Shared by the threads that compute rows. */
struct layer_work {
    const struct lesson_case *item;
    struct ref_qwen3_sizes sizes;
    struct ref_qwen3_layer weights;
    const float *x, *cache;
    struct lesson_span *out, *cached;
};

/** Eight standard deviations, see qwen3.h and bound.h. */
static void put(struct lesson_span *span, size_t at, double value, double deviation)
{
    span->expected[at] = span->plain[at] = value;
    span->bound[at] = span->floor[at] = BOUND_C * deviation + BOUND_TINY;
}

static void put_appended(const struct layer_work *w, size_t row, const struct ref_layer_step *step)
{
    const size_t heads = V(w->item, AT_LAYER_HEADS), dim = V(w->item, AT_LAYER_DIM),
                 rows = V(w->item, AT_ROWS);
    for (size_t i = 0; i < 2 * heads * dim; i++) {
        const size_t half = i / (heads * dim), head = i / dim % heads;
        const size_t line = (half * rows + row) * heads + head;
        put(w->cached, (line * step->room + step->position) * dim + i % dim, step->appended[i],
            step->appended_deviation[i]);
    }
}

static void take_rows(void *context, size_t first, size_t last)
{
    const struct layer_work *w = context;
    const struct ref_qwen3_rounding rounding = {
        .stored = BOUND_U_F32, .sums = BOUND_U_F32, .scores = BOUND_U_F32, .drawn = DRAWN};
    const size_t width = V(w->item, AT_WIDTH), all = V(w->item, AT_LAYER_HEADS) * V(w->item, AT_LAYER_DIM);
    const size_t rows = V(w->item, AT_ROWS), position = V(w->item, AT_POSITION), room = V(w->item, AT_ROOM);
    double *memory =
        malloc((2 * width + 4 * all + ref_layer_scratch_elems(&w->sizes, position + 1)) * sizeof *memory);
    if (memory == NULL) abort();
    for (size_t row = first; row < last; row++) {
        const float *keys = w->cache + row * all * room;
        const struct ref_layer_step step = {w->x + row * width,
                                            keys,
                                            keys + rows * all * room,
                                            room,
                                            position,
                                            memory,
                                            memory + width,
                                            memory + 2 * width,
                                            memory + 2 * width + 2 * all};
        ref_layer_step(&w->sizes, &w->weights, &rounding, &step, memory + 2 * width + 4 * all);
        for (size_t r = 0; r < V(w->item, AT_RANKS); r++)
            for (size_t i = 0; i < width; i++)
                put(w->out, (r * rows + row) * width + i, step.out[i], step.deviation[i]);
        put_appended(w, row, &step);
    }
    free(memory);
}

/** Everything must stay unchanged except what the call appends. */
static void expect_layer(const struct lesson_case *item, const float *const *data,
                         struct lesson_expectation *e)
{
    struct lesson_buffer b[WIRE_BUFFERS];
    const int heads = (int)item->value[AT_LAYER_HEADS], dim = (int)item->value[AT_LAYER_DIM];
    const int inner = (int)item->value[AT_INNER];
    const size_t width = V(item, AT_WIDTH), of_qkv = (size_t)heads * (size_t)dim * width;
    struct layer_work w = {
        .item = item,
        .sizes = {1, (int)width, heads, heads, dim, inner, 1, 0.0, 1.0},
        .weights = {.q = data[LAYER_QKV],
                    .k = data[LAYER_QKV] + of_qkv,
                    .v = data[LAYER_QKV] + 2 * of_qkv,
                    .o = data[LAYER_O],
                    .gate = data[LAYER_GATE_UP],
                    .up = data[LAYER_GATE_UP] + (size_t)inner * width,
                    .down = data[LAYER_DOWN]},
        .x = data[LAYER_X],
        .cache = data[LAYER_CACHE],
        .out = &e->span[0],
        .cached = &e->span[1],
    };
    buffers(item, b);
    e->span_count = 3;
    for (int s = 0; s < 2; s++) {
        e->span[s].buffer = s == 0 ? LAYER_OUT : LAYER_CACHE;
        e->span[s].first = 0;
        e->span[s].count = lesson_elems(&b[e->span[s].buffer]);
    }
    for (size_t i = 0; i < w.cached->count; i++) {
        w.cached->expected[i] = w.cached->plain[i] = (double)w.cache[i];
        w.cached->bound[i] = w.cached->floor[i] = 0.0;
    }
    expect_sent(item, &e->span[2]);
    parallel_for(V(item, AT_ROWS), V(item, AT_ROWS), take_rows, &w);
}

static void expect(const struct lesson_case *item, const float *const *data, size_t unit,
                   struct lesson_expectation *e)
{
    if (item->part == PART_LAYER) {
        expect_layer(item, data, e);
        return;
    }
    attention_expect(item, data, unit, e);
    if (unit == 0) expect_sent(item, &e->span[e->span_count++]);
}

/* ---- words --------------------------------------------------------------------------------------------- */

static int guess(const struct lesson_case *item, const float *const *data, int index, int buffer, size_t at,
                 struct lesson_guess *guess)
{
    const int sent = buffer == (item->part == PART_RING ? (int)RING_SENT : (int)LAYER_SENT);
    const double ranks = (double)item->value[AT_RANKS];
    if (item->part == PART_RING && !sent) return attention_guess(item, data, index, buffer, at, guess);
    if (index > 1) return -1;
    if (!sent || item->part == PART_RING || ranks < 2) return 0;
    /* of an all-gather; or to rank 0, which sends it to all others */
    const double of_part = 2.0 * (double)(item->value[AT_ROWS] * item->value[AT_WIDTH]);
    guess->value = index == 0 || at / sent_columns(item) == 0 ? (ranks - 1.0) * of_part : of_part;
    guess->cause = RECORD_CAUSE_TRANSFERS;
    snprintf(guess->words, sizeof guess->words,
             index == 0 ? "each rank sends all of its part to all others (all-gather); an all-reduce sends a "
                          "share of it twice"
                        : "sums are reduced to rank 0, which sends them to all others; an all-reduce sends a "
                          "share of them twice");
    return 1;
}

static int not_finite(const struct lesson_case *item, const float *const *data, int buffer, size_t at,
                      unsigned *holding, char *words, size_t size)
{
    return item->part == PART_RING && attention_not_finite(item, data, buffer, at, holding, words, size);
}

static int trait(const struct lesson_case *item, int index, const char **message)
{
    const int right = item->expected == KERNEL_OK, layer = item->part == PART_LAYER && right;
    const struct trait traits[] = {
        {(item->value[AT_MANNER] & RANKS_REVERSED) != 0,
         "only ranks in another order than the devices fail: gpu_rank says which rank it is and which device "
         "it has"},
        {item->value[AT_RANKS] > 1,
         "only several ranks fail: what has to be added up, or passed on, between them?"},
        {item->value[AT_RANKS] > 2, "only more than two ranks fail: is the part that arrives the one that is "
                                    "used, and is its buffer free?"},
        {layer && item->distribution != LAYER_NO_ATTENTION,
         "the MLP is right, attention is not: where W_o is 0 the case passes"},
        {layer && item->distribution != LAYER_NO_MLP,
         "attention is right, the MLP is not: where W_down is 0 the case passes"},
        {layer && item->value[AT_RANKS] > 1 && item->value[AT_ROWS] > 1,
         "only several ranks with several rows fail: is every row added up over the ranks?"},
        {layer && item->value[AT_POSITION] >= 1024, "only more than 1024 keys fail: if several blocks share "
                                                    "the keys of a head, does one have the last ones?"},
        {layer && item->value[AT_LAYER_DIM] > 64,
         "only heads of more than 64 elements fail: is all of head_dim looked at?"},
        {item->part == PART_RING && item->value[AT_RANKS] > 1 && item->value[AT_CAUSAL] != 0,
         "only causal cases of several ranks fail: which key is the first of the part that came?"},
        {item->part == PART_RING && item->value[AT_RANKS] > 2 && item->value[AT_CAUSAL] != 0,
         "only causal cases of more than two ranks fail: whose keys came in this step? Rank r gets them from "
         "rank r - 1"},
    };
    const int own = sizeof traits / sizeof traits[0];
    if (index >= own && item->part == PART_RING) return attention_trait(item, index - own, message);
    return trait_at(traits, sizeof traits / sizeof traits[0], right, index, message);
}

static const char *purpose(const struct lesson_case *item)
{
    static const char *const of_layers[LAYER_DATA] = {
        [LAYER_NO_MLP] = "W_down is 0, so the MLP adds nothing: attention and its sum are what is tried",
        [LAYER_NO_ATTENTION] =
            "W_o is 0, so attention adds nothing: the MLP and its sum are what is tried. Keys and values go "
            "to the cache all the same; where nobody has appended any it holds NaN",
        [LAYER_SHARP] = "a few keys have nearly all the weight",
        [LAYER_STEEP] =
            "gates go to 90 and beyond, where exp is infinite: silu of such a gate is the gate, or 0",
        [LAYER_LARGE] = "x is a thousand times as large as usual",
        [LAYER_SMALL] = "x is a millionth of what is usual",
        [LAYER_FAR_BELOW] = "every score is about -15,000: a maximum that begins at a number is above all of "
                            "them, and so is a number for the score of a key that is not there",
        [LAYER_LOWEST] = "every score is below -1e36: a maximum that begins at a number is above all of "
                         "them, and so is a number for the score of a key that is not there",
        [LAYER_FAINT] = "the key with nearly all the weight has values of 0: what is left comes from weights "
                        "of 1e-11, which are small and not 0"};
    if (item->value[AT_MANNER] & RANKS_GONE)
        return "the last rank has died: the others have to end with KERNEL_CUDA_ERROR, and not to wait for "
               "it";
    if (item->value[AT_MANNER] & RANKS_REVERSED)
        return "rank r is on device ranks - 1 - r: is a rank, and what it sees if causal, taken from its "
               "device's number, or from its place in gpu_ranks::at?";
    if (item->value[AT_MANNER] & RANKS_FIRST)
        return "an argument of the first rank is wrong, and one of the last is NULL: ranks are looked at one "
               "after the other";
    if (item->value[AT_MANNER] & RANKS_APART)
        return "each rank is called for by itself: count is 1, and ranks is not";
    if (item->value[AT_MANNER] & RANKS_FAR)
        return "the cache has room for so many keys that heads lie 2^31 floats apart: are offsets in it of "
               "64 bits?";
    if (item->part == PART_RING) return attention_purpose(item);
    if (item->value[AT_POSITION] == 0 && item->distribution == LAYER_NORMAL)
        return "at position 0 a token's own key is all there is to see";
    return of_layers[item->distribution];
}

static void cost(const struct lesson_case *item, struct lesson_cost *cost)
{
    if (item->part == PART_RING) {
        attention_cost(item, cost);
        return;
    }
    const double rows = (double)item->value[AT_ROWS], width = (double)item->value[AT_WIDTH];
    const double all = (double)(item->value[AT_LAYER_HEADS] * item->value[AT_LAYER_DIM]);
    const double keys = (double)item->value[AT_POSITION] + 1.0, inner = (double)item->value[AT_INNER];
    const double weights = 4.0 * all * width + 3.0 * inner * width;
    *cost = (struct lesson_cost){.flop = 2.0 * rows * (weights + 2.0 * keys * all),
                                 .min_bytes = 4.0 * (weights + rows * (2.0 * keys * all + 2.0 * width)),
                                 .oracle_ops = 8.0 * rows * (weights + 2.0 * keys * all),
                                 .kernels = 7.0};
}

/* The contract limits it; a ring of one rank passes nothing on, and needs none. */
static size_t workspace_bytes(const struct lesson_case *item)
{
    return item->part == PART_RING && item->value[AT_RANKS] == 1 && item->expected == KERNEL_OK ? 0
                                                                                                : SIZE_MAX;
}

static void describe(const struct lesson_case *item, char *text, size_t size)
{
    const int used = snprintf(text, size, "%lld rank%s, ", (long long)item->value[AT_RANKS],
                              item->value[AT_RANKS] == 1 ? "" : "s");
    if (item->part == PART_RING) {
        attention_describe(item, text + used, size - (size_t)used);
        return;
    }
    snprintf(text + used, size - (size_t)used,
             "%lld row%s, width %lld, heads %lld of %lld, inner %lld, position %lld",
             (long long)item->value[AT_ROWS], item->value[AT_ROWS] == 1 ? "" : "s",
             (long long)item->value[AT_WIDTH], (long long)item->value[AT_LAYER_HEADS],
             (long long)item->value[AT_LAYER_DIM], (long long)item->value[AT_INNER],
             (long long)item->value[AT_POSITION]);
}

const struct lesson lesson_19_several_gpus = {
#include "checker/cases/described.h"
    LESSON_CALLBACKS(),
    .settle = settle,
    .not_finite = not_finite,
    .workspace_limit = workspace_limit,
    .refused =
        "a call of CUDA or NCCL failed. Is each rank's device the current one (cudaSetDevice) before its "
        "launches? A launch in the stream of another device is refused",
    .distributions = DIST_COUNT,
};
