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
     .message = "the maximum begins at 0, not at -infinity: all scores are far below 0, and every exp(score - 0) is 0"},
    {SLOPE_SIGN, RECORD_CAUSE_ALIBI, .where = SLOPES,
     .message = "ALiBi with the other sign: slope * (t - last token) is never above 0"},
    {SLOPE_COMPUTED, RECORD_CAUSE_ALIBI, .where = SLOPES,
     .message = "ALiBi with computed slopes, 2^(-8 (h + 1) / heads): alibi_slopes[h] is given"},
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

static double slope_of(const struct lesson_case *item, const float *const *data, int number, size_t h)
{
    if (item->null_buffer == PA_SLOPES || number == NO_SLOPE) return 0.0;
    if (number == SLOPE_COMPUTED) return exp2(-8.0 * (double)(h + 1) / item->extent[PA_HEADS]);
    return number == SLOPE_SIGN ? -(double)data[PA_SLOPES][h] : (double)data[PA_SLOPES][h];
}

/* What the status word says instead. */
static int guess_status(int index, struct lesson_guess *guess)
{
    static const struct {
        enum kernel_status value;
        const char *words;
    } other[] = {{KERNEL_OK,
                  "what is wrong passed: right are lengths from 0 to max_context_len, and entries from 0 to "
                  "num_blocks - 1; is a limit one too far?"},
                 {KERNEL_INVALID_BLOCK_TABLE,
                  "what is right was refused: a length of max_context_len is right, and entries "
                  "past a sequence's last block are not looked at"}};
    if (index >= (int)(sizeof other / sizeof other[0])) return -1;
    guess->value = other[index].value;
    guess->cause = RECORD_CAUSE_PAGE_TABLE;
    snprintf(guess->words, sizeof guess->words, "%s", other[index].words);
    return 1;
}

int paged_guess(const struct lesson_case *item, const float *const *data, int index, int buffer, size_t at,
                struct lesson_guess *guess)
{
    if (buffer == PA_STATUS) return guess_status(index, guess);
    if (item->part == PART_VALIDATE || buffer != PA_OUT || item->untouched) return -1;
    const size_t head_dim = (size_t)item->extent[PA_HEAD_DIM], heads = (size_t)item->extent[PA_HEADS];
    const size_t unit = at / head_dim, b = unit / heads, h = unit % heads;
    struct mistake mistake = {0};
    const struct mistake_row *known =
        mistake_at(MISTAKES, sizeof MISTAKES / sizeof MISTAKES[0], &index, &mistake, guess);
    const struct wrong_row row = {.mistake = mistake,
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
                                  .slope = slope_of(item, data, mistake.number, h),
                                  .last = (int)data[PA_LENS][b] - (mistake.number == LAST_KEY_UNSEEN)};
    if (known == NULL) return wrong_row_in_pieces(&row, index, guess);
    if (!applies(&row, known->where)) return 0;
    guess->value = wrong_row_output(&row);
    return 1;
}
