/**
 * @file paged_oracle.c
 * @brief Oracle and error bounds of decode attention over a paged cache, one row of the output at a time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "paged_cases.h"
#include "paged_kv.h"

/* One unit is one row of out; one more unit holds the status. */
size_t paged_units(const struct lesson_case *item)
{
    return (size_t)item->extent[PA_BATCH] * (size_t)item->extent[PA_HEADS] + 1;
}

/* Scratch holds four rows of keys and one of output. */
size_t paged_unit_elems(const struct lesson_case *item)
{
    return (size_t)item->extent[PA_MAX_CONTEXT_LEN] * 4 + (size_t)item->extent[PA_HEAD_DIM];
}

static void expect_status(const struct lesson_case *item, struct lesson_expectation *e)
{
    int validates = item->part == PART_VALIDATE || item->value[PA_VALIDATE_FIRST];
    int status = item->extent[EX_STATUS];
    if (validates) status = item->extent[EX_BREAK] == SOUND ? KERNEL_OK : KERNEL_INVALID_BLOCK_TABLE;
    struct paged_plan plan;
    int count = paged_plan_make(item, &plan), used = 0;
    for (int i = 0; i < count; i++) used += plan.table[i] >= 0;
    paged_plan_drop(&plan);
    /* A table without a used entry has none that could be wrong. */
    int of_entry = item->extent[EX_BREAK] >= ENTRY_NEGATIVE && item->extent[EX_BREAK] <= ENTRY_ANYWHERE;
    if (validates && of_entry && used == 0) status = KERNEL_OK;
    e->span_count = 1;
    e->span[0].buffer = PA_STATUS;
    e->span[0].first = 0;
    e->span[0].count = 1;
    e->span[0].expected[0] = e->span[0].plain[0] = status;
    e->span[0].bound[0] = e->span[0].floor[0] = 0.0;
}

/* Finds keys and values through the table that the kernel receives. @p rows has room for all of both. */
static void find_row(const struct lesson_case *item, const float *const *data, size_t unit, double *scratch,
                     float *rows, struct decode_row *row)
{
    const int *extent = item->extent;
    struct ref_paged_cache cache = {extent[PA_BLOCK_SIZE], extent[PA_KV_HEADS], extent[PA_HEAD_DIM]};
    size_t b = unit / (size_t)extent[PA_HEADS], head_dim = (size_t)extent[PA_HEAD_DIM];
    int head = (int)(unit % (size_t)extent[PA_HEADS]);
    int kv_head = head / (extent[PA_HEADS] / extent[PA_KV_HEADS]), length = (int)data[PA_LENS][b];
    size_t longest = (size_t)extent[PA_MAX_CONTEXT_LEN], pages = (size_t)paged_pages_of(item, length);
    int32_t *table = malloc((pages + 1) * sizeof *table);
    float *k = rows, *v = rows + longest * head_dim;
    if (table == NULL) abort();
    for (size_t page = 0; page < pages; page++)
        table[page] = (int32_t)data[PA_TABLE][b * (size_t)extent[PA_MAX_BLOCKS] + page] -
                      (int32_t)item->value[PA_FIRST_PAGE];
    ref_paged_gather(&cache, data[PA_K], table, kv_head, length, k);
    ref_paged_gather(&cache, data[PA_V], table, kv_head, length, v);
    free(table);
    row->length = length;
    row->head_dim = extent[PA_HEAD_DIM];
    row->storage = STORAGE_F16;
    row->query =
        (struct ref_paged_query){length,
                                 extent[PA_HEAD_DIM],
                                 (double)(float)item->real[0],
                                 item->null_buffer == PA_SLOPES ? 0.0 : (double)data[PA_SLOPES][head],
                                 data[PA_Q] + unit * head_dim,
                                 k,
                                 v};
    row->exact = (struct ref_paged_result){.scores = scratch,
                                           .score_magnitude = scratch + longest,
                                           .probs = scratch + 2 * longest,
                                           .magnitude = scratch + 4 * longest};
}

void paged_expect(const struct lesson_case *item, const float *const *data, size_t unit,
                  struct lesson_expectation *e)
{
    if (unit + 1 == paged_units(item)) {
        expect_status(item, e);
        return;
    }
    e->span_count = 0;
    if (item->untouched) return;
    struct lesson_span *span = &e->span[0];
    struct decode_row row;
    size_t rows = 2 * (size_t)item->extent[PA_MAX_CONTEXT_LEN] * (size_t)item->extent[PA_HEAD_DIM];
    float *gathered = malloc(rows * sizeof *gathered);
    if (gathered == NULL) abort();
    find_row(item, data, unit, e->scratch, gathered, &row);
    decode_row_expect(&row, e->scratch + 3 * (size_t)item->extent[PA_MAX_CONTEXT_LEN],
                      item->flags & CASE_UNIT_SCALE, span);
    free(gathered);
    e->span_count = 1;
    span->buffer = PA_OUT;
    span->first = unit * (size_t)row.head_dim;
    span->count = (size_t)row.head_dim;
}

/* The permutation property: every bit is the same after the pages have moved. */
int paged_holds(const struct lesson_case *item, const float *const *got, const struct lesson_case *before,
                const float *const *got_before, char *reason, size_t size)
{
    if (item->extent[EX_PAGES] != SHUFFLED_AGAIN || before == NULL) return 1;
    size_t elems = (paged_units(item) - 1) * (size_t)item->extent[PA_HEAD_DIM];
    for (size_t i = 0; i < elems; i++) {
        if (memcmp(&got[PA_OUT][i], &got_before[PA_OUT][i], sizeof(float)) == 0) continue;
        snprintf(reason, size,
                 "pages moved, table and all, and out[%zu,...] is no longer the same bit for bit",
                 i / (size_t)(item->extent[PA_HEADS] * item->extent[PA_HEAD_DIM]));
        return 0;
    }
    return 1;
}

/* Pages that several sequences share count once. */
void paged_cost(const struct lesson_case *item, struct lesson_cost *cost)
{
    const int *extent = item->extent;
    double row_bytes = 2.0 * extent[PA_KV_HEADS] * extent[PA_HEAD_DIM], tokens = 0.0, stored = 0.0,
           pages = 0.0;
    struct paged_plan plan;
    paged_plan_make(item, &plan);
    for (int b = 0; b < extent[PA_BATCH]; b++) {
        tokens += plan.length[b];
        pages += paged_pages_of(item, plan.length[b]);
        for (int t = 0; t < plan.length[b]; t += extent[PA_BLOCK_SIZE]) {
            int page = t / extent[PA_BLOCK_SIZE], here = plan.length[b] - t;
            int again = b > 0 && extent[EX_PAGES] == SHARED_PREFIX &&
                        plan.table[b * extent[PA_MAX_BLOCKS] + page] == plan.table[page];
            if (!again) stored += here < extent[PA_BLOCK_SIZE] ? here : extent[PA_BLOCK_SIZE];
        }
    }
    paged_plan_drop(&plan);
    double rows = (double)extent[PA_BATCH] * extent[PA_HEADS], lists = 4.0 * (pages + extent[PA_BATCH]);
    *cost =
        (struct lesson_cost){.flop = 4.0 * tokens * extent[PA_HEADS] * extent[PA_HEAD_DIM],
                             .min_bytes = 2.0 * stored * row_bytes + 4.0 * rows * extent[PA_HEAD_DIM] + lists,
                             .oracle_ops = 20.0 * tokens * extent[PA_HEADS] * extent[PA_HEAD_DIM]};
    if (item->part == PART_VALIDATE) *cost = (struct lesson_cost){.min_bytes = lists, .oracle_ops = pages};
}
