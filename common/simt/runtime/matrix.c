/**
 * @file matrix.c
 * @brief Warp matrix operations: which lane touches which bytes, which element lies where, and the product.
 *
 * A tile falls into blocks of 8 x 8. In one of a matrix, lane 4g + t holds two neighbours of the dimension
 * that is summed over, 2t and 2t + 1, of row (A) or column (B) g; in one of an accumulator, columns 2t and
 * 2t + 1 of row g (m8n32k16: rows 2t and 2t + 1 of column g, as that product is made transposed). x[2r] and
 * x[2r + 1] belong to the r-th block. In memory a tile is lines (rows if it is row-major, else columns) that
 * lie ldm elements apart.
 *
 * The accesses are those of the machine code of nvcc 13 for sm_80 and sm_90:
 *
 *   half, shared memory           LDSM, four blocks (or two) an instruction: lane l gives the address of line
 *                                 l % 8 of block l / 8, 16 bytes; eight lanes are served at a time
 *   half, global memory           one 32-bit load per block: line l / 4, bytes 4 (l % 4)
 *   bfloat16, half accumulators   the same, in shared memory too
 *   float accumulators            lines along the pairs: a 64-bit access a block, line l / 4, bytes 8 (l % 4)
 *                                 across: two 32-bit accesses, lines 2 (l % 4) and 2 (l % 4) + 1
 */
#include "../include/simt/matrix.h"
#include "../ptx/numbers.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "runtime.h"

enum { BLOCK = 8, DEPTH = 16 };

/* ---- where an element is ------------------------------------------------------------------------------- */

struct element {
    uint8_t row, column;
};

/* By use, shape, lane and index in x[]; filled before main(). */
static struct element simt_places[3][3][32][DEPTH];

static unsigned shape_of(const struct simt_fragment *kind)
{
    return kind->m == DEPTH ? 0 : kind->m < DEPTH ? 1 : 2;
}

static unsigned bytes_of(const struct simt_fragment *kind)
{
    return kind->type == SIMT_FLOAT ? 4 : 2;
}

/* Different elements a lane holds; x[] may repeat them. */
static unsigned different_elements(const struct simt_fragment *kind)
{
    if (kind->use == SIMT_ACCUMULATOR) return 8;
    return (kind->use == SIMT_MATRIX_A ? kind->m : kind->n) / 2u;
}

/* Blocks along m or n and along k of register pair r of a matrix: an instruction takes 16 x 16 of it. */
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

static struct element place_of(const struct simt_fragment *kind, unsigned lane, unsigned i)
{
    const unsigned g = lane / 4, pair = 2 * (lane % 4) + i % 2, r = i / 2;
    unsigned outer, inner;
    if (kind->use == SIMT_ACCUMULATOR) {
        if (kind->m == BLOCK) return element_of(pair, BLOCK * r + g);
        const unsigned down = kind->m / BLOCK;
        return element_of(BLOCK * (r % down) + g, BLOCK * (r / down) + pair);
    }
    block_of_matrix(kind->use == SIMT_MATRIX_A ? kind->m : kind->n, r, &outer, &inner);
    if (kind->use == SIMT_MATRIX_A) return element_of(BLOCK * outer + g, BLOCK * inner + pair);
    return element_of(BLOCK * inner + pair, BLOCK * outer + g);
}

__attribute__((constructor)) static void fill_places(void)
{
    for (unsigned use = SIMT_MATRIX_A; use <= SIMT_ACCUMULATOR; use++)
        for (unsigned m = BLOCK; m <= 4 * BLOCK; m *= 2) {
            const struct simt_fragment kind = {
                .use = (unsigned char)use, .m = (unsigned char)m, .n = (unsigned char)(256 / m)};
            for (unsigned lane = 0; lane < 32; lane++)
                for (unsigned i = 0; i < different_elements(&kind); i++)
                    simt_places[use][shape_of(&kind)][lane][i] = place_of(&kind, lane, i);
        }
}

