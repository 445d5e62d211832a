/**
 * @file attention_inputs.c
 * @brief Buffers of attention items and what is in them.
 */
#include "attention_inputs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/parallel.h"
#include "contracts/e4m3_blocks.h"

enum storage attention_storage(const struct lesson_case *item)
{
    static const enum storage storage[] = {
        [DTYPE_F32] = STORAGE_F32, [DTYPE_F16] = STORAGE_F16, [DTYPE_BF16] = STORAGE_BF16};
    return storage[item->extent[EX_DTYPE]];
}

enum storage attention_storage_of_p(const struct lesson_case *item)
{
    return attention_on_tensor_cores(item->extent[EX_TILED]) ? attention_storage(item) : STORAGE_F32;
}

size_t attention_workspace_row(int workspace, int kv_len, int head_dim)
{
    switch (workspace) {
    case WORKSPACE_MATRIX:
        return (size_t)kv_len;
    case WORKSPACE_STATISTICS:
        return 2;
    case WORKSPACE_STATISTICS_OUT:
        return 2 + (size_t)head_dim;
    default:
        return 0;
    }
}

/* The workspace of a problem in E4M3. */
static size_t e4m3_bytes(int64_t batch, int64_t heads, int64_t kv_heads, int64_t q_len, int64_t kv_len,
                         int64_t head_dim, int64_t dtype)
{
    struct attention_args args = {.batch = (int)batch,
                                  .heads = (int)heads,
                                  .kv_heads = (int)kv_heads,
                                  .q_len = (int)q_len,
                                  .kv_len = (int)kv_len,
                                  .head_dim = (int)head_dim,
                                  .dtype = (enum dtype)dtype};
    return e4m3_workspace(&args).bytes;
}

#define SIZES(of)                                                                                            \
    (of)[AT_BATCH], (of)[AT_HEADS], (of)[AT_KV_HEADS], (of)[AT_Q_LEN], (of)[AT_KV_LEN], (of)[AT_HEAD_DIM]
#define E(item, name) ((size_t)(item)->extent[name])

int attention_buffers(const struct lesson_case *item, struct lesson_buffer *buffers)
{
    size_t batch = E(item, AT_BATCH), heads = E(item, AT_HEADS), kv_heads = E(item, AT_KV_HEADS);
    size_t q_len = E(item, AT_Q_LEN), kv_len = E(item, AT_KV_LEN), head_dim = E(item, AT_HEAD_DIM);
    int kind = item->extent[EX_KIND];
    int writes_out = kind == ATTENTION_OUTPUT || kind == ATTENTION_WHOLE;
    int writes_lse = kind == ATTENTION_SOFTMAX || kind == ATTENTION_WHOLE;
    size_t row_floats = attention_workspace_row(item->extent[EX_WORKSPACE], (int)kv_len, (int)head_dim);
    if (row_floats == 0 && item->null_buffer == ATTENTION_WORKSPACE) row_floats = kv_len;
    enum storage storage = attention_storage(item);

    buffers[ATTENTION_Q] = LESSON_BUFFER("q", WIRE_IN, storage, batch, heads, q_len, head_dim);
    buffers[ATTENTION_K] = LESSON_BUFFER("k", WIRE_IN, storage, batch, kv_heads, kv_len, head_dim);
    buffers[ATTENTION_V] = LESSON_BUFFER("v", WIRE_IN, storage, batch, kv_heads, kv_len, head_dim);
    buffers[ATTENTION_OUT] =
        LESSON_BUFFER("out", writes_out ? WIRE_OUT : WIRE_IN, storage, batch, heads, q_len, head_dim);
    buffers[ATTENTION_LSE] =
        LESSON_BUFFER("lse", writes_lse ? WIRE_OUT : WIRE_IN, STORAGE_F32, batch, heads, q_len);
    buffers[ATTENTION_WORKSPACE] = LESSON_BUFFER("workspace", WIRE_WORKSPACE, STORAGE_F32, batch, heads,
                                                 row_floats > 0 ? q_len : 0, row_floats);
    if (item->extent[EX_WORKSPACE] == WORKSPACE_E4M3) {
        const size_t bytes = e4m3_bytes(SIZES(item->extent), item->extent[EX_DTYPE]);
        const size_t floats[] = {1, 1, 1, (bytes > 0 ? bytes : 256) / sizeof(float)}; /* something to give */
        memcpy(buffers[ATTENTION_WORKSPACE].extent, floats, sizeof floats);
    }
    /* all m, then all l: a dump shows each as one row */
    if (item->extent[EX_WORKSPACE] == WORKSPACE_STATISTICS) {
        const size_t pairs[] = {row_floats, batch, heads, q_len};
        memcpy(buffers[ATTENTION_WORKSPACE].extent, pairs, sizeof pairs);
    }
    for (int b = ATTENTION_Q; b <= ATTENTION_OUT && item->extent[EX_TILED]; b++) buffers[b].align = 16;
    if (kind == ATTENTION_WHOLE) return ATTENTION_MATRIX;

    enum wire_role role = kind == ATTENTION_SCORES    ? WIRE_OUT
                          : kind == ATTENTION_SOFTMAX ? WIRE_INOUT
                                                      : WIRE_IN;
    buffers[ATTENTION_MATRIX] = LESSON_BUFFER(kind == ATTENTION_OUTPUT ? "probs" : "scores", role,
                                              STORAGE_F32, batch, heads, q_len, kv_len);
    return ATTENTION_BUFFERS;
}

