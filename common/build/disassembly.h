/**
 * @file disassembly.h
 * @brief Instructions of an object file for x86-64, from what `objdump -d -r -z --no-show-raw-insn` prints.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R11 = 11, REGISTERS = 16, NO_REGISTER = -1, VECTOR = 64 };
enum { MOST_OPERANDS = 5 };

enum operand_kind { REGISTER, IMMEDIATE, MEMORY, PLACE, UNKNOWN };

/** @brief An operand; of memory, displacement + base + scale * index, after the thread's base if @c thread is 1. */
struct operand {
    enum operand_kind kind;
    int reg;       /**< a general register, or VECTOR */
    int bytes;     /**< of a register */
    int64_t value; /**< IMMEDIATE, MEMORY: the displacement, PLACE: an address in the section */
    int base, index, scale, thread,
        counter; /**< counter: 1 if the base is the address of the next instruction */
};

struct relocation {
    const char *kind; /**< "PC32" */
    int symbol;       /**< a name */
    int64_t addend;
    unsigned long at;
};

struct instruction {
    unsigned long address;
    int section, function;     /**< names */
    int begins;                /**< 1 at the beginning of a function */
    const char *text;          /**< as printed */
    const char *prefix, *name; /**< "rep" or "", "mov" */
    int count;
    struct operand operand[MOST_OPERANDS];
    int relocation_count;
    struct relocation relocation[2];
};

struct disassembly {
    char *lines, *words; /**< the text, cut up */
    struct instruction *instruction;
    size_t count, capacity;
    const char **name;
    size_t name_count, name_capacity;
    int *bucket;
    size_t buckets;
};

/** @brief Reads @p text; 0 if it is something else. */
int disassembly_read(const char *text, struct disassembly *all);
/** @brief The number of a name, the same for the same text. */
int disassembly_name(struct disassembly *all, const char *name);
void disassembly_free(struct disassembly *all);
