/**
 * @file parse.h
 * @brief The text of an asm statement, taken apart.
 */
#pragma once

#include "program.h"

enum operand_kind {
    OPERAND_REGISTER,
    OPERAND_INTEGER,
    OPERAND_FLOAT,   /**< 0f3f800000 or 1.5: value has the bits of a double */
    OPERAND_ADDRESS, /**< base: first part, if parts > 0; value: the constant */
    OPERAND_VECTOR,  /**< its parts */
    OPERAND_SINK,    /**< `_` */
    OPERAND_SPECIAL, /**< %laneid: value is enum ptx_special */
    OPERAND_NAME     /**< of a label, or of nothing */
};

struct operand {
    enum operand_kind kind;
    bool negated;
    int reg;  /**< index of the register */
    int pair; /**< index of the operand after `|`, -1: none */
    int64_t value;
    unsigned part[128]; /**< number of operands in braces or brackets */
    unsigned parts;
    const char *name;
    int name_length;
};

struct instruction {
    const char *name;
    int name_length;
    int guard; /**< register, -1: none */
    bool guard_negated;
    unsigned operand[24];
    unsigned operands;
    unsigned scope;
};

struct ptx_register {
    const char *name;
    int name_length;
    int count; /**< `r<8>` declares r0 ... r7 */
    enum ptx_type type;
    unsigned slot;
    unsigned scope;
    bool hidden; /**< its scope has closed */
};

struct label {
    const char *name;
    int name_length;
    unsigned scope, instruction;
};

/** @brief A statement on its way from text to operations. */
struct compiling {
    const struct simt_ptx_site *site;
    const struct simt_ptx_operand *given;
    unsigned givens;
    char *text;     /**< the text with %0 of constants replaced by their values */
    const char *at; /**< what comes next */
    unsigned scope, scopes;
    unsigned parent[64]; /**< of a scope */
    struct operand *operand;
    unsigned operands;
    struct instruction *instruction;
    unsigned instructions;
    struct ptx_register *reg;
    unsigned registers;
    struct label *label;
    unsigned labels;
    unsigned slots;
    unsigned depth; /**< of the operand that is being read: 1 for an instruction's own */
    char *refusal;  /**< why the statement cannot run; the first reason is kept */
    const struct instruction *now;
    struct program *program;
};

/** @brief Notes why the statement is refused, with the name of the current instruction before it. */
void ptx_refuse(struct compiling *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** @brief Fills instructions, operands, registers and labels from the site's text. */
void ptx_parse(struct compiling *c, const uint64_t *word);
/** @brief Makes room for one more element in @p array, which holds @p count elements and grows to powers
 *         of two. */
void *ptx_grow(void *array, unsigned count, size_t element_bytes);

/** @brief Special registers: name, type, value for the running thread. */
enum ptx_type ptx_special_type(int special);
int ptx_special_named(const char *name, int length);
uint64_t ptx_special_value(int special);
