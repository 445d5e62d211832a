/**
 * @file paged_guess.c
 * @brief Decode attention over pages: what a kernel would compute with a well-known mistake in it.
 */
#include <math.h>
#include <stdio.h>

#include "paged_cases.h"
#include "wrong_attention.h"

/** mistake_row.where: what a case needs to show the mistake. */
enum { GROUPS = 1, HEADS = 2, SLOPES = 4, SCALE_0 = 8 };

/* clang-format off */
static const struct mistake_row MISTAKES[] = {
    {TABLE_UNUSED, RECORD_CAUSE_PAGE_TABLE, .message = "as if page t / block_size held token t: is the block table used?"},
    {TABLE_OF_FIRST, RECORD_CAUSE_PAGE_TABLE,
     .message = "as if all sequences had the pages of the first: rows of block_table are max_blocks apart"},
    {HEAD_MODULO, RECORD_CAUSE_KV_HEAD, .where = GROUPS,
     .message = "wrong K/V head: h %% kv_heads in place of h / (heads / kv_heads)"},
    {NO_SCALE, RECORD_CAUSE_SCALE,
     .message = "as without the scale: is every score multiplied by it, and by 1/sqrt(head_dim) where it is 0? scale 0 stands "
                "for that"},
    {SCALE_OF_0, RECORD_CAUSE_SCALE, .where = SCALE_0,
     .message = "as if the scale were 0: scale 0 stands for 1/sqrt(head_dim)"},
    {NO_SLOPE, RECORD_CAUSE_ALIBI, .where = SLOPES, .message = "as without ALiBi: slope * (t - last token) belongs to a score"},
    {LAST_KEY_UNSEEN, RECORD_CAUSE_TAIL, .message = "as if the last key were not seen: a sequence has context_lens[b] of them"},
    {UNDIVIDED, RECORD_CAUSE_NORMALISE, .message = "never divided by the sum of the exponentials"},
    {MAX_FROM_ZERO, RECORD_CAUSE_MAXIMUM,
     .message = WRONG_MAXIMUM_BEGINS},
    {WEIGHTS_ROUNDED, RECORD_CAUSE_WEIGHTS,
     .message = "weights are rounded to half, where those below 3e-8 are 0: here they stay floats until they are multiplied with V",
     .sizes = {11}},
    {WEIGHTS_CUT, RECORD_CAUSE_WEIGHTS, .message = "small weights, below exp(-%d), are taken as 0",
     .sizes = {87, 80, 60, 40, 30, 20, 14, 10, 9, 8}},
    {SLOPE_SIGN, RECORD_CAUSE_ALIBI, .where = SLOPES,
     .message = "ALiBi with the other sign: slope * (t - last token) is never above 0"},
    {SLOPE_COMPUTED, RECORD_CAUSE_ALIBI, .where = SLOPES,
     .message = "ALiBi with computed slopes, 2^(-8 (h + 1) / heads): alibi_slopes[h] is given"},
    {SLOPE_OF_FIRST, RECORD_CAUSE_ALIBI, .where = SLOPES,
     .message = "head h has the ALiBi slope of head h %% %d: alibi_slopes has one for each of the heads", .sizes = {8, 16, 4, 2, 1}},
    {SLOPE_OF_GROUP, RECORD_CAUSE_ALIBI, .where = SLOPES | GROUPS,
     .message = "head h has the ALiBi slope number h / (heads / kv_heads), as if it were one of K/V heads: alibi_slopes[h]"},
    {ROWS_OF_ONE_HEAD, RECORD_CAUSE_KV_ROWS, .where = HEADS,
     .message = "as if the rows of a page were head_dim apart: a token has kv_heads of them"},
};
/* clang-format on */

static int applies(const struct wrong_row *row, unsigned where)
{
    const struct lesson_case *item = row->item;
    const int kv_heads = item->extent[PA_KV_HEADS];
    if (row->mistake.number == TABLE_UNUSED && paged_pages_of(item, row->last) > item->extent[PA_NUM_BLOCKS])
        return 0;
    if (row->mistake.number == TABLE_OF_FIRST && row->b > 0 &&
        row->data[PA_LENS][0] < row->data[PA_LENS][row->b])
        return 0;
    if (where & GROUPS && item->extent[PA_HEADS] == kv_heads) return 0;
    if (where & HEADS && kv_heads == 1) return 0;
    if (where & SCALE_0 && item->real[0] != 0.0) return 0;
    return !(where & SLOPES) || item->null_buffer != PA_SLOPES;
}

static size_t place_of(const struct wrong_row *row, int t)
{
    const int *extent = row->item->extent, number = row->mistake.number;
    const size_t kv_heads = (size_t)extent[PA_KV_HEADS], group = (size_t)extent[PA_HEADS] / kv_heads;
    const size_t kv_head = number == HEAD_MODULO ? row->h % kv_heads : row->h / group;
    const size_t page_size = (size_t)extent[PA_BLOCK_SIZE], place = (size_t)t / page_size;
    const size_t line = number == TABLE_OF_FIRST ? 0 : row->b;
    size_t page = place;
    if (number != TABLE_UNUSED)
        page = (size_t)row->data[PA_TABLE][line * (size_t)extent[PA_MAX_BLOCKS] + place] -
               (size_t)row->item->value[PA_FIRST_PAGE];
    const size_t token = page * page_size + (size_t)t % page_size;
    return (token * (number == ROWS_OF_ONE_HEAD ? 1 : kv_heads) + kv_head) * row->head_dim;
}

