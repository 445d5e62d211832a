/**
 * @file gemm_words.c
 * @brief The report's words on cases of products: what each one tests, and what failing ones have in common.
 */
#include "int8_cases.h"

int gemm_trait(const struct lesson_case *item, int index, const char **message)
{
    const int *extent = item->extent;
    int m = extent[GEMM_M], n = extent[GEMM_N], k = extent[GEMM_K];
    int a_cols = extent[GEMM_TRANS_A] ? m : k, b_cols = extent[GEMM_TRANS_B] ? k : n;
    const struct trait traits[] = {
        {extent[GEMM_TRANS_A], "only cases with a transposed A fail"},
        {extent[GEMM_TRANS_B], "only cases with a transposed B fail"},
        {item->real[GEMM_ALPHA] != 1.0, "only cases with alpha other than 1 fail"},
        {item->real[GEMM_BETA] != 0.0, "only cases with beta other than 0 fail"},
        {k == 0, "only cases with k = 0 fail"},
        {item->distribution >= GEMM_NAN_A && item->distribution < GEMM_DISTRIBUTIONS,
         "only cases with a NaN or an infinity in the input fail"},
        {(k > 0 && extent[GEMM_LDA] > a_cols) || (k > 0 && extent[GEMM_LDB] > b_cols) || extent[GEMM_LDC] > n,
         "only cases in which rows lie apart (lda, ldb or ldc larger than a row) fail"},
        {k % 8 != 0, "only cases whose k is no multiple of 8 fail: is the last K tile's tail handled?"},
        {k % 16 != 0, "only cases whose k is no multiple of 16 fail: is the last K tile's tail handled?"},
        {k % 32 != 0, "only cases whose k is no multiple of 32 fail: is the last K tile's tail handled?"},
        {m % 16 != 0,
         "only cases whose m is no multiple of 16 fail: is the last tile's tail of rows handled?"},
        {n % 16 != 0,
         "only cases whose n is no multiple of 16 fail: is the last tile's tail of columns handled?"},
        {extent[GEMM_EX_FLAGS] & GEMM_CHOOSES_STAGES && item->value[GEMM_CHOICE] > 1 && k > 32,
         "only cases of several stages and several K tiles fail: does each step load, and multiply, the "
         "right stage?"},
        {k > 16, "only cases with k above 16 fail: what happens from one K tile to the next?"},
        {k > 32, "only cases with k above 32 fail: what happens from one K tile to the next?"},
        {k > 64, "only cases with k above 64 fail: what happens from one K tile to the next?"},
        {m > 64, "only cases with more than 64 rows fail"},
        {m > 128, "only cases with more than 128 rows fail"},
        {n > 64, "only cases with more than 64 columns fail"},
        {n > 128, "only cases with more than 128 columns fail"},
    };
    return trait_at(traits, sizeof traits / sizeof traits[0], 1, index, message);
}

/* 1 if rows of matrix @p index begin at multiples of 16 bytes, and end within a vector. */
static int ends_within_a_vector(const struct lesson_case *item, int index)
{
    struct lesson_buffer buffers[GEMM_BUFFERS];
    gemm_buffers(item, buffers);
    size_t vector = 16 / storage_bytes(buffers[index].storage);
    return buffers[index].extent[1] % vector == 0 && buffers[index].row % vector != 0;
}

/* What is wrong with the choice; NULL if nothing is. */
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
    static const char *const of_data[GEMM_DISTRIBUTIONS] = {
        [GEMM_LARGE] = "inputs of magnitude 1e3: sums kept as half overflow",
        [GEMM_SMALL] = "inputs of magnitude 1e-4: products as half would be zero or nearly so",
        [GEMM_UNLIKE] = "A is of magnitude 1e3, B of 1e-4",
        [GEMM_CANCEL] = "terms nearly cancel in pairs: every rounding shows",
        [GEMM_POSITIVE] = "all terms are positive: a sum kept as half stops growing",
        [GEMM_VAST] = "alpha is a subnormal number and the products are large: so small an alpha is not 0",
        [GEMM_DISJOINT] =
            "every product is 0, and alpha so large that alpha times an element is infinite: it is "
            "a factor of the sum",
        [GEMM_SPREAD] = "terms of very unlike size",
        [GEMM_NAN_A] =
            "some rows of op(A) end in a NaN: it must come out in those rows of C and nowhere else",
        [GEMM_NAN_B] =
            "some columns of op(B) hold a NaN: it must come out in those columns of C and nowhere else",
        [GEMM_HUGE] = "some sums are beyond 65504, the largest half: only what is stored may become infinite",
        [GEMM_SUBNORMAL] = "elements of A are subnormal halves: they are not 0",
        [GEMM_INF_B] =
            "infinities in some columns of op(B): what pads a tile must not be multiplied with them",
        [GEMM_INF_A] = "infinities in some rows of op(A): what pads a tile must not be multiplied with them",
        [GEMM_NAN_AB] = "alpha is 0: A and B, which are NaN throughout, are not to be read",
        [GEMM_NAN_C] = "C holds NaN, and beta is not 0: they must come out where they are",
    };
    if (item->expected == KERNEL_UNSUPPORTED_ARCHITECTURE)
        return "the device says that it is another one: refused after all that is wrong with the arguments";
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
                   "an offset computed in 64 bits (size_t)?";
    if (item->distribution == GEMM_NORMAL && item->group == GROUP_EDGES)
        for (int b = GEMM_A; b <= GEMM_C; b++)
            if (ends_within_a_vector(item, b))
                return "rows begin at whole vectors of 16 bytes and end within one: is the tail of a row "
                       "left to single elements?";
    if (item->extent[GEMM_K] == 0)
        return "k is 0: the product is 0, A and B have no elements, and C becomes beta * C";
    return of_data[item->distribution];
}

int int8_trait(const struct lesson_case *item, int index, const char **message)
{
    const int of_a = item->extent[GEMM_TRANS_A] != 0, of_b = item->extent[GEMM_TRANS_B] != 0;
    const struct trait traits[] = {
        {of_a == of_b,
         "only cases fail in which A and B are both transposed or neither is, so that the elements of one "
         "follow one another along k, and those of the other do not: is the layout of A taken from trans_a "
         "and that of B from trans_b, and do both come in the same order of k?"},
        {of_a || !of_b,
         "only cases fail in which A is transposed or B is not, so that the bytes of a line of it lie apart: "
         "are they in the right order of k, and each in its own line, once they are in registers?"},
    };
    const int own = sizeof traits / sizeof traits[0];
    if (index >= own) return gemm_trait(item, index - own, message);
    return trait_at(traits, sizeof traits / sizeof traits[0], 1, index, message);
}
