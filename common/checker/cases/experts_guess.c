/**
 * @file experts_guess.c
 * @brief Lesson 21: what a kernel would give with a well-known mistake in it.
 */
#include <math.h>
#include <stdlib.h>

#include "experts.h"
#include "experts_cases.h"
#include "mistakes.h"
#include "misread.h"

enum {
    OF_A = 1,
    OF_W = 2,
    OF_UP = 4,
    OF_EXPERT = 8,
    OF_WEIGHT = 16,
    OF_ANSWER = 32,
    OF_CHOSEN = 64,
    OF_X = 128
};
enum { ALONG_ROWS, ALONG_LINES, ALONG_K, ALONG_EXPERTS, ALONG_CHOICES };

enum expert_mistake {
    NOTHING,
    /* routing */
    NOT_DIVIDED,
    DIVIDED_AGAIN,
    NOT_DIVIDED_AGAIN,
    LAST_FIRST,
    BY_INDEX,
    TIES_TO_LARGER,
    SMALLEST,
    NAN_CHOSEN,
    /* pairs by expert */
    COUNTS,
    INCLUSIVE,
    ROWS_FROM_0,
    PAIRS_BACKWARDS,
    SAME_ROW,
    PAIR_OF_ROW,
    /* products */
    NO_SILU,
    SIGMOID,
    NO_UP,
    GATE_ALONE,
    EXCHANGED,
    GATE_UP_ROUNDED,
    UP_FURTHER /* [lines] */,
    LINES_OF_N,
    ROWS_OF_A_FROM_0,
    /* the layer */
    NO_WEIGHTS,
    PAIRS_BY_CHOICE,
    LAST_CHOICE_FIRST
};

/* clang-format off */
#define OF(part) (1U << (part))
static const struct mistake_row MISTAKES[] = {
    {NOT_DIVIDED, RECORD_CAUSE_NORMALISE, OF(EXPERTS_ROUTE) | OF(EXPERTS_LAYER),
     .message = "the weights are not divided by the sum of exp(logit - largest)"},
    {DIVIDED_AGAIN, RECORD_CAUSE_NORMALISE, OF(EXPERTS_ROUTE) | OF(EXPERTS_LAYER),
     .message = "weights are divided by their sum although renormalise is 0: softmax is of all logits, not of those chosen"},
    {NOT_DIVIDED_AGAIN, RECORD_CAUSE_NORMALISE, OF(EXPERTS_ROUTE) | OF(EXPERTS_LAYER),
     .message = "renormalise is ignored: the weights of a token are not divided by their sum"},
    {LAST_FIRST, RECORD_CAUSE_LAYOUT, OF(EXPERTS_ROUTE), .message = "a token's choices are in rising order: the largest comes first"},
    {BY_INDEX, RECORD_CAUSE_LAYOUT, OF(EXPERTS_ROUTE), .message = "a token's choices are in the order of the experts, not of their logits"},
    {TIES_TO_LARGER, RECORD_CAUSE_LOGITS, OF(EXPERTS_ROUTE) | OF(EXPERTS_LAYER),
     .message = "of equal logits the larger index is taken first: it is the smaller one"},
    {SMALLEST, RECORD_CAUSE_LOGITS, OF(EXPERTS_ROUTE), .message = "the smallest logits are chosen, not the largest"},
    {NAN_CHOSEN, RECORD_CAUSE_LOGITS, OF(EXPERTS_ROUTE), .message = "a NaN is chosen before numbers: it counts as -infinity"},
    {COUNTS, RECORD_CAUSE_POSITION, OF(EXPERTS_GROUP), .message = "offsets holds each expert's count, not the sum of those before it"},
    {INCLUSIVE, RECORD_CAUSE_POSITION, OF(EXPERTS_GROUP),
     .message = "offsets holds where an expert's rows end: the sum has to leave out its own count"},
    {ROWS_FROM_0, RECORD_CAUSE_POSITION, OF(EXPERTS_GROUP),
     .message = "rows are counted from 0 in every expert: the rows of the experts before are not added"},
    {PAIRS_BACKWARDS, RECORD_CAUSE_POSITION, OF(EXPERTS_GROUP), .message = "the pairs of an expert are in falling order"},
    {SAME_ROW, RECORD_CAUSE_POSITION, OF(EXPERTS_GROUP), .message = "all pairs of an expert get its first row"},
    {PAIR_OF_ROW, RECORD_CAUSE_POSITION, OF(EXPERTS_GROUP), .message = "row_of holds the pair of each row, not the row of each pair"},
    {NO_SILU, RECORD_CAUSE_MLP, OF(EXPERTS_PRODUCT), .message = "gate * up: silu is missing"},
    {SIGMOID, RECORD_CAUSE_MLP, OF(EXPERTS_PRODUCT), .message = "sigmoid(gate) * up: silu(gate) is gate * sigmoid(gate)"},
    {NO_UP, RECORD_CAUSE_MLP, OF(EXPERTS_PRODUCT), .message = "silu(gate): up is missing"},
    {GATE_ALONE, RECORD_CAUSE_MLP, OF(EXPERTS_PRODUCT), .message = "swiglu is ignored: the result is gate"},
    {EXCHANGED, RECORD_CAUSE_MLP, OF(EXPERTS_PRODUCT), .message = "gate and up are exchanged: silu(up) * gate"},
    {GATE_UP_ROUNDED, RECORD_CAUSE_MLP, OF(EXPERTS_PRODUCT),
     .message = "gate and up are rounded to 16 bits before silu(gate) * up: they stay floats until the result is stored"},
    {UP_FURTHER, RECORD_CAUSE_MLP, OF(EXPERTS_PRODUCT), .message = "up is taken %d rows of w after gate: it is n rows further",
     .sizes = {1, 8, 16, 32, 64, 128, 256}},
    {LINES_OF_N, RECORD_CAUSE_LEADING_DIMENSION, OF(EXPERTS_PRODUCT),
     .message = "an expert's rows of w begin after n rows per expert: with swiglu it has 2 n"},
    {ROWS_OF_A_FROM_0, RECORD_CAUSE_POSITION, OF(EXPERTS_PRODUCT),
     .message = "an expert's rows of A are counted from 0, not from offsets[expert]"},
    {PAIRS_BY_CHOICE, RECORD_CAUSE_Q_ROWS, OF(EXPERTS_LAYER),
     .message = "rows of x are gathered for pairs choice * tokens + token: a pair is token * top_k + choice"},
    {LAST_CHOICE_FIRST, RECORD_CAUSE_WEIGHTS, OF(EXPERTS_LAYER),
     .message = "the weighted sum runs from a token's last choice to its first: f32 loses other terms then"},
    {NO_WEIGHTS, RECORD_CAUSE_WEIGHTS, OF(EXPERTS_LAYER), .message = "the weights are left out: what experts return is only added"},
};
/* clang-format on */

