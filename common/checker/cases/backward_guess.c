/**
 * @file backward_guess.c
 * @brief Attention's backward pass: what would come out if a well-known mistake had been made.
 */
#include <math.h>
#include <stdio.h>

#include "backward_cases.h"

/** A mistake, as a change to the formulas. */
struct mistake {
    const char *message;
    enum {
        DS_RIGHT,
        NO_D,
        D_ADDED,
        D_OF_GRADIENT,
        D_OF_A_LANE,
        D_OUTSIDE,
        D_NEGATIVE,
        P_FOR_DS,
        DP_FOR_DS
    } ds;
    enum { P_RIGHT, NO_LSE, LSE_NATURAL, LSE_IN_EXP, SCORE_UNSCALED, SCALE_OF_0, TERMS_UNPADDED } p;
    enum { FACTOR_RIGHT, NO_FACTOR, FACTOR_TWICE, FACTOR_OF_DV } factor; /* scale, of dQ and dK */
    enum {
        MASK_RIGHT,
        ONE_KEY_MORE,
        ONE_KEY_LESS,
        TOP_LEFT,
        NO_MASK,
        QUERY_OF_TILE,
        KEY_OF_TILE,
        KEY_OF_WARP
    } mask;
    enum { HEADS_RIGHT, FIRST_OF_GROUP, LAST_OF_GROUP, HEAD_MODULO } heads;
    enum { TILES_RIGHT, FIRST_TILE, LAST_TILE, FIRST_SLICE, FIRST_QUERIES, WALK_FROM_0, TILE_BEFORE } tiles;
    int tile; /* of what is summed up, or of the mask */
    enum { FACTORS_RIGHT, DV_OF_DS, DV_OF_Q, DK_OF_DOUT, DQ_OF_V, EXCHANGED, DP_OF_Q, DP_OF_K } operand;
    enum {
        FRAGMENTS_RIGHT,
        B_UNTRANSPOSED,
        HALF_OF_B,
        QUADRANTS,
        ROWS_TRANSPOSED,
        DS_UNTRANSPOSED,
        TERMS_OF_Y,
        KEYS_OF_WARP_0,
        SUB_FORGOTTEN,
        TERMS_OF_SUB_0,
        KEYS_OF_ONE_WARP
    } fragment; /* on tensor cores alone */
};

