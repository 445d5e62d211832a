/**
 * @file attention_e4m3.c
 * @brief Rotation and rounding to E4M3, in float64.
 */
#include "attention_e4m3.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../numbers/bound.h"
#include "contracts/e4m3_blocks.h"

double e4m3_nearest(double x)
{
    enum { MANTISSA = 3, LEAST_EXPONENT = -6, DOUBLES_MANTISSA = 52, DOUBLES_BIAS = 1023 };
    double size = fabs(x), adds;
    if (!(size < E4M3_LARGEST)) return isnan(x) ? x : copysign(E4M3_LARGEST, x);
    uint64_t bits;
    memcpy(&bits, &size, sizeof bits);
    uint64_t exponent = bits >> DOUBLES_MANTISSA;
    if (exponent < DOUBLES_BIAS + LEAST_EXPONENT) exponent = DOUBLES_BIAS + LEAST_EXPONENT;
    /* In 1.5 times this power of two the last bit weighs as much as the last bit of an E4M3 number of this
     * size, so adding it rounds the sum to E4M3. */
    bits = (exponent + DOUBLES_MANTISSA - MANTISSA) << DOUBLES_MANTISSA | (uint64_t)1
                                                                              << (DOUBLES_MANTISSA - 1);
    memcpy(&adds, &bits, sizeof adds);
    return copysign((size + adds) - adds, x);
}

/* The largest error that a rotation of this row in f32 may have, in any order of the sum: see bound.h, "A
 * rotation in f32". */
static double rotation_error(const float *row)
{
    double magnitude = 0.0, lost = 0.0;
    for (int c = 0; c < E4M3_COLUMNS; c++) magnitude += fabs((double)row[c]);
    /* no error: no code has a second right value */
    if (!isfinite(magnitude) || magnitude == 0.0) return 0.0;
    double unit = ldexp(BOUND_SUM_F32, ilogb(magnitude));
    for (int c = 0; c < E4M3_COLUMNS; c++) {
        double units = (double)row[c] / unit; /* exact: a power of two */
        if (units != floor(units)) lost += BOUND_TIMES_CUT * unit;
    }
    return lost;
}

/* Rotates a row; returns the largest error that a sum in f32 may have. */
static double rotate(const float *row, int64_t seed, enum storage storage, const uint32_t *signs, double *x)
{
    for (int c = 0; c < E4M3_COLUMNS; c++)
        x[c] = seed != 0 && signs[c / 32] >> c % 32 & 1 ? -(double)row[c] : (double)row[c];
    for (int distance = 1; seed != 0 && distance < E4M3_COLUMNS; distance *= 2)
        for (int c = 0; c < E4M3_COLUMNS; c++) {
            if (c & distance) continue;
            double one = x[c], other = x[c + distance];
            x[c] = one + other, x[c + distance] = one - other;
        }
    for (int c = 0; c < E4M3_COLUMNS && seed & E4M3_ROTATED_STORED; c++)
        x[c] = (double)storage_round(storage, (float)x[c]);
    return seed == 0 ? 0.0 : rotation_error(row);
}

static double larger_finite(double largest, double x)
{
    return isfinite(x) && fabs(x) > largest ? fabs(x) : largest;
}

/* scale[0] belongs to the exact largest size. scale[1] differs from it if rounding in f32 may change the
 * largest size enough to change the scale. */
static void round_one(double x, double error, const double scale[2], float *value, float *slack)
{
    double nearest = e4m3_nearest(x / scale[0]) * scale[0], most = 0.0;
    *value = (float)nearest;
    *slack = 0.0f;
    if (!isfinite(x)) return;
    for (int i = 0; i < (scale[1] == scale[0] ? 1 : 2); i++)
        for (int side = -1; side <= 1 && (error > 0.0 || i > 0); side += 2)
            most = fmax(most, fabs(e4m3_nearest((x + side * error) / scale[i]) * scale[i] - nearest));
    *slack = (float)most;
}

/* A block of rows. */
static void round_block(const float *rows, int count, int64_t seed, enum storage storage, double *memory,
                        float *values, float *slack)
{
    double error[E4M3_ROWS], largest = 0.0, off = 0.0;
    uint32_t signs[E4M3_COLUMNS / 32];
    rotation_signs((uint32_t)seed, signs);
    for (int r = 0; r < count; r++) {
        double *x = memory + (size_t)r * E4M3_COLUMNS;
        error[r] = rotate(rows + (size_t)r * E4M3_COLUMNS, seed, storage, signs, x);
        off = fmax(off, error[r]);
        for (int c = 0; c < E4M3_COLUMNS; c++) largest = larger_finite(largest, x[c]);
    }
    double scale[2] = {(double)e4m3_scale((float)largest), (double)e4m3_scale((float)(largest + off))};
    if (scale[1] == scale[0]) scale[1] = (double)e4m3_scale((float)fmax(largest - off, 0.0));
    for (int r = 0; r < count; r++)
        for (int c = 0; c < E4M3_COLUMNS; c++)
            round_one(memory[(size_t)r * E4M3_COLUMNS + (size_t)c], error[r], scale, values++, slack++);
}

static int block_rows(int rows, int first)
{
    return rows - first < E4M3_ROWS ? rows - first : E4M3_ROWS;
}