static double slope_of(const struct lesson_case *item, const float *const *data,
                       const struct mistake *mistake, size_t h)
{
    const int number = mistake->number;
    if (number == SLOPE_OF_FIRST) h %= (size_t)mistake->size;
    if (number == SLOPE_OF_GROUP) h /= (size_t)(item->extent[PA_HEADS] / item->extent[PA_KV_HEADS]);
    if (item->null_buffer == PA_SLOPES || number == NO_SLOPE) return 0.0;
    if (number == SLOPE_COMPUTED) return exp2(-8.0 * (double)(h + 1) / item->extent[PA_HEADS]);
    return number == SLOPE_SIGN ? -(double)data[PA_SLOPES][h] : (double)data[PA_SLOPES][h];
}

/* Names the first length or entry that is wrong; 0 if none is. */
static int find_fault(const struct lesson_case *item, const float *const *data, char *words, size_t size)
{
    const int pages = (int)item->value[PA_NUM_BLOCKS], longest = item->extent[PA_MAX_CONTEXT_LEN],
              across = item->extent[PA_MAX_BLOCKS];
    for (int b = 0; b < item->extent[PA_BATCH]; b++) {
        const float length = data[PA_LENS][b];
        if (length < 0.0f || length > (float)longest) {
            snprintf(words, size, "context_lens[%d] is %.0f, of 0 to %d, and passed", b, (double)length,
                     longest);
            return 1;
        }
        for (int i = 0; i < paged_pages_of(item, (int)length); i++) {
            const float entry = data[PA_TABLE][b * across + i];
            if (entry >= 0.0f && entry < (float)pages) continue;
            snprintf(
                words, size,
                "block_table[%d,%d] is %.0f, of 0 to %d, and passed: it is entry %d of %d that is needed", b,
                i, (double)entry, pages - 1, i, paged_pages_of(item, (int)length));
            return 1;
        }
    }
    return 0;
}

/* What the status word says instead. */
static int guess_status(const struct lesson_case *item, const float *const *data, int index,
                        struct lesson_guess *guess)
{
    if (index > 1) return -1;
    guess->value = index == 0 ? KERNEL_OK : KERNEL_INVALID_BLOCK_TABLE;
    guess->cause = RECORD_CAUSE_PAGE_TABLE;
    if (find_fault(item, data, guess->words, sizeof guess->words)) return index == 0;
    snprintf(guess->words, sizeof guess->words,
             "what is right was refused: a length of max_context_len is right, and entries past a sequence's "
             "last block are not "
             "looked at");
    return index == 1;
}

static struct wrong_row open_row(const struct lesson_case *item, const float *const *data,
                                 struct mistake mistake, size_t at)
{
    const size_t head_dim = (size_t)item->extent[PA_HEAD_DIM], heads = (size_t)item->extent[PA_HEADS];
    const size_t unit = at / head_dim, b = unit / heads, h = unit % heads;
    return (struct wrong_row){.mistake = mistake,
                              .item = item,
                              .data = data,
                              .b = b,
                              .h = h,
                              .column = at % head_dim,
                              .head_dim = head_dim,
                              .q = data[PA_Q] + unit * head_dim,
                              .k = data[PA_K],
                              .v = data[PA_V],
                              .place = place_of,
                              .zeros = -1,
                              .scale = wrong_scale(item->real[0], head_dim),
                              .slope = slope_of(item, data, &mistake, h),
                              .last = (int)data[PA_LENS][b] - (mistake.number == LAST_KEY_UNSEEN)};
}

int paged_guess(const struct lesson_case *item, const float *const *data, int index, int buffer, size_t at,
                struct lesson_guess *guess)
{
    if (buffer == PA_STATUS) return guess_status(item, data, index, guess);
    if (item->part == PART_VALIDATE || buffer != PA_OUT || item->untouched) return -1;
    struct mistake mistake = {0};
    const struct mistake_row *known =
        mistake_at(MISTAKES, sizeof MISTAKES / sizeof MISTAKES[0], &index, &mistake, guess);
    const struct wrong_row row = open_row(item, data, mistake, at);
    if (known == NULL) return wrong_row_in_pieces(&row, index, guess);
    if (!applies(&row, known->where)) return 0;
    guess->value = wrong_row_output(&row);
    return 1;
}

int paged_not_finite(const struct lesson_case *item, const float *const *data, int buffer, size_t at,
                     unsigned *holding, char *words, size_t size)
{
    static const struct mistake none = {0};
    const int page = item->extent[PA_BLOCK_SIZE];
    if (item->part == PART_VALIDATE || buffer != PA_OUT || item->untouched) return 0;
    const struct wrong_row row = open_row(item, data, none, at);
    return wrong_row_not_finite(&row, (row.last + page - 1) / page * page, "past the last token of its page",
                                holding, words, size);
}
