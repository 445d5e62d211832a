/**
 * @file matrix.c
 * @brief Warp matrix operations: which lane touches which bytes, which element lies where, and the product.
 *
 * A tile falls into blocks of 8 x 8. In one of a matrix, lane 4g + t holds two neighbours of the dimension
 * that is summed over, 2t and 2t + 1, of row (A) or column (B) g; in one of an accumulator, columns 2t and
 * 2t + 1 of row g (m8n32k16: rows 2t and 2t + 1 of column g, as that product is made transposed). x[2r] and
 * x[2r + 1] belong to the r-th block. Of bytes it holds four neighbours in a block of 8 x 16, of TF32 and double one in blocks of
 * 8 x 4. In memory a tile is lines (rows if it is row-major, else columns) that
 * lie ldm elements apart.
 *
 * The accesses are those of the machine code of nvcc 13 for sm_80 and sm_90:
 *
 *   half, shared memory           LDSM, four blocks (or two) an instruction: lane l gives the address of line
 *                                 l % 8 of block l / 8, 16 bytes; eight lanes are served at a time
 *   half, global memory           one 32-bit load per block: line l / 4, bytes 4 (l % 4)
 *   bfloat16, half accumulators   the same, in shared memory too
 *   bytes, along k                LDSM from shared memory, as if two bytes were a half; else one 32-bit load a block
 *   bytes across k, TF32, double  an access for each element
 *   float, int and double         lines along the pairs: an access of two elements a block, line l / 4
 *                                 across: two 32-bit accesses, lines 2 (l % 4) and 2 (l % 4) + 1
 */
#include "../include/simt/matrix.h"
#include "../machine/tools.h"
#include "../ptx/numbers.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime.h"

enum { BLOCK = 8, DEPTH = 16, SHAPES = 8 };

/* ---- where an element is ------------------------------------------------------------------------------- */

struct element {
    uint8_t row, column;
};

/* Indexed by use, shape, lane and index in x[]; filled before main(). */
static struct element simt_places[3][SHAPES][32][DEPTH];

static int is_byte(const struct simt_fragment *kind)
{
    return kind->type == SIMT_SIGNED || kind->type == SIMT_UNSIGNED;
}

/* m8n32k16 is computed transposed. */
static int is_transposed(const struct simt_fragment *kind)
{
    return kind->m == BLOCK && kind->n == 4 * BLOCK;
}

static unsigned shape_of(const struct simt_fragment *kind)
{
    if (kind->type == SIMT_DOUBLE) return 7;
    if (kind->type == SIMT_TF32) return 6;
    return (kind->m == DEPTH ? 0 : kind->m < DEPTH ? 1 : 2) + (is_byte(kind) ? 3 : 0);
}

static unsigned bytes_of(const struct simt_fragment *kind)
{
    switch (kind->type) {
    case SIMT_SIGNED:
    case SIMT_UNSIGNED:
        return 1;
    case SIMT_HALF:
    case SIMT_BFLOAT16:
        return 2;
    case SIMT_DOUBLE:
        return 8;
    default:
        return 4;
    }
}

/* The number of different elements that a lane holds; x[] may repeat them. */
static unsigned different_elements(const struct simt_fragment *kind)
{
    if (kind->use == SIMT_ACCUMULATOR) return kind->m * kind->n / 32u;
    return (kind->use == SIMT_MATRIX_A ? kind->m : kind->n) * kind->k / 32u;
}

/* The block of register pair r of a matrix, along m or n and along k: an instruction takes 16 x 16 of it. */
static void block_of_matrix(unsigned extent, unsigned r, unsigned *outer, unsigned *inner)
{
    if (extent == BLOCK) {
        *outer = 0;
        *inner = r;
    } else {
        *outer = 2 * (r / 4) + r % 2;
        *inner = r / 2 % 2;
    }
}

static struct element element_of(unsigned row, unsigned column)
{
    return (struct element){(uint8_t)row, (uint8_t)column};
}