/* Where two fit, the report takes that which fits more cases; of as many, the first. */
static const struct mistake MISTAKES[] = {
    {"as if D were 0: dS = P * (dP - D), where D is the sum of dO * O over a row", .ds = NO_D},
    {"as if D were added: dS = P * (dP - D)", .ds = D_ADDED},
    {"as if D were the sum of dO alone: D is the sum of dO * O over a row", .ds = D_OF_GRADIENT},
    {"as if D were the sum of one lane: D is that of all lanes of the warp, by warp_sum", .ds = D_OF_A_LANE},
    {"as if dS were P * dP - D: dS = P * (dP - D), mind the parentheses", .ds = D_OUTSIDE},
    {"of the opposite sign: dS = P * (dP - D)", .ds = D_NEGATIVE},
    {"made of P where dS belongs: dQ and dK are sums of dS", .ds = P_FOR_DS},
    {"as if dS were dP - D, without the factor P", .ds = DP_FOR_DS},
    {"as if P were exp(S): P = exp(S - lse), with the logsumexp that the forward pass has saved",
     .p = NO_LSE},
    {"as if lse were in base 2: exp2 takes S * log2(e) - lse * log2(e)", .p = LSE_NATURAL},
    {"as if P were exp(S - lse * log2(e)): what is times log2(e) belongs to exp2", .p = LSE_IN_EXP},
    {"as if S were Q K^T without the scale", .p = SCORE_UNSCALED},
    {"as if the scale were 0: a scale of 0 stands for 1/sqrt(head_dim), see backward_scale()",
     .p = SCALE_OF_0},
    {"the terms of other rows were taken: in plan.terms a head has whole tiles, plan.q_tiles * TILE_Q rows",
     .p = TERMS_UNPADDED},
    {"dQ and dK lack the scale: S = scale * Q K^T, so they are scale times the products of dS",
     .factor = NO_FACTOR},
    {"the scale is in it twice: once in S, once in dQ and dK", .factor = FACTOR_TWICE},
    {"dV is times scale: P^T dO has no factor", .factor = FACTOR_OF_DV},
    {"mask off by one: every query sees one key too many", .mask = ONE_KEY_MORE},
    {"mask off by one: every query sees one key too few", .mask = ONE_KEY_LESS},
    {"the mask is aligned to the top left: query i sees keys up to i + kv_len - q_len", .mask = TOP_LEFT},
    {"as without the causal mask", .mask = NO_MASK},
    {"the mask counts the queries of a tile from 0: keys_seen() takes the query's number in its head",
     .mask = QUERY_OF_TILE, .tile = 32},
    {"the mask counts the queries of a tile from 0: keys_seen() takes the query's number in its head",
     .mask = QUERY_OF_TILE, .tile = 16},
    {"the mask counts the queries of a tile from 0: keys_seen() takes the query's number in its head",
     .mask = QUERY_OF_TILE, .tile = 64},
    {"the mask counts the keys of a tile from 0: add the tile's first key", .mask = KEY_OF_TILE, .tile = 32},
    {"the mask counts the keys of a tile from 0: add the tile's first key", .mask = KEY_OF_TILE, .tile = 128},
    {"the mask takes the keys of every warp for those of warp 0: add the warp's number times WARP_KEYS",
     .mask = KEY_OF_WARP, .tile = 128},
    {"only the first query head of each group counts: dK and dV are sums over all heads that read the K/V "
     "head",
     .heads = FIRST_OF_GROUP},
    {"only the last query head of each group counts: dK and dV are sums over all heads that read the K/V "
     "head",
     .heads = LAST_OF_GROUP},
    {"wrong K/V head: h % kv_heads in place of h / (heads / kv_heads)", .heads = HEAD_MODULO},
    {"only the first tile counts: dK and dV are sums over all tiles of queries, dQ over all tiles of keys",
     .tiles = FIRST_TILE, .tile = 64},
    {"only the first tile counts: dK and dV are sums over all tiles of queries, dQ over all tiles of keys",
     .tiles = FIRST_TILE, .tile = 32},
    {"only the first tile of keys counts: dQ is a sum over all of them", .tiles = FIRST_TILE, .tile = 128},
    {"only the last tile counts: it overwrote what the others had added", .tiles = LAST_TILE, .tile = 64},
    {"only the last tile counts: it overwrote what the others had added", .tiles = LAST_TILE, .tile = 32},
    {"only the last tile of keys counts: it overwrote what the others had added to dQ", .tiles = LAST_TILE,
     .tile = 128},
    {"only the first slice counts: dQ is the sum of all that a block has written", .tiles = FIRST_SLICE,
     .tile = 32},
    {"only the first slice counts: dQ is the sum of all that a block has written", .tiles = FIRST_SLICE,
     .tile = 128},
    {"half of the queries are not walked over: in f32 a tile has QUERIES of them, not TILE_Q",
     .tiles = FIRST_QUERIES, .tile = 32},
    {"half of the queries are not walked over: in f32 a tile has QUERIES of them, not TILE_Q",
     .tiles = FIRST_QUERIES, .tile = 16},
    {"the walk begins at query 0: its first tile is walk.first_q_tile", .tiles = WALK_FROM_0, .tile = 32},
    {"the walk begins at query 0: its first tile is walk.first_q_tile", .tiles = WALK_FROM_0, .tile = 128},
    {"dK and dV still hold what the block's tile of keys before has left: they begin at 0 for each",
     .tiles = TILE_BEFORE, .tile = 32},
    {"dK and dV still hold what the block's tile of keys before has left: they begin at 0 for each",
     .tiles = TILE_BEFORE, .tile = 128},
    {"dV is made of dS: dV = P^T dO", .operand = DV_OF_DS},
    {"dV is made with Q: dV = P^T dO", .operand = DV_OF_Q},
    {"dK is made with dO: dK = scale * dS^T Q", .operand = DK_OF_DOUT},
    {"dQ is made with V: dQ = scale * dS K", .operand = DQ_OF_V},
    {"dk holds dV, or dv holds dK: they are exchanged", .operand = EXCHANGED},
    {"dP is made with Q: dP = dO V^T", .operand = DP_OF_Q},
    {"dP is made with K: dP = dO V^T", .operand = DP_OF_K},
    {"B is not transposed in multiply_rows: its rows are columns of Q, as load_b_transposed gives them",
     .fragment = B_UNTRANSPOSED},
    {"queries 8 to 15 of 16 got the product of queries 0 to 7: the second half of B is half 1",
     .fragment = HALF_OF_B},
    {"x[1] and x[2] of A are exchanged in add_rows: x[1] is rows + 8, x[2] columns + 8",
     .fragment = QUADRANTS},
    {"B is transposed in add_rows: its rows are queries as they lie in memory, load_b",
     .fragment = ROWS_TRANSPOSED},
    {"A is not transposed in add_dq: shared memory holds dS^T, so A is what load_a_transposed gives",
     .fragment = DS_UNTRANSPOSED},
    {"weigh takes the terms of another query: of element y of C, y / 2 tells the key and y % 2 the query",
     .fragment = TERMS_OF_Y},
    {"every warp has the keys of warp 0: in multiply_rows a warp's keys begin at its number times WARP_KEYS",
     .fragment = KEYS_OF_WARP_0},
    {"the second SUB queries of a tile got the product of the first: multiply_rows begins at first_query",
     .fragment = SUB_FORGOTTEN},
    {"the second SUB queries of a tile got the terms of the first: weigh begins at those of its first query",
     .fragment = TERMS_OF_SUB_0},
    {"dQ has the keys of one warp alone: in add_dq a warp sums over all keys of the block",
     .fragment = KEYS_OF_ONE_WARP},
};
enum { MISTAKE_COUNT = sizeof MISTAKES / sizeof MISTAKES[0] };