static const struct misread_row MISREADS[] = {
    {OF_CHOSEN, ALONG_CHOICES, 5, NULL, RECORD_CAUSE_LAYOUT, "a token's choices", "numbers", NULL, NULL},
    {OF_EXPERT, ALONG_EXPERTS, 8, NULL, RECORD_CAUSE_LAYOUT, "weights of another expert", "experts", NULL,
     NULL},
    {OF_A, ALONG_ROWS, 7, NULL, RECORD_CAUSE_LAYOUT, "rows of A, or of C where it is stored", "rows", NULL,
     NULL},
    {OF_W | OF_UP, ALONG_LINES, 8, NULL, RECORD_CAUSE_LAYOUT, "rows of w, or columns of C where it is stored",
     "columns", NULL, NULL},
    {OF_UP, ALONG_LINES, 8, NULL, RECORD_CAUSE_MLP, "up, not gate", "columns", NULL, NULL},
    {OF_A, ALONG_K, 9, NULL, RECORD_CAUSE_LAYOUT, "A and w differ along k: of A", "k", NULL, NULL},
    {OF_W | OF_UP, ALONG_K, 9, NULL, RECORD_CAUSE_LAYOUT, "A and w differ along k: of w", "k", NULL, NULL},
    {OF_WEIGHT, ALONG_CHOICES, 5, NULL, RECORD_CAUSE_WEIGHTS, "the weights of a token's choices", "choices",
     NULL, NULL},
    {OF_ANSWER, ALONG_CHOICES, 5, NULL, RECORD_CAUSE_LAYOUT, "what a token's choices return", "choices", NULL,
     NULL},
    {OF_X, ALONG_ROWS, 7, NULL, RECORD_CAUSE_Q_ROWS, "rows of x", "tokens", NULL, NULL},
};

/* What a part has of that. */
static const unsigned OPERANDS[] = {[EXPERTS_ROUTE] = OF_CHOSEN,
                                    [EXPERTS_GROUP] = 0,
                                    [EXPERTS_PRODUCT] = OF_A | OF_W | OF_UP | OF_EXPERT,
                                    [EXPERTS_LAYER] = OF_WEIGHT | OF_ANSWER | OF_X};

