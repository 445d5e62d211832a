/**
 * @file bulk.c
 * @brief Bulk copies and tensor copies, their reductions and groups: cp.async.bulk and cp.async.bulk.tensor (machine/bulk_copies.c).
 */
#include "../tensor_map.h"
#include "numbers.h"
#include "parse.h"
#include "program.h"

#include <string.h>

/* ---- operands ------------------------------------------------------------------------------------------- */

static void demand_device(const struct op *op)
{
    if (simt_self() == NULL)
        simt_stop(&op->site, RECORD_UNSUPPORTED, RECORD_SAYS_HOST_CODE, SIMT_SAYS(.name = {op->site.what}));
}

/* Address number @p number of the instruction, at slot @p operand, in shared memory. */
static void *shared(const struct run *run, const struct op *op, unsigned operand, unsigned number,
                    size_t bytes, int access)
{
    return simt_shared_checked(ptx_word(run, op, operand) + (uint64_t)op->offset[number], bytes, access,
                               run->pc);
}

/* The same in any block of the cluster, if the name allows it in modifier number @p which. */
static void *receiving(const struct run *run, const struct op *op, unsigned which, unsigned operand,
                       unsigned number, size_t bytes, int access)
{
    const uint64_t offset = ptx_word(run, op, operand) + (uint64_t)op->offset[number];
    if (op->modifier[which] != 1) return shared(run, op, operand, number, bytes, access);
    return simt_cluster_checked(offset, bytes, access, run->pc);
}

static char *global(const struct run *run, const struct op *op, unsigned operand, unsigned number)
{
    return (char *)(uintptr_t)(ptx_word(run, op, operand) + (uint64_t)op->offset[number]);
}

/* On hardware, a parameter begins at a multiple of 64 if its type demands it. Compilers for aarch64
 * promise only 16 for parameters, so this checks the offset of the map within the parameter. */
static uintptr_t place_of_map(const void *map)
{
    const struct simt_parameter *around = simt_parameter_around(map);
    return (uintptr_t)map - (around != NULL ? (uintptr_t)around->address : 0);
}

/* A tensor's map and the coordinates of the box, from slot @p operand on; the first modifier is the number
 * of axes. */
static void take_tensor(const struct run *run, const struct op *op, unsigned operand, unsigned number,
                        struct simt_bulk *b)
{
    b->map = global(run, op, operand, number);
    b->rank = op->modifier[0];
    for (unsigned axis = 0; axis < b->rank; axis++)
        b->at[axis] = (int32_t)ptx_u32(run, op, operand + 1 + axis);
    if (place_of_map(b->map) % TENSOR_MAP_ALIGNMENT != 0)
        simt_refuse_access(RECORD_MISALIGNED, b->map, TENSOR_MAP_BYTES, SIMT_READ, RECORD_ADVICE_ALIGN_MAP,
                           run->pc);
}

/* The mask of a multicast, at slot @p operand. */
static unsigned blocks_of(const struct run *run, const struct op *op, unsigned operand)
{
    const unsigned blocks = ptx_u32(run, op, operand) & 0xffff;
    if (blocks == 0)
        simt_stop(&op->site, RECORD_UNSUPPORTED, RECORD_SAYS_NO_MULTICAST,
                  SIMT_SAYS(.name = {op->site.what}));
    return blocks;
}

/* ---- plain bytes ---------------------------------------------------------------------------------------- */

/* [shared], [global], bytes, [mbarrier] */
static void load_to(const struct run *run, const struct op *op, unsigned blocks)
{
    const size_t bytes = ptx_u32(run, op, 2);
    const struct simt_bulk b = {.shared = receiving(run, op, 0, 0, 0, bytes, SIMT_WRITE),
                                .global = global(run, op, 1, 1),
                                .bytes = bytes,
                                .mbarrier = receiving(run, op, 0, 3, 2, 8, SIMT_ATOMIC),
                                .blocks = blocks,
                                .pc = run->pc};
    simt_bulk_load(&op->site, &b);
}
static void load(struct run *run, const struct op *op)
{
    demand_device(op);
    load_to(run, op, 0);
}
static void load_multicast(struct run *run, const struct op *op)
{
    demand_device(op);
    load_to(run, op, blocks_of(run, op, 4));
}