/* The coordinates of x[i] of a matrix, along m or n and along k. */
static void place_in_matrix(const struct simt_fragment *kind, unsigned lane, unsigned i, unsigned *outer,
                            unsigned *inner)
{
    const unsigned g = lane / 4, t = lane % 4;
    unsigned block, slice;
    if (kind->type == SIMT_TF32 || kind->type == SIMT_DOUBLE) { /* B: k first; A: m first */
        const int across = kind->use == SIMT_MATRIX_A ? i % 2 : i / 2;
        *outer = BLOCK * across + g;
        *inner = 4 * (kind->use == SIMT_MATRIX_A ? i / 2 : i % 2) + t;
    } else if (is_byte(kind)) {
        *outer = BLOCK * (i / 4) + g;
        *inner = 4 * t + i % 4;
    } else {
        block_of_matrix(kind->use == SIMT_MATRIX_A ? kind->m : kind->n, i / 2, &block, &slice);
        *outer = BLOCK * block + g;
        *inner = BLOCK * slice + 2 * t + i % 2;
    }
}

static struct element place_of(const struct simt_fragment *kind, unsigned lane, unsigned i)
{
    const unsigned g = lane / 4, pair = 2 * (lane % 4) + i % 2, r = i / 2;
    unsigned outer, inner;
    if (kind->use == SIMT_ACCUMULATOR) {
        if (is_transposed(kind)) return element_of(pair, BLOCK * r + g);
        const unsigned down = kind->m / BLOCK;
        return element_of(BLOCK * (r % down) + g, BLOCK * (r / down) + pair);
    }
    place_in_matrix(kind, lane, i, &outer, &inner);
    return kind->use == SIMT_MATRIX_A ? element_of(outer, inner) : element_of(inner, outer);
}

__attribute__((constructor)) static void fill_places(void)
{
    static const struct simt_fragment kinds[SHAPES] = {
        {.type = SIMT_HALF, .m = 16, .n = 16, .k = 16},  {.type = SIMT_HALF, .m = 8, .n = 32, .k = 16},
        {.type = SIMT_HALF, .m = 32, .n = 8, .k = 16},   {.type = SIMT_SIGNED, .m = 16, .n = 16, .k = 16},
        {.type = SIMT_SIGNED, .m = 8, .n = 32, .k = 16}, {.type = SIMT_SIGNED, .m = 32, .n = 8, .k = 16},
        {.type = SIMT_TF32, .m = 16, .n = 16, .k = 8},   {.type = SIMT_DOUBLE, .m = 8, .n = 8, .k = 4}};
    for (unsigned use = SIMT_MATRIX_A; use <= SIMT_ACCUMULATOR; use++)
        for (unsigned shape = 0; shape < SHAPES; shape++) {
            struct simt_fragment kind = kinds[shape];
            kind.use = (unsigned char)use;
            for (unsigned lane = 0; lane < 32; lane++)
                for (unsigned i = 0; i < different_elements(&kind); i++)
                    simt_places[use][shape][lane][i] = place_of(&kind, lane, i);
        }
}

static const struct element *elements_of(const struct simt_fragment *kind, unsigned lane)
{
    if (kind->use > SIMT_ACCUMULATOR) abort(); /* not the headers' */
    return simt_places[kind->use][shape_of(kind)][lane];
}

static size_t offset_of(const struct simt_fragment *kind, struct element e, unsigned ldm)
{
    return kind->row_major ? (size_t)e.row * ldm + e.column : (size_t)e.column * ldm + e.row;
}

/* ---- accesses ------------------------------------------------------------------------------------------ */

struct tile {
    const struct simt_fragment *kind;
    const char *start;
    size_t line_bytes; /* from one line to the next */
    unsigned lines, length;
    int access;
    const void *pc;
};

static struct tile tile_in_memory(const struct simt_fragment *kind, const void *start, unsigned ldm,
                                  int access, const void *pc)
{
    const unsigned rows = kind->use == SIMT_MATRIX_B ? kind->k : kind->m;
    const unsigned columns = kind->use == SIMT_MATRIX_A ? kind->k : kind->n;
    return (struct tile){.kind = kind,
                         .start = start,
                         .line_bytes = (size_t)ldm * bytes_of(kind),
                         .lines = kind->row_major ? rows : columns,
                         .length = kind->row_major ? columns : rows,
                         .access = access,
                         .pc = pc};
}

static void touch(const struct tile *tile, unsigned line, unsigned position, size_t bytes)
{
    const char *address = tile->start + line * tile->line_bytes + (size_t)position * bytes_of(tile->kind);
    simt_access(address, bytes, tile->access, tile->pc);
}