/* Floats of workspace per row by the contract of a tiled lesson, even where it refuses the head_dim or
 * storage type. */
static int tiled_workspace(int64_t dtype)
{
    return dtype == DTYPE_F32 ? WORKSPACE_STATISTICS : WORKSPACE_STATISTICS_OUT;
}

/* Computed from the arguments that the kernel receives, right or wrong, since the kernel is asked about
 * those. */
size_t attention_workspace_bytes(const struct lesson_case *item)
{
    const int64_t *value = item->value;
    int tiled = item->extent[EX_TILED], workspace = item->extent[EX_WORKSPACE];
    if (!workspace || item->extent[EX_KIND] != ATTENTION_WHOLE) return 0; /* nobody looks at it */
    if (workspace == WORKSPACE_E4M3)
        return value[AT_NULL_ARGS] ? 0 : e4m3_bytes(SIZES(value), value[AT_DTYPE]);
    /* the contracts of the others do not mention NULL */
    if (value[AT_NULL_ARGS]) return tiled ? 0 : SIZE_MAX;
    if (tiled && (value[AT_DTYPE] < DTYPE_F32 || value[AT_DTYPE] > DTYPE_BF16)) return SIZE_MAX;
    if (tiled) workspace = tiled_workspace(value[AT_DTYPE]);
    uint64_t bytes = sizeof(float);
    const int64_t extents[] = {value[AT_BATCH], value[AT_HEADS], value[AT_Q_LEN], value[AT_KV_LEN],
                               tiled ? value[AT_HEAD_DIM] : 1};
    for (int i = 0; i < 5; i++)
        if (extents[i] < 1) return 0;
    for (int i = 0; i < 3; i++)
        if (!multiply_fits(&bytes, (uint64_t)extents[i], INT64_MAX)) return SIZE_MAX;
    size_t row = attention_workspace_row(workspace, (int)value[AT_KV_LEN], (int)value[AT_HEAD_DIM]);
    return multiply_fits(&bytes, row, INT64_MAX) ? (size_t)bytes : SIZE_MAX;
}

int attention_hidden_from(const struct lesson_case *item)
{
    int kv_len = item->extent[AT_KV_LEN], q_len = item->extent[AT_Q_LEN];
    int shorter = q_len < kv_len ? q_len : kv_len;
    return kv_len - (shorter + 1) / 2;
}