/** What a guess is about. */
struct guess {
    const struct lesson_case *item;
    const float *const *data;
    const struct mistake *mistake;
    double scale;
    size_t batch, heads, kv_heads, q_len, kv_len, head_dim;
};

enum { ROW_TILE = 64 }; /* queries of a tile of terms */

static double dot(const float *a, const float *b, size_t count)
{
    double sum = 0.0;
    for (size_t d = 0; d < count; d++) sum += (double)a[d] * (double)b[d];
    return sum;
}

/* The first query of the tile of 64 at which the walk over a tile of keys begins. */
static long walk_begins(const struct guess *g, size_t key, size_t tile)
{
    long first = (long)(key / tile * tile) - ((long)g->kv_len - (long)g->q_len);
    return g->item->value[BW_CAUSAL] != 1 || first < 0 ? 0 : first / ROW_TILE * ROW_TILE;
}

/* How many keys query `i` of its head is taken to see. */
static long keys_taken(const struct guess *g, long i)
{
    const int mask = (int)g->mistake->mask;
    const long kv_len = (long)g->kv_len;
    if (g->item->value[BW_CAUSAL] != 1 || mask == NO_MASK) return kv_len;
    long query = mask == QUERY_OF_TILE ? i % g->mistake->tile : i;
    long visible = query + 1 + (mask == TOP_LEFT ? 0 : kv_len - (long)g->q_len);
    return visible + (mask == ONE_KEY_MORE) - (mask == ONE_KEY_LESS);
}

/* Of element y of C, y / 2 was taken for the query and y % 2 for the key. */
static size_t query_by_y(size_t i, size_t j)
{
    return i / 2 * 2 + (j % 16 >= 8);
}

static int sees(const struct guess *g, size_t i, size_t j)
{
    const int mask = (int)g->mistake->mask, of_tile = mask == KEY_OF_TILE || mask == KEY_OF_WARP;
    size_t tile = (size_t)g->mistake->tile, key = j, query = i, warp_keys = g->head_dim == 128 ? 16 : 32;
    if (j >= g->kv_len) return 0;
    if (of_tile && g->item->value[BW_CAUSAL] == 1 && (long)i < walk_begins(g, j, tile)) return 0;
    if (mask == KEY_OF_TILE) key = j % tile;
    if (mask == KEY_OF_WARP) key = j / tile * tile + j % tile % warp_keys;
    if (g->mistake->fragment == TERMS_OF_Y) {
        key = j / 16 * 16 + j % 8 + i % 2 * 8;
        query = query_by_y(i, j);
    }
    return (long)key < keys_taken(g, (long)query);
}

