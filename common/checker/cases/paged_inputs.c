/**
 * @file paged_inputs.c
 * @brief Buffers of decode attention over a paged cache, and what is in them.
 */
#include <math.h>
#include <stdlib.h>

#include "contracts/kernel_status.h"
#include "paged_cases.h"
#include "base/parallel.h"

int paged_pages_of(const struct lesson_case *item, int length)
{
    return (length + item->extent[PA_BLOCK_SIZE] - 1) / item->extent[PA_BLOCK_SIZE];
}

static int choose_length(const struct lesson_case *item, int b, struct rng *rng)
{
    int most = item->extent[PA_MAX_CONTEXT_LEN], page = item->extent[PA_BLOCK_SIZE], length = most;
    const int around[] = {0, 1, page - 1, page, page + 1, 2 * page - 1, 2 * page + 1, 4 * page};
    static const int partitions[] = {257, 513, 128, 1025, 256, 769, 512, 1024};
    int any = rng_between(rng, 1, most);
    switch (item->extent[EX_LENGTHS]) {
    case MIXED: /* the longest and the shortest are always among them */
        length = b == 0 ? most : b == 1 ? 1 : any;
        break;
    case SOME_EMPTY:
        length = b % 2 == 0 ? 0 : any;
        break;
    case AROUND_PAGES:
        length = around[b % 8];
        break;
    case AROUND_PARTITIONS:
        length = partitions[b % 8];
        break;
    case ALL_EMPTY:
        length = 0;
        break;
    default:
        break;
    }
    return length < most ? length : most;
}

int paged_plan_make(const struct lesson_case *item, struct paged_plan *plan)
{
    int batch = item->extent[PA_BATCH], max_blocks = item->extent[PA_MAX_BLOCKS];
    int num_blocks = item->extent[PA_NUM_BLOCKS], pages = item->extent[EX_PAGES], next = 0;
    struct rng lengths = {rng_mix(item->seed, 101)}, order = {rng_mix(item->seed, 102 + (uint64_t)pages)};
    int *free_page = malloc((size_t)num_blocks * sizeof *free_page);
    plan->length = malloc((size_t)batch * sizeof *plan->length);
    plan->table = malloc((size_t)batch * (size_t)max_blocks * sizeof *plan->table);
    if (free_page == NULL || plan->length == NULL || plan->table == NULL) abort();
    for (int i = 0; i < num_blocks; i++) free_page[i] = pages == REVERSED ? num_blocks - 1 - i : i;
    for (int i = num_blocks - 1; i > 0 && pages != IN_ORDER && pages != REVERSED; i--) {
        int j = rng_between(&order, 0, i), swapped = free_page[i];
        free_page[i] = free_page[j];
        free_page[j] = swapped;
    }
    for (int b = 0; b < batch; b++) {
        plan->length[b] = choose_length(item, b, &lengths);
        int used = paged_pages_of(item, plan->length[b]);
        int *row = plan->table + (size_t)b * (size_t)max_blocks;
        for (int page = 0; page < max_blocks; page++) {
            /* Other sequences use whole pages of the first sequence as their prefix. */
            int shared = pages == SHARED_PREFIX && b > 0 && page < 3 &&
                         (page + 1) * item->extent[PA_BLOCK_SIZE] <= plan->length[0];
            int again = pages == FIRST_TWICE && page == 2;
            row[page] = page >= used ? -1 : shared ? plan->table[page] : again ? row[0] : free_page[next++];
        }
    }
    free(free_page);
    return batch * max_blocks;
}

void paged_plan_drop(struct paged_plan *plan)
{
    free(plan->length);
    free(plan->table);
}

/** A cache that is being filled: tokens of all sequences, numbered consecutively, so that threads can
 *  share them. */
struct filling {
    const struct lesson_case *item;
    int index; /* PA_K or PA_V */
    struct paged_plan plan;
    size_t *before; /* [batch + 1] tokens of earlier sequences */
    struct rng rng;
    float *data;
};

static void fill_token(const struct filling *f, int b, int t, size_t number)
{
    const int *extent = f->item->extent;
    size_t head_dim = (size_t)extent[PA_HEAD_DIM], width = (size_t)extent[PA_KV_HEADS] * head_dim;
    int page_size = extent[PA_BLOCK_SIZE];
    size_t page = (size_t)f->plan.table[b * extent[PA_MAX_BLOCKS] + t / page_size];
    float *row = f->data + (page * (size_t)page_size + (size_t)(t % page_size)) * width;
    if (f->item->distribution == CHEAP) {
        struct rng rng = rng_ahead(&f->rng, number * width / 8);
        decode_fill_cheaply(row, width, &rng);
        return;
    }
    struct rng rng = rng_ahead(&f->rng, number * width * RNG_NORMAL);
    struct decode_token place = {
        (enum distribution)f->item->distribution, f->index == PA_K, b, t, f->plan.length[b], (int)head_dim};
    decode_fill_row(&place, row, width, &rng);
}