/* Size of the redrawn tail. Where rows share a fragment, the tail's scores are far above all others: a
 * row's result must not depend on whether its neighbours had to raise their maximum. */
static double tail_size(const struct lesson_case *item, int index)
{
    return index == ATTENTION_K && attention_on_tensor_cores(item->extent[EX_TILED]) ? 8.0 : 1.0;
}

/* The column, a different one in each row, of the only value in the row that must not count behind the
 * mask, or that must count although its weight is 0. So a kernel that checks only some lanes, some columns
 * or every second key still meets some of them. */
static int lone_column(const struct lesson_case *item, int head, int row)
{
    return (5 * row + 3 * head + 2) % item->extent[AT_HEAD_DIM];
}

static int is_hidden_nan(const struct lesson_case *item, int index, int head, int row, int column)
{
    int hidden = row - attention_hidden_from(item);
    if (index == ATTENTION_Q || hidden < 0) return 0;
    return index == ATTENTION_K || (hidden % 3 == 0 && column == lone_column(item, head, row));
}

/* What must not count behind the mask: NaN, or in the values of odd heads infinity. */
static double hidden_value(const struct lesson_case *item, int index, int head)
{
    const int infinite =
        index == ATTENTION_V && head % 2 == 1 && item->extent[EX_TILED] != ATTENTION_E4M3_TILES;
    return infinite ? (double)INFINITY : (double)NAN;
}

/* A few of the last values are NaN. Their places are random, and the property has many inputs. */
static double seldom_nan(struct rng *rng, double noise)
{
    return rng_between(rng, 0, 299) == 0 ? (double)NAN : noise;
}

static int visible_keys(const struct lesson_case *item, int row)
{
    int kv_len = item->extent[AT_KV_LEN];
    if (item->value[AT_CAUSAL] != 1) return kv_len;
    int visible = row + 1 + kv_len - item->extent[AT_Q_LEN];
    return visible < 0 ? 0 : visible;
}

/* Rows that see the tail have larger queries there, so that they rise where those that do not see it stay. */
static double query_size(const struct lesson_case *item, int row)
{
    return item->extent[EX_PROPERTY] == PROPERTY_CAUSAL_PREFIX &&
                   attention_on_tensor_cores(item->extent[EX_TILED]) &&
                   visible_keys(item, row) > attention_hidden_from(item)
               ? 4.0
               : 1.0;
}

/* The key that takes nearly all the weight, in distributions that have one. */
static int dominant_key(const struct lesson_case *item)
{
    return item->extent[AT_KV_LEN] - item->extent[AT_KV_LEN] / 4 - 1;
}

/* 1 if key @p j of K/V head @p head takes the weight, and the others lie far below it. */
static int takes_weight(const struct lesson_case *item, int head, int j)
{
    enum { PATTERNS = 4 };
    const int half = item->extent[AT_KV_LEN] / 2, block = head % PATTERNS == 2 ? 64 : 16;
    if (item->distribution != DIST_FAINT_PARTS) return j == dominant_key(item);
    if (head % PATTERNS < 2) return (j >= half) == (head % PATTERNS == 0);
    return j / block % 2;
}

/* How far the other scores of query row i lie below that key's score. exp(-64) is still far above the
 * smallest float; exp(-24.5) times 30000 is far above the smallest half. */
static double faintness(const struct lesson_case *item, int i)
{
    if (item->distribution == DIST_NAN_WEIGHTLESS) return 300.0;
    /* Where P is rounded to half: exp(-11) is still a normal half. */
    if (attention_storage_of_p(item) == STORAGE_F16) return 9.0 + 0.25 * (i % 8);
    return attention_storage(item) == STORAGE_F16 ? 21.0 + 0.5 * (i % 8) : 22.0 + 6.0 * (i % 8);
}