/* Where the product of a score comes from: row and key of it, among all. */
static void place_of_product(const struct guess *g, size_t *row, size_t *key)
{
    size_t i = *row % g->q_len, j = *key % g->kv_len, warp_keys = g->head_dim == 128 ? 16 : 32;
    if (g->mistake->fragment == HALF_OF_B && i % 16 >= 8) *row -= 8;
    if (g->mistake->fragment == SUB_FORGOTTEN && i % ROW_TILE >= ROW_TILE / 2) *row -= ROW_TILE / 2;
    if (g->mistake->fragment == KEYS_OF_WARP_0) *key -= j % 128 / warp_keys * warp_keys;
}

/* The row whose terms are taken; SIZE_MAX where they are those of a row that is not there, or sees nothing. */
static size_t row_of_terms(const struct guess *g, size_t row, size_t key)
{
    size_t i = row % g->q_len, first = row - i, padded = (g->q_len + ROW_TILE - 1) / ROW_TILE * ROW_TILE;
    if (g->mistake->fragment == TERMS_OF_SUB_0 && i % ROW_TILE >= ROW_TILE / 2) return row - ROW_TILE / 2;
    if (g->mistake->fragment == TERMS_OF_Y) {
        size_t other = query_by_y(i, key % g->kv_len);
        return other < g->q_len ? first + other : SIZE_MAX;
    }
    if (g->mistake->p != TERMS_UNPADDED) return row;
    size_t other = row / padded * g->q_len + row % padded;
    return row % padded < g->q_len && isfinite(g->data[BW_LSE][other]) ? other : SIZE_MAX;
}

/* Row `row` of a by row `other` of b; with B not transposed, what the 16 x 16 of b give then. */
static double product(const struct guess *g, const float *a, size_t other, const float *b)
{
    size_t dim = g->head_dim, i = other % g->q_len, first = i / 16 * 16;
    if (g->mistake->fragment != B_UNTRANSPOSED) return dot(a, b + other * dim, dim);
    double sum = 0.0;
    for (size_t c = 0; c < dim; c++)
        if (first + c % 16 < g->q_len)
            sum += (double)a[c] * (double)b[(other - i + first + c % 16) * dim + c / 16 * 16 + i % 16];
    return sum;
}

/* D of a row. */
static double find_d(const struct guess *g, size_t row)
{
    const float *dout = g->data[BW_DOUT] + row * g->head_dim, *out = g->data[BW_OUT] + row * g->head_dim;
    double d = 0.0;
    if (g->mistake->ds == NO_D) return 0.0;
    for (size_t c = 0; c < g->head_dim; c += g->mistake->ds == D_OF_A_LANE ? 32 : 1)
        d += (double)dout[c] * (g->mistake->ds == D_OF_GRADIENT ? 1.0 : (double)out[c]);
    return g->mistake->ds == D_ADDED ? -d : d;
}

/* P and dS of query row `row` of all heads and key row `key` of all. */
static void find_weights(const struct guess *g, size_t row, size_t key, double *p, double *ds)
{
    size_t terms = row_of_terms(g, row, key);
    *p = *ds = 0.0;
    if (terms == SIZE_MAX) return;
    double lse = (double)g->data[BW_LSE][terms], d = find_d(g, terms);
    place_of_product(g, &row, &key);
    const float *value = g->data[g->mistake->operand == DP_OF_K ? BW_K : BW_V] + key * g->head_dim;
    double s = product(g, g->data[BW_K] + key * g->head_dim, row, g->data[BW_Q]);
    double dp = product(g, value, row, g->data[g->mistake->operand == DP_OF_Q ? BW_Q : BW_DOUT]);
    if (g->mistake->p != SCORE_UNSCALED) s *= g->scale;
    if (g->mistake->p == SCALE_OF_0) s = 0.0;
    if (g->mistake->p == NO_LSE) lse = 0.0;
    if (g->mistake->p == LSE_NATURAL) lse *= log(2.0);
    if (g->mistake->p == LSE_IN_EXP) lse /= log(2.0);
    *p = exp(s - lse);
    *ds = g->mistake->ds == D_OUTSIDE ? *p * dp - d : *p * (dp - d);
    if (g->mistake->ds == D_NEGATIVE) *ds = -*ds;
    if (g->mistake->ds == P_FOR_DS) *ds = *p;
    if (g->mistake->ds == DP_FOR_DS) *ds = dp - d;
}

