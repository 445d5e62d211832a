/**
 * @file backward_guess.c
 * @brief Attention's backward pass: what a kernel would compute with a well-known mistake in it.
 */
#include <math.h>

#include "backward_cases.h"
#include "mistakes.h"

/** Numbers of mistakes; brackets say what mistake.size means. */
enum backward_mistake {
    /* clang-format off */
    /* D and dS */
    NO_D = 1, D_ADDED, D_OF_GRADIENT, D_OF_A_LANE, D_OUTSIDE, D_NEGATIVE, P_FOR_DS, DP_FOR_DS,
    /* P */
    NO_LSE, LSE_NATURAL, LSE_IN_EXP, SCORE_UNSCALED, SCALE_OF_0, TERMS_UNPADDED,
    /* the scale, of dQ and dK */
    NO_FACTOR, FACTOR_TWICE, FACTOR_OF_DV,
    /* the mask, by tiles of [queries or keys] */
    ONE_KEY_MORE, ONE_KEY_LESS, TOP_LEFT, NO_MASK, MASK_LATE, QUERY_OF_TILE, KEY_OF_TILE, KEY_OF_WARP,
    /* which terms are summed up: heads, and tiles of [queries or keys] */
    FIRST_OF_GROUP, LAST_OF_GROUP, HEAD_MODULO, FIRST_TILE, FIRST_KEY_TILE, LAST_TILE, LAST_KEY_TILE, FIRST_SLICE,
    FIRST_QUERIES, WALK_FROM_0, TILE_BEFORE,
    /* operands */
    DV_OF_DS, DV_OF_Q, DK_OF_DOUT, DQ_OF_V, EXCHANGED, DP_OF_Q, DP_OF_K,
    /* fragments */
    B_UNTRANSPOSED, HALF_OF_B, QUADRANTS, ROWS_TRANSPOSED, DS_UNTRANSPOSED, TERMS_OF_Y, KEYS_OF_WARP_0, SUB_FORGOTTEN,
    TERMS_OF_SUB_0, KEYS_OF_ONE_WARP,
    /* rounding */
    DS_SCALED, DS_AS_HALF,
    /* deterministic dQ: slices that the first query of a tile needs, of tiles of [keys] */
    SLICES_OF_FIRST_QUERY
    /* clang-format on */
};

/** mistake_row.where: what a case needs to show the mistake; only tensor cores have fragments. */
enum { HALVES = 1, DETERMINISTIC = 2 };

