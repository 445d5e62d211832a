/**
 * @file checker_e4m3.c
 * @brief Rows that are rotated in f32 and rounded to E4M3: the checker must take every code that a right kernel may arrive at,
 *        in whatever order it adds, on tensor cores or not; and must know of a row whose rotation is exact that it has one code.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "checker/cases/attention_e4m3.h"
#include "checker/numbers/storage.h"
#include "contracts/e4m3_blocks.h"

enum { COLUMNS = E4M3_COLUMNS, ROWS = 2, BLOCK = 32, TRIALS = 100 };

static uint64_t state = 1;

static uint32_t below(uint32_t end)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(state >> 33) % end;
}

/* ---- ways to add ------------------------------------------------------------------------------------------- */

struct way {
    const char *name;
    int together; /* terms that a tensor core adds at once; 0: f32 additions, one after the other; -1: in pairs */
    int bits;     /* of fraction that it keeps */
};

static const struct way WAYS[] = {{"one after the other", 0, 0},    {"in pairs", -1, 0},
                                  {"4 together, 23 bits", 4, 23},   {"8 together, 24 bits", 8, 24},
                                  {"16 together, 23 bits", 16, 23}, {"16 together, 25 bits", 16, 25}};

static double cut(double x, double unit)
{
    return trunc(x / unit) * unit;
}

/* A step of a tensor core: everything cut off where the largest says, and the sum once more. */
static double add_together(double sum, const double *terms, int count, int bits)
{
    double largest = fabs(sum), exact = 0.0;
    for (int i = 0; i < count; i++) largest = fmax(largest, fabs(terms[i]));
    if (largest == 0.0) return 0.0;
    double unit = ldexp(1.0, ilogb(largest) - bits);
    for (int i = 0; i < count; i++) exact += cut(terms[i], unit);
    exact += cut(sum, unit);
    return exact == 0.0 ? 0.0 : cut(exact, ldexp(1.0, ilogb(exact) - 23));
}

static double total(const struct way *way, const double terms[COLUMNS])
{
    float of_block[COLUMNS / BLOCK], sums[COLUMNS];
    if (way->together == 0) {
        float sum = 0.0f;
        for (int c = 0; c < COLUMNS; c++) sum += (float)terms[c];
        return (double)sum;
    }
    if (way->together < 0) {
        for (int c = 0; c < COLUMNS; c++) sums[c] = (float)terms[c];
        for (int count = COLUMNS / 2; count > 0; count /= 2)
            for (int c = 0; c < count; c++) sums[c] += sums[c + count];
        return (double)sums[0];
    }
    for (int b = 0; b < COLUMNS / BLOCK; b++) { /* as the solution does it: tensor cores for 32, then f32 */
        double sum = 0.0;
        for (int i = 0; i < BLOCK; i += way->together)
            sum = add_together(sum, terms + b * BLOCK + i, way->together, way->bits);
        of_block[b] = (float)sum;
    }
    return (double)((of_block[0] + of_block[1]) + (of_block[2] + of_block[3]));
}

static void rotate(const struct way *way, const float *row, const uint32_t *signs, double *to)
{
    for (int column = 0; column < COLUMNS; column++) {
        double terms[COLUMNS];
        for (int c = 0; c < COLUMNS; c++) {
            int negative = (int)(signs[c / 32] >> c % 32) ^ __builtin_popcount((unsigned)(c & column));
            terms[c] = negative & 1 ? -(double)row[c] : (double)row[c];
        }
        to[column] = total(way, terms);
    }
}

/* ---- rows -------------------------------------------------------------------------------------------------- */

enum kind {
    ALIKE,  /* within a factor of 2^6: exact in every order */
    TIES,   /* one number halfway between two codes, and 127 so small that they decide */
    SCALES, /* one number where the scale doubles, a row that is subnormal then, and small ones that decide */
    ALL_SIZES, /* any halves */
    KINDS
};
static const char *const KIND[] = {"alike", "ties", "scales", "all sizes"};