/* Deterministic: how many blocks share a head's tiles of keys. */
static size_t slices_of(const struct guess *g)
{
    size_t wanted = (256 + g->batch * g->kv_heads - 1) / (g->batch * g->kv_heads),
           most = (g->kv_len + 127) / 128;
    size_t slices = wanted < most ? wanted : most;
    return slices < 32 ? slices : 32;
}

/* 1 if term `at` of `count` is summed up. */
static int counts(const struct guess *g, size_t at, size_t count)
{
    size_t tile = (size_t)g->mistake->tile;
    if (g->mistake->tiles == FIRST_TILE) return at < tile;
    return g->mistake->tiles != LAST_TILE || at / tile == (count - 1) / tile;
}

/* 1 if the walk over the tile of key `key` comes to query `query`. */
static int walked(const struct guess *g, size_t query, size_t key)
{
    const int tiles = (int)g->mistake->tiles;
    if (tiles != FIRST_QUERIES && tiles != WALK_FROM_0) return 1;
    long tile = g->mistake->tile, half = tiles == FIRST_QUERIES, at = (long)query;
    long begin = walk_begins(g, key, half ? 32 : (size_t)tile), rest = (long)g->q_len - begin;
    long step = tile != 32 ? ROW_TILE : g->head_dim == 128 ? 16 : 32;
    if (!half) return at < (rest + step - 1) / step * step;
    long from = begin / ROW_TILE * tile, steps = (rest + ROW_TILE - 1) / ROW_TILE;
    return at >= from && at < from + steps * tile;
}

static double factor_of(const struct guess *g)
{
    if (g->mistake->p == SCALE_OF_0) return 0.0;
    if (g->mistake->factor == NO_FACTOR) return 1.0;
    return g->mistake->factor == FACTOR_TWICE ? g->scale * g->scale : g->scale;
}

static double dq_element(const struct guess *g, size_t row, size_t column)
{
    size_t group = g->heads / g->kv_heads, h = row / g->q_len % g->heads, b = row / g->q_len / g->heads;
    size_t kv = g->mistake->heads == HEAD_MODULO ? h % g->kv_heads : h / group, i = row % g->q_len;
    size_t first = (b * g->kv_heads + kv) * g->kv_len;
    const float *with = g->data[g->mistake->operand == DQ_OF_V ? BW_V : BW_K];
    size_t warp_keys = g->head_dim == 128 ? 16 : 32, columns = g->head_dim == 128 ? 32 : g->head_dim / 2;
    size_t warp = column / columns * 2 + i % ROW_TILE / 32, tile_keys = 128;
    double sum = 0.0, p, ds;
    for (size_t j = 0; j < g->kv_len; j++) {
        size_t query = i, key = j;
        if (g->mistake->fragment == KEYS_OF_ONE_WARP && j % tile_keys / warp_keys != warp) continue;
        if (g->mistake->fragment == DS_UNTRANSPOSED) {
            query = i / 16 * 16 + j % 16;
            key = j / 16 * 16 + i % 16;
            if (query >= g->q_len || key >= g->kv_len) continue;
        }
        if (!sees(g, query, key) || !counts(g, j, g->kv_len) || !walked(g, query, key)) continue;
        if (g->mistake->tiles == FIRST_SLICE && j / (size_t)g->mistake->tile % slices_of(g) != 0) continue;
        find_weights(g, row - i + query, first + key, &p, &ds);
        sum += ds * (double)with[(first + j) * g->head_dim + column];
    }
    return sum * factor_of(g);
}

static int reads(const struct guess *g, size_t h, size_t kv)
{
    size_t group = g->heads / g->kv_heads;
    if (g->mistake->heads == HEAD_MODULO) return h % g->kv_heads == kv;
    if (h / group != kv) return 0;
    if (g->mistake->heads == FIRST_OF_GROUP) return h % group == 0;
    return g->mistake->heads != LAST_OF_GROUP || h % group == group - 1;
}