static void touch_by_ldsm(const struct tile *tile, unsigned lane)
{
    const unsigned row = 16 / bytes_of(tile->kind); /* elements of 16 bytes */
    const unsigned down = tile->lines / BLOCK, blocks = down * (tile->length / row);
    for (unsigned first = 0; first < blocks; first += 4) {
        const unsigned block = first + lane / BLOCK;
        if (block < blocks) touch(tile, BLOCK * (block % down) + lane % BLOCK, row * (block / down), 16);
    }
}

/* One access per block along a line, two elements or four bytes wide. */
static void touch_along(const struct tile *tile, unsigned lane)
{
    const unsigned width = is_byte(tile->kind) ? 4 : 2;
    for (unsigned position = 0; position < tile->length; position += 4 * width)
        for (unsigned line = 0; line < tile->lines; line += BLOCK)
            touch(tile, line + lane / 4, position + width * (lane % 4), width * bytes_of(tile->kind));
}

static void touch_across(const struct tile *tile, unsigned lane)
{
    for (unsigned position = 0; position < tile->length; position += BLOCK)
        for (unsigned line = 0; line < tile->lines; line += BLOCK)
            for (unsigned e = 0; e < 2; e++)
                touch(tile, line + 2 * (lane % 4) + e, position + lane / 4, bytes_of(tile->kind));
}

static void touch_each(const struct tile *tile, unsigned lane)
{
    const struct element *element = elements_of(tile->kind, lane);
    for (unsigned i = 0; i < different_elements(tile->kind); i++) {
        const int rows = tile->kind->row_major;
        touch(tile, rows ? element[i].row : element[i].column, rows ? element[i].column : element[i].row,
              bytes_of(tile->kind));
    }
}

static void touch_matrix(const struct tile *tile, unsigned lane)
{
    const struct simt_fragment *kind = tile->kind;
    const int shared = __builtin_expect(!simt_is_device_pointer(tile->start), 1);
    const int along = kind->row_major == (kind->use == SIMT_MATRIX_A);
    if (bytes_of(kind) > 2 || (is_byte(kind) && !along))
        touch_each(tile, lane);
    else if (shared && kind->type != SIMT_BFLOAT16)
        touch_by_ldsm(tile, lane);
    else
        touch_along(tile, lane);
}

static void touch_tile(const struct tile *tile, unsigned lane)
{
    const struct simt_fragment *kind = tile->kind;
    if (kind->use != SIMT_ACCUMULATOR)
        touch_matrix(tile, lane);
    else if (kind->type != SIMT_HALF && kind->row_major == is_transposed(kind))
        touch_across(tile, lane);
    else
        touch_along(tile, lane);
}

/* ---- what must hold ------------------------------------------------------------------------------------ */

static void demand_whole_warp(const struct simt_site *site)
{
    const struct simt_identity *self = simt_self();
    if (self == NULL) return; /* simt_warp_gather() says so */
    const unsigned threads = self->block_dim.x * self->block_dim.y * self->block_dim.z;
    if (threads - 32 * self->warp < 32)
        simt_stop(site, RECORD_UNSUPPORTED, RECORD_SAYS_PARTIAL_WARP,
                  SIMT_SAYS(.name = {site->what}, .number = {threads - 32 * self->warp}));
}

static void demand_alignment(const struct tile *tile)
{
    const struct simt_fragment *kind = tile->kind;
    if ((uintptr_t)tile->start % 32 != 0)
        simt_refuse_access(RECORD_MISALIGNED, tile->start, bytes_of(kind), tile->access,
                           RECORD_ADVICE_ALIGN_TILE, tile->pc);
    static const enum record_advice rule[] = {[1] = RECORD_ADVICE_TILE_LINES_1,
                                              [2] = RECORD_ADVICE_TILE_LINES_2,
                                              [4] = RECORD_ADVICE_TILE_LINES_4,
                                              [8] = RECORD_ADVICE_TILE_LINES_8};
    if (tile->line_bytes % 16 != 0)
        simt_refuse_access(RECORD_MISALIGNED, tile->start, bytes_of(kind), tile->access, rule[bytes_of(kind)],
                           tile->pc);
}

