/**
 * @file decode_oracle.c
 * @brief Oracle and error bounds of attention over a contiguous cache with a position, one row of the output at a time.
 */
#include <stdlib.h>
#include <string.h>

#include "contracts/kernel_status.h"
#include "decode_cases.h"

/* One unit is one row of out; one more unit holds the status and the choice. */
size_t decode_units(const struct lesson_case *item)
{
    return (size_t)item->extent[DC_BATCH] * (size_t)item->extent[DC_Q_LEN] * (size_t)item->extent[DC_HEADS] +
           1;
}

/* Scratch holds four rows of keys and one of output. */
size_t decode_unit_elems(const struct lesson_case *item)
{
    return (size_t)item->extent[DC_MAX_LEN] * 4 + (size_t)item->extent[DC_HEAD_DIM];
}

static void expect_number(struct lesson_span *span, int buffer, int number)
{
    span->buffer = buffer;
    span->first = 0;
    span->count = 1;
    span->expected[0] = span->plain[0] = number;
    span->bound[0] = span->floor[0] = 0.0;
}

static void expect_status(const struct lesson_case *item, struct lesson_expectation *e)
{
    int wrong = item->extent[EX_FAULT] != POSITIONS_SOUND;
    expect_number(&e->span[0], DC_STATUS, wrong ? KERNEL_INVALID_DIMENSION : item->extent[EX_STATUS]);
    e->span_count = 1;
    if (item->part != PART_DISPATCH) return;
    expect_number(&e->span[1], DC_CHOSEN, decode_expected_choice(item));
    e->span_count = 2;
}

/** The rows of one K/V head, one after the other, for all queries that follow each other and read it. */
struct gathered {
    size_t head;  /* of all sequences' */
    float rows[]; /* [2, max_len, head_dim] */
};

static const float *gather(const struct lesson_case *item, const float *const *data, size_t b, size_t kv_head,
                           struct lesson_expectation *e)
{
    size_t head_dim = (size_t)item->extent[DC_HEAD_DIM], stride = (size_t)item->extent[DC_KV_STRIDE];
    size_t longest = (size_t)item->extent[DC_MAX_LEN], head = b * (size_t)item->extent[DC_KV_HEADS] + kv_head;
    size_t known = (size_t)decode_position(item, (int)b) + (size_t)item->extent[DC_Q_LEN];
    struct gathered *kept = e->kept;
    if (kept != NULL && kept->head == head) return kept->rows;
    if (kept == NULL) e->kept = kept = malloc(sizeof *kept + 2 * longest * head_dim * sizeof(float));
    if (kept == NULL) abort();
    kept->head = head;
    for (size_t values = 0; values < 2; values++) {
        const float *from = data[values ? DC_V : DC_K] + b * longest * stride + kv_head * head_dim;
        float *to = kept->rows + values * longest * head_dim;
        for (size_t t = 0; t < known; t++)
            memcpy(to + t * head_dim, from + t * stride, head_dim * sizeof *to);
    }
    return kept->rows;
}

/* The expected row of an output that must stay unchanged. */
static void expect_untouched(const float *out, struct lesson_span *span)
{
    for (size_t d = 0; d < span->count; d++) {
        span->expected[d] = span->plain[d] = (double)out[span->first + d];
        span->bound[d] = span->floor[d] = 0.0;
    }
}

void decode_expect(const struct lesson_case *item, const float *const *data, size_t unit,
                   struct lesson_expectation *e)
{
    const int *extent = item->extent;
    if (unit + 1 == decode_units(item)) {
        expect_status(item, e);
        return;
    }
    size_t heads = (size_t)extent[DC_HEADS], q_len = (size_t)extent[DC_Q_LEN],
           head_dim = (size_t)extent[DC_HEAD_DIM];
    size_t head = unit % heads, query = unit / heads % q_len, b = unit / heads / q_len;
    size_t longest = (size_t)extent[DC_MAX_LEN], kv_head = head / (heads / (size_t)extent[DC_KV_HEADS]);
    struct lesson_span *span = &e->span[0];
    e->span_count = 1;
    span->buffer = DC_OUT;
    span->first = unit * head_dim;
    span->count = head_dim;
    if (decode_is_faulty(item, (int)b)) {
        expect_untouched(data[DC_OUT], span);
        return;
    }
    int length = decode_position(item, (int)b) + (int)query + 1;
    const float *k = gather(item, data, b, kv_head, e), *v = k + longest * head_dim;
    struct decode_row row = {
        .length = length, .head_dim = extent[DC_HEAD_DIM], .storage = decode_storage(item)};
    row.query = (struct ref_paged_query){
        length, extent[DC_HEAD_DIM], (double)(float)item->real[0], 0.0, data[DC_Q] + unit * head_dim, k, v};
    row.exact = (struct ref_paged_result){.scores = e->scratch,
                                          .score_magnitude = e->scratch + longest,
                                          .probs = e->scratch + 2 * longest,
                                          .magnitude = e->scratch + 4 * longest};
    decode_row_expect(&row, e->scratch + 3 * longest, item->flags & CASE_UNIT_SCALE, span);
}

void decode_cost(const struct lesson_case *item, struct lesson_cost *cost)
{
    const int *extent = item->extent;
    double elem = (double)storage_bytes(decode_storage(item)), keys = 0.0, tokens = 0.0;
    for (int b = 0; b < extent[DC_BATCH]; b++) {
        int position = decode_position(item, b), q_len = extent[DC_Q_LEN];
        tokens += position + q_len;
        keys += (double)q_len * position + 0.5 * q_len * (q_len + 1.0);
    }
    double rows = (double)extent[DC_BATCH] * extent[DC_Q_LEN] * extent[DC_HEADS];
    *cost = (struct lesson_cost){.flop = 4.0 * keys * extent[DC_HEADS] * extent[DC_HEAD_DIM],
                                 .min_bytes = elem * (2.0 * tokens * extent[DC_KV_HEADS] + 2.0 * rows) *
                                              extent[DC_HEAD_DIM],
                                 .oracle_ops = 20.0 * keys * extent[DC_HEADS] * extent[DC_HEAD_DIM]};
}
