/**
 * @file compile.h
 * @brief From the text of an asm statement to a program.
 */
#pragma once

#include "program.h"

/**
 * @brief Compiles the statement at @p site, whose @p given operands have their values in @p word.
 * @param[out] refusal  why it cannot be, to be freed; NULL if it can
 */
struct program *ptx_compile(const struct simt_ptx_site *site, const struct simt_ptx_operand *given,
                            unsigned givens, const uint64_t *word, char **refusal);