/** What a lane brings to a load or a store, and what all lanes of the warp bring alike. */
struct brought {
    const struct simt_fragment *kind;
    const void *tile;
    unsigned ldm;
};

static int is_same_kind(const struct simt_fragment *a, const struct simt_fragment *b)
{
    return a == b || memcmp(a, b, offsetof(struct simt_fragment, elements) + 1) == 0;
}

static void complete_meeting(void *const operand[32], void *const result[32], unsigned mask, void *context)
{
    const struct brought *first = operand[0];
    int same = 1;
    (void)mask, (void)context;
    for (unsigned lane = 1; lane < 32; lane++) {
        const struct brought *other = operand[lane];
        same = same && other->tile == first->tile && other->ldm == first->ldm &&
               is_same_kind(other->kind, first->kind);
    }
    for (unsigned lane = 0; lane < 32; lane++) *(int *)result[lane] = same;
}

static void demand_same(const struct simt_site *site, int same)
{
    if (!same)
        simt_stop(site, RECORD_DIVERGENT_BARRIER, RECORD_SAYS_LANES_DIFFER, SIMT_SAYS(.name = {site->what}));
}

/* All lanes have come, with the same tile: what one of them copies others may have reported. */
static void meet(const struct simt_site *site, const struct tile *tile, unsigned ldm)
{
    struct brought brought = {tile->kind, tile->start, ldm};
    int same = 1;
    simt_warp_gather(site, 0xffffffffu, complete_meeting, NULL, &brought, &same);
    demand_same(site, same);
}

static void demand_set(const struct simt_site *site, const struct simt_fragment *kind, const void *x)
{
    static const char *const names[] = {"matrix_a", "matrix_b", "accumulator"};
    const uint32_t word = bytes_of(kind) == 2 ? *(const uint16_t *)x : *(const uint32_t *)x;
    if (word == kind->unset)
        simt_note(site, NULL, RECORD_UNINITIALIZED_READ, RECORD_SAYS_FRAGMENT_UNSET,
                  RECORD_ADVICE_FRAGMENT_FIRST, SIMT_SAYS(.name = {site->what, names[kind->use]}));
}

static void copy_element(char *to, const char *from, unsigned bytes)
{
    if (bytes == 2)
        memcpy(to, from, 2);
    else if (bytes == 4)
        memcpy(to, from, 4);
    else
        memcpy(to, from, bytes);
}

/* ---- load and store ------------------------------------------------------------------------------------ */

/* A fragment is registers of its thread; one that lies elsewhere is read and written there, as any variable. */
static void touch_fragment(const struct simt_fragment *kind, const void *x, int access,
                           const void *return_address)
{
    const size_t bytes = (size_t)kind->elements * bytes_of(kind);
    if (!simt_is_own_local(x, bytes)) simt_access(x, bytes, access, return_address);
}

void simt_matrix_load(const struct simt_site *site, const struct simt_fragment *kind, void *x,
                      const void *tile, unsigned ldm, const void *return_address)
{
    const struct tile t = tile_in_memory(kind, tile, ldm, SIMT_READ, return_address);
    const unsigned bytes = bytes_of(kind), different = different_elements(kind);
    demand_whole_warp(site);
    demand_alignment(&t);
    const unsigned lane = simt_self() != NULL ? simt_self()->lane : 0;
    const struct element *element = elements_of(kind, lane);
    touch_tile(&t, lane);
    touch_fragment(kind, x, SIMT_WRITE, return_address);
    meet(site, &t, ldm);
    for (unsigned i = 0; i < different; i++)
        copy_element((char *)x + (size_t)i * bytes,
                     (const char *)tile + offset_of(kind, element[i], ldm) * bytes, bytes);
    for (unsigned i = different; i < kind->elements; i++)
        copy_element((char *)x + (size_t)i * bytes, (char *)x + (size_t)(i - different) * bytes, bytes);
}