static void fill_tokens(void *context, size_t first, size_t last)
{
    const struct filling *f = context;
    int b = 0;
    for (size_t number = first; number < last; number++) {
        while (number >= f->before[b + 1]) b++;
        fill_token(f, b, (int)(number - f->before[b]), number);
    }
}

/* Fills the values in the cache that nobody may use, except where tokens will be written. */
static void fill_unused(const struct filling *f, size_t elems)
{
    const struct lesson_case *item = f->item;
    size_t page_elems = (size_t)item->extent[PA_BLOCK_SIZE] * (size_t)item->extent[PA_KV_HEADS] *
                        (size_t)item->extent[PA_HEAD_DIM];
    int entries = item->extent[PA_BATCH] * item->extent[PA_MAX_BLOCKS];
    char *whole = calloc((size_t)item->extent[PA_NUM_BLOCKS], 1); /* 1: tokens fill the page completely */
    if (whole == NULL) abort();
    for (int i = 0; i < entries && item->part != PART_VALIDATE; i++) {
        int b = i / item->extent[PA_MAX_BLOCKS], last = (i % item->extent[PA_MAX_BLOCKS] + 1);
        if (f->plan.table[i] >= 0)
            whole[f->plan.table[i]] = last * item->extent[PA_BLOCK_SIZE] <= f->plan.length[b];
    }
    for (size_t i = 0; i < elems; i += page_elems) {
        if (whole[i / page_elems]) continue;
        for (size_t at = i; at < i + page_elems && item->distribution == NAN_REST; at++) f->data[at] = NAN;
        for (size_t at = i; at < i + page_elems && item->distribution != NAN_REST; at++)
            f->data[at] = (float)(1000 + at % 700);
    }
    free(whole);
}

/* The part that checks a table reads no key, so cheap data will do. */
static void fill_cache(const struct lesson_case *item, int index, size_t elems, struct rng *rng, float *data)
{
    enum { TOKENS_A_PIECE = 64 };
    size_t batch = (size_t)item->extent[PA_BATCH];
    struct filling f = {.item = item, .index = index, .rng = *rng, .data = data};
    f.before = malloc((batch + 1) * sizeof *f.before);
    if (f.before == NULL) abort();
    paged_plan_make(item, &f.plan);
    fill_unused(&f, elems);
    f.before[0] = 0;
    for (size_t b = 0; b < batch; b++) f.before[b + 1] = f.before[b] + (size_t)f.plan.length[b];
    /* Where sequences share pages the last one to fill them wins: so they are filled one after the other. */
    size_t tokens = item->part == PART_VALIDATE ? 0 : f.before[batch];
    int shared = item->extent[EX_PAGES] == SHARED_PREFIX || item->extent[EX_PAGES] == FIRST_TWICE;
    if (tokens > 0) parallel_for(tokens, shared ? tokens : TOKENS_A_PIECE, fill_tokens, &f);
    paged_plan_drop(&f.plan);
    free(f.before);
}

/* Used entry number @p number of the table, in its order. */
static int used_entry(const struct lesson_case *item, const struct paged_plan *plan, int number)
{
    int count = item->extent[PA_BATCH] * item->extent[PA_MAX_BLOCKS], at = -1;
    for (int i = 0; i < count && number >= 0; i++)
        if (plan->table[i] >= 0) {
            at = i;
            number--;
        }
    return at;
}

/* A used entry that is neither first nor last of the table or of its row, or any entry; and any wrong
 * number. */
static void break_table(const struct lesson_case *item, const struct paged_plan *plan, int first, int last,
                        float *data)
{
    float past = (float)item->value[PA_NUM_BLOCKS];
    const float wrong[] = {-1.0f, past, 0x1p31f, -0x1p31f, past + 1000.0f};
    struct rng any = {rng_mix(item->seed, 201)};
    int used = 0;
    for (int i = 0; i <= last; i++) used += plan->table[i] >= 0;
    switch (item->extent[EX_BREAK]) {
    case ENTRY_NEGATIVE:
        data[first] = -1.0f;
        break;
    case ENTRY_ONE_TOO_HIGH:
        data[first] = past;
        break;
    case ENTRY_HUGE:
        data[last] = 0x1p31f;
        break;
    case LAST_ENTRY_LOWEST:
        data[last] = -0x1p31f;
        break;
    case ENTRY_IN_THE_MIDDLE:
        data[used_entry(item, plan, used / 2)] = past;
        break;
    case ENTRY_ANYWHERE:
        data[used_entry(item, plan, rng_between(&any, 0, used - 1))] = wrong[rng_between(&any, 0, 4)];
        break;
    default:
        break;
    }
}

/* Entries that no token needs hold numbers outside the cache, which must not be used. */
static void fill_table(const struct lesson_case *item, float *data)
{
    int first_page = (int)item->value[PA_FIRST_PAGE];
    static const float unused[] = {-1.0f, 1e6f, 0x1p31f, -0x1p31f};
    struct paged_plan plan;
    int count = paged_plan_make(item, &plan), max_blocks = item->extent[PA_MAX_BLOCKS], first = -1, last = -1;
    for (int i = 0; i < count; i++) {
        data[i] = plan.table[i] < 0 ? unused[i % 4] : (float)(plan.table[i] + first_page);
        if (plan.table[i] >= 0 && (first < 0 || i % max_blocks == 1)) first = i;
        if (plan.table[i] >= 0) last = i;
    }
    if (last >= 0) break_table(item, &plan, first, last, data);
    paged_plan_drop(&plan);
}

