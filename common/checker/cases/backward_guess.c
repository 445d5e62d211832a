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
    enum { DS_RIGHT, NO_D, D_ADDED, D_OF_GRADIENT, D_NEGATIVE, P_FOR_DS, DP_FOR_DS } ds;
    enum { P_RIGHT, NO_LSE, LSE_NATURAL, SCORE_UNSCALED } p;
    enum { FACTOR_RIGHT, NO_FACTOR, FACTOR_TWICE } factor; /* scale, of dQ and dK */
    enum { MASK_RIGHT, ONE_KEY_MORE, ONE_KEY_LESS, TOP_LEFT, NO_MASK } mask;
    enum { HEADS_RIGHT, FIRST_OF_GROUP, LAST_OF_GROUP, HEAD_MODULO } heads;
    enum { TILES_RIGHT, FIRST_TILE, LAST_TILE } tiles; /* of what is summed up */
    int tile;
};

static const struct mistake MISTAKES[] = {
    {"as if D were 0: dS = P * (dP - D), where D is the sum of dO * O over a row", NO_D, 0, 0, 0, 0, 0, 0},
    {"as if D were added: dS = P * (dP - D)", D_ADDED, 0, 0, 0, 0, 0, 0},
    {"as if D were the sum of dO alone: D is the sum of dO * O over a row", D_OF_GRADIENT, 0, 0, 0, 0, 0, 0},
    {"of the opposite sign: dS = P * (dP - D)", D_NEGATIVE, 0, 0, 0, 0, 0, 0},
    {"made of P where dS belongs: dQ and dK are sums of dS", P_FOR_DS, 0, 0, 0, 0, 0, 0},
    {"as if dS were dP - D, without the factor P", DP_FOR_DS, 0, 0, 0, 0, 0, 0},
    {"as if P were exp(S): P = exp(S - lse), with the logsumexp that the forward pass has saved", 0, NO_LSE,
     0, 0, 0, 0, 0},
    {"as if lse were in base 2: exp2 takes S * log2(e) - lse * log2(e)", 0, LSE_NATURAL, 0, 0, 0, 0, 0},
    {"as if S were Q K^T without the scale", 0, SCORE_UNSCALED, 0, 0, 0, 0, 0},
    {"dQ and dK lack the scale: S = scale * Q K^T, so they are scale times the products of dS", 0, 0,
     NO_FACTOR, 0, 0, 0, 0},
    {"the scale is in it twice: once in S, once in dQ and dK", 0, 0, FACTOR_TWICE, 0, 0, 0, 0},
    {"mask off by one: every query sees one key too many", 0, 0, 0, ONE_KEY_MORE, 0, 0, 0},
    {"mask off by one: every query sees one key too few", 0, 0, 0, ONE_KEY_LESS, 0, 0, 0},
    {"the mask is aligned to the top left: query i sees keys up to i + kv_len - q_len", 0, 0, 0, TOP_LEFT, 0,
     0, 0},
    {"as without the causal mask", 0, 0, 0, NO_MASK, 0, 0, 0},
    {"only the first query head of each group counts: dK and dV are sums over all heads that read the K/V "
     "head",
     0, 0, 0, 0, FIRST_OF_GROUP, 0, 0},
    {"only the last query head of each group counts: dK and dV are sums over all heads that read the K/V "
     "head",
     0, 0, 0, 0, LAST_OF_GROUP, 0, 0},
    {"wrong K/V head: h % kv_heads in place of h / (heads / kv_heads)", 0, 0, 0, 0, HEAD_MODULO, 0, 0},
    {"only the first tile counts: dK and dV are sums over all tiles of queries, dQ over all tiles of keys", 0,
     0, 0, 0, 0, FIRST_TILE, 64},
    {"only the first tile counts: dK and dV are sums over all tiles of queries, dQ over all tiles of keys", 0,
     0, 0, 0, 0, FIRST_TILE, 32},
    {"only the first tile of keys counts: dQ is a sum over all of them", 0, 0, 0, 0, 0, FIRST_TILE, 128},
    {"only the last tile counts: it overwrote what the others had added", 0, 0, 0, 0, 0, LAST_TILE, 64},
    {"only the last tile counts: it overwrote what the others had added", 0, 0, 0, 0, 0, LAST_TILE, 32},
    {"only the last tile of keys counts: it overwrote what the others had added to dQ", 0, 0, 0, 0, 0,
     LAST_TILE, 128},
};
enum { MISTAKE_COUNT = sizeof MISTAKES / sizeof MISTAKES[0] };

/** What a guess is about. */
struct guess {
    const struct lesson_case *item;
    const float *const *data;
    const struct mistake *mistake;
    double scale;
    size_t heads, kv_heads, q_len, kv_len, head_dim;
};

static double dot(const float *a, const float *b, size_t count)
{
    double sum = 0.0;
    for (size_t d = 0; d < count; d++) sum += (double)a[d] * (double)b[d];
    return sum;
}

