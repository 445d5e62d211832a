/**
 * @file gemm_words.c
 * @brief What a report says of cases of products: what they are about, and what failing ones have in common.
 */
#include "int8_cases.h"

int gemm_trait(const struct lesson_case *item, int index, const char **message)
{
    static const char *const messages[] = {
        "only cases with a transposed A fail",
        "only cases with a transposed B fail",
        "only cases with alpha other than 1 fail",
        "only cases with beta other than 0 fail",
        "only cases with k = 0 fail",
        "only cases with a NaN or an infinity in the input fail",
        "only cases in which rows lie apart (lda, ldb or ldc larger than a row) fail",
        "only cases whose k is no multiple of 8 fail: is the last K tile's tail handled?",
        "only cases whose k is no multiple of 16 fail: is the last K tile's tail handled?",
        "only cases whose k is no multiple of 32 fail: is the last K tile's tail handled?",
        "only cases whose m is no multiple of 16 fail: is the last tile's tail of rows handled?",
        "only cases whose n is no multiple of 16 fail: is the last tile's tail of columns handled?",
        "only cases of several stages and several K tiles fail: does each step load, and multiply, the right "
        "stage?",
        "only cases with k above 16 fail: what happens from one K tile to the next?",
        "only cases with k above 32 fail: what happens from one K tile to the next?",
        "only cases with k above 64 fail: what happens from one K tile to the next?",
        "only cases with more than 64 rows fail",
        "only cases with more than 128 rows fail",
        "only cases with more than 64 columns fail",
        "only cases with more than 128 columns fail",
    };
    const int *extent = item->extent;
    int m = extent[GEMM_M], n = extent[GEMM_N], k = extent[GEMM_K];
    int a_cols = extent[GEMM_TRANS_A] ? m : k, b_cols = extent[GEMM_TRANS_B] ? k : n;
    const int has[] = {
        extent[GEMM_TRANS_A],
        extent[GEMM_TRANS_B],
        item->real[GEMM_ALPHA] != 1.0,
        item->real[GEMM_BETA] != 0.0,
        k == 0,
        item->distribution >= GEMM_NAN_A && item->distribution < GEMM_DISTRIBUTIONS,
        (k > 0 && extent[GEMM_LDA] > a_cols) || (k > 0 && extent[GEMM_LDB] > b_cols) || extent[GEMM_LDC] > n,
        k % 8 != 0,
        k % 16 != 0,
        k % 32 != 0,
        m % 16 != 0,
        n % 16 != 0,
        extent[GEMM_EX_FLAGS] & GEMM_CHOOSES_STAGES && item->value[GEMM_CHOICE] > 1 && k > 32,
        k > 16,
        k > 32,
        k > 64,
        m > 64,
        m > 128,
        n > 64,
        n > 128,
    };
    if (index >= (int)(sizeof messages / sizeof messages[0])) return -1;
    *message = messages[index];
    return has[index];
}

/* 1 if rows of matrix @p index begin at whole vectors of 16 bytes, and end within one. */
static int ends_within_a_vector(const struct lesson_case *item, int index)
{
    struct lesson_buffer buffers[GEMM_BUFFERS];
    gemm_buffers(item, buffers);
    size_t vector = 16 / storage_bytes(buffers[index].storage);
    return buffers[index].extent[1] % vector == 0 && buffers[index].extent[LESSON_ROW] % vector != 0;
}

/* What is wrong with the family's choice; NULL if nothing is. */
static const char *wrong_choice(const struct lesson_case *item)
{
    int first = item->extent[GEMM_EX_CHOICES] / 256, last = item->extent[GEMM_EX_CHOICES] % 256;
    if (item->value[GEMM_CHOICE] >= first && item->value[GEMM_CHOICE] <= last) return NULL;
    if (item->extent[GEMM_EX_FLAGS] & GEMM_CHOOSES_STAGES)
        return "the number of stages is none that the contract allows";
    return item->extent[GEMM_EX_FLAGS] & GEMM_CHOOSES_TILE ? "the tile is none of enum gemm_tile" : NULL;
}