/** What is done wrong, and where. */
struct wrong_experts {
    const struct lesson_case *item;
    const float *const *data;
    enum expert_mistake mistake;
    int size;
    struct misread misread;
};

/* ---- routing ---------------------------------------------------------------------------------------------- */

static int falls(const void *one, const void *two)
{
    const int a = *(const int *)one, b = *(const int *)two;
    return (a > b) - (a < b);
}

/* What a token chooses, and with which weights. */
static void choose(const struct wrong_experts *w, const float *logits, int *chosen, double *weights)
{
    const int experts = w->item->extent[EXPERTS_COUNT], top_k = w->item->extent[EXPERTS_TOP_K];
    int renormalise = w->item->extent[EXPERTS_RENORMALISE];
    float seen[256] = {0};
    double total = 0.0, largest = -(double)INFINITY;
    if (w->mistake == DIVIDED_AGAIN) renormalise = 1;
    if (w->mistake == NOT_DIVIDED_AGAIN) renormalise = 0;
    for (int e = 0; e < experts; e++) { /* as the choice sees them */
        const int from = w->mistake == TIES_TO_LARGER ? experts - 1 - e : e;
        seen[e] = w->mistake == SMALLEST ? -logits[from] : logits[from];
        if (w->mistake == NAN_CHOSEN && isnan(seen[e])) seen[e] = INFINITY;
        if (!isnan(logits[e])) largest = fmax(largest, (double)logits[e]);
    }
    ref_experts_route(seen, experts, top_k, 0, chosen, weights);
    for (int e = 0; e < experts; e++) total += exp((double)logits[e] - largest);
    for (int j = 0; j < top_k && w->mistake == TIES_TO_LARGER; j++) chosen[j] = experts - 1 - chosen[j];
    if (w->mistake == BY_INDEX) qsort(chosen, (size_t)top_k, sizeof *chosen, falls);
    double sum = 0.0;
    for (int j = 0; j < top_k; j++) {
        weights[j] = exp((double)logits[chosen[j]] - largest) / (w->mistake == NOT_DIVIDED ? 1.0 : total);
        sum += weights[j];
    }
    for (int j = 0; j < top_k && renormalise && w->mistake != NOT_DIVIDED; j++) weights[j] /= sum;
}

static int guess_route(const struct wrong_experts *w, int buffer, size_t at, double *value)
{
    const size_t top_k = experts_extent(w->item, EXPERTS_TOP_K), token = at / top_k;
    size_t j = misread_index(&w->misread, OF_CHOSEN, ALONG_CHOICES, at % top_k, top_k);
    int chosen[256];
    double weights[256];
    if (j >= top_k) return 2;
    if (w->mistake == LAST_FIRST) j = top_k - 1 - j;
    choose(w, w->data[ROUTE_LOGITS] + token * experts_extent(w->item, EXPERTS_COUNT), chosen, weights);
    *value = buffer == ROUTE_CHOSEN ? chosen[j] : weights[j];
    return 1;
}

/* ---- pairs by expert -------------------------------------------------------------------------------------- */

static int guess_group(const struct wrong_experts *w, int buffer, size_t at, double *value)
{
    const size_t pairs = experts_extent(w->item, EXPERTS_ROWS);
    const int of_offsets = buffer == GROUP_OFFSETS, experts = w->item->extent[EXPERTS_COUNT];
    const float *chosen = w->data[GROUP_CHOSEN];
    const double expert = of_offsets ? (double)at : (double)chosen[at];
    double smaller = 0.0, same = 0.0, earlier = 0.0;
    if (of_offsets != (w->mistake == COUNTS || w->mistake == INCLUSIVE)) return 0;
    if (!of_offsets && (expert < 0.0 || expert >= experts)) return 2;
    for (size_t i = 0; i < pairs; i++) {
        smaller += chosen[i] >= 0.0f && (double)chosen[i] < expert;
        same += (double)chosen[i] == expert;
        earlier += (double)chosen[i] == expert && i < at;
    }
    *value = w->mistake == COUNTS            ? same
             : w->mistake == INCLUSIVE       ? smaller + same
             : w->mistake == ROWS_FROM_0     ? earlier
             : w->mistake == PAIRS_BACKWARDS ? smaller + same - 1.0 - earlier
                                             : smaller;
    if (w->mistake != PAIR_OF_ROW) return 1;
    size_t left = at;
    for (int e = 0; e < experts; e++)
        for (size_t i = 0; i < pairs; i++) {
            if ((int)chosen[i] != e || left-- > 0) continue;
            *value = (double)i;
            return 1;
        }
    return 2;
}