static const struct element *elements_of(const struct simt_fragment *kind, unsigned lane)
{
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
    const unsigned rows = kind->use == SIMT_MATRIX_B ? DEPTH : kind->m;
    const unsigned columns = kind->use == SIMT_MATRIX_A ? DEPTH : kind->n;
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
    const unsigned down = tile->lines / BLOCK, blocks = down * (tile->length / BLOCK);
    for (unsigned first = 0; first < blocks; first += 4) {
        const unsigned block = first + lane / BLOCK;
        if (block < blocks)
            touch(tile, BLOCK * (block % down) + lane % BLOCK, BLOCK * (block / down), 2 * BLOCK);
    }
}

/* One access a block along a line; the width is two elements. */
static void touch_along(const struct tile *tile, unsigned lane)
{
    for (unsigned position = 0; position < tile->length; position += BLOCK)
        for (unsigned line = 0; line < tile->lines; line += BLOCK)
            touch(tile, line + lane / 4, position + 2 * (lane % 4), 2 * bytes_of(tile->kind));
}

static void touch_across(const struct tile *tile, unsigned lane)
{
    for (unsigned position = 0; position < tile->length; position += BLOCK)
        for (unsigned line = 0; line < tile->lines; line += BLOCK)
            for (unsigned e = 0; e < 2; e++)
                touch(tile, line + 2 * (lane % 4) + e, position + lane / 4, bytes_of(tile->kind));
}

static void touch_tile(const struct tile *tile, unsigned lane)
{
    const struct simt_fragment *kind = tile->kind;
    const bool shared = __builtin_expect(!simt_is_device_pointer(tile->start), 1);
    if (kind->type == SIMT_FLOAT && kind->row_major == (kind->m == BLOCK))
        touch_across(tile, lane);
    else if (kind->type == SIMT_HALF && kind->use != SIMT_ACCUMULATOR && shared)
        touch_by_ldsm(tile, lane);
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
        simt_stop(site, "unsupported", "%s by a warp of %u threads; it needs all 32 lanes", site->what,
                  threads - 32 * self->warp);
}

static void demand_alignment(const struct tile *tile)
{
    const struct simt_fragment *kind = tile->kind;
    if ((uintptr_t)tile->start % 32 != 0)
        simt_refuse_access("misaligned", tile->start, bytes_of(kind), tile->access,
                           "the tile of a warp matrix operation must begin at a multiple of 32 bytes",
                           tile->pc);
    if (tile->line_bytes % 16 != 0)
        simt_refuse_access("misaligned", tile->start, bytes_of(kind), tile->access,
                           kind->type == SIMT_FLOAT
                               ? "the leading dimension of a tile of float must be a multiple of 4"
                               : "the leading dimension of a tile of half must be a multiple of 8",
                           tile->pc);
}

static void complete_nothing(void *const operand[32], void *const result[32], unsigned mask, void *context)
{
    (void)operand, (void)result, (void)mask, (void)context;
}

static void meet(const struct simt_site *site)
{
    simt_warp_gather(site, 0xffffffffu, complete_nothing, NULL, NULL, NULL);
}

static void demand_set(const struct simt_site *site, const struct simt_fragment *kind, const void *x)
{
    static const char *const names[] = {"matrix_a", "matrix_b", "accumulator"};
    const uint32_t word = kind->type == SIMT_FLOAT ? *(const uint32_t *)x : *(const uint16_t *)x;
    if (word == kind->unset)
        simt_note(site, "uninitialized-read", "fill_fragment or load_matrix_sync must come first",
                  "%s uses a fragment (%s) that nobody filled or loaded,", site->what, names[kind->use]);
}

static void copy_element(char *to, const char *from, unsigned bytes)
{
    if (bytes == 2)
        memcpy(to, from, 2);
    else
        memcpy(to, from, 4);
}