/* Where two fit, the report shows the one that fits more cases; if they fit equally many, the first. */
/* clang-format off */
static const struct mistake_row MISTAKES[] = {
    {NO_D, RECORD_CAUSE_DELTA, .message = "as if D were 0: dS = P * (dP - D), where D is the sum of dO * O over a row"},
    {D_ADDED, RECORD_CAUSE_DELTA, .message = "as if D were added: dS = P * (dP - D)"},
    {D_OF_GRADIENT, RECORD_CAUSE_DELTA, .message = "as if D were the sum of dO alone: D is the sum of dO * O over a row"},
    {D_OF_A_LANE, RECORD_CAUSE_DELTA,
     .message = "as if D were the sum of one lane: D is that of all lanes of the warp, by warp_sum"},
    {D_OUTSIDE, RECORD_CAUSE_DELTA, .message = "as if dS were P * dP - D: dS = P * (dP - D), mind the parentheses"},
    {D_NEGATIVE, RECORD_CAUSE_DELTA, .message = "of the opposite sign: dS = P * (dP - D)"},
    {P_FOR_DS, RECORD_CAUSE_DELTA, .message = "made of P where dS belongs: dQ and dK are sums of dS"},
    {DP_FOR_DS, RECORD_CAUSE_DELTA, .message = "as if dS were dP - D, without the factor P"},
    {NO_LSE, RECORD_CAUSE_PROBABILITIES,
     .message = "as if P were exp(S): P = exp(S - lse), with the logsumexp that the forward pass has saved"},
    {LSE_NATURAL, RECORD_CAUSE_PROBABILITIES, .message = "as if lse were in base 2: exp2 takes S * log2(e) - lse * log2(e)"},
    {LSE_IN_EXP, RECORD_CAUSE_PROBABILITIES,
     .message = "as if P were exp(S - lse * log2(e)): what is times log2(e) belongs to exp2"},
    {SCORE_UNSCALED, RECORD_CAUSE_SCALE, .message = "as if S were Q K^T without the scale"},
    {SCALE_OF_0, RECORD_CAUSE_SCALE,
     .message = "as if the scale were 0: a scale of 0 stands for 1/sqrt(head_dim), see backward_scale()"},
    {TERMS_UNPADDED, RECORD_CAUSE_TERMS,
     .message = "the terms of other rows were taken: in plan.terms a head has whole tiles, plan.q_tiles * TILE_Q rows"},
    {NO_FACTOR, RECORD_CAUSE_SCALE,
     .message = "dQ and dK lack the scale: S = scale * Q K^T, so they are scale times the products of dS"},
    {FACTOR_TWICE, RECORD_CAUSE_SCALE, .message = "the scale is in it twice: once in S, once in dQ and dK"},
    {FACTOR_OF_DV, RECORD_CAUSE_SCALE, .message = "dV is times scale: P^T dO has no factor"},
    {ONE_KEY_MORE, RECORD_CAUSE_MASK, .message = "mask off by one: every query sees one key too many"},
    {ONE_KEY_LESS, RECORD_CAUSE_MASK, .message = "mask off by one: every query sees one key too few"},
    {TOP_LEFT, RECORD_CAUSE_MASK, .message = "the mask is aligned to the top left; correct: query i sees keys up to i + kv_len - q_len"},
    {NO_MASK, RECORD_CAUSE_MASK, .message = "as without the causal mask"},
    {MASK_LATE, RECORD_CAUSE_MASK,
     .message = "mask off by one: the first query of a tile sees one key too many: does a tile whose last key it does not see "
                "count as one without a mask?", .sizes = {128, 64, 128, 64}, .others = {32, 32, 64, 64}},
    {QUERY_OF_TILE, RECORD_CAUSE_MASK,
     .message = "the mask counts the queries of a tile from 0: keys_seen() takes the query's number in its head",
     .sizes = {32, 16, 64}},
    {KEY_OF_TILE, RECORD_CAUSE_MASK,
     .message = "the mask counts the keys of a tile from 0: add the tile's first key", .sizes = {32, 128}},
    {KEY_OF_WARP, RECORD_CAUSE_MASK,
     .message = "the mask takes the keys of every warp for those of warp 0: add the warp's number times WARP_KEYS",
     .sizes = {128}},
    {FIRST_OF_GROUP, RECORD_CAUSE_KV_HEAD,
     .message = "only the first query head of each group counts: dK and dV are sums over all heads that read the K/V head"},
    {LAST_OF_GROUP, RECORD_CAUSE_KV_HEAD,
     .message = "only the last query head of each group counts: dK and dV are sums over all heads that read the K/V head"},
    {HEAD_MODULO, RECORD_CAUSE_KV_HEAD, .message = "wrong K/V head: h %% kv_heads in place of h / (heads / kv_heads)"},
    {FIRST_TILE, RECORD_CAUSE_Q_TILES,
     .message = "only the first tile counts: dK and dV are sums over all tiles of queries, dQ over all tiles of keys",
     .sizes = {64, 32}},
    {FIRST_KEY_TILE, RECORD_CAUSE_KV_TILES,
     .message = "only the first tile of keys counts: dQ is a sum over all of them", .sizes = {128}},
    {LAST_TILE, RECORD_CAUSE_Q_TILES,
     .message = "only the last tile counts: it overwrote what the others had added", .sizes = {64, 32}},
    {LAST_KEY_TILE, RECORD_CAUSE_KV_TILES,
     .message = "only the last tile of keys counts: it overwrote what the others had added to dQ", .sizes = {128}},
    {FIRST_SLICE, RECORD_CAUSE_PARTIALS,
     .message = "only the first slice counts: dQ is the sum of all that a block has written", .sizes = {32, 128}},
    {FIRST_QUERIES, RECORD_CAUSE_Q_TILES,
     .message = "half of the queries are not walked over: in f32 a tile has QUERIES of them, not TILE_Q", .sizes = {32, 16}},
    {WALK_FROM_0, RECORD_CAUSE_Q_TILES,
     .message = "the walk begins at query 0: its first tile is walk.first_q_tile", .sizes = {32, 128}},
    {TILE_BEFORE, RECORD_CAUSE_KV_TILES, .where = DETERMINISTIC,
     .message = "dK and dV still hold what the block's tile of keys before has left: they begin at 0 for each",
     .sizes = {32, 128}},
    {DS_SCALED, RECORD_CAUSE_SCALE, .where = HALVES,
     .message = "dS is multiplied by the scale and rounded to 16 bits then, where it may overflow or vanish: scale dQ and dK, which "
                "are floats"},
    {DS_AS_HALF, RECORD_CAUSE_STORAGE_TYPE, .where = HALVES,
     .message = "dS passes through half: there it is 0 below 3e-8, and infinite above 65504"},
    {SLICES_OF_FIRST_QUERY, RECORD_CAUSE_PARTIALS,
     .message = "the slices of dQ that are added end with the keys that the first query of a tile sees: the last one sees the most",
     .sizes = {128, 32}},
    {DV_OF_DS, RECORD_CAUSE_PRODUCTS, .message = "dV is made of dS: dV = P^T dO"},
    {DV_OF_Q, RECORD_CAUSE_PRODUCTS, .message = "dV is made with Q: dV = P^T dO"},
    {DK_OF_DOUT, RECORD_CAUSE_PRODUCTS, .message = "dK is made with dO: dK = scale * dS^T Q"},
    {DQ_OF_V, RECORD_CAUSE_PRODUCTS, .message = "dQ is made with V: dQ = scale * dS K"},
    {EXCHANGED, RECORD_CAUSE_PRODUCTS, .message = "dk holds dV, or dv holds dK: they are exchanged"},
    {DP_OF_Q, RECORD_CAUSE_PRODUCTS, .message = "dP is made with Q: dP = dO V^T"},
    {DP_OF_K, RECORD_CAUSE_PRODUCTS, .message = "dP is made with K: dP = dO V^T"},
    {B_UNTRANSPOSED, RECORD_CAUSE_FRAGMENT, .where = HALVES,
     .message = "B is not transposed in multiply_rows: its rows are columns of Q, as load_b_transposed gives them"},
    {HALF_OF_B, RECORD_CAUSE_FRAGMENT, .where = HALVES,
     .message = "queries 8 to 15 of 16 got the product of queries 0 to 7: the second half of B is half 1"},
    {QUADRANTS, RECORD_CAUSE_FRAGMENT, .where = HALVES,
     .message = "x[1] and x[2] of A are exchanged in add_rows: x[1] is rows + 8, x[2] columns + 8"},
    {ROWS_TRANSPOSED, RECORD_CAUSE_FRAGMENT, .where = HALVES,
     .message = "B is transposed in add_rows: its rows are queries as they lie in memory, load_b"},
    {DS_UNTRANSPOSED, RECORD_CAUSE_FRAGMENT, .where = HALVES,
     .message = "A is not transposed in add_dq: shared memory holds dS^T, so A is what load_a_transposed gives"},
    {TERMS_OF_Y, RECORD_CAUSE_TERMS, .where = HALVES,
     .message = "weigh takes the terms of another query: of element y of C, y / 2 tells the key and y %% 2 the query"},
    {KEYS_OF_WARP_0, RECORD_CAUSE_FRAGMENT, .where = HALVES,
     .message = "every warp has the keys of warp 0: in multiply_rows a warp's keys begin at its number times WARP_KEYS"},
    {SUB_FORGOTTEN, RECORD_CAUSE_FRAGMENT, .where = HALVES,
     .message = "the second SUB queries of a tile got the product of the first: multiply_rows begins at first_query"},
    {TERMS_OF_SUB_0, RECORD_CAUSE_TERMS, .where = HALVES,
     .message = "the second SUB queries of a tile got the terms of the first: weigh begins at those of its first query"},
    {KEYS_OF_ONE_WARP, RECORD_CAUSE_PARTIALS, .where = HALVES,
     .message = "dQ has the keys of one warp alone: in add_dq a warp sums over all keys of the block"},
};
/* clang-format on */