/* ---- products --------------------------------------------------------------------------------------------- */

/* Terms from @p from to before @p to of row @p row of A times line @p line of w; @p operand says of which matrix the line is. */
static int sum_terms(const struct wrong_experts *w, unsigned operand, size_t row, size_t line, size_t from,
                     size_t to, double *sum)
{
    const size_t k = experts_extent(w->item, EXPERTS_K);
    *sum = 0.0;
    for (size_t p = from; p < to; p++) {
        const size_t of_a = misread_index(&w->misread, OF_A, ALONG_K, p, k),
                     of_w = misread_index(&w->misread, operand, ALONG_K, p, k);
        if (of_a >= k || of_w >= k) return 0;
        *sum += (double)w->data[PRODUCT_A][row * k + of_a] * (double)w->data[PRODUCT_W][line * k + of_w];
    }
    return 1;
}

static int guess_product(const struct wrong_experts *w, size_t at, double *value)
{
    const size_t n = experts_extent(w->item, EXPERTS_N), k = experts_extent(w->item, EXPERTS_K),
                 experts = experts_extent(w->item, EXPERTS_COUNT), lines = experts_lines(w->item),
                 rows = experts_extent(w->item, EXPERTS_ROWS);
    const float *offsets = w->data[PRODUCT_OFFSETS];
    const int own = experts_owner(offsets, (int)experts, at / n), swiglu = lines > n;
    if (own < 0 || (!swiglu && w->mistake >= NO_SILU && w->mistake <= LINES_OF_N)) return 0;
    size_t expert = misread_index(&w->misread, OF_EXPERT, ALONG_EXPERTS, (size_t)own, experts),
           row = misread_index(&w->misread, OF_A, ALONG_ROWS, at / n, rows),
           line = misread_index(&w->misread, OF_W, ALONG_LINES, at % n, n),
           up_line = misread_index(&w->misread, OF_UP, ALONG_LINES, at % n, n);
    double gate, up = 0.0;
    if (w->mistake == ROWS_OF_A_FROM_0) row -= (size_t)offsets[own];
    if (expert >= experts || row >= rows || line >= n || up_line >= n) return 2;
    const size_t first = expert * (w->mistake == LINES_OF_N ? n : lines);
    up_line += w->mistake == UP_FURTHER ? (size_t)w->size : n;
    if (first + up_line >= experts * lines && swiglu) return 2;
    if (!sum_terms(w, OF_W, row, first + line, 0, k, &gate)) return 2;
    if (swiglu && !sum_terms(w, OF_UP, row, first + up_line, 0, k, &up)) return 2;
    if (w->mistake == GATE_UP_ROUNDED) {
        gate = (double)storage_round(experts_storage(w->item), (float)gate);
        up = (double)storage_round(experts_storage(w->item), (float)up);
    }
    *value = !swiglu || w->mistake == GATE_ALONE ? gate
             : w->mistake == NO_SILU             ? gate * up
             : w->mistake == NO_UP               ? ref_silu(gate)
             : w->mistake == EXCHANGED           ? ref_silu(up) * gate
             : w->mistake == SIGMOID             ? up / (1.0 + exp(-gate))
                                                 : ref_silu(gate) * up;
    return 1;
}

/* ---- the layer -------------------------------------------------------------------------------------------- */

/* Column @p column of what expert @p expert makes of row @p token of x. */
static double answer_of(const struct wrong_experts *w, int expert, size_t token, size_t column)
{
    const size_t inner = experts_extent(w->item, EXPERTS_N), hidden = experts_extent(w->item, EXPERTS_K);
    const float *x = w->data[LAYER_X] + token * hidden,
                *gate_up = w->data[LAYER_GATE_UP] + (size_t)expert * 2 * inner * hidden,
                *down = w->data[LAYER_DOWN] + ((size_t)expert * hidden + column) * inner;
    double answer = 0.0;
    for (size_t i = 0; i < inner; i++) {
        double gate = 0.0, up = 0.0;
        for (size_t p = 0; p < hidden; p++) {
            gate += (double)x[p] * (double)gate_up[i * hidden + p];
            up += (double)x[p] * (double)gate_up[(inner + i) * hidden + p];
        }
        answer += ref_silu(gate) * up * (double)down[i];
    }
    return answer;
}