/* ---- load and store ------------------------------------------------------------------------------------ */

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
    for (unsigned i = 0; i < different; i++)
        copy_element((char *)x + (size_t)i * bytes,
                     (const char *)tile + offset_of(kind, element[i], ldm) * bytes, bytes);
    for (unsigned i = different; i < kind->elements; i++)
        copy_element((char *)x + (size_t)i * bytes, (char *)x + (size_t)(i - different) * bytes, bytes);
    meet(site);
}

void simt_matrix_store(const struct simt_site *site, const struct simt_fragment *kind, const void *x,
                       void *tile, unsigned ldm, const void *return_address)
{
    const struct tile t = tile_in_memory(kind, tile, ldm, SIMT_WRITE, return_address);
    const unsigned bytes = bytes_of(kind);
    demand_whole_warp(site);
    demand_alignment(&t);
    demand_set(site, kind, x);
    const unsigned lane = simt_self() != NULL ? simt_self()->lane : 0;
    const struct element *element = elements_of(kind, lane);
    touch_tile(&t, lane);
    for (unsigned i = 0; i < kind->elements; i++)
        copy_element((char *)tile + offset_of(kind, element[i], ldm) * bytes,
                     (const char *)x + (size_t)i * bytes, bytes);
    meet(site);
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
}

/* ---- the product --------------------------------------------------------------------------------------- */

enum { LARGEST = 32 };

/** The three matrices of one operation, whole. */
struct matrices {
    float a[LARGEST * DEPTH], b[DEPTH * LARGEST], c[LARGEST * BLOCK];
};

/* Where element i of a lane goes in a matrix of that many columns. The same for every operation of a kind. */
static void collect(const struct simt_fragment *kind, void *const operand[32], int which, float *matrix)
{
    const unsigned columns = kind->use == SIMT_MATRIX_A ? DEPTH : kind->n, count = different_elements(kind);
    for (unsigned lane = 0; lane < 32; lane++) {
        const struct simt_product *product = operand[lane];
        const struct element *element = elements_of(kind, lane);
        float value[DEPTH];
        widen(kind, product->x[which], count, value);
        for (unsigned i = 0; i < count; i++) matrix[element[i].row * columns + element[i].column] = value[i];
    }
}

/* c += a b. The sixteen products are summed by themselves, as a tensor core rounds them once with c. */
static inline __attribute__((always_inline)) void multiply(struct matrices *t, unsigned m, unsigned n)
{
    for (unsigned i = 0; i < m; i++) {
        float sum[LARGEST] = {0};
        for (unsigned k = 0; k < DEPTH; k++)
            for (unsigned j = 0; j < n; j++) sum[j] += t->a[i * DEPTH + k] * t->b[k * n + j];
        for (unsigned j = 0; j < n; j++) t->c[i * n + j] += sum[j];
    }
}

static inline __attribute__((always_inline)) void multiply_any(struct matrices *t, unsigned m)
{
    if (m == 16)
        multiply(t, 16, 16);
    else if (m == 32)
        multiply(t, 32, 8);
    else
        multiply(t, 8, 32);
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"), optimize("O3"))) static void multiply_wide(struct matrices *t, unsigned m)
{
    multiply_any(t, m);
}
#endif

static void multiply_here(struct matrices *t, unsigned m)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        multiply_wide(t, m);
        return;
    }
#endif
    multiply_any(t, m);
}

static void complete_product(void *const operand[32], void *const result[32], unsigned mask, void *context)
{
    (void)result, (void)mask, (void)context;
    const struct simt_product *first = operand[0];
    const struct simt_fragment *d = first->kind[0];
    struct matrices t;
    collect(first->kind[1], operand, 1, t.a);
    collect(first->kind[2], operand, 2, t.b);
    collect(first->kind[3], operand, 3, t.c);
    multiply_here(&t, d->m);
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
    for (int i = 1; i < 4; i++) demand_set(site, product->kind[i], product->x[i]);
    simt_warp_gather(site, 0xffffffffu, complete_product, NULL, (void *)(uintptr_t)product, NULL);
}