/** What a guess is about. */
struct guess {
    const struct lesson_case *item;
    const float *const *data;
    struct mistake mistake;
    double scale;
    size_t batch, heads, kv_heads, q_len, kv_len, head_dim;
};

enum { ROW_TILE = 64 }; /* queries in a tile of terms */

static double dot(const float *a, const float *b, size_t count)
{
    double sum = 0.0;
    for (size_t d = 0; d < count; d++) sum += (double)a[d] * (double)b[d];
    return sum;
}

/* The first query of the tile of 64 queries with which the loop for a tile of keys begins. */
static long walk_begins(const struct guess *g, size_t key, size_t tile)
{
    long first = (long)(key / tile * tile) - ((long)g->kv_len - (long)g->q_len);
    return g->item->value[BW_CAUSAL] != 1 || first < 0 ? 0 : first / ROW_TILE * ROW_TILE;
}

/* How many keys query `i` of its head uses under the mistake. */
static long keys_taken(const struct guess *g, long i)
{
    const int mask = g->mistake.number;
    const long kv_len = (long)g->kv_len;
    if (g->item->value[BW_CAUSAL] != 1 || mask == NO_MASK) return kv_len;
    long query = mask == QUERY_OF_TILE ? i % g->mistake.size : i;
    long visible = query + 1 + (mask == TOP_LEFT ? 0 : kv_len - (long)g->q_len);
    return visible + (mask == ONE_KEY_MORE) - (mask == ONE_KEY_LESS);
}