/* Whether hundreds of layers are computed in no time. */
static int is_small(const struct lesson_case *item)
{
    const size_t limit = 1U << 18;
    return experts_extent(item, EXPERTS_TOP_K) * experts_extent(item, EXPERTS_K) *
               experts_extent(item, EXPERTS_N) <
           limit;
}

/* Choices @p from to before @p to of the token of element @p at. */
static int sum_choices(const struct wrong_experts *w, size_t at, size_t from, size_t to, double *sum)
{
    const size_t hidden = experts_extent(w->item, EXPERTS_K), top_k = experts_extent(w->item, EXPERTS_TOP_K),
                 tokens = experts_extent(w->item, EXPERTS_ROWS), token = at / hidden,
                 row = misread_index(&w->misread, OF_X, ALONG_ROWS, token, tokens);
    int chosen[256];
    double weights[256];
    if (row >= tokens) return 0;
    choose(w, w->data[LAYER_LOGITS] + token * experts_extent(w->item, EXPERTS_COUNT), chosen, weights);
    *sum = 0.0;
    for (size_t j = from; j < to; j++) {
        const size_t own = w->mistake == LAST_CHOICE_FIRST ? top_k - 1 - j : j,
                     of_weight = misread_index(&w->misread, OF_WEIGHT, ALONG_CHOICES, own, top_k),
                     of_answer = misread_index(&w->misread, OF_ANSWER, ALONG_CHOICES, own, top_k);
        if (of_weight >= top_k || of_answer >= top_k) return 0;
        const double answer =
            answer_of(w, chosen[of_answer],
                      w->mistake == PAIRS_BY_CHOICE ? (token * top_k + j) % tokens : row, at % hidden);
        if (w->mistake == LAST_CHOICE_FIRST)
            *sum = (double)(float)(*sum + (double)(float)weights[of_weight] * answer);
        else
            *sum += (w->mistake == NO_WEIGHTS ? 1.0 : weights[of_weight]) * answer;
    }
    return 1;
}

/* ---- what is told ------------------------------------------------------------------------------------------ */

int experts_guess(const struct lesson_case *item, const float *const *data, int index, int buffer, size_t at,
                  struct lesson_guess *guess)
{
    struct wrong_experts w = {.item = item, .data = data};
    struct mistake mistake;
    const struct mistake_row *row =
        mistake_at(MISTAKES, sizeof MISTAKES / sizeof MISTAKES[0], &index, &mistake, guess);
    if (row == NULL && !misread_at(MISREADS, sizeof MISREADS / sizeof MISREADS[0], &index, &w.misread, guess))
        return -1;
    if (row == NULL && w.misread.row->operands & ~OPERANDS[item->part]) return 0;
    if (row != NULL) w.mistake = (enum expert_mistake)mistake.number, w.size = mistake.size;
    if (row != NULL && !(row->where & OF(item->part))) return 0;
    if (item->part == EXPERTS_ROUTE) return guess_route(&w, buffer, at, &guess->value);
    if (item->part == EXPERTS_GROUP) return guess_group(&w, buffer, at, &guess->value);
    if (item->part == EXPERTS_PRODUCT) return guess_product(&w, at, &guess->value);
    if (!is_small(item)) return 0;
    return sum_choices(&w, at, 0, experts_extent(item, EXPERTS_TOP_K), &guess->value) ? 1 : 2;
}

int experts_terms(const struct lesson_case *item, const float *const *data, int buffer, size_t at,
                  size_t from, size_t to, struct lesson_terms *terms)
{
    const struct wrong_experts w = {.item = item, .data = data};
    const size_t n = experts_extent(item, EXPERTS_N), lines = experts_lines(item);
    if (item->part == EXPERTS_LAYER) {
        if (!is_small(item)) return 0;
        *terms =
            (struct lesson_terms){.count = experts_extent(item, EXPERTS_TOP_K), .what = "a token's choices"};
        return sum_choices(&w, at, from, to, &terms->sum);
    }
    if (item->part != EXPERTS_PRODUCT || buffer != PRODUCT_C || lines > n) return 0;
    const int expert = experts_owner(data[PRODUCT_OFFSETS], item->extent[EXPERTS_COUNT], at / n);
    *terms = (struct lesson_terms){.count = experts_extent(item, EXPERTS_K), .what = "k"};
    return expert >= 0 && sum_terms(&w, OF_W, at / n, (size_t)expert * lines + at % n, from, to, &terms->sum);
}