void simt_matrix_store(const struct simt_site *site, const struct simt_fragment *kind, const void *x,
                       void *tile, unsigned ldm, const void *return_address)
{
    const struct tile t = tile_in_memory(kind, tile, ldm, SIMT_WRITE, return_address);
    const unsigned bytes = bytes_of(kind);
    demand_whole_warp(site);
    demand_alignment(&t);
    touch_fragment(kind, x, SIMT_READ, return_address);
    demand_set(site, kind, x);
    const unsigned lane = simt_self() != NULL ? simt_self()->lane : 0;
    const struct element *element = elements_of(kind, lane);
    meet(site, &t, ldm);
    touch_tile(&t, lane);
    for (unsigned i = 0; i < kind->elements; i++) { /* some of which a later lane reports */
        char *to = (char *)tile + offset_of(kind, element[i], ldm) * bytes;
        if (!simt_reaches(to, bytes, SIMT_WRITE))
            simt_refuse_access(RECORD_OUT_OF_BOUNDS, to, bytes, SIMT_WRITE, RECORD_NO_ADVICE, return_address);
        copy_element(to, (const char *)x + (size_t)i * bytes, bytes);
    }
}

/* ---- numbers ------------------------------------------------------------------------------------------- */

static void widen(const struct simt_fragment *kind, const void *x, unsigned count, float *value)
{
    const uint16_t *small = x;
    if (kind->type == SIMT_HALF)
        for (unsigned i = 0; i < count; i++) value[i] = ptx_float_of_half(small[i]);
    else if (kind->type == SIMT_BFLOAT16)
        for (unsigned i = 0; i < count; i++) value[i] = ptx_float_of_bits((uint32_t)small[i] << 16);
    else
        memcpy(value, x, count * sizeof *value);
    if (kind->type == SIMT_TF32)
        for (unsigned i = 0; i < count; i++)
            value[i] = ptx_float_of_bits(ptx_bits_of_float(value[i]) & 0xffffe000u);
}

/* Sums of products of bytes are exact in double. */
static double wide_element(const struct simt_fragment *kind, const void *x, unsigned i)
{
    switch (kind->type) {
    case SIMT_SIGNED:
        return ((const signed char *)x)[i];
    case SIMT_UNSIGNED:
        return ((const unsigned char *)x)[i];
    case SIMT_INT:
        return ((const int32_t *)x)[i];
    default:
        return ((const double *)x)[i];
    }
}

/* ---- the product --------------------------------------------------------------------------------------- */

enum { LARGEST = 32 };

/** The three matrices of one operation, whole. */
struct matrices {
    float a[LARGEST * DEPTH], b[DEPTH * LARGEST], c[LARGEST * BLOCK];
};

/* The index of a lane's element i in a matrix with this many columns; the same for every operation of a
 * kind. */
static void collect(const struct simt_fragment *kind, void *const operand[32], int which, float *matrix)
{
    const unsigned columns = kind->use == SIMT_MATRIX_A ? kind->k : kind->n, count = different_elements(kind);
    for (unsigned lane = 0; lane < 32; lane++) {
        const struct simt_product *product = operand[lane];
        const struct element *element = elements_of(kind, lane);
        float value[DEPTH];
        widen(kind, product->x[which], count, value);
        for (unsigned i = 0; i < count; i++) matrix[element[i].row * columns + element[i].column] = value[i];
    }
}

/* c += a b. The products of an element are summed first, then added to c, since a tensor core rounds them
 * together with c once. */
static inline __attribute__((always_inline)) void multiply(struct matrices *t, unsigned m, unsigned n,
                                                           unsigned depth)
{
    for (unsigned i = 0; i < m; i++) {
        float sum[LARGEST] = {0};
        for (unsigned k = 0; k < depth; k++)
            for (unsigned j = 0; j < n; j++) sum[j] += t->a[i * depth + k] * t->b[k * n + j];
        for (unsigned j = 0; j < n; j++) t->c[i * n + j] += sum[j];
    }
}

static inline __attribute__((always_inline)) void multiply_any(struct matrices *t, unsigned m, unsigned k)
{
    if (k == BLOCK)
        multiply(t, 16, 16, BLOCK);
    else if (m == 16)
        multiply(t, 16, 16, DEPTH);
    else if (m == 32)
        multiply(t, 32, 8, DEPTH);
    else
        multiply(t, 8, 32, DEPTH);
}

SIMT_WIDE(multiply_any, (struct matrices * t, unsigned m, unsigned k), (t, m, k))

/** The same for bytes and for doubles. */
struct wide_matrices {
    double a[LARGEST * DEPTH], b[DEPTH * LARGEST], c[LARGEST * BLOCK];
};