static int sees(const struct guess *g, size_t i, size_t j)
{
    long kv_len = (long)g->kv_len, visible = kv_len;
    if (g->item->value[BW_CAUSAL] == 1 && g->mistake->mask != NO_MASK)
        visible = (long)i + 1 + (g->mistake->mask == TOP_LEFT ? 0 : kv_len - (long)g->q_len);
    if (g->item->value[BW_CAUSAL] == 1 && g->mistake->mask == ONE_KEY_MORE) visible++;
    if (g->item->value[BW_CAUSAL] == 1 && g->mistake->mask == ONE_KEY_LESS) visible--;
    return (long)j < visible && j < g->kv_len;
}

/* P and dS of query row `row` of all heads and key row `key` of all. */
static void find_weights(const struct guess *g, size_t row, size_t key, double *p, double *ds)
{
    const float *q = g->data[BW_Q] + row * g->head_dim, *dout = g->data[BW_DOUT] + row * g->head_dim;
    const float *out = g->data[BW_OUT] + row * g->head_dim;
    double lse = (double)g->data[BW_LSE][row], d = dot(dout, out, g->head_dim);
    double s = dot(q, g->data[BW_K] + key * g->head_dim, g->head_dim);
    double dp = dot(dout, g->data[BW_V] + key * g->head_dim, g->head_dim);
    if (g->mistake->p != SCORE_UNSCALED) s *= g->scale;
    if (g->mistake->p == NO_LSE) lse = 0.0;
    if (g->mistake->p == LSE_NATURAL) lse *= log(2.0);
    *p = exp(s - lse);
    if (g->mistake->ds == NO_D) d = 0.0;
    if (g->mistake->ds == D_ADDED) d = -d;
    if (g->mistake->ds == D_OF_GRADIENT) {
        d = 0.0;
        for (size_t c = 0; c < g->head_dim; c++) d += (double)dout[c];
    }
    *ds = *p * (dp - d);
    if (g->mistake->ds == D_NEGATIVE) *ds = -*ds;
    if (g->mistake->ds == P_FOR_DS) *ds = *p;
    if (g->mistake->ds == DP_FOR_DS) *ds = dp - d;
}

/* 1 if term `at` of `count` is summed up. */
static int counts(const struct guess *g, size_t at, size_t count)
{
    size_t tile = (size_t)g->mistake->tile;
    if (g->mistake->tiles == FIRST_TILE) return at < tile;
    return g->mistake->tiles != LAST_TILE || at / tile == (count - 1) / tile;
}

static double factor_of(const struct guess *g)
{
    if (g->mistake->factor == NO_FACTOR) return 1.0;
    return g->mistake->factor == FACTOR_TWICE ? g->scale * g->scale : g->scale;
}

static double dq_element(const struct guess *g, size_t row, size_t column)
{
    size_t group = g->heads / g->kv_heads, h = row / g->q_len % g->heads, b = row / g->q_len / g->heads;
    size_t kv = g->mistake->heads == HEAD_MODULO ? h % g->kv_heads : h / group;
    size_t first = (b * g->kv_heads + kv) * g->kv_len;
    double sum = 0.0, p, ds;
    for (size_t j = 0; j < g->kv_len; j++) {
        if (!sees(g, row % g->q_len, j) || !counts(g, j, g->kv_len)) continue;
        find_weights(g, row, first + j, &p, &ds);
        sum += ds * (double)g->data[BW_K][(first + j) * g->head_dim + column];
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

static double key_element(const struct guess *g, size_t key, size_t column, int is_dk)
{
    size_t kv = key / g->kv_len % g->kv_heads, b = key / g->kv_len / g->kv_heads;
    double sum = 0.0, p, ds;
    for (size_t h = 0; h < g->heads; h++)
        for (size_t i = 0; i < g->q_len; i++) {
            if (!reads(g, h, kv) || !sees(g, i, key % g->kv_len) || !counts(g, i, g->q_len)) continue;
            size_t row = (b * g->heads + h) * g->q_len + i, at = row * g->head_dim + column;
            find_weights(g, row, key, &p, &ds);
            sum += is_dk ? ds * (double)g->data[BW_Q][at] : p * (double)g->data[BW_DOUT][at];
        }
    return is_dk ? sum * factor_of(g) : sum;
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
                      .heads = (size_t)shape.heads,
                      .kv_heads = (size_t)shape.kv_heads,
                      .q_len = (size_t)shape.q_len,
                      .kv_len = (size_t)item->extent[BW_KV_LEN],
                      .head_dim = (size_t)shape.head_dim};
    double terms = buffer == BW_DQ ? (double)g.kv_len : (double)g.q_len * (double)(g.heads / g.kv_heads);
    if (terms * (double)g.head_dim > most) return 0;
    size_t row = at / g.head_dim, column = at % g.head_dim;
    *value = buffer == BW_DQ ? dq_element(&g, row, column) : key_element(&g, row, column, buffer == BW_DK);
    snprintf(message, size, "%s", MISTAKES[index].message);
    return 1;
}
