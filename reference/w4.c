/**
 * @file w4.c
 * @brief 4-bit weights, number by number.
 */
#include "w4.h"

enum { STRIP = 64, SLICE = 64, LANES = 32, WORDS = 4, WORD_NUMBERS = 8 };

/* Which of a word's numbers is column 0, 1, ... of eight. */
static const int AWQ_PLACE[WORD_NUMBERS] = {0, 4, 1, 5, 2, 6, 3, 7};

int ref_w4_number(const float *bytes, size_t at)
{
    unsigned byte = (unsigned)(int)bytes[at / 2] & 255u;
    return (int)(at % 2 ? byte >> 4 : byte & 15u);
}

size_t ref_w4_stored_place(const struct ref_w4_shape *shape, int row, int column)
{
    size_t n = (size_t)shape->n, eight = (size_t)column / WORD_NUMBERS * WORD_NUMBERS;
    if (shape->gptq)
        return ((size_t)(row / WORD_NUMBERS) * n + (size_t)column) * WORD_NUMBERS +
               (size_t)(row % WORD_NUMBERS);
    return (size_t)row * n + eight + (size_t)AWQ_PLACE[column % WORD_NUMBERS];
}

size_t ref_w4_stored_zero_place(const struct ref_w4_shape *shape, int group, int column)
{
    const struct ref_w4_shape awq = {.n = shape->n, .k = shape->k, .group = shape->group};
    if (!shape->gptq) return ref_w4_stored_place(&awq, group, column);
    return (size_t)group * (size_t)shape->n + (size_t)column;
}

int ref_w4_stored(const struct ref_w4_shape *shape, const float *qweight, int row, int column)
{
    return ref_w4_number(qweight, ref_w4_stored_place(shape, row, column));
}

int ref_w4_stored_zero(const struct ref_w4_shape *shape, const float *qzeros, int group, int column)
{
    if (qzeros == NULL) return 8;
    return (ref_w4_number(qzeros, ref_w4_stored_zero_place(shape, group, column)) + shape->gptq) % 16;
}

/* A strip of columns has slices of rows, a slice blocks of two columns of each lane group, a block lanes, a lane words. */
size_t ref_w4_place(const struct ref_w4_shape *shape, int row, int column)
{
    int strip = column / STRIP, in_strip = column % STRIP, slice = row / SLICE, in_slice = row % SLICE;
    int lane = in_strip / 8 * 4 + in_slice / 16, block = in_strip % 8 / 2, word = in_slice % 16 / 4;
    int number = in_slice % 2 * 4 + in_slice % 4 / 2 * 2 + in_strip % 2;
    size_t slices = (size_t)(shape->k / SLICE);
    size_t at = ((size_t)strip * slices + (size_t)slice) * 4 + (size_t)block;
    at = (at * LANES + (size_t)lane) * WORDS + (size_t)word;
    return at * WORD_NUMBERS + (size_t)number;
}

void ref_w4_weight_at(const struct ref_w4_shape *shape, size_t at, int *row, int *column)
{
    size_t slices = (size_t)(shape->k / SLICE);
    int number = (int)(at % 8), word = (int)(at / 8 % WORDS), lane = (int)(at / 32 % LANES);
    int block = (int)(at / 1024 % 4);
    *row = (int)(at / 4096 % slices) * SLICE + lane % 4 * 16 + word * 4 + number % 4 / 2 * 2 + number / 4;
    *column = (int)(at / 4096 / slices) * STRIP + lane / 4 * 8 + block * 2 + number % 2;
}

static double byte_of(int low, int high)
{
    int byte = high * 16 + low;
    return byte < 128 ? byte : byte - 256;
}

void ref_w4_shuffle(const struct ref_w4_shape *shape, const float *qweight, size_t first, size_t count,
                    double *bytes)
{
    for (size_t i = 0; i < count; i++) {
        int number[2], row, column;
        for (int half = 0; half < 2; half++) {
            ref_w4_weight_at(shape, 2 * (first + i) + (size_t)half, &row, &column);
            number[half] = column < shape->n ? ref_w4_stored(shape, qweight, row, column) : 0;
        }
        bytes[i] = byte_of(number[0], number[1]);
    }
}

void ref_w4_shuffle_zeros(const struct ref_w4_shape *shape, const float *qzeros, size_t first, size_t count,
                          double *bytes)
{
    for (size_t i = 0; i < count; i++) {
        size_t at = 2 * (first + i);
        int group = (int)(at / (size_t)shape->n), column = (int)(at % (size_t)shape->n);
        bytes[i] = byte_of(ref_w4_stored_zero(shape, qzeros, group, column),
                           ref_w4_stored_zero(shape, qzeros, group, column + 1));
    }
}

void ref_w4_weights(const struct ref_w4_shape *shape, const float *weights, const float *zeros,
                    const float *scales, float *w)
{
    size_t n = (size_t)shape->n;
    for (int row = 0; row < shape->k; row++)
        for (int column = 0; column < shape->n; column++) {
            size_t of = (size_t)(row / shape->group) * n + (size_t)column;
            int q = ref_w4_number(weights, ref_w4_place(shape, row, column));
            w[(size_t)row * n + (size_t)column] = (float)(q - ref_w4_number(zeros, of)) * scales[of];
        }
}