/* [global], [shared], bytes */
static void store(struct run *run, const struct op *op)
{
    demand_device(op);
    const size_t bytes = ptx_u32(run, op, 2);
    const struct simt_bulk b = {.shared = shared(run, op, 1, 1, bytes, SIMT_READ),
                                .global = global(run, op, 0, 0),
                                .bytes = bytes,
                                .pc = run->pc};
    simt_bulk_store(&op->site, &b);
}

/* [shared] of any block of the cluster, [shared], bytes, [mbarrier] of the block that receives */
static struct simt_bulk between_of(const struct run *run, const struct op *op)
{
    demand_device(op);
    if (!simt_cluster_place().is_explicit) /* as measured on hardware; a cluster of one block is enough */
        simt_stop(&op->site, RECORD_UNSUPPORTED, RECORD_SAYS_NO_CLUSTER, SIMT_SAYS(.name = {op->site.what}));
    const size_t bytes = ptx_u32(run, op, 2);
    return (struct simt_bulk){.shared = shared(run, op, 1, 1, bytes, SIMT_READ),
                              .global = simt_cluster_checked(ptx_word(run, op, 0) + (uint64_t)op->offset[0],
                                                             bytes, SIMT_WRITE, run->pc),
                              .bytes = bytes,
                              .mbarrier = simt_cluster_checked(ptx_word(run, op, 3) + (uint64_t)op->offset[2],
                                                               8, SIMT_ATOMIC, run->pc),
                              .pc = run->pc};
}
static void between(struct run *run, const struct op *op)
{
    const struct simt_bulk b = between_of(run, op);
    simt_bulk_between(&op->site, &b);
}

/* ---- reductions ----------------------------------------------------------------------------------------- */

enum { ADD = 1, MIN, MAX, AND, OR, XOR, INC, DEC }; /* as the rows have them */

static uint64_t least_or_most(uint64_t a, uint64_t b, unsigned type, bool most)
{
    const float x = type == PTX_F16 ? ptx_float_of_half((uint16_t)a) : ptx_float_of_bfloat16((uint16_t)a);
    const float y = type == PTX_F16 ? ptx_float_of_half((uint16_t)b) : ptx_float_of_bfloat16((uint16_t)b);
    if (x != x) return b;
    return (most ? y > x : y < x) ? b : a;
}

static uint64_t combined(uint64_t old, uint64_t value, unsigned operation, unsigned type)
{
    static const enum ptx_atomic as_atomic[] = {
        [ADD] = PTX_ATOMIC_ADD, [MIN] = PTX_ATOMIC_MIN, [MAX] = PTX_ATOMIC_MAX, [AND] = PTX_ATOMIC_AND,
        [OR] = PTX_ATOMIC_OR,   [XOR] = PTX_ATOMIC_XOR, [INC] = PTX_ATOMIC_INC, [DEC] = PTX_ATOMIC_DEC};
    if ((type == PTX_F16 || type == PTX_BF16) && (operation == MIN || operation == MAX))
        return least_or_most(old, value, type, operation == MAX);
    return ptx_atomic_result(as_atomic[operation], (enum ptx_type)type, old, value, 0);
}

static uint64_t extended(const char *at, unsigned type)
{
    const unsigned bits = ptx_type[type].bits;
    uint64_t word = 0;
    memcpy(&word, at, bits / 8);
    return ptx_type[type].class == 's' ? (uint64_t)((int64_t)(word << (64 - bits)) >> (64 - bits)) : word;
}

static void reduce(char *to, const char *from, size_t bytes, unsigned reduction)
{
    const unsigned operation = reduction >> 8, type = reduction & 0xff;
    const size_t each = ptx_type[type].bits / 8;
    for (size_t at = 0; at + each <= bytes; at += each) {
        const uint64_t word = combined(extended(to + at, type), extended(from + at, type), operation, type);
        memcpy(to + at, &word, each);
    }
}