const char *gemm_purpose(const struct lesson_case *item)
{
    if (item->flags & CASE_OLD_DEVICE)
        return "the device says that it is an sm_75: refused after all that is wrong with the arguments";
    if (item->flags & CASE_NEW_DEVICE)
        return "the device says that it is an sm_100, which lacks what sm_90a alone has: refused";
    enum { MANY_ROWS = 512, MANY_COLUMNS = 64 };
    if (item->expected == KERNEL_INVALID_CONFIG && wrong_choice(item) != NULL) return wrong_choice(item);
    if (item->extent[GEMM_M] > MANY_ROWS && item->extent[GEMM_N] > MANY_COLUMNS && item->group == GROUP_EDGES)
        return "many rows of tiles, and more than one column: is every tile computed, and once?";
    if (item->value[GEMM_UNUSED] & GEMM_UNUSED_STAGES)
        return "stages and the workspace, which have no meaning here, hold something: neither is to be "
               "looked at";
    if (item->value[GEMM_UNUSED] != 0)
        return "the workspace, which has no meaning here, is given: it is not to be looked at";
    for (int b = GEMM_A; b <= GEMM_C; b++)
        if (item->apart[b] != 0)
            return "rows lie so far apart that the last ones begin beyond 2^31 elements: is every product of "
                   "an "
                   "offset computed in 64 bits (size_t)?";
    if (item->distribution == GEMM_NORMAL && item->group == GROUP_EDGES)
        for (int b = GEMM_A; b <= GEMM_C; b++)
            if (ends_within_a_vector(item, b))
                return "rows begin at whole vectors of 16 bytes and end within one: is the tail of a row "
                       "left to "
                       "single elements?";
    if (item->extent[GEMM_K] == 0)
        return "k is 0: the product is 0, A and B have no elements, and C becomes beta * C";
    switch (item->distribution) {
    case GEMM_LARGE:
        return "inputs of magnitude 1e3: sums kept as half overflow";
    case GEMM_SMALL:
        return "inputs of magnitude 1e-4: products as half would be zero or nearly so";
    case GEMM_UNLIKE:
        return "A is of magnitude 1e3, B of 1e-4";
    case GEMM_CANCEL:
        return "terms nearly cancel in pairs: every rounding shows";
    case GEMM_POSITIVE:
        return "all terms are positive: a sum kept as half stops growing";
    case GEMM_SPREAD:
        return "terms of very unlike size";
    case GEMM_NAN_A:
        return "some rows of op(A) end in a NaN: it must come out in those rows of C and nowhere else";
    case GEMM_NAN_B:
        return "some columns of op(B) hold a NaN: it must come out in those columns of C and nowhere else";
    case GEMM_HUGE:
        return "some sums are beyond 65504, the largest half: only what is stored may become infinite";
    case GEMM_SUBNORMAL:
        return "elements of A are subnormal halves: they are not 0";
    case GEMM_INF_B:
        return "infinities in some columns of op(B): what pads a tile must not be multiplied with them";
    case GEMM_INF_A:
        return "infinities in some rows of op(A): what pads a tile must not be multiplied with them";
    case GEMM_NAN_AB:
        return "alpha is 0: A and B, which are NaN throughout, are not to be read";
    case GEMM_NAN_C:
        return "C holds NaN, and beta is not 0: they must come out where they are";
    default:
        return NULL;
    }
}

int int8_trait(const struct lesson_case *item, int index, const char **message)
{
    static const char *const messages[] = {
        "only cases fail in which A and B are both transposed or neither is, so that the elements of one "
        "follow "
        "one another along k, and those of the other do not: is the layout of A taken from trans_a and that "
        "of "
        "B from trans_b, and do both come in the same order of k?",
        "only cases fail in which A is transposed or B is not, so that the bytes of a line of it lie apart: "
        "are "
        "they in the right order of k, and each in its own line, once they are in registers?",
    };
    enum { TRAITS = sizeof messages / sizeof messages[0] };
    const int of_a = item->extent[GEMM_TRANS_A] != 0, of_b = item->extent[GEMM_TRANS_B] != 0;
    if (index >= TRAITS) return gemm_trait(item, index - TRAITS, message);
    *message = messages[index];
    return index == 0 ? of_a == of_b : of_a || !of_b;
}
