/**
 * @file program.h
 * @brief What the text of an asm statement becomes: a short array of operations on a file of 64-bit registers.
 *
 * The layers of this folder, from the top; each file may call those beside and below it:
 *
 *     run.c                                    what simt_ptx() calls: finds or compiles the program, runs it
 *     compile.c                                instructions to operations, by the table
 *     table.c                                  the rows of all groups
 *     scalar.c float.c convert.c memory.c warp.c matrix.c async.c barrier.c bulk.c warpgroup.c cluster.c   a group each: its rows,
 *                                              and what they do
 *     parse.c                                  text to instructions
 *     types.c numbers.h                        types; numbers in small formats
 *
 * An operation reads its sources by slot from the register file: operands of the statement first, then its own
 * registers, then constants. A 128-bit register takes two slots.
 */
#pragma once

#include "../findings.h"
#include "../include/simt/ptx.h"
#include "types.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MODIFIERS = 10, TYPES = 4, ADDRESSES = 3 };

struct run;
struct op;
typedef void ptx_function(struct run *run, const struct op *op);

/** @brief One instruction, ready to run. */
struct op {
    ptx_function *function;
    uint16_t *slot;  /**< slots of its operands, vectors flattened */
    uint32_t negate; /**< one bit per operand: a predicate with `!` */
    uint16_t guard;  /**< slot of the predicate @p; NO_SLOT: none */
    bool guard_negated;
    uint8_t modifier[MODIFIERS]; /**< the alternative chosen in each group of the row's name; 0: left out */
    uint8_t type[TYPES];         /**< enum ptx_type of each type in the name */
    uint8_t vector;              /**< number of registers of a vector whose length is in the name */
    uint8_t operands;            /**< written ones */
    int64_t offset[ADDRESSES];   /**< of `[a + 16]` */
    int64_t constant;            /**< results of the row's check */
    struct simt_site site;       /**< file, line, and the instruction's name: the site where its lanes meet */
};

enum { NO_SLOT = UINT16_MAX };

struct program {
    const struct simt_ptx_site *site;       /**< of the statement, */
    const struct simt_ptx_operand *operand; /**< and its operands, as compiled */
    unsigned operands;
    struct op *op;
    unsigned ops;
    uint64_t *constant; /**< the last slots of the register file */
    unsigned words;     /**< number of slots of the statement's operands */
    unsigned registers; /**< number of slots before the constants */
    unsigned constants;
    struct program *next; /**< of the same bucket */
};

/** @brief One thread in one statement. */
struct run {
    uint64_t *reg;
    unsigned next;  /**< operation to go on with */
    bool carry;     /**< CC.CF */
    const void *pc; /**< the student's line */
    const struct simt_ptx_site *site;
    /** addresses of the operands' variables, if the statement may leave some in flight */
    void *const *place;
    bool *flying;      /**< slots that are in flight */
    unsigned words;    /**< slots of the operands, */
    unsigned slots;    /**< and of the statement's own registers, too */
    bool local_flight; /**< 1: a register of the statement itself is in flight */
};

/* ---- registers, as operations see them ------------------------------------------------------------------ */

static inline uint64_t ptx_word(const struct run *run, const struct op *op, unsigned operand)
{
    return run->reg[op->slot[operand]];
}
static inline uint32_t ptx_u32(const struct run *run, const struct op *op, unsigned operand)
{
    return (uint32_t)run->reg[op->slot[operand]];
}
static inline void ptx_set(struct run *run, const struct op *op, unsigned operand, uint64_t value)
{
    run->reg[op->slot[operand]] = value;
}
/** @brief The value of a predicate; false if it was left out. */
static inline bool ptx_predicate(const struct run *run, const struct op *op, unsigned operand)
{
    return op->slot[operand] != NO_SLOT &&
           ((run->reg[op->slot[operand]] & 1) ^ (op->negate >> operand & 1)) != 0;
}

enum ptx_atomic {
    PTX_ATOMIC_ADD = 1,
    PTX_ATOMIC_MIN,
    PTX_ATOMIC_MAX,
    PTX_ATOMIC_AND,
    PTX_ATOMIC_OR,
    PTX_ATOMIC_XOR,
    PTX_ATOMIC_EXCH,
    PTX_ATOMIC_INC,
    PTX_ATOMIC_DEC,
    PTX_ATOMIC_CAS /**< b is the value to compare the old one with */
};
/** @brief What an atomic operation stores in place of @p old. Signed integers are sign-extended. */
uint64_t ptx_atomic_result(enum ptx_atomic operation, enum ptx_type type, uint64_t old, uint64_t b,
                           uint64_t c);

/** @brief Combines a comparison's result with the predicate at @p operand, by the `.and`, `.or` or `.xor`
 *         of setp, its second modifier. */
bool ptx_combine(const struct run *run, const struct op *op, bool result, unsigned operand);

/* ---- the table ------------------------------------------------------------------------------------------ */

struct row;
struct compiling;
/** @brief Checks what a row's name and operands cannot express; refuses with ptx_refuse(). */
typedef void ptx_check(struct compiling *c, const struct row *row, struct op *op);

enum {
    TOUCHES_MEMORY = 1, /**< or synchronises: needs `volatile` and the clobber "memory" */
    ENDS = 2,
    SPECIFIC = 4, /**< to the architecture: needs sm_90a, not sm_90 */
};

/**
 * @brief A form of an instruction.
 *
 * name: words as in PTX with blanks for dots. `[a|b]` may be there, `(a|b)` must be; each is a modifier, numbered in order
 * (`[]` is one that is never there).
 * `<s32|u32>` is a type, numbered in order. `{v2|v4}` is a vector length and may be there.
 *
 * operands: what follows, a word each:
 *
 *     T U V      of the first, second, third type; `~` before it: the register may be wider
 *     s32 b64 .. of this type
 *     P          a predicate      I   an integer constant      A   an address, [register + constant]: 64 bits
 *     a          one of shared memory: 32 or 64
 *     M          a tensor, [map, {x, y}]: as many coordinates as the first modifier says
 *     L          a label          S   a value of type T, or a special register
 *     T:n        a brace vector of the length that the name says
 *     4*b32      a brace vector of four; `*b32` of any number, which the row's check counts
 *     =          before it: it is written.   |P   after it: a predicate may follow `|`.   ?   before it: may be left out
 *
 * Rows of one name differ in their operands: in their number, or in what is in braces.
 */
struct row {
    const char *name, *operands;
    ptx_function *function;
    uint16_t architecture; /**< least: 80 for sm_80 */
    uint16_t version;      /**< PTX version that introduced it: 70 for 7.0 */
    uint8_t flags;
    ptx_check *check;
};

struct group {
    const struct row *row;
    size_t rows;
};
extern const struct group ptx_scalar_rows, ptx_float_rows, ptx_convert_rows, ptx_memory_rows, ptx_warp_rows,
    ptx_matrix_rows, ptx_async_rows, ptx_barrier_rows, ptx_bulk_rows, ptx_warpgroup_rows, ptx_cluster_rows;
extern const struct group *const ptx_groups[];

/** @brief An operation that is one statement, of `run` and `op`. */
#define PTX_OP(name, ...)                                                                                    \
    static void name(struct run *run, const struct op *op)                                                   \
    {                                                                                                        \
        __VA_ARGS__;                                                                                         \
    }

#define PTX_GROUP(name, list) const struct group name = {list, sizeof list / sizeof list[0]}
