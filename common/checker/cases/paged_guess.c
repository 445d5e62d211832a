/**
 * @file paged_guess.c
 * @brief Decode attention over pages: what would come out if a well-known mistake had been made.
 */
#include <math.h>
#include <stdio.h>

#include "attention_cases.h"
#include "paged_cases.h"

/** A mistake, as a change to the definition. */
struct mistake {
    const char *message;
    enum { TABLE_RIGHT, TABLE_UNUSED, TABLE_OF_FIRST } table;
    enum { HEAD_RIGHT, HEAD_MODULO, NO_HEADS } head;
    enum { SCORE_RIGHT, NO_SCALE, SCALE_OF_0, NO_SLOPE, SLOPE_SIGN, SLOPE_COMPUTED } score;
    int unseen; /* keys at the end that are not seen */
    int undivided;
    int max_from_zero; /* the running maximum begins at 0 */
};

static const struct mistake MISTAKES[] = {
    {"as if page t / block_size held token t: is the block table used?", TABLE_UNUSED, 0, 0, 0, 0, 0},
    {"as if all sequences had the pages of the first: rows of block_table are max_blocks apart",
     TABLE_OF_FIRST, 0, 0, 0, 0, 0},
    {"wrong K/V head: h % kv_heads in place of h / (heads / kv_heads)", 0, HEAD_MODULO, 0, 0, 0, 0},
    {"as without the scale: is every score multiplied by it, and by 1/sqrt(head_dim) where it is 0? scale 0 "
     "stands for that",
     0, 0, NO_SCALE, 0, 0, 0},
    {"as if the scale were 0: scale 0 stands for 1/sqrt(head_dim)", 0, 0, SCALE_OF_0, 0, 0, 0},
    {"as without ALiBi: slope * (t - last token) belongs to a score", 0, 0, NO_SLOPE, 0, 0, 0},
    {"as if the last key were not seen: a sequence has context_lens[b] of them", 0, 0, 0, 1, 0, 0},
    {"never divided by the sum of the exponentials", 0, 0, 0, 0, 1, 0},
    {"the maximum begins at 0, not at -infinity: all scores are far below 0, and every exp(score - 0) is 0",
     0, 0, 0, 0, 0, 1},
    {"ALiBi with the other sign: slope * (t - last token) is never above 0", 0, 0, SLOPE_SIGN, 0, 0, 0},
    {"ALiBi with computed slopes, 2^(-8 (h + 1) / heads): alibi_slopes[h] is given", 0, 0, SLOPE_COMPUTED, 0,
     0, 0},
    {"as if the rows of a page were head_dim apart: a token has kv_heads of them", 0, NO_HEADS, 0, 0, 0, 0},
};

/** One element of the output, and what the mistake finds its keys by. */
struct element {
    const struct lesson_case *item;
    const float *const *data;
    const struct mistake *mistake;
    size_t b, h, column;
    int length; /* keys that are seen */
};

static int applies(const struct element *e)
{
    const int *extent = e->item->extent;
    switch (e->mistake->table) {
    case TABLE_UNUSED:
        if (paged_pages_of(e->item, e->length) > extent[PA_NUM_BLOCKS]) return 0;
        break;
    case TABLE_OF_FIRST:
        if (e->b > 0 && e->data[PA_LENS][0] < e->data[PA_LENS][e->b]) return 0;
        break;
    default:
        break;
    }
    if (e->mistake->head == HEAD_MODULO && extent[PA_HEADS] == extent[PA_KV_HEADS]) return 0;
    if (e->mistake->score == SCALE_OF_0 && e->item->real[0] != 0.0) return 0;
    if (e->mistake->head == NO_HEADS && extent[PA_KV_HEADS] == 1) return 0;
    return e->mistake->score < NO_SLOPE || e->item->null_buffer != PA_SLOPES;
}