/* The score of key j of kv_len of a K/V head before noise is added. */
static double trend(const struct lesson_case *item, int head, int j)
{
    int kv_len = item->extent[AT_KV_LEN];
    switch (item->distribution) {
    case DIST_DOMINANT:
        return j == dominant_key(item) ? 40.0 : 0.0;
    case DIST_FAINT:
    case DIST_FAINT_PARTS:
    case DIST_NAN_WEIGHTLESS: /* multiplied by the query's own factor */
        return takes_weight(item, head, j) ? 1.0 : 0.0;
    /* multiplied by 1 or -1; the scale holds the factor that half cannot hold. Powers of 2 stay exact when
     * multiplied by log2(e). */
    case DIST_EXTREME:
        return attention_storage(item) == STORAGE_F16 ? 0x1p15 : 0x1p123;
    case DIST_RISING:
        return 0.25 * j;
    case DIST_FALLING:
        return 0.25 * (kv_len - j);
    case DIST_LOW:
        return -300.0;
    case DIST_EQUAL: /* exp() of one is finite in float, and of 66000 the sum is not */
        return 78.0;
    default:
        return 0.0;
    }
}

/* Where there is a trend, component 0 of q is 1, or what of_query() says, and component 0 of k is the
 * trend: so their product adds it to the score. */
static int has_trend(const struct lesson_case *item)
{
    return item->distribution == DIST_DOMINANT || item->distribution == DIST_RISING ||
           item->distribution == DIST_FALLING || item->distribution == DIST_LOW ||
           item->distribution == DIST_FAINT || item->distribution == DIST_FAINT_PARTS ||
           item->distribution == DIST_NAN_WEIGHTLESS;
}

/* The factor by which query row i multiplies the trend. */
static double of_query(const struct lesson_case *item, int i)
{
    switch (item->distribution) {
    case DIST_FAINT:
    case DIST_FAINT_PARTS:
    case DIST_NAN_WEIGHTLESS:
        return faintness(item, i);
    case DIST_EXTREME:
        return i % 2 ? 1.0 : -1.0;
    case DIST_RISING: /* from one tile of keys to the next by 4 to 20 in the exponent of 2, each amount in some row */
        return 0.25 + (i % 64) / 96.0;
    default:
        return 1.0;
    }
}

/* Values of either sign near the limit of half, 65504. In the first head the sum of a few exceeds it; in
 * the others a single value nearly reaches it. The limit is more than 7 standard deviations away. */
static double large_value(int head, int column, double noise)
{
    double size = head == 0 ? 30000.0 + 1000.0 * noise : 64000.0 + 200.0 * noise;
    return head > 0 && column % 2 ? -size : size;
}

/* The mean of a column with outliers. */
#define OUTLIER 8.0

/* Small values would round to 0 if the scale were a power of two too large: 2^-9 is the smallest number of
 * E4M3. */
static double small_column(int index, int head, int row, int column, double noise)
{
    if (index != ATTENTION_V) return noise;
    if (column % 4 == 1) return head % 2 ? ldexp(noise, -13) : ldexp(1 + (row + column) % 3, -9);
    return head % 2 == 0 && row == 0 && column == 0 ? 448.0 : noise;
}

/* Scores that are exact, as long as nothing is rotated: in STEPS also in E4M3; in STAIRS they rise from 64 keys to the next by 1 to 24
 * in the exponent of 2, each in some row, and in others by 5 to 120. */
static double exact(const struct lesson_case *item, int index, int row, int column, double noise)
{
    const int stairs = item->distribution == DIST_STAIRS;
    if (index == ATTENTION_V)
        return stairs && attention_storage(item) == STORAGE_F32 ? ldexp(noise, 100) : noise;
    if (column > 0) return 0.0;
    if (stairs) return index == ATTENTION_Q ? (1 + row % 24) * (row < 24 ? 0.25 : 1.25) : row / 16;
    return index == ATTENTION_Q ? 1.0 : row % 128 == 5 ? 16.0 - row / 128 : -16.0;
}