static struct e4m3_rows *allocate(int kv_len)
{
    size_t elems = (size_t)kv_len * E4M3_COLUMNS, of_block = (size_t)E4M3_ROWS * E4M3_COLUMNS;
    struct e4m3_rows *rounded =
        malloc(sizeof *rounded + of_block * sizeof(double) + (2 * of_block + 3 * elems) * sizeof(float));
    if (rounded == NULL) return NULL;
    rounded->memory = (double *)(void *)(rounded + 1);
    rounded->queries = (float *)(void *)(rounded->memory + of_block);
    rounded->queries_slack = rounded->queries + of_block;
    rounded->k = rounded->queries_slack + of_block;
    rounded->k_slack = rounded->k + elems;
    rounded->v = rounded->k_slack + elems;
    rounded->of_queries = rounded->of_k = NULL;
    return rounded;
}

static void round_keys(struct e4m3_rows *rounded, const float *k, const float *v, int kv_len, int64_t seed,
                       enum storage storage)
{
    enum { CUT = 4096 * E4M3_COLUMNS };
    const size_t elems = (size_t)kv_len * E4M3_COLUMNS,
                 scaled = seed & E4M3_V_OF_4096 && elems > CUT ? CUT : elems;
    double largest = 0.0;
    seed &= ~E4M3_V_OF_4096;
    for (int first = 0; first < kv_len; first += E4M3_ROWS) {
        size_t at = (size_t)first * E4M3_COLUMNS;
        round_block(k + at, block_rows(kv_len, first), seed, storage, rounded->memory, rounded->k + at,
                    rounded->k_slack + at);
    }
    for (size_t i = 0; i < scaled; i++) largest = larger_finite(largest, (double)v[i]);
    double scale = (double)e4m3_scale((float)largest);
    for (size_t i = 0; i < elems; i++) rounded->v[i] = (float)(e4m3_nearest((double)v[i] / scale) * scale);
    rounded->of_k = k;
}

const struct e4m3_rows *e4m3_rows(void **kept, const float *q, int q_len, int query, const float *k,
                                  const float *v, int kv_len, int64_t seed, enum storage storage)
{
    struct e4m3_rows *rounded = *kept != NULL ? *kept : allocate(kv_len);
    if (rounded == NULL) return NULL;
    *kept = rounded;
    int first = query / E4M3_ROWS * E4M3_ROWS;
    const float *block = q + (size_t)first * E4M3_COLUMNS;
    if (rounded->of_k != k) round_keys(rounded, k, v, kv_len, seed, storage);
    if (rounded->of_queries != block)
        round_block(block, block_rows(q_len, first), seed & ~E4M3_V_OF_4096, storage, rounded->memory,
                    rounded->queries, rounded->queries_slack);
    rounded->of_queries = block;
    rounded->q = rounded->queries + (size_t)(query - first) * E4M3_COLUMNS;
    rounded->q_slack = rounded->queries_slack + (size_t)(query - first) * E4M3_COLUMNS;
    return rounded;
}

double e4m3_score_slack(const struct e4m3_rows *rounded, size_t key)
{
    const float *k = rounded->k + key * E4M3_COLUMNS, *k_slack = rounded->k_slack + key * E4M3_COLUMNS;
    double slack = 0.0;
    for (int c = 0; c < E4M3_COLUMNS; c++) {
        double of_q = (double)rounded->q_slack[c], of_k = (double)k_slack[c];
        if (of_q > 0.0) slack += of_q * (fabs((double)k[c]) + of_k);
        if (of_k > 0.0) slack += of_k * fabs((double)rounded->q[c]);
    }
    return slack;
}

enum { TERMS = 32 }; /* of an instruction */

static double term_of_score(const struct e4m3_rows *rounded, size_t key, int c)
{
    return (double)rounded->q[c] * (double)rounded->k[key * E4M3_COLUMNS + (size_t)c];
}

double e4m3_score_cut_off(const struct e4m3_rows *rounded, size_t key)
{
    double sum = 0.0, reached = 0.0, lost = 0.0;
    for (int c = 0; c < E4M3_COLUMNS; c++) {
        double term = term_of_score(rounded, key, c);
        sum += term;
        reached = fmax(reached, fabs(term));
        if (c % TERMS == TERMS - 1) reached = fmax(reached, fabs(sum));
    }
    if (!isfinite(sum) || reached == 0.0) return 0.0;
    double unit = ldexp(BOUND_SUM_E4M3, ilogb(reached));
    for (int c = 0; c < E4M3_COLUMNS; c++) {
        double term = fabs(term_of_score(rounded, key, c));
        if (term / unit != trunc(term / unit)) lost += fmin(term, unit);
    }
    /* what was in the accumulator before, and the sum itself */
    return lost + 2.0 * unit * E4M3_COLUMNS / TERMS;
}

double e4m3_output_cut_off(const struct e4m3_rows *rounded, const double *weights, size_t count, int column)
{
    const float *v = rounded->v + column;
    double sum = 0.0, reached = 0.0, lost = 0.0;
    for (size_t j = 0; j < count; j++) {
        double term = weights[j] * (double)v[j * E4M3_COLUMNS];
        sum += term;
        reached = fmax(reached, fabs(term));
        if (j % TERMS == TERMS - 1 || j + 1 == count) reached = fmax(reached, fabs(sum));
    }
    if (!isfinite(sum)) return 0.0;
    double unit = BOUND_SUM_E4M3 * (1.0 + BOUND_U_E4M3) * reached;
    for (size_t j = 0; j < count; j++) lost += fmin(fabs(weights[j] * (double)v[j * E4M3_COLUMNS]), unit);
    return lost + 2.0 * unit * ceil((double)count / TERMS);
}