/* The weight with which row `row` of all is added to key row `key`, and whether there is one. */
static int weight_of(const struct guess *g, size_t row, size_t key, double *p, double *ds)
{
    size_t i = row % g->q_len, j = key % g->kv_len;
    if (g->mistake->fragment == QUADRANTS && (i % 16 >= 8) != (j % 16 >= 8)) {
        size_t query = i % 16 >= 8 ? i - 8 : i + 8, other = j % 16 >= 8 ? j - 8 : j + 8;
        if (query >= g->q_len || other >= g->kv_len) return 0;
        row += query - i, key += other - j, i = query, j = other;
    }
    if (!sees(g, i, j) || !counts(g, i, g->q_len) || !walked(g, i, j)) return 0;
    find_weights(g, row, key, p, ds);
    return 1;
}

/* A term of dK or dV of key row `key` of all: that of query row `row` of all. */
static double key_term(const struct guess *g, size_t row, size_t key, size_t column, int is_dk)
{
    size_t i = row % g->q_len, other = i / 16 * 16 + column % 16;
    int of_q = is_dk ? g->mistake->operand != DK_OF_DOUT : g->mistake->operand == DV_OF_Q;
    const float *with = g->data[of_q ? BW_Q : BW_DOUT];
    double p, ds;
    if (!weight_of(g, row, key, &p, &ds)) return 0.0;
    double weight = is_dk || g->mistake->operand == DV_OF_DS ? ds : p;
    if (g->mistake->fragment != ROWS_TRANSPOSED) return weight * (double)with[row * g->head_dim + column];
    if (other >= g->q_len) return 0.0;
    return weight * (double)with[(row - i + other) * g->head_dim + column / 16 * 16 + i % 16];
}

static double key_element(const struct guess *g, size_t key, size_t column, int is_dk)
{
    size_t kv = key / g->kv_len % g->kv_heads, b = key / g->kv_len / g->kv_heads;
    size_t before = slices_of(g) * (size_t)g->mistake->tile, j = key % g->kv_len;
    if (g->mistake->operand == EXCHANGED) is_dk = !is_dk;
    double sum = 0.0;
    for (size_t h = 0; h < g->heads; h++)
        for (size_t i = 0; i < g->q_len && reads(g, h, kv); i++)
            sum += key_term(g, (b * g->heads + h) * g->q_len + i, key, column, is_dk);
    sum *= is_dk ? factor_of(g) : g->mistake->factor == FACTOR_OF_DV ? g->scale : 1.0;
    if (g->mistake->tiles == TILE_BEFORE && j >= before) sum += key_element(g, key - before, column, is_dk);
    return sum;
}

int backward_guess(const struct lesson_case *item, const float *const *data, int index, int buffer, size_t at,
                   double *value, char *message, size_t size)
{
    const double most = 4e6; /* operations for an element */
    if (index >= MISTAKE_COUNT) return -1;
    struct ref_attention_shape shape = backward_shape(item);
    struct guess g = {.item = item,
                      .data = data,
                      .mistake = &MISTAKES[index],
                      .scale = ref_attention_scale(&shape),
                      .batch = (size_t)item->extent[BW_BATCH],
                      .heads = (size_t)shape.heads,
                      .kv_heads = (size_t)shape.kv_heads,
                      .q_len = (size_t)shape.q_len,
                      .kv_len = (size_t)item->extent[BW_KV_LEN],
                      .head_dim = (size_t)shape.head_dim};
    if (g.mistake->fragment != FRAGMENTS_RIGHT && backward_storage(item) == STORAGE_F32) return 0;
    if (g.mistake->p == SCALE_OF_0 && buffer != BW_DV) return 0; /* 0, as after many a mistake */
    if (g.mistake->tiles == TILE_BEFORE && (item->value[BW_IS_DETERMINISTIC] != 1 || buffer == BW_DQ))
        return 0;
    double terms = buffer == BW_DQ ? (double)g.kv_len : (double)g.q_len * (double)(g.heads / g.kv_heads);
    if (terms * (double)g.head_dim > most) return 0;
    size_t row = at / g.head_dim, column = at % g.head_dim;
    *value = buffer == BW_DQ ? dq_element(&g, row, column) : key_element(&g, row, column, buffer == BW_DK);
    snprintf(message, size, "%s", MISTAKES[index].message);
    return 1;
}