static float number(int least, int most)
{
    float x = ldexpf((float)(1024 + below(1024)), least + (int)below((uint32_t)(most - least + 1)) - 10);
    return storage_round(STORAGE_F16, below(2) ? x : -x);
}

static void fill(enum kind kind, float rows[ROWS][COLUMNS])
{
    static const int sizes[KINDS][ROWS][2] = {
        {{-3, 2}, {-3, 2}}, {{-22, -17}, {-3, 2}}, {{-24, -20}, {-16, -13}}, {{-24, 8}, {-24, 8}}};
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLUMNS; c++) rows[r][c] = number(sizes[kind][r][0], sizes[kind][r][1]);
    if (kind == TIES) rows[0][below(COLUMNS)] = 1.0625f;
    if (kind == SCALES) rows[0][below(COLUMNS)] = 112.0f; /* 1.75 times a power of two */
}

/* ---- comparison -------------------------------------------------------------------------------------------- */

/* How many codes are other ones than those of the exact sums; -1 after a message if one is not allowed. */
static int other_codes(enum kind kind, const struct way *way, const float rows[ROWS][COLUMNS],
                       const struct e4m3_rows *allowed, const uint32_t *signs)
{
    double got[ROWS][COLUMNS], largest = 0.0;
    int others = 0;
    for (int r = 0; r < ROWS; r++) rotate(way, rows[r], signs, got[r]);
    for (int i = 0; i < ROWS * COLUMNS; i++) largest = fmax(largest, fabs(got[i / COLUMNS][i % COLUMNS]));
    double scale = (double)e4m3_scale((float)largest);
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        double value = e4m3_nearest(got[i / COLUMNS][i % COLUMNS] / scale) * scale;
        double off = fabs(value - (double)allowed->k[i]);
        others += off > 0.0;
        if (off <= (double)allowed->k_slack[i]) continue;
        printf("FAIL %s, %s: row %d, column %d is %.9g and becomes %.9g; allowed are %.9g +- %.9g\n",
               KIND[kind], way->name, i / COLUMNS, i % COLUMNS, got[i / COLUMNS][i % COLUMNS], value,
               (double)allowed->k[i], (double)allowed->k_slack[i]);
        return -1;
    }
    return others;
}

int main(void)
{
    static float rows[ROWS][COLUMNS];
    int failures = 0;
    for (int kind = 0; kind < KINDS; kind++) {
        int others[sizeof WAYS / sizeof WAYS[0]] = {0}, loose = 0, all = 0;
        for (int trial = 0; trial < TRIALS && failures < 10; trial++) {
            uint32_t seed = 1 + below(1000000), signs[COLUMNS / 32];
            void *kept = NULL;
            rotation_signs(seed, signs);
            fill((enum kind)kind, rows);
            const struct e4m3_rows *allowed =
                e4m3_rows(&kept, rows[0], 1, 0, rows[0], rows[0], ROWS, seed, STORAGE_F16);
            if (allowed == NULL) return 1;
            for (int i = 0; i < ROWS * COLUMNS; i++) loose += allowed->k_slack[i] > 0.0f, all++;
            for (size_t w = 0; w < sizeof WAYS / sizeof WAYS[0]; w++) {
                int count = other_codes((enum kind)kind, &WAYS[w], rows, allowed, signs);
                if (count < 0) failures++;
                if (count > 0) others[w] += count;
            }
            free(kept);
        }
        printf("%-10s %6d of %d may be another one;", KIND[kind], loose, all);
        for (size_t w = 0; w < sizeof WAYS / sizeof WAYS[0]; w++) printf(" %d", others[w]);
        printf(" are\n");
        if (kind == ALIKE && loose > 0) failures++, printf("FAIL alike: these rotations are exact\n");
        if ((kind == TIES || kind == SCALES) && (others[0] == 0 || (kind == TIES && others[4] == 0)))
            failures++, printf("FAIL %s: no code is another one: this tests nothing\n", KIND[kind]);
        if (kind == ALL_SIZES && loose > all / 20)
            failures++, printf("FAIL all sizes: too many codes are left open\n");
    }
    printf(failures ? "%d failures\n" : "ok\n", failures);
    return failures != 0;
}