static void collect_wide(const struct simt_fragment *kind, void *const operand[32], int which, double *matrix)
{
    const unsigned columns = kind->use == SIMT_MATRIX_A ? kind->k : kind->n, count = different_elements(kind);
    for (unsigned lane = 0; lane < 32; lane++) {
        const void *x = ((const struct simt_product *)operand[lane])->x[which];
        const struct element *element = elements_of(kind, lane);
        for (unsigned i = 0; i < count; i++)
            matrix[element[i].row * columns + element[i].column] = wide_element(kind, x, i);
    }
}

/* Whether the lanes bring fragments of the same kinds, which each of them is told. */
static int are_same_kinds(void *const operand[32], void *const result[32])
{
    const struct simt_product *first = operand[0];
    int same = 1;
    for (unsigned lane = 1; lane < 32; lane++)
        for (unsigned i = 0; i < 4; i++)
            same =
                same && is_same_kind(((const struct simt_product *)operand[lane])->kind[i], first->kind[i]);
    for (unsigned lane = 0; lane < 32; lane++) *(int *)result[lane] = same;
    return same;
}

static int32_t integer_of(double sum, int saturate)
{
    if (!saturate) return (int32_t)(uint32_t)(int64_t)sum;
    return sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : (int32_t)sum;
}

/* As mma.sync does it: for doubles, one fma after another along k. */
static void complete_wide_product(void *const operand[32], void *const result[32], unsigned mask,
                                  void *context)
{
    (void)mask, (void)context;
    const struct simt_product *first = operand[0];
    if (!are_same_kinds(operand, result)) return;
    const struct simt_fragment *d = first->kind[0];
    struct wide_matrices t;
    collect_wide(first->kind[1], operand, 1, t.a);
    collect_wide(first->kind[2], operand, 2, t.b);
    collect_wide(first->kind[3], operand, 3, t.c);
    for (unsigned lane = 0; lane < 32; lane++) {
        const struct element *element = elements_of(d, lane);
        void *x = (void *)(uintptr_t)((const struct simt_product *)operand[lane])->x[0];
        for (unsigned i = 0; i < d->elements; i++) {
            double sum = t.c[element[i].row * d->n + element[i].column];
            for (unsigned k = 0; k < d->k; k++)
                sum = fma(t.a[element[i].row * d->k + k], t.b[k * d->n + element[i].column], sum);
            if (d->type == SIMT_DOUBLE)
                ((double *)x)[i] = sum;
            else
                ((int32_t *)x)[i] = integer_of(sum, first->saturate);
        }
    }
}

static void complete_product(void *const operand[32], void *const result[32], unsigned mask, void *context)
{
    (void)mask, (void)context;
    const struct simt_product *first = operand[0];
    if (!are_same_kinds(operand, result)) return;
    const struct simt_fragment *d = first->kind[0];
    struct matrices t;
    collect(first->kind[1], operand, 1, t.a);
    collect(first->kind[2], operand, 2, t.b);
    collect(first->kind[3], operand, 3, t.c);
    multiply_any_here(&t, d->m, d->k);
    for (unsigned lane = 0; lane < 32; lane++) {
        const struct element *element = elements_of(d, lane);
        void *x = (void *)(uintptr_t)((const struct simt_product *)operand[lane])->x[0];
        for (unsigned i = 0; i < d->elements; i++) {
            const float value = t.c[element[i].row * d->n + element[i].column];
            if (d->type == SIMT_FLOAT)
                ((float *)x)[i] = value;
            else
                ((uint16_t *)x)[i] = ptx_half_of_float(value);
        }
    }
}

void simt_matrix_multiply(const struct simt_site *site, const struct simt_product *product)
{
    demand_whole_warp(site);
    for (int i = 0; i < 4; i++)
        touch_fragment(product->kind[i], product->x[i], i == 0 ? SIMT_WRITE : SIMT_READ,
                       __builtin_return_address(0));
    for (int i = 1; i < 4; i++) demand_set(site, product->kind[i], product->x[i]);
    const unsigned char sum = product->kind[0]->type;
    int same = 1;
    simt_warp_gather(site, 0xffffffffu,
                     sum == SIMT_INT || sum == SIMT_DOUBLE ? complete_wide_product : complete_product, NULL,
                     (void *)(uintptr_t)product, &same);
    demand_same(site, same);
}