static void reduce_to_global(struct run *run, const struct op *op)
{
    demand_device(op);
    const size_t bytes = ptx_u32(run, op, 2);
    const struct simt_bulk b = {.shared = shared(run, op, 1, 1, bytes, SIMT_READ),
                                .global = global(run, op, 0, 0),
                                .bytes = bytes,
                                .reduce = reduce,
                                .reduction = (unsigned)op->modifier[0] << 8 | op->type[0],
                                .pc = run->pc};
    simt_bulk_store(&op->site, &b);
}
static void reduce_between(struct run *run, const struct op *op)
{
    struct simt_bulk b = between_of(run, op);
    b.reduce = reduce;
    b.reduction = (unsigned)op->modifier[0] << 8 | op->type[0];
    simt_bulk_between(&op->site, &b);
}

/* ---- tensors -------------------------------------------------------------------------------------------- */

/* [shared], [map, {...}], [mbarrier] */
static void load_tensor_to(const struct run *run, const struct op *op, unsigned blocks)
{
    struct simt_bulk b = {.pc = run->pc, .blocks = blocks};
    take_tensor(run, op, 1, 1, &b);
    b.shared = receiving(run, op, 1, 0, 0, 16, SIMT_WRITE);
    b.mbarrier = receiving(run, op, 1, 2 + b.rank, 2, 8, SIMT_ATOMIC);
    simt_bulk_load(&op->site, &b);
}
static void load_tensor(struct run *run, const struct op *op)
{
    demand_device(op);
    load_tensor_to(run, op, 0);
}
static void load_tensor_multicast(struct run *run, const struct op *op)
{
    demand_device(op);
    load_tensor_to(run, op, blocks_of(run, op, 3u + op->modifier[0]));
}

/* [map, {...}], [shared] */
static void store_tensor(struct run *run, const struct op *op)
{
    struct simt_bulk b = {.pc = run->pc};
    demand_device(op);
    take_tensor(run, op, 0, 0, &b);
    b.shared = shared(run, op, 1 + b.rank, 1, 16, SIMT_READ);
    simt_bulk_store(&op->site, &b);
}

static enum ptx_type type_of_map(const struct op *op, const void *map, unsigned operation)
{
    static const enum ptx_type types[] = {PTX_NONE, PTX_NONE, PTX_U32, PTX_S32, PTX_U64,
                                          PTX_S64,  PTX_F16,  PTX_F32, PTX_F64, PTX_BF16};
    struct tensor_map m;
    memcpy(&m, map, sizeof m);
    if (m.mark != TENSOR_MAP_MARK) return PTX_U32; /* refused when it is issued */
    const enum ptx_type type = m.type < sizeof types / sizeof *types ? types[m.type] : PTX_NONE;
    const bool small = type == PTX_F16 || type == PTX_BF16;
    const bool fits = operation == ADD                       ? type != PTX_NONE
                      : operation == MIN || operation == MAX ? small || ptx_type[type].class != 'f'
                                                             : ptx_type[type].class != 'f';
    if (type == PTX_NONE || !fits)
        simt_stop(&op->site, RECORD_UNSUPPORTED, RECORD_SAYS_TENSOR_TYPE, SIMT_SAYS(.name = {op->site.what}));
    return type;
}

static void reduce_tensor(struct run *run, const struct op *op)
{
    struct simt_bulk b = {.pc = run->pc, .reduce = reduce};
    demand_device(op);
    take_tensor(run, op, 0, 0, &b);
    b.shared = shared(run, op, 1 + b.rank, 1, 16, SIMT_READ);
    b.reduction = (unsigned)op->modifier[1] << 8 | type_of_map(op, b.map, op->modifier[1]);
    simt_bulk_store(&op->site, &b);
}

/* ---- groups, and what only advises ------------------------------------------------------------------------ */