/* Under the mistake, element y of C belongs to query y / 2 and key y % 2. */
static size_t query_by_y(size_t i, size_t j)
{
    return i / 2 * 2 + (j % 16 >= 8);
}

static int sees(const struct guess *g, size_t i, size_t j)
{
    const int mask = g->mistake.number, of_tile = mask == KEY_OF_TILE || mask == KEY_OF_WARP;
    size_t tile = (size_t)g->mistake.size, key = j, query = i, warp_keys = g->head_dim == 128 ? 16 : 32;
    if (j >= g->kv_len) return 0;
    if (of_tile && g->item->value[BW_CAUSAL] == 1 && (long)i < walk_begins(g, j, tile)) return 0;
    if (mask == KEY_OF_TILE) key = j % tile;
    if (mask == KEY_OF_WARP) key = j / tile * tile + j % tile % warp_keys;
    if (g->mistake.number == TERMS_OF_Y) {
        key = j / 16 * 16 + j % 8 + i % 2 * 8;
        query = query_by_y(i, j);
    }
    if (mask == MASK_LATE && (key + 1) % tile == 0 && query % (size_t)g->mistake.other == 0)
        return (long)key <= keys_taken(g, (long)query);
    return (long)key < keys_taken(g, (long)query);
}

/* The row and key (over all heads) whose product is used as this score. */
static void place_of_product(const struct guess *g, size_t *row, size_t *key)
{
    size_t i = *row % g->q_len, j = *key % g->kv_len, warp_keys = g->head_dim == 128 ? 16 : 32;
    if (g->mistake.number == HALF_OF_B && i % 16 >= 8) *row -= 8;
    if (g->mistake.number == SUB_FORGOTTEN && i % ROW_TILE >= ROW_TILE / 2) *row -= ROW_TILE / 2;
    if (g->mistake.number == KEYS_OF_WARP_0) *key -= j % 128 / warp_keys * warp_keys;
}

