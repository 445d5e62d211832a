/**
 * @file code_kinds.h
 * @brief Which instructions untrusted code may consist of, what each does, and how many bytes of memory it touches.
 */
#pragma once

#include "disassembly.h"

/** @brief What an instruction does with its operands. */
enum does {
    ADDS_UP, /* the last operand becomes something new */
    READS,   /* nothing is written but flags */
    MOVES,
    LOADS_ADDRESS,
    EXTENDS,
    DIVIDES, /* and multiplies: rax and rdx */
    SETS_RAX,
    SETS_RDX,
    EXCHANGES,
    COMPARES_AND_EXCHANGES,
    PUSHES,
    POPS,
    LEAVES,
    CALLS,
    RETURNS,
    JUMPS,
    BRANCHES,
    STOPS,
    NOTHING,
    STRINGS
};

struct kind {
    const char *names; /**< between blanks */
    enum does does;
    int bytes; /**< of memory that it touches; in the tables 0: as its registers and its name's last letter say */
};

/** @brief Which kind @p it is of; 0: of none. */
int kind_of_instruction(const struct instruction *it, struct kind *found);

/** @brief Whether @p name is one of @p names, which stand between blanks. */
int is_listed(const char *names, const char *name, size_t length);