/* Where the row of token t begins in either cache. */
static size_t row_of(const struct element *e, int t)
{
    const int *extent = e->item->extent;
    size_t heads = (size_t)extent[PA_HEADS], kv_heads = (size_t)extent[PA_KV_HEADS];
    size_t kv_head = e->mistake->head == HEAD_MODULO ? e->h % kv_heads : e->h / (heads / kv_heads);
    size_t place = (size_t)(t / extent[PA_BLOCK_SIZE]), page = place;
    size_t row = e->mistake->table == TABLE_OF_FIRST ? 0 : e->b;
    if (e->mistake->table != TABLE_UNUSED)
        page = (size_t)e->data[PA_TABLE][row * (size_t)extent[PA_MAX_BLOCKS] + place] -
               (size_t)e->item->value[PA_FIRST_PAGE];
    size_t token = page * (size_t)extent[PA_BLOCK_SIZE] + (size_t)(t % extent[PA_BLOCK_SIZE]);
    if (e->mistake->head == NO_HEADS) kv_heads = 1;
    return (token * kv_heads + kv_head) * (size_t)extent[PA_HEAD_DIM];
}

static double score_of(const struct element *e, int t)
{
    size_t head_dim = (size_t)e->item->extent[PA_HEAD_DIM];
    const float *q = e->data[PA_Q] + (e->b * (size_t)e->item->extent[PA_HEADS] + e->h) * head_dim;
    const float *k = e->data[PA_K] + row_of(e, t);
    double scale = e->item->real[0] != 0.0 ? e->item->real[0] : 1.0 / sqrt((double)head_dim), dot = 0.0;
    for (size_t d = 0; d < head_dim; d++) dot += (double)q[d] * (double)k[d];
    int biased = e->item->null_buffer != PA_SLOPES && e->mistake->score != NO_SLOPE;
    double slope = biased ? (double)e->data[PA_SLOPES][e->h] : 0.0;
    if (e->mistake->score == SLOPE_SIGN) slope = -slope;
    if (e->mistake->score == SLOPE_COMPUTED)
        slope = exp2(-8.0 * (double)(e->h + 1) / e->item->extent[PA_HEADS]);
    if (e->mistake->score == NO_SCALE) scale = 1.0;
    if (e->mistake->score == SCALE_OF_0) scale = 0.0;
    return scale * dot + slope * (t + 1 - e->length);
}

static double value_of(const struct element *e)
{
    double max = e->mistake->max_from_zero ? 0.0 : (double)-INFINITY, weights = 0.0, sum = 0.0;
    for (int t = 0; t < e->length; t++) max = fmax(max, score_of(e, t));
    for (int t = 0; t < e->length; t++) {
        double weight = exp(score_of(e, t) - max);
        if (e->mistake->max_from_zero) weight = (double)(float)weight; /* far below 0 it is 0 */
        weights += weight;
        sum += weight * (double)e->data[PA_V][row_of(e, t) + e->column];
    }
    return e->mistake->undivided || weights == 0.0 ? sum : sum / weights;
}

static int pieces_guess(struct element *e, int index, double *value, char *message, size_t size)
{
    static const struct mistake none = {0};
    double score[GUESS_KEYS], of_key[GUESS_KEYS];
    e->mistake = &none;
    e->length = (int)e->data[PA_LENS][e->b];
    if (e->length > GUESS_KEYS) return -1; /* a shorter case shows it sooner */
    for (int t = 0; t < e->length; t++) {
        score[t] = score_of(e, t);
        of_key[t] = (double)e->data[PA_V][row_of(e, t) + e->column];
    }
    return guess_in_pieces(index, score, of_key, e->length, value, message, size);
}

int paged_guess(const struct lesson_case *item, const float *const *data, int index, int buffer, size_t at,
                double *value, char *message, size_t size)
{
    const int known = sizeof MISTAKES / sizeof MISTAKES[0];
    if (item->part == PART_VALIDATE || buffer != PA_OUT || item->untouched) return -1;
    size_t head_dim = (size_t)item->extent[PA_HEAD_DIM], row = at / head_dim;
    struct element e = {.item = item, .data = data, .column = at % head_dim};
    e.b = row / (size_t)item->extent[PA_HEADS];
    e.h = row % (size_t)item->extent[PA_HEADS];
    if (index >= known) return pieces_guess(&e, index - known, value, message, size);
    e.mistake = &MISTAKES[index];
    e.length = (int)data[PA_LENS][e.b] - e.mistake->unseen;
    if (!applies(&e)) return 0;
    snprintf(message, size, "%s", e.mistake->message);
    *value = value_of(&e);
    return 1;
}