/* The row whose terms are used; SIZE_MAX where that row does not exist or sees nothing. */
static size_t row_of_terms(const struct guess *g, size_t row, size_t key)
{
    size_t i = row % g->q_len, first = row - i, padded = (g->q_len + ROW_TILE - 1) / ROW_TILE * ROW_TILE;
    if (g->mistake.number == TERMS_OF_SUB_0 && i % ROW_TILE >= ROW_TILE / 2) return row - ROW_TILE / 2;
    if (g->mistake.number == TERMS_OF_Y) {
        size_t other = query_by_y(i, key % g->kv_len);
        return other < g->q_len ? first + other : SIZE_MAX;
    }
    if (g->mistake.number != TERMS_UNPADDED) return row;
    size_t other = row / padded * g->q_len + row % padded;
    return row % padded < g->q_len && isfinite(g->data[BW_LSE][other]) ? other : SIZE_MAX;
}

/* Row `row` of a times row `other` of b. Without the transpose of B: what 16 x 16 blocks of b then give. */
static double product(const struct guess *g, const float *a, size_t other, const float *b)
{
    size_t dim = g->head_dim, i = other % g->q_len, first = i / 16 * 16;
    if (g->mistake.number != B_UNTRANSPOSED) return dot(a, b + other * dim, dim);
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
    if (g->mistake.number == NO_D) return 0.0;
    for (size_t c = 0; c < g->head_dim; c += g->mistake.number == D_OF_A_LANE ? 32 : 1)
        d += (double)dout[c] * (g->mistake.number == D_OF_GRADIENT ? 1.0 : (double)out[c]);
    return g->mistake.number == D_ADDED ? -d : d;
}

/* P and dS of query row `row` and key row `key`, both counted over all heads. */
static void find_weights(const struct guess *g, size_t row, size_t key, double *p, double *ds)
{
    size_t terms = row_of_terms(g, row, key);
    *p = *ds = 0.0;
    if (terms == SIZE_MAX) return;
    double lse = (double)g->data[BW_LSE][terms], d = find_d(g, terms);
    place_of_product(g, &row, &key);
    const float *value = g->data[g->mistake.number == DP_OF_K ? BW_K : BW_V] + key * g->head_dim;
    double s = product(g, g->data[BW_K] + key * g->head_dim, row, g->data[BW_Q]);
    double dp = product(g, value, row, g->data[g->mistake.number == DP_OF_Q ? BW_Q : BW_DOUT]);
    if (g->mistake.number != SCORE_UNSCALED) s *= g->scale;
    if (g->mistake.number == SCALE_OF_0) s = 0.0;
    if (g->mistake.number == NO_LSE) lse = 0.0;
    if (g->mistake.number == LSE_NATURAL) lse *= log(2.0);
    if (g->mistake.number == LSE_IN_EXP) lse /= log(2.0);
    *p = exp(s - lse);
    *ds = g->mistake.number == D_OUTSIDE ? *p * dp - d : *p * (dp - d);
    if (g->mistake.number == D_NEGATIVE) *ds = -*ds;
    if (g->mistake.number == P_FOR_DS) *ds = *p;
    if (g->mistake.number == DP_FOR_DS) *ds = dp - d;
    if (g->mistake.number == DS_SCALED)
        *ds = (double)storage_round(backward_storage(g->item), (float)(*ds * g->scale));
    if (g->mistake.number == DS_AS_HALF) *ds = (double)storage_round(STORAGE_F16, (float)*ds);
}

/* The deterministic kernel: how many blocks share a head's tiles of keys. */
static size_t slices_of(const struct guess *g)
{
    size_t wanted = (256 + g->batch * g->kv_heads - 1) / (g->batch * g->kv_heads),
           most = (g->kv_len + 127) / 128;
    size_t slices = wanted < most ? wanted : most;
    return slices < 32 ? slices : 32;
}

/* 1 if term `at` of `count` is part of the sum. */
static int counts(const struct guess *g, size_t at, size_t count)
{
    const size_t tile = (size_t)g->mistake.size;
    switch (g->mistake.number) {
    case FIRST_TILE:
    case FIRST_KEY_TILE:
        return at < tile;
    case LAST_TILE:
    case LAST_KEY_TILE:
        return at / tile == (count - 1) / tile;
    default:
        return 1;
    }
}