static void fill_lengths(const struct lesson_case *item, float *data)
{
    struct paged_plan plan;
    paged_plan_make(item, &plan);
    for (int b = 0; b < item->extent[PA_BATCH]; b++) data[b] = (float)plan.length[b];
    int last = item->extent[PA_BATCH] - 1;
    if (item->extent[EX_BREAK] == LENGTH_NEGATIVE) data[last] = -1.0f;
    if (item->extent[EX_BREAK] == LENGTH_TOO_LONG)
        data[last] = (float)item->extent[PA_MAX_CONTEXT_LEN] + 1.0f;
    paged_plan_drop(&plan);
    struct rng any = {rng_mix(item->seed, 202)};
    const float wrong[] = {-1.0f, (float)item->extent[PA_MAX_CONTEXT_LEN] + 1.0f, 0x1p31f, -0x1p31f};
    if (item->extent[EX_BREAK] == LENGTH_HUGE) data[0] = 0x1p31f;
    if (item->extent[EX_BREAK] == LENGTH_LOWEST) data[last / 2] = -0x1p31f;
    if (item->extent[EX_BREAK] == LENGTH_ANYWHERE)
        data[rng_between(&any, 0, last)] = wrong[rng_between(&any, 0, 3)];
}

void paged_fill(const struct lesson_case *item, int index, size_t elems, struct rng *rng, float *data)
{
    switch (index) {
    case PA_Q:
        decode_fill_query((enum distribution)item->distribution, item->extent[PA_HEAD_DIM], elems, rng, data);
        break;
    case PA_TABLE:
        fill_table(item, data);
        break;
    case PA_LENS:
        fill_lengths(item, data);
        break;
    /* slopes of the paper's size, 2^(-8/n), 2^(-16/n), ..., but in an order and with signs that only a
     * kernel that reads them gets right */
    case PA_SLOPES:
        for (size_t h = 0; h < elems; h++)
            data[h] =
                item->distribution == STEEP ? 1e37f
                : item->distribution == OUTWEIGHED
                    ? OUTWEIGHED_SLOPE
                    : (float)((h % 3 == 1 ? -0.5 : 1.0) * exp2(-8.0 * (double)(elems - h) / (double)elems));
        break;
    case PA_STATUS:
        data[0] = (float)item->extent[EX_STATUS];
        break;
    default:
        fill_cache(item, index, elems, rng, data);
        break;
    }
}

int paged_buffers(const struct lesson_case *item, struct lesson_buffer *buffers)
{
    const int *extent = item->extent;
    size_t batch = (size_t)extent[PA_BATCH], heads = (size_t)extent[PA_HEADS],
           kv_heads = (size_t)extent[PA_KV_HEADS];
    size_t head_dim = (size_t)extent[PA_HEAD_DIM], block_size = (size_t)extent[PA_BLOCK_SIZE];
    size_t num_blocks = (size_t)extent[PA_NUM_BLOCKS], max_blocks = (size_t)extent[PA_MAX_BLOCKS];
    size_t results = batch * heads * ((size_t)(extent[PA_MAX_CONTEXT_LEN] - 1) / PARTITION_LEAST + 1);
    size_t workspace = item->part == PART_V2 ? (results * (head_dim + 2) + 63) / 64 * 64 : 0;
    buffers[PA_Q] = LESSON_BUFFER("q", WIRE_IN, STORAGE_F16, batch, heads, head_dim);
    buffers[PA_K] =
        LESSON_BUFFER("k_cache", WIRE_IN, STORAGE_F16, num_blocks, block_size, kv_heads, head_dim);
    buffers[PA_V] = buffers[PA_K];
    buffers[PA_V].name = "v_cache";
    buffers[PA_TABLE] = LESSON_BUFFER("block_table", WIRE_IN, STORAGE_I32, batch, max_blocks);
    buffers[PA_LENS] = LESSON_BUFFER("context_lens", WIRE_IN, STORAGE_I32, batch);
    buffers[PA_SLOPES] = LESSON_BUFFER("alibi_slopes", WIRE_IN, STORAGE_F32, heads);
    buffers[PA_OUT] = LESSON_BUFFER("out", WIRE_OUT, STORAGE_F16, batch, heads, head_dim);
    buffers[PA_STATUS] = LESSON_BUFFER("device_status", WIRE_INOUT, STORAGE_I32, 1);
    buffers[PA_WORKSPACE] = LESSON_BUFFER("workspace", WIRE_WORKSPACE, STORAGE_F32, workspace);
    static const int vectors[] = {PA_Q, PA_K, PA_V, PA_OUT};
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) buffers[vectors[i]].align = 16;
    return PA_BUFFERS;
}