static double element(const struct lesson_case *item, int index, int head, int row, int column, double noise)
{
    double scale = 1.0 / sqrt((double)item->extent[AT_HEAD_DIM]);
    switch (item->distribution) {
    case DIST_LARGE:
        return index == ATTENTION_V ? noise : 100.0 * noise;
    case DIST_LARGE_VALUES:
        return index == ATTENTION_V ? large_value(head, column, noise) : 0.25 * noise;
    case DIST_SMALL_VALUES:
        return index == ATTENTION_V ? 0x1p-17 * noise : noise;
    case DIST_SMALL_QUERIES: /* in every second head the keys are the small ones */
        if (index == ATTENTION_V) return noise;
        return (index == ATTENTION_Q) == (head % 2 == 0) ? 0x1p-17 * noise : 0x1p13 * noise;
    case DIST_OUTLIERS:
        return index != ATTENTION_V && (column == 5 || column == 90) ? noise + OUTLIER : noise;
    case DIST_UNEVEN:
        return noise * ldexp(1.0, (row / 128 + (index == ATTENTION_Q)) % 3 - 1 + (row >= 640) * 4 +
                                      (index == ATTENTION_V) * (8 * (row >= 4096) - 6 * head));
    case DIST_UNEVEN_ROWS:
        return row % 128 / 16 == 7 - head % 8 ? 8.0 * noise : noise;
    case DIST_ZEROS:
        return index == ATTENTION_V ? noise : 0.0;
    case DIST_BEYOND_HALF:
        return ldexp(noise, index == ATTENTION_Q ? -75 : index == ATTENTION_K ? 75 : head % 2 ? -80 : 60);
    case DIST_SMALL_COLUMNS:
        return small_column(index, head, row, column, noise);
    case DIST_STEPS:
    case DIST_STAIRS:
        return exact(item, index, row, column, noise);
    case DIST_EQUAL:
        return index == ATTENTION_K ? (column % 3 - 1) * 0.5 + 0.25 : noise;
    case DIST_NAN_Q:
        return index == ATTENTION_Q && row % 5 == 2 && column == 0 ? (double)NAN : noise;
    case DIST_NAN_K:
        return index == ATTENTION_K && head == 1 && row == 7 && column == 3 ? (double)NAN : noise;
    case DIST_NAN_V:
        return index == ATTENTION_V && head == 1 && row == 7 && column == 3 ? (double)NAN : noise;
    case DIST_NAN_HIDDEN:
        return is_hidden_nan(item, index, head, row, column) ? hidden_value(item, index, head) : noise;
    case DIST_OCTAVES:
        return index == ATTENTION_V   ? noise
               : index == ATTENTION_K ? 100.0 * noise
                                      : ldexp(100.0 * noise, -(row % 20));
    case DIST_INFINITE:
        if (index == ATTENTION_Q) return row % 5 == 2 && column == 0 ? (double)INFINITY : noise;
        if (index == ATTENTION_K) return head == 1 && row == 7 && column == 3 ? -(double)INFINITY : noise;
        if (head != 1 || row != 9) return noise; /* of either sign, at every place within a vector load */
        return column % 5 == 3 ? (double)INFINITY : column % 5 == 1 ? -(double)INFINITY : noise;
    case DIST_MINUS_INFINITE:
        if (index == ATTENTION_V || column != 3) return noise;
        if (index == ATTENTION_Q) return head % 2 == 1 && row % 3 == 1 ? -1.0 : 1.0;
        return head % 2 == 1 || row < item->extent[AT_KV_LEN] / 2 ? -(double)INFINITY : noise;
    case DIST_EXTREME: /* exact, so that all scores of a row are equal: the scale is a power of 2 */
        if (index == ATTENTION_V) return 4.0 + 0.5 * noise; /* no sum of 0, which is what no weight gives */
        return column > 0 ? 0.0 : index == ATTENTION_Q ? of_query(item, row) : trend(item, head, row);
    case DIST_SMALL_PRODUCTS:
        if (index == ATTENTION_V) return noise;
        return head % 2 == 0 ? ldexp(noise, index == ATTENTION_Q ? -60 : -68)
                             : ldexp(noise, index == ATTENTION_Q ? 3 : -126);
    case DIST_RISING:
        if (index == ATTENTION_Q && column > 0) return 0.0;
        break;
    case DIST_FAINT:
    case DIST_FAINT_PARTS:
        if (index == ATTENTION_V && takes_weight(item, head, row)) return 0.0;
        if (index == ATTENTION_V && attention_storage(item) == STORAGE_F16) return 30000.0 + 1000.0 * noise;
        break;
    case DIST_NAN_WEIGHTLESS:
        /* well before the key with all the weight, right after it, and well after it: all weights of a
         * whole tile may be 0 */
        if (index != ATTENTION_V || head != 1) break;
        if ((row == 7 && column == 3) || (row == dominant_key(item) + 1 && column == 5)) return (double)NAN;
        if (row == item->extent[AT_KV_LEN] - 2 && column == 6) return (double)NAN;
        break;
    default:
        break;
    }
    if (!has_trend(item) || column != 0 || index == ATTENTION_V) return noise;
    return index == ATTENTION_Q ? of_query(item, row) : trend(item, head, row) / scale;
}