/* 1 if the loop for the tile of key `key` reaches query `query`. */
static int walked(const struct guess *g, size_t query, size_t key)
{
    const int tiles = g->mistake.number;
    if (tiles != FIRST_QUERIES && tiles != WALK_FROM_0) return 1;
    long tile = g->mistake.size, half = tiles == FIRST_QUERIES, at = (long)query;
    long begin = walk_begins(g, key, half ? 32 : (size_t)tile), rest = (long)g->q_len - begin;
    long step = tile != 32 ? ROW_TILE : g->head_dim == 128 ? 16 : 32;
    if (!half) return at < (rest + step - 1) / step * step;
    long from = begin / ROW_TILE * tile, steps = (rest + ROW_TILE - 1) / ROW_TILE;
    return at >= from && at < from + steps * tile;
}

static double factor_of(const struct guess *g)
{
    if (g->mistake.number == SCALE_OF_0) return 0.0;
    if (g->mistake.number == NO_FACTOR || g->mistake.number == DS_SCALED) return 1.0;
    return g->mistake.number == FACTOR_TWICE ? g->scale * g->scale : g->scale;
}

static double dq_element(const struct guess *g, size_t row, size_t column)
{
    size_t group = g->heads / g->kv_heads, h = row / g->q_len % g->heads, b = row / g->q_len / g->heads;
    size_t kv = g->mistake.number == HEAD_MODULO ? h % g->kv_heads : h / group, i = row % g->q_len;
    size_t first = (b * g->kv_heads + kv) * g->kv_len;
    const float *with = g->data[g->mistake.number == DQ_OF_V ? BW_V : BW_K];
    size_t warp_keys = g->head_dim == 128 ? 16 : 32, columns = g->head_dim == 128 ? 32 : g->head_dim / 2;
    size_t warp = column / columns * 2 + i % ROW_TILE / 32, tile_keys = 128;
    double sum = 0.0, p, ds;
    for (size_t j = 0; j < g->kv_len; j++) {
        size_t query = i, key = j;
        if (g->mistake.number == KEYS_OF_ONE_WARP && j % tile_keys / warp_keys != warp) continue;
        if (g->mistake.number == DS_UNTRANSPOSED) {
            query = i / 16 * 16 + j % 16;
            key = j / 16 * 16 + i % 16;
            if (query >= g->q_len || key >= g->kv_len) continue;
        }
        if (!sees(g, query, key) || !counts(g, j, g->kv_len) || !walked(g, query, key)) continue;
        if (g->mistake.number == FIRST_SLICE && j / (size_t)g->mistake.size % slices_of(g) != 0) continue;
        if (g->mistake.number == SLICES_OF_FIRST_QUERY &&
            (long)(j / (size_t)g->mistake.size % slices_of(g)) * g->mistake.size >=
                keys_taken(g, (long)(i / ROW_TILE * ROW_TILE)))
            continue;
        find_weights(g, row - i + query, first + key, &p, &ds);
        sum += ds * (double)with[(first + j) * g->head_dim + column];
    }
    return sum * factor_of(g);
}

static int reads(const struct guess *g, size_t h, size_t kv)
{
    size_t group = g->heads / g->kv_heads;
    if (g->mistake.number == HEAD_MODULO) return h % g->kv_heads == kv;
    if (h / group != kv) return 0;
    if (g->mistake.number == FIRST_OF_GROUP) return h % group == 0;
    return g->mistake.number != LAST_OF_GROUP || h % group == group - 1;
}

/* Sets the weight with which query row `row` is added to key row `key`, both counted over all heads; 0 if
 * it is not added. */
static int weight_of(const struct guess *g, size_t row, size_t key, double *p, double *ds)
{
    size_t i = row % g->q_len, j = key % g->kv_len;
    if (g->mistake.number == QUADRANTS && (i % 16 >= 8) != (j % 16 >= 8)) {
        size_t query = i % 16 >= 8 ? i - 8 : i + 8, other = j % 16 >= 8 ? j - 8 : j + 8;
        if (query >= g->q_len || other >= g->kv_len) return 0;
        row += query - i, key += other - j, i = query, j = other;
    }
    if (!sees(g, i, j) || !counts(g, i, g->q_len) || !walked(g, i, j)) return 0;
    find_weights(g, row, key, p, ds);
    return 1;
}