static void commit(struct run *run, const struct op *op)
{
    (void)op;
    simt_bulk_commit(run->pc);
}
PTX_OP(wait, simt_bulk_wait(ptx_u32(run, op, 0), op->modifier[0] != 0, run->pc))
static void nothing(struct run *run, const struct op *op)
{
    (void)run, (void)op;
}

/* [mbarrier]; the name says whether the mbarrier's count includes this arrival. */
static void arrive_after_copies(struct run *run, const struct op *op)
{
    demand_device(op);
    simt_copies_arrive(&op->site, shared(run, op, 0, 0, 8, SIMT_ATOMIC), op->modifier[0] != 0, run->pc);
}
static void arrive_after_copies_generic(struct run *run, const struct op *op)
{
    demand_device(op);
    simt_copies_arrive(&op->site, global(run, op, 0, 0), op->modifier[0] != 0, run->pc);
}

/* ---- the rows --------------------------------------------------------------------------------------------- */

#define BYTES " mbarrier::complete_tx::bytes"
#define HINT " [L2::cache_hint]"
#define AXES "(1d|2d|3d|4d|5d)"
#define TO_SHARED " (shared::cluster|shared::cta) global"
#define OPERATION "(add|min|max|and|or|xor|inc|dec)"
#define REDUCE "cp reduce async bulk "
#define TENSOR "cp async bulk tensor " AXES
#define BULK(name, operands, function)                                                                       \
    {                                                                                                        \
        name, operands, function, 90, 80, TOUCHES_MEMORY, NULL                                               \
    }

static const struct row rows[] = {
    BULK("cp async bulk" TO_SHARED BYTES HINT, "a A u32 a ?b64", load),
    BULK("cp async bulk" TO_SHARED BYTES " multicast::cluster" HINT, "a A u32 a u16 ?b64", load_multicast),
    BULK("cp async bulk global shared::cta bulk_group" HINT, "A a u32 ?b64", store),
    BULK("cp async bulk shared::cluster shared::cta" BYTES, "a a u32 a", between),
    BULK("cp async bulk prefetch L2 global" HINT, "A u32 ?b64", nothing),
    BULK("cp async bulk commit_group", "", commit),
    BULK("cp async bulk wait_group [read]", "I", wait),

    BULK(REDUCE "global shared::cta bulk_group " OPERATION HINT " <u32|s32|u64|s64|b32|b64|f32|f64>",
         "A a u32 ?b64", reduce_to_global),
    BULK(REDUCE "global shared::cta bulk_group (add) noftz" HINT " <f16|bf16>", "A a u32 ?b64",
         reduce_to_global),
    BULK(REDUCE "global shared::cta bulk_group (|min|max)" HINT " <f16|bf16>", "A a u32 ?b64",
         reduce_to_global),
    BULK(REDUCE "shared::cluster shared::cta" BYTES " " OPERATION " <u32|s32|u64|b32>", "a a u32 a",
         reduce_between),

    BULK(TENSOR TO_SHARED " [tile]" BYTES HINT, "a M a ?b64", load_tensor),
    BULK(TENSOR TO_SHARED " [tile]" BYTES " multicast::cluster" HINT, "a M a u16 ?b64",
         load_tensor_multicast),
    BULK(TENSOR " global shared::cta [tile] bulk_group" HINT, "M a ?b64", store_tensor),
    BULK("cp reduce async bulk tensor " AXES " global shared::cta " OPERATION " [tile] bulk_group" HINT,
         "M a ?b64", reduce_tensor),
    BULK("cp async bulk prefetch tensor " AXES " L2 global [tile]" HINT, "M ?b64", nothing),
    BULK("prefetch [param|const] tensormap", "A", nothing),

    {"cp async mbarrier arrive [noinc] (shared|shared::cta) b64", "a", arrive_after_copies, 80, 70,
     TOUCHES_MEMORY, NULL},
    {"cp async mbarrier arrive [noinc] b64", "A", arrive_after_copies_generic, 80, 70, TOUCHES_MEMORY, NULL},
};
PTX_GROUP(ptx_bulk_rows, rows);