/** The elements of q, k or v while they are made, or of a matrix of scores or probabilities. */
struct filling {
    const struct lesson_case *item;
    int index, lines; /* rows of a head */
    struct rng rng;
    float *data;
};

enum { NUMBERS_A_PIECE = 1 << 16 };

/* Makes @p rows rows of @p columns elements on all cores: the generator's numbers belong to places, so that a row is the same
 * wherever it is made; unless they are drawn only for some rows, and then all is made @p together. */
static void fill_all(struct filling *filling, size_t rows, size_t columns, int together,
                     void (*fill)(void *context, size_t first, size_t last))
{
    const size_t piece = columns < NUMBERS_A_PIECE ? NUMBERS_A_PIECE / (columns + 1) + 1 : 1;
    parallel_for(rows, together ? rows + 1 : piece, fill, filling);
}

static int has_other_tail(const struct lesson_case *item, int index)
{
    return (item->distribution == DIST_OTHER_TAIL && index != ATTENTION_Q) ||
           (item->distribution == DIST_SELDOM_NAN && index == ATTENTION_V);
}

static void fill_rows(void *context, size_t first, size_t last)
{
    const struct filling *f = context;
    const struct lesson_case *item = f->item;
    const int head_dim = item->extent[AT_HEAD_DIM], hidden_from = attention_hidden_from(item);
    const int other_tail = has_other_tail(item, f->index);
    struct rng rng = rng_ahead(&f->rng, first * (size_t)head_dim * RNG_NORMAL),
               other = {rng_mix(f->rng.state, 1)};
    float *data = f->data + first * (size_t)head_dim;
    for (size_t line = first; line < last; line++) {
        const int head = (int)(line / (size_t)f->lines), row = (int)(line % (size_t)f->lines);
        const double larger = f->index == ATTENTION_Q ? query_size(item, row) : 1.0;
        for (int column = 0; column < head_dim; column++) {
            double noise = rng_normal(&rng) * larger;
            if (other_tail && row >= hidden_from)
                noise = item->distribution == DIST_OTHER_TAIL ? rng_normal(&other) * tail_size(item, f->index)
                                                              : seldom_nan(&other, noise);
            *data++ = (float)element(item, f->index, head, row, column, noise);
        }
    }
}

static double score(const struct lesson_case *item, int head, int i, int j, double noise)
{
    switch (item->distribution) {
    case DIST_LARGE:
        return 1e4 * noise;
    case DIST_EQUAL:
        return trend(item, head, j);
    case DIST_NAN_Q:
        return i % 5 == 2 && j == (visible_keys(item, i) > 3 ? 3 : 0) ? (double)NAN : noise;
    case DIST_INFINITE:
        if (j == 7) return -(double)INFINITY;
        return i % 5 == 2 && j == 3 ? (double)INFINITY : noise;
    case DIST_EXTREME:
        return of_query(item, i) * trend(item, head, j);
    default:
        return of_query(item, i) * trend(item, head, j) + noise;
    }
}