/* The term of query row `row` in dK or dV of key row `key`, both counted over all heads. */
static double key_term(const struct guess *g, size_t row, size_t key, size_t column, int is_dk)
{
    size_t i = row % g->q_len, other = i / 16 * 16 + column % 16;
    int of_q = is_dk ? g->mistake.number != DK_OF_DOUT : g->mistake.number == DV_OF_Q;
    const float *with = g->data[of_q ? BW_Q : BW_DOUT];
    double p, ds;
    if (!weight_of(g, row, key, &p, &ds)) return 0.0;
    double weight = is_dk || g->mistake.number == DV_OF_DS ? ds : p;
    if (g->mistake.number != ROWS_TRANSPOSED) return weight * (double)with[row * g->head_dim + column];
    if (other >= g->q_len) return 0.0;
    return weight * (double)with[(row - i + other) * g->head_dim + column / 16 * 16 + i % 16];
}

static double key_element(const struct guess *g, size_t key, size_t column, int is_dk)
{
    size_t kv = key / g->kv_len % g->kv_heads, b = key / g->kv_len / g->kv_heads;
    size_t before = slices_of(g) * (size_t)g->mistake.size, j = key % g->kv_len;
    if (g->mistake.number == EXCHANGED) is_dk = !is_dk;
    double sum = 0.0;
    for (size_t h = 0; h < g->heads; h++)
        for (size_t i = 0; i < g->q_len && reads(g, h, kv); i++)
            sum += key_term(g, (b * g->heads + h) * g->q_len + i, key, column, is_dk);
    sum *= is_dk ? factor_of(g) : g->mistake.number == FACTOR_OF_DV ? g->scale : 1.0;
    if (g->mistake.number == TILE_BEFORE && j >= before) sum += key_element(g, key - before, column, is_dk);
    return sum;
}

int backward_guess(const struct lesson_case *item, const float *const *data, int index, int buffer, size_t at,
                   struct lesson_guess *guess)
{
    const double most = 4e6; /* operations for an element */
    struct ref_attention_shape shape = backward_shape(item);
    struct guess g = {.item = item,
                      .data = data,
                      .scale = ref_attention_scale(&shape),
                      .batch = (size_t)item->extent[BW_BATCH],
                      .heads = (size_t)shape.heads,
                      .kv_heads = (size_t)shape.kv_heads,
                      .q_len = (size_t)shape.q_len,
                      .kv_len = (size_t)item->extent[BW_KV_LEN],
                      .head_dim = (size_t)shape.head_dim};
    const struct mistake_row *known =
        mistake_at(MISTAKES, sizeof MISTAKES / sizeof MISTAKES[0], &index, &g.mistake, guess);
    if (known == NULL) return -1;
    if (known->where & HALVES && backward_storage(item) == STORAGE_F32) return 0;
    if (known->where & DETERMINISTIC && (item->value[BW_IS_DETERMINISTIC] != 1 || buffer == BW_DQ)) return 0;
    if (known->number == DS_AS_HALF && (backward_storage(item) != STORAGE_BF16 || buffer == BW_DV)) return 0;
    if (known->number == SLICES_OF_FIRST_QUERY &&
        (item->value[BW_IS_DETERMINISTIC] != 1 || item->value[BW_CAUSAL] != 1 || buffer != BW_DQ))
        return 0;
    /* 0, which many other mistakes give, too */
    if (known->number == SCALE_OF_0 && buffer != BW_DV) return 0;
    double terms = buffer == BW_DQ ? (double)g.kv_len : (double)g.q_len * (double)(g.heads / g.kv_heads);
    if (terms * (double)g.head_dim > most) return 0;
    size_t row = at / g.head_dim, column = at % g.head_dim;
    guess->value =
        buffer == BW_DQ ? dq_element(&g, row, column) : key_element(&g, row, column, buffer == BW_DK);
    return 1;
}