/* How many keys of row i hold data other than the filling behind the mask. */
static int given_keys(const struct lesson_case *item, int i)
{
    return item->distribution == DIST_BEHIND_MASK ? item->extent[AT_KV_LEN] : visible_keys(item, i);
}

static void fill_scores(void *context, size_t first, size_t last)
{
    const struct filling *f = context;
    const int kv_len = f->item->extent[AT_KV_LEN];
    struct rng rng = rng_ahead(&f->rng, first * (size_t)kv_len * RNG_NORMAL);
    float *data = f->data + first * (size_t)kv_len;
    for (size_t line = first; line < last; line++) {
        const int row = (int)(line / (size_t)f->lines), i = (int)(line % (size_t)f->lines);
        for (int j = 0; j < kv_len; j++) {
            double noise = rng_normal(&rng);
            *data++ = j < given_keys(f->item, i) ? (float)score(f->item, row, i, j, noise) : -INFINITY;
        }
    }
}

/* Positive weights that sum to 1 over the visible keys, and 0 for masked keys. */
static void fill_probs(void *context, size_t first, size_t last)
{
    const struct filling *f = context;
    const struct lesson_case *item = f->item;
    const int kv_len = item->extent[AT_KV_LEN];
    struct rng rng = rng_ahead(&f->rng, first * (size_t)kv_len);
    float *data = f->data + first * (size_t)kv_len;
    for (size_t line = first; line < last; line++, data += kv_len) {
        const int row = (int)(line / (size_t)f->lines), i = (int)(line % (size_t)f->lines);
        double sum = 0.0;
        for (int j = 0; j < kv_len; j++) {
            double noise = item->distribution == DIST_EQUAL ? 0.5 : rng_uniform(&rng) + 0x1p-10;
            double weight = trend(item, row, j) > 30.0 ? 1e4 : noise * noise;
            if (item->distribution == DIST_FAINT || item->distribution == DIST_NAN_WEIGHTLESS)
                weight = j == dominant_key(item) ? 1.0 : noise * exp(-faintness(item, i));
            data[j] = j < given_keys(item, i) ? (float)weight : 0.0f;
            sum += j < visible_keys(item, i) ? (double)data[j] : 0.0;
        }
        for (int j = 0; j < kv_len && sum > 0.0; j++) data[j] = (float)((double)data[j] / sum);
    }
}

void attention_fill(const struct lesson_case *item, int index, size_t elems, struct rng *rng, float *data)
{
    const int kind = item->extent[EX_KIND], is_key = index == ATTENTION_K || index == ATTENTION_V;
    const size_t rows = E(item, AT_BATCH) * E(item, AT_HEADS) * E(item, AT_Q_LEN);
    struct filling f = {.item = item,
                        .index = index,
                        .lines = item->extent[is_key ? AT_KV_LEN : AT_Q_LEN],
                        .rng = *rng,
                        .data = data};
    if (is_key)
        fill_all(&f, E(item, AT_BATCH) * E(item, AT_KV_HEADS) * E(item, AT_KV_LEN), E(item, AT_HEAD_DIM),
                 has_other_tail(item, index), fill_rows);
    else if (index == ATTENTION_Q)
        fill_all(&f, rows, E(item, AT_HEAD_DIM), 0, fill_rows);
    else if (index == ATTENTION_MATRIX && kind == ATTENTION_SOFTMAX)
        fill_all(&f, rows, E(item, AT_KV_LEN), 0, fill_scores);
    else if (index == ATTENTION_MATRIX && kind == ATTENTION_OUTPUT)
        fill_all(&f, rows, E(item, AT_KV_LEN), 0, fill_probs);
    else
        rng_fill_normal(rng, data, elems);
}
